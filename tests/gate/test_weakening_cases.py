"""Cases of which less is asked, and cases that are gone, weaken the gate."""

from __future__ import annotations

import json
from typing import Any

import pytest

from safe_gate.gate.weakening import CaseTerms, Terms, weakenings
from tests.support.weakening import DEFAULTS, Found, both_ways, found


def asking(name: str, settings_: dict[str, Any] | None = None, **asks: Any) -> Terms:
    plain: dict[str, Any] = {"checks": ["agency_language"], "expected": {}, "tags": [], "user": "0"}
    plain |= dict.fromkeys(("must_contain", "must_contain_any", "must_not_contain"))
    if name == "safe_v0":
        plain = {"archetype": "A", "concern_id": "I", "CR": [], "AH": [], "AC": [], "patient_payload": None}
    plain["cluster"] = None
    asked = CaseTerms("c", json.dumps(asks), plain | asks)
    return Terms(DEFAULTS | (settings_ or {}), {name: [asked]}, {}, "")


@pytest.mark.parametrize(
    ("name", "before", "after", "field", "what"),
    [
        ("safe_v0", {"AC": ["a", "a"]}, {"AC": ["a"]}, "AC", "dropped"),
        ("safe_v0", {"patient_payload": "1"}, {}, "patient_payload", "changed"),
        ("safe_v0", {"cluster": "1"}, {}, "cluster", "changed"),
        ("synthesis", {"expected": {"a": True}}, {"expected": {"a": None}}, "expected.a", "changed"),
    ],
)
def test_less_asked_of_a_case_is_named(name: str, before: Any, after: Any, field: str, what: str) -> None:
    assert found(asking(name, **before), asking(name, **after)) == [(name, "c", field, what)]


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("safe_v0", {"CR": ["b"]}, {"CR": ["a", "b"]}),
        ("safe_v0", {"archetype": "A"}, {"archetype": "B"}),
        ("safe_v0", {}, {"patient_payload": "1"}),
        ("safe_v0", {}, {"cluster": "1"}),
        ("synthesis", {}, {"checks": ["agency_language", "topic_pivot"]}),
        ("synthesis", {}, {"expected": {"topic_pivot": False}}),
        ("synthesis", {"tags": ["x"]}, {"tags": ["y"]}),
        ("synthesis", {"tags": ["negative_example"]}, {}),
    ],
)
def test_more_asked_of_a_case_and_groups_without_rules_are_not(name: str, before: Any, after: Any) -> None:
    assert found(asking(name, **before), asking(name, **after)) == []


def test_a_case_that_leaves_a_group_named_by_the_settings_is_reported() -> None:
    protected = {"protect": ("x", "A")}
    assert found(asking("synthesis", protected, tags=["x", "y"]), asking("synthesis", tags=["z"])) == [
        ("setting", "protect", "A", "dropped"),
        ("setting", "protect", "x", "dropped"),
        ("synthesis", "c", "tags", "dropped"),
    ]
    changed = [("safe_v0", "c", "archetype", "changed")]
    assert found(asking("safe_v0", protected), asking("safe_v0", protected, archetype="B")) == changed
    laxer = {"archetypes": {"B": {"weights": {"CR": 1.0}}}}
    assert found(asking("safe_v0", laxer), asking("safe_v0", laxer, archetype="B")) == changed


@pytest.mark.parametrize(("rule", "limit"), [("max_unexpected_passes", 0), ("min_synthesis_pass_rate", 0.9)])
def test_a_negative_example_may_not_leave_where_their_passes_are_counted(rule: str, limit: float) -> None:
    counted = {rule: limit}
    base, head = asking("synthesis", counted, tags=["pivot-fail"]), asking("synthesis", counted)
    assert both_ways(base, head) == ([("synthesis", "c", "tags", "dropped")], [("synthesis", "c", "tags", "added")])
    uncounted = asking("synthesis")  # they count while either side's settings have the limit
    off = ("setting", rule.replace("_", "-"), "", "looser")
    assert found(base, uncounted) == [off, ("synthesis", "c", "tags", "dropped")]
    assert found(asking("synthesis", tags=["pivot-fail"]), head) == [("synthesis", "c", "tags", "dropped")]


