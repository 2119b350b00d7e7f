import pytest

from tests.support.github import InActions
from tests.support.weakening import Against, committed_gate, pull_request


@pytest.fixture
def base() -> str:
    """Make a repository with a gate and its cases; return its only commit."""
    return committed_gate()


@pytest.fixture
def against(in_actions: InActions) -> Against:
    return lambda base: in_actions(payload=pull_request(base))
