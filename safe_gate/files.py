"""Shell: reads cases, schemas and rule packs; writes reports. Touches the file system, nothing else.

Cases are read, validated and yielded one at a time, problems among them, so that a caller can
score what is valid and still hear of everything that is not.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from safe_gate.evaluators import safe_v0, synthesis
from safe_gate.jsontext import JsonError, blank_comments, parse, places
from safe_gate.model import CannotJudge, Place, Problem
from safe_gate.options import CONFIG_FILE
from safe_gate.validate import Fault, Schema

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that was read, with the SHA-256 of its bytes."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """One line of recorded outputs; `output` is None where the line is invalid."""

    test_id: str
    output: Mapping[str, Any] | None
    place: Place


SafeItem = safe_v0.Case | Problem | InputFile
SynthesisItem = synthesis.Case | Problem | InputFile


def synthesis_cases(patterns: Sequence[str]) -> Iterator[SynthesisItem]:
    """Yield the cases of JSONL files, a problem for each thing wrong, and each file at its end.

    Raises CannotJudge if a pattern matches no file or a file cannot be read.
    """
    schema = load_schema("synthesis-case")
    seen: dict[str, Place] = {}
    for path in _expand(patterns):
        place = Place(shown(path))
        count = 0
        for item in _lines(path, schema, "id"):
            if isinstance(item, Problem | InputFile):
                count += isinstance(item, Problem)
                yield item
                continue
            count += 1
            place, case = item
            if twin := _twin(seen, case["id"], place):
                yield twin
                continue
            yield synthesis.Case(
                id=case["id"],
                user=case["user"],
                assistant=case["assistant"],
                checks=tuple(case["checks"]),
                expected=case.get("expected", {}),
                tags=tuple(case.get("tags", ())),
                place=place,
            )
        if not count:
            yield Problem(Place(shown(path)), "is empty: no cases; expected one JSON object a line")


def safe_cases(
    patterns: Sequence[str], outputs: Sequence[str], *, concern: str = "", test_dir: str = "."
) -> Iterator[SafeItem]:
    """Yield the cases of batch files joined with their recorded outputs, problems and files.

    Outputs come from `outputs` if given, else from `<stem>.outputs.jsonl` beside each batch, or
    inline. Every case must have exactly one output and every output a case. `concern` drops the
    cases of other concerns, after those checks. Raises CannotJudge if a pattern matches no file.
    """
    paths = _expand_batches(patterns, Path(test_dir))
    named: dict[str, Recorded] = {}
    if outputs:
        yield from _read_outputs(_expand(outputs), named)
    seen: dict[str, Place] = {}
    stems: dict[str, Path] = {}
    for path in paths:
        if path.stem in stems:
            other = shown(stems[path.stem])
            yield Problem(
                Place(shown(path)), f"has the batch id of {other}; rename one: a batch's id is its file's stem"
            )
            continue
        stems[path.stem] = path
        recorded = named
        if not outputs:
            recorded = {}
            beside = path.with_name(f"{path.stem}.outputs.jsonl")
            if beside.exists():
                yield from _read_outputs([beside], recorded)
        yield from _batch(path, recorded, seen, concern)
        if not outputs:
            yield from _unused(recorded, seen)
    if outputs:
        yield from _unused(named, seen)


def safe_outputs(patterns: Sequence[str]) -> Iterator[Problem | InputFile]:
    """Yield the problems of recorded outputs on their own, without the batch they belong to."""
    yield from _read_outputs(_expand(patterns), {})


def document(path: str, kind: str) -> Iterator[Problem]:
    """Yield the problems of a config, a report or a rule pack: a JSON document of one schema."""
    if kind == "config":
        read_config(path)
        return
    name, text = shown(Path(path)), _text(Path(path))
    yield from _problems(load_schema(kind).faults(_parse(text, name)), name, text)


def kind_of(path: Path) -> str:
    """Return which schema a file is to be held against, by its name and its keys.

    Raises CannotJudge if the file cannot be read or is not JSON at all.
    """
    if path.name.endswith(".outputs.jsonl"):
        return "safe-output"
    text = _text(path)
    if path.suffix == ".jsonl":
        with suppress(JsonError):
            first = parse(next((line for line in text.split("\n") if line.strip()), "{}"))
            if isinstance(first, dict) and "output" in first and "assistant" not in first:
                return "safe-output"
        return "synthesis-case"
    keys = _parse(text, shown(path), comments=True)
    for kind, key in (("safe-batch", "test_cases"), ("report", "schema_version"), ("rule-pack", "rules")):
        if isinstance(keys, dict) and key in keys:
            return kind
    return "config"


def read_config(path: str) -> tuple[str, Mapping[str, Any]] | None:
    """Return the path and content of the config file, or None if none was named and none is there.

    Top-level keys may be written in kebab-case, snake_case or camelCase; they come back as the
    schema spells them. Raises CannotJudge with every problem of the file.
    """
    file = Path(path or CONFIG_FILE)
    if not path and not file.exists():
        return None
    name = shown(file)
    text = _text(file)
    content = _parse(text, name, comments=True)
    schema = load_schema("config")
    if isinstance(content, dict):
        content = _canonical_keys(content, name)
    problems = _problems(schema.faults(content), name, blank_comments(text))
    if problems:
        raise CannotJudge(*problems)
    return name, content


@cache
def load_schema(name: str) -> Schema:
    """Return a schema of `schemas/` by its name without `.schema.json`."""
    return Schema(json.loads(_schema_folder().joinpath(f"{name}.schema.json").read_text("utf-8")))


@cache
def load_packs() -> tuple[synthesis.Pack, ...]:
    """Return the rule packs that ship with the Synthesis evaluator, in the order of their names."""
    folder = resources.files(synthesis)
    classes = json.loads(folder.joinpath("classes.json").read_text("utf-8"))
    packs = sorted((p for p in folder.joinpath("packs").iterdir() if p.name.endswith(".json")), key=lambda p: p.name)
    return tuple(synthesis.compile_pack(json.loads(pack.read_text("utf-8")), classes) for pack in packs)


def packs_digest() -> str:
    """Return the SHA-256 of the rule packs and word classes that ship, names and bytes."""
    digest = hashlib.sha256()
    folder = resources.files(synthesis)
    packs = sorted(folder.joinpath("packs").iterdir(), key=lambda p: p.name)
    for file in (folder.joinpath("classes.json"), *(p for p in packs if p.name.endswith(".json"))):
        digest.update(f"{file.name}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()


def write(path: Path, text: str) -> None:
    """Write a text as UTF-8, whole or not at all, making its folder. Raises CannotJudge if it cannot."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text, "utf-8", newline="\n")
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise CannotJudge(Problem(Place(shown(path)), f"cannot be written: {error.strerror or error}")) from error


