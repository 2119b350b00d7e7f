"""The values that a reply becomes on its way to a verdict, and the one codec that turns them into JSON and back."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(kind: type[T]) -> type[T]:
    """Decorate a class of values: a dataclass with slots. mypy refuses an assignment to a field.

    If Python refused it too, a class would take half as long again to make, and a value three times as long to create.
    """
    made = dataclass(slots=True, unsafe_hash=True)(kind)
    names: tuple[str, ...] = made.__match_args__  # type: ignore[attr-defined]
    if len(names) == len(fields(made)) > 1:  # type: ignore[arg-type] # all are given by position
        values = attrgetter(*names)
        # Many are pickled for each case: this way is twice as fast as to pickle a mapping of names to values.
        made.__reduce__ = lambda self: (made, values(self))  # type: ignore[method-assign]
    return made
