"""The sdist and the wheel that is built from it: complete, built by what `pyproject.toml` names, and running alone."""

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Sequence
from importlib.metadata import distribution
from pathlib import Path

import pytest

from safe_gate import __version__
from tests.support.cases import REPOSITORY

SITE = Path(sysconfig.get_path("purelib"))
BUILD = (
    *("hatchling", "packaging", "pathspec", "pluggy", "trove-classifiers"),
    *("pydantic", "pydantic-core", "annotated-types", "typing-extensions", "typing-inspection"),
    *("google-re2", "pydantic-settings", "python-dotenv", "shtab"),
)
"""What a build names, and what that needs: nothing else may be there when a wheel is built."""


def call(*command: str | Path, folder: Path, check: bool = True, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a command with no variables but these and a PATH."""
    environ["PATH"] = os.defpath
    return subprocess.run(command, cwd=folder, env=environ, check=check, capture_output=True, text=True)


def built(kind: str, source: Path, target: Path, tools: Path) -> Path:
    """Return what hatchling builds of a folder, by this Python without what is installed beside it."""
    command = ("-S", "-m", "hatchling", "build", "-t", kind, "-d", target)
    call(sys.executable, *command, folder=source, PYTHONPATH=str(tools))
    (found,) = target.iterdir()
    return found


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages that a build is given, and no other."""
    folder = tmp_path_factory.mktemp("tools")
    for name in BUILD:
        tops = {Path(str(file)).parts[0] for file in distribution(name).files or () if ".." not in str(file)}
        for top in tops - {"__pycache__"}:
            (folder / top).symlink_to(SITE / top)
    return folder


@pytest.fixture(scope="module")
def source(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    archive = built("sdist", REPOSITORY, folder, tools)
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def wheel(tools: Path, source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("wheel", source, tmp_path_factory.mktemp("wheel"), tools)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command in an environment with the wheel and the locked packages, without the repository."""
    folder = tmp_path_factory.mktemp("installed")
    call(sys.executable, "-m", "venv", "--without-pip", folder, folder=folder)
    quietly = ("--quiet", "--disable-pip-version-check", "--no-index", "--no-deps")
    pip = (sys.executable, "-m", "pip", "--python", folder / "bin" / "python")
    call(*pip, "install", *quietly, wheel, folder=folder)
    (site,) = (folder / "lib").glob("python*/site-packages")
    (site / "locked.pth").write_text(f"{SITE}\n", "utf-8")  # which does not follow the .pth of this checkout
    return folder / "bin" / "safe-gate"


def files(folder: str) -> set[str]:
    """Return the files of a folder of the repository that git knows or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", folder]
    listed = subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout
    return {name for name in listed.splitlines() if (REPOSITORY / name).exists()}


def test_the_sdist_holds_what_a_build_and_a_user_need(source: Path) -> None:
    project = tomllib.loads((source / "pyproject.toml").read_text("utf-8"))
    named = {name.partition(">")[0] for name in project["build-system"]["requires"]}
    assert named == {"hatchling", "pydantic", "google-re2", "pydantic-settings", "shtab"}
    found = {file.relative_to(source).as_posix() for file in source.rglob("*") if file.is_file()}
    assert files("safe_gate") | files("schemas") | files("examples") <= found
    top = "README.md CHANGELOG.md LICENSE LICENSE-UNICODE pyproject.toml hatch_build.py PKG-INFO"
    assert {*top.split()} <= found
    for place in ("schemas/*.json", "safe_gate/evaluators/synthesis/packs/*/*.json", "safe_gate/commands/starter/*/.*"):
        assert list(source.glob(place)), place
    assert not any(name.startswith(("tests/", "data/", ".git/")) for name in found)


@pytest.mark.soak
def test_the_wheel_of_the_sdist_holds_every_file_of_the_package(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert files("safe_gate") | {f"safe_gate/{name}" for name in files("schemas")} <= names
    assert "safe_gate/evaluators/synthesis/phrases.table" in names
    assert not any(name.startswith(("tests/", "release/")) for name in names)
    own = f"safe_gate-{__version__}.dist-info"
    assert {f"{own}/licenses/LICENSE", f"{own}/licenses/LICENSE-UNICODE", f"{own}/sboms/safe-gate.cdx.json"} <= names
    shared = ("man/man1/safe-gate.1", "bash-completion/completions/safe-gate", "zsh/site-functions/_safe-gate")
    assert {f"safe_gate-{__version__}.data/data/share/{place}" for place in shared} <= names


@pytest.mark.soak
def test_the_installed_command_is_the_wheels_own_and_starts_a_repository(installed: Path, tmp_path: Path) -> None:
    def run(*arguments: str | Path, codes: Sequence[int] = (0,)) -> str:
        ran = call(installed, *arguments, folder=tmp_path, check=False)
        assert ran.returncode in codes, ran.stdout + ran.stderr
        return ran.stdout

    assert run("--version") == f"safe-gate {__version__}\n"
    code = ("-I", "-c", "import safe_gate; print(safe_gate.__file__)")
    where = call(installed.with_name("python"), *code, folder=tmp_path).stdout
    assert Path(where.strip()).is_relative_to(installed.parent.parent)
    assert json.loads(run("schema", "config"))["$id"].endswith("config.schema.json")
    assert "Eval: " in run("eval", "--cases", REPOSITORY / "examples/empathy.jsonl", codes=(0, 2))
    run("score", "--batch", REPOSITORY / "examples/clinical/golden_set.json", codes=(0, 1, 2))
    run("init")
    assert (tmp_path / "safe-gate.config.json").exists()
    run("run")
