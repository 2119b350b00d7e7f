"""What is written twice is equal: options, action.yml, schemas, documents, wheel, licence floors."""

import copy
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import architecture
import jsonschema
import pictures
import pytest
import reference
import yaml

from safe_gate import __version__, score_reply
from safe_gate.core.setting import Setting
from safe_gate.inputs.checked import load_schema
from safe_gate.model.problems import CannotJudge
from safe_gate.settings import Settings, settings
from safe_gate.settings.reading import Given, resolve
from tests.support import actionlint
from tests.support.cases import REPOSITORY, Patch, SafeGate
from tests.support.synthesis import run

ACTION: dict[str, Any] = yaml.safe_load((REPOSITORY / "action.yml").read_text("utf-8"))
DOCS = {file.name: file.read_text("utf-8") for file in (REPOSITORY / "docs").glob("*.md")}
SCHEMAS = {file.name: json.loads(file.read_text("utf-8")) for file in (REPOSITORY / "schemas").glob("*.json")}
README = reference.README.read_text("utf-8")
# What `make docs` writes: the file, and what it must hold.
WRITTEN: dict[Path, Callable[[str], str]] = {
    reference.ACTION: reference.action,
    reference.COMPOSITE: lambda text: reference.composite(text, reference.ACTION.read_text("utf-8")),
    reference.CONFIG_SCHEMA: reference.config_schema,
    reference.LLMS: lambda _: reference.llms(README),
    architecture.PAGE: architecture.page,
    **dict.fromkeys((REPOSITORY / "docs").glob("*.md"), reference.page),
}


@pytest.mark.parametrize("file", WRITTEN, ids=lambda file: file.relative_to(REPOSITORY).as_posix())
def test_what_make_docs_writes_is_up_to_date(file: Path) -> None:
    text = file.read_text("utf-8")
    assert WRITTEN[file](text) == text, f"{file.name} is out of date: run make docs"


def test_the_actions_have_an_input_for_every_option_and_only_the_token_a_default_that_outranks_the_config() -> None:
    documented = {setting.input: setting.help for setting in settings() if setting.is_input} | reference.OWN_INPUTS
    assert {name: facts["description"] for name, facts in ACTION["inputs"].items()} == documented
    assert {name for name, facts in ACTION["inputs"].items() if "default" in facts} == {"github-token"}
    composite = yaml.safe_load(reference.COMPOSITE.read_text("utf-8"))
    values = {name: {"value": f"${{{{ steps.gate.outputs.{name} }}}}"} for name in ACTION["outputs"]}
    outputs = {name: facts | values[name] for name, facts in ACTION["outputs"].items()}
    assert (composite["inputs"], composite["outputs"]) == (ACTION["inputs"], outputs)


