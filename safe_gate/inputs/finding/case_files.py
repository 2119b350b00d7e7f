"""Shell: the files that settings name for evaluators: their inputs, and a team's files of rules. Reads folders."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.given import Documents
from safe_gate.evaluators import EVALUATORS
from safe_gate.inputs import batches
from safe_gate.inputs.batches import Expanded
from safe_gate.inputs.disk import HERE
from safe_gate.inputs.finding import expansion
from safe_gate.settings.model import Bounds, Settings


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


class CaseFiles(NamedTuple):
    """The files of an evaluator's cases that patterns name below `root`, and how they are read.

    `outputs` and `folder` are those of documents. `ours` are the paths of other files, which a glob of documents skips.
    """

    evaluator: Evaluator
    patterns: tuple[str, ...]
    outputs: tuple[str, ...]
    folder: str
    ours: tuple[str, ...]
    cluster_key: str
    bounds: Bounds
    root: Path


def of(evaluator: Evaluator, options: Settings, root: Path = HERE) -> CaseFiles:
    """Return the files of cases that options name for an evaluator."""
    form = evaluator.input
    documents = form if isinstance(form, Documents) else None
    return CaseFiles(
        evaluator,
        patterns=options.value(form.setting),
        outputs=options.value(documents.outputs) if documents else (),
        folder=options.value(documents.folder) if documents else "",
        ours=(options.config, options.waivers),
        cluster_key=options.cluster_key,
        bounds=options.bounds,
        root=root,
    )


def expanded(files: CaseFiles, *, output: str = "", outputs: tuple[str, ...] = ()) -> Expanded:
    """Return the paths of files of cases, without those of outputs.

    A glob of documents skips `output`; `outputs` is as in `batches.expand`.
    """
    form, root = files.evaluator.input, files.root
    if isinstance(form, Documents):
        ours = (*files.ours, output)
        return batches.expand(form, files.patterns, Path(files.folder), ours, outputs=outputs, root=root)
    return Expanded(*expansion.expand(files.patterns, root=root), expansion.own_cases(files.patterns, root=root))


def read_by(options: Settings, output: str = "") -> Iterator[Path]:
    """Yield the files that options name for all evaluators, and where outputs may lie beside documents."""
    for one in EVALUATORS.values():
        if isinstance(one.input, Documents):
            for path in expanded(of(one, options), output=output).paths:
                yield from (path, batches.outputs_beside(path))
    documented = {one.input.setting for one in EVALUATORS.values() if isinstance(one.input, Documents)}
    for setting, suffix in settings():
        if setting not in documented:
            yield from expansion.expand(options.value(setting), suffix)[0]


def narrowed(options: Settings, root: Path) -> Settings:
    """Return options less the patterns that name no file below a folder."""
    left: dict[str, tuple[str, ...]] = {}
    documented = {one.input.setting: one for one in EVALUATORS.values() if isinstance(one.input, Documents)}
    for setting, _ in settings():
        patterns: tuple[str, ...] = options.value(setting)
        if setting in documented:
            files = of(documented[setting], options, root)
            left[setting] = tuple(one for one in patterns if expanded(files._replace(patterns=(one,))).paths)
        else:
            left[setting] = tuple(one for one in patterns if expansion.expand([one], root=root)[0])
    return options.replace(**left)
