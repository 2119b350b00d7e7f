"""Shell: a function applied to many items on a `dask.distributed` cluster, in the order of the items. Uses the network.

What `workers.py` is for one machine. `dask` is an extra, and nothing else imports it. Functions are sent by name,
items by value. Results are taken in order, a few items ahead, so that nobody holds them all. An item whose worker
died is given to another. The function is pure, so applying it twice changes nothing. A worker with different software
is refused, because its verdicts could differ.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import pickle
import platform
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import cache
from importlib import metadata
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from safe_gate import __version__
from safe_gate.core.figures import plural
from safe_gate.inputs import recorded
from safe_gate.inputs.checked import schema_folder
from safe_gate.model.problems import CannotJudge, Code, Place, Problem, reason

if TYPE_CHECKING:
    from distributed import Client, Future

Item = TypeVar("Item")
Result = TypeVar("Result")

LINES = 500
"""The lines of cases that are sent at once, about a second of work."""

PATIENCE = 10
"""Seconds to wait for a scheduler to answer, and for a first worker."""

ALONE = 60
"""Seconds to wait for another worker when the last one has gone."""

_ADDRESS = re.compile(r"(?:(?:tcp|tls)://)?(?:[\w.-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})")


def map_in_order(function: Callable[[Item], Result], items: Iterable[Item], scheduler: str) -> Iterator[Result]:
    """Yield what a function returns for each item, in order, computed by the workers of a scheduler.

    The function is a named one of this package or a `partial` of one, with arguments that can be pickled. Raises
    CannotJudge if `dask` is missing, or the scheduler or all workers are unreachable or lost. It also does so if a
    worker has different software, or if an item has ended several workers.
    """
    sent = pickle.dumps(function)
    waiting: deque[Future[Any]] = deque()
    with _connect(scheduler) as client:
        for item in items:
            waiting.append(client.submit(_apply_if_same_software, _software(), sent, pickle.dumps(item), pure=False))
            if len(waiting) > 2 * sum(client.nthreads().values()):
                yield _await_result(waiting.popleft(), client, scheduler)
        while waiting:
            yield _await_result(waiting.popleft(), client, scheduler)


def check_scheduler(scheduler: str) -> Mapping[str, str]:
    """Return this process's software. Raises CannotJudge where `dask` is missing or an address is none. Asks nobody."""
    try:
        import distributed  # noqa: F401 - is it there, and dask below it?

        own = _software()
    except ImportError as error:
        words = f"names a dask scheduler, which needs {error.name}, which is not installed; {recorded.NO_EXTRA}"
        raise CannotJudge.at("jobs", words, Code.UNAVAILABLE) from None
    found = _ADDRESS.fullmatch(scheduler)
    if not found or not 0 < int(found["port"]) < 1 << 16:
        raise _cluster_error(scheduler, "is not an address; expected HOST:PORT, tcp://HOST:PORT or tls://HOST:PORT")
    return own


@contextmanager
def _connect(scheduler: str) -> Iterator[Client]:
    """Give a connection to a scheduler that has workers. Raises CannotJudge, also for what is lost while it is used."""
    own = check_scheduler(scheduler)
    from dask import config
    from distributed import Client
    from distributed.scheduler import KilledWorker

    for name in ("distributed", "distributed.client"):  # we report the error once
        logging.getLogger(name).setLevel(logging.CRITICAL)
    _check_reachable(scheduler)
    quiet = config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"})  # a line may be as long as it likes
    try:
        with quiet, Client(scheduler, timeout=PATIENCE, set_as_default=False) as client:
            _wait_for_worker(client, scheduler, PATIENCE, "has no worker")
            known = sorted(client.run(_software, on_error="return").items())
            if strange := [
                problem for worker, theirs in known for problem in _software_differences(worker, theirs, own)
            ]:
                raise CannotJudge(*strange)
            yield client
    except KilledWorker as error:
        words = f"gave up: some cases ended {plural(error.allowed_failures + 1, 'worker')}, perhaps for lack of memory"
        raise _cluster_error(scheduler, f"{words}; give workers more, or look into their logs") from None
    except (CancelledError, OSError) as error:
        raise _cluster_error(scheduler, f"was lost: {reason(error)}; run again when it is there") from None


