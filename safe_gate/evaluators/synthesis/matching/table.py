"""Compiled phrases with the steps that they take through texts, so that a run of few cases works out few. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from safe_gate.evaluators.synthesis.matching.network import Classes, Network, Rows, Steps, Table, compiled
from safe_gate.evaluators.synthesis.matching.phrases import Automata, Automaton
from safe_gate.evaluators.synthesis.matching.rules import CONTEXTS, Rule, name_of
from safe_gate.evaluators.synthesis.matching.tokens import END


def table(rules: Mapping[str, Sequence[Rule]], classes: Classes, texts: Mapping[str, Iterable[Sequence[str]]]) -> Table:
    """Return the phrases of rules by the field they look in, and the contexts that these name, compiled.

    The table knows the way through `texts`, given as tokens by field.
    """
    phrases = {
        field: [*dict.fromkeys(phrase for rule in some for phrase in rule.phrases)] for field, some in rules.items()
    }
    contexts = {
        name_of(context): context
        for rule in chain.from_iterable(rules.values())
        for context in (*(getattr(rule, name) for name in CONTEXTS), *((phrase,) for _, phrase in rule.cancelled_by))
        if context
    }
    return _table(compiled({**phrases, **contexts}, classes), phrases, texts)


def _table(
    network: Network, phrases: Mapping[str, Sequence[str]], texts: Mapping[str, Iterable[Sequence[str]]]
) -> Table:
    """Return a network with the steps of some lists through texts, given as tokens by the list's name."""
    automata = Automata(network)
    made = {name: automata.of(name) for name in phrases}
    for name, one in made.items():
        for words in texts.get(name, ()):
            one.find(words)
    unnamed = automata.unnamed()
    symbols = len(network.meanings.starts) + len(unnamed.starts) - 2
    return Table(network, phrases, unnamed, {name: _steps(one, symbols, automata) for name, one in made.items()})


def _steps(automaton: Automaton, symbols: int, automata: Automata) -> Steps:
    """Return the steps taken so far, except at the ends of sentences, given the number of symbols."""
    last = automata.symbols[END]
    states = [*automaton.beginnings]
    numbers = {id(state): number for number, state in enumerate(states, 1)}
    rows: list[list[tuple[int, int]]] = []
    for state in states:  # `states` grows in the loop
        rows.append([])
        for symbol in sorted(key for key in state if isinstance(key, int) and key != last):
            target = state[symbol]
            if target is not None and id(target) not in numbers:
                states.append(target)
                numbers[id(target)] = len(states)
            rows[-1].append((symbol, numbers[id(target)] if target is not None else 0))
    return Steps(
        alike=[*map(automaton.same, range(symbols))],
        nodes=Rows.of(state.nodes for state in states),
        ends=Rows.of(sorted(chain.from_iterable(map(automata.network.ends.row, state.nodes))) for state in states),
        symbols=Rows.of([symbol for symbol, _ in row] for row in rows),
        targets=Rows.of([target for _, target in row] for row in rows),
    )
