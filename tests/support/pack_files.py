"""The files of packs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.cases import REPOSITORY
from tests.support.own_pack import OWN

FOLDER = REPOSITORY / "safe_gate" / "evaluators" / "synthesis"
FILES = sorted((FOLDER / "packs").glob("*/*.json"))
PACKS: dict[str, dict[str, Any]] = {file.stem: json.loads(file.read_text("utf-8")) for file in FILES}


def write_pack(**fields: Any) -> None:
    of_rule = {*OWN["rules"][0], "cancelled_by", "unless"}
    rule = OWN["rules"][0] | {key: value for key, value in fields.items() if key in of_rule}
    pack = OWN | {"rules": [rule]} | {key: value for key, value in fields.items() if key not in of_rule}
    Path("own.json").write_text(json.dumps(pack), "utf-8")
