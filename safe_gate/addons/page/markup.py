"""The markup of an HTML page that is one file, with charts as SVG: it loads nothing, runs only its own scripts. Pure.

Its Content-Security-Policy names its style and script by hash. It allows no request, no event handler and no markup
made of text (Trusted Types). Recorded text reaches the page through `untrusted.html`, or as JSON that a script shows
as text.
"""

from __future__ import annotations

import hashlib
import pkgutil
from base64 import b64encode
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from safe_gate.core.figures import percent
from safe_gate.core.stats import wilson
from safe_gate.model.results import HELD, Phrase, Rate, Table, Untrusted, Words
from safe_gate.render.untrusted import LONGEST, html

_WHOLE = 24  # characters of a name that stays on one line, so that ids and days are not broken at hyphens
_COLORS, _CHARTS = "colors.css", "charts.css"


def page(title: str, body: Iterable[str], scripts: Sequence[str] = ()) -> Iterator[str]:
    """Yield a page in pieces: `body` is its markup, `scripts` are files of this folder that run after it."""
    style, script = ("".join(map(_asset, files)) for files in ((_COLORS, "page.css", _CHARTS), scripts))
    runs = f"script-src {_csp_source(script)}; " if script else ""
    policy = (
        f"default-src 'none'; {runs}style-src {_csp_source(style)}; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{html(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
    )
    yield from body
    yield f"<script>{script}</script>\n</body>\n</html>\n" if script else "</body>\n</html>\n"


def _asset(name: str) -> str:
    """Return a file of this folder, as the package holds it."""
    return (pkgutil.get_data(__name__, name) or b"").decode("utf-8").replace("\r\n", "\n")


