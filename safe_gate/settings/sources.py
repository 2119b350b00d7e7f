"""What flags, variables, action inputs and the config file set: by name, where and to what. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from safe_gate.core.given import Documents
from safe_gate.core.setting import Setting
from safe_gate.core.text.patterns import later
from safe_gate.core.validate import masked, quote, suggestion
from safe_gate.evaluators import EVALUATORS
from safe_gate.model.problems import Code, Place, Problem
from safe_gate.settings.model import settings

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

    def problem(self, words: str) -> Problem:
        """Return a problem of the setting."""
        return Problem(self.place, words, field=self.field, code=Code.INVALID_SETTING)

    def unfit(self, value: str | float, expected: str) -> Problem:
        """Return the problem of a value that the setting cannot have."""
        words, hidden = (f"is {name(value)}; expected {expected}" for name in (quote, masked))
        return Problem(self.place, words, field=self.field, text_free=hidden, code=Code.INVALID_SETTING)


Given = Mapping[str, tuple[Source, Any]]
"""What one kind of source sets: by name, where and to what."""


def of_default(name: str) -> Source:
    """Return the default of a setting as a source."""
    return Source("default", Place(f"the default of {name.replace('_', '-')}"))


# --- flags ------------------------------------------------------------------------------------------


def from_flags(flags: Mapping[str, Any], command: str) -> Given:
    """Return what the command line sets. A flag that is empty, as an unset shell variable leaves it, sets nothing."""
    by_name = {setting.name: setting for setting in settings()}

    def source(name: str) -> Source:
        return Source("flag", Place(next(iter((*by_name[name].flags_of(command), by_name[name].input)))))

    return {name: (source(name), value) for name, value in flags.items() if not is_blank(value)}


def is_blank(value: Any) -> bool:
    """Return whether a value is nothing but blanks, or texts of them."""
    texts = value if isinstance(value, list) else [value]
    return all(isinstance(text, str) and not text.strip() for text in texts)


# --- variables --------------------------------------------------------------------------------------


def from_environ(environ: Mapping[str, str]) -> Given:
    """Return what action inputs and variables set; inputs come first.

    The variable of an entry is under `SETTING.ENTRY`. An input that is left out arrives as an empty string, which
    counts as not set. Some shells drop variables with hyphens, so the spelling with underscores is read too.
    """
    found = {}
    for one in settings():
        of_entries = one.by_name.variables if one.by_name else {}
        for name, entry in of_entries.items():
            if environ.get(name, "").strip():
                found[f"{one.name}.{entry}"] = (Source("variable", Place(name)), environ[name])
        for name in _variables(one):
            if environ.get(name, "").strip() and name not in of_entries:
                is_input = name.startswith("INPUT_")
                place = Place(f"{name} (input {one.input})" if is_input else name)
                found[one.name] = (Source("input" if is_input else "variable", place), environ[name])
                break
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
    found = {}
    for setting in settings():
        value: Any = config.content
        for part in setting.key:
            value = value.get(part) if isinstance(value, Mapping) else None
        if setting.key and value is not None and not (isinstance(value, str) and is_blank(value)):
            found[setting.name] = in_config(config, *setting.key), value
    return found


def moved(config: Config, given: Given, others: Set[str]) -> Given:
    """Return the settings of a config file, as `given` has them, with paths from the working folder.

    The file has them from its own folder. `others` are the settings that something else sets. The path of a document
    starts from their folder, if that is set anywhere.
    """
    found = dict(given)
    for name in PATHS & given.keys():
        folder = _STARTS_FROM.get(name)
        if folder is None or not (folder in given or folder in others):
            origin, value = given[name]
            paths = [_moved(config, name, path) for path in ([value] if isinstance(value, str) else value)]
            found[name] = origin, paths[0] if isinstance(value, str) else paths
    return found


def _moved(config: Config, name: str, path: str) -> str:
    path = path.strip()
    is_ref = name == "baseline" and PurePosixPath(path).suffix not in (".json", ".jsonl")
    return path if is_ref or path in ("", "-") else config.locate(path)


_STARTS_FROM = {one.input.setting: one.input.folder for one in EVALUATORS.values() if isinstance(one.input, Documents)}
"""The options whose paths start from a folder that another option names."""

PATHS = frozenset(
    ("waivers", "baseline", "report_dir", *(name for one in EVALUATORS.values() for name in one.input.settings))
).union(one.rule_files.setting for one in EVALUATORS.values() if one.rule_files)
"""The options that name paths."""
