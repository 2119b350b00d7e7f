"""Stale recordings, from the outside: a lock, a change, and what `run` says of it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.support.cases import GOOD, Ran, SafeGate, report, safe_case, turn, write_batch, write_cases
from tests.support.git import commit_here, git

CASES, LOCK = "evals/a.jsonl", "safe-gate.lock.json"
SOURCES = ("prompts/system.md", "prompts/de/system.md", "app/config.json", "app/answer.py", "app/tools/search.py")
OTHERS = (
    *("README.md", "app/notes.txt", "web/page.py", "docs/prompts/old.md", "prompts.md", "evals/README.md"),
    *("config.json", "app/config.json.bak", "apps/answer.py", "evals/b.jsonl"),
)

Change = Callable[[], None]


@pytest.fixture
def locked(safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch) -> str:
    """Commit recordings with their sources and their lock; return the commit."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")  # 2026-01-01, a day before the commits
    for path in (*SOURCES, *OTHERS):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(f"of {path}\n", "utf-8")
    record("")
    recordings = {CASES: ["prompts/**", "app/config.json", "app/**/*.py"]}
    config = {"synthesis-cases": [CASES], "recordings": recordings, "stale-recordings": "fail"}
    Path("safe.config.json").write_text(json.dumps(config), "utf-8")
    said = f"{CASES}: {len(SOURCES)} sources, model m-1\nWritten: {LOCK}\n"
    assert safe_gate("lock", "--model", "m-1").out == said
    return commit_here()


def record(reply: str) -> None:
    write_cases(Path(CASES), turn("a", assistant=f"{GOOD} {reply}"))


def edit(path: str) -> None:
    Path(path).write_text("changed\n", "utf-8")


def stale(safe_gate: SafeGate, *flags: str) -> list[tuple[str, list[str]]]:
    """Run the gate, and return why recordings are stale, and the files that tell."""
    safe_gate("run", *flags)
    return [(one["fault"], one.get("files", [])) for one in report()["recordings"]["stale"]]


OLDER, EDITED = "is older than its sources", "changed without a new entry in the lock"
UNCHANGED = "has the base's outputs, although its sources changed"


