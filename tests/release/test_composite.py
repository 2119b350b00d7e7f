"""The action without Docker: what it hands to the gate, and what it keeps, on each platform that can be simulated."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import REPOSITORY, read_json, turn, write_cases

SCRIPT = REPOSITORY / "composite/run.py"


@pytest.fixture(scope="module")
def module() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def test_the_interpreter_of_an_environment_is_where_each_platform_puts_it(module: dict[str, Any]) -> None:
    assert module["python_of"](Path("e"), "nt") == Path("e/Scripts/python.exe")
    assert module["python_of"](Path("e"), "posix") == Path("e/bin/python")


def test_the_key_of_the_cache_and_its_folder_become_outputs(tmp_path: Path) -> None:
    environ = {"RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": str(tmp_path / "output")}
    for _ in range(2):
        subprocess.run([sys.executable, "-I", SCRIPT, "key"], env=environ, check=True)
    first, second, *again = (tmp_path / "output").read_text("utf-8").splitlines()
    assert again == [first, second]
    assert first.startswith("key=safe-gate-")
    assert second == f"folder={tmp_path / first.removeprefix('key=') / 'wheels'}"


def test_an_input_of_several_lines_reaches_the_gate(tmp_path: Path, module: dict[str, Any]) -> None:
    """An environment that is already there is used as it is: here one whose interpreter has this checkout."""
    write_cases(tmp_path / "a.jsonl", turn("a"))
    write_cases(tmp_path / "b.jsonl", turn("b"))
    python = tmp_path / module["key"]() / "environment/bin/python"
    python.parent.mkdir(parents=True)
    again = f"os.execv({sys.executable!r}, [{sys.executable!r}, *sys.argv[1:]])"  # a shell loses INPUT_SYNTHESIS-CASES
    python.write_text(f"#!{sys.executable}\nimport os, sys\n{again}\n", "utf-8")
    python.chmod(0o755)
    (python.parents[1] / "done").touch()
    inputs = {"synthesis-cases": "a.jsonl\nb.jsonl\n", "min-pass-rate": "", "report-dir": "out"}
    environ = {"PATH": os.environ["PATH"], "RUNNER_TEMP": str(tmp_path), "INPUTS": json.dumps(inputs)}
    ran = subprocess.run([sys.executable, "-I", SCRIPT, "gate"], cwd=tmp_path, env=environ, check=False)
    assert ran.returncode == 0
    assert len(read_json(tmp_path / "out/safe-gate.json")["synthesis"]["results"]) == 2


def test_packages_that_cannot_be_installed_are_no_failed_gate(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "RUNNER_TEMP": str(tmp_path), "INPUTS": "{}", "PIP_NO_INDEX": "1"}
    command = [sys.executable, "-I", str(SCRIPT), "gate"]
    ran = subprocess.run(command, env=environ, check=False, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout.startswith("::error title=SAFE Gate::Its packages cannot be")) == (3, True)
    assert "Traceback" not in ran.stderr
    assert not [*tmp_path.glob("*/wheels")], "the cache of the job must not keep a part of them"


@pytest.mark.soak
def test_windows_has_all_that_the_package_calls(tmp_path: Path) -> None:
    """Its standard library lacks names, such as `os.fork`; the type checker knows which."""
    command = [sys.executable, "-m", "mypy", "--platform=win32", f"--cache-dir={tmp_path}", "safe_gate", "composite"]
    ran = subprocess.run(command, cwd=REPOSITORY, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout
