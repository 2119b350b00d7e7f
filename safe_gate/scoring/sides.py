"""Shell: one side of a run, the head or its base: settings, files, cases, and what is wrong with them. Reads files.

The files of a side are read once. The problems of cases are values beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set, Sized
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from safe_gate.core.case import Case, selects
from safe_gate.core.evaluator import Evaluator
from safe_gate.core.figures import first_few, plural
from safe_gate.core.validate import LONGEST_QUOTE, masked, quote, suggestion
from safe_gate.evaluators.registry import CASE_FILTERS, EVALUATORS
from safe_gate.gate.rules import UNJUDGED
from safe_gate.gate.weakening import Cases, CaseTerms
from safe_gate.inputs import case_files, checked, disk, recorded
from safe_gate.inputs.case_files import CaseFiles
from safe_gate.inputs.commit_files import FilePath
from safe_gate.inputs.disk import HERE
from safe_gate.inputs.recorded import Found
from safe_gate.model import record
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.model.report import InputFile, Waiver
from safe_gate.model.spool import Spool
from safe_gate.render.untrusted import quote_phrase
from safe_gate.settings import Settings

if TYPE_CHECKING:
    from safe_gate.scoring.measure import Measurement


SCORING = (
    *(name for evaluator in EVALUATORS.values() for name in evaluator.settings.scoring),
    "cluster_key",
    "text",
    "tag",
)
"""The options that the evaluators' parts follow from, and what groups are judged by; not those that name files."""


def evaluators_in_use(options: Settings) -> list[Evaluator]:
    """Return the evaluators that options name input files of, in reading order."""
    return [one for one in EVALUATORS.values() if options.value(one.input.setting)]


def as_recorded(options: Settings, names: Iterable[str]) -> dict[str, Any]:
    """Return options as a report has them."""
    values = {name: options.value(name) for name in names}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def scoring_settings(options: Settings) -> dict[str, Any]:
    """Return the options of `SCORING` as a report has them."""
    return as_recorded(options, SCORING)


def passes_filters(evaluator: Evaluator, case: Case, settings: JsonObject) -> bool:
    """Return whether a case passes the filter `tag` and its evaluator's own, such as by concern."""
    chosen = evaluator.input.case_filter
    is_chosen = chosen is None or settings[chosen.setting] in ("", getattr(case, chosen.field))
    return is_chosen and selects(settings["tag"], case.groups)


OF_INPUTS = tuple(setting for evaluator in EVALUATORS.values() for setting in evaluator.input.settings)
"""The options that name the files of cases."""

READING = ({*SCORING} - {"text", "tag"}) | {*OF_INPUTS, "config", "waivers", "bounds"}
"""The options that say which cases are read, and what is read of them."""


KnownWaivers = tuple[InputFile, JsonObject]
"""A file of waivers with what it holds."""


@record
class Snapshot:
    """The settings of one side of a run, and its files of rules as they were when read.

    The files lie below `root`: the working folder, on the disk or in a commit.
    """

    options: Settings
    root: FilePath
    rules: case_files.TeamRules

    @property
    def settings(self) -> JsonObject:
        """The settings that scores follow from, as a report has them."""
        return scoring_settings(self.options)

    def files_of(self, evaluator: Evaluator) -> CaseFiles:
        """Return the files of an evaluator's cases."""
        return CaseFiles(evaluator, self.options, self.root)

    def recipe(self, evaluator: Evaluator) -> str:
        """Return the recipe of an evaluator's rules. Raises CannotJudge, problems where settings are set."""
        try:
            return case_files.recipe(evaluator, self.settings, self.rules)
        except CannotJudge as error:
            raise CannotJudge(*self.at_source(error.problems)) from None

    def at_source(self, problems: Iterable[Problem]) -> Iterator[Problem]:
        """Yield problems of settings where these are set: see `checked.place_at_source`."""
        return checked.place_at_source(problems, self.options, root=self.root)

    def rules_digest(self) -> str:
        """Return the digest of all files of rules. Raises CannotJudge with every problem of a team's."""
        self.rules.refuse_unsound()
        return case_files.rules_digest(self.settings, self.rules)

    def waivers(self) -> KnownWaivers | None:
        """Return the waivers that the settings name, None without a file. Raises CannotJudge with every problem."""
        return checked.read_waivers(self.options.waivers, self.options.config, root=self.root)

    def waivers_on_disk(self) -> tuple[Waiver, ...]:
        """Return the waivers that are there: of the default file if the named one is missing. Raises CannotJudge."""
        path = self.options.waivers if disk.exists(self.root / self.options.waivers) else ""
        known = checked.read_waivers(path, self.options.config, root=self.root)
        return Waiver.listed(known[1]) if known else ()

    def without_unmatched(self) -> Snapshot:
        """Return this side without the patterns that match no file."""
        return replace(
            self, options=case_files.without_unmatched(self.options, self.root), rules=self.rules.without_unmatched()
        )

    def filtered_like(self, other: Snapshot) -> Snapshot:
        """Return this side with the filters and clusters of another side, so that the two can be compared."""
        alike = {name: other.options.value(name) for name in ("cluster_key", "tag", *CASE_FILTERS)}
        return replace(self, options=self.options.replace(**alike))

    def reads_same_cases(self, other: Snapshot) -> bool:
        """Return whether two sides read the same cases in the same way."""
        return all(self.options.value(name) == other.options.value(name) for name in READING)


