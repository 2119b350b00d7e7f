"""Shell: the rule packs of a run: those that ship, a team's own, less what is switched off. Reads files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from safe_gate import files
from safe_gate.evaluators import synthesis
from safe_gate.model import CannotJudge, Place, Problem
from safe_gate.validate import suggestion

Pack = dict[str, Any]


def load(
    profile: str = "weighted", sensitivity: str = "balanced", own: tuple[str, ...] = (), off: tuple[str, ...] = ()
) -> synthesis.Rules:
    """Return everything a Synthesis verdict depends on besides the case.

    `own` are a team's pack files, `off` ids of rules or packs that do not count. The profile `spec`
    leaves learned packs out. Raises CannotJudge with every problem of a pack: its shape, a pattern
    that cannot run, an id that is taken, a text that a rule promises to hit or miss and does not.
    """
    if not own and not off:
        return _shipped_rules(profile, sensitivity)
    packs = [*shipped(), *check(own)]
    _refuse_unknown(off, packs)
    return _rules([kept for pack in packs if (kept := _without(pack, off))], profile, sensitivity)


@cache
def _shipped_rules(profile: str, sensitivity: str) -> synthesis.Rules:
    return _rules(shipped(), profile, sensitivity)


def _rules(packs: Sequence[Pack], profile: str, sensitivity: str) -> synthesis.Rules:
    classes, lexicon = _classes(), synthesis.Lexicon(_data("lexicon.json"))
    needed, limit = synthesis.SENSITIVITIES[sensitivity] if profile == "weighted" else (1.0, 1.0)
    return synthesis.Rules(
        packs=tuple(synthesis.compile_pack(pack, classes) for pack in packs if "rules" in pack),
        learned=tuple(synthesis.LearnedPack.of(pack) for pack in packs if "weights" in pack and profile == "weighted"),
        lexicon=lexicon,
        languages=synthesis.Languages.of(_data("languages.json"), lexicon),
        needed=needed,
        limit=limit,
        is_weighted=profile == "weighted",
    )


@cache
def shipped() -> tuple[Pack, ...]:
    """Return the packs that ship, in the order of their names."""
    return tuple(json.loads(file.read_text("utf-8")) for file in _pack_files())


def check(own: Sequence[str]) -> list[Pack]:
    """Return a team's packs. Raises CannotJudge with every problem of them."""
    found: list[Pack] = []
    problems: list[Problem] = []
    taken = {rule["id"] for pack in shipped() for rule in pack.get("rules", ())} | {p["pack"] for p in shipped()}
    for path in files.expand(own):
        place = Place(files.shown(path))
        try:
            pack = files.document(str(path), "rule-pack")
        except CannotJudge as error:
            problems += error.problems
            continue
        ids = [pack["pack"], *(rule["id"] for rule in pack.get("rules", ()))]
        doubled = [one for index, one in enumerate(ids) if one in taken or one in ids[:index]]
        problems += [Problem(place, "is the id of another rule or pack; choose one of its own", one) for one in doubled]
        taken.update(ids)
        if "rules" not in pack:
            problems.append(Problem(place, "is a learned pack; expected hand-written rules", pack["pack"]))
        elif (pack["check"], pack["field"]) != synthesis.GROUPS[pack["group"]]:
            check_, field = synthesis.GROUPS[pack["group"]]
            words = f"serves {check_} and looks in {field}; the pack says {pack['check']} and {pack['field']}"
            problems.append(Problem(place, words, pack["pack"], f"group {pack['group']}"))
        problems += _broken_promises(place, pack)
        found.append(pack)
    if problems:
        raise CannotJudge(*problems)
    return found


def digest(own: tuple[str, ...] = (), off: tuple[str, ...] = ()) -> str:
    """Return the SHA-256 of all packs, word classes, lexicon and languages of a run, and of what is switched off."""
    sha256 = hashlib.sha256()
    data = [_folder().joinpath(name) for name in ("classes.json", "languages.json", "lexicon.json")]
    for file in (*data, *_pack_files(), *files.expand(own)):
        sha256.update(f"{file.name}\0".encode("utf-8", "surrogateescape") + file.read_bytes() + b"\0")
    sha256.update(json.dumps(sorted(off)).encode() if off else b"")
    return sha256.hexdigest()


def _broken_promises(place: Place, pack: Pack) -> Iterator[Problem]:
    """Yield a problem for each pattern that cannot run and each text a rule does not treat as it promises."""
    for rule in pack.get("rules", ()):
        try:
            missed, struck = synthesis.broken_promises(pack, rule, _classes())
        except ValueError as error:
            yield Problem(place, f"cannot run: {error}", rule["id"], "pattern")
            continue
        for text in missed:
            yield Problem(place, f"does not hit {json.dumps(text)}, which it promises to hit", rule["id"], "hit")
        for text in struck:
            yield Problem(place, f"hits {json.dumps(text)}, which it promises to miss", rule["id"], "miss")


def _refuse_unknown(off: Sequence[str], packs: Sequence[Pack]) -> None:
    known = {pack["pack"] for pack in packs} | {rule["id"] for pack in packs for rule in pack.get("rules", ())}
    unknown = [one for one in off if one not in known]
    if unknown:
        words = "is the id of no rule and of no pack"
        raise CannotJudge(
            *(Problem(Place("rules-off"), words + suggestion(one, sorted(known)), one) for one in unknown)
        )


def _without(pack: Pack, off: Sequence[str]) -> Pack | None:
    """Return a pack less the rules that are switched off, None if nothing is left."""
    if pack["pack"] in off:
        return None
    if "rules" not in pack:
        return pack
    rules = [rule for rule in pack["rules"] if rule["id"] not in off]
    return {**pack, "rules": rules} if rules else None


@cache
def _classes() -> dict[str, list[str]]:
    classes: dict[str, list[str]] = _data("classes.json")
    return classes


def _data(name: str) -> Any:
    return json.loads(_folder().joinpath(name).read_text("utf-8"))


def _folder() -> Traversable:
    return resources.files(synthesis)


def _pack_files() -> list[Traversable]:
    packs = _folder().joinpath("packs").iterdir()
    return sorted((file for file in packs if file.name.endswith(".json")), key=lambda file: file.name)
