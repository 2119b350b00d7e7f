"""Text as the checks see it: normalised, with a map back to the original; its sentences and words. Pure."""
