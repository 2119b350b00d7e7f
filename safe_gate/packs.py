"""Shell: the rule packs of a run: those that ship, a team's own, less what is switched off. Reads files."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from safe_gate import files
from safe_gate.evaluators import synthesis
from safe_gate.figures import plural
from safe_gate.files import HERE
from safe_gate.model import CannotJudge, JsonObject, Place, Problem
from safe_gate.validate import masked, quote, suggestion

Pack = dict[str, Any]


def load(
    profile: str = "weighted",
    sensitivity: str = "balanced",
    own: Sequence[str] = (),
    off: Sequence[str] = (),
    weights: Mapping[str, float] | None = None,
    *,
    root: Path = HERE,
) -> synthesis.Rules:
    """Return everything a Synthesis verdict depends on besides the case.

    `own` are a team's pack files, `off` ids of rules or packs that do not count, `weights` what hits
    weigh by the id of their rule or pack. The profile `spec` leaves learned packs out. Raises
    CannotJudge with every problem of a pack: its shape, a pattern that cannot run, an id that is
    taken, a text that a rule promises to hit or miss and does not. `root` is that of `files.expand`.
    """
    recipe = [profile, sensitivity, check(own, root=root), list(off), dict(weights or {})]
    return made(json.dumps(recipe))


@lru_cache(maxsize=4)
def made(recipe: str) -> synthesis.Rules:
    """Return the rules that `load` returned with this recipe: all they follow from besides the packs that ship.

    A recipe is a text, which can be sent to another process, as what is compiled cannot. Raises CannotJudge as `load`.
    """
    profile, sensitivity, own, off, weights = json.loads(recipe)
    found = replace(rules(_selected(own, off, weights), profile, sensitivity), recipe=recipe)
    shipped.cache_clear()  # megabytes that hardly anything asks for again
    return found


def gather(own: Sequence[str], off: Sequence[str], weights: Mapping[str, float] | None) -> list[Pack]:
    """Return the packs of a run as data, in the order they are read. Raises CannotJudge as `load` does.

    Unlike there, corrections may be of packs that no longer ship as they were: to be learned again.
    """
    return _selected(check(own, outdated=True), off, weights)


def _selected(own: Sequence[Pack], off: Sequence[str], weights: Mapping[str, float] | None) -> list[Pack]:
    """Return the packs that ship and a team's own, less what is switched off, weighed. Raises CannotJudge."""
    packs = [*shipped(), *own]
    _refuse_unknown({"rules-off": off, "rule-weights": tuple(weights or ())}, packs)
    kept = [_weighed(left, weights or {}) for pack in packs if (left := _without(pack, off))]
    ids = {pack["pack"] for pack in kept}
    baseless = [pack for pack in kept if "corrects" in pack and pack["corrects"]["pack"] not in ids]
    if baseless:
        words = "corrects {}, which is switched off; switch off both or none"
        raise CannotJudge(
            *(Problem(Place("rules-off"), words.format(p["corrects"]["pack"]), p["pack"]) for p in baseless)
        )
    return kept


def rules(packs: Sequence[Pack], profile: str = "weighted", sensitivity: str = "balanced") -> synthesis.Rules:
    """Return gathered packs made ready to score by."""
    classes = _classes()
    needed, limit = synthesis.SENSITIVITIES[sensitivity] if profile == "weighted" else (1.0, 1.0)
    return synthesis.Rules(
        packs=tuple(synthesis.compile_pack(pack, classes) for pack in packs if "rules" in pack),
        learned=tuple(synthesis.LearnedPack.of(pack) for pack in _learned(packs) if profile == "weighted"),
        lexicon=lexicon(),
        languages=synthesis.Languages.of(_data("languages.json"), lexicon()),
        needed=needed,
        limit=limit,
        is_weighted=profile == "weighted",
        words=cache(lambda: synthesis.words_of(packs, classes)),
    )


def _learned(packs: Sequence[Pack]) -> Iterator[Pack]:
    """Yield the learned packs, each with its correction worked in and named."""
    corrections = {pack["corrects"]["pack"]: pack for pack in packs if "corrects" in pack}
    for pack in packs:
        if "bias" in pack:
            correction = corrections.get(pack["pack"])
            yield corrected(pack, correction) if correction else pack


def corrected(pack: Pack, correction: JsonObject) -> Pack:
    """Return a learned pack with a correction's weights added to its own; hits name both."""
    nothing = [0.0] * len(pack["groups"])
    weights = dict(pack["weights"])
    for feature, numbers in correction["weights"].items():
        old = weights.get(feature, nothing)
        weights[feature] = [round(a + b, 3) for a, b in zip(old, numbers, strict=True)]
    return {**pack, "pack": f"{pack['pack']}+{correction['pack']}", "weights": weights}


