"""`policy-ref: base`: the base commit's policy judges a change."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support import packs
from tests.support.cases import SILENT, SafeGate, refused, report, safe_case, turn, write_cases
from tests.support.git import commit
from tests.support.github import InActions, outputs
from tests.support.weakening import CONFIG, Against, configure, full, put, weakened

pytestmark = pytest.mark.usefixtures("base")
RUN = ("run", "--policy-ref", "base")
PLAIN: dict[str, Any] = {"synthesis-cases": ["c.jsonl"]}
BAD = turn("a", assistant="Stop crying. It's over.", checks=["agency_language"])
WAIVER = {"id": "a", "check": "agency_language", "reason": "known", "owner": "me", "expires": "2099-01-01"}
WAIVERS = "safe-gate.waivers.json"


def waive(*waivers: dict[str, Any]) -> None:
    configure({"waivers": waivers}, WAIVERS)


def test_the_base_commits_policy_judges_the_cases_at_hand(safe_gate: SafeGate, base: str, against: Against) -> None:
    fails = turn("new", assistant="There is a zebra.", checks=["agency_language"])
    looser = CONFIG | {"min-pass-rate": 0.1, "rules": [], "report-dir": "mine"}
    put(looser, turn("a"), fails, cases=[full(), safe_case("t", output=SILENT)])
    Path("ours.json").unlink()
    assert safe_gate("run", "--max-unexpected-failures", "1").code == 0
    against(base)
    ran = safe_gate(*RUN, "--max-unexpected-failures", "1")
    assert ran.code == 1, ran.log
    found = report("mine/safe-gate.json")
    provenance = found["provenance"]
    assert (provenance["policy_commit"], provenance["policy"]["min_pass_rate"]) == (base, 0.9)
    assert packs.digest() != provenance["packs_sha256"]
    assert [rule["rule"] for rule in found["rules"] if not rule["passed"]] == ["min-pass-rate"]
    hits = found["synthesis"]["results"][1]["checks"]["agency_language"]["negative_hits"]
    assert "ours/over" in {hit["rule"] for hit in hits}
    policy = "Judged by the config file, rule packs and waivers of the base commit"
    assert f'{policy} ("{base[:7]}"), not those of this change.' in ran.out
    assert [(one["kind"], one["id"], one["what"]) for one in found["weakened"]["findings"]] == [
        ("setting", "min-pass-rate", "looser"),
        ("rule", "ours/over", "dropped"),
        ("rule", "ours/stop", "dropped"),
        ("synthesis", "</code> @octo | b", "dropped"),
    ]
    assert found["weakened"]["on_weakened"] == "warn"


@pytest.mark.parametrize("setting", ["synthesis-cases", "rules"])
def test_the_base_judges_where_a_pattern_of_the_change_names_no_file_yet(
    setting: str, safe_gate: SafeGate, base: str, against: Against
) -> None:
    put(CONFIG | {setting: [*CONFIG[setting], "later/*.json*"]}, turn("a"), cases=[safe_case("s")])
    against(base)
    assert safe_gate("run").code == 3  # by its own settings
    assert safe_gate(*RUN).code == 0


def test_a_recording_of_the_base_that_is_not_there_is_said_to_be_its(safe_gate: SafeGate, against: Against) -> None:
    names = {"recordings": {"c.jsonl": ["ours.json"]}, "stale-recordings": "fail"}
    put({"synthesis-cases": ["*.jsonl"]} | names, turn("a"))
    base = commit()
    against(base)
    Path("c.jsonl").rename("moved.jsonl")
    configure({"synthesis-cases": ["*.jsonl"]})
    words = f"the config of the base commit {base[:7]} names it (policy-ref base); keep it until a config without it"
    refused(safe_gate(*RUN), f"c.jsonl: recordings: cannot be read: there is no such file; {words}")


def test_an_unknown_check_names_the_base_if_its_rules_judge(safe_gate: SafeGate, base: str, against: Against) -> None:
    put(CONFIG, turn("a", checks=["acme/new"]), cases=[safe_case("s")])
    against(base)
    for run, by_base in ((RUN[:1], False), (RUN, True)):
        err = refused(safe_gate(*run), '"acme/new" is not a check; expected ')
        assert (f"(policy-ref base: by the rules of the base commit {base[:7]})" in err) == by_base
    assert "base commit" not in safe_gate("eval", "--cases", "c.jsonl").err


def test_a_pattern_of_the_base_that_names_no_file_is_said_to_be_its(safe_gate: SafeGate, against: Against) -> None:
    put(PLAIN, turn("a"))
    base = commit()
    against(base)
    words = f"c.jsonl: matches no file, but the base commit {base[:7]} names it (policy-ref base); keep it until "
    Path("c.jsonl").rename("moved.jsonl")
    for named, is_theirs in ((["moved.jsonl"], True), (["c.jsonl"], False)):
        configure({"synthesis-cases": named})
        assert (words in refused(safe_gate(*RUN))) == is_theirs
    assert words not in refused(safe_gate(*RUN, "--cases", "d.jsonl"), "d.jsonl: matches no file; correct the path")
    configure({"synthesis-cases": ["moved.jsonl"]})
    Path("c.jsonl").write_text("{", "utf-8")
    assert "base commit" not in refused(safe_gate(*RUN), "c.jsonl:1: ")


FILES = "policy-ref base reads only files that the base commit [0-9a-f]{7} names"


def put_group(name: str, tag: str) -> None:
    put(PLAIN | {"tags": {name: {"min-pass-rate": 1}}}, turn("a", tags=[tag]))


def test_a_group_without_cases_is_an_error_under_both_policies(safe_gate: SafeGate, against: Against) -> None:
    put_group("grief", "grief")
    against(commit())
    for name, tag, place in (
        ("greif", "grief", r'safe.config.json:1: tags.greif: no case has this tag \(did you mean "grief"\?\)'),
        ("sadness", "sadness", f"[0-9a-f]{{7}}:safe.config.json:1: tags.grief: no case has this tag [(]{FILES}[)];"),
    ):  # the one would keep every later run from a verdict, the other takes the base's group out of its judge's sight
        put_group(name, tag)
        assert re.search(f"^{place}", refused(safe_gate(*RUN)), re.MULTILINE)


def test_a_change_can_correct_a_name_that_no_case_of_its_base_has(safe_gate: SafeGate, against: Against) -> None:
    for name, code in (("greif", 3), ("grief", 0)):
        put_group(name, "grief")
        if code:
            against(commit())
        assert safe_gate("run", "--baseline", "base").code == code


def test_case_files_that_the_change_no_longer_names_weaken_the_gate(safe_gate: SafeGate, against: Against) -> None:
    config = PLAIN | {"safe-batch": ["b"]}
    put(config, turn("a"))
    against(commit())
    run = (*RUN, "--baseline", "base", "--on-weakened", "fail")
    assert safe_gate(*run).code == 0
    write_cases(Path("d.jsonl"), turn("a", assistant=BAD["assistant"]))
    configure(config | {"synthesis-cases": ["d.jsonl"]})
    assert weakened(safe_gate(*run)) == (1, [("setting", "synthesis-cases", "", "changed")])
    row = "| setting | <code>synthesis-cases</code> | changed | <code>c&#46;jsonl</code>"
    assert row in Path("summary").read_text("utf-8").replace("<wbr>", "")
    assert safe_gate(*run, "--cases", "c.jsonl").code == 0
    write_cases(Path("d.jsonl"), turn("d"))
    Path("elsewhere").mkdir()
    shutil.copy("b.json", "elsewhere")
    for changed, found in (
        ({"synthesis-cases": ["d.jsonl", "c.jsonl"]}, []),
        ({"synthesis-cases": ["*.jsonl"]}, []),
        ({"safe-batch": ["b.json"], "safe-test-dir": "./"}, []),
        ({"safe-test-dir": "elsewhere"}, [("setting", "safe-test-dir", "", "changed")]),
    ):
        configure(config | changed)
        assert weakened(safe_gate(*run)) == (len(found), found)


def test_what_the_base_commits_policy_judged_can_be_verified(safe_gate: SafeGate, base: str, against: Against) -> None:
    run, verify = (*RUN, "--max-unexpected-failures", "0"), ("verify", "reports/safe-gate.json")
    put(PLAIN, BAD)
    waive(WAIVER)
    against(commit())
    for waivers in ([WAIVER | {"expires": "2098-01-01"}], [WAIVER | {"id": "b"}], []):
        waive(*waivers)
        assert safe_gate(*run).code == 0
        ran = safe_gate(*verify)
        assert (ran.code, "Not recomputed: waivers, weakened.\n" in ran.out) == (0, True), ran.log
    assert safe_gate("run", *run[3:]).code == 1
    put(CONFIG, turn("a"))
    against(base)
    assert safe_gate(*RUN).code == 0
    refused(safe_gate(*verify), f"was judged by the rule packs of commit {base[:12]}, which are not available")


@pytest.mark.parametrize(("theirs", "own", "code"), [("fail", "warn", 3), ("warn", "fail", 3), ("warn", "warn", 0)])
def test_the_base_commits_policy_or_the_runs_own_says_whether_its_terms_must_be_known(
    safe_gate: SafeGate, against: Against, theirs: str, own: str, code: int
) -> None:
    put(CONFIG | {"on-weakened": theirs}, {"id": "no case"})
    against(broken := commit())
    put(CONFIG | {"on-weakened": own}, turn("a"))
    ran = safe_gate(*RUN)
    assert (ran.code, f"{broken[:7]}:c.jsonl:1" in ran.err) == (code, code == 3), ran.log


@pytest.mark.parametrize("expires", ["2099-01-01", "2020-01-01"])
def test_a_change_can_remove_a_waiver_that_it_makes_unused(safe_gate: SafeGate, against: Against, expires: str) -> None:
    waive(WAIVER | {"expires": expires})
    put(PLAIN, BAD)
    against(commit())
    run = (*RUN, "--on-weakened", "fail")
    write_cases(Path("c.jsonl"), BAD | {"assistant": "It's up to you."})
    assert safe_gate(*run).code == 1
    waive()
    assert safe_gate(*run).code == 0
    assert safe_gate("verify", "reports/safe-gate.json").code == 0
    configure({"waivers": 1}, WAIVERS)
    assert safe_gate(*run).code == 3
    Path(WAIVERS).unlink()
    assert safe_gate(*run).code == 0
    write_cases(Path("c.jsonl"), BAD)
    assert safe_gate(*run).code == (1 if expires < "2026" else 0)


def test_without_the_bases_policy_there_is_no_verdict(safe_gate: SafeGate, in_actions: InActions) -> None:
    words = "policy-ref: asks for the base commit of a GitHub event, but this is not a GitHub Actions job"
    refused(safe_gate(*RUN), words)
    in_actions(event="schedule", payload={})
    words = "policy-ref: is base, but this event has no base commit; set head for events"
    for command in ("run", "doctor"):
        refused(safe_gate(command, *RUN[1:]), words)


@pytest.mark.parametrize(
    ("path", "wrong", "said"),
    [("safe.config.json", {"min-pass-rate": 2}, ""), (WAIVERS, {"waivers": 1}, ":1: waivers: is 1")],
)
def test_what_is_wrong_with_the_base_commits_files_is_placed_at_that_commit(
    safe_gate: SafeGate, against: Against, path: str, wrong: dict[str, Any], said: str
) -> None:
    configure(wrong, path)
    against(broken := commit())
    configure(CONFIG)
    waive()
    refused(safe_gate(*RUN), f"{broken[:7]}:{path}{said}")
    assert outputs(Path("output").read_text("utf-8"))["verdict"] == "error"