def take_snapshot(options: Settings, root: FilePath = HERE) -> Snapshot:
    """Return the side that has these settings and whose files lie below a folder. What is wrong with files is in it."""
    return Snapshot(options, root, case_files.read_rules(scoring_settings(options), root=root))


def no_case_problem(evaluator: Evaluator, settings: JsonObject, groups: Set[str], left_out: Sized) -> Problem | None:
    """Return the problem of settings that leave an evaluator no case; None if it had none to begin with.

    `groups` are the tags or archetypes of its cases, `left_out` holds those that the filters leave out.
    """
    if not left_out:
        return None
    named, chosen = unknown_tags(settings["tag"], groups), evaluator.input.case_filter
    if chosen and settings[chosen.setting] and not named:
        words = f"matches no case{' that tag leaves in' if settings['tag'] else ''}"
        words = f"{{}} {words}; correct it, or leave it unset to judge all cases"
        return unknown_name_problem(chosen.setting, words, settings[chosen.setting])
    words = f"leaves no {evaluator.title} case to judge{': ' if named else ''}{' and '.join(named)}"
    return Problem(Place("tag"), f"{words}; correct it, or run without these files", code=Code.NO_INPUT)


def unknown_name_problem(setting: str, words: str, name: str, hint: str = "") -> Problem:
    """Return the problem of a name in a setting that no case has; `words` has `{}` in its place."""
    shown, hidden = words.format(repr(name[:LONGEST_QUOTE])), words.format(masked(name))
    place = Place(setting.replace("_", "-"))
    return Problem(place, f"{shown}{hint}", text_free=hidden, code=Code.INVALID_SETTING)


_MOST_PAIRS = 20_000_000
"""The most pairs of characters that are compared to find a similar name, about a second's work."""


