"""The rule packs that ship and a team's own, checked and made ready for scoring. It reads files beside it.

A definition of a check has the form of `definitions.py`, without `title`, `asks`, `advice`, `groups`, `opt_in` and
`spec`.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

from safe_gate.core.case import OwnFile, PackFact
from safe_gate.core.jsontext import digest as digest_of
from safe_gate.core.text.mapped_text import Languages
from safe_gate.core.validate import masked, quote, suggestion
from safe_gate.evaluators.judged import PREFIX
from safe_gate.evaluators.synthesis.checks import wording
from safe_gate.evaluators.synthesis.checks.turn import BOOKS, Check, Rules, Turn, book_of
from safe_gate.evaluators.synthesis.definitions import (
    CHECKS,
    FRAME,
    GROUPS,
    IN_FAVOUR,
    REPORTED,
    SHIPPED,
    STAYING,
    is_own,
    wording_of_tags,
)
from safe_gate.evaluators.synthesis.engine.numbers import LONG, SHORTEST, Helplines, Numbers, digits_of
from safe_gate.evaluators.synthesis.engine.phrases import Automaton, compile_lists, network_bytes, network_from_bytes
from safe_gate.evaluators.synthesis.engine.rules import (
    CONTEXTS,
    Book,
    Rule,
    Table,
    Vocabulary,
    contexts_of_rules,
    rule_faults,
)
from safe_gate.evaluators.synthesis.engine.tokens import Spelling
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem

FOLDER = Path(__file__).parent
"""Where the packs and their table are."""

Pack = dict[str, Any]
SPEC = "spec"
"""The profile that counts the specification's rules alone, by its formulas."""

LISTS = "lists.json"
"""The file of this package with phrases that rules of two packs share; `@name` in a list of a rule stands for one."""

HELPLINES = "helplines.json"
"""The file of this package that lists helplines by country."""

TABLE = "phrases.table"
"""The file of this package that holds the phrases of the packs that ship, compiled. Without it they are compiled."""


def from_recipe(recipe: str) -> Rules:
    """Return the rules of a recipe: everything a verdict depends on besides the case."""
    profile, own, off, words, helplines = json.loads(recipe)
    ready = make_rules(select_packs(own, off), profile, own=own, table=stored_table(), helplines=helplines)
    return replace(ready, wording=words)


def shipped_rules(profile: str) -> Rules:
    """Return the rules that ship, ready to score by."""
    return make_rules(shipped_packs(), profile, table=stored_table())


def select_packs(own: Sequence[Pack], off: Sequence[str]) -> list[Pack]:
    """Return the shipped packs and a team's own, without switched-off rules."""
    packs = [pack for pack in (*shipped_packs(), *own) if pack["pack"] not in off]
    kept = [{**pack, "rules": [rule for rule in pack["rules"] if rule["id"] not in off]} for pack in packs]
    return [pack for pack in kept if pack["rules"]]


def make_rules(
    packs: Sequence[Pack],
    profile: str = "standard",
    *,
    own: Sequence[Pack] = (),
    table: Table | None = None,
    helplines: Mapping[str, Sequence[str]] | None = None,
) -> Rules:
    """Return the rules of packs, compiled. Phrases in the `table` are compiled already.

    `own` are a team's packs, whose checks are there whatever is switched off. `helplines` is the setting of that name.
    """
    named, (spelling, languages) = word_classes(), _lexicon()
    checks = {name: one[SPEC] for name, one in SHIPPED.items() if SPEC in one} if profile == SPEC else dict(SHIPPED)
    checks |= defined_checks(own)
    shipped_fields = {group: field for group, (_, field) in GROUPS.items()}
    counting = _counting_rules(packs, profile)
    numbers = [(rule["number"], _rule_of(pack, rule)) for pack, rule in counting if "number" in rule]
    return Rules(
        books={one: Book(f"{one}, {profile}", partial(_rules_in, one, packs, profile), named, table) for one in BOOKS},
        numbers=Numbers(numbers, lambda: Helplines(_read_json(HELPLINES), **(helplines or {}))),
        spelling=spelling,
        languages=languages,
        checks={name: Check.of(name, one) for name, one in checks.items()},
        fields=shipped_fields | {pack["group"]: pack["field"] for pack in (*packs, *own) if "group" in pack},
        by_clause=profile != SPEC,
        words=Vocabulary(own, {}, table.vocabulary) if table else Vocabulary([*shipped_packs(), *packs, *own], named),
    )


