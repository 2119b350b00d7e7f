"""`safe-gate init` writes files that pass as they are, and never touches what is there."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.support import actionlint
from tests.support.cases import (
    REPOSITORY,
    Patch,
    SafeGate,
    read_json,
    read_lines,
    refused,
    report,
    turn,
    write_cases,
    write_json,
)
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
    words = "No workflow for CI: add the git remote on GitHub or GitLab, or create the folder .github or the file .gitlab-ci.yml"
    assert (ran.code, words in ran.out) == (0, True)
    assert "Detected: neither GitHub nor GitLab\n" in ran.out
    assert set(tree()) == written(ran.out) == SAMPLES


def test_what_it_writes_passes_validate_doctor_and_run_and_git_ignores_the_reports(safe_gate: SafeGate) -> None:
    refused(safe_gate("doctor"), "; safe-gate init adds samples and a config file that names them\n")
    git("init", "--quiet")
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
    assert git("status", "--porcelain", "--untracked-files=all", "reports").split() == ["??", "reports/.gitignore"]


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
def test_the_remote_names_the_platform(safe_gate: SafeGate, address: str, detected: str, written: set[str]) -> None:
    remote(address)
    assert f"Detected: {detected}\n" in safe_gate("init").out
    assert set(tree()) == SAMPLES | written


WORKFLOW, EVALS = ".github/workflows/safe-gate.yml", ".github/workflows/evals.yaml"
# A file that is there, its content, what is written beside it, and what is said.
THERE = [
    (".github/x", "", GITHUB, "Detected: GitHub\n"),
    (".gitlab-ci.yml", "build: x\n", GITLAB, "add `- local: .gitlab/safe-gate.yml` under include in .gitlab-ci.yml\n"),
    (".gitlab-ci.yml", "build: x\n", GITLAB, "Left alone: .gitlab-ci.yml (exists)\n"),
    (
        ".gitlab-ci.yml",
        "a: {script: [safe-gate run]}\n",
        set(),
        ".gitlab/safe-gate.yml (.gitlab-ci.yml runs SAFE Gate)\n",
    ),
    (WORKFLOW, "name: ours\n", set(), f"Left alone: {WORKFLOW} (exists)\n"),
    (EVALS, "x: y  # safe-gate run\n# - uses: a/safe-gate@v1\n", {WORKFLOW}, f"Written: {WORKFLOW}\n"),
    *(
        (EVALS, f"jobs: {{a: {{steps: [{step}]}}}}\n", set(), f"{WORKFLOW} ({EVALS} runs SAFE Gate)\n")
        for step in ("uses: acme/safe-gate@v1", "uses: acme/safe-gate/composite@v1", "run: safe-gate run --quiet")
    ),
]


@pytest.mark.parametrize(("path", "content", "written", "words"), THERE)
def test_workflows_are_left_alone(safe_gate: SafeGate, path: str, content: str, written: set[str], words: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(content, "utf-8")
    said = safe_gate("init").out
    assert words in said
    assert ("To run the gate" in said) is (content == "build: x\n")
    assert Path(path).read_text("utf-8") == content
    assert set(tree()) == SAMPLES | written | {path}


def test_the_workflow_and_the_command_of_the_readme_judge_what_it_writes(safe_gate: SafeGate) -> None:
    safe_gate("init")
    readme = (REPOSITORY / "README.md").read_text("utf-8")
    workflow = yaml.safe_load(readme.split("```yaml\n")[1].split("```")[0])
    inputs = workflow["jobs"]["gate"]["steps"][-1]["with"]
    (command,) = re.findall(r"\*\*Without GitHub\*\*, run `safe-gate (run .*)`", readme)
    for arguments in (["run", *(f"--{name}={value}" for name, value in inputs.items())], shlex.split(command)):
        assert safe_gate(*arguments).code == 0, arguments


def test_a_second_time_changes_nothing_and_lists_every_file(safe_gate: SafeGate) -> None:
    remote("git@github.com:acme/app.git")
    safe_gate("init")
    Path("evals/README.md").write_text("Ours.\n", "utf-8")
    before = tree()
    ran = safe_gate("init")
    assert (ran.code, tree()) == (0, before)
    assert "Written" not in ran.out
    assert ran.out.endswith("Next: evals/README.md says how to record your own answers\n")
    assert {f"Left alone: {name} (exists)" for name in before} < set(ran.out.splitlines())


@pytest.mark.parametrize("flags", [(), ("--dry-run",)])
def test_nothing_is_written_behind_a_link(
    safe_gate: SafeGate, tmp_path_factory: pytest.TempPathFactory, flags: tuple[str, ...]
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    Path("evals").symlink_to(outside)
    words = "cannot be written: a symbolic link leads out of the workspace; replace the link by a folder"
    assert refused(safe_gate("init", *flags), f"evals/README.md: {words}\n").count("symbolic link") == 1
    assert (tree(), [*outside.iterdir()]) == ({}, [])
    Path("evals").unlink()
    Path("evals").write_text("a file\n", "utf-8")
    ran = safe_gate("init", *flags)
    refused(ran, "evals/README.md: cannot be written: evals is a file, and a folder is needed there; move it")
    assert "Written" not in ran.out
    assert tree() == {"evals": b"a file\n"}


def test_a_dry_run_lists_what_would_be_written_and_writes_nothing(safe_gate: SafeGate) -> None:
    Path(".github").mkdir()
    ran = safe_gate("init", "--dry-run")
    assert (ran.code, tree()) == (0, {})
    assert written(ran.out, "Would write") == SAMPLES | GITHUB
    assert list(Path().iterdir()) == [Path(".github")]
    assert ran.out.endswith("\nNothing was written.\n")
    assert "Next:" not in ran.out


def test_a_folder_inside_the_repository_gets_no_workflow(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    remote("git@github.com:acme/app.git")
    Path("app").mkdir()
    with monkeypatch.context() as within:
        within.chdir("app")
        out = safe_gate("init").out
        assert set(tree()) == written(out) == SAMPLES
    words = "No workflow for CI: add one at the top of the repository, with app/safe-gate.config.json as its config\n"
    assert words in out
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


def record(script: str = "evals/record.py") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, script]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)


def fill_in(**bodies: str) -> None:
    script = Path("evals/record.py")
    text = script.read_text("utf-8")
    for function, body in bodies.items():
        stub = f'raise NotImplementedError("{function}")'
        assert text.count(stub) == 1
        text = text.replace(stub, body)
    script.write_text(text, "utf-8")


def test_the_script_records_the_answers_of_the_application(safe_gate: SafeGate) -> None:
    safe_gate("init")
    fill_in(
        reply="return f'Heard: {message}'",
        pipeline="return {'signals': [payload], 'summary': 'Grün.', 'followup_questions': []}",
    )
    assert record().returncode == 0
    replies = read_lines("evals/replies.jsonl")
    assert [one["assistant"] == f"Heard: {one['user']}" for one in replies] == [True, True, False]
    assert replies[0]["notes"] == "Names what is hard and asks about it."
    lines = Path("evals/clinical_batch_1.outputs.jsonl").read_text("utf-8").splitlines()
    outputs = [json.loads(line) for line in lines]
    assert [one["test_id"] for one in outputs] == ["clinical-001", "clinical-002"]
    assert {one["output"]["summary"] for one in outputs} == {"Grün."}
    assert safe_gate("validate", "evals/replies.jsonl", "evals/clinical_batch_1.json").code == 0


def test_the_script_keeps_the_last_reply_of_a_case_that_should_fail(safe_gate: SafeGate) -> None:
    safe_gate("init")
    Path("evals/clinical_batch_1.json").unlink()
    talk = [{"role": role, "content": "Old."} for role in ("user", "assistant")] * 2
    kept = {"turns": "all", "tags": ["grief", "negative_example"]}
    cases = turn("a", tags=["pivot-fail"]), turn("b", tags=kept["tags"]), {"id": "c", "messages": talk, **kept}
    write_cases(Path("evals/replies.jsonl"), *cases)
    fill_in(reply="return 'New.'")
    assert record().returncode == 0
    new, old, conversation = read_lines("evals/replies.jsonl")
    assert (new["assistant"], old["assistant"]) == ("New.", cases[1]["assistant"])
    assert [one["content"] for one in conversation["messages"][1::2]] == ["New.", "Old."]


def test_the_script_locks_what_it_recorded_and_nothing_else(safe_gate: SafeGate) -> None:
    safe_gate("init")
    Path("evals/clinical_batch_1.json").unlink()
    Path("evals/other").mkdir()
    for path in ("evals/other/replies.jsonl", "evals/unnamed.jsonl"):
        write_cases(Path(path), turn(path))
    sources = {path: ["evals/record.py"] for path in ("evals/replies.jsonl", "evals/other/replies.jsonl")}
    write_json("safe-gate.config.json", {"synthesis-cases": ["evals/**/*.jsonl"], "recordings": sources})
    fill_in(reply="return 'New.'")
    assert record().returncode == 0
    assert list(read_json("safe-gate.lock.json")["recordings"]) == ["evals/replies.jsonl"]
    Path("safe-gate.lock.json").unlink()
    Path("link").symlink_to(".")
    assert record("link/evals/record.py").returncode == 0
    assert list(read_json("safe-gate.lock.json")["recordings"]) == ["evals/replies.jsonl"]


@pytest.mark.parametrize(
    ("config", "turns", "kept"),
    [
        ("", {"turns": "last"}, ["Old.", "3"]),
        ("", {"turns": "all"}, ["1", "3"]),
        ('"turns": "all",', {}, ["1", "3"]),
        ('"turns": "all",', {"turns": "last"}, ["Old.", "3"]),
        ('// "turns": "all",\n', {}, ["Old.", "3"]),
        ('/* "turns": "all" */ // "turns": "all"\n', {}, ["Old.", "3"]),
    ],
)
def test_the_script_records_the_replies_that_are_judged(
    safe_gate: SafeGate, config: str, turns: dict[str, str], kept: list[str]
) -> None:
    safe_gate("init")
    messages = [{"role": role, "content": "Old."} for role in ("user", "assistant", "user", "assistant")]
    Path("evals/replies.jsonl").write_text(json.dumps({"id": "a", "messages": messages, **turns}) + "\n", "utf-8")
    Path("evals/clinical_batch_1.json").unlink()
    settings = Path("safe-gate.config.json").read_text("utf-8")
    Path("safe-gate.config.json").write_text(settings.replace('"min-pass-rate"', f'{config}"min-pass-rate"'), "utf-8")
    fill_in(reply="return str(len(message))")
    assert record().returncode == 0
    found = read_json("evals/replies.jsonl")["messages"]
    assert [one["content"] for one in found if one["role"] == "assistant"] == kept


OUTPUT = "expected signals, summary and followup_questions"
FILLED = {"pipeline": "return dict(signals=[], summary='', followup_questions=[])"}
# What the functions do, the text of the config file if it is another one, and what is said.
UNANSWERED: list[tuple[dict[str, str], str, str]] = [
    ({}, "", "record.py: fill in the function reply first"),
    ({"reply": "raise OSError('no route')"}, "", "replies.jsonl:1: OSError: no route"),
    ({"reply": "return None"}, "", "replies.jsonl:1: TypeError: reply returned NoneType; expected text"),
    ({"reply": "return 'Hi ' + chr(0xD83D)", **FILLED}, "", "replies.jsonl:1: UnicodeEncodeError: "),
    (
        {"reply": "return 'x'", "pipeline": "return 'text'"},
        "",
        f"clinical_batch_1.json: clinical-001: TypeError: pipeline returned something else; {OUTPUT}",
    ),
    (
        {"reply": "return 'x'", "pipeline": "raise KeyError('x')"},
        "payload",
        "clinical_batch_1.json: clinical-001: ValueError: the case has no patient_payload, which the pipeline gets; add",
    ),
    ({"reply": "return 'x'", **FILLED}, '{"turns": "all",}', "the config file: JSONDecodeError: "),
]


@pytest.mark.parametrize(("bodies", "wrong", "said"), UNANSWERED)
def test_the_script_writes_nothing_unless_every_case_is_answered(
    safe_gate: SafeGate, bodies: dict[str, str], wrong: str, said: str
) -> None:
    safe_gate("init")
    fill_in(**bodies)
    batch = Path("evals/clinical_batch_1.json")
    if wrong == "payload":
        batch.write_text(batch.read_text("utf-8").replace("patient_payload", "x_payload"), "utf-8")
    elif wrong:
        Path("safe-gate.config.json").write_text(wrong, "utf-8")
    before = tree()
    done = record()
    assert (done.returncode, tree()) == (1, before)
    assert done.stderr.startswith(said)
    assert done.stderr.endswith("; nothing is written\n")
