"""Shell: `rules train`: labelled cases in, corrections of learned packs and what they gain out. Reads files."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from safe_gate import files, measure, packs
from safe_gate.evaluators.synthesis import Case, Rules
from safe_gate.evaluators.synthesis.gain import Gain, distinct_replies, gains, parts
from safe_gate.figures import percent
from safe_gate.model import CannotJudge, Place, Problem
from safe_gate.options import Options

NEEDED = 20
"""How many labels of each kind a correction is learned from at the least, copies of a text counted once."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What labelled cases teach: the gain of each check, the packs that gain, and why others were not learned."""

    cases: int
    replies: int
    """How many of the cases' replies are distinct."""
    gains: tuple[Gain, ...]
    packs: tuple[packs.Pack, ...]
    left: tuple[Problem, ...]


def train(patterns: Sequence[str], options: Options) -> Lesson:
    """Return what the cases of some files teach, measured against the rules that the options name.

    Raises CannotJudge: a library that is missing, every problem of the cases, too few labels that differ.
    """
    fit = _fit()
    if options.profile != "weighted":
        words = f"is {options.profile}, which uses no learned packs; expected weighted"
        raise CannotJudge(Problem(Place("profile"), words))
    cases = _cases(patterns)
    # A correction in use is left out: it may have seen these cases, and a pack can have but one.
    own = packs.gather(options.rules, options.rules_off, options.rule_weights)
    today = [pack for pack in own if "corrects" not in pack]
    _refuse_taken(options.rules)
    in_use = {pack["pack"] for pack in today}
    bases = {pack["pack"]: pack for pack in packs.shipped() if pack["pack"] in in_use}
    tasks, left = [], []
    turns = [fit.Turn.of(case) for case in cases]
    for task in (task for task in fit.TASKS if task.pack in bases):
        counts = fit.counts(task, turns)
        if min(counts.values()) >= NEEDED:
            tasks.append(task)
        else:
            there = " and ".join(f"{count} that say {kind}" for kind, count in counts.items())
            words = f"not learned: needs {NEEDED} labels of {task.check} of either kind, and there are {there}"
            left.append(Problem(Place("rules train"), f"{words}, copies of a text counted once", task.pack))
    part_of = {case.id: n for n, part in enumerate(parts(cases, _checks(tasks))) for case in part}
    for task in tuple(tasks):
        if len({part_of[turn.id] for turn in turns if fit.label(task, turn) is not None}) == 1:
            tasks.remove(task)
            words = "not learned: its labels are of one file, or share replies or messages, so all are left out"
            words = f"{words} together and leave none to learn from; label others in each file"
            left.append(Problem(Place("rules train"), words, task.pack))
    if not tasks:
        raise CannotJudge(*left or [Problem(Place("rules-off"), "leaves no learned pack that could be corrected")])
    checks = _checks(tasks)

    def corrections(some: Sequence[Case]) -> list[packs.Pack]:
        turns = [fit.Turn.of(case) for case in some]
        taught = ((bases[task.pack], fit.correct(task, bases[task.pack], turns, packs.lexicon())) for task in tasks)
        return [packs.correction(base, weights) for base, weights in taught]

    def taught(some: Sequence[Case]) -> Rules:
        return packs.rules([*today, *corrections(some)], sensitivity=options.sensitivity)

    found = gains(cases, checks, packs.rules(today, sensitivity=options.sensitivity), taught)
    worth = {gain.check: _about(gain) for gain in found if gain.after > gain.before}
    learned = [
        {**pack, "about": worth[task.check]}
        for task, pack in zip(tasks, corrections(cases), strict=True)
        if task.check in worth and pack["weights"]
    ]
    return Lesson(len(cases), distinct_replies(cases), found, tuple(learned), tuple(left))


def _checks(tasks: Sequence[Any]) -> list[str]:
    return list(dict.fromkeys(task.check for task in tasks))


def _fit() -> ModuleType:
    """Return what learns; its libraries are an extra, because nothing else needs them."""
    try:
        from safe_gate import fit
    except ImportError as error:
        words = f"needs {error.name}, which is not installed; install the extra: pip install 'safe-gate[train]'"
        raise CannotJudge(Problem(Place("rules train"), words)) from None
    return fit


def _cases(patterns: Sequence[str]) -> list[Case]:
    intake = measure.Intake(files.synthesis_cases(patterns))
    cases = list(intake.cases())
    if intake.problems:
        raise CannotJudge(*intake.problems)
    return cases


def _refuse_taken(own: Sequence[str]) -> None:
    """Raise CannotJudge for packs of a team's own with the id of what would be learned: only one could be used."""
    learned = {packs.correction(base, {})["pack"]: base["pack"] for base in packs.shipped() if "weights" in base}
    taken = (
        pack["pack"] for pack in packs.check(own, outdated=True) if "corrects" not in pack and pack["pack"] in learned
    )
    words = "is the id that a correction of {} gets, and could not be used beside it; give this pack another id"
    if problems := [Problem(Place("rules"), words.format(learned[one]), one) for one in taken]:
        raise CannotJudge(*problems)


def keep_others(paths: Sequence[Path]) -> None:
    """Raise CannotJudge for files in the place of what was learned that are no earlier corrections."""
    words = "is there, and no correction that may be replaced; move it, or name another folder by --out"
    if problems := [Problem(Place(files.shown(path)), words) for path in paths if not _may_replace(path)]:
        raise CannotJudge(*problems)


def _may_replace(path: Path) -> bool:
    with suppress(CannotJudge):
        return not files.exists(path) or "corrects" in files.document(str(path), "rule-pack")
    return False


def _about(gain: Gain) -> str:
    before, after = (percent(count / gain.labels, 1) for count in (gain.before, gain.after))
    return (
        f"Learned from {gain.labels} labels of {gain.check}; of those left out {before} agreed before, {after} after."
    )
