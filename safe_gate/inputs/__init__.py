"""Cases, batches, packs and outputs, read from files, globs, commits and Parquet."""
