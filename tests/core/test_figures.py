"""Exact sums, and figures as people read them."""

import math
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from safe_gate.core.figures import ExactSum, format_distinct, percent, score

finite = st.floats(0, 1)


@given(st.lists(finite, min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_the_mean_is_exact_and_free_of_order(values: list[float], random: Random) -> None:
    shuffled = random.sample(values, len(values))
    means = {sum((ExactSum.of(value) for value in some), ExactSum()).mean() for some in (values, shuffled)}
    assert len(means) == 1
    assert means.pop() == pytest.approx(math.fsum(values) / len(values), abs=1e-15)


@given(finite, finite)
@example(0.5, 0.5 + 1e-11)
def test_unequal_shares_are_never_shown_as_equal(value: float, limit: float) -> None:
    shown = format_distinct(value, limit)
    assert (shown[0] == shown[1]) is (value == limit) or abs(value - limit) < 1e-12


@given(finite)
def test_only_all_is_shown_as_all_and_only_none_as_none(value: float) -> None:
    for shown, all_ in ((percent(value), 100), (percent(value, 1), 100), (score(value), 1)):
        assert "E" not in shown
        assert 0 < float(shown.rstrip("%")) < all_ or value in (0, 1) or min(value, 1 - value) < 1e-9
