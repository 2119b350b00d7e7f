"""Attacks in recorded text, and what they do to a page or a log that shows them."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from markdown_it.rules_core import text_join

from safe_gate.gate.stored import read_report
from safe_gate.model.report import Origin
from safe_gate.render.markdown import COMMENT_LIMIT, scorecards_by_length
from safe_gate.render.view import ReportView
from tests.support.cases import DATA, Ran, read_lines
from tests.support.formats import ALL
from tests.support.formats import read as read_reports
from tests.support.github import outputs

HOSTILE = DATA / "hostile" / "synthesis_hostile.jsonl"
OUTPUTS = {
    *("verdict", "pass-rate", "unexpected-failures", "label-accuracy", "total-cases"),
    *("report-json", "report-markdown", "reports", "comment-file", "comment-status", "comment-url"),
    "sink-status",
}
ORIGIN = Origin("https://github.com/octo/app", commit="f00d")
BLOB = "https://github.com/octo/app/blob/f00d/"
COMMIT = "https://github.com/octo/app/commit/f00d"


MANIFEST = read_lines(DATA / "hostile" / "manifest.jsonl")
# Each attack on its own: what the hostile turns say after their token, without the sentence around it.
ATTACKS = {
    entry["token"]: case["user"][case["user"].index(entry["token"]) :]
    for entry, case in zip(MANIFEST, read_lines(HOSTILE), strict=True)
}
# Names, ids and needles are attacked by these as well: what the manifest's texts do not hold in their first words.
SHORT_ATTACKS = (
    *("h0s05\n::error::h0s05", "::error::h0s05", "  ::error::h0s05", "\r::error::h0s05", "##[error]h0s05"),
    *("-x h0s05", "%0A::error::h0s05", "a,line=1::h0s05", "verdict<<EOF\npass\nEOF", "\udcff \x01\x9b h0s10"),
    *("a | b | c", "`h0s01`", "<!-- h0s07", "h0s07 -->", "<!-- safe-gate -->", "</code><h1>h0s04", "&#60;b&#62;"),
    *("@org/team", "fixes #12", "https:h0s03 www.example.com", "![h0s03](//h0s03.png)"),
    *("h0s03@example.com", "mailto:h0s03@example.com", "https://h0s03.example.com/x", "www.h0s03.example.com"),
    *("\u202eh0s09", "\x1b[2J\x1b]0;h0s08\x07"),
)


@dataclass
class Element:
    tag: str
    attributes: Mapping[str, str]
    text: str = ""


@dataclass
class Page(HTMLParser):
    """Markdown rendered: its elements with their texts, and the text outside of code.

    GitHub looks for mentions and references in one text node at a time, so a NUL stands between two.
    """

    source: str
    elements: list[Element] = field(default_factory=list)
    outside_code: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self._open: list[Element] = []
        markdown = MarkdownIt("gfm-like", {"html": True})
        # As eager as GitHub's: entities are read first, and addresses looked for in what they say.
        markdown.core.ruler.before("linkify", "entities", text_join)
        vars(markdown.linkify)["pretest"] = lambda _: True
        self.feed(markdown.render(self.source))
        self.close()

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag not in ("img", "br", "hr", "base", "input"):
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        while any(element.tag == tag for element in self._open) and self._open.pop().tag != tag:
            pass

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data
        if not any(element.tag in ("code", "pre") for element in self._open):
            self.outside_code += data + "\0"

    def matching(self, probe: str) -> list[str]:
        """Return what a `rendered` probe of the manifest finds."""
        if text := re.fullmatch("text outside code and pre matching (.+)", probe):
            return [match[0] for match in re.finditer(text[1], self.outside_code)]
        selectors, _, token = re.sub(" and nothing else$", "", probe).partition(" containing ")
        alone = probe.endswith(" and nothing else")
        return [
            f"<{element.tag}> {element.text[:80]}"
            for selector in re.sub(" (made )?from .+", "", selectors).split(",")
            for element in self.elements
            if token in element.text
            and selects(selector.strip(), element)
            and (not alone or element.text.strip() == token)
        ]


@lru_cache(maxsize=64)
def page(source: str) -> Page:
    """Return a page, which takes long to render and which several probes look at."""
    return Page(source)


def selects(selector: str, element: Element) -> bool:
    """Return whether a simple selector, `tag.class[name op value]`, selects an element."""
    parts = re.fullmatch(r"(\w+|\*)(?:\.([\w-]+))?(?:\[(\w+)(?:([*^]=)(\w+))?\])?", selector)
    assert parts is not None, selector
    tag, class_, name, operator, value = parts.groups()
    given = element.attributes.get(name or "", "")
    return (
        tag in ("*", element.tag)
        and (class_ is None or class_ in element.attributes.get("class", "").split())
        and (name is None or name in element.attributes)
        and (operator != "*=" or value in given)
        and (operator != "^=" or given.startswith(value))
    )


def commands_in(log: str) -> list[str]:
    """Return what the runner takes for a workflow command in a log: it ends a line at a bare CR, too."""
    lines = re.split(r"\r\n|\r|\n", log)
    return [line for line in lines if line.lstrip().startswith("::") or "##[" in line]


def broken(probes: Sequence[Mapping[str, Any]], surfaces: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield what the probes find that may not be there."""
    pages = [page(text) for text in surfaces["markdown"]]
    for probe in probes:
        if probe["surface"] == "rendered":
            for one in pages:
                yield from (f"rendered: {probe['none_of']}: {found}" for found in one.matching(probe["none_of"]))
        else:
            flags = {"": 0, "m": re.MULTILINE, "s": re.DOTALL}[probe["flags"]]
            only_comment = probe.get("note") == "a comment's limit"
            for text in surfaces.get(probe["surface"], ())[-1 if only_comment else 0 :]:
                found = [match[0] for match in re.finditer(probe["pattern"], text, flags)]
                if len(found) > probe["at_most"]:
                    yield f"{probe['surface']}: {probe['pattern']}: {found[0][:80]!r}"


