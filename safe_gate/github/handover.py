"""What a run leaves behind for a trusted workflow to publish, and how that is read without trust.

A pull request from a fork may write anything into the file. So nothing in it is published as it is. The report is
validated by its schema, judged again and rendered again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from safe_gate.gate import rules, stored, waivers
from safe_gate.gate.stored import read_report, report_json
from safe_gate.github import Effects, WorkflowRun
from safe_gate.inputs import checked, disk
from safe_gate.model import record
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.model.report import Report, Verdict, Waivers


@record
class HandOver:
    """What `publish` reads of a run's file: a report that is judged again, and what is the file's word alone."""

    run: WorkflowRun
    gate: str
    job: str
    pull_request: int | None
    head_sha: str
    folder: str
    checkout: str
    report: Report


def content_of(report: Report, effects: Effects, gate_id: str, body: str) -> dict[str, Any]:
    """Return a run's file for `jsontext.pieces`, by `schemas/publication.schema.json`; `body` is its comment."""
    context = effects.context
    return {
        "publication": 2,
        "gate": gate_id,
        "job": context.job,
        "event": context.event,
        "pull_request": context.subject.pull_request,
        "head_sha": context.subject.head_sha,
        "base_sha": context.subject.base_sha,
        "run_id": context.run.id,
        "run_attempt": context.run.attempt,
        "folder": effects.folder,
        "checkout": effects.checkout,
        "body": body,
        "report": report_json(report, stored.streamed),
    }


def read(path: Path) -> HandOver:
    """Return what a run left behind. Raises CannotJudge with every problem of it; another version's shape is one."""
    name = disk.display_path(path)
    if not disk.exists(path):
        raise CannotJudge.at(
            name, "is missing; download the run's artifact, and set report-dir to its folder", Code.UNREADABLE_FILE
        )
    try:
        content: JsonObject = checked.read_document(path, "publication")
        if faults := checked.load_schema("report").faults(content["report"]):
            raise CannotJudge(*(Problem(Place(name), fault.message, "", f"report.{fault.field}") for fault in faults))
    except CannotJudge as error:
        for problem in error.problems:
            if problem.field in ("publication", "report.schema_version"):
                words = "was made by another version of safe-gate; use the same version in both workflows"
                raise CannotJudge(replace(problem, message=words)) from None
        raise
    return HandOver(
        run=WorkflowRun(content["run_id"], content["run_attempt"]),
        **{fact: content[fact] for fact in ("gate", "job", "pull_request", "head_sha", "folder", "checkout")},
        report=_judged_again(read_report(content["report"]), name),
    )


def _judged_again(report: Report, name: str) -> Report:
    """Return a report whose rules, verdict and digests follow from its own figures, in our words."""
    report = replace(report, waivers=_waivers_again(report, name))
    single = {rule.setting for rule in rules.RULES}  # the schema and own rules know those with an entry a rule
    for key, limit in rules.limits_of(report.provenance.policy).items():
        held = limit.values() if isinstance(limit, Mapping) and key not in single else (limit,)
        if not all(isinstance(one, int | float | None) for one in held):
            raise CannotJudge(Problem(Place(name), "expected a number or null", "", f"report.provenance.policy.{key}"))
    outcomes = rules.judge(report, report.provenance.policy)
    verdict = Verdict.ERROR if report.problems else rules.verdict(outcomes)
    if verdict is not report.verdict:
        words = f"is {report.verdict.value!r}, but by the report's own figures it is {verdict.value!r}"
        raise CannotJudge(Problem(Place(name), words, "", "report.verdict"))
    judged = replace(report, rules=outcomes)
    return judged if verdict is Verdict.ERROR else stored.with_digests(judged)


def _waivers_again(report: Report, name: str) -> Waivers | None:
    """Return the waivers of a report, their states recomputed from the report's own results and its day."""
    found = report.waivers
    if found is None:
        return None
    listed = [waiver for _, waiver in found.each()]
    if len({*map(waivers.Waivable.of, listed)}) < len(listed):
        raise CannotJudge(Problem(Place(name), "waives one failure twice; keep one waiver", "", "report.waivers"))
    return Waivers(found.path, found.sha256, *waivers.sort_by_standing(listed, report.parts, report.generated_at[:10]))
