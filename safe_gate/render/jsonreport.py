"""A report as JSON text. Pure."""

from __future__ import annotations

import json

from safe_gate.model import JsonObject


def to_json(report: JsonObject) -> str:
    """Return a report as indented JSON in ASCII, ended by a newline.

    ASCII holds what UTF-8 cannot (half a surrogate pair) and shows no control character to a
    terminal; `##[` is broken up because the runner would read it as a command anywhere in a line.
    Raises ValueError for NaN and infinite numbers.
    """
    text = json.dumps(report, indent=2, ensure_ascii=True, allow_nan=False)
    return text.replace("\x7f", "\\u007f").replace("##[", "#\\u0023[") + "\n"