def shown(path: Path) -> str:
    """Return a path as reports show it: relative to the working directory if it lies inside."""
    with suppress(ValueError):
        return path.absolute().relative_to(Path.cwd()).as_posix()
    return path.as_posix()


def _schema_folder() -> Traversable:
    """Return `schemas/`: inside the package in a wheel, beside it in an editable install."""
    packaged = resources.files("safe_gate").joinpath("schemas")
    return packaged if packaged.is_dir() else Path(__file__).parent.parent / "schemas"


def _batch(path: Path, recorded: dict[str, Recorded], seen: dict[str, Place], concern: str) -> Iterator[SafeItem]:
    """Yield the cases of one batch file, each joined with its output."""
    name = shown(path)
    data = _bytes(path)
    yield InputFile(name, hashlib.sha256(data).hexdigest())
    try:
        text = _decode(data, name)
        batch = _parse(text, name)
    except CannotJudge as error:
        yield from error.problems
        _forget(recorded)
        return
    faults = load_schema("safe-batch").faults(batch)
    if faults:
        yield from _problems(faults, name, text, batch)
        _forget(recorded)
        return
    lines = {p[1]: line for p, line in places(text) if len(p) == 2 and p[0] == "test_cases"}
    scenarios = batch.get("batch_plan", {}).get("scenarios", [])
    if not recorded and not any("output" in case for case in batch["test_cases"]):
        ids = ", ".join(case["test_id"] for case in batch["test_cases"][:5])
        yield Problem(
            Place(name),
            f"has no recorded outputs (for {ids}{', …' if len(batch['test_cases']) > 5 else ''}); expected "
            f"{path.stem}.outputs.jsonl beside it, another file by --outputs or safe-outputs, or inline `output`",
        )
        return
    for index, case in enumerate(batch["test_cases"]):
        place = Place(name, lines[index])
        test_id = case["test_id"]
        if twin := _twin(seen, test_id, place):
            yield twin
            continue
        output = _output(case, recorded.get(test_id), place)
        if isinstance(output, Problem):
            yield output
        elif output is not None and concern in ("", case["concern_id"]):
            scenario = scenarios[index] if index < len(scenarios) else {}
            expectations = case["expectations"]
            yield safe_v0.Case(
                test_id=test_id,
                concern_id=case["concern_id"],
                batch_id=path.stem,
                archetype=case.get("archetype") or scenario.get("archetype") or "Unknown",
                must_find_signals=tuple(expectations["signal_generation"]["must_find_signals"]),
                forbidden_terms=tuple(expectations["followup_questions"]["forbidden_terms"]),
                must_contain_phrases=tuple(expectations["event_summary"]["must_contain_phrases"]),
                signals=tuple(output["signals"]),
                summary=output["summary"],
                followup_questions=tuple(output["followup_questions"]),
                place=place,
            )


