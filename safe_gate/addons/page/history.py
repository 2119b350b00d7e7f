"""The history of a gate over its runs: pass rates, labels, agreement, and changes of the rules. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from safe_gate.addons.page.markup import page
from safe_gate.core.evaluator import Figures
from safe_gate.core.figures import percent, plural
from safe_gate.core.stats import wilson
from safe_gate.evaluators.registry import EVALUATORS, parts_of, results_of
from safe_gate.model import record
from safe_gate.model.codec import JsonObject
from safe_gate.model.report import Report, Verdict
from safe_gate.model.results import Phrase, Rate, Table, Untrusted, Words
from safe_gate.render import markdown
from safe_gate.render.view import VERDICTS

_SHOWN = 30  # runs that a table in Markdown has: the latest
_AGREEMENT = "Agreement with human labels"
_LEFT, _WIDE, _TOP, _PLOT = 44, 500, 22, 150  # pixels
_AXES = ((0.9, 5), (0.8, 4), (0.6, 4), (0.0, 4))  # where the axis of rates may begin, and how many steps it has
_SIDES = (-0.12, 0.12)  # of a run, where its band begins and ends: one point alone has no width
_FEW_LABELS = 6
_JUDGING_NOTHING = ("text", "weights")


@record
class Moment:
    """The figures of one report, without its cases.

    `figures` are by evaluator, without a verdict none. `limits` has by evaluator and rule the least that the gate
    allowed. `waivers` counts those in force. `terms` is what the run was judged by, each under our own name.
    """

    path: str
    at: str
    commit: str
    verdict: Verdict
    figures: Mapping[str, Figures]
    limits: Mapping[tuple[str, str], float]
    waivers: int
    terms: JsonObject

    @property
    def outcome(self) -> str:
        """The verdict with its waivers."""
        return VERDICTS[self.verdict] + f", {plural(self.waivers, 'waiver')}" * bool(self.waivers)

    @property
    def minute(self) -> str:
        """When the run was, to the minute."""
        return self.at[:16].replace("T", " ")

    @classmethod
    def of(cls, path: str, report: Report) -> Moment:
        """Return the figures of a report."""
        provenance = report.provenance
        judging = {name: value for name, value in provenance.policy.items() if name not in _JUDGING_NOTHING}
        policy = {name.replace("_", "-"): value for name, value in judging.items()}
        return cls(
            path,
            report.generated_at,
            provenance.commit,
            report.verdict,
            {one.name: one.present.figures(part) for one, part in parts_of(report.parts)},
            {
                (rule.evaluator, rule.rule): rule.threshold
                for rule in report.rules
                if not rule.group and rule.rule.startswith("min-")
            },
            len(report.waivers.applied) if report.waivers else 0,
            {
                "version of safe-gate": report.tool.version,
                "rule packs": provenance.packs_sha256,
                "judges": {  # each by its check
                    judge
                    for one, part in parts_of(report.parts)
                    for result in results_of(part)
                    for judge in one.compare.outcome(result).judges.items()
                },
                **policy,
            },
        )

    def rates(self, name: str) -> Sequence[Rate]:
        """Return an evaluator's rates that have a name of our own, first that of the cases that end as they should."""
        found = self.figures[name].rates if name in self.figures else ()
        return [rate for rate in found if isinstance(rate.name, str)]


def changes(moments: Sequence[Moment]) -> dict[int, list[str]]:
    """Return, by run, the changes in its terms since the last run with a verdict."""
    judged = [(place, one) for place, one in enumerate(moments) if one.verdict != "error"]
    return {
        place: names
        for (_, before), (place, now) in pairwise(judged)
        if (names := sorted(n for n in {*before.terms, *now.terms} if before.terms.get(n) != now.terms.get(n)))
    }


