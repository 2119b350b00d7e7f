"""How settings are declared: as fields of pydantic models, each with its names and its heading in `--help`.

A field has its type, its default and its bounds as in any pydantic model. Beside these, `Names` says what it is called.
The types here convert what a flag, a variable or a config file gives: `Text`, `Switch`, `Whole` and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import AfterValidator, AllowInfNan, BaseModel, BeforeValidator, ConfigDict
from pydantic.fields import FieldInfo

from safe_gate.core.case import Contradiction, Way
from safe_gate.model import record

ALL_ENTRIES = "all"
"""The entry of a setting by check or metric that applies to all of them."""

OFF = "off"
"""The text that switches a limit off."""

BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
"""The booleans of YAML 1.2's core schema, as @actions/core reads them; anything else is an error."""

POWER = ("run", "power")
"""The commands that count cases."""

Heading = Literal["inputs", "gate", "baseline", "reports", "GitHub", "advanced"]
HEADINGS: tuple[Heading, ...] = get_args(Heading)
"""The headings of settings in `--help`, in their order."""

AS_RUN = ("run", "doctor", "compare", "merge")
"""The commands that take the flags of `run`."""


# --- types ------------------------------------------------------------------------------------------


def _stripped(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def _switch(value: Any) -> bool:
    found = BOOLEANS.get(_stripped(value)) if isinstance(value, str) else value
    if not isinstance(found, bool):
        raise ValueError("not a boolean")
    return found


def _number(value: Any) -> Any:
    """Refuse what Python takes for a number and people and JSON do not: `1_0`, `\u0661` and True."""
    value = _stripped(value)
    if isinstance(value, bool) or (isinstance(value, str) and ("_" in value or not value.isascii())):
        raise ValueError("not a number")
    return value


def _number_or_off(value: Any) -> Any:
    return None if _stripped(value) == OFF else _number(value)


def _lines(value: Any) -> Any:
    lines = value.split("\n") if isinstance(value, str) else value
    return [line for one in lines if (line := _stripped(one))] if isinstance(lines, list | tuple) else lines


def _words(value: Any) -> Any:
    lines = _lines(value)
    return _lines([word for line in lines for word in str(line).split(",")]) if isinstance(lines, list) else lines


def _plus_zero(value: float | None) -> float | None:
    return 0.0 if value == 0 and isinstance(value, float) else value


Text = Annotated[str, BeforeValidator(_stripped)]
Stripped = BeforeValidator(_stripped)
"""Converts a choice: `Annotated[Literal["a", "b"], Stripped]`."""

Switch = Annotated[bool, BeforeValidator(_switch)]
Lines = BeforeValidator(_lines)
Texts = Annotated[tuple[str, ...], Lines]
"""Several texts, in a variable one per line."""

Words = BeforeValidator(_words)
"""Converts several choices, one per line or between commas: `Annotated[tuple[Literal["a", "b"], ...], Words]`."""

Whole = Annotated[int, BeforeValidator(_number)]
_Finite = Annotated[float, AllowInfNan(allow_inf_nan=False)]
Number = Annotated[_Finite, BeforeValidator(_number), AfterValidator(_plus_zero)]
WholeOrOff = Annotated[int | None, BeforeValidator(_number_or_off)]
NumberOrOff = Annotated[_Finite | None, BeforeValidator(_number_or_off), AfterValidator(_plus_zero)]
Fraction = Annotated[Number, Ge(0), Le(1)]


@record
class Entries:
    """Marks a setting with entries by name: an object of a config file, elsewhere `NAME=VALUE`, one per line.

    A value alone is that of the entry `general`, if there is one. Sources merge by entry. `variables` are the variables
    of entries. Entries of entries are named with a full stop, as `a.least`.
    """

    general: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)

    def of(self, value: Any) -> dict[str, Any]:
        """Return the entries that a value sets. Raises ValueError for one without a name, or given twice."""
        if isinstance(value, Mapping):
            return {**value}
        lines = _lines(value) if isinstance(value, str | list) else [value]
        pairs = [line.rpartition("=") if "=" in str(line) else (self.general, "", line) for line in lines]
        entries = {name.strip(): one for name, _, one in pairs}
        is_twice = len(entries) < len(pairs) or any(one.startswith(f"{name}.") for name in entries for one in entries)
        if "" in entries or is_twice:
            raise ValueError("a name is missing or given twice")
        return nested(entries) if self.variables else entries


