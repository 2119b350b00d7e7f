"""Cases read, scored and added up: in one process, in several, in shards or on a cluster."""
