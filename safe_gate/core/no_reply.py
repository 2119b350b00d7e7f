r"""Whether a recorded text is a reply at all, or what an application leaves behind when it fails to give one. Pure.

A text is no reply if it is empty, or if an error is all that it holds: an error message, a stack trace, an error
page, an error body. One sentence beside the error, a quotation mark or a code fence around it makes it a reply:
somebody reports an error. What the text answers does not matter.

`TELLING`, `FOLLOWING`, `PAGES` and `BODY_KEYS` are data. Each pattern has texts that it must hit and miss
(`tests/core/test_no_reply.py`). Patterns are applied to one line, with `re.fullmatch`, and are linear in it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache, lru_cache
from itertools import islice
from typing import Any, NamedTuple

from safe_gate.core.figures import first_few, plural
from safe_gate.core.jsontext import JsonError, parse
from safe_gate.core.model import JsonObject, Phrase


class NoReply(StrEnum):
    """Why a text is no reply, in the words of reports."""

    EMPTY = "empty"
    MESSAGE = "error message"
    TRACE = "stack trace"
    PAGE = "error page"
    BODY = "error body"


class Pattern(NamedTuple):
    """A pattern for a whole line, a page's title, or what a body says; and whole texts it must hit and miss."""

    what: NoReply
    pattern: str
    hit: tuple[str, ...] = ()
    miss: tuple[str, ...] = ()


_REASONS = (
    r"(?:internal (?:server )?error|bad gateway|(?:service |temporarily |server )+(?:unavailable|error|overloaded)"
    r"|gateway time-?out|too many requests|not implemented|http version not supported|insufficient storage"
    r"|overloaded|loop detected|web server is down|connection timed out|origin is unreachable|a timeout occurred)"
)
"""Reasons that mean an error even without their number."""

_REFUSALS = (
    r"(?:bad request|unauthori[sz]ed|payment required|forbidden|(?:page )?not found|method not allowed|not acceptable"
    r"|proxy authentication required|request time-?out|conflict|gone|length required|precondition failed"
    r"|(?:payload|content|request entity) too large|(?:request-)?uri too long|unsupported media type"
    r"|unprocessable (?:entity|content)|locked|failed dependency|too early|client closed request"
    r"|(?:client|server) error)"
)
"""Reasons in everyday words, which mean an error only beside their number."""

_STATUS = rf"[45]\d\d(?:\s*[-:\u2013|]?\s*\(?(?:{_REASONS}|{_REFUSALS})\)?[.!]?)"

_NETWORK = (
    r"(?:E(?:CONNREFUSED|CONNRESET|CONNABORTED|TIMEDOUT|PIPE|HOSTUNREACH|NETUNREACH|AI_AGAIN|NOTFOUND)"
    r"|UND_ERR_[A-Z_]+|socket hang up|fetch failed|failed to fetch|network error"
    r"|(?:connection|request|read|operation|stream|upstream request|context deadline)"
    r" (?:was )?(?:refused|reset|aborted|timed? ?out|timeout|error|exceeded|closed)"
    r"|max retries exceeded|request failed with status code \d+|remote end closed connection"
    r"|name or service not known|temporary failure in name resolution|no healthy upstream"
    r"|certificate verify failed|no such host)"
    r"(?: [\w-]*[.:][\w.:\[\]-]*| \(.{0,500}\)| with url: .{0,500})?"
)

_RETRY = r"(?:[.,;:!]? (?:please |(?:try again|retry)\b).{0,500})?"
"""What services add to the reason."""

_LIMIT = (
    r"(?:(?:rate limit (?:is |was |has been )?(?:reached|exceeded|hit)|you (?:have )?exceeded your current quota"
    r"|insufficient_quota|rate_limit_exceeded|resource_exhausted|overloaded_error|throttlingexception"
    r"|request throttled|(?:api )?quota exceeded)(?:: \S+| for .{0,200}\b(?:limit|min|requests|tokens|day)\b.{0,500})?)"
)

_ERROR = r"(?:[A-Za-z_$][\w$]*[.:]{1,2}){0,20}[\w$]*?(?:Error|Exception|Fault|Timeout)"
"""The name of an error as a language has it, with or without its package."""

