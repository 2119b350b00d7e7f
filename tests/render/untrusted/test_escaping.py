"""Recorded text is escaped for each format: terminal and log, Markdown, JSON, workflow commands."""

import html
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from safe_gate.core.jsontext import to_json
from safe_gate.github.runner_files import Annotation
from safe_gate.model.results import Untrusted
from safe_gate.render.untrusted import LONGEST, escape_invisible, markdown, plain, quotation, quote_phrase
from tests.support.examples import examples
from tests.support.hostile import Page
from tests.support.texts import any_text, as_the_runner_reads, hides, utf16_units

# Invisible, or as wide as nothing, though Unicode counts them as letters and marks.
BLANKS = "\u034f\u115f\u1160\u17b4\u3164\uffa0"
modest = examples(few=60, many=200)


@pytest.mark.parametrize("blank", BLANKS, ids=ascii)
def test_a_letter_without_ink_is_shown_as_an_escape(blank: str) -> None:
    escape = f"\\u{ord(blank):04x}"
    assert escape_invisible(f"a{blank}b", LONGEST) == f"a{escape}b"


@given(any_text)
@modest
def test_a_log_line_never_begins_or_holds_a_workflow_command(text: str) -> None:
    shown = plain(Untrusted(text))
    assert "##[" not in shown
    assert not re.match(r"\s*::", shown)


@given(any_text.filter(lambda text: text.isprintable() and set(BLANKS).isdisjoint(text)), st.integers(1, 40))
@modest
def test_text_is_cut_by_characters_with_an_ellipsis(text: str, longest: int) -> None:
    assert escape_invisible(text, longest) == (text if len(text) <= longest else text[:longest] + "…")


@given(any_text)
@example("a | b ``` @org #1 <!-- --> https://example.com www.example.com")
@modest
def test_markdown_shows_recorded_text_as_code_of_letters_and_entities(text: str) -> None:
    shown = markdown(Untrusted(text))
    code = re.fullmatch(r"<code>(.+)</code>", shown)
    assert code is not None
    without_entities = re.sub(r"<wbr>|&#\d+;", "", code[1])
    assert not re.search(r"[|<>@#`&*_\[\]()!\\~:./=+$\"\n]", without_entities)
    assert html.unescape(code[1].replace("<wbr>", "")) == (escape_invisible(text, LONGEST) or " ")


@pytest.mark.parametrize(
    "parts",
    [
        ["Delay_Driver_Profiler_24"],
        ["conversations/2024/", "customer_support/turn_", "04/model_v3"],
        ["x" * 24, "x" * 24, "x" * 7],
        ["two words of 13 characters"],
        ["e\u0301" * 30],
    ],
)
def test_a_long_name_may_break_where_it_would_take_the_room_of_others(parts: list[str]) -> None:
    shown = markdown(Untrusted("".join(parts)))
    assert html.unescape(shown) == f"<code>{'<wbr>'.join(parts)}</code>"


def quoted_in_a_table(text: str, decides: slice = slice(0, 0)) -> str:
    """Return a Markdown table with a cell that quotes a text, some of it in bold."""
    first, last, _ = decides.indices(len(text))
    pieces = [(text[:first], False), (text[first:last], True), (text[last:], False)]
    cell = quotation([(Untrusted(piece), is_bold) for piece, is_bold in pieces if piece])
    return f"| a | b |\n| :-- | :-- |\n| {cell} | c |\n"


LIVE = re.compile(
    r"(?<![A-Za-z0-9_`])@[A-Za-z0-9]|[#/]\S|\b(GH|[A-Z]+)-?[0-9]|[A-Za-z]+[-_=+.:][A-Za-z0-9]"
    r"|:[a-z0-9_+-]+:|\$.*\$|\[!|\b[0-9a-f]{7,40}\b"
)
"""What GitHub makes a mention, a link, a picture, a formula or an alert of, where a text node holds it as a whole."""


@given(any_text, st.integers(0, 20), st.integers(0, 20))
@example("</blockquote></td></table><h1>Passed</h1> | **a** _b_ \n\n> [!NOTE]\n# c\n\\", 3, 30)
@example("[x](//x.png) ![x](//x.png) <https://x.example> [^1] [ ] ~~x~~ `x` $x$ $$ y $$ :smile: a1234567890", 0, 9)
@example("@org/team fixes #12, GH-7, a/b#3, a/b@deadbeef, deadbeefcafe1234 JIRA-99 T-a1b2 &lt;b&gt; &#60;b&#62;", 2, 4)
@example("\u202eabc\u2066 \u200b\x1b[2J \udcff\x00\r\n\u2028\x85<!-- safe-gate -->", 1, 5)
@modest
def test_a_quotation_is_text_and_bold_whatever_it_says(text: str, start: int, length: int) -> None:
    decides = slice(start, start + length)
    shown = Page(quoted_in_a_table(text, decides))
    tags = [element.tag for element in shown.elements if element.tag != "span"]
    of_cells = ["table", "thead", "tr", "th", "th", "tbody", "tr", "td", "blockquote"]
    assert tags == [*of_cells, *["b"] * bool(text[decides]), "td"]
    assert all(element.attributes == {} for element in shown.elements if element.tag in ("b", "span"))
    (quote,) = (element.text for element in shown.elements if element.tag == "blockquote")
    pieces = (text[: decides.start], text[decides], text[decides.stop :])
    assert quote == "".join(escape_invisible(piece, len(piece)) for piece in pieces)
    assert not any(map(hides, quote))
    assert [element.text for element in shown.elements if element.tag == "b"] == [
        escape_invisible(piece, len(piece)) for piece in pieces[1:2] if piece
    ]
    assert [node for node in shown.outside_code.split("\0") if LIVE.search(node)] == []


