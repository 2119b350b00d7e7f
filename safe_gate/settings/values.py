"""Values of settings, converted to their types.

`pydantic-settings` merges the sources and converts. Where only texts and switches are set, or nothing, there is
nothing to convert, and it is not even imported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

from safe_gate.core.model import CannotJudge, Problem
from safe_gate.core.setting import Setting
from safe_gate.core.text.patterns import later
from safe_gate.settings.options import OFF, Options, settings

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_settings import BaseSettings
from safe_gate.settings.origins import Given, Source

A_NUMBER_OF_JOBS = later("[1-9][0-9]{0,2}")
# The booleans of YAML 1.2's core schema, as @actions/core reads them; anything else is an error.
BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


_PLAIN = (str, bool, tuple[str, ...])
"""Kinds that are what they should be once `_converted`."""


def without_pydantic(values: Mapping[str, Any]) -> Options | None:
    """Return the options if plain ones alone are set, None if there is a value to convert or to refuse.

    Importing pydantic takes longer than most runs.
    """
    given = [(setting, values[setting.name]) for setting in settings() if setting.name in values]
    if any(setting.kind not in _PLAIN for setting, _ in given):
        return None
    try:
        converted = {setting.name: _converted(value, setting) for setting, value in given}
        "".join(chain.from_iterable(one for one in converted.values() if not isinstance(one, bool))).encode()
    except ValueError:  # UnicodeEncodeError too: half a surrogate pair is not text
        return None
    plain: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in converted.items()}
    return Options(**plain)


def by_pydantic(
    values: Sequence[Mapping[str, Any]], origins: Mapping[str, Source], problems: Sequence[Problem]
) -> Options:
    """Return the options that sources set, the first wins. Raises CannotJudge with what is wrong beside `problems`."""
    from pydantic import ValidationError

    try:
        return Options(**_model()(sources=values).model_dump())
    except ValidationError as error:
        raise CannotJudge(*problems, *_explain(error, origins)) from None


@cache
def _model() -> Callable[..., BaseSettings]:
    """Return a settings class with a field for each option. It merges the `sources` it is called with, first wins."""
    from pydantic import create_model
    from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource

    class Sources(BaseSettings):
        # The library's own sources are left out, a `.env` file of the checkout among them.
        @classmethod
        def settings_customise_sources(
            cls, settings_cls: type[BaseSettings], init_settings: Any, *_: Any, **__: Any
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            sources = init_settings.init_kwargs["sources"]
            return tuple(InitSettingsSource(settings_cls, dict(source)) for source in sources)

    fields: dict[str, Any] = {setting.name: _field(setting) for setting in settings()}
    return create_model("Settings", __base__=Sources, **fields)


def _field(setting: Setting) -> tuple[Any, Any]:
    """Return an option as a pydantic field: its type, its limits and its default."""
    from pydantic import AfterValidator, BeforeValidator, Field

    is_number = (setting.low is not None or setting.high is not None) and not setting.is_mapping
    least, most = ("gt", "lt") if setting.excluded else ("ge", "le")
    limits: dict[str, Any] = {least: setting.low, most: setting.high} if is_number else {}
    if setting.kind in (float, float | None):
        limits["allow_inf_nan"] = False
    convert, tidy = BeforeValidator(partial(_converted, setting=setting)), AfterValidator(_without_minus_zero)
    return Annotated[setting.kind, convert, tidy], Field(default=setting.default, **limits)


def _without_minus_zero(value: Any) -> Any:
    return 0.0 if value == 0 and isinstance(value, float) else value


def _converted(value: Any, setting: Setting) -> Any:
    """Return a value as its source gave it without blanks around it, in entries if it is a list.

    Raises ValueError for a text that is no boolean, or none of the option's choices.
    """
    if isinstance(value, str):
        value = value.strip()
        if setting.kind is bool:
            if value not in BOOLEANS:
                raise ValueError("not a boolean")
            return BOOLEANS[value]
        if setting.is_list or setting.is_mapping:
            value = value.split("\n")
        elif setting.kind is not str:
            if value == OFF and setting.can_be_off:
                return None
            _refuse_number(value)
    if setting.is_mapping and value is not None:
        return _numbers_by_id(value, setting)
    if setting.is_list:
        several = chain.from_iterable(one.split(",") for one in value) if setting.choices else value
        value = [entry.strip() for entry in several if entry.strip()]
    chosen = value if isinstance(value, list | tuple) else [value]
    if setting.choices and not set(chosen) <= set(setting.choices):
        raise ValueError("not a choice")
    return value


def _refuse_number(text: str) -> None:
    """Raise ValueError for a text that Python takes for a number and that people and JSON do not: `1_0`, `\u0661`."""
    if "_" in text or not text.isascii():
        raise ValueError("not a number")


def by_entry(sources: Sequence[Given], problems: list[Problem]) -> Iterator[tuple[str, tuple[Source, Any]]]:
    """Yield each setting with entries, with the entries of all sources. The first source wins.

    A value that is not a number becomes a problem.
    """
    for setting in settings():
        entries: dict[str, float] = {}
        origins = []
        for source in reversed(sources) if setting.general else ():
            if setting.name in source:
                origin, value = source[setting.name]
                origins.append(origin)
                try:
                    entries |= _entries(value, setting)
                except ValueError:
                    problems.append(origin.unfit(_in_words(value), _expected(setting)))
        if origins:
            yield setting.name, (origins[-1], entries)


def _entries(value: Any, setting: Setting) -> dict[str, float]:
    """Return the entries that a value sets; a number alone sets the general one. Raises ValueError."""
    if isinstance(value, int | float):
        value = {setting.general: value}
    elif not isinstance(value, Mapping):
        lines = [line.strip() for line in (value.split("\n") if isinstance(value, str) else value)]
        value = [line if "=" in line else f"{setting.general}={line}" for line in lines if line]
    return {name: number + 0.0 for name, number in _numbers_by_id(value, setting).items()}


def _numbers_by_id(value: Sequence[str] | Mapping[str, float], setting: Setting) -> dict[str, float]:
    """Return an object of the config file, or entries `ID=NUMBER`, as numbers by id. Raises ValueError."""
    if isinstance(value, Mapping):
        pairs = list(value.items())
    else:
        entries = [entry.rpartition("=") for entry in value if entry.strip()]
        for _, _, number in entries:
            _refuse_number(number)
        pairs = [(name.strip(), float(number)) for name, _, number in entries]
    numbers = dict(pairs)
    low, high = setting.low or 0, math.inf if setting.high is None else setting.high
    if len(numbers) < len(pairs) or not all(name and low <= number <= high for name, number in pairs):
        raise ValueError("an id is missing or given twice, or a number is out of its limits")
    return numbers


def _explain(error: ValidationError, origins: Mapping[str, Source]) -> Iterator[Problem]:
    by_name = {setting.name: setting for setting in settings()}
    for fault in error.errors(include_url=False, include_context=False):
        name = str(fault["loc"][0])
        yield origins[name].unfit(_in_words(fault["input"]), _expected(by_name[name]))


def _in_words(given: Any) -> str | float:
    given = " ".join(given) if isinstance(given, list) else given
    return given if isinstance(given, str | int | float) else str(given)


def _expected(setting: Setting) -> str:
    if setting.choices:
        return "one of " + ", ".join(setting.choices)
    if setting.kind is bool:
        return "true or false"
    limits = f"a number from {setting.low} to {setting.high}"
    if setting.is_mapping:
        by_check, by_id = f"{limits}, or CHECK=NUMBER, each check once", f"ID=NUMBER, each id once, {limits}"
        return by_check if setting.general else by_id
    kind = "a whole number" if setting.kind in (int, int | None) else "a number"
    to = "" if setting.high is None else f" to {setting.high}"
    if setting.can_be_off:
        return f"{kind} from {setting.low}{to}, or {OFF}"
    if setting.excluded:
        return f"{kind} above {setting.low} and below {setting.high}"
    return f"{kind} from {setting.low}{to}"
