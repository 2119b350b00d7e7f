"""What a report can be checked by, and checking it."""
