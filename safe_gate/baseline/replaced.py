"""Shell: a committed baseline report that a change replaces, and whether the new one asks for less. Reads files.

A report under a change's control could hide what newly fails: by worse results, by results of laxer rules, by cases
that are gone or counted together.
"""

from __future__ import annotations

from collections.abc import Mapping

from safe_gate.baseline import comparison, source
from safe_gate.baseline.source import Baseline, committed
from safe_gate.core.comparison import Weakening
from safe_gate.core.model import CannotJudge, Outcome
from safe_gate.evaluators import EVALUATORS, outcomes_of
from safe_gate.gate.weakening_cases import What
from safe_gate.inputs import disk
from safe_gate.scoring.snapshot import Snapshot


def weakening(base: Baseline, spec: str, run: Snapshot) -> list[Weakening]:
    """Return the report that a commit keeps as its baseline, if what stands in its place now asks less of any case.

    `spec` is what the commit's settings name as the baseline.
    """
    path = committed(spec)
    if not path or not all(disk.exists(folder / path) for folder in (base.root, run.root)):
        return []
    kept, now = str(base.root / path), str(run.root / path)
    was = disk.sha256(kept)
    try:
        is_ = disk.sha256(now)
    except CannotJudge:  # a folder, or a link to nowhere
        is_ = "unreadable"
    if was == is_ or not _asks_less(kept, now, comparison.rules_of(run)):
        return []
    return [Weakening("setting", "baseline", path, What.CHANGED, was[:12], is_[:12])]


def _asks_less(kept: str, now: str, today: Mapping[str, str]) -> bool:
    """Tell whether any case of a report is gone from another or does worse in it, or nobody can tell.

    So it is where other rules than `today`'s judged another text or output: what they let pass fails by rules alone.
    """
    try:
        reports = source.report(kept), source.report(now)
    except CannotJudge:  # as of an earlier version
        return True
    old, new = comparison.alike(*map(comparison.side_of_report, reports))
    for name in EVALUATORS:
        by_others = new.rules[name] != today[name]
        found = {one.id: one for one in outcomes_of(name, new.parts[name])}
        for was in outcomes_of(name, old.parts[name]):
            one = found.get(was.id)
            if one is None or not _is_kept(was, one):
                return True
            if by_others and (one.case, one.output) != (was.case, was.output):
                return True
    return False


def _is_kept(was: Outcome, now: Outcome) -> bool:
    """Tell whether a case does as well as it did, in all that a run may be held to, and counts with no others."""
    is_as_good = now.rank >= was.rank and all(now.scores.get(name, -1) >= one for name, one in was.scores.items())
    return is_as_good and now.violations <= was.violations and now.cluster == was.cluster
