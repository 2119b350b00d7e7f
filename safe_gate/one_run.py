"""A run: settings, base, cases, scores, comparison, verdict, reports and publishing.

Whatever is wrong with one of these ends the run without a verdict. Before a case is scored, reports without a verdict
replace old ones, so a run that is killed leaves none that passed. Publishing decides nothing. The module is not called
`run`, because `safe_gate.run` is the function of `calls.py`.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from safe_gate import __version__, addons, github
from safe_gate.baseline import comparison, judging, recording_lock, weakened
from safe_gate.baseline.comparison import Scores, kept, own_cases, recorded, score
from safe_gate.baseline.judging import Judging, OptionsAt, Snapshots, opened
from safe_gate.baseline.source import Baseline
from safe_gate.core.figures import plural
from safe_gate.core.setting import OFF, Setting
from safe_gate.evaluators import EVALUATORS
from safe_gate.gate import differences, waivers
from safe_gate.gate import rules as gate_rules
from safe_gate.gate.comparison import Guards
from safe_gate.github.effects import Effects, foreign_checkout
from safe_gate.inputs import disk, writing
from safe_gate.inputs.case_files import read_by, replaced
from safe_gate.inputs.clone import Clone
from safe_gate.inputs.commit_files import Missing
from safe_gate.model import codec
from safe_gate.model.problems import CannotJudge, Code, Place, Problem, first_of
from safe_gate.model.report import (
    Earlier,
    Found,
    InputFile,
    Origin,
    Parts,
    Provenance,
    Report,
    RuleOutcome,
    Tool,
    Verdict,
    Waiver,
    Waivers,
)
from safe_gate.model.results import NOTHING_RECORDED, Recorded
from safe_gate.model.untrusted import Untrusted
from safe_gate.render import console, formats
from safe_gate.render.formats import Draw
from safe_gate.render.untrusted import plain, quoted
from safe_gate.render.view import Ranked, ReportView, ranked
from safe_gate.scoring import asked, measure, refusals
from safe_gate.scoring.asked import Snapshot
from safe_gate.settings.model import Publishing, Settings
from safe_gate.settings.model import settings as every_setting

TOOL = Tool("safe-gate", __version__)

Begin = Callable[[Settings], None]
"""Called with the settings that judge, before the first case is scored."""


class Judged(NamedTuple):
    """The report of a run, the problems that kept it from a verdict, and its recorded texts."""

    report: Report
    problems: tuple[Problem, ...] = ()
    recorded: Recorded = NOTHING_RECORDED


def run(
    options: Settings, effects: Effects, options_at: OptionsAt, merged: addons.scale.Shards | None = None
) -> Judged:
    """Judge the run under these options, write its reports and publish them.

    The arguments are those of `judge`. Raises CannotJudge as it does.
    """
    reports = reports_of(options)
    try:
        judged = judge(options, effects, options_at, merged=merged, begin=partial(begin, options, effects, reports))
    except _TakenError as error:
        judged = without_verdict(error.problems, options, effects)
        reports = {path: draw for path, draw in reports.items() if path not in error.paths}
    return conclude(judged, options, effects, reports)


def judge(
    options: Settings,
    effects: Effects,
    options_at: OptionsAt,
    *,
    merged: addons.scale.Shards | None = None,
    begin: Begin = lambda _: None,
) -> Judged:
    """Return the report of a run under these options; nothing is shown or written.

    `options_at` gives the settings with the config file of another folder, such as the base commit's. `merged` has
    results that are scored already. Raises CannotJudge if it is unknown whose settings judge.
    """
    with opened(options, effects, options_at) as snapshots:
        rules = judging.of(effects, snapshots)
        base, unread = _baseline(rules, snapshots)
        if not unread:
            begin(rules.options)
        seeks_weaker = not unread and _seeks_weakening(base, rules, options.on_weakened, effects)
        source = measure.unscored if unread else merged.source if merged else measure.scored
        scores = score(rules, snapshots, effects, source, keeps_facts=seeks_weaker)
        try:
            if unread:
                raise CannotJudge(*scores.problems, *unread)
            known, unsound = rules.waivers()
            problems = (*scores.problems, *unsound)
            _refuse(_of_shards(merged, scores, problems, rules, effects) if merged else problems)
            waived = waivers_of(known, scores.parts, effects, scores.left_out)
            found = Found(
                parts=scores.parts,
                waivers=_without_dropped(waived, rules, snapshots.head),
                recordings=recording_lock.of(rules, base, snapshots),
            )
            found, past = _compared(found, scores, rules, base, snapshots, effects.generated_at)
            if seeks_weaker:
                cases = own_cases(scores, rules, snapshots.narrowed(disk.HERE))
                found = replace(found, weakened=weakened.of(base, past, cases, rules, effects, snapshots))
            report = _report_of(found, scores, rules, snapshots, effects)
        except CannotJudge as error:
            problems = refusals.as_shown(error.problems, options.text)
            return without_verdict(problems, rules.options, effects, scores.inputs)
        return Judged(report, (), recorded(scores, found.comparison, past, options))


def recompute(options: Settings, effects: Effects, earlier: Earlier) -> Report:
    """Return the report of a run under these options, with what a report recorded of an `earlier` state.

    Raises CannotJudge with every problem.
    """
    with opened(options, effects, lambda _: options) as snapshots:
        rules = judging.of(effects, snapshots)
        scores = score(rules, snapshots, effects, measure.scored)
        waived = earlier.waivers
        if earlier.waivers_stand:
            _refuse(scores.problems)
        else:
            known, unsound = rules.waivers()
            _refuse((*scores.problems, *unsound))
            waived = waivers_of(known, scores.parts, effects, scores.left_out)
        found = Found(
            parts=scores.parts,
            waivers=waived,
            comparison=earlier.comparison,
            weakened=earlier.weakened,
            recordings=earlier.recordings,
        )
        return _report_of(found, scores, rules, snapshots, effects)


def _refuse(problems: Sequence[Problem]) -> None:
    if problems:
        raise CannotJudge(*problems)


def conclude(judged: Judged, options: Settings, effects: Effects, reports: Mapping[Path, Draw]) -> Judged:
    """Print, write and publish a report; return what it is by then: another one if it cannot be written."""
    origin, problems = _origin(options, effects), judged.problems
    shown = formats.Shown(ReportView(judged.report, problems), origin, judged.recorded)
    written: list[str] = []
    try:
        writing.write_all({path: draw(shown) for path, draw in reports.items()})
        written = [disk.shown(path) for path in reports]
    except CannotJudge as error:
        judged = without_verdict((*problems, *error.problems), options, effects)
        shown = formats.Shown(ReportView(judged.report, judged.problems), origin)
        for path, draw in reports.items():
            writing.write_or_remove(path, draw(shown))  # never leave an old pass
    if judged.problems:
        effects.err(console.problems(judged.problems))
    elif options.quiet:
        effects.out(console.verdict(shown.view, names_rules=True))
    else:
        for card in console.scorecards(shown.view):
            effects.out(card)
        effects.out(console.rules(shown.view))
    if written and not options.quiet:
        effects.out(f"Reports: {', '.join(console.path_words(path) for path in written)}")
    hands_over = not replaced((_hand_over(options),), options)
    wanted = Publishing.of(options, hands_over=hands_over)
    if wanted.dry_run or wanted.sinks.each or effects.context.has_runner:
        github.publishing.publish_run(shown.view, wanted, written, effects, shown.recorded)
    _tell(shown.view, written, effects)
    if judged.report.verdict is Verdict.FAIL:
        command = _next_command(shown.view, options, effects.given)
        effects.tell("next", command)
        if not options.quiet:
            effects.out(f"Next: {command}")
    return judged


def untrusted(options: Settings, effects: Effects) -> tuple[Problem, ...]:
    """Return the problem of a checkout that a run reads and its event must not trust, if any."""
    folder = "" if "head-checkout" in options.allow else foreign_checkout(effects.context, read_by(options))
    if not folder:
        return ()
    words = (
        f"the checkout in {folder!r} is not at the base's commit, so this event must not trust its files; check out"
        " GITHUB_SHA, use the event pull_request, or set allow: head-checkout"
    )
    return (Problem(Place("pull_request_target"), words, code=Code.UNTRUSTED_CHECKOUT),)


def refuse(problems: Sequence[Problem], options: Settings, effects: Effects) -> Judged:
    """Report wrong settings or usage, also in reports and to GitHub: no old verdict may remain."""
    problems = refusals.as_shown(problems, options.text)
    judged = without_verdict(problems, Settings(), effects)
    return conclude(judged, options, effects, unread_reports_of(options))


# --- reports ----------------------------------------------------------------------------------------


def reports_of(options: Settings) -> dict[Path, Draw]:
    """Return what draws each of a run's reports, by its path."""
    folder = Path(options.report_dir)
    return {folder / name: draw for name, draw in formats.files(options.reports)}


