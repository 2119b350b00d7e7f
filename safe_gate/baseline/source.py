"""Shell: what a run is compared to: an earlier report, or the inputs and outputs of a commit.

A commit's files come from the clone, or from GitHub if the clone lacks them. Each is read when it is asked for.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path, PurePath, PurePosixPath
from tempfile import TemporaryDirectory
from typing import BinaryIO, Literal, TypeVar

from safe_gate.evaluators.registry import parts_of, results_of
from safe_gate.gate import stored
from safe_gate.gate.stored import read_report, report_json
from safe_gate.github import Api
from safe_gate.github.contents import Contents
from safe_gate.github.effects import OF_A_HEAD, Context, Effects, is_merge_of_event, root_in_sight
from safe_gate.inputs import checked, disk, globs
from safe_gate.inputs.case_files import read_by, settings
from safe_gate.inputs.commit_files import (
    Clone,
    Commit,
    CommitFiles,
    CommitPath,
    Entry,
    FilePath,
    Missing,
    Repository,
    unavailable,
)
from safe_gate.inputs.disk import HERE
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.model.report import Report, Verdict
from safe_gate.settings import Settings

_NAMED_BY = frozenset({*OF_A_HEAD, "pull_request_target", "merge_group"})
_EXPECTED = "expected a report of safe-gate run, a commit (a branch, a tag, an id), base, or . for the working folder"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a run is compared to: an earlier report, or the files of a commit.

    `name` is what the user calls it: a path, a ref, `base` or `.`. `commit` is the full id of the commit, or of the
    one that the report judged. `made_at` is the time of the commit or report (ISO 8601 in UTC). Both are "" if
    unknown. `report` is as a run wrote it, or None if there are files: then `root` is the working folder in the
    commit. `why` says why `base` is this commit, "" for other names.
    """

    name: str
    commit: str
    made_at: str
    report: Report | None = None
    root: FilePath = HERE
    why: str = ""

    def placed(self, error: CannotJudge) -> CannotJudge:
        """Return an error of a commit's files with its problems at their places there, written as git does."""
        if self.root == HERE:
            return error
        at = f"{self.commit[:7] or self.name}:"
        return CannotJudge(
            *(
                one
                if one.code is Code.BASE_UNAVAILABLE  # it says so itself
                else replace(one, place=Place(at + one.place.path, one.place.line))
                for one in error.problems
            )
        )


@contextmanager
def opened(
    spec: str, options: Settings, effects: Effects, connect: Callable[[], Api], *, is_required: bool
) -> Iterator[Baseline | None]:
    """Give the baseline that `spec` names; the files of a commit can be read until this ends.

    `spec` is the path of a report, `base` (the event's base commit), `.` (the working folder) or a git ref. None
    stands for no baseline yet: an event that has no base commit, or a missing report unless it `is_required`. `connect`
    gives GitHub's API. Raises CannotJudge for a report that cannot be read, and where nobody has the commit.
    """
    context, kind = effects.context, kind_of(spec)
    if spec == "base" and (unknown := unknown_base(context)):
        raise unavailable("base", f"is the base commit {unknown}; name a ref, such as main")
    if is_required and kind == "missing report":
        advice = "correct the path, or set baseline-required: false for the first run of a new gate"
        raise unavailable(spec, f"does not exist{globs.close_to(spec)}; {advice}")
    if (spec == "base" and not context.subject.base_sha) or kind == "missing report":
        yield None
    elif spec == ".":
        head = Commit("", "")
        with suppress(Missing):  # no repository, or one without a commit
            head = Clone().commit("HEAD")
        yield Baseline(".", head.sha, head.made_at)
    elif kind == "report":
        made = report(spec)
        yield Baseline(spec, made.provenance.commit, made.generated_at, made)
    else:
        if not spec or spec.startswith("-") or not spec.isprintable():
            raise unavailable(spec or "baseline", f"is neither a .json file nor a git ref; {_EXPECTED}")
        if strays := tuple(_strays(options)):
            raise CannotJudge(*strays)
        with TemporaryDirectory(prefix="safe-gate-") as kept:
            yield _commit(spec, _Sources(context, connect, options.github_token), effects.folder, Path(kept))