def _output(case: Mapping[str, Any], recorded: Recorded | None, place: Place) -> Mapping[str, Any] | Problem | None:
    """Return the one output of a case, a problem if there is none or two, None if it was invalid."""
    if "output" in case and recorded:
        where = f"{recorded.place.path}:{recorded.place.line}"
        return Problem(place, f"has an output here and at {where}; keep one", case["test_id"], "output")
    if "output" in case:
        output: Mapping[str, Any] = case["output"]
        return output
    if recorded is None:
        return Problem(place, "has no recorded output; expected one by this test_id", case["test_id"], "output")
    return recorded.output


def _forget(recorded: dict[str, Recorded]) -> None:
    """Drop the outputs of a batch that cannot be read: that they have no case would be noise."""
    recorded.clear()


def _unused(recorded: Mapping[str, Recorded], seen: Mapping[str, Place]) -> Iterator[Problem]:
    for test_id, output in recorded.items():
        if test_id not in seen:
            yield Problem(output.place, "is the output of a case that no batch has", test_id, "test_id")


def _read_outputs(paths: Iterable[Path], into: dict[str, Recorded]) -> Iterator[Problem | InputFile]:
    """Read recorded outputs into a table by test_id; yield their problems and files."""
    seen: dict[str, Place] = {}
    for path in paths:
        for item in _lines(path, load_schema("safe-output"), "test_id"):
            if isinstance(item, Problem):
                yield item
                if item.case_id and item.case_id not in into:
                    into[item.case_id] = Recorded(item.case_id, None, item.place)
            elif isinstance(item, InputFile):
                yield item
            else:
                place, record = item
                if twin := _twin(seen, record["test_id"], place):
                    yield twin
                else:
                    into[record["test_id"]] = Recorded(record["test_id"], record["output"], place)


def _twin(seen: dict[str, Place], case_id: str, place: Place) -> Problem | None:
    """Return a problem if the id was seen before, else remember it."""
    first = seen.setdefault(case_id, place)
    if first is place:
        return None
    return Problem(
        place, f"stands at {first.path}:{first.line} too; expected ids that are unique in the run", case_id, "id"
    )


