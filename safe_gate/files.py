"""Shell: reads cases, schemas and rule packs; writes reports. Touches the file system, nothing else.

Cases are read, validated and yielded one at a time, problems among them, so that a caller can
score what is valid and still hear of everything that is not.
"""

from __future__ import annotations

import glob
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, BinaryIO

from safe_gate.evaluators import safe_v0, synthesis
from safe_gate.jsontext import JsonError, blank_comments, parse, places
from safe_gate.model import CannotJudge, Place, Problem
from safe_gate.options import CONFIG_FILE, settings
from safe_gate.validate import Fault, Schema, suggestion

_REPORT_MARKS = (b'"report_type": "SAFE_v0"', b'"schema_version": ', b'"publication": ')  # near a report's start
_BOM = b"\xef\xbb\xbf"
_BOMS_OF_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that was read, with the SHA-256 of its bytes; `kind` is the schema that its content fits."""

    path: str
    sha256: str
    kind: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """One line of recorded outputs; `output` is None where the line is invalid."""

    output: Mapping[str, Any] | None
    place: Place


SafeItem = safe_v0.Case | Problem | InputFile
SynthesisItem = synthesis.Case | Problem | InputFile


def synthesis_cases(patterns: Sequence[str]) -> Iterator[SynthesisItem]:
    """Yield the cases of JSONL files, a problem for each thing wrong, and each file at its end."""
    seen: dict[str, Place] = {}
    paths, problems = expand(patterns)
    yield from problems
    for path in paths:
        is_empty = True
        for item in _lines(path, "synthesis-case", "id"):
            is_empty = is_empty and isinstance(item, InputFile)
            if isinstance(item, Problem | InputFile):
                yield item
                continue
            place, case = item
            if twin := _twin(seen, case["id"], place, "id"):
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
        if is_empty:
            yield Problem(Place(shown(path)), "is empty: no cases; expected one JSON object a line")


def safe_cases(
    patterns: Sequence[str],
    outputs: Sequence[str],
    *,
    concern: str = "",
    test_dir: str = ".",
    leave_out: Sequence[str] = (),
) -> Iterator[SafeItem]:
    """Yield the cases of batch files joined with their recorded outputs, problems and files.

    Outputs come from `outputs` if given, else from `<stem>.outputs.jsonl` beside each batch, or
    inline. Every case must have exactly one output and every output a case. `concern` drops the
    cases of other concerns, after those checks; globs pass over the files of `leave_out`.
    """
    paths, problems = expand_batches(patterns, Path(test_dir), leave_out)
    yield from problems
    output_paths, problems = expand(outputs)
    yield from problems
    named: dict[str, Recorded] = {}
    yield from _read_outputs(output_paths, named)
    seen: dict[str, Place] = {}
    stems: dict[str, Path] = {}
    all_read = True
    for path in paths:
        first = stems.setdefault(path.stem, path)
        if first is not path:
            words = f"has the batch id of {shown(first)}; rename one: a batch's id is its file's stem"
            yield Problem(Place(shown(path)), words)
            continue
        recorded = named
        beside = path.with_name(f"{path.stem}.outputs.jsonl")
        if not outputs:
            recorded = {}
            if beside.exists():
                yield from _read_outputs([beside], recorded)
        name = shown(path)
        batch = None
        for item in _read_batch(path):
            if isinstance(item, Batch):
                batch = item
            else:
                yield item
        if batch is None:  # that its outputs have no case would be noise
            all_read = False
            continue
        yield from _joined(batch, recorded, seen, concern, searched=outputs or [shown(beside)])
        if not outputs:
            yield from _unused(recorded, f"{name} does not have")
    if outputs and all_read:
        yield from _unused(named, "no batch has")


def safe_outputs(patterns: Sequence[str]) -> Iterator[Problem | InputFile]:
    """Yield the problems of recorded outputs on their own, without the batch they belong to."""
    paths, problems = expand(patterns)
    yield from problems
    yield from _read_outputs(paths, {})


def sha256(path: str) -> str:
    """Return the SHA-256 of a file's bytes. Raises CannotJudge if it cannot be read."""
    return hashlib.sha256(_bytes(Path(path))).hexdigest()


def content(path: str) -> Any:
    """Return what a JSON document holds, held against no schema. Raises CannotJudge if it is none."""
    return _parse(_text(Path(path)), shown(Path(path)))


