"""What readers are shown of a report: comment, summary, step outputs, annotations, console and files share it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from safe_gate.core.model import Phrase, Problem, RuleOutcome
from safe_gate.core.report import Report
from safe_gate.core.shown import Section, Table
from safe_gate.evaluators import EVALUATORS, parts_of
from safe_gate.evaluators.results import count_of
from safe_gate.render.comparison import comparison_section, shown_sections
from safe_gate.render.wording import broken_rules, conclusion, known_failures, remarks, waiver_table


class ShownPart(NamedTuple):
    """What an evaluator found, and whether one of its rules is broken."""

    name: str
    section: Section
    is_broken: bool


@dataclass(frozen=True)
class ReportView:
    """What readers see of a report, in no particular format. Each part is computed at its first use.

    `problems` keep the run from a verdict.
    """

    report: Report
    problems: Sequence[Problem] = ()

    @classmethod
    def of(cls, report: Report) -> ReportView:
        """Return the view of a stored report, with the problems that it has."""
        return cls(report, report.problems)

    @cached_property
    def conclusion(self) -> str:
        """How many rules hold, in words."""
        return conclusion(self.report)

    @cached_property
    def broken(self) -> Sequence[RuleOutcome]:
        """The broken rules."""
        return self.report.broken()

    @cached_property
    def parts(self) -> Sequence[ShownPart]:
        """What each evaluator found, in reading order; cases that a broken rule counts are marked."""
        broken, evaluators = broken_rules(self.report), parts_of(self.report.parts)
        return [
            ShownPart(evaluator.name, section, evaluator.name in broken)
            for (evaluator, _), section in zip(evaluators, shown_sections(self.report), strict=True)
        ]

    @property
    def sections(self) -> Sequence[Section]:
        """The sections of the evaluators, in reading order."""
        return [part.section for part in self.parts]

    @cached_property
    def comparison(self) -> Section | None:
        """The comparison with a baseline, or None without a baseline."""
        found = self.report.comparison
        return comparison_section(found, self.report.parts) if found and found.status != "none" else None

    @cached_property
    def known_failures(self) -> Phrase:
        """How many failures are waived and what is next to expire, nothing if none is."""
        return known_failures(self.report)

    @cached_property
    def waivers(self) -> Table:
        """The waivers and their state."""
        return waiver_table(self.report)

    @cached_property
    def remarks(self) -> Sequence[Phrase]:
        """What a reader must know beside the verdict, a sentence each."""
        return remarks(self.report)

    @cached_property
    def step_outputs(self) -> Mapping[str, str]:
        """The step outputs that follow from the report; empty where nothing was measured.

        `pass-rate` and `label-accuracy` are fractions from 0 to 1, like the limits of their rules.
        """
        figures = [evaluator.step_outputs(self.report.parts[name]) for name, evaluator in EVALUATORS.items()]
        return {
            "verdict": self.report.verdict.value,
            **{output: value for own in figures for output, value in own.items()},
            "total-cases": str(sum(count_of(part) for _, part in parts_of(self.report.parts))),
        }
