"""Compiles the phrases of the rule packs into a table beside them: see `evaluators/synthesis/engine/network.py`.

Every build of a wheel does this, also an editable installation. `python hatch_build.py` does it alone.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent


class TableHook(BuildHookInterface[Any]):
    """Writes the table before a wheel is built."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's own names
        """Write the table."""
        write()


def write() -> None:
    """Write the table beside the packs of this tree."""
    sys.path.insert(0, str(ROOT))
    from safe_gate.evaluators.synthesis import packs

    (packs.FOLDER / packs.TABLE).write_bytes(packs.table())


if __name__ == "__main__":
    write()
