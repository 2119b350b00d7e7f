"""From a normalised text to the features of its sentences. Pure functions, standard library only.

Feature names are readable and are the keys of the learned packs:
  c:{you} will {know}   1-4-gram of tokens, a word replaced by its first class
  s:settl by            1-2-gram of stems
  x:q&option            a class seen in a question (q) or elsewhere (nq), or two key classes together
  i:imp {they}          an imperative clause and what its verb is followed by; i:neg tell
  b:it is / e:as you    how a clause begins and ends (2 or 3 tokens, classes)
  T:kin|will not|V      subject class | auxiliaries | head word of a clause; &h hedged, &r reported, &q asked
  r:...                 relation of a reply sentence to the user's message (shared stems, place, question)
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from safe_gate.model import JsonObject

_TOKEN = re.compile(r"[^\W\d_]+\d?(?:'[^\W\d_]+)*|\d(?:day|nite|moro|morrow)|\d+(?:[.,:]\d+)*|[?!\"—;:,()%]|[^\w\s.]")
_STRETCHED = re.compile(r"([a-z])\1{2,}")
_CONTRACTION = {"'ll": "will", "'re": "are", "'ve": "have", "'m": "am", "'d": "would", "'s": "'s"}

FUNCTION_WORDS = frozenset(
    "the a an of to in and or but if so as at by for from with on off out up down that this these those it is am are "
    "was were be been being do does did not no 's there then than about over into".split()
)
KEY_CLASSES = frozenset(
    "you they i we all know feel mood will would certain hedge must need option neg kin role good".split()
)
_BREAKS = frozenset(',;:—()"?!-')
_JOINS = frozenset("and but or so then".split())
_OPENERS = frozenset("and but or so then just please now first also instead next".split())
_NOT_AFTER_IMPERATIVE = frozenset("is are was were will would can could has had may might of does did 's".split())
_AUXILIARIES = frozenset(
    "will would could can may might must should shall is are was were am be been has have had do does did 's going to "
    "bound not never".split()
)
_SKIPPED = frozenset(
    "the a an this that these those just only really so all always even still already actually truly probably honestly "
    "and but because or then well look trust listen oh aw okay now of course deep down inside secretly too very every "
    "each no any both most many some".split()
)
_SUBJECTS = ("they", "kin", "role", "pet", "all", "you", "i", "we", "time")
_SUBJECT_WORDS = frozenset("it that this there things everything nothing what who which".split())
_POSSESSIVES = frozenset("your my his her their our".split())
_STOP = frozenset(
    "the a an of to in and or but if so as at by for from with on off out up down that this these those it is am "
    "are was were be been being do does did not no there then than about over into i me my mine we us our you "
    "your yours he she they him her them his their its who what which when where why how will would could can "
    "should may might must shall have has had 's just like get got go going went one some any all more most much "
    "many very really too also only even still now here know think say said want feel see make take come back "
    "because though while after before since until again ever never yes okay right well thing things something "
    "anything nothing way lot bit let myself yourself himself herself themselves such own same other another each "
    "every both few please thanks thank maybe perhaps having doing either neither whether yet around through "
    "between under".split()
)
_ANAPHORA = frozenset("that it this those them he she him her they there".split())
_ADDRESS = frozenset("you your yourself".split())


@dataclass(frozen=True, slots=True)
class Lexicon:
    """What is known of words: chat spellings, the classes a word belongs to (first the narrowest), verbs."""

    spelling: Mapping[str, str]
    classes: Mapping[str, tuple[str, ...]]
    verbs: frozenset[str]

    @classmethod
    def of(cls, data: JsonObject) -> Lexicon:
        """Return the lexicon that `lexicon.json` holds."""
        classes: dict[str, tuple[str, ...]] = {}
        for name, members in data["classes"].items():
            for word in members.split():
                classes[word] = (*classes.get(word, ()), name)
        return cls(data["spelling"], classes, frozenset(data["verbs"].split()))


def tokens(text: str, lexicon: Lexicon) -> tuple[str, ...]:
    """Return lower-case tokens: contractions and chat spellings spelt out, numbers `<num>`, marks kept."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    out: list[str] = []
    for token in _TOKEN.findall(_STRETCHED.sub(r"\1", text.lower())):
        if token in lexicon.spelling:
            out += lexicon.spelling[token].split()
        elif "'" in token and len(token) > 1:
            base, _, rest = token.partition("'")
            if token.endswith("n't"):
                out += [word for word in (token[:-3], "not") if word]
            elif "'" + rest in _CONTRACTION:
                out += [base, _CONTRACTION["'" + rest]]
            else:
                out.append(token)
        elif token[0].isdigit():
            out.append("<num>")
        elif token not in "*#":
            out.append(token)
    return tuple(out)


