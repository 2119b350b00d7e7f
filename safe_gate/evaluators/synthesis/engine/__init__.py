"""Phrases and patterns found in texts: notation, automata, rules, and what learns them. Pure."""
