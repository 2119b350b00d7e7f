"""Runs that cannot end as they should: no earlier verdict stands, and each error is one sentence."""

import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from safe_gate.evaluators.registry import EVALUATORS
from tests.support import cases
from tests.support.cases import BAD, REPOSITORY, Patch, Ran, SafeGate, refused, report, safe_case, turn, write_batch
from tests.support.github import outputs
from tests.support.synthesis import RUN

DEFECT = "this is a defect of safe-gate: please report it with the command and the input"
GATE = (sys.executable, "-I", "-m", "safe_gate")


@pytest.fixture(autouse=True)
def _case() -> None:
    """Write a case that passes."""
    cases.write_cases(Path("c.jsonl"), turn("t"))


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize(
    ("error", "words"),
    [
        (RuntimeError("oh\nno ##[error]"), f"safe-gate: internal error: RuntimeError: oh\\nno #\\x23[error]; {DEFECT}"),
        (MemoryError(), "safe-gate: ran out of memory; give it more, set fewer jobs, or split the largest file"),
    ],
)
def test_a_surprise_is_one_sentence(safe_gate: SafeGate, monkeypatch: Patch, error: Exception, words: str) -> None:
    monkeypatch.setattr("safe_gate.inputs.case_files.recipe", raising(error))
    ran = safe_gate(*RUN)
    assert (ran.code, ran.err.splitlines()[:-1]) == (3, [words])
    assert report()["verdict"] == outputs(Path("output").read_text("utf-8"))["verdict"] == "error"


