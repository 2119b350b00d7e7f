"""How the checks agree with people on labelled replies, beside the most common verdict and `profile: spec`.

`python training/evaluate.py FILE...` reads labelled cases and prints Markdown tables by check, source and length.
Rows of the same id in several files are merged, so texts and labels may live apart. A row may name checks
in `doubtful`: their labels are left out. `--fill NAME` writes the tables into the documents instead.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any
from zlib import crc32

from safe_gate.core.stats import wilson
from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.evaluators.synthesis.case import Case
from safe_gate.evaluators.synthesis.checks.score import score_case
from safe_gate.evaluators.synthesis.checks.turn import Rules
from safe_gate.evaluators.synthesis.definitions import CHECKS
from safe_gate.inputs.case_files import NO_FILES, load_rules
from safe_gate.model.problems import Place
from safe_gate.scoring.sides import scoring_settings
from safe_gate.settings import Settings

HERE = Path(__file__).parent
DOCUMENTS = (HERE.parent / "docs" / "checks.md", HERE / "measurements.md")

BANDS = ((30, "under 30 words"), (80, "30 to 79"), (150, "80 to 149"), (math.inf, "150 and more"))
"""Lengths of replies in words, each with the first length that is beyond it."""

SELDOM_PASSES = "agency_language"
"""The check whose rarer verdict is a pass. Precision and recall of the rarer verdict tell most."""

NEUTRAL = (HERE / "neutral.txt").read_text("utf-8")
AROUND = [line.replace("\\n", "\n").split("\t") for line in (HERE / "around.txt").read_text("utf-8").splitlines()]
"""Twelve sentences that say nothing to the person, a line each."""

Verdict = bool | None
Row = dict[str, Any]


@dataclass(frozen=True)
class Label:
    """One label of one case, and what the checks say: passed, failed, or None for not applicable."""

    check: str
    source: str
    length: str
    kind: str
    expected: Verdict
    default: Verdict
    spec: Verdict


def read(paths: Iterable[Path]) -> list[Row]:
    """Return the rows of JSONL files that have texts and labels, merged by id, in the order of the ids' first rows.

    A row without `x_source` gets its file's name as its source; else its source is what stands before a colon.
    Labels without text name it by id and `x_sha256`. Raises ValueError if the text of that id is another one.
    """
    merged: dict[str, Row] = {}
    for path in paths:
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            found = merged.setdefault(row["id"], {"x_source": path.stem})
            found |= row
    rows = [row for row in merged.values() if "expected" in row and "assistant" in row]
    if changed := [row["id"] for row in rows if row.get("x_sha256") not in (None, text_digest(row))]:
        raise ValueError(f"the text is not the one that was labelled: {', '.join(changed)}")
    return [{**row, "x_source": row["x_source"].split(":")[0]} for row in rows]


def text_digest(row: Row) -> str:
    """Return the SHA-256 that labels name a row's text by."""
    return sha256(f"{row['user']}\0{row['assistant']}".encode()).hexdigest()


def labels(rows: Iterable[Row], default: Rules, spec: Rules) -> list[Label]:
    """Return the labels of rows that nobody doubts, each with the verdicts under both sets of rules."""
    found = []
    for row in rows:
        ours, theirs = verdicts(row, default), verdicts(row, spec)  # spec lacks some
        facts = row["x_source"], band(row["assistant"]), next(iter(row.get("tags", ())), "")
        for check, expected in row["expected"].items():
            if check in ours and check not in row.get("doubtful", ()):
                found.append(Label(check, *facts, expected, ours[check], theirs.get(check)))
    return found


def verdicts(row: Row, rules: Rules) -> dict[str, Verdict]:
    """Return the verdict of each check on a row's texts."""
    case = Case(row["id"], row["user"], row["assistant"], tuple(CHECKS), {}, (), Place("rows"))
    return {name: result.actual for name, result in score_case(case, rules).checks.items()}


def band(reply: str) -> str:
    """Return the band of a reply's length."""
    words = len(reply.split())
    return next(name for limit, name in BANDS if words < limit)


def line(*cells: str) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(cells)} |"


FIGURES = ("labels", "most common verdict", "spec", "default")
"""The columns of `figures`."""


