"""Publishes a report on GitHub: annotations, comment, job summary, step outputs, and what is left for later.

Nothing here changes a verdict: what fails is a warning.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from urllib.parse import quote

from safe_gate import addons
from safe_gate.core import jsontext
from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.github import (
    HAND_OVER,
    NO_RUN,
    OF_A_HEAD,
    Api,
    ApiError,
    Context,
    Effects,
    Refusal,
    comment,
    handover,
    preview,
    runner_files,
)
from safe_gate.github.runner_files import Annotation, annotations_of, refusal_annotations
from safe_gate.inputs import disk
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.model.report import Origin, Report, Verdict
from safe_gate.model.results import NOTHING_RECORDED, Recorded, Untrusted
from safe_gate.render import SUMMARY_LIMIT, console, markdown
from safe_gate.render.untrusted import plain
from safe_gate.render.view import ReportView, misplaced_sentence, step_outputs
from safe_gate.settings import Settings

_REFUSED = {
    Refusal.CREDENTIALS: ("skipped-permissions", "; the token is wrong or has expired: correct github-token"),
    Refusal.PERMISSION: (
        "skipped-permissions",
        "; this is normal with a read-only token (forks, Dependabot), otherwise the job needs pull-requests: write",
    ),
    Refusal.NOT_FOUND: (
        "skipped-permissions",
        "; the token cannot access this pull request: use a token for this repository with pull-requests: write",
    ),
    Refusal.LOCKED: ("skipped-locked", "; the conversation is locked: unlock it to get the comment"),
    Refusal.RATE_LIMIT: ("skipped-rate-limit", ", and waiting did not help or would take too long"),
    Refusal.DEADLINE: ("failed", "; GitHub is slow: run again, or raise timeouts.publish"),
}
"""The comment's status and advice for each refusal by GitHub; `failed` for all others."""

_NOT_POSTED = {"failed", "skipped-no-token", "skipped-same-gate", *(status for status, _ in _REFUSED.values())}
"""What `publish`, which has nothing else to do, calls an error."""

_INSTALLATION = "ghs_"
"""The prefix of tokens of jobs and Apps. GitHub does not name the account of such a token."""


# --- a run ----------------------------------------------------------------------------------------


def publish_run(
    view: ReportView, wanted: Settings, paths: Sequence[str], effects: Effects, *, hands_over: bool
) -> None:
    """Publish a run. Whatever fails here is a warning: the verdict is already decided.

    A run that `hands_over` leaves a file for `publish`. The comment comes after everything that needs no server, and
    sinks come last. A slow server must not cost the other results if the job is killed.
    """
    report = view.report
    for one in report.weakened.findings if report.weakened else ():  # which a change must not hide
        if (one.kind, one.id) == ("setting", "comment") and one.before:
            wanted = wanted.replace(comment=one.before)
    context, origin = effects.context, effects.context.origin(effects.folder, wanted.gate_id, effects.checkout)
    annotations = annotations_of(view, effects.folder)
    draft, file = None, ""
    if wanted.dry_run:
        _print_dry_run(view, annotations, wanted, origin, effects)
    elif context.in_actions:
        _annotate(annotations, effects)
        draft = _draft(view, wanted.comment, context, origin, job=context.job, recorded=view.recorded)
        if hands_over and not wanted.shard:  # `publish` posts it from the report, which holds no reply
            left = _draft(view, wanted.comment, context, origin, job=context.job)
            file = _write_hand_over(report, left, wanted, effects)
    summaries = markdown.scorecards_by_length(view, limit=SUMMARY_LIMIT, origin=origin, recorded=view.recorded)
    append_to_summary(summaries, effects, is_dry=wanted.dry_run)
    are_written = _write_outputs({**step_outputs(report), **_paths(paths), "comment-file": file}, effects)
    posted = comment.Posted(preview.why_no_comment(wanted, context))
    if draft:
        posted = _post(draft, wanted, effects, partial(comment.pull_request_of, context), "skipped-no-pull-request")
        if context.broken_event_file and posted.status == "skipped-no-pull-request":
            why = f"the event file {context.broken_event_file} cannot be read, so no pull request is known"
            _warn(f"The comment was not posted: {why}", effects)
    if are_written:
        _write_outputs({"comment-status": posted.status, "comment-url": posted.url}, effects)
    status = _send(report, wanted, origin, effects)
    if are_written:
        _write_outputs({"sink-status": status}, effects)


