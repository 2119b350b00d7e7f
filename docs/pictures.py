"""Writes what shows the product by its own output on examples/: docs/gallery.md and docs/terminal.svg."""

from __future__ import annotations

import json
import os
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
HEAD, BASE = "1" * 40, "2" * 40
REPOSITORY = {"id": 1, "full_name": "org/safe-gate", "default_branch": "main"}
EVENT = {
    "pull_request": {"number": 7, "head": {"sha": HEAD, "repo": REPOSITORY}, "base": {"sha": BASE, "repo": REPOSITORY}},
    "repository": REPOSITORY,
}
GOLDEN, BATCH = "examples/clinical/golden_set.json", "examples/clinical/I25_batch_1.json"
TURNS, WORSE_TURNS = "examples/empathy.jsonl", "examples/regressed/empathy.jsonl"
WORSE = "examples/regressed/golden_set.outputs.jsonl"


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
        (folder / "event.json").write_text(json.dumps(EVENT), "utf-8")
        _run(folder, "--safe-batch", GOLDEN, "--synthesis-cases", TURNS)
        (folder / "reports").rename(folder / "before")
        guards = ("--baseline", "before/safe-gate.json", "--max-regressions", "0")
        shown = {
            "Passed": ("--safe-batch", GOLDEN, "--synthesis-cases", TURNS),
            "Failed": ("--safe-batch", BATCH),
            "Regressed": ("--safe-batch", GOLDEN, "--safe-outputs", WORSE, "--synthesis-cases", WORSE_TURNS, *guards),
        }
        page = "# Gallery\n\nComments on pull requests, made from `examples/` by `make docs`.\n"
        for title, arguments in shown.items():
            page += f"\n## {title}\n\n{_comment(folder, arguments)}"
    return page


def _comment(folder: Path, arguments: tuple[str, ...]) -> str:
    """Return the comment that a run would write, without its last line, which changes with every rule."""
    event = {"EVENT_NAME": "pull_request", "EVENT_PATH": str(folder / "event.json"), "WORKFLOW": "evals", "JOB": "gate"}
    place = {"REPOSITORY": "org/safe-gate", "SERVER_URL": "https://github.com"}
    environ = {f"GITHUB_{name}": value for name, value in (event | place).items()}
    printed = _run(folder, "--dry-run", "--quiet", *arguments, **environ)
    comment = printed.partition("--- the comment, ")[2].partition("\n")[2].partition("<sub>safe-gate ")[0]
    return comment.replace(f"/blob/{HEAD}/", "/blob/main/").rstrip() + "\n"


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
