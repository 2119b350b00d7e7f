"""Shell: what a JSON document is, by its name and its first keys, and every problem of one by its schema.

Also the config file, the paths that it names, and files that are almost called as it is. Looks for files.
"""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from glob import has_magic
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

from safe_gate.core.case import LineOf, OwnFile
from safe_gate.core.jsontext import JsonError, TooManyValuesError, blank_comments, parse, places
from safe_gate.core.validate import Fault, Schema, quote, suggestion
from safe_gate.evaluators.registry import BUILT_IN, EVALUATORS, extend_schema
from safe_gate.gate.waivers import Waivable
from safe_gate.inputs import disk, globs
from safe_gate.inputs.commit_files import CommitPath, FilePath
from safe_gate.inputs.disk import HERE, display_path, exists
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.model.report import InputFile, Waiver
from safe_gate.settings import CONFIG_FILE, CONFIG_FILES, LOCK_FILE, WAIVERS_FILE, Origin, Settings, settings
from safe_gate.settings.reading import PATHS, Config

OUTPUTS = ".outputs.jsonl"
"""The suffix of a file of recorded outputs, after the name of its batch."""

_FILES = {kind.name: kind for evaluator in EVALUATORS.values() for kind in evaluator.input.kinds}
"""The kinds of input files by their names."""

OWNERS = {kind.name: evaluator for evaluator in EVALUATORS.values() for kind in evaluator.input.kinds}

_DOCUMENTS = [one.input for one in EVALUATORS.values() if one.input.cases]

OF_CASES = [one.input.kind for one in EVALUATORS.values() if not one.input.cases]

_OPTIONS = {one.input.kind: one.input.setting for one in EVALUATORS.values()} | {
    form.outputs_kind: form.outputs for form in _DOCUMENTS
}

_OF_DOCUMENTS = {form.kind for form in _DOCUMENTS}

_KINDS = (
    *((form.kind, {form.cases}) for form in _DOCUMENTS),
    ("shard", {"schema_version", "shard"}),
    ("report", {"schema_version"}),
    ("publication", {"publication"}),
    ("rule-pack", {"pack"}),
)


def kind_of(path: Path) -> str:
    """Return the schema to validate a file against, by its name and its keys.

    Raises CannotJudge if the file cannot be read or is not JSON at all.
    """
    if path.name.endswith(OUTPUTS) and _DOCUMENTS:
        return _DOCUMENTS[0].outputs_kind
    if is_columnar(path):
        return OF_CASES[0]
    name, is_lines = display_path(path), path.suffix.lower() == ".jsonl"
    first, start = _first_object(path, most=None if is_lines else 1)
    found = _kind_of_line(first)
    if is_lines or found:
        return found or OF_CASES[0]
    if is_of_another_format(start):
        raise CannotJudge(bare_list_problem(path, name) or not_of_kind_problem(name, OF_CASES[0]))
    del first, start  # they may be all of the file
    content = disk.parse_json(disk.read_text(path, name), name, comments=True)
    if not isinstance(content, dict):
        raise CannotJudge(Problem(Place(name), "holds no object; expected a JSON object"))
    kind = kind_of_document(path, content)
    if kind == "config" and "//json-schema.org/" in str(content.get("$schema")):
        raise CannotJudge(Problem(Place(name), "is a JSON Schema, not a config file; name the files more narrowly"))
    return kind


def _first_object(path: Path, *, most: int | None) -> tuple[Any, bytes]:
    """Return the first JSON value in the first `most` lines, None without one, and the first line that is not blank.

    Raises CannotJudge if the file is unreadable.
    """
    start = b""
    try:
        with disk.open_regular(path) as file:
            for number, line in islice(numbered_lines(disk.bounded_lines(file, disk.BOUNDS.line)), most):
                start = start or line
                with suppress(JsonError, CannotJudge):  # the reader of this kind reports these lines
                    return parse(disk.decode(line, display_path(path), number)), start
    except OSError as error:
        raise CannotJudge(disk.unreadable_problem(path, error)) from error
    return None, start


def kind_of_document(path: FilePath, content: Mapping[str, Any]) -> str:
    """Return which schema a JSON object is checked with, by the name of its file and its keys."""
    if path.name.endswith(WAIVERS_FILE) or isinstance(content.get("waivers"), list):  # a config names the file there
        return "waivers"
    if path.name.endswith(LOCK_FILE):
        return "lock"
    for kind, keys in _KINDS:
        if keys <= content.keys():
            return kind
    if isinstance(content.get("waivers"), dict):
        return "waivers"
    rules = content.get("rules")  # a config names its packs there
    return "rule-pack" if isinstance(rules, list) and any(isinstance(rule, dict) for rule in rules) else "config"


