"""Known failures: what a waiver lets pass and until when, and that none outlives what it was for."""

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from safe_gate.gate.stored import read_report
from safe_gate.model.results import Untrusted
from safe_gate.render.markdown import COMMENT_LIMIT, scorecards_by_length
from safe_gate.render.untrusted import markdown
from safe_gate.render.view import ReportView
from tests.support.cases import Patch, Ran, SafeGate, refused, report, safe_case, turn, write_batch, write_cases
from tests.support.weakening import configure

DIRECTS = "You should check the printer."  # fails agency_language and topic_pivot
FILE = "safe-gate.waivers.json"
MARKDOWN = Path("reports/safe-gate.md")
Entry = dict[str, Any]
Run = Callable[..., Ran]


def waiver(id_: str, **fields: Any) -> Entry:
    """Return a waiver of a case's agency language, with fields replaced; one that is None is left out."""
    kind = {} if "metric" in fields else {"check": "agency_language"}
    every = {"id": id_, **kind, "reason": "vendor model", "owner": "pat", "expires": "2026-01-31"} | fields
    return {name: value for name, value in every.items() if value is not None}


def waive(case_id: str, *names: str, **fields: Any) -> list[Entry]:
    return [waiver(case_id, **{"check" if len(name) > 2 else "metric": name, **fields}) for name in names]


def write_waivers(*waivers: Entry, path: str = FILE) -> Path:
    Path(path).write_text(json.dumps({"waivers": waivers}, indent=1), "utf-8")
    return Path(path)


# --- the file -----------------------------------------------------------------------------------


def test_a_file_of_waivers_is_known_by_its_name_or_by_what_it_holds(safe_gate: SafeGate) -> None:
    write_waivers(waiver("a"), waiver("a", metric="CR"), waiver("b", x_ticket=1))
    write_waivers(path="mine.json")
    ran = safe_gate("validate", FILE, "mine.json")
    assert (ran.code, ran.out) == (0, "2 files valid: 2 waivers files\n")
    configure({"waiver": []}, FILE)
    assert f"{FILE}:1: waiver: is not a known field" in safe_gate("validate", FILE).err
    configure({"min-pass-rate": 0.5})
    assert safe_gate("validate", "safe.config.json").code == 0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"reason": " \n"}, 'reason: is " \\n"; expected text of at most 2000 characters'),
        ({"reason": None}, "reason: is missing"),
        ({"owner": ""}, 'owner: is ""; expected text'),
        ({"expires": "2026-02-29"}, 'expires: is "2026-02-29", a day that does not exist; expected the last day it is valid, in UTC, as YYYY-MM-DD'),
        ({"expires": "0000-01-01"}, 'expires: is "0000-01-01"; expected the last day it is valid, in UTC, as YYYY-MM-DD'),
        ({"check": None}, "has none; expected exactly one of check and metric"),
        ({"check": "agency_language", "metric": "CR"}, "has check and metric; expected exactly one of check and metric"),
        ({"check": "agency_langage"}, 'check: "agency_langage" is not allowed (did you mean "agency_language"?)'),
        ({"metric": "cr"}, 'metric: "cr" is not allowed'),
        ({"id": ""}, "id: is"),
        ({"ticket": 1}, "ticket: is not a known field; your own names start with x_"),
    ],
)  # fmt: skip
def test_what_is_no_waiver_is_refused_with_its_place(safe_gate: SafeGate, wrong: Entry, said: str) -> None:
    write_waivers(waiver("a"), waiver("b", **wrong))
    assert re.search(rf"^{FILE}:\d+: waivers\[1\]", refused(safe_gate("validate", FILE), said))


def test_two_waivers_of_one_failure_are_refused(safe_gate: SafeGate) -> None:
    write_waivers(waiver("a"), waiver("b"), waiver("a", owner="someone else"), waiver("a", metric="CR"))
    words = f"{FILE}:17: a: waives the same failure as line 3; keep one\n"
    refused(safe_gate("validate", FILE), words, "could not judge: 1 problem")


