"""The result of a Synthesis case, and its part of a report. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from safe_gate.evaluators.judged import Estimate, Figures, Verdict
from safe_gate.evaluators.replies import NoReply, SameReply
from safe_gate.evaluators.synthesis.checks.check_result import Agreement, CheckResult, Sides, Wording
from safe_gate.evaluators.synthesis.definitions import SHIPPED
from safe_gate.evaluators.synthesis.engine.language import Language, is_foreign
from safe_gate.model.codec import key
from safe_gate.model.problems import Place
from safe_gate.model.results import Interval, in_notebook


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """A scored case. `passed` tells whether every check passed, `is_negative_example` whether one is meant to fail.

    `language` is the language of each text by field. `checks` and `labels` are by the names of checks. `no_reply` says
    why the text is no reply, None for a reply. `disguised_letters` counts letters read as the ASCII letters that they
    look like, 0 for only a few. `is_only_expected` says that the reply holds nothing but texts that it must contain.
    In a conversation, `message` is the index of the reply. `digests` show whether the `case` or the `output` changes.
    """

    id: str
    passed: Annotated[bool, key("pass")]
    is_negative_example: bool
    tags: tuple[str, ...]
    language: Mapping[str, Language]
    checks: Mapping[str, CheckResult]
    labels: Annotated[Mapping[str, Agreement], key("label_comparison")]
    place: Annotated[Place, key("source")]
    digests: Mapping[str, str]
    message: int | None = None
    cluster: str = ""
    no_reply: NoReply | None = None
    disguised_letters: int = 0
    is_only_expected: Annotated[bool, key("only_expected")] = False

    @property
    def groups(self) -> tuple[str, ...]:
        """The tags, as groups."""
        return self.tags

    @property
    def batch(self) -> str:
        """Nothing: its cases come in no batches."""
        return ""

    @property
    def asks(self) -> Mapping[str, Any]:
        """The tags of the case and the checks that ran, by which a case is meant to fail."""
        return {"checks": tuple(self.checks), "tags": self.tags}

    @property
    def is_as_expected(self) -> bool:
        """Whether the case ends as expected.

        A negative example without a reply does not: no reply was bad, there was none.
        """
        is_negative = self.is_negative_example
        return self.passed != is_negative and not (is_negative and self.no_reply)

    @property
    def foreign(self) -> Sequence[str]:
        """The names of the checks that read a text in another language."""
        if Language.OTHER not in self.language.values():
            return ()
        return tuple(filter(self.reads_foreign, self.checks))

    def reads_foreign(self, name: str) -> bool:
        """Return whether a check reads a text in another language."""
        evidence = self.checks[name].evidence
        if isinstance(evidence, Wording | Verdict):  # the words are the team's own, and the judge's
            return False
        if isinstance(evidence, Sides) and not evidence.is_flat:
            groups: Collection[str] = evidence.applies
        else:
            groups = SHIPPED[name].get("applies", ())
        return is_foreign(("user", "assistant") if groups else ("assistant",), self.language)

    @property
    def judged(self) -> Mapping[str, Verdict]:
        """The recorded verdicts by the names of their checks."""
        found = ((name, check.evidence) for name, check in self.checks.items())
        return {name: one for name, one in found if isinstance(one, Verdict)}

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of the checks that fail."""
        return tuple(name for name, check in self.checks.items() if not check.passed)

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return f"<Result{f' {self.id!a}' * bool(self.id)}: {self._words}>"

    @property
    def _words(self) -> str:
        if self.no_reply:
            return f"no reply ({self.no_reply.value})"
        return f"fails {', '.join(self.failed)}" if self.failed else "passes"

    def _repr_html_(self) -> str:
        """Return the result as a notebook shows it."""
        rows = [(name, _judgement(check), "; ".join(_found(check))) for name, check in self.checks.items()]
        return in_notebook(f"{self.id}: {self._words}" if self.id else self._words, ("check", "result", "found"), rows)


def _judgement(check: CheckResult) -> str:
    return "not applicable" if not check.applicable else "passes" if check.passed else "fails"


