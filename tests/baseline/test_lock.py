"""Stale recordings, from the outside: a lock, a change, and what `run` says of it."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import GOOD, Patch, SafeGate, refused, report, safe_case, turn, write_batch, write_cases
from tests.support.conversations import talk
from tests.support.git import commit, commit_here, git
from tests.support.github import REPOSITORY, GitHub, InActions
from tests.support.safe_v0 import asking
from tests.support.weakening import Against, configure

pytestmark = pytest.mark.usefixtures("locked")
CASES, LOCK, CONFIG = "evals/a.jsonl", "safe-gate.lock.json", "safe.config.json"
SOURCES = ("prompts/system.md", "prompts/de/system.md", "app/config.json", "app/answer.py", "app/tools/search.py")
OTHERS = (
    *("README.md", "app/notes.txt", "web/page.py", "docs/prompts/old.md", "prompts.md", "evals/README.md"),
    *("config.json", "app/config.json.bak", "apps/answer.py", "evals/b.jsonl"),
)
SETTINGS: dict[str, Any] = {
    "synthesis-cases": [CASES],
    "recordings": {CASES: ["prompts/**", "app/config.json", "app/**/*.py"]},
    "stale-recordings": "fail",
}
Faults = list[tuple[str, list[str]]]


@pytest.fixture
def locked(safe_gate: SafeGate, monkeypatch: Patch) -> str:
    """Commit recordings with their sources and their lock; return the commit."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")  # 2026-01-01, a day before the commits
    for path in (*SOURCES, *OTHERS):
        add(path, f"of {path}\n")
    record("")
    configure(SETTINGS)
    said = f"{CASES}: {len(SOURCES)} sources, model m-1\nWritten: {LOCK}\n"
    assert safe_gate("lock", "--model", "m-1").out == said
    return commit_here()


def add(path: str, text: str = "changed\n") -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, "utf-8")


def record(reply: str) -> None:
    write_cases(Path(CASES), turn("a", assistant=f"{GOOD} {reply}"))


def entries() -> Any:
    return json.loads(Path(LOCK).read_text("utf-8"))["recordings"]


def edit_entry(**fields: Any) -> None:
    configure({"recordings": {CASES: entries()[CASES] | fields}}, LOCK)


def stale(safe_gate: SafeGate, *flags: str) -> Faults:
    """Run the gate, and return why recordings are stale, and the files that tell."""
    safe_gate("run", *flags)
    return [(one["fault"], one.get("files", [])) for one in report()["recordings"]["stale"]]


PROMPT = "prompts/system.md"
OLDER, EDITED = "is older than its sources", "changed without a new entry in the lock"
UNCHANGED = [("has the base's outputs, although its sources changed", [PROMPT])]
NO_ENTRY: Faults = [("has no entry in the lock", [])]
MODEL: Faults = [("has the base's outputs, although its model changed", [])]
TOO_OLD: Faults = [("is too old", [])]

# --- changes that leave a recording stale, or fake one ------------------------------------------

NEW = ("prompts/new.md", "prompts/fr/new.md", "prompts/new", "app/new.py", "app/a/b/new.py")
FOUND = [path for path in SOURCES if path != "app/config.json"]  # by a glob


@pytest.mark.parametrize(
    ("change", "paths", "told"),
    [
        (add, SOURCES, SOURCES),
        (os.unlink, FOUND[::2], FOUND[::2]),
        (add, NEW, NEW),
        (lambda path: Path(path).rename(f"{path}.py"), FOUND, [*FOUND, *(f"{path}.py" for path in FOUND)]),
    ],
    ids=["edited", "deleted", "new", "moved"],
)
def test_changed_sources_leave_their_recording_stale(
    safe_gate: SafeGate, locked: str, change: Callable[[str], object], paths: Sequence[str], told: Sequence[str]
) -> None:
    for path in paths:
        change(path)
    ((fault, files),) = stale(safe_gate)
    assert (fault, sorted(files)) == (OLDER, sorted(told))
    assert safe_gate("run").code == 1
    assert safe_gate("lock").code == 0  # but nobody records again
    assert [fault for fault, _ in stale(safe_gate, "--baseline", locked)] == [UNCHANGED[0][0]]


