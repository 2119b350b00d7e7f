"""A commit as the baseline, out of a clone and from a GitHub in memory."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from safe_gate.baseline.source import Baseline
from safe_gate.inputs import disk
from safe_gate.scoring import measure, sides
from safe_gate.settings import Settings
from tests.support.baselines import NAMED, OPTIONS, Open, found, measured, open_, refusal
from tests.support.cases import SAFE, SYNTHESIS, Patch, turn, write_cases
from tests.support.git import NOW, commit, git
from tests.support.github import BASE, TOKEN, GitHub

Source = Callable[[Path], Open]


@pytest.fixture(params=["clone", "github"])
def source(request: pytest.FixtureRequest, from_github: Source) -> Source:
    """Return a function that commits a repository's files and gives how to open them, from the one or the other."""

    def commit_and_open(top: Path) -> Open:
        if git("status", "--porcelain", folder=top):
            commit(top)
        return open_ if request.param == "clone" else from_github(top)

    return commit_and_open


def cases_of(*patterns: str) -> Settings:
    return Settings().replace(synthesis_cases=patterns, github_token=TOKEN)


def read(opened: AbstractContextManager[Baseline | None], options: Settings = OPTIONS) -> list[str]:
    """Return the files that are read of a baseline."""
    with opened as baseline:
        assert baseline
        return found(baseline, options)


def test_a_commit_is_read_as_it_was_and_gone_afterwards(source: Source, work: Path) -> None:
    sha = commit(work)
    before = [measure.measure_part(one, sides.take_snapshot(OPTIONS), NOW) for one in (SAFE, SYNTHESIS)]
    open_it = source(work)
    for path in (Path("chat.jsonl"), Path("clinical/I25_batch_1.json")):
        path.write_text("changed since", "utf-8")
    Path("../shared/deep/ü b.jsonl").unlink()
    with open_it("main") as baseline:
        assert baseline
        assert (baseline.name, baseline.report, baseline.commit, baseline.made_at) == ("main", None, sha, NOW)
        assert found(baseline) == NAMED
        assert measured(baseline) == before


def test_a_commit_may_have_none_of_the_files(source: Source, work: Path) -> None:
    for path in NAMED:
        Path(path).unlink()
    said = refusal(source(work)("main"), OPTIONS.replace(safe_batch=())).split("\n")
    assert [one.partition(" file")[0] for one in said] == ["chat.jsonl: matches no", "../shared/**/*.jsonl: matches no"]


@pytest.mark.parametrize("name", ["chat.jsonl", "clinical", "../shared", "../shared/deep/link", "../shared/link.jsonl"])
def test_a_link_that_a_pattern_leads_to_is_an_error(source: Source, work: Path, name: str) -> None:
    link = Path(name)
    if link.exists():
        link.rename(Path("elsewhere"))
    link.symlink_to(Path("elsewhere").absolute())
    begin = f"{os.path.relpath(link.absolute(), work)}: is a symbolic link, which is not followed at commit "
    end = "; name a report as the baseline, or remove it from that branch, or let no pattern lead to it"
    said = refusal(source(work)("main")).split("\n")
    assert any(re.fullmatch(f"{re.escape(begin)}[0-9a-f]{{7}}{end}", one) for one in said)


def test_a_link_that_no_pattern_leads_to_does_not_matter(source: Source, work: Path) -> None:
    for name in ("link.jsonl", "clinical/notes", "../other"):
        Path(name).symlink_to("/etc")
    assert read(source(work)("main")) == NAMED


def test_a_submodule_in_the_way_is_an_error(source: Source, work: Path) -> None:
    shutil.rmtree("clinical")
    commit(work)
    git("update-index", "--add", "--cacheinfo", f"160000,{BASE},evals/clinical", folder=work)
    git("commit", "--quiet", "--message=x", folder=work)
    Path("clinical").mkdir()
    git("reset", "--quiet", "--hard", folder=work)
    assert "evals/clinical: is a submodule, which is not followed" in refusal(source(work)("main"))


