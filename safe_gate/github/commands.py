"""Workflow commands: annotations as lines of the log.

Escaped as `@actions/core` does: `%` first, then line ends; in properties `:` and `,` too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from safe_gate.model import JsonObject, Problem, Untrusted, in_order
from safe_gate.render.console import problem as problem_line
from safe_gate.render.untrusted import plain

MOST = 10
"""The runner shows ten annotations of a type a step and drops the rest."""

_MESSAGE_LIMIT = 4_000  # the runner cuts at 4,096 characters


def annotation(level: str, message: str, *, title: str = "", file: str = "", line: int = 0) -> str:
    r"""Return an annotation's line; `level` is error, warning or notice.

    >>> annotation("error", "50% of 2,\nbroken", title="a:b")
    '::error title=a%3Ab::50%25 of 2,%0Abroken'
    """
    properties = {"title": title, "file": file, "line": str(line) if line else ""}
    given = ",".join(f"{key}={_property(value)}" for key, value in properties.items() if value)
    return f"::{level}{' ' if given else ''}{given}::{_data(message[:_MESSAGE_LIMIT])}"


def broken_rules(report: JsonObject) -> Iterator[str]:
    """Yield an error annotation for each broken rule."""
    for rule in report["rules"]:
        if not rule["passed"]:
            yield annotation("error", rule["message"], title=f"SAFE Gate: {rule['rule']}")


def input_problems(problems: Iterable[Problem]) -> Iterator[str]:
    """Yield an error annotation for each problem at its place, at most `MOST`, the last for the rest."""
    ordered = in_order(problems)
    shown = ordered if len(ordered) <= MOST else ordered[: MOST - 1]
    for problem in shown:
        place = problem.place
        # A path that would have to be escaped could not be found by it anyway.
        file = place.path if place.line and plain(Untrusted(place.path), len(place.path)) == place.path else ""
        message = problem_line(problem)
        yield annotation("error", message, title="SAFE Gate: cannot judge", file=file, line=place.line if file else 0)
    if len(shown) < len(ordered):
        yield annotation(
            "error", f"{len(ordered) - len(shown)} more problems: see the log", title="SAFE Gate: cannot judge"
        )


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
