"""Builds wheel and sdist twice and compares them: `python -m release.build FOLDER`.

What is built is the commit at HEAD, in two folders with different names and hash seeds. The second wheel comes from the
second sdist. FOLDER gets the files and their SHA256SUMS; exit code 1 if one byte differs.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

from release.check import git


def built(source: Path, target: Path, seed: str, *, from_sdist: bool) -> dict[str, bytes]:
    """Build sdist and wheel of a tree, the wheel of the unpacked sdist if asked. Returns each file's name and bytes."""
    epoch = {"SOURCE_DATE_EPOCH": os.environ["SOURCE_DATE_EPOCH"], "PYTHONHASHSEED": seed}
    tree = source
    for kind in ("sdist", "wheel"):
        command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)]
        subprocess.run(command, cwd=tree, check=True, env={**os.environ, **epoch}, stdout=subprocess.DEVNULL)
        if kind == "sdist" and from_sdist:
            (archive,) = target.glob("*.tar.gz")
            with tarfile.open(archive) as file:
                file.extractall(source / "unpacked", filter="data")
            (tree,) = (source / "unpacked").iterdir()
    return {file.name: file.read_bytes() for file in target.iterdir()}


def exported(root: Path, target: Path) -> Path:
    """Write the files of the commit at HEAD to a folder, and return it."""
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=root, check=True, stdout=subprocess.PIPE).stdout
    with tarfile.open(fileobj=BytesIO(archive)) as file:
        file.extractall(target, filter="data")
    return target


def main() -> int:
    """Write both files and their digests to the folder that the command line names. Returns 1 if a build differs."""
    root, target = Path.cwd(), Path(sys.argv[1])
    os.environ["SOURCE_DATE_EPOCH"] = git(root, "log", "-1", "--format=%ct")
    with tempfile.TemporaryDirectory() as folder:
        once, twice = (Path(folder) / name for name in ("a", "another"))
        first = built(exported(root, once / "tree"), once / "dist", "1", from_sdist=False)
        second = built(exported(root, twice / "tree"), twice / "dist", "2", from_sdist=True)
    if differing := sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name)):
        print(f"two builds differ: {', '.join(differing)}", file=sys.stderr)
        return 1
    target.mkdir(parents=True, exist_ok=True)
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(first.items())}
    for name, content in first.items():
        (target / name).write_bytes(content)
    text = "".join(f"{digest}  {name}\n" for name, digest in sums.items())
    (target / "SHA256SUMS").write_text(text, "utf-8")
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
