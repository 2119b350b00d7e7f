"""How the cost of a run grows, as a picture: `python benchmarks/curves.py [ROUNDS]`, some minutes.

Whole runs on generated cases, each its own process: processor seconds (of the process and of what it started) and
peak memory, fastest and smallest of the rounds. What a case costs is a run's seconds less those of the same run on
ten cases. Writes `docs/curves.svg` and, for dark pages, `docs/curves.dark.svg`, and prints what it measured.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any

from generate import DATA, safe_cases, synthesis_cases
from plot import DARK, LIGHT, Panel, picture

from safe_gate.evaluators.synthesis import packs
from safe_gate.inputs import own_rules

DOCS = Path(__file__).parent.parent / "docs"
EVAL = ["eval", "--cases", "cases.jsonl"]
SCORE = ["score", "--format", "json", "--output", "o.json", "--batch", "cases.json"]
FEW = 10
CASES = (100, 300, 1_000, 3_000, 10_000, 30_000)
WORDS = (10, 30, 100, 300, 1_000, 5_000)
WORDS_IN_ALL = 200_000  # of a run, however long its replies are
NEEDLES = (1, 2, 5, 10, 20, 50, 100, 200)
NEEDLES_IN_ALL = 400_000
OWN_RULES = (100, 300, 1_000)
RULE_CASES = 1_000
LONG = partial(synthesis_cases, "long")

Cases = Iterator[dict[str, Any]]
Points = list[tuple[float, float]]


def run(arguments: Sequence[str]) -> tuple[float, float]:
    """Return a run's processor seconds and its peak memory in MiB. Raises RuntimeError if it could not judge."""
    command = [sys.executable, "-I", "-m", "safe_gate", *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        said = process.stderr.read() if process.stderr else b""
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1, 2):
        raise RuntimeError(said.decode())
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def least(arguments: Sequence[str], rounds: int) -> tuple[float, float]:
    """Return the fewest processor seconds and the smallest peak memory of some runs."""
    found = [run(arguments) for _ in range(rounds)]
    return min(seconds for seconds, _ in found), min(peak for _, peak in found)


