"""The settings of a command: from flags, action inputs, variables and the config file, in that order. Pure.

Each is a source of pydantic-settings, which merges and converts what they give. The environment and the config file's
reader arrive as arguments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from difflib import get_close_matches
from functools import partial
from pathlib import PurePosixPath
from typing import Any, NamedTuple, get_args
from urllib.parse import urlsplit

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import PydanticBaseSettingsSource

from safe_gate.core.jsontext import value_at
from safe_gate.core.setting import AS_RUN, Setting, nested
from safe_gate.core.validate import masked, quote, suggestion
from safe_gate.evaluators.registry import EVALUATORS, INSTALL_PROBLEMS
from safe_gate.model import record
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.settings import (
    CONFIG_FILE,
    CONFIG_FILES,
    OF_COMMANDS,
    Format,
    Origin,
    Settings,
    Sink,
    in_groups,
    settings,
)

IN_PYTHON = "run()"
"""The command of a call from Python, which has arguments in place of flags."""

MODES = ("run", "merge", "publish")
"""What the action does, by its input `mode`."""

_OWN_INPUTS = ("mode", "shard", "shards")
"""The inputs of the action that are words of a command line elsewhere, and no settings."""

_RUNNER_INPUTS = frozenset({"INPUT_ARGS", "INPUT_ENTRYPOINT"})
"""Inputs that the runner itself may add to a container action (metadata syntax: with.args, with.entrypoint)."""


# --- the sources ----------------------------------------------------------------------------------


Value = tuple[Any, Callable[[str], Origin]]
"""A value of a setting, and what returns the origin of an entry of it; of "" that of the setting."""


class Config(NamedTuple):
    """A config file: its path as reports show it, its values by the schema's keys, and the line of each key.

    `locate` returns a path that the file names from the working folder.
    """

    path: str
    content: Mapping[str, Any]
    line_of: Callable[[Sequence[str | int]], int] = lambda _: 0
    locate: Callable[[str], str] = lambda path: path

    def origin(self, *key: str) -> Origin:
        """Return a key of the file as an origin."""
        return Origin(CONFIG_FILE, Place(self.path, self.line_of(key)), ".".join(key))


_NO_CONFIG = Config(CONFIG_FILES[0], {})

ConfigReader = Callable[[str], Config | None]
"""Returns the valid config file, given the user's path or "", or None if there is none. Raises CannotJudge."""


@record
class Given:
    """What sources read, and what is known of it so far.

    `flags` are the command line's values by name. `origins` are those of settings by name, and of entries as
    `SETTING.ENTRY`. If it `forgives`, sources leave out values that a setting cannot have; `faulty` has them.
    """

    flags: Mapping[str, Any]
    environ: Mapping[str, str]
    read_config: ConfigReader
    command: str = ""
    forgives: bool = False
    origins: dict[str, Origin] = field(default_factory=dict)
    faulty: dict[str, Any] = field(default_factory=dict)


class Source(PydanticBaseSettingsSource):
    """A source that remembers the origin of what it gives, unless an earlier source gives the same.

    `values` yields the values of a setting, the first that counts first.
    """

    def __init__(self, given: Given, values: Callable[[Given, Setting], Iterator[Value]]) -> None:
        super().__init__(Settings)
        self.given, self.values = given, values

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:  # noqa: ARG002
        """Return nothing: `__call__` reads settings by name, also those of evaluators, which are no fields here."""
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        """Return what the source sets, as `Settings` has it."""
        found: dict[str, Any] = {}
        for setting in settings():
            for value, at in self.values(self.given, setting):
                for entry, one in setting.parts(value).items():
                    name = f"{setting.name}.{entry}" if entry else setting.name
                    if self.given.forgives and not _fits(name, one):
                        self.given.faulty.setdefault(name, one)
                    else:
                        found.setdefault(name, one)
                        self.given.origins.setdefault(name, at(entry))
                        general = setting.by_name.general if setting.by_name else None
                        for key in one if general is not None and isinstance(one, Mapping) else ():
                            self.given.origins.setdefault(f"{name}.{key}", at("" if key == general else key))
                self.given.origins.setdefault(setting.name, at(""))
        return in_groups(nested(found))


def _fits(name: str, value: Any) -> bool:
    try:
        Settings(**in_groups(nested({name: value})))
    except ValidationError:
        return False
    return True


