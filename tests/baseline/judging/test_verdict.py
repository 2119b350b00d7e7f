"""What the base commit's policy decides, and what a run without it does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cases import SafeGate, turn, write_cases
from tests.support.git import commit
from tests.support.github import outputs
from tests.support.weakening import CONFIG, full, pull_request, put


def test_what_the_base_commits_policy_judged_can_be_verified(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    bad = turn("a", assistant="Stop crying. It's over.", checks=["agency_language"])
    waiver = {"id": "a", "check": "agency_language", "reason": "known", "owner": "me", "expires": "2099-01-01"}
    put({"synthesis-cases": ["c.jsonl"]}, bad, cases=(full(),))
    Path("safe-gate.waivers.json").write_text(json.dumps({"waivers": [waiver]}), "utf-8")
    in_actions(payload=pull_request(commit()))
    for waivers in ([{**waiver, "expires": "2098-01-01"}], [{**waiver, "id": "b"}], []):
        Path("safe-gate.waivers.json").write_text(json.dumps({"waivers": waivers}), "utf-8")
        assert safe_gate("run", "--policy-ref", "base", "--max-unexpected-failures", "0").code == 0
        ran = safe_gate("verify", "reports/safe-gate.json")
        assert ran.code == 0, ran.log
        assert "Not recomputed: waivers, weakened.\n" in ran.out
    assert safe_gate("run", "--max-unexpected-failures", "0").code == 1
    put(CONFIG, turn("a"), cases=(full(),))
    in_actions(payload=pull_request(base))
    assert safe_gate("run", "--policy-ref", "base").code == 0
    ran = safe_gate("verify", "reports/safe-gate.json")
    assert ran.code == 3
    assert f"was judged by the rule packs of commit {base[:12]}, which are not available" in ran.err


def test_the_base_commits_policy_or_the_runs_own_says_whether_its_terms_must_be_known(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    for theirs, own, code in (("fail", "warn", 3), ("warn", "fail", 3), ("warn", "warn", 0)):
        put(CONFIG | {"on-weakened": theirs}, {"id": "no case"}, cases=(full(),))
        broken = commit()
        put(CONFIG | {"on-weakened": own}, turn("a"), cases=(full(),))
        in_actions(payload=pull_request(broken))
        ran = safe_gate("run", "--policy-ref", "base")
        assert ran.code == code, ran.log
        assert (f"{broken[:7]}:c.jsonl:1" in ran.err) == (code == 3)


def test_what_is_wrong_with_the_base_commits_waivers_is_placed_at_that_commit(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    Path("safe-gate.waivers.json").write_text('{"waivers": 1}', "utf-8")
    broken = commit()
    Path("safe-gate.waivers.json").write_text('{"waivers": []}', "utf-8")
    in_actions(payload=pull_request(broken))
    ran = safe_gate("run", "--policy-ref", "base")
    assert (ran.code, f"{broken[:7]}:safe-gate.waivers.json:1: waivers: is 1" in ran.err) == (3, True), ran.log


@pytest.mark.parametrize("expires", ["2099-01-01", "2020-01-01"])
def test_a_change_can_remove_a_waiver_that_it_makes_unused(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None], expires: str
) -> None:
    waiver = {"id": "a", "check": "agency_language", "reason": "known", "owner": "me", "expires": expires}
    bad = turn("a", assistant="Stop crying. It's over.", checks=["agency_language"])
    file = Path("safe-gate.waivers.json")
    file.write_text(json.dumps({"waivers": [waiver]}), "utf-8")
    Path("safe.config.json").write_text('{"synthesis-cases": ["c.jsonl"]}', "utf-8")
    write_cases(Path("c.jsonl"), bad)
    in_actions(payload=pull_request(commit()))
    run = ("run", "--policy-ref", "base", "--on-weakened", "fail")
    write_cases(Path("c.jsonl"), turn("a", assistant="It's up to you.", checks=["agency_language"]))
    assert safe_gate(*run).code == 1
    file.write_text('{"waivers": []}', "utf-8")
    ran = safe_gate(*run)
    assert ran.code == 0, ran.log
    assert safe_gate("verify", "reports/safe-gate.json").code == 0
    file.write_text('{"waivers": 1}', "utf-8")
    assert safe_gate(*run).code == 3
    file.unlink()
    assert safe_gate(*run).code == 0
    write_cases(Path("c.jsonl"), bad)
    assert safe_gate(*run).code == (1 if expires < "2026" else 0)


def test_without_the_base_commits_policy_there_is_no_verdict(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    refused = safe_gate("run", "--policy-ref", "base")
    assert refused.code == 3
    assert "policy-ref: asks for the base commit of a GitHub event, but this is not a GitHub Actions job" in refused.err
    in_actions(event="schedule", payload={})
    none = safe_gate("run", "--policy-ref", "base")
    assert none.code == 3
    for ran in (none, safe_gate("doctor", "--policy-ref", "base")):
        assert "policy-ref: is base, but this event has no base commit; set head for events" in ran.err
    Path("safe.config.json").write_text('{"min-pass-rate": 2}', "utf-8")
    broken = commit()
    put(CONFIG, turn("a"), cases=(full(),))
    in_actions(payload=pull_request(broken))
    ran = safe_gate("run", "--policy-ref", "base")
    assert ran.code == 3
    assert f"{broken[:7]}:safe.config.json" in ran.err
    assert outputs(Path("output").read_text("utf-8"))["verdict"] == "error"
