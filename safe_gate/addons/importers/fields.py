"""Records with named fields: the exchange by the names that people give to its two sides, or by a mapping. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from safe_gate.addons.importers.files import (
    Record,
    RefusedRecord,
    column_name,
    field_words,
    has_value,
    id_text,
    list_texts,
)
from safe_gate.addons.importers.messages import Message, Sample, find_reply, parse_embedded_json, read_side
from safe_gate.evaluators.registry import EVALUATORS

_SIDES = {
    "user": ("user", "prompt", "question", "query", "instruction", "input"),
    "assistant": ("assistant", "response", "completion", "output", "answer", "actual_output", "actualoutput"),
}
"""The names of the two sides of an exchange that are known."""

_BESIDE_USER = ("message", "user_message")
"""The names of what a user wrote if `user` says who it was. They are never read unasked."""

IDS = ("id", "case_id", "caseid", "test_id", "testid", "row_id", "_id", "uuid")
IMPORTING = {name: one.input.imports for name, one in EVALUATORS.items() if one.input.imports}
"""What an import can make, by evaluator."""

_OUTPUTS = [one.output for one in IMPORTING.values() if one.output]
_OF_OUTPUTS = frozenset(name for fields in _OUTPUTS for name in fields)
"""The fields of the outputs that evaluators read as objects."""

KEPT = frozenset(name for one in IMPORTING.values() for name in one.keeps)
"""The fields of a record that a case may keep."""

LABELS = "expected"
"""The field of labels by check."""

OF_OTHERS = frozenset({LABELS, "judged", "context", "marks", "notes", "turns"})
"""Those that may be another thing in the records of other tools."""

_STEP = re.compile(r"[.\[]")


# --- names and paths ------------------------------------------------------------------------------


def canonical_names(value: Any) -> Any:
    """Return an object with known field names in their usual spelling, unless another field has that name."""
    if not isinstance(value, dict):
        return value
    found = {}
    for key, one in value.items():
        plain = _known_name(key)
        ours = plain if plain in KEPT or plain in ("tags", "error") else key
        ours = f"x_{key.strip()[2:]}" if plain[:2] == "x_" else ours
        found[key if ours in value or ours in found else ours] = one
    return found


def _known_name(key: str) -> str:
    """Return the name of a field in lower case, with underscores for blanks."""
    return key.strip().lower().replace(" ", "_")


def known_sides(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the fields that may hold each side of an exchange, in any letter case. Alpaca's input belongs to another.

    >>> known_sides(["Prompt", "input", "kind"]), known_sides(["instruction", "input"])
    ({'user': ['Prompt', 'input'], 'assistant': []}, {'user': ['instruction'], 'assistant': []})
    """
    spelt = [(_known_name(column_name(key)), key) for key in names]
    if any(name == "instruction" for name, _ in spelt):
        spelt = [one for one in spelt if one[0] != "input"]
    return {side: [key for one in known for name, key in spelt if name == one] for side, known in _SIDES.items()}


def has_known_fields(value: dict[str, Any]) -> bool:
    """Return whether an object has a known pair of fields, or the fields of an evaluator's output."""
    return all(known_sides(value).values()) or _is_output(value)


def find_ids(record: Record, names: Sequence[str], path: str) -> dict[str, str]:
    """Return the ids of a record with their keys: at a path, or under the first of some names that has one."""
    value = record.value if isinstance(record.value, dict) and not record.is_header else {}
    if path:
        with suppress(RefusedRecord):
            return {found: path for found in [id_text(value_at(value, path))] if found}
        return {}
    held: dict[str, dict[str, str]] = {name: {} for name in names}
    for key, one in value.items():
        if (name := _known_name(column_name(key))) in held and (found := id_text(one)):
            held[name].setdefault(found, key)
    return next(filter(None, held.values()), {})


