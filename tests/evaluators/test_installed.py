"""An evaluator of another package: installed, it is seen everywhere, and the gate's own code knows nothing of it."""

import json
import re
import runpy
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, create_model

from safe_gate.core.case import Input
from safe_gate.core.evaluator import Rule, no_reply
from safe_gate.core.setting import Group, Names, Texts
from safe_gate.evaluators.registry import BUILT_IN, GROUP, find_installed
from safe_gate.inputs.checked import load_schema
from safe_gate.model.codec import JsonObject
from tests.support.cases import REPOSITORY, read_json, read_lines, write_cases

EXAMPLE = REPOSITORY / "examples" / "evaluator-json"
REPORTS = "json,markdown,html,junit,sarif,gitlab,csv,jsonl,badge"
SCHEMA = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
CASES: list[dict[str, Any]] = [
    {"id": "whole", "output": '{"n": 1}', "schema": SCHEMA, "tags": ["numbers"]},
    {"id": "worded", "output": '{"n": "secret words"}', "schema": SCHEMA, "tags": ["numbers"]},
    {"id": "prose", "output": "secret prose", "schema": SCHEMA},
]
RUN = ("run", "--json-cases", "c.jsonl")

Gate = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an interpreter that has the example installed, beside all that this one has."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "outer.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n", "utf-8")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--no-build-isolation", "--target", str(packages), str(EXAMPLE)], check=True)
    return folder / "bin" / "python"


ENVIRON = {"SOURCE_DATE_EPOCH": "1790000000", "COLUMNS": "120"}


