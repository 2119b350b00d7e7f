"""States of automata: what follows them is worked out when it is first asked for, and kept. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from safe_gate.evaluators.synthesis.matching.network import Rows, Steps

if TYPE_CHECKING:
    from safe_gate.evaluators.synthesis.matching.phrases import Automata

LAST = -1
"""The number of the end of a sentence, and the label that takes it alone."""
_MOST_WORDS = 10_000


class State(dict["int | frozenset[int]", "State | None"]):
    """A set of places in the phrases, with a map from each symbol asked so far to its state, None for no place.

    Symbols that the places take by the same labels lead to the same state, which is also kept by these labels. `ends`
    are the phrases that may end here, each with how many tokens earlier: 1 behind `$`, which is no token. A state known
    to `steps` has its `number` there.
    """

    __slots__ = ("_is_asked", "_labels", "_nodes", "automata", "ends", "number", "steps")

    def __init__(
        self,
        automata: Automata,
        nodes: Sequence[int] | None,
        ends: Sequence[tuple[int, int]],
        steps: Steps | None = None,
        number: int = 0,
    ) -> None:
        super().__init__()
        self.automata, self.ends, self.steps, self.number = automata, ends, steps, number
        self._nodes, self._is_asked = nodes, False
        self._labels: frozenset[int] | None = None

    @property
    def nodes(self) -> Sequence[int]:
        """The places."""
        if self._nodes is None and self.steps:
            self._nodes = self.steps.nodes.row(self.number)
        return self._nodes or ()

    def __missing__(self, key: int | frozenset[int]) -> State | None:
        if not isinstance(key, int):
            found = self.automata.following(self.nodes, key)
        elif key == LAST:
            found = self.automata.following(self.nodes, self.automata.meaning(key))
        elif self.steps and (step := self._step(self.steps.symbols, key)) is not None:
            state = self.steps.targets.numbers[step]
            found = self.automata.known(self.steps, state - 1) if state else None
        elif not self._is_asked:
            self._is_asked = True  # most states are asked once: the labels of all places would take too long
            found = self.automata.following(self.nodes, self.automata.taking(key))
        else:
            if self._labels is None:
                self._labels = self.automata.labels(self.nodes)
            taken = self._labels & self.automata.taking(key)
            found = self[taken] if taken else None
        self[key] = found
        return found

    def _step(self, symbols: Rows, symbol: int) -> int | None:
        """Return which of all steps takes a symbol from here, if a known one does."""
        end = symbols.starts[self.number + 1]
        step = bisect_left(symbols.numbers, symbol, symbols.starts[self.number], end)
        return step if step < end and symbols.numbers[step] == symbol else None


after = State.__getitem__
"""Return where a symbol leads from a state. Square brackets take several times as long for a subclass of `dict`."""


class Symbols(dict[str, int]):
    """A bounded cache of the symbols of tokens."""

    def __init__(self, named: Mapping[str, int], meant: Callable[[str], int]) -> None:
        super().__init__(named)
        self._named, self._meant = named, meant

    def __missing__(self, word: str) -> int:
        if len(self) >= len(self._named) + _MOST_WORDS:
            self.clear()
            self.update(self._named)
        number = self[word] = self._meant(word)
        return number
