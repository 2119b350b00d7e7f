"""`bless`: approve a report as the new baseline, or waive its failures.

An approval is shown before it is written. One that hides a failure is refused without a reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from safe_gate.baseline import source
from safe_gate.commands._command import Call, Command, complain
from safe_gate.commands.verify import changed_and_gone
from safe_gate.core.figures import enumerated, plural
from safe_gate.core.text.characters import is_blank
from safe_gate.core.validate import suggestion
from safe_gate.evaluators import EVALUATORS, outcomes_of
from safe_gate.evaluators.stored import read_report, report_json
from safe_gate.gate.comparison import Guards, Runs, compare
from safe_gate.gate.waivers import Waivable, failing
from safe_gate.inputs import checked, disk, writing
from safe_gate.inputs.checked import kind_of
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.model.report import Report, Verdict, Waiver
from safe_gate.model.shown import Table
from safe_gate.model.untrusted import Phrase, Untrusted, Words
from safe_gate.render import console, jsonreport
from safe_gate.render.view import filtered
from safe_gate.settings.model import WAIVERS_FILE

COMMAND = Command(
    place=10,
    summary="approve a report as the new baseline, or waive its failures",
    exit_codes="0 written, 1 refused without a reason, 3 could not",
    arguments={
        "report": {
            "nargs": "?",
            "default": "",
            "metavar": "REPORT",
            "help": "the report to approve; default: safe-gate.json in the report folder",
        },
        "--waivers": {
            "dest": "waiver_file",
            "nargs": "?",
            "const": True,
            "metavar": "PATH",
            "help": f"waive the report's failures in this file instead; default: the setting's, or {WAIVERS_FILE}",
        },
        "--reason": {
            "default": "",
            "metavar": "TEXT",
            "help": "the reason for the approval; required if it hides a failure",
        },
        "--owner": {"default": "", "metavar": "NAME", "help": "who is responsible"},
        "--expires": {"default": "", "metavar": "YYYY-MM-DD", "help": "waivers: the last valid day, in UTC"},
        "--id": {"dest": "ids", "nargs": "+", "action": "extend", "default": [], "help": "waivers: only these cases"},
        "--dry-run": {
            "dest": "only_show",
            "action": "store_true",
            "help": "show what would be approved, and write nothing",
        },
    },
    meanings={
        "baseline": "The baseline to write: the path of a .json file. Default: that of the settings.",
        "report_dir": "The folder of the report to approve.",
    },
)

_LONGEST = {"reason": 2000, "owner": 200}  # characters, as the schemas say
_MOST_STALE = 5


class Approval(NamedTuple):
    """What is approved, one thing a row, and what the file would hold; None if there is nothing to write.

    `refusal` says why it may not be written, empty if it may.
    """

    title: Phrase
    rows: Table
    remarks: Sequence[Phrase]
    content: JsonObject | None
    refusal: str


def main(call: Call) -> int:
    """Show and write what is approved: waivers if their file is named, else a new baseline.

    Returns 0, 1 if it is refused, or 3.
    """
    named = call.arguments["waiver_file"]
    if isinstance(named, str) and not call.arguments["report"]:  # `bless --waivers REPORT`
        with suppress(CannotJudge):  # it is named below
            if kind_of(Path(named)) == "report":
                call = call._replace(arguments={**call.arguments, "report": named, "waiver_file": True})
    options, effects, arguments = call.options(), call.effects, call.arguments
    waivers = _waiver_file(call, options.waivers or WAIVERS_FILE)
    path = arguments["report"] or (Path(options.report_dir) / "safe-gate.json").as_posix()
    target = waivers or options.baseline
    if not (waivers or target.endswith(".json")):
        words = "names no file to write; expected the path of a .json file, such as --baseline evals/baseline.json"
        return complain((Problem(Place("--baseline"), words, target, code=Code.USAGE),), effects)
    today = effects.generated_at[:10]
    approved = _waivers(path, waivers, arguments, today) if waivers else _baseline(path, target, arguments)
    effects.out(console.words_of(approved.title))
    if approved.rows.rows:
        effects.out(console.table(approved.rows))
    for remark in approved.remarks:
        effects.out(console.words_of(remark))
    if approved.refusal:
        effects.err(f"safe-gate: refused, nothing is written: {approved.refusal}")
        return 1
    if approved.content is None or arguments["only_show"]:
        effects.out("Nothing is written.")
    else:
        writing.write(Path(target), jsonreport.to_json(approved.content))
        effects.out(f"Written: {console.path_words(target)}")
    return 0


def _waiver_file(call: Call, known: str) -> str:
    """Return the file of waivers to write, `known` by default, "" to write a baseline.

    Raises CannotJudge for flags that do not fit.
    """
    arguments = call.arguments
    waivers = arguments["waiver_file"]  # None without the flag, "" of a shell's variable that is not set
    waivers = known if waivers is True else waivers
    for_waivers = [flag for flag, name in (("--id", "ids"), ("--expires", "expires")) if arguments[name]]
    if waivers is not None and not waivers.strip():
        place, words = "--waivers", f"names no file; expected a path, or nothing for {known}"
    elif for_waivers and not waivers:
        place, words = for_waivers[0], "is for waivers; set --waivers too"
    elif waivers and "baseline" in call.flags:
        place, words = "command line", "has --baseline and --waivers; use one after the other"
    else:
        return waivers or ""
    raise CannotJudge.at(place, words, Code.USAGE)


def _refuse_unsound(arguments: Mapping[str, Any], today: str = "") -> None:
    """Raise CannotJudge for words that are too long, and for a last day that is none or is before today."""
    found = [
        (name, f"has {len(text)} characters, more than {most}")
        for name, most in _LONGEST.items()
        if len(text := arguments[name]) > most
    ]
    if day := arguments["expires"].strip():
        try:
            is_day = date.fromisoformat(day).isoformat() == day
        except ValueError:
            is_day = False
        if not is_day:
            found.append(("expires", f"is {day[:40]!r}; expected a day as YYYY-MM-DD"))
        elif day < today:
            found.append(("expires", f"is {day} and in the past; expected {today} or later"))
    if found:
        raise CannotJudge(*(Problem(Place(f"--{name}"), words, code=Code.USAGE) for name, words in found))


# --- a baseline -------------------------------------------------------------------------------------


class _Change(NamedTuple):
    """What becomes of a case: the place of its kind in `_KINDS`, and its labels. What matters most compares least."""

    kind: int
    case_id: str
    was: str = ""
    now: str = ""
    because: str = ""


_NEWLY, _GONE, _FAILING, _ASKED, _FIXED, _ADDED = range(6)
_KINDS = ("newly failing", "removed", "failing", "asked otherwise", "fixed", "added")


def _baseline(path: str, target: str, arguments: Mapping[str, Any]) -> Approval:
    """Return a report as the baseline at `target`, shown by its changes to the present one.

    A report that failed, or in which cases newly fail or are gone, is refused without a reason. Raises CannotJudge
    for a report without a verdict or with wrong digests, and for a baseline that cannot be read.
    """
    report = source.report(path)
    _refuse_unsound(arguments)
    old = read_report(checked.document(target, "report")) if disk.exists(Path(target)) else None
    changes = sorted(_changes(old, report))
    counts = Counter(change.kind for change in changes)
    hidden = [
        *["the gate failed"] * (report.verdict is Verdict.FAIL),
        *[plural(counts[_NEWLY], "case newly fails", "cases newly fail")] * bool(counts[_NEWLY]),
        *[plural(counts[_GONE], "case is gone", "cases are gone")] * bool(counts[_GONE]),
    ]
    is_refused = hidden and is_blank(arguments["reason"])
    blessed = {name: text for name in ("reason", "owner") if (text := arguments[name].strip())}
    columns: dict[str, list[Words]] = {
        "Change": [_KINDS[one.kind] for one in changes],
        "Case": [Untrusted(one.case_id) for one in changes],
        "Was": [one.was for one in changes],
        "Is": [one.now for one in changes],
        "Because": [one.because for one in changes],
    }
    columns = {title: cells for title, cells in columns.items() if any(cells)}
    return Approval(
        ("The baseline ", Untrusted(target), " becomes ", Untrusted(path), f", verdict {report.verdict}:"),
        Table(tuple(columns), "<" * len(columns), tuple(zip(*columns.values(), strict=True))),
        [*_remarks(old, report, counts)],
        report_json(replace(report, blessed=blessed or None)),
        f"{enumerated(hidden)}; approve that with --reason TEXT" if is_refused else "",
    )


def _changes(old: Report | None, report: Report) -> Iterator[_Change]:
    """Yield what a report changes in a baseline, through outputs, rules or expectations; without one what fails."""
    after = {name: {one.id: one for one in outcomes_of(name, report.parts[name])} for name in EVALUATORS}
    if old is None:
        for some in after.values():
            yield from (_Change(_FAILING, one.id, "", one.words) for one in some.values() if not one.passed)
        return
    same_rules = dict.fromkeys(EVALUATORS, _rules(old) == _rules(report))
    compared = compare(Runs(old.parts, None, report.parts, same_rules), Guards())
    for name, part in compared.items():
        was, now = {one.id: one.words for one in outcomes_of(name, old.parts[name])}, after[name]
        yield from (_Change(_GONE, one, was[one]) for one in was.keys() - now.keys())
        yield from (_Change(_ADDED, one, "", now[one].words) for one in now.keys() - was.keys())
        for change in part.changes if part else ():
            (before, _, label), (passed, _, passes) = change.labels, change.passed
            if passed != passes:
                yield _Change(_FIXED if passes else _NEWLY, change.id, before, label, ", ".join(change.because))
        for one in part.cases.changed_expectations if part else ():
            yield _Change(_ASKED, one, was[one], now[one].words)


def _rules(report: Report) -> str:
    return report.provenance.digests.rules if report.provenance.digests else ""


def _remarks(old: Report | None, report: Report, counts: Counter[int]) -> Iterator[Phrase]:
    changed, _ = changed_and_gone(report)
    yield from (("Stale: ", *sentence) for sentence in changed[:_MOST_STALE])
    if changed:
        more = f"{plural(len(changed), 'file')} changed since the report was made; "
        yield (f"{more}run again to approve the current files.",)
    yield from filtered(report.provenance.policy, report.provenance.left_out or {})
    if old is None:
        shown = "; only failing cases are shown" if counts else ", and no case fails unexpectedly"
        yield (f"There is no baseline yet{shown}.",)
    elif not counts:
        yield ("No case is added, removed or changed, and no result differs.",)
    else:
        yield (", ".join(f"{counts[kind]} {words}" for kind, words in enumerate(_KINDS) if counts[kind]) + ".",)
    if old is not None and _rules(old) != _rules(report):
        yield ("The rules differ from the baseline's: engine, packs, profile, thresholds or weights.",)


# --- waivers ----------------------------------------------------------------------------------------


def _waivers(path: str, target: str, arguments: Mapping[str, Any], today: str) -> Approval:
    """Return the waivers of `target`, with a new one for each unwaived failure of a report or of the cases named.

    Reason, owner and last day are required. Raises CannotJudge for a report as `_baseline` does, and for an id that
    does not fail. It also does so for a file without waivers, and for an invalid day or one before `today`.
    """
    failures, ids = sorted(failing(source.report(path).parts)), dict.fromkeys(arguments["ids"])
    _refuse_unsound(arguments, today)
    failed = {failure.case_id for failure in failures}
    if strangers := [one for one in ids if one not in failed]:
        words = "does not name a case that fails unexpectedly"
        raise CannotJudge(
            *(Problem(Place("--id"), words + suggestion(one, failed), one, code=Code.UNKNOWN_CASE) for one in strangers)
        )
    known = checked.waivers(target) if disk.exists(Path(target)) else None
    content: JsonObject = known[1] if known else {"waivers": []}
    there = {Waivable.of(waiver): waiver for waiver in Waiver.listed(content)}
    new = [one for one in failures if one not in there and (not ids or one.case_id in ids)]
    said = {name: arguments[name].strip() for name in ("reason", "owner", "expires")}
    added = [Waiver(*one, **said) for one in new]
    missing = [f"--{name}" for name in said if is_blank(arguments[name])]
    expired = (
        ("Expired and not renewed: ", Untrusted(one.case_id), f", {one.name}.")
        for one, waiver in sorted(there.items())
        if waiver.expires < today
    )
    rows = tuple((Untrusted(one.case_id), one.name, one.expires) for one in added)
    return Approval(
        ("Waivers in ", Untrusted(target), " for failures of ", Untrusted(path), ":"),
        Table(("Case", "Fails by", "Until"), "<<<", rows),
        ((f"{plural(len(new), 'waiver')} to add, {len(there)} there already.",), *expired),
        Waiver.joined(content, added) if added else None,
        f"a waiver needs {enumerated(missing)}" if new and missing else "",
    )
