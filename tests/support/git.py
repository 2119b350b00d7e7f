"""Repositories for tests: git as nobody in particular, at one time."""

import os
import subprocess
from pathlib import Path

from safe_gate.inputs.disk import HERE

NOW = "2026-01-02T03:04:05Z"


FACTS = {"NAME": "x@example.org", "EMAIL": "x@example.org", "DATE": NOW}
ENVIRON = {f"GIT_{role}_{fact}": value for role in ("AUTHOR", "COMMITTER") for fact, value in FACTS.items()}
ENVIRON |= {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull}


def git(*arguments: str | Path, folder: Path = HERE) -> str:
    """Run git as nobody in particular, at one time."""
    command = ["git", "-c", "init.defaultBranch=main", "-c", "maintenance.auto=false", *arguments]
    return subprocess.run(command, cwd=folder, env=ENVIRON, check=True, capture_output=True, text=True).stdout.strip()


def commit(folder: Path = HERE) -> str:
    git("add", "--all", folder=folder)
    git("commit", "--quiet", "--allow-empty", "--message=x", folder=folder)
    return git("rev-parse", "HEAD", folder=folder)


def commit_here() -> str:
    """Commit the working folder, a repository from now on; return the commit."""
    git("init", "--quiet")
    return commit()
