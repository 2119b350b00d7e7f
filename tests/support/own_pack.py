"""A pack of a team."""

from __future__ import annotations

from typing import Any

OWN: dict[str, Any] = {
    "pack": "team-guarantee",
    "check": "unverifiable_reassurance",
    "group": "guarantee",
    "field": "assistant",
    "about": "Promises our product must not make.",
    "rules": [
        {
            "id": "team-guarantee/refund",
            "pattern": "refund is (?:certain|on its way)",
            "why": "Only billing can say so.",
            "hit": ["Your refund is certain."],
            "miss": ["A refund is possible."],
        }
    ],
}
