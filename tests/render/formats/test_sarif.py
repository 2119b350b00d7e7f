"""Reports as SARIF: what it shows, and where."""

import re
from pathlib import Path
from typing import Any

import pytest

from safe_gate.render.formats import sarif as sarif_format
from tests.support.cases import BAD, GOOD, SILENT, Patch, SafeGate, safe_case, turn, write_batch, write_cases
from tests.support.formats import ALL, read
from tests.support.git import git
from tests.support.judged_run import HALF, TWO_TERMS, properties
from tests.support.safe_v0 import asking
from tests.support.synthesis import run


def case_of(result: Any) -> str:
    return str(result["locations"][0]["logicalLocations"][0]["name"])


def test_sarif_has_what_somebody_must_see_to(judged: Any) -> None:
    results = {(case_of(one), one["ruleId"]): one for one in judged.run["results"]}
    cases = {case for case, _ in results}
    assert cases >= {"reviewed", "fails", "waived", "bad", "known", "silent"}
    assert not cases & {"good", "passes", "calm", "negative"}
    (waived,) = results["known", "synthesis/topic_pivot"]["suppressions"]
    assert waived["justification"] == "Waived until 2999-12-31 by @ana: Known since March."
    assert "suppressions" not in results["bad", "synthesis/topic_pivot"]
    bad = results["bad", "synthesis/agency_language"]
    assert bad["level"] == "error"
    assert results["reviewed", "safe_v0/AH"]["level"] == "error", "it counts for min-pass-rate"
    assert results["feigned", "synthesis/case"]["level"] == "note", "it counts for no broken rule"
    place = bad["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "c.jsonl", "uriBaseId": "%SRCROOT%"}
    assert place["region"]["startLine"] == 2
    for hit in bad["properties"]["hits"]:
        assert 0 <= hit["start"] < hit["end"] <= len(BAD)
    for rule in judged.run["tool"]["driver"]["rules"]:
        assert rule["help"]["text"]
        assert rule["fullDescription"]["text"]
    said = judged.run["invocations"][0]["toolExecutionNotifications"]
    assert any("(max-unexpected-failures)" in one["message"]["text"] for one in said)


def test_places_are_paths_from_the_root_of_the_repository_or_whole_addresses(
    safe_gate: SafeGate, monkeypatch: Patch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    def uri(path: str) -> Any:
        safe_gate("run", "--synthesis-cases", path, *ALL)
        return read().run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]

    elsewhere = write_cases(tmp_path_factory.mktemp("elsewhere") / "a b.jsonl", turn("bad", assistant=BAD))
    assert uri(str(elsewhere)) == {"uri": elsewhere.as_uri()}
    git("init", "-q")
    Path("evals/a b").mkdir(parents=True)
    write_cases(Path("evals/a b/ç.jsonl"), turn("bad", assistant=BAD))
    monkeypatch.chdir("evals")
    assert uri("a b/*.jsonl")["uri"] == "evals/a%20b/%C3%A7.jsonl"
    assert read().gitlab[-1]["location"]["path"] == "evals/a b/ç.jsonl"
    suite = read().junit[-1]
    assert suite.get("file") == "evals/a b/ç.jsonl"
    assert [one.text for one in suite.iter("failure") if not str(one.text).startswith("evals/a b/ç.jsonl:1\n")] == []


def test_results_are_known_again_wherever_their_cases_stand(safe_gate: SafeGate) -> None:
    def fingerprints(*cases: dict[str, Any]) -> tuple[dict[str, str], set[str]]:
        run(safe_gate, *cases, flags=ALL)
        found = read()
        results = {
            one["message"]["text"]: one["partialFingerprints"]["primaryLocationLineHash"]
            for one in found.run["results"]
        }
        return results, {one["fingerprint"] for one in found.gitlab if one["severity"] != "blocker"}

    cases = [turn(f"c{number}", assistant=BAD) for number in range(4)]
    assert fingerprints(*cases) == fingerprints(turn("new"), *reversed(cases))


def test_two_gates_share_no_heading_no_category_and_no_fingerprint(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    found = []
    for job, flags in (("", ()), ("gate: billing", ()), ("gate: billing", ("--gate-id", "care"))):
        monkeypatch.setenv("CI_JOB_NAME", job)  # as GitLab names it
        run(safe_gate, turn("bad", assistant=BAD), flags=(*ALL, *flags))
        reports = read()
        prints = {one["partialFingerprints"]["primaryLocationLineHash"] for one in reports.run["results"]}
        prints |= {one["fingerprint"] for one in reports.gitlab}
        found.append((reports.run["automationDetails"]["id"], prints))
    assert [category for category, _ in found] == ["safe-gate/", "safe-gate/gate: billing/", "safe-gate/care/"]
    assert len(set.union(*(prints for _, prints in found))) == sum(len(prints) for _, prints in found)
    assert Path("reports/safe-gate.md").read_text("utf-8").startswith("### ❌ SAFE Gate <code>care</code> failed")


def test_a_baseline_gives_each_result_a_state(safe_gate: SafeGate) -> None:
    was_bad, stays_good = turn("was bad", assistant=BAD), turn("stays good")
    run(safe_gate, was_bad, turn("gets bad"), stays_good, flags=ALL)
    assert not any("baselineState" in one for one in read().run["results"])
    Path("reports/safe-gate.json").rename("old.json")
    now = was_bad, turn("gets bad", assistant=BAD), stays_good, turn("added", assistant=BAD)
    log = run(safe_gate, *now, flags=("--baseline", "old.json", *ALL)).out
    found = read()
    states = {case_of(one): one["baselineState"] for one in found.run["results"]}
    assert states == {"was bad": "unchanged", "gets bad": "new", "added": "new"}
    changes = {"was bad": "still failing", "gets bad": "newly failing", "stays good": "", "added": "new case"}
    assert {row["id"]: row["change"] for row in found.csv} == changes
    in_log = re.findall(r"^  (.+) \(c\.jsonl:\d\) fails .+ \((.+)\)$", log, re.MULTILINE)
    assert dict(in_log) == {case: change for case, change in changes.items() if change}
    assert properties(found, "gets bad")["since-baseline"] == "newly failing"


def test_a_changed_reply_that_breaks_a_rule_is_an_error_and_not_unchanged(safe_gate: SafeGate) -> None:
    french = "Je suis vraiment désolé pour cela. Voulez-vous en parler avec moi ?"
    runs = {
        "old": {"mute": GOOD, "silent": "", "still down": "Bad Gateway", "foreign": GOOD},
        "new": {"mute": "", "silent": "", "still down": "Internal Server Error", "foreign": french},
    }
    for folder, replies in runs.items():
        cases = (turn(id_, assistant=one, checks=["unverifiable_reassurance"]) for id_, one in replies.items())
        write_cases(Path("c.jsonl"), *cases)
        signals = ["fever", "rash", "cough"][folder == "new" :]
        write_batch(Path("b.json"), safe_case("by its score alone", expectations=asking(signals)))
        flags = ("--baseline", "old/safe-gate.json") if folder == "new" else ()
        safe_gate("run", "--synthesis-cases", "c.jsonl", "--safe-batch", "b", *ALL, "--report-dir", folder, *flags)
    found = {one["locations"][0]["logicalLocations"][0]["name"]: one for one in read("new").run["results"]}
    states = {"mute": "new", "silent": "unchanged", "still down": "updated", "foreign": "updated"}
    states["by its score alone"] = "updated"
    assert {name: (one["level"], one["baselineState"]) for name, one in found.items()} == {
        name: ("error", state) for name, state in states.items()
    }


def test_sarif_keeps_to_what_github_shows(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    assert sarif_format._MOST == 5_000
    monkeypatch.setattr(sarif_format, "_MOST", 4)
    batch = [safe_case(f"reviewed {number}", output=HALF, expectations=TWO_TERMS) for number in range(4)]
    write_batch(Path("b.json"), *batch, safe_case("fails", output=SILENT))
    for most_bytes, kept in ((sarif_format._MOST_BYTES, 4), (900, 1)):
        monkeypatch.setattr(sarif_format, "_MOST_BYTES", most_bytes)
        assert safe_gate("run", "--safe-batch", "b", *ALL).code == 1
        sarif = read().run
        assert len(sarif["results"]) == kept
        assert case_of(sarif["results"][0]) == "fails"  # what matters most
        first, *_ = sarif["invocations"][0]["toolExecutionNotifications"]
        assert first["message"]["text"].startswith(f"{6 - kept} more results left out")
