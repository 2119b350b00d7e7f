"""Writes what shows the product by its own output on examples/: docs/gallery.md and docs/terminal.svg."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.sax.saxutils import escape

FOLDER = Path(__file__).parent
GALLERY, TERMINAL = FOLDER / "gallery.md", FOLDER / "terminal.svg"
DATE = "1767225600"  # of the commit and of the runs: 2026-01-01
REPOSITORY = {"id": 1, "full_name": "org/safe-gate", "default_branch": "main"}
GOLDEN, BATCH = "examples/clinical/golden_set.json", "examples/clinical/I25_batch_1.json"
TURNS = "examples/empathy.jsonl"
WORSENED = {"empathy.jsonl": TURNS, "golden_set.outputs.jsonl": "examples/clinical/golden_set.outputs.jsonl"}
"""What each file of examples/regressed is a worse version of."""


@contextmanager
def _examples() -> Iterator[Path]:
    """Make a folder with a copy of examples/."""
    with TemporaryDirectory() as name:
        shutil.copytree(FOLDER.parent / "examples", Path(name, "examples"))
        yield Path(name)


def _run(folder: Path, *arguments: str, **environ: str) -> str:
    """Return what a run in a folder prints."""
    command = [sys.executable, "-I", "-m", "safe_gate", "run", *arguments]
    kept = {"PATH": os.environ["PATH"], "COLUMNS": "80"} | environ
    return subprocess.run(command, cwd=folder, env=kept, check=False, stdout=subprocess.PIPE, text=True).stdout


def gallery() -> str:
    """Return the page with a comment that passes, one that fails, and one on a regression."""
    with _examples() as folder:
        commit = _commit(folder)
        head = {"sha": commit, "repo": REPOSITORY}
        event = {"pull_request": {"number": 7, "head": head, "base": head}, "repository": REPOSITORY}
        (folder / "event.json").write_text(json.dumps(event), "utf-8")
        both = ("--safe-batch", GOLDEN, "--synthesis-cases", TURNS)
        shown = {"Passed": _comment(folder, both), "Failed": _comment(folder, ("--safe-batch", BATCH))}
        for worse in Path(folder, "examples/regressed").iterdir():
            worse.replace(folder / WORSENED[worse.name])
        shown["Regressed"] = _comment(folder, (*both, "--baseline", "base", "--max-regressions", "0"))
    page = "# Gallery\n\nComments on pull requests, made from `examples/` by `make docs`.\n"
    page += "".join(f"\n## {title}\n\n{comment}" for title, comment in shown.items())
    return page.replace(commit[:7], "5f9df47")  # files beside the examples, such as caches, change it


def _commit(folder: Path) -> str:
    """Commit all files of a folder. Returns the commit's id."""
    who = {f"GIT_{one}_{what}": "gate@example.com" for one in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    when = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"{DATE} +0000")
    for command in ("init --quiet", "add examples", "commit --quiet --message=main", "rev-parse HEAD"):
        ran = subprocess.run(
            [shutil.which("git") or "git", *command.split()],
            cwd=folder,
            env={**os.environ, **who, **when},
            check=True,
            stdout=subprocess.PIPE,
        )
    return ran.stdout.decode().strip()


def _comment(folder: Path, arguments: tuple[str, ...]) -> str:
    """Return the comment that a run would write, without its last line, which changes with every rule."""
    event = {"EVENT_NAME": "pull_request", "EVENT_PATH": str(folder / "event.json"), "WORKFLOW": "evals", "JOB": "gate"}
    place = {"REPOSITORY": "org/safe-gate", "SERVER_URL": "https://github.com"}
    environ = {f"GITHUB_{name}": value for name, value in (event | place).items()} | {"SOURCE_DATE_EPOCH": DATE}
    printed = _run(folder, "--dry-run", "--quiet", *arguments, **environ)
    comment = printed.partition("--- the comment, ")[2].partition("\n")[2].partition("<sub>safe-gate ")[0]
    return re.sub("/blob/[0-9a-f]{40}/", "/blob/main/", comment).rstrip() + "\n"


def terminal() -> str:
    """Return a terminal in which a run appears line by line; all at once for who wants no motion."""
    with _examples() as folder:
        printed = _run(folder, "--safe-batch", BATCH)
    lines = [f"$ safe-gate run --safe-batch {BATCH}", *printed.splitlines()]
    width, height = 8.43 * max(map(len, lines)) + 32, 18 * len(lines) + 32
    rows = "".join(
        f'<text x="16" y="{18 * number + 28}" style="animation-delay:{0.6 + number / 16:.2f}s">{escape(line)}</text>\n'
        for number, line in enumerate(lines)
        if line
    )
    return f"""<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="A run" viewBox="0 0 {width:.0f} {height}">
<style>
text {{ font: 14px ui-monospace, Consolas, "DejaVu Sans Mono", monospace; fill: #e6edf3; white-space: pre }}
@media (prefers-reduced-motion: no-preference) {{
  text {{ opacity: 0; animation: shown 0.01s forwards }}
  @keyframes shown {{ to {{ opacity: 1 }} }}
}}
</style>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
{rows}</svg>
"""


if __name__ == "__main__":
    GALLERY.write_text(gallery(), "utf-8")
    TERMINAL.write_text(terminal(), "utf-8")
