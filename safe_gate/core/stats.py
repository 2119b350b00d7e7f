"""Whether a difference is real: intervals, exact paired tests, and what a set of cases can show.

Pure and deterministic: nothing is random, and decisions rest on whole numbers. Floats see only + - * / and
square roots, which are the same on every machine. Powers and exponentials are decimals.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

_Z = 1.959963984540054  # the 97.5th percentile of the normal distribution: 95 % two-sided

LEAST_CASES = 3  # fewer cases are never a drop, whatever their share
FLIPPED = 0.05  # a case's chance to newly fail, and to be fixed, if nothing changes on average
_POWER = 0.8  # a drop counts as detectable at this probability

# --- intervals ---------------------------------------------------------------------------------


def wilson(part: int, whole: int) -> tuple[float, float]:
    """Return the 95 % Wilson score interval of a share, both ends from 0.0 to 1.0 (Wilson 1927).

    Raises ValueError where there is nothing to take a share of.

    >>> [[round(end, 3) for end in wilson(*one)] for one in ((7, 50), (20, 20), (45, 50), (100, 100), (200, 200))]
    [[0.07, 0.262], [0.839, 1.0], [0.786, 0.957], [0.963, 1.0], [0.981, 1.0]]
    """
    if not 0 <= part <= whole or not whole:
        raise ValueError(f"{part} of {whole} is not a share")
    share, spread = part / whole, _Z * _Z / whole
    half = _Z * math.sqrt(share * (1 - share) / whole + spread / (4 * whole))
    low, high = (share + spread / 2 - half) / (1 + spread), (share + spread / 2 + half) / (1 + spread)
    return low if part else 0.0, high if part < whole else 1.0  # exactly: the share is never outside


def newcombe(both: int, worse: int, better: int, neither: int) -> tuple[float, float]:
    """Return the 95 % interval of head's pass rate minus base's, from -1.0 to 1.0, over the same cases.

    `both` pass in base and head, `worse` in base alone, `better` in head alone, `neither` in none. The method joins
    Wilson's intervals of the two rates with their correlation. Raises ValueError if there is no case.
    Source: Newcombe 1998, Statistics in Medicine 17:2635, method 10.

    >>> [[round(end, 3) for end in newcombe(*one)] for one in ((1, 1, 7, 12), (83, 7, 1, 9), (36, 2, 12, 0))]
    [[0.026, 0.507], [-0.126, -0.001], [0.057, 0.34]]
    """
    cases = both + worse + better + neither
    base_low, base_high = wilson(both + worse, cases)
    head_low, head_high = wilson(both + better, cases)
    base, head = (both + worse) / cases, (both + better) / cases
    margins = (both + worse) * (better + neither) * (both + better) * (worse + neither)
    agreement = both * neither - worse * better
    corrected = max(0.0, agreement - cases / 2) if agreement > 0 else agreement  # continuity correction
    correlation = corrected / math.sqrt(margins) if margins else 0.0

    def reach(one: float, other: float) -> float:
        return math.sqrt(max(0.0, one * one - 2 * correlation * one * other + other * other))

    low = head - base - reach(head - head_low, base_high - base)
    high = head - base + reach(head_high - head, base - base_low)
    return max(-1.0, low), min(1.0, high)


def kappa(both: int, first: int, second: int, neither: int) -> tuple[float, float, float] | None:
    """Return Cohen's kappa of two judges with its 95 % interval, from -1.0 to 1.0; None if chance alone agrees.

    `both` judges pass so many cases, only the `first` or the `second` so many, `neither` so many. The interval takes
    the agreement by chance as known (Cohen 1960), and Wilson's interval of the agreement that was seen.

    >>> [round(one, 3) for one in kappa(20, 5, 10, 15)], kappa(9, 0, 0, 0)
    ([0.4, 0.125, 0.618], None)
    """
    cases, agreed = both + first + second + neither, both + neither
    by_chance = (both + first) * (both + second) + (neither + first) * (neither + second)
    if by_chance == cases**2:
        return None
    chance, (low, high) = by_chance / cases**2, wilson(agreed, cases)
    found, low, high = (max(-1.0, (share - chance) / (1 - chance)) for share in (agreed / cases, low, high))
    return found, low, high


def corrected(
    passed: int, cases: int, good: tuple[int, int], bad: tuple[int, int]
) -> tuple[float, float, float] | None:
    """Return the share of good cases with its 95 % interval, of which a fallible judge passes `passed`.

    Of the cases that people call good, `good` has how many the judge passes, and how many there are; of those that they
    call bad, `bad` has how many it fails. None if there are none of either, or if the judge is no better than chance.
    Sources: Rogan and Gladen 1978, American Journal of Epidemiology 107:71, for the share; Lang and Reiczigel 2014,
    Preventive Veterinary Medicine 113:13, for the interval.

    >>> [round(one, 3) for one in corrected(150, 200, (36, 40), (8, 10))], corrected(5, 9, (1, 2), (1, 2))
    ([0.786, 0.599, 0.95], None)
    """
    if good[0] * bad[1] + bad[0] * good[1] <= good[1] * bad[1]:
        return None
    right, rejected = good[0] / good[1], bad[0] / bad[1]
    found = (passed / cases + rejected - 1) / (right + rejected - 1)
    # The interval is that of a few more cases, half of which pass: else it is too short for few.
    seen, seen_spread = _with_more(passed, cases, _Z**2)
    right, right_spread = _with_more(*good, 2)
    rejected, rejected_spread = _with_more(*bad, 2)
    excess = right + rejected - 1
    if excess <= 0:
        return None
    middle = (seen + rejected - 1) / excess
    spread = seen_spread + middle**2 * right_spread + (1 - middle) ** 2 * rejected_spread
    shifted = middle + 2 * _Z**2 * (middle * right_spread - (1 - middle) * rejected_spread)
    half = _Z * math.sqrt(spread) / excess
    found, low, high = (min(1.0, max(0.0, one)) for one in (found, shifted - half, shifted + half))
    return found, min(low, found), max(high, found)


def _with_more(part: int, whole: int, more: float) -> tuple[float, float]:
    """Return a share with so many more cases, half of them of the part, and the variance of that."""
    share = (part + more / 2) / (whole + more)
    return share, share * (1 - share) / (whole + more)


# --- paired tests ------------------------------------------------------------------------------


def sign_test(worse: int, better: int) -> float:
    """Return the exact one-sided p-value of `worse` against `better` cases, 1.0 if nothing changed.

    P(X >= worse) for X ~ Bin(worse + better, 1/2): the sign test, on labels McNemar's exact test (1947).
    Rounded once; 0.0 only if it is below the smallest double.

    >>> [round(sign_test(*pair), 3) for pair in ((5, 0), (7, 1), (9, 2), (10, 3), (12, 4), (0, 0))]
    [0.031, 0.035, 0.033, 0.046, 0.038, 1.0]
    """
    changed = worse + better
    if worse > better:  # P(X >= worse) = P(X <= better)
        return _tail(changed, better) / (1 << changed)
    return ((1 << changed) - _tail(changed, worse - 1)) / (1 << changed)


def _tail(flips: int, most: int) -> int:
    """Return how many of the 2 ** flips outcomes show at most `most` heads; `most` is below half of flips."""
    if most < 0:
        return 0
    total, ways = 0, math.comb(flips, most)
    cut = max(0, ways.bit_length() - 512)  # far below a double's precision; otherwise 100,000 flips take seconds
    ways >>= cut
    while ways:
        total += ways
        ways = ways * most // (flips - most + 1)
        most -= 1
    return total << cut


_WORK = 4_000_000_000  # bits that one exact sign-flip test may touch: well under a second
_LARGEST_DENOMINATOR = 10_000  # the largest denominator looked for in a difference of scores
_LEAST_STEPS = 100  # scores are rounded to 1/100 or finer
_ROUNDING = 1e-9  # how far equal scores may differ as doubles


def sign_flip(differences: Iterable[float]) -> float:
    """Return the one-sided p-value of paired score differences (head - base), 1.0 where nothing changed.

    The p-value is the share of all sign flips whose sum is at most the observed one (Fisher 1935). Zeros drop out.
    Scores are ratios of small numbers, so differences are whole multiples of a unit. The flips are then counted
    exactly. If the unit is too fine to count in, differences are rounded to the finest possible one, down to 1/100.
    The test of the rounded differences is exact. For too many differences (over some 500) Hoeffding's bound is used:
    exp(-sum ** 2 / (2 * sum of squares)). It never claims more.

    >>> sign_flip([-0.5, -0.25, -0.25]), sign_flip([0.5, -0.5]), sign_flip([0.1 + 0.2 - 0.3])
    (0.125, 0.75, 1.0)
    """
    changed = [difference for difference in differences if abs(difference) > _ROUNDING]
    if not changed:
        return 1.0
    # The unit follows from sizes alone, so the test is exact.
    sizes = set(map(abs, changed))
    affordable = int(_WORK / (max(16, len(changed)) ** 2 * math.fsum(map(abs, changed))))  # 16: for memory
    if affordable < 1:
        return _hoeffding(changed)
    from fractions import Fraction

    unit = math.lcm(*(Fraction(size).limit_denominator(_LARGEST_DENOMINATOR).denominator for size in sizes))
    if unit > affordable and affordable < _LEAST_STEPS:
        return _hoeffding(changed)
    unit = min(unit, affordable)
    return _share_of_flips([round(difference * unit) for difference in changed])


def _share_of_flips(steps: Sequence[int]) -> float:
    """Return the share of all ways to flip the signs of `steps` whose sum is at most that of `steps`.

    A sum is that low just where the steps flipped to gains total no more than the gains seen. Their totals are
    counted as the coefficients of the product of (1 + x ** step), packed into one integer.
    """
    sizes = [abs(step) for step in steps if step]
    gained = sum(step for step in steps if step > 0)
    lost = sum(sizes) - gained
    most = min(gained, lost - 1)  # the shorter side: equally many flips total at most `gained` and at least `lost`
    width = len(sizes) + 1  # bits that hold any count and the sum of all
    mask = (1 << width * (most + 1)) - 1
    ways = 1 & mask
    for size in sizes:
        if size <= most:
            ways = (ways + (ways << width * size)) & mask
    low = ways % ((1 << width) - 1)  # the sum of the digits: a number equals its digit sum modulo 9
    everything = 1 << len(sizes)
    return (low if gained < lost else everything - low) / everything


def _hoeffding(differences: Sequence[float]) -> float:
    """Return Hoeffding's upper bound of the sign-flip test's p-value (1963, theorem 2), 1.0 unless the sum is a drop.

    >>> round(_hoeffding([-1.0] * 8), 4)
    0.0183
    """
    total = math.fsum(differences)
    if total >= 0:
        return 1.0
    squares = math.fsum(difference * difference for difference in differences)
    return float((Decimal(-total * total / squares) / 2).exp())


def by_cluster(differences: Iterable[tuple[str, float]]) -> tuple[float, ...]:
    """Return the sum of the differences of each cluster, so that its cases flip as one.

    A case with "" for a cluster is a cluster of its own. For labels (-1 newly failing, 1 fixed) a sum's sign is the
    cluster's outcome, and 0 is a tie. Clusters are in the order of their first case.

    >>> by_cluster([("a", -1), ("", -1), ("a", -1), ("b", 1), ("b", -1)])
    (-2.0, -1.0, 0.0)
    """
    clusters: defaultdict[tuple[str, int], list[float]] = defaultdict(list)
    for place, (cluster, difference) in enumerate(differences):
        clusters[cluster, 0 if cluster else place].append(difference)
    return tuple(map(math.fsum, clusters.values()))


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return p-values adjusted for having tested them all, in the order given (Holm 1979).

    If values of at most alpha count as real, the probability of any false one is at most alpha. This also holds for
    dependent tests.

    >>> holm([0.01, 0.04, 0.03, 0.005])
    (0.03, 0.06, 0.06, 0.02)
    """
    adjusted = [1.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return tuple(adjusted)


# --- what a set of cases can show --------------------------------------------------------------


def least_net(cases: int, min_drop: float, least_cases: int = LEAST_CASES) -> int:
    """Return how many more cases must be worse than better for a drop: at least the share `min_drop`.

    >>> least_net(20, 0.02), least_net(100, 0.07), least_net(201, 0.02)
    (3, 7, 5)
    """
    from fractions import Fraction

    return max(1, least_cases, math.ceil(Fraction(str(min_drop)) * cases))


def smallest_drop(
    cases: int, alpha: float, fixed: float = 0.0, min_drop: float = 0.0, least_cases: int = LEAST_CASES
) -> float | None:
    """Return the smallest net drop that is detected four times in five, as a share of all cases.

    A drop is detected if the sign test finds it real at `alpha` and it reaches `least_net`. `fixed` is the share of
    cases that get better meanwhile. Exact for any number of cases, rounded up to 0.001. None if no drop is
    detected. (Connor 1987 approximates it by the normal distribution.)

    >>> [smallest_drop(cases, 0.05) for cases in (4, 20, 50, 100, 200)]
    [None, 0.314, 0.131, 0.067, 0.034]
    """
    steps = 1000
    low, high, top = 0, 1, round((1 - 2 * fixed) * steps) - 1
    if top < high:
        return None

    def sees(drop: int) -> bool:
        guard = _guard(alpha, least_net(cases, min_drop, least_cases))
        return _blocked(cases, drop / steps + fixed, fixed, guard) >= _POWER

    while not sees(high):
        if high == top:
            return None
        low, high = high, min(2 * high, top)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if sees(middle) else (middle, high)
    return high / steps


def false_alarm(
    cases: int, alpha: float, min_drop: float, least_cases: int = LEAST_CASES, flipped: float = FLIPPED
) -> float:
    """Return how likely the aggregate guard fails a run though nothing changed on average.

    Each case newly fails with probability `flipped`, and is fixed with the same probability. The guard fails if the
    sign test's p-value is at most `alpha` and `least_net` cases are lost.
    """
    return _blocked(cases, flipped, flipped, _guard(alpha, least_net(cases, min_drop, least_cases)))


def false_alarm_of_count(cases: int, max_regressions: int, flipped: float = FLIPPED) -> float:
    """Return how likely more than `max_regressions` cases newly fail, each with probability `flipped`."""
    return math.fsum(_binomial(cases, flipped)[max_regressions + 1 :])


def _guard(alpha: float, net: int) -> Iterator[int]:
    """Yield for 0, 1, 2 ... changed cases how many must be worse to break the guard.

    They must reach `alpha` and outnumber the rest by `net`.
    """
    for changed, worse in enumerate(_critical(alpha)):
        yield max(worse, (changed + net + 1) // 2)


def _critical(alpha: float) -> Iterator[int]:
    """Yield for 0, 1, 2 ... changed cases how many must be worse for the sign test to reach `alpha`.

    From one number to the next it stays or grows by one. One more than the changed cases: no number reaches it.
    """
    share, whole = alpha.as_integer_ratio()
    one = 1 << 512  # probabilities are whole multiples of 2**-512: exact up to 512 changed cases, then nearly so
    least, tail, edge = 1, 0, one  # P(at least `least` worse), P(exactly least - 1 worse)
    for changed in itertools.count():
        yield least
        if (tail + edge // 2) * whole <= share * one:
            tail, edge = tail + edge // 2, edge * (changed + 1) // (2 * (changed + 2 - least))
        else:
            tail, edge = tail - edge * (changed + 1 - least) // (2 * least), edge * (changed + 1) // (2 * least)
            least += 1


_DEEP = 2.0**-600


def _blocked(cases: int, worse: float, better: float, least: Iterable[int]) -> float:
    """Return the probability that of m changed cases at least `least[m]` are worse; correct to about 1e-12.

    `worse` and `better` are a case's probabilities. `least` grows by 0 or 1 per step. So the binomial tail for m
    follows from the tail for m - 1.
    """
    ratio = worse / (worse + better)
    total, at, tail = 0.0, 1, 0.0  # P(at least `at` worse)
    edge, depth = 1.0, 0  # P(exactly at - 1 worse) is edge * _DEEP**depth: far out it is below every double
    for changed, (chance, needed) in enumerate(zip(_binomial(cases, worse + better), least, strict=False)):
        seen = 0.0 if depth else edge
        if changed and min(needed, changed + 1) == at:
            tail, edge = tail + seen * ratio, edge * (1 - ratio) * changed / (changed - at + 1)
        elif changed:
            tail, edge = tail - seen * ratio * (changed - at) / at, edge * ratio * changed / at
            at += 1
        if 0 < edge < _DEEP:
            edge, depth = edge / _DEEP, depth + 1
        elif depth and edge > 1:
            edge, depth = edge * _DEEP, depth - 1
        total += chance * tail
    return max(0.0, total)


def _binomial(trials: int, chance: float) -> list[float]:
    """Return the probabilities of 0, 1, 2 ... successes, up to the last that matters; `chance` is below 1.

    From the likeliest number outwards, so that nothing overflows and no logarithm is needed.
    """
    likeliest, odds = min(trials, int((trials + 1) * chance)), chance / (1 - chance)
    below, above = [1.0], [1.0]
    for successes in range(likeliest, 0, -1):
        below.append(below[-1] * successes / (trials - successes + 1) / odds)
    for successes in range(likeliest, trials):
        above.append(above[-1] * (trials - successes) / (successes + 1) * odds)
        if above[-1] < 1e-30:
            break
    weights = below[:0:-1] + above
    total = math.fsum(weights)
    return [weight / total for weight in weights]
