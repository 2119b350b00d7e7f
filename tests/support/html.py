"""Runs with a page."""

import json
from pathlib import Path

from tests.support.browser import Browser
from tests.support.cases import BAD, SILENT, safe_case, turn, write_batch, write_cases

PAGE = Path("reports/safe-gate.html")
RUN = ("run", "--reports", "json,html")


def clinical_and_turns() -> tuple[str, ...]:
    """Write cases of both evaluators, most of which pass; return the flags of a run."""
    silent = safe_case("S2", archetype="Hunter", output=SILENT)
    write_batch(Path("b.json"), safe_case("S1", archetype="Auditor"), silent)
    calm = turn("calm", user="Where is my invoice?", assistant="It is under Billing.", checks=["topic_pivot"])
    negative = turn("negative", assistant=BAD, tags=["exam", "negative_example"])
    write_cases(Path("c.jsonl"), turn("good", tags=["exam"]), turn("bad", assistant=BAD), calm, negative)
    return ("--safe-batch", "b", "--synthesis-cases", "c.jsonl")


def shown(browser: Browser) -> list[str]:
    """Return the ids of the list, as they are shown."""
    found: list[str] = browser.run("[...document.querySelectorAll('#list .id')].map((one) => one.textContent)")
    return found


def choose(browser: Browser, **values: str) -> list[str]:
    """Set filters as a user does; return the ids that are left."""
    for name, value in values.items():
        browser.run(
            f"(() => {{ const field = document.getElementById('filters').elements[{json.dumps(name)}];"
            f"field.value = {json.dumps(value)};"
            "if (field.value !== " + json.dumps(value) + ") throw new Error('there is no such choice');"
            "field.dispatchEvent(new Event('input', { bubbles: true })); })()"
        )
    return shown(browser)


def opened(browser: Browser, place: int = 0) -> str:
    """Open a case of the list; return what it says."""
    words: str = browser.run(
        "new Promise((done) => { const one = document.querySelectorAll('#list details')["
        f"{place}]; one.addEventListener('toggle', () => setTimeout(() => done(one.innerText)), {{ once: true }});"
        "one.open = true; })"
    )
    return words