def _rules_in(book: str, packs: Iterable[Pack], profile: str) -> Iterator[Rule]:
    """Yield the rules of packs that are in a book and count under a profile, without those on numbers."""
    in_book = (pack for pack in packs if pack["rules"] and book_of(pack["field"], pack["group"]) == book)
    for pack, rule in _counting_rules(in_book, profile):
        if "number" not in rule:
            yield _rule_of(pack, rule)


def _rule_of(pack: Pack, rule: JsonObject) -> Rule:
    return Rule.of(rule, pack, is_own=pack["pack"] not in _shipped_names())


def _counting_rules(packs: Iterable[Pack], profile: str) -> Iterator[tuple[Pack, JsonObject]]:
    """Yield the rules that count under a profile, each with its pack. A team's own that is not learned always does.

    The rules of the specification count under the profile `spec`, in `standard` only those that say so.
    """
    for pack in packs:
        is_of_team = pack["pack"] not in _shipped_names()
        for rule in pack["rules"]:
            origin = rule.get("origin")
            is_written = is_of_team and not isinstance(origin, dict)
            if is_written or (origin == SPEC) == (profile == SPEC) or rule.get("standard"):
                yield pack, rule


@cache
def _shipped_names() -> frozenset[str]:
    return frozenset(Path(name).stem for name in pack_files())


def compile_table() -> bytes:
    """Return the phrases and contexts of all packs that ship, compiled, as `TABLE` holds them."""
    packs = shipped_packs()
    every = {
        f"{book}, {profile}": [*_rules_in(book, packs, profile)] for profile in ("standard", SPEC) for book in BOOKS
    }
    phrases = {name: [*dict.fromkeys(chain.from_iterable(one.phrases for one in some))] for name, some in every.items()}
    network = compile_lists(phrases | contexts_of_rules(chain.from_iterable(every.values())), word_classes())
    of_rules: dict[str, dict[str, list[int]]] = {}
    for name, some in every.items():
        numbers = {phrase: number for number, phrase in enumerate(phrases[name])}
        of_rules[name] = {rule.id: [numbers[phrase] for phrase in rule.phrases] for rule in some}
    words = sorted(Vocabulary(packs, word_classes()).words)
    return network_bytes(network, _current_key(), {"phrases": of_rules, "vocabulary": " ".join(words)})


def stored_table() -> Table | None:
    """Return the content of `TABLE`, None without one, or if it is from other packs, classes or code."""
    with suppress(FileNotFoundError):
        if found := network_from_bytes(read_file(TABLE), _current_key()):
            network, head = found
            return Table(Automaton(network), head["phrases"], frozenset(head["vocabulary"].split()))
    return None


def _current_key() -> str:
    """Return the digest of all that a table is made from."""
    sha256 = hashlib.sha256(sys.byteorder.encode())
    for name in ("classes.json", LISTS, "engine/phrases.py", "engine/rules.py", *pack_files()):
        sha256.update(hashlib.sha256(read_file(name)).digest())
    return sha256.hexdigest()


@cache
def shipped_packs() -> tuple[Pack, ...]:
    """Return the packs that ship, in the order of their names, with what rules share written out.

    That is lists of phrases, and the phrases of `unless_before` that a pack has for all of its rules. Every caller gets
    the same packs, and changes none.
    """
    lists, packs = _read_json(LISTS), tuple(map(_read_json, pack_files()))
    for pack in packs:
        shared = pack.pop("unless_before", ())
        for rule in pack["rules"]:
            if shared:
                rule["unless_before"] = [*rule.get("unless_before", ()), *shared]
            for name in rule.keys() & {"phrases", *CONTEXTS}:
                rule[name] = [phrase for one in rule[name] for phrase in (lists[one[1:]] if one[0] == "@" else (one,))]
    return packs


@cache
def word_classes() -> dict[str, list[str]]:
    """Return the word classes by name."""
    return dict(_read_json("classes.json"))


