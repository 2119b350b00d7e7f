"""The entries of `results[]` that the parts of all evaluators share, read one at a time. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.model import JsonObject, Place, entries_of
from safe_gate.evaluators.entry import StoredEntry


class CaseResult(NamedTuple):
    """An entry of an evaluator's `results[]`, which is read as its properties are asked for."""

    evaluator: Evaluator
    entry: JsonObject

    @property
    def id(self) -> str:
        """The id of the case."""
        return str(self.entry[self.evaluator.input.id_key])

    @property
    def place(self) -> Place:
        """The place of the case."""
        source = self.entry["source"]
        return Place(source["path"], source["line"])

    @property
    def batch(self) -> str:
        """The id of the batch, "" for none."""
        return self.evaluator.batch_of(self.entry)

    @property
    def groups(self) -> Sequence[str]:
        """The archetype or the tags of the case."""
        return self.evaluator.grouping.groups_of(self.entry)

    @property
    def case_digest(self) -> str:
        """The digest of the case, which its output does not change."""
        return StoredEntry(self.entry).case_digest


def results_of(evaluator: Evaluator, part: JsonObject | None) -> Iterator[CaseResult]:
    """Yield the results in an evaluator's part of a report, none without a part."""
    return (CaseResult(evaluator, entry) for entry in (entries_of(part) if part else ()))


def count_of(part: JsonObject) -> int:
    """Return how many cases a part has results of."""
    return len(entries_of(part))


def numbers_of(part: JsonObject) -> Mapping[str, float]:
    """Return the numbers in the summary of a part."""
    return {key: value for key, value in part["summary"].items() if isinstance(value, int | float)}
