"""The gate's judgement: a report and a policy in, an outcome for each rule and one verdict out.

Pure. Evaluators measure; this module says what is good enough, of cases, waivers and recordings. `comparison` judges
two runs and `weakening` a weaker gate; this module adds their outcomes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from safe_gate.core.evaluator import Evaluator, Rule, always
from safe_gate.core.figures import format_distinct, plural
from safe_gate.evaluators.registry import EVALUATORS, parts_of, results_of
from safe_gate.gate import comparison, waivers, weakening
from safe_gate.model.codec import JsonObject
from safe_gate.model.report import (
    ComparedParts,
    Fault,
    Findings,
    Lock,
    Locked,
    Recordings,
    RuleOutcome,
    Stale,
    Verdict,
    Waivers,
)
from safe_gate.model.results import Failure
from safe_gate.model.spool import Spool

_SHARED = ("max-no-reply", "max-same-reply", "max-vacuous")
"""The rules that several evaluators may have. They are reported last, by name."""

RULES = tuple(
    sorted(
        (rule for evaluator in EVALUATORS.values() for rule in evaluator.gate.rules),
        key=lambda rule: _SHARED.index(rule.name) if rule.name in _SHARED else -1,
    )
)
"""The rules in the order they are reported; each is named as its option."""

LIMITS = tuple(dict.fromkeys((*(rule.setting for rule in RULES), *weakening.OWN_LIMITS)))
"""The names of the limits, as options and the policy have them."""


def limits_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the limit of each rule by name, of settings or of a report."""
    return {name: settings.get(name) for name in LIMITS}


UNJUDGED = "each rule is off, has too few cases or none to compare, or only finds unusable recordings"
"""Why no rule judges some cases."""


def judged(outcomes: Iterable[RuleOutcome]) -> set[str]:
    """Return the evaluators whose cases a rule judges, except a rule that has an outcome only if it finds something.

    If these counted, a recording with such a finding could pass where one without it has no verdict.
    """
    judging = {one.evaluator for one in outcomes if not one.skipped and (one.evaluator, one.rule) not in _ON_FINDINGS}
    return judging & EVALUATORS.keys()


_ON_FINDINGS = {(rule.evaluator, rule.name) for rule in RULES if rule.applies is not always}


def judge(found: Findings, policy: JsonObject) -> tuple[RuleOutcome, ...]:
    """Return the outcome of every rule that is on and applies to the findings.

    `policy` is as in `provenance.policy` of a report. It has the limit of each rule of `LIMITS`; None switches a rule
    off. Shares are fractions from 0 to 1. `groups` are limits by evaluator, by group (an archetype or a tag) and by
    rule. Those on rates count from `min_group` cases on.
    """
    outcomes = [*_of_cases(found, policy)]
    if found.comparison is not None:
        outcomes = [*_with_known_alone(outcomes, found, found.comparison.parts, policy)]
    if found.waivers:
        outcomes.append(_waivers_hold(found.waivers))
    if found.comparison is not None:
        outcomes += comparison.judge(found.comparison.parts, comparison.Guards.of(policy), waivers.waived_ids(found))
    if found.weakened is not None:
        outcomes += weakening.judge(found.weakened)
    if found.recordings is not None:
        outcomes += _recordings_hold(found.recordings)
    return tuple(outcomes)


def verdict(outcomes: Sequence[RuleOutcome]) -> Verdict:
    """Return fail if a rule is broken, else pass; error if no rule judges the cases."""
    if not all(outcome.passed for outcome in outcomes):
        return Verdict.FAIL
    return Verdict.PASS if judged(outcomes) else Verdict.ERROR


# --- rules on the cases of one run --------------------------------------------------------------


