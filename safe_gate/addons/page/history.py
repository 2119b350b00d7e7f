"""The history of a gate over its runs: pass rates, labels, agreement, and changes of the rules. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise

from safe_gate.addons.page.markup import Series, fold, html_table, line_chart, page, paragraphs, render_phrase, section
from safe_gate.core.evaluator import Figures
from safe_gate.core.figures import percent, plural
from safe_gate.evaluators.registry import EVALUATORS, parts_of, setting_of
from safe_gate.model import record
from safe_gate.model.codec import JsonObject
from safe_gate.model.report import Report, Verdict
from safe_gate.model.results import Phrase, Rate, Table, Untrusted, Words
from safe_gate.render import markdown
from safe_gate.render.untrusted import html
from safe_gate.render.view import VERDICTS

_SHOWN = 30  # runs that a table in Markdown has: the latest
_AGREEMENT = "Agreement with human labels"


@record
class Moment:
    """The figures of one report, without its cases.

    `figures` are by evaluator, without a verdict none. `limits` has by evaluator and rule the least that the gate
    allowed. `terms` is what the run was judged by, each under our own name.
    """

    path: str
    at: str
    commit: str
    verdict: Verdict
    figures: Mapping[str, Figures]
    limits: Mapping[tuple[str, str], float]
    terms: JsonObject

    @classmethod
    def of(cls, path: str, report: Report) -> Moment:
        """Return the figures of a report."""
        provenance = report.provenance
        policy = {setting_of(name.replace("_", "-")): value for name, value in provenance.policy.items()}
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
            {"version of safe-gate": report.tool.version, "rule packs": provenance.packs_sha256, **policy},
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
        ("When", [one.at[:16].replace("T", " ") for one in moments]),
        ("Verdict", [VERDICTS[one.verdict] for one in moments]),
    ]
    if any(one.commit for one in moments):
        columns.insert(2, ("Commit", [Untrusted(one.commit[:7]) if one.commit else "" for one in moments]))
    for name in _evaluator_names(moments):
        about = next(one.rates(name)[0].about for one in moments if name in one.figures)
        figures = [_rate_text(one.rates(name)[:1]) for one in moments]
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


def _rate_text(rates: Sequence[Rate]) -> str:
    """Return the share of several rates together, empty of nothing."""
    part, whole = sum(rate.part for rate in rates), sum(rate.whole for rate in rates)
    return f"{percent(part / whole, 1)} ({part} of {whole})" if whole else ""


def _evaluator_names(moments: Sequence[Moment]) -> list[str]:
    return [name for name in EVALUATORS if any(name in one.figures for one in moments)]


def title(moments: Sequence[Moment]) -> str:
    """Return how many runs there are, and from when to when."""
    first, last = moments[0].at[:10], moments[-1].at[:10]
    return f"{plural(len(moments), 'run')}, {first}" + f" to {last}" * (first != last)


# --- as charts ----------------------------------------------------------------------------------


def _charts(moments: Sequence[Moment], name: str) -> Iterator[str]:
    marks, when = sorted(changes(moments)), [one.at[5:10] for one in moments]
    for about in dict.fromkeys(rate.about for one in moments for rate in one.rates(name)):
        chart = line_chart(about, list(_series(moments, name, about)), when, marks)
        yield f"<figure><figcaption>{html(about)}</figcaption>{chart}</figure>\n"


def _series(moments: Sequence[Moment], name: str, about: str) -> Iterator[Series]:
    found = [{rate.name: rate for rate in one.rates(name) if rate.about == about and rate.whole} for one in moments]
    for own in dict.fromkeys(key for some in found for key in some):
        rates = [some.get(own) for some in found]
        limits = [one.limits.get((name, rate.rule)) if rate else None for one, rate in zip(moments, rates, strict=True)]
        yield Series(str(own), [(rate.part, rate.whole) if rate else None for rate in rates], limits)


def html_page(moments: Sequence[Moment], notes: Sequence[Phrase]) -> Iterator[str]:
    """Yield the history as a page; `notes` are sentences that a reader must know."""
    return page(f"SAFE Gate history: {title(moments)}", _body(moments, notes))


def _body(moments: Sequence[Moment], notes: Sequence[Phrase]) -> Iterator[str]:
    last = moments[-1]
    yield f'<header class="verdict {html(last.verdict)}"><div>\n<p class="name">SAFE Gate</p>\n<h1>History</h1>\n'
    yield f"<p>{html(title(moments))}. The last run: {VERDICTS[last.verdict]}.</p>\n</div></header>\n<main>\n"
    yield from paragraphs(notes)
    yield from section("Rules changed", _rule_changes(moments))
    for name in _evaluator_names(moments):
        charts = ('<div class="charts">\n', *_charts(moments, name), "</div>")
        yield from section(html(EVALUATORS[name].title), charts)
    reports = (f"<p>{render_phrase((Untrusted(one.path),))}</p>\n" for one in moments)
    table = html_table(runs_table(moments), "Runs", most=len(moments), whole=("When", "Verdict"))
    runs = chain(table, fold("Reports", reports))
    yield from section("Runs", runs, 'class="runs"')
    yield "</main>\n"


def _rule_changes(moments: Sequence[Moment]) -> Iterator[str]:
    if changed := changes(moments):
        yield '<ol class="changes">\n'
        for number, (place, names) in enumerate(changed.items(), 1):
            at = html(moments[place].at[:16].replace("T", " "))
            yield f'<li value="{number}">Run {place + 1}, {at}: {html(", ".join(names))}</li>\n'
        yield '</ol>\n<p class="muted">Figures before and after a change are not comparable.</p>\n'


# --- as Markdown --------------------------------------------------------------------------------


def markdown_summary(moments: Sequence[Moment], notes: Sequence[Phrase]) -> str:
    """Return the history as Markdown: the latest runs as a table."""
    found, more = runs_table(moments), len(moments) - _SHOWN
    lines = [f"### SAFE Gate history · {title(moments)}", ""]
    lines += [line for note in notes for line in (markdown.phrase_line(note), "")]
    lines += [*markdown.table_lines(found._replace(rows=found.rows[-_SHOWN:])), ""]
    return "\n".join([*lines, *([f"… and {plural(more, 'earlier run')}: see the page.", ""] if more > 0 else [])])
