"""Shell: the report of a run, and that of one that could not judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from safe_gate import __version__
from safe_gate.core.model import InputFile, Problem, RuleOutcome, Verdict
from safe_gate.core.problems import first_of
from safe_gate.core.report import Found, Provenance, Report, Tool
from safe_gate.evaluators import EVALUATORS
from safe_gate.github.effects import Effects
from safe_gate.runs.policy import Ruling, gate_policy
from safe_gate.scoring import asked
from safe_gate.settings.model import Settings

TOOL = Tool("safe-gate", __version__)


def report_of(
    verdict: Verdict,
    outcomes: Sequence[RuleOutcome],
    found: Found,
    provenance: Provenance,
    effects: Effects,
    problems: Sequence[Problem] = (),
) -> Report:
    """Return the whole report except its digests."""
    return Report(
        tool=TOOL,
        generated_at=effects.generated_at,
        verdict=verdict,
        rules=tuple(outcomes),
        parts=found.parts,
        waivers=found.waivers,
        comparison=found.comparison,
        weakened=found.weakened,
        provenance=provenance,
        problems=tuple(problems),
    )


def provenance(inputs: Sequence[InputFile], ruling: Ruling, effects: Effects) -> Provenance:
    """Return what a run follows from."""
    return replace(
        _unjudged(inputs, ruling.options, effects),
        packs_sha256=ruling.side.rules_digest(),
        policy_commit=ruling.base.commit if ruling.base else "",
    )


def _unjudged(inputs: Sequence[InputFile], options: Settings, effects: Effects) -> Provenance:
    """Return what a run follows from, but for rule packs, which may be what keeps it from a verdict."""
    return Provenance(
        commit=effects.context.head_sha,
        inputs=tuple(sorted(inputs, key=lambda file: file.path)),
        packs_sha256="",
        policy={**gate_policy(options).as_json(), **asked.settings(options)},
        policy_commit="",
    )


def error_report(
    problems: Sequence[Problem], options: Settings, effects: Effects, inputs: Sequence[InputFile] = ()
) -> Report:
    """Return the report of a run without a verdict: no scores, every problem."""
    follows_from = _unjudged(inputs, options, effects)
    nothing = Found(parts=dict.fromkeys(EVALUATORS))
    return report_of(Verdict.ERROR, (), nothing, follows_from, effects, first_of(problems))