def runs_table(moments: Sequence[Moment], *, with_labels: bool = True) -> Table:
    """Return the table of runs, with their figures, their labels if there is room, and changes of the rules."""
    changed = changes(moments)
    columns: list[tuple[str, Sequence[Words]]] = [
        ("Run", [str(number) for number in range(1, len(moments) + 1)]),
        ("When", [one.minute for one in moments]),
        ("Verdict", [one.outcome for one in moments]),
    ]
    if any(one.commit for one in moments):
        columns.insert(2, ("Commit", [Untrusted(one.commit[:7]) if one.commit else "" for one in moments]))
    for name in _evaluator_names(moments):
        about = next(one.rates(name)[0].about for one in moments if name in one.figures)
        figures = [_rate_text(one.rates(name)) for one in moments]
        columns.append((f"{EVALUATORS[name].title}: {about[0].lower()}{about[1:]}", figures))
        if with_labels:
            labels = (one.figures[name].labels if name in one.figures else {} for one in moments)
            shown = [", ".join(f"{label}: {count}" for label, count in own.items() if count) for own in labels]
            columns.append(("Labels", shown))
        agreed = ([rate for rate in one.rates(name) if rate.about == _AGREEMENT] for one in moments)
        if any(agreement := [*map(_rate_text, agreed)]):
            columns.append((_AGREEMENT, agreement))
    columns.append(("Rules changed", [", ".join(changed.get(place, ())) for place in range(len(moments))]))
    titles, cells = zip(*columns, strict=True)
    return Table(titles, ">" + "<" * (len(titles) - 1), tuple(zip(*cells, strict=True)))


def latest_runs(moments: Sequence[Moment], most: int, *, with_labels: bool = True) -> tuple[Table, str]:
    """Return the table of at most so many runs, the latest, and a sentence on the earlier ones, "" for none."""
    found, more = runs_table(moments, with_labels=with_labels), len(moments) - most
    earlier = f"… and {plural(more, 'earlier run')}: see the page." if more > 0 else ""
    return found._replace(rows=found.rows[-most:]), earlier


def _rate_text(rates: Sequence[Rate]) -> str:
    """Return the first of several rates, which is that of all cases or labels; empty of nothing."""
    return "".join(f"{percent(one.part / one.whole, 1)} ({one.part} of {one.whole})" for one in rates[:1] if one.whole)


def _evaluator_names(moments: Sequence[Moment]) -> list[str]:
    return [name for name in EVALUATORS if any(name in one.figures for one in moments)]


def title(moments: Sequence[Moment]) -> str:
    """Return how many runs there are, and from when to when."""
    first, last = moments[0].at[:10], moments[-1].at[:10]
    return f"{plural(len(moments), 'run')}, {first}" + f" to {last}" * (first != last)


# --- as a page ----------------------------------------------------------------------------------


def html_page(moments: Sequence[Moment], notes: Sequence[Phrase]) -> Iterator[str]:
    """Yield the history as a page; `notes` are sentences that a reader must know."""
    names, changed, when = _evaluator_names(moments), changes(moments), [one.at[5:10] for one in moments]
    titles = {name: dict.fromkeys(rate.about for one in moments for rate in one.rates(name)) for name in names}
    charts = {
        name: [(about, Chart.of([*_lines(moments, name, about)], when, sorted(changed))) for about in titles[name]]
        for name in names
    }
    shown = {
        "title": f"SAFE Gate history: {title(moments)}",
        "runs": title(moments),
        "last": VERDICTS[moments[-1].verdict],
        "moments": moments,
        "notes": notes,
        "changes": changed,
        "figures": [(EVALUATORS[name].title, charts[name]) for name in names],
        "table": runs_table(moments),
        "paths": [Untrusted(one.path) for one in moments],
    }
    return page("history.html", shown)


