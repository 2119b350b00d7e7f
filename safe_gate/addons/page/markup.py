"""What a report says, as HTML: phrases, tables, sections that fold. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from safe_gate.model.shown import HELD, Table
from safe_gate.model.untrusted import Phrase, Untrusted, Words
from safe_gate.render.untrusted import LONGEST, html


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
