import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from safe_gate.baseline.source import Baseline
from safe_gate.github import Api, Context
from safe_gate.github.client import Client
from safe_gate.inputs.commit_files import EntryKind
from tests.support.baselines import Open, blob, context, open_
from tests.support.cases import Patch, safe_case, turn, write_batch, write_cases
from tests.support.git import git
from tests.support.github import REPOSITORY, TOKEN, GitHub


@pytest.fixture(autouse=True)
def _nothing_is_left_behind(monkeypatch: Patch, tmp_path: Path) -> Iterator[None]:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    yield
    assert list(temporary.iterdir()) == []


@pytest.fixture
def work(tmp_path: Path, monkeypatch: Patch) -> Path:
    """Make a repository with inputs in `evals` and beside it, and work in that folder; nothing is committed yet."""
    top = tmp_path / "repository"
    for folder in ("evals/clinical", "shared/deep"):
        (top / folder).mkdir(parents=True)
    git("init", "--quiet", folder=top)
    write_cases(top / "evals" / "chat.jsonl", turn("a"), turn("b"))
    write_cases(top / "shared" / "deep" / "ü b.jsonl", turn("c"))
    batch = safe_case("s")
    output = {"test_id": "s", "output": batch.pop("output")}
    write_batch(top / "evals" / "clinical" / "I25_batch_1.json", batch)
    write_cases(top / "evals" / "clinical" / "I25_batch_1.outputs.jsonl", output)
    write_cases(top / "evals" / "unasked.jsonl", turn("x"))
    (top / "evals" / "README.md").write_text("# no JSON", "utf-8")
    monkeypatch.chdir(top / "evals")
    return top


@pytest.fixture
def from_github(github: GitHub, monkeypatch: Patch, waits: list[float]) -> Callable[[Path], Open]:
    """Give a repository's last commit to GitHub and leave nothing of it here but what lies in the working folder."""

    def give(top: Path) -> Open:
        sha = git("rev-parse", "HEAD", folder=top)
        tree: dict[str, bytes | EntryKind] = {}
        for line in git("-c", "core.quotePath=off", "ls-tree", "-rz", sha, folder=top).rstrip("\0").split("\0"):
            facts, _, path = line.partition("\t")
            kind = {"120000": EntryKind.LINK, "160000": EntryKind.SUBMODULE}.get(facts.split()[0])
            data = b"" if kind else blob(facts.split()[2], top)
            tree[path] = kind or data
        github.trees[sha] = tree
        github.refs |= {sha: sha, "main": sha, "release/1": sha}
        shutil.rmtree(top / ".git")
        monkeypatch.setenv("PATH", str(top / "empty"))

        def open_from(
            spec: str, where: Context | None = None, **changed: Any
        ) -> AbstractContextManager[Baseline | None]:
            def connect() -> Api:
                return Client(github.url, TOKEN, say=print, seconds=60, sleep=waits.append)

            return open_(spec, connect, where or context("push", repository=REPOSITORY), **changed)

        return open_from

    return give
