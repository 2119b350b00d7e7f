"""`doctor`: what a run would read and publish, and what would prevent it.

It judges as a run does, and writes and sends nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NoReturn

from safe_gate import addons, one_run, reporting
from safe_gate.baseline.source import OptionsAt
from safe_gate.commands._command import JSON, Call, Command, complain, reporting_options, switch
from safe_gate.core.figures import plural
from safe_gate.evaluators.registry import EVALUATORS, parts_of
from safe_gate.github import Effects, commit_of, preview
from safe_gate.github.preview import Facts
from safe_gate.inputs import case_files, checked, disk
from safe_gate.model.problems import CannotJudge, Problem
from safe_gate.model.results import Table, Untrusted, Words
from safe_gate.render import console
from safe_gate.scoring import measure, sides
from safe_gate.scoring.sides import Snapshot
from safe_gate.settings import Access, Settings

COMMAND = Command(
    place=9,
    summary="show what is set and what a run would read and publish; write and send nothing",
    exit_codes="0 nothing was found that stops a run, 3 something was",
    arguments={
        "--all": switch("show all settings, what is known of GitHub, and what a run would publish", dest="is_whole"),
        "--json": JSON,
    },
)


def main(call: Call) -> int:
    """Show the settings of a run, its files, what it knows about GitHub and what it would publish. Returns 0 or 3.

    Nothing is written or sent; secrets are not shown.
    """
    effects, is_whole = call.effects, call.arguments["is_whole"]
    problems: Sequence[Problem]
    try:
        options = call.options()
    except CannotJudge as error:
        options, problems = reporting_options(call.flags, call.environ, call.command), error.problems
    else:
        rows = preview.settings_rows(options)
        names = ("name", "value", "from", "name_there")
        effects.tell("settings", [dict(zip(names, map(_text, row), strict=True)) for row in rows])
        shown = [(name, value, there or of) for name, value, of, there in rows if is_whole or of != "default"]
        table = Table(("Setting", "Value", "From"), "<<<", shown)
        effects.out(console.draw_table(table) if shown else "Nothing is set: every setting has its default.")
        found, problems = _would_read(options, effects, call.options_at)
        problems = (*reporting.untrusted_checkout(options, effects), *problems)
        _show("reads", "A run would read", [*found, ("commit", _commit(effects))], effects)
    seen = preview.github_facts(effects.context, effects.folder, has_token=bool(options.github_token))
    beyond = effects if is_whole else effects._replace(out=lambda _: None)
    _show("github", "GitHub, as far as known without asking it", seen, beyond)
    _show("publishes", "A run would publish", preview.publishing_facts(options, effects.context), beyond)
    more = "" if is_whole else " --all shows every setting, GitHub, and what a run would publish."
    effects.out(f"Nothing was written or sent.{more}")
    problems = [*dict.fromkeys(checked.place_at_source(problems, options))]
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


def _would_read(options: Settings, effects: Effects, options_at: OptionsAt) -> tuple[Facts, list[Problem]]:
    """Return how many files each pattern matches and how many cases they hold, and the problems of all of them."""
    given = sides.evaluators_in_use(options)
    if not given:
        return [("nothing", "")], [sides.no_input_problem()]
    idle = {name for one in EVALUATORS.values() if one not in given for name in one.input.settings}
    search = partial(case_files.expand_setting, options)
    named = [(name, options.value(name)) for name, _ in case_files.pattern_settings() if name not in idle]
    found = [search(name, patterns) for name, patterns in named if patterns]
    problems = [problem for one in found for problem in one.problems]
    facts: Facts = [
        (name.replace("_", "-"), Untrusted(f"{plural(len(search(name, [one]).paths), 'file')} of {one}"))
        for name, patterns in named
        for one in patterns
    ]
    if skipped := [disk.display_path(path) for one in found for path in one.skipped]:
        count = plural(len(skipped), "file")
        facts.append(("skipped", Untrusted(f"{count} of safe-gate's own or with another suffix: {', '.join(skipped)}")))
    here = options.on_this_machine()
    try:
        if options.shard:
            addons.scale.Shard.parse(options.shard)
            facts.append(("shard", f"{options.shard}: a run would judge nothing, and merge judges all shards"))
        if options.scheduler and any(not one.input.cases for one in given):
            addons.scale.cluster.check_scheduler(options.scheduler)
        try:
            judged, unless = _judged(here, effects, options_at), None
        except _NotAsked:
            facts.append(("from GitHub", "a run would ask it for a commit that is not in the clone"))
            alone = here.replace(baseline="", policy_ref="head", on_weakened="warn", max_age=None)
            judged, unless = _judged(alone, effects, options_at), sides.no_rule_problem(given)  # but one on the commit
        problems += (one for one in judged.problems if one not in problems and one != unless)
        facts += ((f"{one.title} cases", str(len(part.results))) for one, part in parts_of(judged.report.parts))
        facts += _trials(sides.take_snapshot(here)) if not problems else ()
    except CannotJudge as error:
        problems += error.problems
    return facts, problems


def _judged(options: Settings, effects: Effects, options_at: OptionsAt) -> reporting.Judged:
    """Return what a run would find, without a word and without GitHub. Raises CannotJudge or _NotAsked."""
    quiet = _Unasked(*effects._replace(out=lambda _: None, err=lambda _: None, tell=lambda _name, _fact: None))
    reports = reporting.reports_of(options)
    for path in reports:
        disk.refuse_file_as_folder(path)
    begin = partial(reporting.refuse_to_overwrite, reports, options)
    return one_run.judge(options, quiet, options_at, None, begin=begin)


class _NotAsked(Exception):
    """A run would ask GitHub here."""


class _Unasked(Effects):
    """Effects that ask GitHub nothing."""

    def connect(self, access: Access) -> NoReturn:  # noqa: ARG002 - as that of Effects
        """Raise _NotAsked."""
        raise _NotAsked


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
