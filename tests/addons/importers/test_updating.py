"""New replies for the cases of a file, of which all else stays."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import SafeGate, refused
from tests.support.importing import EARLIER, OUTPUT, SYSTEM, TURNS, write

TO_CHECK = "Changed under labels or marks, or without old verdicts, which to check"
KEPT = (
    '\ufeff{"assistant" : "Old.",  "user": "Hi",\t"id":"a", "checks": ["topic_pivot"], "notes": "n\\u00e9", "x_z": 1.0}\r\n'
    "\r\n"
    '{"id":"b","user":"Ho","assistant":"same","tags":["t"]}\n'
    '{"id":"gone","user":"Ho","assistant":"\u2028"}'
)


def recorded(*pairs: tuple[str, str, str]) -> None:
    write("in.jsonl", *({"id": id_, "prompt": ask, "response": reply, "x_new": 1} for id_, ask, reply in pairs))


def values(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(name).read_bytes().splitlines()]


def updated(safe_gate: SafeGate, *flags: str, path: str = "cases.jsonl") -> list[str]:
    """Update a file, and return the lines that say what became of its cases."""
    ran = safe_gate("import", "in.jsonl", "--update", path, *flags)
    assert ran.code == 0, ran.log
    return ran.out.splitlines()[1:]


def test_replies_of_known_ids_change_and_nothing_else(safe_gate: SafeGate) -> None:
    Path("cases.jsonl").write_bytes(KEPT.encode())
    recorded(("b", "Ho", "same"), ("new", "x", "y"), ("a", "Hi", 'Neu: "\u00e9\ud800"\n'))
    _, *others = KEPT.split("\r\n", 1)
    told = ["New, not in the file: 1 (new)", "Gone from the recording, so with their old replies: 1 (gone)"]
    for changed in (1, 0):
        assert updated(safe_gate) == [f"Updated: cases.jsonl, {changed} of 3 cases changed", *told]
        first, *rest = Path("cases.jsonl").read_bytes().decode().split("\r\n", 1)
        assert rest == others, "lines that do not change stay to the byte"
        assert list(json.loads(first).items()) == [
            ("assistant", 'Neu: "\u00e9\ud800"\n'),
            *{"user": "Hi", "id": "a", "checks": ["topic_pivot"], "notes": "n\u00e9", "x_z": 1.0}.items(),
        ]


def test_a_record_with_two_ids_takes_the_number_of_a_sample_of_each(safe_gate: SafeGate) -> None:
    Path("in.csv").write_text("id,id,prompt,response\na,a,x,1\nb,,x,2\na,b,x,3\nb,,x,4\na,,x,5\n", "utf-8")
    cases = [{"id": f"{id_}#{number}", "user": "x", "assistant": ""} for id_ in "ab" for number in (1, 2, 3)]
    write("cases.jsonl", *cases)
    assert safe_gate("import", "in.csv", "--update", "cases.jsonl", "--skip-invalid").code == 0
    assert [one["assistant"] for one in values("cases.jsonl")] == ["1", "", "5", "2", "", "4"]


def test_every_reply_of_a_conversation_changes(safe_gate: SafeGate) -> None:
    said, other = [*EARLIER, *TURNS], [dict(one) for one in (*EARLIER, *TURNS)]
    for one in other[1::2]:
        one["content"] = f"New {one['content']}"
    write("cases.jsonl", {"id": "a", "messages": [SYSTEM, *said], "tags": ["t"]})
    write("in.jsonl", {"id": "a", "messages": [SYSTEM | {"content": "Be brief."}, *other]})
    assert updated(safe_gate) == ["Updated: cases.jsonl, 1 of 1 case changed"]
    assert values("cases.jsonl") == [{"id": "a", "messages": [SYSTEM, *other], "tags": ["t"]}]


def test_the_parts_of_a_reply_that_does_not_change_stay(safe_gate: SafeGate) -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two", "x_k": 1}]
    write("cases.jsonl", {"id": "a", "messages": [EARLIER[0], EARLIER[1] | {"content": parts}, *TURNS]})
    new = TURNS[1] | {"content": "Another."}
    write("in.jsonl", {"id": "a", "messages": [EARLIER[0], EARLIER[1] | {"content": "onetwo"}, TURNS[0], new]})
    assert updated(safe_gate) == ["Updated: cases.jsonl, 1 of 1 case changed"]
    assert [one["content"] for one in values("cases.jsonl")[0]["messages"][1::2]] == [parts, "Another."]


def test_labels_and_marks_of_the_old_reply_are_named(safe_gate: SafeGate) -> None:
    case: dict[str, Any] = {"user": "Hi", "assistant": "It is up to you.", "checks": ["agency_language"]}
    label, marks = {"expected": {"agency_language": True}}, {"marks": {"positive": ["It is up to you"]}}
    cases = {"id": "a"} | case | label, {"id": "b"} | case | marks, {"id": "c"} | case
    write("cases.jsonl", *cases)
    recorded(*((id_, "Hi", "You choose.") for id_ in "abc"))
    told = updated(safe_gate)
    assert f"{TO_CHECK}: 2 (a, b)" in told
    assert values("cases.jsonl") == [one | {"assistant": "You choose."} for one in cases]
    assert safe_gate("validate", "cases.jsonl").code == 0
    write("cases.jsonl", {"id": "a", "messages": [*EARLIER[:1], EARLIER[1] | label, *TURNS], "turns": "all"})
    write("in.jsonl", {"id": "a", "messages": [*EARLIER, TURNS[0], TURNS[1] | {"content": "It is lost."}]})
    assert f"{TO_CHECK}: 1 (a)" in updated(safe_gate)


def test_verdicts_come_with_the_reply_that_they_are_of(safe_gate: SafeGate) -> None:
    def cases(*fields: dict[str, Any]) -> list[dict[str, Any]]:
        return [{"id": id_, "user": "Hi"} | one for id_, one in zip("abcdef", fields, strict=True)]

    good, bad = ({"judged": {"tone": {"passed": passed, "by": "j-\u00e9"}}} for passed in (True, False))
    both = {"judged": {"care": {"passed": True, "by": "j"}} | good["judged"]}
    same, other = {"assistant": "Hello."}, {"assistant": "Go away."}
    write("cases.jsonl", *cases(same | good, same | good, same, same | good, same | both, same | both))
    write("in.jsonl", *cases(other | bad, other, other | bad, same, same | bad, other | bad))
    told = updated(safe_gate)
    assert told == ["Updated: cases.jsonl, 5 of 6 cases changed", f"{TO_CHECK}: 2 (b, f)"]
    merged = {"judged": both["judged"] | bad["judged"]}
    expected: tuple[dict[str, Any], ...] = (
        other | bad,
        other | {"judged": {}},
        other | bad,
        same | good,
        same | merged,
        other | bad,
    )
    assert values("cases.jsonl") == cases(*expected)
    write("o.jsonl", {"test_id": "a", "output": OUTPUT | {"summary": "Old."}, "x_a": 1} | good)
    write("in.jsonl", {"id": "a", "output": OUTPUT})
    assert f"{TO_CHECK}: 1 (a)" in updated(safe_gate, "--evaluator", "safe_v0", path="o.jsonl")
    assert values("o.jsonl") == [{"test_id": "a", "output": OUTPUT, "x_a": 1, "judged": {}}]


def test_another_message_is_never_given_a_reply(safe_gate: SafeGate) -> None:
    write("cases.jsonl", *({"id": id_, "user": "Hi", "assistant": "Old."} for id_ in "ab"))
    before = Path("cases.jsonl").read_bytes()
    recorded(("a", "Ho", "New."), ("b", "Hi", "New."))
    ran = safe_gate("import", "in.jsonl", "--update", "cases.jsonl")
    assert (ran.code, Path("cases.jsonl").read_bytes()) == (3, before)
    assert "cases.jsonl:1: a: has another message than the recording has under this id" in ran.err
    told = updated(safe_gate, "--skip-invalid")
    assert "Not like the recording, so with their old replies: 1 (a)" in told
    assert [one["assistant"] for one in values("cases.jsonl")] == ["Old.", "New."]


OLD, NEW = ({"user": "Hi", "assistant": reply} for reply in ("Old.", "New."))
BUBBLES = {"messages": [{"role": "user", "content": "Hi"}, *({"role": "assistant", "content": one} for one in "ab")]}


@pytest.mark.parametrize(
    ("case", "rows", "words"),
    [
        ({"id": "a"} | OLD, [{"id": "a"} | NEW] * 2, "a: is recorded more than once; give each recorded reply its own"),
        ({"id": "a#2", "x_provider": "c"} | OLD, [{"id": "a", "x_provider": one} | NEW for one in "abc"], "a#2: has another x_provider than the recording"),
        ({"id": "a"} | BUBBLES, [{"id": "a"} | NEW], "a: has 2 replies, and the recording 1; correct"),
    ],
)  # fmt: skip
def test_a_reply_that_may_be_that_of_another_is_refused(
    safe_gate: SafeGate, case: dict[str, Any], rows: list[Any], words: str
) -> None:
    write("cases.jsonl", case, {"id": "b"} | OLD)
    write("in.jsonl", *rows, {"id": "b"} | NEW)
    before = Path("cases.jsonl").read_bytes()
    ran = safe_gate("import", "in.jsonl", "--update", "cases.jsonl")
    assert (ran.code, Path("cases.jsonl").read_bytes()) == (3, before)
    assert f"cases.jsonl:1: {words}" in ran.err
    assert f"Not like the recording, so with their old replies: 1 ({case['id']})" in updated(
        safe_gate, "--skip-invalid"
    )
    assert values("cases.jsonl") == [case, {"id": "b"} | NEW]


@pytest.mark.parametrize("providers", [("gpt-4", "claude"), ("gpt-5",)])
def test_a_sample_of_its_provider_and_a_single_reply_of_any_are_replaced(
    safe_gate: SafeGate, providers: tuple[str, ...]
) -> None:
    ids = ["a#1", "a#2"] if len(providers) > 1 else ["a"]
    old = [{"id": id_, "x_provider": one} | OLD for id_, one in zip(ids, ("gpt-4", "claude"), strict=False)]
    write("cases.jsonl", *old)
    write("in.jsonl", *({"id": "a", "x_provider": one} | NEW for one in providers))
    assert updated(safe_gate)[1:] == []
    assert values("cases.jsonl") == [one | NEW for one in old]


def test_a_file_that_is_replaced_keeps_its_permissions(safe_gate: SafeGate) -> None:
    write("cases.jsonl", {"id": "a"} | OLD)
    Path("cases.jsonl").chmod(0o600)
    recorded(("a", "Hi", "New."))
    for flags in (["--update"], ["--force", "--out"]):
        assert safe_gate("import", "in.jsonl", *flags, "cases.jsonl").code == 0
        assert Path("cases.jsonl").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("content", "flags", "words"),
    [
        ('{"id": "z", "user": "a", "assistant": "b"}', (), "cases.jsonl: has none of the recorded ids; name their field"),
        ('{"id": "a", "user": "Ho", "assistant": "b"}', ("--skip-invalid",), "cases.jsonl:1: a: has another message than the recording has under this id; give"),
        ('{"id": "a", "user": 5, "assistant": "b"}', (), "cases.jsonl:1: a: user: is 5; expected text"),
        ('{"id": "a", "user": "Hi", "assistant": "b"}\n' * 2, (), "cases.jsonl:2: a: id: appears at cases.jsonl:1 too"),
        ("{", (), "cases.jsonl:1: is not valid JSON: it breaks off"),
        ("", ("--tags", "x"), "--tags: means nothing for an update"),
        ("", ("--out", "o.jsonl"), "command line: --out and --update exclude each other"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_updated_is_kept(safe_gate: SafeGate, content: str, flags: Any, words: str) -> None:
    Path("cases.jsonl").write_text(content, "utf-8")
    recorded(("a", "Hi", "New."))
    ran = safe_gate("import", "in.jsonl", "--update", "cases.jsonl", *flags)
    assert (ran.code, words in ran.err, Path("cases.jsonl").read_text("utf-8")) == (3, True, content), ran.log
    assert sorted(one.name for one in Path().iterdir()) == ["cases.jsonl", "in.jsonl"]


def test_one_of_out_and_update_is_needed(safe_gate: SafeGate) -> None:
    recorded(("a", "Hi", "New."))
    for flags in ((), ("--out", "-"), ("--update", "-")):
        refused(
            safe_gate("import", "in.jsonl", *flags), "command line: names no file to write; set --out, or --update\n"
        )
    assert "--update: names in.jsonl, which is imported" in safe_gate("import", "in.jsonl", "--update", "in.jsonl").err
