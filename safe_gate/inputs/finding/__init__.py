"""What patterns and settings name: the files of a folder, of a commit, of a clone."""
