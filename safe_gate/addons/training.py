"""Learns rules from marked cases: `safe-gate rules train`. Pure.

Phrases are learned by counting: those that occur in marked clauses and hardly anywhere else. People mark the clauses
that decide (`marks` of a case). A phrase is worth a row if it occurs in at least two marked clauses of a group, and
nearly every clause with it is marked. A small set of these phrases is kept. It covers the marked clauses that no rule
hits yet.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from heapq import heapify, heappop, heappush
from itertools import groupby
from typing import Any, NamedTuple

from safe_gate.core.figures import plural, with_interval
from safe_gate.core.stats import wilson
from safe_gate.core.text import normalise
from safe_gate.evaluators.synthesis import packs
from safe_gate.evaluators.synthesis.case import Case
from safe_gate.evaluators.synthesis.checks.score import score_case
from safe_gate.evaluators.synthesis.checks.turn import Rules, Turn
from safe_gate.evaluators.synthesis.definitions import CHECKS, GROUPS
from safe_gate.evaluators.synthesis.engine.phrases import Classes
from safe_gate.evaluators.synthesis.engine.tokens import BOUNDARY, is_content, tokenise
from safe_gate.model import record
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.model.results import Table, Untrusted

_TAUGHT = ("positive", "negative", "mind_reading", "guarantee", "vulnerability", "pivot")
_LEAST_MARKED = 2  # marked clauses that have a phrase
_LEAST_PRECISION = 0.8  # of the clauses with a phrase, this share is marked; the marked ones count half a clause less
_MARKS = {"pivot": "leaves"}  # the mark of a group, if its name differs
_EXCLUDED_BY = {"mind_reading": True, "guarantee": True, "vulnerability": None}  # the label of a text without a group
_LONGEST = 6
_MODALS = frozenset({"should", "must", "will", "can", "would", "could", "not"})
_FUNCTION_WORDS = frozenset(
    "the a an of to in and or but if so as at by for from with on off out up down that this these those it is am are "
    "was were be been being do does did not no 's there then than about over into".split()
)
_PLACE = re.compile(r"[^a-z0-9]+")


@record
class LearnedPhrase:
    """A learned phrase: `inside` of the `total` clauses that hold it are of its group."""

    group: str
    phrase: str
    inside: int
    total: int


@record
class _Clause:
    words: tuple[str, ...]
    is_marked: bool
    is_known: bool
    """Whether a rule hits it already."""


def learn_rows(cases: Iterable[Case], today: Rules, classes: Classes, groups: Sequence[str]) -> list[LearnedPhrase]:
    """Return the rows that cases teach for some groups, the phrases that cover most first."""
    names = {word: name for name, words in reversed(list(classes.items())) for word in words if word.isalpha()}
    clauses: dict[str, list[_Clause]] = {group: [] for group in groups}
    for case in cases:
        turn = Turn(case.user, case.assistant, today)
        for group in groups:
            label = case.expected.get(GROUPS[group][0], "")
            if case.marks or (group in _EXCLUDED_BY and label is _EXCLUDED_BY[group]):  # it tells which clauses are
                clauses[group] += _clauses(case, group, turn)
    return [row for group in groups for row in _learn_group(group, clauses[group], names)]


def rows_to_packs(rows: Sequence[LearnedPhrase]) -> Iterator[dict[str, Any]]:
    """Yield rows, which are in the order of their groups, as packs of a team's own, one for each group."""
    for group, some in groupby(rows, lambda row: row.group):
        check, field = GROUPS[group]
        pack = "team-learned-" + group.replace("_", "-")
        rules: dict[str, dict[str, Any]] = {}
        for row in some:
            name = f"{pack}/{_PLACE.sub('-', row.phrase).strip('-')}"
            while name in rules:
                name += "-2"
            rules[name] = {"id": name, "phrase": row.phrase, "origin": {"learned": [row.inside, row.total]}}
        about = f"Phrases that occur in marked clauses of {group.replace('_', ' ')}."
        head = {"pack": pack, "check": check, "group": group, "field": field, "about": about}
        yield {**head, "rules": [rules[name] for name in sorted(rules)]}


def _clauses(case: Case, group: str, turn: Turn) -> Iterator[_Clause]:
    """Yield the clauses of the text that a group is looked for in."""
    field = GROUPS[group][1]
    hit = {match.clause for match in turn.matches(group) if not match.by}
    tokens = (tokenise(normalise(mark), turn.rules.spelling) for mark in case.marks.get(_MARKS.get(group, group), ()))
    marks = [[word for one in mark.sentences for word in one if word not in BOUNDARY] for mark in tokens]
    for number, sentence in enumerate(turn.read(field).sentences):
        marked = _marked_tokens(sentence, marks)
        for start, end in _clause_bounds(sentence):
            is_marked = 2 * sum(marked[start:end]) >= end - start
            yield _Clause(sentence[start:end], is_marked, (number, start) in hit)


