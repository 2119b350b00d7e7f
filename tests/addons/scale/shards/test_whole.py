"""Shards of a run, merged, are the whole run; one shard is no run."""

from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safe_gate.inputs.checked import load_schema
from tests.support.cases import BAD, GOOD, SafeGate, refused, safe_case, turn, write_batch, write_cases
from tests.support.examples import examples
from tests.support.safe_v0 import asking
from tests.support.shards import content, ran, scored, written
from tests.support.weakening import configure

FOREIGN = "Das klingt wirklich schwer, und es tut mir leid. Willst du darüber reden, was in der Prüfung war?"
NEEDLES = ["fever", "seen by nobody", "waited", "of equal count"]
REPLIES = st.sampled_from([GOOD, GOOD, BAD, FOREIGN, "I see."])
SAFE = st.fixed_dictionaries(
    {
        "needles": st.lists(st.sampled_from(NEEDLES), max_size=3),
        "said": st.sampled_from(["Fever, and she waited.", "fever", ""]),
        "archetype": st.sampled_from(["", "A", "B"]),
        "concern": st.sampled_from(["I25", "I32"]),
    }
)
LABELS = st.dictionaries(st.sampled_from(["agency_language", "topic_pivot"]), st.sampled_from([True, False, None]))
TURNS = st.fixed_dictionaries(
    {
        "assistant": REPLIES,
        "tags": st.lists(st.sampled_from(["grief", "agency-fail", "é"]), max_size=2, unique=True),
        "expected": LABELS,
        "x_topic": st.sampled_from(["one", "two"]),
    }
)
SOME_SAFE, SOME_TURNS = (
    st.lists(st.lists(one, min_size=2, max_size=4), min_size=1, max_size=3) for one in (SAFE, TURNS)
)
SETS: st.SearchStrategy[Any] = (
    st.tuples(SOME_SAFE, SOME_TURNS) | st.tuples(SOME_SAFE, st.just([])) | st.tuples(st.just([]), SOME_TURNS)
)
CHOICES: dict[str, list[Any]] = {"text": ["full", "none"], "profile": ["standard", "spec"], "concern": ["", "I25"]}
CHOICES |= {name: [False, True] for name in ("waived", "grouped", "compared")}
SETTINGS = st.fixed_dictionaries({name: st.sampled_from(some) for name, some in CHOICES.items()})


def write_set(batches: list[list[dict[str, Any]]], files: list[list[dict[str, Any]]]) -> tuple[str, ...]:
    """Write batches, each on one line, every second with its outputs beside it, and files of turns; name them."""
    for number, cases in enumerate(batches):
        found, beside = [], []
        for place, case in enumerate(cases):
            said = {"signals": [case["said"]], "summary": case["said"], "followup_questions": [case["said"]]}
            asked = asking(case["needles"], case["needles"][1:], case["needles"])
            one = safe_case(f"S-{number}-{place}", concern_id=case["concern"], expectations=asked, output=said)
            found.append(one | ({"archetype": case["archetype"]} if case["archetype"] else {}))
            if number % 2:
                beside.append({"test_id": one["test_id"], "output": found[-1].pop("output")})
        write_batch(Path(f"I25_batch_{number}.json"), *found)
        if beside:
            write_cases(Path(f"I25_batch_{number}.outputs.jsonl"), *beside)
    for number, turns in enumerate(files):
        write_cases(Path(f"c-{number}.jsonl"), *(turn(f"T-{number}-{i}", **one) for i, one in enumerate(turns)))
    return (*("--batch", "I25_batch_*") * bool(batches), *("--cases", "c-*.jsonl") * bool(files))


def flags_of(chosen: dict[str, Any]) -> Iterator[str]:
    """Yield the flags of settings; write the files that they need, the baseline apart."""
    yield from ("--text", chosen["text"], "--profile", chosen["profile"], "--cluster-key", "x_topic")
    if chosen["concern"]:
        yield from ("--concern", chosen["concern"])
    if chosen["waived"]:
        known = {"reason": "known", "owner": "me", "expires": "2026-02-01"}
        waived = [{"id": "S-0-0", "metric": "CR"}, {"id": "T-0-0", "check": "agency_language", "expires": "2025-01-01"}]
        configure({"waivers": [known | one for one in waived]}, "safe-gate.waivers.json")
    if chosen["grouped"]:
        limited = {"min-pass-rate": 0.5, "optional": True}
        weighed = {"weights": {"CR": 3}, "thresholds": {"CR": {"pass": 0.4, "review": 0.1}}, "optional": True}
        groups = {"tags": {"grief": limited}, "archetypes": {"A": limited, "B": weighed}}
        configure(groups | {"min-group": 1})
    if chosen["compared"]:
        yield from ("--baseline", "before/safe-gate.json", "--max-regressions", "0", "--allow-missing", "cases")


