from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import SafeGate, read_json, safe_case, write_batch
from tests.support.github import TOKEN, Gate, GitHub, InActions
from tests.support.handover import FILE, FORBIDDEN, Publish, Published, Untrusted
from tests.support.safe_v0 import saying
from tests.support.workflow_run import LISTED, workflow_run


@pytest.fixture
def untrusted(gate: Gate, github: GitHub) -> Untrusted:
    """Run the gate with a read-only token, as for a pull request from a fork."""

    def run(verdict: str = "fail", *arguments: str, **changed: str) -> None:
        github.faults = {(method, r".*/comments.*"): FORBIDDEN for method in ("POST", "PATCH")}
        step = gate(verdict, *arguments, GITHUB_RUN_ID="77", **changed)
        assert step.status.startswith("skipped-")
        assert step.outputs["comment-file"] == str(FILE)
        github.faults.clear()
        github.requests.clear()

    return run


@pytest.fixture
def publish(safe_gate: SafeGate, in_actions: InActions, tmp_path: Path) -> Publish:
    """Run `safe-gate publish` in a workflow_run."""

    def run(
        *arguments: str, command: str = "publish", event: str = "workflow_run", payload: Any = None, **changed: str
    ) -> Published:
        facts = {"GITHUB_WORKFLOW": "publish", "GITHUB_JOB": "comment", "GITHUB_RUN_ID": "900"} | changed
        in_actions(event, payload or workflow_run([LISTED]), **facts)
        ran = safe_gate(command, *arguments)
        assert TOKEN not in ran.log
        return Published(ran, (tmp_path / "output").read_text("utf-8"))

    return run


@pytest.fixture
def file(untrusted: Untrusted) -> dict[str, Any]:
    """Return what an untrusted run left behind, with a report of both evaluators and of what got worse."""
    write_batch(Path("b_batch_1.json"), safe_case("a"))
    untrusted("pass", "--safe-batch", "b_batch_1.json")
    Path("reports/safe-gate.json").rename("old.json")
    write_batch(Path("b_batch_1.json"), safe_case("a", output=saying("x", summary="y", questions=["the policy"])))
    untrusted("fail", "--safe-batch", "b_batch_1.json", "--baseline", "old.json")
    return dict(read_json(FILE))
