"""Shell: the files of documents that paths and globs name, and the files of outputs beside them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from itertools import compress
from mmap import ACCESS_READ, mmap
from operator import not_
from pathlib import Path
from typing import NamedTuple

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.figures import plural
from safe_gate.core.given import Documents, Lines
from safe_gate.core.model import Place, Problem
from safe_gate.evaluators import EVALUATORS
from safe_gate.inputs import disk, kinds
from safe_gate.inputs.disk import HERE, shown
from safe_gate.inputs.finding import expansion, globs
from safe_gate.settings.model import CONFIG_FILES, WAIVERS_FILE

_STARTS = (
    r'schema_version": \d+,\s*"tool',
    r'publication": \d+,\s*"gate',
    r'comparison": {\s*"baseline',
    *(one.part.start for one in EVALUATORS.values() if one.part.start),
)
# How our own files begin, two keys deep. A batch may begin with one such key; the schema then reports it as unknown.
_REPORT = re.compile(rf'\{{\s*"(?:{"|".join(_STARTS)})":'.encode())
_OWN = "safe-gate."
_OTHER_REPORTS = (b"[", b'{"schemaVersion"')
"""How the reports for other systems begin: no batch does, for it is an object of other keys."""
_MOST_NAMED = 20


class Expanded(NamedTuple):
    """The batch files that patterns name, their problems, and our own files that a glob skips."""

    paths: list[Path]
    problems: list[Problem]
    skipped: list[Path]


def outputs_beside(path: Path) -> Path:
    """Return where the recorded outputs of a batch file are, unless they are named or inline."""
    return path.with_name(f"{path.stem}{kinds.OUTPUTS}")


def batch_of(path: Path) -> Path:
    """Return where the batch is that recorded outputs lie beside, if they do."""
    return path.with_name(f"{path.name.removesuffix(kinds.OUTPUTS)}.json")


def expand(
    form: Documents,
    patterns: Sequence[str],
    base: Path,
    leave_out: Sequence[str],
    *,
    outputs: Sequence[str] = (),
    root: Path = HERE,
) -> Expanded:
    """Return the batch files (`*.json`, suffix optional) of patterns, and a problem for each pattern without files.

    Globs skip our own config, waivers and reports; one in the working folder that has cases is a problem, as a batch in
    disguise would never be judged. `NAME*` also names outputs; these are read with their batch. Outputs
    without a batch are a problem, except those of a glob if other `outputs` are named. `base` is the folder that
    patterns start from, and `root` is as in `expansion.expand`.
    """
    folder = root / base
    own = {shown(Path(name)) for name in leave_out if name}
    found: list[Path] = []
    problems: list[Problem] = []
    skipped: list[Path] = []
    for pattern in patterns:
        named = str(base / pattern)
        if refused := expansion.outside(named, root):
            problems.append(refused)
            continue
        candidates = (pattern, f"{pattern}.json")
        globbed, unread = globs.matches(candidates, folder)
        alone = () if unread else candidates  # an unreadable place counts as there
        literals = [path for one in alone if disk.exists(path := folder / one) and not globs.is_folder(path)]
        listed = [path for path in globbed if not globs.is_folder(path)]
        named_json = [path for path in listed if path.suffix.lower() == ".json"]
        are_ours = [_is_ours(form, path, is_named=shown(path, root) in own) for path in named_json]
        ours = expansion.distinct(compress(named_json, are_ours))
        batches = list(compress(named_json, map(not_, are_ours)))
        skipped += ours
        if root == HERE:  # at a commit it was not judged either
            words = f"has {form.cases}, but by its name or first keys it is safe-gate's own, which a glob skips"
            disguised = (path for path in ours if _has(path, _list_of(form.cases)))
            problems += [Problem(Place(shown(path)), f"{words}; rename it, or take one out") for path in disguised]
        lone = [] if outputs else [path for path in listed if path.name.endswith(kinds.OUTPUTS)]
        meant = [*literals[:1], *batches, *lone]
        problems += [disk.unreadable(path, why, root) for path, why in unread.items()]
        if not meant and not unread and ours:
            are = "is" if len(ours) == 1 else "are"
            words = f"matches nothing but {_ours(ours, root)}, which {are} skipped; name the batches"
            problems.append(Problem(Place(named), words))
        elif not meant and not unread:
            others = (one.input for one in EVALUATORS.values() if isinstance(one.input, Lines))
            elsewhere = ", ".join(f"{one.plural} are named by {input_named(one.setting)}" for one in others)
            words = f"matches .jsonl files, but no batch (.json); {elsewhere}"
            is_other = any(path.suffix == ".jsonl" for path in listed)
            problems.append(Problem(Place(named), words) if is_other else expansion.no_match(named, ".json", root))
        found += meant
    paths = expansion.distinct(path for path in found if not path.name.endswith(kinds.OUTPUTS))
    beside = {disk.location(outputs_beside(path)) for path in paths}
    for path in expansion.distinct(path for path in found if path.name.endswith(kinds.OUTPUTS)):
        if disk.location(path) not in beside:
            words = f"is a file of recorded outputs whose batch, {batch_of(path).name}, is not among the batches"
            words += f"; name that too, or this file with --outputs or {input_named(form.outputs)}"
            problems.append(Problem(Place(shown(path, root)), words))
    if not paths and not problems:
        problems.append(expansion.no_match(" ".join(patterns), ".json", root))
    is_read = {disk.location(path) for path in paths}
    skipped = [path for path in expansion.distinct(skipped) if disk.location(path) not in is_read]
    return Expanded(paths, list(dict.fromkeys(problems)), skipped)  # two patterns may have the same problem


def documents_of(evaluator: Evaluator) -> Documents:
    """Return the form of an evaluator's input files, which must be documents."""
    assert isinstance(evaluator.input, Documents)  # noqa: S101 - narrows a type
    return evaluator.input


def input_named(setting: str) -> str:
    """Return the name of a setting as the action's input."""
    return setting.replace("_", "-")


def _ours(paths: Sequence[Path], root: Path) -> str:
    """Return the number of our own files among `paths`, with the first names."""
    names = ", ".join(shown(path, root) for path in paths[:_MOST_NAMED])
    more = ", …" if len(paths) > _MOST_NAMED else ""
    return f"{plural(len(paths), 'file')} of safe-gate's own ({names}{more})"


def _is_ours(form: Documents, path: Path, *, is_named: bool) -> bool:
    """Return whether a file is our own config, waivers or report, which a glob may match, and not a batch.

    `is_named` says that a setting names the file as one of them: then it is, unless it holds cases.
    """
    if path.name in (*CONFIG_FILES, WAIVERS_FILE):
        return True

    start = b""
    with suppress(OSError), disk.open_regular(path) as file:  # reading the batch gives the error
        start = file.read(100)
    if _REPORT.match(start) or (path.name.startswith(_OWN) and start.startswith(_OTHER_REPORTS)):
        return True
    return is_named and not _has(path, _list_of(form.cases))


def _has(path: Path, pattern: re.Pattern[bytes]) -> bool:
    """Return whether a pattern matches somewhere in a file, whatever its size. An unreadable one has nothing."""
    try:
        with disk.open_regular(path) as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            return pattern.search(data) is not None
    except (OSError, ValueError):  # an empty file cannot be mapped
        return False


@cache
def _list_of(key: str) -> re.Pattern[bytes]:
    """Return what matches a key of JSON with a list, however its letters are escaped."""
    letters = (b"(?:%b|\\\\u00(?i:%02x))" % (re.escape(one.encode()), ord(one)) for one in key)
    return re.compile(rb'"%b"\s*:\s*\[' % b"".join(letters))
