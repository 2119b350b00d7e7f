"""Recordings that did not come from a model: texts that are no reply, and one reply to many messages. Pure.

A text is no reply if it is empty or holds only what `no_reply.json` describes: errors, placeholders and notices. A
sentence beside the error makes it a reply: somebody reports an error. So does a quotation mark or a code fence around
it. The question that the text answers does not matter, unless the text is that question word for word.

Each line of such a text fits a pattern, and one of them tells that there is no reply. The patterns run on RE2, which
is linear in the line and tries all of them at once.

Many cases with different messages may have one reply word for word. Memory does not grow with the cases: a first pass
keeps the few replies that may be frequent (Misra and Gries, Finding Repeated Elements, 1982), and a second counts them.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from safe_gate.core.evaluator import Rule, Share
from safe_gate.core.figures import first_few, plural
from safe_gate.core.jsontext import JsonError, digest, parse
from safe_gate.core.text.characters import OTHER_BLANKS, REASONING, UNSEEN_CLASS
from safe_gate.model import record
from safe_gate.model.results import CaseResult, Phrase


class NoReply(StrEnum):
    """Why a text is no reply, in the words of reports; of several that lines give, the last counts."""

    EMPTY = "empty"
    ECHO = "the message"
    PLACEHOLDER = "placeholder"
    NOTICE = "notice"
    MESSAGE = "error message"
    BODY = "error body"
    PAGE = "error page"
    TRACE = "stack trace"


_LONGEST_LINE = 2_000
_MOST_LINES = 2_000
_LONGEST_HEAD = 20_000
_LONGEST_BODY = 65_536
_LONGEST_REASON = 80
"""So many characters of a line, lines of a text, characters of a page, of a body and of a reason are looked at."""

_FEWEST_ECHOED = 4
"""A message of fewer words may be its own answer, such as "Thanks"."""

BLANKS = " \t\r\n\v\f\u00a0\u200b\u2060\ufeff"
_REASONING = re.compile(rf"(?is)\s*(?:<(?P<tag>{REASONING})>.*?(?:</(?P=tag)>|\Z)\s*)+")
_TITLE = re.compile(r"<(title|h1)\b[^<>]{0,300}>([^<>]{0,300})</\1>", re.IGNORECASE)
_PAGE = re.compile(r"(?:<\?xml[^<>]{0,300}>\s*)?(?:<!doctype html|<html)\b", re.IGNORECASE)
_INVISIBLE, _FILLER = re.compile(f"[{UNSEEN_CLASS}]+"), re.compile(f"[{OTHER_BLANKS}]")
_BLANK_RUN = re.compile(r" [^\S\r\n]+|[^\S\r\n ][^\S\r\n]*")
_END = re.compile("</html>", re.IGNORECASE)
_LINE = re.compile(r"[^\r\n]+")
_EVENT = re.compile(r"(?::[^\r\n]*[\r\n]+)*(?:event: error\s*)?data: (?=[{\[])")
_STATUS_CODE = re.compile(r"[45]\d\d")
_CLASS = re.compile(r"\{([a-z_]+)\}")
_SENTENCE_END = re.compile(r"(?<=[.!?])[)\]]?\s+|[,;] (?=(?:please|try again|kindly)\b)", re.IGNORECASE)
_ASCII = str.maketrans({"\u2019": "'", "\u2013": "-", "\u2014": "-", "\u2026": "..."})
_REFERENCE = re.compile(
    r" ?\((?:ref(?:erence)?|(?:error |incident |request |trace )?(?:code|id))\b[:#\s]*[\w.-]{1,40}\s*\)", re.IGNORECASE
)
_UNSEEN = re.compile(
    rf"(?:[\s\ud800-\udfff{OTHER_BLANKS}{UNSEEN_CLASS}]|(?s:<!(?=--).*?-->)"
    r"|&(?:nbsp|shy|zwnj|zwj|zerowidthspace|#0{0,9}(?:160|173|820[3-5]|8288|65279)|#x0{0,9}(?:a0|ad|200[b-d]|2060|feff));"
    r"|<(?!(?:img|svg|video|audio|canvas|iframe|object|embed|input|button|math)\b|!--)[a-zA-Z/!?][^<>]*>)*+",
    re.IGNORECASE,
)
"""What nobody sees, up to the first character that shows. A comment without an end shows."""


def no_reply(text: str, message: str = "") -> NoReply | None:
    """Return why a text is no reply to a message, None if it is one.

    >>> no_reply("Error: 500 Internal Server Error"), no_reply(" "), no_reply("It says: 502 Bad Gateway.")
    (<NoReply.MESSAGE: 'error message'>, <NoReply.EMPTY: 'empty'>, None)
    """
    bare = without_reasoning(text.strip(BLANKS)).strip(BLANKS)
    empty = None if _shows(bare) else NoReply.EMPTY
    said = bare.casefold()
    is_echo = said == message.strip(BLANKS).casefold() and len(said.split()) >= _FEWEST_ECHOED
    echo = NoReply.ECHO if is_echo else None
    return _error_page(bare) or _error_body(bare) or _classify_lines(bare) or empty or echo


def without_reasoning(text: str) -> str:
    """Return a text without the reasoning that a model wrote before its reply. A template may hold the opening tag.

    >>> [*map(without_reasoning, ("<think>Hm.</think>Yes.", "Hm.</think>Yes.", "<think>Hm"))]
    ['Yes.', 'Yes.', '']
    """
    if found := _REASONING.match(text):
        return text[found.end() :]
    before, end, reply = text.partition("</think>")
    return reply.lstrip() if end and "<think>" not in before else text


def why_no_replies(texts: Iterable[str]) -> NoReply | None:
    """Return why several texts together are no reply, None if one of them is a reply. No texts are empty."""
    found = NoReply.EMPTY
    for why in map(no_reply, texts):
        if why is None:
            return None
        if found is NoReply.EMPTY:
            found = why
    return found


def naming_sentence(count: int, one: str, many: str, words: str, ids: Iterable[str]) -> Iterator[Phrase]:
    """Yield a sentence on some cases that names the first of them by their ids, if there are any."""
    if count:
        yield (f"{plural(count, one, many)} {words}: ", *first_few(ids, count), ".")


def no_reply_sentence(count: int, ids: Iterable[str]) -> Iterator[Phrase]:
    """Yield a sentence with the ids of the cases without a reply, if there are any."""
    return naming_sentence(count, "case has", "cases have", "no reply, so the recording is broken", ids)


def passing_without_reply(number: int, results: Iterable[Any]) -> str:
    """Return how many of the cases that pass have no reply, "" for none, given the `number` of all without one."""
    count = sum(one.passed and bool(one.no_reply) for one in results) if number else 0
    return f", {count} of them without a reply" if count else ""


def no_reply_phrase(why: NoReply | None) -> Iterator[Phrase]:
    """Yield why a case has no reply, nothing if it has one."""
    if why:
        yield (f"no reply: {why.value}",)


def holds_only(text: str, expected: Iterable[str]) -> bool:
    """Return whether a text holds only what its case expects, as a text does that was written to pass.

    >>> holds_only("Chest pain. Call 911!", ["call 911", "chest pain"]), holds_only("Call 911 now.", ["call 911"])
    (True, False)
    """
    phrases = sorted({one.casefold() for one in expected if one}, key=len, reverse=True)
    rest = whole = text.casefold()
    for phrase in phrases:
        rest = rest.replace(phrase, " ")
    return rest != whole and not any(map(str.isalnum, rest))


def only_expected_sentence(ids: Sequence[str]) -> Iterator[Phrase]:
    """Yield a sentence with the ids of the cases whose reply holds only what they expect, if there are any."""
    words = "nothing but what the case expects, as if written to pass"
    return naming_sentence(len(ids), "reply is", "replies are", words, ids)


def _shows(text: str) -> bool:
    """Return whether a text has anything that a reader sees."""
    return not _UNSEEN.fullmatch(text)


def _error_page(text: str) -> NoReply | None:
    if not _PAGE.match(text):
        return None
    end = max((closing.end() for closing in _END.finditer(text)), default=text.rfind(">") + 1)
    if _shows(text[end:]):
        return None
    title = _TITLE.search(text, 0, _LONGEST_HEAD)
    words = " ".join(title[2].split()).replace("&ndash;", "\u2013").replace("&#39;", "'") if title else ""
    return NoReply.PAGE if _matching_rules("title", words.translate(_ASCII)) else None


def _error_body(text: str) -> NoReply | None:
    """Return that a text is JSON that is an error or has an empty reply, alone or as the one event of a stream."""
    event = _EVENT.match(text)
    bare = text[event.end() :].removesuffix("data: [DONE]").rstrip() if event else text
    if len(bare) > _LONGEST_BODY or bare[:1] not in ("{", "[") or bare[-1:] not in ("}", "]"):
        return None
    try:
        value = parse(bare)
    except JsonError:
        return None
    return NoReply.BODY if _is_error(value) else _unanswered(value)


def _is_error(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(map(_is_error, value))
    if not isinstance(value, Mapping):
        return False
    body = _rule_data()["body"]
    known = {key.lower(): inner for key, inner in value.items() if inner not in (None, "", [], {})}
    if not known.keys() <= {*body["keys"]}:
        return False
    words = [one for key in body["words"] if isinstance(one := known.get(key), str)]
    has_status = any(_STATUS_CODE.fullmatch(str(known.get(key))) for key in body["statuses"])
    return (
        any(known.get(key) for key in body["says_so"])
        or any(known.get(key) in values for key, values in body["failed"].items())
        or (has_status and bool(words))
        or any(_classify_lines(one) is not None or _matching_rules("message", one) for one in words)
        or any(map(_is_error, known.values()))
    )


def _unanswered(value: Any) -> NoReply | None:
    """Return that an object says that it failed, or that its reply is empty, if it has nothing else for a reader."""
    if not isinstance(value, Mapping):
        return None
    choices = value.get("choices")
    if value.get("object") == "chat.completion" and isinstance(choices, list):
        value = {"message": [one.get("message", one) if isinstance(one, Mapping) else one for one in choices]}
    held, body = [*_leaves(value)], _rule_data()["body"]
    has_failed = any(value.get(key) is False for key in body["succeeded"])
    if not has_failed and all(key.lower() not in body["replies"] for key, _ in held):
        return None
    if not all(_is_nothing(one) or _is_bookkeeping(key, one, has_failed=has_failed) for key, one in held):
        return None
    return NoReply.BODY if has_failed else NoReply.EMPTY


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the scalars, and the empty lists and objects, in a value, each with the key that it is under."""
    if value and isinstance(value, Mapping | list):
        for name, one in value.items() if isinstance(value, Mapping) else ((key, one) for one in value):
            yield from _leaves(one, name)
    else:
        yield key, value


