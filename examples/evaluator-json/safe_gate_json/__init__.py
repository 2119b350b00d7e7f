"""An evaluator for SAFE Gate: a recorded output must parse as JSON and satisfy the case's JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from safe_gate.core.command import OUT, VERBOSE, Ending, Scores
from safe_gate.core.given import FileKind, Lines, Way
from safe_gate.core.jsontext import JsonError, parse_bounded
from safe_gate.core.model import JsonObject
from safe_gate.core.passfail import PART, Part, PassFail
from safe_gate.core.setting import SCORING_FLAGS, option
from safe_gate.core.shown import Explained
from safe_gate.core.validate import Schema

CASE = {
    "type": "object",
    "required": ["id", "output", "schema"],
    "properties": {
        "id": {"type": "string", "minLength": 1, "maxLength": 200, "description": "text of 1 to 200 characters"},
        "output": {"type": "string", "description": "text: what the application answered"},
        "schema": {"type": "object", "description": "an object: the JSON Schema (2020-12) of the output"},
        "tags": {"type": "array", "items": {"type": "string"}, "description": "a list of texts"},
    },
    "patternProperties": {"^x_": {}},
    "additionalProperties": False,
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Where the cases are, and the limit of the gate's rule."""

    json_cases: tuple[str, ...] = option(
        "inputs",
        "JSON case files (JSONL): paths or globs, one per line.",
        (),
        flags=dict.fromkeys(("run", "power", "explain", "json"), ("--json-cases",)),
    )
    min_json_pass_rate: float = option(
        "gate", "Rule: the share of JSON cases that pass is at least this (0 to 1).", 1.0, limits=(0, 1)
    )


class CheckJson(Scores):
    """The command `safe-gate json`: the exit code says whether all outputs pass."""

    asks_for = ("--json-cases", "a JSONL file of JSON cases")

    def ending(self, part: JsonObject, _settings: Mapping[str, Any]) -> Ending:
        """Return 0 if all cases pass, 1 if not."""
        cases, passed = Part.from_json(part).summary
        return int(passed < cases), ""


class Json(PassFail):
    """Whether outputs are the JSON that a program expects."""

    name = "json"
    title = "JSON"
    settings = Settings
    weaker = MappingProxyType({"min_json_pass_rate": Way.LOWER})
    input = Lines(setting="json_cases", kind="json-case", plural="JSON cases")
    kinds = (
        FileKind(
            "json-case",
            called="JSON cases",
            file="a file of JSON cases",
            needed=frozenset({"output", "schema"}),
            own=frozenset({"id", "output"}),
            hints=frozenset({"schema"}),
        ),
    )
    schemas = MappingProxyType({"json-case": CASE, "part": PART})
    asked = ("schema",)
    explained = MappingProxyType(
        {
            "parses": Explained("Parses", "The output is valid JSON.", "Correct the application."),
            "satisfies_schema": Explained(
                "Satisfies the schema",
                "The output satisfies the JSON Schema of its case.",
                "Correct the application, or the schema of the case.",
            ),
        }
    )

    commands = MappingProxyType({"json": SCORING_FLAGS})

    def command(self, _name: str) -> Scores:
        """Return the command that checks outputs alone."""
        codes, arguments = "0 all pass, 1 a case fails, 3 error", {"--out": OUT, "--verbose": VERBOSE}
        return CheckJson(place=30, summary="check JSON outputs alone", exit_codes=codes, arguments=arguments)

    def check(self, value: JsonObject) -> Mapping[str, Sequence[str]]:
        """Return why an output does not parse, or else where it breaks its schema."""
        try:
            found = parse_bounded(value["output"])
        except JsonError as error:
            return {"parses": [f"is not valid JSON: {error}"], "satisfies_schema": ["cannot be read"]}
        faults = Schema(value["schema"]).faults(found)
        return {"parses": [], "satisfies_schema": [f"{one.field or 'it'} {one.message}" for one in faults]}


EVALUATOR = Json()
