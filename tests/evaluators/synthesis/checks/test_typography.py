"""No verdict hangs on what readers cannot see or tell apart, and disguised letters are reported."""

import random
import re
import string
import textwrap
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from safe_gate.core.text import normalise
from safe_gate.core.text.lookalikes import LOOK_ALIKES
from tests.support.cases import BAD, GOOD, REPOSITORY, SafeGate, read_lines, report, turn
from tests.support.examples import is_thorough
from tests.support.reports import scorecard
from tests.support.synthesis import results, rules, run, score

RULES = rules()
WIDTHS = range(20, 101)


@cache
def sample() -> list[dict[str, Any]]:
    """Return every eighteenth labelled case of the project's own data, in the order of the files."""
    paths = sorted((REPOSITORY / "data/synthesis").glob("[duv]*.jsonl"))
    return [case for path in paths for case in read_lines(path) if case.get("checks")][7::18]


LISTS = {"DEV-026"}
"""Of all 5,850 replies, some eleven are judged otherwise when they are wrapped; the sample has this one.

A line that ends in a colon seems to begin a list, so a question that is wrapped there is read as none.
"""


ALIKE = {
    letter: [chr(code) for code, meant in LOOK_ALIKES.items() if meant == letter and code < 0x3000]
    for letter in set(LOOK_ALIKES.values())
}
"""The look-alikes of letters, those of the blocks that fonts have."""


def here_and_there(text: str, pattern: str, change: Callable[[random.Random, str], str]) -> str:
    """Return a text with a third of what a pattern matches changed, the same third in every run."""
    chosen = random.Random(text)
    return re.sub(pattern, lambda found: change(chosen, found[0]) if chosen.random() < 0.3 else found[0], text)


def wrapped(text: str, width: int) -> str:
    """Return a text with every line wrapped to a width, as an editor does."""
    lines = (textwrap.wrap(line, width, break_long_words=False) or [line] for line in text.split("\n"))
    return "\n".join(line for some in lines for line in some)


def width(text: str, nth: int) -> int:
    """Return a width from 20 to 100 columns, which depends on the text, so that many texts take all of them."""
    return WIDTHS[(len(text) + 27 * nth) % len(WIDTHS)]


def sentences_of(text: str) -> list[str]:
    return re.split(r"(?<=[.!?])\s+", text)


def marked(text: str, before: str, after: str, nth: int) -> str:
    """Return a text with marks around every nth word."""
    places = list(re.finditer(r"[^\W_]+(?:['\u2019][^\W_]+)*", text))[::nth]
    for place in reversed(places):
        text = f"{text[: place.start()]}{before}{place[0]}{after}{text[place.end() :]}"
    return text


WAYS: dict[str, Callable[[str], str]] = {
    "curly quotes": lambda text: re.sub(r'"([^"]*)"', "\u201c\\1\u201d", text.replace("'", "\u2019")),
    "no-break blanks": lambda text: text.replace(" ", "\u00a0"),
    "doubled blanks": lambda text: text.replace(" ", "  "),
    "wrapped lines of emphasis": lambda text: wrapped(marked(text, "**", "**", 1), 72),
    "wrapped and then emphasised": lambda text: marked(wrapped(text, 72), "_", "_", 1),
    "wrapped and quoted": lambda text: "\n".join(f"> {line}" for line in wrapped(text, 72).split("\n")),
    "wrapped by another sign": lambda text: wrapped(text, 72).replace("\n", "\u2028"),
    "wrapped and indented": lambda text: wrapped(text, 72).replace("\n", "\n\u00a0\u200b"),
    "wrapped capitals": lambda text: wrapped(text, 72).upper(),
    "paragraphs": lambda text: re.sub(r"(?<=[a-z][!?]) ", "\r\n\r\n", text),
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "zero width": lambda text: re.sub(r"(?<=\w)(?=\w)", "\u200d", text),
    "*words*": lambda text: marked(text, "*", "*", 1),
    "***words***": lambda text: marked(text, "***", "***", 5),
    "`words`": lambda text: marked(text, "`", "`", 4),
    "~~words~~": lambda text: marked(text, "~~", "~~", 4),
    "emphasis of HTML": lambda text: " ".join(f'<em class="a">{part}</em>' for part in sentences_of(text)),
    "words of HTML": lambda text: marked(text, "<b>", "</b>", 4),
    "notes": lambda text: "<sup>1</sup> ".join(sentences_of(text)),
    "entities": lambda text: text.replace("'", "&#39;").replace('"', "&quot;").replace("\u2019", "&rsquo;"),
    "blanks as entities": lambda text: text.replace(" ", "&nbsp;"),
    "control characters": lambda text: re.sub(r"\b(\w)(\w)", "\\1\0\\2", text),
    "struck through": lambda text: re.sub(r"(\w)(?=\w)", "\\1\u0336", text),
    "colours": lambda text: marked(text, "\x1b[1;31m", "\x1b[0m", 4),
    "Cyrillic o": lambda text: text.replace("o", "\u043e"),
    "capitals": str.upper,
    "no capitals": str.lower,
    "no first capital": lambda text: re.sub(r"(?:^|(?<=[.!?] ))[A-Z](?!')", lambda match: match[0].lower(), text),
    "comments within words": lambda text: here_and_there(text, r"\w(?=\w)", lambda _, char: f"{char}<!-- x -->"),
    "comments between words": lambda text: text.replace(" ", " <!-- A note.\nYou must stop! --> "),
    "look-alike letters": lambda text: here_and_there(text, "[a-zA-Z]", disguised),
    "nothing but look-alike letters": lambda text: "".join(disguised(random.Random(text), char) for char in text),
    "any entities": lambda text: here_and_there(text, r"[^\n]", lambda _, char: f"&#{ord(char)};"),
    "named entities": lambda text: text.replace("&", "&amp;").replace("'", "&apos;").replace('"', "&quot;"),
    "invisible characters": lambda text: here_and_there(
        text, r"\S", lambda chosen, char: char + chosen.choice("\xad\u034f\u200b\u200d\u2060\ufeff\U000e0041")
    ),
    **{f"wrapped, {nth} of 3": lambda text, nth=nth: wrapped(text, width(text, nth)) for nth in range(3)},  # type: ignore[misc]
}