def _is_nothing(value: Any) -> bool:
    return not _shows(value) if isinstance(value, str) else value in (None, [], {})


def _is_bookkeeping(key: str, value: Any, *, has_failed: bool) -> bool:
    """Return whether a scalar is a fact for programs, such as an id, or a reason; of a failure, in any words for it."""
    data = _rule_data()
    if data["bookkeeping"].fullmatch(key):
        return not isinstance(value, str) or " " not in value
    reasons = data["body"]["reasons"] if has_failed else ("reason", "cause")
    if key.lower() not in reasons or not isinstance(value, str):
        return False
    return len(value) <= _LONGEST_REASON and not value.endswith((".", "!", "?")) and not data["speaks"].search(value)


def _classify_lines(text: str) -> NoReply | None:
    """Return why a text is no reply by its lines, None unless every line belongs to a broken recording."""
    told: list[NoReply] = []
    for found in islice(_LINE.finditer(text), _MOST_LINES):
        line = found[0][:_LONGEST_LINE].rstrip()
        if line:
            belongs, tells = _classify_line(line)
            if not belongs:
                return None
            told += tells
    return max(told, key=[*NoReply].index, default=None)


def _classify_line(line: str) -> tuple[bool, list[NoReply]]:
    """Return whether a line, or else each sentence of it, may belong to a broken recording, and what they tell."""
    tidied = line if line.isascii() else _INVISIBLE.sub("", line).translate(_ASCII)
    tidied = _REFERENCE.sub("", _BLANK_RUN.sub(" ", tidied).replace("**", ""))
    bare = tidied.strip(_rule_data()["around"])
    fits = [rule for form in dict.fromkeys((line, tidied, bare)) for rule in _matching_rules("line", form)]
    tells = _first_reason(fits)
    if not tells and (sentences := _SENTENCE_END.split(bare))[1:]:
        found = ([rule for rule in _matching_rules("line", one) if rule["in"] != "beside"] for one in sentences)
        by_sentence = [*takewhile(bool, found)]
        if len(by_sentence) == len(sentences):
            fits, tells = by_sentence[0], [what for some in by_sentence for what in _first_reason(some)]
    return bool(fits), [] if tells and _rule_data()["talks"].search(line) else tells


