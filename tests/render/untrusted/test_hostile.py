"""Recorded text, ids, needles and file names that attack every surface; the manifest says what may not happen.

A probe of `data/hostile/manifest.jsonl` is a pattern (markdown, log, github_output, json) or selectors over
the Markdown rendered as CommonMark with tables, bare links and raw HTML.
"""

import json
import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from tests.support import hostile
from tests.support.cases import SILENT, Patch, SafeGate, refused, safe_case, turn, write_batch, write_cases, write_json
from tests.support.examples import is_thorough
from tests.support.hostile import ATTACKS, HOSTILE, MANIFEST, PROBES, SHORT_ATTACKS, Surfaces, broken, commands_in, page
from tests.support.safe_v0 import asking

SURFACES = ("markdown", "rendered", "log", "github_output", "json", "csv")
LOG_PROBES = [probe for probe in PROBES if probe["surface"] == "log"]


# What the renderer here never makes: it drops script links, and issue links are GitHub's own work.
UNSEEN = ("a[href^=javascript]", "a.issue-link")
SEEN = [probe for probe in PROBES if not probe.get("none_of", "").startswith(UNSEEN)]


def test_every_probe_finds_its_attack_where_the_text_is_shown_raw() -> None:
    for probe in SEEN:
        attack = ATTACKS[probe["token"]]
        raw = {one: [f"{attack}\n" * 2] for one in SURFACES} | {"csv": [",".join(attack.split())]}  # a cell each
        assert list(broken([probe], raw)), probe


MODES: Sequence[Sequence[str]] = ((), ("--text", "none"), ("--dry-run",))


@pytest.mark.parametrize("mode", MODES, ids=" ".join)
def test_hostile_turns_break_no_surface(surfaces: Surfaces, mode: Sequence[str]) -> None:
    code, shown = surfaces("--cases", HOSTILE, *mode)
    assert code == 1
    assert list(broken(PROBES, shown)) == []
    report = json.loads(shown["json"][0])
    assert [result["id"] for result in report["synthesis"]["results"]] == [entry["id"] for entry in MANIFEST]
    assert report["synthesis"]["summary"]["unexpected_failures"] == len(MANIFEST)
    if "none" in mode:  # tags are names and stay in the JSON report
        assert not re.search("h0s[01][0-9]", "".join(shown["markdown"] + shown["log"]))


EVERY = [attack[:200] for attack in (*ATTACKS.values(), *SHORT_ATTACKS)]
Arguments = tuple[str | Path, ...]


def turns(*cases: dict[str, Any]) -> Arguments:
    return "--cases", write_cases(Path("cases.jsonl"), *cases)


def batch(*cases: dict[str, Any]) -> Arguments:
    return "--batch", write_batch(Path("batch.json"), *cases)


def hostile_ids() -> Arguments:
    return turns(*(turn(text, assistant="You should know.", tags=[text], notes=text) for text in EVERY))


def hostile_negative_examples() -> Arguments:
    texts = [attack[:200] for attack in ATTACKS.values()]
    cases = [turn(text, tags=[f"{text}-pivot-fail", f"{text}-fail"]) for text in texts]  # the second excuses nothing
    return *turns(*cases), "--max-unexpected-passes", "0", "--profile", "standard"


def clinical(text: str, number: int) -> dict[str, Any]:
    """Return a SAFE v0 case that fails with a hostile text wherever one may stand."""
    expectations = asking([text, f"{number}"], [text, f"{number}"], forbidden=[text])
    output = SILENT | {"followup_questions": [text]}
    names = {"concern_id": text[:200], "archetype": text[:200], "expectations": expectations, "output": output}
    return safe_case(f"{text[:190]} {number}", **names)


def hostile_batch() -> Arguments:
    texts = (*(attack[:5_000] for attack in ATTACKS.values()), *SHORT_ATTACKS)
    return batch(*(clinical(text, i) for i, text in enumerate(texts)))


def hostile_problems() -> Arguments:
    cases = [turn(text, checks=[text], expected={text: True}, **{text: text}) for text in EVERY]
    return *turns(*cases), *batch(*(safe_case(text, archetype=[text], **{text: text}) for text in EVERY))


