"""Shell: reads cases, schemas and rule packs; writes reports. Touches the file system, nothing else.

Cases are read, validated and yielded one at a time, problems among them, so that a caller can
score what is valid and still hear of everything that is not.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, partial
from io import BytesIO
from itertools import count as counting
from itertools import islice
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.given import Case, Documents, Lines
from safe_gate.core.jsontext import (
    JsonError,
    TooManyContainersError,
    blank_comments,
    parse,
    parse_bounded,
    places,
)
from safe_gate.core.model import CannotJudge, Config, Place, Problem
from safe_gate.core.validate import Fault, Schema, suggestion
from safe_gate.evaluators import BUILT_IN, EVALUATORS
from safe_gate.gate.waivers import twins
from safe_gate.importers import parquet
from safe_gate.inputs import globs, leftovers
from safe_gate.inputs.extended import extended
from safe_gate.inputs.spool import Store
from safe_gate.settings.options import CONFIG_FILES, WAIVERS_FILE, Options, settings

_follows_links: ContextVar[bool] = ContextVar("follows_links", default=False)

HERE = Path()
"""The working folder: what paths are relative to, unless they are read at a commit."""

BOM = b"\xef\xbb\xbf"
_UP_AGAIN = re.compile(r"[*?\[].*/\.\.(?:/|\Z)", re.DOTALL)  # from a wildcard, which may stand for any depth
_ALMOST_A_CONFIG = re.compile(r".?safe(?:[-_. ]?gate)?.config.json[c5]?", re.IGNORECASE)
_BOMS_OF_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that was read, with the SHA-256 of its bytes; `kind` is the schema that its content fits."""

    path: str
    sha256: str
    kind: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """One of our own files, such as a report, that a glob of batches matches and skips."""

    path: str


class Bounds(NamedTuple):
    """The most bytes of a line and of a text of an input, and the most distinct tags of all cases.

    The settings are `max-line`, `max-text` and `max-tags`.
    """

    line: int
    text: int
    tags: int

    @classmethod
    def of(cls, options: Options) -> Bounds:
        """Return the bounds that options set."""
        return cls(options.max_line, options.max_text, options.max_tags)


BOUNDS = Bounds.of(Options())
"""The bounds where no settings are read."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some of a file's lines, whole ones, as bytes: a value that can be sent to whoever reads them.

    `name` is what problems call the file, `first` the number of the first line, counted from 1. Of a Parquet file
    (`is_columnar`) a line is a row, and the bytes are those of `parquet.batches`. Its texts are held to `bounds`.
    """

    name: str
    first: int
    data: bytes
    is_columnar: bool = False
    bounds: Bounds = BOUNDS


OUTPUTS = ".outputs.jsonl"
"""How the name of a file of recorded outputs ends that belongs to the batch of the name before it."""

NO_EXTRA = (
    "install the extra: pip install 'safe-gate[dask]', and run the command instead of the action, whose image lacks it"
)
"""What is to be done where dask or pyarrow is missing."""

_LARGEST_DOCUMENT = 16 << 20  # bytes
_DEVICES = Path("/dev")

PART_LINES = 50
"""So many lines a part has, unless somebody asks for another number."""

PART_BYTES = 1 << 20
"""A part ends with the line that fills so many bytes."""


def cases(
    evaluator: Evaluator,
    patterns: Sequence[str],
    *,
    root: Path = HERE,
    cluster_key: str = "",
    bounds: Bounds = BOUNDS,
) -> Iterator[Case | Problem | InputFile]:
    """Yield the cases of JSONL and Parquet files, a problem for each thing wrong, and each file at its end.

    The evaluator's input is `Lines`; `cluster_key` is that of `cluster_of`.
    """
    seen = Store()
    for item in parts(evaluator, patterns, root=root, bounds=bounds):
        if not isinstance(item, Part):
            yield item
            continue
        found = list(cases_of(evaluator, item, cluster_key))
        twins = {
            place: twin for case_id, place in ids_of(found) if (twin := twin_of(seen, case_id, place, evaluator.id_key))
        }
        yield from twins.values()
        yield from (one for one in found if isinstance(one, Problem) or one.place not in twins)


def parts(
    evaluator: Evaluator,
    patterns: Sequence[str],
    *,
    root: Path = HERE,
    size: int = PART_LINES,
    bounds: Bounds = BOUNDS,
) -> Iterator[Part | Problem | InputFile]:
    """Yield files of cases in parts of so many lines, and their problems and each file as `cases` does.

    What is wrong with lines, or with ids that stand twice, is for whoever reads the parts to find.
    """
    paths, problems = expand(patterns, root=root)
    yield from problems
    for path in paths:
        is_empty = True
        for item in _parts(path, evaluator.input.kind, root, bounds, size):
            is_empty = is_empty and isinstance(item, InputFile)
            yield item
        if is_empty:
            expected = "one case a row" if _is_columnar(path) else "one JSON object a line"
            yield Problem(Place(shown(path, root)), f"is empty: no cases; expected {expected}")


