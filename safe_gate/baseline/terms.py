"""Shell: what a run is judged by, found on one side or recorded in a report. Reads files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from safe_gate.baseline import comparison, replaced
from safe_gate.baseline.source import Baseline, committed
from safe_gate.core.comparison import Weakened, Weakening
from safe_gate.core.report import Report
from safe_gate.evaluators import EVALUATORS, parts_of
from safe_gate.gate import weakening
from safe_gate.gate.weakening import WEAKER, Terms, settings_of
from safe_gate.gate.weakening_cases import Asked
from safe_gate.inputs import disk, rules
from safe_gate.scoring import asked, facts
from safe_gate.scoring.facts import Facts
from safe_gate.scoring.snapshot import Snapshot
from safe_gate.settings.options import Options


def held_against(
    base: Baseline,
    before: Terms,
    head: Terms,
    run: Snapshot,
    generated_at: str,
    *,
    left_out: Sequence[Weakening] = (),
) -> Weakened:
    """Return in what a run's terms ask for less than those of its base.

    `run` are the run's own settings and files. `left_out` comes first.
    """
    kept = "" if head.rules is None else before.settings.get("baseline", "")  # a report names no baseline
    return weakening.section(
        [*left_out, *replaced.weakening(base, kept, run), *weakening.weakenings(before, head)],
        comparison.named(base, run.options.baseline, generated_at),
        partial=before.rules is None or head.rules is None,
        fails=weakening.fails(before, head),
        texts=run.options.text == "full",
    )


def held_against_nothing(on_weakened: str) -> Weakened:
    """Return the same where there is no base commit."""
    return weakening.section((), None, partial=False, fails=on_weakened == "fail", texts=True)


def of_report(report: Report) -> Terms:
    """Return the terms that a report records: limits, waivers, and of cases and rules the digests alone."""
    cases: dict[str, dict[str, Asked]] = {name: {} for name in EVALUATORS}
    for evaluator, part in parts_of(report.parts):
        for result in part["results"]:
            cases[evaluator.name][result[evaluator.id_key]] = Asked(result["digests"]["case"], None)
    return Terms(
        settings_of(report),
        cases,
        None,
        report.provenance.packs_sha256,
        [waiver for _, waiver in report.waivers.each()] if report.waivers else (),
    )


def at(side: Snapshot, head: Path, cases: Mapping[str, Facts] | None = None) -> Terms:
    """Return the terms of a side, with what is asked of its cases: `cases`, if they are read already.

    A report that is the baseline may lie below `head`, where the run's files are, instead: it may be in no commit.
    Scores nothing. Raises CannotJudge with every problem.
    """
    options, root = side.options, side.root
    if cases is None:
        cases = {one.name: facts.read(one, options, root)[0] for one in asked.given(options)}
    return Terms(
        settings=_settings(options, _baseline(options.baseline, root, head)),
        cases=cases,
        rules=rules.facts(side.rules),
        packs_sha256=side.rules_digest(),
        waivers=side.waivers_there(),
    )


def _settings(options: Options, baseline: str) -> Mapping[str, Any]:
    """Return the settings that judge; without a baseline, none is required."""
    left_out = () if options.baseline else ("baseline_required",)
    return {name: getattr(options, name) for name in WEAKER if name not in left_out} | {"baseline": baseline}


def _baseline(spec: str, *folders: Path) -> str:
    """Return the baseline that the settings name, nothing where that is a report which is in none of the folders."""
    path = committed(spec)
    is_there = not path or any(disk.exists(folder / path) for folder in folders)
    return spec if is_there else ""
