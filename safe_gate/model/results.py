"""What is found in a case: hits, judgements, and its outcome in a comparison. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import Place
from safe_gate.model.untrusted import Phrase


@dataclass(frozen=True, slots=True)
class Interval:
    """The 95 % interval of a share, or of a difference of shares."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Hit:
    """A rule that matched: `original[start:end] == text`, in code points of the field's text.

    `learned` counts, for a learned phrase, the clauses with it that are of its group, and all clauses with it. `by`
    says what cancelled a hit that does not count. `words` says where in the text it does so.
    """

    rule: str
    text: str
    field: str
    start: int
    end: int
    learned: tuple[int, int] | tuple[()] = ()
    by: str = ""
    words: str = ""

    def as_quote(self) -> dict[str, Any]:
        """Return what matched, where and by which rule, as events and lines of cases have it."""
        return {"rule": self.rule, "text": self.text, "field": self.field, "start": self.start, "end": self.end}


class Test(StrEnum):
    """The test that compares a metric between two runs (`stats.py`): yes or no, or a score from 0 to 1."""

    SIGN = "sign"
    SIGN_FLIP = "sign-flip"


class Metric(NamedTuple):
    """A metric that compares two runs: its name at the start of a sentence, and its test."""

    title: str
    test: Test


class Outcome(NamedTuple):
    """A case's result, in the terms in which two runs are compared.

    `rank` is the rank of its label, 0 for the worst, and `words` is the label. `scores` are from 0 to 1 by metric.
    `violations`: forbidden terms found. `groups` are the tags or the archetype by which a case can be protected.
    `cluster` names the cases that change together, "" for none. `case` and `output` are digests. `is_meant_to_fail` is
    true for a negative example. `judges` are those of recorded verdicts, by the names of their checks.
    """

    id: str
    passed: bool
    rank: int
    words: str
    scores: Mapping[str, float]
    violations: frozenset[str]
    groups: frozenset[str]
    cluster: str
    case: str
    output: str
    is_meant_to_fail: bool = False
    judges: Mapping[str, str] = MappingProxyType({})


class Recorded(NamedTuple):
    """The recorded texts of a run, which its report does not hold, for what shows them.

    The texts of a case are by field; of a field that is a list an entry is a line. `now` has those of an evaluator's
    `results[]` in their order, nothing if they are not to be shown. `before` returns by evaluator and id those of the
    baseline, if they are available and differ, else None. `columns` has by evaluator, in the order of `results[]`, what
    `columns.deciding` returns of each case's line; it is empty unless a report format needs it.
    """

    now: Mapping[str, Sequence[JsonObject]] = {}
    before: Callable[[str, str], JsonObject | None] = lambda _evaluator, _case_id: None
    columns: Mapping[str, Sequence[JsonObject]] = {}


NOTHING_RECORDED = Recorded()
"""What is known of the texts of a run that shows none."""


class CaseResult(Protocol):
    """What the results of all evaluators have."""

    @property
    def id(self) -> str:
        """The id of the case."""

    @property
    def place(self) -> Place:
        """The place of the case."""

    @property
    def groups(self) -> Sequence[str]:
        """The archetype or the tags of the case."""

    @property
    def batch(self) -> str:
        """The name of the batch that the case came in, "" for none."""

    @property
    def digests(self) -> Mapping[str, str]:
        """The digests of the `case`, which its output does not change, and of the `output`."""

    @property
    def asks(self) -> Mapping[str, Any]:
        """What says that the case is meant to fail, as `Evaluator.is_excused` reads it."""


class Failure(NamedTuple):
    """A case that fails, and by which metrics or checks."""

    case_id: str
    by: frozenset[str]
    result: CaseResult


class Severity(StrEnum):
    """How much a finding matters to the verdict."""

    FAILING = "failing"
    REVIEW = "review"


class Judgement(NamedTuple):
    """The judgement of one metric or check, `by`, on a case.

    `label` is Pass, Review or Fail for a metric; passes, fails or not applicable for a check. `severity` is None for a
    full pass. `score` is from 0 to 1, or None. `evidence` says what keeps it from a full pass, and `hits` are the hits
    of the rules behind it.
    """

    by: str
    label: str
    severity: Severity | None = None
    score: float | None = None
    evidence: tuple[Phrase, ...] = ()
    hits: tuple[Hit, ...] = ()

    @property
    def outcome(self) -> str:
        """The label for programs: pass, review, fail or not_applicable, for metrics and checks alike."""
        return {"passes": "pass", "fails": "fail", "not applicable": "not_applicable"}.get(
            self.label, self.label.lower()
        )
