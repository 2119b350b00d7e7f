"""What a glob names: the same files on disk and in a commit."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import BinaryIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from safe_gate.inputs import case_files, globs
from safe_gate.inputs.commit_files import CommitFiles, CommitPath, Entry, EntryKind, FilePath
from safe_gate.settings import Settings
from tests.support.cases import SAFE
from tests.support.examples import examples

NAMES = st.sampled_from(["a", "b", "a.b", "[a]", ".a"])
SEGMENTS = st.sampled_from(
    ["a", "b", "*", "**", "?", "[ab]", "[!a]", "a*", "..", ".", "**.b", "[a]", "[[]a]", "a.b", ".*"]
)
FOLDERS = st.lists(NAMES, max_size=3)
FILES = st.tuples(FOLDERS, NAMES, st.sampled_from([".json", ".jsonl", ".outputs.jsonl"])).map(
    lambda parts: "/".join([*parts[0], parts[1] + parts[2]])
)
SUFFIXES = st.sampled_from(["", ".json", ".jsonl", "*", ".*"])
BELOW = "1/2/3/4"
"""As deep as a pattern may climb, so that none lists the folder of all temporary files."""

PATTERNS = st.tuples(st.lists(SEGMENTS, min_size=1, max_size=4), SUFFIXES).map(lambda both: "/".join(both[0]) + both[1])


@contextmanager
def commit(folder: str, entries: Iterable[Entry]) -> Iterator[CommitPath]:
    """Give the working folder in a commit whose files all hold an object."""
    every = [*entries]
    above = {one.as_posix() for entry in every for one in PurePosixPath(entry.path).parents} - {"."}
    listed = [*(Entry(one, EntryKind.FOLDER) for one in above), *every]

    def write(_: Entry, into: BinaryIO, __: int) -> None:
        into.write(b"{}")

    with TemporaryDirectory() as kept:
        yield CommitPath(CommitFiles("", folder, lambda: listed, write, Path(kept)), PurePosixPath())


def named(pattern: str, root: FilePath) -> set[str]:
    """Return the paths of the files that a pattern names as cases or as batches, from the working folder."""
    found = case_files.find_case_files(
        case_files.CaseFiles(SAFE, Settings().replace(safe_batch=(pattern,)), root)
    ).paths
    every = [*globs.expand_patterns([pattern], root=root)[0], *found]
    return {
        one.path.as_posix() if isinstance(one, CommitPath) else one.relative_to(str(root)).as_posix() for one in every
    }


@given(st.sets(FILES, max_size=8), PATTERNS, st.lists(NAMES, max_size=2))
@example({"a/b.json", "a/b.outputs.jsonl"}, "a/b", [])
@example({"a/a/a.jsonl"}, "**/a.jsonl", ["a"])
@example({"[a]/a.jsonl"}, "*.jsonl", ["[a]"])
@example({"a/a/a.jsonl", "a/.a/b.jsonl"}, "**/**", [])
@example({"a.jsonl"}, "../a.jsonl", [])
@example({"a.json"}, "a/../a", [])
@example({"a.json"}, "../**", [])
@example({"a.json"}, "../../a", ["a", "a"])
@pytest.mark.thorough
@examples(few=30, many=500)
def test_a_glob_names_the_same_files_on_disk_and_in_a_commit(paths: set[str], pattern: str, folder: list[str]) -> None:
    with TemporaryDirectory() as temporary:
        top = Path(temporary, BELOW).resolve() / "top"
        root = top.joinpath(*folder)
        root.mkdir(parents=True)
        for path in paths:
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_text("{}", "utf-8")
        on_disk = named(pattern, root)
        inside = {path for path in on_disk if (root / path).resolve().is_relative_to(top)}
    with commit("/".join(folder), (Entry(path, EntryKind.FILE, path) for path in paths)) as there:
        _, problems, _ = globs.expand_patterns([pattern], root=there)
        is_refused = any("leads out of the repository" in one.message for one in problems)
        assert is_refused or named(pattern, there) == inside


@given(st.lists(NAMES, min_size=1, max_size=3), PATTERNS)
@example(["a", "b"], "a/**/a.jsonl")
@example(["a"], "../**")
@pytest.mark.thorough
@examples(few=30, many=300)
def test_a_link_that_a_glob_follows_is_refused_in_a_commit(link: list[str], pattern: str) -> None:
    with TemporaryDirectory() as temporary:
        top = Path(temporary, BELOW).resolve() / "top"
        top.joinpath(*link[:-1]).mkdir(parents=True)
        elsewhere = top.parent / "elsewhere"
        for folder in (elsewhere, elsewhere / "a"):
            folder.mkdir()
            for name in ("a.jsonl", "b.json"):
                (folder / name).write_text("{}", "utf-8")
        top.joinpath(*link).symlink_to(elsewhere)
        follows = any((top / path).resolve().is_relative_to(elsewhere) for path in named(pattern, top))
    with commit("", [Entry("/".join(link), EntryKind.LINK)]) as there:
        _, problems, _ = globs.expand_patterns([pattern], root=there)
    said = " ".join(one.message for one in problems)
    if follows:
        assert "is not followed at commit" in said or "leads out of the repository" in said


def test_a_pattern_of_many_folders_of_any_depth_is_soon_decided() -> None:
    deep = "/".join("a" * 40)
    with commit("", (Entry(f"{deep}/{name}", EntryKind.FILE, name) for name in ("x.json", "y.json"))) as there:
        assert named("**/" * 12 + "x.json", there) == {f"{deep}/x.json"}
