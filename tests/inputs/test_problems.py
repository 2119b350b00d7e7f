"""Cases that are malformed, from the outside: every problem, its place, what was expected."""

import json
from pathlib import Path
from typing import Any

import pytest

from safe_gate.core.jsontext import JsonError, parse
from tests.support.cases import DATA, Patch, SafeGate, refused, report, safe_case, turn, write_batch, write_cases
from tests.support.synthesis import run

MALFORMED = DATA / "malformed"
MANIFEST = json.loads((MALFORMED / "manifest.json").read_text("utf-8"))
FIXTURES = DATA / "safe_v0"


def commands(entry: dict[str, Any]) -> list[list[str | Path]]:
    file = MALFORMED / entry["file"]
    if entry["evaluator"] == "synthesis":
        return [["eval", "--cases", file], ["run", "--synthesis-cases", file], ["validate", file]]
    if entry["evaluator"] == "safe_v0":
        batch, outputs = MALFORMED / entry["batch"], MALFORMED / entry["outputs"]
        return [
            ["score", "--batch", batch, "--outputs", outputs],
            ["run", "--safe-batch", batch, "--safe-outputs", outputs],
            ["validate", batch, outputs],
        ]
    scored = ["--test-dir", FIXTURES, "--batch", "golden_set"]
    return [["score", "--config", file, *scored], ["validate", file]]


@pytest.mark.parametrize("entry", MANIFEST, ids=lambda entry: str(entry["file"]))
def test_malformed_input_is_refused_as_the_manifest_says(safe_gate: SafeGate, entry: dict[str, Any]) -> None:
    for command in commands(entry):
        ran = safe_gate(*command)
        assert (ran.code == 3) is not entry["valid"], ran.log
        assert "Traceback" not in ran.log
        for mention in entry["expect_mentions"]:
            alternatives = mention if isinstance(mention, list) else [mention]
            assert any(text in ran.log for text in alternatives), (mention, ran.log)
    if "expect_cases" in entry:
        safe_gate("eval", "--cases", MALFORMED / entry["file"], "--out", "r.json")
        assert json.loads(Path("r.json").read_text("utf-8"))["summary"]["cases"] == entry["expect_cases"]


def test_all_problems_of_all_files_are_named_in_one_go(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("a", checks=[]), turn("b", expected={"topic_pivot": "yes"}, extra=1), turn("a"))
    write_batch(Path("b.json"), safe_case("s", output={"signals": "x", "summary": "", "followup_questions": []}))
    more = ("--synthesis-cases", "c.jsonl", "missing.jsonl", "--safe-batch", "b", "nowhere", "--rules-off", "x")
    refused(safe_gate("run", *more), "8 problems", "missing.jsonl: matches no file", "rules-off: x: matches no rule")
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl", "--safe-batch", "b")
    assert ran.err.splitlines() == [
        'b.json:1: s: output.signals: is "x"; expected a list of texts',
        "c.jsonl:1: a: checks: is an empty list; expected a list of at least one check, each once",
        "c.jsonl:2: b: expected.topic_pivot: is \"yes\"; expected true (pass), false (fail) or null (not applicable)",
        "c.jsonl:2: b: extra: is not a known field; your own names start with x_",
        "c.jsonl:3: a: id: appears at c.jsonl:1 too; expected ids that are unique in the run",
        "safe-gate: could not judge: 5 problems; correct the input and run again",
    ]  # fmt: skip


LINES = [
    ("[]", "c.jsonl: is not a file of Synthesis cases"),
    ("{}", "c.jsonl:1: id: is missing"),
    ('{"id": 7}', "c.jsonl:1: id: is 7"),
    ('{"user": "a", "asistant": "b", "checks": []}', 'asistant: is not a known field (did you mean "assistant"?)'),
    ("{nul", "c.jsonl:1: is not valid JSON"),
    (json.dumps(turn("x") | {"id": ""}), "too short"),
    (json.dumps(turn("i" * 201)), "201 characters, more than 200"),
    (json.dumps(turn("x", assistant=None)), "c.jsonl:1: x: assistant: is null; expected text"),
    (json.dumps(turn("x", checks=["topic_pivot"] * 2)), "checks: has the same entry twice"),
    (json.dumps(turn("x", tags="a")), "tags"),
    (json.dumps(turn("x", marks=[])), "c.jsonl:1: x: marks: is a list of 0; expected an object of quotes by group"),
    (json.dumps(turn("x", marks={"stay": []})), 'marks.stay: is not a known field (did you mean "stays"?)'),
    (json.dumps(turn("x", marks={"stays": [" "]})), 'marks.stays[0]: is " "; expected a quote: a few words'),
    ('{"id": "x", "id": "y"}', "twice"),
    ('{"id": 1e999}', "too large"),
    ('{"id": ' + "9" * 5000 + "}", "too many digits"),
    ("\n \n", "c.jsonl: is empty: no cases"),
    (json.dumps(turn("a", x_owner={})) + '\n{"id": "\udcff"}', "c.jsonl:2: is not UTF-8: byte 0xff; save"),
]


