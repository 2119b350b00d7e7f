"""Text made uniform for matching: the way back, the variants that become one, sentences, similarity, linear time."""

import math
import re
import textwrap
import unicodedata
from itertools import pairwise, product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from safe_gate.core.text import _SIGNS, _joins_previous, normalise
from safe_gate.core.text.characters import MARKS, replacements
from safe_gate.core.text.mapped_text import similarity, words
from tests.support.cases import DATA, read_lines
from tests.support.examples import examples

TEXTS = read_lines(DATA / "texts.jsonl")
"""Texts, and how they are read: normalised, in so many sentences, with quotations, or found and quoted."""
WHITE = " \t\n\r\x0b\x0c\x85\xa0\u1680\u2003\u2009\u2028\u2029\u202f\u3000"
INVISIBLE = "\xad\u034f\u200b\u200c\u200d\u200e\u2060\ufeff"
# Letters and marks of Unicode's Default_Ignorable_Code_Point (UAX #44), which have no ink: dropped, not composed.
IGNORABLE = frozenset("\u034f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f" + "".join(map(chr, range(0xFE00, 0xFE10))))
SINGLE_QUOTES = "'\u2018\u2019\u201b\u02bc\uff07\u00b4`"
DOUBLE_QUOTES = '"\u201c\u201d\u201e\u00ab\u00bb\uff02'
QUOTES = {"'": SINGLE_QUOTES, '"': DOUBLE_QUOTES}
TRICKY = WHITE + INVISIBLE + SINGLE_QUOTES + DOUBLE_QUOTES + "<&;b>#3\x1b[m\u0456"
TRICKY += "**__..!?-\u2026e\u0301\u0300\u1100\u1161\u11a8\ud800\udfff"

# Every code point there is, half surrogate pairs too, with what normalising treats specially in front.
any_text = st.text(st.sampled_from(TRICKY) | st.characters(exclude_categories=()), max_size=60)
modest = examples(few=60, many=150)


@given(any_text)
@modest
def test_every_character_of_a_normalised_text_comes_from_its_place_in_the_original(text: str) -> None:
    normalised = normalise(text)
    assert normalised.original == text
    assert len(normalised.text) == len(normalised.starts) == len(normalised.ends)
    places = list(zip(normalised.starts, normalised.ends, strict=True))
    assert all(0 <= start < end <= len(text) for start, end in places)
    assert all(a <= c and b <= d for (a, b), (c, d) in pairwise(places))
    for char, (start, end) in zip(normalised.text, places, strict=True):
        alone = text[start:end]
        # Alone they are markup, between letters they are not; and a look-alike is an ASCII letter beside ASCII letters.
        is_look_alike = char.isascii() and char.isalpha() and not alone.isascii()
        if not {"_", "`"} & set(alone) and not is_look_alike:
            # As it was, as half a flag is beside the other half; or a wrapped line's break, or a blank in a note.
            assert char in (alone, *normalise(alone).text) or (char in " ^" and alone.isspace())


@given(any_text, st.data())
@modest
def test_a_span_reaches_from_its_first_to_its_last_character(text: str, data: st.DataObject) -> None:
    normalised = normalise(text)
    if not normalised.text:
        return
    first = data.draw(st.integers(0, len(normalised.text) - 1))
    last = data.draw(st.integers(first, len(normalised.text) - 1))
    start, end = normalised.span(first, last + 1)
    assert (start, end) == (normalised.starts[first], normalised.ends[last])
    assert text[start:end]


@pytest.mark.parametrize("about", {row["about"]: None for row in TEXTS if "shown" not in row})
def test_a_text_is_read_as_a_reader_reads_it(about: str) -> None:
    for row in (row for row in TEXTS if row["about"] == about):
        text = row["text"]
        read = normalise(text, {"i", "omg", "promise"} if "disguised" in row else ())
        found = {
            "normal": read.text,
            "sentences": len(read.sentences),
            "quoted": [read.text[start:end] for start, end in read.quotations],
            "disguised": read.disguised,
        }
        assert found == found | {key: row[key] for key in found if key in row}, text
        if "disguised" in row:
            assert read.span(0, len(read.text)) == (0, len(text))
        if "found" in row:
            words, quoted = row["found"]
            start = read.text.index(words)
            assert text[slice(*read.span(start, start + len(words)))] == quoted


def test_an_empty_span_has_no_place() -> None:
    with pytest.raises(ValueError, match="empty span"):
        normalise("fine").span(2, 2)


