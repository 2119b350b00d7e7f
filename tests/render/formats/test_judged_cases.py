"""Reports of judged cases: JUnit, GitLab and tables."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safe_gate.model.results import Untrusted
from safe_gate.render.untrusted import sarif, spreadsheet_cell, xml
from tests.support.cases import BAD, GOOD, SafeGate, safe_case, turn, write_batch, write_cases, write_json
from tests.support.formats import ALL, FORMULA, html, read
from tests.support.judged_run import CHECKS, properties, waive
from tests.support.safe_v0 import asking, saying


def outcomes(found: Any, case: str) -> dict[str, str]:
    """Return by test of a case what became of it, with the reason."""
    (suite,) = (one for one in found.junit.iter("testsuite") if one.get("name") == case)
    return {
        str(test.get("name")).removeprefix(f"{case} "): next(
            (f"{one.tag}: {one.get('message')}" for one in test), "passes"
        )
        for test in suite.iter("testcase")
    }


def test_junit_shows_the_outcome_of_each_check(judged: Any) -> None:
    passes = dict.fromkeys(CHECKS, "passes")
    waived = "skipped: waived until 2999-12-31 by @ana: Known since March."
    expected = "skipped: expected failure: a negative example, by its tag negative_example"
    shown = {
        "good": passes,
        "known": dict.fromkeys(CHECKS, waived),
        "negative": dict.fromkeys(CHECKS, expected),
        "feigned": passes,
        "calm": {"topic_pivot": "passes"},
        "reviewed": {"CR": "passes", "AH": "failure: Avoids harm 0.50: Review", "AC": "passes"},
        "waived": {"CR": "passes", "AH": "passes", "AC": waived},
    }
    assert {case: outcomes(judged, case) for case in shown} == shown
    assert [one.partition(":")[0] for one in outcomes(judged, "bad").values()] == ["failure"] * 3
    assert outcomes(judged, "fails")["CR"] == "failure: Correct recall 0.00: Fail"
    assert outcomes(judged, "gate")["max-no-reply synthesis"].startswith("failure: 1 ")
    assert properties(judged, "calm")["topic_pivot.label"] == "not applicable"
    assert properties(judged, "reviewed").items() >= {"label": "Review", "AH.label": "Review"}.items()


@pytest.mark.parametrize(
    ("limit", "outcome", "levels"),
    [("1", "failure: All content 0.50: Review", ("error", "error")), ("0", "passes", ("notice", "note"))],
)
def test_a_review_is_an_error_in_every_format_if_it_breaks_a_rule(
    safe_gate: SafeGate, limit: str, outcome: str, levels: tuple[str, str]
) -> None:
    write_batch(Path("b.json"), safe_case("r", expectations=asking(phrases=["went home", "rest"])))
    ran = safe_gate("run", "--safe-batch", "b.json", "--min-pass-rate", limit, "--dry-run", *ALL)
    found = read()
    assert outcomes(found, "r")["AC"] == outcome
    assert (f"{levels[0]} b.json:1: SAFE Gate: r: Review" in ran.out, found.run["results"][0]["level"]) == (
        True,
        levels[1],
    )


def test_the_entry_of_a_failing_case_without_a_reply_says_so(safe_gate: SafeGate) -> None:
    output = saying(summary="I'm sorry, an error occurred", questions=[])
    write_batch(Path("b.json"), safe_case("down", output=output))
    write_cases(Path("c.jsonl"), turn("mute", assistant="", checks=["agency_language"]))
    assert safe_gate("run", "--safe-batch", "b", "--synthesis-cases", "c.jsonl", *ALL).code == 1
    found = read()
    issues = {one["check_name"]: one["description"] for one in found.gitlab}
    results = {one["ruleId"]: one["message"]["text"] for one in found.run["results"]}
    rows = zip(("safe_v0/case", "synthesis/case"), ("error message", "empty"), found.csv, found.jsonl, strict=True)
    for entry, why, row, line in rows:
        assert (row["label"], row["passed"], line["label"], line["passed"]) == ("no reply", "no", "no reply", False)
        assert row["evidence"].startswith(f"no reply: {why}; ")
        assert issues[entry] == results[entry] == f"{row['id']}: no reply: {why}"
        assert outcomes(found, row["id"])["case"] == "failure: no reply"


def test_jsonl_and_junit_have_the_reason_that_no_metric_or_check_has(safe_gate: SafeGate) -> None:
    near = safe_case(
        "near", output=saying("Fever", summary="She went home.", questions=["What about the pol\u200bicy?"])
    )
    write_batch(Path("b.json"), near)
    write_cases(Path("c.jsonl"), turn("mute", assistant="", checks=["agency_language"]), turn("bad", assistant=BAD))
    safe_gate("run", "--safe-batch", "b", "--synthesis-cases", "c.jsonl", *ALL)
    found = read()
    evidence = [row["evidence"].partition("; ")[0] for row in found.csv]
    reasons = [line["to_look_at"] for line in found.jsonl]
    assert evidence[:2] == ['near miss of forbidden term "policy"', "no reply: empty"]
    assert reasons[:2] == [f"Pass; {evidence[0]}", f"fails agency language; {evidence[1]}"]
    assert reasons[2] == "fails agency language, unverifiable reassurance, topic pivot"
    assert [properties(found, case)["to-look-at"] for case in ("near", "mute", "bad")] == reasons


def test_a_case_without_a_reply_is_not_shown_as_one_that_passes(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), safe_case("down", expectations=asking(), output=saying(questions=[])))
    write_cases(Path("c.jsonl"), turn("mute", assistant="", checks=["unverifiable_reassurance"]))
    ran = safe_gate("run", "--safe-batch", "b", "--synthesis-cases", "c.jsonl", *ALL)
    for shown in (ran.out, Path("reports/safe-gate.md").read_text("utf-8")):
        for title in ("Pass", "Passed"):
            assert f"{title}: 1 (100%), 1 of them without a reply" in shown
    page = html(Path("reports/safe-gate.html").read_text("utf-8"))
    assert [(one["label"], one["what"]) for one in page.cases] == [("no reply", "no reply")] * 2


def test_cases_with_one_and_the_same_reply_are_no_findings(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), *(turn(str(n), user=f"I lost my job in week {n}.") for n in range(4)))
    assert safe_gate("run", "--synthesis-cases", "c.jsonl", *ALL).code == 1
    assert [row["evidence"] for row in read().csv] == [""] * 4
    assert read().run["results"] == []


FOREIGN = turn("x", assistant="Je suis vraiment désolé pour cela.")
MUTE = turn("x", assistant="", checks=["unverifiable_reassurance"])
WORDED, NEGATIVE = {"must_contain": ["sorry"]}, {"tags": ["negative_example"]}
LABELLED = {"expected": {"topic_pivot": False}}
UNLIKE = "topic pivot: unlike the label"
# The case, flags, what is wrong with it as a whole, whether that breaks a rule, and the sign in the comment.
WHOLE = [
    (MUTE, "", "no reply", True, "🔴"),
    (MUTE, "--max-no-reply 1", "no reply", False, "🟡"),
    (MUTE | {"checks": ["agency_language"]}, "", "no reply", True, "🔴"),
    (MUTE | {"checks": ["agency_language"]}, "--max-no-reply off", "no reply", False, "🔴"),
    (MUTE | NEGATIVE, "", "no reply", True, "🔴"),
    (FOREIGN, "--max-not-english 1", "not English", False, "🟡"),
    (FOREIGN | WORDED, "--max-not-english 0", "fails", True, "🔴"),
    (FOREIGN | WORDED, "--max-not-english off", "fails", False, "🔴"),
    (FOREIGN | LABELLED, "--min-label-accuracy 1 --max-not-english 9", f"not English; {UNLIKE}", True, "🟡"),
    (FOREIGN | NEGATIVE, "--min-synthesis-pass-rate 1 --max-not-english 9", "negative example passes", True, "🟡"),
    (turn("x") | LABELLED, "--min-label-accuracy 1", UNLIKE, True, "🟡"),
    (turn("x") | NEGATIVE, "--max-unexpected-passes 0", "negative example passes", True, "🟡"),
]


@pytest.mark.parametrize(("case", "flags", "what", "breaks", "sign"), WHOLE)
def test_what_is_wrong_with_a_case_as_a_whole_is_the_same_in_every_format(
    safe_gate: SafeGate, case: dict[str, Any], flags: str, what: str, breaks: bool, sign: str
) -> None:
    write_cases(Path("c.jsonl"), turn("good"), case)
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl", *flags.split(), "--json", *ALL)
    found = read()
    (level,) = (one["level"] for one in found.run["results"] if one["ruleId"] == "synthesis/case")
    (severity,) = (one["severity"] for one in found.gitlab if one["check_name"] == "synthesis/case")
    assert (level, severity) == (("error", "critical") if breaks else ("note", "minor"))
    assert outcomes(found, "x").get("case") == (f"failure: {what}" if breaks else None)
    assert [one["id"] for one in json.loads(ran.out)["cases"]] == ["x"]
    assert f"| {sign} | <code>x</code>" in Path("reports/safe-gate.md").read_text("utf-8")
    assert (
        ("no reply: empty" in found.csv[1]["evidence"]) == (found.csv[1]["label"] == "no reply") == (what == "no reply")
    )
    assert found.jsonl[1]["to_look_at"]


def test_a_case_that_fails_by_todays_rules_alone_is_the_same_news_in_every_format(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("one", tags=["t"]))
    safe_gate("run", "--synthesis-cases", "c.jsonl", "--report-dir", "old")
    write_json("safe-gate.config.json", {"tags": {"t": {"must_contain": ["zebra"]}}})
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl", "--baseline", "old/safe-gate.json", *ALL)
    page, found, news = html(Path("reports/safe-gate.html").read_text("utf-8")), read(), "fails by today's rules"
    assert news in ran.out
    assert [page.cases[0]["news"], found.csv[0]["change"], found.jsonl[0]["change"]] == [news] * 3
    assert properties(found, "one")["since-baseline"] == news
    assert found.run["results"][0]["baselineState"] == "new"


def test_a_waived_case_that_newly_has_no_reply_fails_as_a_whole(safe_gate: SafeGate) -> None:
    mute = turn("mute", checks=["agency_language"])
    for assistant, flags in ((GOOD, ["--report-dir", "old"]), ("", ["--baseline", "old/safe-gate.json"])):
        write_cases(Path("c.jsonl"), mute | {"assistant": assistant})
        limits = ("--max-no-reply", "off", "--max-regressions", "0")
        safe_gate("run", "--synthesis-cases", "c.jsonl", *limits, *flags, *ALL)
        waive({"id": "mute", "check": "agency_language"})
    assert outcomes(read(), "mute")["case"] == "failure: no reply"
    assert outcomes(read(), "mute")["agency_language"].startswith("skipped: waived")


def test_gitlab_has_no_issue_for_what_is_waived_or_expected(judged: Any) -> None:
    said = " ".join(issue["description"] for issue in judged.gitlab)
    assert [case for case in ("bad", "known", "negative") if f"{case}: " in said] == ["bad"]
    rules = [issue for issue in judged.gitlab if issue["check_name"].startswith("gate/")]
    assert {issue["severity"] for issue in rules} == {"blocker"}


def test_tables_have_every_case(judged: Any) -> None:
    assert [row["id"] for row in judged.csv] == [case["id"] for case in judged.jsonl]
    assert len(judged.csv) == 11
    by_id = {row["id"]: row for row in judged.csv}
    assert (by_id["good"]["topic_pivot"], by_id["calm"]["topic_pivot"]) == ("passes", "not applicable")
    assert (by_id["fails"]["CR"], by_id["fails"]["topic_pivot"]) == ("0.0", "")
    assert (by_id["negative"]["label"], by_id["negative"]["passed"]) == ("fails", "yes")
    assert by_id["known"]["waived"] == "agency_language; topic_pivot; unverifiable_reassurance"
    lines = {case["id"]: case for case in judged.jsonl}
    assert lines["known"]["judgements"]["topic_pivot"]["waiver"]["reason"] == "Known since March."
    assert lines["negative"]["expected_failure"]
    for hit in lines["bad"]["judgements"]["agency_language"]["hits"]:
        assert BAD[hit["start"] : hit["end"]] == hit["text"]


@given(st.text() | st.text("=+-@;' \"a"))
def test_a_text_is_one_cell_that_is_no_formula_and_legal_xml(text: str) -> None:
    from xml.etree import ElementTree

    assert not any(one.lstrip(' "').startswith(FORMULA) for one in spreadsheet_cell(Untrusted(text)).split(";"))
    assert ElementTree.fromstring(f'<a b="{xml(Untrusted(text))}"/>').get("b") is not None
    assert "##[" not in xml(Untrusted(text)) + spreadsheet_cell(Untrusted(text)) + sarif(Untrusted(text))
