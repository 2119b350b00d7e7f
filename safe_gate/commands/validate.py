"""`validate`: check input files alone: their shapes, and whether cases and outputs, settings, waivers fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from safe_gate.commands._command import Call, Command
from safe_gate.core.evaluator import Evaluator
from safe_gate.core.figures import plural
from safe_gate.core.given import Documents
from safe_gate.core.model import CannotJudge, Problem, Verdict
from safe_gate.core.problems import Problems
from safe_gate.evaluators import EVALUATORS
from safe_gate.inputs import batches, checked, config_file, disk, documents, kinds, recorded
from safe_gate.runs.exit_codes import EXIT_CODES, complain
from safe_gate.scoring import asked, intake, shards
from safe_gate.settings.options import Options
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
    named = (str(disk.STANDARD_INPUT) if path == disk.DASH else path for path in call.arguments["files"])
    paths = list(dict.fromkeys(named))
    problems = Problems()
    cases = 0
    for item in _checked(paths):
        if isinstance(item, Problem):
            problems.add(item)
        cases += not isinstance(item, intake.Other)
    if problems:
        return complain(problems.kept(), call.effects)
    call.effects.out(f"{plural(len(paths), 'file')} valid, {plural(cases, 'case')}")
    return EXIT_CODES[Verdict.PASS]


def _checked(paths: Sequence[str]) -> Iterator[Any]:
    """Yield the contents and problems of files: batches with their outputs, and outputs whose batches are not given."""
    by_kind: dict[str, list[str]] = {}
    for path in paths:
        try:
            by_kind.setdefault(kinds.kind_of(Path(path)), []).append(path)
        except CannotJudge as error:
            yield from error.problems
    for evaluator in EVALUATORS.values():
        form = evaluator.input
        if isinstance(form, Documents):
            yield from _joined(evaluator, by_kind.pop(form.kind, []), by_kind.pop(form.outputs_kind, []))
        elif cases := by_kind.pop(form.kind, []):
            yield from recorded.cases(evaluator, cases, settings=asked.settings(Options()))
    for kind, others in by_kind.items():
        for path in others:
            try:
                _check_document(path, kind)
            except CannotJudge as error:
                yield from error.problems


def _joined(evaluator: Evaluator, given: Sequence[str], outputs: Sequence[str]) -> Iterator[Any]:
    """Yield documents joined with their outputs, and outputs whose documents are not given."""
    beside = {disk.location(batches.outputs_beside(Path(one))) for one in given}
    strays = [one for one in outputs if disk.location(Path(one)) not in beside]
    alone = [one for one in strays if not given or disk.exists(batches.batch_of(Path(one)))]
    # None is named where each is found beside its document: naming one, as --outputs does, ends that search.
    named = [one for one in outputs if one not in alone] if len(alone) < len(strays) else []
    if given:
        yield from documents.cases(evaluator, given, named)
    if alone:
        yield from documents.outputs_alone(evaluator, alone)


def _check_document(path: str, kind: str) -> None:
    """Raise CannotJudge if a document is not valid; a config's settings and waivers must fit together, too."""
    if kind == "waivers":
        checked.waivers(path)
    elif kind == "shard":
        shards.document(path)
    elif kind == "config":
        read({"config": path}, {}, config_file.read_config)
    else:
        checked.document(path, kind)
