"""Shell: what a run is compared with, each fetched and read once, and whose settings judge: its own or the base's.

A run is compared with an earlier report, or with the inputs and outputs of a commit. A commit's files come from the
clone, or from GitHub if the clone lacks them. Each is read when it is asked for.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, cached_property, partial
from pathlib import Path, PurePath, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, Literal, TypeVar

from safe_gate.core.case import leaves_out_more
from safe_gate.core.validate import quote
from safe_gate.evaluators.registry import EVALUATORS, parts_of, results_of
from safe_gate.gate import rules as gate_rules
from safe_gate.gate import stored
from safe_gate.gate.comparison import GUARDING
from safe_gate.gate.stored import read_report, report_json
from safe_gate.github import OF_A_HEAD, Api, Context, Effects, commit_of, is_merge_of_event, visible_root
from safe_gate.inputs import case_files, checked, disk, globs
from safe_gate.inputs.case_files import input_paths, pattern_settings
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
from safe_gate.model import record
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.model.report import Base, Report, Verdict
from safe_gate.scoring import sides
from safe_gate.scoring.sides import Snapshot
from safe_gate.settings import Settings

_NAMED_BY = frozenset({*OF_A_HEAD, "pull_request_target", "merge_group"})
_EXPECTED = "expected a report of safe-gate run, a commit (a branch, a tag, an id), base, or . for the working folder"
_FETCH = "fetch the whole commit into the clone (actions/checkout with fetch-depth: 0 and no filter, or git fetch)"
_INSTALL = "otherwise install git (org/safe-gate/composite has the runner's), and give actions/checkout fetch-depth: 0"
T = TypeVar("T")


@record
class Baseline:
    """What a run is compared to: an earlier report, or the files of a commit.

    `name` is what the user calls it: a path, a ref, `base` or `.`. `commit` is the full id of the commit, or of the
    one that the report judged. `made_at` is the time of the commit or report (ISO 8601 in UTC). Both are "" if
    unknown. `report` is as a run wrote it, or None if there are files: then `root` is the working folder in the
    commit. `why` says why `base` is this commit, "" for other names.
    """

    name: str
    commit: str = ""
    made_at: str = ""
    report: Report | None = None
    root: FilePath = HERE
    why: str = ""

    def placed(self, problems: Iterable[Problem]) -> tuple[Problem, ...]:
        """Return problems of a commit's files at their places there, written as git does."""
        at = "" if self.root == HERE else f"{self.commit[:7] or self.name}:"
        return tuple(
            one
            if one.code is Code.BASE_UNAVAILABLE  # it says so itself
            else replace(one, place=Place(at + one.place.path, one.place.line))
            for one in problems
        )

    @contextmanager
    def placing(self) -> Iterator[None]:
        """Place the problems of a CannotJudge as `placed` does."""
        try:
            yield
        except CannotJudge as error:
            raise CannotJudge(*self.placed(error.problems)) from None


def open_baseline(
    spec: str, options: Settings, effects: Effects, connect: Callable[[], Api], held: ExitStack
) -> Baseline | None:
    """Return the baseline that `spec` names; the files of a commit can be read until `held` is closed.

    `spec` is the path of a report, `base` (the event's base commit), `.` (the working folder) or a git ref. None
    stands for no baseline yet: an event that has no base commit, or a missing report. `connect` gives GitHub's API.
    Raises CannotJudge for a report that cannot be read, and where nobody has the commit.
    """
    context, kind = effects.context, baseline_kind(spec)
    if kind == "missing report":
        return None
    if kind == "report":
        made = load_report(Path(spec))
        return Baseline(spec, made.provenance.commit, made.generated_at, made)
    if spec == ".":
        head = Commit("", "")
        with suppress(Missing):  # no repository, or one without a commit
            head = Clone().commit("HEAD")
        return Baseline(".", head.sha, head.made_at)
    if spec == "base" and not context.subject.base_sha:
        if unknown := unknown_base(context):
            raise unavailable("base", f"is the base commit {unknown}; name a ref, such as main")
        return None
    if not spec or spec.startswith("-") or not spec.isprintable():
        raise unavailable(spec or "baseline", f"is neither a .json file nor a git ref; {_EXPECTED}")
    if strays := tuple(_other_checkouts(options)):
        raise CannotJudge(*strays)
    kept = Path(held.enter_context(TemporaryDirectory(prefix="safe-gate-")))
    return _commit(_Sources(spec, context, connect, options.github_token), effects.folder, kept)


