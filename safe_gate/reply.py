"""What Python code calls to score one reply: `safe_gate.score_reply`.

It reads the shipped rules once for each way of scoring, and keeps them. A team's packs are read by each call. The
code that reads files is imported only for these.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from safe_gate.core.given import OwnFile
from safe_gate.evaluators.output import one_of, several, texts
from safe_gate.evaluators.synthesis import own_packs
from safe_gate.evaluators.synthesis import packs as rule_packs
from safe_gate.evaluators.synthesis.checks import score, wording
from safe_gate.evaluators.synthesis.checks.turn import Rules
from safe_gate.evaluators.synthesis.definitions import DEFAULT_CHECKS
from safe_gate.evaluators.synthesis.result import Result
from safe_gate.model.problems import CannotJudge, Place, Problem

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
    texts(user=user, assistant=assistant)
    of_profile = one_of("profile", profile, ("standard", rule_packs.SPEC))
    given = _packs(packs)
    rules = _with_packs(of_profile, given) if given else _as_shipped(of_profile)
    own = tuple(name for name in rules.checks if "/" in name)
    wanted = several("checks", (*DEFAULT_CHECKS, *own) if checks is None else checks, rules.checks)
    asked = {"must_contain": _wanted("must_contain", must_contain)}
    asked |= {"must_not_contain": _wanted("must_not_contain", must_not_contain)}
    for kind, index, why in wording.refused(asked):
        raise ValueError(f"{kind}[{index}]: is not an RE2 regular expression: {why}; correct it, or write a text")
    return score.score_case(score.Case("", user, assistant, wanted, {}, (), _NOWHERE, wording=asked), rules)


_NOWHERE = Place("")


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


@lru_cache(maxsize=8)
def _as_shipped(profile: str) -> Rules:
    return rule_packs.as_shipped(profile)


def _packs(given: Iterable[str | os.PathLike[str] | Mapping[str, Any]]) -> tuple[tuple[str, str], ...]:
    """Return the names and the JSON texts of packs. Raises TypeError for a wrong type, ValueError for no such file."""
    found: list[tuple[str, str]] = []
    for index, one in enumerate((given,) if isinstance(given, str | Mapping | os.PathLike) else given):
        if isinstance(one, Mapping):
            found.append((f"packs[{index}]", json.dumps(one, allow_nan=False)))
        elif isinstance(one, str | os.PathLike):
            found += _read(os.fspath(one))
        else:
            raise TypeError(f"packs[{index}]: is {type(one).__name__}; expected a path, or a pack as a mapping")
    return tuple(found)


def _read(pattern: str) -> Iterator[tuple[str, str]]:
    from safe_gate.inputs import disk, globs

    paths, problems = globs.expand([pattern], ".json")
    if problems:
        raise _refusal(problems)
    try:
        yield from [(disk.shown(path), disk.text_of(path, disk.shown(path))) for path in paths]
    except CannotJudge as error:
        raise _refusal(error.problems) from None


@lru_cache(maxsize=8)
def _with_packs(profile: str, named: Sequence[tuple[str, str]]) -> Rules:
    from safe_gate.inputs import checked

    settings = {"profile": profile, "default_checks": DEFAULT_CHECKS, "tags": None, "rules_off": ()}
    try:
        files = [
            OwnFile(name, name, text.encode(), checked.fitting(text, Path(name), name, _PACK), checked.lines_in(text))
            for name, text in named
        ]
        return rule_packs.from_recipe(own_packs.recipe(settings, files))
    except CannotJudge as error:
        raise _refusal(error.problems) from None


_PACK = "rule-pack"


def _refusal(problems: Iterable[Problem]) -> ValueError:
    from safe_gate.render import console

    return ValueError("\n".join(map(console.problem, problems)))
