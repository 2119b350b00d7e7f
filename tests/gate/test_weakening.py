"""What weakens the gate: settings that ask for less, rules and waivers that changed, cases that ask for less."""

from typing import Any

import pytest

from safe_gate.core.case import PackFact
from safe_gate.gate.weakening import WEAKER, CaseTerms, Terms, weakenings
from safe_gate.settings import settings
from tests.support.weakening import DEFAULTS, both_ways, found

BESIDE = frozenset(
    "safe_batch safe_outputs safe_test_dir synthesis_cases rules waivers report_formats reports report_dir"
    " gate_id comment_author dry_run jobs config github_token allow timeouts sinks sink_secret bounds".split()
)
"""The settings that judge nothing: what they name is read and compared itself, or they are about the report alone."""


def terms(**settings_: Any) -> Terms:
    return Terms(DEFAULTS | settings_, {}, {})


def test_every_setting_either_judges_or_does_not() -> None:
    names = {setting.name for setting in settings()}
    assert WEAKER.keys() | BESIDE == names, "add a new setting that judges to WEAKER or `weaker`, another one to BESIDE"
    assert not WEAKER.keys() & BESIDE


def test_a_limit_of_a_rule_has_the_direction_of_its_name() -> None:
    for name in WEAKER:
        if name.startswith(("min_", "max_")) and name != "min_group":
            lower, higher = both_ways(terms(**{name: 0.9}), terms(**{name: 0.8}))
            weaker, stricter = (lower, higher) if name.startswith("min_") else (higher, lower)
            assert (weaker, stricter) == ([("setting", name.replace("_", "-"), "", "looser")], []), name


@pytest.mark.parametrize(
    ("name", "before", "after", "what"),
    [
        ("turns", "all", "last", "looser"),
        ("context", 2, 1, "looser"),
        ("on_weakened", "fail", "warn", "looser"),
        ("policy_ref", "base", "head", "looser"),
        ("stale_recordings", "warn", "off", "looser"),
        ("text", "full", "none", "looser"),
        ("baseline", "main", "", "dropped"),
        ("profile", "standard", "spec", "changed"),
        ("cluster_key", "", "x_topic", "changed"),
        ("baseline", "a", "b", "changed"),
    ],
)
def test_a_setting_that_asks_for_less_or_may_is_named(name: str, before: Any, after: Any, what: str) -> None:
    base, head = terms(**{name: before}), terms(**{name: after})
    named = [("setting", name.replace("_", "-"), "", what)]
    assert both_ways(base, head) == (named, named if what == "changed" else [])
    assert [(one.before, one.after) for one in weakenings(base, head)] == [(before, after)]


STRICT = {"thresholds": {"CR": {"pass": 0.9}}}
LAXER = {"thresholds": {"CR": {"pass": 0.1}}, "min-pass-rate": 0.5}
LIMIT = {"min-pass-rate": 1.0}


@pytest.mark.parametrize(
    ("name", "before", "after", "weaker", "stricter"),
    [
        ("archetypes", {"A": STRICT}, {}, ("A.thresholds.CR.pass", "looser"), None),
        ("archetypes", {}, {"A": LAXER}, ("A.thresholds.CR.pass", "looser"), ("A.min-pass-rate", "looser")),
        ("archetypes", {}, {"A": {"weights": {"AH": 1.0}}}, None, None),  # as the general weight
        ("archetypes", {}, {"A": {"weights": {"AH": 2.0}}}, *[("A.weights.AH", "changed")] * 2),
        ("archetypes", {"A": {"max-unexpected-failures": 1}}, {"A": {"max-unexpected-failures": 2}}, ("A.max-unexpected-failures", "looser"), None),
        ("tags", {"A.b": LIMIT}, {"A.b": LIMIT | {"optional": True}}, ("A.b.optional", "added"), None),
        ("tags", {"A": LIMIT}, {"A": LIMIT | {"optional": False}}, None, None),
    ],
)  # fmt: skip
def test_limits_of_a_group_replace_general_ones(name: str, before: Any, after: Any, weaker: Any, stricter: Any) -> None:
    expected = tuple([("setting", name, *one)] if one else [] for one in (weaker, stricter))
    assert both_ways(terms(**{name: before}), terms(**{name: after})) == expected


def with_rules(off: tuple[str, ...] = (), **rules: PackFact) -> Terms:
    return Terms(DEFAULTS | {"rules_off": off}, {}, {name.replace("__", "/"): rule for name, rule in rules.items()})