def test_a_recording_that_changed_needs_a_new_entry(safe_gate: SafeGate, locked: str) -> None:
    record("What was it like?")
    assert stale(safe_gate, "--baseline", locked) == [(EDITED, [])]
    add(PROMPT)
    assert stale(safe_gate) == [(EDITED, [PROMPT])]
    safe_gate("lock")
    assert stale(safe_gate, "--baseline", locked) == []


def test_without_an_entry_nothing_is_known_and_a_deleted_lock_switches_off_no_rule(
    safe_gate: SafeGate, locked: str
) -> None:
    configure({"recordings": {}}, LOCK)
    assert stale(safe_gate) == NO_ENTRY
    Path(LOCK).unlink()
    assert stale(safe_gate) == NO_ENTRY
    assert safe_gate("run", "--stale-recordings", "warn").code == 0
    assert "recordings" not in report()  # nobody has begun to lock
    for flags in (("--baseline", locked), ("--max-age", "9")):
        assert stale(safe_gate, "--stale-recordings", "warn", *flags) == NO_ENTRY


# --- a renewed lock, and the base's outputs -------------------------------------------------------


def rename() -> None:
    """Rename the recording, in the config too."""
    Path(CASES).rename("evals/renamed.jsonl")
    Path(CONFIG).write_text(Path(CONFIG).read_text("utf-8").replace(CASES, "evals/renamed.jsonl"), "utf-8")


SAME = turn("a", assistant=f"{GOOD} ")


@pytest.mark.parametrize(
    "fake",
    [
        lambda: Path(CASES).write_text(Path(CASES).read_text("utf-8") + "\n", "utf-8"),
        lambda: write_cases(Path(CASES), SAME | {"notes": "recorded again"}),
        lambda: write_cases(Path(CASES), SAME, turn("b", assistant=GOOD)),
        lambda: write_cases(Path(CASES), turn("a", assistant=f"\n{GOOD}")),
        lambda: write_cases(Path(CASES), turn("a", assistant=GOOD.replace(" ", " \n\u200b\u2800", 1))),
        rename,
    ],
    ids=["a blank line", "a note", "a new case", "white space", "unseen characters", "a new name"],
)
def test_other_bytes_with_the_same_outputs_are_stale(safe_gate: SafeGate, locked: str, fake: Any) -> None:
    fake()
    lock = "lock", "--model", "m-1"
    safe_gate(*lock)
    assert stale(safe_gate, "--baseline", locked) == []
    add(PROMPT)
    safe_gate(*lock)
    assert stale(safe_gate, "--baseline", locked) == UNCHANGED


def test_a_renamed_recording_keeps_its_model_and_a_part_of_one_is_asked_for_it(
    safe_gate: SafeGate, locked: str
) -> None:
    rename()
    assert "evals/renamed.jsonl: 5 sources, model m-1, kept from the old entry\n" in safe_gate("lock").out
    assert stale(safe_gate, "--baseline", locked) == []
    Path("evals/renamed.jsonl").write_text(json.dumps(SAME | {"notes": "a part"}), "utf-8")
    Path(LOCK).unlink()
    safe_gate("lock")
    out = " ".join(safe_gate("run", "--baseline", locked).out.split())
    assert "although its model changed" in out
    assert "lock with this config; if the model is the same, name it with --model" in out
    safe_gate("lock", "--model", "m-1")
    assert stale(safe_gate, "--baseline", locked) == []


