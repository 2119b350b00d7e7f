"""Shell: a run's cases shared out among jobs, and what the jobs made of them read together. Reads files.

A shard holds the results of its cases and what they were scored by: no totals, no rule, no verdict. A merge reads the
inputs again, takes each case's result from the shards, and continues like any run.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from safe_gate import __version__
from safe_gate.core.figures import plural
from safe_gate.core.validate import Fault, masked, quote
from safe_gate.evaluators.registry import EVALUATORS, parts_of
from safe_gate.gate import stored
from safe_gate.gate.stored import read_result
from safe_gate.inputs import checked, disk, globs
from safe_gate.model import codec, record
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.model.report import Provenance
from safe_gate.scoring.measure import Recount

_SHARD_NAME = re.compile(r"([1-9][0-9]{0,3})/([1-9][0-9]{0,3})")
_MOST_NAMED = 10


@record
class Shard:
    """Part `index` of a run in `of` parts, counted from 1."""

    index: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Return the shard that a setting names, such as `2/4`. Raises CannotJudge."""
        found = _SHARD_NAME.fullmatch(text)
        if not found or int(found[1]) > int(found[2]):
            words = "expected INDEX/COUNT, the index from 1 to the count, the count at most 9999, such as 2/4"
            shown, hidden = (f"is {name(text)}; {words}" for name in (quote, masked))
            raise CannotJudge(Problem(Place("shard"), shown, text_free=hidden, code=Code.INVALID_SETTING))
        return cls(int(found[1]), int(found[2]))

    @property
    def name(self) -> str:
        """The name of its file in the report folder."""
        return f"safe-gate.shard-{self.index}-of-{self.of}.json"

    def contains(self, evaluator: str, case_id: str) -> bool:
        """Return whether a case is in the shard: by its id alone, so that no other case moves it.

        >>> [Shard(index, 3).contains("chat", "EMP-001") for index in (1, 2, 3)]
        [False, True, False]
        """
        return _index(evaluator, case_id, self.of) == self.index

    def source(self, evaluator: str, case_id: str, score: Callable[[], Any], _recount: Recount) -> Any:
        """Return the result of a case that is in the shard: a `measure.ResultSource`."""
        return score() if self.contains(evaluator, case_id) else None


def _index(evaluator: str, case_id: str, of: int) -> int:
    """Return the number of the shard that a case is in, counted from 1."""
    key = f"{evaluator}/{case_id}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(key).digest(), "big") % of + 1


class ShardContent(NamedTuple):
    """The content of a shard's file: its results by evaluator, and the number of cases of the whole run.

    It does not depend on the time of the run.
    """

    shard: Shard
    cases: Mapping[str, int]
    results: Mapping[str, Sequence[Any]]
    provenance: Provenance

    def to_json(self) -> dict[str, Any]:
        """Return it in the shape of `schemas/shard.schema.json`."""
        return {
            "schema_version": 1,
            "tool": {"name": "safe-gate", "version": __version__},
            "shard": {"index": self.shard.index, "of": self.shard.of, "cases": self.cases},
            **{name: stored.streamed(self.results[name]) if name in self.results else None for name in EVALUATORS},
            "provenance": codec.to_json(self.provenance),
        }

    @classmethod
    def from_json(cls, path: str, value: JsonObject) -> ShardContent:
        """Return the content of a shard's file that fits the schema. Raises CannotJudge, as `_check_result` does."""
        shard = value["shard"]
        return cls(
            Shard(shard["index"], shard["of"]),
            shard["cases"],
            {one.name: [_check_result(path, one.name, result) for result in found] for one, found in parts_of(value)},
            codec.from_json(Provenance, value["provenance"]),
        )


def _check_result(path: str, name: str, value: JsonObject) -> Any:
    """Return a result. Raises CannotJudge if what follows from its evidence, such as a score, contradicts it."""
    result = read_result(name, value)
    if codec.to_json(result) != value:
        raise CannotJudge(_contradiction(path, result.id))
    return result


def _contradiction(path: str, case_id: str) -> Problem:
    words = "is not what its evidence and its case give; the shard was changed, so run it again"
    return Problem(Place(path), words, case_id)


@record
class Shards:
    """All shards of one run: their results by evaluator and id, and the terms of each by file name.

    `names` are the file names, in the order of the shards.
    """

    results: Mapping[str, Mapping[str, Any]]
    terms: Mapping[str, Mapping[str, Any]]
    names: Sequence[str]

    def source(self, evaluator: str, case_id: str, _score: Callable[[], Any], recount: Recount) -> Any:
        """Return the result of a case from its shard: a `measure.ResultSource`. Raises nothing.

        A result that is missing, or contradicts itself or its case, is a problem.
        """
        result, name = self.results[evaluator].get(case_id), self.names[_index(evaluator, case_id, len(self.names)) - 1]
        if result is None:
            words = "has no result in this shard; a file was changed: run the shard again"
            return Problem(Place(name), words, case_id, code=Code.MISSING_OUTPUT)
        return result if codec.to_json(result) == codec.to_json(recount(result)) else _contradiction(name, case_id)

    def mismatch_problems(self, provenance: Provenance) -> Iterator[Problem]:
        """Yield a problem for each term in which shards differ from the merging run, at the first such shard."""
        ours, told = _terms(provenance), set[str]()
        for name, theirs in self.terms.items():
            for term in (one for one in {**theirs, **ours} if one not in told and theirs.get(one) != ours.get(one)):
                told.add(term)
                yield Problem(Place(name), "differs from the run that merges it; use the same in all", "", term)


