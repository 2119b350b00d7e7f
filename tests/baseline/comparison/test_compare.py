"""A run held against a baseline, from the command line: reports, commits, and what is said of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import GOOD, REPOSITORY, Ran, safe_case, signed, turn, write_batch, write_cases
from tests.support.git import commit_here as commit
from tests.support.git import git
from tests.support.github import PULL_REQUEST, Gate

BAD = "You'll be fine, I promise."
EXAMPLES = REPOSITORY / "examples"
ALL = ("--safe-batch", "b.json", "--synthesis-cases", "c.jsonl")


@pytest.fixture(autouse=True)
def _fixed_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1790000000")


def write(*, bad: tuple[str, ...] = (), missing: tuple[str, ...] = (), case: Callable[[str], Any] = safe_case) -> None:
    """Write six cases of each evaluator, some of them with a reply that fails, some left out."""
    names = [f"S-{i}" for i in range(6)]
    write_batch(Path("b.json"), *(case(name) for name in names if name not in missing))
    turns = [turn(f"T-{i}", assistant=BAD if f"T-{i}" in bad else GOOD) for i in range(6)]
    write_cases(Path("c.jsonl"), *(one for one in turns if one["id"] not in missing))


def report(path: str = "reports/safe-gate.json") -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(Path(path).read_text("utf-8"))
    return loaded


def broken(found: dict[str, Any]) -> set[tuple[str, str]]:
    return {(rule["rule"], rule["evaluator"]) for rule in found["rules"] if not rule["passed"]}


def test_a_report_held_against_itself_passes(safe_gate: Callable[..., Ran]) -> None:
    write(bad=("T-1", "T-2"))
    safe_gate("run", *ALL)
    done = safe_gate("compare", "reports/safe-gate.json", "reports/safe-gate.json")
    assert done.code == 0
    assert "Compare: PASS (0 newly failing, 0 fixed, 2 still failing · 0 of 12 outputs changed)" in done.out


def test_a_report_from_before_the_phrases_stays_readable_as_a_baseline(safe_gate: Callable[..., Ran]) -> None:
    shutil.copytree(REPOSITORY / "tests" / "data" / "earlier", ".", dirs_exist_ok=True)
    held = ("--baseline", "safe-gate.json", "--max-unexpected-failures", "9", "--max-regressions", "0")
    assert safe_gate("run", *ALL, *held).code == 0
    lines = [json.loads(line) for line in Path("c.jsonl").read_text("utf-8").splitlines()]
    write_cases(Path("c.jsonl"), *({**line, "assistant": BAD} for line in lines))
    ran = safe_gate("run", *ALL, *held)
    assert ran.code == 1
    assert "Synthesis cases newly fail" in ran.out


@pytest.mark.parametrize("kind", ["report", "commit"])
def test_what_got_worse_is_named_with_evidence_before_and_now(safe_gate: Callable[..., Ran], kind: str) -> None:
    write()
    base = commit()
    safe_gate("run", *ALL, "--report-dir", "old")
    write(bad=("T-3",))
    baseline = base if kind == "commit" else "old/safe-gate.json"
    done = safe_gate("run", *ALL, "--baseline", baseline, "--max-unexpected-failures", "5", "--max-regressions", "0")
    assert done.code == 1, done.log
    found = report()
    assert broken(found) == {("max-regressions", "synthesis")}
    (change,) = [one for one in found["comparison"]["synthesis"]["changes"] if one["change"] == "newly failing"]
    assert (change["id"], change["because"], change["passed"]) == ("T-3", ["output"], [True, True, False])
    assert change["before"]["pass"] is True
    assert "  T-3 (c.jsonl:4) newly failing by output" in done.out
    assert "    before: nothing found" in done.out
    assert (
        "1 newly failing, 0 fixed, 0 still failing · 1 of 12 outputs changed"
        in Path("reports/safe-gate.md").read_text()
    )
    assert found["comparison"]["baseline"]["commit"] == (base if kind == "commit" else "")


def test_a_change_of_rules_is_no_regression_of_the_outputs(safe_gate: Callable[..., Ran]) -> None:
    low = {
        "expectations": {
            **safe_case("x")["expectations"],
            "signal_generation": {"must_find_signals": ["fever", "rash"]},
        }
    }
    write(case=lambda name: safe_case(name, **low))
    Path("safe.config.json").write_text('{"thresholds": {"CR": {"pass": 0.4, "review": 0.2}}}')
    base = commit()
    Path("safe.config.json").write_text('{"thresholds": {"CR": {"pass": 0.8, "review": 0.2}}}')
    done = safe_gate("run", *ALL, "--baseline", base, "--max-regressions", "0", "--min-pass-rate", "0")
    assert done.code == 0, done.log
    (rate, *_) = report()["comparison"]["safe_v0"]["metrics"]
    assert (rate["metric"], rate["baseline"], rate["today"], rate["head"]) == ("pass", 1.0, 0.0, 0.0)
    changes = report()["comparison"]["safe_v0"]["changes"]
    assert {(one["change"], *one["because"]) for one in changes} == {("still failing", "rules")}
    row = next(line for line in done.out.splitlines() if line.startswith("║ SAFE v0: pass "))
    assert [cell.strip() for cell in row.strip("║").split("│")][1:6] == [
        "100.0%",
        "0.0%",
        "0.0% (0.0 to 39.0)",
        "-100.0",
        "0.0",
    ]


def test_a_negative_example_that_passes_is_said_to(safe_gate: Callable[..., Ran]) -> None:
    meant = {"tags": ["negative_example"]}
    write_cases(Path("c.jsonl"), turn("better", assistant=BAD, **meant), turn("became"))
    base = commit()
    write_cases(Path("c.jsonl"), turn("better", **meant), turn("became", **meant))
    done = safe_gate("compare", base, ".", "--synthesis-cases", "c.jsonl", "--verbose")
    lines = [line.strip() for line in done.out.splitlines()]
    now = "now: passes, although it is a negative example"
    (became,) = (i for i, line in enumerate(lines) if line.startswith("became (c.jsonl:2) newly failing by exp"))
    assert lines[became + 1 : became + 3] == ["before: nothing found", now]
    assert lines.count(now) == 2
    back = safe_gate("compare", ".", base, "--synthesis-cases", "c.jsonl", "--verbose")
    assert back.out.count(now.replace("now:", "before:")) == 2


@pytest.mark.parametrize(
    ("profile", "tag", "newly"),
    [("weighted", "exam-fail", 1), ("weighted", "pivot-fail", 0), ("spec", "exam-fail", 0)],
)
def test_a_tag_that_a_change_adds_excuses_a_case_as_it_does_in_scoring(
    safe_gate: Callable[..., Ran], profile: str, tag: str, newly: int
) -> None:
    flags = ("--synthesis-cases", "c.jsonl", "--profile", profile)
    write_cases(Path("c.jsonl"), turn("a"), turn("b"))
    base = commit()
    write_cases(Path("c.jsonl"), turn("a", assistant=BAD, tags=[tag]), turn("b"))
    ran = safe_gate("run", *flags, "--baseline", base, "--max-regressions", "0")
    assert ran.code == newly
    found = json.loads(Path("reports/safe-gate.json").read_text("utf-8"))
    counted = {rule["rule"]: rule["value"] for rule in found["rules"]}
    assert (counted["max-regressions"], counted["max-unexpected-failures"]) == (newly, newly)
    told = [(one["what"], one["after"]) for one in found["weakened"]["findings"]]
    assert told == ([] if newly else [("added", [tag])])  # what excuses nothing asks for no less


def test_removed_cases_fail_unless_they_are_allowed_and_protected_ones_always(safe_gate: Callable[..., Ran]) -> None:
    write()
    base = commit()
    write(missing=("S-1", "T-1"))
    assert safe_gate("run", *ALL, "--baseline", base).code == 1
    assert broken(report()) == {("no-removed-cases", "safe_v0"), ("no-removed-cases", "synthesis")}
    assert safe_gate("run", *ALL, "--baseline", base, "--allow-removed").code == 0
    assert safe_gate("run", *ALL, "--baseline", base, "--allow-removed", "--protect", "T-1").code == 1
    assert broken(report()) == {("protect", "synthesis")}
    assert "Removed (2): <code>S-1</code>, <code>T-1</code>" in Path("reports/safe-gate.md").read_text()


def test_a_run_that_shares_no_case_with_its_baseline_is_said_to_compare_nothing(safe_gate: Callable[..., Ran]) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    safe_gate("run", *ALL[2:], "--report-dir", "old")
    write_cases(Path("c.jsonl"), turn("b"))
    done = safe_gate("run", *ALL[2:], "--baseline", "old/safe-gate.json", "--allow-removed")
    assert (done.code, report()["comparison"]["status"]) == (0, "inconclusive")
    for text in (done.out, Path("reports/safe-gate.md").read_text("utf-8")):
        assert "\nNo case is in both runs, by id: nothing was compared." in text
        assert "Inconclusive" not in text


def test_a_protection_or_a_cluster_that_names_nothing_is_an_error(safe_gate: Callable[..., Ran]) -> None:
    write()
    base = commit()
    protected, clustered = ("--protect", "S-11"), ("--cluster-key", "x_topic")
    said = {
        protected: "protect: names 'S-11', which is no case's id, tag or archetype (did you mean \"S-1\"?)",
        clustered: "cluster-key: names 'x_topic', a field that no case has",
    }
    for flags in (protected, clustered, protected + clustered):
        done = safe_gate("run", *ALL, "--baseline", base, *flags)
        assert done.code == 3
        assert [words in done.err for words in said.values()] == [flags[:2] == protected, flags[-2:] == clustered]


@pytest.mark.parametrize(
    ("name", "pattern"),
    [("c.ndjson", "c.ndjson"), ("c.ndjson", "*.ndjson"), ("c.ndjson", "c.nd*"), ("cases", "cases"), ("cases", "case?")],
)
def test_cases_and_config_of_a_commit_are_read_whatever_their_suffix(
    safe_gate: Callable[..., Ran], name: str, pattern: str
) -> None:
    write_cases(Path(name), turn("a"))
    Path("gate.conf").write_text('{"max-unexpected-failures": 0}')
    base = commit()
    write_cases(Path(name), turn("a", assistant=BAD))
    Path("gate.conf").write_text('{"max-unexpected-failures": 1}')
    flags = "--synthesis-cases", pattern, "--config", "gate.conf", "--baseline", base
    assert safe_gate("run", *flags, "--max-regressions", "0", "--on-weakened", "fail").code == 1
    assert broken(report()) == {("max-regressions", "synthesis"), ("on-weakened", "gate")}


def test_a_file_of_cases_that_is_gone_is_told_whatever_its_suffix(safe_gate: Callable[..., Ran]) -> None:
    for case_id in "ab":
        write_cases(Path(f"{case_id}.ndjson"), turn(case_id))
    base = commit()
    Path("b.ndjson").unlink()
    assert safe_gate("run", "--synthesis-cases", "?.*", "--baseline", base).code == 1
    assert broken(report()) == {("no-removed-cases", "synthesis")}


@pytest.mark.parametrize(
    ("name", "pattern"), [("b.JSON", "*.JSON"), ("b.JSON", "b.JSON"), ("b.batch", "b.batch"), ("b[1]", "b[1]")]
)
def test_outputs_beside_a_batch_of_a_commit_are_read_whatever_its_suffix(
    safe_gate: Callable[..., Ran], name: str, pattern: str
) -> None:
    case = safe_case("S")
    write_cases(Path(f"{Path(name).stem}.outputs.jsonl"), {"test_id": "S", "output": case.pop("output")})
    write_batch(Path(name), case)
    assert safe_gate("run", "--safe-batch", pattern, "--baseline", commit()).code == 0
    assert report()["comparison"]["safe_v0"]["cases"]["both"] == 1


def test_cases_can_be_clustered_by_a_field_of_their_own(safe_gate: Callable[..., Ran]) -> None:
    def turns(reply: str) -> list[dict[str, Any]]:
        return [turn(f"T-{i}", assistant=reply, x_topic="exam" if i < 9 else {"n": i}) for i in range(10)]

    write_cases(Path("c.jsonl"), *turns(GOOD))
    base = commit()
    write_cases(Path("c.jsonl"), *turns(BAD))
    arguments = ("run", "--synthesis-cases", "c.jsonl", "--baseline", base, "--max-unexpected-failures", "99")
    assert safe_gate(*arguments).code == 1
    assert broken(report()) == {("min-drop", "synthesis")}
    assert safe_gate(*arguments, "--cluster-key", "x_topic").code == 0
    assert report()["comparison"]["status"] == "warn"
    assert {metric["units"] for metric in report()["comparison"]["synthesis"]["metrics"]} == {2}
    markdown = Path("reports/safe-gate.md").read_text()
    assert "Unproven drop" in markdown
    assert "Cases are grouped by <code>x&#95;topic</code>: 2 groups of 10 cases." in markdown
    assert safe_gate("validate", "reports/safe-gate.json").code == 0
    said = 'Cases are grouped by "x_topic": 2 groups of 10 cases.\n'
    for head in (".", "reports/safe-gate.json"):
        flags = ("--synthesis-cases", "c.jsonl", "--cluster-key", "x_topic", "--verbose")
        assert said in safe_gate("compare", base, head, *flags).out
    assert said in safe_gate(*arguments, "--cluster-key", "x_topic").out
    safe_gate(*arguments)
    assert "grouped by" not in Path("reports/safe-gate.md").read_text()


def test_cases_by_way_of_a_folder_that_holds_none_are_found_at_the_base_commit(safe_gate: Callable[..., Ran]) -> None:
    write()
    base = commit()
    write(bad=("T-1",), missing=("S-1",))
    Path("evals").mkdir()
    batch = "--safe-test-dir", "evals", "--safe-batch", "../b.json"
    for inputs in (batch, ("--synthesis-cases", "evals/../c.jsonl")):
        rules = "--max-regressions", "0", "--max-unexpected-failures", "1"
        assert safe_gate("run", *inputs, "--baseline", base, *rules).code == 1
        assert report()["comparison"]["status"] == "fail"


def test_cases_whose_field_is_null_are_in_no_cluster(safe_gate: Callable[..., Ran]) -> None:
    topics = ["exam", *[None] * 9]
    write_cases(Path("c.jsonl"), *(turn(f"T-{i}", assistant=GOOD, x_topic=one) for i, one in enumerate(topics)))
    base = commit()
    write_cases(Path("c.jsonl"), *(turn(f"T-{i}", assistant=BAD, x_topic=one) for i, one in enumerate(topics)))
    flags = "--cluster-key", "x_topic", "--max-unexpected-failures", "99"
    assert safe_gate("run", "--synthesis-cases", "c.jsonl", "--baseline", base, *flags).code == 1
    assert {metric["units"] for metric in report()["comparison"]["synthesis"]["metrics"]} == {10}


def test_without_a_case_at_the_base_commit_there_is_no_baseline_yet(safe_gate: Callable[..., Ran]) -> None:
    Path("x.json").write_text("{}")
    base = commit()
    write()
    done = safe_gate("run", *ALL, "--baseline", base)
    assert done.code == 0, done.log
    assert "There is no baseline yet" in done.out
    assert report()["comparison"]["status"] == "none"
    assert "There is no baseline yet" in Path("reports/safe-gate.md").read_text()
    assert safe_gate("compare", base, ".", *ALL).code == 3


def test_a_base_without_a_config_file_is_read_by_what_names_its_cases_now(safe_gate: Callable[..., Ran]) -> None:
    write()
    base = commit()
    Path("safe.config.json").write_text(json.dumps({"safe-batch": ["b.json"], "synthesis-cases": ["c.jsonl"]}))
    write(bad=("T-1",))
    assert safe_gate("run", "--baseline", base, "--max-regressions", "0", "--max-unexpected-failures", "9").code == 1
    assert broken(report()) == {("max-regressions", "synthesis")}
    assert safe_gate("compare", base, ".", "--max-regressions", "0").code == 1
    assert safe_gate("compare", ".", base, "--max-regressions", "0").code == 0


def test_a_config_file_that_is_named_before_the_base_has_it_is_refused_with_a_way_to_bring_it_in(
    safe_gate: Callable[..., Ran],
) -> None:
    write()
    base = commit()
    Path("gate.json").write_text("{}")
    done = safe_gate("run", *ALL, "--config", "gate.json", "--baseline", base)
    said = f"{base[:7]}:gate.json: cannot be read: the commit has no such file; add it in one change, and name it"
    assert (done.code, said in done.err) == (3, True)
    base = commit()
    Path("gate.json").write_text('{"min-pass-rate": 0.9}')
    assert safe_gate("run", *ALL, "--config", "gate.json", "--baseline", base).code == 0


def test_a_baseline_that_cannot_be_read_is_an_error_and_never_a_pass(safe_gate: Callable[..., Ran]) -> None:
    write()
    Path("c.jsonl").write_text('{"id": 1}\n')
    base = commit()
    write()
    done = safe_gate("run", *ALL, "--baseline", base)
    assert done.code == 3
    assert f"{base[:7]}:c.jsonl:1: id: is 1; expected text" in done.err
    assert report()["verdict"] == "error"
    for name, content in (("a.json", "{"), ("b.report.json", '{"schema_version": 1}')):
        Path(name).write_text(content)
        assert safe_gate("run", *ALL, "--baseline", name).code == 3


@pytest.mark.parametrize("sides", [(".", "old/safe-gate.json"), ("old/safe-gate.json", ".")])
def test_a_pattern_of_the_working_folder_that_names_no_file_is_refused(
    sides: tuple[str, str], safe_gate: Callable[..., Ran]
) -> None:
    write()
    safe_gate("run", *ALL, "--report-dir", "old")
    ran = safe_gate("compare", *sides, *ALL, "--rules", "nope/*.json")
    assert ran.code == 3
    assert "nope/*.json: matches no file" in ran.log


def test_problems_of_a_commit_are_placed_at_it_on_either_side(safe_gate: Callable[..., Ran]) -> None:
    write()
    good = commit()
    Path("c.jsonl").write_text('{"id": 1}\n')
    bad = commit()
    for specs, place in (
        ((bad, good), f"{bad[:7]}:"),
        ((good, bad), f"{bad[:7]}:"),
        ((good, "."), ""),
        ((".", good), ""),
    ):
        done = safe_gate("compare", *specs, *ALL)
        assert done.code == 3
        assert done.err.startswith(f"{place}c.jsonl:1: ")


def test_a_baseline_that_no_run_wrote_is_an_error_and_never_a_pass(safe_gate: Callable[..., Ran]) -> None:
    write()
    safe_gate("run", *ALL, "--report-dir", "old")
    made = report("old/safe-gate.json")

    def refusal(forged: dict[str, Any]) -> str:
        Path("forged.json").write_text(json.dumps(forged))
        done = safe_gate("run", *ALL, "--baseline", "forged.json")
        assert done.code == 3
        assert "internal error" not in done.log
        return done.err

    results = made["synthesis"]["results"]
    failing = {**made, "synthesis": {**made["synthesis"], "results": [{**one, "pass": False} for one in results]}}
    assert "forged.json: provenance.digests: its digests do not match its contents" in refusal(failing)
    twice = {**made, "synthesis": {**made["synthesis"], "results": [*results, results[0]]}}
    assert "forged.json: T-0: synthesis.results: has this case 2 times" in refusal(signed(twice))
    late = {**made, "generated_at": "2026-02-31T00:00:00Z"}
    assert "forged.json: generated_at: is 2026-02-31T00:00:00Z, which is not a time" in refusal(late)
    assert "forged.json: is a file of waivers, not a report" in refusal({"waivers": []})


def test_the_commit_that_a_baseline_judged_is_named(gate: Gate) -> None:
    assert gate("pass").ran.code == 0
    made = report()
    Path("old.json").write_text(json.dumps(made))
    step = gate("pass", "--baseline", "old.json")
    assert step.ran.code == 0
    assert made["provenance"]["commit"]
    assert report()["comparison"]["baseline"]["commit"] == made["provenance"]["commit"]
    assert (
        f"Compared with <code>{made['provenance']['commit'][:7]}</code> (<code>old<wbr>&#46;json</code>" in step.summary
    )


def test_a_file_that_came_with_the_change_is_not_the_branch_it_is_named_as(safe_gate: Callable[..., Ran]) -> None:
    write()
    base = commit()
    git("branch", "origin/main")
    write(bad=("T-1",))
    rules = *ALL, "--max-regressions", "0", "--max-unexpected-failures", "1"
    safe_gate("run", *rules, "--report-dir", "own")
    Path("origin").mkdir()
    shutil.copy("own/safe-gate.json", "origin/main")
    assert safe_gate("run", *rules, "--baseline", "origin/main").code == 1
    assert report()["comparison"]["baseline"]["commit"] == base
    assert "own/safe-gate: is not a .json file" in safe_gate("run", *rules, "--baseline", "own/safe-gate").err


def test_a_named_report_that_is_missing_is_an_error(safe_gate: Callable[..., Ran]) -> None:
    write()
    Path("evals").mkdir()
    Path("evals/baseline.json").write_text("{}", "utf-8")
    words = (
        'evals/basline.json: does not exist (did you mean "evals/baseline.json"?); '
        "correct the path, or set baseline-required: false for the first run of a new gate"
    )
    for command in (("run",), ("run", "--dry-run"), ("doctor",)):
        done = safe_gate(*command, *ALL, "--baseline", "evals/basline.json")
        assert (done.code, done.err.splitlines()[0]) == (3, words)
    assert report()["verdict"] == "error"


def test_a_report_that_nobody_has_written_yet_is_no_baseline_yet_where_none_is_required(
    safe_gate: Callable[..., Ran],
) -> None:
    write()
    done = safe_gate("run", *ALL, "--baseline", "evals/baseline.json", "--no-baseline-required")
    assert done.code == 0, done.log
    assert (
        'There is no baseline yet: "evals/baseline.json" is not there. Only the absolute rules were judged.' in done.out
    )
    assert safe_gate("bless", "--baseline", "evals/baseline.json").code == 0
    assert safe_gate("run", *ALL, "--baseline", "evals/baseline.json").code == 0
    assert report()["comparison"]["status"] == "pass"
    for specs in (("gone.json", "reports/safe-gate.json"), ("reports/safe-gate.json", "gone.json")):
        done = safe_gate("compare", *specs)
        assert (done.code, done.err.splitlines()[0]) == (
            3,
            "gone.json: is not there; expected a report, or a commit with cases of the settings' patterns",
        )


def test_a_baseline_that_cannot_be_looked_for_is_no_baseline_to_come(safe_gate: Callable[..., Ran]) -> None:
    write()
    Path("evals").symlink_to("evals")
    words = "evals/baseline.json: cannot be read: Too many levels of symbolic links"
    for arguments in (("run", *ALL, "--baseline", "evals/baseline.json"), ("compare", "evals/baseline.json", *ALL)):
        done = safe_gate(*arguments)
        assert (done.code, done.err.splitlines()[0]) == (3, words)


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
    assert {rule["rule"] for rule in report("difference.json")["rules"] if not rule["passed"]} == {"no-removed-cases"}
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


def test_a_run_says_that_its_report_replaces_its_baseline(safe_gate: Callable[..., Ran]) -> None:
    write()
    safe_gate("run", *ALL, "--report-dir", "kept")
    arguments = ("run", *ALL, "--max-regressions", "0", "--max-unexpected-failures", "1", "--baseline")
    own, kept = "./reports/safe-gate.json", "kept/safe-gate.json"
    words = "is replaced by this run's report; name another file to keep it."
    assert words not in safe_gate(*arguments, own, "--no-baseline-required").out  # there is none yet
    write(bad=("T-1",))
    for baseline, code in ((own, 1), (own, 0), (kept, 1)):
        ran = safe_gate(*arguments, baseline)
        assert ran.code == code, ran.log
        assert (words in ran.out) == (words in Path("reports/safe-gate.md").read_text("utf-8")) == (baseline == own)
        assert safe_gate("validate", "reports/safe-gate.json").code == 0
    assert words not in safe_gate("compare", own, own).out


@pytest.mark.parametrize("text", ["full", "none"])
def test_waivers_and_a_baseline_go_together(safe_gate: Callable[..., Ran], text: str) -> None:
    write()
    base = commit()
    write(bad=("T-1",))
    safe_gate("run", *ALL)
    safe_gate("bless", "--waivers", "--reason", "known", "--owner", "me", "--expires", "2099-01-01")
    arguments = ("run", *ALL, "--baseline", base, "--max-regressions", "0", "--text", text)
    done = safe_gate(*arguments)
    assert done.code == 0, done.log
    assert report()["comparison"]["synthesis"]["changes"][0]["change"] == "newly failing"
    assert "0 Synthesis cases newly fail, 1 more waived, 0 allowed" in done.out
    assert safe_gate("verify", "reports/safe-gate.json").code == 0
    assert safe_gate("validate", "reports/safe-gate.json").code == 0
    assert safe_gate(*arguments, "--protect", "T-1").code == 1
    assert broken(report()) == {("protect", "synthesis")}


def test_compare_lets_the_same_failures_pass_as_a_run(safe_gate: Callable[..., Ran]) -> None:
    write()
    base = commit()
    violated = {"signals": [], "summary": "", "followup_questions": ["The policy?"]}
    write(case=lambda name: safe_case(name, **({"output": violated} if name == "S-1" else {})))
    safe_gate("run", *ALL, "--baseline", base)
    assert broken(report()) == {("new-violations", "safe_v0"), ("label-drops", "safe_v0")}
    assert safe_gate("compare", base, ".", *ALL).code == 1
    safe_gate("bless", "--waivers", "--reason", "known", "--owner", "me", "--expires", "2099-01-01")
    assert safe_gate("run", *ALL, "--baseline", base).code == 0
    for head in (".", "reports/safe-gate.json", commit()):
        done = safe_gate("compare", base, head, *ALL)
        assert done.code == 0, done.log
        assert "0 SAFE v0 cases newly use a forbidden term, 1 more waived, 0 allowed" in done.out
        assert "0 SAFE v0 cases fall from Pass to Fail, 1 more waived, 0 allowed" in done.out


def test_an_evaluator_that_came_with_the_change_leaves_the_rules_of_the_other_told_apart(
    safe_gate: Callable[..., Ran],
) -> None:
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


def test_a_report_that_other_rules_made_tells_no_rules_from_outputs(safe_gate: Callable[..., Ran]) -> None:
    write()
    base = commit()
    write(bad=("T-3",))
    for profile, unseparated in (("standard", 0), ("spec", 1)):
        safe_gate("run", *ALL, "--profile", profile)
        assert safe_gate("compare", base, "reports/safe-gate.json", *ALL, "--out", "compared.json").code == 0
        assert report("compared.json")["comparison"]["synthesis"]["cases"]["unseparated"] == unseparated


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
    assert safe_gate("compare", base, ".", *ALL, "--allow-removed").code == 0  # they are gone


@pytest.mark.parametrize("out", ["old/safe-gate.json", "b.json", "c.jsonl", "safe.config.json"])
def test_compare_replaces_nothing_that_it_reads(safe_gate: Callable[..., Ran], out: str) -> None:
    write()
    safe_gate("run", *ALL, "--report-dir", "old")
    Path("safe.config.json").write_text('{"safe-batch": ["b.json"], "synthesis-cases": ["c.jsonl"]}', "utf-8")
    before = Path(out).read_bytes()
    refused = safe_gate("compare", "old/safe-gate.json", ".", "--out", out)
    assert (refused.code, Path(out).read_bytes()) == (3, before)
    assert f"--out: names {out}, which this run reads, and would replace it" in refused.err
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
    rules = {rule["rule"]: rule["value"] for rule in report("o.json")["rules"] if rule["evaluator"] == "safe_v0"}
    assert rules["new-violations"] == 0


@pytest.mark.parametrize("evaluator", [ALL[:2], ALL[2:]])
def test_compare_of_runs_without_a_case_in_common_is_no_pass(
    safe_gate: Callable[..., Ran], evaluator: tuple[str, ...]
) -> None:
    write()
    base = commit()
    write_batch(Path("b.json"), safe_case("other"))
    write_cases(Path("c.jsonl"), turn("other"))
    done = safe_gate("compare", base, ".", *evaluator, "--allow-removed")
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


def test_a_report_with_a_comparison_fits_its_schema(safe_gate: Callable[..., Ran]) -> None:
    write()
    base = commit()
    write(missing=("T-1",))
    safe_gate("run", *ALL, "--baseline", base)
    done = safe_gate("validate", "reports/safe-gate.json")
    assert done.code == 0, done.log


def test_the_base_of_a_pull_request_is_a_baseline(gate: Gate) -> None:
    write_cases(Path("cases.jsonl"), turn("a"))
    base = commit()
    payload = json.loads(json.dumps(PULL_REQUEST))
    payload["pull_request"]["base"]["sha"] = base
    step = gate(
        "fail", "--baseline", "base", "--max-unexpected-failures", "1", "--max-regressions", "0", payload=payload
    )
    assert (step.ran.code, step.outputs["verdict"]) == (1, "fail")
    assert "1 Synthesis case newly fails, 0 allowed" in step.summary
    assert f"Compared with <code>{base[:7]}</code> (the base commit" in step.summary
    assert "🔻" in step.summary


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
        said = "SAFE v0 has no baseline yet: the baseline has none of its cases."
        assert said in done.out
    done = safe_gate("compare", base, ".", *flags, "--safe-concern", "Nwe")
    assert (done.code, done.err.startswith("safe-concern: 'Nwe' matches no case")) == (3, True), done.log


def test_an_evaluator_whose_files_the_baseline_does_not_have_is_said_to_have_none(
    safe_gate: Callable[..., Ran],
) -> None:
    write()
    base = commit()
    Path("c.jsonl").rename("d.jsonl")
    done = safe_gate("run", "--safe-batch", "b.json", "--synthesis-cases", "d.jsonl", "--baseline", base)
    assert done.code == 0, done.log
    assert report()["comparison"]["without_baseline"] == ["synthesis"]
    said = "Synthesis has no baseline yet: the baseline has none of its cases."
    assert said in done.out
    assert said in Path("reports/safe-gate.md").read_text()


def test_a_case_that_fails_by_new_rules_alone_is_told_with_its_evidence(safe_gate: Callable[..., Ran]) -> None:
    half = {
        "expectations": {
            **safe_case("x")["expectations"],
            "event_summary": {"must_contain_phrases": ["went home", "x"]},
        }
    }
    write(case=lambda name: safe_case(name, **half))
    Path("safe.config.json").write_text('{"thresholds": {"AC": {"pass": 0.5}}}')
    base = commit()
    Path("safe.config.json").write_text("{}")
    done = safe_gate("run", *ALL, "--baseline", base, "--min-pass-rate", "0", "--max-regressions", "0")
    assert done.code == 0, done.log
    assert "0 newly failing, 0 fixed, 6 still failing, 6 of them by today's rules alone" in done.out
    assert "S-0 (b.json:1) fails by today's rules" in done.out
    assert "Review: AC 0.50<br>fails by today's rules" in Path("reports/safe-gate.md").read_text()


def test_a_case_that_passes_by_new_rules_alone_is_not_said_to_pass_still(safe_gate: Callable[..., Ran]) -> None:
    half = {
        "expectations": {
            **safe_case("x")["expectations"],
            "event_summary": {"must_contain_phrases": ["went home", "x"]},
        }
    }
    write(case=lambda name: safe_case(name, **half))
    base = commit()
    Path("safe.config.json").write_text('{"thresholds": {"AC": {"pass": 0.5}}}')
    done = safe_gate("run", *ALL, "--baseline", base)
    assert done.code == 0, done.log
    assert "0 newly failing, 0 fixed, 0 still failing, 6 fixed by today's rules alone · " in done.out
    shown = Path("reports/safe-gate.md").read_text()
    assert "| fixed by today's rules | " in shown
    assert "still passing" not in shown


def test_a_run_cannot_be_its_own_baseline_and_guards_without_one_are_named(safe_gate: Callable[..., Ran]) -> None:
    write()
    done = safe_gate("run", *ALL, "--baseline", ".")
    assert done.code == 3
    assert "baseline: is the working folder, which the run itself is about" in done.err
    done = safe_gate("run", *ALL, "--max-regressions", "0", "--protect", "T-1")
    assert done.code == 0
    assert (
        "No baseline is named, so nothing was compared, and nothing was judged by protect, max-regressions." in done.out
    )


def test_compare_says_fail_whatever_breaks_it(safe_gate: Callable[..., Ran]) -> None:
    write()
    base = commit()
    write(
        case=lambda name: safe_case(
            name, expectations={**safe_case("x")["expectations"], "followup_questions": {"forbidden_terms": []}}
        )
    )
    done = safe_gate("compare", base, *ALL, "--on-weakened", "fail")
    assert (done.code, done.out.splitlines()[-1].startswith("Compare: FAIL ")) == (1, True)
