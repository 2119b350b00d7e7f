"""`doctor`: what a run would read and publish, and what would prevent it. Judges, writes and sends nothing."""

from __future__ import annotations

from argparse import SUPPRESS
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NoReturn

from safe_gate import addons, reporting
from safe_gate.baseline import source
from safe_gate.baseline.lock import as_they_are, commit_time, find_sources, lock_rule, read_lock
from safe_gate.commands._command import JSON, SHARD, Call, Command, complain, reporting_options, switch, texts
from safe_gate.core.evaluator import Evaluator
from safe_gate.core.figures import plural
from safe_gate.core.validate import quote, suggestion
from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.gate import rules
from safe_gate.github import HAND_OVER, Effects, commit_of, preview, publishing
from safe_gate.github.preview import Facts
from safe_gate.inputs import case_files, checked, disk, globs
from safe_gate.model.problems import CannotJudge, Code, Problem
from safe_gate.model.report import Findings, Waiver
from safe_gate.model.results import Table, Untrusted, Words
from safe_gate.render import console
from safe_gate.scoring import measure, sides
from safe_gate.scoring.sides import Snapshot
from safe_gate.settings import Settings
from safe_gate.settings.reading import MODES

COMMAND = Command(
    place=9,
    summary="show what is set and what a run would read and publish; judge and send nothing",
    exit_codes="0 nothing was found that stops a run, 3 something was",
    arguments={
        "mode": texts("COMMAND", "run (the default), merge or publish: the command to examine", "?", default=SUPPRESS),
        "shards": texts("SHARD", "for merge: files of shards, or globs of them"),
        "--shard": SHARD,
        "--all": switch("show all settings, what is known of GitHub, and what a run would publish", dest="is_whole"),
        "--json": JSON,
    },
)


def main(call: Call) -> int:
    """Show the settings of a run, its files, what it knows about GitHub and what it would publish. Returns 0 or 3.

    Nothing is judged, written or sent; secrets are not shown.
    """
    effects, is_whole = call.effects, call.arguments["is_whole"]
    if (mode := call.arguments.get("mode", "run")) not in MODES:
        words = f"{quote(mode)} is unknown{suggestion(mode, MODES, quoted=False)}; expected run, merge or publish"
        raise CannotJudge.at("command line", words, Code.USAGE)
    problems: Sequence[Problem]
    try:
        given = call.given()
        options = call.options(given)
    except CannotJudge as error:
        options, problems = reporting_options(call.flags, call.environ), error.problems
    else:
        rows = preview.settings_rows(
            options.values(), {name: (one.kind, one.name) for name, one in given.origins.items()}
        )
        names = ("name", "value", "from", "name_there")
        effects.tell("settings", [dict(zip(names, map(_text, row), strict=True)) for row in rows])
        shown = [(name, value, there or of) for name, value, of, there in rows if is_whole or of != "default"]
        table = Table(("Setting", "Value", "From"), "<<<", shown)
        effects.out(console.draw_table(table) if shown else "Nothing is set: every setting has its default.")
        found, problems = _would_read(options, effects)
        if options.mode != "publish":  # which reads no case
            problems = (*reporting.untrusted_checkout(options, effects), *problems)
        _show("reads", "A run would read", [*found, ("commit", _commit(effects))], effects)
    planned = preview.publish_facts if options.mode == "publish" else preview.publishing_facts
    seen = preview.github_facts(effects.context, effects.folder, has_token=bool(options.github_token))
    beyond = effects if is_whole else effects._replace(out=lambda _: None)
    _show("github", "GitHub, as far as known without asking it", seen, beyond)
    _show("publishes", "A run would publish", planned(options, effects.context), beyond)
    more = "" if is_whole else " --all shows every setting, GitHub, and what a run would publish."
    effects.out(f"Nothing was judged, written or sent.{more}")
    return complain(problems, effects) if problems else 0


def _show(name: str, title: str, found: Facts, effects: Effects) -> None:
    effects.tell(name, {key: _text(words) for key, words in found})
    effects.out(console.facts_text(title, found))


def _text(words: Words) -> str:
    return words.text if isinstance(words, Untrusted) else words


