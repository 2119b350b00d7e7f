"""A text as a page shows it: Markdown read by `markdown-it-py`, then the markup of HTML taken away. Pure and linear.

Each function returns a text of the same length in which what the page does not show is invisible. So places stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from safe_gate.core.text.characters import LINES_OF_HTML, without_hidden

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_UNSEEN = "\u200b"
_MAY_BE_MARKUP = re.compile(r"[*_`~\[\\<&\u20e3]|\n[ \t]*>")
_LONGEST_PART = 16_384  # so that tokens of a long text do not fill memory
_NO_MATTER = ("code", "heading", "hr", "lheading", "list")  # blocks in which the same is shown as in a paragraph
_MOST_BRACKETS = 4_000  # each may cost as much as a hundred other characters
_MOST_NESTED = 3  # brackets: a link in a link is none, and each level is read again at every bracket
_PART_END = re.compile(r"\n[^\S\n]*\n(?=\S)")
_DEFINITION = re.compile(r"^ {0,3}\[[^\[\]\n]{1,999}\]:[^\n]*(?:\n[^\S\n]*[^\s\[][^\n]*)?", re.MULTILINE)
# Signs of code and strike-through, the box around the digit of an emoji, and what a quoted line begins with.
_SIGNS = re.compile(r"[`~\u20e3]|(?<=\n)[^\S\n]*+(?:>[ \t]?+)++")
_LESS_THAN = "\uff1c"  # for a sign that the page shows: it begins no tag, and is made the same as "<" later

_TAG = re.compile(r"</?(?P<name>[a-zA-Z][^\s<>/\"'=]*+)")
_QUOTED_REST, _REST = re.compile(r"(?:\"[^\"]*+\"|'[^']*+'|[^>\"'])*+>"), re.compile(r"[^<>]*+>")
_MOST_FAILURES = 16  # of tags without an end, as each may be looked for up to the end of the text
_LINE_OF_HTML = re.compile(LINES_OF_HTML, re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#[0-9]{1,12}|#[xX][0-9a-fA-F]{1,12}|[a-zA-Z][a-zA-Z0-9]{1,31});?")


def shown(text: str) -> str:
    """Return a text of the same length in which only what a page shows of it is visible.

    It may make words invisible: in `<name>`, which a browser hides and a terminal shows.
    """
    if not _MAY_BE_MARKUP.search(text):
        return text
    page = _without_tags(without_hidden(_without_markdown(text)))
    page = _ENTITY.sub(_meant, page) if "&" in page else page
    return _SIGNS.sub(lambda sign: _UNSEEN * len(sign[0]), page)


def _without_markdown(text: str) -> str:
    source = text.replace("\r\n", " \n").replace("\r", "\n").replace("\0", "\ufffd")
    parser = _parser(has_links=source.count("[") <= _MOST_BRACKETS)
    env: MutableMapping[str, Any] = {}
    if "]:" in source:
        parser.parse("\n\n".join(found[0] for found in _DEFINITION.finditer(source)), env)
    page = list(text)
    for start, end in _parts(source):
        part = source[start:end]
        if not _MAY_BE_MARKUP.search(part):
            continue
        lines = [0, *(found.end() for found in re.finditer("\n", part)), len(part) + 1]
        for token in parser.parse(part, env):
            if token.type == "inline" and token.map and (places := _places(token, part, lines)):
                page[start + places[0] : start + places[-1] + 1] = [
                    "\n" if char == "\n" else _UNSEEN for char in part[places[0] : places[-1] + 1]
                ]
                for at, char in _visible(token.children or (), token.content):
                    page[start + places[at]] = char
    return "".join(page)


@cache
def _parser(*, has_links: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt  # takes tens of milliseconds, and few texts need it

    parser = MarkdownIt("commonmark", {"maxNesting": 20}).enable("strikethrough").disable(["text_join", *_NO_MATTER])
    for name in ("link", "image"):
        rule = next(one.fn for one in parser.inline.ruler.__rules__ if one.name == name)
        parser.inline.ruler.at(name, _ended(rule))
    return parser if has_links else parser.disable(["link", "image"])


def _ended(rule: Any) -> Callable[[Any, bool], bool]:
    """Return a rule of the parser that also tells where what it read ends."""

    def read(state: Any, silent: bool) -> bool:
        if silent and state.level > _MOST_NESTED:
            state.pos = state.posMax  # as the parser does at its own limit
            return True
        found = bool(rule(state, silent))
        if found and not silent:
            state.tokens[-1].meta["end"] = state.pos
        return found

    return read


def _parts(source: str) -> Iterator[tuple[int, int]]:
    """Yield the parts of a text that are read in turn: whole blocks, or else lines or words."""
    start = 0
    while len(source) - start > _LONGEST_PART:
        end = start + _LONGEST_PART
        blocks = [found.end() for found in _PART_END.finditer(source, start, end)]
        cut = (blocks and blocks[-1]) or source.rfind("\n", start, end) + 1 or source.rfind(" ", start, end) + 1 or end
        yield start, cut
        start = cut
    yield start, len(source)


def _places(token: Token, part: str, lines: Sequence[int]) -> list[int]:
    """Return where each character of a block's content stands in its part; none where it was rewritten (tabs)."""
    places: list[int] = []
    first, last = token.map or (0, 0)
    for number, line in enumerate(token.content.split("\n"), first):
        begin, end = lines[number], lines[number + 1] - 1
        at = part.rfind(line, begin, end) if number < last else -1
        if at < 0:
            return []
        places += range(at, at + len(line))
        places.append(end)
    return places[:-1]


