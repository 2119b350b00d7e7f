"""What any text costs: at most 2.2 times as much for twice the length, whatever is matched, read or normalised.

A text is doubled twice, in `make soak` three times and from twice the length. Calls of Python functions are counted,
and the limit holds for them. What the rest costs, matching above all, is processor time: the fastest of rounds that go
on until it is within the limit, as a busy machine may be slow. Of two doublings, a linear step takes 4 times as long,
half as much again where a text no longer fits a cache, and a quadratic one 16 times.
"""

import gc
import math
import time
from collections.abc import Callable, Iterator, Sequence
from cProfile import Profile
from pathlib import Path
from typing import Any

import pytest

from safe_gate.addons.importers import files
from safe_gate.addons.training import learn_rows
from safe_gate.core.jsontext import JsonError
from safe_gate.core.text import normalise
from safe_gate.core.text.mapped_text import similarity
from safe_gate.evaluators.synthesis.case import Case
from safe_gate.evaluators.synthesis.checks.score import score_case
from safe_gate.evaluators.synthesis.checks.turn import Turn
from safe_gate.evaluators.synthesis.checks.wording import judge_wording, requirements_of
from safe_gate.evaluators.synthesis.definitions import CHECKS
from safe_gate.model import codec
from safe_gate.model.problems import Place
from tests.support import packs
from tests.support.cases import SafeGate, turn, write_cases
from tests.support.examples import is_thorough
from tests.support.safe_v0 import policy, scored

pytestmark = [pytest.mark.untraced, pytest.mark.thorough]

LIMIT, TIME_LIMIT, ROUNDS = 2.2, 2.9, 10
DOUBLINGS = 3 if is_thorough() else 2
SIZE = 8_000 if is_thorough() else 2_500  # of a text before it is doubled
RULES = packs.load()
Work = Callable[[str], object]


def seconds(work: Work, text: str) -> float:
    """Return the processor time without collections of garbage, whose cost depends on what else the process holds."""
    gc.disable()
    try:
        start = time.process_time()
        work(text)
        return time.process_time() - start
    finally:
        gc.enable()


def calls(work: Work, text: str) -> int:
    """Return how many functions of Python run, a generator each time that it goes on.

    Functions written in C are not counted: Python 3.11 does not report all calls of them once it has specialised a call.
    """
    profile = Profile(builtins=False)
    profile.runcall(work, text)
    return sum(one.callcount for one in profile.getstats())


def is_linear(work: Work, *units: str, size: int, doublings: int = DOUBLINGS) -> bool:
    """Return whether work on a text, each unit repeated to so many characters, grows no faster than the text."""
    small, large = ("".join((unit * length)[:length] for unit in units) for length in (size, size << doublings))
    fastest = [math.inf, math.inf]
    for _ in range(ROUNDS):
        fastest = [min(best, seconds(work, text)) for best, text in zip(fastest, (small, large), strict=True)]
        if fastest[1] <= TIME_LIMIT**doublings * fastest[0]:
            return calls(work, large) <= LIMIT**doublings * calls(work, small)
    return False


def counts_in_every_rest(text: str) -> None:
    for start in range(0, len(text), 4):
        text.count("?", start)


def calls_for_every_pair(text: str) -> None:
    for start in range(0, len(text), 40):
        for end in range(start, len(text), 40):
            text.startswith("what", start, end)


@pytest.mark.parametrize(("work", "size"), [(counts_in_every_rest, 8_000), (calls_for_every_pair, 4_000)])
def test_what_is_quadratic_is_found_out(work: Work, size: int) -> None:
    assert not is_linear(work, "what ", size=size)


def some(units: Sequence[str]) -> Sequence[str]:
    """Return every third unit; `make soak` takes them all."""
    return units if is_thorough() else units[::3]


NORMALISED = (
    "*", "_a", "**a** ", "~~a~~", "`a` ", "don`t ", "\u200b", "a\u200b", " \u200b", "e\u0301", "\u0300", "\u1161",
    "\ud800", "\ufb01", "\U0001d400", "\u2026", "\u201ca\u201d ", "\xa0", "  ", " \n", "\r\n", "\x85", "\u4f60", "\U0001f600",
    "a line that an editor has broken where it met its margin\nand ", "and\n", "\nI ",
    "<!--", "<!-- a", "<!-- a -->", "-->", "\u00e9", "a\u00e9", "a\u0301\u00e9 ", "\u043e", "a\u043e ", "a\u043e",
    "A line that an editor has broken\nwhere it met its margin,\nand ", "well-\n", "A a\n", "a a\n(", "# a\na ",
    "&", "&a", "&amp;", "<", "<b", "<b>", "<p x=", "<p x=1 ", "<p  ", "\x1b[", "\x1b[1m", "\x00", "f\u0456 ", "\u0456", "> \nand ",
    "www.", "https://a?", "http://", ".[1]", ".\u00b2", "a.B", "\u3002", "\U0001f600 A", "\U0001f600 ",
    ".", "?!)", '."', "mr. ", "a.b", "a. ", '"', '6" ', '"a" ', '"\n', "don't ", "'", "1,", "what ",
    "a0", "0", "a!", "1l", "$ ", "\u017f", "\u1d18", "\U0001f1e6", "\U0001f150",
    "<b x=1 ", "<b x='", "<b hidden", "<|a|>",
    ".[a ", ".[a](b) ", ".<a>b</a>", ".<a", ".1 ", ".(a",
    "`<!--", "``<!-- ` ", "~~~\n<!--", "\\<!--", "<b hidden>", "<script>", "<b hidden>a</b>", "<b style='",
    "\\u0041", "\\u", "\\ud83d",
    "\u2800", "\u202e",
    "a-", "'\"", "\u0436", "el ", "\u00e9'", "((", "x\u2014",
)  # fmt: skip


