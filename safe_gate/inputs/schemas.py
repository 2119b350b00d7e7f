"""Shell: the JSON Schemas that inputs and reports are checked with."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from safe_gate.core.validate import Schema
from safe_gate.evaluators import BUILT_IN, EVALUATORS
from safe_gate.evaluators.extended_schemas import extended

ADDED = [one for name, one in EVALUATORS.items() if name not in BUILT_IN]
"""The evaluators of installed packages."""


ALONE = {
    **{name: next(iter(one.commands)) for name, one in EVALUATORS.items() if one.commands},
    "compared": "compare",
}
"""What stands alone in the file that a command writes: a part of the report's schema."""


@cache
def load_schema(name: str) -> Schema:
    """Return a schema of `schemas/` by its name without `.schema.json`, or that of what stands alone."""
    if name in ALONE:
        return load_schema("report").part("$defs", name)
    for one in (kind for evaluator in ADDED for kind in evaluator.input.kinds):
        if one.name == name and one.schema:
            return Schema(one.schema)
    schema = json.loads(schema_folder().joinpath(f"{name}.schema.json").read_text("utf-8"))
    return Schema(extended(name, schema, ADDED))


def schema_folder() -> Path:
    """Return `schemas/`: inside the package in a wheel, beside it in an editable install."""
    package = Path(__file__).parent.parent
    packaged = package / "schemas"
    return packaged if packaged.is_dir() else package.parent / "schemas"
