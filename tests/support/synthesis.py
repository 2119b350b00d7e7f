"""Cases of Synthesis, scored, and what a run of them reports."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from safe_gate.evaluators.synthesis import packs
from safe_gate.evaluators.synthesis.case import Case
from safe_gate.evaluators.synthesis.checks.score import score_case
from safe_gate.evaluators.synthesis.checks.turn import Rules
from safe_gate.evaluators.synthesis.definitions import CHECKS
from safe_gate.evaluators.synthesis.result import Result
from safe_gate.model import codec
from safe_gate.model.problems import Place
from tests.support.cases import Ran, SafeGate, report, write_cases

HURT = "My husband asked for divorce and I'm devastated."
Labels = Mapping[str, bool | None]
RUN = ("run", "--synthesis-cases", "c.jsonl")


@cache
def rules(profile: str = "standard", *country: str) -> Rules:
    """Return the rules that ship, with the numbers of some countries or of all."""
    shipped, table = packs.shipped_packs(), packs.stored_table()
    return packs.make_rules(shipped, profile, table=table, helplines={"country": country})


def case(user: str, reply: str, *checks: str, id_: str = "a", expected: Labels | None = None) -> Case:
    """Return a case of some checks or of all that ship, with labels."""
    return Case(id_, user, reply, checks or tuple(CHECKS), expected or {}, (), Place("c.jsonl", 1))


def score(user: str, reply: str, *checks: str, by: Rules | None = None) -> Result:
    return score_case(case(user, reply, *checks), by or rules())


def checked(check: str, assistant: str, user: str = HURT, profile: str = "standard") -> dict[str, Any]:
    """Return the result of a check as a report has it."""
    found: dict[str, Any] = codec.to_json(score(user, assistant, check, by=rules(profile)).checks[check])
    return found


def run(safe_gate: SafeGate, *cases: dict[str, Any], flags: tuple[str, ...] = ()) -> Ran:
    """Run the gate on cases, or once more on those of the last run."""
    if cases:
        write_cases(Path("c.jsonl"), *cases)
    return safe_gate(*RUN, *flags)


def results() -> dict[str, dict[str, Any]]:
    return {one["id"]: one for one in report()["synthesis"]["results"]}