Surfaces = Callable[..., tuple[int, dict[str, list[str]]]]
PROBES = [{"token": entry["token"], **probe} for entry in MANIFEST for probe in entry["probes"]]


@pytest.fixture
def surfaces(safe_gate: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Surfaces:
    """Run the gate as a step of a workflow and return the exit code and all it showed to anyone."""

    def run(*arguments: str | Path) -> tuple[int, dict[str, list[str]]]:
        output, summary = tmp_path / "github_output", tmp_path / "github_summary"
        output.unlink(missing_ok=True)
        summary.unlink(missing_ok=True)
        environ = {"ACTIONS": "true", "OUTPUT": str(output), "STEP_SUMMARY": str(summary)}
        environ |= {"REPOSITORY": "octo/app", "SHA": "f00d", "SERVER_URL": "https://github.com"}
        for name, value in environ.items():
            monkeypatch.setenv(f"GITHUB_{name}", value)
        ran = safe_gate("run", *arguments, "--report-dir", "out", *ALL)
        told = outputs(output.read_bytes().decode("utf-8"))
        assert set(told) == OUTPUTS
        assert told["verdict"] == {0: "pass", 1: "fail", 3: "error"}[ran.code]
        raw, document = (Path(told[f"report-{kind}"]).read_bytes().decode("utf-8") for kind in ("json", "markdown"))
        others = read_reports("out")  # which refuses what would hurt a reader
        parts = [json.loads(raw)[name] or {"results": ()} for name in ("safe_v0", "synthesis")]
        cases = [case for part in parts for case in part["results"]]
        assert [case["id"] for case in others.jsonl] == [case.get("id", case.get("test_id")) for case in cases]
        assert len(others.csv) == len(cases) == len(list(others.junit.iter("testsuite"))) - 1
        ours = re.compile(r"::(error|warning|notice) title=SAFE Gate[^\x00-\x1f]*::[^\x00-\x1f]*")
        found = commands_in(ran.log)
        assert [line for line in found if not ours.fullmatch(line)] == []
        assert bool(found) is summary.exists() is bool(told["comment-file"]) is ("--dry-run" not in arguments)
        left_behind = Path(told["comment-file"]).read_text("utf-8") if told["comment-file"] else "{}"
        bodies = [body.partition("\n")[2]] if (body := json.loads(left_behind).get("body")) else []
        summaries = [summary.read_bytes().decode("utf-8")] if summary.exists() else []
        view = ReportView(read_report(json.loads(raw)))
        comments = [*scorecards_by_length(view, limit=COMMENT_LIMIT, origin=ORIGIN)][::-1]  # the longest last
        return ran.code, {
            "markdown": [document, *summaries, *bodies, *comments],
            "log": [ran.log],
            "github_output": ["\n".join(f"{name}={value}" for name, value in told.items())],
            "json": [raw, left_behind],
            "csv": [Path("out/safe-gate.cases.csv").read_bytes().decode("utf-8")],
        }

    return run
