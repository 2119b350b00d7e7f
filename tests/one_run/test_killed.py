"""What a run that is killed leaves behind: no old pass that could be taken for its result."""

import os
import shutil
from multiprocessing import get_context
from pathlib import Path

import pytest

from safe_gate import cli
from safe_gate.github import HAND_OVER
from safe_gate.scoring import measure
from tests.support.cases import Patch, SafeGate, refused, report, turn, write_cases, write_json
from tests.support.git import commit, git
from tests.support.github import InActions
from tests.support.reports import scorecard
from tests.support.synthesis import RUN


def killed(*arguments: str) -> None:
    """Run a command, in a process that ends at once when the first case is to be scored."""

    def run() -> None:
        measure.measure_part = lambda *_, **__: os._exit(9)
        cli.main(list(arguments))

    process = get_context("fork").Process(target=run)
    process.start()
    process.join()
    assert process.exitcode == 9


@pytest.fixture
def passed(safe_gate: SafeGate) -> tuple[str, ...]:
    """Leave the reports of a run that passed; return its arguments."""
    write_cases(Path("c.jsonl"), turn("a"))
    assert safe_gate(*RUN).code == 0
    return RUN


@pytest.mark.parametrize("flags", [(), ("--dry-run",), ("--baseline", "kept.json"), ("--text", "none")])
def test_a_killed_run_leaves_no_old_pass(safe_gate: SafeGate, passed: tuple[str, ...], flags: tuple[str, ...]) -> None:
    shutil.copy("reports/safe-gate.json", "kept.json")
    kept = Path("kept.json").read_bytes()
    Path("reports", HAND_OVER).write_text("of an earlier run", "utf-8")
    killed(*passed, *flags)
    assert report()["verdict"] == "error"
    (problem,) = report()["problems"]
    assert problem["message"].startswith("run did not finish")
    assert "run did not finish" in scorecard()
    assert not Path("reports", HAND_OVER).exists()
    assert Path("kept.json").read_bytes() == kept
    assert safe_gate(*passed, "--baseline", "reports/safe-gate.json").code == 3
    assert safe_gate(*passed, *flags).code == 0
    assert report()["verdict"] == "pass"
    killed(*passed, *flags, "--report-dir", "new/deep")
    assert report("new/deep/safe-gate.json")["verdict"] == "error", "even where nothing was before"


def test_a_baseline_in_the_report_folder_outlives_a_run(safe_gate: SafeGate, passed: tuple[str, ...]) -> None:
    kept = Path("reports/safe-gate.json")
    before = kept.read_bytes()
    Path("link.json").symlink_to(kept)
    for baseline in ("reports/safe-gate.json", "./reports/../reports/safe-gate.json", "link.json"):
        refused(safe_gate(*passed, "--baseline", baseline))
        assert kept.read_bytes() == before
        assert "no verdict" in scorecard()
    kept.unlink()
    refused(safe_gate(*passed, "--baseline", str(kept), "--allow-missing", "baseline"))
    assert not kept.exists()


def test_a_baseline_that_the_base_names_outlives_a_run(
    safe_gate: SafeGate, passed: tuple[str, ...], in_actions: InActions
) -> None:
    git("init", "--quiet")
    write_json("safe.config.json", {"synthesis-cases": ["c.jsonl"], "baseline": "reports/safe-gate.json"})
    base = commit()
    write_json("safe.config.json", {"synthesis-cases": ["c.jsonl"]})
    before = Path("reports/safe-gate.json").read_bytes()
    in_actions(payload={"pull_request": {"number": 2, "base": {"sha": base}, "head": {"sha": "1" * 40}}})
    assert safe_gate("run", "--policy-ref", "base").code == 3
    assert Path("reports/safe-gate.json").read_bytes() == before


def test_a_killed_shard_leaves_no_old_one_of_its_own(safe_gate: SafeGate, passed: tuple[str, ...]) -> None:
    shards = [f"reports/safe-gate.shard-{index}-of-2.json" for index in (1, 2)]
    for index in (1, 2):
        assert safe_gate(*passed, "--shard", f"{index}/2").code == 0
    before = {path: path.read_bytes() for path in Path("reports").iterdir() if str(path) != shards[1]}
    killed(*passed, "--shard", "2/2")
    assert {path: path.read_bytes() for path in before} == before
    merge = ("merge", *shards, *passed[1:])
    refused(safe_gate(*merge), f"{shards[1]}: is not a finished shard: it has no field shard")
    assert safe_gate(*passed, "--shard", "2/2").code == 0
    assert safe_gate(*merge).code == 0


def test_a_merge_that_is_killed_keeps_the_shards(safe_gate: SafeGate, passed: tuple[str, ...]) -> None:
    assert safe_gate(*passed, "--shard", "1/1").code == 0
    shard = Path("reports/safe-gate.shard-1-of-1.json")
    before = shard.read_bytes()
    killed("merge", str(shard), *passed[1:])
    assert shard.read_bytes() == before
    assert report()["verdict"] == "error"
    shard.replace("reports/safe-gate.json")
    assert safe_gate("merge", "reports/safe-gate.json", *passed[1:]).code == 3
    assert Path("reports/safe-gate.json").read_bytes() == before


def test_all_problems_come_before_scoring(safe_gate: SafeGate, passed: tuple[str, ...], monkeypatch: Patch) -> None:
    monkeypatch.setattr("safe_gate.evaluators.synthesis.checks.score.score_case", None)
    refused(safe_gate(*passed, "--baseline", "gone.json"), "gone.json: does not exist")
    with Path("c.jsonl").open("a", encoding="utf-8") as file:
        file.write("{}\n")
    refused(safe_gate(*passed, "--baseline", "gone.json"), "gone.json: does not exist", "c.jsonl:2: ")
