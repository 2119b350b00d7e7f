"""Shell: what is asked of cases. Reads files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from safe_gate.core.evaluator import Evaluator
from safe_gate.gate.weakening import Asked
from safe_gate.model.problems import CannotJudge
from safe_gate.model.report import InputFile
from safe_gate.model.spool import Spool
from safe_gate.scoring import asked, intake, refusals
from safe_gate.scoring.snapshot import Snapshot
from safe_gate.scoring.tally import Fact


class Facts:
    """What is asked of the cases of an evaluator, by id: a `weakening.OfCases`."""

    def __init__(self, facts: Sequence[Fact]) -> None:
        self._facts = facts

    def items(self) -> Iterator[tuple[str, Asked]]:
        """Yield what is asked of each case, with its id."""
        for one in self._facts:
            yield one.id, Asked(one.digest, one.asks)

    def get(self, case_id: str) -> Asked | None:
        """Return what is asked of a case, None if there is no such case."""
        if (index := self._by_id.get(case_id)) is None:
            return None
        found = self._facts[index]
        return Asked(found.digest, found.asks)

    @cached_property
    def _by_id(self) -> dict[str, int]:
        return {one.id: index for index, one in enumerate(self._facts)}


def read(evaluator: Evaluator, side: Snapshot) -> tuple[Facts, list[InputFile]]:
    """Return what is asked of the cases of a side, and their files; scores none.

    Filters leave no case out: a case that is left out here may be judged elsewhere. Raises CannotJudge with every
    problem of the cases.
    """
    taken = intake.Intake(intake.cases(side.files_of(evaluator), asked.unfiltered(side.settings)))
    found = Spool(map(Fact.of, taken.cases()))
    if taken.problems:
        raise CannotJudge(*refusals.as_shown(taken.problems, side.options.text))
    return Facts(found), taken.inputs
