"""Two runs compared: what must hold whatever the runs are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safe_gate.core.jsontext import digest
from safe_gate.core.stats import smallest_drop
from safe_gate.evaluators.safe_v0.result import Result
from safe_gate.gate.comparison import ComparedRun, Guards, Status, judge, smallest_visible, status
from safe_gate.gate.comparison import compare as compare_runs
from safe_gate.model.codec import from_json
from safe_gate.model.report import Added, Compared, ComparedParts, Removed

METRICS = ("CR", "AH", "AC")
LABELS = ("Fail", "Review", "Pass")
SAME = {"safe_v0": True, "synthesis": True}
Part = dict[str, Any]


def result(id_: str, scores: tuple[float, float, float], *, cluster: str = "") -> dict[str, Any]:
    """Return a SAFE v0 result; the output is another wherever a score is."""
    worst = min(2 if score >= 0.8 else 1 if score >= 0.5 else 0 for score in scores)
    return {
        "test_id": id_,
        "batch_id": "b",
        "archetype": "Auditor" if int(id_) % 2 else "Planner",
        "scores": {**dict(zip(METRICS, scores, strict=True)), "composite": sum(scores) / 3},
        "details": {
            "CR": {"found": [], "missing": []},
            "AH": {"violations": ["policy"] if scores[1] < 1 else []},
            "AC": {"found": [], "missing": []},
        },
        "label": LABELS[worst],
        "source": {"path": "b.json", "line": int(id_)},
        "digests": {"case": digest(id_), "output": digest([id_, scores])},
        "cluster": cluster,
    }


def compare(
    baseline: Part, today: Part | None, head: Part, guards: Guards, same_rules: dict[str, bool], key: str = ""
) -> Any:
    theirs = {name: "same" if is_same else "other" for name, is_same in same_rules.items()}
    ours = dict.fromkeys(same_rules, "same")
    old, new = ComparedRun(_typed(baseline), theirs), ComparedRun(_typed(head), ours, cluster_key=key)
    return compare_runs(old, ComparedRun(_typed(today), ours) if today else None, new, guards)


def _typed(parts: Part) -> Part:
    return {name: own and SimpleNamespace(results=[*map(_result, own["results"])]) for name, own in parts.items()}


def _result(value: dict[str, Any]) -> Result:
    return from_json(Result, value)


def part(*results: dict[str, Any]) -> Part:
    return {"safe_v0": {"results": list(results)}, "synthesis": None}


def judged(base: Part, head: Part, guards: Guards, today: Part | None = None) -> tuple[ComparedParts, Status, set[str]]:
    """Return the comparison, its status and the guards that are broken."""
    found = compare(base, today, head, guards, SAME)
    outcomes = judge(found, guards)
    return found, status(found, outcomes, guards), {outcome.rule for outcome in outcomes if not outcome.passed}


def safe(found: ComparedParts) -> Compared:
    compared = found["safe_v0"]
    assert compared
    return compared


def ids(found: ComparedParts, change: str) -> list[str]:
    return [one.id for one in safe(found).changes if one.change == change]


ratio = st.sampled_from([0.0, 0.25, 0.5, 2 / 3, 0.8, 1.0])
triple = st.tuples(ratio, ratio, ratio)
pairs = st.lists(st.tuples(triple, triple), min_size=1, max_size=30)
policies = st.builds(
    Guards,
    protect=st.sampled_from([(), ("1",), ("Auditor",)]),
    allow_missing=st.sampled_from([(), ("cases",)]),
    max_regressions=st.none() | st.integers(0, 3),
    max_score_drop=st.none() | st.sampled_from([0.0, 0.1]),
    min_drop=st.sampled_from([0.0, 0.02, 0.2]),
    alpha=st.sampled_from([0.05, 0.5]),
)


def runs(drawn: list[tuple[tuple[float, float, float], tuple[float, float, float]]]) -> tuple[Part, Part]:
    return (
        part(*(result(str(i), before) for i, (before, _) in enumerate(drawn))),
        part(*(result(str(i), after) for i, (_, after) in enumerate(drawn))),
    )


@given(pairs, policies)
def test_a_run_compared_with_itself_never_fails(drawn: Any, guards: Guards) -> None:
    base, _ = runs(drawn)
    found, said, broken = judged(base, base, guards)
    assert (said, broken) == (Status.PASS, set())
    assert {change.change for change in safe(found).changes} <= {"still failing"}
    assert all(metric.p == 1 for metric in safe(found).metrics)


@given(pairs, policies)
def test_swapping_base_and_head_mirrors_what_changed(drawn: Any, guards: Guards) -> None:
    base, head = runs(drawn)
    there, back = (compare(one, None, other, guards, SAME) for one, other in ((base, head), (head, base)))
    for change, mirrored in (("newly failing", "fixed"), ("worse", "better"), ("mixed", "mixed")):
        assert ids(there, change) == ids(back, mirrored)
    for one, other in zip(safe(there).metrics, safe(back).metrics, strict=True):
        assert (one.worse, one.better) == (other.better, other.worse)
        assert one.baseline == other.head
        if one.interval and other.interval:
            assert one.interval.low == pytest.approx(-other.interval.high)


@given(pairs, policies, st.randoms(use_true_random=False))
def test_the_order_of_cases_changes_nothing(drawn: Any, guards: Guards, random: Any) -> None:
    base, head = runs(drawn)
    shuffled = [part(*random.sample(one["safe_v0"]["results"], len(drawn))) for one in (base, head)]
    assert compare(*(shuffled[0], None, shuffled[1]), guards, SAME) == compare(base, None, head, guards, SAME)


@given(pairs, policies, st.integers(0, 29))
def test_one_more_failing_case_never_turns_a_failed_comparison_into_a_better_one(
    drawn: Any, guards: Guards, which: int
) -> None:
    base, head = runs(drawn)
    _, _, broken = judged(base, head, guards)
    worse = list(drawn)
    worse[which % len(drawn)] = (drawn[which % len(drawn)][0], (0.0, 0.0, 0.0))
    _, _, after = judged(*runs(worse), guards)
    assert broken <= after


def test_changes_of_rules_and_changes_of_outputs_are_separated() -> None:
    base = part(result("1", (1, 1, 1)), result("2", (1, 1, 1)))
    today = part(result("1", (0.5, 1, 1)), result("2", (1, 1, 1)))
    today["safe_v0"]["results"][0]["digests"] = base["safe_v0"]["results"][0]["digests"]
    head = part(today["safe_v0"]["results"][0], result("2", (0, 1, 1)))
    found, _, _ = judged(base, head, Guards(), today)
    by_id = {change.id: change for change in safe(found).changes}
    assert (by_id["1"].change, by_id["1"].because, by_id["1"].passed) == (
        "still failing",
        ["rules"],
        [True, False, False],
    )
    assert (by_id["2"].change, by_id["2"].because, by_id["2"].passed) == (
        "newly failing",
        ["output"],
        [True, True, False],
    )
    recall = safe(found).metrics[1]
    assert (recall.baseline, recall.today, recall.head) == (1.0, 0.75, 0.25)


def test_without_the_outputs_of_a_baseline_changes_are_separated_only_if_the_rules_or_the_outputs_are_equal() -> None:
    base, head = (
        part(result("1", (1, 1, 1)), result("2", (1, 1, 1))),
        part(result("1", (1, 1, 1)), result("2", (0.5, 1, 1))),
    )
    told = compare(base, None, head, Guards(), SAME)
    assert safe(told).cases.unseparated == 0
    untold = compare(base, None, head, Guards(), {"safe_v0": False, "synthesis": True})
    assert safe(untold).cases.unseparated == 1


def test_the_same_rules_explain_no_other_result_of_the_same_output() -> None:
    base, head = part(result("1", (1, 1, 1))), part(result("1", (0, 1, 1)))
    base["safe_v0"]["results"][0]["digests"] = head["safe_v0"]["results"][0]["digests"]
    for same, change in ((SAME, "newly failing"), ({"safe_v0": False, "synthesis": True}, "still failing")):
        assert ids(compare(base, None, head, Guards(), same), change) == ["1"]


@pytest.mark.parametrize(
    ("worse", "min_drop", "said", "broken"),
    [
        (0, 0.02, Status.PASS, set()),
        (3, 0.02, Status.WARN, set()),
        (12, 0.02, Status.FAIL, {"min-drop"}),
        (12, 0.5, Status.WARN, set()),
    ],
)
def test_a_drop_that_is_real_and_matters_fails_and_one_that_is_not_both_warns(
    worse: int, min_drop: float, said: Status, broken: set[str]
) -> None:
    base, head = (part(*(result(str(i), (1, 1, 0.5 if i < bad else 1)) for i in range(40))) for bad in (0, worse))
    assert judged(base, head, Guards(min_drop=min_drop))[1:] == (said, broken)


def test_a_drop_of_one_or_two_cases_is_a_warning() -> None:
    base = part(*(result(str(i), (1, 1, 1)) for i in range(20)))
    head = part(*(result(str(i), (1, 1, 0.75 if i < 2 else 1)) for i in range(20)))
    guards = Guards(alpha=0.9, min_drop=0.05)
    found, said, broken = judged(base, head, guards)
    assert (said, broken) == (Status.WARN, set())
    (message,) = [one.message for one in judge(found, guards) if one.rule == "min-drop"]
    share = "The share of cases labelled Pass falls by 10.0 points"
    assert message == f"{share} (2 cases worse, 0 better), fewer than 3 cases net (p 1)"


@pytest.mark.parametrize("failing", range(8))
def test_a_drop_of_just_as_much_as_is_allowed_is_allowed(failing: int) -> None:
    base, head = (
        part(*(result(str(i), (1, 1, 0.5 if i < worse else 1)) for i in range(10))) for worse in (failing, failing + 1)
    )
    assert judged(base, head, Guards(max_score_drop=0.1))[2] == set()
    assert judged(base, head, Guards(max_score_drop=0.0999))[2] == {"max-score-drop"}
    for limit, words in (
        (0.1, "10.0 points on average, 10.0 points"),
        (0.0999, "10.00 points on average, 9.99 points"),
    ):
        guards = Guards(max_score_drop=limit)
        (message,) = [one.message for one in judge(judged(base, head, guards)[0], guards) if "score" in one.rule]
        assert message == f"The share of cases labelled Pass falls by {words} allowed"


def test_a_set_that_cannot_see_a_drop_says_so() -> None:
    base = part(*(result(str(i), (1, 1, 1)) for i in range(20)))
    head = part(*(result(str(i), (1, 1, 1)) for i in range(20)))
    head["safe_v0"]["results"][0]["digests"]["output"] = digest("reworded")
    found, said, broken = judged(base, head, Guards())
    assert (said, broken) == (Status.INCONCLUSIVE, set())
    assert smallest_visible(found) == smallest_drop(20, 0.05 / 4)  # Holm's share of the first of four metrics
    _, said, _ = judged(base, head, Guards(min_drop=0.6))
    assert said is Status.PASS


def test_cases_of_a_cluster_count_once() -> None:
    base = part(*(result(str(i), (1, 1, 1), cluster="one") for i in range(20)))
    head = part(*(result(str(i), (0.5, 1, 1), cluster="one") for i in range(20)))
    found, said, broken = judged(base, head, Guards())
    assert safe(found).metrics[0].units == 1
    assert (said, broken) == (Status.WARN, set())


def test_a_rise_on_average_is_no_drop_though_most_clusters_are_worse() -> None:
    clusters = [*map(str, range(14)), *["large"] * 30]
    base, head = (
        part(*(result(str(i), (low if one == "large" else high, 1, 1), cluster=one) for i, one in enumerate(clusters)))
        for low, high in ((0.5, 1), (1, 0.5))
    )
    found, said, broken = judged(base, head, Guards())
    (share,) = [one for one in safe(found).metrics if one.metric == "pass"]
    assert share.p_adjusted < 0.05
    assert (said, broken) == (Status.INCONCLUSIVE, set())


def test_a_change_cannot_merge_into_one_cluster_what_it_makes_worse() -> None:
    def run(score: float, *clusters: str) -> Part:
        return part(*(result(str(i), (score, 1, 1), cluster=one) for i, one in enumerate(clusters)))

    base = run(1, *(f"topic {i // 2}" for i in range(20)))
    for head in (run(0.5, *["one"] * 20), run(0.5, *(f"topic {i // 2}" for i in range(20)))):
        found, said, _ = judged(base, head, Guards())
        assert (safe(found).metrics[0].units, said) == (10, Status.FAIL)
    found, _, _ = judged(base, run(0.5, *[""] * 20), Guards())
    assert safe(found).metrics[0].units == 20
    without = run(1, *[""] * 20)
    found, said, _ = judged(without, run(0.5, *["one"] * 20), Guards())  # the field came with the change
    assert (safe(found).metrics[0].units, said) == (20, Status.FAIL)
    found = compare(without, None, head, Guards(), SAME, key="topic")
    assert safe(found).metrics[0].units == 10


@pytest.mark.parametrize(
    ("guards", "head", "broken"),
    [
        (Guards(), [("1", (1, 1, 1))], {"no-removed-cases"}),
        (Guards(allow_missing=("cases",)), [("1", (1, 1, 1))], set()),
        (Guards(allow_missing=("cases",), protect=("2",)), [("1", (1, 1, 1))], {"protect"}),
        (Guards(protect=("Auditor",)), [("1", (0.5, 1, 1)), ("2", (1, 1, 1))], {"protect"}),
        (Guards(protect=("Planner",)), [("1", (0.5, 1, 1)), ("2", (1, 1, 1))], set()),
        (Guards(), [("1", (1, 0.5, 1)), ("2", (1, 1, 1))], {"new-violations"}),
        (Guards(), [("1", (0, 1, 1)), ("2", (1, 1, 1))], {"label-drops"}),
        (Guards(max_regressions=0), [("1", (0.5, 1, 1)), ("2", (1, 1, 1))], {"max-regressions"}),
        (Guards(max_regressions=1), [("1", (0.5, 1, 1)), ("2", (1, 1, 1))], set()),
        (Guards(max_score_drop=0.1), [("1", (0.75, 1, 1)), ("2", (1, 1, 1))], {"max-score-drop"}),
        (Guards(max_score_drop=0.5), [("1", (0.5, 1, 1)), ("2", (1, 1, 1))], set()),
    ],
)  # fmt: skip
def test_a_guard_breaks_for_its_reason_alone(guards: Guards, head: list[Any], broken: set[str]) -> None:
    base = part(result("1", (1, 1, 1)), result("2", (1, 1, 1)))
    _, _, found = judged(base, part(*(result(id_, scores) for id_, scores in head)), guards)
    assert found == broken


@pytest.mark.parametrize("group", ["Auditor", "Nobody"])
def test_a_case_that_moves_to_another_group_is_protected_by_either(group: str) -> None:
    base, head = part(result("1", (1, 1, 1))), part(result("1", (0.5, 1, 1)))
    head["safe_v0"]["results"][0]["archetype"] = "Nobody"
    assert judged(base, head, Guards(protect=(group,)))[2] == {"protect"}


def test_replacing_one_forbidden_term_by_another_is_a_new_violation_at_equal_scores() -> None:
    base, head = (part(result("1", (1, 0.9, 1))) for _ in range(2))
    head["safe_v0"]["results"][0]["details"]["AH"]["violations"] = ["guideline"]
    head["safe_v0"]["results"][0]["digests"]["output"] = digest("another")
    found, _, broken = judged(base, head, Guards())
    assert broken == {"new-violations"}
    (change,) = safe(found).changes
    assert (change.scores, change.steps) == ({}, 0)
    assert change.before == _result(base["safe_v0"]["results"][0])  # the evidence, as it is another output


def test_an_evaluator_that_is_gone_lost_all_its_cases() -> None:
    base = part(result("1", (1, 1, 1)))
    found, _, broken = judged(base, {"safe_v0": None, "synthesis": None}, Guards())
    assert safe(found).cases.removed == [Removed("1", protected=False)]
    assert broken == {"no-removed-cases"}


def test_an_evaluator_that_is_new_adds_all_its_cases() -> None:
    head = part(result("1", (0, 1, 1)))
    found, said, broken = judged({"safe_v0": None, "synthesis": None}, head, Guards(max_regressions=0))
    assert safe(found).cases.added == [Added("1", passed=False)]
    assert (said, broken) == (Status.PASS, set())