def _kind_of_line(value: Any) -> str:
    """Return the kind of the lines that a file's first value belongs to, "" for none."""
    return next((kind for kind in _OPTIONS if kind not in _OF_DOCUMENTS and _has_own_field(value, kind)), "")


def _has_own_field(value: Any, kind: str) -> bool:
    meant = _FILES[kind]
    return isinstance(value, dict) and bool(meant.hints & value.keys()) and bool(meant.own & value.keys())


def mistaken_file_problem(number: int, line: bytes, path: FilePath, name: str, kind: str) -> Problem | None:
    """Return the problem of a file that should hold objects of a kind, one per line, but whose first line is none."""
    if is_of_another_format(line):
        return not_of_kind_problem(name, kind)
    try:
        value = parse(disk.decode(line, name, number))
    except TooManyValuesError:
        return None
    except JsonError:
        with suppress(JsonError, CannotJudge):  # it is broken, or too large to tell
            return not_of_kind_problem(name, kind, parse(disk.read_text(path, name)))
        return None
    except CannotJudge as error:  # UTF-16 is a problem of the whole file
        return next((problem for problem in error.problems if not problem.place.line), None)
    # However many faults it has, it is meant as this kind.
    is_ours = not isinstance(value, dict) or value.keys() <= _FILES[kind].own or _has_own_field(value, kind)
    return None if is_ours else not_of_kind_problem(name, kind, value)


_OF_ANOTHER_FORMAT = re.compile(
    rb"""(?!\{|\0|\xff\xfe|\xfe\xff|\x1f\x8b|<{7}|/[/*])  # UTF-16, gzip, a merge conflict, a comment of a config
    (?:\[|PAR1|PK\x03\x04|(?:[^"\r\n,;\t]++|"[^"]*+")*+[,;\t])""",
    re.VERBOSE | re.IGNORECASE,
)


def is_of_another_format(start: bytes) -> bool:
    """Return whether a file begins as one that `import` reads: a list, a table, Parquet or an archive."""
    return _OF_ANOTHER_FORMAT.match(start.lstrip()) is not None


def wrong_kind_problem(name: str, kind: str, value: Any) -> Problem | None:
    """Return the problem of a file that is read as `kind` but is of another one, None if it is of no other."""
    for other, option in _OPTIONS.items():
        if other != kind and _has_own_field(value, other):
            flag = option.replace("_", "-")
            words = f"is {_FILES[other].file}, not {_FILES[kind].file}; name the file with --{flag} or {flag}"
            return Problem(Place(name), words)
    return None


def not_of_kind_problem(name: str, kind: str, value: Any = None) -> Problem:
    """Return the problem of a file that is not of a kind, with a fix. `value` is its first object, if known."""
    owner, words = OWNERS[kind], f"is not {_FILES[kind].file}"
    if imports := owner.input.imports:
        words += f"; convert it: safe-gate import {shlex.quote(name)} --out {imports.file}"
        words += "" if kind == OF_CASES[0] else f" --evaluator {owner.name}"
    return wrong_kind_problem(name, kind, value) or Problem(Place(name), words)


def bare_list_problem(path: FilePath, name: str) -> Problem | None:
    """Return the problem of a file with the cases of a document in a bare list, None for any other file."""
    with suppress(JsonError, CannotJudge):
        held = parse(disk.read_text(path, name))
        first = held[0] if isinstance(held, list) and held else None
        for form in _DOCUMENTS:
            if isinstance(first, dict) and first.keys() >= {form.id_key, *form.reads[1:]}:
                words = f"is a bare list of cases; wrap it in an object: {{{json.dumps(form.cases)}: [...]}}"
                return Problem(Place(name), words)
    return None


def is_columnar(path: FilePath) -> bool:
    """Return whether a file is Parquet by its name."""
    return path.suffix.lower() == ".parquet"


def numbered_lines(lines: Iterable[bytes], first: int = 1) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file that are not blank, with their numbers; `first` is the first line's number."""
    for number, line in enumerate(lines, first):
        content = line.removeprefix(disk.BOM) if number == 1 else line
        if content.strip():
            yield number, content


