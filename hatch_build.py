"""Makes what a wheel has beside the files of the repository.

That is a table of compiled phrases (`evaluators/synthesis/engine/phrases.py`), a list of contents (CycloneDX, for PEP
770), a manual page, and completions for shells. Every build of a wheel writes the table, also an editable installation;
`python hatch_build.py` does it alone.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))


class WheelHook(BuildHookInterface[Any]):
    """Writes all of it before a wheel is built."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the table, and for a wheel to install elsewhere also the rest."""
        write()
        self.folder = TemporaryDirectory()
        if version == "editable":
            return
        listed = Path(self.folder.name, "safe-gate.cdx.json")
        listed.write_text(json.dumps(contents(self.metadata.version), indent=2) + "\n", "utf-8")
        build_data["sbom_files"].append(str(listed))
        for place, text in shared(self.metadata.version).items():
            file = Path(self.folder.name, Path(place).name)
            file.write_text(text, "utf-8")
            build_data["shared_data"][str(file)] = place

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - hatchling's own names
        """Remove what only the build needs."""
        self.folder.cleanup()


def write() -> None:
    """Write the table beside the packs of this tree."""
    from safe_gate.evaluators.synthesis import packs

    (packs.FOLDER / packs.TABLE).write_bytes(packs.compile_table())


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


def shared(version: str) -> dict[str, str]:
    """Return the manual page and the completions of bash and zsh, by their places below the prefix."""
    os.environ["COLUMNS"] = "80"  # the width of help texts
    import shtab

    from safe_gate import commands
    from safe_gate.commands import _command

    page = f'.TH SAFE-GATE 1 "" "safe-gate {version}"\n.SH NAME\nsafe-gate \\- judges recorded outputs before a merge\n'
    for name in ("", *commands.every()):
        words = _command.help_text(name, is_whole=True).translate({ord("\\"): r"\e", ord("-"): r"\-"})
        lines = "".join(f"\\&{line}\n" for line in words.splitlines())  # so that none starts with a request
        page += f".SH {name.upper() or 'SYNOPSIS'}\n.nf\n{lines}.fi\n"
    parser = _command.all_commands(are_whole=True)
    return {
        "share/man/man1/safe-gate.1": page,
        "share/bash-completion/completions/safe-gate": shtab.complete(parser, shell="bash"),
        "share/zsh/site-functions/_safe-gate": shtab.complete(parser, shell="zsh"),
    }


if __name__ == "__main__":
    write()
