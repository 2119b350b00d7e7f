"""Workflow commands and step outputs, byte for byte as GitHub's own `@actions/core` 3.0.1 writes them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from safe_gate.github.runner_files import write_outputs

# What `core.setOutput` writes, but for the random part of its delimiter.
OUTPUTS = [
    ("verdict", "pass", "verdict<<ghadelimiter_ID\npass\nghadelimiter_ID\n"),
    ("comment-url", "", "comment-url<<ghadelimiter_ID\n\nghadelimiter_ID\n"),
    (
        "report-json",
        "a\nverdict=pass\nEOF\r\n%0A é😀 <<X",
        "report-json<<ghadelimiter_ID\na\nverdict=pass\nEOF\r\n%0A é😀 <<X\nghadelimiter_ID\n",
    ),
]


@pytest.mark.parametrize(("name", "value", "official"), OUTPUTS)
def test_an_output_is_the_official_one(tmp_path: Path, name: str, value: str, official: str) -> None:
    file = tmp_path / "output"
    write_outputs(str(file), {name: value})
    written = file.read_bytes().decode("utf-8")
    random = r"(?<=ghadelimiter_)[0-9a-f]{32}"  # theirs is a UUID
    assert re.sub(random, "ID", written) == official


def test_every_output_has_a_delimiter_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "output"
    write_outputs(str(file), {"a": "1", "b": "2"})
    assert len(set(re.findall(r"<<(\S+)", file.read_text("utf-8")))) == 2
