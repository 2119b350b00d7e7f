"""Terms of the gate, and a repository whose change weakens them."""

import copy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from safe_gate.gate.weakening import WEAKER, Terms, weakenings
from safe_gate.settings import Settings
from tests.support.cases import Ran, report, safe_case, turn, write_batch, write_cases, write_json
from tests.support.git import commit, git
from tests.support.github import PULL_REQUEST
from tests.support.pack_files import OWN
from tests.support.safe_v0 import asking

DEFAULTS = {name: Settings().value(name) for name in WEAKER}
Found = tuple[str, str, str, str]
Against = Callable[[str], None]
"""Makes the next runs those of a pull request with this base commit."""


def found(base: Terms, head: Terms) -> list[Found]:
    return [(one.kind, one.id, one.field, one.what) for one in weakenings(base, head)]


def both_ways(base: Terms, head: Terms) -> tuple[list[Found], list[Found]]:
    return found(base, head), found(head, base)


_RULES = [
    {"id": "ours/stop", "pattern": "stop being", "why": "x", "hit": ["Stop being sad."], "miss": ["Stop."]},
    {"id": "ours/over", "pattern": "zebra", "why": "x", "hit": ["A zebra."], "miss": ["A horse."]},
]
PACK = OWN | {"pack": "ours", "check": "agency_language", "group": "negative", "rules": _RULES}


def needles(*signals: str) -> Any:
    return asking(signals, ["went home"])


def full(**fields: Any) -> dict[str, Any]:
    return safe_case("s", expectations=needles("fever", "fever")) | fields


def configure(config: Mapping[str, Any], path: str = "safe.config.json") -> None:
    write_json(path, config)


def put(config: Mapping[str, Any], *turns: dict[str, Any], cases: Any = None, pack: Any = PACK) -> None:
    """Write a gate: its settings, its rule pack, its turns and its SAFE v0 cases, by default `full()`."""
    configure(pack, "ours.json")
    configure(config)
    write_cases(Path("c.jsonl"), *turns)
    write_batch(Path("b.json"), *(cases or [full()]))


CONFIG: dict[str, Any] = {"safe-batch": ["b"], "synthesis-cases": ["c.jsonl"], "rules": ["ours.json"]}
CONFIG |= {"min-pass-rate": 0.9, "protect": ["<b>@octo | x", "a"]}
TAGGED = turn("</code> @octo | b", tags=["<b>@octo | x"])


def weaken(**settings_: Any) -> None:
    """Weaken the gate in the working folder: a lower limit, an edited rule, a case that is gone, fewer signals."""
    pack = copy.deepcopy(PACK)
    pack["rules"][1]["pattern"] = "zebras?"
    put(CONFIG | {"min-pass-rate": 0.5, "protect": ["a"]} | settings_, turn("a"), cases=(safe_case("s"),), pack=pack)


WEAKENED = [
    ("setting", "min-pass-rate", "", "looser"),
    ("setting", "protect", "<b>@octo | x", "dropped"),
    ("rule", "ours/over", "", "changed"),
    ("safe_v0", "s", "CR", "dropped"),
    ("synthesis", "</code> @octo | b", "", "dropped"),
]


def section() -> list[Found]:
    """Return how the last run found the gate weakened."""
    return [(one["kind"], one["id"], one["field"], one["what"]) for one in report()["weakened"]["findings"]]


def weakened(ran: Ran) -> tuple[int, list[Found]]:
    """Return the exit code of a run, and how it found the gate weakened."""
    return ran.code, section()


def pull_request(base: str) -> dict[str, Any]:
    payload: dict[str, Any] = copy.deepcopy(PULL_REQUEST)
    payload["pull_request"]["base"]["sha"] = base
    return payload


def committed_gate() -> str:
    """Make a repository whose only commit has a gate and its cases; return the commit."""
    git("init", "--quiet")
    put(CONFIG, turn("a"), TAGGED)
    return commit()
