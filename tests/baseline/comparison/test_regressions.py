"""A run compared with a baseline, from the command line: what got worse, and what may."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cases import Ran, report, safe_case, turn, write_cases
from tests.support.git import commit_here as commit
from tests.support.two_runs import ALL, BAD, broken, write


@pytest.mark.parametrize("kind", ["report", "commit"])
def test_what_got_worse_is_named_with_evidence_before_and_now(safe_gate: Callable[..., Ran], kind: str) -> None:
    write()
    base = commit()
    safe_gate("run", *ALL, "--report-dir", "old")
    write(bad=("T-3",))
    baseline = base if kind == "commit" else "old/safe-gate.json"
    done = safe_gate("run", *ALL, "--baseline", baseline, "--max-unexpected-failures", "5", "--max-regressions", "0")
    assert done.code == 1, done.log
    found = report()
    assert broken(found) == {("max-regressions", "synthesis")}
    (change,) = [one for one in found["comparison"]["synthesis"]["changes"] if one["change"] == "newly failing"]
    assert (change["id"], change["because"], change["passed"]) == ("T-3", ["output"], [True, True, False])
    assert change["before"]["pass"] is True
    assert re.search(r"  T-3 \(c\.jsonl:4\) fails .* \(newly failing\)\n", done.out)
    assert re.search(r"│ Baseline +│ This run +│", done.out)
    assert "    │ nothing found │ " in done.out
    assert (
        "1 newly failing, 0 fixed, 0 still failing · 1 of 12 outputs changed"
        in Path("reports/safe-gate.md").read_text()
    )
    assert found["comparison"]["baseline"]["commit"] == (base if kind == "commit" else "")


def test_a_change_of_rules_is_no_regression_of_the_outputs(safe_gate: Callable[..., Ran]) -> None:
    low = {
        "expectations": {
            **safe_case("x")["expectations"],
            "signal_generation": {"must_find_signals": ["fever", "rash"]},
        }
    }
    write(case=lambda name: safe_case(name, **low))
    Path("safe.config.json").write_text('{"thresholds": {"CR": {"pass": 0.4, "review": 0.2}}}')
    base = commit()
    Path("safe.config.json").write_text('{"thresholds": {"CR": {"pass": 0.8, "review": 0.2}}}')
    done = safe_gate("run", *ALL, "--baseline", base, "--max-regressions", "0", "--min-pass-rate", "0")
    assert done.code == 0, done.log
    (rate, *_) = report()["comparison"]["safe_v0"]["metrics"]
    assert (rate["metric"], rate["baseline"], rate["today"], rate["head"]) == ("pass", 1.0, 0.0, 0.0)
    changes = report()["comparison"]["safe_v0"]["changes"]
    assert {(one["change"], *one["because"]) for one in changes} == {("still failing", "rules")}
    assert "S-0 (b.json:1) fails by today's rules" in done.out
    assert "<br>fails by today's rules" in Path("reports/safe-gate.md").read_text()
    assert "0 newly failing, 0 fixed, 6 still failing, 6 of them by today's rules alone" in done.out
    row = next(line for line in done.out.splitlines() if line.startswith("║ SAFE v0: pass "))
    assert [cell.strip() for cell in row.strip("║").split("│")][1:6] == [
        "100.0%",
        "0.0%",
        "0.0% (0.0 to 39.0)",
        "-100.0",
        "0.0",
    ]


def test_a_negative_example_that_passes_is_named_as_one(safe_gate: Callable[..., Ran]) -> None:
    meant = {"tags": ["negative_example"]}
    write_cases(Path("c.jsonl"), turn("better", assistant=BAD, **meant), turn("became"))
    base = commit()
    write_cases(Path("c.jsonl"), turn("better", **meant), turn("became", **meant))
    done = safe_gate("compare", base, ".", "--synthesis-cases", "c.jsonl", "--verbose")
    lines = [[cell.strip() for cell in line.split("│")] for line in done.out.splitlines()]
    now = "passes, although it is a negative example"
    (became,) = (i for i, line in enumerate(lines) if line[0].startswith("became (c.jsonl:2) newly failing by exp"))
    assert lines[became + 2][1:3] == ["Baseline", "This run"]
    assert lines[became + 4][1:3] == ["nothing found", now]
    assert [line[2] for line in lines if len(line) == 4].count(now) == 2
    back = safe_gate("compare", ".", base, "--synthesis-cases", "c.jsonl", "--verbose")
    assert back.out.count(f"│ {now} │") == 2


@pytest.mark.parametrize(
    ("profile", "tag", "newly"), [("standard", "exam-fail", 1), ("standard", "pivot-fail", 0), ("spec", "exam-fail", 0)]
)
def test_a_tag_that_a_change_adds_excuses_a_case_as_it_does_in_scoring(
    safe_gate: Callable[..., Ran], profile: str, tag: str, newly: int
) -> None:
    flags = ("--synthesis-cases", "c.jsonl", "--profile", profile)
    write_cases(Path("c.jsonl"), turn("a"), turn("b"))
    base = commit()
    write_cases(Path("c.jsonl"), turn("a", assistant=BAD, tags=[tag]), turn("b"))
    ran = safe_gate("run", *flags, "--baseline", base, "--max-regressions", "0")
    assert ran.code == newly
    found = json.loads(Path("reports/safe-gate.json").read_text("utf-8"))
    counted = {rule["rule"]: rule["value"] for rule in found["rules"]}
    assert (counted["max-regressions"], counted["max-unexpected-failures"]) == (newly, newly)
    told = [(one["what"], one["after"]) for one in found["weakened"]["findings"]]
    assert told == ([] if newly else [("added", [tag])])  # what excuses nothing asks for no less


def test_a_run_without_a_case_of_its_baseline_says_that_nothing_was_compared(safe_gate: Callable[..., Ran]) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    safe_gate("run", *ALL[2:], "--report-dir", "old")
    write_cases(Path("c.jsonl"), turn("b"))
    done = safe_gate("run", *ALL[2:], "--baseline", "old/safe-gate.json", "--allow-missing", "cases")
    assert (done.code, report()["comparison"]["status"]) == (0, "inconclusive")
    for text in (done.out, Path("reports/safe-gate.md").read_text("utf-8")):
        assert "\nNo case id is in both runs: nothing was compared." in text
        assert "Inconclusive" not in text


def test_a_protection_or_a_cluster_that_names_nothing_is_an_error(safe_gate: Callable[..., Ran]) -> None:
    write()
    base = commit()
    protected, clustered = ("--protect", "S-11"), ("--cluster-key", "x_topic")
    said = {
        protected: "protect: names 'S-11', but no case has this id, tag or archetype (did you mean \"S-1\"?)",
        clustered: "cluster-key: names 'x_topic', but no case has this field",
    }
    for flags in (protected, clustered, protected + clustered):
        done = safe_gate("run", *ALL, "--baseline", base, *flags)
        assert done.code == 3
        assert [words in done.err for words in said.values()] == [flags[:2] == protected, flags[-2:] == clustered]