@cache
def _lexicon() -> tuple[Spelling, Languages]:
    lexicon = _read_json("lexicon.json")
    members = (word for some in word_classes().values() for word in some if word.isalpha())
    english = frozenset((*members, *lexicon["spelling"], *lexicon["words"].split()))
    return Spelling(lexicon["spelling"]), Languages.of(_read_json("languages.json"), english)


def read_file(name: str) -> bytes:
    """Return the bytes of a file of this package."""
    return FOLDER.joinpath(name).read_bytes()


def _read_json(name: str) -> Any:
    return json.loads(read_file(name))


@cache
def pack_files() -> tuple[str, ...]:
    """Return the files of the packs that ship, by their paths from this folder."""
    return tuple(sorted(file.relative_to(FOLDER).as_posix() for file in FOLDER.glob("packs/**/*.json")))


def defined_checks(packs: Iterable[JsonObject]) -> dict[str, JsonObject]:
    """Return the checks that packs define, by name."""
    return {pack["check"]: pack["defines"] for pack in sorted(packs, key=lambda one: one["check"]) if "defines" in pack}


def recipe(settings: JsonObject, own: Sequence[OwnFile]) -> str:
    """Return the recipe of the rules, given settings by the names of options and a team's pack files.

    The profile `spec` leaves out rules that are not in the specification. Raises CannotJudge with every problem of
    names in the settings and of packs. Problems of a pack are its shape, unreadable phrases, ids that are taken, and
    broken promises to hit or miss a text.
    """
    off, words, packs = settings["rules_off"], wording_of_tags(settings["tags"]), _packs_of(own)
    problems = (
        *problems_alone(settings, own),
        *_definition_problems(own),
        *_default_check_problems(settings, [*REPORTED, *defined_checks(packs)]),
        *(_unknown_rule_problems(off, [*shipped_packs(), *packs]) if off else ()),
    )
    if problems:
        raise CannotJudge(*problems)
    return json.dumps([settings["profile"], packs, off, words, settings["helplines"]])


def problems_alone(settings: JsonObject, own: Sequence[OwnFile]) -> Iterator[Problem]:
    """Yield the problems of packs and settings that no other pack can solve."""
    yield from _pack_problems(own)
    yield from _tag_problems(wording_of_tags(settings["tags"]))
    yield from _helpline_problems(settings["helplines"])


def packs_in_recipe(recipe: str) -> list[Pack]:
    """Return the packs of a team in a recipe."""
    _, found, *_ = json.loads(recipe)
    return list(found)


def _default_check_problems(settings: JsonObject, checks: Sequence[str]) -> Iterator[Problem]:
    names, of = settings["default_checks"], ""
    if settings["profile"] == SPEC:
        checks, of = [name for name in checks if SPEC in SHIPPED.get(name, (SPEC,))], " of the profile spec"
    expected = f"expected {', '.join(checks)}"
    for name in names:
        if name not in checks:
            yield _setting_problem("default-checks", name, f"is not a check{of}{suggestion(name, checks)}; {expected}")
    if not names:
        yield _setting_problem("default-checks", "", f"is empty, and a case without checks would pass; {expected}")


def _setting_problem(setting: str, field: str, words: str) -> Problem:
    return Problem(Place(setting), words, field=field, code=Code.INVALID_SETTING)


def _tag_problems(words: Mapping[str, JsonObject]) -> Iterator[Problem]:
    for tag, kinds in words.items():
        for kind, index, why in wording.invalid_expressions(kinds):
            found = f"is not an RE2 regular expression: {why}; correct it, or write a text"
            yield _setting_problem("tags", f"{tag}.{kind}[{index}].regex", found)


def _helpline_problems(helplines: Mapping[str, Sequence[str]]) -> Iterator[Problem]:
    known = _read_json(HELPLINES)["countries"] if helplines else {}
    named = {name: code for code, data in known.items() for name in (code, *data["names"])}
    expected = f"expected some of {', '.join(known)}"
    if "country" in helplines and not helplines["country"]:
        words = f"is empty; {expected}; leave it out to take the numbers of all"
        yield _setting_problem("helplines", "country", words)
    for index, code in enumerate(helplines.get("country", ())):
        if code not in known:
            words = f"is {quote(code)}, which is no country of the list{suggestion(code, named)}; {expected}"
            yield _setting_problem("helplines", f"country[{index}]", words)
    for index, number in enumerate(helplines.get("also", ())):
        digits = digits_of(number)
        if not digits.isdecimal() or not SHORTEST <= len(digits) <= LONG:
            words = f"is {quote(number)}, which is no number; expected {SHORTEST} to {LONG} digits, as in 0131 496 0000"
            yield _setting_problem("helplines", f"also[{index}]", words)


