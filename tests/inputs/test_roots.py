"""Inputs in a commit: as in the working folder, to the byte, but for what would lead out."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from safe_gate.inputs import checked
from safe_gate.inputs.commit_files import CommitPath, FilePath
from safe_gate.inputs.disk import HERE
from safe_gate.model.problems import CannotJudge, Problem
from safe_gate.scoring import measure, sides
from safe_gate.scoring.measure import Measurement
from safe_gate.settings import Settings
from tests.support.baselines import commit_of
from tests.support.cases import REPOSITORY, SAFE, SYNTHESIS, Patch, safe_case, turn, write_batch, write_cases
from tests.support.pack_files import TEAM

NOW = "2026-01-01T00:00:00Z"
OPTIONS = Settings().replace(
    safe_batch=("*_batch_*", "../shared/extra"),
    safe_test_dir="clinical",
    synthesis_cases=("empathy.jsonl", "./more/**/*.jsonl", "../shared/[cd]*.jsonl"),
    rules=("rules/*.json",),
    config="my.json",
)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Write a repository's inputs below a folder; return the folder that would be the working one."""
    top, work = tmp_path / "copy", tmp_path / "copy/evals"
    shutil.copytree(REPOSITORY / "examples", work)
    for folder in (work / "more/deep", work / "rules", work / "shared", top / "shared"):
        folder.mkdir(parents=True)
    write_cases(work / "more/a.jsonl", turn("more a"))
    write_cases(work / "more/deep/b.jsonl", turn("more b", assistant="Purple llamas."))
    write_cases(top / "shared/c.jsonl", turn("shared c"))
    write_batch(work / "shared/extra.json", safe_case("shared extra"))
    (work / "rules/team.json").write_text(json.dumps(TEAM), "utf-8")
    (work / "my.json").write_text('{"min-pass-rate": 0.5}', "utf-8")
    return work


@pytest.fixture
def root(work: Path) -> Iterator[CommitPath]:
    with commit_of(work.parent, "evals") as found:
        yield found


def measured(root: FilePath = HERE, options: Settings = OPTIONS) -> tuple[Measurement, Measurement]:
    side = sides.take_snapshot(options, root)
    return measure.measure_part(SAFE, side, NOW), measure.measure_part(SYNTHESIS, side, NOW)


def problems(root: FilePath, options: Settings) -> list[Problem]:
    return [problem for one in measured(root, options) for problem in one.problems]


def test_what_lies_in_a_commit_is_measured_as_here(work: Path, root: CommitPath, monkeypatch: Patch) -> None:
    elsewhere = measured(root)
    monkeypatch.chdir(work)
    assert elsewhere == measured()
    safe, synthesis = elsewhere
    assert safe.part
    assert synthesis.part
    named = "../shared/c.jsonl empathy.jsonl more/a.jsonl more/deep/b.jsonl"
    assert [file.path for file in synthesis.inputs] == named.split()
    assert {file.path for file in safe.inputs} >= {"clinical/../shared/extra.json"}
    for folder in (root, HERE):
        found = checked.read_config("my.json", root=folder)
        assert found is not None
        assert found[:2] == ("my.json", {"min-pass-rate": 0.5})
    Path("safe.config.json").write_text("{}", "utf-8")
    assert checked.read_config("", root=root) is None, "that of the working folder is another"


def test_problems_stand_where_they_would_in_the_working_folder(work: Path, monkeypatch: Patch) -> None:
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

    def found(root: FilePath) -> list[Problem]:
        with pytest.raises(CannotJudge) as config:
            checked.read_config("config.json", root=root)
        return [*problems(root, options), *config.value.problems]

    with commit_of(work.parent, "evals") as root:
        below = found(root)
    monkeypatch.chdir(work)
    assert below == found(HERE)
    assert any("did you mean" in problem.message for problem in below)


OUT = ["{abs}/empathy.jsonl", "../../x.jsonl", "../*/../../x.jsonl", "more/../../../y.jsonl"]


@pytest.mark.parametrize("pattern", OUT)
def test_what_leads_out_of_the_repository_is_in_no_commit(work: Path, root: CommitPath, pattern: str) -> None:
    pattern = pattern.format(abs=work)
    write_cases(work.parent.parent / "x.jsonl", turn("out"))
    why = "is absolute" if pattern.startswith("/") else "leads out of the repository"
    expected = f"{why}, so no commit has it; write it relative to the working folder"
    options: dict[str, Any]
    for evaluator, options in (
        (SYNTHESIS, {"synthesis_cases": (pattern,)}),
        (SYNTHESIS, {"synthesis_cases": ("empathy.jsonl",), "rules": (pattern,)}),
        (SAFE, {"safe_batch": (pattern,)}),
        (SAFE, {"safe_batch": ("clinical/*_batch_*",), "safe_outputs": (pattern,)}),
        (SAFE, {"safe_batch": ("x",), "safe_test_dir": pattern.replace(".jsonl", "")}),
    ):
        side = sides.take_snapshot(Settings().replace(**options), root)
        said = [problem.message for problem in measure.measure_part(evaluator, side, NOW).problems]
        assert expected in said if evaluator is SAFE else said == [expected]
    with pytest.raises(CannotJudge):
        checked.read_config(pattern, root=root)
