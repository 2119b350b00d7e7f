"""Verdicts of a judge that cases record, from the outside: scores, rules, labels, waivers, comparison and reports."""

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safe_gate import run as run_here
from safe_gate.core.stats import corrected, kappa
from tests.support.cases import (
    GOOD,
    SafeGate,
    bare_case,
    refused,
    report,
    safe_case,
    turn,
    write_batch,
    write_cases,
    write_json,
)
from tests.support.git import commit_here
from tests.support.judged_run import waive
from tests.support.pack_files import write_pack
from tests.support.safe_v0 import saying
from tests.support.synthesis import run

LINES, BATCH = ("--synthesis-cases", "c.jsonl"), ("--safe-batch", "b")
HOSTILE = "\x1b[2J<img src=x>|@org ::error::x\n\u202e`${{ 1 }}`"


def verdict(passed: bool = True, by: str = "judge-1", why: str = "It is cold.") -> dict[str, Any]:
    return {"tone": {"passed": passed, "by": by, "why": why}}


def judged_case(id_: str, passed: bool = True, **fields: Any) -> dict[str, Any]:
    return turn(id_, checks=["unverifiable_reassurance"], judged=verdict(passed), **fields)


def results(evaluator: str) -> dict[str, Any]:
    key = "test_id" if evaluator == "safe_v0" else "id"
    return {one[key]: one for one in report()[evaluator]["results"]}


def broken() -> list[str]:
    return [rule["rule"] for rule in report()["rules"] if not rule["passed"]]


def test_a_failed_verdict_fails_a_case_of_either_evaluator(safe_gate: SafeGate) -> None:
    passing, failing = safe_case("passes", judged=verdict()), safe_case("fails", judged=verdict(False))
    write_batch(Path("b.json"), passing, failing, safe_case("x"))
    flags = (*BATCH, "--max-fail-labels", "0", "--min-pass-rate", "0")
    assert run(safe_gate, judged_case("passes"), judged_case("fails", False), flags=flags).code == 1
    assert broken() == ["max-fail-labels", "max-unexpected-failures"]
    check = {"pass": False, "by": "judge-1", "reason": "It is cold."}
    found = results("synthesis")
    assert [found[one]["pass"] for one in ("passes", "fails")] == [True, False]
    assert found["fails"]["checks"]["judged/tone"] == {**check, "applicable": True, "cancelled": []}
    found = results("safe_v0")
    assert [found[one]["label"] for one in ("passes", "fails", "x")] == ["Pass", "Fail", "Pass"]
    assert found["fails"]["judged"] == {"judged/tone": check}
    assert found["fails"]["scores"]["composite"] == 1
    assert "judged" not in found["x"]
    for part in (report()["safe_v0"], report()["synthesis"]["summary"]):
        figures = part["judged"]["judged/tone"]
        assert (figures["passed"], figures["failed"], figures["judges"]) == (1, 1, ["judge-1"])
        assert (figures["agreement"], figures["kappa"], figures["corrected_pass_rate"]) == (None, None, None)
    assert 'judged by "judge-1": "It is cold."' in safe_gate("explain", "fails", *BATCH).out


def test_a_recorded_output_may_hold_the_verdicts(safe_gate: SafeGate) -> None:
    bare = bare_case("a")
    write_batch(Path("b.json"), bare)
    recorded = {"test_id": "a", "output": safe_case("a")["output"], "judged": verdict(False), "x_run": 1}
    write_cases(Path("b.outputs.jsonl"), recorded)
    assert safe_gate("score", "--batch", "b").code == 1
    write_batch(Path("b.json"), bare | {"judged": verdict()})
    refused(safe_gate("run", *BATCH), "a: judged: is recorded here and at b.outputs.jsonl:1; keep one")


