"""What evaluators read: cases and their files, files of rules, and what a change of a setting means. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from enum import Enum, auto
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from safe_gate.core.validate import Fault
from safe_gate.model import record
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import Place, Problem

LineOf = Callable[[Sequence[str | int]], int]
"""Returns the line of a value in a document by its path; for a missing field, the line of its object."""


class FileKind(NamedTuple):
    """A kind of input file: its schema, what one file is called, and how its objects differ from others.

    An object with a key of `hints` and one of `own`, or with no other keys, is meant as this kind, despite any faults.
    `schema` is that of a package which is not the gate's.
    """

    name: str
    file: str
    hints: frozenset[str]
    own: frozenset[str]
    schema: JsonObject = MappingProxyType({})


class CaseFilter(NamedTuple):
    """The option that leaves in only the cases with its value in a field."""

    setting: str
    field: str


class Exchange(NamedTuple):
    """A recorded exchange of another tool, as `import` reads it.

    `id` is "" without one; then `stand_in` follows from the message. `message` is text, or the messages of a
    conversation before the reply. `reply` is text, or any JSON value if the evaluator wants it parsed. `tags` and
    `checks`, which may be any JSON value, are for its line. `extra` holds the other fields of its format.
    """

    id: str
    stand_in: str
    message: str | Sequence[Mapping[str, str]]
    reply: Any
    tags: Sequence[str]
    checks: Any
    extra: Mapping[str, Any]


class Imports(NamedTuple):
    """The output of `import` for an evaluator: a file of lines, usually called `file`, each under the schema `kind`.

    `makes` is what the lines are. `fields` are those that a mapping may fill. `line` makes a line of an exchange; its
    reply `is_parsed` if it is JSON text. A record may have the fields of `keeps` itself: its line keeps them. `output`
    has the fields of a reply that is an object, each with whether a text of it is parsed too.
    """

    file: str
    makes: str
    kind: str
    fields: tuple[str, ...]
    line: Callable[[Exchange], JsonObject]
    is_parsed: bool = False
    keeps: frozenset[str] = frozenset()
    output: Mapping[str, bool] = MappingProxyType({})


class Input(NamedTuple):
    """Files of cases. Each case is a JSON object with its recorded output.

    They are lines or Parquet rows, one case each; or, with the key `cases`, JSON documents with several cases under it,
    each with its `output`. Outputs may then instead be lines of the schema `outputs_kind` with the id of their case, in
    files beside the documents or named by the option `outputs`. `folder` is the option for the folder that patterns of
    documents start from. `faults` yields the problems of a document that fits its schema.

    `setting` is the option that names the files, `kind` the schema of a line or document, `plural` what these are
    called. `kinds` describes the kinds, and `id_key` is the key of the id. The texts under the keys `reads` are held to
    the bound `bounds.text`; `read_as_one` yields others, each with its place, that share one bound. `case_filter` may
    leave cases out. `imports` is what `import` writes, None for nothing.
    """

    setting: str
    kind: str
    plural: str
    kinds: tuple[FileKind, ...] = ()
    id_key: str = "id"
    reads: tuple[str, ...] = ()
    read_as_one: Callable[[JsonObject], Iterable[Sequence[tuple[str, Any]]]] = lambda _: ()
    case_filter: CaseFilter | None = None
    imports: Imports | None = None
    cases: str = ""
    outputs: str = ""
    outputs_kind: str = ""
    folder: str = ""
    faults: Callable[[JsonObject], Iterable[Fault]] = lambda _: ()

    @property
    def settings(self) -> tuple[str, ...]:
        """The options that say which files are read."""
        return (self.setting, self.outputs, self.folder) if self.cases else (self.setting,)


class Way(Enum):
    """The change of a value that makes the gate weaker. None is no limit; `FEWER_CASES` is of filters."""

    LOWER = auto()
    HIGHER = auto()
    ANY = auto()
    ANY_ONCE_SET = auto()
    FEWER_CASES = auto()


class Misnamed(NamedTuple):
    """An unknown name in a setting: the setting, by the name of its option, and the expected names."""

    setting: str
    name: str
    message: str


class Contradiction(NamedTuple):
    """Settings that contradict each other: a message, and what it is about.

    It is about the first of `options`, by their names. `{}` in the message stands for the second as the user knows it.
    With a `key` of the config file, it is about that key if the file sets one of `options`, or there are none.
    """

    message: str
    options: tuple[str, ...] = ()
    key: tuple[str, ...] = ()


class CaseAt(NamedTuple):
    """The place of a case and its cluster, "" for none.

    Of a case in a document: the name of the document's file without its suffix, the document, the number of the case
    there, from 0, and the file with its output.
    """

    place: Place
    cluster: str
    stem: str = ""
    document: JsonObject = MappingProxyType({})
    number: int = 0
    outputs: str = ""


class Case(Protocol):
    """A case with its recorded output: a frozen dataclass."""

    @property
    def id(self) -> str:
        """Its id, unique among the cases of its evaluator in a run."""

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids that no case of another line may have."""

    @property
    def place(self) -> Place:
        """Its place."""

    @property
    def recording(self) -> str:
        """The file with its recorded output."""

    @property
    def cluster(self) -> str:
        """The name of the cases that change together, "" for none."""

    @property
    def groups(self) -> Sequence[str]:
        """The groups it is in, such as its tags."""

    def asks(self) -> dict[str, Any]:
        """Return the expectations of the output, sorted, so that equal expectations compare equal."""

    def given(self) -> dict[str, Any]:
        """Return digests of the application's inputs by name; None for an unknown one."""

    def judges(self) -> Mapping[str, str]:
        """Return the judges of recorded verdicts by check; a verdict of another judge is one by other rules."""

    def digests(self) -> dict[str, str]:
        """Return digests as `case` and `output`. They show whether either is the same in another run."""

    def texts(self) -> dict[str, Any]:
        """Return the recorded texts by field."""


