"""Text, statistics, digests, settings and validation, which every other package uses. Pure."""
