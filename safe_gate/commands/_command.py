"""What every command has: its description, its parsed command line, how it is run, and what a terminal shows of it.

A usage error is a problem like all others, with exit code 3. Anything that is no terminal, such as a log, a file or a
pipe, gets plain text with tables of 80 columns.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TextIO

from safe_gate import __version__, commands
from safe_gate.core import jsontext
from safe_gate.core.setting import HEADINGS, Setting
from safe_gate.core.validate import suggestion
from safe_gate.evaluators.registry import BUILT_IN, EVALUATORS, INSTALL_PROBLEMS
from safe_gate.github import Effects, time_of
from safe_gate.inputs import checked, disk
from safe_gate.inputs.commit_files import FilePath
from safe_gate.model.problems import CannotJudge, Code, Place, Problem, first_of, is_interrupt, number
from safe_gate.model.report import Verdict
from safe_gate.model.results import Untrusted
from safe_gate.render import console
from safe_gate.render.untrusted import plain
from safe_gate.scoring import sides, workers
from safe_gate.settings import OF_COMMANDS, Settings, reading, settings
from safe_gate.settings.reading import MODES, own_inputs

Argument = Mapping[str, Any]
"""An argument of a command, as argparse takes it."""


def switch(help_: str, **more: Any) -> Argument:
    """Return an argument that is there or not."""
    return {"action": "store_true", "help": help_, **more}


def text(metavar: str, help_: str, **more: Any) -> Argument:
    """Return an argument with a text, "" where it is left out."""
    return {"default": "", "metavar": metavar, "help": help_, **more}


def texts(metavar: str, help_: str, nargs: str = "*", **more: Any) -> Argument:
    """Return an argument with several texts."""
    return {"nargs": nargs, "metavar": metavar, "help": help_, **more}


VERBOSE = switch("show all cases to look at with their evidence, and the tables behind the scorecard")
JSON = switch("print one JSON object for programs on standard output, and the log on standard error")
"""The argument `--json`: the command line acts on it, not the command."""

QUIET = switch("print only the verdict, and what is wrong with the inputs; reports and publishing stay the same")
SHARD = text("I/N", "score one part of the cases, such as 2/4, and judge nothing; merge judges all parts together")
OUT = text("PATH", "write the JSON report to this file")


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
    arguments: Mapping[str, Argument] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)
    judges: bool = False
    refuses_aloud: bool = False
    verb: str = "judge"


NO_COMMAND = Command(place=0, summary="", exit_codes="")


class Call(NamedTuple):
    """A parsed command line: all its arguments by name, and as `flags` the ones that give settings."""

    command: str
    arguments: Mapping[str, Any]
    flags: Mapping[str, Any]
    environ: Mapping[str, str]
    effects: Effects

    def options(self, given: reading.Given | None = None) -> Settings:
        """Return the settings of the command line. Raises CannotJudge."""
        options = reading.resolve(given or self.given())
        if options.quiet:
            workers.listen_for_scored(lambda _: None)
        return options

    def options_at(self, root: FilePath) -> Settings:
        """Return the settings with the config file of another folder, such as the baseline's. Raises CannotJudge."""
        return reading.resolve(self.given(root))

    def given(self, root: FilePath = disk.HERE) -> reading.Given:
        """Return what the settings are read from; it gets where each comes from."""
        read = partial(checked.read_config, root=root)
        return reading.Given(self.flags, self.environ, read, self.command)


