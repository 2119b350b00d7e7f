"""The most memory that a command holds."""

import subprocess
import sys

import pytest

_RUN = """
import sys
from safe_gate.cli import main
code = main(sys.argv[1:])
with open("/proc/self/status") as status:  # a child's ru_maxrss begins with that of its parent
    (most,) = (line.split()[1] for line in status if line.startswith("VmHWM:"))
print(code, most, file=sys.stderr)
"""


def peak(*arguments: str) -> tuple[str, int]:
    """Return the exit code of a run in a process of its own, and the most memory it had, in KiB."""
    command = [sys.executable, "-I", "-c", _RUN, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    code, most = ran.stderr.splitlines()[-1].split()
    return code, int(most)


on_linux = pytest.mark.skipif(
    sys.platform != "linux", reason="/proc tells the most memory a process had; /dev/full is full"
)
