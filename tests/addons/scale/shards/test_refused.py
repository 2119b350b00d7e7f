"""Shards that cannot be merged."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.cases import SafeGate, turn, write_cases
from tests.support.shards import scored, written


def test_a_shard_that_is_missing_doubled_or_of_another_count_is_named(
    safe_gate: SafeGate, inputs: tuple[str, ...]
) -> None:
    first, second, third = scored(safe_gate, 3, *inputs)
    missing = safe_gate("merge", second, *inputs)
    assert missing.code == 3
    assert "shards: are incomplete: 2 shards of 3 missing (1, 3)" in missing.err
    assert json.loads(written()["safe-gate.json"])["verdict"] == "error"
    Path("shards/again.json").write_bytes(Path(second).read_bytes())
    doubled = safe_gate("merge", "shards/*.json", *inputs)
    assert doubled.code == 3
    assert f"{second}: shard.index: is shard 2 of 3, as shards/again.json is" in doubled.err
    assert "run the shards again" not in doubled.err  # they are sound: one is there twice
    (other,) = scored(safe_gate, 1, *inputs)
    mixed = safe_gate("merge", first, second, third, other, *inputs)
    assert mixed.code == 3
    assert f"{first}: shard.of: is of a run in 3 shards, {other} of one in 1" in mixed.err


def test_a_file_that_is_not_a_shard_is_refused(safe_gate: SafeGate, inputs: tuple[str, ...]) -> None:
    safe_gate("run", *inputs)
    report = safe_gate("merge", "reports/safe-gate.json", *inputs)
    assert "reports/safe-gate.json: is the report of a run, not a shard" in report.err
    assert "c.jsonl" in safe_gate("merge", "c.jsonl", *inputs).err
    assert "none.json: matches no file" in safe_gate("merge", "none.json", *inputs).err
    assert "shards: is not set, so there is nothing to merge" in safe_gate("merge", *inputs).err


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--min-pass-rate", "0.5"), "min-pass-rate: is 0.8 in this shard, 0.5 in the run that merges it"),
        (("--profile", "spec"), 'profile: is "standard" in this shard, "spec" in the run'),
        (("--text", "none"), 'text: is "full" in this shard, "none" in the run'),
        (("--rules-off", "agency-positive"), "rule packs: is "),
        (("--protect", "T-1"), 'protect: is [] in this shard, ["T-1"] in the run'),
        (("--cases", "d.jsonl"), "input d.jsonl: is not there in this shard, "),
    ],
)
def test_a_shard_of_other_terms_is_refused_with_what_differs(
    safe_gate: SafeGate, inputs: tuple[str, ...], flags: tuple[str, ...], said: str
) -> None:
    write_cases(Path("d.jsonl"), turn("D-1"))
    files = scored(safe_gate, 3, *inputs)
    refused = safe_gate("merge", *files, *inputs, *flags)
    assert refused.code == 3
    assert f"{files[0]}: {said}" in refused.err
    assert refused.err.count(said) == 1  # of many shards that differ alike the first is named


def test_terms_that_differ_only_after_their_shown_part_are_refused(
    safe_gate: SafeGate, inputs: tuple[str, ...]
) -> None:
    def configure(last: float) -> None:
        own = {"An archetype with a name of some length": {"min-pass-rate": 0.5}, "Z": {"min-pass-rate": last}}
        groups = {name: one | {"optional": True} for name, one in own.items()}
        Path("safe.config.json").write_text(json.dumps({"archetypes": groups}), "utf-8")

    configure(0.5)
    files = scored(safe_gate, 2, *inputs)
    configure(0.6)
    refused = safe_gate("merge", *files, *inputs)
    assert refused.code == 3
    assert re.search(r"groups: is \{.* \(SHA-256 [0-9a-f]{12}\) in this shard, .* \(SHA-256", refused.err)


def test_a_shard_of_other_files_another_commit_or_version_is_refused(
    safe_gate: SafeGate, inputs: tuple[str, ...]
) -> None:
    files = scored(safe_gate, 2, *inputs)
    write_cases(Path("c.jsonl"), *(turn(f"T-{i}") for i in range(12)))
    stale = safe_gate("merge", *files, *inputs)
    assert stale.code == 3
    assert f"{files[0]}: input c.jsonl: is " in stale.err
    assert safe_gate("run", "--shard", "1/2", "--report-dir", "shards", *inputs).code == 0
    assert f"{files[1]}: input c.jsonl: is " in safe_gate("merge", *files, *inputs).err
    changed = json.loads(Path(files[0]).read_text("utf-8"))
    changed["provenance"]["commit"] = "f" * 40
    Path(files[0]).write_text(json.dumps(changed), "utf-8")
    assert (
        f'{files[0]}: commit: is "{"f" * 40}" in this shard, "" in the run' in safe_gate("merge", *files, *inputs).err
    )
    changed["tool"]["version"] = "0.0.1"
    Path(files[0]).write_text(json.dumps(changed), "utf-8")
    assert f"{files[0]}: tool.version: was made by safe-gate 0.0.1" in safe_gate("merge", *files, *inputs).err


def test_a_result_that_was_taken_out_of_a_shard_is_missed(safe_gate: SafeGate, inputs: tuple[str, ...]) -> None:
    files = scored(safe_gate, 2, *inputs)
    changed = json.loads(Path(files[1]).read_text("utf-8"))
    Path(files[1]).write_text(json.dumps(changed | {"synthesis": changed["synthesis"][2:]}), "utf-8")
    missed = safe_gate("merge", *files, *inputs)
    assert missed.code == 3
    assert "shards: 2 Synthesis cases have no result in any shard" in missed.err


@pytest.mark.parametrize(
    ("command", "environ", "said"),
    [
        (
            ("run",),
            {"INPUT_SHARD": "1/2", "INPUT_MODE": "merge"},
            "INPUT_SHARD (input shard): is for a run that scores; merge takes all cases",
        ),
        (
            ("run", "--cases", "c.jsonl"),
            {"INPUT_MODE": "rum"},
            'INPUT_MODE (input mode): is "rum"; expected one of run, merge, publish',
        ),
        (
            ("run", "--cases", "c.jsonl"),
            {"INPUT_SHARDS": "x.json"},
            "INPUT_SHARDS (input shards): is for merge, not for run; set mode: merge",
        ),
    ],
)
def test_settings_of_shards_are_refused_where_they_mean_nothing(
    safe_gate: SafeGate,
    inputs: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    environ: dict[str, str],
    said: str,
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    refused = safe_gate(*command)
    assert refused.code == 3
    assert said in refused.err
