"""Text made uniform for matching: the way back, the variants that become one, sentences, similarity, linear time."""

from __future__ import annotations

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
from tests.support.examples import examples

WHITE = " \t\n\r\x0b\x0c\x85\xa0\u1680\u2003\u2009\u2028\u2029\u202f\u3000"
INVISIBLE = "\xad\u034f\u200b\u200c\u200d\u200e\u2060\ufeff"
# Letters and marks of Unicode's Default_Ignorable_Code_Point (UAX #44), which have no ink: dropped, not composed.
IGNORABLE = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0" + "".join(map(chr, range(0xFE00, 0xFE10)))
)
SINGLE_QUOTES = "'\u2018\u2019\u201b\u02bc\uff07\u00b4`"
DOUBLE_QUOTES = '"\u201c\u201d\u201e\u00ab\u00bb\uff02'
TRICKY = (
    "<&;b>#3\x1b[m\u0456"
    + WHITE
    + INVISIBLE
    + SINGLE_QUOTES
    + DOUBLE_QUOTES
    + "**__..!?-\u2026e\u0301\u0300\u1100\u1161\u11a8\ud800\udfff"
)

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
            # As it was, as half a flag is beside the other half; or a wrapped line's break.
            assert char in (alone, *normalise(alone).text) or (char == " " and alone.isspace())


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


@pytest.mark.parametrize(
    ("text", "words", "quoted"),
    [
        ("Smith&you; agree", "you", "you"),
        ("So <b>you</b> say", "you", "you"),
        ("It&#39;s fine", "It's", "It&#39;s"),
        ("I <i>do</i> promise", "I do promise", "I <i>do</i> promise"),
    ],
)
def test_what_is_found_amid_markup_is_quoted_as_it_was_recorded(text: str, words: str, quoted: str) -> None:
    normalised = normalise(text)
    start = normalised.text.index(words)
    first, last = normalised.span(start, start + len(words))
    assert text[first:last] == quoted


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
        alone_and_in_a_word = (char, f"a{char}")  # where it may pass for a Latin letter
        return char not in signs and all(
            normalise(one).text == unicodedata.normalize("NFC", one) for one in alone_and_in_a_word
        )

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
        letters = [
            draw(st.sampled_from(SINGLE_QUOTES)) if char == "'"
            else draw(st.sampled_from(DOUBLE_QUOTES)) if char == '"'
            else draw(st.sampled_from((char, unicodedata.normalize("NFD", char), f"{char}\u200d")))
            for char in word
        ]  # fmt: skip
        mark = draw(st.sampled_from(marks))
        parts += [mark, *letters, mark[::-1], draw(st.sampled_from(blanks))]
    return "".join(parts[:-1])


@pytest.mark.untraced
@given(st.data())
@modest
def test_however_a_sentence_was_typed_it_becomes_the_same_text(data: st.DataObject) -> None:
    sentence = data.draw(st.sampled_from(SENTENCES))
    assert normalise(data.draw(recorded(sentence))).text == sentence


@pytest.mark.parametrize("variant", ["*\u200bfine*", "**fine\u200b**", "_\u2060fine_", "\u200b*fine\u200b*\u200b"])
def test_emphasis_vanishes_with_an_invisible_character_beside_it(variant: str) -> None:
    assert normalise(f"I am {variant} now").text == "I am fine now"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("you `must` go", "you must go"),
        ("don`t", "don't"),
        ("Zoe\u0308`s", "Zo\u00eb's"),
        ("```\nfine\n```", "\nfine\n"),
        ("~~fine~~ **so**", "fine so"),
        ("~5 miles ~ or so", "~5 miles ~ or so"),
        ("It\u2019s `fine`", "It's fine"),
    ],
)
def test_marks_of_code_and_strike_through_vanish(text: str, shown: str) -> None:
    assert normalise(text).text == shown


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("This line was broken where it met the right margin of\nthe page. I think\nso.", 3),
        ("This line was broken where it met the right margin \u2013\nI said so.", 1),
        ("This line is long but it is the last of its paragraph, and\n\nso is this", 2),
        ("This line was broken where it met the right margin of \r\nthe page. So.", 2),
        ("This line is long but it is followed by a list of two things\n- one\n- two", 3),
        ("that sounds hard\ndo you want to talk", 2),
        ("This line is long, and it ends as a sentence ends, does it?\nyes", 2),
        ("    This line was broken where it met the right margin\n    of an indented paragraph.", 1),
        ("> > This line was broken where it met the right margin\n> > of what is quoted.", 1),
        ("This line is long but it is the last before the text of another\n> that is quoted", 2),
        ("This line is long but it is followed by points of a list\n  a) one\n  b) two", 3),
    ],
)
def test_a_wrapped_line_does_not_end_a_sentence(text: str, sentences: int) -> None:
    normalised = normalise(text)
    assert len(normalised.sentences) == sentences
    assert len(normalised.text) == len(normalised.starts) == len(normalised.ends)


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


