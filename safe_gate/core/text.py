"""Text as the checks see it: normalised with a map back to the original, sentences, similarity.

Pure functions over `str`; positions are code points. Nothing here depends on a locale.
"""

from __future__ import annotations

import math
import re
import unicodedata
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from html import unescape
from itertools import accumulate, chain, pairwise
from operator import mul
from typing import Any

from safe_gate.core.lookalikes import LOOK_ALIKES

_REPLACEMENTS = (
    dict.fromkeys(map(ord, "‘’‚‛ʼ＇´`′ʹˈ"), "'")  # noqa: RUF001 - the point is that they look alike
    | dict.fromkeys(map(ord, "“”„‟«»″＂"), '"')  # noqa: RUF001
    | dict.fromkeys(map(ord, "‐‑⁃﹣－"), "-")  # noqa: RUF001
    | dict.fromkeys(map(ord, "–—―‒"), "—")  # noqa: RUF001
    | {ord("…"): "..."}
    | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")  # half a surrogate pair: no engine takes it
    | {code + 0xFEE0: chr(code) for code in range(0x21, 0x7F) if chr(code) not in "'\"-"}
    # bold, script and other letters "of mathematics" that people dress words up with
    | {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0x1D400, 0x1D800)}
    # letters in circles and squares, and the ligatures that PDF files leave behind
    | {
        code: unicodedata.normalize("NFKC", chr(code))
        for code in (*range(0x24B6, 0x24EA), *range(0x1F130, 0x1F14A), *range(0xFB00, 0xFB07))
    }
)
_STRAIGHT = (("’", "'"), ("‘", "'"), ("“", '"'), ("”", '"'), ("–", "—"))  # noqa: RUF001 - what most texts have of them
# Default_Ignorable_Code_Point (UAX #44) and interlinear marks, as ranges: what Python knows of them differs by version.
_IGNORED = (
    "ad-ad 34f-34f 61c-61c 115f-1160 17b4-17b5 180b-180f 200b-200f 202a-202e 2060-206f 3164-3164 fe00-fe0f feff-feff "
    "ffa0-ffa0 fff9-fffb 1bca0-1bca3 1d173-1d17a e0000-e0fff "
    # Not of that property, and as little to be seen: control characters, a braille blank, strokes through or below.
    "0-8 e-1b 7f-84 86-9f 2800-2800 332-332 335-337"
)
_INVISIBLE = frozenset(
    chr(code)
    for first, _, last in (span.partition("-") for span in _IGNORED.split())
    for code in range(int(first, 16), int(last, 16) + 1)
)
_LINE_BREAKS = frozenset("\n\r\x0b\x0c\x85\u2028\u2029")
# Canonical ordering is quadratic in a run of combining marks; UAX #15 (stream-safe text) allows 30.
_LONGEST_SEGMENT, _MOST_SEGMENTS = 32, 4_096
_MOST_PARTS = 8_000
_SMALL = 16_384
# Signs that normalising would not change, words with single blanks between them: most of any text.
_SIGNS = (
    r"[!-)+-^a-z{-}\xa1-\xaa\xac\xae-\xb3\xb5-\xba\xbc-\u024f\u0388-\u03ff\u0400-\u0482\u048a-\u052f\u2014"
    r"\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fa5\uac00-\ud7a3\U0001f300-\U0001faff]"
)
# The class is spelt once, for it takes milliseconds to compile; possessive, so that this stays linear.
_PLAIN = re.compile(rf"(?![ \n])(?:[ \n]?{_SIGNS}++)++")
_BLANKS = re.compile(rf"\s{{1,{_LONGEST_SEGMENT}}}")
_MARKS = frozenset("*_`~")
# A line that was broken to fit a width: of 20 columns at least, without an end, and the next one goes on.
_NARROWEST, _LONG = 20, 50
_UNSEEN = "".join((*_INVISIBLE, *_MARKS, " \t\u00a0"))
_UNSEEN_CLASS = "".join("-".join(chr(int(code, 16)) for code in span.split("-")) for span in _IGNORED.split())
_LIST_MARK = r"\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{2,4})[.)](?!\w)"
_WRAP = re.compile(
    rf"\r?\n[^\S\n]*+(?:>[ \t]?+)*+(?=(?P<word>[*_`~{_UNSEEN_CLASS}]*+"
    rf"(?!{_LIST_MARK})(?P<first>[\w\"'(\[\u2018\u201c\u2026$\u00a3\u20ac&@=!?,;:/%\u2013\u2014])\S*+))"
)
# What a break must look like for a line to go on plainly: most texts have none.
_GOES_ON = re.compile(
    rf"\n(?:(?<![.!?:\n]\n)(?<![.!?:\n]\r\n)[^\S\n]*+(?:>[ \t]?+)*+[*_`~{_UNSEEN_CLASS}]*+"
    r"(?:[^\W\d_A-Z]|[A-Z](?![a-z])|[,;/=%])|(?<=[,;]\n)|(?<=[,;][*_`~\r]\n))"
)
_UNSEEN_RUN, _LETTER, _I = re.compile(f"[*_`~{_UNSEEN_CLASS}]+"), re.compile(r"[^\W\d_]"), re.compile(r"I\b")
_HYPHENATED = re.compile(r"[^\W\d_][-\u2010]\Z")
_DASHED_LINE = re.compile(r"\n[^\S\n]*+[\u2013\u2014]")
_STOPS, _CLAUSE_SIGNS = frozenset(".!?:"), frozenset(",;/=%")
_SUSPENDED = frozenset({"and", "or", "to"})  # "short- and long-term"
_OTHER_BREAKS = re.compile("\r(?!\n)|[\x0b\x0c\x85\u2028\u2029]")
# What stands for a character, for an end of a line or for nothing: entities and tags of HTML, a note's number in one,
# a terminal's colours. A tag is one by its name. Only attributes of style have blanks in them: others could hold words.
_OPENING = re.compile(r"&[#a-zA-Z]|<[/a-zA-Z]|\x1b\[")
# Comments, and what browsers take for them: declarations, CDATA sections and processing instructions.
_COMMENT, _COMMENT_END = re.compile(r"<!--|<(?:![a-z\[]|\?)[^<>]*>", re.IGNORECASE), re.compile("--!?>")
_LINKED = re.compile(r"\[([^\[\]\n]{1,300})\]\([^()\s]{1,2000}\)")
_ESCAPE = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
_ATTRIBUTES = (
    r"(?:\s+(?:(?:style|class|rel)=(?:\"[^\"<>]*\"|'[^'<>]*')|[\w:-]+=(?:\"[^\"\s<]*\"|'[^'\s<]*'|[^\s<>\"']+)))*+"
    r"\s*/?>"
)
_LINES_OF_HTML = (
    "article|aside|blockquote|body|br|center|dd|details|div|dl|dt|figcaption|figure|footer|form|h[1-6]|head|header|hr|"
    "html|li|main|nav|ol|p|pre|section|table|tbody|td|tfoot|th|thead|tr|ul"
)
_MARKUP = re.compile(
    rf"(?P<line></?(?:{_LINES_OF_HTML}){_ATTRIBUTES})|(?P<entity>&(?:#[0-9]{{1,12}}|#x[0-9a-f]{{1,12}}|[a-z]{{2,31}}[0-9]{{0,2}});)"
    r"|<sup>\[?[0-9*\u2020\u2021,]{1,4}\]?</sup>"
    r"|</?(?:a|abbr|b|bdi|bdo|big|cite|code|del|dfn|em|font|i|img|ins|kbd|label|mark|q|s|samp|small|span|strike|strong|sub|summary|sup|tt|u|var|wbr)"
    rf"{_ATTRIBUTES}|\x1b\[[0-9;]*[a-z]",
    re.IGNORECASE,
)
# Letters that pass for Latin ones: Unicode's, and some that Unicode takes for small capitals.
_LATIN = LOOK_ALIKES | dict(zip(map(ord, "кмтεηκτχ"), "kmtenktx", strict=True))
# Full-width letters, those in circles and squares, those of mathematics.
_STYLED = re.compile("[\uff21-\uff3a\uff41-\uff5a\u24b6-\u24e9\U0001f130-\U0001f149\U0001d400-\U0001d7cb]")
_MARK = "[\u0300-\u036f\u0483-\u0487\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f]"
_STRANGE = re.compile(
    "[^\x00-\xa9\u2010-\u2027\u2190-\u2bff\U0001f000-\U0001ffff]"
)  # what may be such a letter or mark
_STRANGE_WORD = re.compile(rf"(?<![a-zA-Z])[a-zA-Z]*+(?:[^\W\d_a-zA-Z]|{_MARK})(?:[^\W\d_]|{_MARK})*+")
_WITH_A_STROKE = re.compile("LATIN (CAPITAL|SMALL) LETTER ([A-Z]) WITH .*")  # which Unicode does not decompose
_ASCII_LETTER, _OF_ANOTHER_SCRIPT = re.compile("[a-zA-Z]"), re.compile("[\u0250-\u1cff\u2c00-\ud7ff]")
_LONGEST_MEANT = 2  # what an entity stands for; a name that is none stays as it is
LONGEST_SENTENCE = 1_000
"""Rules look around a match within its sentence; a bound keeps that linear on text without full stops."""

