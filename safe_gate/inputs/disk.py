"""Shell: files of a disk or a commit: what readers call them, their bytes, text and JSON; writes all files or none."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, BinaryIO, TypeVar

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.jsontext import JsonError, TooManyValuesError, parse
from safe_gate.core.validate import suggestion
from safe_gate.inputs.commit_files import A_FOLDER, LFS_POINTER, NO_FILE, CommitPath, FilePath
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.settings import Bounds
from safe_gate.settings.reading import IN_PYTHON

_follows_links: ContextVar[bool] = ContextVar("follows_links", default=False)

_standard_input: ContextVar[bytes | None] = ContextVar("standard_input", default=None)

_values: ContextVar[Path | None] = ContextVar("values", default=None)

STANDARD_INPUT = Path("/dev/stdin")
"""The path of standard input."""

DASH = "-"
"""The name of standard input in settings."""

HERE = Path()
"""The working folder: what paths are relative to, unless they are read at a commit."""

P = TypeVar("P", bound=FilePath)

Unread = dict[FilePath, OSError]
"""The folders that cannot be listed, and why."""

BOM = b"\xef\xbb\xbf"
BOMS_OF_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def sha256(path: FilePath, if_missing: str = "correct the path") -> str:
    """Return the SHA-256 of a file's bytes. Raises CannotJudge if it cannot be read, as `unreadable_problem` says."""
    try:
        with open_regular(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # it has all that is used
    except OSError as error:
        raise CannotJudge(unreadable_problem(path, error, if_missing=if_missing)) from error


def location(path: FilePath) -> FilePath:
    """Return the location of a file, whatever the spelling of its path. A link to a file is a separate file."""
    return path.normal() if isinstance(path, CommitPath) else Path(os.path.realpath(path.parent), path.name)


def unreadable_problem(path: FilePath, error: OSError, name: str = "", if_missing: str = "correct the path") -> Problem:
    """Return the problem of a file or a folder that cannot be read, whose path is shown unless it has a `name`.

    `if_missing` says what to do if it is not there.
    """
    words = f"cannot be read: {_error_words(error, path, if_missing)}"
    return Problem(Place(name or display_path(path)), words, code=Code.UNREADABLE_FILE)


def children(folder: FilePath, unread: Unread) -> list[FilePath]:
    """Return what is in a folder, by name; nothing if it cannot be listed, which is added to `unread`."""
    if isinstance(folder, CommitPath):
        return [*folder.children()]
    try:
        return [folder / name for name in sorted(os.listdir(folder))]  # noqa: PTH208 - names alone are needed
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a name that no file can have
        return []
    except OSError as error:
        unread.setdefault(folder, error)
        return []


def similar_name_hint(path: str, root: FilePath = HERE) -> str:
    """Return a hint at the closest file name in the folder of a missing path, "" for none."""
    named = Path(path)
    siblings = sorted(children((root / path).parent, {}), key=lambda one: (one.suffix == named.suffix, one.name))
    # A common suffix makes no names alike; of two with the same stem, the one with the suffix is meant.
    return suggestion(named.stem, {one.stem: (named.parent / one.name).as_posix() for one in siblings})


def show_as_values(folder: Path) -> None:
    """Show files of a folder, in this context, as values of a call from Python."""
    _values.set(folder)


def is_any_of(path: str | Path, others: Iterable[str | Path]) -> bool:
    """Return whether a path leads to the same file as one of others, even by a link or in other letter case.

    An impossible file name leads nowhere.
    """
    target = identity(Path(path))
    return target is not None and any(identity(Path(other)) == target for other in others)


def identity(path: FilePath) -> object:
    """Return the identity of a file, its real path if it does not exist, None for an impossible name."""
    if isinstance(path, CommitPath):
        return path.normal()
    try:
        found = path.stat()
        return found.st_dev, found.st_ino
    except OSError:
        return os.path.realpath(path)
    except ValueError:
        return None


def display_path(path: FilePath) -> str:
    """Return a path as reports show it: relative if it is inside the working folder."""
    if isinstance(path, CommitPath):
        return path.path.as_posix()
    if path == STANDARD_INPUT:
        return DASH
    if path.parent == _values.get():
        return f"{IN_PYTHON}/{path.name}"
    with suppress(ValueError):
        return path.absolute().relative_to(HERE.absolute()).as_posix()
    return path.as_posix()


def too_long_message(most: int, setting: str) -> str:
    """Return the message for an input that is longer than a setting allows."""
    return f"is longer than {most} bytes, the limit of {setting}; shorten it, or raise {setting}"


def is_there(path: FilePath) -> bool:
    """Return whether something has this path, even a broken link. An impossible file name does not exist.

    Raises OSError if that is unknown, such as in an unreadable folder.
    """
    if isinstance(path, CommitPath):
        return path.exists()
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return False
        raise
    return True


def exists(path: FilePath) -> bool:
    """Return whether something has this path, even a broken link. An impossible file name does not exist.

    A path in an unreadable folder counts as there: reading it gives the error.
    """
    try:
        return is_there(path)
    except OSError:
        return True


def has_content(path: Path) -> bool:
    """Return whether a path leads to anything but an empty file."""
    return exists(path) and not (path.is_file() and path.stat().st_size == 0)


def parse_json(text: str, name: str, *, comments: bool = False) -> Any:
    """Return the value of a file's JSON text. Raises CannotJudge with its line."""
    try:
        return parse(text, comments=comments)
    except JsonError as error:
        raise CannotJudge(not_json_problem(error, Place(name, error.line))) from None


def not_json_problem(error: JsonError, place: Place) -> Problem:
    """Return the problem of a text that is not JSON."""
    if isinstance(error, TooManyValuesError):
        return Problem(place, f"holds {error}; split it")
    return Problem(place, f"is not valid JSON: {error}", text_free=f"is not valid JSON: {error.text_free}")


WRITTEN_BY_HAND = 2 << 20
"""The most bytes of a config file, a file of waivers or a pack of rules."""

WHOLE_FILE = 32 << 20
"""The most bytes of any other document, such as a report or a shard."""

_TOO_LONG = (
    f"is longer than {WHOLE_FILE >> 20} MiB, the most that is read of a report or a shard; compare with a commit, use"
    " more shards, or divide the cases among several gates"
)


def read_text(path: FilePath, name: str, most: int | None = None) -> str:
    """Return the text of a UTF-8 file of at most `most` bytes, by default `WHOLE_FILE`. Problems call it `name`.

    Raises CannotJudge.
    """
    return decode(read_bytes(path, name, WHOLE_FILE if most is None else most).removeprefix(BOM), name)


def read_bytes(path: FilePath, name: str, most: int, setting: str = "") -> bytes:
    """Return the bytes of a regular file that problems call `name`.

    Raises CannotJudge, also for a file of more than `most` bytes, which a `setting` may limit.
    """
    try:
        with open_regular(path) as file:
            if len(data := file.read(most + 1)) > most:
                words = _TOO_LONG if most == WHOLE_FILE else f"is longer than {most >> 20} MiB; expected a shorter file"
                raise CannotJudge.at(name, too_long_message(most, setting) if setting else words)
            return data
    except OSError as error:
        raise CannotJudge(unreadable_problem(path, error, name)) from error


def too_long(path: Path) -> str:
    """Return why a report or a shard that was written cannot be read again for its size, "" if it can."""
    return _TOO_LONG if path.is_file() and path.stat().st_size > WHOLE_FILE else ""


def open_regular(path: FilePath) -> BinaryIO:
    """Open a regular file, because a pipe or a device in a checkout may never end.

    Standard input is kept on first read, so it can be opened again. Raises OSError for other kinds of files, for files
    behind symbolic links out of the workspace, unless links are followed, and for what Git LFS leaves in their place.
    """
    if isinstance(path, CommitPath):
        return path.open()
    file = io.BytesIO(_standard_input_bytes()) if path == STANDARD_INPUT else _open_followed(path)
    start = file.read(len(LFS_POINTER))
    file.seek(0)
    if start == LFS_POINTER:
        file.close()
        raise OSError("it is a Git LFS pointer, not the file; run git lfs pull, or set lfs: true for actions/checkout")
    return file


def _open_followed(path: Path) -> BinaryIO:
    _refuse_other_kinds(path)
    if not _follows_links.get() and leaves_workspace(path):
        raise OSError("a symbolic link leads out of the workspace; commit the file itself, or set allow: outside-links")
    try:
        return path.open("rb")
    except ValueError:
        raise OSError("no file can have this name") from None


def _refuse_other_kinds(path: Path) -> None:
    if path.exists() and not path.is_file():
        raise OSError(A_FOLDER if path.is_dir() else NO_FILE)


def _standard_input_bytes() -> bytes:
    """Return standard input, which is read when it is first asked for in this context. Raises OSError."""
    kept = _standard_input.get()
    if kept is None:
        if sys.stdin is None:
            raise OSError("standard input is closed")
        kept = sys.stdin.buffer.read()
        _standard_input.set(kept)
    return kept


def follow_links(*, is_on: bool) -> None:
    """Set whether reading files in this context follows symbolic links out of the workspace."""
    _follows_links.set(is_on)


def leaves_workspace(path: Path) -> bool:
    """Return whether a path into the workspace leads out of it again by symbolic links.

    The path may name the workspace by another path, such as a link to it.
    """
    here = Path.cwd()
    workspace = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    try:
        if Path(os.path.realpath(path)).is_relative_to(workspace):
            return False
        named = Path(os.path.normpath(path.absolute()))
        return any(Path(os.path.realpath(folder)).is_relative_to(workspace) for folder in named.parents)
    except ValueError:  # a name that no file can have
        return False


def _error_words(error: OSError | ValueError, path: FilePath, if_missing: str = "correct the path") -> str:
    """Return why a file cannot be read or written, and for what happens often what to do."""
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.ENOENT and exists(path):
        return "it is a link that leads nowhere; correct the link"
    if number == errno.ENOENT:
        return f"there is no such file{similar_name_hint(display_path(path))}; {if_missing}"
    if number in (errno.EACCES, errno.EPERM):
        return "access is denied; change the permissions, or name another path"
    if number == errno.EROFS:
        return "the file system is read-only; name another path"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def decode(data: bytes, name: str, line: int = 0) -> str:
    """Return UTF-8 as text; `line` is the line of the data in its file, if known. Raises CannotJudge."""
    if line <= 1 and (data.startswith(BOMS_OF_UTF_16) or b"\0" in data[:2]):  # with a mark, or ASCII without one
        raise CannotJudge.at(name, "looks like UTF-16 or UTF-32; save the file as UTF-8", Code.UNREADABLE_FILE)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if line <= 1 and data.startswith(b"\x1f\x8b"):
            raise CannotJudge.at(name, "is compressed with gzip; unpack it first", Code.UNREADABLE_FILE) from None
        line = line or data.count(b"\n", 0, error.start) + 1
        words = f"is not UTF-8: byte 0x{data[error.start]:02x}; save the file as UTF-8"
        raise CannotJudge(Problem(Place(name, line), words, code=Code.UNREADABLE_FILE)) from None


BOUNDS = Bounds()
"""The default bounds, where no settings are read."""


def bounded_lines(file: BinaryIO, most: int, digest: hashlib._Hash | None = None) -> Iterator[bytes]:
    r"""Yield the lines of a file; only b"\n" ends a line: U+2028 and its like are text.

    A line of more than `most` bytes is not kept: b"" stands for it. All bytes are added to a digest.
    """
    is_rest = False
    while piece := file.readline(most + 1):
        if digest:
            digest.update(piece)
        ends = len(piece) <= most or piece.endswith(b"\n")
        if not is_rest:
            yield piece if ends else b""
        is_rest = not ends


def find_long_text(evaluator: Evaluator, case: Any, most: int) -> str:
    """Return the field of the first text in a case or output that is too long in UTF-8 for an evaluator, "" for none.

    Fields that are not read, such as notes, have only the bound of lines.
    """
    fields = case if isinstance(case, dict) else {}
    for name in evaluator.input.reads:
        for field, text in _texts(fields.get(name), name):
            if 4 * len(text) > most and _size(text) > most:  # the first is fast, and most often enough
                return field
    for texts in evaluator.input.read_as_one(fields):
        size = 0
        for field, text in texts:
            if (size := size + _size(text)) > most:
                return f"{texts[0][0]} to {field}"
    return ""


def _size(value: Any) -> int:
    """Return how many bytes of UTF-8 a text has, or the text parts of a list."""
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass"))
    return sum(_size(part.get("text")) for part in value if isinstance(part, dict)) if isinstance(value, list) else 0


def _texts(value: Any, field: str) -> Iterator[tuple[str, str]]:
    """Yield the texts in a field, each with its own field."""
    if isinstance(value, str):
        yield field, value
    elif isinstance(value, dict):
        for key, member in value.items():
            yield from _texts(member, f"{field}.{key}")
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from _texts(member, f"{field}[{index}]")


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
            words = f"cannot be written: {_error_words(error, path)}"
            raise CannotJudge.at(display_path(path), words, Code.UNWRITABLE_FILE) from error
        raise


def refuse_file_as_folder(path: Path) -> None:
    """Raise CannotJudge for a path to write to where a file stands in place of a folder."""
    with suppress(OSError):  # writing gives the error of an unreadable folder
        nearest = next((folder for folder in path.parents if folder.exists()), path.parent)
        if not nearest.is_dir():
            words = f"{display_path(nearest)} is a file, and a folder is needed there; move it, or name another place"
            raise CannotJudge.at(display_path(path), f"cannot be written: {words}", Code.UNWRITABLE_FILE)


def _write_draft(path: Path, text: str | Iterable[str], drafts: dict[Path, Path]) -> None:
    """Write a text to a temporary file beside its target, and add its path to `drafts`."""
    _refuse_other_kinds(path)
    if path.absolute().parent == Path("/dev"):
        raise OSError(NO_FILE)
    refuse_file_as_folder(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Nobody can guess the name and plant a link there. Later steps, which are not root, can read a new file.
    with NamedTemporaryFile(
        "w", encoding="utf-8", newline="", dir=path.parent, prefix=".safe-gate-", suffix=".tmp", delete=False
    ) as file:
        drafts[path] = Path(file.name)
        file.writelines([text] if isinstance(text, str) else text)
    drafts[path].chmod(path.stat().st_mode & 0o777 if path.is_file() else 0o644)


def write_or_remove(path: Path, text: str | Iterable[str]) -> None:
    """Write a text as `write` does. If that fails, try to remove the file that it should replace."""
    try:
        write(path, text)
    except CannotJudge:
        with suppress(OSError, ValueError):  # ValueError: a name that no file can have
            path.unlink()
