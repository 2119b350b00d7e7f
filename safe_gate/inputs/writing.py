"""Shell: writes files, all of them or none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from safe_gate.inputs.disk import reason, shown
from safe_gate.model.problems import CannotJudge, Code

_DEVICES = Path("/dev")


def write(path: Path, text: str | Iterable[str]) -> None:
    """Write a text, or its pieces, as `write_all` does."""
    write_all({path: text})


def write_all(texts: Mapping[Path, str | Iterable[str]]) -> None:
    """Write texts, or their pieces, as UTF-8, all of them or none, and make their folders. Raises CannotJudge.

    No existing file or link is replaced before all are written. A device or a pipe is refused:
    nothing could replace it.
    """
    drafts: dict[Path, Path] = {}
    path = Path()
    try:
        for path, text in texts.items():
            _write_draft(path, text, drafts)
        for path, draft in drafts.items():
            draft.replace(path)
    except BaseException as error:  # leave no draft, whatever happens
        for draft in drafts.values():
            draft.unlink(missing_ok=True)
        if isinstance(error, OSError | ValueError):
            raise CannotJudge.at(shown(path), f"cannot be written: {reason(error)}", Code.UNWRITABLE_FILE) from error
        raise


def _write_draft(path: Path, text: str | Iterable[str], drafts: dict[Path, Path]) -> None:
    """Write what is to become a file beside it, and note in `drafts` where it is."""
    if (path.exists() and not path.is_file()) or path.absolute().parent == _DEVICES:
        raise OSError("Not a regular file")
    nearest = next((folder for folder in path.parents if folder.exists()), path.parent)
    if not nearest.is_dir():
        raise OSError(f"{shown(nearest)} is a file, and a folder is needed there; move it, or name another place")
    path.parent.mkdir(parents=True, exist_ok=True)
    # Nobody can guess the name and plant a link there. Later steps, which are not root, can read the file.
    with NamedTemporaryFile(
        "w", encoding="utf-8", newline="", dir=path.parent, prefix=".safe-gate-", suffix=".tmp", delete=False
    ) as file:
        drafts[path] = Path(file.name)
        file.writelines([text] if isinstance(text, str) else text)
    drafts[path].chmod(0o644)


def write_or_remove(path: Path, text: str | Iterable[str]) -> None:
    """Write a text as `write` does. If that fails, try to remove the file that it should replace."""
    try:
        write(path, text)
    except CannotJudge:
        with suppress(OSError, ValueError):  # ValueError: a name that no file can have
            path.unlink()
