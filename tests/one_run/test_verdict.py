"""`safe-gate run` from end to end: one verdict over all evaluators, and the cases that break a rule."""

import re
from pathlib import Path

import pytest

from safe_gate.model.results import HELD
from tests.support.cases import BAD, DATA, GOOD, SILENT, SafeGate, report, safe_case, turn, write_batch, write_json
from tests.support.reports import scorecard
from tests.support.synthesis import run

BATCH = ("--safe-batch", "b")


@pytest.mark.parametrize("summary", ["She went home.", ""])
@pytest.mark.parametrize("reply", [GOOD, BAD])
def test_one_verdict_of_both(safe_gate: SafeGate, summary: str, reply: str) -> None:
    write_batch(Path("b.json"), safe_case("s", output=safe_case("s")["output"] | {"summary": summary}))
    ran = run(safe_gate, turn("t", assistant=reply), flags=BATCH)
    broken = ["min-pass-rate"] * (not summary) + ["max-unexpected-failures"] * (reply == BAD)
    found = report()
    assert (ran.code, found["verdict"]) == ((1, "fail") if broken else (0, "pass"))
    assert [rule["rule"] for rule in found["rules"] if not rule["passed"]] == broken
    assert f"Gate: {found['verdict'].upper()}" in ran.out
    assert scorecard().startswith("### ❌ SAFE Gate" if broken else "### ✅ SAFE Gate passed · all 2 rules hold")


def test_every_rule_can_be_switched_on_and_broken(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), safe_case("s", output=SILENT))
    unlike = turn("t", assistant=BAD, expected={"agency_language": True})
    flags = (*BATCH, "--max-unexpected-passes=0", "--min-label-accuracy=0.5", "--max-fail-labels=0")
    assert run(safe_gate, unlike, turn("n", tags=["negative_example"]), flags=flags).code == 1
    every = "min-pass-rate max-fail-labels max-unexpected-failures max-unexpected-passes min-label-accuracy"
    assert {rule["rule"]: rule["passed"] for rule in report()["rules"]} == dict.fromkeys(every.split(), False)


@pytest.mark.usefixtures("runner")
def test_a_run_without_inputs_or_with_wrong_ones_says_what_to_pass_and_publishes_the_error(
    safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = safe_gate("run")
    assert "safe-batch or synthesis-cases: is not set or empty, so there is nothing to judge" in ran.err
    found = report()
    assert (found["verdict"], found["safe_v0"], found["synthesis"]) == ("error", None, None)
    assert len(found["problems"]) == 1
    assert "could not judge" in Path("summary").read_text("utf-8")
    monkeypatch.setenv("INPUT_MIN-PASSRATE", "1")
    wrong = safe_gate("run")
    assert "INPUT&#95;MIN-PASSRATE" in Path("summary").read_text("utf-8")
    for one in (ran, wrong):
        assert one.code == 3
        assert "::error title=SAFE Gate%3A cannot judge::" in one.out
    assert Path("output").read_text("utf-8").count("\nerror\n") == 2


@pytest.mark.usefixtures("runner")
def test_a_broken_rule_on_labels_names_the_cases_that_disagree(safe_gate: SafeGate) -> None:
    wrong, right = ({"agency_language": label} for label in (False, True))
    labels = [("odd", right) if i % 2 else ("even", wrong) for i in range(14)]
    labelled = [turn(f"t{i}", expected=label, tags=["all", tag]) for i, (tag, label) in enumerate(labels)]
    group = {name: {"min-label-accuracy": least} for name, least in (("even", 1), ("odd", 1), ("all", 0.5))}
    write_json("safe.config.json", {"tags": group, "min-group": 1})
    limits = "--min-label-accuracy", "0.8", "agency_language=0.8"
    ran = run(safe_gate, *labelled, turn("unlabelled"), flags=limits)
    assert ran.code == 1
    rules = report()["rules"]
    disagree = [f"t{i}" for i in range(0, 14, 2)]
    assert [(rule["rule"], rule.get("group", "")) for rule in rules if rule.get("names") == disagree] == [
        ("min-label-accuracy", ""),
        ("min-label-accuracy.agency_language", ""),
        ("min-label-accuracy", "even"),
    ]
    assert all("names" not in rule for rule in rules if rule["passed"])
    said = next(rule["message"] for rule in rules if rule.get("names"))
    assert f'{said}: "t0", "t2", "t4", "t6", "t8" and 2 more' in ran.out
    assert f'{said.replace("%", "%25")}: "t0"' in ran.out  # the annotation
    assert ": <code>t0</code>, " in scorecard()


@pytest.mark.usefixtures("runner")
def test_the_broken_rules_of_many_groups_leave_room_for_cases(safe_gate: SafeGate) -> None:
    tags = {f"g{i}": {"max-unexpected-failures": 0, "min-pass-rate": 1} for i in range(9)}
    write_json("safe.config.json", {"tags": tags, "min-group": 1})
    ran = run(safe_gate, *(turn(f"t{i}", assistant=BAD, tags=[f"g{i % 9}"]) for i in range(18)))
    errors = [line for line in ran.out.splitlines() if line.startswith("::error")]
    assert len(errors) == 10
    assert errors[4] == "::error title=SAFE Gate::15 more rules are broken: see the log and the report"
    assert all("file=c.jsonl" in line for line in errors[5:9])
    assert errors[9] == "::error title=SAFE Gate::14 more cases: see the log and the report"
    named = "max-unexpected-failures (10), min-pass-rate (9)"
    quiet = run(safe_gate, flags=("--quiet",)).out
    assert f"\nGate: FAIL (19 of 19 rules broken: {named})\n" in f"\n{quiet}"


@pytest.mark.usefixtures("runner")
def test_what_the_rules_allow_does_not_crowd_out_what_breaks_one(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), *(safe_case(f"s{i}", output=SILENT) for i in range(HELD + 10)))
    ran = run(safe_gate, *(turn(f"t{i}", assistant=BAD) for i in range(3)), flags=(*BATCH, "--min-pass-rate", "0"))
    assert ran.code == 1
    errors = [line for line in ran.out.splitlines() if line.startswith("::error")]
    assert errors[0].startswith("::error title=SAFE Gate%3A max-unexpected-failures::")
    assert [error[:39] for error in errors[1:]] == [f"::error title=SAFE Gate%3A t{i},file=c.js" for i in range(3)]
    warnings = [line for line in ran.out.splitlines() if line.startswith("::warning")]
    assert warnings[0].startswith("::warning title=SAFE Gate%3A s0,file=b.json,line=1::Fail: CR 0.00, AC 0.00")
    assert warnings[5:] == ["::warning title=SAFE Gate::205 more cases: see the log and the report"]
    assert listed()[:4] == ["t0", "t1", "t2", "s0"]


