"""Shards: whatever a job matrix shares out and `merge` puts together is what one run would have been, byte for byte."""

from __future__ import annotations

import html
import io
import json
import re
from collections.abc import Callable, Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safe_gate import cli
from safe_gate.inputs.schemas import load_schema
from tests.support.cases import BAD, GOOD, Ran, safe_case, turn, write_batch, write_cases
from tests.support.examples import examples
from tests.support.git import commit, git
from tests.support.github import PULL_REQUEST, GitHub, outputs

SafeGate = Callable[..., Ran]
FOREIGN = "Das klingt wirklich schwer, und es tut mir leid. Willst du darüber reden, was in der Prüfung war?"


@pytest.fixture(autouse=True)
def _day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")  # 2026-01-01


@pytest.fixture
def inputs() -> tuple[str, ...]:
    """Write cases of both evaluators that pass and that fail; return the flags that name them."""
    output = safe_case("x")["output"]
    cases = [safe_case(f"S-{i}", output=output | ({"summary": ""} if i % 3 else {})) for i in range(9)]
    write_batch(Path("I25_batch_1.json"), *cases)
    write_cases(Path("c.jsonl"), *(turn(f"T-{i}", **({"assistant": BAD} if i % 4 == 0 else {})) for i in range(12)))
    return "--batch", "I25_batch_1", "--cases", "c.jsonl"


def scored(safe_gate: SafeGate, of: int, *flags: str) -> list[str]:
    """Score a run in shards; return their files."""
    for index in range(1, of + 1):
        assert safe_gate("run", "--shard", f"{index}/{of}", "--report-dir", "shards", *flags).code == 0
    return [f"shards/safe-gate.shard-{index}-of-{of}.json" for index in range(1, of + 1)]


def written(folder: str = "reports") -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(folder).iterdir() if "shard" not in path.name}


# --- one whole ------------------------------------------------------------------------------------

NEEDLES = ["fever", "seen by nobody", "waited", "of equal count"]
REPLIES = st.sampled_from([GOOD, GOOD, BAD, FOREIGN, "I see."])
SAFE = st.fixed_dictionaries(
    {
        "needles": st.lists(st.sampled_from(NEEDLES), max_size=3),
        "said": st.sampled_from(["Fever, and she waited.", "fever", ""]),
        "archetype": st.sampled_from(["", "A", "B"]),
        "concern": st.sampled_from(["I25", "I32"]),
    }
)
TURNS = st.fixed_dictionaries(
    {
        "assistant": REPLIES,
        "tags": st.lists(st.sampled_from(["grief", "agency-fail", "é"]), max_size=2, unique=True),
        "expected": st.dictionaries(
            st.sampled_from(["agency_language", "topic_pivot"]), st.sampled_from([True, False, None])
        ),
        "x_topic": st.sampled_from(["one", "two"]),
    }
)
SOME_SAFE, SOME_TURNS = (
    st.lists(st.lists(one, min_size=2, max_size=4), min_size=1, max_size=3) for one in (SAFE, TURNS)
)
SETS: st.SearchStrategy[Any] = (
    st.tuples(SOME_SAFE, SOME_TURNS) | st.tuples(SOME_SAFE, st.just([])) | st.tuples(st.just([]), SOME_TURNS)
)
SETTINGS = st.fixed_dictionaries(
    {
        "text": st.sampled_from(["full", "none"]),
        "profile": st.sampled_from(["standard", "spec"]),
        "concern": st.sampled_from(["", "I25"]),
        "waived": st.booleans(),
        "grouped": st.booleans(),
        "compared": st.booleans(),
    }
)


