"""What `eval --verbose` lists beside the scorecard."""

from pathlib import Path

from tests.support.cases import BAD, SafeGate, turn, write_cases


def test_verbose_lists_the_cases_that_a_check_judges_unlike_their_labels(safe_gate: SafeGate) -> None:
    missed, agreed = {"expected": {"topic_pivot": False}}, {"expected": {"topic_pivot": True}}
    negative = turn("negative", assistant=BAD, tags=["negative_example"], expected={"unverifiable_reassurance": True})
    write_cases(Path("c.jsonl"), turn("missed", **missed), turn("agreed", **agreed), negative)
    command = ("eval", "--cases", "c.jsonl")
    said = "  missed (c.jsonl:1) topic pivot: unlike the label\n  negative (c.jsonl:3) unverifiable reassurance: unlike"
    ran = safe_gate(*command, "--verbose")
    assert (ran.code, ran.out.partition("\nEvidence:\n")[2].partition(" the label\n\n")[0]) == (0, said), ran.log
    assert "unlike" not in safe_gate(*command).out
