"""`validate`: check input files: their shapes, and whether cases and outputs, checks and packs, settings fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from safe_gate import addons
from safe_gate.commands._command import JSON, Call, Command, texts
from safe_gate.core.case import Input
from safe_gate.core.evaluator import Evaluator
from safe_gate.core.figures import plural
from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.inputs import case_files, checked, disk, globs, recorded
from safe_gate.model.problems import CannotJudge, Code, Problem, Problems
from safe_gate.scoring import measure, sides
from safe_gate.settings import CONFIG_FILES, Settings
from safe_gate.settings.reading import Given, resolve

COMMAND = Command(
    place=13,
    summary="check input files without scoring them",
    exit_codes="0 valid, 3 not valid",
    arguments={
        "files": texts("FILE", "cases, batches, outputs, configs, reports, shards, rule packs, waivers, or globs", "+"),
        "--json": JSON,
    },
)


def main(call: Call) -> int:
    """Check the files that the command line names. Returns 0 or 3."""
    named, unmatched = globs.expand_on_disk(call.arguments["files"], ".json*")
    paths = [*map(str, named)]
    problems, found = Problems(), Counter({"case": 0, "output": 0})  # named first
    for item in (*unmatched, *_checked(paths, call)):
        if isinstance(item, Problem):
            problems.add(item)
        else:
            found.update(item)
    call.effects.tell("files", paths)
    call.effects.tell("cases", found["case"])
    if problems:
        raise CannotJudge(*problems.kept())
    held = ", ".join(plural(number, noun) for noun, number in found.items() if number)
    call.effects.out(f"{plural(len(paths), 'file')} valid: {held}")
    return 0


_NOUNS = {
    "config": "config file",
    "waivers": "waivers file",
    "lock": "recording lock",
    "rule-pack": "rule pack",
}
"""What files are called that hold no cases, where it is not their kind."""


def _checked(paths: Sequence[str], call: Call) -> Iterator[Problem | Mapping[str, int]]:
    """Yield the problems of files, and numbers of what they hold: cases, outputs, or documents such as reports.

    Batches are joined with their outputs, which are those that the settings name if no file is; those of batches not
    given are checked alone. Other cases, and packs, are checked under the settings, too. Files of several config files
    are checked apart, as their runs read them.
    """
    kinds, found, unread = dict[str, str](), list[Problem](), list[str]()
    for path in paths:
        try:
            kinds[path] = checked.kind_of(Path(path))
        except CannotJudge as error:
            found += error.problems
            if path.endswith(".json") and disk.exists(Path(path)):
                unread.append(path)
    unread_names = {disk.display_path(Path(path)) for path in unread}
    for config, by_kind in _by_config(kinds).items():
        options = None
        if not {*_CASES, *_PACKS}.isdisjoint(by_kind):
            try:
                options = call._replace(flags={**call.flags, "config": config}).options()
                options = options.on_this_machine().replace(text="full", tag=())
            except CannotJudge as error:
                found += error.problems
        for evaluator in EVALUATORS.values():
            form, rules = evaluator.input, evaluator.rule_files
            if form.cases:
                given, outputs = by_kind.pop(form.kind, []), by_kind.pop(form.outputs_kind, [])
                yield from _joined(evaluator, form, given, outputs, options.value(form.outputs) if options else ())
                continue
            cases, packs = by_kind.pop(form.kind, []), by_kind.pop(rules.kind, []) if rules else []
            if cases or packs:
                count, problems = _fit(options, evaluator, cases, [*packs, *unread])  # an unread file may be a pack
                found += (one for one in problems if one.place.path not in unread_names)
                yield {"case": count, _NOUNS["rule-pack"]: len(packs)}
        found += [problem for kind, some in by_kind.items() for one in some for problem in _document(one, kind)]
        yield {_NOUNS.get(kind, kind): len(some) for kind, some in by_kind.items()}
    yield from dict.fromkeys(found)  # a config that is given names packs, too


_CASES = [one.input.kind for one in EVALUATORS.values()]
_PACKS = [one.rule_files.kind for one in EVALUATORS.values() if one.rule_files]


def _by_config(kinds: Mapping[str, str]) -> dict[str, dict[str, list[str]]]:
    """Return files by kind, those of each config file together; "" stands for the one of a run in the working folder.

    Other files than cases go with these if all cases have one config file.
    """
    configs = [path for path, kind in kinds.items() if kind == "config"]
    only = configs[0] if len(configs) == 1 else ""
    own = {path: _config_above(path, configs) for path in kinds}
    of_cases = {own[path] or only for path, kind in kinds.items() if kind in _CASES}
    beside, found = of_cases.pop() if len(of_cases) == 1 else only, dict[str, dict[str, list[str]]]()
    for path, kind in kinds.items():
        config = own[path] or (only if kind in _CASES else beside)
        found.setdefault(config, {}).setdefault(kind, []).append(path)
    return found


def _config_above(path: str, given: Sequence[str]) -> str:
    """Return the nearest config file at or above a file in the working folder, "" for none.

    It is the one that is given in a folder, or else one with the usual name in a folder below the working one.
    """
    where, folders = Path(disk.display_path(Path(path))), [Path(disk.display_path(Path(one))).parent for one in given]
    for folder in () if where.is_absolute() or ".." in where.parts else where.parents:
        if folders.count(folder) == 1:
            return given[folders.index(folder)]
        usual = [folder / name for name in CONFIG_FILES if folder != disk.HERE and disk.exists(folder / name)]
        if usual:
            return usual[0].as_posix()
    return ""


def _fit(
    options: Settings | None, evaluator: Evaluator, cases: Sequence[str], packs: Sequence[str]
) -> tuple[int, Sequence[Problem]]:
    """Return the number of an evaluator's cases, and the problems of these and of packs, beside those of options.

    Without options nobody knows what checks there are: packs are checked for their shape alone.
    """
    here, problems = (options or Settings()).replace(**{evaluator.input.setting: tuple(cases)}), list[Problem]()
    if evaluator.rule_files and options:
        setting = evaluator.rule_files.setting
        here = here.replace(**{setting: (*options.value(setting), *packs)})
    elif evaluator.rule_files:
        problems = [problem for path in packs for problem in _document(path, evaluator.rule_files.kind)]
    how = measure.ScoringMethod(source=measure.score_none, skips_misfits=options is None)
    measured = measure.measure_part(evaluator, sides.take_snapshot(here), "", how)
    return measured.cases, [*problems, *measured.problems]


def _document(path: str, kind: str) -> Iterator[Problem]:
    """Yield what is wrong with a document. A config's settings, packs and waivers must fit together, too."""
    try:
        if kind == "waivers":
            checked.read_waivers(path)
        elif kind == "shard":
            addons.scale.shards.read_shard(Path(path))
        elif kind != "config":
            checked.read_document(Path(path), kind)
        else:
            checked.refuse_unknown(Path(path))
            options = resolve(Given({"config": path}, {}, checked.read_config, "run"))
            side = sides.take_snapshot(options)
            for one in (one for one in EVALUATORS.values() if one.rule_files):
                try:
                    case_files.compile_recipe(one.name, side.recipe(one))
                except CannotJudge as error:
                    yield from error.problems
            yield from sides.misnamed_settings(side, EVALUATORS)
    except CannotJudge as error:
        yield from error.problems


