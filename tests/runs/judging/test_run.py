"""`safe-gate run` from end to end: verdicts, reports, step outputs, summary, annotations, determinism."""

from __future__ import annotations

import hashlib
import html
import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from safe_gate.settings.options import GROUPS, settings
from tests.support.cases import (
    BAD,
    DATA,
    GOOD,
    REPOSITORY,
    SILENT,
    Ran,
    report,
    safe_case,
    turn,
    write_batch,
    write_cases,
)
from tests.support.github import outputs

SafeGate = Callable[..., Ran]


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set what the Actions runner sets."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_OUTPUT", "output")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary")


@pytest.mark.parametrize(
    ("safe_passes", "synthesis_passes", "code", "broken"),
    [
        (True, True, 0, []),
        (True, False, 1, ["max-unexpected-failures"]),
        (False, True, 1, ["min-pass-rate"]),
        (False, False, 1, ["min-pass-rate", "max-unexpected-failures"]),
    ],
)
def test_one_verdict_over_both_evaluators(
    safe_gate: SafeGate, safe_passes: bool, synthesis_passes: bool, code: int, broken: list[str]
) -> None:
    output = safe_case("x")["output"] | ({} if safe_passes else {"summary": ""})
    write_batch(Path("b.json"), safe_case("s", output=output))
    write_cases(Path("c.jsonl"), turn("t") if synthesis_passes else turn("t", assistant=BAD))
    ran = safe_gate("run", "--safe-batch", "b", "--synthesis-cases", "c.jsonl")
    assert ran.code == code
    found = report()
    assert found["verdict"] == ("fail" if broken else "pass")
    assert [rule["rule"] for rule in found["rules"] if not rule["passed"]] == broken
    assert f"Gate: {found['verdict'].upper()}" in ran.out
    markdown = Path("reports/safe-gate.md").read_text("utf-8")
    assert markdown.startswith("### ❌ SAFE Gate" if broken else "### ✅ SAFE Gate passed · all 2 rules hold")


def test_every_rule_can_be_switched_on_and_broken(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), safe_case("s", output=SILENT))
    write_cases(
        Path("c.jsonl"),
        turn("t", assistant=BAD, expected={"agency_language": True}),
        turn("n", tags=["negative_example"]),
    )
    rules = ["max-unexpected-passes=0", "min-label-accuracy=0.5", "max-fail-labels=0"]
    ran = safe_gate("run", "--safe-batch", "b", "--synthesis-cases", "c.jsonl", *(f"--{rule}" for rule in rules))
    assert ran.code == 1
    assert {rule["rule"]: rule["passed"] for rule in report()["rules"]} == dict.fromkeys(
        ("min-pass-rate", "max-fail-labels", "max-unexpected-failures", "max-unexpected-passes", "min-label-accuracy"),
        False,
    )
    for line in ("1 negative example passes, 0 allowed", "Label accuracy 0.0% is below 50.0%: 0 of 1 label agrees"):
        assert line in ran.out


def test_cases_to_review_show_their_evidence_when_they_break_the_gate(safe_gate: SafeGate) -> None:
    output = safe_case("x")["output"] | {"followup_questions": ["Which policy?"]}
    expectations = safe_case("x")["expectations"] | {"followup_questions": {"forbidden_terms": ["policy", "rule"]}}
    write_batch(Path("b.json"), safe_case("reviewed", output=output, expectations=expectations))
    broken = safe_gate("run", "--safe-batch", "b").out
    assert 'reviewed (b.json:1) Review: AH 0.50\n    forbidden term "policy"\n' in broken
    assert "Evidence:" not in safe_gate("run", "--safe-batch", "b", "--min-pass-rate", "0").out


def test_a_required_accuracy_without_labels_is_no_pass(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("t"))
    assert safe_gate("run", "--synthesis-cases", "c.jsonl", "--min-label-accuracy", "0").code == 1
    assert report()["rules"][1]["value"] is None


@pytest.mark.usefixtures("runner")
def test_a_run_without_inputs_says_what_to_pass_and_publishes_the_error(safe_gate: SafeGate) -> None:
    ran = safe_gate("run")
    assert ran.code == 3
    assert "safe-batch or synthesis-cases: is not set, so there is nothing to judge" in ran.err
    found = report()
    assert (found["verdict"], found["safe_v0"], found["synthesis"]) == ("error", None, None)
    assert len(found["problems"]) == 1
    assert outputs(Path("output").read_text("utf-8"))["verdict"] == "error"
    assert "could not judge" in Path("summary").read_text("utf-8")
    assert "::error title=SAFE Gate%3A cannot judge::" in ran.out