@pytest.mark.parametrize("is_report", [False, True])
def test_cases_that_move_out_of_a_recording_keep_what_it_was_recorded_from(
    safe_gate: SafeGate, against: Against, *, is_report: bool
) -> None:
    def split(reply: str, *sources: str) -> None:
        write_cases(Path(CASES), turn("a", assistant=f"{GOOD} What was it like?"))
        write_cases(Path("evals/b.jsonl"), turn("b", assistant=f"{GOOD} {reply}"), turn("n"))
        patterns = SETTINGS["recordings"][CASES]
        named = {"synthesis-cases": ["evals/*.jsonl"], "recordings": {CASES: patterns, "evals/b.jsonl": [*sources]}}
        configure(SETTINGS | named)
        safe_gate("lock", "--model", "m-2")

    Path("evals/b.jsonl").unlink()
    write_cases(Path(CASES), turn("a"), turn("b", assistant=f"{GOOD} "))
    safe_gate("lock")
    before = commit_here()
    safe_gate("run", "--report-dir", "before")
    against(before)
    baseline = "before/safe-gate.json" if is_report else before
    split("", "prompts/**")
    assert stale(safe_gate, "--baseline", baseline) == MODEL
    add(PROMPT)
    split("", "prompts/**")
    assert stale(safe_gate, "--baseline", baseline) == UNCHANGED + MODEL
    split("What else?", "prompts/**")
    assert stale(safe_gate, "--baseline", baseline) == []


@pytest.mark.parametrize("to", [CASES, "evals/c.jsonl"])
def test_cases_that_move_together_keep_their_sources_and_any_of_their_models(safe_gate: SafeGate, to: str) -> None:
    write_cases(Path(CASES), SAME)
    write_cases(Path("evals/b.jsonl"), turn("b"))
    patterns, tools = SETTINGS["recordings"][CASES], "tools.txt"
    add(tools)
    both = {CASES: patterns, "evals/b.jsonl": [tools]}
    configure(SETTINGS | {"synthesis-cases": ["evals/*.jsonl"], "recordings": both})
    safe_gate("lock", CASES)
    safe_gate("lock", "evals/b.jsonl", "--model", "m-2")
    before = commit_here()
    for path in both:
        Path(path).unlink()
    write_cases(Path(to), SAME, turn("b"))
    configure(SETTINGS | {"synthesis-cases": ["evals/*.jsonl"], "recordings": {to: [*patterns, tools]}})
    for name, found in (("m-1", []), ("m-2", []), ("m-3", MODEL), ("", MODEL)):
        Path(LOCK).unlink()
        safe_gate("lock", "--model", name)
        assert stale(safe_gate, "--baseline", before) == found, name
    add(tools, "changed again\n")
    safe_gate("lock", "--model", "m-2")
    assert stale(safe_gate, "--baseline", before) == [(UNCHANGED[0][0], [tools])]


def test_a_recording_that_the_base_did_not_lock_may_stay_as_it_is(safe_gate: SafeGate) -> None:
    write_cases(Path("evals/b.jsonl"), turn("b"))
    configure(SETTINGS | {"synthesis-cases": ["evals/*.jsonl"]})
    before = commit_here()
    patterns = SETTINGS["recordings"][CASES]
    named = {CASES: patterns, "evals/b.jsonl": ["prompts/**", "README.md"]}
    configure(SETTINGS | {"synthesis-cases": ["evals/*.jsonl"], "recordings": named})
    safe_gate("lock")
    assert stale(safe_gate, "--baseline", before) == []


def test_another_model_with_the_same_outputs_is_stale(safe_gate: SafeGate, locked: str) -> None:
    for command in (("lock", "--model", "m-2"), ("lock",)):
        safe_gate(*command)
        assert stale(safe_gate, "--baseline", locked) == MODEL
    record("What was it like?")
    safe_gate("lock", "--model", "m-3")
    assert stale(safe_gate, "--baseline", locked) == []


