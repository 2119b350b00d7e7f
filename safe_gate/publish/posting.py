"""Shell: the comment of a run, posted, left for a trusted workflow, or rehearsed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from safe_gate.core.model import (
    NOTHING_RECORDED,
    CannotJudge,
    Origin,
    Recorded,
    Verdict,
)
from safe_gate.core.report import Report
from safe_gate.github import Api, ApiError, Refusal, comment
from safe_gate.github.annotations import Annotation
from safe_gate.github.event import Context
from safe_gate.inputs import disk, writing
from safe_gate.publish import handover, preview
from safe_gate.publish.attempts import warn
from safe_gate.publish.effects import Effects
from safe_gate.render import SUMMARY_LIMIT, console, jsonreport, markdown
from safe_gate.render.view import ReportView
from safe_gate.settings.destinations import Publishing

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
    Refusal.DEADLINE: ("failed", "; GitHub is slow: run again, or raise publish-timeout"),
}
"""The comment's status and advice for each refusal by GitHub; `failed` for all others."""

NOT_POSTED = {"failed", "skipped-no-token", "skipped-same-gate", *(status for status, _ in _REFUSED.values())}
"""What `publish`, which has nothing else to do, calls an error."""


_INSTALLATION = "ghs_"
"""The prefix of tokens of jobs and Apps. GitHub does not name the account of such a token."""


def drafted(
    view: ReportView,
    mode: str,
    context: Context,
    origin: Origin,
    *,
    job: str,
    recorded: Recorded = NOTHING_RECORDED,
) -> comment.Draft:
    """Return the comment for a report in the setting's mode, in lengths that GitHub may take."""
    result = markdown.scorecard(view, limit=SUMMARY_LIMIT)
    marker = comment.Marker(
        gate=comment.gate_name(context.workflow, origin.gate or job),
        head=context.head_sha,
        run=context.run,
        result=hashlib.sha256(result.encode("utf-8", "replace")).hexdigest()[:16],
    )
    bodies = tuple(markdown.rungs(view, limit=markdown.COMMENT_LIMIT, origin=origin, recorded=recorded))
    return comment.Draft(marker, bodies, mode, view.report.verdict is Verdict.PASS)


def post(
    draft: comment.Draft,
    wanted: Publishing,
    effects: Effects,
    pull_request: Callable[[Api], int | None],
    without: str,
) -> comment.Posted:
    """Post the comment where there is one to post; its status is `without` where no pull request is found."""
    context = effects.context
    if skipped := preview.no_comment(wanted, context):
        return comment.Posted(skipped)
    try:
        api = effects.connect(context.api_url, wanted.access, effects.out)
        number = pull_request(api)
        if number is None:
            return comment.Posted(without)
        may_ask = not wanted.access.token.startswith(_INSTALLATION)
        posted = comment.post(api, context.repository, number, draft, wanted.author, may_ask=may_ask)
    except ApiError as error:
        status, advice = _REFUSED.get(error.refusal, ("failed", ""))
        warn(f"The comment was not posted: {error}{advice}", effects)
        return comment.Posted(status)
    if posted.warning:
        warn(posted.warning, effects)
    return posted


def leave_behind(report: Report, draft: comment.Draft, wanted: Publishing, effects: Effects) -> str:
    """Write what a trusted workflow can publish if this run may not; return the file's path, or nothing."""
    path = Path(wanted.report_dir) / handover.NAME
    body = draft.marker.above(draft.bodies[0])
    try:
        left = handover.Publication.of(report, effects.context, effects.folder, wanted.gate_id, body)
        writing.write(path, jsonreport.pieces(left.to_json()))
    except CannotJudge as error:
        warn(f"Could not write {error.problems[0].place.path}: {error.problems[0].message}", effects)
        return ""
    return disk.shown(path)


def rehearse(
    view: ReportView,
    annotations: Sequence[Annotation],
    wanted: Publishing,
    origin: Origin,
    effects: Effects,
    recorded: Recorded,
) -> None:
    """Print what would be published, in a form in which it does nothing."""
    effects.out("\nDry run: reports and step outputs are written; comment, annotations and summary are not.")
    planned = preview.channels(replace(wanted, dry_run=False), effects.context)
    effects.out(console.facts("Without dry-run, the run would publish", planned))
    for one in annotations:
        place = f" {console.path_words(one.file)}:{one.line}" if one.file else ""
        effects.out(f"{one.level}{place}: {one.title}: {one.message}".replace("\n", "; "))
    body = markdown.scorecard(view, limit=markdown.COMMENT_LIMIT, origin=origin, recorded=recorded)
    show(body, effects)


def show(body: str, effects: Effects) -> None:
    """Print a comment as it would be posted."""
    effects.out(f"\n--- the comment, {len(body.encode())} bytes ---\n{body}--- end of the comment ---")
