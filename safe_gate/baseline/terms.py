"""Shell: what a run is judged by, found below a folder or recorded in a report. Reads files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from safe_gate.baseline import comparison, replaced
from safe_gate.baseline.source import Baseline, committed
from safe_gate.core.compared import Weakened, Weakening
from safe_gate.core.evaluator import Evaluator
from safe_gate.core.given import Case
from safe_gate.core.model import CannotJudge
from safe_gate.core.report import Report, Waiver
from safe_gate.evaluators import EVALUATORS, parts_of
from safe_gate.gate import weakening
from safe_gate.gate.weakened_cases import Asked
from safe_gate.gate.weakening import WEAKER, Terms, settings_of
from safe_gate.inputs import checked, disk, named, rules
from safe_gate.inputs.disk import HERE
from safe_gate.scoring import asked, intake, measure, refusals
from safe_gate.settings.options import Options


def held_against(
    base: Baseline | None,
    head: Terms,
    options: Options,
    options_at: comparison.OptionsAt,
    generated_at: str,
    *,
    root: Path = HERE,
    left_out: Sequence[Weakening] = (),
) -> Weakened:
    """Return in what a run's terms ask for less than those of its base.

    None stands for a base commit that there is not; the run's files lie below `root`. `left_out` comes first.
    Raises CannotJudge with every problem of the base.
    """
    if base is None:
        return weakening.section((), None, partial=False, fails=options.on_weakened == "fail", texts=True)
    before = of(base, options_at, root)
    kept = "" if head.rules is None else before.settings.get("baseline", "")  # a report names no baseline
    return weakening.section(
        [*left_out, *replaced.weakening(base, kept, options, root), *weakening.weakenings(before, head)],
        comparison.named(base, options, generated_at),
        partial=before.rules is None or head.rules is None,
        fails=weakening.fails(before, head),
        texts=options.text == "full",
    )


def of(base: Baseline, options_at: comparison.OptionsAt, head: Path | None = None) -> Terms:
    """Return the terms of a report or of a commit, `head` as in `at`. Raises CannotJudge with every problem."""
    if base.report is not None:
        return of_report(base.report)
    try:
        return at(options_at(base.root), root=base.root, head=head)
    except CannotJudge as error:
        raise comparison.at_baseline(base, error) from None


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


def at(options: Options, *, root: Path = HERE, head: Path | None = None) -> Terms:
    """Return the terms under options, with the cases and a team's rule packs that lie below a folder.

    A report that is the baseline may lie below `head`, where the run's files are, instead: it may be in no commit.
    Reads the cases and scores none. Raises CannotJudge with every problem.
    """
    there = named.narrowed(options, root)
    return Terms(
        settings=_settings(options, _baseline(options, root, head or root)),
        cases={one.name: _by_id(one, there, root) for one in asked.given(there)},
        rules=rules.facts(asked.settings(there), root=root),
        packs_sha256=measure.rules_digest(there, root=root),
        waivers=waivers_at(options, root=root),
    )


def _settings(options: Options, baseline: str) -> Mapping[str, Any]:
    """Return the settings that judge; without a baseline, none is required."""
    left_out = () if options.baseline else ("baseline_required",)
    return {name: getattr(options, name) for name in WEAKER if name not in left_out} | {"baseline": baseline}


def _baseline(options: Options, *folders: Path) -> str:
    """Return the baseline that the settings name, nothing where that is a report which is in none of the folders."""
    path = committed(options.baseline)
    is_there = not path or any(disk.exists(folder / path) for folder in folders)
    return options.baseline if is_there else ""


def waivers_at(options: Options, *, root: Path = HERE) -> tuple[Waiver, ...]:
    """Return the waivers below a folder, none where their file is not there."""
    path = options.waivers if disk.exists(root / options.waivers) else ""
    known = checked.waivers(path, root=root)
    return tuple(map(Waiver.from_json, known[1]["waivers"])) if known else ()


def _by_id(evaluator: Evaluator, options: Options, root: Path) -> dict[str, Asked]:
    every = asked.unfiltered(options)  # a case that is left out here may be judged elsewhere
    taken = intake.Intake(intake.cases(evaluator, every, root=root))
    cases = {case.id: _asked(case) for case in taken.cases()}
    if taken.problems:
        raise CannotJudge(*refusals.as_shown(taken.problems, options))
    return cases


def _asked(case: Case) -> Asked:
    return Asked(case.digests()["case"], {**case.asks(), **case.given(), "cluster": case.cluster or None})
