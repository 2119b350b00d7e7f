"""What a person approves: a report as the new baseline, or waivers of its failures. Reads files, writes none.

An approval is shown before it is written, and one that hides a failure is refused without a reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import NamedTuple

from safe_gate.baseline import source
from safe_gate.core.figures import enumerated, plural
from safe_gate.core.model import CannotJudge, Code, JsonObject, Phrase, Place, Problem, Untrusted, Verdict, Words
from safe_gate.core.report import Report, Waiver
from safe_gate.core.shown import Table
from safe_gate.core.text.characters import is_blank
from safe_gate.core.validate import suggestion
from safe_gate.evaluators import EVALUATORS, outcomes_of
from safe_gate.gate.comparison import Guards, Runs, compare
from safe_gate.gate.waivers import Waivable, failing
from safe_gate.inputs import checked, disk
from safe_gate.proof import verification
from safe_gate.render.view import filtered


@dataclass(frozen=True, slots=True)
class Grounds:
    """Why something is approved, who answers for it, and the last day it holds (YYYY-MM-DD); empty if not said."""

    reason: str = ""
    owner: str = ""
    expires: str = ""

    def missing(self, *names: str) -> list[str]:
        """Return the flags without a value. Blanks are no value."""
        return [f"--{name}" for name in names if is_blank(getattr(self, name))]


@dataclass(frozen=True, slots=True)
class Approval:
    """What is approved, one thing a row, and what the file would hold; None if there is nothing to write.

    `refusal` says why it may not be written, empty if it may.
    """

    title: Phrase
    rows: Table
    remarks: tuple[Phrase, ...]
    content: JsonObject | None
    refusal: str


# --- a baseline ---------------------------------------------------------------------------------


def baseline(path: str, target: str, grounds: Grounds) -> Approval:
    """Return a report as the baseline at `target`, shown by its changes to the present one.

    A report that failed, or in which cases newly fail or are gone, is refused without a reason. Raises CannotJudge
    for a report without a verdict or with wrong digests, and for a baseline that cannot be read.
    """
    report = source.report(path)
    provenance = report.provenance
    _refuse_unsound(grounds)
    old = Report.from_json(checked.document(target, "report")) if disk.exists(Path(target)) else None
    changes = sorted(_changes(old, report) if old else _failing(report))
    counts = Counter(change.kind for change in changes)
    hidden = [
        *["the gate failed"] * (report.verdict is Verdict.FAIL),
        *[plural(counts[_NEWLY], "case newly fails", "cases newly fail")] * bool(counts[_NEWLY]),
        *[plural(counts[_GONE], "case is gone", "cases are gone")] * bool(counts[_GONE]),
    ]
    refusal = f"{enumerated(hidden)}; approve that with --reason TEXT" if grounds.missing("reason") and hidden else ""
    blessed = {name: text for name in ("reason", "owner") if (text := getattr(grounds, name).strip())}
    return Approval(
        ("The baseline ", Untrusted(target), " becomes ", Untrusted(path), f", verdict {report.verdict}:"),
        _table(changes),
        (*_stale(report), *filtered(provenance.policy, provenance.left_out or {}), *_remarks(old, report, counts)),
        replace(report, blessed=blessed or None).to_json(),
        refusal,
    )


_NEWLY, _GONE, _FAILING, _ASKED, _FIXED, _ADDED = range(6)
_KINDS = ("newly failing", "removed", "failing", "asked otherwise", "fixed", "added")


class _Change(NamedTuple):
    """What becomes of a case; what a reader must see first compares least."""

    kind: int
    case_id: str
    was: str = ""
    now: str = ""
    because: str = ""


def _table(changes: Sequence[_Change]) -> Table:
    """Return changes in rows, with the columns in which one says something."""
    columns: dict[str, tuple[Words, ...]] = {
        "Change": tuple(_KINDS[change.kind] for change in changes),
        "Case": tuple(Untrusted(change.case_id) for change in changes),
        "Was": tuple(change.was for change in changes),
        "Is": tuple(change.now for change in changes),
        "Because": tuple(change.because for change in changes),
    }
    given = {title: cells for title, cells in columns.items() if any(cells)}
    return Table(tuple(given), "<" * len(given), tuple(zip(*given.values(), strict=True)))


def _failing(report: Report) -> Iterator[_Change]:
    """Yield the cases that fail, of a report that has no baseline to be compared with."""
    for name in EVALUATORS:
        for one in outcomes_of(name, report.parts[name]):
            if not one.passed:
                yield _Change(_FAILING, one.id, "", one.words)


def _changes(old: Report, report: Report) -> Iterator[_Change]:
    """Yield what a report changes in a baseline, through outputs, rules or expectations."""
    same_rules = dict.fromkeys(EVALUATORS, _same_rules(old, report))
    compared = compare(Runs(old.parts, None, report.parts, same_rules), Guards())
    for name, part in compared.items():
        before, after = ({one.id: one for one in outcomes_of(name, run.parts[name])} for run in (old, report))
        for case_id in before.keys() - after.keys():
            yield _Change(_GONE, case_id, before[case_id].words)
        for case_id in after.keys() - before.keys():
            yield _Change(_ADDED, case_id, "", after[case_id].words)
        for change in part.changes if part else ():
            (was, _, now), (passed, _, passes) = change.labels, change.passed
            if passed != passes:
                kind = _FIXED if passes else _NEWLY
                yield _Change(kind, change.id, was, now, ", ".join(change.because))
        for case_id in part.cases.changed_expectations if part else ():
            yield _Change(_ASKED, case_id, before[case_id].words, after[case_id].words)


def _same_rules(old: Report, report: Report) -> bool:
    rules = [digests.rules if (digests := one.provenance.digests) else "" for one in (old, report)]
    return rules[0] == rules[1]


_NAMED = 5


def _stale(report: Report) -> Iterator[Phrase]:
    """Yield a sentence for the first files that are no longer what the report was made from."""
    changed, _ = verification.changed_and_gone(report)
    for sentence in changed[:_NAMED]:
        yield ("Stale: ", *sentence)
    if changed:
        more = f"{plural(len(changed), 'file')} changed since the report was made; "
        yield (f"{more}run again to approve the current files.",)


def _remarks(old: Report | None, report: Report, counts: Counter[int]) -> Iterator[Phrase]:
    if old is None:
        shown = "; only failing cases are shown" if counts else ", and no case fails unexpectedly"
        yield (f"There is no baseline yet{shown}.",)
    elif not counts:
        yield ("No case is added, removed or changed, and no result differs.",)
    else:
        yield (", ".join(f"{counts[kind]} {words}" for kind, words in enumerate(_KINDS) if counts[kind]) + ".",)
    if old is not None and not _same_rules(old, report):
        yield ("The rules differ from the baseline's: engine, packs, profile, thresholds or weights.",)


# --- waivers ------------------------------------------------------------------------------------


def waivers(path: str, target: str, grounds: Grounds, *, ids: Sequence[str], today: str) -> Approval:
    """Return the waivers of `target`, with a new one for each unwaived failure of a report or of its cases `ids`.

    Reason, owner and last day are required. Raises CannotJudge for a report as `baseline` does, and for an id that
    does not fail. It also does so for a file without waivers, and for an invalid day or one before `today`.
    """
    failures = sorted(failing(source.report(path).parts))
    _refuse_unsound(grounds, today)
    failed, wanted = {failure.case_id for failure in failures}, set(ids)
    if strangers := [one for one in ids if one not in failed]:
        words = "does not name a case that fails unexpectedly"
        raise CannotJudge(
            *(Problem(Place("--id"), words + suggestion(one, failed), one, code=Code.UNKNOWN_CASE) for one in strangers)
        )
    known = checked.waivers(target) if disk.exists(Path(target)) else None
    content: JsonObject = known[1] if known else {"waivers": []}
    there = {Waivable.of(waiver): waiver for waiver in Waiver.listed(content)}
    new = [one for one in failures if one not in there and (not ids or one.case_id in wanted)]
    said = {name: getattr(grounds, name).strip() for name in ("reason", "owner", "expires")}
    added = [Waiver(*one, **said) for one in new]
    rows = tuple((Untrusted(one.case_id), one.name, one.expires) for one in added)
    missing = grounds.missing(*said)
    return Approval(
        ("Waivers in ", Untrusted(target), " for failures of ", Untrusted(path), ":"),
        Table(("Case", "Fails by", "Until"), "<<<", rows),
        (
            (f"{plural(len(new), 'waiver')} to add, {len(there)} there already.",),
            *(
                ("Expired and not renewed: ", Untrusted(one.case_id), f", {one.name}.")
                for one, waiver in sorted(there.items())
                if waiver.expires < today
            ),
        ),
        Waiver.joined(content, added) if added else None,
        f"a waiver needs {enumerated(missing)}" if new and missing else "",
    )


# --- both ---------------------------------------------------------------------------------------


_LONGEST = {"reason": 2000, "owner": 200}  # characters, as the schemas say


def _refuse_unsound(grounds: Grounds, today: str = "") -> None:
    """Raise CannotJudge for words that are too long, and for a last day that is none or is before today."""
    problems = [
        Problem(Place(f"--{name}"), f"has {len(text)} characters, more than {most}", code=Code.USAGE)
        for name, most in _LONGEST.items()
        if len(text := getattr(grounds, name)) > most
    ]
    if day := grounds.expires.strip():
        if not _is_day(day):
            problems.append(
                Problem(Place("--expires"), f"is {day[:40]!r}; expected a day as YYYY-MM-DD", code=Code.USAGE)
            )
        elif day < today:
            problems.append(
                Problem(Place("--expires"), f"is {day} and in the past; expected {today} or later", code=Code.USAGE)
            )
    if problems:
        raise CannotJudge(*problems)


def _is_day(text: str) -> bool:
    with suppress(ValueError):
        return date.fromisoformat(text).isoformat() == text
    return False