def run(argv: list[str], environ: Mapping[str, str], told: dict[str, Any]) -> int:
    """Run the command of a command line, and return its exit code. `told` gets the facts that it tells programs.

    `argv` becomes the command line that the action's inputs make of it. No command is a wrong command line.
    """
    effects, flags = None, None
    try:
        Path.cwd()
    except FileNotFoundError:
        words = "the working folder no longer exists; change to another one"
        return complain([Problem(Place("safe-gate"), words, code=Code.UNREADABLE_FILE)], effects_of(environ, told))
    try:
        if not argv:
            print_line(help_text(), sys.stdout)
            return Verdict.ERROR.exit_code
        argv[:] = with_action_inputs(argv, environ)
        arguments = _parsed(argv)
        if arguments is None:
            return 0
        name = arguments.pop("command")
        known = {one.name for one in settings()} | {*OF_COMMANDS}
        flags = {name: value for name, value in arguments.items() if name in known}
        disk.follow_links(is_on="outside-links" in reading.reporting_options(flags, environ, lambda _: None).allow)
        command = commands.module(name)
        time_of(environ)  # an invalid SOURCE_DATE_EPOCH is an error
        effects = effects_of(environ, told, is_log=command.COMMAND.judges)
        return command.main(Call(name, arguments, flags, environ, effects))
    except BaseException as error:
        if is_interrupt(error):
            raise
        problems = error.problems if isinstance(error, CannotJudge) else (_internal_problem(error),)
        mode = argv[0] if argv[0] in MODES else "run"
        options = reporting_options({**(flags or {}), "mode": mode}, environ, argv[0])
        effects = effects or effects_of(environ, told)
        problems = (*checked.place_at_source(problems, options),)
        if command_of(argv).refuses_aloud and flags is not None:  # otherwise no run with reports did
            return refuse(problems, options, effects)
        return complain(sides.redact_problems(problems, options.text), effects, command_of(argv).verb)


def _internal_problem(error: BaseException) -> Problem:
    """Return the problem of a defect, or of a lack of memory."""
    if isinstance(error, MemoryError):
        words = "ran out of memory; give it more, set fewer jobs, or split the largest file"
        return Problem(Place("safe-gate"), words, code=Code.UNAVAILABLE)
    what = f"internal error: {type(error).__name__}"
    others = "".join(f" or of the evaluator {name}" for name in EVALUATORS if name not in BUILT_IN)
    advice = f"this is a defect of safe-gate{others}: please report it with the command and the input"
    words = f"{what}: {plain(Untrusted(str(error)))}; {advice}"
    return Problem(Place("safe-gate"), words, text_free=f"{what}; {advice}", code=Code.INTERNAL_ERROR)


def command_of(argv: Sequence[str]) -> Command:
    """Return the command that a command line names, `NO_COMMAND` for none of ours."""
    return commands.module(argv[0]).COMMAND if argv and argv[0] in commands.names() else NO_COMMAND


def reporting_options(flags: Mapping[str, Any], environ: Mapping[str, str], command: str) -> Settings:
    """Return the settings that say where to report a refused run, as far as they can be read."""
    return reading.reporting_options(flags, environ, partial(checked.read_config, is_checked=False), command)


def refuse(problems: Sequence[Problem], options: Settings, effects: Effects) -> int:
    """Report the problems of a run in reports and to GitHub. Returns 3."""
    from safe_gate import reporting  # every command may fail, and few need what a run needs
    from safe_gate.github import publishing

    if options.mode == "publish":
        problems = sides.redact_problems(problems, options.text)
        publishing.publish_refusal(problems, effects, is_dry=options.dry_run)
        return complain(problems, effects)
    return reporting.report_refusal(problems, options, effects).report.verdict.exit_code


def complain(problems: Sequence[Problem], effects: Effects, verb: str = "judge") -> int:
    """Print all problems, because no report holds them, and what could not be done. Return the exit code for that."""
    effects.tell("problems", problems)
    effects.err(console.problem_lines(problems, verb))
    return Verdict.ERROR.exit_code


def print_told(argv: Sequence[str], code: int, told: Mapping[str, Any]) -> int:
    """Print what a command told programs, as one JSON object on a line. Return its exit code, or 3 if that is lost."""
    problems = told.get("problems", ())
    shown = {"problems": [_problem(one) for one in first_of(problems)], "problem_count": number(problems)}
    name = next((word for word in argv if word in commands.names()), "")
    lost = print_line(jsontext.line({"command": name, "exit_code": code, **told, **shown}), sys.stdout)
    if lost and not isinstance(lost, BrokenPipeError):
        print_line(f"standard output: cannot be written: {lost.strerror}", sys.stderr)
        return code or Verdict.ERROR.exit_code
    return code


