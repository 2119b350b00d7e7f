"""Baselines: the earlier report or the commit that a run is compared with."""