def test_a_tag_or_a_waiver_by_the_name_of_a_verdict_excuses_it(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), judged_case("a", False), judged_case("b", False, tags=["judged/tone-fail"]))
    write_batch(Path("b.json"), safe_case("a", judged=verdict(False)))
    for flags, what in ((LINES, "check"), ((*BATCH, "--max-fail-labels", "0"), "metric")):
        for name, code in (("judged/tone", 0), ("judged/tnoe", 1)):
            waive({"id": "a", what: name})
            assert safe_gate("run", *flags).code == code
            assert [one["id"] for one in report()["waivers"]["applied"]] == ["a"] * (not code)
    waive({"id": "a", "metric": "Judged/tone"})
    refused(safe_gate("run", *BATCH), "expected a recorded verdict, such as judged/tone")


LABELLED = "labels a verdict that is not recorded"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"judged": {"tone": {"passed": "no", "by": "m"}}}, 'judged.tone.passed: is "no"; expected true or false'),
        ({"judged": {"tone": {"pased": True, "by": "m"}}}, '(did you mean "passed"?)'),
        ({"judged": {"tone": {"passed": True}}}, "judged.tone.by: is missing"),
        ({"judged": {"tone": {"passed": True, "by": " \u00a0"}}}, "judged.tone.by: is "),
        ({"judged": {"tone": {"passed": True, "by": "m" * 201}}}, "judged.tone.by: "),
        ({"judged": {"tone": {"passed": True, "by": "m", "why": "w" * 4001}}}, "judged.tone.why: "),
        ({"judged": {"tone": True}}, "judged.tone: is true; expected an object with passed, by and why"),
        ({"judged": {"Tone": {"passed": True, "by": "m"}}}, "lower-case letters, digits and hyphens"),
        ({"judged": {"<b>/../x": {"passed": True, "by": "m"}}}, "lower-case letters, digits and hyphens"),
        ({"judged": {f"t{n}": {"passed": True, "by": "m"} for n in range(101)}}, "judged: "),
        ({"expected": {"judged/tone": True}}, f"expected.judged/tone: {LABELLED}"),
        ({"judged": verdict(), "expected": {"judged/tnoe": True}}, f"expected.judged/tnoe: {LABELLED}"),
    ],
)
def test_a_wrong_verdict_is_an_error_that_names_it(safe_gate: SafeGate, fields: Any, words: str) -> None:
    write_cases(Path("c.jsonl"), turn("a", **fields))
    write_batch(Path("b.json"), safe_case("a", **fields))
    for flags in (LINES, BATCH):
        refused(safe_gate("run", *flags), words)


def test_a_case_may_ask_for_a_verdict_and_no_pack_may_give_one(safe_gate: SafeGate) -> None:
    asks = turn("a", checks=["judged/tone"])
    refused(run(safe_gate, asks), '"judged/tone" has no recorded verdict; add it under judged')
    labelled = asks | {"judged": verdict(), "expected": {"judged/tone": None}}
    refused(run(safe_gate, labelled), "is null, but a judge's verdict always applies")
    assert run(safe_gate, asks | {"judged": verdict()}).code == 0
    assert list(results("synthesis")["a"]["checks"]) == ["judged/tone"]
    rule = {"id": "judged/x", "phrases": ["zebra"], "why": "x", "hit": ["A zebra."], "miss": ["A horse."]}
    write_pack(pack="judged", check="topic_pivot", group="pivot", rules=[rule])
    refused(run(safe_gate, flags=("--rules", "own.json")), "is the id of another rule, pack or check (judged/ is for")


def test_verdicts_of_a_conversation_are_about_its_last_message(safe_gate: SafeGate) -> None:
    said = [{"role": "user", "content": "I failed."}, {"role": "assistant", "content": GOOD}]
    case = {"id": "a", "messages": said * 2, "judged": verdict(False), "expected": {"judged/tone": False}}
    assert run(safe_gate, case | {"turns": "all"}).code == 1
    assert {id_: one["pass"] for id_, one in results("synthesis").items()} == {"a@1": True, "a@3": False}
    tagged = run(safe_gate, case | {"turns": "all", "tags": ["judged/tone-fail"]})
    assert (tagged.code, "excuse no failure" in tagged.out) == (0, False)
    assert run(safe_gate, case | {"turns": "all", "checks": ["judged/tone", "topic_pivot"]}).code == 1
    assert {id_: [*one["checks"]] for id_, one in results("synthesis").items()} == {
        "a@1": ["topic_pivot"],
        "a@3": ["topic_pivot", "judged/tone"],
    }
    alone = case | {"turns": "all", "checks": ["judged/tone"]}
    refused(run(safe_gate, alone), "has no recorded verdict, or an earlier reply has no other check; add it")
    early = [said[0], said[1] | {"expected": {"judged/tone": True}}, *said]
    refused(run(safe_gate, case | {"messages": early}), "messages[1].expected.judged/tone: labels a verdict")


