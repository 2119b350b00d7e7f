"""What every command has: its description, its parsed command line, and how it is run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TextIO

from safe_gate import commands, github
from safe_gate.commands import _parsing, _terminal
from safe_gate.github.effects import Effects, time_of
from safe_gate.inputs import config_file, disk
from safe_gate.inputs.commit_files import FilePath
from safe_gate.model.problems import CannotJudge, Code, Problem, first_of, number
from safe_gate.model.report import Verdict
from safe_gate.render import console, jsonreport
from safe_gate.scoring import asked, workers
from safe_gate.settings import reading
from safe_gate.settings.model import OF_COMMANDS, Settings, settings
from safe_gate.settings.reading import CONFIG_FILE

VERBOSE = {
    "action": "store_true",
    "help": "show all cases to look at with their evidence, and the tables behind the scorecard",
}
"""The argument `--verbose`."""

JSON = {
    "action": "store_true",
    "help": "print one JSON object for programs on standard output, and the log on standard error",
}
"""The argument `--json`: the command line acts on it, not the command."""

QUIET = {
    "action": "store_true",
    "help": "print only the verdict, and what is wrong with the inputs; reports and publishing stay the same",
}
"""The argument `--quiet`."""

SHARD = {
    "default": "",
    "metavar": "I/N",
    "help": "score one part of the cases, such as 2/4, and judge nothing; merge judges all parts together",
}
"""The argument `--shard`."""

OUT = {"default": "", "metavar": "PATH", "help": "write the JSON report to this file"}
"""The argument `--out` of a command that scores."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Command:
    """The description of a command.

    `place` orders the commands in `--help`. `arguments` are its arguments for argparse, by name, without the flags of
    settings. `meanings` describe, by name, the settings that mean something else than in a run. `judges` tells
    whether it has a verdict on a run; its output is then a log, which may get lost. `refuses_aloud` tells whether
    reports and GitHub also say that it could not do its work. `verb` names its work.
    """

    place: int
    summary: str
    exit_codes: str
    arguments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)
    judges: bool = False
    refuses_aloud: bool = False
    verb: str = "judge"


Print = Callable[[str, TextIO], OSError | None]
"""Prints a line to a stream, and returns the error if the line is lost."""


class Call(NamedTuple):
    """A parsed command line: all its arguments by name, and as `flags` the ones that give settings."""

    command: str
    arguments: Mapping[str, Any]
    flags: Mapping[str, Any]
    environ: Mapping[str, str]
    effects: Effects

    def options(self, given: reading.Given | None = None) -> Settings:
        """Return the settings of the command line, and print its warnings. Raises CannotJudge."""
        options = reading.resolve(given or self.given())
        self.warn(options)
        if options.quiet:
            workers.listen(lambda _: None)
        return options

    def judging(self) -> tuple[Settings, Effects]:
        """Return the settings, and the effects that know which of them no config file has. Raises CannotJudge."""
        given = self.given()
        options = self.options(given)
        names = frozenset(name for name, origin in given.origins.items() if origin.kind != CONFIG_FILE)
        return options, self.effects._replace(given=names)

    def options_at(self, root: FilePath) -> Settings:
        """Return the settings with the config file of another folder, such as the baseline's. Raises CannotJudge."""
        return reading.resolve(self.given(root))

    def given(self, root: FilePath = disk.HERE) -> reading.Given:
        """Return what the settings are read from; it gets where each comes from."""
        read = partial(config_file.read_config, root=root)
        return reading.Given(self.flags, self.environ, read, self.command)

    def warn(self, options: Settings) -> None:
        """Print a warning about a config file that is not read, if there is one in a parent folder.

        It is an annotation if the command reports to GitHub and runs there.
        """
        text = "" if options.config else config_file.in_a_parent_folder()
        if text and commands.module(self.command).COMMAND.refuses_aloud and self.effects.context.in_actions:
            self.effects.out(github.runner_files.Annotation("warning", text, "SAFE Gate").command())
        elif text:
            self.effects.err(f"safe-gate: warning: {text}")


