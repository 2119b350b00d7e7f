"""`history`: draw runs over time from their reports: a page, Markdown and the job summary."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from safe_gate import addons
from safe_gate.baseline import source
from safe_gate.commands._command import Call, Command, texts
from safe_gate.core.figures import plural
from safe_gate.github import publishing
from safe_gate.inputs import disk, globs
from safe_gate.model.problems import CannotJudge
from safe_gate.model.results import Phrase
from safe_gate.render import console
from safe_gate.render.untrusted import phrase_line

COMMAND = Command(
    place=11,
    summary="draw pass rates, labels and agreement from the reports of several runs, and mark changed rules",
    exit_codes="0 drawn, 3 a report cannot be read, or there is none",
    arguments={"files": texts("REPORT", "reports of safe-gate run (safe-gate.json), or globs of them", "+")},
    meanings={"report_dir": "The folder to write the history to."},
)


def main(call: Call) -> int:
    """Draw the runs whose reports the command line names, by their time. Returns 0 or 3."""
    options, effects = call.options(), call.effects
    moments, copies = read(call.arguments["files"])
    notes: list[Phrase] = [(f"{plural(copies, 'copy', 'copies')} of the same report left out.",)] if copies else []
    folder = Path(options.report_dir)
    written = {
        folder / "safe-gate.history.html": addons.page.history.html_page(moments, notes),
        folder / "safe-gate.history.md": (text := addons.page.history.markdown_summary(moments, notes)),
    }
    disk.write_all(written)
    table, earlier = addons.page.history.latest_runs(moments, console.MOST_ROWS, with_labels=False)
    effects.out(console.draw_table(table))
    for note in [(earlier,)] * bool(earlier) + notes:
        effects.out(phrase_line(note))
    effects.out(f"Written: {', '.join(console.path_text(disk.display_path(path)) for path in written)}")
    publishing.append_to_summary([text], effects, is_dry=options.dry_run)
    return 0


def read(patterns: Sequence[str]) -> tuple[list[addons.page.history.Moment], int]:
    """Return the runs of the reports, the earliest first, and the number of copied reports.

    One report is held at a time. Raises CannotJudge.
    """
    paths, problems = globs.expand_on_disk(patterns, ".json")
    found: dict[tuple[str, str], addons.page.history.Moment] = {}
    for path in paths:
        try:
            report = source.load_any_report(path)
        except CannotJudge as error:
            problems += error.problems
            continue
        moment = addons.page.history.Moment.of(disk.display_path(path), report)
        digest = digests.all if (digests := report.provenance.digests) else moment.path
        found.setdefault((moment.at, digest), moment)
    if problems:
        raise CannotJudge(*dict.fromkeys(problems))
    return sorted(found.values(), key=lambda one: (one.at, one.path)), len(paths) - len(found)