@pytest.mark.parametrize("count", [49, 50])
@pytest.mark.parametrize("evaluator", ["synthesis", "safe_v0"])
def test_labels_measure_the_judge(safe_gate: SafeGate, evaluator: str, count: int) -> None:
    chance, is_safe = random.Random(count), evaluator == "safe_v0"
    case = safe_case if is_safe else turn
    people = [chance.random() < 0.7 for _ in range(count)]
    said = [one if chance.random() < 0.9 else not one for one in people]
    both = [{"judged": verdict(told), "expected": {"judged/tone": one}} for told, one in zip(said, people, strict=True)]
    some = [*(case(f"{n}", **fields) for n, fields in enumerate(both)), case("more", judged=verdict())]
    write_batch(Path("b.json"), *some) if is_safe else write_cases(Path("c.jsonl"), *some)
    flags = ("--max-unexpected-failures", "off", "--min-synthesis-pass-rate", "0", "--min-pass-rate", "0")
    ran = safe_gate("run", *(BATCH if is_safe else LINES), *flags)
    part = report()[evaluator]
    found = (part if is_safe else part["summary"])["judged"]["judged/tone"]
    agreed = sum(one == told for one, told in zip(people, said, strict=True))
    assert (ran.code, found["passed"] + found["failed"]) == (0, count + 1)
    assert sum(number for row in found["confusion"].values() for number in row.values()) == count
    assert math.isclose(found["agreement"]["value"], agreed / count)
    for name in ("agreement", "kappa", *(["corrected_pass_rate"] if count == 50 else ())):
        assert found[name]["low"] < found[name]["value"] < found[name]["high"]
    assert (found["corrected_pass_rate"] is None) == (count < 50)
    words = " ".join(ran.out.split())
    assert ("pass rate corrected for the judge's errors" in words, "kappa 0." in words) == (count == 50, True)


def test_a_limit_on_labels_may_name_a_verdict(safe_gate: SafeGate) -> None:
    case = judged_case("a", expected={"judged/tone": False})
    assert run(safe_gate, case, flags=("--min-label-accuracy", "judged/tone=0.5")).code == 1
    assert broken() == ["min-label-accuracy.judged/tone"]
    assert run(safe_gate, flags=("--min-label-accuracy", "judged/tnoe=0.5")).code == 1


def of_judge(by: str, failing: str = "", changed: str = "") -> None:
    """Write three cases of each evaluator with verdicts of a judge, some of which fail, some of another output."""
    said = {id_: verdict(id_ not in failing, by) for id_ in "abc"}
    more = {id_: " Tell me." * (id_ in changed) for id_ in "abc"}
    turns = [judged_case(id_, assistant=GOOD + more[id_]) | {"judged": said[id_]} for id_ in said]
    write_cases(Path("c.jsonl"), *turns)
    outputs = {id_: saying("Fever", summary=f"She went home.{more[id_]}", questions=["Who called?"]) for id_ in said}
    write_batch(Path("b.json"), *(safe_case(id_, judged=said[id_], output=outputs[id_]) for id_ in said))


def compared() -> dict[str, dict[str, Any]]:
    return {name: report()["comparison"][name] for name in ("synthesis", "safe_v0")}


def reasons(part: dict[str, Any]) -> list[tuple[str, list[str]]]:
    return [(one["id"], one["because"]) for one in part["changes"]]


