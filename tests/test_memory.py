"""Memory: what a run holds does not grow with its cases, and what goes to disk comes back as it was."""

from __future__ import annotations

import errno
import gc
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safe_gate.core.lazy import HELD, View
from safe_gate.core.model import CannotJudge
from safe_gate.inputs import disk, spool
from safe_gate.inputs.spool import Spool, Store
from tests.support.cases import GOOD, SILENT, SafeGate, report, safe_case, turn, write_batch, write_cases
from tests.support.git import commit, git
from tests.support.memory import on_linux, peak

_FEW, _MANY = 300, 3_000
_MOST = 120 * 1024  # KiB


@pytest.mark.soak
@on_linux
@pytest.mark.parametrize("command", [["eval", "--out", "o.json", "--cases"], ["run", "--synthesis-cases"]])
@pytest.mark.usefixtures("safe_gate")
def test_ten_times_the_replies_take_no_more_memory(command: list[str]) -> None:
    for count in (_FEW, _MANY):  # every one fails, so that every one is a case to look at
        write_cases(Path(f"{count}.jsonl"), *(turn(f"case-{n}", assistant="You must go.") for n in range(count)))
    (few, least), (many, most) = (peak(*command, f"{count}.jsonl") for count in (_FEW, _MANY))
    assert few == many != "0"
    assert least < most + 4096  # both were measured
    assert most < min(1.2 * least, _MOST)


@pytest.mark.soak
@on_linux
@pytest.mark.usefixtures("safe_gate")
def test_a_baseline_takes_little_memory_for_a_case_that_is_no_news() -> None:
    git("init", "--quiet")
    for reply in (GOOD, f"{GOOD} Take your time."):
        for count in (_FEW, _MANY):
            write_cases(Path(f"{count}.jsonl"), *(turn(f"case-{n}", assistant=reply) for n in range(count)))
        commit()
    (few, least), (many, most) = (
        peak("run", "--baseline", "HEAD~1", "--synthesis-cases", f"{count}.jsonl") for count in (_FEW, _MANY)
    )
    assert few == many == "0"
    assert most - least < 8 * (_MANY - _FEW)  # KiB; 14 a case when the baseline's results were held


