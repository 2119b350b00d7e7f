"""What a run that is killed leaves behind: no old pass that could be taken for its result, and nothing for ever."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from safe_gate import leftovers
from tests.conftest import Ran, turn, write_cases
from tests.test_baselines import commit, git

SafeGate = Callable[..., Ran]


def aged(path: Path, minutes: int) -> Path:
    """Return a path that was changed so many minutes ago."""
    then = time.time() - 60 * minutes
    os.utime(path, (then, then))
    return path


# --- temporary files ------------------------------------------------------------------------------


def test_drafts_that_are_older_than_an_hour_are_deleted(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    Path("reports").mkdir()
    names = {  # what stays: young ones, others' names, folders
        ".safe-gate-abcd1234.tmp": 61,
        ".safe-gate-zz_z1234.tmp": 6000,
        ".safe-gate-young123.tmp": 59,
        "safe-gate-abcd1234.tmp": 61,
        ".safe-gate-abcd1234.json": 61,
        "tmpabcd1234": 61,
    }
    for name, minutes in names.items():
        Path("reports", name).write_text("half a rep", "utf-8")
        aged(Path("reports", name), minutes)
    Path("reports/.safe-gate-folder12.tmp").mkdir()
    aged(Path("reports/.safe-gate-folder12.tmp"), 61)
    assert safe_gate("run", "--cases", "c.jsonl").code == 0
    left = {path.name for path in Path("reports").iterdir()} - {"safe-gate.json", "safe-gate.md"}
    assert left == {*list(names)[2:], ".safe-gate-folder12.tmp"}


def test_a_draft_has_a_name_that_says_whose_it_is(safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    seen: list[str] = []
    replace = Path.replace

    def watched(self: Path, target: Path) -> Path:
        seen.extend(path.name for path in Path("reports").iterdir() if path.name not in seen)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", watched)
    assert safe_gate("run", "--cases", "c.jsonl").code == 0
    drafts = [name for name in seen if name.startswith(".safe-gate-") and name.endswith(".tmp")]
    assert {*seen} - {*drafts} == {"safe-gate.json"}
    assert drafts
    assert {path.name for path in Path("reports").iterdir()} == {"safe-gate.json", "safe-gate.md"}


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_folders_of_baselines_that_are_older_than_an_hour_are_deleted_unless_a_run_holds_them(
    safe_gate: SafeGate, temporary: Path
) -> None:
    git("init", "--quiet")
    write_cases(Path("c.jsonl"), turn("a"))
    base = commit()
    for name in ("safe-gate-left1234", "safe-gate-young123", "safe-gate-other", "others-left1234"):
        (temporary / name).mkdir()
        (temporary / name / "c.jsonl").write_text("{}", "utf-8")
        aged(temporary / name, 59 if "young" in name else 61)
    (temporary / "safe-gate-linked12").symlink_to(temporary / "others-left1234")
    os.utime(temporary / "safe-gate-linked12", (0, 0), follow_symlinks=False)
    with leftovers.temporary_folder() as held:
        aged(held, 600)
        assert safe_gate("run", "--cases", "c.jsonl", "--baseline", base).code == 0
        assert held.is_dir()
    left = {path.name for path in temporary.iterdir()}
    assert left == {"safe-gate-young123", "safe-gate-other", "others-left1234", "safe-gate-linked12"}
    assert (temporary / "others-left1234" / "c.jsonl").exists()
