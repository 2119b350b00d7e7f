"""The files of packs that ship, and one of a team."""

from pathlib import Path
from typing import Any

from safe_gate.evaluators.synthesis.packs import pack_files, shipped_packs
from tests.support.cases import write_json

PACKS: dict[str, dict[str, Any]] = dict(zip((Path(name).stem for name in pack_files()), shipped_packs(), strict=True))
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
"""A pack of a team."""
_LLAMAS = {"id": "team/llamas", "pattern": "purple llamas", "hit": ["Purple llamas."], "miss": ["Purple cows."]}
TEAM = OWN | {
    "pack": "team",
    "check": "agency_language",
    "group": "positive",
    "rules": [_LLAMAS | {"why": "A choice."}],
}
"""A pack of a team that lets replies pass."""


def write_pack(**fields: Any) -> None:
    of_rule = {*OWN["rules"][0], "cancelled_by", "unless"}
    rule = OWN["rules"][0] | {key: value for key, value in fields.items() if key in of_rule}
    pack = OWN | {"rules": [rule]} | {key: value for key, value in fields.items() if key not in of_rule}
    write_json("own.json", pack)