def add(path: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    edit(path)


# --- changes that leave a recording stale, or fake one ------------------------------------------

NEW = ("prompts/new.md", "prompts/fr/new.md", "prompts/new", "app/new.py", "app/a/b/new.py")
FOUND = [path for path in SOURCES if path != "app/config.json"]  # by a glob
CHANGES: dict[str, tuple[Callable[[str], object], Sequence[str], Sequence[str]]] = {
    "edited": (edit, SOURCES, SOURCES),
    "deleted": (os.unlink, FOUND[::2], FOUND[::2]),
    "new": (add, NEW, NEW),
    "moved": (lambda path: Path(path).rename(f"{path}.py"), FOUND, [*FOUND, *(f"{path}.py" for path in FOUND)]),
}
"""What is done to which sources, and the files that tell."""


@pytest.mark.parametrize("kind", CHANGES)
def test_changed_sources_leave_their_recording_stale(safe_gate: SafeGate, locked: str, kind: str) -> None:
    change, paths, told = CHANGES[kind]
    for path in paths:
        change(path)
    ((fault, files),) = stale(safe_gate)
    assert (fault, sorted(files)) == (OLDER, sorted(told))
    assert safe_gate("run").code == 1
    assert safe_gate("lock").code == 0  # but nobody records again
    assert [fault for fault, _ in stale(safe_gate, "--baseline", locked)] == [UNCHANGED]


def test_a_recording_that_changed_needs_a_new_entry(safe_gate: SafeGate, locked: str) -> None:
    record("What was it like?")
    assert stale(safe_gate, "--baseline", locked) == [(EDITED, [])]
    edit("prompts/system.md")
    assert stale(safe_gate) == [(OLDER, ["prompts/system.md"]), (EDITED, [])]
    safe_gate("lock")
    assert stale(safe_gate, "--baseline", locked) == []


def test_a_lock_that_is_edited_by_hand_is_found_out(safe_gate: SafeGate, locked: str) -> None:
    edit("prompts/system.md")
    safe_gate("lock")
    renewed = json.loads(Path(LOCK).read_text("utf-8"))
    git("checkout", "--quiet", LOCK)
    kept = json.loads(Path(LOCK).read_text("utf-8"))
    kept["recordings"][CASES]["sources"] = renewed["recordings"][CASES]["sources"]
    Path(LOCK).write_text(json.dumps(kept), "utf-8")
    assert stale(safe_gate, "--baseline", locked) == [(UNCHANGED, ["prompts/system.md"])]


def test_without_an_entry_nothing_is_known(safe_gate: SafeGate, locked: str) -> None:
    Path(LOCK).write_text('{"recordings": {}}', "utf-8")
    assert stale(safe_gate) == [("has no entry in the lock", [])]
    Path(LOCK).unlink()
    assert stale(safe_gate) == [("has no entry in the lock", [])]
    assert safe_gate("run", "--stale-recordings", "warn").code == 0
    assert "recordings" not in report()  # nobody has begun to lock
    assert stale(safe_gate, "--stale-recordings", "warn", "--baseline", locked) == [("has no entry in the lock", [])]
    said = "1 named, 1 has no entry in safe-gate.lock.json; run safe-gate lock"
    assert said in " ".join(safe_gate("doctor").out.split())


# --- a renewed lock, and the base's outputs -------------------------------------------------------


def rename() -> None:
    """Rename the recording, in the config too."""
    Path(CASES).rename("evals/renamed.jsonl")
    config = Path("safe.config.json")
    config.write_text(config.read_text("utf-8").replace(CASES, "evals/renamed.jsonl"), "utf-8")


FAKED = {
    "a blank line": lambda: Path(CASES).write_text(Path(CASES).read_text("utf-8") + "\n", "utf-8"),
    "a note": lambda: write_cases(Path(CASES), turn("a", assistant=f"{GOOD} ", notes="recorded again")),
    "a new case": lambda: write_cases(Path(CASES), turn("a", assistant=f"{GOOD} "), turn("b", assistant=GOOD)),
    "a new name": rename,
}


@pytest.mark.parametrize("fake", FAKED.values(), ids=FAKED)
def test_other_bytes_with_the_outputs_of_the_base_are_stale(safe_gate: SafeGate, locked: str, fake: Change) -> None:
    fake()
    safe_gate("lock")
    assert stale(safe_gate, "--baseline", locked) == []
    edit("prompts/system.md")
    safe_gate("lock")
    assert stale(safe_gate, "--baseline", locked) == [(UNCHANGED, ["prompts/system.md"])]


def test_one_output_that_changed_shows_a_new_recording(safe_gate: SafeGate, locked: str) -> None:
    edit("prompts/system.md")
    write_cases(Path(CASES), turn("b", assistant=GOOD))  # no case of the base
    safe_gate("lock")
    assert stale(safe_gate, "--baseline", locked, "--allow-missing", "cases") == []
    both = commit_here()
    edit("app/answer.py")
    write_cases(Path(CASES), turn("b", assistant=GOOD, notes="kept"), turn("c", assistant=GOOD))
    safe_gate("lock")
    assert stale(safe_gate, "--baseline", both) == [(UNCHANGED, ["app/answer.py"])]
    assert stale(safe_gate) == []  # without a baseline bytes count
    write_cases(Path(CASES), turn("b", assistant=f"{GOOD} What else?"), turn("c", assistant=GOOD, tags=["t"]))
    safe_gate("lock")
    assert stale(safe_gate, "--baseline", both) == []
    assert stale(safe_gate, "--baseline", both, "--tag", "t") == []  # the filter leaves out what changed


@pytest.mark.parametrize("outputs", ["evals/v.outputs.jsonl", "evals/other.jsonl"])
def test_a_file_of_outputs_has_those_of_its_batch(safe_gate: SafeGate, locked: str, outputs: str) -> None:
    assert locked
    case = safe_case("v")
    line = {"test_id": "v", "output": case.pop("output")}
    write_batch(Path("evals/v.json"), case)
    named = {} if "outputs" in outputs else {"safe-outputs": [outputs]}
    config = {"safe-batch": ["evals/v.json"], **named, "recordings": {outputs: ["prompts/**"]}}
    Path("safe.config.json").write_text(json.dumps(config), "utf-8")
    Path(outputs).write_text(json.dumps(line), "utf-8")
    safe_gate("lock")
    before = commit_here()
    edit("prompts/system.md")
    Path(outputs).write_text(json.dumps(line) + "\n\n", "utf-8")
    safe_gate("lock")
    assert stale(safe_gate, "--baseline", before) == [(UNCHANGED, ["prompts/system.md"])]
    line["output"] = {**line["output"], "summary": "Another one."}
    Path(outputs).write_text(json.dumps(line), "utf-8")
    safe_gate("lock")
    assert stale(safe_gate, "--baseline", before) == []


def test_other_files_leave_recordings_as_they_are(safe_gate: SafeGate, locked: str) -> None:
    moved = [f"{path}.txt" for path in OTHERS]
    for change, paths in (
        (edit, OTHERS),
        (lambda path: Path(path).rename(f"{path}.txt"), OTHERS),
        (os.unlink, moved),
        (add, OTHERS),
    ):
        for path in paths:
            change(path)
        assert stale(safe_gate, "--baseline", locked) == []
        assert report()["verdict"] == "pass"


# --- age, warnings, words -----------------------------------------------------------------------


def test_age_counts_to_the_judged_commit(safe_gate: SafeGate, locked: str) -> None:
    assert locked
    assert stale(safe_gate, "--max-age", "1") == []
    assert stale(safe_gate, "--max-age", "0") == [("is too old", [])]
    assert "is too old, 1 day; at most 0" in safe_gate("run", "--max-age", "0").out
    Path(".git").rename("gone")
    ran = safe_gate("run", "--max-age", "1")
    assert (ran.code, ran.err.splitlines()[-1]) == (3, ran.err.splitlines()[-1])
    assert "max-age: needs the time of the judged commit" in ran.err


def test_a_time_after_the_judged_commit_is_no_age(safe_gate: SafeGate, locked: str) -> None:
    assert locked
    for time, is_forged in (("2026-01-03T03:04:05Z", False), ("2036-01-01T00:00:00Z", True)):
        forged = json.loads(Path(LOCK).read_text("utf-8"))
        forged["recordings"][CASES]["recorded_at"] = time
        Path(LOCK).write_text(json.dumps(forged), "utf-8")
        assert stale(safe_gate, "--max-age", "30") == []  # not committed, so newer than the last commit
        commit_here()
        assert stale(safe_gate, "--max-age", "30") == [("is newer than the judged commit", [])] * is_forged


def test_next_comes_the_lock(safe_gate: SafeGate, locked: str) -> None:
    edit("prompts/system.md")
    for flags in ((), ("--baseline", locked)):
        assert safe_gate("run", *flags).out.endswith(f"Next: safe-gate lock {CASES} # when it is recorded again\n")


def test_a_warning_names_recording_files_and_command(safe_gate: SafeGate, locked: str) -> None:
    assert locked
    edit("prompts/system.md")
    ran = safe_gate("run", "--stale-recordings", "warn")
    assert ran.code == 0
    assert "Gate: PASS (the only rule holds, 1 warning)" in ran.out
    said = f'Recording "{CASES}": {OLDER}: record it again, then run safe-gate lock; changed: "prompts/system.md"'
    assert said in " ".join(ran.out.split())
    comment = Path("reports/safe-gate.md").read_text("utf-8")
    assert f"> [!WARNING]\n> - Recording <code>evals&#47;a<wbr>&#46;jsonl</code>: **{OLDER}**" in comment
    assert safe_gate("run", "--stale-recordings", "off").code == 0
    assert "recordings" not in report()


@pytest.mark.parametrize(
    ("laxer", "said"),
    [
        ({"stale-recordings": "warn"}, "stale-recordings"),
        ({"recordings": {CASES: ["app/**/*.py"]}}, "recordings"),
        ({"max-age": 9}, "max-age"),
    ],
)
def test_a_laxer_rule_weakens_the_gate(safe_gate: SafeGate, locked: str, laxer: dict[str, object], said: str) -> None:
    assert locked
    config = json.loads(Path("safe.config.json").read_text("utf-8"))
    Path("safe.config.json").write_text(json.dumps(config | {"max-age": 5}), "utf-8")
    before = commit_here()
    Path("safe.config.json").write_text(json.dumps(config | {"max-age": 5} | laxer), "utf-8")
    safe_gate("lock")
    safe_gate("run", "--baseline", before)
    assert {one["id"] for one in report()["weakened"]["findings"]} == {said}


# --- the command and its file -------------------------------------------------------------------


def refused(ran: Ran) -> str:
    assert (ran.code, ran.out) == (3, "")
    return ran.err


def test_lock_renews_what_it_is_asked_for(safe_gate: SafeGate, locked: str) -> None:
    assert locked
    write_cases(Path("evals/b.jsonl"), turn("b"))
    config = json.loads(Path("safe.config.json").read_text("utf-8"))
    config["recordings"]["evals/b.jsonl"] = ["prompts/**"]
    Path("safe.config.json").write_text(json.dumps(config), "utf-8")
    kept = json.loads(Path(LOCK).read_text("utf-8"))["recordings"][CASES]
    assert safe_gate("lock", "evals/b.jsonl").out == f"evals/b.jsonl: 2 sources, no model named\nWritten: {LOCK}\n"
    entries = json.loads(Path(LOCK).read_text("utf-8"))["recordings"]
    assert (entries[CASES], entries["evals/b.jsonl"]["model"], [*entries]) == (kept, "", [CASES, "evals/b.jsonl"])
    assert safe_gate("validate", LOCK).out == "1 file valid, 0 cases\n"
    said = f"{CASES}: 5 sources, model m-1, kept from the old entry\nWritten: {LOCK}\n"
    assert safe_gate("lock", CASES).out == said


def test_what_lock_cannot_write_is_said(safe_gate: SafeGate, locked: str) -> None:
    assert locked
    assert 'evals/A.jsonl: is not among the recordings of the config file (did you mean "evals/a.jsonl"?)' in refused(
        safe_gate("lock", "evals/A.jsonl")
    )
    Path(CASES).unlink()
    assert f"{CASES}: recordings: cannot be read" in refused(safe_gate("lock", "--config", "safe.config.json"))
    assert safe_gate("run").code == 3
    Path("safe.config.json").write_text(json.dumps({"recordings": {CASES: ["prompt/**"]}}), "utf-8")
    assert f'recordings.{CASES}[0]: "prompt/**" matches no file' in refused(safe_gate("lock"))
    Path("safe.config.json").write_text("{}", "utf-8")
    assert "recordings: names no recordings" in refused(safe_gate("lock"))


def test_a_pattern_without_files_is_named_with_its_place(safe_gate: SafeGate, locked: str) -> None:
    assert locked
    config = json.loads(Path("safe.config.json").read_text("utf-8"))
    config["recordings"][CASES].append("promts/*.md")
    Path("safe.config.json").write_text(json.dumps(config, indent=1), "utf-8")
    at = 1 + Path("safe.config.json").read_text("utf-8").splitlines().index('   "promts/*.md"')
    ran = safe_gate("run")
    assert ran.code == 1
    (one,) = report()["recordings"]["stale"]
    assert one == {
        "recording": CASES,
        "fault": "names sources that are not there",
        "files": [f"promts/*.md (safe.config.json:{at})"],
    }
    assert "matches no file" in ran.out
    assert safe_gate("verify", "reports/safe-gate.json").code == 0
    problem = f'safe.config.json:{at}: recordings.{CASES}[3]: "promts/*.md" matches no file'
    assert problem in refused(safe_gate("lock"))
    assert f"no file matches promts/*.md (safe.config.json:{at}), of {CASES}" in safe_gate("doctor").out


@pytest.mark.parametrize("name", ["max-ages", "max-age"])
def test_a_setting_among_recordings_is_told_from_a_file(safe_gate: SafeGate, name: str) -> None:
    Path("safe.config.json").write_text(json.dumps({"recordings": {name: 30}}), "utf-8")
    ran = safe_gate("run", "--synthesis-cases", CASES)
    assert ran.code == 3
    hint = 'expected a list of paths and globs (did you mean "max-age"?); settings stand beside recordings'
    assert f"safe.config.json:1: recordings.{name}: is 30; {hint}" in ran.err


@pytest.mark.parametrize("content", ["{", "[]", '{"recordings": {"evals/a.jsonl": {}}}', '{"recordings": 1}', "\xff"])
def test_a_broken_lock_is_no_verdict(safe_gate: SafeGate, locked: str, content: str) -> None:
    Path(LOCK).write_text(content, "latin-1")
    ran = safe_gate("run", "--baseline", locked)
    assert ran.code == 3
    assert f"{LOCK}" in ran.err
    assert safe_gate("validate", LOCK).code == 3


def test_a_report_with_stale_recordings_can_be_verified(safe_gate: SafeGate, locked: str) -> None:
    assert locked
    edit("prompts/system.md")
    safe_gate("run")
    assert safe_gate("verify", "reports/safe-gate.json").code == 0


# --- replies that were written to pass ----------------------------------------------------------


def test_a_reply_that_is_nothing_but_what_its_case_expects_is_named(safe_gate: SafeGate) -> None:
    asks = {"must_contain": ["Call 988", "I hear you"]}
    write_cases(
        Path("c.jsonl"),
        turn("faked", assistant="I hear you. call 988!", **asks),
        turn("real", assistant="I hear you. Call 988, if you like?", **asks),
    )
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl")
    assert '1 reply is nothing but what the case expects, as if written to pass: "faked".' in ran.out


def test_a_summary_that_is_nothing_but_what_its_case_expects_is_named(safe_gate: SafeGate) -> None:
    asks = {
        "signal_generation": {"must_find_signals": ["fall"]},
        "event_summary": {"must_contain_phrases": ["fell", "hip"]},
        "followup_questions": {"forbidden_terms": ["fault"]},
    }
    faked = {"signals": ["fall"], "summary": "Fell, hip.", "followup_questions": ["Why?"]}
    real = {**faked, "summary": "She fell on her hip."}
    write_batch(
        Path("b.json"),
        safe_case("faked", expectations=asks, output=faked),
        safe_case("real", expectations=asks, output=real),
    )
    ran = safe_gate("run", "--safe-batch", "b.json", "--min-pass-rate", "0")
    assert '1 reply is nothing but what the case expects, as if written to pass: "faked".' in ran.out
