"""What a run is compared to: reports, and commits out of real clones and from a GitHub in memory."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from safe_gate.baseline.source import Baseline, opened, patterns_of
from safe_gate.core.model import CannotJudge
from safe_gate.core.report import Report
from safe_gate.github import Api
from safe_gate.github.client import Client
from safe_gate.github.event import Context, Subject
from safe_gate.inputs import expansion
from safe_gate.inputs.commit_files import Kind, Pattern, Selection
from safe_gate.inputs.disk import HERE
from safe_gate.inputs.git import Clone
from safe_gate.scoring import measure
from safe_gate.settings.options import Options
from tests.support.cases import SAFE, SYNTHESIS, Ran, safe_case, turn, write_batch, write_cases
from tests.support.git import NOW, commit, git
from tests.support.github import BASE, CONTENTS, REPOSITORY, TOKEN, Answer, GitHub, ok

OPTIONS = Options(
    safe_batch=("*_batch_*",),
    safe_test_dir="clinical",
    synthesis_cases=("chat.jsonl", "../shared/**/*.jsonl"),
    github_token=TOKEN,
)
Open = Callable[..., AbstractContextManager[Baseline | None]]


def blob(id_: str, folder: Path) -> bytes:
    return subprocess.run(["git", "cat-file", "blob", id_], cwd=folder, check=True, capture_output=True).stdout


def no_api() -> Api:
    raise AssertionError("GitHub was asked")


def context(event: str = "", base: str = "", **facts: Any) -> Context:
    return Context(in_actions=bool(event), event=event, subject=Subject(base_sha=base), **facts)


def open_(
    spec: str,
    connect: Callable[[], Api] = no_api,
    where: Context = Context(),  # noqa: B008 - it is frozen
    options: Options = OPTIONS,
    folder: str = "evals",
) -> AbstractContextManager[Baseline | None]:
    patterns, is_required = patterns_of(options), options.baseline_required
    return opened(spec, patterns, where, connect, options.github_token, is_required=is_required, folder=folder)


def refusal(baseline: AbstractContextManager[Baseline | None]) -> str:
    with pytest.raises(CannotJudge) as error, baseline:
        pass
    return "\n".join(f"{problem.place.path}: {problem.message}" for problem in error.value.problems)


@pytest.fixture(autouse=True)
def _nothing_is_left_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    yield
    assert list(temporary.iterdir()) == []


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
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
def from_github(github: GitHub, monkeypatch: pytest.MonkeyPatch, waits: list[float]) -> Callable[[Path], Open]:
    """Give a repository's last commit to GitHub and leave nothing of it here but what lies in the working folder."""

    def give(top: Path) -> Open:
        sha = git("rev-parse", "HEAD", folder=top)
        tree: dict[str, bytes | Kind] = {}
        for line in git("-c", "core.quotePath=off", "ls-tree", "-rz", sha, folder=top).rstrip("\0").split("\0"):
            facts, _, path = line.partition("\t")
            kind = {"120000": Kind.LINK, "160000": Kind.SUBMODULE}.get(facts.split()[0])
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


@pytest.fixture(params=["clone", "github"])
def source(request: pytest.FixtureRequest, from_github: Callable[[Path], Open]) -> Callable[[Path], Open]:
    """Return a function that commits a repository's files and gives how to open them, from the one or the other."""

    def commit_and_open(top: Path) -> Open:
        if git("status", "--porcelain", folder=top):
            commit(top)
        return open_ if request.param == "clone" else from_github(top)

    return commit_and_open


def found(root: Path) -> list[str]:
    top = root.parent
    return sorted(path.relative_to(top).as_posix() for path in top.rglob("*") if path.is_file())


NAMED = [
    "evals/chat.jsonl",
    "evals/clinical/I25_batch_1.json",
    "evals/clinical/I25_batch_1.outputs.jsonl",
    "shared/deep/ü b.jsonl",
]


# --- commits, from both --------------------------------------------------------------------------


