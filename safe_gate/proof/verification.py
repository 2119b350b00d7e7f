"""Verifies a report against its own contents and the files it names. Reads files.

A report holds under three conditions:

- Its digests match its contents.
- Its input files have the recorded SHA-256.
- Scoring and judging the files by the recorded settings gives the same report.

Verification leaves out what files cannot prove: when and at which commit the report was made. It also leaves out what
a baseline or a person added, and the output says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from glob import escape
from itertools import islice
from pathlib import Path
from typing import Any

from safe_gate import __version__
from safe_gate.core.figures import enumerated, plural
from safe_gate.core.given import Documents
from safe_gate.core.model import CannotJudge, Config, InputFile, Phrase, Place, Problem, Untrusted, Verdict
from safe_gate.core.report import Digests, Earlier, Report, Waivers
from safe_gate.core.setting import OFF
from safe_gate.core.shown import Table
from safe_gate.evaluators import EVALUATORS
from safe_gate.gate import differences, limits
from safe_gate.inputs import checked, disk, schemas
from safe_gate.settings.model import Settings, settings
from safe_gate.settings.reading import read

MOST_DIFFERENCES = 10

Make = Callable[[Settings, str, Earlier], tuple[Report, Sequence[Problem]]]
"""Makes a report from settings, a time, and what is recorded of an earlier state.

With it come the problems that keep it from a verdict, if any.
"""


class Standing(StrEnum):
    """The result of verifying a report."""

    HOLDS = "HOLDS"
    DOES_NOT_HOLD = "DOES NOT HOLD"
    NOT_CHECKED = "NOT CHECKED"


@dataclass(frozen=True, slots=True)
class Verification:
    """The findings: the report's digests, one per row, remarks for readers, and the reason for the result."""

    standing: Standing
    digests: Table
    remarks: tuple[Phrase, ...]
    reason: str


def verify(path: str, make: Make) -> Verification:
    """Return whether a report holds; `make` scores and judges. Raises CannotJudge where that cannot be found out."""
    report, recorded = _read(path)
    contents = differences.digests(report)
    changed, gone = changed_and_gone(report)
    recomputed = None if changed or gone else _recompute(path, report, make)
    made = differences.digests(recomputed) if recomputed else None
    every = differences.differences(report.to_json(), recomputed.to_json()) if recomputed else iter(())
    differing = [*islice(every, MOST_DIFFERENCES + 1)]
    if contents != recorded:
        standing, reason = Standing.DOES_NOT_HOLD, "its digests do not match its contents"
    elif changed:
        standing, reason = Standing.DOES_NOT_HOLD, f"{plural(len(changed), 'file')} changed since it was made"
    elif gone:
        where = "verify it in the folder where it was made, with the files it names"
        standing, reason = Standing.NOT_CHECKED, f"{plural(len(gone), 'file')} cannot be read; {where}"
    elif differing or made != recorded:
        standing, reason = Standing.DOES_NOT_HOLD, "its files produce a different report"
    else:
        standing, reason = Standing.HOLDS, _same(report)
    rows = (
        (
            name,
            one[:12],
            _held(one, getattr(contents, name)),
            _held(one, getattr(made, name)) if made else "not computed",
        )
        for name, one in asdict(recorded).items()
    )
    return Verification(
        standing,
        Table(("Digest", "Recorded", "Its contents", "Its files"), "<<<<", tuple(rows)),
        (*changed, *gone, *_differences(differing), *_not_recomputed(report, recomputed)),
        reason,
    )


def _read(path: str) -> tuple[Report, Digests]:
    """Return a report that has a verdict, of this version, and its digests. Raises CannotJudge for any other."""
    place = Place(disk.shown(Path(path)))
    try:
        report = Report.from_json(checked.document(path, "report"))
    except CannotJudge:
        if (version := _version(disk.content(path))) not in ("", __version__):
            raise CannotJudge(_of_another(place, version)) from None
        raise
    if report.tool.version != __version__:
        raise CannotJudge(_of_another(place, report.tool.version))
    if report.verdict is Verdict.ERROR:
        raise CannotJudge(Problem(place, "has no verdict, so there is nothing to verify; correct its problems first"))
    if report.provenance.digests is None:
        raise CannotJudge(
            Problem(place, "has no digests; expected a report of safe-gate run", "", "provenance.digests")
        )
    return report, report.provenance.digests


def _version(content: Any) -> str:
    """Return the version that a document says it was made by, "" if it says none."""
    tool = content.get("tool") if isinstance(content, dict) else None
    version = tool.get("version") if isinstance(tool, dict) else None
    return version if isinstance(version, str) else ""


def _of_another(place: Place, version: str) -> Problem:
    words = f"was made by safe-gate {version}; verify it with that version (this is {__version__})"
    return Problem(place, words, "", "tool.version")


def changed_and_gone(report: Report) -> tuple[list[Phrase], list[Phrase]]:
    """Return sentences for the files of a report that changed, and for those that cannot be read."""
    changed: list[Phrase] = []
    gone: list[Phrase] = []
    for file in _files(report):
        try:
            sha256 = disk.sha256(file.path)
        except CannotJudge as error:
            why = error.problems[0].message
            gone.append((Untrusted(file.path), f" {why}; the report read SHA-256 {file.sha256}"))
            continue
        if sha256 != file.sha256:
            gives = f" has changed: its SHA-256 is {sha256}, the report read {file.sha256}"
            changed.append((Untrusted(file.path), gives))
    return changed, gone