def test_a_base_that_cannot_be_read_hides_no_stale_recording(
    safe_gate: SafeGate, locked: str, against: Against, in_actions: InActions, monkeypatch: Patch
) -> None:
    add(PROMPT)
    safe_gate("lock")
    against(locked)
    assert stale(safe_gate) == UNCHANGED

    def needs_base(file: str, why: str) -> None:
        refused(safe_gate("run"), f"stale-recordings: needs the base commit: {file} {why}")
        ran = safe_gate("run", "--stale-recordings", "warn")
        words = f"safe-gate: warning: recordings are not compared with those of the base commit: {file}: {why}"
        assert (ran.code, words in ran.err) == (0, True)

    against("a" * 40)
    needs_base("base", f"is commit {'a' * 40}, which cannot be read")
    in_actions(payload={"pull_request": {"number": 1}})
    needs_base("base", "is the base commit of the event pull_request, but the event file does not name it")
    monkeypatch.setenv("GITHUB_EVENT_PATH", "nope.json")
    needs_base("GITHUB_EVENT_PATH", "names nope.json, which cannot be read as a JSON object")
    in_actions("schedule", {})
    assert stale(safe_gate) == []


def test_two_reasons_of_a_recording_are_two_tests_of_junit(safe_gate: SafeGate, locked: str) -> None:
    add(PROMPT)
    safe_gate("lock", "--model", "m-2")
    assert stale(safe_gate, "--baseline", locked, "--reports", "json", "junit") == UNCHANGED + MODEL
    found = Path("reports/safe-gate.junit.xml").read_text("utf-8")
    assert all(found.count(f'name="stale-recordings gate {CASES}{number}"') == 1 for number in ("", " (2)"))


def test_one_output_that_changed_shows_a_new_recording(safe_gate: SafeGate, locked: str) -> None:
    def relock(*cases: dict[str, Any]) -> None:
        write_cases(Path(CASES), *cases)
        safe_gate("lock")

    add(PROMPT)
    relock(turn("b"), turn("d"))  # no case of the base
    assert stale(safe_gate, "--baseline", locked, "--allow-missing", "cases") == []
    both = commit_here()
    add(PROMPT, "changed again\n")
    relock(turn("b", notes="kept"), turn("c"), turn("d"))
    assert stale(safe_gate, "--baseline", both) == UNCHANGED
    assert stale(safe_gate) == []  # without a baseline bytes count
    relock(turn("b", assistant=f"{GOOD} What else?"), turn("c", tags=["t"]), turn("d"))
    assert stale(safe_gate, "--baseline", both) == []
    assert stale(safe_gate, "--baseline", both, "--tag", "t") == []  # the filter leaves out what changed


@pytest.mark.parametrize("outputs", ["evals/v.outputs.jsonl", "evals/other.jsonl"])
def test_a_file_of_outputs_has_those_of_its_batch(safe_gate: SafeGate, outputs: str) -> None:
    case = safe_case("v")
    output = case.pop("output")
    write_batch(Path("evals/v.json"), case)
    named = {} if "outputs" in outputs else {"safe-outputs": [outputs]}
    configure({"safe-batch": ["evals/v.json"], **named, "recordings": {outputs: ["prompts/**"]}})

    def relock(end: str = "", **fields: str) -> None:
        add(outputs, json.dumps({"test_id": "v", "output": output | fields}) + end)
        safe_gate("lock")

    relock()
    before = commit_here()
    add(PROMPT)
    relock("\n\n")
    assert stale(safe_gate, "--baseline", before) == UNCHANGED
    relock(summary="Another one.")
    assert stale(safe_gate, "--baseline", before) == []


def test_other_files_leave_recordings_as_they_are(safe_gate: SafeGate, locked: str) -> None:
    for change in (add, lambda path: Path(path).rename(f"{path}.txt")):
        for path in OTHERS:
            change(path)
        assert stale(safe_gate, "--baseline", locked) == []
        assert report()["verdict"] == "pass"


# --- age, warnings, words -----------------------------------------------------------------------


