"""The base of evaluators whose outputs pass or fail named checks."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pytest

from safe_gate.core.case import CaseAt, Input
from safe_gate.core.passfail import Part, PassFail, Summary
from safe_gate.core.setting import Group
from safe_gate.evaluators.replies import no_reply
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import Place
from safe_gate.model.results import Explanation


class Short(PassFail):
    """Whether outputs are short."""

    name, title, settings, kinds = "short", "Short", Group, ()
    weaker: Mapping[str, Any] = MappingProxyType({})
    input = Input(setting="", kind="", plural="")
    explanations = MappingProxyType({"length": Explanation("Length", "The output is short.", "Shorten it.")})

    def check(self, value: JsonObject) -> Mapping[str, Sequence[str]]:
        return {"length": [f"has {len(value['output'])} characters"] if len(value["output"]) > 5 else []}


def part_of(*outputs: str) -> Part:
    short = Short()
    lines = [{"id": f"c{number}", "output": output, "tags": ["t"]} for number, output in enumerate(outputs)]
    cases = [case for one in lines for case in short.parse(one, CaseAt(Place("c.jsonl", 1), ""), {})]
    scored = [(case, short.score(case, "")) for case in cases]
    return short.report(short.totals(scored, ""), [entry for _, entry in scored], "", "")


def test_its_results_are_values() -> None:
    part = part_of("a", "too long")
    good, bad = part.results
    assert (good.passed, good.failed, bad.passed, bad.failed) == (True, (), False, ("length",))
    assert bad.checks == {"length": ["has 8 characters"]}
    assert part.summary == Summary(2, 1)


def test_a_check_may_refuse_an_output_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Short, "check", lambda _, value: {"length": [*filter(None, [no_reply(value["output"])])]})
    outputs = " ", "Error 502: Bad gateway", "It says: 502."
    assert [one.checks["length"] for one in part_of(*outputs).results] == [["empty"], ["error message"], []]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"size": []}, "check returns 'size'; expected all checks of explanations, which are 'length'"),
        ({}, "check returns nothing; expected all checks of explanations, which are 'length'"),
        ({"length": "is long"}, "check returns no list of texts for 'length'"),
        ({"length": True}, "check returns no list of texts for 'length'"),
        ({"length": [3]}, "check returns no list of texts for 'length'"),
    ],
)
def test_faults_that_no_report_could_show_or_withhold_are_refused(
    found: Mapping[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Short, "check", lambda *_: found)
    with pytest.raises(TypeError, match=words):
        part_of("a")
