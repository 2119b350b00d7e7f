"""SHA-256 digests of values, of many values in no order, and of withheld texts. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from typing import Any

_encoded = json.JSONEncoder(allow_nan=False, sort_keys=True, separators=(",", ":")).encode
_BITS = 4096
_STAND_IN = re.compile("sha256:[0-9a-f]{12}")


def digest(value: Any) -> str:
    """Return the SHA-256 of a JSON value in hex. Equal values have equal digests: keys are sorted, and text is ASCII.

    >>> digest({"b": 1, "a": "é"}) == digest({"a": "é", "b": 1})
    True
    """
    return hashlib.sha256(_encoded(value).encode("ascii")).hexdigest()


def of_all(digests: Iterable[str]) -> str:
    """Return the digest of many digests, whatever their order; how often each occurs counts.

    >>> of_all(["b", "a"]) == of_all(["a", "b"]) != of_all(["a", "a", "b"])
    True
    """
    return of_sum(sum(map(addend, digests)))


def addend(digest: str) -> int:
    """Return the number of a digest in a sum. `of_sum` turns a sum into the digest of all in it.

    A sum needs no list of its items, and the sums of parts add up to the sum of the whole. The digest is stretched to
    4,096 bits, so finding two sets with the same sum takes at least 2^128 tries. Sources: Bellare and Micciancio,
    A New Paradigm for Collision-Free Hashing, 1997 (AdHash); Wagner, A Generalized Birthday Problem, 2002.
    """
    return int.from_bytes(hashlib.shake_256(digest.encode("ascii")).digest(_BITS // 8), "big")


def of_sum(total: int) -> str:
    """Return the digest of all digests whose numbers a sum is of."""
    return hashlib.sha256((total % (1 << _BITS)).to_bytes(_BITS // 8, "big")).hexdigest()


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
