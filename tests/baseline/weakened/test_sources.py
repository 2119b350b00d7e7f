"""What a change is compared with to see whether it weakens the gate: reports and the base commit."""

import re
from pathlib import Path

import pytest

from tests.support.cases import SafeGate, refused, report, safe_case, turn, write_cases
from tests.support.git import commit, git
from tests.support.github import GitHub, InActions
from tests.support.weakening import CONFIG, PACK, WEAKENED, Against, configure, put, section, weaken, weakened

PLAIN = {"synthesis-cases": ["c.jsonl"]}
CONFIGS = ("safe.config.json", "safe-gate.config.json")
LOOSER = ("setting", "min-pass-rate", "", "looser")
FAILING = ("run", "--on-weakened", "fail")


@pytest.fixture
def repository() -> None:
    git("init", "--quiet")


def test_the_base_commit_shows_what_a_report_as_baseline_does_not(
    safe_gate: SafeGate, base: str, against: Against
) -> None:
    assert safe_gate("run", "--report-dir", "old").code == 0
    weaken()
    run = ("run", "--baseline", "old/safe-gate.json", "--allow-missing", "cases")
    assert (safe_gate(*run).code, report().get("weakened")) == (0, None)
    against(base)
    assert weakened(safe_gate(*run)) == (0, WEAKENED)
    against("1" * 40)  # which nobody has
    assert (safe_gate(*run).code, report()["weakened"]["against"]) == (0, None)
    refused(safe_gate(*run, "--on-weakened", "fail"), "base: ")


def test_a_pack_with_a_problem_at_the_base_commit_is_an_error(safe_gate: SafeGate, base: str, against: Against) -> None:
    put(CONFIG, turn("a"), pack=PACK | {"pack": "theirs"})
    against(commit())
    put(CONFIG, turn("a"))
    assert "ours/over: id: expected an id that begins with its pack's: theirs/..." in refused(safe_gate(*FAILING))


@pytest.mark.parametrize("named", ["HEAD", "base"])
def test_a_change_cannot_choose_its_base(safe_gate: SafeGate, repository: None, against: Against, named: str) -> None:
    inputs = turn("a", tags=["<b>@octo | x"])
    put(CONFIG | {"baseline": "base", "on-weakened": "fail"}, inputs, cases=[safe_case("s")])
    against(commit())
    put(CONFIG | {"baseline": named, "min-pass-rate": 0.1}, inputs, cases=[safe_case("s")])
    commit()
    assert safe_gate("run").code == 1
    assert LOOSER in section()


def test_a_change_cannot_hide_the_base_commit(safe_gate: SafeGate, repository: None, against: Against) -> None:
    latest = Path("latest.jsonl")
    write_cases(Path("c.jsonl"), turn("a"))
    config = PLAIN | {"baseline": "old/safe-gate.json", "allow-missing": ["baseline"]}
    for on_weakened, code in (("fail", 1), ("warn", 0)):
        latest.unlink(missing_ok=True)
        latest.symlink_to("c.jsonl")
        configure(config | {"on-weakened": on_weakened})
        against(commit())
        configure(config | {"synthesis-cases": ["c.jsonl", "latest.jsonl"], "max-unexpected-failures": 9})
        latest.unlink()
        write_cases(latest, turn("b"))
        assert safe_gate("run").code == code
        assert ("setting", "max-unexpected-failures", "", "looser") in section()


@pytest.mark.parametrize("before", CONFIGS)
@pytest.mark.parametrize("after", CONFIGS)
def test_a_config_has_either_name(safe_gate: SafeGate, base: str, against: Against, before: str, after: str) -> None:
    Path(CONFIGS[0]).rename(before)
    against(commit())
    Path(before).unlink()
    configure(CONFIG | {"min-pass-rate": 0.5}, after)
    assert weakened(safe_gate("run", "--baseline", "base")) == (0, [LOOSER])
    assert safe_gate("run", "--policy-ref", "base").code == 0
    assert report()["provenance"]["policy"]["min_pass_rate"] == 0.9


