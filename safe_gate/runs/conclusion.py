"""How a run ends: its report is printed, written and published, and its verdict becomes an exit code."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from safe_gate import addons
from safe_gate.baseline import comparison
from safe_gate.core.model import (
    NOTHING_RECORDED,
    CannotJudge,
    Code,
    Origin,
    Place,
    Problem,
    Recorded,
    Untrusted,
    Verdict,
)
from safe_gate.core.report import Report
from safe_gate.core.setting import OFF, Setting
from safe_gate.github import handover, publishing
from safe_gate.github.effects import Effects
from safe_gate.inputs import disk, writing
from safe_gate.inputs.finding.commit_files import Missing
from safe_gate.inputs.finding.git import Clone
from safe_gate.model import codec
from safe_gate.render import console, formats
from safe_gate.render.formats import Draw
from safe_gate.render.untrusted import plain, quoted
from safe_gate.render.view import ReportView
from safe_gate.render.wording import Ranked, ranked
from safe_gate.runs import pipeline
from safe_gate.runs.exit_codes import EXIT_CODES, complain
from safe_gate.runs.report import error_report
from safe_gate.runs.workspace import replaced
from safe_gate.scoring import refusals
from safe_gate.settings.destinations import Publishing
from safe_gate.settings.model import Settings
from safe_gate.settings.model import settings as every_setting


def judged(
    options: Settings,
    effects: Effects,
    options_at: comparison.OptionsAt,
    merged: addons.scale.Shards | None = None,
) -> int:
    """Judge the run under these options and conclude it; `merged` has its results if they are scored already.

    Returns 0, 1 or 3. Raises CannotJudge as `pipeline.made` does.
    """
    report, _ = finished(options, effects, options_at, merged)
    return EXIT_CODES[report.verdict]


def finished(
    options: Settings,
    effects: Effects,
    options_at: comparison.OptionsAt,
    merged: addons.scale.Shards | None = None,
) -> tuple[Report, Sequence[Problem]]:
    """Judge the run as `judged` does; return its report, and the problems that kept it from a verdict, if any."""
    drawn = _reports(options.report_dir, options.reports)
    begin = partial(unfinished, options=options, effects=effects, drawn=drawn)
    try:
        report, problems, recorded = pipeline.made(options, effects, options_at, merged=merged, begin=begin)
    except _TakenError as error:
        left = {path: draw for path, draw in drawn.items() if path not in error.paths}
        problems = error.problems
        return concluded(error_report(problems, options, effects), problems, options, effects, drawn=left)
    return concluded(report, problems, options, effects, recorded, drawn)


class _TakenError(CannotJudge):
    """Reports would replace files that the run reads, at these paths."""

    def __init__(self, paths: Sequence[Path]) -> None:
        words = "{} is a file that this run reads, and its report must not replace it; set another report-dir"
        super().__init__(
            *(Problem(Place("report-dir"), words.format(disk.shown(path)), code=Code.USAGE) for path in paths)
        )
        self.paths = paths


def refuse(problems: Sequence[Problem], options: Settings, effects: Effects) -> int:
    """Report wrong settings or usage, also in reports and to GitHub: no old verdict may remain. Returns 3."""
    problems = refusals.as_shown(problems, options.text)
    if options.mode == "publish":
        publishing.publish_refusal(problems, effects, is_dry=options.dry_run)
        return complain(problems, effects)
    report, _ = concluded(error_report(problems, Settings(), effects), problems, options, effects)
    return EXIT_CODES[report.verdict]


def unfinished(judging_options: Settings, options: Settings, effects: Effects, drawn: Mapping[Path, Draw]) -> None:
    """Replace reports by one without a verdict, because the run may be killed from here on.

    `judging_options` are the settings that judge, which may name other files than the run's own. Raises CannotJudge for
    a report that would replace a file that the run reads.
    """
    if taken := replaced((*drawn, Path(options.report_dir) / handover.NAME), options, judging_options):
        raise _TakenError(taken)
    problem = Problem(
        Place("safe-gate"), "run did not finish, so there is no result; run again", code=Code.NOT_FINISHED
    )
    report = error_report((problem,), judging_options, effects)
    run = formats.Run(ReportView.of(report), _origin(options, effects))
    for path, draw in drawn.items():
        writing.write_or_remove(path, draw(run))
    if drawn and not options.shard:
        with suppress(OSError, ValueError):  # `publish` detects a file of another run
            (Path(options.report_dir) / handover.NAME).unlink()


def concluded(
    report: Report,
    problems: Sequence[Problem],
    options: Settings,
    effects: Effects,
    recorded: Recorded = NOTHING_RECORDED,
    drawn: Mapping[Path, Draw] | None = None,
) -> tuple[Report, Sequence[Problem]]:
    """Print, write and publish a report, at the paths of `drawn` if they are known to replace nothing that was read.

    Return it with its problems: both are others where it cannot be written.
    """
    written: list[str] = []
    if drawn is None:
        there = _reports(options.report_dir, options.reports)
        taken = replaced(there, options)
        drawn = {path: draw for path, draw in there.items() if path not in taken}
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
    hands_over = not replaced((Path(options.report_dir) / handover.NAME,), options)
    publishing.publish_run(run.view, Publishing.of(options, hands_over=hands_over), written, effects, run.recorded)
    _tell(run.view, written, effects)
    if report.verdict is Verdict.FAIL:
        command = _next_command(run.view, options, effects)
        effects.tell("next", command)
        if not options.quiet:
            effects.out(f"Next: {command}")
    return report, problems


def _origin(options: Settings, effects: Effects) -> Origin:
    """Return where the run's result comes from; a gate without an id has the name of its job.

    On another machine than a runner of GitHub's, the page's header has what the clone says.
    """
    origin = effects.context.origin(effects.folder, options.gate_id or effects.context.job)
    if not origin.commit and "html" in options.reports:
        with suppress(Missing, CannotJudge):
            origin = origin._replace(commit=Clone().commit("HEAD").sha)
            origin = origin._replace(repository=Clone().address())
    return origin


_MOST_TOLD = 100
_MOST_NAMED = 3


def _tell(view: ReportView, written: Sequence[str], effects: Effects) -> None:
    """Tell programs the verdict, its rules, the first cases to look at, and the reports (docs/json.md)."""

    def found() -> Iterator[tuple[str, Ranked]]:
        return ((part.name, ranked(part.section.findings, _MOST_TOLD)) for part in view.parts)

    effects.tell("verdict", view.report.verdict.value)
    effects.tell("rules", lambda: [*map(codec.to_json, view.report.rules)])
    effects.tell(
        "cases",
        lambda: [
            {
                "evaluator": name,
                "id": one.case_id.text,
                "path": one.place.path,
                "line": one.place.line,
                "severity": one.severity.value,
                "found": one.what,
                "breaks_rule": one.breaks,
                "since_baseline": one.news,
                "evidence": [*map(quoted, one.evidence)],
                "baseline_evidence": [*map(quoted, one.before)],
            }
            for name, some in found()
            for one in some.first
        ],
    )
    effects.tell("case_count", lambda: sum(some.number for _, some in found()))
    effects.tell("reports", list(written))
    effects.tell("problems", view.problems)


def _next_command(view: ReportView, options: Settings, effects: Effects) -> str:
    """Return the command that shows most of why the gate failed, with the settings that no config file repeats."""
    broken = [part for part in view.parts if part.is_broken]
    ids = [one.case_id.text for part in broken for one in ranked(part.section.findings, _MOST_NAMED).first]
    compared = view.report.comparison
    if not ids and not compared:  # then the rule itself names cases of this run; the gate's own rules name waivers
        ids = [name for rule in view.broken if rule.evaluator != "gate" for name in rule.names]
    if ids:
        name, words = "explain", ids[:_MOST_NAMED]
    elif compared:
        name, words = "compare", [compared.baseline.commit or compared.baseline.name, "--verbose"]
    else:
        name, words = "doctor", ["--all"]
    flags = list[str]()
    for setting in every_setting():
        named = setting.flags_of(name)
        if named and setting.name in effects.given - _NOT_REPEATED and not setting.secret:
            flags += _as_words(setting, named[0], options.value(setting.name))
    words = (
        [*flags, "--", *words] if any(one.startswith("-") for one in words[:_MOST_NAMED] if ids) else [*words, *flags]
    )
    return " ".join(("safe-gate", name, *(shlex.quote(plain(Untrusted(one), _LONGEST)) for one in words)))


_LONGEST = 1_000
_NOT_REPEATED = frozenset({"baseline", "report_dir", "reports", "comment", "gate_id", "quiet", "dry_run"})


def _as_words(setting: Setting, flag: str, value: Any) -> list[str]:
    """Return a setting as words of a command line."""
    if setting.kind is bool:
        return [flag if value else f"--no-{flag.removeprefix('--')}"]
    if value is None:
        return [flag, OFF]
    if isinstance(value, Mapping):
        return [flag, *(f"{key}={number}" for key, number in value.items())]
    return [flag, *value] if isinstance(value, tuple) else [f"{flag}={value}"]


def _reports(report_dir: str, reports: Sequence[str]) -> dict[Path, Draw]:
    """Return what draws each of a run's reports, by its path."""
    folder = Path(report_dir)
    return {folder / name: draw for name, draw in formats.files(reports)}
