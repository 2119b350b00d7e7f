"""Shell: publishes a report on GitHub: annotations, comment, job summary, step outputs, and what is left for later.

Nothing here changes a verdict: what fails is a warning. Touches the world through `Effects` alone, except for
the file that `handover.py` describes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from safe_gate.core.model import (
    NOTHING_RECORDED,
    CannotJudge,
    Code,
    Origin,
    Place,
    Problem,
    Recorded,
    Untrusted,
    Verdict,
)
from safe_gate.core.report import Report
from safe_gate.evaluators import EVALUATORS
from safe_gate.github import comment, pulls
from safe_gate.github.annotations import annotated, of_refusal
from safe_gate.github.event import NO_RUN, Context
from safe_gate.inputs import disk
from safe_gate.publish import handover, preview
from safe_gate.publish.attempts import attempt, warn, warn_of_loss, write_outputs
from safe_gate.publish.effects import Effects
from safe_gate.publish.handover import Publication
from safe_gate.publish.posting import NOT_POSTED, drafted, leave_behind, post, rehearse, show
from safe_gate.render import SUMMARY_LIMIT, markdown
from safe_gate.render.untrusted import plain
from safe_gate.render.view import ReportView
from safe_gate.settings.destinations import Publishing


def publish_run(
    view: ReportView,
    wanted: Publishing,
    paths: Sequence[str],
    effects: Effects,
    recorded: Recorded = NOTHING_RECORDED,
) -> None:
    """Publish a run on GitHub. Whatever fails here is a warning: the verdict is already decided.

    The comment comes after everything that needs no server, and sinks come last. A slow server must not cost the
    other results if the job is killed.
    """
    warn_of_loss(wanted.report_dir, effects)
    report = view.report
    wanted = _as_loud_as_before(wanted, report)
    context, origin = effects.context, effects.context.origin(effects.folder, wanted.gate_id)
    annotations = annotated(view, effects.folder)
    draft, file = None, ""
    if wanted.dry_run:
        rehearse(view, annotations, wanted, origin, effects, recorded)
    elif context.in_actions:
        for one in annotations:
            effects.out(one.command())
        draft = drafted(view, wanted.comment, context, origin, job=context.job, recorded=recorded)
        if wanted.hands_over:  # `publish` posts it from the report, which holds no reply
            left = drafted(view, wanted.comment, context, origin, job=context.job)
            file = leave_behind(report, left, wanted, effects)
    if context.summary_file and not wanted.dry_run:
        texts = tuple(markdown.rungs(view, limit=SUMMARY_LIMIT, origin=origin, recorded=recorded))
        attempt("the job summary", lambda: effects.append_summary(context.summary_file, texts), effects)
    are_written = write_outputs({**view.step_outputs, **_paths(paths), "comment-file": file}, effects)
    posted = comment.Posted(preview.no_comment(wanted, context))
    if draft:
        posted = post(draft, wanted, effects, lambda api: pulls.number(api, context), "skipped-no-pull-request")
        if context.broken_event_file and posted.status == "skipped-no-pull-request":
            why = f"the event file {context.broken_event_file} cannot be read, so no pull request is known"
            warn(f"The comment was not posted: {why}", effects)
    if are_written:
        write_outputs({"comment-status": posted.status, "comment-url": posted.url}, effects)
    status = _send(report, wanted, origin, effects)
    if are_written:
        write_outputs({"sink-status": status}, effects)


def _send(report: Report, wanted: Publishing, origin: Origin, effects: Effects) -> str:
    """Send a report's events to the sinks that are on. Return the status for the step outputs."""
    if (status := preview.no_sink(wanted)) is not None:
        return status
    from safe_gate.sinks.events import Run

    context = effects.context
    url = f"{origin.repository}/actions/runs/{context.run.id}/attempts/{context.run.attempt}" if origin.run else ""
    gate = origin.gate or context.job
    source = f"{url or 'safe-gate'}{f'#{quote(gate)}' if gate else ''}"
    failures = effects.deliver(report, Run(source, gate, origin.repository, url), wanted.sinks)
    if failures:
        warn(f"Not all events were sent: {'; '.join(failures)}", effects)
    return "failed" if failures else "sent"


def _paths(written: Sequence[str]) -> dict[str, str]:
    """Return the step outputs that name reports: those that steps most often read, and all, one a line."""
    ends = {"report-json": "/safe-gate.json", "report-markdown": "/safe-gate.md"}
    named = {name: next((path for path in written if f"/{path}".endswith(end)), "") for name, end in ends.items()}
    return {**named, "reports": "\n".join(written)}


def _as_loud_as_before(wanted: Publishing, report: Report) -> Publishing:
    """Return what to publish, with the base commit's comment mode: a change must not hide that it weakens the gate."""
    findings = report.weakened.findings if report.weakened else ()
    before = next((one.before for one in findings if (one.kind, one.id) == ("setting", "comment")), None)
    return replace(wanted, comment=before) if before else wanted


