"""Values, text, statistics, digests and validation, which every other package uses. Pure."""
