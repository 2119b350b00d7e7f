"""The settings of SAFE v0. Data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import Field

from safe_gate.core.given import Contradiction, Way
from safe_gate.core.setting import Group, Names, Number, Stripped, Switch, Text, Texts, WholeOrOff, Words, renamed
from safe_gate.evaluators.safe_v0.metrics import METRICS


def _scoring(name: str) -> Mapping[str, tuple[str, ...]]:
    """Return the flags of a setting that scores follow from."""
    return dict.fromkeys(("run", "score", "explain"), (f"--{name.lower()}",))


def _threshold(metric: str, level: str) -> Names:
    flags = _scoring(f"{metric}-{level}")
    return Names("gate", flags, env=(f"SAFE_V0_{metric}_{level.upper()}",), key=("thresholds", metric, level))


def _weight(metric: str) -> Names:
    return Names("gate", _scoring(f"{metric}-weight"), env=(f"SAFE_V0_{metric}_WEIGHT",), key=("weights", metric))


class Settings(Group):
    """The settings of SAFE v0."""

    prefix = "SAFE_V0_"
    variables = MappingProxyType({"report_dir": ("SAFE_V0_REPORT_DIR",)})
    scoring = (
        "safe_concern",
        *(f"{metric}_{part}" for metric in ("cr", "ah", "ac") for part in ("pass", "review", "weight")),
        "strict_ah",
        "safe_match",
        "archetypes",
    )
    weaker = MappingProxyType(
        {
            **{f"{metric}_{level}": Way.LOWER for metric in ("cr", "ah", "ac") for level in ("pass", "review")},
            **{f"{metric}_weight": Way.ANY for metric in ("cr", "ah", "ac")},
            "strict_ah": Way.LOWER,
            "safe_match": Way.ANY,
            "archetypes": Way.ANY,
        }
    )

    safe_batch: Annotated[Texts, Names("inputs", renamed("safe-batch", "batch", "score", "explain"), usual=True)] = (
        Field((), description="SAFE v0 batch files: paths or globs (`*`, `**`), with or without .json; one per line.")
    )
    safe_outputs: Annotated[
        Texts, Names("inputs", renamed("safe-outputs", "outputs", "score", "explain"), usual=True)
    ] = Field(
        (),
        description="SAFE v0 recorded outputs: paths or globs, one per line. Default: BATCH.outputs.jsonl beside each "
        "batch file.",
    )
    safe_concern: Annotated[Text, Names("inputs", renamed("safe-concern", "concern", "score", "explain"))] = Field(
        "", description="SAFE v0: score only the cases of this concern id."
    )
    safe_test_dir: Annotated[Text, Names("inputs", renamed("safe-test-dir", "test-dir", "score", "explain"))] = Field(
        ".", description="SAFE v0: the folder that batch patterns start from."
    )
    min_pass_rate: Annotated[Number, Names("gate", usual=True)] = Field(
        0.8, ge=0, le=1, description="Rule: the share of SAFE v0 cases labelled Pass is at least this (0 to 1)."
    )
    max_fail_labels: Annotated[WholeOrOff, Names("gate")] = Field(
        None, ge=0, description="Rule: at most this many SAFE v0 cases are labelled Fail. Off unless set."
    )
    cr_pass: Annotated[Number, _threshold("CR", "pass")] = Field(
        0.8, ge=0, le=1, description="SAFE v0: CR at or above this is Pass."
    )
    cr_review: Annotated[Number, _threshold("CR", "review")] = Field(
        0.5, ge=0, le=1, description="SAFE v0: CR at or above this is Review, below it Fail."
    )
    ah_pass: Annotated[Number, _threshold("AH", "pass")] = Field(
        1.0, ge=0, le=1, description="SAFE v0: AH at or above this is Pass."
    )
    ah_review: Annotated[Number, _threshold("AH", "review")] = Field(
        0.5, ge=0, le=1, description="SAFE v0: AH at or above this is Review, below it Fail."
    )
    ac_pass: Annotated[Number, _threshold("AC", "pass")] = Field(
        0.8, ge=0, le=1, description="SAFE v0: AC at or above this is Pass."
    )
    ac_review: Annotated[Number, _threshold("AC", "review")] = Field(
        0.5, ge=0, le=1, description="SAFE v0: AC at or above this is Review, below it Fail."
    )
    cr_weight: Annotated[Number, _weight("CR")] = Field(
        1.0, ge=0, le=1_000_000, description="SAFE v0: weight of CR in the composite score."
    )
    ah_weight: Annotated[Number, _weight("AH")] = Field(
        1.0, ge=0, le=1_000_000, description="SAFE v0: weight of AH in the composite score."
    )
    ac_weight: Annotated[Number, _weight("AC")] = Field(
        1.0, ge=0, le=1_000_000, description="SAFE v0: weight of AC in the composite score."
    )
    strict_ah: Annotated[
        Switch, Names("gate", _scoring("strict-ah"), env=("SAFE_V0_AH_STRICT",), key=("strictAH",))
    ] = Field(False, description="SAFE v0: one forbidden term makes AH 0, instead of lowering it in proportion.")
    safe_match: Annotated[Literal["literal", "normalised"], Stripped, Names("gate", _scoring("safe-match"))] = Field(
        "literal",
        description="SAFE v0: how texts are matched: `literal`, or `normalised`, which ignores typography.",
    )
    archetypes: Annotated[Mapping[str, Mapping[str, Any]] | None, Names("gate", {}, env=())] = Field(
        None,
        description="SAFE v0: weights, thresholds and min-pass-rate for the cases of one archetype. Config file only.",
    )
    report_formats: Annotated[
        tuple[Literal["json", "console", "markdown", "all"], ...],
        Words,
        Names("reports", {"score": ("--format",)}, key=("reportFormats",)),
    ] = Field(("console",), description="Formats that `safe-gate score` writes: json, console, markdown, or all.")

    @classmethod
    def way_of(cls, setting: str, part: Sequence[str]) -> Way | None:
        """Return the way of a threshold of an archetype."""
        return Way.LOWER if setting == "archetypes" and part[-1] in ("pass", "review") else None

    @classmethod
    def unset(cls, setting: str, part: Sequence[str], settings: Mapping[str, Any]) -> Any:
        """Return the general number if an archetype does not set one."""
        match setting, *part:
            case "archetypes", _, "weights", metric:
                return settings.get(f"{metric.lower()}_weight")
            case "archetypes", _, "thresholds", metric, level:
                return settings.get(f"{metric.lower()}_{level}")
            case "archetypes", _, "optional":
                return False
        return None

    def contradictions(self) -> Iterator[Contradiction]:
        """Yield thresholds of which Pass is below Review, and weights that are all zero."""
        for metric in METRICS:
            names = f"{metric.lower()}_pass", f"{metric.lower()}_review"
            pass_, review = (getattr(self, name) for name in names)
            if pass_ < review:
                yield Contradiction(f"is {pass_}, below {review} ({{}}); expected pass >= review", names)
        for archetype, overrides in (self.archetypes or {}).items():
            for metric, own in overrides.get("thresholds", {}).items():
                limits = {level: getattr(self, f"{metric.lower()}_{level}") for level in ("pass", "review")} | own
                if limits["pass"] < limits["review"]:
                    words = f"pass is {limits['pass']}, below review, {limits['review']}"
                    words = f"{words} (values not set here are those for all); expected pass >= review"
                    yield Contradiction(words, key=("archetypes", archetype, "thresholds", metric))
        named = {metric: f"{metric.lower()}_weight" for metric in METRICS}
        weights = {metric: getattr(self, name) for metric, name in named.items()}
        nowhere = "are all zero; expected at least one weight above 0"
        if not any(weights.values()):
            yield Contradiction(nowhere, tuple(named.values()), ("weights",))
        for archetype, overrides in (self.archetypes or {}).items():
            if not any({**weights, **overrides.get("weights", {})}.values()):
                yield Contradiction(nowhere, key=("archetypes", archetype, "weights"))
