"""`init`: add sample cases, a config file, a script that records answers and a workflow to a repository."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from safe_gate.commands._command import Call, Command, switch
from safe_gate.inputs import checked, disk
from safe_gate.inputs.commit_files import Clone, Missing
from safe_gate.model.problems import CannotJudge, Code
from safe_gate.render import console
from safe_gate.settings import CONFIG_FILES

COMMAND = Command(
    place=0,
    summary="add sample cases, a config file, a recording script and a workflow to the working folder",
    exit_codes="0 added, or already there; 3 a file cannot be written",
    verb="initialise",
    arguments={"--dry-run": switch("show what would be written, and write nothing")},
)

_STARTER = Path(__file__).parent / "starter"
"""What is written: a folder for every repository, and one for each platform."""

_PLATFORMS = {"github": "GitHub", "gitlab": "GitLab"}
_WRITTEN_CONFIG = "safe-gate.config.json"
_WORKFLOWS = Path(".github/workflows")
_PIPELINE = Path(".gitlab-ci.yml")
_RUNS_THE_GATE = re.compile(r"^[^#\n]*(?:/safe-gate(?:/composite)?@|\bsafe[-_]gate run\b)", re.MULTILINE)
_JOB = Path(".gitlab/safe-gate.yml")


def main(call: Call) -> int:
    """Write what is not there yet, all of it or nothing, and list the rest.

    Returns 0. Raises CannotJudge, also where a link would lead what it writes out of the workspace.
    """
    effects, is_dry = call.effects, call.arguments["dry_run"]
    platforms, folder = _platforms()
    wanted = _wanted([] if folder else platforms)
    kept = {path: reason for path in wanted if (reason := _why_kept(path))}
    added = {path: text for path, text in wanted.items() if path not in kept}
    if path := next(filter(disk.leaves_workspace, added), None):
        words = "cannot be written: a symbolic link leads out of the workspace; replace the link by a folder"
        raise CannotJudge.at(path.as_posix(), words, Code.UNWRITABLE_FILE)
    for path in added:
        disk.refuse_file_as_folder(path)
    effects.out(f"Detected: {' and '.join(_PLATFORMS[name] for name in platforms) or 'neither GitHub nor GitLab'}")
    if not is_dry:
        disk.write_all(added)
    for path in added:
        effects.out(f"{'Would write' if is_dry else 'Written'}: {path.as_posix()}")
    for path, reason in kept.items():
        effects.out(f"Left alone: {path.as_posix()} ({reason})")
    if _PIPELINE in kept and not re.search(f"{_RUNS_THE_GATE.pattern}|{_JOB}", _text(_PIPELINE), re.MULTILINE):
        effects.out(f"To run the gate, add `- local: {_JOB}` under include in {_PIPELINE}")
    if folder:
        config = console.path_text(folder + _WRITTEN_CONFIG)
        effects.out(f"No workflow for CI: add one at the top of the repository, with {config} as its config")
    elif not platforms:
        how = f"add the git remote on GitHub or GitLab, or create the folder .github or the file {_PIPELINE}"
        effects.out(f"No workflow for CI: {how}, and run safe-gate init again")
    effects.out("Nothing was written." if is_dry else "Next: evals/README.md says how to record your own answers")
    return 0


def _platforms() -> tuple[list[str], str]:
    """Return the platforms that files or remotes show, and the path of the working folder in its clone."""
    addresses, folder = "", ""
    with suppress(Missing):
        folder = Clone().folder()
        addresses = Clone().remotes().lower()
    signs = {"github": Path(".github"), "gitlab": _PIPELINE}
    is_host = {name: re.search(rf"(?: |@|//)[^/:@\s]*{name}[^/:@\s]*[/:]", addresses) for name in signs}
    return [name for name, sign in signs.items() if os.path.lexists(sign) or is_host[name]], folder


def _wanted(platforms: list[str]) -> Mapping[Path, str]:
    """Return the files for a repository on some platforms: their texts by path."""
    schema = checked.schema_folder().joinpath("config.schema.json").read_text("utf-8")
    wanted = {Path("evals/schemas/config.schema.json"): schema, Path("reports/.gitignore"): "*\n!.gitignore\n"}
    for folder in (_STARTER / name for name in ("any", *platforms)):
        found = (file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
        wanted |= {file.relative_to(folder): file.read_text("utf-8") for file in found}
    return dict(sorted(wanted.items()))


def _why_kept(path: Path) -> str:
    """Return why a file is not written, "" if it is."""
    if os.path.lexists(path):
        return "exists"
    if path.name in CONFIG_FILES:
        return next((f"{name} exists" for name in CONFIG_FILES if os.path.lexists(name)), "")
    jobs = sorted(_WORKFLOWS.glob("*.y*ml")) if path.parent == _WORKFLOWS else [_PIPELINE] * (path == _JOB)
    running = (file for file in jobs if _RUNS_THE_GATE.search(_text(file)))
    return next((f"{console.path_text(file.as_posix())} runs SAFE Gate" for file in running), "")


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
