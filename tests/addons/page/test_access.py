"""The page for keyboards, screen readers, narrow screens and paper."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.browser import Browser
from tests.support.cases import SafeGate
from tests.support.html import PAGE, RUN, clinical_and_turns, opened


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
    changed()
    browser.open(PAGE, width=width, dark=dark)
    for place in range(3):
        opened(browser, place)
    browser.run("document.querySelectorAll('.fold').forEach((one) => { one.open = true; })")
    browser.call("Runtime.evaluate", expression=Path(script).read_text("utf-8"))
    found = browser.run("axe.run().then((result) => JSON.stringify(result.violations))")
    violations = {one["id"]: [node["html"] for node in one["nodes"]] for one in json.loads(found)}
    assert violations == {}


@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_is_wider_than_the_screen(changed: Callable[..., None], browser: Browser, width: int) -> None:
    changed()
    browser.open(PAGE, width=width)
    for place in range(3):
        opened(browser, place)
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
