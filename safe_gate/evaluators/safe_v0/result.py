"""The result of a SAFE v0 case: an entry of `results[]` as a value. The only place that reads and writes it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from safe_gate.core.model import JsonObject, Place
from safe_gate.core.shown import in_notebook
from safe_gate.evaluators.entry import StoredEntry
from safe_gate.evaluators.no_reply import NoReply
from safe_gate.evaluators.safe_v0.metrics import METRICS, Label


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """A case scored: each metric and the composite in [0, 1], with the needles behind them.

    `found` and `missing` are by metric what was looked for, `violations` the forbidden terms that were used. `near`
    are by metric the needles that do not match, and would if typography did not count. `no_reply` says why the
    output is none, None for one.
    """

    test_id: str
    batch_id: str
    archetype: str
    scores: Mapping[str, float]
    composite: float
    found: Mapping[str, tuple[str, ...]]
    missing: Mapping[str, tuple[str, ...]]
    violations: tuple[str, ...]
    label: Label
    place: Place
    digests: Mapping[str, str]
    cluster: str = ""
    no_reply: NoReply | None = None
    near: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether the label is Pass."""
        return self.label is Label.PASS

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return f"<Result{f' {self.test_id!a}' * bool(self.test_id)}: {self._words}>"

    @property
    def _words(self) -> str:
        return f"{self.label.value} ({', '.join(f'{metric} {self.scores[metric]:.2f}' for metric in METRICS)})"

    def _repr_html_(self) -> str:
        """Return the result as a notebook shows it."""
        against = {metric: [f'missing "{one}"' for one in self.missing.get(metric, ())] for metric in METRICS}
        against["AH"] += [f'used "{one}"' for one in self.violations]
        rows = [(metric, f"{self.scores[metric]:.2f}", "; ".join(against[metric])) for metric in METRICS]
        title = f"{self.test_id}: {self._words}" if self.test_id else self._words
        return in_notebook(title, ("metric", "score", "found"), rows)

    def to_json(self) -> dict[str, Any]:
        """Return the entry of `results[]`: the shape of section 4.1, with its batch and where it stands."""
        return {
            "test_id": self.test_id,
            "batch_id": self.batch_id,
            "archetype": self.archetype,
            "scores": {**self.scores, "composite": self.composite},
            "details": {
                "CR": {"found": list(self.found["CR"]), "missing": list(self.missing["CR"])},
                "AH": {"violations": list(self.violations)},
                "AC": {"found": list(self.found["AC"]), "missing": list(self.missing["AC"])},
            },
            "label": self.label.value,
            "source": {"path": self.place.path, "line": self.place.line},
            "digests": dict(self.digests),
            **({"cluster": self.cluster} if self.cluster else {}),
            **({"no_reply": self.no_reply.value} if self.no_reply else {}),
            **(
                {"near_misses": {metric: list(self.near[metric]) for metric in METRICS}}
                if any(self.near.values())
                else {}
            ),
        }

    @classmethod
    def from_json(cls, entry: JsonObject) -> Result:
        """Return the result of an entry of `results[]`."""
        details, scores = entry["details"], entry["scores"]
        return cls(
            test_id=entry["test_id"],
            batch_id=entry["batch_id"],
            archetype=entry["archetype"],
            scores={metric: scores[metric] for metric in METRICS},
            composite=scores["composite"],
            found={metric: tuple(details[metric]["found"]) for metric in ("CR", "AC")},
            missing={metric: tuple(details[metric]["missing"]) for metric in ("CR", "AC")},
            violations=tuple(details["AH"]["violations"]),
            label=Label(entry["label"]),
            place=Place(**entry["source"]),
            digests=entry["digests"],
            cluster=entry.get("cluster", ""),
            no_reply=NoReply(entry["no_reply"]) if "no_reply" in entry else None,
            near={metric: tuple(texts) for metric, texts in entry.get("near_misses", {}).items()},
        )


_LABELS = {label.value: label for label in Label}
_AGAINST = {"CR": "missing", "AH": "violations", "AC": "missing"}
"""Where the details of a metric have what counts against it."""


class Entry(StoredEntry):
    """A stored result: an entry of `results[]`."""

    __slots__ = ()

    @property
    def id(self) -> str:
        """The id of the case."""
        return str(self._json["test_id"])

    @property
    def batch(self) -> str:
        """The id of the batch."""
        return str(self._json["batch_id"])

    @property
    def archetype(self) -> str:
        """The archetype of the case."""
        return str(self._json["archetype"])

    @property
    def label(self) -> Label:
        """The label."""
        return _LABELS[self._json["label"]]

    @property
    def scores(self) -> Mapping[str, float]:
        """The scores of the metrics, and the composite, each in [0, 1]."""
        found: Mapping[str, float] = self._json["scores"]
        return found

    @property
    def details(self) -> JsonObject:
        """The findings of each metric, in the form of events."""
        found: JsonObject = self._json["details"]
        return found

    def found(self, metric: str) -> Sequence[str]:
        """Return the items that a metric looks for and finds. For AH these are the forbidden terms in use."""
        details: Sequence[str] = self._json["details"][metric]["violations" if metric == "AH" else "found"]
        return details

    def against(self, metric: str) -> Sequence[str]:
        """Return the items that count against a metric: missing ones, or the forbidden terms in use."""
        details: Sequence[str] = self._json["details"][metric][_AGAINST[metric]]
        return details

    @property
    def has_near_misses(self) -> bool:
        """Whether a needle would match if typography did not count."""
        return "near_misses" in self._json

    def near(self, metric: str) -> Sequence[str]:
        """Return the needles of a metric that would match if typography did not count."""
        near: Sequence[str] = self._json.get("near_misses", {}).get(metric, ())
        return near
