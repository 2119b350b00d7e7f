"""A run compared with a commit: the files, settings and problems of either side."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import GOOD, Ran, report, safe_case, turn, write_batch, write_cases
from tests.support.git import commit_here as commit
from tests.support.two_runs import ALL, BAD, broken, write


@pytest.mark.parametrize(
    ("name", "pattern"),
    [("c.ndjson", "c.ndjson"), ("c.ndjson", "*.ndjson"), ("c.ndjson", "c.nd*"), ("cases", "cases"), ("cases", "case?")],
)
def test_cases_and_config_of_a_commit_are_read_whatever_their_suffix(
    safe_gate: Callable[..., Ran], name: str, pattern: str
) -> None:
    write_cases(Path(name), turn("a"))
    Path("gate.conf").write_text('{"max-unexpected-failures": 0}')
    base = commit()
    write_cases(Path(name), turn("a", assistant=BAD))
    Path("gate.conf").write_text('{"max-unexpected-failures": 1}')
    flags = "--synthesis-cases", pattern, "--config", "gate.conf", "--baseline", base
    assert safe_gate("run", *flags, "--max-regressions", "0", "--on-weakened", "fail").code == 1
    assert broken(report()) == {("max-regressions", "synthesis"), ("on-weakened", "gate")}


@pytest.mark.parametrize(("name", "pattern"), [("b.JSON", "*.JSON"), ("b.batch", "b.batch")])
def test_outputs_beside_a_batch_of_a_commit_are_read_whatever_its_suffix(
    safe_gate: Callable[..., Ran], name: str, pattern: str
) -> None:
    case = safe_case("S")
    write_cases(Path(f"{Path(name).stem}.outputs.jsonl"), {"test_id": "S", "output": case.pop("output")})
    write_batch(Path(name), case)
    assert safe_gate("run", "--safe-batch", pattern, "--baseline", commit()).code == 0
    assert report()["comparison"]["safe_v0"]["cases"]["both"] == 1


def test_cases_can_be_clustered_by_a_field_of_their_own(safe_gate: Callable[..., Ran]) -> None:
    def turns(reply: str) -> list[dict[str, Any]]:
        return [turn(f"T-{i}", assistant=reply, x_topic="exam" if i < 9 else {"n": i}) for i in range(10)]

    write_cases(Path("c.jsonl"), *turns(GOOD))
    base = commit()
    write_cases(Path("c.jsonl"), *turns(BAD))
    arguments = ("run", "--synthesis-cases", "c.jsonl", "--baseline", base, "--max-unexpected-failures", "99")
    assert safe_gate(*arguments).code == 1
    assert broken(report()) == {("min-drop", "synthesis")}
    assert safe_gate(*arguments, "--cluster-key", "x_topic").code == 0
    assert report()["comparison"]["status"] == "warn"
    assert {metric["units"] for metric in report()["comparison"]["synthesis"]["metrics"]} == {2}
    markdown = Path("reports/safe-gate.md").read_text()
    assert "Unproven drop" in markdown
    assert "Cases are grouped by <code>x&#95;topic</code>: 2 groups of 10 cases." in markdown
    assert safe_gate("validate", "reports/safe-gate.json").code == 0
    said = 'Cases are grouped by "x_topic": 2 groups of 10 cases.\n'
    for head in (".", "reports/safe-gate.json"):
        flags = ("--synthesis-cases", "c.jsonl", "--cluster-key", "x_topic", "--verbose")
        assert said in safe_gate("compare", base, head, *flags).out
    assert said in safe_gate(*arguments, "--cluster-key", "x_topic").out
    safe_gate(*arguments)
    assert "grouped by" not in Path("reports/safe-gate.md").read_text()


def test_without_a_case_at_the_base_commit_there_is_no_baseline_yet(safe_gate: Callable[..., Ran]) -> None:
    Path("x.json").write_text("{}")
    base = commit()
    write()
    done = safe_gate("run", *ALL, "--baseline", base)
    assert done.code == 0, done.log
    assert "There is no baseline yet" in done.out
    assert report()["comparison"]["status"] == "none"
    assert "There is no baseline yet" in Path("reports/safe-gate.md").read_text()
    assert safe_gate("compare", base, ".", *ALL).code == 3


def test_a_base_without_a_config_file_is_read_by_what_names_its_cases_now(safe_gate: Callable[..., Ran]) -> None:
    write()
    base = commit()
    Path("safe.config.json").write_text(json.dumps({"safe-batch": ["b.json"], "synthesis-cases": ["c.jsonl"]}))
    write(bad=("T-1",))
    assert safe_gate("run", "--baseline", base, "--max-regressions", "0", "--max-unexpected-failures", "9").code == 1
    assert broken(report()) == {("max-regressions", "synthesis")}
    assert safe_gate("compare", base, ".", "--max-regressions", "0").code == 1
    assert safe_gate("compare", ".", base, "--max-regressions", "0").code == 0


def test_a_config_file_that_is_named_before_the_base_has_it_is_refused_with_a_way_to_bring_it_in(
    safe_gate: Callable[..., Ran],
) -> None:
    write()
    base = commit()
    Path("gate.json").write_text("{}")
    done = safe_gate("run", *ALL, "--config", "gate.json", "--baseline", base)
    said = f"{base[:7]}:gate.json: cannot be read: the commit has no such file; add it in one change, and name it"
    assert (done.code, said in done.err) == (3, True)
    base = commit()
    Path("gate.json").write_text('{"min-pass-rate": 0.9}')
    assert safe_gate("run", *ALL, "--config", "gate.json", "--baseline", base).code == 0
