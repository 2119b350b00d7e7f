"""Inputs below another folder than the working one: as in it, to the byte, but for what would lead out."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from safe_gate.core.model import CannotJudge, Problem
from safe_gate.inputs import config_file, documents, own_rules
from safe_gate.inputs.disk import HERE
from safe_gate.inputs.finding import expansion
from safe_gate.scoring import asked, measure
from safe_gate.scoring.measure import Measured
from safe_gate.settings.model import Settings
from tests.support import packs
from tests.support.cases import REPOSITORY, SAFE, SYNTHESIS, safe_case, turn, write_batch, write_cases

NOW = "2026-01-01T00:00:00Z"
OPTIONS = Settings().replace(
    safe_batch=("*_batch_*", "../shared/extra"),
    safe_test_dir="clinical",
    synthesis_cases=("empathy.jsonl", "./more/**/*.jsonl", "../shared/[cd]*.jsonl"),
    rules=("rules/*.json",),
    config="my.json",
)
PACK: dict[str, Any] = {
    "pack": "team",
    "check": "agency_language",
    "field": "assistant",
    "group": "positive",
    "about": "The team's own.",
    "rules": [
        {
            "id": "team/yours",
            "pattern": "yours to make",
            "why": "A choice.",
            "hit": ["It's yours to make."],
            "miss": ["It's yours."],
        }
    ],
}


def write_inputs(top: Path) -> Path:
    """Write a repository's inputs below a folder; return the folder that would be the working one."""
    work = top / "evals"
    shutil.copytree(REPOSITORY / "examples", work)
    for folder in (work / "more" / "deep", work / "rules", top / "shared"):
        folder.mkdir(parents=True)
    (top / ".git").mkdir()
    write_cases(work / "more" / "a.jsonl", turn("more a"))
    write_cases(work / "more" / "deep" / "b.jsonl", turn("more b", assistant="It's yours to make."))
    write_cases(top / "shared" / "c.jsonl", turn("shared c"))
    (work / "shared").mkdir()
    write_batch(work / "shared" / "extra.json", safe_case("shared extra"))
    (work / "rules" / "team.json").write_text(json.dumps(PACK), "utf-8")
    (work / "my.json").write_text('{"min-pass-rate": 0.5}', "utf-8")
    return work


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return write_inputs(tmp_path / "copy")


def measured(root: Path = HERE, options: Settings = OPTIONS) -> tuple[Measured, Measured]:
    return measure.part(SAFE, options, NOW, root=root), measure.part(SYNTHESIS, options, NOW, root=root)


def problems(root: Path, options: Settings) -> list[Problem]:
    return [problem for one in measured(root, options) for problem in one.problems]