@pytest.mark.parametrize("kind", ["commit", "report"])
def test_another_judge_is_another_rule(safe_gate: SafeGate, kind: str) -> None:
    everything = (*LINES, *BATCH, "--max-regressions", "0", "--max-unexpected-failures", "off", "--min-pass-rate", "0")
    of_judge("judge-1")
    base = commit_here()
    if kind == "report":
        assert safe_gate("run", *everything, "--report-dir", "old").code == 0
        base = "old/safe-gate.json"
    of_judge("judge-2", failing="ab")
    assert safe_gate("run", *everything, "--baseline", base).code == 0
    swapped = {"check": "judged/tone", "before": "judge-1", "after": "judge-2", "cases": 3, "unseparated": 0}
    for part in compared().values():
        assert reasons(part) == [("a", ["rules"]), ("b", ["rules"])]
        assert part["judges"] == [swapped]
        assert part["cases"]["changed_outputs"] == part["cases"]["changed_expectations"] == []
    if kind == "commit":
        weakened = [(one["kind"], one["id"], one["before"], one["after"]) for one in report()["weakened"]["findings"]]
        assert weakened == [("rule", "judged/tone", "judge-1", "judge-2")] * 2
        assert safe_gate("run", *everything, "--baseline", base, "--on-weakened", "fail").code == 1
        assert broken() == ["on-weakened"]
    of_judge("judge-2", failing="ab", changed="b")
    ran = safe_gate("run", *everything, "--baseline", base)
    assert (ran.code, broken()) == (1, ["label-drops", "max-regressions", "max-regressions"])
    for part in compared().values():
        assert reasons(part) == [("a", ["rules"]), ("b", ["output"])]
        assert part["judges"][0]["unseparated"] == 1
    assert "The rules changed: the judge of judged/tone was" in ran.out


def test_another_judge_is_another_rule_beside_a_new_rule_too(safe_gate: SafeGate) -> None:
    write_json("safe.config.json", {})
    of_judge("judge-1")
    base = commit_here()
    write_pack()
    write_json("safe.config.json", {"rules": ["own.json"]})
    of_judge("judge-2", failing="ab", changed="b")
    flags = ("--max-regressions", "0", "--max-unexpected-failures", "off", "--min-synthesis-pass-rate", "0")
    assert safe_gate("run", *LINES, *flags, "--baseline", base).code == 1
    changes = [(one["id"], one["change"], one["because"]) for one in report()["comparison"]["synthesis"]["changes"]]
    assert changes == [("a", "still failing", ["rules"]), ("b", "newly failing", ["output"])]


def test_a_verdict_that_the_same_judge_changes_is_a_regression(safe_gate: SafeGate) -> None:
    of_judge("judge-1")
    base = commit_here()
    of_judge("judge-1", failing="a")
    assert safe_gate("run", *LINES, *BATCH, "--min-pass-rate", "0", "--baseline", base).code == 1
    for part in compared().values():
        assert "judges" not in part
        assert reasons(part) == [("a", ["verdicts"])]
        assert part["changes"][0]["change"] == "newly failing"
    write_batch(Path("b.json"), *map(safe_case, "abc"))
    unjudged = (turn(id_, checks=["unverifiable_reassurance"]) for id_ in "abc")
    run(safe_gate, *unjudged, flags=(*BATCH, "--baseline", base))
    dropped = [(one["kind"], one["field"], *one["before"]) for one in report()["weakened"]["findings"]]
    assert sorted(set(dropped)) == [("safe_v0", "judged", "judged/tone"), ("synthesis", "checks", "judged/tone")]


FORMATS = "json,markdown,html,junit,sarif,gitlab,csv,jsonl,badge"


