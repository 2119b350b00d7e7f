"""What Python code calls to score one reply or one clinical output: `safe_gate.score_reply` and `score_output`.

It reads the shipped rules once for each way of scoring, and keeps them. A team's packs are read by each call. The
code that reads files is imported only for these.
"""

from __future__ import annotations

import json
import os
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, wraps
from inspect import signature
from typing import Annotated, Any, Literal, ParamSpec, TypeVar

from pydantic import AfterValidator, ConfigDict, ValidationError, validate_call

from safe_gate.core.case import OwnFile
from safe_gate.core.validate import quote, suggestion
from safe_gate.evaluators.safe_v0 import evaluator as safe_v0
from safe_gate.evaluators.safe_v0 import result as safe_result
from safe_gate.evaluators.safe_v0 import score as safe_score
from safe_gate.evaluators.safe_v0.result import Match
from safe_gate.evaluators.synthesis import packs as rule_packs
from safe_gate.evaluators.synthesis.case import Case
from safe_gate.evaluators.synthesis.checks import score, wording
from safe_gate.evaluators.synthesis.checks.turn import Rules
from safe_gate.evaluators.synthesis.definitions import DEFAULT_CHECKS, WORDING, is_own
from safe_gate.evaluators.synthesis.result import Result
from safe_gate.model.problems import CannotJudge, Place

P = ParamSpec("P")
T = TypeVar("T")


def _checked(function: Callable[P, T]) -> Callable[P, T]:
    """Return a function that refuses wrong arguments, and cases and packs that are wrong, by a ValueError."""
    checked: Callable[..., T] = validate_call(config=ConfigDict(strict=True))(function)
    named = signature(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        arguments = named.bind(*args, **kwargs).arguments  # pydantic calls the first of them 0
        try:
            return checked(**arguments)
        except ValidationError as error:
            first = error.errors()[0]
            raise ValueError(_sentence(first["loc"], first["input"], first["msg"])) from None
        except CannotJudge as error:
            from safe_gate.render import console

            raise ValueError("\n".join(map(console.problem_line, error.problems))) from None

    return call


_PLAIN = {
    "Value error, ": "",
    "Input should be": "expected",
    "'str' instances are not allowed as a Sequence value": "expected a list",
    "Extra inputs are not permitted": "expected no such entry",
    "a valid string": "text",
    "a valid boolean": "True or False",
    "a valid dictionary": "a mapping",
    "a valid number": "a number",
}
"""Words of pydantic, and plain ones."""


def _sentence(loc: Sequence[int | str], given: Any, words: str) -> str:
    """Return what is wrong with an argument in plain words, given its place, its value and pydantic's words."""
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc if part != "str")
    for theirs, plain in _PLAIN.items():
        words = words.replace(theirs, plain)
    return f"{place[1:]}: is {reprlib.repr(given)}; {words}"


def _filled(given: T) -> T:
    """Return a text, or a regular expression as a mapping. Raises ValueError if it is blank, so found everywhere."""
    text = given.get("regex", "") if isinstance(given, Mapping) else str(given)
    if not text.replace("\ufeff", "").strip():
        raise ValueError("expected a text to look for that is not blank")
    return given


Term = Annotated[str, AfterValidator(_filled)]
Wanted = Annotated[str | Mapping[Literal["regex"], str], AfterValidator(_filled)]
Pack = str | os.PathLike[str] | Mapping[str, Any]
Profile = Literal["standard", "spec"]


@_checked
def score_output(
    *,
    signals: Sequence[str],
    summary: str,
    followup_questions: Sequence[str],
    must_find_signals: Sequence[Term] = (),
    forbidden_terms: Sequence[Term] = (),
    must_contain_phrases: Sequence[Term] = (),
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
    ValueError for an invalid argument.

    >>> score_output(signals=["Fever"], summary="", followup_questions=[], must_find_signals=["fever"]).label
    <Label.PASS: 'Pass'>
    """
    settings = safe_v0.Settings(
        thresholds=thresholds or {}, weights=weights or {}, strict_ah=strict_ah, safe_match=match
    )
    for found in settings.contradictions():
        raise ValueError(f"{found.options[0]}: {found.message.format(*found.options[1:])}")
    case = safe_score.Case(
        id="",
        concern_id="",
        batch_id="",
        archetype="Unknown",
        needles={"CR": tuple(must_find_signals), "AH": tuple(forbidden_terms), "AC": tuple(must_contain_phrases)},
        signals=tuple(signals),
        summary=summary,
        followup_questions=tuple(followup_questions),
        place=Place(""),
    )
    return safe_score.score_case(case, safe_score.recorded_policy(settings.model_dump(by_alias=True)))


@_checked
def score_reply(
    user: str,
    assistant: str,
    *,
    checks: Sequence[str] | None = None,
    must_contain: Sequence[Wanted] = (),
    must_not_contain: Sequence[Wanted] = (),
    packs: Pack | Sequence[Pack] = (),
    profile: Profile = "standard",
) -> Result:
    """Return what the Synthesis checks say of a reply to a message. It is true if every check passes.

    `checks` are the names of checks; by default those of a run, and those that `packs` define. `must_contain` and
    `must_not_contain` are texts, or regular expressions as `{"regex": PATTERN}`, for the check `wording`. `packs` are a
    team's rule packs: paths, globs or values. `profile` is the setting of that name.
    `result.checks["topic_pivot"].passed` tells whether a check passes, `.hits` why: each hit has the rule, the words
    and their place. Raises ValueError for an invalid argument, such as a pack that is wrong.

    >>> bool(score_reply("I failed my exam.", "I promise you'll be fine."))
    False
    """
    given = tuple(_packs(packs))
    rules = _with_packs(profile, given) if given else _as_shipped(profile)
    own = tuple(filter(is_own, rules.checks))
    asked = {"must_contain": tuple(must_contain), "must_not_contain": tuple(must_not_contain)}
    known = (*rules.checks, WORDING)
    wanted = (*DEFAULT_CHECKS, *own) if checks is None else tuple(checks)
    for name in wanted:
        if name not in known:
            words = f"{quote(name)} is not known{suggestion(name, [*known])}; expected {', '.join(known)}"
            raise ValueError(f"checks: {words}")
    if not wanted:
        raise ValueError(f"checks: is empty, which would always pass; expected some of {', '.join(known)}")
    if WORDING in wanted and not any(asked.values()):
        raise ValueError("checks: wording needs must_contain or must_not_contain; add one, or leave wording out")
    for kind, index, why in wording.invalid_expressions(asked):
        raise ValueError(f"{kind}[{index}]: is not an RE2 regular expression: {why}; correct it, or write a text")
    return score.score_case(Case("", user, assistant, wanted, {}, (), Place(""), wording=asked), rules)


_as_shipped = lru_cache(maxsize=8)(rule_packs.shipped_rules)


def _packs(given: Pack | Sequence[Pack]) -> Iterator[tuple[str, str]]:
    """Yield the names and the JSON texts of packs. Raises CannotJudge for no such file."""
    for index, one in enumerate((given,) if isinstance(given, str | os.PathLike | Mapping) else given):
        if isinstance(one, Mapping):
            yield f"packs[{index}]", json.dumps(one, allow_nan=False)
        else:
            yield from _read(os.fspath(one))


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
