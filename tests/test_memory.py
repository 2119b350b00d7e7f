"""Memory: what a run holds does not grow with its cases, and what goes to disk comes back as it was."""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safe_gate.model import spool
from safe_gate.model.spool import Batch, Spool
from tests.support.cases import Patch, SafeGate, refused, report, safe_case, short_turn, turn, write_batch, write_cases
from tests.support.conversations import said

_RUN = """
import sys
from safe_gate.cli import main
code = main(sys.argv[1:])
with open("/proc/self/status") as status:  # a child's ru_maxrss begins with that of its parent
    (most,) = (line.split()[1] for line in status if line.startswith("VmHWM:"))
print(code, most, file=sys.stderr)
"""
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="it has the most memory of a process, and /dev/full")


def peaks(*command: str) -> tuple[tuple[str, int], tuple[str, int]]:
    """Return of a command on few.jsonl and on many.jsonl the exit code, and the most memory that it had, in KiB."""
    found = []
    for name in ("few.jsonl", "many.jsonl"):
        words = [sys.executable, "-I", "-c", _RUN, *command, name]
        ran = subprocess.run(words, capture_output=True, text=True, check=True, timeout=300)
        code, most = ran.stderr.splitlines()[-1].split()
        found.append((code, int(most)))
    few, many = found
    assert few[1] < many[1] + 4096, "both were measured"
    return few, many


def conversation(number: int) -> dict[str, Any]:
    earlier = f"The {number}th train goes to the sea. " * 4_000
    messages = said(earlier, "I see.", "It left.", "When?")
    return {"id": f"case-{number}", "messages": messages, "context": 1, "checks": ["agency_language"]}


@pytest.mark.soak
@on_linux
@pytest.mark.parametrize(
    "command", [["eval", "--jobs", "1", "--out", "o.json", "--cases"], ["run", "--jobs", "1", "--synthesis-cases"]]
)
def test_ten_times_the_replies_take_no_more_memory(command: list[str]) -> None:
    for name, count in {"few": 300, "many": 3_000}.items():  # every one fails, so that every one is a case to look at
        write_cases(Path(f"{name}.jsonl"), *(turn(f"case-{n}", assistant="You must go.") for n in range(count)))
    (few, least), (many, most) = peaks(*command)
    assert few == many != "0"
    assert most < min(1.5 * least, 120 * 1024)  # results are in memory up to a bound


@pytest.mark.soak
@on_linux
def test_long_earlier_messages_are_not_kept() -> None:
    for name, count in {"few": 20, "many": 200}.items():
        write_cases(Path(f"{name}.jsonl"), *map(conversation, range(count)))
    (few, least), (many, most) = peaks("eval", "--jobs", "1", "--cases")
    assert few == many != "3"
    assert most < least + 12 * 1024


@pytest.mark.soak
@on_linux
def test_a_long_text_takes_a_small_multiple_of_itself() -> None:
    size = 4 << 20
    one = "The train number {} leaves at six from the north side, and a bus goes to the river on platform {}. "
    long = "".join(one.format(n, n * n) for n in range(size // len(one)))
    write_cases(Path("few.jsonl"), turn("a"))
    write_cases(Path("many.jsonl"), turn("a", assistant=long))
    (few, least), (many, most) = peaks("eval", "--out", "o.json", "--bounds", f"text={2 * size}", "--cases")
    assert "3" not in (few, many)
    assert most - least < 90 * len(long) / 1024  # 81 here


def test_an_id_is_known_again_after_many_parts_of_a_file(safe_gate: SafeGate) -> None:
    ids = [*(f"case-{number}" for number in range(500)), "case-3", "case-400", "\ud800", "\ud800"]
    write_cases(Path("c.jsonl"), *map(short_turn, ids))
    assert safe_gate("run", "--synthesis-cases", "c.jsonl", "--jobs", "1").code == 3
    found = [(problem["line"], problem["message"].partition(";")[0]) for problem in report()["problems"]]
    twins = ((501, 4), (502, 401), (504, 503))
    assert found == [(line, f"appears at c.jsonl:{first} too") for line, first in twins]


@pytest.mark.untraced
def test_thousands_of_outputs_find_their_cases(safe_gate: SafeGate) -> None:
    cases = [safe_case(f"case-{number}") for number in range(1_100)]
    outputs = [{"test_id": case["test_id"], "output": case.pop("output")} for case in cases]
    write_batch(Path("b.json"), *cases)
    write_cases(Path("o.jsonl"), *reversed(outputs))
    assert safe_gate("score", "--batch", "b.json", "--outputs", "o.jsonl").code == 0
    write_cases(Path("o.jsonl"), *reversed(outputs), outputs[0] | {"test_id": "nobody"})
    refused(safe_gate("score", "--batch", "b.json", "--outputs", "o.jsonl"), "o.jsonl:1101: nobody: test_id")


ITEMS = st.lists(st.dictionaries(st.text(), st.text() | st.integers() | st.none()), max_size=3)


@given(ITEMS, st.integers(0, 600), st.slices(600), st.sampled_from([1, 100, 1 << 20]))
def test_a_spool_is_a_sequence_of_what_it_took_for_several_readers(
    first: list[Any], count: int, part: slice, in_memory: int
) -> None:
    whole = [*first, *range(count)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spool, "_IN_MEMORY", in_memory)
        kept = Spool(iter(first))
        kept.add(Batch.of(range(count)))
    assert (list(kept), len(kept), bool(kept)) == (whole, len(whole), bool(whole))
    assert list(zip(kept, kept, strict=True)) == list(zip(whole, whole, strict=True))
    assert kept[part] == tuple(whole[part])
    assert [kept[place] for place in (0, -1)[: len(whole)]] == [whole[place] for place in (0, -1)[: len(whole)]]
    assert kept == whole
    assert kept != [*whole, 0]


@on_linux
def test_a_full_temporary_folder_is_reported(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    monkeypatch.setattr(spool, "_IN_MEMORY", 1)
    full = Path("/dev/full").open("r+b")  # noqa: SIM115 - the spool closes it
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: full)
    write_cases(Path("c.jsonl"), turn("a"), turn("b"))
    words = "the temporary folder: is full: No space left on device; free some space in it"
    refused(safe_gate("eval", "--cases", "c.jsonl", "--out", "o.json"), words)
    assert not Path("o.json").exists()
