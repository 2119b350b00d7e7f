"""What becomes of a report: it is written, printed, published and told to programs.

Reports without a verdict replace old ones before a case is scored, so a run that is killed leaves none that passed.
Publishing decides nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from safe_gate import __version__
from safe_gate.baseline import source
from safe_gate.core.setting import OFF, Setting, flat
from safe_gate.evaluators.registry import EVALUATORS, results_of
from safe_gate.gate import comparison, rules
from safe_gate.github import HAND_OVER, Effects, foreign_checkout, judged_commit
from safe_gate.inputs import disk
from safe_gate.inputs.case_files import input_paths, overwritten_reports
from safe_gate.inputs.commit_files import Clone, Missing
from safe_gate.model import codec
from safe_gate.model.problems import CannotJudge, Code, Place, Problem, first_of
from safe_gate.model.report import Comparison, InputFile, Origin, Provenance, Report, Tool, Verdict
from safe_gate.model.results import NOTHING_RECORDED, Recorded, Untrusted
from safe_gate.render import console, formats
from safe_gate.render.cases import rank
from safe_gate.render.formats import Draw
from safe_gate.render.untrusted import plain, quote_phrase
from safe_gate.render.view import ReportView, idle_rules
from safe_gate.scoring import sides
from safe_gate.settings import Settings
from safe_gate.settings import settings as every_setting
from safe_gate.settings.reading import outside_config

TOOL = Tool("safe-gate", __version__)


class Judged(NamedTuple):
    """The report of a run, the problems that kept it from a verdict, and its recorded texts."""

    report: Report
    problems: tuple[Problem, ...] = ()
    recorded: Recorded = NOTHING_RECORDED


def without_verdict(
    problems: Sequence[Problem], options: Settings, effects: Effects, inputs: Sequence[InputFile] = ()
) -> Judged:
    """Return the report of a run without a verdict: no scores, every problem."""
    report = Report(
        tool=TOOL,
        generated_at=effects.generated_at,
        verdict=Verdict.ERROR,
        rules=(),
        parts=dict.fromkeys(EVALUATORS),
        provenance=provenance_without_rules(inputs, options, effects),
        problems=tuple(first_of(problems)),
    )
    return Judged(report, tuple(problems))


def provenance_without_rules(inputs: Sequence[InputFile], options: Settings, effects: Effects) -> Provenance:
    """Return what a run follows from, but for rule packs, which may be what keeps it from a verdict."""
    return Provenance(
        commit=judged_commit(effects.context, (Path(file.path) for file in inputs)),
        inputs=tuple(sorted(inputs, key=lambda file: file.path)),
        packs_sha256="",
        policy=source.policy(options),
        policy_commit="",
    )


def reports_of(options: Settings) -> dict[Path, Draw]:
    """Return what draws each of a run's reports, by its path."""
    folder = Path(options.report_dir)
    return {folder / name: draw for name, draw in formats.format_files(options.reports)}


def unread_reports_of(options: Settings) -> dict[Path, Draw]:
    """Return the reports of a run that take the place of no file that it reads."""
    reports = reports_of(options)
    taken = overwritten_reports(reports, options)
    return {path: draw for path, draw in reports.items() if path not in taken}


class OverwriteError(CannotJudge):
    """Reports would replace files that the run reads, at these paths."""

    def __init__(self, paths: Sequence[Path]) -> None:
        words = "is a file that this run reads, and its report must not replace it; set another report-dir"
        where = map(disk.display_path, paths)
        super().__init__(*(Problem(Place("report-dir"), f"{path} {words}", code=Code.USAGE) for path in where))
        self.paths = paths


def refuse_to_overwrite(reports: Iterable[Path], options: Settings, judging_options: Settings) -> None:
    """Raise OverwriteError for reports, or a hand-over, that would replace a file that the run reads."""
    if taken := overwritten_reports((*reports, _hand_over(options)), options, judging_options):
        raise OverwriteError(taken)