ADDRESSES = (
    *("pat@evil.example", "a.b+c_d-e@evil.example", "mailto:pat@evil.example", "xmpp:pat@evil.example/x"),
    *("https://evil.example/a?b=c#d", "http://evil.example", "ftp://evil.example", "HTTPS://EVIL.EXAMPLE", "https://x"),
    *("www.evil.example", "WWW.evil.example", "www.x", "www. x", "evil.example", "(www.evil.example)", "_www.evil.example"),
)  # fmt: skip


@pytest.fixture(params=["markdown-it", "cmark-gfm"])
def links(request: pytest.FixtureRequest) -> Callable[[str], int]:
    """Return a function that counts a Markdown text's links, as GitHub's own renderer or one as eager makes them."""
    if request.param == "markdown-it":
        return lambda text: sum(element.tag == "a" for element in Page(text).elements)
    program = shutil.which("cmark-gfm")
    if program is None:
        pytest.skip("cmark-gfm is not installed")
    command = [program, "--unsafe", "-e", "table", "-e", "autolink", "-e", "strikethrough"]
    return lambda text: subprocess.check_output(command, input=text, text=True).count("<a ")


def test_an_address_is_no_link(links: Callable[[str], int]) -> None:
    in_code = [f"<code>{address.replace('@', '&#64;')}</code>" for address in ADDRESSES]
    assert links("\n\n".join(in_code)) > 3, "or what follows shows nothing"
    shown = [markdown(Untrusted(f"{address}, {address}.")) for address in ADDRESSES]
    table = [f"| {cell} |" for cell in ("a", ":--", *shown)]
    assert links("\n\n".join(shown)) == links("\n".join(table)) == 0
    assert links("\n\n".join(quoted_in_a_table(f"{address}, {address}.") for address in ADDRESSES)) == 0


def test_our_own_words_pass_unchanged() -> None:
    assert (plain("a | `b`"), markdown("a | `b`")) == ("a | `b`", "a | `b`")
    assert quote_phrase(["missing ", Untrusted("fever\n"), ", and 1 more"]) == 'missing "fever\\n", and 1 more'


@pytest.mark.parametrize("show", [str, format, lambda untrusted: f"{untrusted}", lambda untrusted: f"{untrusted:>9}"])
def test_untrusted_text_cannot_become_part_of_a_string_unescaped(show: Any) -> None:
    with pytest.raises(TypeError, match="escape untrusted text"):
        show(Untrusted("x"))


@given(st.dictionaries(any_text, any_text | st.lists(any_text, max_size=4), max_size=4))
@example({"##[": "###[[ \\##[ \x7f \ud83d \\"})
@modest
def test_a_json_report_reads_back_equal_and_holds_nothing_that_acts(report: dict[str, Any]) -> None:
    text = to_json(report)
    assert json.loads(text) == report
    assert text.endswith("\n")
    assert text.isascii()
    assert "##[" not in text
    assert all(char == "\n" or char.isprintable() for char in text)


@given(any_text, any_text, any_text, st.integers(0, 9))
@example("%0A %250A :: \r\n ::error::", "a,b:c=d::e", "x.jsonl", 1)
@modest
def test_an_annotation_is_one_line_that_the_runner_reads_back(message: str, title: str, file: str, number: int) -> None:
    line = Annotation("warning", message, title, file, number).command()
    level, properties, data = as_the_runner_reads(line)
    given_ = {"title": title, "file": file, "line": str(number or "")}
    assert (level, data) == ("warning", message)
    assert properties == {key: value for key, value in given_.items() if value}


@pytest.mark.parametrize("sign", ["%", "\n", "é", "…", "😀"])
def test_an_annotation_stays_at_the_runners_limit(sign: str) -> None:
    most = 4_096 // len(sign.encode())
    exact = sign * most
    assert as_the_runner_reads(Annotation("error", exact).command())[2] == exact
    data = as_the_runner_reads(Annotation("error", exact + sign).command())[2]
    assert data == sign * ((4_096 - 3) // len(sign.encode())) + "…"
    assert utf16_units(data) <= 4_096
