"""The values every floor shares: places, problems, hits, rule outcomes, and what a renderer shows.

Pure data: frozen, no IO, nothing imported from the rest of the package.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice
from operator import eq
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar, overload

JsonObject = Mapping[str, Any]
"""A parsed JSON object whose shape a schema in `schemas/` has already vouched for."""

T = TypeVar("T")


HELD = 200
"""So many of a view's items are held, the first ones: as many as tables show."""


class View(Sequence[T], Generic[T]):
    """What a function yields, called again for items beyond the first ones, so that memory holds few.

    >>> squares = View(lambda: (n * n for n in range(1000)))
    >>> len(squares), squares[2], squares[2:4]
    (1000, 4, (4, 9))
    """

    def __init__(self, items: Callable[[], Iterable[T]]) -> None:
        self._items = items
        self._first: tuple[T, ...] = ()
        self._length: int | None = None

    def __iter__(self) -> Iterator[T]:
        return iter(self._items() if self._length is None or self._length > len(self._first) else self._first)

    def __len__(self) -> int:
        if self._length is None:
            items = iter(self._items())
            self._first = tuple(islice(items, HELD))
            self._length = len(self._first) + sum(1 for _ in items)
        return self._length

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        if isinstance(index, slice):
            wanted = range(*index.indices(len(self)))
            last = max(wanted, default=-1)
            held = islice(self._first if last < len(self._first) else self, min(wanted, default=0), last + 1)
            return tuple(held)[:: wanted.step]
        place = range(len(self))[index]
        return next(islice(self._first if place < len(self._first) else self, place, None))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]


