"""A repository that may be released, and the scripts of a release as commands in it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cases import REPOSITORY
from tests.support.git import ENVIRON, commit, git

Script = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with the version 1.2.3, its tag, and the action of this one."""
    root = tmp_path / "tree"
    (root / "safe_gate").mkdir(parents=True)
    (root / "pyproject.toml").write_text(
        '[project]\nname = "safe-gate"\nversion = "1.2.3"\nurls = {Source = "https://github.com/octo/gate"}\n', "utf-8"
    )
    (root / "safe_gate/__init__.py").write_text('__version__ = "1.2.3"\n', "utf-8")
    (root / "CHANGELOG.md").write_text(
        "# Changelog\n\n## 1.2.3 - 2026-12-01\n\n- New.\n\n## 1.2.2 - 2026-11-01\n", "utf-8"
    )
    (root / "action.yml").write_bytes((REPOSITORY / "action.yml").read_bytes())
    git("init", "--quiet", folder=root)
    commit(root)
    git("tag", "v1.2.3", folder=root)
    return root


@pytest.fixture
def script(tree: Path) -> Script:
    """Run a script of a release in the tree; variables are added to a bare environment."""

    def run(name: str, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", f"release.{name}", *arguments]
        environ = ENVIRON | {"PYTHONPATH": str(REPOSITORY)} | environ
        return subprocess.run(command, cwd=tree, env=environ, check=False, capture_output=True, text=True)

    return run
