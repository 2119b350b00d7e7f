"""What `import` accepts from spreadsheets, what it says about records and flags, and where it writes."""

import json
from pathlib import Path

import pytest

from tests.support.cases import SafeGate
from tests.support.importing import OUTPUT, exchanges, imported, refusal, write


def test_outputs_have_fields_of_their_own_and_refuse_flags_of_cases(safe_gate: SafeGate) -> None:
    write("in.jsonl", {"fall": "a", "antwort": OUTPUT}, {"id": "b", "prompt": "x", "output": OUTPUT})
    err = refusal(safe_gate, "in.jsonl", "--evaluator", "safe_v0")
    assert 'has no known pair of fields, but "fall", "antwort"; name them with --map\n' in err
    write("in.jsonl", {"id": "a"} | OUTPUT)
    for flag, value in (("--checks", "topic_pivot"), ("--tags", "x")):
        err = refusal(safe_gate, "in.jsonl", "--evaluator", "safe_v0", flag, value)
        assert err.startswith(f"{flag}: means nothing for recorded outputs; leave it out\n")


@pytest.mark.parametrize(
    "text",
    [
        "id,prompt,response,,\na,x,y,,\nb,x,z\n",
        "id,prompt,response\na,x,y,,\nb,x,z\n",
        "\ufeffid;prompt;response\r\na;x;y\r\nb;x;z\r\n",
        "id\tprompt\tresponse\na\tx\ty\nb\tx\tz\n",
        "\r\n\r\nid,prompt,response\r\na,x,y\r\nb,x,z\r\n",
        ",,\nid,prompt,response\na,x,y\nb,x,z\n",
        ";;\nid;prompt;response\na;x;y\nb;x;z\n",
        "id,prompt,Comment,response,Comment\na,x,1,y,2\nb,x,,z,\n",
    ],
)
def test_csv_as_spreadsheets_write_it(safe_gate: SafeGate, text: str) -> None:
    Path("in.csv").write_bytes(text.encode("utf-8"))
    assert exchanges(imported(safe_gate, "in.csv")) == [("a", "x", "y"), ("b", "x", "z")]
    broken = text.rstrip().removesuffix("z") + "z" + ",1" * 9
    Path("in.csv").write_bytes((broken.replace(",1", "\t1") if "\t" in text else broken).encode("utf-8"))
    if ";" not in text:
        number = text.rstrip().count("\n") + 1
        assert f"in.csv:{number}: has " in refusal(safe_gate, "in.csv")


MINE = '"My ask", "Answer"'
MISSING = [
    ("--map user=message,assistant=reply", "in.csv:2: has no field message; correct --map (9 times: also line 3"),
    ("--map user=my_ask,assistant=Answr", "in.csv:2: has no field Answr; correct --map (9 times: also line 3"),
    ("--from csv", f"in.csv:2: has no known pair of fields, but {MINE}; name them with --map (9 times: also line 3"),
]


@pytest.mark.parametrize(("flags", "words"), MISSING)
def test_a_missing_column_is_said_once(safe_gate: SafeGate, flags: str, words: str) -> None:
    Path("in.csv").write_text("My ask,Answer\n" + "x,y\n" * 9, "utf-8")
    for more in ((), ("--skip-invalid",)):
        err = refusal(safe_gate, "in.csv", *(word.replace("my_ask", "my ask") for word in flags.split()), *more)
        assert words in err, err