def id_of(value: Any, key: str) -> str:
    """Return the id that a value has under a key, "" for none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


ADDED = [one for name, one in EVALUATORS.items() if name not in BUILT_IN]
"""The evaluators of installed packages."""


@cache
def load_schema(name: str) -> Schema:
    """Return a schema of `schemas/` by its name without `.schema.json`."""
    if (own := _FILES.get(name)) and own.schema:
        return Schema(own.schema)
    schema = json.loads(schema_folder().joinpath(f"{name}.schema.json").read_text("utf-8"))
    return Schema(extend_schema(name, schema, ADDED))


def schema_folder() -> Path:
    """Return `schemas/`: inside the package in a wheel, beside it in an editable install."""
    package = Path(__file__).parent.parent
    packaged = package / "schemas"
    return packaged if packaged.is_dir() else package.parent / "schemas"


def read_document(path: FilePath, kind: str) -> Any:
    """Return a JSON document of one schema, such as a report. Raises CannotJudge with every problem of it."""
    name = display_path(path)
    return parse_document(disk.read_text(path, name), name, kind)


def parse_document(text: str, name: str, kind: str) -> Any:
    """Return what the text of a file holds, which problems call `name`. Raises CannotJudge as `read_document` does."""
    content = disk.parse_json(text, name)
    refuse_other_kind(content, name, kind)
    if kind == "report" and ADDED and isinstance(content, dict):  # another installation may lack evaluators of this one
        for part in (one for one in (content, content.get("comparison")) if isinstance(one, dict)):
            part.update({one.name: part.get(one.name) for one in ADDED})
    problems = fault_problems(load_schema(kind).faults(content), name, text)
    if problems:
        raise CannotJudge(*problems)
    return content


_MARKS = {
    "report": ("a report of safe-gate run", "verdict"),
    "rule-pack": ("a rule pack", "pack"),
    "shard": ("a finished shard", "shard"),
    **{form.kind: (_FILES[form.kind].file, form.cases) for form in _DOCUMENTS},
}
"""What files of a kind are called, and the field that others do not have."""


def refuse_other_kind(content: Any, name: str, kind: str) -> None:
    """Raise CannotJudge for an object without the field that tells its kind, so that no schema names all its fields."""
    called, mark = _MARKS.get(kind, ("", ""))
    if mark and isinstance(content, dict) and mark not in content:
        raise CannotJudge.at(name, f"is not {called}: it has no field {mark}")


def refuse_unknown(path: Path) -> None:
    """Raise CannotJudge for what is a config by neither its name nor a field, and has fields that are not misspelt."""
    name = display_path(path)
    content = disk.parse_json(disk.read_text(path, name), name, comments=True)
    known = {"$schema", *(setting.key[0] for setting in settings() if setting.key)}
    is_named = path.name in CONFIG_FILES or not known.isdisjoint(content)
    if not is_named and not (content and all(suggestion(key, known) for key in content)):
        kinds = "cases, a batch, outputs, a config file, a rule pack, a report, a shard or waivers"
        convert = f"if another tool wrote it, convert it: safe-gate import {shlex.quote(name)} --out cases.jsonl"
        raise CannotJudge.at(name, f"has no field that says what it is; expected {kinds}; {convert}")


def line_finder(text: str, paths: Iterable[Sequence[str | int]] | None = None) -> LineOf:
    """Return a function from the path of a value to its line in a document's text. With `paths` it knows those alone.

    A missing field has the line of its object.
    """

    @cache
    def lines() -> Mapping[tuple[str | int, ...], int]:  # only invalid files need them, and a text may hold millions
        wanted = {tuple(path)[:length] for path in paths or () for length in range(len(path) + 1)}
        return {path: line for path, line in places(text) if paths is None or path in wanted}

    def line_of(path: Sequence[str | int]) -> int:
        found = tuple(path)
        while found not in lines():
            found = found[:-1]
        return lines()[found]

    return line_of


def read_own_file(path: FilePath, kind: str) -> OwnFile:
    """Return a file of rules or waivers. Raises CannotJudge with every problem of it."""
    name = display_path(path)
    data = disk.read_bytes(path, name, disk.WRITTEN_BY_HAND)
    text = disk.decode(data.removeprefix(disk.BOM), name)
    return OwnFile(name, path.name, data, parse_document(text, name, kind), line_finder(text))


def waivers_path(path: str, config: str) -> str:
    """Return the path of the waivers: the one that was given, else that beside the config file."""
    return path or beside_config(WAIVERS_FILE, config)


def read_waivers(path: str, config: str = "", *, root: FilePath = HERE) -> tuple[InputFile, Mapping[str, Any]] | None:
    """Return the file of waivers and what it holds, or None if none was named and none is beside the config file.

    Raises CannotJudge with every problem of the file, a second waiver of the same failure among them.
    """
    if not (path or exists(root / waivers_path(path, config))):
        return None
    file = read_own_file(root / waivers_path(path, config), "waivers")
    problems = list[Problem]()
    seen: dict[Waivable, int] = {}
    for index, waiver in enumerate(Waiver.listed(file.content)):
        if (first := seen.setdefault(Waivable.of(waiver), index)) != index:
            words = f"waives the same failure as line {file.place('waivers', first).line}; keep one"
            problems.append(Problem(file.place("waivers", index), words, waiver.case_id))
    if problems:
        raise CannotJudge(*problems)
    return InputFile(file.path, hashlib.sha256(file.data).hexdigest(), "waivers"), file.content


def fault_problems(
    faults: Sequence[Fault], name: str, text: str, ids: Mapping[tuple[str | int, ...], str] = MappingProxyType({})
) -> tuple[Problem, ...]:
    """Return a document's faults as problems, each with its line and its case: `ids` has those by their paths."""
    line_of = line_finder(text, [fault.path for fault in faults])
    found = []
    for fault in faults:
        case_id = ids.get(fault.path[:2], "")
        field = Fault(fault.path[2:], "").field if case_id else fault.field
        found.append(Problem(Place(name, line_of(fault.path)), fault.message, case_id, field, fault.text_free))
    return tuple(found)


