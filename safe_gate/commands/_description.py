"""The description of a command of safe-gate. Pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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

QUIET = {
    "action": "store_true",
    "help": "print only the verdict, and what is wrong with the inputs; reports and publishing stay the same",
}
"""The argument `--quiet`."""

SHARD = {
    "default": "",
    "metavar": "I/N",
    "help": "score one part of the cases, such as 2/4, and judge nothing; merge judges all parts together",
}
"""The argument `--shard`."""

OUT = {"default": "", "metavar": "PATH", "help": "write the JSON report to this file"}
"""The argument `--out` of a command that scores."""


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
    """

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
