r"""Whether a recorded text is a reply, or the traces of an application that failed to give one. Pure.

A text is no reply if it is empty or holds only an error: an error message, stack trace, error page or error body.
A sentence beside the error makes it a reply: somebody reports an error. So does a quotation mark or a code fence
around it. The question that the text answers does not matter.

`TELLING` and `FOLLOWING` of `error_lines.py`, `PAGES` and `BODY_KEYS` are data. Each pattern has texts
that it must hit and miss (`tests/core/text/test_no_reply.py`). Patterns are applied to one line, with `re.fullmatch`,
and are linear in it. They take milliseconds to compile, so lines are first searched for their signs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import Any

from safe_gate.core.figures import first_few, plural
from safe_gate.core.jsontext import JsonError, parse
from safe_gate.core.model import Phrase
from safe_gate.core.text.error_lines import FOLLOWING, TELLING, NoReply, Pattern
from safe_gate.core.text.error_words import FOLLOWING_SIGNS, REASONS, REFUSALS, STATUS
from safe_gate.core.text.patterns import later

PAGES = (
    Pattern(
        NoReply.PAGE,
        (),
        rf"(?:[^|<>]{{1,200}}\| ?)?(?:error )?(?:http status )?{STATUS}",
        (
            (
                "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><h1>502 Bad Gateway</h1>"
                "\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n<!-- a padding against friendly pages -->\r\n"
            ),
            "<!doctype html>\n<html lang=en>\n<title>500 Internal Server Error</title>\n<h1>Internal Server Error</h1>",
            "<!DOCTYPE html><html><head><title>HTTP Status 500 \u2013 Internal Server Error</title></head></html>",
            "<!DOCTYPE html><html><head><title>example.com | 502: Bad gateway</title></head><body></body></html>",
        ),
        (
            "<html><head><title>Your plan for the week</title></head><body>Rest.</body></html>",
            "<html><title>502 Bad Gateway</title></html>\nThat page means that the server behind it is down.",
            "```html\n<html><title>404 Not Found</title></html>\n```",
            "<p>502 Bad Gateway is what it says.</p>",
        ),
    ),
    Pattern(
        NoReply.PAGE,
        (),
        rf"(?:error|application error|runtime error|server error|{REASONS})[.!]?|[^<>()]{{0,100}}\([45]\d\d\)"
        r"|error [45]\d\d [^<>]{0,60}",
        (
            "<!DOCTYPE html>\n<html lang='en'><head><title>Error</title></head>\n<body>Cannot POST /chat</body></html>",
            "<html><head><title>Server Error (500)</title></head></html>",
            "<html><head><title>Error 502 (Server Error)!!1</title></head></html>",
            "<html><head><title>We're sorry, but something went wrong (500)</title></head></html>",
        ),
        ("<html><head><title>Error handling in Go</title></head></html>",),
    ),
    Pattern(
        NoReply.PAGE,
        (),
        r"just a moment\.\.\.|attention required! \| .{0,60}|access denied|error: the requested url .{0,60}"
        r"|.{1,200}// werkzeug debugger",
        ("<!DOCTYPE html><html><head><title>Just a moment...</title></head><body></body></html>",),
        ("<html><head><title>Just a moment</title></head></html>",),
    ),
)
"""Titles of pages that are an error; without a title, the first heading counts."""

BODY_KEYS = frozenset(
    "error errors error_code error_description error_message errorcode errormessage errortype exception fault message "
    "msg detail details status statuscode status_code code type title instance timestamp path request_id requestid "
    "trace_id traceid trace stack stacktrace retry_after retryafter param success ok name reason response __type "
    "documentation_url help data cause meta".split()
)
"""What keys the body of an error has, in lower case; a body with any other key is a reply."""

_SAYS_SO = ("error", "errors", "exception", "fault", "__type", "errormessage", "error_message", "errortype")
_STATUSES = ("status", "statuscode", "status_code", "code")
_WORDS = ("message", "msg", "detail", "title", "error")
_STATUS_CODE = later(r"[45]\d\d")

BODIES = (
    Pattern(
        NoReply.BODY,
        (),
        "",
        (
            '{"error": {"message": "Rate limit reached", "type": "requests", "param": null, "code": "rate_limit"}}',
            '{"error": "Internal Server Error"}',
            '{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}',
            '{"message": "Internal server error"}',
            '{"detail": "Internal Server Error"}',
            '{"detail": "Not Found"}',
            '{"message": "Endpoint request timed out"}',
            '{"type": "about:blank", "title": "Bad Gateway", "status": 502}',
            '{"success": false, "error": "timeout"}',
            '{"statusCode": 429, "message": "Slow down"}',
            '[{"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}]',
            'event: error\ndata: {"error": {"message": "x"}}\n\n',
        ),
        (
            '{"answer": "Rest a little.", "error": null}',
            '{"error": null, "message": "Rest a little."}',
            '{"message": "Rest a little."}',
            '{"message": "Your request was not found."}',
            '{"message": "Rest a little.", "code": 200}',
            '{"error": "none", "reply": "Rest a little."}',
            'It says {"error": "Internal Server Error"}',
            "{}",
            "[]",
            "[1, 2]",
            "{not JSON",
        ),
    ),
)
"""Texts that are bodies of errors, and texts that are not."""

NOTHING = frozenset({"null", "Null", "NULL", "None", "undefined", "NaN", "nan", '""', "[object Object]"})
"""What programs write where they have no text."""

_LONGEST_LINE = 2_000
_MOST_LINES = 2_000
_LONGEST_HEAD = 20_000
_LONGEST_BODY = 65_536
"""So many characters of a line, lines of a text, characters of a page and of a body are looked at."""

_TITLE = later(r"<(title|h1)\b[^<>]{0,300}>([^<>]{0,300})</\1>", re.IGNORECASE)
_PAGE = later(r"(?:<\?xml[^<>]{0,300}>\s*)?(?:<!doctype html|<html)\b", re.IGNORECASE)
BLANKS = " \t\r\n\v\f\u00a0\u200b\u2060\ufeff"
_INVISIBLE = later("[\u00ad\u200b-\u200f\u2060\ufeff]+")
_BLANK_RUN = later(r" [^\S\r\n]+|[^\S\r\n ][^\S\r\n]*")
_END = later("</html>", re.IGNORECASE)
_LINE = later(r"[^\r\n]+")
_EVENT = later(r"(?:event: error\s*)?data: (?=[{\[])")
_UNSEEN = later(
    r"[\s\u00ad\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]+"
    r"|&(?:nbsp|shy|zwnj|zwj|zerowidthspace|#0{0,9}(?:160|173|820[3-5]|8288|65279)|#x0{0,9}(?:a0|ad|200[b-d]|2060|feff));"
    r"|<(?!(?:img|svg|video|audio|canvas|iframe|object|embed|input|button|math)\b)[a-zA-Z/!?][^<>]*>",
    re.IGNORECASE,
)


def no_reply(text: str) -> NoReply | None:
    """Return why a text is no reply, None if it is one.

    >>> no_reply("Error: 500 Internal Server Error"), no_reply(" "), no_reply("It says: 502 Bad Gateway.")
    (<NoReply.MESSAGE: 'error message'>, <NoReply.EMPTY: 'empty'>, None)
    """
    if _first_seen(text) == len(text):
        return NoReply.EMPTY
    bare = text.strip(BLANKS)
    if bare in NOTHING:
        return NoReply.EMPTY
    return _page(bare) or _body(bare) or _lines(bare) or _lines(bare, _tidied)


def none_of(texts: Iterable[str]) -> NoReply | None:
    """Return why several texts together are no reply, None if one of them is a reply. No text at all is empty."""
    found = NoReply.EMPTY
    for text in texts:
        why = no_reply(text)
        if why is None:
            return None
        if found is NoReply.EMPTY:
            found = why
    return found


def without_reply(count: int, ids: Iterable[str]) -> Iterator[Phrase]:
    """Yield a sentence that names the cases without a reply by their ids, if there are any."""
    if count:
        cases = plural(count, "case has", "cases have")
        yield (f"{cases} no reply, so the recording is broken: ", *first_few(ids, count), ".")


def why_no_reply(why: str) -> Iterator[Phrase]:
    """Yield why a case has no reply, nothing if it has one."""
    if why:
        yield (f"no reply: {why}",)


def _first_seen(text: str) -> int:
    """Return where a text has its first visible character, or its length if there is none."""
    place = 0
    while place < len(text):
        if text.startswith("<!--", place):
            end = text.find("-->", place)
            if end < 0:
                return place
            place = end + 3
        elif found := _UNSEEN.match(text, place):
            place = found.end()
        elif unicodedata.category(text[place])[0] in "CZ" and unicodedata.category(text[place]) != "Co":
            place += 1
        else:
            return place
    return place


def _page(text: str) -> NoReply | None:
    """Return that a text is an error page: one of HTML, to its end, with the title of an error."""
    if not _PAGE.match(text):
        return None
    end = max((closing.end() for closing in _END.finditer(text)), default=text.rfind(">") + 1)
    if _first_seen(text[end:]) < len(text) - end:
        return None
    title = _TITLE.search(text, 0, _LONGEST_HEAD)
    words = " ".join(title[2].split()).replace("&ndash;", "\u2013").replace("&#39;", "'") if title else ""
    return NoReply.PAGE if _titles().fullmatch(words) else None


def _body(text: str) -> NoReply | None:
    """Return that a text is the body of an error: JSON that says so, alone or as a server's event."""
    event = _EVENT.match(text)
    bare = text[event.end() :] if event else text
    if len(bare) > _LONGEST_BODY or bare[:1] not in ("{", "[") or bare[-1:] not in ("}", "]"):
        return None
    try:
        value = parse(bare)
    except JsonError:
        return None
    values = value if isinstance(value, list) else [value]
    return NoReply.BODY if values and all(map(_is_error, values)) else None


