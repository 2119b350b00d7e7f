"""Packs learned from labelled cases and sentence banks, and corrections of such packs. Pure, but for its libraries.

Needs numpy and scipy (the extra `train`); uses no randomness.

Each head is a linear score per sentence, squashed to 0..1.
A case's label is what is observed, so the sentences' strengths are latent (multiple-instance learning):

    any    P(yes) = 1 - product over sentences and heads of (1 - strength)
    count  logit(yes) = 3 * (sum of all heads but the last - sum of the last head) - 0.5

Loss = case_weight * log-loss of the cases + bank_weight * log-loss of each head on the bank's sentences
     + sparsity * sum of strengths + l2/2 * |w|^2, by L-BFGS from zero. Pruned in steps to a task's `sizes`, refitted.

Features that stand in the very same sentences are one feature, and one of the fewest words stands for all.

Where labels are many and say little, a fit depends on single cases; the mean of fits that each leave some out
depends on them less (bagging, Breiman 1996), and is a pack like any other.

A correction is learned on top of a pack that stays as it is: its weights are added to the pack's, `l2` pulls
them to zero, and biases stay, so that without evidence nothing changes.

The same libraries on the same kind of machine give the same bytes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from safe_gate.evaluators.synthesis import Case
from safe_gate.evaluators.synthesis.features import (
    Lexicon,
    Wording,
    lone_relation,
    relations,
    sentences,
)
from safe_gate.text import Normalised, normalise

Floats = NDArray[np.float64]
JsonObject = dict[str, Any]

SCALE, OFFSET = 3.0, -0.5
"""Of the link `count`. A hit's weight is 2 * SCALE * strength, so that a score of 1 is its border."""
START = {"any": -2.5, "count": -1.5}
"""The biases training starts from: most sentences are evidence of nothing."""


@dataclass(frozen=True)
class Task:
    """How one pack is learned; `groups` maps each head to the bank labels it stands for.

    `sizes` says how many features are kept at each pruning step; the last is the size of the pack at the most.
    """

    pack: str
    check: str
    banks: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]]
    link: str
    scale: float
    about: str
    field: str = "assistant"
    relation: float = 0.0
    l2: float = 0.02
    sparsity: float = 0.0
    case_weight: float = 1.0
    bank_weight: float = 1.0
    bank_as_cases: bool = False
    fits: int = 1
    sizes: tuple[int, ...] = (12_000, 5_000)
    unless: tuple[str, ...] = ()


TASKS = (
    Task(
        pack="agency-learned",
        check="agency_language",
        banks=("agency", "reassurance"),  # claims and promises are neither
        groups={"positive": ("autonomy",), "negative": ("directive",)},
        link="count",
        scale=2 * SCALE,
        about="Wordings that leave a choice to the person, and directives, by sentence.",
        sparsity=0.1,
        case_weight=4.0,
        sizes=(20_000, 8_000),
    ),
    Task(
        pack="reassurance-learned",
        check="unverifiable_reassurance",
        banks=("reassurance",),
        groups={"mind_reading": ("mind_reading",), "guarantee": ("guarantee",)},
        link="any",
        scale=1.45,  # a learned sentence counts from a chance of 0.69 on: at equal agreement, fewer false alarms
        about="Claims to know a mind, and outcomes stated as certain, by sentence.",
        l2=0.002,
        bank_weight=0.2,
        fits=5,
        sizes=(20_000, 8_000),
        # Labelling guide, point 14: what is not promised is no guarantee.
        unless=(
            (
                r"\b(?:(?:ca|could|wo|would)n'?t|(?:can|could|will|would) ?not) (?:ever |honestly |really )?"
                r"(?:promise|guarantee|swear)\b"
            ),
        ),
    ),
    Task(
        pack="vulnerability-learned",
        check="topic_pivot",
        banks=("disclosure",),
        groups={"vulnerability": ("vulnerable",)},
        link="any",
        scale=1.5,
        about="Disclosures of hurt, fear, shame or loss in the person's message, by sentence.",
        field="user",
        l2=0.01,
        bank_as_cases=True,
    ),
    Task(
        pack="pivot-learned",
        check="topic_pivot",
        banks=("moves",),
        groups={"acknowledgment": ("acknowledge",), "follow_up": ("follow_up",), "pivot": ("pivot", "generic_advice")},
        link="count",
        scale=2 * SCALE,
        about="Moves after a disclosure that stay with it, and moves away from it, by sentence.",
        relation=0.6,
        sparsity=0.03,
        case_weight=3.0,
    ),
)


