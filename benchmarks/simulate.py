"""What a run on a cluster would take: `python benchmarks/simulate.py [--score US] [--collect US] ...`.

A deterministic simulation of discrete events. Cases lie in partitions; a client hands them out; a worker holds one
at a time; what all share (the client, its link, the storage) serves one partition after the other, first come first
served. A worker that fails loses the partition in its hands, which is scored again. Prints a table for each way of
sharing the work, and from how many workers on something else than they decides.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from heapq import heappop, heappush

MEGABYTE, HOUR, DAY = 1e6, 3_600.0, 86_400.0
WORKER = "workers"
CASES, WORKERS = (10**7, 10**9), (8, 64, 512)
FAN = 16  # totals that one task adds up


@dataclass(frozen=True, slots=True)
class Costs:
    """What was measured of a case (eval, 241 words), and what is assumed of the cluster."""

    score: float = 9_680.0  # microseconds: read, check and score a case
    collect: float = 1_260.0  # microseconds: what the client does for a case's result that comes back to it
    send: float = 10.0  # microseconds: what the client does to read a case and send it
    case: float = 1_720.0  # bytes of a case
    result: float = 9_490.0  # bytes of its result
    totals: float = 17_900.0  # bytes of a partition's totals, its digests among them, which are sums
    merge: float = 77.6  # microseconds: two totals added up
    dispatch: float = 1_000.0  # microseconds: a task handed out and taken back
    link: float = 1_250.0  # MB/s between the client and the rest: 10 Gbit/s
    storage: float = 5_000.0  # MB/s of the storage, for all workers together
    failures: float = 0.05  # of a worker an hour
    restart: float = 60.0  # seconds until a worker that failed is back
    price: float = 0.05  # dollars a core hour
    partition: float = 10_000.0  # cases


COSTS = Costs()


@dataclass(frozen=True, slots=True)
class Plan:
    """How the work is shared: whether the client sends the cases, and whether their results come back to it."""

    name: str
    sends: bool
    returns: bool


PLANS = (
    Plan("Cases and results pass through the client", sends=True, returns=True),
    Plan("Workers read, and results pass through the client", sends=False, returns=True),
    Plan("Workers read and write, and only totals reach the client", sends=False, returns=False),
)


@dataclass(frozen=True, slots=True)
class Path:
    """The steps of a partition, (who serves it, seconds); the worker is free after so many of them."""

    steps: tuple[tuple[str, float], ...]
    held: int

    @classmethod
    def of(cls, plan: Plan, costs: Costs) -> Path:
        """Return the path of a full partition under a plan."""
        size, micro = costs.partition, 1e-6
        source, speed = ("link", costs.link) if plan.sends else ("storage", costs.storage)
        before = (
            ("client", micro * (costs.dispatch + size * costs.send * plan.sends)),
            (source, size * costs.case / speed / MEGABYTE),
            (WORKER, micro * size * costs.score),
        )
        if not plan.returns:
            return cls((*before, ("storage", size * costs.result / costs.storage / MEGABYTE)), len(before) + 1)
        back = ("link", size * costs.result / costs.link / MEGABYTE), ("client", micro * size * costs.collect)
        return cls((*before, *back), len(before))

    def seconds(self, of: str) -> float:
        """Return for how long somebody serves one partition; a worker, for how long it holds it."""
        if of == WORKER:
            return sum(seconds for _, seconds in self.steps[: self.held])
        return sum(seconds for name, seconds in self.steps if name == of)

    @property
    def shared(self) -> list[str]:
        """Who serves all partitions, by name."""
        return sorted({name for name, _ in self.steps} - {WORKER})


@dataclass(slots=True)
class Outcome:
    """A simulated run: seconds until the last partition is done, how long each was busy, what was scored again."""

    wall: float = 0.0
    busy: dict[str, float] = field(default_factory=dict)
    redone: int = 0


def on_paper(path: Path, partitions: int, workers: int) -> dict[str, float]:
    """Return the seconds that each would need if all others took no time: a run takes at least the longest."""
    alone = {name: partitions * path.seconds(name) for name in path.shared}
    return alone | {WORKER: math.ceil(partitions / workers) * path.seconds(WORKER)}


_FREED, _LOST = -1, -2
"""What happens beside the steps of a path: a worker is there for work; a worker failed, and its partition waits."""


def simulate(path: Path, partitions: int, workers: int, costs: Costs = COSTS, seed: int = 0) -> Outcome:
    """Return what becomes of so many partitions on so many workers, up to the last result taken in."""
    draw = random.Random(seed)
    outcome = Outcome(busy=dict.fromkeys([*path.shared, WORKER], 0.0))
    free_at = dict.fromkeys(path.shared, 0.0)
    waiting, idle, number = partitions, 0, workers
    events = [(0.0, worker, _FREED) for worker in range(workers)]  # when, what came first, which step is next

    def then(when: float, step: int) -> None:
        nonlocal number
        number += 1
        heappush(events, (when, number, step))

    while events:
        now, _, step = heappop(events)
        if step < 0:
            idle += step == _FREED
            waiting += step == _LOST
            if step == _LOST:
                outcome.redone += 1
                then(now + costs.restart, _FREED)
            if waiting and idle:
                waiting, idle = waiting - 1, idle - 1
                then(now, 0)
            continue
        outcome.wall = now
        if step == path.held:
            then(now, _FREED)
        if step == len(path.steps):
            continue
        name, seconds = path.steps[step]
        if name == WORKER:
            lasts = draw.expovariate(costs.failures / HOUR) if costs.failures else math.inf
            outcome.busy[name] += min(lasts, seconds)
            then(now + min(lasts, seconds), step + 1 if lasts >= seconds else _LOST)
        else:
            free_at[name] = max(now, free_at[name]) + seconds
            outcome.busy[name] += seconds
            then(free_at[name], step + 1)
    return outcome


def reduction(plan: Plan, partitions: int, workers: int, costs: Costs = COSTS) -> float:
    """Return the seconds in which workers add up all totals as a tree; the client adds up results that come back."""
    seconds = 0.0
    while partitions > 1 and not plan.returns:
        partitions = math.ceil(partitions / FAN)
        each = FAN * (1e-6 * costs.merge + costs.totals / costs.link / MEGABYTE)
        seconds += math.ceil(partitions / workers) * each
    return seconds


def enough(path: Path) -> float:
    """Return from how many workers on something shared decides."""
    return path.seconds(WORKER) / max(path.seconds(name) for name in path.shared)


def decides(plan: Plan, costs: Costs = COSTS) -> str:
    """Return a sentence: from how many workers on who decides."""
    path = Path.of(plan, costs)
    tightest = max(path.shared, key=path.seconds)
    return f"{plan.name}. From {math.ceil(enough(path)):,} workers on, the {tightest} is the bottleneck:"


def table(plan: Plan, counts: Sequence[int], costs: Costs = COSTS) -> Iterator[str]:
    """Yield a Markdown table of a plan: a row for each number of cases and of workers."""
    path = Path.of(plan, costs)
    yield "| cases | workers | wall time | core hours | dollars | busiest | scored again |"
    yield "|--:|--:|--:|--:|--:|:--|--:|"
    for cases in counts:
        partitions = math.ceil(cases / costs.partition)
        for workers in WORKERS:
            found = simulate(path, partitions, workers, costs)
            wall = found.wall + reduction(plan, partitions, workers, costs)
            share = {name: busy / wall / (workers if name == WORKER else 1) for name, busy in found.busy.items()}
            busiest = max(share, key=share.__getitem__)
            hours = wall * (workers + 1) / HOUR  # the client is paid, too, and whoever waits
            yield (
                f"| {cases:,} | {workers} | {took(wall)} | {hours:,.0f} | {hours * costs.price:,.0f}"
                f" | {busiest}, {100 * share[busiest]:.0f} % | {found.redone} |"
            )


def took(seconds: float) -> str:
    """Return a time in the unit that people would name it in.

    >>> took(45), took(600), took(7_200), took(400_000)
    ('45 s', '10 min', '2.0 h', '4.6 days')
    """
    units = ((2 * DAY, DAY, ".1f", "days"), (2 * HOUR, HOUR, ".1f", "h"), (120.0, 60.0, ".0f", "min"))
    for least, size, shown, unit in units:
        if seconds >= least:
            return f"{seconds / size:{shown}} {unit}"
    return f"{seconds:.0f} s"


def asked(arguments: Sequence[str]) -> Costs:
    """Return the costs that a command line names, the others as they are by default."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for one in fields(Costs):
        parser.add_argument(f"--{one.name}", type=float, default=one.default, help="default: %(default)s")
    return Costs(**vars(parser.parse_args(arguments)))


def main() -> None:
    """Print the command and the tables."""
    costs = asked(sys.argv[1:])
    print("$ python benchmarks/simulate.py", *sys.argv[1:], end="\n\n")
    for plan in PLANS:
        print(decides(plan, costs), "", *table(plan, CASES, costs), "", sep="\n")


if __name__ == "__main__":
    main()
