"""How a check judges the clauses found in a turn: when it applies, what counts, how it decides. Pure."""
