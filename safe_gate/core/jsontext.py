"""JSON as text, parsed strictly and written inertly; SHA-256 digests of JSON values and texts. Pure.

The standard parser accepts NaN, infinite numbers and doubled keys, has no places and recurses. A gate needs the
opposite of each, and a line for every value. Comments (`//`, `/* */`) are allowed on request.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, NoReturn

from safe_gate.model.codec import JsonObject

MAX_DEPTH = 100
MAX_VALUES = 1_000_000
"""The most values, roughly, of a text: a short one takes twenty times its text in memory."""

Path = tuple[str | int, ...]

_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{},:]|[^\s\[\]{},:"]++', re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_COMMENT = re.compile(r'"(?:[^"\\\n]++|\\.)*+"|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/', re.DOTALL)
_NUMBER = re.compile(r"(-?[0-9]++)(\.[0-9]++)?([eE][-+]?[0-9]++)?|NaN|-?Infinity")  # what follows may not be JSON
_BLANKS = " \t\n\r"  # all that JSON knows


class JsonError(ValueError):
    """The text is not the JSON that is asked for; `line` counts from 1.

    `text_free` is the message without what it quotes of the text.
    """

    def __init__(self, message: str, line: int, text_free: str = "") -> None:
        super().__init__(message)
        self.line = line
        self.text_free = text_free or message


class BrokenJsonError(JsonError):
    """The text does not follow the grammar of JSON, such as one that breaks off."""


class TooManyValuesError(JsonError):
    """The text holds more values than it may."""


def _values(text: str) -> int:
    return text.count("{") + text.count("[") + text.count(",")


def parse(text: str, *, comments: bool = False, any_number: bool = False, most: int = MAX_VALUES) -> Any:
    """Return the value of a JSON text.

    Raises JsonError for broken syntax, for NaN, Infinity and fractions beyond a double unless `any_number`, and for
    integers of thousands of digits. It also raises JsonError for duplicate keys, for nesting deeper than `MAX_DEPTH`,
    and TooManyValuesError for more than `most` objects, lists and commas. Escapes of half a surrogate pair are
    allowed, as the JSON grammar allows them.
    """
    if comments:
        text = blank_comments(text)
    if _values(text) > most and _values(_STRING.sub("", text)) > most:
        raise TooManyValuesError(f"more than {most:,} values", 1)
    strict: Any = {} if any_number else {"parse_constant": _refuse, "parse_float": _finite}
    try:
        value = json.loads(text, object_pairs_hook=_unique, **strict)
    except json.JSONDecodeError as error:
        raise _syntax_error(text, error) from None
    except (RecursionError, ValueError):
        raise _refusal(text, any_number=any_number) from None
    if _is_deep(value):
        raise _refusal(text, any_number=any_number)
    return value


_MISTAKES = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"<{7}|={7}|>{7}|\|{7}", "there is a marker of a merge conflict (resolve the conflict)"),
        (r"//|/\*(?s:.*?)\*/", "there is a comment, which only the config file may have (remove it)"),
        (r",\s*[\]}]", "there is a comma before the closing bracket"),
        (r"[ \t\n\r]*\Z", "it breaks off"),
        (r"'", "there is a single quote where JSON needs double quotes"),
    )
)
"""What may stand where the parser stops, and the words for it."""

_ERRORS = {
    "Unterminated": "it breaks off",
    "Invalid control": "a string contains a raw line break or control character",
    "Invalid \\": "a backslash starts no valid JSON escape (write a backslash itself as \\\\)",
    "Extra data": "there is more text after the value",
}
"""Our words for how errors of the parser begin: its own differ between versions of Python."""


def _syntax_error(text: str, error: json.JSONDecodeError) -> JsonError:
    """Describe where the parser stopped."""
    position = error.pos
    if not text.strip():
        return JsonError("it is empty", 1)
    # Python 3.13 points at a comma before a closing bracket, earlier ones behind it.
    before = text[:position].rstrip()
    if text[position : position + 1] in ("}", "]") and before.endswith(","):
        position = len(before) - 1
    told = (words for pattern, words in _MISTAKES if pattern.match(text, position))
    what = next(told, "") or next((words for start, words in _ERRORS.items() if error.msg.startswith(start)), "")
    if what == "it breaks off":
        position = min(position, len(text.rstrip(_BLANKS)))  # not on the line after
    elif error.msg.startswith("Extra data") and before.endswith("}") and text.startswith("{", position):
        what += ", as in a file of JSON Lines" if "\n" in text[len(before) : position] else ""
    line_end = text.rfind("\n", 0, position)
    column = f", at column {position - line_end}"
    found = what or f"{json.dumps(text[position], ensure_ascii=False)} is not expected here"
    hidden = what or "a character is not expected here"
    return BrokenJsonError(found + column, text.count("\n", 0, position) + 1, hidden + column)


def value_at(value: Any, *path: str | int) -> Any:
    """Return the value at a path of keys, None where an object on the way is none or lacks the key."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def blank_comments(text: str) -> str:
    """Return the text with comments replaced by blanks, so that every place stays the same."""
    return _COMMENT.sub(lambda m: m[0] if m[0].startswith('"') else re.sub(r"[^\n]", " ", m[0]), text)


