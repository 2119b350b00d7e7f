"""Old names of settings, which still work, and the limits on label accuracy, which are one setting."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from safe_gate.settings.old_names import OLD_NAMES, OldName
from tests.support.cases import Ran, SafeGate, safe_case, turn, write_batch, write_cases
from tests.support.git import commit, git

RUN = ("run", "--cases", "c.jsonl")
OLD = [(old, kind) for old in OLD_NAMES for kind in old.kinds if old.name != "shards"]  # which are for merge alone


@pytest.fixture(autouse=True)
def cases() -> None:
    write_cases(Path("c.jsonl"), turn("a", expected={"agency_language": True, "topic_pivot": True}))


def thresholds() -> dict[str, float]:
    report = json.loads(Path("reports/safe-gate.json").read_text("utf-8"))
    return {rule["rule"]: rule["threshold"] for rule in report["rules"] if "label" in rule["rule"]}


def warnings(ran: Ran) -> list[str]:
    return [line for line in ran.err.splitlines() if line.startswith("safe-gate: warning: ")]


def given(old: OldName, kind: str, value: str, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], str]:
    """Set an old name; return the flags for it, and how a warning calls it."""
    if kind == "flag":
        return [old.flag, value], old.flag
    if kind == "config file":
        Path("safe.config.json").write_text(json.dumps({old.input: float(value)}), "utf-8")
        return [], f"safe.config.json: {old.input}"
    (name, *_) = (name for name in old.environment if name.startswith("INPUT_") == (kind == "input"))
    monkeypatch.setenv(name, value)
    return [], f"{name} (input {old.input})" if kind == "input" else name


@pytest.mark.parametrize(("old", "kind"), OLD, ids=lambda one: getattr(one, "name", one))
def test_an_old_name_sets_the_setting_and_causes_one_warning_with_the_new_name(
    safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch, old: OldName, kind: str
) -> None:
    value = "merge" if old.name == "mode" else "0.5"
    flags, name = given(old, kind, value, monkeypatch)
    shown = safe_gate("doctor", "--cases", "c.jsonl", *flags)
    assert warnings(shown) == [f"safe-gate: warning: {name} is an old name: use {old.instead}"]
    (row,) = (line for line in shown.out.splitlines() if line.startswith(f"│ {old.option.replace('_', '-')} "))
    assert value in row
    assert kind in row


def test_an_old_name_of_a_limit_still_limits(safe_gate: SafeGate) -> None:
    ran = safe_gate(*RUN, "--min-label-accuracy-topic-pivot", "0.5", "--min-label-accuracy", "0.25")
    assert thresholds() == {"min-label-accuracy": 0.25, "min-label-accuracy-topic-pivot": 0.5}
    assert len(warnings(ran)) == 1


def test_shards_of_the_old_variable_are_merged(safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch) -> None:
    assert safe_gate(*RUN, "--shard", "1/1", "--report-dir", "s").code == 0
    monkeypatch.setenv("SAFE_GATE_SHARDS", "s/*.json")
    ran = safe_gate("merge", "--cases", "c.jsonl")
    new = "safe-gate merge SHARD..., or the action's input shards"
    assert ran.code == 0
    assert warnings(ran) == [f"safe-gate: warning: SAFE_GATE_SHARDS is an old name: use {new}"]


def test_in_a_job_the_warning_is_an_annotation(
    safe_gate: SafeGate, in_actions: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    in_actions()
    monkeypatch.setenv("INPUT_CA-BUNDLE", "own.pem")
    ran = safe_gate(*RUN, "--comment", "never")
    words = "INPUT_CA-BUNDLE (input ca-bundle) is an old name: use the variable SAFE_GATE_CA_BUNDLE"
    assert [line for line in ran.out.splitlines() if "old name" in line] == [f"::warning title=SAFE Gate::{words}"]
    assert "old name" not in ran.err


def test_the_new_names_cause_no_warning(safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAFE_GATE_CA_BUNDLE", "own.pem")
    monkeypatch.setenv("SAFE_GATE_COMMENT_AUTHOR", "me")
    monkeypatch.setenv("INPUT_MODE", "run")
    ran = safe_gate(*RUN, "--min-label-accuracy", "topic_pivot=0.5")
    assert (ran.code, ran.err) == (0, "")


def test_a_config_file_in_old_names_is_as_strict_as_one_in_new_names(safe_gate: SafeGate) -> None:
    config = Path("safe.config.json")
    config.write_text('{"min-label-accuracy": 0.8, "min-label-accuracy-topic-pivot": 0.9}', "utf-8")
    git("init", "--quiet")
    base = commit()
    for content, weaker in (
        ({"all": 0.8, "topic_pivot": 0.9}, []),
        ({"all": 0.8, "topic_pivot": 0.5}, [["topic_pivot", "looser"]]),
        ({"topic_pivot": 0.9}, [["all", "looser"]]),
        (0.8, [["topic_pivot", "looser"]]),
    ):
        config.write_text(json.dumps({"min-label-accuracy": content}), "utf-8")
        safe_gate(*RUN, "--baseline", base)
        report = json.loads(Path("reports/safe-gate.json").read_text("utf-8"))
        assert [[one["field"], one["what"]] for one in report["weakened"]["findings"]] == weaker


@pytest.mark.parametrize(
    ("source", "limits"),
    [
        ("0.5", {"min-label-accuracy": 0.5}),
        ("topic_pivot=0.5", {"min-label-accuracy-topic-pivot": 0.5}),
        ("topic_pivot=0.5\n\n 0.25 ", {"min-label-accuracy": 0.25, "min-label-accuracy-topic-pivot": 0.5}),
        ("all=1", {"min-label-accuracy": 1}),
    ],
)
def test_limits_by_check_are_entries_and_a_number_alone_is_for_all(
    safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch, source: str, limits: dict[str, float]
) -> None:
    assert safe_gate(*RUN, "--min-label-accuracy", *filter(str.strip, source.split("\n"))).code == 0
    assert thresholds() == limits
    monkeypatch.setenv("INPUT_MIN-LABEL-ACCURACY", source)
    assert safe_gate(*RUN).code == 0
    assert thresholds() == limits
    assert safe_gate("verify", "reports/safe-gate.json").code == 0


def test_entries_of_all_sources_add_up_and_the_first_source_wins(
    safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = {"all": 0.1, "topic_pivot": 0.2, "agency_language": 0.3}
    Path("safe.config.json").write_text(json.dumps({"min-label-accuracy": config}), "utf-8")
    monkeypatch.setenv("SAFE_GATE_MIN_LABEL_ACCURACY", "topic_pivot=0.4")
    monkeypatch.setenv("SAFE_GATE_MIN_LABEL_ACCURACY_TOPIC_PIVOT", "0.9")
    assert safe_gate(*RUN, "--min-label-accuracy", "agency_language=0.5").code == 0
    assert thresholds() == {
        "min-label-accuracy": 0.1,
        "min-label-accuracy-agency-language": 0.5,
        "min-label-accuracy-topic-pivot": 0.4,
    }


@pytest.mark.parametrize(
    ("flags", "environ", "config", "mentions"),
    [
        (["0.5", "all=0.6"], {}, None, '--min-label-accuracy: is "0.5 all=0.6"; expected a number from 0 to 1, or CHECK=NUMBER'),
        (["topic_pivot=1.5"], {}, None, '--min-label-accuracy: is "topic_pivot=1.5"; expected'),
        (["=0.5"], {}, None, '--min-label-accuracy: is "=0.5"; expected'),
        (["nan"], {}, None, '--min-label-accuracy: is "nan"; expected'),
        (["0.5"], {"SAFE_GATE_MIN_LABEL_ACCURACY_TOPIC_PIVOT": "x"}, None, 'SAFE_GATE_MIN_LABEL_ACCURACY_TOPIC_PIVOT: is "x"; expected'),
        (["topic_pivo=0.5"], {}, None, 'min-label-accuracy: topic_pivo: is not a check (did you mean "topic_pivot"?)'),
        ([], {}, {"min-label-accuracy": {"topic_pivo": 0.5}}, "safe.config.json:1: min-label-accuracy.topic_pivo: is not a check"),
        ([], {}, {"min-label-accuracy": {"topic_pivot": 2}}, "safe.config.json:1: min-label-accuracy.topic_pivot: "),
        ([], {}, {"min-label-accuracy": "0.5"}, "expected a number from 0 to 1, or an object of such numbers by check"),
        ([], {}, {"min-label-accuracy-topic-pivot": 2}, "safe.config.json:1: min-label-accuracy-topic-pivot: "),
    ],
)  # fmt: skip
def test_what_is_no_limit_of_a_check_is_refused_with_its_place(
    safe_gate: SafeGate,
    monkeypatch: pytest.MonkeyPatch,
    flags: list[str],
    environ: dict[str, str],
    config: dict[str, Any] | None,
    mentions: str,
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    if config is not None:
        Path("safe.config.json").write_text(json.dumps(config), "utf-8")
    ran = safe_gate(*RUN, *(["--min-label-accuracy", *flags] if flags else []))
    assert ran.code == 3
    assert mentions in ran.err
    assert json.loads(Path("reports/safe-gate.json").read_text("utf-8"))["verdict"] == "error"


def test_run_takes_fail_on_as_eval_does(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("a", assistant="You must do this now. I know exactly how you feel."))
    assert safe_gate(*RUN, "--fail-on", "0").code == 1
    assert safe_gate(*RUN, "--fail-on", "1").code == 0


def test_the_doctor_examines_the_command_that_it_is_given(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), safe_case("a"))
    assert "safe-gate.comment.json: is missing" in safe_gate("doctor", "publish").err
    assert "nowhere.json: matches no file" in safe_gate("doctor", "merge", "nowhere.json", "--batch", "b").err
    assert safe_gate("doctor", "run", "--batch", "b").code == 0
    assert safe_gate("doctor", "judge").code == 3
