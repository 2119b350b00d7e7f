"""The tests of a module lie at its path: `tests/` mirrors `safe_gate/`."""

from __future__ import annotations

from pathlib import Path

from tests.support.cases import REPOSITORY

TESTS = REPOSITORY / "tests"
PACKAGE = REPOSITORY / "safe_gate"
MOST_LINES = 500
ACROSS_ROOMS = {
    "container": "the image and the workflow, as the runner runs them",
    "contracts": "what is written twice, in code and in documents",
    "cost": "how long a test may take",
    "imports": "where imports stand",
    "library": "what Python code may call",
    "linear": "what a text costs, whatever reads it",
    "memory": "what a run holds, whoever holds it",
    "mirror": "this rule",
    "other_ci": "what runs the gate outside of GitHub",
    "package": "the sdist and the wheel",
    "report_keys": "where a report is read by string keys",
    "size": "how long modules and folders are",
    "startup": "what a command imports",
    "withheld": "`text: none`, in every place that shows text",
}
"""What modules at the top of `tests/` are about, as no room has it for itself."""
COMMANDS_ELSEWHERE = {
    "compare": ("baseline/comparison", "a run with a baseline and `compare` find the same, so tests run both"),
    "merge": ("scoring/shards", "what is merged is a run in shards, which tests make first"),
    "publish": ("publish/handover", "what is published is what an untrusted run left, which tests make first"),
    "run": ("runs", "its parts are a room of their own, and nearly every test runs it"),
    "validate": ("inputs/kinds", "it tells the kinds of files apart, which other commands are given too"),
    "verify": ("proof", "it is all that the room is for"),
}
"""Where tests of a command are if not in `tests/commands/test_COMMAND.py`, and why."""
NO_ROOMS = {"data", "support"}


def _exists(path: Path) -> bool:
    """Return whether a path, less its suffix, names a module or a folder of the package or of the repository."""
    names = (path.name, f"_{path.name}", f"{path.name}_")
    homes = [home / path.parent for home in (PACKAGE, REPOSITORY)]
    return any((home / name).is_dir() or (home / f"{name}.py").is_file() for home in homes for name in names)


def _modules() -> list[Path]:
    """Return the test modules, relative to `tests/`."""
    return sorted(file.relative_to(TESTS) for file in TESTS.rglob("test_*.py"))


def _has_its_place(module: Path) -> bool:
    """Return whether a test module is named after what it tests, or is one part of the tests of a module.

    `tests/ROOM/test_X.py` tests the module or folder X of the room, or the room itself if X is the room. If these
    tests are many, `tests/ROOM/X/` has them, each file named after its subject.
    """
    subject = module.stem.removeprefix("test_")
    folder = module.parent
    if folder == Path():
        return subject in ACROSS_ROOMS or _exists(Path(subject))
    is_of_a_module = (PACKAGE / folder).with_suffix(".py").is_file()
    return is_of_a_module or _exists(folder / subject) or (subject == folder.name and _exists(folder))


def test_every_room_has_a_folder_of_tests() -> None:
    rooms = {one.name for one in PACKAGE.iterdir() if (one / "__init__.py").is_file()}
    folders = {one.name for one in TESTS.iterdir() if one.is_dir() and one.name != "__pycache__"} - NO_ROOMS
    assert rooms <= folders
    assert all(_exists(Path(name)) for name in folders)


def test_every_test_module_lies_where_its_subject_does() -> None:
    assert [module.as_posix() for module in _modules() if not _has_its_place(module)] == []


def test_every_command_has_its_tests() -> None:
    names = {file.stem.strip("_") for file in (PACKAGE / "commands").glob("[!_]*.py")}
    assert {name for name in names if not (TESTS / "commands" / f"test_{name}.py").is_file()} == {*COMMANDS_ELSEWHERE}
    for name, (folder, _) in COMMANDS_ELSEWHERE.items():
        assert any(f'"{name}"' in file.read_text("utf-8") for file in (TESTS / folder).rglob("*.py")), name


def test_every_subject_across_rooms_has_its_tests() -> None:
    assert [name for name in ACROSS_ROOMS if not (TESTS / f"test_{name}.py").is_file()] == []


def test_no_test_module_is_longer_than_a_reader_keeps_in_mind() -> None:
    lines = {file.as_posix(): len((TESTS / file).read_text("utf-8").splitlines()) for file in _modules()}
    assert {name: n for name, n in lines.items() if n > MOST_LINES} == {}


def test_no_test_module_imports_another() -> None:
    modules = {module.as_posix(): (TESTS / module).read_text("utf-8").splitlines() for module in _modules()}
    found = {
        name: line
        for name, lines in modules.items()
        for line in lines
        if line.startswith("from tests.") and not line.startswith("from tests.support")
    }
    assert found == {}
