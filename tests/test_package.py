"""The sdist and the wheel that is built from it: complete, built by what `pyproject.toml` names, and running alone."""

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path

import pytest

from safe_gate import __version__
from tests.support.cases import REPOSITORY

Run = Callable[..., subprocess.CompletedProcess[str]]
SITE = Path(sysconfig.get_path("purelib"))
BUILD = (
    *("hatchling", "packaging", "pathspec", "pluggy", "trove-classifiers"),
    *("pydantic", "pydantic-core", "annotated-types", "typing-extensions", "typing-inspection"),
    *("google-re2", "pydantic-settings", "python-dotenv", "shtab"),
)
"""What a build names, and what that needs: nothing else may be there when a wheel is built."""


def python(*arguments: str | Path, folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run this Python without what is installed beside it."""
    command = [sys.executable, "-S", *map(str, arguments)]
    return subprocess.run(
        command, cwd=folder, env={"PATH": os.defpath, **environ}, check=True, capture_output=True, text=True
    )


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
    """The sdist, unpacked."""
    folder = tmp_path_factory.mktemp("sdist")
    python("-m", "hatchling", "build", "-t", "sdist", "-d", folder, folder=REPOSITORY, PYTHONPATH=str(tools))
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def wheel(tools: Path, source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that is built from the sdist."""
    folder = tmp_path_factory.mktemp("wheel")
    python("-m", "hatchling", "build", "-t", "wheel", "-d", folder, folder=source, PYTHONPATH=str(tools))
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command in an environment with the wheel and the locked packages, without the repository."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, env={"PATH": os.defpath})
    target = folder / "bin" / "python"
    quietly = ["--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]
    command: list[str | Path] = [sys.executable, "-m", "pip", "--python", target, "install", *quietly, wheel]
    subprocess.run(command, check=True, env={"PATH": os.defpath})
    (site,) = (folder / "lib").glob("python*/site-packages")
    (site / "locked.pth").write_text(f"{SITE}\n", "utf-8")  # which does not follow the .pth of this checkout
    return folder / "bin" / "safe-gate"


@pytest.fixture
def run(installed: Path, tmp_path: Path) -> Run:
    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [installed, *arguments], cwd=tmp_path, env={"PATH": os.defpath}, check=False, capture_output=True, text=True
        )

    return run


def files(folder: str) -> set[str]:
    """Return the files of a folder of the repository that git knows or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", folder],
        cwd=REPOSITORY, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    return {name for name in listed.splitlines() if (REPOSITORY / name).exists()}


def test_the_build_needs_nothing_but_what_it_names() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
    named = {name.partition(">")[0] for name in project["build-system"]["requires"]}
    assert named == {"hatchling", "pydantic", "google-re2", "pydantic-settings", "shtab"}


def test_the_sdist_holds_what_a_build_and_a_user_need(source: Path) -> None:
    found = {file.relative_to(source).as_posix() for file in source.rglob("*") if file.is_file()}
    assert files("safe_gate") | files("schemas") | files("examples") <= found
    top = "README.md CHANGELOG.md LICENSE LICENSE-UNICODE pyproject.toml hatch_build.py PKG-INFO"
    assert {*top.split()} <= found
    for pattern in (
        "schemas/*.json",
        "safe_gate/evaluators/synthesis/packs/*/*.json",
        "safe_gate/commands/starter/*/.*",
    ):
        assert list(source.glob(pattern)), pattern
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
def test_the_installed_command_is_the_wheels_own(run: Run, installed: Path) -> None:
    ran = run("--version")
    assert (ran.returncode, ran.stdout) == (0, f"safe-gate {__version__}\n")
    where = subprocess.run(
        [installed.with_name("python"), "-I", "-c", "import safe_gate; print(safe_gate.__file__)"],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    assert Path(where.strip()).is_relative_to(installed.parent.parent)


@pytest.mark.soak
def test_the_installed_command_has_its_schemas_and_packs(run: Run) -> None:
    assert json.loads(run("schema", "config").stdout)["$id"].endswith("config.schema.json")
    ran = run("eval", "--cases", REPOSITORY / "examples/empathy.jsonl")
    assert ran.returncode in (0, 2), ran.stderr
    assert "Eval: " in ran.stdout
    ran = run("score", "--batch", REPOSITORY / "examples/clinical/golden_set.json")
    assert ran.returncode in (0, 1, 2), ran.stderr


@pytest.mark.soak
def test_the_installed_command_starts_a_repository(run: Run, tmp_path: Path) -> None:
    assert run("init").returncode == 0
    assert (tmp_path / "safe-gate.config.json").exists()
    ran = run("run")
    assert ran.returncode == 0, ran.stdout + ran.stderr
