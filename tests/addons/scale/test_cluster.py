"""A dask cluster: who scores, on how many machines and what becomes of them changes no byte and no word."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from select import select
from threading import Thread
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from safe_gate.addons.scale import cluster
from tests.support.cases import REPOSITORY, Patch, SafeGate, refused, turn, write_cases
from tests.support.git import commit, git
from tests.support.pack_files import TEAM

pytestmark = pytest.mark.soak

EXAMPLES = REPOSITORY / "examples" / "empathy.jsonl"
DATA = REPOSITORY / "data" / "synthesis" / "unseen.jsonl"
SITE = next(path for path in sys.path if path.endswith("site-packages"))

_START = "import sys; {first}; from dask.__main__ import main; main()"
"""What a process of the cluster does: something of a test's first, then what the command `dask` does."""

_DEADLY = "import os; from safe_gate.inputs import case_files; case_files.compile_recipe = lambda *_: os._exit(9)"
"""Makes a worker end at its first cases."""

_BARE = f"sys.path.append({SITE!r})"
"""With `-S` no `.pth` file is read, so that what is installed is there, and a checkout is not."""


@dataclass
class Cluster:
    """A scheduler and workers, each a process of its own."""

    folder: Path
    ends: ExitStack
    address: str = ""
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, *arguments: str, first: str = "pass", flags: str = "-I", **environ: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, *flags.split(), "-c", _START.format(first=first), *arguments]
        process = subprocess.Popen(command, cwd=self.folder, stderr=subprocess.DEVNULL, env={**os.environ, **environ})
        self.ends.callback(process.wait)
        self.ends.callback(process.kill)
        return process

    def worker(self, first: str, **how: Any) -> None:
        """Start another worker, which does something first; wait until its scheduler knows it."""
        from distributed import Client

        arguments = "worker", self.address, "--nthreads=1", "--no-nanny", "--no-dashboard", "--host=127.0.0.1"
        with Client(self.address, set_as_default=False) as client:
            known = len(client.nthreads())
            self.workers.append(self.start(*arguments, first=first, **how))
            client.wait_for_workers(known + 1, timeout=60)

    def flags(self) -> tuple[str, ...]:
        """Return what a command needs to score here."""
        return "--jobs", self.address


class Pipe:
    """A named pipe that another process writes a word into, once."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self._end = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def word(self) -> str:
        assert select([self._end], [], [], 60)[0], "nothing was written"
        os.set_blocking(self._end, True)
        with os.fdopen(self._end, encoding="utf-8") as pipe:
            return pipe.read()


@contextmanager
def started(folder: Path, *workers: str, **environ: str) -> Iterator[Cluster]:
    """Give a cluster of workers, each of which does something first."""
    with ExitStack() as ends:
        found = Cluster(folder, ends)
        said = Pipe(folder / "scheduler.json")
        where = "--host=127.0.0.1", "--port=0", "--no-dashboard", f"--scheduler-file={folder / 'scheduler.json'}"
        found.start("scheduler", *where, **environ)
        found.address = json.loads(said.word())["address"]
        for first in workers:
            found.worker(first)
        yield found


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of two workers that nobody harms."""
    with started(tmp_path_factory.mktemp("cluster"), "pass", "pass") as found:
        yield found


@pytest.fixture
def few_lines(monkeypatch: Patch) -> None:
    """Send few lines at once, so that a small file is many parts."""
    monkeypatch.setattr(cluster, "LINES", 10)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")


def assert_same(safe_gate: SafeGate, two: Cluster, *what: str | Path) -> int:
    """Run here and on a cluster, which say and write the same; return the exit code."""
    alone = safe_gate("run", *what, "--report-dir", "one")
    shared = safe_gate("run", *what, "--report-dir", "two", *two.flags())
    assert (shared.code, shared.err) == (alone.code, alone.err)
    for name in ("safe-gate.json", "safe-gate.md"):
        assert Path("two", name).read_bytes() == Path("one", name).read_bytes()
    return shared.code


