"""Tokens and phrases: what the automaton finds is what a reader of the phrase would find."""

import json
import re
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from safe_gate.core.text import normalise
from safe_gate.evaluators.synthesis.engine import phrases, tokens
from safe_gate.evaluators.synthesis.engine.phrases import Gap, PhraseHit, Sequence_, parse_phrase, phrase_walker
from safe_gate.evaluators.synthesis.engine.tokens import BOUNDARY, Reading, Spelling, content_stems
from safe_gate.evaluators.synthesis.engine.tokens import tokenise as read_text
from tests.support import packs

SPELLING = Spelling({"u": "you", "dont": "do not", "2day": "today", "let's": "let us"})
CLASSES = {"you": ["you", "u all"], "soon": ["soon", "before _ long"], "deep": ["{soon} now"]}
WORDS = ["a", "b", "c", "you", "soon", "before", "long", "and", "is", "calming", ",", ".", "?", "7"]


def read(text: str) -> list[list[str]]:
    return [list(one) for one in read_text(normalise(text), SPELLING).sentences]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("You'll be fine, don't u think?", [["you", "will", "be", "fine", ",", "do", "not", "you", "think", "?"]]),
        ("It's my mum's. Let's go!", [["it", "is", "my", "mum", "'s", "."], ["let", "us", "go", "!"]]),
        ("Self-care (2day) costs 3.50 - yes", [["self", "care", "—", "today", "—", "costs", "3.50", "—", "yes"]]),
        ("1. Drink water", [["1", ".", "drink", "water"]]),
        ("See https://example.org/you?a=b now", [["see", "now"]]),
        ("Noooo", [["no"]]),
        ("", [[]]),
        ("\u0130stanbul", [["\u0130stanbul"]]),
    ],
)
def test_a_text_is_read_as_words_and_marks(text: str, words: list[list[str]]) -> None:
    assert read(text) == words


@given(st.text(alphabet="aIu'0-.,:;!?\u2014\"()\n \u0130\u00df%\u2022") | st.text())
def test_every_token_quotes_the_text_it_stands_in(text: str) -> None:
    normalised = normalise(text)
    reading = read_text(normalised, SPELLING)
    for number, sentence in enumerate(reading.sentences):
        last = 0
        for at, word in enumerate(sentence):
            start, end = reading.span(number, at, at + 1)
            assert last <= start < end <= len(normalised.text)
            last = start
            if word.isascii() and word.isalpha() and normalised.text[start:end].isascii():
                assert word in SPELLING[normalised.text[start:end].lower()]


def whole(text: str) -> list[tuple[tuple[str, ...], list[tuple[int, int]]]]:
    """Return the sentences of a text read as one part, each token with its place: the long way."""
    normalised = normalise(text)
    ends = [end for _, end in normalised.sentences]
    return placed(tokens._tokenise_whole(normalised.text, ends, SPELLING))


def placed(reading: Reading) -> list[tuple[tuple[str, ...], list[tuple[int, int]]]]:
    return [(one, [reading.span(n, at, at + 1) for at in range(len(one))]) for n, one in enumerate(reading.sentences)]


SHORT = "e.g. Mr. don't ... www.a.b 3.50 Now 2day".split()
PIECES = st.sampled_from(
    [*"aIu0-.,:;!?\u2014\"()\n \u0130\u00df%\u2022' ", *SHORT, "it s", "x.Then ", "https://a.org/b.", "\U0001f642 "]
)


@given(st.lists(PIECES, max_size=20).map("".join) | st.text())
def test_a_text_read_between_blanks_is_read_as_it_is_in_one(text: str) -> None:
    joined = tokens._join_contractions(normalise(text).text)
    assume(joined == normalise(text).text)  # "it s" is one word
    assume(not re.search(r"(?:^|[.!?\s\"')\]])\s*\d{1,3}\.", joined))  # as is "1." and what follows
    assert placed(read_text(normalise(text), SPELLING)) == whole(text)


def test_a_text_is_cut_and_joined_as_one() -> None:
    long = "word " * 300
    assert placed(read_text(normalise(long), SPELLING)) == whole(long)
    assert read("it s ok. 1. 2. Rest.") == [["it", "is", "ok", "."], ["1", ".", "2", "."], ["rest", "."]]


def matched(sequence: Sequence_, words: Sequence[str], at: int) -> Iterator[int]:
    """Yield where a sequence may end that begins at a token: naively, one way after the other."""
    if not sequence:
        yield at
        return
    item, rest = sequence[0], sequence[1:]
    if isinstance(item, Gap):
        most = len(words) if item.most is None else item.most
        for length in range(most + 1):
            if length and (at + length > len(words) or words[at + length - 1] in BOUNDARY):
                return
            if length >= item.least:
                yield from matched(rest, words, at + length)
    elif isinstance(item, tuple):
        for option in item:
            yield from matched((*option, *rest), words, at)
    elif item[0] == "{":
        for member in CLASSES[item[1:-1]]:
            yield from matched((*parse_phrase(member), *rest), words, at)
    elif item == "$":
        if not rest and (at == len(words) or words[at] in BOUNDARY):
            yield at
    elif item in {"^", "^^"}:
        before = words[at - 1] if at else "."
        if before in BOUNDARY or (item == "^" and before == "and"):
            yield from matched(rest, words, at)
    elif at < len(words):
        taken = r"\d.*" if item == "<num>" else re.escape(item).replace(r"\*", ".*")
        if re.fullmatch(taken, words[at]):
            yield from matched(rest, words, at + 1)


