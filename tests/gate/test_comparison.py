"""Two runs compared: what must hold whatever the runs are."""

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
from safe_gate.model.report import Compared, ComparedParts

METRICS = ("CR", "AH", "AC")
LABELS = ("Fail", "Review", "Pass")
Part = dict[str, Any]
Scores = tuple[float, float, float]
ONE: Scores = (1, 1, 1)
PLAIN = Guards()


def result(id_: str, scores: Scores, *, cluster: str = "") -> dict[str, Any]:
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


def part(*results: dict[str, Any]) -> Part:
    return {"safe_v0": {"results": list(results)}, "synthesis": None}


def of_scores(*scores: Scores, clusters: Any = None) -> Part:
    """Return a run whose cases have these scores, and these clusters."""
    grouped = zip(scores, clusters or [""] * len(scores), strict=True)
    return part(*(result(str(i), one, cluster=cluster) for i, (one, cluster) in enumerate(grouped)))


def compare(
    base: Part, head: Part, guards: Guards = PLAIN, today: Part | None = None, *, is_same: bool = True, key: str = ""
) -> Any:
    ours = {"safe_v0": "same", "synthesis": "same"}
    old = ComparedRun(_typed(base), ours if is_same else ours | {"safe_v0": "other"})
    new = ComparedRun(_typed(head), ours, cluster_key=key)
    return compare_runs(old, ComparedRun(_typed(today), ours) if today else None, new, guards)


def _typed(parts: Part) -> Part:
    return {
        name: own and SimpleNamespace(results=[from_json(Result, one) for one in own["results"]])
        for name, own in parts.items()
    }


def judged(
    base: Part, head: Part, guards: Guards = PLAIN, today: Part | None = None
) -> tuple[ComparedParts, Status, set[str]]:
    """Return the comparison, its status and the guards that are broken."""
    found = compare(base, head, guards, today)
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


def runs(drawn: list[tuple[Scores, Scores]]) -> tuple[Part, Part]:
    before, after = zip(*drawn, strict=True)
    return of_scores(*before), of_scores(*after)


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
    there, back = compare(base, head, guards), compare(head, base, guards)
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
    before, after = (part(*random.sample(one["safe_v0"]["results"], len(drawn))) for one in (base, head))
    assert compare(before, after, guards) == compare(base, head, guards)


@given(pairs, policies, st.integers(0, 29))
def test_one_more_failing_case_never_mends_a_failed_comparison(drawn: Any, guards: Guards, which: int) -> None:
    _, _, broken = judged(*runs(drawn), guards)
    worse = list(drawn)
    worse[which % len(drawn)] = (drawn[which % len(drawn)][0], (0.0, 0.0, 0.0))
    assert broken <= judged(*runs(worse), guards)[2]


def test_the_same_rules_explain_no_other_result_of_the_same_output() -> None:
    base, head = of_scores(ONE), of_scores((0, 1, 1))
    base["safe_v0"]["results"][0]["digests"] = head["safe_v0"]["results"][0]["digests"]
    for is_same, change in ((True, "newly failing"), (False, "still failing")):
        assert ids(compare(base, head, is_same=is_same), change) == ["0"]


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
    base, head = (of_scores(*[(1, 1, 0.5)] * bad, *[ONE] * (40 - bad)) for bad in (0, worse))
    assert judged(base, head, Guards(min_drop=min_drop))[1:] == (said, broken)


def test_a_drop_of_fewer_than_three_cases_is_a_warning() -> None:
    guards, share = Guards(alpha=1, min_drop=0.05), "SAFE v0: The share of cases that pass falls by"
    for worse, expected, words in (
        (2, (Status.WARN, set()), "10.0 points (2 cases worse, 0 better), fewer than 3 cases net (p 1)"),
        (3, (Status.FAIL, {"min-drop"}), "15.0 points (3 cases worse, 0 better), more than chance (p 0.5)"),
    ):
        found, *said = judged(of_scores(*[ONE] * 20), of_scores(*[(1, 1, 0.75)] * worse, *[ONE] * (20 - worse)), guards)
        (message,) = [one.message for one in judge(found, guards) if one.rule == "min-drop"]
        assert (tuple(said), message) == (expected, f"{share} {words}")


@pytest.mark.parametrize("failing", range(8))
def test_a_drop_of_just_as_much_as_is_allowed_is_allowed(failing: int) -> None:
    base, head = (of_scores(*[(1, 1, 0.5)] * bad, *[ONE] * (10 - bad)) for bad in (failing, failing + 1))
    for limit, broken, words in (
        (0.1, set(), "10.0 points on average, 10.0 points"),
        (0.0999, {"max-score-drop"}, "10.00 points on average, 9.99 points"),
    ):
        guards = Guards(max_score_drop=limit)
        found, _, by = judged(base, head, guards)
        (message,) = [one.message for one in judge(found, guards) if "score" in one.rule]
        assert (by, message) == (broken, f"SAFE v0: The share of cases that pass falls by {words} allowed")


