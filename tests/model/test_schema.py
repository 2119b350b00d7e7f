"""`schemas/report.schema.json` and the types of a report have the same fields, and ask for the same ones."""

import json
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import PlainValidatorFunctionSchema

from safe_gate.evaluators.safe_v0 import result as safe_v0
from safe_gate.evaluators.synthesis import result as synthesis
from safe_gate.model import report
from safe_gate.model.results import Hit
from tests.support.cases import REPOSITORY

SCHEMA = json.loads((REPOSITORY / "schemas/report.schema.json").read_text("utf-8"))
SAFE, SYNTHESIS, COMPARISON = "$defs/safe_v0", "$defs/synthesis", "$defs/synthesis_comparison"
PLACES: dict[str, type] = {
    "properties/tool": report.Tool,
    "properties/provenance": report.Provenance,
    "properties/provenance/properties/digests": report.Digests,
    "$defs/waivers": report.Waivers,
    "$defs/baseline": report.BaselineFacts,
    "$defs/weakened": report.Weakened,
    "$defs/recordings": report.Recordings,
    COMPARISON: report.Compared,
    f"{COMPARISON}/properties/cases": report.ComparedCases,
    "$defs/metric_comparison": report.MetricChange,
    "$defs/safe_result": safe_v0.Result,
    "$defs/synthesis_result": synthesis.Result,
    f"{SAFE}/properties/vacuity": safe_v0.Vacuity,
    SYNTHESIS: synthesis.Part,
    f"{SYNTHESIS}/properties/summary": synthesis.Summary,
    f"{SYNTHESIS}/properties/vacuity": synthesis.Vacuity,
    "$defs/rates": synthesis.Quality,
}
"""The types of the parts of a report, by their places in the schema."""


def resolved(place: str) -> dict[str, Any]:
    found: dict[str, Any] = SCHEMA
    for key in place.split("/"):
        while "$ref" in found:
            found = resolved(found["$ref"].removeprefix("#/"))
        found = found[key]
    while "$ref" in found or "oneOf" in found:
        found = resolved(found["$ref"].removeprefix("#/")) if "$ref" in found else found["oneOf"][-1]
    return found


class OfFields(GenerateJsonSchema):
    """Makes a schema of which only the names of fields matter: a value that is read apart may be anything."""

    def function_plain_schema(self, schema: PlainValidatorFunctionSchema) -> dict[str, Any]:
        return {}


def test_a_type_has_the_fields_of_its_schema() -> None:
    for place, type_ in PLACES.items():
        schema, made = resolved(place), TypeAdapter(type_).json_schema(schema_generator=OfFields)
        assert set(schema["properties"]) == set(made["properties"]), place
        assert set(schema.get("required", ())) == set(made.get("required", ())), place


def test_a_hit_has_the_fields_of_its_schemas() -> None:
    made = TypeAdapter(Hit).json_schema()
    hit, cancelled = resolved("$defs/hit"), resolved("$defs/cancelled_hit")
    assert set(hit["properties"]) | set(cancelled["properties"]) == set(made["properties"])
    assert set(hit["required"]) == set(made["required"])