@pytest.mark.usefixtures("runner")
def test_where_only_unexpected_passes_break_the_gate_they_come_first(safe_gate: SafeGate) -> None:
    failing = [turn(f"t{i}", assistant=BAD) for i in range(HELD + 10)]
    limits = "--max-unexpected-failures", "999", "--max-unexpected-passes", "0"
    ran = run(safe_gate, *failing, turn("n", tags=["negative_example"]), flags=limits)
    assert ran.code == 1
    found = [line.partition("::f")[0] for line in ran.out.splitlines() if line.startswith("::")]
    assert found[0].startswith("::error title=SAFE Gate%3A max-unexpected-passes::")
    assert found[1:3] == [
        "::error title=SAFE Gate%3A n,file=c.jsonl,line=211::negative example passes",
        "::warning title=SAFE Gate%3A t0,file=c.jsonl,line=1",
    ]
    assert listed()[:2] == ["n", "t0"]
    evidence = ran.out[ran.out.index("Evidence:\n") :].split("\n")
    assert evidence[1] == "  n (c.jsonl:211) negative example passes"
    run(safe_gate, flags=("--max-unexpected-passes", "0"))
    assert listed()[0] == "t0"


def test_a_passing_gate_shows_the_evidence_of_reviews_too(safe_gate: SafeGate) -> None:
    two = safe_case("r")["expectations"] | {"signal_generation": {"must_find_signals": ["fever", "rash"]}}
    write_batch(Path("b.json"), *map(safe_case, "abcd"), safe_case("r", expectations=two))
    ran = safe_gate("run", "--safe-batch", "b.json")
    said = 'Evidence:\n  r (b.json:1) Review: CR 0.50\n    missing signal "rash"\n'
    assert (ran.code, said in ran.out) == (0, True), ran.log


def listed() -> list[str]:
    """Return the ids of the cases to look at, as the report shows them."""
    _, _, table = scorecard().partition("**Cases to look at**")
    return re.findall(r"^\| \S+ \| \[?<code>([^<]+)</code>", table, re.MULTILINE)


def test_the_same_run_twice_gives_the_same_bytes(safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch) -> None:
    def once() -> list[bytes]:
        run(safe_gate, turn("t", assistant=BAD), flags=("--safe-batch", str(DATA / "safe_v0/I25_batch_1.json")))
        return [path.read_bytes() for path in sorted(Path("reports").iterdir())]

    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1736937000")
    first = once()
    assert first == once()
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    time = rb'"generated_at": "[^"]+"'
    assert [re.sub(time, b"", one) for one in once()] == [re.sub(time, b"", one) for one in first]
