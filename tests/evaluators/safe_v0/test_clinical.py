"""Clinical matching: which phrases count, the triggers one by one, and what a run shows of those that do not count."""

from __future__ import annotations

import json
import re
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import safe_gate
from safe_gate.evaluators.safe_v0.result import METRICS
from tests.support.cases import REPOSITORY, Ran, SafeGate, report, safe_case, write_batch
from tests.support.git import commit_here as commit

SENTENCES = [json.loads(line) for line in (REPOSITORY / "data/safe_v0/clinical.jsonl").read_text("utf-8").splitlines()]
VOICES = {voice: [*some] for voice, some in groupby(SENTENCES, lambda one: one["voice"])}
TABLE = json.loads((REPOSITORY / "safe_gate/evaluators/safe_v0/clinical.json").read_text("utf-8"))


def scored(sentence: str, *phrases: str) -> Any:
    return safe_gate.score_output(
        signals=[], summary=sentence, followup_questions=[], must_contain_phrases=phrases, match="clinical"
    )


def counts(sentence: str, phrase: str) -> bool:
    return bool(scored(sentence, phrase).details.AC.found)


def why(sentence: str, phrase: str) -> tuple[str, str]:
    """Return why a phrase that occurs does not count: the reason, and the trigger or the longer text."""
    (one,) = scored(sentence, phrase).uncounted["AC"]
    return one.why.value, one.trigger or one.within


@pytest.mark.parametrize("voice", VOICES)
def test_precision_and_recall_of_a_voice_are_at_least_95_percent(voice: str) -> None:
    sentences = VOICES[voice]
    found = [counts(one["sentence"], one["phrase"]) for one in sentences]
    right = sum(one["counts"] and is_found for one, is_found in zip(sentences, found, strict=True))
    assert right / sum(found) >= 0.95, "precision"
    assert right / sum(one["counts"] for one in sentences) >= 0.95, "recall"


WORDS = TABLE["words"]


def spelled(phrase: str) -> str:
    """Return an example of a trigger."""
    found = re.sub(r"\{([^{}]+)\}", lambda name: WORDS[name[1]][0], phrase)
    for sign, example in {"#": "7", "YYYY": "2011", "*ed": "zipped", "*": "zither", "?x": "?", " |": ""}.items():
        found = found.replace(sign, example)
    return found


TRIGGERS = [
    (kind, role, phrase)
    for kind, roles in TABLE["kinds"].items()
    for role, phrases in roles.items()
    for phrase in phrases
    if role not in ("pseudo", "ends", "lifts")
]


@pytest.mark.parametrize(("kind", "role"), dict.fromkeys((kind, role) for kind, role, _ in TRIGGERS))
def test_every_trigger_keeps_a_phrase_from_counting(kind: str, role: str) -> None:
    for phrase in (phrase for *of, phrase in TRIGGERS if of == [kind, role]):
        trigger = spelled(phrase)
        sentence = f"zebra {trigger}" if "after" in role else f"{trigger} zebra".replace("? ", "?")
        sentence += " if yak" if role.endswith(" if") else ""
        assert not counts(f"{sentence}.", "zebra"), f"{kind}, {role}: {phrase}"
        assert counts("A zebra.", "zebra")


PSEUDO = [(kind, phrase) for kind, roles in TABLE["kinds"].items() for phrase in roles["pseudo"]]


def test_no_pseudo_trigger_keeps_a_phrase_from_counting() -> None:
    for kind, phrase in PSEUDO:
        assert counts(f"{spelled(phrase)} zebra.", "zebra"), f"{kind}: {phrase}"


@pytest.mark.parametrize("phrase", TABLE["kinds"]["past"]["lifts"])
def test_what_lifts_a_trigger_suspends_it_for_a_clause(phrase: str) -> None:
    note = f"PMH: yak {phrase} zebra 5 mg{')' if phrase.startswith('(') else ''}, okapi."
    assert [counts(note, one) for one in ("yak", "zebra", "zebra 5 mg", "okapi")] == [False, True, True, False]


