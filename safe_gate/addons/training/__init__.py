"""Learns rules from marked cases: `safe-gate rules train`."""

from safe_gate.addons.training.lesson import taught

__all__ = ["taught"]
