"""Baselines that cannot be read, are missing or are not there yet."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import SafeGate, refused, report, signed
from tests.support.git import commit_here as commit
from tests.support.git import git
from tests.support.two_runs import ALL, write
from tests.support.weakening import configure

OLD = "old/safe-gate.json"


def test_a_baseline_that_cannot_be_read_is_an_error_and_never_a_pass(safe_gate: SafeGate) -> None:
    write()
    Path("c.jsonl").write_text('{"id": 1}\n')
    base = commit()
    write()
    refused(safe_gate("run", *ALL, "--baseline", base), f"{base[:7]}:c.jsonl:1: id: is 1; expected text")
    assert report()["verdict"] == "error"
    for name, content in (("a.json", "{"), ("b.report.json", '{"schema_version": 1}')):
        Path(name).write_text(content)
        assert safe_gate("run", *ALL, "--baseline", name).code == 3


@pytest.mark.parametrize("sides", [(".", OLD), (OLD, ".")])
def test_a_folder_needs_cases_and_a_file_for_each_pattern(sides: tuple[str, str], safe_gate: SafeGate) -> None:
    write()
    safe_gate("run", *ALL, "--report-dir", "old")
    refused(safe_gate("compare", *sides), ".: has nothing to compare")
    refused(safe_gate("compare", *sides, *ALL, "--cases", "nope/*.jsonl"), "nope/*.jsonl: matches no file")


def test_problems_of_a_commit_are_placed_at_it_on_either_side(safe_gate: SafeGate) -> None:
    write()
    good = commit()
    Path("c.jsonl").write_text('{"id": 1}\n')
    bad = commit()
    at_commit = f"{bad[:7]}:"
    for *sides, place in ((bad, good, at_commit), (good, bad, at_commit), (good, ".", ""), (".", good, "")):
        assert refused(safe_gate("compare", *sides, *ALL)).startswith(f"{place}c.jsonl:1: ")


def test_a_baseline_that_no_run_wrote_is_an_error_and_never_a_pass(safe_gate: SafeGate) -> None:
    write()
    safe_gate("run", *ALL, "--report-dir", "old")
    made = report(OLD)
    part, results = made["synthesis"], made["synthesis"]["results"]
    undigested = {key: it for key, it in made["provenance"].items() if key != "digests"}
    uncounted = signed(made | {"synthesis": part | {"summary": part["summary"] | {"strict_passed": 1000}}})
    forgeries: list[tuple[dict[str, Any], str]] = [
        (made | {"synthesis": part | {"results": [one | {"pass": False} for one in results]}}, "provenance.digests: its digests do not match its contents"),
        (made | {"provenance": undigested}, "provenance.digests: has no digests, so no run wrote it"),
        (signed(made | {"synthesis": part | {"results": [*results, results[0]]}}), "T-0: synthesis.results: has this case 2 times"),
        (made | {"generated_at": "2026-02-31T00:00:00Z"}, "generated_at: is 2026-02-31T00:00:00Z, which is not a time"),
        ({"waivers": []}, "is not a report of safe-gate run: it has no field verdict"),
        (uncounted, "synthesis: has counts that no run writes ("),
    ]  # fmt: skip
    for forged, words in forgeries:
        configure(forged, "forged.json")
        err = refused(safe_gate("run", *ALL, "--baseline", "forged.json"), f"forged.json: {words}")
        assert "internal error" not in err
    refused(safe_gate("history", "forged.json"), "forged.json: synthesis: has counts that no run writes (")


def test_a_baseline_setting_of_another_kind_is_named(safe_gate: SafeGate) -> None:
    write()
    safe_gate("run", *ALL, "--report-dir", "old")
    made = report(OLD)
    made["provenance"]["policy"]["cluster_key"] = 5
    configure(signed(made), "forged.json")
    words = "forged.json:1: provenance.policy.cluster_key: is 5; expected text"
    refused(safe_gate("compare", "forged.json", OLD), words)


def test_a_file_that_came_with_the_change_is_not_the_branch_it_is_named_as(safe_gate: SafeGate) -> None:
    write()
    base = commit()
    git("branch", "origin/main")
    write(bad=("T-1",))
    run = "run", *ALL, "--max-regressions", "0", "--max-unexpected-failures", "1"
    safe_gate(*run, "--report-dir", "own")
    Path("origin").mkdir()
    shutil.copy("own/safe-gate.json", "origin/main")
    assert safe_gate(*run, "--baseline", "origin/main").code == 1
    assert report()["comparison"]["baseline"]["commit"] == base
    assert "own/safe-gate: is neither a .json file" in safe_gate(*run, "--baseline", "own/safe-gate").err


def test_a_named_report_that_is_missing_is_an_error(safe_gate: SafeGate) -> None:
    write()
    Path("evals").mkdir()
    Path("evals/baseline.json").write_text("{}", "utf-8")
    words = "correct the path, or set allow-missing: baseline for the first run of a new gate"
    for command in (("run",), ("run", "--dry-run"), ("doctor",)):
        err = refused(safe_gate(*command, *ALL, "--baseline", "evals/basline.json"))
        assert err.startswith(f'evals/basline.json: does not exist (did you mean "evals/baseline.json"?); {words}\n')
    assert report()["verdict"] == "error"


def test_a_missing_baseline_report_is_allowed_where_none_is_required(safe_gate: SafeGate) -> None:
    write()
    run = ("run", *ALL, "--baseline", "evals/baseline.json")
    done = safe_gate(*run, "--allow-missing", "baseline")
    said = 'There is no baseline yet: "evals/baseline.json" is not there. Only the absolute rules were judged.'
    assert (done.code, said in done.out) == (0, True), done.log
    assert safe_gate("bless", "--baseline", "evals/baseline.json").code == 0
    assert (safe_gate(*run).code, report()["comparison"]["status"]) == (0, "pass")
    words = "gone.json: is not there; expected a report, or a commit with cases of the settings' patterns"
    for sides in (("gone.json", "reports/safe-gate.json"), ("reports/safe-gate.json", "gone.json")):
        assert refused(safe_gate("compare", *sides)).startswith(f"{words}\n")


def test_a_baseline_that_cannot_be_looked_for_is_no_baseline_to_come(safe_gate: SafeGate) -> None:
    write()
    Path("evals").symlink_to("evals")
    words = "evals/baseline.json: cannot be read: Too many levels of symbolic links"
    for arguments in (("run", *ALL, "--baseline", "evals/baseline.json"), ("compare", "evals/baseline.json", *ALL)):
        assert refused(safe_gate(*arguments)).startswith(f"{words}\n")


def test_a_report_does_not_replace_its_baseline(safe_gate: SafeGate) -> None:
    write()
    safe_gate("run", *ALL)
    before = Path("reports/safe-gate.json").read_bytes()
    words = "report-dir: reports/safe-gate.json is a file that this run reads"
    refused(safe_gate("run", *ALL, "--baseline", "./reports/safe-gate.json"), words)
    assert Path("reports/safe-gate.json").read_bytes() == before
