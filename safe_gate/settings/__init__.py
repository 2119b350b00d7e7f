"""Everything a user may set, declared: `Settings`, with the settings of each evaluator as a group.

Flags, action inputs, variables, the keys of the config file, `action.yml` and docs/settings.md follow from its fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, SkipValidation, create_model
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from safe_gate.core.setting import (
    POWER,
    Entries,
    Group,
    Lines,
    Names,
    Number,
    NumberOrOff,
    Setting,
    Strict,
    Stripped,
    Switch,
    Text,
    Texts,
    Whole,
    WholeOrOff,
    Words,
    settings_of,
)
from safe_gate.core.validate import masked, quote, suggestion
from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.model.problems import Code, Place, Problem

CONFIG_FILES = ("safe.config.json", "safe-gate.config.json")
"""The names of the config file: it has one of them, unless another is set."""

WAIVERS_FILE = "safe-gate.waivers.json"
LOCK_FILE = "safe-gate.lock.json"

_PUBLISHING = ("run", "publish")
_READING = ("run", "power", "explain", "publish", "bless", "validate", "verify", "import")

Allowed = Literal["plain-http", "outside-links", "head-checkout", "text-in-events"]

OF_COMMANDS = ("mode", "shard", "shards", "quiet")
"""The fields of `Settings` that are no settings: the command line alone gives them."""

Format = Literal["json", "markdown", "html", "junit", "sarif", "gitlab", "csv", "jsonl", "badge"]


class Bounds(Strict):
    """The limits on bytes of a line and of a text, and on distinct tags of all cases."""

    line: Whole = Field(16 << 20, ge=1)
    text: Whole = Field(2 << 20, ge=1)
    tags: Whole = Field(20_000, ge=1)


class Significance(Strict):
    """The least drop that counts as real, as a share, and the highest p-value of one."""

    min_drop: Number = Field(0.02, ge=0, le=1, alias="min-drop")
    alpha: Number = Field(0.05, gt=0, lt=1)


class Timeouts(Strict):
    """The seconds for all reading from GitHub, all publishing there, and all sending of events."""

    fetch: Number = Field(600.0, gt=0, lt=86_400)
    publish: Number = Field(120.0, gt=0, lt=86_400)
    sinks: Number = Field(60.0, gt=0, lt=86_400)


@dataclass(frozen=True, slots=True, repr=False)  # no secret in a traceback
class Access:
    """Access to GitHub. All requests for the same purpose share its `seconds`."""

    token: str
    purpose: Literal["fetch", "publish"]
    seconds: float


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Sink:
    """A receiver of events. `kind` is the name of its module in `sinks/`, `to` a path or an address."""

    kind: str
    to: str
    secret: str = ""

    @classmethod
    def of(cls, entry: str, secret: str = "") -> Sink:
        """Return the sink that an entry of the setting `sinks` names.

        >>> [(one.kind, one.to) for one in map(Sink.of, ("file:a.jsonl", "https://b.example"))]
        [('file', 'a.jsonl'), ('webhook', 'https://b.example')]
        """
        kind, _, to = entry.partition(":")
        return cls(kind, to, secret) if kind in ("file", "otlp") else cls("webhook", entry, secret)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Sinks:
    """Where the events of a run go, and whether with recorded text. All together get `timeout` seconds."""

    each: tuple[Sink, ...]
    with_text: bool
    timeout: float


_GROUPS: Any = {f"of_{name}": (one.settings, one.settings()) for name, one in EVALUATORS.items()}
Groups = create_model("Groups", __base__=Strict, **_GROUPS)
"""The settings of each evaluator, by its name after `of_`: a field `json` would hide a method of models."""

CONFIG_FILE = "config file"
"""The kind of the origins in a config file."""


class Origin(NamedTuple):
    """Where a setting came from: the `kind` (flag, input, variable or config file), and its place and field there."""

    kind: str
    place: Place
    field: str = ""

    @property
    def name(self) -> str:
        """The setting's name there."""
        return f"{self.place.path}: {self.field}" if self.field else self.place.path

    def of_entry(self, name: str) -> Origin:
        """Return the origin of an entry of the setting, itself for none."""
        return self._replace(field=".".join(filter(None, (self.field, name))))

    def problem(self, words: str) -> Problem:
        """Return a problem of the setting."""
        return Problem(self.place, words, field=self.field, code=Code.INVALID_SETTING)

    def unfit(self, value: str | float, expected: str, choices: Sequence[str] = ()) -> Problem:
        """Return the problem of a value that the setting cannot have; one of its choices may be meant."""
        hint = suggestion(value, choices) if isinstance(value, str) else ""
        words = f"is {quote(value)}{hint}; expected {expected}"
        hidden = "" if choices else f"is {masked(value)}; expected {expected}"
        return Problem(self.place, words, field=self.field, text_free=hidden, code=Code.INVALID_SETTING)


