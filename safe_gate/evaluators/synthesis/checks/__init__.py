"""How a check judges the clauses of a turn: when it applies, what counts, and how it decides. Pure."""
