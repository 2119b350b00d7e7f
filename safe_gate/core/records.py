"""Dataclasses and named tuples that cost little to define: `dataclass`, `field`, `fields`, `replace`, `NamedTuple`.

The standard library compiles the methods of a class when the class is defined, and most runs use few of the classes
that they import. Here all classes share their methods, but for `__init__`, which is compiled for the first instance.
It also compiles each annotation of a named tuple; here nobody reads these. A type checker takes all of them for those
of the standard library. They have fewer options.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from reprlib import recursive_repr
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

_NOTHING: Any = object()


class _Field:
    """A field of a class; `default` is `_NOTHING` if it must be given or `make` makes it."""

    __slots__ = ("default", "is_compared", "is_keyword", "is_shown", "make", "metadata", "name")

    def __init__(
        self,
        default: Any,
        make: Callable[[], Any] | None,
        metadata: Mapping[str, Any],
        is_shown: bool,
        is_compared: bool,
    ) -> None:
        self.name, self.is_keyword = "", False
        self.default, self.make, self.metadata = default, make, metadata
        self.is_shown, self.is_compared = is_shown, is_compared


def _field(
    *,
    default: Any = _NOTHING,
    default_factory: Callable[[], Any] | None = None,
    metadata: Mapping[str, Any] = MappingProxyType({}),
    repr: bool = True,  # noqa: A002 - the standard library's name
    compare: bool = True,
) -> Any:
    """Return what a field is besides its name: see `dataclasses.field`."""
    return _Field(default, default_factory, metadata, repr, compare)


def _fields(one: Any) -> tuple[_Field, ...]:
    """Return the fields of a class or an instance, in order; the class may be a dataclass of the standard library."""
    return tuple(_by_name(one if isinstance(one, type) else type(one)).values())


def _replace(one: Any, /, **changes: Any) -> Any:
    """Return a copy with some fields changed."""
    kept = {name: getattr(one, name) for name in _by_name(type(one)) if name not in changes}
    return type(one)(**kept, **changes)


def _dataclass(
    kind: Any = None, /, *, frozen: bool = False, slots: bool = False, kw_only: bool = False, eq: bool = True
) -> Any:
    """Return a class with the methods that follow from its annotations: see `dataclasses.dataclass`."""
    if kind is None:
        return lambda kind: _dataclass(kind, frozen=frozen, slots=slots, kw_only=kw_only, eq=eq)
    own = dict(_declared(kind, is_keyword=kw_only))
    known = {name: one for base in reversed(kind.__mro__[1:]) for name, one in _by_name(base).items()} | own
    if slots:
        kind = _with_slots(kind, own)
    else:
        for name, one in own.items():
            if isinstance(vars(kind).get(name), _Field):
                delattr(kind, name)
            if one.default is not _NOTHING:
                setattr(kind, name, one.default)
    compared = [name for name, one in known.items() if one.is_compared]
    members: dict[str, Any] = {"__init__": _compiled_when_called(kind, known), "__repr__": _shown}
    members |= {"__eq__": _is_equal, "__hash__": _hash if frozen else None} if eq else {}
    members |= {"__setattr__": _refused, "__delattr__": _refused} if frozen else {}
    members |= {"__getstate__": _state, "__setstate__": _restore} if slots else {}
    for name, member in members.items():
        if name not in vars(kind) or (name == "__hash__" and vars(kind)[name] is None):
            setattr(kind, name, member)
    kind.__record_fields__ = known
    kind.__record_values__ = attrgetter(*(compared or ["__class__"]))
    return kind


def _by_name(kind: type) -> Mapping[str, _Field]:
    """Return the fields of a class by name, none of a class that is no dataclass."""
    known: Mapping[str, _Field] | None = getattr(kind, "__record_fields__", None)
    if known is None:
        known = dict(_declared(kind, is_keyword=True)) if "__dataclass_fields__" in vars(kind) else {}
    return known


def _declared(kind: type, *, is_keyword: bool) -> Iterator[tuple[str, _Field]]:
    """Yield the fields that the annotations of a class declare, by name."""
    for name in vars(kind).get("__annotations__", ()):
        value = vars(kind).get(name, _NOTHING)
        one = value if isinstance(value, _Field) else _field(default=value)
        one.name, one.is_keyword = name, is_keyword
        yield name, one


def _with_slots(kind: type, own: Mapping[str, _Field]) -> type:
    """Return a class whose instances hold its own fields, and nothing else, in slots."""
    members = {name: value for name, value in vars(kind).items() if name not in {"__dict__", "__weakref__", *own}}
    members |= {"__slots__": tuple(own), "__qualname__": kind.__qualname__}
    return type(kind)(kind.__name__, kind.__bases__, members)


def _compiled_when_called(kind: Any, known: Mapping[str, _Field]) -> Callable[..., None]:
    """Return an `__init__` that puts a compiled one in its place."""

    def init(self: Any, *values: Any, **named: Any) -> None:
        kind.__init__ = _init(kind, known)
        kind.__init__(self, *values, **named)

    return init


def _init(kind: type, known: Mapping[str, _Field]) -> Any:
    """Return the `__init__` of a class, compiled."""
    scope: dict[str, Any] = {"_nothing": _NOTHING, "_set": object.__setattr__}
    lines: list[str] = []
    words: dict[bool, list[str]] = {False: ["self"], True: []}
    for name, one in known.items():
        value = name
        if one.make:
            scope[f"_make_{name}"], scope[f"_default_{name}"] = one.make, _NOTHING
            value = f"_make_{name}() if {name} is _nothing else {name}"
        elif one.default is not _NOTHING:
            scope[f"_default_{name}"] = one.default
        word = f"{name}=_default_{name}" if f"_default_{name}" in scope else name
        words[one.is_keyword].append(word)
        lines.append(f"    _set(self, {name!r}, {value})\n")
    arguments = ", ".join((*words[False], *(("*", *words[True]) if words[True] else ())))
    exec(f"def __init__({arguments}):\n{''.join(lines) or '    pass'}", scope)  # noqa: S102 - of names of our own
    init = scope["__init__"]
    init.__qualname__ = f"{kind.__qualname__}.__init__"
    return init


@recursive_repr()
def _shown(self: Any) -> str:
    shown = (f"{one.name}={getattr(self, one.name)!r}" for one in _fields(self) if one.is_shown)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _is_equal(self: Any, other: Any) -> bool:
    if type(self) is not type(other):
        return NotImplemented  # type: ignore[no-any-return]
    return bool(self.__record_values__(self) == self.__record_values__(other))


def _hash(self: Any) -> int:
    return hash(self.__record_values__(self))


def _refused(self: Any, name: str, *_: Any) -> None:
    raise AttributeError(f"{type(self).__name__} is frozen: {name} cannot be changed")


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in _fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for one, value in zip(_fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)


class _NamedTupleKind(type):
    """Makes named tuples of classes that inherit from `_NamedTuple`."""

    def __new__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> Any:
        if not bases:
            return super().__new__(cls, name, bases, members)
        names = members.pop("__annotations__", {})
        defaults = [members.pop(one) for one in names if one in members]
        made = namedtuple(name, names, defaults=defaults, module=members.pop("__module__"))  # type: ignore[misc]
        for member, value in members.items():
            setattr(made, member, value)
        return made


class _NamedTuple(metaclass=_NamedTupleKind):
    """The base that a class names to become a named tuple."""


if TYPE_CHECKING:
    from dataclasses import dataclass, field, fields, replace
    from typing import NamedTuple
else:
    dataclass, field, fields, replace, NamedTuple = _dataclass, _field, _fields, _replace, _NamedTuple

__all__ = ["NamedTuple", "dataclass", "field", "fields", "replace"]
