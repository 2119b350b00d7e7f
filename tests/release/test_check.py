"""What keeps a tree from being released."""

from pathlib import Path

import pytest

from tests.release.conftest import Script
from tests.support.git import commit


def test_a_tree_that_may_be_released_prints_its_notes(script: Script) -> None:
    ran = script("check", "--tag", "v1.2.3", GITHUB_REPOSITORY="octo/gate")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "- New.\n", "")


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("pyproject.toml", "1.2.3", "1.2.4", "the tag is v1.2.3, but pyproject.toml has the version 1.2.4"),
        ("pyproject.toml", "1.2.3", "2.0.0", "the version is 2.0.0; expected 1.x.y"),
        ("safe_gate/__init__.py", "1.2.3", "1.2.2", "__version__ is not 1.2.3"),
        ("CHANGELOG.md", "- New.", "### Added", "nothing stands under '## 1.2.3 - DATE'"),
        ("CHANGELOG.md", "1.2.3", "1.2.1", "nothing stands under '## 1.2.3 - DATE'"),
        ("CHANGELOG.md", "2026-12-01", "unreleased", "the date of 1.2.3 is unreleased; expected YYYY-MM-DD"),
        ("action.yml", "image: Dockerfile", "image: docker://x", "expected 'image: Dockerfile'"),
        ("pyproject.toml", "octo/gate", "org/gate", "but this repository is octo/gate"),
    ],
)
def test_what_is_no_release_is_refused(tree: Path, script: Script, file: str, old: str, new: str, words: str) -> None:
    text = (tree / file).read_text("utf-8")
    (tree / file).write_text(text.replace(old, new), "utf-8")
    commit(tree)
    ran = script("check", "--tag", "v1.2.3", GITHUB_REPOSITORY="octo/gate")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert words in ran.stderr


def test_a_dirty_tree_is_refused(tree: Path, script: Script) -> None:
    (tree / "new.txt").write_text("", "utf-8")
    ran = script("check")
    assert (ran.returncode, ran.stderr) == (1, "the tree is dirty: new.txt; commit or remove it\n")


def test_before_the_tag_the_changelog_may_be_undated(tree: Path, script: Script) -> None:
    text = (tree / "CHANGELOG.md").read_text("utf-8")
    (tree / "CHANGELOG.md").write_text(text.replace("2026-12-01", "unreleased"), "utf-8")
    commit(tree)
    assert script("check").returncode == 0
