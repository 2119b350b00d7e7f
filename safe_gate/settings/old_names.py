"""Names of settings that still work, each with what replaced it. Pure data."""

from __future__ import annotations

from typing import NamedTuple

from safe_gate.evaluators import EVALUATORS


class OldName(NamedTuple):
    """A name that still works, with a warning: an option, or an `entry` of one, and what to write `instead`.

    `kinds` are the sources that take the name: flag (of `run` and more `commands`), input, variable, config file.
    """

    name: str
    option: str
    kinds: tuple[str, ...]
    instead: str
    entry: str = ""
    commands: tuple[str, ...] = ()

    @property
    def input(self) -> str:
        """The name in kebab-case, as inputs, flags and config keys have it."""
        return self.name.replace("_", "-")

    @property
    def flag(self) -> str:
        """The name on the command line, "" if it is none there."""
        return f"--{self.input}" if "flag" in self.kinds else ""

    @property
    def environment(self) -> tuple[str, ...]:
        """The variables that have the name: those of an action input, and our own."""
        inputs = (f"INPUT_{self.input.upper()}", f"INPUT_{self.name.upper()}") if "input" in self.kinds else ()
        return (*inputs, f"SAFE_GATE_{self.name.upper()}") if "variable" in self.kinds else inputs


OLD_NAMES = (
    *(
        OldName(
            f"{setting}_{entry}",
            setting,
            ("flag", "input", "variable", "config file"),
            f"{setting.replace('_', '-')} with the entry {entry}",
            entry,
        )
        for evaluator in EVALUATORS.values()
        for setting, entries in evaluator.old_entries.items()
        for entry in entries
    ),
    OldName("ca_bundle", "ca_bundle", ("flag", "input"), "the variable SAFE_GATE_CA_BUNDLE", commands=("publish",)),
    OldName(
        "comment_author",
        "comment_author",
        ("flag", "input"),
        "the variable SAFE_GATE_COMMENT_AUTHOR",
        commands=("publish",),
    ),
    OldName("mode", "mode", ("variable",), "the command, such as safe-gate publish, or the action's input mode"),
    OldName("shards", "shards", ("variable",), "safe-gate merge SHARD..., or the action's input shards"),
)
"""Names of version 1 that version 2 will not have."""
