"""One run, from its settings to its report, its verdict and its exit code."""
