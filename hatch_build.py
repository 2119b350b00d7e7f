"""Makes what a wheel has beside the files of the repository: a table of compiled phrases, and a list of its contents.

The table has the phrases of the rule packs: see `evaluators/synthesis/engine/network.py`. Every build of a wheel writes
it, also an editable installation; `python hatch_build.py` does it alone. The list is CycloneDX, for PEP 770.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent


class WheelHook(BuildHookInterface[Any]):
    """Writes the table and the list before a wheel is built."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's own names
        """Write both."""
        write()
        self.folder = TemporaryDirectory()
        listed = Path(self.folder.name, "safe-gate.cdx.json")
        listed.write_text(json.dumps(contents(self.metadata.version), indent=2) + "\n", "utf-8")
        build_data["sbom_files"].append(str(listed))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove what only the build needs."""
        self.folder.cleanup()


def write() -> None:
    """Write the table beside the packs of this tree."""
    sys.path.insert(0, str(ROOT))
    from safe_gate.evaluators.synthesis import packs

    (packs.FOLDER / packs.TABLE).write_bytes(packs.table())


def contents(version: str) -> dict[str, Any]:
    """Return the SBOM of a wheel: the package, and the work of others that its files contain."""
    ours = {"type": "application", "bom-ref": "safe-gate", "name": "safe-gate", "version": version}
    unicode = {
        "type": "data",
        "bom-ref": "unicode-confusables",
        "name": "Unicode confusables",
        "version": "15.0.0",
        "licenses": [{"license": {"id": "Unicode-DFS-2016"}}],
        "evidence": {"occurrences": [{"location": "safe_gate/core/text/lookalikes.py"}]},
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {**ours, "purl": f"pkg:pypi/safe-gate@{version}", "licenses": [{"license": {"id": "MIT"}}]}
        },
        "components": [unicode],
        "dependencies": [{"ref": "safe-gate", "dependsOn": ["unicode-confusables"]}],
    }


if __name__ == "__main__":
    write()
