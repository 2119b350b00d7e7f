"""The base commit of the event, the working folder and reports as the baseline."""

from __future__ import annotations

from pathlib import Path

import pytest

from safe_gate.baseline.source import Baseline
from safe_gate.inputs.disk import HERE
from tests.support.baselines import context, open_, refusal
from tests.support.cases import SafeGate
from tests.support.git import NOW, commit


@pytest.mark.parametrize("event", ["pull_request", "pull_request_target", "merge_group", "push", "workflow_run"])
def test_base_is_the_base_commit_of_the_event(work: Path, event: str) -> None:
    sha = commit(work)
    Path("chat.jsonl").unlink()
    commit(work)
    with open_("base", where=context(event, sha)) as baseline:
        assert baseline
        assert (baseline.name, baseline.commit) == ("base", sha)


def test_a_base_that_must_be_there_and_is_not_known_is_an_error(work: Path) -> None:
    for where in (context("pull_request"), context("merge_group"), context("push", broken_event_file="/x")):
        said = refusal(open_("base", where=where))
        assert f"base: is the base commit of the event {where.event}, but the event file does not name it" in said
        assert said.endswith("name a ref, such as main")  # GitHub, which the action asks, knows no origin/main
    assert "base: is the base commit of a GitHub event, but this is not a GitHub Actions job" in refusal(open_("base"))


def test_the_working_folder_is_read_where_it_is(work: Path) -> None:
    with open_(".") as baseline:
        assert baseline == Baseline(".", "", "", None, HERE)
    sha = commit(work)
    with open_(".") as baseline:
        assert baseline == Baseline(".", sha, NOW, None, HERE)


def test_a_report_without_a_verdict_holds_nothing_to_compare(safe_gate: SafeGate, work: Path) -> None:
    assert safe_gate("run", "--cases", "nowhere.jsonl").code == 3
    words = "has no verdict, so there is nothing to compare or approve; name a report with a verdict"
    assert refusal(open_("reports/safe-gate.json")) == f"reports/safe-gate.json: {words}"


def test_other_files_are_refused_as_reports(safe_gate: SafeGate, work: Path) -> None:
    safe_gate("eval", "--cases", "chat.jsonl", "--out", "synthesis.json")
    for name, text in (("publication", '{"publication": 1}'), ("pack", '{"pack": "x"}'), ("broken", "{")):
        Path(f"{name}.json").write_text(text, "utf-8")
    for name, words in {
        "synthesis.json": "is the output of safe-gate eval, not a report",
        "publication.json": "is what a run leaves for `publish`",
        "pack.json": "is a rule pack",
        "clinical/I25_batch_1.json": "is a SAFE v0 batch",
        "broken.json": "is not valid JSON",
    }.items():
        assert refusal(open_(name)).startswith(f"{name}: {words}")
