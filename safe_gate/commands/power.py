"""`power`: show what a comparison of some number of cases can detect, or of the cases that a run would read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from textwrap import fill

from safe_gate.commands._command import Call, Command, texts
from safe_gate.core import stats
from safe_gate.core.figures import percent, plural
from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.model.problems import CannotJudge, Code
from safe_gate.model.results import Table
from safe_gate.render.console import table_text
from safe_gate.scoring import measure, sides
from safe_gate.settings import Settings, Significance

_MOST_CASES = 1_000_000  # more would take long to compute

COMMAND = Command(
    place=8,
    summary="show what a comparison of N cases can detect: the smallest drop, and how often it fails by chance",
    exit_codes="0 shown, 3 no cases to count or error",
    arguments={"cases": texts("N", "number of cases; default: the cases that a run would read", "?")},
)


def main(call: Call) -> int:
    """Show what a number of cases can detect. Returns 0 or 3."""
    options, word = call.options(), call.arguments["cases"]
    counts, grouped = _count_cases(options) if word is None else ({"": _parse_count(word)}, False)
    call.effects.out(foresight(counts, options.significance, options.max_regressions, grouped=grouped))
    return 0


def _parse_count(word: str) -> int:
    if not (re.fullmatch(r"[0-9]{1,7}", word) and 1 <= int(word) <= _MOST_CASES):
        words = f"{word!r} is not a number of cases from 1 to {_MOST_CASES}"
        raise CannotJudge.at("safe-gate power", words, Code.USAGE)
    return int(word)


def _count_cases(options: Settings) -> tuple[dict[str, int], bool]:
    """Return how many cases each evaluator that has inputs would score, and whether cases share a cluster.

    Raises CannotJudge.
    """
    how = measure.ScoringMethod(source=measure.score_none, case_terms=True)
    scores = measure.measure_all(sides.take_snapshot(options), "", how)
    if not scores.measured:
        expected = "a number of cases, such as safe-gate power 100, or the files of a run"
        raise CannotJudge.at("safe-gate power", f"has no cases to count; expected {expected}", Code.NO_INPUT)
    if scores.problems:
        raise CannotJudge(*scores.problems)
    clusters = [
        (name, cluster)
        for name, own in scores.measured.items()
        for one in own.case_terms
        if one.asks and one.id not in own.left_out and (cluster := one.asks["cluster"])
    ]
    return {name: one.cases for name, one in scores.measured.items()}, len({*clusters}) < len(clusters)


_FIXED = {"no case": 0.0, "2% of cases": 0.02, "5% of cases": 0.05}
_LEAST_SHOWN = 0.001

_SEEN = (
    "Seen: a change with such a drop fails 4 times in 5. A drop fails if it is at least {1} (min-drop) and {2}, and"
    " if p is at most {0:g} (alpha). p comes from the exact one-sided sign test on the newly failing and the fixed"
    " cases of a metric. With several metrics, Holm's correction detects less."
)
_GROUPED = (
    "Cases are counted one by one here. But a comparison counts the turns of a conversation, or cases with one value"
    " of cluster-key, as one unit. There are fewer units than cases, so it detects less."
)
_FALSE_ALARMS = (
    "False alarms: how many changes fail although they make nothing worse on average. Each case newly fails with a"
    " chance of {}, and is fixed with the same chance."
)


def foresight(
    counts: Mapping[str, int], significance: Significance, max_regressions: int | None, *, grouped: bool
) -> str:
    """Return what sets of cases can show under a policy, as a table and in sentences.

    `counts` has the number of cases by evaluator, or under "" that of any set. If `max_regressions` is None, the rule
    is off. The table still shows what it would do at 0. `grouped` says that a comparison counts groups of these
    cases.
    """
    alpha, min_drop, limit = significance.alpha, significance.min_drop, max_regressions or 0

    def seen(cases: int, fixed: float = 0.0) -> str:
        drop = stats.smallest_drop(cases, alpha, fixed, min_drop)
        return "none" if drop is None else percent(drop, 1)

    columns, words = [], list[str]()
    for name, cases in counts.items():
        title = EVALUATORS[name].title if name else "This set"
        drops = [seen(cases, fixed) for fixed in _FIXED.values()]
        alarms = stats.false_alarm(cases, alpha, min_drop), stats.false_alarm_of_count(cases, limit)
        columns.append((f"{title}, {plural(cases, 'case')}", *drops, *map(_rate, alarms)))
        likely = f"is likely to miss a drop below {drops[0]}"
        now = "is too small to detect any drop" if drops[0] == "none" else likely
        words.append(f"{title} {now}; smallest drop detected with twice as many cases: {seen(2 * cases)}.")
    off = ", which is off" if max_regressions is None else ""
    alarm_names = "false alarms of a real drop", f"false alarms of max-regressions {limit}{off}"
    names = ("", *(f"smallest drop seen, {words} fixed" for words in _FIXED), *alarm_names)
    header, *rows = zip(names, *columns, strict=True)
    words += ["", _SEEN.format(alpha, percent(min_drop, 1), plural(stats.LEAST_CASES, "case")), *[_GROUPED] * grouped]
    words.append(_FALSE_ALARMS.format(percent(stats.FLIPPED)))
    shown = table_text(Table(header, "<" + ">" * len(counts), tuple(rows)))
    return "\n".join((shown, *(fill(line, 80) for line in words)))


def _rate(rate: float) -> str:
    return f"below {percent(_LEAST_SHOWN, 1)}" if 0 < rate < _LEAST_SHOWN / 2 else percent(rate, 1)
