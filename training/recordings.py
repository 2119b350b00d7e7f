"""How many changes the recording lock finds, and how many others it takes for one: `python training/recordings.py`.

Plants each change alone in a small repository. Prints the figures of `docs/recordings.md`.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import chdir, redirect_stdout
from functools import partial
from pathlib import Path

from safe_gate import cli

CASES, LOCK, CONFIG = Path("evals/a.jsonl"), Path("safe-gate.lock.json"), Path("safe.config.json")
RECORDINGS = {str(CASES): ["prompts/**", "app/config.json", "app/**/*.py"]}
SOURCES = ("prompts/system.md", "prompts/de/system.md", "app/config.json", "app/answer.py", "app/tools/search.py")
NEW = ("prompts/new.md", "prompts/fr/new.md", "prompts/new", "app/new.py", "app/a/b/new.py")
OTHERS = (
    *("README.md", "app/notes.txt", "web/page.py", "docs/prompts/old.md", "prompts.md"),
    *("evals/README.md", "config.json", "app/config.json.bak", "apps/answer.py", "evals/b.jsonl"),
)
CASE = {"id": "a", "user": "I failed.", "assistant": "That sounds hard. What happened?"}
OTHER_REPLY = CASE | {"assistant": "I am sorry. Do you want to talk about it?"}

Change = Sequence[Callable[[], object]]
"""What is done in turn."""


def main() -> None:
    """Print a row for each kind of change: how many are planted, and how many are reported as stale."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        _set_up()
        for kind, changes in (STALE | FAKED | {"a refactoring that leaves the named files alone": REFACTORED}).items():
            sys.stdout.write(f"| {kind} | {len(changes)} | {sum(map(_is_reported, changes))} |\n")


def _set_up() -> None:
    for path in (*SOURCES, *OTHERS):
        _write(path, f"of {path}\n")
    _record(CASE)
    _write(CONFIG, json.dumps({"synthesis-cases": [str(CASES)], "recordings": RECORDINGS}))
    _write(".gitignore", "reports/\n")
    _gate("lock", "--model", "m-1")
    _git("init", "--quiet")
    _git("add", "--all")
    _git("-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "--quiet", "--message=x")


def _is_reported(change: Change) -> bool:
    """Return whether a run reports a stale recording after a change, which is then undone."""
    for step in change:
        step()
    _gate("run", "--baseline", "HEAD", "--allow-missing", "cases")
    stale = json.loads(Path("reports/safe-gate.json").read_text("utf-8"))["recordings"]["stale"]
    _git("reset", "--quiet", "--hard")
    _git("clean", "--quiet", "-d", "--force")
    return bool(stale)


def _gate(*arguments: str) -> None:
    with redirect_stdout(io.StringIO()):
        cli.main(list(arguments))


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], check=True)  # noqa: S603, S607


def _write(path: str | Path, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, "utf-8")


def _record(*cases: Mapping[str, str]) -> None:
    _write(CASES, "".join(json.dumps(case) + "\n" for case in cases))


def _edit(path: str) -> None:
    _write(path, "changed\n")


def _move(path: str) -> None:
    Path(path).rename(f"{path}.old")


def _each(change: Callable[[str], object], paths: Iterable[str]) -> list[Change]:
    return [(partial(change, path),) for path in paths]


def _rename() -> None:
    """Rename the recording, in the config too."""
    CASES.rename("evals/renamed.jsonl")
    _write(CONFIG, CONFIG.read_text("utf-8").replace(str(CASES), "evals/renamed.jsonl"))


def _forge() -> None:
    """Write the digests of changed sources into the old entry."""
    old = json.loads(LOCK.read_text("utf-8"))
    _gate("lock")
    new = json.loads(LOCK.read_text("utf-8"))
    old["recordings"][str(CASES)]["sources"] = new["recordings"][str(CASES)]["sources"]
    _write(LOCK, json.dumps(old))


_CHANGED, _LOCK = partial(_edit, SOURCES[0]), partial(_gate, "lock")

STALE: dict[str, list[Change]] = {
    "a source is edited": _each(_edit, SOURCES),
    "a source is deleted": _each(os.unlink, SOURCES),
    "a source is new": _each(_edit, NEW),
    "a source is moved": _each(_move, SOURCES),
}
FAKED: dict[str, list[Change]] = {
    "a source changed, and the lock alone is new": [(*one, _LOCK) for one in _each(_edit, (*SOURCES, *NEW))],
    "the same, and other bytes with the same outputs": [
        (_CHANGED, one, _LOCK)
        for one in (
            partial(_write, CASES, json.dumps(CASE) + "\n\n"),
            partial(_record, CASE | {"notes": "recorded again"}),
            partial(_record, CASE, OTHER_REPLY | {"id": "b"}),
            _rename,
        )
    ],
    "a lock that is edited or deleted": [
        (_CHANGED, one) for one in (_forge, partial(_write, LOCK, '{"recordings": {}}'), LOCK.unlink)
    ],
    "a recording is edited, and the lock is old": [
        (partial(_record, *cases),)
        for cases in ([OTHER_REPLY], [CASE, OTHER_REPLY | {"id": "b"}], [CASE | {"notes": "edited"}])
    ],
}
REFACTORED = [change for act in (_edit, os.unlink, _move) for change in _each(act, OTHERS)]
REFACTORED += _each(_edit, [f"{path}.new.txt" for path in OTHERS])

if __name__ == "__main__":
    main()