def test_what_lies_below_a_root_is_measured_as_in_the_working_folder(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = measured(work)
    monkeypatch.chdir(work)
    assert elsewhere == measured()
    safe, synthesis = elsewhere
    assert safe.part
    assert synthesis.part
    assert [file.path for file in synthesis.inputs] == [
        "../shared/c.jsonl", "empathy.jsonl", "more/a.jsonl", "more/deep/b.jsonl"
    ]  # fmt: skip
    assert {file.path for file in safe.inputs} >= {"clinical/../shared/extra.json"}


def test_a_relative_root_is_one_too(work: Path, tmp_path: Path) -> None:
    assert measured(work.relative_to(tmp_path)) == measured(work)


@pytest.mark.parametrize("name", ["*?[x]", "a b", "ü\n"])
def test_a_root_is_no_pattern_whatever_its_name(tmp_path: Path, name: str) -> None:
    work = write_inputs(tmp_path / name)
    assert not problems(work, OPTIONS)


def test_problems_stand_where_they_would_in_the_working_folder(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_cases(work / "bad.jsonl", turn("a", checks=[]), turn("a"), turn("a"))
    (work / "clinical" / "bad.json").write_text("{", "utf-8")
    (work / "clinical" / "latin.json").write_bytes(b'{"\xe4": 1}')
    (work / "clinical" / "x.outputs.jsonl").write_text("{}\n", "utf-8")
    (work / "config.json").write_text('{"min-pass-rat": 1}', "utf-8")
    options = Settings().replace(
        safe_batch=("bad", "latin", "nowhere", "x.outputs.jsonl", "*.jsonl"),
        safe_outputs=("missing.jsonl",),
        safe_test_dir="clinical",
        synthesis_cases=("bad.jsonl", "empathi.jsonl", "clinical", "../shared/d*"),
        rules=("rules/taem.json",),
    )
    below = problems(work, options)
    with pytest.raises(CannotJudge) as config:
        config_file.read_config("config.json", root=work)
    monkeypatch.chdir(work)
    assert below == problems(HERE, options)
    assert any("did you mean" in problem.message for problem in below)
    with pytest.raises(CannotJudge) as here:
        config_file.read_config("config.json")
    assert config.value.problems == here.value.problems


OUT = ["{abs}/empathy.jsonl", "../../x.jsonl", "../*/../../x.jsonl", "more/../../../y.jsonl", "more/**/../../a.jsonl"]


@pytest.mark.parametrize("pattern", OUT)
def test_what_leads_out_of_the_repository_cannot_be_read_at_a_commit(work: Path, pattern: str) -> None:
    pattern = pattern.format(abs=work)
    write_cases(work.parent.parent / "x.jsonl", turn("out"))
    expected = "cannot be read at a commit: it leads out of the repository; write it relative to the working folder"
    for options in (
        Settings().replace(synthesis_cases=(pattern,)),
        Settings().replace(synthesis_cases=("empathy.jsonl",), rules=(pattern,)),
    ):
        assert [p.message for p in measure.part(SYNTHESIS, options, NOW, root=work).problems] == [expected]
    for options in (
        Settings().replace(safe_batch=(pattern,)),
        Settings().replace(safe_batch=("clinical/*_batch_*",), safe_outputs=(pattern,)),
        Settings().replace(safe_batch=("x",), safe_test_dir=pattern.replace(".jsonl", "")),
    ):
        assert expected in [p.message for p in measure.part(SAFE, options, NOW, root=work).problems]
    with pytest.raises(CannotJudge):
        config_file.read_config(pattern, root=work)
    assert not list(documents.outputs_alone(SAFE, ())), "nothing asked for is nothing wrong"


def test_a_root_that_no_git_marks_is_the_top_itself(tmp_path: Path) -> None:
    (tmp_path / "top").mkdir()
    write_cases(tmp_path / "x.jsonl", turn("out"))
    (problem,) = expansion.expand(["../x.jsonl"], root=tmp_path / "top")[1]
    assert problem.message.startswith("cannot be read at a commit")


def test_the_config_and_its_absence(work: Path, tmp_path: Path) -> None:
    found = config_file.read_config("my.json", root=work)
    assert found is not None
    assert found[:2] == ("my.json", {"min-pass-rate": 0.5})
    assert config_file.read_config("", root=work) is None
    (tmp_path / "safe.config.json").write_text("{}", "utf-8")
    assert config_file.read_config("", root=work) is None, "that of the working folder is another"


def test_rules_and_policy_may_come_from_elsewhere(work: Path) -> None:
    shutil.copytree(work, HERE, dirs_exist_ok=True)
    shutil.rmtree(work / "rules")
    settings = asked.settings(OPTIONS)
    own = own_rules.recipe(SYNTHESIS, settings, own_rules.read(settings))
    with pytest.raises(CannotJudge):
        own_rules.recipe(SYNTHESIS, settings, own_rules.read(settings, root=work))
    assert not measure.part(SYNTHESIS, OPTIONS, NOW, root=work, recipe=own).problems
    strict = Settings().replace(cr_pass=1.0, ac_pass=1.0)
    lenient = Settings().replace(cr_pass=0.0, cr_review=0.0, ac_pass=0.0, ac_review=0.0, ah_pass=0.0, ah_review=0.0)
    rates = [
        part["pass_rates"]
        for policy in (strict, lenient)
        if (
            part := measure.part(
                SAFE, OPTIONS, NOW, root=work, recipe=own_rules.recipe(SAFE, asked.settings(policy), own_rules.NO_FILES)
            ).part
        )
    ]
    assert rates[0] != rates[1]


def test_the_digest_is_of_the_packs_below_the_root(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    below = packs.digest(OPTIONS.synthesis.rules, root=work)
    assert below != packs.digest()
    monkeypatch.chdir(work)
    assert packs.digest(OPTIONS.synthesis.rules) == below
