"""A team's own rules as regular expressions, compiled and matched against a normalised text.

Pure: the data is parsed JSON that is valid under `schemas/rule-pack.schema.json`. Patterns run on RE2. It is linear
in the text for any pattern. It has no look-around and no back-references. It is loaded only if a team has such rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import re2

from safe_gate.core.text.mapped_text import Normalised, asks
from safe_gate.evaluators.synthesis.engine.rules import Match, Rule
from safe_gate.evaluators.synthesis.engine.tokens import Reading
from safe_gate.model.codec import JsonObject

_ITSELF = r"\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]"  # what is quoted, escaped or in brackets
# Characters that people type in more than one way: a blank, and an apostrophe that many leave out.
_LENIENT = re.compile(_ITSELF + r"| |'(?![?*+{])", re.DOTALL)
_SPACE = re.compile(_ITSELF + "| ", re.DOTALL)
_IN_CLAUSE_BEFORE = r"\b{%s}\b[^,;:—]*$"
_TYPED = {" ": r"[ \n]", "'": "'?"}
# RE2 compiles a pattern in time quadratic in its alternatives: this many characters take seconds.
_DEEPEST_CLASS, _LONGEST_PATTERN = 8, 10_000
_REFUSED = (re2.error, UnicodeEncodeError)  # the error from compiling a pattern
_CLASS = re.compile(r"\{([a-z_]+)\}")
# A clause may start right after one of these; "start" rules look only there.
_CLAUSE_MARK = re.compile(r"[.!?:;,—(\n\"]")
_CLAUSE_WORD = re.compile(r"\b(?:and|but|or|so|then|just|please|now|first|also)$", re.IGNORECASE)
_LONGER_THAN_ANY = len("please") + 1
_CLAUSE_END = re.compile("[,;:\u2014]")
_UP_TO_A_WORD = re.compile(r"(?s:.*)\w")


@dataclass(frozen=True, slots=True)
class _Pattern:
    """One pattern with the conditions under which it counts.

    `cancelled_by` are word classes by name, each with a pattern for the text before a match.
    """

    rule: Rule
    pattern: str
    start: bool
    cancelled_by: tuple[tuple[str, str], ...]
    unless: str
    unless_before: str
    unless_after: str


@dataclass(frozen=True, slots=True)
class Patterns:
    """The patterns of a pack for one field."""

    group: str
    field: str
    patterns: tuple[_Pattern, ...]

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, without their patterns."""
        return tuple(one.rule for one in self.patterns)

    def matches(self, text: Normalised, reading: Reading) -> Iterator[Match]:
        """Yield what the rules match, cancelled or not, each wording once.

        A sentence repeated word for word counts once for a rule (labelling guide, point 2).
        """
        whole = text.text
        seen: set[tuple[str, str, int]] = set()
        for one in self.patterns:
            for matched in match_spans(one.pattern, text):
                found = whole[slice(*matched)]
                if not found.strip():
                    continue
                span = matched[0] + len(found) - len(found.lstrip()), matched[0] + len(found.rstrip())
                start, end = text.sentence_at(span[0])
                if not _meets_conditions(one, whole, span, start, end):
                    continue
                sentence = whole[start:end].lstrip()
                wording = (one.rule.id, sentence.rstrip().lower(), span[0] - (end - len(sentence)))
                if wording not in seen:
                    seen.add(wording)
                    clause = reading.clause_at(span[0])
                    yield Match(one.rule, *span, clause, *_find_cancellation(one, text, span, start, end))


def compile_pack(data: JsonObject, shared_classes: Mapping[str, Sequence[str]]) -> Patterns:
    """Return a pack's rules that have a pattern, compiled, with word classes expanded.

    Raises ValueError naming the rule for a pattern that RE2 refuses or that uses a class nobody defines.
    """
    classes = {**shared_classes, **data.get("classes", {})}
    patterns = []
    for rule in (rule for rule in data["rules"] if "pattern" in rule):
        try:
            patterns.append(
                _Pattern(
                    rule=Rule.of(rule, data, is_own=True),
                    pattern=_expand(rule["pattern"], classes),
                    start=rule.get("start", False),
                    cancelled_by=tuple(
                        (name, _expand(_IN_CLAUSE_BEFORE % name, classes)) for name in rule.get("cancelled_by", ())
                    ),
                    unless=_any_pattern(rule.get("unless", ()), classes),
                    unless_before=_any_pattern(rule.get("unless_before", ()), classes),
                    unless_after=_any_pattern(rule.get("unless_after", ()), classes),
                )
            )
            compile_pattern(patterns[-1].pattern)
        except re2.error as error:
            words = f"RE2 refuses it: {_words(error)}; correct it, or write a phrase"
            raise ValueError(f"rule {rule['id']}: pattern: {words}") from error
        except UnicodeEncodeError as error:
            raise ValueError(f"rule {rule['id']}: pattern: {_words(error)}") from error
        except KeyError as error:
            raise ValueError(f"rule {rule['id']}: {_words(error)}") from error
    for one in patterns:
        contexts = [(name, getattr(one, name)) for name in ("unless", "unless_before", "unless_after")]
        for name, pattern in (*one.cancelled_by, *contexts):
            if why := refusal_reason(pattern):
                raise ValueError(f"rule {one.rule.id}: {name}: {why}")
    return Patterns(data["group"], data["field"], tuple(patterns))


