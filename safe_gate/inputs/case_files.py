"""Shell: the files that settings name for evaluators: cases, documents of cases, and a team's rules. Reads folders.

Also all files that a run reads, and which reports would replace them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from functools import cache, partial
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import NamedTuple

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.figures import plural
from safe_gate.core.given import Documents, Lines
from safe_gate.evaluators import EVALUATORS
from safe_gate.inputs import disk, globs
from safe_gate.inputs.checked import OUTPUTS
from safe_gate.inputs.commit_files import FilePath
from safe_gate.inputs.disk import HERE, shown
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.settings.model import CONFIG_FILES, WAIVERS_FILE, Bounds, Settings, config_paths

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
    root: FilePath


def of(evaluator: Evaluator, options: Settings, root: FilePath = HERE) -> CaseFiles:
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


class Expanded(NamedTuple):
    """The files that patterns name, their problems, and our own files that a glob skips."""

    paths: list[FilePath]
    problems: list[Problem]
    skipped: list[FilePath]


def expanded(files: CaseFiles, output: str = "") -> Expanded:
    """Return the paths of files of cases, without those of outputs.

    A glob of documents skips `output`. Outputs without a document are a problem, except those of a glob if other
    outputs are named.
    """
    if isinstance(files.evaluator.input, Documents):
        return _documents(files, files.evaluator.input, output)
    paths, problems = globs.expand(files.patterns, root=files.root)
    return Expanded(paths, problems, globs.own_cases(files.patterns, root=files.root))


Search = Callable[[Sequence[str]], Expanded]


def searches(options: Settings, root: FilePath = HERE, output: str = "") -> dict[str, Search]:
    """Return by the settings that name files by patterns how these are expanded below a folder.

    A glob of documents skips `output`.
    """

    def of_documents(evaluator: Evaluator, patterns: Sequence[str]) -> Expanded:
        return expanded(of(evaluator, options, root)._replace(patterns=tuple(patterns)), output)

    def of_others(suffix: str, patterns: Sequence[str]) -> Expanded:
        paths, problems = globs.expand(patterns, suffix, root=root)
        return Expanded(paths, problems, [])

    documented = [one for one in EVALUATORS.values() if isinstance(one.input, Documents)]
    found: dict[str, Search] = {name: partial(of_others, suffix) for name, suffix in settings()}
    return found | {one.input.setting: partial(of_documents, one) for one in documented}


def narrowed(options: Settings, root: FilePath) -> Settings:
    """Return options less the patterns that name no file below a folder."""
    found = searches(options, root).items()
    return options.replace(
        **{name: tuple(one for one in options.value(name) if search([one]).paths) for name, search in found}
    )


def outputs_beside(path: FilePath) -> FilePath:
    """Return where the recorded outputs of a batch file are, unless they are named or inline."""
    return path.with_name(f"{path.stem}{OUTPUTS}")


def batch_of(path: FilePath) -> FilePath:
    """Return where the batch is that recorded outputs lie beside, if they do."""
    return path.with_name(f"{path.name.removesuffix(OUTPUTS)}.json")


def _documents(files: CaseFiles, form: Documents, output: str) -> Expanded:
    """Return the documents (`*.json`, suffix optional) of patterns, and a problem for each pattern without files.

    Globs skip our own config, waivers and reports; one in the working folder that has cases is a problem, as a document
    in disguise would never be judged. `NAME*` also names outputs; these are read with their document.
    """
    root = files.root
    own = {shown(Path(name)) for name in (*files.ours, output) if name}
    found, problems, skipped = list[FilePath](), list[Problem](), list[FilePath]()
    for pattern in files.patterns:
        try:
            named = _named(files, form, own, pattern)
        except CannotJudge as error:
            problems += error.problems
            continue
        found += named.paths
        problems += named.problems
        skipped += named.skipped
    paths = globs.distinct(path for path in found if not path.name.endswith(OUTPUTS))
    beside = {disk.location(outputs_beside(path)) for path in paths}
    for path in globs.distinct(path for path in found if path.name.endswith(OUTPUTS)):
        if disk.location(path) not in beside:
            words = f"is a file of recorded outputs whose batch, {batch_of(path).name}, is not among the batches"
            words += f"; name that too, or this file with --outputs or {input_named(form.outputs)}"
            problems.append(Problem(Place(shown(path)), words))
    if not paths and not problems:
        problems.append(globs.no_match(" ".join(files.patterns), ".json", root))
    is_read = {disk.location(path) for path in paths}
    skipped = [path for path in globs.distinct(skipped) if disk.location(path) not in is_read]
    return Expanded(paths, list(dict.fromkeys(problems)), skipped)  # two patterns may have the same problem


def _named(files: CaseFiles, form: Documents, own: Set[str], pattern: str) -> Expanded:
    """Return the documents and outputs that one pattern names; `own` are names of files of our own."""
    root, folder = files.root, files.root / files.folder
    named = str(Path(files.folder, pattern))
    candidates = (pattern, f"{pattern}.json")
    matched, unread = globs.matches(candidates, folder)
    listed = [path for path in matched if not globs.is_folder(path)]
    alone = () if unread else candidates  # an unreadable place counts as there
    literals = [path for one in alone if disk.exists(path := folder / one) and not globs.is_folder(path)]
    named_json = [path for path in listed if path.suffix.lower() == ".json"]
    ours = [path for path in named_json if _is_ours(form, path, is_named=shown(path) in own)]
    lone = [] if files.outputs else [path for path in listed if path.name.endswith(OUTPUTS)]
    meant = [*literals[:1], *(path for path in named_json if path not in ours), *lone]
    ours = globs.distinct(ours)
    problems = list[Problem]()
    if root == HERE:  # at a commit it was not judged either
        words = f"has {form.cases}, but by its name or first keys it is safe-gate's own, which a glob skips"
        disguised = (path for path in ours if _has(path, _list_of(form.cases)))
        problems += [Problem(Place(shown(path)), f"{words}; rename it, or take one out") for path in disguised]
    problems += [disk.unreadable(path, why) for path, why in unread.items()]
    if meant or unread:
        pass
    elif ours:
        names = ", ".join(shown(path) for path in ours[:_MOST_NAMED]) + ", …" * (len(ours) > _MOST_NAMED)
        what = f"{plural(len(ours), 'file')} of safe-gate's own ({names})"
        words = f"matches nothing but {what}, which {'is' if len(ours) == 1 else 'are'} skipped; name the batches"
        problems.append(Problem(Place(named), words))
    elif any(path.suffix == ".jsonl" for path in listed):
        others = (one.input for one in EVALUATORS.values() if isinstance(one.input, Lines))
        elsewhere = ", ".join(f"{one.plural} are named by {input_named(one.setting)}" for one in others)
        problems.append(Problem(Place(named), f"matches .jsonl files, but no batch (.json); {elsewhere}"))
    else:
        problems.append(globs.no_match(named, ".json", root))
    return Expanded(meant, problems, ours)


def input_named(setting: str) -> str:
    """Return the name of a setting as the action's input."""
    return setting.replace("_", "-")


