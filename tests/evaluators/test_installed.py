"""An evaluator of another package: installed, it is seen everywhere, and the gate's own code knows nothing of it."""

from __future__ import annotations

import importlib.util
import json
import re
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import pytest

from safe_gate.core.case import Documents, Lines
from safe_gate.core.evaluator import Rule, no_reply
from safe_gate.core.setting import Group, Names, Texts
from safe_gate.evaluators.registry import BUILT_IN, GROUP, find_installed
from safe_gate.inputs.checked import load_schema
from safe_gate.model.codec import JsonObject
from tests.support.cases import REPOSITORY
from tests.support.github import outputs

EXAMPLE = REPOSITORY / "examples" / "evaluator-json"
REPORTS = "json,markdown,html,junit,sarif,gitlab,csv,jsonl,badge"
SCHEMA = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
CASES: Sequence[Mapping[str, object]] = [
    {"id": "whole", "output": '{"n": 1}', "schema": SCHEMA, "tags": ["numbers"]},
    {"id": "worded", "output": '{"n": "secret words"}', "schema": SCHEMA, "tags": ["numbers"]},
    {"id": "prose", "output": "secret prose", "schema": SCHEMA},
]

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

_HOST = """
import json, os, sys, tempfile
from safe_gate.cli import main
main(["run"])  # which loads all that a run needs
print("ready", flush=True)
for line in sys.stdin:
    words, folder, environ = json.loads(line)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        if not (child := os.fork()):
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environ)
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            os._exit(main(words))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said = [file.seek(0) or file.read().decode() for file in (out, err)]
    print(json.dumps([code, *said]), flush=True)
"""


@pytest.fixture(scope="module")
def host(python: Path) -> Iterator[Callable[..., str]]:
    """Ask an interpreter that loads the gate once, and runs each command in a fork of itself."""
    command: list[str | Path] = [python, "-I", "-c", _HOST]
    folder = python.parents[1]  # the interpreter's first run writes reports there
    with subprocess.Popen(
        command, stdin=-1, stdout=-1, stderr=subprocess.DEVNULL, text=True, cwd=folder, env=ENVIRON
    ) as one:
        assert one.stdin
        assert one.stdout
        assert "ready\n" in iter(one.stdout.readline, "")

        def ask(line: str) -> str:
            print(line, file=one.stdin, flush=True)
            return one.stdout.readline() if one.stdout else ""

        yield ask


@pytest.fixture
def gate(host: Callable[..., str]) -> Gate:
    write("c.jsonl", CASES)

    def run(*words: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        ran = host(json.dumps([words, str(Path.cwd()), ENVIRON | {**(env or {})}]))
        return subprocess.CompletedProcess(words, *json.loads(ran))

    return run


def write(name: str, cases: Sequence[Mapping[str, object]]) -> None:
    Path(name).write_text("".join(json.dumps(case) + "\n" for case in cases), "utf-8")


def test_a_run_shows_it_in_every_report_the_summary_the_annotations_and_the_outputs(gate: Gate) -> None:
    event = {"pull_request": {"number": 7, "head": {"sha": "a" * 40}, "base": {"sha": "b" * 40}}}
    Path("event.json").write_text(json.dumps(event), "utf-8")
    env = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": "event.json",
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_SHA": "a" * 40,
        "GITHUB_STEP_SUMMARY": "summary.md",
        "GITHUB_OUTPUT": "outputs",
    }
    ran = gate("run", "--json-cases", "c.jsonl", "--reports", REPORTS, "--comment", "never", env=env)
    assert ran.returncode == 1
    assert "min-json-pass-rate │ BROKEN" in ran.stdout
    assert "::error" in ran.stdout
    assert "worded" in ran.stdout
    assert "JSON Scorecard" in Path("summary.md").read_text("utf-8")
    assert "json-pass-rate" in Path("outputs").read_text("utf-8")
    for path in Path("reports").iterdir():
        assert "badge" in path.name or "worded" in path.read_text("utf-8"), path
    report = json.loads(Path("reports/safe-gate.json").read_text("utf-8"))
    assert [one["id"] for one in report["json"]["results"] if not one["pass"]] == ["worded", "prose"]
    assert report["json"]["summary"] == {"cases": 3, "passed": 1}
    assert report["json"]["by_tag"] == {"numbers": {"cases": 2, "passed": 1}}


def test_withheld_texts_are_in_no_report(gate: Gate) -> None:
    gate("run", "--json-cases", "c.jsonl", "--text", "none", "--reports", REPORTS)
    for path in Path("reports").iterdir():
        assert "secret" not in path.read_text("utf-8"), path


