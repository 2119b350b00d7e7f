"""The interface of an evaluator: a package that measures recorded outputs. Pure.

Evaluators measure, the gate judges, renderers know only the report. All other code loops over evaluators and
names none. An evaluator does no IO: it takes bytes and values, and returns values.

Here `part` is always its part of a report, and `result` is one of its `results`, of the types that `PartShape` names.
`policy` has the settings that a report records under `provenance.policy`, by the names of options. `by` is what `made`
returned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from safe_gate.core.given import (
    Case,
    CaseAt,
    Documents,
    Grouping,
    Imports,
    Lines,
    OwnFile,
    PartShape,
    RuleFiles,
    Scored,
)
from safe_gate.core.setting import SCORING_FLAGS

if TYPE_CHECKING:
    from safe_gate.core.rules import Rule
    from safe_gate.core.setting import Group
    from safe_gate.core.validate import Fault
    from safe_gate.model.codec import JsonObject
    from safe_gate.model.results import Failure, Judgement, Metric, Outcome
    from safe_gate.model.shown import BatchEvent, Explained, Finding, Mark, Rate, Section
    from safe_gate.model.untrusted import Phrase


class Evaluator(Protocol):
    """An evaluator. What has a body here is optional: a package overrides what it needs."""

    name: str
    """Its name, in lower case with underscores. Its part of the report has the same name."""

    title: str
    """Its name for readers."""

    settings: type[Group]
    """Its settings: a model with a field for each."""

    input: Lines | Documents
    """Its input files."""

    imports: Imports | None = None
    """What `import` writes for it, None for nothing."""

    part: PartShape
    """The shape of its part of the report."""

    grouping: Grouping
    """What cases are grouped by."""

    trial: tuple[str, str] | None = None
    """A setting and a value of it: `doctor` tells how many cases would change with that. None for nothing."""

    rule_files: RuleFiles | None = None
    """A team's files of rules that its scores depend on. The report has their digest."""

    @property
    def commands(self) -> Mapping[str, tuple[str, ...]]:
        """The general settings that its commands have flags of, by command.

        The first command scores its cases alone, and can write its part as a file. It has the name of the evaluator.
        """
        return {self.name.replace("_", "-"): SCORING_FLAGS}

    @property
    def gate(self) -> Judging:
        """What the gate judges its part by."""

    @property
    def present(self) -> Presentation:
        """How readers and sinks see its part."""

    @property
    def compare(self) -> Comparing:
        """How its part is compared between two runs."""

    def faults(self, _value: JsonObject, /) -> Iterator[Fault]:
        """Yield the problems of an object that fits its schema; of `Documents`, of a case with its `output`."""
        yield from ()

    def parse(self, value: JsonObject, at: CaseAt, settings: JsonObject, /) -> Iterator[Case]:
        """Yield the cases of an object of `Lines` without faults, several if it holds several replies to judge.

        Of `Documents`, the object is a case with its `output`.
        """

    def recipe(self, settings: JsonObject, own: Sequence[OwnFile], /) -> str:
        """Return everything that scores depend on besides cases and code, as a text for another process.

        `settings` are by the names of options. `own` are a team's files of rules, which fit their schema. Raises
        CannotJudge with every problem in them.
        """

    def made(self, recipe: str, /) -> Any:
        """Return what `recipe` describes, ready for scoring. Raises CannotJudge as `recipe` does."""

    def score(self, case: Any, by: Any, /) -> Any:
        """Return a case's result, which depends on the case and `by` alone."""

    def recounted(self, _result: Any, _case: Any, _by: Any, /) -> Any:
        """Recompute a result from what a result of a shard holds. A sound one gives an equal one.

        The texts and the cluster of the case may be withheld. None means that the case must be scored again.
        """
        return None

    def totals(self, scored: Sequence[tuple[Any, Any]], by: Any, /) -> Any:
        """Return the totals of some cases with their results: a value, which `+` adds to others in any order."""

    def report(self, totals: Any, results: Sequence[Any], by: Any, generated_at: str, /) -> Any:
        """Return its part of the report, of all cases, in order."""


class Judging(Protocol):
    """What the gate judges a part by: the module `gate` of an evaluator, or an object with what it needs."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The gate's rules on its part, in the order they are reported. Each is named as its option."""

    @property
    def group_rules(self) -> tuple[Rule, ...]:
        """The gate's rules on a group of cases, on the group's figures."""

    @property
    def counting_passes(self) -> tuple[str, ...]:
        """The settings of rules that count cases that pass but are meant to fail (`is_excused`)."""

    def own_rules(self, _limits: Mapping[str, Any], /) -> Iterator[tuple[Rule, Any]]:
        """Yield the gate's rules for definitions in a team's files, each with its limit, from limits by name."""
        yield from ()

    def failures(self, part: Any, /) -> Iterator[Failure]:
        """Yield the failing cases, each with the metrics or checks that fail. Waivers apply to these."""

    def narrowed(self, _part: Any, _results: Sequence[Any], /) -> Any:
        """Return its part of a report over some of its results, as far as rules on rates read it.

        Such a rule also judges the cases alone that the baseline has. None: it judges all cases together only.
        """
        return None

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


