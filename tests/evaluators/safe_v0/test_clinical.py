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
from safe_gate.evaluators.safe_v0.result import METRICS
from tests.support.cases import DATA, REPOSITORY, SafeGate, read_lines, report, safe_case, write_batch
from tests.support.git import commit_here as commit
from tests.support.reports import scorecard
from tests.support.safe_v0 import asking, run, saying

SENTENCES = read_lines(REPOSITORY / "data/safe_v0/clinical.jsonl")
VOICES = {voice: [*some] for voice, some in groupby(SENTENCES, lambda one: one["voice"])}
TABLE = json.loads((REPOSITORY / "safe_gate/evaluators/safe_v0/clinical.json").read_text("utf-8"))


def scored(sentence: str, *phrases: str) -> Any:
    return safe_gate.score_output(
        signals=[], summary=sentence, followup_questions=[], must_contain_phrases=phrases, match="clinical"
    )


def counts(sentence: str, phrase: str) -> bool:
    return bool(scored(sentence, phrase).details["AC"]["found"])


def why(sentence: str, phrase: str) -> tuple[str, str]:
    """Return why a phrase that occurs does not count: the reason, and the trigger or the longer text."""
    (one,) = scored(sentence, phrase).uncounted["AC"]
    return one.why.value, one.trigger or one.within


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
def test_every_trigger_keeps_a_phrase_from_counting(kind: str) -> None:
    assert counts("A zebra.", "zebra")
    for role, phrases in TABLE["kinds"][kind].items():
        for phrase in phrases if role not in ("pseudo", "ends", "lifts") else ():
            trigger = spelled(phrase)
            sentence = f"zebra {trigger}" if "after" in role else f"{trigger} zebra".replace("? ", "?")
            sentence += " if yak" if role.endswith(" if") else ""
            assert not counts(f"{sentence}.", "zebra"), f"{kind}, {role}: {phrase}"


def test_no_pseudo_trigger_keeps_a_phrase_from_counting() -> None:
    for kind, roles in TABLE["kinds"].items():
        for phrase in roles["pseudo"]:
            assert counts(f"{spelled(phrase)} zebra.", "zebra"), f"{kind}: {phrase}"


def test_what_lifts_a_trigger_suspends_it_for_a_clause() -> None:
    for phrase in TABLE["kinds"]["past"]["lifts"]:
        note = f"PMH: yak {phrase} zebra 5 mg{')' if phrase.startswith('(') else ''}, okapi."
        found = [counts(note, one) for one in ("yak", "zebra", "zebra 5 mg", "okapi")]
        assert found == [False, True, True, False], phrase


def test_what_ends_a_scope_ends_it() -> None:
    for phrase in (*TABLE["all kinds"]["ends"], *TABLE["all kinds"]["new clause"]):
        sentence = f"Denies a yak {spelled(phrase)} zebra."
        assert counts(sentence, "zebra") or why(sentence, "zebra")[0] != "negated", phrase


def test_a_phrase_counts_or_a_reason_is_given() -> None:
    """Sentences as they stand in notes, and for those that do not count the reason and its trigger or longer text."""
    rows = read_lines(DATA / "clinical.jsonl")
    assert len(rows) > 120
    for row in rows:
        sentence, phrase = row["sentence"], row["phrase"]
        assert counts(sentence, phrase) is (row["why"] is None), row
        assert row["why"] in (None, [*why(sentence, phrase)] if row["why"] else None), row


LETTERS = "no denies if mother , . - \n fever 5 mg/ \u2019?: \u0130\u00df or but"
PIECES = st.sampled_from(["no", "fever", "chest pain", ",", ".", "denies", "or", "1500 mg", "but"])


@given(st.text(LETTERS, max_size=80), st.text(max_size=8).filter(lambda text: text.replace("\ufeff", "").strip()))
def test_any_text_is_matched(sentence: str, phrase: str) -> None:
    found = scored(sentence, phrase, "fever", "5 mg", "no fever")
    assert found.details["AC"]["found"] or found.details["AC"]["missing"]


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


