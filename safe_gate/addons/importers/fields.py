"""Rows of named fields: the exchange by the names that people give to its two sides, or by a mapping."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any

from safe_gate.addons.importers.conversations import (
    are_messages,
    are_parts,
    content_of,
    continued,
    ended,
    is_message,
    is_said,
    parsed,
    replies_of,
)
from safe_gate.addons.importers.rows import Found, LeftOut, Record, Refused, Row, error_of, id_of, is_set, texts
from safe_gate.core.text.patterns import later
from safe_gate.core.validate import suggestion
from safe_gate.evaluators import EVALUATORS

_USUAL = (
    ("user", "assistant"),
    ("prompt", "response"),
    ("prompt", "completion"),
    ("prompt", "output"),
    ("prompt", "answer"),
    ("instruction", "completion"),
    ("instruction", "response"),
    ("instruction", "output"),
    ("input", "output"),
    ("input", "response"),
    ("question", "answer"),
    ("question", "response"),
    ("query", "response"),
    ("query", "answer"),
)
_ASKED = ("prompt", "instruction", "input", "question", "query", "user")
_ANSWERED = ("assistant", "response", "completion", "output", "answer")
PAIRS = tuple(dict.fromkeys((*_USUAL, *((asked, answered) for asked in _ASKED for answered in _ANSWERED))))
"""The names of the two sides of an exchange that are known, the first pair first."""

IDS = ("id", "case_id", "caseid", "test_id", "testid", "row_id", "_id", "uuid")
_OUTPUTS = {one.title: one.imports.output for one in EVALUATORS.values() if one.imports and one.imports.output}
_OF_OUTPUTS = frozenset(name for fields in _OUTPUTS.values() for name in fields)
"""The fields of the outputs that evaluators read as objects."""

_OURS = frozenset(name for one in EVALUATORS.values() if one.imports for name in one.imports.keeps) | {"tags", "error"}
"""The fields that a record may have for us."""

_STEP = later(r"\[(\d+)\]")
_MISSING: Any = object()
_UNMAPPED: Mapping[str, str] = MappingProxyType({})


def pair_of(value: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the names of both sides of an exchange in an object, in any letter case. None without a known pair."""
    spelt = {key.strip().lower(): key for key in value}
    return next(((spelt[user], spelt[reply]) for user, reply in PAIRS if {user, reply} <= spelt.keys()), None)


def is_known(value: Any) -> bool:
    """Return whether an object has a known pair of fields, or fields of an evaluator's output."""
    return isinstance(value, dict) and (pair_of(value) is not None or any(map(_has_part, _outputs(value))))


def is_output(value: Any) -> bool:
    """Return whether an object has the fields of an evaluator's output, itself or in `output`."""
    if not isinstance(value, dict):
        return False
    return any(fields.keys() <= one.keys() for one in _outputs(value) for fields in _OUTPUTS.values())


def _outputs(value: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in (value, parsed(value.get("output"))) if isinstance(one, dict)]


def _has_part(value: dict[str, Any]) -> bool:
    """Return whether an object has a list of an output: no other tool has a field of its name."""
    return any(is_list and name in value for fields in _OUTPUTS.values() for name, is_list in fields.items())


def id_at(value: dict[str, Any], mapping: Mapping[str, str] = _UNMAPPED) -> str:
    """Return the id of an object, "" for none; of a mapped one that is missing Refused is raised."""
    if "id" in mapping:
        found = id_of(at(value, mapping["id"]))
        if not found:
            raise Refused(f"has no id in {mapping['id']}")
        return found
    spelt = {_plain(key): key for key in reversed(value)}  # the first of two spellings
    return next((id_of(value[spelt[name]]) for name in IDS if name in spelt and id_of(value[spelt[name]])), "")


def each(
    read: Callable[[Any], Iterable[Found]], records: Iterable[Record], name: Callable[[Any], str] = id_at
) -> Iterator[Found]:
    """Yield what `read` makes of each record, with the record and the id that `name` gives it, and each refusal."""
    for record in records:
        id_ = ""
        try:
            if not isinstance(record.value, dict):
                raise Refused("is not an object; expected an object with named fields")
            id_ = name(record.value)
            for item in read(record.value):
                yield _found(item, record, id_)
        except Refused as error:
            yield _found(error, record, id_)
        except RecursionError:
            yield Refused("is nested too deep", record)


def _found(item: Found, record: Record, id_: str) -> Found:
    item.record = record
    if not isinstance(item, LeftOut):
        item.id = item.id or id_
    return item


def rows(records: Iterable[Record], mapping: Mapping[str, str] = _UNMAPPED) -> Iterator[Found]:
    """Yield a row for each record by the names of its fields, or with fields at the paths of a mapping."""
    return each(lambda value: [row(value, mapping)], records, partial(id_at, mapping=mapping))