@pytest.mark.parametrize(("line", "mention"), LINES)
def test_a_line_that_is_no_case_is_named_with_what_was_expected(safe_gate: SafeGate, line: str, mention: str) -> None:
    Path("c.jsonl").write_text(line, "utf-8", "surrogateescape")
    refused(safe_gate("eval", "--cases", "c.jsonl"), mention)


def test_a_misspelt_field_is_one_problem_and_other_missing_fields_stay_some(safe_gate: SafeGate) -> None:
    case = safe_case("s")
    found = case["expectations"]["signal_generation"]
    found["must_fnd_signals"] = found.pop("must_find_signals")
    write_batch(Path("b.json"), case)
    words = 'must_fnd_signals: is not a known field (did you mean "must_find_signals"?)'
    refused(safe_gate("validate", "b.json"), words, "could not judge: 1 problem;")
    write_cases(
        Path("c.jsonl"), {"id": "a", "usr": "b", "assistant": "c"}, {"id": "b", "user": "c", "asistent": "d", "y": 1}
    )
    refused(safe_gate("validate", "c.jsonl"), '(did you mean "user"?)', '(did you mean "assistant"?)', ": 3 problems;")
    write_cases(Path("c.jsonl"), {"id": "a", "user": "b", "reply": "c"})
    refused(safe_gate("validate", "c.jsonl"), "a: assistant: is missing", ": 2 problems;")