def as_commit(base: Baseline | None) -> Baseline | None:
    """Return a baseline that is a commit, and None for a report, which has no files, or without a baseline."""
    return base if base and base.report is None else None


def _commit(sources: _Sources, folder: str, kept: Path) -> Baseline:
    """Return a commit as the baseline, whose files are read when they are asked for. Raises CannotJudge."""
    spec, why, advice = sources.spec, "", _advice(sources.context)
    ref, what = spec, "is neither a .json file nor a readable commit"
    if spec == "base":
        ref, why = _base_commit(sources)
        what = f"is commit {ref}, which cannot be read"
    elif spec != "HEAD":
        advice += ", or correct the name"
    elif ref := commit_of(Path.cwd()):  # of the checkout: GitHub knows it by its id alone
        what = f"is commit {ref}, which cannot be read"
    else:
        ref, what, advice = spec, "names no commit", "check out a repository with one into the working folder"

    def read(file: Entry, into: BinaryIO, most: int) -> None:
        def whole(source: Repository) -> None:
            into.seek(0)
            into.truncate()  # another source may have begun
            source.read(file, into, most)

        sources.ask(whole, what, advice)

    commit = sources.ask(lambda source: source.commit(ref), what, advice)
    listed = partial(sources.ask, lambda source: [*source.entries(commit.sha)], what, advice)
    files = CommitFiles(commit.sha, folder, listed, read, kept)
    return Baseline(spec, commit.sha, commit.made_at, root=CommitPath(files, PurePosixPath()), why=why)


def _other_checkouts(options: Settings) -> Iterator[Problem]:
    """Yield the checkouts that have files while the working folder is in none: a commit has other paths."""
    if visible_root(Path.cwd()) is None:
        patterns = (pattern for setting, _ in pattern_settings() for pattern in options.value(setting))
        folders = {path.absolute().parent for path in (*input_paths(options), *map(Path, patterns))}
        for root in sorted({root for folder in folders if (root := visible_root(folder))}):
            words = "is a checkout, but the working folder is outside any checkout, so paths differ from the commit's"
            advice = "check out into the working folder itself"
            yield Problem(Place(disk.display_path(root)), f"{words}; {advice}", code=Code.BASE_UNAVAILABLE)


def baseline_kind(spec: str) -> Literal["", "report", "missing report", "commit"]:
    """Return what a baseline names; the working folder counts as a commit."""
    path, is_there = Path(spec), disk.exists(Path(spec))
    if path.suffix in (".json", ".jsonl") and is_there and not globs.is_folder(path):
        return "report"
    return "missing report" if path.suffix == ".json" and not is_there else "commit" if spec else ""


def path_in_commit(spec: str) -> str:
    """Return where a commit may hold the report that `spec` names, from the working folder, "" if none may.

    However the path is written: what lies in the working folder's checkout comes with a change.
    """
    path = PurePath(spec)
    if path.suffix != ".json":
        return ""
    if not path.is_absolute() and ".." not in path.parts:
        return spec
    here = Path.cwd()
    if (root := visible_root(here)) is None:
        return ""
    there = Path(os.path.normpath(here / path))  # links stay unresolved: the change may have added them
    top = next((above for above in reversed(there.parents) if os.path.realpath(above) == os.path.realpath(root)), None)
    return os.path.relpath(root / there.relative_to(top), here) if top else ""