def _commit(effects: Effects) -> Words:
    """Return the commit that a run would judge: the event's, or the checkout's."""
    event, own = effects.context.subject.head_sha, commit_of(Path.cwd())
    if event:
        return Untrusted(event if event == own or not own else f"{event}, of the event; the checkout is at {own}")
    return Untrusted(f"{own}, of the checkout") if own else "unknown: no commit is checked out here"


def _would_read(options: Settings, effects: Effects) -> tuple[Facts, list[Problem]]:
    """Return how many files each pattern matches, the waivers, the baseline, and the problems of all of them."""
    if options.mode == "publish":
        place = Path(options.report_dir) / HAND_OVER
        unread = list[Problem]()
        try:
            publishing.read_hand_over(options, effects.context)
        except CannotJudge as error:
            unread += error.problems
        return [("the report of another run", Untrusted(place.as_posix()))], unread
    given = sides.evaluators_in_use(options)
    if not given:
        return [("nothing", "")], [sides.no_input_problem()]
    idle = {name for one in EVALUATORS.values() if one not in given for name in one.input.settings}
    search = partial(case_files.expand_setting, options)
    named = [(name, options.value(name)) for name, _ in case_files.pattern_settings() if name not in idle]
    found = [search(name, patterns) for name, patterns in named if patterns]
    problems = [problem for one in found for problem in one.problems]
    counted = [(name, one, len(search(name, [one]).paths)) for name, patterns in named for one in patterns]
    if options.mode == "merge":  # whose problems `_unfit` names with all that is wrong with shards
        counted += [("shards", one, len(globs.expand_on_disk([one])[0])) for one in options.shards]
    facts: Facts = [
        (name.replace("_", "-"), Untrusted(f"{plural(files, 'file')} of {pattern}")) for name, pattern, files in counted
    ]
    if skipped := [disk.display_path(path) for one in found for path in one.skipped]:
        count = plural(len(skipped), "file")
        facts.append(("skipped", Untrusted(f"{count} of safe-gate's own or with another suffix: {', '.join(skipped)}")))
    side = sides.take_snapshot(options.on_this_machine())
    counts, unfit = _cases(side)
    facts += counts
    problems += (one for one in unfit if one not in problems)
    problems += sides.redact_problems(tuple(_unfit(options, effects)), options.text)

    def waivers() -> Iterator[tuple[str, Words]]:
        if known := checked.read_waivers(options.waivers, options.config):
            file, content = known
            yield "waivers", Untrusted(f"1 file of {file.path}, {plural(len(Waiver.listed(content)), 'waiver')}")

    compared = partial(_recordings, options, effects), partial(_baseline, options, effects)
    judged_by = () if options.shard else (waivers, *compared)
    for facts_of in judged_by:  # a shard has no verdict
        try:
            facts += facts_of()
        except CannotJudge as error:
            problems += sides.redact_problems(error.problems, options.text)
    if judged_by and not problems and not options.baseline and options.policy_ref != "base":
        unjudged = _unjudged(side)
        if len(unjudged) == len(given):
            problems.append(sides.no_rule_problem(given))
        else:
            facts += ((f"{one.title} rules", f"none judges the cases: {rules.UNJUDGED}") for one in unjudged)
    return facts, [*dict.fromkeys(checked.place_in_config(problems, options.config))]


def _recordings(options: Settings, effects: Effects) -> Iterator[tuple[str, Words]]:
    """Yield how many recordings a run would compare with the lock. Raises CannotJudge as the run would."""
    asked = lock_rule(options)
    if not options.recordings or options.stale_recordings == "off":
        return
    lock, found = read_lock(options.config), find_sources(options)
    locked = found.keys() & lock.recordings.keys() if lock else ()
    if lock or asked:
        as_they_are(found)
        try:
            commit_time(options.max_age, partial(_opened, options, effects))
        except _NotAsked:
            yield "max-age", "not compared: the commit is not in the clone; a run would ask GitHub for its time"
    yield "recordings", f"{len(found)} named, {len(locked)} locked"


