"""Every statistic against the values published for it, unless a doctest has them, and what must always hold.

What is quick is held to `MOST_SECONDS` of `tests/conftest.py`, as every test is.
"""

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safe_gate.core import stats

counts = st.integers(0, 60)
alphas = st.sampled_from([0.01, 0.05, 0.1, 0.25, 0.5])
ratios = st.integers(1, 12).flatmap(lambda whole: st.integers(0, whole).map(lambda part: part / whole))
differences = st.tuples(ratios, ratios).map(lambda pair: pair[0] - pair[1])


def test_a_share_of_none_or_all_is_within_its_wilson_interval() -> None:
    for whole in (*range(1, 30), 10**9):
        assert (stats.wilson(0, whole)[0], stats.wilson(whole, whole)[1]) == (0, 1)


def test_nothing_has_no_interval() -> None:
    for part, whole in ((0, 0), (2, 1), (-1, 3)):
        with pytest.raises(ValueError, match="is not a share"):
            stats.wilson(part, whole)
    with pytest.raises(ValueError, match="is not a share"):
        stats.newcombe(0, 0, 0, 0)


@given(counts, counts, counts, counts)
def test_the_newcombe_interval_holds_the_difference_and_mirrors(both: int, worse: int, better: int, no: int) -> None:
    if cases := both + worse + better + no:
        low, high = stats.newcombe(both, worse, better, no)
        assert -1 <= low <= (better - worse) / cases + 1e-12
        assert (better - worse) / cases - 1e-12 <= high <= 1
        assert stats.newcombe(both, better, worse, no) == pytest.approx((-high, -low), abs=1e-12)


@given(counts, counts)
def test_the_sign_test_counts_coins(worse: int, better: int) -> None:
    changed = worse + better
    ways = sum(math.comb(changed, heads) for heads in range(worse, changed + 1))
    assert stats.sign_test(worse, better) == float(Fraction(ways, 2**changed))


@pytest.mark.parametrize(("worse", "better"), [(50_000, 50_000), (50_300, 49_700), (100_000, 0), (0, 100_000)])
def test_a_hundred_thousand_changed_cases_are_quick_and_close_to_normal(worse: int, better: int) -> None:
    p = stats.sign_test(worse, better)
    z = (worse - better - 1) / math.sqrt(worse + better)
    assert p == pytest.approx(math.erfc(z / math.sqrt(2)) / 2, abs=1e-6)


def enumerated(values: Iterable[float]) -> float:
    exact = [Fraction(value).limit_denominator(1000) for value in values if value]
    sums = [sum(some) for some in product(*((-value, value) for value in exact))]
    return sum(total <= sum(exact) for total in sums) / len(sums)


@pytest.mark.untraced
@settings(max_examples=50)
@given(st.lists(differences, max_size=10))
def test_the_sign_flip_test_counts_every_way_to_flip(values: list[float]) -> None:
    assert stats.sign_flip(values) == enumerated(values)


@given(st.integers(0, 40), st.integers(0, 40), ratios.filter(bool))
def test_of_equal_drops_it_is_the_sign_test(worse: int, better: int, size: float) -> None:
    assert stats.sign_flip([-size] * worse + [size] * better) == stats.sign_test(worse, better)


@given(st.lists(differences, min_size=1, max_size=40))
def test_the_bound_never_claims_more_than_the_exact_test(values: list[float]) -> None:
    if any(values):
        assert stats._hoeffding(values) >= stats.sign_flip(values) - 1e-12


@pytest.mark.parametrize("changed", [25, 60, 120])
def test_rounding_to_a_coarser_unit_hardly_moves_p(monkeypatch: pytest.MonkeyPatch, changed: int) -> None:
    random = Random(changed)
    values = [random.randint(-600, 500) / 997 for _ in range(changed)]
    exact = stats.sign_flip(values)
    monkeypatch.setattr(stats, "_WORK", changed**2 * math.fsum(map(abs, values)) * 150)
    assert exact != stats.sign_flip(values) == pytest.approx(exact, abs=0.01)


def test_the_test_of_rounded_differences_is_exact_in_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stats, "_WORK", 8 * 8 * 3 * 150)
    sizes = [0.123, 0.2345, 0.377, 0.41, 0.555, 0.601, 0.333, 0.366]
    found = [stats.sign_flip(some) for some in product(*((-size, size) for size in sizes))]
    for alpha in (0.01, 0.05, 0.1, 0.5):
        assert sum(p <= alpha for p in found) <= alpha * len(found)


def test_any_number_of_differences_is_quick() -> None:
    random = Random(7)
    for changed in (3, 100, 1000, 100_000):
        for values in ([random.uniform(-1, 1) for _ in range(changed)], random.choices([-0.5, 0.25], k=changed)):
            assert 0 <= stats.sign_flip(values) <= 1


@given(st.lists(st.tuples(st.sampled_from(["", "a", "b", "c"]), st.sampled_from([-1, 0, 1])), max_size=40))
def test_clusters_keep_the_sum_and_flip_as_one(cases: list[tuple[str, int]]) -> None:
    folded = stats.by_cluster(cases)
    named = {cluster for cluster, _ in cases if cluster}
    assert sum(folded) == sum(change for _, change in cases)
    assert len(folded) == len(named) + sum(not cluster for cluster, _ in cases)


