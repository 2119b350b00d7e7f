"""Shell: reports of runs drawn as their history: a page, a picture, Markdown and the job summary."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from safe_gate.baseline import source
from safe_gate.core.figures import plural
from safe_gate.core.model import CannotJudge, Phrase, Problem
from safe_gate.inputs import files
from safe_gate.publish import delivery
from safe_gate.publish.effects import Effects
from safe_gate.render import console, trends
from safe_gate.settings.options import Options

NAME = "safe-gate.history"
"""How the files of a history are called, without their endings."""


def history(patterns: Sequence[str], options: Options, effects: Effects) -> None:
    """Draw the runs whose reports are named, by their time. Raises CannotJudge with every problem of the reports."""
    moments, copies = read(patterns)
    notes: list[Phrase] = [(f"{plural(copies, 'copy', 'copies')} of the same report left out.",)] if copies else []
    folder = Path(options.report_dir)
    written = {
        folder / f"{NAME}.html": trends.html_page(moments, notes),
        folder / f"{NAME}.svg": trends.svg(moments),
        folder / f"{NAME}.md": (text := trends.summary(moments, notes)),
    }
    files.write_all(written)
    effects.out(console.table(trends.runs_table(moments, with_labels=False)))
    for note in notes:
        effects.out(console.sentence(note))
    effects.out(f"Written: {', '.join(console.path_words(files.shown(path)) for path in written)}")
    delivery.append_to_summary(text, options, effects)


def read(patterns: Sequence[str]) -> tuple[list[trends.Moment], int]:
    """Return what each report says of its run, the earliest first, and how many copies of reports there are.

    One report is held at a time. Raises CannotJudge.
    """
    paths, problems = files.expand(patterns, ".json")
    found: dict[tuple[str, str], trends.Moment] = {}
    copies = 0
    for path in paths:
        try:
            report = source.any_report(str(path))
        except CannotJudge as error:
            problems += error.problems
            continue
        moment = trends.Moment.of(files.shown(path), report)
        digest = report["provenance"].get("digests", {}).get("all", moment.path)
        copies += (moment.at, digest) in found
        found.setdefault((moment.at, digest), moment)
    if problems:
        raise CannotJudge(*_named(problems))
    return sorted(found.values(), key=lambda one: (one.at, one.path)), copies


def _named(problems: Sequence[Problem]) -> Sequence[Problem]:
    return tuple(dict.fromkeys(problems))
