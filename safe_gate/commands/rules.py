"""`rules`: list the Synthesis rules, test the rules of a pack, or learn rules from marked cases."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safe_gate.commands._command import Call, Command
from safe_gate.core.figures import plural
from safe_gate.core.model import CannotJudge, Place, Problem, Verdict
from safe_gate.evaluators import EVALUATORS
from safe_gate.evaluators.synthesis import packs
from safe_gate.evaluators.synthesis.gain import Gain, distinct_replies, gains
from safe_gate.evaluators.synthesis.learning import TAUGHT, Row, as_packs, rows
from safe_gate.evaluators.synthesis.names import CHECKS, GROUPS
from safe_gate.evaluators.synthesis.score import Case
from safe_gate.evaluators.synthesis.turn import Rules
from safe_gate.inputs import checked, disk, recorded, writing
from safe_gate.inputs.rules import load, recipe, shipped
from safe_gate.publish.effects import Effects
from safe_gate.render import console, jsonreport, rulebook
from safe_gate.runs.exit_codes import EXIT_CODES
from safe_gate.scoring import asked, intake
from safe_gate.settings.options import Options

COMMAND = Command(
    place=6,
    summary="list the Synthesis rules, test the rules of a pack, or learn rules from marked cases",
    exit_codes="0 listed, passed or learned; 3 a failed test or another problem",
    arguments={
        "words": {
            "nargs": "*",
            "metavar": "test|train FILE",
            "help": "test PACK...: test the rules of packs; train CASES...: learn rules from marked cases",
        },
        "--out": {
            "default": "",
            "metavar": "FOLDER",
            "help": "train: write the learned rules to this folder, a pack for each group",
        },
    },
)


def main(call: Call) -> int:
    """Do what the first word says: test, train, or list without one. Returns 0 or 3."""
    words, out, effects = call.arguments["words"], call.arguments["out"], call.effects
    options = call.options()
    if out and words[:1] != ["train"]:
        raise CannotJudge(Problem(Place("--out"), "is for rules train; nothing else is written"))
    if not words:
        effects.out(rulebook.rule_list(load(EVALUATORS["synthesis"], asked.settings(options))))
        return EXIT_CODES[Verdict.PASS]
    if words[0] == "test" and words[1:]:
        return _test(words[1:], effects)
    if words[0] == "train" and words[1:]:
        return _train(words[1:], options, effects, out=out)
    raise CannotJudge(Problem(Place("command line"), "expected: rules, rules test PACK..., or rules train CASES..."))


def _test(paths: Sequence[str], effects: Effects) -> int:
    """Run the texts that the rules of pack files promise to hit and to miss. Returns 0 or 3."""
    found = _own_packs(paths)
    rules = sum(len(pack["rules"]) for pack in found)
    effects.out(f"{plural(len(found), 'pack')}, {plural(rules, 'rule')}: all texts hit and miss as expected")
    return EXIT_CODES[Verdict.PASS]


def _train(patterns: Sequence[str], options: Options, effects: Effects, *, out: str) -> int:
    """Learn rows from marked cases, show them and what they gain, and write them as packs into the folder `out`.

    Without a folder nothing is written. Returns 0 or 3.
    """
    lesson = _learned(patterns, options)
    paths = [Path(out) / f"{pack['pack']}.json" for pack in lesson.packs]
    if out:
        _keep_others(paths)
    effects.out(rulebook.lesson(lesson.rows, lesson.gains))
    if lesson.replies < lesson.cases:
        replies = plural(lesson.replies, "distinct reply", "distinct replies")
        words = "a copy counts once, and cases that share a reply or a message are left out together"
        effects.out(f"{plural(lesson.cases, 'case')}, {replies}: {words}.")
    if not lesson.marked:
        effects.out("No case has marks: quote the clauses that decide in `marks`, by group, to learn from them.")
    if out:
        for path, pack in zip(paths, lesson.packs, strict=True):
            writing.write(path, jsonreport.pack_json(pack))
    names = " ".join(console.path_words(path.as_posix()) for path in paths)
    if names and out:
        effects.out(f"Written: {names}\nTo use them: --rules {names}, or their names under `rules` in the config.")
    else:
        effects.out("Nothing is written without --out FOLDER." if names else "Nothing is written: no row is learned.")
    return EXIT_CODES[Verdict.PASS]


@dataclass(frozen=True, slots=True)
class _Lesson:
    """What marked cases teach: the rows, the packs they make, and what they gain each check on cases left out."""

    cases: int
    replies: int
    """How many of the cases' replies are distinct."""
    marked: int
    """How many of the cases have marks."""
    rows: tuple[Row, ...]
    packs: tuple[packs.Pack, ...]
    gains: tuple[Gain, ...]


def _learned(patterns: Sequence[str], options: Options) -> _Lesson:
    """Return what the cases of some files teach, measured against the rules that the options name.

    Raises CannotJudge for every problem of the cases and of the rules.
    """
    if options.profile == packs.SPEC:
        raise CannotJudge(Problem(Place("profile"), "is spec, which uses no learned rules; expected standard"))
    cases = _cases(patterns)
    data = shipped("synthesis")
    own_packs = _own_packs(options.rules)
    today = packs.selected(own_packs, options.rules_off, options.rule_weights, data)
    rules = packs.rules(today, data, sensitivity=options.sensitivity, own=own_packs)
    taken = {pack["pack"] for pack in today}

    def learned(some: Sequence[Case]) -> list[Row]:
        return rows(some, rules, packs.classes(data), TAUGHT)

    def taught(some: Sequence[Case]) -> Rules:
        return packs.rules([*today, *as_packs(learned(some))], data, sensitivity=options.sensitivity, own=own_packs)

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
    return _Lesson(len(cases), distinct_replies(cases), marked, tuple(found), tuple(own), measured)


def _own_packs(patterns: Sequence[str]) -> list[packs.Pack]:
    """Return the packs that paths and globs name. Raises CannotJudge with every problem of them."""
    settings = asked.settings(Options(rules=tuple(patterns)))
    _, _, own, *_ = json.loads(recipe(EVALUATORS["synthesis"], settings))
    return list(own)


def _cases(patterns: Sequence[str]) -> list[Case]:
    taken = intake.Intake(recorded.cases(EVALUATORS["synthesis"], patterns, settings=asked.settings(Options())))
    cases: list[Any] = list(taken.cases())
    if taken.problems:
        raise CannotJudge(*taken.problems)
    return cases


def _keep_others(paths: Sequence[Path]) -> None:
    """Raise CannotJudge for files in the place of what was learned that hold anything else."""
    words = "is there, and no learned pack that may be replaced; move it, or name another folder by --out"
    if problems := [Problem(Place(disk.shown(path)), words) for path in paths if not _may_replace(path)]:
        raise CannotJudge(*problems)


def _may_replace(path: Path) -> bool:
    with suppress(CannotJudge):
        if not disk.exists(path):
            return True
        pack = checked.document(str(path), "rule-pack")
        return all(isinstance(rule.get("origin"), dict) for rule in pack["rules"])
    return False