def test_what_ends_a_scope_ends_it() -> None:
    for phrase in (*TABLE["all kinds"]["ends"], *TABLE["all kinds"]["new clause"]):
        sentence = f"Denies a yak {spelled(phrase)} zebra."
        assert counts(sentence, "zebra") or why(sentence, "zebra")[0] != "negated", phrase


@pytest.mark.parametrize(
    ("sentence", "phrase", "reason"),
    [
        ("Denies chest pain.", "chest pain", ("negated", "denies")),
        ("No fever.", "fever", ("negated", "no")),
        ("Mother had a stroke.", "stroke", ("other person", "mother")),
        ("Return if fever.", "fever", ("hypothetical", "if")),
        ("W/o fever.", "fever", ("negated", "w/o")),
        ("?fever", "fever", ("hypothetical", "?")),
        ("Imp: ? PE, sepsis.", "PE", ("hypothetical", "?")),
        ("Denies pain (had some) or fever.", "fever", ("negated", "denies")),
        ("History of asthma.", "asthma", ("past", "history of")),
        ("Rash in 2011.", "rash", ("past", "in YYYY")),
        ("1500 mg given.", "500 mg", ("part", "1500 mg")),
        ("Given 2.5 mg.", "5 mg", ("part", "2.5 mg.")),
        ("Given 5 mg/kg.", "5 mg", ("part", "mg/kg.")),
        ("Given 5-10 mg.", "10 mg", ("part", "5-10 mg.")),
        ("Dose .5 mg.", "5 mg", ("part", ".5 mg.")),
        ("CRP <5.", "5", ("part", "<5.")),
        ("The 2nd day.", "2", ("part", "2nd")),
        ("Vitamin B12.", "12", ("part", "B12.")),
        ("Vitamin B12.", "vitamin B", ("part", "B12.")),
        ("Painful.", "pain", ("part", "Painful.")),
        ("\u0130 kg 1500 mg", "500 mg", ("part", "1500 mg")),
        ("Crackles absent bilaterally.", "crackles", ("negated", "absent")),
        ("Reflexes absent throughout.", "reflexes", ("negated", "absent throughout")),
        ("Rash denied completely.", "rash", ("negated", "denied")),
        ("Mum anxious about meningitis.", "meningitis", ("hypothetical", "anxious about")),
        ("Terrified of having a stroke.", "stroke", ("hypothetical", "terrified of")),
        ("Consider CT head if GCS falls.", "CT head", ("hypothetical", "consider")),
        ("Has asthma. Would add a statin unless ALT rises.", "statin", ("hypothetical", "add")),
        ("May need dialysis if oliguric.", "dialysis", ("hypothetical", "may need")),
        ("If she worsens, a repeat ECG.", "repeat ECG", ("hypothetical", "if she")),
        ("Headache all gone now.", "headache", ("past", "gone")),
        ("Rash faded, cough persists.", "rash", ("past", "faded")),
        ("Vomiting gone since Monday.", "vomiting", ("past", "gone since")),
        ("PMH: asthma, gout.", "gout", ("past", "pmh:")),
        ("The steroids may well cause diabetes.", "diabetes", ("hypothetical", "may well cause")),
    ],
)
def test_the_reason_is_given(sentence: str, phrase: str, reason: tuple[str, str]) -> None:
    assert not counts(sentence, phrase)
    kind, shown = why(sentence, phrase)
    assert (kind, shown) == reason or (kind == "part" and shown.endswith(reason[1]))


