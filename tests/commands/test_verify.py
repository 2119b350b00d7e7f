"""Reports that can be held against what they were made from: digests, `safe-gate verify`."""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safe_gate import __version__
from safe_gate.scoring.sides import SCORING
from safe_gate.settings import settings
from tests.support.cases import SafeGate, bare_case, refused, safe_case, signed, turn, write_batch, write_cases
from tests.support.examples import examples
from tests.support.pack_files import OWN
from tests.support.reports import BAD, FAILING, REPORT, read, with_altered, write


def digests() -> dict[str, str]:
    found: dict[str, str] = read()["provenance"]["digests"]
    return found


@pytest.fixture
def made(safe_gate: SafeGate) -> dict[str, Any]:
    """Return the report of a run over both evaluators, with failing cases."""
    write_batch(Path("b.json"), safe_case("s1"), safe_case("s2", archetype="source", output=FAILING))
    write_cases(Path("c.jsonl"), turn("t1", expected={"topic_pivot": True}), turn("t2", assistant=BAD, tags=["a/b~c"]))
    assert safe_gate("run", "--batch", "b", "--cases", "c.jsonl").code == 1
    found: dict[str, Any] = read()
    return found


@pytest.mark.usefixtures("made")
def test_a_report_holds_where_its_files_are_and_of_several_the_worst_decides(safe_gate: SafeGate) -> None:
    ran = safe_gate("verify", REPORT)
    rows = [[cell.strip() for cell in line.split("│")[1:5]] for line in ran.out.splitlines() if "│" in line]
    assert rows == [
        ["Digest", "Recorded", "Its contents", "Its files"],
        *([name, value[:12], "holds", "holds"] for name, value in digests().items()),
    ]
    assert ran.out.endswith("reports/safe-gate.json: HOLDS (2 files give the same report)\n")
    assert (ran.code, ran.err) == (0, "")
    write(with_altered(read(), ("verdict",)), Path("forged.json"))
    assert safe_gate("verify", REPORT, REPORT).code == 0
    assert safe_gate("verify", "reports/*.json").out == ran.out
    refused(safe_gate("verify", REPORT, "reports/x*"), "reports/x*: matches no file; correct the path or the pattern\n")
    refused(safe_gate("verify", REPORT, "nowhere.json"), "nowhere.json: matches no file")
    assert safe_gate("verify", "nowhere.json", "forged.json", REPORT).code == 1


CONFIG = {
    "thresholds": {"CR": {"pass": 0.7, "review": 0.3}, "AC": {"pass": 1, "review": 0}},
    "weights": {"AH": 2.5},
    "archetypes": {"Unknown": {"weights": {"CR": 3}}},
    "rules-off": ["pivot-indicator", "agency-positive/your-call"],
    "max-fail-labels": 0,
    "min-label-accuracy": {"topic_pivot": 0.5},
}


@pytest.mark.parametrize(
    "flags",
    [
        ("--text", "none"),
        ("--profile", "spec"),
        ("--rules", "own.json", "--config", "team.json"),
        ("--strict-ah", "--safe-concern", "I25"),
        ("--min-pass-rate", "0", "--max-unexpected-failures", "9", "--max-unexpected-passes", "0"),
    ],
)
def test_a_report_holds_under_whatever_settings_it_was_made(safe_gate: SafeGate, flags: tuple[str, ...]) -> None:
    Path("own.json").write_text(json.dumps(OWN), "utf-8")
    Path("team.json").write_text(json.dumps(CONFIG), "utf-8")
    outputs = [{"test_id": id_, "output": FAILING} for id_ in ("s1", "s2")]
    cases = [bare_case(one["test_id"]) for one in outputs]
    write_batch(Path("b.json"), cases[0], cases[1] | {"concern_id": "I08"})
    write_cases(Path("recorded [1].txt"), *outputs)
    write_cases(Path("c.jsonl"), turn("t1", expected={"topic_pivot": True}), turn("t2", assistant=BAD))
    inputs = ("--batch", "b", "--outputs", "recorded [1].txt", "--cases", "c.jsonl")
    assert safe_gate("run", *inputs, *flags).code in (0, 1)
    assert [file["kind"] for file in read()["provenance"]["inputs"]] == ["safe-batch", "synthesis-case", "safe-output"]
    ran = safe_gate("verify", REPORT)
    assert (ran.code, ran.err) == (0, ""), ran.log