def _flags(given: Given, setting: Setting) -> Iterator[Value]:
    """Yield the value on the command line. A flag that is empty, as an unset shell variable leaves it, sets nothing."""
    if not is_blank(value := given.flags.get(setting.name, "")):
        named = setting.flags_of(given.command)[:1]
        origin = Origin("flag", Place(named[0])) if named else Origin("argument", Place(IN_PYTHON), setting.name)
        yield value, origin.of_entry


def _inputs(given: Given, setting: Setting) -> Iterator[Value]:
    """Yield the values of an input of the action. One that is left out arrives as an empty string: it sets nothing."""
    for name in setting.inputs:
        if value := given.environ.get(name, "").strip():
            yield value, Origin("input", Place(f"{name} (input {setting.input})")).of_entry


def _variables(given: Given, setting: Setting) -> Iterator[Value]:
    """Yield the values of the variables of a setting, or of its entries. An empty variable sets nothing."""
    of_entries = setting.by_name.variables if setting.by_name else {}
    for name in setting.env:
        if value := given.environ.get(name, "").strip():
            origin = Origin("variable", Place(name))
            if name in of_entries:
                yield {of_entries[name]: value}, partial(_itself, origin)
            else:
                yield value, origin.of_entry


def _itself(origin: Origin, _: str) -> Origin:
    return origin


def _of_file(file: Config, given: Given, setting: Setting) -> Iterator[Value]:
    """Yield the value in the config file, with paths from the working folder. A blank text sets nothing."""
    if (value := _under(file, setting)) is not None:
        value = _from_here(file, given, setting.name, value) if setting.name in PATHS else value
        yield value, lambda entry: file.origin(*setting.key, *filter(None, entry.split(".")))


def _under(file: Config, setting: Setting) -> Any:
    value = value_at(file.content, *setting.key) if setting.key else None
    return None if isinstance(value, str) and is_blank(value) else value


def _from_here(file: Config, given: Given, name: str, path: Any) -> Any:
    """Return a path from the working folder, unless it starts from a folder that anything else sets."""
    if isinstance(path, list):
        return [_from_here(file, given, name, one) for one in path]
    if isinstance(path, Mapping):
        return {_from_here(file, given, name, key): _from_here(file, given, name, one) for key, one in path.items()}
    folder = [one for one in settings() if one.name == _STARTS_FROM.get(name)]
    is_elsewhere = any(one.name in given.origins or _under(file, one) is not None for one in folder)
    if is_elsewhere or not isinstance(path, str):  # in a file that is not checked
        return path
    path = path.strip()
    is_ref = name == "baseline" and PurePosixPath(path).suffix not in (".json", ".jsonl")
    return path if is_ref or path in ("", "-") else file.locate(path)


_STARTS_FROM = {one.input.setting: one.input.folder for one in EVALUATORS.values() if one.input.cases}
"""The settings whose paths start from a folder that another setting names, if that is set anywhere."""

PATHS = frozenset({"waivers", "recordings", "baseline", "report_dir"}).union(
    *(one.input.settings for one in EVALUATORS.values()),
    (one.rule_files.setting for one in EVALUATORS.values() if one.rule_files),
)
"""The settings that name paths."""


def is_blank(value: Any) -> bool:
    """Return whether a value is nothing but blanks, or texts of them."""
    texts = value if isinstance(value, list) else [value]
    return all(isinstance(text, str) and not text.strip() for text in texts)


def outside_config(options: Settings) -> frozenset[str]:
    """Return the settings that no config file sets: those that a command line must repeat."""
    return frozenset(name for name, origin in options.origins.items() if origin.kind != CONFIG_FILE)


# --- all sources together -------------------------------------------------------------------------


def resolve(given: Given) -> Settings:
    """Return the settings of a command, with the origin of each that is not a default.

    For commands with the settings of `run`, unknown `INPUT_*` variables are refused. Raises CannotJudge with every
    problem found.
    """
    command, environ, origins = given.command, given.environ, given.origins
    is_action = command in AS_RUN or (command == "publish" and "INPUT_MODE" in environ)
    problems = [*unknown_names(environ, is_action=is_action), *INSTALL_PROBLEMS]
    problems += misused_inputs(environ) if is_action else ()
    file, of_file = _config_file(given)
    problems += of_file
    try:
        options = _merged(given, file)
    except ValidationError as error:
        raise CannotJudge(*problems, *_explained(error, origins)) from None
    problems += misplaced(options, origins, options.mode if command in (*AS_RUN, IN_PYTHON) else command)
    for place, entry in enumerate(options.sinks, 1):
        if words := unfit_sink(Sink.of(entry), options.allow):
            problems.append(origins["sinks"].problem(f"entry {place} {words}"))
    if not of_file:  # in a refused file, set and missing values look the same
        problems += contradictions(options, origins, file)
    if problems:
        raise CannotJudge(*problems)
    return options.model_copy(update={"origins": origins})


