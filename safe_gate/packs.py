"""Shell: the rule packs of a run: those that ship, a team's own, less what is switched off. Reads files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from safe_gate import files
from safe_gate.evaluators import synthesis
from safe_gate.model import CannotJudge, Place, Problem
from safe_gate.validate import suggestion

Pack = dict[str, Any]


def load(
    profile: str = "weighted",
    sensitivity: str = "balanced",
    own: Sequence[str] = (),
    off: Sequence[str] = (),
    weights: Mapping[str, float] | None = None,
) -> synthesis.Rules:
    """Return everything a Synthesis verdict depends on besides the case.

    `own` are a team's pack files, `off` ids of rules or packs that do not count, `weights` what hits
    weigh by the id of their rule or pack. The profile `spec` leaves learned packs out. Raises
    CannotJudge with every problem of a pack: its shape, a pattern that cannot run, an id that is
    taken, a text that a rule promises to hit or miss and does not.
    """
    weights = weights or {}
    if not own and not off and not weights:
        return _shipped_rules(profile, sensitivity)
    packs = [*shipped(), *check(own)]
    _refuse_unknown({"rules-off": off, "rule-weights": tuple(weights)}, packs)
    kept = [_weighed(left, weights) for pack in packs if (left := _without(pack, off))]
    return _rules(kept, profile, sensitivity)


@cache
def _shipped_rules(profile: str, sensitivity: str) -> synthesis.Rules:
    return _rules(shipped(), profile, sensitivity)


def _rules(packs: Sequence[Pack], profile: str, sensitivity: str) -> synthesis.Rules:
    classes, lexicon = _classes(), json.loads(_folder().joinpath("lexicon.json").read_text("utf-8"))
    needed, limit = synthesis.SENSITIVITIES[sensitivity] if profile == "weighted" else (1.0, 1.0)
    return synthesis.Rules(
        packs=tuple(synthesis.compile_pack(pack, classes) for pack in packs if "rules" in pack),
        learned=tuple(synthesis.LearnedPack.of(pack) for pack in packs if "weights" in pack and profile == "weighted"),
        lexicon=synthesis.Lexicon.of(lexicon),
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


def digest(own: Sequence[str] = (), off: Sequence[str] = (), weights: Mapping[str, float] | None = None) -> str:
    """Return the SHA-256 of all packs, word classes and lexicon of a run, of what is switched off, of set weights."""
    sha256 = hashlib.sha256()
    data: list[Traversable | Path] = [_folder().joinpath("classes.json"), _folder().joinpath("lexicon.json")]
    for file in (*data, *_pack_files(), *files.expand(own)):
        sha256.update(f"{file.name}\0".encode("utf-8", "surrogateescape") + file.read_bytes() + b"\0")
    sha256.update(json.dumps(sorted(off)).encode() if off else b"")
    sha256.update(json.dumps(weights, sort_keys=True).encode() if weights else b"")
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


def _refuse_unknown(given: Mapping[str, Sequence[str]], packs: Sequence[Pack]) -> None:
    """Raise CannotJudge for ids that a setting names and nothing has."""
    known = {pack["pack"] for pack in packs} | {rule["id"] for pack in packs for rule in pack.get("rules", ())}
    words = "is the id of no rule and of no pack"
    problems = [
        Problem(Place(setting), words + suggestion(one, sorted(known)), one)
        for setting, ids in given.items()
        for one in ids
        if one not in known
    ]
    if problems:
        raise CannotJudge(*problems)


def _weighed(pack: Pack, weights: Mapping[str, float]) -> Pack:
    """Return a pack with the weights that are set: its rules' in place of their own, a learned one's times its own."""
    factor = weights.get(pack["pack"])
    if "rules" not in pack:
        return pack if factor is None else {**pack, "scale": pack["scale"] * factor}
    rules = [
        rule if (weight := weights.get(rule["id"], factor)) is None else {**rule, "weight": weight}
        for rule in pack["rules"]
    ]
    return {**pack, "rules": rules}


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
    classes: dict[str, list[str]] = json.loads(_folder().joinpath("classes.json").read_text("utf-8"))
    return classes


def _folder() -> Traversable:
    return resources.files(synthesis)


def _pack_files() -> list[Traversable]:
    packs = _folder().joinpath("packs").iterdir()
    return sorted((file for file in packs if file.name.endswith(".json")), key=lambda file: file.name)