@pytest.mark.parametrize(
    "text",
    [
        "that sounds hard\ndo you want to talk",
        "i hear you and i am so sorry\nwhat happened next",
        "i'm so sorry about all of this today\nthat's awful\ni'm here\ndo you want to talk about it now?",
        "That sounds hard, and I'm sorry\nDo you want to talk about it",
        "ok\nno problem at all\ncall me whenever you want\nbye for now",
        "Try one of these things today:\nherbal tea\na warm bath with salt\nreading\na walk with a friend",
        "- go out and see somebody\n- do a thing that you like\n- eat",
        "1. go out and see somebody\n2. do a thing that you like\n3) eat",
        "a) go out and see somebody\nb) do a thing that you like\n(c) eat",
        "# what you can do about it\ncall a friend",
    ],
)
def test_lines_of_chats_and_lists_stay_apart(text: str) -> None:
    assert normalise(text).text == text


@pytest.mark.parametrize(
    ("original", "normal", "disguised"),
    [
        ("pr\u00f3mise", "promise", 1),
        ("Pro\u0301mi\u0308se!", "Promise!", 2),
        ("p\u00f3\u0301romise n\u0456\u0306ce", "p\u00f3\u0301romise ni\u0306ce", 1),
        ("caf\u00e9, r\u00e9sum\u00e9", "caf\u00e9, r\u00e9sum\u00e9", 0),
        ("Pr\u00f3mise \u00e0 bient\u00f4t, \u00eatre l\u00e0", "Promise \u00e0 bient\u00f4t, \u00eatre l\u00e0", 1),
        ("I pr\u00f3mise, pr\u00f3m\u00efse \u00c0 p\u00e9ar", "I promise, promise A pear", 5),
        ("pr\u00f8mise \u0111", "promise d", 2),
        ("\u24c5romise", "Promise", 1),
        ("pr0m1$e PR0MISE 1 pr|", "promise PROMISE 1 pr|", 4),
        (
            "10 2nd 3rd H2O 1.0mg 5,0mg pr0se 5pro pr\xbamise N\xba",
            "10 2nd 3rd H2O 1.0mg 5,0mg pr0se 5pro promise N\xba",
            1,
        ),
        ("promi\u017fe \u1d18\u0280\u1d0f\u1d0d\u026as\u1d07", "promise promise", 7),
        ("\U0001f1f5\U0001f1f7\U0001f1f4 \U0001f1eb\U0001f1f7", "PRO FR", 5),
        ("pr\U0001f1fa\U0001f1f8", "pr\U0001f1fa\U0001f1f8", 0),
        ("\U0001f15f\U0001f181\u249e \u2167 \u1d56", "PRc VIII p", 4),
        ("\u0406 pr\u043em\u0456\u0455\u0435", "I promise", 5),
        ("\U0001d429\U0001d42b\U0001d428mise \uff29", "promise I", 4),
        ("I promise\u2014\u201cyes\u201d\u2026 \u2192 \U0001f642", 'I promise\u2014"yes"... \u2192 \U0001f642', 0),
    ],
)
def test_a_disguised_word_is_read_and_its_letters_are_counted(original: str, normal: str, disguised: int) -> None:
    normalised = normalise(original, {"i", "omg", "promise"})
    assert (normalised.text, normalised.disguised) == (normal, disguised)
    assert normalised.span(0, len(normalised.text)) == (0, len(original))


@pytest.mark.parametrize("text", ["* a point", "2 * 3 = 6", "snake_case_name", "a * b * c"])
def test_stars_and_underscores_that_are_not_emphasis_stay(text: str) -> None:
    assert normalise(text).text == text


