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
from safe_gate.evaluators.synthesis.engine.tokens import Reading, clause_start
from safe_gate.model.codec import JsonObject

PAIR, SHORTEST, SHORT, LONG = 2, 3, 6, 15
"""How many digits a number has that counts only if it is right; others at least, a short one at most, any at most."""

NEAR = 160
"""How many characters before and after a number say what it is for."""

_NAMES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen".split()
_DIGITS = {name: str(number) for number, name in enumerate(_NAMES)} | {"oh": "0", "hundred": "00"}
_TIMES = {"double": 2, "triple": 3}
_CIRCLED = str.maketrans(
    {chr(first + n): str(n + 1) for first in (0x2460, 0x2776, 0x2780, 0x278A) for n in range(9)}
    | dict.fromkeys("\u24ea\u24ff", "0")
)
_LETTER_O = re.compile(r"(?<=\d)[Oo]++(?![^\W\d])")
_KEYPAD = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "22233344455566677778889999")
# Not before "eighty-eight" or "and eight": there "hundred" is no end of a number that is read.
_ENDED = (
    rf"(?! and (?:{'|'.join(_NAMES)})\b"
    r"|(?: and)?[ -](?:ten|eleven|twelve|(?:twen|thir|fou?r|fif|six|seven|eigh|nine)t(?:y|een))\b)"
)
# A group of digits, a digit in words, or letters of a keypad. The possessive quantifiers keep it linear.
_GROUP = re.compile(
    r"(?<![\w.,/$£€₹])\d[\d\u20e3]*+(?![^\W_])|(?<=[./_])(?<=\d.)\d[\d\u20e3]*+(?![^\W_])"
    r"|(?:(?<=\d-)|(?<=\d-[A-Z]-)|(?<=\d-[A-Z]{3}-))[A-Z]++(?!\w)"
    r"|(?<=\b8\d\d[ .])[A-Z]{7}(?!\w)|(?<=\b8\d\d[ .]\d{3}[ .])[A-Z]{4}(?!\w)"
    rf"|\b(?:(?P<times>(?i:double|triple))[ -])?(?P<word>(?i:{'|'.join(_DIGITS)}))\b(?i:(?<!hundred)|{_ENDED})"
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


class _Number(NamedTuple):
    """The place of a number in a text, its digits, and whether it is an address."""

    start: int
    end: int
    digits: str
    is_address: bool = False


_Around = tuple[str, str, str, str, str]
"""What is before a number, the number, what is after it, its sentence, and that with the one before."""


class Helplines:
    """The list of helplines: right are the numbers of some countries, of all if none is named, and those of `also`."""

    def __init__(self, data: JsonObject, country: Sequence[str] = (), also: Sequence[str] = ()) -> None:
        calling = {code: one["calling"] for code, one in data["countries"].items()}
        self._right = frozenset(country or calling)
        self._listed = _by_digits(data["lines"], calling)
        self._also = _by_digits([{"countries": [*calling], "numbers": also}], calling).keys()
        self.pairs = frozenset(digits for digits in self._listed if len(digits) == PAIR)
        self._retired = _by_digits(data["retired"], calling)
        self._fictitious = re.compile("|".join(_by_digits(data["fictitious"], calling)).replace("x", r"\d"))
        countries = {code: _any_of(one["names"]) for code, one in data["countries"].items()}
        self._countries = {code: re.compile(names) for code, names in countries.items()}
        named = "|".join(f"(?P<{code}>{names})" for code, names in countries.items())
        self._places = re.compile(
            rf"(?:\b(?:[Ii]n|[Ff]or|[Ff]rom|[Tt]o|[Ss]ince)(?: the)? |(?:^|\n)[\s|#*-]*+)(?:{named})"
        )
        words = {name: _any_of(some) for name, some in data["words"].items()}
        names = {name for line in data["lines"] for name in line.get("names", [line["name"]])}
        call, line = rf"(?<!\bthe ){words['call']}", _any_of([*data["words"]["line"], *data["words"]["number"], *names])
        places = _any_of(name for one in data["countries"].values() for name in one["names"])
        signs = r"[\s,:;|*()\"'\u2014-]"
        between = rf"{signs}++(?:{words['between']}|{places}|{call}|{line}|\w+(?:{signs}+or{signs}+\w+)?{signs}+to\b)"
        unless = "(?! hesitate| be| wait| forget| only| worry)"
        self._call, self._line = _compile(call), _compile(line)
        self._need = _compile(_any_of([*data["words"]["line"], *names]))
        self.named = _compile(rf"{line}|\b(?:line|number|chat|text)s?\b|\b(?:{'|'.join(_TIMES)})\b|\d")
        inside = r"(?i:(?:if you(?:'re| are| live) )?(?:in|for)(?: the)? )?"
        self._heading = re.compile(rf"^[\s|*#-]*{inside}(?:{places})[\s|*]*[:|-][\s|*]*$")
        self._before = _compile(rf"(?:{call}|{line})(?:{between}){{0,8}}[\s,:;|*()+\"'\u2014-]*$")
        self._after = _compile(rf"{signs}*(?:{words['leads']} )*(?:{call}|{line})")
        self._before_pair = _compile(rf"{call}(?: the| le)? $|(?:{line})(?: (?:is|at|on))?[\s(:]+$")
        self._after_pair = _compile(rf" ?(?:for|is|:|=) (?:the |an |a )?(?:{line})")
        self._unit = _compile(rf"[ -]?{words['unit']}|%|:\d")
        self._business = _compile(words["business"])
        self._business_line = _compile(rf"{words['business line']} (?:support )?{words['line']}")
        self._former = _compile(rf"{words['former']}[^.!?]{{0,40}}$")
        self._replaced = _compile(rf"[^.!?]{{0,10}}{words['replaced']}")
        self._negated = _compile(rf"(?<!why )(?<!if )(?:{words['not']}|n't\b){unless}[^.!?,;]{{0,25}}$")

    def classify(self, digits: str, before: str = "") -> str:
        """Return what a number is: listed, retired, fictitious, elsewhere (of another country), or unlisted.

        The text `before` it may say the country that it is for: "In the UK: ", "**Australia**".
        """
        plain = digits if digits in self._listed or digits in self._also else digits.removeprefix("00")
        countries, right = self._listed.get(plain, set()), self._right
        for place in [*self._places.finditer(before)][-1:]:
            right = right if _OTHERS.search(before, place.end()) else frozenset({place.lastgroup or ""})
        if plain in self._also or not right.isdisjoint(countries):
            return "listed"
        if plain in self._retired:
            return "retired"
        if countries:
            return "elsewhere"
        return "fictitious" if self._fictitious.fullmatch(plain) else "unlisted"

    def counts(self, text: str, end: int = 0) -> bool:
        """Return whether what ends here counts something: "24 hours", "24/7"."""
        return self._unit.match(text, end) is not None

    def is_help(self, one: _Number, kind: str, around: _Around, in_need: Callable[[], bool], *, follows: bool) -> bool:
        """Return whether a reply names a number as help; `follows` says that another one stands right before it.

        One on no list must be offered to a person in need, and be no date and not of a business.
        """
        before, number, after, sentence, both = around
        size, is_called = len(one.digits), one.is_address or follows
        if kind == "retired":
            return not (self._former.search(before) or self._replaced.match(after))
        is_amount = self.counts(after) or (size <= (PAIR if kind == "listed" else SHORT) and _PLURAL.match(after))
        is_for_others = kind == "elsewhere" and any(
            self._countries[code].search(both) for code in self._listed.get(one.digits, ())
        )
        if (is_amount and not one.is_address) or is_for_others or (kind != "listed" and self._negated.search(before)):
            return False
        if size == PAIR:
            is_called = is_called or bool(self._before_pair.search(before) or self._after_pair.match(after))
            return kind == "listed" and is_called
        is_called = is_called or bool(self._before.search(before) or self._after.match(after))
        if kind in ("listed", "elsewhere"):
            return is_called or size > SHORT or self._heading.search(before) is not None
        business = self._business_line if self._line.search(sentence) else self._business
        if _DATE.fullmatch(number) or business.search(sentence):
            return False
        has_line = self._line.search(both)
        if size <= SHORT:
            is_named, suffices = is_called, size == SHORTEST or has_line
        else:
            is_named = is_called or bool(has_line or self._call.search(before))
            suffices = kind == "fictitious" or self._need.search(both)
        return is_named and bool(suffices or in_need())


def _any_of(words: Iterable[str]) -> str:
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
        for digits in map(digits_of, entry["numbers"]):
            for country in entry["countries"]:
                code, forms = calling[country], {digits}
                if len(digits) >= SHORT:
                    forms |= {code + digits, code + digits.removeprefix("0")}
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
    def helplines(self) -> Helplines:
        """The list of helplines."""
        return self._make()

    def names(self, words: str) -> bool:
        """Return whether some words name a line or a number."""
        return self.helplines.named.search(words.translate(_CIRCLED)) is not None

    def matches(self, text: Normalised, reading: Reading, in_need: Callable[[], bool]) -> Iterator[Match]:
        """Yield what the rules match in a text: the numbers that it names as help.

        `in_need` says whether the message is about a danger or distress.
        """
        shown = _LETTER_O.sub(lambda letters: "0" * len(letters[0]), without_links(text.text).translate(_CIRCLED))
        last = -1
        for found in sorted({*self._find_numbers(shown), *_address_numbers(text)}):
            kind = self.helplines.classify(found.digits, shown[max(0, found.start - 2 * NEAR) : found.start])
            follows = last >= 0 and _LIST.fullmatch(shown, last, found.start) is not None
            if self.helplines.is_help(found, kind, _around(found, text, shown), in_need, follows=follows):
                last = found.end
                number, first, _ = reading.tokens_at(found.start, found.end)
                clause = number, clause_start(reading.sentences[number], first)
                for rule in (rule for of_kind, rule in self._of_kinds if of_kind == kind):
                    by = "quotation" if not rule.quoted and text.is_quoted(found.start, found.end) else ""
                    yield Match(rule, found.start, found.end, clause, by)

    def _find_numbers(self, text: str) -> Iterator[_Number]:
        run: list[_Number] = []
        for group in _GROUP.finditer(text):
            if len(run) == LONG or (run and not _BETWEEN.fullmatch(text, run[-1].end, group.start())):
                yield from self._in_run(run, text)
                run = []
            word = group["word"]
            times = _TIMES.get((group["times"] or "").lower(), 1)
            run.append(_Number(*group.span(), _DIGITS[word.lower()] * times if word else digits_of(group[0])))
        yield from self._in_run(run, text)

    def _in_run(self, run: Sequence[_Number], text: str) -> Iterator[_Number]:
        """Yield the numbers in groups that stand together: a known one, and what is left, which is one.

        The last group of what is left is none if it counts something.
        """
        counts = bool(run) and self.helplines.counts(text, run[-1].end)
        while run:
            sizes = (size for size in range(len(run), 0, -1) if self._is_known(run, size, counts=counts))
            size = next(sizes, 0) or max(1, len(run) - counts)
            start, end, digits = run[0].start, run[size - 1].end, _join_digits(run[:size])
            if text.startswith("(", max(0, start - 1)) and text.count(")", start, end) > text.count("(", start, end):
                start -= 1
            shortest = PAIR if digits in self.helplines.pairs else SHORTEST
            if shortest <= len(digits) <= LONG and not _DECIMAL.fullmatch(text, start, end):
                yield _Number(start, end, digits)
            run = run[size:]

    def _is_known(self, run: Sequence[_Number], size: int, *, counts: bool) -> bool:
        """Return whether the first groups are a number that is known, and the others are not part of it."""
        digits, rest = _join_digits(run[:size]), _join_digits(run[size:])
        if len(digits) < SHORTEST or self.helplines.classify(digits) == "unlisted":
            return False
        return counts or len(rest) < SHORTEST or digits.endswith(rest) or self.helplines.classify(rest) != "unlisted"


def _join_digits(run: Sequence[_Number]) -> str:
    return "".join(one.digits for one in run)


def _around(found: _Number, text: Normalised, shown: str) -> _Around:
    start, end = text.sentence_at(found.start)
    if start > 1 and text.text[start - 1] == "\n" and text.text[start - 2].isalnum():  # the sentence is wrapped
        start, _ = text.sentence_at(start - 2)
    start, end = max(start, found.start - NEAR), max(found.end, min(end, found.end + NEAR))
    earlier = max(text.sentence_at(max(0, text.sentence_at(start)[0] - 1))[0], start - NEAR)
    parts = pairwise((start, found.start, found.end, end))
    before, number, after = (shown[begin:stop] for begin, stop in parts)
    return before, number, after, shown[start:end], shown[earlier:end]


def _address_numbers(text: Normalised) -> Iterator[_Number]:
    """Yield the numbers of `tel:` and `sms:` addresses, at what a page shows of their links."""
    original = text.original
    for found in _ADDRESS.finditer(original) if ":" in original else ():
        nearest = max(0, found.start() - _FURTHEST)
        opening = max(original.rfind("[", nearest, found.start()), original.rfind("<", nearest, found.start()))
        closing = original.find("<", found.end(), found.end() + _FURTHEST) if original[opening] == "<" else found.end()
        start = bisect_left(text.starts, found.start() if opening < 0 else opening)
        end = bisect_left(text.starts, max(closing, found.end()))
        if start < end and SHORTEST <= len(digits := digits_of(found[1])) <= LONG:
            yield _Number(start, end, digits, is_address=True)