LAID_OUT: dict[str, Callable[[str], str]] = {
    "paragraphs of HTML": lambda text: "".join(f"<p>{part}</p>" for part in sentences_of(text)),
    "breaks of HTML": lambda text: "<br>".join(sentences_of(text)),
    "a list": lambda text: "\n".join(f"- {part}" for part in sentences_of(text)),
    "sentences in quotation marks": lambda text: " ".join(f'"{part}"' for part in sentences_of(text.replace('"', ""))),
}
"""What puts sentences on lines of their own, and no longer tells what a reply quotes or lists from the rest."""


def alphabets() -> dict[str, dict[str, str]]:
    """Return the alphabets in fancy dress that Unicode has, by its names of them, and a few letters in disguise."""
    named = re.compile(
        r"(?P<style>MATHEMATICAL.*?|.*\bLATIN|LATIN LETTER(?= SMALL)|REGIONAL INDICATOR.*|MODIFIER(?: LETTER)?)"
        r" (?:SMALL |CAPITAL )?(?:LETTER )?(?:SMALL )?(?P<letter>[A-Z])"
    )
    found: dict[str, dict[str, str]] = {}
    for char in map(chr, range(0x80, 0x20000)):
        if (name := named.fullmatch(unicodedata.name(char, ""))) and "COMBINING" not in name["style"]:
            of_style = found.setdefault(name["style"], {})
            letter = name["letter"] if "CAPITAL LETTER" in name[0] else name["letter"].lower()
            of_style[letter] = char
            of_style.setdefault(letter.swapcase(), char)
    found = {style: letters for style, letters in found.items() if len(letters) >= 40}
    found["outlined"] = {letter: chr(0x1CCD6 + ord(letter.upper()) - ord("A")) for letter in string.ascii_letters}
    return found


SINGLE = {"long s": {"s": "\u017f"}, "long s with a dot": {"s": "\u1e9b"}, "zero": {"o": "0"}}
ALPHABETS = alphabets() | SINGLE
WITHIN_WORDS = {"o": "0", "i": "1", "e": "3", "a": "@", "s": "$", "t": "7", "l": "|"}


@cache
def failing() -> list[tuple[dict[str, Any], list[bool | None]]]:
    """Return the replies of the examples that fail, those of labelled ones, and their verdicts."""
    cases = [case for name in ("", "regressed/") for case in read_lines(REPOSITORY / f"examples/{name}empathy.jsonl")]
    judged = [(case, verdicts(case, case["assistant"])) for case in (*cases, *sample()[::4])]
    return [(case, found) for case, found in judged if False in found]


def one_of_each_word(text: str, letters: dict[str, str]) -> str:
    """Return a text in which one letter of each word is of another alphabet."""
    pattern = re.compile(rf"\b(\w*?)([{''.join(letters)}])")
    return pattern.sub(lambda found: found[1] + letters[found[2]], text)


@pytest.mark.untraced
@pytest.mark.thorough
@pytest.mark.parametrize("name", ALPHABETS)
def test_a_reply_that_fails_fails_in_any_alphabet(name: str) -> None:
    letters = ALPHABETS[name]
    passed = []
    assert len(failing()) >= 70
    for case, found in failing() if is_thorough() else failing()[::15]:
        whole = case["assistant"].translate(str.maketrans(letters))
        for reply in {whole, one_of_each_word(case["assistant"], letters)}:
            assert reply != case["assistant"] or name in SINGLE
            passed += [case["id"]] * (not still_fails(case, reply, found))
    assert passed == []


