"""The command line: argv and environ in, an exit code out. The only place that catches everything."""

from __future__ import annotations

import argparse
import atexit
import gc
import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from safe_gate import __version__
from safe_gate.core.model import CannotJudge, Place, Problem
from safe_gate.settings.old_names import OLD_NAMES
from safe_gate.settings.options import AS_RUN, GROUPS, WAIVERS_FILE, Options, Setting, settings

if TYPE_CHECKING:
    from safe_gate.core.model import JsonObject
    from safe_gate.github import Api
    from safe_gate.publish.effects import Effects, Timeout
    from safe_gate.settings.sources import Resolved
    from safe_gate.sinks.events import Run

_COULD_NOT_JUDGE = 3
_INTERRUPTED = 130
_MOST_CASES = 1_000_000  # more take long to work out
_LAST_SECOND = 253_402_300_799  # of the year 9999
_FEW_CYCLES = 100_000  # objects that may wait for the garbage collector: reading rules makes as many, and no garbage

# Sums of doubles depend on how many threads share them; set before numpy is imported.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

COMMANDS = {
    "run": (
        "evaluate, judge by the gate's rules, write reports and publish them",
        "exit codes: 0 the gate passed, 1 the gate failed, 3 could not judge",
    ),
    "merge": (
        "judge the shards of a run as one run",
        "exit codes: 0 the gate passed, 1 the gate failed, 3 could not judge, or a shard is missing",
    ),
    "score": (
        "score SAFE v0 batches alone",
        "exit codes: 0 all Pass, 1 a Fail, 2 no Fail but a Review, 3 error",
    ),
    "eval": (
        "evaluate Synthesis cases alone",
        "exit codes: 0 passed, 2 more unexpected failures than allowed, 3 error",
    ),
    "explain": (
        "show why a Synthesis case passes or fails",
        "exit codes: 0 shown, 3 no such case or error",
    ),
    "rules": (
        "list the Synthesis rules, test the rules of a pack, or learn rules from marked cases",
        "exit codes: 0 listed, passed or learned; 3 a failed test or another problem",
    ),
    "compare": (
        "compare two runs: reports, git refs, or . for the working folder",
        "exit codes: 0 no rule on the baseline is broken, 1 one is, 3 could not compare",
    ),
    "power": (
        "show what a comparison of N cases can detect: the smallest drop, and how often it fails by chance",
        "exit codes: 0 shown, 3 no cases to count or error",
    ),
    "doctor": (
        "show the settings of a run, its files and what it would publish; score and send nothing",
        "exit codes: 0 a run could start, 3 it could not",
    ),
    "bless": (
        "approve a report as the new baseline, or waive its failures",
        "exit codes: 0 written, 1 refused without a reason, 3 could not",
    ),
    "history": (
        "draw pass rates, labels and agreement over runs from their reports, and mark changed rules",
        "exit codes: 0 drawn, 3 a report cannot be read or none is there",
    ),
    "verify": (
        "recompute reports from their contents and the files they name, and show differences",
        "exit codes: 0 all match, 1 one does not, 3 one could not be checked",
    ),
    "validate": ("check input files, nothing else", "exit codes: 0 valid, 3 not valid"),
    "import": (
        "write recorded exchanges of other tools as cases: CSV, chat messages, promptfoo, Inspect and others",
        "exit codes: 0 written, 3 a record that cannot become a case, or error",
    ),
    "publish": (
        "post the result of a run without write access, from a trusted workflow_run",
        "exit codes: 0 the comment is as it should be, 3 it is not",
    ),
}