def cases_of(evaluator: Evaluator, part: Part, cluster_key: str = "") -> Iterator[Case | Problem]:
    """Yield the cases of a part and its problems, as `cases` does but for ids that stand elsewhere too.

    `cluster_key` is that of `cluster_of`.
    """
    for item in _objects(part, evaluator.input.kind):
        if isinstance(item, Problem):
            yield item
            continue
        place, value = item
        if faults := tuple(evaluator.faults(value)):
            for fault in faults:
                yield Problem(place, fault.message, value[evaluator.id_key], fault.field, fault.text_free)
            continue
        yield evaluator.case(value, place, cluster_of(value, cluster_key))


def ids_of(found: Iterable[Case | Problem]) -> tuple[tuple[str, Place], ...]:
    """Return the id of each line of some cases and problems with its place, those of lines with problems too."""
    by_place = {one.place: one.case_id if isinstance(one, Problem) else one.id for one in found}
    return tuple((case_id, place) for place, case_id in by_place.items() if case_id)


def cluster_of(case: Mapping[str, Any], key: str) -> str:
    """Return the value of a case's field as its cluster: a text as it is, others as JSON, "" for none or null."""
    value = case.get(key)
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def sha256(path: str) -> str:
    """Return the SHA-256 of a file's bytes. Raises CannotJudge if it cannot be read."""
    return hashlib.sha256(data_of(Path(path), shown(Path(path)))).hexdigest()


def content(path: str) -> Any:
    """Return what a JSON document holds, held against no schema. Raises CannotJudge if it is none."""
    name = shown(Path(path))
    return parsed(_text(Path(path), name), name)


def document(path: str, kind: str, *, largest: int | None = None, root: Path = HERE) -> Any:
    """Return a JSON document of one schema, such as a report, of at most `largest` bytes.

    Raises CannotJudge with every problem of it.
    """
    file = root / path
    name = shown(file, root)
    with suppress(OSError):  # a file that is not there is named below
        if largest is not None and (size := file.stat().st_size) > largest:
            raise CannotJudge(Problem(Place(name), f"is {size} bytes long; expected at most {largest}"))
    text = _text(file, name)
    content = parsed(text, name)
    if isinstance(content, dict) and (mistaken := _MISTAKEN.get((kind, _kind_of_document(file, content)))):
        raise CannotJudge(Problem(Place(name), mistaken))
    if kind == "report":
        _complete(content)
    problems = problems_of(load_schema(kind).faults(content), name, text)
    if problems:
        raise CannotJudge(*problems)
    return content


ADDED = [one for name, one in EVALUATORS.items() if name not in BUILT_IN]
"""The evaluators of installed packages."""


def _complete(report: Any) -> None:
    """Add the fields to an earlier report that it lacks: it stays readable as a baseline."""
    for part in (report, report.get("comparison")) if ADDED and isinstance(report, dict) else ():
        if isinstance(part, dict):
            part.update({one.name: part.get(one.name) for one in ADDED})
    for name, evaluator in EVALUATORS.items():
        for path, value in evaluator.added:
            part = report
            for key in (name, *path[:-1]):
                part = part.get(key) if isinstance(part, dict) else None
            if isinstance(part, dict):
                part.setdefault(path[-1], value)


_ALONE = {**{name: one.command for name, one in EVALUATORS.items() if one.command}, "compared": "compare"}
"""What stands alone in the file that a command writes: a part of the report's schema."""

_MISTAKEN = {
    ("report", "shard"): "is one shard of a run, which has no verdict; merge all shards of it first: safe-gate merge",
    ("shard", "report"): "is the report of a run, not a shard; expected what safe-gate run --shard wrote",
    **{
        ("report", kind): f"is not a report of safe-gate run, but what safe-gate {command} wrote; name a safe-gate.json"
        for kind, command in _ALONE.items()
    },
}
"""What is said of a document of another kind than the one that is meant, where the two may be mixed up."""


def rule_packs(patterns: Sequence[str], *, root: Path = HERE) -> list[Path]:
    """Return the pack files that paths and globs name, sorted. Raises CannotJudge for those that name none."""
    paths, problems = expand(patterns, ".json", root=root)
    if problems:
        raise CannotJudge(*problems)
    return paths


def expand(patterns: Sequence[str], suffix: str = ".jsonl", *, root: Path = HERE) -> tuple[list[Path], list[Problem]]:
    """Return the files that paths and globs name, sorted, each once, and a problem for what names none.

    Globs pass over `own_cases`. `suffix` is that of the files that are meant, for the problem's words; `root` is the
    folder that stands for the working folder, as where the files of a commit lie.
    """
    found: list[Path] = []
    problems: list[Problem] = []
    for pattern in patterns:
        if refused := outside(pattern, root):
            problems.append(refused)
            continue
        matched, unread = globs.matches([pattern], root)
        matched = [path for path in matched if path.name != _OWN_CASES]
        literal = () if unread else (root / pattern,)  # what cannot be looked for counts as there
        files = [path for path in (*literal, *matched) if exists(path) and not globs.is_folder(path)]
        problems += [unreadable(path, why, root) for path, why in unread]
        if not files and not unread:
            problems.append(no_match(pattern, suffix, root))
        found += files
    return distinct(found), list(dict.fromkeys(problems))  # two patterns may have the same