_ALMOST_A_CONFIG = re.compile(r".?safe(?:[-_. ]?gate)?.config.(?:json[c5]?|ya?ml|toml)(?:.txt)?", re.IGNORECASE)


def read_config(path: str, *, root: FilePath = HERE, is_checked: bool = True) -> Config | None:
    """Return the config file, or None if none was named and none is there.

    Raises CannotJudge with every problem of the file, and for other files that may be meant as one. Unless
    `is_checked`, only problems of its text count, not those of its values.
    """
    if is_checked and not path and (problems := tuple(_misplaced_configs(root))):
        raise CannotJudge(*problems)
    named = path or next((name for name in CONFIG_FILES if exists(root / name)), "")
    if not named:
        return None
    name = display_path(root / named)
    text = disk.read_text(root / named, name, disk.WRITTEN_BY_HAND)
    content = disk.parse_json(text, name, comments=True)
    bare = blank_comments(text)
    faults = [_config_fault(fault) for fault in load_schema("config").faults(content)] if is_checked else []
    locate = partial(_resolve_config_path, config=name, root=root)
    if is_checked and root == HERE and not faults:  # no change can correct a commit
        faults += _recording_faults(content.get("recordings", ()), locate)
    if problems := fault_problems(faults, name, bare):
        raise CannotJudge(*(replace(one, code=Code.INVALID_SETTING) for one in problems))
    return Config(name, content, line_finder(bare), locate)


def _recording_faults(recordings: Iterable[str], locate: Callable[[str], str]) -> Iterator[Fault]:
    """Yield a fault for each entry of `recordings` that is a glob, or that names the file of an earlier entry."""
    seen = dict[str, str]()
    for one in recordings:
        if (first := seen.setdefault(posixpath.normpath(locate(one)), one)) != one:
            yield Fault(
                ("recordings", one), f"names the same file as {quote(first)}; join their sources under one name"
            )
        elif has_magic(one) and not exists(HERE / locate(one)):
            yield Fault(("recordings", one), "is a glob; name one file for each entry: globs are for sources")


def place_at_source(problems: Iterable[Problem], options: Settings, *, root: FilePath = HERE) -> Iterator[Problem]:
    """Yield problems of settings where these are set: at a flag, an input, a variable or a line of the config file.

    A problem of a setting has the setting as its place. Its field is the name or the path concerned. A problem of what
    is not there has its path, pattern or commit as its place. All others are unchanged.
    """
    file = cache(partial(read_config, options.config, root=root, is_checked=False))
    for one in problems:
        setting, path = one.place.path.replace("-", "_"), ""
        if setting not in options.origins:
            setting, path = _setting_that_names(one, options, root), one.place.path
        if one.place.line or setting not in options.origins:
            yield one
            continue
        whole = options.origins[setting]
        origin = options.origins.get(f"{setting}.{one.field}") or whole.of_entry(one.field)
        if origin.kind == CONFIG_FILE:
            at = (config := file()) and _find_named(config, config.content.get(whole.field), path or one.field)
            if config is None or at is None:  # another file has it, as that of the base commit
                yield one
                continue
            names_entry = at and not path and isinstance(at[0], int)
            field = origin.field if names_entry else Fault((whole.field, *at), "").field
            origin = Origin(CONFIG_FILE, Place(config.path, config.line_of((whole.field, *at))), field)
        message = f"{quote(path)} {one.message}" if path else one.message
        yield replace(one, place=origin.place, field=origin.field, message=message)