# --- what it lets pass --------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _today(monkeypatch: Patch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1768435200")  # 2026-01-15


def found(rule: str, group: str | None = None) -> Entry:
    (outcome,) = (one for one in report()["rules"] if one["rule"] == rule and one.get("group") == group)
    return dict(outcome)


def broken() -> list[str]:
    return [rule["rule"] for rule in report()["rules"] if not rule["passed"]]


@pytest.fixture
def run(safe_gate: SafeGate) -> Run:
    """Run over a case that fails two checks, one that fails them as it should, and two SAFE v0 cases that do not pass."""

    def run(*arguments: str) -> Ran:
        failing = {"assistant": DIRECTS, "checks": ["agency_language", "topic_pivot"], "tags": ["grief"]}
        meant = failing | {"tags": ["negative_example"]}
        write_cases(Path("c.jsonl"), turn("bad", **failing), turn("meant", **meant), turn("good", tags=["grief"]))
        half = {"signals": ["fever"], "summary": "", "followup_questions": ["policy"]}  # AH 0, AC 0
        asked = safe_case("x")["expectations"] | {"followup_questions": {"forbidden_terms": ["policy", "rule"]}}
        review = {"output": safe_case("x")["output"] | {"followup_questions": ["policy"]}, "expectations": asked}
        cases = safe_case("fail", output=half), safe_case("review", **review), safe_case("ok"), safe_case("ok too")
        write_batch(Path("b.json"), *cases)
        inputs = "--safe-batch", "b", "--synthesis-cases", "c.jsonl"
        return safe_gate("run", *inputs, "--max-fail-labels", "0", *arguments)

    return run


BAD, FAIL = waive("bad", "agency_language", "topic_pivot"), waive("fail", "AH", "AC")
REVIEW = waive("review", "AH", expires="2026-01-20")
ALL = (*BAD, *FAIL, *REVIEW)
RATE, LABELS, FAILURES = "min-pass-rate", "max-fail-labels", "max-unexpected-failures"


def test_a_failure_that_is_waived_does_not_break_its_rules(run: Run, safe_gate: SafeGate) -> None:
    assert run().code == 1
    before = report()
    assert before["waivers"] is None
    write_waivers(BAD[0] | {"expires": "2026-01-15"}, *ALL[1:])  # today is its last day
    assert run("--min-synthesis-pass-rate", "1").code == 0
    values = {FAILURES: 0, LABELS: 0, RATE: 1, "min-synthesis-pass-rate": 1}
    assert {rule: found(rule)["value"] for rule in values} == values
    outcome = {"rule": "waivers", "evaluator": "gate", "value": 0, "threshold": 0, "passed": True}
    assert found("waivers") == outcome | {"message": "5 waivers in force, none expired or unused"}
    for part in ("safe_v0", "synthesis"):  # what was measured stays as it was
        assert report()[part] == before[part]
    assert safe_gate("score", "--batch", "b").code == 1  # which know no waivers
    assert safe_gate("eval", "--cases", "c.jsonl").code == 2


@pytest.mark.parametrize(
    ("waivers", "rules"),
    [
        (BAD[:1], [RATE, LABELS, FAILURES]),
        (BAD, [RATE, LABELS]),
        (FAIL[:1], [RATE, LABELS, FAILURES]),
        (FAIL, [RATE, FAILURES]),
        (REVIEW, [RATE, LABELS, FAILURES]),
    ],
)
def test_a_case_is_let_pass_if_every_failure_is_waived(run: Run, waivers: list[Entry], rules: list[str]) -> None:
    write_waivers(*waivers)
    assert (run().code, broken()) == (1, rules)


def test_rules_of_groups_let_the_same_cases_pass(run: Run) -> None:
    rate = {RATE: 1}
    tags = {"grief": rate | {FAILURES: 0}, "negative_example": rate}
    configure({"archetypes": {"Unknown": rate}, "tags": tags, "min-group": 1})
    write_waivers(*ALL)
    assert run().code == 0
    values = [found(*one)["value"] for one in ((RATE, "Unknown"), (FAILURES, "grief"), (RATE, "grief"))]
    assert values == [1, 0, 1]
    assert "waived" not in found(RATE, "negative_example")["message"]
    write_waivers(*BAD[1:])
    assert (run().code, found(FAILURES, "grief")["passed"]) == (1, False)


