"""Shell: what the user set, from flags, action inputs, environment and config file, in that order.

The environment and the config file's reader arrive as arguments. `pydantic-settings` merges the
sources and converts; what may be set at all is data in `options.py`. Where only texts and switches are
set, or nothing, there is nothing to convert, and it is not even imported.
"""

from __future__ import annotations

import math
import re
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from safe_gate.core.model import CannotJudge, Config, Place, Problem
from safe_gate.core.validate import masked, quote, suggestion
from safe_gate.evaluators import EVALUATORS, PROBLEMS
from safe_gate.settings.misplaced import misplaced
from safe_gate.settings.old_names import OLD_NAMES
from safe_gate.settings.options import AS_RUN, CONFIG_FILES, OFF, Options, Setting, settings

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_settings import BaseSettings

ConfigReader = Callable[[str], Config | None]

_NO_CONFIG = Config(CONFIG_FILES[0], {})
# What the runner itself may add to a container action's inputs (metadata syntax: with.args, with.entrypoint).
_RUNNER_INPUTS = frozenset({"INPUT_ARGS", "INPUT_ENTRYPOINT"})
_A_NUMBER_OF_JOBS = re.compile("[1-9][0-9]{0,2}")
_PREFIXES = ("SAFE_GATE_", "SAFEGATE_", *(one.prefix for one in EVALUATORS.values() if one.prefix))
# The booleans of YAML 1.2's core schema, as @actions/core reads them; anything else is an error.
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


@dataclass(frozen=True, slots=True)
class Source:
    """Where a setting came from: the `kind` (flag, input, variable or config file), and its place and field there.

    `instead` says what to write in place of an old name, "" for a name that stays.
    """

    kind: str
    place: Place
    field: str = ""
    instead: str = ""

    @property
    def name(self) -> str:
        """What the setting is called there."""
        return f"{self.place.path}: {self.field}" if self.field else self.place.path

    def problem(self, words: str) -> Problem:
        """Return a problem of the setting."""
        return Problem(self.place, words, field=self.field)

    def unfit(self, value: str | float, expected: str) -> Problem:
        """Return the problem of a value that the setting cannot have."""
        words, hidden = (f"is {name(value)}; expected {expected}" for name in (quote, masked))
        return Problem(self.place, words, field=self.field, text_free=hidden)


@dataclass(frozen=True, slots=True)
class Resolved:
    """The settings of a run, the origin of each that is not a default, and a warning for each old name."""

    options: Options
    origins: Mapping[str, Source]
    warnings: tuple[str, ...]


def read(
    flags: Mapping[str, Any], environ: Mapping[str, str], read_config: ConfigReader, *, command: str = "run"
) -> Options:
    """Return the settings of a run, as `resolve` does."""
    return resolve(flags, environ, read_config, command=command).options


def resolve(
    flags: Mapping[str, Any], environ: Mapping[str, str], read_config: ConfigReader, *, command: str = "run"
) -> Resolved:
    """Return the settings of a run with their origins.

    `flags` holds what the command line gave, by option name. `read_config` takes the path the user
    gave, or "", and returns the config file, which is valid, or None if there is none.
    For commands that take the settings of `run` unknown `INPUT_*` variables are refused. Raises CannotJudge with every
    problem found.
    """
    problems = list(_unknown_names(environ, is_action=command in AS_RUN))
    flags = {name: value for name, value in flags.items() if not _is_blank(value)}
    inputs = _from_environ(environ)
    named = flags.get("config") or inputs.get("config", (None, ""))[1]
    problems += PROBLEMS
    is_known = True
    try:
        config = read_config(named.strip()) or _NO_CONFIG
    except CannotJudge as error:
        problems += error.problems
        config, is_known = _NO_CONFIG, False
    sources: list[_Given] = [
        {name: (_of_flag(name, command), value) for name, value in flags.items()},
        inputs,
        {name: (_of_key(config, key), value) for name, key, value in _from_config(config.content)},
    ]
    old = dict.fromkeys(origin for source in sources for origin, _ in source.values() if origin.instead)
    sources.insert(0, dict(_by_entry(sources, problems)))
    origins = {name: origin for source in reversed(sources) for name, (origin, _) in source.items()}
    names = Options.__dataclass_fields__
    values = [{name: value for name, (_, value) in source.items() if name in names} for source in sources]
    options = _without_pydantic(ChainMap(*values)) or _by_pydantic(values, origins, problems)
    does = options.mode if command in ("run", "doctor") else command
    problems += misplaced(options, origins, does)
    problems += _unfit_addresses(options, origins)
    if is_known:  # what a refused file sets cannot be told from what it leaves out
        problems += _contradictions(options, origins, config, is_merge=does == "merge")
    if problems:
        raise CannotJudge(*problems)
    return Resolved(options, origins, tuple(f"{one.name} is an old name: use {one.instead}" for one in old))