def _check_reachable(scheduler: str) -> None:
    """Raise CannotJudge unless a scheduler answers. A client that cannot connect does not end cleanly."""
    from distributed import Security
    from distributed.comm.core import connect

    async def knock() -> None:
        comm = await connect(scheduler, timeout=PATIENCE, **Security().get_connection_args("client"))
        await comm.close()

    try:
        asyncio.run(knock())
    except (OSError, ValueError, TypeError, RuntimeError, MemoryError) as error:
        why = reason(error)
        raise _cluster_error(scheduler, f"cannot be reached: {why}; expected the address of a dask scheduler") from None


def _cluster_error(scheduler: str, words: str) -> CannotJudge:
    return CannotJudge.at("jobs", f"{scheduler[:80]} {words}", Code.UNAVAILABLE)


def _wait_for_worker(client: Client, scheduler: str, seconds: int, words: str) -> None:
    """Wait for a worker, if there is none. Raises CannotJudge if none comes."""
    try:
        client.wait_for_workers(1, timeout=seconds)
    except TimeoutError:
        words += f", and none came for {seconds} s; start some: dask worker ADDRESS"
        raise _cluster_error(scheduler, words) from None


def _await_result(future: Future[Any], client: Client, scheduler: str) -> Any:
    """Return the result of an item. Raises CannotJudge if no worker is left and none comes."""
    while True:
        try:
            return pickle.loads(future.result(timeout=PATIENCE))  # noqa: S301 - the cluster is trusted as the gate is
        except TimeoutError:
            _wait_for_worker(client, scheduler, ALONE, "has lost all its workers")


_one_at_a_time = Lock()  # threads of one worker gain nothing from scoring at once, and caches need not handle them


def _apply_if_same_software(expected: Mapping[str, str], function: bytes, item: bytes) -> bytes:
    """Return the result of a function for an item, on a worker. Raises CannotJudge for other software."""
    from distributed import get_worker

    with _one_at_a_time:
        if strange := tuple(_software_differences(get_worker().address, _software(), expected)):  # it came late
            raise CannotJudge(*strange)
        return pickle.dumps(pickle.loads(function)(pickle.loads(item)))  # noqa: S301 - as above


def _software_differences(
    address: str, theirs: Mapping[str, str] | Exception, expected: Mapping[str, str]
) -> Iterator[Problem]:
    """Yield how a worker's software differs from what is expected; an exception says why it is unknown."""
    place, advice = Place(f"worker {address}"), "install the same on every worker"
    if isinstance(theirs, OSError):  # it has gone since
        return
    if isinstance(theirs, Exception):
        yield Problem(place, f"cannot load safe-gate: {reason(theirs)}; {advice}", code=Code.UNAVAILABLE)
        return
    for name in {**expected, **theirs}:
        there, here = theirs.get(name, "none"), expected.get(name, "none")
        if there != here:
            words = f"has {name} {there}; expected {here}, as where the run was started, because verdicts could differ"
            yield Problem(place, f"{words}; {advice}", code=Code.UNAVAILABLE)


@cache
def _software() -> Mapping[str, str]:
    """Return the software that a verdict depends on, besides cases and settings, by a name for readers."""
    package = Path(__file__).parents[2]
    return {
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "safe-gate": __version__,
        **{name: metadata.version(name) for name in ("google-re2", "jsonschema", "jsonschema-rs", "pyarrow")},
        "code": _digest(package, "**/*.py"),
        "rule packs": _digest(package / "evaluators", "**/*.json"),
        "schemas": _digest(schema_folder(), "*.json"),
    }


def _digest(folder: Path, pattern: str) -> str:
    """Return a digest of the files that match a pattern in a folder: their relative paths and contents."""
    sha256 = hashlib.sha256()
    for name, path in sorted((path.relative_to(folder).as_posix(), path) for path in folder.glob(pattern)):
        sha256.update(f"{name}\0".encode() + path.read_bytes() + b"\0")
    return sha256.hexdigest()[:12]