def test_one_id_of_different_messages_is_said_in_one_line(safe_gate: SafeGate) -> None:
    write("in.jsonl", *({"id": i, "prompt": f"{ask} {i}", "response": "y"} for i in range(9) for ask in "ab"))
    ran = safe_gate("import", "in.jsonl", "--out", "o.jsonl")
    assert ran.code == 0
    assert ran.out.count("One id, different messages: 0, 1, 2, ...; each became a sample") == 1
    write("in.jsonl", *({"id": i, "prompt": "a", "response": answer} for i in range(9) for answer in "yz"))
    assert "different messages" not in safe_gate("import", "in.jsonl", "--out", "o.jsonl", "--force").out


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "cp1252", "utf-16-le", "latin-1"])
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "json"])
def test_another_encoding_is_named_and_never_guessed(safe_gate: SafeGate, encoding: str, suffix: str) -> None:
    row = {"id": "a", "prompt": "Größe,\r\n", "response": "Ja"}
    line = json.dumps(row, ensure_ascii=False)
    text = {"csv": 'id;prompt;response\r\na;"Größe,\r\n";Ja\r\n', "jsonl": f"{line}\n", "json": f"[{line}]"}[suffix]
    Path(f"in.{suffix}").write_bytes(text.encode(encoding))
    if encoding != "utf-8-sig":
        err = refusal(safe_gate, f"in.{suffix}")
        has_nul = "has NUL bytes, as UTF-16 has; name it, such as --encoding utf-16-le" in err
        assert has_nul == encoding.startswith("utf")
        assert has_nul or "; name the encoding, such as --encoding cp1252" in err
    flags = () if encoding == "utf-8-sig" else ("--encoding", encoding)
    assert exchanges(imported(safe_gate, f"in.{suffix}", *flags)) == [("a", row["prompt"], "Ja")]


@pytest.mark.parametrize("encoding", ["cp125", "base64", "undefined"])
def test_a_name_of_no_text_encoding_is_refused(safe_gate: SafeGate, encoding: str) -> None:
    write("in.jsonl", {"prompt": "x", "response": "y"})
    words = f'--encoding: is "{encoding}"; expected the name of a text encoding, such as cp1252\n'
    assert words in refusal(safe_gate, "in.jsonl", "--encoding", encoding)


@pytest.mark.parametrize(
    ("header", "first", "second", "flag"),
    [
        ("prompt,prompt,response,id", "prompt", "prompt (column 2)", "user"),
        ("Prompt,prompt,response,id", "Prompt", "prompt", "user"),
        ("id, ID,prompt,response", "id", "ID", "id"),
        ("id,id,prompt,response", "id", "id (column 2)", "id"),
    ],
)
def test_two_columns_of_one_name_are_told_apart(
    safe_gate: SafeGate, header: str, first: str, second: str, flag: str
) -> None:
    Path("in.csv").write_text(f"{header}\nx,y,z,a\n", "utf-8")
    words = f'has both "{first}" and "{second}"; name the one to read: --map {flag}=FIELD\n'
    assert words in refusal(safe_gate, "in.csv")
    (case,) = imported(safe_gate, "in.csv", "--map", f"{flag}={second}")
    assert case[flag] == "y"


@pytest.mark.parametrize("shape", ["lines", "list", "inside"])
def test_a_key_that_is_there_twice_is_an_error(safe_gate: SafeGate, shape: str) -> None:
    good, bad = (f'{{"id": "{one}", "prompt": "x", "response": "y"' for one in "ab")
    lines = [f"{good}}}", f'{bad}, "prompt": "z"}}', f"{good}}}".replace("a", "c", 1)]
    text = "\n".join(lines) + "\n" if shape == "lines" else "[" + ",\n".join(lines) + "]"
    Path("in.json").write_text('{"data":' + text + "}" if shape == "inside" else text, "utf-8")
    said = 'in.json:2: is not valid JSON: the key "prompt" appears twice in one object\n'
    assert said in refusal(safe_gate, "in.json")
    if shape == "lines":
        assert [case["id"] for case in imported(safe_gate, "in.json", "--skip-invalid")] == ["a", "c"]
        Path("last.json").write_text("\n".join(lines[:2]), "utf-8")  # a file that breaks off has no such key
        assert [case["id"] for case in imported(safe_gate, "last.json", "--skip-invalid")] == ["a"]
    else:
        assert said in refusal(safe_gate, "in.json", "--skip-invalid"), "a document is valid or not as a whole"
