"""Places and problems of inputs; many problems are gathered in bounded memory and shown in order. Pure."""

from __future__ import annotations

import posixpath
import re
import signal
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from typing import Any

from safe_gate.model import codec, record
from safe_gate.model.codec import JsonObject


@codec.whole
@record
class Place:
    """A place in a file, with its line counted from 1, or 0 for the whole file."""

    path: str
    line: int = 0

    def within(self, folder: str) -> str:
        """Return the file's path from the repository's root, given the working folder's; "" if it lies outside.

        >>> Place("../shared/./c.jsonl").within("evals/chat")
        'evals/shared/c.jsonl'
        """
        path = posixpath.normpath(posixpath.join(folder, self.path))
        return "" if path.startswith(("/", "../")) or path in (".", "..") else path


class Code(StrEnum):
    """The kind of a problem, for programs: see docs/json.md. The names do not change."""

    USAGE = "usage"
    INVALID_SETTING = "invalid-setting"
    NO_INPUT = "no-input"
    UNREADABLE_FILE = "unreadable-file"
    INVALID_INPUT = "invalid-input"
    DUPLICATE_ID = "duplicate-id"
    MISSING_OUTPUT = "missing-output"
    UNKNOWN_CASE = "unknown-case"
    BASE_UNAVAILABLE = "base-unavailable"
    UNTRUSTED_CHECKOUT = "untrusted-checkout"
    UNWRITABLE_FILE = "unwritable-file"
    UNAVAILABLE = "unavailable"
    NOT_FINISHED = "not-finished"
    INTERNAL_ERROR = "internal-error"


def _problem_json(problem: Problem) -> dict[str, Any]:
    """Return a problem as a report has it: without what is for us alone."""
    place = problem.place
    about = {"path": place.path, "line": place.line, "id": problem.case_id, "field": problem.field}
    return {**about, "message": problem.message, "code": problem.code}


def _problem_fields(value: JsonObject) -> dict[str, Any]:
    place = Place(value["path"], value["line"])
    told = {name: value[name] for name in ("field", "message", "code")}
    return {"place": place, "case_id": value["id"], **told}


@codec.formed(_problem_json, _problem_fields)
@record
class Problem:
    """One problem of one input: its place, case and field, and the expected value.

    `case_id` and `field` are empty if they do not apply. `message` may quote the input, so it is untrusted like the
    rest. If it quotes recorded text, `text_free` says the same without the quote. `count` is 1. For the last problem
    of its kind that is kept in a file, it includes the problems that are not kept. `code` is its kind for programs.
    """

    place: Place
    message: str
    case_id: str = ""
    field: str = ""
    text_free: str = ""
    count: int = 1
    code: Code = Code.INVALID_INPUT

    @property
    def fix(self) -> str:
        """What to do, in the words of the message if these say it, with what the message suggests.

        >>> Problem(Place("c.jsonl"), 'is "a; b" (one; two); expected a number').fix, Problem(Place(""), "is empty").fix
        ('expected a number', 'correct the input at this place')
        >>> Problem(Place("c.json"), 'is "rail" (did you mean "fail"?); expected fail or off').fix
        'expected fail or off (did you mean "fail"?)'
        >>> Problem(Place("c.jsonl"), 'is "a (did you mean b?)"; expected c').fix
        'expected c'
        >>> Problem(Place("HEAD"), "is none (not git (or above); no token); check it out").fix
        'check it out'
        """
        _, _, rest = _ASIDE.sub(lambda found: found[0].replace("; ", ";\0"), self.message).partition("; ")
        fix = rest.replace(";\0", "; ") or _FIXES[self.code]
        hint = next((one[0] for one in _ASIDE.finditer(self.message) if one[0].startswith("(did you mean ")), "")
        return fix if hint in fix else f"{fix} {hint}"

    def as_texts(self) -> tuple[str, str, str, str]:
        """Return the place as `path:line`, the case, the field and the message; "" for what does not apply."""
        line = f":{self.place.line}" * bool(self.place.line)
        return f"{self.place.path}{line}", self.case_id, self.field, self.message

    def without_texts(self) -> Problem:
        """Return the problem in words that quote no recorded text."""
        return replace(self, message=self.text_free or self.message)


# Quotes, and brackets with others inside: not where a fix begins.
_ASIDE = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'|\((?:[^()]|\([^()]*\))*\)')

