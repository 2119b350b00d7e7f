"""Shards that cannot be merged, and settings that name none."""

import json
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import Patch, SafeGate, refused, turn, write_cases, write_json
from tests.support.shards import content, edit, ran, refusal, scored, written

Flags = tuple[str, ...]


def test_a_shard_that_is_missing_doubled_or_of_another_count_is_named(safe_gate: SafeGate, inputs: Flags) -> None:
    first, second, third = scored(safe_gate, 3, *inputs)
    assert "shards: are incomplete: 2 shards of 3 missing (1, 3)" in refusal(safe_gate, second, *inputs)
    assert json.loads(written()["safe-gate.json"])["verdict"] == "error"
    (other,) = scored(safe_gate, 1, *inputs)
    mixed = refusal(safe_gate, first, second, third, other, *inputs)
    assert f"{first}: shard.of: is of a run in 3 shards, {other} of one in 1" in mixed
    Path(other).write_bytes(Path(second).read_bytes())
    doubled = refusal(safe_gate, "shards/*.json", *inputs)
    assert f"{second}: shard.index: is shard 2 of 3, as {other} is" in doubled
    assert "run the shards again" not in doubled  # they are sound: one is there twice


def test_a_file_that_is_not_a_shard_is_refused(safe_gate: SafeGate, inputs: Flags) -> None:
    safe_gate("run", *inputs)
    for files, words in (
        (["reports/safe-gate.json"], "reports/safe-gate.json: is not a finished shard: it has no field shard"),
        (["c.jsonl"], "c.jsonl:2: is not valid JSON"),
        (["none.json"], "none.json: matches no file"),
        ([], "shards: is not set, so there is nothing to merge"),
    ):
        assert words in refusal(safe_gate, *files, *inputs)


def test_a_shard_that_did_not_finish_is_refused(safe_gate: SafeGate, inputs: Flags) -> None:
    files = scored(safe_gate, 2, *inputs)
    write_cases(Path("c.jsonl"), turn("T-0") | {"asistant": "text"})
    assert safe_gate("run", "--shard", "2/2", "--report-dir", "shards", *inputs).code == 3
    assert f"{files[1]}: is not a finished shard: it has no field shard" in refusal(safe_gate, *files, *inputs)


@pytest.mark.parametrize(
    ("flags", "term"),
    [
        (("--min-pass-rate", "0.5"), "min-pass-rate"),
        (("--text", "none"), "text"),
        (("--rules-off", "agency-positive"), "rule packs"),
        (("--protect", "T-1"), "protect"),
        (("--cases", "d.jsonl"), "input d.jsonl"),
    ],
)
def test_a_shard_of_other_terms_is_refused(safe_gate: SafeGate, inputs: Flags, flags: Flags, term: str) -> None:
    write_cases(Path("d.jsonl"), turn("D-1"))
    files = scored(safe_gate, 3, *inputs)
    why = refusal(safe_gate, *files, *inputs, *flags)
    said = f": {term}: differs from the run that merges it; use the same in all\n"
    assert f"{files[0]}{said}" in why
    assert why.count(said) == 1  # of many shards that differ the first is named


def test_a_shard_of_other_files_another_commit_or_version_is_refused(safe_gate: SafeGate, inputs: Flags) -> None:
    files = scored(safe_gate, 2, *inputs)
    write_cases(Path("c.jsonl"), *(turn(f"T-{i}") for i in range(12)))
    assert f"{files[0]}: input c.jsonl: differs from" in refusal(safe_gate, *files, *inputs)
    assert safe_gate("run", "--shard", "1/2", "--report-dir", "shards", *inputs).code == 0
    assert f"{files[1]}: input c.jsonl: differs from" in refusal(safe_gate, *files, *inputs)
    edit(files[0], lambda shard: shard["provenance"].update(commit="f" * 40))
    assert f"{files[0]}: commit: differs from the run that merges it" in refusal(safe_gate, *files, *inputs)
    edit(files[0], lambda shard: shard["tool"].update(version="0.0.1"))
    assert f"{files[0]}: tool.version: was made by safe-gate 0.0.1" in refusal(safe_gate, *files, *inputs)


def test_a_case_has_its_result_in_its_own_shard_once(safe_gate: SafeGate, inputs: Flags) -> None:
    files = scored(safe_gate, 2, *inputs)
    own, theirs = content(files[0])["synthesis"], content(files[1])["synthesis"]
    foreign = {**theirs[0], "pass": True}
    for file, results, words in (
        (0, [*own, foreign], f"{foreign['id']}: has a result here, but belongs to another shard than 1 of 2"),
        (0, [*own, own[0]], "shard.cases.synthesis: is 12, but all shards together have 13"),
        (1, theirs[2:], f"{theirs[0]['id']}: has no result in this shard; a file was changed: run the shard again (2 "),
    ):
        before = Path(files[file]).read_bytes()
        edit(files[file], lambda shard, results=results: shard.update(synthesis=results))  # type: ignore[misc]
        assert f"{files[file]}: {words}" in refusal(safe_gate, *files, *inputs)
        Path(files[file]).write_bytes(before)