_MESSAGES = (
    r"(?:cannot (?:read|set) propert|undefined is not|null is not|\S+ is not (?:a function|defined|iterable)"
    r"|'\w+' object |name '\w+' is not defined|no module named|cannot import name|(?:list|string|tuple) index out of"
    r"|unsupported operand|expecting value: line|unexpected (?:token|end of json)|string indices must be"
    r"|\d+ validation errors? for|invalid literal for|maximum recursion|cannot find module|cannot invoke \""
    r"|(?:error code|status code|http error|http)[: ]+\d+|[45]\d\d (?:client|server) error)"
)
"""What runtimes say after the name of an error."""

TELLING = (
    Pattern(
        NoReply.MESSAGE,
        rf"(?:(?:unexpected |api |server |http |request )?error[: ]\s*)?(?:http(?:/[\d.]+)? ?|status(?: code)?:? )?"
        rf"(?:error[: ]\s*)?{_STATUS}",
        (
            "Error: 500 Internal Server Error",
            "500 Internal Server Error",
            "HTTP/1.1 502 Bad Gateway",
            "Error 503: Service Unavailable",
            "HTTP Error 429: Too Many Requests",
            "404 Not Found",
            "Status code: 403 Forbidden",
            "504 Gateway Time-out\n",
        ),
        (
            "Your app answers 500 Internal Server Error when the disk is full.",
            "500 people were not found.",
            "Error: 500 Internal Server Error\n\nThat is what a server says when it fails. What did you click?",
            "> Error: 500 Internal Server Error",
            "`502 Bad Gateway`",
            '"404 Not Found"',
        ),
    ),
    Pattern(
        NoReply.MESSAGE,
        rf"(?:error: )?{_REASONS}{_RETRY}[.!]?",
        (
            "Internal Server Error",
            "Too many requests, please try again later.",
            "Bad Gateway.",
            "Error: Too Many Requests",
            "Service Temporarily Unavailable",
        ),
        ("Forbidden", "Not found.", "Gone.", "Internal server errors are not your fault.", "Overloaded? Rest a bit."),
    ),
    Pattern(
        NoReply.MESSAGE,
        r"(?:error: )?(?:error code|http status|status code|http error|http|error)[: ]+[45]\d\d(?:\s+-\s+[\[{].*)?\.?",
        (
            "Error code: 429 - {'error': {'message': 'Rate limit reached', 'code': 'rate_limit_exceeded'}}",
            "HTTP 503",
            "Error: 500",
            "status code 502",
        ),
        ("Error code 429 means that you ask too often.", "HTTP 200", "Room 500"),
    ),
    Pattern(
        NoReply.MESSAGE,
        r"(?:\S+: )?[45]\d\d (?:client|server) error: .*",
        ("429 Client Error: Too Many Requests for url: https://api.example.com/v1/chat",),
        ("Of 500 client errors most are typos.",),
    ),
    Pattern(
        NoReply.MESSAGE,
        rf"(?:uncaught |unhandled )?(?:error: )?(?:{_ERROR}: )?(?:connect |read |write |getaddrinfo |dial tcp )?"
        rf"(?:[\w.]+\([^)]*\): )?{_NETWORK}[.!]?",
        (
            "Error: connect ECONNREFUSED 127.0.0.1:8080",
            "TypeError: fetch failed",
            "Request failed with status code 500",
            "Error: socket hang up",
            "getaddrinfo ENOTFOUND api.example.com",
            "no healthy upstream",
            "upstream request timeout",
            "context deadline exceeded",
            "requests.exceptions.ReadTimeout: HTTPSConnectionPool(host='a', port=443): Read timed out.",
            "stream timeout",
        ),
        (
            "Connection refused because nothing listens on that port. Start it, then try again.",
            "The connection was refused.",
            "Socket hang ups are common.",
            "My network error was to trust the cable.",
        ),
    ),
    Pattern(
        NoReply.MESSAGE,
        r"upstream connect error or disconnect/reset before headers.*",
        ("upstream connect error or disconnect/reset before headers. reset reason: connection failure",),
        ("An upstream connect error is not yours to fix.",),
    ),
    Pattern(
        NoReply.MESSAGE,
        rf"(?:error: )?(?:{_ERROR}: )?{_LIMIT}{_RETRY}[.!]?",
        (
            "Rate limit exceeded. Please try again in 20s.",
            "Rate limit reached for gpt-4 in organization org-x on tokens per min.",
            "You exceeded your current quota, please check your plan and billing details.",
            "Error: Rate limit exceeded",
        ),
        (
            "You reached a rate limit: wait a minute, then try again.",
            "Rate limit exceeded means that you asked too often.",
        ),
    ),
    Pattern(
        NoReply.MESSAGE,
        rf"(?:uncaught |unhandled )?{_ERROR}: {_MESSAGES}.*",
        (
            "TypeError: Cannot read properties of undefined (reading 'choices')",
            "AttributeError: 'NoneType' object has no attribute 'content'",
            "IndexError: list index out of range",
            "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
            "openai.RateLimitError: Error code: 429 - {'error': {'message': 'x'}}",
        ),
        (
            "KeyError: raised when a key is not in a mapping.",
            "A TypeError: cannot read properties of undefined, it says. Which line is it?",
            "Human error: we forgot your birthday, and we are sorry.",
        ),
    ),
    Pattern(
        NoReply.MESSAGE,
        r"keyerror: (?:'[^']{0,200}'|\"[^\"]{0,200}\")",
        ("KeyError: 'choices'",),
        ("KeyError: 'choices' is not in the answer.",),
    ),
    Pattern(
        NoReply.MESSAGE,
        r"\d{4}-\d\d-\d\d[ T][\d:.,]+(?:Z|[+-]\d\d:?\d\d)?[\s\[|:-]{1,5}(?:error|fatal|critical|panic)\b.*",
        ("2024-05-01 10:00:00,123 ERROR app: upstream is down",),
        ("2024-05-01 10:00:00 is when the exam starts. An error?",),
    ),
    Pattern(
        NoReply.BODY,
        r"\{'(?:error|errors|detail)': .*\}",
        ("{'error': {'message': 'Overloaded', 'type': 'overloaded_error'}}",),
        ("{'answer': 'There was an error.'}",),
    ),
    Pattern(
        NoReply.PAGE,
        r"<error>.*</error>",
        ("<?xml version='1.0'?>\n<Error><Code>SlowDown</Code><Message>Reduce your rate.</Message></Error>",),
        ("<error> is a tag of theirs.",),
    ),
    Pattern(
        NoReply.PAGE,
        r"<b>(?:fatal|parse) error</b>:  .*",
        ("<b>Fatal error</b>:  Uncaught Exception: x in <b>/app/a.php</b> on line <b>3</b>",),
        ("<b>Fatal error</b>: that is what they call it.",),
    ),
    Pattern(
        NoReply.TRACE,
        r"(?:exception group )?\W{0,6}traceback \(most recent call last\):.*",
        (
            "Traceback (most recent call last): ...",
            "Traceback (most recent call last):\n  File \"app.py\", line 3, in <module>\n    main()\nKeyError: 'x'",
            (
                'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    x\nopenai.APIError: timed out\n\n'
                "During handling of the above exception, another exception occurred:\n\n"
                'Traceback (most recent call last):\n  File "b.py", line 2, in g\n    y\nSystemExit: 1\n'
            ),
        ),
        (
            "Traceback (most recent call last) is how Python begins to tell of an error.",
            "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nKeyError: 'x'\n\nThe key is missing.",
            "It says:\n\nTraceback (most recent call last):\nKeyError: 'x'",
            "```\nTraceback (most recent call last):\nKeyError: 'x'\n```",
        ),
    ),
    Pattern(
        NoReply.TRACE,
        r"\s*at (?:(?:async |new )?[\w$.<>\[\] /@#|-]{1,200}\()?[^\s()]{1,300}:\d+(?::\d+)?\)?",
        (
            (
                "TypeError: x is undefined\n    at generate (/app/index.js:10:5)\n"
                "    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)"
            ),
            "Error: no answer\n    at /app/index.js:3:1",
            (
                "java.lang.IllegalStateException: closed\n\tat com.example.Chat.reply(Chat.java:42)\n\t... 12 more\n"
                "Caused by: java.io.IOException: reset\n\tat com.example.Http.get(Http.java:7)"
            ),
            'Exception in thread "main" java.lang.NullPointerException\n\tat Main.main(Main.java:5)',
        ),
        (
            "Meet me at platform 9:30.",
            "Error: no answer\n    at /app/index.js:3:1\nLine 3 asks a model that is not there.",
        ),
    ),
    Pattern(
        NoReply.TRACE,
        r"\s*at [\w.<>`$\[\], +]{1,200}\([^()]{0,200}\)(?: in [^\n]{1,300}:line \d+)?",
        (
            (
                "System.NullReferenceException: Object reference not set to an instance of an object.\n"
                "   at Chat.Reply(String text) in C:\\app\\Chat.cs:line 10\n   at Chat.Main()"
            ),
            "java.lang.Error: x\n\tat Chat.reply(Native Method)",
        ),
        ("Let us meet at (say) noon.",),
    ),
    Pattern(
        NoReply.TRACE,
        r"goroutine \d+ \[[^\]]{1,80}\]:",
        (
            (
                "panic: runtime error: index out of range [0] with length 0\n\ngoroutine 1 [running]:\n"
                "main.reply(0x1)\n\t/app/main.go:8 +0x1d\nmain.main()\n\t/app/main.go:4 +0x20\nexit status 2"
            ),
        ),
        ("A goroutine 1 [running]: that is the main one.",),
    ),
    Pattern(
        NoReply.TRACE,
        r"(?:http: )?panic: (?:runtime error|reflect|assignment to entry|interface conversion)\b.*",
        ("panic: runtime error: invalid memory address or nil pointer dereference",),
        ("Panic: it comes, and it goes. What helps you when it does?", "panic: breathe slowly"),
    ),
    Pattern(
        NoReply.TRACE,
        r"\s*from \S{1,300}\.rb:\d+:in .*|\S{1,300}\.rb:\d+:in .*",
        ("app.rb:3:in `reply': undefined method `text' for nil (NoMethodError)\n\tfrom app.rb:9:in `<main>'",),
        ("It is from app.rb, line 3.",),
    ),
    Pattern(
        NoReply.TRACE,
        r"(?:php )?fatal error:\s+(?:uncaught|allowed memory|maximum execution|call to|out of memory).*",
        ("PHP Fatal error:  Uncaught Exception: x in /a.php:3\nStack trace:\n#0 {main}\n  thrown in /a.php on line 3",),
        ("Fatal error: I forgot the milk.",),
    ),
    Pattern(
        NoReply.TRACE,
        r"(?:exception in thread \S{1,100} )?(?:[a-z_$][\w$]*\.){1,20}[A-Z][\w$]*(?:Exception|Error)(?:: .*)?",
        ("java.lang.OutOfMemoryError: Java heap space", "botocore.exceptions.ClientError: An error occurred"),
        ("NumberFormatException is what it throws.", "java.lang.Error is the parent of all."),
    ),
)
"""Lines that an error consists of: one of them is needed, whatever follows it."""

