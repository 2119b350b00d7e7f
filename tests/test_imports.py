"""Imports stand at the top of a module, but for what the table in pyproject.toml lists."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.cases import REPOSITORY

pytestmark = pytest.mark.untraced

TABLE = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["tool"]["safe-gate"]
LATE: Mapping[str, str] = TABLE["late-imports"]
LATE_IMPORTERS: Mapping[str, str] = TABLE["late-importers"]


def _name(file: Path) -> str:
    parts = file.relative_to(REPOSITORY).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


TREES = {_name(file): ast.parse(file.read_text("utf-8")) for file in sorted((REPOSITORY / "safe_gate").rglob("*.py"))}


def _targets(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Yield the modules that a statement imports."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    module = node.module or ""
    for alias in node.names:
        submodule = f"{module}.{alias.name}"
        yield submodule if submodule in TREES else module


def _in_functions(tree: ast.Module) -> Iterator[tuple[int, str]]:
    found = {
        (node.lineno, target)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for target in _targets(node)
    }
    yield from sorted(found)


def _is_listed(module: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in LATE)


def _by_name(tree: ast.Module) -> bool:
    """Return whether functions import modules by names that they put together."""
    return any(
        isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") for node in ast.walk(tree)
    )


@pytest.mark.parametrize("module", TREES)
def test_a_function_imports_only_what_the_table_lists(module: str) -> None:
    if module not in LATE_IMPORTERS:
        wrong = [f"line {line}: {target}" for line, target in _in_functions(TREES[module]) if not _is_listed(target)]
        assert wrong == []
        assert not _by_name(TREES[module])


def test_the_table_lists_nothing_that_no_function_imports() -> None:
    late = {target for tree in TREES.values() for _, target in _in_functions(tree)}
    unused = [name for name in LATE if not any(one == name or one.startswith(f"{name}.") for one in late)]
    assert unused == []
    importers = [module for module, tree in TREES.items() if [*_in_functions(tree)] or _by_name(tree)]
    assert set(LATE_IMPORTERS) <= set(importers)
