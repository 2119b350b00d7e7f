"""Converts what other tools recorded into cases or outputs: `safe-gate import`."""
