"""The checkout of a path, and the place of the working folder in it: GitHub's paths are relative to it.

Touches the file system: looks for `.git`, runs nothing.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def root(path: Path) -> Path | None:
    """Return the nearest folder with a `.git`, from an absolute path upwards, None if there is none. Raises OSError."""
    return next((folder for folder in (path, *path.parents) if (folder / ".git").exists()), None)


def root_in_sight(path: Path) -> Path | None:
    """Return what `root` does, None also where nobody may look, for nothing is read from there."""
    with suppress(OSError):
        return root(path)
    return None


def working_folder(workspace: str) -> str:
    """Return the working folder's path from the root of its repository, "" at the root or where there is none.

    The root is the nearest folder upwards with a `.git`, else `workspace`, the folder that the runner checks out
    into. A checkout may lie in a subfolder of the workspace. A step may work in a subfolder of the checkout.
    """
    try:
        here = Path.cwd()
        path = here.relative_to(root(here) or Path(workspace or here)).as_posix()
    except (OSError, ValueError):  # a folder that is gone or may not be searched, one outside the workspace
        return ""
    return "" if path == "." else path
