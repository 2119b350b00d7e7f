"""Shell: the files that settings name for evaluators: cases, documents of cases, and a team's rules. Reads folders.

Also what evaluators score by, all files that a run reads, and which reports would replace them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from safe_gate.core.case import Input, OwnFile, PackFact
from safe_gate.core.evaluator import Evaluator
from safe_gate.core.jsontext import digest
from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.inputs import checked, disk, globs
from safe_gate.inputs.checked import OUTPUTS
from safe_gate.inputs.commit_files import FilePath
from safe_gate.inputs.disk import HERE, display_path
from safe_gate.inputs.globs import MatchedFiles
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.settings import CONFIG_FILES, Settings


def pattern_settings() -> Iterator[tuple[str, str]]:
    """Yield the options that hold file patterns, each with the suffix of the files that are expected."""
    for one in EVALUATORS.values():
        if one.input.cases:
            yield one.input.setting, ".json"
            yield one.input.outputs, ".jsonl"
        else:
            yield one.input.setting, ".jsonl"
    for one in EVALUATORS.values():
        if one.rule_files:
            yield one.rule_files.setting, ".json"


class CaseFiles(NamedTuple):
    """The files of an evaluator's cases that options name below `root`, and how they are read."""

    evaluator: Evaluator
    options: Settings
    root: FilePath = HERE

    @property
    def patterns(self) -> tuple[str, ...]:
        """The paths and globs of the files, without those of outputs."""
        found: tuple[str, ...] = self.options.value(self.evaluator.input.setting)
        return found


def find_case_files(files: CaseFiles) -> MatchedFiles:
    """Return the paths of files of cases, without those of outputs.

    Outputs without a document are a problem, except those of a glob if other outputs are named.
    """
    if files.evaluator.input.cases:
        return _match_documents(files, files.evaluator.input)
    return globs.expand_patterns(files.patterns, root=files.root)


def expand_setting(options: Settings, setting: str, patterns: Sequence[str], root: FilePath = HERE) -> MatchedFiles:
    """Return the files that patterns of a setting name."""
    for one in EVALUATORS.values():
        if one.input.setting == setting:
            return find_case_files(CaseFiles(one, options.replace(**{setting: tuple(patterns)}), root))
    return globs.expand_patterns(patterns, dict(pattern_settings())[setting], root=root)


def without_unmatched(options: Settings, root: FilePath) -> Settings:
    """Return options without patterns that match no file below a folder; a pattern that cannot be read stays."""

    def is_left(setting: str, pattern: str) -> bool:
        found = expand_setting(options, setting, [pattern], root)
        return bool(found.paths) or any(one.code is Code.BASE_UNAVAILABLE for one in found.problems)

    return options.replace(
        **{name: tuple(one for one in options.value(name) if is_left(name, one)) for name, _ in pattern_settings()}
    )


def outputs_beside(path: FilePath) -> FilePath:
    """Return where the recorded outputs of a batch file are, unless they are named or inline."""
    return path.with_name(f"{path.stem}{OUTPUTS}")


def batch_of(path: FilePath) -> FilePath:
    """Return where the batch is that recorded outputs lie beside, if they do."""
    return path.with_name(f"{path.name.removesuffix(OUTPUTS)}.json")