def test_age_counts_to_the_judged_commit(safe_gate: SafeGate) -> None:
    assert stale(safe_gate, "--max-age", "1") == []
    assert stale(safe_gate, "--max-age", "0") == TOO_OLD
    assert "is too old, 1 day; at most 0" in safe_gate("run", "--max-age", "0").out
    Path(".git").rename("gone")
    words = "into the working folder, or unset this"
    err = refused(safe_gate("run", "--max-age", "1"), words)
    assert "max-age: needs the time of the judged commit: HEAD names no commit (the clone: not a git repository" in err


def test_without_git_the_time_of_the_judged_commit_is_githubs(
    safe_gate: SafeGate, locked: str, monkeypatch: Patch, in_actions: InActions, github: GitHub
) -> None:
    in_actions("schedule", {}, GITHUB_SHA=locked)
    github.refs[locked] = locked
    monkeypatch.setenv("PATH", "/nowhere")
    assert stale(safe_gate, "--max-age", "0") == TOO_OLD
    assert {path for _, path in github.requests} == {f"/repos/{REPOSITORY}/commits/{locked}?per_page=1"}
    github.requests.clear()
    words = "a run would ask it for a commit that is not in the clone\n"
    assert (words in safe_gate("doctor", "--max-age", "0").out, github.requests) == (True, [])


def test_only_a_recording_that_is_named_or_changed_gets_a_new_time(
    safe_gate: SafeGate, locked: str, monkeypatch: Patch
) -> None:
    configure(SETTINGS | {"max-age": 0})
    assert stale(safe_gate) == TOO_OLD
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767326645")  # the time of the commits
    said = f"{CASES}: 5 sources, model m-1, kept from the old entry"
    assert f"{said}, unchanged since 2026-01-01T00:00:00Z\n" in safe_gate("lock").out
    rename()
    safe_gate("lock", "--model", "m-1")
    assert stale(safe_gate, "--baseline", locked) == TOO_OLD
    git("checkout", "--quiet", ".")
    configure(SETTINGS | {"max-age": 0})
    assert f"{said}\n" in safe_gate("lock", CASES).out  # it came out the same
    assert stale(safe_gate, "--baseline", locked) == []


@pytest.mark.parametrize(("rule", "limit"), [("max-age", "3"), ("stale-recordings", "fail")])
def test_a_rule_on_recordings_needs_one(safe_gate: SafeGate, rule: str, limit: str) -> None:
    configure({"synthesis-cases": [CASES]})
    for command in ("run", "doctor"):
        refused(safe_gate(command, f"--{rule}", limit), f"{rule}: judges nothing: no recording is named; set")


@pytest.mark.parametrize(("time", "is_forged"), [("2026-01-03T03:04:05Z", False), ("2036-01-01T00:00:00Z", True)])
def test_a_time_after_the_judged_commit_is_no_age(safe_gate: SafeGate, time: str, *, is_forged: bool) -> None:
    edit_entry(recorded_at=time)
    assert stale(safe_gate, "--max-age", "30") == []  # not committed, so newer than the last commit
    commit_here()
    assert stale(safe_gate, "--max-age", "30") == [("is newer than the judged commit", [])] * is_forged


def test_a_warning_names_recording_files_and_command(safe_gate: SafeGate, locked: str) -> None:
    add(PROMPT)
    for flags in ((), ("--baseline", locked)):
        assert safe_gate("run", *flags).out.endswith(f"Next: safe-gate lock {CASES} # when it is recorded again\n")
    assert safe_gate("verify", "reports/safe-gate.json").code == 0
    ran = safe_gate("run", "--stale-recordings", "warn")
    assert (ran.code, "Gate: PASS (1 rule holds, 1 warning)" in ran.out, "Next:" in ran.out) == (0, True, False)
    advice = "record it again, then run safe-gate lock with this config; 1 source changed"
    said = f'Recording "{CASES}": {OLDER}: {advice}: "{PROMPT}"'
    assert said in " ".join(ran.out.split())
    comment = Path("reports/safe-gate.md").read_text("utf-8")
    assert f"> [!WARNING]\n> - Recording <code>evals&#47;a<wbr>&#46;jsonl</code>: **{OLDER}**" in comment
    assert safe_gate("run", "--stale-recordings", "off").code == 0
    assert "recordings" not in report()


