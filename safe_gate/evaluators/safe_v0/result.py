"""The result of a SAFE v0 case: an entry of `results[]` in the shape of section 4.1. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from safe_gate.evaluators.no_reply import NoReply
from safe_gate.evaluators.safe_v0.metrics import METRICS, Label
from safe_gate.model.codec import key
from safe_gate.model.problems import Place
from safe_gate.model.shown import in_notebook


@dataclass(frozen=True, slots=True)
class Looked:
    """The texts that a metric looks for: those that it finds, and those that are missing."""

    found: tuple[str, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Violations:
    """The forbidden terms that are used."""

    violations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Details:
    """What is behind the score of each metric."""

    CR: Looked
    AH: Violations
    AC: Looked


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """A case scored: `figures` are each metric and the composite in [0, 1], `details` the needles behind them.

    `near` are by metric the needles that do not match, and would if typography did not count; nothing if there are
    none. `no_reply` says why the output is none, None for one.
    """

    id: Annotated[str, key("test_id")]
    batch: Annotated[str, key("batch_id")]
    archetype: str
    figures: Annotated[Mapping[str, float], key("scores")]
    details: Details
    label: Label
    place: Annotated[Place, key("source")]
    digests: Mapping[str, str]
    cluster: str = ""
    no_reply: NoReply | None = None
    near: Annotated[Mapping[str, tuple[str, ...]], key("near_misses")] = field(default_factory=dict)

    @property
    def groups(self) -> tuple[str]:
        """The archetype, as a group."""
        return (self.archetype,)

    @property
    def asks(self) -> Mapping[str, Any]:
        """Nothing: no archetype is meant to fail."""
        return {}

    @property
    def passed(self) -> bool:
        """Whether the label is Pass."""
        return self.label is Label.PASS

    @property
    def scores(self) -> Mapping[str, float]:
        """The score of each metric, in [0, 1]."""
        return {metric: self.figures[metric] for metric in METRICS}

    @property
    def composite(self) -> float:
        """The weighted mean of the scores."""
        return self.figures["composite"]

    @property
    def found(self) -> Mapping[str, tuple[str, ...]]:
        """By metric what it looks for and finds. For AH these are the forbidden terms in use."""
        return {"CR": self.details.CR.found, "AH": self.violations, "AC": self.details.AC.found}

    @property
    def missing(self) -> Mapping[str, tuple[str, ...]]:
        """By metric what it looks for and does not find."""
        return {"CR": self.details.CR.missing, "AC": self.details.AC.missing}

    @property
    def violations(self) -> tuple[str, ...]:
        """The forbidden terms in use."""
        return self.details.AH.violations

    @property
    def against(self) -> Mapping[str, tuple[str, ...]]:
        """By metric what counts against it: missing items, or the forbidden terms in use."""
        return {"CR": self.details.CR.missing, "AH": self.violations, "AC": self.details.AC.missing}

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return f"<Result{f' {self.id!a}' * bool(self.id)}: {self._words}>"

    @property
    def _words(self) -> str:
        return f"{self.label.value} ({', '.join(f'{metric} {self.scores[metric]:.2f}' for metric in METRICS)})"

    def _repr_html_(self) -> str:
        """Return the result as a notebook shows it."""
        words = {"CR": "missing", "AH": "used", "AC": "missing"}
        rows = [
            (
                metric,
                f"{self.scores[metric]:.2f}",
                "; ".join(f'{words[metric]} "{one}"' for one in self.against[metric]),
            )
            for metric in METRICS
        ]
        title = f"{self.id}: {self._words}" if self.id else self._words
        return in_notebook(title, ("metric", "score", "found"), rows)
