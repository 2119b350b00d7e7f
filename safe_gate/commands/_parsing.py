"""The command line, parsed by argparse. A usage error is a problem like all others, with exit code 3."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NoReturn

from safe_gate import __version__, commands
from safe_gate.core.model import CannotJudge, Place, Problem
from safe_gate.core.setting import AS_RUN, GROUPS, Setting
from safe_gate.core.validate import suggestion
from safe_gate.evaluators import EVALUATORS, PROBLEMS
from safe_gate.settings.old_names import OLD_NAMES
from safe_gate.settings.options import settings

if TYPE_CHECKING:
    from safe_gate.core.command import Command


def read(argv: Sequence[str]) -> dict[str, Any] | CannotJudge | None:
    """Return the arguments of the command line by name, what is wrong with it, or None if it printed help."""
    try:
        return _parsed(argv)
    except _AnsweredError:
        return None
    except CannotJudge as error:
        return CannotJudge(*PROBLEMS, *error.problems)  # an evaluator that cannot be used may have the flag


def _parsed(argv: Sequence[str]) -> dict[str, Any]:
    """Return the arguments of the command line by name. Raises CannotJudge for words that no option takes."""
    first = argv[0].partition("=")[0] if argv else ""
    if first.startswith("-") and first not in ("-h", "--help", "--version"):  # what follows it may be a token
        words = f"{first} comes before the command; expected safe-gate COMMAND, then its flags; see safe-gate --help"
        raise CannotJudge(Problem(Place("command line"), words))
    namespace, unknown = _parser(first).parse_known_args(argv)
    arguments = vars(namespace)
    if not unknown:
        return arguments
    name = arguments["command"]
    command = commands.module(name).COMMAND
    flags = [word.partition("=")[0] for word in unknown if word.startswith("-")]
    shown = " ".join(unknown)
    if any(re.search("token|secret|sink", flag.lower()) for flag in flags):
        shown = " ".join(flags)  # what follows may be secret, and comments quote a problem
    if any(re.search("token|secret", flag.lower()) for flag in flags):
        hint = "; secrets are set by the variables SAFE_GATE_GITHUB_TOKEN and SAFE_GATE_SINK_SECRET"
    elif not flags:
        inputs = {one.input.setting for one in EVALUATORS.values()}
        naming = [setting.flags_of(name)[:1] for setting in settings() if setting.name in inputs]
        hint = f"; name files with {' and '.join(chain(*naming))}" if any(naming) else ""
    elif any(flags[0] in names for setting in settings() for names in setting.flags.values()):
        hint = f"; {flags[0]} is not an option of {name}"
    else:
        own = [flag for setting in settings() for flag in setting.flags_of(name)]
        own += [word for word in command.arguments if word.startswith("--")]
        hint = suggestion(flags[0], own, quoted=False)
    words = f"unrecognized arguments: {shown}{hint}; see safe-gate {name} --help"
    raise CannotJudge(Problem(Place("command line"), words))


def help_text() -> str:
    """Return the help of safe-gate itself."""
    return _parser("").format_help().rstrip()


def peeked(argv: Sequence[str]) -> dict[str, str]:
    """Return where to report a refused run, from a command line that could not be parsed."""
    # A flag whose value was left out is followed by the next flag.
    pairs = {word: value for word, value in pairwise(argv) if not value.startswith("-")}
    pairs |= dict(word.split("=", 1) for word in argv if word.startswith("--") and "=" in word)
    named = {flag: setting.name for setting in settings() for flag in setting.flags_of("run")}
    named |= {old.flag: old.name for old in OLD_NAMES if old.flag}
    given = {name: pairs[flag] for flag, name in named.items() if flag in pairs}
    mode = {"mode": argv[0]} if argv[:1] in (["merge"], ["publish"]) else {}
    return given | mode | ({"dry_run": "true"} if "--dry-run" in argv else {})


class _AnsweredError(Exception):
    """A flag such as --help has printed its answer."""


class _Parser(argparse.ArgumentParser):
    """A parser whose usage errors are problems like all others."""

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:  # noqa: ARG002 - as argparse calls it
        raise _AnsweredError

    def error(self, message: str) -> NoReturn:
        wrong = re.search(r"invalid choice: '([^']*)'", message)
        hint = suggestion(wrong[1], list(commands.every()), quoted=False) if wrong else ""
        takes_all = any(action.nargs == "+" and action.option_strings for action in self._actions)
        if takes_all and re.search(r"are required: (?!-)", message):
            hint = "; write it before the flags: some flags take all words that follow"
        raise CannotJudge(Problem(Place("command line"), f"{message}{hint}; see {self.prog} --help"))


def _parser(first: str) -> argparse.ArgumentParser:
    """Return the parser for a first word: of one command with its flags, or of all commands without flags."""
    parser = _Parser(
        prog="safe-gate",
        description="Judges recorded outputs of a language-model application before a merge: are they good enough, and "
        "did they get worse?",
        epilog="New here? `safe-gate init` adds sample cases, a config file and a workflow to your repository.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"safe-gate {__version__}")
    if first == "--version":  # the only command line without a command's module, to save the time
        return parser
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    known = {first: commands.module(first).COMMAND} if first in commands.names() else commands.every()
    for name, command in known.items():
        words = f"{command.summary[0].upper()}{command.summary[1:]}."
        codes = f"exit codes: {command.exit_codes}"
        subparser = subparsers.add_parser(
            name, help=command.summary, description=words, epilog=codes, allow_abbrev=False
        )
        if name == first:
            _add_arguments(subparser, name, command)
    return parser


def _add_arguments(parser: argparse.ArgumentParser, name: str, command: Command) -> None:
    """Add the flags of settings under their headings, and the command's other arguments."""
    taken = [setting for setting in settings() if setting.flags_of(name)]
    for heading in GROUPS:  # one without flags is not shown
        group = parser.add_argument_group(heading)
        for setting in taken:
            if setting.group == heading:
                words = command.meanings.get(setting.name, setting.help)
                _add_flag(group, setting, setting.flags_of(name), words)
    for old in OLD_NAMES:
        if old.flag and name in (*AS_RUN, *old.commands):
            parser.add_argument(old.flag, dest=old.name, default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    for word, facts in command.arguments.items():
        parser.add_argument(word, **facts)


def _add_flag(group: argparse._ArgumentGroup, setting: Setting, flags: Sequence[str], words: str) -> None:
    """Add an option's flag. Values stay text: settings convert them, like those of every source."""
    help_ = words.replace("%", "%%")
    common: dict[str, Any] = {"dest": setting.name, "default": argparse.SUPPRESS, "help": help_}
    if setting.kind is bool:
        group.add_argument(*flags, action=argparse.BooleanOptionalAction, **common)
    elif setting.is_list or setting.is_mapping:
        # An input or a variable has a value per line, a flag has them side by side.
        common["help"] = help_.replace("; one per line", "").replace(", one per line", "")
        group.add_argument(*flags, nargs="+", action="extend", metavar=setting.metavar, **common)
    else:
        group.add_argument(*flags, metavar=setting.metavar, **common)
