"""The commands, top to bottom."""