class Figures(NamedTuple):
    """The figures of a part for readers and programs.

    `rates` begin with that of the cases that end as they should. `labels` count the cases with each label, from the
    best to the worst. `outputs` are step outputs by name; each is empty without a part.
    """

    rates: Sequence[Rate]
    labels: Mapping[str, int]
    outputs: Mapping[str, str]


class Presentation(Protocol):
    """How readers and sinks see a part: the module `present` of an evaluator."""

    @property
    def measures(self) -> str:
        """The word for what a case fails, as waivers write it: `metric` or `check`."""

    @property
    def explained(self) -> Mapping[str, Explained]:
        """The explanation of each metric or check for readers, by its name."""

    @property
    def fields(self) -> Mapping[str, str]:
        """The fields of a case's recorded texts in reading order, each with its title."""

    @property
    def reply(self) -> str:
        """The field that a reader looks at first."""

    def explanation(self, by: str, /) -> Explained:
        """Return the explanation of a metric or check, also of one that a team's files of rules define."""
        return self.explained[by]

    def measured(self, _part: Any, /) -> Sequence[str]:
        """Return the names of the metrics or checks that its part of the report may have judgements of, in order."""
        return tuple(self.explained)

    def section(self, part: Any, /) -> Section:
        """Return what readers see of its part, as values without a format. Recorded text is `Untrusted`."""

    def remarks(self, _part: Any, _policy: JsonObject, /) -> Iterator[Phrase]:
        """Yield what readers must know about how cases were scored, a sentence each."""
        yield from ()

    def figures(self, part: Any, /) -> Figures:
        """Return the figures of a part, or of None."""

    def finding(self, result: Any, /) -> Finding:
        """Return what readers see of one case."""

    def judgements(self, part: Any, result: Any, /) -> Iterator[Judgement]:
        """Yield the judgement of each metric or check of a case."""

    def decisions(self, _part: Any, _result: Any, /) -> Mapping[str, Phrase]:
        """Return a sentence for each metric or check: how it judged a case."""
        return {}

    def fields_of(self, _result: Any, _texts: JsonObject, /) -> Mapping[str, str]:
        """Return the fields of one result's texts with their titles; the reply is last, unless it is `reply`."""
        return self.fields

    def marks(self, _result: Any, _texts: JsonObject, /) -> Iterator[Mark]:
        """Yield what one result found in the case's texts. The known texts are given by field."""
        yield from ()

    def result_event(
        self, result: Any, judgements: Sequence[Judgement], /, *, with_text: bool
    ) -> tuple[str, dict[str, Any]]:
        """Return the type and the data of the event of a result; recorded text only `with_text`.

        For an evaluator of a package, the type is `safe.NAME.result`, and the data has `id` and `pass`
        (`event.schema.json`).
        """

    def batch_events(self, _part: Any, /) -> Iterator[BatchEvent]:
        """Yield an event for each batch of its part of the report.

        For an evaluator of a package the type is `safe.NAME.batch` (`event.schema.json` has the data).
        """
        yield from ()


class Comparing(Protocol):
    """How a part is compared between two runs: the module `gate` of an evaluator, or an object with what it needs."""

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """How results are compared, by the scores of their outcomes."""

    @property
    def guards(self) -> Mapping[str, tuple[str, str]]:
        """What the rules on single compared cases look for, by those that apply: `new-violations`, `label-drops`.

        Each has the words for one such case and for several, such as `falls from Pass to Fail`.
        """

    @property
    def compared_on(self) -> str:
        """For readers: which cases the metrics of a comparison cover, if not all that both runs have."""

    def metric(self, name: str, /) -> Metric:
        """Return how results are compared by a score, also by one that a team's files of rules define."""
        return self.metrics[name]

    def outcome(self, result: Any, /) -> Outcome:
        """Return the outcome of a result, to compare it with the same case of another run."""

    def scored_by(self, part: Any, policy: JsonObject, /) -> Any:
        """Return the JSON value that scores follow from besides cases, code and files of rules.

        Two runs are compared as equals only if it is the same. None for `part`: it was given no input.
        """

    def recorded(self, _policy: JsonObject, /) -> Any:
        """Return what its part records of the settings that it scores by, as `scored_by` reads it."""
        return Scored({})
