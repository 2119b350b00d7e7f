"""Synthesis: does a reply respect a person's agency, avoid false comfort, and stay with them."""
