"""`import`: write what other tools recorded as cases or outputs."""

from __future__ import annotations

from pathlib import Path

from safe_gate.commands._command import Call
from safe_gate.core.command import Command
from safe_gate.core.figures import plural
from safe_gate.core.model import CannotJudge, Place, Problem, Verdict
from safe_gate.importers import entries
from safe_gate.inputs import conversion, disk, writing
from safe_gate.inputs.finding import expansion
from safe_gate.render import console
from safe_gate.runs.exit_codes import EXIT_CODES, complain

_MAKES = ", ".join(f"{name} for {one.makes}" for name, one in entries.IMPORTING.items())

COMMAND = Command(
    place=14,
    summary="write recorded exchanges of other tools as cases: CSV, chat messages, promptfoo, Inspect and others",
    exit_codes="0 written, 3 a record that cannot become a case, or error",
    verb="import",
    arguments={
        "sources": {"nargs": "+", "metavar": "SOURCE", "help": "files or globs of what other tools recorded"},
        "--out": {"required": True, "metavar": "PATH", "help": "write the cases to this file, as JSONL"},
        "--from": {"dest": "format", "default": "auto", "metavar": "FORMAT", "help": "the format; default: detected"},
        "--evaluator": {
            "default": entries.BY_DEFAULT,
            "choices": tuple(entries.IMPORTING),
            "help": f"{_MAKES}; default: {entries.BY_DEFAULT}",
        },
        "--checks": {
            "dest": "case_checks",
            "nargs": "+",
            "default": [],
            "metavar": "CHECK",
            "help": f"the checks of every case; default: {' and '.join(entries.IMPORTING[entries.BY_DEFAULT].checks)}",
        },
        "--tags": {
            "dest": "case_tags",
            "nargs": "+",
            "default": [],
            "metavar": "TAG",
            "help": "tags that every case gets",
        },
        "--skip-invalid": {
            "action": "store_true",
            "help": "leave out records that cannot become cases, and count them",
        },
        "--force": {"action": "store_true", "help": "replace the file of --out if there is one"},
    },
)


def main(call: Call) -> int:
    """Write the records that the command line names. Returns 0; 3 where a record is refused and not skipped.

    Nothing is written then. What is left out of cases, and what is skipped, is counted.
    """
    options, effects, arguments = call.options(), call.effects, call.arguments
    evaluator, patterns, out = arguments["evaluator"], arguments["sources"], arguments["out"]
    checks = [name for word in arguments["case_checks"] for name in word.split(",") if name]
    request = entries.Request(
        evaluator,
        arguments["format"],
        conversion.mapping_of(options.import_map, evaluator),
        tuple(checks) or entries.IMPORTING[evaluator].checks,
        tuple(name for word in arguments["case_tags"] for name in word.split(",") if name),
    )
    if disk.is_among(out, expansion.expand(patterns)[0]):
        raise CannotJudge(Problem(Place("--out"), f"names {out}, which is imported; name another file"))
    if not arguments["force"] and disk.holds_something(Path(out)):
        words = f"names {out}, which exists; set --force to replace it with all its labels, or name another file"
        raise CannotJudge(Problem(Place("--out"), words))
    imported = conversion.read(patterns, request)
    for name, title, count in imported.found:
        effects.out(f"{console.path_words(name)}: {title}, {plural(count, 'case')}")
    for what, count in sorted(imported.left_out.items()):
        effects.out(f"Left out: {console.path_words(what)} ({plural(count, 'record')})")
    if imported.problems and not (arguments["skip_invalid"] and imported.is_whole):
        code = complain(imported.problems.kept(), effects, COMMAND.verb)
        hint = "; set --skip-invalid to leave these records out" if imported.is_whole else ""
        effects.err(f"Nothing is written{hint}")
        return code
    if imported.problems:
        effects.err(console.refusals(imported.problems.kept()))
    if not imported.count:
        raise CannotJudge(
            Problem(Place("safe-gate import"), "has no record that can become a case; nothing is written")
        )
    writing.write(Path(out), conversion.lines(imported, request))
    effects.out(f"Written: {console.path_words(out)}, {plural(imported.count, 'case')}")
    return EXIT_CODES[Verdict.PASS]