def _cases(side: Snapshot) -> tuple[Facts, Sequence[Problem]]:
    """Return how many cases a run would score, and all that is wrong with them and with what they are scored by."""
    scores = measure.measure_all(side, "", measure.ScoringMethod(source=measure.score_none))
    problems = [*scores.problems, *sides.unknown_names(side, scores.measured)]
    counts: Facts = [(f"{EVALUATORS[name].title} cases", str(one.cases)) for name, one in scores.measured.items()]
    return [] if problems else [*counts, *_trials(side)], problems


def _unjudged(side: Snapshot) -> Sequence[Evaluator]:
    """Return the evaluators whose cases no rule judges in a run that is compared with nothing.

    Cases are scored only where the settings alone do not tell.
    """
    given, policy = sides.evaluators_in_use(side.options), source.policy(side.options)
    if rules.is_on([one.name for one in given], policy):
        return ()
    judged = rules.judged(rules.judge(Findings(parts=measure.measure_all(side, "").parts), policy))
    return [one for one in given if one.name not in judged]


def _trials(side: Snapshot) -> Iterator[tuple[str, Words]]:
    """Yield how many cases would change if a setting had the value that an evaluator proposes."""
    for one in sides.evaluators_in_use(side.options):
        if one.trial and side.options.value(one.trial[0]) != one.trial[1]:
            name, value = one.trial
            other = replace(side, options=side.options.replace(**{name: value}))
            ways = measure.OWN_RULES, measure.ScoringMethod(other.recipe(one))
            now, then = (measure.measure_part(one, side, "", how).results for how in ways)
            pairs = [(one.compare.outcome(a), one.compare.outcome(b)) for a, b in zip(now, then, strict=True)]
            scores, labels = sum(a.scores != b.scores for a, b in pairs), sum(a.words != b.words for a, b in pairs)
            words = f"would change the scores of {scores} of {plural(len(pairs), 'case')}, and the label of {labels}"
            yield f"{name.replace('_', '-')}: {value}", words


def _unfit(options: Settings, effects: Effects) -> Iterator[Problem]:
    """Yield the problems that would prevent a run, other than its inputs: a shard, reports, dask or a base commit."""
    checks: list[Callable[[], object]] = [
        lambda: source.refuse_base_elsewhere(options, effects),
        lambda: disk.refuse_file_as_folder(Path(options.report_dir) / "safe-gate.json"),
    ]
    if options.shard:
        checks.append(lambda: addons.scale.Shard.parse(options.shard))
    else:
        checks.append(lambda: reporting.refuse_to_overwrite(reporting.reports_of(options), options, options))
        checks.append(lambda: source.refuse_comparison_with_itself(options.baseline))
    if options.mode == "merge":
        checks.append(lambda: addons.scale.shards.read_shards(options.shards))
    elif options.scheduler and any(not one.input.cases for one in sides.evaluators_in_use(options)):
        checks.append(lambda: addons.scale.cluster.check_scheduler(options.scheduler))
    for check in checks:
        try:
            check()
        except CannotJudge as error:
            yield from error.problems


class _NotAsked(Exception):
    """A run would ask GitHub here."""


def _opened(options: Settings, effects: Effects, spec: str) -> source.Baseline | None:
    """Return a baseline as a run opens it, without its files. Raises _NotAsked where the clone does not have it."""

    def connect() -> NoReturn:
        raise _NotAsked

    is_required = "baseline" not in options.allow_missing
    with source.opened_baseline(spec, options, effects, connect, is_required=is_required) as base:
        return base


def _baseline(options: Settings, effects: Effects) -> Iterator[tuple[str, Words]]:
    """Yield what a run would be compared with, as far as it is available. Raises CannotJudge if it is invalid."""
    if not options.baseline:
        return
    try:
        base = _opened(options, effects, options.baseline)
        if base is None:
            words = "no baseline yet"
        else:
            source.refuse_narrower_filter(base, sides.scoring_settings(options))
            why = f", {base.why}" if base.why else ""
            words = "a report" if base.report is not None else f"commit {base.commit[:7]}{why}, in the clone"
    except _NotAsked:
        words = "not in the clone; a run would ask GitHub for it"
    yield "baseline", Untrusted(f"{options.baseline}: {words}")