def test_a_gate_that_moves_to_another_folder_is_not_as_strict(
    safe_gate: SafeGate, repository: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = Path("apps/<b>"), Path("services/chat")
    for folder in (old, new):
        folder.mkdir(parents=True)
    configure(PLAIN | {"min-synthesis-pass-rate": 1.0}, str(old / CONFIGS[0]))
    write_cases(old / "c.jsonl", turn("a"))
    base = commit()
    configure(PLAIN, str(new / CONFIGS[1]))
    write_cases(new / "c.jsonl", turn("b"))
    monkeypatch.chdir(new)
    run = ("run", "--baseline", base, "--on-weakened", "fail")
    assert weakened(safe_gate(*run)) == (0, [])  # a second gate
    at = Path("../..", old)
    (at / CONFIGS[0]).rename(at / CONFIGS[1])
    assert weakened(safe_gate(*run)) == (0, [])
    (at / CONFIGS[1]).unlink()
    ran = safe_gate(*run)
    assert weakened(ran) == (1, [("setting", "config", f"../../{old}/{CONFIGS[0]}", "dropped")])
    assert "as strict as" not in ran.out
    assert "<b>&#47;" not in Path("reports/safe-gate.md").read_text("utf-8")


def test_two_config_files_at_the_base_commit_are_an_error(safe_gate: SafeGate, base: str, against: Against) -> None:
    configure(CONFIG, CONFIGS[1])
    against(commit())
    Path(CONFIGS[1]).unlink()
    for flags in (("--baseline", "base"), ("--policy-ref", "base"), ("--on-weakened", "fail")):
        err = refused(safe_gate("run", *flags))
        assert re.search(r"^[0-9a-f]{7}:safe-gate.config.json: exists beside safe.config.json", err, re.MULTILINE)


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize(("on_weakened", "code"), [("fail", 3), ("warn", 0)])
def test_a_base_that_wants_its_terms_known_is_heard_by_either_name_of_its_config(
    safe_gate: SafeGate, repository: None, against: Against, name: str, on_weakened: str, code: int
) -> None:
    config = PLAIN | {"baseline": "old/safe-gate.json", "allow-missing": ["baseline"]}
    configure(config | {"on-weakened": on_weakened}, name)
    write_cases(Path("c.jsonl"), {"id": "no case"})
    against(commit())
    write_cases(Path("c.jsonl"), turn("a"))
    Path(name).unlink()
    configure(config)
    assert safe_gate("run").code == code


def test_a_missing_base_commit_is_reported(safe_gate: SafeGate, base: str, in_actions: InActions) -> None:
    words = "on-weakened: asks for the base commit of a GitHub event, but this is not a GitHub Actions job"
    refused(safe_gate(*FAILING), f"{words}; set warn here, or name a commit as the baseline")
    in_actions(event="schedule", payload={})
    ran = safe_gate(*FAILING)
    assert (ran.code, report()["weakened"]["against"]) == (0, None)
    assert "on-weakened" not in {rule["rule"] for rule in report()["rules"]}
    assert "Unknown whether this change weakens the gate: no base commit could be read." in ran.out


@pytest.mark.parametrize(("policy", "quieter"), [("head", "never"), ("base", "on-failure")])
def test_a_change_cannot_switch_off_the_comment_on_itself(
    safe_gate: SafeGate, base: str, against: Against, github: GitHub, quieter: str, policy: str
) -> None:
    against(base)
    run = ("run", "--policy-ref", policy, "--baseline", "base")
    configure(CONFIG | {"comment": quieter})
    assert weakened(safe_gate(*run)) == (0, [("setting", "comment", "", "looser")])
    assert "This change weakens the gate" in github.comments[0]["body"]
    configure(CONFIG | {"comment": "changes"})
    assert weakened(safe_gate(*run)) == (0, [])
    github.comments.clear()
    assert weakened(safe_gate(*run, "--comment", quieter)) == (0, [])  # the workflow's own, before and after
    assert github.comments == []