def _commit(spec: str, sources: _Sources, folder: str, kept: Path) -> Baseline:
    """Return a commit as the baseline, whose files are read when they are asked for. Raises CannotJudge."""
    ref, why = _base(sources) if spec == "base" else (spec, "")

    def ask(question: Callable[[Repository], T]) -> T:
        try:
            return sources.ask(question)
        except Missing as missing:
            advice = _advice(2 if why == _MERGED else 0)
            words = f"is commit {ref}, which cannot be read ({missing}); {advice}"
            if spec != "base":
                words = f"is neither a .json file nor a readable commit ({missing}); {advice}, or correct the name"
            raise unavailable(spec, words) from None

    def read(file: Entry, into: BinaryIO, most: int) -> None:
        def whole(source: Repository) -> None:
            into.seek(0)
            into.truncate()  # another source may have begun
            source.read(file, into, most)

        ask(whole)

    commit = ask(lambda source: source.commit(ref))
    files = CommitFiles(folder, lambda: ask(lambda source: [*source.entries(commit.sha)]), read, kept)
    return Baseline(spec, commit.sha, commit.made_at, root=CommitPath(files, PurePosixPath()), why=why)


def _strays(options: Settings) -> Iterator[Problem]:
    """Yield the checkouts that have files while the working folder is in none: a commit has other paths."""
    if root_in_sight(Path.cwd()) is None:
        patterns = (pattern for setting, _ in settings() for pattern in options.value(setting))
        folders = {path.absolute().parent for path in (*read_by(options), *map(Path, patterns))}
        for root in sorted({root for folder in folders if (root := root_in_sight(folder))}):
            words = "is a checkout, but the working folder is outside any checkout, so paths differ from the commit's"
            advice = "check out into the working folder itself"
            yield Problem(Place(disk.shown(root)), f"{words}; {advice}", code=Code.BASE_UNAVAILABLE)


def kind_of(spec: str) -> Literal["", "report", "missing report", "commit"]:
    """Return what a baseline names; the working folder counts as a commit."""
    path, is_there = Path(spec), disk.exists(Path(spec))
    if path.suffix in (".json", ".jsonl") and is_there and not globs.is_folder(path):
        return "report"
    return "missing report" if path.suffix == ".json" and not is_there else "commit" if spec else ""


def committed(spec: str) -> str:
    """Return where a commit may hold the report that `spec` names, from the working folder, "" if none may.

    However the path is written: what lies in the working folder's checkout comes with a change.
    """
    path = PurePath(spec)
    if path.suffix != ".json":
        return ""
    if not path.is_absolute() and ".." not in path.parts:
        return spec
    here = Path.cwd()
    if (root := root_in_sight(here)) is None:
        return ""
    there = Path(os.path.normpath(here / path))  # links stay unresolved: the change may have added them
    top = next((above for above in reversed(there.parents) if os.path.realpath(above) == os.path.realpath(root)), None)
    return os.path.relpath(root / there.relative_to(top), here) if top else ""


def unknown_base(context: Context) -> str:
    """Return why the base commit is unknown, or ""."""
    if context.subject.base_sha:
        return ""
    if not context.in_actions:
        return "of a GitHub event, but this is not a GitHub Actions job"
    # A workflow_run does not name a fork's pull request or the commit before a push, but both exist.
    is_named = context.event in _NAMED_BY or context.subject.trigger_event in {*_NAMED_BY, "push"}
    if context.broken_event_file or is_named:
        return f"of the event {context.event}, but the event file does not name it"
    return ""


def report(path: str | FilePath) -> Report:
    """Return a report as a run wrote it, with a verdict, matching digests and each case once.

    Raises CannotJudge for any other file.
    """
    found = any_report(path)
    if found.verdict is Verdict.ERROR:
        words = "has no verdict, so there is nothing to compare or approve; name a report with a verdict"
        raise unavailable(_name(path), words)
    return found


