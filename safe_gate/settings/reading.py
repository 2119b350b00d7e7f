"""The settings of a command: from flags, action inputs, variables and the config file, in that order.

The environment and the config file's reader arrive as arguments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from pydantic import ValidationError

from safe_gate.core.given import Documents
from safe_gate.core.setting import AS_RUN, OFF, Setting, flat, nested
from safe_gate.core.text.patterns import later
from safe_gate.core.validate import quote, suggestion
from safe_gate.evaluators import EVALUATORS, PROBLEMS
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.settings.destinations import Sink
from safe_gate.settings.model import CONFIG_FILES, OF_COMMANDS, Settings, settings
from safe_gate.settings.sources import (
    CONFIG_FILE,
    IN_PYTHON,
    MODES,
    PATHS,
    Config,
    Given,
    Source,
    from_config,
    from_environ,
    from_flags,
    in_config,
    is_blank,
    misused_inputs,
    moved,
    of_default,
    unknown_names,
)

ConfigReader = Callable[[str], Config | None]

_NO_CONFIG = Config(CONFIG_FILES[0], {})


class Resolved(NamedTuple):
    """The settings of a run, the origin of each non-default one, and warnings about files that are not read."""

    options: Settings
    origins: Mapping[str, Source]
    warnings: tuple[str, ...] = ()


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
    origins = {name: origin for source in reversed(sources) for name, origin in _origins(source, config).items()}
    try:
        options = Settings.merged(own, *map(_values, sources))
    except ValidationError as error:
        raise CannotJudge(*problems, *_explained(error, origins)) from None
    problems += misplaced(options, origins, options.mode if command in (*AS_RUN, IN_PYTHON) else command)
    problems += unfit_sinks(options, origins)
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


def _values(source: Given) -> dict[str, Any]:
    """Return the values of a source by name, entries by name as a mapping, so that sources merge by entry."""
    values = {name: value for name, (_, value) in source.items() if "." not in name}
    for setting in (one for one in settings() if one.by_name):
        start = f"{setting.name}."
        own = {name.removeprefix(start): value for name, (_, value) in source.items() if name.startswith(start)}
        if setting.by_name and setting.name in values:
            with suppress(ValueError):  # the field refuses what is left as it is
                values[setting.name] = setting.by_name.of(values[setting.name])
                own |= flat(values[setting.name])
        if own:
            values[setting.name] = nested(own) if setting.entries else own
    return values


def _origins(source: Given, config: Config) -> dict[str, Source]:
    """Return where the settings of a source come from, by name, and known entries by `SETTING.ENTRY`."""
    origins = {name: origin for name, (origin, _) in source.items()}
    for setting in (one for one in settings() if one.entries):
        value = _values(source).get(setting.name)
        for entry in flat(value) if isinstance(value, Mapping) else ():
            name = f"{setting.name}.{entry}"
            origin = origins.get(setting.name, origins.get(name))
            if origin and origin.kind == CONFIG_FILE:
                origin = in_config(config, *setting.key, *entry.split("."))
            elif origin and name not in source:
                origin = origin._replace(field=entry)
            if origin:
                origins[name] = origin
                origins.setdefault(setting.name, origin)
    return origins


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
    return origin.unfit(_in_words(given), expected)


def _in_words(given: Any) -> str | float:
    given = " ".join(given) if isinstance(given, list) else given
    return given if isinstance(given, str | int | float) else str(given)


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
        there = {name: one for name, one in from_config(config).items() if name not in PATHS or _is_text(one[1])}
        given = {name: value for name, (_, value) in moved(config, there, given.keys()).items()} | given
    found: dict[str, Any] = {**own, "config": named}
    for name in {*_REPORTING, *PATHS} & given.keys():
        with suppress(ValidationError):
            found[name] = Settings.merged({name: given[name]}).value(name)
    options = Settings.merged(found)
    return options.replace(
        sinks=tuple(one for one in options.sinks if not unfit_sink(Sink.of(one), options.allow)),
        dry_run=str(given.get("dry_run", "")).strip() not in ("", "False", "false", "FALSE"),
        text="full" if str(given.get("text", "full")).strip() == "full" else "none",
        reports=_known_formats(str(given.get("reports", ""))),
    )


def _is_text(value: Any) -> bool:
    return all(isinstance(one, str) for one in (value if isinstance(value, list) else [value]))


def _known_formats(text: str) -> Sequence[str]:
    """Return the report formats that a text names, with any separators; the default if it names none."""
    (setting,) = (one for one in settings() if one.name == "reports")
    words = re.findall(r"\w+", text)
    return tuple(name for name in setting.choices if name in words) or tuple(setting.default)


A_NUMBER_OF_JOBS = later("[1-9][0-9]{0,2}")


def contradictions(options: Settings, origins: Mapping[str, Source], config: Config) -> Iterator[Problem]:
    """Yield a problem for settings that contradict each other, and for an invalid number of jobs."""
    if not (options.jobs == "auto" or options.scheduler or A_NUMBER_OF_JOBS.fullmatch(options.jobs)):
        yield origins["jobs"].unfit(options.jobs, "a whole number from 1 to 999, auto, or the address of a scheduler")
    for found in (one for name in EVALUATORS for one in options.group(name).contradictions()):
        first, *others = [origins.get(name, of_default(name)) for name in found.options] or [in_config(config)]
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


def unfit_sinks(options: Settings, origins: Mapping[str, Source]) -> Iterator[Problem]:
    """Yield a problem for each sink that events must not be sent to."""
    for place, entry in enumerate(options.sinks, 1):
        if words := unfit_sink(Sink.of(entry), options.allow):
            yield origins["sinks"].problem(f"entry {place} {words}")


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
