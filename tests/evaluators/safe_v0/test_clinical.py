"""Clinical matching: which phrases count, the triggers one by one, and what a run shows of those that do not count."""

import json
import re
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import safe_gate
from safe_gate.evaluators.safe_v0.result import Match
from tests.support.cases import DATA, REPOSITORY, SafeGate, read_lines, safe_case, write_batch
from tests.support.reports import scorecard
from tests.support.safe_v0 import asking, run, saying

SENTENCES = read_lines(REPOSITORY / "data/safe_v0/clinical.jsonl")
VOICES = {voice: [*some] for voice, some in groupby(SENTENCES, lambda one: one["voice"])}
TABLE = json.loads((REPOSITORY / "safe_gate/evaluators/safe_v0/clinical.json").read_text("utf-8"))


def scored(sentence: str, *phrases: str, match: Match = "clinical") -> Any:
    return safe_gate.score_output(
        signals=[], summary=sentence, followup_questions=[], must_contain_phrases=phrases, match=match
    )


def counts(sentence: str, phrase: str) -> bool:
    return bool(scored(sentence, phrase).found["AC"])


def why(sentence: str, phrase: str) -> list[str] | None:
    """Return why a phrase that occurs does not count: the reason, and the trigger or the longer text."""
    return next(([one.why.value, one.trigger or one.within] for one in scored(sentence, phrase).uncounted["AC"]), None)


@pytest.mark.parametrize("voice", VOICES)
def test_precision_and_recall_of_a_voice_are_at_least_95_percent(voice: str) -> None:
    found = [one["counts"] for one in VOICES[voice] if counts(one["sentence"], one["phrase"])]
    assert sum(found) / len(found) >= 0.95, "precision"
    assert sum(found) / sum(one["counts"] for one in VOICES[voice]) >= 0.95, "recall"


WORDS = TABLE["words"]


def spelled(phrase: str) -> str:
    """Return an example of a trigger."""
    found = re.sub(r"\{([^{}]+)\}", lambda name: WORDS[name[1]][0], phrase)
    examples = {"#": "7", "YYYY": "2011", "*ed": "zipped", "*": "zither", "?x": "?", " |": "", "^ ": ""}
    for sign, example in examples.items():
        found = found.replace(sign, example)
    return found


@pytest.mark.parametrize("kind", TABLE["kinds"])
def test_every_trigger_keeps_a_phrase_from_counting_and_no_pseudo_trigger_does(kind: str) -> None:
    assert counts("A zebra.", "zebra")
    for role, phrases in TABLE["kinds"][kind].items():
        for phrase in phrases if role not in ("ends", "lifts") else ():
            trigger = spelled(phrase)
            sentence = f"zebra {trigger}" if "after" in role else f"{trigger} zebra".replace("? ", "?")
            sentence += " if yak" if role.endswith(" if") else ""
            assert counts(f"{sentence}.", "zebra") is (role == "pseudo"), f"{kind}, {role}: {phrase}"


def test_what_lifts_a_trigger_or_ends_its_scope_does() -> None:
    for phrase in TABLE["kinds"]["past"]["lifts"]:
        note = f"PMH: yak {phrase} zebra 5 mg{')' if phrase.startswith('(') else ''}, okapi."
        found = [counts(note, one) for one in ("yak", "zebra", "zebra 5 mg", "okapi")]
        assert found == [False, True, True, False], phrase
    for phrase in (*TABLE["all kinds"]["ends"], *TABLE["all kinds"]["new clause"]):
        assert "negated" not in (why(f"Denies a yak {spelled(phrase)} zebra.", "zebra") or ()), phrase


def test_a_phrase_counts_or_a_reason_is_given() -> None:
    """Sentences as they stand in notes, and for those that do not count the reason and its trigger or longer text."""
    rows = read_lines(DATA / "clinical.jsonl")
    assert len(rows) > 120
    for row in rows:
        sentence, phrase = row["sentence"], row["phrase"]
        assert (counts(sentence, phrase), why(sentence, phrase)) == (row["why"] is None, row["why"]), row


LETTERS = "no denies if mother , . - \n fever 5 mg/ \u2019?: \u0130\u00df or but"
PIECES = st.sampled_from(["no", "fever", "chest pain", ",", ".", "denies", "or", "1500 mg", "but"])


@given(st.text(LETTERS, max_size=80), st.text(max_size=8).filter(lambda text: text.replace("\ufeff", "").strip()))
def test_any_text_is_matched(sentence: str, phrase: str) -> None:
    found = scored(sentence, phrase, "fever", "5 mg", "no fever")
    assert found.found["AC"] or found.missing["AC"]


@given(st.lists(PIECES, max_size=12).map(" ".join))
def test_clinical_matching_counts_nothing_that_typography_aside_is_not_there(sentence: str) -> None:
    for phrase in ("fever", "chest pain", "500 mg"):
        assert not counts(sentence, phrase) or phrase in sentence


def note_case(**more: Any) -> dict[str, Any]:
    """Return a case of a note full of negations and doses."""
    expected = ["chest pain", "fever", "500 mg", "aspirin 300 mg"]
    summary = "Denies chest pain. No fever. Took 1500 mg of paracetamol. Given aspirin 300 mg."
    said = saying("Denies chest pain", "Seek help if fever persists", summary=summary, questions=["No fault of yours?"])
    return safe_case("one", expectations=asking(expected, expected, ["fault"]), output=said, **more)