def correction(base: JsonObject, weights: Mapping[str, Sequence[float]]) -> Pack:
    """Return weights as a correction of a pack that ships, named after it."""
    return {
        "pack": f"team-{base['pack'].removesuffix('-learned')}",
        "corrects": {"pack": base["pack"], "sha256": fingerprint(base)},
        "about": f"Corrects {base['pack']}.",
        "weights": weights,
    }


def fingerprint(pack: JsonObject) -> str:
    """Return the SHA-256 of a pack's content, however its file is laid out."""
    return hashlib.sha256(json.dumps(pack, sort_keys=True).encode()).hexdigest()


@cache
def lexicon() -> synthesis.Lexicon:
    """Return what is known of words."""
    return synthesis.Lexicon(_data("lexicon.json"))


@cache
def shipped() -> tuple[Pack, ...]:
    """Return the packs that ship, in the order of their names."""
    return tuple(json.loads(file.read_text("utf-8")) for file in _pack_files())


def check(own: Sequence[str], *, outdated: bool = False, root: Path = HERE) -> list[Pack]:
    """Return a team's packs. Raises CannotJudge with every problem of them.

    Only if `outdated` may corrections be of packs that no longer ship as they were.
    """
    found: list[Pack] = []
    problems: list[Problem] = []
    taken = {rule["id"] for pack in shipped() for rule in pack.get("rules", ())} | {p["pack"] for p in shipped()}
    for path in files.rule_packs(own, root=root):
        place = Place(files.shown(path, root))
        try:
            pack = files.document(place.path, "rule-pack", root=root)
        except CannotJudge as error:
            problems += error.problems
            continue
        ids = [pack["pack"], *(rule["id"] for rule in pack.get("rules", ()))]
        doubled = [one for index, one in enumerate(ids) if one in taken or one in ids[:index]]
        problems += [Problem(place, "is the id of another rule or pack; choose one of its own", one) for one in doubled]
        taken.update(ids)
        if "corrects" in pack:
            problems += _misfits_of_correction(place, pack, found, outdated=outdated)
        else:
            problems += _misfits(place, pack)
        broken = [*_broken_promises(place, pack), *_foreign_ids(place, pack)]
        problems += broken or _too_large(place, pack)
        found.append(pack)
    if problems:
        raise CannotJudge(*problems)
    return found


def _misfits(place: Place, pack: Pack) -> Iterator[Problem]:
    """Yield a problem for each group that serves another check, and what of a learned pack does not fit its groups."""
    groups = pack["groups"] if "groups" in pack else [pack["group"]]
    for group in groups:
        check_, field = synthesis.GROUPS[group]
        if (pack["check"], pack["field"]) != (check_, field):
            words = f"serves {check_} and looks in {field}; the pack says {pack['check']} and {pack['field']}"
            yield Problem(place, words, pack["pack"], f"group {group}")
    if "weights" in pack:
        numbers = {"bias": pack["bias"], **{f"weights.{name}": some for name, some in pack["weights"].items()}}
        yield from _wrong_lengths(place, pack["pack"], numbers, len(groups))
        refused = [(index, why) for index, one in enumerate(pack["unless"]) if (why := synthesis.refusal(one))]
        for index, why in refused:
            yield Problem(place, f"cannot run: {why}", pack["pack"], f"unless[{index}]")
        if not refused and (why := synthesis.refusal(synthesis.LearnedPack.of(pack).unless)):
            words = f"cannot run together: {why}; expected fewer or smaller patterns"
            yield Problem(place, words, pack["pack"], "unless")


def _misfits_of_correction(place: Place, pack: Pack, others: Sequence[Pack], *, outdated: bool) -> Iterator[Problem]:
    """Yield a problem if what a correction corrects is not there, is another, or has a correction already."""
    base_id, sha256 = pack["corrects"]["pack"], pack["corrects"]["sha256"]
    bases = {base["pack"]: base for base in shipped() if "weights" in base}
    if base_id not in bases:
        words = f"is no learned pack that ships{suggestion(base_id, sorted(bases))}; expected one of {', '.join(bases)}"
        yield Problem(place, words, pack["pack"], "corrects.pack")
        return
    if outdated:
        return
    if sha256 != fingerprint(bases[base_id]):
        words = f"was learned on another {base_id} than this version ships; learn it again: safe-gate rules train"
        yield Problem(place, words, pack["pack"], "corrects.sha256")
        return
    for twin in (other["pack"] for other in others if other.get("corrects", {}).get("pack") == base_id):
        yield Problem(place, f"corrects {base_id}, as {twin} does; keep one", pack["pack"], "corrects.pack")
    base = bases[base_id]
    numbers = {f"weights.{name}": some for name, some in pack["weights"].items()}
    yield from _wrong_lengths(place, pack["pack"], numbers, len(base["groups"]))


