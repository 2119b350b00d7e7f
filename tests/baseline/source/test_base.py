"""The base commit of the event, also where a pull request is checked out as GitHub merges it; reports as baselines."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.baselines import blob, context, open_, refusal
from tests.support.cases import Patch, SafeGate, refused, report, turn, write_cases
from tests.support.git import commit, git
from tests.support.github import HEAD, GitHub, InActions
from tests.support.weakening import pull_request


@pytest.mark.parametrize("event", ["pull_request", "pull_request_target", "merge_group", "push", "workflow_run"])
def test_base_is_the_base_commit_of_the_event(work: Path, event: str) -> None:
    sha = commit(work)
    Path("chat.jsonl").unlink()
    commit(work)
    with open_("base", where=context(event, sha)) as baseline:
        assert baseline
        assert (baseline.name, baseline.commit) == ("base", sha)


def test_a_base_that_must_be_there_and_is_not_known_is_an_error(work: Path) -> None:
    for where in (context("pull_request"), context("merge_group")):
        said = refusal(open_("base", where=where))
        assert f"base: is the base commit of the event {where.event}, but the event file does not name it" in said
        assert said.endswith("name a ref, such as main")  # GitHub, which the action asks, knows no origin/main
    assert "base: is the base commit of a GitHub event, but this is not a GitHub Actions job" in refusal(open_("base"))


# --- a merge by GitHub -------------------------------------------------------------------------

RUN = ("run", "--cases", "c.jsonl", "--baseline", "base", "--on-weakened", "fail")


class Pull(NamedTuple):
    """A pull request: the event's older base, what main is by now, its head, and GitHub's merge of the last two."""

    named: str
    main: str
    head: str
    merge: str

    @property
    def payload(self) -> dict[str, Any]:
        payload = pull_request(self.named)
        payload["pull_request"]["head"]["sha"] = self.head
        return payload


@pytest.fixture
def pull(tmp_path: Path, monkeypatch: Patch, github: GitHub) -> Pull:
    """Make a change that adds a README, while main drops a case and adds another; check out their merge.

    GitHub has the merge and both of its candidates for a base.
    """
    origin = tmp_path / "origin"
    origin.mkdir()
    monkeypatch.chdir(origin)
    git("init", "--quiet")
    write_cases(Path("c.jsonl"), turn("a"), turn("b"))
    named = commit()
    git("checkout", "--quiet", "-b", "change")
    Path("README.md").write_text("# Read me\n", "utf-8")
    head = commit()
    git("checkout", "--quiet", "main")
    write_cases(Path("c.jsonl"), turn("a"), turn("c"))
    main = commit()
    git("checkout", "--quiet", "--detach")
    git("merge", "--quiet", "--no-ff", "--message=merge", head)
    pull = Pull(named, main, head, git("rev-parse", "HEAD"))
    github.refs |= {one: one for one in pull}
    github.parents[pull.merge] = (main, head)
    github.trees |= {one: {"c.jsonl": blob(git("rev-parse", f"{one}:c.jsonl"), Path())} for one in (named, main)}
    return pull


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: Patch) -> Callable[..., None]:
    """Return a function that clones a commit as actions/checkout does, without a branch, and works in the clone."""

    def clone(ref: str, *options: str) -> None:
        git("config", "uploadpack.allowAnySHA1InWant", "true")
        git("config", "uploadpack.allowFilter", "true")
        folder = tmp_path / "checkout"
        git("init", "--quiet", folder)
        git("remote", "add", "origin", f"file://{Path.cwd()}", folder=folder)
        git("fetch", "--quiet", *(one for one in options if one != "no git"), "origin", ref, folder=folder)
        git("checkout", "--quiet", "--detach", ref, folder=folder)
        monkeypatch.chdir(folder)
        if "no git" in options:
            monkeypatch.setenv("PATH", str(tmp_path / "empty"))

    return clone


@pytest.mark.parametrize("options", [(), ("--depth=2",), ("--depth=1",), ("--filter=blob:none",), ("no git",)])
def test_a_change_is_compared_with_what_it_is_merged_into(
    options: Any, safe_gate: SafeGate, pull: Pull, clone: Callable[..., None], in_actions: InActions, github: GitHub
) -> None:
    clone(pull.merge, *options)
    in_actions(payload=pull.payload, GITHUB_SHA=pull.merge)
    ran = safe_gate(*RUN)
    assert ran.code == 0, ran.log
    found, why = report(), "first parent of the merge commit"
    assert found["provenance"]["base"] == {"commit": pull.main, "why": why}
    assert (found["comparison"]["baseline"]["commit"], found["comparison"]["baseline"]["why"]) == (pull.main, why)
    assert found["weakened"]["against"]["commit"] == pull.main
    for text in (ran.out, github.comments[-1]["body"]):
        assert f"the base commit, {why}" in text
    assert safe_gate("verify", "reports/safe-gate.json").code == 0


def test_the_base_that_judges_is_the_same(safe_gate: SafeGate, pull: Pull, in_actions: InActions) -> None:
    in_actions(payload=pull.payload, GITHUB_SHA=pull.merge)
    assert safe_gate("run", "--cases", "c.jsonl", "--policy-ref", "base").code == 0
    assert report()["provenance"]["policy_commit"] == pull.main


@pytest.mark.parametrize("event", ["pull_request", "pull_request_target", "workflow_run", "merge_group"])
def test_a_merge_not_by_github_sets_no_base(event: str, safe_gate: SafeGate, pull: Pull, in_actions: InActions) -> None:
    """The author of the change made it, so its first parent would be the author's choice."""
    git("checkout", "--quiet", "change")
    write_cases(Path("c.jsonl"), turn("a"))
    weaker = commit()
    crafted = git("commit-tree", "-m", "x", "-p", weaker, "-p", pull.head, f"{weaker}^{{tree}}")
    git("checkout", "--quiet", "--detach", crafted)
    run = {"head_sha": pull.head, "event": "pull_request", "pull_requests": [pull.payload["pull_request"]]}
    group = {"head_sha": pull.head, "base_sha": pull.named}
    payload = pull.payload | {"workflow_run": run, "merge_group": group}
    in_actions(event, payload, GITHUB_SHA=pull.merge if event == "pull_request" else crafted)
    assert safe_gate(*RUN).code == 1  # a case of the base is gone
    assert report()["provenance"]["base"] == {"commit": pull.named, "why": f"named by the event {event}"}