@pytest.mark.parametrize("lines", [1, 7, 500])
@pytest.mark.parametrize("arguments", [(), ("--text", "none", "--profile", "spec")], ids=["full", "none"])
def test_the_report_is_that_of_one_process_to_the_byte(
    safe_gate: SafeGate, two: Cluster, monkeypatch: Patch, lines: int, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setattr(cluster, "LINES", lines)
    what = "eval", "--cases", EXAMPLES, *arguments
    alone = safe_gate(*what, "--out", "one.json")
    shared = safe_gate(*what, "--out", "two.json", *two.flags())
    assert (shared.code, shared.out) == (alone.code, alone.out.replace("one.json", "two.json"))
    assert shared.err == ""
    assert Path("two.json").read_bytes() == Path("one.json").read_bytes()


@pytest.mark.usefixtures("few_lines")
def test_a_run_has_the_same_report_digests_and_verdict(safe_gate: SafeGate, two: Cluster) -> None:
    Path("pack.json").write_text(json.dumps(TEAM), "utf-8")
    what = ("--synthesis-cases", EXAMPLES, DATA, "--rules", "pack.json", "--rules-off", "agency-positive")
    assert assert_same(safe_gate, two, *what) == 1
    assert safe_gate("verify", "two/safe-gate.json").code == 0


@pytest.mark.usefixtures("few_lines")
def test_rows_of_parquet_and_a_baseline_are_scored_there_too(safe_gate: SafeGate, two: Cluster) -> None:
    cases = [json.loads(line) for line in EXAMPLES.read_text("utf-8").splitlines()]
    rows = [{name: case[name] for name in ("id", "user", "assistant", "checks", "tags")} for case in cases]
    pq.write_table(pa.Table.from_pylist(rows), "c.parquet")
    git("init", "--quiet")
    commit()
    rows[1] |= {"assistant": "You must go.", "tags": None}
    pq.write_table(pa.Table.from_pylist(rows), "c.parquet")
    assert_same(safe_gate, two, "--synthesis-cases", "c.parquet", "--baseline", "HEAD")


@pytest.mark.usefixtures("few_lines")
def test_every_problem_of_every_part_is_named_in_the_same_words(safe_gate: SafeGate, two: Cluster) -> None:
    cases = [turn(f"c{number}") for number in range(45)]
    write_cases(Path("a.jsonl"), *cases[:23], turn("bad", checks=["x"], user=3), *cases[23:], turn("c3"), turn("c30"))
    with Path("a.jsonl").open("ab") as file:
        file.write(b'\n\xff\n{"id": NaN}\n')
    Path("b.jsonl").write_bytes(b"\xef\xbb\xbf" + b"\r\n" * 30 + json.dumps(turn("c7")).encode() + b"\n{")
    Path("blank.jsonl").write_bytes(b"\n" * 50)
    Path("one.jsonl").write_text(json.dumps([turn("x")], indent=1), "utf-8")
    Path("sixteen.jsonl").write_text(json.dumps(turn("y")), "utf-16")
    Path("safe.jsonl").write_text('\n\n{"test_id": "a", "output": {}}\n' * 20, "utf-8")
    alone, shared = (safe_gate("eval", "--cases", "*.jsonl", "gone.jsonl", *more) for more in ((), two.flags()))
    assert alone == shared
    assert alone.code == 3
    for place in ("a.jsonl:24: bad: checks[0]", "a.jsonl:47: c3", "a.jsonl:50", "a.jsonl:51", "b.jsonl:31: c7"):
        assert place in alone.err
    assert "could not judge: 13 problems" in alone.err


@contextmanager
def once(word: Pipe, action: Callable[[str], object]) -> Iterator[None]:
    """Do something in another thread as soon as a word comes out of a pipe."""
    thread = Thread(target=lambda: action(word.word()))
    thread.start()
    yield
    thread.join()


def test_a_worker_killed_loses_nothing(safe_gate: SafeGate, tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(cluster, "LINES", 10)
    # Whoever is the first to have a third part never comes to an end of it.
    stuck = Pipe(tmp_path / "stuck")
    first = (
        "import os, pathlib, threading; from safe_gate.inputs import case_files\n"
        "compiled, calls = case_files.compile_recipe, []\n"
        "def slow(*recipe):\n"
        "    calls.append(1)\n"
        "    try:\n"
        f"        if len(calls) == 3: os.mkdir({str(tmp_path / 'first')!r}); pathlib.Path({str(tmp_path / 'stuck')!r}).write_text(str(os.getpid())); threading.Event().wait()\n"
        "    except FileExistsError: pass\n"
        "    return compiled(*recipe)\n"
        "case_files.compile_recipe = slow\n"
    )
    killed: list[int] = []

    def kill(pid: str) -> None:
        killed.append(int(pid))
        os.kill(killed[0], signal.SIGKILL)

    with started(tmp_path, *[f"exec({first!r})"] * 2) as found:
        with once(stuck, kill):
            shared = safe_gate("eval", "--cases", DATA, "--out", "two.json", *found.flags())
        (worker,) = (worker for worker in found.workers if worker.pid in killed)
        assert worker.wait(timeout=60) == -signal.SIGKILL
    alone = safe_gate("eval", "--cases", DATA, "--out", "one.json")
    assert (shared.code, shared.err) == (alone.code, "")
    assert Path("two.json").read_bytes() == Path("one.json").read_bytes()


def test_cases_that_end_every_worker_are_a_run_without_a_verdict(safe_gate: SafeGate, tmp_path: Path) -> None:
    with started(tmp_path, _DEADLY, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0") as found:
        ran = safe_gate("eval", "--cases", EXAMPLES, "--out", "o.json", *found.flags())
    refused(ran, "gave up: some cases ended 1 worker, perhaps for lack of memory")
    assert not Path("o.json").exists()


def test_a_scheduler_that_dies_is_a_run_without_a_verdict(safe_gate: SafeGate, tmp_path: Path) -> None:
    stuck = Pipe(tmp_path / "stuck")
    first = (
        f"import pathlib, threading; from safe_gate.inputs import case_files; "
        f"case_files.compile_recipe = lambda *_: (pathlib.Path({str(tmp_path / 'stuck')!r}).write_text(''), threading.Event().wait())"
    )
    with started(tmp_path, first) as found, once(stuck, lambda _: found.ends.close()):
        ran = safe_gate("eval", "--cases", EXAMPLES, *found.flags())
    assert refused(ran, "was lost: ").count("\n") == 2


def test_lost_workers_are_not_waited_for(safe_gate: SafeGate, tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(cluster, "PATIENCE", 1)
    monkeypatch.setattr(cluster, "ALONE", 1)
    with started(tmp_path) as found:
        for has in ("has no worker", "has lost all its workers"):
            refused(safe_gate("eval", "--cases", EXAMPLES, *found.flags()), f"{has}, and none came for 1 s; start some")
            found.worker(_DEADLY)


CLUSTER = "from safe_gate.addons.scale import cluster; "


@pytest.mark.parametrize(
    ("first", "has"),
    [
        ("import safe_gate; safe_gate.__version__ = '0.9.9'", "safe-gate 0.9.9; expected "),
        ("import platform; platform.python_version_tuple = lambda: ('3', '8', '1')", "Python 3.8; expected 3."),
        (CLUSTER + "found = cluster._digest; cluster._digest = lambda *a: found(*a) if 'json' not in a[1] else 'other'", "rule packs other; expected "),
        (CLUSTER + "own = cluster._software(); told = [{**own, 'code': 'other'}, own]; cluster._software = told.pop", "code other; expected "),
    ],
    ids=["safe-gate", "Python", "packs", "late"],
)  # fmt: skip
def test_a_worker_with_other_software_is_refused(safe_gate: SafeGate, tmp_path: Path, first: str, has: str) -> None:
    with started(tmp_path, first) as found:
        ran = safe_gate("eval", "--cases", EXAMPLES, "--out", "o.json", *found.flags())
    said = "as where the run was started, because verdicts could differ; install the same on"
    assert refused(ran, f": has {has}", said).startswith("worker tcp://127.0.0.1:")
    assert not Path("o.json").exists()


def test_a_worker_without_safe_gate_is_refused(safe_gate: SafeGate, tmp_path: Path) -> None:
    with started(tmp_path) as found:
        found.worker(_BARE, flags="-I -S")
        ran = safe_gate("eval", "--cases", EXAMPLES, *found.flags())
    err = refused(ran, ": cannot load safe-gate: ModuleNotFoundError")
    assert err.startswith("worker tcp://127.0.0.1:")


@pytest.mark.parametrize(
    "address", ["tcp://here", "http://127.0.0.1:8786", "127.0.0.1:port", "tcp://127.0.0.1:8786/x", "inproc://1:2"]
)
def test_an_invalid_address_is_refused(safe_gate: SafeGate, address: str) -> None:
    words = f"--jobs: {address} is not an address; expected HOST:PORT, tcp://HOST:PORT or tls://HOST:PORT\n"
    for command in ("eval", "doctor"):
        assert refused(safe_gate(command, "--cases", EXAMPLES, "--jobs", address)).startswith(words)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "tls://127.0.0.1:9"])
def test_a_scheduler_that_does_not_answer(safe_gate: SafeGate, monkeypatch: Patch, address: str) -> None:
    monkeypatch.setattr(cluster, "PATIENCE", 1)
    refused(
        safe_gate("run", "--synthesis-cases", EXAMPLES, "--jobs", address), f"--jobs: {address} cannot be reached: "
    )
    assert json.loads(Path("reports/safe-gate.json").read_text("utf-8"))["verdict"] == "error"


def test_without_the_extra_an_error_says_how_to_install(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    for command in ("eval", "doctor"):
        refused(
            safe_gate(command, "--cases", EXAMPLES, "--jobs", "127.0.0.1:1"),
            "--jobs: names a dask scheduler, which needs distributed, which is not installed; install SAFE Gate with",
            "instead of the action, whose image lacks it",
            "install SAFE Gate with the extra `dask`",
        )
