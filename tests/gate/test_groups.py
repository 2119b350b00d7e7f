"""Rules on the cases of one archetype or one tag, thresholds of an archetype's own, and groups too small for either."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safe_gate.core.figures import add_up
from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.evaluators.synthesis.checks.score import Case, score_case
from safe_gate.evaluators.synthesis.definitions import KINDS
from safe_gate.evaluators.synthesis.result import Labels, Totals, report
from safe_gate.model.problems import Place
from tests.support.cases import BAD, GOOD, REPOSITORY, SILENT, Ran, SafeGate, safe_case, turn, write_batch, write_cases
from tests.support.cases import report as judged
from tests.support.packs import load

HALF = {"signals": ["fever"], "summary": "", "followup_questions": []}  # CR 0.5 of two signals


def configure(**settings: Any) -> None:
    Path("safe.config.json").write_text(
        json.dumps({name.replace("_", "-"): v for name, v in settings.items()}), "utf-8"
    )


def of_groups() -> list[dict[str, Any]]:
    return [rule for rule in judged()["rules"] if "group" in rule]


@pytest.fixture
def run(safe_gate: SafeGate) -> Callable[..., Ran]:
    """Run over SAFE v0 cases of two archetypes and Synthesis cases of two tags, of which some fail."""

    def run(*arguments: str, failing: int = 2, good: int = 3) -> Ran:
        outputs = [{"output": SILENT}] * failing + [{}] * good
        batch = [safe_case(f"s{i}", archetype="Safety", **fields) for i, fields in enumerate(outputs)]
        write_batch(Path("b.json"), *batch, *(safe_case(f"o{i}", archetype="Other") for i in range(20)))
        replies = [BAD] * failing + [GOOD] * good
        labels = {"topic_pivot": True}
        turns = [turn(f"t{i}", assistant=r, tags=["grief"], expected=labels) for i, r in enumerate(replies)]
        write_cases(Path("c.jsonl"), *turns, *(turn(f"n{i}", tags=["other"]) for i in range(20)))
        lenient = ["--max-unexpected-failures", "99", "--min-pass-rate", "0"]
        return safe_gate("run", "--safe-batch", "b", "--synthesis-cases", "c.jsonl", *lenient, *arguments)

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
def test_a_group_has_rules_of_its_own(
    run: Callable[..., Ran], settings: dict[str, Any], group: str, value: float | None, *, passed: bool
) -> None:
    configure(**settings)
    ran = run()
    assert ran.code == (not passed)
    (rule,) = of_groups()
    assert (rule["value"], rule["passed"]) == (value, passed)
    assert group + rule["message"][:10] in ran.out
    assert rule["group"] not in rule["message"]


def test_every_rule_of_a_group_is_a_setting_of_its_config_and_of_the_recorded_policy() -> None:
    config, stored = (
        json.loads((REPOSITORY / f"schemas/{name}.schema.json").read_text("utf-8")) for name in ("config", "report")
    )
    config_only = {"weights", "thresholds", "optional", *KINDS}
    policy = stored["properties"]["provenance"]["properties"]["policy"]["properties"]["groups"]["properties"]
    for evaluator, key in (("safe_v0", "archetypes"), ("synthesis", "tags")):
        rules = {rule.name for rule in EVALUATORS[evaluator].gate.group_rules}
        assert set(config["$defs"][key]["additionalProperties"]["properties"]) - config_only == rules
        assert set(policy[evaluator]["additionalProperties"]["properties"]) == rules


@pytest.mark.parametrize("least", [3, 4])
def test_a_rate_of_too_few_cases_is_a_row_that_says_skipped(run: Callable[..., Ran], least: int) -> None:
    own = {"min-pass-rate": 1, "min-label-accuracy": 1}
    configure(archetypes={"Safety": {"min-pass-rate": 1}}, tags={"grief": own | {"max-unexpected-failures": 1}})
    ran = run("--min-group", str(least), failing=2, good=1)
    assert ran.code == 1
    rates = [rule for rule in of_groups() if rule["rule"].startswith("min-")]
    (count,) = [rule for rule in of_groups() if rule not in rates]
    assert (count["passed"], count["value"], "skipped" in count) == (False, 2, False)
    markdown = Path("reports/safe-gate.md").read_text("utf-8")
    if least == 3:
        assert [rule["value"] for rule in rates] == [pytest.approx(1 / 3)] * 3
        assert "skipped" not in ran.out + markdown
        return
    assert [(r["passed"], r["value"], r["skipped"], r["message"]) for r in rates] == 3 * [
        (True, None, True, "skipped: 3 cases, min-group 4")
    ]
    rows = [line for line in ran.out.splitlines() if "skipped: 3 cases, min-group 4" in line]
    assert [row.split("│")[2].strip() for row in rows] == ["skipped"] * 3
    assert "Gate: FAIL (1 of 3 rules broken, 3 skipped)" in ran.out
    assert "failed · 1 of 3 rules broken, 3 skipped\n" in markdown
    assert "| `min-pass-rate` | Tag <code>grief</code>: skipped: 3 cases, min-group 4 | ⏭️ |" in markdown


def test_a_group_that_no_case_is_in_is_skipped(run: Callable[..., Ran]) -> None:
    absent = {"optional": True}
    limits = {"Nobody": absent | {"min-pass-rate": 1}}, {"nothing": absent | {"max-unexpected-failures": 0}}
    configure(archetypes=limits[0], tags=limits[1])
    ran = run()
    assert ran.code == 0
    assert [(rule["message"], rule["skipped"]) for rule in of_groups()] == [("skipped: no cases", True)] * 2
    assert "Gate: PASS (all 2 rules hold, 2 skipped)" in ran.out


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"tags": {"greif": {"max-unexpected-failures": 0}}}, 'tags.greif: no case has this tag (did you mean "grief"?)'),
        ({"tags": {"GRIEF": {"min-pass-rate": 1}}}, 'tags.GRIEF: no case has this tag (did you mean "grief"?)'),
        ({"tags": {"greif": {}}}, 'tags.greif: no case has this tag (did you mean "grief"?)'),
        ({"archetypes": {"Safty": {"min-pass-rate": 1}}}, 'archetypes.Safty: no case has this archetype (did you mean "Safety"?)'),
        ({"archetypes": {"safety": {"weights": {"AH": 3}}}}, 'archetypes.safety: no case has this archetype (did you mean "Safety"?)'),
        ({"tags": {"x": {"min-pass-rate": 1, "optional": False}}}, "tags.x: no case has this tag; correct the name, or set `optional: true` if its cases may be absent"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("flags", [(), ("--shard", "1/2")])
def test_a_group_that_no_case_is_in_keeps_a_run_from_a_verdict(
    run: Callable[..., Ran], settings: dict[str, Any], said: str, flags: tuple[str, ...]
) -> None:
    Path("safe.config.json").write_text("// ours\n" + json.dumps(settings), "utf-8")
    ran = run(*flags)
    assert (ran.code, judged()["verdict"]) == (3, "error")
    assert f"safe.config.json:2: {said}" in ran.err


def test_names_of_groups_are_those_of_cases_that_a_concern_or_a_shard_leaves_out(
    safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    turns = [turn(f"t{i}", tags=[f"tag {i}"]) for i in range(4)]
    batch = [safe_case(f"s{i}", concern_id=f"I{i}", archetype=f"kind {i}") for i in range(4)]
    write_cases(Path("c.jsonl"), *turns)
    write_batch(Path("b.json"), *batch)
    own = {"min-pass-rate": 1}
    configure(
        tags={f"tag {i}": own for i in range(4)},
        archetypes={f"kind {i}": own | {"weights": {"CR": 2}} for i in range(4)},
    )
    inputs = "--safe-batch", "b", "--synthesis-cases", "c.jsonl", "--safe-concern", "I2"
    ran = safe_gate("run", *inputs)
    assert ran.code == 0, ran.err
    skipped = [rule["group"] for rule in of_groups() if "skipped" in rule]
    assert skipped == ["kind 0", "kind 1", "kind 3"]
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
    limits = {"max-unexpected-failures": 1}
    groups = {
        "tags": {"grief-a": limits, "grief-b": limits, "work": limits},
        "archetypes": {"Process": {"min-pass-rate": 0}},
    }
    configure(**groups)
    for command in (("eval", "--cases", "a.jsonl"), ("eval", "--cases", "b.jsonl"), ("score", "--batch", "b")):
        assert safe_gate(*command).code == 0
    assert safe_gate("run", "--synthesis-cases", "a.jsonl").code == 3  # a gate whose limit judges nothing
    configure(**groups, synthesis_cases=["a.jsonl"])
    ran = safe_gate("eval")
    assert (ran.code, "tags.work: no case has this tag; correct" in ran.err) == (3, True)


def test_an_archetype_may_have_thresholds_of_its_own(safe_gate: SafeGate) -> None:
    wanted = safe_case("x")["expectations"] | {"signal_generation": {"must_find_signals": ["fever", "rash"]}}
    wanted["event_summary"] = {"must_contain_phrases": []}
    cases = [safe_case(name, archetype=name, output=HALF, expectations=wanted) for name in ("Strict", "Lax", "Unknown")]
    write_batch(Path("b.json"), *cases)
    configure(
        archetypes={
            "Lax": {"thresholds": {"CR": {"pass": 0.5}}},
            "Strict": {"thresholds": {"CR": {"pass": 1, "review": 0.75}}},
            "Absent": {"thresholds": {"AC": {"review": 0}}, "optional": True},
        }
    )
    ran = safe_gate("run", "--safe-batch", "b", "--min-pass-rate", "0")
    part = judged()["safe_v0"]
    assert {result["test_id"]: result["label"] for result in part["results"]} == {
        "Strict": "Fail",
        "Lax": "Pass",
        "Unknown": "Review",
    }
    assert part["pass_rates"]["CR"] == pytest.approx(1 / 3)
    assert part["policy"]["archetype_thresholds"]["Lax"] == part["policy"]["thresholds"] | {
        "CR": {"pass": 0.5, "review": 0.5}
    }
    assert 'Labelled by its own thresholds: archetype "Lax", "Strict".' in ran.out


def test_groups_are_counted_in_the_report_with_their_intervals(safe_gate: SafeGate) -> None:
    write_cases(
        Path("c.jsonl"),
        turn("a", tags=["x", "y", "x"], expected={"topic_pivot": True, "agency_language": False}),
        turn("b", tags=["x"], assistant=BAD),
        turn("c", tags=["x", "negative_example"], assistant=BAD),
        turn("d", tags=["negative_example"]),
        turn("e"),
    )
    write_batch(Path("b.json"), safe_case("s", archetype="A"), safe_case("t", output=SILENT))
    safe_gate("run", "--synthesis-cases", "c.jsonl", "--safe-batch", "b")
    found = judged()
    by_tag = found["synthesis"]["summary"]["by_tag"]
    assert list(by_tag) == ["negative_example", "x", "y"]
    counts = {tag: (g["cases"], g["passed_as_expected"], g["unexpected_failures"]) for tag, g in by_tag.items()}
    assert counts == {"negative_example": (2, 1, 0), "x": (3, 2, 1), "y": (1, 1, 0)}
    assert by_tag["x"]["labels"] == {"total": 2, "matched": 1}
    assert by_tag["x"]["pass_rate_interval"] == {
        "low": pytest.approx(0.2077, abs=1e-4),
        "high": pytest.approx(0.9385, abs=1e-4),
    }
    assert found["synthesis"]["results"][0]["tags"] == ["x", "y", "x"]
    safe = found["safe_v0"]
    half = {"low": pytest.approx(0.0945, abs=1e-4), "high": pytest.approx(0.9055, abs=1e-4)}
    assert safe["pass_rate_intervals"]["overall"] == safe["by_batch"]["b"]["pass_rate_intervals"]["CR"] == half
    assert safe["by_archetype"]["A"]["pass_rate_interval"]["low"] == pytest.approx(0.2065, abs=1e-4)
    markdown = Path("reports/safe-gate.md").read_text("utf-8")
    assert "<code>x</code>" not in markdown
    assert "| <code>A</code> | 1 | 1.00 | 1.00 | 1.00 | 100.0% (20.7 to 100.0) |" in markdown


def test_tags_of_enough_cases_are_in_a_table_the_largest_first(safe_gate: SafeGate) -> None:
    tags = [["few"] * (i < 4) + ["some"] * (i < 5) + ["all"] for i in range(6)]
    write_cases(
        Path("c.jsonl"), *(turn(str(i), tags=some, assistant=BAD if i else GOOD) for i, some in enumerate(tags))
    )
    safe_gate("run", "--synthesis-cases", "c.jsonl")
    markdown = Path("reports/safe-gate.md").read_text("utf-8")
    rows = "| <code>all</code> | 6 | 5 | 16.7% (3.0 to 56.4) |\n| <code>some</code> | 5 | 4 | 20.0% (3.6 to 62.4) |\n"
    assert "Cases that pass or fail as expected, by tag from 5 cases on" in markdown
    assert rows in markdown
    assert "| <code>few</code> |" not in markdown


@given(
    st.lists(
        st.tuples(st.booleans(), st.lists(st.sampled_from(["a", "b", "", "x-fail"]), max_size=3)),
        min_size=1,
        max_size=8,
    ),
    st.randoms(use_true_random=False),
    st.integers(0, 8),
)
def test_counts_of_tags_do_not_depend_on_order_or_on_how_cases_are_split(
    cases: list[tuple[bool, list[str]]], random: Any, cut: int
) -> None:
    rules = load("spec")
    results = [
        score_case(
            Case(
                f"c{i}",
                "",
                "Would you like to?" if good else "You should.",
                ("agency_language",),
                {"agency_language": True},
                tuple(tags),
                Place("c", i),
            ),
            rules,
        )
        for i, (good, tags) in enumerate(cases)
    ]
    each = [Totals.of([result]) for result in results]
    whole = add_up(each, Totals())
    random.shuffle(each)
    assert add_up(each[:cut], Totals()) + add_up(each[cut:], Totals()) == whole
    part = report(whole, results)
    for tag, group in part.summary.by_tag.items():
        members = [result for result in part.results if tag in result.tags]
        assert group.cases == len(members)
        assert group.unexpected_failures == sum(not m.passed and not m.is_negative_example for m in members)
        assert group.passed_as_expected == sum(m.passed != m.is_negative_example for m in members)
        assert group.labels == Labels(len(members), sum(m.passed for m in members))
