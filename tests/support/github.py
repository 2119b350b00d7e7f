"""A GitHub in memory behind HTTP, held to the API's description, and the gate as a step of a workflow against it."""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path, PurePosixPath
from select import select
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from openapi_core import OpenAPI
from openapi_core.exceptions import OpenAPIError
from openapi_core.templating.paths.exceptions import PathNotFound
from openapi_core.testing import MockRequest

from safe_gate.inputs.commit_files import EntryKind
from tests.support.cases import Ran, SafeGate, turn, write_cases
from tests.support.drips import QuietHandler, serving

DESCRIPTION = Path(__file__).parent.parent / "data" / "github" / "openapi.json"
BOT = "github-actions[bot]"
TOKEN = "ghs_16C7e42F292c6912E7710c838347Ae178B4a"
PERSONAL = {"INPUT_GITHUB-TOKEN": "ghp_16C7e42F292c6912E7710c838347Ae178B4a"}  # a token that may ask whose it is
REPOSITORY = "Codertocat/Hello-World"
COMMENTS = f"/repos/{REPOSITORY}/issues/2/comments"
ONE_COMMENT = rf"/repos/{REPOSITORY}/issues/comments/\d+"
HEAD = "ec26c3e57ca3a959ca5aad62de7213c562f8c821"
BASE = "f95f852bd8fca8fcc58a9a2d6c842781e32a215e"
_SIDES = {side: {"sha": sha, "repo": {"full_name": REPOSITORY}} for side, sha in (("head", HEAD), ("base", BASE))}
_PULL = {"number": 2, "merge_commit_sha": "c4295bd74fb0f4fda03689c3df3f2803b658fd85"} | _SIDES
PULL_REQUEST = {"action": "opened", "number": 2, "pull_request": _PULL}
FAILS = {"assistant": "You should get over it. I know exactly how you feel."}
TREES = f"/repos/{REPOSITORY}/git/trees"
BLOBS = f"/repos/{REPOSITORY}/git/blobs"
ALL_PATHS = 500  # at least, of GitHub's whole description; one of fewer was cut down to some of them


@cache
def descriptions() -> tuple[tuple[OpenAPI, bool], ...]:
    """Return what every request is held to: our description of the operations in use, and GitHub's own if it is there.

    GitHub's document is 12 MB and in no Python package; TESTS_OPENAPI names a file of it. Beside each stands whether
    it must have every operation: one that was cut down says nothing of those it lacks.
    """
    files = [DESCRIPTION, *(Path(name) for name in (os.environ.get("TESTS_OPENAPI", ""),) if name)]
    documents = [json.loads(file.read_text("utf-8")) for file in files]
    return tuple((OpenAPI.from_dict(one), one is documents[0] or len(one["paths"]) >= ALL_PATHS) for one in documents)


@cache
def faults(method: str, target: str, data: bytes) -> Sequence[str]:
    """Return how a request breaks the description of GitHub's API."""
    url, method = urlsplit(target), method.lower()
    request = MockRequest("https://api.github.com", method, url.path, args=dict(parse_qsl(url.query)), data=data)
    found = []
    for api, is_whole in descriptions():
        try:
            api.validate_request(request)
        except OpenAPIError as error:
            if not is_whole and isinstance(error, PathNotFound):
                continue
            found.append(f"{method} {target}: {error!r}: {error.__cause__!r}")
    return found


@dataclass
class Answer:
    """What GitHub says instead of doing its work; `lost` does the work and cuts the connection, `cut` sends half.

    `pause` are the seconds after every byte, for a test of an answer that is slow.
    """

    status: int = 200
    body: str = '{"message": "Sorry. Your account was suspended"}'
    headers: Mapping[str, str] = field(default_factory=dict)
    times: int = 1_000
    lost: bool = False
    cut: bool = False
    pause: float = 0


