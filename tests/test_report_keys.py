"""A report is read by its types: string keys stand where JSON becomes a value, and where there is no report."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from tests.support.cases import REPOSITORY

PACKAGE = REPOSITORY / "safe_gate"
ROOMS = ("baseline", "commands", "core", "evaluators", "gate", "proof", "publish", "render", "runs", "scoring", "sinks")
"""The rooms that handle reports."""

NO_REPORT = {
    "core/setting.py": "how a setting is declared",
    "core/text/markup.py": "groups of a pattern",
    "core/text/unwrapping.py": "groups of a pattern",
    "core/validate.py": "schemas",
    "evaluators/extended_schemas.py": "schemas",
    "evaluators/library.py": "arguments",
    "evaluators/safe_v0/cases.py": "lines of input files",
    "evaluators/safe_v0/settings.py": "settings",
    "evaluators/synthesis/cases.py": "lines of input files, settings",
    "evaluators/synthesis/deciding/conversation.py": "lines of input files",
    "evaluators/synthesis/deciding/own_checks.py": "packs",
    "evaluators/synthesis/deciding/rulebook.py": "packs, settings",
    "evaluators/synthesis/deciding/turn.py": "packs",
    "evaluators/synthesis/matching/language.py": "data of the package",
    "evaluators/synthesis/matching/network.py": "the table of phrases",
    "evaluators/synthesis/matching/patterns.py": "packs",
    "evaluators/synthesis/matching/rules.py": "packs",
    "evaluators/synthesis/matching/tokens.py": "data of the package",
    "evaluators/synthesis/names.py": "data of the package",
    "evaluators/synthesis/packs.py": "packs, settings",
}
"""Modules with string keys that see no report, and what they read."""

KNOWN = {
    "baseline/comparison.py": 3,  # settings
    "commands/_command.py": 1,  # flags
    "commands/import_.py": 1,  # settings
    "commands/own/rules.py": 4,  # packs
    "commands/validate.py": 1,  # files by kind
    "core/model.py": 1,  # the results of a part that may lack all else
    "core/passfail.py": 6,  # fields of a case, digests
    "core/report.py": 4,  # a file of waivers, the tool of a shard, settings
    "evaluators/entry.py": 7,  # an entry, read as its properties are asked for
    "evaluators/results.py": 5,  # an entry of any evaluator, read as its properties are asked for
    "evaluators/safe_v0/evaluator.py": 1,  # a line of an input file
    "evaluators/safe_v0/part.py": 1,  # rates by metric
    "evaluators/safe_v0/result.py": 9,  # an entry, read as its properties are asked for
    "evaluators/safe_v0/score.py": 30,  # scores by metric, settings, the policy of a part that may lack all else
    "evaluators/safe_v0/section.py": 1,  # means by metric
    "evaluators/safe_v0/totals.py": 1,  # scores by metric
    "evaluators/synthesis/commands.py": 1,  # settings
    "evaluators/synthesis/deciding/check_result.py": 3,  # hits by group
    "evaluators/synthesis/deciding/consistency.py": 1,  # hits by group
    "evaluators/synthesis/deciding/failure_reasons.py": 13,  # hits and words by group
    "evaluators/synthesis/deciding/leaving.py": 1,  # hits by group
    "evaluators/synthesis/deciding/score.py": 6,  # texts by field, packs
    "evaluators/synthesis/deciding/settings_remarks.py": 14,  # settings
    "evaluators/synthesis/deciding/wording.py": 2,  # lines of input files
    "evaluators/synthesis/evaluator.py": 5,  # settings
    "evaluators/synthesis/evidence.py": 1,  # hits by group
    "evaluators/synthesis/result.py": 21,  # an entry, read as its properties are asked for; data of the package
    "evaluators/synthesis/section.py": 3,  # data of the package
    "evaluators/synthesis/totals.py": 25,  # counters
    "gate/drops.py": 1,  # settings
    "gate/waivers.py": 1,  # an entry of a file
    "gate/weakening.py": 3,  # settings
    "gate/weakening_cases.py": 1,  # settings
    "proof/verification.py": 2,  # a file that may be no report
    "publish/handover.py": 1,  # for its schema
    "render/formats/sarif.py": 2,  # SARIF's rules, columns
    "render/jsonreport.py": 1,  # packs
    "render/wording.py": 1,  # settings
    "runs/library.py": 1,  # arguments
    "runs/terms.py": 1,  # settings
    "scoring/asked.py": 2,  # settings
    "scoring/cluster.py": 1,  # an address
    "scoring/measure.py": 1,  # settings
    "scoring/refusals.py": 4,  # settings
    "scoring/tally.py": 3,  # settings, digests of a case
    "scoring/unknown_names.py": 1,  # settings
}
"""How many string keys the other modules have, which are no report's or stand where JSON becomes a value.

What is new is read by a type.
"""

_JSON = ("from_json", "to_json")
_NO_VALUES = ("arguments", "environ", "headers")
"""What else has strings for keys: of a command line, of a process, of an answer."""


def _keys(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield the look-ups of a string, or of an evaluator's key of ids, outside of what reads and writes JSON."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef) and node.name.endswith(_JSON):
            continue
        match node:
            case ast.Subscript(value, key, ast.Load()) | ast.Call(ast.Attribute(value, "get"), [key, *_]) if _is_key(
                value, key
            ):
                yield node
        yield from _keys(node)


def _is_key(value: ast.expr, key: ast.expr) -> bool:
    of = value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")
    is_text = isinstance(key, ast.JoinedStr) or (isinstance(key, ast.Constant) and isinstance(key.value, str))
    return of not in _NO_VALUES and (is_text or (isinstance(key, ast.Attribute) and key.attr == "id_key"))


def test_a_report_is_read_by_its_types_and_not_by_string_keys() -> None:
    found = Counter(
        file.relative_to(PACKAGE).as_posix()
        for room in ROOMS
        for file in sorted((PACKAGE / room).rglob("*.py"))
        if "starter" not in file.parts
        for _ in _keys(ast.parse(file.read_text("utf-8")))
    )
    assert found.keys() >= NO_REPORT.keys()
    assert {name: count for name, count in found.items() if name not in NO_REPORT and count > KNOWN.get(name, 0)} == {}
