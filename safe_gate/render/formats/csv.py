"""Cases as CSV, for spreadsheets: a row each, UTF-8 with a byte-order mark, lines end as RFC 4180 says. Pure."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

from safe_gate.evaluators.registry import parts_of
from safe_gate.model.results import Untrusted
from safe_gate.render.formats import JudgedCase, RenderedRun, judged_cases
from safe_gate.render.untrusted import plain, quote_phrase, spreadsheet_cell

_LONGEST = 32_000  # Excel takes 32,767 characters


class _Echo:
    """A file whose `write` returns its argument, so that the CSV writer returns each line."""

    def write(self, text: str) -> str:
        return text


def _draw(run: RenderedRun) -> Iterator[str]:
    writer = csv.writer(_Echo())
    measures = [by for evaluator, part in parts_of(run.report.parts) for by in evaluator.present.measure_names(part)]
    header = ("evaluator", "id", "path", "line", "label", "passed", "groups", *measures, "waived", "change")
    yield "\ufeff" + writer.writerow((*header, "evidence"))
    for case in judged_cases(run.view):
        yield writer.writerow([spreadsheet_cell(one[:_LONGEST]) for one in _row(case, measures)])


FILES = {"safe-gate.cases.csv": _draw}


def _row(case: JudgedCase, measures: Sequence[str]) -> Iterator[str]:
    yield case.evaluator.name
    yield _plain_name(case.id)
    yield _plain_name(case.place.path)
    yield str(case.place.line)
    yield case.label
    yield "yes" if case.passed else "no"
    yield "; ".join(map(_plain_name, case.groups))
    said = {one.by: one.label if one.score is None else repr(one.score) for one in case.judgements}
    yield from (said.get(by, "") for by in measures)
    yield "; ".join(sorted(case.waivers))
    yield case.change
    yield "; ".join(quote_phrase(phrase) for one in case.judgements_to_review() for phrase in one.evidence)


def _plain_name(text: str) -> str:
    return plain(Untrusted(text), _LONGEST)