def test_hostile_reasons_and_judges_are_escaped_and_reasons_withheld(safe_gate: SafeGate) -> None:
    judged = {"tone": {"passed": False, "by": HOSTILE, "why": f"kanari {HOSTILE}"}}
    write_batch(Path("b.json"), safe_case("a", judged=judged))
    for text in ("full", "none"):
        ran = run(safe_gate, turn("a", judged=judged), flags=(*BATCH, "--reports", FORMATS, "--text", text))
        assert ran.code == 1
        written = {path.name: path.read_text("utf-8") for path in Path("reports").iterdir()}
        for name, words in {**written, "log": ran.log}.items():
            assert "\x1b" not in words, name
            assert "\u202e" not in words or name.endswith((".json", ".sarif")), name
            assert "<img src=x>" not in words or name.endswith(("json", "jsonl", "csv", "sarif")) or name == "log", name
            assert text == "full" or "kanari" not in words, name
        assert any("kanari" in words for words in written.values()) == (text == "full")
        assert safe_gate("verify", "reports/safe-gate.json").code == 0


def test_events_and_notebooks_show_verdicts(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), safe_case("a", judged=verdict(False)))
    run(safe_gate, judged_case("a", False), flags=(*BATCH, "--sinks", "file:events.jsonl"))
    told = {one["type"]: one["data"] for one in map(json.loads, Path("events.jsonl").read_bytes().splitlines())}
    assert told["safe.v0.result"]["judged"] == {"judged/tone": False}
    assert told["safe.synthesis.result"]["checks"]["judged/tone"]["verdict"] == "fail"
    (result,) = run_here(synthesis_cases="c.jsonl").results["synthesis"]
    assert "<td>judged by &quot;judge-1&quot;: &quot;It is cold.&quot;</td>" in result._repr_html_()


COUNT = st.integers(0, 60)


@given(COUNT, COUNT, COUNT, COUNT)
def test_kappa_lies_in_its_interval_and_takes_either_judge_first(both: int, one: int, two: int, none: int) -> None:
    found = kappa(both, one, two, none)
    if found is None:
        assert one + two == 0
        return
    value, low, high = found
    assert -1 <= low <= value <= high <= 1 + 1e-12
    assert kappa(none, two, one, both) == pytest.approx(found)
    assert (value == pytest.approx(1)) == (one == two == 0)


@given(st.data())
def test_a_corrected_rate_lies_in_its_interval(data: st.DataObject) -> None:
    cases, good, bad = (data.draw(st.integers(0, 80)) for _ in range(3))
    right, rejected, passed = (data.draw(st.integers(0, most)) for most in (good, bad, cases))
    found = corrected(passed, cases, (right, good), (rejected, bad)) if cases else None
    if found:
        assert 0 <= found[1] <= found[0] <= found[2] <= 1
        if (right, rejected) == (good, bad):
            assert found[0] == pytest.approx(passed / cases)


@pytest.mark.parametrize("labels", [50, 200])
@pytest.mark.parametrize(
    "rates", [(0.5, 0.9, 0.9), (0.8, 0.95, 0.8), (0.9, 0.97, 0.7), (0.95, 0.98, 0.8), (0.5, 0.7, 0.7)]
)
def test_intervals_hold_the_true_figures(labels: int, rates: tuple[float, float, float]) -> None:
    good, right, rejected = rates
    cells = (good * right, good * (1 - right), (1 - good) * (1 - rejected), (1 - good) * rejected)
    chance = (cells[0] + cells[1]) * (cells[0] + cells[2]) + (cells[1] + cells[3]) * (cells[2] + cells[3])
    true_kappa = (cells[0] + cells[3] - chance) / (1 - chance)
    random_, runs, held = random.Random(labels), 400, {"kappa": 0, "rate": 0}
    for _ in range(runs):
        drawn = random_.choices(range(4), cells, k=4 * labels)
        both, failed, passed, neither = (drawn[:labels].count(cell) for cell in range(4))
        found = kappa(both, failed, passed, neither)
        held["kappa"] += found is None or found[1] <= true_kappa <= found[2]
        all_passed = drawn.count(0) + drawn.count(2)
        rate = corrected(all_passed, len(drawn), (both, both + failed), (neither, passed + neither))
        held["rate"] += rate is None or rate[1] <= good <= rate[2]
    assert min(held.values()) >= 0.93 * runs