def with_hints(names: Iterable[str], groups: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield names, each with a hint at a similar group, "" for none.

    Where there is too much to compare, only the first names get hints.

    >>> list(with_hints(["GREIF", "work"], {"grief", "slow"}))
    [('GREIF', ' (did you mean "grief"?)'), ('work', '')]
    """
    known = [*groups]
    characters, left = sum(map(len, known)), _MOST_PAIRS
    for name in names:
        left -= len(name) * characters
        yield name, suggestion(name, known) if left >= 0 else ""


def unknown_tags(tags: Iterable[str], groups: Set[str]) -> list[str]:
    """Return each selected tag that no case has, in words, with a hint at a similar one."""
    missing = (tag for tag in tags if not tag.startswith("!") and tag not in groups)
    return [f"no case has {quote(tag)}{hint}" for tag, hint in with_hints(missing, groups)]


def no_input_problem(*, merges: bool = False) -> Problem:
    """Return the problem of a run without inputs, which may be one that merges shards."""
    inputs = [evaluator.input for evaluator in EVALUATORS.values()]
    named = " or ".join(one.setting.replace("_", "-") for one in inputs)
    files = f"the files to judge: {', '.join(one.plural for one in inputs)}"
    if merges:
        return missing_setting_problem(named, f"{files}; name the files of the runs that wrote the shards")
    return missing_setting_problem(named, f"{files}; safe-gate init adds samples and a config file that names them")


def no_rule_problem(evaluators: Iterable[Evaluator]) -> Problem:
    """Return the problem of a run of some evaluators of which no rule judges the cases."""
    words = f"no rule judges these cases: {UNJUDGED}; set a limit, such as"
    some = " or ".join(evaluator.gate.rules[0].name for evaluator in evaluators)
    return Problem(Place("safe-gate"), f"{words} {some}", code=Code.INVALID_SETTING)


def missing_setting_problem(what: str, expected: str) -> Problem:
    """Return the problem of a setting without which there is nothing to judge."""
    words = f"is not set or empty, so there is nothing to judge; expected {expected}"
    return Problem(Place(what), words, code=Code.NO_INPUT)


def redact_problems(problems: Sequence[Problem], text: str) -> tuple[Problem, ...]:
    """Return problems without the recorded text that they quote, if `text` is `none`."""
    return tuple(problems if text == "full" else (problem.without_texts() for problem in problems))


def group_limits(evaluator: Evaluator, every: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """Return what the settings, by their options, say of groups of an evaluator's cases, by their names."""
    setting = evaluator.grouping.setting
    return (every[setting] if setting else None) or {}


def unknown_names(side: Snapshot, measured: Mapping[str, Measurement], why: str = "") -> Iterator[Problem]:
    """Yield a problem for each group and each check in the settings of a side that does not exist.

    An evaluator without input is not asked. `why` is as in `unknown_groups`.
    """
    yield from unknown_groups(side, measured, why)
    yield from misnamed_settings(side, measured)


def unknown_groups(
    side: Snapshot, measured: Mapping[str, Measurement], why: str = "", *, is_selection: bool = False
) -> Iterator[Problem]:
    """Yield a problem for each archetype or tag that settings name and no case has: its rules would judge nothing.

    Cases with a problem come first: they may have the group. A filter may name a group of any evaluator. Of a
    selection of the cases, only what looks misspelt is a problem: the others may have the rest. `why` says which files
    were read, where others may have the group.
    """
    read = {name: found.groups for name, found in measured.items() if not found.problems}
    problems: list[Problem] = []
    if len(read) == len(measured):
        problems += (
            Problem(Place("tag"), f"{words}; correct the name, or leave it out", code=Code.INVALID_SETTING)
            for words in unknown_tags(side.options.tag, {group for groups in read.values() for group in groups})
        )
    for evaluator, groups in read.items():
        grouping, limited = EVALUATORS[evaluator].grouping, group_limits(EVALUATORS[evaluator], side.options.values())
        meant = groups - limited.keys() if is_selection else groups
        for name, hint in with_hints(sorted(limited.keys() - groups), meant):
            if not limited[name].get("optional") and (hint or not is_selection):
                words = f"no case has this {grouping.noun}{hint}{why}; correct the name, or set"
                words = f"{words} `optional: true` if its cases may be absent"
                problems.append(Problem(Place(str(grouping.setting)), words, field=name, code=Code.INVALID_SETTING))
    yield from side.at_source(problems)


def misnamed_settings(side: Snapshot, evaluators: Iterable[str]) -> Iterator[Problem]:
    """Yield a problem for each name that a side's settings give and that means nothing to evaluators."""
    problems = list[Problem]()
    for name in evaluators:
        if rule_files := EVALUATORS[name].rule_files:
            by = partial(case_files.load_rules, EVALUATORS[name], side.settings, side.rules)
            with suppress(CannotJudge):  # unreadable rules have no known names
                for one in rule_files.misnamed(side.options.values(), by):
                    place = Place(one.setting.replace("_", "-"))
                    problems.append(Problem(place, one.message, field=one.name, code=Code.INVALID_SETTING))
    yield from side.at_source(problems)


Part = recorded.FilePart | tuple[Case, ...]
"""Some cases: lines that hold them, or cases of documents, which are read already."""


def read_file_parts(files: CaseFiles, found: Found, size: int) -> Iterator[Part]:
    """Yield an evaluator's cases in parts of about `size`, and add what else is there to `found`."""
    if not files.evaluator.input.cases:
        yield from recorded.read_parts(files, found, size)
        return
    cases = recorded.read_cases(files, {}, found)
    while some := tuple(islice(cases, size)):
        yield some


def report_skipped(skipped: Sequence[str], setting: str, show: Callable[[str], None]) -> None:
    """Print which files the globs of a setting skipped, if any; no report depends on them."""
    if skipped:
        count = plural(len(skipped), "file")
        named = quote_phrase(first_few(skipped, len(skipped), 20))
        show(f"safe-gate: skipped {count} of its own or with another suffix that {setting} matches: {named}")


def read_case_terms(side: Snapshot) -> Cases:
    """Return the terms of the cases of a side; score none.

    Filters leave no case out: a case that is left out here may be judged elsewhere. Raises CannotJudge with every
    problem of the cases.
    """
    found = Found()
    terms = {
        one.name: Spool(map(CaseTerms.of, recorded.read_cases(side.files_of(one), side.settings, found)))
        for one in evaluators_in_use(side.options)
    }
    if found.problems:
        raise CannotJudge(*redact_problems(found.problems.kept(), side.options.text))
    return terms