def _is_error(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    known = {key.lower(): inner for key, inner in value.items()}
    if not known.keys() <= BODY_KEYS:
        return False
    words = [one for key in _WORDS if isinstance(one := known.get(key), str)]
    has_status = any(_STATUS_CODE.fullmatch(str(known.get(key))) for key in _STATUSES)
    return (
        any(known.get(key) for key in _SAYS_SO)
        or (has_status and bool(words))
        or any(_lines(one) is not None or _refusal().fullmatch(one) for one in words)
    )


def _lines(text: str, read: Callable[[str], str] = str) -> NoReply | None:
    """Return the kind of error in the lines of a text, None unless every line belongs to an error."""
    told: NoReply | None = None
    for line in islice(_LINE.finditer(text), _MOST_LINES):
        bare = read(line[0])[:_LONGEST_LINE].rstrip()
        if not bare:
            continue
        telling, belongs = _kind(bare)
        if telling:
            told = max(told or telling, telling, key=_KINDS.index)
        elif not belongs:
            return None
    return told


@lru_cache(maxsize=2)  # a line is checked as it is, then tidied
def _kind(line: str) -> tuple[NoReply | None, bool]:
    """Return the kind of error that a line reports, if any, and whether it may belong to an error."""
    plain = f"\n{(line if line.isascii() else line.translate(_TWINS)).strip().lower()}\n"
    telling = next((what for what, signs, found in _telling() if _has(plain, signs) and found.fullmatch(line)), None)
    may_belong = " " not in line or line[0].isspace() or _has(plain, FOLLOWING_SIGNS)
    return telling, telling is not None or (may_belong and _following().fullmatch(line) is not None)


def _has(line: str, signs: Iterable[str]) -> bool:
    return any(sign in line for sign in signs)


def _tidied(line: str) -> str:
    """Return a line without invisible characters and with single blanks."""
    if line.isprintable() and "  " not in line:
        return line  # most lines are: printable text holds no such characters
    return _BLANK_RUN.sub(" ", _INVISIBLE.sub("", line))


_TWINS = str.maketrans("\u0130\u0131\u017f\u212a", "iisk")
"""Letters that a pattern takes for ASCII ones when it ignores case."""

_KINDS = (NoReply.MESSAGE, NoReply.BODY, NoReply.PAGE, NoReply.TRACE)
"""The kinds of error that lines may be; of several the last counts."""


@cache
def _telling() -> Sequence[tuple[NoReply, Sequence[str], re.Pattern[str]]]:
    """Return the patterns of lines that report an error, by kind in the order of the kinds."""
    ranked = sorted(TELLING, key=lambda one: _KINDS.index(one.what))
    return [(one.what, one.signs, later(one.pattern, re.IGNORECASE)) for one in ranked]


@cache
def _refusal() -> re.Pattern[str]:
    return _any_of([rf"(?:{REFUSALS}|endpoint request timed out|missing authentication token)[.!]?"])


@cache
def _titles() -> re.Pattern[str]:
    return _any_of(one.pattern for one in PAGES)


@cache
def _following() -> re.Pattern[str]:
    return _any_of(FOLLOWING)


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)
