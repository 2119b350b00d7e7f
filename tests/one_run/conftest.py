"""What several tests of this folder need."""

import pytest


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set what the Actions runner sets."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_OUTPUT", "output")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary")
