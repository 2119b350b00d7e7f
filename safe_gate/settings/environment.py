"""Settings from environment variables and the action's inputs. Pure: the environment is an argument."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from safe_gate.core.model import Code, Place, Problem
from safe_gate.core.setting import Setting
from safe_gate.core.text.patterns import later
from safe_gate.core.validate import suggestion
from safe_gate.evaluators import EVALUATORS
from safe_gate.settings.options import settings
from safe_gate.settings.origins import Source
from safe_gate.settings.values import BOOLEANS

# Inputs that the runner itself may add to a container action (metadata syntax: with.args, with.entrypoint).
_RUNNER_INPUTS = frozenset({"INPUT_ARGS", "INPUT_ENTRYPOINT"})
_PREFIX = later("^SAFE[A-Z0-9]*_+(?:GATES?_+|V[0-9]+_+)?")
_PREFIXES = ("SAFE_GATE_", "SAFEGATE_", *(one.prefix for one in EVALUATORS.values() if one.prefix))


def from_environ(environ: Mapping[str, str]) -> dict[str, tuple[Source, str]]:
    """Return the options set by action inputs or variables, with the source of each.

    An input that is left out arrives as an empty string, which counts as not set. Some shells drop
    variables with hyphens, so the spelling with underscores is read too.
    """
    found = {}
    for one in settings():
        for name in _environment_names(one):
            if environ.get(name, "").strip():
                is_input = name.startswith("INPUT_")
                place = Place(f"{name} (input {one.input})" if is_input else name)
                found[one.name] = (Source("input" if is_input else "variable", place), environ[name])
                break
    return found


def switched_on(name: str, environ: Mapping[str, str]) -> bool:
    """Return whether an action input or a variable switches an option on; another value than true or false does not."""
    _, value = from_environ(environ).get(name, (None, ""))
    return BOOLEANS.get(value.strip(), False)


def _environment_names(setting: Setting) -> tuple[str, ...]:
    inputs = (f"INPUT_{setting.input.upper()}", f"INPUT_{setting.name.upper()}") if setting.is_input else ()
    return (*inputs, *setting.env)


def unknown_names(environ: Mapping[str, str], *, is_action: bool) -> Iterator[Problem]:
    """Yield a problem for each variable that looks like ours and is not: a typo must not pass."""
    known = {name for setting in settings() for name in _environment_names(setting)} | _RUNNER_INPUTS
    inputs = {name.upper(): setting.input for setting in settings() if setting.is_input for name in setting.names}
    variables = {
        name.upper().replace("-", "_"): setting.env[0]
        for setting in settings()
        if setting.env
        for name in (*setting.names, *map(_bare, setting.env))
    }
    for name in sorted(environ.keys() - known):
        given = name.removeprefix("INPUT_")
        if is_action and given != name:
            what = f"input {given.lower()}{suggestion(given.replace('_', '-'), inputs, quoted=False)}"
        elif name.upper().startswith(_PREFIXES) or _is_near(name.upper(), variables):
            what = f"variable of this name{suggestion(_bare(name.upper()), variables, quoted=False)}"
        else:
            continue
        yield Problem(Place(name), f"safe-gate has no {what}; correct its name or remove it", code=Code.INVALID_SETTING)


def _is_near(variable: str, variables: Mapping[str, str]) -> bool:
    """Return whether a variable is one of ours but for its prefix, such as SAFE_MIN_PASS_RATE, and a letter or two."""
    from difflib import get_close_matches

    return variable.startswith("SAFE") and bool(get_close_matches(_bare(variable), variables, n=1, cutoff=0.9))


def _bare(variable: str) -> str:
    """Return a variable's name without its prefix, which people mix up."""
    return _PREFIX.sub("", variable)
