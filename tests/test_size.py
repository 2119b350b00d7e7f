"""Modules and folders stay small enough to be read at once."""

from __future__ import annotations

from pathlib import Path

from tests.support.cases import REPOSITORY

PACKAGE = REPOSITORY / "safe_gate"
MOST_LINES = 350
MOST_FILES = 20


def test_no_module_is_longer_than_a_reader_keeps_in_mind() -> None:
    lines = {
        file.relative_to(PACKAGE).as_posix(): len(file.read_text("utf-8").splitlines())
        for file in PACKAGE.rglob("*.py")
    }
    assert {name: n for name, n in lines.items() if n > MOST_LINES} == {}


def test_no_folder_has_more_files_than_a_reader_keeps_in_mind() -> None:
    folders = [one for one in (PACKAGE, *PACKAGE.rglob("*")) if one.is_dir() and one.name != "__pycache__"]
    files = {_name(folder): sum(one.is_file() for one in folder.iterdir()) for folder in folders}
    assert {name: n for name, n in files.items() if n > MOST_FILES} == {}


def _name(folder: Path) -> str:
    return folder.relative_to(PACKAGE).as_posix()
