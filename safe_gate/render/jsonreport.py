"""A report, and a learned pack, as JSON text. Pure."""

from __future__ import annotations

import json

from safe_gate.model import JsonObject


def to_json(report: JsonObject) -> str:
    """Return a report as indented JSON in ASCII, ended by a newline.

    ASCII holds what UTF-8 cannot (half a surrogate pair) and shows no control character to a
    terminal; `##[` is broken up because the runner would read it as a command anywhere in a line.
    Raises ValueError for NaN and infinite numbers.
    """
    return _inert(json.dumps(report, indent=2, ensure_ascii=True, allow_nan=False))


def shard_json(shard: JsonObject) -> str:
    """Return a shard as JSON like a report's, but in one line: nobody reads it, and that is written much faster."""
    return _inert(json.dumps(shard, ensure_ascii=True, allow_nan=False))


def _inert(text: str) -> str:
    return text.replace("\x7f", "\\u007f").replace("##[", "#\\u0023[") + "\n"


def pack_json(pack: JsonObject) -> str:
    """Return a learned pack as JSON with one feature a line, so that a change can be read in a diff."""
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in pack.items() if key != "weights"]
    weights = ",\n".join(
        f"    {json.dumps(feature, ensure_ascii=False)}: {json.dumps(numbers)}"
        for feature, numbers in pack["weights"].items()
    )
    return "\n".join(("{", *lines, '  "weights": {', weights, "  }", "}", ""))
