"""Dataclasses of our own behave as those of the standard library, as far as they go."""

from __future__ import annotations

import dataclasses
import pickle
import typing
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import pytest

from safe_gate.core import records
from safe_gate.core.setting import option, settings_of


def _defined(module: ModuleType) -> dict[str, Any]:
    """Return classes of the same kinds, made by a module."""
    dataclass, field = module.dataclass, module.field

    @dataclass(frozen=True, slots=True)
    class Point:
        """A point."""

        x: int
        y: int = 2
        names: list[str] = field(default_factory=list)
        note: str = field(default="", compare=False, repr=False)

        @property
        def both(self) -> int:
            return self.x + self.y

    @dataclass(frozen=True, slots=True)
    class Placed(Point):
        z: int = 3

    @dataclass(frozen=True, kw_only=True)
    class Named:
        name: str
        facts: tuple[int, ...] = ()

    @dataclass
    class Changing:
        count: int = 0

    @dataclass(frozen=True, slots=True, eq=False)
    class Itself:
        count: int = 0

    @dataclass(frozen=True)
    class Own:
        count: int = 0

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __hash__(self) -> int:
            return 7

        def __repr__(self) -> str:
            return "own"

    return {one.__name__: one for one in (Point, Placed, Named, Changing, Itself, Own)}


_BASES = (records.NamedTuple, typing.NamedTuple)
OURS, THEIRS = _defined(records), _defined(dataclasses)


@records.dataclass(frozen=True, slots=True)
class Sent:
    """What is sent to another process."""

    name: str
    names: list[str] = records.field(default_factory=list)
    note: str = records.field(default="", compare=False)


def _changed(kind: Any, name: str, value: object) -> Any:
    one = kind(1)
    setattr(one, name, value)
    return getattr(one, name)


_DONE: Mapping[str, Callable[[Mapping[str, Any], ModuleType], object]] = {
    "values": lambda of, _: [
        getattr(of["Point"](1, names=["a"]), name) for name in ("x", "y", "names", "note", "both")
    ],
    "words": lambda of, _: repr([of["Point"](1, note="n"), of["Placed"](1, z=5), of["Named"](name="a")]),
    "equality": lambda of, _: [
        of["Point"](1) == of["Point"](1, note="n"),
        of["Point"](1) == of["Point"](2),
        of["Point"](1) == of["Placed"](1),
        of["Point"](1) == (1, 2, [], ""),
        of["Changing"](1) == of["Changing"](1),
        of["Itself"](1) == of["Itself"](1),
        of["Own"](1) == of["Own"](2),
    ],
    "hashes": lambda of, _: len({of["Named"](name=name, facts=(1,)) for name in "aab"}),
    "own methods": lambda of, _: (hash(of["Own"]()), repr(of["Own"]())),
    "no hash": lambda of, _: hash(of["Changing"]()),
    "no hash of a list": lambda of, _: hash(of["Point"](1)),
    "lists apart": lambda of, _: of["Point"](1).names is of["Point"](1).names,
    "a copy": lambda of, by: repr(by.replace(of["Placed"](1), x=7, z=8)),
    "a copy with a wrong field": lambda of, by: by.replace(of["Point"](1), q=7),
    "names": lambda of, by: [[one.name for one in by.fields(of[name])] for name in of],
    "names of an instance": lambda of, by: [one.name for one in by.fields(of["Placed"](1))],
    "frozen": lambda of, _: _changed(of["Point"], "x", 2),
    "not frozen": lambda of, _: _changed(of["Changing"], "count", 2),
    "nothing deleted": lambda of, _: delattr(of["Point"](1), "x"),
    "class attributes": lambda of, _: (of["Named"].facts, of["Changing"].count),
    "documented": lambda of, _: (of["Point"].__doc__, of["Point"].__qualname__, of["Point"].__slots__),
    "too few": lambda of, _: of["Point"](),
    "too many": lambda of, _: of["Changing"](1, 2),
    "by position": lambda of, _: of["Named"]("a"),
    "unknown": lambda of, _: of["Named"](name="a", q=1),
}


def _outcome(done: Callable[[Mapping[str, Any], ModuleType], object], of: Mapping[str, Any], by: ModuleType) -> object:
    try:
        return done(of, by)
    except (AttributeError, TypeError) as error:
        return next(one.__name__ for one in (AttributeError, TypeError) if isinstance(error, one))


@pytest.mark.parametrize("done", _DONE.values(), ids=_DONE)
def test_a_class_behaves_as_one_of_the_standard_library(
    done: Callable[[Mapping[str, Any], ModuleType], object],
) -> None:
    assert _outcome(done, OURS, records) == _outcome(done, THEIRS, dataclasses)


def test_an_instance_can_be_sent_to_another_process() -> None:
    one = Sent("a", ["b"], "n")
    again = pickle.loads(pickle.dumps(one))
    assert (again, again.note) == (one, "n")


def test_an_instance_has_no_other_attributes() -> None:
    with pytest.raises(AttributeError, match="Point is frozen: q cannot be changed"):
        OURS["Point"](1).q = 2


def _pair(base: Any) -> Any:
    class Pair(base):  # type: ignore[misc]
        """Two numbers."""

        first: int
        second: int = 2

        @property
        def total(self) -> int:
            return self.first + self.second

        @classmethod
        def of(cls, number: int) -> Any:
            return cls(number, number)

    return Pair


@pytest.mark.parametrize(
    "done",
    [
        lambda pair: (pair(1), pair(1).total, pair.of(3), pair(1)._replace(first=4), pair(1)._asdict()),
        lambda pair: [*pair(second=1, first=0)],
        lambda pair: (repr(pair(1)), pair.__doc__, pair.__module__, pair.__qualname__, pair._fields, pair.__slots__),
        lambda pair: pair(1) == (1, 2),
        lambda pair: pair(),
        lambda pair: pair(1, third=3),
        lambda pair: setattr(pair(1), "first", 3),
        lambda pair: setattr(pair(1), "third", 3),
    ],
)
def test_a_named_tuple_behaves_as_one_of_the_standard_library(done: Callable[[Any], object]) -> None:
    ours, theirs = (_outcome(lambda of, _: done(of["Pair"]), {"Pair": _pair(base)}, records) for base in _BASES)
    assert ours == theirs


def test_a_call_that_does_not_fit_names_the_class() -> None:
    with pytest.raises(TypeError, match=r"Named\.__init__\(\).*'q'"):
        OURS["Named"](name="a", q=1)


def test_settings_may_be_a_dataclass_of_the_standard_library() -> None:
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Theirs:
        own_share: float = option("gate", "A share.", 1.0, limits=(0, 1))

    @records.dataclass(frozen=True, kw_only=True)
    class Ours(Theirs):
        own_name: str = option("gate", "A text.", "none")

    assert [(one.name, one.default, one.high) for one in settings_of(Ours)] == [
        ("own_share", 1.0, 1),
        ("own_name", "none", None),
    ]
    assert (Ours(own_share=0.5).own_share, Ours().own_share, Ours().own_name) == (0.5, 1.0, "none")
