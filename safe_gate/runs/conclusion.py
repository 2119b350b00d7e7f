"""How a run ends: its report is printed, written and published, and its verdict becomes an exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from safe_gate.baseline import comparison
from safe_gate.core.model import NOTHING_RECORDED, CannotJudge, Origin, Place, Problem, Recorded
from safe_gate.core.report import Report
from safe_gate.inputs import disk, writing
from safe_gate.publish import handover, on_github
from safe_gate.publish.effects import Effects
from safe_gate.render import console, formats
from safe_gate.render.formats import Draw
from safe_gate.render.view import ReportView
from safe_gate.runs import pipeline
from safe_gate.runs.exit_codes import EXIT_CODES, complain
from safe_gate.runs.report import error_report
from safe_gate.runs.workspace import read_by
from safe_gate.scoring import refusals
from safe_gate.scoring.shards import Shards
from safe_gate.settings.destinations import Publishing
from safe_gate.settings.options import Options


def judged(options: Options, effects: Effects, options_at: comparison.OptionsAt, merged: Shards | None = None) -> int:
    """Judge the run under these options and conclude it; `merged` has its results if they are scored already.

    Returns 0, 1 or 3. Raises CannotJudge as `pipeline.made` does.
    """
    report, _ = finished(options, effects, options_at, merged)
    return EXIT_CODES[report.verdict]


def finished(
    options: Options, effects: Effects, options_at: comparison.OptionsAt, merged: Shards | None = None
) -> tuple[Report, Sequence[Problem]]:
    """Judge the run as `judged` does; return its report, and the problems that kept it from a verdict, if any."""
    begin = partial(unfinished, options=options, effects=effects, drawn=_reports(options.report_dir, options.reports))
    report, problems, recorded = pipeline.made(options, effects, options_at, merged=merged, begin=begin)
    return concluded(report, problems, options, effects, recorded)


def refuse(problems: Sequence[Problem], options: Options, effects: Effects) -> int:
    """Report wrong settings or usage, also in reports and to GitHub: no old verdict may remain. Returns 3."""
    problems = refusals.as_shown(problems, options.text)
    if options.mode == "publish":
        on_github.publish_refusal(problems, effects, is_dry=options.dry_run)
        return complain(problems, effects)
    report, _ = concluded(error_report(problems, Options(), effects), problems, options, effects)
    return EXIT_CODES[report.verdict]


def unfinished(judging_options: Options, options: Options, effects: Effects, drawn: Mapping[Path, Draw]) -> None:
    """Replace reports by one without a verdict, because the run may be killed from here on.

    Files that the run reads stay, such as a baseline in the report folder. `judging_options` are the settings that
    judge, which may name other files than the run's own.
    """
    problem = Problem(Place("safe-gate"), "run did not finish, so there is no result; run again")
    report = error_report((problem,), judging_options, effects)
    readers, run = (options, judging_options), formats.Run(ReportView.of(report), _origin(options, effects))
    for path, draw in drawn.items():
        read = [Path(one.baseline) for one in readers]  # a missing baseline stays missing
        if disk.exists(path):
            read += [file for one in readers for file in read_by(one, str(path))]
        if not disk.is_among(str(path), read):
            writing.write_or_remove(path, draw(run))
    if drawn and not options.shard:
        with suppress(OSError, ValueError):  # `publish` detects a file of another run
            (Path(options.report_dir) / handover.NAME).unlink()


def concluded(
    report: Report,
    problems: Sequence[Problem],
    options: Options,
    effects: Effects,
    recorded: Recorded = NOTHING_RECORDED,
) -> tuple[Report, Sequence[Problem]]:
    """Print, write and publish a report.

    Return it with its problems: both are others where it cannot be written.
    """
    drawn, written = _reports(options.report_dir, options.reports), []
    origin = _origin(options, effects)
    try:
        run = formats.Run(ReportView(report, problems), origin, recorded)
        writing.write_all({path: draw(run) for path, draw in drawn.items()})
        written = [disk.shown(path) for path in drawn]
    except CannotJudge as error:
        problems = (*problems, *error.problems)
        report = error_report(problems, options, effects)
        run = formats.Run(ReportView(report, problems), origin)
        for path, draw in drawn.items():
            writing.write_or_remove(path, draw(run))  # never leave an old pass
    if problems:
        effects.err(console.problems(problems))
    elif options.quiet:
        effects.out(console.verdict(run.view, names_rules=True))
    else:
        for card in console.scorecards(run.view):
            effects.out(card)
        effects.out(console.rules(run.view))
    if written and not options.quiet:
        effects.out(f"Reports: {', '.join(console.path_words(path) for path in written)}")
    on_github.publish_run(run.view, Publishing.of(options), written, effects, run.recorded)
    return report, problems


def _origin(options: Options, effects: Effects) -> Origin:
    """Return where the run's result comes from; a gate without an id has the name of its job."""
    return effects.context.origin(effects.folder, options.gate_id or effects.context.job)


def _reports(report_dir: str, reports: Sequence[str]) -> dict[Path, Draw]:
    """Return what draws each of a run's reports, by its path."""
    folder = Path(report_dir)
    return {folder / name: draw for name, draw in formats.files(reports)}