def _files(report: Report) -> list[InputFile | Waivers]:
    """Return the files that a report was made from."""
    return [*report.provenance.inputs, *([known] if (known := _waivers(report)) else [])]


def _waivers(report: Report) -> Waivers | None:
    """Return the file of waivers that a report was judged by, None if it was none or is another commit's."""
    return None if report.provenance.policy_commit else report.waivers


def _same(report: Report) -> str:
    """Return in words what is the same when recomputed, and what was not compared with anything."""
    same = plural(len(_files(report)), "file gives the same report", "files give the same report")
    recorded = _of_an_earlier_state(report)
    stands = "stands" if len(recorded) == 1 else "stand"
    return f"{same}; {enumerated(recorded)} {stands} as recorded" if recorded else same


def _recompute(path: str, report: Report, make: Make) -> Report:
    """Return the report that a report's files and settings give. Raises CannotJudge if they give none.

    Recorded parts from an earlier state are kept, and judged again.
    """
    options, commit = _options(path, report), report.provenance.policy_commit
    if commit and any(options.value(one.rule_files.setting) for one in EVALUATORS.values() if one.rule_files):
        words = f"was judged by the rule packs of commit {commit[:12]}, which are not available"
        raise CannotJudge(Problem(Place(disk.shown(Path(path))), words, "", "provenance.policy_commit"))
    # A file with the default name may exist by now.
    stand = bool(commit) or report.waivers is None
    earlier = Earlier(report.comparison, report.weakened, report.waivers, waivers_stand=stand)
    recomputed, problems = make(options, report.generated_at, earlier)
    if problems:
        raise CannotJudge(*problems)
    made = replace(recomputed, provenance=replace(recomputed.provenance, policy_commit=commit))
    return _named_as_in(report, made)


_OLD_RULES = {"no-removed-cases": "allow-removed"}
"""The names that rules had in reports of earlier builds."""


def _named_as_in(report: Report, recomputed: Report) -> Report:
    """Return a report with the old name of each rule that another report calls by it."""
    known = {rule.rule for rule in report.rules}
    old = {name: one for name, one in _OLD_RULES.items() if one in known}
    return replace(
        recomputed, rules=tuple(replace(rule, rule=old.get(rule.rule, rule.rule)) for rule in recomputed.rules)
    )


def _of_an_earlier_state(report: Report) -> list[str]:
    """Return what of a report follows from files of an earlier state, with `policy_commit` its waivers too."""
    stated = {
        "comparison": report.comparison,
        "weakened": report.weakened,
        "waivers": report.waivers if report.provenance.policy_commit else None,
    }
    return [name for name, value in stated.items() if value is not None]


def _options(path: str, report: Report) -> Settings:
    """Return a report's recorded settings, validated like a config file, and its files by kind."""
    policy, name = limits.by_entry(report.provenance.policy), disk.shown(Path(path))
    config: dict[str, Any] = {}
    for setting in settings():
        value = policy.get(setting.name)
        if value is None and setting.can_be_off and setting.name in policy:
            value = OFF
        if value is not None:
            inner = config
            for key in setting.key[:-1]:
                inner = inner.setdefault(key, {})
            inner[setting.key[-1]] = value
    if faults := schemas.load_schema("config").faults(config):
        raise CannotJudge(*(Problem(Place(name), one.message, "", f"provenance.policy: {one.field}") for one in faults))
    options = read({}, {}, lambda _: Config(name, config), command="verify")

    def paths(kind: str, suffix: str) -> tuple[str, ...]:
        """Return the files of a kind, as globs that name nothing else: as a glob c[1].jsonl names c1.jsonl too."""
        named = (file.path for file in report.provenance.inputs if file.kind == kind)
        return tuple(escape(path) if path.lower().endswith(suffix) else path for path in named)

    return options.replace(
        **dict(_inputs(paths)),
        waivers=known.path if (known := _waivers(report)) else "",
    )


def _inputs(paths: Callable[[str, str], tuple[str, ...]]) -> Iterator[tuple[str, Any]]:
    """Yield the options that name input files, each with the paths of those; no glob of documents names others."""
    for evaluator in EVALUATORS.values():
        form = evaluator.input
        yield form.setting, paths(form.kind, ".json" if isinstance(form, Documents) else "")
        if isinstance(form, Documents):
            yield form.outputs, paths(form.outputs_kind, "")


def _held(recorded: str, found: str) -> str:
    return "holds" if found == recorded else f"gives {found[:12]}"


def _differences(differing: Sequence[differences.Difference]) -> Iterator[Phrase]:
    for one in differing[:MOST_DIFFERENCES]:
        yield (Untrusted(one.pointer), " is ", Untrusted(one.first), ", its files give ", Untrusted(one.second))
    if differing[MOST_DIFFERENCES:]:
        yield ("... and more",)


def _not_recomputed(report: Report, recomputed: Report | None) -> Iterator[Phrase]:
    """Yield the parts of a report that do not come from its files: what a baseline or a person added."""
    added = sorted([*_of_an_earlier_state(report), *(["blessed"] if report.blessed is not None else [])])
    if recomputed and added:
        yield (f"Not recomputed: {', '.join(added)}.",)
