"""Shell: compares a run with its baseline, whose cases are scored by their own rules and by today's. Reads files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from safe_gate import __version__
from safe_gate.baseline.source import Baseline
from safe_gate.core.compared import Against, Comparison
from safe_gate.core.digests import digest
from safe_gate.core.model import CannotJudge, Parts, Place, Problem
from safe_gate.core.report import Report
from safe_gate.core.validate import LONGEST_QUOTE, masked, suggestion
from safe_gate.evaluators import EVALUATORS, outcomes_of, parts_of, without_texts
from safe_gate.gate import drops, regression
from safe_gate.inputs import matching
from safe_gate.inputs import named as named_files
from safe_gate.inputs import rules as own_rules
from safe_gate.inputs.disk import HERE
from safe_gate.inputs.named import narrowed
from safe_gate.inputs.spool import Store
from safe_gate.scoring import asked, intake, measure, refusals
from safe_gate.settings.options import Options

OptionsAt = Callable[[Path], Options]
"""The settings of a run whose config file is read below a folder; flags and environment stay."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of two runs to compare: its parts, the digests of what scores follow from, and whether texts are withheld.

    `cluster_key` is the field that its cases are clustered by, "" for none; `filters` are those of `asked.FILTERS`.
    """

    parts: Parts
    rules: Mapping[str, str]
    is_withheld: bool
    cluster_key: str
    filters: Mapping[str, Sequence[str]]


def guards(options: Options) -> drops.Guards:
    """Return what of a comparison breaks a run under these options."""
    return drops.Guards(**{field.name: getattr(options, field.name) for field in fields(drops.Guards)})


def side(parts: Parts, options: Options, *, root: Path = HERE) -> Side:
    """Return a run as it is compared, given its options and where its rule packs lie."""
    return _side(parts, __version__, measure.rules_digest(options, root=root), asked.settings(options))


def side_of_report(report: Report) -> Side:
    """Return the run that left a report."""
    provenance = report.provenance
    return _side(report.parts, report.tool.version, provenance.packs_sha256, provenance.policy)


def _side(parts: Parts, version: str, packs_sha256: str, policy: Mapping[str, Any]) -> Side:
    rules = {
        name: digest([version, packs_sha256 if one.rule_files else "", one.scored_by(parts[name], policy)])
        for name, one in EVALUATORS.items()
    }
    own = {name: parts[name] for name in EVALUATORS}
    filters = {name: policy.get(name) or () for name in asked.FILTERS}
    return Side(own, rules, policy["text"] != "full", policy["cluster_key"], filters)


def measured(
    options: Options,
    generated_at: str,
    *,
    root: Path,
    ruled: tuple[Options, Path] | None = None,
    is_baseline: bool = False,
) -> Parts:
    """Return what evaluators make of the inputs below a folder, by the rules of the options, or of `ruled` there.

    Cases that ask for a check which the rules of `ruled` do not have are left out.
    A pattern that names no file below the folder counts for nothing, nor, of a baseline, does a concern or a filter
    that leaves no case: it may be new. Raises CannotJudge with every problem.
    """
    there = narrowed(options, root)
    scoring, rules_root = ruled or (there, root)
    found: dict[str, measure.Measured] = {}
    for evaluator in asked.given(there):
        recipe = own_rules.recipe(evaluator, asked.settings(scoring), root=rules_root)
        found[evaluator.name] = measure.part(
            evaluator, there, generated_at, root=root, recipe=recipe, passes_over=ruled is not None
        )
    for evaluator in asked.given(there) if is_baseline else ():
        one = found[evaluator.name]
        no_case = refusals.no_case(evaluator, asked.settings(there), one.groups, one.left_out)
        if no_case and one.problems == refusals.as_shown([no_case], there):
            del found[evaluator.name]
    if problems := [problem for one in found.values() for problem in one.problems]:
        raise CannotJudge(*problems)
    return {name: found[name].part if name in found else None for name in EVALUATORS}


def named_nowhere(options: Options, roots: Sequence[Path]) -> Iterator[Problem]:
    """Yield a problem for each pattern of options that names no file below any of some folders."""
    left = [narrowed(options, root) for root in roots]
    for name, suffix in named_files.settings():
        for pattern in getattr(options, name):
            if not any(pattern in getattr(one, name) for one in left):
                yield matching.no_match(pattern, suffix, roots[-1])


def against(
    base: Baseline | None,
    head: Side,
    options: Options,
    options_at: OptionsAt,
    generated_at: str,
    *,
    root: Path = HERE,
    waived: Mapping[str, Set[str]] | None = None,
) -> Comparison:
    """Return the comparison of a run with its baseline.

    `options` are the run's own, and what `options_at` gives withholds texts as they do; the run's rule packs lie
    below `root`; `waived` is that of `drops.judge`.
    Raises CannotJudge with every problem of the baseline: one that cannot be read is never a pass.
    """
    none = Comparison(named(base, options, generated_at), drops.Status.NONE.value, [], dict.fromkeys(EVALUATORS))
    if base is None:
        return none
    try:
        old, today = _baseline(base, head, options, options_at, generated_at, root)
    except CannotJudge as error:
        raise at_baseline(base, error) from None
    if not any(old.parts.values()):
        return none
    old, head = alike(old, head)
    if today and head.is_withheld:
        today = _withheld(today)
    if problems := tuple(_named_nothing(old, head, options)):
        raise CannotJudge(*problems)
    same_rules = {name: old.rules[name] == head.rules[name] for name in EVALUATORS}
    compared = regression.compare(
        old.parts,
        today.parts if today else None,
        head.parts,
        guards(options),
        same_rules,
        same_clusters=old.cluster_key == head.cluster_key,
        counts=lambda outcome: asked.selects(head.filters, outcome.groups),
    )
    without = [name for name in EVALUATORS if head.parts[name] and not old.parts[name]]
    outcomes = drops.judge(compared, guards(options), waived)
    status = drops.status(compared, outcomes, guards(options)).value
    return replace(none, status=status, without_baseline=without, parts=compared, cluster_key=head.cluster_key)


def texts_before(base: Baseline, comparison: Comparison, options: Options, options_at: OptionsAt) -> Store:
    """Return the baseline's texts of the cases in both runs that are not the same, by `texts_key`.

    They are read again from the files of its commit; a report has none. `options` are the run's own. Raises
    CannotJudge as reading them does.
    """
    texts = Store(held=0)
    if base.report is not None:
        return texts
    own = narrowed(asked.asked_alike(options_at(base.root), options), base.root)
    changed = {
        evaluator.name: {*part.cases.changed_outputs, *part.cases.changed_expectations}
        for evaluator, part in parts_of(comparison.parts)
    }
    for evaluator in asked.given(own):
        wanted = changed.get(evaluator.name, ())
        for case in intake.cases(evaluator, own, root=base.root) if wanted else ():
            if not isinstance(case, intake.Other) and case.id in wanted:
                texts.setdefault(texts_key(evaluator.name, case.id), case.texts())
    return texts


def texts_key(evaluator: str, case_id: str) -> str:
    """Return what the texts of a case are kept by."""
    return f"{evaluator} {case_id}"


def _named_nothing(old: Side, head: Side, options: Options) -> Iterator[Problem]:
    """Yield a problem for each setting that names what no case has: it would guard nothing."""
    if any(head.filters.values()) or not (options.protect or options.cluster_key):
        return  # what is named may be of a case that the filters leave out
    results = [one for run in (old, head) for name, part in run.parts.items() for one in outcomes_of(name, part)]
    known = {name for outcome in results for name in (outcome.id, *outcome.groups)}
    for name in options.protect:
        if name not in known:
            words = "which is no case's id, tag or archetype"
            shown = f"names {name[:LONGEST_QUOTE]!r}, {words}{suggestion(name, list(known))}"
            yield Problem(Place("protect"), shown, text_free=f"names {masked(name)}, {words}")
    if options.cluster_key and not any(outcome.cluster for outcome in results):
        key, words = options.cluster_key, "a field that no case has a value for"
        shown, hidden = (f"names {name}, {words}" for name in (repr(key[:LONGEST_QUOTE]), masked(key)))
        yield Problem(Place("cluster-key"), shown, text_free=hidden)


def _baseline(
    base: Baseline, head: Side, options: Options, options_at: OptionsAt, generated_at: str, root: Path
) -> tuple[Side, Side | None]:
    """Return the baseline as it was judged, and its outputs judged by the run's rules if it has them."""
    if base.report is not None:
        return side_of_report(base.report), None
    own = asked.asked_alike(options_at(base.root), options)
    found = measured(own, generated_at, root=base.root, is_baseline=True)
    old = side(found, narrowed(own, base.root), root=base.root)
    if old.rules == head.rules:
        return old, old
    found = measured(own, generated_at, root=base.root, ruled=(options, root), is_baseline=True)
    today = side(found, options, root=root)
    # An evaluator whose rules are not those of head says nothing: head may be a report made by others.
    parts = {name: part if today.rules[name] == head.rules[name] else None for name, part in today.parts.items()}
    return old, replace(today, parts=parts)


