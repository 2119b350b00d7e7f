"""What a reader is shown of a weakened gate, as values in no format. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from safe_gate.core.figures import plural
from safe_gate.core.model import Phrase, Untrusted, Words
from safe_gate.core.shown import Table
from safe_gate.evaluators import EVALUATORS
from safe_gate.render.comparison import baseline_words

if TYPE_CHECKING:
    from safe_gate.core.comparison import Against, Weakened, Weakening

ROWS = 10
"""Ways that are shown at most before what is folded."""


def headline(weakened: Weakened | None) -> Phrase:
    """Return the words to go after "This change weakens the gate", none where it does not."""
    if not weakened or not weakened.findings:
        return ()
    ways = plural(len(weakened.findings), "way")
    return (f" in {ways}, compared with ", *_against(weakened.against), _limits(weakened))


def table(findings: Sequence[Weakening]) -> Table:
    """Return these ways in which the gate got weaker, with values before and after where there are any."""
    rows = [_row(one) for one in findings]
    header = ("Weaker", "Which", "Part", "Change", "Before", "After")
    told = [place for place in range(len(header)) if any(row[place] for row in rows)]
    return Table(
        tuple(header[place] for place in told),
        "<" * len(told),
        tuple(tuple(row[place] for place in told) for row in rows),
    )


def sentences(weakened: Weakened | None) -> Iterator[Phrase]:
    """Yield what is to be said where nothing got weaker, or nothing is known."""
    if not weakened or weakened.findings:
        return
    if weakened.against is None:
        yield ("Unknown whether this change weakens the gate: the base commit could not be read.",)
    else:
        yield (
            "The config, rules and cases are as strict as at ",
            *_against(weakened.against),
            _limits(weakened),
            ".",
        )


def _against(base: Against | None) -> Phrase:
    return baseline_words(base) if base else ()


def _limits(weakened: Weakened) -> str:
    return " (a report shows only limits and digests)" if weakened.partial else ""


def _row(finding: Weakening) -> tuple[Words, ...]:
    kind, before, after = finding.kind, finding.before, finding.after
    off = "off" if kind == "setting" and (before, after) != (None, None) else ""
    return (
        f"{EVALUATORS[kind].title} case" if kind in EVALUATORS else kind,
        Untrusted(finding.id) if finding.id else "all",
        Untrusted(finding.field) if finding.field else "",
        finding.what,
        _value(before, off),
        _value(after, off),
    )


def _value(value: Any, off: str) -> Words:
    if value is None or value == []:
        return off
    if isinstance(value, list):
        return Untrusted(", ".join(value))
    return Untrusted(value) if isinstance(value, str) else json.dumps(value)
