"""Verifies reports: their digests, and what recomputing them gives."""