def hostile_groups(*, optional: bool = True) -> Arguments:
    """Return a run with rules on groups of hostile names: broken ones, ones of too few cases, ones of none."""
    texts = EVERY if is_thorough() else EVERY[::3]
    cases = [
        turn(f"{i} {n}", assistant="You should know.", tags=[t]) for i, t in enumerate(texts) for n in range(1 + i % 2)
    ]
    names = [*texts, *(f"none {text}" for text in texts)]
    of_archetypes = {"min-pass-rate": 1, "thresholds": {"CR": {"pass": 0.9}}, "optional": optional}
    of_tags = {"min-pass-rate": 1, "max-unexpected-failures": 0, "min-label-accuracy": 1, "optional": optional}
    groups = {"archetypes": dict.fromkeys(names[::2], of_archetypes), "tags": dict.fromkeys(names[1::2], of_tags)}
    config = write_json("groups.json", {"min-group": 2, **groups})
    of_batch = batch(*(clinical(t, i) | {"archetype": t} for i, t in enumerate(texts * 2)))
    return *turns(*cases), *of_batch, "--config", config


unknown_groups = partial(hostile_groups, optional=False)  # no case has some of them


def hostile_waivers() -> Arguments:
    """Return a run whose waivers are hostile in every field: in force, expired and unused ones."""
    kinds = {"agency_language": "2999-12-31", "topic_pivot": "2001-01-01", "unverifiable_reassurance": "2999-12-31"}
    fields = [dict.fromkeys(("id", "reason", "owner"), text) for text in EVERY]
    waivers = [one | {"check": check, "expires": ends} for one in fields for check, ends in kinds.items()]
    cases = (turn(text, assistant="You should know.") for text in EVERY)
    return *turns(*cases), "--waivers", write_json("waivers.json", {"waivers": waivers})


SOURCES = (
    *(hostile_ids, hostile_negative_examples, hostile_batch, hostile_groups),
    *(unknown_groups, hostile_waivers, hostile_problems),
)
OTHER_MODES = [pytest.param(mode, marks=pytest.mark.soak) for mode in MODES[1:]]


@pytest.mark.untraced
@pytest.mark.parametrize("mode", [MODES[0], *OTHER_MODES], ids=" ".join)
@pytest.mark.parametrize("source", SOURCES)
def test_hostile_names_break_nothing(source: Callable[[], Arguments], mode: Sequence[str], surfaces: Surfaces) -> None:
    code, shown = surfaces(*source(), *mode)
    assert code == (3 if source in (hostile_problems, unknown_groups) else 1)
    assert list(broken(PROBES, shown)) == []
    # They are shown all right, and as code: nothing recorded stands in the text around it.
    for text in shown["markdown"]:
        assert not re.search("h0s[01][0-9]", page(text).outside_code)
        assert "<!--" not in text
    for text in (shown["markdown"][0], shown["markdown"][-1]):
        assert any("h0s05" in element.text for element in page(text).elements if element.tag == "code")


def file_names() -> list[str]:
    """Return the attacks as names of files: no slash and no NUL, below 255 bytes."""
    texts = (attack.replace("/", "\u2215").replace("\0", "") for attack in (*ATTACKS.values(), *SHORT_ATTACKS))
    short = (text.encode("utf-8", "surrogateescape")[:200].decode("utf-8", "ignore") for text in texts)
    return [os.fsdecode(text.encode()) for text in short]


@pytest.mark.untraced
def test_hostile_file_names_break_no_surface(surfaces: Surfaces) -> None:
    folder = Path("names")
    folder.mkdir()
    for number, name in enumerate(file_names()):
        write_cases(folder / f"{name}.jsonl", turn(f"case {number}", assistant="You should know."))
        write_batch(folder / f"{name}.json", safe_case(f"batch {number}", output=SILENT))
    code, shown = surfaces("--cases", "names/*.jsonl", "--batch", "names/*.json")
    assert code == 1
    to_itself = [probe for probe in PROBES if str(probe.get("none_of")).startswith("a[href*=")]  # cases link to files
    assert list(broken([probe for probe in PROBES if probe not in to_itself], shown)) == []
    files = {f"names/{name}{suffix}" for name in file_names() for suffix in (".jsonl", ".json")}
    for text in (shown["markdown"][1], shown["markdown"][-1]):
        links = [element.attributes["href"] for element in page(text).elements if element.tag == "a"]
        to_files = {f"{hostile.BLOB}{file}#L1" for file in files}
        assert {unquote(link, errors="surrogateescape") for link in links} <= {hostile.COMMIT, *to_files}
        assert len(links) >= 20
    report = json.loads(shown["json"][0])
    assert {file["path"] for file in report["provenance"]["inputs"]} == files


