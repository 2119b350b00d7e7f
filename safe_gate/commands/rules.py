"""`rules`: lists the Synthesis rules, tests the rules of packs, or learns rules from marked cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from safe_gate import addons
from safe_gate.commands._command import Call, Command, text, texts
from safe_gate.core import jsontext
from safe_gate.core.figures import plural
from safe_gate.core.validate import quote, suggestion
from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.evaluators.synthesis import packs
from safe_gate.evaluators.synthesis.checks.turn import Rules
from safe_gate.github import Effects
from safe_gate.inputs import case_files, checked, disk, recorded
from safe_gate.inputs.case_files import compile_recipe
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.model.results import Table, Untrusted
from safe_gate.render import console
from safe_gate.scoring import sides
from safe_gate.settings import Settings

COMMAND = Command(
    place=6,
    summary="list the Synthesis rules, test the rules of a pack, or learn rules from marked cases",
    exit_codes="0 listed, passed or learned; 3 a failed test or another problem",
    arguments={
        "words": texts(
            "test|train FILE",
            "test PACK...: test the rules of packs; train CASES...: learn rules from marked cases",
        ),
        "--out": text("FOLDER", "train: write the learned rules to this folder, a pack for each group"),
    },
)

_SYNTHESIS = EVALUATORS["synthesis"]


def main(call: Call) -> int:
    """Test, learn or list rules, by the first word. Returns 0 or 3."""
    words, out, effects = call.arguments["words"], call.arguments["out"], call.effects
    options = call.options()
    if out and words[:1] != ["train"]:
        raise CannotJudge.at("--out", "is for rules train; nothing else is written", Code.USAGE)
    expected = "expected rules, rules test PACK..., or rules train CASES..."
    match words:
        case []:
            recipe = sides.take_snapshot(options).recipe(_SYNTHESIS)
            effects.out("\n".join(_listed(compile_recipe(_SYNTHESIS.name, recipe))))
        case ["test" | "train" as word]:
            raise CannotJudge.at("command line", f"rules {word} names no file; {expected}", Code.USAGE)
        case ["test", *files]:
            recipe = sides.take_snapshot(Settings().replace(rules=tuple(files))).recipe(_SYNTHESIS)
            found = packs.packs_in_recipe(recipe)
            rules = sum(len(pack["rules"]) for pack in found)
            effects.out(f"{plural(len(found), 'pack')}, {plural(rules, 'rule')}: all texts hit and miss as expected")
        case ["train", *files]:
            _train(files, sides.take_snapshot(options), out, effects)
        case [word, *_]:
            what = f"{quote(word)} is unknown{suggestion(word, ('test', 'train'), quoted=False)}"
            raise CannotJudge.at("command line", f"{what}; {expected}", Code.USAGE)
    return 0


def _listed(rules: Rules) -> Iterator[str]:
    """Yield the rules that count: id, group and origin."""
    shown = tuple(
        (Untrusted(rule.id), rule.group, _ORIGINS.get(rule.origin) or f"learned: {rule.inside} of {rule.total}")
        for rule in rules.all
    )
    yield console.draw_table(Table(("Rule", "Group", "Origin"), "<<<", shown))
    yield f"{plural(len(shown), 'rule')}, {sum(rule.total > 0 for rule in rules.all)} of them learned"


_ORIGINS = {"spec": "spec", "hand": "hand-written", "": "own"}


def _train(patterns: Sequence[str], side: sides.Snapshot, out: str, effects: Effects) -> None:
    """Learn rules from marked cases, show them and what they gain, and write them as packs into the folder `out`.

    Without a folder nothing is written.
    """
    lesson = addons.training.teach(_cases(patterns), side.settings, side.recipe(_SYNTHESIS))
    paths = [Path(out) / f"{pack['pack']}.json" for pack in lesson.packs]
    others = [path for path in paths if not _may_replace(path)] if out else []
    if others:
        words = "exists and is not a learned pack; move it, or name another folder with --out"
        raise CannotJudge(*(Problem(Place(disk.display_path(path)), words) for path in others))
    effects.out("\n".join(console.draw_table(one) if isinstance(one, Table) else one for one in lesson.shown))
    if out:
        for path, pack in zip(paths, lesson.packs, strict=True):
            disk.write(path, jsontext.pack_json(pack))
    names = " ".join(console.path_text(path.as_posix()) for path in paths)
    if names and out:
        effects.out(f"Written: {names}\nTo use them: --rules {names}, or their names under `rules` in the config.")
    else:
        effects.out("Nothing is written without --out FOLDER." if names else "Nothing is written: no rule is learned.")
    earlier = {*Path(out).glob("team-learned-*.json")} - {*paths} if out else set[Path]()
    for path in sorted(filter(_may_replace, earlier)):
        effects.out(f"Not learned this time: {console.path_text(path.as_posix())}; delete it unless you need it.")


def _cases(patterns: Sequence[str]) -> list[Any]:
    files = case_files.CaseFiles(_SYNTHESIS, Settings().replace(synthesis_cases=tuple(patterns)))
    found = recorded.Found()
    cases = [*recorded.read_cases(files, sides.scoring_settings(Settings()), found)]
    if found.problems:
        raise CannotJudge(*found.problems.kept())
    return cases


def _may_replace(path: Path) -> bool:
    with suppress(CannotJudge):
        if not disk.exists(path):
            return True
        pack = checked.read_document(path, "rule-pack")
        return all(isinstance(rule.get("origin"), dict) for rule in pack["rules"])
    return False
