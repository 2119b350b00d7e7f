"""The events of a case and of a batch (SAFE v0 spec sections 8.1 and 8.2). Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from safe_gate.core.shown import BatchEvent
from safe_gate.evaluators.safe_v0.part import Part, Summary
from safe_gate.evaluators.safe_v0.result import Result
from safe_gate.model import codec

RESULT = "safe.v0.result"
"""The type of the event of a case."""

BATCH = "safe.v0.batch"
"""The type of the event of a batch."""


def result(one: Result, *, with_text: bool) -> dict[str, Any]:
    """Return the event of a case. The matched texts are in it only `with_text`."""
    return {
        "test_id": one.id,
        "batch_id": one.batch,
        "archetype": one.archetype,
        "scores": one.scores,
        "label": one.label.value,
        **({"details": codec.to_json(one.details)} if with_text else {}),
    }


def batches(part: Part) -> Iterator[BatchEvent]:
    """Yield the event of each batch, in the order of the ids."""
    for batch, figures in part.by_batch.items():
        summary = codec.to_json(Summary.of(figures.total_cases, figures.rates))
        data = {"concern_id": figures.concern_id, "batch_id": batch, "summary": summary}
        yield BatchEvent(BATCH, batch, data, figures.rates.pass_rate)