def test_a_surprise_names_the_installed_evaluators(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    monkeypatch.setattr("safe_gate.inputs.case_files.recipe", raising(OSError(24, "Too many open files")))
    monkeypatch.setattr("safe_gate.commands._command.EVALUATORS", {**EVALUATORS, "own": None})
    words = "this is a defect of safe-gate or of the evaluator own: please report it"
    refused(safe_gate("eval", "--cases", "c.jsonl"), words)
    monkeypatch.setattr("safe_gate.commands._command.plain", raising(OSError()))
    ran = safe_gate("eval", "--cases", "c.jsonl")
    assert (ran.code, ran.err) == (3, "safe-gate: internal error: OSError\n")


def raising(error: BaseException) -> Callable[..., None]:
    """Return a function that raises an error."""

    def broken(*_: object, **__: object) -> None:
        raise error

    return broken


def test_an_interrupt_ends_quietly(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("safe_gate.inputs.case_files.recipe", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever starts the tests may ignore it
    try:
        assert safe_gate(*RUN) == Ran(130, "", "")
    finally:
        signal.signal(signal.SIGINT, before)


def shell(words: str, streams: str) -> tuple[str, str]:
    """Run the gate in a shell that closes or fills streams; return the exit code, and what it says of errors."""
    gate = f"{{ {' '.join(GATE)} {words}; echo $? >code; }} {streams}"
    ran = subprocess.run(["sh", "-c", gate], check=False, capture_output=True, text=True)
    return Path("code").read_text("utf-8").strip(), ran.stderr


@pytest.mark.parametrize(
    ("streams", "names"),
    [
        *((one, "bad") for one in ("<&- >&- 2>&-", ">/dev/full 2>/dev/full", "| head -0")),
        *(pytest.param(one, "c bad", marks=pytest.mark.soak) for one in ("2>&-", ">&-", "1</dev/null")),
        pytest.param("<&- >&- 2>&-", "none", marks=pytest.mark.soak),
    ],
)
def test_a_stream_that_takes_nothing_changes_no_verdict(streams: str, names: str) -> None:
    """Sh closes the streams. The verdict is that of a run which prints, in the report and as the exit code."""
    cases.write_cases(Path("bad.jsonl"), turn("t", assistant=BAD, expected={"topic_pivot": True}))
    ends = {"c": ("0", "pass"), "bad": ("1", "fail"), "none": ("3", "error")}
    for name in names.split():
        code, _ = shell(f"run --cases {name}.jsonl", streams)
        assert (code, report()["verdict"]) == ends[name]


def test_what_was_asked_for_and_cannot_be_printed_is_an_error_but_help_that_nobody_reads_is_none() -> None:
    code, said = shell("eval --cases c.jsonl", ">/dev/full")
    assert (code, said.splitlines()[0]) == ("3", "standard output: cannot be written: No space left on device")
    assert shell("run --help", ">/dev/full") == ("0", "")
    assert shell("--version", "2>&- >&-") == ("0", "")


def test_an_unreadable_command_line_leaves_the_last_reports(safe_gate: SafeGate) -> None:
    assert safe_gate(*RUN).code == 0
    before = {path: path.read_bytes() for path in Path("reports").iterdir()}
    for wrong in (["--reprots", "html"], ["--report-dir"], ["--report-dir=reports", "--nonsense"]):
        refused(safe_gate(*RUN, *wrong))
        assert {path: path.read_bytes() for path in Path("reports").iterdir()} == before


NO_OBJECT, OUT = "expected an object of settings", '{"report-dir": "out", "comment": "never"}'
EPOCHS = ("-1", "1_0", "253402300800", "1e3", "\u0661")
# What is wrong with a second run: flags, what the config file holds, variables, and words.
WRONG = [
    *(((), content, {}, NO_OBJECT) for content in ("null", "true", "5", "[]")),
    *(((), "{}", {"SOURCE_DATE_EPOCH": one}, "SOURCE_DATE_EPOCH") for one in EPOCHS),
    (("--max-fail-labels", "x"), OUT, {}, "--max-fail-labels"),
    (("--rules-off", "nothing"), "{}", {}, "rules-off: nothing"),
]


@pytest.mark.parametrize(("flags", "config", "variables", "words"), WRONG)
def test_no_earlier_verdict_stands_beside_settings_that_are_refused(
    safe_gate: SafeGate, monkeypatch: Patch, flags: tuple[str, ...], config: str, variables: dict[str, str], words: str
) -> None:
    path = "out/safe-gate.json" if config == OUT else "reports/safe-gate.json"
    Path("safe.config.json").write_text(OUT if config == OUT else "{}", "utf-8")
    assert safe_gate(*RUN).code == 0
    assert report(path)["verdict"] == "pass"
    Path("safe.config.json").write_text(config, "utf-8")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    refused(safe_gate(*RUN, *flags), words)
    assert report(path)["verdict"] == "error"


def test_no_earlier_verdict_stands_beside_a_report_that_cannot_be_written_or_a_refused_merge(
    safe_gate: SafeGate, monkeypatch: Patch
) -> None:
    Path("safe.config.json").write_text(OUT, "utf-8")
    assert safe_gate(*RUN).code == 0
    card, whole = Path("out/safe-gate.md"), Path("out/safe-gate.json")
    assert "passed" in card.read_text("utf-8").splitlines()[0]
    whole.rename("passed.json")
    whole.mkdir()
    assert safe_gate(*RUN).code == 3
    assert "has no verdict" in card.read_text("utf-8").splitlines()[0]
    whole.rmdir()
    Path("passed.json").rename(whole)
    monkeypatch.setenv("INPUT_MODE", "publish")  # which is nothing to a command that is named
    assert safe_gate("merge", "none.json", *RUN[1:]).code == 3
    assert report(str(whole))["verdict"] == "error"


def test_modules_of_the_checkout_are_never_imported() -> None:
    for name in ("requests", "jsonschema", "tabulate", "pydantic_settings", "re2", "safe_gate", "json"):
        Path(f"{name}.py").write_text("raise SystemExit('hostile')")
    for start in (GATE, (str(Path(sys.executable).with_name("safe-gate")),)):
        ran = subprocess.run([*start, *RUN], capture_output=True, check=False)
        assert (ran.returncode, ran.stderr) == (0, b"")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])  # the second is that of a console of Windows
def test_a_pipe_gets_utf_8_without_colours_whatever_the_locale(encoding: str) -> None:
    write_batch(Path("b.json"), safe_case("s"))
    environ = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": encoding}
    ran = subprocess.run([*GATE, "score", "--batch", "b"], capture_output=True, env=environ, check=False)
    text = ran.stdout.decode("utf-8")
    assert (ran.returncode, "╔" in text, "\x1b" in text) == (0, True, False)


def test_examples_pass_and_fail_as_the_readme_says(safe_gate: SafeGate) -> None:
    examples = REPOSITORY / "examples"
    cases = ["--synthesis-cases", examples / "empathy.jsonl", "--min-label-accuracy", "0.9"]
    assert safe_gate("run", "--safe-batch", examples / "clinical/golden_set", *cases, "--report-dir", "").code == 0
    Path("safe.config.json").write_text(json.dumps({"safe-batch": [f"{examples}/clinical/*"]}), "utf-8")
    assert safe_gate("run", *cases, "--safe-batch", "").code == 1, "an empty flag sets nothing"


def test_a_report_is_not_written_through_a_planted_link_and_has_the_digest_of_its_input(safe_gate: SafeGate) -> None:
    Path("reports").mkdir()
    Path("victim").write_text("mine")
    Path("reports/safe-gate.json").symlink_to("../victim")
    write_batch(Path("b.json"), safe_case("s"))
    Path("b.json").write_bytes(b"\xef\xbb\xbf" + Path("b.json").read_bytes())
    assert safe_gate("run", "--safe-batch", "b").code == 0
    assert Path("victim").read_text() == "mine"
    assert Path("reports/safe-gate.json").stat().st_mode & 0o777 == 0o644
    sha256 = hashlib.sha256(Path("b.json").read_bytes()).hexdigest()
    assert report()["provenance"]["inputs"] == [{"path": "b.json", "sha256": sha256, "kind": "safe-batch"}]


@pytest.mark.parametrize("name", ["c.jsonl", "b.outputs.jsonl", "safe.config.json"])
def test_a_pipe_in_the_place_of_an_input_does_not_hang_the_gate(safe_gate: SafeGate, name: str) -> None:
    write_batch(Path("b.json"), safe_case("s"))
    Path(name).unlink(missing_ok=True)
    os.mkfifo(name)
    refused(safe_gate(*RUN, "--safe-batch", "b"), f"{name}: cannot be read: it is not a regular file; name a file")


def test_a_full_disk_leaves_no_verdict_of_an_earlier_run(safe_gate: SafeGate) -> None:
    assert safe_gate(*RUN).code == 0
    # No file may grow: with its signal ignored, as Python does, writing fails as on a full disk.
    full = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (0, 0))
    ran = subprocess.run([*GATE, *RUN], capture_output=True, text=True, preexec_fn=full, check=False)
    assert ran.returncode == 3
    assert "safe-gate.json: cannot be written: File too large" in ran.stderr
    assert not list(Path("reports").iterdir())
