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
from safe_gate.evaluators.synthesis.features import relation_features, sentence_features, stem, tokens
from safe_gate.evaluators.synthesis.learned import SHOWN, evidence, sentences, strengths
from safe_gate.text import normalise

LEXICON = Lexicon.of(json.loads((Path(synthesis.__file__).parent / "lexicon.json").read_text("utf-8")))


def pack(weights: dict[str, list[float]], **fields: Any) -> LearnedPack:
    data = {
        "pack": "a-learned", "check": "agency_language", "groups": ["positive"], "field": "assistant",
        "families": "csxibT", "relation": 0, "scale": 2, "unless": [], "bias": [0.0], "weights": weights,
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
        ("caf\u00e9 \u2460", "caf\u00e9 <num>"),
        ("", ""),
    ],
)
def test_words_are_read_alike_however_they_are_spelt(text: str, read_as: str) -> None:
    assert " ".join(tokens(text, LEXICON)) == read_as


@pytest.mark.parametrize(
    ("word", "stemmed"), [("running", "run"), ("tried", "tri"), ("houses", "hous"), ("lovely", "lov"), ("exam", "exam")]
)
def test_a_stem_is_what_forms_of_a_word_share(word: str, stemmed: str) -> None:
    assert stem(word) == stemmed


def features(text: str, families: str = "csxibT") -> set[str]:
    return sentence_features(tokens(text, LEXICON), families, LEXICON)


@pytest.mark.parametrize(
    ("text", "has", "lacks"),
    [
        ("Would you like to talk?", {"c:{would} {you}", "x:q"}, {"i:imp", "x:nq"}),
        ("Call him. Stop, rest and write.", {"i:imp", "i:call", "i:2+", "i:3+"}, {"i:none"}),
        ("Please never give up", {"i:imp", "i:give"}, {"i:none"}),
        ("Do not tell her.", {"i:neg tell", "i:some"}, set()),
        ("The walk was long.", {"i:none", "x:nq"}, {"i:imp"}),
        ("My sister will love it.", {"T:my kin|will"}, set()),
    ],
)
def test_features_tell_questions_commands_and_who_does_what(text: str, has: set[str], lacks: set[str]) -> None:
    found = features(text)
    assert has <= found
    assert not lacks & found


def test_only_the_families_that_are_named_are_looked_for() -> None:
    for family, prefix in {"c": "c:", "s": "s:", "x": "x:", "i": "i:", "T": "T:"}.items():
        assert {feature[:2] for feature in features("Will you call my mum today?", family)} == {prefix}
    assert {feature[:2] for feature in features("You call my mum.", "b")} == {"b:", "e:"}
    assert features("Will you call?", "") == set()


def test_relation_tells_what_a_reply_shares_with_the_message_and_when_it_stops() -> None:
    reply = [tokens(text, LEXICON) for text in ("The exam hurt you.", "Anyway, pottery helps.", "What about the exam?")]
    first, second, last = relation_features({"exam"}, reply)
    assert {"r:first", "r:sh1", "r:later1sh1", "r:tot2"} <= first
    assert {"r:mid", "r:sh0", "r:since0"} <= second
    assert {"r:last", "r:q&last&sh1"} <= last


def test_a_strength_is_the_logistic_of_the_scaled_sum_and_names_its_reasons() -> None:
    ((strength, because),) = strengths(
        pack({"a": [3.0], "b": [1.0], "c": [-2.0], "d": [9.0]}, bias=[0.5]), {"a", "b", "c"}
    )
    assert strength == pytest.approx(1 / (1 + math.exp(-(0.5 + 2 / math.sqrt(3)))), abs=0.01)
    assert because == ("a", "b")
    ((weak, silent),) = strengths(pack({"a": [-9.0]}), {"a"})
    assert (weak < SHOWN, silent) == (True, ())


@given(st.dictionaries(st.sampled_from("abcdef"), st.floats(-50, 50), max_size=6))
@settings(deadline=None, max_examples=80)
def test_a_strength_is_a_share_in_thousandths_and_grows_with_the_sum(weights: dict[str, float]) -> None:
    ((strength, _),) = strengths(pack({name: [weight] for name, weight in weights.items()}), set(weights))
    assert 0.0 <= strength <= 1.0
    assert strength == round(strength, 3)
    total = sum(weights.values())
    assert (strength > 0.5) == (total / math.sqrt(max(1, len(weights))) > 1 / 64) or abs(total) < 0.1


def test_a_single_word_and_a_sentence_that_is_ruled_out_are_no_evidence() -> None:
    text = normalise("Fine. I can't promise it. I promise it.")
    found = evidence(pack({"x:nq": [5.0]}, unless=["can'?t promise"]), text, sentences(text, LEXICON), (), LEXICON)
    assert [text.text[one.start : one.end] for one in found] == ["I promise it."]


def test_a_set_that_refuses_a_good_pattern_is_not_passed_over() -> None:
    class Full:
        def Add(self, _: str) -> None:  # noqa: N802 - the name in re2
            raise re2.error("no room")

    with pytest.raises(re2.error, match="no room"):
        rules._add(Full(), "a")
