"""The settings of a command: from flags, action inputs, variables and the config file, in that order. Pure.

Each source gives what it sets by name, with its place there; `Settings.merged` merges and converts these. The
environment and the config file's reader arrive as arguments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from pathlib import PurePosixPath
from typing import Any, NamedTuple, get_args
from urllib.parse import urlsplit

from pydantic import ValidationError

from safe_gate.core.given import Documents
from safe_gate.core.setting import AS_RUN, OFF, Setting, flat, nested
from safe_gate.core.text.patterns import later
from safe_gate.core.validate import masked, quote, suggestion
from safe_gate.evaluators import EVALUATORS, PROBLEMS
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.settings.model import CONFIG_FILES, OF_COMMANDS, Format, Settings, Sink, settings

CONFIG_FILE = "config file"
"""The kind of the sources in a config file."""

IN_PYTHON = "run()"
"""The command of a call from Python, which has no flags: its settings are named as docs/settings.md names them."""

MODES = ("run", "merge", "publish")
"""What the action does, by its input `mode`."""

_OWN_INPUTS = ("mode", "shard", "shards")
"""The inputs of the action that are words of a command line elsewhere, and no settings."""

_RUNNER_INPUTS = frozenset({"INPUT_ARGS", "INPUT_ENTRYPOINT"})
"""Inputs that the runner itself may add to a container action (metadata syntax: with.args, with.entrypoint)."""

_PREFIX = later("^SAFE[A-Z0-9]*_+(?:GATES?_+|V[0-9]+_+)?")
_PREFIXES = ("SAFE_GATE_", "SAFEGATE_", *(one.settings.prefix for one in EVALUATORS.values() if one.settings.prefix))


class Config(NamedTuple):
    """The config file: its path as reports show it, its values by the schema's keys, and the line of each key.

    `locate` returns a path that the file names from the working folder.
    """

    path: str
    content: Mapping[str, Any]
    line_of: Callable[[Sequence[str | int]], int] = lambda _: 0
    locate: Callable[[str], str] = lambda path: path


class Source(NamedTuple):
    """Where a setting came from: the `kind` (flag, input, variable or config file), and its place and field there."""

    kind: str
    place: Place
    field: str = ""

    @property
    def name(self) -> str:
        """The setting's name there."""
        return f"{self.place.path}: {self.field}" if self.field else self.place.path

    def of_entry(self, name: str) -> Source:
        """Return the source of an entry of the setting."""
        return self._replace(field=name)

    def problem(self, words: str) -> Problem:
        """Return a problem of the setting."""
        return Problem(self.place, words, field=self.field, code=Code.INVALID_SETTING)

    def unfit(self, value: str | float, expected: str, choices: Sequence[str] = ()) -> Problem:
        """Return the problem of a value that the setting cannot have; one of its choices may be meant."""
        hint = suggestion(value, choices) if isinstance(value, str) else ""
        words, hidden = f"is {quote(value)}{hint}; expected {expected}", f"is {masked(value)}; expected {expected}"
        return Problem(self.place, words, field=self.field, text_free=hidden, code=Code.INVALID_SETTING)


Given = dict[str, tuple[Source, Any]]
"""What one kind of source sets: by name, where and to what. A known entry of a setting is under `SETTING.ENTRY`."""


def _set(setting: Setting, source: Source, value: Any, at: Callable[[str], Source]) -> Given:
    """Return what a value sets; `at` is the source of an entry."""
    if setting.by_name:
        with suppress(ValueError):  # the field refuses what is left as it is
            value = setting.by_name.of(value)
            if setting.entries:
                entries = {f"{setting.name}.{name}": (at(name), one) for name, one in flat(value).items()}
                return {setting.name: (source, {}), **entries}
    return {setting.name: (source, value)}


# --- flags ------------------------------------------------------------------------------------------


def from_flags(flags: Mapping[str, Any], command: str) -> Given:
    """Return what the command line sets. A flag that is empty, as an unset shell variable leaves it, sets nothing."""
    found: Given = {}
    for setting in settings():
        if setting.name in flags and not is_blank(flags[setting.name]):
            source = Source("flag", Place(next(iter((*setting.flags_of(command), setting.input)))))
            found |= _set(setting, source, flags[setting.name], source.of_entry)
    return found


