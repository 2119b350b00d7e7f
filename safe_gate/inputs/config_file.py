"""Shell: the config file, the paths that it names, and files that are almost called as it is. Looks for files."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from safe_gate.core.jsontext import blank_comments
from safe_gate.core.validate import Fault
from safe_gate.inputs import globs
from safe_gate.inputs.checked import lines_in, load_schema, problems_of
from safe_gate.inputs.commit_files import CommitPath, FilePath
from safe_gate.inputs.disk import HERE, WRITTEN_BY_HAND, exists, parsed, shown, text_of, unreadable
from safe_gate.inputs.globs import named_or_default
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.settings.model import CONFIG_FILES, settings
from safe_gate.settings.reading import Config

_ALMOST_A_CONFIG = re.compile(r".?safe(?:[-_. ]?gate)?.config.(?:json[c5]?|ya?ml|toml)", re.IGNORECASE)


def read_config(path: str, *, root: FilePath = HERE, is_checked: bool = True) -> Config | None:
    """Return the config file, or None if none was named and none is there.

    Top-level keys may be in kebab-case, snake_case or camelCase; they come back as the schema spells them. Raises
    CannotJudge with every problem of the file, and for other files that may be meant as one. Unless `is_checked`, only
    problems of its text count, not those of its values.
    """
    if is_checked and not path and (problems := tuple(_not_the_config(root))):
        raise CannotJudge(*problems)
    default = next((name for name in CONFIG_FILES if exists(root / name)), "")
    if not (path or default) or (found := named_or_default(path, default, root)) is None:
        return None
    file, name = found
    text = text_of(file, name, WRITTEN_BY_HAND)
    content = parsed(text, name, comments=True)
    bare = blank_comments(text)
    schema = load_schema("config")
    spelt, faults = _spelt(content if isinstance(content, dict) else (), schema.properties)
    if isinstance(content, dict):
        content = {right: content[key] for right, key in spelt.items()}
    if is_checked:
        found_there = (_of_setting(fault) for fault in schema.faults(content))
        faults += [fault._replace(path=_in_text(fault.path, spelt)) for fault in found_there]
    if problems := problems_of(faults, name, bare):
        raise CannotJudge(*(replace(one, code=Code.INVALID_SETTING) for one in problems))
    line_of = lines_in(bare)
    return Config(name, content, lambda key: line_of(_in_text(key, spelt)), partial(_located, config=name, root=root))


def _spelt(keys: Iterable[str], known: Iterable[str]) -> tuple[dict[str, str], list[Fault]]:
    """Return how a file spells keys at its top, by the names that are known, and the faults of keys that mean one."""
    names = {_bare(name): name for name in known}
    spelt: dict[str, str] = {}
    faults = []
    for key in keys:
        name = names.get(_bare(key), key)
        if spelt.setdefault(name, key) != key:
            faults.append(Fault((key,), f"is set twice, in two spellings; keep {name}"))
    return spelt, faults


def _in_text(path: Sequence[str | int], spelt: Mapping[str, str]) -> tuple[str | int, ...]:
    """Return a path as the file spells it."""
    return (spelt.get(str(path[0]), path[0]), *path[1:]) if path else ()


def in_config(problems: Iterable[Problem], config: str, *, root: FilePath = HERE) -> Iterator[Problem]:
    """Yield problems of settings at their places in the config file, or unchanged if another source sets them.

    A problem of a setting has the setting as its place. Its field is the name or the path concerned.
    """

    @cache
    def file() -> Config | None:
        with suppress(CannotJudge):  # it cannot be read
            return read_config(config, root=root)
        return None

    for one in problems:
        found = None if one.place.line else file()
        yield _in(found, one) if found and one.place.path in found.content else one


def _in(file: Config, problem: Problem) -> Problem:
    """Return a problem at its place in a config file, or unchanged if the file does not name its field."""
    setting, name = problem.place.path, problem.field
    for path, value in _values(file.content[setting]):
        is_entry = len(path) == 1 and isinstance(path[0], int) and value == name
        is_empty = not (path or value or name)
        if is_entry or is_empty or (path and Fault(path, "").field == name):
            field = f"{setting}.{name}" if name else setting
            return replace(problem, place=Place(file.path, file.line_of((setting, *path))), field=field)
    return problem


def _values(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield the values in a JSON value, each with its path."""
    yield path, value
    children = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from _values(child, (*path, key))


def in_a_parent_folder() -> str:
    """Return a warning about a config file that a run here does not read, "" if there is none.

    It lies in a folder above, within the repository, and the working folder has no config file itself.
    """
    here = Path.cwd()
    for folder in (here, *here.parents):
        for name in CONFIG_FILES:
            if exists(folder / name):
                path = os.path.relpath(folder / name, here)
                advice = f"set --config {path}, or run in the folder of the file"
                return f"{path} is not read, because it is in a parent folder: {advice}" if folder != here else ""
        if exists(folder / ".git"):
            break
    return ""


def _not_the_config(root: FilePath) -> Iterator[Problem]:
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
        yield unreadable(root, error)
        return
    for name in names:
        if _ALMOST_A_CONFIG.fullmatch(name) and name not in CONFIG_FILES and not globs.is_folder(root / name):
            words = f"is not read: the config file is JSON and is called {' or '.join(CONFIG_FILES)}"
            yield Problem(
                Place(name),
                f"{words}; rename it, remove it, or name it by the setting config",
                code=Code.INVALID_SETTING,
            )


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


def _located(path: str, *, config: str, root: FilePath) -> str:
    """Return a path that a config file names from the working folder; `config` is the file's own path below `root`."""
    folder = posixpath.dirname(config)
    if not posixpath.isabs(folder):  # a path through the working folder's own name leads into it
        file = root / folder
        folder = shown(file.normal()) if isinstance(file, CommitPath) else Path(os.path.relpath(file)).as_posix()
    return joined(folder, path)


def joined(folder: str, path: str) -> str:
    """Return a path below a folder; each leading `..` of the path removes a name from the folder.

    >>> joined("evals/gate", "../cases/*.jsonl"), joined("evals", "./a.json"), joined("..", "../b.json")
    ('evals/cases/*.jsonl', 'evals/a.json', '../../b.json')
    >>> joined("evals", "../../c.json"), joined("", "a.json"), joined("evals", "/a.json")
    ('../c.json', 'a.json', '/a.json')
    >>> joined("evals", "."), joined("evals", ".."), joined("evals", "./reports/")
    ('evals/', '.', 'evals/reports/')
    """
    if not folder or posixpath.isabs(path):
        return path
    names = path.split("/")
    while names and names[0] in (".", ".."):
        folder = posixpath.normpath(posixpath.join(folder, names.pop(0)))
    below = "/".join(names)
    return posixpath.join(folder, below) if folder != "." else below or "."
