"""A test of `make test` that takes too long fails."""

from __future__ import annotations

import pytest

from tests import conftest


@pytest.mark.parametrize(("seconds", "fails"), [(conftest.MOST_SECONDS - 1, False), (conftest.MOST_SECONDS + 1, True)])
def test_a_test_may_use_five_seconds_of_processor_time(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, seconds: int, fails: bool
) -> None:
    started = request.node.stash[conftest.STARTED]
    monkeypatch.setattr(conftest, "is_free", lambda item: False)
    monkeypatch.setattr(conftest, "_processor_time", lambda: started + seconds)
    hook = conftest.pytest_runtest_teardown(request.node)
    next(hook)
    with pytest.raises(pytest.fail.Exception if fails else StopIteration, match="more than 5;" if fails else None):
        hook.send(None)
