"""How the checks agree with people: every case scored by packs that never saw its file.

`python training/evaluate.py` leaves out one file of labelled cases in `data/synthesis/` after the other, learns
the packs from the rest, and scores the file left out, several files at a time; then it writes the tables of
`docs/checks.md` between its markers. Hand-written rules take part as they are.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ship import DATA, FILES, learn, load_turns
from tables import fill, share
from tradeoff import picture

from safe_gate.evaluators.synthesis import CHECKS, SENSITIVITIES, Case, LearnedPack, score_case
from safe_gate.evaluators.synthesis.report import matches
from safe_gate.evaluators.synthesis.score import CheckResult, Rules
from safe_gate.fit import TASKS, Turn
from safe_gate.model import Place
from safe_gate.packs import digest, load

DOCUMENT = Path(__file__).parent.parent / "docs" / "checks.md"
UNSEEN = sorted(DATA.glob("unseen_*.jsonl"))
"""Labelled cases that no pack is learned from."""
TWINS = sorted(DATA.glob("twin_*.jsonl"))
"""Cases of the voice of the same name, each reply changed a little so that its label turns; never learned from."""

NOTES: dict[str, str] = {
    case["id"]: case["notes"]
    for path in (*FILES, *UNSEEN, *TWINS)
    for case in map(json.loads, path.read_text("utf-8").splitlines())
}
"""Why a case is labelled as it is, in the words of whoever wrote it."""

Level = tuple[float, float]
"""What `Rules.needed` and `Rules.limit` are."""

LEVELS: tuple[Level, ...] = tuple(
    sorted({*SENSITIVITIES.values(), *((2.0**-k, 1.5**k) for k in (-2, -1.5, -0.5, 0.5, 1.5, 2))}, reverse=True)
)
"""From stricter than `strict` to more lenient than `lenient`, for the trade-off curve."""


@dataclass(frozen=True)
class Judged:
    """One label of one case, and what the check said of it; None stands for not applicable."""

    file: str
    tag: str
    check: str
    expected: bool | None
    actual: bool | None
    agrees: bool
    kind: str


def judged(turns: Iterable[Turn], rules: Rules) -> list[Judged]:
    """Return every label of some cases with the verdict under some rules."""
    found = []
    for turn in turns:
        case = Case(turn.id, turn.user.original, turn.assistant.original, tuple(CHECKS), {}, (), Place(turn.file))
        result = score_case(case, rules)
        for check, expected in turn.expected.items():
            verdict = result.checks[check]
            agrees = matches(verdict, expected)
            why = "" if agrees else KINDS[check](verdict, expected, NOTES[turn.id])
            found.append(Judged(turn.file, turn.tag, check, expected, verdict.actual, agrees, why))
    return found


def _agency(verdict: CheckResult, expected: bool | None, _: str) -> str:
    if expected:
        return "a directive outweighs the choice" if verdict.details["positive_hits"] else "no choice language found"
    return "choice language outweighs the directive" if verdict.details["negative_hits"] else "no directive found"


def _reassurance(verdict: CheckResult, expected: bool | None, note: str) -> str:
    if expected is False:
        return "mind-reading not found" if "mind" in note else "guarantee not found"
    groups = [name for name in ("mind_reading", "guarantee") if verdict.details[f"{name}_hits"]]
    return f"taken for {' and '.join(groups).replace('_', '-')}"


def _pivot(verdict: CheckResult, expected: bool | None, _: str) -> str:
    if expected is None:
        return "taken for a disclosure"
    if not verdict.applicable:
        return "disclosure not found"
    if expected:
        missing = [name for name in ("acknowledged", "followed_up") if not verdict.details[name]]
        return f"not seen: {' and '.join(missing).replace('_', ' ')}" if missing else "taken for a pivot"
    return "acknowledgment and follow-up outweigh the pivot"


KINDS: dict[str, Callable[[CheckResult, bool | None, str], str]] = {
    "agency_language": _agency,
    "unverifiable_reassurance": _reassurance,
    "topic_pivot": _pivot,
}
"""What went wrong, in words, where a check and people disagree."""


def left_out(turns: Sequence[Turn], twins: Sequence[Turn]) -> tuple[dict[Level, list[Judged]], list[Judged]]:
    """Return the labels of all files, judged by packs learned from the others, by sensitivity; and those of twins."""
    found: dict[Level, list[Judged]] = {level: [] for level in LEVELS}
    turned: list[Judged] = []
    with ProcessPoolExecutor() as pool:
        for path, (judged_at, also) in zip(FILES, pool.map(partial(_left_out, turns, twins), FILES), strict=True):
            for level, labels in judged_at.items():
                found[level] += labels
            turned += also
            sys.stderr.write(f"{path.stem} done\n")
    return found, turned


def _left_out(
    turns: Sequence[Turn], twins: Sequence[Turn], path: Path
) -> tuple[dict[Level, list[Judged]], list[Judged]]:
    """Return the labels of one file, judged by packs learned from the others, by sensitivity; and of its twins."""
    others = [turn for turn in turns if turn.file != path.stem]
    rules = replace(load(), learned=tuple(LearnedPack.of(learn(task, others)) for task in TASKS))
    mine = [turn for turn in turns if turn.file == path.stem]
    found = {(needed, limit): judged(mine, replace(rules, needed=needed, limit=limit)) for needed, limit in LEVELS}
    return found, judged([turn for turn in twins if turn.file.replace("twin", "voice") == path.stem], rules)


def contrast(labels: Sequence[Judged]) -> list[str]:
    """Return a table of how twins are judged, by the way their label was turned."""
    ways = {False: "innocent replies made guilty", True: "guilty replies made innocent"}
    rows = ["| twins | unverifiable reassurance |", "|:--|--:|"]
    rows += [f"| {way} | {agreement([one for one in labels if one.expected is made])} |" for made, way in ways.items()]
    return [*rows, f"| all | {agreement(labels)} |"]


def agreement(labels: Sequence[Judged]) -> str:
    """Return the agreement of some labels as a table's cell, in percent with its interval."""
    percent, interval = share(sum(label.agrees for label in labels), len(labels))
    return f"**{percent}** {interval}"


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


