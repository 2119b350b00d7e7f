"""Draws the HTML page of a run, and the history of several runs."""

from safe_gate.addons.page import history, report

__all__ = ["history", "report"]
