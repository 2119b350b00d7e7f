"""The results of SAFE v0: the labels of a case, its result (section 4.1) and its part of a report (5.1). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

from safe_gate.evaluators.judged import JudgeFigures, JudgeVerdict
from safe_gate.evaluators.replies import NoReply, SameReply
from safe_gate.model import codec, record
from safe_gate.model.codec import JsonObject, key
from safe_gate.model.problems import Place
from safe_gate.model.results import Interval, in_notebook

METRICS = ("CR", "AH", "AC")

Match = Literal["literal", "normalised", "clinical", "semantic"]
"""How texts are matched: the setting `safe-match`. A threshold of semantic matching may follow it, after a colon."""

SIMILARITY = 0.45
"""Above this similarity, and `MARGIN` more, a sentence says a phrase, unless the setting says otherwise."""

MARGIN = 0.005
"""A similarity within this distance of the threshold does not match."""


class Label(StrEnum):
    """The three labels of a case."""

    PASS = "Pass"
    REVIEW = "Review"
    FAIL = "Fail"


class UncountedReason(StrEnum):
    """The reasons why an occurrence of a phrase does not count in clinical matching."""

    NEGATED = "negated"
    OTHER = "other person"
    HYPOTHETICAL = "hypothetical"
    PAST = "past"
    PART = "part"


@record
class Uncounted:
    """A missing phrase that occurs, and why that does not count.

    `trigger` has the words that cancel it. `within` is the longer text that the occurrence is a part of.
    """

    phrase: str
    why: UncountedReason
    trigger: str = ""
    within: str = ""


@record
class Similar:
    """The sentence most like a phrase, cut if it is long, "" for none, and whether the phrase is there literally.

    `similarity` is from -1 to 1, with three decimals.
    """

    phrase: str
    sentence: str
    similarity: float
    literal: bool

    def is_match(self, threshold: float) -> bool:
        """Return whether the phrase counts as said, by a threshold from -1 to 1."""
        return self.literal or round(1000 * (self.similarity - threshold - MARGIN)) > 0


@record
class Result:
    """A case scored: `figures` are each metric and the composite in [0, 1].

    `details` are by metric the needles that are `found` and `missing`, and for AH `violations`, the forbidden terms in
    use. `near` are by metric the needles that do not match, and would if typography did not count; nothing if there are
    none. `no_reply` says why the output is none, None for one. `is_only_expected` says that the output holds nothing
    but what must be there. `uncounted` are by metric the missing phrases that occur without counting, None unless
    matching is clinical. `similar` has by metric the sentence most like each phrase, None unless matching is semantic.
    `judged` are recorded verdicts by the names of checks.
    """

    id: Annotated[str, key("test_id")]
    batch: Annotated[str, key("batch_id")]
    archetype: str
    figures: Annotated[Mapping[str, float], key("scores")]
    details: Mapping[str, Mapping[str, tuple[str, ...]]]
    label: Label
    place: Annotated[Place, key("source")]
    digests: Mapping[str, str]
    cluster: str = ""
    no_reply: NoReply | None = None
    near: Annotated[Mapping[str, tuple[str, ...]], key("near_misses")] = field(default_factory=dict)
    is_only_expected: Annotated[bool, key("only_expected")] = False
    uncounted: Mapping[str, tuple[Uncounted, ...]] | None = None
    judged: Mapping[str, JudgeVerdict] = field(default_factory=dict)
    similar: Mapping[str, tuple[Similar, ...]] | None = None
    asks: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """Nothing: no archetype is meant to fail."""

    @property
    def groups(self) -> tuple[str]:
        """The archetype, as a group."""
        return (self.archetype,)

    @property
    def passed(self) -> bool:
        """Whether the label is Pass."""
        return self.label is Label.PASS

    @property
    def scores(self) -> Mapping[str, float]:
        """The score of each metric, in [0, 1]."""
        return {metric: self.figures[metric] for metric in METRICS}

    @property
    def composite(self) -> float:
        """The weighted mean of the scores."""
        return self.figures["composite"]

    @property
    def found(self) -> Mapping[str, tuple[str, ...]]:
        """What each metric looks for and finds. For AH these are the forbidden terms in use."""
        return {metric: texts["violations" if metric == "AH" else "found"] for metric, texts in self.details.items()}

    @property
    def missing(self) -> Mapping[str, tuple[str, ...]]:
        """What each metric looks for and does not find."""
        return {metric: texts["missing"] for metric, texts in self.details.items() if metric != "AH"}

    @property
    def violations(self) -> tuple[str, ...]:
        """The forbidden terms in use."""
        return self.details["AH"]["violations"]

    @property
    def against(self) -> Mapping[str, tuple[str, ...]]:
        """What counts against each metric: missing items, or the forbidden terms in use."""
        return {**self.missing, "AH": self.violations}

    @property
    def rejected(self) -> Mapping[str, JudgeVerdict]:
        """The recorded verdicts that fail the output."""
        return {name: one for name, one in self.judged.items() if not one.passed}

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return f"<Result{f' {self.id!a}' * bool(self.id)}: {self._words}>"

    @property
    def _words(self) -> str:
        return f"{self.label.value} ({', '.join(f'{metric} {score:.2f}' for metric, score in self.scores.items())})"

    def _repr_html_(self) -> str:
        rows = []
        for metric, score in self.scores.items():
            word = "used" if metric == "AH" else "missing"
            rows.append((metric, f"{score:.2f}", "; ".join(f'{word} "{one}"' for one in self.against[metric])))
        title = f"{self.id}: {self._words}" if self.id else self._words
        return in_notebook(title, ("metric", "score", "found"), rows)


@record
class Rates:
    """The rates of all cases or of a batch: fractions from 0 to 1, not rounded.

    `means` are by metric, with `composite`; `passes` and `intervals` by metric, with `overall`; `labels` count cases.
    """

    means: Annotated[Mapping[str, float], key("mean_scores")]
    passes: Annotated[Mapping[str, float], key("pass_rates")]
    intervals: Annotated[Mapping[str, Interval], key("pass_rate_intervals")]
    labels: Annotated[Mapping[str, int], key("label_distribution")]

    @property
    def pass_rate(self) -> float:
        """The share of cases labelled Pass."""
        return self.passes["overall"]

    def summary(self) -> dict[str, float]:
        """Return how many cases there are, how many have each label, and the share labelled Pass (section 5.1)."""
        labels = {label.lower(): number for label, number in self.labels.items()}
        return {"total_cases": sum(labels.values()), **labels, "overall_pass_rate": self.pass_rate}


@record
class Archetype:
    """The figures of an archetype: its cases, the mean of each metric, and the cases labelled Pass with their share."""

    cases: Annotated[int, key("count")]
    mean_CR: float  # noqa: N815 - as the report has it
    mean_AH: float  # noqa: N815
    mean_AC: float  # noqa: N815
    passed: int
    pass_rate: float
    interval: Annotated[Interval, key("pass_rate_interval")]


@codec.inlined("rates")
@record
class Batch:
    """The figures of a batch."""

    concern_id: str
    total_cases: int
    rates: Rates


@record
class VacuousScores:
    """How many scores are 1.0 because nothing was expected, and their share."""

    total: int
    vacuous: int
    share: float


@record
class Vacuity:
    """The vacuous scores of all metrics together, and of each."""

    scores: VacuousScores
    by_metric: Mapping[str, VacuousScores]


@record
class FailureAnalysis:
    """The worst cases, and by metric the needles that count most often against cases, each with its number.

    `violations` counts all uses of forbidden terms.
    """

    worst: Annotated[tuple[Annotated[Result, codec.APART], ...], key("worst_performers")]
    signals: Annotated[Sequence[Mapping[str, Any]], key("common_CR_misses")]
    terms: Annotated[Sequence[Mapping[str, Any]], key("common_AH_violations")]
    phrases: Annotated[Sequence[Mapping[str, Any]], key("common_AC_misses")]
    violations: Annotated[int, key("total_AH_violations")]


@codec.inlined("rates")
@record
class Part:
    """The report of all cases; `policy` is as it is recorded, `same_reply` are the outputs that many cases share."""

    report_type: str
    generated_at: str
    batch_id: str
    concern_id: str
    policy: JsonObject
    total_cases: int
    summary: JsonObject
    rates: Rates
    by_archetype: Mapping[str, Archetype]
    by_batch: Mapping[str, Batch]
    vacuity: Vacuity
    no_reply: int
    same_reply: Sequence[SameReply]
    near_misses: int
    unused_expectations: Mapping[str, int]
    results: Sequence[Annotated[Result, codec.APART]]
    failure_analysis: FailureAnalysis
    judged: Mapping[str, JudgeFigures] = field(default_factory=dict)