def _write_hand_over(report: Report, draft: comment.Draft, wanted: Settings, effects: Effects) -> str:
    """Write what a trusted workflow can publish if this run may not; return the file's path, or nothing."""
    path = Path(wanted.report_dir) / HAND_OVER
    left = handover.content_of(report, effects, wanted.gate_id, draft.marker.above(draft.bodies[0]))
    try:
        disk.write(path, jsontext.pieces(left))
    except CannotJudge as error:
        _warn(f"Could not write {error.problems[0].place.path}: {error.problems[0].message}", effects)
        return ""
    if words := disk.too_long(path):
        _warn(f"{disk.display_path(path)} {words}", effects)
    return disk.display_path(path)


def _annotate(annotations: Iterable[Annotation], effects: Effects) -> None:
    for one in annotations:
        effects.out(one.command())


def _print_dry_run(
    view: ReportView, annotations: Sequence[Annotation], wanted: Settings, origin: Origin, effects: Effects
) -> None:
    """Print what would be published, in a form in which it does nothing."""
    effects.out("\nDry run: reports and step outputs are written; comment, annotations and summary are not.")
    planned = preview.publishing_facts(wanted.replace(dry_run=False), effects.context)
    effects.out(console.facts_text("Without dry-run, the run would publish", planned))
    for one in annotations:
        place = f" {console.path_text(one.file)}:{one.line}" if one.file else ""
        effects.out(f"{one.level}{place}: {one.title}: {one.message}".replace("\n", "; "))
    _show(markdown.scorecard(view, limit=markdown.COMMENT_LIMIT, origin=origin, recorded=view.recorded), effects)


def _send(report: Report, wanted: Settings, origin: Origin, effects: Effects) -> str:
    """Send a report's events to the sinks that are on. Return the status for the step outputs."""
    if (status := preview.why_no_sink(wanted)) is not None:
        return status
    gate, attempt = origin.name, effects.context.run.attempt
    url = f"{origin.repository}/actions/runs/{origin.run}/attempts/{attempt}" if origin.run else ""
    run = addons.sinks.Run((url or "safe-gate") + f"#{quote(gate)}" * bool(gate), gate, origin.repository, url)
    if failures := addons.sinks.deliver(report, run, wanted.receivers):
        _warn(f"Not all events were sent: {'; '.join(failures)}", effects)
    return "failed" if failures else "sent"


def _paths(written: Sequence[str]) -> dict[str, str]:
    """Return the step outputs that name reports: those that steps most often read, and all, one a line."""
    ends = {"report-json": "/safe-gate.json", "report-markdown": "/safe-gate.md"}
    named = {name: next((path for path in written if f"/{path}".endswith(end)), "") for name, end in ends.items()}
    return {**named, "reports": "\n".join(written)}


def publish_shard(said: str, path: str, wanted: Settings, effects: Effects) -> None:
    """Publish that a shard is scored, by a summary line and outputs without a verdict."""
    append_to_summary([f"{said}\n"], effects, is_dry=wanted.dry_run)
    measured = (output for one in EVALUATORS.values() for output in one.present.figures(None).outputs)
    values = {
        **dict.fromkeys((*measured, "total-cases"), ""),
        "verdict": "unjudged",
        **_paths([path]),
        "report-json": path,
        "comment-file": "",
        "comment-status": preview.why_no_comment(wanted, effects.context),
        "comment-url": "",
        "sink-status": preview.why_no_sink(wanted) or "",
    }
    _write_outputs(values, effects)


