"""`reports`: which files a run writes."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from safe_gate.gate.stored import read_report
from safe_gate.render import formats
from safe_gate.render.view import ReportView
from safe_gate.settings import settings
from tests.support.cases import Patch, SafeGate, read_json, refused, report, turn, write_json
from tests.support.formats import ALL, FILES, FORMATS, read
from tests.support.git import git
from tests.support.github import outputs
from tests.support.judged_run import clinical
from tests.support.synthesis import run


def test_a_format_is_a_choice() -> None:
    (setting,) = (one for one in settings() if one.name == "reports")
    folder = Path(formats.__file__).parent
    assert {path.stem for path in folder.glob("*.py")} <= {*setting.choices, "__init__"}
    assert {name: tuple(file for file, _ in formats.format_files([name])) for name in setting.choices} == FILES


@pytest.mark.parametrize(
    ("flags", "names"),
    [
        ((), ["json", "markdown"]),
        (("--reports", "junit"), ["junit"]),
        (("--reports", "csv, badge ,csv"), ["csv", "badge"]),
        (("--reports", "badge", "json"), ["badge", "json"]),
    ],
)
def test_the_setting_replaces_the_list_and_step_outputs_name_the_files(
    safe_gate: SafeGate, monkeypatch: Patch, flags: tuple[str, ...], names: list[str]
) -> None:
    monkeypatch.setenv("GITHUB_OUTPUT", "output")
    ran = run(safe_gate, turn("a"), flags=flags)
    assert ran.code == 0
    found = outputs(Path("output").read_text("utf-8"))
    paths = [f"reports/{file}" for name in names for file in FILES[name]]
    assert {str(path) for path in Path("reports").iterdir()} == {*paths}
    assert found["reports"].splitlines() == paths
    assert found["report-json"] == "reports/safe-gate.json" * ("json" in names)
    assert found["report-markdown"] == "reports/safe-gate.md" * ("markdown" in names)
    assert all(path in ran.out for path in paths)


def test_a_format_that_is_not_there_is_refused(safe_gate: SafeGate) -> None:
    for formats_, flags in ((["json"], ("--reports", "json,pdf")), (["pdf"], ()), ([], ())):
        write_json("safe.config.json", {"reports": formats_})
        said = refused(run(safe_gate, turn("a"), flags=flags), "reports")
        assert "json, markdown, html, junit, sarif, gitlab" in said.replace('"', "")
        assert report()["verdict"] == "error"


def test_where_one_file_cannot_be_written_none_says_that_the_gate_passed(safe_gate: SafeGate) -> None:
    assert run(safe_gate, turn("a"), flags=ALL).code == 0
    file = Path("reports/safe-gate.sarif")
    file.unlink()
    file.mkdir()
    words = f"{file}: cannot be written: it is a folder, and a file is needed there; move it, or name a file"
    refused(run(safe_gate, flags=ALL), words)
    file.rmdir()
    no_verdict = report()
    file.write_text("".join(dict(formats.format_files(["sarif"]))[file.name](ReportView(read_report(no_verdict)))))
    found = read()
    assert no_verdict["verdict"] == "error"
    assert found.junit.find(".//error") is not None
    assert found.badge["message"] == "could not judge"


def test_no_file_is_replaced_before_all_are_written(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    unfinished: dict[str, str] = {}

    def watched(_run: object) -> Iterator[str]:
        yield "last"
        unfinished.update({path.name: path.read_text("utf-8") for path in Path("reports").glob("safe-gate*")})

    real = formats.format_files
    monkeypatch.setattr(formats, "format_files", lambda names: [*real(names), ("safe-gate.last", watched)])
    assert run(safe_gate, turn("a")).code == 0
    assert set(unfinished) == {"safe-gate.json", "safe-gate.md", "safe-gate.last"}
    assert json.loads(unfinished["safe-gate.json"])["verdict"] == "error"
    assert report()["verdict"] == "pass"
    assert not [path for path in Path("reports").iterdir() if path.name.startswith(".")]


def test_a_run_that_cannot_judge_leaves_no_old_pass(safe_gate: SafeGate) -> None:
    assert run(safe_gate, turn("a"), flags=ALL).code == 0
    assert run(safe_gate, turn("a"), turn("a"), flags=ALL).code == 3
    found = read()
    (error,) = found.junit.iter("error")
    assert "appears at c.jsonl:1 too" in str(error.get("message"))
    assert not found.run["invocations"][0]["executionSuccessful"]
    (fault,) = found.run["invocations"][0]["toolConfigurationNotifications"]
    assert fault["locations"][0]["physicalLocation"]["region"]["startLine"] == 2
    assert found.badge.items() >= {"message": "could not judge", "color": "lightgrey", "isError": True}.items()
    words = "c.jsonl:2: a: id: appears at c.jsonl:1 too; expected ids that are unique in the run"
    assert fault["message"]["text"] == found.gitlab[0]["description"] == words
    assert found.gitlab[0]["severity"] == "blocker"
    assert found.csv == found.jsonl == []
    write_json("safe.config.json", {"reports": ["badge"]})
    assert run(safe_gate, turn("a")).code == 0
    assert read_json("reports/safe-gate.badge.json")["message"].startswith("passed")
    assert run(safe_gate, flags=("--min-pass-rate", "x")).code == 3
    assert read_json("reports/safe-gate.badge.json")["message"] == "could not judge"


def test_a_wrong_setting_is_named_and_stands_at_a_file_that_is_there(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    git("init", "-q")
    Path("evals").mkdir()
    monkeypatch.chdir("evals")
    monkeypatch.setenv("SAFE_GATE_MIN_PASS_RATE", "7")
    words = 'SAFE_GATE_MIN_PASS_RATE: is "7"; expected a number from 0 to 1'
    assert run(safe_gate, turn("a"), flags=ALL).code == 3
    found = read()
    (fault,) = found.run["invocations"][0]["toolConfigurationNotifications"]
    (issue,) = found.gitlab
    assert fault["message"]["text"] == issue["description"] == words
    assert issue["location"] == {"path": ".gitlab-ci.yml", "lines": {"begin": 1}}
    monkeypatch.setenv("SAFE_GATE_MIN_PASS_RATE", "1")
    monkeypatch.setenv("SAFE_GATE_TAG", "b")  # which is found out when the cases are read
    assert run(safe_gate, turn("a"), flags=ALL).code == 3
    (issue,) = read().gitlab
    assert issue["description"].startswith("SAFE_GATE_TAG: leaves no Synthesis case to judge")
    assert issue["location"]["path"] == "evals/c.jsonl"


@pytest.mark.parametrize("name", [file for name in FILES if name not in ("json", "markdown") for file in FILES[name]])
def test_the_reports_are_these(safe_gate: SafeGate, monkeypatch: Patch, name: str) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert safe_gate("run", *clinical(), "--min-pass-rate", "0.9", *ALL).code == 1
    read()
    expected = FORMATS / "expected" / name
    found = (Path("reports") / name).read_bytes().decode("utf-8")
    if name.endswith(".html"):  # its style and script are files of their own, and its digest is of all settings, too
        varies = r"(<style>|<script>|digest <code[^>]*>).*?(?=</)|sha256-[^']*"
        found = re.sub(varies, r"\1", found, flags=re.DOTALL)
    if os.environ.get("TESTS_UPDATE"):
        expected.write_bytes(found.encode())
    assert found.encode() == expected.read_bytes()