_OWN_CASES = "safe-gate.cases.jsonl"


def own_cases(patterns: Sequence[str], *, root: Path = HERE) -> list[Path]:
    """Return the files of judged cases, written by a run, that globs match: `expand` passes over them."""
    inside = [pattern for pattern in patterns if not outside(pattern, root)]
    return distinct(path for path in globs.matches(inside, root)[0] if path.name == _OWN_CASES)


def distinct(paths: Iterable[Path]) -> list[Path]:
    """Return paths of files, sorted as reports show them, of those that are one file in several spellings the first."""
    found: dict[Path, Path] = {}
    for path in paths:
        found.setdefault(location(path), path)
    return sorted(found.values(), key=lambda path: Path(shown(path)))


def location(path: Path) -> Path:
    """Return where a file lies, however its path is spelt; a link to a file is a file of its own."""
    return Path(os.path.realpath(path.parent), path.name)


def unreadable(path: Path, error: Exception, root: Path = HERE) -> Problem:
    """Return the problem of a file or a folder that cannot be read."""
    return Problem(Place(shown(path, root)), f"cannot be read: {_why(error)}")


def outside(path: str, root: Path) -> Problem | None:
    """Return the problem of a path or a glob that leads out of the files of a commit, which lie below `root`.

    A folder with `.git` is the top of them, as it is of a checkout. The working folder has no outside.
    """
    if root == HERE:
        return None
    top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)
    is_inside = Path(os.path.normpath(root / path)).is_relative_to(os.path.normpath(top))
    if is_inside and not Path(path).is_absolute() and not _UP_AGAIN.search(path):
        return None
    words = "cannot be read at a commit: it leads out of the repository; write it relative to the working folder"
    return Problem(Place(path), words)


_FILES = {kind.name: kind for evaluator in EVALUATORS.values() for kind in evaluator.kinds}
"""The kinds of input files by their names."""

_OWNERS = {kind.name: evaluator for evaluator in EVALUATORS.values() for kind in evaluator.kinds}

_OF_OUTPUTS = {one.input.outputs_kind: one.input for one in EVALUATORS.values() if isinstance(one.input, Documents)}

_OF_CASES = [one.input.kind for one in EVALUATORS.values() if isinstance(one.input, Lines)]

_KINDS = (
    *((one.input.kind, {one.input.cases}) for one in EVALUATORS.values() if isinstance(one.input, Documents)),
    ("shard", {"schema_version", "shard"}),
    ("report", {"schema_version"}),
    ("publication", {"publication"}),
    ("rule-pack", {"pack"}),
    *((name, one.part_keys) for name, one in EVALUATORS.items() if one.part_keys),
    ("compared", {"comparison"}),
)


def kind_of(path: Path) -> str:
    """Return which schema a file is to be held against, by its name and its keys.

    Raises CannotJudge if the file cannot be read or is not JSON at all.
    """
    if globs.is_folder(path):
        raise CannotJudge(no_match(str(path), ".json*", HERE))
    if path.name.endswith(OUTPUTS) and _OF_OUTPUTS:
        return next(iter(_OF_OUTPUTS))
    if _is_columnar(path):
        return _OF_CASES[0]
    has_suffix = path.suffix.lower() == ".jsonl"
    first = _first_object(path, most=None if has_suffix else 1)
    is_line = isinstance(first, dict) and any(first.keys() & kind.hints for kind in _FILES.values())  # as in c.ndjson
    if has_suffix or is_line:
        return next((kind.name for kind in _FILES.values() if kind.claims(first)), _OF_CASES[0])
    try:
        content = parsed(_text(path, shown(path)), shown(path), comments=True)
    except CannotJudge:
        if convert := importable(path, shown(path), _OF_CASES[0]):
            raise CannotJudge(convert) from None
        raise
    kind = _kind_of_document(path, content) if isinstance(content, dict) else "config"
    is_named = path.name in CONFIG_FILES
    if kind == "config" and not is_named and (convert := importable(path, shown(path), _OF_CASES[0])):
        raise CannotJudge(convert)
    return kind


def _first_object(path: Path, *, most: int | None) -> Any:
    """Return what the first line holds that is JSON, None if none of so many is. Raises CannotJudge if unreadable."""
    try:
        with open_regular(path) as file:
            for number, line in islice(_numbered(_bounded(file, 1, BOUNDS.line)), most):
                with suppress(JsonError, CannotJudge):  # whoever reads the file as its kind tells of these lines
                    return parse(decode(line, shown(path), number))
    except OSError as error:
        raise CannotJudge(unreadable(path, error)) from error
    except _TooLong:
        return None
    return None


def _kind_of_document(path: Path, content: Mapping[str, Any]) -> str:
    if path.name.endswith(WAIVERS_FILE) or isinstance(content.get("waivers"), list):  # a config names the file there
        return "waivers"
    for kind, keys in _KINDS:
        if keys <= content.keys():
            return kind
    rules = content.get("rules")  # a config names its packs there
    return "rule-pack" if isinstance(rules, list) and any(isinstance(rule, dict) for rule in rules) else "config"


