"""What a run is compared with: an earlier report or a commit."""