def test_marks_change_nothing_but_their_file(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    cases = [turn("a"), turn("b", expected={"agency_language": False})]
    reports = []
    for marks in ({}, {"marks": {"positive": [cases[0]["assistant"]], "stays": ["not there"]}}):
        assert run(safe_gate, cases[0] | marks, cases[1]).code == 0
        reports.append(report())
        del reports[-1]["provenance"]["inputs"]
    assert reports[0] == reports[1]


@pytest.mark.parametrize(
    ("command", "encoding"),
    [
        *(("eval --cases", "utf-16-le"), ("score --batch", "utf-16-be"), ("validate", "utf-16-le")),
        *(("eval --cases", "utf-32-le"), ("score --batch", "utf-32-be"), ("validate", "utf-32-le")),
    ],
)
@pytest.mark.parametrize("mark", ["\ufeff", ""])
def test_utf_16_is_named_as_such(safe_gate: SafeGate, command: str, encoding: str, mark: str) -> None:
    name = "c.json" if "score" in command else "c.jsonl"
    text = "\n".join(json.dumps(turn(name)) for name in "ab")
    Path(name).write_bytes(f"{mark}{text}".encode(encoding))
    words = f"{name}: looks like UTF-16 or UTF-32; save the file as UTF-8\n"
    refused(safe_gate(*command.split(), name), words, "could not judge: 1 problem;")


USAGE = [
    ("run", "safe-batch or synthesis-cases: is not set or empty, so there is nothing to judge"),
    ("run --text nothing", '--text: is "nothing"; expected one of full, none\n'),
    (
        "run --rules-off nope --cases c.jsonl",
        "matches no rule and no pack; correct the setting, or list the rules: safe-",
    ),
    ("rules test c.jsonl", "c.jsonl:2: is not valid JSON"),
    ("verify c.jsonl", "c.jsonl:2: is not valid JSON"),
    ("score", "--batch: is not set"),
    ("eval", "--cases: is not set"),
    ("eval --cases nowhere*.jsonl", "nowhere*.jsonl: matches no file; correct the path or the pattern"),
    ("eval --cases .", ".: is a folder; name the files in it"),
    ("validate .", ".: is a folder; name the files in it, such as *.json*"),
    ("validate nowhere.jsonl", "nowhere.jsonl: matches no file"),
    ("eval --case x", "unrecognized arguments"),
    ("fly", "invalid choice: 'fly'"),
    ("doctr", "(did you mean doctor?); see safe-gate --help"),
    ("score --min-pass-rate 1", "unrecognized arguments: --min-pass-rate 1; see safe-gate score --help"),
    ("explain T-001 --case=x", "(did you mean --cases?)"),
    ("score --out x", "(did you mean --output?)"),
    ("rnu", "(did you mean run?); see safe-gate --help"),
    ("RUN", "(did you mean run?); see safe-gate --help"),
    ("version", "(did you mean --version?); see safe-gate --help"),
    ("run --xyz 1", "unrecognized arguments: --xyz 1; see safe-gate run --help"),
    ("score b.json", "unrecognized arguments: b.json; expected safe-gate score [FLAG ...]; see safe-gate score --help"),
    ("validate", "required: FILE; see"),
]


@pytest.mark.parametrize(("arguments", "mention"), USAGE)
def test_nothing_to_judge_and_wrong_usage_exit_3_with_a_sentence(
    safe_gate: SafeGate, arguments: str, mention: str
) -> None:
    write_cases(Path("c.jsonl"), turn("a"), turn("b"))
    said = refused(safe_gate(*arguments.split()), mention)
    assert said.splitlines()[-1].startswith("safe-gate: could not judge: 1 problem")


@pytest.mark.parametrize("flag", ["--github-token s3cr3t", "--github-token=s3cr3t", "-token s3cr3t", "--TOKEN s3cr3t"])
def test_a_token_on_the_command_line_is_refused(safe_gate: SafeGate, flag: str) -> None:
    ran = safe_gate("run", *flag.split(), "--nonsense", "x")
    refused(ran, "unrecognized arguments: ")
    assert "s3cr3t" not in ran.log


COMMENT = "there is a comment, which only the config file may have (remove it)"
NAMELESS = '{"check": "topic_pivot", "rules": [{"id": "a/b", "pattern": "c"}]}'
INVALID = [
    ("c.json", '{"a": 1,\n}', ":1: is not valid JSON: there is a comma before the closing bracket, at column 8"),
    (
        "c.json",
        "{'a': 1}",
        ":1: is not valid JSON: there is a single quote where JSON needs double quotes, at column 2",
    ),
    ("c.json", '{"a": "C:\\evals"}', ":1: is not valid JSON: a backslash starts no valid JSON escape"),
    ("c.json", '{"a": 1} 2', ":1: is not valid JSON: there is more text after the value, at column 10"),
    (
        "c.json",
        '{"a": 1}\n{"a": 2}\n',
        ":2: is not valid JSON: there is more text after the value, as in a file of JSON Lines",
    ),
    ("c.json", '{"a": 1}\u00a0', ":1: is not valid JSON: there is more text after the value, at column 9"),
    ("c.json", '{"a": 1\n', ":1: is not valid JSON: it breaks off, at column 8"),
    ("c.json", "", ":1: is not valid JSON: it is empty"),
    ("c.json", '{"a": /1}', ':1: is not valid JSON: "/" is not expected here, at column 7'),
    ("c.json", '{"a": tru}', ':1: is not valid JSON: "t" is not expected here, at column 7'),
    ("c.jsonl", "// b\n{}\n", f":1: is not valid JSON: {COMMENT}, at column 1\n"),
    ("p.json", '{"pack": "acme",\n"rules": []}  // b', f":2: is not valid JSON: {COMMENT}, at column 15\n"),
    ("w.json", '{"waivers": [/* b */]}', f":1: is not valid JSON: {COMMENT}, at column 14\n"),
    ("x_batch_1.json", "{}", ": has no field that says what it is; expected"),
    (
        "x_batch_1.json",
        '{"tool": {}}',
        (
            ": has no field that says what it is; expected cases, a batch, outputs, a config file, a rule pack, a report, "
            "a shard or waivers; if another tool wrote it, convert it: safe-gate import x_batch_1.json --out cases.jsonl\n"
        ),
    ),
    (
        "x.json",
        '{"$schema": "https://json-schema.org/draft/2020-12/schema"}',
        ": is a JSON Schema, not a config file; name",
    ),
    ("x_batch_1.json", '{"min-pas-rate": 1}', ':1: min-pas-rate: is not a known field (did you mean "min-pass-rate"?)'),
    ("x_batch_1.json", '{"waivers": {}}', ":1: waivers: is an object of 0; expected a list of waivers"),
    ("report.json", '{"schema_version": 1}', ": is not a report of safe-gate run: it has no field verdict"),
    ("safe.config.json", '{"thresholds": {"CR": {"pass": 0.2}}}', ":1: thresholds.CR.pass: is 0.2, below 0.5 (the"),
    ("pack.json", '{"pack": "a-learned", "learned": {}}', ":1: rules: is missing"),
    ("pack.json", NAMELESS, ": is not a rule pack: it has no field pack"),
]


@pytest.mark.parametrize(("name", "text", "words"), INVALID)
def test_validate_says_what_is_wrong_with_any_file(safe_gate: SafeGate, name: str, text: str, words: str) -> None:
    Path(name).write_text(text, "utf-8")
    said = refused(safe_gate("validate", name), f"{name}{words}")
    assert text != NAMELESS or "is not a known field" not in said, "it is no config"


def test_values_may_be_nested_a_hundred_deep_and_no_deeper() -> None:
    assert parse("[" * 100 + "]" * 100) is not None
    assert parse('{"a":' * 99 + "[]" + "}" * 99) is not None
    for text in ("[" * 101 + "]" * 101, "\n" + "[" * 100_000, '{"a":' * 101 + "1" + "}" * 101):
        with pytest.raises(JsonError, match="nested more than 100 deep") as error:
            parse(text)
        assert error.value.line == text.count("\n") + 1