def begin(options: Settings, effects: Effects, reports: Mapping[Path, Draw], judging_options: Settings) -> None:
    """Replace reports by one without a verdict, because the run may be killed from here on.

    `judging_options` are the settings that judge, which may name other files than the run's own. Raises OverwriteError
    as `refuse_to_overwrite` does.
    """
    refuse_to_overwrite(reports, options, judging_options)
    words = "run did not finish, so there is no result; run again"
    judged = without_verdict((Problem(Place("safe-gate"), words, code=Code.NOT_FINISHED),), judging_options, effects)
    shown = ReportView(judged.report, _origin(options, effects))
    for path, draw in reports.items():
        disk.write_or_remove(path, draw(shown))
    if reports and not options.shard:
        with suppress(OSError, ValueError):  # `publish` detects a file of another run
            _hand_over(options).unlink()


def conclude(judged: Judged, options: Settings, effects: Effects, reports: Mapping[Path, Draw]) -> Judged:
    """Print, write and publish a report; return what it is by then: another one if it cannot be written."""
    origin = _origin(options, effects)
    shown = ReportView(judged.report, origin, judged.recorded)
    written: list[str] = []
    try:
        disk.write_all({path: draw(shown) for path, draw in reports.items()})
        written = [disk.display_path(path) for path in reports]
    except CannotJudge as error:
        judged = without_verdict((*judged.problems, *error.problems), options, effects)
        shown = ReportView(judged.report, origin)
        for path, draw in reports.items():
            disk.write_or_remove(path, draw(shown))  # never leave an old pass
    if judged.problems:
        effects.err(console.problem_lines(judged.problems))
    elif options.quiet:
        for sentence in idle_rules(judged.report):
            effects.err(quote_phrase(sentence))
        effects.out(console.verdict_line(judged.report, names_rules=True))
    else:
        for card in console.scorecards(shown):
            effects.out(card)
        effects.out(console.rules_text(judged.report))
    if written and not options.quiet:
        effects.out(f"Reports: {', '.join(console.path_text(path) for path in written)}")
    made = Path(options.report_dir) / "safe-gate.json"
    if made in reports and (words := disk.too_long(made)):
        effects.err(f"safe-gate: warning: {disk.display_path(made)} {words}")
    hands_over = not overwritten_reports((_hand_over(options),), options)
    if options.dry_run or options.sinks or effects.context.has_runner:
        from safe_gate.github import publishing  # a run on a developer's machine starts without it

        publishing.publish_run(shown, options, written, effects, hands_over=hands_over)
    _tell_programs(shown, judged.problems, written, effects)
    if judged.report.verdict is Verdict.FAIL and (command := _next_command(shown, options)):
        effects.tell("next", command)
        if not options.quiet:
            effects.out(f"Next: {command}")
    return judged


def untrusted_checkout(options: Settings, effects: Effects) -> tuple[Problem, ...]:
    """Return the problem of a checkout that a run reads and its event must not trust, if any."""
    folder = "" if "head-checkout" in options.allow else foreign_checkout(effects.context, input_paths(options))
    if not folder:
        return ()
    words = (
        f"the checkout in {folder!r} is not at the base's commit, so this event must not trust its files; check out"
        " GITHUB_SHA, use the event pull_request, or set allow: head-checkout"
    )
    return (Problem(Place("pull_request_target"), words, code=Code.UNTRUSTED_CHECKOUT),)


def report_refusal(problems: Sequence[Problem], options: Settings, effects: Effects) -> Judged:
    """Report wrong settings or usage, also in reports and to GitHub: no old verdict may remain."""
    problems = sides.redact_problems(problems, options.text)
    judged = without_verdict(problems, Settings(), effects)
    return conclude(judged, options, effects, unread_reports_of(options))


def _origin(options: Settings, effects: Effects) -> Origin:
    """Return where the run's result comes from.

    On another machine than a runner of GitHub's, the page's header has what the clone says.
    """
    origin = effects.context.origin(effects.folder, options.gate_id, effects.checkout)
    if not origin.commit and "html" in options.reports:
        with suppress(Missing, CannotJudge):
            origin = origin._replace(commit=Clone().commit("HEAD").sha)
            origin = origin._replace(repository=Clone().address())
    return origin


