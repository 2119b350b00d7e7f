"""What a glob names: the same files on disk and in a list of paths; in a commit's tree no less than in a folder."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from safe_gate.inputs import case_files, globs
from safe_gate.inputs.commit_files import Entry, Kind, Pattern, Selection
from safe_gate.settings.model import Settings
from tests.support.cases import SAFE
from tests.support.examples import examples

PATHS = st.lists(st.sampled_from(["a", "b", "a.b", "[a]", ".a", "*"]), min_size=1, max_size=4).map("/".join)
PARTS = st.sampled_from(["a", "*", "**", "?", "[ab]", "a*", "*b", "[[]a]", ".*", ".a", "[!a]"])
GLOBS = st.lists(PARTS, min_size=1, max_size=4).map("/".join)


@given(st.sets(PATHS, max_size=8), GLOBS)
@example({"a/a/a", "a/.a/b"}, "**/**")
@pytest.mark.thorough
@examples(few=60, many=500)
def test_a_glob_names_the_same_files_on_disk_and_in_a_tree(paths: set[str], glob: str) -> None:
    files = {path for path in paths if not any(other.startswith(f"{path}/") for other in paths)}
    with TemporaryDirectory() as temporary:
        for path in files:
            Path(temporary, path).parent.mkdir(parents=True, exist_ok=True)
            Path(temporary, path).touch()
        found = [*globs.matches([glob], Path(temporary))[0], Path(temporary, glob)]
        on_disk = {path.relative_to(temporary).as_posix() for path in found if path.is_file()}
    segments = tuple(glob.split("/"))
    assert on_disk == {path for path in files if globs.names(segments, path.split("/"))}
    for path in on_disk:
        parents = [parent.parts for parent in Path(path).parents]
        assert all(globs.leads_into(segments, parent) for parent in parents)


NAMES = st.sampled_from(["a", "b", "a.b", "[a]", ".a"])
SEGMENTS = st.sampled_from(["a", "b", "*", "**", "?", "[ab]", "a*", "..", ".", "**.b", "[a]", "[[]a]", "a.b", ".*"])
FOLDERS = st.lists(NAMES, max_size=3)
FILES = st.tuples(FOLDERS, NAMES, st.sampled_from([".json", ".jsonl", ".outputs.jsonl"])).map(
    lambda parts: "/".join([*parts[0], parts[1] + parts[2]])
)
SUFFIXES = st.sampled_from(["", ".json", ".jsonl", "*", ".*"])
PATTERNS = st.tuples(st.lists(SEGMENTS, min_size=1, max_size=4), SUFFIXES).map(lambda both: "/".join(both[0]) + both[1])


@given(st.sets(FILES, max_size=8), PATTERNS, st.lists(NAMES, max_size=2))
@example({"a/b.json", "a/b.outputs.jsonl"}, "a/b", [])
@example({"a/a/a.jsonl"}, "**/a.jsonl", ["a"])
@example({"[a]/a.jsonl"}, "*.jsonl", ["[a]"])
@pytest.mark.thorough
@examples(few=60, many=300)
def test_what_is_read_in_a_folder_is_chosen_in_a_tree(paths: set[str], pattern: str, folder: list[str]) -> None:
    with TemporaryDirectory() as temporary:
        top = Path(temporary).resolve()
        (top / ".git").mkdir()
        root = top.joinpath(*folder)
        root.mkdir(parents=True, exist_ok=True)
        for path in paths:
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_text("{}", "utf-8")
        read = {
            *globs.expand([pattern], root=root)[0],
            *case_files.expanded(case_files.of(SAFE, Settings().replace(safe_batch=(pattern,)), root)).paths,
        }
        beside = {path.with_suffix(".outputs.jsonl") for path in read if path.suffix == ".json"}
        wanted = {path.resolve().relative_to(top).as_posix() for path in read | beside if path.is_file()}
    chosen = Selection.of([Pattern(pattern, is_batch=True)], "/".join(folder))
    for path in wanted:
        assert chosen.has(path)
        folders = [parent.as_posix() for parent in Path(path).parents]
        assert all(chosen.leads_into("" if parent == "." else parent) for parent in folders)


@given(st.lists(NAMES, min_size=1, max_size=3), PATTERNS)
@example(["a", "b"], "a/**/a.jsonl")
@pytest.mark.thorough
@examples(few=60, many=300)
def test_a_link_that_a_glob_follows_is_met(link: list[str], pattern: str) -> None:
    with TemporaryDirectory() as temporary:
        top = Path(temporary).resolve() / "top"
        top.joinpath(*link[:-1]).mkdir(parents=True)
        elsewhere = top.parent / "elsewhere"
        for folder in (elsewhere, elsewhere / "a"):
            folder.mkdir()
            for name in ("a.jsonl", "b.json"):
                (folder / name).write_text("{}", "utf-8")
        top.joinpath(*link).symlink_to(elsewhere)
        follows = any(path.resolve().is_relative_to(elsewhere) for path in globs.expand([pattern], root=top)[0])
    if follows:
        assert Selection.of([Pattern(pattern)], "").meets(Entry("/".join(link), Kind.LINK, ""))


def test_a_batch_whose_name_is_the_pattern_is_met_whatever_its_suffix() -> None:
    chosen = Selection.of([Pattern("evals/b*", is_batch=True)], "")
    assert chosen.has("evals/b*")
    assert chosen.has("evals/b*.outputs.jsonl")
    assert not chosen.has("evals/b.txt")


def test_a_pattern_of_many_folders_of_any_depth_is_soon_decided() -> None:
    chosen = Selection.of([Pattern("**/" * 12 + "x.json")], "")
    assert not chosen.has("/".join("a" * 40) + "/y.json")
    assert chosen.has("/".join("a" * 40) + "/x.json")
