"""Whether a tree may become a release: `python -m release.check [--tag v1.2.3]`.

Prints the notes of the release, or what is wrong on standard error with exit code 1. Without a tag, the version in
`pyproject.toml` is checked, and its section of the changelog may still be undated.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def project(root: Path) -> dict[str, Any]:
    """Return the table `project` of `pyproject.toml`."""
    table: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    return table


def git(root: Path, *arguments: str) -> str:
    """Return what a git command prints. Raises CalledProcessError if it fails."""
    return subprocess.run(["git", *arguments], cwd=root, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def section(root: Path, version: str) -> tuple[str, str]:
    """Return the date of a version in the changelog, and the notes below; both empty if it has no section."""
    text = (root / "CHANGELOG.md").read_text("utf-8")
    found = re.search(rf"^## {re.escape(version)} - (\S+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return (found[1], found[2].strip()) if found else ("", "")


def faults(root: Path, tag: str, repository: str) -> Iterator[str]:
    """Yield what keeps a tree from being released, one sentence each. An empty tag or repository is not compared."""
    facts = project(root)
    version = facts["version"]
    if not re.fullmatch(r"1\.\d+\.\d+", version):
        yield f"pyproject.toml: the version is {version}; expected 1.x.y"
    if tag and tag != f"v{version}":
        yield f"the tag is {tag}, but pyproject.toml has the version {version}; expected v{version}"
    own = re.search('^__version__ = "(.+)"$', (root / "safe_gate/__init__.py").read_text("utf-8"), re.MULTILINE)
    if own is None or own[1] != version:
        yield f"safe_gate/__init__.py: __version__ is not {version}, the version in pyproject.toml"
    source = facts["urls"]["Source"]
    if repository and not source.endswith(f"/{repository}"):
        yield f"pyproject.toml: urls.Source is {source}, but this repository is {repository}; see docs/releasing.md"
    date, notes = section(root, version)
    if not re.search("^- ", notes, re.MULTILINE):
        yield f"CHANGELOG.md: nothing stands under '## {version} - DATE'; describe the release there"
    if tag and not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
        yield f"CHANGELOG.md: the date of {version} is {date or 'missing'}; expected YYYY-MM-DD"
    if not re.search("^  image: Dockerfile$", (root / "action.yml").read_text("utf-8"), re.MULTILINE):
        yield "action.yml: expected 'image: Dockerfile'; only the commit of a release tag names an image"
    if changed := git(root, "status", "--porcelain"):
        yield f"the tree is dirty: {', '.join(line.split()[-1] for line in changed.splitlines())}; commit or remove it"


def main() -> int:
    """Print the notes of the release and return 0, or print what is wrong and return 1."""
    parser = argparse.ArgumentParser(prog="python -m release.check", description=__doc__.split("\n\n")[0])
    parser.add_argument("--tag", default="", help="the tag that starts the release, such as v1.2.3")
    root = Path.cwd()
    found = [*faults(root, parser.parse_args().tag, os.environ.get("GITHUB_REPOSITORY", ""))]
    for fault in found:
        print(fault, file=sys.stderr)
    if not found:
        print(section(root, project(root)["version"])[1])
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