def alike(old: Side, new: Side) -> tuple[Side, Side]:
    """Return two runs, both without texts if one is: stand-ins can be compared with stand-ins alone."""
    return (_withheld(old), _withheld(new)) if old.is_withheld or new.is_withheld else (old, new)


def _withheld(one: Side) -> Side:
    """Return a run with stand-ins for texts: its own where it has some, for one of one would be another."""
    if one.is_withheld:
        return one
    parts = {name: part and without_texts(name, part) for name, part in one.parts.items()}
    return replace(one, parts=parts, is_withheld=True)


def at_baseline(base: Baseline, error: CannotJudge) -> CannotJudge:
    """Return an error of a commit's files with its problems at their places there, written as git does."""
    if base.root == HERE:
        return error
    at = f"{base.commit[:7] or base.name}:"
    return CannotJudge(*(replace(one, place=Place(at + one.place.path, one.place.line)) for one in error.problems))


def named(base: Baseline | None, options: Options, generated_at: str) -> Against:
    """Return what a baseline is called in the report, and how old it is."""
    made_at, age = base.made_at if base else "", None
    if made_at:
        age = max(0, (datetime.fromisoformat(generated_at) - datetime.fromisoformat(made_at)).days)
    return Against(
        name=base.name if base else options.baseline,
        commit=base.commit if base else "",
        made_at=made_at,
        age_days=age,
    )