def test_every_setting_that_moves_a_score_is_recorded() -> None:
    names = {one.name for one in settings()}
    files = "safe_batch safe_outputs safe_test_dir synthesis_cases waivers"  # recorded as inputs
    compared = "significance baseline allow_missing protect on_weakened policy_ref recordings stale_recordings"
    told = "report_formats reports report_dir comment gate_id comment_author dry_run sinks sink_secret"
    shell = "github_token config jobs timeouts allow bounds"
    limits = {name for name in names if name.startswith(("min_", "max_"))}
    assert names == {*SCORING, *limits, *f"{files} {compared} {told} {shell}".split()}


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict | list) and value:
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from leaves(value[key], (*path, key))
    else:
        yield path


@pytest.mark.untraced
@pytest.mark.thorough
def test_a_change_of_any_value_is_detected(safe_gate: SafeGate, made: dict[str, Any]) -> None:
    @given(st.sampled_from(list(leaves(made))))
    @examples(few=8, many=20)
    def check(path: tuple[str | int, ...]) -> None:
        forged = with_altered(made, path)
        codes = {}
        for name, report in {"kept": forged, "digests recomputed": signed(forged)}.items():
            codes[name] = safe_gate("verify", write(report, Path("forged.json"))).code
        if path[:2] == ("provenance", "digests"):
            assert codes == {"kept": 1, "digests recomputed": 0}
        elif path[:2] == ("provenance", "policy"):
            assert codes["kept"] in (1, 3)  # with digests recomputed, it may be what a run by another setting gives
        elif path == ("provenance", "commit"):  # the time stands in SAFE v0's part too
            assert set(codes.values()) == {0}
        else:
            assert set(codes.values()) <= {1, 3}

    check()


def test_a_file_that_changed_or_is_gone_is_named_with_its_digests(safe_gate: SafeGate, made: dict[str, Any]) -> None:
    was = {file["path"]: file["sha256"] for file in made["provenance"]["inputs"]}
    Path("c.jsonl").rename("elsewhere")
    ran = safe_gate("verify", REPORT)
    assert ran.code == 3
    gone = f"c.jsonl is gone; the report read SHA-256 {was['c.jsonl'][:12]}\n"
    assert gone in ran.out
    assert ran.out.count("│ not computed │") == len(digests())
    assert "reports/safe-gate.json: NOT CHECKED (1 file cannot be read; verify it in the folder where it was" in ran.out
    Path("b.json").write_text(Path("b.json").read_text("utf-8") + "\n", "utf-8")
    now = hashlib.sha256(Path("b.json").read_bytes()).hexdigest()
    ran = safe_gate("verify", REPORT)
    assert ran.code == 1
    assert f"b.json has changed: its SHA-256 is {now[:12]}, the report read {was['b.json'][:12]}\n{gone}" in ran.out
    assert "DOES NOT HOLD (1 file changed since it was made)" in ran.out


