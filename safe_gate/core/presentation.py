"""How an evaluator's part of a report is shown to readers and sinks, and compared between two runs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from safe_gate.core.model import JsonObject, Judgement, Metric, Outcome, Phrase
    from safe_gate.core.shown import BatchEvent, Explained, Finding, Mark, Rate, Section


class Presentation(Protocol):
    """How an evaluator shows its part of a report. `core.evaluator` says what `part` and `result` are."""

    def section(self, part: Any, /) -> Section:
        """Return what readers see of its part, as values without a format. Recorded text is `Untrusted`."""
        ...

    def finding(self, result: Any, /) -> Finding:
        """Return what readers see of one case."""
        ...

    def judgements(self, part: Any, result: Any, /) -> Iterator[Judgement]:
        """Yield the judgement of each metric or check of a case."""
        ...

    @property
    def explained(self) -> Mapping[str, Explained]:
        """The explanation of each metric or check for readers, by its name."""
        ...

    def explanation(self, by: str, /) -> Explained:
        """Return the explanation of a metric or check, also of one that a team's files of rules define."""
        return self.explained[by]

    def measured(self, _part: Any, /) -> Sequence[str]:
        """Return the names of the metrics or checks that its part of the report may have judgements of, in order."""
        return tuple(self.explained)

    @property
    def fields(self) -> Mapping[str, str]:
        """The fields of a case's recorded texts in reading order, each with its title."""
        ...

    def fields_of(self, _result: Any, _texts: JsonObject, /) -> Mapping[str, str]:
        """Return the fields of one result's texts with their titles, if not those of `fields`; the reply is last."""
        return self.fields

    def marks(self, _result: Any, _texts: JsonObject, /) -> Iterator[Mark]:
        """Yield what one result found in the case's texts. The known texts are given by field."""
        yield from ()

    def decisions(self, _part: Any, _result: Any, /) -> Mapping[str, Phrase]:
        """Return a sentence for each metric or check: how it judged a case."""
        return {}

    def rates(self, part: Any, /) -> Iterator[Rate]:
        """Yield the rates in its part of the report, first the rate of cases that end as they should."""
        ...

    def labels(self, part: Any, /) -> Mapping[str, int]:
        """Return how many cases have each label, from the best to the worst."""
        ...

    def remarks(self, _part: Any, _policy: JsonObject, /) -> Iterator[Phrase]:
        """Yield what readers must know about how cases were scored, a sentence each."""
        yield from ()

    # --- events

    def result_event(
        self, result: Any, judgements: Sequence[Judgement], *, with_text: bool
    ) -> tuple[str, dict[str, Any]]:
        """Return the type and the data of the event of a result; recorded text only `with_text`.

        For an evaluator of a package, the type is `safe.NAME.result`, and the data has `id` and `pass`
        (`event.schema.json`).
        """
        ...

    def batch_events(self, _part: Any, /) -> Iterator[BatchEvent]:
        """Yield an event for each batch of its part of the report.

        For an evaluator of a package the type is `safe.NAME.batch` (`event.schema.json` has the data).
        """
        yield from ()

    # --- comparison

    def outcome(self, result: Any, /) -> Outcome:
        """Return the outcome of a result, to compare it with the same case of another run."""
        ...

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """How results are compared, by the scores of their outcomes."""
        ...

    def metric(self, name: str, /) -> Metric:
        """Return how results are compared by a score, also by one that a team's files of rules define."""
        return self.metrics[name]