def stem(word: str) -> str:
    """Return a crude stem: one suffix off, doubled consonant undone, final e or y off."""
    for suffix in ("ings", "ing", "edly", "ied", "ies", "ed", "es", "s", "ly", "er"):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: -len(suffix)]
            break
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word[-1] in "ey" else word


def content_stems(words: Iterable[str]) -> set[str]:
    """Return the stems of the words that carry a topic."""
    return {stem(w) for w in words if w[0].isalpha() and len(w) > 2 and w not in _STOP}


def sentence_features(words: Sequence[str], families: str, lexicon: Lexicon) -> set[str]:
    """Return a sentence's features of the families named by letters: c s x i b T."""
    asked = "?" in words
    found: set[str] = set()
    if "c" in families:
        found.update(_ngrams(["<s>", *(_class(w, lexicon) for w in words), "</s>"], "c:", 4))
    if "s" in families:
        found.update(_ngrams(["<s>", *(w if w in FUNCTION_WORDS else stem(w) for w in words), "</s>"], "s:", 2))
    if "x" in families:
        found.update(_context(words, lexicon, asked=asked))
    if not {"i", "b", "T"}.isdisjoint(families):
        clauses = _clauses(words)
        if "i" in families:
            found.update(_imperatives([] if asked else clauses, lexicon))
        if "b" in families:
            for clause in clauses:
                named = [_class(w, lexicon) for w in clause]
                for n in (2, 3):
                    found.add("b:" + " ".join(named[:n]))
                    found.add("e:" + " ".join(named[-n:]))
        if "T" in families:
            found.update(_templates(clauses, words, lexicon, asked=asked))
    return found


def relation_features(topic: set[str], reply: Sequence[Sequence[str]]) -> Iterator[set[str]]:
    """Yield, for each sentence of a reply, how it relates to the stems of the user's message."""
    stems = [content_stems(words) for words in reply]
    shared = [len(s & topic) for s in stems]
    total = min(sum(shared), 5)
    last_shared = max((i for i, count in enumerate(shared) if count), default=-1)
    since = 0
    for i, words in enumerate(reply):
        place = "only" if len(reply) == 1 else "first" if i == 0 else "last" if i == len(reply) - 1 else "mid"
        found = relation(shared[i], len(stems[i]) - shared[i], words)
        asked, some, two = int("?" in words), min(shared[i], 1), min(shared[i], 2)
        found |= {f"r:{place}", f"r:{place}&sh{two}", f"r:q{asked}&{place}", f"r:since{min(since, 4)}"}
        found |= {f"r:since{min(since, 4)}sh{some}", f"r:later{int(last_shared > i)}sh{some}", f"r:tot{total}"}
        if asked:
            found.add(f"r:q&{place}&sh{some}")
        since = 0 if shared[i] else since + 1
        yield found


def relation(shared: int, new: int, words: Sequence[str]) -> set[str]:
    """Return the features of a sentence that shares some stems with the message and brings some new ones."""
    asked, some = int("?" in words), min(shared, 1)
    found = {f"r:sh{min(shared, 3)}", f"r:q{asked}&sh{min(shared, 2)}"}
    found |= {f"r:sh>={n}" for n in (1, 2, 3) if shared >= n}
    found |= {f"r:new>={n}" for n in (2, 4, 6, 9, 13) if new >= n}
    if shared + new:
        found |= {f"r:ratio>={t}" for t in (0.1, 0.2, 0.35, 0.5) if shared / (shared + new) >= t}
    refers, you = int(not _ANAPHORA.isdisjoint(words)), int(not _ADDRESS.isdisjoint(words))
    return found | {f"r:an{refers}you{you}sh{some}", f"r:an{refers}you{you}q{asked}"}


def _ngrams(items: Sequence[str], prefix: str, longest: int) -> Iterator[str]:
    for n in range(1, longest + 1):
        for i in range(len(items) - n + 1):
            yield prefix + " ".join(items[i : i + n])


def _class(word: str, lexicon: Lexicon) -> str:
    if word in FUNCTION_WORDS or word not in lexicon.classes:
        return word
    return "{" + lexicon.classes[word][0] + "}"


