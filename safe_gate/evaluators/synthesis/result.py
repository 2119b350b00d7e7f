"""The result of a Synthesis case, and the part of the report that results add up to (Synthesis spec, "Report Fields").

Pure. `Totals` is a value: totals of parts add up, in any order, to the totals of the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from typing import Annotated, Any, ClassVar

from safe_gate.core.figures import share
from safe_gate.core.stats import wilson
from safe_gate.core.text.mapped_text import Language, is_not_english
from safe_gate.evaluators import judged
from safe_gate.evaluators.judged import CountedVerdict, Estimate, JudgeFigures, JudgeVerdict
from safe_gate.evaluators.replies import NoReply, SameReply, same_replies
from safe_gate.evaluators.synthesis.checks.check_result import Agreement, CheckResult, PivotEvidence, WordingEvidence
from safe_gate.evaluators.synthesis.definitions import FIELDS, sort_checks
from safe_gate.model import codec, record
from safe_gate.model.codec import key
from safe_gate.model.problems import Place
from safe_gate.model.results import Interval, in_notebook


@record
class Result:
    """A scored case. `passed` tells whether every check passed, `is_negative_example` whether one is meant to fail.

    `language` is the language of each text by field. `checks` and `labels` are by the names of checks. `no_reply` says
    why the text is no reply, None for a reply. `disguised_letters` counts letters read as the ASCII letters that they
    look like, 0 for only a few. `has_no_message` says that there is no text to answer, `is_only_expected` that the
    reply holds nothing but texts that it must contain. In a conversation, `message` is the index of the reply.
    `digests` show whether the `case` or the `output` changes.
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
    has_no_message: Annotated[bool, key("no_message")] = False
    is_only_expected: Annotated[bool, key("only_expected")] = False
    batch: ClassVar[str] = ""

    @property
    def groups(self) -> tuple[str, ...]:
        """The tags, as groups."""
        return self.tags

    @property
    def asks(self) -> Mapping[str, Any]:
        """The tags of the case and the checks that ran, by which a case is meant to fail."""
        return {"checks": tuple(self.checks), "tags": self.tags}

    @property
    def is_as_expected(self) -> bool:
        """Whether the case ends as expected. A negative example without a reply does not: none was bad."""
        is_negative = self.is_negative_example
        return self.passed != is_negative and not (is_negative and self.no_reply)

    @property
    def unread_checks(self) -> Sequence[str]:
        """The names of the checks that read a text that is not in English."""
        return tuple(filter(self.cannot_read, self.checks))

    def cannot_read(self, name: str) -> bool:
        """Return whether a check reads a text that is not in English."""
        evidence = self.checks[name].evidence
        if isinstance(evidence, WordingEvidence | JudgeVerdict):  # the words are the team's own, and the judge's
            return False
        reads_message = isinstance(evidence, PivotEvidence) or bool(evidence.applies)
        return is_not_english(FIELDS if reads_message else ("assistant",), self.language)

    @property
    def judged(self) -> Mapping[str, JudgeVerdict]:
        """The recorded verdicts by the names of their checks."""
        return {name: one.evidence for name, one in self.checks.items() if isinstance(one.evidence, JudgeVerdict)}

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
        rows = [(name, _judgement(check), "; ".join(_found_words(check))) for name, check in self.checks.items()]
        return in_notebook(f"{self.id}: {self._words}" if self.id else self._words, ("check", "result", "found"), rows)


def _judgement(check: CheckResult) -> str:
    return "not applicable" if not check.applicable else "passes" if check.passed else "fails"


def _found_words(check: CheckResult) -> Iterator[str]:
    for group, hits in check.hits.items():
        yield from (f'{group.replace("_", " ")} "{hit.text}"' for hit in hits)
    for one in check.evidence.unmet if isinstance(check.evidence, WordingEvidence) else ():
        if not one.hits:
            yield f"not found: {' or '.join(words for _, words in one.of)}"
    if isinstance(check.evidence, JudgeVerdict):
        yield f'judged by "{check.evidence.by}": "{check.evidence.reason}"'


@record
class Verdicts:
    """How many cases a check passes, fails and does not apply to."""

    passed: int
    failed: int
    not_applicable: int

    @property
    def total(self) -> int:
        """The number of verdicts."""
        return self.passed + self.failed + self.not_applicable


@record
class Labels:
    """How many labels there are, and how many agree."""

    total: int
    matched: int


