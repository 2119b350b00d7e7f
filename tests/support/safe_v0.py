"""Cases of SAFE v0, scored, and a run of them."""

from collections.abc import Iterable
from typing import Any

from safe_gate.evaluators.safe_v0.result import METRICS, Result
from safe_gate.evaluators.safe_v0.score import Case, Policy, score_case
from safe_gate.model.problems import Place
from tests.support.cases import Ran, SafeGate, report


def policy(**settings: Any) -> Policy:
    """Return the default policy with other settings, by the names of options."""
    levels = {metric: {"pass": 1.0 if metric == "AH" else 0.8, "review": 0.5} for metric in METRICS}
    return Policy.of({"thresholds": levels, "weights": dict.fromkeys(METRICS, 1.0), "strict_ah": False, **settings})


DEFAULT = policy()


def case(**fields: Any) -> Case:
    names = {"test_id": "t", "concern_id": "c", "batch_id": "b", "archetype": "Unknown", "place": Place("b.json", 1)}
    lists = "must_find_signals forbidden_terms must_contain_phrases signals followup_questions"
    default: dict[str, Any] = names | {"summary": ""} | dict.fromkeys(lists.split(), ())
    return Case(**default | fields)


def scored(by: Policy = DEFAULT, **fields: Any) -> Result:
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