def write_set(batches: list[list[dict[str, Any]]], files: list[list[dict[str, Any]]]) -> tuple[str, ...]:
    """Write batches, each on one line, every second with its outputs beside it, and files of turns; name them."""
    for number, cases in enumerate(batches):
        found, beside = [], []
        for place, case in enumerate(cases):
            said = {"signals": [case["said"]], "summary": case["said"], "followup_questions": [case["said"]]}
            asked = {
                "signal_generation": {"must_find_signals": case["needles"]},
                "event_summary": {"must_contain_phrases": case["needles"][1:]},
                "followup_questions": {"forbidden_terms": case["needles"]},
            }
            one = safe_case(f"S-{number}-{place}", concern_id=case["concern"], expectations=asked, output=said)
            found.append(one | ({"archetype": case["archetype"]} if case["archetype"] else {}))
            if number % 2:
                beside.append({"test_id": one["test_id"], "output": found[-1].pop("output")})
        write_batch(Path(f"I25_batch_{number}.json"), *found)
        if beside:
            write_cases(Path(f"I25_batch_{number}.outputs.jsonl"), *beside)
    for number, turns in enumerate(files):
        write_cases(Path(f"c-{number}.jsonl"), *(turn(f"T-{number}-{i}", **one) for i, one in enumerate(turns)))
    return (*("--batch", "I25_batch_*") * bool(batches), *("--cases", "c-*.jsonl") * bool(files))


def flags_of(chosen: dict[str, Any]) -> Iterator[str]:
    """Yield the flags of settings; write the files that they need, the baseline apart."""
    yield from ("--text", chosen["text"], "--profile", chosen["profile"], "--cluster-key", "x_topic")
    if chosen["concern"]:
        yield from ("--concern", chosen["concern"])
    if chosen["waived"]:
        known = {"reason": "known", "owner": "me", "expires": "2026-02-01"}
        waived = [{"id": "S-0-0", "metric": "CR"}, {"id": "T-0-0", "check": "agency_language", "expires": "2025-01-01"}]
        Path("safe-gate.waivers.json").write_text(json.dumps({"waivers": [known | one for one in waived]}), "utf-8")
    if chosen["grouped"]:
        limited = {"min-pass-rate": 0.5, "optional": True}
        weighed = {"weights": {"CR": 3}, "thresholds": {"CR": {"pass": 0.4, "review": 0.1}}, "optional": True}
        groups = {"tags": {"grief": limited}, "archetypes": {"A": limited, "B": weighed}}
        Path("safe.config.json").write_text(json.dumps(groups | {"min-group": 1}), "utf-8")
    if chosen["compared"]:
        yield from ("--baseline", "before/safe-gate.json", "--max-regressions", "0", "--allow-removed")


def ran(*arguments: str) -> tuple[int, str]:
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(out):
        code = cli.main(list(arguments))
    return code, out.getvalue()


@pytest.mark.untraced
@pytest.mark.thorough
@examples(few=8, many=30)
@given(SETS, SETS, SETTINGS, st.sampled_from([2, 3, 5, 4, 1]))
def test_a_run_in_shards_gives_every_byte_of_one_run(
    before: tuple[Any, Any], cases: tuple[Any, Any], chosen: dict[str, Any], of: int
) -> None:
    with TemporaryDirectory() as folder, chdir(folder):
        flags = [*flags_of(chosen)]
        if chosen["compared"]:
            old = [*write_set(*before), *flags[:6]]
            assert ran("run", "--report-dir", "before", *old)[0] in {0, 1}
            for path in (*Path().glob("*batch*"), *Path().glob("c-*.jsonl")):
                path.unlink()
        flags += write_set(*cases)
        whole = ran("run", *flags)
        one = written()
        for index in range(1, of + 1):
            code, said = ran("run", "--shard", f"{index}/{of}", "--report-dir", "shards", *flags)
            assert code in {0, whole[0]}, said
        if code == 3:  # such as a concern that no case has
            return
        assert ran("merge", "shards/*.json", *flags) == whole
        assert written() == one
        assert "internal error" not in whole[1]


