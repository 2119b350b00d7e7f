"""How a run shows that a change weakens the gate, and when it fails for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from safe_gate.gate.stored import read_report, report_json
from safe_gate.gate.weakening import Terms, weakenings
from safe_gate.github import HAND_OVER, handover
from safe_gate.render import console, markdown
from safe_gate.render.view import ReportView
from tests.support.cases import SafeGate, report, safe_case, turn
from tests.support.git import commit
from tests.support.weakening import CONFIG, PACK, WEAKENED, full, pull_request, put, section, weaken


def test_a_weakened_gate_is_shown_high_up_and_breaks_nothing_by_default(safe_gate: SafeGate, base: str) -> None:
    weaken()
    ran = safe_gate("run", "--baseline", base, "--allow-missing", "cases")
    assert ran.code == 0, ran.log
    assert section() == WEAKENED
    assert report()["weakened"] | {"findings": []} == {
        "against": report()["comparison"]["baseline"],
        "partial": False,
        "on_weakened": "warn",
        "findings": [],
    }
    head, *rows = ran.out.split("\n")[:12]
    assert head.startswith(f'This change weakens the gate in 5 ways, compared with "{base[:7]}"')
    assert "".join(rows[3].split()) == "│setting│min-pass-rate││looser│0.9│0.5│"
    assert "".join(rows[6].split()) == "│SAFEv0case│s│CR│dropped│fever││"
    text = Path("reports/safe-gate.md").read_text("utf-8")
    assert text.index("**This change weakens the gate** in 5 ways") < text.index("**SAFE v0** ·")
    assert "| rule | <code>ours&#47;over</code> |  | changed |  |  |" in text
    assert (
        "| setting | <code>protect</code> | <code>&#60;b&#62;<wbr>&#64;octo &#124; x</code> | dropped |  |  |" in text
    )
    assert "| Synthesis case | <code>&#60;&#47;code&#62; <wbr>&#64;octo &#124; b</code> |  | dropped |  |  |" in text
    assert "@octo" not in text


def test_at_most_ten_ways_are_shown_and_the_others_folded(safe_gate: SafeGate, base: str) -> None:
    put(CONFIG | {"protect": []}, *(turn(f"t{i}") for i in range(13)), cases=(safe_case("s"),))
    many = commit()
    put(CONFIG | {"protect": []}, turn("t0"), cases=(safe_case("s"),))
    ran = safe_gate("run", "--baseline", many, "--allow-missing", "cases")
    assert len(section()) == 12
    text = Path("reports/safe-gate.md").read_text("utf-8")
    shown, folded = text.split("<details><summary>… and 2 more</summary>")
    assert shown.count("| Synthesis case |") == 10
    assert folded.split("</details>")[0].count("| Synthesis case |") == 2
    without = next(
        one for one in markdown.scorecards_by_length(ReportView(read_report(report())), limit=len(text.encode()) - 1)
    )
    assert without.count("| Synthesis case |") == 10
    assert "… and 2 more: see the JSON report." in without
    assert "... and 2 more: see the JSON report" in ran.out
    counts = [*markdown.scorecards_by_length(ReportView(read_report(report())), limit=10)][-1]
    assert "**This change weakens the gate** in 12 ways" in counts
    assert "| Synthesis case |" not in counts


def test_a_gate_that_asks_for_no_less_says_so_in_one_line(safe_gate: SafeGate, base: str) -> None:
    put(
        CONFIG | {"min-pass-rate": 1.0},
        turn("a"),
        turn("</code> @octo | b", tags=["<b>@octo | x"]),
        turn("c"),
        cases=(full(),),
    )
    ran = safe_gate("run", "--baseline", base, "--on-weakened", "fail")
    assert (ran.code, section()) == (0, []), ran.log
    assert "This change weakens" not in ran.out
    assert f'The config, rules and cases are as strict as at "{base[:7]}"' in ran.out
    text = Path("reports/safe-gate.md").read_text("utf-8")
    assert text.index("<b>Rules</b>") < text.index("The config, rules and cases are as strict as at ")


def test_on_weakened_fail_breaks_the_run_and_its_stored_report(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None]
) -> None:
    weaken()
    in_actions(payload=pull_request(base))
    ran = safe_gate("run", "--on-weakened", "fail")
    assert ran.code == 1, ran.log
    outcome = report()["rules"][-1]
    assert (outcome["rule"], outcome["evaluator"], outcome["value"]) == ("on-weakened", "gate", 5)
    assert outcome["message"] == "5 ways in which the gate itself got weaker, 0 allowed"
    assert report()["weakened"]["against"]["name"] == "base"
    assert "comparison" not in report()
    summary = Path("summary").read_text("utf-8")
    assert f"weakens the gate** in 5 ways, compared with <code>{base[:7]}</code> (the base commit, " in summary
    assert report_json(handover.read(Path("reports") / HAND_OVER).report) == report()
    stored = json.loads((Path("reports") / HAND_OVER).read_text("utf-8"))
    stored["report"]["weakened"]["findings"] = []
    (Path("reports") / HAND_OVER).write_text(json.dumps(stored), "utf-8")
    later = safe_gate("publish", "--dry-run")
    assert later.code == 3
    assert "report.verdict" in later.err


def test_a_change_cannot_let_itself_pass(
    safe_gate: SafeGate, base: str, in_actions: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(CONFIG | {"on-weakened": "fail", "protect": ["a"]}, turn("a"), cases=(full(),))
    strict = commit()
    put(CONFIG | {"on-weakened": "warn", "protect": ["a"]}, turn("a"), cases=(full(),))
    assert safe_gate("run", "--baseline", strict).code == 1
    assert section() == [("setting", "on-weakened", "", "looser")]
    commit()
    weaken(baseline="HEAD")  # what outputs are compared with comes with the change
    in_actions(payload=pull_request(base))
    monkeypatch.setenv("INPUT_ON-WEAKENED", "fail")
    assert safe_gate("run", "--allow-missing", "cases").code == 1
    assert section() == WEAKENED


def test_a_team_pack_that_lets_more_pass_is_named(safe_gate: SafeGate, base: str) -> None:
    kind = {**PACK, "pack": "kind", "group": "positive", "rules": [{**PACK["rules"][0], "id": "kind/a"}]}
    Path("kind.json").write_text(json.dumps(kind), "utf-8")
    for group in ("positive", "negative"):
        row = {"id": f"learned-{group}/zorp", "phrase": "zorp", "origin": {"learned": [9, 9]}}
        learned = {**kind, "pack": f"learned-{group}", "group": group, "rules": [row]}
        Path(f"{group}.json").write_text(json.dumps(learned), "utf-8")
    asked = {**kind, "pack": "asked", "check": "message", "group": "asked_text", "field": "user"}
    Path("asked.json").write_text(json.dumps({**asked, "rules": [{**PACK["rules"][0], "id": "asked/a"}]}), "utf-8")
    fiction = {**asked, "pack": "tales", "check": "crisis_support", "group": "fiction"}
    Path("tales.json").write_text(json.dumps({**fiction, "rules": [{**PACK["rules"][0], "id": "tales/a"}]}), "utf-8")
    names = ("ours", "kind", "positive", "negative", "asked", "tales")
    more = {**CONFIG, "rules": [f"{name}.json" for name in names]}
    put(more, turn("a"), turn("</code> @octo | b", tags=["<b>@octo | x"]), cases=(full(),))
    assert safe_gate("run", "--baseline", base).code == 0
    assert section() == [
        ("rule", id_, "", "added") for id_ in ("asked/a", "kind/a", "learned-positive/zorp", "tales/a")
    ]


def test_a_tag_whose_rate_the_base_limits_is_named_where_a_known_case_gets_it(safe_gate: SafeGate, base: str) -> None:
    cases = turn("a"), turn("</code> @octo | b", tags=["<b>@octo | x"])
    rated = {**CONFIG, "tags": {"g": {"min-pass-rate": 0.5}, "h": {"max-unexpected-failures": 0}}}
    put(rated, *cases, cases=(full(),))
    before = commit()
    put(rated, {**cases[0], "tags": ["g", "h"]}, cases[1], turn("new", tags=["g"]), cases=(full(),))
    for against, found in ((before, [("synthesis", "a", "tags", "added")]), (base, [])):
        assert safe_gate("run", "--baseline", against).code == 0
        assert section() == found


@pytest.mark.parametrize("name", ["review", "pass", "min-team", "max-team"])
def test_a_pack_by_the_name_of_a_limit_is_none(name: str) -> None:
    on, off = (Terms({"rules_off": ids}, {}, {}, "") for ids in ([], [name]))
    assert {(one.id, one.what) for one in weakenings(on, off)} == {("rules-off", "added")}


def test_texts_are_withheld_in_what_a_case_asks(safe_gate: SafeGate, base: str) -> None:
    weaken()
    ran = safe_gate("run", "--baseline", base, "--allow-missing", "cases", "--text", "none")
    assert ran.code == 0, ran.log
    assert section() == WEAKENED
    shown = report()["weakened"]["findings"][3]["before"]
    assert len(shown) == 1
    assert "fever" not in json.dumps(report()) + Path("reports/safe-gate.md").read_text("utf-8") + ran.log


def test_compare_shows_a_weakened_gate_and_fails_where_asked(safe_gate: SafeGate, base: str) -> None:
    weaken()
    ran = safe_gate("compare", base, ".", "--allow-missing", "cases", "--out", "out.json")
    assert ran.code == 0, ran.log
    assert ran.out.startswith("This change weakens the gate in 5 ways")
    assert len(json.loads(Path("out.json").read_text("utf-8"))["weakened"]["findings"]) == 5
    assert safe_gate("compare", base, ".", "--allow-missing", "cases", "--on-weakened", "fail").code == 1
    assert safe_gate("run", "--report-dir", "new").code == 0
    of_reports = safe_gate("compare", "new/safe-gate.json", "new/safe-gate.json", "--on-weakened", "fail")
    assert of_reports.code == 0, of_reports.log
    assert "This change weakens" not in of_reports.out


def test_a_stored_report_may_name_anything(safe_gate: SafeGate, base: str) -> None:
    weaken()
    assert safe_gate("run", "--baseline", base, "--allow-missing", "cases").code == 0
    evil = "<img src=x>@octo | `\n::error::x\x1b[2J"
    finding = {"kind": "rule", "id": evil, "field": evil, "what": "changed", "before": [evil], "after": evil}
    made = report()
    stored = read_report(made | {"weakened": made["weakened"] | {"findings": [finding]}})
    for text in markdown.scorecards_by_length(ReportView(stored), limit=markdown.COMMENT_LIMIT):
        assert "<img" not in text
        assert "@octo" not in text
    for text in console.scorecards(ReportView(stored)):
        assert "\x1b" not in text
        assert "\n::error" not in text
