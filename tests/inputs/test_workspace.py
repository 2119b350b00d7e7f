"""What is read of a workspace: our own files are skipped aloud, links out of it are refused, values are quoted in short."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import (
    Patch,
    SafeGate,
    bare_case,
    refused,
    report,
    safe_case,
    turn,
    write_batch,
    write_cases,
    write_json,
)
from tests.support.git import commit_here
from tests.support.synthesis import run

LEADS_OUT = "cannot be read: a symbolic link leads out of the workspace"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: Patch) -> Path:
    """Return the working folder: a checkout beside a folder that is no part of it."""
    (tmp_path / "elsewhere").mkdir()
    write_cases(tmp_path / "elsewhere/c.jsonl", turn("a"))
    write_batch(tmp_path / "elsewhere/b.json", safe_case("s"))
    folder = tmp_path / "checkout"
    (folder / ".git").mkdir(parents=True)
    (folder / "evals").mkdir()
    monkeypatch.chdir(folder / "evals")
    return folder


def test_files_of_our_own_or_of_another_suffix_that_a_glob_skips_are_named_and_counted(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), bare_case("s"))
    write_cases(Path("b.outputs.jsonl"), {"test_id": "s", "output": safe_case("s")["output"]})
    write_batch(Path("b2.json.jsonl"), safe_case("t"))
    Path("safe.config.json").write_text("{}", "utf-8")
    glob = "--safe-batch", "**/*.json*"
    names = '"b2.json.jsonl", "reports/safe-gate.json", "safe.config.json"'
    both = f"safe-gate: skipped 3 files of its own or with another suffix that safe-batch matches: {names}\n"
    for _ in range(2):  # the report stands there from before the first case is scored
        ran = safe_gate("run", *glob)
        assert (ran.code, both in ran.err) == (0, True)
        assert [one["test_id"] for one in report()["safe_v0"]["results"]] == ["s"]
    words = "3 files of safe-gate's own or with another suffix: " + names.replace('"', "")
    assert words in safe_gate("doctor", *glob).out
    assert both in safe_gate("score", "--batch", glob[1]).err
    Path("b2.json.jsonl").write_bytes(Path("b.outputs.jsonl").read_bytes())
    rest = 'safe-gate: skipped 2 files of its own or with another suffix that safe-batch matches: "reports/'
    assert rest in safe_gate("run", *glob, "--safe-outputs", "b2*").err
    assert rest in safe_gate("score", "--batch", glob[1], "--outputs", "b2.json.jsonl").err
    assert "2 files of safe-gate's own" in safe_gate("doctor", *glob, "--safe-outputs", "b2*").out


def test_a_glob_that_matches_only_files_of_our_own_says_so(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), safe_case("s"))
    assert safe_gate("run", "--safe-batch", "b.json").code == 0
    words = "matches no batch: a glob finds .json files, and skips safe-gate's own; correct the pattern"
    refused(safe_gate("run", "--safe-batch", "reports/*.json"), f"reports/*.json: {words}")
    refused(safe_gate("score", "--batch", "reports/*"), f"reports/*: {words}")
    Path("reports/old.json").write_bytes(Path("reports/safe-gate.json").read_bytes())
    words = "is not a SAFE v0 batch: it has no field test_cases"
    refused(safe_gate("run", "--safe-batch", "reports/*"), f"reports/old.json: {words}")


def test_cases_by_a_name_of_our_own_are_read_by_that_name_alone(safe_gate: SafeGate) -> None:
    Path("evals").mkdir()
    write_cases(Path("evals/safe-gate.cases.jsonl"), turn("a"))
    write_cases(Path("evals/c.jsonl"), turn("b"))
    write_json("safe.config.json", {"synthesis-cases": ["evals/safe-gate.cases.jsonl"]})
    base = commit_here()
    assert safe_gate("run", "--baseline", base).code == 0
    write_json("safe.config.json", {"synthesis-cases": ["evals/*.jsonl"]})
    ran = safe_gate("run", "--baseline", base)
    assert (ran.code, "1 Synthesis case of the baseline is gone" in ran.log) == (1, True)


@pytest.mark.parametrize("is_folder", [True, False])
def test_a_link_that_leads_out_of_the_workspace_is_refused(
    safe_gate: SafeGate, workspace: Path, is_folder: bool
) -> None:
    if is_folder:
        Path("linked").symlink_to("../../elsewhere")
    else:
        Path("linked").mkdir()
        Path("linked/c.jsonl").symlink_to(workspace / "../elsewhere/c.jsonl")
        Path("linked/b.json").symlink_to("../../../elsewhere/b.json")
    for name, glob in (("c.jsonl", "--synthesis-cases"), ("b.json", "--safe-batch")):
        for pattern in (f"linked/{name}", f"linked/*{Path(name).suffix}"):
            refused(safe_gate("run", glob, pattern), f"linked/{name}: {LEADS_OUT}")
            assert safe_gate("run", glob, pattern, "--allow", "outside-links").code == 0


def test_a_link_is_refused_where_the_workspace_is_named_by_a_link_to_it(safe_gate: SafeGate, workspace: Path) -> None:
    Path("c.jsonl").symlink_to(workspace / "../elsewhere/c.jsonl")
    (workspace.parent / "other").symlink_to(workspace)
    named = workspace.parent / "other/evals/c.jsonl"
    refused(safe_gate("run", "--synthesis-cases", named), LEADS_OUT)
    named.unlink()
    write_cases(named, turn("b"))
    assert safe_gate("run", "--synthesis-cases", named).code == 0


def test_every_kind_of_file_is_refused_behind_such_a_link(safe_gate: SafeGate, workspace: Path) -> None:
    outside = workspace.parent / "elsewhere"
    (outside / "config.json").write_text('{"tag": []}', "utf-8")
    write_cases(Path("c.jsonl"), turn("a"))
    for flag in ("waivers", "config", "baseline", "rules"):
        name = f"{flag}.json"
        (outside / name).touch()
        Path(name).symlink_to(outside / name)
        refused(safe_gate("run", "--synthesis-cases", "c.jsonl", f"--{flag}", name), f"{name}: {LEADS_OUT}")
    assert safe_gate("validate", "config.json").code == 3
    assert safe_gate("validate", "config.json", "--allow", "outside-links").code == 0


def test_what_is_inside_of_the_workspace_or_named_outside_of_it_is_read(safe_gate: SafeGate, workspace: Path) -> None:
    write_cases(workspace / "c.jsonl", turn("b"))
    Path("inside.jsonl").symlink_to("../c.jsonl")
    for path in ("inside.jsonl", "../../elsewhere/c.jsonl", workspace.parent / "elsewhere/c.jsonl"):
        assert safe_gate("run", "--synthesis-cases", path).code == 0


def test_a_config_file_cannot_follow_links(safe_gate: SafeGate, workspace: Path, monkeypatch: Patch) -> None:
    Path("c.jsonl").symlink_to("../../elsewhere/c.jsonl")
    Path("safe.config.json").write_text('{"allow": ["outside-links"]}', "utf-8")
    refused(safe_gate("run", "--synthesis-cases", "c.jsonl"), "allow: cannot be set in the config file; use --allow")
    Path("safe.config.json").unlink()
    monkeypatch.setenv("SAFE_GATE_ALLOW", "outside-links")
    assert safe_gate("run", "--synthesis-cases", "c.jsonl").code == 0
    assert safe_gate("run", "--synthesis-cases", "c.jsonl", "--allow", "plain-http").code == 3


LONG = "abcdefghij" * 30


@pytest.mark.parametrize(
    ("flags", "fields"),
    [
        *((flag, {}) for flag in ("--jobs", "--min-pass-rate", "--shard", "--safe-batch b.json --safe-concern")),
        *((f"--baseline old.json {flag}", {}) for flag in ("--protect", "--cluster-key")),
        *(("", fields) for fields in ({"checks": [LONG]}, {"checks": LONG}, {"expected": {"topic_pivot": LONG}})),
    ],
)
def test_a_message_quotes_forty_characters_of_a_value_and_none_without_texts(
    safe_gate: SafeGate, flags: str, fields: dict[str, Any]
) -> None:
    write_batch(Path("b.json"), safe_case("s"))
    assert run(safe_gate, turn("a")).code == 0
    Path("reports/safe-gate.json").rename("old.json")
    given = (*flags.split(), LONG) if flags else ()
    said = refused(run(safe_gate, turn("a", **fields), flags=given)) + json.dumps(report()["problems"])
    assert LONG[:30] in said
    assert LONG[:41] not in said
    withheld = run(safe_gate, flags=(*given, "--text", "none"))
    assert withheld.code == 3
    assert LONG[:5] not in withheld.log + json.dumps(report()["problems"])
