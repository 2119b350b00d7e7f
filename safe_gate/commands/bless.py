"""`bless`: approve a report as the new baseline, or waive its failures; what hides a failure needs a reason."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from safe_gate.baseline import comparison, source
from safe_gate.commands._command import Call, Command, text, texts
from safe_gate.commands.verify import changed_and_gone
from safe_gate.core import jsontext
from safe_gate.core.figures import enumerated, plural
from safe_gate.core.text.characters import is_blank
from safe_gate.core.validate import quote
from safe_gate.evaluators.registry import parts_of
from safe_gate.evaluators.replies import naming_sentence
from safe_gate.gate.comparison import Guards
from safe_gate.gate.stored import read_report, report_json, with_streams
from safe_gate.gate.waivers import NO_REPLY, Waivable, waivable, why_unfit
from safe_gate.inputs import case_files, checked, disk
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.model.report import BaselineFacts, Report, Verdict, Waiver
from safe_gate.model.results import Phrase, Table, Untrusted
from safe_gate.render import console
from safe_gate.render.comparison import NEWLY_FAILING, comparison_section
from safe_gate.render.untrusted import phrase_line, quote_phrase
from safe_gate.render.view import filter_sentence
from safe_gate.settings import WAIVERS_FILE

COMMAND = Command(
    place=10,
    summary="approve a report as the new baseline, or waive its failures",
    exit_codes="0 written or nothing to add, 1 refused: no reason, owner or expiry date, 3 could not",
    arguments={
        "report": text("REPORT", "default: safe-gate.json in the report folder", nargs="?"),
        "--waivers": texts(
            "PATH",
            f"waive the report's failures in this file instead; default: the setting's, or {WAIVERS_FILE}",
            "?",
            dest="waiver_file",
            const="",
        ),
        "--reason": text("TEXT", "the reason for the approval; required if it hides a failure"),
        "--owner": text("NAME", "who is responsible"),
        "--expires": text("YYYY-MM-DD", "waivers: the last valid day, in UTC"),
        "--id": texts("IDS", "waivers: only these cases", "+", dest="ids", action="extend", default=[]),
    },
    meanings={
        "baseline": "The baseline to write: the path of a .json file. Default: that of the settings.",
        "report_dir": "The folder of the report to approve.",
    },
)


def main(call: Call) -> int:
    """Show and write what is approved: waivers with `--waivers`, else a new baseline. Returns 0, 1 if refused, or 3."""
    options, effects, arguments = call.options(), call.effects, call.arguments
    kind, approved, target = "report", _baseline, options.baseline
    if (named := arguments["waiver_file"]) is not None:
        if call.flags.get("baseline", "").strip():
            words = "--baseline and --waivers exclude each other; leave one out"
            raise CannotJudge.at("command line", words, Code.USAGE)
        kind, approved, target = "waivers", _waivers, checked.waivers_path(named or options.waivers, options.config)
    elif arguments["ids"] or arguments["expires"]:
        raise CannotJudge.at("command line", "has --id or --expires, which need --waivers", Code.USAGE)
    own = Path(options.report_dir) / "safe-gate.json"
    report = source.load_report(Path(arguments["report"] or own))
    signed = {name: text for name in ("reason", "owner", "expires") if not is_blank(text := arguments[name].strip())}
    content, refusal = approved(report, target, call, signed)
    if kind == "report":
        case_files.refuse_to_overwrite("--baseline", target, (own,))
    if filtered := filter_sentence(report.provenance.policy, report.provenance.left_out):
        effects.out(quote_phrase(filtered))
    for stale in changed_and_gone(report)[0][:5]:
        effects.out(phrase_line(("Stale: ", *stale, "; run again to approve the current file")))
    if content is None:
        effects.out("Nothing is written.")
        return 0
    if faults := {(f"--{one.path[-1]}", one.message) for one in checked.load_schema(kind).faults(content)}:
        raise CannotJudge(*(Problem(Place(flag), words, code=Code.USAGE) for flag, words in sorted(faults)))
    if refusal:
        effects.err(f"safe-gate: refused, nothing is written: {refusal}")
        return 1
    disk.write(Path(target), jsontext.pieces(with_streams(content)))
    effects.out(f"Written: {console.path_text(target)}")
    return 0


def _baseline(report: Report, target: str, call: Call, signed: dict[str, str]) -> tuple[JsonObject | None, str]:
    """Return a report as the baseline at `target`, and why it is refused; print how it differs from the present one."""
    if not target.endswith(".json"):
        words = f"is {quote(target) if target else 'not set'}; expected the path of a .json file"
        raise CannotJudge.at("--baseline", words, Code.USAGE)
    hides = report.verdict is Verdict.FAIL
    if disk.exists(Path(target)):
        old = comparison.compared_report(read_report(checked.read_document(Path(target), "report")))
        new = comparison.compared_report(report)._replace(tag=())  # what a filter leaves out is gone
        named = BaselineFacts.named(target)
        found = comparison.compare_to(named, comparison.BaselineRun(old), new, Guards(), "")
        call.effects.out(console.scorecard(comparison_section(found, report.parts), everything=True))
        for _, part in parts_of(found.parts):
            hides = hides or bool(part.cases.removed) or any(one.change == NEWLY_FAILING for one in part.changes)
    needed = "a failed gate, a new failure or a missing case needs --reason"
    return report_json(replace(report, blessed=signed or None)), needed if hides and "reason" not in signed else ""


def _waivers(report: Report, target: str, call: Call, signed: dict[str, str]) -> tuple[JsonObject | None, str]:
    """Return the waivers of `target` with new ones, None if there are none, and why they are refused; print the new."""
    (failures, lost), ids, today = waivable(report), call.arguments["ids"], call.effects.generated_at[:10]
    known = checked.read_waivers(target) if disk.exists(Path(target)) else None
    content: JsonObject = known[1] if known else {"waivers": []}
    there, failed = Waiver.listed(content), {one.case_id for one in failures}
    new = sorted(one for one in failures - {*map(Waivable.of, there)} if not ids or one.case_id in ids)
    flag, unfit = ("--id", sorted({*ids} - failed)) if ids or new else ("--waivers", lost)
    if problems := [Problem(Place(flag), why_unfit(one, failed, lost), one, code=Code.UNKNOWN_CASE) for one in unfit]:
        raise CannotJudge(*problems)
    if rows := tuple((Untrusted(one.case_id), one.name) for one in new):
        call.effects.out(console.table_text(Table(("Case", "Fails by"), "<<", rows)))
    sentences: list[Phrase] = [(f"{plural(len(new), 'waiver')} to add, {len(there)} there already.",)]
    sentences += naming_sentence(len(lost), "case has", "cases have", NO_REPLY, lost)
    kept = failures & {Waivable.of(one) for one in there if one.expires < today}
    old = sorted({one.case_id for one in kept if not ids or one.case_id in ids})
    words = "an expired waiver, which stays as it is; set a later day in the file"
    sentences += naming_sentence(len(old), "case has", "cases have", words, old)
    call.effects.out("\n".join(map(quote_phrase, sentences)))
    missing = [f"--{name}" for name in ("reason", "owner", "expires") if name not in signed]
    if not new:
        return None, ""
    if missing:
        return content, f"a waiver needs {enumerated(missing)}"
    if signed["expires"] < today:
        raise CannotJudge.at("--expires", f"is before today; expected {today} or later", Code.USAGE)
    return Waiver.joined(content, [Waiver(*one, **signed) for one in new]), ""
