"""Runs the gate on a runner without Docker. `composite/action.yml` calls it with `key`, and then with `gate`.

The packages are those of the image, locked by hash. At the tag of a release, the gate itself is the wheel that
`wheel.txt` names by its hash; elsewhere it is built from this checkout. Packages are kept between jobs, and checked
each time.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).parent
WHEEL = HERE / "wheel.txt"
LOCKED = [HERE.parent / "requirements-image.txt", WHEEL if WHEEL.exists() else HERE.parent / "requirements-build.txt"]
COULD_NOT_JUDGE = 3
QUIETLY = ["--quiet", "--disable-pip-version-check", "--require-hashes", "--only-binary", ":all:"]


def key() -> str:
    """Return what tells apart the packages of this platform and this Python."""
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in LOCKED)).hexdigest()[:16]
    return f"safe-gate-{platform.system()}-{platform.machine()}-{sys.version_info[0]}.{sys.version_info[1]}-{digest}"


def python_of(environment: Path, system: str = os.name) -> Path:
    """Return the interpreter of a virtual environment on a platform, by its `os.name`."""
    return environment / ("Scripts/python.exe" if system == "nt" else "bin/python")


def installed(folder: Path) -> Path:
    """Return an interpreter with the gate, installed in a folder unless an earlier step of the job did that."""
    wheels, environment = folder / "wheels", folder / "environment"
    python = python_of(environment)
    done = environment / "done"
    if done.exists():
        return python
    locked = [word for file in LOCKED for word in ("-r", str(file))]
    if not wheels.exists():
        some = folder / "some"  # a failed download leaves a part, which must not be kept for other jobs
        subprocess.run([sys.executable, "-m", "pip", "download", *QUIETLY, *locked, "--dest", str(some)], check=True)
        some.rename(wheels)
    venv.create(environment, with_pip=True, clear=True)
    pip = [str(python), "-m", "pip", "install"]
    subprocess.run([*pip, *QUIETLY, "--no-index", "--find-links", str(wheels), *locked], check=True)
    if not WHEEL.exists():
        alone = ["--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", "--no-build-isolation"]
        subprocess.run([*pip, *alone, str(HERE.parent)], check=True)
    done.touch()
    return python


def main() -> int:
    """Tell where packages are kept, or run the gate and return its exit code; 3 if it cannot be installed."""
    folder = Path(os.environ["RUNNER_TEMP"], key())
    if sys.argv[1] == "key":
        with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8", newline="\n") as output:
            output.write(f"key={key()}\nfolder={folder / 'wheels'}\n")
        return 0
    try:
        python = installed(folder)
    except subprocess.CalledProcessError:
        print("::error title=SAFE Gate::Its packages cannot be installed, for the reason above; run the job again.")
        return COULD_NOT_JUDGE
    environ = dict(os.environ)
    inputs = json.loads(environ.pop("INPUTS"))
    environ |= {f"INPUT_{name.upper()}": value for name, value in inputs.items()}  # as in a container
    return subprocess.run([str(python), "-I", "-m", "safe_gate", "run"], check=False, env=environ).returncode


if __name__ == "__main__":
    sys.exit(main())
