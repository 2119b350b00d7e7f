"""How the checks agree with people: every case scored by packs that never saw its file.

`python training/evaluate.py` leaves out one file of `data/synthesis/dev_*.jsonl` after the other, learns
the packs from the rest, and scores the file left out; then it writes the tables of `docs/checks.md`
between its markers. Hand-written rules take part as they are.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ship import learn, load_turns

from safe_gate.evaluators.synthesis import CHECKS, SENSITIVITIES, Case, LearnedPack, score_case
from safe_gate.evaluators.synthesis.report import matches
from safe_gate.evaluators.synthesis.score import Rules
from safe_gate.figures import wilson
from safe_gate.fit import TASKS, Turn
from safe_gate.model import Place
from safe_gate.packs import digest, load

DOCUMENT = Path(__file__).parent.parent / "docs" / "checks.md"


@dataclass(frozen=True)
class Judged:
    """One label of one case, and what the check said of it; None stands for not applicable."""

    file: str
    tag: str
    check: str
    expected: bool | None
    actual: bool | None
    agrees: bool


def judged(turns: Iterable[Turn], rules: Rules) -> list[Judged]:
    """Return every label of some cases with the verdict under some rules."""
    found = []
    for turn in turns:
        case = Case(turn.id, turn.user.original, turn.assistant.original, tuple(CHECKS), {}, (), Place(turn.file))
        result = score_case(case, rules)
        for check, expected in turn.expected.items():
            verdict = result.checks[check]
            found.append(Judged(turn.file, turn.tag, check, expected, verdict.actual, matches(verdict, expected)))
    return found


def left_out(turns: Sequence[Turn]) -> dict[str, list[Judged]]:
    """Return the labels of all files, each judged by packs learned from the others, by sensitivity."""
    shipped = load()
    found: dict[str, list[Judged]] = {name: [] for name in SENSITIVITIES}
    for file in sorted({turn.file for turn in turns}):
        others = [turn for turn in turns if turn.file != file]
        learned = tuple(LearnedPack.of(learn(task, others)) for task in TASKS)
        for name, (needed, limit) in SENSITIVITIES.items():
            rules = replace(shipped, learned=learned, needed=needed, limit=limit)
            found[name] += judged([turn for turn in turns if turn.file == file], rules)
        sys.stderr.write(f"{file} done\n")
    return found


def agreement(labels: Sequence[Judged]) -> str:
    """Return the agreement of some labels as a table's cell, in percent with its interval."""
    agreed = sum(label.agrees for label in labels)
    low, high = wilson(agreed, len(labels))
    return f"**{100 * agreed / len(labels):.1f}** ({100 * low:.1f} to {100 * high:.1f})"


def by(labels: Sequence[Judged], title: str, key: Callable[[Judged], str]) -> list[str]:
    """Return a table of the agreement of each check and of all, a row for each value of a key."""
    rows = [f"| {title} | {' | '.join(check.replace('_', ' ') for check in CHECKS)} | all |", "|:--|" + "--:|" * 4]
    for value in sorted({key(label) for label in labels}):
        some = [label for label in labels if key(label) == value]
        cells = [agreement([label for label in some if label.check == check]) for check in CHECKS]
        rows.append(f"| {value} | {' | '.join(cells)} | {agreement(some)} |")
    return rows


def confusions(labels: Sequence[Judged]) -> list[str]:
    """Return a table of what people said against what the checks said, three ways."""
    words = {True: "pass", False: "fail", None: "n/a"}
    rows = ["| check | people say | checks say pass | fail | n/a |", "|:--|:--|--:|--:|--:|"]
    for check in CHECKS:
        for expected in (True, False, None):
            some = [label.actual for label in labels if label.check == check and label.expected is expected]
            if some:
                counts = " | ".join(str(sum(actual is value for actual in some)) for value in (True, False, None))
                rows.append(f"| {check.replace('_', ' ')} | {words[expected]} | {counts} |")
    return rows


def sensitivities(found: dict[str, list[Judged]]) -> list[str]:
    """Return a table of false alarms and misses of each check at each sensitivity."""
    rows = [
        "| sensitivity | check | agreement | false alarms | misses | precision | recall |",
        "|:--|:--|--:|--:|--:|--:|--:|",
    ]
    for name, labels in found.items():
        for check in CHECKS:
            some = [label for label in labels if label.check == check]
            caught = sum(label.actual is False and label.expected is False for label in some)
            alarms = sum(label.actual is False and label.expected is not False for label in some)
            misses = sum(label.actual is not False and label.expected is False for label in some)
            shares = f"{caught / (caught + alarms):.3f} | {caught / (caught + misses):.3f}"
            rows.append(f"| {name} | {check.replace('_', ' ')} | {agreement(some)} | {alarms} | {misses} | {shares} |")
    return rows


def main() -> None:
    """Write the tables into the document and print the one that counts."""
    turns = load_turns()
    found = left_out(turns)
    labels = found["balanced"]
    written = judged(turns, load("spec"))
    tables = {
        "files": by(labels, "file left out", lambda label: label.file),
        "all": by(labels, "", lambda _: "all files"),
        "slices": by(labels, "slice", lambda label: label.tag),
        "spec": by(written, "hand-written rules alone", lambda label: label.file),
        "confusions": confusions(labels),
        "sensitivities": sensitivities(found),
    }
    text = DOCUMENT.read_text("utf-8")
    for name, rows in tables.items():
        block = f"<!-- {name} -->\n" + "\n".join(rows) + "\n<!-- end -->"
        text = re.sub(rf"<!-- {name} -->.*?<!-- end -->", lambda _, block=block: block, text, flags=re.DOTALL)
    DOCUMENT.write_text(text, "utf-8")
    record = {
        "packs_sha256": digest(),
        "labels": {check: sum(x.check == check for x in labels) for check in CHECKS},
        "agreed": {check: sum(x.agrees for x in labels if x.check == check) for check in CHECKS},
    }
    (DOCUMENT.parent / "checks.json").write_text(json.dumps(record, indent=2) + "\n", "utf-8")
    sys.stdout.write("\n".join(tables["files"] + tables["all"]) + "\n")


if __name__ == "__main__":
    main()