@pytest.mark.soak
@on_linux
@pytest.mark.usefixtures("safe_gate")
def test_a_long_text_takes_a_small_multiple_of_itself() -> None:
    size = 4 << 20
    one = "The train number {} leaves at six from the north side, and a bus goes to the river on platform {}. "
    long = "".join(one.format(n, n * n) for n in range(size // len(one)))
    write_cases(Path("short.jsonl"), turn("a"))
    write_cases(Path("long.jsonl"), turn("a", assistant=long))
    bound = "--bounds", f"text={2 * size}"
    (first, least), (second, most) = (
        peak("eval", "--out", "o.json", *bound, "--cases", f"{name}.jsonl") for name in ("short", "long")
    )
    assert "3" not in (first, second)
    assert most - least < 75 * len(long) / 1024  # 57 here, 97 where all that is read of it is held at once


@pytest.mark.soak
@on_linux
@pytest.mark.usefixtures("safe_gate")
def test_memory_does_not_grow_with_the_tags_of_a_report() -> None:
    labels = {"agency_language": True, "unverifiable_reassurance": True, "topic_pivot": True}
    for count in (1, 50):
        tagged = (turn(f"c{n}", expected=labels, tags=[f"tag {n} {k}" for k in range(count)]) for n in range(100))
        write_cases(Path(f"{count}.jsonl"), *tagged)
    (few, least), (many, most) = (peak("run", "--synthesis-cases", f"{count}.jsonl") for count in (1, 50))
    assert few == many == "0"
    assert most - least < 5_000 * 5  # KiB; 1.5 a tag, and 16 where all is held


@pytest.mark.soak
@on_linux
@pytest.mark.usefixtures("safe_gate")
def test_very_many_problems_take_little_memory() -> None:
    for count in (1, 15_000):
        Path(f"{count}.jsonl").write_text("{}\n" * count, "utf-8")
    (few, least), (many, most) = (peak("run", "--synthesis-cases", f"{count}.jsonl") for count in (1, 15_000))
    assert few == many == "3"
    assert most - least < 12 * 1024  # KiB; 60,000 problems took 40 MiB


@pytest.mark.soak
@on_linux
@pytest.mark.usefixtures("safe_gate")
def test_ten_times_the_batches_take_no_more_memory() -> None:
    for count in (_FEW, _MANY):
        for first in range(0, count, 100):
            cases = (safe_case(f"case-{n}", output=SILENT) for n in range(first, first + 100))
            Path(f"{count}").mkdir(exist_ok=True)
            write_batch(Path(f"{count}") / f"{first}.json", *cases)
    (few, least), (many, most) = (peak("run", "--safe-batch", f"{count}/*.json") for count in (_FEW, _MANY))
    assert few == many == "1"
    assert most < min(1.2 * least, _MOST)


class _NoRoom(tempfile.SpooledTemporaryFile[bytes]):
    """A file in memory that loses what it holds when it has to go to a full disk."""

    def rollover(self) -> None:
        super().rollover()
        self.truncate(100)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_documents_that_find_no_room_in_the_temporary_folder_are_read_again(
    safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        write_batch(Path(f"{number}.json"), safe_case(f"case-{number}"))
    with _NoRoom(1_000) as file:
        monkeypatch.setattr(disk, "temporary_file", lambda _: file)
        ran = safe_gate("score", "--safe-batch", "*.json")
    assert ran.code == 0, ran.err
    assert all(f"case-{number}" in ran.out for number in range(3))


@pytest.mark.untraced
def test_an_id_is_known_again_after_thousands(safe_gate: SafeGate) -> None:
    cases = [turn(f"case-{number}", assistant="Ok.") for number in range(2_500)]
    write_cases(Path("c.jsonl"), *cases, turn("case-3"), turn("case-2400"), turn("\ud800"), turn("\ud800"))
    assert safe_gate("run", "--synthesis-cases", "c.jsonl").code == 3
    found = [(problem["line"], problem["message"].partition(";")[0]) for problem in report()["problems"]]
    twins = ((2501, 4), (2502, 2401), (2504, 2503))
    assert found == [(line, f"appears at c.jsonl:{first} too") for line, first in twins]


@pytest.mark.untraced
def test_thousands_of_outputs_find_their_cases(safe_gate: SafeGate) -> None:
    cases = [safe_case(f"case-{number}") for number in range(2_100)]
    outputs = [{"test_id": case["test_id"], "output": case.pop("output")} for case in cases]
    write_batch(Path("b.json"), *cases)
    Path("o.jsonl").write_text("".join(json.dumps(one) + "\n" for one in reversed(outputs)), "utf-8")
    assert safe_gate("score", "--batch", "b.json", "--outputs", "o.jsonl").code == 0
    with Path("o.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({**outputs[0], "test_id": "nobody"}) + "\n")
    ran = safe_gate("score", "--batch", "b.json", "--outputs", "o.jsonl")
    assert ran.code == 3
    assert "o.jsonl:2101: nobody: test_id" in ran.err


@given(st.lists(st.dictionaries(st.text(), st.text() | st.integers() | st.none())), st.integers(0, 200))
def test_a_spool_gives_back_what_it_took_to_several_readers(entries: list[dict[str, Any]], in_memory: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spool, "_IN_MEMORY", in_memory)
        kept = Spool()
        for some in (entries[:1], entries[1:]):
            kept.take(spool.lines(some))
    assert kept == entries
    assert len(kept) == len(entries)
    assert list(zip(kept, kept, strict=True)) == list(zip(entries, entries, strict=True))
    assert kept[1:3] == tuple(entries[1:3])


@given(st.lists(st.tuples(st.sampled_from(["set", "pop"]), st.sampled_from(["a", "b", "\ud800", ""])), max_size=20))
def test_a_store_on_disk_is_as_one_in_memory(steps: list[tuple[str, str]]) -> None:
    in_memory, on_disk = Store(), Store()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spool, "_FEW", 1)
        for number, (step, key) in enumerate(steps):
            found = [
                store.setdefault(key, [number]) if step == "set" else store.pop(key) for store in (in_memory, on_disk)
            ]
            assert found[0] == found[1]
            assert in_memory.get(key) == on_disk.get(key)
            assert list(in_memory.items()) == list(on_disk.items())
            assert bool(in_memory) == bool(on_disk)


@given(st.integers(0, 3 * HELD), st.slices(3 * HELD))
def test_a_view_is_a_sequence_that_holds_little(length: int, part: slice) -> None:
    rounds = 0

    def items() -> Iterator[int]:
        nonlocal rounds
        rounds += 1
        yield from range(length)

    view, whole = View(items), range(length)
    assert (list(view), len(view), bool(view)) == (list(whole), len(whole), bool(whole))
    assert view[part] == tuple(whole[part])
    assert [view[place] for place in (0, -1)[:length]] == [whole[place] for place in (0, -1)[:length]]
    assert rounds <= 5
    assert view == list(whole)
    assert view != [*whole, 0]


@on_linux
def test_a_full_temporary_folder_is_reported(safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "_IN_MEMORY", -1)
    full = Path("/dev/full").open("r+b")  # noqa: SIM115 - the spool closes it
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: full)
    write_cases(Path("c.jsonl"), turn("a"), turn("b"))
    ran = safe_gate("eval", "--cases", "c.jsonl", "--out", "o.json")
    assert ran.code == 3
    assert "the temporary folder: is full: No space left on device; free some space in it" in ran.err
    assert not Path("o.json").exists()


def test_another_thread_may_collect_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    lost: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lost.append)
    store: Any = Store(held=0)
    store.setdefault("a", 1)
    store.itself = store
    del store
    thread = Thread(target=gc.collect)
    thread.start()
    thread.join()
    assert lost == []


def test_a_full_store_is_reported() -> None:
    store = Store(held=0)
    store.setdefault("a", 1)
    database = store._kept
    assert not isinstance(database, dict)
    database._run("PRAGMA max_page_count = 4")
    with pytest.raises(CannotJudge) as refused:
        store.setdefault("b", "x" * 100_000)
    assert "is full: database or disk is full" in refused.value.problems[0].message
