"""SAFE v0 from the outside: the fixtures' expected results, the spec's table, the edge cases."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safe_gate import score_output
from safe_gate.evaluators.safe_v0.evaluator import Settings
from safe_gate.evaluators.safe_v0.gate import Totals, allowed_misses
from safe_gate.evaluators.safe_v0.present import marks
from safe_gate.evaluators.safe_v0.score import Case, score_case
from tests.support.cases import DATA, SafeGate, refused, safe_case, write_batch
from tests.support.git import commit_here
from tests.support.reports import scorecard
from tests.support.safe_v0 import DEFAULT, asking, case, policy, run, saying, scored

FIXTURES = DATA / "safe_v0"
EXPECTED: dict[str, Any] = json.loads((FIXTURES / "expected.json").read_text("utf-8"))["files"]
TABLE_OF_5_2 = """\
┌─────────────────┬───────────────────────┬──────┬──────┬──────┬─────────┐
│ Test ID         │ Archetype             │  CR  │  AH  │  AC  │ Label   │
├─────────────────┼───────────────────────┼──────┼──────┼──────┼─────────┤
│ I25-BATCH1-001  │ Process_Auditor       │ 1.00 │ 1.00 │ 1.00 │ PASS    │
│ I25-BATCH1-002  │ Delay_Driver_Profiler │ 0.67 │ 1.00 │ 0.50 │ REVIEW  │
│ I25-BATCH1-003  │ Process_Auditor       │ 1.00 │ 0.50 │ 1.00 │ REVIEW  │
│ I25-BATCH1-004  │ Documentation_Gap     │ 1.00 │ 1.00 │ 1.00 │ PASS    │
│ I25-BATCH1-005  │ Safety_Signal         │ 1.00 │ 1.00 │ 0.50 │ REVIEW  │
└─────────────────┴───────────────────────┴──────┴──────┴──────┴─────────┘
"""


def assert_agrees(actual: Any, expected: Any, where: str = "") -> None:
    """Hold a report against the expected one: numbers within 1e-9, everything else equal."""
    if isinstance(expected, dict):
        for key in expected.keys() - {"exit_code", "display"}:
            assert_agrees(actual[key], expected[key], f"{where}.{key}")
    elif isinstance(expected, list):
        for index, (one, other) in enumerate(zip(actual, expected, strict=True)):
            assert_agrees(one, other, f"{where}[{index}]")
    else:
        assert actual == (pytest.approx(expected, abs=1e-9) if isinstance(expected, float) else expected), where


@pytest.mark.parametrize(("mode", "flags"), [("default", []), ("strict", ["--strict-ah"])])
@pytest.mark.parametrize("batch", EXPECTED)
def test_fixture_gives_the_expected_report(safe_gate: SafeGate, batch: str, mode: str, flags: list[str]) -> None:
    ran = safe_gate("score", "--test-dir", FIXTURES, "--batch", batch, "--format", "json", *flags)
    assert ran.code == EXPECTED[batch][mode]["exit_code"]
    assert_agrees(json.loads(ran.out), EXPECTED[batch][mode])


def test_the_table_of_section_5_2_is_drawn_exactly(safe_gate: SafeGate) -> None:
    ran = safe_gate("score", "--test-dir", FIXTURES, "--batch", "I25_batch_1")
    assert TABLE_OF_5_2 in ran.out
    assert "║                        SAFE v0 Scorecard - I25                        ║" in ran.out
    assert '  AH Violations: "policy" (1 case), "protocol" (1 case)' in ran.out
    assert ran.code == 2


def test_markdown_report_is_named_after_concern_and_time(safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1736937000")
    monkeypatch.setenv("SAFE_V0_REPORT_DIR", "out")
    write_batch(Path("b.json"), safe_case("a", concern_id="../../etc/x\n"))
    for name, batch in (("I25", FIXTURES / "I25_batch_1"), ("______etc_x_", "b")):
        ran = safe_gate("score", "--batch", batch, "--format", "markdown")
        assert f"out/SAFE_v0_{name}_20250115T103000Z.md" in ran.out
        assert "# SAFE v0 Scorecard - <code>" in Path(f"out/SAFE_v0_{name}_20250115T103000Z.md").read_text("utf-8")


@pytest.mark.parametrize("start", ['{\n  "report_type": "SAFE_v0"', "# SAFE v0 Scorecard", "╔"])
def test_a_report_has_the_format_that_its_name_or_else_the_flag_asks_for(safe_gate: SafeGate, start: str) -> None:
    asked = {
        "{": "card.json, card json, card console markdown json, card.json all, card.json console, card.md json",
        "#": "card.md, card.txt markdown, card console markdown, card.md all, card.json markdown",
        "╔": "card.txt",
    }
    write_batch(Path("b.json"), safe_case("a"))
    for output, *formats in map(str.split, asked[start[0]].split(", ")):
        ran = safe_gate("score", "--batch", "b", "--output", output, *["--format"] * bool(formats), *formats)
        assert (ran.code, f"Report: {output}\n" in ran.out) == (0, True)
        assert Path(output).read_text("utf-8").startswith(start), (output, formats)


def test_several_batches_are_reported_together_and_apart(safe_gate: SafeGate) -> None:
    ran = safe_gate("score", "--test-dir", FIXTURES, "--batch", "*_batch_*", "golden_set", "--format", "json")
    report = json.loads(ran.out)
    assert report["batch_id"] == "I08_batch_1,I25_batch_1,I32b_batch_1,golden_set"
    assert report["concern_id"] == "I08,I25,I32b"
    assert report["total_cases"] == 23
    assert report["by_batch"]["I25_batch_1"]["pass_rates"]["overall"] == 0.4
    assert {result["batch_id"] for result in report["results"]} == set(report["by_batch"])


def test_archetype_is_the_cases_own_then_the_plans_then_unknown_whatever_is_filtered(safe_gate: SafeGate) -> None:
    cases = [safe_case("a", archetype="Own"), safe_case("b", concern_id="X"), safe_case("c"), safe_case("d")]
    write_batch(Path("b.json"), *cases, batch_plan={"scenarios": [*({"archetype": f"P{n}"} for n in range(3)), {}]})
    placed = {"a": "Own", "b": "P1", "c": "P2", "d": "Unknown"}
    for concern in ("", "I25"):
        report = json.loads(safe_gate("score", "--batch", "b", "--format", "json", "--concern", concern).out)
        expected = {id_: one for id_, one in placed.items() if id_ != "b" or not concern}
        assert {one["test_id"]: one["archetype"] for one in report["results"]} == expected
    refused(safe_gate("score", "--batch", "b", "--concern", "Nope"), "matches no case")


def test_scenarios_give_archetypes_only_if_there_is_one_for_each_case(safe_gate: SafeGate) -> None:
    plan, own = {"scenarios": [{"archetype": "P0"}]}, safe_case("b", archetype="Own")
    write_batch(Path("b.json"), safe_case("a"), own, batch_plan=plan)
    said = "batch_plan.scenarios: has 1 for 2 test cases, whose archetypes they give by position; expected one for each"
    for command in (("score", "--batch", "b"), ("validate", "b.json")):
        assert refused(safe_gate(*command), said).startswith("b.json:")
    base = commit_here()
    write_batch(Path("b.json"), safe_case("a"), batch_plan={"scenarios": [{"description": one} for one in "abc"]})
    assert safe_gate("validate", "b.json").code == 0
    write_batch(Path("b.json"), safe_case("a", archetype="Own"), own, batch_plan=plan)
    assert safe_gate("run", "--safe-batch", "b.json", "--baseline", base).code == 0


def fold(cases: list[Case], by: Any) -> Totals:
    return sum((Totals.of([(case, score_case(case, by))], by) for case in cases), Totals())


@pytest.mark.parametrize(
    ("fields", "scores"),
    [
        ({}, (1.0, 1.0, 1.0)),
        ({"must_find_signals": ("a",), "must_contain_phrases": ("a",)}, (0.0, 1.0, 0.0)),
        ({"must_find_signals": ("PULSE",), "signals": ("The pulse",)}, (1.0, 1.0, 1.0)),
        ({"must_find_signals": ("home",), "summary": "Went home"}, (1.0, 1.0, 1.0)),
        ({"must_find_signals": ("a b",), "signals": ("a", "b")}, (0.0, 1.0, 1.0)),
        ({"must_contain_phrases": ("x",), "signals": ("x",)}, (1.0, 1.0, 0.0)),
        ({"forbidden_terms": ("fault", "x"), "followup_questions": ("By default?",)}, (1.0, 0.5, 1.0)),
        ({"forbidden_terms": ("x",)}, (1.0, 1.0, 1.0)),
        ({"must_find_signals": ("x", "x", "y"), "summary": "y"}, (1 / 3, 1.0, 1.0)),
        ({"must_contain_phrases": ("straße",), "summary": "STRASSE"}, (1.0, 1.0, 0.0)),
        ({"must_contain_phrases": ("\u212a",), "summary": "k"}, (1.0, 1.0, 1.0)),
        ({"must_contain_phrases": ("a.c",), "summary": "abc"}, (1.0, 1.0, 0.0)),
    ],
)
def test_scores_follow_the_formulas_and_edge_cases(fields: dict[str, Any], scores: tuple[float, ...]) -> None:
    assert tuple(scored(**fields).scores.values()) == scores


def test_archetype_weights_replace_the_weights_of_their_archetype_only() -> None:
    own = policy(archetypes={"Safety": {"weights": {"CR": 0.0, "AH": 1.0, "AC": 3.0}}})
    fields: dict[str, Any] = {"must_contain_phrases": ("x",)}
    assert scored(own, archetype="Safety", **fields).composite == 0.25
    assert scored(own, **fields).composite == pytest.approx(2 / 3)


CASE = st.builds(
    case,
    id=st.integers().map(str),
    archetype=st.sampled_from("abcd"),
    must_find_signals=st.sampled_from([("m", *"xyz"[:missing]) for missing in range(4)]),
    signals=st.sampled_from([("m",), ()]),
)
CASES = st.lists(CASE, min_size=1, max_size=12, unique_by=lambda one: one.id)


@given(CASES, st.randoms(use_true_random=False), st.integers(0, 12))
def test_totals_do_not_depend_on_order_or_on_how_cases_are_split(cases: list[Case], random: Any, cut: int) -> None:
    shuffled = random.sample(cases, len(cases))
    whole = Totals.of([(one, score_case(one, DEFAULT)) for one in cases], DEFAULT)
    assert fold(shuffled[:cut], DEFAULT) + fold(shuffled[cut:], DEFAULT) == whole
    assert Totals() + whole == whole


def test_a_long_list_of_a_case_leaves_room_for_the_other_cases(safe_gate: SafeGate) -> None:
    long = safe_case("long", expectations=asking(map(str, range(900))), output=saying())
    write_batch(Path("b.json"), long)
    ran, part = run(safe_gate)
    assert ', "19" and 880 more\n' in ran.out
    assert '  CR Misses: "0" (1 case), "1" (1 case), "10" (1 case), and 897 more\n' in ran.out
    assert "<code>18</code>, <code>19</code> and 880 more" in scorecard()
    assert len(part["results"][0]["details"]["CR"]["missing"]) == 900


@pytest.mark.parametrize("before", ["", "I", "\u0130", "\u0130\u0130 and "], ids=ascii)
def test_a_mark_has_its_place_in_the_text_as_it_was_recorded(before: str) -> None:
    text = f"{before}Fever since noon."  # U+0130 is two characters in lower case
    result = scored(must_find_signals=("fever",), summary=text)
    (mark,) = marks(result, {"summary": text})
    assert (mark.start, mark.end) == (len(before), len(before) + len("Fever"))


@pytest.mark.parametrize(
    ("needle", "text", "marked"),
    [("\u0130zmir", "To i\u0307zmir.", ["i\u0307zmir"]), ("mild", "Mild, m\u0131ld", ["Mild"]), ("is", "Is i\u017f", ["Is"])],
)  # fmt: skip
def test_what_counts_is_marked_and_nothing_else(needle: str, text: str, marked: list[str]) -> None:
    result = scored(must_contain_phrases=(needle,), summary=text)
    assert [mark.text for mark in marks(result, {"summary": text})] == marked


@pytest.mark.parametrize(
    ("used", "forbidden", "review"), [(4, 5, "0.2"), (9, 10, "0.1"), (8, 10, "0.2"), (2, 3, "0.34")]
)
def test_a_score_that_equals_a_threshold_reaches_it(used: int, forbidden: int, review: str) -> None:
    terms = [f"<{number}>" for number in range(forbidden)]
    limits = {"AH": {"review": float(review)}}
    found = score_output(**saying(questions=terms[:used]), forbidden_terms=terms, thresholds=limits)
    assert found.label == ("Fail" if review == "0.34" else "Review")


OF_A, OF_B = ({"archetypes": {name: {"thresholds": {"CR": {"pass": 0.6}}}}} for name in "AB")


@pytest.mark.parametrize(
    ("key", "settings", "missed"),
    [
        ("CR", {}, [(0,), (0,), (1,)]),
        ("CR", {"max_fail_labels": 0}, [(0, 0), (0, 2), (1, 2)]),
        ("CR", OF_A, [(0,), (1,), (2,)]),
        ("CR", OF_B, [(0,), (0,), (1,)]),
        ("AH", {"max_fail_labels": 0}, [(0, 0), (0, 2), (0, 2)]),
        ("AH", {"max_fail_labels": 0, "strict_ah": True}, [()] * 3),
        ("checks", {}, [()] * 3),
    ],
)
def test_more_needles_let_an_output_miss_more(key: str, settings: dict[str, Any], missed: list[Any]) -> None:
    given = Settings().model_dump(by_alias=True) | settings
    for count, expected in zip((0, 4, 5), missed, strict=True):
        assert allowed_misses(key, {"archetype": "A", key: ["x"] * count}, given) == expected
