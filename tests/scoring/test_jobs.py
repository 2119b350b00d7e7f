"""`--jobs`: more processes change how long a run takes, and nothing else."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import active_children
from pathlib import Path

import pytest

from safe_gate.evaluators.synthesis.deciding import score
from safe_gate.inputs import blocks
from safe_gate.scoring import workers
from tests.support.cases import REPOSITORY, Ran, turn, write_cases

SafeGate = Callable[..., Ran]
DATA = REPOSITORY / "data" / "synthesis" / "dev_a.jsonl"


@pytest.mark.parametrize("jobs", ["2", "3", "auto"])
def test_the_report_is_the_same_to_the_byte_however_many_processes_score(safe_gate: SafeGate, jobs: str) -> None:
    assert len(DATA.read_text("utf-8").splitlines()) > 2 * blocks.PART_LINES
    alone = safe_gate("eval", "--cases", DATA, "--out", "one.json")
    shared = safe_gate("eval", "--cases", DATA, "--out", "many.json", "--jobs", jobs)
    assert (shared.code, shared.out) == (alone.code, alone.out.replace("one.json", "many.json"))
    assert Path("many.json").read_bytes() == Path("one.json").read_bytes()


def test_every_problem_is_named_whoever_scores(safe_gate: SafeGate) -> None:
    cases = [turn(f"c{number}") for number in range(3 * blocks.PART_LINES)]
    write_cases(Path("c.jsonl"), *cases[:120], turn("bad", checks=["x"]), *cases[120:], turn("c0"))
    alone, shared = (safe_gate("eval", "--cases", "c.jsonl", "--jobs", jobs) for jobs in ("1", "2"))
    assert alone == shared
    assert alone.code == 3
    assert "c.jsonl:121" in alone.err
    assert "c.jsonl:152" in alone.err


@pytest.mark.parametrize("jobs", ["0", "-1", "1.5", "all", "1000", "\u0662"])
def test_a_number_of_jobs_that_is_none_is_refused(safe_gate: SafeGate, jobs: str) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    ran = safe_gate("eval", "--cases", "c.jsonl", f"--jobs={jobs}")
    assert ran.code == 3
    assert ran.err.startswith("--jobs: is ")
    assert "; expected a whole number from 1 to 999, or auto\n" in ran.err


def test_a_process_that_dies_is_a_run_without_a_verdict(safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score, "score_case", lambda *_: os._exit(9))
    ran = safe_gate("eval", "--cases", DATA, "--out", "o.json", "--jobs", "2")
    assert ran.code == 3
    assert "a process that scored cases died" in ran.err
    assert not Path("o.json").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells which processes there are")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_the_run_it_works_for(how: signal.Signals) -> None:
    cases = [turn(f"c{number}") for number in range(5_000)]
    write_cases(Path("c.jsonl"), *cases)
    command = [sys.executable, "-I", "-m", "safe_gate", "eval", "--cases", "c.jsonl", "--jobs", "2"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as run:
        started = time.monotonic()
        while len(children := alive({run.pid}, 1)) < 2 and time.monotonic() < started + 60:
            time.sleep(0.05)
        run.send_signal(how)
    assert len(children) == 2
    ended = time.monotonic()
    while alive(children, 0) and time.monotonic() < ended + 30:
        time.sleep(0.05)
    assert not alive(children, 0)


def alive(wanted: set[int], field: int) -> set[int]:
    """Return the processes that have one of these ids, or (field 1) one of these parents."""
    found = set()
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdecimal():
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                if state != "Z" and (int(entry.name), int(parent))[field] in wanted:
                    found.add(int(entry.name))
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells which processes there are")
def test_a_second_interrupt_ends_a_run_too() -> None:
    write_cases(Path("c.jsonl"), *(turn(f"c{n}") for n in range(4_000)))
    heard = "signal.signal(signal.SIGINT, signal.default_int_handler)"  # whoever starts the tests may ignore it
    code = f"import signal, sys; {heard}; from safe_gate.cli import main; sys.exit(main())"
    command = [sys.executable, "-I", "-c", code, "run", "--synthesis-cases", "c.jsonl", "--jobs", "2"]
    with subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL) as run:
        started = time.monotonic()
        while len(alive({run.pid}, 1)) < 2 and time.monotonic() < started + 60:
            time.sleep(0.05)
        for _ in range(2):
            os.killpg(run.pid, signal.SIGINT)
            time.sleep(0.1)
        run.wait(timeout=30)
    assert run.returncode == 130
    assert json.loads(Path("reports/safe-gate.json").read_text("utf-8"))["verdict"] == "error"


def test_an_interrupt_while_processes_start_ends_a_run() -> None:
    write_cases(Path("c.jsonl"), *(turn(f"c{n}") for n in range(200)))
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
    write_cases(Path("c.jsonl"), *(turn(f"c{n}") for n in range(200)))
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl", "--jobs", "3")
    words = "jobs: their processes cannot be started: Resource temporarily unavailable; set fewer jobs and run again"
    assert (ran.code, ran.err.splitlines()[0]) == (3, words)
    assert not active_children()
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_what_a_function_raises_comes_back() -> None:
    def broken(item: int) -> int:
        return 1 // (item - 70)

    with pytest.raises(ZeroDivisionError):
        list(workers.ordered(broken, range(200), 2))


def test_a_single_item_starts_no_process() -> None:
    assert set(workers.ordered(lambda _: os.getpid(), range(1), 4)) == {os.getpid()}
    assert os.getpid() not in set(workers.ordered(lambda _: os.getpid(), range(3), 2))


def test_order_is_kept() -> None:
    assert list(workers.ordered(lambda item: -item, iter(range(1_000)), 3)) == [-item for item in range(1_000)]
