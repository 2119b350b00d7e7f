"""Verifies reports: compares their digests and recomputes them."""
