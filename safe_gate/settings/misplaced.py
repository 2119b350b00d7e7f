"""Settings that are not for the command that they are given to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from safe_gate.core.given import Documents
from safe_gate.core.model import Problem
from safe_gate.evaluators import EVALUATORS
from safe_gate.settings.options import Options

if TYPE_CHECKING:
    from safe_gate.settings.origins import Source


def misplaced(options: Options, origins: Mapping[str, Source], command: str) -> Iterator[Problem]:
    """Yield a problem for each shard setting that the command does not use, and for outputs that it would not read.

    A command for one evaluator ignores the settings of others.
    """
    if options.shard and command not in ("run", "validate"):
        yield origins["shard"].problem(f"is for a run that scores; {command} takes all cases: leave it unset")
    if options.shards and command != "merge":
        yield origins["shards"].problem(f"is for merge, not for {command}; set mode: merge, or leave it unset")
    for form in (one.input for one in EVALUATORS.values() if isinstance(one.input, Documents)):
        origin = origins.get(form.outputs)
        is_named = (
            origin and not origin.field and getattr(options, form.outputs)
        )  # a config may serve another gate, too
        if origin and is_named and not getattr(options, form.setting) and command in ("run", "merge"):
            setting = form.setting.replace("_", "-")
            words = (
                f"names recorded outputs, and {setting} names no cases that they are of; set it, or leave this unset"
            )
            yield origin.problem(words)