def _shape(word: str, lexicon: Lexicon) -> str:
    if word in lexicon.classes or word in FUNCTION_WORDS or not word[0].isalpha():
        return _class(word, lexicon)
    if word in lexicon.verbs:
        return "V"
    for suffix, shape in (("ing", "ing"), ("ed", "ed"), ("ly", "ly"), ("s", "Ns")):
        if word.endswith(suffix):
            return shape
    return "N"


def _clauses(words: Sequence[str]) -> list[list[str]]:
    out: list[list[str]] = []
    current: list[str] = []
    for word in words:
        if word in _BREAKS or (word in _JOINS and current):
            if current:
                out.append(current)
            current = [] if word in _BREAKS else [word]
        else:
            current.append(word)
    return [*out, current] if current else out


def _context(words: Sequence[str], lexicon: Lexicon, *, asked: bool) -> Iterator[str]:
    tag = "x:q" if asked else "x:nq"
    yield tag
    yield f"x:len{min(6, len(words) // 5)}"
    present = {name for word in words for name in lexicon.classes.get(word, ())}
    for name in present:
        yield f"{tag}&{name}"
    key = sorted(present & KEY_CLASSES)
    for i, first in enumerate(key):
        for second in key[i + 1 :]:
            yield f"x:{first}&{second}"


def _imperatives(clauses: Sequence[Sequence[str]], lexicon: Lexicon) -> Iterator[str]:
    count = 0
    for clause in clauses:
        i = 0
        while i < len(clause) and clause[i] in _OPENERS:
            i += 1
        negated = list(clause[i : i + 2]) == ["do", "not"]
        i += 2 * negated
        if i < len(clause) and clause[i] in ("never", "always"):
            i += 1
        following = clause[i + 1] if i + 1 < len(clause) else "</s>"
        if i < len(clause) and clause[i] in lexicon.verbs and following not in _NOT_AFTER_IMPERATIVE:
            count += 1
            yield "i:imp"
            yield f"i:{'neg ' if negated else ''}{clause[i]}"
            yield f"i:imp {_shape(following, lexicon)}"
    yield "i:some" if count else "i:none"
    if count > 1:
        yield "i:2+"
    if count > 2:
        yield "i:3+"


def _templates(
    clauses: Sequence[Sequence[str]], words: Sequence[str], lexicon: Lexicon, *, asked: bool
) -> Iterator[str]:
    kinds = {name for word in words for name in lexicon.classes.get(word, ())}
    flags = ("q" if asked else "") + ("h" if kinds & {"hedge", "would"} else "") + ("r" if "tell" in kinds else "")
    for clause in clauses:
        subject, i = _subject(clause, lexicon)
        auxiliaries: list[str] = []
        i += 1
        while i < len(clause) and len(auxiliaries) < 5:
            if clause[i] in _AUXILIARIES:
                auxiliaries.append(clause[i])
            elif clause[i] not in _SKIPPED and not clause[i].endswith("ly"):
                break
            i += 1
        head = clause[i] if i < len(clause) else "</c>"
        aux, kind = " ".join(auxiliaries) or "0", _shape(head, lexicon)
        yield f"T:{subject}|{aux}"
        yield f"T:{subject}|{aux}|{kind}"
        yield f"T:{subject}|{kind}"
        yield f"T:{subject}|{head}"
        yield f"T:{aux}|{kind}"
        yield f"T:{aux}|{head}"
        yield f"T:{subject}|{aux}&{flags}"
        yield f"T:{subject}|{kind}&{flags}"


def _subject(clause: Sequence[str], lexicon: Lexicon) -> tuple[str, int]:
    """Return the class of a clause's subject and where it ends: looks at the first five words."""
    for i, word in enumerate(clause[:5]):
        if word in _SUBJECT_WORDS:
            return word, i
        name = _subject_class(word, lexicon)
        if name and word in _POSSESSIVES and i + 1 < len(clause):
            return f"{word} {_subject_class(clause[i + 1], lexicon) or 'N'}", i + 1
        if name:
            return name, i
        if word not in _SKIPPED and i >= 2:
            break
    i = 0
    while i < len(clause) and clause[i] not in _AUXILIARIES and i < 5:
        i += 1
    return "N", i - 1


def _subject_class(word: str, lexicon: Lexicon) -> str | None:
    return next((name for name in lexicon.classes.get(word, ()) if name in _SUBJECTS), None)
