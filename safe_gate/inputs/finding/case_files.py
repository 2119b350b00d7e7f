"""Shell: the files that settings name for evaluators: their inputs, and a team's files of rules. Reads folders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.given import Documents
from safe_gate.evaluators import EVALUATORS
from safe_gate.inputs import batches
from safe_gate.inputs.batches import Expanded
from safe_gate.inputs.disk import HERE
from safe_gate.inputs.finding import expansion
from safe_gate.settings.options import Options


def settings() -> Iterator[tuple[str, str]]:
    """Yield the options that name files by patterns, each with the suffix of those that are meant."""
    for one in EVALUATORS.values():
        if isinstance(one.input, Documents):
            yield one.input.setting, ".json"
            yield one.input.outputs, ".jsonl"
        else:
            yield one.input.setting, ".jsonl"
    for one in EVALUATORS.values():
        if one.rule_files:
            yield one.rule_files.setting, ".json"


def expanded(
    evaluator: Evaluator, options: Options, *, root: Path = HERE, output: str = "", outputs: tuple[str, ...] = ()
) -> Expanded:
    """Return the input files that options name for an evaluator, without those of outputs.

    A glob of documents skips `output`; `outputs` is that of `batches.expand`. Files lie below `root`.
    """
    form = evaluator.input
    patterns = getattr(options, form.setting)
    if isinstance(form, Documents):
        ours = (options.config, options.waivers, output)
        return batches.expand(form, patterns, Path(getattr(options, form.folder)), ours, outputs=outputs, root=root)
    return Expanded(*expansion.expand(patterns, root=root), expansion.own_cases(patterns, root=root))


def read_by(options: Options, output: str = "") -> Iterator[Path]:
    """Yield the files that options name for all evaluators, and where outputs may lie beside documents."""
    for one in EVALUATORS.values():
        if isinstance(one.input, Documents):
            for path in expanded(one, options, output=output).paths:
                yield from (path, batches.outputs_beside(path))
    documented = {one.input.setting for one in EVALUATORS.values() if isinstance(one.input, Documents)}
    for setting, suffix in settings():
        if setting not in documented:
            yield from expansion.expand(getattr(options, setting), suffix)[0]


def narrowed(options: Options, root: Path) -> Options:
    """Return options less the patterns that name no file below a folder."""
    left: dict[str, tuple[str, ...]] = {}
    documented = {one.input.setting: one for one in EVALUATORS.values() if isinstance(one.input, Documents)}
    for setting, _ in settings():
        patterns: tuple[str, ...] = getattr(options, setting)
        if setting in documented:
            alone = ((one, replace(options, **{setting: (one,)})) for one in patterns)  # type: ignore[arg-type]
            left[setting] = tuple(one for one, own in alone if expanded(documented[setting], own, root=root).paths)
        else:
            left[setting] = tuple(one for one in patterns if expansion.expand([one], root=root)[0])
    return replace(options, **left)  # type: ignore[arg-type]
