"""`compare`: compare two runs, each a report, a commit or the working folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from safe_gate.baseline import comparison
from safe_gate.baseline.source import Baseline, RunSides, baseline_kind, refuse_narrower_filter
from safe_gate.baseline.weakened import terms_of, weakened_since
from safe_gate.commands._command import JSON, QUIET, VERBOSE, Call, Command, texts
from safe_gate.gate import rules, waivers, weakening
from safe_gate.gate.comparison import GUARDING, ComparedRun, Guards, Status, judge
from safe_gate.gate.weakening import Cases
from safe_gate.inputs.disk import HERE
from safe_gate.model import codec
from safe_gate.model.problems import CannotJudge, Code
from safe_gate.model.report import Findings, Report, Verdict, Weakened
from safe_gate.render import console
from safe_gate.render.comparison import comparison_section, headline
from safe_gate.scoring.measure import ScoringMethod, measure_all
from safe_gate.scoring.sides import SCORING, Snapshot, as_recorded
from safe_gate.settings import Settings
from safe_gate.settings.reading import outside_config

COMMAND = Command(
    place=7,
    summary="compare two runs: reports, git refs, or . for the working folder",
    exit_codes="0 no rule on the baseline is broken, 1 a rule is broken, 3 could not compare",
    arguments={
        "base": {"metavar": "BASE", "help": "a report (safe-gate.json) or a git ref"},
        "head": texts("HEAD", "a report, a git ref, or . (the default) for the working folder", "?", default="."),
        "--verbose": VERBOSE,
        "--quiet": QUIET,
        "--json": JSON,
    },
)


def main(call: Call) -> int:
    """Compare the two runs that the command line names. Returns 0, 1 or 3."""
    options, effects = _settings(call), call.effects
    base, head = call.arguments["base"], call.arguments["head"]
    with RunSides(options, effects, call.options_at) as run:
        old, new = map(run.open, (base, head))
        if new is None:
            raise _nothing_in(head)
        if new.report is not None:
            _refuse_other_settings(call.flags, options, new.report)
        roots = [one.root for one in (old, new) if one is not None and one.report is None]
        is_ours = len(roots) == 2 or roots == [HERE]  # a commit alone may lack files that were added since
        if is_ours and (problems := [*comparison.unmatched_patterns(run.settings_at(new.root), roots)]):
            raise CannotJudge(*problems)
        with new.placing():
            own = run.at(new.root)
            policy = _policy(new, own.options)
            side, known, cases = _head(new, own, run)
        if not any(side.parts.values()):
            raise _nothing_in(head)
        if old is None:
            raise _nothing_in(base)
        refuse_narrower_filter(old, policy)
        past = comparison.baseline_run(old, side, own, run)
        facts, guards = comparison.describe(old, effects.generated_at), Guards.of(policy)
        found = comparison.compare_to(facts, past, side, guards, policy["cluster_key"], waived=known)
        weakened = _weakened(old, new, (past.cases, cases), own, run)
    if found.status == Status.NONE:
        raise _nothing_in(base)
    outcomes = judge(found.parts, guards, known) + weakening.judge(weakened)
    if (verdict := rules.verdict(outcomes)) is Verdict.ERROR:
        words = f"has no case in common with {head}, by id: there is nothing to compare; name another run"
        raise CannotJudge.at(base, words, Code.BASE_UNAVAILABLE)
    effects.tell("comparison", codec.to_json(found))
    effects.tell("weakened", codec.to_json(weakened))
    effects.tell("rules", [*map(codec.to_json, outcomes)])
    if not options.quiet:
        for table in console.weakened_text(weakened):
            effects.out(table)
        section = comparison_section(found, side.parts)
        effects.out(console.scorecard(section, everything=call.arguments["verbose"]))
        effects.out(console.outcomes_table(outcomes))
    said = found.status if verdict is Verdict.PASS else verdict.value
    effects.tell("verdict", verdict.value)
    effects.out(f"Compare: {said.upper()} ({headline(found)})")
    return verdict.exit_code


def _settings(call: Call) -> Settings:
    """Return the settings of the working folder. Raises CannotJudge.

    Two commits need no config file in the working folder: if it cannot be read, the settings are those of HEAD.
    """
    base, head = call.arguments["base"], call.arguments["head"]
    try:
        return call.options()
    except CannotJudge:
        if any(one == "." or baseline_kind(one) != "commit" for one in (base, head)):
            raise
    options = call.options(replace(call.given(), read_config=lambda _: None))
    with RunSides(options, call.effects, call.options_at) as run:
        if (new := run.open(head)) is None:
            return options
        with new.placing():
            return call.options_at(new.root)


def _policy(new: Baseline, own: Settings) -> Mapping[str, Any]:
    """Return the settings that judge: those of a report, but for guards that a flag or a variable sets."""
    if new.report is None:
        return own.values()
    return {**new.report.provenance.policy, **{name: own.value(name) for name in outside_config(own) & {*GUARDING}}}


def _head(
    new: Baseline, own: Snapshot, run: RunSides
) -> tuple[ComparedRun, Mapping[str, frozenset[str]], Cases | None]:
    """Return the run to compare, the cases that waivers let pass, and the terms of all. Raises CannotJudge."""
    if new.report is not None:
        return comparison.compared_report(new.report), waivers.waived_ids(new.report), None
    how = ScoringMethod(case_terms=True)
    scores = measure_all(run.without_unmatched(new.root), run.effects.generated_at, how)
    parts = scores.sound_parts()
    judged = waivers.judge(own.waivers(), parts, run.effects.generated_at[:10])
    known = waivers.waived_ids(Findings(parts=parts, waivers=judged))
    return comparison.compared_run(parts, own), known, scores.case_terms


def _weakened(
    old: Baseline, new: Baseline, cases: tuple[Cases | None, Cases | None], own: Snapshot, run: RunSides
) -> Weakened:
    """Return how the gate got weaker between two commits; of a report this is unknown. `cases` are as in `terms_of`."""
    if old.report or new.report:
        is_asked = not (old.report and new.report) or "on_weakened" in outside_config(own.options)
        if own.options.on_weakened == "fail" and is_asked:
            words = "needs a commit on both sides: a report does not have what cases ask for; set warn here"
            raise CannotJudge.at("on-weakened", words, Code.INVALID_SETTING)
        return Weakened(None, on_weakened="warn", findings=())
    before, now = (terms_of(one, own.root, run, known) for one, known in zip((old, new), cases, strict=True))
    return weakened_since(old, before, now, own, run)


def _refuse_other_settings(flags: Iterable[str], options: Settings, head: Report) -> None:
    """Raise CannotJudge for a flag that would change the cases or scores of a finished report."""
    given = as_recorded(options, ({*SCORING} - {"text"}) & {*flags})
    for name, value in sorted(given.items()):
        if value != head.provenance.policy.get(name):
            words = "does not change a finished report; leave it out, or make the report again with it"
            raise CannotJudge.at(name.replace("_", "-"), words, Code.INVALID_SETTING)


def _nothing_in(spec: str) -> CannotJudge:
    what = "is not there" if baseline_kind(spec) == "missing report" else "has nothing to compare"
    words = f"{what}; expected a report, or a commit with cases of the settings' patterns"
    return CannotJudge.at(spec, words, Code.BASE_UNAVAILABLE)