def naive(phrase: str, words: Sequence[str]) -> list[PhraseHit]:
    """Return what a phrase matches, found without an automaton."""
    ends = {at: max(matched(parse_phrase(phrase), words, at), default=0) for at in range(len(words))}
    return [PhraseHit(0, at, end) for at, end in ends.items() if end]


ITEMS = st.sampled_from([*"a b you {you} {soon} {deep} _ _0-2 (a|{you}) calm* *ing <num> ,".split(), "(a|b c|)"])
PHRASES = st.builds(
    lambda start, items, end: " ".join([*start, "a", *items, *end]),
    st.sampled_from([[], ["^"], ["^^"], ["_0-1"], ["(b|)"]]),
    st.lists(ITEMS, max_size=4),
    st.sampled_from([[], ["$"]]),
)


@given(st.lists(PHRASES, min_size=1, max_size=6), st.lists(st.sampled_from(WORDS), max_size=12))
def test_all_phrases_at_once_find_what_each_finds_alone_without_an_automaton(
    several: list[str], words: list[str]
) -> None:
    together = phrase_walker(several, CLASSES)
    for _ in range(2):  # cold and warm
        found = [*together.find(words)]
        for number, phrase in enumerate(several):
            of_phrase = sorted(one[1:] for one in found if one.phrase == number)
            assert of_phrase == sorted(one[1:] for one in naive(phrase, words)), phrase
    firsts = [one.start for one in found]
    assert (together.first(words, 0, len(words)) is None) == (not found)
    assert not found or together.first(words, 0, len(words)).start == min(firsts)  # type: ignore[union-attr]


def all_matched(phrase: str, words: Sequence[str]) -> set[tuple[int, int]]:
    return {(at, end) for at in range(len(words)) for end in matched(parse_phrase(phrase), words, at)}


@given(PHRASES, st.lists(st.sampled_from(WORDS), max_size=10), st.data())
def test_a_context_is_found_right_before_and_right_after_a_place(
    phrase: str, words: list[str], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(words)))
    one, every = phrase_walker([phrase], CLASSES), all_matched(phrase, words)
    before, after = one.ending(words, place), one.beginning(words, place)
    assert (before is not None) == any(end == place for _, end in every)
    assert (after is not None) == any(at == place for at, _ in every)


def test_a_gap_is_as_long_as_it_may_be() -> None:
    for phrase, words, found in (
        ("a _0-9 c _0-9 b", "a c c b".split(), {(0, 4)}),
        ("a _2-3 b", "a x b c b".split(), {(0, 5)}),  # the first b is too near
    ):
        assert all_matched(phrase, words) == found
        assert {(hit.start, hit.end) for hit in phrase_walker([phrase], CLASSES).find(words)} <= found


def test_a_full_cache_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [*WORDS, *reversed(WORDS)]
    text = normalise(f"It is fine, u see. {'long' * 15} {'o-' * 30}! The garden was calm and it is fine, u see.")
    plenty = [*phrase_walker(["a _0-2 c", "{soon}", "^ you"], CLASSES).find(words)]
    read_before = placed(read_text(text, SPELLING))
    monkeypatch.setattr(phrases, "_MOST_STEPS", 2)
    monkeypatch.setattr("safe_gate.core.text.mapped_text._MOST", 2)
    few, spelling = phrase_walker(["a _0-2 c", "{soon}", "^ you"], CLASSES), Spelling({"u": "you"})
    for _ in range(2):
        assert [*few.find(words)] == plenty
        assert placed(read_text(text, spelling)) == read_before
        assert content_stems(["plums", "the", "cherries", "lon" * 20]) == {"plum", "cherry", "lon" * 20}


@pytest.mark.parametrize(
    ("phrase", "mention"),
    [
        ("", "is empty"),
        ("(a|)", "also matches an empty text"),
        ("_0-3", "also matches an empty text"),
        ("a {nobody}", "names the unknown word class {nobody}"),
        ("a (b", "opens a bracket that nothing closes"),
        ("a b)", "closes a bracket that none opens"),
        ("a|b", "has options outside of brackets"),
        ("a ^ b", "holds ^"),
        ("A b", "holds A, which is not a token"),
        ("a _3-1", "holds the gap _3-1"),
        ("a {b", "holds a brace"),
        ("{loop}", "names word classes that name each other"),
        ("a {start}", "holds ^ in a word class beside other words"),
    ],
)
def test_a_phrase_that_cannot_be_read_is_refused_in_words(phrase: str, mention: str) -> None:
    with pytest.raises(ValueError, match=re.escape(mention)):
        phrase_walker([phrase], {**CLASSES, "loop": ["a {loop}"], "start": ["^ b"]})


def test_a_class_alone_may_hold_the_start_of_a_clause() -> None:
    walker = phrase_walker(["{start}"], {"start": ["^ kids _", "fine"]})
    assert [(hit.start, hit.end) for hit in walker.find("kids know , your kids know fine".split())] == [(0, 2), (6, 7)]


def test_every_shipped_class_can_be_read_and_is_used() -> None:
    classes = packs.classes()
    phrase_walker([f"{{{name}}}" for name in classes], classes)
    used = json.dumps([*packs.shipped(), *classes.values()])
    assert [name for name in classes if f"{{{name}}}" not in used and f'"{name}"' not in used] == []


def test_content_words_are_stems_of_what_a_sentence_is_about() -> None:
    assert content_stems("I was worrying about my exams because of you".split()) == {"worry", "exam"}
