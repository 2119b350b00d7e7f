"""Cases as lines of JSON, for programs: an object each, under schemas/report-case.schema.json. Pure.

No string is changed but by JSON's own escapes: nothing takes a string of JSON for a formula.
"""

from __future__ import annotations

from collections.abc import Iterator

from safe_gate.core.jsontext import line
from safe_gate.model.codec import JsonObject
from safe_gate.model.results import Judgement
from safe_gate.render.cases import ShownCase
from safe_gate.render.formats import why_look
from safe_gate.render.untrusted import quote_phrase
from safe_gate.render.view import ReportView


def _draw(view: ReportView) -> Iterator[str]:
    for case in view.cases():
        result = case.result
        row = {
            "evaluator": case.evaluator.name,
            "id": result.id,
            "source": {"path": result.place.path, "line": result.place.line},
            "label": case.outcome.words,
            "passed": case.outcome.passed,
            "expected_failure": bool(case.excused_by),
            "groups": list(result.groups),
            "judgements": {one.by: _judgement(case, one) for one in case.judgements},
            **({"change": case.change} if case.change else {}),
            **({"to_look_at": why} if (why := why_look(case)) else {}),
        }
        yield f"{line(row)}\n"


FILES = {"safe-gate.cases.jsonl": _draw}


def _judgement(case: ShownCase, judgement: Judgement) -> JsonObject:
    waiver = case.waivers.get(judgement.by)
    told = {"reason": waiver.reason, "owner": waiver.owner, "expires": waiver.expires} if waiver else {}
    return {
        "label": judgement.label,
        **({} if judgement.score is None else {"score": judgement.score}),
        "evidence": [quote_phrase(phrase) for phrase in judgement.evidence],
        "hits": [hit.as_quote() for hit in judgement.hits],
        **({"waiver": told} if told else {}),
    }