def test_a_file_whose_name_is_a_glob_is_read_alone_and_none_may_be_left_out(safe_gate: SafeGate) -> None:
    for name, id_ in (("[1]", "t1"), ("1", "t2")):
        write_cases(Path(f"c{name}.jsonl"), turn(id_))
        write_batch(Path(f"b{name}.json"), bare_case(id_))
        write_cases(Path(f"b{name}.outputs.jsonl"), {"test_id": id_, "output": safe_case(id_)["output"]})
    write_batch(Path("d[1].txt"), safe_case("t3"))
    assert safe_gate("run", "--batch", "b[[]1].json", "d[1].txt", "--cases", "c[[]1].jsonl").code == 0
    named = [file["path"] for file in read()["provenance"]["inputs"]]
    assert named == ["b[1].json", "b[1].outputs.jsonl", "c[1].jsonl", "d[1].txt"]
    ran = safe_gate("verify", REPORT)
    assert (ran.code, ran.err) == (0, ""), ran.log
    report = read()
    del report["provenance"]["inputs"][1]
    ran = safe_gate("verify", write(report))
    assert ran.code == 1
    assert "DOES NOT HOLD (its files produce a different report, with other values in provenance)" in ran.out


def test_a_digest_that_does_not_hold_is_shown_beside_the_recorded_one(safe_gate: SafeGate, made: Any) -> None:
    was = digests()["results"][:12]
    made["synthesis"]["results"][0]["tags"].append("more")
    forged = signed(made)["provenance"]["digests"]["results"][:12]
    kept, recomputed = (safe_gate("verify", write(report)).out for report in (made, signed(made)))
    for out, row in ((kept, (was, f"gives {forged}", "holds")), (recomputed, (forged, "holds", f"gives {was}"))):
        assert re.search(r"│ results +│ {} +│ {} +│ {} +│".format(*row), out)


def test_a_part_without_a_digest_that_differs_is_named(safe_gate: SafeGate, made: Any) -> None:
    made["safe_v0"]["summary"]["total_cases"] += 1
    ran = safe_gate("verify", write(made))
    assert (ran.code, ran.out.count("│ holds ")) == (1, 2 * len(digests()))
    assert ran.out.endswith("DOES NOT HOLD (its files produce a different report, with other values in safe_v0)\n")


def test_waivers_and_packs_are_among_the_files(safe_gate: SafeGate) -> None:
    waivers, pack = Path("known.json"), Path("own.json")
    pack.write_text(json.dumps(OWN), "utf-8")
    write_cases(Path("c.jsonl"), turn("t", assistant=BAD))
    run = ("run", "--cases", "c.jsonl", "--rules", pack)
    safe_gate(*run)
    safe_gate("bless", "--waivers", waivers, "--reason", "known", "--owner", "ada", "--expires", "2099-01-01")
    assert safe_gate(*run, "--waivers", waivers).code == 0
    assert "HOLDS (2 files give the same report)\n" in safe_gate("verify", REPORT).out
    waivers.write_text(waivers.read_text("utf-8") + "\n", "utf-8")
    ran = safe_gate("verify", REPORT)
    assert (ran.code, "known.json has changed: its SHA-256" in ran.out) == (1, True)
    waivers.unlink()
    ran = safe_gate("verify", REPORT)
    assert (ran.code, ran.err) == (3, "")
    assert "known.json is gone; the report read" in ran.out
    assert "NOT CHECKED (1 file cannot be read" in ran.out
    safe_gate(*run)
    pack.write_text(json.dumps(OWN | {"about": "Another."}), "utf-8")
    ran = safe_gate("verify", REPORT)
    assert (ran.code, "DOES NOT HOLD (its files produce a different report)" in ran.out) == (1, True)
    pack.unlink()
    assert refused(safe_gate("verify", REPORT)).startswith("own.json: matches no file")


