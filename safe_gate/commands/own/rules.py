"""Runs commands that list the rules of one evaluator, test a team's files of rules, or learn rules from cases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from safe_gate.commands._command import Call
from safe_gate.core.command import LearnsRules
from safe_gate.core.evaluator import Evaluator
from safe_gate.core.figures import plural
from safe_gate.core.given import Case, RuleFiles
from safe_gate.core.model import CannotJudge, Code, JsonObject, Place, Problem, Verdict
from safe_gate.core.shown import Table
from safe_gate.inputs import checked, disk, recorded, writing
from safe_gate.inputs.own_rules import made, read, shipped
from safe_gate.publish.effects import Effects
from safe_gate.render import console, jsonreport, tables
from safe_gate.runs.exit_codes import EXIT_CODES
from safe_gate.scoring import asked, intake
from safe_gate.settings.model import Settings


def main(call: Call, evaluator: Evaluator, _command: LearnsRules) -> int:
    """Test, learn or list rules, by the first word. Returns 0 or 3."""
    words, out, effects = call.arguments["words"], call.arguments["out"], call.effects
    options, files = call.options(), evaluator.rule_files
    settings = asked.settings(options)
    if files is None:
        raise TypeError(f"{evaluator.name} has no files of rules")
    if out and words[:1] != ["train"]:
        raise CannotJudge(
            Problem(Place("--out"), f"is for {call.command} train; nothing else is written", code=Code.USAGE)
        )
    if not words:
        recipe = asked.recipe(evaluator, settings, read(settings), options.config)
        effects.out(_drawn(files.book().listed(made(evaluator.name, recipe))))
        return EXIT_CODES[Verdict.PASS]
    if words[0] == "test" and words[1:]:
        return _test(evaluator, files, words[1:], effects)
    if words[0] == "train" and words[1:]:
        return _train(evaluator, files, words[1:], settings, options.config, effects, out=out)
    name = call.command
    expected = f"expected: {name}, {name} test PACK..., or {name} train CASES..."
    raise CannotJudge(Problem(Place("command line"), expected, code=Code.USAGE))


def _drawn(shown: Iterable[Table | str]) -> str:
    return "\n".join(tables.drawn(one, "simple_outline") if isinstance(one, Table) else one for one in shown)


def _test(evaluator: Evaluator, files: RuleFiles, paths: Sequence[str], effects: Effects) -> int:
    """Test the rules of pack files against the texts that they must hit and must miss. Returns 0 or 3."""
    settings = asked.settings(Settings().replace(**{files.setting: tuple(paths)}))
    found = files.book().own(asked.recipe(evaluator, settings, read(settings)))
    rules = sum(len(pack["rules"]) for pack in found)
    effects.out(f"{plural(len(found), 'pack')}, {plural(rules, 'rule')}: all texts hit and miss as expected")
    return EXIT_CODES[Verdict.PASS]


def _train(
    evaluator: Evaluator,
    files: RuleFiles,
    patterns: Sequence[str],
    settings: JsonObject,
    config: str,
    effects: Effects,
    *,
    out: str,
) -> int:
    """Learn rules from marked cases, show them and what they gain, and write them as packs into the folder `out`.

    Without a folder nothing is written. Returns 0 or 3.
    """
    recipe = asked.recipe(evaluator, settings, read(settings), config)
    lesson = files.book().taught(_cases(evaluator, patterns), settings, recipe, shipped(evaluator.name))
    paths = [Path(out) / f"{pack['pack']}.json" for pack in lesson.packs]
    others = [path for path in paths if not _may_replace(path, files.kind)] if out else []
    if others:
        words = "exists and is not a learned pack; move it, or name another folder with --out"
        raise CannotJudge(*(Problem(Place(disk.shown(path)), words) for path in others))
    effects.out(_drawn(lesson.shown))
    if out:
        for path, pack in zip(paths, lesson.packs, strict=True):
            writing.write(path, jsonreport.pack_json(pack))
    names = " ".join(console.path_words(path.as_posix()) for path in paths)
    if names and out:
        setting = files.setting.replace("_", "-")
        effects.out(
            f"Written: {names}\nTo use them: --{setting} {names}, or their names under `{setting}` in the config."
        )
    else:
        effects.out("Nothing is written without --out FOLDER." if names else "Nothing is written: no rule is learned.")
    return EXIT_CODES[Verdict.PASS]


def _cases(evaluator: Evaluator, patterns: Sequence[str]) -> list[Case]:
    taken = intake.Intake(recorded.cases(evaluator, patterns, settings=asked.settings(Settings())))
    cases: list[Case] = list(taken.cases())
    if taken.problems:
        raise CannotJudge(*taken.problems)
    return cases


def _may_replace(path: Path, kind: str) -> bool:
    with suppress(CannotJudge):
        if not disk.exists(path):
            return True
        pack = checked.document(str(path), kind)
        return all(isinstance(rule.get("origin"), dict) for rule in pack["rules"])
    return False
