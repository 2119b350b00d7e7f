"""Text as the checks see it: normalised, with a map back to the original; sentences; similarity. Pure."""