def refusal_reason(pattern: str) -> str:
    """Return why RE2 refuses a pattern, nothing if it takes it."""
    try:
        compile_pattern(pattern)
    except _REFUSED as error:
        return _words(error)
    return ""


def _words(error: Exception) -> str:
    """Return what an error says, and what RE2 lacks if it is that; RE2 speaks in bytes."""
    if isinstance(error, UnicodeEncodeError):
        return "half a surrogate pair, which no text holds; write the whole character"
    why = error.args[0]
    words = why.decode() if isinstance(why, bytes) else str(why)
    return next((f"{words} ({reason})" for start, reason in _LACKS.items() if words.startswith(start)), words)


_LACKS = {
    "invalid perl operator": "RE2 has no look-ahead and no look-behind",
    "invalid escape sequence: \\1": "RE2 has no back-references",
}


@lru_cache(maxsize=1_000)
def allow_line_ends(pattern: str) -> str:
    """Return a pattern in which a space outside of brackets also matches the end of a line."""
    return _SPACE.sub(lambda found: _TYPED.get(found[0], found[0]), pattern)


def match_spans(pattern: str, text: Normalised) -> Iterator[tuple[int, int]]:
    """Yield the spans of a text that a pattern matches."""
    for stretch in text.stretches:
        for match in compile_pattern(pattern).finditer(text.encoded, *stretch):
            yield text.decoded(*match.span())


def _meets_conditions(one: _Pattern, text: str, span: tuple[int, int], start: int, end: int) -> bool:
    """Return whether a match stands where its rule looks, given the sentence `text[start:end]` it is in."""
    if one.rule.question is not None and one.rule.question != asks(text[span[1] - 1 : end]):
        return False
    return not one.start or _starts_clause(text[start : span[0]])


def _starts_clause(before: str) -> bool:
    """Return whether a clause may start right after a part of a sentence, blanks and signs in between passed over."""
    word = _UP_TO_A_WORD.match(before)
    if word is None or _CLAUSE_MARK.search(before, word.end()):
        return True
    return _CLAUSE_WORD.search(before[max(0, word.end() - _LONGER_THAN_ANY) : word.end()]) is not None


def _find_cancellation(one: _Pattern, text: Normalised, span: tuple[int, int], start: int, end: int) -> tuple[str, str]:
    """Return what cancels a match in the sentence `text[start:end]`, and by which words; empty if nothing does."""
    if not one.rule.quoted and text.is_quoted(*span):
        return "quotation", ""
    before = text.text[start : span[0]]
    for name, pattern in one.cancelled_by:
        if found := compile_pattern(pattern).search(before):
            return name, found[0].strip()
    for pattern, around in (
        (one.unless, _clause(text.text[start:end], span[0] - start, span[1] - start)),
        (one.unless_before, before),
        (one.unless_after, text.text[span[1] : end]),
    ):
        if pattern and (found := compile_pattern(pattern).search(around)):
            return "unless", found[0].strip()
    return "", ""


def _clause(sentence: str, start: int, end: int) -> str:
    """Return the clause, or the clauses, of a sentence that a match in it touches."""
    ends = [mark.start() for mark in _CLAUSE_END.finditer(sentence)]
    first = max((mark + 1 for mark in ends if mark < start), default=0)
    return sentence[first : min((mark for mark in ends if mark >= end), default=len(sentence))]


@lru_cache(maxsize=10_000)
def compile_pattern(pattern: str) -> Any:
    """Return an RE2 pattern compiled; most rules match nothing in a run and are never asked for."""
    try:
        return re2.compile(pattern, options=_ONE)
    except re2.error:  # the pattern needs more memory, or is invalid
        return re2.compile(pattern, options=_LARGE)


def _expand(pattern: str, classes: Mapping[str, Sequence[str]]) -> str:
    """Return a pattern with its word classes expanded, and lenient in blanks and apostrophes."""

    def alternatives(match: re.Match[str]) -> str:
        if match[1] not in classes:
            raise KeyError(f"unknown word class {match[0]}; add it to `classes` of the pack")
        return _word_bounded("(?:" + "|".join(classes[match[1]]) + ")")  # otherwise a frequent class fills memory

    for _ in range(_DEEPEST_CLASS):  # a class may name another one
        if not _CLASS.search(pattern):
            break
        pattern = _word_bounded(_CLASS.sub(alternatives, pattern))
    else:
        raise KeyError(f"word classes name each other more than {_DEEPEST_CLASS} deep")
    return _LENIENT.sub(_lenient_replacement, _word_bounded(pattern))


def _word_bounded(pattern: str) -> str:
    if len(pattern) > _LONGEST_PATTERN:
        words = "is longer than {:,} characters once word classes are expanded; split the rule"
        raise KeyError(words.format(_LONGEST_PATTERN))
    return pattern


def _lenient_replacement(match: re.Match[str]) -> str:
    if match[0] in _TYPED:
        return _TYPED[match[0]]
    return match[0].replace(" ", r" \n") if match[0].startswith("[") else match[0]


def _any_pattern(patterns: Sequence[str], classes: Mapping[str, Sequence[str]]) -> str:
    either = ""
    for pattern in patterns:
        either = _word_bounded(f"{either}|(?:{_expand(pattern, classes)})".removeprefix("|"))
    return either


def _options(memory: int) -> Any:
    """Return the options to compile patterns with. They bound the bytes that an automaton caches."""
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.never_capture = True  # only whole matches are asked for
    options.max_mem = memory
    return options


_ONE, _LARGE = _options(256 << 10), _options(64 << 20)
