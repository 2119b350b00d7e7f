"""The words of error messages: parts of the patterns in `error_lines.py`. Pure data."""

from __future__ import annotations

REASONS = (
    r"(?:internal (?:server )?error|bad gateway|(?:service |temporarily |server )+(?:unavailable|error|overloaded)"
    r"|gateway time-?out|too many requests|not implemented|http version not supported|insufficient storage"
    r"|overloaded|loop detected|web server is down|connection timed out|origin is unreachable|a timeout occurred)"
)
"""Reasons that mean an error even without their number."""

REASON_SIGNS = (
    *("error", "gateway", "unavailable", "overloaded", "too many requests", "not implemented", "not supported"),
    *("storage", "loop detected", "server is down", "timed out", "unreachable", "timeout"),
)
"""One of these stands in each of them: see `Pattern`."""

REFUSALS = (
    r"(?:bad request|unauthori[sz]ed|payment required|forbidden|(?:page )?not found|method not allowed|not acceptable"
    r"|proxy authentication required|request time-?out|conflict|gone|length required|precondition failed"
    r"|(?:payload|content|request entity) too large|(?:request-)?uri too long|unsupported media type"
    r"|unprocessable (?:entity|content)|locked|failed dependency|too early|client closed request"
    r"|(?:client|server) error)"
)
"""Reasons in everyday words, which mean an error only beside their number."""

STATUS = rf"[45]\d\d(?:\s*[-:\u2013|]?\s*\(?(?:{REASONS}|{REFUSALS})\)?[.!]?)"

NETWORK = (
    r"(?:E(?:CONNREFUSED|CONNRESET|CONNABORTED|TIMEDOUT|PIPE|HOSTUNREACH|NETUNREACH|AI_AGAIN|NOTFOUND)"
    r"|UND_ERR_[A-Z_]+|socket hang up|fetch failed|failed to fetch|network error"
    r"|(?:connection|request|read|operation|stream|upstream request|context deadline)"
    r" (?:was )?(?:refused|reset|aborted|timed? ?out|timeout|error|exceeded|closed)"
    r"|max retries exceeded|request failed with status code \d+|remote end closed connection"
    r"|name or service not known|temporary failure in name resolution|no healthy upstream"
    r"|certificate verify failed|no such host)"
    r"(?: [\w-]*[.:][\w.:\[\]-]*| \(.{0,500}\)| with url: .{0,500})?"
)

NETWORK_SIGNS = (
    *("refused", "reset", "aborted", "timedout", "timed out", "time out", "timeout", "error", "exceeded", "closed"),
    *("epipe", "unreach", "eai_again", "enotfound", "und_err_", "socket hang up", "fetch", "request failed"),
    *("service not known", "name resolution", "healthy upstream", "certificate", "such host"),
)

RETRY = r"(?:[.,;:!]? (?:please |(?:try again|retry)\b).{0,500})?"
"""What services add to the reason."""

LIMIT = (
    r"(?:(?:rate limit (?:is |was |has been )?(?:reached|exceeded|hit)|you (?:have )?exceeded your current quota"
    r"|insufficient_quota|rate_limit_exceeded|resource_exhausted|overloaded_error|throttlingexception"
    r"|request throttled|(?:api )?quota exceeded)(?:: \S+| for .{0,200}\b(?:limit|min|requests|tokens|day)\b.{0,500})?)"
)

ERROR = r"(?:[A-Za-z_$][\w$]*[.:]{1,2}){0,20}[\w$]*?(?:Error|Exception|Fault|Timeout)"
"""The name of an error as a language has it, with or without its package."""

MESSAGES = (
    r"(?:cannot (?:read|set) propert|undefined is not|null is not|\S+ is not (?:a function|defined|iterable)"
    r"|'\w+' object |name '\w+' is not defined|no module named|cannot import name|(?:list|string|tuple) index out of"
    r"|unsupported operand|expecting value: line|unexpected (?:token|end of json)|string indices must be"
    r"|\d+ validation errors? for|invalid literal for|maximum recursion|cannot find module|cannot invoke \""
    r"|(?:error code|status code|http error|http)[: ]+\d+|[45]\d\d (?:client|server) error)"
)
"""What runtimes say after the name of an error."""

FOLLOWING_SIGNS = (
    *("error", "exception", "fault", "timeout", "warning", "exit", "interrupt", "stopiteration", "group"),
    *("\n~", "\n^", "... ", "[previous", "---", "node.js", "panic: ", "fatal error", "[signal", "created by", "main."),
    *(")\n", "stack trace", "#", "<?xml", "request", "content-", "server:", "date:", "retry-after"),
)
"""One of these stands in each line that may follow an error and neither begins with a blank nor is one word."""
