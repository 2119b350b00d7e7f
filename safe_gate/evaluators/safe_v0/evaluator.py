"""SAFE v0 as an evaluator, with its settings and the cases of its batches. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from safe_gate.core.case import (
    CaseAt,
    CaseFilter,
    Contradiction,
    FileKind,
    Grouping,
    Imports,
    Input,
    OwnFile,
    PartShape,
    Way,
)
from safe_gate.core.evaluator import SCORING_FLAGS, Evaluator
from safe_gate.core.figures import plural
from safe_gate.core.jsontext import digest
from safe_gate.core.setting import (
    Entries,
    Group,
    Names,
    Number,
    Stripped,
    Switch,
    Text,
    Texts,
    WholeOrOff,
    Words,
    renamed,
)
from safe_gate.core.validate import Fault
from safe_gate.evaluators import judged
from safe_gate.evaluators.safe_v0 import gate, present
from safe_gate.evaluators.safe_v0.result import METRICS, SIMILARITY, Match, Part, Result
from safe_gate.evaluators.safe_v0.score import UNUSED, Case, recorded_policy, score_case
from safe_gate.model.codec import JsonObject

_SCORES = ("run", "score", "explain")
"""The commands that have flags of the scoring settings."""

_LEVELS = ("pass", "review")
_THRESHOLDS = {f"SAFE_V0_{metric}_{level.upper()}": f"{metric}.{level}" for metric in METRICS for level in _LEVELS}
_WEIGHTS = {f"SAFE_V0_{metric}_WEIGHT": metric for metric in METRICS}


class Levels(Group):
    """The lowest scores that are Pass, and Review."""

    pass_: Number = Field(0.8, ge=0, le=1, alias="pass")
    review: Number = Field(0.5, ge=0, le=1)


class LevelsOfHarm(Levels):
    """The levels of AH, of which Pass allows no forbidden term."""

    pass_: Number = Field(1.0, ge=0, le=1, alias="pass")


class Thresholds(Group):
    """The levels of each metric."""

    CR: Levels = Levels()
    AH: LevelsOfHarm = LevelsOfHarm()
    AC: Levels = Levels()


class Weights(Group):
    """The weight of each metric in the composite score."""

    CR: Number = Field(1.0, ge=0, le=1_000_000)
    AH: Number = Field(1.0, ge=0, le=1_000_000)
    AC: Number = Field(1.0, ge=0, le=1_000_000)


class Settings(Group):
    """The settings of SAFE v0."""

    prefix = "SAFE_V0_"
    variables = MappingProxyType({"report_dir": ("SAFE_V0_REPORT_DIR",)})
    scoring = ("safe_concern", "thresholds", "weights", "strict_ah", "safe_match", "archetypes")
    weaker = MappingProxyType(
        dict.fromkeys(scoring, Way.ANY)
        | {"safe_concern": Way.FEWER_CASES, "thresholds": Way.LOWER, "strict_ah": Way.LOWER}
    )

    min_pass_rate: Annotated[Number, Names("gate", usual=True)] = Field(
        0.8, ge=0, le=1, description="Rule: the share of SAFE v0 cases labelled Pass is at least this (0 to 1)."
    )
    max_fail_labels: Annotated[WholeOrOff, Names("gate")] = Field(
        None, ge=0, description="Rule: at most this many SAFE v0 cases are labelled Fail. Off unless set."
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
    thresholds: Annotated[
        Thresholds, Entries(variables=_THRESHOLDS), Names("gate", _SCORES, env=tuple(_THRESHOLDS))
    ] = Field(
        Thresholds(),
        description="SAFE v0: the scores from which a metric is Pass, such as `CR.pass`, or Review, such as "
        "`CR.review`; below it is Fail; one per line.",
    )
    weights: Annotated[Weights, Entries(variables=_WEIGHTS), Names("gate", _SCORES, env=tuple(_WEIGHTS))] = Field(
        Weights(), description="SAFE v0: the weights of `CR`, `AH` and `AC` in the composite score; one per line."
    )
    strict_ah: Annotated[Switch, Names("gate", _SCORES, env=("SAFE_V0_AH_STRICT",), key=("strictAH",))] = Field(
        False, description="SAFE v0: one forbidden term makes AH 0, instead of lowering it in proportion."
    )
    safe_match: Annotated[
        Match | Annotated[str, StringConstraints(pattern=r"^semantic:0\.\d{1,3}$")],
        Stripped,
        Names("gate", _SCORES, takes="semantic:0.6 with a threshold below 1"),
    ] = Field(
        "literal",
        description="SAFE v0: how texts are matched: `literal`, `normalised`, which ignores typography, `clinical`, "
        "which also counts only whole and affirmed texts for CR and AC, or `semantic`, which also counts sentences "
        f"that are similar by more than {SIMILARITY}, or by more than 0.6 with `semantic:0.6`.",
    )
    archetypes: Annotated[Mapping[str, Mapping[str, Any]] | None, Names("gate", (), env=())] = Field(
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
                return settings.get("weights", {}).get(metric)
            case "archetypes", _, "thresholds", metric, level:
                return settings.get("thresholds", {}).get(metric, {}).get(level)
        return None

    def contradictions(self) -> Iterator[Contradiction]:
        """Yield thresholds of which Pass is below Review, and weights that are all zero."""
        thresholds, weights = self.thresholds.model_dump(by_alias=True), self.weights.model_dump()
        nowhere = "are all zero; expected at least one weight above 0"
        for metric, limits in thresholds.items():
            if limits["pass"] < limits["review"]:
                words = f"is {limits['pass']}, below {limits['review']} ({{}}); expected pass >= review"
                yield Contradiction(words, (f"thresholds.{metric}.pass", f"thresholds.{metric}.review"))
        if not any(weights.values()):
            yield Contradiction(nowhere, tuple(f"weights.{metric}" for metric in METRICS), ("weights",))
        for archetype, own in (self.archetypes or {}).items():
            for metric, given in own.get("thresholds", {}).items():
                limits = thresholds[metric] | given
                if limits["pass"] < limits["review"]:
                    words = f"pass is {limits['pass']}, below review, {limits['review']}"
                    words += " (values not set here are those for all); expected pass >= review"
                    yield Contradiction(words, key=("archetypes", archetype, "thresholds", metric))
            if not any({**weights, **own.get("weights", {})}.values()):
                yield Contradiction(nowhere, key=("archetypes", archetype, "weights"))


def parse(case: JsonObject, at: CaseAt, _settings: JsonObject) -> Iterator[Case]:
    """Yield a case of a batch. Its archetype is its own, else that of its scenario, else "Unknown"."""
    scenarios = at.document.get("batch_plan", {}).get("scenarios", ())
    scenario = scenarios[at.number] if at.number < len(scenarios) else {}
    expectations, output, labels = case["expectations"], case["output"], case.get("expected", {})
    yield Case(
        id=case["test_id"],
        concern_id=case["concern_id"],
        batch_id=at.stem,
        archetype=case.get("archetype") or scenario.get("archetype") or "Unknown",
        needles={
            "CR": tuple(expectations["signal_generation"]["must_find_signals"]),
            "AH": tuple(expectations["followup_questions"]["forbidden_terms"]),
            "AC": tuple(expectations["event_summary"]["must_contain_phrases"]),
        },
        signals=tuple(output["signals"]),
        summary=output["summary"],
        followup_questions=tuple(output["followup_questions"]),
        place=at.place,
        recording=at.outputs,
        cluster=at.cluster,
        payload=digest(case["patient_payload"]) if "patient_payload" in case else None,
        unused=tuple(name for name in UNUSED if any(part.get(name) for part in expectations.values())),
        judged={name: replace(one, expected=labels.get(name)) for name, one in judged.recorded_verdicts(case).items()},
    )


def scenario_faults(batch: JsonObject) -> Iterator[Fault]:
    """Yield a fault if scenarios give archetypes to cases by position, and there is not one for each case."""
    scenarios, cases = batch.get("batch_plan", {}).get("scenarios", ()), batch["test_cases"]
    gives = any(one.get("archetype") for one in scenarios) and not all(one.get("archetype") for one in cases)
    if gives and len(scenarios) != len(cases):
        words = f"has {len(scenarios)} for {plural(len(cases), 'test case')}, whose archetypes they give by position"
        words += "; expected one for each, or an archetype in each test case"
        yield Fault(("batch_plan", "scenarios"), words)


class SafeV0(Evaluator):
    """Whether a clinical pipeline finds what it must, avoids what it must, and says what it must."""

    name = "safe_v0"
    title = "SAFE v0"
    settings = Settings
    input = Input(
        setting="safe_batch",
        kind="safe-batch",
        plural="SAFE v0 batches",
        cases="test_cases",
        outputs="safe_outputs",
        outputs_kind="safe-output",
        folder="safe_test_dir",
        kinds=(
            FileKind("safe-batch", "a SAFE v0 batch", hints=frozenset({"test_cases"}), own=frozenset({"test_cases"})),
            FileKind(
                "safe-output", "a file of recorded outputs", hints=frozenset({"test_id"}), own=frozenset({"test_id"})
            ),
        ),
        id_key="test_id",
        reads=("output", "expectations"),
        case_filter=CaseFilter("safe_concern", "concern_id"),
        imports=Imports(
            file="recorded.outputs.jsonl",
            makes="recorded outputs",
            kind="safe-output",
            fields=("id", "test_id", "output", "signals", "summary", "followup_questions"),
            keeps=frozenset({"judged"}),
            line=lambda one: {"test_id": one.id, "output": one.reply, **one.extra},
            is_parsed=True,
            output=MappingProxyType({"signals": True, "summary": False, "followup_questions": True}),
        ),
        faults=scenario_faults,
    )
    commands = MappingProxyType({"score": (*SCORING_FLAGS, "report_dir")})
    part = PartShape(
        Part,
        Result,
        quotes=frozenset(
            "reason found missing violations new_violations signal term phrase sentence within CR AH AC cluster".split()
        ),
        where=frozenset({"source", "batch_id"}),
    )
    grouping = Grouping(noun="archetype", key="archetype", setting="archetypes", figures=lambda part: part.by_archetype)
    trial = "safe_match", "clinical"

    gate, present, compare = gate, present, gate
    parse = staticmethod(parse)
    score = staticmethod(score_case)
    totals = staticmethod(gate.Totals.of)
    report = staticmethod(gate.report)

    def faults(self, case: JsonObject) -> Iterator[Fault]:
        return judged.label_faults(case, case.get("expected", {}), "expected")

    def recipe(self, settings: JsonObject, own: Sequence[OwnFile]) -> str:
        return json.dumps(recorded_policy(settings))

    def compile(self, recipe: str) -> Any:
        return json.loads(recipe)