def read_config(path: str, *, root: Path = HERE, is_checked: bool = True) -> Config | None:
    """Return the config file, or None if none was named and none is there.

    Top-level keys may be written in kebab-case, snake_case or camelCase; they come back as the
    schema spells them. Raises CannotJudge with every problem of the file, and for other files that may be meant
    as one; unless `is_checked`, of its text alone, not of what it sets.
    """
    if is_checked and not path and (problems := tuple(_not_the_config(root))):
        raise CannotJudge(*problems)
    default = next((name for name in CONFIG_FILES if exists(root / name)), "")
    if not (path or default) or (found := _named_or_default(path, default, root)) is None:
        return None
    file, name = found
    text = _text(file, name)
    content = parsed(text, name, comments=True)
    bare = blank_comments(text)
    schema = load_schema("config")
    original: dict[str, str] = {}
    if isinstance(content, dict):
        content, original = _canonical_keys(content, name, bare)
    faults = [_of_setting(fault) for fault in schema.faults(content)] if is_checked else []
    problems = problems_of(faults, name, bare, original=original)
    if problems:
        raise CannotJudge(*problems)
    return Config(name, content, partial(_line_of, lines=dict(places(bare)), original=original))


def _not_the_config(root: Path) -> Iterator[Problem]:
    """Yield a problem for a second config file, and for a file of the working folder with almost its name."""
    first, *others = [name for name in CONFIG_FILES if exists(root / name)] or [""]
    for name in others:
        words = f"is a second config file beside {first}; keep one of them, or name one with --config"
        yield Problem(Place(name), words)
    if root != HERE:
        return
    try:
        names = sorted(path.name for path in root.iterdir())
    except OSError as error:
        yield unreadable(root, error)
        return
    for name in names:
        if _ALMOST_A_CONFIG.fullmatch(name) and name not in CONFIG_FILES and not globs.is_folder(root / name):
            right = next(one for one in CONFIG_FILES if ("gate" in one) == ("gate" in name.lower()))
            words = f"is not read: the config file is called {right}; rename it, remove it, or name it with --config"
            yield Problem(Place(name), words)


def waivers(path: str, *, root: Path = HERE) -> tuple[InputFile, Mapping[str, Any]] | None:
    """Return the file of waivers and what it holds, or None if none was named and none is there.

    Raises CannotJudge with every problem of the file, a second waiver of the same failure among them.
    """
    if (found := _named_or_default(path, WAIVERS_FILE, root)) is None:
        return None
    file, name = found
    data = data_of(file, name)
    text = decode(data.removeprefix(BOM), name)
    content = parsed(text, name)
    problems = problems_of(load_schema("waivers").faults(content), name, text)
    if not problems:
        lines = dict(places(text))
        problems = tuple(
            Problem(
                Place(name, lines["waivers", place]),
                f"waives what line {lines['waivers', first]} waives; keep one",
                content["waivers"][place]["id"],
            )
            for place, first in twins(content["waivers"])
        )
    if problems:
        raise CannotJudge(*problems)
    return InputFile(name, hashlib.sha256(data).hexdigest(), "waivers"), content


def _named_or_default(path: str, default: str, root: Path) -> tuple[Path, str] | None:
    """Return a file and what problems call it, None if none was named and none is there. Raises CannotJudge."""
    if refused := outside(path, root):
        raise CannotJudge(refused)
    file = root / (path or default)
    name = shown(file, root)
    if path and root != HERE and not exists(file):
        words = "cannot be read: the commit has no such file; add it in one change, and name it in the next"
        raise CannotJudge(Problem(Place(name), words))
    return (file, name) if path or exists(file) else None


@cache
def load_schema(name: str) -> Schema:
    """Return a schema of `schemas/` by its name without `.schema.json`, or that of what stands alone."""
    if name in _ALONE:
        return load_schema("report").part("$defs", name)
    for one in ADDED:
        if name in one.schemas:
            return Schema(one.schemas[name])
    schema = json.loads(schema_folder().joinpath(f"{name}.schema.json").read_text("utf-8"))
    return Schema(extended(name, schema, ADDED))


def is_among(path: str, others: Iterable[str | Path]) -> bool:
    """Tell whether a path leads to the same file as one of others; a name that no file can have leads nowhere."""
    target = _real(path)
    return bool(target) and any(_real(other) == target for other in others)


def _real(path: str | Path) -> str:
    try:
        return os.path.realpath(path)
    except ValueError:
        return ""


def write(path: Path, text: str | Iterable[str]) -> None:
    """Write a text, or its pieces, as `write_all` does."""
    write_all({path: text})


def write_all(texts: Mapping[Path, str | Iterable[str]]) -> None:
    """Write texts, or their pieces, as UTF-8, all of them or none, and make their folders. Raises CannotJudge.

    No existing file or link is replaced before all are written. A device or a pipe is refused:
    nothing could replace it.
    """
    drafts: dict[Path, Path] = {}
    path = Path()
    try:
        for path, text in texts.items():
            _write_draft(path, text, drafts)
        for path, draft in drafts.items():
            draft.replace(path)
    except BaseException as error:  # whatever ends it, no draft is left
        for draft in drafts.values():
            draft.unlink(missing_ok=True)
        if isinstance(error, OSError | ValueError):
            raise CannotJudge(Problem(Place(shown(path)), f"cannot be written: {_why(error)}")) from error
        raise