def nested(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return entries by name as mappings of mappings: those with one start of their names together.

    >>> nested({"a.least": 0.8, "a.most": 0.9})
    {'a': {'least': 0.8, 'most': 0.9}}
    """
    found: dict[str, Any] = {}
    for name, value in entries.items():
        *outer, last = name.split(".")
        inner = found
        for part in outer:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return found


def flat(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of mappings of mappings by name, as `nested` takes them."""
    found: dict[str, Any] = {}
    for name, one in value.items():
        inner = flat(one) if isinstance(one, Mapping) else {"": one}
        found |= {f"{name}.{last}" if last else name: leaf for last, leaf in inner.items()}
    return found


# --- names ------------------------------------------------------------------------------------------


@record
class Names:
    """What a setting is called, beside the name of its field.

    `heading` is its place in `--help`. `flags` are its flags by command, or the commands with a flag of its name. `env`
    are its variables: by default `SAFE_GATE_` and its name. `key` is its path in the config file: by default its name,
    () if it cannot be set there. By default each setting with a variable and a flag of `run` is an action input. The
    value of a `secret` is not shown. `--help` shows the `usual` ones alone, where a command has many. `takes` are
    the words for a text that is not any text, and for one beside the choices.
    """

    heading: Heading
    flags: Mapping[str, tuple[str, ...]] | tuple[str, ...] = ("run",)
    env: tuple[str, ...] | None = None
    key: tuple[str, ...] | None = None
    is_input: bool | None = None
    secret: bool = False
    usual: bool = False
    takes: str = ""


def renamed(name: str, short: str, *commands: str) -> Mapping[str, tuple[str, ...]]:
    """Return the flags of an input: its full name first, but its short name first for its evaluator's own commands."""
    full, brief = f"--{name}", f"--{short}"
    return dict.fromkeys(POWER, (full, brief)) | dict.fromkeys(commands, (brief, full))


class Strict(BaseModel):
    """Named values that are all known, such as the entries of a setting."""

    # A default is validated, so that `1` is a number as `1.0` is.
    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, defer_build=True)


class Group(Strict):
    """The settings of an evaluator. Names are unique among all settings."""

    prefix: ClassVar[str] = ""
    """The prefix of its environment variables, if not the gate's. A misspelt variable is an error."""

    variables: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({})
    """More names of the environment variables of general options, by the option."""

    scoring: ClassVar[tuple[str, ...]] = ()
    """The settings that scores depend on, and that judge groups; not those that name files."""

    weaker: ClassVar[Mapping[str, Way | tuple[str, ...]]] = MappingProxyType({})
    """For each setting that judges, which change makes the gate weaker: see `gate.weakening.WEAKER`.

    The name of a limit says it: `min_...` or `max_...`.
    """

    @classmethod
    def way_of(cls, _setting: str, _part: Sequence[str]) -> Way | None:
        """Return which change of one part of a setting makes the gate weaker, None to follow `weaker`.

        `_part` has the keys that lead to a member of a mapping. In the setting with the limits of groups, the name of a
        limit tells it: `min-...` or `max-...`.
        """
        return None

    @classmethod
    def unset(cls, _setting: str, _part: Sequence[str], _settings: Mapping[str, Any]) -> Any:
        """Return what applies for a part of a setting that is not set, such as the general number."""
        return None

    def contradictions(self) -> Iterator[Contradiction]:
        """Yield the settings that contradict each other."""
        yield from ()


