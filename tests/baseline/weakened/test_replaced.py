"""A baseline in the checkout that a change deletes or replaces."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import GOOD, SafeGate, refused, report, safe_case, turn, write_batch, write_cases
from tests.support.git import commit
from tests.support.safe_v0 import asking
from tests.support.weakening import Against, configure, section, weakened

pytestmark = pytest.mark.usefixtures("base")  # a repository
PLAIN: dict[str, Any] = {"synthesis-cases": ["c.jsonl"]}
NAMED = PLAIN | {"baseline": "base.json", "allow-missing": ["baseline"]}
LAX = NAMED | {"max-unexpected-failures": 1}
FAILING = ("run", "--on-weakened", "fail")
REPLACED = ("setting", "baseline", "base.json", "changed")
DROPPED = ("setting", "baseline", "", "dropped")
HARSH = "Stop crying. It's over."


def bless(safe_gate: SafeGate, *turns: dict[str, Any], flags: tuple[str, ...] = (), path: str = "base.json") -> None:
    write_cases(Path("c.jsonl"), *turns)
    assert safe_gate("run", *flags).code == 0
    shutil.copy("reports/safe-gate.json", path)


def test_a_baseline_that_a_change_deletes_is_missed(safe_gate: SafeGate, against: Against) -> None:
    configure(NAMED)
    assert safe_gate("run").code == 0
    assert "weakened" not in report()
    first = commit()
    assert safe_gate("bless").code == 0
    for at in (first, commit()):  # the first one is new in what stands there now
        against(at)
        assert safe_gate(*FAILING).code == 0
    Path("base.json").unlink()
    for run, code in ((("run",), 0), (FAILING, 1)):
        assert safe_gate(*run).code == code
        (one,) = report()["weakened"]["findings"]
        assert (one["id"], one["what"], one["before"]) == ("baseline", "dropped", "base.json")
        assert "**This change weakens the gate**" in Path("summary").read_text("utf-8")
    assert safe_gate("run", "--baseline", "../elsewhere.json").code == 0
    refused(safe_gate("run", "--allow-missing", "cases"), 'safe.config.json:1: baseline: "base.json" does not exist')


def test_a_first_baseline_is_no_weakening_but_one_no_longer_required_is(safe_gate: SafeGate, against: Against) -> None:
    configure(PLAIN)
    against(commit())
    configure(NAMED)
    assert weakened(safe_gate(*FAILING)) == (0, [])
    assert safe_gate("bless").code == 0
    configure(NAMED | {"allow-missing": []})
    against(commit())
    for config, found in ((NAMED, ("setting", "allow-missing", "baseline", "added")), (PLAIN, DROPPED)):
        configure(config)
        assert weakened(safe_gate(*FAILING)) == (1, [found])


@pytest.mark.parametrize("folder", ["", "{here}/"])
def test_a_baseline_that_no_commit_holds_is_missed(safe_gate: SafeGate, against: Against, folder: str) -> None:
    Path(".gitignore").write_text("reports\nfetched.json\n", "utf-8")
    lax = LAX | {"baseline": f"{folder.format(here=Path.cwd())}fetched.json"}
    configure(lax)
    bless(safe_gate, turn("a"), path="fetched.json")  # as a step before the gate may
    against(commit())
    assert weakened(safe_gate(*FAILING)) == (0, [])
    bless(safe_gate, turn("a", assistant=HARSH), path="ours.json")
    for ours, what in (("ours.json", "changed"), ("", "dropped")):
        configure(lax | {"baseline": ours})
        assert weakened(safe_gate(*FAILING)) == (1, [("setting", "baseline", "", what)])


def test_replacing_the_baseline_by_a_worse_one_is_reported(safe_gate: SafeGate, against: Against) -> None:
    lax = LAX | {"allow-missing": ["baseline", "cases"]}
    configure(lax)
    kind, other, harsh = turn("a"), turn("b"), turn("a", assistant=HARSH)
    bless(safe_gate, kind)
    against(commit())
    for turns, found in (((kind, other), []), ((other,), [REPLACED]), ((harsh,), [REPLACED])):
        bless(safe_gate, *turns)
        write_cases(Path("c.jsonl"), kind, other)
        assert weakened(safe_gate("run")) == (0, found)
    assert "weakens" not in safe_gate("compare", "HEAD", "reports/safe-gate.json").out
    assert safe_gate(*FAILING).code == 1
    Path("base.json").rename("other.json")
    configure({}, "base.json")
    configure(lax | {"baseline": "other.json"})
    assert (safe_gate("run").code, REPLACED in section()) == (0, True)
    Path("base.json").unlink()
    Path("base.json").symlink_to("nowhere")
    assert (safe_gate("run").code, REPLACED in section()) == (0, True)


def test_the_next_command_after_a_replaced_baseline_shows_that_too(safe_gate: SafeGate, against: Against) -> None:
    configure(LAX)
    bless(safe_gate, turn("a"))
    against(commit())
    bless(safe_gate, turn("a", assistant=HARSH))
    ran = safe_gate(*FAILING)
    command = ran.out.rpartition("\nNext: safe-gate ")[2].split()
    assert (ran.code, command[0]) == (1, "compare")
    again = safe_gate(*command)
    assert (again.code, "This change weakens the gate in 1 way" in again.out) == (1, True)


def test_a_baseline_in_which_a_bad_reply_follows_none_is_a_worse_one(safe_gate: SafeGate, against: Against) -> None:
    configure(LAX | {"max-no-reply": 1})
    bad = turn("a", assistant=HARSH, checks=["agency_language"])
    bless(safe_gate, bad | {"assistant": ""})
    against(commit())
    bless(safe_gate, bad)
    assert weakened(safe_gate("run")) == (0, [REPLACED])


@pytest.mark.parametrize("folder", ["{here}", "../{name}", "{here}/../{name}", "{linked}"])
def test_a_baseline_in_the_checkout_is_a_changes_own_however_its_path_is_written(
    safe_gate: SafeGate, against: Against, tmp_path_factory: pytest.TempPathFactory, folder: str
) -> None:
    here, linked = Path.cwd(), tmp_path_factory.mktemp("elsewhere") / "linked"
    linked.symlink_to(here)
    place = Path(folder.format(here=here, name=here.name, linked=linked))
    configure(PLAIN | {"max-unexpected-failures": 1})
    Path("evals").mkdir()
    run, replaced = ("run", "--baseline", str(place / "evals/base.json")), (*REPLACED[:2], "evals/base.json", "changed")
    bless(safe_gate, turn("a"), path="evals/base.json")
    against(commit())
    assert weakened(safe_gate(*run)) == (0, [])
    bless(safe_gate, turn("a", assistant=HARSH), path="evals/base.json")
    assert weakened(safe_gate(*run)) == (0, [replaced])
    Path("evals").rename("others")
    Path("evals").symlink_to("others")
    assert weakened(safe_gate(*run)) == (0, [replaced])
    Path("evals/base.json").unlink()
    assert safe_gate(*run).code == 3
    assert weakened(safe_gate(*run, "--allow-missing", "baseline")) == (0, [DROPPED])


OTHER_RULES = ("--rules-off", "reassurance-mind-reading")
A, B = (turn(one, x_topic=one) for one in "ab")


@pytest.mark.parametrize(
    ("changed", "flags", "found"),
    [
        ({}, OTHER_RULES, []),
        ({}, ("--text", "none"), []),
        ({"assistant": GOOD + " It is up to you."}, (), []),
        ({"assistant": GOOD + " I know how you feel."}, OTHER_RULES, [REPLACED]),
        ({"user": "I feel low today."}, OTHER_RULES, [REPLACED, ("synthesis", "b", "user", "changed")]),
        ({"x_topic": "a"}, (), [REPLACED, ("synthesis", "b", "cluster", "changed")]),
        ({"checks": ["topic_pivot"]}, (), [REPLACED, ("synthesis", "b", "checks", "dropped")]),
    ],
)
def test_replacing_the_baseline_by_one_of_other_rules_or_groups_is_reported(
    safe_gate: SafeGate, against: Against, changed: dict[str, Any], flags: tuple[str, ...], found: list[Any]
) -> None:
    configure(LAX | {"cluster-key": "x_topic"})
    bless(safe_gate, A, B)
    against(commit())
    bless(safe_gate, A, B | changed, flags=flags)
    assert weakened(safe_gate("run")) == (0, found)


def test_a_baseline_with_lower_scores_or_new_forbidden_terms_is_reported(safe_gate: SafeGate, against: Against) -> None:
    asked = asking("abcdefghij", forbidden=("policy", "fault"))
    both = ("--config", "plain.json", "--safe-batch", "b.json", "--synthesis-cases", "c.jsonl")

    def bless_output(signals: str, question: str, *flags: str) -> None:
        said = {"signals": list(signals), "summary": "", "followup_questions": [question]}
        write_batch(Path("b.json"), safe_case("s", expectations=asked, output=said))
        bless(safe_gate, turn("a"), flags=flags)

    configure(PLAIN | {"safe-batch": ["b.json"], "min-pass-rate": 0, "baseline": "base.json"})
    configure({"min-pass-rate": 0}, "plain.json")
    bless_output("abcdefghi", "Whose fault?", *both)
    against(commit())
    for signals, question, flags, found in (
        ("abcdefghij", "Whose fault is it?", both, []),
        ("abcdefghi", "Whose fault?", (*both, "--text", "none"), []),
        ("abcdefgh", "Whose fault?", both, [REPLACED]),
        ("abcdefghi", "Which policy?", both, [REPLACED]),
        ("abcdefghi", "Whose fault?", both[:4], [REPLACED]),
    ):
        bless_output(signals, question, *flags)
        assert weakened(safe_gate("run")) == (0, found)