def _write_draft(path: Path, text: str | Iterable[str], drafts: dict[Path, Path]) -> None:
    """Write what is to become a file beside it, and note in `drafts` where it is."""
    if (path.exists() and not path.is_file()) or path.absolute().parent == _DEVICES:
        raise OSError("Not a regular file")
    path.parent.mkdir(parents=True, exist_ok=True)
    leftovers.delete_drafts(path.parent)
    begin, end = leftovers.DRAFT
    # A name nobody can guess and plant a link at; readable for the steps that follow, which are not root.
    with NamedTemporaryFile(
        "w", encoding="utf-8", newline="", dir=path.parent, prefix=begin, suffix=end, delete=False
    ) as file:
        drafts[path] = Path(file.name)
        file.writelines([text] if isinstance(text, str) else text)
    drafts[path].chmod(0o644)


def write_or_remove(path: Path, text: str | Iterable[str]) -> None:
    """Write a text as `write` does, or else remove the file that it was to replace, as far as either can be done."""
    try:
        write(path, text)
    except CannotJudge:
        with suppress(OSError, ValueError):  # ValueError: a name that no file can have
            path.unlink()


def shown(path: Path, root: Path = HERE) -> str:
    """Return a path as reports show it: relative to the working folder, or what stands for it, if it lies inside."""
    with suppress(ValueError):
        return path.absolute().relative_to(root.absolute()).as_posix()
    return path.as_posix()


def schema_folder() -> Path:
    """Return `schemas/`: inside the package in a wheel, beside it in an editable install."""
    package = Path(__file__).parent.parent
    packaged = package / "schemas"
    return packaged if packaged.is_dir() else package.parent / "schemas"


def twin_of(seen: Store, case_id: str, place: Place, field: str) -> Problem | None:
    """Return a problem if the id was seen before, else remember it."""
    here = [place.path, place.line]
    first = seen.setdefault(case_id, here)
    if first is here:
        return None
    path, line = first
    return twin(place, path, line, case_id, field)


def twin(place: Place, path: str, line: int, case_id: str, field: str) -> Problem:
    """Return the problem of an id that stands elsewhere too."""
    return Problem(place, f"appears at {path}:{line} too; expected ids that are unique in the run", case_id, field)


def recorded_outputs(
    kind: str, path: Path, root: Path, bounds: Bounds = BOUNDS
) -> Iterator[tuple[Place, dict[str, Any]] | Problem | InputFile]:
    """Yield the valid outputs of a file, of one schema, with their places, problems, and at the end the file."""
    for item in _parts(path, kind, root, bounds):
        if isinstance(item, Part):
            yield from _objects(item, kind)
        else:
            yield item


def _parts(
    path: Path, kind: str, root: Path, bounds: Bounds, size: int = PART_LINES
) -> Iterator[Part | Problem | InputFile]:
    """Yield a file in parts, from the first line that is not blank, and at its end the file; or why it is not read."""
    name, digest = shown(path, root), hashlib.sha256()
    is_start = True
    try:
        with open_regular(path) as file:
            read = _rows if kind in _OF_CASES and _is_columnar(path) else _lines
            for part in read(file, name, digest, bounds, size):
                if is_start and part.is_columnar:
                    value = next((one[1] for one in _values_of_rows(part) if not isinstance(one, Problem)), None)
                    is_ours = value is None or _is_ours(value, kind)
                    if not is_ours and (convert := importable(path, name, kind, value)):
                        yield convert
                        return
                if is_start and not part.is_columnar:
                    if (first := next(_numbered(BytesIO(part.data), part.first), None)) is None:
                        continue
                    if mistaken := _mistaken(*first, path, name, kind):
                        yield mistaken
                        return
                is_start = False
                yield part
    except OSError as error:
        yield unreadable(path, error, root)
        return
    except _TooLong as error:
        yield Problem(Place(name, error.line), too_long(bounds.line, "max-line"))
        return
    except parquet.NotReadable as error:
        yield Problem(Place(name), f"is no Parquet file that can be read: {error}")
        return
    except ModuleNotFoundError as error:
        words = f"is Parquet, which needs {error.name}, which is not installed; {NO_EXTRA}"
        yield Problem(Place(name), words)
        return
    yield InputFile(name, digest.hexdigest(), kind)


class _TooLong(Exception):
    """A line of a file is longer than it may be."""

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line


def too_long(most: int, setting: str) -> str:
    """Return the message for an input that is longer than a setting allows."""
    return f"is longer than {most} bytes, the limit of {setting}; shorten it, or raise {setting}"


def _lines(file: BinaryIO, name: str, digest: hashlib._Hash, bounds: Bounds, size: int) -> Iterator[Part]:
    first = 1
    while block := list(_block(file, size, first, bounds.line)):
        data = b"".join(block)
        digest.update(data)
        yield Part(name, first, data, bounds=bounds)
        first += len(block)


