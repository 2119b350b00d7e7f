"""The settings of SAFE v0. Data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from safe_gate.core.given import Contradiction, Way
from safe_gate.core.setting import option, renamed
from safe_gate.evaluators.safe_v0.metrics import METRICS, THRESHOLDS, WEIGHTS


def _scoring(name: str) -> Mapping[str, tuple[str, ...]]:
    """Return the flags of a setting that scores follow from."""
    return dict.fromkeys(("run", "score", "explain"), (f"--{name.lower()}",))


def _threshold(metric: str, level: str) -> Any:
    return option(
        "gate",
        f"SAFE v0: {metric} at or above this is {'Pass' if level == 'pass' else 'Review, below it Fail'}.",
        THRESHOLDS[metric][level],
        env=(f"SAFE_V0_{metric}_{level.upper()}",),
        flags=_scoring(f"{metric}-{level}"),
        key=("thresholds", metric, level),
        limits=(0, 1),
    )


def _weight(metric: str) -> Any:
    return option(
        "gate",
        f"SAFE v0: weight of {metric} in the composite score.",
        WEIGHTS[metric],
        env=(f"SAFE_V0_{metric}_WEIGHT",),
        flags=_scoring(f"{metric}-weight"),
        key=("weights", metric),
        limits=(0, 1_000_000),
    )


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class Settings:
    """The settings of SAFE v0."""

    safe_batch: tuple[str, ...] = option(
        "inputs",
        "SAFE v0 batch files: paths or globs (`*`, `**`), with or without .json; one per line.",
        (),
        flags=renamed("safe-batch", "batch", "score", "explain"),
        usual=True,
    )
    safe_outputs: tuple[str, ...] = option(
        "inputs",
        "SAFE v0 recorded outputs: paths or globs, one per line. Default: BATCH.outputs.jsonl beside each batch file.",
        (),
        flags=renamed("safe-outputs", "outputs", "score", "explain"),
        usual=True,
    )
    safe_concern: str = option(
        "inputs",
        "SAFE v0: score only the cases of this concern id.",
        "",
        flags=renamed("safe-concern", "concern", "score", "explain"),
    )
    safe_test_dir: str = option(
        "inputs",
        "SAFE v0: the folder that batch patterns start from.",
        ".",
        flags=renamed("safe-test-dir", "test-dir", "score", "explain"),
    )
    min_pass_rate: float = option(
        "gate",
        "Rule: the share of SAFE v0 cases labelled Pass is at least this (0 to 1).",
        0.8,
        limits=(0, 1),
        usual=True,
    )
    max_fail_labels: int | None = option(
        "gate", "Rule: at most this many SAFE v0 cases are labelled Fail. Off unless set.", None, limits=(0, None)
    )
    cr_pass: float = _threshold("CR", "pass")
    cr_review: float = _threshold("CR", "review")
    ah_pass: float = _threshold("AH", "pass")
    ah_review: float = _threshold("AH", "review")
    ac_pass: float = _threshold("AC", "pass")
    ac_review: float = _threshold("AC", "review")
    cr_weight: float = _weight("CR")
    ah_weight: float = _weight("AH")
    ac_weight: float = _weight("AC")
    strict_ah: bool = option(
        "gate",
        "SAFE v0: one forbidden term makes AH 0, instead of lowering it in proportion.",
        False,
        env=("SAFE_V0_AH_STRICT",),
        key=("strictAH",),
        flags=_scoring("strict-ah"),
    )
    safe_match: str = option(
        "gate",
        "SAFE v0: how texts are matched: `literal`, or `normalised`, which ignores typography.",
        "literal",
        choices=("literal", "normalised"),
        flags=_scoring("safe-match"),
    )
    archetypes: Mapping[str, Mapping[str, Any]] | None = option(
        "gate",
        "SAFE v0: weights, thresholds and min-pass-rate for the cases of one archetype. Config file only.",
        None,
        env=(),
        flags={},
    )
    report_formats: tuple[str, ...] = option(
        "reports",
        "Formats that `safe-gate score` writes: json, console, markdown, or all.",
        ("console",),
        key=("reportFormats",),
        flags={"score": ("--format",)},
        choices=("json", "console", "markdown", "all"),
    )


def way_of(setting: str, part: Sequence[str]) -> Way | None:
    """Return the way of a threshold of an archetype."""
    return Way.LOWER if setting == "archetypes" and part[-1] in ("pass", "review") else None


def unset(setting: str, part: Sequence[str], settings: Mapping[str, Any]) -> Any:
    """Return the general number if an archetype does not set one."""
    match setting, *part:
        case "archetypes", _, "weights", metric:
            return settings.get(f"{metric.lower()}_weight")
        case "archetypes", _, "thresholds", metric, level:
            return settings.get(f"{metric.lower()}_{level}")
        case "archetypes", _, "optional":
            return False
    return None


def missable(key: str, asks: Mapping[str, Any], settings: Mapping[str, Any]) -> Sequence[int]:
    """Return how many entries of a list of a case may be missed, or used, by each threshold of its metric.

    The threshold for review counts only if the gate limits failing labels.

    >>> [missable("CR", {"CR": ["fever"] * count}, {"cr_pass": 0.8}) for count in (1, 4, 5)]
    [(0,), (0,), (1,)]
    >>> missable("AH", {"AH": ["fault", "zebra"]}, {"ah_pass": 1.0, "ah_review": 0.5, "max_fail_labels": 0})
    (0, 1)
    """
    if key not in METRICS or (key == "AH" and settings.get("strict_ah")):
        return ()
    count, archetype = len(asks[key] or ()), (settings.get("archetypes") or {}).get(asks.get("archetype"), {})
    own = archetype.get("thresholds", {}).get(key, {})
    levels = ("pass",) if settings.get("max_fail_labels") is None else ("pass", "review")
    limits = (own.get(level, settings.get(f"{key.lower()}_{level}")) for level in levels)
    shares = [1 - missed / count if key == "AH" else (count - missed) / count for missed in range(1, count + 1)]
    return tuple(sum(share >= limit for share in shares) for limit in limits if limit is not None)


def contradictions(settings: Any) -> Iterator[Contradiction]:
    """Yield thresholds of which Pass is below Review, and weights that are all zero."""
    for metric in METRICS:
        names = f"{metric.lower()}_pass", f"{metric.lower()}_review"
        pass_, review = (getattr(settings, name) for name in names)
        if pass_ < review:
            yield Contradiction(f"is {pass_}, below {review} ({{}}); expected pass >= review", names)
    for archetype, overrides in (settings.archetypes or {}).items():
        for metric, own in overrides.get("thresholds", {}).items():
            limits = {level: getattr(settings, f"{metric.lower()}_{level}") for level in ("pass", "review")} | own
            if limits["pass"] < limits["review"]:
                words = f"pass is {limits['pass']}, below review, {limits['review']}"
                words = f"{words} (values not set here are those for all); expected pass >= review"
                yield Contradiction(words, key=("archetypes", archetype, "thresholds", metric))
    named = {metric: f"{metric.lower()}_weight" for metric in METRICS}
    weights = {metric: getattr(settings, name) for metric, name in named.items()}
    nowhere = "are all zero; expected at least one weight above 0"
    if not any(weights.values()):
        yield Contradiction(nowhere, tuple(named.values()), ("weights",))
    for archetype, overrides in (settings.archetypes or {}).items():
        if not any({**weights, **overrides.get("weights", {})}.values()):
            yield Contradiction(nowhere, key=("archetypes", archetype, "weights"))
