"""Whatever is recorded, a report has the shape it has for harmless text: rows, elements, lines, commands."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from safe_gate.core.jsontext import to_json
from safe_gate.gate.stored import read_report, report_json, withheld
from safe_gate.github.runner_files import annotations_of
from safe_gate.model import codec
from safe_gate.model.problems import Place, Problem
from safe_gate.model.report import Report
from safe_gate.render import SUMMARY_LIMIT, console
from safe_gate.render.markdown import COMMENT_LIMIT, scorecards_by_length
from safe_gate.render.view import ReportView
from tests.support.cases import SafeGate, read_json, safe_case, turn, write_batch, write_cases, write_json
from tests.support.examples import examples
from tests.support.hostile import ATTACKS, BLOB, COMMIT, ORIGIN, SHORT_ATTACKS, Page
from tests.support.safe_v0 import asking, saying
from tests.support.texts import any_text, as_the_runner_reads, hides, utf16_units

MARK = WORDS = "kanari"  # in every recorded text, and harmless; what a text is replaced by takes its whole place
hostile_text = st.one_of(any_text, st.sampled_from([*ATTACKS.values(), *SHORT_ATTACKS]))
modest = examples(few=6, many=30)
pytestmark = [pytest.mark.untraced, pytest.mark.thorough]


@pytest.fixture
def recorded(safe_gate: SafeGate) -> Callable[[str], Report]:
    """Return a function from a text to the report of a failed run in which it stands wherever recorded text may."""
    expectations = asking([MARK, f"{MARK} 2"], [MARK], forbidden=[f"a {MARK}", f"b {MARK}"])
    names = {"concern_id": MARK, "archetype": MARK, "expectations": expectations}
    good, bad = saying(MARK, f"{MARK} 2", summary=MARK, questions=()), saying(questions=[f"a {MARK}"])
    write_batch(Path(f"{MARK}.json"), *(safe_case(f"{MARK} {i}", **names, output=good) for i in range(4)))
    write_cases(Path(f"{MARK}.jsonl"), *(turn(f"{MARK} {i}", tags=[MARK]) for i in range(5)))
    safe_gate("run", "--batch", f"{MARK}.json", "--cases", f"{MARK}.jsonl")
    Path("reports/safe-gate.json").rename(f"{MARK}.old.json")
    write_batch(Path(f"{MARK}.json"), *(safe_case(f"{MARK} {i}", **names, output=bad) for i in range(3)))
    reply = f"You should stop {MARK} so sad. I know exactly how you feel, {MARK}. You'll definitely be fine {MARK}."
    turns = [turn(f"{MARK} {i}", assistant=reply, tags=[f"{MARK} {i}"], expected={"topic_pivot": True}) for i in (1, 2)]
    write_cases(Path(f"{MARK}.jsonl"), *turns)
    limits = {"tags": {f"{MARK} 1": {"max-unexpected-failures": 0}}, "archetypes": {MARK: {"min-pass-rate": 1}}}
    write_json("groups.json", limits | {"min-group": 1})
    fields = {"reason": MARK, "owner": MARK, "expires": "2999-12-31"}
    fates = [{"id": f"{MARK} {i}", "check": "topic_pivot"} for i in (1, 3)] + [{"id": f"{MARK} 4", "metric": "CR"}]
    write_json("waivers.json", {"waivers": [one | fields for one in fates]})
    inputs = "--batch", f"{MARK}.json", "--cases", f"{MARK}.jsonl", "--waivers", "waivers.json"
    against = "--baseline", f"{MARK}.old.json", "--protect", MARK
    assert safe_gate("run", *inputs, "--config", "groups.json", *against).code == 1
    template = read_json("reports/safe-gate.json")

    def run(text: str) -> Report:
        def put(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: put(inner) for key, inner in value.items()}
            if isinstance(value, list):
                return [put(inner) for inner in value]
            return text if isinstance(value, str) and MARK in value else value

        return read_report(put(template))

    return run


def problems(text: str) -> tuple[Problem, ...]:
    return tuple(Problem(Place(text, line), text, text, text) for line in (1, 2))


def test_markdown_renders_to_the_same_elements_and_words_around_them(recorded: Callable[[str], Report]) -> None:
    def shape(text: str) -> list[tuple[list[str], str]]:
        found = []
        for one in ((), problems(text)):
            for body in scorecards_by_length(ReportView(replace(recorded(text), problems=one)), limit=SUMMARY_LIMIT):
                page = Page(body)
                tags = [element.tag for element in page.elements if element.tag != "wbr"]  # as many as text has dots
                found.append((tags, page.outside_code))
        return found

    harmless = shape(WORDS)
    assert len(harmless) == 6

    @given(hostile_text)
    @example("a|b`\n\n<!-- --></code></details> @org #1 https://example.com ![](//x.png)")
    @modest
    def check(text: str) -> None:
        assert shape(text or " ") == harmless

    check()


def test_links_lead_to_the_data_alone(recorded: Callable[[str], Report]) -> None:
    @given(hostile_text)
    @example("../x")
    @example("/etc/passwd")
    @example("javascript:alert(1)//")
    @modest
    def check(text: str) -> None:
        view = ReportView(replace(recorded(text), problems=problems(text)))
        for body in scorecards_by_length(view, limit=COMMENT_LIMIT, origin=ORIGIN):
            page = Page(body)
            links = [element.attributes["href"] for element in page.elements if element.tag == "a"]
            assert links.pop() == COMMIT
            assert all(link.startswith(BLOB) and "#L" in link for link in links)
            assert not [element.tag for element in page.elements if element.tag in ("img", "script", "style", "input")]

    check()


def test_annotations_are_as_many_and_each_a_command_of_ours(recorded: Callable[[str], Report]) -> None:
    levels = [one.level for one in annotations_of(ReportView(recorded(WORDS)))]

    @given(hostile_text, st.sampled_from(["", "evals"]))
    @modest
    def check(text: str, folder: str) -> None:
        report = recorded(text)
        assert [one.level for one in annotations_of(ReportView(report))] == levels
        of_problems = annotations_of(ReportView(replace(report, problems=problems(text))), folder)
        assert {one.message for one in of_problems} >= {*map(console.problem_line, problems(text))}
        for one in (*annotations_of(ReportView(report), folder), *of_problems):
            level, properties, data = as_the_runner_reads(one.command())
            assert (level, data) == (one.level, one.message)
            assert set(properties) <= {"title", "file", "line"}
            assert properties["title"].startswith("SAFE Gate")
            assert not properties.get("file", "").startswith(("/", "../"))
            assert utf16_units(data) <= 4_096
            assert not any(char != "\n" and hides(char) for char in one.message + one.title)
            assert "##[" not in one.command()

    check()


def test_without_texts_nothing_recorded_is_left_but_names(recorded: Callable[[str], Report]) -> None:
    @given(any_text.filter(lambda text: len(text) > 5))
    @modest
    def check(text: str) -> None:
        report = recorded(text)
        bare = {name: withheld(name, part) for name, part in report.parts.items() if part}
        assert bare.keys() == {"safe_v0", "synthesis"}
        for part in bare.values():
            for result in map(codec.to_json, part.results):
                texts = json.dumps(result.get("details", result.get("checks")))
                assert json.dumps(text)[1:-1] not in texts
        stored = report_json(replace(report, parts=bare))
        assert json.loads(to_json(stored)) == stored

    check()