@pytest.mark.usefixtures("runner")
def test_wrong_settings_reach_outputs_summary_and_annotations_too(
    safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INPUT_MIN-PASSRATE", "1")
    ran = safe_gate("run")
    assert ran.code == 3
    assert outputs(Path("output").read_text("utf-8"))["verdict"] == "error"
    assert "INPUT&#95;MIN-PASSRATE" in Path("summary").read_text("utf-8")
    assert "::error" in ran.out


@pytest.mark.usefixtures("runner")
def test_step_outputs_summary_and_annotations_of_a_failed_run(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("t", assistant=BAD, expected={"agency_language": False}), turn("u"))
    batch = DATA / "safe_v0/I25_batch_1.json"
    ran = safe_gate("run", "--safe-batch", batch, "--synthesis-cases", "c.jsonl")
    assert ran.code == 1
    assert outputs(Path("output").read_text("utf-8")) == {
        "verdict": "fail",
        "pass-rate": "0.4",
        "unexpected-failures": "1",
        "label-accuracy": "1.0",
        "total-cases": "7",
        "sink-status": "",
        "report-json": "reports/safe-gate.json",
        "report-markdown": "reports/safe-gate.md",
        "reports": "reports/safe-gate.json\nreports/safe-gate.md",
        "comment-status": "skipped-no-pull-request",
        "comment-file": "reports/safe-gate.comment.json",
        "comment-url": "",
    }
    assert Path("summary").read_text("utf-8").startswith("### ❌ SAFE Gate failed · 2 of 2 rules broken")
    # The cases after the rules, failing ones first, each at its line where that lies in the repository, else with its path.
    annotations = [line.partition("%0A")[0] for line in ran.out.splitlines() if line.startswith("::")]
    assert annotations == [
        "::error title=SAFE Gate%3A min-pass-rate::Pass rate 40.0%25 is below 80.0%25: 2 of 5 SAFE v0 cases labelled Pass (95 %25 interval 12 to 77 %25)",
        "::error title=SAFE Gate%3A max-unexpected-failures::1 unexpected failure, 0 allowed",
        "::error title=SAFE Gate%3A t,file=c.jsonl,line=1::fails agency language, unverifiable reassurance, topic pivot",
        f"::warning title=SAFE Gate%3A I25-BATCH1-002::{batch}:63: Review: CR 0.67, AC 0.50",
        f"::warning title=SAFE Gate%3A I25-BATCH1-003::{batch}:95: Review: AH 0.50",
        f"::warning title=SAFE Gate%3A I25-BATCH1-005::{batch}:164: Review: AC 0.50",
    ]


@pytest.mark.usefixtures("runner")
def test_problems_are_annotated_on_the_data_ten_at_most(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), *(turn(str(i), checks=[]) for i in range(12)))
    annotations = [line for line in safe_gate("run", "--synthesis-cases", "c.jsonl").out.splitlines() if "::" in line]
    assert len(annotations) == 10
    assert annotations[0].startswith(
        "::error title=SAFE Gate%3A cannot judge,file=c.jsonl,line=1::c.jsonl:1: 0: checks"
    )
    assert "3 more problems" in annotations[-1]


@pytest.mark.usefixtures("runner")
def test_failing_cases_are_annotated_at_their_lines_ten_of_a_level_at_most(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), *(turn(f"t{i}", assistant=BAD) for i in range(1, 16)))
    half = {"signals": [], "summary": "fever", "followup_questions": ["policy"]}  # CR 1, AH 0, AC 0
    write_batch(Path("b.json"), safe_case("s", output=SILENT), safe_case("r", output=half))
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl", "--safe-batch", "b")
    found = [line for line in ran.out.splitlines() if line.startswith("::")]
    errors = [line for line in found if line.startswith("::error")]
    assert len(errors) == 10
    assert errors[0].startswith("::error title=SAFE Gate%3A min-pass-rate::Pass rate 0.0%25 is below 80.0%25: ")
    assert errors[1] == "::error title=SAFE Gate%3A max-unexpected-failures::15 unexpected failures, 0 allowed"
    assert errors[2].startswith(
        "::error title=SAFE Gate%3A s,file=b.json,line=1::Fail: CR 0.00, AC 0.00"
        '%0Amissing signal "fever"%0Amissing phrase "went home"'
    )
    assert errors[4].startswith("::error title=SAFE Gate%3A t1,file=c.jsonl,line=1::fails agency language, ")
    assert errors[-1] == "::error title=SAFE Gate::10 more cases: see the log and the report"


@pytest.mark.usefixtures("runner")
def test_a_broken_rule_on_labels_names_the_cases_that_disagree(safe_gate: SafeGate) -> None:
    wrong, right = ({"agency_language": label} for label in (False, True))
    labelled = [
        turn(f"t{i}", expected=right if i % 2 else wrong, tags=["all", "odd" if i % 2 else "even"]) for i in range(14)
    ]
    write_cases(Path("c.jsonl"), *labelled, turn("unlabelled"))
    group = {name: {"min-label-accuracy": least} for name, least in (("even", 1), ("odd", 1), ("all", 0.5))}
    Path("safe.config.json").write_text(json.dumps({"tags": group, "min-group": 1}), "utf-8")
    limits = "--min-label-accuracy", "0.8", "--min-label-accuracy-agency-language", "0.8"
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl", *limits)
    assert ran.code == 1
    rules = json.loads(Path("reports/safe-gate.json").read_text("utf-8"))["rules"]
    disagree = [f"t{i}" for i in range(0, 14, 2)]
    assert [(rule["rule"], rule.get("group", "")) for rule in rules if rule.get("names") == disagree] == [
        ("min-label-accuracy", ""),
        ("min-label-accuracy-agency-language", ""),
        ("min-label-accuracy", "even"),
    ]
    assert all("names" not in rule for rule in rules if rule["passed"])
    said = (
        "Label accuracy 50.0% is below 80.0%: 7 of 14 labels agree (95 % interval 27 to 73 %), those of 7 cases do not"
    )
    assert f'{said}: "t0", "t2", "t4", "t6", "t8" and 2 more' in ran.out
    assert f'{said.replace("%", "%25")}: "t0"' in ran.out  # the annotation
    assert "those of 7 cases do not: <code>t0</code>, " in Path("reports/safe-gate.md").read_text("utf-8")
    assert safe_gate("validate", "reports/safe-gate.json").code == 0


