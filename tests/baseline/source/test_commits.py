"""A commit as the baseline, out of a clone and from a GitHub in memory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from safe_gate.inputs import disk
from safe_gate.scoring import measure, sides
from safe_gate.settings import Settings
from tests.support.baselines import NAMED, OPTIONS, Open, found, measured, open_, refusal
from tests.support.cases import SAFE, SYNTHESIS, turn, write_cases
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
    words = "is a symbolic link, which is not followed at a commit; correct the pattern that leads to it"
    assert f"{os.path.relpath(link.absolute(), work)}: {words}" in refusal(source(work)("main")).split("\n")


def test_a_link_that_no_pattern_leads_to_does_not_matter(source: Source, work: Path) -> None:
    for name in ("link.jsonl", "clinical/notes", "../other"):
        Path(name).symlink_to("/etc")
    with source(work)("main") as baseline:
        assert baseline
        assert found(baseline) == NAMED


def test_a_wildcard_leaves_out_hidden_folders_as_on_disk(source: Source, work: Path) -> None:
    Path(".cache").mkdir()
    Path(".cache/link.jsonl").symlink_to("/etc/hosts")
    write_cases(Path(".cache/cases.jsonl"), turn("hidden"))
    options = cases_of("**/*.jsonl")
    with source(work)("main", options=options) as baseline:
        assert baseline
        assert ".cache" not in " ".join(found(baseline, options))


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


def test_more_than_2_gb_is_refused_unread(source: Source, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("safe_gate.inputs.commit_files.MOST_BYTES", 100)
    assert "is too large: at most 100 bytes of a commit are read; narrow the patterns" in refusal(source(work)("main"))


@pytest.mark.parametrize("pattern", ["/etc/*.json", "../../x.jsonl"])
def test_a_pattern_that_leads_out_is_refused(source: Source, work: Path, pattern: str) -> None:
    options = cases_of(pattern)
    said = refusal(source(work)("main", options=options), options)
    assert "leads out of the repository, so no commit has it; write it relative to the working folder" in said


def test_an_invalid_ref_is_not_looked_up(source: Source, work: Path, github: GitHub) -> None:
    open_it = source(work)
    for ref in ("--upload-pack=x", "-h", "", "a\0b", "a\nb"):
        said = refusal(open_it(ref))
        assert "is neither a .json file nor a git ref; expected a report of safe-gate run" in said
    assert github.requests == []
