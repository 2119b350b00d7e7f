"""Shell: the cases of a run scored by the settings that judge it."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

from safe_gate.baseline import comparison
from safe_gate.baseline.judging import Judging
from safe_gate.baseline.snapshots import Snapshots
from safe_gate.evaluators import EVALUATORS
from safe_gate.github.effects import Effects
from safe_gate.model.comparison import Comparison
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.model.report import InputFile, Parts
from safe_gate.model.results import Recorded
from safe_gate.render import formats
from safe_gate.scoring import asked, intake, measure, refusals
from safe_gate.scoring.asked import Snapshot
from safe_gate.scoring.intake import Facts
from safe_gate.scoring.measure import Keeps, ResultSource
from safe_gate.settings.model import Settings


@dataclass(frozen=True, slots=True)
class Scores:
    """What evaluators made of their inputs, by name, with all problems and files of the inputs, read whole."""

    measured: Mapping[str, measure.Measured]
    problems: tuple[Problem, ...]

    @property
    def inputs(self) -> tuple[InputFile, ...]:
        """The files that were read."""
        return tuple(file for one in self.measured.values() for file in one.inputs)

    @property
    def parts(self) -> Parts:
        """The evaluators' parts of the report, None for one without input."""
        return {name: self.measured[name].part if name in self.measured else None for name in EVALUATORS}

    @property
    def left_out(self) -> Mapping[str, Set[str]]:
        """The ids of the cases that a filter leaves out, by evaluator."""
        return {name: one.left_out for name, one in self.measured.items() if one.left_out}


def score(
    rules: Judging, snapshots: Snapshots, effects: Effects, source: ResultSource, *, keeps_facts: bool = False
) -> Scores:
    """Return what evaluators make of the cases that the source has; `keeps_facts` keeps what is asked of them."""
    head = snapshots.head
    keeps = kept(head.options)._replace(facts=keeps_facts)
    commit = rules.base.commit[:7] if rules.base else ""
    measured: dict[str, measure.Measured] = {}
    for evaluator in asked.given(rules.options):
        measured[evaluator.name] = one = measure.part(
            evaluator,
            rules.options,
            effects.generated_at,
            own=rules.snapshot.rules,
            recipe=rules.recipes.get(evaluator.name, ""),
            source=source,
            keeps=keeps,
            rules_of=commit,
        )
        intake.report_skipped(one.skipped, evaluator.input.setting.replace("_", "-"), effects.err)
    problems = [problem for one in measured.values() for problem in one.problems]
    if not measured:
        problems = [refusals.nothing_to_judge(merges=bool(rules.options.shards))]
    # A change that other settings judge must not add a name that leaves every later run without a verdict.
    problems += refusals.unknown(head, measured)
    if rules.base:
        unknown = refusals.unknown(rules.snapshot, measured)
        problems += comparison.at_baseline(rules.base, CannotJudge(*unknown)).problems
    return Scores(measured, tuple(problems))


def kept(options: Settings) -> Keeps:
    """Return what is kept: the page shows the texts of all cases, the comment a line of those that fail."""
    columns = formats.show_columns(options.reports)
    if options.text != "full":
        return Keeps("", columns)
    return Keeps("all" if formats.show_texts(options.reports) else "failing", columns)


def recorded(
    scores: Scores, found: Comparison | None, past: comparison.BaselineRun | None, options: Settings
) -> Recorded:
    """Return the recorded texts of a run and of its baseline, as far as they are kept."""
    texts_of = kept(options).texts
    columns = {name: one.columns for name, one in scores.measured.items()}
    if not texts_of:
        return Recorded(columns=columns)
    now = {name: one.texts for name, one in scores.measured.items()}
    if past is None or found is None or texts_of != "all":
        return Recorded(now, columns=columns)
    texts = comparison.texts_before(past, found)
    return Recorded(now, lambda evaluator, case_id: texts.get((evaluator, case_id)), columns)


def own_cases(scores: Scores, rules: Judging, head: Snapshot) -> Mapping[str, Facts]:
    """Return what is asked of a run's own cases, by its own settings, whoever's settings judge.

    Cases that those settings read otherwise are read again. Raises CannotJudge for a file that was changed meanwhile.
    """
    if rules.snapshot.reads_alike(head):
        return comparison.facts_of(scores.measured)
    found: dict[str, Facts] = {}
    before = {file.path: file for file in scores.inputs}
    for evaluator in asked.given(head.options):
        found[evaluator.name], files = intake.read(evaluator, head)
        if changed := [file.path for file in files if before.get(file.path, file) != file]:
            words = "was changed while it was read; run again"
            raise CannotJudge(*(Problem(Place(path), words, code=Code.UNREADABLE_FILE) for path in changed))
    return found
