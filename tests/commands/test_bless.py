"""`safe-gate bless`: what is approved is shown first, and no failure is hidden without a reason."""

import json
from pathlib import Path
from typing import Any

import pytest

from safe_gate.inputs.checked import load_schema
from tests.support.cases import Patch, SafeGate, refused, safe_case, turn, write_batch, write_cases, write_json
from tests.support.reports import BAD, FAILING, REPORT, read, with_altered, write

BASELINE = Path("evals/baseline.json")
WAIVERS = Path("safe-gate.waivers.json")
SIGNED = ("--reason", " the model's old habit ", "--owner", "ada", "--expires", "2030-01-31")
REASON = ("--reason", "agreed on Monday")
BLESS = ("bless", "--baseline", BASELINE)
ONE = {"id": "t", "check": "topic_pivot", "reason": "r", "owner": "o", "expires": "2030-01-31"}
TWICE = json.dumps({"waivers": [ONE, ONE]})


def run(safe_gate: SafeGate, turns: list[Any], cases: list[Any] | None = None, *flags: str) -> None:
    write_cases(Path("c.jsonl"), *turns)
    if cases:
        write_batch(Path("b.json"), *cases)
    safe_gate("run", "--cases", "c.jsonl", *(("--batch", "b") if cases else ()), *flags)


def test_a_report_that_passed_becomes_the_baseline_byte_for_byte(safe_gate: SafeGate) -> None:
    run(safe_gate, [turn("t")])
    ran = safe_gate(*BLESS)
    assert (ran.code, ran.err, ran.out) == (0, "", "Written: evals/baseline.json\n")
    assert BASELINE.read_bytes() == REPORT.read_bytes()
    again = safe_gate("bless", REPORT, "--baseline", BASELINE)
    assert "0 newly failing, 0 fixed, 0 still failing · 0 of 1 output changed" in again.out


def test_a_failure_is_not_hidden_without_a_reason(safe_gate: SafeGate) -> None:
    run(safe_gate, [turn("t", assistant=BAD), turn("n", assistant=BAD, tags=["negative_example"])])
    for flags in ((), ("--owner", "ada"), ("--reason", " \t")):
        ran = safe_gate(*BLESS, *flags)
        words = "a failed gate, a new failure or a missing case needs --reason"
        assert (ran.code, ran.err) == (1, f"safe-gate: refused, nothing is written: {words}\n")
        assert not BASELINE.exists()
    assert safe_gate(*BLESS, *REASON, "--owner", " ada").code == 0
    blessed = read(BASELINE)
    assert blessed.pop("blessed") == {"reason": "agreed on Monday", "owner": "ada"}
    assert blessed == read()
    verified = safe_gate("verify", BASELINE)
    assert verified.code == 0
    assert "Not recomputed: blessed.\n" in verified.out
    assert safe_gate("bless", BASELINE, "--baseline", BASELINE, *REASON).code == 0
    assert read(BASELINE)["blessed"] == {"reason": "agreed on Monday"}  # not what an earlier one was approved for


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ([turn("same"), turn("spoilt", assistant=BAD)], "1 newly failing, 0 fixed, 0 still failing"),
        ([turn("same")], "0 newly failing, 0 fixed, 0 still failing, 1 removed"),
    ],
)
def test_a_pass_that_hides_a_change_needs_a_reason(safe_gate: SafeGate, after: list[Any], said: str) -> None:
    loose = ("--max-unexpected-failures", "9")
    run(safe_gate, [turn("same"), turn("spoilt")])
    assert safe_gate(*BLESS).code == 0
    run(safe_gate, after, None, *loose)
    assert read()["verdict"] == "pass"
    ran = safe_gate(*BLESS)
    assert (ran.code, said in ran.out) == (1, True)
    assert safe_gate(*BLESS, *REASON).code == 0
    run(safe_gate, [*after, turn("added")], None, *loose)
    assert safe_gate(*BLESS).code == 0


def test_bless_warns_about_files_that_changed_since_the_report(safe_gate: SafeGate) -> None:
    run(safe_gate, [turn("t")], [safe_case("s")])
    write_cases(Path("c.jsonl"), turn("t"), turn("u"))
    Path("b.json").unlink()
    ran = safe_gate(*BLESS)
    assert (ran.code, BASELINE.exists()) == (0, True)
    (stale,) = (line for line in ran.out.splitlines() if line.startswith("Stale: "))
    assert stale.startswith("Stale: c.jsonl has changed: its SHA-256 is ")
    run(safe_gate, [turn("t"), turn("u")])
    assert "Stale" not in safe_gate(*BLESS).out