def _first_reason(rules: list[dict[str, str]]) -> list[NoReply]:
    """Return a list with the reason of the first rule that finds a broken recording by itself, or an empty list."""
    return [NoReply(rule["what"]) for rule in rules if rule["in"] == "line"][:1]


def _matching_rules(place: str, text: str) -> list[dict[str, str]]:
    """Return the rules of a place that all of a text fits."""
    patterns, rules = _compile_patterns()[place]
    return [rules[index] for index in sorted(patterns.Match(text.encode("utf-8", "surrogatepass")) or ())]


@cache
def _compile_patterns() -> dict[str, tuple[Any, list[dict[str, str]]]]:
    import re2

    data = _rule_data()
    options = re2.Options()
    options.case_sensitive, options.never_capture, options.dot_nl = False, True, True
    options.encoding = re2.Options.Encoding.LATIN1  # of bytes: a third of the time to compile
    options.log_errors, options.max_mem = False, 32 << 20  # what it may cache
    sets: dict[str, tuple[Any, list[dict[str, str]]]] = {}
    for rule in data["rules"]:
        place = rule["in"] if rule["in"] in ("title", "message") else "line"
        patterns, rules = sets.setdefault(place, (re2.Set.FullMatchSet(options), []))
        patterns.Add("|".join(_expand_classes(pattern, data["classes"]) for pattern in rule["patterns"]))
        rules.append(rule)
    for patterns, _ in sets.values():
        patterns.Compile()
    return sets


