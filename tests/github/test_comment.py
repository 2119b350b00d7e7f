"""The one comment of a gate: whose it is, which run may write it, and when it is written at all."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from threading import Semaphore, Thread
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from safe_gate.github import ApiError, Context, Refusal, Subject, WorkflowRun, comment
from safe_gate.github.comment import Draft, Marker, Posted, gate_name, post
from tests.support.cases import Patch
from tests.support.github import BOT, COMMENTS, HEAD, ONE_COMMENT, PULL_REQUEST, REPOSITORY, Answer, Gate, GitHub

KEYS = st.sampled_from(["login", "user", "body", "id", "html_url", "state", "head", "base", "repo", "sha", "number"])
NEWER = "0d1a26e67d8f5eaf1f6ba5c57fc3c7d91ac0fd1c"
SYNCHRONIZED = PULL_REQUEST | {"pull_request": {"number": 2, "head": {"sha": NEWER}}}


def bodies(github: GitHub) -> str:
    return json.dumps(github.comments)


@given(st.text(max_size=120), st.text(max_size=120))
def test_a_marker_holds_any_name_in_one_line_that_can_be_read_back(workflow: str, gate: str) -> None:
    marker = Marker(gate_name(workflow, gate), HEAD, WorkflowRun(7, 2), "0123456789abcdef")
    line = marker.line()
    assert Marker.read(f"{line}\nbody") == marker
    assert re.fullmatch(r"<!-- [!-~ ]+ -->", line)
    assert "--" not in line[4:-3]
    assert len(line) < 500


def test_names_that_differ_make_markers_that_differ() -> None:
    parts = ["a", "a/b", "b", "b/a", "/", "a b", "a%20b", "a%2Fb", "a-b", "é", "x" * 300, "x" * 301, ""]
    names = [(workflow, gate) for workflow in parts for gate in parts]
    assert len({gate_name(*name) for name in names}) == len(names)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)
OBJECTS = st.dictionaries(KEYS, JSON, max_size=6)


class Nonsense:
    """A server that answers anything at all."""

    def __init__(self, objects: list[dict[str, Any]]) -> None:
        self._objects = objects

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Mapping[str, Any]:
        return self._objects[0]

    def raw(self, path: str) -> bytes:
        return json.dumps(self._objects).encode()

    def pages(self, path: str) -> Iterator[Mapping[str, Any]]:
        yield from self._objects


@given(st.lists(OBJECTS, min_size=1, max_size=4))
@settings(suppress_health_check=[HealthCheck.too_slow])  # how fast a busy machine is proves nothing
def test_whatever_a_server_answers_is_a_status_or_a_refusal(objects: list[dict[str, Any]]) -> None:
    marker = Marker("evals/gate", HEAD, WorkflowRun(7, 2), "0123456789abcdef")
    context = Context(repository="o/r", subject=Subject(head_sha=HEAD))
    with suppress(ApiError):
        assert isinstance(comment.pull_request_of(context, Nonsense(objects)), int | None)
        assert post(Nonsense(objects), "o/r", 2, Draft(marker, ["long", "short"], "always", passed=True)).status


def test_every_workflow_job_and_gate_id_has_a_comment_of_its_own(gate: Gate, github: GitHub) -> None:
    """Two workflows may have the same name, but not the same file. An organisation's have files of another repository."""
    refs = (
        f"{REPOSITORY}/*nightly.yml@refs/pull/2/merge",
        f"{REPOSITORY}/*a.yaml@refs/heads/a@b/c.yml@d",
        "o/r/*evals.yml@x",
        *(f"{REPOSITORY}/*a@{name}.yml@refs/heads/a" for name in "bc"),
    )
    files = [ref.replace("*", ".github/workflows/") for ref in refs]
    by_name = {"GITHUB_WORKFLOW_REF": ""}  # as of an older GitHub Enterprise Server
    places = ({"GITHUB_JOB": "other"}, by_name, *({"GITHUB_WORKFLOW_REF": one} for one in files))
    steps = [gate("fail"), *(gate("fail", **place) for place in places)]
    steps += [gate("fail", "--gate-id", id_) for id_ in ("clinical", "leg --> 2", "a/gate")]
    assert {step.status for step in steps} == {"created"}
    assert gate("pass").status == "updated"
    assert ["❌" in body["body"] for body in github.comments] == [False, *[True] * 10]


