"""`policy-ref: base`: the base commit's policy judges a change."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from safe_gate.inputs import checked
from tests.support import packs
from tests.support.cases import SILENT, SafeGate, safe_case, turn, write_cases
from tests.support.git import commit
from tests.support.weakening import CONFIG, full, pull_request, put, section


def test_the_base_commits_policy_judges_the_cases_at_hand(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    fails = turn("new", assistant="There is a zebra.", checks=["agency_language"])
    cases = full(), safe_case("t", output=SILENT)
    put({**CONFIG, "min-pass-rate": 0.1, "rules": [], "report-dir": "mine"}, turn("a"), fails, cases=cases)
    Path("ours.json").unlink()
    assert safe_gate("run", "--max-unexpected-failures", "1").code == 0
    in_actions(payload=pull_request(base))
    ran = safe_gate("run", "--policy-ref", "base", "--max-unexpected-failures", "1")
    assert ran.code == 1, ran.log
    found = checked.read_document("mine/safe-gate.json", "report")
    assert found["provenance"]["policy_commit"] == base
    assert found["provenance"]["policy"]["min_pass_rate"] == 0.9
    assert [rule["rule"] for rule in found["rules"] if not rule["passed"]] == ["min-pass-rate"]
    hits = found["synthesis"]["results"][1]["checks"]["agency_language"]["negative_hits"]
    assert "ours/over" in {hit["rule"] for hit in hits}
    assert packs.digest() != found["provenance"]["packs_sha256"]
    policy = "Judged by the config file, rule packs and waivers of the base commit"
    assert f'{policy} ("{base[:7]}"), not those of this change.' in ran.out
    keys = ("kind", "id", "what")
    assert [tuple(one[key] for key in keys) for one in found["weakened"]["findings"]] == [
        ("setting", "min-pass-rate", "looser"),
        ("rule", "ours/over", "dropped"),
        ("rule", "ours/stop", "dropped"),
        ("synthesis", "</code> @octo | b", "dropped"),
    ]
    assert found["weakened"]["on_weakened"] == "warn"


@pytest.mark.parametrize(("setting", "pattern"), [("synthesis-cases", "later/*.jsonl"), ("rules", "later/*.json")])
def test_a_pattern_of_the_change_that_names_no_file_yet_stops_no_judgement_by_the_base(
    setting: str, pattern: str, safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    put({**CONFIG, setting: [*CONFIG[setting], pattern]}, turn("a"), cases=(safe_case("s"),))
    in_actions(payload=pull_request(base))
    assert safe_gate("run").code == 3  # by its own settings
    ran = safe_gate("run", "--policy-ref", "base")
    assert ran.code == 0, ran.log


def test_an_unknown_check_names_the_base_commit_only_if_its_rules_judge(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    put(CONFIG, turn("a", checks=["acme/new"]), cases=(safe_case("s"),))
    in_actions(payload=pull_request(base))
    words = '"acme/new" is not a check; expected '
    for run, by_base in ((("run",), False), (("run", "--policy-ref", "base"), True)):
        ran = safe_gate(*run)
        assert (ran.code, words in ran.err) == (3, True)
        assert (f"(policy-ref base: by the rules of the base commit {base[:7]})" in ran.err) == by_base
    assert "base commit" not in safe_gate("eval", "--cases", "c.jsonl").err


def test_a_group_without_cases_is_an_error_under_both_policies(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    def put_group(name: str, tag: str) -> str:
        put(
            {"synthesis-cases": ["c.jsonl"], "tags": {name: {"min-pass-rate": 1}}},
            turn("a", tags=[tag]),
            cases=(full(),),
        )
        return commit()

    run = ("run", "--policy-ref", "base")
    in_actions(payload=pull_request(put_group("grief", "grief")))
    put_group("greif", "grief")  # would keep every later run from a verdict
    ran = safe_gate(*run)
    assert (ran.code, 'safe.config.json:1: tags.greif: no case has this tag (did you mean "grief"?)' in ran.err) == (
        3,
        True,
    )
    put_group("sadness", "sadness")  # takes the base's group out of its judge's sight
    ran = safe_gate(*run)
    assert ran.code == 3
    assert re.search(r"^[0-9a-f]{7}:safe.config.json:1: tags.grief: no case has this tag;", ran.err, re.MULTILINE)


def test_a_change_can_correct_a_name_that_no_case_of_its_base_has(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    def put_group(name: str) -> str:
        group = {name: {"min-pass-rate": 1}}
        put({"synthesis-cases": ["c.jsonl"], "tags": group}, turn("a", tags=["grief"]), cases=(full(),))
        return commit()

    in_actions(payload=pull_request(put_group("greif")))
    assert safe_gate("run", "--baseline", "base").code == 3
    put_group("grief")
    assert safe_gate("run", "--baseline", "base").code == 0


def test_case_files_that_the_change_no_longer_names_weaken_the_gate(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    config = {"synthesis-cases": ["c.jsonl"], "safe-batch": ["b"]}
    put(config, turn("a"), cases=(full(),))
    in_actions(payload=pull_request(commit()))
    run = ("run", "--policy-ref", "base", "--baseline", "base", "--on-weakened", "fail")
    assert safe_gate(*run).code == 0
    write_cases(Path("d.jsonl"), turn("a", assistant="Stop crying. It's over."))
    Path("safe.config.json").write_text(json.dumps(config | {"synthesis-cases": ["d.jsonl"]}), "utf-8")
    assert safe_gate(*run).code == 1
    assert section() == [("setting", "synthesis-cases", "", "changed")]
    assert "| setting | <code>synthesis-cases</code> | changed | <code>c&#46;jsonl</code>" in Path("summary").read_text(
        "utf-8"
    ).replace("<wbr>", "")
    assert safe_gate(*run, "--cases", "c.jsonl").code == 0
    write_cases(Path("d.jsonl"), turn("d"))
    for same in (
        {"synthesis-cases": ["d.jsonl", "c.jsonl"]},
        {"synthesis-cases": ["*.jsonl"]},
        {"safe-batch": ["b.json"], "safe-test-dir": "./"},
    ):
        Path("safe.config.json").write_text(json.dumps(config | same), "utf-8")
        assert (safe_gate(*run).code, section()) == (0, [])
    Path("elsewhere").mkdir()
    shutil.copy("b.json", "elsewhere")
    Path("safe.config.json").write_text(json.dumps(config | {"safe-test-dir": "elsewhere"}), "utf-8")
    assert (safe_gate(*run).code, section()) == (1, [("setting", "safe-test-dir", "", "changed")])
