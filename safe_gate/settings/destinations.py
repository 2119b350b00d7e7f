"""The settings of publishing as values: access to GitHub, sinks, and what is published where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from safe_gate.settings.model import Settings


@dataclass(frozen=True, slots=True, repr=False)  # no secret in a traceback
class Access:
    """Access to GitHub. All requests for the same purpose share its `seconds`."""

    token: str
    purpose: Literal["fetch", "publish"]
    seconds: float


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Sink:
    """A receiver of events. `kind` is the name of its module in `sinks/`, `to` a path or an address."""

    kind: str
    to: str
    secret: str = ""

    @classmethod
    def of(cls, entry: str, secret: str = "") -> Sink:
        """Return the sink that an entry of the setting `sinks` names.

        >>> [(one.kind, one.to) for one in map(Sink.of, ("file:a.jsonl", "https://b.example"))]
        [('file', 'a.jsonl'), ('webhook', 'https://b.example')]
        """
        kind, _, to = entry.partition(":")
        return cls(kind, to, secret) if kind in ("file", "otlp") else cls("webhook", entry, secret)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Sinks:
    """Where the events of a run go, and whether with recorded text. All together get `timeout` seconds."""

    each: tuple[Sink, ...]
    with_text: bool
    timeout: float


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Publishing:
    """The output that a run publishes, and where. `comment` is the comment's mode, `author` the account that posts it.

    `text` says whether recorded text is shown; a shard publishes no verdict. A run that `hands_over` leaves a file for
    `publish`.
    """

    comment: str
    author: str
    gate_id: str
    report_dir: str
    text: str
    is_shard: bool
    dry_run: bool
    hands_over: bool
    access: Access
    sinks: Sinks

    @classmethod
    def of(cls, options: Settings, *, hands_over: bool = True) -> Publishing:
        """Return what options say of publishing."""
        return cls(
            comment=options.comment,
            author=options.comment_author,
            gate_id=options.gate_id,
            report_dir=options.report_dir,
            text=options.text,
            is_shard=bool(options.shard),
            dry_run=options.dry_run,
            hands_over=hands_over and not options.shard,
            access=Access(options.github_token, "publish", options.timeouts.publish),
            sinks=Sinks(
                each=tuple(Sink.of(one, options.sink_secret) for one in options.sinks),
                with_text=options.sink_text == "full",
                timeout=options.timeouts.sinks,
            ),
        )