def _wrong_lengths(place: Place, pack: str, numbers: Mapping[str, Sequence[float]], groups: int) -> Iterator[Problem]:
    for field, some in numbers.items():
        if len(some) != groups:
            words = f"has {plural(len(some), 'number')}; expected {groups}, one for each group"
            yield Problem(place, words, pack, field)


def digest(
    own: Sequence[str] = (),
    off: Sequence[str] = (),
    weights: Mapping[str, float] | None = None,
    *,
    root: Path = HERE,
) -> str:
    """Return the SHA-256 of all packs and what they build on, of what is switched off and of set weights."""
    sha256 = hashlib.sha256()
    data = [_folder().joinpath(name) for name in ("classes.json", "languages.json", "lexicon.json")]
    for file in (*data, *_pack_files(), *files.rule_packs(own, root=root)):
        sha256.update(f"{file.name}\0".encode("utf-8", "surrogateescape") + file.read_bytes() + b"\0")
    sha256.update(json.dumps(sorted(set(off))).encode() if off else b"")
    sha256.update(json.dumps(weights, sort_keys=True).encode() if weights else b"")
    return sha256.hexdigest()


def _foreign_ids(place: Place, pack: Pack) -> Iterator[Problem]:
    for rule in pack.get("rules", ()):
        if not rule["id"].startswith(pack["pack"] + "/"):
            yield Problem(place, f"expected an id that begins with its pack's: {pack['pack']}/...", rule["id"], "id")


def _too_large(place: Place, pack: Pack) -> Iterator[Problem]:
    """Yield a problem if rules that can each run cannot run together."""
    if "rules" in pack:
        try:
            synthesis.compile_pack(pack, _classes())
        except ValueError as error:
            yield Problem(place, f"cannot run: {error}", pack["pack"])


def _broken_promises(place: Place, pack: Pack) -> Iterator[Problem]:
    """Yield a problem for each pattern that cannot run and each text a rule does not treat as it promises."""
    for rule in pack.get("rules", ()):
        try:
            missed, struck = synthesis.broken_promises(pack, rule, _classes())
        except ValueError as error:
            yield Problem(place, f"cannot run: {error}", rule["id"])
            continue
        for text in missed:
            words, hidden = (f"does not hit {name(text)}, which it promises to hit" for name in (quote, masked))
            yield Problem(place, words, rule["id"], "hit", hidden)
        for text, matched in struck:
            words, hidden = (
                f"hits {name(text)}, which it promises to miss: matched {name(matched)}" for name in (quote, masked)
            )
            yield Problem(place, words, rule["id"], "miss", hidden)


def _refuse_unknown(given: Mapping[str, Sequence[str]], packs: Sequence[Pack]) -> None:
    """Raise CannotJudge for ids that a setting names and nothing has."""
    known = {pack["pack"] for pack in packs} | {rule["id"] for pack in packs for rule in pack.get("rules", ())}
    learned = {pack["pack"] for pack in packs if "weights" in pack}

    def words(one: str) -> str:
        pack = re.split("[/+]", one)[0]  # hits name the group too, and a correction
        whole = f"; {pack} is learned: set it as a whole" if pack in learned else suggestion(one, sorted(known))
        return f"matches no rule and no pack{whole}"

    problems = [
        Problem(Place(setting), words(one), one) for setting, ids in given.items() for one in ids if one not in known
    ]
    if problems:
        raise CannotJudge(*problems)


def _weighed(pack: Pack, weights: Mapping[str, float]) -> Pack:
    """Return a pack with the weights that are set: its rules' in place of their own, a learned one's times its own."""
    factor = weights.get(pack["pack"])
    if "rules" not in pack and factor is None:
        return pack
    if "corrects" in pack:
        return {**pack, "weights": {name: [factor * one for one in some] for name, some in pack["weights"].items()}}
    if "bias" in pack:
        return {**pack, "factor": factor}
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
    classes: dict[str, list[str]] = _data("classes.json")
    return classes


def _data(name: str) -> Any:
    return json.loads(_folder().joinpath(name).read_text("utf-8"))


def _folder() -> Path:
    return Path(synthesis.__file__).parent


def _pack_files() -> list[Path]:
    return sorted(_folder().joinpath("packs").glob("*.json"))