def places(text: str) -> Iterator[tuple[Path, int]]:
    r"""Yield the path and the line (from 1) of every value of a JSON text that parses.

    >>> list(places('{"a": [\n1]}'))
    [((), 1), (('a',), 1), (('a', 0), 2)]
    """
    line, counted = 1, 0
    for path, _, start in _tokens(text):
        line, counted = line + text.count("\n", counted, start), start
        yield path, line


def _tokens(text: str) -> Iterator[tuple[Path, str, int]]:
    """Yield the path, the first token and the start of every value of a JSON text, as far as it parses."""
    path: list[str | int] = []
    expects_key: list[bool] = []  # one for each open object; arrays hold False
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in "]}":
            path.pop()
            expects_key.pop()
        elif token == ",":
            if isinstance(path[-1], int):
                path[-1] += 1
            else:
                expects_key[-1] = True
        elif token == ":":
            expects_key[-1] = False
        elif expects_key and expects_key[-1]:
            path[-1] = json.loads(token) if "\\" in token else token[1:-1]
        else:
            yield tuple(path), token, match.start()
            if token in "[{":
                path.append(0 if token == "[" else "")
                expects_key.append(token == "{")


def item_lines(text: str, *keys: str) -> Iterator[int]:
    r"""Yield the line (from 1) of every item of a list: the text, or the value under a key of a key. It parses.

    >>> list(item_lines('{"b": [{}], "a": [1,\n{"a": [2]}]}', "a"))
    [1, 2]
    >>> list(item_lines('{"a": {"b": [1]}}', "a", "b")), list(item_lines("[1,2]"))
    ([1], [1, 1])
    """
    return (line for path, line in places(text) if path[:-1] == keys and path and isinstance(path[-1], int))


def repeated(names: Iterable[str]) -> Iterator[str]:
    """Yield names that appeared before, in order.

    >>> list(repeated(["a", "b", "b", "a"]))
    ['b', 'a']
    """
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield name
        seen.add(name)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(digits)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key twice")
    return result


def _refusal(text: str, *, any_number: bool) -> JsonError:
    """Return the error of the first value that follows the grammar, and that this project does not allow."""
    seen: set[Path] = set()
    for path, token, start in _tokens(text):
        words, hidden = _fault_of_number(token, any_number=any_number), ""
        if len(path) >= MAX_DEPTH and token in "[{":
            words = f"values are nested more than {MAX_DEPTH} deep"
        elif path in seen:
            words = f"the key {json.dumps(str(path[-1])[:40])} appears twice in one object"
            hidden = "a key appears twice in one object"
        if words:
            return JsonError(words, text.count("\n", 0, start) + 1, hidden)
        if path and isinstance(path[-1], str):
            seen.add(path)
    raise AssertionError("the parser refused a value")


def _fault_of_number(token: str, *, any_number: bool) -> str:
    """Return what is wrong with the number that a token begins with, "" for nothing. The next token may touch it."""
    number = _NUMBER.match(token)
    if number is None:
        return ""
    if number[1] is None:
        return "" if any_number else f"{number[0]} is not a JSON number"
    if number[2] or number[3]:
        return "a number is too large" if math.isinf(float(number[0])) and not any_number else ""
    try:
        int(number[1])
    except ValueError:
        return "a number has too many digits"
    return ""