def ok(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(status, json.dumps(value), headers or {})


def says(status: int, message: str) -> Answer:
    return Answer(status, json.dumps({"message": message}))


@dataclass
class GitHub:
    """A GitHub with one pull request: its comments, who asked for what, and the answers that replace its own."""

    url: str = ""
    login: str = ""  # of the token; a workflow's own token may not ask for it
    writes_as: str = BOT  # where the token may not ask
    page_size: int = 100
    longest: int = 65_536  # characters of a comment
    head: str = HEAD
    label: str = "Codertocat:changes"
    state: str = "open"
    next_id: int = 1
    comments: list[dict[str, Any]] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    breaches: list[str] = field(default_factory=list)  # of the description of the API
    faults: dict[tuple[str, str], Answer] = field(default_factory=dict)  # by method and a pattern of the path
    refs: dict[str, str] = field(default_factory=dict)  # the commits that branches and ids name
    trees: dict[str, dict[str, bytes | EntryKind]] = field(default_factory=dict)  # the files of commits
    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of commits
    made_at: str = "2026-01-02T03:04:05Z"  # every commit
    accept: str = ""  # of the last request

    def add(self, login: str, body: str) -> dict[str, Any]:
        id_, self.next_id = self.next_id, self.next_id + 1
        url = f"https://github.com/{REPOSITORY}/pull/2#issuecomment-{id_}"
        self.comments.append({"id": id_, "user": {"login": login}, "body": body, "html_url": url})
        return self.comments[-1]

    @property
    def writes(self) -> list[str]:
        return [method for method, _ in self.requests if method != "GET"]

    @property
    def pull(self) -> dict[str, Any]:
        head = {"sha": self.head, "label": self.label}
        return {"number": 2, "state": self.state, "head": head, "base": _SIDES["base"]}

    def answer(self, method: str, target: str, body: dict[str, Any]) -> Answer:
        path = urlsplit(target).path
        for (wanted, pattern), fault in self.faults.items():
            if wanted == method and re.fullmatch(pattern, path) and fault.times:
                fault.times -= 1
                if fault.lost:
                    self._work(method, path, target, body)
                return fault
        return self._work(method, path, target, body)

    def _work(self, method: str, path: str, target: str, body: dict[str, Any]) -> Answer:
        query = dict(parse_qsl(urlsplit(target).query))
        if len(body.get("body", "")) > self.longest:
            error = {"code": "unprocessable", "message": "body is too long"}
            return ok({"message": "Validation Failed", "errors": [error]}, 422)
        match method, *path.removeprefix(f"/repos/{REPOSITORY}/").split("/"):
            case "GET", "", "user":
                return ok({"login": self.login}) if self.login else says(403, "Resource not accessible")
            case "GET", "issues", "2", "comments":
                return self._page(query)
            case "POST", "issues", "2", "comments":
                return ok(self.add(self.login or self.writes_as, body["body"]), 201)
            case "PATCH", "issues", "comments", id_:
                comment = next(comment for comment in self.comments if comment["id"] == int(id_))
                comment |= body
                return ok(comment)
            case "DELETE", "issues", "comments", id_:
                self.comments = [comment for comment in self.comments if comment["id"] != int(id_)]
                return Answer(204, "")
            case "GET", "pulls":
                return ok([self.pull] if (query["head"], query["state"]) == (self.label, self.state) else [])
            case "GET", "commits", sha, "pulls":
                return ok([self.pull] if sha == self.head else [])
            case "GET", "commits", ref:
                if not (sha := self.refs.get(unquote(ref), "")):
                    return says(422, f"No commit found for SHA: {ref}")
                parents = [{"sha": one} for one in self.parents.get(sha, ())]
                return ok({"sha": sha, "commit": {"committer": {"date": self.made_at}}, "parents": parents})
            case "GET", "git", "trees", id_ if id_ in self.trees:
                return ok({"tree": _listed(self.trees[id_]), "truncated": False})
            case "GET", "git", "blobs", id_ if self.accept == "application/vnd.github.raw+json":
                files = (one for tree in self.trees.values() for one in tree.values() if isinstance(one, bytes))
                data = next((one for one in files if blob_id(one) == id_), None)
                return NOT_FOUND if data is None else Answer(200, data.decode("utf-8", "surrogateescape"))
        return NOT_FOUND

    def _page(self, query: Mapping[str, str]) -> Answer:
        size = min(int(query.get("per_page", "30")), self.page_size)
        page = int(query.get("page", "1"))
        more = page * size < len(self.comments)
        following = f'<{self.url}{COMMENTS}?per_page={size}&page={page + 1}>; rel="next"'
        return ok(self.comments[(page - 1) * size : page * size], headers={"Link": following} if more else {})


NOT_FOUND = says(404, "Not Found")


def blob_id(data: bytes) -> str:
    """Return the id that git gives to a file."""
    return hashlib.sha1(b"blob %d\0%b" % (len(data), data)).hexdigest()


def _listed(tree: Mapping[str, bytes | EntryKind]) -> list[dict[str, Any]]:
    """Return a tree as GitHub lists it, its folders among its files."""
    modes = {EntryKind.LINK: ("120000", "blob"), EntryKind.SUBMODULE: ("160000", "commit")}
    folders = {folder.as_posix() for path in tree for folder in PurePosixPath(path).parents} - {"."}
    found: dict[str, dict[str, Any]] = {path: {"mode": "040000", "type": "tree", "sha": "0" * 40} for path in folders}
    for path, data in tree.items():
        if isinstance(data, EntryKind):
            mode, type_ = modes[data]
            found[path] = {"mode": mode, "type": type_, "sha": "0" * 40}
        else:
            found[path] = {"mode": "100644", "type": "blob", "size": len(data), "sha": blob_id(data)}
    return [{"path": path} | found[path] for path in sorted(found)]


def handler(github: GitHub) -> type[QuietHandler]:
    class Handler(QuietHandler):
        def _answer(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            github.requests.append((self.command, self.path))
            github.tokens.add(self.headers.get("Authorization", ""))
            target = self.path.removeprefix("/api/v3").removeprefix("/_moved")
            github.breaches += faults(self.command, target, data)
            github.accept = self.headers.get("Accept", "")
            answer = github.answer(self.command, target, json.loads(data or b"{}"))
            if answer.lost:
                return
            body = answer.body.encode("utf-8", "surrogateescape")
            self.send_response_only(answer.status)
            length = {"Content-Length": str(len(body) + (100 if answer.cut else 0))}
            for name, value in ({"Content-Type": "application/json"} | length | dict(answer.headers)).items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):  # nobody has to listen to the end
                while body and answer.pause:
                    self.wfile.write(body[:1])
                    body = body[1:]
                    select([self.connection], (), (), answer.pause)  # or until the client hangs up
                self.wfile.write(body)

        do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = _answer  # noqa: N815 - the names are http.server's

    return Handler


@pytest.fixture
def start() -> Iterator[Callable[[GitHub], GitHub]]:
    """Start a GitHub; it stops when the test ends, and nobody may have asked what GitHub does not know."""
    running: list[GitHub] = []
    with ExitStack() as servers:

        def run(github: GitHub) -> GitHub:
            github.url = servers.enter_context(serving(handler(github)))
            running.append(github)
            return github

        yield run
    assert [breach for github in running for breach in github.breaches] == []


@pytest.fixture
def github(start: Callable[[GitHub], GitHub]) -> GitHub:
    return start(GitHub())


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the seconds that the client waits for, without waiting."""
    seconds: list[float] = []
    monkeypatch.setattr("time.sleep", seconds.append)
    return seconds


@dataclass(frozen=True)
class Step:
    """What a step of a workflow left behind."""

    ran: Ran
    outputs: Mapping[str, str]
    summary: str
    report: Mapping[str, Any]

    @property
    def status(self) -> str:
        return self.outputs["comment-status"]

    @property
    def warnings(self) -> list[str]:
        return [line for line in self.ran.log.split("\n") if line.startswith("::warning")]


Gate = Callable[..., Step]
InActions = Callable[..., None]
Start = Callable[[GitHub], GitHub]


@pytest.fixture
def in_actions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, github: GitHub) -> Callable[..., None]:
    """Set a runner's variables for a step: its event, its files, its run."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NETRC", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)

    def set_up(event: str = "pull_request", payload: Any = PULL_REQUEST, **changed: str) -> None:
        event_file = tmp_path / "event.json"
        for file in ("output", "summary"):
            (tmp_path / file).write_bytes(b"")
        if payload is not None:
            event_file.write_bytes(payload if isinstance(payload, bytes) else json.dumps(payload).encode())
        environ = {"ACTIONS": "true", "API_URL": github.url, "SERVER_URL": "https://github.com"}
        environ |= {"REPOSITORY": REPOSITORY, "SHA": "0" * 40, "EVENT_NAME": event, "EVENT_PATH": str(event_file)}
        environ |= {"OUTPUT": str(tmp_path / "output"), "STEP_SUMMARY": str(tmp_path / "summary")}
        environ |= {"WORKFLOW_REF": f"{REPOSITORY}/.github/workflows/evals.yml@refs/pull/2/merge"}
        environ |= {"WORKFLOW": "evals", "JOB": "gate", "RUN_ID": "100", "RUN_ATTEMPT": "1"}
        of_runner = {f"GITHUB_{name}": value for name, value in environ.items()}
        for name, value in (of_runner | {"INPUT_GITHUB-TOKEN": TOKEN} | changed).items():
            monkeypatch.setenv(name, value)

    return set_up


@pytest.fixture
def gate(safe_gate: SafeGate, in_actions: InActions, tmp_path: Path, github: GitHub, waits: list[float]) -> Gate:
    """Run the gate as a step of a pull request's workflow, each in a later run; a verdict is asked for by its name."""
    runs = count(100)

    def run(
        verdict: str = "pass", *arguments: str, event: str = "pull_request", payload: Any = PULL_REQUEST, **changed: str
    ) -> Step:
        in_actions(event, payload, **({"GITHUB_RUN_ID": str(next(runs))} | changed))
        cases = write_cases(tmp_path / "cases.jsonl", turn("a", **({} if verdict == "pass" else FAILS)))
        ran = safe_gate("run", "--cases", cases.name, *arguments)
        report = Path("reports/safe-gate.json").read_text("utf-8")
        written = (tmp_path / "output").read_text("utf-8", "replace")
        summary = (tmp_path / "summary").read_text("utf-8")
        step = Step(ran, outputs(written), summary, json.loads(report))
        left = "".join(file.read_text("utf-8") for file in Path("reports").iterdir())
        for token in (TOKEN, *PERSONAL.values()):
            assert token not in ran.log + written + summary + left + json.dumps(github.comments)
        # Whatever becomes of publishing, the verdict is the cases'.
        assert (ran.code, step.report["verdict"]) == ({"pass": 0, "fail": 1}[verdict], verdict)
        assert step.outputs.get("verdict", verdict) == verdict
        assert f"Gate: {verdict.upper()}" in ran.out
        return step

    return run


def outputs(text: str) -> dict[str, str]:
    """Return the step outputs as the runner reads them: heredocs, each under its own delimiter, and `name=value`."""
    heredoc = re.compile(r"^([a-z-]+)<<(\S+)\n(.*?)\n?^\2\n", re.MULTILINE | re.DOTALL)
    found = heredoc.findall(text)
    assert len({delimiter for _, delimiter, _ in found}) == len(found)
    others = (line.split("=", 1) for line in heredoc.sub("", text).split("\n") if line)
    return {name: value for name, _, value in found} | dict(others)
