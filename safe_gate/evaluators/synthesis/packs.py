"""The rule packs that ship, and a team's own with them, ready for scoring. It reads files beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from safe_gate.evaluators.synthesis.checks.turn import BOOKS, Check, Rules, book_of
from safe_gate.evaluators.synthesis.definitions import GROUPS, SHIPPED
from safe_gate.evaluators.synthesis.engine.language import Languages
from safe_gate.evaluators.synthesis.engine.numbers import Helplines, Numbers
from safe_gate.evaluators.synthesis.engine.phrases import Automaton, compiled, stored, table_key, written
from safe_gate.evaluators.synthesis.engine.rules import Book, Rule, Vocabulary, contexts
from safe_gate.evaluators.synthesis.engine.tokens import Spelling
from safe_gate.model.codec import JsonObject

FOLDER = Path(__file__).parent
"""Where the packs and their table are."""

Pack = dict[str, Any]
SPEC = "spec"
"""The profile that counts the specification's rules alone, by its formulas."""

HELPLINES = "helplines.json"
"""The file of this package that lists helplines by country."""

TABLE = "phrases.table"
"""The file of this package that holds the phrases of the packs that ship, compiled. Without it they are compiled."""


def from_recipe(recipe: str) -> Rules:
    """Return the rules of a recipe: everything a verdict depends on besides the case.

    A recipe is a text, which can be sent to another process, as what is compiled cannot.
    """
    profile, own, off, words, helplines = json.loads(recipe)
    ready = rules(selected(own, off), profile, own=own, table=stored_table(), helplines=helplines)
    return ready._replace(recipe=recipe, wording=words)


def as_shipped(profile: str) -> Rules:
    """Return the rules that ship, ready to score by."""
    return rules(shipped(), profile, table=stored_table())


def selected(own: Sequence[Pack], off: Sequence[str]) -> list[Pack]:
    """Return the shipped packs and a team's own, without switched-off rules."""
    kept = (_without(pack, off) for pack in (*shipped(), *own))
    return [pack for pack in kept if pack]


def rules(
    packs: Sequence[Pack],
    profile: str = "standard",
    *,
    own: Sequence[Pack] = (),
    table: Automaton | None = None,
    helplines: Mapping[str, Sequence[str]] | None = None,
) -> Rules:
    """Return packs made ready to score by. Phrases in the `table` are compiled already.

    `own` are a team's packs, whose checks are there whatever is switched off. `helplines` is the setting of that name.
    """
    named = classes()
    checks = {name: one[SPEC] for name, one in SHIPPED.items() if SPEC in one} if profile == SPEC else dict(SHIPPED)
    checks |= defined(own)
    return Rules(
        books={name: Book(f"{name}, {profile}", some, named, table) for name, some in _by_book(packs, profile).items()},
        patterns=tuple(compiled_patterns(pack) for pack in packs if has_patterns(pack)),
        numbers=Numbers([*_numbers(packs, profile)], lambda: Helplines(_json(HELPLINES), **(helplines or {}))),
        spelling=_spelling(),
        languages=_languages(),
        checks={name: Check.of(name, one) for name, one in checks.items()},
        fields=fields((*packs, *own)),
        by_clause=profile != SPEC,
        words=Vocabulary(packs, named),
    )


def _by_book(packs: Iterable[Pack], profile: str) -> dict[str, list[Rule]]:
    """Return the rules of packs that count under a profile, without patterns, by the book they are in."""
    found: dict[str, list[Rule]] = {name: [] for name in BOOKS}
    for pack in packs:
        for rule in pack["rules"]:
            if not rule.keys() & {"pattern", "number"} and _counts(rule, profile):
                found[book_of(pack["field"], pack["group"])].append(Rule.of(rule, pack, is_own=_is_own(pack)))
    return found


def _numbers(packs: Iterable[Pack], profile: str) -> Iterator[tuple[str, Rule]]:
    """Yield the rules of packs on numbers that count under a profile, each with the kind that it looks for."""
    for pack in packs:
        for rule in pack["rules"]:
            if "number" in rule and _counts(rule, profile):
                yield rule["number"], Rule.of(rule, pack, is_own=_is_own(pack))


