"""The values that a reply becomes on its way to a verdict, and the one codec that turns them into JSON and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(kind: type[T]) -> type[T]:
    """Decorate a class of values: a dataclass with slots. mypy refuses an assignment to a field.

    If Python refused it too, a class would take half as long again to make, and a value three times as long to create.
    The library compiles each method of each class from text, which takes twice as long as to make these.
    """
    made: Any = dataclass(slots=True, repr=False, eq=False)(kind)
    every = fields(made)
    names = [one.name for one in every]
    values, compared = _values(names), _values([one.name for one in every if one.compare])
    if "__repr__" not in vars(kind):
        made.__repr__ = lambda self: f"{made.__name__}({', '.join(map('{}={!r}'.format, names, values(self)))})"
    made.__eq__ = lambda self, other: compared(self) == compared(other) if type(other) is made else NotImplemented
    made.__hash__ = lambda self: hash(compared(self))
    if all(one.init and not one.kw_only for one in every):
        # Many are pickled for each case: this way is twice as fast as to pickle a mapping of names to values.
        made.__reduce__ = lambda self: (made, values(self))
    found: type[T] = made
    return found


def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what reads some attributes of a value."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)
