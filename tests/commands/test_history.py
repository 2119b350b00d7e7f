"""`safe-gate history`: pass rates, labels and agreement over runs, as a page and as Markdown."""

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from safe_gate.addons.page.history import changes
from safe_gate.commands.history import read
from tests.support.browser import Browser, chromium
from tests.support.cases import (
    BAD,
    REPOSITORY,
    SILENT,
    Patch,
    Ran,
    SafeGate,
    refused,
    report,
    safe_case,
    turn,
    write_batch,
    write_cases,
    write_json,
)
from tests.support.formats import html as read_page

PAGE, TEXT = (Path(f"out/safe-gate.history.{suffix}") for suffix in ("html", "md"))
EXPECTED = REPOSITORY / "tests/data/formats/expected/safe-gate.history.md"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture
def runs(safe_gate: SafeGate, monkeypatch: Patch) -> Callable[[], Ran]:
    """Make five runs, of which the third gets worse, the fourth has other rules and the last no verdict."""
    cases = ("--synthesis-cases", "c.jsonl", "--safe-batch", "b")
    expected = {"agency_language": True}

    def run(day: int, *flags: str, is_worse: bool = False) -> None:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(86_400 * day))
        replies = [turn("a", expected=expected), turn("b", assistant=BAD) if is_worse else turn("b")]
        write_cases(Path("c.jsonl"), *replies)
        write_batch(Path("b.json"), safe_case("s"), safe_case("t", output=SILENT) if is_worse else safe_case("t"))
        safe_gate("run", *cases, *flags, "--report-dir", f"runs/{day}")

    def made() -> Ran:
        run(1)
        run(2, "--text", "none", "--weights", "AH=2")  # which judge nothing
        run(3, is_worse=True)
        run(4, "--min-pass-rate", "0.9", "--profile", "spec", is_worse=True)
        run(5, "--min-pass-rate", "0.9", "--profile", "spec", "--max-vacuous", "nonsense")
        return safe_gate("history", "runs/*/safe-gate.json", "--report-dir", "out")

    return made


def drawn() -> dict[str, ElementTree.Element]:
    """Return the charts of the page by title."""
    figures = re.findall(r"<figcaption>(.*?)</figcaption>(<svg.*?</svg>)", PAGE.read_text("utf-8"), re.DOTALL)
    return {title: ElementTree.fromstring(chart) for title, chart in figures}


def test_the_history_is_this(runs: Callable[[], Ran], monkeypatch: Patch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(Path("summary.md").absolute()))
    ran = runs()
    assert ran.code == 0, ran.log
    if os.environ.get("TESTS_UPDATE"):
        EXPECTED.write_text(TEXT.read_text("utf-8"), "utf-8")
    assert TEXT.read_text("utf-8") == EXPECTED.read_text("utf-8")
    assert Path("summary.md").read_text("utf-8").endswith(EXPECTED.read_text("utf-8"))
    assert "Written: out/safe-gate.history.html, out/safe-gate.history.md" in ran.out
    assert "50.0% (1 of 2)" in ran.out


def test_charts_show_rates_and_mark_changes_of_rules_as_the_text_does(runs: Callable[[], Ran]) -> None:
    runs()
    moments, copies = read(["runs/*/safe-gate.json"])
    assert [one.verdict for one in moments] == ["pass", "pass", "fail", "fail", "error"]
    assert (changes(moments), copies) == ({3: ["min-pass-rate", "profile"]}, 0)
    page = read_page(PAGE.read_text("utf-8"))
    assert "Run 4, 1970-01-05 00:00: min-pass-rate, profile" in page.words
    assert TEXT.read_text("utf-8").splitlines()[-2].split("|")[-2].strip() == "min-pass-rate, profile"
    charts = drawn()
    assert list(charts) == [
        *("Labelled Pass", "Passes by metric", "As expected"),
        *("Passes where the check applies, negative examples too", "Agreement with human labels"),
    ]
    for chart in charts.values():
        (mark,) = (one for one in chart.iter("line") if one.get("class") == "change")
        ticks = [float(str(one.get("x"))) for one in chart.iter("text") if re.fullmatch(r"\d\d-\d\d", str(one.text))]
        assert ticks[2] < float(str(mark.get("x1"))) < ticks[3]
    dots = [one for one in charts["Labelled Pass"].iter("circle") if one.get("class") == "s0"]
    rates = [f"all cases: {rate}%" for rate in ("100.0", "100.0", "50.0", "50.0")]  # none of the fifth
    assert [one[0].text for one in dots] == rates
    heights = [float(str(one.get("cy"))) for one in dots]
    assert heights[0] == heights[1] < heights[2] == heights[3]


