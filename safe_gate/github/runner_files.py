"""What a step tells its runner: outputs and the summary by files, annotations by lines of the log.

Annotations are escaped as `@actions/core` does: `%` first, then line ends; in properties `:` and `,` too.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from safe_gate.core.figures import plural
from safe_gate.model.problems import Place, Problem, in_order, number
from safe_gate.model.report import RuleOutcome
from safe_gate.model.results import Finding, Severity, Untrusted
from safe_gate.render import SUMMARY_LIMIT
from safe_gate.render.cases import rank
from safe_gate.render.console import problem_line
from safe_gate.render.untrusted import plain, quote_phrase
from safe_gate.render.view import ReportView, misplaced_sentence, rule_message


def write_outputs(path: str, values: Mapping[str, str]) -> None:
    """Append step outputs, each as a heredoc under a delimiter no value can know.

    Raises OSError if the file cannot be written.
    """
    end = _line_end(path)
    with Path(path).open("a", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        file.write(end)
        for name, value in values.items():
            delimiter = f"ghadelimiter_{os.urandom(16).hex()}"
            file.write(f"{name}<<{delimiter}\n{value}\n{delimiter}\n")


def append_summary(path: str, texts: Iterable[str]) -> None:
    """Append to the job summary the first of some texts, longest first, that its limit has room for.

    The runner drops a step's summary over `SUMMARY_LIMIT` bytes. An earlier part of the step may have written to it.
    Raises OSError if the file cannot be written or has no room left.
    """
    end = _line_end(path)
    with Path(path).open("ab") as file:
        room = SUMMARY_LIMIT - (file.tell() if file.seekable() else 0)
        for text in texts:
            data = (end + text if text.endswith("\n") else f"{end}{text}\n").encode("utf-8", "backslashreplace")
            if len(data) <= room:
                file.write(data)
                return
    raise OSError(f"{max(room, 0)} bytes are left of the {SUMMARY_LIMIT} that the runner takes")


def _line_end(path: str) -> str:
    """Return what ends a file's last line if nothing does: left open, it would swallow the first of ours."""
    file = Path(path)
    if not file.is_file() or not file.stat().st_size:
        return ""
    with file.open("rb") as written:
        written.seek(-1, os.SEEK_END)
        return "" if written.read() == b"\n" else "\n"


MOST = 10
"""The runner shows ten annotations of a level a step and drops the rest."""

_MOST_RULES = 4
_MESSAGE_LIMIT = 4_096  # the runner cuts at so many UTF-16 units; UTF-8 never has fewer bytes
_LEVELS = {"error": MOST, "warning": MOST - 4, "notice": MOST}  # four warnings may follow, of what was not published
_UNBROKEN = {Severity.FAILING: "warning", Severity.REVIEW: "notice"}
"""The level of a case within the rules' limits. Any other is an error."""


class Annotation(NamedTuple):
    """What a reviewer is shown on the job, or beside a line of a file if it has one.

    `level` is error, warning or notice; `file` is relative to the repository's root.
    """

    level: str
    message: str
    title: str = ""
    file: str = ""
    line: int = 0

    def command(self) -> str:
        r"""Return the line of the log that makes the runner show it.

        >>> Annotation("error", "50% of 2,\nbroken", title="a:b").command()
        '::error title=a%3Ab::50%25 of 2,%0Abroken'
        """
        properties = {"title": self.title, "file": self.file, "line": str(self.line) if self.line else ""}
        escaped = {key: _data(value).replace(":", "%3A").replace(",", "%2C") for key, value in properties.items()}
        data = self.message.encode("utf-8", "surrogatepass")
        cut = data[: _MESSAGE_LIMIT - 3].decode("utf-8", "ignore") + "…"
        message = self.message if len(data) <= _MESSAGE_LIMIT else cut
        given = ",".join(f"{key}={value}" for key, value in escaped.items() if value)
        return f"::{self.level}{' ' if given else ''}{given}::{_data(message)}"


def annotations_of(view: ReportView, folder: str = "") -> tuple[Annotation, ...]:
    """Return what a run annotates: broken rules, input problems and cases at their places, failing ones first.

    Of each level there are as many as the runner shows, the last one for those that are left out.
    `folder` is the working folder's path in the repository.
    """
    problems = view.report.problems
    noun = "problem" if problems else "case"
    fixed = [*_broken_rules(view.report.broken()), *_input_problems(problems, folder)]
    if words := misplaced_sentence(view.report, view.origin):
        fixed.append(Annotation("warning", quote_phrase(words), "SAFE Gate"))
    shown: list[Annotation] = []
    for level, most in _LEVELS.items():
        ours = [one for one in fixed if one.level == level]
        findings = (one for part in view.parts for one in part.section.findings)
        found = rank((one for one in findings if ("error" if one.breaks else _UNBROKEN[one.severity]) == level), most)
        total = len(ours) + found.number + (number(problems) - len(problems)) * (level == "error")
        ours += (_case(finding, level, folder) for finding in found.first)
        shown += _limit(ours, total, most, noun, "the log and the report")
    return tuple(shown)


def refusal_annotations(problems: Sequence[Problem], folder: str) -> Sequence[Annotation]:
    """Return what is annotated where there is no report, but problems: as many as the runner shows."""
    return _limit(list(_input_problems(problems, folder)), number(problems), MOST, "problem", "the log")


def _limit(ours: Sequence[Annotation], total: int, most: int, noun: str, where: str) -> Sequence[Annotation]:
    """Return the first annotations of a level. If there are too many, the last one counts the rest."""
    if total <= most:
        return ours
    more = plural(total - most + 1, f"more {noun}")
    return (*ours[: most - 1], Annotation(ours[0].level, f"{more}: see {where}", "SAFE Gate"))


def _broken_rules(broken: Sequence[RuleOutcome]) -> Iterator[Annotation]:
    """Yield the first broken rules, to leave room for cases."""
    for rule in broken[:_MOST_RULES]:
        yield Annotation("error", quote_phrase(rule_message(rule)), f"SAFE Gate: {rule.rule}")
    if more := len(broken[_MOST_RULES:]):
        words = f"{plural(more, 'more rule is', 'more rules are')} broken: see the log and the report"
        yield Annotation("error", words, "SAFE Gate")


def _input_problems(problems: Sequence[Problem], folder: str) -> Iterator[Annotation]:
    for problem in in_order(problems):
        yield _at(problem.place, "error", problem_line(problem), "SAFE Gate: cannot judge", folder)


def _case(finding: Finding, level: str, folder: str) -> Annotation:
    what = finding.what + f" ({finding.news})" * bool(finding.news)
    message = "\n".join((what, *(quote_phrase(phrase) for phrase in finding.evidence)))
    placed = _at(finding.place, level, message, f"SAFE Gate: {plain(finding.case_id)}", folder)
    if placed.file:
        return placed
    where = f"{finding.place.path}:{finding.place.line}"
    return placed._replace(message=f"{plain(Untrusted(where), len(where))}: {message}")


def _at(place: Place, level: str, message: str, title: str, folder: str) -> Annotation:
    """Return an annotation at its place, or without one if GitHub could not find it there."""
    path = place.within(folder)
    found = path and place.line and plain(Untrusted(path), len(path)) == path
    return Annotation(level, message, title, path, place.line) if found else Annotation(level, message, title)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
