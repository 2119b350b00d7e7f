"""A report, and a pack of rules, as JSON text. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from safe_gate.model.codec import JsonObject

_compact = json.JSONEncoder(allow_nan=False).encode
_pretty = json.JSONEncoder(allow_nan=False, indent=2).encode


def to_json(report: JsonObject) -> str:
    """Return a report as indented JSON in ASCII, ended by a newline. Raises ValueError as `pieces` does."""
    return "".join(pieces(report))


def pieces(report: JsonObject) -> Iterator[str]:
    """Yield the text of a report in pieces, reading its results one at a time.

    ASCII holds what UTF-8 cannot (half a surrogate pair) and shows no control character to a terminal. `##[` is
    broken up, because the runner reads it as a command anywhere in a line. Raises ValueError for NaN and infinite
    numbers.
    """
    yield from map(_inert, _written(report, "\n", _indented))
    yield "\n"


def line(value: Any) -> str:
    """Return a JSON value in ASCII on one line, as inert as a report. Raises ValueError as `pieces` does."""
    return _inert(_compact(value))


def shard_pieces(shard: JsonObject) -> Iterator[str]:
    """Yield a shard as JSON like a report's, one result per line, which is much faster to write."""
    yield from map(_inert, _written(shard, "\n", lambda value, _: _compact(value)))
    yield "\n"


def _inert(text: str) -> str:
    return text.replace("\x7f", "\\u007f").replace("##[", "#\\u0023[")


def _written(value: Any, line: str, write: Callable[[Any, str], str]) -> Iterator[str]:
    """Yield a value in pieces: an iterator by item, an object with an iterator by key, the rest whole."""
    inner = line + "  "
    if isinstance(value, Iterator):
        yield "["
        separator = inner
        for one in value:
            yield f"{separator}{write(one, inner)}"
            separator = f",{inner}"
        yield "]" if separator == inner else f"{line}]"
    elif isinstance(value, Mapping) and any(map(_is_streamed, value.values())):
        yield "{"
        separator = inner
        for key, one in value.items():
            yield f"{separator}{_compact(key)}: "
            yield from _written(one, inner, write)
            separator = f",{inner}"
        yield f"{line}}}"
    else:
        yield write(value, line)


def _is_streamed(value: Any) -> bool:
    return isinstance(value, Iterator) or (isinstance(value, Mapping) and any(map(_is_streamed, value.values())))


def _indented(value: Any, line: str) -> str:
    """Return JSON with an indent; `line` begins a line at this depth."""
    return _pretty(value).replace("\n", line)


def pack_json(pack: JsonObject) -> str:
    """Return a pack as JSON with one rule a line, so that a change can be read in a diff."""
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in pack.items() if key != "rules"]
    rules = ",\n".join(f"    {json.dumps(rule, ensure_ascii=False)}" for rule in pack["rules"])
    return "\n".join(("{", *lines, '  "rules": [', rules, "  ]", "}", ""))
