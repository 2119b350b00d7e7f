"""The page of a run in headless Chromium: filters, links, texts and changes, for every reader and on paper."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.browser import Browser
from tests.support.cases import BAD, GOOD, SILENT, Patch, SafeGate, report, safe_case, turn, write_batch, write_cases
from tests.support.formats import html as read_page
from tests.support.git import git
from tests.support.html import PAGE, RUN, choose, clinical_and_turns, opened, shown
from tests.support.safe_v0 import asking

SETTLED = "; new Promise((done) => setTimeout(done))"


def elements(browser: Browser, selector: str, what: str) -> Any:
    """Return something of each element that a selector finds, in JavaScript."""
    return browser.run(f"[...document.querySelectorAll({json.dumps(selector)})].map((one) => {what})")


def marked(browser: Browser, selector: str) -> list[list[str]]:
    """Return the sides and words of the marks in an element."""
    found: list[list[str]] = elements(browser, f"{selector} mark", "[one.className, one.textContent]")
    return found


def texts_of(browser: Browser, selector: str) -> list[str]:
    found: list[str] = elements(browser, selector, "one.textContent")
    return found


def first_case(browser: Browser, what: str) -> Any:
    return browser.run(f"document.querySelector('#list details').{what}")


def test_the_page_opens_from_disk_and_asks_for_nothing(safe_gate: SafeGate, browser: Browser) -> None:
    assert safe_gate(*RUN, *clinical_and_turns()).code == 1
    read_page(PAGE.read_text("utf-8"))
    browser.open(PAGE)
    assert browser.requests() == [PAGE.absolute().as_uri()]
    assert browser.complaints() == []
    assert (texts_of(browser, "h1"), texts_of(browser, "main h2")[0]) == (["Failed"], "Rules of the gate")
    assert shown(browser) == ["S2", "bad", "S1", "good", "calm", "negative"]
    assert texts_of(browser, "#shown") == ["All 6 cases"]


@pytest.mark.parametrize(
    ("values", "left"),
    [
        ({"evaluator": "safe_v0"}, ["S2", "S1"]),
        ({"label": "fails as expected"}, ["negative"]),
        ({"check": "topic_pivot: not applicable"}, ["calm"]),
        ({"check": "CR: Fail"}, ["S2"]),
        ({"rule": "agency-negative/you-ought-to"}, ["bad", "negative"]),
        ({"archetype": "Hunter"}, ["S2"]),
        ({"tag": "exam"}, ["good", "negative"]),
        ({"text": "INVOICE"}, ["calm"]),
        ({"text": "definitely be fine", "tag": "exam"}, ["negative"]),
        ({"text": "nowhere"}, []),
        ({"sort": "id"}, ["S1", "S2", "bad", "calm", "good", "negative"]),
        ({"sort": "report"}, ["S1", "S2", "good", "bad", "calm", "negative"]),
        ({"sort": "score"}, ["S2", "bad", "negative", "S1", "good", "calm"]),
        ({"sort": "label"}, ["S2", "S1", "bad", "negative", "good", "calm"]),
    ],
)
def test_filters_and_orders(safe_gate: SafeGate, browser: Browser, values: dict[str, str], left: list[str]) -> None:
    assert safe_gate(*RUN, *clinical_and_turns()).code == 1
    browser.open(PAGE)
    assert choose(browser, **values) == left
    there = browser.run("location.hash")
    browser.open(PAGE, there)  # the address says what is shown
    assert shown(browser) == left
    browser.run("document.querySelector('#filters button').click()")
    assert len(shown(browser)) == 6


def test_a_link_opens_its_case(safe_gate: SafeGate, browser: Browser) -> None:
    write_cases(Path("c.jsonl"), *(turn(f"case {n} & more", assistant=BAD) for n in range(300)))
    assert safe_gate(*RUN, "--synthesis-cases", "c.jsonl", "--max-unexpected-failures", "300").code == 0
    browser.open(PAGE, "#case=case%20299%20%26%20more")
    assert shown(browser)[:2] == ["case 299 & more", "case 0 & more"]
    assert first_case(browser, "open")
    assert abs(first_case(browser, "getBoundingClientRect().top")) < 5
    assert browser.run("document.activeElement.tagName") == "SUMMARY"
    (link, *_) = elements(browser, "#list a.link", "one.getAttribute('href')")
    browser.open(PAGE, link)
    assert shown(browser)[0] == "case 299 & more"
    browser.run("location.hash = '#case=nobody'" + SETTLED)
    assert texts_of(browser, "#shown") == ["No case here has the id of this link. All 300 cases"]
    assert 100 <= len(shown(browser)) < 300  # the rest is drawn once somebody looks


def test_the_link_of_a_case_opens_it_although_two_evaluators_have_its_id(safe_gate: SafeGate, browser: Browser) -> None:
    write_batch(Path("b.json"), safe_case("x"), safe_case("S"))
    write_cases(Path("c.jsonl"), turn("x"), turn("T"))
    assert safe_gate(*RUN, "--safe-batch", "b", "--synthesis-cases", "c.jsonl").code == 0
    for evaluator, heading in (("safe_v0", "SAFE v0"), ("synthesis", "Synthesis")):
        browser.open(PAGE)
        choose(browser, evaluator=evaluator)
        opened(browser)
        (link,) = elements(browser, "#list a.link", "one.getAttribute('href')")
        browser.open(PAGE, link)
        assert shown(browser)[0] == "x"
        assert texts_of(browser, "#list details[open] .evaluator") == [heading]


def test_the_header_says_what_was_judged_and_the_cases_follow_the_rules(
    changed: Callable[..., None], safe_gate: SafeGate, browser: Browser, monkeypatch: Patch
) -> None:
    def facts() -> list[str]:
        browser.open(PAGE)
        return texts_of(browser, "header .facts code")

    names = {"REPOSITORY": "octo/app", "SERVER_URL": "https://github.example", "SHA": "f00d" * 10, "JOB": "evals"}
    for name, value in names.items():
        monkeypatch.setenv(f"GITHUB_{name}", value)
    for flags, gate in (((), "evals"), (("--gate-id", "<b>replies"), "<b>replies")):
        changed(*flags)
        assert facts()[:3] == ["github.example/octo/app", "f00df00df00d", gate]
    for name in names:
        monkeypatch.delenv(f"GITHUB_{name}")
    git("remote", "add", "origin", "https://me:secret@host.example/octo/app.git?token=secret")
    safe_gate(*RUN, "--synthesis-cases", "c.jsonl", "--baseline", "HEAD")
    assert "secret" not in PAGE.read_text("utf-8")
    assert facts()[:2] == ["host.example/octo/app", git("rev-parse", "HEAD")[:12]]
    titles = texts_of(browser, "main h2")
    assert (titles[:2], titles[-1]) == (["Rules of the gate", "Cases"], "Synthesis"), "the charts"


def test_a_broken_rule_names_the_cases_that_broke_it(changed: Callable[..., None], browser: Browser) -> None:
    changed("--max-regressions", "0")
    assert texts_of(browser, ".rules .broken code") == ["worse"]


def test_a_case_shows_its_texts_with_what_was_found(safe_gate: SafeGate, browser: Browser) -> None:
    reply = "\U0001f600 You should rest. \u201cYou must go,\u201d she said. Would you like to talk?"
    label = {"checks": ["agency_language"], "expected": {"agency_language": True}}
    write_cases(Path("c.jsonl"), turn("a", assistant=reply, **label))
    output = SILENT | {"signals": ["\u0130 FEVER"], "followup_questions": ["Which policy?"]}
    write_batch(Path("b.json"), safe_case("s", output=output))
    safe_gate(*RUN, "--synthesis-cases", "c.jsonl", "--safe-batch", "b")
    (check,) = report()["synthesis"]["results"][0]["checks"].values()
    browser.open(PAGE)
    choose(browser, evaluator="synthesis")
    words = opened(browser)
    assert texts_of(browser, ".words")[1] == reply
    found = marked(browser, ".words")
    assert ["against", "You should"] in found
    assert ["for", "Would you like"] in found
    assert check["cancelled"], "something is quoted"
    assert [side for side, text in found if "You must" in text] == ["cancelled"]
    assert "does not count: in a quotation" in words
    assert "1 clause for the reply and 1 against it. A reply passes with more clauses for it than against it." in words
    assert "The label says that it passes." in words
    choose(browser, evaluator="safe_v0")
    words = opened(browser)
    assert marked(browser, ".words") == [["for", "FEVER"], ["against", "policy"]]
    assert "1 of 1 required signal found: 1.00. Pass from 0.80, Review from 0.50." in words
    assert "missing phrase \u201cwent home\u201d" in words


def test_a_change_since_a_commit_is_shown_side_by_side(changed: Callable[..., None], browser: Browser) -> None:
    changed()
    assert choose(browser, change="newly failing") == ["worse"]
    opened(browser)
    assert texts_of(browser, ".pair .words") == [GOOD, BAD]
    assert ["for", "Would you like"] in marked(browser, ".pair section:first-child")
    assert ["against", "You should"] in marked(browser, ".pair section:last-child")
    choose(browser, change="", text="speak")
    opened(browser)
    assert (texts_of(browser, "#list del"), texts_of(browser, "#list ins")) == (["talk"], ["speak"])
    choose(browser, text="", sort="id")
    opened(browser, 1)
    assert texts_of(browser, ".pair") == []
    assert texts_of(browser, ".words")[1] == GOOD


def test_without_the_old_text_its_evidence_stands_alone(changed: Callable[..., None], browser: Browser) -> None:
    changed(with_report=True)
    choose(browser, change="newly failing")
    words = opened(browser)
    assert "The old text is not available. What was found in it: Nothing." in " ".join(words.split())
    assert texts_of(browser, ".words")[1:] == [BAD]


def test_without_texts_the_page_has_none(changed: Callable[..., None], browser: Browser) -> None:
    changed("--text", "none")
    page = PAGE.read_text("utf-8")
    assert not [word for word in (GOOD, BAD, "moping", "awful") if word in page]
    choose(browser, change="newly failing")
    words = opened(browser)
    assert "Texts are hidden." in words
    assert "agency-negative/you-ought-to" in words
    assert texts_of(browser, ".words") == []


def test_the_merged_page_is_that_of_one_run(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    cases = clinical_and_turns()
    assert safe_gate(*RUN, *cases).code == 1
    whole = PAGE.read_bytes()
    for index in (1, 2):
        assert safe_gate("run", *cases, "--shard", f"{index}/2", "--report-dir", "shards").code == 0
    assert safe_gate("merge", "shards/*", "--reports", "json,html", *cases).code == 1
    assert PAGE.read_bytes() == whole


def test_a_run_without_a_verdict_has_a_page_that_says_why(safe_gate: SafeGate, browser: Browser) -> None:
    write_cases(Path("c.jsonl"), turn("a"), turn("a"))
    assert safe_gate(*RUN, "--synthesis-cases", "c.jsonl").code == 3
    browser.open(PAGE)
    assert browser.complaints() == []
    words = browser.run("document.body.innerText")
    assert "No verdict" in words
    assert "appears at c.jsonl:1 too" in words


def test_each_check_and_metric_says_how_it_decided(safe_gate: SafeGate) -> None:
    german = "Das tut mir sehr leid, und ich bin f\u00fcr dich da, wenn du dar\u00fcber reden magst."
    label = {"topic_pivot": False}
    write_cases(
        Path("c.jsonl"),
        *(turn("good", expected=label), turn("bad", assistant=BAD, expected=label)),
        *(turn("german", assistant=german), turn("mute", assistant="..."), turn("calm", user="Where is my invoice?")),
        turn("sorry", user="I feel awful.", assistant="I'm so sorry."),
    )
    many = {"signals": ["fever " * 60], "summary": "She went home.", "followup_questions": ["Which policy?"]}
    idle = safe_case("idle", expectations=asking())
    write_batch(Path("b.json"), idle, safe_case("many", output=many))
    told = {}
    for profile in ("standard", "spec"):
        safe_gate(*RUN, "--synthesis-cases", "c.jsonl", "--safe-batch", "b", "--strict-ah", "--profile", profile)
        cases = {case["id"]: case for case in read_page(PAGE.read_text("utf-8")).cases}
        for id_, case in cases.items():
            for one in case["checks"]:
                words = "".join(part if isinstance(part, str) else f"<{part[0]}>" for part in one["decided"])
                told[profile, id_, one["by"]] = words
    assert all(words.endswith(".") for words in told.values())
    for profile, case_id, by, words in (
        ("standard", "good", "topic_pivot", "shares 1 word with the message: <exam>. The label says that it fails."),
        ("standard", "bad", "topic_pivot", "touches what was disclosed. The label agrees."),
        ("standard", "german", "topic_pivot", "Not judged: the text is not in English."),
        ("standard", "calm", "topic_pivot", "no clause that counts is of vulnerability."),
        ("standard", "mute", "unverifiable_reassurance", "Does not apply: the reply has no word."),
        ("standard", "bad", "unverifiable_reassurance", "1 clause against the reply. A reply passes with no clause"),
        ("spec", "good", "topic_pivot", "at a similarity of 0.45 (here 0."),
        ("standard", "idle", "CR", "No signal is required: 1.00. Pass from 0.80, Review from 0.50."),
        ("standard", "many", "CR", "1 of 1 required signal found: 1.00."),
        ("standard", "many", "AH", "1 forbidden term used, and under strict-ah one is enough: 0.00."),
    ):
        assert words in told[profile, case_id, by]
    assert len([mark for mark in cases["many"]["marks"] if mark[0] == "signals"]) == 50


# --- keyboards, screen readers, narrow screens and paper ------------------------------------------


def test_the_keyboard_reaches_all(safe_gate: SafeGate, browser: Browser) -> None:
    assert safe_gate(*RUN, *clinical_and_turns()).code == 1
    browser.open(PAGE)
    browser.press("Tab")
    assert browser.run("document.activeElement.textContent") == "Skip to the cases"
    browser.press("Enter")
    seen = []
    for _ in range(10):
        browser.press("Tab")
        seen.append(browser.run("document.activeElement.name || document.activeElement.tagName"))
        if seen[-1] == "SUMMARY":
            break
    assert seen == ["text", "evaluator", "label", "check", "rule", "archetype", "tag", "sort", "SUMMARY"]
    browser.press("Enter")
    assert browser.run("new Promise((done) => setTimeout(() => done(!!document.querySelector('#list .body')), 0))")
    browser.press("Tab")
    assert browser.run("document.activeElement.textContent") == "Link to this case"


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False), (390, True)])
def test_axe_finds_nothing_serious(changed: Callable[..., None], browser: Browser, width: int, dark: bool) -> None:
    if not (script := os.environ.get("TESTS_AXE")):
        pytest.skip("TESTS_AXE names no axe.min.js (npm: axe-core)")
    changed(width=width, dark=dark)
    for place in range(3):
        opened(browser, place)
    browser.run("document.querySelectorAll('.fold').forEach((one) => { one.open = true; })")
    browser.call("Runtime.evaluate", expression=Path(script).read_text("utf-8"))
    found = browser.run("axe.run().then((result) => JSON.stringify(result.violations))")
    violations = {one["id"]: [node["html"] for node in one["nodes"]] for one in json.loads(found)}
    assert violations == {}


@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_is_wider_than_the_screen(changed: Callable[..., None], browser: Browser, width: int) -> None:
    changed(width=width)
    for place in range(3):
        opened(browser, place)
    assert browser.run("document.documentElement.scrollWidth") == width


CUT = "[...document.querySelectorAll('.scroll, .rates, .rates th')].filter((one) => one.scrollWidth > one.clientWidth + 1)"


def test_a_long_name_pushes_nothing_off_the_screen(safe_gate: SafeGate, browser: Browser) -> None:
    names = "evals/" + "long_name_" * 12, "x" * 211, "\u200b" * 24, "w" * 24
    write_cases(Path("c.jsonl"), *(turn(one, asistant="y") for one in names))
    assert safe_gate(*RUN, "--synthesis-cases", "c.jsonl").code == 3
    browser.open(PAGE, width=1200)
    assert browser.run(f"{CUT}.length") == 0
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.run(f"{CUT}.length") == 0, "paper does not scroll"
    write_batch(Path("b.json"), *(safe_case(one[:200], archetype=one[:200]) for one in names))
    assert safe_gate(*RUN, "--safe-batch", "b").code == 0
    for width in (390, 700, 1200):
        browser.open(PAGE, width=width)
        assert browser.run(f"{CUT}.filter((one) => !one.closest('.fold')).length") == 0
        assert browser.run("document.documentElement.scrollWidth") == width


def test_paper_has_what_is_open_and_no_controls(safe_gate: SafeGate, browser: Browser) -> None:
    assert safe_gate(*RUN, *clinical_and_turns()).code == 1
    browser.open(PAGE, dark=True)
    opened(browser)
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.run("getComputedStyle(document.getElementById('filters')).display") == "none"
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert "required signal" in browser.run("document.querySelector('#list details').innerText")
    assert browser.call("Page.printToPDF")["data"]
