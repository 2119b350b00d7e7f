"""Shell: how a change makes the gate weaker: its terms beside those of its base commit. Reads files.

A committed baseline report that the change replaces counts too. A change could use it to hide new failures: by worse
results, laxer rules, or missing or grouped cases.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from safe_gate.baseline import comparison, source
from safe_gate.baseline.comparison import BaselineRun
from safe_gate.baseline.source import Baseline, RunSides, as_commit, path_in_commit
from safe_gate.evaluators.registry import EVALUATORS, outcomes_of
from safe_gate.gate import weakening
from safe_gate.gate.comparison import comparable
from safe_gate.gate.weakening import WEAKER, Cases, Terms, What
from safe_gate.inputs import case_files, disk
from safe_gate.inputs.commit_files import CommitPath, FilePath
from safe_gate.inputs.disk import HERE
from safe_gate.model.problems import CannotJudge
from safe_gate.model.report import Weakened, Weakening
from safe_gate.scoring import sides
from safe_gate.scoring.sides import Snapshot
from safe_gate.settings import CONFIG_FILES


def is_checked(compared: Baseline | None, run: RunSides) -> bool:
    """Return whether a run is to find where the gate is weaker than before."""
    has_base = run.base or as_commit(compared) or (run.options.baseline and run.effects.context.subject.base_sha)
    return bool(has_base) or run.breaks_on_weakened


def find_weakened(compared: Baseline | None, past: BaselineRun | None, cases: Cases, run: RunSides) -> Weakened:
    """Return where the gate is weaker than on the base commit.

    `past` was read from the baseline `compared`. `cases` are the terms of the run's own cases. If a weaker gate breaks
    the run, an unreadable base is an error. Otherwise the result is unknown.
    """
    head = terms_of(Baseline("."), HERE, run, cases)
    for base_of in _bases(compared, run):
        try:
            if (base := base_of()) is None:
                break
            before = terms_of(base, HERE, run, past.cases if past and base is compared else None)
            return weakened_since(base, before, head, run.head, run)
        except CannotJudge:
            if run.breaks_on_weakened or _is_needed_by_base(run):
                raise
    return Weakened(None, on_weakened=run.head.options.on_weakened, findings=())


def _bases(compared: Baseline | None, run: RunSides) -> Iterator[Callable[[], Baseline | None]]:
    """Yield what to compare a run's terms with, the best first.

    The event's base commit comes first, because a change's own config file may name the baseline.
    """
    commit = as_commit(compared)
    if run.base:
        yield lambda: run.base
        return
    if run.effects.context.subject.base_sha or (run.breaks_on_weakened and not commit):
        yield partial(run.open_base, "on-weakened", "warn here, or name a commit as the baseline")
    if commit:
        yield lambda: commit


def _is_needed_by_base(run: RunSides) -> bool:
    """Return whether the base commit's config lets a weaker gate break the run."""
    if run.effects.context.subject.base_sha:
        with suppress(CannotJudge):
            base = run.open("base")
            return base is not None and run.settings_at(base.root).on_weakened == "fail"
    return False


def terms_of(of: Baseline, head: FilePath, run: RunSides, cases: Cases | None = None) -> Terms:
    """Return the terms of a commit or of the working folder, with those of its cases: `cases`, if they are read.

    A baseline report may instead lie below `head`, among the run's files: it may be in no commit. One that is in
    neither place is no baseline. Scores nothing. Raises CannotJudge with every problem.
    """
    with of.placing():
        side = run.without_unmatched(of.root)
        settings = {name: side.options.value(name) for name in WEAKER} | {"text": run.options_at(of.root).text}
        report = path_in_commit(side.options.baseline)
        if report and not any(disk.exists(folder / report) for folder in (side.root, head)):
            settings["baseline"] = ""
        cases = sides.read_case_terms(side) if cases is None else cases
        return Terms(settings, cases, case_files.rule_facts(side.rules), side.waivers_on_disk())


def weakened_since(base: Baseline, before: Terms, head: Terms, side: Snapshot, run: RunSides) -> Weakened:
    """Return the ways in which the terms of a side of a run ask for less than those of its base."""
    kept = before.settings["baseline"]
    if before.settings["recordings"]:
        before = before._replace(settings={**before.settings, "recordings": _recordings_now(before, head)})
    findings = [
        *_dropped_inputs(run),
        *_moved_configs(base, side),
        *_replaced_report(base, kept, side),
        *weakening.weakenings(before, head),
    ]
    # With the change's own setting alone, a change could approve itself.
    fails = "fail" in (before.settings["on_weakened"], head.settings["on_weakened"])
    return Weakened(
        comparison.describe(base, run.effects.generated_at),
        on_weakened="fail" if fails else "warn",
        findings=findings if side.options.text == "full" else [*map(weakening.withheld, findings)],
        without_baseline=tuple(name for name, cases in head.cases.items() if len(cases) and not before.cases.get(name)),
    )


