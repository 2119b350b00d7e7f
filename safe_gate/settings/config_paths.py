"""The settings of a config file that name paths, from the working folder: the file has them from its own."""

from __future__ import annotations

from collections.abc import Set
from pathlib import PurePosixPath

from safe_gate.core.given import Documents
from safe_gate.core.model import Config
from safe_gate.evaluators import EVALUATORS
from safe_gate.settings.origins import Given


def moved(config: Config, given: Given, others: Set[str]) -> Given:
    """Return the settings of a config file, as `given` has them, with paths from the working folder.

    `others` are the settings that something else sets. The path of a document starts from their folder, if that is set
    anywhere.
    """
    settings = dict(given)
    for name in PATHS & given.keys():
        folder = _STARTS_FROM.get(name)
        if folder is None or not (folder in given or folder in others):
            origin, value = given[name]
            paths = [_moved(config, name, path) for path in ([value] if isinstance(value, str) else value)]
            settings[name] = origin, paths[0] if isinstance(value, str) else paths
    return settings


def _moved(config: Config, name: str, path: str) -> str:
    path = path.strip()
    is_ref = name == "baseline" and PurePosixPath(path).suffix not in (".json", ".jsonl")
    return path if is_ref or path in ("", "-") else config.locate(path)


_STARTS_FROM = {one.input.setting: one.input.folder for one in EVALUATORS.values() if isinstance(one.input, Documents)}
"""The options whose paths start from a folder that another option names."""

PATHS = frozenset(
    ("waivers", "baseline", "report_dir", *(name for one in EVALUATORS.values() for name in one.input.settings))
).union(one.rule_files.setting for one in EVALUATORS.values() if one.rule_files)
"""The options that name paths."""