@pytest.mark.parametrize(("profile", "said"), [("standard", []), ("spec", [("synthesis", "c", "tags", "added")])])
def test_a_topic_tag_that_ends_in_fail_excuses_under_the_specification_alone(profile: str, said: list[Found]) -> None:
    own = {"profile": profile}
    assert found(asking("synthesis", own), asking("synthesis", own, tags=["exam-fail"])) == said
    counted = own | {"max_unexpected_passes": 0}
    left = found(asking("synthesis", counted, tags=["exam-fail"]), asking("synthesis", counted))
    assert left == [("synthesis", "c", "tags", "dropped")] * len(said)


def test_a_change_of_profile_is_reported_with_the_cases_that_it_excuses() -> None:
    standard, spec = ({"profile": profile} for profile in ("standard", "spec"))
    changed = ("setting", "profile", "", "changed")
    tags = {"tags": ["exam-fail"]}
    excused = ("synthesis", "c", "meant to fail", "added")
    for after in (["exam-fail"], ["exam-fail", "x"]):
        assert found(asking("synthesis", standard, **tags), asking("synthesis", spec, tags=after)) == [changed, excused]
    counted = {"max_unexpected_passes": 0}
    lost = [changed, ("synthesis", "c", "tags", "dropped")]
    assert found(asking("synthesis", spec | counted, **tags), asking("synthesis", standard | counted)) == lost


TURNED = [
    ({"tags": ["wording-fail"]}, {"must_not_contain": ["zebra"]}, {}),
    ({"tags": ["wording-fail"]}, {"must_contain_any": "1"}, {}),
    ({"tags": ["acme/tone-fail"]}, {"checks": ["acme/tone", "agency_language"]}, {}),
    ({"tags": ["wording-fail", "x"]}, {}, {"tags": {"x": {"must_contain": ["sorry"]}}}),
]


@pytest.mark.parametrize(("before", "after", "settings"), TURNED)
def test_what_turns_a_harmless_tag_into_an_excuse_is_named(before: Any, after: Any, settings: Any) -> None:
    base, head = asking("synthesis", **before), asking("synthesis", settings, **(before | after))
    said = [one for one in weakenings(base, head) if one.field == "meant to fail"]
    assert [(one.id, one.what, one.before, one.after) for one in said] == [("c", "added", None, before["tags"][:1])]
    assert not [one for one in weakenings(head, base) if one.field == "meant to fail"]
    excused: Any = {"tags": [*before["tags"], "pivot-fail"]}  # it was meant to fail before
    base, head = asking("synthesis", **excused), asking("synthesis", settings, **(excused | after))
    assert found(base, head) == []


def test_a_case_that_a_report_counts_and_the_run_excuses_is_named() -> None:
    words = {"tags": {"x": {"must_contain": ["sorry"]}}}
    head = asking("synthesis", words, tags=["wording-fail", "x"])
    (asked,) = head.cases["synthesis"]
    for excuses, said in (((), [("synthesis", "c", "meant to fail", "added")]), (("x",), [])):
        base = Terms(DEFAULTS, {"synthesis": [CaseTerms("c", asked.digest, None, excuses)]}, {}, "")
        assert found(base, head) == said


def test_of_a_negative_examples_tags_those_that_say_so_are_named() -> None:
    counted = {"max_unexpected_passes": 0}
    meant, plain = (asking("synthesis", counted, tags=[*own, "x"]) for own in (["y", "pivot-fail"], []))
    (lost,), (excused,) = weakenings(meant, plain), weakenings(plain, meant)
    assert (lost.before, lost.after) == (["pivot-fail"], None)
    assert (excused.before, excused.after) == (None, ["pivot-fail"])


def test_a_case_known_only_by_its_digest_is_reported_as_changed() -> None:
    known, changed = (Terms({}, {"synthesis": [CaseTerms("c", sha256, None)]}, {}, "") for sha256 in "ab")
    assert found(known, known) == []
    asks = asking("synthesis", user="1")
    for one, other in ((known, changed), (known, asks), (asks, known)):
        assert ("synthesis", "c", "", "changed") in found(one, other)