def _setting_that_names(problem: Problem, options: Settings, root: FilePath) -> str:
    """Return the setting that names the file or commit whose lack is the problem, "" for none or a command line's."""
    path, is_base = problem.place.path, problem.code is Code.BASE_UNAVAILABLE
    if problem.field or not (is_base or problem.code is Code.UNREADABLE_FILE):
        return ""
    for name in ("baseline",) if is_base else ("config", *sorted(PATHS)):
        value = options.value(name)
        named = value if isinstance(value, tuple) else (value,) if isinstance(value, str) else ()
        is_named = any(path in (one, display_path(root / one)) for one in named)
        if is_named and name in options.origins and options.origins[name].kind not in ("flag", "argument"):
            return "" if exists(root / path) and not globs.is_folder(root / path) else name
    return ""


def _find_named(config: Config, value: Any, name: str) -> tuple[str | int, ...] | None:
    """Return where in a value of a config file an entry has a name or names a file, None if none does."""
    for at, one in _walk_values(value):
        own, *below = at or (0,)
        from_here = (config.locate(own), *below) if isinstance(own, str) else at
        texts = (one, config.locate(one)) if isinstance(one, str) else ()
        if name in (Fault(at, "").field, Fault(from_here, "").field, *texts):
            return at
    return None


def _walk_values(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield the values in a JSON value, each with its path."""
    yield path, value
    children = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from _walk_values(child, (*path, key))


def _misplaced_configs(root: FilePath) -> Iterator[Problem]:
    """Yield a problem for a second config file, and for a file of the working folder with almost its name."""
    first, *others = [name for name in CONFIG_FILES if exists(root / name)] or [""]
    for name in others:
        words = f"exists beside {first}; delete one, or set config"
        yield Problem(Place(name), words, code=Code.INVALID_SETTING)
    if not isinstance(root, Path):
        return
    try:
        names = sorted(path.name for path in root.iterdir())
    except OSError as error:
        yield disk.unreadable_problem(root, error)
        return
    for name in names:
        if _ALMOST_A_CONFIG.fullmatch(name) and name not in CONFIG_FILES and not globs.is_folder(root / name):
            words = f"is not read: the config file is JSON and is called {' or '.join(CONFIG_FILES)}"
            advice = "write its settings in JSON, or remove it"
            if "json" in name.lower():
                advice = "rename it, remove it, or name it by the setting config"
            yield Problem(Place(name), f"{words}; {advice}", code=Code.INVALID_SETTING)


def _config_fault(fault: Fault) -> Fault:
    """Return a config's fault, that of a setting which no config may have with the flag or variable for it."""
    outside = {name: (*one.flags_of("run"), *one.env)[0] for one in settings() if not one.key for name in one.names}
    place = outside.get(str(fault.path[0]).replace("_", "-")) if len(fault.path) == 1 else None
    return Fault(fault.path, f"cannot be set in the config file; use {place}") if place else fault


def _resolve_config_path(path: str, *, config: str, root: FilePath) -> str:
    """Return a path that a config file names from the working folder; `config` is the file's own path below `root`."""
    folder = posixpath.dirname(config)
    if not posixpath.isabs(folder):  # a path through the working folder's own name leads into it
        file = root / folder
        folder = display_path(file.normal()) if isinstance(file, CommitPath) else Path(os.path.relpath(file)).as_posix()
    return join_path(folder, path)


def beside_config(path: str, config: str) -> str:
    """Return a path from the working folder that starts from the folder of the config file, "" for the default one."""
    return _resolve_config_path(path, config=display_path(HERE / config), root=HERE)


def join_path(folder: str, path: str) -> str:
    """Return a path below a folder; each leading `..` of the path removes a name from the folder.

    >>> join_path("evals/gate", "../cases/*.jsonl"), join_path("evals", "./a.json"), join_path("..", "../b.json")
    ('evals/cases/*.jsonl', 'evals/a.json', '../../b.json')
    >>> join_path("evals", "../../c.json"), join_path("", "a.json"), join_path("evals", "/a.json")
    ('../c.json', 'a.json', '/a.json')
    >>> join_path("evals", "."), join_path("evals", ".."), join_path("evals", "./reports/")
    ('evals/', '.', 'evals/reports/')
    """
    if not folder or posixpath.isabs(path):
        return path
    names = path.split("/")
    while names and names[0] in (".", ".."):
        folder = posixpath.normpath(posixpath.join(folder, names.pop(0)))
    below = "/".join(names)
    return posixpath.join(folder, below) if folder != "." else below or "."
