"""What every test has: the command line as a function, and a clean environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from safe_gate import cli
from tests.support.cases import Ran
from tests.support.examples import THOROUGH
from tests.support.github import gate, github, in_actions, start, waits  # noqa: F401 - fixtures for every test

settings.register_profile("untimed", deadline=None)  # how fast a busy machine is proves nothing
settings.register_profile(THOROUGH, deadline=None)
settings.load_profile("untimed")


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Run every test in an empty folder, without a runner's or a user's variables."""
    for name in list(os.environ):
        if name.startswith(("GITHUB_", "INPUT_", "SAFE_", "SOURCE_DATE_EPOCH")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def safe_gate(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run a command in this process."""

    def run(*arguments: str | Path) -> Ran:
        capsys.readouterr()
        try:
            code = cli.main([str(argument) for argument in arguments])
        except SystemExit as exit_:  # --help and --version leave through argparse
            code = int(exit_.code or 0)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Leave a test that is marked `untraced` out of coverage."""
    tracer = sys.gettrace()
    if is_left_out := item.get_closest_marker("untraced") is not None:
        sys.settrace(None)
    try:
        yield
    finally:
        if is_left_out:
            sys.settrace(tracer)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave what needs a browser to `make soak`."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.soak)
