"""Shell: cases on their way to be scored, with their problems and files, and what is asked of them. Reads files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.figures import first_few, plural
from safe_gate.core.given import Case, Lines, selects
from safe_gate.gate.weakening import Asked
from safe_gate.inputs import case_files, recorded
from safe_gate.inputs.case_files import CaseFiles
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Problem, Problems
from safe_gate.model.report import InputFile
from safe_gate.model.spool import Spool
from safe_gate.render.untrusted import quoted
from safe_gate.scoring.asked import Snapshot, given, is_wanted, settings, unfiltered
from safe_gate.scoring.refusals import as_shown, none_wanted
from safe_gate.settings.model import Settings

T = TypeVar("T")


Part = recorded.Part | tuple[Case, ...]
"""Some cases: lines that hold them, or cases of documents, which are read already."""

Other = Problem | InputFile | recorded.Skipped


def parts_of(files: CaseFiles, size: int) -> Iterator[Part | Other]:
    """Yield an evaluator's cases in parts of about `size`, with problems and files."""
    if isinstance(files.evaluator.input, Lines):
        yield from recorded.parts(files, size)
        return
    some: list[Case] = []
    for item in recorded.cases(files, {}):
        if isinstance(item, Other):
            yield item
            continue
        some.append(item)
        if len(some) == size:
            yield tuple(some)
            some.clear()
    if some:
        yield tuple(some)


def cases(files: CaseFiles, settings: JsonObject) -> Iterator[Case | Other]:
    """Yield an evaluator's cases that settings leave in, with problems and files; scores none."""
    evaluator = files.evaluator
    found = recorded.cases(files, settings)
    return (
        item
        for item in found
        if isinstance(item, Other) or (is_wanted(evaluator, item, settings) and selects(settings, item.groups))
    )


def case_counts(options: Settings) -> tuple[dict[str, int], tuple[Problem, ...]]:
    """Return how many cases each evaluator that has inputs would score, and what is wrong with the inputs."""
    counts, own = dict[str, int](), settings(options)
    problems: tuple[Problem, ...] = ()
    for evaluator in given(options):
        taken = Intake(cases(case_files.of(evaluator, options), own))
        counts[evaluator.name] = sum(1 for _ in taken.cases())
        found = taken.problems
        if not found and not counts[evaluator.name] and (lacking := none_wanted(evaluator, own)):
            found = (lacking,)
        problems += found
    return counts, as_shown(problems, options.text)


def report_skipped(skipped: Sequence[str], setting: str, show: Callable[[str], None]) -> None:
    """Print which of our own files the globs of a setting skipped, if any; no report depends on them."""
    if skipped:
        count = plural(len(skipped), "file")
        named = quoted(first_few(skipped, len(skipped), _MOST_SKIPPED))
        show(f"safe-gate: skipped {count} of its own that {setting} matches: {named}")


_MOST_SKIPPED = 20


class Intake(Generic[T]):
    """A stream of cases. The problems and files found among them are available once it is read.

    `count` is how many cases it gave, `skipped` are the files of our own that a glob passed over. With a problem
    there will be no verdict: from there on it looks for others only.
    """

    def __init__(self, items: Iterable[T | Problem | InputFile | recorded.Skipped]) -> None:
        self._items = items
        self._found = Problems()
        self.inputs: list[InputFile] = []
        self.skipped: list[str] = []
        self.count = 0

    def add(self, problem: Problem) -> None:
        """Take in a problem that was found with a case."""
        self._found.add(problem)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems, as many of a file as are kept."""
        return self._found.kept()

    def cases(self) -> Iterator[T]:
        """Yield the cases, as long as there is no problem."""
        for item in self._items:
            if isinstance(item, Problem):
                self._found.add(item)
            elif isinstance(item, InputFile):
                self.inputs.append(item)
            elif isinstance(item, recorded.Skipped):
                self.skipped.append(item.path)
            elif not self._found:
                self.count += 1
                yield item


def read(evaluator: Evaluator, side: Snapshot) -> tuple[Sequence[Asked], list[InputFile]]:
    """Return what is asked of the cases of a side, and their files; scores none.

    Filters leave no case out: a case that is left out here may be judged elsewhere. Raises CannotJudge with every
    problem of the cases.
    """
    taken = Intake(cases(side.files_of(evaluator), unfiltered(side.settings)))
    found = Spool(map(Asked.of, taken.cases()))
    if taken.problems:
        raise CannotJudge(*as_shown(taken.problems, side.options.text))
    return found, taken.inputs
