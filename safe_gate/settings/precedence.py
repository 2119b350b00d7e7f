"""Shell: what the user set, from flags, action inputs, environment and config file, in that order.

The environment and the config file's reader arrive as arguments. `pydantic-settings` merges the
sources and converts; what may be set at all is data in `options.py`. Where only texts and switches are
set, or nothing, there is nothing to convert, and it is not even imported.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any, NamedTuple

from safe_gate.core.model import CannotJudge, Config, Place
from safe_gate.core.setting import AS_RUN
from safe_gate.evaluators import PROBLEMS
from safe_gate.settings.config_paths import PATHS, moved
from safe_gate.settings.contradictions import ADDRESSES, contradictions, unfit_address, unfit_addresses
from safe_gate.settings.environment import from_environ, unknown_names
from safe_gate.settings.misplaced import misplaced
from safe_gate.settings.options import CONFIG_FILES, Options, settings
from safe_gate.settings.origins import Given, Source, in_config
from safe_gate.settings.values import BOOLEANS, by_entry, by_pydantic, without_pydantic

ConfigReader = Callable[[str], Config | None]

IN_PYTHON = "run()"
"""The command of a call from Python, which has no flags: its settings are named as docs/settings.md names them."""

_NO_CONFIG = Config(CONFIG_FILES[0], {})


class Resolved(NamedTuple):
    """The settings of a run, the origin of each non-default one, and warnings about files that are not read."""

    options: Options
    origins: Mapping[str, Source]
    warnings: tuple[str, ...] = ()


def read(
    flags: Mapping[str, Any], environ: Mapping[str, str], read_config: ConfigReader, *, command: str = "run"
) -> Options:
    """Return the settings of a run, as `resolve` does."""
    return resolve(flags, environ, read_config, command=command).options


def resolve(
    flags: Mapping[str, Any], environ: Mapping[str, str], read_config: ConfigReader, *, command: str = "run"
) -> Resolved:
    """Return the settings of a run with their origins.

    `flags` holds the command line's values by option name. `read_config` takes the user's path or "". It returns the
    valid config file, or None if there is none. For commands with the settings of `run`, unknown `INPUT_*` variables
    are refused. Raises CannotJudge with every problem found.
    """
    problems = list(unknown_names(environ, is_action=command in AS_RUN))
    flags = {name: value for name, value in flags.items() if not _is_blank(value)}
    inputs = from_environ(environ)
    named = flags.get("config") or inputs.get("config", (None, ""))[1]
    problems += PROBLEMS
    is_known = True
    try:
        config = read_config(named.strip()) or _NO_CONFIG
    except CannotJudge as error:
        problems += error.problems
        config, is_known = _NO_CONFIG, False
    of_config = {name: (in_config(config, *key), value) for name, key, value in _from_config(config.content)}
    sources: list[Given] = [
        {name: (_of_flag(name, command), value) for name, value in flags.items()},
        inputs,
        moved(config, of_config, others={*flags, *inputs}),
    ]
    sources.insert(0, dict(by_entry(sources, problems)))
    origins = {name: origin for source in reversed(sources) for name, (origin, _) in source.items()}
    names = {field.name for field in fields(Options)}
    values = [{name: value for name, (_, value) in source.items() if name in names} for source in sources]
    options = without_pydantic(ChainMap(*values)) or by_pydantic(values, origins, problems)
    does = options.mode if command in ("run", "doctor", IN_PYTHON) else command
    problems += misplaced(options, origins, does)
    problems += unfit_addresses(
        {name: getattr(options, name) for name in ADDRESSES}, origins, allow_insecure=options.allow_insecure
    )
    if is_known:  # in a refused file, set and missing values look the same
        problems += contradictions(options, origins, config, is_merge=does == "merge")
    if problems:
        raise CannotJudge(*problems)
    return Resolved(options, origins)


def reporting_options(flags: Mapping[str, Any], environ: Mapping[str, str], read_config: ConfigReader) -> Options:
    """Return the readable settings for reporting that a run has no verdict. Judges nothing.

    `read_config` returns the content of the config file, even if it is invalid.
    """
    given: dict[str, Any] = {}
    named = flags.get("config") or from_environ(environ).get("config", (None, ""))[1]
    with suppress(CannotJudge):
        config = read_config(str(named).strip()) or _NO_CONFIG
        types = {setting.name: setting.kind for setting in settings()}
        set_there = {name: value for name, _, value in _from_config(config.content)}
        given = {name: one for name, one in set_there.items() if type(one) is types.get(name) or name == "reports"}
        if "report_dir" in given:
            given["report_dir"] = config.locate(given["report_dir"].strip())
        for name in PATHS & set_there.keys() - {"report_dir"}:
            given[name] = [config.locate(one) for one in _lines(set_there[name])]
    given |= {name: value for name, (_, value) in from_environ(environ).items()}
    given |= {name: value for name, value in flags.items() if not _is_blank(value)}
    read: dict[str, Any] = {name: tuple(_lines(given[name])) for name in PATHS & given.keys()}
    read |= {name: "".join(read[name][:1]) for name in read if isinstance(getattr(Options(), name), str)}
    texts: dict[str, Any] = {name: str(value).strip() for name, value in given.items()}
    allow_insecure = BOOLEANS.get(texts.get("allow_insecure", ""), False)
    for name in ADDRESSES:
        if unfit_address(texts.get(name, ""), allow_insecure=allow_insecure):
            texts.pop(name)
    names = ("report_dir", "comment", "gate_id", "comment_author", "ca_bundle", "github_token", "mode", "shard")
    sinks = ("sink_file", "sink_webhook", "sink_secret", "sink_otlp")
    return replace(
        Options(),
        **{**read, **{name: texts[name] for name in (*names, *sinks) if name in texts}},
        config=str(named).strip(),
        dry_run=texts.get("dry_run", "") not in ("", "False", "false", "FALSE"),
        text="full" if texts.get("text", "full") == "full" else "none",
        reports=_known_formats(texts.get("reports", "")),
    )


def _lines(value: Any) -> list[str]:
    """Return the texts of a setting that is a list, or has one a line."""
    texts = value if isinstance(value, list | tuple) else [value]
    return [line.strip() for one in texts for line in str(one).split("\n") if line.strip()]


def _known_formats(text: str) -> tuple[str, ...]:
    """Return the report formats that a text names, with any separators; the default if it names none."""
    (setting,) = (one for one in settings() if one.name == "reports")
    words = re.findall(r"\w+", text)
    return tuple(name for name in setting.choices if name in words) or setting.default


def _from_config(config: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    """Yield the options a config file sets: name, path of keys, value. A blank text sets nothing."""
    for setting in settings():
        value: Any = config
        for part in setting.key:
            value = value.get(part) if isinstance(value, Mapping) else None
        if setting.key and value is not None and not (isinstance(value, str) and _is_blank(value)):
            yield setting.name, setting.key, value


def _is_blank(value: Any) -> bool:
    """Return whether a flag is empty, as an unset shell variable leaves it. It then sets nothing."""
    texts = value if isinstance(value, list) else [value]
    return all(isinstance(text, str) and not text.strip() for text in texts)


def _of_flag(name: str, command: str) -> Source:
    flags = next((*setting.flags_of(command), setting.input) for setting in settings() if setting.name == name)
    return Source("flag", Place(flags[0]))
