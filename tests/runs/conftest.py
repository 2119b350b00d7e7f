"""What several tests of this folder need."""

from __future__ import annotations

import pytest

from tests.support.cases import (
    safe_case,
    turn,
)
from tests.support.git import commit, git
from tests.support.weakening import (
    CONFIG,
    needles,
    put,
)


@pytest.fixture
def base() -> str:
    """Make a repository whose only commit has a gate and its cases; return the commit."""
    git("init", "--quiet")
    put(
        CONFIG,
        turn("a"),
        turn("</code> @octo | b", tags=["<b>@octo | x"]),
        cases=(safe_case("s", expectations=needles("fever", "fever")),),
    )
    return commit()


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set what the Actions runner sets."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_OUTPUT", "output")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary")