def _joined(
    evaluator: Evaluator, form: Input, given: Sequence[str], outputs: Sequence[str], configured: Sequence[str]
) -> Iterator[Problem | Mapping[str, int]]:
    """Yield what is in documents joined with their outputs, and in outputs whose documents are not given.

    Files that are `configured`, not given, may hold outputs of further documents.
    """
    beside = {disk.location(case_files.outputs_beside(Path(one))) for one in given}
    strays = [one for one in outputs if disk.location(Path(one)) not in beside]
    alone = [one for one in strays if not given or disk.exists(case_files.batch_of(Path(one)))]
    # None is named where each is found beside its document: naming one, as --outputs does, ends that search.
    named = [one for one in outputs if one not in alone] if len(alone) < len(strays) else []
    if given:
        found = recorded.Found()
        options = Settings().replace(**{form.setting: tuple(given), form.outputs: tuple(named or configured)})
        yield {"case": sum(1 for _ in recorded.read_cases(case_files.CaseFiles(evaluator, options), {}, found))}
        for one in found.problems.kept():
            is_unused = (one.code, one.field) == (Code.MISSING_OUTPUT, form.id_key)
            if named or not (configured and is_unused):
                yield one
    beyond = recorded.Found()
    yield {"output": recorded.count_outputs(form, alone, beyond)}
    yield from beyond.problems.kept()