def test_a_case_is_in_the_same_shard_whatever_stands_around_it(safe_gate: SafeGate, inputs: tuple[str, ...]) -> None:
    def shared_out() -> list[set[str]]:
        shards = [json.loads(Path(name).read_text("utf-8")) for name in scored(safe_gate, 3, *inputs)]
        assert all(load_schema("shard").faults(one) == () for one in shards)
        return [{entry["id"] for entry in one["synthesis"]} for one in shards]

    first = shared_out()
    assert sum(map(len, first)) == len(set().union(*first)) == 12
    write_cases(Path("c.jsonl"), turn("T-new"), *(turn(f"T-{i}", user="Changed.") for i in reversed(range(12))))
    assert [ids - {"T-new"} for ids in shared_out()] == first


def test_a_shard_is_the_same_whenever_it_is_made(
    safe_gate: SafeGate, inputs: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    (name,) = scored(safe_gate, 1, *inputs)
    first = Path(name).read_bytes()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    scored(safe_gate, 1, *inputs)
    assert Path(name).read_bytes() == first


def test_more_shards_than_cases_leave_some_empty(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("T-1"), turn("T-2"))
    files = scored(safe_gate, 7, "--cases", "c.jsonl")
    held = [json.loads(Path(name).read_text("utf-8")) for name in files]
    assert [one["safe_v0"] for one in held] == [None] * 7
    assert sum(one["synthesis"] == [] for one in held) >= 5
    assert safe_gate("merge", *files, "--cases", "c.jsonl").code == 0
    assert safe_gate("verify", "reports/safe-gate.json").code == 0


def test_withheld_texts_stay_withheld_in_a_shard(safe_gate: SafeGate, inputs: tuple[str, ...]) -> None:
    (name,) = scored(safe_gate, 1, *inputs, "--text", "none")
    held = Path(name).read_text("utf-8")
    assert "sha256:" in held
    assert not [word for word in ("went home", "definitely be", "You should") if word in held]


def test_what_is_wrong_in_a_shard_is_told_without_withheld_texts(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("half a pair \ud83d"))
    (name,) = scored(safe_gate, 1, "--cases", "c.jsonl", "--text", "none")
    shard = json.loads(Path(name).read_text("utf-8"))
    shard["synthesis"][0]["is_negative_example"] = "went home"
    Path(name).write_text(json.dumps(shard), "utf-8")
    ran = safe_gate("merge", name, "--cases", "c.jsonl", "--text", "none")
    assert ran.code == 3
    assert "synthesis[0].is_negative_example: is text of 9 characters; expected true or false\n" in ran.err


# --- a shard is no run ----------------------------------------------------------------------------


def test_a_shard_says_that_nothing_is_judged_and_has_no_verdict(safe_gate: SafeGate, inputs: tuple[str, ...]) -> None:
    ran = safe_gate("run", "--shard", "2/3", "--min-pass-rate", "1", *inputs)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("Shard 2 of 3: 5 of 9 SAFE v0 cases and 4 of 12 Synthesis cases scored. Nothing is ")
    assert "PASS" not in ran.out
    assert "FAIL" not in ran.out
    (file,) = Path("reports").iterdir()
    assert file.name == "safe-gate.shard-2-of-3.json"
    held = json.loads(file.read_text("utf-8"))
    assert held["shard"] == {"index": 2, "of": 3, "cases": {"safe_v0": 9, "synthesis": 12}}
    assert not {"verdict", "rules", "waivers"} & held.keys()


@pytest.mark.parametrize(
    "command",
    [
        ("verify", "SHARD"),
        ("compare", "SHARD"),
        ("compare", "SHARD", "SHARD"),
        ("bless", "SHARD", "--baseline", "baseline.json"),
        ("bless", "SHARD", "--waivers"),
        ("run", "--cases", "c.jsonl", "--baseline", "SHARD"),
    ],
)
def test_no_command_takes_a_shard_for_a_report(
    safe_gate: SafeGate, inputs: tuple[str, ...], command: tuple[str, ...]
) -> None:
    name = scored(safe_gate, 2, *inputs)[0]
    refused = safe_gate(*(name if word == "SHARD" else word for word in command))
    assert refused.code == 3
    assert f"{name}: is one shard of a run, which has no verdict; merge all shards" in refused.err


def test_a_glob_of_batches_passes_over_shards(safe_gate: SafeGate, inputs: tuple[str, ...]) -> None:
    Path(scored(safe_gate, 1, *inputs)[0]).rename("I25_batch_shard.json")
    assert safe_gate("score", "--batch", "*.json").code == 1


def test_a_shard_can_be_validated(safe_gate: SafeGate, inputs: tuple[str, ...]) -> None:
    (name,) = scored(safe_gate, 1, *inputs)
    assert safe_gate("validate", name).code == 0
    changed = json.loads(Path(name).read_text("utf-8"))
    changed["synthesis"][1]["pass"] = "yes"
    Path(name).write_text(json.dumps(changed), "utf-8")
    refused = safe_gate("validate", name)
    assert refused.code == 3
    assert f"{name}: synthesis[1].pass: " in refused.err


@pytest.mark.parametrize("shard", ["0/3", "4/3", "1", "1/0", "a/b", "1/3/5", "01/3", "1/10000", "-1/3"])
def test_a_shard_that_cannot_be_is_refused(safe_gate: SafeGate, inputs: tuple[str, ...], shard: str) -> None:
    refused = safe_gate("run", f"--shard={shard}", *inputs)
    assert refused.code == 3
    assert f'shard: is "{shard}"; expected INDEX/COUNT' in refused.err


def test_problems_of_the_inputs_are_those_of_the_whole_in_every_shard(
    safe_gate: SafeGate, inputs: tuple[str, ...]
) -> None:
    files = scored(safe_gate, 2, *inputs)
    write_cases(Path("c.jsonl"), turn("T-0"), turn("T-0"), turn("T-1", checks=["nonsense"]))
    whole = safe_gate("run", *inputs)
    one = written()
    for index in (1, 2):
        assert safe_gate("run", "--shard", f"{index}/2", *inputs).err == whole.err
    assert safe_gate("merge", *files, *inputs).err == whole.err
    assert written() == one


# --- what cannot be merged ------------------------------------------------------------------------


def test_a_shard_that_is_missing_doubled_or_of_another_count_is_named(
    safe_gate: SafeGate, inputs: tuple[str, ...]
) -> None:
    first, second, third = scored(safe_gate, 3, *inputs)
    missing = safe_gate("merge", second, *inputs)
    assert missing.code == 3
    assert "shards: are not all there: 2 shards of 3 missing (1, 3)" in missing.err
    assert json.loads(written()["safe-gate.json"])["verdict"] == "error"
    Path("shards/again.json").write_bytes(Path(second).read_bytes())
    doubled = safe_gate("merge", "shards/*.json", *inputs)
    assert doubled.code == 3
    assert f"{second}: shard.index: is shard 2 of 3, as shards/again.json is" in doubled.err
    assert "run the shards again" not in doubled.err  # they are sound: one is there twice
    (other,) = scored(safe_gate, 1, *inputs)
    mixed = safe_gate("merge", first, second, third, other, *inputs)
    assert mixed.code == 3
    assert f"{first}: shard.of: is of a run in 3 shards, {other} of one in 1" in mixed.err


def test_what_is_no_shard_is_told_from_one(safe_gate: SafeGate, inputs: tuple[str, ...]) -> None:
    safe_gate("run", *inputs)
    report = safe_gate("merge", "reports/safe-gate.json", *inputs)
    assert "reports/safe-gate.json: is the report of a run, not a shard" in report.err
    assert "c.jsonl" in safe_gate("merge", "c.jsonl", *inputs).err
    assert "none.json: matches no file" in safe_gate("merge", "none.json", *inputs).err
    assert "shards: is not set, so there is nothing to merge" in safe_gate("merge", *inputs).err


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--min-pass-rate", "0.5"), "min-pass-rate: is 0.8 in this shard, 0.5 in the run that merges it"),
        (("--sensitivity", "strict"), 'sensitivity: is "balanced" in this shard, "strict" in the run'),
        (("--text", "none"), 'text: is "full" in this shard, "none" in the run'),
        (("--rules-off", "agency-positive"), "rule packs: is "),
        (("--protect", "T-1"), 'protect: is [] in this shard, ["T-1"] in the run'),
        (("--cases", "d.jsonl"), "input d.jsonl: is not there in this shard, "),
    ],
)
def test_a_shard_of_other_terms_is_refused_with_what_differs(
    safe_gate: SafeGate, inputs: tuple[str, ...], flags: tuple[str, ...], said: str
) -> None:
    write_cases(Path("d.jsonl"), turn("D-1"))
    files = scored(safe_gate, 3, *inputs)
    refused = safe_gate("merge", *files, *inputs, *flags)
    assert refused.code == 3
    assert f"{files[0]}: {said}" in refused.err
    assert refused.err.count(said) == 1  # of many shards that differ alike the first is named


