"""`validate`: check input files alone: their shapes, and whether cases and outputs, settings, waivers fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from safe_gate.commands._command import Call, Command
from safe_gate.core.figures import plural
from safe_gate.core.model import CannotJudge, Problem, Problems, Verdict
from safe_gate.evaluators.safe_v0.score import Case as SafeCase
from safe_gate.evaluators.synthesis.score import Case
from safe_gate.inputs import batches, files
from safe_gate.run.exit_codes import EXIT_CODES, complain
from safe_gate.scoring import shards
from safe_gate.settings.sources import read

COMMAND = Command(
    place=13,
    summary="check input files, nothing else",
    exit_codes="0 valid, 3 not valid",
    arguments={
        "files": {
            "nargs": "+",
            "metavar": "FILE",
            "help": "cases, batches, outputs, configs, reports, shards, packs (their shape), waivers",
        }
    },
)


def main(call: Call) -> int:
    """Check the files that the command line names. Returns 0 or 3."""
    paths = list(dict.fromkeys(call.arguments["files"]))
    problems = Problems()
    cases = 0
    for item in _checked(paths):
        if isinstance(item, Problem):
            problems.add(item)
        cases += isinstance(item, SafeCase | Case)
    if problems:
        return complain(problems.kept(), call.effects)
    call.effects.out(f"{plural(len(paths), 'file')} valid, {plural(cases, 'case')}")
    return EXIT_CODES[Verdict.PASS]


def _checked(paths: Sequence[str]) -> Iterator[Any]:
    """Yield what files hold, problems among it: batches with their outputs, those of batches not given alone."""
    kinds: dict[str, list[str]] = {}
    for path in paths:
        try:
            kinds.setdefault(files.kind_of(Path(path)), []).append(path)
        except CannotJudge as error:
            yield from error.problems
    batch_files, outputs, cases = (kinds.pop(kind, []) for kind in ("safe-batch", "safe-output", "synthesis-case"))
    beside = {files.location(batches.outputs_beside(Path(batch))) for batch in batch_files}
    strays = [one for one in outputs if files.location(Path(one)) not in beside]
    alone = [one for one in strays if not batch_files or files.exists(batches.batch_of(Path(one)))]
    # None is named where each is found beside its batch: naming one, as --outputs does, ends that search.
    named = [one for one in outputs if one not in alone] if len(alone) < len(strays) else []
    streams: list[Iterator[Any]] = []
    if batch_files:
        streams.append(batches.safe_cases(batch_files, named))
    if alone:
        streams.append(batches.safe_outputs(alone))
    if cases:
        streams.append(files.synthesis_cases(cases))
    for stream in streams:
        yield from stream
    for kind, documents in kinds.items():
        for path in documents:
            try:
                _check_document(path, kind)
            except CannotJudge as error:
                yield from error.problems


def _check_document(path: str, kind: str) -> None:
    """Raise CannotJudge if a document is not valid; a config's settings and waivers must fit together, too."""
    if kind == "waivers":
        files.waivers(path)
    elif kind == "shard":
        shards.document(path)
    elif kind == "config":
        read({"config": path}, {}, files.read_config)
    else:
        files.document(path, kind)