def read_shards(patterns: Sequence[str]) -> Shards:
    """Return the shards that paths and globs name. Raises CannotJudge unless they are one whole, each there once."""
    if not patterns:
        words = "is not set, so there is nothing to merge; expected the reports of runs with `shard`"
        raise CannotJudge.at("shards", words)
    paths, problems = globs.expand_on_disk(patterns, ".json")
    contents: dict[str, ShardContent] = {}
    for path in paths:
        try:
            contents[disk.display_path(path)] = read_shard(path)
        except CannotJudge as error:
            problems += error.problems
    if problems := problems or [*_incomplete_problems(contents)] or [*_uncounted(contents)]:
        raise CannotJudge(*problems)
    return Shards(
        {name: {one.id: one for own in contents.values() for one in own.results.get(name, ())} for name in EVALUATORS},
        {name: _terms(own.provenance) for name, own in contents.items()},
        sorted(contents, key=lambda name: contents[name].shard.index),
    )


def _uncounted(contents: Mapping[str, ShardContent]) -> Iterator[Problem]:
    """Yield a problem for each evaluator whose shards report fewer cases than they have results."""
    held = Counter(name for content in contents.values() for name, own in content.results.items() for _ in own)
    for name, content in contents.items():
        for evaluator, cases in content.cases.items():
            if cases < held[evaluator]:
                found = plural(held[evaluator], "result")
                words = f"is {cases}, but all shards together have {found}; run the shards again"
                yield Problem(Place(name), words, "", f"shard.cases.{evaluator}")


def read_shard(path: Path) -> ShardContent:
    """Return what a shard's file holds. Its results fit the report's schema. Raises CannotJudge with every problem."""
    found: JsonObject = checked.read_document(path, "shard")
    place, report = Place(disk.display_path(path)), checked.load_schema("report")
    if (version := found["tool"]["version"]) != __version__:
        words = f"was made by safe-gate {version}; expected {__version__}, which merges it"
        raise CannotJudge(Problem(place, words, "", "tool.version"))
    parts = {one.name: report.part("$defs", one.name, "properties", "results") for one, _ in parts_of(found)}
    parts["provenance"] = report.part("properties", "provenance")
    faults = [
        Fault((name, *fault.path), fault.message, fault.text_free)
        for name, schema in parts.items()
        for fault in schema.faults(found[name])
    ]
    if faults:
        raise CannotJudge(*(Problem(place, fault.message, "", fault.field, fault.text_free) for fault in faults))
    content = ShardContent.from_json(place.path, found)
    words = f"has a result here, but belongs to another shard than {content.shard.index} of {content.shard.of}"
    every = ((name, one.id) for name, own in content.results.items() for one in own)
    if strange := [id_ for name, id_ in every if not content.shard.contains(name, id_)]:
        raise CannotJudge(*(Problem(place, f"{words}; run the shard again", id_) for id_ in strange))
    return content


def _incomplete_problems(contents: Mapping[str, ShardContent]) -> Iterator[Problem]:
    """Yield what keeps shards, as their files say which they are, from being one whole.

    That is another number of parts, one that is there twice or not at all.
    """
    first: dict[int, str] = {}
    of = next((content.shard.of for content in contents.values()), 0)
    for name, content in contents.items():
        shard = content.shard
        if shard.of != of:
            words = f"is of a run in {plural(shard.of, 'shard')}, {next(iter(contents))} of one in {of}"
            yield Problem(Place(name), words, "", "shard.of")
        elif first.setdefault(shard.index, name) != name:
            words = f"is shard {shard.index} of {of}, as {first[shard.index]} is; expected each once"
            yield Problem(Place(name), words, "", "shard.index")
    missing = [index for index in range(1, of + 1) if index not in first]
    if missing:
        named = ", ".join(map(str, missing[:_MOST_NAMED])) + " and more" * (len(missing) > _MOST_NAMED)
        words = f"are incomplete: {plural(len(missing), 'shard')} of {of} missing ({named}); run what did not finish"
        yield Problem(Place("shards"), words)


def _terms(provenance: Provenance) -> dict[str, Any]:
    """Return by a name for readers what all shards of a run share with the run that merges them."""
    return {
        "commit": provenance.commit,
        **{f"input {file.path}": file.sha256 for file in provenance.inputs},
        **{name.replace("_", "-"): value for name, value in provenance.policy.items()},
        "rule packs": provenance.packs_sha256,
        "commit of the policy": provenance.policy_commit,
    }
