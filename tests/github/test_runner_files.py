"""The files that the runner reads: step outputs, byte for byte as GitHub's `@actions/core` 3.0.1 writes them, and the job summary."""

import re
from pathlib import Path

import pytest

from safe_gate.github.runner_files import append_summary, write_outputs
from safe_gate.render import SUMMARY_LIMIT
from tests.support.github import Gate, GitHub, outputs


def test_outputs_are_the_official_ones_each_with_a_delimiter_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "output"
    values = {"verdict": "pass", "comment-url": "", "report-json": "a\nverdict=pass\nEOF\r\n%0A é😀 <<X"}
    write_outputs(str(file), values)
    written = file.read_bytes().decode("utf-8")
    delimiters = re.findall(r"<<ghadelimiter_([0-9a-f]{32})\n", written)  # theirs is a UUID
    assert len(set(delimiters)) == 3
    official = (
        f"{name}<<ghadelimiter_{one}\n{value}\nghadelimiter_{one}\n"
        for one, (name, value) in zip(delimiters, values.items(), strict=True)
    )
    assert written == "".join(official)


@pytest.mark.parametrize("end", ["\n", ""])
def test_outputs_and_summary_are_added_to_what_was_written_before(gate: Gate, tmp_path: Path, end: str) -> None:
    output, summary = tmp_path / "earlier_output", tmp_path / "earlier_summary"
    for file in (output, summary):
        file.write_text(f"earlier=1{end}", "utf-8")
    gate(GITHUB_OUTPUT=str(output), GITHUB_STEP_SUMMARY=str(summary))
    assert summary.read_text("utf-8").startswith("earlier=1\n### ✅ SAFE Gate")
    assert output.read_text("utf-8").startswith("earlier=1\nverdict<<")
    assert outputs(output.read_text("utf-8"))["comment-status"] == "created"


@pytest.mark.parametrize(
    ("variable", "what", "place"),
    [("GITHUB_OUTPUT", "the step outputs", "."), ("GITHUB_STEP_SUMMARY", "the job summary", "missing/file")],
)
def test_an_unwritable_file_is_a_warning(
    gate: Gate, github: GitHub, tmp_path: Path, place: str, variable: str, what: str
) -> None:
    (warning,) = gate("fail", **{variable: str(tmp_path / place)}).warnings
    assert warning.startswith(f"::warning title=SAFE Gate::Could not write {what}: ")
    assert len(github.comments) == 1


@pytest.mark.parametrize("earlier", [0, 1, 500_000])
def test_a_summary_takes_the_longest_text_that_the_step_has_room_for(tmp_path: Path, earlier: int) -> None:
    file = tmp_path / "summary"
    room = SUMMARY_LIMIT - earlier
    exact = "é" * ((room - 1) // 2) + "x" * ((room - 1) % 2)  # and the newline that ends it
    for longest, taken in ((exact, exact), (exact + "x", "short")):
        file.write_bytes(b"\n" * earlier)
        append_summary(str(file), (longest, "short"))
        assert file.read_bytes() == b"\n" * earlier + f"{taken}\n".encode()
        assert file.stat().st_size <= SUMMARY_LIMIT
    file.write_bytes(b"\n" * (SUMMARY_LIMIT - 4))
    with pytest.raises(OSError, match="4 bytes are left of the 1048576"):
        append_summary(str(file), ["long", "shor"])
    assert file.stat().st_size == SUMMARY_LIMIT - 4