@pytest.fixture
def gate(python: Path) -> Gate:
    write(*CASES)

    def run(*words: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        command: list[str | Path] = [python, "-I", "-m", "safe_gate", *words]
        return subprocess.run(command, capture_output=True, text=True, env=ENVIRON | {**(env or {})}, check=False)

    return run


def write(*cases: dict[str, Any]) -> None:
    write_cases(Path("c.jsonl"), *cases)


def report() -> Any:
    return read_json("reports/safe-gate.json")


def test_a_run_shows_it_in_every_report_the_summary_the_annotations_and_the_outputs(gate: Gate) -> None:
    event = {"pull_request": {"number": 7, "head": {"sha": "a" * 40}, "base": {"sha": "b" * 40}}}
    Path("event.json").write_text(json.dumps(event), "utf-8")
    env = {"ACTIONS": "true", "EVENT_NAME": "pull_request", "EVENT_PATH": "event.json", "REPOSITORY": "o/r"}
    env |= {"SHA": "a" * 40, "STEP_SUMMARY": "summary.md", "OUTPUT": "outputs"}
    of_runner = {f"GITHUB_{name}": value for name, value in env.items()}
    ran = gate(*RUN, "--reports", REPORTS, "--comment", "never", env=of_runner)
    assert ran.returncode == 1
    for words in ("min-json-pass-rate │ BROKEN", "::error", "worded"):
        assert words in ran.stdout
    assert "JSON Scorecard" in Path("summary.md").read_text("utf-8")
    assert "json-pass-rate" in Path("outputs").read_text("utf-8")
    for path in Path("reports").iterdir():
        assert "badge" in path.name or "worded" in path.read_text("utf-8"), path
    part = report()["json"]
    assert [one["id"] for one in part["results"] if not one["pass"]] == ["worded", "prose"]
    assert part["summary"] == {"cases": 3, "passed": 1}
    gate(*RUN, "--text", "none", "--reports", REPORTS)
    for path in Path("reports").iterdir():
        assert "secret" not in path.read_text("utf-8"), path


WITHHELD = {"parses": 0, "satisfies_schema": 1}
TOLD = {"parses": [], "satisfies_schema": ['n: "secret words" is not of type "integer"']}


@pytest.mark.parametrize(("allowed", "checks"), [((), WITHHELD), (("--allow", "text-in-events"), TOLD)])
def test_its_events_have_the_shape_of_every_event(gate: Gate, allowed: tuple[str, ...], checks: JsonObject) -> None:
    gate(*RUN, "--sinks", "file:events.jsonl", *allowed)
    events = read_lines("events.jsonl")
    assert [one["type"] for one in events] == [*["safe.json.result"] * 3, "safe.gate.verdict"]
    assert [fault for one in events for fault in load_schema("event").faults(one)] == []
    assert {one.get("subject"): one["data"] for one in events}["worded"]["checks"] == checks
    del events[0]["data"]["pass"]
    assert load_schema("event").faults(events[0])


def test_a_wrong_setting_and_a_wrong_case_are_named(gate: Gate) -> None:
    config = Path("safe.config.json")
    config.write_text('{"json-cases": ["c.jsonl"], "min-json-pass-rate": 0.3}', "utf-8")
    assert gate("run").returncode == 0
    assert gate("validate", "c.jsonl").stdout == "1 file valid: 3 cases\n"
    assert "json-cases  1 file of c.jsonl" in gate("doctor", "--json-cases", "c.jsonl").stdout
    config.write_text('{"json-cases": ["c.jsonl"], "min-json-pass-rate": 2}', "utf-8")
    write(*CASES, {"id": "none", "output": 1, "schema": {}})
    for file, words in ((config.name, "min-json-pass-rate"), ("c.jsonl", "c.jsonl:4: none: output")):
        ran = gate("validate", file)
        assert (ran.returncode, words in ran.stderr) == (3, True), ran.stderr


def test_explain_shows_the_output_and_what_each_check_found(gate: Gate) -> None:
    told = gate("explain", "worded", "--json-cases", "c.jsonl").stdout
    assert ('{"n": "secret words"}' in told, "Fits the schema: fails\n" in told) == (True, True)
    assert told.endswith('is not of type "integer""\n  Demand: The output fits its schema.\n\n')
    failed = json.loads(gate("explain", "--failed", "--json-cases", "c.jsonl", "--json").stdout)["cases"]
    assert [(one["evaluator"], one["passed"]) for one in failed] == [("json", False)] * len(failed) != []
    assert failed[0]["judgements"].keys() == {"parses", "satisfies_schema"}


@pytest.mark.soak
def test_its_command_scores_its_cases_alone(gate: Gate) -> None:
    assert re.search("json +check JSON outputs alone\n", gate("--help").stdout)
    assert "--json-cases" in gate("json", "--help").stdout
    assert gate("json").returncode == 3
    ran = gate("json", "--json-cases", "c.jsonl", "--tag", "numbers", "--out", "part.json")
    assert (ran.returncode, "JSON Scorecard" in ran.stdout) == (1, True)
    assert read_json("part.json")["summary"] == {"cases": 2, "passed": 1}
    write(*CASES[:1])
    assert gate("json", "--json-cases", "c.jsonl").returncode == 0
    ran = gate("json", "--json-cases", "c.jsonl", "--json-casse", "x")
    assert "did you mean --json-cases?" in ran.stderr


@pytest.mark.soak
def test_a_run_is_compared_with_a_report_verified_and_waived(gate: Gate) -> None:
    gate(*RUN, "--report-dir", "before")
    assert "HOLDS" in gate("verify", "before/safe-gate.json").stdout
    write(CASES[0] | {"output": "{}"}, *CASES[1:])
    against = ("--baseline", "before/safe-gate.json", "--max-regressions", "0", "--min-json-pass-rate", "0")
    ran = gate(*RUN, *against)
    assert (ran.returncode, "max-regressions" in ran.stdout) == (1, True)
    assert "whole" in gate("compare", "before/safe-gate.json", "reports/safe-gate.json").stdout
    waived = ("--reason", "known", "--owner", "me", "--expires", "2027-01-01")
    assert gate("bless", "reports/safe-gate.json", "--waivers", "w.json", *waived).returncode == 0
    ran = gate(*RUN, "--waivers", "w.json")
    assert (ran.returncode, "3 more waived" in ran.stdout) == (0, True)


@pytest.fixture
def leaving(python: Path, gate: Gate) -> Iterator[Gate]:
    """Run the gate with a member of the installed evaluator that leaves in some way; "" leaves when it is loaded."""
    (file,) = python.parents[1].glob("lib/python*/site-packages/safe_gate_json/__init__.py")
    code = file.read_text("utf-8")

    def run(how: str, member: str, *words: str) -> subprocess.CompletedProcess[str]:
        leaves = f"import sys\ndef leave(*_, **__):\n    {how}\n"
        file.write_text(f"{code}\n{leaves}{f'Json.{member} = leave' if member else 'leave()'}\n", "utf-8")
        return gate(*words)

    yield run
    file.write_text(code, "utf-8")


WAYS = ("sys.exit(0)", "raise KeyboardInterrupt", "next(iter(()))")


@pytest.mark.parametrize("how", [WAYS[0], *(pytest.param(how, marks=pytest.mark.soak) for how in WAYS[1:])])
def test_an_evaluator_that_does_not_return_gives_no_verdict(leaving: Gate, gate: Gate, how: str) -> None:
    write(*(CASES[0] | {"id": f"c{number}"} for number in range(110)))
    assert gate(*RUN).returncode == 0
    jobs, alone = (*RUN, "--jobs", "2"), ("json", "--json-cases", "c.jsonl")
    ways = (("check", jobs), ("section", RUN), ("", RUN), ("check", alone))
    for member, words in ways if how == WAYS[0] else ways[:1]:
        ran = leaving(how, member, *words)
        assert ran.returncode == 3, (member, words)
        assert "evaluator json" in ran.stderr, (member, words)
        assert "Traceback" not in ran.stderr
        if words[0] == "run" and member:
            assert report()["verdict"] == "error"


@pytest.mark.parametrize("words", [("-m", "safe_gate"), ("-I", "-m", "safe_gate")], ids=" ".join)
def test_a_package_in_the_workspace_is_not_loaded(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "evil-1.0.dist-info").mkdir()
    entry = "[safe_gate.evaluators]\nevil = evil:EVALUATOR\n"
    (tmp_path / "evil-1.0.dist-info" / "entry_points.txt").write_text(entry, "utf-8")
    (tmp_path / "evil.py").write_text("open('loaded', 'w').close()\n", "utf-8")
    environ = {"PYTHONPATH": f"{tmp_path}:{REPOSITORY}"}
    subprocess.run([sys.executable, *words, "--version"], cwd=tmp_path, env=environ, capture_output=True, check=True)
    assert not (tmp_path / "loaded").exists()


DOUBLED = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(30)} | {"a30": {}}
BOTH = {"properties": {"a": {"allOf": [{"$ref": "#/$defs/a"}] * 2}}}
HOSTILE: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "network": ("1", {"$ref": "http://127.0.0.1:9/schema"}),
    "file": ("1", {"$ref": "file:///etc/passwd"}),
    "slow": (json.dumps("a" * 50_000 + "b"), {"pattern": "^(a+)+$"}),
    "slow key": (json.dumps({"a" * 50 + "b": 1}), {"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False}),
    "lookahead": ('"a"', {"pattern": "(?=a)a"}),
    "no schema": ("1", {"type": "nonsense"}),
    "doubled": ("1", {"$defs": DOUBLED, "$ref": "#/$defs/a0"}),
    "doubled by depth": ('{"a":' * 60 + "1" + "}" * 60, {"$defs": {"a": BOTH}, "$ref": "#/$defs/a"}),
    "within itself": ("1", {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}),
    "by another way": ("1", {"$defs": {"x": {}, "y": {"$id": "x", "$ref": "#/$defs/x"}}, "$ref": "#/$defs/y"}),
    "dynamic": ("1", {"$dynamicAnchor": "a", "allOf": [{"$dynamicRef": "#a"}] * 2}),
    "no definition": ("1", {"$ref": "#/$defs/a"}),
    "many faults": (f"[{'1,' * 90_000}1]", {"anyOf": [{"items": {"allOf": [{"type": "object"}] * 900}}]}),
    "half a pair": ('"\\ud800"', {"type": "integer"}),
    "as it should be": ('[1, "2"]', {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"type": "integer"}}, "items": {"$ref": "#/$defs/a"}}),
}  # fmt: skip