def _lines(moments: Sequence[Moment], name: str, about: str) -> Iterator[Line]:
    found = [{rate.name: rate for rate in one.rates(name) if rate.about == about and rate.whole} for one in moments]
    for own in dict.fromkeys(key for some in found for key in some):
        rates = [some.get(own) for some in found]
        limits = [one.limits.get((name, rate.rule)) if rate else None for one, rate in zip(moments, rates, strict=True)]
        yield Line(str(own), [(rate.part, rate.whole) if rate else None for rate in rates], limits)


# --- the charts, which `charts.html` draws ------------------------------------------------------


class Line(NamedTuple):
    """A rate over runs: part and whole of each, and the least that the gate allowed, or None. At least one has it."""

    name: str
    rates: Sequence[tuple[int, int] | None]
    limits: Sequence[float | None]

    def values(self) -> list[tuple[int, float]]:
        """Return the share of each run that has one, with the run's place."""
        return [(place, rate[0] / rate[1]) for place, rate in enumerate(self.rates) if rate]


class Chart(NamedTuple):
    """Rates over runs: `when` these were, and the places of those with other rules. The axis begins at `lowest`."""

    lines: Sequence[Line]
    when: Sequence[str]
    changes: Sequence[int]
    is_limited: bool
    lowest: float
    steps: int

    @classmethod
    def of(cls, lines: Sequence[Line], when: Sequence[str], changes: Sequence[int]) -> Chart:
        """Return the chart of some lines, with an axis that has room for each of their values, or for their bands."""
        limits = [limit for one in lines for limit in one.limits if limit is not None]
        rates = (rate for one in lines for rate in one.rates if rate)
        lows = (wilson(*rate)[0] if len(lines) == 1 else rate[0] / rate[1] for rate in rates)
        least = min((*limits, *lows), default=0)
        return cls(lines, when, changes, bool(limits), *next(axis for axis in _AXES if axis[0] <= least))

    @property
    def step(self) -> float:
        """The pixels of a run."""
        return _WIDE / len(self.when)

    def x(self, place: float) -> float:
        """Return where a run is, from the left."""
        return _LEFT + self.step * (place + 0.5)

    def y(self, value: float) -> float:
        """Return where a rate is, from the top."""
        return _TOP + _PLOT * (1 - (value - self.lowest) / (1 - self.lowest))

    def grid(self) -> Iterator[float]:
        """Yield the rates that have a line of the grid."""
        yield from (self.lowest + (1 - self.lowest) * step / self.steps for step in range(self.steps + 1))

    def labelled(self) -> range:
        """Return the places of the runs that have a label."""
        return range(0, len(self.when), -(-len(self.when) // _FEW_LABELS))

    def path(self, line: Line) -> str:
        """Return the path of a line, interrupted where a run has no value."""
        last, path = -2, ""
        for place, value in line.values():
            path += f"{'L' if place == last + 1 else 'M'}{self.x(place):.1f} {self.y(value):.1f}"
            last = place
        return path

    def bands(self, line: Line) -> Iterator[str]:
        """Yield the 95 % intervals of a line, the only one. Consecutive runs form one shape."""
        for is_there, some in groupby(enumerate(line.rates), lambda item: bool(item[1])):
            if is_there:
                found = [(place + side, *wilson(*rate)) for place, rate in some if rate for side in _SIDES]
                upper = [f"{self.x(place):.1f},{self.y(high):.1f}" for place, _, high in found]
                lower = [f"{self.x(place):.1f},{self.y(low):.1f}" for place, low, _ in reversed(found)]
                yield " ".join(upper + lower)


# --- as Markdown --------------------------------------------------------------------------------


def markdown_summary(moments: Sequence[Moment], notes: Sequence[Phrase]) -> str:
    """Return the history as Markdown: the latest runs as a table."""
    found, earlier = latest_runs(moments, _SHOWN)
    lines = [f"### SAFE Gate history · {title(moments)}", ""]
    lines += [line for note in notes for line in (markdown.phrase_line(note), "")]
    lines += [*markdown.table_lines(found), ""]
    return "\n".join([*lines, *([earlier, ""] if earlier else [])])
