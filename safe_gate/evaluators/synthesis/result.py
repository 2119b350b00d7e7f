"""The result of a Synthesis case: an entry of `results[]` as a value. The only place that reads and writes it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from safe_gate.core.model import JsonObject, Place
from safe_gate.core.shown import in_notebook
from safe_gate.evaluators.entry import StoredEntry
from safe_gate.evaluators.no_reply import NoReply
from safe_gate.evaluators.synthesis.deciding.check_result import Agreement, CheckResult, Wording
from safe_gate.evaluators.synthesis.deciding.checks import SHIPPED
from safe_gate.evaluators.synthesis.engine.language import Language, is_foreign


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """A scored case. `passed` tells whether every check passed, `is_negative_example` whether one is meant to fail.

    `language` is the language of each text by field. `checks` and `labels` are by the names of checks. `no_reply` says
    why the text is no reply, None for a reply. `disguised_letters` counts letters read as the ASCII letters that they
    look like, 0 for only a few. In a conversation, `message` is the index of the reply. `digests` show whether the
    `case` or the `output` changes.
    """

    id: str
    passed: bool
    is_negative_example: bool
    tags: tuple[str, ...]
    language: Mapping[str, Language]
    checks: Mapping[str, CheckResult]
    labels: Mapping[str, Agreement]
    place: Place
    digests: Mapping[str, str]
    message: int | None = None
    cluster: str = ""
    no_reply: NoReply | None = None
    disguised_letters: int = 0

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of the checks that fail."""
        return tuple(name for name, check in self.checks.items() if not check.passed)

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return f"<Result{f' {self.id!a}' * bool(self.id)}: {self._words}>"

    @property
    def _words(self) -> str:
        if self.no_reply:
            return f"no reply ({self.no_reply.value})"
        return f"fails {', '.join(self.failed)}" if self.failed else "passes"

    def _repr_html_(self) -> str:
        """Return the result as a notebook shows it."""
        rows = [(name, _judgement(check), "; ".join(_found(check))) for name, check in self.checks.items()]
        return in_notebook(f"{self.id}: {self._words}" if self.id else self._words, ("check", "result", "found"), rows)

    def to_json(self) -> dict[str, Any]:
        """Return the entry of `results[]`."""
        return {
            "id": self.id,
            "pass": self.passed,
            "is_negative_example": self.is_negative_example,
            "tags": list(self.tags),
            "language": {field: str(language) for field, language in self.language.items()},
            "checks": {name: check.to_json() for name, check in self.checks.items()},
            "label_comparison": {
                name: {"expected": one.expected, "actual": one.actual, "match": one.match}
                for name, one in self.labels.items()
            },
            "source": {"path": self.place.path, "line": self.place.line},
            "digests": dict(self.digests),
            **({} if self.message is None else {"message": self.message}),
            **({"cluster": self.cluster} if self.cluster else {}),
            **({"no_reply": self.no_reply.value} if self.no_reply else {}),
            **({"disguised_letters": self.disguised_letters} if self.disguised_letters else {}),
        }

    @classmethod
    def from_json(cls, entry: JsonObject) -> Result:
        """Return the result of an entry of `results[]`."""
        return cls(
            id=entry["id"],
            passed=entry["pass"],
            is_negative_example=entry["is_negative_example"],
            tags=tuple(entry["tags"]),
            language={field: Language(language) for field, language in entry["language"].items()},
            checks={name: CheckResult.from_json(check) for name, check in entry["checks"].items()},
            labels={name: Agreement(**one) for name, one in entry["label_comparison"].items()},
            place=Place(**entry["source"]),
            digests=entry["digests"],
            message=entry.get("message"),
            cluster=entry.get("cluster", ""),
            no_reply=NoReply(entry["no_reply"]) if "no_reply" in entry else None,
            disguised_letters=entry.get("disguised_letters", 0),
        )


def _judgement(check: CheckResult) -> str:
    return "not applicable" if not check.applicable else "passes" if check.passed else "fails"


def _found(check: CheckResult) -> Iterator[str]:
    """Yield the hits of a check by group, and what `wording` does not find."""
    for group, hits in check.hits.items():
        yield from (f'{group.replace("_", " ")} "{hit.text}"' for hit in hits)
    for one in check.evidence.unmet if isinstance(check.evidence, Wording) else ():
        if not one.hits:
            yield f"not found: {' or '.join(words for _, words in one.of)}"


class Entry(StoredEntry):
    """A stored result: an entry of `results[]`."""

    __slots__ = ()

    @property
    def id(self) -> str:
        """The id of the case."""
        return str(self._json["id"])

    @property
    def tags(self) -> Sequence[str]:
        """The tags of the case."""
        found: Sequence[str] = self._json["tags"]
        return found

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return bool(self._json["pass"])

    @property
    def is_negative_example(self) -> bool:
        """Whether a check is meant to fail."""
        return bool(self._json["is_negative_example"])

    @property
    def is_as_expected(self) -> bool:
        """Whether the case ends as expected.

        A negative example without a reply does not: no reply was bad, there was none.
        """
        is_negative = self.is_negative_example
        return self.passed != is_negative and not (is_negative and self.no_reply)

    @property
    def disguised_letters(self) -> int:
        """The number of letters read as the ASCII letters that they look like, 0 for only a few."""
        return int(self._json.get("disguised_letters", 0))

    @property
    def message(self) -> int | None:
        """The index of the reply in a conversation."""
        found: int | None = self._json.get("message")
        return found

    @property
    def language(self) -> Mapping[str, Language]:
        """The language of each text, by field."""
        return {field: Language(language) for field, language in self._json["language"].items()}

    @property
    def checks(self) -> Mapping[str, CheckResult]:
        """The results of checks, by their names."""
        return {name: CheckResult.from_json(check) for name, check in self._json["checks"].items()}

    def check(self, name: str) -> CheckResult:
        """Return the result of a check."""
        return CheckResult.from_json(self._json["checks"][name])

    @property
    def verdicts(self) -> Mapping[str, bool | None]:
        """The verdicts of checks as labels, by the names of checks: None is not applicable."""
        checks = self._json["checks"].items()
        return {name: check["pass"] if check.get("applicable", True) else None for name, check in checks}

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of the checks that fail."""
        return tuple(name for name, check in self._json["checks"].items() if not check["pass"])

    def in_brief(self) -> dict[str, Any]:
        """Return the case as an entry of `failures[]`."""
        return {"id": self.id, "is_negative_example": self.is_negative_example, "failed_checks": list(self.failed)}

    @property
    def labels(self) -> Mapping[str, Agreement]:
        """How the verdicts compare with labels, by the names of checks."""
        return {name: Agreement(**one) for name, one in self._json["label_comparison"].items()}

    @property
    def foreign(self) -> Sequence[str]:
        """The names of the checks that read a text in another language."""
        if Language.OTHER not in self._json["language"].values():
            return ()
        return tuple(filter(self.reads_foreign, self._json["checks"]))

    def reads_foreign(self, name: str) -> bool:
        """Return whether a check reads a text in another language."""
        check = self._json["checks"][name]
        if "asked" in check:  # the words are the team's own
            return False
        groups = check["applies"] if "applies" in check else SHIPPED[name].get("applies")
        return is_foreign(("user", "assistant") if groups else ("assistant",), self._json["language"])