FOLLOWING = (
    r"[ \t]+\S.*",  # the code of a frame
    r"[~^ ]+",
    r"[\w.\[\]]+",  # a field that a validation names
    rf"(?:uncaught |unhandled )?(?:caused by: |suppressed: )?(?:exception in thread \S{{1,100}} )?{_ERROR}(?:: .*)?",
    r"(?:[\w]+\.)*\w*(?:warning|exit|interrupt|timeout|stopiteration|group)(?:: .*)?",
    (
        r"(?:during handling of the above exception, another exception occurred"
        r"|the above exception was the direct cause of the following exception):"
    ),
    r"\s*\.\.\. \d+ (?:more|common frames omitted)|\s*\[previous line repeated .*",
    r"--- end of .*|node\.js v[\d.]+",
    r"panic: .*|fatal error: .*|\[signal .*|exit status \d+|created by .*|main\.\S+|[\w./*()-]+\(.*\)",
    r"stack trace:|#\d+ .*",
    r"<\?xml[^<>]*\?>",
    r"(?:x-)?request[ -]?id: \S+|content-\w+: \S.{0,100}|server: \S{1,100}|date: [\w,: +]{1,60}|retry-after: \S+",
)
"""Lines that may surround them."""

PAGES = (
    Pattern(
        NoReply.PAGE,
        rf"(?:[^|<>]{{1,200}}\| ?)?(?:error )?(?:http status )?{_STATUS}",
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
        rf"(?:error|application error|runtime error|server error|{_REASONS})[.!]?|[^<>()]{{0,100}}\([45]\d\d\)"
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
_STATUS_CODE = re.compile(r"[45]\d\d")

BODIES = (
    Pattern(
        NoReply.BODY,
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

NOTHING = frozenset({"null", "None", "undefined", "NaN", "[object Object]"})
"""What programs write where they have no text."""

_LONGEST_LINE = 2_000
_MOST_LINES = 2_000
_LONGEST_HEAD = 20_000
_LONGEST_BODY = 65_536
"""So many characters of a line, lines of a text, characters of a page and of a body are looked at."""

_TITLE = re.compile(r"<(title|h1)\b[^<>]{0,300}>([^<>]{0,300})</\1>", re.IGNORECASE)
_PAGE = re.compile(r"(?:<\?xml[^<>]{0,300}>\s*)?(?:<!doctype html|<html)\b", re.IGNORECASE)
_BLANKS = " \t\r\n\v\f\u00a0\u200b\u2060\ufeff"
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]+")
_BLANK_RUN = re.compile(r" [^\S\r\n]+|[^\S\r\n ][^\S\r\n]*")
_END = re.compile("</html>", re.IGNORECASE)
_LINE = re.compile(r"[^\r\n]+")
_EVENT = re.compile(r"(?:event: error\s*)?data: (?=[{\[])")
_UNSEEN = re.compile(
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
    bare = text.strip(_BLANKS)
    if bare in NOTHING:
        return NoReply.EMPTY
    return _page(bare) or _body(bare) or _lines(bare) or _lines(bare, _tidied)


def none_of(texts: Iterable[str]) -> NoReply | None:
    """Return why several texts together are no reply, None if one of them is a reply; of no text it is that."""
    found = NoReply.EMPTY
    for text in texts:
        why = no_reply(text)
        if why is None:
            return None
        if found is NoReply.EMPTY:
            found = why
    return found


def without_reply(count: int, id_key: str, results: Iterable[JsonObject]) -> Iterator[Phrase]:
    """Yield a sentence that names the cases without a reply, by their entries of `results[]`, if there are any."""
    if count:
        cases = plural(count, "case has", "cases have")
        named = first_few((result[id_key] for result in results if "no_reply" in result), count)
        yield (f"{cases} no reply, so the recording is broken: ", *named, ".")


def why_no_reply(result: JsonObject) -> Iterator[Phrase]:
    """Yield why a case has no reply, by its entry of `results[]`, if it has none."""
    if "no_reply" in result:
        yield (f"no reply: {result['no_reply']}",)


def _first_seen(text: str) -> int:
    """Return where a text has its first sign that a reader sees, its length if it has none."""
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
    """Return what kind of error the lines of a text are, as they are read, None unless each belongs to one."""
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


@lru_cache(maxsize=2)  # a line is looked at as it stands, then tidied
def _kind(line: str) -> tuple[NoReply | None, bool]:
    """Return what kind of error a line tells of, if it does, and whether it may stand in the text of one."""
    telling = next((what for what in _KINDS if _telling(what).fullmatch(line)), None)
    return telling, telling is not None or _following().fullmatch(line) is not None


def _tidied(line: str) -> str:
    """Return a line without invisible characters and with single blanks."""
    return _BLANK_RUN.sub(" ", _INVISIBLE.sub("", line))


_KINDS = (NoReply.MESSAGE, NoReply.BODY, NoReply.PAGE, NoReply.TRACE)
"""The kinds of error that lines may be; of several the last counts."""


@cache
def _telling(what: NoReply) -> re.Pattern[str]:
    return _any_of(one.pattern for one in TELLING if one.what is what)


@cache
def _refusal() -> re.Pattern[str]:
    return _any_of([rf"(?:{_REFUSALS}|endpoint request timed out|missing authentication token)[.!]?"])


@cache
def _titles() -> re.Pattern[str]:
    return _any_of(one.pattern for one in PAGES)


@cache
def _following() -> re.Pattern[str]:
    return _any_of(FOLLOWING)


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)