@pytest.mark.parametrize(
    ("original", "normal"),
    [
        ("wait\u2026", "wait..."),
        ("a\u2013b\u2015c", "a\u2014b\u2014c"),
        ("co\u2010op", "co-op"),
        ("\uff36\uff01", "V!"),
        ("You&#39;ll &quot;be&quot;&nbsp;fine&#x2026; AT&amp;T", 'You\'ll "be" fine... AT&T'),
        ("R&D & you&me; &nosuch; &", "R&D & you&me; &nosuch; &"),
        ("It <sup>will</sup> pass.<sup>[12]</sup> So<sup>*</sup>", "It will pass. So"),
        ("=\u0338 \u2260", "\u2260 \u2260"),
        ("a <b>b</b> <span class='x'>c</span><i>d</i>", "a b cd"),
        ("<p>a</p>\n<p>b</p>", "\na\nb\n"),
        (
            "<Pack a bag.> <b title='stop it'> <b stop> a < b > c <3",
            "<Pack a bag.> <b title='stop it'> <b stop> a < b > c <3",
        ),
        ('I <span style="color: red">know</span>, kn<wbr>ow, <a title=">">know</a>', "I know, know, know"),
        ("You\\'ll [be](https://example.org/a?b) fine [1] (so) [a](b c)", "You'll be fine [1] (so) [a](b c)"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("f\u0456ne th\u03bfught", "fine thought"),
        ("I <!-- x -->know<!---->, kn<!--\n-- > -->ow <!-- and", "I know, know and"),
        ("I <!-- know", "I know"),
        ("I <![CDATA[ x ]]>know <?xml x?>how <!DOCTYPE html>you", "I know how you"),
        ("What <!?! <? x < y > z", "What <!?! <? x < y > z"),
        ("\ufb01ne, o\ufb03cial, \ufb02at", "fine, official, flat"),
        ("\u24c0\u24dd\u24de\u24e6 \U0001f13a\U0001f13d\U0001f13e\U0001f146", "Know KNOW"),
        ("<!--> a <!---> b <!-- x --!>c", " a b c"),
        ("kn\u0585w \u0131s \u0261o \u043a\u0430n", "know is go kan"),
        ("kn<b>\u043e</b>w, k&#1086;w, k\u043e\u200bw", "know, kow, kow"),
        ("&ZeroWidthSpace;k&#x0000006e;o&#0000000119;", "know"),
        ("\u041f\u0440\u0438\u0432\u0435\u0442, \u03b1\u03b2", "\u041f\u0440\u0438\u0432\u0435\u0442, \u03b1\u03b2"),
    ],
)
def test_look_alike_signs_become_one_sign(original: str, normal: str) -> None:
    assert normalise(original).text == normal


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


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("I know. You do?! Yes...", 3),
        ("Dr. Ames said so. Ask her.", 2),
        ('He said "no." She left.', 2),
        ("first line\nsecond line", 2),
        ("version 3.11 is out", 1),
        ("Fine.You will.", 2),
        ("Open Report.PDF, Socket.IO or Node.JS by System.Out.println or john.Smith@example.com", 1),
        ("See https://example.org/help?Topic=exams.Now and www.Example.Com/A.Bit for it.", 1),
        ("See U.S.A, e.g.Rome or Node.js", 1),
        ("So it is.[1] Then this.\u00b2 And[3] that.[^4]Now.", 4),
        ("So it is.<sup>1</sup> Then this.", 2),
        ("<p>So it is</p><p>Then this</p>", 2),
        ("So it is<br>Then this<br/>And that", 3),
        ("So it is\u3002Then this\u3002", 2),
        ("So it is \U0001f642 Then this \U0001f642 and that", 2),
        ("no full stop " * 200, 3),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, count: int) -> None:
    assert len(normalise(text).sentences) == count


few_words = st.lists(st.sampled_from(("the", "exam", "failed", "don't", "2", "Caf\u00e9")), max_size=12).map(" ".join)


@given(few_words | any_text, few_words | any_text)
@modest
def test_similarity_is_a_symmetric_share(first: str, second: str) -> None:
    value = similarity(first, second)
    assert 0.0 <= value <= 1.0
    assert value == similarity(second, first)


@given(few_words | any_text)
@modest
def test_a_text_with_words_is_as_similar_to_itself_as_can_be(text: str) -> None:
    assert similarity(text, text) == (1.0 if words(text) else 0.0)


def test_similarity_counts_words_and_pairs_of_words() -> None:
    # (the exam, the x2): the=2, exam=1, (the, exam)=1 against the=1, test=1, (the, test)=1
    assert similarity("the exam the", "the test") == pytest.approx(2 / math.sqrt((4 + 1 + 1 + 1) * 3))
    assert similarity("one two", "two one") == pytest.approx(2 / 3)
    assert similarity("apples", "pears") == 0.0


UNSEEN = "\x00\x08\x1b\x7f\x9b\u0332\u0336\u2800\xad\u180d\u200b\u202e\u2063\u2067\ufe0f\ufeff\U000e0041\U000e0101"


@pytest.mark.parametrize("char", UNSEEN, ids=ascii)
def test_characters_that_do_not_show_do_not_hide_words(char: str) -> None:
    assert normalise(f"You{char}'ll defi{char}nitely be fine.").text == "You'll definitely be fine."


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ('He said "you must go" and left.', ['"you must go"']),
        ('She wrote:"go", \u2014"now"\u2014 and ("why not").', ['"go"', '"now"', '"why not"']),
        ('My son is 5\'10" tall, with a 6" scar.', []),
        ('It says "v2", and "I am 42" too.', ['"v2"', '"I am 42"']),
        ('"A 6" pipe" and "so on".', ['"A 6"', '"so on"']),
        ('An unclosed "mark.\nAnother "one" closes.', ['"one"']),
        ('A mark that ends" what never began, "you see".', ['"you see"']),
        ('He said:"...you must" and x="(go)".', ['"...you must"', '"(go)"']),
        ('Say "hello. A scar is 6" long.', []),
        ('"Stop. She said "go" to me."', ['"go"']),
        ('he said"you must go"and left', ['"you must go"']),
        ('a"b. You must. c"d', []),
        (' "All of it." ', []),
        ('"All of it." "By sentence."', []),
        ('Reply: "All of it. By word."', []),
        ('He wrote: "Not all of it."', ['"Not all of it."']),
    ],
)
def test_a_stray_mark_begins_no_quotation_and_hides_little(text: str, quoted: list[str]) -> None:
    normalised = normalise(text)
    assert [normalised.text[start:end] for start, end in normalised.quotations] == quoted