def test_a_rule_dropped_or_edited_is_named_and_one_added_if_it_can_let_a_reply_pass() -> None:
    strict, kind, other = PackFact("1", set()), PackFact("2", {"agency_language"}), PackFact("3", set())
    dropped, added, edited = ([("rule", "p/a", "", what)] for what in ("dropped", "added", "changed"))
    assert both_ways(with_rules(p__a=strict), with_rules()) == (dropped, [])
    assert both_ways(with_rules(), with_rules(p__a=kind)) == (added, dropped)
    assert both_ways(with_rules(p__a=strict), with_rules(p__a=other)) == (edited, edited)


@pytest.mark.parametrize("off", ["p", "p/a"])
@pytest.mark.parametrize("lets_pass", [{"agency_language"}, set()])
def test_a_rule_that_can_let_a_reply_pass_is_named_when_it_is_on_again(off: str, lets_pass: set[str]) -> None:
    rule = PackFact("1", lets_pass)
    again = found(with_rules((off,), p__a=rule), with_rules(p__a=rule))
    assert again == [("rule", off, "", "added")] * len(lets_pass)


@pytest.mark.parametrize("name", ["review", "pass", "min-team", "max-team"])
def test_a_pack_by_the_name_of_a_limit_is_none(name: str) -> None:
    assert found(with_rules(), with_rules((name,))) == [("setting", "rules-off", name, "added")]


# --- cases --------------------------------------------------------------------------------------


def asking(name: str, settings_: dict[str, Any] | None = None, **asks: Any) -> Terms:
    """Return the terms of a run with a single case, which asks for this."""
    plain: dict[str, Any] = {"checks": ["agency_language"], "expected": {}, "tags": [], "user": "0"}
    plain |= dict.fromkeys(("must_contain", "must_contain_any", "must_not_contain"))
    if name == "safe_v0":
        plain = {"archetype": "A", "concern_id": "I", "CR": [], "AH": [], "AC": [], "patient_payload": None}
    asked = CaseTerms("c", plain | {"cluster": None} | asks)
    return Terms(DEFAULTS | (settings_ or {}), {name: [asked]}, {})


def turns(settings_: dict[str, Any] | None = None, *tags: str, **asks: Any) -> Terms:
    return asking("synthesis", settings_, tags=list(tags), **asks)


@pytest.mark.parametrize(
    ("name", "before", "after", "less", "more"),
    [
        ("safe_v0", {"AC": ["a", "a"]}, {"AC": ["a"]}, ("AC", "dropped"), None),
        ("safe_v0", {"CR": ["b"]}, {"CR": ["a", "b"]}, None, ("CR", "dropped")),
        ("safe_v0", {"patient_payload": "1"}, {}, ("patient_payload", "changed"), None),
        ("safe_v0", {"archetype": "A"}, {"archetype": "B"}, None, None),  # no setting names them
        ("safe_v0", {"concern_id": "I"}, {"concern_id": "J"}, None, None),
        ("synthesis", {"expected": {"a": True}}, {"expected": {"a": None}}, *[("expected.a", "changed")] * 2),
        ("synthesis", {"context": None}, {"context": 0}, ("context", "added"), ("context", "changed")),
        ("synthesis", {"tags": ["x"]}, {"tags": ["y"]}, None, None),
        ("synthesis", {"tags": ["negative_example"]}, {}, None, ("tags", "added")),
    ],
)
def test_less_asked_of_a_case_is_named(name: str, before: Any, after: Any, less: Any, more: Any) -> None:
    expected = tuple([(name, "c", *one)] if one else [] for one in (less, more))
    assert both_ways(asking(name, **before), asking(name, **after)) == expected


TAGS_LOST, TAGS_ADDED = ("synthesis", "c", "tags", "dropped"), ("synthesis", "c", "tags", "added")
EXCUSED = ("synthesis", "c", "meant to fail", "added")


def test_a_case_that_leaves_a_group_named_by_the_settings_is_reported() -> None:
    protected = {"protect": ("x", "A")}
    dropped = [("setting", "protect", one, "dropped") for one in ("A", "x")]
    assert found(turns(protected, "x", "y"), turns(None, "z")) == [*dropped, TAGS_LOST]
    chosen = {"safe_concern": "I"}
    assert found(asking("safe_v0", chosen), asking("safe_v0", chosen, concern_id="J")) == [
        ("safe_v0", "c", "concern_id", "changed")
    ]
    for own in (protected, {"archetypes": {"B": {"weights": {"CR": 1.0}}}}):
        changed = [("safe_v0", "c", "archetype", "changed")]
        assert found(asking("safe_v0", own), asking("safe_v0", own, archetype="B")) == changed