class Setting(NamedTuple):
    """A setting with all its names, as a field declares it.

    `kind` is its type without None. `low` and `high` bound a number, which may be neither of them if they are
    `excluded`. `can_be_off` says that it is a limit that applies unless it is set to `off`, which is None. `entries`
    are the known entries of a setting that has some by name.
    """

    name: str
    heading: Heading
    kind: Any
    default: Any
    help: str
    env: tuple[str, ...]
    key: tuple[str, ...]
    flags: Mapping[str, tuple[str, ...]]
    low: float | None
    high: float | None
    excluded: bool
    choices: tuple[str, ...]
    secret: bool
    is_input: bool
    can_be_off: bool
    by_name: Entries | None
    entries: tuple[Setting, ...]
    is_usual: bool
    takes: str

    def flags_of(self, command: str) -> tuple[str, ...]:
        """Return the option's flags for a command, if any; some commands take the flags of `run`."""
        return self.flags.get("run" if command in AS_RUN else command, ())

    @property
    def input(self) -> str:
        """The name of the action input, in kebab-case."""
        return self.name.replace("_", "-")

    @property
    def names(self) -> frozenset[str]:
        """The names people try for the option anywhere, in kebab-case: its own and those of its flags."""
        return frozenset({self.input, *(flag.removeprefix("--") for flags in self.flags.values() for flag in flags)})

    @property
    def inputs(self) -> tuple[str, ...]:
        """The variables in which the runner gives the action input, also as shells spell them."""
        return (f"INPUT_{self.input.upper()}", f"INPUT_{self.name.upper()}") if self.is_input else ()

    @property
    def is_list(self) -> bool:
        """Whether the option takes several values."""
        return self.kind is tuple

    @property
    def metavar(self) -> str:
        """The placeholder of the value in `--help`."""
        if self.by_name:
            return "[CHECK=]N" if self.by_name.general else "NAME=N"
        if self.choices and not self.is_list:
            return "|".join(self.choices)
        return "N" if self.kind in (int, float) else "TEXT"

    @property
    def expected(self) -> str:
        """The words for the values that it takes."""
        if self.choices:
            return "one of " + ", ".join(self.choices) + (f", or {self.takes}" if self.takes else "")
        if self.entries:
            return f"NAME=VALUE, each name once: {', '.join(one.name for one in self.entries)}"
        if self.by_name:
            return "a number from 0 to 1, or CHECK=NUMBER, each check once"
        if self.kind not in (int, float):
            return self.takes or {bool: "true or false", tuple: "text, or a list of texts"}.get(self.kind, "text")
        kind = "a whole number" if self.kind is int else "a number"
        if self.excluded:
            return f"{kind} above {self.low} and below {self.high}"
        to = "" if self.high is None else f" to {self.high}"
        return f"{kind} from {self.low}{to}" + f", or {OFF}" * (self.can_be_off or self.default is None)

    def parts(self, value: Any) -> dict[str, Any]:
        """Return the known entries that a value sets, or under "" what the field converts or refuses as a whole."""
        if self.by_name:
            with suppress(ValueError):
                value = self.by_name.of(value)
                return flat(value) if self.entries else {"": value}
        return {"": value}


def settings_of(model: type[BaseModel]) -> Iterator[Setting]:
    """Yield the settings that a model declares, in order; not its nested models."""
    for name, one in model.model_fields.items():
        if names := _first(one.metadata, Names):
            yield _setting(name, one, names)


def _setting(name: str, one: FieldInfo, names: Names) -> Setting:
    is_optional = type(None) in get_args(one.annotation)
    kind = next(kind for kind in get_args(one.annotation) if kind) if is_optional else one.annotation
    kind = get_args(kind)[0] if get_origin(kind) in (Annotated, Union) else kind
    items = get_args(kind)[0] if get_origin(kind) is tuple else kind
    low, high = _first(one.metadata, Ge, Gt), _first(one.metadata, Le, Lt)
    flag = f"--{name.replace('_', '-')}"
    flags = dict.fromkeys(names.flags, (flag,)) if isinstance(names.flags, tuple) else names.flags
    env = (f"SAFE_GATE_{name.upper()}",) if names.env is None else names.env
    is_input = bool(env) and (not flags or "run" in flags)
    return Setting(
        name=name,
        heading=names.heading,
        kind=str if get_origin(kind) is Literal else get_origin(kind) or kind,
        default=one.default,
        help=one.description or "",
        env=env,
        key=(name.replace("_", "-"),) if names.key is None else names.key,
        flags=flags,
        low=getattr(low, "ge", getattr(low, "gt", None)),
        high=getattr(high, "le", getattr(high, "lt", None)),
        excluded=isinstance(low, Gt),
        choices=get_args(items) if get_origin(items) is Literal else (),
        secret=names.secret,
        is_input=is_input if names.is_input is None else names.is_input,
        can_be_off=is_optional and one.default is not None,
        by_name=_first(one.metadata, Entries),
        entries=tuple(_entries(kind)),
        is_usual=names.usual,
        takes=names.takes,
    )


def _entries(kind: Any) -> Iterator[Setting]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        for name, one in kind.model_fields.items():
            entry = _setting(one.alias or name, one, Names("advanced", flags={}, env=(), key=()))
            yield from (inner._replace(name=f"{name}.{inner.name}") for inner in entry.entries)
            if not entry.entries:
                yield entry


def _first(metadata: Sequence[Any], *types: type) -> Any:
    return next((one for one in metadata if isinstance(one, types)), None)
