"""Values, text, statistics, digests and validation, which every other room uses. Pure."""