@pytest.mark.parametrize(
    ("sentence", "phrase"),
    [
        ("CHEST PAIN", "chest pain"),
        ("chest-pain", "Chest pain"),
        ("chest \u2014 pain", "chest pain"),
        ("She doesn\u2019t drink", "doesn't drink"),
        ("\u201cchest pain\u201d", '"chest pain"'),
        ("chest\u00a0 pain", "chest pain"),
        ("chest\npain", "chest pain"),
        ("500mg", "500 mg"),
        ("1,500 mg", "1500 mg"),
        ("Temp 38.5\u00b0C", "temp 38.5"),
        ("Allergies", "allergy"),
        ("Vomited", "vomiting"),
        ("Diagnoses", "diagnosis"),
        ("No fever.", "no fever"),
        ("History of asthma.", "history of asthma"),
        ("PMH: previous MI.", "previous MI"),
        ("No fever, but a rash.", "rash"),
        ("Denies fever. A rash.", "rash"),
        ("Denies fever\nA rash", "rash"),
        ("Gram negative sepsis.", "sepsis"),
        ("Denies fever - rash today.", "rash"),
        ("Fever denied; chest pain.", "chest pain"),
        ("++ rash", "++"),
        ("A - B", "-"),
    ],
)
def test_typography_and_the_form_of_the_last_word_make_no_difference(sentence: str, phrase: str) -> None:
    assert counts(sentence, phrase)


@pytest.mark.parametrize(
    ("sentence", "phrase"),
    [
        ("Dry non-productive cough.", "cough"),
        ("Non-exertional chest pain.", "chest pain"),
        ("Non-smoker with asthma.", "asthma"),
        ("Non-weight-bearing cast.", "cast"),
        ("Non tender abdomen.", "abdomen"),
        ("Chest pain (-), cough (+).", "cough"),
        ("Takes 2x500 mg.", "500 mg"),
        ("Amoxicillin/clavulanate 500mg/125mg.", "500 mg"),
        ("Amoxicillin/clavulanate 500mg/125mg.", "125 mg"),
        ("Unable to exclude fracture.", "fracture"),
        ("Without delay treated for sepsis.", "sepsis"),
        ("Has a history of asthma and wheezes today.", "wheezes"),
        ("Absent reflexes, crackles bilaterally.", "crackles"),
        ("Worried about her weight loss.", "weight loss"),
        ("Nurses worried about falling urine output.", "urine output"),
        ("Mother worried about his rash.", "rash"),
        ("Anxious about surgery, has palpitations.", "palpitations"),
        ("Consider CT head.", "CT head"),
        ("Started insulin. Review if unwell.", "insulin"),
        ("Chest pain if he climbs stairs.", "chest pain"),
        ("Has asthma. Give salbutamol if wheezy.", "asthma"),
        ("Headache not gone.", "headache"),
        ("Headache nearly gone.", "headache"),
        ("Headache gone but nausea persists.", "nausea"),
        ("Could not rule out PE.", "PE"),
        ("PE couldn't be excluded.", "PE"),
        ("Wasn't able to rule out a stroke.", "stroke"),
        ("Difficult to exclude appendicitis.", "appendicitis"),
        ("PMH: asthma (takes salbutamol, montelukast).", "montelukast"),
        ("Dip: +ve for nitrites.", "nitrites"),
        ("(? TIA) weak left arm", "weak left arm"),
        ("Seen by crew (no fever) rash on legs", "rash"),
        ("No improvement in her cough.", "cough"),
        ("Oxygen until he walks.", "oxygen"),
        ("Sickle cell screen came back positive.", "sickle cell"),
        ("Son says his mother has a rash.", "rash"),
        ("Nodule unchanged from 2019.", "nodule"),
        ("Fell on 12/03/2026.", "fell"),
        ("Sleeping badly and will be seen again if it persists.", "sleeping badly"),
        ("No fever, takes aspirin.", "aspirin"),
        ("The seizure was not witnessed.", "seizure"),
    ],
)
def test_what_is_affirmed_beside_a_trigger_counts(sentence: str, phrase: str) -> None:
    assert counts(sentence, phrase)


