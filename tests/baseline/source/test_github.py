"""A commit that is read from GitHub."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from safe_gate.github.client import Client
from safe_gate.settings import Settings
from tests.support.baselines import OPTIONS, Open, context, found, open_, refusal
from tests.support.git import NOW, commit, git
from tests.support.github import BASE, BLOBS, REPOSITORY, TOKEN, TREES, Answer, GitHub, blob_id, ok


def test_a_shallow_clone_asks_github_for_what_it_lacks(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, github: GitHub
) -> None:
    base = commit(work)
    Path("chat.jsonl").unlink()
    commit(work)
    git("clone", "--quiet", "--depth=1", f"file://{work}", tmp_path / "shallow")
    monkeypatch.chdir(tmp_path / "shallow" / "evals")
    github.refs[base] = base
    github.made_at = "2026-01-02T03:04:05.678Z"
    files = {"evals/chat.jsonl": (work / "evals" / "unasked.jsonl").read_bytes() + b"\n", "docs/x.jsonl": b"x"}
    github.trees[base] = {**files}
    where = context("pull_request", base, repository=REPOSITORY)
    with open_("base", lambda: Client(github.url, TOKEN, say=print, seconds=60), where) as baseline:
        assert baseline
        assert (baseline.name, baseline.commit, baseline.made_at) == ("base", base, NOW)
        options = OPTIONS.replace(safe_batch=(), synthesis_cases=("chat.jsonl",))
        assert found(baseline, options) == found(baseline, options) == ["chat.jsonl"]
    blob = blob_id(files["evals/chat.jsonl"])
    assert sorted(path for _, path in github.requests) == [
        f"/repos/{REPOSITORY}/commits/{base}?per_page=1",
        f"{BLOBS}/{blob}",
        f"{TREES}/{base}?recursive=1",
    ]


def test_a_branch_with_a_slash_is_asked_for_by_name(from_github: Callable[[Path], Open], work: Path) -> None:
    sha = commit(work)
    with from_github(work)("release/1") as baseline:
        assert baseline
        assert baseline.commit == sha


def test_github_is_not_left_to_choose_between_a_tag_and_a_branch(
    from_github: Callable[[Path], Open], work: Path, github: GitHub
) -> None:
    sha = commit(work)
    open_it = from_github(work)
    github.refs |= {"heads/main": sha, "main": "1" * 40}
    for ref in ("main", "heads/main", sha):
        with open_it(ref) as baseline:
            assert baseline
            assert baseline.commit == sha


@pytest.mark.parametrize("ref", ["HEAD", "HEAD~1", "@", "main~2", "main^", "@{u}", ":/x", "main..x"])
def test_a_ref_that_only_a_clone_can_resolve_is_not_requested_from_github(
    from_github: Callable[[Path], Open], work: Path, github: GitHub, ref: str
) -> None:
    commit(work)
    assert "GitHub: only a clone can resolve it" in refusal(from_github(work)(ref))
    assert github.requests == []


REFUSALS = [
    (Answer(401, '{"message": "Bad credentials"}'), "the token is wrong or has expired: correct github-token"),
    (Answer(403, '{"message": "Resource not accessible"}'), "the token needs contents: read"),
    (Answer(404, '{"message": "Not Found"}'), "the commit does not exist, or the token lacks contents: read"),
    (Answer(500, ""), "HTTP 500"),
    (Answer(200, "<html>"), "the answer is not from GitHub"),
    (Answer(403, "{}", {"Retry-After": "999"}), "and waiting did not help or would take too long"),
]


@pytest.mark.parametrize(
    ("path", "answer", "words"),
    [
        *((f"/repos/{REPOSITORY}/commits/main", *refusal) for refusal in REFUSALS),
        (f"{TREES}/.*", *REFUSALS[1]),
        (f"{BLOBS}/.*", *REFUSALS[4]),
    ],
)
def test_a_refusal_is_an_error_that_says_what_to_do(
    from_github: Callable[[Path], Open], work: Path, github: GitHub, path: str, answer: Answer, words: str
) -> None:
    commit(work)
    github.faults[("GET", path)] = Answer(answer.status, answer.body, answer.headers)
    said = refusal(from_github(work)("main"))
    if answer.body == "<html>" and path.startswith(BLOBS):
        words = "it returned different bytes for "
    assert words in said
    assert "actions/checkout with fetch-depth: 0" in said


ENTRY = {"path": "x", "mode": "100644", "sha": "0" * 40, "size": 1}
NO_ENTRIES = [1, {}, *(ENTRY | one for one in ({"path": 1}, {"path": ""}, {"sha": "../x"}, {"sha": 1}, {"size": "1"}))]


@pytest.mark.parametrize("entry", NO_ENTRIES)
def test_a_list_that_is_not_githubs(
    from_github: Callable[[Path], Open], work: Path, github: GitHub, entry: object
) -> None:
    commit(work)
    github.faults[("GET", f"{TREES}/.*")] = ok({"tree": [entry], "truncated": False})
    assert "the answer is not from GitHub" in refusal(from_github(work)("main"))


def test_an_answer_that_names_no_commit(from_github: Callable[[Path], Open], work: Path, github: GitHub) -> None:
    commit(work)
    github.faults[("GET", f"/repos/{REPOSITORY}/commits/main")] = ok({"sha": "../x", "commit": None})
    assert "the answer has no commit" in refusal(from_github(work)("main"))


def test_a_list_that_is_cut_is_an_error(from_github: Callable[[Path], Open], work: Path, github: GitHub) -> None:
    commit(work)
    github.truncates = True
    assert "GitHub: it lists at most 100,000 entries of a commit" in refusal(from_github(work)("main"))


def test_a_file_too_large_for_github_and_too_many_requests(
    from_github: Callable[[Path], Open], work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(work)
    open_it = from_github(work)
    with monkeypatch.context() as patched:
        patched.setattr("safe_gate.github.contents._LARGEST_FILE", 10)
        assert "is larger than the 10 bytes that it returns" in refusal(open_it("main"))
    monkeypatch.setattr("safe_gate.github.contents._MOST_REQUESTS", 3)
    assert "reading these files needs more than 3 requests" in refusal(open_it("main"))


@pytest.mark.parametrize("pattern", ["app/c.jsonl", "app/*.jsonl", "**/c.jsonl", "app/missing_batch_1"])
def test_a_commit_is_not_asked_for_the_paths_of_a_checkout_below_the_working_folder(
    github: GitHub, pattern: str
) -> None:
    github.refs, github.trees = {BASE: BASE}, {BASE: {"c.jsonl": b""}}
    Path("app/.git").mkdir(parents=True)
    Path("app/c.jsonl").touch()
    where = context("pull_request", BASE, repository=REPOSITORY)
    options = Settings().replace(synthesis_cases=(pattern, f"{'x' * 300}/c.jsonl"), github_token=TOKEN)
    said = refusal(open_("base", where=where, options=options, folder=""))
    assert said.startswith("app: is a checkout, but the working folder is outside any checkout")
    assert github.requests == []


def test_without_a_token_it_is_not_asked(work: Path) -> None:
    commit(work)
    where = context("pull_request", BASE, repository=REPOSITORY)
    said = refusal(open_("base", where=where, options=Settings().replace(synthesis_cases=("c.jsonl",))))
    assert said == (
        f"base: is commit {BASE}, which cannot be read (the clone: it does not have the commit;"
        " GitHub: there is no token: set github-token, which needs contents: read); fetch the whole commit into the"
        " clone (actions/checkout with fetch-depth: 0 and no filter, or git fetch)"
    )