def reporting_options(flags: Mapping[str, Any], environ: Mapping[str, str], read_config: ConfigReader) -> Options:
    """Return what is needed to say that a run has no verdict, read as far as it can be, judging nothing.

    `read_config` gives the content of the config file, be it valid or not.
    """
    given: dict[str, Any] = {}
    named = flags.get("config") or _from_environ(environ).get("config", (None, ""))[1]
    with suppress(CannotJudge):
        config = read_config(str(named).strip()) or _NO_CONFIG
        kinds = {setting.name: setting.kind for setting in settings()}
        set_there = {name: value for name, _, value in _from_config(config.content)}
        given = {name: one for name, one in set_there.items() if type(one) is kinds.get(name) or name == "reports"}
    given |= {name: value for name, (_, value) in _from_environ(environ).items()}
    given |= {name: value for name, value in flags.items() if not _is_blank(value)}
    texts: dict[str, Any] = {name: str(value).strip() for name, value in given.items()}
    allow_insecure = _BOOLEANS.get(texts.get("allow_insecure", ""), False)
    for name in _ADDRESSES:
        if _unfit_address(texts.get(name, ""), allow_insecure=allow_insecure):
            texts.pop(name)
    names = ("report_dir", "comment", "gate_id", "comment_author", "ca_bundle", "github_token", "mode", "shard")
    sinks = ("sink_file", "sink_webhook", "sink_secret", "sink_otlp")
    return replace(
        Options(),
        **{name: texts[name] for name in (*names, *sinks) if name in texts},
        dry_run=texts.get("dry_run", "") not in ("", "False", "false", "FALSE"),
        text="full" if texts.get("text", "full") == "full" else "none",
        reports=_known_formats(texts.get("reports", "")),
    )


def _known_formats(text: str) -> tuple[str, ...]:
    """Return the report formats that a text names, however they are separated; the default where it names none."""
    (setting,) = (one for one in settings() if one.name == "reports")
    words = re.findall(r"\w+", text)
    return tuple(name for name in setting.choices if name in words) or setting.default


_PLAIN = (str, bool, tuple[str, ...])
"""Kinds that are what they should be once `_converted`."""


def _without_pydantic(values: Mapping[str, Any]) -> Options | None:
    """Return the options if plain ones alone are set, None if there is a value to convert or to refuse.

    Importing pydantic takes longer than most runs.
    """
    given = [(setting, values[setting.name]) for setting in settings() if setting.name in values]
    if any(setting.kind not in _PLAIN for setting, _ in given):
        return None
    try:
        converted = {setting.name: _converted(value, setting) for setting, value in given}
        "".join(chain.from_iterable(one for one in converted.values() if not isinstance(one, bool))).encode()
    except ValueError:  # of encoding, too: half a surrogate pair is no text
        return None
    plain: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in converted.items()}
    return Options(**plain)


def _by_pydantic(
    values: Sequence[Mapping[str, Any]], origins: Mapping[str, Source], problems: Sequence[Problem]
) -> Options:
    """Return the options that sources set, the first wins. Raises CannotJudge with what is wrong beside `problems`."""
    from pydantic import ValidationError

    try:
        return Options(**_model(values)().model_dump())
    except ValidationError as error:
        raise CannotJudge(*problems, *_explain(error, origins)) from None


