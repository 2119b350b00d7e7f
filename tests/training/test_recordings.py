"""The script that measures the recording lock."""

import subprocess
import sys

import pytest

from tests.support.cases import REPOSITORY


@pytest.mark.soak
def test_the_lock_finds_each_planted_change_and_takes_no_refactoring_for_one() -> None:
    script = REPOSITORY / "training/recordings.py"
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    rows = [line.strip("| ").split(" | ") for line in ran.stdout.splitlines()]
    *planted, refactored = [(int(changes), int(found)) for _, changes, found in rows]
    assert sum(changes for changes, _ in planted) == 40
    assert all(changes == found for changes, found in planted)
    assert refactored == (40, 0)
