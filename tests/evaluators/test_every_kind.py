"""A failure of every kind, in a whole run and in shards, in every report, with texts and without."""

import csv
import json
from pathlib import Path

import pytest

from tests.support.cases import SafeGate, report, safe_case, turn, write_batch, write_cases, write_json
from tests.support.conversations import AWAY, TOLD, talk
from tests.support.pack_files import OWN
from tests.support.shards import written

VERDICT = {"tone": {"passed": False, "by": "judge-1", "why": "It is kanari."}}
CHECKS = {
    "talk@1": "topic_pivot",
    "talk@3": "topic_pivot",
    "worded": "wording",
    "owned": "acme/no-songs",
    "judged": "judged/tone",
}
"""The check that each case of Synthesis fails."""
FORMATS = "json,markdown,html,junit,sarif,gitlab,csv,jsonl"
FLAGS = ("--synthesis-cases", "c.jsonl", "--safe-batch", "b", "--rules", "own.json", "--turns", "all", "--context", "2")


@pytest.fixture(autouse=True)
def _cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    rule = {"id": "acme/one", "phrase": "kanari", "why": "A test.", "hit": ["Kanari."], "miss": ["No."]}
    definition = {"against": ["songs"], "decides": "none_against"}
    pack = {"pack": "acme", "check": "acme/no-songs", "group": "songs", "rules": [rule], "defines": definition}
    write_json("own.json", OWN | pack)
    wording = {"must_contain": ["988", {"regex": "kanaris?"}], "must_not_contain": ["calm"]}
    write_cases(
        Path("c.jsonl"),
        talk("talk", TOLD, AWAY + " Kanari!", TOLD, AWAY, checks=["topic_pivot"]),
        turn("worded", assistant="Calm down.", checks=["wording"], expected={"wording": False}, **wording),
        turn("owned", assistant="A kanari sings.", checks=["acme/no-songs"], expected={"acme/no-songs": False}),
        turn("judged", checks=["judged/tone"], judged=VERDICT, expected={"judged/tone": False}),
    )
    write_batch(Path("b.json"), safe_case("verdict", judged=VERDICT), safe_case("fine"))


@pytest.mark.parametrize("text", ["full", "none"])
def test_shards_come_to_the_report_of_one_run_which_can_be_verified(safe_gate: SafeGate, text: str) -> None:
    flags = (*FLAGS, "--text", text)
    assert safe_gate("run", *flags).code == 1
    whole = written()
    assert "HOLDS" in safe_gate("verify", "reports/safe-gate.json").out
    for shard in ("1/2", "2/2"):
        assert safe_gate("run", *flags, "--shard", shard, "--report-dir", "shards").code == 0
    assert safe_gate("merge", "shards/*.json", *flags, "--report-dir", "merged").code == 1
    assert written("merged") == whole


def test_a_failure_is_counted_and_shown_in_every_report_and_withheld_without_texts(safe_gate: SafeGate) -> None:
    limits = [word for check in [*CHECKS.values()][2:] for word in ("--min-label-accuracy", f"{check}=0.9")]
    assert safe_gate("run", *FLAGS, *limits, "--reports", FORMATS).code == 1
    assert "HOLDS" in safe_gate("verify", "reports/safe-gate.json").out
    part, written = report()["synthesis"], {path.name: path.read_text("utf-8") for path in Path("reports").iterdir()}
    table = csv.DictReader(written["safe-gate.cases.csv"].removeprefix("\ufeff").splitlines())
    rows = {row["id"]: row for row in table}
    sarif = json.loads(written["safe-gate.sarif"])["runs"][0]["results"]
    for id_, check in CHECKS.items():
        (failed,) = (one["failed_checks"] for one in part["failures"] if one["id"] == id_)
        assert (failed, rows[id_][check]) == ([check], "fails")
        assert part["summary"]["by_check"][check]["failed"] == [*CHECKS.values()].count(check)
        for name, words in written.items():
            assert id_.partition("@")[0] in words, (id_, name)
            assert check in words or name.endswith(".md"), (check, name)
    assert {f"synthesis/{check}" for check in CHECKS.values()} <= {one["ruleId"] for one in sarif}
    judged = [one["passed"] for one in report()["rules"] if one["rule"].startswith("min-label-accuracy.")]
    assert judged == [True] * 3
    ran = safe_gate("run", *FLAGS, "--reports", FORMATS, "--text", "none")
    assert ran.code == 1
    for words in (ran.log, *(path.read_text("utf-8") for path in Path("reports").iterdir())):
        assert "kanari" not in words.lower()


def test_a_waiver_excuses_the_check_of_its_case(safe_gate: SafeGate) -> None:
    known = {"reason": "known", "owner": "@pat", "expires": "2999-12-31"}
    waivers = [{"id": id_, "check": check} | known for id_, check in CHECKS.items()]
    waivers.append({"id": "verdict", "metric": "judged/tone"} | known)
    for left in range(len(waivers) + 1):
        write_json("w.json", {"waivers": waivers[:left] + waivers[left + 1 :]})
        ran = safe_gate("run", *FLAGS, "--waivers", "w.json", "--max-fail-labels", "0", "--min-pass-rate", "0")
        assert (ran.code, len(report()["waivers"]["applied"])) == (int(left < 6), len(waivers) - (left < 6))
