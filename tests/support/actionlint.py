"""actionlint, which checks a workflow of GitHub Actions.

`TESTS_ACTIONLINT` names another command that takes a FILE. A test that finds none is skipped and says so.
"""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest


def faults(workflow: Path) -> str:
    """Return what actionlint says against a workflow, "" if nothing; it checks one file at a time."""
    command = shlex.split(os.environ.get("TESTS_ACTIONLINT", "")) or ["actionlint"]
    if shutil.which(command[0]) is None:
        pytest.skip("actionlint is not here, and TESTS_ACTIONLINT names no command")
    ran = subprocess.run([*command, str(workflow)], capture_output=True, text=True, check=False, timeout=60)
    return "" if ran.returncode == 0 else ran.stdout + ran.stderr
