"""Measured curves as a picture of several panels, in SVG, for light pages and for dark ones. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT, COLUMNS = 400, 260, 2  # of a panel; how many stand side by side
LEFT, RIGHT, TOP, BOTTOM = 62, 24, 40, 46
FONT = 'font-family="sans-serif" font-size="12"'


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of a page: its ground, its words, its grid, and of lines in their order."""

    ground: str
    words: str
    grid: str
    lines: tuple[str, ...]


LIGHT = Theme("#ffffff", "#59636e", "#d1d9e0", ("#0969da", "#bc4c00", "#8250df"))
DARK = Theme("#0d1117", "#9198a1", "#30363d", ("#4493f8", "#f0883e", "#ab7df8"))

Line = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines over one pair of axes, both logarithmic or both from nought; `like` dashes what grows in proportion."""

    title: str
    across: str
    lines: Mapping[str, Line]
    is_log: bool = True
    like: bool = False


@dataclass(frozen=True, slots=True)
class _Axis:
    """A range of values on so many pixels from a start."""

    low: float
    high: float
    start: float
    length: float
    is_log: bool

    @classmethod
    def over(cls, values: Sequence[float], start: float, length: float, *, is_log: bool) -> _Axis:
        """Return an axis that takes all values, between round numbers or from nought to one."""
        if is_log:
            return cls(_down(min(values)), _up(max(values)), start, length, is_log)
        step = _step(max(values))
        return cls(0.0, step * math.ceil(max(values) / step), start, length, is_log)

    def at(self, value: float) -> float:
        """Return the pixel of a value."""
        low, high, here = map(math.log10, (self.low, self.high, value)) if self.is_log else (self.low, self.high, value)
        return self.start + (here - low) / (high - low) * self.length

    def ticks(self) -> list[float]:
        """Return the values to name."""
        if self.is_log:
            leads = (1, 2, 5) if self.high / self.low < 100 else (1,)
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            round_ones = (lead * 10.0**power for power in powers for lead in leads)
            return [value for value in round_ones if self.low * 0.999 <= value <= self.high * 1.001]
        step = _step(self.high)
        return [step * count for count in range(round(self.high / step) + 1)]


def _up(value: float) -> float:
    """Return the next of 1, 2, 5, 10 ... from a value up.

    >>> _up(30_000), _up(101), _up(0.2)
    (50000.0, 200.0, 0.2)
    """
    power = 10.0 ** math.floor(math.log10(value))
    return next(power * lead for lead in (1, 2, 5, 10) if power * lead >= value * (1 - 1e-9))


def _down(value: float) -> float:
    """Return the next of 1, 2, 5, 10 ... from a value down.

    >>> _down(30_000), _down(199), _down(0.2)
    (20000.0, 100.0, 0.2)
    """
    power = 10.0 ** math.floor(math.log10(value))
    return next(power * lead for lead in (5, 2, 1) if power * lead <= value * (1 + 1e-9))


def _step(high: float) -> float:
    """Return what to count up to a value by in four or five steps of a round size."""
    return _up(high / 5)


def picture(panels: Sequence[Panel], theme: Theme) -> str:
    """Return an SVG of the panels, row by row."""
    rows = math.ceil(len(panels) / COLUMNS)
    size = f"{COLUMNS * WIDTH} {rows * HEIGHT}"
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" {FONT}>',
            f'<rect width="100%" height="100%" fill="{theme.ground}"/>',
            *(
                line
                for number, panel in enumerate(panels)
                for line in (
                    f'<g transform="translate({number % COLUMNS * WIDTH} {number // COLUMNS * HEIGHT})">',
                    *_panel(panel, theme),
                    "</g>",
                )
            ),
            "</svg>\n",
        )
    )


def _panel(panel: Panel, theme: Theme) -> Iterator[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    points = [point for line in panel.lines.values() for point in line]
    xs = _Axis.over([x for x, _ in points], LEFT, right - LEFT, is_log=panel.is_log)
    ys = _Axis.over([y for _, y in points], bottom, TOP - bottom, is_log=panel.is_log)

    def text(x: float, y: float, words: str, anchor: str = "middle", extra: str = "") -> str:
        return (
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{theme.words}"{extra}>{escape(words)}</text>'
        )

    yield text(LEFT, TOP - 18, panel.title, "start", ' font-weight="bold"')
    yield text((LEFT + right) / 2, HEIGHT - 10, panel.across)
    for value in xs.ticks():
        yield f'<path d="M{xs.at(value):.1f} {TOP}V{bottom}" stroke="{theme.grid}"/>'
        yield text(xs.at(value), bottom + 16, _named(value))
    for value in ys.ticks():
        yield f'<path d="M{LEFT} {ys.at(value):.1f}H{right}" stroke="{theme.grid}"/>'
        yield text(LEFT - 6, ys.at(value) + 4, _named(value), "end")
    for row, ((name, line), colour) in enumerate(zip(panel.lines.items(), theme.lines, strict=False)):
        if panel.like:
            yield _proportion(line[-1], xs, ys, colour)
        path = " ".join(f"{xs.at(x):.1f},{ys.at(y):.1f}" for x, y in line)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
        for x, y in line:
            place = f'cx="{xs.at(x):.1f}" cy="{ys.at(y):.1f}" r="3"'
            title = escape(f"{name}: {_named(x)}, {y:.3g}")
            yield f'<circle {place} fill="{colour}"><title>{title}</title></circle>'
        if len(panel.lines) > 1:
            y = bottom - 10 - 16 * (len(panel.lines) - 1 - row)
            yield f'<path d="M{right - 126} {y - 4}h18" stroke="{colour}" stroke-width="2"/>'
            yield text(right - 102, y, name, "start")


def _proportion(end: tuple[float, float], xs: _Axis, ys: _Axis, colour: str) -> str:
    """Return a dashed line through a line's end along which twice as much costs twice as much."""
    x, y = end
    factor = max(xs.low / x, ys.low / y)
    start = f"{xs.at(x * factor):.1f} {ys.at(y * factor):.1f}"
    return f'<path d="M{start}L{xs.at(x):.1f} {ys.at(y):.1f}" stroke="{colour}" stroke-dasharray="3 4" opacity=".6"/>'


def _named(value: float) -> str:
    """Return a number as an axis names it.

    >>> [_named(value) for value in (0, 0.1, 250, 30_000)]
    ['0', '0.1', '250', '30,000']
    """
    return f"{value:,.0f}" if value == round(value) else f"{value:g}"
