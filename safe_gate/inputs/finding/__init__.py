"""Finds the files that patterns and settings name, in a folder, a commit or a clone."""
