"""A Synthesis case with its hits marked in the text and the arithmetic of every check. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.figures import apart, fixed
from safe_gate.core.model import JsonObject, Untrusted
from safe_gate.evaluators.synthesis.evidence import why_not
from safe_gate.evaluators.synthesis.language import reads_foreign
from safe_gate.evaluators.synthesis.leaving import leaves_because
from safe_gate.evaluators.synthesis.reasons import SAYS, returning
from safe_gate.evaluators.synthesis.score import SIMILARITY_THRESHOLD
from safe_gate.render.untrusted import plain, quoted

_LANGUAGES = {"english": "", "other": " (not in English)", "unclear": " (in too few words to tell the language)"}
_IDLE = {
    "unverifiable_reassurance": "does not apply to a reply without a word",
    "topic_pivot": "applies when a clause of the message that counts discloses something",
}
_ALL = 1_000_000  # characters: an explanation shows the whole text


def explanation(texts: Mapping[str, str], result: JsonObject, thresholds: Mapping[str, str]) -> str:
    """Return the explanation of one case.

    `texts` are the recorded texts by field, `result` is the case's entry of `results[]`, and
    `thresholds` says in words what each check asks for; nothing is asked of a text that is not English.
    """
    hits = _numbered(result)
    missing = f", has no reply ({result['no_reply']})" if "no_reply" in result else ""
    letters = f", has {result['disguised_letters']} disguised letters" if "disguised_letters" in result else ""
    outcome = f"{'passes' if result['pass'] else 'fails'}{missing}{letters}"
    lines = [f"{plain(Untrusted(result['id']))} ({_place(result)}): {outcome}", ""]
    for field, text in texts.items():
        lines += [
            f"{field}{_LANGUAGES[result['language'][field]]}:",
            f"  {_marked(text, [(n, hit) for n, hit in hits if hit['field'] == field])}",
            "",
        ]
    for name, check in result["checks"].items():
        is_judged = check.get("applicable", True) or not reads_foreign(name, result["language"])
        asked = (thresholds[name] if check.get("applicable", True) else _IDLE[name]) if is_judged else ""
        lines += _check(name, check, asked, hits, result["label_comparison"].get(name))
    return "\n".join(lines)


def judged(evaluator: Evaluator, result: JsonObject, texts: Mapping[str, Any]) -> str:
    """Return the explanation of a case by what each metric or check says of it."""
    lines = [f"{plain(Untrusted(result[evaluator.id_key]))} ({_place(result)}): {evaluator.finding(result).what}", ""]
    for field, title in evaluator.fields.items():
        if field in texts:
            lines += [f"{title}:", f"  {plain(Untrusted(str(texts[field])), _ALL)}", ""]
    for one in evaluator.judgements({}, result):
        facts = evaluator.explained[one.by]
        lines += [f"{facts.title}: {one.label}. {facts.asks}", *(f"  {quoted(phrase)}" for phrase in one.evidence)]
    return "\n".join(lines)


def _place(result: JsonObject) -> str:
    return f"{plain(Untrusted(result['source']['path']))}:{result['source']['line']}"


def _hit_lists(check: JsonObject) -> Iterator[tuple[str, list[JsonObject]]]:
    for key, value in check.items():
        if key.endswith("_hits"):
            yield key.removesuffix("_hits").replace("_", " "), value


def _numbered(result: JsonObject) -> list[tuple[int, JsonObject]]:
    """Return every hit of every check with a number, the same number for the same span."""
    spans: dict[tuple[str, int, int], int] = {}
    numbered = []
    for check in result["checks"].values():
        for _, hits in _hit_lists(check):
            for hit in hits:
                span = hit["field"], hit["start"], hit["end"]
                numbered.append((spans.setdefault(span, len(spans) + 1), hit))
    return numbered


def _marked(text: str, hits: Sequence[tuple[int, JsonObject]]) -> str:
    """Return a text with `[n` where hit n starts and `n]` where it ends."""
    marks: set[tuple[int, int, int, str]] = set()
    for number, hit in hits:
        marks.add((hit["end"], 0, -hit["start"], f" {number}]"))
        marks.add((hit["start"], 1, -hit["end"], f"[{number} "))
    out, position = [], 0
    for place, _, _, mark in sorted(marks):
        out += [text[position:place], mark]
        position = place
    # As one: two pieces that are harmless may be a workflow command once they are joined.
    return plain(Untrusted("".join([*out, text[position:]])), _ALL)


def _check(
    name: str, check: JsonObject, threshold: str, hits: Sequence[tuple[int, JsonObject]], label: JsonObject | None
) -> Iterator[str]:
    verdict = "pass" if check["pass"] else "FAIL"
    verdict = "not applicable" if check.get("applicable") is False else verdict
    expected = f", people say {_word(label['expected'])}" if label else ""
    yield f"{name.replace('_', ' ')}: {verdict}{expected}"
    numbers = {id(hit): number for number, hit in hits}
    for group, some in _hit_lists(check):
        for hit in some:
            number = numbers[id(hit)]
            yield f'  {group:>14}  [{number}] "{plain(Untrusted(hit["text"]), 100)}"  {_rule(hit, group)}'
    for hit in check["cancelled"]:
        yield f'  {"not counted":>14}  "{plain(Untrusted(hit["text"]), 100)}"  {_rule(hit)}  {_why_not(hit)}'
    if threshold:
        yield f"  {threshold.format(**_sums(check))}"
    if threshold and check.get("applicable", True) and "shared" in check:
        yield "  " + "".join(plain(one, 60) for one in returning(check))
    yield ""


def _rule(hit: JsonObject, group: str = "") -> str:
    if "learned" not in hit:
        return str(hit["rule"])
    inside, total = hit["learned"]
    says = f" {SAYS[group.replace(' ', '_')]}" if group else ""
    return f"{hit['rule']} (learned: {inside} of {total} marked clauses{says})"


def _why_not(hit: JsonObject) -> str:
    phrase = why_not(hit)
    words = f'"{plain(phrase[-1], 60)}"' if "words" in hit else plain(phrase[-1], 60)
    return "".join(plain(one, 60) for one in phrase[:-1]) + words


def _sums(check: JsonObject) -> dict[str, Any]:
    counts: dict[str, Any] = {group.replace(" ", "_"): len(hits) for group, hits in _hit_lists(check)}
    similarity, _ = apart(check.get("similarity", 0), SIMILARITY_THRESHOLD, fixed, 3)
    leaves = leaves_because(check) if "shared" in check else ""
    return {**counts, "score": check.get("score", 0), "similarity": similarity, "leaves": leaves or "it stays"}


def _word(label: bool | None) -> str:
    return {True: "pass", False: "fail", None: "not applicable"}[label]
