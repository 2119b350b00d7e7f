"""What runs the gate elsewhere: the jobs of docs/other-ci.md, done by a shell, the GitLab template, the hook of pre-commit."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.cases import REPOSITORY, SafeGate, refused
from tests.support.git import commit, git

PAGE = (REPOSITORY / "docs/other-ci.md").read_text("utf-8")
TEMPLATE = REPOSITORY / "safe_gate/commands/starter/gitlab/.gitlab/safe-gate.yml"
(HOOK,) = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text("utf-8"))
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))


def blocks(section: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", SECTIONS[section], re.DOTALL | re.MULTILINE)


Shell = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Run a script where pip installs nothing, and safe-gate is this one, also in a new virtual environment."""
    folder = tmp_path.parent / f"{tmp_path.name}-bin"
    folder.mkdir()
    gate, pip, venv = folder / "safe-gate", folder / "pip", folder / "python"
    for file, script in {
        gate: f'exec "{sys.executable}" -I -m safe_gate "$@"',
        pip: 'for last; do :; done\ncase $1 in install) echo "pip $last" ;; *) exit 9 ;; esac',
        venv: f'[ "$1 $2" = "-m venv" ] || exit 9\nmkdir -p "$3/bin" && cp "{gate}" "{pip}" "$3/bin"',
    }.items():
        file.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
        file.chmod(0o755)
    (folder / "python3").symlink_to(venv)

    def run(script: str, **environ: str) -> subprocess.CompletedProcess[str]:
        path = f"{folder}{os.pathsep}{os.environ['PATH']}"
        environ = {"PATH": path, "HOME": str(tmp_path)} | environ
        return subprocess.run(["sh", "-e", "-c", script], env=environ, check=False, capture_output=True, text=True)

    return run


def scripts() -> dict[str, tuple[str, dict[str, str], list[str]]]:
    """Return of each job its script, its variables, and the paths of the reports that it hands on."""
    gitlab = yaml.safe_load(blocks("GitLab", "yaml")[0])["safe-gate"]
    kept = [*gitlab["artifacts"]["paths"], *gitlab["artifacts"]["reports"].values()]
    (jenkins,) = blocks("Jenkins", "groovy")
    archived = [path.removesuffix("/**") for path in re.findall(r"(?:junit|archiveArtifacts) '(.+)'", jenkins)]
    circle = yaml.safe_load(blocks("CircleCI", "yaml")[0])["jobs"]["safe-gate"]["steps"]
    steps: list[dict[str, Any]] = [step for step in circle if isinstance(step, dict)]
    stored = [step[name]["path"] for step in steps for name in step if name.startswith("store_")]
    return {
        "GitLab": ("\n".join(gitlab["script"]), gitlab["variables"], kept),
        "Jenkins": ("".join(re.findall(r"sh '''\n(.*?)'''", jenkins, re.DOTALL)), {}, archived),
        "CircleCI": ("\n".join(step["run"] for step in steps if "run" in step), {}, stored),
        "Shell": (blocks("Shell", "sh")[0], {}, ["reports/safe-gate.md", "reports/safe-gate.html"]),
    }


@pytest.mark.parametrize(
    "place", ["GitLab", *(pytest.param(place, marks=pytest.mark.soak) for place in ("Jenkins", "CircleCI", "Shell"))]
)
def test_every_job_runs_the_gate_and_hands_on_its_reports(safe_gate: SafeGate, shell: Shell, place: str) -> None:
    assert safe_gate("init").code == 0
    script, variables, paths = scripts()[place]
    ran = shell(script, **variables)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ("The gate passed." in ran.stdout) is (place == "Shell")
    assert "pip https://github.com/org/safe-gate/archive/refs/tags/v1.tar.gz\n" in ran.stdout
    assert len(paths) >= 2
    for path in paths:
        assert Path(path).exists(), path
    replies = Path("evals/replies.jsonl")
    replies.write_text(replies.read_text("utf-8") + "{\n", "utf-8")
    assert shell(script, **variables).returncode == 3, "its exit code is the job's"


