from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.browser import Browser, chromium
from tests.support.cases import BAD, GOOD, SafeGate, turn, write_cases
from tests.support.git import commit, git
from tests.support.html import PAGE, RUN


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture
def changed(safe_gate: SafeGate, browser: Browser) -> Callable[..., None]:
    """Return a function that runs the gate on cases that changed since a commit or a report, and opens the page."""

    def run(*flags: str, with_report: bool = False, **view: Any) -> None:
        write_cases(Path("c.jsonl"), turn("same"), turn("other"), turn("worse"))
        git("init", "--quiet")
        commit()
        if with_report:
            safe_gate("run", "--synthesis-cases", "c.jsonl", "--report-dir", "old")
        changes = turn("other", assistant=GOOD.replace("talk", "speak")), turn("worse", assistant=BAD)
        write_cases(Path("c.jsonl"), turn("same"), *changes)
        baseline = "old/safe-gate.json" if with_report else "HEAD"
        safe_gate(*RUN, "--synthesis-cases", "c.jsonl", "--baseline", baseline, *flags)
        browser.open(PAGE, **view)

    return run