def unread_reports_of(options: Settings) -> dict[Path, Draw]:
    """Return the reports of a run that take the place of no file that it reads."""
    reports = reports_of(options)
    taken = replaced(reports, options)
    return {path: draw for path, draw in reports.items() if path not in taken}


class _TakenError(CannotJudge):
    """Reports would replace files that the run reads, at these paths."""

    def __init__(self, paths: Sequence[Path]) -> None:
        words = "{} is a file that this run reads, and its report must not replace it; set another report-dir"
        super().__init__(
            *(Problem(Place("report-dir"), words.format(disk.shown(path)), code=Code.USAGE) for path in paths)
        )
        self.paths = paths


def begin(options: Settings, effects: Effects, reports: Mapping[Path, Draw], judging_options: Settings) -> None:
    """Replace reports by one without a verdict, because the run may be killed from here on.

    `judging_options` are the settings that judge, which may name other files than the run's own. Raises CannotJudge for
    a report that would replace a file that the run reads.
    """
    if taken := replaced((*reports, _hand_over(options)), options, judging_options):
        raise _TakenError(taken)
    words = "run did not finish, so there is no result; run again"
    judged = without_verdict((Problem(Place("safe-gate"), words, code=Code.NOT_FINISHED),), judging_options, effects)
    shown = formats.Shown(ReportView.of(judged.report), _origin(options, effects))
    for path, draw in reports.items():
        writing.write_or_remove(path, draw(shown))
    if reports and not options.shard:
        with suppress(OSError, ValueError):  # `publish` detects a file of another run
            _hand_over(options).unlink()