def test_waivers_that_let_a_run_pass_are_counted(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("a"), turn("b", assistant=BAD))
    run = ("run", "--cases", "c.jsonl", "--max-unexpected-failures", "off", "--min-synthesis-pass-rate", "1")
    assert safe_gate(*run, "--report-dir", "runs/1").code == 1
    known = ("--reason", "known", "--owner", "me", "--expires", "2099-01-01")
    safe_gate("bless", "runs/1/safe-gate.json", "--waivers", *known)
    assert safe_gate(*run, "--report-dir", "runs/2").code == 0
    out = safe_gate("history", "runs/*/safe-gate.json", "--report-dir", "out").out
    rows = [[cell.strip() for cell in line.split("│")[3:5]] for line in out.splitlines() if "50.0%" in line]
    assert rows == [["failed", "50.0% (1 of 2)"], ["passed, 3 waivers", "50.0% (1 of 2)"]]


def test_another_judge_is_a_change_of_the_rules(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    for day, judge in enumerate(("judge-1", "judge-1", "judge-2"), 1):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(86_400 * day))
        write_cases(Path("c.jsonl"), turn("a", judged={"tone": {"passed": True, "by": judge}}))
        assert safe_gate("run", "--cases", "c.jsonl", "--report-dir", f"runs/{day}").code == 0
    assert safe_gate("history", "runs/*/safe-gate.json", "--report-dir", "out").code == 0
    changed = [line.split("|")[-2].strip() for line in TEXT.read_text("utf-8").splitlines() if "| 1970" in line]
    assert changed == ["", "", "judges"]


def test_of_many_runs_the_terminal_and_the_text_have_the_latest(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    safe_gate("run", "--cases", "c.jsonl")
    for number in range(1, 106):
        at = f"2026-01-01T{number // 60:02}:{number % 60:02}:00Z"
        write_json(f"runs{number}.json", report() | {"generated_at": at})
    lines = safe_gate("history", "runs*.json", "--report-dir", "out").out.splitlines()
    runs = [line.split("│")[1].strip() for line in lines if "2026-01-01" in line]
    assert (runs, lines[-2]) == ([*map(str, range(6, 106))], "… and 5 earlier runs: see the page.")
    *_, last, _, more = TEXT.read_text("utf-8").splitlines()
    assert (last.split()[1], more) == ("105", "… and 75 earlier runs: see the page.")


@pytest.mark.parametrize(
    ("patterns", "words"),
    [
        (["nothing.json"], "nothing.json: matches no file"),
        (["runs/1/safe-gate.json", "c.jsonl"], "c.jsonl:2: is not valid JSON"),
        (["changed.json"], "its digests do not match its contents"),
    ],
)
def test_other_files_are_refused(runs: Callable[[], Ran], safe_gate: SafeGate, patterns: list[str], words: str) -> None:
    runs()
    for path in (PAGE, TEXT):
        path.unlink()
    changed = Path("runs/1/safe-gate.json").read_text("utf-8").replace('"label": "Pass"', '"label": "Fail"')
    Path("changed.json").write_text(changed, "utf-8")
    refused(safe_gate("history", *patterns, "--report-dir", "out"), words)
    assert not [*Path("out").iterdir()]


def test_hostile_names_stay_text(safe_gate: SafeGate, browser: Browser) -> None:
    attack = "<img src=x onerror=window.hurt=1>"
    write_cases(Path("c.jsonl"), turn(attack, tags=[attack]))
    folder = f"runs {attack}"
    assert safe_gate("run", "--synthesis-cases", "c.jsonl", "--report-dir", folder).code == 0
    found = json.loads((Path(folder) / "safe-gate.json").read_text("utf-8"))
    assert found["verdict"] == "pass"
    assert safe_gate("history", f"{folder}/safe-gate.json", "--report-dir", "out").code == 0
    read_page(PAGE.read_text("utf-8"))
    assert "<img" not in TEXT.read_text("utf-8")
    browser.open(PAGE)
    assert browser.requests() == [PAGE.absolute().as_uri()]
    assert browser.complaints() == []
    assert browser.run("typeof window.hurt") == "undefined"


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_everybody_can_use_the_page(runs: Callable[[], Ran], browser: Browser, width: int, *, dark: bool) -> None:
    runs()
    browser.open(PAGE, width=width, dark=dark)
    assert browser.complaints() == []
    assert browser.run("document.documentElement.scrollWidth") == width
    wide = "[...document.querySelectorAll('.runs .scroll')].map((one) => one.scrollWidth - one.clientWidth).join()"
    assert width < 640 or browser.run(wide) == "0"  # no column is cut
    cells = "[...document.querySelectorAll('.runs tbody tr:first-child td')]"
    breaks = browser.run(f"{cells}.map((one) => getComputedStyle(one).whiteSpace).join()").split(",")
    assert breaks[1:] == ["nowrap", "nowrap", *["normal"] * (len(breaks) - 3)]  # time and verdict, without a commit
    if not (script := os.environ.get("TESTS_AXE")):
        pytest.skip("TESTS_AXE names no axe.min.js (npm: axe-core)")
    browser.call("Runtime.evaluate", expression=Path(script).read_text("utf-8"))
    found = browser.run("axe.run().then((result) => JSON.stringify(result.violations))")
    assert {one["id"]: [node["html"] for node in one["nodes"]] for one in json.loads(found)} == {}
