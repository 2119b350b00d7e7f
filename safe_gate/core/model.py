"""The values that all packages share: places, problems, hits, rule outcomes, and what a renderer shows.

Pure data: frozen, no IO.
"""

from __future__ import annotations

import posixpath
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, NamedTuple, NoReturn, Protocol

from safe_gate.model import codec

JsonObject = Mapping[str, Any]
"""A parsed JSON object whose shape a schema in `schemas/` has already vouched for."""

Parts = Mapping[str, Any]
"""Evaluators' parts of a report by name, None for one that was given no input."""


class Verdict(StrEnum):
    """The gate's verdict: it passed, it failed, or it could not judge."""

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"

    @property
    def exit_code(self) -> int:
        """What `run` exits with; `score` and `eval` have the codes of their specs."""
        return {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.ERROR: 3}[self]


@dataclass(frozen=True, slots=True)
class Untrusted:
    """Text that somebody recorded: case ids, quotes, file names, tags.

    It refuses to become part of another string. It must be escaped by a renderer for its format
    (see `render/untrusted.py`).
    """

    text: str

    def __str__(self) -> NoReturn:
        raise TypeError("escape untrusted text with a function of render/untrusted.py; str() is refused")

    def __format__(self, spec: str) -> NoReturn:
        raise TypeError("escape untrusted text with a function of render/untrusted.py; an f-string is refused")


Words = str | Untrusted
"""Our own words (`str`, shown as they are) or recorded ones (`Untrusted`, always escaped)."""

Phrase = tuple[Words, ...]
"""Words in a row, shown without anything between them."""


@codec.formed(
    lambda place: {"path": place.path, "line": place.line}, lambda value: {"path": value["path"], "line": value["line"]}
)
@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place in a file, with its line counted from 1, or 0 for the whole file.

    `column` is the column of a case in a document, counted from 1 in UTF-16 code units, 0 if unknown.
    """

    path: str
    line: int = 0
    column: int = field(default=0, compare=False)

    def within(self, folder: str) -> str:
        """Return the file's path from the repository's root, given the working folder's; "" if it lies outside.

        >>> Place("../shared/./c.jsonl").within("evals/chat")
        'evals/shared/c.jsonl'
        """
        path = posixpath.normpath(posixpath.join(folder, self.path))
        return "" if path.startswith(("/", "../")) or path in (".", "..") else path


class Config(NamedTuple):
    """The config file: its path as reports show it, its values by the schema's keys, and the line of each key.

    `locate` returns a path that the file names from the working folder.
    """

    path: str
    content: Mapping[str, Any]
    line_of: Callable[[Sequence[str | int]], int] = lambda _: 0
    locate: Callable[[str], str] = lambda path: path


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that was read, with the SHA-256 of its bytes; `kind` is the schema that its content fits."""

    path: str
    sha256: str
    kind: str


class Origin(NamedTuple):
    """The origin of a result, if known. It is no part of the result itself.

    `repository` is the repository's address, and `folder` is the working folder's path in it. `commit` is the
    judged commit, `run` the workflow run's number, and `gate` the gate's id, if it has one.
    """

    repository: str = ""
    folder: str = ""
    commit: str = ""
    run: int = 0
    gate: str = ""


NOWHERE = Origin()
"""The origin of a result that is about no commit and no run."""


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
@dataclass(frozen=True, slots=True)
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
        """What to do, in the words of the message if these say it.

        >>> Problem(Place("c.jsonl"), 'is "a; b" (one; two); expected a number').fix, Problem(Place(""), "is empty").fix
        ('expected a number', 'correct the input at this place')
        """
        _, _, rest = _ASIDE.sub(lambda found: found[0].replace("; ", ";\0"), self.message).partition("; ")
        return rest.replace(";\0", "; ") or _FIXES[self.code]

    def without_texts(self) -> Problem:
        """Return the problem in words that quote no recorded text."""
        return replace(self, message=self.text_free or self.message)


_ASIDE = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'|\([^()]*\)')  # quotes and brackets: not where a fix begins
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


@dataclass(frozen=True, slots=True)
class Hit:
    """A rule that matched: `original[start:end] == text`, in code points of the field's text.

    `learned` counts, for a learned phrase, the clauses with it that are of its group, and all clauses with it. `by`
    says what cancelled a hit that does not count. `words` says where in the text it does so.
    """

    rule: str
    text: str
    field: str
    start: int
    end: int
    learned: tuple[int, int] | tuple[()] = ()
    by: str = ""
    words: str = ""

    def as_quote(self) -> dict[str, Any]:
        """Return what matched, where and by which rule, as events and lines of cases have it."""
        return {"rule": self.rule, "text": self.text, "field": self.field, "start": self.start, "end": self.end}


def _outcome_json(outcome: RuleOutcome) -> dict[str, Any]:
    """Return the outcome in the shape of the report's `rules[]`."""
    told = ("rule", "evaluator", "value", "threshold", "passed", "message")
    optional = {name: one for name in ("group", "names", "skipped") if (one := getattr(outcome, name))}
    return {name: getattr(outcome, name) for name in told} | optional