def test_a_commit_is_read_as_it_was_and_gone_afterwards(source: Callable[[Path], Open], work: Path) -> None:
    sha = commit(work)
    before = measure.part(SYNTHESIS, OPTIONS, NOW), measure.part(SAFE, OPTIONS, NOW)
    open_it = source(work)
    for path in (Path("chat.jsonl"), Path("clinical/I25_batch_1.json")):
        path.write_text("changed since", "utf-8")
    Path("../shared/deep/ü b.jsonl").unlink()
    with open_it("main") as baseline:
        assert baseline
        assert (baseline.name, baseline.report) == ("main", None)
        assert (baseline.commit, baseline.made_at) == (sha, NOW)
        assert found(baseline.root) == NAMED
        assert measure.part(SYNTHESIS, OPTIONS, NOW, root=baseline.root) == before[0]
        assert measure.part(SAFE, OPTIONS, NOW, root=baseline.root) == before[1]
        kept = baseline.root
    assert not kept.exists()


def test_the_folder_is_gone_after_an_error_too(source: Callable[[Path], Open], work: Path) -> None:
    with pytest.raises(ZeroDivisionError), source(work)("main"):
        raise ZeroDivisionError


def test_a_commit_may_have_none_of_the_files(source: Callable[[Path], Open], work: Path) -> None:
    for path in NAMED:
        (work / path).unlink()
    with source(work)("main") as baseline:
        assert baseline
        assert (baseline.root.is_dir(), found(baseline.root)) == (True, [])
        (problem,) = expansion.expand(["chat.jsonl"], root=baseline.root)[1]
        assert problem.message.startswith("matches no file")


LINKS = [
    "chat.jsonl",
    "clinical",
    "../shared",
    "../shared/deep/link",
    "../shared/link.jsonl",
    "clinical/I25_batch_2.json",
]


@pytest.mark.parametrize("name", LINKS)
def test_a_link_that_a_pattern_leads_to_is_an_error(source: Callable[[Path], Open], work: Path, name: str) -> None:
    link = Path(name)
    if link.exists():
        link.rename(Path("elsewhere"))
    link.symlink_to(Path("elsewhere").absolute())
    said = refusal(source(work)("main"))
    path = os.path.relpath(link.absolute(), work)
    assert said.startswith(f"{path}: is a symbolic link at commit ")
    assert said.endswith(", which is not followed; correct the pattern that leads to it")


def test_a_link_that_no_pattern_leads_to_does_not_matter(source: Callable[[Path], Open], work: Path) -> None:
    for name in ("link.jsonl", "clinical/notes", "../other"):
        Path(name).symlink_to("/etc")
    with source(work)("main") as baseline:
        assert baseline
        assert found(baseline.root) == NAMED


def test_a_submodule_in_the_way_is_an_error(source: Callable[[Path], Open], work: Path) -> None:
    shutil.rmtree("clinical")
    commit(work)
    git("update-index", "--add", "--cacheinfo", f"160000,{BASE},evals/clinical", folder=work)
    git("commit", "--quiet", "--message=x", folder=work)
    Path("clinical").mkdir()
    git("reset", "--quiet", "--hard", folder=work)
    said = refusal(source(work)("main"))
    assert said.startswith("evals/clinical: is a submodule at commit ")


ODD = ["a\nb.jsonl", "-rf.jsonl", "☃ '\"$(x).jsonl", "%2e%2e.jsonl", "a?b#c.jsonl", "b\\c.jsonl", "[x].jsonl"]


@pytest.mark.parametrize("name", ODD)
def test_odd_names_are_names(source: Callable[[Path], Open], work: Path, name: str) -> None:
    write_cases(Path(name), turn("odd"))
    options = Options(synthesis_cases=(name,), github_token=TOKEN)
    with source(work)("main", options=options) as baseline:
        assert baseline
        assert found(baseline.root) == [f"evals/{name}"]
        assert measure.part(SYNTHESIS, options, NOW, root=baseline.root).part


def test_lines_and_bytes_are_those_of_the_commit(source: Callable[[Path], Open], work: Path) -> None:
    data = b'\xef\xbb\xbf{"a": 1}\r\n\n\xff\x00'
    Path("chat.jsonl").write_bytes(data)
    (work / ".gitattributes").write_text("*.jsonl text eol=crlf export-ignore\n* export-subst\n", "utf-8")
    git("config", "core.autocrlf", "false", folder=work)
    (work / ".git" / "info" / "attributes").write_text("* -text", "utf-8")
    with source(work)("main") as baseline:
        assert baseline
        assert (baseline.root / "chat.jsonl").read_bytes() == data


