"""Shards of a run, a dask cluster, and Parquet files."""

from safe_gate.addons.scale import cluster, parquet, shards
from safe_gate.addons.scale.shards import Shard, ShardContent, Shards

__all__ = ["Shard", "ShardContent", "Shards", "cluster", "parquet", "shards"]
