"""Every weakening that is closed, from the command line: a gate that forbids it fails."""

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import BAD, SafeGate, report, safe_case, turn
from tests.support.git import commit, git
from tests.support.weakening import PACK, section

GONE = object()
CONFIG = "safe.config.json"
WAIVER = {"id": "b", "check": "topic_pivot", "reason": "r", "owner": "o", "expires": "2098-01-01"}
STATE: dict[str, Any] = {
    CONFIG: {
        "safe-batch": ["b"], "synthesis-cases": ["c.jsonl"], "rules": ["ours.json"], "profile": "standard", "safe-match": "literal",
        "min-pass-rate": 0.5, "max-fail-labels": 1, "min-synthesis-pass-rate": 0.5, "max-unexpected-failures": 1,
        "max-not-english": 0, "max-vacuous": 0.9, "min-label-accuracy": {"all": 0.1, "topic_pivot": 0.2}, "min-group": 1,
        "tags": {"grief": {"min-pass-rate": 0.5}},
        "archetypes": {"A": {"min-pass-rate": 0.5, "thresholds": {"CR": {"pass": 0.9}}, "weights": {"AH": 2}}},
        "thresholds": {"AH": {"review": 0.5}}, "weights": {"AC": 1}, "strictAH": True,
        "max-regressions": 1, "max-score-drop": 0.5, "significance": {"min-drop": 0.02, "alpha": 0.05},
        "cluster-key": "x_topic", "protect": ["kept"], "comment": "always",
    },
    "c.jsonl": [
        turn("a", tags=["kept", "grief"], expected={"topic_pivot": True}, x_topic="1", x_other="1"),
        turn("b", tags=["negative_example"], assistant=BAD),
        turn("c", tags=["other"]),
        turn("d", tags=["grief", "wording-fail"]),
    ],
    "b.json": {"test_cases": [safe_case("s", archetype="A", patient_payload={"age": 80}, x_topic="1"), safe_case("t", archetype="A")]},
    "ours.json": PACK,
    "safe-gate.waivers.json": {"waivers": [WAIVER]},
}  # fmt: skip
"""The files of a gate that holds, by path."""
ASKED = ("b.json", "test_cases", 0, "expectations")
CLOSED: Mapping[str, tuple[tuple[Any, ...], Any, tuple[str, str, str, str]]] = {
    "a lower limit": ((CONFIG, "min-pass-rate"), 0.4, ("setting", "min-pass-rate", "", "looser")),
    "a limit that is off": ((CONFIG, "max-fail-labels"), GONE, ("setting", "max-fail-labels", "", "looser")),
    "any number of failures": ((CONFIG, "max-unexpected-failures"), "off", ("setting", "max-unexpected-failures", "", "looser")),
    "a rule that is switched off": ((CONFIG, "max-not-english"), "off", ("setting", "max-not-english", "", "looser")),
    "a higher share of empty results": ((CONFIG, "max-vacuous"), 1, ("setting", "max-vacuous", "", "looser")),
    "a lower limit of a check": ((CONFIG, "min-label-accuracy", "topic_pivot"), 0.1, ("setting", "min-label-accuracy", "topic_pivot", "looser")),
    "a limit of a check that is off": ((CONFIG, "min-label-accuracy", "topic_pivot"), GONE, ("setting", "min-label-accuracy", "topic_pivot", "looser")),
    "larger groups alone": ((CONFIG, "min-group"), 5, ("setting", "min-group", "", "looser")),
    "a lower limit of a tag": ((CONFIG, "tags", "grief", "min-pass-rate"), 0.1, ("setting", "tags", "grief.min-pass-rate", "looser")),
    "a tag without its limit": ((CONFIG, "tags"), GONE, ("setting", "tags", "grief.min-pass-rate", "looser")),
    "a tag that may be absent": ((CONFIG, "tags", "grief", "optional"), True, ("setting", "tags", "grief.optional", "added")),
    "an archetype's threshold that is gone": ((CONFIG, "archetypes", "A", "thresholds"), GONE, ("setting", "archetypes", "A.thresholds.CR.pass", "looser")),
    "an archetype's weight": ((CONFIG, "archetypes", "A", "weights", "AH"), 3, ("setting", "archetypes", "A.weights.AH", "changed")),
    "a lower threshold": ((CONFIG, "thresholds", "AH", "review"), 0.4, ("setting", "thresholds", "AH.review", "looser")),
    "a changed weight": ((CONFIG, "weights", "AC"), 2, ("setting", "weights", "AC", "changed")),
    "milder counting of forbidden terms": ((CONFIG, "strictAH"), False, ("setting", "strict-ah", "", "looser")),
    "another way to match": ((CONFIG, "safe-match"), "normalised", ("setting", "safe-match", "", "changed")),
    "another profile": ((CONFIG, "profile"), "spec", ("setting", "profile", "", "changed")),
    "a rule that does not count": ((CONFIG, "rules-off"), ["ours/stop"], ("setting", "rules-off", "ours/stop", "added")),
    "more cases that may newly fail": ((CONFIG, "max-regressions"), 2, ("setting", "max-regressions", "", "looser")),
    "a larger drop of a score": ((CONFIG, "max-score-drop"), GONE, ("setting", "max-score-drop", "", "looser")),
    "a larger drop that never counts": ((CONFIG, "significance", "min-drop"), 0.1, ("setting", "significance", "min-drop", "looser")),
    "a smaller chance of a false alarm": ((CONFIG, "significance", "alpha"), 0.01, ("setting", "significance", "alpha", "looser")),
    "other groups of cases": ((CONFIG, "cluster-key"), "x_other", ("setting", "cluster-key", "", "changed")),
    "cases that may be removed": ((CONFIG, "allow-missing"), ["cases"], ("setting", "allow-missing", "cases", "added")),
    "a case that is protected no more": ((CONFIG, "protect"), [], ("setting", "protect", "kept", "dropped")),
    "a quieter comment": ((CONFIG, "comment"), "never", ("setting", "comment", "", "looser")),
    "a comment without quotations": ((CONFIG, "text"), "none", ("setting", "text", "", "looser")),
    "packs that are read no more": ((CONFIG, "rules"), GONE, ("rule", "ours/stop", "", "dropped")),
    "a rule that is gone": (("ours.json", "rules", 0), GONE, ("rule", "ours/stop", "", "dropped")),
    "a rule that is edited": (("ours.json", "rules", 1, "pattern"), "zebras?", ("rule", "ours/over", "", "changed")),
    "a case that is gone": (("c.jsonl", 0), GONE, ("synthesis", "a", "", "dropped")),
    "a file of cases that is gone": ((CONFIG, "synthesis-cases"), GONE, ("synthesis", "a", "", "dropped")),
    "a file of batches that is gone": ((CONFIG, "safe-batch"), GONE, ("safe_v0", "s", "", "dropped")),
    "a check that is asked no more": (("c.jsonl", 0, "checks"), ["topic_pivot"], ("synthesis", "a", "checks", "dropped")),
    "a label that is gone": (("c.jsonl", 0, "expected"), GONE, ("synthesis", "a", "expected.topic_pivot", "dropped")),
    "a label that is replaced": (("c.jsonl", 0, "expected", "topic_pivot"), False, ("synthesis", "a", "expected.topic_pivot", "changed")),
    "another message": (("c.jsonl", 0, "user"), "I failed my exam.", ("synthesis", "a", "user", "changed")),
    "another group of a case": (("c.jsonl", 0, "x_topic"), "2", ("synthesis", "a", "cluster", "changed")),
    "a tag that excuses a failure": (("c.jsonl", 2, "tags"), ["negative_example"], ("synthesis", "c", "tags", "added")),
    "words that make a tag an excuse": (("c.jsonl", 3, "must_not_contain"), ["zebra"], ("synthesis", "d", "meant to fail", "added")),
    "words of a tag that make another one an excuse": ((CONFIG, "tags", "grief", "must_contain"), ["hard"], ("synthesis", "d", "meant to fail", "added")),
    "a tag whose rate is limited": (("c.jsonl", 2, "tags"), ["other", "grief"], ("synthesis", "c", "tags", "added")),
    "a tag with a limit that a case loses": (("c.jsonl", 0, "tags"), ["kept"], ("synthesis", "a", "tags", "dropped")),
    "a protected tag that a case loses": (("c.jsonl", 0, "tags"), ["grief"], ("synthesis", "a", "tags", "dropped")),
    "an expectation that is gone": ((*ASKED, "signal_generation", "must_find_signals"), [], ("safe_v0", "s", "CR", "dropped")),
    "a forbidden term that is replaced": ((*ASKED, "followup_questions", "forbidden_terms"), ["x"], ("safe_v0", "s", "AH", "changed")),
    "signals that hide a missing one": ((*ASKED, "signal_generation", "must_find_signals"), ["fever", *"abcdefghi"], ("safe_v0", "s", "CR", "added")),
    "other data of a patient": (("b.json", "test_cases", 0, "patient_payload", "age"), 30, ("safe_v0", "s", "patient_payload", "changed")),
    "another archetype": (("b.json", "test_cases", 0, "archetype"), "B", ("safe_v0", "s", "archetype", "changed")),
    "a batch's case that is gone": (("b.json", "test_cases", 0), GONE, ("safe_v0", "s", "", "dropped")),
    "a waiver that is new": (("safe-gate.waivers.json", "waivers", 0, "check"), "agency_language", ("waiver", "b", "agency_language", "added")),
    "a waiver that lasts longer": (("safe-gate.waivers.json", "waivers", 0, "expires"), "2099-01-01", ("waiver", "b", "topic_pivot", "looser")),
}  # fmt: skip
"""What a change may not do unseen: which value it sets to what, and the weakening: kind, id, part and way."""


