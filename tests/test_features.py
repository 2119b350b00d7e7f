"""Sentence features and learned evidence: what a text is read as, and how weights become strengths."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from safe_gate.evaluators import synthesis
from safe_gate.evaluators.synthesis import LearnedPack, Lexicon, rules
from safe_gate.evaluators.synthesis.features import _TOKEN, WORDLESS, relations, sentence, sentences, stem
from safe_gate.evaluators.synthesis.learned import SHOWN, Column, columns
from safe_gate.text import asks, normalise

LEXICON = Lexicon(json.loads((Path(synthesis.__file__).parent / "lexicon.json").read_text("utf-8")))


def pack(weights: dict[str, list[float]], **fields: Any) -> LearnedPack:
    data = {
        "pack": "a-learned", "check": "agency_language", "groups": ["positive"], "field": "assistant",
        "relation": 0, "scale": 2, "unless": [], "bias": [0.0], "weights": weights,
    }  # fmt: skip
    return LearnedPack.of(data | fields)


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("You'll see, she's FINE!", "you will see , she 's fine !"),
        ("I don't, can't and won't", "i do not , can not and will not"),
        ("u r soooo tired", "you are so tired"),
        ("ca0n't 12.5 kg", "ca0 not <num> kg"),
        ("o'clock", "o'clock"),
        ("a # b * c", "a b c"),
        ("(see [1], <b> or a/b) {x = y}", "see <num> , b or a b x y"),
        ("caf\u00e9 2nite", "caf\u00e9 tonight"),
        ("", ""),
    ],
)
def test_words_are_read_alike_however_they_are_spelt(text: str, read_as: str) -> None:
    words = [word for token in _TOKEN.findall(text.lower()) for word in LEXICON.words(token)]
    assert " ".join(words) == read_as


@pytest.mark.parametrize(
    ("word", "stemmed"), [("running", "run"), ("tried", "tri"), ("houses", "hous"), ("lovely", "lov"), ("exam", "exam")]
)
def test_a_stem_is_what_forms_of_a_word_share(word: str, stemmed: str) -> None:
    assert stem(word) == stemmed


def read(text: str) -> frozenset[str]:
    return frozenset(LEXICON.wording(text).features)


@pytest.mark.parametrize(
    ("text", "has", "lacks"),
    [
        ("Would you like to talk?", {"<q> ", "<q> {would} {you} {feel} ", "talk- ?- ", "? </s> "}, {"<s> "}),
        ("Call him.", {"<s> call {they} ", "{they} </s> ", "<s>- cal- "}, {"<q> "}),
        ("My sister's settled", {"{i} {kin} 's settled ", "settl- </s>- "}, {"sister "}),
        ("\uff32\uff45\uff41\uff44 me", {"read {i} "}, set()),
        ("Fine.", set(), {"fine "}),
    ],
)
def test_features_are_runs_of_words_and_of_stems_and_a_question_is_known_from_its_start(
    text: str, has: set[str], lacks: set[str]
) -> None:
    found = read(text)
    assert has <= found
    assert not lacks & found
    assert all(feature.endswith(" ") and 1 <= len(feature.split()) <= 4 for feature in found)


def test_a_sentence_has_its_place_without_the_blanks_around_it() -> None:
    (only,) = sentences(normalise(" Fine. "), LEXICON)
    assert (only.start, only.end, [*only.wording.features], only.wording.topic) == (1, 6, [], frozenset({"fin"}))
    assert sentences(normalise(" . "), LEXICON) == ()


def test_the_lexicon_keeps_no_more_readings_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthesis.features, "_MOST_READINGS", 2)
    lexicon = Lexicon({"spelling": {}, "classes": {}, "verbs": ""})
    assert [lexicon[word].shown for word in ("one", "two", "three", "one")] == [
        ("one ",),
        ("two ",),
        ("three ",),
        ("one ",),
    ]
    assert len(lexicon) == 2


def test_relation_tells_what_a_reply_shares_with_the_message_and_when_it_stops() -> None:
    message = sentences(normalise("An exam."), LEXICON)
    reply = sentences(normalise("The exam hurt you. Anyway, pottery helps. What about the exam?"), LEXICON)
    first, second, last = relations(message, reply)
    assert {"r:first", "r:sh1", "r:later1sh1", "r:tot2"} <= first
    assert {"r:mid", "r:sh0", "r:since0"} <= second
    assert {"r:last", "r:q&last&sh1"} <= last


def only_column(text: str, *packs: LearnedPack, message: str = "") -> Column:
    found = columns(packs, sentences(normalise(text), LEXICON), sentences(normalise(message), LEXICON))
    return found["positive"][0]


def strength(value: float) -> float:
    return round(1 / (1 + math.exp(-value)), 3)


def test_a_strength_is_the_logistic_of_the_scaled_sum_and_names_its_reasons() -> None:
    weights = {"alpha": [3.0], "beta": [1.0], "gamma": [-2.0], "alpha beta": [1.0], "delta": [9.0]}
    (found,) = only_column("Alpha beta gamma", pack(weights, bias=[0.5])).shown(normalise("Alpha beta gamma"))
    assert (found.start, found.end) == (0, 16)
    assert found.weight == pytest.approx(2 * strength(0.5 + 3 / math.sqrt(4)), abs=0.02)
    assert found.because == ("alpha", "alpha beta", "beta")


def test_relation_to_the_message_counts_as_the_pack_says_and_is_a_reason() -> None:
    weights = {"exam": [1.0], "r:sh1": [8.0]}
    best = only_column("That exam", pack(weights, relation=0.5), message="My exam.").strongest(normalise("That exam"))
    assert best is not None
    assert best.weight == pytest.approx(2 * strength(1 + 4), abs=0.02)
    assert best.because == ("r:sh1", "exam")
    apart = only_column("That exam", pack(weights, relation=0.5), message="My dog.").strongest(normalise("That exam"))
    assert apart is not None
    assert apart.weight == pytest.approx(2 * strength(1), abs=0.03)
    assert apart.because == ("exam",)


def test_the_strongest_evidence_is_told_even_where_it_is_too_weak_to_be_shown() -> None:
    text = "Alpha beta. Gamma delta."
    column = only_column(text, pack({"alpha": [-9.0], "gamma": [-2.0]}))
    assert list(column.shown(normalise(text))) == []
    best = column.strongest(normalise(text))
    assert best is not None
    assert (best.start, best.because) == (12, ())
    assert best.weight < SHOWN
    assert only_column("Fine.", pack({"fine": [1.0]})).strongest(normalise("Fine.")) is None


@given(st.dictionaries(st.sampled_from(["one", "two", "six", "ten"]), st.floats(-50, 50), max_size=4))
@settings(max_examples=80)
def test_a_strength_is_a_share_in_thousandths_and_grows_with_the_sum(weights: dict[str, float]) -> None:
    lexicon = Lexicon({"spelling": {}, "classes": {}, "verbs": ""})
    text = "one two six ten"
    columned = pack({name: [weight] for name, weight in weights.items()}, scale=1)
    ((column,),) = columns((columned,), (sentence(text, 0, len(text), lexicon),), ()).values()
    best = column.strongest(normalise(text))
    assert best is not None
    assert 0.0 <= best.weight <= 1.0
    assert best.weight == round(best.weight, 3)
    total = sum(round(weight * 1000) for weight in weights.values()) / 1000
    assert (best.weight > 0.5) == (total / math.sqrt(max(1, len(weights))) > 1 / 64) or abs(total) < 0.1


def test_weights_of_many_packs_stand_side_by_side_and_do_not_touch() -> None:
    first = pack({"alpha": [-4.0, 4.0], "beta": [0.0, -1.0]}, groups=["positive", "negative"], bias=[0.0, 0.0])
    second = pack({"alpha": [2.5]}, pack="b-learned", groups=["negative"])
    found = columns((first, second), sentences(normalise("Alpha beta."), LEXICON), ())
    values = [value for some in found.values() for column in some for value in column.values]
    assert values == pytest.approx([-4 / math.sqrt(2), 3 / math.sqrt(2), 2.5])


def test_a_sentence_that_is_ruled_out_is_no_evidence() -> None:
    text = normalise("I can't promise it. I promise it.")
    found = only_column(text.text, pack({"promise": [5.0]}, unless=["can'?t promise"])).shown(text)
    assert [text.text[one.start : one.end] for one in found] == ["I promise it."]


def test_a_set_that_refuses_a_good_pattern_is_not_passed_over() -> None:
    class Full:
        def Add(self, _: str) -> None:  # noqa: N802 - the name in re2
            raise re2.error("no room")

    with pytest.raises(re2.error, match="no room"):
        rules._add(Full(), "a")


@pytest.mark.parametrize(
    "line",
    [
        "[1](https://example.org/a/b?c=d)", "https://www.example.org/conditions/", "www.example.org/x?y=1",
        "<div></div>", "<br/>", "---", "***", "1.", "(2/3)", "12:30", "\U0001f642",
    ],
)  # fmt: skip
def test_a_line_without_words_is_no_evidence_and_moves_none(line: str) -> None:
    assert LEXICON.wording(normalise(line).text) is WORDLESS
    plain, more = (sentences(normalise(f"I see. {own}What now?"), LEXICON) for own in ("", f"\n{line}\n"))
    assert [one.wording for one in more] == [one.wording for one in plain]
    message = sentences(normalise("I see my exam."), LEXICON)
    assert list(relations(message, more)) == list(relations(message, plain))


@pytest.mark.parametrize(
    "text",
    ["<Stop taking the pills.>", "<pack a bag>", '<b title="stop it now">', "<b stop taking pills>", "<! stop -->"],
)
def test_words_in_brackets_are_words(text: str) -> None:
    assert LEXICON.wording(normalise(text).text).topic


def test_an_address_asks_nothing() -> None:
    for link in ("https://example.org/help?", "[this](https://example.org)?", "<b>this</b>?", "(www.example.org/a.)?"):
        assert LEXICON.wording(f"Is it like {link}").asks
        assert asks(f"Is it like {link}")
    assert LEXICON.wording("see www.example.org\u2014you must stop").topic == {"stop"}
    (only,) = sentences(normalise("There is a page at https://example.org/help?Topic=Exams.Now for you"), LEXICON)
    assert not only.wording.asks
    assert not LEXICON.wording("You should read https://example.org/?a=1 today.").asks
    assert LEXICON.wording("Did you read https://example.org/?a=1 today?").asks