def test_a_branch_behind_main_is_compared_with_where_it_left_main(safe_gate: SafeGate, shell: Shell) -> None:
    safe_gate("init")
    git("init", "--quiet", "-b", "main")
    commit()
    git("remote", "add", "-t", "behind", "origin", str(Path.cwd()))  # of one branch, as Jenkins clones
    git("switch", "--quiet", "--create", "behind")
    git("switch", "--quiet", "main")
    replies = Path("evals/replies.jsonl")
    line, _, _ = replies.read_text("utf-8").partition("\n")
    replies.write_text(replies.read_text("utf-8") + json.dumps(json.loads(line) | {"id": "new"}) + "\n", "utf-8")
    commit()
    git("switch", "--quiet", "behind")
    (script,) = blocks("Compare with a branch", "sh")
    assert shell(script).returncode == 0
    export = "\n".join(yaml.safe_load(blocks("GitLab", "yaml")[1])["safe-gate"]["before_script"])
    assert shell(f"{export}\nsafe-gate run", CI_DEFAULT_BRANCH="main").returncode == 0
    assert shell("safe-gate run", SAFE_GATE_BASELINE="origin/main").returncode == 1
    git("remote", "remove", "origin")
    git("update-ref", "-d", "refs/remotes/origin/main")
    no_base = "without its baseline no job may pass"
    assert shell(f"{export}\nsafe-gate run", CI_DEFAULT_BRANCH="main").returncode == _OF_GIT, no_base
    assert shell(f"set +e\n{script}").returncode == _OF_GIT, no_base


_OF_GIT = 128
"""The exit code of git for an error."""


def test_the_gitlab_job_is_the_one_that_init_writes_and_a_project_may_change_it() -> None:
    assert blocks("GitLab", "yaml")[0] == TEMPLATE.read_text("utf-8")
    including = yaml.safe_load(blocks("GitLab", "yaml")[1])
    (include,) = including["include"]
    assert (REPOSITORY / include["file"]) == TEMPLATE
    assert including.keys() - {"include"} == yaml.safe_load(TEMPLATE.read_text("utf-8")).keys()


def hooked(*paths: str) -> list[str]:
    """Return the paths that pre-commit would give to the hook."""
    return [path for path in paths if re.search(HOOK["files"], path) and not re.search(HOOK["exclude"], path)]


def test_the_hook_has_what_pre_commit_asks_for_and_is_given_files_of_the_gate_alone() -> None:
    assert {"id", "name", "entry", "language"} <= HOOK.keys()
    assert (HOOK["id"], HOOK["language"], HOOK["require_serial"]) == ("safe-gate-validate", "python", True)
    used = yaml.safe_load(blocks("Pre-commit", "yaml")[0])["repos"][0]["hooks"]
    assert [hook["id"] for hook in used] == [HOOK["id"]]
    checked = ["evals/replies.jsonl", "evals/deep/a_batch_1.json", "evals/safe-gate.config.json", "safe.config.json"]
    others = ["evals/schemas/config.schema.json", "evals/reports/safe-gate.json", "package.json", "evals/record.py"]
    checked += ["service/safe-gate.waivers.json", "reports/safe-gate.config.json"]
    assert hooked(*checked, *others, "reports/safe-gate.json", "my-safe-gate.config.json") == checked
    services = re.search(r"`files: (\S+)`", SECTIONS["Pre-commit"])
    assert services
    own = [f"services/{name}/{file}" for name in ("reports", "schemas") for file in ("evals/r.jsonl", checked[2][6:])]
    written = ["services/a/reports/safe-gate.json", "services/a/evals/schemas/config.schema.json"]
    for path in (*own, *written):
        assert (re.search(services[1], path) is not None) is (path != written[0])
        assert (re.search(HOOK["exclude"], path) is None) is (path in own)


def test_the_hook_passes_what_init_writes_and_names_what_is_wrong(safe_gate: SafeGate) -> None:
    safe_gate("init")
    written = [path.as_posix() for path in sorted(Path().rglob("*")) if path.is_file()]
    command, *arguments = HOOK["entry"].split()
    assert command == "safe-gate"
    assert len(hooked(*written)) == 4
    assert safe_gate(*arguments, *hooked(*written)).code == 0
    assert safe_gate(*arguments, "evals/clinical_batch_1.json").code == 0, "a batch alone finds its outputs"
    Path("evals/replies.jsonl").write_text('{"id": "a"}\n', "utf-8")
    refused(safe_gate(*arguments, "evals/replies.jsonl"), "evals/replies.jsonl:1: ")
