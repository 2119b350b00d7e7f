"""A report is read by its types: string keys stand where JSON becomes a value, and where there is no report."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from tests.support.cases import REPOSITORY

PACKAGE = REPOSITORY / "safe_gate"
ROOMS = ("baseline", "commands", "gate", "proof", "publish", "render", "runs", "scoring", "sinks")
"""The rooms that handle reports. In `core/` and `evaluators/` are the types that read them."""

KNOWN = {
    "baseline/comparison.py": 3,  # settings
    "commands/_command.py": 1,  # flags
    "commands/import_.py": 1,  # settings
    "commands/own/rules.py": 3,  # packs
    "gate/drops.py": 1,  # settings
    "gate/waivers.py": 1,  # an entry of a file
    "publish/handover.py": 1,  # for its schema
    "render/formats/sarif.py": 1,  # SARIF's rules
    "render/jsonreport.py": 1,  # packs
    "runs/library.py": 1,  # arguments
    "scoring/cluster.py": 1,  # an address
    "scoring/measure.py": 1,  # settings
    "scoring/refusals.py": 4,  # settings
    "scoring/tally.py": 3,  # settings, digests of a case
}
"""How many string keys each module has, which are no report's. What is new is read by a type."""

_READS = "from_json"
_ARGUMENTS = "arguments"  # of a command line


def _keys(tree: ast.AST) -> Iterator[ast.Subscript]:
    """Yield the look-ups of a string, or of an evaluator's key of ids, outside `from_json`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef) and node.name == _READS:
            continue
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _is_key(node):
            yield node
        yield from _keys(node)


def _is_key(node: ast.Subscript) -> bool:
    of = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
    key = node.slice
    is_text = isinstance(key, ast.JoinedStr) or (isinstance(key, ast.Constant) and isinstance(key.value, str))
    return of != _ARGUMENTS and (is_text or (isinstance(key, ast.Attribute) and key.attr == "id_key"))


def test_a_report_is_read_by_its_types_and_not_by_string_keys() -> None:
    found = Counter(
        file.relative_to(PACKAGE).as_posix()
        for room in ROOMS
        for file in sorted((PACKAGE / room).rglob("*.py"))
        if "starter" not in file.parts
        for _ in _keys(ast.parse(file.read_text("utf-8")))
    )
    assert {name: count for name, count in found.items() if count > KNOWN.get(name, 0)} == {}