def row(value: dict[str, Any], mapping: Mapping[str, str] = _UNMAPPED) -> Row:
    """Return the row of an object; `mapping` gives the path of a field by `id`, `user`, `assistant` or `tags`.

    Raises Refused where a field is missing or has no text.
    """
    value = {_canonical(key, value): one for key, one in value.items()}
    if "output" in mapping:
        if (output := at(value, mapping["output"])) is None:
            raise Refused(f"has no reply in {mapping['output']}")
        return Row("", output, fields=_others(value, _used("", "", mapping)))
    if mapping.keys() & _OF_OUTPUTS or ("assistant" not in mapping and is_output(value)):
        is_inner = isinstance(parsed(value.get("output")), dict)
        used = _used("", "", mapping) | ({"output"} if is_inner else _OF_OUTPUTS)
        return Row("", output_of(value, mapping), fields=_others(value, used))
    pair = pair_of(value)
    if pair is None and not {"user", "assistant"} <= mapping.keys():
        _check_output(value)
        known = ", ".join(json.dumps(key[:40]) for key in list(value)[:8])
        raise Refused(f"has no known pair of fields, but {known or 'none'}", is_unnamed=True)
    user, reply = pair or ("", "")
    said = _side(value, mapping.get("user", user), "user" in mapping)
    answer = _side(value, mapping.get("assistant", reply), "assistant" in mapping)
    used = _used(user, reply, mapping)
    if _plain(user) == "instruction" and "user" not in mapping:
        context = next((key for key in value if _plain(key) == "input"), "")
        said = _instructed(said, value.get(context))
        used |= {context.lower()}
    text, reply_, left_out = _exchanged(said, answer)
    if not isinstance(text, str | tuple):
        raise Refused(f"has no text in {mapping.get('user', user)}")
    if reply_ is None:
        raise Refused(f"has no reply in {mapping.get('assistant', reply)}")
    if error := error_of(value.get("error")):
        raise Refused(f"is an error: {error}")
    return Row(text, reply_, left_out, _others(value, used), tags_at(value, mapping.get("tags", "")))


def _exchanged(said: Any, answer: Any) -> tuple[Any, Any, tuple[str, ...]]:
    """Return both sides of an exchange, of which each may be messages or parts, and what is left out of them."""
    if are_parts(answer) or are_messages(answer):
        answer = replies_of(answer)[0][0]
    text, left_out = content_of(said) if are_parts(said) else (said, ())
    if not (are_messages(said) or are_messages(answer)):
        return text, answer, left_out
    before = said if are_messages(said) else [{"role": "user", "content": text}]
    after = answer if are_messages(answer) else [{"role": "assistant", "content": answer}]
    found = ended(continued(before, after))
    return found.user, found.assistant, (*left_out, *found.left_out)


def _canonical(key: str, value: Mapping[str, Any]) -> str:
    """Return the name of a field of ours as we spell it, if no other field of an object has that name."""
    plain = key.strip().lower()
    known = plain if plain in _OURS else f"x_{key.strip()[2:]}" if plain[:2] == "x_" else key
    return key if known in value else known


def _others(value: Mapping[str, Any], used: Collection[str]) -> dict[str, Any]:
    """Return the fields that are not used, tags that are no texts among them, and not the id."""
    others = {key: one for key, one in value.items() if key.lower() not in used}
    fields = {key: one for key, one in others.items() if _plain(key) not in IDS or isinstance(one, bool | list | dict)}
    tags = value.get("tags")
    is_text = isinstance(tags, str | None) or (isinstance(tags, list) and all(isinstance(one, str) for one in tags))
    return fields if is_text else fields | {"tags": tags}


def unused(value: Mapping[str, Any], *used: str) -> dict[str, Any]:
    """Return the fields of a tool's record that hold something and are neither used nor its id."""
    return {key: one for key, one in _others(value, [*map(str.lower, used)]).items() if is_set(one)}


def _check_output(value: dict[str, Any]) -> None:
    """Raise Refused if an object has some fields of an evaluator's output."""
    for one in filter(_has_part, _outputs(value)):
        title, fields = next((title, fields) for title, fields in _OUTPUTS.items() if fields.keys() & one.keys())
        some = " and ".join(name for name in fields if name in one)
        missing = " and ".join(name for name in fields if name not in one)
        raise Refused(f"has {some}, but no {missing}, which a {title} output needs too")


def _instructed(instruction: Any, given: Any) -> Any:
    """Return an instruction and after a blank line the input that it is about, as Alpaca's prompts have them."""
    if given is None or given == "":
        return instruction
    if not (isinstance(instruction, str | None) and isinstance(given, str)):
        raise Refused("has an instruction or an input that is not text; name one: --map user=FIELD")
    return f"{instruction}\n\n{given}" if instruction else given