def put_state(state: dict[str, Any]) -> None:
    for path, content in state.items():
        lines = content if path.endswith(".jsonl") else [content]
        Path(path).write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def together() -> list[list[str]]:
    """Return the names of what a change may not do, those together that one change can do all of."""
    changes: list[dict[tuple[Any, ...], str]] = []
    for name, (path, value, _) in CLOSED.items():
        place = path[: 3 if path[0] == "b.json" else 2]
        if value is GONE and path[-1] in (0, "synthesis-cases", "safe-batch", "rules"):  # takes others with it
            changes.append({(): name})
        elif free := [one for one in changes if not one.keys() & {(), place}]:
            free[0][place] = name
        else:
            changes.append({place: name})
    return [[*one.values()] for one in changes]


@pytest.mark.parametrize("names", together(), ids=lambda names: names[0])
def test_a_change_that_weakens_the_gate_breaks_a_gate_that_forbids_it(safe_gate: SafeGate, names: list[str]) -> None:
    git("init", "--quiet")
    state = copy.deepcopy(STATE)
    put_state(state)
    run = ("run", "--baseline", commit(), "--on-weakened", "fail")
    for name in names:
        (*path, last), value, _ = CLOSED[name]
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
    assert [name for name in names if CLOSED[name][2] not in section()] == []
    assert [rule["passed"] for rule in report()["rules"] if rule["rule"] == "on-weakened"] == [False]


def test_a_gate_that_stays_as_it_is_is_no_weaker(safe_gate: SafeGate) -> None:
    git("init", "--quiet")
    put_state(STATE)
    ran = safe_gate("run", "--baseline", commit(), "--on-weakened", "fail")
    assert section() == [], ran.log
    assert [rule["passed"] for rule in report()["rules"] if rule["rule"] == "on-weakened"] == [True]