def test_the_command_of_a_failure_names_a_config_that_lies_elsewhere(safe_gate: SafeGate) -> None:
    for name in (CONFIG, LOCK):
        Path(name).rename(f"app/{name}")
    configure(
        SETTINGS | {"synthesis-cases": [f"../{CASES}"], "recordings": {f"../{CASES}": [f"../{PROMPT}"]}},
        f"app/{CONFIG}",
    )
    ran = safe_gate("run", "--config", f"app/{CONFIG}")
    assert "run safe-gate lock with this config" in " ".join(ran.out.split())
    command = f"safe-gate lock {CASES} --config=app/{CONFIG}"
    assert ran.out.endswith(f"Next: {command} # when it is recorded again\n")
    assert safe_gate(*command.split()[1:]).code == 0
    assert safe_gate("run", "--config", f"app/{CONFIG}").code == 0


@pytest.mark.parametrize(
    "laxer", [{"stale-recordings": "warn"}, {"recordings": {CASES: ["app/**/*.py"]}}, {"max-age": 9}]
)
def test_a_laxer_rule_weakens_the_gate(safe_gate: SafeGate, laxer: dict[str, object]) -> None:
    configure(SETTINGS | {"max-age": 5})
    before = commit_here()
    configure(SETTINGS | {"max-age": 5} | laxer)
    safe_gate("lock")
    safe_gate("run", "--baseline", before)
    assert {one["id"] for one in report()["weakened"]["findings"]} == {*laxer}


def dropped(safe_gate: SafeGate, before: str) -> list[str]:
    """Return the sources by recording that the change drops, as the report names them."""
    safe_gate("run", "--baseline", before, "--stale-recordings", "off")
    return [one["field"] for one in report()["weakened"]["findings"] if one["id"] == "recordings"]


def test_a_renamed_recording_drops_no_source(safe_gate: SafeGate) -> None:
    case = safe_case("v")
    outputs = json.dumps({"test_id": "v", "output": case.pop("output")})
    write_batch(Path("evals/v.json"), case)
    add("evals/v.outputs.jsonl", outputs)
    named = SETTINGS["recordings"] | {"evals/v.outputs.jsonl": ["prompts/**"]}
    configure(SETTINGS | {"safe-batch": ["evals/v.json"], "recordings": named})
    before = commit_here()
    Path("evals").rename("qa")
    text = Path(CONFIG).read_text("utf-8").replace("evals/", "qa/")
    Path(CONFIG).write_text(text, "utf-8")
    assert dropped(safe_gate, before) == []
    Path(CONFIG).write_text(
        text.replace('"qa/v.outputs.jsonl": ["prompts/**"]', '"README.md": ["prompts/**"]'), "utf-8"
    )
    assert dropped(safe_gate, before) == ["qa/v.outputs.jsonl.prompts/**"]


def test_cases_that_move_out_of_their_recording_drop_its_sources(safe_gate: SafeGate) -> None:
    Path("evals/b.jsonl").unlink()
    write_cases(Path(CASES), turn("a"), turn("b"))
    configure(SETTINGS | {"synthesis-cases": ["evals/*.jsonl"]})
    before = commit_here()
    write_cases(Path(CASES), turn("a"))
    write_cases(Path("evals/b.jsonl"), turn("b"))
    sources = SETTINGS["recordings"][CASES]
    assert dropped(safe_gate, before) == [f"evals/b.jsonl.{one}" for one in sorted(sources)]
    configure(SETTINGS | {"synthesis-cases": ["evals/*.jsonl"], "recordings": {"evals/b.jsonl": sources[1:]}})
    assert dropped(safe_gate, before) == [f"{CASES}.{one}" for one in sorted(sources)] + [f"evals/b.jsonl.{sources[0]}"]
    write_cases(Path(CASES))
    write_cases(Path("evals/b.jsonl"), turn("a"), turn("b"))
    configure(SETTINGS | {"synthesis-cases": ["evals/b.jsonl"], "recordings": {"./evals/b.jsonl": sources}})
    assert dropped(safe_gate, before) == []