def unknown_base(context: Context) -> str:
    """Return why the base commit is unknown, or "". Raises CannotJudge for an event file that cannot be read."""
    if context.subject.base_sha:
        return ""
    if not context.in_actions:
        return "of a GitHub event, but this is not a GitHub Actions job"
    if file := context.broken_event_file:
        raise unavailable("GITHUB_EVENT_PATH", f"names {file}, which cannot be read as a JSON object; correct it")
    # A workflow_run does not name a fork's pull request or the commit before a push, but both exist.
    if context.event in _NAMED_BY or context.subject.trigger_event in {*_NAMED_BY, "push"}:
        return f"of the event {context.event}, but the event file does not name it"
    return ""


def load_report(path: FilePath) -> Report:
    """Return a report as a run wrote it, with a verdict, matching digests and each case once.

    Raises CannotJudge for any other file.
    """
    found = load_any_report(path)
    if found.verdict is Verdict.ERROR:
        words = "has no verdict, so there is nothing to compare or approve; name a report with a verdict"
        raise unavailable(disk.display_path(path), words)
    return found


def load_any_report(path: FilePath) -> Report:
    """Return a report as `report` does, or one without a verdict, which has no case. Raises CannotJudge."""
    place = Place(disk.display_path(path))
    content = checked.read_document(path, "report")
    found = read_report(content)
    if found.verdict is Verdict.ERROR:
        return found
    if found.provenance.digests != stored.digests(found) or report_json(found) != content:
        what = "its digests do not match its contents" if found.provenance.digests else "has no digests"
        words = f"{what}, so no run wrote it; run again"
        raise CannotJudge(Problem(place, words, "", "provenance.digests", code=Code.BASE_UNAVAILABLE))
    if problems := tuple(_impossible_values(found, place)):
        raise CannotJudge(*problems)
    return found


def _impossible_values(found: Report, place: Place) -> Iterator[Problem]:
    """Yield what no run writes, although its digests match: an impossible day, a case twice, more than the whole."""
    try:
        datetime.fromisoformat(found.generated_at)
    except ValueError:
        yield Problem(place, f"is {found.generated_at}, which is not a time", "", "generated_at")
    for evaluator, part in parts_of(found.parts):
        ids = Counter(result.id for result in results_of(part))
        for case_id, times in sorted(ids.items()):
            if times > 1:
                words = f"has this case {times} times; expected each once"
                yield Problem(place, words, case_id, f"{evaluator.name}.results")
        for rate in evaluator.present.figures(part).rates:
            if rate.part > rate.whole:
                words = f"has counts that no run writes ({rate.part} of {rate.whole} cases or labels); run again"
                yield Problem(place, words, "", evaluator.name)


@dataclass(frozen=True)
class _Sources:
    """Who is asked for the commit that `spec` names: the clone, then GitHub."""

    spec: str
    context: Context
    connect: Callable[[], Api]
    token: str

    def ask(self, question: Callable[[Repository], T], what: str, advice: str) -> T:
        """Return what the first says that lacks nothing. Raises CannotJudge with what each of them lacks.

        `what` says what it lacks is for, `advice` what to do about it.
        """
        refusals: list[str] = []
        sources: Mapping[str, Callable[[], Repository]] = {"the clone": Clone, "GitHub": lambda: self._github}
        for name, source in sources.items():
            try:
                return question(source())
            except Missing as missing:
                refusals.append(f"{name}: {missing}")
        raise unavailable(self.spec, f"{what} ({'; '.join(refusals)}); {advice}")

    @cached_property
    def _github(self) -> Repository:  # one for all questions: it counts its requests
        if not self.context.repository:
            raise Missing("this is not a GitHub Actions job")
        if not self.token:
            raise Missing("there is no token: set github-token, which needs contents: read")
        from safe_gate.github.contents import Contents  # most clones have the base

        return Contents(self.connect(), self.context.repository)