def _match_documents(files: CaseFiles, form: Input) -> MatchedFiles:
    """Return the documents (`*.json`, suffix optional) of patterns, and a problem for each pattern without files.

    Globs skip files that are not `*.json`, and our own: those whose names begin with `safe-gate.`, the config and the
    waivers. `NAME*` also names outputs; these are read with their document.
    """
    ours = (files.options.config, files.options.waivers)
    own = {display_path(Path(name)) for name in ours if name}
    found, problems, skipped = globs.match_each(files.patterns, partial(_match_pattern, files, form, own))
    paths = [path for path in found if not path.name.endswith(OUTPUTS)]
    beside = {disk.location(outputs_beside(path)) for path in paths}
    for path in found:
        if path.name.endswith(OUTPUTS) and disk.location(path) not in beside:
            words = f"is a file of recorded outputs whose batch, {batch_of(path).name}, is not among the batches"
            words += f"; name that too, or this file with --outputs or {form.outputs.replace('_', '-')}"
            problems.append(Problem(Place(display_path(path)), words))
    if not paths and not problems:
        problems.append(globs.no_match_problem(" ".join(files.patterns), ".json", files.root))
    outputs = globs.expand_patterns(files.options.value(form.outputs), root=files.root).paths if skipped else []
    is_read = {disk.location(path) for path in (*paths, *outputs)}
    return MatchedFiles(paths, problems, [path for path in skipped if disk.location(path) not in is_read])


def _match_pattern(files: CaseFiles, form: Input, own: Set[str], pattern: str) -> MatchedFiles:
    """Return the documents and outputs that one pattern names; `own` are names of files of our own."""
    options, root = files.options, files.root
    folder, named = root / options.value(form.folder), str(Path(options.value(form.folder), pattern))
    candidates = (pattern, f"{pattern}.json")
    matched, unread = globs.match_globs(candidates, folder)
    listed = [path for path in matched if not globs.is_folder(path)]
    alone = () if unread else candidates  # an unreadable place counts as there
    literals = [path for one in alone if disk.exists(path := folder / one) and not globs.is_folder(path)]
    named_json = [path for path in listed if path.suffix.lower() == ".json"]
    ours = [path for path in named_json if globs.is_own(path) or path.name in CONFIG_FILES or display_path(path) in own]
    lone = [] if options.value(form.outputs) else [path for path in listed if path.name.endswith(OUTPUTS)]
    meant = [*literals[:1], *(path for path in named_json if path not in ours), *lone]
    problems = [disk.unreadable_problem(path, why) for path, why in unread.items()]
    problems += globs.folder_problems(pattern, matched)
    if not (meant or problems):
        words = "matches no batch: a glob finds .json files, and skips safe-gate's own; correct the pattern"
        problems.append(Problem(Place(named), words) if listed else globs.no_match_problem(named, ".json", root))
    others = (path for path in listed if path not in named_json and not path.name.endswith(OUTPUTS))
    return MatchedFiles(meant, problems, [*ours, *others])


def input_paths(options: Settings) -> Iterator[Path]:
    """Yield the working folder and the files that a run would read, and where outputs may lie beside documents."""
    configs = (options.config,) if options.config else CONFIG_FILES
    waivers = checked.waivers_path(options.waivers, options.config)
    yield from map(Path, ("", *configs, waivers, options.baseline))
    yield from globs.expand_on_disk(options.shards)[0]
    documented = {one.input.setting for one in EVALUATORS.values() if one.input.cases}
    for setting, _ in pattern_settings():
        paths = expand_setting(options, setting, options.value(setting)).paths
        beside = map(outputs_beside, paths) if setting in documented else ()
        yield from (path for path in (*paths, *beside) if isinstance(path, Path))


def overwritten_reports(reports: Iterable[Path], *readers: Settings) -> list[Path]:
    """Return the reports that would overwrite files that a run with these options reads.

    A baseline counts even if it is missing: the next run would be compared with this one.
    """
    reports, read = [*reports], [Path(one.baseline) for one in readers]
    if any(map(disk.exists, reports)):
        read += (file for one in readers for file in input_paths(one))
    return [path for path in reports if disk.is_any_of(path, read)]


def refuse_to_overwrite(flag: str, path: str, read: Iterable[Path]) -> None:
    """Raise CannotJudge for a report that would overwrite a file that is read, or go to standard output."""
    if path == disk.DASH:
        words = "is -, and standard output has what people read; name a file, such as report.json"
        raise CannotJudge.at(flag, words, Code.USAGE)
    if disk.is_any_of(path, read):
        words = f"names {path}, which this run reads, and must not replace; name another file"
        raise CannotJudge.at(flag, words, Code.USAGE)