_VERBOSE = {
    "action": "store_true",
    "help": "show all cases to look at with their evidence, and the tables behind the scorecard",
}
_ARGUMENTS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "merge": {
        "shards": {
            "nargs": "*",
            "metavar": "SHARD",
            "help": "files or globs that safe-gate run --shard wrote; use the flags of that run",
        }
    },
    "score": {
        "--output": {
            "default": "",
            "metavar": "PATH",
            "help": "write the report to this file; .json and .md choose its format",
        },
        "--verbose": _VERBOSE,
    },
    "eval": {
        "--out": {"default": "", "metavar": "PATH", "help": "write the JSON report to this file"},
        "--verbose": _VERBOSE,
    },
    "compare": {
        "base": {"metavar": "BASE", "help": "a report (safe-gate.json) or a git ref"},
        "head": {"metavar": "HEAD", "nargs": "?", "default": ".", "help": "the same, or . (the default)"},
        "--out": {"default": "", "metavar": "PATH", "help": "write the comparison as JSON to this file"},
        "--verbose": _VERBOSE,
    },
    "doctor": {
        "mode": {
            "nargs": "?",
            "default": argparse.SUPPRESS,
            "metavar": "COMMAND",
            "help": "run (the default), merge or publish: the command to examine",
        },
        "shards": {"nargs": "*", "metavar": "SHARD", "help": "merge: its files or globs"},
    },
    "explain": {"id": {"metavar": "ID", "help": "the case's id"}},
    "rules": {
        "words": {
            "nargs": "*",
            "metavar": "test|train FILE",
            "help": "test PACK...: test the rules of packs; train CASES...: learn rules from marked cases",
        },
        "--out": {
            "default": "",
            "metavar": "FOLDER",
            "help": "train: write the learned rules to this folder, a pack for each group",
        },
    },
    "power": {
        "cases": {
            "nargs": "?",
            "metavar": "N",
            "help": "number of cases; default: the cases that a run would read",
        }
    },
    "bless": {
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
            "help": f"waive the report's failures in this file instead; default: the settings' or {WAIVERS_FILE}",
        },
        "--reason": {
            "default": "",
            "metavar": "TEXT",
            "help": "the reason for the approval; required if it hides a failure",
        },
        "--owner": {"default": "", "metavar": "NAME", "help": "who is responsible"},
        "--expires": {"default": "", "metavar": "YYYY-MM-DD", "help": "waivers: their last valid day, in UTC"},
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
    "history": {
        "files": {
            "nargs": "+",
            "metavar": "REPORT",
            "help": "reports of safe-gate run (safe-gate.json), or globs of them",
        }
    },
    "verify": {
        "reports": {
            "nargs": "+",
            "metavar": "REPORT",
            "help": "reports of safe-gate run; start in the folder where they were made",
        }
    },
    "import": {
        "sources": {"nargs": "+", "metavar": "SOURCE", "help": "files or globs of what other tools recorded"},
        "--out": {"required": True, "metavar": "PATH", "help": "write the cases to this file, as JSONL"},
        "--from": {"dest": "format", "default": "auto", "metavar": "FORMAT", "help": "the format; default: detected"},
        "--evaluator": {
            "default": "synthesis",
            "choices": ("synthesis", "safe_v0"),
            "help": "synthesis (the default) for cases, safe_v0 for recorded outputs",
        },
        "--checks": {
            "dest": "case_checks",
            "nargs": "+",
            "default": [],
            "metavar": "CHECK",
            "help": "the checks of every case; default: unverifiable_reassurance and topic_pivot",
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
    },
    "validate": {
        "files": {
            "nargs": "+",
            "metavar": "FILE",
            "help": "cases, batches, outputs, configs, reports, shards, packs (their shape), waivers",
        }
    },
}
"""What commands take besides the flags of settings."""

_JUDGING = frozenset({"run", "merge"})
"""The commands that judge."""

_TOLD = _JUDGING | {"publish"}
"""The commands that tell GitHub, too, what they cannot do."""

_OWN_WORDS = {
    ("bless", "baseline"): "The baseline to write: the path of a .json file. Default: that of the settings.",
    ("bless", "report_dir"): "The folder of the report to approve.",
    ("history", "report_dir"): "The folder to write the history to.",
    ("publish", "report_dir"): "The folder with the result of the run.",
    ("publish", "dry_run"): "Print the comment instead of posting it.",
}
"""What settings mean to a command that does something else with them than a run."""