def _of_cases(found: Findings, policy: JsonObject) -> Iterator[RuleOutcome]:
    """Yield the outcomes of the rules that need no baseline."""
    waived, parts, limits = waivers.waived(found), found.parts, limits_of(policy)
    own = (pair for evaluator in EVALUATORS.values() for pair in evaluator.gate.own_rules(limits))
    for rule, limit in (*((rule, limits[rule.setting]) for rule in RULES), *own):
        part = parts[rule.evaluator]
        if limit is not None and part is not None and rule.applies(part):
            yield _named(rule, rule.judge(part, limit, waived[rule.evaluator]), part)
    for evaluator, part in parts_of(parts):
        if of_groups := policy["groups"].get(evaluator.name):
            yield from _of_groups(evaluator, part, of_groups, policy["min_group"], waived[evaluator.name])


def _of_groups(
    evaluator: Evaluator,
    part: Any,
    limits: Mapping[str, Mapping[str, float]],
    min_group: int,
    waived: Sequence[Failure],
) -> Iterator[RuleOutcome]:
    """Yield the outcomes of the rules on groups, by name. A rule on a rate is skipped for few cases, a count never."""
    figures = evaluator.grouping.figures(part)
    for group, own in sorted(limits.items()):
        cases = figures[group].cases if group in figures else 0
        members = [failure for failure in waived if group in failure.result.groups]
        for rule in (rule for rule in evaluator.gate.group_rules if rule.name in own):
            limit, least = own[rule.name], 1 if rule.counts else min_group
            if cases >= least:
                yield _named(rule, rule.judge(figures[group], limit, members, group), part)
            else:
                few = f"{plural(cases, 'case')}, min-group {least}" if cases else "no cases"
                skipped = RuleOutcome(rule.name, evaluator.name, None, limit, passed=True, found="skipped", detail=few)
                yield replace(skipped, group=group, skipped=True)


def _named(rule: Rule, outcome: RuleOutcome, part: Any) -> RuleOutcome:
    """Return the outcome of a broken rule with the names of the cases that break it, if no finding reports these."""
    if outcome.passed or rule.blames is None:
        return outcome
    names = tuple(one.id for one in results_of(part) if outcome.group in ("", *one.groups) and rule.blames(one))
    is_rate = bool(names) and isinstance(outcome.value, float)  # without a label there is no name
    rest = f", those of {plural(len(names), 'case')} do not" if is_rate else ""
    return replace(outcome, detail=f"{outcome.detail}{rest}", names=names or outcome.names)


def _with_known_alone(
    outcomes: Sequence[RuleOutcome], found: Findings, compared: ComparedParts, policy: JsonObject
) -> Iterator[RuleOutcome]:
    """Yield the outcomes; of a rule on a rate that the known cases alone break, the outcome on those.

    Otherwise a change could hide failures behind new cases that pass.
    """
    new = {evaluator.name: {one.id for one in part.cases.added} for evaluator, part in parts_of(compared)}
    known: dict[str, Any] = dict.fromkeys(EVALUATORS)  # the parts over the cases of both runs, if there are others too
    for evaluator, part in parts_of(found.parts):
        added, shared = new.get(evaluator.name), compared[evaluator.name]
        if added and shared and shared.cases.both:
            kept = Spool(result for result in part.results if result.id not in added)
            known[evaluator.name] = evaluator.gate.restrict(part, kept)

    def hidden(one: RuleOutcome, then: str) -> RuleOutcome:
        results = results_of(found.parts[one.evaluator])
        count = sum(case.id in new[one.evaluator] and one.group in ("", *case.groups) for case in results)
        words = f"among cases that the baseline has; with {plural(count, 'new case')} {then}"
        return replace(one, detail=f"{one.detail}, {words}")

    alone = {
        (one.rule, one.evaluator, one.group): one
        for one in _of_cases(replace(found, parts=known), policy)
        if not one.passed and isinstance(one.value, float)
    }
    for one in outcomes:
        other = alone.pop((one.rule, one.evaluator, one.group), None)
        if other and one.passed and one.value is not None:
            yield hidden(other, f"it is {format_distinct(one.value, one.threshold)[0]}")
        else:
            yield one
    for other in alone.values():
        yield hidden(other, "the rule does not apply")


