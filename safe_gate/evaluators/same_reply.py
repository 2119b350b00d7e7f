"""Replies that many cases with different messages have word for word: a recording that did not come from a model. Pure.

Memory does not grow with the cases. While cases are added up, `Frequent` keeps the few replies that may be frequent
(Misra and Gries, Finding Repeated Elements, 1982; merged as Agarwal et al., Mergeable Summaries, 2012). The entries
are then counted exactly, so the order of the cases does not matter.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from safe_gate.core.digests import digest
from safe_gate.core.figures import first_few, plural
from safe_gate.core.rules import Rule, Share
from safe_gate.model.untrusted import Phrase

_KEPT = 19
"""So many replies are kept. Any that more than one in 20 cases has is among them."""

ONE_IN, LEAST_MESSAGES = 5, 3
"""A reply counts that one case in so many has, from so many different messages on."""


@dataclass(frozen=True, slots=True)
class SameReply:
    """A reply, by its digest, and how many cases have it."""

    reply: str
    cases: int


class Digested(Protocol):
    """A result with its id and the digests of its reply and of what that answers."""

    @property
    def id(self) -> str:
        """The id of the case."""
        ...

    @property
    def digests(self) -> Mapping[str, str]:
        """The digests, as `digests` returns them."""
        ...


def digests(texts: Sequence[str], given: Mapping[str, Any]) -> dict[str, str]:
    """Return the digests of an output, without white space around its texts, and of what it answers."""
    return {"reply": digest([text.strip() for text in texts]), "message": digest(given)}


class Frequent(Counter[str]):
    """How often the replies occur that may be frequent. A count may be too low by one in 20 cases."""

    @classmethod
    def of(cls, replies: Iterable[str]) -> Frequent:
        """Return those of the digests of replies."""
        return cls(replies)._kept()

    def __add__(self, other: Counter[str]) -> Frequent:  # type: ignore[override]
        return Frequent(Counter(self) + Counter(other))._kept()

    def _kept(self) -> Frequent:
        if len(self) <= _KEPT:
            return self
        least = self.most_common(_KEPT + 1)[_KEPT][1]
        return Frequent({reply: number - least for reply, number in self.items() if number > least})


def same_replies(found: Frequent, results: Sequence[Digested]) -> list[SameReply]:
    """Return the replies of at least a fifth of all cases, to at least three different messages; the largest first."""
    total = len(results)
    likely = {
        reply for reply, number in found.items() if ONE_IN * (number * (_KEPT + 1) + total) >= total * (_KEPT + 1)
    }
    if not likely or total < LEAST_MESSAGES:
        return []
    cases, messages = Counter[str](), defaultdict[str, set[str]](set)
    for one in results:
        if (reply := one.digests["reply"]) in likely:
            cases[reply] += 1
            if len(messages[reply]) < LEAST_MESSAGES:
                messages[reply].add(one.digests["message"])
    same = (SameReply(*one) for one in cases.items() if len(messages[one[0]]) >= LEAST_MESSAGES)
    return sorted((one for one in same if ONE_IN * one.cases >= total), key=lambda one: (-one.cases, one.reply))


def _ids(same: SameReply, results: Iterable[Digested]) -> Iterator[str]:
    return (one.id for one in results if one.digests["reply"] == same.reply)


def notes(same: Iterable[SameReply], results: Sequence[Digested]) -> Iterator[Phrase]:
    """Yield a sentence for each reply that names the cases by their ids."""
    for one in same:
        words = f"{one.cases} of {plural(len(results), 'case')} have one and the same reply to different messages: "
        yield (words, *first_few(_ids(one, results), one.cases), ".")


def rule(evaluator: str) -> Rule:
    """Return the rule on the reply that most cases have."""

    def measure(part: Any) -> Share:
        most, total = part.same_reply[0], len(part.results)
        words = f"{most.cases} of {plural(total, 'case')} have one and the same reply to different messages"
        return Share("Share of the same reply", most.cases, total, words, _ids(most, part.results))

    return Rule("max-same-reply", evaluator, measure, applies=lambda part: bool(part.same_reply))