def test_a_broken_rule_on_the_labels_of_one_check_names_no_case_for_another(safe_gate: SafeGate) -> None:
    checks = "agency_language", "topic_pivot"
    write_cases(
        Path("c.jsonl"), *(turn(check, expected=dict.fromkeys(checks, True) | {check: False}) for check in checks)
    )
    limits = [word for check in checks for word in (f"--min-label-accuracy-{check.replace('_', '-')}", "1")]
    assert safe_gate("run", "--synthesis-cases", "c.jsonl", *limits).code == 1
    rules = json.loads(Path("reports/safe-gate.json").read_text("utf-8"))["rules"]
    assert [rule["names"] for rule in rules if "label" in rule["rule"]] == [[check] for check in checks]


@pytest.mark.usefixtures("runner")
def test_the_broken_rules_of_many_groups_leave_room_for_cases(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), *(turn(f"t{i}", assistant=BAD, tags=[f"g{i % 9}"]) for i in range(18)))
    tags = {f"g{i}": {"max-unexpected-failures": 0, "min-pass-rate": 1} for i in range(9)}
    Path("safe.config.json").write_text(json.dumps({"tags": tags, "min-group": 1}), "utf-8")
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl")
    errors = [line for line in ran.out.splitlines() if line.startswith("::error")]
    assert len(errors) == 10
    assert errors[4] == "::error title=SAFE Gate::15 more rules are broken: see the log and the report"
    assert all("file=c.jsonl" in line for line in errors[5:9])
    assert errors[9] == "::error title=SAFE Gate::14 more cases: see the log and the report"


@pytest.mark.usefixtures("runner")
def test_within_what_the_rules_allow_no_case_is_an_error(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("t", assistant=BAD), turn("n", tags=["negative_example"]))
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl", "--max-unexpected-failures", "1")
    assert ran.code == 0
    assert [line.partition("::f")[0] for line in ran.out.splitlines() if line.startswith("::")] == [
        "::warning title=SAFE Gate%3A t,file=c.jsonl,line=1",
        "::notice title=SAFE Gate%3A n,file=c.jsonl,line=2::negative example passes",
    ]


@pytest.mark.usefixtures("runner")
def test_what_the_rules_allow_does_not_crowd_out_what_breaks_one(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), *(safe_case(f"s{i}", output=SILENT) for i in range(250)))
    write_cases(Path("c.jsonl"), *(turn(f"t{i}", assistant=BAD) for i in range(3)))
    ran = safe_gate("run", "--safe-batch", "b", "--synthesis-cases", "c.jsonl", "--min-pass-rate", "0")
    assert ran.code == 1
    errors = [line for line in ran.out.splitlines() if line.startswith("::error")]
    assert errors[0] == "::error title=SAFE Gate%3A max-unexpected-failures::3 unexpected failures, 0 allowed"
    assert [error[:39] for error in errors[1:]] == [f"::error title=SAFE Gate%3A t{i},file=c.js" for i in range(3)]
    warnings = [line for line in ran.out.splitlines() if line.startswith("::warning")]
    assert warnings[0].startswith("::warning title=SAFE Gate%3A s0,file=b.json,line=1::Fail: CR 0.00, AC 0.00")
    assert warnings[5:] == [
        "::warning title=SAFE Gate::245 more cases: see the log and the report"
    ]  # the runner shows 10
    assert listed()[:4] == ["t0", "t1", "t2", "s0"]


@pytest.mark.untraced
@pytest.mark.usefixtures("runner")
def test_where_only_unexpected_passes_break_the_gate_they_come_first(safe_gate: SafeGate) -> None:
    failing = [turn(f"t{i}", assistant=BAD) for i in range(250)]
    write_cases(Path("c.jsonl"), *failing, turn("n", tags=["negative_example"]))
    limits = "--max-unexpected-failures", "999", "--max-unexpected-passes", "0"
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl", *limits)
    assert ran.code == 1
    found = [line.partition("::f")[0] for line in ran.out.splitlines() if line.startswith("::")]
    assert found[:3] == [
        "::error title=SAFE Gate%3A max-unexpected-passes::1 negative example passes, 0 allowed",
        "::warning title=SAFE Gate%3A n,file=c.jsonl,line=251::negative example passes",
        "::warning title=SAFE Gate%3A t0,file=c.jsonl,line=1",
    ]
    assert listed()[:2] == ["n", "t0"]
    evidence = ran.out[ran.out.index("Evidence:\n") :].split("\n")
    assert evidence[1] == "  n (c.jsonl:251) negative example passes"
    safe_gate("run", "--synthesis-cases", "c.jsonl", "--max-unexpected-passes", "0")
    assert listed()[0] == "t0"


def test_only_a_command_that_has_verbose_is_said_to_have_it(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), *(safe_case(f"s{i}", output=SILENT) for i in range(120)))
    ran = safe_gate("run", "--safe-batch", "b", "--baseline", "reports/safe-gate.json", "--no-baseline-required")
    assert "\n... and 110 more: see the JSON report\n" in ran.out
    assert "  ... and 110 more: see the JSON report\n" in ran.out
    assert "--verbose" not in ran.out
    scored = safe_gate("score", "--concern", "I25", "--batch", "b", "--format", "console")
    assert "... and 20 more: see the JSON report, or --verbose\n" in scored.out


