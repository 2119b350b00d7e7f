"""A report never takes the place of a file that the run reads, however either is named."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cases import BAD, SILENT, SafeGate, refused, report, safe_case, turn, write_batch, write_cases

OWN = "out/safe-gate.json"


def _write(text: str) -> None:
    Path(OWN).write_text(text, "utf-8")


INPUTS: dict[str, tuple[tuple[str, ...], Callable[[], object]]] = {
    "cases": (("--cases", OWN), lambda: write_cases(Path(OWN), turn("a"))),
    "config": (("--config", OWN), lambda: _write("{}")),
    "wrong config": (("--config", OWN), lambda: _write('{"x": 1}')),
    "waivers": (("--waivers", OWN), lambda: _write('{"waivers": []}')),
    "rules": (("--rules", OWN), lambda: _write('{"pack": "acme", "about": "x", "rules": []}')),
    "batch": (("--safe-batch", OWN), lambda: write_batch(Path(OWN), safe_case("s", output=SILENT))),
    "outputs": (("--safe-batch", "b.json", "--safe-outputs", OWN), lambda: write_cases(Path(OWN), {"test_id": "s"})),
}


@pytest.mark.parametrize(
    ("what", "link"),
    [*((what, "") for what in INPUTS), ("cases", "symlink"), ("batch", "hardlink"), ("config", "symlink")],
)
def test_what_a_run_reads_stays_as_it_is(safe_gate: SafeGate, what: str, link: str) -> None:
    Path("out").mkdir()
    flags, make = INPUTS[what]
    make()
    write_cases(Path("c.jsonl"), turn("b"))
    write_batch(Path("b.json"), safe_case("s"))
    if link:
        Path("in.json").symlink_to(OWN) if link == "symlink" else Path("in.json").hardlink_to(OWN)
        flags = tuple("in.json" if word == OWN else word for word in flags)
    before = Path(OWN).read_bytes()
    refused(safe_gate("run", *([] if what == "cases" else ["--cases", "c.jsonl"]), *flags, "--report-dir", "out"))
    assert Path(OWN).read_bytes() == before
    assert list(Path("out").glob(".*")) == []


def test_cases_by_the_name_of_a_report_are_read_and_not_replaced(safe_gate: SafeGate) -> None:
    Path("reports").mkdir()
    path = write_cases(Path("reports/safe-gate.cases.jsonl"), turn("a", assistant=BAD))
    before = path.read_bytes()
    words = f"report-dir: {path} is a file that this run reads, and its report must not replace it"
    refused(safe_gate("run", "--synthesis-cases", path, "--reports", "json,jsonl"), words)
    assert report()["verdict"] == "error"
    assert path.read_bytes() == before
    assert safe_gate("run", "--synthesis-cases", path, "--reports", "json").code == 1
    glob = ("run", "--synthesis-cases", "reports/*.jsonl")
    path.unlink()
    write_cases(Path("reports/a.jsonl"), turn("a"))
    for _ in range(2):  # the second run passes over what the first one wrote
        assert safe_gate(*glob, "--reports", "json,jsonl").code == 0
