"""The outcome of a rule of the gate, and the verdict. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from safe_gate.model import codec
from safe_gate.model.codec import JsonObject


class Verdict(StrEnum):
    """The gate's verdict: it passed, it failed, or it could not judge."""

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"

    @property
    def exit_code(self) -> int:
        """What `run` exits with; `score` and `eval` have the codes of their specs."""
        return {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.ERROR: 3}[self]


def _outcome_json(outcome: RuleOutcome) -> dict[str, Any]:
    """Return the outcome in the shape of the report's `rules[]`."""
    told = ("rule", "evaluator", "value", "threshold", "passed", "message")
    optional = {name: one for name in ("group", "names", "skipped") if (one := getattr(outcome, name))}
    return {name: getattr(outcome, name) for name in told} | optional


def _outcome_fields(value: JsonObject) -> dict[str, Any]:
    own = {name: one for name, one in value.items() if name != "message"}
    found, _, detail = value["message"].partition(": ")  # as `message` joins them
    return {**own, "found": found, "detail": detail}


@codec.formed(_outcome_json, _outcome_fields)
@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """The outcome of one rule of the gate: the value found, the limit, and both in words.

    A share is a float from 0 to 1, as is a drop of a mean; a count is an int. `value` is None if there was nothing to
    measure. That never passes, unless the rule was `skipped` because its group has too few cases. `found` says what was
    found and what is allowed, without a colon, `detail` the numbers behind it, both in our own words. Recorded text:
    the `group` of cases, if not all, and the `names` of what broke it.
    """

    rule: str
    evaluator: str
    value: float | int | None
    threshold: float | int
    passed: bool
    found: str
    detail: str = ""
    group: str = ""
    names: tuple[str, ...] = ()
    skipped: bool = False

    @property
    def message(self) -> str:
        """The sentence that the report has: what was found, and the numbers behind it."""
        return f"{self.found}: {self.detail}" if self.detail else self.found