def listed() -> list[str]:
    """Return the ids of the cases to look at, as the report shows them."""
    text = Path("reports/safe-gate.md").read_text("utf-8")
    return re.findall(r"^\| \S+ \| \[?<code>([^<]+)</code>", text[text.index("**Cases to look at**") :], re.MULTILINE)


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("marked", [".git", "GITHUB_WORKSPACE"])
def test_a_step_in_a_folder_of_the_repository_names_files_from_its_root(
    safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, marked: str
) -> None:
    folder = tmp_path / "checkout" / "my evals"
    folder.mkdir(parents=True)
    if marked == ".git":
        (tmp_path / "checkout" / ".git").write_text("gitdir: elsewhere", "utf-8")
        monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    else:
        monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / "checkout"))
    monkeypatch.setenv("GITHUB_REPOSITORY", "org/repo")
    monkeypatch.setenv("GITHUB_SHA", "abc123")
    monkeypatch.chdir(folder)
    write_cases(folder / "c.jsonl", turn("t", assistant=BAD))
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl")
    assert ",file=my evals/c.jsonl,line=1::" in ran.out
    assert "https://github.com/org/repo/blob/abc123/my%20evals/c.jsonl#L1" in Path("summary").read_text("utf-8")


@pytest.mark.parametrize(
    ("path", "inside"), [("../c.jsonl", "my evals/c.jsonl"), ("../../c.jsonl", "c.jsonl"), ("../../../c.jsonl", "")]
)
@pytest.mark.usefixtures("runner")
def test_a_case_above_the_working_folder_has_its_place_if_the_repository_holds_it(
    safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: str, inside: str
) -> None:
    folder = tmp_path / "checkout" / "my evals" / "chat"
    folder.mkdir(parents=True)
    (tmp_path / "checkout" / ".git").mkdir()
    environ = {"STEP_SUMMARY": str(tmp_path / "summary"), "REPOSITORY": "org/repo", "SHA": "abc123"}
    for name, value in environ.items():
        monkeypatch.setenv(f"GITHUB_{name}", value)
    monkeypatch.chdir(folder)
    write_cases(folder / path, turn("t", assistant=BAD))
    ran = safe_gate("run", "--synthesis-cases", path)
    summary = (tmp_path / "summary").read_text("utf-8")
    if inside:
        assert f",file={inside},line=1::" in ran.out
        assert f"https://github.com/org/repo/blob/abc123/{inside.replace(' ', '%20')}#L1)" in summary
    else:
        assert re.search(r"^::error title=SAFE Gate%3A t::\.\./\.\./\.\./c\.jsonl:1: fails", ran.out, re.MULTILINE)
        assert "/blob/" not in summary
        shown = html.unescape(summary.replace("<wbr>", ""))
        assert "| <code>t</code><br><code>../../../c.jsonl:1</code> |" in shown