def _hand_over(options: Settings) -> Path:
    return Path(options.report_dir) / HAND_OVER


# --- what programs and people are told -------------------------------------------------------------

_MOST_NAMED = 3


def _tell_programs(view: ReportView, problems: Sequence[Problem], written: Sequence[str], effects: Effects) -> None:
    """Tell programs the verdict, its rules, the first cases to look at, and the reports (docs/json.md)."""
    effects.tell("verdict", view.report.verdict.value)
    effects.tell("rules", lambda: [*map(codec.to_json, view.report.rules)])
    effects.tell(
        "cases",
        lambda: [
            {
                "evaluator": part.evaluator.name,
                "id": one.case_id.text,
                "path": one.place.path,
                "line": one.place.line,
                "severity": one.severity.value,
                "found": one.what,
                "breaks_rule": one.breaks,
                "since_baseline": one.news,
                "evidence": [*map(quote_phrase, one.evidence)],
                "baseline_evidence": [*map(quote_phrase, one.before)],
            }
            for part in view.parts
            for one in rank(part.section.findings, 100).first
        ],
    )
    effects.tell("case_count", lambda: sum(len(part.section.findings) for part in view.parts))
    effects.tell("reports", list(written))
    effects.tell("problems", problems)


def _next_command(view: ReportView, options: Settings) -> str:
    """Return the command that shows most of why the gate failed, with the settings that no config file repeats.

    For stale recordings it is the one that follows when they are recorded again. "" if no command shows more than the
    log, as of waivers.
    """
    findings = (one for part in view.parts for one in part.section.findings if one.breaks)
    ids = [one.case_id.text for one in rank(findings, _MOST_NAMED).first]
    compared, broken = view.report.comparison, {rule.rule for rule in view.report.broken()}
    if not ids:  # then a rule may name cases, of which the baseline's alone are not here; the gate's own name waivers
        blamed = {name for rule in view.report.broken() if rule.evaluator != "gate" for name in rule.names}
        ids = [one.id for part in view.parts for one in results_of(part.part) if one.id in blamed]
    stale = [rule.group for rule in view.report.broken() if rule.rule == rules.STALE_RECORDINGS]
    if ids:
        name, words = "explain", [*dict.fromkeys(ids[:_MOST_NAMED])]
    elif stale:
        name, words = "lock", [*dict.fromkeys(stale)]
    elif compared and not _rules_of_compare(view.report, compared).isdisjoint(broken):
        weakened = view.report.weakened if "on-weakened" in broken else None
        base = (weakened and weakened.against) or compared.baseline  # a change may replace its report
        name, words = "compare", [base.commit or base.name, "--verbose"]
    else:
        return ""
    flags = list[str]()
    for setting in every_setting():
        named = setting.flags_of(name)
        if named and setting.name in outside_config(options) - _NOT_REPEATED and not setting.secret:
            flags += _as_words(setting, named[0], options.value(setting.name))
    words = [*flags, "--", *words] if any(one.startswith("-") for one in words if ids or stale) else [*words, *flags]
    command = " ".join(("safe-gate", name, *(shlex.quote(plain(Untrusted(one), _LONGEST)) for one in words)))
    return f"{command} # when it is recorded again" if name == "lock" else command


def _rules_of_compare(report: Report, compared: Comparison) -> set[str]:
    guards = comparison.Guards.of(report.provenance.policy)
    return {"on-weakened", *(outcome.rule for outcome in comparison.judge(compared.parts, guards))}


_LONGEST = 1_000
_NOT_REPEATED = frozenset({"baseline", "report_dir", "reports", "comment", "gate_id", "quiet", "dry_run"})


def _as_words(setting: Setting, flag: str, value: Any) -> list[str]:
    """Return a setting as words of a command line."""
    if setting.kind is bool:
        return [flag if value else f"--no-{flag.removeprefix('--')}"]
    if value is None:
        return [flag, OFF]
    if isinstance(value, Mapping):
        return [flag, *(f"{key}={one}" for key, one in flat(value).items())]
    return [flag, *value] if isinstance(value, tuple) else [f"{flag}={value}"]
