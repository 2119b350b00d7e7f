"""`import`: write what other tools recorded as cases or outputs."""

from __future__ import annotations

from collections.abc import Mapping
from os.path import realpath
from pathlib import Path
from typing import Any

from safe_gate import addons
from safe_gate.commands._command import Call, Command, complain, switch, text, texts
from safe_gate.core.figures import plural
from safe_gate.core.jsontext import repeated
from safe_gate.inputs import disk, globs
from safe_gate.model.problems import CannotJudge, Code
from safe_gate.render import console

_MOST_IDS = _MOST_KINDS = 50
_MAKES = ", ".join(f"{name} for {one.makes}" for name, one in addons.importers.IMPORTING.items())

COMMAND = Command(
    place=14,
    summary="make cases from recordings of other tools: CSV, chat messages, promptfoo, Inspect and others",
    exit_codes="0 written, 3 a record that cannot become a case, or error",
    verb="import",
    arguments={
        "sources": texts("SOURCE", "files or globs of what other tools recorded", "+"),
        "--out": text("PATH", "write the cases to this file, as JSONL"),
        "--update": text(
            "CASES", "in place of --out: replace the replies and verdicts in this file of cases, nothing else"
        ),
        "--from": {
            "dest": "format",
            "default": addons.importers.AUTO,
            "choices": addons.importers.CHOICES,
            "help": "the format; default: detected",
        },
        "--map": texts(
            "FIELD=PATH",
            "where fields with other names are: user=PATH,assistant=PATH,id=PATH,tags=PATH",
            "+",
            dest="mapping",
            action="extend",
            default=[],
        ),
        "--encoding": text("NAME", "the encoding of texts, such as cp1252; default: UTF-8"),
        "--evaluator": {
            "default": addons.importers.BY_DEFAULT,
            "choices": tuple(addons.importers.IMPORTING),
            "help": f"{_MAKES}; default: {addons.importers.BY_DEFAULT}",
        },
        "--checks": texts(
            "CHECK",
            "the checks of every case; default: those of the record, else none: a run uses its default checks",
            "+",
            dest="case_checks",
            default=[],
        ),
        "--tags": texts("TAG", "tags that every case gets", "+", dest="case_tags", default=[]),
        "--skip-invalid": switch("leave out records that cannot become cases, and count them"),
        "--force": switch("replace the file of --out if there is one"),
    },
)


def main(call: Call) -> int:
    """Write the records that the command line names. Returns 0; 3 where a record is refused and not skipped.

    Nothing is written then. What is left out of cases, and what is skipped, is counted.
    """
    effects, arguments = call.effects, call.arguments
    call.options()  # a config file that is wrong, or not read, is named here too
    out, say = arguments["out"], effects.out
    request = _request(arguments)
    _check_target(arguments)
    imported = addons.importers.import_files(arguments["sources"], request)
    for name, title, count in imported.found:
        say(f"{console.path_text(name)}: {title}, {plural(count, 'case')}")
    for what, count in sorted(imported.left_out.items())[:_MOST_KINDS]:
        say(f"Left out: {console.path_text(what)} ({plural(count, 'record')})")
    if (others := len(imported.left_out) - _MOST_KINDS) > 0:
        say(f"Left out: {others} more fields")
    if unlike := imported.unlike(request.key):
        some = console.join_names(unlike)
        say(f"One id, different messages: {some}; each became a sample; is it the right id? If not: --map id=FIELD")
    if imported.problems and not (arguments["skip_invalid"] and imported.is_whole):
        code = complain(imported.problems.kept(), effects, COMMAND.verb)
        hint = "; set --skip-invalid to leave these records out" if imported.is_whole else ""
        effects.err(f"Nothing is written{hint}")
        return code
    if imported.problems:
        effects.err(console.refusal_lines(imported.problems.kept()))
    made = [*addons.importers.number_repeated_ids(imported.lines, request.key)]
    if not made:
        words = "has no record that can become a case; nothing is written; name the fields with --map"
        raise CannotJudge.at("safe-gate import", words, Code.NO_INPUT)
    if path := arguments["update"]:
        replies = {one[request.key]: one for one in made}
        twice = {*repeated(one[request.key] for one in imported.lines)}
        is_lenient = arguments["skip_invalid"]
        update = addons.importers.update_cases(Path(path), request, replies, twice, is_lenient=is_lenient)
        disk.write(Path(realpath(path)), update.lines)  # through a link, which stays
        say(f"Updated: {console.path_text(path)}, {len(update.changed)} of {plural(len(update.cases), 'case')} changed")
        for ids, words in (
            ([id_ for id_ in replies if id_ not in update.cases], "New, not in the file"),
            (update.gone, "Gone from the recording, so with their old replies"),
            (update.unlike, "Not like the recording, so with their old replies"),
            (update.to_check, "Changed under labels or marks, or without old verdicts, which to check"),
        ):
            if ids:
                say(f"{words}: {len(ids)} ({console.join_names(ids, _MOST_IDS)})")
        return 0
    disk.write(Path(out), (addons.importers.to_json_line(entry) + "\n" for entry in made))
    say(f"Written: {console.path_text(out)}, {plural(len(made), 'case')}")
    return 0


def _request(arguments: Mapping[str, Any]) -> addons.importers.Request:
    """Return what the command line asks for. Raises CannotJudge."""
    evaluator = arguments["evaluator"]
    checks, tags = (
        [name for word in arguments[option] for name in word.split(",") if name]
        for option in ("case_checks", "case_tags")
    )
    makes = addons.importers.IMPORTING[evaluator]
    for flag, given, is_known in (("checks", checks, "checks" in makes.keeps), ("tags", tags, "tags" in makes.fields)):
        if given and (arguments["update"] or not is_known):
            kind = "an update" if arguments["update"] else makes.makes
            raise CannotJudge.at(f"--{flag}", f"means nothing for {kind}; leave it out", Code.USAGE)
    mapping = addons.importers.parse_mapping(arguments["mapping"], evaluator)
    return addons.importers.Request(evaluator, arguments["format"], mapping, checks, tags, arguments["encoding"])


def _check_target(arguments: Mapping[str, Any]) -> None:
    """Raise CannotJudge if the file to write is one that is read, or holds something that it would lose."""
    out, update = arguments["out"], arguments["update"]
    flag, path = ("--update", update) if update else ("--out", out)
    if out and update:
        raise CannotJudge.at("command line", "--out and --update exclude each other; leave one out", Code.USAGE)
    if path in (None, "", disk.DASH):
        raise CannotJudge.at("command line", "names no file to write; set --out, or --update", Code.USAGE)
    if disk.is_any_of(path, globs.expand_on_disk(arguments["sources"])[0]):
        raise CannotJudge.at(flag, f"names {path}, which is imported; name another file", Code.USAGE)
    if Path(path).is_dir():
        raise CannotJudge.at(flag, f"names {path}, which is a folder; name a file to write in it", Code.USAGE)
    if not update and not arguments["force"] and disk.has_content(Path(path)):
        words = f"names {path}, which exists; set --force to replace it with all its labels"
        words += ", --update to replace only its replies, or name another file"
        raise CannotJudge.at(flag, words, Code.USAGE)