def test_what_cannot_be_recomputed_is_not_checked(safe_gate: SafeGate, made: dict[str, Any]) -> None:
    other = {"name": "safe-gate", "version": "0.9.0"}
    for report in (made | {"tool": other}, {"tool": other, "verdict": "of a shape of its own"}):
        Path("old.json").write_text(json.dumps(report), "utf-8")
        ran = safe_gate("verify", "old.json")
        words = f"tool.version: was made by safe-gate 0.9.0; verify it with that version (this is {__version__})"
        assert (ran.code, ran.err.splitlines()[0]) == (3, f"old.json: {words}")
    del made["provenance"]["digests"]
    assert "r.json: provenance.digests: has no digests" in safe_gate("verify", write(made, Path("r.json"))).err
    policy = made["provenance"]["policy"]
    thresholds = policy["thresholds"] | {"CR": policy["thresholds"]["CR"] | {"pass": 0.1}}
    for changed, words in (
        ({"archetypes": {"A": {"CR": 7}}}, "provenance.policy: archetypes.A.CR: is not a known field"),
        ({"thresholds": thresholds}, "CR.pass: is 0.1, below 0.5"),
        ({"weights": policy["weights"] | {"AH": -7}}, "policy.weights.AH: is -7, less than 0; expected a number"),
    ):
        made["provenance"]["policy"] = policy | changed
        refused(safe_gate("verify", write(signed(made), Path("r.json"))), words)
    for key in ("waivers", "test_cases", "runs"):
        words = "r.json: is not a report of safe-gate run: it has no field verdict\n"
        refused(safe_gate("verify", write({key: []}, Path("r.json"))), words)
    for text in ("", "[]", "{", '{"tool": 1}', "null"):
        Path("r.json").write_text(text, "utf-8")
        assert "internal error" not in refused(safe_gate("verify", "r.json"))
    assert safe_gate("run").code == 3
    assert "has no verdict, so there is nothing to verify" in safe_gate("verify", REPORT).err


def test_a_comparison_stands_as_it_is_recorded_and_is_judged_again(safe_gate: SafeGate, made: dict[str, Any]) -> None:
    Path("old.json").write_text(json.dumps(made), "utf-8")
    assert safe_gate("run", "--cases", "c.jsonl", "--baseline", "old.json", "--max-unexpected-failures", "9").code == 1
    held = read()
    ran = safe_gate("verify", "reports/safe-gate.json")
    assert (ran.code, "Not recomputed: comparison.\n" in ran.out) == (0, True)
    holds = "HOLDS (1 file gives the same report; comparison stands as recorded)"
    assert ran.out.endswith(f"reports/safe-gate.json: {holds}\n")
    held["comparison"]["safe_v0"]["cases"]["removed"] = []
    assert safe_gate("verify", write(signed(held))).code == 1


def test_digests_know_no_order_of_cases_and_no_files(safe_gate: SafeGate) -> None:
    turns = [turn(f"t{i}", assistant=BAD if i % 2 else turn("")["assistant"], tags=[f"g{i % 3}"]) for i in range(5)]
    found = []
    for first, second in ((turns, []), (turns[:2], turns[2:]), (turns[::-2], turns[1::2])):
        write_cases(Path("a.jsonl"), *first)
        write_cases(Path("b.jsonl"), *second)
        assert safe_gate("run", "--cases", "a.jsonl", *(["b.jsonl"] if second else [])).code == 1
        found.append(digests())
    assert found[0] == found[1] == found[2]
    for field, moved in (({"assistant": "Well."}, "outputs"), ({"expected": {"topic_pivot": False}}, "cases")):
        write_cases(Path("a.jsonl"), *turns[:-1], turns[-1] | field)
        safe_gate("run", "--cases", "a.jsonl")
        assert {name for name in found[0] if found[0][name] != digests()[name]} == {moved, "results", "all"}


def test_settings_move_the_digests_of_what_they_decide(safe_gate: SafeGate, made: dict[str, Any]) -> None:
    before = made["provenance"]["digests"]
    for flags, moved in (
        ((), set()),
        (("--min-pass-rate", "0.25"), {"policy", "all"}),
        (("--thresholds", "CR.review=0.25"), {"rules", "policy", "all"}),
        (("--text", "none"), {"policy", "results", "all"}),
        (("--rules-off", "pivot-indicator/selling"), {"rules", "policy", "all"}),
    ):
        safe_gate("run", "--batch", "b", "--cases", "c.jsonl", *flags)
        assert {name for name in before if before[name] != digests()[name]} == moved