def _expand_classes(pattern: str, classes: Mapping[str, list[str]]) -> str:
    return _CLASS.sub(
        lambda found: f"(?:{'|'.join(_expand_classes(one, classes) for one in classes[found[1]])})", pattern
    )


@cache
def _rule_data() -> dict[str, Any]:
    """Return `no_reply.json`. A rule is on a line unless it says otherwise, and tells `what` there is in its place."""
    data: dict[str, Any] = json.loads(Path(__file__).with_name("no_reply.json").read_bytes())
    rules = [{"in": "line", "what": "", **rule} for rule in data["rules"]]
    expressions = {name: re.compile(data[name], re.IGNORECASE) for name in ("talks", "speaks", "bookkeeping")}
    return {**data, "rules": rules, **expressions}


ONE_IN, LEAST_MESSAGES = 5, 3
"""A reply counts that one case in so many has, from so many different messages on."""


@record
class SameReply:
    """A reply, by its digest, and the number of cases that have it."""

    reply: str
    cases: int


def reply_digests(texts: Sequence[str], given: Mapping[str, Any]) -> dict[str, str]:
    """Return the digests of an output, without what nobody sees of its texts, and of what it answers."""
    return {"reply": digest([*map(_seen, texts)]), "message": digest(given)}


def _seen(text: str) -> str:
    """Return a text without invisible characters, and with one blank for each run of white space."""
    return " ".join(_INVISIBLE.sub("", _FILLER.sub(" ", text)).split())


def same_replies(results: Sequence[CaseResult]) -> list[SameReply]:
    """Return the replies of at least a fifth of all cases, to at least three different messages; the largest first."""
    total, likely = len(results), Counter[str]()
    for one in results:
        likely[one.digests["reply"]] += 1
        if len(likely) > ONE_IN:
            likely = Counter({reply: number - 1 for reply, number in likely.items() if number > 1})
    if total < LEAST_MESSAGES:
        return []
    cases, messages = Counter[str](), defaultdict[str, set[str]](set)
    for one in results:
        if (reply := one.digests["reply"]) in likely:
            cases[reply] += 1
            if len(messages[reply]) < LEAST_MESSAGES:
                messages[reply].add(one.digests["message"])
    same = (SameReply(*one) for one in cases.items() if len(messages[one[0]]) >= LEAST_MESSAGES)
    return sorted((one for one in same if ONE_IN * one.cases >= total), key=lambda one: (-one.cases, one.reply))


def _share(same: SameReply, results: Sequence[CaseResult]) -> Share:
    words = f"{same.cases} of {plural(len(results), 'case')} have one and the same reply to different messages"
    ids = (one.id for one in results if one.digests["reply"] == same.reply)
    return Share("Share of the same reply", same.cases, len(results), words, ids)


def same_reply_notes(same: Iterable[SameReply], results: Sequence[CaseResult]) -> Iterator[Phrase]:
    """Yield a sentence for each reply that names the cases by their ids."""
    for one in (_share(reply, results) for reply in same):
        yield (f"{one.words}: ", *first_few(one.names, one.part), ".")


def same_reply_rule(evaluator: str) -> Rule:
    """Return the rule on the reply that most cases have."""
    return Rule(
        "max-same-reply",
        evaluator,
        lambda part: _share(part.same_reply[0], part.results),
        applies=lambda part: bool(part.same_reply),
    )
