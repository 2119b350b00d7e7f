"""Rows learned by counting: phrases that occur in marked clauses and hardly anywhere else. Pure.

People mark the clauses that decide (`marks` of a case). A phrase is worth a row if it occurs in at least two
marked clauses of a group, and nearly every clause with it is marked. A small set of these phrases is kept. It covers
the marked clauses that no rule hits yet.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from safe_gate.core.text.normalising import normalise
from safe_gate.core.text.patterns import later
from safe_gate.evaluators.synthesis.checks.score import Case
from safe_gate.evaluators.synthesis.checks.turn import Rules, Turn
from safe_gate.evaluators.synthesis.definitions import GROUPS
from safe_gate.evaluators.synthesis.engine.network import Classes
from safe_gate.evaluators.synthesis.engine.tokens import BOUNDARY, Sentence, Spelling, is_content, read

LEAST_MARKED = 2
"""The minimum number of marked clauses that have a phrase."""

LEAST_PRECISION = 0.8
"""At least this share of the clauses with a phrase must be marked. Half a clause is subtracted from the marked ones."""

TAUGHT = ("positive", "negative", "mind_reading", "guarantee", "vulnerability", "pivot")
"""The groups that rows are learned for."""

_MARKS = {"pivot": "leaves"}  # the mark of a group, if its name differs
_LONGEST = 6
_MODALS = frozenset({"should", "must", "will", "can", "would", "could", "not"})
_FUNCTION_WORDS = frozenset(
    "the a an of to in and or but if so as at by for from with on off out up down that this these those it is am are "
    "was were be been being do does did not no 's there then than about over into".split()
)
_PLACE = later(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Row:
    """A learned phrase: `inside` of the `total` clauses that hold it are of its group.

    `question` limits the phrase to questions, so "how do you feel" can be worth a row when "you feel" is not.
    """

    group: str
    phrase: str
    inside: int
    total: int
    question: bool = False


@dataclass(frozen=True, slots=True)
class _Clause:
    words: tuple[str, ...]
    asks: bool
    """Whether a question mark follows it in its sentence."""
    is_marked: bool
    is_known: bool
    """Whether a rule hits it already."""


def rows(cases: Iterable[Case], today: Rules, classes: Classes, groups: Sequence[str]) -> list[Row]:
    """Return the rows that cases teach for some groups, the phrases that cover most first."""
    names = {word: name for name, words in reversed(list(classes.items())) for word in words if word.isalpha()}
    clauses: dict[str, list[_Clause]] = {group: [] for group in groups}
    for case in cases:
        turn = Turn(case.user, case.assistant, today)
        for group in groups:
            if _says(case, group):
                clauses[group] += _clauses(case, group, turn)
    return [row for group in groups for row in _rows(group, clauses[group], names)]


def as_packs(found: Sequence[Row]) -> list[dict[str, Any]]:
    """Return rows as packs of a team's own, one for each group."""
    by_group: dict[str, list[Row]] = {}
    for row in found:
        by_group.setdefault(row.group, []).append(row)
    return [_pack(group, some) for group, some in by_group.items()]


def _pack(group: str, found: Sequence[Row]) -> dict[str, Any]:
    check, field = GROUPS[group]
    pack = "team-learned-" + group.replace("_", "-")
    rules: dict[str, dict[str, Any]] = {}
    for row in found:
        name = f"{pack}/{'question-' * row.question}{_PLACE.sub('-', row.phrase).strip('-')}"
        while name in rules:
            name += "-2"
        asked = {"question": True} if row.question else {}
        rules[name] = {"id": name, "phrase": row.phrase, **asked, "origin": {"learned": [row.inside, row.total]}}
    about = f"Phrases that occur in marked clauses of {group.replace('_', ' ')}."
    head = {"pack": pack, "check": check, "group": group, "field": field, "about": about}
    return {**head, "rules": [rules[name] for name in sorted(rules)]}


def _says(case: Case, group: str) -> bool:
    """Return whether a case says which clauses are of a group, by marks or by a label that excludes all."""
    check = GROUPS[group][0]
    if case.marks:
        return True
    label = case.expected.get(check, "")
    return (check, label) in {("unverifiable_reassurance", True), ("topic_pivot", None)} and group in (
        "mind_reading",
        "guarantee",
        "vulnerability",
    )