CLINICAL = ("--safe-match", "clinical")
BATCH = Path("b.json")


def test_a_run_counts_what_is_whole_and_affirmed_and_shows_why_the_rest_does_not_count(safe_gate: SafeGate) -> None:
    write_batch(BATCH, note_case())
    ran, part = run(safe_gate, *CLINICAL)
    (result,) = part["results"]
    assert result["scores"] == {"CR": 0.25, "AH": 0.0, "AC": 0.25, "composite": pytest.approx(1 / 6)}
    assert result["uncounted"]["AC"] == [
        {"phrase": "chest pain", "why": "negated", "trigger": "denies"},
        {"phrase": "fever", "why": "negated", "trigger": "no"},
        {"phrase": "500 mg", "why": "part", "within": "1500 mg"},
    ]
    assert part["policy"]["match"] == "clinical"
    assert re.fullmatch("[0-9a-f]{64}", part["policy"]["triggers"])
    assert 'phrase "chest pain" does not count: negated by "denies"' in ran.out
    assert "phrase <code>500 mg</code> does not count: part of <code>1500 mg</code>" in scorecard()
    assert safe_gate("verify", "reports/safe-gate.json").code == 0


BROKEN = [
    *("Seen for head\ninjury.", "Seen for head\r\n  injury.", "1. Fall with head\n   injury\n2. Cut"),
    *("<p>Seen for head<br>\ninjury.</p>", "Seen for **head**\ninjury.", "# Fall\n\nHead injury.\n\nCut."),
]
APART = [
    *("- head\n- injury to the arm", "1. Head\n2. Injury to arm", "<li>Head</li><li>Injury of arm</li>"),
    *("# Head\nInjury to arm", "Seen head\n## Injury to arm", "**Head**\nInjury to arm", "Seen head\n\nInjury to arm"),
    *("Head\r\n \r\nInjury to arm", "<p>Head</p><p>Injury to arm</p>", "Seen head<br><br>Injury", "Head\n***\nInjury"),
]


@pytest.mark.parametrize("match", ["clinical", "normalised"])
def test_a_phrase_goes_over_the_end_of_a_line_but_not_of_an_item_a_heading_or_a_paragraph(match: Match) -> None:
    for is_whole, texts in ((True, BROKEN), (False, APART)):
        for text in texts:
            assert bool(scored(text, "head injury", match=match).found["AC"]) is is_whole, text
    assert counts("> Seen for head\n> injury.", "head injury"), "a quoted paragraph"
    items = "- head\n- injury"
    assert counts(f"Regions:\n\n{items} of arm", items), "as it is expected"


def test_without_recorded_text_the_reason_stays(safe_gate: SafeGate) -> None:
    write_batch(BATCH, note_case())
    ran, part = run(safe_gate, *CLINICAL, "--text", "none")
    negated, _, whole = part["results"][0]["uncounted"]["AC"]
    assert (negated["trigger"], whole["within"][:7]) == ("denies", "sha256:")
    assert "1500 mg" not in ran.log + Path("reports/safe-gate.json").read_text("utf-8")


def test_explain_marks_each_occurrence(safe_gate: SafeGate) -> None:
    write_batch(BATCH, note_case())
    explain = ("explain", "one", "--batch", "b.json", *CLINICAL)
    out = safe_gate(*explain).out
    assert 'does not count in the signals  "fever"  made hypothetical by "if"' in out
    assert out.count('does not count in the summary  "500 mg"  part of "1500 mg"') == 2, "for CR and for AC"
    assert out.count('does not count in the summary  "fever"  negated by "no"') == 2, "for CR and for AC"
    assert "Signals:\n  Denies chest pain\n  Seek help if fever persists\n" in out
    assert re.search(r'is a required phrase  \[\d\] "aspirin 300 mg"', out)
    (case,) = json.loads(safe_gate(*explain, "--json").out)["cases"]
    for mark in (mark for judgement in case["judgements"].values() for mark in judgement["marks"]):
        assert case["texts"][mark["field"]][mark["start"] : mark["end"]] == mark["text"]

    heard = saying("No fever at home", "Denies cough or", "fever", summary="Fever. She went home.")
    write_batch(BATCH, safe_case("one", output=heard))
    out = safe_gate(*explain).out
    assert "Signals:\n  No fever at home\n  Denies cough or\n  [1 fever 1]\n" in out, "each signal is read alone"
    assert ('is a required signal  [2] "Fever"' in out, "does not count" in out) == (True, False), "it is found"


def test_doctor_tells_how_many_cases_would_change(safe_gate: SafeGate) -> None:
    write_batch(BATCH, note_case(), safe_case("two"))
    ran = safe_gate("doctor", "--batch", "b.json")
    assert "would change the scores of 1 of 2 cases, and the label of 0" in ran.out
    assert "safe-match: clinical" in ran.out
    assert "safe-match: clinical" not in safe_gate("doctor", "--batch", "b.json", *CLINICAL).out


def test_the_sentences_are_what_their_page_says() -> None:
    assert (len({(one["sentence"], one["phrase"]) for one in SENTENCES}), len(VOICES)) == (1_547, 18)
    reasons = {"affirmed", "negated", "other person", "hypothetical", "past", "part"}
    assert {one["why"] for one in SENTENCES} == reasons
    assert all(one["counts"] == (one["why"] == "affirmed") for one in SENTENCES)