class OwnFile(NamedTuple):
    """A team's file of rules or waivers: its path as reports show it, its name, its bytes and its content.

    `line_of` returns the line of a value.
    """

    path: str
    name: str
    data: bytes
    content: Any
    line_of: LineOf

    def place(self, *path: str | int) -> Place:
        """Return the place of a value, or of the object that lacks it."""
        return Place(self.path, self.line_of(path))


class PackFact(NamedTuple):
    """A rule of a file: the digest of what it says, and the checks that its hits can let a case pass.

    A check that a file defines is itself among the facts, by its name. A hit of a rule that has a check in
    `replaces_in` may take the place of two of rules that have it in `counts_in`.
    """

    sha256: str
    lets_pass: Set[str]
    counts_in: Set[str] = frozenset()
    replaces_in: Set[str] = frozenset()


class RuleFiles(NamedTuple):
    """A team's files of rules: the option that names them, and the schema that they fit.

    `off` is the option with the ids of rules that do not count, "" for none. `alone(settings, files)` yields what is
    wrong with each, whatever other files say. `digest(settings, files)` returns the SHA-256 of all rules that are
    files, `facts(files)` those rules by their ids, whether or not they are switched off.
    `misnamed(settings, by)` yields the unknown names in settings, such as a check that it does not have; here `by`
    returns what it scores by. `misfit(case, by)` returns the problem that prevents scoring a case, such as a check
    that nothing defines. `unserved(totals, by)` yields a problem for whatever cases ask for but nothing checks.
    """

    setting: str
    off: str
    kind: str
    alone: Callable[[JsonObject, Sequence[OwnFile]], Iterable[Problem]]
    digest: Callable[[JsonObject, Sequence[OwnFile]], str]
    facts: Callable[[Sequence[OwnFile]], Mapping[str, PackFact]]
    misnamed: Callable[[JsonObject, Callable[[], Any]], Iterable[Misnamed]]
    misfit: Callable[[Any, Any], Problem | None]
    unserved: Callable[[Any, Any], Iterable[Problem]]


@record
class Scored:
    """What is recorded of the settings that some cases are scored by, and their results: a part without figures."""

    policy: JsonObject
    results: Sequence[Any] = ()


class Grouping(NamedTuple):
    """How an evaluator groups cases, and where its part of the report has the groups.

    `noun` is the word for a group, and `key` the key in `Case.asks()` that has the groups of a case. `setting` is the
    option with limits for groups, by their names, "" for none. `figures` are the figures of each group by name, as its
    rules measure them: values with the number of `cases`.
    """

    noun: str
    key: str
    setting: str
    figures: Callable[[Any], Mapping[str, Any]]


class PartShape(NamedTuple):
    """What the gate knows of an evaluator's part of the report without reading it.

    `kind` is its type, a frozen dataclass that `model.codec` writes, with `results`, and `result` the type of these.
    `quotes` are the keys that hold recorded text, or expectations of it, as a string or a list. `where` are the keys of
    its results for the place of a case: reports that differ only there count as the same. `schema` is that of a package
    which is not the gate's: it may refer to the definitions of `report.schema.json`, and has its entries under
    `properties.results`.
    """

    kind: type
    result: type
    quotes: frozenset[str]
    where: frozenset[str] = frozenset({"source"})
    schema: JsonObject = MappingProxyType({})


def wanted_and_unwanted(tag: Iterable[str]) -> tuple[set[str], set[str]]:
    """Return the tags or archetypes that the setting `tag` selects, and those that it leaves out, written `!slow`."""
    named = {*tag}
    unwanted = {one for one in named if one.startswith("!")}
    return named - unwanted, {one.removeprefix("!") for one in unwanted}


def leaves_out_more(tag: Iterable[str], than: Iterable[str]) -> bool:
    """Return whether the setting `tag` may leave out cases that another value of it lets in.

    >>> leaves_out_more(["grief"], []), leaves_out_more(["grief"], ["grief", "!slow"])
    (True, False)
    """
    (wanted, unwanted), (wanted_there, unwanted_there) = wanted_and_unwanted(tag), wanted_and_unwanted(than)
    return bool(wanted and not (wanted_there and wanted_there <= wanted)) or not unwanted <= unwanted_there


def selects(tag: Iterable[str], groups: Iterable[str]) -> bool:
    """Return whether the setting `tag` lets a case in, by its tags or its archetype.

    >>> selects(["grief", "work"], ["work"]), selects(["work", "!slow"], ["work", "slow"]), selects([], ["work"])
    (True, False, True)
    """
    wanted, unwanted = wanted_and_unwanted(tag)
    return (not wanted or not wanted.isdisjoint(groups)) and unwanted.isdisjoint(groups)
