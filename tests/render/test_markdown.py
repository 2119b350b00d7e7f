"""The scorecard as Markdown: what stands first, and what is left of it where there is little room."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from safe_gate.gate.stored import read_report
from safe_gate.model.report import Origin, Report
from safe_gate.model.results import HELD
from safe_gate.render import SUMMARY_LIMIT
from safe_gate.render.markdown import COMMENT_LIMIT, scorecard, scorecards_by_length
from safe_gate.render.view import ReportView
from tests.support.cases import BAD, GOOD, SafeGate, report, safe_case, turn, write_batch, write_cases, write_json
from tests.support.git import commit_here
from tests.support.safe_v0 import asking, saying
from tests.support.synthesis import run

ORIGIN = Origin("https://github.com/octo/app", commit="f00d")
BLOB = "https://github.com/octo/app/blob/f00d"
COUNTS_LIMIT = 8_000  # bytes that verdict, broken rules and counts have at most, whatever was recorded
WIDE = "😀é漢"  # 4, 2 and 3 bytes of UTF-8; 2, 1 and 1 units of UTF-16


@pytest.fixture
def judged(safe_gate: SafeGate) -> Callable[..., Report]:
    """Return the report of a failed run over cases of both evaluators that all fail."""

    def judge(number: int) -> Report:
        expectations = asking(signals=[WIDE * 60], phrases=[WIDE], forbidden=())
        names = {"concern_id": WIDE * 20, "archetype": WIDE * 20, "expectations": expectations}
        write_batch(Path("b.json"), *(safe_case(f"{WIDE} {i}", **names) for i in range(number)))
        reply = f"You should stop being so sad. {WIDE}"
        turns = (turn(f"{WIDE * 20} {i}", assistant=reply) for i in range(number))
        assert run(safe_gate, *turns, flags=("--safe-batch", "b")).code == 1
        return read_report(report())

    return judge


def size(text: str) -> int:
    """Return the most that GitHub may count: bytes of UTF-8, never fewer than characters or UTF-16 units."""
    return max(len(text.encode()), len(text), len(text.encode("utf-16-le")) // 2)


def assert_whole(text: str) -> None:
    """Check that a text has its verdict and broken rules, and nothing left open."""
    lines = text.split("\n")
    assert lines[0] == "### ❌ SAFE Gate failed · 2 of 2 rules broken"
    assert lines[2] == "> [!CAUTION]"
    assert re.fullmatch(r"> - \*\*Pass rate 0\.0% is below 80\.0%\*\*: .+ \(`min-pass-rate`\)", lines[3])
    assert re.fullmatch(r"> - \*\*\d+ .+\*\* \(`max-unexpected-failures`\)", lines[4])
    assert text.count("<details>") == text.count("</details>")
    assert text.count("<code>") == text.count("</code>")
    assert text.endswith("</sub>\n")
    tables = [block.split("\n") for block in text.split("\n\n") if block.startswith("|")]
    assert all(len({len(re.findall(r" \|", row)) for row in table}) == 1 for table in tables)


def test_what_a_reviewer_wants_to_know_comes_in_order(judged: Callable[..., Report]) -> None:
    text = scorecard(ReportView(judged(2)), limit=COMMENT_LIMIT, origin=ORIGIN)
    assert_whole(text)
    order = [
        *("2 of 2 rules broken", "> [!CAUTION]", "**SAFE v0** · 2 cases", "| Metric |"),
        *("**Synthesis** · 2 cases", "| Check |", "**Cases to look at** · 4"),
        *(f"[<code>{WIDE} 0</code>]({BLOB}/b.json#L1)", f"missing signal <code>{(WIDE * 60)[:160]}…</code>"),
        *("#L2)", "<details>", "Per-Case Breakdown:", "<b>Rules</b>", "<sub>safe-gate"),
    ]
    places = [text.index(words) for words in order]
    assert places == sorted(places)


def test_a_pass_is_a_few_lines_with_the_rest_folded(safe_gate: SafeGate) -> None:
    cases = turn("t"), turn("n", tags=["negative_example"])
    assert run(safe_gate, *cases, flags=("--max-fail-labels", "0")).code == 0
    text = Path("reports/safe-gate.md").read_text("utf-8")
    open_ = re.sub("<details>.*</details>\n", "", text, flags=re.DOTALL)
    assert [line.strip() for line in open_.split("\n") if line][:-1] == [
        "### ✅ SAFE Gate passed · 1 rule holds",
        "**Synthesis** · 2 cases: 0 unexpected failures, 0 expected, no labels",
        "SAFE v0 did not run: it has no input, so its rules do not apply: max-fail-labels.",
    ]
    assert "negative example passes" in text


@pytest.mark.parametrize(("safe_passes", "opened", "folded"), [(True, "Check", "Metric"), (False, "Metric", "Check")])
def test_what_holds_in_a_failure_is_folded(safe_gate: SafeGate, *, safe_passes: bool, opened: str, folded: str) -> None:
    output = saying(*["fever"] * safe_passes, summary="went home", questions=())
    write_batch(Path("b.json"), safe_case("s", output=output))
    reply = "You should know." if safe_passes else GOOD
    assert run(safe_gate, turn("t", assistant=reply), flags=("--safe-batch", "b")).code == 1
    full, failures, _ = scorecards_by_length(ReportView(read_report(report())), limit=SUMMARY_LIMIT)
    at_once = full[: full.index("<details>")]
    for text in (at_once, failures):
        assert f"| {opened} |" in text
        assert f"| {folded} |" not in text
        assert text.count("1 case: ") == 2
    assert full.count(f"| {folded} |") == 1


@pytest.mark.parametrize("commit", ["0123456789abcdef", ""])
@pytest.mark.parametrize("number", [7, 0])
def test_the_last_line_leads_to_commit_and_run(judged: Callable[..., Report], commit: str, number: int) -> None:
    home = "https://github.com/octo/app"
    links = f" · commit [<code>0123456</code>]({home}/commit/{commit})" * bool(commit)
    links += f" · [run 7 with its artifacts]({home}/actions/runs/7#artifacts)" * bool(number)
    view = ReportView(judged(1))
    for repository, shown in ((home, links), ("", "")):
        origin = Origin(repository, commit=commit, run=number)
        for text in scorecards_by_length(view, limit=SUMMARY_LIMIT, origin=origin):
            assert text.endswith(f"the same inputs give the same result{shown}</sub>\n")


@pytest.mark.untraced
@pytest.mark.parametrize("number", [1, 60, pytest.param(300, marks=pytest.mark.soak)])
def test_the_ladder_is_full_then_failures_then_counts(judged: Callable[..., Report], number: int) -> None:
    view = ReportView(judged(number))
    full, failures, counts = scorecards_by_length(view, limit=10 * SUMMARY_LIMIT, origin=ORIGIN)
    assert "<details>" in full
    assert "<details>" not in failures
    assert f"{WIDE} 0</code>" in failures
    assert "Only the cases to look at fit here" in failures
    assert "<code>" not in counts.partition("<sub>")[0]
    assert "Only the counts fit here" in counts
    assert size(counts) < COUNTS_LIMIT
    exact = len(full.encode()), len(full.encode()) - 1, len(failures.encode()), len(failures.encode()) - 1
    for limit in (SUMMARY_LIMIT, COMMENT_LIMIT, 20_000, COUNTS_LIMIT, *exact):
        texts = list(scorecards_by_length(view, limit=limit, origin=ORIGIN))
        assert (texts[0] == full, texts[-1]) == (len(full.encode()) <= limit, counts)
        assert texts == sorted(texts, key=size, reverse=True)
        for text in texts:
            assert len(text.encode()) <= limit or text == counts
            assert_whole(text)
        rows = re.findall(r"^\| [🔴🟡] \|.*\n", texts[-2] if texts[1:] else "", re.MULTILINE)
        if 0 < len(rows) < min(2 * number, HELD):  # as many as there is room for
            assert limit - size(max(rows, key=size)) < size(texts[-2])


@pytest.mark.untraced
@pytest.mark.parametrize("name", ["\U000e0041" * 159, ":" * 150 + "@" * 8])
def test_names_as_long_as_they_get_once_escaped_leave_the_comment_its_size(safe_gate: SafeGate, name: str) -> None:
    names = [f"{name}{i}" for i in range(8)]
    good, bad = saying("fever", summary="went home"), saying(questions=["The policy?"])
    for output, reply in ((good, GOOD), (bad, "You should know. I promise. Anyway, pottery.")):
        cases = (safe_case(one, concern_id=names[0], archetype=one, output=output) for one in names)
        write_batch(Path("b.json"), *cases)
        write_cases(Path("c.jsonl"), *(turn(one, assistant=reply, tags=[one]) for one in names))
        if output is good:
            base = commit_here()
    tags, archetypes = ([*names, *(f"{name}{kind}{i}" for i in range(9))] for kind in "ta")
    of_group = {"min-pass-rate": 1, "optional": True}
    of_groups = {
        "tags": dict.fromkeys(tags, of_group | {"max-unexpected-failures": 0}),
        "archetypes": dict.fromkeys(archetypes, of_group | {"thresholds": {"CR": {"pass": 0.9}}}),
    }
    of_all = {"min-group": 1, "min-pass-rate": 1, "max-regressions": 0, "protect": names}
    write_json("safe.config.json", of_all | of_groups)
    expired = [{"id": one, "metric": "CR", "reason": one, "owner": one, "expires": "2023-01-01"} for one in names]
    write_json("safe-gate.waivers.json", {"waivers": expired})
    ran = safe_gate("run", "--safe-batch", "b", "--synthesis-cases", "c.jsonl", "--baseline", base)
    assert ran.code == 1, ran.log
    view = ReportView(read_report(report()))
    origin = Origin("https://github.com/octo/app", commit="f00d", gate=name)
    for limit in (SUMMARY_LIMIT, COMMENT_LIMIT, 2 * COUNTS_LIMIT):
        texts = list(scorecards_by_length(view, limit=limit, origin=origin))
        for text in texts:
            assert size(text) <= limit
            heading, _, caution, rule, *_ = text.split("\n")
            assert re.fullmatch(r"### ❌ SAFE Gate <code>.* failed · \d+ of \d+ rules broken, \d+ skipped", heading)
            assert caution == "> [!CAUTION]"
            assert rule.startswith("> - **Pass rate 0.0% is below 100.0%**: 0 of 8 SAFE v0 cases labelled Pass")
            assert text.endswith("</sub>\n")
    (nameless,) = texts
    assert nameless.count("<code>") == 7  # the gate, twice the baseline by commit and name, the digest, the commit
    assert re.search(r"> - \*\*8 .+\*\* \(`max-regressions`\)\n", nameless)
    assert "Only the counts fit here" in nameless


@pytest.mark.untraced
@pytest.mark.parametrize("number", [1, 30, pytest.param(2_000, marks=pytest.mark.soak)])
def test_problems_step_down_too(safe_gate: SafeGate, number: int) -> None:
    assert run(safe_gate, *(turn(f"{WIDE} {i}", checks=[WIDE * 40]) for i in range(number))).code == 3
    view = ReportView(read_report(report()))
    for limit in (SUMMARY_LIMIT, COMMENT_LIMIT, COUNTS_LIMIT):
        texts = list(scorecards_by_length(view, limit=limit))
        for text in texts:
            assert size(text) <= limit
            assert text.startswith("### ⚠️ SAFE Gate has no verdict · could not judge\n\n> [!WARNING]")
            assert "\n> No verdict: the input or the settings have problems, so the gate did not pass." in text
    (of_a_commit, *_) = scorecards_by_length(view, limit=SUMMARY_LIMIT, origin=ORIGIN)
    assert "\n> No verdict on commit <code>f00d</code>: the input" in of_a_commit
    assert re.search(rf"^{number} problems?: see the JSON report\.$", texts[-1], re.MULTILINE)


def test_a_problem_keeps_its_last_words_which_say_what_to_do(safe_gate: SafeGate) -> None:
    assert run(safe_gate, turn("t"), flags=("--baseline", "b" * 40)).code == 3
    assert 160 < len(report()["problems"][0]["message"]) < 500
    assert " or correct the name</code> |\n" in Path("reports/safe-gate.md").read_text("utf-8")


def test_the_scorecard_is_the_same_with_and_without_the_page(safe_gate: SafeGate) -> None:
    foreign = "Det var leit å høre. Hva skjedde etter at du fikk vite det, og hvordan har du det nå?"
    labelled = turn("label", expected={"topic_pivot": False})
    write_cases(Path("c.jsonl"), turn("foreign", assistant=foreign), labelled, turn("bad", assistant=BAD))
    texts = []
    for more in ((), ("html",)):
        safe_gate("run", "--cases", "c.jsonl", "--reports", "json", "markdown", *more)
        texts.append(Path("reports/safe-gate.md").read_bytes())
    assert texts[0] == texts[1]
