"""Shards of a run, a dask cluster, and Parquet files."""

from safe_gate.addons.scale import cluster, parquet, shards
from safe_gate.addons.scale.shards import Content, Shard, Shards

__all__ = ["Content", "Shard", "Shards", "cluster", "parquet", "shards"]