def document(path: str, kind: str, *, largest: int | None = None) -> Any:
    """Return a JSON document of one schema, such as a report, of at most `largest` bytes.

    Raises CannotJudge with every problem of it.
    """
    name = shown(Path(path))
    with suppress(OSError):  # a file that is not there is named below
        if largest is not None and (size := Path(path).stat().st_size) > largest:
            raise CannotJudge(Problem(Place(name), f"is {size} bytes long; expected at most {largest}"))
    text = _text(Path(path))
    content = _parse(text, name)
    problems = _problems(load_schema(kind).faults(content), name, text)
    if problems:
        raise CannotJudge(*problems)
    return content


def rule_packs(patterns: Sequence[str]) -> list[Path]:
    """Return the pack files that paths and globs name, sorted. Raises CannotJudge for those that name none."""
    paths, problems = expand(patterns, ".json")
    if problems:
        raise CannotJudge(*problems)
    return paths


def expand(patterns: Sequence[str], suffix: str = ".jsonl") -> tuple[list[Path], list[Problem]]:
    """Return the files that paths and globs name, sorted, each once, and a problem for what names none.

    `suffix` is that of the files that are meant, for the problem's words.
    """
    found: set[Path] = set()
    problems: list[Problem] = []
    for pattern in patterns:
        literal = Path(pattern)
        matched = [literal] if _exists(literal) else [Path(p) for p in glob.glob(pattern, recursive=True)]
        files = [path for path in matched if not path.is_dir()]
        if not files:
            problems.append(_no_match(pattern, suffix))
        found.update(files)
    return sorted(found), problems


def expand_batches(patterns: Sequence[str], base: Path, leave_out: Sequence[str]) -> tuple[list[Path], list[Problem]]:
    """Return the batch files that patterns name, `*.json`, the suffix optional, and a problem for what names none.

    Globs pass over our own config and reports; outputs, which a shell's `NAME*` names too, are
    read with their batch.
    """
    own = {Path(name).absolute() for name in leave_out if name}
    found: set[Path] = set()
    problems: list[Problem] = []
    for pattern in patterns:
        literals = [path for path in (base / pattern, base / f"{pattern}.json") if _exists(path) and not path.is_dir()]
        globbed = [
            Path(path)
            for candidate in (pattern, f"{pattern}.json")
            for path in glob.glob(
                candidate if Path(pattern).is_absolute() else f"{glob.escape(str(base))}/{candidate}", recursive=True
            )
        ]
        batches = [
            path
            for path in globbed
            if path.suffix == ".json" and path.is_file() and path.absolute() not in own and not _is_ours(path)
        ]
        files = literals[:1] or batches
        if not files and any(path.suffix == ".jsonl" for path in globbed):
            words = "matches .jsonl files, but no batch (.json); Synthesis cases are named by synthesis-cases"
            problems.append(Problem(Place(str(base / pattern)), words))
        elif not files:
            problems.append(_no_match(str(base / pattern), ".json"))
        found.update(files)
    # A shell that expands NAME* names the outputs too; they are read with their batch.
    for path in [path for path in found if path.name.endswith(".outputs.jsonl")]:
        found.remove(path)
        if path.with_name(path.name.replace(".outputs.jsonl", ".json")) not in found:
            words = "is a file of recorded outputs, not a batch; name it by --outputs or safe-outputs"
            problems.append(Problem(Place(shown(path)), words))
    if not found and not problems:
        problems.append(_no_match(" ".join(patterns), ".json"))
    return sorted(found), problems


_KINDS = (
    ("safe-batch", "test_cases"),
    ("report", "schema_version"),
    ("publication", "publication"),
    ("rule-pack", "pack"),
)


def kind_of(path: Path) -> str:
    """Return which schema a file is to be held against, by its name and its keys.

    Raises CannotJudge if the file cannot be read or is not JSON at all.
    """
    if _exists(path) and path.is_dir():
        raise CannotJudge(_no_match(str(path), ".json*"))
    if path.name.endswith(".outputs.jsonl"):
        return "safe-output"
    text = _text(path)
    if path.suffix == ".jsonl":
        with suppress(JsonError):
            first = parse(next((line for line in text.split("\n") if line.strip()), "{}"))
            if _is_safe_output(first):
                return "safe-output"
        return "synthesis-case"
    content = _parse(text, shown(path), comments=True)
    if not isinstance(content, dict):
        return "config"
    for kind, key in _KINDS:
        if key in content:
            return kind
    rules = content.get("rules")  # a config names its packs there
    return "rule-pack" if isinstance(rules, list) and any(isinstance(rule, dict) for rule in rules) else "config"


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
    original: dict[str, str] = {}
    if isinstance(content, dict):
        content, original = _canonical_keys(content, name)
    faults = [_of_setting(fault) for fault in schema.faults(content)]
    problems = _problems(faults, name, blank_comments(text), original=original)
    if problems:
        raise CannotJudge(*problems)
    return name, content