@dataclass(frozen=True)
class Turn:
    """A labelled case with both texts normalised; `file` says whose hand it is of."""

    file: str
    id: str
    tag: str
    user: Normalised
    assistant: Normalised
    expected: Mapping[str, bool | None]

    @classmethod
    def of(cls, case: Case) -> Turn:
        """Return a case with the labels of the checks it asks for."""
        expected = {check: case.expected[check] for check in case.checks if check in case.expected}
        tag = case.tags[0] if case.tags else ""
        return cls(case.place.path, case.id, tag, normalise(case.user), normalise(case.assistant), expected)


def label(task: Task, turn: Turn) -> bool | None:
    """Return a case's label as the task sees it, None where the case says nothing about it."""
    if task.check not in turn.expected:
        return None
    expected = turn.expected[task.check]
    if task.field == "user":
        return expected is not None
    if expected is None:
        return None
    return not expected if task.link == "any" else expected


def _text(task: Task, turn: Turn) -> Normalised:
    """Return the text of a case that a task learns from."""
    return turn.user if task.field == "user" else turn.assistant


def counts(task: Task, turns: Sequence[Turn]) -> dict[str, int]:
    """Return how many labels of either kind some cases have for a task, by how the labels are written.

    Copies of a text with the same label count once.
    """
    found = {(_text(task, turn).folded, wanted) for turn in turns if (wanted := label(task, turn)) is not None}
    if task.field == "user":
        kinds = {"true or false": True, "null": False}
    else:
        kinds = {"true": task.link != "any", "false": task.link == "any"}
    labels = [wanted for _, wanted in found]
    return {kind: labels.count(wanted) for kind, wanted in kinds.items()}


def train(task: Task, turns: Sequence[Turn], bank: Sequence[JsonObject], lexicon: Lexicon) -> JsonObject:
    """Return the pack learned for a task, as JSON under the rule packs' schema.

    `bank` holds single sentences: `text` and `context`, normalised, and a `label`.
    """
    documents, labels = _labelled(task, turns, lexicon)
    banked: list[set[str]] = []
    targets = np.zeros((len(task.groups), 0))
    if task.bank_as_cases:
        documents += [_features(task, entry["text"], normalise(""), lexicon) for entry in bank]
        labels += [entry["label"] in next(iter(task.groups.values())) for entry in bank]
    else:
        banked = [_lone_features(task, entry, lexicon) for entry in bank]
        targets = np.array([[e["label"] in wanted for e in bank] for wanted in task.groups.values()], dtype=float)

    rows, owner = _sentences(documents)
    vocabulary = _vocabulary(rows + banked)
    y = np.array(labels, dtype=float)
    for size in task.sizes:
        if size < len(vocabulary):
            x, xb = _matrix(rows, vocabulary, task.relation), _matrix(banked, vocabulary, task.relation)
            weights, _ = _fit(task, x, owner, y, xb, targets)
            strength = np.abs(weights).max(axis=0) * np.sqrt(_energy(x) + _energy(xb))  # how far each moves sentences
            vocabulary = [vocabulary[k] for k in sorted(np.argsort(-strength, kind="stable")[:size])]
    x, xb = _matrix(rows, vocabulary, task.relation), _matrix(banked, vocabulary, task.relation)
    fit = _fit if task.fits == 1 else _mean_fit
    return _pack(task, vocabulary, *fit(task, x, owner, y, xb, targets))


