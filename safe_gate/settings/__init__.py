"""The settings: their names, types and defaults, and the sources they come from."""
