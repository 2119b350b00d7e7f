"""Shell: what is asked of cases, in a temporary file where there are many. Reads files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.model import CannotJudge, InputFile, JsonObject
from safe_gate.gate.weakening import Asked
from safe_gate.inputs.spool import Spool, Store, lines
from safe_gate.scoring import asked, intake, refusals
from safe_gate.scoring.snapshot import Snapshot
from safe_gate.scoring.tally import Fact


class Facts:
    """What is asked of the cases of an evaluator, by id, made of `tally.Fact`s as JSON: a `weakening.OfCases`."""

    def __init__(self, entries: Iterable[JsonObject]) -> None:
        self._entries = entries

    def items(self) -> Iterator[tuple[str, Asked]]:
        """Yield what is asked of each case, with its id."""
        for one in self._entries:
            fact = Fact.from_json(one)
            yield fact.id, Asked(fact.digest, fact.asks)

    def get(self, case_id: str) -> Asked | None:
        """Return what is asked of a case, None if there is no such case."""
        if not (found := self._by_id.get(case_id)):
            return None
        fact = Fact.from_json(found)
        return Asked(fact.digest, fact.asks)

    @cached_property
    def _by_id(self) -> Store:
        found = Store()
        for one in self._entries:
            found.setdefault(Fact.from_json(one).id, one)
        return found


def read(evaluator: Evaluator, side: Snapshot) -> tuple[Facts, list[InputFile]]:
    """Return what is asked of the cases of a side, and their files; scores none.

    Filters leave no case out: a case that is left out here may be judged elsewhere. Raises CannotJudge with every
    problem of the cases.
    """
    taken = intake.Intake(intake.cases(side.files_of(evaluator), asked.unfiltered(side.settings)))
    found = Spool()
    for case in taken.cases():
        found.take(lines([Fact.of(case).to_json()]))
    if taken.problems:
        raise CannotJudge(*refusals.as_shown(taken.problems, side.options.text))
    return Facts(found), taken.inputs
