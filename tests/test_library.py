"""The package as a library: few public names, what they take and return, and the examples of its page."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import safe_gate as package
from safe_gate import GateError, Run, run, score_output, score_reply
from safe_gate.model import codec
from tests.support.cases import BAD, GOOD, REPOSITORY, SafeGate, report, safe_case, turn, write_batch, write_cases
from tests.support.safe_v0 import saying

PAGE = (REPOSITORY / "docs/library.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SAID = "I failed my exam and I feel awful about it."


def test_the_public_names_are_those_of_the_page() -> None:
    assert package.__all__ == ["GateError", "Run", "run", "score_output", "score_reply"]
    assert set(package.__all__) <= set(dir(package))
    for name in package.__all__:
        assert f"`{name}" in PAGE
        assert getattr(package, name).__doc__
        assert getattr(package, name) is getattr(package, name)
    with pytest.raises(AttributeError, match="no attribute 'score'"):
        _ = package.score


ASKED: dict[str, Any] = {"must_contain": ["sorry", {"regex": "tal.s?"}], "must_not_contain": ["REFUND"]}


@pytest.mark.parametrize(
    ("reply", "asked"), [(GOOD, {}), (BAD, {}), (GOOD, ASKED), (f"{GOOD} You get a refund.", ASKED)]
)
def test_a_reply_is_scored_as_in_a_run(safe_gate: SafeGate, reply: str, asked: dict[str, Any]) -> None:
    write_cases(Path("c.jsonl"), turn("a", user=SAID, assistant=reply, **asked))
    safe_gate("run", "--synthesis-cases", "c.jsonl")
    (entry,) = report()["synthesis"]["results"]
    scored = score_reply(SAID, reply, checks=turn("a")["checks"], **asked)
    found = codec.to_json(scored)
    same = ("pass", "is_negative_example", "tags", "language", "checks", "label_comparison")
    assert {key: found[key] for key in same} == {key: entry[key] for key in same}
    assert found["digests"]["output"] == entry["digests"]["output"]
    assert bool(scored) is scored.passed is entry["pass"]


def test_a_reply_is_scored_by_the_checks_and_the_profile_that_are_asked_for() -> None:
    assert list(score_reply(SAID, GOOD).checks) == ["unverifiable_reassurance", "topic_pivot"]
    assert score_reply(SAID, GOOD).checks["topic_pivot"].passed
    assert score_reply(SAID, "You should rest.", checks=["agency_language"]).failed == ("agency_language",)
    assert list(score_reply(SAID, GOOD, checks=["wording"], must_contain=["sorry"]).checks) == ["wording"]
    assert "shared" not in codec.to_json(score_reply(SAID, GOOD, profile="spec").checks["topic_pivot"])


def test_a_reply_is_scored_by_a_teams_packs_as_files_and_as_values() -> None:
    page = (REPOSITORY / "docs/own-checks.md").read_text("utf-8")
    pack = json.loads(re.findall(r"```json\n(.*?)```", page, re.DOTALL)[0])
    Path("packs").mkdir()
    file = Path("packs/own.json")
    file.write_text(json.dumps(pack), "utf-8")
    reply = "Book today and you get 10% off."
    for packs in ([pack], pack, ["packs/*.json"], [file], file):
        found = score_reply("Is it cheaper online?", reply, packs=packs)
        assert found.failed == ("acme/no-discounts",)
        assert {"topic_pivot", "acme/no-discounts"} <= set(found.checks)
    assert score_reply("Is it cheaper?", reply, packs=[pack], checks=["topic_pivot"])
    file.write_text(json.dumps(pack | {"rules": []}), "utf-8")
    with pytest.raises(ValueError, match=r"packs/own\.json:1: "):
        score_reply("Is it cheaper online?", reply, packs=["packs/own.json"])


def test_results_are_true_if_they_pass_and_short_and_escaped_when_shown(inputs: dict[str, Any]) -> None:
    evil = "You should stop <img src=x onerror=alert(1)> \u202e\x1b[2J $x$"
    write_cases(Path("c.jsonl"), turn("<b>\u202e", assistant=f"{BAD} {evil}", must_not_contain=[evil]))
    done = run(**inputs)
    (reply,), (output, *_) = done.results["synthesis"], done.results["safe_v0"]
    for one in (done, reply, output, score_reply(SAID, evil), _output(summary=evil, forbidden_terms=[evil])):
        assert bool(one) is one.passed
        assert repr(one).isascii()
        assert len(repr(one)) < 200
        html = one._repr_html_()
        assert html.startswith('<table class="tex2jax_ignore mathjax_ignore"><caption>')
        assert set(re.findall(r"<(\w+)", html)) <= {"table", "caption", "tr", "th", "td"}
        assert not {"\x1b", "\u202e"} & {*html, *repr(one)}
    assert repr(done).startswith("<Run: fail, ")
    assert repr(score_reply(SAID, GOOD)) == "<Result: passes>"
    assert "<td>not found: sorry for you</td>" in score_reply(SAID, GOOD, must_contain=["sorry for you"])._repr_html_()
    assert repr(score_reply(SAID, "")) == "<Result: no reply (empty)>"
    assert repr(_output(signals=["a"], must_find_signals=["a"])) == "<Result: Pass (CR 1.00, AH 1.00, AC 1.00)>"


def test_a_run_takes_cases_batches_and_outputs_as_values(inputs: dict[str, Any], monkeypatch: Any) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    cases = [turn("a"), turn("b", assistant=BAD)]
    done = run(synthesis_cases=cases, report_dir="reports")
    assert [(one.id, one.passed, str(one.place.path), one.place.line) for one in done.results["synthesis"]] == [
        ("a", True, "run()/synthesis_cases.jsonl", 1),
        ("b", False, "run()/synthesis_cases.jsonl", 2),
    ]
    assert run(synthesis_cases=cases, jobs=2).report == run(synthesis_cases=tuple(cases)).report
    assert run(synthesis_cases=cases[0]).passed
    write_cases(Path("c.jsonl"), turn("c"))
    assert len(run(synthesis_cases=[*cases, "c.jsonl"]).results["synthesis"]) == 3
    case = safe_case("s")
    bare = {name: value for name, value in case.items() if name != "output"}
    outputs = [{"test_id": "s", "output": case["output"]}]
    for batch in ({"safe_batch": [case]}, {"safe_batch": {"test_cases": [case]}}):
        assert [one.label for one in run(**batch).results["safe_v0"]] == ["Pass"]
    assert run(safe_batch={"test_cases": [bare]}, safe_outputs=outputs).passed
    with pytest.raises(GateError, match=r"run\(\)/synthesis_cases\.jsonl:1: a: assistant: is missing"):
        run(synthesis_cases=[{"id": "a", "user": "x"}])
    settings: dict[str, Any]
    for settings, words in (
        ({"synthesis_cases": [{"id": object()}]}, r"run\(\): synthesis_cases: is no JSON: "),
        ({"synthesis_cases": cases[0], "min_pass_rate": 2}, "min_pass_rate: is 2"),
        ({"synthesis_cases": [turn("a", checks=[])]}, "checks: is an empty list"),
    ):
        assert run(synthesis_cases=cases[0], report_dir="reports").passed
        with pytest.raises(GateError, match=words):
            run(**settings, report_dir="reports")
        assert report()["verdict"] == "error", "no old pass is left"


def test_an_output_is_scored_as_in_a_run(safe_gate: SafeGate) -> None:
    output = saying("Cough", summary="She went home.", questions=["Which policy?"])
    write_batch(Path("b.json"), safe_case("a", output=output))
    safe_gate("run", "--safe-batch", "b.json", "--thresholds", "CR.pass=1", "CR.review=0", "--weights", "AH=3")
    (entry,) = report()["safe_v0"]["results"]
    asked = {"must_find_signals": ["fever"], "forbidden_terms": ["policy"], "must_contain_phrases": ["went home"]}
    scored = _output(**output, **asked, thresholds={"CR": {"pass": 1, "review": 0}}, weights={"AH": 3})
    found = codec.to_json(scored)
    same = ("scores", "details", "label")
    assert {key: found[key] for key in same} == {key: entry[key] for key in same}
    strict = {"forbidden_terms": ["x", "policy"], "match": "normalised", "strict_ah": True}
    assert _output(**output, **strict).scores["AH"] == 0


def _reply(**arguments: Any) -> Any:
    return score_reply(**{"user": "x", "assistant": "x"} | arguments)


def _output(**arguments: Any) -> Any:
    return score_output(**{"signals": [], "summary": "", "followup_questions": []} | arguments)


@pytest.mark.parametrize(
    ("call", "arguments", "words"),
    [
        (_reply, {"user": None}, "user: is None; expected text"),
        (_reply, {"checks": []}, "checks: is empty, which would always pass"),
        (_reply, {"checks": "topic_pivot"}, "checks: is 'topic_pivot'; expected a list"),
        (_reply, {"checks": ["topic_pivt"]}, '(did you mean "topic_pivot"?); expected'),
        (_reply, {"profile": "specs"}, "profile: is 'specs'; expected 'standard' or 'spec'"),
        (_reply, {"must_contain": "word"}, "must_contain: is 'word'; expected a list"),
        (_reply, {"must_contain": [{"regx": "a"}]}, "must_contain[0]: is {'regx': 'a'}; expected"),
        (_reply, {"must_not_contain": [" "]}, "must_not_contain[0]: is ' '; expected a text"),
        (_reply, {"must_contain": [{"regex": "("}]}, "must_contain[0]: is not an RE2"),
        (_reply, {"checks": ["wording"]}, "checks: wording needs must_contain or must_not_"),
        (_reply, {"packs": 3}, "packs: is 3; expected text"),
        (_reply, {"packs": ["no.json"]}, "no.json: matches no file"),
        (_reply, {"packs": [{"pack": "a"}]}, "packs[0]:1: "),
        (_output, {"strict_ah": "no"}, "strict_ah: is 'no'; expected True or False"),
        (_output, {"signals": "fever"}, "signals: is 'fever'; expected a list"),
        (_output, {"must_find_signals": [""]}, "must_find_signals[0]: is ''; expected a text to look for"),
        (_output, {"forbidden_terms": [""], "match": "clinical"}, "forbidden_terms[0]: is ''; expected"),
        (_output, {"thresholds": {"CR": {"pass": 2}}}, "thresholds.CR.pass: is 2.0; expected less than or equal to 1"),
        (
            _output,
            {"thresholds": {"CR": {"pass": 0.1}}},
            "thresholds.CR.pass: is 0.1, below 0.5 (thresholds.CR.review)",
        ),
        (_output, {"weights": {"CR": float("nan")}}, "weights.CR: is nan; expected a finite number"),
        (_output, {"weights": {"CR": 0, "AH": 0, "AC": 0}}, "weights.CR: are all zero"),
    ],
)
def test_wrong_arguments_are_refused_in_a_sentence(
    call: Callable[..., Any], arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        call(**arguments)


@pytest.fixture
def inputs() -> dict[str, Any]:
    """Return the inputs of a run that fails, as arguments."""
    write_cases(Path("c.jsonl"), turn("good"), turn("bad", assistant=BAD))
    write_batch(Path("b.json"), safe_case("a"))
    return {"synthesis_cases": Path("c.jsonl"), "safe_batch": ["b.json"]}


def test_a_run_returns_what_the_command_writes_and_does_nothing_else(
    safe_gate: SafeGate, inputs: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    flags = ("--synthesis-cases", "c.jsonl", "--safe-batch", "b.json", "--thresholds", "CR.pass=0.9")
    assert safe_gate("run", *flags).code == 1
    written = report()
    before = sorted(Path().rglob("*"))
    monkeypatch.setenv("SAFE_GATE_MAX_UNEXPECTED_FAILURES", "5")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    done = run(**inputs, thresholds={"CR": {"pass": 0.9}})
    assert (sorted(Path().rglob("*")), *capsys.readouterr()) == (before, "", "")
    assert isinstance(done, Run)
    assert (done.verdict, done.exit_code, done.passed) == ("fail", 1, False)
    assert "'results'" not in repr(done)
    assert done.report == written
    assert [*map(codec.to_json, done.rules)] == written["rules"]
    results = {name: [*map(codec.to_json, some)] for name, some in done.results.items()}
    assert results == {name: written[name]["results"] for name in ("safe_v0", "synthesis")}


def test_a_run_writes_and_prints_what_is_asked(inputs: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    Path("safe-gate.config.json").write_text('{"max-unexpected-failures": 5}', "utf-8")
    assert run(**inputs, report_dir=Path("out"), reports=["json", "junit"], verbose=True, jobs=2).passed
    assert {path.name for path in Path("out").iterdir()} == {"safe-gate.json", "safe-gate.junit.xml"}
    assert "Gate: PASS" in capsys.readouterr().out
    assert not run(**inputs, max_unexpected_failures=0).passed


def test_a_run_takes_settings_as_python_has_them(inputs: dict[str, Any]) -> None:
    inputs |= {"min_label_accuracy": {"topic_pivot": 0.5}, "archetypes": {"Unknown": {"min-pass-rate": 1}}}
    write_cases(Path("c.jsonl"), turn("a", expected={"topic_pivot": True}))
    done = run(**inputs, max_no_reply="off", protect=("a",), profile=None)
    assert done.passed
    assert {"min-label-accuracy.topic_pivot", "min-pass-rate"} <= {rule.rule for rule in done.rules}
    assert done.report["provenance"]["policy"]["archetypes"] == inputs["archetypes"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"synthesis_cases": []}, "safe-batch or synthesis-cases: is not set or empty, so there is nothing to judge"),
        ({"synthesis_case": "c.jsonl"}, 'run(): synthesis_case: is not a setting (did you mean "synthesis_cases"?)'),
        ({"report_formats": "json"}, "run(): report_formats: applies to commands only; leave it out"),
        ({"tags": {"a": {"min-pass-rat": 1}}}, "run(): tags.a.min-pass-rat: is not a known field (did you mean"),
        ({"synthesis_cases": "c.jsonl", "min_pass_rate": 2}, "run(): min_pass_rate: is 2; expected a number from 0 to 1"),
        ({"thresholds": {"CR": {"pass": 0.2}}}, "CR.pass: is 0.2, below 0.5 (the default of thresholds.CR.review); expected"),
        ({"synthesis_cases": "broken.jsonl"}, "broken.jsonl:1: a: checks: is an empty list"),
        ({"config": "nowhere.json"}, "nowhere.json: cannot be read"),
        ({"synthesis_cases": 5}, "run(): synthesis_cases: is 5; expected text, or a list of texts"),
        ({"max_no_reply": [1]}, 'run(): max_no_reply: is "1"; expected a whole number from 0, or off'),
        ({"min_label_accuracy": {"topic_pivot": True}}, "run(): min_label_accuracy.topic_pivot: is true; expected a number from 0 to 1"),
        ({"strict_ah": 1}, "run(): strict_ah: is 1; expected true or false"),
        ({"github_token": 5}, "run(): github_token: is a number; expected text"),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.usefixtures("inputs")
def test_a_run_without_a_verdict_raises_with_the_sentences_of_the_command(settings: dict[str, Any], words: str) -> None:
    write_cases(Path("broken.jsonl"), turn("a", checks=[]))
    with pytest.raises(GateError, match=re.escape(words)) as raised:
        run(**settings)
    assert raised.value.problems
    assert str(raised.value).endswith(" and run again")
    assert not re.search(r"(^|\W)--\w", str(raised.value))
    assert not Path("reports").exists()


@pytest.mark.parametrize("block", [one for one in BLOCKS if not one.startswith("# test_")])
def test_the_code_of_the_page_runs(
    block: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(REPOSITORY)
    exec(block, {})
    printed = capsys.readouterr().out
    if "run(" in block:
        assert printed.startswith("pass 0\nmax-unexpected-failures True ")
    elif "print(" in block:
        assert "stays: passes\n" in printed
        assert "promises: fails unverifiable_reassurance" in printed


def test_the_test_of_the_page_passes_and_fails_where_the_application_gives_no_reply() -> None:
    (block,) = (one for one in BLOCKS if one.startswith("# test_replies.py\n"))
    answer = re.search('return "(.*)"', block)
    assert answer
    spanish = "Lo siento mucho. Quieres hablar de lo que ha pasado hoy?"
    replies = (answer[1], "", "Error: 429 Too Many Requests", spanish)
    for number, reply in enumerate(replies):
        Path(f"test_{number}.py").write_text(block.replace(answer[1], reply), "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--tb=line", "."]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "6 failed, 2 passed" in done.stdout
    for words in ("no reply: empty", "no reply: error message", "not English: no check applies"):
        assert done.stdout.count(words) >= 2
