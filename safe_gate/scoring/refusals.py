"""Why a run cannot judge its cases, as problems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set, Sized

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.validate import LONGEST_QUOTE, masked, quote, suggestion
from safe_gate.evaluators import EVALUATORS
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import Code, Place, Problem


def too_many_tags(most: int) -> Problem:
    """Return the problem of cases with more than `most` distinct tags, which the report would all hold."""
    words = f"the cases have more than {most} distinct tags; put values that differ from case to case in a field x_..."
    return Problem(Place("bounds.tags"), f"{words}, or raise bounds.tags")


def no_case(evaluator: Evaluator, settings: JsonObject, groups: Set[str], left_out: Sized) -> Problem | None:
    """Return the problem of settings that leave an evaluator no case; None if it had none to begin with.

    `groups` are the tags or archetypes of its cases, `left_out` holds those that the filters leave out.
    """
    if not left_out:
        return none_wanted(evaluator, settings)
    named = unknown_tags(settings["tag"], groups)
    is_both = settings["tag"] and settings["not_tag"] and not named
    place = "tag and not-tag" if is_both else "tag" if settings["tag"] else "not-tag"
    verb, pronoun = ("leave", "them") if is_both else ("leaves", "it")
    words = f"{verb} no {evaluator.title} case to judge{': ' if named else ''}{' and '.join(named)}"
    return Problem(Place(place), f"{words}; correct {pronoun}, or run without these files", code=Code.NO_INPUT)


def none_wanted(evaluator: Evaluator, settings: JsonObject) -> Problem | None:
    """Return the problem that an evaluator's own filter leaves no case, None without one."""
    if evaluator.input.chosen_by is None:
        return None
    setting = evaluator.input.chosen_by.setting
    words, hidden = (
        f"{name} matches no case; correct it, or leave it unset to judge all cases"
        for name in (repr(settings[setting][:LONGEST_QUOTE]), masked(settings[setting]))
    )
    return Problem(Place(setting.replace("_", "-")), words, text_free=hidden, code=Code.INVALID_SETTING)


_MOST_PAIRS = 20_000_000
"""So many pairs of characters are compared to find out what was meant: that takes about a second."""


def hinted(names: Iterable[str], groups: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield names with hints at the groups that they may mean, "" for none.

    Where there is too much to compare, only the first names get hints.

    >>> list(hinted(["GREIF", "work"], {"grief", "slow"}))
    [('GREIF', ' (did you mean "grief"?)'), ('work', '')]
    """
    known = {one.casefold(): one for one in sorted(groups)}
    characters, left = sum(map(len, known)), _MOST_PAIRS
    for name in names:
        left -= len(name) * characters
        yield name, suggestion(name.casefold(), known) if left >= 0 else ""


def unknown_tags(tags: Iterable[str], groups: Set[str]) -> list[str]:
    """Return words for each tag that no case has, with what may have been meant."""
    missing = (tag for tag in tags if tag not in groups)
    return [f"no case has {quote(tag)}{hint}" for tag, hint in hinted(missing, groups)]


def nothing_to_judge(*, merges: bool = False) -> Problem:
    """Return the problem of a run without inputs, which may be one that merges shards."""
    inputs = [evaluator.input for evaluator in EVALUATORS.values()]
    named = " or ".join(one.setting.replace("_", "-") for one in inputs)
    files = f"the files to judge: {', '.join(one.plural for one in inputs)}"
    if merges:
        return missing(named, f"{files}; name the files of the runs that wrote the shards")
    return missing(named, f"{files}; safe-gate init adds samples and a config file that names them")


def no_rule() -> Problem:
    """Return the problem of a run in which every rule is off, or has too few cases to judge."""
    words = "no rule judges these cases: each rule is off or has too few cases; set a limit, such as"
    some = " or ".join(evaluator.gate.rules[0].name for evaluator in EVALUATORS.values())
    return Problem(Place("safe-gate"), f"{words} {some}", code=Code.INVALID_SETTING)


def missing(what: str, expected: str) -> Problem:
    """Return the problem of a setting without which there is nothing to judge."""
    return Problem(Place(what), f"is not set, so there is nothing to judge; expected {expected}", code=Code.NO_INPUT)


def as_shown(problems: Sequence[Problem], text: str) -> tuple[Problem, ...]:
    """Return problems as they may be shown: with `text: none` they quote no recorded text."""
    return tuple(problems if text == "full" else (problem.without_texts() for problem in problems))
