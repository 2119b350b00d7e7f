"""The result of a check: part of an entry of `results[]`, written to and read from JSON. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from safe_gate.core.model import Hit, JsonObject

_HITS, _CANCELLED, _ASKED = "_hits", "cancelled", "asked"


class Requirement(NamedTuple):
    """A requirement of `wording`: its kind, one or more texts or expressions with their forms, and those found.

    The form is `text` or `regex`. `tag` is the tag that asks for it, "" for the case.
    """

    kind: str
    of: tuple[tuple[str, str], ...]
    hits: tuple[Hit, ...]
    tag: str

    @property
    def is_forbidden(self) -> bool:
        """Tell whether the reply must not contain it."""
        return self.kind == "must_not_contain"

    @property
    def holds(self) -> bool:
        """Tell whether the reply meets the requirement."""
        return bool(self.hits) is not self.is_forbidden


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The findings of one check. `applicable` is false only if the check has nothing to judge.

    `details` has the rest of its entry by the report's keys: hits by group, and their totals.
    """

    passed: bool
    applicable: bool
    details: Mapping[str, Any]

    @property
    def actual(self) -> bool | None:
        """The verdict as a label: True, False, or None for not applicable."""
        return self.passed if self.applicable else None

    @property
    def hits(self) -> dict[str, tuple[Hit, ...]]:
        """The hits that count, by group; for `wording`, by requirement."""
        found: dict[str, tuple[Hit, ...]] = {}
        for key, value in self.details.items():
            if key.endswith(_HITS):
                found[key.removesuffix(_HITS)] = value
            elif isinstance(value, Mapping):
                found |= value
            elif key == _ASKED:
                for one in self.asked:
                    found[one.kind] = (*found.get(one.kind, ()), *one.hits)
        return found

    @property
    def decides(self) -> str:
        """How the check decides by its hits for and against a reply, "" of one whose hits have no side."""
        return str(self.details.get("decides", ""))

    @property
    def applies(self) -> Mapping[str, tuple[Hit, ...]]:
        """The hits that make the check apply, by group, of one whose hits have sides."""
        return self.side("applies")

    def side(self, side: str) -> Mapping[str, tuple[Hit, ...]]:
        """Return the hits of one side by group: that of `applies`, `for` or `against`."""
        found: Mapping[str, tuple[Hit, ...]] = self.details[side]
        return found

    def group(self, group: str) -> tuple[Hit, ...]:
        """Return the hits of a group of a check whose hits have no side."""
        found: tuple[Hit, ...] = self.details.get(group + _HITS, ())
        return found

    @property
    def groups(self) -> Mapping[str, tuple[Hit, ...]]:
        """The hits by group, of a check whose hits have no side."""
        return {key.removesuffix(_HITS): value for key, value in self.details.items() if key.endswith(_HITS)}

    @property
    def is_wording(self) -> bool:
        """Tell whether the check is `wording`, which has `asked`."""
        return _ASKED in self.details

    @property
    def asked(self) -> tuple[Requirement, ...]:
        """The requirements of `wording`, and what was found of each."""
        return tuple(map(_requirement, self.details.get(_ASKED, ())))

    @property
    def shared(self) -> Sequence[str] | None:
        """The words of the message that come back in the reply; None of a check by `similarity`."""
        found: Sequence[str] | None = self.details.get("shared")
        return found

    @property
    def similarity(self) -> float:
        """How alike the message and the reply are, from 0 to 1."""
        return float(self.details["similarity"])

    @property
    def is_earlier(self) -> bool:
        """Tell whether an earlier message discloses what the reply is to stay with."""
        return "earlier" in self.details

    @property
    def cancelled(self) -> tuple[Hit, ...]:
        """The hits that do not count; `Hit.by` says why."""
        found: tuple[Hit, ...] = self.details[_CANCELLED]
        return found

    def agreement(self, expected: bool | None) -> Agreement:
        """Return how the verdict compares with a label.

        Not applicable is an automatic pass, so it agrees with True as well as with None. The label None agrees only
        with not applicable (DESIGN, Inputs).
        """
        match = self.actual == expected or (self.actual is None and expected is True)
        return Agreement(expected, self.actual, match)

    def to_json(self) -> dict[str, Any]:
        """Return the check's part of a result in the report."""
        return {"pass": self.passed, **{name: _to_json(value) for name, value in self.details.items()}}

    @classmethod
    def from_json(cls, check: JsonObject) -> CheckResult:
        """Return the check of its part of a result in the report."""
        details = {key: _from_json(key, value) for key, value in check.items() if key != "pass"}
        return cls(check["pass"], check.get("applicable", True), details)


def _to_json(value: Any) -> Any:
    if isinstance(value, tuple):
        return [hit.as_json() for hit in value]
    return {group: _to_json(hits) for group, hits in value.items()} if isinstance(value, Mapping) else value


def _from_json(key: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {group: tuple(map(_hit, hits)) for group, hits in value.items()}
    return tuple(map(_hit, value)) if key.endswith(_HITS) or key == _CANCELLED else value


def _hit(hit: JsonObject) -> Hit:
    return Hit(**{**hit, "learned": tuple(hit.get("learned", ()))})


def _requirement(one: JsonObject) -> Requirement:
    of = tuple(form for entry in one["of"] for form in entry.items())
    return Requirement(one["kind"], of, tuple(map(_hit, one["hits"])), one.get("tag", ""))


class Agreement(NamedTuple):
    """The label that people gave a check, the verdict as a label, and whether they agree; None is not applicable."""

    expected: bool | None
    actual: bool | None
    match: bool
