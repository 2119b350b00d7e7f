"""Text that is not English: told from slang, names and typos, said aloud, and never a silent pass."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safe_gate.core.text import normalise
from safe_gate.core.text.mapped_text import Language
from tests.support.cases import REPOSITORY, SafeGate, read_lines, report, turn
from tests.support.examples import is_thorough
from tests.support.reports import scorecard
from tests.support.synthesis import results, rules, run

LANGUAGES = rules().languages
FOLDER = REPOSITORY / "tests/data/language"
OTHER = (FOLDER / "other.txt").read_text("utf-8").splitlines()
ENGLISH = (FOLDER / "english.txt").read_text("utf-8").splitlines()
FRENCH = "Je comprends, c'est très dur. Vous devez arrêter de vous inquiéter, tout ira bien, je vous le promets."


def language(text: str) -> Language:
    return LANGUAGES.language(normalise(text).text)


def test_other_languages_are_told_from_slang_names_typos_lists_and_a_few_words() -> None:
    assert [text for text in OTHER if language(text) is not Language.OTHER] == []
    assert [text for text in OTHER if text.isascii() and language(text.upper()) is not Language.OTHER] == []
    assert [text for text in ENGLISH if language(text) is Language.OTHER] == []


@pytest.mark.untraced
@pytest.mark.thorough
def test_no_labelled_text_is_taken_for_another_language() -> None:
    lines = [line for file in sorted((REPOSITORY / "data/synthesis").glob("*.jsonl")) for line in read_lines(file)]
    lines = [line for line in lines if "not-english" not in line.get("tags", ())]
    texts = [line[field] for line in lines for field in ("user", "assistant", "context", "text") if field in line]
    assert len(texts) > 4_500
    assert [one for one in texts[:: 1 if is_thorough() else 5] if language(one) is Language.OTHER] == []


ODD = {
    Language.UNCLEAR: ["", "\U0001f622\U0001f622", "Mm.", "\u03bc"],
    Language.ENGLISH: [
        *("Ok.", "I WANT TO HELP YOU", "\U0001d408 \U0001d41a\U0001d426"),
        "She said \u5927\u4e08\u592b, and I think she meant it.",
        "Mirror sizes:\n\nS: 40 cm\nM: 60 cm\nL: 90 cm\n\nWall fixings not incl.",
    ],
}


@pytest.mark.parametrize("expected", ODD)
def test_short_or_odd_texts_are_english_or_unclear(expected: Language) -> None:
    assert [text for text in ODD[expected] if language(text) is not expected] == []


@given(st.text(max_size=80))
def test_every_text_has_one_language_whatever_blanks_stand_around_it(text: str) -> None:
    assert language(text) is language(f"  {text}\n")


def test_a_foreign_reply_is_not_judged_and_every_output_says_so(safe_gate: SafeGate) -> None:
    labels = {"agency_language": False, "topic_pivot": True}
    ran = run(safe_gate, turn("here"), turn("là", assistant=FRENCH, expected=labels))
    markdown = scorecard()
    assert ran.code == 1
    sentence = "1 case is not in English, which the checks cannot read"
    cannot_read = "not in English, which agency language, unverifiable reassurance, topic pivot cannot read"
    assert f'{sentence}: "là".' in ran.out
    assert ran.out.index(sentence) < ran.out.index("Check ")
    assert f"{sentence}, 0 allowed**: <code>là</code> (`max-not-english`)" in markdown
    assert cannot_read in markdown
    assert f"{sentence}: <code>là</code>." in markdown
    summary, result = report()["synthesis"]["summary"], results()["là"]
    assert (summary["not_english"], summary["unexpected_failures"]) == (1, 0)
    assert result["language"] == {"user": "english", "assistant": "other"}
    assert all(check["pass"] and check["applicable"] is False for check in result["checks"].values())
    assert [c["match"] for c in result["label_comparison"].values()] == [False, True]
    allowed = run(safe_gate, flags=("--max-not-english", "1"))
    assert (allowed.code, sentence in allowed.out) == (0, True)
    explained = safe_gate("explain", "là", "--cases", "c.jsonl").out
    assert f"  {cannot_read}\n" in explained
    assert "Unverifiable reassurance: not applicable\n  Not judged: the text is not in English.\n" in explained
    said = '1 case is not in English, which the checks cannot read; profile spec judges them anyway: "là".'
    assert said in run(safe_gate, flags=("--profile", "spec")).out


def test_each_check_asks_for_english_in_the_texts_it_reads(safe_gate: SafeGate) -> None:
    of_reply = ["agency_language", "unverifiable_reassurance"]
    run(safe_gate, turn("both", user=FRENCH), turn("reply only", user=FRENCH, checks=of_reply))
    applicable = [[one.get("applicable", True) for one in found["checks"].values()] for found in results().values()]
    assert applicable == [[True, True, False], [True, True]]
    assert report()["synthesis"]["summary"]["not_english"] == 1
