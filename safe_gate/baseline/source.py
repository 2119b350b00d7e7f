"""Shell: what a run is compared to: an earlier report, or the inputs and outputs of a commit.

A commit's files come from the clone, or from GitHub if the clone lacks them. They lie in a temporary folder while the
baseline is open.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path, PurePath
from typing import Literal, TypeVar

from safe_gate.core.given import Documents
from safe_gate.evaluators import EVALUATORS, parts_of
from safe_gate.evaluators.registry import results_of
from safe_gate.evaluators.stored import read_report, report_json
from safe_gate.gate import differences
from safe_gate.github import Api
from safe_gate.github.contents import Contents
from safe_gate.github.effects import Effects, is_merge_of_event, root_in_sight
from safe_gate.github.event import OF_A_HEAD, Context
from safe_gate.inputs import checked, disk, globs, writing
from safe_gate.inputs.case_files import settings
from safe_gate.inputs.commit_files import Clone, Commit, Kind, Missing, Pattern, Selection
from safe_gate.inputs.disk import HERE
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.model.report import Report, Verdict
from safe_gate.settings.model import LOCK_FILE, WAIVERS_FILE, Settings, config_paths

_MOST_BYTES = 2_000_000_000
_NAMED_BY = frozenset({*OF_A_HEAD, "pull_request_target", "merge_group"})
_EXPECTED = "expected a report of safe-gate run, a commit (a branch, a tag, an id), base, or . for the working folder"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a run is compared to: an earlier report, or the files of a commit.

    `name` is what the user calls it: a path, a ref, `base` or `.`. `commit` is the full id of the commit, or of the
    one that the report judged. `made_at` is the time of the commit or report (ISO 8601 in UTC). Both are "" if
    unknown. `report` is as a run wrote it, or None if there are files. Then `root` holds these files and stands for
    the working folder (see `globs.expand`). `why` says why `base` is this commit, "" for other names.
    """

    name: str
    commit: str
    made_at: str
    report: Report | None = None
    root: Path = HERE
    why: str = ""

    def placed(self, error: CannotJudge) -> CannotJudge:
        """Return an error of a commit's files with its problems at their places there, written as git does."""
        if self.root == HERE:
            return error
        at = f"{self.commit[:7] or self.name}:"
        return CannotJudge(*(replace(one, place=Place(at + one.place.path, one.place.line)) for one in error.problems))


def patterns_of(options: Settings) -> tuple[Pattern, ...]:
    """Return the paths and globs of all files that a run under these options reads, from the working folder."""
    forms = [one.input for one in EVALUATORS.values()]
    batches = [
        str(Path(options.value(form.folder)) / pattern)
        for form in forms
        if isinstance(form, Documents)
        for pattern in options.value(form.setting)
    ]
    documented = {form.setting for form in forms if isinstance(form, Documents)}
    named = (pattern for one, _ in settings() if one not in documented for pattern in options.value(one))
    beside = (*config_paths(options.config), options.waivers or WAIVERS_FILE, LOCK_FILE)
    report = [path] if (path := committed(options.baseline)) else []
    found = (*(Pattern(path, is_batch=True) for path in batches), *map(Pattern, (*named, *beside, *report)))
    folder = f"{PurePath(options.config).parent.as_posix()}/"  # a config there may name paths from the working folder
    older = (one._replace(path=one.path.removeprefix(folder)) for one in found if one.path.startswith(folder))
    return (*found, *older)


