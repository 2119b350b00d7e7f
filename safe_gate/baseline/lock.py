"""Shell: `safe-gate.lock.json`, and the recordings of a run that are stale by it, or by the lock of the base commit.

Reads the lock, and recordings and their sources as they are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from glob import has_magic
from pathlib import Path
from typing import NamedTuple

from safe_gate.baseline.comparison import BaselineRun
from safe_gate.baseline.source import Baseline, RunSides, as_commit
from safe_gate.gate import rules as gate_rules
from safe_gate.gate import weakening
from safe_gate.inputs import checked, disk, globs
from safe_gate.inputs.commit_files import FilePath
from safe_gate.inputs.disk import HERE
from safe_gate.model import codec
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.model.report import Fault, Lock, Locked, Recordings, Stale
from safe_gate.render import console
from safe_gate.scoring.measure import Scores
from safe_gate.settings import LOCK_FILE, Settings


def lock_path(config: str) -> str:
    """Return the path of the lock: beside the config file in use, whose path is "" for the default one."""
    return checked.beside_config(LOCK_FILE, config)


def read_lock(config: str, root: FilePath = HERE) -> Lock | None:
    """Return the lock below a folder, None if there is none, with its paths `spelled`.

    Raises CannotJudge with every problem of it.
    """
    path = root / lock_path(config)
    if not disk.exists(path):
        return None
    lock = codec.from_json(Lock, checked.read_document(path, "lock"))
    for recording, one in lock.recordings.items():
        try:
            datetime.fromisoformat(one.recorded_at)
        except ValueError:  # an impossible day
            place, field = Place(disk.display_path(path)), f"recordings.{recording}.recorded_at"
            words = f"is {one.recorded_at}, which is not a time; correct it"
            raise CannotJudge(Problem(place, words, "", field)) from None
    return _renamed(lock, lambda one: spelled(checked.beside_config(one, config)))


def as_written(lock: Lock, config: str) -> Lock:
    """Return a lock with paths from its own folder, so that it says the same wherever the gate runs."""
    folder = Path(lock_path(config)).parent
    return _renamed(lock, lambda one: Path(os.path.relpath(one, folder)).as_posix())


def _renamed(lock: Lock, name: Callable[[str], str]) -> Lock:
    def entry(one: Locked) -> Locked:
        return replace(one, sources={name(path): sha256 for path, sha256 in one.sources.items()})

    return Lock({name(path): entry(one) for path, one in lock.recordings.items()})


def spelled(path: str | Path) -> str:
    """Return the shortest spelling of a path from the working folder, by which recordings and sources are compared."""
    return Path(os.path.relpath(path)).as_posix()


class Sources(NamedTuple):
    """The source files of a recording, and its patterns that match none, each with its problem in the config file."""

    files: Sequence[Path]
    unmatched: Mapping[str, Problem]


def find_sources(options: Settings) -> dict[str, Sources]:
    """Return for each recording, by its path as `spelled`, the sources that its paths and globs name."""
    found = dict[str, Sources]()
    for recording, patterns in options.recordings.items():
        files, unmatched = list[Path](), dict[str, Problem]()
        for index, pattern in enumerate(patterns):
            matched, problems = globs.expand_on_disk([pattern], "")
            if has_magic(pattern):  # each run rewrites the gate's own files, and no lock can contain its own digest
                matched = [path for path in matched if not globs.is_own(path)]
                problems = problems or [globs.no_match_problem(pattern, "", HERE)] * (not matched)
            files += matched
            for one in problems:
                named = replace(one, place=Place("recordings"), field=f"{recording}[{index}]")
                named = replace(named, message=f'"{pattern}" {one.message}')
                (unmatched[pattern],) = checked.place_at_source([named], options)
        found[spelled(recording)] = Sources(globs.unique_paths(files), unmatched)
    return found


_IF_MISSING = "record it, or correct its name in the config file"


def as_they_are(
    sources: Mapping[str, Sources], model: str = "", at: str = "", if_missing: str = _IF_MISSING
) -> dict[str, Locked]:
    """Return recordings as they are, each with its sources, by their paths as `spelled`.

    A missing source has no SHA-256. Raises CannotJudge for a file that cannot be read; `if_missing` says what to do if
    a recording is not there.
    """
    digest, found = cache(disk.sha256), dict[str, Locked]()  # several recordings may have one source
    for recording, one in sources.items():
        try:
            own = disk.sha256(Path(recording), if_missing)
        except CannotJudge as error:
            raise CannotJudge(*(replace(problem, field="recordings") for problem in error.problems)) from error
        there = {spelled(path): digest(path) for path in sorted(one.files)}
        found[recording] = Locked(own, model, at, dict.fromkeys(one.unmatched, "") | there)
    return found


def lock_rule(options: Settings) -> str:
    """Return the setting that asks for a lock, "" for none. Raises CannotJudge if no recording is named for it."""
    if options.stale_recordings == "off" or (options.max_age is None and options.stale_recordings == "warn"):
        return ""
    asked = "max-age" if options.max_age is not None else "stale-recordings"
    if not options.recordings:
        words = "judges nothing: no recording is named; set recordings in the config file, or unset this"
        raise CannotJudge.at(asked, words, Code.INVALID_SETTING)
    return asked


def find_stale(baseline: Baseline | None, past: BaselineRun | None, scores: Scores, run: RunSides) -> Recordings | None:
    """Return the recordings that are stale, None if none is to be compared with a lock.

    `past` is what was read of the baseline, if any. Raises CannotJudge for a broken lock, for a recording or source
    that cannot be read, for `max-age` where the time of the judged commit is not known, and as `lock_rule` and
    `_base_lock` do.
    """
    options, on_stale, asked = run.options, run.options.stale_recordings, lock_rule(run.options)
    if not options.recordings or on_stale == "off":
        return None
    lock = read_lock(options.config)
    before = _base_lock(run, baseline, is_needed=lock is not None)
    if lock is None and before is None and not asked:
        return None
    judged_at = _time_of_head(run) if options.max_age is not None else None
    moved = weakening.moves(past.cases, scores.case_terms) if past and before else {}
    has_base_outputs = _files_with_base_outputs(past.cases, scores) if past and moved else {}
    sources = find_sources(options)
    stale, if_missing = list[Stale](), f"the config of {run.named_by_base}" if run.base else _IF_MISSING
    for path, now in sorted(as_they_are(sources, if_missing=if_missing).items()):
        entry = lock.recordings.get(path) if lock else None
        origins = {spelled(file) for file, files in moved.items() if path in map(spelled, files)}
        was = gate_rules.entry_before(path, entry, before, origins) if entry and before else None
        stale += gate_rules.stale(path, now, entry, was, is_same=has_base_outputs.get(path, False))
        if entry and judged_at and options.max_age is not None:
            days = (judged_at - datetime.fromisoformat(entry.recorded_at)).days
            if days > options.max_age:
                stale.append(Stale(path, Fault.TOO_OLD, days=days))
            elif days < -_SKEW and _is_committed(path, entry, run):
                stale.append(Stale(path, Fault.IN_FUTURE))
    return Recordings(on_stale, options.max_age, len(sources), tuple(stale))


def _base_lock(run: RunSides, compared: Baseline | None, *, is_needed: bool) -> Lock | None:
    """Return the lock of the commit that the run is compared with, None if it has none.

    If it `is_needed`, the event's base commit is read where the run is compared with no commit. One that is unknown or
    cannot be read gets a warning, or raises CannotJudge if stale recordings break the run.
    """
    base = run.base or as_commit(compared)
    try:
        if base is None and is_needed and run.effects.context.in_actions:
            base = run.open("base")
        return read_lock(run.options.config, base.root) if base else None
    except CannotJudge as error:
        first = error.problems[0]
        if first.code is Code.BASE_UNAVAILABLE:  # not a broken lock, which this change may repair
            if run.options.stale_recordings == "fail":
                words = f"needs the base commit: {first.place.path} {first.message}, or set warn here"
                raise CannotJudge.at("stale-recordings", words, first.code) from None
            why = console.problem_line(first)
            run.effects.err(f"safe-gate: warning: recordings are not compared with those of the base commit: {why}")
    return None


def _files_with_base_outputs(base: weakening.Cases, scores: Scores) -> Mapping[str, bool]:
    """Return for each file with outputs of the base's cases, by its path as `spelled`, whether all are as in the base.

    Evaluators are missing whose cases a filter leaves out: the outputs of those may have changed.
    """
    found, name_of = dict[str, bool](), cache(spelled)
    for name, cases in scores.case_terms.items():
        if name not in scores.left_out:
            before = {one.id: one.reply for one in base.get(name, ())}
            for one in cases:
                if one.id in before:
                    file = name_of(one.file)
                    found[file] = found.get(file, True) and one.reply == before[one.id]
    return found


_SKEW = 1
"""By how many days the clocks of two machines may differ."""


def _is_committed(path: str, entry: Locked, run: RunSides) -> bool:
    """Return whether the judged commit has an entry: one that is not committed yet is newer, of course."""
    head = run.open("HEAD")
    lock = read_lock(run.options.config, head.root) if head else None
    return lock is not None and lock.recordings.get(path) == entry


def _time_of_head(run: RunSides) -> datetime:
    """Return the time of the judged commit, which `max-age` needs. Raises CannotJudge if it is not known."""
    why, code = "has an impossible time; amend it", Code.INVALID_SETTING
    try:
        if (head := run.open("HEAD")) and head.made_at:
            return datetime.fromisoformat(head.made_at)
    except CannotJudge as error:
        why, code = error.problems[0].message, error.problems[0].code
    raise CannotJudge.at("max-age", f"needs the time of the judged commit: HEAD {why}, or unset this", code)
