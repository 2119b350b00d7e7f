"""What several tests of this folder need."""

from __future__ import annotations

import pytest

from tests.support.weakening import committed_gate


@pytest.fixture
def base() -> str:
    """Make a repository with a gate and its cases; return its only commit."""
    return committed_gate()
