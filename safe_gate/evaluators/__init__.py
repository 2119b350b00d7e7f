"""The evaluators: each measures recorded outputs and shows what it measured; none judges.

A new evaluator is one folder here and one line in `EVALUATORS`; CONTRIBUTING says how its input is read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from safe_gate.evaluators.safe_v0 import outcome as _safe_v0_outcome
from safe_gate.evaluators.safe_v0.section import finding as _safe_v0_finding
from safe_gate.evaluators.safe_v0.section import section as _safe_v0
from safe_gate.evaluators.synthesis import outcome as _synthesis_outcome
from safe_gate.evaluators.synthesis.score import is_negative as _is_negative
from safe_gate.evaluators.synthesis.section import finding as _synthesis_finding
from safe_gate.evaluators.synthesis.section import section as _synthesis
from safe_gate.model import Finding, JsonObject, Metric, Outcome, Section
from safe_gate.text import stand_in


class Evaluator(NamedTuple):
    """An evaluator's name for readers, and how its part of the report is shown to them and compared.

    `id_key` is where its results name their case, `finding` shows one of them, `outcome` is what it is
    compared by and `metrics` how; `guards` are the rules on single cases that mean something to it.
    `groups_key` is where what a case asks (`Case.asks()`) names its groups, and `is_excused` tells whether
    tags say that it is meant to fail.
    `quotes` are the keys of its part that hold recorded text, or expectations of it, as a string or a
    list; `gives_away` those that would tell the words of a withheld text.
    """

    title: str
    id_key: str
    section: Callable[[JsonObject], Section]
    finding: Callable[[JsonObject], Finding]
    outcome: Callable[[JsonObject], Outcome]
    metrics: Mapping[str, Metric]
    groups_key: str
    quotes: frozenset[str]
    is_excused: Callable[[Collection[str]], bool] = lambda _: False
    gives_away: frozenset[str] = frozenset()
    guards: frozenset[str] = frozenset()


EVALUATORS: Mapping[str, Evaluator] = {
    "safe_v0": Evaluator(
        "SAFE v0",
        "test_id",
        _safe_v0,
        _safe_v0_finding,
        _safe_v0_outcome.outcome,
        _safe_v0_outcome.COMPARED,
        "archetype",
        frozenset({"found", "missing", "violations", "new_violations", "signal", "term", "phrase", "CR", "AH", "AC"}),
        guards=frozenset({"new-violations", "label-drops"}),
    ),
    "synthesis": Evaluator(
        "Synthesis",
        "id",
        _synthesis,
        _synthesis_finding,
        _synthesis_outcome.outcome,
        _synthesis_outcome.COMPARED,
        "tags",
        frozenset({"text", "words"}),
        _is_negative,
        frozenset({"because"}),
    ),
}
"""The evaluators by their keys in the report, in reading order."""


def sections(report: JsonObject) -> tuple[Section, ...]:
    """Return what a reader is shown of every evaluator that has a part in the report."""
    return tuple(evaluator.section(report[name]) for name, evaluator in EVALUATORS.items() if report[name] is not None)


def without_texts(name: str, part: JsonObject) -> dict[str, Any]:
    """Return an evaluator's part of the report with a stand-in for every recorded text."""
    evaluator = EVALUATORS[name]

    def strip(value: Any, *, is_text: bool = False) -> Any:
        if isinstance(value, Mapping):
            return {
                key: strip(inner, is_text=key in evaluator.quotes)
                for key, inner in value.items()
                if key not in evaluator.gives_away or isinstance(inner, Mapping)  # a tag may have such a name
            }
        if isinstance(value, list):
            return [strip(inner, is_text=is_text) for inner in value]
        return stand_in(value) if is_text and isinstance(value, str) else value

    stripped: dict[str, Any] = strip(part)
    return stripped