@pytest.mark.parametrize(
    ("allowed", "checks"),
    [
        ((), {"parses": 0, "satisfies_schema": 1}),
        (
            ("--allow", "text-in-events"),
            {"parses": [], "satisfies_schema": ['n: "secret words" is not of type "integer"']},
        ),
    ],
)
def test_its_events_have_the_shape_of_every_event(gate: Gate, allowed: tuple[str, ...], checks: JsonObject) -> None:
    gate("run", "--json-cases", "c.jsonl", "--sinks", "file:events.jsonl", *allowed)
    events = [json.loads(line) for line in Path("events.jsonl").read_text("utf-8").splitlines()]
    assert [one["type"] for one in events] == [*["safe.json.result"] * 3, "safe.gate.verdict"]
    assert [fault for one in events for fault in load_schema("event").faults(one)] == []
    found = {one.get("subject"): one["data"] for one in events}
    assert found["worded"]["checks"] == checks
    del events[0]["data"]["pass"]
    assert load_schema("event").faults(events[0])


def test_a_config_file_sets_its_options_and_a_wrong_value_is_named(gate: Gate) -> None:
    config = Path("safe.config.json")
    config.write_text('{"json-cases": ["c.jsonl"], "min-json-pass-rate": 0.3}', "utf-8")
    assert gate("run").returncode == 0
    config.write_text('{"json-cases": ["c.jsonl"], "min-json-pass-rate": 2}', "utf-8")
    ran = gate("validate", "safe.config.json")
    assert ran.returncode == 3
    assert "min-json-pass-rate" in ran.stderr


def test_validate_names_the_line_and_the_field(gate: Gate) -> None:
    assert gate("validate", "c.jsonl").stdout == "1 file valid, 3 cases\n"
    assert "json-cases  1 file of c.jsonl" in gate("doctor", "--json-cases", "c.jsonl").stdout
    write("c.jsonl", [*CASES, {"id": "none", "output": 1, "schema": {}}])
    ran = gate("validate", "c.jsonl")
    assert ran.returncode == 3
    assert "c.jsonl:4: none: output" in ran.stderr


def test_explain_shows_the_output_and_what_each_check_found(gate: Gate) -> None:
    ran = gate("explain", "worded", "--json-cases", "c.jsonl")
    assert ran.returncode == 0
    assert '{"n": "secret words"}' in ran.stdout
    assert "Fits the schema: fails\n" in ran.stdout
    failed = json.loads(gate("explain", "--failed", "--json-cases", "c.jsonl", "--json").stdout)["cases"]
    assert [(one["evaluator"], one["passed"]) for one in failed] == [("json", False)] * len(failed) != []
    assert failed[0]["judgements"].keys() == {"parses", "satisfies_schema"}


@pytest.mark.soak
def test_its_command_scores_its_cases_alone(gate: Gate) -> None:
    assert re.search("json +check JSON outputs alone\n", gate("--help").stdout)
    assert "--json-cases" in gate("json", "--help").stdout
    assert gate("json").returncode == 3
    ran = gate("json", "--json-cases", "c.jsonl", "--tag", "numbers", "--out", "part.json")
    assert ran.returncode == 1
    assert "JSON Scorecard" in ran.stdout
    assert json.loads(Path("part.json").read_text("utf-8"))["summary"] == {"cases": 2, "passed": 1}
    write("c.jsonl", CASES[:1])
    assert gate("json", "--json-cases", "c.jsonl").returncode == 0
    ran = gate("json", "--json-cases", "c.jsonl", "--json-casse", "x")
    assert "did you mean --json-cases?" in ran.stderr


@pytest.mark.soak
def test_a_run_is_compared_with_a_report_verified_and_waived(gate: Gate) -> None:
    gate("run", "--json-cases", "c.jsonl", "--report-dir", "before")
    assert "HOLDS" in gate("verify", "before/safe-gate.json").stdout
    write("c.jsonl", [{**CASES[0], "output": "{}"}, *CASES[1:]])
    against = ("--baseline", "before/safe-gate.json", "--max-regressions", "0", "--min-json-pass-rate", "0")
    ran = gate("run", "--json-cases", "c.jsonl", *against)
    assert ran.returncode == 1
    assert "max-regressions" in ran.stdout
    assert "whole" in gate("compare", "before/safe-gate.json", "reports/safe-gate.json").stdout
    waived = ("--reason", "known", "--owner", "me", "--expires", "2027-01-01")
    assert gate("bless", "reports/safe-gate.json", "--waivers", "w.json", *waived).returncode == 0
    ran = gate("run", "--json-cases", "c.jsonl", "--waivers", "w.json")
    assert ran.returncode == 0
    assert "3 more waived" in ran.stdout


