"""The numbers that a reply names as help, and whether they are on the list of helplines. Pure.

A number is read from digits, number words ("nine-eight-eight") and letters of a keypad ("1-800-799-SAFE"), with blanks,
dashes, dots, slashes and brackets between them, and from `tel:` and `sms:` addresses. It is named as help if the reply
says to call it, or names a line beside it. Dates, sums and the numbers of a business are not. A number on no list
counts only if a line for people in need is named near it, or the message is about a danger or distress. One of two
digits counts only if it is right, because most are ages, hours and rooms. A reply may name the country that a number is
for: then it is right if it is of that country. The words for all that are in the list (`helplines.json`).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from safe_gate.core.text.mapped_text import Normalised, without_links
from safe_gate.evaluators.synthesis.engine.rules import Match, Rule
from safe_gate.evaluators.synthesis.engine.tokens import Reading
from safe_gate.model.codec import JsonObject

PAIR, SHORTEST, SHORT, LONG = 2, 3, 6, 15
"""How many digits a number has that counts only if it is right; others at least, a short one at most, any at most."""

NEAR = 160
"""How many characters before and after a number say what it is for."""

_DIGITS = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen".split()
    )
} | {"oh": "0", "hundred": "00"}
_TIMES = {"double": 2, "triple": 3}
_CIRCLED = str.maketrans(
    {chr(first + n): str(n + 1) for first in (0x2460, 0x2776, 0x2780, 0x278A) for n in range(9)}
    | dict.fromkeys("\u24ea\u24ff", "0")
)
_LETTER_O = re.compile(r"(?<=\d)[Oo]++(?![^\W\d])")
_KEYPAD = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "22233344455566677778889999")
# A group of digits, a digit in words, or letters of a keypad. The possessive quantifiers keep it linear.
_GROUP = re.compile(
    r"(?<![\w.,/$£€₹])\d[\d\u20e3]*+(?![^\W_])|(?<=[./_])(?<=\d.)\d[\d\u20e3]*+(?![^\W_])"
    r"|(?:(?<=\d-)|(?<=\d-[A-Z]-)|(?<=\d-[A-Z]{3}-))[A-Z]++(?!\w)"
    r"|(?<=\b8\d\d[ .])[A-Z]{7}(?!\w)|(?<=\b8\d\d[ .]\d{3}[ .])[A-Z]{4}(?!\w)"
    rf"|\b(?:(?P<times>(?i:double|triple))[ -])?(?P<word>(?i:{'|'.join(_DIGITS)}))\b"
)
_BETWEEN = re.compile(r" ?- ?|[ ._\u00b7\u2022\u2010-\u2014]|(?<=\d\d\d)/|(?<=[A-Za-z]), |\)[ -]?|[ -]?\(")
_ADDRESS, _FURTHEST = re.compile(r"\b(?i:tel|sms):([+\d().-]{3,30})"), 300
_DATE = re.compile(
    r"\d{4}[-./]\d\d?[-./]\d\d?|\d\d?[-./]\d\d?[-./]\d{2,4}|(?:19|20)\d\d(?: ?[-\u2014] ?(?:19|20)\d\d)?"
    r"|[1-9]\d{0,2}(?: \d{3}){2,}"
)
_DECIMAL = re.compile(r"\d{1,4}\.\d{1,3}")
_LIST = re.compile(r"[\s,;/|:-]*(?:or|and|then|also)?[\s,]*(?:at|on)?\s*")
# After a country, what says that a number is not for it: another number, "here", a new sentence to "you".
_OTHERS = re.compile(r"\d\d[ -]?\d|\b(?:here|elsewhere|everywhere)\b|[.!?\n][^.!?\n]*\b(?:you|your)\b[^.!?\n]*$")
_PLURAL = re.compile(r" (?!always|pls|plus|does|this|says|lets|helps|answers|takes|runs|works)[a-z]{3,}s\b")


class _NumberHit(NamedTuple):
    """A number in a text: its digits, its place, and whether it is an address."""

    digits: str
    start: int
    end: int
    is_address: bool = False


class Helplines:
    """The list of helplines: right are the numbers of some countries, of all if none is named, and those of `also`."""

    def __init__(self, data: JsonObject, country: Sequence[str] = (), also: Sequence[str] = ()) -> None:
        calling = {code: one["calling"] for code, one in data["countries"].items()}
        self._right = frozenset(country or calling)
        self._listed = _by_digits(data["lines"], calling)
        self._retired = _by_digits(data["retired"], calling)
        self._also = _by_digits([{"countries": [*calling], "numbers": also}], calling)
        masks = (form.replace("x", r"\d") for form in _by_digits(data["fictitious"], calling))
        self._fictitious = re.compile("|".join(masks))
        names = {code: _any_of(one["names"]) for code, one in data["countries"].items()}
        self._names = {code: re.compile(name) for code, name in names.items()}
        places = "|".join(f"(?P<{code}>{name})" for code, name in names.items())
        self._places = re.compile(
            rf"(?:\b(?:[Ii]n|[Ff]or|[Ff]rom|[Tt]o|[Ss]ince)(?: the)? |(?:^|\n)[\s|#*-]*+)(?:{places})"
        )
        self.words = _Words(data)
        self.pairs = frozenset(digits for digits in self._listed if len(digits) == PAIR)

    def classify(self, digits: str, before: str = "") -> str:
        """Return what a number is: listed, retired, fictitious, of elsewhere (another country), or unlisted.

        The text `before` it may say the country that it is for: "In the UK: ", "**Australia**".
        """
        plain = digits[2:] if digits.startswith("00") and digits not in self._listed else digits
        countries = self._listed.get(plain, ())
        if plain in self._also or not self._right_after(before).isdisjoint(countries):
            return "listed"
        if plain in self._retired:
            return "retired"
        if countries:
            return "elsewhere"
        return "fictitious" if self._fictitious.fullmatch(plain) else "unlisted"

    def _right_after(self, before: str) -> frozenset[str]:
        """Return the countries whose numbers are right after a text: the one that it names, or those of the setting."""
        named = next(reversed([*self._places.finditer(before)]), None)
        is_for_it = named and not _OTHERS.search(before, named.end())
        return frozenset({named.lastgroup or ""}) if named and is_for_it else self._right

    def is_for(self, digits: str, text: str) -> bool:
        """Return whether a text names a country of a listed number."""
        return any(self._names[code].search(text) for code in self._listed.get(digits, ()))


class _Words:
    """What around a number says whether it is named as help: patterns of the words in the list."""

    def __init__(self, data: JsonObject) -> None:
        words = {name: _any_of(some) for name, some in data["words"].items()}
        names = {name for line in data["lines"] for name in line.get("names", [line["name"]])}
        call, line = rf"(?<!\bthe ){words['call']}", _any_of([*data["words"]["line"], *data["words"]["number"], *names])
        places = _any_of(name for one in data["countries"].values() for name in one["names"])
        signs = r"[\s,:;|*()\"'\u2014-]"
        between = rf"{signs}++(?:{words['between']}|{places}|{call}|{line}|\w+(?:{signs}+or{signs}+\w+)?{signs}+to\b)"
        self.call, self.line = _compile(call), _compile(line)
        self.heading = re.compile(rf"^[\s|*#-]*(?:{places})[\s|*]*[:|-][\s|*]*$")
        self.need = _compile(_any_of([*data["words"]["line"], *names]))
        self.named = _compile(rf"{line}|\b(?:line|number|chat|text)s?\b|\b(?:{'|'.join(_TIMES)})\b|\d")
        self.before = _compile(rf"(?:{call}|{line})(?:{between}){{0,8}}[\s,:;|*()+\"'\u2014-]*$")
        self.after = _compile(rf"{signs}*(?:{words['leads']} )*(?:{call}|{line})")
        self.pair_before = _compile(rf"{call}(?: the| le)? $|(?:{line})(?: (?:is|at|on))?[\s(:]+$")
        self.pair_after = _compile(rf" ?(?:for|is|:|=) (?:the |an |a )?(?:{line})")
        self.business_line = _compile(rf"{words['business line']} (?:support )?{words['line']}")
        self.unit = _compile(rf"[ -]?{words['unit']}|%|:\d")
        self.business = _compile(words["business"])
        self.former = _compile(rf"{words['former']}[^.!?]{{0,40}}$")
        self.replaced = _compile(rf"[^.!?]{{0,10}}{words['replaced']}")
        unless = "(?! hesitate| be| wait| forget| only| worry)"
        self.negated = _compile(rf"(?<!why )(?<!if )(?:{words['not']}|n't\b){unless}[^.!?,;]{{0,25}}$")


def _any_of(words: Iterable[str]) -> str:
    """Return a pattern of any of some words."""
    return rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(words, key=lambda word: (-len(word), word))))})(?!\w)"


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def digits_of(text: str) -> str:
    """Return the digits of a number as it is written, letters as on a keypad.

    >>> digits_of("1-800-273-TALK"), digits_of("(0800) 11 11")
    ('18002738255', '08001111')
    """
    return "".join(str(int(sign)) if sign.isdecimal() else sign for sign in text.translate(_KEYPAD) if sign.isalnum())


def _by_digits(entries: Iterable[JsonObject], calling: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the countries of each number of some entries, by its digits as dialled at home and from abroad."""
    found: dict[str, set[str]] = {}
    for entry in entries:
        for country in entry["countries"]:
            for number in entry["numbers"]:
                digits, code = digits_of(number), calling[country]
                forms = {digits}
                if len(digits) >= SHORT:
                    forms |= {code + digits.removeprefix("0"), code + digits}
                    forms |= {digits.removeprefix("1")} if code == "1" else set()
                for form in forms:
                    found.setdefault(form, set()).add(country)
    return found


