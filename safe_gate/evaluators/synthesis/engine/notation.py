"""The notation of phrases: patterns over tokens, read from text. Pure.

A phrase is written as tokens with blanks between them:
  word        that token; `calm*` any that begins so, `*ing` any that ends so
  {class}     a member of a word class: a phrase itself, most often one word
  (a|b c|)    one of several phrases; an empty one makes the others optional
  _  _0-3     any token, or zero to three of them, within the clause; `_*` any number
  <num>       any number
  ^  $        the start and the end of a clause; "and", "so" or "please" before it does not change that
  ^^          the start of a clause with nothing before it
  ,           that mark: without it a phrase stays within a clause
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

from safe_gate.core.text.patterns import later

STARTS = ("^", "^^")
"""The signs for the start of a clause, which only begin a phrase."""

_PIECE = later(r"\{[a-z_]+\}|[()|]|[^\s()|{}]+")
_GAP = later(r"_(?:(\d+)-(\d+)|(\*))?")
_WORD = later(r"\*?[^\W_]+\*?|'s|<num>|%|\$|[,;:—!?.\"]")
_LONGEST_GAP = 30


@dataclass(frozen=True, slots=True)
class Gap:
    """Any `least` to `most` tokens of a clause; without a bound where `most` is None."""

    least: int
    most: int | None


Item = str | Gap | tuple["Sequence_", ...]
Sequence_ = tuple[Item, ...]


Options = tuple[frozenset[str], Sequence[Sequence_]]
"""Options of one word, which share a place, and all others."""


def parsed(phrase: str) -> Sequence_:
    """Return a phrase taken apart: words, gaps, and options as tuples of sequences.

    Raises ValueError that says what is wrong with it.
    """
    plain = phrase.split()
    if plain and phrase.islower() and "".join(plain).isalpha():
        return tuple(plain)  # as most members of classes and learned phrases are
    pieces = _PIECE.findall(phrase)
    if "".join(pieces) != "".join(plain):
        raise ValueError("holds a brace; expected a class as in {you}")
    options, rest = _options(pieces, 0)
    if rest < len(pieces):
        raise ValueError("closes a bracket that none opens")
    if options == ((),):
        raise ValueError("is empty; expected a token")
    if len(options) > 1:
        raise ValueError("has options outside of brackets; write (a|b)")
    return options[0]


def _options(pieces: Sequence[str], at: int) -> tuple[tuple[Sequence_, ...], int]:
    """Return the options up to a closing bracket or the end, and where that is."""
    options: list[Sequence_] = []
    items: list[Item] = []
    while at < len(pieces) and pieces[at] != ")":
        piece = pieces[at]
        at += 1
        if piece.isalpha() and piece.islower():  # most are: this is fast
            items.append(piece)
        elif piece == "|":
            options.append(tuple(items))
            items = []
        elif piece == "(":
            inner, at = _options(pieces, at)
            if at == len(pieces):
                raise ValueError("opens a bracket that nothing closes")
            at += 1
            items.append(inner)
        elif piece[0] == "_" and (gap := _GAP.fullmatch(piece)):
            items.append(_gap(gap))
        elif piece[0] == "{" or (_WORD.fullmatch(piece) and piece == piece.lower()) or (piece in STARTS and at == 1):
            items.append(piece)
        else:
            raise ValueError(
                f"holds {piece}, which is not a token; expected lower-case words, classes, gaps or options"
            )
    return (*options, tuple(items)), at


def _gap(gap: re.Match[str]) -> Gap:
    if gap[3]:
        return Gap(0, None)
    least, most = int(gap[1] or 1), int(gap[2] or 1)
    if not least <= most <= _LONGEST_GAP or not most:
        raise ValueError(f"holds the gap {gap[0]}; expected such as _0-3, up to {_LONGEST_GAP}")
    return Gap(least, most)


def sorted_out(options: Sequence[Sequence_]) -> Options:
    """Return options with those of one word apart."""
    words = frozenset([word for option in options if len(option) == 1 and _is_word(word := option[0])])
    return words, [option for option in options if len(option) != 1 or not _is_word(option[0])]


def _is_word(item: Item) -> TypeGuard[str]:
    return isinstance(item, str) and item[0] not in "{^$"