def test_a_hostile_schema_fails_its_case_and_nothing_else(gate: Gate) -> None:
    hostile = [{"id": name, "output": output, "schema": schema} for name, (output, schema) in HOSTILE.items()]
    write(*hostile, *CASES[:1])
    ran = gate(*RUN, "--min-json-pass-rate", "0")
    assert (ran.returncode, ran.stderr) == (0, "")
    results = report()["json"]["results"]
    assert [one["id"] for one in results if one["pass"]] == ["whole"]
    found = {one["id"]: one["checks"]["satisfies_schema"][0] for one in results[:-1]}
    assert all(len(fault) <= 200 for fault in found.values())
    faulty = [name for name, fault in found.items() if not fault.startswith("cannot be tested with this schema: ")]
    assert faulty == ["slow", "slow key", "as it should be"]


class Unlimited(Group):
    """Settings without a limit."""

    json_cases: Annotated[Texts, Names("inputs")] = ()


JSON: Any = runpy.run_path(str(EXAMPLE / "safe_gate_json" / "__init__.py"), run_name="example_json")["EVALUATOR"]
SYNTHESIS = BUILT_IN["synthesis"]


def example(**changes: object) -> Any:
    """Return the evaluator of the example with some members changed."""
    return type("Changed", (type(JSON),), changes)()