def _waivers_hold(found: Waivers) -> RuleOutcome:
    """Return the outcome of the rule that no waiver is expired or unused.

    It names the case of each, and what the case fails if another waiver of the case is in force.
    """
    in_force = {one.case_id for one in found.applied}
    broken = (*found.expired, *found.unused)
    names = dict.fromkeys(
        f"{one.case_id}, {one.kind} {one.name}" if one.case_id in in_force else one.case_id for one in broken
    )
    faults, todo = list[str](), ""
    if count := len(found.expired):
        faults.append(plural(count, "waiver has expired", "waivers have expired"))
    if count := len(found.unused):
        faults.append(plural(count, "waiver is unused", "waivers are unused"))
        todo = f"correct or remove {'it' if count == 1 else 'them'}"
    words = " and ".join(faults) or f"{plural(len(found.applied), 'waiver')} in force, none expired or unused"
    return RuleOutcome("waivers", "gate", len(broken), 0, not broken, words, todo, names=tuple(names))


STALE_RECORDINGS = "stale-recordings"

_LOCK = "run safe-gate lock with this config"
_AGAIN = f"record it again, then {_LOCK}"
_ADVICE = {
    **dict.fromkeys((Fault.NOT_LOCKED, Fault.NOT_RENEWED), f"{_LOCK} when it is recorded"),
    Fault.MODEL_CHANGED: f"{_AGAIN}; if the model is the same, name it with --model",
}
"""What to do about a stale recording, if not `_AGAIN`."""


def entry_before(path: str, entry: Locked, base: Lock, origins: Collection[str]) -> Locked | None:
    """Return what the base's lock says of a recording, None if it is new.

    `origins` are the recordings from which its cases come: of the sources that its `entry` has now, theirs count too.
    Its model may be that of any.
    """
    own = base.recordings.get(path, Locked("", "", "", {}))
    before = [one for name, one in base.recordings.items() if name in {path, *origins}]
    known = {name: sha for one in before for name, sha in one.sources.items() if name in entry.sources}
    models = [one.model for one in before]
    model = entry.model if entry.model in models else max(models, default="")
    return replace(own, model=model, sources=known | dict(own.sources)) if before else None


def stale(path: str, now: Locked, entry: Locked | None, before: Locked | None, *, is_same: bool) -> Iterator[Stale]:
    """Yield why a recording is stale, nothing if it is not.

    `now` is the recording as it is, with its sources; `entry` is what the lock says of it, `before` what
    the lock of the base commit says. It `is_same` if its cases have the base's outputs.
    """
    if entry is None:
        yield Stale(path, Fault.NOT_LOCKED)
        return
    changed = _different(entry, now)
    if now.sha256 != entry.sha256:  # which of the two came first is not known
        yield Stale(path, Fault.NOT_RENEWED, changed)
        return
    if changed:
        yield Stale(path, Fault.SOURCES_CHANGED, changed)
    if before and (is_same or before.sha256 == now.sha256):
        if moved := _different(before, entry):
            yield Stale(path, Fault.NOT_RECORDED_AGAIN, moved)
        if before.model and before.model != entry.model:
            yield Stale(path, Fault.MODEL_CHANGED)


def _different(before: Locked, after: Locked) -> tuple[str, ...]:
    """Return the sources that changed, or that one of the two lacks."""
    every = sorted({*before.sources, *after.sources})
    return tuple(path for path in every if before.sources.get(path) != after.sources.get(path))


def _recordings_hold(found: Recordings) -> Iterator[RuleOutcome]:
    """Yield the outcome of the rule for each stale recording, or one if none is stale."""
    warns, words = found.on_stale == "warn", f"{plural(found.compared, 'recording')}, none stale"
    none = RuleOutcome(STALE_RECORDINGS, "gate", 0, 0, passed=True, found=words)
    if not found.stale:
        yield none
    for one in found.stale:
        words = f"{one.fault}, {plural(one.days, 'day')}; at most {found.max_age}" if one.days else one.fault.value
        detail = _ADVICE.get(one.fault, _AGAIN)
        detail += f"; {plural(len(one.files), 'source')} changed" if one.files else ""
        broken = replace(none, value=1, passed=warns, warns=warns, group=one.recording, names=one.files)
        yield replace(broken, found=words, detail=detail)