def _model(sources: Sequence[Mapping[str, Any]]) -> type[BaseSettings]:
    """Return a settings class with a field for each option that merges the sources, first wins."""
    from pydantic import create_model
    from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource

    class Sources(BaseSettings):
        # The library's own sources are left out, a `.env` file of the checkout among them.
        @classmethod
        def settings_customise_sources(
            cls, settings_cls: type[BaseSettings], *_: PydanticBaseSettingsSource, **__: PydanticBaseSettingsSource
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return tuple(InitSettingsSource(settings_cls, dict(source)) for source in sources)

    fields: dict[str, Any] = {setting.name: _field(setting) for setting in settings()}
    return create_model("Settings", __base__=Sources, **fields)


def _field(setting: Setting) -> tuple[Any, Any]:
    """Return an option as a pydantic field: its type, its limits and its default."""
    from pydantic import AfterValidator, BeforeValidator, Field

    is_number = (setting.low is not None or setting.high is not None) and not setting.is_mapping
    least, most = ("gt", "lt") if setting.excluded else ("ge", "le")
    limits: dict[str, Any] = {least: setting.low, most: setting.high} if is_number else {}
    if setting.kind in (float, float | None):
        # NaN would make every comparison false: a threshold that nothing fails.
        limits["allow_inf_nan"] = False
    convert, tidy = BeforeValidator(partial(_converted, setting=setting)), AfterValidator(_without_minus_zero)
    return Annotated[setting.kind, convert, tidy], Field(default=setting.default, **limits)


def _without_minus_zero(value: Any) -> Any:
    return 0.0 if value == 0 and isinstance(value, float) else value


def _converted(value: Any, setting: Setting) -> Any:
    """Return a value as its source gave it without blanks around it, in entries if it is a list.

    Raises ValueError for a text that is no boolean, or none of the option's choices.
    """
    if isinstance(value, str):
        value = value.strip()
        if setting.kind is bool:
            if value not in _BOOLEANS:
                raise ValueError("not a boolean")
            return _BOOLEANS[value]
        if setting.is_list or setting.is_mapping:
            value = value.split("\n")
        elif setting.kind is not str:
            if value == OFF and setting.can_be_off:
                return None
            _refuse_number(value)
    if setting.is_mapping and value is not None:
        return _numbers_by_id(value, setting)
    if setting.is_list:
        several = chain.from_iterable(one.split(",") for one in value) if setting.choices else value
        value = [entry.strip() for entry in several if entry.strip()]
    chosen = value if isinstance(value, list | tuple) else [value]
    if setting.choices and not set(chosen) <= set(setting.choices):
        raise ValueError("not a choice")
    return value


def _refuse_number(text: str) -> None:
    """Raise ValueError for a text that Python takes for a number and that people and JSON do not: `1_0`, `\u0661`."""
    if "_" in text or not text.isascii():
        raise ValueError("not a number")


_Given = Mapping[str, tuple[Source, Any]]
"""What one kind of source sets: by name, where and to what."""


def _by_entry(sources: Sequence[_Given], problems: list[Problem]) -> Iterator[tuple[str, tuple[Source, Any]]]:
    """Yield each setting of which a source may set some entries, with the entries of all sources; the first wins.

    An entry's old name counts as the entry. What is no number becomes a problem.
    """
    for setting in settings():
        entries: dict[str, float] = {}
        origins = []
        for source in reversed(sources) if setting.general else ():
            for name, entry in (*_OLD_ENTRIES.get(setting.name, ()), (setting.name, setting.general)):
                if name in source:
                    origin, value = source[name]
                    origins.append(origin)
                    try:
                        entries |= _entries(value, entry, setting)
                    except ValueError:
                        problems.append(origin.unfit(_in_words(value), _expected(setting)))
        if origins:
            yield setting.name, (origins[-1], entries)


_OLD_ENTRIES = {
    option: [(old.name, old.entry) for old in OLD_NAMES if old.option == option]
    for option in {old.option for old in OLD_NAMES if old.entry}
}
"""The old names of entries, by option: each with its entry."""


def _entries(value: Any, general: str, setting: Setting) -> dict[str, float]:
    """Return the entries that a value sets; a number alone sets the general one. Raises ValueError."""
    if isinstance(value, int | float):
        value = {general: value}
    elif not isinstance(value, Mapping):
        lines = [line.strip() for line in (value.split("\n") if isinstance(value, str) else value)]
        value = [line if "=" in line else f"{general}={line}" for line in lines if line]
    return {name: number + 0.0 for name, number in _numbers_by_id(value, setting).items()}


def _numbers_by_id(value: Sequence[str] | Mapping[str, float], setting: Setting) -> dict[str, float]:
    """Return an object of the config file, or entries `ID=NUMBER`, as numbers by id. Raises ValueError."""
    if isinstance(value, Mapping):
        pairs = list(value.items())
    else:
        entries = [entry.rpartition("=") for entry in value if entry.strip()]
        for _, _, number in entries:
            _refuse_number(number)
        pairs = [(name.strip(), float(number)) for name, _, number in entries]
    numbers = dict(pairs)
    low, high = setting.low or 0, math.inf if setting.high is None else setting.high
    if len(numbers) < len(pairs) or not all(name and low <= number <= high for name, number in pairs):
        raise ValueError("an id is missing or given twice, or a number is out of its limits")
    return numbers


def _from_environ(environ: Mapping[str, str]) -> dict[str, tuple[Source, str]]:
    """Return the options set by action inputs or variables, with the source of each.

    An input that is left out arrives as an empty string, which counts as not set. Some shells drop
    variables with hyphens, so the spelling with underscores is read too.
    """
    found = {}
    named = [(one.name, one.input, _environment_names(one), "") for one in settings()]
    named += [(old.name, old.input, old.environment, old.instead) for old in OLD_NAMES]
    for option, input_, names, instead in named:
        for name in names if option not in found else ():
            if environ.get(name, "").strip():
                is_input = name.startswith("INPUT_")
                place = Place(f"{name} (input {input_})" if is_input else name)
                found[option] = (Source("input" if is_input else "variable", place, instead=instead), environ[name])
                break
    return found


def switched_on(name: str, environ: Mapping[str, str]) -> bool:
    """Tell whether an action input or a variable switches an option on; another value than true or false does not."""
    _, value = _from_environ(environ).get(name, (None, ""))
    return _BOOLEANS.get(value.strip(), False)


def _environment_names(setting: Setting) -> tuple[str, ...]:
    inputs = (f"INPUT_{setting.input.upper()}", f"INPUT_{setting.name.upper()}") if setting.is_input else ()
    return (*inputs, *setting.env)


def _from_config(config: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    """Yield the options a config file sets: name, path of keys, value. A blank text sets nothing."""
    for setting in settings():
        value: Any = config
        for part in setting.key:
            value = value.get(part) if isinstance(value, Mapping) else None
        if setting.key and value is not None and not (isinstance(value, str) and _is_blank(value)):
            yield setting.name, setting.key, value
    for old in OLD_NAMES:
        if "config file" in old.kinds and old.input in config:
            yield old.name, (old.input,), config[old.input]


def _is_blank(value: Any) -> bool:
    """Tell a flag that an unset shell variable left empty: like an empty input it sets nothing."""
    texts = value if isinstance(value, list) else [value]
    return all(isinstance(text, str) and not text.strip() for text in texts)


def _of_flag(name: str, command: str) -> Source:
    for old in OLD_NAMES:
        if name == old.name and old.flag:
            return Source("flag", Place(old.flag), instead=old.instead)
    flags = next((*setting.flags_of(command), setting.input) for setting in settings() if setting.name == name)
    return Source("flag", Place(flags[0]))


def _of_key(config: Config, key: tuple[str, ...]) -> Source:
    instead = next((old.instead for old in OLD_NAMES if "config file" in old.kinds and key == (old.input,)), "")
    return replace(_in_config(config, *key), instead=instead)


def _unknown_names(environ: Mapping[str, str], *, is_action: bool) -> Iterator[Problem]:
    """Yield a problem for each variable that looks like ours and is not: a typo must not pass."""
    known = {name for setting in settings() for name in _environment_names(setting)} | _RUNNER_INPUTS
    known |= {name for old in OLD_NAMES for name in old.environment}
    inputs = {name.upper(): setting.input for setting in settings() if setting.is_input for name in setting.names}
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
        elif name.upper().startswith(_PREFIXES):
            what = f"variable of this name{suggestion(_bare(name.upper()), variables, quoted=False)}"
        else:
            continue
        yield Problem(Place(name), f"safe-gate has no {what}; correct its name or remove it")


def _bare(variable: str) -> str:
    """Return a variable's name without its prefix, which people mix up."""
    return next((variable.removeprefix(prefix) for prefix in _PREFIXES if variable.startswith(prefix)), variable)


def _explain(error: ValidationError, origins: Mapping[str, Source]) -> Iterator[Problem]:
    by_name = {setting.name: setting for setting in settings()}
    for fault in error.errors(include_url=False, include_context=False):
        name = str(fault["loc"][0])
        yield origins[name].unfit(_in_words(fault["input"]), _expected(by_name[name]))


def _in_words(given: Any) -> str | float:
    given = " ".join(given) if isinstance(given, list) else given
    return given if isinstance(given, str | int | float) else str(given)


def _expected(setting: Setting) -> str:
    if setting.choices:
        return "one of " + ", ".join(setting.choices)
    if setting.kind is bool:
        return "true or false"
    limits = f"a number from {setting.low} to {setting.high}"
    if setting.is_mapping:
        by_check, by_id = f"{limits}, or CHECK=NUMBER, each check once", f"ID=NUMBER, each id once, {limits}"
        return by_check if setting.general else by_id
    kind = "a whole number" if setting.kind in (int, int | None) else "a number"
    if setting.can_be_off:
        return f"{kind} from {setting.low}, or {OFF}"
    if setting.excluded:
        return f"{kind} above {setting.low} and below {setting.high}"
    return f"{kind} from {setting.low}" + ("" if setting.high is None else f" to {setting.high}")


def _contradictions(
    options: Options, origins: Mapping[str, Source], config: Config, *, is_merge: bool
) -> Iterator[Problem]:
    """Yield a problem for settings that are fine alone but not together, and for a number of jobs that is none."""
    if options.engine == "dask" and not options.scheduler and not is_merge:
        words = "is dask, which needs a scheduler; set its address, such as tcp://10.0.0.2:8786"
        yield origins["engine"].problem(words)
    if options.scheduler and options.engine != "dask":
        yield origins["scheduler"].problem("is for engine dask; set engine to dask, or leave it unset")
    if options.jobs != "auto" and not _A_NUMBER_OF_JOBS.fullmatch(options.jobs):
        yield origins["jobs"].unfit(options.jobs, "a whole number from 1 to 999, or auto")
    for metric in ("cr", "ah", "ac"):
        names = f"{metric}_pass", f"{metric}_review"
        pass_, review = (getattr(options, name) for name in names)
        if pass_ < review:
            by_pass, by_review = (origins.get(name, _default(name)) for name in names)
            yield by_pass.problem(f"is {pass_}, below {review} ({by_review.name}); expected pass >= review")
    for archetype, overrides in (options.archetypes or {}).items():
        for metric, own in overrides.get("thresholds", {}).items():
            general = {level: getattr(options, f"{metric.lower()}_{level}") for level in ("pass", "review")}
            limits = {**general, **own}
            if limits["pass"] < limits["review"]:
                words = f"pass is {limits['pass']}, below review, {limits['review']}"
                words = f"{words} (what is not set here is as for all); expected pass >= review"
                yield _in_config(config, "archetypes", archetype, "thresholds", metric).problem(words)
    weights = {metric: getattr(options, f"{metric.lower()}_weight") for metric in ("CR", "AH", "AC")}
    nowhere = "are all zero; expected at least one weight above 0"
    if not any(weights.values()):
        is_in_config = any(origins[name].field for name in ("cr_weight", "ah_weight", "ac_weight") if name in origins)
        yield (_in_config(config, "weights") if is_in_config else Source("", Place("weights"))).problem(nowhere)
    for archetype, overrides in (options.archetypes or {}).items():
        if not any({**weights, **overrides.get("weights", {})}.values()):
            yield _in_config(config, "archetypes", archetype, "weights").problem(nowhere)


def _unfit_addresses(options: Options, origins: Mapping[str, Source]) -> Iterator[Problem]:
    """Yield a problem for each sink that events must not be sent to."""
    for name in _ADDRESSES:
        if words := _unfit_address(getattr(options, name), allow_insecure=options.allow_insecure):
            yield origins[name].problem(words)


_ADDRESSES = ("sink_webhook", "sink_otlp")


def _unfit_address(address: str, *, allow_insecure: bool) -> str:
    """Return what is wrong with a sink's address, without quoting it: it may hold a secret. "" if nothing is."""
    with suppress(ValueError):  # an address that is none
        parts = urlsplit(address)
        if parts.scheme == "http" and parts.hostname and not allow_insecure:
            return "is plain http, which anybody on the way can read; use https, or set allow-insecure: true"
        if not address or (parts.scheme in ("http", "https") and parts.hostname and parts.port != 0):
            return ""
    return "is not an address of a server; expected https://HOST or https://HOST/PATH"


def _in_config(config: Config, *key: str) -> Source:
    return Source("config file", Place(config.path, config.line_of(key)), ".".join(key))


def _default(name: str) -> Source:
    return Source("default", Place(f"the default of {name.replace('_', '-')}"))