def by_check(found: Sequence[Label]) -> list[str]:
    """Return the table of each check: agreement three ways, precision and recall of the rarer verdict."""
    rows = [line("check", *FIGURES, "for verdict", "precision", "recall"), "|:--|--:|--:|--:|--:|:--|--:|--:|"]
    for check in CHECKS:
        if some := [label for label in found if label.check == check]:
            passes = check == SELDOM_PASSES
            rows.append(line(words(check), *figures(some), "pass" if passes else "fail", *quality(some, passes)))
    if applies := [applied(label) for label in found if label.check == "topic_pivot"]:
        rows.append(line("topic pivot applies", *figures(applies), "applies", *quality(applies, verdict=True)))
    return [*rows, f"| all | {' | '.join(figures(found))} | | | |"]


def applied(label: Label) -> Label:
    """Return a label of topic pivot as one of whether the check applies."""
    return replace(
        label,
        check="applies",
        expected=label.expected is not None,
        default=label.default is not None,
        spec=label.spec is not None,
    )


def in_order(values: Iterable[str]) -> list[str]:
    """Return each of some values once: bands from the shortest, others with those of the most labels first."""
    order, counts = [name for _, name in BANDS], Counter(values)
    return sorted(counts, key=lambda value: order.index(value) if value in order else -counts[value])


def grouped(found: Sequence[Label], title: str, key: Callable[[Label], str]) -> list[str]:
    """Return a table of agreement, a row for each value of a key."""
    checks = [check for check in CHECKS if any(label.check == check for label in found)]
    rows = [line(title, *FIGURES, *map(words, checks)), "|:--|--:|--:|--:|--:|" + "--:|" * len(checks)]
    for name in in_order(sorted(map(key, found))):
        some = [label for label in found if key(label) == name]
        cells = [share(label.default == label.expected for label in some if label.check == check) for check in checks]
        rows.append(line(name, *figures(some), *cells))
    return rows


def figures(some: Sequence[Label]) -> tuple[str, ...]:
    """Return the cells of a row: how many labels, and how many of them three ways to judge agree with."""
    most_common = sum(
        max(Counter(label.expected for label in some if label.check == check).values())
        for check in {label.check for label in some}
    )
    return (
        str(len(some)),
        f"{100 * most_common / len(some):.1f}",
        share(label.spec == label.expected for label in some),
        f"**{share(label.default == label.expected for label in some)}**",
    )


def quality(some: Sequence[Label], verdict: Verdict) -> tuple[str, str]:
    """Return precision and recall of a verdict, as shares in percent."""
    hit = [label.expected == verdict for label in some if label.default == verdict]
    found = [label.default == verdict for label in some if label.expected == verdict]
    return share(hit), share(found)


def share(agrees: Iterable[bool]) -> str:
    """Return the share of what is true, in percent; a dash for a share of nothing."""
    all_of_it = list(agrees)
    return f"{100 * sum(all_of_it) / len(all_of_it):.1f}" if all_of_it else "–"  # noqa: RUF001 - a dash


def with_interval(part: int, whole: int) -> tuple[str, str]:
    """Return a share in percent and its 95 % Wilson interval in brackets."""
    low, high = wilson(part, whole)
    return f"{100 * part / whole:.1f}", f"({100 * low:.1f} to {100 * high:.1f})"


def alarms(found: Sequence[Label], title: str = "", key: Callable[[Label], str] = lambda _: "") -> list[str]:
    """Return the table of false alarms and misses: of replies that should not fail how many do, of others how many.

    With a key, each check has a row for each value.
    """
    named = [title] if title else []
    columns = "good replies", "fail wrongly", "95 % interval", "bad replies", "caught", "95 % interval"
    rows = [line("check", *named, *columns), "|:--|" + ":--|" * len(named) + "--:|--:|:--|" * 2]
    for check in CHECKS:
        of_check = [label for label in found if label.check == check]
        for value in in_order(map(key, of_check)):
            some = [label for label in of_check if key(label) == value]
            cells = [words(check), *([value] if title else ())]
            for is_bad in (False, True):
                failing = [label.default is False for label in some if (label.expected is False) is is_bad]
                rate, interval = with_interval(sum(failing), len(failing)) if failing else ("–", "")  # noqa: RUF001
                cells += [str(len(failing)), f"{sum(failing)}: {rate} %" if failing else rate, interval]
            rows.append(line(*cells))
    return rows