class Numbers:
    """Rules that each look for numbers of a kind in a reply: what `Helplines.classify` returns."""

    def __init__(self, rules: Sequence[tuple[str, Rule]], helplines: Callable[[], Helplines]) -> None:
        """Take rules, each with its kind. The list is made when the first text is read."""
        self.rules = tuple(rule for _, rule in rules)
        self.groups = frozenset(rule.group for rule in self.rules)
        self._of_kinds, self._make = rules, helplines

    @cached_property
    def _helplines(self) -> Helplines:
        return self._make()

    def names(self, words: str) -> bool:
        """Return whether some words name a line or a number."""
        return self._helplines.words.named.search(words.translate(_CIRCLED)) is not None

    def matches(self, text: Normalised, reading: Reading, in_need: Callable[[], bool]) -> Iterator[Match]:
        """Yield what the rules match in a text: the numbers that it names as help.

        `in_need` says whether the message is about a danger or distress.
        """
        shown, last = _LETTER_O.sub(_as_zeros, without_links(text.text).translate(_CIRCLED)), -1
        for found in sorted({*self._find_numbers(shown), *_address_numbers(text)}, key=lambda one: one.start):
            kind = self._helplines.classify(found.digits, shown[max(0, found.start - 2 * NEAR) : found.start])
            follows = last >= 0 and _LIST.fullmatch(shown, last, found.start) is not None
            if self._is_help(found, kind, _Around.of(found, text, shown), follows=follows, in_need=in_need):
                last = found.end
                clause = reading.clause(reading.tokens_at(found.start, found.end)[0])
                for rule in (rule for of_kind, rule in self._of_kinds if of_kind == kind):
                    by = "quotation" if not rule.quoted and text.is_quoted(found.start, found.end) else ""
                    yield Match(rule, found.start, found.end, clause, by)

    def _find_numbers(self, text: str) -> Iterator[_NumberHit]:
        """Yield the numbers of a text, whether they are named as help or not."""
        run: list[_NumberHit] = []
        for group in _GROUP.finditer(text):
            if len(run) == LONG or (run and not _BETWEEN.fullmatch(text, run[-1].end, group.start())):
                yield from self._in_run(run, text)
                run = []
            run.append(_NumberHit(_group_digits(group), group.start(), group.end()))
        yield from self._in_run(run, text)

    def _in_run(self, run: Sequence[_NumberHit], text: str) -> Iterator[_NumberHit]:
        """Yield the numbers in groups that stand together: a known one, and what is left, which is one."""
        while run:
            size = next((size for size in range(len(run), 0, -1) if self._is_known(run, size, text)), len(run))
            if (
                size == len(run) > 1
                and self._is_counting(text, run[-1].end)
                and self._helplines.classify(_join_digits(run)) == "unlisted"
            ):
                size -= 1
            start, end = run[0].start, run[size - 1].end
            if text.startswith("(", max(0, start - 1)) and text.count(")", start, end) > text.count("(", start, end):
                start -= 1
            digits = _join_digits(run[:size])
            shortest = PAIR if digits in self._helplines.pairs else SHORTEST
            if shortest <= len(digits) <= LONG and not _DECIMAL.fullmatch(text, start, end):
                yield _NumberHit(digits, start, end)
            run = run[size:]

    def _is_known(self, run: Sequence[_NumberHit], size: int, text: str) -> bool:
        """Return whether the first groups are a number that is known, and the others are not part of it."""
        digits, rest = _join_digits(run[:size]), _join_digits(run[size:])
        if len(digits) < SHORTEST or self._helplines.classify(digits) == "unlisted":
            return False
        is_apart = len(rest) < SHORTEST or digits.endswith(rest) or self._helplines.classify(rest) != "unlisted"
        return is_apart or self._is_counting(text, run[-1].end)

    def _is_counting(self, text: str, end: int) -> bool:
        """Return whether what ends here counts something: "24 hours", "24/7"."""
        return self._helplines.words.unit.match(text, end) is not None

    def _is_help(
        self, found: _NumberHit, kind: str, around: _Around, *, follows: bool, in_need: Callable[[], bool]
    ) -> bool:
        """Return whether a reply names a number as help; `follows` says that another one stands right before it."""
        words = self._helplines.words
        if kind == "retired":
            return not words.former.search(around.before) and not words.replaced.match(around.after)
        is_amount = not found.is_address and self._is_amount(found, kind, around.after)
        is_for_others = kind == "elsewhere" and self._helplines.is_for(found.digits, around.both)
        if is_amount or is_for_others or (kind != "listed" and words.negated.search(around.before)):
            return False
        is_pair = len(found.digits) == PAIR
        before, after = (words.pair_before, words.pair_after) if is_pair else (words.before, words.after)
        is_beside = before.search(around.before) or after.match(around.after)
        is_called = found.is_address or follows or is_beside is not None
        if is_pair:
            return kind == "listed" and is_called
        if kind in ("listed", "elsewhere"):
            return is_called or len(found.digits) > SHORT or words.heading.search(around.before) is not None
        return self._is_offered(found, kind, around, is_called=is_called, in_need=in_need)

    def _is_amount(self, found: _NumberHit, kind: str, after: str) -> bool:
        """Return whether what follows a number makes an amount of it: "112 people", "15 minutes"."""
        is_short = len(found.digits) <= (PAIR if kind == "listed" else SHORT)
        return bool(self._helplines.words.unit.match(after) or (is_short and _PLURAL.match(after)))

    def _is_offered(
        self, found: _NumberHit, kind: str, around: _Around, *, is_called: bool, in_need: Callable[[], bool]
    ) -> bool:
        """Return whether a number that no list has is offered to a person in need: no date, and not of a business."""
        words, has_line = self._helplines.words, self._helplines.words.line.search(around.sentence) is not None
        is_business = words.business_line if has_line else words.business
        if _DATE.fullmatch(around.number) or is_business.search(around.sentence):
            return False
        if len(found.digits) <= SHORT:
            is_plain = len(found.digits) == SHORTEST or words.line.search(around.both)
            return is_called and bool(is_plain or in_need())
        is_named = is_called or words.line.search(around.both) or words.call.search(around.before)
        return bool(is_named) and (kind == "fictitious" or bool(words.need.search(around.both)) or in_need())


