"""A glob names the same files on disk and in a list of paths."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from safe_gate.inputs.finding import globs
from tests.support.examples import examples

PATHS = st.lists(st.sampled_from(["a", "b", "a.b", "[a]", ".a", "*"]), min_size=1, max_size=4).map("/".join)
SEGMENTS = st.sampled_from(["a", "*", "**", "?", "[ab]", "a*", "*b", "[[]a]", ".*", ".a", "[!a]"])
GLOBS = st.lists(SEGMENTS, min_size=1, max_size=4).map("/".join)


@given(st.sets(PATHS, max_size=8), GLOBS)
@example({"a/a/a", "a/.a/b"}, "**/**")
@pytest.mark.thorough
@examples(few=100, many=500)
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
