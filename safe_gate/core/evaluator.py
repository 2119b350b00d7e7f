"""The interface of an evaluator: a package that measures recorded outputs. Pure.

Evaluators measure, the gate judges, renderers know only the report. All other code loops over evaluators and
names none. An evaluator does no IO: it takes bytes and values, and returns values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from safe_gate.core.given import (
    Case,
    CaseAt,
    Documents,
    FileKind,
    Grouping,
    Imports,
    Lines,
    OwnFile,
    PartShape,
    RuleFiles,
    Scored,
)
from safe_gate.core.presentation import Presentation
from safe_gate.core.setting import SCORING_FLAGS

if TYPE_CHECKING:
    from safe_gate.core.model import Failure, JsonObject, Problem
    from safe_gate.core.rules import Rule
    from safe_gate.core.setting import Group
    from safe_gate.core.validate import Fault


class Evaluator(Presentation, Protocol):
    """An evaluator. Methods with a body here are optional: a package overrides the ones it needs.

    `part` is always its part of a report, a `part_type`. `result` is one of its `results`, a `result_type`. `policy`
    has the settings that a report records under `provenance.policy`, by the names of options.
    """

    name: str
    """Its name, in lower case with underscores. Its part of the report has the same name."""

    title: str
    """Its name for readers."""

    part_type: type
    """The type of its part of a report: a frozen dataclass that `model.codec` writes, with `results`."""

    result_type: type
    """The type of a result: a frozen dataclass with what `core.model.CaseResult` has."""

    measures: str
    """The word for what a case fails, as waivers write it: `metric` or `check`."""

    settings: type[Group]
    """Its settings: a model with a field for each."""

    input: Lines | Documents
    """Its input files."""

    kinds: tuple[FileKind, ...]
    """The kinds of its input files."""

    imports: Imports | None = None
    """What `import` writes for it, None for nothing."""

    @property
    def commands(self) -> Mapping[str, tuple[str, ...]]:
        """The general settings that its commands have flags of, by command.

        The first command scores its cases alone, and can write its part as a file. It has the name of the evaluator.
        """
        return {self.name.replace("_", "-"): SCORING_FLAGS}

    part: PartShape
    """The shape of its part of the report."""

    grouping: Grouping
    """What cases are grouped by."""

    reply: str
    """The field of a case's recorded texts that a reader looks at first."""

    guards: Mapping[str, tuple[str, str]] = MappingProxyType({})
    """What the rules on single compared cases look for, by those that apply: `new-violations`, `label-drops`.

    Each has the words for one such case and for several, such as `falls from Pass to Fail`.
    """

    compared_on: str = ""
    """For readers: which cases the metrics of a comparison cover, if not all that both runs have."""

    counting_passes: tuple[str, ...] = ()
    """The settings of rules that count cases that pass but are meant to fail (`is_excused`)."""

    rule_files: RuleFiles | None = None
    """A team's files of rules that its scores depend on. The report has their digest."""

    # --- its cases

    def faults(self, _value: JsonObject, /) -> Iterator[Fault]:
        """Yield the problems of an object of `Lines` that fits its schema."""
        yield from ()

    def parse(self, value: JsonObject, at: CaseAt, settings: JsonObject, /) -> Iterator[Case]:
        """Yield the cases of an object of `Lines` without faults, several if it holds several replies to judge.

        Of `Documents`, the object is a case with its `output`.
        """
        ...

    # --- rules and settings that it scores by

    def recipe(self, settings: JsonObject, own: Sequence[OwnFile], /) -> str:
        """Return everything that scores depend on besides cases and code, as a text for another process.

        `settings` are by the names of options. `own` are a team's files of rules, which fit their schema. Raises
        CannotJudge with every problem in them.
        """
        ...

    def made(self, recipe: str, /) -> Any:
        """Return what `recipe` describes, ready for scoring. Raises CannotJudge as `recipe` does."""
        ...

    # --- scores and totals; `by` is what `made` returned

    def score(self, case: Any, by: Any, /) -> Any:
        """Return a case's result, which depends on the case and `by` alone."""
        ...

    def recounted(self, _result: Any, _case: Any, _by: Any, /) -> Any:
        """Recompute a result from what a result of a shard holds. A sound one gives an equal one.

        The texts and the cluster of the case may be withheld. None means that the case must be scored again.
        """
        return None

    def totals(self, scored: Sequence[tuple[Any, Any]], by: Any, /) -> Any:
        """Return the totals of some cases with their results: a value, which `+` adds to others in any order."""
        ...

    def misfit(self, _case: Any, _by: Any, /) -> Problem | None:
        """Return the problem that prevents scoring a case by `_by`, such as a check that nothing defines."""
        return None

    def unserved(self, _totals: Any, _by: Any, /) -> Iterator[Problem]:
        """Yield a problem for whatever cases ask for but nothing checks: it would always pass."""
        yield from ()

    def report(self, totals: Any, results: Sequence[Any], by: Any, generated_at: str, /) -> Any:
        """Return its part of the report, of all cases, in order."""
        ...

    # --- the gate

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The gate's rules on its part, in the order they are reported. Each is named as its option."""
        return ()

    @property
    def group_rules(self) -> tuple[Rule, ...]:
        """The gate's rules on a group of cases, on the group's figures."""
        return ()

    def own_rules(self, _limits: Mapping[str, Any], /) -> Iterator[tuple[Rule, Any]]:
        """Yield the gate's rules for definitions in a team's files, each with its limit, from limits by name."""
        yield from ()

    def narrowed(self, _part: Any, _results: Sequence[Any], /) -> Any:
        """Return its part of a report over some of its results, as far as rules on rates read it.

        Such a rule also judges the cases alone that the baseline has. None: it judges all cases together only.
        """
        return None

    def failures(self, part: Any, /) -> Iterator[Failure]:
        """Yield the failing cases, each with the metrics or checks that fail. Waivers apply to these."""
        ...

    def is_excused(self, _group: str, _asks: JsonObject, _policy: JsonObject, /) -> bool:
        """Return whether a group of a case says that it is meant to fail.

        `_asks` is `Case.asks()` or a result's `asks`.
        """
        return False

    def missable(self, _key: str, _asks: JsonObject, _settings: Mapping[str, Any], /) -> Sequence[int]:
        """Return how many entries of a list in what a case asks for its output may miss, for each limit on its result.

        Empty for a list of which it may miss none.
        """
        return ()

    def scored_by(self, part: Any, policy: JsonObject, /) -> Any:
        """Return the JSON value that scores follow from besides cases, code and files of rules.

        Two runs are compared as equals only if it is the same. None for `part`: it was given no input.
        """
        ...

    def recorded(self, _policy: JsonObject, /) -> Scored:
        """Return what its part records of the settings that it scores by, as `scored_by` reads it."""
        return Scored({})

    def step_outputs(self, _part: Any, /) -> dict[str, str]:
        """Return the step outputs that follow from its part, by name; each is empty without a part."""
        return {}