def _error(label: Judged) -> str:
    """Return what kind of error a label that disagrees is: a pass where nothing applies harms nobody."""
    if label.actual is False:
        return "false alarm"
    return "miss" if label.expected is False else "neither"


def kinds(labels: Sequence[Judged]) -> list[str]:
    """Return a table of the errors by what went wrong, most frequent first."""
    rows = ["| check | error | what went wrong | cases |", "|:--|:--|:--|--:|"]
    for check in CHECKS:
        wrong = [label for label in labels if label.check == check and not label.agrees]
        counts = Counter((_error(label), label.kind) for label in wrong)
        for (error, why), count in sorted(counts.items(), key=lambda item: (item[0][0], -item[1], item[0][1])):
            rows.append(f"| {check.replace('_', ' ')} | {error} | {why} | {count} |")
    return rows


@dataclass(frozen=True)
class Caught:
    """How a check does as a detector of replies that people say fail."""

    caught: int
    alarms: int
    misses: int

    @classmethod
    def of(cls, labels: Iterable[Judged]) -> Caught:
        """Return the counts over some labels."""
        pairs = Counter((label.actual is False, label.expected is False) for label in labels)
        return cls(pairs[True, True], pairs[True, False], pairs[False, True])

    @property
    def precision(self) -> float:
        """The share of alarms that are right."""
        return self.caught / (self.caught + self.alarms)

    @property
    def recall(self) -> float:
        """The share of failing replies that are found."""
        return self.caught / (self.caught + self.misses)


def sensitivities(found: dict[Level, list[Judged]]) -> list[str]:
    """Return a table of false alarms and misses of each check at each sensitivity."""
    rows = [
        "| sensitivity | check | agreement | false alarms | misses | precision | recall |",
        "|:--|:--|--:|--:|--:|--:|--:|",
    ]
    for name, level in SENSITIVITIES.items():
        for check in CHECKS:
            some = [label for label in found[level] if label.check == check]
            how = Caught.of(some)
            cells = f"{how.alarms} | {how.misses} | {how.precision:.3f} | {how.recall:.3f}"
            rows.append(f"| {name} | {check.replace('_', ' ')} | {agreement(some)} | {cells} |")
    return rows


def curves(found: dict[Level, list[Judged]]) -> dict[str, list[tuple[float, float, str]]]:
    """Return each check's recall and precision at every level, with the level's name where it has one."""
    names = {level: name for name, level in SENSITIVITIES.items()}
    points: dict[str, list[tuple[float, float, str]]] = {}
    for check in CHECKS:
        for level, labels in found.items():
            how = Caught.of(label for label in labels if label.check == check)
            if not how.caught:
                continue  # so lenient that nothing is found: precision means nothing
            points.setdefault(check.replace("_", " "), []).append((how.recall, how.precision, names.get(level, "")))
    return points


def counts(labels: Sequence[Judged], kind: str) -> dict[str, dict[str, int]]:
    """Return how many labels the files of a kind have, and how many agree, by check."""
    some = [label for label in labels if label.file.startswith(kind)]
    return {
        "labels": {check: sum(label.check == check for label in some) for check in CHECKS},
        "agreed": {check: sum(label.agrees for label in some if label.check == check) for check in CHECKS},
    }


def main() -> None:
    """Write the tables into the document and print the one that counts."""
    turns = load_turns()
    found, turned = left_out(turns, load_turns(TWINS))
    labels = found[SENSITIVITIES["balanced"]]
    unseen = judged(load_turns(UNSEEN), load())
    written = judged(turns, load("spec"))
    tables = {
        "files": by(labels, "file left out", lambda label: label.file),
        "all": [
            *by(labels, "", lambda label: f"all {label.file.partition('_')[0]} files"),
            *by(labels, "", lambda _: "all files")[2:],
        ],
        "unseen": [
            *by(unseen, "never learned from", lambda label: label.file),
            *by(unseen, "", lambda _: "all unseen files")[2:],
        ],
        "twins": contrast(turned),
        "slices": by(labels, "slice", lambda label: label.tag),
        "spec": by(written, "hand-written rules alone", lambda label: label.file),
        "confusions": confusions(labels),
        "kinds": kinds(labels),
        "sensitivities": sensitivities(found),
    }
    fill(DOCUMENT, tables)
    (DOCUMENT.parent / "trade-off.svg").write_text(picture(curves(found)), "utf-8")
    record = {
        "packs_sha256": digest(),
        **{kind: counts(labels + unseen + turned, kind) for kind in ("dev", "voice", "unseen", "twin")},
    }
    (DOCUMENT.parent / "checks.json").write_text(json.dumps(record, indent=2) + "\n", "utf-8")
    sys.stdout.write("\n".join(tables["files"] + tables["all"] + tables["unseen"]) + "\n")


if __name__ == "__main__":
    main()
