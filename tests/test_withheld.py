"""`text: none`: ids, rules, spans and hashes, and of what was recorded or expected not a word."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from safe_gate.core.jsontext import is_stand_in, stand_in
from tests.support.cases import Patch, SafeGate, safe_case, turn, valid, write_batch, write_cases
from tests.support.formats import ALL, FILES
from tests.support.safe_v0 import asking, saying

# A word in every place of the input that holds text; ids, concerns, archetypes, tags are names and stay.
SIGNAL, PHRASE, TERM, SUMMARY, QUESTION, USER, REPLY, NOTE = (
    f"kanari{place}" for place in ("sig", "phr", "ter", "sum", "que", "use", "rep", "not")
)


@pytest.fixture(autouse=True)
def _inputs() -> None:
    expectations = asking([SIGNAL, f"{SIGNAL} found"], [PHRASE, f"{PHRASE} found"], forbidden=[TERM])
    output = saying(f"{QUESTION} {SIGNAL} found", summary=f"{SUMMARY} x", questions=[TERM])
    write_batch(Path("b.json"), safe_case("S-1", expectations=expectations, output=output))
    reply = f"You should stop being so {REPLY}. You'll definitely be fine, I promise. I can't promise you'll end up happy. Your {REPLY} will be fine."
    write_cases(Path("c.jsonl"), turn("T-1", user=f"I feel awful, {USER}.", assistant=reply, notes=NOTE))


@pytest.fixture
def published(safe_gate: SafeGate, monkeypatch: Patch) -> Callable[..., dict[str, str]]:
    """Run a command as a step of a workflow; return all that it wrote or said, by name."""

    def run(*arguments: str) -> dict[str, str]:
        for name, value in {"ACTIONS": "true", "OUTPUT": "output", "STEP_SUMMARY": "summary"}.items():
            monkeypatch.setenv(f"GITHUB_{name}", value)
        for file in ("summary", "output"):
            Path(file).unlink(missing_ok=True)
        ran = safe_gate(*arguments)
        assert ran.code
        written = [path for path in (*Path("out").rglob("*"), Path("output"), Path("summary")) if path.is_file()]
        return {"log": ran.log, **{path.name: path.read_text("utf-8") for path in written}}

    return run


RUN = ("run", "--batch", "b.json", "--cases", "c.jsonl", "--report-dir", "out")


QUOTING = {"text", "found", "missing", "violations", "signal", "phrase", "term", "words", "shared"}


def quotes(value: Any, key: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from quotes(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from quotes(inner, key)
    elif isinstance(value, str) and key in QUOTING:
        yield value


@pytest.mark.parametrize("key", ["user", "assistant", "notes", "expectations", "output"])
@pytest.mark.parametrize("shard", [(), ("--shard", "1/1")])
def test_a_field_that_names_clusters_is_withheld(safe_gate: SafeGate, key: str, shard: tuple[str, ...]) -> None:
    for text in ("full", "none"):
        safe_gate(*RUN, "--cluster-key", key, "--text", text, *shard)
        told = "".join(path.read_text("utf-8") for path in Path("out").iterdir())
        assert '"cluster": "' in told
        assert ("kanari" in told) == (text == "full")


def test_not_a_word_that_was_recorded_is_published(published: Callable[..., dict[str, str]]) -> None:
    full = published(*RUN, *ALL)
    reports = {name for files in FILES.values() for name in files}
    assert set(full) == {"log", "output", "summary", "safe-gate.comment.json", *reports}
    assert {name for name, text in full.items() if "kanari" not in text} == {"output", *FILES["badge"]}
    for word in (SIGNAL, PHRASE, TERM, REPLY):
        assert word in "".join(full.values())  # or the test shows nothing
    report = json.loads(full["safe-gate.json"])
    texts = set(quotes([report["safe_v0"], report["synthesis"]]))
    assert len(texts) > 6
    found = published(*RUN, *ALL, "--text", "none")
    assert set(found) == set(full)
    for name, text in found.items():
        assert "kanari" not in text, name
        assert [quote for quote in texts if quote in text] == [], name


def test_ids_rules_spans_and_hashes_are_shown(published: Callable[..., dict[str, str]]) -> None:
    found = published(*RUN, "--text", "none")
    report = valid("out/safe-gate.json", "report")
    assert all(is_stand_in(text) for text in quotes([report["safe_v0"], report["synthesis"]]))
    assert report["provenance"]["policy"]["text"] == "none"
    for name in ("log", "summary", "safe-gate.md"):
        for words in ("Recorded text is hidden", "T-1", "S-1"):
            assert words in found[name]
    for text in (found["log"], found["safe-gate.json"]):
        assert stand_in(TERM) in text
        assert "reassurance-guarantee/good-will-come" in text
    hit = report["synthesis"]["results"][0]["checks"]["unverifiable_reassurance"]["guarantee_hits"][0]
    assert hit["text"] == stand_in("You'll definitely be fine")
    assert f'at assistant {hit["start"]} to {hit["end"]} "{hit["text"]}"' in found["log"]


def test_scores_verdict_and_rules_are_those_of_the_full_report(published: Callable[..., dict[str, str]]) -> None:
    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: bare(inner) for key, inner in value.items() if key not in ("because", "generated_at")}
        if isinstance(value, list):
            return [bare(inner) for inner in value]
        return "" if isinstance(value, str) and (is_stand_in(value) or value in texts | {"full", "none"}) else value

    full, withheld = (json.loads(published(*RUN, "--text", text)["safe-gate.json"]) for text in ("full", "none"))
    texts = set(quotes(full))
    first, second = (report["provenance"].pop("digests") for report in (full, withheld))
    assert bare(withheld) == bare(full)
    assert {name for name in first if first[name] != second[name]} == {"policy", "results", "all"}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"id": "T-1", "user": S}', "is not valid JSON: a character is not expected here, at column 23"),
        ('{"kanari": 1, "kanari": 2}', "is not valid JSON: a key appears twice in one object"),
        ('{"id": "T-1", "user": -8675.309, "assistant": "Hi."}', "user: is a number; expected "),
        ('{"id": "T-1", "user": false, "assistant": "Hi."}', "user: is false; expected "),
        ('{"checks": ["topic_pivotkanari"]}', "checks[0]: text of 17 characters is not allowed; expected one of"),
        ('{"id": "T-1", "user": "a", "assistant": "b", "tags": "kanari"}', "tags: is text of 6 characters; expected "),
    ],
)
def test_a_problem_reveals_nothing_of_a_withheld_text(
    published: Callable[..., dict[str, str]], line: str, told: str
) -> None:
    Path("c.jsonl").write_text(line + "\n", "utf-8")
    output = {"signals": SIGNAL, "summary": [SUMMARY], "followup_questions": QUESTION}
    write_batch(Path("b.json"), safe_case("S-1", expectations={"signal_generation": SIGNAL}, output=output))
    quoted = re.compile(r'"S"|kanari|8675\.?309|did you mean')
    assert quoted.search(published(*RUN)["log"])
    found = published(*RUN, "--text", "none")
    assert told in found["log"]
    assert not quoted.search("".join(found.values()))


@pytest.mark.parametrize("command", [RUN, ("eval", "--cases", "c.jsonl")], ids=lambda command: command[0])
@pytest.mark.parametrize("text", ["none", "nonsense", " full ", ""])
def test_a_defect_of_ours_quotes_nothing_either(
    published: Callable[..., dict[str, str]], monkeypatch: Patch, text: str, command: tuple[str, ...]
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError(f"cannot score {REPLY}")

    monkeypatch.setenv("SAFE_GATE_TEXT", text)
    where = "settings.reading.resolve" if text == "nonsense" else "inputs.case_files.recipe"
    monkeypatch.setattr(f"safe_gate.{where}", broken)
    told = "".join(published(*command).values())
    assert "internal error: RuntimeError" in told
    assert (REPLY in told) == (text.strip() in ("full", ""))


def test_a_stand_in_is_what_sha256sum_says() -> None:
    assert stand_in("café") == "sha256:" + hashlib.sha256("café".encode()).hexdigest()[:12]
    assert stand_in("\ud800") != stand_in("\ufffd")
    assert is_stand_in(stand_in(""))
    assert not is_stand_in("sha256:")
