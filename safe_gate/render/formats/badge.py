"""A badge with the verdict: as SVG, and as JSON for an endpoint badge of shields.io. Pure.

Source of the JSON's shape: shields.io, "Endpoint Badge".
"""

from __future__ import annotations

from collections.abc import Iterator

from safe_gate.core.jsontext import line
from safe_gate.model.report import Report, Verdict
from safe_gate.render.untrusted import xml
from safe_gate.render.view import ReportView, rules_summary

_LABEL = "SAFE Gate"
_COLORS = {"pass": ("brightgreen", "#2a7f2e"), "fail": ("red", "#c0392b"), "error": ("lightgrey", "#6b6b6b")}
_PADDING = 6  # pixels beside a text


def _json(view: ReportView) -> Iterator[str]:
    report = view.report
    name, _ = _COLORS[report.verdict]
    shown = {"schemaVersion": 1, "label": _LABEL, "message": _message(report), "color": name}
    yield f"{line(shown | ({'isError': True} if report.verdict is Verdict.ERROR else {}))}\n"


def _svg(view: ReportView) -> Iterator[str]:
    report = view.report
    _, color = _COLORS[report.verdict]
    message = _message(report)
    widths = (  # about those of Verdana at 11 pixels
        round(sum(4 if char in " fijlrt" else 7.4 if char.isupper() else 6.8 for char in text))
        for text in (_LABEL, message)
    )
    left, right = (width + 2 * _PADDING for width in widths)
    title = xml(f"{_LABEL}: {message}")
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-label="{title}">\n'
        f"<title>{title}</title>\n"
        f'<clipPath id="r"><rect width="{left + right}" height="20" rx="3"/></clipPath>\n'
        f'<g clip-path="url(#r)"><rect width="{left}" height="20" fill="#444"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{color}"/></g>\n'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11">\n'
    )
    for text, middle, width in ((_LABEL, left / 2, left), (message, left + right / 2, right)):
        yield f'<text x="{middle:g}" y="14" textLength="{width - 2 * _PADDING}">{xml(text)}</text>\n'
    yield "</g>\n</svg>\n"


FILES = {"safe-gate.badge.svg": _svg, "safe-gate.badge.json": _json}


def _message(report: Report) -> str:
    return "passed" if report.verdict is Verdict.PASS else rules_summary(report)
