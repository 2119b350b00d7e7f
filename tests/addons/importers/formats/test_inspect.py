"""Logs of Inspect."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import SafeGate
from tests.support.importing import ASK, FIXTURES, exchanges, imported

INVOICE, LATE = "Where do I find my invoice?", "My parcel is late and I am upset."


@pytest.mark.parametrize("name", ["inspect.json", "inspect.eval"])
def test_an_inspect_log_of_three_epochs(safe_gate: SafeGate, name: str) -> None:
    cases = imported(safe_gate, FIXTURES / name)
    expected = {
        **{f"7#{n}": (INVOICE, "" if n == 2 else f"Reply {n} to: {INVOICE}\r\n") for n in (1, 2, 3)},
        **{f"late-parcel#{n}": (LATE, f"Reply {n} to: {LATE}\r\n") for n in (1, 2, 3)},
    }
    assert {id_: (user, reply) for id_, user, reply in exchanges(cases)} == expected
    assert all(case["id"].endswith(f"#{case['x_epoch']}") for case in cases)
    assert "an Inspect log, 6 cases" in safe_gate("import", FIXTURES / name, "--out", "out.jsonl", "--force").out


def test_an_inspect_log_with_errors_and_attachments(safe_gate: SafeGate) -> None:
    log = json.loads((FIXTURES / "inspect.json").read_text("utf-8"))
    log["status"] = "error"
    log["samples"] = log["samples"][:3]
    log["samples"][0]["input"], log["samples"][0]["attachments"] = "attachment://abc", {"abc": ASK}
    log["samples"][1]["error"] = {"message": "the model is busy", "traceback": "..."}
    log["samples"][2]["output"] = {"model": "m", "choices": [], "completion": ""}
    for name, text in (("log.json", json.dumps(log)), ("log2.json", json.dumps(log, indent=2))):
        Path(name).write_text(text, "utf-8")
        ran = safe_gate("import", name, "--out", "none.jsonl")
        assert ran.code == 3
        assert not Path("none.jsonl").exists()
        for words in ('has the status "error"', "late-parcel: is an error: the model is busy", "7: has no reply"):
            assert words in ran.err
        assert "3 problems" in ran.err
        ((_, user, _),) = exchanges(imported(safe_gate, name, "--skip-invalid"))
        assert user == ASK


def test_an_archive_without_zstd_needs_no_library(safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch) -> None:
    log = json.loads((FIXTURES / "inspect.json").read_text("utf-8"))
    with zipfile.ZipFile("log.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        for one in reversed(log["samples"]):
            archive.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one))
        archive.writestr("header.json", json.dumps({"status": "success"}))
    monkeypatch.setitem(sys.modules, "backports", None)
    assert [case["id"] for case in imported(safe_gate, "log.eval")][:3] == ["7#1", "7#2", "7#3"]
    if not hasattr(zipfile, "ZIP_ZSTANDARD"):
        ran = safe_gate("import", FIXTURES / "inspect.eval", "--out", "out.jsonl", "--force")
        assert ran.code == 3
        assert "is not installed; install SAFE Gate with the extra `zstd`" in ran.err


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(
    ("status", "words"),
    [
        (None, "has no header with a status, as after a killed run, so samples may be missing"),
        (5, "has no header with a status"),
        ("started", 'has the status "started", so samples may be missing; expected "success"'),
        ("cancelled", 'has the status "cancelled"'),
        ("success", ""),
    ],
)
def test_a_log_of_a_run_that_did_not_end_is_refused(
    safe_gate: SafeGate, status: object, words: str, indent: int | None
) -> None:
    log = json.loads((FIXTURES / "inspect.json").read_text("utf-8")) | {"status": status}
    whole = log if status else {name: one for name, one in log.items() if name != "status"}
    Path("log.json").write_text(json.dumps(whole, indent=indent), "utf-8")
    archived = {f"samples/{one['id']}_epoch_{one['epoch']}.json": one for one in log["samples"]}
    archived |= {"_journal/start.json": {"version": 2, "eval": {"task": "t"}}}
    archived |= {"header.json": {"status": status}} if status else {}
    with zipfile.ZipFile("log.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, one in archived.items():
            archive.writestr(name, json.dumps(one))
    for name in ("log.json", "log.eval"):
        ran = safe_gate("import", name, "--out", "o.jsonl", "--force")
        assert (ran.code, f"{name}: {words}" in ran.err) == (3 if words else 0, bool(words)), ran.log
        assert len(imported(safe_gate, name, "--skip-invalid")) == 6


def test_a_log_without_samples_is_named_as_such(safe_gate: SafeGate) -> None:
    header = {"version": 2, "status": "success", "eval": {"task": "t", "dataset": {}}, "plan": {}}
    lacking: list[dict[str, Any]] = [{}, {"samples": None}, {"samples": []}]
    for samples in lacking:
        Path("log.json").write_text(json.dumps(header | samples), "utf-8")
        with zipfile.ZipFile("log.eval", "w") as archive:
            archive.writestr("header.json", json.dumps(header))
            archive.writestr("summaries.json", "[]")
        for name in ("log.json", "log.eval"):
            ran = safe_gate("import", name, "--out", "o.jsonl")
            assert (ran.code, f"{name}: has no samples; write" in ran.err) == (3, True), ran.log


def test_an_archive_that_expands_too_far_is_refused(safe_gate: SafeGate) -> None:
    with (
        zipfile.ZipFile("log.eval", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("samples/1.json", "w", force_zip64=True) as file,
    ):
        for _ in range(140):
            file.write(b" " * (1 << 20))
    ran = safe_gate("import", "log.eval", "--out", "out.jsonl")
    assert (ran.code, "log.eval: expands from " in ran.err) == (3, True)
