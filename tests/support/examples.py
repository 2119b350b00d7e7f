"""How many examples a property is tried with, where each is a whole run."""

from hypothesis import settings

THOROUGH = "thorough"
"""The profile of `make soak`, which runs the tests that are marked `thorough` with all their examples."""


def is_thorough() -> bool:
    """Return whether tests run as thoroughly as in `make soak`."""
    return settings.get_current_profile_name() == THOROUGH


def examples(few: int, many: int) -> settings:
    """Return settings for a few examples in `make test`, and many in `make soak`."""
    return settings(max_examples=many if is_thorough() else few)
