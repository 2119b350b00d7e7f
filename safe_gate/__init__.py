"""SAFE Gate: decides before a merge whether recorded outputs of a language-model application got worse.

Python code calls `score_reply`, `score_output` and `run` (docs/library.md). They are imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from safe_gate.calls import GateError, Run, run
    from safe_gate.reply import score_output, score_reply

__version__ = "1.0.0"

_HOMES = {
    **dict.fromkeys(("GateError", "Run", "run"), "calls"),
    **dict.fromkeys(("score_output", "score_reply"), "reply"),
}

__all__ = ["GateError", "Run", "run", "score_output", "score_reply"]


def __getattr__(name: str) -> Any:
    """Return what is public under a name, from the module that has it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
