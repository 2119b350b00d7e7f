"""What Python code calls to score one reply or one clinical output: `safe_gate.score_reply` and `score_output`.

It reads the shipped rules once for each way of scoring, and keeps them. A team's packs are read by each call. The
code that reads files is imported only for these.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, get_args

from safe_gate.core.case import OwnFile
from safe_gate.core.validate import quote, suggestion
from safe_gate.evaluators.safe_v0 import result as safe_result
from safe_gate.evaluators.safe_v0 import score as safe_score
from safe_gate.evaluators.safe_v0.result import METRICS, THRESHOLDS, WEIGHTS, Match
from safe_gate.evaluators.synthesis import packs as rule_packs
from safe_gate.evaluators.synthesis.case import Case
from safe_gate.evaluators.synthesis.checks import score, wording
from safe_gate.evaluators.synthesis.checks.turn import Rules
from safe_gate.evaluators.synthesis.definitions import DEFAULT_CHECKS, WORDING, is_own
from safe_gate.evaluators.synthesis.result import Result
from safe_gate.model.problems import CannotJudge, Place, Problem


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
    ValueError for an invalid name or number and for a blank expectation, TypeError for a wrong type.

    >>> score_output(signals=["Fever"], summary="", followup_questions=[], must_find_signals=["fever"]).label
    <Label.PASS: 'Pass'>
    """
    _are_texts(summary=summary)
    _one_of("match", match, get_args(Match))
    if not isinstance(strict_ah, bool):
        raise TypeError(f"strict_ah: is {type(strict_ah).__name__}; expected True or False")
    case = safe_score.Case(
        test_id="",
        concern_id="",
        batch_id="",
        archetype="Unknown",
        must_find_signals=_terms("must_find_signals", must_find_signals),
        forbidden_terms=_terms("forbidden_terms", forbidden_terms),
        must_contain_phrases=_terms("must_contain_phrases", must_contain_phrases),
        signals=_list("signals", signals),
        summary=summary,
        followup_questions=_list("followup_questions", followup_questions),
        place=Place(""),
    )
    settings = {
        "thresholds": _thresholds({} if thresholds is None else thresholds),
        "weights": _weights({} if weights is None else weights),
        "strict_ah": strict_ah,
        "safe_match": match,
    }
    try:
        return safe_score.score_case(case, safe_score.Policy.of(settings))
    except CannotJudge as error:
        raise _refusal(error.problems) from None


def _one_of(argument: str, name: str, known: Collection[str]) -> None:
    """Raise ValueError for an unknown name, TypeError for a value that is not text."""
    _are_texts(**{argument: name})
    if name not in known:
        words = f"{quote(name)} is not known{suggestion(name, [*known])}; expected {', '.join(known)}"
        raise ValueError(f"{argument}: {words}")


def _are_texts(**texts: str) -> None:
    """Raise TypeError for a value that is not text."""
    for argument, text in texts.items():
        if not isinstance(text, str):
            raise TypeError(f"{argument}: is {type(text).__name__}; expected text")


def _list(argument: str, given: Iterable[str]) -> tuple[str, ...]:
    """Return a list of texts. Raises TypeError for a single text, which is a list of letters to Python."""
    if isinstance(given, str):
        raise TypeError(f"{argument}: is a text; expected a list of texts")
    found = tuple(given)
    _are_texts(**{f"{argument}[{index}]": text for index, text in enumerate(found)})
    return found


def _terms(argument: str, given: Iterable[str]) -> tuple[str, ...]:
    """Return a list of texts to look for. Raises ValueError for a blank one, as for a case of a file."""
    found = _list(argument, given)
    for index, text in enumerate(found):
        if not text.replace("\ufeff", "").strip():
            raise ValueError(f"{argument}[{index}]: is {quote(text)}; expected a text to look for that is not blank")
    return found