class Settings(BaseSettings):
    """The settings of a run.

    Its sources are those of `settings.reading`, not the library's own: no `.env` file of the checkout is read.
    """

    model_config = SettingsConfigDict(frozen=True, extra="forbid")

    # --- inputs -----------------------------------------------------------------------------------

    config: Annotated[
        Text, Names("inputs", ("run", "power", "explain", "publish", "bless", "lock", "import"), key=(), usual=True)
    ] = Field("", description=f"The config file. Default: {' or '.join(CONFIG_FILES)} if there is one.")
    tag: Annotated[
        tuple[Annotated[str, Field(pattern="^!?[^!]")], ...],
        Lines,
        Names("inputs", (*POWER, "explain"), usual=True, takes="tags or archetypes, with ! before each to leave out"),
    ] = Field(
        (),
        description="Judge only cases with at least one of these tags or archetypes, and leave out those with one "
        "after `!`, such as `!slow`; one per line. Reports name the filter.",
    )

    recordings: Annotated[Mapping[str, tuple[str, ...]], Names("inputs", (), env=())] = Field(
        {},
        description="For each file of recordings, the files that it was recorded from: paths or globs. `safe-gate "
        "lock` writes their digests. Config file only.",
    )

    # --- the gate ---------------------------------------------------------------------------------

    max_no_reply: Annotated[WholeOrOff, Names("gate", usual=True)] = Field(
        0,
        ge=0,
        description="Rule: at most this many cases have no reply: the text is empty, or is only an error. `off` allows "
        "any number.",
    )
    max_same_reply: Annotated[NumberOrOff, Names("gate")] = Field(
        0.5,
        ge=0,
        le=1,
        description="Rule: at most this share (0 to 1) of cases, with different messages, has one and the same reply. "
        "`off` allows any share.",
    )
    max_vacuous: Annotated[NumberOrOff, Names("gate")] = Field(
        None,
        ge=0,
        le=1,
        description="Rule: at most this share (0 to 1) of results is vacuous: nothing is expected, or the check does "
        "not apply. Off unless set.",
    )
    stale_recordings: Annotated[Literal["fail", "warn", "off"], Stripped, Names("gate")] = Field(
        "warn",
        description="Rule: each of the recordings is as its entry in safe-gate.lock.json says, and so are its sources: "
        "`fail`, `warn` (only if there is a lock or `max-age` is set), or `off`.",
    )
    max_age: Annotated[WholeOrOff, Names("gate")] = Field(
        None,
        ge=0,
        description="Rule: none of the recordings is older than so many days when the judged commit is made. Off "
        "unless set.",
    )
    min_group: Annotated[Whole, Names("gate")] = Field(
        1,
        ge=1,
        description="Rules on a rate skip an archetype or a tag with fewer cases than this. The report shows skipped "
        "rules.",
    )
    on_weakened: Annotated[Literal["warn", "fail"], Stripped, Names("gate", usual=True)] = Field(
        "warn",
        description="What happens if the change makes the gate itself weaker: `warn` shows it, `fail` fails the run.",
    )
    policy_ref: Annotated[Literal["head", "base"], Stripped, Names("gate", key=())] = Field(
        "head",
        description="Where the config, rule packs and waivers come from: the checkout (`head`) or the base commit "
        "(`base`).",
    )
    waivers: Annotated[Text, Names("gate", usual=True)] = Field(
        "",
        description=f"The file of waivers, which let known failures pass. Default: {WAIVERS_FILE} beside the config "
        "file, if there is one.",
    )

    # --- the baseline -----------------------------------------------------------------------------

    baseline: Annotated[Text, Names("baseline", ("run", "bless"), usual=True)] = Field(
        "",
        description="What to compare with: an earlier safe-gate.json, a git ref, or `base`, the base commit of the "
        "pull request, merge group or push. Off unless set.",
    )
    allow_missing: Annotated[tuple[Literal["baseline", "cases"], ...], Words, Names("baseline", usual=True)] = Field(
        (),
        description="Baseline: what may be missing: the `baseline` itself, a .json file, as in the first run of a new "
        "gate; `cases` that the baseline has, except protected ones; one per line.",
    )
    protect: Annotated[Texts, Names("baseline", usual=True)] = Field(
        (), description="Baseline: cases that must not newly fail or be removed, by id, tag or archetype; one per line."
    )
    max_regressions: Annotated[WholeOrOff, Names("baseline", POWER, usual=True)] = Field(
        None, ge=0, description="Rule: at most this many cases newly fail, compared with the baseline. Off unless set."
    )
    max_score_drop: Annotated[NumberOrOff, Names("baseline")] = Field(
        None,
        ge=0,
        le=1,
        description="Rule: no mean score or pass rate is lower than the baseline's by more than this (0 to 1). Off "
        "unless set.",
    )
    significance: Annotated[Significance, Entries(), Names("baseline", POWER)] = Field(
        Significance(),
        description="Baseline: which drop counts as real: one of at least `min-drop`, a share of cases or of a mean "
        "score (0 to 1), whose p-value, after Holm's correction, is at most `alpha`; one per line.",
    )
    cluster_key: Annotated[Text, Names("baseline")] = Field(
        "", description="Baseline: the field, such as x_topic, whose value groups cases that change together."
    )

    # --- reports ----------------------------------------------------------------------------------

    reports: Annotated[tuple[Format, ...], Words, Names("reports", usual=True)] = Field(
        ("json", "markdown"),
        min_length=1,
        description="The report formats that a run writes to report-dir: json, markdown, html, junit, sarif, gitlab, "
        "csv, jsonl, badge; one per line. Commas may separate them too.",
    )
    report_dir: Annotated[
        Text,
        Names(
            "reports",
            ("run", "publish", "bless", "history"),
            env=tuple(name for one in EVALUATORS.values() for name in one.settings.variables.get("report_dir", ())),
            usual=True,
        ),
    ] = Field("./reports", description="The folder for reports.")
    text: Annotated[Literal["full", "none"], Stripped, Names("reports")] = Field(
        "full", description="Recorded text in all output: `full`, or `none`, which shows hashes instead."
    )
    sinks: Annotated[Texts, Names("reports", key=(), secret=True)] = Field(
        (),
        description="Where the results go as events, one per line: `file:PATH`, the address of a webhook "
        "(`https://...`), or of an OTLP/HTTP endpoint (`otlp:https://...`).",
        repr=False,
    )
    sink_secret: Annotated[Text, Names("reports", (), key=(), secret=True)] = Field(
        "",
        description="Sink: the secret that signs requests to webhooks with HMAC-SHA256. Without it, they are not "
        "signed.",
        repr=False,
    )

    # --- GitHub -----------------------------------------------------------------------------------

    comment: Annotated[
        Literal["always", "on-failure", "changes", "never"], Stripped, Names("GitHub", _PUBLISHING, usual=True)
    ] = Field(
        "always",
        description="The pull-request comment: `always`, `on-failure` (created on a failure, then updated), `changes` "
        "(rewritten only if the result changes) or `never`.",
    )
    gate_id: Annotated[Text, Names("GitHub", _PUBLISHING)] = Field(
        "", description="The name of this gate; each gate has its own comment. Default: the job's id."
    )
    comment_author: Annotated[Text, Names("GitHub", (), key=(), is_input=False)] = Field(
        "",
        description="The account of the token, such as my-app[bot]. Default: the run asks GitHub; a job's own token is "
        "github-actions[bot].",
    )
    github_token: Annotated[
        Text, Names("GitHub", (), env=("SAFE_GATE_GITHUB_TOKEN", "GITHUB_TOKEN"), key=(), secret=True)
    ] = Field(
        "",
        description="The token that writes the pull-request comment. In the action, the default is the job's own "
        "token.",
        repr=False,
    )
    timeouts: Annotated[Timeouts, Entries(), Names("GitHub", _PUBLISHING, key=())] = Field(
        Timeouts(),
        description="Seconds: `fetch` for reading commits from GitHub, after which there is no verdict; `publish` for "
        "all publishing to GitHub, and `sinks` for sending all events, after which the run warns; one per line.",
    )
    dry_run: Annotated[Switch, Names("GitHub", _PUBLISHING, key=())] = Field(
        False,
        description="Judge and write reports, but print the comment and annotations instead of publishing them. There "
        "is no job summary, and sinks get nothing.",
    )

    # --- advanced ---------------------------------------------------------------------------------

    jobs: Annotated[
        Text,
        Names("advanced", key=(), takes="a whole number from 1 to 999, auto, or the address of a scheduler"),
    ] = Field(
        "auto",
        pattern="^(auto|[1-9][0-9]{0,2}|.*:.*)$",
        description="What scores cases in JSONL files: a number of processes, `auto` for one per core if there are "
        "about 500 cases or more, or the address of a dask scheduler, such as tls://10.0.0.2:8786, as trusted as the "
        "gate. The result is the same.",
    )
    allow: Annotated[tuple[Allowed, ...], Words, Names("advanced", _READING, key=())] = Field(
        (),
        description="What is refused otherwise: `plain-http` in addresses of sinks, which anyone on the network can "
        "read; `outside-links`, to read files behind symbolic links that lead out of the workspace; `head-checkout`, "
        "to judge under pull_request_target although the workspace holds the pull request's own files; "
        "`text-in-events`, to send the recorded words that decide to sinks; one per line.",
    )
    bounds: Annotated[Bounds, Entries(), Names("advanced", ("run", "power", "explain"))] = Field(
        Bounds(),
        description="Input: the maximum bytes of a `line` of a file or of a JSON document of cases, and of a `text` "
        "that an evaluator reads; the maximum number of distinct `tags` in a run; one per line.",
    )

    # --- what the command line alone says: no settings --------------------------------------------

    mode: Literal["run", "merge", "publish"] = "run"
    shard: str = ""
    shards: tuple[str, ...] = ()
    quiet: bool = False
    origins: Annotated[Mapping[str, Origin], SkipValidation] = {}
    """Where each setting that is set came from, by its name; entries as `SETTING.ENTRY`."""

    # --- evaluators -------------------------------------------------------------------------------

    groups: Groups = Groups()

    @classmethod
    def merged(cls, *sources: PydanticBaseSettingsSource, **values: Any) -> Self:
        """Return what values and sources set; the first wins. Raises pydantic's ValidationError."""
        return cls(**values | {"_given": sources})

    @classmethod
    def settings_customise_sources(cls, settings_cls: Any, init_settings: Any, *_: Any, **__: Any) -> tuple[Any, ...]:  # noqa: ARG003
        """Return the sources in their order: the arguments, then those of `merged`."""
        return (init_settings, *init_settings.init_kwargs.pop("_given", ()))

    def group(self, evaluator: str) -> Group:
        """Return the settings of an evaluator, by its name."""
        found: Group = getattr(self.groups, f"of_{evaluator}")
        return found

    @property
    def scheduler(self) -> str:
        """The address of the cluster that scores cases, "" for processes of this machine."""
        return self.jobs if ":" in self.jobs else ""

    def access(self, purpose: Literal["fetch", "publish"]) -> Access:
        """Return the access to GitHub."""
        return Access(self.github_token, purpose, getattr(self.timeouts, purpose))

    @property
    def receivers(self) -> Sinks:
        """Where the events of a run go."""
        each = tuple(Sink.of(one, self.sink_secret) for one in self.sinks)
        return Sinks(each, "text-in-events" in self.allow, self.timeouts.sinks)

    def on_this_machine(self) -> Self:
        """Return these settings without a cluster."""
        return self.model_copy(update={"jobs": "1"}) if self.scheduler else self

    def value(self, name: str) -> Any:
        """Return the value of a setting by its name, which no two groups share; named entries as a mapping."""
        group = _groups()[name]
        found = getattr(getattr(self.groups, group) if group else self, name)
        return found.model_dump(by_alias=True) if isinstance(found, Strict) else found

    def values(self) -> dict[str, Any]:
        """Return the values of all settings, by name."""
        return {name: self.value(name) for name in _groups()}

    def replace(self, **values: Any) -> Self:
        """Return these settings with other values, by the names of settings."""
        found = in_groups(values)
        groups = {
            group: getattr(self.groups, group).model_copy(update=own) for group, own in found.get("groups", {}).items()
        }
        return self.model_copy(update=found | {"groups": self.groups.model_copy(update=groups)})


def in_groups(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by the names of settings as `Settings` has them: those of evaluators in their groups."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        group = "" if name in OF_COMMANDS else _groups()[name]
        own = found.setdefault("groups", {}).setdefault(group, {}) if group else found
        own[name] = value
    return found


@cache
def _groups() -> Mapping[str, str]:
    """Return the field of `Groups` that has each setting, by its name, "" for a general one."""
    general = {one.name: "" for one in settings_of(Settings)}
    return general | {one.name: f"of_{name}" for name, own in EVALUATORS.items() for one in settings_of(own.settings)}


@cache
def settings() -> tuple[Setting, ...]:
    """Return every setting with all its names, those of evaluators first.

    A general setting has flags of the evaluators' commands that ask for it.
    """
    own = [one for evaluator in EVALUATORS.values() for one in settings_of(evaluator.settings)]
    general = list[Setting]()
    commands = [item for evaluator in EVALUATORS.values() for item in evaluator.commands.items()]
    for one in settings_of(Settings):
        takers = [command for command, names in commands if one.name in names]
        general.append(one._replace(flags={**one.flags, **dict.fromkeys(takers, one.flags_of("run"))}))
    return (*own, *general)
