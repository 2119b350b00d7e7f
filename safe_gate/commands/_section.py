"""What a reader is shown of one evaluator's part of a report alone, by the commands that run one evaluator."""

from __future__ import annotations

from dataclasses import replace

from safe_gate.core.model import JsonObject, Section
from safe_gate.evaluators import EVALUATORS
from safe_gate.render.report import of_scoring
from safe_gate.scoring import measure
from safe_gate.settings.options import Options


def section_of(name: str, part: JsonObject, options: Options) -> Section:
    """Return an evaluator's section, with what a run remarks on its settings."""
    section = EVALUATORS[name].section(part)
    report = {**dict.fromkeys(EVALUATORS), name: part, "provenance": {"policy": measure.settings(options)}}
    return replace(section, notes=(*section.notes, *of_scoring(report)))
