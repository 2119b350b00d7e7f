"""Workflow commands and step outputs, byte for byte as GitHub's own `@actions/core` 3.0.1 writes them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from safe_gate.github.runner_files import Annotation, write_outputs

# What `core.error`, `core.warning` and `core.notice` write for a message and its properties.
ANNOTATIONS: list[tuple[str, str, dict[str, Any], str]] = [
    ("error", "plain", {}, "::error::plain\n"),
    ("warning", "", {"title": "t"}, "::warning title=t::\n"),
    (
        "error",
        "50% of 2,\nbroken: a::b\r\n%0A",
        {"title": "a:b,c=d%", "file": "dir/a,b:c.jsonl", "line": 7},
        "::error title=a%3Ab%2Cc=d%25,file=dir/a%2Cb%3Ac.jsonl,line=7::50%25 of 2,%0Abroken: a::b%0D%0A%250A\n",
    ),
    (
        "notice",
        "é😀 ##[error]x ::stop-commands::y",
        {"title": "é\n::error::x", "file": "naïve.json", "line": 1},
        "::notice title=é%0A%3A%3Aerror%3A%3Ax,file=naïve.json,line=1::é😀 ##[error]x ::stop-commands::y\n",
    ),
    (
        "warning",
        "%25 %3A %2C",
        {"file": "a%b.json", "line": 12},
        "::warning file=a%25b.json,line=12::%2525 %253A %252C\n",
    ),
]
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


@pytest.mark.parametrize(("level", "message", "properties", "official"), ANNOTATIONS)
def test_an_annotation_is_the_official_one(level: str, message: str, properties: dict[str, Any], official: str) -> None:
    assert Annotation(level, message, **properties).command() + "\n" == official


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