def test_what_git_lfs_keeps_is_said_to_be(source: Callable[[Path], Open], work: Path) -> None:
    Path("chat.jsonl").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "utf-8")
    assert "evals/chat.jsonl: is stored in Git LFS" in refusal(source(work)("main"))


def test_more_than_2_gb_is_refused_before_it_is_read(
    source: Callable[[Path], Open], work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("safe_gate.baseline.source._MOST_BYTES", 100)
    assert "bytes of files that the patterns name; expected at most 100" in refusal(source(work)("main"))


@pytest.mark.parametrize("pattern", ["/etc/*.json", "../../x.jsonl"])
def test_a_pattern_that_leads_out_is_refused(source: Callable[[Path], Open], work: Path, pattern: str) -> None:
    options = Options(synthesis_cases=(pattern,), github_token=TOKEN)
    said = refusal(source(work)("main", options=options))
    assert said.startswith(f"{pattern}: cannot be read at a commit")


NO_REFS = ["--upload-pack=x", "-h", "", "a\0b", "a\nb"]


@pytest.mark.parametrize("ref", NO_REFS)
def test_what_cannot_be_a_ref_is_asked_of_nobody(
    source: Callable[[Path], Open], work: Path, github: GitHub, ref: str
) -> None:
    open_it = source(work)
    assert "is not a .json file and cannot be a git ref; expected a report of safe-gate run" in refusal(open_it(ref))
    assert github.requests == []


@pytest.mark.parametrize("name", ["safe-gate.json", "old/report.json"])
def test_a_missing_report_is_no_baseline_yet_where_none_is_required(
    source: Callable[[Path], Open], work: Path, name: str
) -> None:
    open_it = source(work)
    with open_it(name, options=replace(OPTIONS, baseline_required=False)) as found:
        assert found is None
    assert f"{name}: does not exist" in refusal(open_it(name))


# --- the clone -----------------------------------------------------------------------------------


def test_files_below_a_folder_that_no_pattern_leads_into_are_not_looked_at(work: Path) -> None:
    class Selected(Selection):
        def has(self, path: str) -> bool:
            assert path.startswith("evals/")
            return super().has(path)

    found = Clone().entries(commit(work), Selected.of([Pattern("*.jsonl")], "evals"))
    assert [entry.path for entry in found] == ["evals/chat.jsonl", "evals/unasked.jsonl"]


def test_a_ref_is_a_branch_a_tag_an_id_or_what_git_makes_of_it(work: Path) -> None:
    first = commit(work)
    git("tag", "--annotate", "--message=x", "v1", folder=work)
    Path("chat.jsonl").unlink()
    second = commit(work)
    for ref, sha in {"v1": first, "HEAD~1": first, first[:10]: first, "main": second, "@": second}.items():
        with open_(ref) as baseline:
            assert baseline
            assert (baseline.name, baseline.commit) == (ref, sha)


@pytest.mark.parametrize("branch", ["refs/heads/trunk", "refs/remotes/origin/trunk"])
def test_a_tag_by_the_name_of_a_branch_is_not_taken_for_it(work: Path, branch: str) -> None:
    first = commit(work)
    git("update-ref", branch, first, folder=work)
    git("tag", "--annotate", "--message=x", "trunk", folder=work)
    for ref in ("trunk", branch):
        with open_(ref) as baseline:
            assert baseline
            assert baseline.commit == first
    commit(work)
    git("commit", "--quiet", "--allow-empty", "--message=y", folder=work)
    git("tag", "--force", "trunk", folder=work)
    both = ", ".join(sorted((branch, "refs/tags/trunk")))
    words = f"is a tag and a branch at different commits ({both}); write out which of them is meant"
    for ref in ("trunk", "trunk~1", "trunk^"):
        assert refusal(open_(ref)) == f"{ref}: {words}"
    for ref in (branch, branch.removeprefix("refs/")):
        with open_(ref) as baseline:
            assert baseline
            assert baseline.commit == first


def test_a_ref_that_the_clone_does_not_have(work: Path) -> None:
    commit(work)
    for ref in ("nowhere", BASE, "main:evals", "evals", "x" * 5_000):
        assert refusal(open_(ref)) == (
            f"{ref}: is not a .json file and cannot be read as a commit (the clone: it does not have the commit;"
            " GitHub: this is not a job of GitHub Actions); where git is installed, bring the commit into the clone"
            " (actions/checkout with fetch-depth: 0, or git fetch), or correct the name"
        )


def test_no_repository_and_no_git(monkeypatch: pytest.MonkeyPatch) -> None:
    options = Options(synthesis_cases=("c.jsonl",))
    assert "the clone: not a git repository" in refusal(open_("main", options=options, folder=""))
    monkeypatch.setenv("PATH", "/nowhere")
    assert "the clone: git is not installed; GitHub: this is not a job" in refusal(
        open_("main", options=options, folder="")
    )


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
            assert (baseline.commit, found(baseline.root)) == (sha, NAMED)


def test_nothing_that_a_user_or_a_repository_configures_is_run(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sha = commit(work)
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\necho {{}} >> {tmp_path}/sprung\n", "utf-8")
    trap.chmod(0o755)
    for name in ("core.fsmonitor", "core.pager", "pager.show", "gpg.program", "core.sshCommand", "core.askPass"):
        git("config", name, str(trap), folder=work)
    git("config", "log.showSignature", "true", folder=work)
    git("config", "alias.show", f"!{trap}", folder=work)
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[core\nbroken", "utf-8")
    for name, value in {"HOME": str(home), "GIT_DIR": "/nowhere", "GIT_PAGER": str(trap), "GIT_TRACE": "1"}.items():
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
        assert (baseline.root / "chat.jsonl").stat().st_size > 0


@pytest.mark.parametrize("seconds", ["99999999999999", "0"])
def test_a_commit_may_claim_any_time(work: Path, seconds: str) -> None:
    tree = git("rev-parse", f"{commit(work)}^{{tree}}", folder=work)
    raw = f"tree {tree}\nauthor x <x> 0 +0000\ncommitter x <x> {seconds} +0000\n\nx\n"
    made = subprocess.run(
        ["git", "hash-object", "-wt", "commit", "--stdin", "--literally"],
        input=raw,
        text=True,
        capture_output=True,
        check=True,
    )
    with open_(made.stdout.strip()) as baseline:
        assert baseline
        assert baseline.made_at == {"0": "1970-01-01T00:00:00Z"}.get(seconds, "")


def test_a_path_that_leads_out_of_its_folder_is_not_written(work: Path) -> None:
    blob = git("rev-parse", f"{commit(work)}:evals/chat.jsonl", folder=work)

    def tree(mode: str, name: str, inner: str) -> str:
        raw = f"{mode} {name}\0".encode() + bytes.fromhex(inner)
        command = ["git", "hash-object", "-wt", "tree", "--stdin", "--literally"]
        return subprocess.run(command, input=raw, capture_output=True, check=True).stdout.decode().strip()

    evil = git("commit-tree", "-m", "x", tree("40000", "evals", tree("40000", "..", tree("100644", "x.jsonl", blob))))
    options = Options(synthesis_cases=("**/*.jsonl",))
    assert refusal(open_(evil, options=options)) == (
        "evals/../x.jsonl: cannot be put into a folder: it leads out of it; correct the commit"
    )


def test_a_name_that_is_too_long_is_one_sentence(work: Path) -> None:
    blob_id = git("rev-parse", f"{commit(work)}:evals/chat.jsonl", folder=work)
    raw = f"100644 {'x' * 300}.jsonl\0".encode() + bytes.fromhex(blob_id)
    command = ["git", "hash-object", "-wt", "tree", "--stdin", "--literally"]
    tree = subprocess.run(command, input=raw, capture_output=True, check=True).stdout.decode().strip()
    long = git("commit-tree", "-m", "x", tree)
    said = refusal(open_(long, options=Options(synthesis_cases=("../*.jsonl",))))
    assert said.endswith(".jsonl: cannot be put into a folder: File name too long")


def test_a_clone_that_lacks_a_file_is_not_believed(work: Path) -> None:
    commit(work)
    id_ = git("rev-parse", "HEAD:evals/chat.jsonl", folder=work)
    (work / ".git" / "objects" / id_[:2] / id_[2:]).unlink()
    assert "(the clone: it does not have all files of the commit; GitHub: this is not a job" in refusal(open_("main"))


GITS = [
    ("#!/bin/sh\nexec sleep 60\n", "git took more than 0.2 s"),
    ("#!/nowhere\n", "git cannot be run"),
    ("#!/bin/sh\necho fatal: no luck >&2\nexit 1\n", "no luck"),
]


@pytest.mark.parametrize(("script", "words"), GITS)
def test_a_git_that_does_not_work(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, words: str
) -> None:
    (tmp_path / "git").write_text(script, "utf-8")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr("safe_gate.inputs.git._PATIENCE", 0.2)
    assert f"(the clone: {words}; GitHub: this is not a job of GitHub Actions)" in refusal(open_("main"))


def test_a_partial_clone_without_the_blobs_fetches_nothing(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(work)
    git("config", "uploadpack.allowFilter", "true", folder=work)
    git("clone", "--quiet", "--filter=blob:none", "--no-checkout", f"file://{work}", tmp_path / "partial")
    (tmp_path / "partial" / "evals").mkdir()
    monkeypatch.chdir(tmp_path / "partial" / "evals")
    said = refusal(open_("main"))
    assert "(the clone: " in said
    assert "; GitHub: this is not a job of GitHub Actions)" in said


# --- GitHub --------------------------------------------------------------------------------------


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
    github.trees[base] = {"evals/chat.jsonl": b"{}\n", "evals/new.txt": b"x", "docs/x.jsonl": b"x"}
    where = context("pull_request", base, repository=REPOSITORY)
    with open_("base", lambda: Client(github.url, TOKEN, say=print, seconds=60), where) as baseline:
        assert baseline
        assert (baseline.name, baseline.commit, baseline.made_at) == ("base", base, NOW)
        assert found(baseline.root) == ["evals/chat.jsonl"]
    assert [path for _, path in github.requests] == [
        f"/repos/{REPOSITORY}/commits/{base}?per_page=1",
        f"{CONTENTS}?ref={base}",
        f"{CONTENTS}/evals?ref={base}",
        f"{CONTENTS}/evals%2Fchat.jsonl?ref={base}",
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
    github.refs |= {"heads/main": sha, "tags/main": sha}
    for ref in ("main", "heads/main", sha):
        with open_it(ref) as baseline:
            assert baseline
            assert baseline.commit == sha
    for one in ("heads/main", "tags/main"):
        github.refs |= {"heads/main": sha, "tags/main": sha, one: "1" * 40}
        words = "is a tag and a branch at different commits (heads/main, tags/main); write out which of them is meant"
        assert refusal(open_it("main")) == f"main: {words}"
    asked = [path for _, path in github.requests if "tags" in path]
    assert len(asked) == 3  # for a name that could be either, no other


@pytest.mark.parametrize("ref", ["HEAD", "HEAD~1", "@", "main~2", "main^", "@{u}", ":/x", "main..x"])
def test_what_only_a_clone_can_tell_is_not_asked_of_github(
    from_github: Callable[[Path], Open], work: Path, github: GitHub, ref: str
) -> None:
    commit(work)
    assert "GitHub: only a clone can resolve it" in refusal(from_github(work)(ref))
    assert github.requests == []


REFUSALS = [
    (Answer(401, '{"message": "Bad credentials"}'), "the token is wrong or has expired: correct github-token"),
    (Answer(403, '{"message": "Resource not accessible"}'), "the token needs contents: read"),
    (Answer(404, '{"message": "Not Found"}'), "or the token does not see it: that needs contents: read"),
    (Answer(500, ""), "HTTP 500"),
    (Answer(200, "<html>"), "the answer is not GitHub's"),
    (Answer(403, "{}", {"Retry-After": "999"}), "and waiting did not help or would take too long"),
]


@pytest.mark.parametrize(("answer", "words"), REFUSALS)
@pytest.mark.parametrize("path", [f"/repos/{REPOSITORY}/commits/main", CONTENTS, f"{CONTENTS}/evals%2Fchat.jsonl"])
def test_a_refusal_is_an_error_that_says_what_to_do(
    from_github: Callable[[Path], Open], work: Path, github: GitHub, path: str, answer: Answer, words: str
) -> None:
    commit(work)
    github.faults[("GET", path)] = Answer(answer.status, answer.body, answer.headers)
    said = refusal(from_github(work)("main"))
    if answer.body == "<html>" and path.endswith(".jsonl"):
        words = "it returned other bytes for evals/chat.jsonl than the commit's"
    assert words in said
    assert "actions/checkout with fetch-depth: 0" in said


@pytest.mark.parametrize("entry", [{}, *({"name": name} for name in ("..", "a/b", "", 1, "a\0", "\ud800"))])
def test_a_list_that_is_not_githubs(
    from_github: Callable[[Path], Open], work: Path, github: GitHub, entry: dict[str, Any]
) -> None:
    commit(work)
    github.faults[("GET", f"{CONTENTS}/evals")] = ok([entry])
    assert "the answer is not GitHub's" in refusal(from_github(work)("main"))


def test_an_answer_that_names_no_commit(from_github: Callable[[Path], Open], work: Path, github: GitHub) -> None:
    commit(work)
    github.faults[("GET", f"/repos/{REPOSITORY}/commits/main")] = ok({"sha": "../x", "commit": None})
    assert "the answer names no commit" in refusal(from_github(work)("main"))


def test_a_list_that_may_be_cut_is_an_error(from_github: Callable[[Path], Open], work: Path, github: GitHub) -> None:
    sha = commit(work)
    open_it = from_github(work)
    github.trees[sha] |= {f"evals/clinical/{number:04}.txt": b"" for number in range(998)}
    assert "evals/clinical may have more" in refusal(open_it("main"))
    del github.trees[sha]["evals/clinical/0000.txt"]
    with open_it("main") as baseline:
        assert baseline


def test_a_file_too_large_for_github_and_too_many_requests(
    from_github: Callable[[Path], Open], work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(work)
    open_it = from_github(work)
    with monkeypatch.context() as patched:
        patched.setattr("safe_gate.github.contents._LARGEST_FILE", 10)
        assert "is larger than the 10 bytes that it returns" in refusal(open_it("main"))
    monkeypatch.setattr("safe_gate.github.contents._MOST_REQUESTS", 5)
    assert "it would be asked over 5 times" in refusal(open_it("main"))


@pytest.mark.parametrize("pattern", ["app/c.jsonl", "app/*.jsonl", "**/c.jsonl", "app/missing_batch_1"])
def test_a_commit_is_not_asked_for_the_paths_of_a_checkout_below_the_working_folder(
    github: GitHub, pattern: str
) -> None:
    github.refs, github.trees = {BASE: BASE}, {BASE: {"c.jsonl": b""}}
    Path("app/.git").mkdir(parents=True)
    Path("app/c.jsonl").touch()
    where = context("pull_request", BASE, repository=REPOSITORY)
    options = Options(synthesis_cases=(pattern, f"{'x' * 300}/c.jsonl"), github_token=TOKEN)
    said = refusal(open_("base", where=where, options=options, folder=""))
    assert said.startswith("app: is a checkout, but the working folder is in none")
    assert github.requests == []


def test_a_folder_above_the_working_folder_that_may_not_be_searched_is_no_checkout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def locked(folder: Path) -> Path | None:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr("safe_gate.github.repository.root", locked)
    assert "main: is not a .json file and cannot be read as a commit" in refusal(open_("main"))


def test_without_a_token_it_is_not_asked(work: Path) -> None:
    commit(work)
    where = context("pull_request", BASE, repository=REPOSITORY)
    said = refusal(open_("base", where=where, options=Options(synthesis_cases=("c.jsonl",))))
    assert said == (
        f"base: is commit {BASE}, which cannot be read (the clone: it does not have the commit;"
        " GitHub: there is no token: set github-token, which needs contents: read); where git is installed, bring the"
        " commit into the clone (actions/checkout with fetch-depth: 0, or git fetch)"
    )


# --- base, the working folder --------------------------------------------------------------------


@pytest.mark.parametrize("event", ["pull_request", "pull_request_target", "merge_group", "push", "workflow_run"])
def test_base_is_the_base_commit_of_the_event(work: Path, event: str) -> None:
    sha = commit(work)
    Path("chat.jsonl").unlink()
    commit(work)
    with open_("base", where=context(event, sha)) as baseline:
        assert baseline
        assert (baseline.name, baseline.commit) == ("base", sha)


@pytest.mark.parametrize("event", ["push", "schedule", "workflow_dispatch"])
def test_an_event_without_a_base_commit_has_no_baseline_yet(work: Path, event: str) -> None:
    with open_("base", where=context(event)) as baseline:
        assert baseline is None


def test_a_base_that_must_be_there_and_is_not_known_is_an_error(work: Path) -> None:
    for where in (context("pull_request"), context("merge_group"), context("push", broken_event_file="/x")):
        said = refusal(open_("base", where=where))
        assert f"base: is the base commit of the event {where.event}, whose file does not name it" in said
        assert said.endswith("name a ref, such as main")  # GitHub, which the action asks, knows no origin/main
    assert "base: is the base commit of a GitHub event, and this is not a job" in refusal(open_("base"))


def test_the_working_folder_is_read_where_it_is(work: Path) -> None:
    with open_(".") as baseline:
        assert baseline == Baseline(".", "", "", None, HERE)
    sha = commit(work)
    with open_(".") as baseline:
        assert baseline == Baseline(".", sha, NOW, None, HERE)


# --- reports -------------------------------------------------------------------------------------


@pytest.fixture
def report(safe_gate: Callable[..., Ran], work: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    safe_gate("run", "--cases", "chat.jsonl")
    return Path("reports/safe-gate.json")


def test_a_report_is_a_baseline(report: Path) -> None:
    with open_(str(report)) as baseline:
        assert baseline == Baseline(
            "reports/safe-gate.json",
            "",
            "1970-01-01T00:00:00Z",
            Report.from_json(json.loads(report.read_text("utf-8"))),
        )


def test_a_report_without_a_verdict_holds_nothing_to_compare(safe_gate: Callable[..., Ran], report: Path) -> None:
    assert safe_gate("run", "--cases", "nowhere.jsonl").code == 3
    assert refusal(open_(str(report))) == (
        "reports/safe-gate.json: has no verdict, because its run could not judge: there is nothing to compare or"
        " approve; name a report with a verdict"
    )


def test_a_report_that_does_not_fit_its_schema_is_refused_with_every_problem(report: Path) -> None:
    report.write_text(json.dumps(json.loads(report.read_text("utf-8")) | {"verdict": "maybe", "rules": 1}), "utf-8")
    assert len(refusal(open_(str(report))).split("\n")) == 2


def test_other_files_are_said_to_be_no_report(safe_gate: Callable[..., Ran], work: Path) -> None:
    safe_gate("eval", "--cases", "chat.jsonl", "--out", "synthesis.json")
    Path("publication.json").write_text('{"publication": 1}', "utf-8")
    Path("pack.json").write_text('{"pack": "x"}', "utf-8")
    words = {
        "synthesis.json": "is not a report of safe-gate run",
        "publication.json": "is what a run leaves for `publish`",
        "pack.json": "is a rule pack",
        "chat.jsonl": "is a file of Synthesis cases",
        "clinical/I25_batch_1.json": "is a SAFE v0 batch",
        "clinical/I25_batch_1.outputs.jsonl": "is a file of recorded outputs",
    }
    for name, expected in words.items():
        assert refusal(open_(name)).startswith(f"{name}: {expected}")
    Path("broken.json").write_text("{", "utf-8")
    assert refusal(open_("broken.json")).startswith("broken.json: is not valid JSON")


def test_the_patterns_of_a_run_are_all_that_it_reads() -> None:
    options = Options(
        safe_batch=("a", "/b"), safe_test_dir="t", safe_outputs=("o",), synthesis_cases=("c",), rules=("r",), config="k"
    )
    others = map(Pattern, ("o", "c", "r", "k", "safe-gate.waivers.json"))
    assert patterns_of(options) == (Pattern("t/a", is_batch=True), Pattern("/b", is_batch=True), *others)
    defaults = ("safe.config.json", "safe-gate.config.json", "safe-gate.waivers.json")
    assert patterns_of(Options()) == tuple(map(Pattern, defaults))
