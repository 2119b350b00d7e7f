"""The evaluators: each measures recorded outputs and shows what it measured; none judges.

A new evaluator is one folder here and one entry in `EVALUATORS`; CONTRIBUTING says how its input is read.
An evaluator's modules are imported when a report has its part: with Synthesis come RE2 and the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from safe_gate.core.digests import stand_in
from safe_gate.core.model import (
    Explained,
    Failure,
    Finding,
    JsonObject,
    Judgement,
    Lookup,
    Mark,
    Metric,
    Outcome,
    Phrase,
    Rate,
    Section,
    View,
)


class Grouping(NamedTuple):
    """What an evaluator groups cases by, and where its part of the report has them.

    `figures` are those of each group by name, with the number of its cases as `size`; `groups_of` names
    the groups of a case by its entry of `results[]`.
    """

    noun: str
    size: str
    figures: Callable[[JsonObject], Mapping[str, JsonObject]]
    groups_of: Callable[[JsonObject], Sequence[str]]


class Evaluator(NamedTuple):
    """An evaluator: how its part of the report is shown, which cases fail in it, and how two are compared.

    `name` is that of its folder and of its part of the report, `title` its name for readers, `id_key`
    where its results name their case. `measures` is what a case fails by, a metric or a check: the word
    that waivers use. `guards` are the rules on single compared cases that mean something to it.
    `groups_key` is where what a case asks (`Case.asks()`) names its groups, and `is_excused` tells whether
    tags say, under a profile, that it is meant to fail.
    `quotes` are the keys of its part that hold recorded text, or expectations of it, as a string or a
    list; `gives_away` those that would tell the words of a withheld text.
    """

    name: str
    title: str
    id_key: str
    measures: str
    grouping: Grouping
    groups_key: str
    quotes: frozenset[str]
    is_excused: Callable[[Collection[str], str], bool] = lambda _tags, _profile: False
    gives_away: frozenset[str] = frozenset()
    guards: frozenset[str] = frozenset()

    def section(self, part: JsonObject) -> Section:
        """Return what a reader is shown of its part of the report."""
        shown: Section = self._module("section").section(part)
        return shown

    def finding(self, result: JsonObject) -> Finding:
        """Return what a reader is shown of one result."""
        shown: Finding = self._module("section").finding(result)
        return shown

    def judgements(self, part: JsonObject, result: JsonObject) -> Iterator[Judgement]:
        """Yield what each metric or check says of a case, by its part of the report and one result of it."""
        judged: Iterator[Judgement] = self._module("section").judgements(part, result)
        return judged

    def result_event(
        self, result: JsonObject, judgements: Sequence[Judgement], *, with_text: bool
    ) -> tuple[str, dict[str, Any]]:
        """Return the type and the data of the event that tells of a result; recorded text only `with_text`."""
        module = self._module("event")
        return module.RESULT, module.result(result, judgements, with_text=with_text)

    def batch_events(self, part: JsonObject) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Yield the type, the name and the data of an event for each batch of its part of the report."""
        told: Iterator[tuple[str, str, dict[str, Any]]] = self._module("event").batches(part)
        return told

    @property
    def fields(self) -> Mapping[str, str]:
        """The fields of a case's recorded texts in reading order, each with its title."""
        titles: Mapping[str, str] = self._module("evidence").FIELDS
        return titles

    def marks(self, result: JsonObject, texts: JsonObject) -> Iterator[Mark]:
        """Yield what one result says was found in the case's texts, given by field as far as they are known."""
        found: Iterator[Mark] = self._module("evidence").marks(result, texts)
        return found

    def decisions(self, part: JsonObject, result: JsonObject) -> Mapping[str, Phrase]:
        """Return a sentence for each metric or check: how it came to what it says of a case."""
        told: Mapping[str, Phrase] = self._module("evidence").decisions(part, result)
        return told

    def rates(self, part: JsonObject) -> Iterator[Rate]:
        """Yield the shares that its part of the report tells, first that of cases as they should be."""
        shares: Iterator[Rate] = self._module("section").rates(part)
        return shares

    def labels(self, part: JsonObject) -> Mapping[str, int]:
        """Return how many cases have each label, from the best to the worst."""
        counts: Mapping[str, int] = self._module("section").labels(part)
        return counts

    @property
    def explained(self) -> Mapping[str, Explained]:
        """What readers are told of each metric or check, by its name."""
        told: Mapping[str, Explained] = self._module("section").EXPLAINED
        return told

    def failures(self, part: JsonObject) -> Iterator[Failure]:
        """Yield the failing cases of its part of the report."""
        failing: Iterator[Failure] = self._module("report").failures(part)
        return failing

    def outcome(self, result: JsonObject) -> Outcome:
        """Return what a result is compared by."""
        compared: Outcome = self._module("outcome").outcome(result)
        return compared

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """How results are compared, by the scores of their outcomes."""
        compared: Mapping[str, Metric] = self._module("outcome").COMPARED
        return compared

    def _module(self, name: str) -> Any:
        return import_module(f"{__name__}.{self.name}.{name}")