def without_verdict(
    problems: Sequence[Problem], options: Settings, effects: Effects, inputs: Sequence[InputFile] = ()
) -> Judged:
    """Return the report of a run without a verdict: no scores, every problem."""
    nothing, follows_from = Found(parts=dict.fromkeys(EVALUATORS)), _unjudged(inputs, options, effects)
    report = _report(Verdict.ERROR, (), nothing, follows_from, effects)
    return Judged(replace(report, problems=tuple(first_of(problems))), tuple(problems))


def _report_of(found: Found, scores: Scores, rules: Judging, snapshots: Snapshots, effects: Effects) -> Report:
    """Return the report of a run whose findings are judged. Raises CannotJudge where no rule applies."""
    outcomes = gate_rules.judge(found, judging.policy(rules.options))
    verdict = gate_rules.verdict(outcomes)
    if verdict is Verdict.ERROR:
        raise CannotJudge(refusals.no_rule())
    left_out = {name: len(ids) for name, ids in scores.left_out.items()} or None
    follows_from = replace(provenance(scores.inputs, rules, effects), base=snapshots.base, left_out=left_out)
    return differences.with_digests(_report(verdict, outcomes, found, follows_from, effects))


def _report(
    verdict: Verdict, outcomes: Sequence[RuleOutcome], found: Found, follows_from: Provenance, effects: Effects
) -> Report:
    """Return the whole report except its digests and problems."""
    return Report(
        tool=TOOL,
        generated_at=effects.generated_at,
        verdict=verdict,
        rules=tuple(outcomes),
        parts=found.parts,
        waivers=found.waivers,
        comparison=found.comparison,
        weakened=found.weakened,
        recordings=found.recordings,
        provenance=follows_from,
    )


def provenance(inputs: Sequence[InputFile], rules: Judging, effects: Effects) -> Provenance:
    """Return what a run follows from."""
    return replace(
        _unjudged(inputs, rules.options, effects),
        packs_sha256=rules.snapshot.rules_digest(),
        policy_commit=rules.base.commit if rules.base else "",
    )


def _unjudged(inputs: Sequence[InputFile], options: Settings, effects: Effects) -> Provenance:
    """Return what a run follows from, but for rule packs, which may be what keeps it from a verdict."""
    return Provenance(
        commit=effects.context.head_sha,
        inputs=tuple(sorted(inputs, key=lambda file: file.path)),
        packs_sha256="",
        policy={**judging.policy(options).as_json(), **asked.settings(options)},
        policy_commit="",
    )


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


def _hand_over(options: Settings) -> Path:
    return Path(options.report_dir) / github.HAND_OVER


# --- shards -----------------------------------------------------------------------------------------


def score_shard(
    shard: addons.scale.Shard, options: Settings, effects: Effects, options_at: OptionsAt, begin: Begin
) -> Judged | addons.scale.Content:
    """Return the file of one shard of a run under these options, judged by nobody, or the report of problems.

    Raises CannotJudge as `judge` does.
    """
    with opened(options, effects, options_at) as snapshots:
        rules = judging.of(effects, snapshots)
        begin(rules.options)
        scores = score(rules, snapshots, effects, shard.source)
        if scores.problems:
            return without_verdict(scores.problems, rules.options, effects, scores.inputs)
        return addons.scale.Content(
            shard,
            {name: one.cases for name, one in scores.measured.items()},
            {name: one.results for name, one in scores.measured.items()},
            provenance(scores.inputs, rules, effects),
        )


