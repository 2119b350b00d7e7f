"""`bless`: approve a report as the new baseline, or waive its failures."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from safe_gate.baseline import approval
from safe_gate.commands._command import Call, complain
from safe_gate.core.command import Command
from safe_gate.core.model import CannotJudge, Code, Place, Problem
from safe_gate.inputs import writing
from safe_gate.inputs.kinds import kind_of
from safe_gate.render import console, jsonreport
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
        "--id": {
            "dest": "ids",
            "nargs": "+",
            "action": "extend",
            "default": [],
            "help": "waivers: only these cases",
        },
        "--dry-run": {
            "dest": "only_show",
            "action": "store_true",
            "help": "show what would be approved, and write nothing",
        },
    },
    own_word=r".*\.json",
    meanings={
        "baseline": "The baseline to write: the path of a .json file. Default: that of the settings.",
        "report_dir": "The folder of the report to approve.",
    },
)


def main(call: Call) -> int:
    """Show and write what is approved: waivers if their file is named, else a new baseline.

    Returns 0, 1 if it is refused, or 3.
    """
    named = call.arguments["waiver_file"]
    if isinstance(named, str) and not call.arguments["report"] and _is_report(named):  # `bless --waivers REPORT`
        call = call._replace(arguments={**call.arguments, "report": named, "waiver_file": True})
    options, effects, arguments = call.options(), call.effects, call.arguments
    waivers = _waiver_file(call, options.waivers or WAIVERS_FILE)
    grounds = approval.Grounds(arguments["reason"], arguments["owner"], arguments["expires"])
    report = arguments["report"] or (Path(options.report_dir) / "safe-gate.json").as_posix()
    target = waivers or options.baseline
    if waivers:
        approved = approval.waivers(report, waivers, grounds, ids=arguments["ids"], today=effects.generated_at[:10])
    elif target.endswith(".json"):
        approved = approval.baseline(report, target, grounds)
    else:
        words = "names no file to write; expected the path of a .json file, such as --baseline evals/baseline.json"
        return complain((Problem(Place("--baseline"), words, target, code=Code.USAGE),), effects)
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


def _is_report(path: str) -> bool:
    with suppress(CannotJudge):  # it is named below
        return kind_of(Path(path)) == "report"
    return False


def _waiver_file(call: Call, known: str) -> str:
    """Return the file of waivers to write, `known` by default, "" to write a baseline.

    Raises CannotJudge for flags that do not fit.
    """
    arguments = call.arguments
    for_waivers = [
        f"--{name}" for name, value in (("id", arguments["ids"]), ("expires", arguments["expires"])) if value
    ]
    waivers = arguments["waiver_file"]  # None without the flag, "" of a shell's variable that is not set
    if waivers is True:
        waivers = known
    if waivers is not None and not waivers.strip():
        words = f"names no file; expected a path, or nothing for {known}"
        raise CannotJudge(Problem(Place("--waivers"), words, code=Code.USAGE))
    if for_waivers and not waivers:
        raise CannotJudge(Problem(Place(for_waivers[0]), "is for waivers; set --waivers too", code=Code.USAGE))
    if waivers and "baseline" in call.flags:
        raise CannotJudge(
            Problem(Place("command line"), "has --baseline and --waivers; use one after the other", code=Code.USAGE)
        )
    return waivers or ""