def _bounded(file: BinaryIO, first: int, most: int) -> Iterator[bytes]:
    """Yield the lines of a file, counted from `first`. Raises _TooLong for one of more than so many bytes."""
    for number in counting(first):
        line = file.readline(most + 1)
        if len(line) > most and not line.endswith(b"\n"):
            raise _TooLong(number)
        if not line:
            return
        yield line


def _block(file: BinaryIO, size: int, first: int, most: int) -> Iterator[bytes]:
    r"""Yield the next lines of a file, as many as a part has; only b"\n" ends a line: U+2028 and its like are text."""
    length = 0
    for line in islice(_bounded(file, first, most), size):
        yield line
        length += len(line)
        if length >= PART_BYTES:
            return


def _rows(file: BinaryIO, name: str, digest: hashlib._Hash, bounds: Bounds, size: int) -> Iterator[Part]:
    while data := file.read(PART_BYTES):
        digest.update(data)
    file.seek(0)
    first = 1
    for count, data in parquet.batches(file, size):
        yield Part(name, first, data, is_columnar=True, bounds=bounds)
        first += count


def _is_columnar(path: Path) -> bool:
    return path.suffix.lower() == parquet.SUFFIX


def _numbered(lines: Iterable[bytes], first: int = 1) -> Iterator[tuple[int, bytes]]:
    """Yield those of a file's lines that are not blank, with their numbers; `first` is that of the first."""
    for number, line in enumerate(lines, first):
        content = line.removeprefix(BOM) if number == 1 else line
        if content.strip():
            yield number, content


def _mistaken(number: int, line: bytes, path: Path, name: str, kind: str) -> Problem | None:
    """Return the problem of a file that is another thing than lines of these objects, as its first line tells."""
    try:
        value = parse_bounded(decode(line, name, number))
    except TooManyContainersError:
        return None
    except JsonError:
        if convert := importable(path, name, kind):
            return convert
        words = "is one JSON document over many lines; expected one object a line (JSONL)"
        return Problem(Place(name, number), words) if _is_one_document(path) else None
    except CannotJudge as error:
        whole = next((problem for problem in error.problems if not problem.place.line), None)
        return whole or importable(path, name, kind)
    for other, form in _OF_OUTPUTS.items() if kind in _OF_CASES else ():
        if _FILES[other].claims(value):
            words = f"these are {_OWNERS[other].title} outputs, not {_FILES[kind].called}"
            option = form.outputs.replace("_", "-")
            return Problem(Place(name), f"{words}; name them by --outputs or {option}")
    return None if _is_ours(value, kind) else importable(path, name, kind, value)


def _is_ours(value: Any, kind: str) -> bool:
    """Tell whether a value is meant as one of a kind, however many faults it has."""
    if not isinstance(value, dict):
        return False
    needed, own = _FILES[kind].needed, _FILES[kind].own
    return "checks" in value or (needed <= value.keys() and bool(own & value.keys()))


def importable(path: Path, name: str, kind: str, value: Any = None) -> Problem | None:
    """Return the problem of a file that `import` reads, with the command to use; None for any other file.

    `value` is its first object, which may have two texts under names that nobody knows: then the command has a mapping.
    """
    from safe_gate.importers import records, shapes  # what is valid needs none of it

    try:
        with open_regular(path) as file:
            guess = shapes.guess(file)
    except (OSError, records.NotReadable, ModuleNotFoundError):
        return None
    if _is_ours(dict.fromkeys(guess.fields), kind):
        return None
    meant, owner = _FILES[kind], _OWNERS[kind]
    if not owner.imported_as:
        return None
    command = f"safe-gate import {shlex.quote(name)} --out {owner.imported_as}"
    flag = "" if kind == _OF_CASES[0] else f" --evaluator {owner.name}"
    if guess.format is not None:
        return Problem(Place(name), f"looks like {guess.title}, not {meant.called}; convert it: {command}{flag}")
    texts = [one for one in value.values() if isinstance(one, str)] if isinstance(value, dict) else []
    if meant.sides and len(texts) >= len(meant.sides) and not {*meant.sides} & value.keys():
        mapping = "--map " + ",".join(f"{side}=FIELD" for side in meant.sides)
        words = f"has neither {' nor '.join(meant.sides)}; say which fields they are"
        return Problem(Place(name), f"{words}: {command} {mapping}")
    return None


def _objects(part: Part, kind: str) -> Iterator[tuple[Place, dict[str, Any]] | Problem]:
    """Yield the valid objects of a part with their places, and problems."""
    schema = load_schema(kind)
    for item in _values_of_rows(part) if part.is_columnar else _values_of_lines(part):
        if isinstance(item, Problem):
            yield item
            continue
        place, value = item
        case_id = id_of(value, _OWNERS[kind].id_key)
        faults = schema.faults(value)
        for fault in faults:
            yield Problem(place, fault.message, case_id, fault.field, fault.text_free)
        if faults:
            continue
        field = long_text(value, part.bounds.text) if len(part.data) > part.bounds.text else None
        if field is None:
            yield place, value
        else:
            yield Problem(place, too_long(part.bounds.text, "max-text"), case_id, field)


