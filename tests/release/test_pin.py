"""The commit of a release tag: the image and the wheel by digest, and nothing else changed."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.release.conftest import Script
from tests.support.git import commit, git

IMAGE = f"ghcr.io/octo/gate@sha256:{'a' * 64}"
WHEEL = "b" * 64


@pytest.fixture
def pin(tree: Path, script: Script, tmp_path: Path) -> Callable[..., Any]:
    """Run the script against a registry whose images have given platforms and labels."""

    def run(image: str = IMAGE, platforms: tuple[str, ...] = ("amd64", "arm64"), **labels: str) -> Any:
        own = {"version": "1.2.3", "revision": git("rev-parse", "v1.2.3", folder=tree), **labels}
        manifests = [
            {"digest": f"sha256:{name}", "platform": {"os": "linux", "architecture": name}} for name in platforms
        ]
        config = {"config": {"Labels": {f"org.opencontainers.image.{name}": value for name, value in own.items()}}}
        registry = tmp_path / "bin"
        registry.mkdir(exist_ok=True)
        answers = {"--raw": {"manifests": manifests}, "--config": config}
        program = f"#!{sys.executable} -I\nimport json, sys\nprint(json.dumps({answers!r}[sys.argv[2]]))\n"
        (registry / "skopeo").write_text(program, "utf-8")
        (registry / "skopeo").chmod(0o755)
        sums = tmp_path / "SHA256SUMS"
        sums.write_text(f"{'c' * 64}  safe_gate-1.2.3.tar.gz\n{WHEEL}  safe_gate-1.2.3-py3-none-any.whl\n", "utf-8")
        path = f"{registry}{os.pathsep}{os.environ['PATH']}"
        return script("pin", "v1.2.3", image, str(sums), PATH=path)

    return run


def test_the_tag_names_the_image_and_the_wheel_by_digest(tree: Path, pin: Callable[..., Any]) -> None:
    tagged = git("rev-parse", "v1.2.3", folder=tree)
    ran = pin()
    assert (ran.returncode, ran.stderr) == (0, "")
    assert git("show", "v1.2.3:action.yml", folder=tree).endswith(f"\n  using: docker\n  image: docker://{IMAGE}")
    assert git("show", "v1.2.3:composite/wheel.txt", folder=tree) == f"safe-gate==1.2.3 --hash=sha256:{WHEEL}"
    assert git("diff", "--name-only", tagged, "v1.2.3", folder=tree).split() == ["action.yml", "composite/wheel.txt"]
    assert git("rev-parse", "v1.2.3^", folder=tree) == tagged, "one commit on top of what was tagged and built"
    assert git("rev-parse", "v1^{commit}", folder=tree) == git("rev-parse", "v1.2.3^{commit}", folder=tree)


def test_v1_moves_with_the_next_release(tree: Path, pin: Callable[..., Any]) -> None:
    git("tag", "v1", "v1.2.3", folder=tree)
    assert pin().returncode == 0
    assert git("rev-parse", "v1^{commit}", folder=tree) == git("rev-parse", "v1.2.3^{commit}", folder=tree)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"revision": "0" * 40}, f"has the revision {'0' * 40}; expected "),
        ({"version": "1.2.2"}, "the image for linux/amd64 has the version 1.2.2; expected 1.2.3"),
        ({"platforms": ("amd64",)}, "the image is for linux/amd64; expected linux/amd64, linux/arm64"),
        ({"platforms": ()}, "the image is for no platform"),
        ({"image": "ghcr.io/octo/gate:v1.2.3"}, "expected REGISTRY/NAME@sha256: and 64 hexadecimal digits"),
        ({"image": f"{IMAGE}\n  args: x"}, "expected REGISTRY/NAME@sha256: and 64 hexadecimal digits"),
    ],
)
def test_an_image_of_another_tree_is_refused(tree: Path, pin: Callable[..., Any], given: Any, words: str) -> None:
    tagged = git("rev-parse", "v1.2.3", folder=tree)
    ran = pin(**given)
    assert (ran.returncode, words in ran.stderr) == (1, True), ran.stderr
    assert git("rev-parse", "v1.2.3", folder=tree) == tagged
    assert git("status", "--porcelain", folder=tree) == ""


def test_a_tree_behind_the_tag_is_refused(tree: Path, pin: Callable[..., Any]) -> None:
    (tree / "new.txt").write_text("", "utf-8")
    commit(tree)
    ran = pin()
    assert (ran.returncode, "v1.2.3 is not the commit that is checked out" in ran.stderr) == (1, True)
