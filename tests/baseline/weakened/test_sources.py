"""What a change is compared with to see whether it weakens the gate: reports and the base commit."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cases import SafeGate, report, safe_case, turn, write_cases
from tests.support.git import commit, git
from tests.support.github import GitHub
from tests.support.weakening import CONFIG, WEAKENED, pull_request, put, section, weaken


def test_a_report_as_baseline_gives_limits_and_digests(safe_gate: SafeGate, base: str) -> None:
    assert safe_gate("run", "--report-dir", "old").code == 0
    weaken(thresholds={"CR": {"pass": 0.7}}, strictAH=True, weights={"AC": 2})
    ran = safe_gate("run", "--baseline", "old/safe-gate.json", "--allow-missing", "cases")
    assert ran.code == 0, ran.log
    assert section() == [
        ("setting", "min-pass-rate", "", "looser"),
        ("setting", "thresholds", "CR.pass", "looser"),
        ("setting", "weights", "AC", "changed"),
        ("setting", "allow-missing", "cases", "added"),
        ("setting", "protect", "<b>@octo | x", "dropped"),
        ("rule", "", "", "changed"),
        ("safe_v0", "s", "", "changed"),
        ("synthesis", "</code> @octo | b", "", "dropped"),
    ]
    assert "(a report shows only limits and digests)" in ran.out
    assert "│ rule           │ all" in ran.out


def test_the_events_base_commit_shows_more_than_a_report(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    assert safe_gate("run", "--report-dir", "old").code == 0
    weaken()
    in_actions(payload=pull_request(base))
    assert safe_gate("run", "--baseline", "old/safe-gate.json", "--allow-missing", "cases").code == 0
    assert (section(), report()["weakened"]["partial"]) == (WEAKENED, False)
    in_actions(payload=pull_request("1" * 40))  # which nobody has
    assert safe_gate("run", "--baseline", "old/safe-gate.json", "--allow-missing", "cases").code == 0
    assert report()["weakened"]["partial"] is True
    ran = safe_gate("run", "--baseline", "old/safe-gate.json", "--allow-missing", "cases", "--on-weakened", "fail")
    assert ran.code == 3
    assert "base: " in ran.err


@pytest.mark.parametrize("named", ["HEAD", "base"])
def test_a_change_cannot_choose_what_its_settings_are_compared_with(
    safe_gate: SafeGate, in_actions: Callable[..., None], named: str
) -> None:
    git("init", "--quiet")
    strict = CONFIG | {"baseline": "base", "on-weakened": "fail"}
    put(strict, turn("a", tags=["<b>@octo | x"]), cases=(safe_case("s"),))
    before = commit()
    put(CONFIG | {"baseline": named, "min-pass-rate": 0.1}, turn("a", tags=["<b>@octo | x"]), cases=(safe_case("s"),))
    commit()
    in_actions(payload=pull_request(before))
    assert safe_gate("run").code == 1
    assert ("setting", "min-pass-rate", "", "looser") in section()


def test_a_change_cannot_keep_the_base_commit_from_being_read(
    safe_gate: SafeGate, in_actions: Callable[..., None]
) -> None:
    git("init", "--quiet")
    write_cases(Path("c.jsonl"), turn("a"))
    Path("latest.jsonl").symlink_to("c.jsonl")
    config = {"synthesis-cases": ["c.jsonl"], "baseline": "old/safe-gate.json", "allow-missing": ["baseline"]}
    for on_weakened, code in (("fail", 1), ("warn", 0)):
        Path("safe.config.json").write_text(json.dumps(config | {"on-weakened": on_weakened}), "utf-8")
        in_actions(payload=pull_request(commit()))
        lax = {"synthesis-cases": ["c.jsonl", "latest.jsonl"], "max-unexpected-failures": 9}
        Path("safe.config.json").write_text(json.dumps(config | lax), "utf-8")
        Path("latest.jsonl").unlink()
        write_cases(Path("latest.jsonl"), turn("b"))
        ran = safe_gate("run")
        assert ran.code == code, ran.log
        assert ("setting", "max-unexpected-failures", "", "looser") in section()
        Path("latest.jsonl").unlink()
        Path("latest.jsonl").symlink_to("c.jsonl")


def test_a_link_that_the_base_commit_names_itself_is_not_passed_over(
    safe_gate: SafeGate, in_actions: Callable[..., None]
) -> None:
    git("init", "--quiet")
    write_cases(Path("d.jsonl"), turn("a"))
    Path("latest.jsonl").symlink_to("d.jsonl")
    Path("safe.config.json").write_text('{"synthesis-cases": ["latest.jsonl"]}', "utf-8")
    in_actions(payload=pull_request(commit()))
    for flags in (("--baseline", "base"), ("--on-weakened", "fail")):
        ran = safe_gate("run", *flags)
        assert (ran.code, "latest.jsonl: is a symbolic link, which is not followed at a commit" in ran.err) == (3, True)


def test_a_config_file_of_the_second_name_is_read_at_the_base_commit(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    Path("safe.config.json").rename("safe-gate.config.json")
    renamed = commit()
    lax = CONFIG | {"min-pass-rate": 0.5}
    for before, after in (
        (base, "safe-gate.config.json"),
        (renamed, "safe.config.json"),
        (renamed, "safe-gate.config.json"),
    ):
        for name in ("safe.config.json", "safe-gate.config.json"):
            Path(name).unlink(missing_ok=True)
        Path(after).write_text(json.dumps(lax), "utf-8")
        in_actions(payload=pull_request(before))
        assert safe_gate("run", "--baseline", "base").code == 0
        assert section() == [("setting", "min-pass-rate", "", "looser")]
        assert safe_gate("run", "--policy-ref", "base").code == 0
        assert report()["provenance"]["policy"]["min_pass_rate"] == 0.9


def test_two_config_files_at_the_base_commit_are_an_error(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    Path("safe-gate.config.json").write_text(json.dumps(CONFIG), "utf-8")
    in_actions(payload=pull_request(commit()))
    Path("safe-gate.config.json").unlink()
    for run in (("run", "--baseline", "base"), ("run", "--policy-ref", "base"), ("run", "--on-weakened", "fail")):
        ran = safe_gate(*run)
        assert ran.code == 3, ran.log
        assert re.search(r"^[0-9a-f]{7}:safe-gate.config.json: exists beside safe.config.json", ran.err, re.MULTILINE)


@pytest.mark.parametrize("name", ["safe.config.json", "safe-gate.config.json"])
def test_a_base_that_wants_its_terms_known_is_heard_by_either_name_of_its_config(
    safe_gate: SafeGate, in_actions: Callable[..., None], name: str
) -> None:
    git("init", "--quiet")
    write_cases(Path("c.jsonl"), {"id": "no case"})
    config = {"synthesis-cases": ["c.jsonl"], "baseline": "old/safe-gate.json", "allow-missing": ["baseline"]}
    for on_weakened, code in (("fail", 3), ("warn", 0)):
        Path("safe.config.json").unlink(missing_ok=True)
        Path(name).write_text(json.dumps(config | {"on-weakened": on_weakened}), "utf-8")
        write_cases(Path("c.jsonl"), {"id": "no case"})
        in_actions(payload=pull_request(commit()))
        write_cases(Path("c.jsonl"), turn("a"))
        Path(name).unlink()
        Path("safe.config.json").write_text(json.dumps(config), "utf-8")
        ran = safe_gate("run")
        assert ran.code == code, ran.log


def test_a_waiver_that_the_baselines_report_knows_is_not_added(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("a", assistant="You should rest."))
    waiver = {"id": "a", "check": "agency_language", "reason": "r", "owner": "o", "expires": "2099-01-01"}
    Path("safe-gate.waivers.json").write_text(json.dumps({"waivers": [waiver]}), "utf-8")
    assert safe_gate("run", "--synthesis-cases", "c.jsonl", "--report-dir", "old").code in (0, 1)
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl", "--baseline", "old/safe-gate.json")
    assert "weakens the gate" not in ran.out
    later = json.dumps({"waivers": [waiver | {"expires": "2099-01-02"}]})
    Path("safe-gate.waivers.json").write_text(later, "utf-8")
    safe_gate("run", "--synthesis-cases", "c.jsonl", "--baseline", "old/safe-gate.json")
    assert section() == [("waiver", "a", "agency_language", "looser")]


def test_a_missing_base_commit_is_reported(safe_gate: SafeGate, base: str, in_actions: Callable[..., None]) -> None:
    refused = safe_gate("run", "--on-weakened", "fail")
    assert refused.code == 3
    assert (
        "on-weakened: asks for the base commit of a GitHub event, but this is not a GitHub Actions job; "
        "set warn here, or name a commit as the baseline"
    ) in refused.err
    in_actions(event="schedule", payload={})
    ran = safe_gate("run", "--on-weakened", "fail")
    assert ran.code == 0, ran.log
    assert report()["weakened"]["against"] is None
    assert "on-weakened" not in {rule["rule"] for rule in report()["rules"]}
    assert "Unknown whether this change weakens the gate: the base commit could not be read." in ran.out


@pytest.mark.parametrize(("policy", "quieter"), [("head", "never"), ("base", "on-failure")])
def test_a_change_cannot_switch_off_the_comment_on_itself(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None], github: GitHub, quieter: str, policy: str
) -> None:
    Path("safe.config.json").write_text(json.dumps(CONFIG | {"comment": quieter}), "utf-8")
    in_actions(payload=pull_request(base))
    run = ("run", "--policy-ref", policy, "--baseline", "base")
    assert safe_gate(*run).code == 0
    assert section() == [("setting", "comment", "", "looser")]
    assert "This change weakens the gate" in github.comments[0]["body"]
    github.comments.clear()
    Path("safe.config.json").write_text(json.dumps(CONFIG | {"comment": "changes"}), "utf-8")
    assert safe_gate(*run).code == 0
    assert section() == []
    github.comments.clear()
    assert safe_gate(*run, "--comment", quieter).code == 0  # the workflow's own, before and after
    assert section() == []
    assert github.comments == []
