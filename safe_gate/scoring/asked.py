"""Shell: what the settings ask the evaluators to score, and one side of a run, whose files are read once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from safe_gate.core.evaluator import Evaluator
from safe_gate.evaluators import EVALUATORS
from safe_gate.inputs import case_files, checked, config_file, disk, own_rules
from safe_gate.inputs.case_files import CaseFiles
from safe_gate.inputs.commit_files import FilePath
from safe_gate.inputs.disk import HERE
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Problem
from safe_gate.model.report import InputFile, Waiver
from safe_gate.settings.model import Settings

FILTERS = ("tag", "not_tag")
"""The options that leave cases out by their tags or archetypes."""

SCORING = (
    *(name for evaluator in EVALUATORS.values() for name in evaluator.settings.scoring),
    "cluster_key",
    "text",
    *FILTERS,
)
"""The options that the evaluators' parts follow from, and what groups are judged by; not those that name files."""


def given(options: Settings) -> list[Evaluator]:
    """Return the evaluators that options name input files of, in reading order."""
    return [one for one in EVALUATORS.values() if options.value(one.input.setting)]


def settings(options: Settings) -> dict[str, Any]:
    """Return the options of `SCORING` as a report has them."""
    values = {name: options.value(name) for name in SCORING}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def is_wanted(evaluator: Evaluator, case: Any, settings: JsonObject) -> bool:
    """Return whether settings leave a case in by the field that its evaluator's own filter is about."""
    chosen = evaluator.input.chosen_by
    return chosen is None or settings[chosen.setting] in ("", getattr(case, chosen.field))


def unfiltered(settings: JsonObject) -> JsonObject:
    """Return settings that leave out no case by its tags or archetype."""
    return {**settings, **{name: [] for name in FILTERS}}


_FILES = tuple(setting for evaluator in EVALUATORS.values() for setting in evaluator.input.settings)
READING = ({*SCORING} - {"text", *FILTERS}) | {*_FILES, "config", "waivers", "bounds"}
"""The options that say which cases are read, and what is read of them."""


KnownWaivers = tuple[InputFile, JsonObject]
"""A file of waivers with what it holds."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The settings of one side of a run, and its files of rules as they were when read.

    The files lie below `root`: the working folder, on the disk or in a commit.
    """

    options: Settings
    root: FilePath
    rules: own_rules.Own

    @property
    def settings(self) -> JsonObject:
        """The settings that scores follow from, as a report has them."""
        return settings(self.options)

    def files_of(self, evaluator: Evaluator) -> CaseFiles:
        """Return the files of an evaluator's cases."""
        return case_files.of(evaluator, self.options, self.root)

    def recipe(self, evaluator: Evaluator) -> str:
        """Return the recipe of an evaluator's rules. Raises CannotJudge, problems at their places in the config."""
        try:
            return own_rules.recipe(evaluator, self.settings, self.rules)
        except CannotJudge as error:
            raise CannotJudge(*self.in_config(error.problems)) from None

    def in_config(self, problems: Iterable[Problem]) -> Iterator[Problem]:
        """Yield problems of settings at their places in the config file, or unchanged if another source sets them."""
        return config_file.in_config(problems, self.options.config, root=self.root)

    def rules_digest(self) -> str:
        """Return the digest of all files of rules. Raises CannotJudge with every problem of a team's."""
        self.rules.refuse_unsound()
        return own_rules.digest(self.settings, self.rules)

    def waivers(self) -> KnownWaivers | None:
        """Return the waivers that the settings name, None without a file. Raises CannotJudge with every problem."""
        return checked.waivers(self.options.waivers, root=self.root)

    def waivers_there(self) -> tuple[Waiver, ...]:
        """Return the waivers that are there: of the default file if the named one is missing. Raises CannotJudge."""
        path = self.options.waivers if disk.exists(self.root / self.options.waivers) else ""
        known = checked.waivers(path, root=self.root)
        return Waiver.listed(known[1]) if known else ()

    def narrowed(self) -> Snapshot:
        """Return this side less the patterns that name no file."""
        return replace(self, options=case_files.narrowed(self.options, self.root), rules=self.rules.matched())

    def filtered_like(self, other: Snapshot) -> Snapshot:
        """Return this side with the cases that another lets in, clustered as they are there: two runs to compare."""
        alike = {name: other.options.value(name) for name in ("cluster_key", *FILTERS)}
        return replace(self, options=self.options.replace(**alike))

    def reads_alike(self, other: Snapshot) -> bool:
        """Return whether two sides name the same cases, and read the same of them."""
        return all(self.options.value(name) == other.options.value(name) for name in READING)


def taken(options: Settings, root: FilePath = HERE) -> Snapshot:
    """Return the side that has these settings and whose files lie below a folder. What is wrong with files is in it."""
    return Snapshot(options, root, own_rules.read(settings(options), root=root))