@contextmanager
def opened(
    spec: str,
    patterns: Sequence[Pattern],
    effects: Effects,
    connect: Callable[[], Api],
    token: str,
    *,
    is_required: bool,
) -> Iterator[Baseline | None]:
    """Give the baseline that `spec` names, with the files that patterns name; its folder is gone afterwards.

    `spec` is the path of a report, `base` (the event's base commit), `.` (the working folder) or a git ref. None
    stands for no baseline yet: an event that has no base commit, or a missing report unless it `is_required`. `token`
    is GitHub's. A pattern that names nothing at the commit is no error: what the files are compared to may be new.
    Raises CannotJudge for all that cannot be read, or not in full.
    """
    context, folder, kind = effects.context, effects.folder, kind_of(spec)
    if spec == "base" and (unknown := unknown_base(context)):
        raise _unavailable("base", f"is the base commit {unknown}; name a ref, such as main")
    if is_required and kind == "missing report":
        advice = "correct the path, or set baseline-required: false for the first run of a new gate"
        raise _unavailable(spec, f"does not exist{globs.close_to(spec)}; {advice}")
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
            raise _unavailable(spec or "baseline", f"is neither a .json file nor a git ref; {_EXPECTED}")
        sources = _sources(context, connect, token)
        ref, why = _base(context, sources) if spec == "base" else (spec, "")
        with writing.temporary_folder() as top:
            (top / ".git").mkdir()  # the top of a repository, as `globs.outside` knows it
            root = top / folder
            root.mkdir(parents=True, exist_ok=True)
            paths = [pattern.path for pattern in patterns]
            outside = (one for path in paths if (one := globs.outside(path, root)))
            if refused := (*outside, *_strays(paths)):
                raise CannotJudge(*refused)
            selection = Selection.of(patterns, folder)
            for passed in selection.left:  # nothing in them may be fetched
                with suppress(OSError, ValueError):  # a name that no folder can have names nothing
                    top.joinpath(*passed[:-1]).mkdir(parents=True, exist_ok=True)
            commit = _fetched(spec, ref, selection, top, sources, is_parent=why == _MERGED)
            yield Baseline(spec, commit.sha, commit.made_at, root=root, why=why)


def _unavailable(what: str, words: str) -> CannotJudge:
    return CannotJudge(Problem(Place(what), words, code=Code.BASE_UNAVAILABLE))


def _strays(patterns: Sequence[str]) -> Iterator[Problem]:
    """Yield the checkouts that have files while the working folder is in none: a commit has other paths."""
    here = Path.cwd()
    if root_in_sight(here) is None:
        paths = [here / path for path in (*globs.expand(patterns)[0], *map(Path, patterns))]
        for root in sorted({root for path in paths if (root := root_in_sight(path.parent))}):
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


def report(path: str) -> Report:
    """Return a report as a run wrote it, with a verdict, matching digests and each case once.

    Raises CannotJudge for any other file.
    """
    found = any_report(path)
    if found.verdict is Verdict.ERROR:
        words = "has no verdict, so there is nothing to compare or approve; name a report with a verdict"
        raise _unavailable(disk.shown(Path(path)), words)
    return found


def any_report(path: str) -> Report:
    """Return a report as `report` does, or one without a verdict, which has no case. Raises CannotJudge."""
    place = Place(disk.shown(Path(path)))
    content = checked.document(path, "report")
    found = read_report(content)
    if found.verdict is Verdict.ERROR:
        return found
    if found.provenance.digests != differences.digests(found) or report_json(found) != content:
        what = "its digests do not match its contents" if found.provenance.digests else "has no digests"
        words = f"{what}, so no run wrote it; run again"
        raise CannotJudge(Problem(place, words, "", "provenance.digests", code=Code.BASE_UNAVAILABLE))
    if problems := tuple(_beyond_the_schema(found, place)):
        raise CannotJudge(*problems)
    return found


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


Repository = Clone | Contents
"""A source of commits. Raises Missing for what it lacks."""

_Sources = Mapping[str, Callable[[], Repository]]


def _sources(context: Context, connect: Callable[[], Api], token: str) -> _Sources:
    """Return who is asked for a commit, in order: the clone, then GitHub."""

    def github() -> Repository:
        if not context.repository:
            raise Missing("this is not a GitHub Actions job")
        if not token:
            raise Missing("there is no token: set github-token, which needs contents: read")
        return Contents(connect(), context.repository)

    return {"the clone": Clone, "GitHub": github}