def test_what_cannot_be_approved_is_an_error(safe_gate: SafeGate) -> None:
    to = ("--baseline", BASELINE)

    def fails(words: str, *arguments: str | Path) -> None:
        refused(safe_gate("bless", *arguments), words)

    fails("reports/safe-gate.json: cannot be read", *to)
    assert safe_gate("run").code == 3
    fails("has no verdict, so there is nothing to compare or approve", *to)
    run(safe_gate, [turn("t", assistant=BAD)])
    fails("--baseline: is not set; expected the path of a .json file\n")
    fails('--baseline: is "main"; expected the path of a .json file\n', "--baseline", "main")
    fails("--baseline: names reports/safe-gate.json, which this run reads", "--baseline", REPORT, *REASON)
    forged = write(with_altered(read(), ("verdict",)), Path("forged.json"))
    for target in (to, ("--waivers", *SIGNED)):
        fails("its digests do not match its contents", forged, *target)
    fails("--reason: has 2001 characters, more than 2000", *to, "--reason", "x" * 2001)
    fails("--owner: has 201 characters, more than 200", "--waivers", *SIGNED, "--owner", "x" * 201)
    for flags in (("--id", "t"), ("--expires", "2030-01-01")):
        fails("has --id or --expires, which need --waivers", *to, *flags)
    fails("--baseline and --waivers exclude each other; leave one out", *to, "--waivers", *SIGNED)
    BASELINE.parent.mkdir()
    BASELINE.write_text("{}", "utf-8")
    fails("evals/baseline.json: is not a report of safe-gate run: it has no field verdict", *to, *REASON)
    assert BASELINE.read_text("utf-8") == "{}"
    BASELINE.unlink()
    BASELINE.mkdir()
    fails("evals/baseline.json: ", *to, *REASON)


def test_baseline_and_waivers_go_into_the_files_that_the_settings_name(safe_gate: SafeGate) -> None:
    write_json("safe.config.json", {"baseline": str(BASELINE), "report-dir": "out", "waivers": "known.json"})
    write_json("known.json", {"waivers": []})
    write_cases(Path("c.jsonl"), turn("t"))
    assert safe_gate("run", "--cases", "c.jsonl", "--allow-missing", "baseline").code == 0
    assert safe_gate("bless").code == 0
    assert BASELINE.read_bytes() == Path("out/safe-gate.json").read_bytes()
    write_cases(Path("c.jsonl"), turn("t", assistant=BAD))
    safe_gate("run", "--cases", "c.jsonl")
    for named, file in (((), "known.json"), ((WAIVERS,), WAIVERS)):
        assert safe_gate("bless", "--waivers", *named, *SIGNED).out.splitlines()[-1] == f"Written: {file}"


def waived() -> list[str]:
    """Return what the file waives, `id/check` or `id/metric`, in its order."""
    content = json.loads(WAIVERS.read_text("utf-8"))
    assert load_schema("waivers").faults(content) == ()
    return [f"{one['id']}/{one.get('check') or one['metric']}" for one in content["waivers"]]