_READ = ("user", "assistant", "messages", "output", "expectations")
"""The fields of a case, or of an output, whose texts evaluators read."""


def long_text(case: Any, most: int) -> str | None:
    """Return the field of the first text of a case that is too long in UTF-8.

    None if there is none. What nobody reads, such as notes, is held to the bound of lines alone.
    """
    fields = case if isinstance(case, dict) else {}
    found = (_long_text(fields[name], most, name) for name in _READ if name in fields)
    return next((field for field in found if field is not None), None)


def _long_text(value: Any, most: int, field: str) -> str | None:
    if isinstance(value, str):
        is_long = len(value) > most or (4 * len(value) > most and len(value.encode("utf-8", "surrogatepass")) > most)
        return field if is_long else None
    inner: Iterable[tuple[str, Any]] = ()
    if isinstance(value, dict):
        inner = ((f"{field}.{key}", member) for key, member in value.items())
    elif isinstance(value, list):
        inner = ((f"{field}[{index}]", member) for index, member in enumerate(value))
    found = (_long_text(member, most, name) for name, member in inner)
    return next((name for name in found if name is not None), None)


def _values_of_lines(part: Part) -> Iterator[tuple[Place, Any] | Problem]:
    for number, line in _numbered(BytesIO(part.data), part.first):
        place = Place(part.name, number)
        try:
            yield place, parse_bounded(decode(line, part.name, number))
        except JsonError as error:
            yield _not_json(error, place)
        except CannotJudge as error:
            yield from error.problems


def _values_of_rows(part: Part) -> Iterator[tuple[Place, Any] | Problem]:
    for number, line in enumerate(parquet.lines(part.data), part.first):
        place = Place(part.name, number)
        if isinstance(line, str) and len(line) > part.bounds.line:
            yield Problem(place, too_long(part.bounds.line, "max-line"))
            continue
        try:
            if isinstance(line, parquet.NotReadable):
                raise line
            yield place, parse_bounded(line)
        except (JsonError, parquet.NotReadable) as error:
            words = "is a row that JSON cannot represent"
            yield Problem(place, f"{words}: {error}", text_free=words)


def _is_one_document(path: Path) -> bool:
    """Tell a JSON document from broken JSONL, so that it gets one problem instead of one a line.

    One that is too large to be read at once is taken for lines, which most of that size are.
    """
    try:
        if path.stat().st_size > _LARGEST_DOCUMENT:
            return False
        parse(_text(path, ""))
    except (JsonError, CannotJudge, OSError):
        return False
    return True


def id_of(value: Any, key: str) -> str:
    """Return the id that a value has under a key, "" for none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def problems_of(
    faults: Sequence[Fault],
    name: str,
    text: str,
    *,
    cases: tuple[str, str] = ("", ""),
    batch: Any = None,
    original: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Problem, ...]:
    """Return a document's faults as problems, with the line of each and the case it stands in.

    `cases` are the keys where `batch` has its cases, and these their ids. `original` gives the keys at the top as the
    text spells them, where that is not how the schema does.
    """
    lines = _lines_of([fault.path for fault in faults], text, original) if faults else {}
    found = []
    for fault in faults:
        is_case = bool(cases[0]) and fault.path[:1] == cases[:1] and len(fault.path) > 1
        case_id = id_of(batch[cases[0]][fault.path[1]], cases[1]) if is_case else ""
        field = Fault(fault.path[2:], "").field if case_id else fault.field
        found.append(
            Problem(Place(name, _line_of(fault.path, lines, original)), fault.message, case_id, field, fault.text_free)
        )
    return tuple(found)


def _lines_of(
    paths: Iterable[Sequence[str | int]], text: str, original: Mapping[str, str]
) -> dict[tuple[str | int, ...], int]:
    """Return the lines of the values that paths lead to or through, and of no other: a text may hold millions."""
    spelt = [(original.get(str(path[0]), path[0]), *path[1:]) if path else () for path in paths]
    wanted = {path[:length] for path in spelt for length in range(len(path) + 1)}
    return {path: line for path, line in places(text) if path in wanted}


def _line_of(path: Sequence[str | int], lines: Mapping[tuple[str | int, ...], int], original: Mapping[str, str]) -> int:
    """Return the line of a value; a field that is missing stands where its object does."""
    found = tuple(path)
    if found:
        found = (original.get(str(found[0]), found[0]), *found[1:])
    while found not in lines:
        found = found[:-1]
    return lines[found]


def _canonical_keys(content: Mapping[str, Any], name: str, text: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a config with its top keys as the schema spells them, and how the file spelt them."""
    spellings = {_bare(key): key for key in load_schema("config").properties}
    result: dict[str, Any] = {}
    original: dict[str, str] = {}
    for key, value in content.items():
        spelt = spellings.get(_bare(key), key)
        if spelt in result:
            place = Place(name, dict(places(text))[(key,)])
            raise CannotJudge(Problem(place, f"is set twice, in two spellings; keep {spelt}", field=key))
        result[spelt] = value
        original[spelt] = key
    return result, original