def _of_shards(
    merged: addons.scale.Shards, scores: Scores, problems: Sequence[Problem], rules: Judging, effects: Effects
) -> tuple[Problem, ...]:
    """Return what is wrong with a run's inputs, else what keeps shards from being this run's.

    They may be made by other terms or of other cases.
    """
    if of_inputs := tuple(problem for problem in problems if problem.place.path not in merged.terms):
        return of_inputs
    if wrong := tuple(merged.strangers(provenance(scores.inputs, rules, effects))) or tuple(problems):
        return wrong
    found: list[Problem] = []
    for name, one in scores.measured.items():
        if missing := one.cases - len(one.results):
            cases = plural(missing, f"{EVALUATORS[name].title} case has", f"{EVALUATORS[name].title} cases have")
            words = f"{cases} no result in any shard; a file was changed: run its shard again"
            found.append(Problem(Place("shards"), words, code=Code.MISSING_OUTPUT))
    return tuple(found)


# --- base, waivers and comparison -------------------------------------------------------------------


def _baseline(rules: Judging, snapshots: Snapshots) -> tuple[Baseline | None, tuple[Problem, ...]]:
    """Return what a run is compared with, None for nothing, or the problems of reading it."""
    options = rules.options
    if not options.baseline:
        return None, ()
    try:
        judging.refuse_itself(options.baseline)
        return snapshots.open(options.baseline, is_required=options.baseline_required), ()
    except CannotJudge as error:
        return None, refusals.as_shown(error.problems, snapshots.head.options.text)


def waivers_of(
    known: judging.KnownWaivers | None, parts: Parts, effects: Effects, left_out: Mapping[str, Set[str]]
) -> Waivers | None:
    """Return the states of the waivers, except those of cases that a filter leaves out."""
    if known is None:
        return None
    file, content = known
    judged = [one for one in Waiver.listed(content) if not any(one.case_id in ids for ids in left_out.values())]
    return Waivers(file.path, file.sha256, *waivers.sorted_out(judged, parts, effects.generated_at[:10]))


def _without_dropped(known: Waivers | None, rules: Judging, head: Snapshot) -> Waivers | None:
    """Return the waivers; of the base commit's without the expired or unused ones that the change removes.

    Otherwise no change could remove them. Raises CannotJudge for the change's own.
    """
    if not (known and rules.base):
        return known
    own = {*map(waivers.Waivable.of, head.waivers_there())}

    def kept(some: Iterable[Waiver]) -> tuple[Waiver, ...]:
        return tuple(one for one in some if waivers.Waivable.of(one) in own)

    return replace(known, expired=kept(known.expired), unused=kept(known.unused))


def _compared(
    found: Found, scores: Scores, rules: Judging, base: Baseline | None, snapshots: Snapshots, at: str
) -> tuple[Found, comparison.BaselineRun | None]:
    """Add the comparison with the baseline to a run's result. Return it with what was read of the baseline."""
    options, past = rules.options, None
    if not options.baseline:
        return found, None
    side = comparison.compared_run(found.parts, rules.snapshot)
    if base is not None:
        texts = kept(snapshots.head.options).texts == "all"
        past = comparison.baseline_run(base, snapshots.of, side, rules.snapshot, at, texts=texts)
        comparison.refuse_skipped(base, past, (path for one in scores.measured.values() for path in one.skipped))
    named, guards = comparison.named(base, options.baseline, at), Guards.of(options.values())
    compared = comparison.against(named, past, side, guards, options.cluster_key, waived=waivers.let_pass(found))
    return replace(found, comparison=compared), past


def _seeks_weakening(base: Baseline | None, rules: Judging, on_weakened: str, effects: Effects) -> bool:
    """Return whether a run is to find where the gate is weaker than before."""
    has_base = base or rules.base or (rules.options.baseline and effects.context.subject.base_sha)
    return bool(has_base) or rules.breaks_on_weakened(on_weakened)


# --- what programs and people are told -------------------------------------------------------------

_MOST_TOLD = 100
_MOST_NAMED = 3


def _tell(view: ReportView, written: Sequence[str], effects: Effects) -> None:
    """Tell programs the verdict, its rules, the first cases to look at, and the reports (docs/json.md)."""

    def found() -> Iterator[tuple[str, Ranked]]:
        return ((part.evaluator.name, ranked(part.section.findings, _MOST_TOLD)) for part in view.parts)

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


def _next_command(view: ReportView, options: Settings, given: frozenset[str]) -> str:
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
        if named and setting.name in given - _NOT_REPEATED and not setting.secret:
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
        entries = ((key, OFF if one is None else one) for key, one in setting.parts(value).items())
        return [flag, *(f"{key}={one}" for key, one in entries if not isinstance(one, Mapping))]
    return [flag, *value] if isinstance(value, tuple) else [f"{flag}={value}"]
