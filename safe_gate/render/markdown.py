"""The Markdown scorecard: pull-request comment, job summary, report file (SAFE v0 spec 5.3). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from safe_gate.evaluators import sections
from safe_gate.model import JsonObject, Phrase, Place, Problem, Section, Severity, Table, Untrusted, in_order
from safe_gate.render.report import conclusion, departures, not_run
from safe_gate.render.untrusted import markdown

COMMENT_LIMIT = 65_000
"""Bytes a comment's text stays below: GitHub takes 65,536 characters, and a marker comes on top."""

SUMMARY_LIMIT = 1_000_000
"""Bytes a job summary stays below: GitHub drops one of more than 1,048,576 whole."""

_ROWS = (200, 50, 20, 5, 0)  # how many rows a table may have, tried in turn until the text fits
_ICONS = {"pass": "✅", "fail": "❌", "error": "⚠️"}
_DOTS = {Severity.FAILING: "🔴", Severity.REVIEW: "🟡"}
_ALIGN = {"<": ":--", ">": "--:", "^": ":-:"}
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")


def scorecard(report: JsonObject, problems: Sequence[Problem], *, limit: int, blob_url: str = "") -> str:
    """Return the report for a reviewer: verdict first, broken rules, cases to look at, the rest folded.

    The text stays below `limit` bytes of UTF-8: tables get shorter until it does, and say so.
    `blob_url` is where the data's files are shown at the judged commit; cases link there.
    """
    for rows in _ROWS:
        text = "\n".join(_lines(report, problems, rows, blob_url)) + "\n"
        if len(text.encode("utf-8", "replace")) < limit:
            break
    return text


def section_report(section: Section) -> str:
    """Return one evaluator's scorecard as a document of its own."""
    return "\n".join(
        (
            f"# {_phrase(section.title)}",
            "",
            *_notes(section),
            *_details(section, max(_ROWS)),
            *_findings([section], max(_ROWS), ""),
        )
    )


def _lines(report: JsonObject, problems: Sequence[Problem], rows: int, blob_url: str) -> Iterator[str]:
    shown = sections(report)
    broken = [rule for rule in report["rules"] if not rule["passed"]]
    yield f"### {_ICONS[report['verdict']]} SAFE Gate · {conclusion(report)}"
    yield ""
    if problems:
        yield from _problems(problems, rows)
    if broken:
        yield "> [!CAUTION]"
        for rule in broken:
            yield f"> - **{rule['message']}** (`{rule['rule']}`)"
        yield ""
    for section in shown:
        yield f"**{_phrase(section.title[:1]).removesuffix(' - ').removesuffix(' Scorecard')}** · {section.headline}  "
        yield from (f"{_phrase(note)}  " for note in section.notes)
    for sentence in (*not_run(report), *departures(report)):
        yield f"{sentence}  "
    yield ""
    if report["verdict"] == "pass" and any(section.findings for section in shown):
        yield "<details><summary>Cases to look at, within what the rules allow</summary>"
        yield ""
        yield from _findings(shown, rows, blob_url)
        yield "</details>"
    else:
        yield from _findings(shown, rows, blob_url)
    for section in shown:
        yield f"<details><summary><b>{_phrase(section.title)}</b></summary>"
        yield ""
        yield from _details(section, rows)
        yield "</details>"
    if report["rules"]:
        yield "<details><summary><b>Rules</b> · what was asked and what was found</summary>"
        yield ""
        yield from _table(
            Table(
                ("Rule", "Found", "Outcome"),
                "<<^",
                tuple((f"`{r['rule']}`", r["message"], "✅" if r["passed"] else "❌") for r in report["rules"]),
            )
        )
        yield ""
        yield "</details>"
    yield ""
    tool, packs = report["tool"], report["provenance"]["packs_sha256"][:12]
    rules = f" · rule packs <code>{packs}</code>" if packs else ""
    yield f"<sub>{tool['name']} {tool['version']}{rules} · the same inputs give these same words</sub>"


def _problems(problems: Sequence[Problem], rows: int) -> Iterator[str]:
    yield "> [!WARNING]"
    yield "> No verdict: the input or the settings have problems. That is never a pass."
    yield ""
    ordered = in_order(problems)
    columns: dict[str, list[str]] = {
        "Place": [p.place.path + (f":{p.place.line}" if p.place.line else "") for p in ordered],
        "Case": [p.case_id for p in ordered],
        "Field": [p.field for p in ordered],
        "Problem": [p.message for p in ordered],
    }
    given = {title: texts for title, texts in columns.items() if any(texts)}
    cells = [[Untrusted(text) if text else "" for text in row] for row in zip(*given.values(), strict=True)]
    yield from _table(Table(tuple(given), "<" * len(given), tuple(tuple(row) for row in cells[:rows])))
    yield from _more(len(ordered) - rows)
    yield ""


def _findings(shown: Sequence[Section], rows: int, blob_url: str) -> Iterator[str]:
    """Yield the cases to look at, failing ones first, each with its evidence and its place."""
    found = [finding for section in shown for finding in section.findings]
    if not found:
        return
    order = list(_DOTS)
    ranked = sorted(found, key=lambda finding: order.index(finding.severity))
    yield from _table(
        Table(
            ("", "Case", "What", "Evidence"),
            "^<<<",
            tuple(
                (
                    _DOTS[finding.severity],
                    _linked(finding.case_id, finding.place, blob_url),
                    finding.what,
                    "<br>".join(_phrase(phrase) for phrase in finding.evidence),
                )
                for finding in ranked[:rows]
            ),
        )
    )
    yield from _more(len(ranked) - rows)
    yield ""


def _details(section: Section, rows: int) -> Iterator[str]:
    yield " · ".join(section.counts)
    yield ""
    yield from _table(section.metrics)
    yield ""
    yield section.footer.replace("    ", " · ")
    yield ""
    if section.cases.rows:
        yield f"{section.cases_title}:"
        yield ""
        cases = section.cases
        yield from _table(Table(cases.header, cases.align, cases.rows[:rows]))
        yield from _more(len(cases.rows) - rows)
        yield ""
    for title, phrase in section.issues:
        yield f"- {title}: {_phrase(phrase)}"
    if section.issues:
        yield ""
    for title, table in section.details:
        yield f"<details><summary>{title}</summary>"
        yield ""
        yield from _table(Table(table.header, table.align, table.rows[:rows]))
        yield from _more(len(table.rows) - rows)
        yield ""
        yield "</details>"
        yield ""


def _notes(section: Section) -> Iterator[str]:
    for note in section.notes:
        yield from (_phrase(note), "")


def _more(number: int) -> Iterator[str]:
    if number > 0:
        yield ""
        yield f"… and {number} more: see the JSON report."


def _table(table: Table) -> Iterator[str]:
    yield _row(table.header)
    yield _row([_ALIGN[sign] for sign in table.align])
    for row in table.rows:
        yield _row([markdown(cell) for cell in row])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _phrase(phrase: Phrase) -> str:
    return "".join(markdown(words) for words in phrase)


def _linked(case_id: Untrusted, place: Place, blob_url: str) -> str:
    """Return a case's id, as a link to the line of its data where the file lies in the repository."""
    inside = blob_url and not place.path.startswith(("/", "../")) and place.path != ".."
    if not inside:
        return markdown(case_id)
    path = "".join(chr(b) if b in _UNRESERVED else f"%{b:02X}" for b in place.path.encode("utf-8", "surrogateescape"))
    return f"[{markdown(case_id)}]({blob_url}/{path}#L{place.line})"
