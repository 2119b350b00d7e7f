"""Paths in a config file start from its folder."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safe_gate.inputs.checked import join_path
from tests.support.cases import BAD, Patch, Ran, SafeGate, bare_case, refused, report, safe_case, turn, write_cases
from tests.support.git import commit_here
from tests.support.github import InActions
from tests.support.pack_files import TEAM

CONFIG = "evals/safe-gate.config.json"
RUN = ("run", "--config", CONFIG)


@pytest.fixture(autouse=True)
def _folders() -> None:
    for folder in ("evals/clinical", "shared"):
        Path(folder).mkdir(parents=True)


def write(path: str, content: Any) -> None:
    Path(path).write_text(json.dumps(content), "utf-8")


def configure(path: str = CONFIG, **settings: Any) -> None:
    write(path, {name.replace("_", "-"): value for name, value in settings.items()})


def cases(path: str, *ids: str) -> None:
    write_cases(Path(path), *map(turn, ids))


def files(found: dict[str, Any]) -> list[str]:
    return [file["path"] for file in found["provenance"]["inputs"]]


def test_every_path_of_a_config_starts_from_its_folder(safe_gate: SafeGate) -> None:
    cases("evals/a.jsonl", "a")
    cases("shared/b.jsonl", "b")
    write("evals/clinical/one.json", {"test_cases": [bare_case("s")]})
    write("evals/recorded.jsonl", {"test_id": "s", "output": safe_case("s")["output"]})
    write("evals/team.json", TEAM)
    write("evals/known.json", {"waivers": []})
    configure(
        synthesis_cases=["a*.jsonl", "../shared/b.jsonl"],
        safe_batch=["one"],
        safe_test_dir="clinical",
        safe_outputs=["recorded.jsonl"],
        rules=["team.json"],
        waivers="known.json",
        report_dir="out",
        min_pass_rate=0,
        max_no_reply="off",
        max_unexpected_failures="off",
    )
    ran = safe_gate(*RUN)
    assert (ran.code, "warning" in ran.err) == (0, False), ran.err
    found = report("evals/out/safe-gate.json")
    assert files(found) == ["evals/a.jsonl", "evals/clinical/one.json", "evals/recorded.jsonl", "shared/b.jsonl"]
    assert found["provenance"]["policy"]["rules"] == ["evals/team.json"]
    assert found["waivers"]["path"] == "evals/known.json"
    assert safe_gate("verify", "evals/out/safe-gate.json").code == 0
    shown = safe_gate("doctor", "--all", "--config", CONFIG).out
    assert "evals/a*.jsonl" in shown
    assert "1 file of evals/team.json" in shown


def test_batches_start_from_the_config_or_from_the_test_folder_that_anything_sets(safe_gate: SafeGate) -> None:
    for folder in ("evals", "shared"):
        write(f"{folder}/one.json", {"test_cases": [safe_case(folder)]})
    configure(safe_batch=["one"])
    assert safe_gate(*RUN).code == 0
    assert files(report()) == ["evals/one.json"]
    assert safe_gate(*RUN, "--safe-test-dir", "shared").code == 0
    assert files(report()) == ["shared/one.json"]
    configure(synthesis_cases=["nowhere.jsonl"])
    refused(safe_gate(*RUN), f'{CONFIG}:1: synthesis-cases[0]: "evals/nowhere.jsonl" matches no file')


def test_a_path_that_leads_nowhere_is_named_with_its_place_in_the_config(safe_gate: SafeGate) -> None:
    cases("a.jsonl", "a")
    config = {"safe-batch": ["x.json", "y*"], "rules": ["packs/*.json"], "waivers": "w.json"}
    Path("safe.config.json").write_text(json.dumps(config, indent=0), "utf-8")
    of_run = (
        'safe.config.json:3: safe-batch[0]: "x.json" matches no file; correct the path or the pattern\n',
        'safe.config.json:4: safe-batch[1]: "y*" matches no file; correct the path or the pattern\n',
        'safe.config.json:7: rules[0]: "packs/*.json" matches no file',
        'safe.config.json:9: waivers: "w.json" cannot be read: there is no such file; correct the path\n',
    )
    for command in (("run",), ("doctor",)):
        refused(safe_gate(*command, "--synthesis-cases", "a.jsonl"), *of_run, "could not judge: 4 problems")
    refused(safe_gate("score"), of_run[0], "could not judge: 2 problems")
    refused(safe_gate("eval", "--cases", "b.jsonl"), "b.jsonl: matches no file", of_run[2])


def test_a_baseline_is_a_path_or_a_ref(safe_gate: SafeGate) -> None:
    cases("evals/a.jsonl", "a", "b")
    configure(synthesis_cases=["a.jsonl"], baseline="main", on_weakened="fail")
    commit_here()
    assert safe_gate(*RUN, "--report-dir", "evals/before").code == 0
    assert report("evals/before/safe-gate.json")["comparison"]["baseline"]["name"] == "main"
    cases("evals/a.jsonl", "a")
    assert safe_gate(*RUN).code == 1
    assert [one["id"] for one in report()["comparison"]["synthesis"]["cases"]["removed"]] == ["b"]
    configure(synthesis_cases=["a.jsonl"], baseline="before/safe-gate.json")
    assert safe_gate(*RUN).code == 1
    assert report()["comparison"]["baseline"]["name"] == "evals/before/safe-gate.json"


def test_packs_of_the_base_commit_judge_from_its_config(safe_gate: SafeGate, in_actions: InActions) -> None:
    write_cases(Path("evals/a.jsonl"), turn("a", assistant="Purple llamas.", checks=["agency_language"]))
    write("evals/team.json", TEAM)
    configure(synthesis_cases=["a.jsonl"], rules=["team.json"])
    base = commit_here()
    assert safe_gate(*RUN).code == 0
    in_actions("push", {"before": base, "after": base}, GITHUB_WORKSPACE=str(Path.cwd()))
    Path("evals/team.json").unlink()
    configure(synthesis_cases=["a.jsonl"])
    assert safe_gate(*RUN).code == 1
    assert safe_gate(*RUN, "--policy-ref", "base").code == 0


TOP, INSIDE, BELOW = (".", CONFIG), ("evals", ""), ("evals/deep", "../safe-gate.config.json")
BY_FULL_PATH = ("evals/deep", "/")


@pytest.mark.parametrize(
    ("place", "locked_from"), [(TOP, INSIDE), (INSIDE, BELOW), (BELOW, BY_FULL_PATH), (BY_FULL_PATH, TOP)]
)
def test_recordings_lock_and_waivers_lie_beside_the_config_wherever_the_gate_runs(
    safe_gate: SafeGate, in_actions: InActions, monkeypatch: Patch, place: tuple[str, str], locked_from: tuple[str, str]
) -> None:
    top = Path.cwd()

    def there(*command: str, place: tuple[str, str] = place) -> Ran:
        monkeypatch.chdir(top / place[0])
        config = str(top / CONFIG) if place[1] == "/" else place[1]
        ran = safe_gate(*command, *(("--config", config) if config else ()))
        monkeypatch.chdir(top)
        return ran

    def faults(*flags: str) -> list[str]:
        there("run", *flags, "--report-dir", str(top / "reports"))
        return [one["fault"] for one in report()["recordings"]["stale"]]

    Path("evals/deep").mkdir()
    for path in ("evals", "evals/deep", "shared"):
        Path(path, "prompt.txt").write_text("kind", "utf-8")
    write_cases(Path("evals/a.jsonl"), turn("a", assistant=BAD, checks=["agency_language"]))
    recordings = {"a.jsonl": ["*.txt", "../shared/*.txt", "deep/*.txt"]}
    settings: dict[str, Any] = {"synthesis_cases": ["a.jsonl"], "recordings": recordings, "stale_recordings": "fail"}
    configure(**settings)
    assert there("lock", place=locked_from).code == 0
    written = json.loads(Path("evals/safe-gate.lock.json").read_text("utf-8"))["recordings"]["a.jsonl"]["sources"]
    assert {*written} == {"prompt.txt", "../shared/prompt.txt", "deep/prompt.txt"}
    assert faults() == []
    waiver = ("--reason", "r", "--owner", "o", "--expires", "2099-01-01")
    assert there("bless", str(top / "reports/safe-gate.json"), *waiver, "--waivers", place=locked_from).code == 0
    assert there("run").code == 0
    assert there("doctor").code == 0
    before = commit_here()
    Path("shared/prompt.txt").write_text("rude", "utf-8")
    assert faults() == ["is older than its sources"]
    assert there("lock").code == 0
    assert faults() == []
    if place != BY_FULL_PATH:  # which is in no commit
        assert faults("--baseline", before) == ["has the base's outputs, although its sources changed"]
        in_actions("push", {"before": before, "after": before}, GITHUB_WORKSPACE=str(top))
        Path("evals/safe-gate.waivers.json").unlink()
        codes = [there("run", "--stale-recordings", "off", "--policy-ref", one).code for one in ("head", "base")]
        assert codes == [1, 0]
    configure(**settings | {"recordings": {"a.jsonl": ["*.md"]}})
    refused(there("lock"), "safe-gate.config.json:1: recordings.a.jsonl[0]: ", '*.md" matches no file')


NAMES = st.sampled_from([".", "..", "a", "b", "*"])


@given(st.lists(st.sampled_from(["..", "x", "y"]), min_size=1, max_size=3), st.lists(NAMES, min_size=1, max_size=4))
def test_a_path_below_a_folder_leads_where_a_shell_there_would(folder: list[str], names: list[str]) -> None:
    import posixpath

    start, path = "/".join(folder), "/".join(names)
    assert posixpath.normpath(join_path(start, path)) == posixpath.normpath(posixpath.join(start, path))
    assert join_path(start, f"/{path}") == f"/{path}"
