"""The image as the runner runs it, and the whole workflow in `act`: skipped where the tools are missing."""

import json
import os
import re
import shlex
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
import yaml

from tests.support.cases import REPOSITORY, turn, write_cases, write_json
from tests.support.github import FAILS, HEAD, PULL_REQUEST, TOKEN, GitHub, outputs
from tests.support.github import REPOSITORY as FULL_NAME

pytestmark = pytest.mark.soak

BUILD_TIME = 900  # seconds
IMAGE = "safe-gate-under-test"
BASE_IMAGE: str = re.findall("^FROM (\\S+) AS base$", (REPOSITORY / "Dockerfile").read_text("utf-8"), re.MULTILINE)[0]
BY_TAG = BASE_IMAGE.partition("@")[0]
"""The base image without its digest, which an engine that reaches no registry cannot look up."""
EVENT = PULL_REQUEST | {"repository": {"full_name": FULL_NAME, "default_branch": "main"}}


def call(*command: str, timeout: float = 60, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False, **more)  # type: ignore[call-overload, no-any-return]


@cache
def engine() -> str:
    """Return a container engine that works and has the base image, if need be under its tag alone; or skip."""
    for name in ("docker", "podman"):
        if shutil.which(name) and call(name, "info").returncode == 0:
            if base(name):
                return name
            pytest.skip(f"{name} has no {BY_TAG} and cannot pull it")
    pytest.skip("neither docker nor podman works here")


@cache
def base(name: str) -> str:
    """Return the base image as an engine knows it, "" if it does not."""
    if call(name, "image", "inspect", BY_TAG).returncode == 0:
        return BY_TAG
    return BASE_IMAGE if call(name, "pull", "--quiet", BASE_IMAGE, timeout=300).returncode == 0 else ""


@cache
def image() -> str:
    """Build the action's image from what git tracks or would track; return its name."""
    recipe = (REPOSITORY / "Dockerfile").read_text("utf-8").replace(BASE_IMAGE, base(engine()))
    options = ("--quiet", "--tag", IMAGE, "--build-arg", "VERSION=1.2.3", "--file", "-")
    built = call(engine(), "build", *options, str(REPOSITORY), timeout=BUILD_TIME, input=recipe)
    assert built.returncode == 0, built.stderr
    return IMAGE


@pytest.mark.parametrize("options", [[], ["--read-only", "--cap-drop=all", "--security-opt=no-new-privileges"]])
def test_the_image_runs_as_the_runner_runs_it(tmp_path: Path, github: GitHub, options: list[str]) -> None:
    """With the runner's mounts, work folder and variables; an input that is left out is an empty one."""
    workspace, files = tmp_path / "workspace", tmp_path / "files"
    places = {workspace: "/github/workspace"}
    places |= {files / name: f"/github/{name}" for name in ("home", "workflow", "file_commands")}
    for folder in places:
        folder.mkdir(parents=True)
    write_cases(workspace / "cases.jsonl", turn("a", **FAILS))
    (workspace / "requests.py").write_text("raise SystemExit('the workspace is on sys.path')", "utf-8")
    write_json(files / "workflow/event.json", EVENT)
    inputs = dict.fromkeys(yaml.safe_load((REPOSITORY / "action.yml").read_text("utf-8"))["inputs"], "")
    inputs |= {"synthesis-cases": "cases.jsonl", "github-token": TOKEN, "max-unexpected-failures": "0"}
    variables = {
        "HOME": "/github/home",
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": github.url,
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_REPOSITORY": FULL_NAME,
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": "/github/workflow/event.json",
        "GITHUB_WORKFLOW": "evals",
        "GITHUB_JOB": "gate",
        "GITHUB_WORKSPACE": "/github/workspace",
        "GITHUB_OUTPUT": "/github/file_commands/output",
        "GITHUB_STEP_SUMMARY": "/github/file_commands/summary",
        **{f"INPUT_{name.upper()}": value for name, value in inputs.items()},
    }
    ran = call(
        engine(),
        *("run", "--rm", "--network", "host", "--workdir", "/github/workspace", *options),
        *(word for name, value in variables.items() for word in ("-e", f"{name}={value}")),
        *(word for path, place in places.items() for word in ("-v", f"{path}:{place}")),
        image(),
        timeout=120,
    )
    assert ran.returncode == 1, ran.stderr
    written = outputs((files / "file_commands/output").read_text("utf-8"))
    assert (written["verdict"], written["comment-status"]) == ("fail", "created")
    assert (files / "file_commands/summary").read_text("utf-8").startswith("### ❌ SAFE Gate")
    assert f"/blob/{HEAD}/cases.jsonl#L1" in github.comments[0]["body"]
    assert (workspace / written["report-json"]).is_file()
    assert TOKEN not in ran.stdout + ran.stderr