def _of_setting(fault: Fault) -> Fault:
    """Return a config's fault, that of a setting which belongs elsewhere with the places it belongs to."""
    for setting in settings():
        if len(fault.path) != 1 or _bare(str(fault.path[0])) not in map(_bare, setting.names):
            continue
        if not setting.key:
            flags, variables = setting.flags_of("run"), setting.env[:1]
            places = (*(f"the flag {flag}" for flag in flags), *(f"the variable {name}" for name in variables))
            others = " or ".join(places) or f"the action's input {setting.input}"
            return Fault(fault.path, f"cannot be set in the config file; use {others}")
        if fault.path != setting.key:
            return Fault(fault.path, f"is not a known field; it is set as {'.'.join(setting.key)} here")
    return fault


def _bare(key: str) -> str:
    return key.replace("-", "").replace("_", "").lower()


def exists(path: Path) -> bool:
    """Tell whether something has this path, be it a link to nowhere; a name that no file can have is nobody's.

    What cannot be looked for, as in a folder that cannot be read, counts as there: reading it says why not.
    """
    try:
        return globs.is_there(path)
    except OSError:
        return True


def no_match(pattern: str, suffix: str, root: Path) -> Problem:
    """Return the problem of a pattern that names no file, with what may have been meant."""
    named, path = Path(pattern), root / pattern
    if globs.is_folder(path):
        hint = f"is a folder; name the files in it, such as {(named / f'*{suffix}').as_posix()}"
    else:
        slashes = "; write paths with /" if "\\" in pattern else ""
        advice = "which is never a pass; correct the path or the pattern"
        hint = f"matches no file{close_to(pattern, root)}, {advice}{slashes}"
    return Problem(Place(pattern), hint)


def close_to(path: str, root: Path = HERE) -> str:
    """Return a hint at the file in the same folder with the closest name to a missing path, "" for none."""
    named, siblings = Path(path), list[Path]()
    with suppress(OSError, ValueError):
        siblings += (root / path).parent.iterdir()
    return suggestion(named.name, {one.name: (named.parent / one.name).as_posix() for one in siblings})


def parsed(text: str, name: str, *, comments: bool = False, is_input: bool = False) -> Any:
    """Return the value of a file's JSON text; what is scored is bounded. Raises CannotJudge with its line."""
    try:
        return parse_bounded(text) if is_input else parse(text, comments=comments)
    except JsonError as error:
        raise CannotJudge(_not_json(error, Place(name, error.line))) from None


def _not_json(error: JsonError, place: Place) -> Problem:
    if isinstance(error, TooManyContainersError):
        return Problem(place, f"holds {error}; split it")
    return Problem(place, f"is not valid JSON: {error}", text_free=f"is not valid JSON: {error.text_free}")


def _text(path: Path, name: str) -> str:
    return decode(data_of(path, name).removeprefix(BOM), name)


def data_of(path: Path, name: str, *, most: int | None = None) -> bytes:
    """Return the bytes of a regular file that problems call `name`; `most` is `max-line`. Raises CannotJudge."""
    try:
        with open_regular(path) as file:
            data = file.read() if most is None else file.read(most + 1)
            if most is not None and len(data) > most:
                raise CannotJudge(Problem(Place(name), too_long(most, "max-line")))
            return data
    except OSError as error:
        raise CannotJudge(Problem(Place(name), f"cannot be read: {_why(error)}")) from error


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file: a pipe or a device that a checkout holds would never end.

    Raises OSError for another, and for one that symbolic links lead to out of the workspace, unless they are followed.
    """
    if path.exists() and not path.is_file():
        raise OSError("Not a regular file")
    if not _follows_links.get() and _leads_out(path):
        raise OSError("a symbolic link leads out of the workspace; commit the file itself, or set --follow-links")
    try:
        return path.open("rb")
    except ValueError:
        raise OSError("no file can have this name") from None


def follow_links(*, is_on: bool) -> None:
    """Set whether reading files in this context follows symbolic links out of the workspace."""
    _follows_links.set(is_on)


def _leads_out(path: Path) -> bool:
    """Return whether a path into the workspace leads out of it again by symbolic links.

    The path may name the workspace by another path, such as a link to it.
    """
    here = Path.cwd()
    workspace = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    try:
        if Path(os.path.realpath(path)).is_relative_to(workspace):
            return False
        named = Path(os.path.normpath(path.absolute()))
        return any(Path(os.path.realpath(folder)).is_relative_to(workspace) for folder in named.parents)
    except ValueError:  # a name that no file can have
        return False


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def decode(data: bytes, name: str, line: int = 0) -> str:
    """Return UTF-8 as text; `line` is that of the data in its file, if known. Raises CannotJudge."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if line <= 1 and data.startswith(_BOMS_OF_UTF_16):
            raise CannotJudge(Problem(Place(name), "looks like UTF-16; save the file as UTF-8")) from None
        line = line or data.count(b"\n", 0, error.start) + 1
        problem = Problem(Place(name, line), f"is not UTF-8: byte 0x{data[error.start]:02x}; save the file as UTF-8")
        raise CannotJudge(problem) from None
