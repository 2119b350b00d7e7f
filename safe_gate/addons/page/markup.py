"""Draws the templates of this folder: pages that are one file, load nothing and run only their own scripts. Pure.

A page's Content-Security-Policy names its style and script by hash. It allows no request, no event handler and no
markup made of text (Trusted Types). Whatever a template shows goes through `untrusted.html`, or is JSON that a script
shows as text.
"""

from __future__ import annotations

import hashlib
import pkgutil
from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from safe_gate.core.figures import percent
from safe_gate.core.jsontext import line
from safe_gate.core.stats import wilson
from safe_gate.model.results import HELD, Phrase, Untrusted, Words
from safe_gate.render.untrusted import LONGEST, LONGEST_PROBLEM, embedded_json, html

_WHOLE = 24  # characters of a name that stays on one line, so that ids and days are not broken at hyphens
_STYLES = ("colors.css", "page.css", "charts.css")


def page(template: str, shown: dict[str, Any], scripts: Sequence[str] = ()) -> Iterator[str]:
    """Yield a page in pieces: a template with what it shows. `scripts` are files of this folder that run after it."""
    style, script = ("".join(map(_asset, files)) for files in (_STYLES, scripts))
    return TEMPLATES.get_template(template).generate(shown, style=style, script=script)


def _asset(name: str) -> str:
    """Return a file of this folder, as the package holds it."""
    return (pkgutil.get_data(__name__, name) or b"").decode("utf-8").replace("\r\n", "\n")


def _sha256(text: str) -> str:
    """Return the hash of an inline style or script (Content Security Policy Level 3, section 2.3.1)."""
    return b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _escaped(value: object) -> object:
    """Return what a template shows, escaped unless it is markup. What needs a filter to be shown is refused."""
    match value:
        case Markup() | int() | StrictUndefined():  # which refuses by itself, with its name
            return value
        case str() | Untrusted():
            return Markup(html(value))
        case float():
            return f"{value:g}"
    raise TypeError(f"a template does not show a {type(value).__name__}")


def _words(words: Words | Phrase, longest: int = LONGEST) -> Markup:
    """Return our own words as text, recorded ones as code."""
    if isinstance(words, tuple):
        return Markup("").join(map(_words, words))
    shown = Markup(html(words, longest))
    if isinstance(words, str):
        return shown
    kind = Markup(' class="whole"') if len(shown.unescape()) <= _WHOLE else ""
    return Markup("<code{}>{}</code>").format(kind, shown or " ")


def _along(share: float) -> float:
    """Return the place of a share on the line from 0 to 1 in the picture of an interval."""
    return round(6 + share * 228, 2)


def _one_line(markup: Markup) -> Markup:
    """Return markup of several lines as one, without indents."""
    return Markup("").join(one.strip() for one in markup.split("\n")) + "\n"


TEMPLATES = Environment(
    loader=FunctionLoader(_asset),
    autoescape=True,
    finalize=_escaped,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
"""The templates of this folder. What one shows is escaped by default."""

TEMPLATES.globals |= {"HELD": HELD, "LONGEST": LONGEST, "LONGEST_PROBLEM": LONGEST_PROBLEM}
TEMPLATES.globals |= {"along": _along, "percent": percent, "wilson": wilson}
TEMPLATES.filters |= {
    "json": lambda value: Markup(embedded_json(line(value))),
    "one_line": _one_line,
    "px": "{:.1f}".format,
    "sha256": _sha256,
    "words": _words,
}