def _problem(one: Problem) -> dict[str, Any]:
    place = {"path": one.place.path, "line": one.place.line, "id": one.case_id, "field": one.field}
    return {"code": one.code.value, **place, "message": one.message, "fix": one.fix, "count": one.count}


def effects_of(environ: Mapping[str, str], told: dict[str, Any], *, is_log: bool = True) -> Effects:
    """Return what a command may do. Its time is the clock's if SOURCE_DATE_EPOCH is invalid.

    On a terminal a line has colours and replaces the progress line. A line that is lost, as on a full disk, raises
    CannotJudge unless it is only a log.
    """
    console.limit_width(shutil.get_terminal_size().columns)  # 80 where it goes elsewhere, unless COLUMNS says more
    progress = Progress(sys.stderr)
    if sys.stderr.isatty():
        workers.listen_for_scored(progress.add)

    def say(line: str, stream: TextIO) -> None:
        progress.clear()
        error = print_line(coloured(line) if has_colour(stream, environ) else line, stream)
        if not (error is None or is_log or stream is sys.stderr or isinstance(error, BrokenPipeError)):  # of `| head`
            words = f"cannot be written: {error.strerror}"
            raise CannotJudge.at("standard output", words, Code.UNWRITABLE_FILE) from error

    try:
        at = time_of(environ)
    except CannotJudge:
        at = time_of({})
    effects = Effects.of(environ, at, lambda line: say(line, sys.stdout), lambda line: say(line, sys.stderr))
    return effects._replace(tell=lambda name, fact: told.update({name: fact() if callable(fact) else fact}))


def print_line(line: str, stream: TextIO) -> OSError | None:
    """Print a line. Return the error if it is lost, as on a full disk."""
    return write(partial(print, line, file=stream, flush=True), stream)


def write(writes: Callable[[], None], stream: TextIO) -> OSError | None:
    """Write to a stream. Return the error if something is lost; what comes later is lost without one."""
    try:
        writes()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # the command must still return its exit code
        return error
    return None


# --- the command line, parsed by argparse ------------------------------------------------------------


