"""How a run shows that a change weakens the gate, and when it fails for it."""

import json
from pathlib import Path
from typing import Any

import pytest

from safe_gate.gate.stored import read_report
from safe_gate.github import HAND_OVER
from safe_gate.render import console, markdown
from safe_gate.render.view import ReportView
from tests.support.cases import Patch, SafeGate, read_json, refused, report, safe_case, turn, write_json
from tests.support.git import commit
from tests.support.weakening import CONFIG, PACK, TAGGED, WEAKENED, Against, configure, put, section, weaken, weakened

LOST = ("--allow-missing", "cases")
MARKDOWN = Path("reports/safe-gate.md")


def test_a_weakened_gate_is_shown_high_up_and_breaks_nothing_by_default(safe_gate: SafeGate, base: str) -> None:
    weaken()
    ran = safe_gate("run", "--baseline", base, *LOST)
    assert weakened(ran) == (0, WEAKENED)
    against = {"against": report()["comparison"]["baseline"], "on_weakened": "warn"}
    assert report()["weakened"].items() > against.items()
    head, *rows = ran.out.split("\n")[:12]
    assert head.startswith(f'This change weakens the gate in 5 ways, compared with "{base[:7]}"')
    assert "".join(rows[3].split()) == "│setting│min-pass-rate││looser│0.9│0.5│"
    assert "".join(rows[6].split()) == "│SAFEv0case│s│CR│dropped│fever││"
    text = MARKDOWN.read_text("utf-8")
    assert text.index("**This change weakens the gate** in 5 ways") < text.index("**SAFE v0** ·")
    for row in (
        "| rule | <code>ours&#47;over</code> |  | changed |  |  |",
        "| setting | <code>protect</code> | <code>&#60;b&#62;<wbr>&#64;octo &#124; x</code> | dropped |  |  |",
        "| Synthesis case | <code>&#60;&#47;code&#62; <wbr>&#64;octo &#124; b</code> |  | dropped |  |  |",
    ):
        assert row in text
    assert "@octo" not in text


def test_at_most_ten_ways_are_shown_and_the_others_folded(safe_gate: SafeGate, base: str) -> None:
    put(CONFIG | {"protect": []}, *(turn(f"t{i}") for i in range(13)), cases=[safe_case("s")])
    many = commit()
    put(CONFIG | {"protect": []}, turn("t0"), cases=[safe_case("s")])
    ran = safe_gate("run", "--baseline", many, *LOST)
    assert len(section()) == 12
    text, view = MARKDOWN.read_text("utf-8"), ReportView(read_report(report()))
    shown, folded = text.split("<details><summary>… and 2 more</summary>")
    without = next(markdown.scorecards_by_length(view, limit=len(text.encode()) - 1))
    (*_, counts) = markdown.scorecards_by_length(view, limit=10)
    parts = (shown, folded.split("</details>")[0], without, counts)
    assert [one.count("| Synthesis case |") for one in parts] == [10, 2, 10, 0]
    assert "… and 2 more: see the JSON report." in without
    assert "... and 2 more: see the JSON report" in ran.out
    assert "**This change weakens the gate** in 12 ways" in counts


def test_cases_that_the_base_does_not_have_are_not_called_as_strict(safe_gate: SafeGate, base: str) -> None:
    put({}, turn("a"))
    base = commit()
    Path("c.jsonl").rename("moved.jsonl")
    ran = safe_gate("run", "--baseline", base, "--synthesis-cases", "moved.jsonl")
    words = f'No setting or rule is weaker than at "{base[:7]}" ("{base}", '
    assert ran.out.partition(words)[2].partition("\n")[0].endswith("), which has no Synthesis case.")
    assert report()["weakened"]["without_baseline"] == ["synthesis"]
    assert safe_gate("verify", "reports/safe-gate.json").code == 0