@cache
def load_schema(name: str) -> Schema:
    """Return a schema of `schemas/` by its name without `.schema.json`."""
    return Schema(json.loads(_schema_folder().joinpath(f"{name}.schema.json").read_text("utf-8")))


def write(path: Path, text: str) -> None:
    """Write a text as UTF-8, whole or not at all, making its folder. Raises CannotJudge if it cannot."""
    draft = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A name nobody can guess and plant a link at; readable for the steps that follow, which are not root.
        with NamedTemporaryFile("w", encoding="utf-8", newline="\n", dir=path.parent, delete=False) as file:
            draft = file.name
            file.write(text)
        Path(draft).chmod(0o644)
        Path(draft).replace(path)
    except (OSError, ValueError) as error:
        if draft:
            Path(draft).unlink(missing_ok=True)
        raise CannotJudge(Problem(Place(shown(path)), f"cannot be written: {_why(error)}")) from error


def shown(path: Path) -> str:
    """Return a path as reports show it: relative to the working directory if it lies inside."""
    with suppress(ValueError):
        return path.absolute().relative_to(Path.cwd()).as_posix()
    return path.as_posix()


def _schema_folder() -> Traversable:
    """Return `schemas/`: inside the package in a wheel, beside it in an editable install."""
    packaged = resources.files("safe_gate").joinpath("schemas")
    return packaged if packaged.is_dir() else Path(__file__).parent.parent / "schemas"


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch file that is valid: its id, its content and the line of each test case."""

    id: str
    name: str
    content: Mapping[str, Any]
    lines: Mapping[int, int]


def _read_batch(path: Path) -> Iterator[Batch | Problem | InputFile]:
    """Yield the file, and its batch or the problems with it."""
    name = shown(path)
    try:
        data = _bytes(path)
        yield InputFile(name, hashlib.sha256(data).hexdigest(), "safe-batch")
        text = _decode(data.removeprefix(_BOM), name)
        content = _parse(text, name)
    except CannotJudge as error:
        yield from error.problems
        return
    faults = load_schema("safe-batch").faults(content)
    yield from _problems(faults, name, text, batch=content)
    if not faults:
        lines = {int(p[1]): line for p, line in places(text) if len(p) == 2 and p[0] == "test_cases"}
        yield Batch(path.stem, name, content, lines)


def _joined(
    batch: Batch, recorded: dict[str, Recorded], seen: dict[str, Place], concern: str, searched: Sequence[str]
) -> Iterator[safe_v0.Case | Problem]:
    """Yield a batch's cases with their outputs, taking each output out of `recorded`."""
    cases = batch.content["test_cases"]
    scenarios = batch.content.get("batch_plan", {}).get("scenarios", [])
    if not recorded and not any("output" in case for case in cases):
        ids = ", ".join(case["test_id"] for case in cases[:5]) + (", …" if len(cases) > 5 else "")
        words = f"has no recorded outputs (for {ids}); expected them in {', '.join(searched)}, or inline as `output`"
        yield Problem(Place(batch.name), f"{words}; name another file by --outputs or safe-outputs")
        return
    for index, case in enumerate(cases):
        place = Place(batch.name, batch.lines[index])
        test_id = case["test_id"]
        if twin := _twin(seen, test_id, place, "test_id"):
            yield twin
            continue
        output = _output(case, recorded.pop(test_id, None), place, searched)
        if isinstance(output, Problem):
            yield output
        elif output is not None and concern in ("", case["concern_id"]):
            scenario = scenarios[index] if index < len(scenarios) else {}
            expectations = case["expectations"]
            yield safe_v0.Case(
                test_id=test_id,
                concern_id=case["concern_id"],
                batch_id=batch.id,
                archetype=case.get("archetype") or scenario.get("archetype") or "Unknown",
                must_find_signals=tuple(expectations["signal_generation"]["must_find_signals"]),
                forbidden_terms=tuple(expectations["followup_questions"]["forbidden_terms"]),
                must_contain_phrases=tuple(expectations["event_summary"]["must_contain_phrases"]),
                signals=tuple(output["signals"]),
                summary=output["summary"],
                followup_questions=tuple(output["followup_questions"]),
                place=place,
            )


