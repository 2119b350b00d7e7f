"""The command line, parsed by argparse. A usage error is a problem like all others, with exit code 3."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NoReturn

from safe_gate import __version__, commands
from safe_gate.core.setting import HEADINGS, Setting
from safe_gate.core.validate import suggestion
from safe_gate.evaluators.registry import EVALUATORS, PROBLEMS
from safe_gate.model.problems import CannotJudge, Code
from safe_gate.settings.model import settings
from safe_gate.settings.reading import MODES, own_inputs

if TYPE_CHECKING:
    from safe_gate.commands._command import Command


def with_action_inputs(argv: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """Return a command line `run` or `doctor` with what the action's own inputs add; another one as it is.

    >>> with_action_inputs(["run", "--quiet"], {"INPUT_MODE": "merge", "INPUT_SHARDS": "a.json"})
    ['merge', 'a.json', '--quiet']
    >>> with_action_inputs(["run"], {"INPUT_SHARD": "1/4"})
    ['run', '--shard=1/4']
    """
    command, *rest = argv
    inputs = own_inputs(environ)
    if command not in ("run", "doctor") or any(word in MODES for word in rest[:1]):
        return [*argv]
    doctor = ["doctor"] if command == "doctor" else []
    match inputs.get("mode"):
        case "merge":
            return [*doctor, "merge", *inputs.get("shards", "").splitlines(), *rest]
        case "publish":
            return [*doctor, "publish", *rest]
    shard = [f"--shard={inputs['shard']}"] if "shard" in inputs else []
    return [command, *shard, *rest]


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
        raise CannotJudge.at("command line", words, Code.USAGE)
    if first not in commands.names():
        _all_commands().parse_args(argv)  # which shows its help, or raises
    name, command = first, commands.module(first).COMMAND
    parser = _parser(name, command, is_whole="--help-all" in argv)
    # One that takes words anywhere: a plain one takes no HEAD in `compare BASE --verbose HEAD`.
    namespace, unknown = parser.parse_known_intermixed_args(argv[1:])
    arguments = {"command": name, **vars(namespace)}
    if not unknown:
        return arguments
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
    raise CannotJudge.at("command line", words, Code.USAGE)


def help_text(name: str = "", *, is_whole: bool = False) -> str:
    """Return the help of a command, or of safe-gate itself. A whole one shows every setting."""
    parser = _parser(name, commands.module(name).COMMAND, is_whole=is_whole) if name else _all_commands()
    return parser.format_help().rstrip()


def peeked(argv: Sequence[str]) -> dict[str, str]:
    """Return where to report a refused run, from a command line that could not be parsed."""
    # A flag whose value was left out is followed by the next flag.
    pairs = {word: value for word, value in pairwise(argv) if not value.startswith("-")}
    pairs |= dict(word.split("=", 1) for word in argv if word.startswith("--") and "=" in word)
    named = {flag: setting.name for setting in settings() for flag in setting.flags_of("run")}
    given = {name: pairs[flag] for flag, name in named.items() if flag in pairs}
    mode = {"mode": argv[0]} if argv[:1] in (["merge"], ["publish"]) else {}
    given |= {"shard": pairs["--shard"]} if "--shard" in pairs else {}
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
        raise CannotJudge.at("command line", f"{message}{hint}; see {self.prog} --help", Code.USAGE)


def whole() -> argparse.ArgumentParser:
    """Return a parser of all commands with all flags, from which completions for shells are made."""
    return _all_commands(are_whole=True)


def _all_commands(*, are_whole: bool = False) -> argparse.ArgumentParser:
    """Return the parser of a command line without a command: it has `--help`, `--version` and all names.

    If the commands are whole, it has their arguments too.
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


_MOST_SHOWN = 25
"""Of a command with more flags for settings, `--help` shows those that people use."""


def _parser(name: str, command: Command, *, is_whole: bool) -> _Parser:
    """Return the parser of a command: the flags of settings under their headings, and its other arguments."""
    taken = [setting for setting in settings() if setting.flags_of(name)]
    hidden = [] if is_whole or len(taken) <= _MOST_SHOWN else [one for one in taken if not one.is_usual]
    own = [facts for word, facts in command.arguments.items() if not word.startswith("-")]
    usage = [f"[{facts['metavar']}{' ...' * (facts.get('nargs') in ('*', '+'))}]" for facts in own]
    usage = [one if facts.get("nargs") in ("?", "*") else one[1:-1] for one, facts in zip(usage, own, strict=True)]
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
        parser.add_argument(word, **facts)
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
