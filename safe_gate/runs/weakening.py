"""Shell: how a change made the gate weaker, beside its base commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from safe_gate.baseline import comparison, source, terms
from safe_gate.baseline.comparison import Past
from safe_gate.core.comparison import Weakened, Weakening
from safe_gate.core.given import Documents
from safe_gate.core.model import CannotJudge
from safe_gate.evaluators import EVALUATORS
from safe_gate.gate import weakening
from safe_gate.gate.weakening_cases import What
from safe_gate.inputs import case_files, disk, expansion
from safe_gate.inputs.disk import HERE
from safe_gate.publish.effects import Effects
from safe_gate.runs.baselines import OF_INPUTS, Sides
from safe_gate.runs.policy import WARN_HERE, Ruling, base_commit, is_needed_by_base
from safe_gate.scoring.facts import Facts
from safe_gate.settings.options import Options


def weakened(
    compared: source.Baseline | None,
    past: Past | None,
    cases: Mapping[str, Facts] | None,
    ruling: Ruling,
    effects: Effects,
    sides: Sides,
) -> Weakened:
    """Return where the gate is weaker than on the base commit or, if only a report is available, than in the report.

    `compared` is the baseline, of which `past` was read; `cases` is what is asked of the run's own cases, if that is
    read already. What cannot be read is an error where a weaker gate breaks the run, else it is not known.
    """
    run = sides.snapshot(HERE)
    options, is_needed = run.options, ruling.breaks_on_weakened(run.options.on_weakened)
    head = terms.at(sides.narrowed(HERE), run.root, cases)
    left_out = tuple(_left_out(ruling, options))
    for base_of in _bases(compared, ruling, options, effects, sides):
        try:
            if (base := base_of()) is None:
                break
            known = past.cases if past and base is compared else None
            before = terms_of(base, run.root, sides, known)
            return terms.held_against(base, before, head, run, effects.generated_at, left_out=left_out)
        except CannotJudge:
            if is_needed or is_needed_by_base(options, effects, sides):
                raise
    return terms.held_against_nothing(options.on_weakened)


def terms_of(
    base: source.Baseline, head: Path, sides: Sides, cases: Mapping[str, Facts] | None = None
) -> weakening.Terms:
    """Return the terms of a report or of a commit; `head` and `cases` are those of `terms.at`.

    Raises CannotJudge with every problem.
    """
    if base.report is not None:
        return terms.of_report(base.report)
    side = sides.side_of(base)
    try:
        return terms.at(side, head, cases)
    except CannotJudge as error:
        raise comparison.at_baseline(base, error) from None


def _left_out(ruling: Ruling, options: Options) -> Iterator[Weakening]:
    """Yield inputs that the base commit's settings name and the change's own do not: other cases may replace them.

    What they add is judged once it is merged, as a new limit is. Other patterns for the same files leave out none.
    """
    for name in OF_INPUTS if ruling.base else ():
        values = (getattr(one, name) for one in (ruling.options, options))
        judged, own = (value if isinstance(value, tuple) else (value,) for value in values)
        gone = [one for one in judged if one not in own]
        if gone and _files_of(name, ruling.options) - _files_of(name, options):
            new = [one for one in own if one not in judged]
            what = What.CHANGED if new else What.DROPPED
            yield Weakening("setting", name.replace("_", "-"), "", what, gone, new)


def _files_of(name: str, options: Options) -> set[Path]:
    """Return where the files lie that a setting of inputs names, the folder of batches those of all batches."""
    for one in EVALUATORS.values():
        if name == one.input.setting or (isinstance(one.input, Documents) and name == one.input.folder):
            outputs = getattr(options, one.input.outputs) if isinstance(one.input, Documents) else ()
            return set(map(disk.location, case_files.expanded(one, options, outputs=outputs).paths))
    paths, _ = expansion.expand(getattr(options, name))
    return set(map(disk.location, paths))


def _bases(
    compared: source.Baseline | None,
    ruling: Ruling,
    options: Options,
    effects: Effects,
    sides: Sides,
) -> Iterator[Callable[[], source.Baseline | None]]:
    """Yield what to compare a run's terms with, the best first.

    That is the event's base commit if it has one: what to compare outputs with may be named by a config file
    that came with the change.
    """
    is_needed, has_base = ruling.breaks_on_weakened(options.on_weakened), bool(effects.context.subject.base_sha)
    is_commit = compared is not None and compared.report is None
    if ruling.base:
        yield lambda: ruling.base
    elif is_commit and (ruling.options.baseline == "base" or not has_base):
        yield lambda: compared
    else:
        if is_needed or has_base:
            yield partial(base_commit, "on-weakened", WARN_HERE, options, effects, sides)
        yield lambda: compared