@pytest.mark.parametrize(
    ("sentence", "phrase"),
    [
        ("Abdomen non-tender.", "tender"),
        ("Non tender abdomen.", "tender"),
        ("Non-weight-bearing cast.", "weight bearing"),
        ("Dry non-productive cough.", "productive cough"),
        ("Non-Hodgkin lymphoma.", "Hodgkin lymphoma"),
        ("Chest pain (-), cough (+).", "chest pain"),
        ("Chest pain: N", "chest pain"),
        ("Sepsis, less likely.", "sepsis"),
        ("No improvement in her cough.", "improvement"),
        ("Oxygen until he walked.", "oxygen"),
        ("Antacids can be given if she has heartburn.", "antacids"),
        ("Lives with her son, who has asthma.", "asthma"),
        ("Rash: none at present.", "rash"),
        ("Hip replacement 2009, knee pain.", "hip replacement"),
        ("Syrup of 250 mg/5 ml.", "250 mg"),
    ],
)
def test_what_is_negated_or_cut_does_not_count(sentence: str, phrase: str) -> None:
    assert not counts(sentence, phrase)


def test_a_list_below_a_heading_belongs_to_it() -> None:
    note = "Denies:\n- fever\n- chest pain\nReports:\n- cough"
    assert [counts(note, phrase) for phrase in ("fever", "chest pain", "cough")] == [False, False, True]
    starred = "Denies:\n\u2022 fever\n\u2022 chest pain\nCough."
    assert [counts(starred, phrase) for phrase in ("fever", "chest pain", "cough")] == [False, False, True]
    assert counts("- fever\n- no cough", "fever")


def test_one_occurrence_that_counts_is_enough() -> None:
    assert counts("No chest pain at rest. Chest pain on exertion.", "chest pain")


@given(
    st.text("no denies if mother , . - \n fever 5 mg/ \u2019?: \u0130\u00df or but", max_size=80), st.text(max_size=8)
)
def test_any_text_is_matched(sentence: str, phrase: str) -> None:
    found = scored(sentence, *(one for one in (phrase, "fever", "5 mg", "no fever") if one))
    assert found.details.AC.found or found.details.AC.missing


@given(
    st.lists(st.sampled_from(["no", "fever", "chest pain", ",", ".", "denies", "or", "1500 mg", "but"]), max_size=12)
)
def test_clinical_matching_counts_nothing_that_typography_aside_is_not_there(words: list[str]) -> None:
    sentence = " ".join(words)
    for phrase in ("fever", "chest pain", "500 mg"):
        assert not counts(sentence, phrase) or phrase in sentence


def note_case(**more: Any) -> dict[str, Any]:
    """Return a case of a note full of negations and doses."""
    expected = ["chest pain", "fever", "500 mg", "aspirin 300 mg"]
    return safe_case(
        "one",
        expectations={
            "signal_generation": {"must_find_signals": expected},
            "event_summary": {"must_contain_phrases": expected},
            "followup_questions": {"forbidden_terms": ["fault"]},
        },
        output={
            "signals": ["Denies chest pain", "Seek help if fever persists"],
            "summary": "Denies chest pain. No fever. Took 1500 mg of paracetamol. Given aspirin 300 mg.",
            "followup_questions": ["It is no fault of yours?"],
        },
        **more,
    )


def run(safe_gate: SafeGate, *arguments: str) -> tuple[Ran, dict[str, Any]]:
    ran = safe_gate("run", "--safe-batch", "b.json", "--min-pass-rate", "0", *arguments)
    return ran, report()["safe_v0"]


CLINICAL = ("--safe-match", "clinical")


def test_a_run_counts_what_is_whole_and_affirmed_and_shows_why_the_rest_does_not_count(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), note_case())
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
    markdown = Path("reports/safe-gate.md").read_text("utf-8")
    assert "phrase <code>500 mg</code> does not count: part of <code>1500 mg</code>" in markdown
    assert safe_gate("verify", "reports/safe-gate.json").code == 0


def test_the_comment_quotes_the_text_in_which_a_phrase_does_not_count(safe_gate: SafeGate) -> None:
    expected = {
        "signal_generation": {"must_find_signals": ["chest pain"]},
        "event_summary": {"must_contain_phrases": ["went home"]},
        "followup_questions": {"forbidden_terms": ["fault"]},
    }
    output = {"signals": ["Mother had chest pain"], "summary": "She went home.", "followup_questions": ["Why?"]}
    write_batch(Path("b.json"), safe_case("one", expectations=expected, output=output))
    run(safe_gate, *CLINICAL)
    assert "Mother had <b>chest pain</b></blockquote>" in Path("reports/safe-gate.md").read_text("utf-8")