def test_rules_on_labels_know_no_waivers(safe_gate: SafeGate) -> None:
    labels = {"checks": ["agency_language"], "expected": {"agency_language": True}, "tags": ["grief"]}
    write_cases(Path("c.jsonl"), turn("bad", assistant=DIRECTS, **labels))
    write_waivers(*BAD[:1])
    configure({"tags": {"grief": {"min-label-accuracy": 1}}, "min-group": 1})
    assert safe_gate("run", "--synthesis-cases", "c.jsonl", "--min-label-accuracy", "1").code == 1
    failing = [(rule["rule"], rule["value"], rule["names"]) for rule in report()["rules"] if not rule["passed"]]
    assert failing == [("min-label-accuracy", 0, ["bad"])] * 2


def test_a_metric_is_waived_where_it_is_below_the_thresholds_of_its_archetype(run: Run) -> None:
    half, whole = ({"thresholds": {"AH": {"pass": threshold}}} for threshold in (0.5, 1))
    for config, waivers, code in (
        ({"archetypes": {"Unknown": half}}, ALL, 1),
        ({"archetypes": {"Unknown": half}}, (*BAD, *FAIL), 0),
        (half | {"archetypes": {"Unknown": whole}}, (*BAD, *FAIL), 1),
        (half | {"archetypes": {"Unknown": whole}}, ALL, 0),
    ):
        configure(config)
        write_waivers(*waivers)
        assert run().code == code
        assert found("waivers").get("names", []) == ["review"] * (code and waivers is ALL)


def unwrapped(out: str) -> str:
    """Return a log with each cell of its last table in one line."""
    return re.sub(r" *│\n│ *│ *│ ", " ", out)


@pytest.mark.parametrize(
    ("stale", "said", "names"),
    [
        (waive("bad", "agency_language", expires="2026-01-14"), "1 waiver has expired", ["bad, check agency_language"]),
        (waive("gone", "topic_pivot"), "1 waiver is unused: correct or remove it", ["gone"]),
        (waive("bad", "unverifiable_reassurance"), "1 waiver is unused: correct or remove it", ["bad, check unverifiable_reassurance"]),
        (waive("meant", "topic_pivot"), "1 waiver is unused: correct or remove it", ["meant"]),
        ([*waive("good", "CR", "AH"), *waive("baad", "CR")], "3 waivers are unused: correct or remove them", ["baad", "good"]),
        (waive("gone", "CR", "AH", "AC", expires="2025-12-31"), "3 waivers have expired", ["gone"]),
        ([*waive("gone", "CR", expires="2025-12-31"), *waive("good", "CR", "AH")], "1 waiver has expired and 2 waivers are unused: correct or remove them", ["gone", "good"]),
    ],
)  # fmt: skip
def test_a_waiver_that_does_not_hold_breaks_the_gate_and_is_named(run: Run, stale: Any, said: str, names: Any) -> None:
    one_of_each = {(w["id"], w.get("check"), w.get("metric")): w for w in (*ALL, *stale)}
    write_waivers(*one_of_each.values())
    ran = run()
    outcome = found("waivers")
    assert (ran.code, outcome["passed"], outcome["message"], outcome["names"]) == (1, False, said, names)
    assert f'{said}: "{names[0]}"' in unwrapped(ran.out)
    words, _, why = said.partition(":")
    assert f"> - **{words}**{':' * bool(why)}{why}: {markdown(Untrusted(names[0]))}" in MARKDOWN.read_text("utf-8")


