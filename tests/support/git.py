"""Repositories for tests: git as nobody in particular, at one time."""

import os
import subprocess
from pathlib import Path

from safe_gate.inputs.disk import HERE

NOW = "2026-01-02T03:04:05Z"


def git(*arguments: str | Path, folder: Path = HERE) -> str:
    """Run git as nobody in particular, at one time."""
    who = {f"GIT_{role}_{what}": "x@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    when = {f"GIT_{role}_DATE": NOW for role in ("AUTHOR", "COMMITTER")}
    environ = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull} | who | when
    settings = ("-c", "init.defaultBranch=main", "-c", "maintenance.auto=false")
    command = ["git", *settings, *arguments]
    return subprocess.run(command, cwd=folder, env=environ, check=True, capture_output=True, text=True).stdout.strip()


def commit(folder: Path = HERE) -> str:
    git("add", "--all", folder=folder)
    git("commit", "--quiet", "--allow-empty", "--message=x", folder=folder)
    return git("rev-parse", "HEAD", folder=folder)


def commit_here() -> str:
    """Commit the working folder, a repository from now on; return the commit."""
    if not Path(".git").exists():
        git("init", "--quiet")
    return commit()