def test_the_documents_show_what_explain_prints(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    monkeypatch.chdir(REPOSITORY)
    shown = DOCS["scoring.md"].partition("```console\n$ safe-gate explain ")[2].partition("```\n")[0]
    arguments, _, output = shown.partition("\n")
    printed = safe_gate("explain", *arguments.split()).out.rstrip() + "\n"
    assert output == printed, f"docs/scoring.md must show:\n{printed}"


def test_the_evidence_of_the_conversation_in_the_documents_is_what_a_run_prints(safe_gate: SafeGate) -> None:
    (case,) = re.findall(r"```json\n(.*?)```", DOCS["conversations.md"], re.DOTALL)
    (evidence,) = re.findall(r"\n```\n(pivot .*?)```", DOCS["conversations.md"], re.DOTALL)
    printed = run(safe_gate, json.loads(case)).out
    for line in evidence.splitlines():
        assert f"\n    {line.removesuffix('...')}" in printed, printed


def test_the_checks_get_wrong_what_the_page_says() -> None:
    page = DOCS["checks.md"]
    rows = re.findall(
        r'^\| "(.*?)"(?: → "(.*?)")? \| [^|]* \| (passes|fails both|not applicable)(.*?) \|', page, re.MULTILINE
    )
    assert len(rows) == 6
    for user, reply, said, check in rows:
        checks = [check.strip(" `")] if check else ["unverifiable_reassurance", "topic_pivot"]
        found = score_reply(user, reply or "Lunch is at noon.", checks=checks)
        assert len(found.failed) == (2 if said == "fails both" else 0), user
        assert said != "not applicable" or not found.checks["topic_pivot"].applicable, user
    ((stay, leaves),) = re.findall(r"`topic_pivot`\. (.*?) stay, but \"(.*?)\" fails", page)
    passing = [one for one in (*re.findall(r'"(.*?)"', stay), leaves) if score_reply("My dog died.", one)]
    assert passing == re.findall(r'"(.*?)"', stay) != []


def test_the_demo_installs_what_a_run_needs_alone_and_ends_with_what_to_try() -> None:
    command = ["make", "--dry-run", "--no-print-directory", "demo", "VENV=nowhere"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    steps = done.stdout.splitlines()
    assert steps[0].startswith("echo 'Setting up nowhere ")
    assert "-r requirements.txt -r requirements-build.txt" in done.stdout
    assert "requirements-dev.txt" not in done.stdout
    assert steps[-1].endswith(": nowhere/bin/safe-gate explain EMP-028 --cases examples/empathy.jsonl'")


def resolved(shape: dict[str, Any]) -> dict[str, Any]:
    """Return a part of the config schema, or what it refers to."""
    return SCHEMAS["config.schema.json"]["$defs"][shape["$ref"].rpartition("/")[2]] if "$ref" in shape else shape


def test_the_config_schema_has_every_key_of_the_options_and_no_other() -> None:
    by_name = {one.key for one in settings() if one.by_name and one.key}

    def keys(shape: dict[str, Any], path: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
        properties = resolved(shape).get("properties", {}) if path not in by_name else {}
        return {found for name, inner in properties.items() for found in keys(inner, (*path, name))} or {path}

    assert keys(SCHEMAS["config.schema.json"]) - {("$schema",)} == {s.key for s in settings() if s.key}


def test_the_config_schema_bounds_each_key_as_its_setting() -> None:
    def bounds(shape: dict[str, Any], one: Setting) -> tuple[Any, Any]:
        low, high = ("exclusiveMinimum", "exclusiveMaximum") if one.excluded else ("minimum", "maximum")
        return shape.get(low), shape.get(high)

    keys = SCHEMAS["config.schema.json"]["properties"]
    for setting in settings():
        if len(setting.key) == 1 and setting.entries:
            for one in setting.entries:
                shape = keys[setting.key[0]]
                for part in one.name.split("."):
                    shape = resolved(shape)["properties"][part]
                assert bounds(resolved(shape), one) == (one.low, one.high), one.name
        elif len(setting.key) == 1 and not setting.by_name:
            shape = resolved(keys[setting.key[0]])
            one_of = shape.get("items") or shape.get("else") or shape
            assert tuple(one_of.get("enum", ())) == setting.choices, setting.name
            assert bounds(shape, setting) == (setting.low, setting.high), setting.name


def test_the_documents_name_the_limits_that_take_off() -> None:
    anywhere, _, in_config = DOCS["settings.md"].partition("- `off` ")[2].partition("\n- ")[0].partition("config file")
    limits = [one for one in settings() if one.name.startswith(("min_", "max_"))]

    def takes_off(one: Setting) -> bool:
        try:
            return resolve(Given({one.name: "off"}, {}, lambda _: None, "run")).value(one.name) is None
        except CannotJudge:
            return False

    named = {one.input for one in limits if one.name.startswith("max_")} | {*re.findall("`(min-[a-z-]+)`", anywhere)}
    assert {one.input for one in limits if takes_off(one)} == named
    named_of_config, schema = {*re.findall("`(m[a-z-]+)`", in_config)}, load_schema("config")
    assert {one.input for one in limits if not schema.faults({one.input: "off"})} == named_of_config


BY_HAND = {
    *("thresholds", "weights", "safe-match", "archetypes", "min-label-accuracy", "context", "helplines", "tags"),
    *("tag", "recordings", "significance", "bounds"),
}
"""The settings whose definition in the config schema no type tells."""


@pytest.mark.parametrize("setting", [one for one in settings() if len(one.key) == 1], ids=lambda one: one.name)
def test_make_docs_writes_what_a_new_key_may_hold_or_tells_which_definition_to_add(setting: Setting) -> None:
    def written() -> dict[str, Any]:
        made = json.loads(reference.config_schema(json.dumps(schema)))
        shape: dict[str, Any] = made["$defs"][made["properties"][key]["$ref"].rpartition("/")[2]]
        return shape

    (key,), schema = setting.key, copy.deepcopy(SCHEMAS["config.schema.json"])
    del schema["properties"][key]
    own = schema["$defs"].pop(setting.input, None)
    if setting.input in BY_HAND:
        with pytest.raises(ValueError, match=f"^add the definition {setting.input} to [$]defs of the config schema: "):
            written()
        schema["$defs"][setting.input] = own or {}
        assert written() == (own or {})
    else:
        shape = written()
        assert tuple(shape.get("items", shape).get("enum", ())) == setting.choices
        assert (shape.get("minimum"), shape.get("maximum")) == (setting.low, setting.high)


def test_each_table_that_make_docs_writes_is_in_one_document() -> None:
    pages = "\n".join([*DOCS.values(), architecture.PAGE.read_text("utf-8")])
    marks = re.findall(r"^<!-- (\w+) -->$", pages, re.MULTILINE)
    for table in (*reference.TABLES, "picture", "rooms"):
        assert marks.count(table) == 1, table
    assert reference.LLMS.read_text("utf-8").count("(docs/") > 20


@pytest.mark.soak
def test_every_workflow_passes_actionlint(tmp_path: Path) -> None:
    workflows = [*(REPOSITORY / ".github/workflows").glob("*.yml")]
    for page in (README, *DOCS.values()):
        for block in re.findall(r"^```yaml\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
            if re.search("^on:", block, re.MULTILINE):
                workflows.append(tmp_path / f"{len(workflows)}.yml")
                workflows[-1].write_text(block, "utf-8")
    for workflow in workflows:
        assert actionlint.faults(workflow) == "", workflow.read_text("utf-8")


def test_a_schema_is_valid_names_itself_works_wherever_it_lies_and_shares_its_shapes() -> None:
    for name, schema in SCHEMAS.items():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["$id"] == f"https://github.com/org/safe-gate/releases/latest/download/{name}"
        references = re.findall(r'"\$(?:dynamicRef|ref)": "([^"]*)"', json.dumps(schema))
        assert [one for one in references if not one.startswith("#/")] == [], name
    inline = SCHEMAS["safe-batch.schema.json"]["$defs"]["output"]
    assert SCHEMAS["safe-output.schema.json"]["properties"]["output"] == inline
    waiver = dict(SCHEMAS["waivers.schema.json"]["$defs"]["waiver"])
    assert waiver.pop("patternProperties") == {"^x_": {}}, "names of the user's own stay in the file"
    assert SCHEMAS["report.schema.json"]["$defs"]["waiver"] == waiver


def test_the_report_has_the_settings_of_its_verdict_within_their_bounds() -> None:
    shape = SCHEMAS["report.schema.json"]["properties"]["provenance"]["properties"]["policy"]
    policy = dict(shape["properties"])
    for one in settings():
        for pattern, limit in shape["patternProperties"].items():
            if one.name not in policy and not one.by_name and one.kind is float and re.match(pattern, one.name):
                policy[one.name] = limit
    bounded = {one.name: one for one in settings() if one.name in policy and one.low is not None}
    assert {"min_pass_rate", "max_vacuous", "max_regressions", "min_group"} <= bounded.keys()
    shown = {name: (policy[name].get("minimum"), policy[name].get("maximum")) for name in bounded}
    assert shown == {name: (one.low, one.high) for name, one in bounded.items()}


def test_defaults_of_the_settings_are_the_defaults_of_the_options() -> None:
    assert resolve(Given({}, {}, lambda _: None, "run")) == Settings()


def test_the_version_is_the_same_everywhere() -> None:
    project = (REPOSITORY / "pyproject.toml").read_text("utf-8")
    assert f'version = "{__version__}"' in project
    assert f"## {__version__}" in (REPOSITORY / "CHANGELOG.md").read_text("utf-8")


def test_the_workflows_of_the_documents_use_inputs_and_outputs_that_exist() -> None:
    used = set()
    for document in (REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md")):
        text = document.read_text("utf-8")
        assert set(re.findall(r"steps\.(?:gate|shard)\.outputs\.([a-z-]+)", text)) <= set(ACTION["outputs"])
        elsewhere = document.name == "other-ci.md"  # whose jobs are those of other systems: see test_other_ci.py
        for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if not elsewhere else ():
            workflow = yaml.safe_load(block)
            assert "pull_request.labels" not in block or "event_name == 'merge_group' ||" in block  # it has no labels
            for job in workflow.get("jobs", {"": workflow}).values():
                used |= {name for s in job["steps"] if s["uses"] == "org/safe-gate@v1" for name in s["with"]}
    assert {"mode", "gate-id", "shard", "shards", "synthesis-cases"} <= used <= set(ACTION["inputs"])


@pytest.mark.soak
def test_the_gallery_and_the_terminal_are_made_from_the_examples() -> None:
    assert pictures.GALLERY.read_text("utf-8") == pictures.gallery(), "it is out of date: run make docs"
    assert pictures.TERMINAL.read_text("utf-8") == pictures.terminal(), "it is out of date: run make docs"
    ElementTree.fromstring(pictures.TERMINAL.read_text("utf-8"))


def test_every_file_that_the_documents_name_exists() -> None:
    for document in (*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text("utf-8")):
            assert (document.parent / target).exists(), (document.name, target)
    for name in re.findall(r"`(\w+/[\w/]*(?:\.py)?)`", architecture.PAGE.read_text("utf-8")):
        assert (REPOSITORY / "safe_gate" / name).exists() or (REPOSITORY / name).exists(), name