def _lines(path: Path, schema: Schema, id_key: str) -> Iterator[tuple[Place, dict[str, Any]] | Problem | InputFile]:
    """Yield the valid objects of a JSONL file with their places, problems, and at the end the file."""
    name = shown(path)
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):  # only b"\n" ends a line: U+2028 and its like are text
                digest.update(line)
                content = line.removeprefix(_BOM) if number == 1 else line
                if not content.strip():
                    continue
                place = Place(name, number)
                try:
                    value = parse(_decode(content, name, number))
                except JsonError as error:
                    yield Problem(place, f"is not valid JSON: {error}")
                    continue
                except CannotJudge as error:
                    yield from error.problems
                    continue
                case_id = _id_of(value, id_key)
                faults = schema.faults(value)
                for fault in faults:
                    yield Problem(place, fault.message, case_id, fault.field)
                if not faults:
                    yield place, value
    except OSError as error:
        raise _unreadable(path, error) from error
    yield InputFile(name, digest.hexdigest())


def _id_of(value: Any, key: str) -> str:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def _problems(faults: Sequence[Fault], name: str, text: str, batch: Any = None) -> tuple[Problem, ...]:
    """Return a document's faults as problems, with the line of each and the case it stands in."""
    lines = dict(places(text)) if faults else {}
    found = []
    for fault in faults:
        path = fault.path
        while path not in lines:  # a field that is missing stands where its object does
            path = path[:-1]
        is_case = fault.path[:1] == ("test_cases",) and len(fault.path) > 1
        case_id = _id_of(batch["test_cases"][fault.path[1]], "test_id") if is_case else ""
        field = Fault(fault.path[2:], "").field if case_id else fault.field
        found.append(Problem(Place(name, lines[path]), fault.message, case_id, field))
    return tuple(found)


def _canonical_keys(content: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a config with its top-level keys as the schema spells them, however they were cased."""
    spellings = {_bare(key): key for key in load_schema("config").properties}
    result: dict[str, Any] = {}
    for key, value in content.items():
        spelt = spellings.get(_bare(key), key)
        if spelt in result:
            raise CannotJudge(Problem(Place(name), f"is set twice, in two spellings; keep {spelt}", field=key))
        result[spelt] = value
    return result


def _bare(key: str) -> str:
    return key.replace("-", "").replace("_", "").lower()


def _expand(patterns: Sequence[str]) -> list[Path]:
    """Return the files that paths and globs name, sorted, each once."""
    found: set[Path] = set()
    for pattern in patterns:
        literal = Path(pattern)
        matched = [literal] if literal.exists() else [Path(p) for p in glob.glob(pattern, recursive=True)]
        files = [path for path in matched if path.is_file()]
        if not files:
            raise _no_match(pattern)
        found.update(files)
    return sorted(found)


def _expand_batches(patterns: Sequence[str], base: Path) -> list[Path]:
    """Return the batch files that patterns name: `*.json`, the suffix optional, never the config."""
    found: set[Path] = set()
    for pattern in patterns:
        literals = [path for path in (base / pattern, base / f"{pattern}.json") if path.is_file()]
        globbed = [
            Path(path)
            for candidate in (pattern, f"{pattern}.json")
            for path in glob.glob(str(base / candidate), recursive=True)
            if path.endswith(".json") and Path(path).name != CONFIG_FILE
        ]
        files = literals[:1] or [path for path in globbed if path.is_file()]
        if not files:
            raise _no_match(str(base / pattern))
        found.update(files)
    return sorted(found)


def _no_match(pattern: str) -> CannotJudge:
    return CannotJudge(
        Problem(Place(pattern), "matches no file; nothing to judge is never a pass: correct the path or the pattern")
    )


def _parse(text: str, name: str, *, comments: bool = False) -> Any:
    try:
        return parse(text, comments=comments)
    except JsonError as error:
        raise CannotJudge(Problem(Place(name, error.line), f"is not valid JSON: {error}")) from None


def _text(path: Path) -> str:
    return _decode(_bytes(path), shown(path))


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes().removeprefix(_BOM)
    except OSError as error:
        raise _unreadable(path, error) from error


def _decode(data: bytes, name: str, line: int = 0) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = line or data.count(b"\n", 0, error.start) + 1
        problem = Problem(Place(name, line), f"is not UTF-8: byte 0x{data[error.start]:02x}; save the file as UTF-8")
        raise CannotJudge(problem) from None


def _unreadable(path: Path, error: OSError) -> CannotJudge:
    return CannotJudge(Problem(Place(shown(path)), f"cannot be read: {error.strerror or error}"))
