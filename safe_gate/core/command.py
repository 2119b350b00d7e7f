"""The commands of safe-gate as values: what describes each of them, and what an evaluator's own do. Pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from safe_gate.core.model import JsonObject

VERBOSE = {
    "action": "store_true",
    "help": "show all cases to look at with their evidence, and the tables behind the scorecard",
}
"""The argument `--verbose`."""

JSON = {
    "action": "store_true",
    "help": "print one JSON object for programs on standard output, and the log on standard error",
}
"""The argument `--json`: the command line acts on it, not the command."""

OUT = {"default": "", "metavar": "PATH", "help": "write the JSON report to this file"}
"""The argument `--out` of a command that scores."""

Ending = tuple[int, str]
"""The end of a command: its exit code, and the last line that it prints, "" for none."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Command:
    """The description of a command.

    `place` orders the commands in `--help`. `arguments` are its arguments for argparse, by name, without the flags of
    settings. `meanings` describe, by name, the settings that mean something else than in a run. `judges` tells
    whether it has a verdict on a run; its output is then a log, which may get lost. `refuses_aloud` tells whether
    reports and GitHub also say that it could not do its work. `verb` names its work.

    A flag that takes several words swallows the command's own words behind it. `own_word` is the pattern of the first
    of these, "" if any word may be it, as the command needs one, None if it has none. None is needed with one of the
    flags `instead_of_words`.

    A command of an evaluator names its `runner`, a module of `commands/own/`.
    """

    runner: ClassVar[str] = ""

    place: int
    summary: str
    exit_codes: str
    arguments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)
    judges: bool = False
    refuses_aloud: bool = False
    verb: str = "judge"
    own_word: str | None = None
    instead_of_words: tuple[str, ...] = ()


class Scores(Command):
    """A command that scores the cases of its evaluator alone, and shows the scorecard.

    It has the arguments `--out` and `--verbose`.
    """

    runner = "scores"

    file: str = "--out"
    """The argument that names a file for the evaluator's part."""

    asks_for: tuple[str, str]
    """The flag that names the cases, and its value's name. An error asks for it if it is missing."""

    def ending(self, _part: JsonObject, _settings: Mapping[str, Any]) -> Ending:
        """Return the end of the command, of the part and of the evaluator's settings by name."""
        raise NotImplementedError


class ScoresInFormats(Scores):
    """A command that scores as `Scores` does, and writes the part in several formats."""

    runner = "formats"

    formats: str
    """The setting that names the formats: some of `json`, `console` and `markdown`, or `all`."""

    def stem(self, _part: JsonObject) -> str:
        """Return the name, without the suffix, of a file in the folder for reports."""
        raise NotImplementedError


class LearnsRules(Command):
    """A command that lists the rules of its evaluator, tests a team's files of rules, or learns rules from cases.

    It asks the `RuleBook` of the evaluator's `rule_files`. Its arguments are `words`, which say what to do, and
    `--out`, the folder for what is learned.
    """

    runner = "rules"
