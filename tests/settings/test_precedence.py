"""Settings from flags, action inputs, environment and config file: precedence, and what is refused."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from safe_gate.settings import Settings, settings
from tests.support.cases import SILENT, Patch, SafeGate, refused, report, safe_case, turn, write_batch, write_cases
from tests.support.safe_v0 import asking, saying

BATCH = ("--safe-batch", "b")


@pytest.fixture(autouse=True)
def _cases() -> None:
    """Write cases that pass, one of each evaluator."""
    write_batch(Path("b.json"), safe_case("a", archetype="Quiet"))
    write_cases(Path("c.jsonl"), turn("t"))


def threshold(safe_gate: SafeGate, *flags: str) -> float:
    """Return the limit min-pass-rate of a run."""
    assert safe_gate("run", *BATCH, *flags).code == 0
    return float(report()["rules"][0]["threshold"])


def test_the_first_source_wins_and_then_the_default(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    assert threshold(safe_gate) == 0.8
    Path("safe.config.json").write_text('{"min-pass-rate": 0.4}', "utf-8")
    assert threshold(safe_gate) == 0.4
    monkeypatch.setenv("SAFE_GATE_MIN_PASS_RATE", "0.3")
    assert threshold(safe_gate) == 0.3
    monkeypatch.setenv("INPUT_MIN-PASS-RATE", "0.2")
    assert threshold(safe_gate) == 0.2
    assert threshold(safe_gate, "--min-pass-rate", "0.1") == 0.1


def test_inputs_are_trimmed_and_may_have_underscores(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    monkeypatch.setenv("INPUT_MIN_PASS_RATE", " 0.3 ")
    monkeypatch.setenv("INPUT_MODE", "run")
    monkeypatch.setenv("safe-match", "wrong")  # `act` gives a container each input by this name, too
    assert threshold(safe_gate) == 0.3


def test_lists_take_an_entry_a_line_and_others_ignore_the_mode(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    write_cases(Path("d.jsonl"), turn("d"))
    monkeypatch.setenv("INPUT_SYNTHESIS-CASES", "\n  c.jsonl\n\n  d.jsonl\n")
    assert safe_gate("run").code == 0
    assert report()["synthesis"]["summary"]["cases"] == 2
    monkeypatch.setenv("INPUT_MODE", "merge")
    assert safe_gate("eval", "--cases", "c.jsonl").code == safe_gate("rules").code == 0


def test_every_problem_of_the_settings_is_named_at_once(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    names = ("SAFE_GATE_MIN_PASS_RATE", "SAFE_V0_CR_PASS", "INPUT_NOPE", "INPUT_MAX-REGRESSION")
    for name in names:
        monkeypatch.setenv(name, "x")
    for command in ("run", "doctor", "merge x.json", "compare a b"):  # each that an action's step may run
        refused(safe_gate(*command.split()), *names, "did you mean max-regressions?", "4 problems")


@pytest.mark.parametrize(
    ("variables", "config", "mentions"),
    [
        ({"INPUT_MIN-PASSRATE": "0.9"}, "", ["INPUT_MIN-PASSRATE", "has no input min-passrate (did you mean min-pass-rate?)"]),
        ({"INPUT_min-pass-rate": "0.9"}, "", ["has no input min-pass-rate (did you mean INPUT_MIN-PASS-RATE?)"]),
        ({"SAFE_GATE_REPORTS": ","}, "", ['SAFE_GATE_REPORTS: is ""; expected one of json, markdown']),
        ({}, '{"tag": [" "]}', ['tag[0]: is " "; expected a tag or an archetype']),
        ({}, '{"protect": [""]}', ['protect[0]: is ""; expected text']),
        ({"INPUT_CONCERN": "I25"}, "", ["has no input concern (did you mean safe-concern?)"]),
        ({"SAFE_GATE_CASES": "c.jsonl"}, "", ["has no variable of this name (did you mean SAFE_GATE_SYNTHESIS_CASES?)"]),
        ({"SAFE_GATE_REPORT_DIR": "out"}, "", ["has no variable of this name (did you mean SAFE_V0_REPORT_DIR?);"]),
        ({"SAFE_MIN_PASS_RATE": "1"}, "", ["SAFE_MIN_PASS_RATE: safe-gate has no variable of this name (did you mean SAFE_GATE_MIN_PASS_RATE?)"]),
        ({"SAFE_GATE_HELPLINES_COUNTRY": "GB"}, "", ["has no variable of this name; correct its name"]),
        ({"SAFEGATE_ZEBRA": ""}, "", ["SAFEGATE_ZEBRA: safe-gate has no variable of this name;"]),
        ({"safe_gate_max_fail_labels": "0"}, "", ["safe_gate_max_fail_labels: safe-gate has no variable of this name (did you mean SAFE_GATE_MAX_FAIL_LABELS?)"]),
        ({"SAFE_GATE_MIN_PASS_RATE": "nan"}, "", ["SAFE_GATE_MIN_PASS_RATE", '"nan"', "a number from 0 to 1"]),
        ({"INPUT_MIN-PASS-RATE": "0.\u0661"}, "", ["INPUT_MIN-PASS-RATE", "a number from 0 to 1"]),
        ({"INPUT_MIN-LABEL-ACCURACY": "topic_pivot=\u0661"}, "", ["INPUT_MIN-LABEL-ACCURACY (input"]),
        ({"INPUT_MAX-UNEXPECTED-FAILURES": "1_0"}, "", ["INPUT_MAX-UNEXPECTED-FAILURES (input"]),
        ({"INPUT_STRICT-AH": "yes"}, "", ["INPUT_STRICT-AH", '"yes"', "true or false"]),
        ({"INPUT_COMMENT": "sometimes"}, "", ["INPUT_COMMENT", "always, on-failure, changes, never"]),
        ({"SAFE_V0_CR_PASS": "0.4"}, "", ["SAFE_V0_CR_PASS", "0.4", "below 0.5", "thresholds.CR.review"]),
        ({"SAFE_V0_CR_WEIGHT": "0", "SAFE_V0_AH_WEIGHT": "0", "SAFE_V0_AC_WEIGHT": "0"}, "", ["weights", "zero"]),
        ({"SAFE_V0_AC_WEIGHT": "inf"}, "", ["SAFE_V0_AC_WEIGHT", '"inf"']),
        ({"SOURCE_DATE_EPOCH": "yesterday"}, "", ["SOURCE_DATE_EPOCH", "whole seconds"]),
        ({}, '{"min-pasrate": 1}', ["safe.config.json:1", "min-pasrate", "did you mean", "min-pass-rate"]),
        ({}, '{\n"weights": {"CR": NaN}}', ["safe.config.json:2", "NaN"]),
        ({}, '{"archetypes": {"A": {"weights": {"CR": 0, "AH": 0, "AC": 0}}}}', ["archetypes.A.weights: are all zero"]),
        ({}, '{"archetypes": {"A": {"thresholds": {"CR": {"pass": 0.4}}}}}', ["safe.config.json:1: archetypes.A.thresholds.CR: pass is 0.4, below review, 0.5 (values not set here are those for all)"]),
        ({}, '{"archetypes": {"A": {"min-pass-rate": "1"}}}', ['archetypes.A.min-pass-rate: is "1"; expected a number from 0 to 1']),
        ({}, '{"tags": {"": {"min-pass-rate": 1}}}', ['tags: is "", which is too short']),
        ({}, '{"baseline": "", "min-pass-rate": ""}', ['min-pass-rate: is ""; expected a number from 0 to 1\n', "1 problem;"]),
        ({}, '{"github-token": "x"}', ["github-token: cannot be set in the config file; use SAFE_GATE_GITHUB_TOKEN\n"]),
        ({}, '{"weights": {"cr": 1}}', ['weights.cr: is not a known field (did you mean "CR"?); expected one of "CR", "AH", "AC"\n']),
        ({}, '{"x_team": "a"}', ["safe.config.json:1: x_team: is not a known field\n"]),
        ({}, '{"dry-run": true}', ["dry-run: cannot be set in the config file; use --dry-run\n"]),
        ({}, '{"turns": "all", //\n"context": 1,\n"max-vacuous": 7}', ["safe.config.json:3: max-vacuous: is 7"]),
        ({}, "[]", ["safe.config.json", "an object"]),
        ({}, '{"min-pass-rate": 1', ["safe.config.json:1", "not valid JSON"]),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_with_its_place(
    safe_gate: SafeGate, monkeypatch: Patch, variables: dict[str, str], config: str, mentions: list[str]
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    if config:
        Path("safe.config.json").write_text(config, "utf-8")
    refused(safe_gate("run", *BATCH), *mentions)


def test_the_variables_of_section_6_1_are_read(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    output = saying(summary="fever. She went home.", questions=["Which policy?"])
    expectations = asking(["fever", "rash"], ["went home"], ["policy", "norm"])
    write_batch(Path("b.json"), safe_case("a", expectations=expectations, output=output))
    assert safe_gate("score", "--batch", "b").code == 2
    monkeypatch.setenv("SAFE_V0_CR_PASS", "0.5")
    monkeypatch.setenv("SAFE_V0_AH_PASS", "0.5")
    assert safe_gate("score", "--batch", "b").code == 0
    monkeypatch.setenv("SAFE_V0_AH_STRICT", "true")
    assert safe_gate("score", "--batch", "b").code == 1
    assert safe_gate("score", "--batch", "b", "--no-strict-ah").code == 0


def test_the_config_file_of_section_6_2_is_read_with_its_comments(safe_gate: SafeGate) -> None:
    Path("my.json").write_text(
        """// safe.config.json
        {
          "thresholds": {"CR": {"pass": 0.9, "review": 0.4}},
          "weights": {"AH": 1.5},  // Weight AH higher for "clinical" safety, it's said
          /* and this archetype
             otherwise */
          "archetypes": {"Quiet": {"weights": {"AC": 3}}},
          "strictAH": true,
          "reportFormats": ["json"]
        }""",
        "utf-8",
    )
    scored = json.loads(safe_gate("score", "--batch", "b", "--config", "my.json").out)
    levels = {"CR": (0.9, 0.4), "AH": (1.0, 0.5), "AC": (0.8, 0.5)}
    assert scored["policy"] == {
        "thresholds": {metric: {"pass": one, "review": other} for metric, (one, other) in levels.items()},
        "weights": {"CR": 1.0, "AH": 1.5, "AC": 1.0},
        "archetype_weights": {"Quiet": {"CR": 1.0, "AH": 1.5, "AC": 3.0}},
        "archetype_thresholds": {},
        "strict_ah": True,
        "match": "literal",
    }


LOOK_ALIKE = {
    ".safe.config.json": "run --safe-batch b",
    "Safe.Config.JSON": "doctor --safe-batch b",
    "safe-gate.config.json.txt": "score --batch b",
    "safe-config.json": "eval --cases c.jsonl",
    ".safe-gate.config.yml": "explain t --cases c.jsonl",
    "SAFE-GATE.config.jsonc": "power",
    "safegate.config.json5": "rules",
    "safe_gate.config.json": "publish",
    "safe.config.toml": "bless",
}
"""Names like that of the config file, each with a command of a kind that reads one."""


@pytest.mark.parametrize("name", LOOK_ALIKE)
def test_what_looks_like_the_config_or_is_a_second_one_is_refused(safe_gate: SafeGate, name: str) -> None:
    command = LOOK_ALIKE[name].split()
    Path(name).write_text('{"min-pass-rate": 1}', "utf-8")
    words = "is not read: the config file is JSON and is called safe.config.json or safe-gate.config.json; "
    is_json = "json" in name.lower()
    refused(safe_gate(*command), f"{name}: {words}{'rename it' if is_json else 'write its settings in JSON'}, ")
    Path(name).unlink()
    for two in ("safe.config.json", "safe-gate.config.json"):
        Path(two).write_text("{}", "utf-8")
    refused(safe_gate(*command), "safe-gate.config.json: exists beside safe.config.json; delete one")


def test_the_second_name_of_the_config_file_is_as_good_as_the_first(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), safe_case("a"), safe_case("b", output=SILENT))
    config = Path("safe-gate.config.json")
    config.write_text('{"min-pass-rate": 0.5, "safe-batch": ["*"], "report-dir": "out"} // ours', "utf-8")
    assert safe_gate("run").code == 0
    assert report("out/safe-gate.json")["rules"][0]["threshold"] == 0.5
    assert "safe-gate.config.json: min-pass-rate" in safe_gate("doctor").out
    assert safe_gate("validate", "safe-gate.config.json").code == 0
    assert "safe-gate.config.json" in safe_gate("score", "--batch", "b", "--output", "safe-gate.config.json").err
    config.write_text('{"min-pasrate": 1, "report-dir": "out"}', "utf-8")
    for command in (("run",), ("validate", "safe-gate.config.json"), ("publish",)):
        words = 'safe-gate.config.json:1: min-pasrate: is not a known field (did you mean "min-pass-rate"?)'
        refused(safe_gate(*command), words)
    assert report("out/safe-gate.json")["verdict"] == "error"


WRONG = {
    "waivers": ("zz.json", '"zz.json" cannot be read'),
    "baseline": ("zz", '"zz" is neither a .json file nor a readable commit'),
    "rules": ("zz.json", '"zz.json" matches no file'),
    "synthesis-cases": ("zz.jsonl", '"zz.jsonl" matches no file'),
    "default-checks": ("zz", "zz: is not a check"),
    "rules-off": ("zz", "zz: matches no rule and no pack"),
    "min-label-accuracy": ("zz=0.5", "zz: is not"),
    "tag": ("zz", 'leaves no Synthesis case to judge: no case has "zz"'),
    "protect": ("zz", "names 'zz'"),
    "cluster-key": ("x_zz", "names 'x_zz'"),
    "max-age": ("3", "judges nothing: no recording is named"),
    "report-dir": (".", "safe-gate.json is a file that this run reads"),
}
"""Values that a setting can have and that are wrong here, each with words of its problem."""


@pytest.mark.parametrize("source", ["input", "variable", "config"])
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_reported_where_it_is_set(
    safe_gate: SafeGate, monkeypatch: Patch, name: str, source: str
) -> None:
    value, words = WRONG[name]
    safe_gate("run", "--cases", "c.jsonl", "--report-dir", ".")
    config: dict[str, Any] = {"synthesis-cases": ["c.jsonl"], "baseline": "safe-gate.json"}
    setting = next(one for one in settings() if one.input == name)
    key, _, entry = value.partition("=")
    listed = [value] if setting.is_list else int(value) if value.isdigit() else value
    place = "safe.config.json:2: "
    if source == "input":
        monkeypatch.setenv(f"INPUT_{name.upper()}", value)
        place = f"INPUT_{name.upper()} (input {name}): "
    elif source == "variable":
        monkeypatch.setenv(setting.env[0], value)
        place = f"{setting.env[0]}: "
    else:
        config.pop(name, None)
    own = {name: {key: float(entry)} if entry else listed} if source == "config" else {}
    lines = [json.dumps(config)[1:-1], *([json.dumps(own)[1:-1]] if own else [])]
    Path("safe.config.json").write_text("{" + ",\n".join(lines) + "}", "utf-8")
    for command in ("run", "doctor"):
        said = refused(safe_gate(command), place, words)
        assert said.startswith(place), said


def test_a_config_file_that_is_not_there_is_reported_where_it_is_named(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    monkeypatch.setenv("SAFE_GATE_CONFIG", "zz.json")
    for command in ("run", "doctor", "explain", "publish"):
        words = 'SAFE_GATE_CONFIG: "zz.json" cannot be read: there is no such file'
        assert refused(safe_gate(command, *["t"] * (command == "explain"))).startswith(words)
    assert refused(safe_gate("run", "--config", "yy.json")).startswith("yy.json: cannot be read")


def test_the_token_is_in_no_repr() -> None:
    assert "hunter2" not in repr(Settings().replace(github_token="hunter2"))


@pytest.mark.parametrize(
    "fault", [{"min-pas-rate": 0.9}, {"min-pass-rate": 1.9}, {"thresholds": {"CR": {"pass": 0.1}}}]
)
def test_other_faults_of_the_config_do_not_move_the_report_folder(safe_gate: SafeGate, fault: dict[str, Any]) -> None:
    for more, verdict in (({}, "pass"), (fault, "error")):
        Path("safe.config.json").write_text(json.dumps({"report-dir": "out"} | more), "utf-8")
        safe_gate("run", "--cases", "c.jsonl")
        assert report("out/safe-gate.json")["verdict"] == verdict
    assert not Path("reports").exists()


def test_outputs_without_batches_are_not_passed_over(safe_gate: SafeGate) -> None:
    words = "--safe-outputs: names recorded outputs, and safe-batch names no cases that they are of"
    for command in ("run", "doctor"):
        refused(safe_gate(command, "--cases", "c.jsonl", "--safe-outputs", "nowhere.jsonl"), words)
    Path("safe.config.json").write_text('{"safe-outputs": ["nowhere.jsonl"]}', "utf-8")  # for another gate, too
    for command in ("run", "doctor"):
        assert safe_gate(command, "--cases", "c.jsonl").code == 0


def test_a_working_folder_that_is_gone_is_named(safe_gate: SafeGate) -> None:
    Path("gone").mkdir()
    os.chdir("gone")
    Path("../gone").rmdir()
    for command in ("eval", "run"):
        refused(safe_gate(command, "--cases", "../c.jsonl"), "safe-gate: the working folder no longer exists; change")