class Lookup(Mapping[str, T], Generic[T]):
    """A mapping that works out the value of a key when asked, and holds the keys alone.

    >>> squares = Lookup(["2", "3"], lambda key: int(key) ** 2)
    >>> squares["3"], squares.get("4"), dict(squares)
    (9, None, {'2': 4, '3': 9})
    """

    def __init__(self, keys: Iterable[str], value: Callable[[str], T]) -> None:
        self._keys = dict.fromkeys(keys)
        self._value = value

    def __getitem__(self, key: str) -> T:
        if key not in self._keys:
            raise KeyError(key)
        return self._value(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


class Label(StrEnum):
    """The three labels of SAFE v0 (spec section 3)."""

    PASS = "Pass"
    REVIEW = "Review"
    FAIL = "Fail"


class Verdict(StrEnum):
    """What the gate says: it passed, it failed, or it could not judge."""

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Untrusted:
    """Text that somebody recorded: case ids, quotes, file names, tags.

    It refuses to become part of another string, so that only a renderer, which knows how to
    escape for its format, can show it (see `render/untrusted.py`).
    """

    text: str

    def __str__(self) -> NoReturn:
        raise TypeError("untrusted text must pass a renderer's door, not str()")

    def __format__(self, spec: str) -> NoReturn:
        raise TypeError("untrusted text must pass a renderer's door, not an f-string")


Words = str | Untrusted
"""Our own words (`str`, shown as they are) or recorded ones (`Untrusted`, always escaped)."""

Phrase = tuple[Words, ...]
"""Words in a row, shown without anything between them."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where something stands: a file and a line counted from 1, or 0 for the file as a whole."""

    path: str
    line: int = 0

    def within(self, folder: str) -> str:
        """Return the file's path from the repository's root, given the working folder's; "" if it lies outside.

        >>> Place("../shared/./c.jsonl").within("evals/chat")
        'evals/shared/c.jsonl'
        """
        path = posixpath.normpath(posixpath.join(folder, self.path))
        return "" if path.startswith(("/", "../")) or path in (".", "..") else path


class Config(NamedTuple):
    """The config file: its path as reports show it, what it sets by the schema's keys, and the line of a key there."""

    path: str
    content: Mapping[str, Any]
    line_of: Callable[[Sequence[str]], int] = lambda _: 0


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a result comes from, as far as it is known; no part of the result itself.

    `repository` is the repository's address, `folder` the working folder's path in it, `commit` the
    judged commit, `run` the workflow run's number, `gate` the gate's id if it was given one.
    """

    repository: str = ""
    folder: str = ""
    commit: str = ""
    run: int = 0
    gate: str = ""


NOWHERE = Origin()
"""The origin of a result that is about no commit and no run."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with one input: where, in which case and field, and what was expected.

    `case_id` and `field` are empty where they do not apply. `message` may quote the input: it is
    untrusted like the rest. Where it quotes recorded text `text_free` says the same without. `count` is 1, and of
    the last of those that are kept of a file that of the others, too.
    """

    place: Place
    message: str
    case_id: str = ""
    field: str = ""
    text_free: str = ""
    count: int = 1

    def without_texts(self) -> Problem:
        """Return the problem in words that quote no recorded text."""
        return replace(self, message=self.text_free or self.message)


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Return problems by their place, then by case and field."""
    return sorted(problems, key=lambda p: (p.place, p.case_id, p.field, p.message))


MOST_KEPT = 1_000
"""So many problems of a file, and of a report, are kept; the rest are counted."""


class Problems:
    """Problems as they are found, in any order: the first of each file by their places, and how many there are.

    >>> found = Problems()
    >>> for line in range(5_000, 0, -1):
    ...     found.add(Problem(Place("c.jsonl", line), "is blank"))
    >>> kept = found.kept()
    >>> len(kept), kept[0].place.line, kept[-1].place.line, number(kept)
    (1000, 1, 1000, 5000)
    """

    def __init__(self) -> None:
        self._by_file: dict[str, list[Problem]] = {}
        self._more: dict[str, int] = {}

    def add(self, problem: Problem) -> None:
        """Take in a problem."""
        some = self._by_file.setdefault(problem.place.path, [])
        some.append(problem)
        if len(some) >= 2 * MOST_KEPT:
            self._cut(problem.place.path)

    def _cut(self, path: str) -> None:
        some = in_order(self._by_file[path])
        self._by_file[path] = some[:MOST_KEPT]
        self._more[path] = self._more.get(path, 0) + number(some[MOST_KEPT:])

    def __bool__(self) -> bool:
        return bool(self._by_file)

    def kept(self) -> tuple[Problem, ...]:
        """Return the problems that are kept, in the order of their places within a file."""
        for path in self._by_file:
            self._cut(path)
        return tuple(problem for path, some in self._by_file.items() for problem in _standing(some, self._more[path]))


def _standing(some: Sequence[Problem], more: int) -> Iterator[Problem]:
    """Yield problems, the last of which stands for so many more."""
    yield from some[:-1]
    yield replace(some[-1], count=some[-1].count + more)


def first_of(problems: Iterable[Problem]) -> list[Problem]:
    """Return the first problems by their places, as many as a report keeps; the last stands for the rest, too."""
    ordered = in_order(problems)
    return list(_standing(ordered[:MOST_KEPT], number(ordered[MOST_KEPT:]))) if ordered else []


def number(problems: Iterable[Problem]) -> int:
    """Return how many problems there are, with those that are only counted."""
    return sum(problem.count for problem in problems)


def reason(error: BaseException) -> str:
    r"""Return why something failed in a library's own words, one line of at most 200 characters; they may quote input.

    >>> reason(ValueError("no number\nmore")), reason(ValueError())
    ('no number', 'ValueError')
    """
    return str(error).strip().partition("\n")[0][:200] or type(error).__name__


class CannotJudge(Exception):
    """The run cannot give a verdict: bad usage, configuration or input, or nothing to judge.

    Carries every problem found, never only the first one.
    """

    def __init__(self, *problems: Problem) -> None:
        super().__init__(f"{len(problems)} problem(s)")
        self.problems = problems


class Hit(NamedTuple):
    """A rule that matched: `original[start:end] == text`, in code points of the field's text.

    `learned` says of a learned phrase how many of the clauses that hold it are of its group, and of how
    many; `by` says what cancelled a hit that does not count, `words` where in the text it says so.
    """

    rule: str
    text: str
    field: str
    start: int
    end: int
    learned: tuple[int, int] | tuple[()] = ()
    by: str = ""
    words: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the hit in the shape of the report (`schemas/report.schema.json`)."""
        return {
            "rule": self.rule,
            "text": self.text,
            "field": self.field,
            "start": self.start,
            "end": self.end,
            **({"learned": list(self.learned)} if self.learned else {}),
            **({"by": self.by} if self.by else {}),
            **({"words": self.words} if self.words else {}),
        }


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """One rule of the gate: what was found, what was allowed, and a sentence that says so.

    `value` is None where there was nothing to measure. That never passes, unless the rule was `skipped`:
    its group has too few cases. `message` is in our own words: the `group` of cases that it is about, if
    it is not about all, and the `names` of what broke it are recorded.
    """

    rule: str
    evaluator: str
    value: float | int | None
    threshold: float | int
    passed: bool
    message: str
    group: str = ""
    names: tuple[str, ...] = ()
    skipped: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the outcome in the shape of the report's `rules[]`."""
        return {
            "rule": self.rule,
            "evaluator": self.evaluator,
            "value": self.value,
            "threshold": self.threshold,
            "passed": self.passed,
            "message": self.message,
            **({"group": self.group} if self.group else {}),
            **({"names": list(self.names)} if self.names else {}),
            **({"skipped": True} if self.skipped else {}),
        }


class Test(StrEnum):
    """How a metric is compared between two runs (`stats.py`): as a yes or no, or as a score from 0 to 1."""

    SIGN = "sign"
    SIGN_FLIP = "sign-flip"


class Metric(NamedTuple):
    """A metric that two runs are compared by: what it is called at the start of a sentence, and how."""

    title: str
    test: Test


@dataclass(frozen=True, slots=True)
class Outcome:
    """A case's result in what two runs are compared by.

    `rank` is that of its label, the worst being 0, and `words` the label; `scores` are from 0 to 1 by
    metric, `violations` what was said that must not be. `groups` are the tags or the archetype by
    which a case can be protected, `cluster` names the cases that change together ("" for none);
    `case` and `output` are digests.
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


@dataclass(frozen=True, slots=True)
class Recorded:
    """The recorded texts of a run, which its report does not hold, for what shows them.

    The texts of a case are by field; of a field that is a list an entry is a line. `now` has those of an evaluator's
    `results[]` in their order, nothing if they are not to be shown. `before` returns by evaluator and id those of the
    baseline, if they are available and differ, else None.
    """

    now: Mapping[str, Sequence[JsonObject]] = field(default_factory=dict)
    before: Callable[[str, str], JsonObject | None] = lambda _evaluator, _case_id: None


NOTHING_RECORDED = Recorded()
"""What is known of the texts of a run that shows none."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A case that fails, and by which metrics or checks; `result` is its entry of the report's `results[]`."""

    case_id: str
    by: frozenset[str]
    result: JsonObject


class Severity(StrEnum):
    """How much a finding matters to the verdict."""

    FAILING = "failing"
    REVIEW = "review"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one metric or check, `by`, says of a case.

    `label` is Pass, Review or Fail of a metric; passes, fails or not applicable of a check. `severity` is None of a
    full pass. `score` is from 0 to 1, None where there is none. `evidence` says what keeps it from a full pass; `hits`
    are the rules that say so, in the shape of the report.
    """

    by: str
    label: str
    severity: Severity | None = None
    score: float | None = None
    evidence: tuple[Phrase, ...] = ()
    hits: tuple[JsonObject, ...] = ()

    @property
    def outcome(self) -> str:
        """The label for programs: pass, review, fail or not_applicable, for metrics and checks alike."""
        return {"passes": "pass", "fails": "fail", "not applicable": "not_applicable"}.get(
            self.label, self.label.lower()
        )


class Side(StrEnum):
    """Which way what was found in a text counts."""

    FOR = "for"
    AGAINST = "against"
    NEITHER = "neither"
    CANCELLED = "cancelled"


class Mark(NamedTuple):
    """What was found in a recorded text: `text` is `[start:end]` of the field, in code points.

    `by` is the metric or check that looked for it, `says` what it does there in our own words, `rule` what matched,
    "" for no rule. `why` tells more: of what is cancelled, by what.
    """

    field: str
    start: int
    end: int
    text: str
    side: Side
    by: str
    says: str
    rule: str = ""
    why: Phrase = ()


class Rate(NamedTuple):
    """A share that a report tells: `part` of `whole` cases or labels. `about` is a title that several may have.

    `rule` is the rule of the gate that limits it, of a `group` if it is one of a group; "" for none.
    """

    about: str
    name: Words
    part: int
    whole: int
    rule: str = ""
    group: str = ""


class Explained(NamedTuple):
    """What a metric or check is called, what it asks of a case in a sentence, and what to do about a failure."""

    title: str
    asks: str
    advice: str


class Cause(NamedTuple):
    """What is wrong with a case, in our words, and the id of the rule that found it, "" if none did."""

    what: str
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A case a reviewer should look at: what is wrong with it and the evidence for that.

    `news` says what is new about it since the baseline, where there is one; `breaks` whether a broken rule counts it.
    `causes` and `groups` are what cases to look at are counted by: what is wrong, and the archetype or the tags.
    """

    case_id: Untrusted
    severity: Severity
    what: str
    evidence: tuple[Phrase, ...]
    place: Place
    news: str = ""
    breaks: bool = False
    causes: tuple[Cause, ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a header; `align` has one of `<`, `>`, `^` a column."""

    header: tuple[str, ...]
    align: str
    rows: Sequence[tuple[Words, ...]]
    min_widths: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """What an evaluator's part of the report looks like to a reader, in no particular format.

    `notes` are sentences a reader must see before any table.
    `details` are tables by title for those who want to know more; they may be folded or left out.
    """

    title: Phrase
    headline: str
    counts: tuple[str, ...]
    metrics: Table
    footer: str
    cases_title: str
    cases: Table
    issues: tuple[tuple[str, Phrase], ...]
    findings: Sequence[Finding]
    notes: tuple[Phrase, ...] = ()
    details: tuple[tuple[str, Table], ...] = ()