def _visible(children: Sequence[Token], content: str) -> Iterator[tuple[int, str]]:
    """Yield the characters of a block's content that a page shows, each with its place; those of HTML are left."""
    at = 0
    for child in children:
        if child.type == "text_special" and child.info == "escape" and child.content != child.markup:
            at = content.index(child.markup, at) + len(child.markup)
            yield at - 1, _LESS_THAN if child.content == "<" else child.content
        elif child.type in ("text", "html_inline", "text_special"):
            typed = child.markup if child.type == "text_special" else child.content
            at = max(content.find(typed, at), at)
            yield from enumerate(content[at : at + len(typed)], at)
            at += len(typed)
        elif child.type == "code_inline":
            at = content.index(child.markup, at) + len(child.markup)
            typed = content[at : content.index(child.markup, at + len(child.content))]
            yield from enumerate(typed.replace("<", _LESS_THAN), at)
            at += len(typed) + len(child.markup)
        elif child.type in ("softbreak", "hardbreak"):
            at = content.index("\n", at)
            yield at, "\n"
            at += 1
        elif "end" in child.meta:
            at = child.meta["end"]
        elif child.nesting and child.markup not in ("", "autolink"):
            at = content.index(child.markup, at) + len(child.markup)


def _without_tags(text: str) -> str:
    """Return a text without what a browser takes for tags."""
    pieces: list[str] = []
    position = failures = 0
    last = text.rfind(">")
    while (tag := _TAG.search(text, position)) and tag.start() < last:
        rest = _QUOTED_REST.match(text, tag.end()) if failures < _MOST_FAILURES else None
        failures += rest is None
        rest = rest or _REST.match(text, tag.end())
        pieces.append(text[position : tag.start()])
        if rest is None:
            pieces.append(tag[0])
            position = tag.end()
            continue
        position = rest.end()
        pieces.append(("\n" if _LINE_OF_HTML.fullmatch(tag["name"]) else "").ljust(position - tag.start(), _UNSEEN))
    return "".join((*pieces, text[position:])) if pieces else text


def _meant(entity: re.Match[str]) -> str:
    """Return what an entity stands for, with a semicolon or without, in as many characters."""
    from html import unescape  # with the names of all entities

    meant = unescape(entity[0]).replace("<", _LESS_THAN)
    return entity[0] if len(meant) > len(entity[0]) else meant.ljust(len(entity[0]), _UNSEEN)