_ABOVE_CONFIG = (_flags, _inputs, _variables)
"""The sources that win over the config file, the first one first."""


def _config_file(given: Given) -> tuple[Config, Sequence[Problem]]:
    """Return the config file that another source names, or the default one, and the problems of the file."""
    config = next(one for one in settings() if one.name == "config")
    named = next((value for values in _ABOVE_CONFIG for value, _ in values(given, config)), "")
    try:
        return given.read_config(named.strip() if isinstance(named, str) else "") or _NO_CONFIG, ()
    except CannotJudge as error:
        return _NO_CONFIG, error.problems


def _merged(given: Given, file: Config) -> Settings:
    """Return the settings of all sources. Raises pydantic's ValidationError."""
    sources = (Source(given, values) for values in (*_ABOVE_CONFIG, partial(_of_file, file)))
    return Settings.merged(*sources, **_beside(given))


def _beside(given: Given) -> dict[str, Any]:
    """Return what a command line or the action says beside settings. `given` gets the origin of the shard."""
    found = {"mode": given.command} if given.command in MODES else {}
    if given.command in ("run", "doctor") and (shard := own_inputs(given.environ).get("shard")):
        found["shard"], given.origins["shard"] = shard, _of_own_input("shard")
    if not is_blank(given.flags.get("shard", "")):
        given.origins["shard"] = Origin("flag", Place("--shard"))
    return found | {name: value for name, value in given.flags.items() if name in OF_COMMANDS and not is_blank(value)}


def reporting_options(
    flags: Mapping[str, Any], environ: Mapping[str, str], read_config: ConfigReader, command: str = "run"
) -> Settings:
    """Return the readable settings, to report that a run has no verdict. Judges nothing.

    `read_config` returns the content of the config file, even if it is invalid. If it is unclear whether to show texts
    or to publish, neither is done.
    """
    given = Given(flags, environ, read_config, command, forgives=True)
    options = _merged(given, _config_file(given)[0])
    formats = re.findall(r"\w+", str(given.faulty.get("reports", "")))  # with any separators
    options = options.model_copy(update={"origins": given.origins})
    return options.replace(
        sinks=tuple(one for one in options.sinks if not unfit_sink(Sink.of(one), options.allow)),
        dry_run=options.dry_run or "dry_run" in given.faulty,
        text="none" if "text" in given.faulty else options.text,
        reports=tuple(name for name in get_args(Format) if name in formats) or options.reports or Settings().reports,
    )


# --- what is wrong --------------------------------------------------------------------------------


def _explained(error: ValidationError, origins: Mapping[str, Origin]) -> Iterator[Problem]:
    """Yield a problem for each setting, or known entry, with a value that it cannot have."""
    by_name = {one.name: one for one in settings()}
    seen = set[tuple[str, str]]()
    for fault in error.errors(include_url=False):
        place, name = next((at, str(part)) for at, part in enumerate(fault["loc"]) if part in by_name)
        setting = by_name[name]
        entry = ".".join(map(str, fault["loc"][place + 1 :])) if setting.by_name else ""
        if (name, entry) not in seen:
            seen.add((name, entry))
            yield _unfit(setting, entry, fault["input"], origins.get(f"{name}.{entry}", origins[name]))


def _unfit(setting: Setting, entry: str, given: Any, origin: Origin) -> Problem:
    known = {one.name: one for one in setting.entries}
    if entry and known and entry not in known:
        hint = suggestion(entry, [*known], quoted=False)
        return origin.problem(f"has no entry {quote(entry)}{hint}; expected one of {', '.join(known)}")
    expected = known[entry].expected if entry in known else "a number from 0 to 1" if entry else setting.expected
    given = " ".join(map(str, given)) if isinstance(given, list) else given
    if setting.secret:
        return origin.problem(f"is {masked(given)}; expected {expected}")
    return origin.unfit(given if isinstance(given, str | int | float) else str(given), expected, setting.choices)


