"""`safe-gate init` writes files that pass as they are, and never touches what is there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.support import actionlint
from tests.support.cases import SafeGate, report
from tests.support.git import git

SAMPLES = {
    "evals/README.md",
    "evals/clinical_batch_1.json",
    "evals/clinical_batch_1.outputs.jsonl",
    "evals/record.py",
    "evals/replies.jsonl",
    "evals/schemas/config.schema.json",
    "reports/.gitignore",
    "safe-gate.config.json",
}
GITHUB = {".github/workflows/safe-gate.yml"}
GITLAB = {".gitlab-ci.yml", ".gitlab/safe-gate.yml"}


def tree() -> dict[str, bytes]:
    """Return the files of the working folder, without git's own: their bytes by path."""
    found = (file for file in Path().rglob("*") if file.is_file() and file.parts[0] != ".git")
    return {file.as_posix(): file.read_bytes() for file in found}


def written(out: str, verb: str = "Written") -> set[str]:
    """Return the files that a command says it wrote."""
    return {line.split()[-1] for line in out.splitlines() if line.startswith(f"{verb}: ")}


def remote(address: str) -> None:
    git("init", "--quiet")
    git("remote", "add", "origin", address)


def test_an_empty_folder_gets_the_samples_and_no_workflow(safe_gate: SafeGate) -> None:
    ran = safe_gate("init")
    assert ran.code == 0
    assert "Detected: neither GitHub nor GitLab\n" in ran.out
    assert (
        "No workflow for CI: add the git remote on GitHub or GitLab, or create the folder .github, and run" in ran.out
    )
    assert set(tree()) == SAMPLES
    assert written(ran.out) == SAMPLES


def test_a_run_without_cases_names_it(safe_gate: SafeGate) -> None:
    for command in (("run",), ("doctor",), ("explain", "a")):
        ran = safe_gate(*command)
        assert ran.code == 3
        assert "; safe-gate init adds samples and a config file that names them\n" in ran.err


def test_what_it_writes_passes_validate_doctor_and_run(safe_gate: SafeGate) -> None:
    safe_gate("init")
    cases = ("evals/clinical_batch_1.json", "evals/clinical_batch_1.outputs.jsonl", "evals/replies.jsonl")
    assert safe_gate("validate", *cases, "safe-gate.config.json").code == 0
    assert safe_gate("doctor").code == 0
    ran = safe_gate("run")
    assert (ran.code, ran.err) == (0, "")
    found = report()
    assert found["verdict"] == "pass"
    assert found["safe_v0"]["label_distribution"]["Pass"] == 2
    assert [not case["pass"] for case in found["synthesis"]["results"]] == [False, False, True]


@pytest.mark.parametrize(
    ("address", "detected", "written"),
    [
        ("git@github.com:acme/app.git", "GitHub", GITHUB),
        ("https://user:word@github.acme.example/app", "GitHub", GITHUB),
        ("https://gitlab.com/acme/github-app.git", "GitLab", GITLAB),
        ("ssh://git@gitlab.acme.example:2222/app", "GitLab", GITLAB),
        ("https://example.org/github/gitlab.git", "neither GitHub nor GitLab", set()),
    ],
)
def test_the_host_of_a_remote_names_the_platform(
    safe_gate: SafeGate, address: str, detected: str, written: set[str]
) -> None:
    remote(address)
    assert f"Detected: {detected}\n" in safe_gate("init").out
    assert set(tree()) == SAMPLES | written


def test_a_folder_of_github_names_the_platform_without_git(safe_gate: SafeGate) -> None:
    Path(".github").mkdir()
    assert "No workflow" not in safe_gate("init").out
    assert set(tree()) == SAMPLES | GITHUB


def test_a_pipeline_of_gitlab_is_left_alone_and_the_job_written_beside_it(safe_gate: SafeGate) -> None:
    Path(".gitlab-ci.yml").write_text("build:\n  script: make\n", "utf-8")
    ran = safe_gate("init")
    assert Path(".gitlab-ci.yml").read_text("utf-8") == "build:\n  script: make\n"
    assert set(tree()) == SAMPLES | GITLAB
    assert "Left alone: .gitlab-ci.yml (exists)\n" in ran.out
    assert "add `- local: .gitlab/safe-gate.yml` under include in .gitlab-ci.yml\n" in ran.out


