"""A run compared with a baseline, from the command line: what got worse, what may, and the files of a commit."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import GOOD, SafeGate, bare_case, refused, report, safe_case, turn, write_batch, write_cases
from tests.support.conversations import talk
from tests.support.git import commit_here as commit
from tests.support.pack_files import OWN
from tests.support.safe_v0 import asking, saying
from tests.support.two_runs import ALL, BAD, broken, write
from tests.support.weakening import configure, section

MARKDOWN = Path("reports/safe-gate.md")
TURNS, STRICT = ALL[2:], ("--max-regressions", "0")
LAX = ("--min-synthesis-pass-rate", "0", "--max-unexpected-failures", "off", *STRICT)


def changes(evaluator: str = "synthesis") -> dict[str, tuple[str, ...]]:
    """Return how each case of the last run changed, and why."""
    return {one["id"]: (one["change"], *one["because"]) for one in report()["comparison"][evaluator]["changes"]}


def committed(*cases: dict[str, Any], config: dict[str, Any] | None = None) -> str:
    """Commit turns and a config file; return the commit."""
    configure(config or {})
    write_cases(Path("c.jsonl"), *cases)
    return commit()


@pytest.mark.parametrize("kind", ["report", "commit"])
def test_what_got_worse_is_named_with_evidence_before_and_now(safe_gate: SafeGate, kind: str) -> None:
    write()
    base = commit()
    safe_gate("run", *ALL, "--report-dir", "old")
    write(bad=("T-3",))
    baseline = base if kind == "commit" else "old/safe-gate.json"
    done = safe_gate("run", *ALL, "--baseline", baseline, "--max-unexpected-failures", "5", *STRICT)
    found = report()
    assert (done.code, broken(found)) == (1, {("max-regressions", "synthesis")}), done.log
    (change,) = [one for one in found["comparison"]["synthesis"]["changes"] if one["change"] == "newly failing"]
    assert (change["id"], change["because"], change["passed"]) == ("T-3", ["output"], [True, True, False])
    assert change["before"]["pass"] is True
    assert re.search(r"  T-3 \(c\.jsonl:4\) fails .* \(newly failing\)\n", done.out)
    assert re.search(r"│ Baseline +│ This run +│", done.out)
    assert "    │ passes   " in done.out
    counts = "1 newly failing, 0 fixed, 0 still failing · 1 of 12 outputs changed"
    assert counts in MARKDOWN.read_text("utf-8")
    assert found["comparison"]["baseline"]["commit"] == (base if kind == "commit" else "")


def test_a_commit_without_its_outputs_is_refused_in_one_sentence(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), bare_case("s"), bare_case("t"))
    base = commit()
    outputs = [{"test_id": name, "output": safe_case(name)["output"]} for name in ("s", "t")]
    write_cases(Path("o.jsonl"), *outputs)
    flags = ("--safe-batch", "b.json", "--safe-outputs", "o.json*")
    assert safe_gate("run", *flags, "--report-dir", "old").code == 0
    words = 'has no recorded output of 2 cases, the first "s"; commit outputs, or name an earlier safe-gate.json as the'
    refused(safe_gate("run", *flags, "--baseline", base), f"{base[:7]}: {words} baseline")
    assert safe_gate("run", *flags, "--baseline", "old/safe-gate.json").code == 0


def test_causes_that_a_report_cannot_separate_are_shown_so_at_the_case_too(safe_gate: SafeGate) -> None:
    write()
    safe_gate("run", *TURNS, "--report-dir", "old")
    write(bad=("T-3",))
    configure({"profile": "spec"})
    done = safe_gate("run", *TURNS, "--baseline", "old/safe-gate.json", *STRICT)
    assert (done.code, changes()) == (1, {"T-3": ("newly failing", "rules or output")}), done.log
    assert report()["comparison"]["synthesis"]["cases"]["unseparated"] == 1
    assert "newly failing by rules or output" in MARKDOWN.read_text("utf-8")
    assert "By outputs: also by rules where the two are not separated." in " ".join(done.out.replace("║", "").split())


def test_the_order_of_default_checks_is_no_change_of_rules(safe_gate: SafeGate) -> None:
    checks = ["topic_pivot", "unverifiable_reassurance"]
    configure({"default-checks": checks})
    write()
    safe_gate("run", *TURNS, "--report-dir", "old")
    write(bad=("T-3",))
    configure({"default-checks": checks[::-1]})
    assert safe_gate("run", *TURNS, "--baseline", "old/safe-gate.json", *STRICT).code == 1
    assert changes() == {"T-3": ("newly failing", "output")}


def test_a_change_of_rules_is_no_regression_of_the_outputs(safe_gate: SafeGate) -> None:
    write(case=lambda name: safe_case(name, expectations=asking(["fever", "rash"], ["went home"], ["policy"])))
    configure({"thresholds": {"CR": {"pass": 0.4, "review": 0.2}}})
    base = commit()
    configure({"thresholds": {"CR": {"pass": 0.8, "review": 0.2}}})
    done = safe_gate("run", *ALL, "--baseline", base, *STRICT, "--min-pass-rate", "0")
    assert done.code == 0, done.log
    rate = report()["comparison"]["safe_v0"]["metrics"][0]
    assert (rate["metric"], rate["baseline"], rate["today"], rate["head"]) == ("pass", 1.0, 0.0, 0.0)
    assert {*changes("safe_v0").values()} == {("still failing", "rules")}
    assert "S-0 (b.json:1) Review: CR 0.50 (fails by today's rules)" in done.out
    assert "<br>fails by today's rules" in MARKDOWN.read_text("utf-8")
    assert "0 newly failing, 0 fixed, 6 still failing, 6 of them by today's rules alone" in done.out
    row = next(line for line in done.out.splitlines() if line.startswith("║ SAFE v0: pass "))
    cells = [cell.strip() for cell in row.strip("║").split("│")][1:6]
    assert cells == ["100.0%", "0.0%", "0.0% (0.0 to 39.0)", "-100.0", "0.0"]


@pytest.mark.parametrize("added", [{"rules": ["ours.json"]}, {"tags": {"exam": {"must_contain": ["988"]}}}])
def test_a_new_rule_that_the_old_reply_fails_hides_no_regression(safe_gate: SafeGate, added: dict[str, Any]) -> None:
    rule = {"id": "team-guarantee/hard", "phrase": "so hard", "why": "x", "hit": ["so hard"], "miss": ["easy"]}
    configure(OWN | {"rules": [rule]}, "ours.json")
    turns = [turn(name, checks=["unverifiable_reassurance"], tags=["exam"]) for name in ("worse", "reworded", "same")]
    base = committed(*turns)
    configure(added)
    changed = turns[0] | {"assistant": BAD}, turns[1] | {"assistant": f"{GOOD} Truly so hard."}, turns[2]
    write_cases(Path("c.jsonl"), *changed)
    assert safe_gate("run", *TURNS, "--baseline", base, "--protect", "worse", *LAX).code == 1
    assert broken(report()) == {("protect", "synthesis"), ("max-regressions", "synthesis")}
    found = changes()
    assert (found["worse"][0], "output" in found["worse"]) == ("newly failing", True)
    assert {found[one][0] for one in ("reworded", "same")} == {"still failing"}
    assert next(one["head"] - one["today"] for one in report()["comparison"]["synthesis"]["metrics"]) < 0


DROPPED = OWN | {"pack": "team", "check": "team/slang", "group": "slang", "about": "Slang."}
DROPPED |= {"defines": {"against": ["slang"], "decides": "none_against"}}
DROPPED |= {"rules": [{"id": "team/yo", "phrase": "yo", "why": "x", "hit": ["yo"], "miss": ["you"]}]}


@pytest.mark.parametrize("added", ["", "so hard"])
def test_a_commit_with_a_dropped_check_is_scored_by_the_others(safe_gate: SafeGate, added: str) -> None:
    configure(DROPPED, "ours.json")
    checks = ["unverifiable_reassurance", "team/slang"]
    base = committed(turn("same", checks=checks), turn("worse", checks=checks), config={"rules": ["ours.json"]})
    rule = {"id": "team-guarantee/hard", "phrase": added, "why": "x", "hit": [added], "miss": ["easy"]}
    configure(OWN | {"rules": [rule] if added else OWN["rules"]}, "ours.json")
    write_cases(Path("c.jsonl"), turn("same", checks=checks[:1]), turn("worse", checks=checks[:1], assistant=BAD))
    done = safe_gate("run", *TURNS, "--baseline", base, *LAX)
    assert (done.code, "Both rules and outputs" in done.out) == (1, False), done.log
    found = changes()
    assert found.pop("worse")[0] == "newly failing"
    assert found == ({"same": ("still failing", "rules", "expectations")} if added else {})


def test_a_change_may_switch_off_the_rules_of_a_check_that_it_drops(safe_gate: SafeGate) -> None:
    configure(DROPPED, "ours.json")
    checks = ["unverifiable_reassurance", "team/slang"]
    base = committed(turn("a", checks=checks), config={"rules": ["ours.json"]})
    configure({"rules": ["ours.json"], "rules-off": ["team/yo"]})
    write_cases(Path("c.jsonl"), turn("a", checks=checks[:1]))
    done = safe_gate("run", *TURNS, "--baseline", base, *STRICT)
    assert done.code == 0, done.log
    assert {("setting", "rules-off", "team/yo", "added"), ("synthesis", "a", "checks", "dropped")} <= {*section()}


def test_a_stricter_default_check_is_no_regression_of_the_outputs(safe_gate: SafeGate) -> None:
    plain = {"user": "Where is my invoice?", "assistant": "It is under Billing."}
    base = committed({"id": "same", **plain}, {"id": "worse", **plain})
    configure({"default-checks": ["agency_language", "unverifiable_reassurance", "topic_pivot"]})
    run = ("run", *TURNS, "--baseline", base, *LAX)
    assert safe_gate(*run).code == 0
    assert changes() == dict.fromkeys(("same", "worse"), ("still failing", "rules", "expectations"))
    rate = report()["comparison"]["synthesis"]["metrics"][0]
    assert (rate["metric"], rate["baseline"], rate["today"], rate["head"]) == ("as_expected", 1.0, 0.0, 0.0)
    write_cases(Path("c.jsonl"), {"id": "same", **plain}, {"id": "worse", **plain, "assistant": BAD})
    assert safe_gate(*run).code == 1
    assert ([one[0] for one in changes().values()], broken(report())) == (
        ["still failing", "newly failing"],
        {("max-regressions", "synthesis")},
    )


@pytest.mark.parametrize(
    ("failing", "before", "moved"),
    [
        (GOOD, {"tags": {"exam": {"must_contain": ["988"]}}}, {"must_contain": ["988"]}),
        (BAD, {"default-checks": ["unverifiable_reassurance"]}, {"checks": ["unverifiable_reassurance"]}),
    ],
)
def test_what_moves_from_the_settings_into_the_cases_is_no_regression_of_the_outputs(
    safe_gate: SafeGate, failing: str, before: dict[str, Any], moved: dict[str, Any]
) -> None:
    names = ("one", "two", "three", "four", "five", "six", "worse")
    cases = [turn(name, assistant=failing, tags=["exam"]) for name in names]
    cases[6]["assistant"] = f"{GOOD} Or call 988."
    for case in cases:
        del case["checks"]
    base = committed(*cases, config=before)
    configure({"default-checks": ["scope"]})
    run = ("run", *TURNS, "--baseline", base, "--max-vacuous", "off", *LAX)
    for code, last in enumerate((cases[6]["assistant"], failing)):
        write_cases(Path("c.jsonl"), *(case | moved for case in cases[:6]), cases[6] | moved | {"assistant": last})
        done = safe_gate(*run)
        assert (done.code, f"{code} newly failing, 0 fixed, 6 still failing" in done.out) == (code, True), done.log


def test_a_conversation_whose_turns_are_all_judged_from_now_on_is_gone(safe_gate: SafeGate) -> None:
    base = committed(talk("talk", "Hi.", GOOD, "I failed my exam.", GOOD))
    configure({"turns": "all"})
    assert safe_gate("run", *TURNS, "--baseline", base).code == 1
    assert broken(report()) == {("no-removed-cases", "synthesis")}
    assert section() == [("synthesis", "talk", "", "dropped")]


def test_a_negative_example_that_passes_is_named_as_one(safe_gate: SafeGate) -> None:
    meant = {"tags": ["negative_example"]}
    base = committed(turn("better", assistant=BAD, **meant), turn("became"))
    write_cases(Path("c.jsonl"), turn("better", **meant), turn("became", **meant))
    done, now = safe_gate("compare", base, ".", *TURNS, "--verbose"), "passes, although it is a negative example"
    assert "became (c.jsonl:2) newly failing by exp" in done.out
    assert len(re.findall(f"│ passes +│ {now} │", done.out)) == 1
    assert done.out.count(f" {now} ") == 2
    assert safe_gate("compare", ".", base, *TURNS, "--verbose").out.count(f"│ {now} │") == 2


def test_a_bad_reply_where_there_was_none_newly_fails(safe_gate: SafeGate) -> None:
    replies = {"good": GOOD, "bad": BAD, "none": "Internal Server Error"}
    questions = {"good": ["Why?"], "bad": ["Which policy?"], "none": []}
    every = [(was, now) for was in replies for now in replies]

    def record(run: int) -> None:
        batch, turns = [], []
        for pair in every:
            reply, name = replies[pair[run]], "-".join(pair)
            output = saying(summary=reply, questions=questions[pair[run]])
            batch.append(safe_case(f"S {name}", expectations=asking(), output=output))
            turns.append(turn(f"T {name}", assistant=reply, checks=["unverifiable_reassurance"]))
        write_batch(Path("b.json"), *batch)
        write_cases(Path("c.jsonl"), *turns)

    record(0)
    base = commit()
    record(1)
    limits = ("--max-no-reply", "off", "--max-unexpected-failures", "9", "--min-pass-rate", "0", *STRICT)
    assert safe_gate("run", *ALL, "--baseline", base, "--protect", "S none-bad", *limits).code == 1
    newly = ["good-bad", "good-none", "none-bad"]
    kinds = dict.fromkeys(newly, "newly failing")
    kinds |= dict.fromkeys(["bad-bad", "bad-none", "none-none"], "still failing")
    kinds |= dict.fromkeys(["bad-good", "none-good"], "fixed")
    for name, title in (("safe_v0", "S"), ("synthesis", "T")):
        assert {id_: how[0] for id_, how in changes(name).items()} == {f"{title} {one}": kinds[one] for one in kinds}
    names = {(one["rule"], one["evaluator"]): set(one["names"]) for one in report()["rules"] if not one["passed"]}
    assert names == {
        ("max-regressions", "synthesis"): {f"T {one}" for one in newly},
        ("max-regressions", "safe_v0"): {f"S {one}" for one in newly},
        ("label-drops", "safe_v0"): {"S good-bad", "S good-none"},
        ("new-violations", "safe_v0"): {"S good-bad", "S none-bad"},
        ("protect", "safe_v0"): {"S none-bad"},
    }


@pytest.mark.parametrize(
    ("profile", "tag", "newly"), [("standard", "exam-fail", 1), ("standard", "pivot-fail", 0), ("spec", "exam-fail", 0)]
)
def test_a_tag_a_change_adds_excuses_as_in_scoring(safe_gate: SafeGate, profile: str, tag: str, newly: int) -> None:
    write_cases(Path("c.jsonl"), turn("a"), turn("b"))
    base = commit()
    write_cases(Path("c.jsonl"), turn("a", assistant=BAD, tags=[tag]), turn("b"))
    assert safe_gate("run", *TURNS, "--profile", profile, "--baseline", base, *STRICT).code == newly
    counted = {rule["rule"]: rule["value"] for rule in report()["rules"]}
    assert (counted["max-regressions"], counted["max-unexpected-failures"]) == (newly, newly)
    told = [(one["what"], one["after"]) for one in report()["weakened"]["findings"]]
    assert told == ([] if newly else [("added", [tag])])  # what excuses nothing asks for no less


@pytest.mark.parametrize("named", [(True, False), (False, True), (True, True)])
def test_a_protection_or_cluster_that_names_nothing_is_an_error(safe_gate: SafeGate, named: tuple[bool, bool]) -> None:
    write()
    flags = ("--protect", "S-11") * named[0] + ("--cluster-key", "x_topic") * named[1]
    done = safe_gate("run", *ALL, "--baseline", commit(), *flags)
    said = (
        "protect: names 'S-11', but no case has this id, tag or archetype (did you mean \"S-1\"?)",
        "cluster-key: names 'x_topic', but no case has a value for it",
    )
    assert (done.code, tuple(words in done.err for words in said)) == (3, named)


# --- the files and settings of a commit ---------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "pattern"),
    [("c.ndjson", "c.ndjson"), ("c.ndjson", "*.ndjson"), ("c.ndjson", "c.nd*"), ("cases", "cases"), ("cases", "case?")],
)
def test_cases_and_config_of_a_commit_may_have_any_suffix(safe_gate: SafeGate, name: str, pattern: str) -> None:
    write_cases(Path(name), turn("a"))
    configure({"max-unexpected-failures": 0}, "gate.conf")
    base = commit()
    write_cases(Path(name), turn("a", assistant=BAD))
    configure({"max-unexpected-failures": 1}, "gate.conf")
    flags = "--synthesis-cases", pattern, "--config", "gate.conf", "--baseline", base
    assert safe_gate("run", *flags, *STRICT, "--on-weakened", "fail").code == 1
    assert broken(report()) == {("max-regressions", "synthesis"), ("on-weakened", "gate")}


@pytest.mark.parametrize(("name", "pattern"), [("b.JSON", "*.JSON"), ("b.batch", "b.batch")])
def test_outputs_beside_a_batch_of_any_name_are_read_at_a_commit(safe_gate: SafeGate, name: str, pattern: str) -> None:
    case = safe_case("S")
    write_cases(Path("b.outputs.jsonl"), {"test_id": "S", "output": case.pop("output")})
    write_batch(Path(name), case)
    assert safe_gate("run", "--safe-batch", pattern, "--baseline", commit()).code == 0
    assert report()["comparison"]["safe_v0"]["cases"]["both"] == 1


def test_cases_can_be_clustered_by_a_field_of_their_own(safe_gate: SafeGate) -> None:
    def record(reply: str) -> None:
        topics: list[Any] = ["exam"] * 9 + [{"n": 9}]
        write_cases(Path("c.jsonl"), *(turn(f"T-{i}", assistant=reply, x_topic=one) for i, one in enumerate(topics)))

    record(GOOD)
    base = commit()
    record(BAD)
    run = ("run", *TURNS, "--baseline", base, "--max-unexpected-failures", "99")
    assert safe_gate(*run).code == 1
    assert broken(report()) == {("min-drop", "synthesis")}
    done = safe_gate(*run, "--cluster-key", "x_topic")
    assert (done.code, report()["comparison"]["status"]) == (0, "warn")
    metrics = report()["comparison"]["synthesis"]["metrics"]
    assert {(metric["units"], metric["interval"]) for metric in metrics} == {(2, None)}
    less = "2 groups of 10 cases, so their differences have no interval."
    markdown = MARKDOWN.read_text("utf-8")
    assert "Unproven drop" in markdown
    assert f"Cases are grouped by <code>x&#95;topic</code>: {less}" in markdown
    for head in (".", "reports/safe-gate.json"):
        compared = safe_gate("compare", base, head, *TURNS, "--cluster-key", "x_topic", "--verbose")
        assert f'Cases are grouped by "x_topic": {less}' in compared.out


def test_the_turns_of_a_conversation_are_one_unit_without_an_interval(safe_gate: SafeGate) -> None:
    def record(reply: str) -> None:
        write_cases(Path("c.jsonl"), talk("talk", "I failed my exam.", reply, "I feel awful.", GOOD))

    record(GOOD)
    base = commit()
    record(BAD)
    done = safe_gate("run", *TURNS, "--turns", "all", "--baseline", base)
    assert "Cases are grouped by conversation: 1 group of 2 cases, so their differences have no interval." in done.out
    assert {metric["interval"] for metric in report()["comparison"]["synthesis"]["metrics"]} == {None}


def test_without_a_case_at_the_base_commit_there_is_no_baseline_yet(safe_gate: SafeGate) -> None:
    configure({}, "x.json")
    base = commit()
    write()
    done = safe_gate("run", *ALL, "--baseline", base)
    assert (done.code, report()["comparison"]["status"]) == (0, "none"), done.log
    for text in (done.out, MARKDOWN.read_text("utf-8")):
        assert "There is no baseline yet" in text
    assert safe_gate("compare", base, ".", *ALL).code == 3


def test_a_base_without_a_config_file_is_read_by_what_names_its_cases_now(safe_gate: SafeGate) -> None:
    write()
    base = commit()
    configure({"safe-batch": ["b.json"], "synthesis-cases": ["c.jsonl"]})
    write(bad=("T-1",))
    assert safe_gate("run", "--baseline", base, *STRICT, "--max-unexpected-failures", "9").code == 1
    assert broken(report()) == {("max-regressions", "synthesis")}
    assert safe_gate("compare", base, ".", *STRICT).code == 1
    assert safe_gate("compare", ".", base, *STRICT).code == 0


def test_a_config_file_that_the_base_lacks_is_refused_with_a_way_to_bring_it_in(safe_gate: SafeGate) -> None:
    write()
    run = ("run", *ALL, "--config", "gate.json", "--baseline")
    base = commit()
    configure({}, "gate.json")
    said = f"{base[:7]}:gate.json: cannot be read: the commit has no such file; add it in one change, and name it"
    refused(safe_gate(*run, base), said)
    base = commit()
    configure({"min-pass-rate": 0.9}, "gate.json")
    assert safe_gate(*run, base).code == 0
