"""The simulation of a cluster agrees with what is worked out on paper, and loses nothing when workers fail."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace

import pytest
import simulate as sim
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.cases import REPOSITORY

pytestmark = pytest.mark.untraced

SCRIPT = REPOSITORY / "benchmarks" / "simulate.py"
RELIABLE = replace(sim.COSTS, failures=0.0)
plans = st.sampled_from(sim.PLANS)
costs = st.builds(
    lambda score, collect, send: replace(RELIABLE, score=score, collect=collect, send=send),
    *(st.floats(1.0, 10_000.0) for _ in range(3)),
)
modest = settings(max_examples=60)


@modest
@given(plans, costs, st.integers(1, 300), st.integers(1, 40))
def test_a_run_takes_at_least_its_slowest_worker_and_at_most_their_sum(
    plan: sim.Plan, cost: sim.Costs, parts: int, workers: int
) -> None:
    path = sim.Path.of(plan, cost)
    wall = sim.simulate(path, parts, workers, cost).wall
    alone = sim.on_paper(path, parts, workers)
    assert wall >= max(alone.values()) * (1 - 1e-9)
    assert wall <= (sum(alone.values()) + sum(seconds for _, seconds in path.steps)) * (1 + 1e-9)


@modest
@given(st.integers(1, 300), st.integers(1, 40), st.floats(0.001, 100.0))
def test_where_only_workers_take_time_the_simulation_is_the_formula(parts: int, workers: int, seconds: float) -> None:
    path = sim.Path(((sim.WORKER, seconds),), 1)
    assert sim.simulate(path, parts, workers, RELIABLE).wall == pytest.approx(math.ceil(parts / workers) * seconds)


@pytest.mark.parametrize("plan", sim.PLANS, ids=lambda plan: plan.name)
@pytest.mark.parametrize("workers", [8, 64, 512])
def test_over_many_partitions_the_formula_is_right_within_a_fiftieth(plan: sim.Plan, workers: int) -> None:
    path = sim.Path.of(plan, RELIABLE)
    wall = sim.simulate(path, 20_000, workers, RELIABLE).wall
    assert wall == pytest.approx(max(sim.on_paper(path, 20_000, workers).values()), rel=0.02)


@pytest.mark.parametrize("plan", sim.PLANS, ids=lambda plan: plan.name)
def test_from_enough_workers_on_more_of_them_gain_nothing(plan: sim.Plan) -> None:
    path = sim.Path.of(plan, RELIABLE)
    enough = math.ceil(sim.enough(path))
    parts = 10 * enough
    at, beyond = (sim.simulate(path, parts, workers, RELIABLE).wall for workers in (enough, 2 * enough))
    fewer = sim.simulate(path, parts, max(1, enough // 2), RELIABLE).wall
    assert beyond > 0.75 * at
    assert fewer > 1.5 * at


@modest
@given(plans, st.integers(1, 200), st.integers(1, 20), st.integers(0, 5))
def test_a_worker_that_fails_loses_nothing_but_time(plan: sim.Plan, parts: int, workers: int, seed: int) -> None:
    often = replace(RELIABLE, failures=20.0)
    path = sim.Path.of(plan, often)
    found, smooth = sim.simulate(path, parts, workers, often, seed), sim.simulate(path, parts, workers, RELIABLE)
    _, handed_out = path.steps[0]
    assert found.busy["client"] == pytest.approx(parts * path.seconds("client") + found.redone * handed_out)
    assert found.busy[sim.WORKER] >= smooth.busy[sim.WORKER] * (1 - 1e-9)
    assert found == sim.simulate(path, parts, workers, often, seed)


def test_the_tree_has_as_many_levels_as_it_needs() -> None:
    plan = sim.PLANS[-1]
    level = sim.FAN * (1e-6 * sim.COSTS.merge + sim.COSTS.totals / sim.COSTS.link / sim.MEGABYTE)
    levels = [sim.reduction(plan, partitions, 10**6) / level for partitions in (1, 16, 17, 256, 257)]
    assert levels == pytest.approx([0, 1, 2, 2, 3])
    assert sim.reduction(plan, 256, 4) == pytest.approx(5 * level)


def test_the_table_is_the_same_each_time_and_follows_its_arguments() -> None:
    def said(*arguments: str) -> str:
        command = [sys.executable, str(SCRIPT), "--partition", "1000000", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert said() == said()
    assert said("--score", "100") != said()
    assert "From 6 workers on, the client is the bottleneck" in said(
        "--score", "7620", "--collect", "1270", "--send", "1"
    )


def test_failures_are_as_many_as_the_formula_expects() -> None:
    path, partitions = sim.Path.of(sim.PLANS[-1], sim.COSTS), 50_000
    work = sum(seconds for name, seconds in path.steps if name == sim.WORKER)
    expected = partitions * math.expm1(sim.COSTS.failures * work / sim.HOUR)
    assert abs(sim.simulate(path, partitions, 64).redone - expected) < 4 * math.sqrt(expected)


def test_the_document_shows_what_the_command_in_it_prints() -> None:
    shown = (SCRIPT.parent.parent / "docs" / "scale.md").read_text("utf-8").split("\n")
    (command,) = (line for line in shown if line.startswith("$ python benchmarks/simulate.py "))
    costs = sim.asked(command.split()[3:])
    assert costs == sim.COSTS
    for plan in sim.PLANS:
        assert sim.decides(plan, costs) in shown
        assert [row for row in sim.table(plan, sim.CASES[:1], costs) if row not in shown] == []