def _csp_source(text: str) -> str:
    """Return the hash source of an inline style or script (Content Security Policy Level 3, section 2.3.1)."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


def render_words(words: Words, longest: int = LONGEST) -> str:
    """Return our own words as text, recorded ones as code."""
    if not isinstance(words, Untrusted):
        return html(words)
    kind = ' class="whole"' if len(words.text) <= _WHOLE else ""
    return f"<code{kind}>{html(words, longest) or ' '}</code>"


def render_phrase(parts: Phrase) -> str:
    """Return a phrase as HTML."""
    return "".join(map(render_words, parts))


def html_table(
    table: Table, caption: str, most: int = HELD, longest: int = LONGEST, whole: Collection[str] = ()
) -> Iterator[str]:
    """Yield a table with a limited number of rows. It scrolls on a narrow screen. No line of `whole` columns breaks."""
    kinds = zip(table.header, table.align, strict=True)
    sides = ["num" if sign == ">" else "whole" if title in whole else "" for title, sign in kinds]
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{html(caption)}"><table>'
    yield f'<caption class="unseen">{html(caption)}</caption><thead><tr>'
    yield "".join(
        _cell("th", side, html(title), ' scope="col"') for title, side in zip(table.header, sides, strict=True)
    )
    yield "</tr></thead><tbody>\n"
    for row in table.rows[:most]:
        cells = (_cell("td", side, render_words(one, longest)) for one, side in zip(row, sides, strict=True))
        yield f"<tr>{''.join(cells)}</tr>\n"
    yield "</tbody></table></div>\n"
    yield from _left_out(len(table.rows) - most)


def _left_out(number: int) -> Iterator[str]:
    if number > 0:
        yield f'<p class="muted">… and {number} more: see the JSON report.</p>\n'


def _cell(tag: str, side: str, content: str, more: str = "") -> str:
    kind = f' class="{side}"' if side else ""
    return f"<{tag}{kind}{more}>{content}</{tag}>"


def fold(summary: str, content: Iterable[str]) -> Iterator[str]:
    """Yield markup folded below a summary line."""
    yield f'<details class="fold"><summary>{html(summary)}</summary>\n'
    yield from content
    yield "</details>\n"


def section(title: str, content: Iterable[str], attributes: str = "") -> Iterator[str]:
    """Yield a section under a title, which is markup as its content; nothing without content."""
    pieces = iter(content)
    if (first := next(pieces, None)) is not None:
        yield f"<section{' ' * bool(attributes)}{attributes}><h2>{title}</h2>\n{first}"
        yield from pieces
        yield "</section>\n"


def listed(facts: Iterable[tuple[str, Phrase]]) -> Iterator[str]:
    """Yield facts, each a paragraph with its title."""
    yield from (f"<p>{html(title)}: {render_phrase(fact)}</p>\n" for title, fact in facts)


def paragraphs(sentences: Iterable[Phrase]) -> Iterator[str]:
    """Yield sentences, each a paragraph."""
    yield from (f'<p class="note">{render_phrase(one)}</p>\n' for one in sentences)


# --- rates with their intervals ----------------------------------------------------------------------

_RATE_WIDE, _RATE_HIGH, _MARGIN = 240, 18, 6
_MOST_RATES = 25  # more rates under one title are left to the list

Limited = tuple[Rate, float | None]
"""A rate with the least that a rule of the gate allows, or None."""


def rate_tables(rates: Iterable[Limited]) -> Iterator[str]:
    """Yield rates as tables, one for each title, with the 95 % interval of each as a picture."""
    for about, group in groupby(rates, lambda one: one[0].about):
        of_title = list(group)
        yield f'<table class="rates"><caption>{html(about)}</caption>{_COLUMNS}<thead class="unseen"><tr>'
        yield '<th scope="col">Of</th><th scope="col">Rate</th><th scope="col">95 % interval</th>'
        yield '<th scope="col">Cases</th></tr></thead><tbody>\n'
        yield from (_row(rate, limit) for rate, limit in of_title[:_MOST_RATES])
        yield "</tbody></table>\n"
        yield from _left_out(len(of_title) - _MOST_RATES)


_COLUMNS = '<colgroup><col class="of"><col class="rate"><col><col class="count"></colgroup>'


def _row(rate: Rate, limit: float | None) -> str:
    name = f'<th scope="row">{render_words(rate.name, 60)}</th>'
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
    """Return a rate as a dot on a line from 0 to 1, with its interval and a limit."""
    middle, (left, right, dot) = _RATE_HIGH / 2, (_rate_x(one) for one in (low, high, value))
    missed = limit is not None and value < limit
    parts = [
        f'<line class="axis" x1="{_rate_x(0):g}" x2="{_rate_x(1):g}" y1="{middle:g}" y2="{middle:g}"/>',
        *(f'<line class="axis" x1="{x:g}" x2="{x:g}" y1="{middle - 3:g}" y2="{middle + 3:g}"/>' for x in _TICKS),
        f'<rect class="range" x="{left:g}" y="{middle - 3:g}" width="{max(right - left, 1):g}" height="6" rx="3"/>',
    ]
    if limit is not None:
        parts.append(
            f'<line class="asked" x1="{_rate_x(limit):g}" x2="{_rate_x(limit):g}" y1="1" y2="{_RATE_HIGH - 1}"/>'
        )
    parts.append(f'<circle class="{"bad" if missed else "dot"}" cx="{dot:g}" cy="{middle:g}" r="4.5"/>')
    return f'<svg class="interval" viewBox="0 0 {_RATE_WIDE} {_RATE_HIGH}" aria-hidden="true">{"".join(parts)}</svg>'


def _rate_x(share: float) -> float:
    return round(_MARGIN + share * (_RATE_WIDE - 2 * _MARGIN), 2)


_TICKS = [_rate_x(share) for share in (0, 0.25, 0.5, 0.75, 1)]


# --- over runs ----------------------------------------------------------------------------------

_WIDE, _LEFT, _RIGHT, _TOP, _PLOT, _KEY = 560, 44, 16, 22, 150, 20  # pixels
_AXES = ((0.9, 5), (0.8, 4), (0.6, 4), (0.0, 4))  # where the axis of rates may begin, and how many steps it has
_FEW_LABELS, _FEW_POINTS = 6, 60


class Series(NamedTuple):
    """A rate over runs: part and whole of each, and the least that the gate allowed, or None. At least one has it."""

    name: str
    rates: Sequence[tuple[int, int] | None]
    limits: Sequence[float | None]


def line_chart(title: str, series: Sequence[Series], when: Sequence[str], changes: Sequence[int]) -> str:
    """Return rates over runs as lines, the only one with its interval; `changes` are the runs with other rules."""
    points = [[rate[0] / rate[1] if rate else None for rate in one.rates] for one in series]
    limits = [limit for one in series for limit in one.limits if limit is not None]
    least = min((*limits, *(value for some in points for value in some if value is not None)), default=0)
    frame = _Frame(len(when), *next(axis for axis in _AXES if axis[0] <= least))
    parts = [*_grid(frame, when)]
    for number, (one, values) in enumerate(zip(series, points, strict=True)):
        kind = f"s{number % 4}"
        if len(series) == 1:
            parts += _band(frame, one, kind)
        parts += _limit(frame, one.limits)
        parts.append(_line(frame, values, kind, one.name))
        latest = next(value for value in reversed(values) if value is not None)
        parts.append(_key(number, kind, f"{one.name}, latest {percent(latest)}"))
    if limits:
        parts.append(_key(len(series), "asked", "the least that the gate allows"))
    parts += (_change(frame, number, place) for number, place in enumerate(changes, 1))
    high = _TOP + _PLOT + 30 + _KEY * (len(series) + bool(limits))
    return (
        f'<svg class="chart" viewBox="0 0 {_WIDE} {high}" width="{_WIDE}" height="{high}" role="img" '
        f'aria-label="{html(title)} over {frame.runs} runs">{"".join(parts)}</svg>'
    )


class _Frame(NamedTuple):
    """The places of runs and rates in a chart."""

    runs: int
    lowest: float
    steps: int

    @property
    def step(self) -> float:
        return (_WIDE - _LEFT - _RIGHT) / self.runs

    def x(self, place: float) -> float:
        return _LEFT + self.step * (place + 0.5)

    def y(self, value: float) -> float:
        return _TOP + _PLOT * (1 - (value - self.lowest) / (1 - self.lowest))


def _grid(frame: _Frame, when: Sequence[str]) -> Iterator[str]:
    for step in range(frame.steps + 1):
        value = frame.lowest + (1 - frame.lowest) * step / frame.steps
        y = frame.y(value)
        yield f'<line class="grid" x1="{_LEFT}" x2="{_WIDE - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{100 * value:.0f}%</text>'
    every = -(-len(when) // _FEW_LABELS)
    for place in range(0, len(when), every):
        yield f'<text x="{frame.x(place):.1f}" y="{_TOP + _PLOT + 16}" text-anchor="middle">{html(when[place])}</text>'


def _line(frame: _Frame, values: Sequence[float | None], kind: str, name: str) -> str:
    """Return a line with a point for each run, interrupted where a run has no value."""
    pen, path, points = "M", "", ""
    for place, value in enumerate(values):
        if value is None:
            pen = "M"
            continue
        x, y = f"{frame.x(place):.1f}", f"{frame.y(value):.1f}"
        path += f"{pen}{x} {y}"
        points += f'<circle class="{kind}" cx="{x}" cy="{y}" r="3">'
        points += f"<title>{html(name)}: {percent(value, 1)}</title></circle>"
        pen = "L"
    return f'<path class="{kind}" d="{path}"/>{points if len(values) <= _FEW_POINTS else ""}'


def _band(frame: _Frame, series: Series, kind: str) -> Iterator[str]:
    """Yield the 95 % intervals of a line. Consecutive runs form one shape."""
    for is_there, some in groupby(enumerate(series.rates), lambda item: bool(item[1])):
        if is_there:
            ends = [(place, *wilson(*rate)) for place, rate in some if rate]
            upper = [f"{frame.x(place):.1f},{frame.y(high):.1f}" for place, _, high in ends]
            lower = [f"{frame.x(place):.1f},{frame.y(max(low, frame.lowest)):.1f}" for place, low, _ in reversed(ends)]
            yield f'<polygon class="band {kind}" points="{" ".join(upper + lower)}"/>'


def _limit(frame: _Frame, limits: Sequence[float | None]) -> Iterator[str]:
    for place, limit in enumerate(limits):
        if limit is not None:
            y, half = frame.y(limit), frame.step / 2
            ends = f'x1="{frame.x(place) - half:.1f}" x2="{frame.x(place) + half:.1f}" y1="{y:.1f}" y2="{y:.1f}"'
            yield f'<line class="limit" {ends}><title>at least {percent(limit)}</title></line>'


def _key(number: int, kind: str, words_: str) -> str:
    y = _TOP + _PLOT + 36 + _KEY * number
    return (
        f'<rect class="{kind}" x="{_LEFT}" y="{y - 8}" width="10" height="10" rx="2"/>'
        f'<text class="key" x="{_LEFT + 17}" y="{y + 1}">{html(words_)}</text>'
    )


def _change(frame: _Frame, number: int, place: int) -> str:
    x = frame.x(place - 0.5)
    return (
        f'<line class="change" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 4}" y2="{_TOP + _PLOT}"/>'
        f'<circle class="flag" cx="{x:.1f}" cy="{_TOP - 11}" r="8"><title>Rules changed</title></circle>'
        f'<text class="number" x="{x:.1f}" y="{_TOP - 7.5}" text-anchor="middle">{number}</text>'
    )