def _is_ours(form: Documents, path: FilePath, *, is_named: bool) -> bool:
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


def _has(path: FilePath, pattern: re.Pattern[bytes]) -> bool:
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


def read_by(options: Settings, output: str = "") -> Iterator[Path]:
    """Yield the working folder and the files that a run would read, and where outputs may lie beside documents.

    A report of `output` among the documents is none of them.
    """
    named = (*config_paths(options.config), options.waivers or WAIVERS_FILE, options.baseline)
    yield from (Path(one) for one in ("", *named))
    yield from globs.expand(options.shards)[0]
    documented = {one.input.setting for one in EVALUATORS.values() if isinstance(one.input, Documents)}
    for setting, search in searches(options, output=output).items():
        paths = search(options.value(setting)).paths
        beside = map(outputs_beside, paths) if setting in documented else ()
        yield from (path for path in (*paths, *beside) if isinstance(path, Path))


def replaced(reports: Iterable[Path], *readers: Settings) -> list[Path]:
    """Return the reports that would take the place of files that runs under some options read.

    A baseline counts even if it is missing: the next run would be compared with this one.
    """
    found = []
    for path in reports:
        read = [Path(one.baseline) for one in readers]
        if disk.exists(path):
            read += [file for one in readers for file in read_by(one, str(path))]
        if disk.is_among(path, read):
            found.append(path)
    return found


def keep_inputs(flag: str, path: str, read: Iterable[Path]) -> None:
    """Raise CannotJudge for a report that would take the place of a file that is read."""
    if disk.is_among(path, read):
        words = f"names {path}, which this run reads, and must not replace; name another file"
        raise CannotJudge.at(flag, words, Code.USAGE)