def _from_first(sources: _Sources, ask: Callable[[Repository], _T]) -> _T:
    """Return what the first source says that lacks nothing. Raises Missing with what each of them lacks."""
    refusals: list[str] = []
    for name, source in sources.items():
        try:
            return ask(source())
        except Missing as missing:
            refusals.append(f"{name}: {missing}")
    raise Missing("; ".join(refusals))


_MERGED = "first parent of the merge commit"


def _base(context: Context, sources: _Sources) -> tuple[str, str]:
    """Return the base commit of an event, and why it is that one. Raises CannotJudge if nobody can say.

    A pull request's merge commit holds what its base branch has by now, so it is compared with its first parent. The
    event may name an older commit. It counts for every other checkout, or a change could choose its own base.
    """
    named = f"named by the event {context.event}"
    if not is_merge_of_event(context):
        return context.subject.base_sha, named
    try:
        parents = _from_first(sources, lambda source: source.commit(context.sha).parents)
    except Missing as missing:
        words = f"is a parent of the merge commit {context.sha}, which cannot be read ({missing}); {_advice(2)}"
        raise _unavailable("base", words) from None
    if len(parents) == 2 and parents[1] == context.head_sha:
        return parents[0], _MERGED
    return context.subject.base_sha, named


def _fetched(spec: str, ref: str, selection: Selection, top: Path, sources: _Sources, *, is_parent: bool) -> Commit:
    """Put the files of a commit below a folder, from the first source that has them all; return the commit.

    `is_parent` says that it is a parent of the commit that is checked out.
    """

    def put(source: Repository) -> Commit:
        nonlocal ref
        commit = source.commit(ref)
        ref = commit.sha  # a full id means the same to every source
        _put(source, commit, selection, top)
        return commit

    try:
        return _from_first(sources, put)
    except Missing as missing:
        is_base = spec == "base"
        what = f"is commit {ref}, which cannot be read" if is_base else "is neither a .json file nor a readable commit"
        name = "" if is_base else ", or correct the name"
        words = f"{what} ({missing}); {_advice(2 if is_parent else 0)}{name}"
        raise _unavailable(spec, words) from None


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


def _put(source: Repository, commit: Commit, selection: Selection, top: Path) -> None:
    """Put the files of a commit below a folder. Raises CannotJudge for what cannot be read in full, and Missing."""
    entries = source.entries(commit.sha, selection)
    if links := [entry for entry in entries if entry.kind is not Kind.FILE]:
        words = f"is a {{}} at commit {commit.sha[:12]}, which is not followed; correct the pattern that leads to it"
        raise CannotJudge(
            *(Problem(Place(link.path), words.format(link.kind), code=Code.BASE_UNAVAILABLE) for link in links)
        )
    if (size := sum(entry.size for entry in entries)) > _MOST_BYTES:
        words = f"has {size} bytes of files that the patterns name; expected at most {_MOST_BYTES}: narrow them"
        raise _unavailable(f"commit {commit.sha[:12]}", words)
    for entry, data in zip(entries, source.contents(commit.sha, entries), strict=True):
        _write(top, entry.path, data)


def _write(top: Path, path: str, data: bytes) -> None:
    """Write a file of a commit to its place in the repository. Raises CannotJudge."""
    parts = path.split("/")
    words = "cannot be put into a folder"
    if {"..", ".git"} & set(parts) or PurePath(*parts).parts != tuple(parts):
        raise _unavailable(path, f"{words}: it leads out of it; correct the commit")
    if data.startswith(disk.LFS_POINTER):
        pointer = "is stored in Git LFS, and a commit contains only a pointer to it"
        raise _unavailable(path, f"{pointer}; name a report as the baseline instead")
    target = top.joinpath(*parts)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    except OSError as error:
        raise _unavailable(path, f"{words}: {error.strerror}") from error