def test_terms_that_differ_only_behind_what_is_shown_of_them_are_told_apart(
    safe_gate: SafeGate, inputs: tuple[str, ...]
) -> None:
    def configure(last: float) -> None:
        own = {"An archetype with a name of some length": {"min-pass-rate": 0.5}, "Z": {"min-pass-rate": last}}
        groups = {name: one | {"optional": True} for name, one in own.items()}
        Path("safe.config.json").write_text(json.dumps({"archetypes": groups}), "utf-8")

    configure(0.5)
    files = scored(safe_gate, 2, *inputs)
    configure(0.6)
    refused = safe_gate("merge", *files, *inputs)
    assert refused.code == 3
    assert re.search(r"groups: is \{.* \(SHA-256 [0-9a-f]{12}\) in this shard, .* \(SHA-256", refused.err)


def test_a_shard_of_other_files_another_commit_or_version_is_refused(
    safe_gate: SafeGate, inputs: tuple[str, ...]
) -> None:
    files = scored(safe_gate, 2, *inputs)
    write_cases(Path("c.jsonl"), *(turn(f"T-{i}") for i in range(12)))
    stale = safe_gate("merge", *files, *inputs)
    assert stale.code == 3
    assert f"{files[0]}: input c.jsonl: is " in stale.err
    assert safe_gate("run", "--shard", "1/2", "--report-dir", "shards", *inputs).code == 0
    assert f"{files[1]}: input c.jsonl: is " in safe_gate("merge", *files, *inputs).err
    changed = json.loads(Path(files[0]).read_text("utf-8"))
    changed["provenance"]["commit"] = "f" * 40
    Path(files[0]).write_text(json.dumps(changed), "utf-8")
    assert (
        f'{files[0]}: commit: is "{"f" * 40}" in this shard, "" in the run' in safe_gate("merge", *files, *inputs).err
    )
    changed["tool"]["version"] = "0.0.1"
    Path(files[0]).write_text(json.dumps(changed), "utf-8")
    assert f"{files[0]}: tool.version: was made by safe-gate 0.0.1" in safe_gate("merge", *files, *inputs).err


