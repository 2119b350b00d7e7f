"""A report as events: one for each case and batch, and one for the run. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.jsontext import digest
from safe_gate.evaluators.registry import parts_of, results_of
from safe_gate.model import codec
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import number
from safe_gate.model.report import Report
from safe_gate.model.results import CaseResult, Untrusted
from safe_gate.render.untrusted import plain, quote_phrase
from safe_gate.render.view import rule_message

VERDICT = "safe.gate.verdict"
"""The type of the event of a run."""

_LONGEST = 1_000


class Run(NamedTuple):
    """The identity of a run: `source` is a URI reference, `gate` its name, `repository` and `url` addresses or ""."""

    source: str
    gate: str = ""
    repository: str = ""
    url: str = ""


class Evaluation(NamedTuple):
    """The result of a metric, check or verdict: a short label, a score from 0 to 1 or None, a reason."""

    name: str
    label: str = ""
    score: float | None = None
    explanation: str = ""


class Event(NamedTuple):
    """An event for sinks, independent of their formats.

    `subject` is a case or a batch in escaped words, "" for the run. `batch` is the batch of a case, and `status` its
    pass or fail. `data` has the `timestamp` of the event.
    """

    type: str
    subject: str
    data: JsonObject
    evaluations: tuple[Evaluation, ...]
    batch: str = ""
    status: str = ""


def report_events(report: Report, run: Run, *, with_text: bool) -> Iterator[Event]:
    """Yield the events of a report: for each evaluator its cases and batches, then the verdict.

    Recorded text is in them only `with_text`, and as the report has it: with `text: none` hashes.
    """
    timestamp = report.generated_at
    for evaluator, part in parts_of(report.parts):
        for result in results_of(part):
            yield _case_events(evaluator, part, result, timestamp, with_text=with_text)
        for one in evaluator.present.batch_events(part):
            rate, batch = Evaluation(f"{evaluator.name}.pass_rate", score=one.pass_rate), _clean_name(one.batch)
            yield Event(one.type, batch, {**one.data, "timestamp": timestamp}, (rate,), batch)
    yield _verdict_event(report, run)


def _case_events(evaluator: Evaluator, part: Any, result: CaseResult, timestamp: str, *, with_text: bool) -> Event:
    judgements = tuple(evaluator.present.judgements(part, result))
    type_, data = evaluator.present.result_event(result, judgements, with_text=with_text)
    return Event(
        type_,
        _clean_name(result.id),
        {**data, "timestamp": timestamp},
        tuple(
            Evaluation(
                f"{evaluator.name}.{one.by}",
                one.outcome,
                one.score,
                "; ".join(map(quote_phrase, one.evidence))[:_LONGEST] if with_text else "",
            )
            for one in judgements
        ),
        batch=_clean_name(result.batch),
        status="pass" if evaluator.compare.outcome(result).passed else "fail",
    )


def _verdict_event(report: Report, run: Run) -> Event:
    verdict, digests = report.verdict.value, report.provenance.digests
    summaries = {one.name: codec.to_json(part.summary) for one, part in parts_of(report.parts)}
    data: dict[str, Any] = {
        "verdict": verdict,
        "rules": [*map(codec.to_json, report.rules)],
        "summaries": {
            name: {key: value for key, value in one.items() if isinstance(value, int | float)}
            for name, one in summaries.items()
        },
        "problems": number(report.problems),
        "gate": run.gate,
        "repository": run.repository,
        "run": run.url,
        "commit": report.provenance.commit,
        "digest": digests.all if digests else "",
        "tool": codec.to_json(report.tool),
        "timestamp": report.generated_at,
    }
    why = "; ".join(quote_phrase(rule_message(rule)) for rule in report.broken())[:_LONGEST]
    return Event(VERDICT, "", data, (Evaluation("safe_gate.verdict", verdict, None, why),))


def _clean_name(name: str) -> str:
    """Return a recorded name without what CloudEvents and OTLP refuse: control characters, half surrogate pairs."""
    return plain(Untrusted(name), _LONGEST)


def cloud_events(events: Iterator[Event], run: Run) -> Iterator[dict[str, Any]]:
    """Yield events as CloudEvents 1.0; the `id` follows from the content, so an event sent twice has one id.

    Source: https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/spec.md
    """
    for index, event in enumerate(events):
        yield {
            "specversion": "1.0",
            "id": digest([run.source, index, event.type, event.data])[:32],
            "source": run.source,
            "type": event.type,
            **({"subject": event.subject} if event.subject else {}),
            "time": event.data["timestamp"],
            "datacontenttype": "application/json",
            "data": event.data,
        }
