"""Where a setting comes from, and the problems of its value there. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from safe_gate.core.model import Code, Config, Place, Problem
from safe_gate.core.validate import masked, quote

CONFIG_FILE = "config file"
"""The kind of the sources in a config file."""


class Source(NamedTuple):
    """Where a setting came from: the `kind` (flag, input, variable or config file), and its place and field there."""

    kind: str
    place: Place
    field: str = ""

    @property
    def name(self) -> str:
        """The setting's name there."""
        return f"{self.place.path}: {self.field}" if self.field else self.place.path

    def problem(self, words: str) -> Problem:
        """Return a problem of the setting."""
        return Problem(self.place, words, field=self.field, code=Code.INVALID_SETTING)

    def unfit(self, value: str | float, expected: str) -> Problem:
        """Return the problem of a value that the setting cannot have."""
        words, hidden = (f"is {name(value)}; expected {expected}" for name in (quote, masked))
        return Problem(self.place, words, field=self.field, text_free=hidden, code=Code.INVALID_SETTING)


Given = Mapping[str, tuple[Source, Any]]
"""What one kind of source sets: by name, where and to what."""


def in_config(config: Config, *key: str) -> Source:
    """Return a key of the config file as a source."""
    return Source(CONFIG_FILE, Place(config.path, config.line_of(key)), ".".join(key))


def of_default(name: str) -> Source:
    """Return the default of an option as a source."""
    return Source("default", Place(f"the default of {name.replace('_', '-')}"))
