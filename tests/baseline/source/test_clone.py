"""A commit of the clone that contains the working folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from safe_gate.settings import Settings
from tests.support.baselines import NAMED, found, open_, refusal
from tests.support.git import NOW, commit, git
from tests.support.github import BASE

NO_GITHUB = "GitHub: this is not a GitHub Actions job"


def commits(*refs: str) -> list[str]:
    """Return the commits that refs name."""
    found = []
    for ref in refs:
        with open_(ref) as baseline:
            assert baseline
            assert baseline.name == ref
            found.append(baseline.commit)
    return found


def test_a_ref_is_a_branch_a_tag_an_id_or_what_git_makes_of_it(work: Path) -> None:
    first = commit(work)
    git("tag", "--annotate", "--message=x", "v1", folder=work)
    git("update-ref", "refs/remotes/origin/main", first, folder=work)
    git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main", folder=work)
    Path("chat.jsonl").unlink()
    second = commit(work)
    assert commits("v1", "HEAD~1", first[:10]) == [first] * 3
    assert commits("main", "HEAD", "@", "@^0", second) == [second] * 5  # the checkout's, whatever the remote's is


@pytest.mark.parametrize("branch", ["heads/trunk", "remotes/origin/trunk"])
def test_a_tag_by_the_name_of_a_branch_is_not_taken_for_it(work: Path, branch: str) -> None:
    first = commit(work)
    git("update-ref", f"refs/{branch}", first, folder=work)
    commit(work)
    git("commit", "--quiet", "--allow-empty", "--message=y", folder=work)
    for tag in ("trunk", "origin/trunk"):
        git("tag", "--annotate", "--message=x", tag, folder=work)
    assert commits("trunk", "trunk^0", f"refs/{branch}", branch, branch.partition("/")[2]) == [first] * 5


def test_a_ref_that_the_clone_does_not_have(work: Path) -> None:
    commit(work)
    for ref in ("nowhere", BASE, "main:evals", "evals", "x" * 5_000):
        assert refusal(open_(ref)) == (
            f"{ref}: is neither a .json file nor a readable commit (the clone: it does not have the commit;"
            f" {NO_GITHUB}); fetch the whole commit into the clone (actions/checkout with"
            " fetch-depth: 0 and no filter, or git fetch), or correct the name"
        )


def test_no_repository_and_no_git(monkeypatch: pytest.MonkeyPatch) -> None:
    options = Settings().replace(synthesis_cases=("c.jsonl",))
    assert "the clone: not a git repository" in refusal(open_("main", options=options, folder=""))
    monkeypatch.setenv("PATH", "/nowhere")
    said = refusal(open_("main", options=options, folder=""))
    assert f"the clone: git is not installed; {NO_GITHUB}" in said


def test_a_worktree_a_subfolder_and_another_owner(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sha = commit(work)
    git("worktree", "add", "--quiet", "--detach", tmp_path / "tree", folder=work)
    if os.geteuid() == 0:
        for path in (work, *work.rglob("*")):
            os.lchown(path, 12345, 12345)
    for folder in ("tree/evals", "repository/evals"):
        monkeypatch.chdir(tmp_path / folder)
        with open_("main") as baseline:
            assert baseline
            assert (baseline.commit, found(baseline)) == (sha, NAMED)


def test_nothing_in_anyones_configuration_is_run(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sha = commit(work)
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\necho {{}} >> {tmp_path}/sprung\n", "utf-8")
    trap.chmod(0o755)
    for name in ("core.fsmonitor", "core.pager", "pager.show", "gpg.program", "core.sshCommand", "core.askPass"):
        git("config", name, str(trap), folder=work)
    git("config", "log.showSignature", "true", folder=work)
    git("config", "alias.show", f"!{trap}", folder=work)
    (tmp_path / ".gitconfig").write_text("[core\nbroken", "utf-8")
    for name, value in {"HOME": str(tmp_path), "GIT_DIR": "/nowhere", "GIT_PAGER": str(trap), "GIT_TRACE": "1"}.items():
        monkeypatch.setenv(name, value)
    with open_("main") as baseline:
        assert baseline
        assert (baseline.commit, baseline.made_at) == (sha, NOW)
    assert not (tmp_path / "sprung").exists()


def test_a_replaced_commit_is_read_as_it_is(work: Path) -> None:
    first = commit(work)
    Path("chat.jsonl").write_text("", "utf-8")
    git("replace", first, commit(work), folder=work)
    with open_(first) as baseline:
        assert baseline
        assert found(baseline) == NAMED


def test_a_path_that_leads_out_of_its_folder_is_refused(work: Path) -> None:
    blob = git("rev-parse", f"{commit(work)}:evals/chat.jsonl", folder=work)

    def tree(mode: str, name: str, inner: str) -> str:
        raw = f"{mode} {name}\0".encode() + bytes.fromhex(inner)
        command = ["git", "hash-object", "-wt", "tree", "--stdin", "--literally"]
        return subprocess.run(command, input=raw, capture_output=True, check=True).stdout.decode().strip()

    evil = git("commit-tree", "-m", "x", tree("40000", "evals", tree("40000", "..", tree("100644", "x.jsonl", blob))))
    options = Settings().replace(synthesis_cases=("**/*.jsonl",))
    said = refusal(open_(evil, options=options), options)
    assert said == "evals/..: is a path that no checkout can have; correct the commit"


def test_a_clone_that_lacks_a_file_is_not_believed(work: Path) -> None:
    commit(work)
    id_ = git("rev-parse", "HEAD:evals/chat.jsonl", folder=work)
    (work / ".git" / "objects" / id_[:2] / id_[2:]).unlink()
    assert f"(the clone: it does not have all files of the commit; {NO_GITHUB}" in refusal(open_("main"))


@pytest.mark.parametrize(
    ("script", "seconds", "words"),
    [
        ('#!/bin/sh\nexec cat "$0.waits"\n', 0.2, "git took more than 0.2 s"),
        ("#!/nowhere\n", 60, "git cannot be run"),
        ("#!/bin/sh\necho fatal: no luck >&2\nexit 1\n", 60, "no luck"),
    ],
)
def test_a_git_that_does_not_work(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, seconds: float, words: str
) -> None:
    os.mkfifo(tmp_path / "git.waits")  # into which nobody writes
    (tmp_path / "git").write_text(script, "utf-8")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr("safe_gate.inputs.commit_files._PATIENCE", seconds)
    assert f"(the clone: {words}; {NO_GITHUB})" in refusal(open_("main"))


def test_a_partial_clone_without_blobs_fetches_nothing(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(work)
    git("config", "uploadpack.allowFilter", "true", folder=work)
    git("clone", "--quiet", "--filter=blob:none", "--no-checkout", f"file://{work}", tmp_path / "partial")
    (tmp_path / "partial" / "evals").mkdir()
    monkeypatch.chdir(tmp_path / "partial" / "evals")
    said = refusal(open_("main"))
    for words in ("(the clone: ", f"; {NO_GITHUB})", "fetch the whole commit into the clone"):
        assert words in said