def run(
    read: Mapping[str, Any] | CannotJudge,
    argv: Sequence[str],
    environ: Mapping[str, str],
    printed: Print,
    told: dict[str, Any],
) -> int:
    """Run the command of a command line, of which `_parsing.read` made `read`; return its exit code.

    `told` gets the facts that it tells programs.
    """
    effects, flags = None, dict[str, Any]()
    try:
        if isinstance(read, CannotJudge):
            raise read
        arguments = dict(read)
        name = arguments.pop("command")
        known = {one.name for one in settings()} | {*OF_COMMANDS}
        flags |= {name: value for name, value in arguments.items() if name in known}
        known_so_far = reading.reporting_options(flags, environ, lambda _: None)
        disk.follow_links(is_on="outside-links" in known_so_far.allow)
        command = commands.module(name)
        time_of(environ)  # an invalid SOURCE_DATE_EPOCH is an error
        effects = effects_of(environ, printed, told, is_log=command.COMMAND.judges)
        return command.main(Call(name, arguments, flags, environ, effects))
    except CannotJudge as error:
        effects = effects or effects_of(environ, printed, told)
        began = read is not error or effects.context.in_actions  # otherwise no run with reports did
        if refuses_aloud(argv) and began:
            options = reporting_options(_parsing.peeked(argv) | flags, environ)
            return refuse(error.problems, options, effects)
        named = _named(argv)
        return complain(error.problems, effects, named.verb if named else "judge")


def refuses_aloud(argv: Sequence[str]) -> bool:
    """Return whether a command line that fails is also reported in reports and to GitHub."""
    named = _named(argv)
    return named is not None and named.refuses_aloud


def _named(argv: Sequence[str]) -> Command | None:
    """Return the command that a command line names, None for none of ours."""
    name = next(iter(argv), "")
    if name not in commands.names():
        return None
    found: Command = commands.module(name).COMMAND
    return found


def reporting_options(flags: Mapping[str, Any], environ: Mapping[str, str]) -> Settings:
    """Return the settings that say where to report a refused run, as far as they can be read."""
    return reading.reporting_options(flags, environ, partial(config_file.read_config, is_checked=False))


def refuse(problems: Sequence[Problem], options: Settings, effects: Effects) -> int:
    """Report the problems of a run in reports and to GitHub. Returns 3."""
    from safe_gate import reporting  # every command may fail, and few need what a run needs

    if options.mode == "publish":
        problems = asked.as_shown(problems, options.text)
        github.publishing.publish_refusal(problems, effects, is_dry=options.dry_run)
        return complain(problems, effects)
    return reporting.refuse(problems, options, effects).report.verdict.exit_code


def complain(problems: Sequence[Problem], effects: Effects, verb: str = "judge") -> int:
    """Print all problems, because no report holds them, and what could not be done. Return the exit code for that."""
    effects.tell("problems", problems)
    effects.err(console.problems(problems, verb))
    return Verdict.ERROR.exit_code


def as_json(argv: Sequence[str], code: int, told: Mapping[str, Any]) -> str:
    """Return what a command told programs, as one JSON object on a line."""
    problems = told.get("problems", ())
    shown = {"problems": [_problem(one) for one in first_of(problems)], "problem_count": number(problems)}
    name = next((word for word in argv if word in commands.names()), "")
    return jsonreport.line({"command": name, "exit_code": code, **told, **shown})


def _problem(one: Problem) -> dict[str, Any]:
    place = {"path": one.place.path, "line": one.place.line, "id": one.case_id, "field": one.field}
    return {"code": one.code.value, **place, "message": one.message, "fix": one.fix, "count": one.count}


def effects_of(environ: Mapping[str, str], printed: Print, told: dict[str, Any], *, is_log: bool = True) -> Effects:
    """Return what a command may do. Its time is the clock's if SOURCE_DATE_EPOCH is invalid."""
    say = _terminal.printer(environ, partial(_say, printed, is_log=is_log))
    out, err = (lambda line: say(line, sys.stdout)), (lambda line: say(line, sys.stderr))
    try:
        at = time_of(environ)
    except CannotJudge:
        at = time_of({})
    effects = Effects.of(environ, at, out, err)
    return effects._replace(tell=lambda name, fact: told.update({name: fact() if callable(fact) else fact}))


def _say(printed: Print, line: str, stream: TextIO, *, is_log: bool) -> None:
    """Print a line. Raises CannotJudge if it is lost, as on a full disk, and is more than a log."""
    error = printed(line, stream)
    if not (error is None or is_log or stream is sys.stderr or isinstance(error, BrokenPipeError)):  # as of `| head`
        raise CannotJudge.at("standard output", f"cannot be written: {error.strerror}", Code.UNWRITABLE_FILE) from error
