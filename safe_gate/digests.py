"""What a value is told from others by: SHA-256 digests of values, and of many of them in no order. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any


def digest(value: Any) -> str:
    """Return the SHA-256, in hex, of a JSON value: one text for equal values, keys in order and all in ASCII.

    >>> digest({"b": 1, "a": "é"}) == digest({"a": "é", "b": 1})
    True
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def of_all(digests: Iterable[str]) -> str:
    """Return the digest of many digests, whatever their order; how often each occurs counts.

    >>> of_all(["b", "a"]) == of_all(["a", "b"]) != of_all(["a", "a", "b"])
    True
    """
    return digest(sorted(digests))