ODD = ("a\nb.jsonl", "-rf.jsonl", "☃ '\"$(x).jsonl", "%2e%2e.jsonl", "a?b#c.jsonl", "b\\c.jsonl", "[x].jsonl")


def test_odd_names_are_names(source: Source, work: Path) -> None:
    for name in ODD:
        write_cases(Path(name), turn(name))
    open_it = source(work)
    for name in ODD:
        options = cases_of(name)
        with open_it("main", options=options) as baseline:
            assert baseline
            assert found(baseline, options) == [name]
            assert measured(baseline, options)[0].part


def test_lines_and_bytes_are_those_of_the_commit(source: Source, work: Path) -> None:
    data = b'\xef\xbb\xbf{"a": 1}\r\n\n\xff\x00'
    Path("chat.jsonl").write_bytes(data)
    (work / ".gitattributes").write_text("*.jsonl text eol=crlf export-ignore\n* export-subst\n", "utf-8")
    git("config", "core.autocrlf", "false", folder=work)
    (work / ".git" / "info" / "attributes").write_text("* -text", "utf-8")
    with source(work)("main") as baseline:
        assert baseline
        assert disk.read_bytes(baseline.root / "chat.jsonl", "", 100) == data


def test_a_file_stored_in_git_lfs_is_refused_as_such(source: Source, work: Path) -> None:
    Path("chat.jsonl").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "utf-8")
    assert "evals/chat.jsonl: is stored in Git LFS" in refusal(source(work)("main"))


def test_more_than_2_gb_is_refused_unread(source: Source, work: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr("safe_gate.inputs.commit_files.MOST_BYTES", 100)
    assert "is too large: at most 100 bytes of a commit are read; narrow the patterns" in refusal(source(work)("main"))


def test_an_invalid_ref_is_not_looked_up(source: Source, work: Path, github: GitHub) -> None:
    open_it = source(work)
    for ref in ("--upload-pack=x", "-h", "", "a\0b", "a\nb"):
        said = refusal(open_it(ref))
        assert "is neither a .json file nor a git ref; expected a report of safe-gate run" in said
    assert github.requests == []


# --- a clone alone -------------------------------------------------------------------------------

NO_GITHUB = "GitHub: this is not a GitHub Actions job"


def commits(*refs: str) -> list[str]:
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


def test_a_worktree_a_subfolder_and_another_owner(work: Path, tmp_path: Path, monkeypatch: Patch) -> None:
    sha = commit(work)
    git("worktree", "add", "--quiet", "--detach", tmp_path / "tree", folder=work)
    if os.geteuid() == 0:
        for path in (work, *work.rglob("*")):
            os.lchown(path, 12345, 12345)
    for folder in ("tree/evals", "repository/evals"):
        monkeypatch.chdir(tmp_path / folder)
        assert (commits("main"), read(open_("main"))) == ([sha], NAMED)


def test_nothing_in_anyones_configuration_is_run(work: Path, tmp_path: Path, monkeypatch: Patch) -> None:
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
    assert read(open_(first)) == NAMED


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
def test_a_broken_git(work: Path, tmp_path: Path, monkeypatch: Patch, script: str, seconds: float, words: str) -> None:
    os.mkfifo(tmp_path / "git.waits")  # into which nobody writes
    (tmp_path / "git").write_text(script, "utf-8")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr("safe_gate.inputs.commit_files._PATIENCE", seconds)
    assert f"(the clone: {words}; {NO_GITHUB})" in refusal(open_("main"))


def test_a_partial_clone_without_blobs_fetches_nothing(work: Path, tmp_path: Path, monkeypatch: Patch) -> None:
    commit(work)
    git("config", "uploadpack.allowFilter", "true", folder=work)
    git("clone", "--quiet", "--filter=blob:none", "--no-checkout", f"file://{work}", tmp_path / "partial")
    (tmp_path / "partial" / "evals").mkdir()
    monkeypatch.chdir(tmp_path / "partial" / "evals")
    said = refusal(open_("main"))
    assert re.search(rf"\(the clone: .*; {NO_GITHUB}\).* fetch the whole commit into the clone", said)
