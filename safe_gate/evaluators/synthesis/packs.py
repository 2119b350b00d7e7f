"""Rule packs: the shipped and a team's own, without switched-off rules, ready for scoring. Pure.

`data` are the JSON files of this package, as the shell reads them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any

from safe_gate.core.given import OwnFile, PackFact
from safe_gate.core.validate import masked, quote, suggestion
from safe_gate.evaluators.package_files import Package
from safe_gate.evaluators.synthesis.checks import own_checks, wording
from safe_gate.evaluators.synthesis.checks.shipped import SHIPPED
from safe_gate.evaluators.synthesis.checks.turn import BOOKS, Check, Rules, Turn, book_of
from safe_gate.evaluators.synthesis.engine import network
from safe_gate.evaluators.synthesis.engine.language import Languages
from safe_gate.evaluators.synthesis.engine.rules import CONTEXT, Book, Rule, Table, Vocabulary, contexts
from safe_gate.evaluators.synthesis.engine.tokens import Spelling
from safe_gate.evaluators.synthesis.names import GROUPS, IN_FAVOUR, REPORTED, wording_of_tags
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem

Pack = dict[str, Any]
SPEC = "spec"
"""The profile that counts the specification's rules alone, by its formulas."""

TABLE = "phrases.table"
"""The file of this package that holds the phrases of the packs that ship, compiled. Without it they are compiled."""


def recipe(settings: JsonObject, own: Sequence[OwnFile], data: Package) -> str:
    """Return the recipe of the rules, given settings by the names of options and a team's pack files.

    The profile `spec` leaves out rules that are not in the specification. Raises CannotJudge with every problem of
    names in the settings and of packs. Problems of a pack are its shape, unreadable phrases, ids that are taken, and
    broken promises to hit or miss a text.
    """
    off, words = list(settings["rules_off"]), settings["tags"]
    problems: tuple[Problem, ...] = ()
    try:
        packs = check(own, data)
    except CannotJudge as error:
        problems, packs = error.problems, [{"rules": [], **file.content} for file in own]
    problems += (
        *_not_checks(settings["default_checks"], [*REPORTED, *own_checks.defined(packs)]),
        *wording.unreadable(wording_of_tags(words)),
        *(_unknown(off, [*shipped(data), *packs]) if off else ()),
    )
    if problems:
        raise CannotJudge(*problems)
    return json.dumps([settings["profile"], packs, off, wording_of_tags(words)])