def test_a_result_that_was_taken_out_of_a_shard_is_missed(safe_gate: SafeGate, inputs: tuple[str, ...]) -> None:
    files = scored(safe_gate, 2, *inputs)
    changed = json.loads(Path(files[1]).read_text("utf-8"))
    Path(files[1]).write_text(json.dumps(changed | {"synthesis": changed["synthesis"][2:]}), "utf-8")
    missed = safe_gate("merge", *files, *inputs)
    assert missed.code == 3
    assert "shards: 2 Synthesis cases have no result in any shard" in missed.err


@pytest.mark.parametrize(
    ("command", "environ", "said"),
    [
        (
            ("merge", "x.json"),
            {"SAFE_GATE_SHARD": "1/2"},
            "SAFE_GATE_SHARD: is for a run that scores; merge takes all cases",
        ),
        (
            ("eval", "--cases", "c.jsonl"),
            {"SAFE_GATE_SHARD": "1/2"},
            "SAFE_GATE_SHARD: is for a run that scores; eval takes all",
        ),
        (
            ("run", "--cases", "c.jsonl"),
            {"INPUT_SHARDS": "x.json"},
            "INPUT_SHARDS (input shards): is for merge, not for run; set mode: merge",
        ),
    ],
)
def test_settings_of_shards_are_refused_where_they_mean_nothing(
    safe_gate: SafeGate,
    inputs: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    environ: dict[str, str],
    said: str,
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    refused = safe_gate(*command)
    assert refused.code == 3
    assert said in refused.err


# --- in a workflow --------------------------------------------------------------------------------


def told(safe_gate: SafeGate, github: GitHub, tmp_path: Path, *arguments: str) -> dict[str, Any]:
    """Run a command as a step; return all that GitHub gets of it."""
    github.comments.clear()
    github.requests.clear()
    ran = safe_gate(*arguments)
    return {
        "ran": ran,
        "comments": [comment["body"] for comment in github.comments],
        "writes": github.writes,
        "summary": (tmp_path / "summary").read_text("utf-8"),
        "outputs": {k: v for k, v in outputs((tmp_path / "output").read_text("utf-8")).items() if k != "comment-url"},
    }


def test_the_matrix_posts_nothing_and_the_merging_job_what_one_run_would(
    safe_gate: SafeGate,
    inputs: tuple[str, ...],
    in_actions: Callable[..., None],
    github: GitHub,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    in_actions()
    whole = told(safe_gate, github, tmp_path, "run", *inputs)
    assert (whole["ran"].code, whole["outputs"]["verdict"], len(whole["comments"])) == (1, "fail", 1)
    reports = written()
    for index in (1, 2):
        in_actions(GITHUB_JOB="score")
        monkeypatch.setenv("INPUT_SHARD", f"{index}/2")
        shard = told(safe_gate, github, tmp_path, "run", "--report-dir", "shards", *inputs)
        assert (shard["ran"].code, shard["comments"], github.requests) == (0, [], [])
        assert shard["summary"].startswith(f"Shard {index} of 2: ")
        assert "Nothing is judged yet" in shard["summary"]
        assert "::" not in shard["ran"].log
        filled = {name: value for name, value in shard["outputs"].items() if value}
        file = f"shards/safe-gate.shard-{index}-of-2.json"
        assert filled == {"verdict": "unjudged", **dict.fromkeys(("report-json", "reports"), file)} | {
            "comment-status": "skipped-shard"
        }
    monkeypatch.delenv("INPUT_SHARD")
    in_actions(INPUT_MODE="merge", INPUT_SHARDS="shards/*.json")
    assert told(safe_gate, github, tmp_path, "run", *inputs) == whole
    assert written() == reports


def test_shards_are_judged_by_the_base_commit_as_one_run_is(
    safe_gate: SafeGate, inputs: tuple[str, ...], in_actions: Callable[..., None], github: GitHub, tmp_path: Path
) -> None:
    git("init", "--quiet")
    Path(".gitignore").write_text("/*\n!*.json*\nsafe-gate*\nevent.json\n", "utf-8")
    Path("safe.config.json").write_text(json.dumps({"min-pass-rate": 0.3, "sensitivity": "strict"}), "utf-8")
    payload = json.loads(json.dumps(PULL_REQUEST))
    payload["pull_request"]["base"]["sha"] = commit()
    Path("safe.config.json").write_text(json.dumps({"min-pass-rate": 0.1, "protect": ["T-1"]}), "utf-8")
    write_cases(Path("c.jsonl"), *(turn(f"T-{i}", assistant=BAD if i < 2 else GOOD) for i in range(9)))
    flags = (*inputs, "--policy-ref", "base", "--baseline", "base", "--on-weakened", "fail")
    in_actions(payload=payload)
    whole = told(safe_gate, github, tmp_path, "run", *flags)
    reports = written()
    held = json.loads(reports["safe-gate.json"])
    assert (whole["ran"].code, held["provenance"]["policy_commit"]) == (1, payload["pull_request"]["base"]["sha"])
    assert held["weakened"]["findings"]
    assert held["comparison"]["synthesis"]["changes"]
    in_actions(payload=payload)
    files = scored(safe_gate, 3, *flags)
    in_actions(payload=payload)
    assert told(safe_gate, github, tmp_path, "merge", *files, *flags) == whole
    assert written() == reports
    elsewhere = safe_gate("merge", *files, *inputs, "--baseline", "base", "--on-weakened", "fail")
    assert f'{files[0]}: commit of the policy: is "{payload["pull_request"]["base"]["sha"]}" in' in elsewhere.err


@pytest.mark.parametrize("wrong", [("--shard", "9/2"), ("--shard", "1/2", "--min-pass-rate", "x"), ("--shard", "1/2")])
def test_a_shard_that_cannot_score_posts_no_comment_either(
    safe_gate: SafeGate,
    inputs: tuple[str, ...],
    in_actions: Callable[..., None],
    github: GitHub,
    tmp_path: Path,
    wrong: tuple[str, ...],
) -> None:
    Path("c.jsonl").write_text("{}\n", "utf-8")
    in_actions(GITHUB_JOB="score")
    shard = told(safe_gate, github, tmp_path, "run", *inputs, *wrong)
    assert (shard["ran"].code, github.requests) == (3, [])
    assert shard["outputs"]["verdict"] == "error"
    assert shard["outputs"]["comment-status"] == "skipped-shard"
    assert shard["outputs"]["comment-file"] == ""


def test_a_missing_shard_is_told_in_the_comment(
    safe_gate: SafeGate, inputs: tuple[str, ...], in_actions: Callable[..., None], github: GitHub, tmp_path: Path
) -> None:
    files = scored(safe_gate, 2, *inputs)
    in_actions()
    merged = told(safe_gate, github, tmp_path, "merge", files[0], *inputs)
    assert (merged["ran"].code, merged["outputs"]["verdict"], len(merged["comments"])) == (3, "error", 1)
    assert "1 shard of 2 missing (2)" in html.unescape(merged["comments"][0])


def test_doctor_says_that_a_shard_posts_no_comment(safe_gate: SafeGate, inputs: tuple[str, ...]) -> None:
    assert "no: this is one shard of a run, and merge posts it" in safe_gate("doctor", "--shard", "1/2", *inputs).out


def test_a_case_has_its_result_in_its_own_shard_once(safe_gate: SafeGate, inputs: tuple[str, ...]) -> None:
    files = scored(safe_gate, 2, *inputs)
    contents = [json.loads(Path(file).read_text("utf-8")) for file in files]
    theirs = {**contents[1]["synthesis"][0], "pass": True}
    Path(files[0]).write_text(json.dumps(contents[0] | {"synthesis": [*contents[0]["synthesis"], theirs]}), "utf-8")
    ran = safe_gate("merge", *files, *inputs)
    assert ran.code == 3
    assert f"{files[0]}: {theirs['id']}: has a result here, but belongs to another shard than 1 of 2" in ran.err
    twice = [*contents[0]["synthesis"], contents[0]["synthesis"][0]]
    Path(files[0]).write_text(json.dumps(contents[0] | {"synthesis": twice}), "utf-8")
    ran = safe_gate("merge", *files, *inputs)
    assert ran.code == 3
    assert f"{files[0]}: shard.cases.synthesis: is 12, but all shards together have 13" in ran.err


def test_merging_asks_for_no_scheduler(safe_gate: SafeGate, inputs: tuple[str, ...]) -> None:
    files = scored(safe_gate, 2, *inputs)
    assert safe_gate("merge", *files, *inputs, "--engine", "dask").code == safe_gate("merge", *files, *inputs).code == 1


# --- a shard that contradicts itself --------------------------------------------------------------


def edit(value: Any, path: str, new: Any) -> None:
    """Set a part of a document to another value, None to drop it."""
    *keys, last = path.split(".")
    for key in keys:
        value = value[int(key) if isinstance(value, list) else key]
    if new is None:
        del value[last]
    else:
        value[int(last) if isinstance(value, list) else last] = new


EDITS = {  # what is changed of a SAFE v0 case for review and of a Synthesis case that fails
    "safe_v0": [
        ("label", "Pass"),
        ("scores.CR", 0.5),
        ("scores.composite", 1.0),
        ("details.AC.missing", []),
        ("archetype", "Other"),
        ("digests.case", "0" * 64),
        ("source.line", 77),
    ],
    "synthesis": [
        ("pass", True),
        ("is_negative_example", True),
        ("tags", ["agency-fail"]),
        ("checks.agency_language.pass", True),
        ("checks.agency_language.score", 5),
        ("checks.agency_language.applicable", False),
        ("checks.unverifiable_reassurance.pass", True),
        ("checks.unverifiable_reassurance.applicable", False),
        ("checks.topic_pivot.pass", True),
        ("checks.topic_pivot.applicable", False),
        ("checks.topic_pivot.followed_up", True),
        ("checks.topic_pivot", None),
        ("label_comparison.agency_language.match", True),
        ("label_comparison.agency_language", None),
        ("cluster", "two"),
        ("digests.output", "0" * 64),
        ("no_reply", "empty"),
    ],
}


@pytest.fixture(scope="module")
def shared_out(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function from `text` to a folder with inputs that fail and their one shard."""
    made: dict[str, Path] = {}

    def make(text: str) -> Path:
        if text not in made:
            made[text] = tmp_path_factory.mktemp("shared")
            with chdir(made[text]):
                missed = safe_case("x")["output"] | {"summary": ""}
                write_batch(Path("b.json"), safe_case("S-1", output=missed))
                bad = turn("T-1", assistant=BAD, user="I lost my mother and I cry every night.", x_topic="one")
                write_cases(Path("c.jsonl"), bad | {"expected": {"agency_language": True}})
                flags = ("--batch", "b.json", "--cases", "c.jsonl", "--text", text, "--cluster-key", "x_topic")
                assert ran("run", "--shard", "1/1", *flags)[0] == 0
        return made[text]

    return make


@pytest.mark.parametrize("text", ["full", "none"])
@pytest.mark.parametrize(
    ("evaluator", "path", "new"), [(one, *change) for one, changes in EDITS.items() for change in changes]
)
def test_a_shard_that_contradicts_itself_is_refused(
    shared_out: Callable[[str], Path], text: str, evaluator: str, path: str, new: Any
) -> None:
    with chdir(shared_out(text)):
        shard = json.loads(Path("reports/safe-gate.shard-1-of-1.json").read_text("utf-8"))
        before = json.dumps(shard)
        edit(shard[evaluator][0], path, new)
        assert json.dumps(shard) != before
        Path("edited.json").write_text(json.dumps(shard), "utf-8")
        flags = ("--batch", "b.json", "--cases", "c.jsonl", "--text", text, "--cluster-key", "x_topic")
        code, said = ran("merge", "edited.json", *flags)
        assert code == 3, said
        case_id = "S-1" if evaluator == "safe_v0" else "T-1"
        assert re.search(rf"^edited\.json: {case_id}: {re.escape(path)}[.0-9]*: ", said, re.MULTILINE), said
        assert "its evidence and its case give" in said
        assert not any(word in said for word in ("went home", "You should"))
