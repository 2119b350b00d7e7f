"""Figures as inline SVG: a rate with its interval, and values over runs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from safe_gate.core.figures import percent
from safe_gate.core.model import Rate
from safe_gate.core.stats import wilson
from safe_gate.render.page.markup import words
from safe_gate.render.untrusted import html

_WIDE, _HIGH, _MARGIN = 240, 18, 6
_MOST = 25  # rates of one title: of more tags a reader looks at the list

Limited = tuple[Rate, float | None]
"""A rate with the least that a rule of the gate allows, None where there is none."""


def rates(shown: Iterable[Limited]) -> Iterator[str]:
    """Yield rates as tables, one for each title, with the 95 % interval of each as a picture."""
    for about, group in groupby(shown, lambda one: one[0].about):
        of_title = list(group)
        first, more = of_title[:_MOST], len(of_title) - _MOST
        yield f'<table class="rates"><caption>{html(about)}</caption>{_COLUMNS}<thead class="unseen"><tr>'
        yield '<th scope="col">Of</th><th scope="col">Rate</th><th scope="col">95 % interval</th>'
        yield '<th scope="col">Cases</th></tr></thead><tbody>\n'
        for rate, limit in first:
            yield _row(rate, limit)
        yield "</tbody></table>\n"
        if more > 0:
            yield f'<p class="muted">… and {more} more: see the JSON report.</p>\n'


_COLUMNS = '<colgroup><col class="of"><col class="rate"><col><col class="count"></colgroup>'


def _row(rate: Rate, limit: float | None) -> str:
    name = f'<th scope="row">{words(rate.name, 60)}</th>'
    if not rate.whole:
        return f'<tr>{name}<td class="num">none</td><td></td><td class="num muted">0</td></tr>\n'
    value, (low, high) = rate.part / rate.whole, wilson(rate.part, rate.whole)
    asked = "" if limit is None else f', at least <span class="limit">{percent(limit)}</span>'
    ends = f"{percent(low).removesuffix('%')} to {percent(high)}"
    return (
        f'<tr>{name}<td class="num"><b>{percent(value)}</b></td><td>{_interval(value, low, high, limit)}'
        f'<span class="ends">{ends}{asked}</span></td><td class="num muted">{rate.part} of {rate.whole}</td></tr>\n'
    )


def _interval(value: float, low: float, high: float, limit: float | None) -> str:
    """Return a rate as a dot on a line from 0 to 1, its interval as a bar, a limit as a stroke."""
    middle, (left, right, dot) = _HIGH / 2, (_at(one) for one in (low, high, value))
    missed = limit is not None and value < limit
    parts = [
        f'<line class="axis" x1="{_at(0):g}" x2="{_at(1):g}" y1="{middle:g}" y2="{middle:g}"/>',
        *(f'<line class="axis" x1="{x:g}" x2="{x:g}" y1="{middle - 3:g}" y2="{middle + 3:g}"/>' for x in _TICKS),
        f'<rect class="range" x="{left:g}" y="{middle - 3:g}" width="{max(right - left, 1):g}" height="6" rx="3"/>',
    ]
    if limit is not None:
        parts.append(f'<line class="asked" x1="{_at(limit):g}" x2="{_at(limit):g}" y1="1" y2="{_HIGH - 1}"/>')
    parts.append(f'<circle class="{"bad" if missed else "dot"}" cx="{dot:g}" cy="{middle:g}" r="4.5"/>')
    return f'<svg class="interval" viewBox="0 0 {_WIDE} {_HIGH}" aria-hidden="true">{"".join(parts)}</svg>'


def _at(share: float) -> float:
    return round(_MARGIN + share * (_WIDE - 2 * _MARGIN), 2)


_TICKS = [_at(share) for share in (0, 0.25, 0.5, 0.75, 1)]
