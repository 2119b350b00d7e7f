"""What the user may set, and where they set it."""