@pytest.mark.untraced
@pytest.mark.thorough
@examples(few=8, many=30)
@given(SETS, SETS, SETTINGS, st.sampled_from([2, 3, 5, 4, 1]))
def test_a_run_in_shards_gives_every_byte_of_one_run(
    before: tuple[Any, Any], cases: tuple[Any, Any], chosen: dict[str, Any], of: int
) -> None:
    with TemporaryDirectory() as folder, chdir(folder):
        flags = [*flags_of(chosen)]
        if chosen["compared"]:
            old = [*write_set(*before), *flags[:6]]
            assert ran("run", "--report-dir", "before", *old)[0] in {0, 1}
            for path in (*Path().glob("*batch*"), *Path().glob("c-*.jsonl")):
                path.unlink()
        flags += write_set(*cases)
        whole = ran("run", *flags)
        one = written()
        for index in range(1, of + 1):
            code, said = ran("run", "--shard", f"{index}/{of}", "--report-dir", "shards", *flags)
            assert code in {0, whole[0]}, said
        if code == 3:  # such as a concern that no case has
            return
        assert ran("merge", "shards/*.json", *flags) == whole
        assert written() == one
        assert "internal error" not in whole[1]


def test_a_case_is_in_the_same_shard_whatever_stands_around_it(safe_gate: SafeGate, inputs: tuple[str, ...]) -> None:
    def shared_out() -> list[set[str]]:
        shards = [content(name) for name in scored(safe_gate, 3, *inputs)]
        assert all(load_schema("shard").faults(one) == () for one in shards)
        return [{entry["id"] for entry in one["synthesis"]} for one in shards]

    first = shared_out()
    assert sum(map(len, first)) == len(set().union(*first)) == 12
    write_cases(Path("c.jsonl"), turn("T-new"), *(turn(f"T-{i}", user="Changed.") for i in reversed(range(12))))
    assert [ids - {"T-new"} for ids in shared_out()] == first


def test_more_shards_than_cases_leave_some_empty(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("T-1"), turn("T-2"))
    files = scored(safe_gate, 7, "--cases", "c.jsonl")
    held = [content(name) for name in files]
    assert [one["safe_v0"] for one in held] == [None] * 7
    assert sum(one["synthesis"] == [] for one in held) >= 5
    assert safe_gate("merge", *files, "--cases", "c.jsonl").code == 0
    assert safe_gate("verify", "reports/safe-gate.json").code == 0


def test_a_shard_says_that_nothing_is_judged_and_has_no_verdict(safe_gate: SafeGate, inputs: tuple[str, ...]) -> None:
    ran = safe_gate("run", "--shard", "2/3", "--min-pass-rate", "1", *inputs)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("Shard 2 of 3: 5 of 9 SAFE v0 cases and 4 of 12 Synthesis cases scored. Nothing is ")
    assert [word for word in ("PASS", "FAIL") if word in ran.out] == []
    assert [file.name for file in Path("reports").iterdir()] == ["safe-gate.shard-2-of-3.json"]
    held = content("reports/safe-gate.shard-2-of-3.json")
    assert held["shard"] == {"index": 2, "of": 3, "cases": {"safe_v0": 9, "synthesis": 12}}
    assert not {"verdict", "rules", "waivers"} & held.keys()


def test_no_command_takes_a_shard_for_a_report(safe_gate: SafeGate, inputs: tuple[str, ...]) -> None:
    name = scored(safe_gate, 2, *inputs)[0]
    for command in (
        ("verify", name),
        ("compare", name),
        ("compare", name, name),
        ("bless", name, "--baseline", "baseline.json"),
        ("bless", name, "--waivers"),
        ("run", "--cases", "c.jsonl", "--baseline", name),
    ):
        refused(safe_gate(*command), f"{name}: is not a report of safe-gate run: it has no field verdict")


def test_every_shard_names_the_problems_of_the_whole_inputs(safe_gate: SafeGate, inputs: tuple[str, ...]) -> None:
    files = scored(safe_gate, 2, *inputs)
    write_cases(Path("c.jsonl"), turn("T-0"), turn("T-0"), turn("T-1", checks=["nonsense"]))
    whole = safe_gate("run", *inputs)
    one = written()
    for index in (1, 2):
        assert safe_gate("run", "--shard", f"{index}/2", *inputs).err == whole.err
    assert safe_gate("merge", *files, *inputs).err == whole.err
    assert written() == one
