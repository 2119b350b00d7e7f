"""The trade-off between precision and recall as a picture, in SVG. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 640, 440
LEFT, RIGHT, TOP, BOTTOM = 60, 20, 20, 50
LOW, HIGH = 0.6, 1.0
COLOURS = ("#0969da", "#bc4c00", "#8250df")  # each readable on white and on GitHub's dark grey
GREY = "#808080"
FONT = 'font-family="sans-serif" font-size="13"'

Point = tuple[float, float, str]


def picture(curves: Mapping[str, Sequence[Point]]) -> str:
    """Return an SVG of one line a check: recall to the right, precision upwards, named points marked."""
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" {FONT}>',
            *_axes(),
            *(line for curve, colour in zip(curves.items(), COLOURS, strict=True) for line in _curve(*curve, colour)),
            *_legend(curves),
            "</svg>\n",
        )
    )


def _x(recall: float) -> str:
    return f"{LEFT + (recall - LOW) / (HIGH - LOW) * (WIDTH - LEFT - RIGHT):.1f}"


def _y(precision: float) -> str:
    return f"{HEIGHT - BOTTOM - (precision - LOW) / (HIGH - LOW) * (HEIGHT - TOP - BOTTOM):.1f}"


def _text(place: str, words: str, anchor: str = "middle", colour: str = GREY) -> str:
    return f'<text {place} text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'


def _axes() -> Iterator[str]:
    bottom = HEIGHT - BOTTOM
    for percent in range(60, 101, 10):
        x, y = _x(percent / 100), _y(percent / 100)
        yield f'<path d="M{x} {TOP}V{bottom}M{LEFT} {y}H{WIDTH - RIGHT}" stroke="{GREY}" stroke-opacity=".3"/>'
        yield _text(f'x="{x}" y="{bottom + 18}"', f"{percent} %")
        yield _text(f'x="{LEFT - 8}" y="{y}" dy="4"', f"{percent} %", "end")
    yield _text(f'x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}"', "failing replies found (recall)")
    yield _text(f'transform="translate(16 {(TOP + bottom) / 2}) rotate(-90)"', "alarms that are right (precision)")


def _curve(name: str, points: Sequence[Point], colour: str) -> Iterator[str]:
    inside = [point for point in points if point[0] >= LOW and point[1] >= LOW]
    path = " ".join(f"{_x(recall)},{_y(precision)}" for recall, precision, _ in inside)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for recall, precision, label in inside:
        if label:
            title = escape(f"{name}, {label}: precision {precision:.3f}, recall {recall:.3f}")
            place = f'cx="{_x(recall)}" cy="{_y(precision)}" r="{6 if label == "balanced" else 4}"'
            yield f'<circle {place} fill="{colour}"><title>{title}</title></circle>'


def _legend(curves: Mapping[str, Sequence[Point]]) -> Iterator[str]:
    for row, (name, colour) in enumerate(zip(curves, COLOURS, strict=True)):
        y = HEIGHT - BOTTOM - 20 * (len(COLOURS) - row)
        yield f'<path d="M{LEFT + 16} {y - 4}h24" stroke="{colour}" stroke-width="2"/>'
        yield _text(f'x="{LEFT + 48}" y="{y}"', name, "start", colour)
    y = HEIGHT - BOTTOM - 20 * (len(COLOURS) + 1)
    yield _text(f'x="{LEFT + 16}" y="{y}"', "dots: strict, balanced (large), lenient", "start")