# --- a run without write access, from a trusted workflow --------------------------------------------


def publish_hand_over(wanted: Settings, effects: Effects) -> bool:
    """Post what a run without write access left in the report folder, from a trusted `workflow_run`.

    Pull request, commit, run and workflow come from the event and from GitHub's answers. A run is not posted if its
    commit is no longer a pull request's head. Returns whether nothing is left to post. Raises CannotJudge with
    every problem of what was left.
    """
    try:
        found, context, draft = _read_hand_over(wanted, effects.context)
    except CannotJudge as error:
        publish_refusal(error.problems, effects, is_dry=wanted.dry_run)
        raise
    if wanted.dry_run:
        effects.out("Dry run: step outputs are written; the comment is not.")
        _show(draft.bodies[0], effects)
    are_written = _write_outputs(step_outputs(found.report), effects)
    find = partial(comment.confirmed_pull_request, context, found.pull_request)
    posted = _post(draft, wanted, effects, find, "skipped-outdated")
    effects.out(f"Comment: {posted.status} {plain(Untrusted(posted.url))}".rstrip())
    if posted.status == "skipped-no-token":
        _warn("The comment was not posted: github-token is empty; it needs pull-requests: write", effects)
    if posted.status == "skipped-outdated":
        subject = context.subject
        named, head = plain(Untrusted(subject.head_label or context.repository)), plain(Untrusted(subject.head_sha))
        moved_on = f"No open pull request of {named} has the head {head}."
        outranked = "The comment shows a newer run, or a pull request's at this commit."
        effects.out(outranked if posted.url else moved_on)
    if are_written:
        _write_outputs({"comment-status": posted.status, "comment-url": posted.url}, effects)
    return posted.status not in _NOT_POSTED


def _read_hand_over(wanted: Settings, context: Context) -> tuple[handover.HandOver, Context, comment.Draft]:
    """Return what a run left behind, where that run stood, and its comment. Raises CannotJudge with every problem."""
    path = Path(wanted.report_dir) / HAND_OVER
    place = Place(disk.display_path(path))
    try:
        found = handover.read(path)
        if problems := tuple(_strangers(found, place, context)):
            raise CannotJudge(*problems)
        # The run is that of the event, but a job that was not run again left the file in an earlier attempt.
        theirs = context._replace(run=found.run, workflow=context.subject.trigger_workflow)
        origin = theirs.origin(found.folder, wanted.gate_id or found.gate, found.checkout)
        return found, theirs, _draft(ReportView(found.report), wanted.comment, theirs, origin, job=found.job)
    except (ArithmeticError, LookupError, TypeError, ValueError):  # a report may fit its schema and make no sense
        words = "has impossible figures; expected a file written by safe-gate run"
        raise CannotJudge(Problem(place, words)) from None


def _strangers(found: handover.HandOver, place: Place, context: Context) -> Iterator[Problem]:
    """Yield what keeps a file from being published: it must be of the run that the event names."""
    subject = context.subject
    if context.event != "workflow_run":
        words = f"was started by {context.event or 'no GitHub event'}; expected workflow_run, the only trusted event"
        yield Problem(Place("publish"), words, code=Code.UNAVAILABLE)
    elif subject.trigger == NO_RUN:
        words = "does not name the run that started this workflow; expected a workflow_run event in GITHUB_EVENT_PATH"
        yield Problem(Place(context.broken_event_file or "the event file"), words)
    elif found.run.id != subject.trigger.id or found.run > subject.trigger:
        run, expected = found.run, f"run {subject.trigger.id}, attempt {subject.trigger.attempt} or earlier"
        words = f"is of run {run.id}, attempt {run.attempt}; expected {expected}, which started this workflow"
        yield Problem(place, words)
    elif found.head_sha != subject.head_sha:
        yield Problem(place, f"is of commit {found.head_sha}; expected {subject.head_sha}, that of the run")