def _vocabulary(rows: Sequence[set[str]]) -> list[str]:
    """Return the features of two sentences or more; of those in the very same ones, the one of fewest words."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for index, features in enumerate(rows):
        for feature in features:
            found[feature].append(index)
    kept: dict[tuple[bool, tuple[int, ...]], str] = {}
    for feature in sorted(found, key=lambda feature: (feature.count(" "), feature)):
        if len(found[feature]) >= 2:
            kept.setdefault((feature.startswith("r:"), tuple(found[feature])), feature)
    return sorted(kept.values())


def _mean_fit(
    task: Task, x: sp.csr_matrix, owner: NDArray[np.int64], y: Floats, xb: sp.csr_matrix, targets: Floats
) -> tuple[Floats, Floats]:
    """Return the means of the weights and biases of fits that each leave out another part of cases and bank."""

    def parts(count: int) -> NDArray[np.int64]:
        return np.arange(count) * task.fits // max(1, count)  # one after the other: what stands together is alike

    case, sentence = parts(len(y)), parts(xb.shape[0])
    fits = []
    for part in range(task.fits):
        kept = case != part
        rows = kept[owner]
        numbers = np.cumsum(kept) - 1
        some = sentence != part
        fits.append(_fit(task, x[rows], numbers[owner[rows]], y[kept], xb[some], targets[:, some]))
    weights, biases = zip(*fits, strict=True)
    return np.mean(weights, axis=0), np.mean(biases, axis=0)


CORRECTION_SIZE = 500
"""How many features a correction has at the most."""
CORRECTION_L2 = 0.5
"""How strongly its weights are pulled to zero; from 0.1 to 2 this makes little difference."""


def correct(task: Task, base: Mapping[str, Any], turns: Sequence[Turn], lexicon: Lexicon) -> dict[str, list[float]]:
    """Return what to add to the weights of a pack so that it explains the labels of some cases better.

    Only features that the pack has and that two sentences of the cases have; zeros are left out.
    """
    task = replace(task, l2=CORRECTION_L2, case_weight=1.0, sparsity=0.0)
    documents, labels = _labelled(task, turns, lexicon)
    rows, owner = _sentences(documents)
    y = np.array(labels, dtype=float)
    vocabulary = sorted(base["weights"])
    x = _matrix(rows, vocabulary, task.relation)
    given = np.array([base["weights"][feature] for feature in vocabulary]).T
    offset = np.stack([x @ weights + bias for weights, bias in zip(given, base["bias"], strict=True)])
    columns = np.flatnonzero(x.getnnz(axis=0) >= 2)
    weights = _fit_correction(task, x[:, columns], owner, y, offset)
    if len(columns) > CORRECTION_SIZE:
        strength = np.abs(weights).max(axis=0) * np.sqrt(_energy(x[:, columns]))
        columns = columns[np.sort(np.argsort(-strength, kind="stable")[:CORRECTION_SIZE])]
        weights = _fit_correction(task, x[:, columns], owner, y, offset)
    rounded = {vocabulary[c]: [round(float(w), 3) + 0.0 for w in weights[:, i]] for i, c in enumerate(columns)}
    return {feature: numbers for feature, numbers in rounded.items() if any(numbers)}


def _fit_correction(task: Task, x: sp.csr_matrix, owner: NDArray[np.int64], y: Floats, offset: Floats) -> Floats:
    nothing = sp.csr_matrix((0, x.shape[1])), np.zeros((len(task.groups), 0))
    return _fit(task, x, owner, y, *nothing, offset)[0]


def _pack(task: Task, vocabulary: Sequence[str], weights: Floats, bias: Floats) -> JsonObject:
    return {
        "pack": task.pack,
        "check": task.check,
        "groups": list(task.groups),
        "field": task.field,
        "about": task.about,
        "relation": task.relation,
        "scale": task.scale,
        "unless": list(task.unless),
        "bias": [round(float(b), 3) for b in bias],
        "weights": {
            feature: [round(float(w), 3) + 0.0 for w in weights[:, column]] for column, feature in enumerate(vocabulary)
        },
    }


def _labelled(task: Task, turns: Sequence[Turn], lexicon: Lexicon) -> tuple[list[list[set[str]]], list[bool]]:
    """Return the features of each text that has a label for a task, sentence by sentence, and the labels."""
    labelled = [(turn, wanted) for turn in turns if (wanted := label(task, turn)) is not None]
    return [_features(task, _text(task, turn), turn.user, lexicon) for turn, _ in labelled], [y for _, y in labelled]


def _sentences(documents: Sequence[list[set[str]]]) -> tuple[list[set[str]], NDArray[np.int64]]:
    """Return the sentences of all texts, and for each the index of its text."""
    rows = [features for document in documents for features in document]
    return rows, np.array([index for index, document in enumerate(documents) for _ in document], dtype=np.int64)


def _features(task: Task, text: Normalised, message: Normalised, lexicon: Lexicon) -> list[set[str]]:
    read = [part for part in sentences(text, lexicon) if part.is_read]
    related = relations(sentences(message, lexicon), read) if task.relation else [frozenset[str]()] * len(read)
    return [_names(part.wording) | relation for part, relation in zip(read, related, strict=True)]


def _lone_features(task: Task, entry: JsonObject, lexicon: Lexicon) -> set[str]:
    read = lexicon.wording(entry["text"].text.strip())
    if not task.relation:
        return _names(read)
    topic = frozenset[str]().union(*(part.wording.topic for part in sentences(entry["context"], lexicon)))
    return _names(read) | lone_relation(read, len(read.topic & topic))


def _names(read: Wording) -> set[str]:
    return {feature[:-1] for feature in read.features}


def _energy(x: sp.csr_matrix) -> Floats:
    return np.asarray(x.multiply(x).sum(axis=0)).ravel()


def _matrix(rows: Sequence[set[str]], vocabulary: Sequence[str], relation: float) -> sp.csr_matrix:
    index = {feature: column for column, feature in enumerate(vocabulary)}
    columns: list[int] = []
    values: list[float] = []
    ends = [0]
    for features in rows:
        known = sorted(index[feature] for feature in features if feature in index)
        related = [vocabulary[column].startswith("r:") for column in known]
        norm = 1 / math.sqrt(max(1, len(known) - sum(related)))
        columns += known
        values += [relation if is_relation else norm for is_relation in related]
        ends.append(len(columns))
    return sp.csr_matrix((values, columns, ends), shape=(len(rows), len(vocabulary)))


def _fit(
    task: Task,
    x: sp.csr_matrix,
    owner: NDArray[np.int64],
    y: Floats,
    xb: sp.csr_matrix,
    targets: Floats,
    offset: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Return the weights (head by feature) and biases that minimise the loss.

    `offset` (head by row) is what is known of the sentences already; biases stay 0 then.
    """
    heads, width, n = len(task.groups), x.shape[1], len(y)
    total = sp.csr_matrix((np.ones(len(owner)), (owner, np.arange(len(owner)))), shape=(n, len(owner)))
    xt, xbt = x.T.tocsr(), xb.T.tocsr()
    side = np.array([[1.0]] * (heads - 1) + [[-1.0]])

    def objective(p: Floats) -> tuple[float, Floats]:
        w, b = p[: heads * width].reshape(heads, width), p[heads * width :]
        z = np.stack([x @ w[h] + b[h] for h in range(heads)])
        if offset is not None:
            z += offset
        s = expit(z)
        if task.link == "count":
            t = SCALE * (total @ (side * s).sum(axis=0)) + OFFSET
            loss = -task.case_weight * log_expit((2 * y - 1) * t).sum()
            dz = side * (total.T @ (task.case_weight * SCALE * (expit(t) - y))) * s * (1 - s)
        else:
            silent = np.minimum(total @ log_expit(-z).sum(axis=0), -1e-9)
            heard = -np.expm1(silent)
            loss = -task.case_weight * np.where(y, np.log(heard), silent).sum()
            dz = -s * (total.T @ (task.case_weight * np.where(y, np.exp(silent) / heard, -1.0)))
        loss += task.sparsity * s.sum() + 0.5 * task.l2 * (w * w).sum()
        dz = dz + task.sparsity * s * (1 - s)
        gradient, gradient_b = task.l2 * w, dz.sum(axis=1)
        for h in range(heads):
            gradient[h] += xt @ dz[h]
            if targets.shape[1]:
                zb = xb @ w[h] + b[h]
                loss -= task.bank_weight * log_expit((2 * targets[h] - 1) * zb).sum()
                residual = task.bank_weight * (expit(zb) - targets[h])
                gradient[h] += xbt @ residual
                gradient_b[h] += residual.sum()
        if offset is not None:
            gradient_b[:] = 0
        return float(loss), np.concatenate([gradient.ravel(), gradient_b])

    bias = START[task.link] if offset is None else 0.0
    start = np.concatenate([np.zeros(heads * width), np.full(heads, bias)])
    p = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 150, "maxcor": 10}).x
    return p[: heads * width].reshape(heads, width), p[heads * width :]