def _not_checks(names: Sequence[str], checks: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem for each name of `default-checks` that is not a check, and for no name at all."""
    place, known = Place("default-checks"), ", ".join(checks)
    for name in names:
        if name not in checks:
            yield Problem(
                place,
                f"is not a check{suggestion(name, checks)}; expected {known}",
                field=name,
                code=Code.INVALID_SETTING,
            )
    if not names:
        yield Problem(
            place, f"is empty, and a case without checks would pass; expected {known}", code=Code.INVALID_SETTING
        )


def from_recipe(recipe: str, data: Package) -> Rules:
    """Return the rules of a recipe: everything a verdict depends on besides the case.

    A recipe is a text, which can be sent to another process, as what is compiled cannot.
    """
    profile, own, off, words = json.loads(recipe)
    ready = rules(selected(own, off, data), data, profile, own=own, table=stored_table(data))
    return ready._replace(recipe=recipe, wording=words)


def as_shipped(data: Package, profile: str) -> Rules:
    """Return the rules that ship, ready to score by."""
    return rules(shipped(data), data, profile, table=stored_table(data))


def selected(own: Sequence[Pack], off: Sequence[str], data: Package) -> list[Pack]:
    """Return the shipped packs and a team's own, without switched-off rules."""
    kept = (_without(pack, off) for pack in (*shipped(data), *own))
    return [pack for pack in kept if pack]


def rules(
    packs: Sequence[Pack],
    data: Package,
    profile: str = "standard",
    *,
    own: Sequence[Pack] = (),
    table: Table | None = None,
) -> Rules:
    """Return packs made ready to score by. Phrases in the `table` are compiled already.

    `own` are a team's packs, whose checks are there whatever is switched off.
    """
    named = classes(data)
    checks = {name: one[SPEC] for name, one in SHIPPED.items() if SPEC in one} if profile == SPEC else dict(SHIPPED)
    checks |= own_checks.defined(own)
    return Rules(
        books={
            name: Book(f"{name}, {profile}", some, named, table or Table({}))
            for name, some in _by_book(packs, data, profile).items()
        },
        patterns=tuple(_patterns(pack, data) for pack in packs if _has_patterns(pack)),
        spelling=_spelling(data),
        languages=_languages(data),
        checks={name: Check.of(name, one) for name, one in checks.items()},
        fields=own_checks.fields((*packs, *own)),
        by_clause=profile != SPEC,
        words=Vocabulary(packs, named),
    )


def _by_book(packs: Iterable[Pack], data: Package, profile: str) -> dict[str, list[Rule]]:
    """Return the rules of packs that count under a profile, without patterns, by the book they are in."""
    ships = {name.rpartition("/")[2] for name in _pack_files(data)}
    found: dict[str, list[Rule]] = {name: [] for name in BOOKS}
    for pack in packs:
        is_own = f"{pack['pack']}.json" not in ships
        for rule in pack["rules"]:
            if "pattern" not in rule and _counts(rule, profile):
                found[book_of(pack["field"], pack["group"])].append(Rule.of(rule, pack, is_own=is_own))
    return found


def table(data: Package) -> bytes:
    """Return the phrases of all packs that ship, compiled, as `TABLE` holds them."""
    every = {
        f"{book}, {profile}": some
        for profile in ("standard", SPEC)
        for book, some in _by_book(shipped(data), data, profile).items()
    }
    lists: dict[str, dict[str, Sequence[str]]] = {
        name: {name: [*dict.fromkeys(phrase for rule in some for phrase in rule.phrases)]}
        for name, some in every.items()
    }
    lists[CONTEXT] = contexts(chain.from_iterable(every.values()))
    named = classes(data)
    return network.written({name: network.compiled(some, named) for name, some in lists.items()}, _key(data))


def stored_table(data: Package) -> Table:
    """Return the content of `TABLE`, an empty table without one, or if it is from other classes or other code."""
    try:
        return Table(network.Stored(data.read(TABLE), _key(data)))
    except FileNotFoundError:
        return Table({})


def _key(data: Package) -> str:
    return network.key(data.read("classes.json"), map(data.read, ("engine/network.py", "engine/notation.py")))


def _counts(rule: JsonObject, profile: str) -> bool:
    """Return whether a rule counts under a profile; a team's own has no origin and always does.

    The rules of the specification count under the profile `spec`, in `standard` only those that say so.
    """
    origin = rule.get("origin")
    return origin is None or (origin == SPEC) == (profile == SPEC) or bool(rule.get("standard"))


def _has_patterns(pack: Pack) -> bool:
    return any("pattern" in rule for rule in pack["rules"])


def _patterns(pack: Pack, data: Package) -> Any:
    """Return a pack's patterns, compiled. Raises ValueError as `patterns.compile_pack`."""
    from safe_gate.evaluators.synthesis.engine import patterns  # RE2, which only these need

    return patterns.compile_pack(pack, _json(data, "pattern_classes.json"))


def shipped(data: Package) -> tuple[Pack, ...]:
    """Return the packs that ship, in the order of their names."""
    return tuple(_json(data, name) for name in _pack_files(data))


_TAKEN = "is the id of another rule, pack or check; choose one of its own"


def check(own: Sequence[OwnFile], data: Package) -> list[Pack]:
    """Return a team's packs, which fit the schema. Raises CannotJudge with every problem of them."""
    if not own:
        return []
    found: list[Pack] = []
    problems: list[Problem] = []
    named: set[str] = set()
    ships = shipped(data)
    taken = {rule["id"] for pack in ships for rule in pack["rules"]} | {pack["pack"] for pack in ships}
    for file in own:
        pack = {"rules": [], **file.content}
        found.append(pack)
        if file.only_names:
            continue
        ids: list[tuple[str, tuple[str | int, ...]]] = [(pack["pack"], ("pack",))]
        ids += [(rule["id"], ("rules", index, "id")) for index, rule in enumerate(pack["rules"])]
        ids += [(pack["check"], ("check",))] * ("defines" in pack and pack["check"] not in named)
        named.add(pack["check"])
        for one, path in ids:
            problems += [Problem(file.place(*path), _TAKEN, one)] if one in taken else []
            taken.add(one)
        begins, words = f"{pack['pack']}/", f"expected an id that begins with its pack's: {pack['pack']}/..."
        foreign = ((one, path) for one, path in ids if path[0] == "rules" and not one.startswith(begins))
        broken = [Problem(file.place(*path), words, one, "id") for one, path in foreign]
        broken += _broken_promises(file, pack, data)
        problems += broken or (_too_large(file, pack, data) if _has_patterns(pack) else ())
    problems += own_checks.problems(own)
    if problems:
        raise CannotJudge(*problems)
    return found


def digest(settings: JsonObject, own: Sequence[OwnFile], data: Package) -> str:
    """Return the SHA-256 of all packs and what they build on, and of what is switched off."""
    sha256 = hashlib.sha256()
    off = settings["rules_off"]
    names = ("classes.json", "languages.json", "lexicon.json", "pattern_classes.json")
    shipped_files = ((name.rpartition("/")[2], data.read(name)) for name in (*names, *_pack_files(data)))
    for name, content in (*shipped_files, *((file.name, file.data) for file in own)):
        sha256.update(f"{name}\0".encode("utf-8", "surrogateescape") + content + b"\0")
    sha256.update(json.dumps(SHIPPED, sort_keys=True).encode())
    sha256.update(json.dumps(sorted(set(off))).encode() if off else b"")
    return sha256.hexdigest()


def facts(own: Sequence[OwnFile], data: Package) -> dict[str, PackFact]:
    """Return all rules and a team's checks by their ids, including those that are switched off.

    A rule can let a reply pass unless its group makes a check apply or speaks against the reply: others stop hits.
    """
    teams = check(own, data)
    strict = {group for one in SHIPPED.values() for side in ("applies", "against") for group in one.get(side, ())}
    lets_pass = IN_FAVOUR | (GROUPS.keys() - strict) | own_checks.lets_pass(teams)
    every = [(id_, PackFact(sha256, group in lets_pass)) for id_, group, sha256 in _digests_of_shipped(data)]
    for pack in teams:
        every += own_checks.facts(pack) if "defines" in pack else ()
        digests = own_checks.digests_of_rules(pack)
        every += ((id_, PackFact(sha256, group in lets_pass)) for id_, group, sha256 in digests)
    return dict(every)


@cache
def _digests_of_shipped(data: Package) -> tuple[tuple[str, str, str], ...]:
    return tuple(chain.from_iterable(map(own_checks.digests_of_rules, shipped(data))))


def _too_large(file: OwnFile, pack: Pack, data: Package) -> Iterator[Problem]:
    """Yield a problem if patterns that can each run cannot run together."""
    try:
        _patterns(pack, data)
    except ValueError as error:
        why = str(error).removeprefix(f"pack {pack['pack']}: ")
        yield Problem(file.place("rules"), f"cannot run: {why}", pack["pack"])


def _broken_promises(file: OwnFile, pack: Pack, data: Package) -> Iterator[Problem]:
    """Yield a problem for each unreadable phrase, and for each text that breaks a rule's promise."""
    for index, rule in enumerate(pack["rules"]):
        try:
            missed, struck = broken_promises(pack, rule, data)
        except ValueError as error:
            why = str(error).removeprefix(f"rule {rule['id']}: ")
            yield Problem(file.place("rules", index), f"cannot run: {why}", rule["id"])
            continue
        for text in missed:
            words, hidden = (f"does not hit {name(text)}, which it promises to hit" for name in (quote, masked))
            yield Problem(file.place("rules", index, "hit", rule["hit"].index(text)), words, rule["id"], "hit", hidden)
        for text, matched in struck:
            end, at = "which it promises to miss: matched", rule["miss"].index(text)
            words, hidden = (f"hits {name(text)}, {end} {name(matched)}" for name in (quote, masked))
            yield Problem(file.place("rules", index, "miss", at), words, rule["id"], "miss", hidden)


def broken_promises(pack: Pack, rule: JsonObject, data: Package) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the `hit` texts that a rule of a pack does not hit alone, and the `miss` texts that it hits.

    Each `miss` text comes with its first match. Raises ValueError for a phrase or pattern that cannot be read.
    """
    own = {key: value for key, value in rule.items() if key != "origin"}  # it counts under every profile
    alone = rules([{**pack, "rules": [own]}], data)
    _ = [book.walkers for book in alone.books.values()]  # a rule without such texts may be unreadable too

    def first(text: str) -> str:
        turn = Turn(text, text, alone)
        live = (match for match in turn.matches(pack["group"]) if not match.by)
        found = min(live, key=lambda match: match.start, default=None)
        return found.hit(turn.texts[pack["field"]], "").text if found else ""

    missed = [text for text in rule.get("hit", ()) if not first(text)]
    return missed, [(text, found) for text in rule.get("miss", ()) if (found := first(text))]


def _unknown(off: Iterable[str], packs: Sequence[Pack]) -> Iterator[Problem]:
    """Yield a problem for each id in `rules-off` that no rule and no pack has."""
    known = {pack["pack"] for pack in packs} | {rule["id"] for pack in packs for rule in pack["rules"]}
    for one in off:
        if one not in known:
            words = f"matches no rule and no pack{suggestion(one, sorted(known))}"
            yield Problem(Place("rules-off"), words, field=one, code=Code.INVALID_SETTING)


def _without(pack: Pack, off: Iterable[str]) -> Pack | None:
    """Return a pack without the rules that are switched off, None if nothing is left."""
    if pack["pack"] in off:
        return None
    rules = [rule for rule in pack["rules"] if rule["id"] not in off]
    return {**pack, "rules": rules} if rules else None


@cache
def classes(data: Package) -> dict[str, list[str]]:
    """Return the word classes by name."""
    return dict(_json(data, "classes.json"))


@cache
def _spelling(data: Package) -> Spelling:
    return Spelling.of(_json(data, "lexicon.json"))


@cache
def _languages(data: Package) -> Languages:
    lexicon = _json(data, "lexicon.json")
    members = (word for some in classes(data).values() for word in some if word.isalpha())
    english = frozenset((*members, *lexicon["spelling"], *lexicon["words"].split()))
    return Languages.of(_json(data, "languages.json"), english)


def _json(data: Package, name: str) -> Any:
    return json.loads(data.read(name))


def _pack_files(data: Package) -> list[str]:
    return [name for name in data.names if name.startswith("packs/")]