def _recordings_now(before: Terms, head: Terms) -> Mapping[str, Sequence[str]]:
    """Return the sources of the base's recordings by the recordings or files that have their cases in the head.

    So a renamed recording drops no source, but one whose cases move to a file without sources does.
    """
    names = {disk.display_path(Path(recording)): recording for recording in head.settings["recordings"]}
    moved, found = weakening.moves(before.cases, head.cases), defaultdict[str, dict[str, None]](dict)
    for recording, sources in before.settings["recordings"].items():
        path = disk.display_path(Path(recording))
        for file in moved.get(path, {path}):
            found[names.get(file, file)].update(dict.fromkeys(sources))
    return {recording: tuple(sources) for recording, sources in found.items()}


def _moved_configs(base: Baseline, run: Snapshot) -> Iterator[Weakening]:
    """Yield the config files of folders that have none now, if a commit has none here: the gate may have moved."""
    if not isinstance(base.root, CommitPath) or any(disk.exists(base.root / one) for one in CONFIG_FILES):
        return
    for path in () if run.options.config else base.root.files.named(CONFIG_FILES):
        if not any(disk.exists(run.root / posixpath.dirname(path) / one) for one in CONFIG_FILES):
            yield Weakening("setting", "config", path, What.DROPPED)


def _replaced_report(base: Baseline, spec: str, run: Snapshot) -> list[Weakening]:
    """Return a commit's baseline report if its replacement asks less of any case.

    `spec` is what the commit's settings name as the baseline.
    """
    path = path_in_commit(spec)
    if not path or not all(disk.exists(folder / path) for folder in (base.root, run.root)):
        return []
    kept, now = base.root / path, run.root / path
    was = disk.sha256(kept)
    try:
        is_ = disk.sha256(now)
    except CannotJudge:  # a folder, or a link to nowhere
        is_ = "unreadable"
    if was == is_ or not _is_laxer_report(kept, now, comparison.rule_digests(run)):
        return []
    return [Weakening("setting", "baseline", path, What.CHANGED, was[:12], is_[:12])]


def _is_laxer_report(kept: FilePath, now: FilePath, today: Mapping[str, str]) -> bool:
    """Return whether a case is missing, worse or grouped otherwise in the new report, or unknown.

    A changed case or output is unknown if other rules than `today`'s judged it. What they let pass
    would later count as failing by rules alone.
    """
    try:
        reports = source.load_report(kept), source.load_report(now)
    except CannotJudge:  # a report of an earlier version, for example
        return True
    old, new = comparable(*map(comparison.compared_report, reports))
    for name in EVALUATORS:
        by_others = new.rules[name] != today[name]
        found = {one.id: one for one in outcomes_of(name, new.parts[name])}
        for was in outcomes_of(name, old.parts[name]):
            one = found.get(was.id)
            if one is None or one.cluster != was.cluster or not one.violations <= was.violations:
                return True
            if one.rank < was.rank or one.newly_fails(was):
                return True
            if any(one.scores.get(metric, -1) < score for metric, score in was.scores.items()):
                return True
            if by_others and (one.case, one.output) != (was.case, was.output):
                return True
    return False


def _dropped_inputs(run: RunSides) -> Iterator[Weakening]:
    """Yield inputs that the base commit's settings name and the change's own do not: other cases may replace them.

    Added patterns count after the merge, like a new limit. Other patterns for the same files leave out none.
    """
    for name in sides.OF_INPUTS if run.base else ():
        values = (one.options.value(name) for one in (run.judge, run.head))
        judged, own = (value if isinstance(value, tuple) else (value,) for value in values)
        gone = [one for one in judged if one not in own]
        if gone and _files_of(name, run.judge) - _files_of(name, run.head):
            new = [one for one in own if one not in judged]
            what = What.CHANGED if new else What.DROPPED
            yield Weakening("setting", name.replace("_", "-"), "", what, gone, new)


def _files_of(name: str, side: Snapshot) -> set[FilePath]:
    """Return the locations of the files that a side's input setting names.

    A folder of outputs stands for those of all batches. They lie in the working folder, whichever side names them.
    """
    folders = {one.input.folder: one.input.setting for one in EVALUATORS.values() if one.input.cases}
    setting = folders.get(name, name)
    return {
        disk.location(path)
        for path in case_files.expand_setting(side.options, setting, side.options.value(setting)).paths
    }