@pytest.mark.parametrize(("first", "second"), [("fail", "pass"), ("pass", "fail")])
def test_a_gate_does_not_overwrite_another_of_its_run(gate: Gate, github: GitHub, first: str, second: str) -> None:
    gate(first, GITHUB_RUN_ID="100")
    before = bodies(github)
    step = gate(second, GITHUB_RUN_ID="100")
    assert (step.status, step.outputs["comment-url"]) == ("skipped-same-gate", github.comments[0]["html_url"])
    assert bodies(github) == before
    assert "Give each job, matrix leg or step its own gate-id. The verdict does not" in step.warnings[0]
    assert (gate(first, GITHUB_RUN_ID="100").status, github.writes) == ("unchanged", ["POST"])
    # A later attempt may change its mind.
    assert gate(second, GITHUB_RUN_ID="100", GITHUB_RUN_ATTEMPT="2").status == "updated"


@pytest.mark.parametrize(
    ("run", "is_newer"),
    [("99.1", False), ("99.7", False), ("100.1", False), ("100.3", True), ("100.10", True), ("1000.1", True)],
)
def test_only_a_newer_run_overwrites(gate: Gate, github: GitHub, run: str, *, is_newer: bool) -> None:
    id_, attempt = run.split(".")
    gate("fail", GITHUB_RUN_ID="100", GITHUB_RUN_ATTEMPT="2")
    before = bodies(github)
    step = gate("pass", GITHUB_RUN_ID=id_, GITHUB_RUN_ATTEMPT=attempt)
    assert (step.outputs["comment-url"], step.warnings) == (github.comments[0]["html_url"], [])
    if is_newer:
        assert step.status == "updated"
        assert f"run={run} " in github.comments[0]["body"]
    else:
        assert (step.status, bodies(github), github.writes) == ("skipped-outdated", before, ["POST"])


@pytest.mark.parametrize("event", ["push", "workflow_dispatch"])
@pytest.mark.parametrize("verdict", ["pass", "fail"])
def test_at_one_commit_a_pull_requests_run_outranks_those_without_its_base(
    gate: Gate, github: GitHub, event: str, verdict: str
) -> None:
    other: dict[str, Any] = {"event": event, "payload": {"before": "0" * 40, "after": HEAD}, "GITHUB_SHA": HEAD}
    assert gate(verdict, **other, GITHUB_RUN_ID="102").status == "created"
    assert gate("fail", GITHUB_RUN_ID="101").status == ("updated" if verdict == "pass" else "unchanged")
    before = bodies(github)
    assert " run=101.1 " in before
    assert gate("pass", **other, GITHUB_RUN_ID="103").status == "skipped-outdated"
    assert bodies(github) == before
    newer = other | {"payload": {"after": NEWER}, "GITHUB_SHA": NEWER}
    github.head = NEWER
    assert gate("pass", **newer, GITHUB_RUN_ID="104").status == "updated"


@pytest.mark.parametrize(
    ("theirs", "status", "writes"), [("91", "updated", ["PATCH", "PATCH"]), ("93", "skipped-outdated", ["PATCH"])]
)
def test_an_older_run_at_the_same_moment_is_overwritten(
    gate: Gate, github: GitHub, monkeypatch: Patch, theirs: str, status: str, writes: list[str]
) -> None:
    gate("pass", GITHUB_RUN_ID="90")
    body = github.comments[0]["body"].replace(" run=90.1 ", f" run={theirs}.1 ")
    work = GitHub._work

    def overtaken(*request: Any) -> Answer:
        answer = work(*request)
        if github.writes == ["POST", "PATCH"]:  # the other run had read the comment before ours was written
            github.comments[0]["body"] = body
        return answer

    monkeypatch.setattr(GitHub, "_work", overtaken)
    assert gate("fail", GITHUB_RUN_ID="92").status == status
    assert github.writes == ["POST", *writes]
    assert (" run=92.1 " in github.comments[0]["body"]) is (theirs == "91")


@pytest.mark.parametrize(("verdict", "status"), [("fail", "created"), ("pass", "skipped-passed")])
def test_a_deleted_comment_returns(gate: Gate, github: GitHub, monkeypatch: Patch, verdict: str, status: str) -> None:
    gate("fail", "--comment", "on-failure")
    github.comments[0]["body"] = github.comments[0]["body"].replace("❌", "✅")
    answer = GitHub.answer

    def deleted(self: GitHub, method: str, *request: Any) -> Answer:
        if method == "PATCH":
            github.comments.clear()
            return Answer(404, '{"message": "Not Found"}')
        return answer(self, method, *request)

    monkeypatch.setattr(GitHub, "answer", deleted)
    step = gate(verdict, "--comment", "on-failure")
    assert (step.status, step.warnings) == (status, [])
    assert len(github.comments) == (status == "created")


@pytest.mark.parametrize("refused", [False, True])
def test_twins_become_one(gate: Gate, github: GitHub, *, refused: bool) -> None:
    gate("fail")
    github.add("octocat", "a word between")
    for _ in range(2):
        github.add(BOT, github.comments[0]["body"])
    if refused:
        github.faults[("DELETE", ONE_COMMENT)] = Answer(403)
    step = gate("pass", GITHUB_RUN_ID="101")
    assert (step.status, step.outputs["comment-url"]) == ("updated", github.comments[0]["html_url"])
    assert step.warnings == []
    assert github.writes == ["POST", "PATCH", "DELETE", "DELETE"]
    assert [comment["id"] for comment in github.comments] == ([1, 2, 3, 4] if refused else [1, 2])