class TeamRules(NamedTuple):
    """A team's files of rules, read once, by evaluator: those that are sound, and what is wrong with others.

    `unmatched` are the problems of the patterns, `problems` those of files.
    """

    files: Mapping[str, Sequence[OwnFile]]
    problems: Mapping[str, Sequence[Problem]]
    unmatched: Mapping[str, Sequence[Problem]]

    def without_unmatched(self) -> TeamRules:
        """Return the files without the problems of patterns that match no file."""
        left = {
            name: [one for one in some if one.code is not Code.UNREADABLE_FILE] for name, some in self.unmatched.items()
        }
        return self._replace(unmatched=left)

    def refuse_unsound(self) -> None:
        """Raise CannotJudge with the problems of the first evaluator whose files have any."""
        for name in EVALUATORS:
            if problems := self.unmatched.get(name) or self.problems.get(name):
                raise CannotJudge(*problems)


NO_FILES = TeamRules({}, {}, {})
"""A run without a team's files of rules."""


def read_rules(settings: JsonObject, *, root: FilePath = HERE) -> TeamRules:
    """Return the files of rules that settings name below `root`, as by `globs.expand_patterns`."""
    files, problems, unmatched = dict[str, list[OwnFile]](), dict[str, list[Problem]](), dict[str, list[Problem]]()
    for name, one in EVALUATORS.items():
        if one.rule_files:
            paths, unmatched[name], _ = globs.expand_patterns(settings[one.rule_files.setting], ".json", root=root)
            files[name], problems[name] = [], []
            for path in paths:
                try:
                    files[name].append(checked.read_own_file(path, one.rule_files.kind))
                except CannotJudge as error:
                    problems[name] += error.problems
    return TeamRules(files, problems, unmatched)


def load_rules(evaluator: Evaluator, settings: JsonObject, own: TeamRules) -> Any:
    """Return what an evaluator scores by under settings. Raises CannotJudge as `recipe` does."""
    return compile_recipe(evaluator.name, recipe(evaluator, settings, own))


def recipe(evaluator: Evaluator, settings: JsonObject, own: TeamRules) -> str:
    """Return the recipe of what an evaluator scores by: see `Evaluator.recipe`.

    Raises CannotJudge with every problem of a team's files of rules. What one seems to lack is none if a file cannot
    be read: it may be there.
    """
    name, files = evaluator.name, own.files.get(evaluator.name, ())
    if problems := (*own.unmatched.get(name, ()), *own.problems.get(name, ())):
        raise CannotJudge(*problems, *(evaluator.rule_files.alone(settings, files) if evaluator.rule_files else ()))
    return evaluator.recipe(settings, files)


@lru_cache(maxsize=4)
def compile_recipe(name: str, recipe: str) -> Any:
    """Return what a recipe of an evaluator describes. Raises CannotJudge as `Evaluator.compile` does."""
    return EVALUATORS[name].compile(recipe)


def rules_digest(settings: JsonObject, own: TeamRules) -> str:
    """Return the digest of the rules of all evaluators that have them in sound files: of one evaluator, its own."""
    found = [
        one.rule_files.digest(settings, own.files.get(name, ())) for name, one in EVALUATORS.items() if one.rule_files
    ]
    return found[0] if len(found) == 1 else digest(found)


def rule_facts(own: TeamRules) -> dict[str, PackFact]:
    """Return all rules that evaluators have in files, by their ids. Raises CannotJudge as `recipe` does."""
    own.refuse_unsound()
    found: dict[str, PackFact] = {}
    for name, evaluator in EVALUATORS.items():
        if evaluator.rule_files:
            found |= evaluator.rule_files.facts(own.files.get(name, ()))
    return found