def put(command: str, cases: Cases) -> None:
    """Write cases as a command reads them, one at a time: a process's peak memory counts from that of its parent."""
    if command == "eval":
        with Path("cases.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(case) + "\n" for case in cases)
        return
    with Path("cases.json").open("w", encoding="utf-8") as file:
        before = chain(['{"test_cases": ['], repeat(","))
        file.writelines(f"{mark}{json.dumps(case)}" for mark, case in zip(before, cases, strict=False))
        file.write("]}")


def each(arguments: Sequence[str], source: Callable[[], Cases], count: int, rounds: int) -> tuple[float, float]:
    """Return what a case costs in microseconds, and what the run on few cases costs in milliseconds.

    Raises RuntimeError where more cases took no longer.
    """
    put(arguments[0], islice(source(), FEW + count))
    many, _ = least(arguments, rounds)
    put(arguments[0], islice(source(), FEW))
    few, _ = least(arguments, rounds)
    if many <= few:
        raise RuntimeError(
            f"{FEW + count} cases took no longer than {FEW}: the machine is too busy; ask for more rounds"
        )
    return 1e6 * (many - few) / count, 1e3 * few


def of_words(words: int) -> Cases:
    """Yield Synthesis cases without end whose replies have so many words."""
    source = synthesis_cases("long")
    for number, case in enumerate(source):
        reply = case["assistant"].split()
        while len(reply) < words:
            reply += next(source)["assistant"].split()
        yield case | {"id": str(number), "assistant": " ".join(reply[:words])}


def of_needles(needles: int) -> Cases:
    """Yield SAFE v0 cases without end that look for so many texts: signals, phrases and forbidden terms in turn."""
    draw = random.Random(needles)
    for case in safe_cases():
        sought = [f"{draw.choice(case['output']['signals'])} {number}" for number in range(needles)]
        signals, phrases, terms = (sought[start::3] for start in range(3))
        expected = {
            "signal_generation": {"must_find_signals": signals},
            "event_summary": {"must_contain_phrases": phrases},
            "followup_questions": {"forbidden_terms": terms},
        }
        yield case | {"expectations": expected}


def own_pack(count: int) -> str:
    """Write a pack of so many rules, as a team might, and return its path."""
    draw = random.Random(count)
    texts = (DATA / "dev.jsonl").read_text("utf-8")
    words = sorted({word for word in texts.split() if word.isascii() and word.isalpha() and word.islower()})
    pairs = [draw.sample(words, 2) for _ in range(count)]
    about = {"check": "agency_language", "group": "negative", "field": "assistant", "about": "Rules of a team."}
    rules = [
        {
            "id": f"team-own/r-{number}",
            "pattern": f"{first} (?:the|your|an?) {second}s?",
            "why": "Measures what a rule costs.",
            "hit": [f"{first} your {second}"],
            "miss": ["-"],
        }
        for number, (first, second) in enumerate(pairs)
    ]
    Path("team-own.json").write_text(json.dumps({"pack": "team-own", **about, "rules": rules}), "utf-8")
    return "team-own.json"


def by_cases(rounds: int) -> tuple[dict[str, Points], dict[str, Points]]:
    """Return the processor seconds and the peak memory of runs over how many cases they have."""
    runs: dict[str, tuple[list[str], Callable[[], Cases]]] = {
        "eval, 22 words": (EVAL, partial(synthesis_cases, "short")),
        "score": (SCORE, safe_cases),
    }
    seconds: dict[str, Points] = {name: [] for name in runs}
    peaks: dict[str, Points] = {name: [] for name in runs}
    for name, (arguments, source) in runs.items():
        for count in CASES:
            put(arguments[0], islice(source(), count))
            spent, peak = least(arguments, rounds)
            seconds[name].append((count, spent))
            peaks[name].append((count, peak))
    return seconds, peaks


def by_rules(profile: str, rounds: int) -> tuple[Points, Points]:
    """Return what a case costs, and what a run on few cases costs, over how many hand-written rules there are."""
    shipped = [rule["id"] for pack in packs.shipped(own_rules.shipped("synthesis")) for rule in pack.get("rules", [])]
    costs: Points = []
    starts: Points = []
    for off in (shipped, shipped[::2], []):
        flags = ["--rules-off", *off] if off else []
        cost, start = each([*EVAL, "--profile", profile, *flags], LONG, RULE_CASES, rounds)
        costs.append((len(shipped) - len(off), cost))
        starts.append((len(shipped) - len(off), start))
    for own in OWN_RULES:
        cost, start = each([*EVAL, "--profile", profile, "--rules", own_pack(own)], LONG, RULE_CASES, rounds)
        costs.append((len(shipped) + own, cost))
        starts.append((len(shipped) + own, start))
    return costs, starts


def panels(rounds: int) -> list[Panel]:
    """Return all curves, measured in the working folder."""
    seconds, peaks = by_cases(rounds)
    words = [(n, each(EVAL, partial(of_words, n), WORDS_IN_ALL // n, rounds)[0]) for n in WORDS]
    needles = [(n, each(SCORE, partial(of_needles, n), NEEDLES_IN_ALL // (100 + n), rounds)[0]) for n in NEEDLES]
    rules = {f"profile {profile}": by_rules(profile, rounds) for profile in ("standard", "spec")}
    costs = {name: cost for name, (cost, _) in rules.items()}
    starts = {name: start for name, (_, start) in rules.items()}
    return [
        Panel("Processor seconds of a run", "cases", seconds, like=True),
        Panel("Peak memory of a run, MiB", "cases", peaks),
        Panel("Microseconds a case, eval", "words of a reply", {"eval": words}, like=True),
        Panel("Microseconds a case, score", "texts a case looks for (needles)", {"score": needles}, like=True),
        Panel("Microseconds a case of 241 words, eval", "hand-written rules: 261 ship", costs, is_log=False),
        Panel("Milliseconds to start, eval of ten cases", "hand-written rules: 261 ship", starts, is_log=False),
    ]


def main() -> None:
    """Measure, draw and print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        found = panels(rounds)
        os.chdir(DOCS)
    for theme, name in ((LIGHT, "curves.svg"), (DARK, "curves.dark.svg")):
        (DOCS / name).write_text(picture(found, theme), "utf-8")
    for panel in found:
        print(f"{panel.title}, by {panel.across}:")
        for name, line in panel.lines.items():
            print(f"  {name}: {', '.join(f'{x:,.0f}: {y:.3g}' for x, y in line)}")


if __name__ == "__main__":
    main()
