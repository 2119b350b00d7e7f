"""What every report for another system must be, whatever it holds: whole, valid, and harmless to who reads it."""

import csv
import io
import json
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import jsonschema

from safe_gate.inputs.checked import load_schema
from tests.support.cases import DATA

FORMATS = DATA / "formats"
FILES = {
    "json": ("safe-gate.json",),
    "markdown": ("safe-gate.md",),
    "html": ("safe-gate.html",),
    "junit": ("safe-gate.junit.xml",),
    "sarif": ("safe-gate.sarif",),
    "gitlab": ("safe-gate.gitlab.json",),
    "csv": ("safe-gate.cases.csv",),
    "jsonl": ("safe-gate.cases.jsonl",),
    "badge": ("safe-gate.badge.svg", "safe-gate.badge.json"),
}
ALL = ("--reports", ",".join(FILES))
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_XS = "{http://www.w3.org/2001/XMLSchema}"
_ACTS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff]")


class Page(HTMLParser):
    """A page that a run wrote: its elements, its scripts with their classes, its styles, and its other text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[tuple[str, str]] = []
        self.styles: list[str] = []
        self.words = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        _, attributes = self.elements[-1] if self.elements else ("", {})
        if self.cdata_elem == "script":
            self.scripts.append((attributes.get("class", ""), data))
        elif self.cdata_elem == "style":
            self.styles.append(data)
        else:
            self.words += data

    @property
    def cases(self) -> list[dict[str, Any]]:
        return [json.loads(one) for kind, text in self.scripts if kind == "cases" for one in text.splitlines() if one]


class Read(NamedTuple):
    """The reports of a run, each as its readers have it."""

    junit: ElementTree.Element
    sarif: dict[str, Any]
    gitlab: list[dict[str, Any]]
    csv: list[dict[str, str]]
    jsonl: list[dict[str, Any]]
    badge: dict[str, Any]

    @property
    def run(self) -> dict[str, Any]:
        found: dict[str, Any] = self.sarif["runs"][0]
        return found

    def test(self, name: str) -> ElementTree.Element:
        (found,) = (test for test in self.junit.iter("testcase") if test.get("name") == name)
        return found


def read(folder: str = "reports") -> Read:
    """Return the reports in a folder. Raises AssertionError for one that its readers would refuse, or be hurt by."""
    for name in ("junit", "sarif", "gitlab", "csv", "jsonl", "badge"):
        for file in FILES[name]:
            text = (Path(folder) / file).read_bytes().decode("utf-8")
            lines = re.split(r"\r\n|\r|\n", text)
            assert not [line for line in lines if line.lstrip().startswith("::") or "##[" in line], file
            assert not _ACTS.search(text), file
    html(_text(folder, "html"))
    return Read(_junit(folder), _sarif(folder), _gitlab(folder), _csv(folder), _jsonl(folder), _badge(folder))


def _text(folder: str, format_: str, number: int = 0) -> str:
    return (Path(folder) / FILES[format_][number]).read_bytes().decode("utf-8")


# --- HTML ---------------------------------------------------------------------------------------

_HARMLESS = frozenset(
    "a b body button caption circle code col colgroup del details div figcaption figure footer form h1 h2 h3 head "
    "header html ins label li line main mark meta noscript ol p path polygon rect script section span style summary "
    "svg table tbody td text th thead title tr ul".split()
)


def html(text: str) -> Page:
    """Return a page that asks for nothing, runs its own script alone, and holds no markup of recorded text."""
    page = Page(text)
    assert {tag for tag, _ in page.elements} <= _HARMLESS
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "srcset", "style")], tag
        assert attributes.get("href", "#").startswith("#")
        assert tag != "script" or attributes.get("type", "") in ("", "application/json")
    (policy,) = [one["content"] for tag, one in page.elements if one.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ")
    for kind, texts in {"script": [one for name, one in page.scripts if not name], "style": page.styles}.items():
        sources = [f"'sha256-{b64encode(sha256(one.encode()).digest()).decode()}'" for one in texts]
        assert re.findall(rf"{kind}-src ([^;]*)", policy) == [" ".join(sources)] * bool(sources)
        assert len(texts) <= 1
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    return page


# --- JUnit --------------------------------------------------------------------------------------


@cache
def _declared() -> dict[str, tuple[dict[str, bool], list[str], bool]]:
    """Return by element its attributes, which of them are required, its children, and whether these have an order."""
    schema = ElementTree.parse(FORMATS / "junit-10.xsd").getroot()
    found = {}
    for element in schema.findall(f"{_XS}element"):
        declared = element.findall(f"{_XS}complexType/{_XS}attribute")
        attributes = {str(one.get("name")): one.get("use") == "required" for one in declared}
        children = [str(one.get("ref")) for one in element.iter(f"{_XS}element") if one.get("ref")]
        has_text = element.get("type") == "xs:string" or any(one.get("mixed") for one in element)
        found[str(element.get("name"))] = attributes, children, has_text
    return found


def _junit(folder: str) -> ElementTree.Element:
    root = ElementTree.fromstring(_text(folder, "junit"))
    assert root.tag == "testsuites"
    for element in root.iter():
        attributes, children, has_text = _declared()[element.tag]
        assert {name for name, required in attributes.items() if required} <= set(element.keys()) <= attributes.keys()
        assert {child.tag for child in element} <= set(children)
        assert has_text or not (element.text or "").strip()
        assert not (element.tail or "").strip()
    for suite in root.iter("testsuite"):
        tests = suite.findall("testcase")
        assert int(suite.get("tests", "")) == len(tests)
        for attribute, tag in {"failures": "failure", "errors": "error", "skipped": "skipped"}.items():
            assert int(suite.get(attribute, "")) == sum(test.find(tag) is not None for test in tests)
    names = [(test.get("classname"), test.get("name")) for test in root.iter("testcase") if test.find("error") is None]
    assert len(set(names)) == len(names)
    return root


# --- SARIF and GitLab ---------------------------------------------------------------------------


@cache
def _sarif_schema() -> jsonschema.Draft202012Validator:
    schema = json.loads((FORMATS / "sarif-2.1.0.json").read_text("utf-8"))
    return jsonschema.Draft202012Validator(schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)


def _sarif(folder: str) -> dict[str, Any]:
    text = _text(folder, "sarif")
    assert len(text.encode("utf-8")) <= 10_000_000
    found: dict[str, Any] = json.loads(text)
    assert [error.message[:200] for error in _sarif_schema().iter_errors(found)] == []
    (run,) = found["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    assert len(run["results"]) <= 5_000
    prints = [result["partialFingerprints"]["primaryLocationLineHash"] for result in run["results"]]
    assert len(set(prints)) == len(prints)
    assert len({"baselineState" in result for result in run["results"]}) <= 1
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["locations"][0]["physicalLocation"]["region"]["startLine"] >= 1
        message = result["message"]["text"]
        assert not re.search(r"(?<!\\)[\[\]]", message)
        assert not re.search(r"(?<!\{)\{(?:\{\{)*(?!\{)", message)
    return found


def _gitlab(folder: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(_text(folder, "gitlab"))
    for issue in found:
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert re.fullmatch("[0-9a-f]{64}", issue["fingerprint"])
        assert issue["description"]
        assert issue["check_name"]
        assert issue["location"]["path"]
        assert issue["location"]["lines"]["begin"] >= 1
    assert len({issue["fingerprint"] for issue in found}) == len(found)
    return found


# --- cases and badge ----------------------------------------------------------------------------


def _csv(folder: str) -> list[dict[str, str]]:
    text = _text(folder, "csv")
    assert text.startswith("\ufeff")
    rows = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True))
    assert len({len(row) for row in rows}) == 1
    assert text.count("\n") == text.count("\r\n") == len(rows)
    for row in rows:
        assert not [one for one in row if one.lstrip().startswith(FORMULA) or len(one) > 32_767]
    header, *cases = rows
    return [dict(zip(header, row, strict=True)) for row in cases]


def _jsonl(folder: str) -> list[dict[str, Any]]:
    text = _text(folder, "jsonl")
    assert text.isascii()
    found = [json.loads(line) for line in text.split("\n")[:-1]]
    schema = load_schema("report-case")
    for case in found:
        assert schema.faults(case) == ()
    return found


def _badge(folder: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_text(folder, "badge", 1))
    assert found["schemaVersion"] == 1
    picture = ElementTree.fromstring(_text(folder, "badge"))
    assert picture.tag == "{http://www.w3.org/2000/svg}svg"
    assert picture.get("aria-label") == f"{found['label']}: {found['message']}"
    return found