_LONGEST_STRETCH = 10_000
_LONGEST_PART, _BLANK = 100_000, re.compile(r"\s")

# An address ends before what ends the sentence it is in.
_LINK = re.compile(r"(?:https?://|\bwww\.)[^\s\u2014\"<>]*[^\s\u2014\"<>?!.,;:)\]}']", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
# A note's number may stand behind a stop, and a blank be forgotten; an emoji may stand for a stop.
# The look-behinds and the possessive quantifiers keep it linear on a megabyte of dots.
_EMOJI = "[\u2600-\u27bf\U0001f300-\U0001faff]"
_STOPPED = (
    r"(?<![.!?])[.!?]++[\"')\]]*+(?:(?:\[\^?\d{1,3}\]|[\u00b9\u00b2\u00b3\u2070-\u2079])*+(?=\s|$)"
    r"|(?:\[\^?\d{1,3}\]|[\u00b9\u00b2\u00b3\u2070-\u2079])++(?=[A-Z\"'(])|(?<=[a-z]{2}[.!?])(?=[A-Z][a-z']*+\s))|\n"
)
_SENTENCE_END, _RARE_STOP = re.compile(_STOPPED), re.compile(f"\u3002|{_EMOJI}")
_ANY_SENTENCE_END = re.compile(rf"{_STOPPED}|\u3002|(?<!{_EMOJI}){_EMOJI}++(?=\s+[A-Z])")
_LINE = re.compile(r"[^\n]+")
# Double quotes, those that can only begin, those that begin nothing (6", `word" `), what no doubtful quotation holds.
_QUOTE = re.compile('"')
_BEGINNING = re.compile(r'(?:(?<=[\s(\[{\u2014])|(?<![\s\S]))"(?=\S)')
_NO_BEGINNING = re.compile(r'(?<=\d)"|(?<=[^\s(\[{\u2014:,=-])"(?=\s|$|[.,;:!?)\]}])')
_STOP = re.compile(r"[.!?][\"')\]]*\s+[^\W\d]")
_CONTINUATION = re.compile(rb"[\x80-\xbf]")
_ABBREVIATION = re.compile(r"(?:^|[\s(\"'])(?:mr|mrs|ms|dr|prof|st|vs|etc|e\.g|i\.e|a\.m|p\.m|no)\.$", re.IGNORECASE)


@dataclass(frozen=True)
class Normalised:
    """A text made uniform for matching, and the way back to the text as it was recorded.

    `starts[i]` and `ends[i]` are where the i-th character of `text` comes from in `original`.
    `disguised` counts the letters that are ASCII ones in `text` alone.
    """

    original: str
    text: str
    starts: Sequence[int]
    ends: Sequence[int]
    disguised: int = 0

    def span(self, start: int, end: int) -> tuple[int, int]:
        r"""Return the span of `original` behind `text[start:end]`, in code points.

        >>> n = normalise("It\u2019s   fine")
        >>> n.text, n.original[slice(*n.span(5, 9))]
        ("It's fine", 'fine')
        """
        if start >= end:
            raise ValueError("an empty span has no place in the original")
        return self.starts[start], self.ends[end - 1]

    @property
    def folded(self) -> str:
        """`text` without regard to case and to blanks around it: copies of a text have the same."""
        return self.text.strip().casefold()

    @cached_property
    def sentences(self) -> tuple[tuple[int, int], ...]:
        """The sentences of `text` as spans, in order; one of more than 1,000 characters is cut."""
        return tuple(_sentences(self.text)) or ((0, 0),)

    @cached_property
    def quotations(self) -> tuple[tuple[int, int], ...]:
        """The spans of `text` between pairs of double quotes on a line, the quotes included.

        A mark that looks like an opening one begins a new quotation. One that looks like a closing one, or follows a
        digit (6"), begins none. If a mark may be either, or the end is after a digit ("v2"), a quotation holds no end
        of a sentence, so a stray mark hides little. If at most a word is outside them, there are none: a reply
        recorded in quotes, whole or sentence by sentence, is no quotation.
        """
        found = tuple(_quotations(self.text)) if '"' in self.text else ()
        if not found:
            return ()
        outside = len(_WORD.findall(self.text)) - sum(len(_WORD.findall(self.text, *span)) for span in found)
        return found if outside > 1 else ()

    @cached_property
    def encoded(self) -> bytes:
        """`text` in UTF-8, which patterns are matched against."""
        return self.text.encode()

    @cached_property
    def _continuations(self) -> Sequence[int]:
        """The places in `encoded` of all bytes that begin no character."""
        return () if self.text.isascii() else [byte.start() for byte in _CONTINUATION.finditer(self.encoded)]

    @cached_property
    def stretches(self) -> tuple[tuple[int, int], ...]:
        """The spans of `encoded` that patterns are matched in one after the other: whole sentences, 10,000 characters.

        Finding all matches of a pattern may take time quadratic in what it is matched against ("a.*z|a").
        """
        cuts = [0]
        for start, end in self.sentences:
            if end - cuts[-1] > _LONGEST_STRETCH:
                cuts.append(start)
        sizes = (len(self.text[start:end].encode()) for start, end in pairwise([*cuts, len(self.text)]))
        return tuple(pairwise(accumulate(sizes, initial=0)))

    def decoded(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of `text` that `encoded[start:end]` holds."""
        wide = self._continuations
        return (start - bisect_left(wide, start), end - bisect_left(wide, end)) if wide else (start, end)

    def sentence_at(self, position: int) -> tuple[int, int]:
        """Return the span of the sentence that holds a position of `text`."""
        index = bisect_right(self.sentences, (position, len(self.text) + 1)) - 1
        return self.sentences[max(index, 0)]


def normalise(text: str, known: Callable[[], Set[str]] = frozenset) -> Normalised:
    """Return `text` with look-alike characters made one, and a map back to every code point.

    Curly and full-width quotes become straight, long dashes `—`, `…` three dots; runs of white
    space one blank (one newline if they hold a line break that ends more than a wrapped line);
    invisible characters and Markdown's marks of emphasis, code and strike-through vanish, as do comments
    and tags of HTML, or become a newline where they begin a line; its entities become what they stand for;
    the rest is composed (NFC, UAX #15). A letter that looks like an ASCII one becomes it in a word with
    ASCII letters, and in a text that is mostly of such words. There a word loses its diacritics, too, if
    that makes it one of the words that `known` returns: in lower case, without apostrophes.
    """
    straight = text
    if not text.isascii():
        for typed, plain in _STRAIGHT:
            straight = straight.replace(typed, plain)
    may_be_markup = "<" in text or "&" in text or "\\" in text or "](" in text
    if not may_be_markup and _PLAIN.fullmatch(straight) and not _goes_on(straight):
        identity = range(len(text) + 1)
        return _in_latin(Normalised(text, straight, identity[:-1], identity[1:]), known)
    original, text = text, _unwrapped(_unescaped(_uncommented(text)))
    out: list[str] = []  # plain runs, which end in no blank, and single characters
    starts, ends = array("I"), array("I")  # a list takes ten times the memory
    before = ""  # the visible characters of the segment before
    position = 0
    opening = _opening(text, 0)
    while position < len(text):
        start, markup = position, None
        if opening <= start:
            markup = _markup(text, start) if opening == start else None
            opening = _opening(text, markup[0] if markup else start + 1)
        if markup:
            position, visible, pieces = markup
        else:
            position = _run_end(text, start, opening)
            if position - start > 1 and not text[start].isspace():
                out.append(text[start:position])
                starts.extend(_counting(start, position))
                ends.extend(_counting(start + 1, position + 1))
                before = text[position - 1]
                continue
            position = max(position, _segment_end(text, start))
            visible, pieces = _uniform(text[start:position])
        if visible.isspace():
            if out and out[-1] in " \n":
                out[-1] = max(out[-1], pieces, key=" \n".index)
                ends[-1] = position
                continue
        elif visible in _MARKS and _is_markup(visible, before, text[position : position + 1]):
            before = visible if visible == "~" else before
            continue
        before = visible or before
        out += pieces
        starts.extend([start] * len(pieces))
        ends.extend([position] * len(pieces))
    return _in_latin(Normalised(original, "".join(out), starts, ends), known)


def _goes_on(text: str) -> bool:
    """Tell whether a line of a text may have been wrapped."""
    return "\n" in text and _GOES_ON.search(text) is not None


def _counting(start: int, end: int) -> Sequence[int]:
    """Return the numbers from `start` to before `end`, quickly if they are small."""
    return _small_numbers()[start:end] if end <= _SMALL else range(start, end)


@cache
def _small_numbers() -> Sequence[int]:
    return array("I", range(_SMALL))


def words(text: str) -> list[str]:
    """Return the words of a normalised text, lower-cased, an apostrophe inside kept.

    >>> words("I don't know: 2 of us?")
    ['i', "don't", 'know', '2', 'of', 'us']
    """
    return [*chain.from_iterable(map(_WORDS.__getitem__, text.split(" ")))]


class _Words(dict[str, tuple[str, ...]]):
    """The words of what stands between two blanks. Holds what was asked for, up to a bound."""

    def __missing__(self, part: str) -> tuple[str, ...]:
        found = tuple(_WORD.findall(part.lower()))
        if len(part) <= _LONGEST_SEGMENT:
            if len(self) >= _MOST_PARTS:
                self.clear()
            self[part] = found
        return found


_WORDS = _Words()


def parts(text: str) -> Iterator[str]:
    """Yield a text in parts that end at blanks: a list of all its words takes ten times its room."""
    start = 0
    while len(text) - start > _LONGEST_PART:
        blank = _BLANK.search(text, start + _LONGEST_PART)
        end = blank.start() if blank else len(text)
        yield text[start:end]
        start = end
    yield text[start:]


def without_links(text: str) -> str:
    """Return a text of the same length with blanks in place of addresses: they are no words of whoever wrote it.

    >>> without_links("See https://a.org/?b=c, now?")
    'See                   , now?'
    """
    return _LINK.sub(lambda link: " " * len(link[0]), text) if _may_hold_links(text) else text


def _may_hold_links(text: str) -> bool:
    return "://" in text or "w." in text or "W." in text


def asks(text: str) -> bool:
    """Tell whether a part of a normalised text holds a question mark, other than that of an address."""
    return "?" in text and "?" in without_links(text)


def similarity(first: str, second: str) -> float:
    """Return the cosine of the two texts' counts of words and word pairs, from 0.0 to 1.0.

    This is the token cosine similarity of the Synthesis spec, over unigrams and bigrams. A text
    without words is similar to nothing.

    >>> similarity("the exam", "the exam"), similarity("the exam", "")
    (1.0, 0.0)
    """
    a, b = _ngram_counts(first), _ngram_counts(second)
    dot = sum(a[ngram] * b[ngram] for ngram in a.keys() & b.keys())
    return dot / math.sqrt(_norm(a) * _norm(b)) if dot else 0.0


def _norm(counts: Mapping[Any, int]) -> int:
    return sum(map(mul, counts.values(), counts.values()))


def _ngram_counts(text: str) -> Counter[str | tuple[str, str]]:
    counts: Counter[str | tuple[str, str]] = Counter()
    before: list[str] = []
    for part in parts(text):
        tokens = words(part)
        counts.update(tokens)
        counts.update(pairwise(before + tokens))
        before = tokens[-1:] or before
    return counts


def _opening(text: str, start: int) -> int:
    """Return where markup may open next."""
    found = _OPENING.search(text, start)
    return found.start() if found else len(text)


def _run_end(text: str, start: int, limit: int) -> int:
    """Return the end of a run of plain text or of blanks, less its last character if something joins it."""
    run = _PLAIN.match(text, start, limit) or _BLANKS.match(text, start, limit)
    if run is None:
        return start
    end = run.end()
    return end - (end < len(text) and _joins_previous(text[end]))


@lru_cache(maxsize=_MOST_SEGMENTS)
def _uniform(segment: str) -> tuple[str, str]:
    """Return the visible characters of a segment, or of a run of blanks, and what they become."""
    visible = "".join(c for c in segment if c not in _INVISIBLE)
    if visible.isspace():
        return visible, " " if _LINE_BREAKS.isdisjoint(visible) else "\n"
    return visible, unicodedata.normalize("NFC", visible).translate(_REPLACEMENTS)


def _markup(text: str, start: int) -> tuple[int, str, str] | None:
    """Return where markup ends, the visible characters that it stands for and what they become; None if it is none."""
    found = _MARKUP.match(text, start)
    if found is None:
        return None
    if found["line"]:
        return found.end(), "\n", "\n"
    if not found["entity"]:
        return found.end(), "", ""
    meant = unescape(found[0])
    return (found.end(), *_uniform(meant)) if len(meant) <= _LONGEST_MEANT else None


def _segment_end(text: str, start: int) -> int:
    """Return the end of what normalises on its own: a character and what composes with it."""
    end = start + 1
    while end < len(text) and end - start < _LONGEST_SEGMENT and _joins_previous(text[end]):
        end += 1
    return end


def _uncommented(text: str) -> str:
    """Return a text of the same length in which comments of HTML are invisible characters."""
    pieces: list[str] = []
    position, has_end = 0, True
    while "<" in text and (opening := _COMMENT.search(text, position)):
        end = opening.end()
        if opening[0] == "<!--":
            # HTML ends "<!-->" and "<!--->" where they begin. Of a comment without an end the sign alone goes.
            closing = _COMMENT_END.search(text, opening.start() + 2) if has_end else None
            has_end = closing is not None
            end = closing.end() if closing else end
        pieces += text[position : opening.start()], "\u200b" * (end - opening.start())
        position = end
    return "".join((*pieces, text[position:])) if pieces else text


def _unescaped(text: str) -> str:
    """Return a text of the same length in which Markdown's escapes and the addresses of its links are invisible."""
    if "](" in text:
        text = _LINKED.sub(lambda link: f"\u200b{link[1]}".ljust(len(link[0]), "\u200b"), text)
    return _ESCAPE.sub("\u200b", text) if "\\" in text else text


def _unwrapped(text: str) -> str:
    """Return a text of the same length in which a line that was only wrapped goes on.

    A break wraps a line where the next one's first word would not have fitted into the width of the text, which is
    that of its longest line. In a chat lines break where their writers like. So a text counts as wrapped only if
    lines that plainly go on, without an end and in lower case, break more often where no word would have fitted.
    """
    text = _OTHER_BREAKS.sub("\n", text)
    if not _goes_on(text):
        return text
    lines = [line.rstrip() for line in text.split("\n")]
    is_plain = text.isascii() and not (_OPENING.search(text) or _UNSEEN_RUN.search(text))
    shown = lines if is_plain else [_shown(line).rstrip() for line in lines]
    widths = _width(lines), _width(shown)
    is_one_dashed = len(_DASHED_LINE.findall(text)) == 1  # of several they mark a list
    wraps: list[tuple[re.Match[str], str]] = []
    longest = wrapping = fitting = index = before = 0
    for found in _WRAP.finditer(text):
        index += text.count("\n", before, found.start())
        line, before = lines[index], found.start()
        first, end = found["first"], shown[index].rstrip(_UNSEEN)[-1:]
        if not end or line.startswith("#") or (">" in found[0] and not line.lstrip().startswith(">")):
            continue
        sizes = len(line) + len(found["word"]), len(shown[index]) + len(_shown(found["word"]))
        is_wrap = any(size + 1 > width for size, width in zip(sizes, widths, strict=True))
        if is_wrap and (first not in "\u2013\u2014" or is_one_dashed):
            wraps.append((found, line))
        is_capitals = line.isupper() and lines[index + 1].isupper()
        goes_on = first.islower() or first in _CLAUSE_SIGNS or is_capitals or _I.match(text, found.start("first"))
        if end in ",;" or (goes_on and end not in _STOPS):
            longest = max(longest, is_wrap * len(line))
            wrapping, fitting = wrapping + is_wrap, fitting + (not is_wrap)
    letter = _LETTER.search(text)
    # Who begins with a capital or ends sentences within lines would have ended one before a break.
    is_tidy = (letter and letter[0].isupper()) or _STOP.search(text)
    if wrapping < max(1, fitting if is_tidy or longest >= _LONG else fitting + 2):
        return text
    pieces: list[str] = []
    position = 0
    for found, line in wraps:
        is_hyphenated = _HYPHENATED.search(line) and found["word"] not in _SUSPENDED
        pieces += text[position : found.start()], ("\u200b" if is_hyphenated else " ") * len(found[0])
        position = found.end()
    return "".join((*pieces, text[position:]))


def _width(lines: Sequence[str]) -> int:
    """Return the width that lines were wrapped to at least; a single long word may be beyond it."""
    return max(_NARROWEST, max((len(line) for line in lines if " " in line.lstrip()), default=0))


def _shown(line: str) -> str:
    """Return about what a reader sees of a line."""
    return _MARKUP.sub(lambda found: "&" if found["entity"] else "", _UNSEEN_RUN.sub("", line))


def _in_latin(text: Normalised, known: Callable[[], Set[str]]) -> Normalised:
    """Return a normalised text in which letters that look like ASCII ones are these (see `normalise`)."""
    if text.original.isascii() and text.text.isascii():
        return text
    disguised = len(_STYLED.findall(text.original))
    letters: dict[int, str] = {}
    if _STRANGE.search(text.text):
        words = list(_STRANGE_WORD.finditer(text.text))
        for word, read in zip(words, _read([word[0] for word in words], known, text.text), strict=True):
            for place, (letter, was) in enumerate(zip(read, word[0], strict=True), word.start()):
                if letter != was:
                    letters[place] = letter
    if not letters:
        return replace(text, disguised=disguised) if disguised else text
    disguised += sum(map(bool, letters.values()))
    kept = [place for place in range(len(text.text)) if letters.get(place, "a")]
    ends = (text.ends[after - 1] for after in (*kept[1:], len(text.text)))  # marks that go are their letter's
    return Normalised(
        text.original,
        "".join(letters.get(place, text.text[place]) for place in kept),
        array("I", (text.starts[place] for place in kept)),
        array("I", ends),
        disguised,
    )


def _read(words: Sequence[str], known: Callable[[], Set[str]], text: str) -> Iterator[Sequence[str]]:
    """Yield for each word of a text what its letters are read as, nothing for a mark that goes.

    Where most words with diacritics are known without them, all lose them: rules look across words, too.
    """
    is_latin = _is_latin(text, words)
    alike = [word.translate(_LATIN) if is_latin or _ASCII_LETTER.search(word) else word for word in words]
    bare = {word: [_bare(letter) for letter in word] for word in {*alike} if not word.isascii()}
    bare = {word: letters for word, letters in bare.items() if "".join(letters).isascii()} if is_latin else {}
    familiar = {word for word, letters in bare.items() if "".join(letters).lower() in known()}
    long = [word in familiar for word in alike if word in bare and len(word) > 1]
    is_all = 2 * sum(long) > len(long)
    for word in alike:
        yield bare[word] if word in familiar or (is_all and word in bare) else word


@lru_cache(maxsize=_MOST_SEGMENTS)
def _bare(letter: str) -> str:
    """Return a letter without its diacritics, nothing for a mark alone."""
    base = unicodedata.normalize("NFD", letter)[0]
    if found := _WITH_A_STROKE.fullmatch(unicodedata.name(base, "")):
        return found[2] if found[1] == "CAPITAL" else found[2].lower()
    return "" if unicodedata.category(base)[0] == "M" else base.translate(_LATIN)


def _is_latin(text: str, words: Sequence[str]) -> bool:
    """Tell whether nearly all letters of a text are ASCII ones or look like them: of Greek too many do not.

    `words` are those with letters that are not ASCII.
    """
    foreign = len(_OF_ANOTHER_SCRIPT.findall("".join(words).translate(_LATIN)))
    if not foreign:
        return len(text) > 1  # a letter alone may be anything
    return len(_ASCII_LETTER.findall(text.translate(_LATIN))) >= 4 * foreign


def _joins_previous(char: str) -> bool:
    if char < "\u00ad":
        return False
    # Marks, invisible characters and Hangul vowels and finals: all else starts a segment of its own.
    return char in _INVISIBLE or "\u1160" <= char <= "\u11ff" or unicodedata.category(char)[0] == "M"


def _is_markup(sign: str, before: str, after: str) -> bool:
    """Tell marks around words from bullets, arithmetic, names_with_underscores and don`t."""
    if sign == "*":
        return bool((before and not before.isspace()) or (after and not after.isspace()))
    return "~" in (before, after) if sign == "~" else not (before[:1].isalnum() and after.isalnum())


def sentence_ends(text: str) -> Iterator[int]:
    """Yield where sentences of a normalised text end, however long they are; the last one may go on to its end."""
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
    """Tell whether a text holds an emoji, which may end a sentence by what stands behind the next blank."""
    return not text.isascii() and _RARE_STOP.search(text) is not None


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    for start, end in pairwise([0, *sentence_ends(text), len(text)]):
        for cut in range(start, end, LONGEST_SENTENCE):
            yield cut, min(cut + LONGEST_SENTENCE, end)


def _quotations(text: str) -> Iterator[tuple[int, int]]:
    bounds = len(text) - len(text.lstrip()), len(text.rstrip())
    stops = [stop.start() for stop in _STOP.finditer(text)]
    for line in _LINE.finditer(text):
        opening, is_sure = -1, False
        for mark in _QUOTE.finditer(text, line.start(), line.end()):
            at, is_number = mark.start(), text[mark.start() - 1 : mark.start()].isdigit()
            if _BEGINNING.match(text, at):  # what was open before never ended
                opening, is_sure = at, True
            elif opening < 0:
                opening, is_sure = -1 if _NO_BEGINNING.match(text, at) else at, False
            elif (is_sure and not is_number) or bisect_left(stops, opening) == bisect_left(stops, at):
                if (opening, at + 1) != bounds:
                    yield opening, at + 1
                opening = -1
            elif not is_number:
                opening = -1
