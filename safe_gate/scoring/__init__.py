"""Reads, scores and adds up cases: in one process, in several, in shards or on a cluster."""