def test_literal_matching_is_the_default_and_shows_nothing_of_it(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), note_case())
    ran, part = run(safe_gate)
    (result,) = part["results"]
    assert [result["scores"][metric] for metric in METRICS] == [1.0, 0.0, 1.0]
    assert "uncounted" not in result
    assert "triggers" not in part["policy"]
    assert "does not count" not in ran.out


def test_without_recorded_text_the_reason_stays(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), note_case())
    ran, part = run(safe_gate, *CLINICAL, "--text", "none")
    (result,) = part["results"]
    by_why = {one["why"]: one for one in result["uncounted"]["AC"]}
    assert by_why["negated"]["trigger"] in ("denies", "no")
    assert by_why["part"]["within"].startswith("sha256:")
    assert "1500 mg" not in ran.log + Path("reports/safe-gate.json").read_text("utf-8")


def test_explain_marks_each_occurrence(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), note_case())
    out = safe_gate("explain", "one", "--batch", "b.json", *CLINICAL).out
    assert 'does not count in the signals  "chest pain"  negated by "denies"' in out
    assert 'does not count in the signals  "fever"  made hypothetical by "if"' in out
    assert out.count('does not count in the summary  "500 mg"  part of "1500 mg"') == 2, "for CR and for AC"
    assert out.count('does not count in the summary  "fever"  negated by "no"') == 2, "for CR and for AC"
    assert "Signals:\n  Denies chest pain\n  Seek help if fever persists\n" in out
    assert re.search(r'is a required phrase  \[\d\] "aspirin 300 mg"', out)
    cases = json.loads(safe_gate("explain", "one", "--batch", "b.json", *CLINICAL, "--json").out)["cases"]
    for judgement in cases[0]["judgements"].values():
        for mark in judgement["marks"]:
            assert cases[0]["texts"][mark["field"]][mark["start"] : mark["end"]] == mark["text"]


def test_explain_marks_only_what_counts_of_a_phrase_that_is_found(safe_gate: SafeGate) -> None:
    output = {"signals": ["No fever at home"], "summary": "Fever. She went home.", "followup_questions": ["Why?"]}
    write_batch(Path("b.json"), safe_case("one", output=output))
    out = safe_gate("explain", "one", "--batch", "b.json", *CLINICAL).out
    assert 'is a required signal  [1] "Fever"' in out
    assert "does not count" not in out


def test_another_way_to_match_is_a_change_of_the_rules(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), note_case())
    base = commit()
    Path("safe.config.json").write_text('{"safe-match": "clinical"}', "utf-8")
    ran, _ = run(safe_gate, "--baseline", base)
    (effect,) = (one for one in report()["comparison"]["safe_v0"]["metrics"] if one["metric"] == "CR")
    assert (effect["baseline"], effect["today"], effect["head"]) == (1.0, 0.25, 0.25)
    assert "safe-match" in ran.out
    digests = report()["provenance"]["digests"]
    run(safe_gate, "--safe-match", "literal")
    assert report()["provenance"]["digests"]["rules"] != digests["rules"]


def test_doctor_tells_how_many_cases_would_change(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), note_case(), safe_case("two"))
    ran = safe_gate("doctor", "--batch", "b.json")
    assert "would change the scores of 1 of 2 cases, and the label of 0" in ran.out
    assert "safe-match: clinical" in ran.out
    assert "safe-match: clinical" not in safe_gate("doctor", "--batch", "b.json", *CLINICAL).out


def test_the_sentences_are_what_their_page_says() -> None:
    assert len({(one["sentence"], one["phrase"]) for one in SENTENCES}) == len(SENTENCES) == 1_547
    assert len({one["voice"] for one in SENTENCES}) == len(VOICES) == 18
    reasons = {"affirmed", "negated", "other person", "hypothetical", "past", "part"}
    assert {one["why"] for one in SENTENCES} == reasons
    assert all(one["counts"] == (one["why"] == "affirmed") for one in SENTENCES)