@pytest.fixture
def failed(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    """Run over failing cases of both evaluators on 2026-03-01."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1772323200")
    turns = [turn("t", assistant=BAD), turn("n", assistant=BAD, tags=["negative_example"]), turn("good")]
    run(safe_gate, turns, [safe_case("s", output=FAILING), safe_case("fine")])


@pytest.mark.usefixtures("failed")
def test_every_failure_is_waived_and_no_other(safe_gate: SafeGate) -> None:
    ran = safe_gate("bless", "--waivers", *SIGNED)
    assert (ran.code, ran.out) == (
        0,
        """\
┌──────┬──────────────────────────┐
│ Case │ Fails by                 │
├──────┼──────────────────────────┤
│ s    │ AH                       │
│ s    │ CR                       │
│ t    │ agency_language          │
│ t    │ topic_pivot              │
│ t    │ unverifiable_reassurance │
└──────┴──────────────────────────┘
5 waivers to add, 0 there already.
Written: safe-gate.waivers.json
""",
    )
    assert waived() == ["s/AH", "s/CR", "t/agency_language", "t/topic_pivot", "t/unverifiable_reassurance"]
    first = json.loads(WAIVERS.read_text("utf-8"))["waivers"][0]
    said = {"reason": "the model's old habit", "owner": "ada", "expires": "2030-01-31"}
    assert first == {"id": "s", "metric": "AH", **said}
    before = WAIVERS.read_bytes()
    WAIVERS.unlink()
    assert safe_gate("bless", "--waivers", *SIGNED, "--id", "t", "s").code == 0
    assert WAIVERS.read_bytes() == before
    WAIVERS.write_bytes(own := before.replace(b"\n", b"\n\n").replace(b"2030-01-31", b"2026-02-28"))
    again = safe_gate("bless", "--waivers")  # nothing to add asks for no signature
    assert (again.code, again.out.splitlines()[0]) == (0, "0 waivers to add, 5 there already.")
    assert "2 cases have an expired waiver" in again.out.splitlines()[1]
    assert again.out.splitlines()[2:] == ["Nothing is written."]
    assert WAIVERS.read_bytes() == own


@pytest.mark.usefixtures("failed")
def test_waivers_there_are_kept(safe_gate: SafeGate) -> None:
    known = {"reason": "old one", "owner": "bob", "expires": "2026-02-28"}
    there = [{"id": "t", "check": "topic_pivot", **known}, {"id": "a\x1b", "metric": "CR", **known}]
    Path("w.json").write_text(json.dumps({"x_note": "ours", "waivers": there}), "utf-8")
    ran = safe_gate("bless", REPORT, "--waivers", "w.json", *SIGNED, "--id", "t")
    said = (
        "2 waivers to add, 2 there already.\n1 case has an expired waiver, which stays as it is; set a later day in the"
    )
    assert (ran.code, f'\n{said} file: "t".\nWritten' in ran.out) == (0, True)
    content = json.loads(Path("w.json").read_text("utf-8"))
    assert content["x_note"] == "ours"
    assert [one for one in content["waivers"] if one["owner"] == "bob"] == there[::-1]
    Path("w.json").rename(WAIVERS)
    assert waived() == ["a\x1b/CR", "t/agency_language", "t/topic_pivot", "t/unverifiable_reassurance"]


@pytest.mark.usefixtures("failed")
def test_a_waiver_is_refused_unless_somebody_answers_for_it_until_a_day(safe_gate: SafeGate) -> None:
    for left_out in (0, 2, 4):
        ran = safe_gate("bless", "--waivers", *SIGNED[:left_out], SIGNED[left_out], " ", *SIGNED[left_out + 2 :])
        words = f"a waiver needs {SIGNED[left_out]}"
        assert (ran.code, ran.err) == (1, f"safe-gate: refused, nothing is written: {words}\n")
        assert "│ s    │ AH  " in ran.out
    assert safe_gate("bless", "--waivers").err.endswith("a waiver needs --reason, --owner and --expires\n")
    for day, words in {
        "2026-02-28": "--expires: is before today; expected 2026-03-01 or later",
        "20300131": '--expires: is "20300131"; expected the last day it is valid, in UTC, as YYYY-MM-DD\n',
        "tomorrow": '--expires: is "tomorrow"; expected the last day',
        "2030-02-30": '--expires: is "2030-02-30", a day that does not exist; expected the last day',
    }.items():
        refused(safe_gate("bless", "--waivers", *SIGNED[:4], "--expires", day), words)
    words = "does not name a case that fails unexpectedly"
    several = (f"--id: good: {words} (2 times: also n)\n", f'--id: tt: {words} (did you mean "t"?)\n')
    refused(safe_gate("bless", "--waivers", *SIGNED, "--id", "tt", "n", "good"), *several)
    assert not WAIVERS.exists()
    assert safe_gate("bless", "--waivers", *SIGNED[:4], "--expires", "2026-03-01").code == 0


def test_a_missing_reply_is_not_waived(safe_gate: SafeGate) -> None:
    empty = {"signals": [], "summary": "", "followup_questions": []}
    run(safe_gate, [turn("t", assistant=BAD), turn("job-02", assistant="")], [safe_case("s", output=empty)])
    words = "no reply, which no waiver excuses; make a new recording"
    refused(safe_gate("bless", "--waivers", *SIGNED, "--id", "job-02"), f"--id: job-02: has {words}\n")
    ran = safe_gate("bless", "--waivers", *SIGNED)
    assert (ran.code, f'\n2 cases have {words}: "s", "job-02".\n' in ran.out) == (0, True)
    assert waived() == ["t/agency_language", "t/topic_pivot", "t/unverifiable_reassurance"]
    safe_gate("run", "--cases", "c.jsonl", "--batch", "b", "--max-no-reply", "off")  # a reply may be missing
    assert "4 waivers to add, 3 there already.\nWritten" in safe_gate("bless", "--waivers", *SIGNED).out
    WAIVERS.unlink()
    run(safe_gate, [turn("job-02", assistant=""), turn("good")])
    ran = safe_gate("bless", "--waivers", *SIGNED)
    refused(ran, f"--waivers: job-02: has {words}\n")
    assert (ran.out, WAIVERS.exists()) == ("", False)


def test_a_missing_reply_hides_no_case_of_another_evaluator_with_the_same_id(safe_gate: SafeGate) -> None:
    empty = {"signals": [], "summary": "", "followup_questions": []}
    run(safe_gate, [turn("S1", assistant=BAD, checks=["topic_pivot"])], [safe_case("S1", output=empty)])
    ran = safe_gate("bless", "--waivers", *SIGNED, "--id", "S1")
    assert (ran.code, "\n1 case has no reply, which" in ran.out, waived()) == (0, True, ["S1/topic_pivot"])


@pytest.mark.usefixtures("failed")
def test_a_file_that_holds_no_waivers_is_not_overwritten(safe_gate: SafeGate) -> None:
    for text in ("{}", "[]", '{"waivers": [{"id": "t"}]}', '{"waivers": [1]}', '{"waivers": {}}', "{", TWICE):
        WAIVERS.write_text(text, "utf-8")
        refused(safe_gate("bless", "--waivers", *SIGNED))
        assert WAIVERS.read_text("utf-8") == text
    for file in (REPORT, "c.jsonl"):
        refused(safe_gate("bless", "--waivers", file, *SIGNED), f"{file}:")
    assert read()["verdict"] == "fail"
