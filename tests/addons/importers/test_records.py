"""The records of a file, one at a time and in bounded memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from safe_gate.addons.importers import records

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(json_values, max_size=5), st.integers(1, 7), st.sampled_from([None, 1]), json_values)
@example([12], 1, None, "]}")
@settings(max_examples=150)
def test_a_list_is_read_whole_and_in_chunks_with_equal_results(
    items: list[Any], size: int, indent: int | None, other: Any
) -> None:
    def read(text: str, paths: set[tuple[str, ...]]) -> list[Any]:
        chunks = (text[place : place + size] for place in range(0, len(text), size))
        found = list(records.document(chunks, paths))
        assert [one.line for one in found] == sorted(one.line for one in found)
        return [one.value for one in found]

    assert read(json.dumps(items, indent=indent), set()) == items
    inside = {"x": other, "results": {"before": other, "results": items, "after": other}, "y": other}
    assert read(json.dumps(inside, indent=indent), {("results", "results")}) == items


_PEAK = """
import resource, sys
from safe_gate.cli import main
code = main()
print(code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.parametrize("name", ["many.json", "many.csv"])
def test_memory_does_not_grow_with_the_file(name: str) -> None:
    def peak(rows: int) -> int:
        with Path(name).open("w", encoding="utf-8") as file:
            if name == "many.csv":
                file.write("id,prompt,response\n")
                file.writelines(f"{n},{text},{text}\n" for n in range(rows))
            else:
                file.write("[")
                file.writelines(
                    ("," if n else "") + json.dumps({"id": n, "prompt": text, "response": text}) for n in range(rows)
                )
                file.write("]")
        command = [sys.executable, "-I", "-c", _PEAK, "import", name, "--out", "out.jsonl", "--force"]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
        code, mebibytes = ran.stdout.splitlines()[-1].split()
        assert code == "0", ran.stderr
        return int(mebibytes)

    text = "I keep asking about the same parcel. " * 40
    assert peak(6_000) - peak(600) < 12  # of 18 MB