def any_report(path: str | FilePath) -> Report:
    """Return a report as `report` does, or one without a verdict, which has no case. Raises CannotJudge."""
    place = Place(_name(path))
    content = checked.document(path, "report")
    found = read_report(content)
    if found.verdict is Verdict.ERROR:
        return found
    if found.provenance.digests != stored.digests(found) or report_json(found) != content:
        what = "its digests do not match its contents" if found.provenance.digests else "has no digests"
        words = f"{what}, so no run wrote it; run again"
        raise CannotJudge(Problem(place, words, "", "provenance.digests", code=Code.BASE_UNAVAILABLE))
    if problems := tuple(_beyond_the_schema(found, place)):
        raise CannotJudge(*problems)
    return found


def _name(path: str | FilePath) -> str:
    return disk.shown(Path(path) if isinstance(path, str) else path)


def _beyond_the_schema(found: Report, place: Place) -> Iterator[Problem]:
    """Yield what no run writes, although its digests match: an impossible day, a case twice, more than the whole."""
    try:
        datetime.fromisoformat(found.generated_at)
    except ValueError:
        yield Problem(place, f"is {found.generated_at}, which is not a time", "", "generated_at")
    for evaluator, part in parts_of(found.parts):
        ids = Counter(result.id for result in results_of(part))
        for case_id, times in sorted(ids.items()):
            if times > 1:
                yield Problem(
                    place, f"has this case {times} times; expected each once", case_id, f"{evaluator.name}.results"
                )
        for rate in evaluator.present.figures(part).rates:
            if rate.part > rate.whole:
                words = f"has counts that no run writes ({rate.part} of {rate.whole} cases or labels); run again"
                yield Problem(place, words, "", evaluator.name)


@dataclass(frozen=True)
class _Sources:
    """Who is asked for a commit: the clone, then GitHub."""

    context: Context
    connect: Callable[[], Api]
    token: str

    def ask(self, question: Callable[[Repository], T]) -> T:
        """Return what the first says that lacks nothing. Raises Missing with what each of them lacks."""
        refusals: list[str] = []
        sources: Mapping[str, Callable[[], Repository]] = {"the clone": Clone, "GitHub": lambda: self._github}
        for name, source in sources.items():
            try:
                return question(source())
            except Missing as missing:
                refusals.append(f"{name}: {missing}")
        raise Missing("; ".join(refusals))

    @cached_property
    def _github(self) -> Repository:  # one for all questions: it counts its requests
        if not self.context.repository:
            raise Missing("this is not a GitHub Actions job")
        if not self.token:
            raise Missing("there is no token: set github-token, which needs contents: read")
        return Contents(self.connect(), self.context.repository)


_MERGED = "first parent of the merge commit"


def _base(sources: _Sources) -> tuple[str, str]:
    """Return the base commit of an event, and why it is that one. Raises CannotJudge if nobody can say.

    A pull request's merge commit holds what its base branch has by now, so it is compared with its first parent. The
    event may name an older commit. It counts for every other checkout, or a change could choose its own base.
    """
    context = sources.context
    named = f"named by the event {context.event}"
    if not is_merge_of_event(context):
        return context.subject.base_sha, named
    try:
        parents = sources.ask(lambda source: source.commit(context.sha).parents)
    except Missing as missing:
        words = f"is a parent of the merge commit {context.sha}, which cannot be read ({missing}); {_advice(2)}"
        raise unavailable("base", words) from None
    if len(parents) == 2 and parents[1] == context.head_sha:
        return parents[0], _MERGED
    return context.subject.base_sha, named


def _advice(depth: int) -> str:
    """Return how a clone gets all of a commit; `depth` is the `fetch-depth` that it needs, 0 for everything."""
    fetched = f"actions/checkout with fetch-depth: {depth}, or git fetch"
    try:
        is_shallow, filter_ = Clone().shape()
    except Missing:
        return f"with git installed, fetch the commit into the clone ({fetched})"
    if filter_:
        deeper = f" and with fetch-depth: {depth}" * is_shallow
        how = f"actions/checkout without filter and sparse-checkout{deeper}, or git fetch --refetch --no-filter"
        return f"fetch all files into the clone, which has the filter {filter_} ({how})"
    if is_shallow:
        return f"fetch the commit into the clone, which is shallow ({fetched})"
    return "fetch the commit into the clone (git fetch)"
