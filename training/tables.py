"""Measured tables in documents: between `<!-- name -->` and `<!-- end -->`, shares with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from safe_gate.core.stats import wilson


def share(part: int, whole: int) -> tuple[str, str]:
    """Return a share in percent and its 95 % Wilson interval in brackets."""
    low, high = wilson(part, whole)
    return f"{100 * part / whole:.1f}", f"({100 * low:.1f} to {100 * high:.1f})"


def fill(document: Path, tables: Mapping[str, Sequence[str]]) -> None:
    """Write tables into a document, each between the markers of its name. Raises ValueError where they are missing."""
    text = document.read_text("utf-8")
    for name, rows in tables.items():
        start = text.index(f"<!-- {name} -->\n")
        end = text.index("<!-- end -->", start)
        text = text[:start] + "\n".join((f"<!-- {name} -->", *rows, "")) + text[end:]
    document.write_text(text, "utf-8")
