"""Two builds of one commit give the same bytes."""

import hashlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from safe_gate import __version__
from tests.support.cases import REPOSITORY


@pytest.mark.soak
def test_wheel_and_sdist_are_built_twice_alike(tmp_path: Path) -> None:
    if not (REPOSITORY / ".git").exists():
        pytest.skip("this is no clone")
    command = [sys.executable, "-m", "release.build", str(tmp_path / "dist")]
    ran = subprocess.run(command, cwd=REPOSITORY, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    for line in (tmp_path / "dist/SHA256SUMS").read_text("utf-8").splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((tmp_path / "dist" / name).read_bytes()).hexdigest() == digest
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    assert len([*(tmp_path / "dist").glob("*.tar.gz")]) == 1
    listed = json.loads(zipfile.ZipFile(wheel).read(f"safe_gate-{__version__}.dist-info/sboms/safe-gate.cdx.json"))
    assert listed["metadata"]["component"]["version"] == __version__
