"""What Python code calls to score one clinical output: `safe_gate.score_output`. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Literal

from safe_gate.core.validate import quote, suggestion
from safe_gate.evaluators.safe_v0 import result as safe_result
from safe_gate.evaluators.safe_v0 import score as safe_score
from safe_gate.evaluators.safe_v0.result import METRICS, THRESHOLDS, WEIGHTS
from safe_gate.model.problems import Place

Match = Literal["literal", "normalised"]


def score_output(
    *,
    signals: Iterable[str],
    summary: str,
    followup_questions: Iterable[str],
    must_find_signals: Iterable[str] = (),
    forbidden_terms: Iterable[str] = (),
    must_contain_phrases: Iterable[str] = (),
    thresholds: Mapping[str, Mapping[str, float]] | None = None,
    weights: Mapping[str, float] | None = None,
    strict_ah: bool = False,
    match: Match = "literal",
) -> safe_result.Result:
    """Return the SAFE v0 scores and the label of an output of a clinical pipeline.

    The first three arguments are the output, the next three are the case's expectations. `thresholds` are from 0 to 1,
    such as `{"CR": {"pass": 0.9}}`, and `weights` are such as `{"AH": 2}`. Missing entries have their defaults.
    `strict_ah` and `match` are the settings `strict-ah` and `safe-match`. `result.label` is Pass, Review or Fail,
    `result.scores["CR"]` is a score from 0 to 1, and `result.missing["CR"]` lists what was not found. Raises
    ValueError for an invalid name or number, TypeError for a wrong type.

    >>> score_output(signals=["Fever"], summary="", followup_questions=[], must_find_signals=["fever"]).label
    <Label.PASS: 'Pass'>
    """
    texts(summary=summary)
    if not isinstance(strict_ah, bool):
        raise TypeError(f"strict_ah: is {type(strict_ah).__name__}; expected True or False")
    case = safe_score.Case(
        test_id="",
        concern_id="",
        batch_id="",
        archetype="Unknown",
        must_find_signals=_list("must_find_signals", must_find_signals),
        forbidden_terms=_list("forbidden_terms", forbidden_terms),
        must_contain_phrases=_list("must_contain_phrases", must_contain_phrases),
        signals=_list("signals", signals),
        summary=summary,
        followup_questions=_list("followup_questions", followup_questions),
        place=_NOWHERE,
    )
    policy = safe_score.Policy(
        thresholds=_thresholds({} if thresholds is None else thresholds),
        weights=_weights({} if weights is None else weights),
        strict_ah=strict_ah,
        is_normalised=one_of("match", match, ("literal", "normalised")) == "normalised",
    )
    return safe_score.score_case(case, policy)


_NOWHERE = Place("")


def one_of(argument: str, name: str, known: Collection[str]) -> str:
    """Return a known name. Raises ValueError for an unknown name, TypeError for a value that is not text."""
    texts(**{argument: name})
    if name not in known:
        words = f"{quote(name)} is not known{suggestion(name, [*known])}; expected {', '.join(known)}"
        raise ValueError(f"{argument}: {words}")
    return name


def several(argument: str, names: Iterable[str], known: Collection[str]) -> tuple[str, ...]:
    """Return names that are known. Raises ValueError for another, and for none: that would pass without a check."""
    found = tuple(one_of(argument, name, known) for name in _list(argument, names))
    if not found:
        raise ValueError(f"{argument}: is empty, which would always pass; expected some of {', '.join(known)}")
    return found


def texts(**texts: str) -> None:
    """Raise TypeError for a value that is not text."""
    for argument, text in texts.items():
        if not isinstance(text, str):
            raise TypeError(f"{argument}: is {type(text).__name__}; expected text")


def _list(argument: str, given: Iterable[str]) -> tuple[str, ...]:
    """Return a list of texts. Raises TypeError for a single text, which is a list of letters to Python."""
    if isinstance(given, str):
        raise TypeError(f"{argument}: is a text; expected a list of texts")
    found = tuple(given)
    texts(**{f"{argument}[{index}]": text for index, text in enumerate(found)})
    return found


def _mapping(argument: str, given: object) -> None:
    """Raise TypeError for a value that is not a mapping."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{argument}: is {type(given).__name__}; expected a mapping")


def _thresholds(given: Mapping[str, Mapping[str, float]]) -> dict[str, safe_score.Threshold]:
    _mapping("thresholds", given)
    found = {}
    for metric in map(partial(one_of, "thresholds", known=METRICS), given):
        _numbers(f"thresholds.{metric}", given[metric], ("pass", "review"), 1)
    for metric, default in THRESHOLDS.items():
        limits = {**default, **given.get(metric, {})}
        if limits["pass"] < limits["review"]:
            raise ValueError(f"thresholds.{metric}: pass is below review; expected pass >= review")
        found[metric] = safe_score.Threshold(float(limits["pass"]), float(limits["review"]))
    return found


def _weights(given: Mapping[str, float]) -> dict[str, float]:
    _numbers("weights", given, METRICS, 1_000_000)
    found = {**WEIGHTS, **given}
    if not any(found.values()):
        raise ValueError("weights: are all zero; expected at least one weight above 0")
    return found


def _numbers(argument: str, given: Mapping[str, float], known: Collection[str], most: float) -> None:
    """Raise ValueError for an unknown name, and for a value that is not a number from 0 to `most`."""
    _mapping(argument, given)
    for name, value in given.items():
        one_of(argument, name, known)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
            raise ValueError(f"{argument}.{name}: is {value!r}; expected a number from 0 to {most}")