def publish_refusal(problems: Sequence[Problem], effects: Effects, *, is_dry: bool) -> None:
    """Publish why a run's comment is not posted, as annotations and step outputs."""
    if effects.context.in_actions and not is_dry:
        _annotate(refusal_annotations(problems, effects.folder), effects)
    _write_outputs({"verdict": Verdict.ERROR.value, "comment-status": "failed", "comment-url": ""}, effects)


# --- the comment ------------------------------------------------------------------------------------


def _draft(
    view: ReportView, mode: str, context: Context, origin: Origin, *, job: str, recorded: Recorded = NOTHING_RECORDED
) -> comment.Draft:
    """Return the comment for a report in the setting's mode, in lengths that GitHub may take."""
    result = markdown.scorecard(view, limit=SUMMARY_LIMIT)
    result += "misplaced" * bool(misplaced_sentence(view.report, origin))
    marker = comment.Marker(
        gate=comment.gate_name(context.workflow, origin.gate or job),
        head=context.subject.head_sha,
        run=context.run,
        result=hashlib.sha256(result.encode("utf-8", "replace")).hexdigest()[:16],
        pull=(context.subject.trigger_event or context.event) in (*OF_A_HEAD, "pull_request_target"),
    )
    bodies = tuple(markdown.scorecards_by_length(view, limit=markdown.COMMENT_LIMIT, origin=origin, recorded=recorded))
    return comment.Draft(marker, bodies, mode, view.report.verdict is Verdict.PASS)


def _post(
    draft: comment.Draft, wanted: Settings, effects: Effects, pull_request: Callable[[Api], int | None], without: str
) -> comment.Posted:
    """Post the comment where there is one to post; its status is `without` where no pull request is found."""
    if skipped := preview.why_no_comment(wanted, effects.context):
        return comment.Posted(skipped)
    try:
        api = effects.connect(wanted.access("publish"))
        number = pull_request(api)
        if number is None:
            return comment.Posted(without)
        may_ask = not wanted.github_token.startswith(_INSTALLATION)
        posted = comment.post(api, effects.context.repository, number, draft, wanted.comment_author, may_ask=may_ask)
    except ApiError as error:
        status, advice = _REFUSED.get(error.refusal, ("failed", ""))
        _warn(f"The comment was not posted: {error}{advice}", effects)
        return comment.Posted(status)
    if posted.warning:
        _warn(posted.warning, effects)
    return posted


def _show(body: str, effects: Effects) -> None:
    effects.out(f"\n--- the comment, {len(body.encode())} bytes ---\n{body}--- end of the comment ---")


# --- the runner's files -----------------------------------------------------------------------------


def append_to_summary(texts: Iterable[str], effects: Effects, *, is_dry: bool) -> None:
    """Append the first of some texts of Markdown, longest first, that there is room for to the job summary.

    Nothing is done in a dry run, or if there is no summary. What fails is a warning.
    """
    file = effects.context.summary_file
    if file and not is_dry:
        _attempt("the job summary", lambda: runner_files.append_summary(file, texts), effects)


def _write_outputs(values: Mapping[str, str], effects: Effects) -> bool:
    """Write step outputs, if there are any; return whether more of them may follow."""
    file = effects.context.output_file
    return bool(file) and _attempt("the step outputs", lambda: runner_files.write_outputs(file, values), effects)


def _attempt(what: str, action: Callable[[], None], effects: Effects) -> bool:
    try:
        action()
    except OSError as error:
        _warn(f"Could not write {what}: {error.strerror or error}", effects)
        return False
    return True


def _warn(message: str, effects: Effects) -> None:
    """Warn of something that could not be published, as an annotation where there is a runner."""
    text = f"{plain(Untrusted(message.removesuffix('.')), 500)}. The verdict does not depend on it."
    if effects.context.in_actions:
        effects.out(Annotation("warning", text, "SAFE Gate").command())
    else:
        effects.err(f"safe-gate: warning: {text}")