@pytest.mark.usefixtures("runner")
def test_outside_of_a_repository_files_are_named_from_the_working_folder(
    safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_WORKSPACE", "/nowhere")
    write_cases(Path("c.jsonl"), turn("t", assistant=BAD))
    assert ",file=c.jsonl,line=1::" in safe_gate("run", "--synthesis-cases", "c.jsonl").out


def test_cases_link_to_their_line_at_the_head_commit(safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary")
    monkeypatch.setenv("GITHUB_REPOSITORY", "org/repo")
    monkeypatch.setenv("GITHUB_SHA", "abc123")
    write_cases(Path("my cases.jsonl"), turn("t"), turn("u", assistant=BAD))
    safe_gate("run", "--synthesis-cases", "my cases.jsonl")
    assert "[<code>u</code>](https://github.com/org/repo/blob/abc123/my%20cases.jsonl#L2)" in Path("summary").read_text(
        "utf-8"
    )


def test_the_same_run_twice_gives_the_same_bytes(safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch) -> None:
    def once() -> tuple[bytes, bytes]:
        safe_gate("run", "--safe-batch", DATA / "safe_v0/I25_batch_1.json", "--synthesis-cases", "c.jsonl")
        return Path("reports/safe-gate.json").read_bytes(), Path("reports/safe-gate.md").read_bytes()

    write_cases(Path("c.jsonl"), turn("t", assistant=BAD))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1736937000")
    first = once()
    assert first == once()
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    later, markdown = once()
    blank = rb'"generated_at": "[^"]+"'
    assert re.sub(blank, b"", later) == re.sub(blank, b"", first[0])
    assert markdown == first[1]


def test_a_report_folder_that_cannot_be_written_is_an_error(safe_gate: SafeGate) -> None:
    Path("reports").write_text("in the way")
    write_cases(Path("c.jsonl"), turn("t"))
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl")
    assert ran.code == 3
    assert "reports/safe-gate.json: cannot be written" in ran.err


def test_no_earlier_verdict_stands_beside_a_report_that_cannot_be_written(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    assert safe_gate("run", "--cases", "c.jsonl").code == 0
    card = Path("reports/safe-gate.md")
    assert "passed" in card.read_text("utf-8").splitlines()[0]
    Path("reports/safe-gate.json").unlink()
    Path("reports/safe-gate.json").mkdir()
    assert safe_gate("run", "--cases", "c.jsonl").code == 3
    assert "has no verdict" in card.read_text("utf-8").splitlines()[0]


def test_a_surprise_is_one_sentence_and_no_pass(safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("oh\nno ##[error]")

    monkeypatch.setattr("safe_gate.inputs.rules.recipe", broken)
    write_cases(Path("c.jsonl"), turn("t"))
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl")
    assert ran.code == 3
    assert len(ran.err.splitlines()) == 2
    assert report()["verdict"] == "error"
    assert "internal error: RuntimeError" in ran.err
    assert "##[" not in ran.err


def test_a_run_without_memory_says_so(safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("safe_gate.inputs.rules.recipe", full)
    write_cases(Path("c.jsonl"), turn("t"))
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl")
    assert ran.code == 3
    assert report()["verdict"] == "error"
    words = "safe-gate: ran out of memory; give it more, set fewer jobs, or split the largest file"
    assert ran.err.splitlines()[0] == words


def test_a_surprise_that_cannot_be_told_is_no_pass_either(safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("safe_gate.inputs.rules.recipe", broken)
    monkeypatch.setitem(sys.modules, "safe_gate.render.untrusted", None)
    write_cases(Path("c.jsonl"), turn("t"))
    ran = safe_gate("eval", "--cases", "c.jsonl")
    assert (ran.code, ran.err) == (3, "safe-gate: internal error: OSError\n")


def test_an_interrupt_ends_quietly(safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("safe_gate.inputs.rules.recipe", interrupted)
    write_cases(Path("c.jsonl"), turn("t"))
    assert safe_gate("run", "--synthesis-cases", "c.jsonl") == Ran(130, "", "")


def test_help_and_version_exit_0(safe_gate: SafeGate) -> None:
    assert safe_gate("--version").out.startswith("safe-gate ")
    for command in ("run", "score", "eval", "validate"):
        ran = safe_gate(command, "--help")
        assert ran.code == 0
        assert "exit codes: 0 " in ran.out


def test_a_command_line_that_cannot_be_read_leaves_the_reports_of_the_last_run(
    safe_gate: SafeGate, in_actions: Callable[..., None]
) -> None:
    write_cases(Path("c.jsonl"), turn("t"))
    assert safe_gate("run", "--cases", "c.jsonl").code == 0
    before = {path: path.read_bytes() for path in Path("reports").iterdir()}
    for wrong in (["--reprots", "html"], ["--report-dir"], ["--report-dir=reports", "--nonsense"]):
        assert safe_gate("run", "--cases", "c.jsonl", *wrong).code == 3
        assert {path: path.read_bytes() for path in Path("reports").iterdir()} == before
    in_actions()
    assert safe_gate("run", "--cases", "c.jsonl", "--reprots", "html").code == 3
    assert report()["verdict"] == "error"


def test_quiet_names_the_broken_rules(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("t", assistant=BAD, expected={"topic_pivot": True}))
    ran = safe_gate("run", "--cases", "c.jsonl", "--quiet", "--min-label-accuracy", "topic_pivot=1")
    assert ran.out == "Gate: FAIL (2 of 2 rules broken: max-unexpected-failures, min-label-accuracy.topic_pivot)\n"
    assert safe_gate("run", "--cases", "c.jsonl", "--quiet", "--max-unexpected-failures", "1").out.startswith(
        "Gate: PASS"
    )


def test_a_usage_error_is_reported_at_the_time_that_source_date_epoch_fixes(
    safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch, in_actions: Callable[..., None]
) -> None:
    in_actions()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert safe_gate("run", "--no-such-flag").code == 3
    assert report()["generated_at"] == "1970-01-02T00:00:00Z"


@pytest.mark.parametrize("command", ["run", "merge", "score", "eval", "publish"])
def test_help_groups_flags_under_the_headings_of_their_settings(safe_gate: SafeGate, command: str) -> None:
    sections = re.split(r"^(\w+):$", safe_gate(command, "--help").out, flags=re.MULTILINE)
    flags = {
        heading: set(re.findall(r"^  (--[\w-]+)", lines, re.MULTILINE))
        for heading, lines in zip(sections[1::2], sections[2::2], strict=True)
    }
    taken = {
        heading: [one for one in settings() if one.group == heading and one.flags_of(command)] for heading in GROUPS
    }
    shown = [heading for heading in GROUPS if taken[heading]]
    assert [heading for heading in flags if heading in GROUPS] == shown
    for heading in shown:
        assert flags[heading] == {one.flags_of(command)[0] for one in taken[heading]}


def test_modules_of_the_checkout_are_never_imported() -> None:
    for name in ("requests", "jsonschema", "tabulate", "pydantic_settings", "re2", "safe_gate", "json"):
        Path(f"{name}.py").write_text("raise SystemExit('hostile')")
    write_cases(Path("c.jsonl"), turn("t"))
    script = Path(sys.executable).with_name("safe-gate")
    for start in ([sys.executable, "-I", "-m", "safe_gate"], [str(script)]):
        ran = subprocess.run([*start, "run", "--synthesis-cases", "c.jsonl"], capture_output=True, check=False)
        assert (ran.returncode, ran.stderr) == (0, b"")


def test_a_pipe_gets_utf_8_without_colours_whatever_the_locale() -> None:
    write_batch(Path("b.json"), safe_case("s"))
    command = [sys.executable, "-I", "-m", "safe_gate", "score", "--batch", "b"]
    environ = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    ran = subprocess.run(command, capture_output=True, env=environ, check=False)
    assert ran.returncode == 0
    text = ran.stdout.decode("utf-8")
    assert "╔" in text
    assert "\x1b" not in text


def test_a_reader_that_leaves_early_does_not_change_the_exit_code() -> None:
    write_cases(Path("c.jsonl"), *(turn(f"t{i}", assistant=BAD) for i in range(300)))
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-I", "-m", "safe_gate", "eval", "--cases", "c.jsonl", "--verbose"]
    ran = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (ran.returncode, ran.stderr) == (2, b"")


def test_examples_pass_and_fail_as_the_readme_says(safe_gate: SafeGate) -> None:
    examples = REPOSITORY / "examples"
    cases = ["--synthesis-cases", examples / "empathy.jsonl", "--min-label-accuracy", "0.9"]
    assert safe_gate("run", "--safe-batch", examples / "clinical/golden_set", *cases).code == 0
    assert safe_gate("run", "--safe-batch", examples / "clinical/*", *cases).code == 1


@pytest.mark.usefixtures("runner")
def test_a_runtime_error_reaches_the_step_outputs(safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("oh")

    monkeypatch.setattr("safe_gate.inputs.rules.recipe", broken)
    write_cases(Path("c.jsonl"), turn("t"))
    assert safe_gate("run", "--synthesis-cases", "c.jsonl").code == 3
    assert outputs(Path("output").read_text("utf-8"))["verdict"] == "error"


def test_settings_that_are_wrong_leave_no_old_verdict_standing(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("t"))
    assert safe_gate("run", "--synthesis-cases", "c.jsonl", "--report-dir", "r").code == 0
    assert safe_gate("run", "--synthesis-cases", "c.jsonl", "--report-dir", "r", "--max-fail-labels", "x").code == 3
    assert json.loads(Path("r/safe-gate.json").read_text("utf-8"))["verdict"] == "error"


def test_an_evaluator_without_input_is_named_beside_the_verdict(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("t"))
    sentence = "SAFE v0 did not run: it has no input, so none of its rules applies."
    assert sentence in safe_gate("run", "--synthesis-cases", "c.jsonl").out
    assert sentence in Path("reports/safe-gate.md").read_text("utf-8")


def test_settings_that_would_surprise_are_told_by_whoever_scores(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), safe_case("s"))
    write_cases(Path("c.jsonl"), turn("t"))
    Path("safe.config.json").write_text('{"rules-off": ["agency-negative"]}', "utf-8")
    ran = safe_gate("run", "--safe-batch", "b", "--synthesis-cases", "c.jsonl")
    off = next(line for line in ran.out.splitlines() if line.startswith("Synthesis ran with "))
    assert off in safe_gate("eval", "--cases", "c.jsonl").out
    Path("safe.config.json").write_text("{}", "utf-8")
    assert "Synthesis ran with" not in safe_gate("eval", "--cases", "c.jsonl").out


def test_a_report_is_not_written_through_a_planted_link(safe_gate: SafeGate) -> None:
    Path("reports").mkdir()
    Path("victim").write_text("mine")
    Path("reports/safe-gate.json").symlink_to("../victim")
    write_cases(Path("c.jsonl"), turn("t"))
    assert safe_gate("run", "--synthesis-cases", "c.jsonl").code == 0
    assert Path("victim").read_text() == "mine"
    assert Path("reports/safe-gate.json").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("name", ["c.jsonl", "b.outputs.jsonl", "safe.config.json"])
def test_a_pipe_in_the_place_of_an_input_does_not_hang_the_gate(safe_gate: SafeGate, name: str) -> None:
    write_cases(Path("c.jsonl"), turn("t"))
    write_batch(Path("b.json"), safe_case("s"))
    Path(name).unlink(missing_ok=True)
    os.mkfifo(name)
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl", "--safe-batch", "b")
    assert ran.code == 3
    assert f"{name}: cannot be read: Not a regular file" in ran.err


def test_a_full_disk_behind_the_log_does_not_change_the_exit_code() -> None:
    write_cases(Path("c.jsonl"), turn("t"))
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-I", "-m", "safe_gate", "run", "--synthesis-cases", "c.jsonl"]
        assert subprocess.run(command, stdout=full, stderr=full, check=False).returncode == 0


def test_what_was_asked_for_and_cannot_be_printed_is_an_error() -> None:
    write_cases(Path("c.jsonl"), turn("t"))
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-I", "-m", "safe_gate", "eval", "--cases", "c.jsonl"]
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == 3
    assert ran.stderr.startswith("standard output: cannot be written: No space left on device\n")


def test_a_full_disk_leaves_no_verdict_of_an_earlier_run(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("t"))
    assert safe_gate("run", "--synthesis-cases", "c.jsonl").code == 0
    # No file may grow: with its signal ignored, as Python does, writing fails as on a full disk.
    command = [sys.executable, "-I", "-m", "safe_gate", "run", "--synthesis-cases", "c.jsonl"]
    full = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (0, 0))
    ran = subprocess.run(command, capture_output=True, text=True, preexec_fn=full, check=False)
    assert ran.returncode == 3
    assert "safe-gate.json: cannot be written: File too large" in ran.stderr
    assert not list(Path("reports").iterdir())


@pytest.mark.parametrize("epoch", ["-1", "1_0", "253402300800", "1e3", "\u0661"])
def test_a_source_date_that_is_none_is_refused(
    safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch, epoch: str
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    write_cases(Path("c.jsonl"), turn("t"))
    assert "SOURCE_DATE_EPOCH" in safe_gate("run", "--synthesis-cases", "c.jsonl").err
    assert report()["verdict"] == "error"


@pytest.mark.parametrize("how", ["settings", "usage"])
def test_a_refused_run_reports_where_and_publishes_as_it_was_told(
    safe_gate: SafeGate, in_actions: Callable[..., None], how: str
) -> None:
    write_cases(Path("c.jsonl"), turn("t"))
    Path("safe.config.json").write_text('{"report-dir": "out", "comment": "never"}', "utf-8")
    assert safe_gate("run", "--synthesis-cases", "c.jsonl").code == 0
    if how == "usage":
        in_actions()
    wrong = ["--max-fail-labels", "x"] if how == "settings" else ["--nonsense", "--report-dir", "out"]
    assert safe_gate("run", "--synthesis-cases", "c.jsonl", *wrong).code == 3
    assert json.loads(Path("out/safe-gate.json").read_text("utf-8"))["verdict"] == "error"


def test_a_flag_without_its_value_does_not_report_into_a_folder_named_as_the_next_flag(
    safe_gate: SafeGate, in_actions: Callable[..., None]
) -> None:
    in_actions()
    write_cases(Path("c.jsonl"), turn("t"))
    assert safe_gate("run", "--cases", "c.jsonl").code == 0
    ran = safe_gate("run", "--report-dir", "--cases", "c.jsonl")
    assert (ran.code, report()["verdict"]) == (3, "error")
    assert not Path("--cases").exists()


def test_a_refused_merge_leaves_no_old_verdict_whatever_the_mode_says(
    safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_cases(Path("c.jsonl"), turn("t"))
    assert safe_gate("run", "--cases", "c.jsonl").code == 0
    monkeypatch.setenv("SAFE_GATE_MODE", "publish")
    assert safe_gate("merge", "none.json", "--cases", "c.jsonl").code == 3
    assert report()["verdict"] == "error"


def test_a_report_that_can_only_half_be_written_does_not_say_pass(safe_gate: SafeGate) -> None:
    Path("reports/safe-gate.md").mkdir(parents=True)
    write_cases(Path("c.jsonl"), turn("t"))
    assert safe_gate("run", "--synthesis-cases", "c.jsonl").code == 3
    assert json.loads(Path("reports/safe-gate.json").read_text("utf-8"))["verdict"] == "error"


def test_an_empty_flag_sets_nothing(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), safe_case("s", output=SILENT))
    write_cases(Path("c.jsonl"), turn("t"))
    Path("safe.config.json").write_text('{"safe-batch": ["b"]}', "utf-8")
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl", "--safe-batch", "", "--report-dir", "")
    assert ran.code == 1
    assert "min-pass-rate" in ran.out


def test_problems_of_packs_and_of_cases_are_named_together(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("t", checks=[]))
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl", "--rules-off", "nothing")
    assert "rules-off: nothing" in ran.err
    assert "c.jsonl:1: t: checks" in ran.err


def test_the_digest_of_an_input_is_that_of_its_bytes(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), safe_case("s"))
    Path("b.json").write_bytes(b"\xef\xbb\xbf" + Path("b.json").read_bytes())
    safe_gate("run", "--safe-batch", "b")
    (entry,) = report()["provenance"]["inputs"]
    sha256 = hashlib.sha256(Path("b.json").read_bytes()).hexdigest()
    assert entry == {"path": "b.json", "sha256": sha256, "kind": "safe-batch"}


def test_of_groups_the_cases_of_the_broken_ones_come_first_and_those_a_rule_names(
    safe_gate: SafeGate, runner: None
) -> None:
    cases = [turn(f"F{n}", assistant=BAD) for n in range(12)]
    labelled = turn("WRONG", expected={"unverifiable_reassurance": False})
    write_cases(Path("c.jsonl"), *cases, labelled, turn("CRISIS", assistant=BAD, tags=["crisis"]))
    limits = {"max-unexpected-failures": 99, "min-group": 1, "tags": {"crisis": {"max-unexpected-failures": 0}}}
    Path("safe.config.json").write_text(json.dumps(limits), "utf-8")
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl")
    assert re.findall(r"::error [^:]*title=SAFE Gate%3A (\w+)", ran.out) == ["max", "CRISIS"]
    first = re.findall(r"^\| 🔴 \| <code>(\w+)</code>", Path("reports/safe-gate.md").read_text("utf-8"), re.MULTILINE)[
        0
    ]
    assert first == "CRISIS"
    Path("safe.config.json").write_text(json.dumps({"max-unexpected-failures": 99, "min-label-accuracy": 1}), "utf-8")
    assert (
        re.findall(r"::error [^:]*title=SAFE Gate%3A (F\d+)", safe_gate("run", "--synthesis-cases", "c.jsonl").out)
        == []
    )


def test_many_failures_are_counted_by_rule_and_tag_before_ten_of_them_are_listed(safe_gate: SafeGate) -> None:
    failing = [turn(f"t{i}", assistant=BAD, tags=["all", *(["even"] if i % 2 == 0 else [])]) for i in range(300)]
    write_cases(Path("c.jsonl"), *failing)
    write_batch(Path("b.json"), *(safe_case(f"s{i}", output=SILENT, archetype="Auditor") for i in range(5)))
    log = safe_gate("run", "--cases", "c.jsonl", "--batch", "b").out
    counts = (
        "300 cases to look at, by rule:\n",
        "300 cases to look at, by tag or archetype:\n  300  all\n  150  even\n\n",
    )
    for text in (*counts, "  300  Unverifiable reassurance: reassurance-guarantee/will-be-fine\n"):
        assert text in log
    assert "5 cases to look at, by rule:\n  5  AC missing phrase\n  5  CR missing signal\n" in log
    assert log.index(counts[0]) < log.index(counts[1]) < log.index("│ t0 ") < log.index("\n  t0 (c.jsonl:1)")
    assert len(re.findall(r"\bt\d+\b", log)) == 2 * 10
    comment = Path("reports/safe-gate.md").read_text("utf-8")
    by_rule = comment.index("\nBy rule: ")
    by_tag = (
        "\nBy tag or archetype: <code>all</code> **300** · <code>even</code> **150** · <code>Auditor</code> **5**\n"
    )
    assert by_rule < comment.index(by_tag) < comment.index("| 🔴 |")
    assert "Unverifiable reassurance: <code>reassurance-guarantee&#47;will-be-fine</code> **300**" in comment


def test_a_rule_that_one_listed_case_breaks_is_not_counted(safe_gate: SafeGate) -> None:
    replies = [BAD, BAD, "You must go now.", "I know exactly how you feel."]
    write_cases(Path("c.jsonl"), *(turn(f"t{i}", assistant=reply, tags=[]) for i, reply in enumerate(replies)))
    log = safe_gate("run", "--cases", "c.jsonl").out
    (counts,) = re.findall(r"4 cases to look at, by rule:\n((?:  .*\n)+)", log)
    assert "  2  Unverifiable reassurance: reassurance-guarantee/will-be-fine\n" in counts
    assert "  1  " not in counts


def test_three_failures_are_listed_without_counts(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), *(turn(f"t{i}", assistant=BAD, tags=["x"]) for i in range(3)))
    log = safe_gate("run", "--cases", "c.jsonl").out
    assert "by rule:" not in log
    assert "By rule:" not in Path("reports/safe-gate.md").read_text("utf-8")


_LONG = f"{'I see. ' * 40}{BAD}{' Take care.' * 40}"


def test_the_comment_shows_a_line_of_the_reply_around_the_words_that_decide(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("t", assistant=_LONG), turn("p", assistant="Anyway, it rains.\n\n<b>Bye</b>."))
    questions = {"followup_questions": ["Who called?", "What does the policy say?"]}
    write_batch(Path("b.json"), safe_case("s", output=SILENT | questions))
    safe_gate("run", "--cases", "c.jsonl", "--batch", "b")
    text = Path("reports/safe-gate.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| \S+ \| <code>(\w)</code>.* \| (.*) \|$", text, re.MULTILINE))
    lines = {
        case: html.unescape(re.sub(r"<wbr>|</?code>", "", cell.partition("<br>")[0])) for case, cell in rows.items()
    }
    assert lines["t"].startswith("…")
    assert lines["t"].endswith("…")
    assert "You should stop moping. You'll definitely be fine, I promise." in lines["t"]
    assert len(lines["t"]) <= 200
    assert lines["p"] == "Anyway, it rains. <b>Bye</b>."
    assert lines["s"] == "Who called? What does the policy say?"
    assert "<b>" not in text[text.index("**Cases to look at**") : text.index("<details>")]
    assert json.loads(Path("reports/safe-gate.json").read_text("utf-8")) == report()
    assert "Who called?" not in Path("reports/safe-gate.json").read_text("utf-8")


def test_a_line_of_the_reply_stands_in_place_of_arithmetic(safe_gate: SafeGate) -> None:
    mixed = "It's your call. You should stop moping. You have to try harder."
    write_cases(Path("c.jsonl"), turn("t", assistant=mixed))
    safe_gate("run", "--cases", "c.jsonl")
    counted = "1 clause leaves the choice, 2 clauses direct"
    assert counted not in Path("reports/safe-gate.md").read_text("utf-8")
    assert "directive <code>You should</code>" in Path("reports/safe-gate.md").read_text("utf-8")
    safe_gate("run", "--cases", "c.jsonl", "--text", "none")
    text = Path("reports/safe-gate.md").read_text("utf-8")
    assert counted in text
    assert "moping" not in text


@pytest.mark.untraced
def test_the_line_of_the_reply_is_the_same_with_several_processes_and_with_the_page(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), *(turn(f"t{i}", assistant=BAD if i % 3 else GOOD) for i in range(700)))
    texts = []
    for more in ((), ("--jobs", "2"), ("--reports", "html,json,markdown")):
        safe_gate("run", "--cases", "c.jsonl", *more)
        texts.append(Path("reports/safe-gate.md").read_text("utf-8"))
    assert texts[0] == texts[1] == texts[2]
    assert texts[0].count("<code>You should stop moping<wbr>&#46; You'll definitely") == 200
