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
_INTEGER = re.compile(r"-?[0-9]++(?!\.[0-9]|[eE][-+]?[0-9])")  # the start of a value: the rest may not be JSON
_BLANKS = " \t\n\r"  # all that JSON knows
_CONFLICT = ("<" * 7, "=" * 7, ">" * 7, "|" * 7)


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
    except RecursionError:
        raise _too_deep(text) from None
    except json.JSONDecodeError as error:
        raise _syntax_error(text, error) from None
    except _RefusedError as refused:
        raise JsonError(str(refused), _line_of(text, refused), refused.text_free) from None
    except ValueError:  # an integer of thousands of digits
        place = next(token.start() for token in _TOKEN.finditer(text) if _has_too_many_digits(token[0]))
        raise JsonError("a number has too many digits", text.count("\n", 0, place) + 1) from None
    if _is_deep(value):
        raise _too_deep(text)
    return value


def _has_too_many_digits(token: str) -> bool:
    digits = _INTEGER.match(token)
    try:
        int(digits[0] if digits else 0)
    except ValueError:
        return True
    return False


def _syntax_error(text: str, error: json.JSONDecodeError) -> JsonError:
    """Describe the error in our own words: the parser's words differ between versions of Python."""
    position = error.pos
    if not text.strip():
        return JsonError("it is empty", 1)
    # Python 3.13 points at a comma before a closing bracket, earlier ones behind it.
    before = text[:position].rstrip()
    if text[position : position + 1] in ("}", "]") and before.endswith(","):
        position = len(before) - 1
    rest = text[position:]
    hidden = ""
    if rest.startswith(_CONFLICT):
        what = "there is a marker of a merge conflict (resolve the conflict)"
    elif rest.startswith("/") and _COMMENT.match(rest):
        what = "there is a comment, which only the config file may have (remove it)"
    elif rest.startswith(",") and rest[1:].lstrip()[:1] in ("}", "]"):
        what = "there is a comma before the closing bracket"
    elif not rest.strip(_BLANKS) or error.msg.startswith("Unterminated"):
        what, position = "it breaks off", min(position, len(text.rstrip(_BLANKS)))  # not on the line after
    elif error.msg.startswith("Invalid control"):
        what = "a string contains a raw line break or control character"
    elif "escape" in error.msg:
        what = "a backslash starts no valid JSON escape (write a backslash itself as \\\\)"
    elif error.msg.startswith("Extra data"):
        is_lines = rest.startswith("{") and before.endswith("}") and "\n" in text[len(before) : position]
        what = "there is more text after the value" + is_lines * ", as in a file of JSON Lines"
    elif rest.startswith("'"):
        what = "there is a single quote where JSON needs double quotes"
    else:
        what = f"{json.dumps(rest[:1], ensure_ascii=False)} is not expected here"
        hidden = "a character is not expected here"
    line_end = text.rfind("\n", 0, position)
    column = f", at column {position - line_end}"
    return BrokenJsonError(what + column, text.count("\n", 0, position) + 1, (hidden or what) + column)


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
            line, counted = line + text.count("\n", counted, match.start()), match.start()
            yield tuple(path), line
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


class _RefusedError(Exception):
    """The parser met something JSON or this project does not allow."""

    def __init__(self, message: str, token: str = "", key: str | None = None, text_free: str = "") -> None:
        super().__init__(message)
        self.text_free = text_free
        self.token = token
        self.key = key


def _refuse(constant: str) -> NoReturn:
    raise _RefusedError(f"{constant} is not a JSON number", token=constant)


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise _RefusedError("a number is too large", token=digits)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        key = next(repeated(name for name, _ in pairs))
        words = f"the key {json.dumps(key[:40])} appears twice in one object"
        raise _RefusedError(words, key=key, text_free="a key appears twice in one object")
    return result


def _line_of(text: str, refused: _RefusedError) -> int:
    if refused.key is None:  # the next token may touch it: the parser has not reached it
        place = next(token.start() for token in _TOKEN.finditer(text) if token[0].startswith(refused.token))
        return text.count("\n", 0, place) + 1
    seen: set[Path] = set()
    for path, line in places(text):
        if path[-1:] == (refused.key,):
            if path in seen:
                return line
            seen.add(path)
    return 1


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


def _too_deep(text: str) -> JsonError:
    """Return the error of a text that is nested too deep, at the line where it becomes so."""
    depth, place = 0, 0
    for match in _TOKEN.finditer(text):
        if match[0] in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                place = match.start()
                break
        elif match[0] in "]}":
            depth -= 1
    line = text.count("\n", 0, place) + 1
    return JsonError(f"values are nested more than {MAX_DEPTH} deep", line)


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