def _is_negative(tags: Collection[str], profile: str) -> bool:
    from safe_gate.evaluators.synthesis.score import is_negative

    return is_negative(tags, profile)


_EVALUATORS = (
    Evaluator(
        name="safe_v0",
        title="SAFE v0",
        id_key="test_id",
        guards=frozenset({"new-violations", "label-drops"}),
        groups_key="archetype",
        measures="metric",
        grouping=Grouping(
            noun="archetype",
            size="count",
            figures=lambda part: part["by_archetype"],
            groups_of=lambda result: (result["archetype"],),
        ),
        quotes=frozenset(
            {
                "found",
                "missing",
                "violations",
                "new_violations",
                "signal",
                "term",
                "phrase",
                "CR",
                "AH",
                "AC",
                "cluster",
            }
        ),
    ),
    Evaluator(
        name="synthesis",
        title="Synthesis",
        id_key="id",
        groups_key="tags",
        is_excused=_is_negative,
        measures="check",
        grouping=Grouping(
            noun="tag",
            size="cases",
            figures=lambda part: part["summary"]["by_tag"],
            groups_of=lambda result: result["tags"],
        ),
        quotes=frozenset({"text", "words", "shared", "cluster"}),
        gives_away=frozenset({"because"}),  # of reports of earlier versions
    ),
)

EVALUATORS: Mapping[str, Evaluator] = {one.name: one for one in _EVALUATORS}
"""The evaluators by their keys in the report, in reading order."""


def present(report: JsonObject) -> list[str]:
    """Return the evaluators that have a part in a report, or in what is made of two, in reading order."""
    return [name for name in EVALUATORS if report[name] is not None]


def outcomes_of(name: str, part: JsonObject | None) -> Iterator[Outcome]:
    """Yield what two runs are compared by, of each case of an evaluator's part of the report, if there is a part."""
    return map(EVALUATORS[name].outcome, part["results"] if part else ())


def sections(report: JsonObject) -> tuple[Section, ...]:
    """Return what a reader is shown of every evaluator that has a part in the report."""
    return tuple(EVALUATORS[name].section(report[name]) for name in present(report))


def without_texts(name: str, part: JsonObject) -> dict[str, Any]:
    """Return an evaluator's part of the report with a stand-in for every recorded text."""
    evaluator = EVALUATORS[name]

    def strip(value: Any, *, is_text: bool = False) -> Any:
        if isinstance(value, Lookup):
            return Lookup(value, lambda key: strip(value[key]))
        if isinstance(value, Mapping):
            return {
                key: strip(inner, is_text=key in evaluator.quotes)
                for key, inner in value.items()
                if key not in evaluator.gives_away or isinstance(inner, Mapping)  # a tag may have such a name
            }
        if isinstance(value, View):
            return View(lambda: map(strip, value))
        if isinstance(value, list):
            return [strip(inner, is_text=is_text) for inner in value]
        return stand_in(value) if is_text and isinstance(value, str) else value

    stripped: dict[str, Any] = strip(part)
    return stripped
