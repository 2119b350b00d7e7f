"""The values that a reply becomes on its way to a verdict, and the one codec that turns them into JSON and back."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(kind: type[T]) -> type[T]:
    """Decorate a class of values: a dataclass with slots. mypy refuses an assignment to a field.

    If Python refused it too, a value would take three times as long to create.
    """
    made: Any = dataclass(slots=True, unsafe_hash=True)(kind)
    names = [one.name for one in fields(made)]
    if not any(one.kw_only for one in fields(made)):
        # Many are pickled for each case: this way is twice as fast as to pickle a mapping of names to values.
        made.__reduce__ = lambda self: (made, tuple([getattr(self, name) for name in names]))
    found: type[T] = made
    return found