@pytest.mark.parametrize("wrong", ["head", "three parents", "one parent", "no HEAD"])
def test_a_commit_that_is_no_merge_of_the_events_head_leaves_the_events_base(
    wrong: str, safe_gate: SafeGate, pull: Pull, in_actions: InActions
) -> None:
    payload, sha = pull.payload, pull.merge
    if wrong == "head":
        payload["pull_request"]["head"]["sha"] = HEAD
    elif wrong.endswith(("parents", "parent")):
        parents = {"t": (pull.main, pull.head, pull.named), "o": (pull.main,)}[wrong[0]]
        flags = [word for parent in parents for word in ("-p", parent)]
        sha = git("commit-tree", "-m", "x", *flags, f"{pull.merge}^{{tree}}")
        git("checkout", "--quiet", "--detach", sha)
    else:
        git("checkout", "--quiet", "--detach", pull.head)
    in_actions(payload=payload, GITHUB_SHA=sha)
    safe_gate(*RUN)
    assert report()["provenance"]["base"]["commit"] == pull.named


FETCH = "fetch the whole commit into the clone (actions/checkout with fetch-depth: 0 and no filter"


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        (("--depth=1",), FETCH),
        (("--filter=blob:none",), FETCH),
        (("no git",), "base: depends on the parents of commit "),
        (("no git",), "set github-token, which needs contents: read); otherwise install git (org/safe-gate/composite"),
    ],
)
def test_where_the_base_is_missing_there_is_advice(
    options: Any, advice: str, safe_gate: SafeGate, pull: Pull, clone: Callable[..., None], in_actions: InActions
) -> None:
    write_cases(Path("c.jsonl"), turn("a"), turn("c"), turn("d"))
    git("add", "--all")
    changed = git("commit-tree", "-m", "x", "-p", pull.main, "-p", pull.head, git("write-tree"))
    clone(changed, *options)
    in_actions(payload=pull.payload, GITHUB_SHA=changed, **{"INPUT_GITHUB-TOKEN": ""})
    refused(safe_gate(*RUN), advice)


def test_outside_github_actions_the_advice_names_no_action(
    safe_gate: SafeGate, pull: Pull, clone: Callable[..., None]
) -> None:
    clone(pull.merge, "no git")
    refused(safe_gate("compare", "main", "."), "this is not a GitHub Actions job); install git, or correct the name")
