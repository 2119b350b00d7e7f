"""`init`: add sample cases, a config file, a script that records answers and a workflow to a repository."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from safe_gate.commands._command import Call, Command, switch
from safe_gate.evaluators.registry import EVALUATORS
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
_MOVES = {
    "github": "Move {} to the top of the repository and set its input config to",
    "gitlab": "Move .gitlab-ci.yml and .gitlab to the top of the repository and give safe-gate run the flag --config",
}
_WRITTEN_CONFIG = "safe-gate.config.json"
_WORKFLOWS = Path(".github/workflows")
_PIPELINE = Path(".gitlab-ci.yml")
_RUNS_THE_GATE = re.compile(r"^[^#\n]*(?:/safe-gate(?:/composite)?@|\bsafe[-_]gate run\b)", re.MULTILINE)
_INCLUDES_THE_JOB = ".gitlab/safe-gate.yml"


def main(call: Call) -> int:
    """Write what is not there yet, all of it or nothing, and list the rest.

    Returns 0. Raises CannotJudge, also where a link would lead what it writes out of the workspace.
    """
    effects, is_dry = call.effects, call.arguments["dry_run"]
    platforms, folder = _platforms()
    wanted = _wanted(platforms, workflow := _workflow(folder))
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
    to_add = [*_advice(kept)]
    for line in (*to_add, *_where(platforms, folder, workflow)):
        effects.out(line)
    first = "" if to_add else "safe-gate run judges the samples; "
    readme = Path("evals/README.md")
    is_own = readme in kept and _text(readme) != wanted[readme]
    step = "fill in evals/record.py" if is_own else f"{readme.as_posix()} says how"
    effects.out("Nothing was written." if is_dry else f"Next: {first}{step} to record your own answers")
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


def _workflow(folder: str) -> Path:
    """Return the workflow of a folder of the clone: two folders need two."""
    name = re.sub(r"[^\w.-]+", "--", folder.strip("/"))
    return _WORKFLOWS / ("-".join(filter(None, ("safe-gate", name))) + ".yml")


def _wanted(platforms: list[str], workflow: Path) -> Mapping[Path, str]:
    """Return the files for a repository on some platforms: their texts by path."""
    schema = checked.schema_folder().joinpath("config.schema.json").read_text("utf-8")
    wanted = {Path("evals/schemas/config.schema.json"): schema, Path("reports/.gitignore"): "*\n!.gitignore\n"}
    for folder in (_STARTER / name for name in ("any", *platforms)):
        found = (file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
        wanted |= {file.relative_to(folder): file.read_text("utf-8") for file in found}
    if text := wanted.pop(_WORKFLOWS / "safe-gate.yml", ""):
        wanted[workflow] = text.replace("name: safe-gate\n", f"name: {workflow.stem}\n")
    return dict(sorted(wanted.items()))


def _why_kept(path: Path) -> str:
    """Return why a file is not written, "" if it is."""
    if os.path.lexists(path):
        return "exists"
    if path.name in CONFIG_FILES:
        return next((f"{name} exists" for name in CONFIG_FILES if os.path.lexists(name)), "")
    if path.parent == _WORKFLOWS:
        return next((f"{console.path_text(name)} runs SAFE Gate" for name in _workflows_with_the_gate()), "")
    return ""


def _workflows_with_the_gate() -> list[str]:
    return [file.as_posix() for file in sorted(_WORKFLOWS.glob("*.y*ml")) if _RUNS_THE_GATE.search(_text(file))]


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _advice(kept: Mapping[Path, str]) -> Iterator[str]:
    """Yield what to add to existing files so that the new ones take effect."""
    if any(path.name in CONFIG_FILES for path in kept):
        samples = json.loads((_STARTER / "any" / _WRITTEN_CONFIG).read_text("utf-8"))
        for setting in (one.input.setting.replace("_", "-") for one in EVALUATORS.values()):
            for file in samples.get(setting, ()):
                if Path(file) not in kept:
                    yield f"To judge the samples, add {file} to {setting} in {_config()}"
    if _PIPELINE in kept and _INCLUDES_THE_JOB not in _text(_PIPELINE):
        yield f"To run the gate, add `- local: {_INCLUDES_THE_JOB}` under include in {_PIPELINE}"
    if any(path.parent == _WORKFLOWS for path in kept) and not _workflows_with_the_gate():
        yield f"No workflow runs the gate: add a step that uses the action to one in {_WORKFLOWS.as_posix()}"


def _config() -> str:
    """Return the name of the config file, the one that is written if there is none."""
    return next((name for name in CONFIG_FILES if os.path.lexists(name)), _WRITTEN_CONFIG)


def _where(platforms: list[str], folder: str, workflow: Path) -> Iterator[str]:
    """Yield what is left to do if no workflow is written, or one where the platform does not read it."""
    if not platforms:
        how = "add the git remote on GitHub or GitLab, or create the folder .github"
        yield f"No workflow for CI: {how}, and run safe-gate init again"
    elif folder:
        config = console.path_text(folder + _config())
        for name in platforms:
            move = _MOVES[name].format(workflow.as_posix())
            yield f"{move} {config}, because the working folder is not the top of the repository"
