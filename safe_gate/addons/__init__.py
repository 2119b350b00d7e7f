"""Packages beside the core, each used through its `__init__` alone. A package is loaded when it is first used.

The core writes `from safe_gate import addons`, and then `addons.page.history`; it imports nothing else from here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from safe_gate.addons import importers, page, scale, sinks, training

ROOMS = {
    "importers": "converts what other tools recorded into cases or outputs: `safe-gate import`",
    "page": "draws the HTML page of a run, and the history of several runs",
    "scale": "shards of a run, a dask cluster, and Parquet files",
    "sinks": "sends the results of a run as events to a file, a webhook or OpenTelemetry",
    "training": "learns rules from marked cases: `safe-gate rules train`",
}

__all__ = ["importers", "page", "scale", "sinks", "training"]


def __getattr__(name: str) -> Any:
    """Import a package of `ROOMS`."""
    if name not in ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