def _clauses(case: Case, group: str, turn: Turn) -> Iterator[_Clause]:
    """Yield the clauses of the text that a group is looked for in."""
    field = GROUPS[group][1]
    hit = {match.clause for match in turn.matches(group) if not match.by}
    marks = [_words(mark, turn.rules.spelling) for mark in case.marks.get(_MARKS.get(group, group), ())]
    for number, sentence in enumerate(turn.sentences(field)):
        marked = _marked(sentence, marks)
        for start, end in _bounds(sentence):
            is_marked = 2 * sum(marked[start:end]) >= end - start
            asks = "?" in sentence.words[end:]
            yield _Clause(tuple(sentence.words[start:end]), asks, is_marked, (number, start) in hit)


def _words(mark: str, spelling: Spelling) -> list[str]:
    return [word for one in read(normalise(mark), spelling).sentences for word in one.words if word not in BOUNDARY]


def _marked(sentence: Sentence, marks: Sequence[Sequence[str]]) -> list[bool]:
    """Return for each token of a sentence whether a mark covers it, signs between words aside."""
    places = [at for at, word in enumerate(sentence.words) if word not in BOUNDARY]
    words = [sentence.words[at] for at in places]
    marked = [False] * len(sentence.words)
    for mark in marks:
        for start in range(len(words) - len(mark) + 1):
            if words[start : start + len(mark)] == mark:
                for at in places[start : start + len(mark)]:
                    marked[at] = True
    return marked


def _bounds(sentence: Sentence) -> Iterator[tuple[int, int]]:
    """Yield the first token of each clause and the one after its last."""
    start = 0
    for at, word in enumerate([*sentence.words, "\n"]):
        if word in BOUNDARY:
            if at > start:
                yield start, at
            start = at + 1


def _rows(group: str, clauses: Sequence[_Clause], names: Mapping[str, str]) -> Iterator[Row]:
    inside, outside = Counter[tuple[str, bool]](), Counter[tuple[str, bool]]()
    held: dict[tuple[str, bool], list[int]] = {}
    for number, clause in enumerate(clauses):
        plain = _phrases(clause.words, names)
        found = [*((phrase, False) for phrase in plain), *((phrase, True) for phrase in plain if clause.asks)]
        (inside if clause.is_marked else outside).update(found)
        if clause.is_marked and not clause.is_known:
            for key in found:
                held.setdefault(key, []).append(number)
    worth = {
        key: places
        for key, places in held.items()
        if inside[key] >= LEAST_MARKED and inside[key] - 0.5 >= LEAST_PRECISION * (inside[key] + outside[key])
    }
    covered: set[int] = set()
    queue = [(-len(places), asked, len(phrase.split()), phrase) for (phrase, asked), places in worth.items()]
    heapq.heapify(queue)
    while queue:
        most, asked, length, phrase = heapq.heappop(queue)
        places = worth[phrase, asked]
        left = sum(place not in covered for place in places)
        if left and left < -most:
            heapq.heappush(queue, (-left, asked, length, phrase))
        elif left:
            covered.update(places)
            marked = inside[phrase, asked]
            yield Row(group, phrase, marked, marked + outside[phrase, asked], asked)


def _phrases(words: Sequence[str], names: Mapping[str, str]) -> set[str]:
    """Return the phrases of a clause: runs of 2 to 6 tokens, as words or as classes, with one gap or none."""
    plain = ["^", *(word if word[0].isalpha() else "<num>" if word[0].isdigit() else "_" for word in words)]
    named = [
        f"{{{names[word]}}}" if word in names and word not in _FUNCTION_WORDS else token
        for word, token in zip(["^", *words], plain, strict=True)
    ]
    tells = [False, *(word in _MODALS or is_content(word) for word in words)]
    found: set[str] = set()
    for start in range(len(plain)):
        for end in range(start + 2, min(start + _LONGEST, len(plain)) + 1):
            if "_" in (plain[start], plain[end - 1]) or not any(tells[start:end]):
                continue
            found |= {" ".join(plain[start:end]), " ".join(named[start:end])}
            if end - start >= 4:
                found |= {" ".join([*named[start:at], "_", *named[at + 1 : end]]) for at in range(start + 1, end - 1)}
    return found