def test_a_twin_stays_while_it_may_be_the_only_one_with_the_newest_result(gate: Gate, github: GitHub) -> None:
    gate("fail", GITHUB_RUN_ID="109")
    failed = github.comments.pop()
    gate("pass", GITHUB_RUN_ID="105")
    github.add(BOT, failed["body"])
    before = bodies(github)
    github.faults[("PATCH", ONE_COMMENT)] = Answer(403, "", {"Retry-After": "120"})
    assert gate("fail", GITHUB_RUN_ID="110").status == "skipped-rate-limit"
    assert bodies(github) == before
    github.faults.clear()
    assert gate("fail", GITHUB_RUN_ID="111").status == "updated"
    (left,) = github.comments
    assert " run=111.1 " in left["body"]


def test_a_twin_of_a_push_does_not_hide_the_comment_of_a_pull_requests_run(gate: Gate, github: GitHub) -> None:
    gate("fail", GITHUB_RUN_ID="101")
    github.add(BOT, github.comments[0]["body"].replace(" run=101.1 ", " run=102.1 ").replace(" pull -->", " -->"))
    push = {"event": "push", "payload": {"after": HEAD}, "GITHUB_SHA": HEAD}
    assert gate("pass", GITHUB_RUN_ID="103", **push).status == "skipped-outdated"
    assert "❌" in github.comments[0]["body"]


UNCLEAR = Answer(502, "")  # ours may have been created
# The run that created the older comment, what is answered in GitHub's place, what becomes of ours, whose are left, and what was written.
RACES: list[tuple[str, dict[str, Answer], str, list[str], list[str]]] = [
    ("99", {}, "updated", ["100"], ["POST", "PATCH", "DELETE"]),
    ("101", {}, "skipped-outdated", ["101"], ["POST", "DELETE"]),
    ("99", {"POST": UNCLEAR}, "updated", ["100"], ["POST", "PATCH"]),
    ("101", {"POST": UNCLEAR}, "skipped-outdated", ["101"], ["POST"]),
    ("99", {"GET": Answer(403)}, "created", ["99", "100"], ["POST"]),
    ("99", {"PATCH": Answer(403)}, "created", ["99", "100"], ["POST", "PATCH"]),
]


@pytest.mark.parametrize(("theirs", "answers", "status", "left", "writes"), RACES)
def test_of_two_first_runs_the_one_that_created_the_younger_comment_gives_way(
    gate: Gate, github: GitHub, monkeypatch: Patch, theirs: str, answers: Any, status: str, left: Any, writes: Any
) -> None:
    gate("pass", GITHUB_RUN_ID=theirs)
    older = github.comments.pop()
    answer = GitHub.answer

    def overtaken(self: GitHub, method: str, *request: Any) -> Answer:
        if method == "POST":  # their comment is created just before ours
            github.comments.append(older)
        known = method in answers and older in github.comments
        return answers[method] if known else answer(self, method, *request)

    monkeypatch.setattr(GitHub, "answer", overtaken)
    github.requests.clear()
    step = gate("fail", GITHUB_RUN_ID="100")
    assert (step.status, step.outputs["comment-url"]) == (status, github.comments[-1]["html_url"])
    assert (re.findall(r" run=(\d+)\.1 ", bodies(github)), github.writes, step.warnings) == (left, writes, [])


class Racer:
    """A first run in a thread of its own, which waits for its turn before each request to a GitHub that it shares."""

    def __init__(self, run: int, github: GitHub) -> None:
        self._github = github
        self._go, self._paused = Semaphore(0), Semaphore(0)
        marker = Marker("evals/gate", HEAD, WorkflowRun(run, 1), f"{run:016x}")
        self._draft = Draft(marker, ["text"], "always", passed=True)
        self.posted: Posted | None = None
        Thread(target=self._race, daemon=True).start()
        self._paused.acquire()

    def step(self) -> None:
        if self.posted is None:
            self._go.release()
            self._paused.acquire()

    def _race(self) -> None:
        self._wait()
        self.posted = post(self, REPOSITORY, 2, self._draft, BOT)
        self._paused.release()

    def _wait(self) -> None:
        self._paused.release()
        self._go.acquire()

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Mapping[str, Any]:
        self._wait()
        id_ = path.rpartition("/")[2]
        if id_.isdigit() and int(id_) not in {one["id"] for one in self._github.comments}:
            raise ApiError("Not Found", Refusal.NOT_FOUND)
        found: dict[str, Any] = json.loads(self._github.answer(method, path, body or {}).body or "{}")
        return found

    def raw(self, path: str) -> bytes:
        raise NotImplementedError

    def pages(self, path: str) -> Iterator[Mapping[str, Any]]:
        self._wait()
        yield from json.loads(self._github.answer("GET", path, {}).body)