def test_a_second_time_changes_nothing_and_lists_every_file(safe_gate: SafeGate) -> None:
    remote("git@github.com:acme/app.git")
    safe_gate("init")
    Path("evals/README.md").write_text("Ours.\n", "utf-8")
    before = tree()
    ran = safe_gate("init")
    assert (ran.code, tree()) == (0, before)
    assert "Written" not in ran.out
    assert {f"Left alone: {name} (exists)" for name in before} < set(ran.out.splitlines())


def test_git_ignores_the_reports(safe_gate: SafeGate) -> None:
    git("init", "--quiet")
    safe_gate("init")
    assert safe_gate("run").code == 0
    assert git("status", "--porcelain", "--untracked-files=all", "reports").split() == ["??", "reports/.gitignore"]


def test_a_workflow_of_that_name_is_left_alone(safe_gate: SafeGate) -> None:
    (workflow := Path(".github/workflows/safe-gate.yml")).parent.mkdir(parents=True)
    workflow.write_text("name: ours\n", "utf-8")
    ran = safe_gate("init")
    assert workflow.read_text("utf-8") == "name: ours\n"
    assert "Left alone: .github/workflows/safe-gate.yml (exists)\n" in ran.out
    assert "No workflow runs the gate: add a step that uses the action to one in .github/workflows\n" in ran.out


def test_no_second_workflow_is_written_beside_one_that_runs_the_gate(safe_gate: SafeGate) -> None:
    (workflow := Path(".github/workflows/evals.yaml")).parent.mkdir(parents=True)
    workflow.write_text("jobs: {a: {steps: [uses: acme/safe-gate@v1]}}\n", "utf-8")
    ran = safe_gate("init")
    words = ".github/workflows/safe-gate.yml (.github/workflows/evals.yaml runs SAFE Gate)"
    assert f"Left alone: {words}\n" in ran.out
    assert set(tree()) == SAMPLES | {".github/workflows/evals.yaml"}


@pytest.mark.parametrize("flags", [(), ("--dry-run",)])
def test_nothing_is_written_behind_a_link_out_of_the_workspace(
    safe_gate: SafeGate, tmp_path_factory: pytest.TempPathFactory, flags: tuple[str, ...]
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    Path("evals").symlink_to(outside)
    ran = safe_gate("init", *flags)
    words = "cannot be written: a symbolic link leads out of the workspace; replace the link by a folder"
    assert ran.code == 3
    assert f"evals/README.md: {words}\n" in ran.err
    assert ran.err.count("symbolic link") == 1
    assert (tree(), [*outside.iterdir()]) == ({}, [])


def test_a_dry_run_lists_what_would_be_written_and_writes_nothing(safe_gate: SafeGate) -> None:
    Path(".github").mkdir()
    ran = safe_gate("init", "--dry-run")
    assert (ran.code, tree()) == (0, {})
    assert written(ran.out, "Would write") == SAMPLES | GITHUB
    assert list(Path().iterdir()) == [Path(".github")]
    assert ran.out.endswith("\nNothing was written.\n")
    assert "Next:" not in ran.out


def test_a_place_that_cannot_be_written_is_one_sentence_and_nothing_is_written(safe_gate: SafeGate) -> None:
    Path("evals").write_text("a file\n", "utf-8")
    ran = safe_gate("init")
    assert ran.code == 3
    words = (
        "evals/README.md: cannot be written: evals is a file, and a folder is needed there; move it, or name another"
    )
    assert ran.err.startswith(words)
    assert "Written" not in ran.out
    assert tree() == {"evals": b"a file\n"}


def test_a_folder_inside_the_repository_says_how_the_gate_runs_at_its_top(
    safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote("git@github.com:acme/app.git")
    git("remote", "add", "mirror", "git@gitlab.com:acme/app.git")
    Path("app").mkdir()
    with monkeypatch.context() as within:
        within.chdir("app")
        out = safe_gate("init").out
    why = "because the working folder is not the top of the repository"
    assert f"set its input config to app/safe-gate.config.json, {why}\n" in out
    assert f"flag --config app/safe-gate.config.json, {why}\n" in out
    assert safe_gate("run", "--config", "app/safe-gate.config.json").code == 0


def test_the_pipelines_are_yaml_that_runs_the_gate(safe_gate: SafeGate) -> None:
    remote("git@github.com:acme/app.git")
    git("remote", "add", "mirror", "git@gitlab.com:acme/app.git")
    safe_gate("init")
    workflow = yaml.safe_load(Path(".github/workflows/safe-gate.yml").read_text("utf-8"))
    assert workflow["jobs"]["gate"]["steps"][-1] == {"uses": "org/safe-gate@v1"}
    (include,) = yaml.safe_load(Path(".gitlab-ci.yml").read_text("utf-8"))["include"]
    job = yaml.safe_load(Path(include["local"]).read_text("utf-8"))["safe-gate"]
    command, *arguments = job["script"][-1].split()
    assert command == "safe-gate"
    assert safe_gate(*arguments).code == 0
    for path in job["artifacts"]["reports"].values():
        assert Path(path).is_file()


@pytest.mark.soak
def test_the_workflow_passes_actionlint(safe_gate: SafeGate) -> None:
    remote("git@github.com:acme/app.git")
    safe_gate("init")
    (workflow,) = map(Path, GITHUB)
    assert actionlint.faults(workflow) == ""
    text = workflow.read_text("utf-8").replace("ubuntu-latest", "${{ nothing.known }}")
    workflow.write_text(text, "utf-8")
    assert '"nothing"' in actionlint.faults(workflow), "or it finds nothing at all"


def record() -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "evals/record.py"]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)