@pytest.mark.soak
def test_shards_merge_into_the_bytes_of_one_run(gate: Gate) -> None:
    gate("run", "--json-cases", "c.jsonl", "--report-dir", "whole")
    env = {"GITHUB_ACTIONS": "true", "GITHUB_OUTPUT": "outputs"}
    for index in (1, 2):
        shard = ("--shard", f"{index}/2", "--report-dir", "shards")
        assert gate("run", "--json-cases", "c.jsonl", *shard, env=env).returncode == 0
    assert outputs(Path("outputs").read_text("utf-8"))["json-pass-rate"] == ""
    assert gate("merge", "shards/*.json", "--json-cases", "c.jsonl", "--report-dir", "merged").returncode == 1
    assert Path("merged/safe-gate.json").read_bytes() == Path("whole/safe-gate.json").read_bytes()


@pytest.fixture
def leaving(python: Path) -> Iterator[Gate]:
    """Run the gate with a member of the installed evaluator that leaves in some way; "" leaves when it is loaded."""
    (file,) = python.parents[1].glob("lib/python*/site-packages/safe_gate_json/__init__.py")
    code = file.read_text("utf-8")

    def run(how: str, member: str, *words: str) -> subprocess.CompletedProcess[str]:
        leaves = f"import sys\ndef leave(*_, **__):\n    {how}\n"
        file.write_text(f"{code}\n{leaves}{f'Json.{member} = leave' if member else 'leave()'}\n", "utf-8")
        return subprocess.run(
            [python, "-I", "-m", "safe_gate", *words], capture_output=True, text=True, env=ENVIRON, check=False
        )

    yield run
    file.write_text(code, "utf-8")


WAYS = ("sys.exit(0)", "raise KeyboardInterrupt", "next(iter(()))")
RUN = ("run", "--json-cases", "c.jsonl")


@pytest.mark.parametrize("how", [WAYS[0], *(pytest.param(how, marks=pytest.mark.soak) for how in WAYS[1:])])
def test_an_evaluator_that_does_not_return_gives_no_verdict(leaving: Gate, gate: Gate, how: str) -> None:
    write("c.jsonl", [{**CASES[0], "id": f"c{number}"} for number in range(110)])
    assert gate(*RUN).returncode == 0
    jobs, alone = (*RUN, "--jobs", "2"), ("json", "--json-cases", "c.jsonl")
    ways = (("check", jobs), ("section", RUN), ("", RUN), ("check", alone))
    for member, words in ways if how == WAYS[0] else ways[:1]:
        ran = leaving(how, member, *words)
        assert ran.returncode == 3, (member, words)
        assert "evaluator json" in ran.stderr, (member, words)
        assert "Traceback" not in ran.stderr
        if words[0] == "run" and member:
            assert json.loads(Path("reports/safe-gate.json").read_text("utf-8"))["verdict"] == "error"


@pytest.mark.parametrize("words", [("-m", "safe_gate"), ("-I", "-m", "safe_gate")], ids=" ".join)
def test_a_package_in_the_workspace_is_not_loaded(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "evil-1.0.dist-info").mkdir()
    entry = "[safe_gate.evaluators]\nevil = evil:EVALUATOR\n"
    (tmp_path / "evil-1.0.dist-info" / "entry_points.txt").write_text(entry, "utf-8")
    (tmp_path / "evil.py").write_text("open('loaded', 'w').close()\n", "utf-8")
    ran = subprocess.run(
        [sys.executable, *words, "--version"],
        cwd=tmp_path,
        env={"PYTHONPATH": f"{tmp_path}:{REPOSITORY}"},
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 0
    assert not (tmp_path / "loaded").exists()


DOUBLED = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(30)} | {"a30": {}}
BOTH = {"properties": {"a": {"allOf": [{"$ref": "#/$defs/a"}] * 2}}}
HOSTILE: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "network": ("1", {"$ref": "http://127.0.0.1:9/schema"}),
    "file": ("1", {"$ref": "file:///etc/passwd"}),
    "slow": (json.dumps("a" * 50_000 + "b"), {"pattern": "^(a+)+$"}),
    "slow key": (
        json.dumps({"a" * 50 + "b": 1}),
        {"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False},
    ),
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
    "as it should be": (
        '[1, "2"]',
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"type": "integer"}}, "items": {"$ref": "#/$defs/a"}},
    ),
}


def test_a_hostile_schema_fails_its_case_and_nothing_else(gate: Gate) -> None:
    hostile = [{"id": name, "output": output, "schema": schema} for name, (output, schema) in HOSTILE.items()]
    write("c.jsonl", [*hostile, *CASES[:1]])
    ran = gate(*RUN, "--min-json-pass-rate", "0")
    assert (ran.returncode, ran.stderr) == (0, "")
    results = json.loads(Path("reports/safe-gate.json").read_text("utf-8"))["json"]["results"]
    assert [one["id"] for one in results if one["pass"]] == ["whole"]
    assert all(len(one["checks"]["satisfies_schema"][0]) <= 200 for one in results[:-1])