def append_to_summary(text: str, effects: Effects, *, is_dry: bool) -> None:
    """Append Markdown to the job summary, if there is one and this is no dry run. What fails is a warning."""
    file = effects.context.summary_file
    if file and not is_dry:
        attempt("the job summary", lambda: effects.append_summary(file, (text,)), effects)


def publish_shard(said: str, path: str, wanted: Publishing, effects: Effects) -> None:
    """Publish that a shard is scored, by a summary line and outputs without a verdict."""
    warn_of_loss(wanted.report_dir, effects)
    append_to_summary(f"{said}\n", effects, is_dry=wanted.dry_run)
    measured = (output for one in EVALUATORS.values() for output in one.step_outputs(None))
    values = {
        **dict.fromkeys((*measured, "total-cases"), ""),
        "verdict": "unjudged",
        **_paths([path]),
        "report-json": path,
        "comment-file": "",
        "comment-status": preview.no_comment(wanted, effects.context),
        "comment-url": "",
        "sink-status": preview.no_sink(wanted) or "",
    }
    write_outputs(values, effects)


def post_later(wanted: Publishing, effects: Effects) -> bool:
    """Post what a run without write access left in the report folder, from a trusted `workflow_run`.

    Pull request, commit, run and workflow come from the event and from GitHub's answers. A run is not posted if its
    commit is no longer a pull request's head. Returns whether the comment is as it should be. Raises CannotJudge with
    every problem of what was left.
    """
    try:
        found, context, draft = left_behind(wanted, effects.context)
    except CannotJudge as error:
        publish_refusal(error.problems, effects, is_dry=wanted.dry_run)
        raise
    if wanted.dry_run:
        effects.out("Dry run: step outputs are written; the comment is not.")
        show(draft.bodies[0], effects)
    are_written = write_outputs(ReportView.of(found.report).step_outputs, effects)
    posted = post(
        draft, wanted, effects, lambda api: pulls.confirmed(api, context, found.pull_request), "skipped-outdated"
    )
    effects.out(f"Comment: {posted.status} {plain(Untrusted(posted.url))}".rstrip())
    if posted.status == "skipped-outdated":
        effects.out(_moved_on(context, posted))
    if are_written:
        write_outputs({"comment-status": posted.status, "comment-url": posted.url}, effects)
    return posted.status not in NOT_POSTED


def left_behind(wanted: Publishing, context: Context) -> tuple[Publication, Context, comment.Draft]:
    """Return what a run left behind, where that run stood, and its comment. Raises CannotJudge with every problem."""
    path = Path(wanted.report_dir) / handover.NAME
    place = Place(disk.shown(path))
    try:
        found = handover.read(path)
        if problems := tuple(_strangers(found, place, context)):
            raise CannotJudge(*problems)
        # A job that was not run again left it in an earlier attempt.
        theirs = context.of_trigger()._replace(run=found.run)
        origin = theirs.origin(found.folder, wanted.gate_id or found.gate)
        return found, theirs, drafted(ReportView.of(found.report), wanted.comment, theirs, origin, job=found.job)
    except (ArithmeticError, LookupError, TypeError, ValueError):  # a report may fit its schema and make no sense
        words = "has impossible figures; expected a file written by safe-gate run"
        raise CannotJudge(Problem(place, words)) from None


def _moved_on(context: Context, posted: comment.Posted) -> str:
    """Return why a comment is outdated: a newer run has written it, or the head has moved on."""
    if posted.url:
        return "A newer run has written it."
    label, repository, head = (
        plain(Untrusted(text)) for text in (context.subject.head_label, context.repository, context.head_sha)
    )
    return f"No open pull request of {label or repository} has the head {head}."


def publish_refusal(problems: Sequence[Problem], effects: Effects, *, is_dry: bool) -> None:
    """Publish why a run's comment is not posted, as annotations and step outputs."""
    if effects.context.in_actions and not is_dry:
        for annotation in of_refusal(problems, effects.folder):
            effects.out(annotation.command())
    write_outputs({"verdict": Verdict.ERROR.value, "comment-status": "failed", "comment-url": ""}, effects)


def _strangers(found: Publication, place: Place, context: Context) -> Iterator[Problem]:
    """Yield what keeps a file from being published: it must be of the run that the event names."""
    subject = context.subject
    if context.event != "workflow_run":
        event = context.event or "no GitHub event"
        yield Problem(
            Place("publish"),
            f"was started by {event}; expected workflow_run, the only trusted event",
            code=Code.UNAVAILABLE,
        )
    elif subject.trigger == NO_RUN:
        words = "does not name the run that started this workflow; expected a workflow_run event in GITHUB_EVENT_PATH"
        yield Problem(Place(context.broken_event_file or "the event file"), words)
    elif found.run.id != subject.trigger.id or found.run > subject.trigger:
        expected = f"run {subject.trigger.id}, attempt {subject.trigger.attempt} or earlier"
        words = (
            f"is of run {found.run.id}, attempt {found.run.attempt}; expected {expected}, which started this workflow"
        )
        yield Problem(place, words)
    elif found.head_sha != subject.head_sha:
        yield Problem(place, f"is of commit {found.head_sha}; expected {subject.head_sha}, that of the run")
