"""Rules that are dropped or edited, and waivers that are added or prolonged, weaken the gate."""

from __future__ import annotations

from dataclasses import replace

import pytest

from safe_gate.core.given import PackFact
from safe_gate.gate.weakening import Terms
from safe_gate.model.report import Waiver
from tests.support.weakening import (
    DEFAULTS,
    both_ways,
    found,
)


def with_rules(off: tuple[str, ...] = (), **rules: PackFact) -> Terms:
    return Terms(DEFAULTS | {"rules_off": off}, {}, {name.replace("__", "/"): rule for name, rule in rules.items()}, "")


def test_a_rule_dropped_or_edited_is_named_and_one_added_if_it_can_let_a_reply_pass() -> None:
    strict, kind = PackFact("1", lets_pass=False), PackFact("2", lets_pass=True)
    assert both_ways(with_rules(p__a=strict), with_rules()) == ([("rule", "p/a", "", "dropped")], [])
    assert both_ways(with_rules(), with_rules(p__a=kind)) == (
        [("rule", "p/a", "", "added")],
        [("rule", "p/a", "", "dropped")],
    )
    edited = [("rule", "p/a", "", "changed")]
    assert both_ways(with_rules(p__a=strict), with_rules(p__a=PackFact("3", lets_pass=False))) == (edited, edited)


@pytest.mark.parametrize("off", ["p", "p/a"])
def test_a_rule_that_can_let_a_reply_pass_is_named_when_it_is_on_again(off: str) -> None:
    for lets_pass in (True, False):
        rule = PackFact("1", lets_pass=lets_pass)
        again = found(with_rules((off,), p__a=rule), with_rules(p__a=rule))
        assert again == [("rule", off, "", "added")] * lets_pass


def test_without_the_rules_a_different_digest_means_that_they_changed() -> None:
    one, other = (Terms({}, {}, None, sha256 * 64) for sha256 in "ab")
    assert found(one, other) == [("rule", "", "", "changed")]
    assert found(one, one) == []


def test_a_waiver_added_or_prolonged_is_named() -> None:
    def waived(*waivers: Waiver) -> Terms:
        return Terms({}, {}, {}, "", waivers)

    short = Waiver("a", "check", "topic_pivot", "", "", "2026-01-01")
    long, other = replace(short, expires="2027-01-01"), Waiver("a", "metric", "CR", "", "", "2026-01-01")
    assert both_ways(waived(short), waived(long)) == ([("waiver", "a", "topic_pivot", "looser")], [])
    assert both_ways(waived(short), waived(short, other)) == ([("waiver", "a", "CR", "added")], [])