_FIXES = {
    Code.USAGE: "correct the command line",
    Code.INVALID_SETTING: "correct the setting",
    Code.NO_INPUT: "name files with cases",
    Code.UNREADABLE_FILE: "name a file that exists and can be read",
    Code.INVALID_INPUT: "correct the input at this place",
    Code.DUPLICATE_ID: "give each case an id of its own",
    Code.MISSING_OUTPUT: "record the output of this case, or remove the case",
    Code.UNKNOWN_CASE: "name a case of the files",
    Code.BASE_UNAVAILABLE: "name a baseline that can be read",
    Code.UNTRUSTED_CHECKOUT: "check out the base's commit",
    Code.UNWRITABLE_FILE: "name a file that can be written",
    Code.UNAVAILABLE: "make available what the message names",
    Code.NOT_FINISHED: "run again",
    Code.INTERNAL_ERROR: "report it with the command and the input",
}


def reason(error: BaseException) -> str:
    r"""Return why something failed in a library's own words, one line of at most 200 characters; they may quote input.

    >>> reason(ValueError("no number\nmore")), reason(ValueError())
    ('no number', 'ValueError')
    """
    return str(error).strip().partition("\n")[0][:200] or type(error).__name__


def is_interrupt(error: BaseException) -> bool:
    """Return whether a user interrupted the process: `cli.py` raises it with the signal's number, code never does."""
    return isinstance(error, KeyboardInterrupt) and error.args == (signal.SIGINT,)


class CannotJudge(Exception):
    """The run cannot give a verdict: bad usage, configuration or input, or nothing to judge.

    Carries every problem found, never only the first one.
    """

    def __init__(self, *problems: Problem) -> None:
        super().__init__(f"{len(problems)} problem(s)")
        self.problems = problems

    @classmethod
    def at(cls, path: str, words: str, code: Code = Code.INVALID_INPUT) -> CannotJudge:
        """Return it for one problem, by the path of its place."""
        return cls(Problem(Place(path), words, code=code))


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Return problems by their place, then by case and field."""
    return sorted(problems, key=lambda one: (one.place.path, one.place.line, one.case_id, one.field, one.message))


MOST_KEPT = 1_000
"""The number of problems that a file, and a report, keeps. The rest are counted."""

Kind = tuple[str, str, str]
_INDEX = re.compile(r"\[[0-9]+\]")
_QUOTED = re.compile(r'(\A"(?:[^"\\]|\\.)*")|"(?:[^"\\]|\\.)*"|:[0-9]++|(?<![0-9])(?<! of )[0-9]++(?! [a-z])')


class Problems:
    """Collects problems in any order. It keeps the first of each kind in each file by line, and counts all.

    >>> found = Problems()
    >>> for line in range(5_000, 0, -1):
    ...     found.add(Problem(Place("c.jsonl", line), "is blank"))
    >>> kept = found.kept()
    >>> len(kept), kept[0].place.line, kept[-1].place.line, number(kept)
    (1000, 1, 1000, 5000)
    """

    def __init__(self) -> None:
        self.count = 0
        self._by_file: dict[str, list[Problem]] = {}

    def add(self, *problems: Problem) -> None:
        """Add problems."""
        self.count += len(problems)
        for problem in problems:
            some = self._by_file.setdefault(problem.place.path, [])
            some.append(problem)
            if len(some) >= 2 * MOST_KEPT:
                some[:] = first_of(some)

    def __bool__(self) -> bool:
        return bool(self._by_file)

    def kept(self) -> tuple[Problem, ...]:
        """Return the problems that are kept, in the order of their places within a file."""
        return tuple(problem for some in self._by_file.values() for problem in first_of(some))


def first_of(problems: Iterable[Problem]) -> list[Problem]:
    """Return as many problems as a report keeps, by their places: the first of each kind, then the first others.

    The last one of each kind counts for the rest of it too. If there are more kinds than a report keeps problems, the
    very last one counts for the rest of all.
    """
    some = in_order(problems)
    kinds = [kind_of(one) for one in some]
    rest: Counter[Kind] = Counter()
    firsts, others = list[int](), list[int]()
    for place, (one, kind) in enumerate(zip(some, kinds, strict=True)):
        (others if kind in rest else firsts).append(place)
        rest[kind] += one.count
    kept = sorted((firsts + others)[:MOST_KEPT])
    last = {kinds[place]: index for index, place in enumerate(kept)}
    counts = [1] * len(kept)
    rest.subtract(kinds[place] for place in kept)
    for kind, more in rest.items():
        counts[last.get(kind, -1)] += more
    return [replace(some[place], count=count) for place, count in zip(kept, counts, strict=True)]


def kind_of(problem: Problem) -> Kind:
    """Return what problems of one kind share: the file, the field, and the words without quotes and numbers.

    A count, as in "3 fields" or "a list of 3", stays. So does a quote at the start, such as a check: it is what the
    problem is about.
    """
    return problem.place.path, _INDEX.sub("[]", problem.field), _QUOTED.sub(r"\1", problem.message)


def number(problems: Iterable[Problem]) -> int:
    """Return the number of problems, including those that are only counted."""
    return sum(problem.count for problem in problems)
