"""How settings are declared: each is a field of a dataclass, with its default, names and help. Pure data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, fields
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

ALL_ENTRIES = "all"
"""The entry of a setting by check or metric that applies to all of them."""

POWER = ("run", "power")
"""The commands that count cases."""

Group = Literal["inputs", "gate", "baseline", "reports", "GitHub", "advanced"]
GROUPS: tuple[Group, ...] = get_args(Group)
"""The headings of settings in `--help`, in their order."""

AS_RUN = ("run", "doctor", "compare", "merge")


READING_FLAGS = ("config", "follow_links")
"""The general settings that every command of an evaluator has flags of."""

SCORING_FLAGS = (*READING_FLAGS, "max_line", "max_text", "not_tag", "tag", "text")
"""The general settings that every command that scores has flags of."""


class Setting(NamedTuple):
    """How one option is named and limited.

    `group` is its heading in `--help`, `flags` its flags by command;
    `key` is its path in the config file (empty: not allowed there);
    `low` and `high` bound a number, which may be neither of them if they are `excluded`. In a mapping, a
    number alone stands for the entry `general`; sources merge such a mapping by entry. `--help` shows the `usual` ones.
    """

    name: str
    group: Group
    kind: Any
    default: Any
    help: str
    env: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    flags: Mapping[str, tuple[str, ...]] = {}
    low: float | None = None
    high: float | None = None
    excluded: bool = False
    choices: tuple[str, ...] = ()
    secret: bool = False
    is_input: bool = True
    general: str = ""
    is_usual: bool = False

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
    def is_list(self) -> bool:
        """Whether the option takes several values."""
        return get_origin(self.kind) is tuple

    @property
    def is_mapping(self) -> bool:
        """Whether the option takes numbers by id: an object in the config file, elsewhere `ID=NUMBER`, one per line."""
        return bool(self.kind == Mapping[str, float] | None)

    @property
    def can_be_off(self) -> bool:
        """Whether it is a limit that applies unless it is set to `OFF`, which means None."""
        return type(None) in get_args(self.kind) and self.default is not None

    @property
    def metavar(self) -> str:
        """The placeholder of the value in `--help`."""
        if self.is_mapping:
            return "[CHECK=]N" if self.general else "ID=N"
        if self.choices and not self.is_list:
            return "|".join(self.choices)
        return "N" if self.low is not None else "TEXT"


def option(
    group: Group,
    help_: str,
    default: Any,
    *,
    env: tuple[str, ...] | None = None,
    key: tuple[str, ...] | None = None,
    flags: Mapping[str, tuple[str, ...]] | None = None,
    limits: tuple[float | None, float | None] = (None, None),
    excluded: bool = False,
    choices: tuple[str, ...] = (),
    secret: bool = False,
    is_input: bool | None = None,
    general: str = "",
    usual: bool = False,
) -> Any:
    """Return a field of a dataclass of settings. `Setting` describes the arguments.

    Without `env` and `key`, the variable and the config key have the option's name. Without `flags`, `run` has a flag
    of that name.
    """
    facts = {
        "group": group,
        "help": help_,
        "env": env,
        "key": key,
        "flags": flags,
        "limits": limits,
        "choices": choices,
    }
    more = {"excluded": excluded, "secret": secret, "is_input": is_input, "general": general, "usual": usual}
    return field(default=default, metadata=facts | more, repr=not secret)


def renamed(name: str, short: str, *commands: str) -> Mapping[str, tuple[str, ...]]:
    """Return the flags of an input: its full name first, but its short name first for its evaluator's own commands."""
    full, brief = f"--{name}", f"--{short}"
    return dict.fromkeys(POWER, (full, brief)) | dict.fromkeys(commands, (brief, full))


def settings_of(options: type) -> Iterator[Setting]:
    """Yield the settings that a dataclass declares, with all their names, in order."""
    kinds = get_type_hints(options)
    for one in fields(options):
        facts = one.metadata
        default_flag = (f"--{one.name.replace('_', '-')}",)
        env = (f"SAFE_GATE_{one.name.upper()}",) if facts["env"] is None else facts["env"]
        flags = {"run": default_flag} if facts["flags"] is None else facts["flags"]
        for_run = bool(env) and (not flags or "run" in flags)
        low, high = facts["limits"]
        yield Setting(
            name=one.name,
            group=facts["group"],
            kind=kinds[one.name],
            default=one.default,
            help=facts["help"],
            env=env,
            key=(one.name.replace("_", "-"),) if facts["key"] is None else facts["key"],
            flags=flags,
            low=low,
            high=high,
            excluded=facts["excluded"],
            choices=facts["choices"],
            secret=facts["secret"],
            is_input=for_run if facts["is_input"] is None else facts["is_input"],
            general=facts["general"],
            is_usual=facts["usual"],
        )
