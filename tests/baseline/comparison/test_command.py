"""`compare`, and comparisons with rules, waivers and evaluators that changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import REPOSITORY, Ran, report, safe_case, turn, write_batch, write_cases
from tests.support.git import commit_here as commit
from tests.support.github import Gate
from tests.support.two_runs import ALL, broken, compared, write

EXAMPLES = REPOSITORY / "examples"


def test_two_commits_are_compared_each_by_its_own_config(safe_gate: Callable[..., Ran]) -> None:
    Path("safe.config.json").write_text(json.dumps({"safe-batch": ["b.json"], "synthesis-cases": ["c.jsonl"]}))
    write()
    old = commit()
    write(bad=("T-0",), missing=("T-5",))
    new = commit()
    write()
    done = safe_gate("compare", old, new, "--out", "difference.json")
    assert done.code == 1, done.log
    assert "1 newly failing, 0 fixed, 0 still failing, 1 removed" in done.out
    assert {rule["rule"] for rule in compared("difference.json")["rules"] if not rule["passed"]} == {"no-removed-cases"}
    back = safe_gate("compare", new, old)
    assert back.code == 0, back.log
    assert "0 newly failing, 1 fixed, 0 still failing, 1 added" in back.out
    assert safe_gate("compare", old).code == 0


def test_stand_ins_are_compared_with_stand_ins(safe_gate: Callable[..., Ran]) -> None:
    terms = {"expectations": {**safe_case("x")["expectations"], "followup_questions": {"forbidden_terms": ["zebra"]}}}
    write(case=lambda name: safe_case(name, **terms))
    safe_gate("run", *ALL, "--report-dir", "full")
    safe_gate("run", *ALL, "--report-dir", "none", "--text", "none")
    for base, head in (("full", "none"), ("none", "full"), ("none", "none")):
        done = safe_gate("compare", f"{base}/safe-gate.json", f"{head}/safe-gate.json")
        assert done.code == 0, done.log
    violated = {"signals": [], "summary": "She went home.", "followup_questions": ["The policy?"]}
    write(case=lambda name: safe_case(name, output=violated))
    commit()
    safe_gate("run", *ALL, "--report-dir", "full")
    safe_gate("run", *ALL, "--report-dir", "none", "--text", "none")
    for base, head in (
        ("HEAD", "full/safe-gate.json"),
        ("none/safe-gate.json", "HEAD"),
        ("HEAD", "none/safe-gate.json"),
    ):
        for text in ("full", "none"):
            done = safe_gate("compare", base, head, *ALL, "--text", text)
            assert done.code == 0, done.log
    reworded = violated | {"followup_questions": ["Which policy?"]}
    write(case=lambda name: safe_case(name, output=reworded))
    done = safe_gate("compare", "none/safe-gate.json", ".", *ALL)  # a term is not new because its stand-in is another
    assert done.code == 0, done.log
    write(case=lambda name: safe_case(name, **terms))
    safe_gate("run", *ALL, "--report-dir", "full")
    write(
        case=lambda name: safe_case(
            name, **terms, output={"signals": [], "summary": "secret", "followup_questions": ["zebra"]}
        )
    )
    safe_gate("run", *ALL, "--text", "none", "--baseline", "full/safe-gate.json")
    assert report()["comparison"]["safe_v0"]["changes"]
    for name in ("reports/safe-gate.json", "reports/safe-gate.md"):
        assert "zebra" not in Path(name).read_text()
        assert "went home" not in Path(name).read_text()


@pytest.mark.parametrize(
    "more",
    [
        (),
        (
            "--allow-missing",
            "baseline",
        ),
    ],
)
def test_a_report_does_not_replace_its_baseline(safe_gate: Callable[..., Ran], more: tuple[str, ...]) -> None:
    write()
    arguments = ("run", *ALL, "--max-unexpected-failures", "1", "--baseline", "./reports/safe-gate.json")
    assert (
        "reports/safe-gate.json is a file that this run reads"
        in safe_gate(*arguments, "--allow-missing", "baseline").err
    )
    safe_gate("run", *ALL)
    before = Path("reports/safe-gate.json").read_bytes()
    ran = safe_gate(*arguments, *more)
    assert ran.code == 3
    assert "report-dir: reports/safe-gate.json is a file that this run reads" in ran.err
    assert Path("reports/safe-gate.json").read_bytes() == before


def test_compare_lets_the_same_failures_pass_as_a_run(safe_gate: Callable[..., Ran]) -> None:
    write()
    base = commit()
    violated = {"signals": [], "summary": "", "followup_questions": ["The policy?"]}
    write(case=lambda name: safe_case(name, **({"output": violated} if name == "S-1" else {})))
    safe_gate("run", *ALL, "--baseline", base)
    assert broken(report()) == {("new-violations", "safe_v0"), ("label-drops", "safe_v0")}
    assert safe_gate("compare", base, ".", *ALL).code == 1
    safe_gate("bless", "--waivers", "--reason", "known", "--owner", "me", "--expires", "2099-01-01")
    assert safe_gate("run", *ALL, "--baseline", base, "--protect", "S-1").code == 1, "a waiver protects no case less"
    assert safe_gate("run", *ALL, "--baseline", base).code == 0
    for head in (".", "reports/safe-gate.json", commit()):
        done = safe_gate("compare", base, head, *ALL)
        assert done.code == 0, done.log
        assert "0 SAFE v0 cases newly use a forbidden term, 1 more waived, 0 allowed" in done.out
        assert "0 SAFE v0 cases fall from Pass to Fail, 1 more waived, 0 allowed" in done.out


def test_a_new_evaluator_does_not_change_how_the_rules_of_the_other_are_compared(safe_gate: Callable[..., Ran]) -> None:
    reply = "What can we do to help her now? What do you want from me here?"
    write_cases(Path("c.jsonl"), turn("T-0", assistant=reply, checks=["agency_language"]))
    Path("safe.config.json").write_text('{"profile": "standard"}', "utf-8")
    base = commit()
    write_cases(Path("c.jsonl"), turn("T-0", assistant="You must go.", checks=["agency_language"]))
    Path("safe.config.json").write_text('{"profile": "spec"}', "utf-8")
    write_batch(Path("b.json"), safe_case("s"))
    for inputs in (ALL[2:], ALL):
        done = safe_gate("run", *inputs, "--baseline", base, "--max-regressions", "0")
        assert ("max-regressions", "synthesis") in broken(report()), done.log
        assert report()["comparison"]["synthesis"]["cases"]["unseparated"] == 0


def test_compare_takes_no_path_that_names_a_file_on_neither_side(safe_gate: Callable[..., Ran]) -> None:
    write()
    base = commit()
    for flag, typed in (("--cases", "d.jsonl"), ("--safe-outputs", "o.jsonl"), ("--rules", "p.json")):
        flags = [*ALL, flag, typed] if flag != "--cases" else [*ALL[:2], flag, typed]
        for head in (".", base):
            ran = safe_gate("compare", base, head, *flags)
            assert ran.code == 3
            assert f"{typed}: matches no file" in ran.err
    Path("c.jsonl").unlink()
    assert safe_gate("compare", base, ".", *ALL, "--allow-missing", "cases").code == 0  # they are gone


@pytest.mark.parametrize("out", ["old/safe-gate.json", "b.json", "c.jsonl", "safe.config.json"])
def test_compare_replaces_nothing_that_it_reads(safe_gate: Callable[..., Ran], out: str) -> None:
    write()
    safe_gate("run", *ALL, "--report-dir", "old")
    Path("safe.config.json").write_text('{"safe-batch": ["b.json"], "synthesis-cases": ["c.jsonl"]}', "utf-8")
    before = Path(out).read_bytes()
    refused = safe_gate("compare", "old/safe-gate.json", ".", "--out", out)
    assert (refused.code, Path(out).read_bytes()) == (3, before)
    assert f"--out: names {out}, which this run reads, and must not replace" in refused.err
    assert safe_gate("compare", "old/safe-gate.json", ".", "--out", "new.json").code == 0


def test_a_term_that_is_newly_forbidden_is_not_newly_used(safe_gate: Callable[..., Ran]) -> None:
    said = {"signals": ["Fever"], "summary": "She went home.", "followup_questions": ["Who called the nurse?"]}

    def case(name: str, *terms: str) -> dict[str, Any]:
        expectations = {**safe_case(name)["expectations"], "followup_questions": {"forbidden_terms": [*terms]}}
        return safe_case(name, output=said, expectations=expectations)

    write(case=lambda name: case(name, "nurse", "x"))
    base = commit()
    write(case=lambda name: case(name, "Nurse", "x", "who"))
    safe_gate("compare", base, ".", *ALL, "--out", "o.json")
    rules = {rule["rule"]: rule["value"] for rule in compared("o.json")["rules"] if rule["evaluator"] == "safe_v0"}
    assert rules["new-violations"] == 0


@pytest.mark.parametrize("evaluator", [ALL[:2], ALL[2:]])
def test_compare_of_runs_without_a_case_in_common_is_no_pass(
    safe_gate: Callable[..., Ran], evaluator: tuple[str, ...]
) -> None:
    write()
    base = commit()
    write_batch(Path("b.json"), safe_case("other"))
    write_cases(Path("c.jsonl"), turn("other"))
    done = safe_gate("compare", base, ".", *evaluator, "--allow-missing", "cases")
    assert done.code == 3
    assert f"{base}: has no case in common with ., by id: there is nothing to compare" in done.err


@pytest.mark.parametrize("text", ["full", "none"])
def test_a_broken_rule_on_single_cases_names_them(safe_gate: Callable[..., Ran], text: str) -> None:
    write()
    base = commit()
    violated = {"signals": [], "summary": "", "followup_questions": ["The policy?"]}
    lost = tuple(f"T-{i}" for i in range(5))
    write(bad=("T-5",), missing=("S-1", *lost), case=lambda name: safe_case(name, output=violated))
    flags = ("--protect", "S-2", "T-5", "T-0", "--max-regressions", "1", "--text", text)
    done = safe_gate("run", *ALL, "--baseline", base, *flags)
    assert done.code == 1
    named = {(rule["rule"], rule["evaluator"]): rule["names"] for rule in report()["rules"] if "names" in rule}
    failing = [f"S-{i}" for i in (0, 2, 3, 4, 5)]
    assert named == {  # not T-5 by max-regressions, which allows one
        ("no-removed-cases", "safe_v0"): ["S-1"],
        ("no-removed-cases", "synthesis"): list(lost),
        ("protect", "safe_v0"): ["S-2"],
        ("protect", "synthesis"): ["T-5", "T-0"],
        ("new-violations", "safe_v0"): failing,
        ("label-drops", "safe_v0"): failing,
        ("max-regressions", "safe_v0"): failing,
    }
    of_scores = [rule["evaluator"] for rule in report()["rules"] if rule["rule"] in ("new-violations", "label-drops")]
    assert of_scores == ["safe_v0"] * 2
    markdown = Path("reports/safe-gate.md").read_text()
    assert "**1 SAFE v0 case of the baseline is gone, 0 allowed**: <code>S-1</code> (`no-removed-cases`)" in markdown
    assert '5 SAFE v0 cases newly use a forbidden term, 0 allowed: "S-0", "S-2", "S-3", "S-4", "S-5"' in done.out
    assert ("policy" in done.out + markdown) == (text == "full")
    assert safe_gate("validate", "reports/safe-gate.json").code == 0


def test_a_push_that_creates_a_branch_has_no_baseline_yet(gate: Gate) -> None:
    commit_, before = "1" * 40, "0" * 40
    step = gate("pass", "--baseline", "base", event="push", payload={"after": commit_, "before": before})
    assert step.ran.code == 0
    assert (
        "There is no baseline yet: this event has no base commit. Only the absolute rules were judged." in step.summary
    )


def test_the_regression_planted_in_the_examples_is_found(
    safe_gate: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(EXAMPLES.parent)
    batch = ("--safe-batch", "examples/clinical/golden_set.json")
    old, new = tmp_path / "old", tmp_path / "new"
    cases = ("--synthesis-cases", "examples/empathy.jsonl")
    assert safe_gate("run", *batch, *cases, "--report-dir", old).code == 0
    outputs = ("--safe-outputs", "examples/regressed/golden_set.outputs.jsonl")
    cases = ("--synthesis-cases", "examples/regressed/empathy.jsonl")
    against = ("--baseline", old / "safe-gate.json", "--max-regressions", "0", "--report-dir", new)
    assert safe_gate("run", *batch, *outputs, *cases, *against).code == 1
    comparison = report(str(new / "safe-gate.json"))["comparison"]
    changes = {
        name: {one["id"]: one["change"] for one in comparison[name]["changes"]} for name in ("safe_v0", "synthesis")
    }
    assert changes == {
        "safe_v0": dict.fromkeys(("I25-GOLDEN-002", "I25-GOLDEN-005"), "newly failing"),
        "synthesis": dict.fromkeys(("EMP-007", "EMP-014", "EMP-018"), "newly failing"),
    }
    assert comparison["synthesis"]["cases"]["removed"] == [{"id": "EMP-024", "protected": False}]


def test_a_concern_whose_first_cases_a_change_brings_has_no_baseline_yet(safe_gate: Callable[..., Ran]) -> None:
    write()
    base = commit()
    write_batch(Path("b.json"), safe_case("new", concern_id="New"))
    flags = ("--safe-batch", "b.json", "--synthesis-cases", "c.jsonl")
    for text in ("full", "none"):
        done = safe_gate("run", *flags, "--safe-concern", "New", "--baseline", base, "--text", text)
        assert done.code == 0, done.log
        said = "SAFE v0 has no baseline yet: no case of it is in the baseline."
        assert said in done.out
    done = safe_gate("compare", base, ".", *flags, "--safe-concern", "Nwe")
    assert (done.code, done.err.startswith("safe-concern: 'Nwe' matches no case")) == (3, True), done.log


def test_a_run_cannot_be_its_own_baseline_and_guards_without_one_are_named(safe_gate: Callable[..., Ran]) -> None:
    write()
    done = safe_gate("run", *ALL, "--baseline", ".")
    assert done.code == 3
    assert "baseline: is the working folder, which this run judges" in done.err
    done = safe_gate("run", *ALL, "--max-regressions", "0", "--protect", "T-1")
    assert done.code == 0
    assert (
        "No baseline is set, so nothing was compared, and these rules judged nothing: protect, max-regressions."
        in done.out
    )