def _found(check: CheckResult) -> Iterator[str]:
    """Yield the hits of a check by group, and what `wording` does not find."""
    for group, hits in check.hits.items():
        yield from (f'{group.replace("_", " ")} "{hit.text}"' for hit in hits)
    for one in check.evidence.unmet if isinstance(check.evidence, Wording) else ():
        if not one.hits:
            yield f"not found: {' or '.join(words for _, words in one.of)}"
    if isinstance(check.evidence, Verdict):
        yield f'judged by "{check.evidence.by}": "{check.evidence.reason}"'


@dataclass(frozen=True, slots=True)
class Verdicts:
    """How many cases a check passes, fails and does not apply to."""

    passed: int
    failed: int
    not_applicable: int


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How many labels there are and how many agree; `accuracy` in percent, None of nothing."""

    total: int
    matched: int
    accuracy: float | None


@dataclass(frozen=True, slots=True)
class Labels:
    """How many labels there are, and how many agree."""

    total: int
    matched: int


@dataclass(frozen=True, slots=True)
class Tagged:
    """The results of the cases of a tag, and the labels of them."""

    cases: int
    passed_as_expected: int
    unexpected_failures: int
    pass_rate: float
    interval: Annotated[Interval, key("pass_rate_interval")]
    labels: Labels


@dataclass(frozen=True, slots=True)
class Quality:
    """How a check agrees with people; a positive is a verdict that fails the reply. A share of nothing is None.

    `confusion` counts labels by what people say and what the check says.
    """

    labels: int
    confusion: Mapping[str, Mapping[str, int]]
    true_positives: int
    false_positives: int
    true_negatives: int
    false_negatives: int
    accuracy: Estimate | None
    precision: Estimate | None
    recall: Estimate | None
    not_applicable: Estimate | None

    @property
    def counts(self) -> tuple[int, ...]:
        """How many labels there are, then true positives, false positives, true negatives and false negatives."""
        right, wrong = (self.true_positives, self.false_positives), (self.true_negatives, self.false_negatives)
        return self.labels, *right, *wrong

    @property
    def estimates(self) -> tuple[Estimate | None, ...]:
        """Precision, recall, accuracy, and the share that does not apply."""
        return self.precision, self.recall, self.accuracy, self.not_applicable


@dataclass(frozen=True, slots=True)
class LabelQuality:
    """How the checks agree with labels, by check, and by tag and check."""

    by_check: Mapping[str, Quality]
    by_tag: Mapping[str, Mapping[str, Quality]]


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of all cases. Those of labels are there for checks that have one."""

    cases: int
    passed: int
    failed: int
    strict_passed: int
    strict_failed: int
    expected_failures: int
    unexpected_failures: int
    unexpected_passes: int
    not_english: int
    no_reply: int
    disguised: int
    by_check: Mapping[str, Verdicts]
    by_tag: Mapping[str, Tagged]
    label_accuracy: Accuracy
    label_accuracy_by_check: Mapping[str, Accuracy]
    quality: Annotated[LabelQuality, key("label_quality")]
    judged: Mapping[str, Figures] = field(default_factory=dict)

    @property
    def as_expected(self) -> int:
        """The number of cases that pass or fail as expected."""
        return self.strict_passed + self.expected_failures


@dataclass(frozen=True, slots=True)
class Idle:
    """How many verdicts pass because there is nothing to judge, and their share."""

    total: int
    not_applicable: int
    share: float


@dataclass(frozen=True, slots=True)
class Unlabelled:
    """How many cases no person has labelled, and their share."""

    total: int
    without_labels: int
    share: float


@dataclass(frozen=True, slots=True)
class Vacuity:
    """The verdicts and the cases that prove nothing."""

    verdicts: Idle
    cases: Unlabelled


@dataclass(frozen=True, slots=True)
class FailedCase:
    """A case that fails, in brief."""

    id: str
    is_negative_example: bool
    failed_checks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """The report of all cases: figures, the replies that many share, the failures in brief and all results in full."""

    summary: Summary
    vacuity: Vacuity
    same_reply: Sequence[SameReply]
    failures: Sequence[FailedCase]
    results: Sequence[Result]
