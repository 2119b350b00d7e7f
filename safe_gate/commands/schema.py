"""`schema`: print a JSON Schema of what safe-gate reads and writes."""

from __future__ import annotations

from safe_gate.commands._command import Call, Command, text
from safe_gate.core.validate import quote, suggestion
from safe_gate.inputs.checked import schema_folder
from safe_gate.model.problems import CannotJudge, Code

COMMAND = Command(
    place=16,
    summary="print a JSON Schema, such as config or waivers; without a name, list all names",
    exit_codes="0 printed, 3 no such schema",
    verb="print the schema",
    arguments={"name": text("NAME", "the schema; without it: all names", nargs="?")},
)

_SUFFIX = ".schema.json"


def main(call: Call) -> int:
    """Print the schema that the command line names, as it is in `schemas/`. Returns 0."""
    name = call.arguments["name"].removesuffix(_SUFFIX)
    found = {file.name.removesuffix(_SUFFIX): file for file in schema_folder().glob(f"*{_SUFFIX}")}
    schemas = dict(sorted(found.items()))
    if name and name not in schemas:
        words = f"{quote(name)} is not a schema{suggestion(name, list(schemas), quoted=False)}"
        raise CannotJudge.at("safe-gate schema", f"{words}; expected one of {', '.join(schemas)}", Code.USAGE)
    call.effects.out(schemas[name].read_text("utf-8").rstrip() if name else "\n".join(schemas))
    return 0