def _packs_of(own: Sequence[OwnFile]) -> list[Pack]:
    return [{"rules": [], **file.content} for file in own]


def _pack_problems(own: Sequence[OwnFile]) -> Iterator[Problem]:
    """Yield the problems of each of a team's packs, which fit the schema."""
    if not own:
        return
    taken = dict.fromkeys(_ids(shipped_packs()), "one that ships")
    for file, pack in zip(own, _packs_of(own), strict=True):
        ids: list[tuple[str, tuple[str | int, ...]]] = [(pack["pack"], ("pack",))]
        ids += [(rule["id"], ("rules", index, "id")) for index, rule in enumerate(pack["rules"])]
        ids += [(pack["check"], ("check",))] if "defines" in pack else []
        begins = f"{pack['pack']}/"
        for one, path in ids:
            place = file.place(*path)
            if path[0] == "rules" and not one.startswith(begins):
                yield Problem(place, f"expected an id that begins with its pack's: {begins}...", one, "id")
            if other := f"{PREFIX} is for recorded verdicts" if f"{one}/".startswith(PREFIX) else taken.get(one):
                words = f"is the id of another rule, pack or check ({other}); choose one of its own"
                yield Problem(place, words, one)
            taken.setdefault(one, f"{place.path}:{place.line}")
        yield from _promise_problems(file, pack)


def packs_digest(settings: JsonObject, own: Sequence[OwnFile]) -> str:
    """Return the SHA-256 of all packs and what they build on, and of what is switched off."""
    names = ("classes.json", HELPLINES, "languages.json", "lexicon.json", LISTS, *pack_files())
    files = [(name.rpartition("/")[2], read_file(name)) for name in names] + [(file.name, file.data) for file in own]
    sha256, off = hashlib.sha256(), settings["rules_off"]
    for name, content in files:
        sha256.update(f"{name}\0".encode("utf-8", "surrogateescape") + content + b"\0")
    sha256.update(json.dumps(SHIPPED, sort_keys=True).encode())
    sha256.update(json.dumps(sorted(set(off))).encode() if off else b"")
    sha256.update(json.dumps(settings["helplines"], sort_keys=True).encode() if settings["helplines"] else b"")
    return sha256.hexdigest()


def pack_facts(own: Sequence[OwnFile]) -> dict[str, PackFact]:
    """Return facts on all rules and a team's checks by their ids, including those that are switched off.

    A rule can let a reply pass unless its group makes a check apply or counts against the reply. Where clauses are
    counted, a hit against it that spans two may take the place of two, but not of shipped rules. Raises CannotJudge
    with every problem of the packs.
    """
    if problems := [*_pack_problems(own), *_definition_problems(own)]:
        raise CannotJudge(*problems)
    packs = [*shipped_packs(), *_packs_of(own)]
    strict = {group for one in SHIPPED.values() for side in ("applies", "against") for group in one.get(side, ())}
    lets_pass = defaultdict[str, set[str]](set)
    for group, check in _cancelling(packs):
        lets_pass[group].add(check)
    lets_pass["listed_number"].update(check for check, one in SHIPPED.items() if one.get("misled_by"))
    for group in GROUPS.keys() - strict:
        lets_pass[group].add(GROUPS[group][0])
    counted = defaultdict[str, set[str]](set)
    for check, one in (*SHIPPED.items(), *defined_checks(packs).items()):
        for group in chain.from_iterable(one.get(side, ()) for side in _LOOSENS):
            lets_pass[group].add(check)
        for group in one.get("against", ()) if one["decides"] in {"outweighs", *STAYING} else ():
            counted[group].add(check)
    facts: dict[str, PackFact] = {}
    for pack in packs:
        there = set[str]() if pack["pack"] in _shipped_names() else counted[pack.get("group", "")]
        classes = word_classes() | pack.get("classes", {}) if there else {}
        facts.update(_definition_facts(pack) if "defines" in pack else ())
        around = {key: value for key, value in pack.items() if key not in ("rules", "about", "defines")}
        for rule in pack["rules"]:
            said = {key: value for key, value in rule.items() if key not in ("why", "miss")}  # `hit`: see `Vocabulary`
            spans = there and _may_span_clauses(rule, classes)
            digest, loosened = digest_of({**around, "rule": said}), lets_pass[pack["group"]]
            facts[rule["id"]] = PackFact(digest, loosened, there, there if spans else frozenset())
    return facts


