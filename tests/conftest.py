"""What every test has: the command line as a function, and a clean environment."""

import gc
import os
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from safe_gate import cli
from tests.support.cases import Ran
from tests.support.examples import THOROUGH, is_thorough
from tests.support.github import gate, github, in_actions, start, waits  # noqa: F401 - fixtures for every test

TESTS = Path(__file__).parent
_TRACED = "gate evaluators core model settings addons commands inputs test_library.py baseline/test_lock.py"
TRACED = {TESTS / name for name in _TRACED.split()}
"""Tests of which every case is traced: of rooms that are covered completely, and of rooms whose tests are quick."""
MOST_SECONDS = 5
"""The processor time that one test of `make test` may use."""
STARTED = pytest.StashKey[float]()

UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""How fast a busy machine is proves nothing, neither of the code nor of the examples that it makes."""
settings.register_profile("untimed", UNTIMED, max_examples=20)
settings.register_profile(THOROUGH, UNTIMED)
settings.load_profile("untimed")


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Run every test in an empty folder, without a runner's or a user's variables."""
    for name in list(os.environ):
        if name.startswith(("GITHUB_", "CI_JOB_NAME", "INPUT_", "SAFE_", "SOURCE_DATE_EPOCH")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "400")  # most tests look for words, which a narrow table breaks
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def safe_gate(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run a command in this process."""

    def run(*arguments: str | Path) -> Ran:
        capsys.readouterr()
        code = cli.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


def _is_traced(item: pytest.Item) -> bool:
    """Return whether `make coverage` runs a test.

    Tracing doubles what a test costs. No property is traced, which tries the same code many times. Of a parametrised
    test outside of `TRACED`, the first case alone is. All tests together can only cover more, so the figures hold.
    """
    if item.get_closest_marker("untraced") is not None or is_hypothesis_test(getattr(item, "obj", None)):
        return False
    case = getattr(item, "callspec", None)
    return case is None or not any(case.indices.values()) or not TRACED.isdisjoint((item.path, *item.path.parents))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """Note when a test starts, fixtures included."""
    item.stash[STARTED] = sum(os.times()[:4])  # of this process and its children
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test that takes too long for `make test`. A busy machine changes wall time, so processor time counts."""
    done = yield
    taken = sum(os.times()[:4]) - item.stash[STARTED]
    is_free = item.config.option.cov_source or is_thorough() or item.get_closest_marker("soak")  # traced, or in soak
    if taken > MOST_SECONDS and not is_free:
        pytest.fail(f"took {taken:.1f} s of processor time, over {MOST_SECONDS}; speed it up or mark it `soak`", False)
    return done


def pytest_collection_finish() -> None:
    """Let the garbage collector skip what lives as long as the tests."""
    gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave what needs a browser to `make soak`, which tries each property too; trace no more than `make coverage` does."""
    for item in items:
        if is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker(pytest.mark.thorough)
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.soak)
    if config.option.cov_source:
        items[:] = [item for item in items if _is_traced(item)]