def test_without_a_case_to_explain_no_command_is_next(run: Run) -> None:
    write_waivers(*ALL, *waive("bad", "unverifiable_reassurance"))
    ran = run()
    assert (ran.code, broken(), "Next:" in ran.out) == (1, ["waivers"], False)
    write_waivers(*BAD, *waive("gone", "topic_pivot"))
    assert "\nNext: safe-gate explain " in run().out


def test_what_is_waived_is_in_the_first_lines_and_in_a_table(run: Run) -> None:
    write_waivers(*ALL, *waive("old", "CR", expires="2025-01-01", reason="|x|", owner="@org"))
    ran = run()
    texts = list(scorecards_by_length(ReportView(read_report(report())), limit=COMMENT_LIMIT))
    first = "**Known failures** · 5 waivers in force, the first until <code>2026-01-20</code>"
    assert [text for text in texts if first not in text.split("\n")[:7]] == []
    table = [line for line in texts[0].split("\n") if "| <code>old</code> | CR |" in line or "in force |" in line]
    old = "| <code>old</code> | CR | expired | <code>&#124;x&#124;</code> | <code><wbr>&#64;org</code> |"
    assert (table[0], len(table)) == (f"{old} <code>2025-01-01</code> |", 6)
    assert "│ vendor model │ pat   │ 2026-01-31 │" in ran.out
    assert re.search(r"^Gate: FAIL \(.* broken; 5 waivers in force\)$", ran.out, re.MULTILINE)


def test_a_case_that_is_let_pass_is_shown_as_such_after_the_others(run: Run, monkeypatch: Patch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    write_waivers(*FAIL)
    ran, comment = run(), MARKDOWN.read_text("utf-8")
    levels = re.findall(r"::(error|warning|notice) title=SAFE Gate%3A (bad|fail|review)", ran.out)
    assert levels == [("error", "bad"), ("error", "review"), ("notice", "fail")]
    assert re.search(r"│ fail +│ .* │ FAIL \(waived\) │\n", ran.out)
    assert re.search(r"^\*\*SAFE v0\*\* · 4 cases: .*; 1 failing case is waived", comment, re.MULTILINE)
    rows = re.findall(r"^\| (🔴|🟡) \| <code>(\w+)", comment, re.MULTILINE)
    assert rows == [("🔴", "bad"), ("🟡", "review"), ("🟡", "fail")]


def test_the_report_has_every_waiver_and_where_they_are_from(run: Run) -> None:
    path = write_waivers(*ALL, waiver("gone", x_ticket=7), path="my.json")
    assert run("--waivers", "my.json").code == 1
    waivers = report()["waivers"]
    assert (waivers["path"], waivers["sha256"]) == ("my.json", hashlib.sha256(path.read_bytes()).hexdigest())
    assert waivers["unused"] == [waiver("gone")]
    assert waivers["applied"] == sorted(ALL, key=lambda w: (w["id"], w.get("check", ""), w.get("metric", "")))


def test_reason_and_owner_stay_where_recorded_text_is_withheld(run: Run) -> None:
    write_waivers(*ALL)
    assert run("--text", "none").code == 0
    assert [word in MARKDOWN.read_text("utf-8") for word in ("vendor model", "policy")] == [True, False]


# --- where it is read ---------------------------------------------------------------------------


@pytest.mark.parametrize(("path", "flags"), [(FILE, []), ("my.json", ["--waivers", "my.json"])])
def test_the_file_is_the_default_or_the_one_that_is_named(run: Run, path: str, flags: list[str]) -> None:
    write_waivers(*ALL, path=path)
    assert run(*flags).code == 0


@pytest.mark.parametrize("content", [None, b'{"waivers": [{}]}', b"\xff", "folder"])
def test_a_file_that_cannot_be_read_is_no_verdict(run: Run, content: str | bytes | None) -> None:
    if isinstance(content, bytes):
        Path(FILE).write_bytes(content)
    elif content:
        Path(FILE).mkdir()
    ran = run(*([] if content else ["--waivers", "missing.json"]))
    assert (ran.code, report()["verdict"]) == (3, "error")
    assert (FILE if content else "missing.json: cannot be read") in ran.err
