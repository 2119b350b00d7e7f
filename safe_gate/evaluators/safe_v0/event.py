"""The events of a case and of a batch (SAFE v0 spec sections 8.1 and 8.2). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from safe_gate.core.model import JsonObject, Judgement
from safe_gate.core.shown import BatchEvent
from safe_gate.evaluators.safe_v0.metrics import METRICS, Label
from safe_gate.evaluators.safe_v0.part import Part
from safe_gate.evaluators.safe_v0.result import Entry

RESULT = "safe.v0.result"
"""The type of the event of a case."""

BATCH = "safe.v0.batch"
"""The type of the event of a batch."""


def result(entry: JsonObject, _judgements: Sequence[Judgement], *, with_text: bool) -> dict[str, Any]:
    """Return the event of a case, by its entry of `results[]`. The matched texts are in it only `with_text`."""
    case = Entry(entry)
    return {
        "test_id": case.id,
        "batch_id": case.batch,
        "archetype": case.archetype,
        "scores": {metric: case.scores[metric] for metric in METRICS},
        "label": case.label.value,
        **({"details": case.details} if with_text else {}),
    }


def batches(part: JsonObject) -> Iterator[BatchEvent]:
    """Yield the event of each batch, in the order of the ids."""
    for batch, figures in Part.from_json(part).by_batch.items():
        labels, rate = figures.rates.labels, figures.rates.pass_rate
        summary = {
            "total_cases": figures.total_cases,
            "pass": labels[Label.PASS],
            "review": labels[Label.REVIEW],
            "fail": labels[Label.FAIL],
            "overall_pass_rate": rate,
        }
        data = {"concern_id": figures.concern_id, "batch_id": batch, "summary": summary}
        yield BatchEvent(BATCH, batch, data, rate)
