"""What several tests of this folder need."""

import pytest

from tests.support.cases import Patch


@pytest.fixture
def runner(monkeypatch: Patch) -> None:
    """Set what the Actions runner sets."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_OUTPUT", "output")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary")