def _advice(context: Context) -> str:
    """Return what makes a commit readable."""
    return _FETCH if shutil.which("git") else _INSTALL if context.in_actions else "install git"


def _base_commit(sources: _Sources) -> tuple[str, str]:
    """Return the base commit of an event, and why it is that one. Raises CannotJudge if nobody can say.

    A pull request's merge commit holds what its base branch has by now, so it is compared with its first parent. The
    event may name an older commit. It counts for every other checkout, or a change could choose its own base.
    """
    context = sources.context
    if is_merge_of_event(context):
        what = f"depends on the parents of commit {context.sha}, which cannot be read"
        parents = sources.ask(lambda source: source.commit(context.sha).parents, what, _advice(context))
        if len(parents) == 2 and parents[1] == context.subject.head_sha:
            return parents[0], "first parent of the merge commit"
    return context.subject.base_sha, f"named by the event {context.event}"


OptionsAt = Callable[[FilePath], Settings]
"""The settings of a run whose config file is read below a folder; flags and environment stay."""

_OF_THE_RUN = ("report_dir", "gate_id", "text", "jobs")
"""Settings of who scores cases and how they are shown: those of the run count, also for what is read of a base."""


class RunSides(ExitStack):
    """The sides of a run: its own, the one whose settings judge it, and what it is compared with.

    It is judged by its own settings, or by those of the base commit, which is None for its own. Files can be read
    until this is closed.

    `options_at` returns the settings below the folder of a side. In `settings_at`, what is of the run is the run's, and
    so are inputs if that folder's settings name none. `at` returns the side, with its files as first read.
    `without_unmatched` returns that side without the patterns that match no file.
    """

    base: Baseline | None = None

    def __init__(self, options: Settings, effects: Effects, options_at: OptionsAt) -> None:
        super().__init__()
        self.options_at, self.settings_at = cache(options_at), cache(self._settings_at)
        self.at = cache(lambda root: sides.take_snapshot(self.settings_at(root), root))
        self.without_unmatched = cache(lambda root: self.at(root).without_unmatched())
        self.effects, self._own = effects, options
        self._opened: dict[str, Baseline | None] = {}

    def _settings_at(self, root: FilePath) -> Settings:
        if root == HERE:
            return self._own
        theirs = self.options_at(root)
        names = _OF_THE_RUN if sides.evaluators_in_use(theirs) else (*_OF_THE_RUN, *sides.OF_INPUTS)
        return theirs.replace(**{name: self._own.value(name) for name in names})

    @property
    def head(self) -> Snapshot:
        """The run's own side."""
        return self.at(HERE)

    @property
    def judge(self) -> Snapshot:
        """The side whose settings judge."""
        return self.at(self.base.root) if self.base else self.head

    @property
    def options(self) -> Settings:
        """The settings that judge."""
        return self.judge.options

    @property
    def named_by_base(self) -> str:
        """What to do about a file that the settings of the base commit name; "" if the run judges itself."""
        named = self.base and f"the base commit {self.base.commit[:7]} names it (policy-ref base)"
        return f"{named}; keep it until a config without it is merged" if named else ""

    @property
    def breaks_on_weakened(self) -> bool:
        """Whether a weaker gate breaks the run, by the settings that judge or by the run's own."""
        return "fail" in (self.options.on_weakened, self._own.on_weakened)

    @property
    def event_base(self) -> Base | None:
        """The event's base commit and why it is this one, None unless it was opened."""
        base = self._opened.get("base")
        return Base(base.commit, base.why) if base else None

    def open(self, spec: str) -> Baseline | None:
        """Return a baseline, opened once. Raises CannotJudge as `open_baseline` does."""
        if spec not in self._opened:
            connect = partial(self.effects.connect, self._own.access("fetch"))
            self._opened[spec] = open_baseline(spec, self._own, self.effects, connect, self)
        return self._opened[spec]

    def open_base(self, setting: str, instead: str) -> Baseline | None:
        """Return the event's base commit, which a setting asks for. Raises CannotJudge where there can be none."""
        if unknown := unknown_base(self.effects.context):
            raise unavailable(setting, f"asks for the base commit {unknown}; set {instead}")
        return self.open("base")

    def waivers(self) -> tuple[sides.KnownWaivers | None, tuple[Problem, ...]]:
        """Return the file of waivers with what it holds, None without one; or what is wrong with it."""
        try:
            return self.judge.waivers(), ()
        except CannotJudge as error:
            return None, self.base.placed(error.problems) if self.base else error.problems

    def baseline(self) -> tuple[Baseline | None, tuple[Problem, ...]]:
        """Return what the run is compared with, None for nothing, and what is wrong with it."""
        spec = self.options.baseline
        try:
            if spec == ".":
                words = "is the working folder, which this run judges; name a commit or an earlier report"
                raise unavailable("baseline", words)
            if baseline_kind(spec) == "missing report" and "baseline" not in self.options.allow_missing:
                advice = "correct the path, or set allow-missing: baseline for the first run of a new gate"
                raise unavailable(spec, f"does not exist{disk.similar_name_hint(spec)}; {advice}")
            return self.open(spec) if spec else None, ()
        except CannotJudge as error:
            return None, error.problems


