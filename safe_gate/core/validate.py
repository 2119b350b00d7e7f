"""Validates a value with a JSON Schema: every fault, in words a person can act on.

Pure. `jsonschema_rs` says in a microsecond whether a value is valid (draft 2020-12). If it is not, `jsonschema`
finds the faults and decides. The words are ours, because the library's own messages quote whole values, which
may be hostile or a megabyte long.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, reduce
from itertools import islice
from operator import getitem
from typing import TYPE_CHECKING, Any, NamedTuple

from safe_gate.core.figures import enumerated, plural
from safe_gate.core.jsontext import Path

if TYPE_CHECKING:
    import jsonschema

LONGEST_QUOTE = 40
"""The most characters of a value that a problem quotes."""

_MOST_FAULTS = 1_000
"""The most faults of one value, and unknown fields, that are reported."""

_MOST_NAMED = 8  # known fields, where another one is given

_MISSPELT = re.compile(r'is not a known field \(did you mean "(.*)"\?\)')
_CLOSE = 0.75  # as alike as "work" and "wrok"
_COMPARED = 2 * LONGEST_QUOTE  # characters of a word: comparing takes quadratic time
_Name = Callable[[Any], str]
"""How a message names the value it is about."""

_TYPES = {
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
    "array": "a list",
    "object": "an object",
}


class Fault(NamedTuple):
    """One way in which a value breaks its schema: the place inside the value, and the expectation.

    `text_free` is the message without the value it may quote, empty if it never does.
    """

    path: Path
    message: str
    text_free: str = ""

    @property
    def field(self) -> str:
        """The path as people write it.

        >>> Fault(("expected", "checks", 2), "").field
        'expected.checks[2]'
        """
        return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in self.path).removeprefix(".")


class Schema:
    """A JSON Schema ready to judge values."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        import jsonschema_rs  # commands that validate nothing do not need it

        self._schema = schema
        self._quick = jsonschema_rs.Draft202012Validator(dict(schema), validate_formats=True)

    def part(self, *keys: str) -> Schema:
        """Return the schema of a part of the values, which stands below these keys."""
        return Schema({**reduce(getitem, keys, self._schema), "$defs": self._schema["$defs"]})

    def faults(self, value: Any) -> tuple[Fault, ...]:
        """Return every fault of a value, in the order of their places; none if it is valid.

        A misspelt field is not missing, too.
        """
        if self._is_plainly_valid(value):
            return ()
        definitions = self._schema.get("$defs", {})
        found = {
            fault
            for error in islice(self._validator.iter_errors(value), _MOST_FAULTS)
            for fault in _faults(error, definitions)
        }
        meant = {(*fault.path[:-1], hint[1]) for fault in found if (hint := _MISSPELT.match(fault.message))}
        kept = (fault for fault in found if fault.path not in meant or not fault.message.startswith("is missing;"))
        return tuple(sorted(kept, key=lambda f: ([str(part).zfill(9) for part in f.path], f.message)))

    def _is_plainly_valid(self, value: Any) -> bool:
        """Return whether a value is valid by the fast validator. It cannot read half a surrogate pair."""
        try:
            return self._quick.is_valid(value)
        except ValueError:
            return False

    @cached_property
    def _validator(self) -> jsonschema.protocols.Validator:
        import jsonschema  # takes longer to import than most runs to validate

        def pattern(_: Any, expression: str, value: Any, __: Any) -> Iterator[jsonschema.ValidationError]:
            # `$` is the end, as in JavaScript: Python's may stand before a line break, too.
            if isinstance(value, str) and not re.search(expression.replace("$", r"\Z"), value):
                yield jsonschema.ValidationError("")

        form = jsonschema.FormatChecker(("date",))  # no schema asks for another
        kind: type[jsonschema.protocols.Validator]
        kind = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"pattern": pattern})  # type: ignore[no-untyped-call]
        return kind(self._schema, format_checker=form)


def suggestion(word: str, known: Iterable[str] | Mapping[str, str], *, quoted: bool = True, most: int = 1) -> str:
    """Return " (did you mean X?)" for the `most` known words closest to a misspelt one in any case, or "".

    In a mapping, keys are compared and values are shown. A word is in quotes if `quoted`.

    >>> suggestion("P004", ["P060", "P004#1", "P004#12"])
    ' (did you mean "P004#1"?)'
    """
    named = known if isinstance(known, Mapping) else {one: one for one in known}
    shown = {key.casefold(): named[key] for key in sorted(named)}
    close = _close(word[:_COMPARED].casefold(), tuple(shown), most)
    found = sorted(shown[one] for one in close if len(shown[one]) <= _COMPARED)
    names = " or ".join(json.dumps(one) if quoted else one for one in found)
    return f" (did you mean {names}?)" if found else ""


@lru_cache(maxsize=1024)  # each line of a file may have the same fault
def _close(word: str, known: Sequence[str], most: int) -> Sequence[str]:
    import difflib  # only invalid values need it

    if samples := [one for one in known if one.startswith(f"{word}#")]:  # of one prompt, which has no id itself
        return samples[:most]
    if near := difflib.get_close_matches(word, known, most, _CLOSE):
        return near
    letters = sorted(word)  # of short words, those that are cut off or have the same letters: --out, rnu
    some = [one for one in known if one.startswith(word) or word.startswith(one) or sorted(one) == letters]
    return difflib.get_close_matches(word, some, most)