def both(one: str, other: str, field: str) -> str:
    """Return why a record with two keys for one field is refused."""
    return f"has both {json.dumps(one[:40])} and {json.dumps(other[:40])}; name the one to read: --map {field}=FIELD"


def find_tags(value: dict[str, Any], path: str = "") -> tuple[str, ...]:
    """Return the tags at a path, by default `tags`: a list, a list as JSON text, or comma-separated text."""
    tags = parse_embedded_json(value_at(value, path) if path else value.get("tags"))
    if isinstance(tags, str):
        return tuple(tag.strip() for tag in tags.split(",") if tag.strip())
    return list_texts(tags)


def unused_fields(value: Mapping[str, Any], used: Collection[str], ids: Collection[str]) -> dict[str, Any]:
    """Return the fields that are not used, and neither an id nor tags that are texts."""
    names = {"tags", *(one.lower() for one in used)}
    found = {
        key: one
        for key, one in value.items()
        if key.lower() not in names and (_known_name(key) not in ids or isinstance(one, bool | list | dict))
    }
    tags = parse_embedded_json(value.get("tags"))
    is_text = isinstance(tags, str | None) or (isinstance(tags, list) and all(isinstance(one, str) for one in tags))
    return found if is_text else found | {"tags": tags}


def value_at(value: Any, path: str) -> Any:
    """Return the value at a path such as `choices[0].message.content`. Raises RefusedRecord if there is none.

    The longest key that the path begins with counts, whatever dots are in it. A text that is JSON is looked into.
    Letter case and outer blanks of a key do not count, unless two keys differ in nothing else.

    >>> value_at({"a": [{"b": "x"}], "a.b": "y"}, "a[0].b"), value_at({"A": {"b.c ": "y"}}, "a.b.c")
    ('x', 'y')
    """
    rest = path
    while rest:
        value = parse_embedded_json(value)
        for end in (len(rest), *(one.start() for one in reversed([*_STEP.finditer(rest)]))):
            step: str | int | None = _key(rest[:end], value) if isinstance(value, dict) else None
            index = rest[:end].strip("[]")
            if isinstance(value, list) and index.isdecimal() and int(index) < len(value):
                step = int(index)
            if step is not None:
                value, rest = value[step], rest[end:].removeprefix(".")
                break
        else:
            raise RefusedRecord(f"has no field {path}; correct --map")
    return value


def has_fields(value: Any, paths: Mapping[str, str]) -> bool:
    """Return whether a value is an object with a field at each path, if there are paths, and one for the other side."""
    sides = known_sides(value) if isinstance(value, dict) and paths.keys() & _SIDES.keys() else {}
    with suppress(RefusedRecord):
        are_there = isinstance(value, dict) and bool([value_at(value, path) for path in paths.values()])
        return are_there and all(found or side in paths for side, found in sides.items())
    return False


def unused_beside(value: Mapping[str, Any], paths: Collection[str], used: Collection[str]) -> Iterator[str]:
    """Yield words for the rest of each field that paths lead into, but not to all of, and that is not `used`."""
    whole = {*used, *(_key(path, value) for path in paths)}
    yield from (f"the rest of {field_words(key)}" for key in sorted(top_fields(paths, value) - whole))


def _key(name: str, value: Collection[str]) -> str | None:
    """Return the key of an object that matches a name, None if there is none."""
    if name in value:
        return name
    alike = [key for key in value if _known_name(key) == _known_name(name)]
    return alike[0] if len(alike) == 1 else None


def top_fields(paths: Iterable[str], names: Collection[str]) -> set[str]:
    """Return the fields at the top of an object that paths lead into."""
    return {key for path in paths for one in (path, _STEP.split(path)[0]) if (key := _key(one, names))}


# --- both sides -----------------------------------------------------------------------------------


