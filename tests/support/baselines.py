"""A baseline, opened."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from safe_gate.baseline.source import Baseline, opened, patterns_of
from safe_gate.github import Api
from safe_gate.github.effects import Effects
from safe_gate.github.event import Context, Subject
from safe_gate.model.problems import CannotJudge
from safe_gate.settings.model import Settings
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


def open_(
    spec: str,
    connect: Callable[[], Api] = no_api,
    where: Context = Context(),  # noqa: B008 - it is frozen
    options: Settings = OPTIONS,
    folder: str = "evals",
) -> AbstractContextManager[Baseline | None]:
    patterns, is_required = patterns_of(options), options.baseline_required
    effects = Effects(print, print, "", where, folder)
    return opened(spec, patterns, effects, connect, options.github_token, is_required=is_required)


def refusal(baseline: AbstractContextManager[Baseline | None]) -> str:
    with pytest.raises(CannotJudge) as error, baseline:
        pass
    return "\n".join(f"{problem.place.path}: {problem.message}" for problem in error.value.problems)


def found(root: Path) -> list[str]:
    top = root.parent
    return sorted(path.relative_to(top).as_posix() for path in top.rglob("*") if path.is_file())


NAMED = [
    "evals/chat.jsonl",
    "evals/clinical/I25_batch_1.json",
    "evals/clinical/I25_batch_1.outputs.jsonl",
    "shared/deep/ü b.jsonl",
]