@given(st.permutations([101, 102, 103]), st.integers(2, 3), st.lists(st.integers(0, 2), max_size=30))
def test_however_first_runs_race_one_comment_stays(runs: list[int], count: int, order: list[int]) -> None:
    github = GitHub()
    racers = [Racer(run, github) for run in runs[:count]]
    for turn in order:
        racers[turn % count].step()
    while any(racer.posted is None for racer in racers):
        for racer in racers:
            racer.step()
    assert len(github.comments) == 1


def test_the_same_result_is_written_for_another_commit_and_over_an_edit(gate: Gate, github: GitHub) -> None:
    gate("fail")
    assert gate("fail", payload=SYNCHRONIZED, GITHUB_RUN_ID="101").status == "updated"
    written = github.comments[0]["body"]
    assert f"head={NEWER} run=101.1" in written
    assert f"/blob/{NEWER}/cases.jsonl" in written
    github.comments[0]["body"] = written.replace("❌", "✅")
    assert gate("fail", payload=SYNCHRONIZED, GITHUB_RUN_ID="101").status == "updated"
    assert github.comments[0]["body"] == written


@pytest.mark.parametrize("mode", ["always", "changes"])
def test_a_run_that_changes_nothing_still_outranks_older_ones(gate: Gate, github: GitHub, mode: str) -> None:
    gate("pass", "--comment", mode, GITHUB_RUN_ID="30")
    created, head = github.comments[0]["body"], NEWER if mode == "changes" else HEAD
    payload = SYNCHRONIZED if mode == "changes" else PULL_REQUEST
    assert gate("pass", "--comment", mode, payload=payload, GITHUB_RUN_ID="32").status == "unchanged"
    assert github.comments[0]["body"] == created.replace(f"head={HEAD} run=30.1 ", f"head={head} run=32.1 ")
    assert gate("fail", "--comment", mode, GITHUB_RUN_ID="31").status == "skipped-outdated"
    assert "✅" in github.comments[0]["body"]
    assert gate("fail", "--comment", mode, payload=payload, GITHUB_RUN_ID="33").status == "updated"


def test_a_comment_that_stays_for_another_commit_still_yields_to_a_pull_requests_run(
    gate: Gate, github: GitHub
) -> None:
    push = {"event": "push", "payload": {"after": NEWER}, "GITHUB_SHA": NEWER}
    changes = ("--comment", "changes")
    gate("fail", *changes, GITHUB_RUN_ID="30")
    github.head = NEWER
    assert gate("fail", *changes, payload=SYNCHRONIZED, GITHUB_RUN_ID="31").status == "unchanged"
    assert gate("pass", *changes, GITHUB_RUN_ID="32", **push).status == "skipped-outdated"
    assert "❌" in github.comments[0]["body"]


def test_on_failure_creates_for_a_failure_only_and_keeps_the_comment_up_to_date(gate: Gate, github: GitHub) -> None:
    mode = ("--comment", "on-failure")
    statuses = [gate(verdict, *mode).status for verdict in ("pass", "fail", "fail", "pass", "pass")]
    assert statuses == ["skipped-passed", "created", "unchanged", "updated", "unchanged"]
    assert "### ✅ SAFE Gate" in github.comments[0]["body"]


def test_an_app_gets_a_warning_that_names_the_setting_for_its_account(gate: Gate, github: GitHub) -> None:
    github.writes_as = "my-app[bot]"
    step = gate("fail")
    assert step.status == "created"
    assert "set SAFE_GATE_COMMENT_AUTHOR to my-app[bot]" in step.warnings[0]
    step = gate("pass", SAFE_GATE_COMMENT_AUTHOR="my-app[bot]")
    assert (step.status, step.warnings) == ("updated", [])
    assert ("GET", "/user") not in github.requests[-2:]


def test_a_body_that_github_does_not_take_gets_shorter(gate: Gate, github: GitHub) -> None:
    for longest, status in ((1_500, "created"), (1_499, "updated")):
        gate("pass", "--comment", "never" if status == "created" else "always")
        before, github.longest = len(github.writes), longest
        assert gate("fail").status == status
        assert len(github.writes) > before + 1
        assert "❌ SAFE Gate" in github.comments[0]["body"]
        github.longest = 65_536
    github.comments.clear()
    github.longest = 10
    step = gate("fail")
    assert step.status == "failed"
    assert f"POST {COMMENTS}: HTTP 422 (Validation Failed; body is too long)" in step.warnings[0]