def _is_deep(value: Any) -> bool:
    """Return whether values are nested more than `MAX_DEPTH` deep, level by level: a large text has few levels."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            if outer.__class__ in _CONTAINERS
            for inner in (outer.values() if outer.__class__ is dict else outer)
            if inner.__class__ in _CONTAINERS
        ]
        if not level:
            return False
    return True


_CONTAINERS = (dict, list)


def _named(value: Any) -> Any:
    """Return the value of a member of an enumeration, which results may hold."""
    if isinstance(value, Enum):
        return value.value
    raise TypeError(f"{type(value).__name__} is no JSON")


_encoded = json.JSONEncoder(allow_nan=False, sort_keys=True, separators=(",", ":"), default=_named).encode
_STAND_IN = re.compile("sha256:[0-9a-f]{12}")


def digest(value: Any) -> str:
    """Return the SHA-256 of a JSON value in hex. Equal values have equal digests: keys are sorted, and text is ASCII.

    >>> digest({"b": 1, "a": "é"}) == digest({"a": "é", "b": 1})
    True
    """
    return hashlib.sha256(_encoded(value).encode("ascii")).hexdigest()


def digest_of_all(digests: Iterable[str]) -> str:
    """Return the digest of many digests, whatever their order; how often each occurs counts.

    >>> digest_of_all(["b", "a"]) == digest_of_all(["a", "b"]) != digest_of_all(["a", "a", "b"])
    True
    """
    return digest(sorted(digests))


def stand_in(text: str) -> str:
    """Return the stand-in for a withheld text: the start of the SHA-256 of its UTF-8.

    It tells equal texts from unequal ones; whoever can guess a short text can find it again.

    >>> stand_in("policy")
    'sha256:823412d1eacb'
    """
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def is_stand_in(text: str) -> bool:
    """Return whether a text is a stand-in, or looks like one."""
    return _STAND_IN.fullmatch(text) is not None


_compact = json.JSONEncoder(allow_nan=False, default=_named).encode


def to_json(report: JsonObject) -> str:
    """Return a report as indented JSON in ASCII, ended by a newline. Raises ValueError as `pieces` does."""
    return "".join(pieces(report))


def pieces(report: JsonObject) -> Iterator[str]:
    """Yield the text of a report in pieces: indented JSON, but each item of an iterator, such as a result, on one line.

    ASCII holds what UTF-8 cannot (half a surrogate pair) and shows no control character to a terminal. `##[` is
    broken up, because the runner reads it as a command anywhere in a line. Raises ValueError for NaN and infinite
    numbers.
    """
    yield from map(_inert, _written(report, "\n"))
    yield "\n"


def line(value: Any) -> str:
    """Return a JSON value in ASCII on one line, as inert as a report. Raises ValueError as `pieces` does."""
    return _inert(_compact(value))


def _inert(text: str) -> str:
    return text.replace("\x7f", "\\u007f").replace("##[", "#\\u0023[")


def _written(value: Any, line: str) -> Iterator[str]:
    """Yield a value in pieces: an iterator by item, an object with an iterator by key, the rest whole."""
    inner = f"{line}  "
    if isinstance(value, Iterator):
        yield "["
        separator = inner
        for one in value:
            yield f"{separator}{_compact(one)}"
            separator = f",{inner}"
        yield "]" if separator == inner else f"{line}]"
    elif isinstance(value, Mapping) and any(map(_is_streamed, value.values())):
        yield "{"
        separator = inner
        for key, one in value.items():
            yield f"{separator}{_compact(key)}: "
            yield from _written(one, inner)
            separator = f",{inner}"
        yield f"{line}}}"
    else:
        yield json.dumps(value, allow_nan=False, indent=2).replace("\n", line)


def _is_streamed(value: Any) -> bool:
    return isinstance(value, Iterator) or (isinstance(value, Mapping) and any(map(_is_streamed, value.values())))


def pack_json(pack: JsonObject) -> str:
    """Return a pack as JSON with one rule a line, so that a change can be read in a diff."""
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in pack.items() if key != "rules"]
    rules = ",\n".join(f"    {json.dumps(rule, ensure_ascii=False)}" for rule in pack["rules"])
    return "\n".join(("{", *lines, '  "rules": [', rules, "  ]", "}", ""))