def _is_own(pack: Pack) -> bool:
    return pack["pack"] not in _shipped_names()


@cache
def _shipped_names() -> frozenset[str]:
    return frozenset(Path(name).stem for name in files())


def table() -> bytes:
    """Return the phrases and contexts of all packs that ship, compiled, as `TABLE` holds them."""
    every = {
        f"{book}, {profile}": some
        for profile in ("standard", SPEC)
        for book, some in _by_book(shipped(), profile).items()
    }
    lists = {name: [*dict.fromkeys(phrase for rule in some for phrase in rule.phrases)] for name, some in every.items()}
    return written(compiled(lists | contexts(chain.from_iterable(every.values())), classes()), _key())


def stored_table() -> Automaton | None:
    """Return the content of `TABLE`, None without one, or if it is from other classes or other code."""
    try:
        network = stored(read(TABLE), _key())
    except FileNotFoundError:
        return None
    return Automaton(network) if network else None


def _key() -> str:
    return table_key(read("classes.json"), read("engine/phrases.py"))


def _counts(rule: JsonObject, profile: str) -> bool:
    """Return whether a rule counts under a profile; a team's own has no origin and always does.

    The rules of the specification count under the profile `spec`, in `standard` only those that say so.
    """
    origin = rule.get("origin")
    return origin is None or (origin == SPEC) == (profile == SPEC) or bool(rule.get("standard"))


def has_patterns(pack: Pack) -> bool:
    """Return whether a rule of a pack has a pattern."""
    return any("pattern" in rule for rule in pack["rules"])


def compiled_patterns(pack: Pack) -> Any:
    """Return a pack's patterns, compiled. Raises ValueError as `patterns.compile_pack`."""
    from safe_gate.evaluators.synthesis.engine import patterns  # RE2, which only these need

    return patterns.compile_pack(pack, _json("pattern_classes.json"))


def shipped() -> tuple[Pack, ...]:
    """Return the packs that ship, in the order of their names."""
    return tuple(_json(name) for name in files())


def _without(pack: Pack, off: Iterable[str]) -> Pack | None:
    """Return a pack without the rules that are switched off, None if nothing is left."""
    if pack["pack"] in off:
        return None
    rules = [rule for rule in pack["rules"] if rule["id"] not in off]
    return {**pack, "rules": rules} if rules else None


@cache
def classes() -> dict[str, list[str]]:
    """Return the word classes by name."""
    return dict(_json("classes.json"))


@cache
def _spelling() -> Spelling:
    return Spelling.of(_json("lexicon.json"))


@cache
def _languages() -> Languages:
    lexicon = _json("lexicon.json")
    members = (word for some in classes().values() for word in some if word.isalpha())
    english = frozenset((*members, *lexicon["spelling"], *lexicon["words"].split()))
    return Languages.of(_json("languages.json"), english)


def read(name: str) -> bytes:
    """Return the bytes of a file of this package."""
    return FOLDER.joinpath(name).read_bytes()


def _json(name: str) -> Any:
    return json.loads(read(name))


@cache
def files() -> tuple[str, ...]:
    """Return the files of the packs that ship, by their paths from this folder."""
    return tuple(sorted(file.relative_to(FOLDER).as_posix() for file in FOLDER.glob("packs/**/*.json")))


def defined(packs: Iterable[JsonObject]) -> dict[str, JsonObject]:
    """Return the checks that packs define, by name."""
    return {pack["check"]: pack["defines"] for pack in sorted(packs, key=lambda one: one["check"]) if "defines" in pack}


def fields(packs: Iterable[JsonObject]) -> dict[str, str]:
    """Return the field of each group, shipped and of packs."""
    shipped = {group: field for group, (_, field) in GROUPS.items()}
    return shipped | {pack["group"]: pack["field"] for pack in packs if "group" in pack}
