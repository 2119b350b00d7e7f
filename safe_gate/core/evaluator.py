"""The interface of an evaluator, which measures recorded outputs, and of its rules for the gate. Pure.

Evaluators measure, the gate judges, renderers know only the report. All other code loops over evaluators and
names none. An evaluator does no IO: it takes bytes and values, and returns values.

Here `part` is always its part of a report, and `result` is one of its `results`, of the types that `PartShape` names.
`policy` has the settings that a report records under `provenance.policy`, by the names of options. `by` comes from
`compile`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from safe_gate.core.case import (
    Case,
    CaseAt,
    Grouping,
    Input,
    OwnFile,
    PartShape,
    RuleFiles,
    Scored,
)
from safe_gate.core.figures import fixed, format_distinct, plural
from safe_gate.core.stats import wilson
from safe_gate.core.validate import Fault
from safe_gate.model.codec import JsonObject
from safe_gate.model.report import RuleOutcome
from safe_gate.model.results import (
    BatchEvent,
    Explanation,
    Failure,
    Finding,
    Judgement,
    Mark,
    Metric,
    Outcome,
    Phrase,
    Rate,
    Section,
    Severity,
)

if TYPE_CHECKING:
    from safe_gate.core.setting import Group  # models of pydantic take time to import, and a text is scored without

READING_FLAGS = ("config", "allow")
"""The general settings that every command of an evaluator has flags of."""

SCORING_FLAGS = (*READING_FLAGS, "bounds", "tag", "text")
"""The general settings that every command that scores has flags of."""


class Evaluator(Protocol):
    """An evaluator. What has a body here is optional: a package overrides what it needs."""

    name: str
    """Its name, in lower case with underscores. Its part of the report has the same name."""

    title: str
    """Its name for readers."""

    settings: type[Group]
    """Its settings: a model with a field for each."""

    input: Input
    """Its input files."""

    part: PartShape
    """The shape of its part of the report."""

    grouping: Grouping
    """What cases are grouped by."""

    trial: tuple[str, str] | None = None
    """A setting and a value of it: `doctor` tells how many cases would change with that. None for nothing."""

    weaker_if_more: frozenset[str] = frozenset()
    """The keys in `Case.asks()` with numbers, None for 0, of which more ask for less."""

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
        """Yield the problems of an object that fits its schema; where it is in a document, with its `output`."""
        yield from ()

    def parse(self, value: JsonObject, at: CaseAt, settings: JsonObject, /) -> Iterator[Case]:
        """Yield the cases of an object without faults, several if it holds several replies to judge.

        Where it is in a document, the object is a case with its `output`.
        """

    def recipe(self, settings: JsonObject, own: Sequence[OwnFile], /) -> str:
        """Return everything that scores depend on besides cases and code, as a text for another process.

        `settings` are by the names of options. `own` are a team's files of rules, which fit their schema. Raises
        CannotJudge with every problem in them.
        """

    def compile(self, recipe: str, /) -> Any:
        """Return what `recipe` describes, ready for scoring. Raises CannotJudge as `recipe` does."""

    def score(self, case: Any, by: Any, /) -> Any:
        """Return a case's result, which depends on the case and `by` alone."""

    def recompute(self, _result: Any, _case: Any, _by: Any, /) -> Any:
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
    def pass_counting_settings(self) -> tuple[str, ...]:
        """The settings of rules that count cases that pass but are meant to fail (`is_excused`)."""

    def own_rules(self, _limits: Mapping[str, Any], /) -> Iterator[tuple[Rule, Any]]:
        """Yield the gate's rules for definitions in a team's files, each with its limit, from limits by name."""
        yield from ()

    def failures(self, part: Any, /) -> Iterator[Failure]:
        """Yield the failing cases, each with the metrics or checks that fail. Waivers apply to these."""

    def restrict(self, _part: Any, _results: Sequence[Any], /) -> Any:
        """Return its part of a report over some of its results, as far as rules on rates read it.

        Such a rule also judges the cases alone that the baseline has. None: it judges all cases together only.
        """
        return None

    def is_excused(self, _group: str, _asks: JsonObject, _policy: JsonObject, /) -> bool:
        """Return whether a group of a case says that it is meant to fail.

        `_asks` is `Case.asks()` or a result's `asks`.
        """
        return False

    def allowed_misses(self, _key: str, _asks: JsonObject, _settings: Mapping[str, Any], /) -> Sequence[int]:
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
    def measure_noun(self) -> str:
        """The word for what a case fails, as waivers write it: `metric` or `check`."""

    @property
    def explanations(self) -> Mapping[str, Explanation]:
        """The explanation of each metric or check for readers, by its name."""

    @property
    def field_titles(self) -> Mapping[str, str]:
        """The fields of a case's recorded texts in reading order, each with its title."""

    @property
    def reply_field(self) -> str:
        """The field that a reader looks at first."""

    def explanation(self, by: str, /) -> Explanation:
        """Return the explanation of a metric or check, also of one that a team's files of rules define."""
        return self.explanations[by]

    def measure_names(self, _part: Any, /) -> Sequence[str]:
        """Return the names of the metrics or checks that its part of the report may have judgements of, in order."""
        return tuple(self.explanations)

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

    def result_fields(self, _result: Any, _texts: JsonObject, /) -> Mapping[str, str]:
        """Return the fields of one result's texts with their titles; the reply is last, unless it is `reply_field`."""
        return self.field_titles

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

        Each has the words for one such case and for several, such as `falls from Pass to Fail or no reply`.
        """

    @property
    def compared_cases(self) -> str:
        """For readers: which cases the metrics of a comparison cover, if not all that both runs have."""

    def metric(self, name: str, /) -> Metric:
        """Return how results are compared by a score, also by one that a team's files of rules define."""
        return self.metrics[name]

    def outcome(self, result: Any, /) -> Outcome:
        """Return the outcome of a result, to compare it with the same case of another run."""

    def scoring_terms(self, part: Any, policy: JsonObject, /) -> Any:
        """Return the JSON value that scores follow from besides cases, code and files of rules.

        Two runs are compared as equals only if it is the same. None for `part`: it was given no input.
        """

    def recorded_settings(self, _policy: JsonObject, /) -> Any:
        """Return what its part records of the settings that it scores by, as `scoring_terms` reads it."""
        return Scored({})


