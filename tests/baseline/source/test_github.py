"""A commit that is read from GitHub."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from safe_gate.github.client import Client
from safe_gate.settings import Settings
from tests.support.baselines import OPTIONS, Open, context, found, open_, refusal
from tests.support.cases import Patch
from tests.support.git import NOW, commit, git
from tests.support.github import BASE, BLOBS, REPOSITORY, TOKEN, TREES, Answer, GitHub, blob_id, ok

COMMIT = f"/repos/{REPOSITORY}/commits/main"
TREE, BLOB = f"{TREES}/.*", f"{BLOBS}/.*"
OF_PULL_REQUEST = context("pull_request", BASE, repository=REPOSITORY)


@pytest.fixture
def there(from_github: Callable[[Path], Open], work: Path) -> Open:
    """Commit the repository, and leave the commit at GitHub alone."""
    commit(work)
    return from_github(work)


def test_what_a_shallow_clone_lacks(work: Path, tmp_path: Path, monkeypatch: Patch, github: GitHub) -> None:
    base = commit(work)
    Path("chat.jsonl").unlink()
    commit(work)
    git("clone", "--quiet", "--depth=1", f"file://{work}", tmp_path / "shallow")
    monkeypatch.chdir(tmp_path / "shallow" / "evals")
    github.refs[base] = base
    github.made_at = "2026-01-02T03:04:05.678Z"
    chat = (work / "evals" / "unasked.jsonl").read_bytes() + b"\n"
    github.trees[base] = {"evals/chat.jsonl": chat, "docs/x.jsonl": b"x"}
    where = context("pull_request", base, repository=REPOSITORY)
    with open_("base", lambda: Client(github.url, TOKEN, say=print, seconds=60), where) as baseline:
        assert baseline
        assert (baseline.name, baseline.commit, baseline.made_at) == ("base", base, NOW)
        options = OPTIONS.replace(safe_batch=(), synthesis_cases=("chat.jsonl",))
        assert found(baseline, options) == found(baseline, options) == ["chat.jsonl"]
    asked = f"/repos/{REPOSITORY}/commits/{base}?per_page=1", f"{BLOBS}/{blob_id(chat)}", f"{TREES}/{base}?recursive=1"
    assert sorted(path for _, path in github.requests) == [*asked]


def test_a_branch_is_asked_for_by_its_whole_name(there: Open, github: GitHub) -> None:
    """GitHub is not left to choose between a tag and a branch."""
    sha = github.refs["main"]
    github.refs |= {"heads/main": sha, "main": "1" * 40}
    for ref in ("main", "heads/main", sha, "release/1"):
        with there(ref) as baseline:
            assert baseline
            assert baseline.commit == sha


def test_a_ref_that_only_a_clone_can_resolve_is_not_requested_from_github(there: Open, github: GitHub) -> None:
    for ref in ("HEAD", "HEAD~1", "@", "main~2", "main^", "@{u}", ":/x", "main..x"):
        assert "GitHub: only a clone can resolve it" in refusal(there(ref))
    assert github.requests == []


def test_a_branch_of_a_remote_is_named_as_github_calls_it(there: Open) -> None:
    assert "GitHub: no branch has this name; write main without origin/)" in refusal(there("origin/main"))


def tree(entry: Any = None, **fields: Any) -> Answer:
    found = {"path": "x", "mode": "100644", "sha": "0" * 40, "size": 1} | fields if entry is None else entry
    return ok({"tree": [found], "truncated": False})


NOT_GITHUB = "the answer is not from GitHub"


@pytest.mark.parametrize(
    ("path", "answer", "words"),
    [
        (COMMIT, Answer(401, '{"message": "Bad credentials"}'), "the token is wrong or has expired: correct github-token"),
        (COMMIT, Answer(403, '{"message": "Resource not accessible"}'), "the token needs contents: read"),
        (COMMIT, Answer(404, '{"message": "Not Found"}'), "the commit does not exist, or the job lacks contents: read"),
        (COMMIT, Answer(500, ""), "HTTP 500"),
        (COMMIT, Answer(200, "<html>"), NOT_GITHUB),
        (COMMIT, Answer(403, "{}", {"Retry-After": "999"}), "and waiting did not help or would take too long"),
        (COMMIT, ok({"sha": "../x", "commit": None}), "the answer has no commit"),
        (TREE, Answer(403, '{"message": "Resource not accessible"}'), "the token needs contents: read"),
        (TREE, ok({"tree": [], "truncated": True}), "GitHub: it lists at most 100,000 entries of a commit"),
        (TREE, tree(1), NOT_GITHUB),
        (TREE, tree({}), NOT_GITHUB),
        *((TREE, tree(**one), NOT_GITHUB) for one in ({"path": 1}, {"path": ""}, {"sha": "../x"}, {"sha": 1}, {"size": "1"})),
        (BLOB, Answer(200, "<html>"), "it returned different bytes for "),
    ],
)  # fmt: skip
def test_a_refusal_says_what_to_do(there: Open, github: GitHub, path: str, answer: Answer, words: str) -> None:
    github.faults[("GET", path)] = Answer(answer.status, answer.body, answer.headers)
    said = refusal(there("main"))
    assert words in said
    assert said.endswith("give actions/checkout fetch-depth: 0, or correct the name")


@pytest.mark.parametrize(
    ("bound", "most", "words"),
    [
        ("_LARGEST_FILE", 10, "is larger than the 10 bytes that it returns"),
        ("_MOST_REQUESTS", 3, "reading these files needs more than 3 requests"),
    ],
)
def test_bounds_of_what_github_returns(there: Open, monkeypatch: Patch, bound: str, most: int, words: str) -> None:
    monkeypatch.setattr(f"safe_gate.github.contents.{bound}", most)
    assert words in refusal(there("main"))


@pytest.mark.parametrize("pattern", ["app/c.jsonl", "app/*.jsonl", "**/c.jsonl", "app/missing_batch_1"])
def test_a_commit_is_not_asked_for_paths_of_a_checkout_below_the_working_folder(github: GitHub, pattern: str) -> None:
    github.refs, github.trees = {BASE: BASE}, {BASE: {"c.jsonl": b""}}
    Path("app/.git").mkdir(parents=True)
    Path("app/c.jsonl").touch()
    options = Settings().replace(synthesis_cases=(pattern, f"{'x' * 300}/c.jsonl"), github_token=TOKEN)
    said = refusal(open_("base", where=OF_PULL_REQUEST, options=options, folder=""))
    assert said.startswith("app: is a checkout, but the working folder is outside any checkout")
    assert github.requests == []