def test_a_gate_that_asks_for_no_less_says_so_in_one_line(safe_gate: SafeGate, base: str) -> None:
    new = {"vip": {"min-pass-rate": 1, "optional": True}}
    put(CONFIG | {"min-pass-rate": 1.0, "tags": new, "archetypes": new}, turn("a"), TAGGED, turn("c"))
    ran = safe_gate("run", "--baseline", base, "--on-weakened", "fail")
    assert weakened(ran) == (0, [])
    assert "This change weakens" not in ran.out
    assert f'The config, rules and cases are as strict as at "{base[:7]}"' in ran.out
    text = MARKDOWN.read_text("utf-8")
    assert text.index("<b>Rules</b>") < text.index("The config, rules and cases are as strict as at ")


def test_on_weakened_fail_breaks_a_run_and_its_stored_report(safe_gate: SafeGate, base: str, against: Against) -> None:
    weaken()
    against(base)
    ran = safe_gate("run", "--on-weakened", "fail")
    assert ran.code == 1, ran.log
    outcome, names = report()["rules"][-1], ["min-pass-rate", "protect", "ours/over", "s", "</code> @octo | b"]
    assert (outcome["rule"], outcome["value"], outcome["names"]) == ("on-weakened", 5, names)
    assert outcome["message"] == "5 ways in which the gate itself got weaker, 0 allowed"
    assert (report()["weakened"]["against"]["name"], "comparison" in report()) == ("base", False)
    summary = Path("summary").read_text("utf-8")
    assert f"weakens the gate** in 5 ways, compared with <code>{base[:7]}</code> (the base commit, " in summary
    stored = read_json(Path("reports") / HAND_OVER)
    stored["report"]["weakened"]["findings"] = []
    write_json(Path("reports") / HAND_OVER, stored)
    refused(safe_gate("publish", "--dry-run"), "report.verdict")


def test_a_change_cannot_excuse_itself(safe_gate: SafeGate, base: str, against: Against, monkeypatch: Patch) -> None:
    put(CONFIG | {"on-weakened": "fail", "protect": ["a"]}, turn("a"))
    strict = commit()
    configure(CONFIG | {"on-weakened": "warn", "protect": ["a"]})
    looser = [("setting", "on-weakened", "", "looser")]
    assert weakened(safe_gate("run", "--baseline", strict)) == (1, looser)
    weaken(baseline="HEAD")  # what outputs are compared with comes with the change
    against(base)
    monkeypatch.setenv("INPUT_ON-WEAKENED", "fail")
    assert weakened(safe_gate("run", *LOST)) == (1, WEAKENED)


def test_a_team_pack_that_lets_more_pass_is_named(safe_gate: SafeGate, base: str) -> None:
    phrase = {"id": "learned/zorp", "phrase": "zorp", "origin": {"learned": [9, 9]}}
    message = {"check": "message", "group": "asked_text", "field": "user"}
    packs: dict[str, dict[str, Any]] = {
        "kind": {"group": "positive"},
        "learned-positive": {"group": "positive", "rules": [phrase]},
        "learned-negative": {"group": "negative", "rules": [phrase]},
        "asked": message,
        "tales": message | {"check": "crisis_support", "group": "fiction"},
    }
    for name, fields in packs.items():
        pack = PACK | {"pack": name} | fields
        rule = pack["rules"][0]
        configure(pack | {"rules": [rule | {"id": f"{name}/{rule['id'].partition('/')[2]}"}]}, f"{name}.json")
    put(CONFIG | {"rules": [*CONFIG["rules"], *(f"{name}.json" for name in packs)]}, turn("a"), TAGGED)
    added = ("asked/stop", "kind/stop", "learned-positive/zorp", "tales/stop")
    assert weakened(safe_gate("run", "--baseline", base)) == (0, [("rule", one, "", "added") for one in added])


