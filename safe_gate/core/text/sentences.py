"""Where sentences and quotations of a text end, and which words of it are addresses. Pure and linear."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise

from safe_gate.core.text.patterns import later

LONGEST_SENTENCE = 1_000
"""Rules look around a match within its sentence; a bound keeps that linear on text without full stops."""

# An address ends before what ends the sentence it is in.
_LINK = later(r"(?:https?://|\bwww\.)[^\s\u2014\"<>]*[^\s\u2014\"<>?!.,;:)\]}']", re.IGNORECASE)
# A note's number may stand behind a stop, and a blank be forgotten; an emoji may stand for a stop.
# The look-behinds and the possessive quantifiers keep it linear on a megabyte of dots.
_EMOJI = "[\u2600-\u27bf\U0001f300-\U0001faff]"
_STOPPED = (
    r"(?<![.!?])[.!?]++[\"')\]]*+(?:(?:\[\^?\d{1,3}\]|[\u00b9\u00b2\u00b3\u2070-\u2079])*+(?=\s|$)"
    r"|(?:\[\^?\d{1,3}\]|[\u00b9\u00b2\u00b3\u2070-\u2079])++(?=[A-Z\"'(])|(?<=[a-z]{2}[.!?])(?=[A-Z][a-z']*+\s))|\n"
)
_SENTENCE_END, _RARE_STOP = later(_STOPPED), later(f"\u3002|{_EMOJI}")
_ANY_SENTENCE_END = later(rf"{_STOPPED}|\u3002|(?<!{_EMOJI}){_EMOJI}++(?=\s+[A-Z])")
_LINE = later(r"[^\n]+")
# Double quotes, those that can only begin, those that begin nothing (6", `word" `), what no doubtful quotation holds.
_QUOTE = later('"')
_BEGINNING = later(r'(?:(?<=[\s(\[{\u2014])|(?<![\s\S]))"(?=\S)')
_NO_BEGINNING = later(r'(?<=\d)"|(?<=[^\s(\[{\u2014:,=-])"(?=\s|$|[.,;:!?)\]}])')
STOP = later(r"[.!?][\"')\]]*\s+[^\W\d]")
_ABBREVIATION = later(r"(?:^|[\s(\"'])(?:mr|mrs|ms|dr|prof|st|vs|etc|e\.g|i\.e|a\.m|p\.m|no)\.$", re.IGNORECASE)


def without_links(text: str) -> str:
    """Return a text of the same length with blanks in place of addresses: addresses are not the writer's words.

    >>> without_links("See https://a.org/?b=c, now?")
    'See                   , now?'
    """
    return _LINK.sub(lambda link: " " * len(link[0]), text) if _may_hold_links(text) else text


def _may_hold_links(text: str) -> bool:
    return "://" in text or "w." in text or "W." in text


def asks(text: str) -> bool:
    """Return whether a part of a normalised text holds a question mark, other than that of an address."""
    return "?" in text and "?" in without_links(text)


def sentence_ends(text: str) -> Iterator[int]:
    """Yield where sentences of a normalised text end, whatever their length. The last one may end with the text."""
    start = 0
    if _may_hold_links(text):
        text = _LINK.sub(lambda link: "_" * len(link[0]), text)  # no sentence ends within an address
    ends = _ANY_SENTENCE_END if may_end_at_emoji(text) else _SENTENCE_END
    for end in ends.finditer(text):
        if end[0] == "." and _ABBREVIATION.search(text, max(start, end.end() - 8), end.end()):
            continue
        if not text[start : end.end()].isspace():
            start = end.end()
            yield start


def may_end_at_emoji(text: str) -> bool:
    """Return whether a text holds an emoji, which may end a sentence by what stands behind the next blank."""
    return not text.isascii() and _RARE_STOP.search(text) is not None


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the sentences of a text as spans, as `Normalised.sentences` says."""
    for start, end in pairwise([0, *sentence_ends(text), len(text)]):
        for cut in range(start, end, LONGEST_SENTENCE):
            yield cut, min(cut + LONGEST_SENTENCE, end)


def quotations(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans between pairs of double quotes, as `Normalised.quotations` says."""
    bounds = len(text) - len(text.lstrip()), len(text.rstrip())
    stops = [stop.start() for stop in STOP.finditer(text)]
    for line in _LINE.finditer(text):
        opening, is_sure = -1, False
        for mark in _QUOTE.finditer(text, line.start(), line.end()):
            at, is_number = mark.start(), text[mark.start() - 1 : mark.start()].isdigit()
            if _BEGINNING.match(text, at):  # the earlier quotation never ended
                opening, is_sure = at, True
            elif opening < 0:
                opening, is_sure = -1 if _NO_BEGINNING.match(text, at) else at, False
            elif (is_sure and not is_number) or bisect_left(stops, opening) == bisect_left(stops, at):
                if (opening, at + 1) != bounds:
                    yield opening, at + 1
                opening = -1
            elif not is_number:
                opening = -1