def _may_span_clauses(rule: JsonObject, classes: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a hit of a rule may hold the end of a clause: a phrase without a comma stays within one."""
    text = " ".join(rule.get("phrases", (rule.get("phrase", ""),)))
    named = (member for name, members in classes.items() if f"{{{name}}}" in text for member in members)
    return "pattern" in rule or any("," in one for one in (text, *named))


def _cancelling(packs: Iterable[Pack]) -> Iterator[tuple[str, str]]:
    """Yield the groups whose hits may cancel what rules find against a reply, each with the check of such a rule."""
    for pack in (one for one in packs if one["rules"] and one["group"] not in IN_FAVOUR):
        for rule in pack["rules"]:
            without = (group for group, wanted in rule.get("only_if", {}).items() if not wanted)
            yield from ((group, pack["check"]) for group in (*rule.get("unless_message", ()), *without))


def _promise_problems(file: OwnFile, pack: Pack) -> Iterator[Problem]:
    """Yield a problem for each unreadable phrase, and for each text that breaks a rule's promise."""
    for index, rule in enumerate(pack["rules"]):
        try:
            missed, struck = broken_promises(pack, rule)
        except ValueError as error:
            why = str(error).removeprefix(f"rule {rule['id']}: ")
            why = f"phrase {why.removeprefix('phrases ')}" if "phrase" in rule and why.startswith("phrases ") else why
            yield Problem(file.place("rules", index), f"cannot run: {why}", rule["id"])
            continue
        for text in missed:
            words, hidden = (f"does not hit {name(text)}, which it promises to hit" for name in (quote, masked))
            yield Problem(file.place("rules", index, "hit", rule["hit"].index(text)), words, rule["id"], "hit", hidden)
        for text, matched in struck:
            end, at = "which it promises to miss: matched", rule["miss"].index(text)
            words, hidden = (f"hits {name(text)}, {end} {name(matched)}" for name in (quote, masked))
            yield Problem(file.place("rules", index, "miss", at), words, rule["id"], "miss", hidden)


def broken_promises(pack: Pack, rule: JsonObject) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the `hit` texts that a rule of a pack does not hit alone, and the `miss` texts that it hits.

    Each `miss` text comes with its first match. Raises ValueError for a phrase or pattern that cannot be read.
    """
    own = {key: value for key, value in rule.items() if key != "origin"}  # it counts under every profile
    alone = make_rules([{**pack, "rules": [own]}])
    for fault in rule_faults(alone.all, word_classes()):
        raise fault

    def first(text: str) -> str:
        turn = Turn(text, text, alone)
        live = (match for match in turn.matches(pack["group"]) if not match.by)
        found = min(live, key=lambda match: match.start, default=None)
        return found.hit(turn.texts[pack["field"]], "").text if found else ""

    missed = [text for text in rule.get("hit", ()) if not first(text)]
    return missed, [(text, found) for text in rule.get("miss", ()) if (found := first(text))]


def _unknown_rule_problems(off: Iterable[str], packs: Sequence[Pack]) -> Iterator[Problem]:
    known = _ids(packs)
    for one in off:
        if one not in known:
            words = f"matches no rule and no pack{suggestion(one, sorted(known))}"
            words = f"{words}; correct the setting, or list the rules: safe-gate rules"
            yield _setting_problem("rules-off", one, words)


def _ids(packs: Sequence[Pack]) -> set[str]:
    return {pack["pack"] for pack in packs} | {rule["id"] for pack in packs for rule in pack["rules"]}


_SIDES = {"user": ("applies", "not_in", "only_crisis_after", "void_after"), "assistant": ("for", "against")}
"""The lists of groups in a definition, by the field of their groups."""

_LOOSENS = frozenset({"for", "not_in", "only_crisis_after", "void_after"})
"""The lists in which one more group makes a check weaker. In the others, one less does."""


def _definition_problems(own: Sequence[OwnFile]) -> Iterator[Problem]:
    """Yield the problems of what packs say of each other: of checks, of groups and of conditions on groups."""
    packs = _packs_of(own)
    checks = defined_checks(packs)
    asked_for = {group for pack in packs for rule in pack["rules"] for group in rule.get("only_if", ())}
    used = asked_for.union(*(groups for one in checks.values() for groups in one.values() if isinstance(groups, list)))
    groups = dict(GROUPS)
    for file, pack in zip(own, packs, strict=True):
        for field, words in _group_faults(pack, checks, groups, used) if "group" in pack else ():
            yield Problem(file.place(field), words, pack["pack"], field)
    groups = {pack["group"]: (pack["check"], pack["field"]) for pack in packs if "group" in pack} | groups
    plain = {pack["group"] for pack in packs for rule in pack["rules"] if "only_if" not in rule}.union(GROUPS)
    for file, pack in zip(own, packs, strict=True):
        known = sorted(one for one in plain if pack.get("group") != FRAME or groups[one][1] == "user")
        for index, rule in enumerate(pack["rules"]):
            for group in sorted(rule.get("only_if", {}).keys() - {*known}):  # the rule would never count
                needs = "a group of the message" if pack["group"] == FRAME else "a group with a rule"
                words = f"{quote(group)} is no group to ask for{suggestion(group, known)}; expected {needs}"
                yield Problem(file.place("rules", index, "only_if"), f"{words} without only_if", rule["id"], "only_if")
        for field, words in _definition_faults(pack["defines"], groups) if "defines" in pack else ():
            yield Problem(file.place(*field.split(".")), words, pack["pack"], field)


def _group_faults(
    pack: Pack, checks: Mapping[str, JsonObject], groups: dict[str, tuple[str, str]], used: Set[str]
) -> Iterator[tuple[str, str]]:
    """Yield the field and the words of what is wrong with the check and the group of a pack, and add the group.

    `used` are the groups that definitions and conditions name.
    """
    check, group, serves = pack["check"], pack["group"], (pack["check"], pack["field"])
    if is_own(check) and check not in checks:
        words = f"{quote(check)} is a check that no pack defines{suggestion(check, [*CHECKS, *checks])}"
        yield "check", f"{words}; add `defines` to one pack of it, or add the pack that has it"
    elif (groups.setdefault(group, serves) if is_own(check) else groups.get(group)) != serves:
        known = {name: f"{name} of {field}" for name, (of, field) in groups.items() if of == check}
        words = f"{quote(group)} of {pack['field']} is not a group of {check}{suggestion(group, [*known])}"
        yield "group", f"{words}; expected {', '.join(known.values()) or 'a name of its own'}"
    elif is_own(check) and group not in used:  # its rules would never count
        words = f"{quote(group)} is a group that no definition names{suggestion(group, sorted(used))}"
        yield "group", f"{words}; add it to `defines` of {check}"


def _definition_faults(definition: JsonObject, groups: Mapping[str, tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the field and the words of each fault of the groups in a definition."""
    for group in sorted({*definition.get("for", ())}.intersection(definition.get("against", ()))):
        yield "defines.for", f"{quote(group)} is in against, too; keep it in one of them"
    for field, sides in _SIDES.items():
        known = [group for group, (_, looks_in) in groups.items() if looks_in == field]
        for side in sides:
            for group in (one for one in definition.get(side, ()) if one not in known):
                words = f"{quote(group)} is no group that looks in {field}{suggestion(group, known)}"
                yield f"defines.{side}", f"{words}; add its pack, or write one of {', '.join(known)}"


def _definition_facts(pack: JsonObject) -> Iterator[tuple[str, PackFact]]:
    """Yield the facts of a definition one by one, so that a comparison shows which one changed."""
    definition, name = pack["defines"], pack["check"]
    is_always = not definition.get("applies")
    yield name, PackFact(digest_of([definition["decides"], is_always]), lets_pass=set())
    for side in (side for sides in _SIDES.values() for side in sides):
        for group in definition.get(side, ()):
            piece = f"{name} {side} {group}"
            yield piece, PackFact(digest_of(piece), lets_pass={name} if side in _LOOSENS else set())
