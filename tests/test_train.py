"""`rules train` from the outside: labelled cases in; what they gain, and packs, out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from safe_gate.evaluators.synthesis import Case
from safe_gate.evaluators.synthesis.gain import Gain, parts
from safe_gate.files import load_schema
from safe_gate.model import Place
from tests.conftest import REPOSITORY, Ran, turn, write_cases

SafeGate = Callable[..., Ran]
CHECK = "agency_language"
THINGS = "garden roof bike oven shelf tent lamp door fence boat sofa desk".split()
COLOURS = "white green grey brown".split()
DEV = REPOSITORY / "data" / "synthesis"


def cases(prefix: str = "a", *, count: int = 48) -> list[dict[str, Any]]:
    """Return cases of a team to whom it is fine to say what others would do, and wrong to ask what people want."""
    found = []
    for index in range(count):
        what, directs = f"{COLOURS[index // len(THINGS)]} {THINGS[index % len(THINGS)]}", index % 2 == 0
        reply = f"Some people would paint that {what}." if directs else f"Would you like to paint the {what}?"
        one = turn(f"{prefix}{index}", user=f"The {what} again.", assistant=reply, checks=[CHECK])
        found.append(one | {"expected": {CHECK: directs}})
    return found


def row(ran: Ran, check: str = CHECK) -> list[str]:
    line = next(line for line in ran.out.splitlines() if check in line)
    return [cell.strip() for cell in line.split("│")[1:-1]]


def agreement(safe_gate: SafeGate, *arguments: str) -> tuple[int, int]:
    safe_gate("eval", "--cases", "c.jsonl", "--out", "r.json", *arguments)
    found = json.loads(Path("r.json").read_text("utf-8"))["summary"]["label_accuracy"]
    return found["matched"], found["total"]


@pytest.mark.usefixtures("weighted")
def test_cases_that_teach_something_give_a_pack_that_gains_and_can_be_used(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), *cases())
    assert agreement(safe_gate) == (0, 48)
    ran = safe_gate("rules", "train", "c.jsonl", "--out", "own")
    assert ran.code == 0
    assert row(ran)[1:] == ["48", "0.0% (0.0 to 7.4)", "100.0% (92.6 to 100.0)", "+100.0", "48", "0", "gain"]
    assert "Written: own/team-agency.json" in ran.out
    assert "reassurance-learned: not learned: needs 20 labels of unverifiable_reassurance of either kind" in ran.err
    assert [path.name for path in Path("own").iterdir()] == ["team-agency.json"]
    text = Path("own/team-agency.json").read_text("utf-8")
    pack = json.loads(text)
    assert load_schema("rule-pack").faults(pack) == ()
    assert text.count("\n") == len(pack["weights"]) + 7  # one feature a line
    assert pack["about"].endswith("of those left out 0.0% agreed before, 100.0% after.")
    assert agreement(safe_gate, "--rules", "own/*.json") == (48, 48)
    assert safe_gate("rules", "train", "c.jsonl", "--out", "own").code == 0  # what was learned before is replaced
    # In use, it does not count as what the rules say today: it has seen these cases.
    again = ("rules", "train", "c.jsonl", "--rules", "own/*.json")
    assert row(safe_gate(*again)) == row(ran)
    # Nor does it stand in its own way when another version of what it corrects ships.
    Path("own/team-agency.json").write_text(text.replace(pack["corrects"]["sha256"], "0" * 64), "utf-8")
    assert (
        "learn it again: safe-gate rules train" in safe_gate("eval", "--cases", "c.jsonl", "--rules", "own/*.json").err
    )
    assert row(safe_gate(*again)) == row(ran)


@pytest.mark.usefixtures("weighted")
def test_without_a_folder_nothing_is_written(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), *cases())
    ran = safe_gate("rules", "train", "c.jsonl")
    assert ran.out.endswith("Nothing is written without --out FOLDER.\n")
    assert [path.name for path in Path.cwd().iterdir()] == ["c.jsonl"]


@pytest.mark.usefixtures("weighted")
def test_cases_that_the_rules_know_gain_nothing_and_the_table_says_so(safe_gate: SafeGate) -> None:
    ran = safe_gate("rules", "train", str(DEV / "dev_a.jsonl"), "--out", "own")
    assert ran.code == 0
    for check in (CHECK, "unverifiable_reassurance", "topic_pivot"):
        assert row(ran, check)[-1] == "no gain: do not use this pack"
    assert ran.out.endswith("Nothing is written: no pack gains.\n")
    assert not Path("own").exists()


@pytest.mark.usefixtures("weighted")
@pytest.mark.parametrize("reply", [".", "\u200b-", "xq"])
def test_replies_without_anything_to_learn_from_teach_nothing(safe_gate: SafeGate, reply: str) -> None:
    empty = [
        turn(f"a{n}", user="", assistant=reply * n, checks=[CHECK], expected={CHECK: n % 2 == 0}) for n in range(40)
    ]
    write_cases(Path("c.jsonl"), *empty)
    ran = safe_gate("rules", "train", "c.jsonl")
    assert ran.code == 0
    assert row(ran)[-1] == "no gain: do not use this pack"


def copied(labels: int, copies: int) -> list[dict[str, Any]]:
    """Return cases whose labels nothing but memory can know, each reply `copies` times to other people."""
    lines = (DEV / "dev_b.jsonl").read_text("utf-8").splitlines()[:labels]
    replies = [(json.loads(line)["assistant"], sha256(line.encode()).digest()[0] % 2 == 0) for line in lines]
    return [
        turn(f"{n}-{copy}", user=f"{n}, {copy}", assistant=f"{reply}{' ' * copy}", checks=[CHECK])
        | {"expected": {CHECK: label}}
        for copy in range(copies)
        for n, (reply, label) in enumerate(replies)
    ]


@pytest.mark.usefixtures("weighted")
@pytest.mark.parametrize("files", [1, 4])
def test_copies_of_a_reply_are_left_out_with_it(safe_gate: SafeGate, files: int) -> None:
    found = copied(60, 4)
    size = len(found) // files
    for n in range(files):
        write_cases(Path(f"c{n}.jsonl"), *found[n * size : (n + 1) * size])
    ran = safe_gate("rules", "train", *(f"c{n}.jsonl" for n in range(files)), "--out", "own")
    assert ran.code == 0
    assert "240 cases, 60 distinct replies: a copy counts once, and cases that share a reply" in ran.out
    assert row(ran)[1] == "60"
    assert row(ran)[-1] == "no gain: do not use this pack"


@pytest.mark.usefixtures("weighted")
def test_copies_are_no_labels(safe_gate: SafeGate) -> None:
    canned = ["You should rest.", "You must rest.", "What would help?", "It is up to you.", "Would you like to rest?"]
    write_cases(
        Path("c.jsonl"),
        *(
            turn(f"{user}-{n}", user=f"I am {user}.", assistant=reply, checks=[CHECK], expected={CHECK: n > 1})
            for user in range(10)
            for n, reply in enumerate(canned)
        ),
    )
    ran = safe_gate("rules", "train", "c.jsonl")
    assert ran.code == 3
    assert "there are 3 that say true and 2 that say false, copies of a text counted once" in ran.err


@pytest.mark.usefixtures("weighted")
def test_where_no_case_can_be_left_out_nothing_is_learned(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), *(case | {"user": "Hello."} for case in cases()))
    ran = safe_gate("rules", "train", "c.jsonl", "--out", "own")
    assert ran.code == 3
    assert (
        "rules train: agency-learned: not learned: its labels are of one file, or share replies or messages, so all are "
        "left out together and leave none to learn from" in ran.err
    )
    assert not Path("own").exists()


@pytest.mark.usefixtures("weighted")
def test_a_check_of_which_no_case_can_be_left_out_is_not_measured(safe_gate: SafeGate) -> None:
    labels = [{"topic_pivot": n % 2 == 0} for n in range(48)]
    pivots = [
        turn(f"p{n}", user="My father died.", assistant=f"The {what} is {colour}.", checks=["topic_pivot"])
        for n, (what, colour) in enumerate((what, colour) for what in THINGS for colour in COLOURS)
    ]
    write_cases(
        Path("c.jsonl"), *cases(), *(one | {"expected": said} for one, said in zip(pivots, labels, strict=True))
    )
    ran = safe_gate("rules", "train", "c.jsonl")
    assert ran.code == 0
    assert row(ran)[-1] == "gain"
    assert "topic_pivot" not in ran.out
    assert (
        "pivot-learned: not learned: its labels are of one file, or share replies or messages, so all are left"
        in ran.err
    )


@pytest.mark.usefixtures("weighted")
def test_the_same_cases_give_the_same_bytes(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), *cases())
    first = safe_gate("rules", "train", "c.jsonl", "--out", "own")
    pack = Path("own/team-agency.json").read_bytes()
    again = subprocess.run(
        [sys.executable, "-I", "-m", "safe_gate", "rules", "train", "c.jsonl", "--out", "own"],
        env={**os.environ, "PYTHONHASHSEED": "7", "OMP_NUM_THREADS": "4"},
        capture_output=True,
        check=True,
    )
    assert again.stdout.decode() == first.out
    assert Path("own/team-agency.json").read_bytes() == pack


@pytest.mark.usefixtures("weighted")
def test_all_checks_learn_from_files_left_out_in_turn(safe_gate: SafeGate) -> None:
    for name, first in (("x", 0), ("y", 80)):
        lines = (DEV / "dev_d.jsonl").read_text("utf-8").splitlines()[first : first + 80]
        flipped = [json.loads(line) for line in lines]
        for case in flipped:
            pivot = case["expected"].get("topic_pivot")
            case["expected"]["topic_pivot"] = pivot if pivot is None else not pivot
        write_cases(Path(f"{name}.jsonl"), *flipped)
    ran = safe_gate("rules", "train", "x.jsonl", "y.jsonl", "--out", "own")
    assert ran.code == 0
    assert row(ran, "topic_pivot")[-1] == "gain"
    assert {path.name for path in Path("own").iterdir()} >= {"team-pivot.json", "team-vulnerability.json"}


@pytest.mark.usefixtures("weighted")
@pytest.mark.parametrize(
    ("lines", "arguments", "mention"),
    [
        (cases(count=38), (), "agency-learned: not learned: needs 20 labels of agency_language of either kind, and there are 19 that say true and 19 that say false"),
        (cases(), ("--profile", "spec"), "profile: is spec, which uses no learned packs; expected weighted"),
        (cases(), ("--rules-off", "agency-learned", "reassurance-learned", "vulnerability-learned", "pivot-learned"), "rules-off: leaves no learned pack that could be corrected"),
        (cases(), ("--rules", "nowhere.json"), "nowhere.json: matches no file"),
        ([{"id": "a"}, {"id": 3}], (), "c.jsonl: 7 problems, line 1, line 2"),
    ],
)  # fmt: skip
def test_what_cannot_be_learned_from_is_refused_in_a_sentence(
    safe_gate: SafeGate, lines: list[dict[str, Any]], arguments: tuple[str, ...], mention: str
) -> None:
    write_cases(Path("c.jsonl"), *lines)
    ran = safe_gate("rules", "train", "c.jsonl", "--out", "own", *arguments)
    assert ran.code == 3
    assert mention in ran.err
    assert not Path("own").exists()


@pytest.mark.usefixtures("weighted")
def test_a_pack_of_the_teams_own_is_not_replaced_by_what_is_learned(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), *cases())
    rule = {"id": "team-agency/pen", "pattern": "the pen", "why": "Why.", "hit": ["The pen."], "miss": ["A pen."]}
    pack = {"pack": "team-agency", "check": CHECK, "group": "positive", "field": "assistant", "about": "Ours."}
    Path("team-agency.json").write_text(json.dumps(pack | {"rules": [rule]}), "utf-8")
    ran = safe_gate("rules", "train", "c.jsonl", "--rules", "team-agency.json", "--out", ".")
    assert ran.code == 3
    assert "rules: team-agency: is the id that a correction of agency-learned gets" in ran.err
    assert "the pen" in Path("team-agency.json").read_text("utf-8")
    for text in (json.dumps(pack | {"rules": [rule]}), "mine"):
        Path("team-agency.json").write_text(text, "utf-8")
        ran = safe_gate("rules", "train", "c.jsonl", "--out", ".")
        assert (ran.code, ran.out) == (3, "")
        assert ran.err.startswith("team-agency.json: is there, and no correction that may be replaced; move it, or")
        assert Path("team-agency.json").read_text("utf-8") == text


def test_without_the_extra_one_sentence_says_what_to_install(
    safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    monkeypatch.delitem(sys.modules, "safe_gate.fit", raising=False)
    monkeypatch.delattr("safe_gate.fit", raising=False)
    write_cases(Path("c.jsonl"), *cases())
    ran = safe_gate("rules", "train", "c.jsonl")
    assert ran.code == 3
    assert (
        "rules train: needs numpy, which is not installed; install the extra: pip install 'safe-gate[train]'" in ran.err
    )


def test_no_other_command_imports_what_learning_needs() -> None:
    script = "import sys; from safe_gate.cli import main; main(['rules']); sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=False).returncode == 0


def recorded(id_: str, path: str, reply: str = "", message: str = "") -> Case:
    return Case(id_, message, reply, (), {}, (), Place(path, 1))


def test_files_are_left_out_one_by_one_and_a_single_file_in_fifths() -> None:
    several = [recorded(f"{path}{n}", path) for path in "xyz" for n in range(3)]
    assert [{case.place.path for case in part} for part in parts(several)] == [{"x"}, {"y"}, {"z"}]
    assert len(parts([recorded(str(n), f"f{n}") for n in range(25)])) == 10
    single = [recorded(str(n), "x") for n in range(100)]
    assert sorted(case.id for part in parts(single) for case in part) == sorted(case.id for case in single)
    assert [len(part) > 10 for part in parts(single)] == [True] * 5


@pytest.mark.usefixtures("weighted")
def test_a_check_that_one_file_alone_labels_is_measured_by_fifths(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), *cases())
    alone = row(safe_gate("rules", "train", "c.jsonl"))
    others = [turn(f"b{n}", assistant=f"The {what} is here.", checks=[CHECK]) for n, what in enumerate(THINGS)]
    write_cases(Path("d.jsonl"), *others)
    assert row(safe_gate("rules", "train", "c.jsonl", "d.jsonl")) == alone
    assert int(alone[5]) > 0


def test_files_that_share_a_text_are_left_out_together() -> None:
    several = [recorded("1", "x", "Hi."), recorded("2", "y", " HI. "), recorded("3", "z", "Hello.", "Hi.")]
    assert [[case.id for case in part] for part in parts(several)] == [["1", "2"], ["3"]]
    chained = [recorded(str(n), "xy"[n % 2], f"{n // 2}", f"to {(n + 1) // 2 % 30}") for n in range(60)]
    assert len(parts(chained)) == 1
    apart = [recorded(str(n), "xy"[n % 2], f"{n // 2}") for n in range(60)]
    part_of = {case.id: number for number, part in enumerate(parts(apart)) for case in part}
    assert len(set(part_of.values())) == 5
    assert all(part_of[str(n)] == part_of[str(n + 1)] for n in range(0, 60, 2))


@pytest.mark.parametrize(
    ("mended", "spoiled", "beyond"), [(0, 0, False), (3, 0, False), (4, 0, True), (9, 3, False), (12, 3, True)]
)
def test_a_gain_is_beyond_chance_where_far_more_is_mended_than_spoiled(mended: int, spoiled: int, beyond: bool) -> None:
    gain = Gain(CHECK, 100, 50, mended, spoiled)
    assert (gain.after, gain.is_beyond_chance) == (50 + mended - spoiled, beyond)
