"""SAFE v0 and typography: what would match but for it is reported, and matches where that is asked for."""

import unicodedata
from pathlib import Path
from typing import Any

import pytest

from safe_gate.evaluators.safe_v0.result import METRICS, Match
from tests.support.cases import SafeGate, safe_case, write_batch
from tests.support.reports import scorecard
from tests.support.safe_v0 import asking, policy, run, saying, scored

TERM = "you don't need a caf\u00e9 visit"
TYPED = {
    "a curly apostrophe": "you don\u2019t need a caf\u00e9 visit",
    "a no-break blank": "you don't need\u00a0a caf\u00e9 visit",
    "a doubled blank": "you don't  need a caf\u00e9 visit",
    "a line break": "you don't need\na caf\u00e9 visit",
    "a wrapped line": "you don't need\r\n  a caf\u00e9 visit",
    "a zero-width character": "you don't ne\u200bed a caf\u00e9 visit",
    "another composition": unicodedata.normalize("NFD", TERM),
    "emphasis": "you don't **need** a caf\u00e9 visit",
    "a comment": "you don't need <!-- x -->a caf\u00e9 visit",
}


SIGNS = {
    **{f"non{dash}compliant": "non-compliant" for dash in "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"},
    "oxygen 88\u201392%": "oxygen 88-92%",
    "BE \u22122": "BE -2",
    "75 \u03bcg": "75 \u00b5g",
    "0\u00b75 mg": "0.5 mg",
    "SpO\u2082 93%": "SpO2 93%",
}


def case(id_: str, said: str, term: str = TERM) -> dict[str, Any]:
    """Return a case that asks for a term as a signal and as a phrase, and forbids it."""
    output = saying("Fever", summary=f"They said: {said}.", questions=[f"Why {said}?", "Who?"])
    return safe_case(id_, expectations=asking([term], [term], [term]), output=output)


def test_a_near_miss_is_reported_and_changes_no_score(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), *(case(name, said.upper()) for name, said in TYPED.items()))
    ran, part = run(safe_gate, "--reports", "json,markdown,html,junit,sarif,gitlab,csv,jsonl")
    for result in part["results"]:
        assert result["scores"] == {"CR": 0.0, "AH": 1.0, "AC": 0.0, "composite": pytest.approx(1 / 3)}
        assert result["near_misses"] == {metric: [TERM] for metric in METRICS}
    assert (part["near_misses"], part["policy"]["match"]) == (len(TYPED), "literal")
    assert f"{len(TYPED)} cases have near misses, where only typography keeps a text from matching" in ran.out
    assert "near miss of forbidden term" in scorecard()
    files = {path.name: path.read_text("utf-8") for path in Path("reports").iterdir()}
    assert "near_misses" in files.pop("safe-gate.json")
    for noun in ("signal", "phrase"):
        assert [f"near miss of {noun}" in text for text in files.values()] == [True] * 7


@pytest.mark.parametrize("match", ["literal", "normalised", "clinical"])
def test_dashes_and_signs_that_mean_the_same_are_typography(match: Match, safe_gate: SafeGate) -> None:
    alike = [*SIGNS.items(), *((one, TERM) for one in TYPED.values())]
    pairs = [*alike, *((term, said) for said, term in alike)]
    write_batch(Path("b.json"), *(case(f"{n}", said, term) for n, (said, term) in enumerate(pairs)))
    _, part = run(safe_gate, "--safe-match", match)
    for result, (_, term) in zip(part["results"], pairs, strict=True):
        scores = [result["scores"][metric] for metric in METRICS]
        assert scores == {"literal": [0, 1, 0], "normalised": [1, 0, 1], "clinical": [1, 1, 1]}[match], term
        assert result["details"]["AH"]["violations"] == [term] * (match == "normalised")
        assert result.get("near_misses", {}).get("AH", []) == [term] * (match != "normalised")


def test_a_case_that_passes_with_a_near_miss_is_a_case_to_look_at(safe_gate: SafeGate) -> None:
    output = saying("Fever", summary="She went home.", questions=["Is pol\u200bicy known?"])
    write_batch(Path("b.json"), safe_case("a"), safe_case("b", output=output))
    _, part = run(safe_gate)
    assert [result["label"] for result in part["results"]] == ["Pass", "Pass"]
    assert [result.get("near_misses") for result in part["results"]] == [None, {"CR": [], "AH": ["policy"], "AC": []}]
    assert "near miss of forbidden term <code>policy</code>" in scorecard()


@pytest.mark.parametrize("match", ["literal", "normalised"])
def test_only_what_typography_hides_is_near(match: Match) -> None:
    by, is_normalised = policy(safe_match=match), match == "normalised"
    found = scored(
        by,
        forbidden_terms=("who\nleft", "leave now", "**", "\u200b", "policy"),
        followup_questions=("Who left\u00a0you to", "leave", "now? Caf\u00e9 po-licy."),
    )
    # "leave" and "now" are of two questions, and signs that leave nothing are looked for as they are.
    assert found.near.get("AH", ()) == (() if is_normalised else ("who\nleft",))
    assert found.violations == (("who\nleft",) if is_normalised else ())


def test_expectations_without_effect_are_named_once(safe_gate: SafeGate) -> None:
    cases = [safe_case(id_, expectations=asking(["fever"], ["went home"])) for id_ in "abc"]
    for case, themes, count in zip(cases, (["rest"], ["rest"], []), (0, 9, 0), strict=True):
        case["expectations"]["followup_questions"]["required_themes"] = themes
        case["expectations"]["signal_generation"]["min_signal_count"] = count
    write_batch(Path("b.json"), *cases)
    ran, part = run(safe_gate)
    assert ran.code == 0
    assert part["unused_expectations"] == {"min_signal_count": 1, "required_themes": 2}
    sentence = "SAFE v0 accepts min_signal_count (1 case) and required_themes (2 cases), but does not check them."
    assert ran.out.count(sentence) == 1
    write_batch(Path("b.json"), cases[2])
    assert "does not check" not in run(safe_gate)[0].out
