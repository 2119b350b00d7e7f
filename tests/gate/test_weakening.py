"""What weakens the gate: a setting that asks for less, a dropped or edited rule, a waiver added or prolonged."""

from __future__ import annotations

from typing import Any

import pytest

from safe_gate.core.case import PackFact
from safe_gate.gate.weakening import WEAKER, Terms, weakenings
from safe_gate.settings import settings
from tests.support.weakening import (
    DEFAULTS,
    both_ways,
    found,
)

BESIDE = frozenset(
    {
        *("safe_batch", "safe_outputs", "safe_concern", "safe_test_dir", "synthesis_cases", "rules", "waivers"),
        *("report_formats", "reports", "report_dir", "gate_id", "comment_author", "text", "dry_run"),
        *("jobs", "config", "github_token", "allow"),
        *("timeouts", "sinks", "sink_secret"),
        "bounds",
    }
)
"""The settings that judge nothing: what they name is read and compared itself, or they are about the report alone."""


def terms(**settings_: Any) -> Terms:
    return Terms(DEFAULTS | settings_, {}, {}, "")


def test_every_setting_either_judges_or_does_not() -> None:
    names = {setting.name for setting in settings()}
    assert WEAKER.keys() | BESIDE == names, "add a new setting that judges to WEAKER or `weaker`, another one to BESIDE"
    assert not WEAKER.keys() & BESIDE


def test_a_limit_of_a_rule_has_the_direction_of_its_name() -> None:
    for name in WEAKER:
        if name.startswith(("min_", "max_")) and name != "min_group":
            lower = name.startswith("min_")
            to_weaker, to_stricter = both_ways(terms(**{name: 0.9}), terms(**{name: 0.8}))
            expected = [("setting", name.replace("_", "-"), "", "looser")]
            assert (to_weaker if lower else to_stricter) == expected, name
            assert (to_stricter if lower else to_weaker) == [], name


@pytest.mark.parametrize(
    ("name", "before", "after", "what"),
    [
        ("max_regressions", 3, None, "looser"),
        ("max_score_drop", 0.1, 0.2, "looser"),
        ("strict_ah", True, False, "looser"),
        ("turns", "all", "last", "looser"),
        ("context", 2, 1, "looser"),
        ("on_weakened", "fail", "warn", "looser"),
        ("policy_ref", "base", "head", "looser"),
        ("stale_recordings", "warn", "off", "looser"),
        ("baseline", "main", "", "dropped"),
    ],
)
def test_a_setting_that_asks_for_less_is_named_and_its_opposite_is_not(
    name: str, before: Any, after: Any, what: str
) -> None:
    base, head = terms(**{name: before}), terms(**{name: after})
    assert both_ways(base, head) == ([("setting", name.replace("_", "-"), "", what)], [])
    assert [(one.before, one.after) for one in weakenings(base, head)] == [(before, after)]


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("safe_match", "literal", "normalised"),
        ("profile", "standard", "spec"),
        ("cluster_key", "", "x_topic"),
        ("baseline", "a", "b"),
    ],
)
def test_what_may_go_either_way_is_named_both_ways(name: str, before: Any, after: Any) -> None:
    named = [("setting", name.replace("_", "-"), "", "changed")]
    assert both_ways(terms(**{name: before}), terms(**{name: after})) == (named, named)


def test_limits_of_an_archetype_replace_the_general_ones() -> None:
    base = terms(archetypes={"A.b": {"thresholds": {"CR": {"pass": 0.9}}}})
    assert both_ways(base, terms()) == (
        [("setting", "archetypes", "A.b.thresholds.CR.pass", "looser")],
        [],
    )
    laxer = terms(archetypes={"A": {"thresholds": {"CR": {"pass": 0.1}}, "min-pass-rate": 0.5}})
    assert both_ways(terms(), laxer) == (
        [("setting", "archetypes", "A.thresholds.CR.pass", "looser")],
        [("setting", "archetypes", "A.min-pass-rate", "looser")],
    )
    assert found(terms(), terms(archetypes={"A": {"weights": {"AH": 1.0}}})) == []  # as the general weight
    weighed = [("setting", "archetypes", "A.weights.AH", "changed")]
    assert found(terms(), terms(archetypes={"A": {"weights": {"AH": 2.0}}})) == weighed
    (one,) = weakenings(
        terms(archetypes={"A": {"min-pass-rate": 1.0}}), terms(archetypes={"A": {"min-pass-rate": 0.5}})
    )
    assert (one.what, one.before, one.after) == ("looser", 1.0, 0.5)
    limited = terms(archetypes={"A": {"max-unexpected-failures": 1}})
    assert found(limited, terms(archetypes={"A": {"max-unexpected-failures": 2}}))[0][3] == "looser"


@pytest.mark.parametrize("name", ["tags", "archetypes"])
def test_making_a_group_optional_is_reported(name: str) -> None:
    limit = {"min-pass-rate": 1.0}
    strict, optional = (terms(**{name: {"crisis": limit | more}}) for more in ({}, {"optional": True}))
    assert both_ways(strict, optional) == ([("setting", name, "crisis.optional", "added")], [])
    assert found(strict, terms(**{name: {"crisis": limit | {"optional": False}}})) == []


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