@contextmanager
def open_sides(options: Settings, effects: Effects, options_at: OptionsAt) -> Iterator[RunSides]:
    """Give the sides of a run under these options, as long as they can be read.

    `options_at` gives the settings with the config file of another folder, such as the base commit's. Raises
    CannotJudge if it is unknown whose settings judge.
    """
    with RunSides(options, effects, options_at) as run:
        if options.policy_ref == "base":
            run.base = run.open_base("policy-ref", "head here")
            if run.base is None:
                words = "set head for events that are not pull requests or pushes"
                raise unavailable("policy-ref", f"is base, but this event has no base commit; {words}")
            with run.base.placing():
                for one in sides.evaluators_in_use(run.options):  # the run's own are read with its cases
                    case_files.compile_recipe(one.name, run.judge.recipe(one))
        yield run


def policy(options: Settings) -> dict[str, Any]:
    """Return the settings that the gate judges by, as a report has them."""
    groups, values = {}, options.values()
    for name, one in EVALUATORS.items():
        of_groups = {rule.name for rule in one.gate.group_rules}
        limited = {
            group: {rule: limit for rule, limit in own.items() if rule in of_groups}
            for group, own in sides.group_limits(one, values).items()
        }
        groups[name] = {group: own for group, own in limited.items() if own}
    return {
        **gate_rules.limits_of(values),
        "min_group": options.min_group,
        "groups": groups,
        **sides.as_recorded(options, (*GUARDING, *sides.SCORING)),
    }


def refuse_narrower_filter(base: Baseline, settings: Mapping[str, Any]) -> None:
    """Raise CannotJudge for a report whose filter may have left out cases of a run with other settings.

    The comparison would take such a case for a new one, even if it got worse.
    """
    if (made := base.report) is None:
        return
    was = made.provenance.policy
    narrower = ["tag"] if leaves_out_more(was.get("tag", ()), settings["tag"]) else []
    choosing = [one.input.case_filter.setting for one, _ in parts_of(made.parts) if one.input.case_filter]
    narrower += [one for one in choosing if was[one] not in ("", settings[one])]
    if narrower:
        name, given = narrower[0], was[narrower[0]]
        filters = " ".join(map(quote, given if isinstance(given, list) else [given]))
        words = f"was written with {name.replace('_', '-')} {filters}, which may leave out cases that this run judges"
        raise unavailable(base.name, f"{words}; set the same filter, or approve a report without it as the baseline")