# --- the command and its file -------------------------------------------------------------------


def lock_refusal(safe_gate: SafeGate, *arguments: str) -> str:
    ran = safe_gate("lock", *arguments)
    assert (ran.code, ran.out) == (3, "")
    return ran.err


def test_lock_renews_what_it_is_asked_for(safe_gate: SafeGate) -> None:
    write_cases(Path("evals/b.jsonl"), turn("b"))
    configure(SETTINGS | {"recordings": SETTINGS["recordings"] | {"evals/b.jsonl": ["prompts/**"]}})
    kept = entries()[CASES]
    assert safe_gate("lock", "evals/b.jsonl").out == f"evals/b.jsonl: 2 sources, no model named\nWritten: {LOCK}\n"
    found = entries()
    assert (found[CASES], found["evals/b.jsonl"]["model"], [*found]) == (kept, "", [CASES, "evals/b.jsonl"])
    assert safe_gate("validate", LOCK).out == "1 file valid: 1 recording lock\n"
    said = f"{CASES}: 5 sources, model m-1, kept from the old entry\nWritten: {LOCK}\n"
    assert safe_gate("lock", CASES).out == said


def test_two_configs_in_one_folder_share_a_lock(safe_gate: SafeGate) -> None:
    other = "b.config.json"
    write_cases(Path("evals/b.jsonl"), turn("b"))
    named = {"synthesis-cases": ["evals/b.jsonl"], "recordings": {"evals/b.jsonl": [PROMPT]}}
    configure(SETTINGS | named, other)
    safe_gate("lock", "--config", other)
    assert [safe_gate("run", "--config", one).code for one in (CONFIG, other)] == [0, 0]
    assert stale(safe_gate, "--config", other) == []
    Path("evals/b.jsonl").unlink()
    assert f"evals/b.jsonl: dropped, there is no such file\nWritten: {LOCK}\n" in safe_gate("lock").out
    assert [*entries()] == [CASES]


def test_what_lock_cannot_write_is_said(safe_gate: SafeGate) -> None:
    words = 'evals/A.jsonl: is not among the recordings of the config file (did you mean "evals/a.jsonl"?)'
    assert words in lock_refusal(safe_gate, "evals/A.jsonl")
    Path(CASES).unlink()
    words = "cannot be read: there is no such file; record it, or correct its name in the config file"
    assert f"{CASES}: recordings: {words}\n" in lock_refusal(safe_gate, "--config", CONFIG)
    assert safe_gate("run").code == 3
    configure({"recordings": {CASES: ["prompt/**"]}})
    assert f'recordings.{CASES}[0]: "prompt/**" matches no file' in lock_refusal(safe_gate)
    configure({})
    assert "recordings: names no recordings" in lock_refusal(safe_gate)


def test_a_pattern_without_files_is_named_with_its_place(safe_gate: SafeGate) -> None:
    patterns = [*SETTINGS["recordings"][CASES], "promts/*.md"]
    text = json.dumps(SETTINGS | {"recordings": {CASES: patterns}}, indent=1)
    Path(CONFIG).write_text(text, "utf-8")
    at = 1 + text.splitlines().index('   "promts/*.md"')
    assert safe_gate("run").code == 1
    assert stale(safe_gate) == [(OLDER, ["promts/*.md"])]
    assert safe_gate("verify", "reports/safe-gate.json").code == 0
    assert f'{CONFIG}:{at}: recordings.{CASES}[3]: "promts/*.md" matches no file' in lock_refusal(safe_gate)


