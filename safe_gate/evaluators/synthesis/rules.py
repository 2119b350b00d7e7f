"""Rule packs: compiled from their data (`packs/*.json`) and matched against a normalised text.

Pure: the data arrives as parsed JSON that `schemas/rule-pack.schema.json` has vouched for.
Patterns run on RE2, which is linear in the text whatever the pattern and looks for all patterns of
a pack in one pass; it knows no look-around and no back-references.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import re2

from safe_gate.model import Hit, JsonObject
from safe_gate.text import Normalised, asks, normalise

# What is spelt out in a pattern and typed in more than one way: a blank, and an apostrophe that many leave out.
_LENIENT = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]| |'(?![?*+{])")
_IN_CLAUSE_BEFORE = r"\b{%s}\b[^,;:—]*$"
_TYPED = {" ": r"[ \n]", "'": "'?"}
# RE2 is quadratic in the alternatives of a pattern when it compiles it: this many characters take seconds.
_DEEPEST_CLASS, _LONGEST_PATTERN = 8, 10_000
_REFUSED = (re2.error, UnicodeEncodeError)  # what compiling a pattern raises
_CLASS = re.compile(r"\{([a-z_]+)\}")
# A hit may start a clause right after one of these; "start" rules look for nothing else.
_CLAUSE_MARK = re.compile(r"[.!?:;,—(\n\"]")
_CLAUSE_WORD = re.compile(r"\b(?:and|but|or|so|then|just|please|now|first|also)$", re.IGNORECASE)
_LONGER_THAN_ANY = len("please") + 1
_WORD, _NO_WORD = re.compile("[a-z]+"), re.compile(r"\\.|\{[a-z_]+\}")  # escapes and word classes are no words
_UP_TO_A_WORD = re.compile(r"(?s:.*)\w")


@dataclass(frozen=True, slots=True)
class Rule:
    """One pattern with the conditions under which it counts.

    `cancelled_by` are word classes by name, each with a pattern for the text before a match.
    """

    id: str
    pattern: str
    start: bool
    question: bool | None
    quoted: bool
    cancelled_by: tuple[tuple[str, str], ...]
    unless: str
    unless_before: str
    unless_after: str


@dataclass(frozen=True, slots=True)
class Pack:
    """The rules of one group, all looked for in the same field.

    `weights` is what a rule's hit counts beside learned evidence, by id; `any` finds which of the rules match.
    """

    id: str
    check: str
    group: str
    field: str
    weights: Mapping[str, float]
    rules: tuple[Rule, ...]
    any: Any


class Match(NamedTuple):
    """A rule's match by its span in the normalised text, and what cancels it, if anything does."""

    rule: str
    start: int
    end: int
    by: str = ""
    words: str = ""

    def hit(self, text: Normalised, field: str, weight: float = 1) -> Hit:
        """Return the match as a hit that quotes the original text."""
        start, end = text.span(self.start, self.end)
        return Hit(self.rule, text.original[start:end], field, start, end, weight, by=self.by, words=self.words)


def compile_pack(data: JsonObject, shared_classes: Mapping[str, Sequence[str]]) -> Pack:
    """Return the pack with its patterns compiled, word classes filled in.

    Raises ValueError naming the rule for a pattern that RE2 refuses or that uses a class nobody
    defines.
    """
    classes = {**shared_classes, **data.get("classes", {})}
    any_rule = re2.Set.SearchSet(_ALL)
    rules = []
    for rule in data["rules"]:
        try:
            rules.append(
                Rule(
                    id=rule["id"],
                    pattern=_expand(rule["pattern"], classes),
                    start=rule.get("start", False),
                    question=rule.get("question"),
                    quoted=rule.get("quoted", False),
                    cancelled_by=tuple(
                        (name, _expand(_IN_CLAUSE_BEFORE % name, classes)) for name in rule.get("cancelled_by", ())
                    ),
                    unless=_either(rule.get("unless", ()), classes),
                    unless_before=_either(rule.get("unless_before", ()), classes),
                    unless_after=_either(rule.get("unless_after", ()), classes),
                )
            )
            _add(any_rule, rules[-1].pattern)
        except _REFUSED as error:
            raise ValueError(f"rule {rule['id']}: pattern: {_words(error)}") from error
        except KeyError as error:
            raise ValueError(f"rule {rule['id']}: {_words(error)}") from error
    try:
        any_rule.Compile()
    except re2.error:
        any_rule = _with_more_memory(data["pack"], rules)
    # To a thousandth, as sums are: else what hits weigh would not add up to what decides.
    weights = {rule["id"]: round(rule.get("weight", data.get("weight", 1)), 3) for rule in data["rules"]}
    return Pack(data["pack"], data["check"], data["group"], data["field"], weights, tuple(rules), any_rule)