def test_hostile_paths_of_no_file_are_one_harmless_line_each(safe_gate: SafeGate) -> None:
    ran = safe_gate("validate", "--", *file_names())
    lines = [line for line in refused(ran).split("\n") if "cannot be read" in line or "matches no file" in line]
    assert len(lines) == len(file_names())
    assert list(broken(LOG_PROBES, {"markdown": [], "log": [ran.log]})) == []


@pytest.mark.untraced
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("score --batch batch.json --format all --verbose --report-dir out", 1),
        ("score --batch batch.json --format markdown --output out/report.md", 1),
        ("eval --cases cases.jsonl --verbose --out out/report.json", 2),
        ("validate broken.jsonl broken.json", 3),
        ("run --cases cases.jsonl --config config.json", 3),
    ],
)
def test_hostile_names_and_needles_break_no_other_command(safe_gate: SafeGate, command: str, code: int) -> None:
    hostile_problems()
    for file in ("cases.jsonl", "batch.json"):
        Path(file).rename(f"broken{Path(file).suffix}")
    hostile_ids()
    hostile_batch()
    write_json("config.json", {attack[:100]: attack[:100] for attack in SHORT_ATTACKS})
    ran = safe_gate(*command.split())
    assert ran.code == code
    written = {path: path.read_bytes().decode("utf-8") for path in Path("out").rglob("*.*")}
    of = {end: [text for path, text in written.items() if path.suffix == end] for end in (".md", ".json")}
    assert "h0s05" in ran.log + "".join(written.values())
    assert bool(written) is (code < 3)
    assert all(re.fullmatch(r"[\w.,-]+", path.name, re.ASCII) for path in written)
    surfaces = {"markdown": of[".md"], "json": of[".json"], "log": [ran.log], "github_output": []}
    assert list(broken(PROBES, surfaces)) == []


@pytest.mark.untraced
@pytest.mark.parametrize("attack", [*ATTACKS.values(), *SHORT_ATTACKS], ids=lambda attack: ascii(attack)[:30])
def test_hostile_settings_break_no_doctor(attack: str, safe_gate: SafeGate, monkeypatch: Patch) -> None:
    text = attack.replace("\0", "")[:5_000]
    sides = {"head": {"sha": attack, "repo": {"full_name": attack}}, "base": {"sha": attack}}
    write_json("event.json", {"pull_request": {"number": 2, **sides}})
    given = dict.fromkeys("REPOSITORY SERVER_URL API_URL ACTOR WORKSPACE STEP_SUMMARY OUTPUT TOKEN".split(), text)
    for name, value in (given | {"ACTIONS": "true", "EVENT_NAME": "pull_request", "EVENT_PATH": "event.json"}).items():
        monkeypatch.setenv(f"GITHUB_{name}", value)
    monkeypatch.setenv("SAFE_GATE_SYNTHESIS_CASES", text)
    flags = ("--report-dir", "--safe-concern", "--rules-off", "--safe-test-dir")
    sink = f"--sinks=file:{' '.join(text.split())}"
    ran = safe_gate("doctor", "--all", sink, *(f"{flag}={text}" for flag in flags))
    assert ran.code == 3  # the pattern matches no file
    assert commands_in(ran.log) == []
    assert list(broken(LOG_PROBES, {"markdown": [], "log": [ran.log]})) == []
    names = re.findall(r"^  (\w[\w ]*?) {2,}", ran.out, re.MULTILINE)
    assert names == [
        *("commit", "event", "repository", "pull request", "base commit", "working folder", "API", "token"),
        *("comment", "annotations", "job summary", "step outputs", "reports", "events", "recorded text"),
    ]
    monkeypatch.setenv("GITHUB_EVENT_NAME", text)
    problems = (("--config", text), ("--min-pass-rate", text), (f"--{text}",), (f"--comment={text}",))
    for problem in problems[:: 1 if is_thorough() else 3]:
        ran = safe_gate("doctor", "--all", *problem)
        assert commands_in(ran.log) == []
        assert list(broken(LOG_PROBES, {"markdown": [], "log": [ran.log]})) == []
