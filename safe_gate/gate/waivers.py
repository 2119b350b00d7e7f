"""Known failures: the waivers that let a failing metric or check of one case pass, until a day.

Pure. A waiver changes no score and no result: it says which failures the gate's rules leave out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from types import MappingProxyType
from typing import NamedTuple

from safe_gate.core.validate import suggestion
from safe_gate.evaluators.registry import EVALUATORS, parts_of
from safe_gate.model.codec import JsonObject
from safe_gate.model.report import Findings, InputFile, Parts, Report, Waiver, Waivers
from safe_gate.model.results import Failure


class Waivable(NamedTuple):
    """The subject of a waiver: a case, the metric or check that it fails, and the word `metric` or `check`."""

    case_id: str
    kind: str
    name: str

    @classmethod
    def of(cls, waiver: Waiver) -> Waivable:
        """Return the subject of a waiver."""
        return cls(waiver.case_id, waiver.kind, waiver.name)


def sort_by_standing(waivers: Iterable[Waiver], parts: Parts, today: str) -> tuple[tuple[Waiver, ...], ...]:
    """Return the waivers that are expired, unused and applied on a day (YYYY-MM-DD), each in the order of ids.

    `applied`: the case fails by what is waived. `unused`: it does not, is meant to fail, or is not in
    the run. `expired`: the waiver's last day has passed, whatever the case does.
    """
    failed, every = failing(parts), sorted(waivers, key=Waivable.of)
    current = [one for one in every if one.expires >= today]
    expired = tuple(one for one in every if one.expires < today)
    unused = tuple(one for one in current if Waivable.of(one) not in failed)
    return expired, unused, tuple(one for one in current if Waivable.of(one) in failed)


def judge(
    known: tuple[InputFile, JsonObject] | None,
    parts: Parts,
    today: str,
    left_out: Mapping[str, Set[str]] = MappingProxyType({}),
) -> Waivers | None:
    """Return what becomes on a day of a file's waivers, except of cases that a filter leaves out, by evaluator and id.

    None without a file.
    """
    if known is None:
        return None
    file, content = known
    hidden = set[str]().union(*left_out.values())
    failed = failing(parts) if hidden else ()  # by a case of another evaluator that has the id of one left out
    listed = [one for one in Waiver.listed(content) if one.case_id not in hidden or Waivable.of(one) in failed]
    return Waivers(file.path, file.sha256, *sort_by_standing(listed, parts, today))


def failing(parts: Parts) -> set[Waivable]:
    """Return the checks and metrics by which cases fail unexpectedly, which waivers may waive."""
    return {one for _, _, by in _failures(parts) for one in by}


NO_REPLY = "no reply, which no waiver excuses; make a new recording"
"""What `bless` and `why_unfit` say about a case without a reply."""


def waivable(report: Report) -> tuple[set[Waivable], list[str]]:
    """Return what waivers may waive of a report, and the cases whose missing reply breaks a rule, which they do not."""
    lost = {
        (rule.evaluator, one): None for rule in report.broken() if rule.rule == "max-no-reply" for one in rule.names
    }
    failures = (by for name, failure, by in _failures(report.parts) if (name, failure.case_id) not in lost)
    return set[Waivable]().union(*failures), [one for _, one in lost]


def why_unfit(case_id: str, failed: Collection[str], lost: Collection[str]) -> str:
    """Return why no waiver can be for a case, given those that fail unexpectedly and those without a reply."""
    if case_id in lost:
        return f"has {NO_REPLY}"
    return f"does not name a case that fails unexpectedly{suggestion(case_id, failed)}"


def waived(found: Findings) -> Mapping[str, Sequence[Failure]]:
    """Return by evaluator the failing cases of a report whose failures are all waived."""
    applied = {*map(Waivable.of, found.waivers.applied)} if found.waivers else set()
    failures: dict[str, list[Failure]] = {name: [] for name in EVALUATORS}
    for name, failure, by in _failures(found.parts) if applied else ():
        if by and by <= applied:
            failures[name].append(failure)
    return failures


def waived_ids(found: Findings) -> Mapping[str, frozenset[str]]:
    """Return by evaluator the ids of the cases that are `waived` in a comparison: no waiver excuses a missing reply."""
    return {
        name: frozenset(one.case_id for one in some if not EVALUATORS[name].compare.outcome(one.result).has_no_reply)
        for name, some in waived(found).items()
    }


def _failures(parts: Parts) -> Iterator[tuple[str, Failure, set[Waivable]]]:
    """Yield the failing cases of every evaluator that ran, by its name, each with what a waiver may waive."""
    for evaluator, part in parts_of(parts):
        for one in evaluator.gate.failures(part):
            yield evaluator.name, one, {Waivable(one.case_id, evaluator.present.measure_noun, by) for by in one.by}
