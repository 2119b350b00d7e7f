"""Hostile text in the page, changed words, and ten thousand cases."""

import json
import re
from itertools import product
from pathlib import Path
from typing import Any
from unicodedata import category

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from safe_gate.addons.page import markup
from safe_gate.addons.page.markup import TEMPLATES
from safe_gate.evaluators.safe_v0.present import marks
from safe_gate.model.results import Side, Untrusted
from safe_gate.render.untrusted import LONGEST, embedded_json, html
from tests.support.browser import Browser
from tests.support.cases import BAD, SILENT, SafeGate, safe_case, turn, write_batch, write_cases
from tests.support.formats import html as read_page
from tests.support.hostile import ATTACKS, SHORT_ATTACKS
from tests.support.html import PAGE, RUN, choose, shown
from tests.support.safe_v0 import scored

SCRIPTS = (
    "<script>window.hurt = 1</script>",
    "</script><script>window.hurt = 1</script>",
    "<!--<script>",
    "<img src=x onerror='window.hurt = 1'>",
    "<svg/onload=window.hurt=1>",
    '"><iframe src="javascript:parent.hurt=1">',
    "javascript:window.hurt=1",
    "<style>*{display:none}</style>",
    "<base href='https://h0s03.example/'><link rel=stylesheet href='//h0s03.example'>",
    "<meta http-equiv=refresh content='0;url=https://h0s03.example'>",
    "&lt;img src=x onerror=window.hurt=1&gt;",
    "\u2028\u2029window.hurt = 1//",
    "__proto__",
)


HARMLESS = frozenset("li details summary span div section p b i q ul h3 code mark a".split())


def test_hostile_text_never_runs(safe_gate: SafeGate, browser: Browser) -> None:
    texts = [*SCRIPTS, *ATTACKS.values(), *(one for one in SHORT_ATTACKS if one.isprintable())]
    turns, batch = [], []
    for number, text in enumerate(texts):
        asked, said = f"I feel awful. {text}", f"You should {text} stop. {BAD} {text}"
        turns.append(turn(f"{number} {text}"[:200], user=asked, assistant=said, tags=[text[:200]]))
        output = SILENT | {"summary": text}
        batch.append(safe_case(f"s {number} {text}"[:200], archetype=text[:200], output=output))
    write_cases(Path("c.jsonl"), *turns)
    write_batch(Path("b <img src=x onerror=hurt=1>.json"), *batch)
    ran = safe_gate(*RUN, "--synthesis-cases", "c.jsonl", "--safe-batch", "b*")
    assert ran.code == 1, ran.log
    page = read_page(PAGE.read_text("utf-8"))
    assert len(page.cases) == 2 * len(texts)
    browser.open(PAGE)
    browser.run("document.querySelectorAll('#list details').forEach((one) => { one.open = true; })")
    browser.run("new Promise((done) => setTimeout(done, 100))")
    assert browser.run("document.querySelectorAll('#list .body').length") >= 50
    choose(browser, text="window.hurt")
    assert len(shown(browser)) > 10
    assert browser.run("typeof window.hurt") == "undefined"
    assert (browser.requests(), browser.complaints()) == ([PAGE.absolute().as_uri()], [])
    kinds = browser.run("[...document.querySelectorAll('#list *')].map((one) => one.tagName.toLowerCase())")
    assert {*kinds} <= HARMLESS


@pytest.fixture
def opened(safe_gate: SafeGate, browser: Browser) -> Browser:
    write_cases(Path("c.jsonl"), turn("a"))
    safe_gate(*RUN, "--synthesis-cases", "c.jsonl")
    browser.open(PAGE)
    return browser


def test_what_does_not_show_is_escaped_as_everywhere_else(opened: Browser) -> None:
    hidden = [code for code in range(0x10000) if category(chr(code)) in ("Cc", "Cf", "Zl", "Zp")] + [0xE0001]
    texts = [f"a{chr(code)}b" for code in hidden]
    found = opened.run(f"{json.dumps(texts)}.map((one) => make('p', {{}}, ...visible(one)).textContent)")
    assert found == [html(Untrusted(one)) for one in texts]


def test_changed_words_are_all_that_differs(opened: Browser) -> None:
    words = ["", "a", "a b", "b a", "a b c", "c b a", "a  b", "\U0001f600 a b", "a \U0001f600 b", "a\nb c a b", "x y"]
    pairs = [*product(words, words)]
    found = opened.run(f"{json.dumps(pairs)}.map(([old, now]) => differences(old, now))")
    for (old, now), (removed, added) in zip(pairs, found, strict=True):
        kept = [_without(old, removed), _without(now, added)]
        assert kept[0] == kept[1]
        assert (old.split() == now.split()) == (removed == added == [])


def _without(text: str, spans: list[list[int]]) -> list[str]:
    for start, end in reversed(spans):
        text = text[:start] + " " + text[end:]
    return text.split()


def test_a_template_escapes_all_that_it_shows() -> None:
    text = "<b title='\"&"
    draw = TEMPLATES.from_string("{{ shown }}").render
    assert draw(shown=text) == html(text)
    assert draw(shown=Untrusted(f"{text}\u202e\ud800{'x' * LONGEST}")) == html(
        Untrusted(f"{text}\u202e\ud800{'x' * LONGEST}")
    )
    code = TEMPLATES.from_string("{{ shown | words }}").render(shown=(text, Untrusted(text)))
    assert code == f'{html(text)}<code class="whole">{html(text)}</code>'
    joined = TEMPLATES.from_string("{{ [shown, 'b'] | join(' ') }}{{ 'a' ~ shown }}")
    assert joined.render(shown=text) == f"{html(text)} ba{html(text)}"
    for refused in (None, (text,), [text], {text: text}):
        with pytest.raises(TypeError):
            draw(shown=refused)
    with pytest.raises(TypeError):
        joined.render(shown=Untrusted(text))
    with pytest.raises(UndefinedError):
        draw()


def test_no_template_leaves_escaping_out() -> None:
    folder = Path(markup.__file__).parent
    texts = {file.name: file.read_text("utf-8") for file in folder.glob("*.html")}
    unescaped = {name: re.findall(r"autoescape|Markup|(\w+) \|\s*safe", text) for name, text in texts.items()}
    assert {name: found for name, found in unescaped.items() if found} == {"page.html": ["style", "script"]}
    attributes = [one for text in texts.values() for one in re.findall(r"\s[\w-]+=\"([^\"]*\{\{.*?\}\})", text)]
    assert attributes
    assert not [one for one in attributes if "words" in one]  # which gives elements


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5))
def test_data_ends_no_element_and_stays_the_same(value: Any) -> None:
    text = embedded_json(json.dumps(value))
    assert not set("<>&") & set(text)
    assert json.loads(text) == value


@given(st.text(), st.lists(st.text(min_size=1, max_size=3)))
@example("\u0130, a dotted capital, is two characters in lower case", ["dotted"])
def test_marks_stand_where_scoring_finds_the_needles(text: str, needles: list[str]) -> None:
    result = scored(forbidden_terms=tuple(needles), followup_questions=(text,))
    found = result.violations
    shown = [*marks(result, {"followup_questions": text})]
    for mark in shown:
        assert (mark.text, mark.side) == (text[mark.start : mark.end], Side.AGAINST)
        assert any(one.lower() in mark.text.lower() for one in found)
    assert bool(found) == bool(shown)