def recalls(found: Sequence[Label], check: str) -> list[str]:
    """Return the table of a check by source: agreement, then recall and precision of each verdict.

    A source whose cases were read in part, by their first tag, has two rows. So have all of several such sources.
    """
    some = [label for label in found if label.check == check]
    in_part = [label for label in some if label.kind in READ]
    if len({label.source for label in in_part}) > 1:
        some += [replace(label, source="all") for label in in_part]
    head = "| text | labels | all agree | pass | fail | n/a | right when it says pass | fail | n/a |"
    rows = [head, "|:--|" + "--:|" * 8]

    def key(label: Label) -> str:
        return f"`{label.source}`" + (f", {label.kind}" if label.kind in READ else "")

    for name in dict.fromkeys(map(key, some)):
        here = [label for label in some if key(label) == name]
        qualities = [quality(here, verdict) for verdict in (True, False, None)]
        precision, recall = zip(*qualities, strict=True)
        agree = share(label.default == label.expected for label in here)
        rows.append(line(name, str(len(here)), agree, *recall, *precision))
    return rows


READ = frozenset({"read", "left-out"})
"""Tags that say whether a case was read when rules were written."""


def robustness(rows: Sequence[Row], rules: Rules) -> list[str]:
    """Return the table of how many verdicts change when a reply is typed otherwise or neutral sentences are added."""
    table = ["| change of the reply | verdicts | changed |", "|:--|--:|--:|"]
    checks = [check for check in CHECKS if any(check in row["expected"] for row in rows)]
    before = [verdicts(row, rules) for row in rows]
    for name, change in CHANGES.items():
        after = (verdicts({**row, "assistant": change(row["assistant"])}, rules) for row in rows)
        changed = [old[check] != new[check] for old, new in zip(before, after, strict=True) for check in checks]
        table.append(f"| {name} | {len(changed)} | {share(changed)} |")
    return table


def between_lines(reply: str) -> str:
    """Return a reply with a line that products and offices put before or after any reply, chosen by its text."""
    side, line = AROUND[crc32(reply.encode("utf-8", "surrogatepass")) % len(AROUND)]
    return f"{line}\n\n{reply}" if side == "before" else f"{reply}\n\n{line}"


CHANGES: dict[str, Callable[[str], str]] = {
    "twelve neutral sentences after it": lambda reply: f"{reply}\n\n{NEUTRAL}",
    "six before it, six after it": lambda reply: NEUTRAL.replace("\n\n", f"\n\n{reply}\n\n"),
    "a line of an office around it": between_lines,
    "exclamation marks for full stops": lambda reply: reply.replace(". ", "! "),
    "lower case": str.lower,
    "each line a list item": lambda reply: re.sub(r"^(?=.*\S)", "- ", reply, flags=re.MULTILINE),
}


def words(check: str) -> str:
    """Return a check's name as people read it."""
    return check.replace("_", " ")


def tables(rows: Sequence[Row]) -> Iterator[tuple[str, list[str]]]:
    """Yield the tables by name."""
    default, spec = (
        load_rules(EVALUATORS["synthesis"], scoring_settings(options), NO_FILES)
        for options in (Settings(), Settings().replace(profile="spec"))
    )
    found = labels(rows, default, spec)
    yield "checks", by_check(found)
    yield "sources", grouped(found, "source", lambda label: label.source)
    yield "lengths", grouped(found, "reply", lambda label: label.length)
    yield "kinds", grouped(found, "first tag", lambda label: label.kind)
    yield "alarms", alarms(found)
    yield "alarms-by-source", alarms(found, "source", lambda label: label.source)
    yield "alarms-by-length", alarms(found, "reply", lambda label: label.length)
    yield "support", recalls(found, "crisis_support")
    yield "robustness", robustness(rows, default)


def main(arguments: Sequence[str]) -> None:
    """Print the tables of labelled files, or write them into the document."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument(
        "--fill", metavar="NAME", help="write the tables that the documents mark by <!-- NAME-TABLE -->"
    )
    chosen = parser.parse_args(arguments)
    try:
        rows = read(chosen.files)
    except ValueError as error:
        parser.error(str(error))
    if not rows:
        parser.error("no row has both a text and labels")
    if chosen.fill:
        named = {f"{chosen.fill}-{name}": table for name, table in tables(rows)}
        marked = re.compile(rf"<!-- ({'|'.join(map(re.escape, named))}) -->\n.*?(?=<!-- end -->)", re.DOTALL)
        for document in DOCUMENTS:
            text = document.read_text("utf-8")
            filled = marked.sub(lambda place: "\n".join((f"<!-- {place[1]} -->", *named[place[1]], "")), text)
            document.write_text(filled, "utf-8")
    else:
        sys.stdout.write("\n\n".join("\n".join(table) for _, table in tables(rows)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
