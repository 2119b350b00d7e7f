"""`reports`: which files a run writes, for JUnit, SARIF, GitLab, spreadsheets, programs and badges."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safe_gate.core.model import Untrusted
from safe_gate.core.report import Report
from safe_gate.render import formats
from safe_gate.render.formats import sarif as sarif_format
from safe_gate.render.untrusted import cell, sarif, xml
from safe_gate.render.view import ReportView
from safe_gate.settings.options import settings
from tests.support.cases import BAD, REPOSITORY, SILENT, Ran, safe_case, turn, write_batch, write_cases
from tests.support.columns import cut
from tests.support.formats import ALL, FILES, FORMATS, FORMULA, read
from tests.support.github import outputs
from tests.support.memory import on_linux, peak

SafeGate = Callable[..., Ran]
HALF = {"signals": ["Fever"], "summary": "She went home.", "followup_questions": ["Which policy?"]}
TWO_TERMS = safe_case("x")["expectations"] | {"followup_questions": {"forbidden_terms": ["policy", "rule"]}}


def waive(*waivers: dict[str, str]) -> None:
    fields = {"reason": "Known since March.", "owner": "@ana", "expires": "2999-12-31"}
    Path("safe-gate.waivers.json").write_text(json.dumps({"waivers": [one | fields for one in waivers]}), "utf-8")


def clinical() -> tuple[str, ...]:
    """Write SAFE v0 cases that pass, are for review, fail, and fail with a waiver; return the flags of a run."""
    write_batch(
        Path("b.json"),
        safe_case("passes"),
        safe_case("reviewed", output=HALF, expectations=TWO_TERMS),
        safe_case("fails", output=SILENT),
        safe_case("waived", output=SILENT | {"signals": ["Fever"]}),
    )
    waive({"id": "waived", "metric": "AC"})
    return "--safe-batch", "b"


# --- which files --------------------------------------------------------------------------------


def written() -> set[str]:
    return {path.name for path in Path("reports").iterdir()}


def test_a_format_is_a_module_and_a_choice() -> None:
    (setting,) = (one for one in settings() if one.name == "reports")
    folder = Path(formats.__file__).parent
    assert {path.stem for path in folder.glob("*.py")} == {*setting.choices, "__init__"}
    schema = json.loads((REPOSITORY / "schemas/config.schema.json").read_text("utf-8"))
    assert tuple(schema["$defs"]["reports"]["items"]["enum"]) == setting.choices
    assert {name: tuple(file for file, _ in formats.files([name])) for name in setting.choices} == FILES


@pytest.mark.parametrize(
    ("flags", "names"),
    [
        ((), {"json", "markdown"}),
        (("--reports", "junit"), {"junit"}),
        (("--reports", "csv, badge ,csv"), {"csv", "badge"}),
        (("--reports", "json", "jsonl"), {"json", "jsonl"}),
    ],
)
def test_the_setting_replaces_the_list(safe_gate: SafeGate, flags: tuple[str, ...], names: set[str]) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl", *flags)
    assert ran.code == 0
    assert written() == {file for name in names for file in FILES[name]}
    assert all(f"reports/{file}" in ran.out for file in written())


@pytest.mark.parametrize("source", ["config", "variable", "input"])
def test_each_source_sets_the_list(safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    if source == "config":
        Path("safe.config.json").write_text('{"reports": ["junit", "badge"]}', "utf-8")
    else:
        name = "INPUT_REPORTS" if source == "input" else "SAFE_GATE_REPORTS"
        monkeypatch.setenv(name, "junit\nbadge" if source == "input" else "junit,badge")
    assert safe_gate("run", "--synthesis-cases", "c.jsonl").code == 0
    assert written() == {*FILES["junit"], *FILES["badge"]}


@pytest.mark.parametrize("config", ["", '{"reports": ["pdf"]}', '{"reports": []}'])
def test_a_format_that_is_not_there_is_refused(safe_gate: SafeGate, config: str) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    if config:
        Path("safe.config.json").write_text(config, "utf-8")
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl", *([] if config else ["--reports", "json,pdf"]))
    assert ran.code == 3
    assert "reports" in ran.err
    assert "json, markdown, html, junit, sarif, gitlab" in ran.err.replace('"', "")
    assert json.loads(Path("reports/safe-gate.json").read_text("utf-8"))["verdict"] == "error"


def test_the_formats_of_score_stay_a_setting_of_their_own(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), safe_case("a"))
    Path("safe.config.json").write_text('{"reportFormats": ["json", "markdown"], "reports": ["badge"]}', "utf-8")
    assert safe_gate("score", "--batch", "b").code == 0
    assert sorted(path.suffix for path in Path("reports").iterdir()) == [".json", ".md"]
    assert safe_gate("run", "--safe-batch", "b").code == 0
    assert {*FILES["badge"]} <= written()


def test_step_outputs_name_the_files(safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    monkeypatch.setenv("GITHUB_OUTPUT", "output")
    assert safe_gate("run", "--synthesis-cases", "c.jsonl", "--reports", "badge,json").code == 0
    found = outputs(Path("output").read_text("utf-8"))
    assert found["reports"].splitlines() == [f"reports/{name}" for name in (*FILES["badge"], *FILES["json"])]
    assert (found["report-json"], found["report-markdown"]) == ("reports/safe-gate.json", "")


# --- whole or not at all ------------------------------------------------------------------------


def test_where_one_file_cannot_be_written_none_says_that_the_gate_passed(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    assert safe_gate("run", "--synthesis-cases", "c.jsonl", *ALL).code == 0
    Path("reports/safe-gate.sarif").unlink()
    Path("reports/safe-gate.sarif").mkdir()
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl", *ALL)
    assert ran.code == 3
    assert "reports/safe-gate.sarif: cannot be written: Not a regular file" in ran.err
    Path("reports/safe-gate.sarif").rmdir()
    shutil.copy("reports/safe-gate.json", "report.json")
    no_verdict = json.loads(Path("report.json").read_text("utf-8"))
    Path("reports/safe-gate.sarif").write_text(
        "".join(
            dict(formats.files(["sarif"]))["safe-gate.sarif"](formats.Run(ReportView.of(Report.from_json(no_verdict))))
        )
    )
    found = read()
    assert no_verdict["verdict"] == "error"
    assert found.junit.find(".//error") is not None
    assert found.badge["message"] == "could not judge"
    assert found.gitlab[0]["severity"] == "blocker"
    assert found.csv == found.jsonl == []


def test_no_file_is_replaced_before_all_are_written(safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    seen: list[dict[str, str]] = []

    def watched(_run: object) -> Iterator[str]:
        yield "last"
        found = {path.name: path.read_text("utf-8") for path in Path("reports").glob("safe-gate*")}
        seen.append(found)

    real = formats.files
    monkeypatch.setattr(formats, "files", lambda names: [*real(names), ("safe-gate.last", watched)])
    assert safe_gate("run", "--synthesis-cases", "c.jsonl").code == 0
    unfinished = seen[-1]
    assert set(unfinished) == {"safe-gate.json", "safe-gate.md", "safe-gate.last"}
    assert json.loads(unfinished["safe-gate.json"])["verdict"] == "error"
    assert json.loads(Path("reports/safe-gate.json").read_text("utf-8"))["verdict"] == "pass"
    assert not [path for path in Path("reports").iterdir() if path.name.startswith(".")]


def test_a_run_that_cannot_judge_leaves_no_old_pass(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    assert safe_gate("run", "--synthesis-cases", "c.jsonl", *ALL).code == 0
    write_cases(Path("c.jsonl"), turn("a"), turn("a"))
    assert safe_gate("run", "--synthesis-cases", "c.jsonl", *ALL).code == 3
    found = read()
    (error,) = found.junit.iter("error")
    assert "appears at c.jsonl:1 too" in str(error.get("message"))
    assert not found.run["invocations"][0]["executionSuccessful"]
    (fault,) = found.run["invocations"][0]["toolConfigurationNotifications"]
    assert fault["locations"][0]["physicalLocation"]["region"]["startLine"] == 2
    assert found.badge == {
        "schemaVersion": 1,
        "label": "SAFE Gate",
        "message": "could not judge",
        "color": "lightgrey",
        "isError": True,
    }


def test_wrong_settings_replace_the_reports_that_the_list_names(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    Path("safe.config.json").write_text('{"reports": ["badge"]}', "utf-8")
    assert safe_gate("run", "--synthesis-cases", "c.jsonl").code == 0
    assert safe_gate("run", "--synthesis-cases", "c.jsonl", "--min-pass-rate", "x").code == 3
    assert json.loads(Path("reports/safe-gate.badge.json").read_text("utf-8"))["message"] == "could not judge"


# --- the formats --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [file for name in FILES if name not in ("json", "markdown") for file in FILES[name]])
def test_the_reports_are_these(safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
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


def outcomes(found: Any, case: str) -> dict[str, str]:
    """Return by test of a case what became of it, with the reason."""
    (suite,) = (one for one in found.junit.iter("testsuite") if one.get("name") == case)
    return {
        str(test.get("name")).removeprefix(f"{case} "): next(
            (f"{one.tag}: {one.get('message')}" for one in test), "passes"
        )
        for test in suite.iter("testcase")
    }


def properties(found: Any, case: str) -> dict[str, str]:
    (suite,) = (one for one in found.junit.iter("testsuite") if one.get("name") == case)
    return {str(one.get("name")): str(one.get("value")) for one in suite.iter("property")}


CHECKS = ("agency_language", "unverifiable_reassurance", "topic_pivot")


@pytest.fixture
def judged(safe_gate: SafeGate) -> Any:
    """Return the reports of a run with cases of every fate."""
    clinical()
    calm = turn("calm", user="Where is my invoice?", assistant="It is under Billing.", checks=["topic_pivot"])
    write_cases(
        Path("c.jsonl"),
        *(turn("good"), turn("bad", assistant=BAD), turn("known", assistant=BAD), calm),
        turn("negative", assistant=BAD, tags=["custody", "negative_example"]),
        turn("feigned", tags=["negative_example"]),
        turn("silent", assistant=""),
    )
    waive({"id": "waived", "metric": "AC"}, *({"id": "known", "check": check} for check in CHECKS))
    assert safe_gate("run", "--synthesis-cases", "c.jsonl", "--safe-batch", "b", *ALL).code == 1
    return read()


def test_junit_tells_what_became_of_each_check(judged: Any) -> None:
    passes = dict.fromkeys(CHECKS, "passes")
    waived = "skipped: waived until 2999-12-31 by @ana: Known since March."
    expected = "skipped: expected failure: a negative example, by its tag negative_example"
    assert outcomes(judged, "good") == passes
    assert [one.partition(":")[0] for one in outcomes(judged, "bad").values()] == ["failure"] * 3
    assert outcomes(judged, "known") == dict.fromkeys(CHECKS, waived)
    assert outcomes(judged, "negative") == dict.fromkeys(CHECKS, expected)
    assert outcomes(judged, "feigned") == passes
    assert outcomes(judged, "calm") == {"topic_pivot": "passes"}
    assert properties(judged, "calm")["topic_pivot.label"] == "not applicable"
    assert outcomes(judged, "reviewed") == {"CR": "passes", "AH": "passes", "AC": "passes"}
    assert (properties(judged, "reviewed")["label"], properties(judged, "reviewed")["AH.label"]) == ("Review", "Review")
    assert outcomes(judged, "waived") == {"CR": "passes", "AH": "passes", "AC": waived}
    assert outcomes(judged, "fails")["CR"] == "failure: Correct recall 0.00: Fail"


def test_junit_fails_a_rule_that_is_broken_and_the_case_that_breaks_it(judged: Any) -> None:
    rules = outcomes(judged, "gate")
    assert rules["max-no-reply synthesis"].startswith("failure: 1 ")
    assert (
        "failure: " in outcomes(judged, "silent")["case" if "case" in outcomes(judged, "silent") else "agency_language"]
    )


def test_sarif_has_what_somebody_must_see_to(judged: Any) -> None:
    results = {
        (one["locations"][0]["logicalLocations"][0]["name"], one["ruleId"]): one for one in judged.run["results"]
    }
    cases = {case for case, _ in results}
    assert cases >= {"reviewed", "fails", "waived", "bad", "known", "silent"}
    assert not cases & {"good", "passes", "calm", "negative"}
    assert results["known", "synthesis/topic_pivot"]["suppressions"][0]["justification"] == (
        "Waived until 2999-12-31 by @ana: Known since March."
    )
    assert "suppressions" not in results["bad", "synthesis/topic_pivot"]
    assert results["bad", "synthesis/agency_language"]["level"] == "error"
    place = results["bad", "synthesis/agency_language"]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "c.jsonl", "uriBaseId": "%SRCROOT%"}
    assert place["region"]["startLine"] == place["region"]["endLine"] == 2
    for hit in results["bad", "synthesis/agency_language"]["properties"]["hits"]:
        assert 0 <= hit["start"] < hit["end"] <= len(BAD)
    assert all(
        rule["help"]["text"] and rule["fullDescription"]["text"] for rule in judged.run["tool"]["driver"]["rules"]
    )
    said = judged.run["invocations"][0]["toolExecutionNotifications"]
    assert any("(max-unexpected-failures)" in one["message"]["text"] for one in said)


@pytest.mark.parametrize("flags", [(), ("--text", "none"), ("--jobs", "2")])
def test_sarif_shows_the_deciding_words_in_the_line_as_it_is_written(
    safe_gate: SafeGate, flags: tuple[str, ...]
) -> None:
    reply = r"\u201cOh\u201d \ud83d\ude00 😀\nYou \u006dust tell him."
    cases = [turn(f"c{number}") for number in range(60)]  # more than a part has
    write_cases(Path("c.jsonl"), *cases)
    last = f'  {{"user": "😀", "id": "last", "assistant": "{reply}", "checks": ["agency_language"]}}\r\n'
    with Path("c.jsonl").open("a", encoding="utf-8", newline="") as file:
        file.write(last)
    Path("c.jsonl").write_bytes(b"\xef\xbb\xbf" + Path("c.jsonl").read_bytes())
    safe_gate("run", "--synthesis-cases", "c.jsonl", *ALL, *flags)
    (result,) = (one for one in read().run["results"] if "last: " in one["message"]["text"])
    region = result["locations"][0]["physicalLocation"]["region"]
    assert (region["startLine"], region["endLine"]) == (61, 61)
    assert cut(last, (region["startColumn"], region["endColumn"])) == r"You \u006dust"


def test_sarif_shows_the_whole_reply_where_no_words_decide_and_of_a_batch_the_case(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("silent", assistant="It is raining.", checks=["agency_language"]))
    write_batch(Path("b.json"), safe_case("first"), safe_case("second", output=SILENT))
    safe_gate("run", "--synthesis-cases", "c.jsonl", "--safe-batch", "b", *ALL)
    regions = {
        one["locations"][0]["logicalLocations"][0]["name"]: one["locations"][0]["physicalLocation"]["region"]
        for one in read().run["results"]
    }
    line, reply = Path("c.jsonl").read_text("utf-8"), regions["silent"]
    assert cut(line, (reply["startColumn"], reply["endColumn"])) == "It is raining."
    batch, case = Path("b.json").read_text("utf-8").splitlines(), regions["second"]
    from_there = "\n".join([batch[case["startLine"] - 1][case["startColumn"] - 1 :], *batch[case["startLine"] :]])
    assert json.JSONDecoder().raw_decode(from_there)[0]["test_id"] == "second"


def test_sarif_shows_the_deciding_words_of_each_message_of_a_conversation(safe_gate: SafeGate) -> None:
    said = ["You must go.", [{"type": "text", "text": "Oh."}, {"type": "text", "text": "You need to stay."}]]
    messages = [
        message
        for reply in said
        for message in ({"role": "user", "content": "I am 😀."}, {"role": "assistant", "content": reply})
    ]
    case = {"id": "talk", "messages": messages, "turns": "all", "checks": ["agency_language"]}
    write_cases(Path("c.jsonl"), case)
    safe_gate("run", "--synthesis-cases", "c.jsonl", *ALL)
    regions = [one["locations"][0]["physicalLocation"]["region"] for one in read().run["results"]]
    line = Path("c.jsonl").read_text("utf-8")
    found = [cut(line, (one["startColumn"], one["endColumn"])) for one in regions]
    assert found == ["You must", "You need to"]


def test_sarif_names_a_file_outside_the_repository_by_its_whole_address(
    safe_gate: SafeGate, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = write_cases(tmp_path_factory.mktemp("elsewhere") / "a b.jsonl", turn("bad", assistant=BAD))
    safe_gate("run", "--synthesis-cases", str(path), *ALL)
    place = read().run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": path.as_uri()}


def test_gitlab_has_no_issue_for_what_is_waived_or_expected(judged: Any) -> None:
    said = " ".join(issue["description"] for issue in judged.gitlab)
    assert "bad: " in said
    assert "known: " not in said
    assert "negative: " not in said
    rules = [issue for issue in judged.gitlab if issue["check_name"].startswith("gate/")]
    assert {issue["severity"] for issue in rules} == {"blocker"}


def test_tables_have_every_case(judged: Any) -> None:
    assert [row["id"] for row in judged.csv] == [case["id"] for case in judged.jsonl]
    assert len(judged.csv) == 11
    by_id = {row["id"]: row for row in judged.csv}
    assert (by_id["good"]["topic_pivot"], by_id["calm"]["topic_pivot"]) == ("passes", "not applicable")
    assert (by_id["fails"]["CR"], by_id["fails"]["topic_pivot"]) == ("0.0", "")
    assert (by_id["negative"]["label"], by_id["negative"]["passed"]) == ("fails", "yes")
    assert by_id["known"]["waived"] == "agency_language; topic_pivot; unverifiable_reassurance"
    lines = {case["id"]: case for case in judged.jsonl}
    assert lines["known"]["judgements"]["topic_pivot"]["waiver"]["reason"] == "Known since March."
    assert lines["negative"]["expected_failure"]
    for hit in lines["bad"]["judgements"]["agency_language"]["hits"]:
        assert BAD[hit["start"] : hit["end"]] == hit["text"]


def test_results_are_known_again_wherever_their_cases_stand(safe_gate: SafeGate) -> None:
    def fingerprints() -> dict[str, str]:
        results = read().run["results"]
        return {one["message"]["text"]: one["partialFingerprints"]["primaryLocationLineHash"] for one in results}

    cases = [turn(f"c{number}", assistant=BAD) for number in range(4)]
    write_cases(Path("c.jsonl"), *cases)
    safe_gate("run", "--synthesis-cases", "c.jsonl", *ALL)
    first, issues = fingerprints(), {one["fingerprint"] for one in read().gitlab if one["severity"] != "blocker"}
    write_cases(Path("c.jsonl"), turn("new"), *reversed(cases))
    safe_gate("run", "--synthesis-cases", "c.jsonl", *ALL)
    assert fingerprints() == first
    assert {one["fingerprint"] for one in read().gitlab if one["severity"] != "blocker"} == issues


def test_a_baseline_gives_each_result_a_state(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("was bad", assistant=BAD), turn("gets bad"), turn("stays good"))
    safe_gate("run", "--synthesis-cases", "c.jsonl", *ALL)
    assert not any("baselineState" in one for one in read().run["results"])
    Path("reports/safe-gate.json").rename("old.json")
    added = turn("added", assistant=BAD)
    write_cases(
        Path("c.jsonl"), turn("was bad", assistant=BAD), turn("gets bad", assistant=BAD), turn("stays good"), added
    )
    safe_gate("run", "--synthesis-cases", "c.jsonl", "--baseline", "old.json", *ALL)
    found = read()
    states = {one["locations"][0]["logicalLocations"][0]["name"]: one["baselineState"] for one in found.run["results"]}
    assert states == {"was bad": "unchanged", "gets bad": "new", "added": "new"}
    assert {row["id"]: row["change"] for row in found.csv} == {
        "was bad": "still failing",
        "gets bad": "newly failing",
        "stays good": "",
        "added": "new case",
    }
    assert properties(found, "gets bad")["since-baseline"] == "newly failing"


def test_places_are_paths_from_the_root_of_the_repository(safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    Path("evals/a b").mkdir(parents=True)
    write_cases(Path("evals/a b/ç.jsonl"), turn("bad", assistant=BAD))
    monkeypatch.chdir("evals")
    safe_gate("run", "--synthesis-cases", "a b/*.jsonl", *ALL)
    found = read()
    assert (
        found.run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        == "evals/a%20b/%C3%A7.jsonl"
    )
    assert found.gitlab[-1]["location"]["path"] == "evals/a b/ç.jsonl"


def test_sarif_keeps_to_what_github_shows_and_says_what_is_left_out(
    safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sarif_format._MOST == 5_000
    monkeypatch.setattr(sarif_format, "_MOST", 4)
    batch = [safe_case(f"reviewed {number}", output=HALF, expectations=TWO_TERMS) for number in range(4)]
    write_batch(Path("b.json"), *batch, safe_case("fails", output=SILENT))
    for most_bytes, kept in ((sarif_format._MOST_BYTES, 4), (900, 1)):
        monkeypatch.setattr(sarif_format, "_MOST_BYTES", most_bytes)
        assert safe_gate("run", "--safe-batch", "b", *ALL).code == 1
        run = read().run
        assert len(run["results"]) == kept
        assert run["results"][0]["locations"][0]["logicalLocations"][0]["name"] == "fails"  # what matters most
        first, *_ = run["invocations"][0]["toolExecutionNotifications"]
        assert first["message"]["text"].startswith(f"{6 - kept} more results left out")


def test_without_texts_no_format_holds_a_word(safe_gate: SafeGate) -> None:
    word = "kanariword"
    reply = f"You should stop being so {word}. You'll definitely be fine, {word}, I promise."
    write_cases(Path("c.jsonl"), turn("a", user=f"I feel awful, {word}.", assistant=reply))
    expectations = safe_case("s")["expectations"] | {
        "signal_generation": {"must_find_signals": [word]},
        "event_summary": {"must_contain_phrases": [word]},
    }
    write_batch(Path("b.json"), safe_case("s", expectations=expectations, output=SILENT))
    for text in ("full", "none"):
        assert safe_gate("run", "--synthesis-cases", "c.jsonl", "--safe-batch", "b", "--text", text, *ALL).code == 1
        read()
        texts = {path.name: path.read_text("utf-8") for path in Path("reports").iterdir()}
        holding = {name for name, one in texts.items() if word in one}
        badges = set(FILES["badge"])
        assert holding == (set(texts) - badges if text == "full" else set())


# --- texts --------------------------------------------------------------------------------------


@given(st.text() | st.text("=+-@;' \"a"))
def test_a_text_is_one_cell_that_is_no_formula_and_legal_xml(text: str) -> None:
    from xml.etree import ElementTree

    assert not any(one.lstrip(' "').startswith(FORMULA) for one in cell(Untrusted(text)).split(";"))
    assert ElementTree.fromstring(f'<a b="{xml(Untrusted(text))}"/>').get("b") is not None
    assert "##[" not in xml(Untrusted(text)) + cell(Untrusted(text)) + sarif(Untrusted(text))


# --- inputs beside reports ----------------------------------------------------------------------


def test_a_glob_of_batches_passes_over_the_reports(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), safe_case("a"))
    for _ in range(2):
        ran = safe_gate("run", "--safe-batch", "**/*.json", *ALL)
        assert ran.code == 0, ran.log
    assert "reports/safe-gate.gitlab.json" in ran.err
    assert len(read().csv) == 1


def test_a_glob_of_cases_passes_over_those_of_a_report(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    for command in (("run", *ALL), ("run", *ALL), ("eval",)):
        ran = safe_gate(command[0], "--synthesis-cases", "**/*.jsonl", *command[1:])
        assert ran.code == 0, ran.log
        assert 'skipped 1 file of its own that synthesis-cases matches: "reports/safe-gate.cases.jsonl"' in ran.err
    assert len(read().csv) == 1


# --- memory -------------------------------------------------------------------------------------


@on_linux
@pytest.mark.usefixtures("safe_gate")
def test_ten_times_the_cases_take_no_more_memory() -> None:
    for count in (100, 1_000):
        Path(f"{count}").mkdir()
        for first in range(0, count, 100):
            cases = (safe_case(f"case-{n}", output=SILENT) for n in range(first, first + 100))
            write_batch(Path(f"{count}") / f"{first}.json", *cases)
    (few, least), (many, most) = (
        peak("run", "--reports", "junit,gitlab,csv,jsonl,html", "--safe-batch", f"{count}/*.json")
        for count in (100, 1_000)
    )
    assert few == many == "1"
    assert most < 1.2 * least