def test_the_gate_s_own_files_are_sources_of_no_glob(safe_gate: SafeGate) -> None:
    configure(SETTINGS | {"recordings": {CASES: ["*.json", "**"]}})
    assert safe_gate("lock").code == 0
    for _ in range(2):
        assert safe_gate("run", "--reports", "json,html").code == 0
    configure(SETTINGS | {"recordings": {CASES: ["reports/*.json"]}})
    assert '"reports/*.json" matches no file' in lock_refusal(safe_gate)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("./evals/b.jsonl", 'names the same file as "evals/b.jsonl"; join their sources under one name'),
        ("evals/*.jsonl", "is a glob; name one file for each entry: globs are for sources"),
    ],
)
def test_an_entry_of_recordings_is_one_file_of_its_own(safe_gate: SafeGate, name: str, told: str) -> None:
    path = f"app/{CONFIG}"
    configure({"synthesis-cases": [name], "recordings": {"evals/b.jsonl": ["x"], name: ["y"]}}, path)
    refused(safe_gate("run", "--config", path), f"{path}:1: recordings.{name}: {told}")


def test_a_change_may_correct_the_entries_of_recordings(safe_gate: SafeGate) -> None:
    configure(SETTINGS | {"recordings": {CASES: ["prompts/**"], f"./{CASES}": ["x"], "evals/*.jsonl": ["y"]}})
    base = commit()
    configure(SETTINGS)
    assert safe_gate("run", "--baseline", base).code == 0


@pytest.mark.parametrize("content", ["{", '{"recordings": {"evals/a.jsonl": {}}}', "\xff"])
def test_a_broken_lock_is_no_verdict(safe_gate: SafeGate, locked: str, content: str) -> None:
    Path(LOCK).write_text(content, "latin-1")
    refused(safe_gate("run", "--baseline", locked), LOCK)
    assert safe_gate("validate", LOCK).code == 3


def test_an_impossible_day_in_the_lock_is_named(safe_gate: SafeGate) -> None:
    edit_entry(recorded_at="2026-02-31T00:00:00Z")
    words = f"{LOCK}: recordings.{CASES}.recorded_at: is 2026-02-31T00:00:00Z, which is not a time; correct it"
    refused(safe_gate("run", "--max-age", "3"), words)


# --- recordings that are broken, or were written to pass ----------------------------------------------------------


def test_a_case_without_a_message_is_named_if_a_check_reads_it(safe_gate: SafeGate) -> None:
    only = {"checks": ["agency_language"]}
    write_cases(Path("c.jsonl"), turn("a", user=" "), turn("b"), turn("c", user="", **only), talk("d", "", "I see."))
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl")
    assert '2 cases have no message, so checks that read it judge nothing: "a", "d".' in ran.out
    found = {one["id"]: one.get("no_message") for one in report()["synthesis"]["results"]}
    assert found == {"a": True, "b": None, "c": True, "d": True}


def test_a_reply_that_is_nothing_but_what_its_case_expects_is_named(safe_gate: SafeGate) -> None:
    replies = {"faked": "I hear you. call 988!", "real": "I hear you. Call 988, if you like?"}
    asks = {"must_contain": ["Call 988", "I hear you"]}
    write_cases(Path("c.jsonl"), *(turn(id_, assistant=reply, **asks) for id_, reply in replies.items()))
    said: dict[str, Any] = {"signals": ["fall"], "summary": "Fell, hip.", "followup_questions": []}
    others: Any = {"summary": "She fell on her hip."}, {"signals": ["fall", "broken"]}, {"followup_questions": ["Why?"]}
    outputs: dict[str, Any] = {"faked": said} | {f"real {at}": said | other for at, other in enumerate(others)}
    asked = asking(["fall"], ["fell", "hip"], ["fault"])
    write_batch(Path("b.json"), *(safe_case(id_, expectations=asked, output=one) for id_, one in outputs.items()))
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl", "--safe-batch", "b.json", "--min-pass-rate", "0")
    words = '1 reply is nothing but what the case expects, as if written to pass: "faked".'
    assert ran.out.count(words) == 2, "by either evaluator"
