"""The values that a reply becomes on its way to a verdict, and the one codec that turns them into JSON and back."""
