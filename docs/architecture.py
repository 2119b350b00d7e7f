"""Writes the picture and the table of ARCHITECTURE.md from the code: which package imports which, and what each is for.

The page marks them with `<!-- picture -->`, `<!-- rooms -->` and `<!-- end -->`; `make docs` writes what stands
between. The picture leaves out what follows from other arrows.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "ARCHITECTURE.md"
PACKAGE = ROOT / "safe_gate"
_REGISTRY = "addons"  # whoever imports it imports no room: it loads one when it is first used


def page(text: str) -> str:
    """Return the page with its picture and its table as the code has them."""
    marked = re.compile(rf"(<!-- ({'|'.join(_PARTS)}) -->\n).*?(<!-- end -->)", re.DOTALL)
    return marked.sub(lambda found: found[1] + _PARTS[found[2]]() + found[3], text)


@cache
def _packages() -> dict[str, set[str]]:
    """Return for each package, a folder or a module of its own, the packages that its modules import."""
    packages: dict[str, set[str]] = {file.stem: set() for file in sorted(PACKAGE.glob("[!_]*.py"))}
    packages |= {folder.name: set() for folder in sorted(PACKAGE.iterdir()) if (folder / "__init__.py").exists()}
    for file in sorted(PACKAGE.rglob("*.py")):
        name = file.relative_to(PACKAGE).with_suffix("").parts[0]
        if name in packages:
            packages[name] |= {one for one in _imported(ast.parse(file.read_text("utf-8"))) if one in packages} - {name}
    return packages


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield the packages that a module may import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE.name:
            inner = (node.module or "").split(".")[1:]
            yield from inner[:1] or [alias.name for alias in node.names if alias.name != _REGISTRY]


def _reached(packages: Mapping[str, set[str]], start: str) -> set[str]:
    """Return the packages that a package imports, and those that these import."""
    return packages[start].union(*(_reached(packages, one) for one in packages[start]))


def _picture() -> str:
    packages = _packages()
    lines = ["```mermaid", "flowchart TD"]
    for name in _in_order(packages):
        indirect = set[str]().union(*(_reached(packages, one) for one in packages[name]))
        lines += [f"  {name} --> {one}" for one in sorted(packages[name] - indirect)]
    return "\n".join([*lines, "```", ""])


def _in_order(packages: Mapping[str, set[str]]) -> list[str]:
    """Return the packages from the top down: each before those that it imports, in the order of the alphabet."""
    sorter, found = TopologicalSorter(packages), list[str]()
    sorter.prepare()
    while sorter.is_active():
        ready = sorted(sorter.get_ready(), reverse=True)
        found += ready
        sorter.done(*ready)
    return found[::-1]


def _table() -> str:
    rows = []
    for name in _in_order(_packages()):
        is_file = (PACKAGE / f"{name}.py").exists()
        file = PACKAGE / (f"{name}.py" if is_file else f"{name}/__init__.py")
        words = (ast.get_docstring(ast.parse(file.read_text("utf-8"))) or "").partition("\n\n")[0]
        meaning = " ".join(words.removeprefix("Shell: ").split())
        rows.append(f"| `{name}{'.py' if is_file else '/'}` | {meaning[0].upper()}{meaning[1:]} |\n")
    return "".join(["| package | what it is for |\n", "|:--|:--|\n", *rows])


_PARTS: dict[str, Callable[[], str]] = {"picture": _picture, "rooms": _table}

if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
