"""In what a change weakens the gate itself: found, shown, and where asked a reason to fail."""

from __future__ import annotations

import copy
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safe_gate.core.given import PackFact
from safe_gate.core.report import Report, Waiver
from safe_gate.evaluators import EVALUATORS
from safe_gate.gate.weakening import WEAKER, Terms, in_force, weakenings
from safe_gate.gate.weakening_cases import Asked, What
from safe_gate.inputs import checked, schemas
from safe_gate.publish import handover
from safe_gate.render import console, markdown, weakening
from safe_gate.render.view import ReportView
from safe_gate.settings.options import Options, settings
from tests.support import packs
from tests.support.cases import BAD, GOOD, SILENT, Ran, report, safe_case, turn, write_batch, write_cases
from tests.support.git import commit, git
from tests.support.github import PULL_REQUEST, GitHub, outputs

SafeGate = Callable[..., Ran]
DEFAULTS = {name: getattr(Options(), name) for name in WEAKER}
Found = tuple[str, str, str, str]

BESIDE = frozenset(
    {
        *("safe_batch", "safe_outputs", "safe_concern", "safe_test_dir", "synthesis_cases", "rules", "waivers"),
        *("report_formats", "reports", "report_dir", "gate_id", "comment_author", "ca_bundle", "text", "dry_run"),
        *("mode", "jobs", "engine", "scheduler", "shard", "shards", "config", "github_token", "allow_head_checkout"),
        *("publish_timeout", "fetch_timeout", "follow_links"),
        *(
            "sink_file",
            "sink_webhook",
            "sink_secret",
            "sink_otlp",
            "sink_text",
            "sink_timeout",
            "allow_insecure",
            "quiet",
        ),
        *("max_line", "max_text", "max_tags", "import_map"),
    }
)
"""The settings that judge nothing: what they name is read and compared itself, or they are about the report alone."""


def terms(**settings_: Any) -> Terms:
    return Terms(DEFAULTS | settings_, {}, {}, "")


def found(base: Terms, head: Terms) -> list[Found]:
    return [(one.kind, one.id, one.field, one.what) for one in weakenings(base, head)]


def both_ways(base: Terms, head: Terms) -> tuple[list[Found], list[Found]]:
    return found(base, head), found(head, base)


# --- settings -----------------------------------------------------------------------------------


def test_every_setting_either_judges_or_does_not() -> None:
    names = {setting.name for setting in settings()}
    assert WEAKER.keys() | BESIDE == names
    assert not WEAKER.keys() & BESIDE


def test_a_limit_of_a_rule_has_the_direction_of_its_name() -> None:
    for name in WEAKER:
        if name.startswith(("min_", "max_")) and name not in ("min_drop", "min_group"):
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
        ("min_drop", 0.02, 0.1, "looser"),
        ("alpha", 0.05, 0.01, "looser"),
        ("ah_review", 0.5, 0.4, "looser"),
        ("strict_ah", True, False, "looser"),
        ("allow_removed", False, True, "looser"),
        ("baseline_required", True, False, "looser"),
        ("sensitivity", "strict", "balanced", "looser"),
        ("sensitivity", "balanced", "lenient", "looser"),
        ("turns", "all", "last", "looser"),
        ("context", 2, 1, "looser"),
        ("on_weakened", "fail", "warn", "looser"),
        ("policy_ref", "base", "head", "looser"),
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
        ("cr_weight", 1.0, 2.0),
        ("safe_match", "literal", "normalised"),
        ("profile", "standard", "spec"),
        ("cluster_key", "", "x_topic"),
        ("baseline", "a", "b"),
    ],
)
def test_what_may_go_either_way_is_named_both_ways(name: str, before: Any, after: Any) -> None:
    named = [("setting", name.replace("_", "-"), "", "changed")]
    assert both_ways(terms(**{name: before}), terms(**{name: after})) == (named, named)


def test_entries_of_lists_and_mappings_are_named_each() -> None:
    base = terms(protect=("b", "a"), rules_off=("x",), rule_weights={"r": 1.0, "s": 2.0})
    head = terms(protect=("a", "c"), rules_off=("x", "y"), rule_weights={"r": 0.5})
    assert found(base, head) == [
        ("setting", "rules-off", "y", "added"),
        ("setting", "rule-weights", "r", "changed"),
        ("setting", "rule-weights", "s", "changed"),
        ("setting", "protect", "b", "dropped"),
    ]


def test_an_entry_of_a_mapping_of_limits_that_is_lowered_or_gone_is_named() -> None:
    base = terms(min_label_accuracy={"all": 0.8, "topic_pivot": 0.9, "agency_language": 0.7})
    head = terms(min_label_accuracy={"all": 0.8, "topic_pivot": 0.8, "unverifiable_reassurance": 0.1})
    assert both_ways(base, head) == (
        [
            ("setting", "min-label-accuracy", "agency_language", "looser"),
            ("setting", "min-label-accuracy", "topic_pivot", "looser"),
        ],
        [("setting", "min-label-accuracy", "unverifiable_reassurance", "looser")],
    )
    assert [(one.before, one.after) for one in weakenings(base, head)] == [(0.7, None), (0.9, 0.8)]
    everything = [
        ("setting", "min-label-accuracy", entry, "looser") for entry in ("agency_language", "all", "topic_pivot")
    ]
    assert found(base, terms(min_label_accuracy=None)) == everything


def test_a_weight_that_is_not_set_is_shown_as_the_rules_own_and_not_as_off() -> None:
    changed = weakenings(terms(rule_weights={"r": 2.0}), terms(rule_weights={"s": 0.5}))
    shown = weakening.table(changed)
    assert [row[-2:] for row in shown.rows] == [("2.0", "its own"), ("its own", "0.5")]


def test_an_archetype_is_held_to_its_own_numbers_else_to_the_general_ones() -> None:
    base = terms(cr_pass=0.8, archetypes={"A.b": {"thresholds": {"CR": {"pass": 0.9}}}})
    assert both_ways(base, terms(cr_pass=0.8)) == (
        [("setting", "archetypes", "A.b.thresholds.CR.pass", "looser")],
        [],
    )
    laxer = terms(cr_pass=0.8, archetypes={"A": {"thresholds": {"CR": {"pass": 0.1}}, "min-pass-rate": 0.5}})
    assert both_ways(terms(cr_pass=0.8), laxer) == (
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
def test_a_group_that_may_be_absent_is_told(name: str) -> None:
    limit = {"min-pass-rate": 1.0}
    strict, optional = (terms(**{name: {"crisis": limit | more}}) for more in ({}, {"optional": True}))
    assert both_ways(strict, optional) == ([("setting", name, "crisis.optional", "added")], [])
    assert found(strict, terms(**{name: {"crisis": limit | {"optional": False}}})) == []


_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "profile": st.sampled_from(["standard", "spec"]),
    "sensitivity": st.sampled_from(["strict", "balanced", "lenient"]),
    "turns": st.sampled_from(["last", "all"]),
    "safe_match": st.sampled_from(["literal", "normalised"]),
    "on_weakened": st.sampled_from(["warn", "fail"]),
    "policy_ref": st.sampled_from(["head", "base"]),
    "comment": st.sampled_from(["always", "on-failure", "never"]),  # changes tells as much as always
    "archetypes": st.none()
    | st.dictionaries(
        st.sampled_from("AB"),
        st.fixed_dictionaries({"weights": st.dictionaries(st.sampled_from(["CR", "AH"]), st.sampled_from([1.0, 2.0]))}),
    ),
}


def _value(name: str) -> st.SearchStrategy[Any]:
    default = getattr(Options(), name)
    if name in _VALUES:
        return _VALUES[name]
    if isinstance(default, bool):
        return st.booleans()
    if isinstance(default, str):
        return st.sampled_from(["", "a", "b"])
    if isinstance(default, tuple):
        return st.lists(st.sampled_from("abc"), unique=True).map(tuple)
    if name in ("rule_weights", "tags"):
        return st.none() | st.dictionaries(st.sampled_from("rs"), st.sampled_from([0.5, 1.0]))
    return st.sampled_from([0, 0.5, 1] + [None] * (default is None))


SETTINGS = st.fixed_dictionaries({name: _value(name) for name in WEAKER})


@given(SETTINGS, SETTINGS)
def test_weaker_one_way_or_the_other_is_all_that_differs(some: dict[str, Any], others: dict[str, Any]) -> None:
    one, other = (Terms(values, {}, {}, "") for values in (some, others))
    assert weakenings(one, one) == []
    named = {(finding.id, finding.field) for way in ((one, other), (other, one)) for finding in weakenings(*way)}
    differ = {(name.replace("_", "-"), ".".join(path)) for name, path, a, b in in_force(some, others) if a != b}
    assert named == differ
    same = {name for name in WEAKER if some[name] == others[name] and name != "archetypes"}
    assert not same & {id_.replace("-", "_") for id_, _ in named}


# --- rules and waivers --------------------------------------------------------------------------


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


def test_without_the_rules_their_digest_tells_that_they_differ() -> None:
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


# --- cases --------------------------------------------------------------------------------------


