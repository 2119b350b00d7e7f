"""Rules on the cases of one archetype or one tag, thresholds of an archetype's own, and groups too small for either."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.evaluators.synthesis.definitions import KINDS
from tests.support.cases import (
    BAD,
    GOOD,
    REPOSITORY,
    SILENT,
    Patch,
    Ran,
    SafeGate,
    read_json,
    refused,
    safe_case,
    turn,
    write_batch,
    write_cases,
)
from tests.support.cases import report as judged
from tests.support.safe_v0 import asking
from tests.support.weakening import configure

HALF = {"signals": ["fever"], "summary": "", "followup_questions": []}  # CR 0.5 of two signals
INPUTS = ("--safe-batch", "b", "--synthesis-cases", "c.jsonl")
MARKDOWN = Path("reports/safe-gate.md")
Run = Callable[..., Ran]


def of_groups() -> list[dict[str, Any]]:
    return [rule for rule in judged()["rules"] if "group" in rule]


@pytest.fixture
def run(safe_gate: SafeGate) -> Run:
    """Run over SAFE v0 cases of two archetypes and Synthesis cases of two tags, of which some fail."""

    def run(*arguments: str, failing: int = 2, good: int = 3) -> Ran:
        outputs = [{"output": SILENT}] * failing + [{}] * good
        batch = [safe_case(f"s{i}", archetype="Safety", **fields) for i, fields in enumerate(outputs)]
        write_batch(Path("b.json"), *batch, *(safe_case(f"o{i}", archetype="Other") for i in range(20)))
        own = {"tags": ["grief"], "expected": {"topic_pivot": True}}
        turns = [turn(f"t{i}", assistant=BAD if i < failing else GOOD, **own) for i in range(failing + good)]
        write_cases(Path("c.jsonl"), *turns, *(turn(f"n{i}", tags=["other"]) for i in range(20)))
        return safe_gate("run", *INPUTS, "--max-unexpected-failures", "99", "--min-pass-rate", "0", *arguments)

    return run


@pytest.mark.parametrize(
    ("settings", "group", "value", "passed"),
    [
        ({"archetypes": {"Safety": {"min-pass-rate": 0.6}}}, 'Archetype "Safety": ', 0.6, True),
        ({"archetypes": {"Safety": {"min-pass-rate": 0.7}}}, 'Archetype "Safety": ', 0.6, False),
        ({"archetypes": {"Other": {"min-pass-rate": 1}}}, 'Archetype "Other": ', 1, True),
        ({"tags": {"grief": {"max-unexpected-failures": 1}}}, 'Tag "grief": ', 2, False),
        ({"tags": {"grief": {"max-unexpected-failures": 2}}}, 'Tag "grief": ', 2, True),
        ({"tags": {"grief": {"min-pass-rate": 0.61}}}, 'Tag "grief": ', 0.6, False),
        ({"tags": {"grief": {"min-label-accuracy": 0.6}}}, 'Tag "grief": ', 0.6, True),
        ({"tags": {"other": {"min-label-accuracy": 0}}}, 'Tag "other": ', None, False),
    ],
)
def test_a_group_has_rules_of_its_own(run: Run, settings: Any, group: str, value: float | None, passed: bool) -> None:
    configure(settings)
    ran = run()
    (rule,) = of_groups()
    assert (ran.code, rule["value"], rule["passed"]) == (not passed, value, passed)
    assert group + rule["message"][:10] in ran.out
    assert rule["group"] not in rule["message"]


def test_every_rule_of_a_group_is_a_setting_of_its_config_and_of_the_recorded_policy() -> None:
    config, stored = (read_json(REPOSITORY / f"schemas/{one}.schema.json") for one in ("config", "report"))
    policy = stored["properties"]["provenance"]["properties"]["policy"]["properties"]["groups"]["properties"]
    for evaluator, key in (("safe_v0", "archetypes"), ("synthesis", "tags")):
        rules = {rule.name for rule in EVALUATORS[evaluator].gate.group_rules}
        named = config["$defs"][key]["additionalProperties"]["properties"].keys()
        assert named - {"weights", "thresholds", "optional", *KINDS} == rules
        assert policy[evaluator]["additionalProperties"]["properties"].keys() == rules


@pytest.mark.parametrize("least", [3, 4])
def test_a_rate_of_too_few_cases_is_a_row_that_says_skipped(run: Run, least: int) -> None:
    rates, count = {"min-pass-rate": 1, "min-label-accuracy": 1}, {"max-unexpected-failures": 1}
    configure({"archetypes": {"Safety": {"min-pass-rate": 1}}, "tags": {"grief": rates | count}})
    ran, said = run("--min-group", str(least), failing=2, good=1), "skipped: 3 cases, min-group 4"
    found = [(rule["passed"], rule["value"], rule.get("skipped")) for rule in of_groups() if rule["rule"] in rates]
    counted = [(rule["passed"], rule["value"]) for rule in of_groups() if rule["rule"] not in rates]
    assert (ran.code, counted) == (1, [(False, 2)])
    assert found == [(False, pytest.approx(1 / 3), None) if least == 3 else (True, None, True)] * 3
    assert ran.out.count(said) == (3 if least == 4 else 0)
    row = f"| `min-pass-rate` | Tag <code>grief</code>: {said} | ⏭️ |"
    assert (row in MARKDOWN.read_text("utf-8")) == (least == 4)
    assert ("Gate: FAIL (1 of 3 rules broken, 3 skipped)" in ran.out) == (least == 4)


def test_a_group_that_no_case_is_in_is_skipped(run: Run) -> None:
    limits = {"archetypes": {"Nobody": {"min-pass-rate": 1}}, "tags": {"nothing": {"max-unexpected-failures": 0}}}
    configure({key: {name: one | {"optional": True} for name, one in of.items()} for key, of in limits.items()})
    ran = run()
    assert (ran.code, "Gate: PASS (all 2 rules hold, 2 skipped)" in ran.out) == (0, True)
    assert [(rule["message"], rule["skipped"]) for rule in of_groups()] == [("skipped: no cases", True)] * 2


@pytest.mark.parametrize(
    ("inputs", "config", "idle"),
    [
        (INPUTS[2:], {"min-pass-rate": 0.9, "max-fail-labels": 0}, "SAFE v0: min-pass-rate and max-fail-labels"),
        (INPUTS[:2], {"tags": {"no": {"min-pass-rate": 1}}, "min-label-accuracy": 1}, "Synthesis: min-label-accuracy and tags"),
        (INPUTS[:2], {"min-pass-rate": 0.9, "max-vacuous": 1}, ""),
    ],
)  # fmt: skip
def test_rules_of_evaluators_without_input_are_named(safe_gate: SafeGate, inputs: Any, config: Any, idle: str) -> None:
    write_cases(Path("c.jsonl"), turn("t"))
    write_batch(Path("b.json"), safe_case("s"))
    configure(config)
    title, _, names = idle.partition(": ")
    said = f"{title} did not run: it has no input, so its rules do not apply: {names}.\n" if idle else ""
    for flags in ((), ("--quiet",)):
        ran = safe_gate("run", *inputs, *flags)
        assert (ran.code, said in ran.log) == (0, True)
    assert ran.err == said


GRIEF, SAFETY = '(did you mean "grief"?)', '(did you mean "Safety"?)'


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"tags": {"greif": {"max-unexpected-failures": 0}}}, f"tags.greif: no case has this tag {GRIEF}"),
        ({"archetypes": {"Safty": {"min-pass-rate": 1}}}, f"archetypes.Safty: no case has this archetype {SAFETY}"),
        ({"archetypes": {"safety": {"weights": {"AH": 3}}}}, f"archetypes.safety: no case has this archetype {SAFETY}"),
        ({"tags": {"x": {"min-pass-rate": 1, "optional": False}}}, "tags.x: no case has this tag; correct the name, or set `optional: true` if its cases may be absent"),
    ],
)  # fmt: skip
def test_a_group_without_cases_is_an_error(run: Run, settings: Any, said: str) -> None:
    Path("safe.config.json").write_text("// ours\n" + json.dumps(settings), "utf-8")
    for flags in ((), ("--shard", "1/2")):
        refused(run(*flags), f"safe.config.json:2: {said}")
    assert judged()["verdict"] == "error"


def test_a_concern_or_a_shard_may_leave_out_all_cases_of_a_group(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    write_cases(Path("c.jsonl"), *(turn(f"t{i}", tags=[f"tag {i}"]) for i in range(4)))
    write_batch(Path("b.json"), *(safe_case(f"s{i}", concern_id=f"I{i}", archetype=f"kind {i}") for i in range(4)))
    tags, kinds = ({f"{one} {i}": {"min-pass-rate": 1} for i in range(4)} for one in ("tag", "kind"))
    configure({"tags": tags, "archetypes": {name: own | {"weights": {"CR": 2}} for name, own in kinds.items()}})
    inputs = *INPUTS, "--safe-concern", "I2"
    assert safe_gate("run", *inputs).code == 0
    assert [rule["group"] for rule in of_groups() if "skipped" in rule] == ["kind 0", "kind 1", "kind 3"]
    whole = Path("reports/safe-gate.json").read_bytes()
    for index in (1, 2, 3):
        assert safe_gate("run", *inputs, "--shard", f"{index}/3", "--report-dir", "shards").code == 0
    assert safe_gate("merge", "shards/*.json", *inputs).code == 0
    assert Path("reports/safe-gate.json").read_bytes() == whole
    assert safe_gate("score", "--batch", "b", "--concern", "I2").code == 0


def test_files_given_by_hand_need_not_have_every_group_of_the_config(safe_gate: SafeGate) -> None:
    write_cases(Path("a.jsonl"), turn("a", tags=["grief-a"]))
    write_cases(Path("b.jsonl"), turn("b", tags=["grief-b", "work"]))
    write_batch(Path("b.json"), safe_case("s", archetype="Safety"))
    tags = {name: {"max-unexpected-failures": 1} for name in ("grief-a", "grief-b", "work")}
    groups = {"tags": tags, "archetypes": {"Process": {"min-pass-rate": 0}}}
    configure(groups)
    for command in (("eval", "--cases", "a.jsonl"), ("eval", "--cases", "b.jsonl"), ("score", "--batch", "b")):
        assert safe_gate(*command).code == 0
    assert safe_gate("run", "--synthesis-cases", "a.jsonl").code == 3  # a gate whose limit judges nothing
    configure(groups | {"synthesis-cases": ["a.jsonl"]})
    refused(safe_gate("eval"), "tags.work: no case has this tag; correct")


def test_an_archetype_may_have_thresholds_of_its_own(safe_gate: SafeGate) -> None:
    labels = {"Strict": "Fail", "Lax": "Pass", "Unknown": "Review"}
    cases = [safe_case(name, archetype=name, output=HALF, expectations=asking(["fever", "rash"])) for name in labels]
    write_batch(Path("b.json"), *cases)
    absent = {"thresholds": {"AC": {"review": 0}}, "optional": True}
    own = {"Lax": {"CR": {"pass": 0.5}}, "Strict": {"CR": {"pass": 1, "review": 0.75}}}
    configure({"archetypes": {name: {"thresholds": one} for name, one in own.items()} | {"Absent": absent}})
    ran = safe_gate("run", "--safe-batch", "b", "--min-pass-rate", "0")
    part = judged()["safe_v0"]
    assert {result["test_id"]: result["label"] for result in part["results"]} == labels
    assert part["pass_rates"]["CR"] == pytest.approx(1 / 3)
    lax = part["policy"]["thresholds"] | {"CR": {"pass": 0.5, "review": 0.5}}
    assert part["policy"]["archetype_thresholds"]["Lax"] == lax
    assert 'Labelled by its own thresholds: archetype "Lax", "Strict".' in ran.out


def test_groups_are_counted_in_the_report_with_their_intervals(safe_gate: SafeGate) -> None:
    def interval(low: float, high: float) -> dict[str, Any]:
        return {"low": pytest.approx(low, abs=1e-4), "high": pytest.approx(high, abs=1e-4)}

    labels = {"expected": {"topic_pivot": True, "agency_language": False}}
    meant = turn("c", tags=["x", "negative_example"], assistant=BAD)
    write_cases(Path("c.jsonl"), turn("a", tags=["x", "y", "x"], **labels), turn("b", tags=["x"], assistant=BAD), meant)
    write_batch(Path("b.json"), safe_case("s", archetype="A"), safe_case("t", output=SILENT))
    safe_gate("run", *INPUTS)
    safe, by_tag = judged()["safe_v0"], judged()["synthesis"]["summary"]["by_tag"]
    counts = {tag: (g["cases"], g["passed_as_expected"], g["unexpected_failures"]) for tag, g in by_tag.items()}
    assert [*counts.items()] == [("negative_example", (1, 1, 0)), ("x", (3, 2, 1)), ("y", (1, 1, 0))]
    assert by_tag["x"]["labels"] == {"total": 2, "matched": 1}
    assert by_tag["x"]["pass_rate_interval"] == interval(0.2077, 0.9385)
    half = interval(0.0945, 0.9055)
    assert safe["pass_rate_intervals"]["overall"] == safe["by_batch"]["b"]["pass_rate_intervals"]["CR"] == half
    assert safe["by_archetype"]["A"]["pass_rate_interval"] == interval(0.2065, 1)
    assert "| <code>A</code> | 1 | 1.00 | 1.00 | 1.00 | 100.0% (20.7 to 100.0) |" in MARKDOWN.read_text("utf-8")


def test_tags_of_enough_cases_are_in_a_table_the_largest_first(safe_gate: SafeGate) -> None:
    tags = [["few"] * (i < 4) + ["some"] * (i < 5) + ["all"] for i in range(6)]
    turns = (turn(str(i), tags=some, assistant=BAD if i else GOOD) for i, some in enumerate(tags))
    write_cases(Path("c.jsonl"), *turns)
    safe_gate("run", "--synthesis-cases", "c.jsonl")
    markdown = MARKDOWN.read_text("utf-8")
    rows = "| <code>all</code> | 6 | 5 | 16.7% (3.0 to 56.4) |\n| <code>some</code> | 5 | 4 | 20.0% (3.6 to 62.4) |\n"
    assert "Cases that pass or fail as expected, by tag from 5 cases on" in markdown
    assert rows in markdown
    assert "| <code>few</code> |" not in markdown
