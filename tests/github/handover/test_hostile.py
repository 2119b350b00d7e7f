"""Waivers and reports of an untrusted run: none of them is taken at its word."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from tests.support.cases import turn, write_cases, write_json
from tests.support.github import HEAD, GitHub
from tests.support.handover import FILE, Publish, Untrusted, edit
from tests.support.judged_run import waive


@pytest.fixture
def waived(untrusted: Untrusted) -> None:
    """Leave behind a run that passes because the failures of one of its cases are waived."""
    write_json("safe.config.json", {"tags": {"none": {"min-pass-rate": 1, "optional": True}}})
    checks = ["agency_language", "topic_pivot"]
    write_cases(Path("known.jsonl"), turn("known", assistant="You should check the printer.", checks=checks))
    waive(*({"id": "known", "check": check} for check in checks))
    untrusted("pass", "--cases", "known.jsonl")


@pytest.mark.usefixtures("waived")
def test_a_run_with_waivers_is_published_as_it_was_judged(publish: Publish, github: GitHub) -> None:
    published = publish()
    assert (published.code, published.status, published.outputs["verdict"]) == (0, "created", "pass")
    (comment,) = github.comments
    assert comment["body"] == json.loads(FILE.read_text("utf-8"))["body"]
    assert "more waived, 0 allowed" in comment["body"]
    assert "**Known failures** · " in comment["body"]
    assert "Tag <code>none</code>: skipped: no cases | ⏭️ |" in comment["body"]


OTHERWISE = "by the report's own figures it is 'fail'"
Change = Callable[[dict[str, Any]], Any]
CHANGED: list[tuple[Change, str]] = [
    (lambda waivers: waivers["applied"][0].update(expires="2001-01-01"), OTHERWISE),
    (lambda waivers: waivers["applied"][0].update(id="somebody else"), OTHERWISE),
    (lambda waivers: waivers["applied"].clear(), OTHERWISE),
    (lambda waivers: waivers["expired"].append(waivers["applied"][0]), "waives one failure twice"),
    (lambda waivers: waivers["applied"][0].update(expires="tomorrow"), 'waivers.applied[0].expires: is "tomorrow"'),
    (lambda waivers: waivers["applied"][0].update(metric="CR"), "has check and metric; expected exactly one of"),
]


@pytest.mark.usefixtures("waived")
@pytest.mark.parametrize(("change", "words"), CHANGED)
def test_what_a_file_says_became_of_its_waivers_does_not_count(
    publish: Publish, github: GitHub, change: Change, words: str
) -> None:
    edit(lambda file: change(file["report"]["waivers"]))
    published = publish()
    assert (published.code, github.comments) == (3, [])
    assert words in published.log


@pytest.mark.usefixtures("waived")
def test_publish_recomputes_the_state_of_each_waiver(publish: Publish, github: GitHub) -> None:
    edit(lambda file: file["report"]["waivers"].update(unused=file["report"]["waivers"]["applied"], applied=[]))
    assert publish().code == 0
    assert "in force |" in github.comments[0]["body"]


EVIL = "@octocat fixes #1 | <img src=x> <!-- safe-gate --> ![a](//e) https://evil.example\n\n# h\n```\n::error::x ##[error]y \u202e"


def places(
    value: Any, kinds: type | tuple[type, ...], path: tuple[str | int, ...] = ()
) -> Iterator[tuple[str | int, ...]]:
    """Yield a place of every kind of value in a report, once for all entries of a list."""
    if isinstance(value, kinds) and not isinstance(value, bool):
        yield path
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else [*enumerate(value)][:1]:
            yield from places(inner, kinds, (*path, key))


def replaced(report: Any, path: tuple[str | int, ...], change: Callable[[Any], Any]) -> Any:
    if not path:
        return change(report)
    copy: Any = dict(report) if isinstance(report, dict) else list(report)
    copy[path[0]] = replaced(report[path[0]], path[1:], change)
    return copy


@pytest.mark.untraced
@pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.soak)])
def test_no_text_of_an_untrusted_report_can_act(file: Any, publish: Publish, github: GitHub, step: int) -> None:
    def with_evil_key(inner: dict[str, Any]) -> dict[str, Any]:
        return inner | {EVIL: next(iter(inner.values()), 1)}

    report = file["report"]
    variants = [(path, replaced(report, path, lambda _: EVIL)) for path in places(report, str)]
    variants += [(path, replaced(report, path, with_evil_key)) for path in places(report, dict)]
    refused = shown = 0
    for path, variant in variants[::step]:
        FILE.write_text(json.dumps(file | {"report": variant}), "utf-8")
        github.comments.clear()
        published = publish()
        assert not re.search(r"^\s*::(?!error title=SAFE Gate)|##\[|\u202e", published.log, re.MULTILINE), path
        assert "internal error" not in published.log, path
        if published.code:
            refused += 1
            assert (published.code, github.comments) == (3, []), path
            continue
        (body,) = (comment["body"] for comment in github.comments)
        shown += "octocat" in body
        html = MarkdownIt("commonmark", {"html": True, "linkify": True}).enable(["table", "linkify"]).render(body)
        links = rf'href="https://github.com/Codertocat/Hello-World/blob/{HEAD}/[\w%./-]*#L\d+"'  # to a line of the data
        outside = re.sub(rf"<code>.*?</code>|{links}", "", html, flags=re.DOTALL)
        for sign in ("octocat", "fixes", "evil.example", "<img", "\u202e"):
            assert sign not in outside, (path, sign)
        assert body.count("<!--") == 1, path
    assert min(refused, shown) > 5 / step, "some must be refused and some shown"


@pytest.mark.untraced
@pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("number", [-1, 10**30])
def test_no_number_of_a_file_breaks_the_run(file: dict[str, Any], publish: Publish, number: float, step: int) -> None:
    for path in [*places(file["report"], (int, float))][::step]:
        FILE.write_text(json.dumps(file | {"report": replaced(file["report"], path, lambda _: number)}), "utf-8")
        published = publish("--comment", "never")
        assert published.code in (0, 3)
        assert "internal error" not in published.log, path