def _used(user: str, reply: str, mapping: Mapping[str, str]) -> frozenset[str]:
    """Return the fields at the top of an object that a case is made of, in lower case."""
    paths = (mapping.get("user", user), mapping.get("assistant", reply), *mapping.values())
    return frozenset(one.lower() for path in paths for one in (path, _first_step(path))) | {"tags", "error"}


def _first_step(path: str) -> str:
    return re.split(r"[.\[]", path)[0]


def has_field(path: str, names: Iterable[str]) -> bool:
    """Return whether a path leads into an object with fields of these names."""
    value = dict.fromkeys(names)
    return any(_key(one, value) is not None for one in (path, _first_step(path)))


def without_columns(names: Sequence[str], mapping: Mapping[str, str]) -> Refused | None:
    """Return why no row of a table with columns of these names can become a case, None if rows can."""
    plain = [name.strip().lower() for name in names]
    used = {*(pair_of(dict.fromkeys(names)) or (*_OF_OUTPUTS, "output")), *_used("", "", mapping)}
    for name, one in zip(names, plain, strict=True):
        if plain.count(one) > 1 and (one in {*map(str.lower, used)} or _plain(name) in IDS):
            return Refused(f"has the column {json.dumps(name[:40])} twice; rename one")
    known = ", ".join(json.dumps(one[:40]) for one in names[:8])
    for path in mapping.values():
        if not has_field(path, names):
            return Refused(f"has no column {path}{_meant(path, tuple(names)) or f', but {known}'}; correct --map")
    is_mapped = {"user", "assistant"} <= mapping.keys() or mapping.keys() & {"output", *_OF_OUTPUTS}
    if is_mapped or is_known(dict.fromkeys(names, "")):
        return None
    return Refused(f"has no known pair of columns, but {known}", is_unnamed=True)


def tags_at(value: dict[str, Any], path: str = "") -> tuple[str, ...]:
    """Return the tags at a path, by default `tags`: a list, a list as JSON text, or comma-separated text."""
    tags = at(value, path) if path else value.get("tags")
    if isinstance(tags, str) and parsed(tags) is tags:
        return tuple(tag.strip() for tag in tags.split(",") if tag.strip())
    return texts(parsed(tags))


def _plain(key: str) -> str:
    """Return the name of a field as it is known, however it is spelt."""
    return key.strip().lower().replace(" ", "_")


def output_of(value: dict[str, Any], mapping: Mapping[str, str]) -> Any:
    """Return an evaluator's output of an object: its `output`, or its own fields, with lists possibly as JSON text."""
    inner = parsed(value.get("output"))
    if not mapping.keys() & _OF_OUTPUTS and isinstance(inner, dict):
        return inner
    fields = next(one for one in _OUTPUTS.values() if mapping.keys() & one.keys() or one.keys() <= value.keys())
    found = {name: at(value, mapping.get(name, name)) for name in fields}
    return {name: parsed(one) if fields[name] else one for name, one in found.items() if one is not _MISSING}


def at(value: Any, path: str) -> Any:
    """Return the value at a path such as `choices[0].message.content`. Raises Refused if there is none.

    A key that is spelt as the whole path counts first. A text that is JSON is looked into. Letter case and outer blanks
    of a key do not count, unless two keys differ in nothing else.

    >>> at({"a": [{"b": "x"}], "a.b": "y"}, "a[0].b"), at({"A.b ": "y"}, "a.b")
    ('x', 'y')
    """
    if isinstance(value, dict) and (key := _key(path, value)) is not None:
        return value[key]
    for step in _STEP.sub(r".\1", path).strip(".").split("."):
        inner = parsed(value)
        if isinstance(inner, dict) and (key := _key(step, inner)) is not None:
            value = inner[key]
        elif isinstance(inner, list) and step.isdigit() and int(step) < len(inner):
            value = inner[int(step)]
        else:
            close = _meant(step, tuple(inner)) if isinstance(inner, dict) else ""
            raise Refused(f"has no field {path}{close}; correct --map")
    return value


def _key(name: str, value: dict[str, Any]) -> str | None:
    """Return the key of an object that a name means, None for none."""
    if name in value:
        return name
    plain = name.strip().lower()
    alike = [key for key in value if key.strip().lower() == plain]
    return alike[0] if len(alike) == 1 else None


@lru_cache(maxsize=100)
def _meant(step: str, names: tuple[str, ...]) -> str:
    """Return which field may be meant, "" for none. Comparing is slow, and the rows of a file share their names."""
    return suggestion(step, names)


def _side(value: dict[str, Any], name: str, is_mapped: bool) -> Any:
    found = at(value, name) if is_mapped else value.get(name)
    inner = parsed(found)
    if isinstance(found, dict) and is_message(found):
        return [found]
    return inner if is_said(inner) else found