def _mapping(argument: str, given: object) -> None:
    """Raise TypeError for a value that is not a mapping."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{argument}: is {type(given).__name__}; expected a mapping")


def _thresholds(given: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    _mapping("thresholds", given)
    found = {}
    for metric, limits in given.items():
        _one_of("thresholds", metric, METRICS)
        _numbers(f"thresholds.{metric}", limits, ("pass", "review"), 1)
    for metric, default in THRESHOLDS.items():
        found[metric] = {**default, **given.get(metric, {})}
        if found[metric]["pass"] < found[metric]["review"]:
            raise ValueError(f"thresholds.{metric}: pass is below review; expected pass >= review")
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
        _one_of(argument, name, known)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
            raise ValueError(f"{argument}.{name}: is {value!r}; expected a number from 0 to {most}")


Profile = Literal["standard", "spec"]
Wanted = str | Mapping[str, str]
"""A text, or a regular expression as `{"regex": PATTERN}`."""


def score_reply(
    user: str,
    assistant: str,
    *,
    checks: Iterable[str] | None = None,
    must_contain: Iterable[Wanted] = (),
    must_not_contain: Iterable[Wanted] = (),
    packs: Iterable[str | os.PathLike[str] | Mapping[str, Any]] = (),
    profile: Profile = "standard",
) -> Result:
    """Return what the Synthesis checks say of a reply to a message. It is true if every check passes.

    `checks` are the names of checks; by default those of a run, and those that `packs` define. `must_contain` and
    `must_not_contain` are texts, or regular expressions as `{"regex": PATTERN}`, for the check `wording`. `packs` are a
    team's rule packs: paths, globs or values. `profile` is the setting of that name.
    `result.checks["topic_pivot"].passed` tells whether a check passes, `.hits` why: each hit has the rule, the words
    and their place. Raises ValueError for a name that is not known and for a pack that is wrong, TypeError for another
    type.

    >>> bool(score_reply("I failed my exam.", "I promise you'll be fine."))
    False
    """
    _are_texts(user=user, assistant=assistant)
    _one_of("profile", profile, ("standard", rule_packs.SPEC))
    try:
        given = tuple(_packs(packs))
        rules = _with_packs(profile, given) if given else _as_shipped(profile)
    except CannotJudge as error:
        raise _refusal(error.problems) from None
    own = tuple(filter(is_own, rules.checks))
    asked = {"must_contain": _wanted("must_contain", must_contain)}
    asked |= {"must_not_contain": _wanted("must_not_contain", must_not_contain)}
    known = (*rules.checks, WORDING)
    wanted = _list("checks", (*DEFAULT_CHECKS, *own) if checks is None else checks)
    for name in wanted:
        _one_of("checks", name, known)
    if not wanted:
        raise ValueError(f"checks: is empty, which would always pass; expected some of {', '.join(known)}")
    if WORDING in wanted and not any(asked.values()):
        raise ValueError("checks: wording needs must_contain or must_not_contain; add one, or leave wording out")
    for kind, index, why in wording.invalid_expressions(asked):
        raise ValueError(f"{kind}[{index}]: is not an RE2 regular expression: {why}; correct it, or write a text")
    return score.score_case(Case("", user, assistant, wanted, {}, (), Place(""), wording=asked), rules)


def _wanted(argument: str, given: Iterable[Wanted]) -> tuple[Wanted, ...]:
    """Return texts and expressions. Raises TypeError for other values, ValueError for an empty text."""
    if isinstance(given, str | Mapping):
        raise TypeError(f"{argument}: is a single value; expected a list of texts or of regular expressions")
    found = tuple(given)
    for index, one in enumerate(found):
        text = one.get("regex") if isinstance(one, Mapping) and len(one) == 1 else one
        if not isinstance(text, str):
            words = 'expected text, or {"regex": PATTERN}'
            raise TypeError(f"{argument}[{index}]: is {type(one).__name__}; {words}")
        if not text.strip():
            raise ValueError(f"{argument}[{index}]: is empty, which every reply contains; expected words")
    return found


_as_shipped = lru_cache(maxsize=8)(rule_packs.shipped_rules)


def _packs(given: Iterable[str | os.PathLike[str] | Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the names and the JSON texts of packs. Raises TypeError for a wrong type, CannotJudge for no such file."""
    for index, one in enumerate((given,) if isinstance(given, str | Mapping | os.PathLike) else given):
        if isinstance(one, Mapping):
            yield f"packs[{index}]", json.dumps(one, allow_nan=False)
        elif isinstance(one, str | os.PathLike):
            yield from _read(os.fspath(one))
        else:
            raise TypeError(f"packs[{index}]: is {type(one).__name__}; expected a path, or a pack as a mapping")


def _read(pattern: str) -> Iterator[tuple[str, str]]:
    from safe_gate.inputs import disk, globs

    paths, problems = globs.expand_on_disk([pattern], ".json")
    if problems:
        raise CannotJudge(*problems)
    for path in paths:
        yield disk.display_path(path), disk.read_text(path, disk.display_path(path))


@lru_cache(maxsize=8)
def _with_packs(profile: str, named: Sequence[tuple[str, str]]) -> Rules:
    from safe_gate.inputs import checked

    settings = {"profile": profile, "default_checks": DEFAULT_CHECKS, "tags": None, "rules_off": (), "helplines": _ALL}
    files = list[OwnFile]()
    for name, text in named:
        pack = checked.parse_document(text, name, "rule-pack")
        files.append(OwnFile(name, name, text.encode(), pack, checked.line_finder(text)))
    return rule_packs.from_recipe(rule_packs.recipe(settings, files))


_ALL: Mapping[str, tuple[str, ...]] = {}
"""The setting `helplines` with which those of all countries are right."""


def _refusal(problems: Iterable[Problem]) -> ValueError:
    from safe_gate.render import console

    return ValueError("\n".join(map(console.problem_line, problems)))