def own_inputs(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Return the action's inputs that are no settings, by name, without those that are not set."""
    return {name: value for name in _OWN_INPUTS if (value := environ.get(f"INPUT_{name.upper()}", "").strip())}


def misused_inputs(environ: Mapping[str, str]) -> Iterator[Problem]:
    """Yield a problem for an unknown mode of the action, and for inputs that its mode does not use."""
    inputs = own_inputs(environ)
    mode = inputs.get("mode", "run")
    if mode not in MODES:
        yield _of_own_input("mode").unfit(mode, f"one of {', '.join(MODES)}")
    if "shard" in inputs and mode != "run":
        yield _of_own_input("shard").problem(f"is for a run that scores; {mode} takes all cases: leave it unset")
    if "shards" in inputs and mode != "merge":
        yield _of_own_input("shards").problem(f"is for merge, not for {mode}; set mode: merge, or leave it unset")


def _of_own_input(name: str) -> Origin:
    return Origin("input", Place(f"INPUT_{name.upper()} (input {name})"))


_PREFIX = re.compile("^SAFE[A-Z0-9]*_+(?:GATES?_+|V[0-9]+_+)?")
_PREFIXES = ("SAFE_GATE_", "SAFEGATE_", *(one.settings.prefix for one in EVALUATORS.values() if one.settings.prefix))
_CLOSE = 0.9  # as alike as a name and one with a wrong letter or two


def unknown_names(environ: Mapping[str, str], *, is_action: bool) -> Iterator[Problem]:
    """Yield a problem for each variable that looks like ours and is not: a typo must not pass.

    Beside those with our prefixes these are ours with another one, such as SAFE_MIN_PASS_RATE. A name with a hyphen is
    no variable that anyone sets: `act` gives each input by its own name too.
    """
    like_ours = {name for name in environ if name.upper().startswith(("INPUT_", "SAFE", *_PREFIXES))}
    if not like_ours:
        return
    known = {name for setting in settings() for name in (*setting.inputs, *setting.env)} | _RUNNER_INPUTS
    known |= {f"INPUT_{name.upper()}" for name in _OWN_INPUTS}
    inputs = {name.upper(): setting.input for setting in settings() if setting.is_input for name in setting.names}
    inputs |= {name.upper(): name for name in _OWN_INPUTS}
    variables = {
        name.upper().replace("-", "_"): setting.env[0]
        for setting in settings()
        if setting.env
        for name in (*setting.names, *(_PREFIX.sub("", one) for one in setting.env))
    }
    for name in sorted(like_ours - known):
        given, bare = name.removeprefix("INPUT_"), _PREFIX.sub("", name.upper())
        is_near = name.startswith("SAFE") and "-" not in name and get_close_matches(bare, variables, 1, _CLOSE)
        if is_action and given != name:
            near = suggestion(given.replace("_", "-"), inputs, quoted=False)
            what = f"input {given.lower()}{near if given.isupper() else suggestion(name, known, quoted=False)}"
        elif is_near or name.upper().startswith(_PREFIXES):
            what = f"variable of this name{suggestion(bare, variables, quoted=False)}"
        else:
            continue
        words = f"safe-gate has no {what}; correct its name or remove it"
        yield Problem(Place(name), words, code=Code.INVALID_SETTING)


def contradictions(options: Settings, origins: Mapping[str, Origin], config: Config) -> Iterator[Problem]:
    """Yield a problem for settings that contradict each other."""
    for found in (one for name in EVALUATORS for one in options.group(name).contradictions()):
        places = [
            origins.get(name) or Origin("default", Place(f"the default of {name.replace('_', '-')}"))
            for name in found.options
        ]
        first, *others = places or [config.origin()]
        if found.key and (not found.options or any(one.kind == CONFIG_FILE for one in (first, *others))):
            yield config.origin(*found.key).problem(found.message)
        elif found.key:
            yield origins.get(found.key[0], first).problem(f"{found.key[0]} {found.message}")
        else:
            yield first.problem(found.message.format(*(one.name for one in others)))


def misplaced(options: Settings, origins: Mapping[str, Origin], command: str) -> Iterator[Problem]:
    """Yield a problem for recorded outputs that a run would not read; a config file may serve another gate, too."""
    for form in (one.input for one in EVALUATORS.values() if one.input.cases):
        origin = origins.get(form.outputs)
        is_named = origin and origin.kind != CONFIG_FILE and options.value(form.outputs)
        if origin and is_named and not options.value(form.setting) and command in ("run", "merge"):
            needed = form.setting.replace("_", "-")
            words = f"names recorded outputs, and {needed} names no cases that they are of; set it, or leave this unset"
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
