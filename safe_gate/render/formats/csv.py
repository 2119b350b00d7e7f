"""Cases as CSV, for spreadsheets: a row each, UTF-8 with a byte-order mark, lines end as RFC 4180 says. Pure."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from types import SimpleNamespace

from safe_gate.render.cases import ShownCase
from safe_gate.render.untrusted import name_in_full, quote_phrase, spreadsheet_cell
from safe_gate.render.view import ReportView

_LONGEST = 32_000  # Excel takes 32,767 characters


def _draw(view: ReportView) -> Iterator[str]:
    writer = csv.writer(SimpleNamespace(write=lambda text: text))  # which returns each line
    measures = [by for one in view.parts for by in one.evaluator.present.measure_names(one.part)]
    header = ("evaluator", "id", "path", "line", "label", "passed", "groups", *measures, "waived", "change", "evidence")
    yield "\ufeff" + writer.writerow(header)
    for case in view.cases():
        yield writer.writerow([spreadsheet_cell(one[:_LONGEST]) for one in _row(case, measures)])


FILES = {"safe-gate.cases.csv": _draw}


def _row(case: ShownCase, measures: Sequence[str]) -> Iterator[str]:
    result, outcome = case.result, case.outcome
    yield case.evaluator.name
    yield name_in_full(result.id)
    yield name_in_full(result.place.path)
    yield str(result.place.line)
    yield outcome.words
    yield "yes" if outcome.passed else "no"
    yield "; ".join(map(name_in_full, result.groups))
    said = {one.by: one.label if one.score is None else repr(one.score) for one in case.judgements}
    yield from (said.get(by, "") for by in measures)
    yield "; ".join(sorted(case.waivers))
    yield case.change
    yield "; ".join(quote_phrase(phrase) for one in case.judgements_to_review() for phrase in one.evidence)