def _marked_tokens(sentence: Sequence[str], marks: Sequence[Sequence[str]]) -> list[bool]:
    """Return for each token of a sentence whether a mark covers it, signs between words aside."""
    places = [at for at, word in enumerate(sentence) if word not in BOUNDARY]
    words = [sentence[at] for at in places]
    marked = [False] * len(sentence)
    for mark in marks:
        for start in range(len(words) - len(mark) + 1):
            if words[start : start + len(mark)] == mark:
                for at in places[start : start + len(mark)]:
                    marked[at] = True
    return marked


def _clause_bounds(sentence: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the first token of each clause and the one after its last."""
    for is_between, some in groupby(range(len(sentence)), lambda at: sentence[at] in BOUNDARY):
        if not is_between:
            places = [*some]
            yield places[0], places[-1] + 1


def _learn_group(group: str, clauses: Sequence[_Clause], names: Mapping[str, str]) -> Iterator[LearnedPhrase]:
    inside, outside = Counter[str](), Counter[str]()
    held = defaultdict[str, set[int]](set)
    for number, clause in enumerate(clauses):
        found = _phrases(clause.words, names)
        (inside if clause.is_marked else outside).update(found)
        if clause.is_marked and not clause.is_known:
            for phrase in found:
                held[phrase].add(number)
    worth = {
        one: places
        for one, places in held.items()
        if inside[one] >= _LEAST_MARKED and inside[one] - 0.5 >= _LEAST_PRECISION * (inside[one] + outside[one])
    }
    covered: set[int] = set()
    queue = [(-len(places), len(phrase.split()), phrase) for phrase, places in worth.items()]
    heapify(queue)
    while queue:  # a phrase that covers fewer new clauses than it did waits for its turn
        most, length, phrase = heappop(queue)
        if (left := len(worth[phrase] - covered)) == -most:
            covered |= worth[phrase]
            yield LearnedPhrase(group, phrase, inside[phrase], inside[phrase] + outside[phrase])
        elif left:
            heappush(queue, (-left, length, phrase))


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
        for end in range(start + 2 + (plain[start] == "^"), min(start + _LONGEST, len(plain)) + 1):
            if "_" in (plain[start], plain[end - 1]) or not any(tells[start:end]):
                continue
            found |= {" ".join(plain[start:end]), " ".join(named[start:end])}
            if end - start >= 4:
                found |= {" ".join([*named[start:at], "_", *named[at + 1 : end]]) for at in range(start + 1, end - 1)}
    return found


# --- what the rules gain over today's ----------------------------------------------------------------

_PARTS = 5


@record
class Gain:
    """How a check agrees with labels that were left out, without what the others teach and with it.

    `corrected` labels agree only with it, `spoiled` ones only without. Copies of a reply count once
    where they have the same label and agree alike.
    """

    check: str
    labels: int
    before: int
    corrected: int
    spoiled: int

    @property
    def after(self) -> int:
        """The number of labels that agree with the learned rules."""
        return self.before + self.corrected - self.spoiled


def split_cases(cases: Sequence[Case]) -> list[list[Case]]:
    """Return the cases in up to five parts, each left out once; a conversation's are in one, and others by reply."""
    names = [case.talk.id if case.talk else _reply(case) for case in cases]
    keys = [int(sha256(name.encode("utf-8", "surrogatepass")).hexdigest(), 16) % _PARTS for name in names]
    return [[case for case, key in zip(cases, keys, strict=True) if key == part] for part in sorted(set(keys))]


def _reply(case: Case) -> str:
    """Return a case's reply as its copies have it too."""
    return normalise(case.assistant).folded


def measure_gains(
    cases: Sequence[Case], checks: Sequence[str], today: Rules, taught: Callable[[Sequence[Case]], Rules]
) -> tuple[Gain, ...]:
    """Return the gain of each check with labels, over all parts of the cases; none of a single part.

    `today` are the rules without learned ones; `taught` returns the rules that some cases teach.
    """
    seen: dict[str, set[tuple[str, bool | None, bool, bool]]] = {check: set() for check in checks}
    parts, replies = split_cases(cases), {case.assistant: _reply(case) for case in cases}
    for part in parts if len(parts) > 1 else ():
        left_out = {replies[case.assistant] for case in part}  # a conversation of another part may have a copy
        tomorrow = taught([case for case in cases if replies[case.assistant] not in left_out])
        for case in part:
            before, after = score_case(case, today).checks, score_case(case, tomorrow).checks
            for check in before.keys() & case.expected.keys() & seen.keys():
                label = case.expected[check]
                agrees = before[check].agreement(label).match, after[check].agreement(label).match
                seen[check].add((replies[case.assistant], label, *agrees))
    pairs = {check: [(old, new) for *_, old, new in found] for check, found in seen.items()}
    return tuple(
        Gain(check, len(found), sum(old for old, _ in found), found.count((False, True)), found.count((True, False)))
        for check, found in pairs.items()
        if found
    )


class Lesson(NamedTuple):
    """Rules learned from marked cases: packs, and text for readers."""

    packs: Sequence[packs.Pack]
    shown: Sequence[Table | str]


def teach(cases: Sequence[Any], settings: JsonObject, recipe: str) -> Lesson:
    """Return the rules learned from marked cases, compared with the rules that settings name. Raises CannotJudge.

    `recipe` is made from the settings.
    """
    if settings["profile"] == packs.SPEC:
        words = "is spec, which uses no learned rules; expected standard"
        raise CannotJudge.at("profile", words, Code.INVALID_SETTING)
    teams = packs.packs_in_recipe(recipe)
    today = packs.select_packs(teams, settings["rules_off"])
    ready = partial(packs.make_rules, own=teams, table=packs.stored_table())
    rules = ready(today)
    learned = partial(learn_rows, today=rules, classes=packs.word_classes(), groups=_TAUGHT)
    found = learned(cases)
    made = list(rows_to_packs(found))
    taken = {pack["pack"] for pack in today}
    words = "is the id that a learned pack gets; leave it out of rules, or rename it"
    if problems := [Problem(Place("rules"), words, pack["pack"]) for pack in made if pack["pack"] in taken]:
        raise CannotJudge(*problems)
    checks = [check for check in CHECKS if any(GROUPS[row.group][0] == check for row in found)]
    measured: tuple[Gain, ...] = ()
    if checks:
        measured = measure_gains(cases, checks, rules, lambda some: ready([*today, *rows_to_packs(learned(some))]))
    return Lesson(tuple(made), tuple(_lesson_lines(cases, found, measured)))


def _lesson_lines(cases: Sequence[Any], rows: Sequence[LearnedPhrase], gains: Sequence[Gain]) -> Iterator[Table | str]:
    """Yield the rows that were learned, what they gain each check on labels left out, and what the cases lack."""
    if rows:
        shown = ((Untrusted(row.phrase), row.group, f"{row.inside} of {row.total}") for row in rows)
        yield Table(("Phrase", "Group", "Clauses"), "<<>", tuple(shown))
    yield f"{plural(len(rows), 'rule')} learned"
    if gains:
        header = ("Check", "Labels", "Before", "After", "Gain", "Fixed", "Broken", "Result")
        yield Table(header, "<>>>>>><", tuple(map(_gain_row, gains)))
        yield "Before: labels that agree with today's rules. After: with learned rules, cross-validated."
        yield "In brackets: 95 % Wilson intervals."
    elif rows and len(split_cases(cases)) == 1:
        yield "The gain cannot be measured: all cases share a reply, or are too few; add cases with another reply."
    replies = len({_reply(case) for case in cases})
    if replies < len(cases):
        distinct = plural(replies, "distinct reply", "distinct replies")
        words = "a copy counts once, and cases that share a reply are left out together"
        yield f"{plural(len(cases), 'case')}, {distinct}: {words}."
    if not any(case.marks for case in cases):
        yield "No case has marks: quote the clauses that decide in `marks`, by group, to learn from them."


def _gain_row(gain: Gain) -> tuple[str, ...]:
    return (
        gain.check,
        str(gain.labels),
        with_interval(gain.before / gain.labels, *wilson(gain.before, gain.labels)),
        with_interval(gain.after / gain.labels, *wilson(gain.after, gain.labels)),
        f"{100 * (gain.after - gain.before) / gain.labels:+.1f}",
        str(gain.corrected),
        str(gain.spoiled),
        _is_worthwhile(gain),
    )


def _is_worthwhile(gain: Gain) -> str:
    """Return whether more labels are corrected than spoiled, beyond chance by the 95 % Wilson interval of the share.

    >>> _is_worthwhile(Gain("topic_pivot", labels=10, before=8, corrected=1, spoiled=1))
    'no gain: do not use these rules'
    """
    if gain.after <= gain.before:
        return "no gain: do not use these rules"
    is_beyond_chance = wilson(gain.corrected, gain.corrected + gain.spoiled)[0] > 0.5
    return "gain beyond chance" if is_beyond_chance else "may be chance: label more cases"