class Unlimited(Group):
    """Settings without a limit."""

    json_cases: Annotated[Texts, Names("inputs")] = ()


def example(**changes: object) -> Any:
    """Return the evaluator of the example with some members changed."""
    spec = importlib.util.spec_from_file_location("example_json", EXAMPLE / "safe_gate_json" / "__init__.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclass looks there
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[spec.name]
    return type("Changed", (type(module.EVALUATOR),), changes)()


def named(name: str) -> Rule:
    return Rule(name, "json", lambda part: no_reply(part.summary.cases))


@pytest.mark.parametrize(
    ("point", "words"),
    [
        ("own.gone:EVALUATOR", "cannot be loaded: No module named"),
        ("own_evaluator:NAMELESS", "has no name in lower case with underscores"),
        ("own_evaluator:TAKEN", "has the name synthesis, which is taken"),
        ("own_evaluator:DOUBLED", "has the setting context, which is one of synthesis"),
        ("own_evaluator:RUNS", "has the name import, which is taken"),
        ("own_evaluator:CLASS", "is a class; expected an instance of it"),
        ("own_evaluator:UNTITLED", "has no title"),
        ("own_evaluator:ELSEWHERE", "has input from the setting json_case, which its settings lack"),
        ("own_evaluator:KINDLESS", "has no json-case among its kinds"),
        ("own_evaluator:FORMLESS", "has no schema part"),
        ("own_evaluator:WITHOUT_OUTPUTS", "has no json-output among its kinds"),
        ("own_evaluator:UNLIMITED", "has the rule min-json-pass-rate, but no setting min_json_pass_rate"),
        ("own_evaluator:FOREIGN", "has settings that are no subclass of core.setting.Group"),
        ("own_evaluator:BORROWED", "has the rule max-unexpected-passes, but no setting max_unexpected_passes"),
        ("own_evaluator:SHARED", ""),
        ("own_evaluator:GOOD", ""),
    ],
)
def test_a_package_that_cannot_stand_beside_others_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str, words: str
) -> None:
    points = tmp_path / "own-1.dist-info" / "entry_points.txt"
    points.parent.mkdir()
    points.write_text(f"[{GROUP}]\nown = {point}\n", "utf-8")
    (tmp_path / "other-1.dist-info").mkdir()
    (tmp_path / "other-1.dist-info" / "entry_points.txt").write_text("[console_scripts]\nx = y:z\n", "utf-8")
    own = ModuleType("own_evaluator")
    synthesis = BUILT_IN["synthesis"]
    own.__dict__.update(
        NAMELESS=object(),
        TAKEN=synthesis,
        DOUBLED=example(settings=synthesis.settings),
        CLASS=type(example()),
        GOOD=example(),
        RUNS=example(name="import"),
        UNTITLED=example(title=None),
        ELSEWHERE=example(input=Lines(setting="json_case", kind="json-case", plural="JSON cases")),
        KINDLESS=example(input=example().input._replace(kinds=())),
        FORMLESS=example(part=example().part._replace(schema={})),
        WITHOUT_OUTPUTS=example(
            input=Documents(
                "json_cases", "json-case", "", "", "json_cases", "json-output", "json_cases", example().input.kinds
            )
        ),
        UNLIMITED=example(settings=Unlimited),
        FOREIGN=example(settings=object),
        BORROWED=example(rules=(named("max-unexpected-passes"),)),
        SHARED=example(rules=(named("max-no-reply"),)),
    )
    monkeypatch.setitem(sys.modules, "own_evaluator", own)
    monkeypatch.setattr("site.getsitepackages", lambda: [str(tmp_path)])
    found, problems = find_installed(BUILT_IN)
    assert list(found) == ([] if words else ["json"])
    assert len(problems) == bool(words)
    for problem in problems:
        assert problem.place.path == f"evaluator own ({point})"
        assert problem.message.startswith(words)
        assert problem.message.endswith("; correct or uninstall the package")


def test_a_user_who_interrupts_while_a_package_is_loaded_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: str) -> None:
        raise KeyboardInterrupt(signal.SIGINT)

    (tmp_path / "own-1.dist-info").mkdir()
    (tmp_path / "own-1.dist-info" / "entry_points.txt").write_text(f"[{GROUP}]\nown = own_evaluator:X\n", "utf-8")
    own = ModuleType("own_evaluator")
    own.__dict__["__getattr__"] = interrupted
    monkeypatch.setitem(sys.modules, "own_evaluator", own)
    monkeypatch.setattr("site.getsitepackages", lambda: [str(tmp_path)])
    with pytest.raises(KeyboardInterrupt):
        find_installed(BUILT_IN)