def _output(
    case: Mapping[str, Any], recorded: Recorded | None, place: Place, searched: Sequence[str]
) -> Mapping[str, Any] | Problem | None:
    """Return the one output of a case, a problem if there is none or two, None if it was invalid."""
    if "output" in case and recorded:
        where = f"{recorded.place.path}:{recorded.place.line}"
        return Problem(place, f"has an output here and at {where}; keep one", case["test_id"], "output")
    if "output" in case:
        output: Mapping[str, Any] = case["output"]
        return output
    if recorded is None:
        words = f"has no recorded output; expected one by this test_id in {', '.join(searched)}"
        return Problem(place, words, case["test_id"], "output")
    return recorded.output


def _unused(recorded: Mapping[str, Recorded], nobody: str) -> Iterator[Problem]:
    for test_id, output in recorded.items():
        yield Problem(output.place, f"is the output of a case that {nobody}", test_id, "test_id")


def _read_outputs(paths: Iterable[Path], into: dict[str, Recorded]) -> Iterator[Problem | InputFile]:
    """Read recorded outputs into a table by test_id; yield their problems and files."""
    seen: dict[str, Place] = {}
    for path in paths:
        for item in _lines(path, "safe-output", "test_id"):
            if isinstance(item, Problem):
                yield item
                if item.case_id and item.case_id not in into:
                    into[item.case_id] = Recorded(None, item.place)
            elif isinstance(item, InputFile):
                yield item
            else:
                place, record = item
                if twin := _twin(seen, record["test_id"], place, "test_id"):
                    yield twin
                else:
                    into[record["test_id"]] = Recorded(record["output"], place)


def _twin(seen: dict[str, Place], case_id: str, place: Place, field: str) -> Problem | None:
    """Return a problem if the id was seen before, else remember it."""
    first = seen.setdefault(case_id, place)
    if first is place:
        return None
    return Problem(
        place, f"stands at {first.path}:{first.line} too; expected ids that are unique in the run", case_id, field
    )


def _lines(path: Path, kind: str, id_key: str) -> Iterator[tuple[Place, dict[str, Any]] | Problem | InputFile]:
    """Yield the valid objects of a JSONL file of a kind with their places, problems, and at the end the file."""
    name, schema = shown(path), load_schema(kind)
    digest = hashlib.sha256()
    is_first = True
    try:
        with _open(path) as file:
            for number, line in enumerate(file, 1):  # only b"\n" ends a line: U+2028 and its like are text
                digest.update(line)
                content = line.removeprefix(_BOM) if number == 1 else line
                if not content.strip():
                    continue
                place = Place(name, number)
                was_first, is_first = is_first, False
                try:
                    value = parse(_decode(content, name, number))
                except JsonError as error:
                    if was_first and _is_one_document(path):
                        yield Problem(place, "is one JSON document over many lines; expected one object a line (JSONL)")
                        return
                    yield _not_json(error, place)
                    continue
                except CannotJudge as error:
                    yield from error.problems
                    if any(problem.place.line == 0 for problem in error.problems):  # it is of the whole file
                        return
                    continue
                if was_first and id_key == "id" and _is_safe_output(value):
                    words = "these are SAFE v0 outputs, not Synthesis cases; name them by --outputs or safe-outputs"
                    yield Problem(Place(name), words)
                    return
                case_id = _id_of(value, id_key)
                faults = schema.faults(value)
                for fault in faults:
                    yield Problem(place, fault.message, case_id, fault.field, fault.text_free)
                if not faults:
                    yield place, value
    except OSError as error:
        yield Problem(Place(name), f"cannot be read: {_why(error)}")
        return
    yield InputFile(name, digest.hexdigest(), kind)


def _is_one_document(path: Path) -> bool:
    """Tell a JSON document from broken JSONL, so that it gets one problem instead of one a line."""
    try:
        parse(_text(path))
    except (JsonError, CannotJudge):
        return False
    return True


def _is_safe_output(value: Any) -> bool:
    return isinstance(value, dict) and "output" in value and not {"user", "assistant"} & value.keys()