@pytest.mark.parametrize(
    ("limits", "is_limited"),
    [
        ({"min_label_accuracy": {"all": 0.8}}, True),
        ({"min_label_accuracy": {"a": 0.8, "b": 0.9}}, True),
        ({"min_label_accuracy": {"b": 0.8}}, False),
        ({"tags": {"joy": {}, "grief": {"min-label-accuracy": 0.8}}}, True),
        ({"tags": {"other": {"min-label-accuracy": 0.8}}}, False),
        ({}, False),
    ],
)
def test_a_label_is_named_where_a_known_case_gets_it_and_the_base_limits_its_agreement(
    limits: dict[str, Any], is_limited: bool
) -> None:
    added = [("synthesis", "c", "expected.a", "added")] if is_limited else []
    assert found(turns(limits, "joy", "grief"), turns(limits, "joy", "grief", expected={"a": None})) == added
    assert found(turns(), turns(limits, expected={"a": True})) == found(turns(), turns(limits))


def test_a_tag_whose_rate_the_base_limits_is_named_where_a_known_case_gets_it() -> None:
    rated = {"tags": {"g": {"min-pass-rate": 0.5}, "h": {"max-unexpected-failures": 0}}}
    assert found(turns(rated), turns(rated, "g", "h")) == [TAGS_ADDED]
    assert weakenings(turns(rated), turns(rated, "g", "h"))[0].after == ["g"]
    assert found(turns(), turns(rated, "g", "h")) == []


@pytest.mark.parametrize(("rule", "limit"), [("max_unexpected_passes", 0), ("min_synthesis_pass_rate", 0.9)])
def test_a_negative_example_may_not_leave_where_their_passes_are_counted(rule: str, limit: float) -> None:
    counted = {rule: limit}
    base, head = turns(counted, "pivot-fail"), turns(counted)
    assert both_ways(base, head) == ([TAGS_LOST], [TAGS_ADDED])
    # They count while either side's settings have the limit.
    assert found(base, turns()) == [("setting", rule.replace("_", "-"), "", "looser"), TAGS_LOST]
    assert found(turns(None, "pivot-fail"), head) == [TAGS_LOST]
    (lost,), (excused,) = weakenings(turns(counted, "y", "pivot-fail", "x"), head), weakenings(head, base)
    assert (lost.before, lost.after, excused.before, excused.after) == (["pivot-fail"], None, None, ["pivot-fail"])


def test_a_change_of_profile_is_reported_with_the_cases_that_it_excuses() -> None:
    standard, spec, counted = {"profile": "standard"}, {"profile": "spec"}, {"max_unexpected_passes": 0}
    changed = ("setting", "profile", "", "changed")
    for after in (["exam-fail"], ["exam-fail", "x"]):
        assert found(turns(standard, "exam-fail"), turns(spec, *after)) == [changed, EXCUSED]
    assert found(turns(spec | counted, "exam-fail"), turns(standard | counted)) == [changed, TAGS_LOST]


@pytest.mark.parametrize(
    ("before", "after", "settings"),
    [
        ({"tags": ["wording-fail"]}, {"must_not_contain": ["zebra"]}, {}),
        ({"tags": ["wording-fail"]}, {"must_contain_any": "1"}, {}),
        ({"tags": ["acme/tone-fail"]}, {"checks": ["acme/tone", "agency_language"]}, {}),
        ({"tags": ["wording-fail", "x"]}, {}, {"tags": {"x": {"must_contain": ["sorry"]}}}),
    ],
)
def test_what_turns_a_harmless_tag_into_an_excuse_is_named(before: Any, after: Any, settings: Any) -> None:
    base, head = asking("synthesis", **before), asking("synthesis", settings, **(before | after))
    said = [one for one in weakenings(base, head) if one.field == "meant to fail"]
    assert [(one.id, one.what, one.before, one.after) for one in said] == [("c", "added", None, before["tags"][:1])]
    assert EXCUSED not in found(head, base)
    excused: Any = {"tags": [*before["tags"], "pivot-fail"]}  # it was meant to fail before
    assert found(asking("synthesis", **excused), asking("synthesis", settings, **(after | excused))) == []