@record
class Accuracy(Labels):
    """The same, with the share that agrees as `accuracy` in percent, None of nothing."""

    accuracy: float | None


@record
class TagFigures:
    """The results of the cases of a tag, and the labels of them."""

    cases: int
    passed_as_expected: int
    unexpected_failures: int
    pass_rate: float
    interval: Annotated[Interval, key("pass_rate_interval")]
    labels: Labels


@record
class Quality:
    """How a check agrees with people. A positive is a verdict that fails the reply. A share of zero labels is None.

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


@record
class LabelQuality:
    """How the checks agree with labels, by check, and by tag and check."""

    by_check: Mapping[str, Quality]
    by_tag: Mapping[str, Mapping[str, Quality]]


@record
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
    by_tag: Mapping[str, TagFigures]
    label_accuracy: Accuracy
    label_accuracy_by_check: Mapping[str, Accuracy]
    quality: Annotated[LabelQuality, key("label_quality")]
    judged: Mapping[str, JudgeFigures] = field(default_factory=dict)

    @property
    def passed_as_expected(self) -> int:
        """The number of cases that pass or fail as expected."""
        return self.strict_passed + self.expected_failures


@record
class IdleVerdicts:
    """The number of verdicts that pass because there is nothing to judge, and their share."""

    total: int
    not_applicable: int
    share: float


@record
class Unlabelled:
    """How many cases no person has labelled, and their share."""

    total: int
    without_labels: int
    share: float


@record
class Vacuity:
    """The verdicts that judge nothing, and the cases without labels."""

    verdicts: IdleVerdicts
    cases: Unlabelled


@record
class FailedCase:
    """A case that fails, in brief."""

    id: str
    is_negative_example: bool
    failed_checks: tuple[str, ...]


@record
class Part:
    """The report of all cases: figures, the replies that many share, the failures in brief and all results in full."""

    summary: Summary
    vacuity: Vacuity
    same_reply: Sequence[SameReply]
    failures: Sequence[FailedCase]
    results: Sequence[Annotated[Result, codec.APART]]


@record
class Totals:
    """Counts of cases, verdicts and labels. The tag None stands for all cases.

    - `cases`: by tag, and how a case ends.
    - `verdicts`: by check.
    - `confusion`: labels by tag, check, the people's label and the check's verdict.
    - `judged`: recorded verdicts with their labels.
    - `notable`: cases with a text in another language that a check reads (`not_english`), without a reply
      (`no_reply`), with disguised letters in it (`disguised`), without a label of any check they run (`unlabelled`).
    """

    cases: Counter[tuple[str | None, str]] = field(default_factory=Counter)
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    confusion: Counter[tuple[str | None, str, str, str]] = field(default_factory=Counter)
    judged: Counter[CountedVerdict] = field(default_factory=Counter)
    notable: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, results: Iterable[Result]) -> Totals:
        """Return the totals of results."""
        found = cls()
        for case in results:
            outcome, labels = _outcome(case), case.labels
            for tag in dict.fromkeys((None, *case.tags)):
                found.cases[tag, outcome] += 1
                for name, label in labels.items():
                    found.confusion[tag, name, _WORDS[label.expected], _WORDS[label.actual]] += 1
            for name, check in case.checks.items():
                found.verdicts[name, _WORDS[check.actual]] += 1
            for name, verdict in case.judged.items():
                said = labels[name].expected if name in labels else None
                found.judged[CountedVerdict(name, verdict.passed, said)] += 1
            found.notable["not_english"] += bool(case.unread_checks)
            found.notable["no_reply"] += bool(case.no_reply)
            found.notable["disguised"] += bool(case.disguised_letters)
            found.notable["unlabelled"] += not labels
        return found

    def __add__(self, other: Totals) -> Totals:
        return Totals(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))


_WORDS = {True: "passed", False: "failed", None: "not_applicable"}
_SAID = tuple(_WORDS.values())
"""The words of a report for labels and verdicts."""

_OUTCOMES = ("strict_passed", "expected_failures", "unexpected_failures", "unexpected_passes")


def _outcome(case: Result) -> str:
    if case.passed:
        return "unexpected_passes" if case.is_negative_example else "strict_passed"
    return "expected_failures" if case.is_as_expected else "unexpected_failures"


def report(totals: Totals, results: Sequence[Result], checks: Iterable[str] = ()) -> Part:
    """Return the report: `summary`, the `failures` in brief and the `results` in full.

    `checks` are those of a team's packs, which `summary` has whether or not a case runs them.
    `accuracy` is a percentage, not rounded, and null where there is no label to compare.
    """
    ends = {outcome: totals.cases[None, outcome] for outcome in _OUTCOMES}
    cases, failed = sum(ends.values()), ends["expected_failures"] + ends["unexpected_failures"]
    checks = sort_checks({*checks, *(check for check, _ in totals.verdicts)})
    tags = sorted({tag for tag, _ in totals.cases if tag is not None})
    quality: dict[str | None, dict[str, Quality]] = {}
    for tag, check in sorted({(tag, check) for tag, check, _, _ in totals.confusion}, key=lambda one: one[1]):
        quality.setdefault(tag, {})[check] = _quality(
            {said: {found: totals.confusion[tag, check, said, found] for found in _SAID} for said in _SAID}
        )
    whole = quality.get(None, {})
    summary = Summary(
        cases=cases,
        passed=cases - failed,
        failed=failed,
        strict_passed=ends["strict_passed"],
        strict_failed=ends["unexpected_failures"],
        expected_failures=ends["expected_failures"],
        unexpected_failures=ends["unexpected_failures"],
        unexpected_passes=ends["unexpected_passes"],
        not_english=totals.notable["not_english"],
        no_reply=totals.notable["no_reply"],
        disguised=totals.notable["disguised"],
        by_check={name: Verdicts(*(totals.verdicts[name, word] for word in _SAID)) for name in checks},
        by_tag={
            tag: _tag_figures([totals.cases[tag, outcome] for outcome in _OUTCOMES], _labels(quality.get(tag, {})))
            for tag in tags
        },
        label_accuracy=_accuracy(whole),
        label_accuracy_by_check={name: _accuracy({name: whole[name]}) for name in checks if name in whole},
        quality=LabelQuality(whole, {tag: quality[tag] for tag in tags if tag in quality}),
        judged=judged.judge_figures(totals.judged, (case.judged for case in results)),
    )
    idle = sum(counts.not_applicable for counts in summary.by_check.values())
    verdicts, unlabelled = totals.verdicts.total(), totals.notable["unlabelled"]
    return Part(
        summary,
        Vacuity(
            IdleVerdicts(verdicts, idle, share(idle, verdicts)),
            Unlabelled(cases, unlabelled, share(unlabelled, cases)),
        ),
        same_replies(results),
        [FailedCase(case.id, case.is_negative_example, case.failed) for case in results if not case.passed],
        results,
    )


def _tag_figures(ends: Sequence[int], labels: Labels) -> TagFigures:
    passed, excused, failed, _ = ends
    cases, as_expected = sum(ends), passed + excused
    return TagFigures(cases, as_expected, failed, as_expected / cases, Interval(*wilson(as_expected, cases)), labels)


def _labels(quality: Mapping[str, Quality]) -> Labels:
    return Labels(sum(one.labels for one in quality.values()), sum(_agreed(one.confusion) for one in quality.values()))


def _accuracy(quality: Mapping[str, Quality]) -> Accuracy:
    labels = _labels(quality)
    return Accuracy(labels.total, labels.matched, 100 * labels.matched / labels.total if labels.total else None)


def _quality(counts: Mapping[str, Mapping[str, int]]) -> Quality:
    """Return the counts and rates of one check; a positive is a verdict of `failed`."""
    total = sum(sum(row.values()) for row in counts.values())
    caught = counts["failed"]["failed"]
    alarms = sum(row["failed"] for row in counts.values()) - caught
    misses = sum(counts["failed"].values()) - caught
    return Quality(
        labels=total,
        confusion=counts,
        true_positives=caught,
        false_positives=alarms,
        true_negatives=total - caught - alarms - misses,
        false_negatives=misses,
        accuracy=_interval(_agreed(counts), total),
        precision=_interval(caught, caught + alarms),
        recall=_interval(caught, caught + misses),
        not_applicable=_interval(sum(row["not_applicable"] for row in counts.values()), total),
    )


def _agreed(counts: Mapping[str, Mapping[str, int]]) -> int:
    """Return how many labels agree. Not applicable is an automatic pass: it agrees with a label of pass, too."""
    return sum(counts[word][word] for word in _SAID) + counts["passed"]["not_applicable"]


def _interval(part: int, whole: int) -> Estimate | None:
    return Estimate(part / whole, *wilson(part, whole)) if whole else None
