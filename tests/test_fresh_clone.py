"""The two commands of the README's first screen do all the set-up in a fresh clone."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cases import REPOSITORY
from tests.support.git import git


def said(command: list[str], folder: Path) -> str:
    """Return what a command says that is run as a stranger would, with no variables of ours. It must exit with 0."""
    kept = {name: value for name, value in os.environ.items() if name in ("HOME", "PATH") or name.startswith("PIP_")}
    ran = subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.soak
def test_make_demo_and_make_test_do_all_the_set_up_in_a_fresh_clone(tmp_path: Path) -> None:
    if not (REPOSITORY / ".git").exists():
        pytest.skip("this is no clone")
    index = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(tmp_path), "iniconfig"]
    if subprocess.run(index, check=False).returncode:
        pytest.skip("no package index can be reached")
    clone = tmp_path / "clone"
    git("clone", "--quiet", REPOSITORY, clone)
    first_block = (clone / "README.md").read_text("utf-8").split("```")[1]
    assert re.findall(r"^\$ (.+?)  ", first_block, re.MULTILINE) == ["make demo", "make test"]
    python = f"PYTHON={sys.executable}"
    assert "Gate: FAIL (1 of 2 rules broken)" in said(["make", python, "demo"], clone)
    assert (clone / "reports" / "safe-gate.md").is_file()
    a_few = "PYTEST_ADDOPTS=tests/commands/test_schema.py"  # the suite runs here already
    assert "[100%]" in said(["make", python, a_few, "test"], clone)
    assert git("status", "--porcelain", folder=clone) == "", "what they make is ignored"
