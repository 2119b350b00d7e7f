"""A baseline, opened."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from safe_gate.baseline.source import Baseline, open_baseline
from safe_gate.github import Api, Context, Effects, Subject
from safe_gate.inputs.commit_files import CommitFiles, CommitPath, Entry, EntryKind
from safe_gate.model.problems import CannotJudge, Problem
from safe_gate.scoring import measure, sides
from safe_gate.settings import Settings
from tests.support.git import NOW
from tests.support.github import TOKEN

OPTIONS = Settings().replace(
    safe_batch=("*_batch_*",),
    safe_test_dir="clinical",
    synthesis_cases=("chat.jsonl", "../shared/**/*.jsonl"),
    github_token=TOKEN,
)
Open = Callable[..., AbstractContextManager[Baseline | None]]


def blob(id_: str, folder: Path) -> bytes:
    return subprocess.run(["git", "cat-file", "blob", id_], cwd=folder, check=True, capture_output=True).stdout


def no_api() -> Api:
    raise AssertionError("GitHub was asked")


def context(event: str = "", base: str = "", **facts: Any) -> Context:
    return Context(in_actions=bool(event), event=event, subject=Subject(base_sha=base), **facts)


@contextmanager
def open_(
    spec: str,
    connect: Callable[[], Api] = no_api,
    where: Context = Context(),  # noqa: B008 - it is frozen
    options: Settings = OPTIONS,
    folder: str = "evals",
) -> Iterator[Baseline | None]:
    with ExitStack() as held:
        yield open_baseline(spec, options, Effects(print, print, "", where, folder), connect, held)


@contextmanager
def commit_of(top: Path, folder: str) -> Iterator[CommitPath]:
    """Give a folder as it would be in a commit of all files below `top`."""
    kinds = [(path, EntryKind.FOLDER if path.is_dir() else EntryKind.FILE) for path in top.rglob("*")]
    listed = [Entry(path.relative_to(top).as_posix(), kind, str(path)) for path, kind in kinds]
    with TemporaryDirectory() as kept:
        yield CommitPath(CommitFiles("", folder, lambda: listed, _copied, Path(kept)), PurePosixPath())


def _copied(file: Entry, into: BinaryIO, most: int) -> None:
    into.write(Path(file.blob).read_bytes()[:most])


def measured(baseline: Baseline, options: Settings = OPTIONS) -> list[measure.Measurement]:
    """Return what evaluators make of all that options name in a commit."""
    return [
        measure.measure_part(one, sides.take_snapshot(options, baseline.root), NOW)
        for one in sides.evaluators_in_use(options)
    ]


def found(baseline: Baseline, options: Settings = OPTIONS) -> list[str]:
    """Return the files that are read of a commit."""
    return sorted(file.path for one in measured(baseline, options) for file in one.inputs)


def refusal(baseline: AbstractContextManager[Baseline | None], options: Settings = OPTIONS) -> str:
    """Return why a baseline cannot be opened, or not read."""
    problems: list[Problem] = []
    try:
        with baseline as one:
            assert one
            problems += (problem for part in measured(one, options) for problem in part.problems)
    except CannotJudge as error:
        problems += error.problems
    assert problems
    return "\n".join(f"{problem.place.path}: {problem.message}" for problem in problems)


NAMED = [
    "../shared/deep/ü b.jsonl",
    "chat.jsonl",
    "clinical/I25_batch_1.json",
    "clinical/I25_batch_1.outputs.jsonl",
]