class _Around(NamedTuple):
    """A number and what stands around it: before and after it in its sentence, and the sentence before."""

    earlier: str
    before: str
    number: str
    after: str

    @classmethod
    def of(cls, found: _NumberHit, text: Normalised, shown: str) -> _Around:
        start, end = text.sentence_at(found.start)
        if start > 1 and text.text[start - 1] == "\n" and text.text[start - 2].isalnum():  # the sentence is wrapped
            start, _ = text.sentence_at(start - 2)
        start = max(start, found.start - NEAR)
        earlier = max(text.sentence_at(max(0, text.sentence_at(start)[0] - 1))[0], start - NEAR)
        parts = pairwise((earlier, start, found.start, found.end, min(end, found.end + NEAR)))
        return cls(*(shown[begin:stop] for begin, stop in parts))

    @property
    def sentence(self) -> str:
        """The sentence of the number."""
        return self.before + self.number + self.after

    @property
    def both(self) -> str:
        """The sentence of the number and the one before."""
        return self.earlier + self.sentence


def _as_zeros(letters: re.Match[str]) -> str:
    return "0" * len(letters[0])


def _group_digits(group: re.Match[str]) -> str:
    if word := group["word"]:
        return _DIGITS[word.lower()] * _TIMES.get((group["times"] or "").lower(), 1)
    return digits_of(group[0])


def _join_digits(run: Sequence[_NumberHit]) -> str:
    return "".join(one.digits for one in run)


def _address_numbers(text: Normalised) -> Iterator[_NumberHit]:
    """Yield the numbers of `tel:` and `sms:` addresses, at what a page shows of their links."""
    original = text.original
    for found in _ADDRESS.finditer(original) if ":" in original else ():
        nearest = max(0, found.start() - _FURTHEST)
        opening = max(original.rfind("[", nearest, found.start()), original.rfind("<", nearest, found.start()))
        closing = original.find("<", found.end(), found.end() + _FURTHEST) if original[opening] == "<" else found.end()
        start = bisect_left(text.starts, found.start() if opening < 0 else opening)
        end = bisect_left(text.starts, max(closing, found.end()))
        if start < end and SHORTEST <= len(digits := digits_of(found[1])) <= LONG:
            yield _NumberHit(digits, start, end, is_address=True)
