"""Shell: one side of a run, whose files are read once. Reads files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from safe_gate.core.evaluator import Evaluator
from safe_gate.inputs import checked, disk, own_rules
from safe_gate.inputs.finding import case_files
from safe_gate.inputs.finding.case_files import CaseFiles
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Problem
from safe_gate.model.report import InputFile, Waiver
from safe_gate.scoring import asked
from safe_gate.settings.model import Settings


@dataclass(frozen=True, slots=True)
class Waivers:
    """A waivers file with its contents (None without a file), or the problems that make it unreadable."""

    known: tuple[InputFile, JsonObject] | None
    problems: tuple[Problem, ...] = ()

    def sound(self) -> tuple[InputFile, JsonObject] | None:
        """Return the file with what it holds. Raises CannotJudge with its problems."""
        if self.problems:
            raise CannotJudge(*self.problems)
        return self.known


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The settings of one side of a run, and the contents of its files of rules and waivers when read.

    The files lie below `root`, which is the working folder or stands for it. `packs_sha256` is the digest of all
    files of rules, those that ship and those of a team that are sound. `waivers` are the ones that the settings name.
    `there` are the same, or the default file's if the named file is missing.
    """

    options: Settings
    root: Path
    rules: own_rules.Own
    packs_sha256: str
    waivers: Waivers
    there: Waivers

    @property
    def settings(self) -> JsonObject:
        """The settings that scores follow from, as a report has them."""
        return asked.settings(self.options)

    def files_of(self, evaluator: Evaluator) -> CaseFiles:
        """Return the files of an evaluator's cases."""
        return case_files.of(evaluator, self.options, self.root)

    def recipe(self, evaluator: Evaluator) -> str:
        """Return the recipe of an evaluator's rules. Raises CannotJudge with every problem."""
        return asked.recipe(evaluator, self.settings, self.rules, self.options.config, root=self.root)

    def rules_digest(self) -> str:
        """Return the digest of all files of rules. Raises CannotJudge with every problem of a team's."""
        self.rules.refuse_unsound()
        return self.packs_sha256

    def waivers_there(self) -> tuple[Waiver, ...]:
        """Return the waivers that are there, none where there is no file. Raises CannotJudge."""
        known = self.there.sound()
        return Waiver.listed(known[1]) if known else ()

    def narrowed(self) -> Snapshot:
        """Return this side less the patterns that name no file."""
        options = case_files.narrowed(self.options, self.root)
        rules = own_rules.matched(self.rules, asked.settings(options), root=self.root)
        return replace(self, options=options, rules=rules)

    def filtered_like(self, other: Snapshot) -> Snapshot:
        """Return this side with the cases that another lets in, clustered as they are there: two runs to compare."""
        alike = {name: other.options.value(name) for name in ("cluster_key", *asked.FILTERS)}
        return replace(self, options=self.options.replace(**alike))

    def reads_alike(self, other: Snapshot) -> bool:
        """Return whether two sides name the same cases, and read the same of them."""
        return all(self.options.value(name) == other.options.value(name) for name in asked.READING)


def taken(options: Settings, root: Path) -> Snapshot:
    """Return the side that has these settings and whose files lie below a folder. What is wrong with files is in it."""
    settings = asked.settings(options)
    rules = own_rules.read(settings, root=root)
    waivers = there = _waivers(options.waivers, root)
    if waivers.problems and not disk.exists(root / options.waivers):
        there = _waivers("", root)
    return Snapshot(options, root, rules, own_rules.digest(settings, rules), waivers, there)


def _waivers(path: str, root: Path) -> Waivers:
    try:
        return Waivers(checked.waivers(path, root=root))
    except CannotJudge as error:
        return Waivers(None, error.problems)
