"""What evaluators of this folder share: their parts, found in modules of the package when first used. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from safe_gate.core.evaluator import Evaluator

if TYPE_CHECKING:
    from safe_gate.core.model import Failure, JsonObject, Judgement, Metric, Outcome, Phrase
    from safe_gate.core.rules import Rule
    from safe_gate.core.shown import Explained, Finding, Mark, Rate, Section


class Modular(Evaluator):
    """An evaluator with these modules beside its own: gate, result, totals, section, evidence, event, outcome."""

    def _module(self, name: str) -> Any:
        package = type(self).__module__.rpartition(".")[0]
        return import_module(f"{package}.{name}")

    @property
    def rules(self) -> tuple[Rule, ...]:
        found: tuple[Rule, ...] = self._module("gate").RULES
        return found

    @property
    def group_rules(self) -> tuple[Rule, ...]:
        found: tuple[Rule, ...] = self._module("gate").GROUP_RULES
        return found

    def value(self, entry: JsonObject) -> Any:
        return self._module("result").Result.from_json(entry)

    def failures(self, part: JsonObject) -> Iterator[Failure]:
        found: Iterator[Failure] = self._module("totals").failures(part)
        return found

    def section(self, part: JsonObject) -> Section:
        found: Section = self._module("section").section(part)
        return found

    def finding(self, result: JsonObject) -> Finding:
        found: Finding = self._module("section").finding(result)
        return found

    def judgements(self, part: JsonObject, result: JsonObject) -> Iterator[Judgement]:
        found: Iterator[Judgement] = self._module("section").judgements(part, result)
        return found

    @property
    def explained(self) -> Mapping[str, Explained]:
        found: Mapping[str, Explained] = self._module("section").EXPLAINED
        return found

    @property
    def fields(self) -> Mapping[str, str]:
        found: Mapping[str, str] = self._module("evidence").FIELDS
        return found

    def marks(self, result: JsonObject, texts: JsonObject) -> Iterator[Mark]:
        found: Iterator[Mark] = self._module("evidence").marks(result, texts)
        return found

    def decisions(self, part: JsonObject, result: JsonObject) -> Mapping[str, Phrase]:
        found: Mapping[str, Phrase] = self._module("evidence").decisions(part, result)
        return found

    def rates(self, part: JsonObject) -> Iterator[Rate]:
        found: Iterator[Rate] = self._module("section").rates(part)
        return found

    def labels(self, part: JsonObject) -> Mapping[str, int]:
        found: Mapping[str, int] = self._module("section").labels(part)
        return found

    def result_event(
        self, result: JsonObject, judgements: Sequence[Judgement], *, with_text: bool
    ) -> tuple[str, dict[str, Any]]:
        event = self._module("event")
        return event.RESULT, event.result(result, judgements, with_text=with_text)

    def batch_events(self, part: JsonObject) -> Iterator[tuple[str, str, dict[str, Any]]]:
        found: Iterator[tuple[str, str, dict[str, Any]]] = self._module("event").batches(part)
        return found

    def outcome(self, result: JsonObject) -> Outcome:
        found: Outcome = self._module("outcome").outcome(result)
        return found

    @property
    def metrics(self) -> Mapping[str, Metric]:
        found: Mapping[str, Metric] = self._module("outcome").COMPARED
        return found
