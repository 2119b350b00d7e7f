"""An evaluator for SAFE Gate: a recorded output must parse as JSON and satisfy the case's JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, NoReturn

import jsonschema_rs
from pydantic import Field

from safe_gate.core.command import OUT, VERBOSE, Ending, Scores
from safe_gate.core.given import FileKind, Lines, Way
from safe_gate.core.jsontext import JsonError, parse
from safe_gate.core.model import JsonObject
from safe_gate.core.passfail import PART, Part, PassFail
from safe_gate.core.setting import SCORING_FLAGS, Group, Names, Number, Texts
from safe_gate.core.shown import Explained

FLAGS = dict.fromkeys(("run", "power", "explain", "json"), ("--json-cases",))
LONGEST = 200  # characters of a fault: a library quotes whole values
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


class Settings(Group):
    """Where the cases are, and the limit of the gate's rule."""

    json_cases: Annotated[Texts, Names("inputs", FLAGS)] = Field((), description="JSON case files: paths or globs.")
    min_json_pass_rate: Annotated[Number, Names("gate")] = Field(
        1.0, ge=0, le=1, description="Rule: this share passes."
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
    needed, own, hints = frozenset({"output", "schema"}), frozenset({"id", "output"}), frozenset({"schema"})
    kinds = (FileKind("json-case", "JSON cases", "a file of JSON cases", needed, own, hints),)
    schemas = MappingProxyType({"json-case": CASE, "part": PART})
    asked = ("schema",)
    explained = MappingProxyType(
        {
            "parses": Explained("Parses", "The output is valid JSON.", "Correct the application."),
            "satisfies_schema": Explained("Fits the schema", "The output fits its schema.", "Correct either of them."),
        }
    )
    commands = MappingProxyType({"json": SCORING_FLAGS})

    def command(self, _name: str) -> Scores:
        """Return the command that checks outputs alone."""
        codes, more = "0 all pass, 1 a case fails, 3 error", {"--out": OUT, "--verbose": VERBOSE}
        return CheckJson(place=30, summary="check JSON outputs alone", exit_codes=codes, arguments=more)

    def check(self, value: JsonObject) -> Mapping[str, Sequence[str]]:
        """Return why an output does not parse, or else where it breaks its schema."""
        try:
            found = parse(value["output"])
        except JsonError as error:
            return {"parses": [f"is not valid JSON: {error}"], "satisfies_schema": ["cannot be read"]}
        try:  # a case comes from a pull request: its patterns take linear time, and it refers to itself alone
            kind = {"pattern_options": jsonschema_rs.RegexOptions(), "retriever": refuse}
            errors = list(jsonschema_rs.Draft202012Validator(value["schema"], **kind).iter_errors(found))
        except ValueError as error:
            return {"parses": [], "satisfies_schema": [f"cannot be tested with this schema: {error}"[:LONGEST]]}
        faults = [f"{'.'.join(map(str, one.instance_path)) or 'it'}: {one.message}"[:LONGEST] for one in errors]
        return {"parses": [], "satisfies_schema": faults}


def refuse(address: str) -> NoReturn:
    """Refuse what a schema refers to beyond itself: no file is read, and no network is used."""
    raise ValueError(f"{address} is outside of the schema")


EVALUATOR = Json()