def with_action_inputs(argv: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """Return a command line `run` as the action's own inputs want it; another one as it is.

    >>> with_action_inputs(["run", "--quiet"], {"INPUT_MODE": "merge", "INPUT_SHARDS": "a.json"})
    ['merge', 'a.json', '--quiet']
    """
    command, *rest = argv
    if command != "run":
        return [*argv]
    inputs = own_inputs(environ)
    match inputs.get("mode"):
        case "merge":
            return ["merge", *inputs.get("shards", "").splitlines(), *rest]
        case "publish":
            return ["publish", *rest]
    return [*argv]


def _parsed(argv: Sequence[str]) -> dict[str, Any] | None:
    """Return the arguments of the command line by name, None if it printed help. Raises CannotJudge."""
    try:
        return _arguments(argv)
    except SystemExit:  # by argparse, when a flag such as --help has printed its answer
        return None
    except CannotJudge as error:  # an evaluator that cannot be used may have the flag
        raise CannotJudge(*INSTALL_PROBLEMS, *error.problems) from None


def _arguments(argv: Sequence[str]) -> dict[str, Any]:
    """Return the arguments of the command line by name. Raises CannotJudge for words that no option takes."""
    name = argv[0].partition("=")[0]
    if name.startswith("-") and name not in ("-h", "--help", "--version"):  # what follows it may be a token
        words = f"{name} comes before the command; expected safe-gate COMMAND, then its flags; see safe-gate --help"
        raise CannotJudge.at("command line", words, Code.USAGE)
    if name not in commands.names():
        all_commands().parse_args(argv)  # which shows its help, or raises
    command = commands.module(name).COMMAND
    parser = _parser(name, command, is_whole="--help-all" in argv)
    # One that takes words anywhere: a plain one takes no HEAD in `compare BASE --verbose HEAD`.
    # It reads words twice, the second time without `--`: a mark keeps those behind it from being flags.
    end = argv.index("--") + 1 if "--" in argv else len(argv)
    marked = [_MARK + word if word.startswith("-") else word for word in argv[end:]]
    namespace, unknown = parser.parse_known_intermixed_args([*argv[1:end], *marked])
    if not unknown:
        return {"command": name, **vars(namespace)}
    unknown = [*map(_unmarked, unknown)]
    flags = [word.partition("=")[0] for word in unknown if word.startswith("-")]
    shown = " ".join(unknown)
    if any(re.search("token|secret|sink", flag.lower()) for flag in flags):
        shown = " ".join(flags)  # what follows may be secret, and comments quote a problem
    hint = f"; expected {parser.usage}"
    if flags:
        own = [flag for setting in settings() for flag in setting.flags_of(name)]
        own += [word for word in command.arguments if word.startswith("--")]
        hint = suggestion(flags[0].lstrip("-"), {one.lstrip("-"): one for one in own}, quoted=False)
    words = f"unrecognized arguments: {shown}{hint}; see safe-gate {name} --help"
    raise CannotJudge.at("command line", words, Code.USAGE)


_MARK = "\0"  # what no word of a command line contains


def _unmarked(word: str) -> str:
    return word.removeprefix(_MARK)


def help_text(name: str = "", *, is_whole: bool = False) -> str:
    """Return the help of a command, or of safe-gate itself. A whole one shows every setting."""
    parser = _parser(name, commands.module(name).COMMAND, is_whole=is_whole) if name else all_commands()
    return parser.format_help().rstrip()


class _Parser(argparse.ArgumentParser):
    """A parser whose usage errors are problems like all others."""

    def error(self, message: str) -> NoReturn:
        wrong = re.search(r"invalid choice: '([^']*)'", message)
        hint = suggestion(wrong[1], [*commands.every(), "--version"], quoted=False) if wrong else ""
        raise CannotJudge.at("command line", f"{message}{hint}; see {self.prog} --help", Code.USAGE)


def all_commands(*, are_whole: bool = False) -> argparse.ArgumentParser:
    """Return the parser of a command line without a command: it has `--help`, `--version` and all names.

    If the commands are whole, it has their arguments too: from it, completions for shells are made.
    """
    parser = _Parser(
        prog="safe-gate",
        description="Judges recorded outputs of a language-model application before a merge: are they good enough, and "
        "did they get worse?",
        epilog="New here? `safe-gate init` adds sample cases, a config file and a workflow to your repository.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"safe-gate {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    for name, command in commands.every().items():
        parents = [_parser(name, command, is_whole=True)] if are_whole else []
        subparsers.add_parser(name, help=command.summary, parents=parents, add_help=not parents)
    return parser


_USAGES = {"": "{}", "?": "[{}]", "*": "[{} ...]", "+": "{} ..."}  # of arguments, by their `nargs`

_MOST_SHOWN = 25
"""A command with more flags for settings than this shows in `--help` those that people use."""


def _parser(name: str, command: Command, *, is_whole: bool) -> _Parser:
    """Return the parser of a command: the flags of settings under their headings, and its other arguments."""
    taken = [setting for setting in settings() if setting.flags_of(name)]
    hidden = [] if is_whole or len(taken) <= _MOST_SHOWN else [one for one in taken if not one.is_usual]
    own = [facts for word, facts in command.arguments.items() if not word.startswith("-")]
    usage = [_USAGES.get(facts.get("nargs", ""), "{}").format(facts["metavar"]) for facts in own]
    parser = _Parser(
        prog=f"safe-gate {name}",
        usage=" ".join((f"safe-gate {name}", *usage, "[FLAG ...]")),
        description=f"{command.summary[0].upper()}{command.summary[1:]}.",
        epilog=f"exit codes: {command.exit_codes}",
        allow_abbrev=False,
    )
    more = f"show this help and the flags of {len(hidden)} more settings" if hidden else argparse.SUPPRESS
    parser.add_argument("--help-all", action="help", help=more)
    for heading in HEADINGS:  # one without flags is not shown
        group = parser.add_argument_group(heading)
        for setting in taken:
            if setting.heading == heading:
                words = argparse.SUPPRESS if setting in hidden else command.meanings.get(setting.name, setting.help)
                _add_flag(group, setting, setting.flags_of(name), words)
    for word, facts in command.arguments.items():
        parser.add_argument(word, **facts if word.startswith("-") else {"type": _unmarked, **facts})
    return parser


def _add_flag(group: argparse._ArgumentGroup, setting: Setting, flags: Sequence[str], words: str) -> None:
    """Add an option's flag. Values stay text: settings convert them, like those of every source."""
    help_ = words.replace("%", "%%")
    common: dict[str, Any] = {"dest": setting.name, "default": argparse.SUPPRESS, "help": help_}
    if setting.kind is bool:
        group.add_argument(*flags, action=argparse.BooleanOptionalAction, **common)
    elif setting.is_list or setting.by_name:
        # An input or a variable has a value per line, a flag has them side by side.
        common["help"] = help_.replace("; one per line", "").replace(", one per line", "")
        group.add_argument(*flags, nargs="+", action="extend", metavar=setting.metavar, **common)
    else:
        group.add_argument(*flags, metavar=setting.metavar, **common)


# --- what a terminal shows beyond plain text ---------------------------------------------------------

_PATIENCE = 2.0  # seconds before a run shows how far it is
_PAUSE = 0.1  # seconds between two such lines
_RED, _GREEN, _YELLOW = "31", "32", "33"
_COLOURS = {
    **dict.fromkeys(("FAIL", "BROKEN", "ERROR", "fails"), _RED),
    **dict.fromkeys(("PASS", "ok", "OK"), _GREEN),
    **dict.fromkeys(("REVIEW", "WARN", "skipped"), _YELLOW),
}
# A word of ours at the start of a table's cell, or as the verdict of the last line.
_PAINTED = re.compile(rf"((?:^(?:Gate|Eval|Compare): |[│║] +))({'|'.join(_COLOURS)})(?=[ │║(]|$)", re.MULTILINE)


def has_colour(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Return whether a stream gets colours: a terminal does, unless NO_COLOR is set; FORCE_COLOR gives them to any.

    Sources: https://no-color.org and https://force-color.org.
    """
    if environ.get("NO_COLOR"):
        return False
    if forced := environ.get("FORCE_COLOR"):
        return forced not in ("0", "false")
    return stream.isatty() and environ.get("TERM") != "dumb"


def coloured(text: str) -> str:
    r"""Return a text with its verdicts in colour.

    >>> coloured("Gate: FAIL (1 of 2 rules broken)")
    'Gate: \x1b[31mFAIL\x1b[0m (1 of 2 rules broken)'
    """
    return _PAINTED.sub(lambda found: f"{found[1]}\x1b[{_COLOURS[found[2]]}m{found[2]}\x1b[0m", text)


class Progress:
    """A progress line on a terminal: how many cases of a long run are scored. The next output replaces it."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._next = clock() + _PATIENCE
        self._cases = 0
        self._is_shown = False

    def add(self, cases: int) -> None:
        """Count more cases, and show how many there are now if it is time."""
        self._cases += cases
        if (now := self._clock()) >= self._next:
            self._next, self._is_shown = now + _PAUSE, True
            self._show(f"\r{self._cases:,} cases scored ...")

    def clear(self) -> None:
        """Take the line away."""
        if self._is_shown:
            self._is_shown = False
            self._show("\r\x1b[K")

    def _show(self, text: str) -> None:
        with suppress(OSError):  # a terminal that is gone
            self._stream.write(text)
            self._stream.flush()