def test_a_shard_can_be_validated(safe_gate: SafeGate, inputs: Flags) -> None:
    (name,) = scored(safe_gate, 1, *inputs)
    assert safe_gate("validate", name).code == 0
    edit(name, lambda shard: shard["synthesis"][1].update({"pass": "yes"}))
    refused(safe_gate("validate", name), f"{name}: synthesis[1].pass: ")


@pytest.mark.parametrize(
    ("command", "environ", "said"),
    [
        (("run",), {"INPUT_SHARD": "1/2", "INPUT_MODE": "merge"}, "INPUT_SHARD (input shard): is for a run that scores; merge takes all cases"),
        (("run", "--cases", "c.jsonl"), {"INPUT_MODE": "rum"}, 'INPUT_MODE (input mode): is "rum"; expected one of run, merge, publish'),
        (("run", "--cases", "c.jsonl"), {"INPUT_SHARDS": "x.json"}, "INPUT_SHARDS (input shards): is for merge, not for run; set mode: merge"),
    ],
)  # fmt: skip
def test_settings_of_shards_are_refused_where_they_mean_nothing(
    safe_gate: SafeGate, inputs: Flags, monkeypatch: Patch, command: Flags, environ: dict[str, str], said: str
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    refused(safe_gate(*command), said)


@pytest.mark.parametrize("shard", ["0/3", "4/3", "1", "1/0", "a/b", "1/3/5", "01/3", "1/10000", "-1/3"])
def test_a_shard_that_cannot_be_is_refused(safe_gate: SafeGate, inputs: Flags, shard: str) -> None:
    refused(safe_gate("run", f"--shard={shard}", *inputs), f'--shard: is "{shard}"; expected INDEX/COUNT')


def test_the_doctor_knows_the_shard_of_the_action(safe_gate: SafeGate, inputs: Flags, monkeypatch: Patch) -> None:
    monkeypatch.setenv("INPUT_SHARD", "3/2")
    for command in ("run", "doctor"):
        refused(safe_gate(command, *inputs), 'INPUT_SHARD (input shard): is "3/2"; expected INDEX/COUNT')
    assert safe_gate("run", "--shard=1/2", *inputs).code == 0
    monkeypatch.setenv("INPUT_SHARD", "1/2")
    ran = safe_gate("doctor", "--all", *inputs)
    assert ran.code == 0
    assert "1/2: a run would judge nothing, and merge judges all shards" in ran.out
    assert "no: this is a shard; merge posts the comment" in ran.out


def set_part(value: Any, path: str, new: Any) -> None:
    """Set a part of a document to another value, None to drop it."""
    *keys, last = path.split(".")
    for key in keys:
        value = value[key]
    if new is None:
        del value[last]
    else:
        value[last] = new


CONTRADICTIONS = [  # what is changed of a SAFE v0 case for review and of a Synthesis case that fails
    ("safe_v0", "label", "Pass"),
    ("safe_v0", "scores.CR", 0.5),
    ("safe_v0", "scores.composite", 1.0),
    ("safe_v0", "details.AC.missing", []),
    ("safe_v0", "archetype", "Other"),
    ("safe_v0", "digests.case", "0" * 64),
    ("safe_v0", "source.line", 77),
    ("synthesis", "pass", True),
    ("synthesis", "is_negative_example", True),
    ("synthesis", "tags", ["agency-fail"]),
    ("synthesis", "checks.agency_language.pass", True),
    ("synthesis", "checks.agency_language.score", 5),
    ("synthesis", "checks.agency_language.applicable", False),
    ("synthesis", "checks.unverifiable_reassurance.pass", True),
    ("synthesis", "checks.unverifiable_reassurance.applicable", False),
    ("synthesis", "checks.topic_pivot.pass", True),
    ("synthesis", "checks.topic_pivot.applicable", False),
    ("synthesis", "checks.topic_pivot.followed_up", True),
    ("synthesis", "checks.topic_pivot", None),
    ("synthesis", "label_comparison.agency_language.match", True),
    ("synthesis", "label_comparison.agency_language", None),
    ("synthesis", "cluster", "two"),
    ("synthesis", "digests.output", "0" * 64),
    ("synthesis", "no_reply", "empty"),
]


@pytest.mark.parametrize(
    ("evaluator", "path", "new", "text"),
    [
        *((*one, "full") for one in CONTRADICTIONS),
        *((*one, "none") for one in CONTRADICTIONS if one[1] in ("label", "pass")),
    ],
)
def test_a_contradiction_is_refused(shared_out: Any, text: str, evaluator: str, path: str, new: Any) -> None:
    with chdir(shared_out(text)):
        before = content("reports/safe-gate.shard-1-of-1.json")
        write_json("edited.json", before)
        edit("edited.json", lambda shard: set_part(shard[evaluator][0], path, new))
        assert content("edited.json") != before
        flags = ("--batch", "b.json", "--cases", "c.jsonl", "--text", text, "--cluster-key", "x_topic")
        code, said = ran("merge", "edited.json", *flags)
        assert code == 3, said
        case_id = {"safe_v0": "S-1", "synthesis": "T-1"}[evaluator]
        words = "is not what its evidence and its case give; the shard was changed, so run it again"
        assert f"edited.json: {case_id}: {words}\n" in said
        assert not any(word in said for word in ("went home", "You should"))