def _with_more_memory(pack: str, rules: Sequence[Rule]) -> Any:
    """Return what finds the rules of a large pack. Raises ValueError for one that is larger still."""
    any_rule = re2.Set.SearchSet(_LARGE)
    try:
        for rule in rules:
            any_rule.Add(rule.pattern)
        any_rule.Compile()
    except re2.error as error:
        raise ValueError(f"pack {pack}: its patterns are too large together; make two packs of it") from error
    return any_rule


def broken_promises(
    data: JsonObject, rule: JsonObject, shared_classes: Mapping[str, Sequence[str]]
) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the `hit` texts that a rule of a pack, alone, does not hit, and the `miss` texts that it does.

    The latter each with what it matches first. Raises ValueError as `compile_pack` does.
    """
    alone = compile_pack({**data, "rules": [rule]}, shared_classes)
    (one,) = alone.rules
    unless = [(name, getattr(one, name)) for name in ("unless", "unless_before", "unless_after")]
    for name, pattern in (*one.cancelled_by, *unless):
        if why := refusal(pattern):
            raise ValueError(f"rule {rule['id']}: {name}: {why}")
    missed = [text for text in rule["hit"] if not find(alone, normalise(text))]
    struck = [
        (text, found[0].hit(normalised, data["field"]).text)
        for text in rule["miss"]
        for normalised in [normalise(text)]
        if (found := find(alone, normalised))
    ]
    return missed, struck


def words_of(packs: Iterable[JsonObject], shared_classes: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """Return the words that occur in the rules of packs, lower-cased: in patterns and in what these promise to hit."""
    texts = [text for some in shared_classes.values() for text in some]
    for pack in packs:
        texts += [text for some in pack.get("classes", {}).values() for text in some]
        for rule in pack.get("rules", ()):
            texts += rule["pattern"], *rule["hit"]
            texts += (text for name in ("unless", "unless_before", "unless_after") for text in rule.get(name, ()))
    return frozenset(_WORD.findall(_NO_WORD.sub(" ", " ".join(texts).lower())))


def refusal(pattern: str) -> str:
    """Return why RE2 refuses a pattern, nothing if it takes it."""
    try:
        compiled(pattern)
    except _REFUSED as error:
        return _words(error)
    return ""


def _words(error: Exception) -> str:
    """Return what an error says; RE2 says it in bytes."""
    if isinstance(error, UnicodeEncodeError):
        return "half a surrogate pair, which no text holds; write the whole character"
    why = error.args[0]
    return why.decode() if isinstance(why, bytes) else str(why)


def find(pack: Pack, text: Normalised) -> tuple[Match, ...]:
    """Return what the pack's rules match and nothing cancels, in reading order, overlaps decided."""
    return resolve_overlaps(match for match in matches(pack, text) if not match.by)


def matches(pack: Pack, text: Normalised) -> Iterator[Match]:
    """Yield what the pack's rules match, cancelled or not, each wording once.

    A sentence repeated word for word counts once for a rule (labelling guide, point 2).
    """
    whole = text.text
    seen: set[tuple[str, str, int]] = set()
    for index in sorted(pack.any.Match(text.encoded) or ()):
        rule = pack.rules[index]
        for matched in _spans(rule.pattern, text):
            found = whole[slice(*matched)]
            if not found.strip():
                continue
            span = matched[0] + len(found) - len(found.lstrip()), matched[0] + len(found.rstrip())
            start, end = text.sentence_at(span[0])
            if not _stands(rule, whole, span, start, end):
                continue
            sentence = whole[start:end].lstrip()
            wording = (rule.id, sentence.rstrip().lower(), span[0] - (end - len(sentence)))
            if wording not in seen:
                seen.add(wording)
                yield Match(rule.id, *span, *_cancelled_by(rule, text, span, start, end))


def _spans(pattern: str, text: Normalised) -> Iterator[tuple[int, int]]:
    """Yield the spans of a text that a pattern matches."""
    for stretch in text.stretches:
        for match in compiled(pattern).finditer(text.encoded, *stretch):
            yield text.decoded(*match.span())


def resolve_overlaps(matches: Iterable[Match]) -> tuple[Match, ...]:
    """Return the matches in reading order; where they overlap the longest stays, then the first, then the lower id."""
    ranked = sorted(matches, key=lambda m: (m.start - m.end, m.start, m.rule))
    if len(ranked) < 2:
        return tuple(ranked)
    taken = bytearray(max(match.end for match in ranked))
    kept = []
    for match in ranked:
        if taken.find(1, match.start, match.end) < 0:
            taken[match.start : match.end] = b"\1" * (match.end - match.start)
            kept.append(match)
    return tuple(sorted(kept, key=lambda m: m.start))


