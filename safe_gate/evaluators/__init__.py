"""The evaluators: each measures recorded outputs and shows the results; none decides the verdict.

An evaluator is one folder here, or a separate package, and implements `core.evaluator.Evaluator`. The scoring code is
imported once it has cases. The names below are from `registry`, which looks for installed packages. The first use of
a name imports it: scoring a single text needs none.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from safe_gate.evaluators.registry import (
        BUILT_IN,
        EVALUATORS,
        PROBLEMS,
        outcomes_of,
        parts_of,
        present,
    )

__all__ = [
    "BUILT_IN",
    "EVALUATORS",
    "PROBLEMS",
    "outcomes_of",
    "parts_of",
    "present",
]


def __getattr__(name: str) -> Any:
    """Return what `registry` has under one of the names above."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.registry"), name)
