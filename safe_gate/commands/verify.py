"""`verify`: recompute reports from what they hold and from the files they name.

A report holds if its digests match its contents, its input files have the recorded SHA-256, and scoring and judging
these by the recorded settings gives the same report. What files cannot prove is left out: when and at which commit the
report was made, and what a baseline or a person added. The output says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from glob import escape
from pathlib import Path
from typing import Any

from safe_gate import __version__, one_run
from safe_gate.commands._command import Call, Command, complain, texts
from safe_gate.core.figures import enumerated, plural
from safe_gate.core.setting import OFF, nested
from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.gate import stored
from safe_gate.gate.stored import read_report, report_json
from safe_gate.github import Effects
from safe_gate.inputs import checked, disk, globs
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Place, Problem
from safe_gate.model.report import Digests, InputFile, Report, Verdict, Waivers
from safe_gate.model.results import Phrase, Table, Untrusted
from safe_gate.render import console
from safe_gate.render.untrusted import phrase_line
from safe_gate.settings import Settings, settings
from safe_gate.settings.reading import Config, Given, resolve

COMMAND = Command(
    place=12,
    summary="recompute reports from their contents and the files they name",
    exit_codes="0 all match, 1 a report does not match, 3 a report could not be checked",
    arguments={
        "reports": texts("REPORT", "reports of safe-gate run, or globs; start in the folder where they were made", "+")
    },
)

_STANDINGS = {1: "DOES NOT HOLD", 3: "NOT CHECKED", 0: "HOLDS"}
"""What `verify` finds about a report, by exit code, the worst first."""


def main(call: Call) -> int:
    """Recompute the reports that the command line names. Returns 0, 1 or 3, the worst of them."""
    paths, unmatched = globs.expand_on_disk(call.arguments["reports"], ".json")
    found = {complain(unmatched, call.effects)} if unmatched else set[int]()
    for path in paths:
        try:
            found.add(_verify(str(path), call.effects))
        except CannotJudge as error:
            found.add(complain(error.problems, call.effects))
    return next(code for code in _STANDINGS if code in found)


def _verify(path: str, effects: Effects) -> int:
    """Show whether a report holds, and return the exit code. Raises CannotJudge where that cannot be found out."""
    content, report, recorded = _read(path)
    contents = stored.digests(report)
    changed, gone = changed_and_gone(report)
    again = None if changed or gone else _recomputed(path, report, effects)
    made = stored.digests(again) if again else None
    given = content
    if again:  # with what is of the run that made the report: when and where, and an approval
        origin = {name: getattr(report.provenance, name) for name in ("commit", "base", "digests")}
        now = replace(again, provenance=replace(again.provenance, **origin), blessed=report.blessed)
        given = report_json(now)
    unlike = [name for name in {**content, **given} if content.get(name, ...) != given.get(name, ...)]
    if contents != recorded:
        code, reason = 1, "its digests do not match its contents"
    elif changed:
        code, reason = 1, f"{plural(len(changed), 'file')} changed since it was made"
    elif gone:
        where = "verify it in the folder where it was made, with the files it names"
        code, reason = 3, f"{plural(len(gone), 'file')} cannot be read; {where}"
    elif again and (unlike or made != recorded):
        code, reason = 1, "its files produce a different report"
        if made == recorded:  # what has no digest, such as a sum
            reason += f", with other values in {enumerated(unlike)}"
    else:
        code, reason = 0, plural(len(_files(report)), "file gives the same report", "files give the same report")
        if kept := _of_an_earlier_state(report):
            reason += f"; {enumerated(kept)} {'stands' if len(kept) == 1 else 'stand'} as recorded"

    def held(name: str, there: Digests | None) -> str:
        if there is None:
            return "not computed"
        found: str = getattr(there, name)
        return "holds" if found == getattr(recorded, name) else f"gives {found[:12]}"

    rows = ((name, one[:12], held(name, contents), held(name, made)) for name, one in asdict(recorded).items())
    effects.out(console.table_text(Table(("Digest", "Recorded", "Its contents", "Its files"), "<<<<", tuple(rows))))
    added = sorted([*_of_an_earlier_state(report), *(["blessed"] if report.blessed is not None else [])])
    remarks: list[Phrase] = [*changed, *gone]
    if again and added:
        remarks.append((f"Not recomputed: {', '.join(added)}.",))
    for remark in remarks:
        effects.out(phrase_line(remark))
    effects.out(f"{console.path_text(path)}: {_STANDINGS[code]} ({reason})")
    return code


def _read(path: str) -> tuple[JsonObject, Report, Digests]:
    """Return a report that has a verdict, of this version: as it is written and as it is read, and its digests.

    What is read leaves out what follows from the rest, such as a score. Raises CannotJudge for any other report.
    """
    place, content = Place(disk.display_path(Path(path))), None
    with suppress(CannotJudge):  # what is no JSON is refused below, as what it is
        content = disk.parse_json(disk.read_text(Path(path), place.path), place.path)
    tool = content.get("tool") if isinstance(content, Mapping) else None
    version = tool.get("version") if isinstance(tool, Mapping) else None
    if isinstance(version, str) and version != __version__:  # which may have reports of another shape
        words = f"was made by safe-gate {version}; verify it with that version (this is {__version__})"
        raise CannotJudge(Problem(place, words, "", "tool.version"))
    written = checked.read_document(Path(path), "report")
    report = read_report(written)
    if report.verdict is Verdict.ERROR:
        raise CannotJudge(Problem(place, "has no verdict, so there is nothing to verify; correct its problems first"))
    if report.provenance.digests is None:
        words = "has no digests; expected a report of safe-gate run"
        raise CannotJudge(Problem(place, words, "", "provenance.digests"))
    return written, report, report.provenance.digests


def changed_and_gone(report: Report) -> tuple[list[Phrase], list[Phrase]]:
    """Return sentences for the files of a report that changed, and for those that cannot be read."""
    changed: list[Phrase] = []
    gone: list[Phrase] = []
    for file in _files(report):
        try:
            sha256 = disk.sha256(Path(file.path)) if disk.exists(Path(file.path)) else ""
            why = "is gone"
        except CannotJudge as error:
            sha256, why = "", error.problems[0].message
        if not sha256:
            gone.append((Untrusted(file.path), f" {why}; the report read SHA-256 {file.sha256[:12]}"))
        elif sha256 != file.sha256:
            gives = f" has changed: its SHA-256 is {sha256[:12]}, the report read {file.sha256[:12]}"
            changed.append((Untrusted(file.path), gives))
    return changed, gone


def _files(report: Report) -> list[InputFile | Waivers]:
    """Return the files that a report was made from."""
    return [*report.provenance.inputs, *([known] if (known := _waivers(report)) else [])]


def _waivers(report: Report) -> Waivers | None:
    """Return the file of waivers that a report was judged by, None if it was none or is another commit's."""
    return None if report.provenance.policy_commit else report.waivers