def asking(name: str, settings_: dict[str, Any] | None = None, **asks: Any) -> Terms:
    plain: dict[str, Any] = {"checks": ["agency_language"], "expected": {}, "tags": [], "user": "0"}
    if name == "safe_v0":
        plain = {"archetype": "A", "concern_id": "I", "CR": [], "AH": [], "AC": [], "patient_payload": None}
    plain["cluster"] = None
    asked = Asked(json.dumps(asks), plain | asks)
    return Terms(DEFAULTS | (settings_ or {}), {name: {"c": asked}}, {}, "")


@pytest.mark.parametrize(
    ("name", "before", "after", "field", "what"),
    [
        ("safe_v0", {"CR": ["a", "b"]}, {"CR": ["b"]}, "CR", "dropped"),
        ("safe_v0", {"AH": ["a", "b"]}, {"AH": ["b", "c"]}, "AH", "changed"),
        ("safe_v0", {"AC": ["a", "a"]}, {"AC": ["a"]}, "AC", "dropped"),
        ("safe_v0", {"patient_payload": "1"}, {"patient_payload": "2"}, "patient_payload", "changed"),
        ("safe_v0", {"patient_payload": "1"}, {}, "patient_payload", "changed"),
        ("synthesis", {"checks": ["agency_language", "topic_pivot"]}, {}, "checks", "dropped"),
        ("synthesis", {"expected": {"topic_pivot": True}}, {}, "expected.topic_pivot", "dropped"),
        (
            "synthesis",
            {"expected": {"topic_pivot": True}},
            {"expected": {"topic_pivot": None}},
            "expected.topic_pivot",
            "changed",
        ),
        ("synthesis", {}, {"tags": ["pivot-fail"]}, "tags", "added"),
        ("synthesis", {}, {"user": "1"}, "user", "changed"),
        ("synthesis", {"cluster": "1"}, {"cluster": "2"}, "cluster", "changed"),
        ("safe_v0", {"cluster": "1"}, {}, "cluster", "changed"),
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


def test_a_group_that_something_is_asked_of_by_name_is_not_left_unseen() -> None:
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


def test_the_groups_that_settings_name_are_gathered_once_however_many_cases_changed() -> None:
    class Read(dict[str, Any]):
        times = 0

        def __iter__(self) -> Iterator[str]:
            self.times += 1
            return super().__iter__()

    tags = Read({"x": {}})
    base, head = (
        Terms({"tags": tags}, {"synthesis": {str(n): Asked(tag, {"tags": [tag]}) for n in range(50)}}, {}, "")
        for tag in "ab"
    )
    assert found(base, head) == []
    assert tags.times < 10


@pytest.mark.parametrize(("rule", "limit"), [("max_unexpected_passes", 0), ("min_synthesis_pass_rate", 0.9)])
def test_a_negative_example_may_not_leave_where_their_passes_are_counted(rule: str, limit: float) -> None:
    counted = {rule: limit}
    base, head = asking("synthesis", counted, tags=["pivot-fail"]), asking("synthesis", counted)
    assert both_ways(base, head) == (
        [("synthesis", "c", "tags", "dropped")],
        [("synthesis", "c", "tags", "added")],
    )
    uncounted = asking("synthesis")  # they count while either side's settings have the limit
    off = ("setting", rule.replace("_", "-"), "", "looser")
    assert found(base, uncounted) == [off, ("synthesis", "c", "tags", "dropped")]
    assert found(asking("synthesis", tags=["pivot-fail"]), head) == [("synthesis", "c", "tags", "dropped")]


@pytest.mark.parametrize(("profile", "said"), [("weighted", []), ("spec", [("synthesis", "c", "tags", "added")])])
def test_a_topic_tag_that_ends_in_fail_excuses_under_the_specification_alone(profile: str, said: list[Found]) -> None:
    own = {"profile": profile}
    assert found(asking("synthesis", own), asking("synthesis", own, tags=["exam-fail"])) == said
    counted = own | {"max_unexpected_passes": 0}
    left = found(asking("synthesis", counted, tags=["exam-fail"]), asking("synthesis", counted))
    assert left == [("synthesis", "c", "tags", "dropped")] * len(said)


def test_under_another_profile_it_is_the_profile_that_is_told() -> None:
    weighted, spec = ({"profile": profile} for profile in ("weighted", "spec"))
    changed = ("setting", "profile", "", "changed")
    tags = {"tags": ["exam-fail"]}
    assert found(asking("synthesis", weighted, **tags), asking("synthesis", spec, tags=["exam-fail", "x"])) == [changed]
    counted = {"max_unexpected_passes": 0}
    lost = [changed, ("synthesis", "c", "tags", "dropped")]
    assert found(asking("synthesis", spec | counted, **tags), asking("synthesis", weighted | counted)) == lost


def test_of_a_negative_examples_tags_those_that_say_so_are_named() -> None:
    counted = {"max_unexpected_passes": 0}
    meant, plain = (asking("synthesis", counted, tags=[*own, "x"]) for own in (["y", "pivot-fail"], []))
    (lost,), (excused,) = weakenings(meant, plain), weakenings(plain, meant)
    assert (lost.before, lost.after) == (["pivot-fail"], None)
    assert (excused.before, excused.after) == (None, ["pivot-fail"])


def test_cases_that_are_gone_are_named_and_new_ones_are_not() -> None:
    with_case, without = asking("safe_v0"), Terms(DEFAULTS, {}, {}, "")
    assert both_ways(with_case, without) == ([("safe_v0", "c", "", "dropped")], [])


def test_of_a_case_known_by_its_digest_alone_it_is_told_that_it_changed() -> None:
    known, changed = (Terms({}, {"synthesis": {"c": Asked(sha256, None)}}, {}, "") for sha256 in "ab")
    assert found(known, known) == []
    asks = asking("synthesis", user="1")
    for one, other in ((known, changed), (known, asks), (asks, known)):
        assert ("synthesis", "c", "", "changed") in found(one, other)


# --- the command line ---------------------------------------------------------------------------

PACK: dict[str, Any] = {
    "pack": "ours",
    "check": "agency_language",
    "group": "negative",
    "field": "assistant",
    "about": "Ours.",
    "rules": [
        {"id": "ours/stop", "pattern": "stop being", "why": "x", "hit": ["Stop being sad."], "miss": ["Stop."]},
        {"id": "ours/over", "pattern": "zebra", "why": "x", "hit": ["A zebra."], "miss": ["A horse."]},
    ],
}


def needles(*signals: str) -> dict[str, Any]:
    return {
        "signal_generation": {"must_find_signals": list(signals)},
        "event_summary": {"must_contain_phrases": ["went home"]},
        "followup_questions": {"forbidden_terms": ["policy"]},
    }


def put(config: dict[str, Any], *turns: dict[str, Any], cases: tuple[dict[str, Any], ...], pack: Any = PACK) -> None:
    Path("ours.json").write_text(json.dumps(pack), "utf-8")
    Path("safe.config.json").write_text(json.dumps(config), "utf-8")
    write_cases(Path("c.jsonl"), *turns)
    write_batch(Path("b.json"), *cases)


CONFIG: dict[str, Any] = {
    "safe-batch": ["b"],
    "synthesis-cases": ["c.jsonl"],
    "rules": ["ours.json"],
    "min-pass-rate": 0.9,
    "protect": ["<b>@octo | x", "a"],
}


@pytest.fixture
def base() -> str:
    """Make a repository whose only commit has a gate and its cases; return the commit."""
    git("init", "--quiet")
    put(
        CONFIG,
        turn("a"),
        turn("</code> @octo | b", tags=["<b>@octo | x"]),
        cases=(safe_case("s", expectations=needles("fever", "fever")),),
    )
    return commit()


def weaken(**settings_: Any) -> None:
    """Weaken the gate in the working folder: a lower limit, an edited rule, a case that is gone, fewer signals."""
    pack = copy.deepcopy(PACK)
    pack["rules"][1]["pattern"] = "zebras?"
    put(CONFIG | {"min-pass-rate": 0.5, "protect": ["a"]} | settings_, turn("a"), cases=(safe_case("s"),), pack=pack)


WEAKENED = [
    ("setting", "min-pass-rate", "", "looser"),
    ("setting", "protect", "<b>@octo | x", "dropped"),
    ("rule", "ours/over", "", "changed"),
    ("safe_v0", "s", "CR", "dropped"),
    ("synthesis", "</code> @octo | b", "", "dropped"),
]


def section(name: str = "weakened") -> list[Found]:
    keys = ("kind", "id", "field", "what")
    return [tuple(one[key] for key in keys) for one in report()[name]["findings"]]


# --- every weakening that is closed ---------------------------------------------------------------

GONE = object()
STATE: dict[str, Any] = {
    "safe.config.json": {
        "safe-batch": ["b"],
        "synthesis-cases": ["c.jsonl"],
        "rules": ["ours.json"],
        "profile": "standard",
        "sensitivity": "strict",
        "safe-match": "literal",
        "rule-weights": {"agency-negative": 1},
        "min-pass-rate": 0.5,
        "max-fail-labels": 1,
        "min-synthesis-pass-rate": 0.5,
        "max-unexpected-failures": 1,
        "max-not-english": 0,
        "max-vacuous": 0.9,
        "min-label-accuracy": {"all": 0.1, "topic_pivot": 0.2},
        "min-group": 1,
        "tags": {"grief": {"min-pass-rate": 0.5}},
        "archetypes": {"A": {"min-pass-rate": 0.5, "thresholds": {"CR": {"pass": 0.9}}, "weights": {"AH": 2}}},
        "thresholds": {"AH": {"review": 0.5}},
        "weights": {"AC": 1},
        "strictAH": True,
        "max-regressions": 1,
        "max-score-drop": 0.5,
        "min-drop": 0.02,
        "alpha": 0.05,
        "cluster-key": "x_topic",
        "protect": ["kept"],
        "comment": "always",
    },
    "c.jsonl": [
        turn("a", tags=["kept", "grief"], expected={"topic_pivot": True}, x_topic="1", x_other="1"),
        turn("b", tags=["negative_example"], assistant=BAD),
        turn("c", tags=["other"]),
        turn("d", tags=["grief"]),
    ],
    "b.json": {
        "test_cases": [
            safe_case("s", archetype="A", patient_payload={"age": 80}, x_topic="1"),
            safe_case("t", archetype="A"),
        ],
    },
    "ours.json": PACK,
    "safe-gate.waivers.json": {
        "waivers": [{"id": "b", "check": "topic_pivot", "reason": "r", "owner": "o", "expires": "2098-01-01"}]
    },
}
"""The files of a gate that holds, by path."""

CLOSED: Mapping[str, tuple[tuple[Any, ...], Any, tuple[str, str, str]]] = {
    "a lower limit": (("safe.config.json", "min-pass-rate"), 0.4, ("setting", "min-pass-rate", "")),
    "a limit that is off": (("safe.config.json", "max-fail-labels"), GONE, ("setting", "max-fail-labels", "")),
    "a lower share as expected": (("safe.config.json", "min-synthesis-pass-rate"), 0.4, ("setting", "min-synthesis-pass-rate", "")),
    "a share that is off": (("safe.config.json", "min-synthesis-pass-rate"), GONE, ("setting", "min-synthesis-pass-rate", "")),
    "any number of failures": (("safe.config.json", "max-unexpected-failures"), "off", ("setting", "max-unexpected-failures", "")),
    "a raised limit": (("safe.config.json", "max-unexpected-failures"), 2, ("setting", "max-unexpected-failures", "")),
    "a rule that is switched off": (("safe.config.json", "max-not-english"), "off", ("setting", "max-not-english", "")),
    "a higher share of empty results": (("safe.config.json", "max-vacuous"), 1, ("setting", "max-vacuous", "")),
    "a lower limit of a check": (("safe.config.json", "min-label-accuracy", "topic_pivot"), 0.1, ("setting", "min-label-accuracy", "topic_pivot")),
    "a limit of a check that is off": (("safe.config.json", "min-label-accuracy", "topic_pivot"), GONE, ("setting", "min-label-accuracy", "topic_pivot")),
    "a limit of all checks that is off": (("safe.config.json", "min-label-accuracy", "all"), GONE, ("setting", "min-label-accuracy", "all")),
    "larger groups alone": (("safe.config.json", "min-group"), 5, ("setting", "min-group", "")),
    "a lower limit of a tag": (("safe.config.json", "tags", "grief", "min-pass-rate"), 0.1, ("setting", "tags", "grief.min-pass-rate")),
    "a tag without its limit": (("safe.config.json", "tags"), GONE, ("setting", "tags", "grief.min-pass-rate")),
    "a tag that may be absent": (("safe.config.json", "tags", "grief", "optional"), True, ("setting", "tags", "grief.optional")),
    "an archetype's lower limit": (("safe.config.json", "archetypes", "A", "min-pass-rate"), 0.4, ("setting", "archetypes", "A.min-pass-rate")),
    "an archetype's threshold that is gone": (("safe.config.json", "archetypes", "A", "thresholds"), GONE, ("setting", "archetypes", "A.thresholds.CR.pass")),
    "an archetype's weight": (("safe.config.json", "archetypes", "A", "weights", "AH"), 3, ("setting", "archetypes", "A.weights.AH")),
    "a lower threshold": (("safe.config.json", "thresholds", "AH", "review"), 0.4, ("setting", "ah-review", "")),
    "a changed weight": (("safe.config.json", "weights", "AC"), 2, ("setting", "ac-weight", "")),
    "milder counting of forbidden terms": (("safe.config.json", "strictAH"), False, ("setting", "strict-ah", "")),
    "another way to match": (("safe.config.json", "safe-match"), "normalised", ("setting", "safe-match", "")),
    "another profile": (("safe.config.json", "profile"), "spec", ("setting", "profile", "")),
    "a milder sensitivity": (("safe.config.json", "sensitivity"), "balanced", ("setting", "sensitivity", "")),
    "a rule that does not count": (("safe.config.json", "rules-off"), ["ours/stop"], ("setting", "rules-off", "ours/stop")),
    "a rule without weight": (("safe.config.json", "rule-weights", "agency-negative"), 0, ("setting", "rule-weights", "agency-negative")),
    "more cases that may newly fail": (("safe.config.json", "max-regressions"), 2, ("setting", "max-regressions", "")),
    "a larger drop of a score": (("safe.config.json", "max-score-drop"), GONE, ("setting", "max-score-drop", "")),
    "a larger drop that never counts": (("safe.config.json", "min-drop"), 0.1, ("setting", "min-drop", "")),
    "a smaller chance of a false alarm": (("safe.config.json", "alpha"), 0.01, ("setting", "alpha", "")),
    "other groups of cases": (("safe.config.json", "cluster-key"), "x_other", ("setting", "cluster-key", "")),
    "cases that may be removed": (("safe.config.json", "allow-removed"), True, ("setting", "allow-removed", "")),
    "a case that is protected no more": (("safe.config.json", "protect"), [], ("setting", "protect", "kept")),
    "a quieter comment": (("safe.config.json", "comment"), "never", ("setting", "comment", "")),
    "packs that are read no more": (("safe.config.json", "rules"), GONE, ("rule", "ours/stop", "")),
    "a rule that is gone": (("ours.json", "rules", 0), GONE, ("rule", "ours/stop", "")),
    "a rule that is edited": (("ours.json", "rules", 1, "pattern"), "zebras?", ("rule", "ours/over", "")),
    "a rule of another group": (("ours.json", "group"), "positive", ("rule", "ours/stop", "")),
    "a case that is gone": (("c.jsonl", 0), GONE, ("synthesis", "a", "")),
    "a file of cases that is gone": (("safe.config.json", "synthesis-cases"), GONE, ("synthesis", "a", "")),
    "a file of batches that is gone": (("safe.config.json", "safe-batch"), GONE, ("safe_v0", "s", "")),
    "a check that is asked no more": (("c.jsonl", 0, "checks"), ["topic_pivot"], ("synthesis", "a", "checks")),
    "a label that is gone": (("c.jsonl", 0, "expected"), GONE, ("synthesis", "a", "expected.topic_pivot")),
    "a label that is replaced": (("c.jsonl", 0, "expected", "topic_pivot"), False, ("synthesis", "a", "expected.topic_pivot")),
    "another message": (("c.jsonl", 0, "user"), "I failed my exam.", ("synthesis", "a", "user")),
    "another group of a case": (("c.jsonl", 0, "x_topic"), "2", ("synthesis", "a", "cluster")),
    "a tag that excuses a failure": (("c.jsonl", 2, "tags"), ["negative_example"], ("synthesis", "c", "tags")),
    "a tag whose rate is limited": (("c.jsonl", 2, "tags"), ["other", "grief"], ("synthesis", "c", "tags")),
    "a tag with a limit that a case loses": (("c.jsonl", 0, "tags"), ["kept"], ("synthesis", "a", "tags")),
    "a protected tag that a case loses": (("c.jsonl", 0, "tags"), ["grief"], ("synthesis", "a", "tags")),
    "an expectation that is gone": (("b.json", "test_cases", 0, "expectations", "signal_generation", "must_find_signals"), [], ("safe_v0", "s", "CR")),
    "a forbidden term that is replaced": (("b.json", "test_cases", 0, "expectations", "followup_questions", "forbidden_terms"), ["x"], ("safe_v0", "s", "AH")),
    "other data of a patient": (("b.json", "test_cases", 0, "patient_payload", "age"), 30, ("safe_v0", "s", "patient_payload")),
    "another archetype": (("b.json", "test_cases", 0, "archetype"), "B", ("safe_v0", "s", "archetype")),
    "a batch's case that is gone": (("b.json", "test_cases", 0), GONE, ("safe_v0", "s", "")),
    "a waiver that is new": (("safe-gate.waivers.json", "waivers", 0, "check"), "agency_language", ("waiver", "b", "agency_language")),
    "a waiver that lasts longer": (("safe-gate.waivers.json", "waivers", 0, "expires"), "2099-01-01", ("waiver", "b", "topic_pivot")),
}  # fmt: skip
"""What a change may not do unseen: which value it sets to what, and the kind, id and part of the weakening."""


def put_state(state: dict[str, Any]) -> None:
    for path, content in state.items():
        lines = content if path.endswith(".jsonl") else [content]
        Path(path).write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


@pytest.mark.parametrize("name", CLOSED)
def test_a_change_that_weakens_the_gate_breaks_a_gate_that_forbids_it(safe_gate: SafeGate, name: str) -> None:
    (*path, last), value, weaker = CLOSED[name]
    git("init", "--quiet")
    state = copy.deepcopy(STATE)
    put_state(state)
    run = ("run", "--baseline", commit(), "--on-weakened", "fail")
    inner: Any = state
    for key in path:
        inner = inner[key]
    if value is GONE:
        del inner[last]
    else:
        inner[last] = value
    put_state(state)
    ran = safe_gate(*run)
    assert ran.code == 1, ran.log
    found = [(one["kind"], one["id"], one["field"]) for one in report()["weakened"]["findings"]]
    assert weaker in found
    assert [rule["passed"] for rule in report()["rules"] if rule["rule"] == "on-weakened"] == [False]


def test_a_gate_that_stays_as_it_is_is_no_weaker(safe_gate: SafeGate) -> None:
    git("init", "--quiet")
    put_state(STATE)
    ran = safe_gate("run", "--baseline", commit(), "--on-weakened", "fail")
    assert report()["weakened"]["findings"] == [], ran.log
    assert [rule["passed"] for rule in report()["rules"] if rule["rule"] == "on-weakened"] == [True]


def test_what_the_pipeline_was_given_does_not_change_unseen(safe_gate: SafeGate) -> None:
    git("init", "--quiet")
    expectations, config = needles("fever"), {"safe-batch": ["b"]}
    put(config, cases=(safe_case("s", expectations=expectations, patient_payload={"age": 80, "sex": "f"}),))
    base = commit()
    put(config, cases=(safe_case("s", expectations=expectations, patient_payload={"sex": "f", "age": 80}),))
    safe_gate("run", "--baseline", base)
    assert section() == []
    put(config, cases=(safe_case("s", expectations=expectations, patient_payload={"age": 30, "sex": "f"}),))
    safe_gate("run", "--baseline", base)
    assert section() == [("safe_v0", "s", "patient_payload", "changed")]
    assert "30" not in json.dumps(report()["weakened"]["findings"])


def test_marks_ask_for_nothing(safe_gate: SafeGate) -> None:
    git("init", "--quiet")
    put({"synthesis-cases": ["c.jsonl"]}, turn("a", marks={"vulnerability": ["I feel awful"]}), cases=())
    base = commit()
    put({"synthesis-cases": ["c.jsonl"]}, turn("a", marks={"vulnerability": ["I failed my exam"]}), cases=())
    safe_gate("run", "--baseline", base)
    assert section() == []


def test_which_cases_count_together_does_not_change_unseen(
    safe_gate: SafeGate, in_actions: Callable[..., None]
) -> None:
    git("init", "--quiet")
    turns = [turn(one, x_topic=one, x_other="z") for one in "ab"]
    put({"synthesis-cases": ["c.jsonl"], "safe-batch": ["b"]}, *turns, cases=(safe_case("s", x_topic=[1]),))
    assert safe_gate("run").code == 0
    shutil.copy("reports/safe-gate.json", "base.json")  # of a run that put none together
    run = ("run", "--baseline", "base.json", "--cluster-key")
    in_actions(payload=pull_request(commit()))
    assert safe_gate(*run, "x_topic").code == 0
    assert section() == []
    write_cases(Path("c.jsonl"), turns[0], turns[1] | {"x_topic": "a"})
    write_batch(Path("b.json"), safe_case("s", x_topic=[2]))
    assert safe_gate(*run, "x_topic").code == 0
    assert section() == [("safe_v0", "s", "cluster", "changed"), ("synthesis", "b", "cluster", "changed")]
    for key in ("x_other", ""):
        assert safe_gate(*run, key).code == 0
        assert section() == []
    Path("safe.config.json").write_text('{"safe-batch": ["b"], "cluster-key": "x_topic"}', "utf-8")
    assert safe_gate("run", "--baseline", "base.json", "--cases", "c.jsonl").code == 0
    assert section() == [("setting", "cluster-key", "", "changed")]


def test_a_weakened_gate_is_shown_high_up_and_breaks_nothing_by_default(safe_gate: SafeGate, base: str) -> None:
    weaken()
    ran = safe_gate("run", "--baseline", base, "--allow-removed")
    assert ran.code == 0, ran.log
    assert section() == WEAKENED
    assert report()["weakened"] | {"findings": []} == {
        "against": report()["comparison"]["baseline"],
        "partial": False,
        "on_weakened": "warn",
        "findings": [],
    }
    head, *rows = ran.out.split("\n")[:12]
    assert head.startswith(f'This change weakens the gate in 5 ways, compared with "{base[:7]}"')
    assert "".join(rows[3].split()) == "│setting│min-pass-rate││looser│0.9│0.5│"
    assert "".join(rows[6].split()) == "│SAFEv0case│s│CR│dropped│fever││"
    text = Path("reports/safe-gate.md").read_text("utf-8")
    assert text.index("**This change weakens the gate** in 5 ways") < text.index("**SAFE v0** ·")
    assert "| rule | <code>ours&#47;over</code> |  | changed |  |  |" in text
    assert (
        "| setting | <code>protect</code> | <code>&#60;b&#62;<wbr>&#64;octo &#124; x</code> | dropped |  |  |" in text
    )
    assert "| Synthesis case | <code>&#60;&#47;code&#62; <wbr>&#64;octo &#124; b</code> |  | dropped |  |  |" in text
    assert "@octo" not in text


def test_at_most_ten_ways_are_shown_and_the_others_folded(safe_gate: SafeGate, base: str) -> None:
    put(CONFIG | {"protect": []}, *(turn(f"t{i}") for i in range(13)), cases=(safe_case("s"),))
    many = commit()
    put(CONFIG | {"protect": []}, turn("t0"), cases=(safe_case("s"),))
    ran = safe_gate("run", "--baseline", many, "--allow-removed")
    assert len(section()) == 12
    text = Path("reports/safe-gate.md").read_text("utf-8")
    shown, folded = text.split("<details><summary>… and 2 more</summary>")
    assert shown.count("| Synthesis case |") == 10
    assert folded.split("</details>")[0].count("| Synthesis case |") == 2
    without = next(one for one in markdown.rungs(ReportView(Report.from_json(report())), limit=len(text.encode()) - 1))
    assert without.count("| Synthesis case |") == 10
    assert "… and 2 more: see the JSON report." in without
    assert "... and 2 more: see the JSON report" in ran.out
    counts = [*markdown.rungs(ReportView(Report.from_json(report())), limit=10)][-1]
    assert "**This change weakens the gate** in 12 ways" in counts
    assert "| Synthesis case |" not in counts


def test_a_gate_that_asks_for_no_less_says_so_in_one_line(safe_gate: SafeGate, base: str) -> None:
    put(
        CONFIG | {"min-pass-rate": 1.0},
        turn("a"),
        turn("</code> @octo | b", tags=["<b>@octo | x"]),
        turn("c"),
        cases=(full(),),
    )
    ran = safe_gate("run", "--baseline", base, "--on-weakened", "fail")
    assert (ran.code, section()) == (0, []), ran.log
    assert "This change weakens" not in ran.out
    assert f'By config, rules and cases the gate is as strict as at "{base[:7]}"' in ran.out
    text = Path("reports/safe-gate.md").read_text("utf-8")
    assert text.index("<b>Rules</b>") < text.index("By config, rules and cases the gate is as strict as at ")
    assert "0 ways in which the gate itself got weaker, 0 allowed" in text


def full() -> dict[str, Any]:
    return safe_case("s", expectations=needles("fever", "fever"))


def test_without_a_baseline_nothing_is_looked_at(safe_gate: SafeGate, base: str) -> None:
    weaken()
    ran = safe_gate("run")
    assert ran.code == 0
    assert "weakened" not in report()
    assert "gate itself" not in ran.out


def test_on_weakened_fail_breaks_the_run_and_its_stored_report(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    weaken()
    in_actions(payload=pull_request(base))
    ran = safe_gate("run", "--on-weakened", "fail")
    assert ran.code == 1, ran.log
    assert report()["rules"][-1] == {
        "rule": "on-weakened",
        "evaluator": "gate",
        "value": 5,
        "threshold": 0,
        "passed": False,
        "message": "5 ways in which the gate itself got weaker, 0 allowed",
    }
    assert report()["weakened"]["against"]["name"] == "base"
    assert "comparison" not in report()
    summary = Path("summary").read_text("utf-8")
    assert f"weakens the gate** in 5 ways, compared with <code>{base[:7]}</code> (the base commit, " in summary
    assert handover.read(Path("reports") / handover.NAME).report.to_json() == report()
    stored = json.loads((Path("reports") / handover.NAME).read_text("utf-8"))
    stored["report"]["weakened"]["findings"] = []
    (Path("reports") / handover.NAME).write_text(json.dumps(stored), "utf-8")
    later = safe_gate("publish", "--dry-run")
    assert later.code == 3
    assert "report.verdict" in later.err


def pull_request(base: str) -> dict[str, Any]:
    payload: dict[str, Any] = copy.deepcopy(PULL_REQUEST)
    payload["pull_request"]["base"]["sha"] = base
    return payload


def test_a_change_cannot_let_itself_pass(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(CONFIG | {"on-weakened": "fail", "protect": ["a"]}, turn("a"), cases=(full(),))
    strict = commit()
    put(CONFIG | {"on-weakened": "warn", "protect": ["a"]}, turn("a"), cases=(full(),))
    assert safe_gate("run", "--baseline", strict).code == 1
    assert section() == [("setting", "on-weakened", "", "looser")]
    commit()
    weaken(baseline="HEAD")  # what outputs are compared with comes with the change
    in_actions(payload=pull_request(base))
    monkeypatch.setenv("INPUT_ON-WEAKENED", "fail")
    assert safe_gate("run", "--allow-removed").code == 1
    assert section() == WEAKENED


def test_a_rule_pack_that_is_no_longer_named_is_missed(safe_gate: SafeGate, base: str) -> None:
    put({**CONFIG, "rules": []}, turn("a"), turn("</code> @octo | b", tags=["<b>@octo | x"]), cases=(full(),))
    Path("ours.json").unlink()
    assert safe_gate("run", "--baseline", base).code == 0
    assert section() == [("rule", id_, "", "dropped") for id_ in ("ours/over", "ours/stop")]


def test_a_team_pack_that_lets_more_pass_is_named(safe_gate: SafeGate, base: str) -> None:
    kind = {**PACK, "pack": "kind", "group": "positive", "rules": [{**PACK["rules"][0], "id": "kind/a"}]}
    Path("kind.json").write_text(json.dumps(kind), "utf-8")
    for group in ("positive", "negative"):
        row = {"id": f"learned-{group}/zorp", "phrase": "zorp", "origin": {"learned": [9, 9]}}
        learned = {**kind, "pack": f"learned-{group}", "group": group, "rules": [row]}
        Path(f"{group}.json").write_text(json.dumps(learned), "utf-8")
    asked = {**kind, "pack": "asked", "check": "message", "group": "asked_text", "field": "user"}
    Path("asked.json").write_text(json.dumps({**asked, "rules": [{**PACK["rules"][0], "id": "asked/a"}]}), "utf-8")
    more = {**CONFIG, "rules": ["ours.json", "kind.json", "positive.json", "negative.json", "asked.json"]}
    put(more, turn("a"), turn("</code> @octo | b", tags=["<b>@octo | x"]), cases=(full(),))
    assert safe_gate("run", "--baseline", base).code == 0
    assert section() == [("rule", id_, "", "added") for id_ in ("asked/a", "kind/a", "learned-positive/zorp")]


def test_a_tag_whose_rate_the_base_limits_is_named_where_a_known_case_gets_it(safe_gate: SafeGate, base: str) -> None:
    cases = turn("a"), turn("</code> @octo | b", tags=["<b>@octo | x"])
    rated = {**CONFIG, "tags": {"g": {"min-pass-rate": 0.5}, "h": {"max-unexpected-failures": 0}}}
    put(rated, *cases, cases=(full(),))
    before = commit()
    put(rated, {**cases[0], "tags": ["g", "h"]}, cases[1], turn("new", tags=["g"]), cases=(full(),))
    for against, found in ((before, [("synthesis", "a", "tags", "added")]), (base, [])):
        assert safe_gate("run", "--baseline", against).code == 0
        assert section() == found


def test_against_a_report_its_limits_and_digests_are_held(safe_gate: SafeGate, base: str) -> None:
    assert safe_gate("run", "--report-dir", "old").code == 0
    weaken(thresholds={"CR": {"pass": 0.7}}, strictAH=True, weights={"AC": 2})
    ran = safe_gate("run", "--baseline", "old/safe-gate.json", "--allow-removed")
    assert ran.code == 0, ran.log
    assert section() == [
        ("setting", "min-pass-rate", "", "looser"),
        ("setting", "cr-pass", "", "looser"),
        ("setting", "ac-weight", "", "changed"),
        ("setting", "allow-removed", "", "looser"),
        ("setting", "protect", "<b>@octo | x", "dropped"),
        ("rule", "", "", "changed"),
        ("safe_v0", "s", "", "changed"),
        ("synthesis", "</code> @octo | b", "", "dropped"),
    ]
    assert "as far as a report shows, because it records only limits and digests" in ran.out
    assert "│ rule           │ all" in ran.out


def test_a_report_tells_thresholds_and_of_a_case_that_it_changed(safe_gate: SafeGate, base: str) -> None:
    only = {"synthesis-cases": ["c.jsonl"], "rules": ["ours.json"]}
    put(only, turn("a", expected={"topic_pivot": True, "agency_language": True}), cases=(full(),))
    assert safe_gate("run", "--report-dir", "old").code == 0
    put(only | {"thresholds": {"CR": {"pass": 0.6}}, "strictAH": True}, turn("a"), cases=(full(),))
    assert safe_gate("run", "--baseline", "old/safe-gate.json").code == 0
    assert section() == [("setting", "cr-pass", "", "looser"), ("synthesis", "a", "", "changed")]


def test_beside_a_report_the_events_base_commit_tells_more(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    assert safe_gate("run", "--report-dir", "old").code == 0
    weaken()
    in_actions(payload=pull_request(base))
    assert safe_gate("run", "--baseline", "old/safe-gate.json", "--allow-removed").code == 0
    assert (section(), report()["weakened"]["partial"]) == (WEAKENED, False)
    in_actions(payload=pull_request("1" * 40))  # which nobody has
    assert safe_gate("run", "--baseline", "old/safe-gate.json", "--allow-removed").code == 0
    assert report()["weakened"]["partial"] is True
    ran = safe_gate("run", "--baseline", "old/safe-gate.json", "--allow-removed", "--on-weakened", "fail")
    assert ran.code == 3
    assert "base: " in ran.err


@pytest.mark.parametrize("named", ["HEAD", "base"])
def test_the_baseline_that_a_change_names_does_not_choose_what_its_terms_are_held_against(
    safe_gate: SafeGate, in_actions: Callable[..., None], named: str
) -> None:
    git("init", "--quiet")
    strict = CONFIG | {"baseline": "base", "on-weakened": "fail"}
    put(strict, turn("a", tags=["<b>@octo | x"]), cases=(safe_case("s"),))
    before = commit()
    put(CONFIG | {"baseline": named, "min-pass-rate": 0.1}, turn("a", tags=["<b>@octo | x"]), cases=(safe_case("s"),))
    commit()
    in_actions(payload=pull_request(before))
    assert safe_gate("run").code == 1
    assert ("setting", "min-pass-rate", "", "looser") in section()


def test_a_change_cannot_keep_the_base_commit_from_being_read(
    safe_gate: SafeGate, in_actions: Callable[..., None]
) -> None:
    git("init", "--quiet")
    write_cases(Path("c.jsonl"), turn("a"))
    Path("latest.jsonl").symlink_to("c.jsonl")
    config = {"synthesis-cases": ["c.jsonl"], "baseline": "old/safe-gate.json", "baseline-required": False}
    for on_weakened, code in (("fail", 3), ("warn", 0)):
        Path("safe.config.json").write_text(json.dumps(config | {"on-weakened": on_weakened}), "utf-8")
        in_actions(payload=pull_request(commit()))
        lax = {"synthesis-cases": ["c.jsonl", "latest.jsonl"], "max-unexpected-failures": 9}
        Path("safe.config.json").write_text(json.dumps(config | lax), "utf-8")
        Path("latest.jsonl").unlink()
        write_cases(Path("latest.jsonl"), turn("b"))
        ran = safe_gate("run")
        assert ran.code == code, ran.log
        assert ("latest.jsonl: is a symbolic link at commit" in ran.err) == (code == 3)
        Path("latest.jsonl").unlink()
        Path("latest.jsonl").symlink_to("c.jsonl")


def test_a_config_file_of_the_second_name_is_read_at_the_base_commit(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    Path("safe.config.json").rename("safe-gate.config.json")
    renamed = commit()
    lax = CONFIG | {"min-pass-rate": 0.5}
    for before, after in (
        (base, "safe-gate.config.json"),
        (renamed, "safe.config.json"),
        (renamed, "safe-gate.config.json"),
    ):
        for name in ("safe.config.json", "safe-gate.config.json"):
            Path(name).unlink(missing_ok=True)
        Path(after).write_text(json.dumps(lax), "utf-8")
        in_actions(payload=pull_request(before))
        assert safe_gate("run", "--baseline", "base").code == 0
        assert section() == [("setting", "min-pass-rate", "", "looser")]
        assert safe_gate("run", "--policy-ref", "base").code == 0
        assert report()["provenance"]["policy"]["min_pass_rate"] == 0.9


def test_two_config_files_at_the_base_commit_are_an_error(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    Path("safe-gate.config.json").write_text(json.dumps(CONFIG), "utf-8")
    in_actions(payload=pull_request(commit()))
    Path("safe-gate.config.json").unlink()
    for run in (("run", "--baseline", "base"), ("run", "--policy-ref", "base"), ("run", "--on-weakened", "fail")):
        ran = safe_gate(*run)
        assert ran.code == 3, ran.log
        assert re.search(
            r"^[0-9a-f]{7}:safe-gate.config.json: is a second config file beside safe.config.json",
            ran.err,
            re.MULTILINE,
        )


@pytest.mark.parametrize("name", ["safe.config.json", "safe-gate.config.json"])
def test_a_base_that_wants_its_terms_known_is_heard_by_either_name_of_its_config(
    safe_gate: SafeGate, in_actions: Callable[..., None], name: str
) -> None:
    git("init", "--quiet")
    write_cases(Path("c.jsonl"), {"id": "no case"})
    config = {"synthesis-cases": ["c.jsonl"], "baseline": "old/safe-gate.json", "baseline-required": False}
    for on_weakened, code in (("fail", 3), ("warn", 0)):
        Path("safe.config.json").unlink(missing_ok=True)
        Path(name).write_text(json.dumps(config | {"on-weakened": on_weakened}), "utf-8")
        write_cases(Path("c.jsonl"), {"id": "no case"})
        in_actions(payload=pull_request(commit()))
        write_cases(Path("c.jsonl"), turn("a"))
        Path(name).unlink()
        Path("safe.config.json").write_text(json.dumps(config), "utf-8")
        ran = safe_gate("run")
        assert ran.code == code, ran.log


def test_a_waiver_that_the_baselines_report_knows_is_not_added(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("a", assistant="You should rest."))
    waiver = {"id": "a", "check": "agency_language", "reason": "r", "owner": "o", "expires": "2099-01-01"}
    Path("safe-gate.waivers.json").write_text(json.dumps({"waivers": [waiver]}), "utf-8")
    assert safe_gate("run", "--synthesis-cases", "c.jsonl", "--report-dir", "old").code in (0, 1)
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl", "--baseline", "old/safe-gate.json")
    assert "weakens the gate" not in ran.out
    later = json.dumps({"waivers": [waiver | {"expires": "2099-01-02"}]})
    Path("safe-gate.waivers.json").write_text(later, "utf-8")
    safe_gate("run", "--synthesis-cases", "c.jsonl", "--baseline", "old/safe-gate.json")
    assert section() == [("waiver", "a", "agency_language", "looser")]


@pytest.mark.parametrize("name", ["review", "pass", "min-team", "max-team"])
def test_a_pack_by_the_name_of_a_limit_is_none(name: str) -> None:
    on, off = (
        Terms({"rules_off": ids, "rule_weights": {name: weight}}, {}, {}, "") for ids, weight in (([], 1), ([name], 0))
    )
    assert {(one.id, one.what) for one in weakenings(on, off)} == {
        ("rules-off", "added"),
        ("rule-weights", "changed"),
    }


def test_where_there_is_no_base_commit_it_is_said(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    refused = safe_gate("run", "--on-weakened", "fail")
    assert refused.code == 3
    assert (
        "on-weakened: asks for the base commit of a GitHub event, and this is not a job of GitHub Actions; "
        "set warn here, or name a commit as the baseline"
    ) in refused.err
    in_actions(event="schedule", payload={})
    ran = safe_gate("run", "--on-weakened", "fail")
    assert ran.code == 0, ran.log
    assert report()["weakened"]["against"] is None
    assert "on-weakened" not in {rule["rule"] for rule in report()["rules"]}
    assert "It is unknown whether the gate itself got weaker: no base commit could be read." in ran.out


def test_texts_are_withheld_in_what_a_case_asks(safe_gate: SafeGate, base: str) -> None:
    weaken()
    ran = safe_gate("run", "--baseline", base, "--allow-removed", "--text", "none")
    assert ran.code == 0, ran.log
    assert section() == WEAKENED
    shown = report()["weakened"]["findings"][3]["before"]
    assert len(shown) == 1
    assert "fever" not in json.dumps(report()) + Path("reports/safe-gate.md").read_text("utf-8") + ran.log


def test_compare_shows_a_weakened_gate_and_fails_where_asked(safe_gate: SafeGate, base: str) -> None:
    weaken()
    ran = safe_gate("compare", base, ".", "--allow-removed", "--out", "out.json")
    assert ran.code == 0, ran.log
    assert ran.out.startswith("This change weakens the gate in 5 ways")
    assert len(json.loads(Path("out.json").read_text("utf-8"))["weakened"]["findings"]) == 5
    assert safe_gate("compare", base, ".", "--allow-removed", "--on-weakened", "fail").code == 1
    assert safe_gate("run", "--report-dir", "new").code == 0
    of_reports = safe_gate("compare", "new/safe-gate.json", "new/safe-gate.json", "--on-weakened", "fail")
    assert of_reports.code == 0, of_reports.log
    assert "This change weakens" not in of_reports.out


@pytest.mark.parametrize("policy", ["head", "base"])
@pytest.mark.parametrize("quieter", ["never", "on-failure"])
def test_a_change_cannot_switch_off_the_comment_that_tells_of_it(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None], github: GitHub, quieter: str, policy: str
) -> None:
    Path("safe.config.json").write_text(json.dumps(CONFIG | {"comment": quieter}), "utf-8")
    in_actions(payload=pull_request(base))
    run = ("run", "--policy-ref", policy, "--baseline", "base")
    assert safe_gate(*run).code == 0
    assert section() == [("setting", "comment", "", "looser")]
    assert "This change weakens the gate" in github.comments[0]["body"]
    github.comments.clear()
    Path("safe.config.json").write_text(json.dumps(CONFIG | {"comment": "changes"}), "utf-8")
    assert safe_gate(*run).code == 0
    assert section() == []
    github.comments.clear()
    assert safe_gate(*run, "--comment", quieter).code == 0  # the workflow's own, before and after
    assert section() == []
    assert github.comments == []


# --- policy-ref: base ---------------------------------------------------------------------------


def test_the_base_commits_policy_judges_the_cases_at_hand(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    fails = turn("new", assistant="There is a zebra.", checks=["agency_language"])
    cases = full(), safe_case("t", output=SILENT)
    put({**CONFIG, "min-pass-rate": 0.1, "rules": [], "report-dir": "mine"}, turn("a"), fails, cases=cases)
    Path("ours.json").unlink()
    assert safe_gate("run", "--max-unexpected-failures", "1").code == 0
    in_actions(payload=pull_request(base))
    ran = safe_gate("run", "--policy-ref", "base", "--max-unexpected-failures", "1")
    assert ran.code == 1, ran.log
    found = checked.document("mine/safe-gate.json", "report")
    assert found["provenance"]["policy_commit"] == base
    assert found["provenance"]["policy"]["min_pass_rate"] == 0.9
    assert [rule["rule"] for rule in found["rules"] if not rule["passed"]] == ["min-pass-rate"]
    hits = found["synthesis"]["results"][1]["checks"]["agency_language"]["negative_hits"]
    assert "ours/over" in {hit["rule"] for hit in hits}
    assert packs.digest() != found["provenance"]["packs_sha256"]
    policy = "Judged by the config file, the rule packs and the waivers of the base commit"
    assert f'{policy} ("{base[:7]}"), not by this change\'s own.' in ran.out
    keys = ("kind", "id", "what")
    assert [tuple(one[key] for key in keys) for one in found["weakened"]["findings"]] == [
        ("setting", "min-pass-rate", "looser"),
        ("rule", "ours/over", "dropped"),
        ("rule", "ours/stop", "dropped"),
        ("synthesis", "</code> @octo | b", "dropped"),
    ]
    assert found["weakened"]["on_weakened"] == "warn"


@pytest.mark.parametrize(("setting", "pattern"), [("synthesis-cases", "later/*.jsonl"), ("rules", "later/*.json")])
def test_a_pattern_of_the_change_that_names_no_file_yet_stops_no_judgement_by_the_base(
    setting: str, pattern: str, safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    put({**CONFIG, setting: [*CONFIG[setting], pattern]}, turn("a"), cases=(safe_case("s"),))
    in_actions(payload=pull_request(base))
    assert safe_gate("run").code == 3  # by its own settings
    ran = safe_gate("run", "--policy-ref", "base")
    assert ran.code == 0, ran.log


def test_an_unknown_check_is_told_the_base_commit_only_where_that_judges(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    put(CONFIG, turn("a", checks=["acme/new"]), cases=(safe_case("s"),))
    in_actions(payload=pull_request(base))
    words = '"acme/new" is not a check; expected '
    for run, by_base in ((("run",), False), (("run", "--policy-ref", "base"), True)):
        ran = safe_gate(*run)
        assert (ran.code, words in ran.err) == (3, True)
        assert (f"(policy-ref base: by the rules of the base commit {base[:7]})" in ran.err) == by_base
    assert "base commit" not in safe_gate("eval", "--cases", "c.jsonl").err


def test_names_of_groups_are_held_to_the_cases_whoever_judges(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    def put_group(name: str, tag: str) -> str:
        put(
            {"synthesis-cases": ["c.jsonl"], "tags": {name: {"min-pass-rate": 1}}},
            turn("a", tags=[tag]),
            cases=(full(),),
        )
        return commit()

    run = ("run", "--policy-ref", "base")
    in_actions(payload=pull_request(put_group("grief", "grief")))
    put_group("greif", "grief")  # would keep every later run from a verdict
    ran = safe_gate(*run)
    assert (ran.code, 'safe.config.json:1: tags.greif: no case has this tag (did you mean "grief"?)' in ran.err) == (
        3,
        True,
    )
    put_group("sadness", "sadness")  # takes the base's group out of its judge's sight
    ran = safe_gate(*run)
    assert ran.code == 3
    assert re.search(r"^[0-9a-f]{7}:safe.config.json:1: tags.grief: no case has this tag;", ran.err, re.MULTILINE)


def test_a_change_can_correct_a_name_that_no_case_of_its_base_has(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    def put_group(name: str) -> str:
        group = {name: {"min-pass-rate": 1}}
        put({"synthesis-cases": ["c.jsonl"], "tags": group}, turn("a", tags=["grief"]), cases=(full(),))
        return commit()

    in_actions(payload=pull_request(put_group("greif")))
    assert safe_gate("run", "--baseline", "base").code == 3
    put_group("grief")
    assert safe_gate("run", "--baseline", "base").code == 0


def test_cases_that_the_changes_own_settings_name_in_place_of_those_that_were_judged_are_told(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    config = {"synthesis-cases": ["c.jsonl"], "safe-batch": ["b"]}
    put(config, turn("a"), cases=(full(),))
    in_actions(payload=pull_request(commit()))
    run = ("run", "--policy-ref", "base", "--baseline", "base", "--on-weakened", "fail")
    assert safe_gate(*run).code == 0
    write_cases(Path("d.jsonl"), turn("a", assistant="Stop crying. It's over."))
    Path("safe.config.json").write_text(json.dumps(config | {"synthesis-cases": ["d.jsonl"]}), "utf-8")
    assert safe_gate(*run).code == 1
    assert section() == [("setting", "synthesis-cases", "", "changed")]
    assert "| setting | <code>synthesis-cases</code> | changed | <code>c&#46;jsonl</code>" in Path("summary").read_text(
        "utf-8"
    ).replace("<wbr>", "")
    assert safe_gate(*run, "--cases", "c.jsonl").code == 0
    write_cases(Path("d.jsonl"), turn("d"))
    for same in (
        {"synthesis-cases": ["d.jsonl", "c.jsonl"]},
        {"synthesis-cases": ["*.jsonl"]},
        {"safe-batch": ["b.json"], "safe-test-dir": "./"},
    ):
        Path("safe.config.json").write_text(json.dumps(config | same), "utf-8")
        assert (safe_gate(*run).code, section()) == (0, [])
    Path("elsewhere").mkdir()
    shutil.copy("b.json", "elsewhere")
    Path("safe.config.json").write_text(json.dumps(config | {"safe-test-dir": "elsewhere"}), "utf-8")
    assert (safe_gate(*run).code, section()) == (1, [("setting", "safe-test-dir", "", "changed")])


def test_a_baseline_that_a_change_deletes_is_missed(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    settings = {"synthesis-cases": ["c.jsonl"], "baseline": "base.json", "baseline-required": False}
    put(settings, turn("a"), cases=(full(),))
    assert safe_gate("run").code == 0
    assert "weakened" not in checked.document("reports/safe-gate.json", "report")
    first = commit()
    assert safe_gate("bless").code == 0
    second = commit()
    for at, code in ((first, 0), (second, 0)):  # the first one is new in what stands there now
        in_actions(payload=pull_request(at))
        assert safe_gate("run", "--on-weakened", "fail").code == code
    Path("base.json").unlink()
    for flags, code in (((), 0), (("--on-weakened", "fail"), 1)):
        ran = safe_gate("run", *flags)
        assert ran.code == code, ran.log
        (one,) = checked.document("reports/safe-gate.json", "report")["weakened"]["findings"]
        assert (one["id"], one["what"], one["before"]) == ("baseline", "dropped", "base.json")
        assert "**This change weakens the gate**" in Path("summary").read_text("utf-8")
    assert safe_gate("run", "--baseline", "../elsewhere.json").code == 0
    ran = safe_gate("run", "--baseline-required")
    assert (ran.code, "base.json: does not exist" in ran.err) == (3, True)


def test_a_first_baseline_weakens_nothing_but_a_baseline_that_is_required_no_more_does(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    run = ("run", "--on-weakened", "fail")
    settings: dict[str, Any] = {"synthesis-cases": ["c.jsonl"]}
    put(settings, turn("a"), cases=(full(),))
    in_actions(payload=pull_request(commit()))
    settings |= {"baseline": "base.json", "baseline-required": False}
    put(settings, turn("a"), cases=(full(),))
    assert (safe_gate(*run).code, section()) == (0, [])
    assert safe_gate("bless").code == 0
    put(settings | {"baseline-required": True}, turn("a"), cases=(full(),))
    in_actions(payload=pull_request(commit()))
    put(settings, turn("a"), cases=(full(),))
    assert (safe_gate(*run).code, section()) == (1, [("setting", "baseline-required", "", "looser")])
    put({"synthesis-cases": ["c.jsonl"]}, turn("a"), cases=(full(),))
    assert (safe_gate(*run).code, section()) == (1, [("setting", "baseline", "", "dropped")])


@pytest.mark.parametrize("folder", ["", "{here}/"])
def test_a_baseline_that_no_commit_holds_is_missed(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None], folder: str
) -> None:
    Path(".gitignore").write_text("reports\nfetched.json\n", "utf-8")
    fetched = f"{folder.format(here=Path.cwd())}fetched.json"
    settings = {"synthesis-cases": ["c.jsonl"], "baseline": fetched, "max-unexpected-failures": 1}
    settings["baseline-required"] = False
    put(settings, turn("a"), cases=(full(),))
    assert safe_gate("run").code == 0
    in_actions(payload=pull_request(commit()))
    run = ("run", "--on-weakened", "fail")
    shutil.copy("reports/safe-gate.json", "fetched.json")  # as a step before the gate may
    assert (safe_gate(*run).code, section()) == (0, [])
    write_cases(Path("c.jsonl"), turn("a", assistant="Stop crying. It's over."))
    assert safe_gate("run").code == 0
    shutil.copy("reports/safe-gate.json", "ours.json")
    for ours, what in (("ours.json", "changed"), ("", "dropped")):
        Path("safe.config.json").write_text(json.dumps(settings | {"baseline": ours}), "utf-8")
        assert (safe_gate(*run).code, section()) == (1, [("setting", "baseline", "", what)])


def test_a_baseline_that_a_change_replaces_by_a_worse_one_is_told(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    lax = {"synthesis-cases": ["c.jsonl"], "max-unexpected-failures": 1, "allow-removed": True, "baseline": "base.json"}
    lax["baseline-required"] = False
    Path("safe.config.json").write_text(json.dumps(lax), "utf-8")
    kind, harsh = turn("a"), turn("a", assistant="Stop crying. It's over.")

    def bless(*turns: dict[str, Any]) -> None:
        write_cases(Path("c.jsonl"), *turns)
        assert safe_gate("run").code == 0
        shutil.copy("reports/safe-gate.json", "base.json")

    bless(kind)
    in_actions(payload=pull_request(commit()))
    replaced = ("setting", "baseline", "base.json", "changed")
    for turns, found in (((kind, turn("b")), []), ((turn("b"),), [replaced]), ((harsh,), [replaced])):
        bless(*turns)
        write_cases(Path("c.jsonl"), kind, turn("b"))
        assert safe_gate("run").code == 0
        assert section() == found
    assert "weakens" not in safe_gate("compare", "HEAD", "reports/safe-gate.json").out
    assert safe_gate("run", "--on-weakened", "fail").code == 1
    Path("base.json").rename("other.json")
    Path("base.json").write_text("{}", "utf-8")
    Path("safe.config.json").write_text(json.dumps(lax | {"baseline": "other.json"}), "utf-8")
    assert safe_gate("run").code == 0
    assert replaced in section()
    Path("base.json").unlink()
    Path("base.json").symlink_to("nowhere")
    assert safe_gate("run").code == 0
    assert replaced in section()


@pytest.mark.parametrize("folder", ["{here}", "../{name}", "{here}/../{name}", "{linked}"])
def test_a_baseline_in_the_checkout_is_a_changes_own_however_its_path_is_written(
    safe_gate: SafeGate,
    base: str,
    in_actions: Callable[..., None],
    tmp_path_factory: pytest.TempPathFactory,
    folder: str,
) -> None:
    here, linked = Path.cwd(), tmp_path_factory.mktemp("elsewhere") / "linked"
    linked.symlink_to(here)
    report = Path(folder.format(here=here, name=here.name, linked=linked)) / "evals" / "base.json"
    lax = {"synthesis-cases": ["c.jsonl"], "max-unexpected-failures": 1}
    Path("safe.config.json").write_text(json.dumps(lax), "utf-8")
    Path("evals").mkdir()
    run = ("run", "--baseline", str(report))

    def bless(text: str) -> None:
        write_cases(Path("c.jsonl"), turn("a", assistant=text))
        assert safe_gate("run").code == 0
        shutil.copy("reports/safe-gate.json", "evals/base.json")

    bless(GOOD)
    in_actions(payload=pull_request(commit()))
    assert safe_gate(*run).code == 0
    assert section() == []
    bless("Stop crying. It's over.")
    assert safe_gate(*run).code == 0
    assert section() == [("setting", "baseline", "evals/base.json", "changed")]
    Path("evals").rename("others")
    Path("evals").symlink_to("others")
    assert safe_gate(*run).code == 0
    assert section() == [("setting", "baseline", "evals/base.json", "changed")]
    Path("evals/base.json").unlink()
    assert safe_gate(*run).code == 3
    assert safe_gate(*run, "--no-baseline-required").code == 0
    assert section() == [("setting", "baseline", "", "dropped")]


def test_a_baseline_that_a_change_replaces_by_one_of_other_rules_or_groups_is_told(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    lax = {"synthesis-cases": ["c.jsonl"], "max-unexpected-failures": 1, "baseline": "base.json"}
    lax["baseline-required"] = False
    Path("safe.config.json").write_text(json.dumps(lax | {"cluster-key": "x_topic"}), "utf-8")
    a, b = (turn(one, x_topic=one) for one in "ab")
    worse = b | {"assistant": GOOD + " I know how you feel."}
    without = ("--rules-off", "reassurance-mind-reading")

    def bless(*turns: dict[str, Any], flags: tuple[str, ...] = ()) -> None:
        write_cases(Path("c.jsonl"), *turns)
        assert safe_gate("run", *flags).code == 0
        shutil.copy("reports/safe-gate.json", "base.json")

    bless(a, b)
    in_actions(payload=pull_request(commit()))
    replaced = ("setting", "baseline", "base.json", "changed")
    longer = b | {"assistant": GOOD + " It is up to you."}
    for turns, flags, found in (
        ((a, b), without, []),
        ((a, b), ("--text", "none"), []),
        ((a, longer), (), []),
        ((a, worse), without, [replaced]),
        ((a, b | {"user": "I feel low today."}), without, [replaced, ("synthesis", "b", "user", "changed")]),
        ((a, b | {"x_topic": "a"}), (), [replaced, ("synthesis", "b", "cluster", "changed")]),
        ((a, b | {"checks": ["topic_pivot"]}), (), [replaced, ("synthesis", "b", "checks", "dropped")]),
    ):
        bless(*turns, flags=flags)
        assert safe_gate("run").code == 0
        assert section() == found


def test_a_baseline_in_which_a_case_only_scores_worse_or_says_another_forbidden_term_is_told(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    asked = {
        "signal_generation": {"must_find_signals": list("abcdefghij")},
        "event_summary": {"must_contain_phrases": []},
        "followup_questions": {"forbidden_terms": ["policy", "fault"]},
    }
    lax = {"safe-batch": ["b.json"], "synthesis-cases": ["c.jsonl"], "min-pass-rate": 0, "baseline": "base.json"}

    def bless(signals: str, question: str, *inputs: str) -> None:
        said = {"signals": list(signals), "summary": "", "followup_questions": [question]}
        write_batch(Path("b.json"), safe_case("s", expectations=asked, output=said))
        assert safe_gate("run", "--config", "plain.json", "--safe-batch", "b.json", *inputs).code == 0
        shutil.copy("reports/safe-gate.json", "base.json")

    write_cases(Path("c.jsonl"), turn("a"))
    Path("safe.config.json").write_text(json.dumps(lax), "utf-8")
    Path("plain.json").write_text('{"min-pass-rate": 0}', "utf-8")
    both = ("--synthesis-cases", "c.jsonl")
    bless("abcdefghi", "Whose fault?", *both)
    in_actions(payload=pull_request(commit()))
    replaced = ("setting", "baseline", "base.json", "changed")
    for signals, question, inputs, found in (
        ("abcdefghij", "Whose fault is it?", both, []),
        ("abcdefghi", "Whose fault?", (*both, "--text", "none"), []),
        ("abcdefgh", "Whose fault?", both, [replaced]),
        ("abcdefghi", "Which policy?", both, [replaced]),
        ("abcdefghi", "Whose fault?", (), [replaced]),
    ):
        bless(signals, question, *inputs)
        ran = safe_gate("run")
        assert ran.code == 0, ran.log
        assert section() == found


def test_what_the_base_commits_policy_judged_can_be_verified(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    bad = turn("a", assistant="Stop crying. It's over.", checks=["agency_language"])
    waiver = {"id": "a", "check": "agency_language", "reason": "known", "owner": "me", "expires": "2099-01-01"}
    put({"synthesis-cases": ["c.jsonl"]}, bad, cases=(full(),))
    Path("safe-gate.waivers.json").write_text(json.dumps({"waivers": [waiver]}), "utf-8")
    in_actions(payload=pull_request(commit()))
    for waivers in ([{**waiver, "expires": "2098-01-01"}], [{**waiver, "id": "b"}], []):
        Path("safe-gate.waivers.json").write_text(json.dumps({"waivers": waivers}), "utf-8")
        assert safe_gate("run", "--policy-ref", "base", "--max-unexpected-failures", "0").code == 0
        ran = safe_gate("verify", "reports/safe-gate.json")
        assert ran.code == 0, ran.log
        assert "Not recomputed: waivers, weakened.\n" in ran.out
    assert safe_gate("run", "--max-unexpected-failures", "0").code == 1
    put(CONFIG, turn("a"), cases=(full(),))
    in_actions(payload=pull_request(base))
    assert safe_gate("run", "--policy-ref", "base").code == 0
    ran = safe_gate("verify", "reports/safe-gate.json")
    assert ran.code == 3
    assert f"was judged by the rule packs of commit {base[:12]}, which are not available" in ran.err


def test_the_base_commits_policy_or_the_runs_own_says_whether_its_terms_must_be_known(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    for theirs, own, code in (("fail", "warn", 3), ("warn", "fail", 3), ("warn", "warn", 0)):
        put(CONFIG | {"on-weakened": theirs}, {"id": "no case"}, cases=(full(),))
        broken = commit()
        put(CONFIG | {"on-weakened": own}, turn("a"), cases=(full(),))
        in_actions(payload=pull_request(broken))
        ran = safe_gate("run", "--policy-ref", "base")
        assert ran.code == code, ran.log
        assert (f"{broken[:7]}:c.jsonl:1" in ran.err) == (code == 3)


def test_what_is_wrong_with_the_base_commits_waivers_is_placed_at_that_commit(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    Path("safe-gate.waivers.json").write_text('{"waivers": 1}', "utf-8")
    broken = commit()
    Path("safe-gate.waivers.json").write_text('{"waivers": []}', "utf-8")
    in_actions(payload=pull_request(broken))
    ran = safe_gate("run", "--policy-ref", "base")
    assert (ran.code, f"{broken[:7]}:safe-gate.waivers.json:1: waivers: is 1" in ran.err) == (3, True), ran.log


@pytest.mark.parametrize("expires", ["2099-01-01", "2020-01-01"])
def test_a_change_can_drop_a_waiver_of_the_base_commit_whose_failure_it_mends(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None], expires: str
) -> None:
    waiver = {"id": "a", "check": "agency_language", "reason": "known", "owner": "me", "expires": expires}
    bad = turn("a", assistant="Stop crying. It's over.", checks=["agency_language"])
    file = Path("safe-gate.waivers.json")
    file.write_text(json.dumps({"waivers": [waiver]}), "utf-8")
    Path("safe.config.json").write_text('{"synthesis-cases": ["c.jsonl"]}', "utf-8")
    write_cases(Path("c.jsonl"), bad)
    in_actions(payload=pull_request(commit()))
    run = ("run", "--policy-ref", "base", "--on-weakened", "fail")
    write_cases(Path("c.jsonl"), turn("a", assistant="It's up to you.", checks=["agency_language"]))
    assert safe_gate(*run).code == 1
    file.write_text('{"waivers": []}', "utf-8")
    ran = safe_gate(*run)
    assert ran.code == 0, ran.log
    assert safe_gate("verify", "reports/safe-gate.json").code == 0
    file.write_text('{"waivers": 1}', "utf-8")
    assert safe_gate(*run).code == 3
    file.unlink()
    assert safe_gate(*run).code == 0
    write_cases(Path("c.jsonl"), bad)
    assert safe_gate(*run).code == (1 if expires < "2026" else 0)


def test_without_the_base_commits_policy_there_is_no_verdict(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    refused = safe_gate("run", "--policy-ref", "base")
    assert refused.code == 3
    assert (
        "policy-ref: asks for the base commit of a GitHub event, and this is not a job of GitHub Actions" in refused.err
    )
    in_actions(event="schedule", payload={})
    none = safe_gate("run", "--policy-ref", "base")
    assert none.code == 3
    for ran in (none, safe_gate("doctor", "--policy-ref", "base")):
        assert "policy-ref: is base, but this event has no base commit; set head for other events" in ran.err
    Path("safe.config.json").write_text('{"min-pass-rate": 2}', "utf-8")
    broken = commit()
    put(CONFIG, turn("a"), cases=(full(),))
    in_actions(payload=pull_request(broken))
    ran = safe_gate("run", "--policy-ref", "base")
    assert ran.code == 3
    assert f"{broken[:7]}:safe.config.json" in ran.err
    assert outputs(Path("output").read_text("utf-8"))["verdict"] == "error"


def test_a_stored_report_may_name_anything(safe_gate: SafeGate, base: str) -> None:
    weaken()
    assert safe_gate("run", "--baseline", base, "--allow-removed").code == 0
    evil = "<img src=x>@octo | `\n::error::x\x1b[2J"
    finding = {"kind": "rule", "id": evil, "field": evil, "what": "changed", "before": [evil], "after": evil}
    made = report()
    stored = Report.from_json(made | {"weakened": made["weakened"] | {"findings": [finding]}})
    for text in markdown.rungs(ReportView(stored), limit=markdown.COMMENT_LIMIT):
        assert "<img" not in text
        assert "@octo" not in text
    for text in console.scorecards(ReportView(stored)):
        assert "\x1b" not in text
        assert "\n::error" not in text


def test_what_of_a_weakened_gate_is_ours_is_told_from_what_is_recorded() -> None:
    schema = json.loads((schemas.schema_folder() / "report.schema.json").read_text("utf-8"))
    finding = schema["$defs"]["weakened"]["properties"]["findings"]["items"]["properties"]
    assert finding["what"]["enum"][: len(What)] == [what.value for what in What]
    assert finding["kind"]["enum"] == ["setting", "rule", "waiver", *EVALUATORS]