def _id_of(value: Any, key: str) -> str:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def _problems(
    faults: Sequence[Fault], name: str, text: str, *, batch: Any = None, original: Mapping[str, str] | None = None
) -> tuple[Problem, ...]:
    """Return a document's faults as problems, with the line of each and the case it stands in.

    `original` gives the keys at the top as the text spells them, where that is not how the schema does.
    """
    lines = dict(places(text)) if faults else {}
    found = []
    for fault in faults:
        path = fault.path
        if path and original:
            path = (original.get(str(path[0]), path[0]), *path[1:])
        while path not in lines:  # a field that is missing stands where its object does
            path = path[:-1]
        is_case = fault.path[:1] == ("test_cases",) and len(fault.path) > 1
        case_id = _id_of(batch["test_cases"][fault.path[1]], "test_id") if is_case else ""
        field = Fault(fault.path[2:], "").field if case_id else fault.field
        found.append(Problem(Place(name, lines[path]), fault.message, case_id, field, fault.text_free))
    return tuple(found)


def _canonical_keys(content: Mapping[str, Any], name: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a config with its top keys as the schema spells them, and how the file spelt them."""
    spellings = {_bare(key): key for key in load_schema("config").properties}
    result: dict[str, Any] = {}
    original: dict[str, str] = {}
    for key, value in content.items():
        spelt = spellings.get(_bare(key), key)
        if spelt in result:
            raise CannotJudge(Problem(Place(name), f"is set twice, in two spellings; keep {spelt}", field=key))
        result[spelt] = value
        original[spelt] = key
    return result, original


def _of_setting(fault: Fault) -> Fault:
    """Return a config's fault, that of a setting which belongs elsewhere with the places it belongs to."""
    for setting in settings():
        if not setting.key and [_bare(str(key)) for key in fault.path] == [_bare(setting.name)]:
            places = (*(f"the flag {flag}" for flag in setting.flags_of("run")), f"the variable {setting.env[0]}")
            return Fault(fault.path, f"cannot be set in the config file; use {' or '.join(places)}")
    return fault


def _bare(key: str) -> str:
    return key.replace("-", "").replace("_", "").lower()


def _is_ours(path: Path) -> bool:
    """Tell our own config and reports, which a glob may meet, from batches."""
    if path.name == CONFIG_FILE:
        return True
    try:
        with _open(path) as file:
            start = file.read(300)
    except OSError:
        return False
    return any(mark in start for mark in _REPORT_MARKS)


def _exists(path: Path) -> bool:
    """Tell whether something has this path; a name longer than names can be is nobody's."""
    try:
        return path.exists()
    except OSError:
        return False


def _no_match(pattern: str, suffix: str) -> Problem:
    path = Path(pattern)
    if _exists(path) and path.is_dir():
        hint = f"is a folder; name the files in it, such as {(path / f'*{suffix}').as_posix()}"
    else:
        siblings = path.parent.iterdir() if _exists(path.parent) and path.parent.is_dir() else ()
        close = suggestion(path.name, {sibling.name: sibling.as_posix() for sibling in siblings})
        slashes = "; write paths with /" if "\\" in pattern else ""
        hint = f"matches no file{close}; nothing to judge is never a pass: correct the path or the pattern{slashes}"
    return Problem(Place(pattern), hint)


def _parse(text: str, name: str, *, comments: bool = False) -> Any:
    try:
        return parse(text, comments=comments)
    except JsonError as error:
        raise CannotJudge(_not_json(error, Place(name, error.line))) from None


def _not_json(error: JsonError, place: Place) -> Problem:
    return Problem(place, f"is not valid JSON: {error}", text_free=f"is not valid JSON: {error.text_free}")


def _text(path: Path) -> str:
    return _decode(_bytes(path).removeprefix(_BOM), shown(path))


def _bytes(path: Path) -> bytes:
    try:
        with _open(path) as file:
            return file.read()
    except OSError as error:
        raise CannotJudge(Problem(Place(shown(path)), f"cannot be read: {_why(error)}")) from error


def _open(path: Path) -> BinaryIO:
    """Open a regular file: a pipe or a device that a checkout holds would never end."""
    if path.exists() and not path.is_file():
        raise OSError("Not a regular file")
    return path.open("rb")


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _decode(data: bytes, name: str, line: int = 0) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if line <= 1 and data.startswith(_BOMS_OF_UTF_16):
            raise CannotJudge(Problem(Place(name), "looks like UTF-16; save the file as UTF-8")) from None
        line = line or data.count(b"\n", 0, error.start) + 1
        problem = Problem(Place(name, line), f"is not UTF-8: byte 0x{data[error.start]:02x}; save the file as UTF-8")
        raise CannotJudge(problem) from None