def is_blank(value: Any) -> bool:
    """Return whether a value is nothing but blanks, or texts of them."""
    texts = value if isinstance(value, list) else [value]
    return all(isinstance(text, str) and not text.strip() for text in texts)


# --- variables --------------------------------------------------------------------------------------


def from_environ(environ: Mapping[str, str]) -> Given:
    """Return what action inputs and variables set; inputs come first.

    An input that is left out arrives as an empty string, which counts as not set. Some shells drop variables with
    hyphens, so the spelling with underscores is read too.
    """
    found: Given = {}
    for one in settings():
        given = [name for name in _variables(one) if environ.get(name, "").strip()]
        of_entries = one.by_name.variables if one.by_name else {}
        if name := next((name for name in given if name not in of_entries), ""):
            is_input = name.startswith("INPUT_")
            place = Place(f"{name} (input {one.input})" if is_input else name)
            source = Source("input" if is_input else "variable", place)
            found |= _set(one, source, environ[name], source.of_entry)
        for name in (name for name in given if name in of_entries):
            source = Source("variable", Place(name))
            if isinstance(found.setdefault(one.name, (source, {}))[1], dict):
                found.setdefault(f"{one.name}.{of_entries[name]}", (source, environ[name]))
    return found


def is_allowed(what: str, flags: Mapping[str, Any], environ: Mapping[str, str]) -> bool:
    """Return whether the setting `allow` of the command line, or else of the environment, names something."""
    _, value = from_environ(environ).get("allow", (None, ""))
    return what in re.split(r"[\s,]+", " ".join(flags.get("allow", [value])))


def _variables(setting: Setting) -> tuple[str, ...]:
    inputs = (f"INPUT_{setting.input.upper()}", f"INPUT_{setting.name.upper()}") if setting.is_input else ()
    return (*inputs, *setting.env)