def test_a_set_that_cannot_see_a_drop_says_so() -> None:
    base, head = of_scores(*[ONE] * 20), of_scores(*[ONE] * 20)
    head["safe_v0"]["results"][0]["digests"]["output"] = digest("reworded")
    found, said, broken = judged(base, head)
    assert (said, broken) == (Status.INCONCLUSIVE, set())
    assert smallest_visible(found) == smallest_drop(20, 0.05 / 4)  # Holm's share of the first of four metrics
    assert judged(base, head, Guards(min_drop=0.6))[1] is Status.PASS


def test_a_rise_on_average_is_no_drop_though_most_clusters_are_worse() -> None:
    clusters = [*map(str, range(14)), *["large"] * 30]
    halves, wholes = [(0.5, 1, 1)], [ONE]
    base = of_scores(*wholes * 14, *halves * 30, clusters=clusters)
    head = of_scores(*halves * 14, *wholes * 30, clusters=clusters)
    found, said, broken = judged(base, head)
    (share,) = [one for one in safe(found).metrics if one.metric == "pass"]
    assert share.p_adjusted < 0.05
    assert (said, broken) == (Status.INCONCLUSIVE, set())


def test_cases_of_a_cluster_count_once_and_a_change_cannot_merge_what_it_makes_worse() -> None:
    def run(score: float, clusters: list[str]) -> Part:
        return of_scores(*[(score, 1, 1)] * 20, clusters=clusters)

    topics, one, none = [f"topic {i // 2}" for i in range(20)], ["one"] * 20, [""] * 20
    for before, after, units, said in (
        (one, one, 1, Status.WARN),
        (topics, one, 10, Status.FAIL),
        (topics, topics, 10, Status.FAIL),
        (topics, none, 20, Status.FAIL),
        (none, one, 20, Status.FAIL),  # the field came with the change
    ):
        found, status_, broken = judged(run(1, before), run(0.5, after))
        assert (safe(found).metrics[0].units, status_, bool(broken)) == (units, said, said is Status.FAIL)
    assert safe(compare(run(1, none), run(0.5, topics), key="topic")).metrics[0].units == 10


@pytest.mark.parametrize(
    ("guards", "head", "broken"),
    [
        (Guards(), [("1", ONE)], {"no-removed-cases"}),
        (Guards(allow_missing=("cases",)), [("1", ONE)], set()),
        (Guards(allow_missing=("cases",), protect=("2",)), [("1", ONE)], {"protect"}),
        (Guards(protect=("Auditor",)), [("1", (0.5, 1, 1)), ("2", ONE)], {"protect"}),
        (Guards(protect=("Planner",)), [("1", (0.5, 1, 1)), ("2", ONE)], set()),
        (Guards(), [("1", (1, 0.5, 1)), ("2", ONE)], {"new-violations"}),
        (Guards(), [("1", (0, 1, 1)), ("2", ONE)], {"label-drops"}),
        (Guards(max_regressions=0), [("1", (0.5, 1, 1)), ("2", ONE)], {"max-regressions"}),
        (Guards(max_regressions=1), [("1", (0.5, 1, 1)), ("2", ONE)], set()),
        (Guards(max_score_drop=0.1), [("1", (0.75, 1, 1)), ("2", ONE)], {"max-score-drop"}),
        (Guards(max_score_drop=0.5), [("1", (0.5, 1, 1)), ("2", ONE)], set()),
    ],
)
def test_a_guard_breaks_for_its_reason_alone(guards: Guards, head: list[Any], broken: set[str]) -> None:
    base = part(result("1", ONE), result("2", ONE))
    assert judged(base, part(*(result(*one) for one in head)), guards)[2] == broken


@pytest.mark.parametrize("group", ["Planner", "Nobody"])
def test_a_case_that_moves_to_another_group_is_protected_by_either(group: str) -> None:
    base, head = of_scores(ONE), of_scores((0.5, 1, 1))
    head["safe_v0"]["results"][0]["archetype"] = "Nobody"
    assert judged(base, head, Guards(protect=(group,)))[2] == {"protect"}


def test_replacing_one_forbidden_term_by_another_is_a_new_violation_at_equal_scores() -> None:
    base, head = (of_scores((1, 0.9, 1)) for _ in range(2))
    head["safe_v0"]["results"][0]["details"]["AH"]["violations"] = ["guideline"]
    head["safe_v0"]["results"][0]["digests"]["output"] = digest("another")
    found, _, broken = judged(base, head)
    (change,) = safe(found).changes
    assert (broken, change.scores, change.steps) == ({"new-violations"}, {}, 0)
    assert change.before == from_json(Result, base["safe_v0"]["results"][0])  # the evidence, as it is another output
