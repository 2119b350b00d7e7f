"""Cases of SAFE v0, scored, and a run of them."""

from collections.abc import Iterable, Sequence
from typing import Any

from safe_gate.evaluators.safe_v0.evaluator import Settings
from safe_gate.evaluators.safe_v0.result import Result
from safe_gate.evaluators.safe_v0.score import Case, recorded_policy, score_case
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import Place
from tests.support.cases import Ran, SafeGate, report


def policy(**settings: Any) -> JsonObject:
    """Return the default policy with other settings, by the names of options."""
    return recorded_policy(Settings(**settings).model_dump(by_alias=True))


DEFAULT = policy()


def case(
    *,
    must_find_signals: Sequence[str] = (),
    forbidden_terms: Sequence[str] = (),
    must_contain_phrases: Sequence[str] = (),
    **fields: Any,
) -> Case:
    names = {"id": "t", "concern_id": "c", "batch_id": "b", "archetype": "Unknown", "place": Place("b.json", 1)}
    said = {"signals": (), "summary": "", "followup_questions": ()}
    needles = {"CR": must_find_signals, "AH": forbidden_terms, "AC": must_contain_phrases}
    return Case(**{**names, **said, "needles": needles, **fields})


def scored(by: JsonObject = DEFAULT, **fields: Any) -> Result:
    return score_case(case(**fields), by)


def asking(signals: Iterable[str] = (), phrases: Iterable[str] = (), forbidden: Iterable[str] = ("policy",)) -> Any:
    return {
        "signal_generation": {"must_find_signals": list(signals)},
        "event_summary": {"must_contain_phrases": list(phrases)},
        "followup_questions": {"forbidden_terms": list(forbidden)},
    }


def saying(*signals: str, summary: str = "", questions: Iterable[str] = ("Why?",)) -> Any:
    return {"signals": list(signals), "summary": summary, "followup_questions": list(questions)}


def run(safe_gate: SafeGate, *flags: str) -> tuple[Ran, dict[str, Any]]:
    """Run the gate on `b.json`, whatever share passes, and return its part of the report too."""
    ran = safe_gate("run", "--safe-batch", "b.json", "--min-pass-rate", "0", *flags)
    return ran, report()["safe_v0"]