def _outcome_fields(value: JsonObject) -> dict[str, Any]:
    own = {name: one for name, one in value.items() if name != "message"}
    found, _, detail = value["message"].partition(": ")  # as `message` joins them
    return {**own, "found": found, "detail": detail}


@codec.formed(_outcome_json, _outcome_fields)
@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """The outcome of one rule of the gate: the value found, the limit, and both in words.

    A share is a float from 0 to 1, as is a drop of a mean; a count is an int. `value` is None if there was nothing to
    measure. That never passes, unless the rule was `skipped` because its group has too few cases. `found` says what was
    found and what is allowed, without a colon, `detail` the numbers behind it, both in our own words. Recorded text:
    the `group` of cases, if not all, and the `names` of what broke it.
    """

    rule: str
    evaluator: str
    value: float | int | None
    threshold: float | int
    passed: bool
    found: str
    detail: str = ""
    group: str = ""
    names: tuple[str, ...] = ()
    skipped: bool = False

    @property
    def message(self) -> str:
        """The sentence that the report has: what was found, and the numbers behind it."""
        return f"{self.found}: {self.detail}" if self.detail else self.found


class Test(StrEnum):
    """The test that compares a metric between two runs (`stats.py`): yes or no, or a score from 0 to 1."""

    SIGN = "sign"
    SIGN_FLIP = "sign-flip"


class Metric(NamedTuple):
    """A metric that compares two runs: its name at the start of a sentence, and its test."""

    title: str
    test: Test


class Outcome(NamedTuple):
    """A case's result, in the terms in which two runs are compared.

    `rank` is the rank of its label, 0 for the worst, and `words` is the label. `scores` are from 0 to 1 by metric.
    `violations`: forbidden terms found. `groups` are the tags or the archetype by which a case can be protected.
    `cluster` names the cases that change together, "" for none. `case` and `output` are digests. `is_meant_to_fail` is
    true for a negative example.
    """

    id: str
    passed: bool
    rank: int
    words: str
    scores: Mapping[str, float]
    violations: frozenset[str]
    groups: frozenset[str]
    cluster: str
    case: str
    output: str
    is_meant_to_fail: bool = False


class Recorded(NamedTuple):
    """The recorded texts of a run, which its report does not hold, for what shows them.

    The texts of a case are by field; of a field that is a list an entry is a line. `now` has those of an evaluator's
    `results[]` in their order, nothing if they are not to be shown. `before` returns by evaluator and id those of the
    baseline, if they are available and differ, else None. `columns` has by evaluator, in the order of `results[]`, what
    `columns.deciding` returns of each case's line, nothing if nobody asks for it.
    """

    now: Mapping[str, Sequence[JsonObject]] = {}
    before: Callable[[str, str], JsonObject | None] = lambda _evaluator, _case_id: None
    columns: Mapping[str, Sequence[JsonObject]] = {}


NOTHING_RECORDED = Recorded()
"""What is known of the texts of a run that shows none."""


class CaseResult(Protocol):
    """What the results of all evaluators have."""

    @property
    def id(self) -> str:
        """The id of the case."""
        ...

    @property
    def place(self) -> Place:
        """The place of the case."""
        ...

    @property
    def groups(self) -> Sequence[str]:
        """The archetype or the tags of the case."""
        ...

    @property
    def batch(self) -> str:
        """The name of the batch that the case came in, "" for none."""
        ...

    @property
    def digests(self) -> Mapping[str, str]:
        """The digests of the `case`, which its output does not change, and of the `output`."""
        ...

    @property
    def asks(self) -> Mapping[str, Any]:
        """What says that the case is meant to fail, as `Evaluator.is_excused` reads it."""
        ...


class Failure(NamedTuple):
    """A case that fails, and by which metrics or checks."""

    case_id: str
    by: frozenset[str]
    result: CaseResult


class Severity(StrEnum):
    """How much a finding matters to the verdict."""

    FAILING = "failing"
    REVIEW = "review"


class Judgement(NamedTuple):
    """The judgement of one metric or check, `by`, on a case.

    `label` is Pass, Review or Fail for a metric; passes, fails or not applicable for a check. `severity` is None for a
    full pass. `score` is from 0 to 1, or None. `evidence` says what keeps it from a full pass, and `hits` are the hits
    of the rules behind it.
    """

    by: str
    label: str
    severity: Severity | None = None
    score: float | None = None
    evidence: tuple[Phrase, ...] = ()
    hits: tuple[Hit, ...] = ()

    @property
    def outcome(self) -> str:
        """The label for programs: pass, review, fail or not_applicable, for metrics and checks alike."""
        return {"passes": "pass", "fails": "fail", "not applicable": "not_applicable"}.get(
            self.label, self.label.lower()
        )
