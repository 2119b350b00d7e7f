"""Packages beside the core, each used through its `__init__` alone. A package is loaded when it is first used.

The core writes `from safe_gate import addons`, and then `addons.page.history`; it imports nothing else from here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from safe_gate.addons import importers, page, scale, sinks, training

__all__ = ["importers", "page", "scale", "sinks", "training"]


def __getattr__(name: str) -> Any:
    """Import a package, or the module `training`."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
