"""The base of the evaluators in this folder: it finds their parts in modules of the package on first use. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from safe_gate.core.evaluator import Evaluator

if TYPE_CHECKING:
    from safe_gate.core.command import Command
    from safe_gate.core.model import JsonObject, Judgement


class In:
    """A member that a module of the evaluator's package has, by the same name or another."""

    def __init__(self, module: str, name: str = "") -> None:
        self._module, self._name = module, name

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = self._name or name

    def __get__(self, evaluator: Modular, _owner: type) -> Any:
        """Return the member; the first use imports its module."""
        return getattr(evaluator.module(self._module), self._name)


class Modular(Evaluator):
    """An evaluator with modules beside its own: commands, gate, result, totals, section, evidence, event, outcome."""

    def module(self, name: str) -> Any:
        """Return a module of the package, which the first use imports."""
        return beside(type(self).__module__.rpartition(".")[0], name)

    rules: Any = In("gate", "RULES")
    group_rules: Any = In("gate", "GROUP_RULES")
    failures: Any = In("totals")
    section: Any = In("section")
    finding: Any = In("section")
    judgements: Any = In("section")
    explained: Any = In("section", "EXPLAINED")
    rates: Any = In("section")
    labels: Any = In("section")
    fields: Any = In("evidence", "FIELDS")
    marks: Any = In("evidence")
    decisions: Any = In("evidence")
    outcome: Any = In("outcome")
    metrics: Any = In("outcome", "COMPARED")

    def value(self, entry: JsonObject) -> Any:
        return self.module("result").Result.from_json(entry)

    def read(self, part: JsonObject) -> Any:
        return self.module("part").Part.from_json(part)

    def command(self, name: str) -> Command:
        command: Command = self.module("commands").COMMANDS[name]
        return command

    def result_event(
        self, result: JsonObject, judgements: Sequence[Judgement], *, with_text: bool
    ) -> tuple[str, dict[str, Any]]:
        event = self.module("event")
        return event.RESULT, event.result(result, judgements, with_text=with_text)


@cache
def beside(package: str, name: str) -> Any:
    """Return a module of a package."""
    return import_module(f"{package}.{name}")