def _of_an_earlier_state(report: Report) -> list[str]:
    """Return what of a report follows from files of an earlier state, with `policy_commit` its waivers too."""
    stated = {
        "comparison": report.comparison,
        "weakened": report.weakened,
        "recordings": report.recordings,
        "waivers": report.waivers if report.provenance.policy_commit else None,
    }
    return [name for name, value in stated.items() if value is not None]


def _recomputed(path: str, report: Report, effects: Effects) -> Report:
    """Return the report that a report's files and settings give. Raises CannotJudge if they give none.

    Recorded parts from an earlier state are kept, and judged again.
    """
    options, commit = _options(path, report), report.provenance.policy_commit
    if commit and any(options.value(one.rule_files.setting) for one in EVALUATORS.values() if one.rule_files):
        words = f"was judged by the rule packs of commit {commit[:12]}, which are not available"
        raise CannotJudge(Problem(Place(disk.display_path(Path(path))), words, "", "provenance.policy_commit"))
    again = one_run.recompute(options, effects._replace(generated_at=report.generated_at), report)
    return replace(again, provenance=replace(again.provenance, policy_commit=commit))


def _options(path: str, report: Report) -> Settings:
    """Return a report's recorded settings, validated like a config file, and its files by kind."""
    policy, name = report.provenance.policy, disk.display_path(Path(path))
    given: dict[str, Any] = {}
    for setting in settings():
        value = policy.get(setting.name)
        if value is None and setting.can_be_off and setting.name in policy:
            value = OFF
        if value is not None:
            given[".".join(setting.key)] = value
    config = nested(given)
    if faults := checked.load_schema("config").faults(config):
        raise CannotJudge(*(Problem(Place(name), one.message, "", f"provenance.policy: {one.field}") for one in faults))
    options = resolve(Given({}, {}, lambda _: Config(name, config), "verify"))
    known = _waivers(report)
    return options.replace(**dict(_inputs(report)), waivers=known.path if known else "")


def _inputs(report: Report) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the settings that name input files, each with those of a report.

    They are globs that name nothing else: as a glob c[1].jsonl names c1.jsonl too.
    """

    def paths(kind: str, suffix: str = "") -> tuple[str, ...]:
        named = (file.path for file in report.provenance.inputs if file.kind == kind)
        return tuple(escape(path) if path.lower().endswith(suffix) else path for path in named)

    for evaluator in EVALUATORS.values():
        form = evaluator.input
        yield form.setting, paths(form.kind, ".json" if form.cases else "")
        if form.cases:
            yield form.outputs, paths(form.outputs_kind)