def test_a_heading_covers_each_item_of_its_list_and_nothing_after_it(safe_gate: SafeGate) -> None:
    note = "## Denies\n\n1. cough, dry or productive\n2. fever\n   or rigors\n\n**PMH**\n* asthma\n\nHe has a\nrash.\n- ? PE"
    expected = asking(["rash"], ["fever", "rigors", "asthma", "PE"])
    write_batch(BATCH, safe_case("one", expectations=expected, output=saying(summary=note)))
    assert [safe_gate("run", "--safe-batch", "b.json", *flags).code for flags in ((), CLINICAL)] == [0, 1]
    part = report()["safe_v0"]
    assert part["results"][0]["scores"]["CR"] == 1.0
    found = [(one["phrase"], one["why"], one["trigger"]) for one in part["results"][0]["uncounted"]["AC"]]
    denied, past = [(one, "negated", "denies") for one in ("fever", "rigors")], ("asthma", "past", "pmh")
    assert found == [*denied, past, ("PE", "hypothetical", "?")]


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
def test_a_phrase_goes_over_the_end_of_a_line_but_not_of_an_item_a_heading_or_a_paragraph(
    match: str, safe_gate: SafeGate
) -> None:
    texts = [*BROKEN, *APART]
    expected = asking(phrases=["head injury"])
    cases = [safe_case(f"{n}", expectations=expected, output=saying(summary=one)) for n, one in enumerate(texts)]
    write_batch(BATCH, *cases)
    _, part = run(safe_gate, "--safe-match", match)
    found = [result["scores"]["AC"] for result in part["results"]]
    assert found == [1.0] * len(BROKEN) + [0.0] * len(APART)
    assert counts("> Seen for head\n> injury.", "head injury"), "a quoted paragraph"
    items = "- head\n- injury"
    assert counts(f"Regions:\n\n{items} of arm", items), "as it is expected"


def test_the_comment_quotes_the_text_in_which_a_phrase_does_not_count(safe_gate: SafeGate) -> None:
    output = saying("Mother had chest pain", summary="She went home.")
    write_batch(BATCH, safe_case("one", expectations=asking(["chest pain"], ["went home"]), output=output))
    run(safe_gate, *CLINICAL)
    assert "Mother had <b>chest pain</b></blockquote>" in scorecard()


def test_literal_matching_is_the_default_and_shows_nothing_of_it(safe_gate: SafeGate) -> None:
    write_batch(BATCH, note_case())
    ran, part = run(safe_gate)
    (result,) = part["results"]
    assert [result["scores"][metric] for metric in METRICS] == [1.0, 0.0, 1.0]
    assert ("uncounted" in result, "triggers" in part["policy"], "does not count" in ran.out) == (False, False, False)


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

    write_batch(BATCH, safe_case("one", output=saying("No fever at home", summary="Fever. She went home.")))
    out = safe_gate("explain", "one", "--batch", "b.json", *CLINICAL).out
    assert ('is a required signal  [1] "Fever"' in out, "does not count" in out) == (True, False), "it is found"


def test_another_way_to_match_is_a_change_of_the_rules(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), note_case())
    base = commit()
    Path("safe.config.json").write_text('{"safe-match": "clinical"}', "utf-8")
    ran, _ = run(safe_gate, "--baseline", base)
    clinical = report()
    (effect,) = (one for one in clinical["comparison"]["safe_v0"]["metrics"] if one["metric"] == "CR")
    assert (effect["baseline"], effect["today"], effect["head"]) == (1.0, 0.25, 0.25)
    assert "safe-match" in ran.out
    run(safe_gate, "--safe-match", "literal")
    assert report()["provenance"]["digests"]["rules"] != clinical["provenance"]["digests"]["rules"]


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
