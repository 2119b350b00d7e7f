"""`--jobs`: more processes change how long a run takes, and nothing else."""

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import active_children
from pathlib import Path
from select import select
from typing import BinaryIO

import pytest

from safe_gate.evaluators.synthesis.checks.score import score_case
from safe_gate.inputs import recorded
from safe_gate.scoring import workers
from tests.support.cases import REPOSITORY, SafeGate, read_json, refused, turn, write_cases

DATA = REPOSITORY / "data" / "synthesis" / "unseen.jsonl"
DIED = "a process that scored cases died"


def write_turns(count: int) -> None:
    write_cases(Path("c.jsonl"), *(turn(f"c{number}") for number in range(count)))


def test_the_report_is_the_same_to_the_byte_however_many_processes_score(safe_gate: SafeGate) -> None:
    lines = DATA.read_text("utf-8").splitlines()[: 3 * recorded.PART_LINES + 1]
    write_cases(Path("c.jsonl"), *(json.loads(line) | {"must_contain": ["you"]} for line in lines))
    alone = safe_gate("eval", "--cases", "c.jsonl", "--out", "one.json", "--jobs", "1")
    for jobs in ("2", "3", "auto"):
        shared = safe_gate("eval", "--cases", "c.jsonl", "--out", "many.json", "--jobs", jobs)
        assert (shared.code, shared.out) == (alone.code, alone.out.replace("one.json", "many.json"))
        assert Path("many.json").read_bytes() == Path("one.json").read_bytes()


@pytest.mark.parametrize(("count", "code"), [(450, 0), (500, 3)])
def test_cores_share_the_work_from_some_500_cases_on(
    safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch, count: int, code: int
) -> None:
    here = os.getpid()
    monkeypatch.setattr(workers, "cores", lambda: 2)
    monkeypatch.setattr(
        "safe_gate.evaluators.synthesis.evaluator.score_case",
        lambda *given: score_case(*given) if os.getpid() == here else os._exit(9),
    )
    write_turns(count)
    ran = safe_gate("eval", "--cases", "c.jsonl", "--fail-on", "999")
    assert (ran.code, DIED in ran.err) == (code, code == 3)


@pytest.mark.parametrize("jobs", ["0", "-1", "1.5", "all", "1000", "\u0662"])
def test_an_invalid_number_of_jobs_is_refused(safe_gate: SafeGate, jobs: str) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    words = "; expected a whole number from 1 to 999, auto, or the address of a scheduler\n"
    assert refused(safe_gate("eval", "--cases", "c.jsonl", f"--jobs={jobs}"), words).startswith("--jobs: is ")


def test_a_process_that_dies_is_a_run_without_a_verdict(safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("safe_gate.evaluators.synthesis.evaluator.score_case", lambda *_: os._exit(9))
    refused(safe_gate("eval", "--cases", DATA, "--out", "o.json", "--jobs", "2"), DIED)
    assert not Path("o.json").exists()


@dataclass(frozen=True)
class Running:
    """A run in a session of its own. All its processes hold a pipe, into which they write what happens.

    No case is scored while `held` is open: no machine is so fast that a signal comes after the end of the run.
    """

    run: subprocess.Popen[bytes]
    pipe: BinaryIO
    held: BinaryIO

    def line(self) -> bytes:
        """Wait for what is written next. Returns nothing when no process of the run is left."""
        assert select([self.pipe], [], [], 60)[0], "nothing happens"
        return self.pipe.readline()


@contextmanager
def running(*arguments: str) -> Iterator[Running]:
    """Start a run that tells when it forks a process, and when it ignores interrupts."""
    (read, write), (held, hold) = os.pipe(), os.pipe()
    code = f"""
import os, signal, sys
tell = lambda word: os.write({write}, word + b"\\n")
os.register_at_fork(after_in_child=lambda: tell(b"forked"))
change = signal.signal
change(signal.SIGINT, signal.default_int_handler)  # whoever starts the tests may ignore it
def changed(number, handler):
    change(number, handler)
    if (number, handler) == (signal.SIGINT, signal.SIG_IGN):
        tell(b"ignores interrupts")
signal.signal = changed
from safe_gate.cli import main
from safe_gate.evaluators.synthesis.checks import score
scored = score.score_case
score.score_case = lambda *case: os.read({held}, 1) or scored(*case)
sys.exit(main())
"""
    command = [sys.executable, "-I", "-c", code, *arguments]
    with (
        os.fdopen(read, "rb", buffering=0) as pipe,
        os.fdopen(hold, "wb") as holding,
        subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, pass_fds=[write, held]) as run,
    ):
        os.close(write)
        os.close(held)
        try:
            yield Running(run, pipe, holding)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)


@pytest.mark.untraced  # what is killed leaves half a file of coverage
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_the_run_it_works_for(how: signal.Signals) -> None:
    write_turns(5_000)
    with running("eval", "--cases", "c.jsonl", "--jobs", "2") as started:
        assert [started.line() for _ in range(2)] == [b"forked\n"] * 2
        started.run.send_signal(how)
        assert started.line() == b""


@pytest.mark.untraced  # what is killed leaves half a file of coverage
def test_a_second_interrupt_ends_a_run_too() -> None:
    write_turns(4_000)
    with running("run", "--synthesis-cases", "c.jsonl", "--jobs", "2") as started:
        assert [started.line() for _ in range(2)] == [b"forked\n"] * 2
        os.killpg(started.run.pid, signal.SIGINT)
        assert started.line() == b"ignores interrupts\n"
        os.killpg(started.run.pid, signal.SIGINT)
        started.held.close()
        started.run.wait(timeout=60)
    assert started.run.returncode == 130
    assert read_json("reports/safe-gate.json")["verdict"] == "error"


def test_an_interrupt_while_processes_start_ends_a_run() -> None:
    write_turns(200)
    code = """if True:
        import os, signal, sys, threading
        from safe_gate.cli import main

        def interrupted(thread, start=threading.Thread.start):
            os.kill(os.getpid(), signal.SIGINT)
            start(thread)

        signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever starts the tests may ignore it
        threading.Thread.start = interrupted
        sys.exit(main())
    """
    command = [sys.executable, "-I", "-c", code, "run", "--synthesis-cases", "c.jsonl", "--jobs", "2"]
    run = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60, check=False)
    assert (run.returncode, run.stderr) == (130, b"")


def test_processes_that_cannot_all_be_started_are_an_error_and_none_is_left(
    safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    fork, calls = os.fork, iter(range(9))

    def refused() -> int:
        if next(calls):
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        return fork()

    monkeypatch.setattr(os, "fork", refused)
    write_turns(200)
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl", "--jobs", "3")
    words = "--jobs: their processes cannot be started: Resource temporarily unavailable; set fewer jobs and run again"
    assert (ran.code, ran.err.splitlines()[0]) == (3, words)
    assert not active_children()
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_a_single_item_starts_no_process() -> None:
    assert set(workers.map_in_order(lambda _: os.getpid(), range(1), 4)) == {os.getpid()}
    assert os.getpid() not in set(workers.map_in_order(lambda _: os.getpid(), range(3), 2))


def test_order_is_kept() -> None:
    assert list(workers.map_in_order(lambda item: -item, iter(range(1_000)), 3)) == [-item for item in range(1_000)]