def _faults(error: jsonschema.ValidationError, definitions: Mapping[str, Any]) -> Iterator[Fault]:
    path: Path = tuple(error.absolute_path)
    keyword = str(error.validator)
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    value: Any = error.instance
    asked: Any = error.validator_value
    but_null = [place for place, one in enumerate(asked) if one.get("type") != "null"] if keyword == "oneOf" else []
    if keyword == "additionalProperties":
        known = list(schema.get("properties", {}))
        allowed = [re.compile(pattern) for pattern in schema.get("patternProperties", {})]
        unknown = (key for key in value if key not in known and not any(one.search(key) for one in allowed))
        for key in islice(unknown, _MOST_FAULTS):
            expected = f"; expected {_one_of(known)}" if 1 < len(known) <= _MOST_NAMED else ""
            extra = "; your own names start with x_" if allowed else expected
            yield Fault((*path, key), f"is not a known field{suggestion(key, known)}{extra}")
    elif keyword == "required":
        for key in asked:
            if key not in value:
                wanted = schema.get("properties", {}).get(key, {})
                shapes = [
                    definitions.get(s.get("$ref", "").rpartition("/")[2], s) for s in wanted.get("oneOf", [wanted])
                ]
                yield Fault((*path, key), f"is missing; expected {' or '.join(map(_expected, shapes))}")
    elif len(but_null) == 1 and value is not None:
        for inner in error.context or ():
            if inner.schema_path[0] in but_null:
                yield from _faults(inner, definitions)
    elif keyword == "oneOf" and isinstance(value, dict) and all(one.keys() == {"required"} for one in asked):
        fields = [field for one in asked for field in one["required"]]
        there = enumerated([field for field in fields if field in value])
        yield Fault(path, f"has {there or 'none'}; expected exactly one of {enumerated(fields)}")
    else:
        word = _WORDINGS.get(keyword)
        expected = "" if keyword == "uniqueItems" else f"; expected {_expected(schema)}"
        names = quote, masked
        found, hidden = (word(value, asked, name) if word else f"breaks the rule {keyword}" for name in names)
        yield Fault(path, found + expected, hidden + expected)


def _expected(schema: Mapping[str, Any]) -> str:
    """Describe the expected value of a schema: its own description, else its values or its type."""
    if "description" in schema:
        return str(schema["description"]).rstrip(".")
    if "enum" in schema:
        return _one_of(schema["enum"])
    if "const" in schema:
        return json.dumps(schema["const"])
    kinds = schema.get("type", "another value")
    return " or ".join(_TYPES.get(kind, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds))


def _one_of(values: Iterable[Any]) -> str:
    return "one of " + ", ".join(map(json.dumps, values))


def quote(value: Any) -> str:
    """Return a value as JSON, cut to 40 characters; of a list or an object how many entries it has."""
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"an object of {len(value)}"
    shown = json.dumps(value, ensure_ascii=False)
    return shown if len(shown) <= LONGEST_QUOTE else shown[:LONGEST_QUOTE] + "…"


def masked(value: Any) -> str:
    """Return the kind of a value, without its content."""
    if isinstance(value, str):
        return f"text of {plural(len(value), 'character')}"
    return quote(value) if isinstance(value, bool | list | dict | None) else "a number"


def _enum(value: Any, allowed: list[Any], name: _Name) -> str:
    near = name is quote and isinstance(value, str)  # a close word would reveal the text
    hint = suggestion(value, [a for a in allowed if isinstance(a, str)]) if near else ""
    return f"{name(value)} is not allowed{hint}"


_DAY = re.compile("(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}")

_WORDINGS: Mapping[str, Callable[[Any, Any, _Name], str]] = {
    **dict.fromkeys(("type", "const", "pattern"), lambda value, _, name: f"is {name(value)}"),
    "format": lambda value, _, name: f"is {name(value)}{', a day that does not exist' * bool(_DAY.fullmatch(value))}",
    "enum": _enum,
    "minLength": lambda value, _, name: f"is {name(value)}, which is too short",
    "maxLength": lambda value, most, _: f"has {len(value)} characters, more than {most}",
    "not": lambda *_: "is not allowed here",
    "oneOf": lambda *_: "does not have exactly one of the shapes it may have",
    "minItems": lambda value, least, _: f"has fewer than {least} entries" if value else "is an empty list",
    "uniqueItems": lambda *_: "has the same entry twice",
    "minProperties": lambda _value, least, _: f"has fewer than {plural(least, 'entry', 'entries')}",
    "exclusiveMinimum": lambda value, least, name: f"is {name(value)}, not more than {least}",
    "exclusiveMaximum": lambda value, most, name: f"is {name(value)}, not less than {most}",
    "maxProperties": lambda value, most, _: f"has {len(value)} entries, more than {most}",
    "maxItems": lambda value, most, _: f"has {len(value)} entries, more than {most}",
    "minimum": lambda value, least, name: f"is {name(value)}, less than {least}",
    "maximum": lambda value, most, name: f"is {name(value)}, more than {most}",
}
