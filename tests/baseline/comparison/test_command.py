"""`compare`, and comparisons with rules, waivers and evaluators that changed."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import REPOSITORY, Patch, SafeGate, refused, report, safe_case, turn, write_batch, write_cases
from tests.support.git import commit_here as commit
from tests.support.github import Gate
from tests.support.two_runs import ALL, BAD, VIOLATED, broken, write
from tests.support.weakening import configure

CONFIG = {"safe-batch": ["b.json"], "synthesis-cases": ["c.jsonl"]}
LOST = ("--allow-missing", "cases")
MARKDOWN = Path("reports/safe-gate.md")


def write_output(**output: Any) -> None:
    write(case=lambda name: safe_case(name, output=VIOLATED | output))


def forbidding(*terms: str) -> dict[str, Any]:
    return {"expectations": {**safe_case("x")["expectations"], "followup_questions": {"forbidden_terms": [*terms]}}}


def test_two_commits_are_compared_each_by_its_own_config(safe_gate: SafeGate) -> None:
    configure(CONFIG)
    write()
    old = commit()
    write(bad=("T-0",), missing=("T-5",))
    new = commit()
    write()
    done = safe_gate("compare", old, new, "--json")
    assert (done.code, "1 newly failing, 0 fixed, 0 still failing, 1 removed" in done.err) == (1, True), done.log
    assert broken(json.loads(done.out)) == {("no-removed-cases", "synthesis")}
    back = safe_gate("compare", new, old)
    assert (back.code, "0 newly failing, 1 fixed, 0 still failing, 1 added" in back.out) == (0, True), back.log
    assert safe_gate("compare", old).code == 0


@pytest.mark.parametrize("left", [None, {"bogus": 1}])
def test_two_commits_are_compared_whatever_config_is_left_in_the_working_folder(safe_gate: SafeGate, left: Any) -> None:
    Path("g").mkdir()
    path = Path("g/safe.config.json")
    configure({"synthesis-cases": ["c.jsonl"], "max-regressions": 0, "text": "none"}, str(path))
    write_cases(Path("g/c.jsonl"), turn("a"))
    old = commit()
    write_cases(Path("g/c.jsonl"), turn("a", must_contain=["zebra"]))
    new = commit()
    path.unlink()
    if left:
        configure(left, str(path))
    done = safe_gate("compare", old, new, "--config", path, "--verbose")
    assert (done.code, "1 Synthesis case newly fails, 0 allowed" in done.out, "zebra" in done.out) == (1, True, False)
    for sides in ((old, "reports/safe-gate.json"), (".", new)):
        refused(safe_gate("compare", *sides, "--config", path), str(path))
    words = f"{new[:7]}:g/typo.json: cannot be read: the commit has no such file"
    refused(safe_gate("compare", old, new, "--config", "g/typo.json"), words)


def test_stand_ins_are_compared_with_stand_ins(safe_gate: SafeGate) -> None:
    def run_both() -> None:
        for text in ("full", "none"):
            safe_gate("run", *ALL, "--report-dir", text, "--text", text)

    full, none, zebra = "full/safe-gate.json", "none/safe-gate.json", forbidding("zebra")
    write_output()
    commit()
    run_both()
    for sides in ((full, none), (none, full), ("HEAD", full), (none, "HEAD"), ("HEAD", none)):
        assert safe_gate("compare", *sides, *ALL).code == 0
    write_output(followup_questions=["Which policy?"])
    assert safe_gate("compare", none, ".", *ALL).code == 0  # a term is not new because its stand-in is another
    write(case=lambda name: safe_case(name, **zebra))
    run_both()
    said = {"signals": [], "summary": "secret", "followup_questions": ["zebra"]}
    write(case=lambda name: safe_case(name, **zebra, output=said))
    safe_gate("run", *ALL, "--text", "none", "--baseline", full)
    assert report()["comparison"]["safe_v0"]["changes"]
    for path in (Path("reports/safe-gate.json"), MARKDOWN):
        assert [word for word in ("zebra", "went home") if word in path.read_text("utf-8")] == []


@pytest.mark.parametrize(("flag", "value"), [("--tag", "typo"), ("--cluster-key", "x_topic"), ("--profile", "spec")])
def test_compare_refuses_a_setting_that_a_finished_report_cannot_apply(
    safe_gate: SafeGate, flag: str, value: str
) -> None:
    write()
    safe_gate("run", *ALL)
    for base in ("reports/safe-gate.json", commit()):
        both = ("compare", base, "reports/safe-gate.json")
        refused(safe_gate(*both, *ALL, flag, value), f"{flag[2:]}: does not change a finished report; leave it out")
        assert safe_gate(*both, *ALL, "--profile", "standard", "--max-regressions", "0").code == 0


def test_compare_judges_a_report_by_its_own_rules_and_flags(safe_gate: SafeGate) -> None:
    old, new = "old/safe-gate.json", "new/safe-gate.json"
    configure(CONFIG | {"max-regressions": 0, "allow-missing": ["cases"]})
    write()
    safe_gate("run", "--report-dir", "old")
    write(bad=("T-0",), missing=("T-5",))
    safe_gate("run", "--report-dir", "new")
    configure(CONFIG | {"max-regressions": 1})
    write()
    for base in (old, commit()):
        done = safe_gate("compare", base, new, "--json")
        assert done.code == 1
        assert broken(json.loads(done.out)) == {("max-regressions", "synthesis")}
    assert safe_gate("compare", old, new, "--max-regressions", "1").code == 0
    assert safe_gate("compare", old, new, "--max-regressions", "1", "--protect", "T-0").code == 1


def test_compare_lets_the_same_failures_pass_as_a_run(safe_gate: SafeGate) -> None:
    write()
    base = commit()
    run = ("run", *ALL, "--baseline", base)
    write(case=lambda name: safe_case(name, **({"output": VIOLATED} if name == "S-1" else {})))
    safe_gate(*run)
    assert broken(report()) == {("new-violations", "safe_v0"), ("label-drops", "safe_v0")}
    assert safe_gate("compare", base, ".", *ALL).code == 1
    safe_gate("bless", "--waivers", "--reason", "known", "--owner", "me", "--expires", "2099-01-01")
    assert safe_gate(*run, "--protect", "S-1").code == 1, "a waiver protects no case less"
    assert safe_gate(*run).code == 0
    for head in (".", "reports/safe-gate.json", commit()):
        done = safe_gate("compare", base, head, *ALL)
        assert done.code == 0, done.log
        for found in ("newly use a forbidden term", "fall from Pass to Fail or no reply"):
            assert f"0 SAFE v0 cases {found}, 1 more waived, 0 allowed" in done.out


@pytest.mark.parametrize(("reply", "code"), [(BAD, 0), ("Internal Server Error", 1)])
def test_a_waiver_excuses_a_failing_reply_but_no_missing_one(safe_gate: SafeGate, reply: str, code: int) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    base = commit()
    write_cases(Path("c.jsonl"), turn("a", assistant=reply))
    run = ("run", *ALL[2:], "--max-no-reply", "off")
    safe_gate(*run)
    safe_gate("bless", "--waivers", "--reason", "known", "--owner", "me", "--expires", "2099-01-01")
    assert safe_gate(*run, "--baseline", base, "--max-regressions", "0").code == code
    assert broken(report()) == ({("max-regressions", "synthesis")} if code else set())


def test_a_new_evaluator_does_not_change_how_the_rules_of_the_other_are_compared(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("T-0", assistant="What do you want from me here?", checks=["agency_language"]))
    configure({"profile": "standard"})
    base = commit()
    write_cases(Path("c.jsonl"), turn("T-0", assistant="You must go.", checks=["agency_language"]))
    configure({"profile": "spec"})
    write_batch(Path("b.json"), safe_case("s"))
    for inputs in (ALL[2:], ALL):
        done = safe_gate("run", *inputs, "--baseline", base, "--max-regressions", "0")
        assert ("max-regressions", "synthesis") in broken(report()), done.log
        assert report()["comparison"]["synthesis"]["cases"]["unseparated"] == 0


@pytest.mark.parametrize(
    ("flag", "typed"), [("--cases", "d.jsonl"), ("--safe-outputs", "o.jsonl"), ("--rules", "p.json")]
)
def test_compare_takes_no_path_that_names_a_file_on_neither_side(safe_gate: SafeGate, flag: str, typed: str) -> None:
    write()
    base = commit()
    for head in (".", base):
        inputs = ALL[:2] if flag == "--cases" else ALL
        refused(safe_gate("compare", base, head, *inputs, flag, typed), f"{typed}: matches no file")
    Path("c.jsonl").unlink()
    assert safe_gate("compare", base, ".", *ALL, *LOST).code == 0  # they are gone


def test_a_term_that_is_newly_forbidden_is_not_newly_used(safe_gate: SafeGate) -> None:
    said = {"signals": ["Fever"], "summary": "She went home.", "followup_questions": ["Who called the nurse?"]}
    write(case=lambda name: safe_case(name, output=said, **forbidding("nurse", "x")))
    base = commit()
    write(case=lambda name: safe_case(name, output=said, **forbidding("Nurse", "x", "who")))
    found = json.loads(safe_gate("compare", base, ".", *ALL, "--json").out)
    rules = {rule["rule"]: rule["value"] for rule in found["rules"] if rule["evaluator"] == "safe_v0"}
    assert rules["new-violations"] == 0


@pytest.mark.parametrize("evaluator", [ALL[:2], ALL[2:]])
def test_compare_of_runs_without_a_case_in_common_is_no_pass(safe_gate: SafeGate, evaluator: tuple[str, ...]) -> None:
    write()
    base = commit()
    write_batch(Path("b.json"), safe_case("other"))
    write_cases(Path("c.jsonl"), turn("other"))
    words = f"{base}: has no case in common with ., by id: there is nothing to compare"
    refused(safe_gate("compare", base, ".", *evaluator, *LOST), words)


def test_rules_on_the_baseline_judge_no_run_without_a_case_in_common(safe_gate: SafeGate) -> None:
    write()
    strict = ("--baseline", commit(), "--max-regressions", "0", "--max-unexpected-failures", "off")
    write_cases(Path("c.jsonl"), turn("other", assistant=BAD))
    refused(safe_gate("run", *ALL[2:], *strict, *LOST), "safe-gate: no rule judges these cases: ")
    said = "these rules judged nothing: max-regressions, max-score-drop."
    for case_id, rules in (("S-0", {"min-pass-rate", "max-regressions", "min-drop"}), ("other", {"min-pass-rate"})):
        write_batch(Path("b.json"), safe_case(case_id))
        done = safe_gate("run", *ALL, *strict, *LOST, "--max-score-drop", "0")
        assert (done.code, "No rule judges the Synthesis cases: " in done.out) == (0, True), done.log
        assert (f"No case is in both runs, so {said}" in done.out) == (case_id == "other")
        assert (report()["comparison"]["status"] == "inconclusive") == (case_id == "other")
        assert {one["evaluator"] for one in report()["rules"]} == {"safe_v0"}
        assert rules <= {one["rule"] for one in report()["rules"]}
    assert safe_gate("verify", "reports/safe-gate.json").code == 0
    assert safe_gate("run", *ALL, *strict, "--protect", "T-1").code == 1
    gone = {(rule, "synthesis") for rule in ("no-removed-cases", "protect")}
    assert broken(report()) == {("no-removed-cases", "safe_v0"), *gone}


def test_a_broken_rule_on_single_cases_names_them(safe_gate: SafeGate) -> None:
    write()
    base = commit()
    lost = [f"T-{i}" for i in range(5)]
    write(bad=("T-5",), missing=("S-1", *lost), case=lambda name: safe_case(name, output=VIOLATED))
    flags = ("--protect", "S-2", "T-5", "T-0", "--max-regressions", "1")
    done = safe_gate("run", *ALL, "--baseline", base, *flags)
    assert done.code == 1
    failing = [f"S-{i}" for i in (0, 2, 3, 4, 5)]
    assert {(rule["rule"], rule["evaluator"]): rule["names"] for rule in report()["rules"] if "names" in rule} == {
        ("no-removed-cases", "safe_v0"): ["S-1"],
        ("no-removed-cases", "synthesis"): lost,
        ("protect", "safe_v0"): ["S-2"],
        ("protect", "synthesis"): ["T-5", "T-0"],
        **{(rule, "safe_v0"): failing for rule in ("new-violations", "label-drops", "max-regressions")},
    }  # not T-5 by max-regressions, which allows one
    gone = "**1 SAFE v0 case of the baseline is gone, 0 allowed**: <code>S-1</code> (`no-removed-cases`)"
    assert gone in MARKDOWN.read_text("utf-8")
    assert '5 SAFE v0 cases newly use a forbidden term, 0 allowed: "S-0", "S-2", "S-3", "S-4", "S-5"' in done.out


def test_a_push_that_creates_a_branch_has_no_baseline_yet(gate: Gate) -> None:
    payload = {"after": "1" * 40, "before": "0" * 40}
    step = gate("pass", "--baseline", "base", event="push", payload=payload)
    words = "There is no baseline yet: this event has no base commit. Only the absolute rules were judged."
    assert (step.ran.code, words in step.summary) == (0, True)


def test_the_regression_of_the_examples_is_found(safe_gate: SafeGate, monkeypatch: Patch, tmp_path: Path) -> None:
    monkeypatch.chdir(REPOSITORY / "examples")
    batch, old, new = ("--safe-batch", "clinical/golden_set.json"), tmp_path / "old", tmp_path / "new"
    assert safe_gate("run", *batch, "--synthesis-cases", "empathy.jsonl", "--report-dir", old).code == 0
    regressed = ("--safe-outputs", "regressed/golden_set.outputs.jsonl", "--synthesis-cases", "regressed/empathy.jsonl")
    against = ("--baseline", old / "safe-gate.json", "--max-regressions", "0", "--report-dir", new)
    assert safe_gate("run", *batch, *regressed, *against).code == 1
    comparison = report(str(new / "safe-gate.json"))["comparison"]
    changes = [(one["id"], one["change"]) for name in ("safe_v0", "synthesis") for one in comparison[name]["changes"]]
    ids = ("I25-GOLDEN-002", "I25-GOLDEN-005", "EMP-007", "EMP-014", "EMP-018")
    assert changes == [(one, "newly failing") for one in ids]
    assert comparison["synthesis"]["cases"]["removed"] == [{"id": "EMP-024", "protected": False}]


def test_a_concern_whose_first_cases_a_change_brings_has_no_baseline_yet(safe_gate: SafeGate) -> None:
    write()
    base = commit()
    write_batch(Path("b.json"), safe_case("new", concern_id="New"))
    for text in ("full", "none"):
        done = safe_gate("run", *ALL, "--safe-concern", "New", "--baseline", base, "--text", text)
        words = "SAFE v0 has no baseline yet: no case of it is in the baseline."
        assert (done.code, words in done.out) == (0, True), done.log
    err = refused(safe_gate("compare", base, ".", *ALL, "--safe-concern", "Nwe"))
    assert err.startswith("--safe-concern: 'Nwe' matches no case")
    for setting in ({}, {"strictAH": True}):
        configure({"safe-concern": "New", "allow-missing": ["cases"]} | setting)
        assert safe_gate("run", *ALL, "--baseline", base).code == 0


def test_a_run_cannot_be_its_own_baseline_and_guards_without_one_are_named(safe_gate: SafeGate) -> None:
    write()
    refused(safe_gate("run", *ALL, "--baseline", "."), "baseline: is the working folder, which this run judges")
    run = ("run", *ALL, "--max-regressions", "0", "--protect", "T-1")
    said = "these rules judged nothing: protect, max-regressions.\n"
    first = ("--baseline", "no.json", "--allow-missing", "baseline")
    none = "No baseline is set, so nothing was compared, and"
    for flags, why in (((), none), (first, "There is no baseline yet, so")):
        done = safe_gate(*run, *flags)
        assert (done.code, f"{why} {said}" in done.out, done.err) == (0, True, "")
        done = safe_gate(*run, *flags, "--quiet")
        assert (done.code, done.out.startswith("Gate: PASS"), done.err) == (0, True, f"{why} {said}")
    assert safe_gate("run", *ALL, "--quiet").err == ""
