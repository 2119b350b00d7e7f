"""What every command has: its description and its parsed command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from safe_gate import commands
from safe_gate.github.commands import Annotation
from safe_gate.inputs import config_file, disk
from safe_gate.publish.effects import Effects
from safe_gate.scoring import progress
from safe_gate.settings import sources
from safe_gate.settings.options import Options


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """The description of a command.

    `place` orders the commands in `--help`. `arguments` are what it takes besides the flags of settings, by name, as
    argparse takes them. `meanings` say what a setting does, by its name, where that is not what it does in a run.
    `judges` tells whether it has a verdict on a run; what it prints is then a log, which may get lost. `refuses_aloud`
    tells whether reports and GitHub say, too, that it could not do its work.
    """

    place: int
    summary: str
    exit_codes: str
    arguments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)
    judges: bool = False
    refuses_aloud: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A parsed command line: all its arguments by name, and as `flags` the ones that give settings."""

    command: str
    arguments: Mapping[str, Any]
    flags: Mapping[str, Any]
    environ: Mapping[str, str]
    effects: Effects

    def options(self) -> Options:
        """Return the settings of the command line, and print its warnings. Raises CannotJudge."""
        resolved = self.resolved()
        self.warn(resolved.warnings)
        if resolved.options.quiet:
            progress.listen(lambda _: None)
        return resolved.options

    def options_at(self, root: Path) -> Options:
        """Return the settings with the config file of another folder, such as the baseline's. Raises CannotJudge."""
        return self.resolved(root).options

    def resolved(self, root: Path = disk.HERE) -> sources.Resolved:
        """Return the settings with where each comes from. Raises CannotJudge."""
        read = partial(config_file.read_config, root=root)
        found = sources.resolve(self.flags, self.environ, read, command=self.command)
        is_ours = root == disk.HERE and not found.options.config
        unread = config_file.in_a_parent_folder() if is_ours else ""
        return replace(found, warnings=(*found.warnings, unread)) if unread else found

    def warn(self, warnings: Sequence[str]) -> None:
        """Print each warning once: as an annotation if the command reports to GitHub and runs there."""
        is_annotated = commands.module(self.command).COMMAND.refuses_aloud and self.effects.context.in_actions
        for text in warnings:
            if is_annotated:
                self.effects.out(Annotation("warning", text, "SAFE Gate").command())
            else:
                self.effects.err(f"safe-gate: warning: {text}")


def reporting_options(flags: Mapping[str, Any], environ: Mapping[str, str]) -> Options:
    """Return the settings that say where to report a refused run, as far as they can be read."""
    return sources.reporting_options(flags, environ, partial(config_file.read_config, is_checked=False))


VERBOSE = {
    "action": "store_true",
    "help": "show all cases to look at with their evidence, and the tables behind the scorecard",
}
"""The argument `--verbose`."""