def own_inputs(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Return the action's inputs that are no settings, by name, without those that are not set."""
    return {name: value for name in _OWN_INPUTS if (value := environ.get(f"INPUT_{name.upper()}", "").strip())}


def misused_inputs(environ: Mapping[str, str]) -> Iterator[Problem]:
    """Yield a problem for an unknown mode of the action, and for inputs that its mode does not use."""
    inputs = own_inputs(environ)
    mode = inputs.get("mode", "run")

    def source(name: str) -> Source:
        return Source("input", Place(f"INPUT_{name.upper()} (input {name})"))

    if mode not in MODES:
        yield source("mode").unfit(mode, f"one of {', '.join(MODES)}")
    if "shard" in inputs and mode != "run":
        yield source("shard").problem(f"is for a run that scores; {mode} takes all cases: leave it unset")
    if "shards" in inputs and mode != "merge":
        yield source("shards").problem(f"is for merge, not for {mode}; set mode: merge, or leave it unset")


def unknown_names(environ: Mapping[str, str], *, is_action: bool) -> Iterator[Problem]:
    """Yield a problem for each variable that looks like ours and is not: a typo must not pass."""
    known = {name for setting in settings() for name in _variables(setting)} | _RUNNER_INPUTS
    known |= {f"INPUT_{name.upper()}" for name in _OWN_INPUTS}
    inputs = {name.upper(): setting.input for setting in settings() if setting.is_input for name in setting.names}
    inputs |= {name.upper(): name for name in _OWN_INPUTS}
    variables = {
        name.upper().replace("-", "_"): setting.env[0]
        for setting in settings()
        if setting.env
        for name in (*setting.names, *map(_bare, setting.env))
    }
    for name in sorted(environ.keys() - known):
        given = name.removeprefix("INPUT_")
        if is_action and given != name:
            what = f"input {given.lower()}{suggestion(given.replace('_', '-'), inputs, quoted=False)}"
        elif name.upper().startswith(_PREFIXES) or _is_near(name.upper(), variables):
            what = f"variable of this name{suggestion(_bare(name.upper()), variables, quoted=False)}"
        else:
            continue
        yield Problem(Place(name), f"safe-gate has no {what}; correct its name or remove it", code=Code.INVALID_SETTING)


def _is_near(variable: str, variables: Mapping[str, str]) -> bool:
    """Return whether a variable is one of ours but for its prefix, such as SAFE_MIN_PASS_RATE, and a letter or two.

    A name with a hyphen is no variable that anyone sets: `act` gives each input by its own name too.
    """
    if "-" in variable or not variable.startswith("SAFE"):
        return False
    return bool(get_close_matches(_bare(variable), variables, n=1, cutoff=0.9))


def _bare(variable: str) -> str:
    """Return a variable's name without its prefix, which people mix up."""
    return _PREFIX.sub("", variable)


# --- the config file --------------------------------------------------------------------------------


def in_config(config: Config, *key: str) -> Source:
    """Return a key of the config file as a source."""
    return Source(CONFIG_FILE, Place(config.path, config.line_of(key)), ".".join(key))


def from_config(config: Config) -> Given:
    """Return what a config file sets. A blank text sets nothing."""
    found: Given = {}
    for setting in settings():
        value: Any = config.content
        for part in setting.key:
            value = value.get(part) if isinstance(value, Mapping) else None
        if setting.key and value is not None and not (isinstance(value, str) and is_blank(value)):
            at = partial(in_config, config, *setting.key)
            found |= _set(setting, at(), value, lambda entry, at=at: at(*entry.split(".")))  # type: ignore[misc]
    return found


def moved(config: Config, given: Given, others: Set[str]) -> Given:
    """Return the settings of a config file, as `given` has them, with paths from the working folder.

    The file has them from its own folder. `others` are the settings that something else sets. The path of a document
    starts from their folder, if that is set anywhere.
    """

    def from_here(name: str, path: Any) -> Any:
        if isinstance(path, list):
            return [from_here(name, one) for one in path]
        if not isinstance(path, str):  # in a file that is not checked
            return path
        path = path.strip()
        is_ref = name == "baseline" and PurePosixPath(path).suffix not in (".json", ".jsonl")
        return path if is_ref or path in ("", "-") else config.locate(path)

    folders = {*given, *others}
    return {
        name: (source, from_here(name, value) if name in PATHS and _STARTS_FROM.get(name) not in folders else value)
        for name, (source, value) in given.items()
    }


_STARTS_FROM = {one.input.setting: one.input.folder for one in EVALUATORS.values() if isinstance(one.input, Documents)}
"""The options whose paths start from a folder that another option names."""

PATHS = frozenset(
    ("waivers", "baseline", "report_dir", *(name for one in EVALUATORS.values() for name in one.input.settings))
).union(one.rule_files.setting for one in EVALUATORS.values() if one.rule_files)
"""The options that name paths."""


# --- all sources together ------------------------------------------------------------------------


ConfigReader = Callable[[str], Config | None]

_NO_CONFIG = Config(CONFIG_FILES[0], {})


class Resolved(NamedTuple):
    """The settings of a run, and the origin of each non-default one."""

    options: Settings
    origins: Mapping[str, Source]


def read(
    flags: Mapping[str, Any], environ: Mapping[str, str], read_config: ConfigReader, *, command: str = "run"
) -> Settings:
    """Return the settings of a run, as `resolve` does."""
    return resolve(flags, environ, read_config, command=command).options


def resolve(
    flags: Mapping[str, Any], environ: Mapping[str, str], read_config: ConfigReader, *, command: str = "run"
) -> Resolved:
    """Return the settings of a run with their origins.

    `flags` holds the command line's values by name. `read_config` takes the user's path or "". It returns the
    valid config file, or None if there is none. For commands with the settings of `run`, unknown `INPUT_*` variables
    are refused. Raises CannotJudge with every problem found.
    """
    is_action = command in AS_RUN or (command == "publish" and "INPUT_MODE" in environ)
    problems = [
        *unknown_names(environ, is_action=is_action),
        *PROBLEMS,
        *(misused_inputs(environ) if is_action else ()),
    ]
    flags, own = _of_command(flags, command)
    of_flags, of_environ = from_flags(flags, command), from_environ(environ)
    _, named = of_flags.get("config") or of_environ.get("config") or (None, "")
    is_known = True
    try:
        config = read_config(named.strip()) or _NO_CONFIG
    except CannotJudge as error:
        problems += error.problems
        config, is_known = _NO_CONFIG, False
    sources = of_flags, of_environ, moved(config, from_config(config), others={*of_flags, *of_environ})
    origins = {name: origin for source in reversed(sources) for name, (origin, _) in source.items()}
    try:
        options = Settings.merged(own, *(nested({name: value for name, (_, value) in one.items()}) for one in sources))
    except ValidationError as error:
        raise CannotJudge(*problems, *_explained(error, origins)) from None
    problems += misplaced(options, origins, options.mode if command in (*AS_RUN, IN_PYTHON) else command)
    for place, entry in enumerate(options.sinks, 1):
        if words := unfit_sink(Sink.of(entry), options.allow):
            problems.append(origins["sinks"].problem(f"entry {place} {words}"))
    if is_known:  # in a refused file, set and missing values look the same
        problems += contradictions(options, origins, config)
    if problems:
        raise CannotJudge(*problems)
    return Resolved(options, origins)


def _of_command(flags: Mapping[str, Any], command: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the flags that give settings, and what the command line says beside them."""
    own = {"mode": command} if command in MODES else {}
    own |= {name: value for name, value in flags.items() if name in OF_COMMANDS and not is_blank(value)}
    return {name: value for name, value in flags.items() if name not in OF_COMMANDS}, own


def _explained(error: ValidationError, origins: Mapping[str, Source]) -> Iterator[Problem]:
    """Yield a problem for each setting with a value that it cannot have."""
    by_name = {setting.name: setting for setting in settings()}
    seen = set[tuple[str, str]]()
    for fault in error.errors(include_url=False):
        inner = fault.get("ctx", {}).get("error")
        if isinstance(inner, ValidationError):  # of a group of an installed evaluator
            yield from _explained(inner, origins)
            continue
        place, name = next((at, str(part)) for at, part in enumerate(fault["loc"]) if part in by_name)
        entry = ".".join(map(str, fault["loc"][place + 1 :])) if by_name[name].by_name else ""
        if (name, entry) not in seen:
            seen.add((name, entry))
            yield _unfit(by_name[name], entry, fault["input"], origins.get(f"{name}.{entry}", origins[name]))


def _unfit(setting: Setting, entry: str, given: Any, origin: Source) -> Problem:
    """Return the problem of a value that a setting cannot have, or an entry of it."""
    known = {one.name: one for one in setting.entries}
    if entry and known and entry not in known:
        return origin.problem(f"has no entry {quote(entry)}{suggestion(entry, [*known], quoted=False)}")
    if entry and not known and entry != getattr(setting.by_name, "general", ""):
        origin = origin._replace(field=f"{origin.field}.{entry}" if origin.field else entry)
    expected = _expected(known[entry]) if entry in known else "a number from 0 to 1" if entry else _expected(setting)
    given = " ".join(given) if isinstance(given, list) else given
    return origin.unfit(given if isinstance(given, str | int | float) else str(given), expected, setting.choices)


def _expected(setting: Setting) -> str:
    if setting.choices:
        return "one of " + ", ".join(setting.choices)
    if setting.kind is bool:
        return "true or false"
    if setting.by_name and not setting.entries:
        return "a number from 0 to 1, or CHECK=NUMBER, each check once"
    if setting.by_name:
        return f"NAME=VALUE, each name once: {', '.join(one.name for one in setting.entries)}"
    kind = "a whole number" if setting.kind is int else "a number"
    to = "" if setting.high is None else f" to {setting.high}"
    if setting.excluded:
        return f"{kind} above {setting.low} and below {setting.high}"
    return f"{kind} from {setting.low}{to}, or {OFF}" if setting.can_be_off else f"{kind} from {setting.low}{to}"


_REPORTING = ("report_dir", "comment", "gate_id", "comment_author", "github_token", "sinks", "sink_secret", "allow")


def reporting_options(flags: Mapping[str, Any], environ: Mapping[str, str], read_config: ConfigReader) -> Settings:
    """Return the readable settings for reporting that a run has no verdict. Judges nothing.

    `read_config` returns the content of the config file, even if it is invalid.
    """
    flags, own = _of_command(flags, "")
    given = {name: value for name, (_, value) in from_environ(environ).items()}
    given |= {name: value for name, value in flags.items() if not is_blank(value)}
    named = str(given.get("config", "")).strip()
    with suppress(CannotJudge):
        config = read_config(named) or _NO_CONFIG
        there = moved(config, from_config(config), given.keys())
        given = {name: value for name, (_, value) in there.items()} | given
    found: dict[str, Any] = {**own, "config": named}
    for name in {*_REPORTING, *PATHS} & given.keys():
        with suppress(ValidationError):
            found[name] = Settings.merged({name: given[name]}).value(name)
    options = Settings.merged(found)
    formats = re.findall(r"\w+", str(given.get("reports", "")))  # with any separators
    return options.replace(
        sinks=tuple(one for one in options.sinks if not unfit_sink(Sink.of(one), options.allow)),
        dry_run=str(given.get("dry_run", "")).strip() not in ("", "False", "false", "FALSE"),
        text="full" if str(given.get("text", "full")).strip() == "full" else "none",
        reports=tuple(name for name in get_args(Format) if name in formats) or options.reports,
    )


A_NUMBER_OF_JOBS = later("[1-9][0-9]{0,2}")


def contradictions(options: Settings, origins: Mapping[str, Source], config: Config) -> Iterator[Problem]:
    """Yield a problem for settings that contradict each other, and for an invalid number of jobs."""
    if not (options.jobs == "auto" or options.scheduler or A_NUMBER_OF_JOBS.fullmatch(options.jobs)):
        yield origins["jobs"].unfit(options.jobs, "a whole number from 1 to 999, auto, or the address of a scheduler")
    for found in (one for name in EVALUATORS for one in options.group(name).contradictions()):
        places = [
            origins.get(name) or Source("default", Place(f"the default of {name.replace('_', '-')}"))
            for name in found.options
        ]
        first, *others = places or [in_config(config)]
        if found.key and (not found.options or any(one.kind == CONFIG_FILE for one in (first, *others))):
            yield in_config(config, *found.key).problem(found.message)
        elif found.key:
            yield Problem(Place(found.key[0]), found.message, code=Code.INVALID_SETTING)
        else:
            yield first.problem(found.message.format(*(one.name for one in others)))


def misplaced(options: Settings, origins: Mapping[str, Source], command: str) -> Iterator[Problem]:
    """Yield a problem for recorded outputs that the command would not read.

    A command for one evaluator ignores the settings of others.
    """
    for form in (one.input for one in EVALUATORS.values() if isinstance(one.input, Documents)):
        origin = origins.get(form.outputs)
        is_named = origin and not origin.field and options.value(form.outputs)  # a config may serve another gate, too
        if origin and is_named and not options.value(form.setting) and command in ("run", "merge"):
            setting = form.setting.replace("_", "-")
            words = (
                f"names recorded outputs, and {setting} names no cases that they are of; set it, or leave this unset"
            )
            yield origin.problem(words)


def unfit_sink(sink: Sink, allow: Collection[str]) -> str:
    """Return the problem of a sink, "" for none. It does not quote the address, which may hold a secret."""
    if sink.kind == "file" and sink.to:
        return ""
    with suppress(ValueError):  # not a valid address
        parts = urlsplit(sink.to)
        if parts.scheme == "http" and parts.hostname and "plain-http" not in allow:
            return "is plain http, which anyone on the network can read; use https, or set allow: plain-http"
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return ""
    return "is no sink; expected file:PATH, https://HOST/PATH or otlp:https://HOST"