def read_row(value: dict[str, Any], mapping: Mapping[str, str]) -> Sample:
    """Return the exchange of an object; `mapping` gives the path of a field by `id`, `user`, `assistant` or `tags`.

    Raises RefusedRecord where a field is missing or has no text.
    """
    if mapping.keys() & {"output", *_OF_OUTPUTS} or ("assistant" not in mapping and _is_output(value)):
        return _read_output(value, mapping)
    found = {side: _side(value, side, names) for side, names in known_sides(value).items() if side not in mapping}
    if not all(found.values()):
        known = ", ".join(json.dumps(key[:40]) for key in list(value)[:8])
        kind = "pair of fields" if len(found) > 1 else f"field for {next(iter(found))}"
        raise RefusedRecord(f"has no known {kind}, but {known or 'none'}; name them with --map")
    paths = {side: mapping.get(side, found.get(side, "")) for side in _SIDES}
    asked, reply = (value_at(value, path) if side in mapping else value[path] for side, path in paths.items())
    used = [*found.values()]
    if "user" not in mapping and _known_name(paths["user"]) == "instruction":
        context = next((key for key in value if _known_name(key) == "input"), "")
        asked = with_input(asked, value.get(context))
        used.append(context)
    given = read_side(asked, "user", paths["user"])
    if reply is None:
        raise RefusedRecord(f"has no reply in {paths['assistant']}")
    if paths["user"] == paths["assistant"] and not find_reply(given):
        words = "name two fields with --map, or one that holds a conversation"
        raise RefusedRecord(f"has no whole exchange in {paths['user']}; {words}")
    return Sample(given, read_side(reply, "assistant"), used)


def _side(value: dict[str, Any], side: str, names: Sequence[str]) -> str:
    """Return the one of some fields that is a side, "" for none. Raises RefusedRecord where two have unlike values."""
    given = [name for name in names if value[name] is not None]
    held = [name for name in given if has_value(value[name])]
    first = given if side == "assistant" else held  # an empty reply is one: another field may hold the expected one
    is_user = bool(held) and _known_name(held[0]) == "user"
    others = [key for key in value if is_user and _known_name(key) in _BESIDE_USER and has_value(value[key])]
    if unlike := [name for name in (*held, *others) if name != first[0] and value[name] != value[first[0]]]:
        raise RefusedRecord(both(first[0], unlike[0], side))
    return next(iter(held or given or names), "")


def with_input(instruction: Any, given: Any) -> Any:
    """Return an instruction and after a blank line the input that it is about, as Alpaca's prompts have them."""
    if given is None or given == "":
        return instruction
    if not (isinstance(instruction, str | None) and isinstance(given, str)):
        raise RefusedRecord("has an instruction or an input that is not text; name one: --map user=FIELD")
    return f"{instruction}\n\n{given}" if instruction else given


def _is_output(value: dict[str, Any]) -> bool:
    """Return whether an object has the fields of an evaluator's output, itself or in `output`."""
    held = [one for one in (value, parse_embedded_json(value.get("output"))) if isinstance(one, dict)]
    return any(fields.keys() <= one.keys() for one in held for fields in _OUTPUTS)


def _read_output(value: dict[str, Any], mapping: Mapping[str, str]) -> Sample:
    """Return an evaluator's output of an object: its `output`, or its own fields, with lists possibly as JSON text."""
    inner, used = parse_embedded_json(value.get("output")), list[str]()
    if "output" in mapping:
        output = value_at(value, mapping["output"])
    elif isinstance(inner, dict) and not mapping.keys() & _OF_OUTPUTS:
        output, used = inner, ["output"]
    else:
        fields = next(one for one in _OUTPUTS if mapping.keys() & one.keys() or one.keys() <= value.keys())
        found = {name: value_at(value, mapping.get(name, name)) for name in fields}
        output = {name: parse_embedded_json(one) if fields[name] else one for name, one in found.items()}
        used = [*_OF_OUTPUTS]
    if output is None:
        raise RefusedRecord(f"has no reply in {mapping['output']}")
    return Sample([Message("user", "")], [Message("assistant", output)], used)