def settings(base: type[BaseModel] = Unlimited, **fields: Any) -> Any:
    return example(settings=create_model("Changed", __base__=base, **fields))


def ruled(name: str) -> Any:
    return example(rules=(Rule(name, "json", lambda part: no_reply(part.summary.cases)),))


OTHER_LINES = Input(setting="json_case", kind="json-case", plural="JSON cases")


DOCUMENTS = JSON.input._replace(cases="cases", outputs="json_cases", outputs_kind="json-output", folder="json_cases")
BESIDE_OTHERS: Mapping[str, tuple[object, str]] = {
    "NAMELESS": (object(), "has no name in lower case with underscores"),
    "TAKEN": (SYNTHESIS, "has the name synthesis, which is taken"),
    "DOUBLED": (example(settings=SYNTHESIS.settings), "has the setting context, which is one of synthesis"),
    "RUNS": (example(name="import"), "has the name import, which is taken"),
    "CLASS": (type(JSON), "is a class; expected an instance of it"),
    "UNTITLED": (example(title=None), "has no title"),
    "ELSEWHERE": (example(input=OTHER_LINES), "has input from the setting json_case, which its settings lack"),
    "KINDLESS": (example(input=JSON.input._replace(kinds=())), "has no schema json-case"),
    "FORMLESS": (example(part=JSON.part._replace(schema={})), "has no schema part"),
    "WITHOUT_OUTPUTS": (example(input=DOCUMENTS), "has no schema json-output"),
    "UNLIMITED": (example(settings=Unlimited), "has the rule min-json-pass-rate, but no setting min_json_pass_rate"),
    "REQUIRED": (settings(need=str), "has the setting need without a default"),
    "GROUPED": (settings(groups=(Texts, ())), "has the setting groups, which is one of the gate"),
    "FOREIGN": (settings(BaseModel, json_cases=(Texts, ()), min_json_pass_rate=(float, 1.0)), "has settings that are no subclass of core.setting.Group"),
    "BORROWED": (ruled("max-unexpected-passes"), "has the rule max-unexpected-passes, but no setting max_unexpected_passes"),
    "GONE": (None, "cannot be loaded: No module named"),
    "SHARED": (ruled("max-no-reply"), ""),
    "GOOD": (JSON, ""),
}  # fmt: skip


def install(monkeypatch: pytest.MonkeyPatch, point: str, **members: object) -> None:
    """Install a package with an evaluator at an entry point, beside one that has none."""
    folder = Path("packages")
    for name, points in (("own", f"[{GROUP}]\nown = {point}\n"), ("other", "[console_scripts]\nx = y:z\n")):
        (folder / f"{name}-1.dist-info").mkdir(parents=True)
        (folder / f"{name}-1.dist-info" / "entry_points.txt").write_text(points, "utf-8")
    own = ModuleType("own_evaluator")
    own.__dict__.update(members)
    monkeypatch.setitem(sys.modules, "own_evaluator", own)
    monkeypatch.setattr("site.getsitepackages", lambda: [str(folder.absolute())])


@pytest.mark.parametrize("name", BESIDE_OTHERS)
def test_a_package_that_cannot_stand_beside_others_is_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    evaluator, words = BESIDE_OTHERS[name]
    point = f"own_evaluator:{name}" if evaluator else "own.gone:EVALUATOR"
    install(monkeypatch, point, **{name: evaluator})
    found, problems = find_installed(BUILT_IN)
    assert (list(found), len(problems)) == (([], 1) if words else (["json"], 0))
    for problem in problems:
        assert problem.place.path == f"evaluator own ({point})"
        assert problem.message.startswith(words)
        assert problem.message.endswith("; correct or uninstall the package")


def test_a_user_who_interrupts_while_a_package_is_loaded_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: str) -> None:
        raise KeyboardInterrupt(signal.SIGINT)

    install(monkeypatch, "own_evaluator:X", __getattr__=interrupted)
    with pytest.raises(KeyboardInterrupt):
        find_installed(BUILT_IN)
