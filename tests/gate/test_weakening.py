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


def of_case(base: Terms, head: Terms) -> list[tuple[str, str, Any, Any]]:
    """Return how the case asks for less: field, way, and both values."""
    return [(one.field, one.what, one.before, one.after) for one in weakenings(base, head) if one.id == "c"]


def safe(settings_: dict[str, Any] | None = None, **asks: Any) -> Terms:
    return asking("safe_v0", settings_, **asks)


PROTECTED, CHOSEN = {"protect": ("x", "A")}, {"safe_concern": "I"}
RATED = {"tags": {"g": {"min-pass-rate": 0.5}, "h": {"max-unexpected-failures": 0}}}
PASSES, RATE = {"max_unexpected_passes": 0}, {"min_synthesis_pass_rate": 0.9}
STANDARD, SPEC = {"profile": "standard"}, {"profile": "spec"}
FAILS, LABEL = "wording-fail", {"expected": {"a": None}}


@pytest.mark.parametrize(
    ("base", "head", "less", "more"),
    [
        (safe(AC=["a", "a"]), safe(AC=["a"]), [("AC", "dropped", ["a"], [])], []),
        (safe(CR=["b"]), safe(CR=["a", "b"]), [], [("CR", "dropped", ["a"], [])]),
        (safe(patient_payload="1"), safe(), [("patient_payload", "changed", None, None)], []),
        (safe(archetype="A"), safe(archetype="B"), [], []),  # no setting names them
        (safe(PROTECTED), safe(PROTECTED, archetype="B"), [("archetype", "changed", "A", "B")], [("archetype", "changed", "B", "A")]),
        (safe({"archetypes": {"B": {"weights": {"CR": 1.0}}}}), safe(archetype="B"), [("archetype", "changed", "A", "B")], [("archetype", "changed", "B", "A")]),
        (safe(concern_id="I"), safe(concern_id="J"), [], []),
        (safe(CHOSEN), safe(CHOSEN, concern_id="J"), [("concern_id", "changed", None, None)], []),
        (turns(expected={"a": True}), turns(expected={"a": None}), [("expected.a", "changed", True, None)], [("expected.a", "changed", None, True)]),
        (turns(cluster="1"), turns({"cluster_key": "x_topic"}, cluster="2"), [], []),  # the setting is reported itself
        (turns(context=None), turns(context=0), [("context", "added", None, None)], [("context", "changed", None, None)]),
        # tags that settings name
        (turns(None, "x"), turns(None, "y"), [], []),
        (turns(PROTECTED, "x", "y"), turns(None, "z"), [("tags", "dropped", ["x"], None)], []),
        (turns(RATED), turns(RATED, "g", "h"), [("tags", "added", None, ["g"])], [("tags", "dropped", ["g", "h"], None)]),
        (turns(), turns(RATED, "g", "h"), [], [("tags", "dropped", ["g", "h"], None)]),
        # tags that take a case out of the filter
        (turns({"tag": ("!slow",)}, "x"), turns({"tag": ("!slow",)}, "x", "slow"), [("tags", "added", None, ["slow"])], []),
        (turns({"tag": ("x", "z")}, "x"), turns({"tag": ("x", "z")}, "y"), [("tags", "dropped", ["x"], None)], []),
        (turns({"tag": ("x", "z")}, "x"), turns({"tag": ("x", "z")}, "x", "y"), [], []),
        (safe({"tag": ("A", "z")}), safe({"tag": ("A", "z")}, archetype="B"), [("archetype", "changed", "A", "B")], []),
        # labels, of which the base limits how many agree
        (turns({"min_label_accuracy": {"all": 0.8}}), turns(**LABEL), [("expected.a", "added", None, None)], [("expected.a", "dropped", None, None)]),
        (turns({"min_label_accuracy": {"a": 0.8, "b": 0.9}}), turns(**LABEL), [("expected.a", "added", None, None)], [("expected.a", "dropped", None, None)]),
        (turns({"min_label_accuracy": {"b": 0.8}}), turns(**LABEL), [], [("expected.a", "dropped", None, None)]),
        (turns({"tags": {"g": {"min-label-accuracy": 0.8}}}, "j", "g"), turns(None, "j", "g", **LABEL), [("expected.a", "added", None, None)], [("expected.a", "dropped", None, None)]),
        (turns({"tags": {"other": {"min-label-accuracy": 0.8}}}, "g"), turns(None, "g", **LABEL), [], [("expected.a", "dropped", None, None)]),
        (turns(), turns({"min_label_accuracy": {"all": 0.8}}, **LABEL), [], [("expected.a", "dropped", None, None)]),
        # negative examples: their passes count while either side's settings limit them
        (turns(None, "negative_example"), turns(), [], [("tags", "added", None, ["negative_example"])]),
        (turns(PASSES, "y", "pivot-fail", "x"), turns(PASSES), [("tags", "dropped", ["pivot-fail"], None)], [("tags", "added", None, ["pivot-fail"])]),
        (turns(RATE, "pivot-fail"), turns(), [("tags", "dropped", ["pivot-fail"], None)], [("tags", "added", None, ["pivot-fail"])]),
        (turns(STANDARD, "exam-fail"), turns(SPEC, "exam-fail", "x"), [("meant to fail", "added", None, ["exam-fail"])], []),
        (turns(SPEC | PASSES, "exam-fail"), turns(STANDARD | PASSES), [("tags", "dropped", ["exam-fail"], None)], [("tags", "added", None, ["exam-fail"])]),
        # what turns a harmless tag into an excuse
        (turns(None, FAILS), turns(None, FAILS, must_not_contain=["zebra"]), [("meant to fail", "added", None, ["wording-fail"])], [("must_not_contain", "dropped", ["zebra"], [])]),
        (turns(None, FAILS), turns(None, FAILS, must_contain_any="1"), [("meant to fail", "added", None, ["wording-fail"])], [("must_contain_any", "changed", None, None)]),
        (turns(None, "acme/tone-fail"), turns(None, "acme/tone-fail", checks=["acme/tone", "agency_language"]), [("meant to fail", "added", None, ["acme/tone-fail"])], [("checks", "dropped", ["acme/tone"], [])]),
        (turns(None, FAILS, "x"), turns({"tags": {"x": {"must_contain": ["sorry"]}}}, FAILS, "x"), [("meant to fail", "added", None, ["wording-fail"])], []),
        (turns(None, FAILS, "pivot-fail"), turns(None, FAILS, "pivot-fail", must_not_contain=["zebra"]), [], [("must_not_contain", "dropped", ["zebra"], [])]),
    ],
)  # fmt: skip
def test_less_asked_of_a_case_is_named(base: Terms, head: Terms, less: Any, more: Any) -> None:
    assert (of_case(base, head), of_case(head, base)) == (less, more)