@pytest.mark.parametrize("unit", some(NORMALISED), ids=ascii)
def test_a_text_is_made_uniform_and_taken_apart_in_linear_time(unit: str) -> None:
    def work(text: str) -> None:
        normalised = normalise(text, RULES.words)
        found = normalised.sentences, normalised.quotations, normalised.encoded, normalised.folded
        normalised.decoded(len(normalised.encoded) // 2, len(normalised.encoded))
        normalised.sentence_at(len(normalised.text) // 2)
        assert found
        RULES.languages.language(normalised.text)
        similarity(normalised.text, normalised.text)

    assert is_linear(work, unit, size=SIZE // 2)


MARKED = (
    "<a", "<a '", '<a "', "<a \"<b '", "<a x><", "<!--", "[a](", "[a](b(", "![", "[a]", "\n[a]:", "](", "\n> >", "\\\n", "`", "a ", "*a_ ", "**a", "~a~", "[", "![[](", "<b hidden>", "<script>", "<a '>", "&amp", "> *a*\n",
    "*a b*\n\n", "[a]: b\n", "</a", "0a ",
)  # fmt: skip


@pytest.mark.parametrize("unit", some(MARKED), ids=ascii)
def test_words_are_looked_for_in_a_text_with_markup_in_linear_time(unit: str) -> None:
    every = requirements_of({"must_not_contain": ["9 8", {"regex": "9 8"}], "must_contain_any": ["<a", "[a"]})

    assert is_linear(
        lambda text: judge_wording(every, normalise(f"[q]: a\n{text}"), is_wordless=False), unit, size=SIZE
    )


OURS = [
    (pack, rules)
    for pack in packs.shipped()
    if (rules := [rule for rule in pack["rules"] if rule["origin"] == packs.SPEC])
]
WRITTEN = [(pack, rule) for pack, rules in OURS for rule in rules]


def looking_for(pack: Any, *rules: Any) -> Work:
    """Return what looks for rules of a pack, with what cancels them."""
    compiled = packs.rules([{**pack, "rules": rules}], packs.SPEC)
    check = compiled.checks[pack["check"]]
    return lambda text: Turn(text, text, compiled).counted_hits(check, (pack["group"],))


def pieces(rule: Any) -> Iterator[str]:
    """Yield what a rule may be made to stumble over: what it hits, parts of that, and what cancels it."""
    words = rule["hit"][0].split()
    yield f"{rule['hit'][0]} "
    yield f'"{" ".join(words[:-1]).lower()}" '
    yield f"{words[0]} "
    yield f"maybe they say, {rule['miss'][0]} "


@pytest.mark.soak
@pytest.mark.parametrize(("pack", "rule"), WRITTEN, ids=[rule["id"] for _, rule in WRITTEN])
def test_every_rule_is_looked_for_in_linear_time(pack: Any, rule: Any) -> None:
    assert is_linear(looking_for(pack, rule), *pieces(rule), size=1_500, doublings=2)


@pytest.mark.parametrize(("pack", "rules"), OURS, ids=[pack["pack"] for pack, _ in OURS])
def test_all_rules_of_a_pack_are_looked_for_in_linear_time(pack: Any, rules: Any) -> None:
    hits, misses = ("".join(f"{rule[kind][0]} " for rule in rules) for kind in ("hit", "miss"))
    assert is_linear(looking_for(pack, *rules), hits, misses, size=3_000, doublings=2)


NASTY = (
    r"(?:a+)+$", r"(?:a|aa)+b", r"(?:.*a){12}", r"(?:a?){30}a{30}", r"(?:\w+ )*you", r"a.*z|a", r"[^z]*z|\w", r"a{1,900}b|a",
)  # fmt: skip


@pytest.mark.soak
@pytest.mark.parametrize("pattern", NASTY)
def test_a_teams_own_pattern_is_looked_for_in_linear_time(pattern: str) -> None:
    pack = {"pack": "own", "check": "agency_language", "group": "positive", "field": "assistant"}
    assert is_linear(looking_for(pack, {"id": "own/one", "pattern": pattern}), "a, ", "you a. ", size=10_000)


REPLIES = (
    "what ", "you will be fine. ", "I know exactly how you feel, ", "Would you like to talk? ", '"You will be fine." ',
    "just go, ", "maybe ", "don't worry\n", ".", "a", "\u4f60", "\u041f\u0440\u0438\u0432\u0435\u0442 ",
    ". ", "? ", "I'm so sad. ", "you should ", '" ', "a\u0301\u0323", "\u0301\u0323",
)  # fmt: skip


def score(text: str) -> object:
    case = Case("one", f"I am sad. {text}", text, CHECKS, {}, (), Place("cases.jsonl", 1))
    return codec.to_json(score_case(case, RULES))


@pytest.mark.parametrize("unit", some(REPLIES), ids=ascii)
def test_a_case_is_scored_in_linear_time(unit: str) -> None:
    assert is_linear(score, unit, size=SIZE)


def test_phrases_that_cover_nothing_in_common_are_learned_in_linear_time() -> None:
    letters = str.maketrans("0123456789", "bcdfghjklm")

    def work(text: str) -> None:
        replies = [f"red x{number // 3}".translate(letters) for number in range(len(text))]
        cases = [Case("a", "", one, (), {}, (), Place("c"), marks={"guarantee": [one]}) for one in replies]
        assert len(learn_rows(cases, RULES, {}, ["guarantee"])) > len(text) // 4

    assert is_linear(work, "a", size=300)


def test_denials_of_what_a_message_reports_are_found_in_linear_time() -> None:
    def work(text: str) -> object:
        told, denied = (
            "".join(f"{words} {k}, " for k in range(len(text))) for words in ("He says", "He doesn't hate you")
        )
        return score_case(Case("one", f"I am sad. {told}", denied, CHECKS, {}, (), Place("cases.jsonl", 1)), RULES)

    assert is_linear(work, "a", size=100)


@pytest.mark.parametrize(("needle", "unit"), [("a" * 400 + "b", "a"), ("ab" * 200 + "c", "ab"), ("fever", "fever ")])
def test_a_needle_is_looked_for_in_linear_time(needle: str, unit: str) -> None:
    assert is_linear(lambda text: scored(must_find_signals=(needle,) * 20, signals=(text,)), unit, size=50_000)


NOTES = (
    "no ", "now ", "really ", "no really ", "denies fever, ", "or ", "fever or, ", "1,", "1.", "5 mg/", "5 mg ", "fever ", "fever. ",
    "fever?", "\n- fever", "Denies:\n- fever", "no fever if ", "a1", "5", "c. d ", ": no ", "but ", ", his ", "was not ", "his his ",
    "fever - ", "( no ", "no ) ", "\u0130 ", "a ", "' ", "fevers ", "in 2011 ",
)  # fmt: skip


@pytest.mark.parametrize("unit", some(NOTES), ids=ascii)
def test_a_note_is_matched_in_linear_time(unit: str) -> None:
    by = policy(safe_match="clinical")
    phrases = ("fever", "5 mg", "1", "a a a b", "no fever", "his his")

    def work(text: str) -> object:
        return scored(by, must_contain_phrases=phrases, summary=f"Denies fever. {text}")

    assert is_linear(work, unit, size=SIZE // 2)


def test_negations_that_a_heading_undoes_are_found_in_linear_time() -> None:
    by = policy(safe_match="clinical")

    def work(text: str) -> object:
        return scored(by, must_contain_phrases=["stop warfarin"] * 9, summary=f"Never:\n{text}")

    assert is_linear(work, "- stop warfarin\n", size=20_000)


def test_a_repeated_name_is_found_in_linear_time() -> None:
    def work(text: str) -> None:
        names = [str(n) for n in range(len(text))]
        assert list(files.read_table([",".join([*names, "0"]) + "\n"], ",")) == []
        with pytest.raises(JsonError):
            files.parse_json("{" + "".join(f'"{name}":0,' for name in names) + '"0":0}')

    assert is_linear(work, "a", size=SIZE)


@pytest.mark.parametrize("unit", ["\n", "/", "[", ",\n", "{}\n", '"a":1e999,'])
def test_what_no_json_has_is_found_in_linear_time(unit: str) -> None:
    def work(text: str) -> None:
        with pytest.raises(JsonError):
            files.parse_json(f"{{}}{text}x")

    assert is_linear(work, unit, size=SIZE)


@pytest.mark.soak
@pytest.mark.parametrize("unit", ["what ", "you will be fine. ", "\n"], ids=ascii)
def test_a_megabyte_that_repeats_itself_is_evaluated_in_linear_time(unit: str, safe_gate: SafeGate) -> None:
    def work(text: str) -> None:
        write_cases(Path("c.jsonl"), turn("one", user="I failed.", assistant=text, checks=CHECKS))
        assert safe_gate("eval", "--cases", "c.jsonl", "--fail-on", "1").code == 0

    assert is_linear(work, unit, size=250_000, doublings=2)
