"""Shell: the runs that one run is compared with, each fetched once, with the settings that apply there, read once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from safe_gate.baseline import comparison, source
from safe_gate.evaluators import EVALUATORS
from safe_gate.github.effects import Effects
from safe_gate.inputs.commit_files import Pattern
from safe_gate.inputs.disk import HERE
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.model.report import Base
from safe_gate.scoring import asked
from safe_gate.scoring.asked import Snapshot
from safe_gate.settings.destinations import Access
from safe_gate.settings.model import Settings

_OF_THE_RUN = ("report_dir", "gate_id", "text", "jobs")
"""Settings that judge nothing: who scores cases and how they are shown. The run's own always count."""

OF_INPUTS = tuple(setting for evaluator in EVALUATORS.values() for setting in evaluator.input.settings)
"""Settings that name cases: those of the run where a folder's settings name none, as before a first config file."""


@dataclass(frozen=True, slots=True)
class Snapshots:
    """The run's own files, and the reports and commits that it is compared with.

    `settings_at` returns the settings below the folder of a side. `at` returns the side, with its files as first read.
    `narrowed` returns that side without the patterns that match no file.
    """

    settings_at: comparison.OptionsAt
    at: Callable[[Path], Snapshot]
    narrowed: Callable[[Path], Snapshot]
    _effects: Effects
    _access: Access
    _held: ExitStack
    _opened: dict[str, tuple[source.Baseline | None, tuple[Pattern, ...]]] = field(default_factory=dict)

    @property
    def head_settings(self) -> Settings:
        """The run's own settings."""
        return self.settings_at(HERE)

    @property
    def head(self) -> Snapshot:
        """The run's own side."""
        return self.at(HERE)

    def open(self, spec: str, options: Settings, *, is_required: bool | None = None) -> source.Baseline | None:
        """Return a baseline with the files that options name, and those that its own config names.

        It is required as options say, unless `is_required` says otherwise. Raises CannotJudge as `source.opened` does.
        """
        required = options.baseline_required if is_required is None else is_required
        base, patterns = self._with(spec, source.patterns_of(options), is_required=required)
        if base is None or base.report is not None:
            return base
        own: tuple[Pattern, ...] = ()
        with suppress(CannotJudge):  # the user of the settings reports their problems
            own = source.patterns_of(self.settings_at(base.root))
        again, _ = self._with(spec, (*patterns, *own), is_required=required)
        if again is None or again.commit != base.commit:  # its config may name other files than were asked for
            words = "moved to another commit while it was read; run again"
            raise CannotJudge(Problem(Place(spec), words, code=Code.BASE_UNAVAILABLE))
        return again

    @property
    def base(self) -> Base | None:
        """The event's base commit and why it is this one, None unless it was opened."""
        base, _ = self._opened.get("base", (None, ()))
        return Base(base.commit, base.why) if base else None

    def of(self, base: source.Baseline) -> Snapshot:
        """Return the side of a commit, less the patterns that name no file. Raises CannotJudge."""
        try:
            return self.narrowed(base.root)
        except CannotJudge as error:
            raise comparison.at_baseline(base, error) from None

    def config_of(self, spec: str, patterns: Sequence[Pattern], *, is_required: bool) -> Settings | None:
        """Return the settings of a baseline of which nothing else is read; None for no baseline. Raises CannotJudge."""
        with self._open(spec, patterns, is_required=is_required) as base:
            return None if base is None else self.settings_at(base.root)

    def _with(
        self, spec: str, patterns: tuple[Pattern, ...], *, is_required: bool
    ) -> tuple[source.Baseline | None, tuple[Pattern, ...]]:
        """Return a baseline with the files of at least these patterns, and the patterns it was opened with."""
        if spec not in self._opened or not set(patterns) <= set(self._opened[spec][1]):
            self._opened[spec] = self._held.enter_context(self._open(spec, patterns, is_required=is_required)), patterns
        return self._opened[spec]

    def _open(
        self, spec: str, patterns: Sequence[Pattern], *, is_required: bool
    ) -> AbstractContextManager[source.Baseline | None]:
        effects, access = self._effects, self._access
        connect = partial(effects.connect, access)
        return source.opened(spec, patterns, effects, connect, access.token, is_required=is_required)


@contextmanager
def opened(options: Settings, effects: Effects, options_at: comparison.OptionsAt) -> Iterator[Snapshots]:
    """Give what a run under these options may be compared with, as long as it can be read.

    Of the settings below a folder, what judges nothing is the run's, and inputs if that folder's settings name none.
    """

    @cache
    def settings_at(root: Path) -> Settings:
        if root == HERE:
            return options
        own = options_at(root)
        names = _OF_THE_RUN if asked.given(own) else (*_OF_THE_RUN, *OF_INPUTS)
        return own.replace(**{name: options.value(name) for name in names})

    @cache
    def snapshot_at(root: Path) -> Snapshot:
        return asked.taken(settings_at(root), root)

    @cache
    def narrowed(root: Path) -> Snapshot:
        return snapshot_at(root).narrowed()

    with ExitStack() as held:
        access = Access(options.github_token, "fetch", options.timeouts.fetch)
        yield Snapshots(settings_at, snapshot_at, narrowed, effects, access, held)