@given(st.text(st.characters(max_codepoint=0xFFFF, categories=("L", "N", "Mn", "Mc", "Sc", "Sm")), max_size=31))
@example("\u115f\u3164\uffa0")
@example("\u1112\u1161\u11ab\uae00\u11a8 e\u0323\u0302 \u0b47\u0b3e")
@modest
def test_a_normalised_text_is_composed(text: str) -> None:
    assert not any(normalise(char).text for char in IGNORABLE)
    signs = {"~", "<", *SINGLE_QUOTES}  # of markup, or read by what stands beside them

    def stands_for_itself(char: str) -> bool:
        places = (char, f"a{char}")  # alone, and in a word, where it may pass for a Latin letter
        return char not in signs and all(normalise(one).text == unicodedata.normalize("NFC", one) for one in places)

    kept = "".join(filter(stands_for_itself, text))
    assert normalise(kept).text == unicodedata.normalize("NFC", kept)


@given(st.text(st.sampled_from(WHITE + INVISIBLE), min_size=1, max_size=8))
@example("  \u200b")
@example("\xa0\u200b")
@modest
def test_white_space_with_or_without_invisible_characters_becomes_one_blank(run: str) -> None:
    breaks = set("\n\r\x0b\x0c\x85\u2028\u2029")
    expected = "\n" if breaks & set(run) else " " if set(WHITE) & set(run) else ""
    assert normalise(f"a{run}b").text == f"a{expected}b"


def test_what_is_passed_over_as_plain_is_what_normalising_would_not_change() -> None:
    for char in filter(re.compile(_SIGNS).fullmatch, map(chr, range(0x110000))):
        assert unicodedata.normalize("NFC", char) == char
        assert char.translate(replacements()) == char
        assert char not in MARKS
        assert not _joins_previous(char)


SENTENCES = (
    "She said \"it's not your fault\", and I don't know if that's true.",
    'You\'re allowed to say "no". Would you like to talk about the caf\u00e9 job?',
    "I'm sorry, that must've hurt: Zo\u00eb's dog died. Did she tell you?",
)


@st.composite
def recorded(draw: st.DrawFn, sentence: str) -> str:
    """Write a sentence as some keyboard, editor or model might have."""
    blanks = (" ", "  ", "\xa0", "\u2009 ", "\t", "\u3000", "\u200b ", " \u200b")
    marks = ("", "", "*", "**", "_", "__", "***", "**_", "~~", "`")
    parts = []
    for word in sentence.split(" "):
        ways = ((char, unicodedata.normalize("NFD", char), f"{char}\u200d") for char in word)
        letters = [draw(st.sampled_from(QUOTES.get(one[0], one))) for one in ways]
        mark = draw(st.sampled_from(marks))
        parts += [mark, *letters, mark[::-1], draw(st.sampled_from(blanks))]
    return "".join(parts[:-1])


@pytest.mark.untraced
@given(st.data())
@modest
def test_however_a_sentence_was_typed_it_becomes_the_same_text(data: st.DataObject) -> None:
    sentence = data.draw(st.sampled_from(SENTENCES))
    assert normalise(data.draw(recorded(sentence))).text == sentence


PROSE = (
    "I know exactly how you feel, and I promise you that everything is going to be fine by the time we meet on Monday.",
    (
        "Well, it is a long-term plan and it asks for a little patience from us. So you must do (at least) 3 things, "
        'as she said: "rest", eat and call Dr. Ames again. He was, I think, a well-known man, & nobody asked who it was, '
        "or why."
    ),
)


def test_a_text_reads_the_same_at_whatever_width_it_is_wrapped() -> None:
    for text, width, is_hyphenated in product(PROSE, range(20, 101), (True, False)):
        lines = textwrap.wrap(text, width, break_on_hyphens=is_hyphenated, break_long_words=False)
        assert normalise("\n".join(lines)).text == text
        assert normalise("".join(f"> {line}\r\n" for line in lines)).text.strip("> \n") == text


@given(any_text)
@modest
def test_sentences_cover_the_text_in_order_without_overlap(text: str) -> None:
    normalised = normalise(text)
    sentences = normalised.sentences
    assert "".join(normalised.text[start:end] for start, end in sentences) == normalised.text
    assert sentences[0][0] == 0
    assert all(previous[1] == following[0] for previous, following in pairwise(sentences))
    for position in range(len(normalised.text)):
        start, end = normalised.sentence_at(position)
        assert start <= position < end


few_words = st.lists(st.sampled_from(("the", "exam", "failed", "don't", "2", "Caf\u00e9")), max_size=12).map(" ".join)


@given(few_words | any_text, few_words | any_text)
@modest
def test_similarity_is_a_symmetric_share_of_which_a_text_with_words_has_all(first: str, second: str) -> None:
    assert 0.0 <= similarity(first, second) == similarity(second, first) <= 1.0
    assert similarity(first, first) == bool(words(first))


def test_similarity_counts_words_and_pairs_of_words() -> None:
    # (the exam, the x2): the=2, exam=1, (the, exam)=1 against the=1, test=1, (the, test)=1
    assert similarity("the exam the", "the test") == pytest.approx(2 / math.sqrt((4 + 1 + 1 + 1) * 3))
    assert similarity("one two", "two one") == pytest.approx(2 / 3)
    assert similarity("apples", "pears") == 0.0
