"""`power` from the outside: a number of cases, or the inputs of a run, in; what they can show, out."""

from pathlib import Path

import pytest

from tests.support.cases import Patch, Ran, SafeGate, refused, safe_case, turn, write_batch, write_cases
from tests.support.conversations import talk

OF_A_HUNDRED = """\
┌─────────────────────────────────────────────────┬─────────────────────┐
│                                                 │ This set, 100 cases │
├─────────────────────────────────────────────────┼─────────────────────┤
│ smallest drop seen, no case fixed               │                6.7% │
│ smallest drop seen, 2% of cases fixed           │                9.5% │
│ smallest drop seen, 5% of cases fixed           │               12.2% │
│ false alarms of a real drop                     │                2.3% │
│ false alarms of max-regressions 0, which is off │               99.4% │
└─────────────────────────────────────────────────┴─────────────────────┘
This set is likely to miss a drop below 6.7%; smallest drop detected with twice
as many cases: 3.4%.

Seen: a change with such a drop fails 4 times in 5. A drop fails if it is at
least 2.0% (min-drop) and 3 cases, and if p is at most 0.05 (alpha). p comes
from the exact one-sided sign test on the newly failing and the fixed cases of a
metric. With several metrics, Holm's correction detects less.
False alarms: how many changes fail although they make nothing worse on average.
Each case newly fails with a chance of 5%, and is fixed with the same chance.
"""


def figures(ran: Ran) -> dict[str, list[str]]:
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in ran.out.splitlines() if line.startswith("│")]
    return {name: cells for name, *cells in rows}


def test_a_number_of_cases_is_all_it_needs(safe_gate: SafeGate) -> None:
    ran = safe_gate("power", "100")
    assert (ran.code, ran.out, ran.err) == (0, OF_A_HUNDRED, "")


def test_it_counts_the_cases_that_a_run_would_read(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), *(safe_case(f"s{i}") for i in range(30)), safe_case("other", concern_id="I32"))
    write_cases(Path("c.jsonl"), *(turn(f"t{i}", x_topic="one") for i in range(4)))
    Path("safe.config.json").write_text('{"safe-batch": ["b"], "safe-concern": "I25"}', "utf-8")
    ran = safe_gate("power", "--cases", "c.jsonl")
    found = figures(ran)
    assert found[""] == ["SAFE v0, 30 cases", "Synthesis, 4 cases"]
    assert found["smallest drop seen, no case fixed"] == ["21.4%", "none"]
    assert found["false alarms of a real drop"] == ["0.4%", "0.0%"]
    assert "Synthesis is too small to detect any drop; smallest" in ran.out
    assert "one unit" not in ran.out
    assert figures(safe_gate("power", "50"))[""] == ["This set, 50 cases"]
    Path("safe.config.json").write_text('{"cluster-key": "x_topic"}', "utf-8")
    said = "Cases are counted one by one here. But a comparison counts the turns of a conversation, or cases with one"
    assert said in " ".join(safe_gate("power", "--cases", "c.jsonl").out.split())
    write_batch(Path("b.json"), safe_case("s", x_topic="one"), safe_case("s2", x_topic="two"))
    write_cases(Path("c.jsonl"), turn("t", x_topic="one"))
    assert said not in " ".join(safe_gate("power", "--cases", "c.jsonl", "--batch", "b").out.split())
    assert safe_gate("power", "100").out == OF_A_HUNDRED
    write_cases(Path("t.jsonl"), talk("d", "Hi.", "I see.", "Yes.", "I see.", tags=["long"]), turn("t"))
    for turns, tag, is_said in (("last", "long", False), ("all", "long", True), ("all", "!long", False)):
        Path("safe.config.json").write_text(f'{{"turns": "{turns}"}}', "utf-8")
        ran = safe_gate("power", "--cases", "t.jsonl", "--tag", tag)
        assert (ran.code, said in " ".join(ran.out.split())) == (0, is_said)


def test_the_policy_moves_the_figures(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    monkeypatch.setenv("SAFE_GATE_SIGNIFICANCE", "alpha=0.2")
    found = figures(safe_gate("power", "1000", "--significance", "min-drop=0.05", "--max-regressions", "60"))
    assert found["smallest drop seen, no case fixed"] == ["5.6%"]  # min-drop, not the test, is the limit
    assert found["false alarms of a real drop"] == ["below 0.1%"]
    assert found["false alarms of max-regressions 60"] == ["6.7%"]


@pytest.mark.parametrize(
    ("arguments", "mentions"),
    [
        ("", "safe-gate power: has no cases to count; expected a number of cases, such as safe-gate power 100"),
        ("0", "safe-gate power: '0' is not a number of cases from 1 to 1000000"),
        ("10 --significance alpha=0", '--significance: alpha: is "0"; expected a number above 0 and below 1'),
        (
            "10 --significance alhpa=0.1",
            '--significance: alhpa: has no entry "alhpa" (did you mean alpha?); expected one of min-drop, alpha',
        ),
        ("10 --significance 0.1", "expected NAME=VALUE, each name once: min-drop, alpha"),
        ("10 --config c.json", "c.json:1: significance.alpha: is 1, not less than 1; expected a number above 0"),
        ("--batch b --concern I99", "safe-concern: 'I99' matches no case"),
        ("--cases broken.jsonl --batch b", "broken.jsonl:1: is not valid JSON"),
    ],
)
def test_what_cannot_be_counted_is_refused(safe_gate: SafeGate, arguments: str, mentions: str) -> None:
    write_batch(Path("b.json"), safe_case("a"))
    Path("broken.jsonl").write_text("{\n", "utf-8")
    Path("c.json").write_text('{"significance": {"alpha": 1}}', "utf-8")
    ran = safe_gate("power", *arguments.split())
    refused(ran, mentions)
    assert ran.out == ""
