"""A report, and a learned pack, as JSON text. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from json.encoder import encode_basestring_ascii as _quoted
from typing import Any

from safe_gate.model import JsonObject

_any = json.JSONEncoder(allow_nan=False).encode
_SCALARS: Mapping[type, Callable[[Any], str]] = {
    str: _quoted,
    int: repr,
    float: lambda number: repr(number) if math.isfinite(number) else _any(number),
    bool: lambda flag: "true" if flag else "false",
    type(None): lambda _: "null",
}


def to_json(report: JsonObject) -> str:
    """Return a report as indented JSON in ASCII, ended by a newline.

    ASCII holds what UTF-8 cannot (half a surrogate pair) and shows no control character to a
    terminal; `##[` is broken up because the runner would read it as a command anywhere in a line.
    Raises ValueError for NaN and infinite numbers.
    """
    return _inert(_indented(report, "\n"))


def shard_json(shard: JsonObject) -> str:
    """Return a shard as JSON like a report's, but in one line: nobody reads it, and that is written much faster."""
    return _inert(json.dumps(shard, ensure_ascii=True, allow_nan=False))


def _inert(text: str) -> str:
    return text.replace("\x7f", "\\u007f").replace("##[", "#\\u0023[") + "\n"


def _indented(value: Any, line: str) -> str:
    """Return what `json.dumps(value, indent=2)` does, in half its time; `line` begins a line at this depth.

    The standard library indents in Python, one generator within another; a large run is mostly its report.
    """
    kind, inner = type(value), line + "  "
    if write := _SCALARS.get(kind):
        return write(value)
    if kind is dict:
        entries = [f"{_quoted(key)}: {_indented(one, inner)}" for key, one in value.items()]
        return f"{{{inner}{(',' + inner).join(entries)}{line}}}" if entries else "{}"
    if kind is list:
        entries = [_indented(one, inner) for one in value]
        return f"[{inner}{(',' + inner).join(entries)}{line}]" if entries else "[]"
    if isinstance(value, dict):
        return _indented(dict(value), line)
    return _indented([*value], line) if isinstance(value, list | tuple) else _any(value)


def pack_json(pack: JsonObject) -> str:
    """Return a learned pack as JSON with one feature a line, so that a change can be read in a diff."""
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in pack.items() if key != "weights"]
    weights = ",\n".join(
        f"    {json.dumps(feature, ensure_ascii=False)}: {json.dumps(numbers)}"
        for feature, numbers in pack["weights"].items()
    )
    return "\n".join(("{", *lines, '  "weights": {', weights, "  }", "}", ""))
