"""What a check makes of the clauses found in a turn: when it applies, what counts, how it decides. Pure."""
