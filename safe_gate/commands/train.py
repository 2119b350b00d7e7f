"""Shell: `rules train`: marked or labelled cases in, the rows they teach and what these gain out. Reads files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from safe_gate.core.model import CannotJudge, Place, Problem
from safe_gate.evaluators import EVALUATORS
from safe_gate.evaluators.synthesis import packs
from safe_gate.evaluators.synthesis.gain import Gain, distinct_replies, gains
from safe_gate.evaluators.synthesis.learning import TAUGHT, Row, as_packs, rows
from safe_gate.evaluators.synthesis.names import CHECKS, GROUPS
from safe_gate.evaluators.synthesis.score import Case, Rules
from safe_gate.inputs import files
from safe_gate.inputs.rules import recipe, shipped
from safe_gate.scoring import measure
from safe_gate.settings.options import Options


@dataclass(frozen=True, slots=True)
class Lesson:
    """What marked cases teach: the rows, the packs they make, and what they gain each check on cases left out."""

    cases: int
    replies: int
    """How many of the cases' replies are distinct."""
    marked: int
    """How many of the cases have marks."""
    rows: tuple[Row, ...]
    packs: tuple[packs.Pack, ...]
    gains: tuple[Gain, ...]


def train(patterns: Sequence[str], options: Options) -> Lesson:
    """Return what the cases of some files teach, measured against the rules that the options name.

    Raises CannotJudge for every problem of the cases and of the rules.
    """
    if options.profile == packs.SPEC:
        raise CannotJudge(Problem(Place("profile"), "is spec, which uses no learned rules; expected standard"))
    cases = _cases(patterns)
    data = shipped("synthesis")
    today = packs.selected(own_packs(options.rules), options.rules_off, options.rule_weights, data)
    rules = packs.rules(today, data, sensitivity=options.sensitivity)
    taken = {pack["pack"] for pack in today}

    def learned(some: Sequence[Case]) -> list[Row]:
        return rows(some, rules, packs.classes(data), TAUGHT)

    def taught(some: Sequence[Case]) -> Rules:
        return packs.rules([*today, *as_packs(learned(some))], data, sensitivity=options.sensitivity)

    found = learned(cases)
    own = as_packs(found)
    problems = [
        Problem(Place("rules"), "is the id that a learned pack gets; leave it out of rules, or rename it", pack["pack"])
        for pack in own
        if pack["pack"] in taken
    ]
    if problems:
        raise CannotJudge(*problems)
    checks = [check for check in CHECKS if any(GROUPS[row.group][0] == check for row in found)]
    measured = gains(cases, checks, rules, taught) if checks else ()
    marked = sum(bool(case.marks) for case in cases)
    return Lesson(len(cases), distinct_replies(cases), marked, tuple(found), tuple(own), measured)


def own_packs(patterns: Sequence[str]) -> list[packs.Pack]:
    """Return the packs that paths and globs name. Raises CannotJudge with every problem of them."""
    settings = measure.settings(Options(rules=tuple(patterns)))
    _, _, own, *_ = json.loads(recipe(EVALUATORS["synthesis"], settings))
    return list(own)


def _cases(patterns: Sequence[str]) -> list[Case]:
    intake = measure.Intake(files.synthesis_cases(patterns))
    cases = list(intake.cases())
    if intake.problems:
        raise CannotJudge(*intake.problems)
    return cases


def keep_others(paths: Sequence[Path]) -> None:
    """Raise CannotJudge for files in the place of what was learned that hold anything else."""
    words = "is there, and no learned pack that may be replaced; move it, or name another folder by --out"
    if problems := [Problem(Place(files.shown(path)), words) for path in paths if not _may_replace(path)]:
        raise CannotJudge(*problems)


def _may_replace(path: Path) -> bool:
    with suppress(CannotJudge):
        if not files.exists(path):
            return True
        pack = files.document(str(path), "rule-pack")
        return all(isinstance(rule.get("origin"), dict) for rule in pack["rules"])
    return False
