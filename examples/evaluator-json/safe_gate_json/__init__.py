"""An evaluator for SAFE Gate: a recorded output must parse as JSON and satisfy the case's JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Annotated, Any

from jsonschema_rs import Draft202012Validator, RegexOptions, ValidationError
from pydantic import Field

from safe_gate.core.case import FileKind, Input
from safe_gate.core.jsontext import JsonError, parse
from safe_gate.core.passfail import PassFail, case_schema
from safe_gate.core.setting import Group, Names, Number, Texts
from safe_gate.model.codec import JsonObject
from safe_gate.model.results import Explanation

FLAGS = dict.fromkeys(("run", "power", "explain", "json"), ("--json-cases",))
PARSES = Explanation("Parses", "The output is valid JSON.", "Correct the application.")
FITS = Explanation("Fits the schema", "The output fits its schema.", "Correct either of them.")
LONGEST = 200  # characters of a fault: a library quotes whole values
MOST_STEPS = 100_000  # values of a schema times those of an output: each may be compared with each
OBJECT = {"type": "object", "description": "an object: the JSON Schema (2020-12) of the output"}
HINTS, OWN = frozenset({"output", "schema"}), frozenset({"id", "output"})
LINE = FileKind("json-case", "a file of JSON cases", HINTS, OWN, case_schema(schema=OBJECT))


class Settings(Group):
    """Where the cases are, and the limit of the gate's rule."""

    json_cases: Annotated[Texts, Names("inputs", FLAGS)] = Field((), description="JSON case files: paths or globs.")
    min_json_pass_rate: Annotated[Number, Names("gate")] = Field(1, ge=0, le=1, description="Rule: this share passes.")


class Json(PassFail):
    """Whether outputs are the JSON that a program expects."""

    name = "json"
    title = "JSON"
    settings = Settings
    input = Input("json_cases", "json-case", "JSON cases", kinds=(LINE,), reads=("output",))
    expects = ("schema",)
    explanations = MappingProxyType({"parses": PARSES, "satisfies_schema": FITS})

    def check(self, value: JsonObject) -> Mapping[str, Sequence[str]]:
        """Return why an output does not parse, or else the first place where it breaks its schema."""
        try:
            found = parse(value["output"])
        except JsonError as error:
            return {"parses": [f"is not valid JSON: {error}"], "satisfies_schema": ["cannot be read"]}
        fault, schema = "", None
        try:  # a case comes from a pull request: its patterns take linear time, and nothing is fetched
            steps = len([*values(found)]) * len([*islice(values(value["schema"], value["schema"]), MOST_STEPS)])
            if steps >= MOST_STEPS:
                raise ValueError("the schema, with what each $ref names in its place, is too large for the output")
            schema = Draft202012Validator(value["schema"], pattern_options=RegexOptions(), offline=True)
            schema.validate(found)
        except ValidationError as error:  # of the schema, if there is none to validate with
            place = ".".join(map(str, error.instance_path)) or "it"
            fault = f"{place if schema else 'cannot be tested with this schema'}: {error.message}"
        except (ValueError, LookupError, TypeError) as error:
            fault = f"cannot be tested with this schema: {error}"
        return {"parses": [], "satisfies_schema": [fault[:LONGEST]] if fault else []}


def values(one: Any, schema: Any = None) -> Iterator[Any]:
    """Yield a value and all in it. In a schema, what a `$ref` names is in it: without end if it names itself."""
    left = [one]
    while left:
        yield (one := left.pop())
        left += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        if schema and isinstance(one, dict) and not {"$ref", "$dynamicRef", "$id"}.isdisjoint(one):
            name = re.fullmatch(r"#/\$defs/([\w.-]+)", str(one.get("$ref")))
            if name is None or "$dynamicRef" in one or "$id" in one:
                raise ValueError("it may refer to #/$defs/NAME alone, and have no $id")
            left.append(schema["$defs"][name[1]])


EVALUATOR = Json()