def test_the_image_runs_without_rights_or_network_as_any_user(tmp_path: Path) -> None:
    """The command of docs/other-ci.md."""
    limits = ("--read-only", "--cap-drop", "all", "--network", "none", "--user", "12345", "--tmpfs", "/tmp")
    reports = tmp_path / "reports"
    reports.mkdir()
    reports.chmod(0o777)
    mounts = ("-v", f"{REPOSITORY}/examples:/github/workspace:ro", "-v", f"{reports}:/reports")
    command = ("run", "--synthesis-cases", "empathy.jsonl", "--report-dir", "/reports")
    ran = call(engine(), "run", "--rm", *limits, *mounts, "-w", "/github/workspace", image(), *command, timeout=120)
    assert (ran.returncode, (reports / "safe-gate.json").is_file()) == (0, True), ran.stderr


def test_the_image_is_labelled_and_has_no_installer() -> None:
    labels = json.loads(call(engine(), "image", "inspect", image()).stdout)[0]["Config"]["Labels"]
    assert labels["org.opencontainers.image.version"] == "1.2.3"
    code = "import importlib.util as u; print([n for n in ('pip', 'ensurepip', 'idlelib') if u.find_spec(n)])"
    ran = call(engine(), "run", "--rm", "--entrypoint", "/opt/safe-gate/bin/python", image(), "-I", "-c", code)
    assert ran.stdout == "[]\n", ran.stderr


def test_all_that_the_image_imports_is_there_as_bytecode() -> None:
    python = ("run", "--rm", "--entrypoint", "/opt/safe-gate/bin/python", image())
    ran = call(engine(), *python, "-I", "-v", "-m", "safe_gate", "doctor", timeout=120)
    loaded = re.findall("^# code object from '?(.+?)'?$", ran.stderr, re.MULTILINE)
    assert loaded, ran.stderr
    assert [path for path in loaded if not path.endswith(".pyc")] == []


def act(payload: Path, *options: str) -> None:
    """Run jobs of the repository, which succeed; TESTS_ACT names another command that takes REPOSITORY EVENT PAYLOAD."""
    write_json(payload, EVENT)
    own = shlex.split(os.environ.get("TESTS_ACT", ""))
    if own:
        command = [*own, str(REPOSITORY), "pull_request", str(payload)]
    elif shutil.which("act"):
        engine()
        command = ["act", "pull_request", "--eventpath", str(payload), "--directory", str(REPOSITORY)]
    else:
        pytest.skip("act is not here, and TESTS_ACT names no command")
    ran = call(*command, *options, "--secret", f"GITHUB_TOKEN={TOKEN}", timeout=BUILD_TIME)
    assert ran.returncode == 0, ran.stdout[-5_000:] + ran.stderr[-5_000:]


def test_the_whole_workflow_runs_in_act(tmp_path: Path, github: GitHub) -> None:
    act(tmp_path / "event.json", "--job", "gate", "--env", f"GITHUB_API_URL={github.url}")
    (comment,) = github.comments
    assert "### ✅ SAFE Gate" in comment["body"]


def test_the_action_without_docker_runs_in_act(tmp_path: Path) -> None:
    stubs = REPOSITORY / "tests/data/github/act"
    used = re.findall(r"uses: (actions/(\S+)@\S+)", (REPOSITORY / "composite/action.yml").read_text("utf-8"))
    local = [word for action, name in used for word in ("--local-repository", f"{action}={stubs / name}")]
    act(tmp_path / "event.json", "--job", "composite", "--matrix", "runner:ubuntu-24.04", *local)
