"""What a run would publish and what it knows in advance: facts for `doctor` and `--dry-run`.

Pure: from the options and the context alone. It sends no request, so the token's permissions are unknown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from safe_gate.core.setting import Setting, flat
from safe_gate.github import Context
from safe_gate.model.results import Untrusted, Words
from safe_gate.settings import Settings, settings

Facts = list[tuple[str, Words]]
"""Named facts in reading order."""

_REASONS = {
    "skipped-shard": "this is a shard; merge posts the comment",
    "skipped-off": "comment is never",
    "skipped-no-pull-request": "there is no pull request",
    "skipped-no-token": "there is no token",
    "skipped-dry-run": "this is a dry run",
}
_NO_EVENTS = {"": "none is set", "skipped-shard": "merge sends them", "skipped-dry-run": "this is a dry run"}


def why_no_comment(wanted: Settings, context: Context) -> str:
    """Return why no comment is attempted, "" if one is."""
    if wanted.shard:
        return "skipped-shard"
    if wanted.comment == "never":
        return "skipped-off"
    if not context.may_have_pull_request or not context.repository:
        return "skipped-no-pull-request"
    if not wanted.github_token:
        return "skipped-no-token"
    return "skipped-dry-run" if wanted.dry_run else ""


def why_no_sink(wanted: Settings) -> str | None:
    """Return why no sink is attempted, "" if none is on, None if one is attempted."""
    if not wanted.sinks:
        return ""
    if wanted.shard:
        return "skipped-shard"
    return "skipped-dry-run" if wanted.dry_run else None


def publishing_facts(wanted: Settings, context: Context) -> Facts:
    """Return what a run would publish where, and why not where it would not. An address may be a secret."""
    skipped, unsent, sinks = why_no_comment(wanted, context), why_no_sink(wanted), wanted.receivers
    number = context.subject.pull_request
    subject = "the open pull request with this head, if any" if number is None else f"pull request #{number}"
    refused = "; GitHub will refuse it unless you set your own token" if context.is_read_only else ""
    to = ", ".join({"otlp": "OTLP", "webhook": "a webhook"}.get(one.kind, one.to) for one in sinks.each)
    sent = Untrusted(f"to {to}; {'with' if sinks.with_text else 'without'} recorded text")
    dry = "no: this is a dry run" if wanted.dry_run else ""
    annotations = "only for problems; merge adds the rest" if wanted.shard else "yes"
    return [
        ("comment", f"no: {_REASONS[skipped]}" if skipped else f"{wanted.comment}, on {subject}{refused}"),
        ("annotations", dry or (annotations if context.in_actions else "no: this is not a GitHub Actions job")),
        ("job summary", dry or ("yes" if context.summary_file else "no: GITHUB_STEP_SUMMARY is not set")),
        ("step outputs", "yes" if context.output_file else "no: GITHUB_OUTPUT is not set"),
        ("reports", Untrusted(f"in {wanted.report_dir}")),
        ("events", sent if unsent is None else f"no: {_NO_EVENTS[unsent]}"),
        ("recorded text", "shown" if wanted.text == "full" else "hidden: hashes replace it"),
    ]


def github_facts(context: Context, folder: str, *, has_token: bool) -> Facts:
    """Return what a run knows of GitHub from its environment and the event file."""
    given = "read-only (the job's default token)" if context.is_read_only else "given; it needs pull-requests: write"
    broken, number = context.broken_event_file, context.subject.pull_request
    unnamed = "not in the event; the open pull request with this head" if context.may_have_pull_request else "none"
    pull_request = (unnamed if number is None else f"#{number}") + ", from a fork" * context.from_fork
    return [
        ("event", Untrusted(context.event) if context.event else "none"),
        *((("event file", Untrusted(f"{broken} cannot be read as a JSON object")),) if broken else ()),
        ("repository", Untrusted(context.repository) if context.repository else "none"),
        ("pull request", pull_request),
        ("base commit", Untrusted(f"{base}, of the event") if (base := context.subject.base_sha) else "unknown"),
        ("working folder", Untrusted(folder) if folder else "the repository's root, or in no repository"),
        ("API", Untrusted(context.api_url)),
        ("token", given if has_token else "none"),
    ]


def settings_rows(options: Settings) -> list[tuple[Words, ...]]:
    """Return a row a setting, or entry of one: its name, its value, the kind of its source, its name there."""
    rows: list[tuple[Words, ...]] = []
    for setting in settings():
        value = options.value(setting.name)
        for entry, one in (flat(value) if setting.by_name and value else {"": value}).items():
            name, ours = (f"{start}.{entry}" if entry else start for start in (setting.input, setting.name))
            source = (origin.kind, Untrusted(origin.name)) if (origin := options.origins.get(ours)) else ("default", "")
            rows.append((Untrusted(name), _value(setting, one), *source))
    return rows


def _value(setting: Setting, value: Any) -> Words:
    if value is None or value in ("", ()):
        return "off" if setting.kind in (int, float) or setting.by_name else ""
    if setting.secret:
        return "(not shown)"
    if isinstance(value, tuple):
        return Untrusted(" ".join(value))
    return Untrusted(json.dumps(value) if isinstance(value, Mapping | bool) else str(value))