@given(st.lists(st.floats(0, 1), max_size=12), st.randoms(use_true_random=False))
def test_holm_lies_between_the_value_and_bonferroni_and_keeps_ranks(values: list[float], random: Random) -> None:
    adjusted = stats.holm(values)
    for value, after in zip(values, adjusted, strict=True):
        assert value <= after <= min(1.0, len(values) * value)
    assert sorted(adjusted) == [after for _, after in sorted(zip(values, adjusted, strict=True))]
    order = random.sample(range(len(values)), len(values))
    assert stats.holm([values[place] for place in order]) == tuple(adjusted[place] for place in order)


PUBLISHED = {0.0: (32, 22, 14, 9, 7, 5, 4), 0.02: (36, 26, 17, 12, 10, 7, 6), 0.05: (41, 30, 20, 15, 13, 10, 8)}


def test_the_smallest_drops_are_the_published_ones_and_too_few_cases_see_none() -> None:
    for fixed, points in PUBLISHED.items():
        drops = [stats.smallest_drop(cases, 0.05, fixed=fixed) for cases in (20, 30, 50, 75, 100, 150, 200)]
        assert tuple(-(-round(1000 * drop) // 10) for drop in drops if drop) == points  # published in whole points
    for cases, fixed in ((0, 0.0), (4, 0.0), (20, 0.5), (20, 0.4)):
        assert stats.smallest_drop(cases, 0.05, fixed=fixed) is None


def trinomial(cases: int, worse: float, better: float, fires: Callable[[int, int], bool]) -> float:
    def likelihood(lost: int, won: int) -> float:
        ways, same = math.comb(cases, lost) * math.comb(cases - lost, won), cases - lost - won
        return ways * worse**lost * better**won * (1 - worse - better) ** same

    outcomes = ((lost, won) for lost in range(cases + 1) for won in range(cases - lost + 1))
    return math.fsum(likelihood(*one) for one in outcomes if fires(*one))


def fires(cases: int, alpha: float, min_drop: float, least: int) -> Callable[[int, int], bool]:
    """Return what tells whether so many newly failing and fixed cases break the rule."""
    net = stats.least_net(cases, min_drop, least)
    return lambda worse, better: stats.sign_test(worse, better) <= alpha and worse - better >= net


@pytest.mark.untraced
@settings(max_examples=40)
@given(st.integers(5, 40), alphas, st.sampled_from([0.0, 0.02, 0.05]), st.sampled_from([0.0, 0.15]), st.integers(0, 5))
def test_the_smallest_drop_has_the_power_and_a_smaller_one_has_not(
    cases: int, alpha: float, fixed: float, min_drop: float, least: int
) -> None:
    def seen(drop: float) -> float:
        return trinomial(cases, drop + fixed, fixed, fires(cases, alpha, min_drop, least))

    if drop := stats.smallest_drop(cases, alpha, fixed, min_drop, least):
        assert seen(drop) >= 0.8 - 1e-9
        assert drop == 0.001 or seen(drop - 0.001) < 0.8 + 1e-9


def test_the_false_alarms_are_the_published_ones() -> None:
    for cases, count, net, sign in ((20, 64, 35, 0.1), (50, 92, 41, 1.2), (100, 99, 44, 2.3), (200, 100, 46, 3.2)):
        assert 100 * stats.false_alarm_of_count(cases, 0) == pytest.approx(count, abs=0.5)
        assert 100 * stats.false_alarm(cases, 1.0, 0.0, 1) == pytest.approx(net, abs=0.51)
        assert 100 * stats.false_alarm(cases, 0.05, 0.0, 1) == pytest.approx(sign, abs=0.05)


@pytest.mark.untraced
@settings(max_examples=40)
@given(
    st.integers(0, 40), alphas, st.sampled_from([0.0, 0.02, 0.1]), st.integers(0, 5), st.sampled_from([0.02, 0.05, 0.3])
)
def test_a_false_alarm_is_as_likely_as_all_its_outcomes(
    cases: int, alpha: float, min_drop: float, least: int, flipped: float
) -> None:
    assert stats.false_alarm(cases, alpha, min_drop, least, flipped) == pytest.approx(
        trinomial(cases, flipped, flipped, fires(cases, alpha, min_drop, least)), abs=1e-9
    )
    many = trinomial(cases, flipped, flipped, lambda worse, _: worse > least)
    assert stats.false_alarm_of_count(cases, least, flipped) == pytest.approx(many, abs=1e-9)


@given(st.integers(1, 2000), st.integers(0, 100))
def test_the_least_net_is_the_first_whose_share_is_a_drop(cases: int, hundredths: int) -> None:
    net = stats.least_net(cases, hundredths / 100, 0)
    assert net / cases >= hundredths / 100
    assert net == 1 or (net - 1) / cases < hundredths / 100


@pytest.mark.untraced
def test_far_from_the_line_nothing_underflows() -> None:
    drop = stats.smallest_drop(100_000, 0.05, fixed=0.05, min_drop=0.3)
    spread = math.sqrt((0.3 + 2 * 0.05 - 0.3**2) / 100_000)
    assert drop == math.ceil(1000 * (0.3 + 0.8416 * spread)) / 1000


def test_planning_for_a_hundred_thousand_cases_is_quick() -> None:
    assert stats.smallest_drop(100_000, 0.05, fixed=0.05) == 0.003
    assert stats.false_alarm(100_000, 0.05, 0.0) == pytest.approx(0.049, abs=5e-4)