@pytest.mark.parametrize(
    ("group", "user", "phrase", "reply"),
    [
        ("negative", "Hm.", "zap it", "Zap it now, zap it hard. It is your call. It's up to you."),
        (
            "pivot",
            "I lost my job, and I fear for rent and food.",
            "hop to",
            "My job, rent, food. Hop to it, hop to Rome.",
        ),
    ],
)
def test_a_rule_against_a_reply_that_may_take_the_place_of_two_others_is_named(
    safe_gate: SafeGate, base: str, group: str, user: str, phrase: str, reply: str
) -> None:
    check = {"negative": "agency_language", "pivot": "topic_pivot"}[group]

    def add(name: str, words: str, hit: str = reply) -> str:
        rule = {"id": f"{name}/one", "phrase": words, "why": "x", "hit": [hit], "miss": ["Zip."]}
        configure(PACK | {"pack": name, "check": check, "group": group, "rules": [rule]}, f"{name}-rules.json")
        return commit()

    put({"synthesis-cases": ["c.jsonl"]}, turn("a", user=user, assistant=reply, checks=[check]))
    bare = commit()
    configure({"synthesis-cases": ["c.jsonl"], "rules": ["*-rules.json"]})
    short, gate = add("short", phrase), ("run", "--on-weakened", "fail", "--baseline")
    assert weakened(safe_gate(*gate, bare)) == (1, [])
    add("plain", f"obey _0-3 {phrase}", f"Obey and {phrase}.")  # within a clause, which counts once
    assert weakened(safe_gate(*gate, short)) == (1, [])
    add("long", f"{phrase} _0-3 , {phrase}")
    assert safe_gate("eval", "--cases", "c.jsonl", "--rules", "*-rules.json").code == 0
    assert weakened(safe_gate(*gate, short)) == (1, [("rule", "long/one", "", "added")])


def test_texts_are_withheld_in_what_a_case_asks(safe_gate: SafeGate, base: str) -> None:
    weaken()
    ran = safe_gate("run", "--baseline", base, *LOST, "--text", "none")
    assert weakened(ran) == (0, WEAKENED)
    assert len(report()["weakened"]["findings"][3]["before"]) == 1
    assert "fever" not in json.dumps(report()) + MARKDOWN.read_text("utf-8") + ran.log


def test_compare_shows_a_weakened_gate_and_fails_where_asked(safe_gate: SafeGate, base: str) -> None:
    weaken()
    ran = safe_gate("compare", base, ".", *LOST, "--json")
    assert (ran.code, ran.err.startswith("This change weakens the gate in 5 ways")) == (0, True), ran.log
    assert len(json.loads(ran.out)["weakened"]["findings"]) == 5
    assert safe_gate("compare", base, ".", *LOST, "--on-weakened", "fail").code == 1
    assert safe_gate("run").code == 0
    of_report = ("compare", "reports/safe-gate.json", ".")
    assert json.loads(safe_gate(*of_report, "--json").out)["weakened"]["against"] is None
    refused(safe_gate(*of_report, "--on-weakened", "fail"), "on-weakened: needs a commit on both sides")
    configure(CONFIG | {"on-weakened": "fail", "protect": []})
    refused(safe_gate("compare", "reports/safe-gate.json", "."), "on-weakened: needs a commit on both sides")
    assert safe_gate("compare", "reports/safe-gate.json", "reports/safe-gate.json").code == 0


def test_a_base_is_shown_as_the_run_is_and_compared_by_its_own_text(safe_gate: SafeGate, base: str) -> None:
    gate = ("run", "--baseline", base, "--on-weakened", "fail")
    assert weakened(safe_gate(*gate, "--text", "none")) == (0, [])
    put(CONFIG | {"text": "none"}, turn("a"), TAGGED)
    assert weakened(safe_gate(*gate)) == (1, [("setting", "text", "", "looser")])
    assert weakened(safe_gate(*gate, "--text", "full")) == (0, [])
    assert safe_gate("compare", base, ".", "--on-weakened", "fail").code == 1
    assert weakened(safe_gate("run", "--baseline", commit(), "--on-weakened", "fail")) == (0, [])


def test_a_stored_report_may_name_anything(safe_gate: SafeGate, base: str) -> None:
    assert safe_gate("run", "--baseline", base).code == 0
    evil = "<img src=x>@octo | `\n::error::x\x1b[2J"
    finding = {"kind": "rule", "id": evil, "field": evil, "what": "changed", "before": [evil], "after": evil}
    made = report()
    view = ReportView(read_report(made | {"weakened": made["weakened"] | {"findings": [finding]}}))
    for text in markdown.scorecards_by_length(view, limit=markdown.COMMENT_LIMIT):
        assert not [one for one in ("<img", "@octo") if one in text]
    for text in console.scorecards(view):
        assert not [one for one in ("\x1b", "\n::error") if one in text]