class Count(NamedTuple):
    """A count of something, with its noun in the singular and in the plural."""

    number: int
    one: str
    many: str = ""

    def against(self, limit: float, waived: int = 0) -> str:
        """Return in words how many there are without those waived, and how many are allowed."""
        more = f", {waived} more waived" if waived else ""
        return f"{plural(self.number - waived, self.one, self.many)}{more}, {limit} allowed"


class Share(NamedTuple):
    """A part of a whole: the name of the share, words with both numbers, and perhaps the cases of the part by id."""

    noun: str
    part: int
    whole: int
    words: str
    names: Iterable[str] = ()


def always(_: Any) -> bool:
    """Return True: the rule applies to all parts, or forgives all failing cases."""
    return True


FAILING, REVIEW, ANY_SEVERITY = frozenset({Severity.FAILING}), frozenset({Severity.REVIEW}), frozenset(Severity)
"""The findings that a rule may count, by severity."""


class Rule(NamedTuple):
    """A rule of the gate, and what it looks for in an evaluator's part of the report.

    `measure` and `applies` get the part, a rule on a group gets the group's figures. A
    rule named `min-...` asks for at least its limit, one named `max-...` for at most. A rule that does not apply to
    the measurements has no outcome. `forgives(result)`: whether the rule lets a failing case pass under a waiver.
    `blames(result)`: whether a broken rule names the case, because no finding reports it. A rule that names no case
    counts the findings of the severities `finds`. A rule that `counts` cases applies from the first case. A rule on a
    rate needs `min_group` cases.
    """

    name: str
    evaluator: str
    measure: Callable[[Any], Count | Share]
    applies: Callable[[Any], bool] = always
    forgives: Callable[[Any], bool] = lambda _: False
    blames: Callable[[Any], bool] | None = None
    counts: bool = False
    finds: frozenset[Severity] = frozenset()

    @property
    def setting(self) -> str:
        """The name of the setting that holds the limit, perhaps in an entry: `min-label-accuracy.topic_pivot`."""
        return self.name.partition(".")[0].replace("-", "_")

    def judge(self, part: Any, limit: float | int, waived: Sequence[Failure] = (), group: str = "") -> RuleOutcome:
        """Return the rule's outcome on what it measures.

        `waived` are the cases, of all or of the group, with every failure waived.
        """
        found = self.measure(part)
        forgiven = sum(self.forgives(failure.result) for failure in waived)
        outcome = partial(RuleOutcome, self.name, self.evaluator, threshold=limit, group=group)
        if isinstance(found, Count):
            number = found.number - forgiven
            return outcome(value=number, passed=number <= limit, found=found.against(limit, forgiven))
        if not found.whole:
            return outcome(value=None, passed=False, found=f"{found.noun} is unknown", detail=found.words)
        count = found.part + forgiven
        value = count / found.whole
        at_least = self.name.startswith("min-")
        passed = value >= limit if at_least else value <= limit
        shown, wanted = format_distinct(value, limit)
        more = f", {forgiven} more waived" if forgiven else ""
        low, high = (fixed(100 * end, 0) for end in wilson(count, found.whole))
        interval = f" (95 % interval {low} to {high} %)" if at_least else ""
        return outcome(
            value=value,
            passed=passed,
            found=f"{found.noun} {shown} {_RELATIONS[at_least, passed]} {wanted}",
            detail=f"{found.words}{more}{interval}",
            names=() if passed else tuple(found.names),
        )


_RELATIONS = {
    (True, True): "is at least",
    (True, False): "is below",
    (False, True): "is at most",
    (False, False): "is above",
}


def no_reply(number: int) -> Count:
    """Return how many cases have no reply: what the rule `max-no-reply` looks for."""
    words = "no reply, so the recording is broken"
    return Count(number, f"case has {words}", f"cases have {words}")
