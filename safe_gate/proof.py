"""Digests by which a report can be held against what it was made from. Pure, from the report alone.

Each is the SHA-256 of one thing a verdict follows from, and `all` of them together: two reports with the
same `all` are of the same cases, outputs, rules, limits and engine, and found the same. The order of files
and of cases, and where a case stands in its file, change none.
"""

from __future__ import annotations

from collections.abc import Iterator

from safe_gate.digests import digest, of_all
from safe_gate.evaluators import EVALUATORS
from safe_gate.model import JsonObject

_SCORING = ("profile", "sensitivity")  # of the policy: what decides how a case is scored, not how it is judged


def digests(report: JsonObject) -> dict[str, str]:
    """Return the digests of a report: `rules`, `policy`, `cases`, `outputs`, `results`, and `all` of them.

    `rules` is of all that scores follow from besides the cases: engine, rule packs, profile, thresholds
    and weights. `policy` is of what the scores are judged by.
    """
    policy = report["provenance"]["policy"]
    found = {
        "rules": digest(
            {
                "engine": report["tool"],
                "packs": report["provenance"]["packs_sha256"],
                "scoring": {key: policy[key] for key in _SCORING},
                "safe_v0": report["safe_v0"]["policy"] if report["safe_v0"] else None,
            }
        ),
        "policy": digest(policy),
        "cases": of_all(digest([name, _id(name, r), r["digests"]["case"]]) for name, r in _results(report)),
        "outputs": of_all(digest([name, _id(name, r), r["digests"]["output"]]) for name, r in _results(report)),
        "results": of_all(
            digest([name, {key: value for key, value in r.items() if key != "source"}]) for name, r in _results(report)
        ),
    }
    judged = {"verdict": report["verdict"], "rules": report["rules"]}
    return {**found, "all": digest({**found, "judged": judged})}


def _results(report: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    return ((name, result) for name in EVALUATORS if report[name] for result in report[name]["results"])


def _id(name: str, result: JsonObject) -> str:
    return EVALUATORS[name].outcome(result).id