_FILES_BY = {"score": "--batch", "eval": "--cases", "explain": "--cases"} | dict.fromkeys(
    ("run", "power", "doctor"), "--safe-batch and --synthesis-cases"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; no exception but SystemExit 0 of --help escapes."""
    gc.set_threshold(_FEW_CYCLES)
    atexit.register(gc.freeze)  # all memory goes back at once: no need to look through it for garbage at the end
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # the same bytes whatever the locale
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        Path.cwd()
    except FileNotFoundError:
        _print("safe-gate: the working folder no longer exists; change to another one", sys.stderr)
        return _COULD_NOT_JUDGE
    try:
        return copy_context().run(_main, arguments, os.environ)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception as error:  # noqa: BLE001 - a traceback helps no user; a gate that breaks does not pass
        with suppress(Exception):  # what broke may keep that from being said, too: no memory, no more open files
            return _surprised(error, arguments, os.environ)
        _print(f"safe-gate: internal error: {type(error).__name__}", sys.stderr)
        return _COULD_NOT_JUDGE


def _surprised(error: Exception, argv: list[str], environ: Mapping[str, str]) -> int:
    """Say in one sentence that safe-gate broke or is out of memory; for `run` in reports, to GitHub too. Returns 3."""
    from safe_gate.core.model import Untrusted
    from safe_gate.render.untrusted import plain

    what = f"internal error: {type(error).__name__}"
    advice = "this is a defect of safe-gate: please report it with the command and the input"
    words = f"{what}: {plain(Untrusted(str(error)))}; {advice}"
    problem = Problem(Place("safe-gate"), words, text_free=f"{what}; {advice}")
    if isinstance(error, MemoryError):
        words = "ran out of memory; give it more, set fewer jobs, or split the largest file"
        problem = Problem(Place("safe-gate"), words)
    shown = problem.without_texts()
    with suppress(Exception):
        from safe_gate.commands import app

        options = _reporting_options(_peeked(argv), environ)
        shown = problem if options.text == "full" else shown
        if next(iter(argv), "") in _TOLD:
            return app.refuse((problem,), options, _effects(environ, _generated_at(environ)))
    _print(f"{shown.place.path}: {shown.message}", sys.stderr)
    return _COULD_NOT_JUDGE


def _main(argv: list[str], environ: Mapping[str, str]) -> int:
    effects = None
    flags: dict[str, Any] = {}
    command = next(iter(argv), "")
    try:
        arguments = _parsed(argv)
        from safe_gate.commands import app
        from safe_gate.inputs import files  # after --help and --version, which need none of it

        files.follow_links(is_on=_is_on("follow_links", arguments, environ))
        command = arguments.pop("command")
        effects = _effects(environ, _generated_at(environ), command)
        if command == "validate":
            return app.validate(arguments["files"], effects)
        if command == "verify":
            return app.verify(arguments["reports"], effects)
        known = {*Options.__dataclass_fields__, *(old.name for old in OLD_NAMES)}
        flags = {name: value for name, value in arguments.items() if name in known}
        if command == "doctor":
            return _examine(flags, environ, effects)

        def options_at(root: Path) -> Options:
            return _resolved(flags, environ, command, root).options

        resolved = _resolved(flags, environ, command)
        _warn(resolved.warnings, command, effects)
        return _run(command, resolved.options, arguments, effects, options_at)
    except CannotJudge as error:
        from safe_gate.commands import app

        effects = effects or _effects(environ, _generated_at({}))
        if command in _TOLD:
            return app.refuse(error.problems, _reporting_options(_peeked(argv) | flags, environ), effects)
        return app.complain(error.problems, effects)


def _is_on(name: str, arguments: Mapping[str, Any], environ: Mapping[str, str]) -> bool:
    """Tell whether a switch is on before the settings are read, which reads files: by its flag, input or variable."""
    from safe_gate.settings.sources import switched_on

    return bool(arguments[name]) if name in arguments else switched_on(name, environ)


def _run(
    command: str,
    options: Options,
    arguments: Mapping[str, Any],
    effects: Effects,
    options_at: Callable[[Path], Options],
) -> int:
    from safe_gate.commands import app

    if options.quiet:
        from safe_gate.scoring import progress

        progress.listen(lambda _: None)
    commands: dict[str, Callable[[], int]] = {
        "score": lambda: app.score(options, effects, output=arguments["output"], verbose=arguments["verbose"]),
        "eval": lambda: app.evaluate(options, effects, out=arguments["out"], verbose=arguments["verbose"]),
        "explain": lambda: app.explain(options, arguments["id"], effects),
        "rules": lambda: _rules(arguments["words"], options, effects, out=arguments["out"]),
        "compare": lambda: app.compare(
            (arguments["base"], arguments["head"]),
            options,
            effects,
            options_at,
            out=arguments["out"],
            verbose=arguments["verbose"],
        ),
        "power": lambda: app.power(options, effects, cases=_count(arguments["cases"])),
        "bless": lambda: _bless(arguments, options, effects),
        "publish": lambda: app.publish(options, effects),
        "history": lambda: app.history(arguments["files"], options, effects),
        "import": lambda: _import(arguments, options, effects),
        "run": lambda: app.run(options, effects, options_at),
        "merge": lambda: app.merge(options, effects, options_at),
    }
    return commands[options.mode if command == "run" else command]()


def _bless(arguments: Mapping[str, Any], options: Options, effects: Effects) -> int:
    from safe_gate.baseline.approval import Grounds
    from safe_gate.commands import app

    for_waivers = [
        f"--{name}" for name, value in (("id", arguments["ids"]), ("expires", arguments["expires"])) if value
    ]
    waivers = arguments["waiver_file"]  # None without the flag, "" of a shell's variable that is not set
    known = options.waivers or WAIVERS_FILE
    if waivers is True:
        waivers = known
    if waivers is not None and not waivers.strip():
        words = f"names no file; expected a path, or none at all for {known}"
        raise CannotJudge(Problem(Place("--waivers"), words))
    if for_waivers and not waivers:
        raise CannotJudge(Problem(Place(for_waivers[0]), "is for waivers; expected --waivers beside it"))
    if waivers and "baseline" in arguments:
        raise CannotJudge(Problem(Place("command line"), "has --baseline and --waivers; approve one after the other"))
    grounds = Grounds(arguments["reason"], arguments["owner"], arguments["expires"])
    return app.bless(
        arguments["report"],
        options,
        effects,
        grounds,
        waivers=waivers or "",
        ids=arguments["ids"],
        dry_run=arguments["only_show"],
    )


def _rules(words: Sequence[str], options: Options, effects: Effects, *, out: str) -> int:
    from safe_gate.commands import app

    if out and words[:1] != ["train"]:
        raise CannotJudge(Problem(Place("--out"), "is for rules train; nothing else is written"))
    if not words:
        return app.list_rules(options, effects)
    if words[0] == "test" and words[1:]:
        return app.try_packs(words[1:], effects)
    if words[0] == "train" and words[1:]:
        os.environ.update(_ONE_THREAD)
        return app.train_packs(words[1:], options, effects, out=out)
    raise CannotJudge(Problem(Place("command line"), "expected: rules, rules test PACK..., or rules train CASES..."))


def _import(arguments: Mapping[str, Any], options: Options, effects: Effects) -> int:
    from safe_gate.commands import app
    from safe_gate.inputs import conversion

    evaluator = arguments["evaluator"]
    checks = [name for word in arguments["case_checks"] for name in word.split(",") if name]
    request = conversion.Request(
        evaluator,
        arguments["format"],
        conversion.mapping_of(options.import_map, evaluator),
        tuple(checks) or conversion.CHECKS,
        tuple(name for word in arguments["case_tags"] for name in word.split(",") if name),
    )
    return app.import_(arguments["sources"], request, effects, out=arguments["out"], skips=arguments["skip_invalid"])


def _count(word: str | None) -> int | None:
    """Return how many cases the command line names, None if it names none."""
    if word is None:
        return None
    if not (re.fullmatch(r"[0-9]{1,7}", word) and 1 <= int(word) <= _MOST_CASES):
        raise CannotJudge(Problem(Place("safe-gate power"), f"{word!r} is no number of cases from 1 to {_MOST_CASES}"))
    return int(word)


def _resolved(flags: Mapping[str, Any], environ: Mapping[str, str], command: str, root: Path | None = None) -> Resolved:
    from safe_gate.inputs import files
    from safe_gate.settings.sources import resolve

    return resolve(flags, environ, partial(files.read_config, root=root or files.HERE), command=command)


def _warn(warnings: Sequence[str], command: str, effects: Effects) -> None:
    """Print each warning once: as an annotation if the command reports to GitHub and runs there."""
    for text in warnings:
        if command in _TOLD and effects.context.in_actions:
            from safe_gate.github.commands import Annotation

            effects.out(Annotation("warning", text, "SAFE Gate").command())
        else:
            effects.err(f"safe-gate: warning: {text}")


def _examine(flags: Mapping[str, Any], environ: Mapping[str, str], effects: Effects) -> int:
    from safe_gate.commands import app

    try:
        resolved = _resolved(flags, environ, "doctor")
    except CannotJudge as error:
        return app.examine(_reporting_options(flags, environ), None, effects, error.problems)
    _warn(resolved.warnings, "doctor", effects)
    origins = {name: (source.kind, source.name) for name, source in resolved.origins.items()}
    return app.examine(resolved.options, origins, effects)


def _reporting_options(flags: Mapping[str, Any], environ: Mapping[str, str]) -> Options:
    from safe_gate.inputs import files
    from safe_gate.settings.sources import reporting_options

    return reporting_options(flags, environ, partial(files.read_config, is_checked=False))


def _peeked(argv: Sequence[str]) -> dict[str, str]:
    """Return where a refused run is to report, from a command line that could not be read as a whole."""
    # A flag whose value was left out is followed by the next flag.
    pairs = {word: value for word, value in pairwise(argv) if not value.startswith("-")}
    pairs |= dict(word.split("=", 1) for word in argv if word.startswith("--") and "=" in word)
    named = {flag: setting.name for setting in settings() for flag in setting.flags_of("run")}
    named |= {old.flag: old.name for old in OLD_NAMES if old.flag}
    given = {name: pairs[flag] for flag, name in named.items() if flag in pairs}
    mode = {"mode": argv[0]} if argv[:1] in (["merge"], ["publish"]) else {}
    return given | mode | ({"dry_run": "true"} if "--dry-run" in argv else {})


class _Parser(argparse.ArgumentParser):
    """A parser whose usage errors are problems like all others, with exit code 3."""

    def error(self, message: str) -> NoReturn:
        from safe_gate.core.validate import suggestion

        wrong = re.search(r"invalid choice: '([^']*)'", message)
        hint = suggestion(wrong[1], list(COMMANDS), quoted=False) if wrong else ""
        if "are required" in message and any(action.nargs == "+" and action.option_strings for action in self._actions):
            hint = "; write it before the flags: some take all words that follow"
        raise CannotJudge(Problem(Place("command line"), f"{message}{hint}; see {self.prog} --help"))


def _parsed(argv: Sequence[str]) -> dict[str, Any]:
    """Return what the command line says, by name. Raises CannotJudge for words that no option takes."""
    first = argv[0].partition("=")[0] if argv else ""
    if first.startswith("-") and first not in ("-h", "--help", "--version"):  # what follows it may be a token
        words = f"{first} comes before the command; expected safe-gate COMMAND, then its flags; see safe-gate --help"
        raise CannotJudge(Problem(Place("command line"), words))
    namespace, unknown = _parser(argv).parse_known_args(argv)
    arguments = vars(namespace)
    if not unknown:
        return arguments
    from safe_gate.core.validate import suggestion

    command = arguments["command"]
    flags = [word.partition("=")[0] for word in unknown if word.startswith("-")]
    shown = " ".join(unknown)
    if any(re.search("token|secret|sink", flag.lower()) for flag in flags):
        shown = " ".join(flags)  # what follows may be secret, and comments quote a problem
    if any(re.search("token|secret", flag.lower()) for flag in flags):
        hint = "; secrets are set by the variables SAFE_GATE_GITHUB_TOKEN and SAFE_GATE_SINK_SECRET"
    elif not flags:
        hint = f"; files are named by {_FILES_BY[command]}" if command in _FILES_BY else ""
    elif any(flags[0] in names for setting in settings() for names in setting.flags.values()):
        hint = f"; {flags[0]} is not an option of {command}"
    else:
        own = [flag for setting in settings() for flag in setting.flags_of(command)]
        own += [word for word in _ARGUMENTS.get(command, {}) if word.startswith("--")]
        hint = suggestion(flags[0], own, quoted=False)
    words = f"unrecognized arguments: {shown}{hint}; see safe-gate {command} --help"
    raise CannotJudge(Problem(Place("command line"), words))


def _parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of a command line; only the commands it may be of know their flags, to save the time."""
    parser = _Parser(
        prog="safe-gate",
        description="Decides before a merge whether recorded outputs of a language-model application got worse.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"safe-gate {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    for name, (summary, codes) in COMMANDS.items():
        command = commands.add_parser(
            name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", epilog=codes, allow_abbrev=False
        )
        if name not in argv:
            continue
        taken = [setting for setting in settings() if setting.flags_of(name)]
        for heading in GROUPS:  # one without flags is not shown
            group = command.add_argument_group(heading)
            for setting in taken:
                if setting.group == heading:
                    words = _OWN_WORDS.get((name, setting.name), setting.help)
                    _add_flag(group, setting, setting.flags_of(name), words)
        for old in OLD_NAMES:
            if old.flag and name in (*AS_RUN, *old.commands):
                command.add_argument(old.flag, dest=old.name, default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        for word, facts in _ARGUMENTS.get(name, {}).items():
            command.add_argument(word, **facts)
    return parser


def _add_flag(group: argparse._ArgumentGroup, setting: Setting, flags: Sequence[str], words: str) -> None:
    """Add an option's flag. Values stay text: settings convert them, like those of every source."""
    help_ = words.replace("%", "%%")
    common: dict[str, Any] = {"dest": setting.name, "default": argparse.SUPPRESS, "help": help_}
    if setting.kind is bool:
        group.add_argument(*flags, action=argparse.BooleanOptionalAction, **common)
    elif setting.is_list or setting.is_mapping:
        group.add_argument(*flags, nargs="+", action="extend", metavar=setting.metavar, **common)
    else:
        group.add_argument(*flags, metavar=setting.metavar, **common)


def _generated_at(environ: Mapping[str, str]) -> str:
    """Return the time of the run as ISO 8601 in UTC, or the one SOURCE_DATE_EPOCH fixes."""
    epoch = environ.get("SOURCE_DATE_EPOCH", "").strip()
    if epoch and not (re.fullmatch(r"[0-9]{1,12}", epoch) and int(epoch) <= _LAST_SECOND):
        problem = Problem(Place("SOURCE_DATE_EPOCH"), f"is {epoch[:40]!r}; expected whole seconds from 1970 to 9999")
        raise CannotJudge(problem)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(epoch) if epoch else None))


def _effects(environ: Mapping[str, str], generated_at: str, command: str = "run") -> Effects:
    from safe_gate.github import event, files, repository
    from safe_gate.publish.effects import Effects

    say = _sayer(environ, command)
    return Effects(
        out=lambda line: say(line, sys.stdout),
        err=lambda line: say(line, sys.stderr),
        generated_at=generated_at,
        context=event.context(environ),
        connect=_connect,
        write_outputs=files.write_outputs,
        append_summary=files.append_summary,
        deliver=_deliver,
        folder=repository.working_folder(environ.get("GITHUB_WORKSPACE", "")),
    )


def _sayer(environ: Mapping[str, str], command: str) -> Callable[[str, TextIO], None]:
    """Return what prints a line: on a terminal in colour, and in place of the line that says how far a run is."""
    is_log = command in _JUDGING
    if not (environ.get("FORCE_COLOR") or sys.stdout.isatty() or sys.stderr.isatty()):
        return lambda line, stream: _print(line, stream, is_log=is_log or stream is sys.stderr)
    from safe_gate.commands import terminal
    from safe_gate.render import console
    from safe_gate.scoring import progress

    shown = terminal.Progress(sys.stderr)
    console.fit(terminal.width(sys.stdout))
    if sys.stderr.isatty():
        progress.listen(shown.add)

    def say(line: str, stream: TextIO) -> None:
        shown.clear()
        painted = terminal.coloured(line) if terminal.has_colour(stream, environ) else line
        _print(painted, stream, is_log=is_log or stream is sys.stderr)

    return say


def _connect(api_url: str, options: Options, say: Callable[[str], None], timeout: Timeout) -> Api:
    return _client(api_url, options.github_token, options.ca_bundle, say, timeout, getattr(options, timeout))


@lru_cache(maxsize=2)  # one for each timeout: all that a run reads shares one deadline, all that it publishes another
def _client(
    api_url: str, token: str, ca_bundle: str, say: Callable[[str], None], _timeout: Timeout, seconds: float
) -> Api:
    from safe_gate.github.client import Client  # `requests` only where there is something to post

    return Client(api_url, token, ca_bundle=ca_bundle, say=say, seconds=seconds, sleep=time.sleep)


def _deliver(report: JsonObject, run: Run, options: Options) -> Sequence[str]:
    from safe_gate import sinks

    return sinks.deliver(report, run, options, time.sleep)


def _print(line: str, stream: TextIO, *, is_log: bool = True) -> None:
    """Print a line. Raises CannotJudge where it is no mere log and is lost, as on a full disk."""
    try:
        print(line, file=stream, flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # the exit code is still owed
        if not (is_log or isinstance(error, BrokenPipeError)):  # a reader may leave (`| head`)
            raise CannotJudge(Problem(Place("standard output"), f"cannot be written: {error.strerror}")) from error