def overlapping(match: Match, kept: Sequence[Match]) -> Match:
    """Return the longest of those that `resolve_overlaps` kept that overlap a match that it did not keep."""
    first = bisect_right(kept, match.start, key=lambda m: m.end)
    end = bisect_left(kept, match.end, key=lambda m: m.start)
    return max(kept[first:end], key=lambda m: m.end - m.start)


def _stands(rule: Rule, text: str, span: tuple[int, int], start: int, end: int) -> bool:
    """Tell whether a match stands where its rule looks, given the sentence `text[start:end]` it is in."""
    if rule.question is not None and rule.question != asks(text[span[1] - 1 : end]):
        return False
    return not rule.start or _starts_clause(text[start : span[0]])


def _starts_clause(before: str) -> bool:
    """Tell whether a clause may start right after a part of a sentence, blanks and signs in between passed over."""
    word = _UP_TO_A_WORD.match(before)
    if word is None or _CLAUSE_MARK.search(before, word.end()):
        return True
    return _CLAUSE_WORD.search(before[max(0, word.end() - _LONGER_THAN_ANY) : word.end()]) is not None


def _cancelled_by(rule: Rule, text: Normalised, span: tuple[int, int], start: int, end: int) -> tuple[str, str]:
    """Return what cancels a match in the sentence `text[start:end]`, and by which words; empty if nothing does."""
    if not rule.quoted and _is_inside(span, text.quotations):
        return "quotation", ""
    before = text.text[start : span[0]]
    for name, pattern in rule.cancelled_by:
        if found := compiled(pattern).search(before):
            return name, found[0].strip()
    for pattern, around in (
        (rule.unless, text.text[start:end]),
        (rule.unless_before, before),
        (rule.unless_after, text.text[span[1] : end]),
    ):
        if pattern and (found := compiled(pattern).search(around)):
            return "unless", found[0].strip()
    return "", ""


def _is_inside(span: tuple[int, int], quotations: Sequence[tuple[int, int]]) -> bool:
    index = bisect_right(quotations, (span[0], 0)) - 1
    return index >= 0 and span[1] < quotations[index][1]


@cache
def compiled(pattern: str) -> Any:
    """Return an RE2 pattern compiled; most rules match nothing in a run and are never asked for."""
    try:
        return re2.compile(pattern, options=_ONE)
    except re2.error:  # it is too large for that, or none
        return re2.compile(pattern, options=_LARGE)


def _expand(pattern: str, classes: Mapping[str, Sequence[str]]) -> str:
    """Return a pattern with its word classes filled in, lenient in blanks and apostrophes."""

    def alternatives(match: re.Match[str]) -> str:
        if match[1] not in classes:
            raise KeyError(f"unknown word class {match[0]}")
        return _bounded("(?:" + "|".join(classes[match[1]]) + ")")  # else a class that is named often fills memory

    for _ in range(_DEEPEST_CLASS):  # a class may name another one
        if not _CLASS.search(pattern):
            break
        pattern = _bounded(_CLASS.sub(alternatives, pattern))
    else:
        raise KeyError(f"word classes name each other more than {_DEEPEST_CLASS} deep")
    return _LENIENT.sub(_leniently, _bounded(pattern))


def _bounded(pattern: str) -> str:
    if len(pattern) > _LONGEST_PATTERN:
        words = "a pattern or condition, word classes filled in, is longer than {:,} characters; make two rules of it"
        raise KeyError(words.format(_LONGEST_PATTERN))
    return pattern


def _leniently(match: re.Match[str]) -> str:
    if match[0] in _TYPED:
        return _TYPED[match[0]]
    return match[0].replace(" ", r" \n") if match[0].startswith("[") else match[0]


def _add(patterns: Any, pattern: str) -> None:
    try:
        patterns.Add(pattern)
    except re2.error:
        re2.compile(pattern, options=_LARGE)  # says what is wrong; the set only says that it is
        raise


def _either(patterns: Sequence[str], classes: Mapping[str, Sequence[str]]) -> str:
    either = ""
    for pattern in patterns:
        either = _bounded(f"{either}|(?:{_expand(pattern, classes)})".removeprefix("|"))
    return either


def _options(memory: int) -> Any:
    """Return how patterns are compiled; what an automaton has learned of texts is forgotten beyond so many bytes."""
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.never_capture = True  # only whole matches are asked for
    options.max_mem = memory
    return options


_ONE, _ALL, _LARGE = _options(256 << 10), _options(8 << 20), _options(64 << 20)
