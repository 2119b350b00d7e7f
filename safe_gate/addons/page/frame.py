"""An HTML page that is one file: it loads nothing, runs only its own scripts and works from disk. Pure.

Its Content-Security-Policy names its style and script by hash. It allows no request, no event handler and no markup
made of text (Trusted Types). Recorded text reaches the page through `untrusted.html`, or as JSON that a script shows
as text.
"""

from __future__ import annotations

import hashlib
import pkgutil
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence

from safe_gate.model.shown import HELD, Table
from safe_gate.model.untrusted import Phrase, Untrusted, Words
from safe_gate.render.untrusted import LONGEST, html

WIDE = 560
"""The width of a chart over runs, in pixels."""

_COLORS, _CHARTS = "colors.css", "charts.css"
_STYLES = (_COLORS, "page.css", _CHARTS)


def page(title: str, body: Iterable[str], scripts: Sequence[str] = ()) -> Iterator[str]:
    """Yield a page in pieces: `body` is its markup, `scripts` are files of this folder that run after it."""
    style, script = ("".join(map(_asset, files)) for files in (_STYLES, scripts))
    runs = f"script-src {_source(script)}; " if script else ""
    policy = (
        f"default-src 'none'; {runs}style-src {_source(style)}; base-uri 'none'; form-action 'none'; "
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


def standalone(title: str, charts: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield charts, each with its title, one below the other as a picture that is a file."""
    high = 28
    placed = []
    for about, chart in charts:
        size = int(chart.partition('height="')[2].partition('"')[0])
        placed.append(f'<text class="title" x="8" y="{high}">{html(about)}</text>\n')
        placed.append(chart.replace("<svg ", f'<svg x="0" y="{high + 8}" ', 1) + "\n")
        high += size + 40
    style = _asset(_COLORS) + _asset(_CHARTS)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" width="{WIDE}" height="{high}" '
        f'viewBox="0 0 {WIDE} {high}" role="img" aria-label="{html(title)}">\n'
        f"<title>{html(title)}</title>\n<style>{style}</style>\n"
        f'<rect class="ground" width="{WIDE}" height="{high}"/>\n'
    )
    yield from placed
    yield "</svg>\n"


def _asset(name: str) -> str:
    """Return a file of this folder, as the package holds it."""
    return (pkgutil.get_data(__name__, name) or b"").decode("utf-8").replace("\r\n", "\n")


def _source(text: str) -> str:
    """Return what a policy calls an inline style or script (Content Security Policy Level 3, section 2.3.1)."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


def words(one: Words, longest: int = LONGEST) -> str:
    """Return our own words as text, recorded ones as code."""
    if not isinstance(one, Untrusted):
        return html(one)
    kind = ' class="whole"' if len(one.text) <= _WHOLE else ""
    return f"<code{kind}>{html(one, longest) or ' '}</code>"


_WHOLE = 24
"""The longest name that stays on one line: an id or a day is not broken at its hyphens."""


def phrase(parts: Phrase) -> str:
    """Return a phrase as HTML."""
    return "".join(map(words, parts))


def table(shown: Table, caption: str, most: int = HELD) -> Iterator[str]:
    """Yield a table with a limited number of rows. It scrolls on a narrow screen."""
    sides = ["num" if sign == ">" else "" for sign in shown.align]
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{html(caption)}"><table>'
    yield f'<caption class="unseen">{html(caption)}</caption><thead><tr>'
    yield "".join(
        _cell("th", side, html(title), ' scope="col"') for title, side in zip(shown.header, sides, strict=True)
    )
    yield "</tr></thead><tbody>\n"
    for row in shown.rows[:most]:
        yield f"<tr>{''.join(_cell('td', side, words(one)) for one, side in zip(row, sides, strict=True))}</tr>\n"
    yield "</tbody></table></div>\n"
    if (more := len(shown.rows) - most) > 0:
        yield f'<p class="muted">… and {more} more: see the JSON report.</p>\n'


def _cell(tag: str, side: str, content: str, more: str = "") -> str:
    kind = f' class="{side}"' if side else ""
    return f"<{tag}{kind}{more}>{content}</{tag}>"


def folded(summary: str, content: Iterable[str]) -> Iterator[str]:
    """Yield markup below a line that opens it."""
    yield f'<details class="fold"><summary>{html(summary)}</summary>\n'
    yield from content
    yield "</details>\n"


def paragraphs(sentences: Iterable[Phrase], kind: str = "note") -> Iterator[str]:
    """Yield sentences, each a paragraph."""
    yield from (f'<p class="{kind}">{phrase(one)}</p>\n' for one in sentences)
