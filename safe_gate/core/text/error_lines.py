r"""Lines that an error message or a stack trace consists of, as patterns with the texts they hit and miss. Pure data.

Each pattern is applied to one line, with `re.fullmatch`, and is linear in it (`tests/core/text/test_no_reply.py`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from safe_gate.core.text.error_words import (
    ERROR,
    LIMIT,
    MESSAGES,
    NETWORK,
    NETWORK_SIGNS,
    REASON_SIGNS,
    REASONS,
    RETRY,
    STATUS,
)


class NoReply(StrEnum):
    """Why a text is no reply, in the words of reports."""

    EMPTY = "empty"
    MESSAGE = "error message"
    TRACE = "stack trace"
    PAGE = "error page"
    BODY = "error body"


class Pattern(NamedTuple):
    """A pattern for a whole line, a page's title, or a body's message; and whole texts it must hit and miss.

    If it has `signs`, each line that it hits contains one of them. Lines without a sign need no pattern, and most
    lines have none. For signs, the line is in lower case, stripped of blanks and between two line breaks.
    """

    what: NoReply
    signs: tuple[str, ...]
    pattern: str
    hit: tuple[str, ...] = ()
    miss: tuple[str, ...] = ()


TELLING = (
    Pattern(
        NoReply.MESSAGE,
        ("4", "5"),
        rf"(?:(?:unexpected |api |server |http |request )?error[: ]\s*)?(?:http(?:/[\d.]+)? ?|status(?: code)?:? )?"
        rf"(?:error[: ]\s*)?{STATUS}",
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
        REASON_SIGNS,
        rf"(?:error: )?{REASONS}{RETRY}[.!]?",
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
        ("4", "5"),
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
        ("client error", "server error"),
        r"(?:\S+: )?[45]\d\d (?:client|server) error: .*",
        ("429 Client Error: Too Many Requests for url: https://api.example.com/v1/chat",),
        ("Of 500 client errors most are typos.",),
    ),
    Pattern(
        NoReply.MESSAGE,
        NETWORK_SIGNS,
        rf"(?:uncaught |unhandled )?(?:error: )?(?:{ERROR}: )?(?:connect |read |write |getaddrinfo |dial tcp )?"
        rf"(?:[\w.]+\([^)]*\): )?{NETWORK}[.!]?",
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
        ("upstream connect error",),
        r"upstream connect error or disconnect/reset before headers.*",
        ("upstream connect error or disconnect/reset before headers. reset reason: connection failure",),
        ("An upstream connect error is not yours to fix.",),
    ),
    Pattern(
        NoReply.MESSAGE,
        ("rate limit", "quota", "exceeded", "exhausted", "overloaded", "throttl"),
        rf"(?:error: )?(?:{ERROR}: )?{LIMIT}{RETRY}[.!]?",
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
        ("error: ", "exception: ", "fault: ", "timeout: "),
        rf"(?:uncaught |unhandled )?{ERROR}: {MESSAGES}.*",
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
        ("keyerror: ",),
        r"keyerror: (?:'[^']{0,200}'|\"[^\"]{0,200}\")",
        ("KeyError: 'choices'",),
        ("KeyError: 'choices' is not in the answer.",),
    ),
    Pattern(
        NoReply.MESSAGE,
        ("error", "fatal", "critical", "panic"),
        r"\d{4}-\d\d-\d\d[ T][\d:.,]+(?:Z|[+-]\d\d:?\d\d)?[\s\[|:-]{1,5}(?:error|fatal|critical|panic)\b.*",
        ("2024-05-01 10:00:00,123 ERROR app: upstream is down",),
        ("2024-05-01 10:00:00 is when the exam starts. An error?",),
    ),
    Pattern(
        NoReply.BODY,
        ("{'",),
        r"\{'(?:error|errors|detail)': .*\}",
        ("{'error': {'message': 'Overloaded', 'type': 'overloaded_error'}}",),
        ("{'answer': 'There was an error.'}",),
    ),
    Pattern(
        NoReply.PAGE,
        ("<error>",),
        r"<error>.*</error>",
        ("<?xml version='1.0'?>\n<Error><Code>SlowDown</Code><Message>Reduce your rate.</Message></Error>",),
        ("<error> is a tag of theirs.",),
    ),
    Pattern(
        NoReply.PAGE,
        ("<b>",),
        r"<b>(?:fatal|parse) error</b>:  .*",
        ("<b>Fatal error</b>:  Uncaught Exception: x in <b>/app/a.php</b> on line <b>3</b>",),
        ("<b>Fatal error</b>: that is what they call it.",),
    ),
    Pattern(
        NoReply.TRACE,
        ("traceback (most",),
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
        ("\nat ",),
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
        ("\nat ",),
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
        ("goroutine ",),
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
        ("panic: ",),
        r"(?:http: )?panic: (?:runtime error|reflect|assignment to entry|interface conversion)\b.*",
        ("panic: runtime error: invalid memory address or nil pointer dereference",),
        ("Panic: it comes, and it goes. What helps you when it does?", "panic: breathe slowly"),
    ),
    Pattern(
        NoReply.TRACE,
        (".rb:",),
        r"\s*from \S{1,300}\.rb:\d+:in .*|\S{1,300}\.rb:\d+:in .*",
        ("app.rb:3:in `reply': undefined method `text' for nil (NoMethodError)\n\tfrom app.rb:9:in `<main>'",),
        ("It is from app.rb, line 3.",),
    ),
    Pattern(
        NoReply.TRACE,
        ("fatal error:",),
        r"(?:php )?fatal error:\s+(?:uncaught|allowed memory|maximum execution|call to|out of memory).*",
        ("PHP Fatal error:  Uncaught Exception: x in /a.php:3\nStack trace:\n#0 {main}\n  thrown in /a.php on line 3",),
        ("Fatal error: I forgot the milk.",),
    ),
    Pattern(
        NoReply.TRACE,
        ("exception", "error"),
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
    rf"(?:uncaught |unhandled )?(?:caused by: |suppressed: )?(?:exception in thread \S{{1,100}} )?{ERROR}(?:: .*)?",
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
