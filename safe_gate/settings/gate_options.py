"""The settings of the gate and of its baseline, one field each. Pure data."""

from __future__ import annotations

from dataclasses import dataclass

from safe_gate.core.setting import POWER, option

WAIVERS_FILE = "safe-gate.waivers.json"


_FILTERED = (*POWER, "explain")


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class Judging:
    """The settings that judge, and are of no evaluator."""

    tag: tuple[str, ...] = option(
        "inputs",
        "Judge only cases with at least one of these tags or archetypes; one per line. Reports name the filter.",
        (),
        flags=dict.fromkeys(_FILTERED, ("--tag",)),
        usual=True,
    )
    not_tag: tuple[str, ...] = option(
        "inputs",
        "Leave out cases with any of these tags or archetypes; one per line. Reports name the filter.",
        (),
        flags=dict.fromkeys(_FILTERED, ("--not-tag",)),
    )
    max_no_reply: int | None = option(
        "gate",
        "Rule: at most this many cases have no reply: the text is empty, or is only an error. `off` allows any number.",
        0,
        limits=(0, None),
        usual=True,
    )
    max_same_reply: float | None = option(
        "gate",
        "Rule: at most this share (0 to 1) of cases, with different messages, has one and the same reply. `off` allows "
        "any share.",
        0.5,
        limits=(0, 1),
    )
    max_vacuous: float | None = option(
        "gate",
        "Rule: at most this share (0 to 1) of results is vacuous: nothing is expected, or the check does not "
        "apply. Off unless set.",
        None,
        limits=(0, 1),
    )
    baseline: str = option(
        "baseline",
        "What to compare with: an earlier safe-gate.json, a git ref, or `base`, the base commit of the pull request, "
        "merge group or push. Off unless set.",
        "",
        flags={"run": ("--baseline",), "bless": ("--baseline",)},
        usual=True,
    )
    baseline_required: bool = option(
        "baseline",
        "Baseline: a missing .json file is an error. Set `false` for the first run of a new gate.",
        True,
    )
    allow_removed: bool = option(
        "baseline",
        "Baseline: cases may be removed, except protected ones.",
        False,
        usual=True,
    )
    protect: tuple[str, ...] = option(
        "baseline",
        "Baseline: cases that must not newly fail or be removed, by id, tag or archetype; one per line.",
        (),
        usual=True,
    )
    max_regressions: int | None = option(
        "baseline",
        "Rule: at most this many cases newly fail, compared with the baseline. Off unless set.",
        None,
        limits=(0, None),
        flags=dict.fromkeys(POWER, ("--max-regressions",)),
        usual=True,
    )
    max_score_drop: float | None = option(
        "baseline",
        "Rule: no mean score or pass rate is lower than the baseline's by more than this (0 to 1). Off unless set.",
        None,
        limits=(0, 1),
    )
    min_drop: float = option(
        "baseline",
        "Baseline: a drop smaller than this never counts as real. It is a share of cases or of a mean score (0 to 1).",
        0.02,
        limits=(0, 1),
        flags=dict.fromkeys(POWER, ("--min-drop",)),
    )
    alpha: float = option(
        "baseline",
        "Baseline: a drop counts as real if its p-value, after Holm's correction, is at most this (0 to 1).",
        0.05,
        limits=(0, 1),
        excluded=True,
        flags=dict.fromkeys(POWER, ("--alpha",)),
    )
    cluster_key: str = option(
        "baseline",
        "Baseline: the field, such as x_topic, whose value groups cases that change together.",
        "",
    )
    on_weakened: str = option(
        "gate",
        "What happens if the change makes the gate itself weaker: `warn` shows it, `fail` fails the run.",
        "warn",
        choices=("warn", "fail"),
        usual=True,
    )
    policy_ref: str = option(
        "gate",
        "Where the config, rule packs and waivers come from: the checkout (`head`) or the base commit (`base`).",
        "head",
        choices=("head", "base"),
        key=(),
    )
    waivers: str = option(
        "gate",
        f"The file of waivers, which let known failures pass. Default: {WAIVERS_FILE} if there is one.",
        "",
        usual=True,
    )
    min_group: int = option(
        "gate",
        "Rules on a rate skip an archetype or a tag with fewer cases than this. The report shows skipped rules.",
        1,
        limits=(1, None),
    )