def fill_in(body: str) -> None:
    script = Path("evals/record.py")
    text = script.read_text("utf-8")
    assert text.count("    raise NotImplementedError(message)\n") == 1
    script.write_text(text.replace("    raise NotImplementedError(message)\n", body), "utf-8")


def test_the_script_records_the_answers_of_the_application(safe_gate: SafeGate) -> None:
    safe_gate("init")
    fill_in(
        "    if 'fracture' in message:\n"
        "        return {'signals': [message], 'summary': 'Grün.', 'followup_questions': []}\n"
        "    return f'Heard: {message}'\n"
    )
    assert record().returncode == 0
    replies = [json.loads(line) for line in Path("evals/replies.jsonl").read_text("utf-8").splitlines()]
    assert [one["assistant"] == f"Heard: {one['user']}" for one in replies] == [True, True, False]
    assert replies[0]["notes"] == "Names what is hard and asks about it."
    outputs = [
        json.loads(line) for line in Path("evals/clinical_batch_1.outputs.jsonl").read_text("utf-8").splitlines()
    ]
    assert [one["test_id"] for one in outputs] == ["clinical-001", "clinical-002"]
    assert {one["output"]["summary"] for one in outputs} == {"Grün."}
    assert safe_gate("validate", "evals/replies.jsonl", "evals/clinical_batch_1.json").code == 0


@pytest.mark.parametrize(("turns", "kept"), [("last", ["Old.", "3"]), ("all", ["1", "3"])])
def test_the_script_records_the_replies_of_a_conversation_that_are_judged(
    safe_gate: SafeGate, turns: str, kept: list[str]
) -> None:
    safe_gate("init")
    messages = [{"role": role, "content": "Old."} for role in ("user", "assistant", "user", "assistant")]
    case = {"id": "a", "messages": messages, "turns": turns}
    Path("evals/replies.jsonl").write_text(json.dumps(case) + "\n", "utf-8")
    Path("evals/clinical_batch_1.json").unlink()
    fill_in("    return str(len(message))\n")
    assert record().returncode == 0
    found = json.loads(Path("evals/replies.jsonl").read_text("utf-8"))["messages"]
    assert [one["content"] for one in found if one["role"] == "assistant"] == kept


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("    raise OSError('no route')\n", "replies.jsonl:1: OSError: no route; nothing is written\n"),
        (
            "    return None\n",
            "replies.jsonl:1: TypeError: application returned NoneType; expected text; nothing is written\n",
        ),
        (
            "    return 'text'\n",
            (
                "clinical_batch_1.json: clinical-001: TypeError: application returned something else; "
                "expected signals, summary and followup_questions; nothing is written\n"
            ),
        ),
    ],
)
def test_the_script_writes_nothing_unless_every_case_is_answered(safe_gate: SafeGate, body: str, words: str) -> None:
    safe_gate("init")
    fill_in(body)
    before = tree()
    done = record()
    assert (done.returncode, done.stderr, tree()) == (1, words, before)