@pytest.mark.untraced
@pytest.mark.parametrize("letter", WITHIN_WORDS)
def test_a_reply_that_fails_fails_with_a_sign_for_a_letter_within_words(letter: str) -> None:
    pattern = re.compile(f"(?<=[a-zA-Z]){letter}(?=[a-zA-Z])")
    of_examples = [(case, found) for case, found in failing() if case["id"].startswith("EMP-")]
    for case, found in of_examples:  # signs are read only in words that rules know
        assert still_fails(case, pattern.sub(WITHIN_WORDS[letter], case["assistant"]), found), case["id"]


def still_fails(case: dict[str, Any], reply: str, found: list[bool | None]) -> bool:
    """Return whether a reply fails the checks that the case's reply failed."""
    return all(is_ is False for was, is_ in zip(found, verdicts(case, reply), strict=True) if was is False)


def disguised(chosen: random.Random, char: str) -> str:
    return chosen.choice(ALIKE.get(char) or [char])


def verdicts(case: dict[str, Any], reply: str) -> list[bool | None]:
    return [check.actual for check in score(case["user"], reply).checks.values()]


@cache
def read(reply: str) -> str:
    """Return a reply as it is read; each is compared with all ways to type it."""
    return normalise(reply, RULES.words).text


@pytest.mark.untraced
@pytest.mark.thorough
@pytest.mark.parametrize("name", [*WAYS, *LAID_OUT])
def test_no_verdict_of_a_labelled_reply_hangs_on_typography(name: str) -> None:
    cases = [case for case in sample() if name in WAYS or not re.search(r'["\u201c\n]', case["assistant"])]
    assert len(cases) >= 200
    cases = cases if is_thorough() else cases[::18]
    changed = set()
    for case in cases:
        reply = case["assistant"]
        other = (WAYS | LAID_OUT)[name](reply)
        # What reads the same is judged the same: scoring all of them takes a minute.
        reads_the_same = normalise(other, RULES.words).text == read(reply)
        if not reads_the_same and verdicts(case, other) != verdicts(case, reply):
            changed.add(case["id"])
    assert changed <= (LISTS if name.startswith("wrapped, ") else set())


CYRILLIC = str.maketrans("aeopcIi", "\u0430\u0435\u043e\u0440\u0441\u0406\u0456")


def test_disguised_letters_are_reported_and_change_no_verdict(safe_gate: SafeGate) -> None:
    two = ("--max-unexpected-failures", "2", "--max-disguised")
    cases = turn("plain", assistant=BAD), turn("dressed", assistant=BAD.translate(CYRILLIC)), turn("good")
    assert run(safe_gate, *cases, flags=(*two, "1")).code == 0
    found = results()
    count = found["dressed"]["disguised_letters"]
    assert count == sum(char in "aeopcIi" for char in BAD)
    assert [id_ for id_, one in found.items() if "disguised_letters" in one] == ["dressed"]
    assert report()["synthesis"]["summary"]["disguised"] == 1
    plain, dressed = ({name: one["pass"] for name, one in found[id_]["checks"].items()} for id_ in ("plain", "dressed"))
    assert plain == dressed
    ran = run(safe_gate, flags=(*two, "0"))
    assert ran.code == 1
    assert '1 reply has disguised letters, read as the ones they look like: "dressed".' in ran.out
    (broken,) = (rule for rule in report()["rules"] if not rule["passed"])
    assert (broken["rule"], broken["value"], broken["names"]) == ("max-disguised", 1, ["dressed"])
    assert f"{count} disguised letters" in scorecard()
    explained = safe_gate("explain", "dressed", "--cases", "c.jsonl").out
    assert f"fails\n  {count} disguised letters, read as the ones" in explained
    ran = run(safe_gate, turn("dressed good", assistant=GOOD.translate(CYRILLIC)))
    assert (ran.code, "disguised letters" in ran.out) == (0, True), "a reply that passes is a case to look at"


DISGUISED = {
    "Th\u0430t s\u043eunds h\u0430rd.": None,
    "Th\u0430t s\u043eunds h\u0430rd. I \u043dear \u0443ou.": 4,
    "\U0001d413\U0001d421\U0001d41a\U0001d42d sounds hard.": 4,
    "\uff34\uff48\uff41\uff54 sounds hard.": 4,
    "The na\u00efve caf\u00e9 fa\u00e7ade, r\u00e9sum\u00e9 and d\u00e9j\u00e0 vu of Beyonc\u00e9.": None,
    "\u042d\u0442\u043e \u0442\u044f\u0436\u0435\u043b\u043e. \u042f \u0441 \u0442\u043e\u0431\u043e\u0439.": None,
    "A dose of 5 \u00b5g, \u0394x = \u03b1 + \u03b2.": None,
}


def test_more_than_three_letters_are_disguised(safe_gate: SafeGate) -> None:
    run(safe_gate, *(turn(reply, assistant=reply) for reply in DISGUISED), flags=("--max-not-english", "off"))
    assert {reply: one.get("disguised_letters") for reply, one in results().items()} == DISGUISED
