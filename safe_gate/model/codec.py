"""The one codec: records as JSON values, and back. Pure.

A field without a default is always written; a field with a default is left out while it has it. What is read fits its
schema already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import Enum
from functools import cache, partial
from typing import Any, TypeVar

from pydantic import Field, GetPydanticSchema, TypeAdapter, model_serializer, model_validator
from pydantic_core import core_schema

T = TypeVar("T")

JsonObject = Mapping[str, Any]
"""A parsed JSON object whose shape a schema in `schemas/` has already vouched for."""


def to_json(value: Any) -> Any:
    """Return a value as JSON."""
    return _plain(for_encoder(value))


def for_encoder(value: Any) -> Any:
    """Return a value as JSON, but for tuples and members of an enumeration, which `core.jsontext` can write."""
    of: Any = type(value)
    return _adapter(of).dump_python(value, by_alias=True, exclude_defaults=True)


def _plain(value: Any) -> Any:
    """Return a value in the types of JSON. The library's own mode for them changes names with half a surrogate pair.

    Objects are changed in place: nobody else has what the library made.
    """
    if isinstance(value, dict):
        for key, one in value.items():
            if type(one) not in _SCALARS:  # most are: this is fast
                value[key] = _plain(one)
        return value
    if isinstance(value, list | tuple):
        return [one if type(one) in _SCALARS else _plain(one) for one in value]
    return value.value if isinstance(value, Enum) else value


_SCALARS = frozenset({str, int, float, bool, type(None)})


def from_json(kind: type[T], value: Any) -> T:
    """Return the value of a type that JSON holds."""
    found: T = _adapter(kind).validate_python(value)  # type: ignore[arg-type]
    return found


def key(name: str) -> Any:
    """Return what a field is annotated with whose key in JSON is not its name."""
    return Field(alias=name)


def _apart(kind: Any, _handler: object) -> core_schema.CoreSchema:
    writes = core_schema.plain_serializer_function_ser_schema(to_json)
    return core_schema.no_info_plain_validator_function(partial(from_json, kind), serialization=writes)


APART = GetPydanticSchema(_apart)
"""What the type of a value within another is annotated with that has an adapter of its own, made when one is there.

The value's own type tells how it is written.
"""


def inlined(name: str) -> Callable[[type[T]], type[T]]:
    """Return a decorator of a dataclass whose field `name`, an object, is written key by key in its place.

    What is read under keys of no other field goes there. The other fields have their own names in JSON.
    """

    def write(_value: Any, own: Callable[[], dict[str, Any]]) -> Any:
        found: dict[str, Any] = {}
        for key, one in own().items():
            found.update(one if key == name else {key: one})
        return found

    def decorated(kind: type[T]) -> type[T]:
        own = {one.name for one in fields(kind)} - {name}  # type: ignore[arg-type]

        def read(value: Mapping[str, Any]) -> dict[str, Any]:
            kept = {key: one for key, one in value.items() if key in own}
            return {**kept, name: {key: one for key, one in value.items() if key not in own}}

        return reshaped(write, read)(kind)

    return decorated


def reshaped(
    write: Callable[[Any, Callable[[], Any]], Any], read: Callable[[Any], Mapping[str, Any]]
) -> Callable[[type[T]], type[T]]:
    """Return a decorator as `formed` does; the second argument of `write` returns the fields as JSON by their keys."""

    def written(self: Any, handler: Callable[[Any], Any]) -> Any:  # the library asks for the name
        return write(self, lambda: handler(self))

    def fields_of(_cls: type, value: Any) -> Any:
        return read(value) if isinstance(value, Mapping) else value

    def decorated(kind: Any) -> type[T]:
        check: Any = model_validator(mode="before")
        kind._write, kind._read = model_serializer(mode="wrap")(written), check(classmethod(fields_of))
        found: type[T] = kind
        return found

    return decorated


def formed(write: Callable[[Any], Any], read: Callable[[Any], Mapping[str, Any]]) -> Callable[[type[T]], type[T]]:
    """Return a decorator of a dataclass that a function writes as JSON; another returns its fields from JSON."""
    return reshaped(lambda value, _own: write(value), read)


def whole(kind: type[T]) -> type[T]:
    """Decorate a dataclass of simple values that is written with its defaults."""
    names = [one.name for one in fields(kind)]  # type: ignore[arg-type]
    return formed(lambda value: {name: getattr(value, name) for name in names}, dict)(kind)


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
