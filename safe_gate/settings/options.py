"""Everything a user may set: one field each, with its default, its names and its words.

Pure data, standard library only: flags, action inputs, environment variables, the config file's
keys, the table in `docs/settings.md` and `action.yml` all follow from it (tests compare them).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from safe_gate.gate.limits import ALL

CONFIG_FILES = ("safe.config.json", "safe-gate.config.json")
"""The names of the config file: it has one of them, unless another is set."""

OFF = "off"
WAIVERS_FILE = "safe-gate.waivers.json"
_PUBLISHING = ("run", "publish")
_POWER = ("run", "power")
_SCORING = ("run", "power", "score", "eval", "explain")
_READING = ("run", "power", "score", "eval", "explain", "rules", "publish", "bless", "validate", "verify", "import")
Group = Literal["inputs", "gate", "baseline", "reports", "GitHub", "advanced"]
GROUPS: tuple[Group, ...] = get_args(Group)
"""The headings of settings in `--help`, in their order."""

AS_RUN = ("run", "doctor", "compare", "merge")


@dataclass(frozen=True, slots=True)
class Setting:
    """How one option is named and limited.

    `group` is its heading in `--help`, `flags` its flags by command;
    `key` is its path in the config file (empty: not allowed there);
    `low` and `high` bound a number, which may be neither of them if they are `excluded`. In a mapping, a
    number alone stands for the entry `general`; sources merge such a mapping by entry.
    """

    name: str
    group: Group
    kind: Any
    default: Any
    help: str
    env: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    low: float | None = None
    high: float | None = None
    excluded: bool = False
    choices: tuple[str, ...] = ()
    secret: bool = False
    is_input: bool = True
    general: str = ""

    def flags_of(self, command: str) -> tuple[str, ...]:
        """Return the option's flags for a command, none if it has none; some commands take those of `run`."""
        return self.flags.get("run" if command in AS_RUN else command, ())

    @property
    def input(self) -> str:
        """The name of the action input, in kebab-case."""
        return self.name.replace("_", "-")

    @property
    def names(self) -> frozenset[str]:
        """The names people try for the option anywhere, in kebab-case: its own and those of its flags."""
        return frozenset({self.input, *(flag.removeprefix("--") for flags in self.flags.values() for flag in flags)})

    @property
    def is_list(self) -> bool:
        """Whether the option takes several values."""
        return get_origin(self.kind) is tuple

    @property
    def is_mapping(self) -> bool:
        """Whether the option takes numbers by id: an object in the config file, elsewhere `ID=NUMBER`, one a line."""
        return bool(self.kind == Mapping[str, float] | None)

    @property
    def can_be_off(self) -> bool:
        """Whether it is a limit that holds unless it is set to `OFF`, which stands for None."""
        return type(None) in get_args(self.kind) and self.default is not None

    @property
    def metavar(self) -> str:
        """What stands for the value in `--help`."""
        if self.is_mapping:
            return "[CHECK=]N" if self.general else "ID=N"
        if self.choices:
            return "|".join(self.choices)
        return "N" if self.low is not None else "TEXT"


def _option(
    group: Group,
    help_: str,
    default: Any,
    *,
    env: tuple[str, ...] | None = None,
    key: tuple[str, ...] | None = None,
    flags: Mapping[str, tuple[str, ...]] | None = None,
    limits: tuple[float | None, float | None] = (None, None),
    excluded: bool = False,
    choices: tuple[str, ...] = (),
    secret: bool = False,
    is_input: bool | None = None,
    general: str = "",
) -> Any:
    facts = {
        "group": group,
        "help": help_,
        "env": env,
        "key": key,
        "flags": flags,
        "limits": limits,
        "choices": choices,
    }
    more = {"excluded": excluded, "secret": secret, "is_input": is_input, "general": general}
    return field(default=default, metadata=facts | more, repr=not secret)


def _renamed(name: str, short: str, *commands: str) -> Mapping[str, tuple[str, ...]]:
    """Return the flags of an input: its full name first, or for commands of its evaluator alone its short one."""
    full, brief = f"--{name}", f"--{short}"
    return dict.fromkeys(_POWER, (full, brief)) | dict.fromkeys(commands, (brief, full))


def _threshold(metric: str, level: str, default: float) -> Any:
    return _option(
        "gate",
        f"SAFE v0: {metric} at or above this is {'Pass' if level == 'pass' else 'Review, below it Fail'}.",
        default,
        env=(f"SAFE_V0_{metric}_{level.upper()}",),
        key=("thresholds", metric, level),
        limits=(0, 1),
    )


def _weight(metric: str) -> Any:
    return _option(
        "gate",
        f"SAFE v0: weight of {metric} in the composite score.",
        1.0,
        env=(f"SAFE_V0_{metric}_WEIGHT",),
        key=("weights", metric),
        limits=(0, 1_000_000),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The settings of a run."""

    safe_batch: tuple[str, ...] = _option(
        "inputs",
        "SAFE v0 batch files: paths or globs (`*`, `**`), with or without .json; one per line.",
        (),
        flags=_renamed("safe-batch", "batch", "score"),
    )
    safe_outputs: tuple[str, ...] = _option(
        "inputs",
        "SAFE v0 recorded outputs: paths or globs, one per line. Default: BATCH.outputs.jsonl beside each batch file.",
        (),
        flags=_renamed("safe-outputs", "outputs", "score"),
    )
    safe_concern: str = _option(
        "inputs",
        "SAFE v0: score only the cases of this concern id.",
        "",
        flags=_renamed("safe-concern", "concern", "score"),
    )
    safe_test_dir: str = _option(
        "inputs",
        "SAFE v0: the folder that batch patterns start from.",
        ".",
        flags=_renamed("safe-test-dir", "test-dir", "score"),
    )
    synthesis_cases: tuple[str, ...] = _option(
        "inputs",
        "Synthesis case files (JSONL): paths or globs, one per line.",
        (),
        flags=_renamed("synthesis-cases", "cases", "eval", "explain"),
    )
    profile: str = _option(
        "gate",
        "Synthesis: `standard` counts clauses by all shipped rules, `spec` hits by the rules and formulas of the "
        "specification; `weighted` is the former name of `standard`.",
        "standard",
        flags=dict.fromkeys(("run", "eval", "explain", "rules"), ("--profile",)),
        choices=("standard", "spec", "weighted"),
    )
    sensitivity: str = _option(
        "gate",
        "Synthesis: how precise a learned rule must be to count: `strict` fails more replies, `lenient` fewer.",
        "balanced",
        flags=dict.fromkeys(("run", "eval", "explain"), ("--sensitivity",)),
        choices=("strict", "balanced", "lenient"),
    )
    rules: tuple[str, ...] = _option(
        "inputs",
        "Synthesis: your own rule packs (JSON): paths or globs, one per line.",
        (),
        flags=dict.fromkeys(("run", "eval", "explain", "rules"), ("--rules",)),
    )
    rules_off: tuple[str, ...] = _option(
        "advanced",
        "Synthesis: ids of rules or packs that do not count, one per line.",
        (),
        flags=dict.fromkeys(("run", "eval", "explain", "rules"), ("--rules-off",)),
    )
    rule_weights: Mapping[str, float] | None = _option(
        "advanced",
        "Synthesis: rules or packs that are on (1) or off (0), `ID=WEIGHT`, one per line; other weights count as 1.",
        None,
        limits=(0, 1000),
        flags=dict.fromkeys(("run", "eval", "explain", "rules"), ("--rule-weights",)),
    )
    min_pass_rate: float = _option(
        "gate", "Rule: the share of SAFE v0 cases labelled Pass is at least this (0 to 1).", 0.8, limits=(0, 1)
    )
    max_fail_labels: int | None = _option(
        "gate", "Rule: at most this many SAFE v0 cases are labelled Fail. Off unless set.", None, limits=(0, None)
    )
    max_unexpected_failures: int = _option(
        "gate",
        "Rule: at most this many Synthesis cases fail that are not negative examples.",
        0,
        limits=(0, None),
        flags={
            "run": ("--max-unexpected-failures", "--fail-on"),
            "eval": ("--fail-on", "--max-unexpected-failures"),
        },
    )
    max_unexpected_passes: int | None = _option(
        "gate", "Rule: at most this many Synthesis negative examples pass. Off unless set.", None, limits=(0, None)
    )
    max_not_english: int | None = _option(
        "gate",
        "Rule: at most this many Synthesis cases are in a language other than English, which no check can judge. "
        "`off` for any number.",
        0,
        limits=(0, None),
    )
    max_no_reply: int | None = _option(
        "gate",
        "Rule: at most this many cases have no reply: the text is empty, or is only an error. `off` for any number.",
        0,
        limits=(0, None),
    )
    max_disguised: int | None = _option(
        "gate",
        "Rule: at most this many Synthesis replies have disguised letters: more than three that only look like ASCII "
        "letters. Off unless set.",
        None,
        limits=(0, None),
    )
    max_vacuous: float | None = _option(
        "gate",
        "Rule: at most this share (0 to 1) of results is empty: SAFE v0 scores that expect nothing, Synthesis "
        "verdicts that do not apply. Off unless set.",
        None,
        limits=(0, 1),
    )
    min_label_accuracy: Mapping[str, float] | None = _option(
        "gate",
        "Rule: the share of Synthesis labels that agree is at least this (0 to 1). A number is for all labels, "
        "`topic_pivot=0.9` for those of one check; one per line. Off unless set.",
        None,
        limits=(0, 1),
        general=ALL,
    )
    baseline: str = _option(
        "baseline",
        "What to compare with: an earlier safe-gate.json, a git ref, or `base`, the base commit of the pull "
        "request, merge group or push. Off unless set.",
        "",
        flags={"run": ("--baseline",), "bless": ("--baseline",)},
    )
    baseline_required: bool = _option(
        "baseline",
        "Baseline: a missing .json file is an error. Set `false` for the first run of a new gate.",
        True,
    )
    allow_removed: bool = _option(
        "baseline",
        "Baseline: cases may be removed, except protected ones.",
        False,
    )
    protect: tuple[str, ...] = _option(
        "baseline",
        "Baseline: cases that must not newly fail or be removed, by id, tag or archetype; one per line.",
        (),
    )
    max_regressions: int | None = _option(
        "baseline",
        "Rule: at most this many cases newly fail against the baseline. Off unless set.",
        None,
        limits=(0, None),
        flags=dict.fromkeys(_POWER, ("--max-regressions",)),
    )
    max_score_drop: float | None = _option(
        "baseline",
        "Rule: no mean score or pass rate falls by more than this (0 to 1) against the baseline. Off unless set.",
        None,
        limits=(0, 1),
    )
    min_drop: float = _option(
        "baseline",
        "Baseline: a drop smaller than this never counts as real; a share of cases or of a mean score (0 to 1).",
        0.02,
        limits=(0, 1),
        flags=dict.fromkeys(_POWER, ("--min-drop",)),
    )
    alpha: float = _option(
        "baseline",
        "Baseline: a drop counts as real if its p-value, after Holm's correction, is at most this (0 to 1).",
        0.05,
        limits=(0, 1),
        excluded=True,
        flags=dict.fromkeys(_POWER, ("--alpha",)),
    )
    cluster_key: str = _option(
        "baseline",
        "Baseline: the field, such as x_topic, whose value groups cases that change together.",
        "",
    )
    on_weakened: str = _option(
        "gate",
        "What happens if the change makes the gate itself weaker: `warn` shows it, `fail` fails the run.",
        "warn",
        choices=("warn", "fail"),
    )
    policy_ref: str = _option(
        "gate",
        "Whose config, rule packs and waivers judge: the checkout's (`head`) or the base commit's (`base`).",
        "head",
        choices=("head", "base"),
        key=(),
    )
    waivers: str = _option(
        "gate",
        f"Known failures to let pass, as in schemas/waivers.schema.json. Default: {WAIVERS_FILE} if there is one.",
        "",
    )
    cr_pass: float = _threshold("CR", "pass", 0.8)
    cr_review: float = _threshold("CR", "review", 0.5)
    ah_pass: float = _threshold("AH", "pass", 1.0)
    ah_review: float = _threshold("AH", "review", 0.5)
    ac_pass: float = _threshold("AC", "pass", 0.8)
    ac_review: float = _threshold("AC", "review", 0.5)
    cr_weight: float = _weight("CR")
    ah_weight: float = _weight("AH")
    ac_weight: float = _weight("AC")
    strict_ah: bool = _option(
        "gate",
        "SAFE v0: one forbidden term makes AH 0, instead of lowering it in proportion.",
        False,
        env=("SAFE_V0_AH_STRICT",),
        key=("strictAH",),
        flags={"run": ("--strict-ah",), "score": ("--strict-ah",)},
    )
    safe_match: str = _option(
        "gate",
        "SAFE v0: how texts are matched: `literal`, or `normalised`, which ignores typography.",
        "literal",
        choices=("literal", "normalised"),
        flags={"run": ("--safe-match",), "score": ("--safe-match",)},
    )
    archetypes: Mapping[str, Mapping[str, Any]] | None = _option(
        "gate",
        "SAFE v0: weights, thresholds and min-pass-rate for the cases of one archetype. Config file only.",
        None,
        env=(),
        flags={},
    )
    tags: Mapping[str, Mapping[str, Any]] | None = _option(
        "gate",
        "Synthesis: max-unexpected-failures, min-pass-rate and min-label-accuracy for the cases with one tag. Here"
        " min-pass-rate counts cases that pass or fail as expected. Config file only.",
        None,
        env=(),
        flags={},
    )
    min_group: int = _option(
        "gate",
        "Rules on a rate of an archetype or a tag apply from this many cases on; the report shows skipped rules.",
        1,
        limits=(1, None),
    )
    report_formats: tuple[str, ...] = _option(
        "reports",
        "Formats that `safe-gate score` writes: json, console, markdown, or all.",
        ("console",),
        key=("reportFormats",),
        flags={"score": ("--format",)},
        choices=("json", "console", "markdown", "all"),
    )
    reports: tuple[str, ...] = _option(
        "reports",
        "The formats of the files that a run writes to report-dir: json, markdown, html, junit, sarif, gitlab, csv, "
        "jsonl, badge; one a line, or commas between them.",
        ("json", "markdown"),
        choices=("json", "markdown", "html", "junit", "sarif", "gitlab", "csv", "jsonl", "badge"),
    )
    report_dir: str = _option(
        "reports",
        "The folder for reports.",
        "./reports",
        env=("SAFE_V0_REPORT_DIR",),
        flags=dict.fromkeys(("run", "score", "publish", "bless", "history"), ("--report-dir",)),
    )
    comment: str = _option(
        "GitHub",
        "The pull-request comment: `always`, `on-failure` (created on a failure, then updated), `changes` "
        "(rewritten only for another result) or `never`.",
        "always",
        flags=dict.fromkeys(_PUBLISHING, ("--comment",)),
        choices=("always", "on-failure", "changes", "never"),
    )
    gate_id: str = _option(
        "GitHub",
        "The name of this gate; each gate has its own comment. Default: the job's id.",
        "",
        flags=dict.fromkeys(_PUBLISHING, ("--gate-id",)),
    )
    comment_author: str = _option(
        "GitHub",
        "The account of the token, such as my-app[bot]. Default: GitHub is asked; a job's own token is github-"
        "actions[bot].",
        "",
        key=(),
        flags={},
        is_input=False,
    )
    ca_bundle: str = _option(
        "GitHub",
        "A PEM file of certificates to trust when talking to GitHub and to sinks. Default: REQUESTS_CA_BUNDLE or the "
        "usual ones.",
        "",
        key=(),
        flags={},
        is_input=False,
    )
    publish_timeout: float = _option(
        "GitHub",
        "Seconds for all publishing to GitHub. After them, the comment is missing, with a warning.",
        120.0,
        limits=(0, 86_400),
        excluded=True,
        key=(),
        flags=dict.fromkeys(_PUBLISHING, ("--publish-timeout",)),
    )
    fetch_timeout: float = _option(
        "GitHub",
        "Seconds for reading commits from GitHub. After them, there is no verdict.",
        600.0,
        limits=(0, 86_400),
        excluded=True,
        key=(),
    )
    allow_head_checkout: bool = _option(
        "GitHub",
        "Under pull_request_target: judge even if the workspace holds the pull request's own files.",
        False,
        key=(),
        flags={"run": ("--allow-head-checkout",)},
    )
    mode: str = _option(
        "advanced",
        "What the action does: `run`, `merge` shards, or `publish` the result of a run without write access from "
        "report-dir. Elsewhere the command says it.",
        "run",
        env=(),
        key=(),
        flags={},
        choices=("run", "merge", "publish"),
        is_input=True,
    )
    shard: str = _option(
        "advanced",
        "Score one part of the cases, such as `2/4`, and judge nothing. `merge` judges all parts together.",
        "",
        key=(),
        flags={"run": ("--shard",)},
    )
    shards: tuple[str, ...] = _option(
        "advanced",
        "The files for `mode: merge`, which runs with `shard` wrote: paths or globs, one per line. Elsewhere: "
        "`safe-gate merge SHARD...`.",
        (),
        env=(),
        key=(),
        flags={},
        is_input=True,
    )
    text: str = _option(
        "reports",
        "Recorded text in all output: `full`, or `none`, which shows hashes instead.",
        "full",
        flags=dict.fromkeys(("run", "score", "eval"), ("--text",)),
        choices=("full", "none"),
    )
    sink_file: str = _option(
        "reports",
        "Sink: a file that gets the results as events, one a line (JSONL). It is replaced by each run.",
        "",
        key=(),
    )
    sink_webhook: str = _option(
        "reports",
        "Sink: the https address that the results are posted to, as batches of CloudEvents.",
        "",
        key=(),
        secret=True,
    )
    sink_secret: str = _option(
        "reports",
        "Sink: the secret that signs what is posted to sink-webhook, by HMAC-SHA256. Unsigned unless set.",
        "",
        key=(),
        flags={},
        secret=True,
    )
    sink_otlp: str = _option(
        "reports",
        "Sink: the OTLP/HTTP endpoint that gets the results as OpenTelemetry events, such as "
        "https://collector:4318. Needs the extra `otel`.",
        "",
        key=(),
        secret=True,
    )
    sink_text: str = _option(
        "reports",
        "Sink: recorded text in events: `full` sends the words that decide, `none` leaves them out.",
        "none",
        key=(),
        choices=("full", "none"),
    )
    sink_timeout: float = _option(
        "reports",
        "Sink: seconds for sending all events. After them, the rest is not sent, with a warning.",
        60.0,
        limits=(0, 86_400),
        excluded=True,
        key=(),
    )
    allow_insecure: bool = _option(
        "reports",
        "Sink: allow plain http in sink-webhook and sink-otlp, which anybody on the way can read.",
        False,
        key=(),
    )
    dry_run: bool = _option(
        "GitHub",
        "Judge and write reports, but print the comment and annotations instead of publishing them. There is no "
        "job summary, and sinks get nothing.",
        False,
        key=(),
        flags=dict.fromkeys(_PUBLISHING, ("--dry-run",)),
    )
    quiet: bool = _option(
        "reports",
        "Print only the verdict, and what is wrong with the inputs. Reports and publishing stay the same.",
        False,
        key=(),
        flags=dict.fromkeys(("run", "eval"), ("--quiet",)),
    )
    github_token: str = _option(
        "GitHub",
        "The token that writes the pull-request comment. In the action: the job's own token.",
        "",
        env=("SAFE_GATE_GITHUB_TOKEN", "GITHUB_TOKEN"),
        key=(),
        flags={},
        secret=True,
    )
    jobs: str = _option(
        "advanced",
        "Number of processes that score Synthesis cases, or `auto` for one per core. The result is the same.",
        "1",
        key=(),
        flags=dict.fromkeys(("run", "eval"), ("--jobs",)),
    )
    engine: str = _option(
        "advanced",
        "What scores Synthesis cases: `local`, or `dask`, a cluster (not in the image). The result is the same.",
        "local",
        key=(),
        flags=dict.fromkeys(("run", "eval"), ("--engine",)),
        choices=("local", "dask"),
    )
    scheduler: str = _option(
        "advanced",
        "The dask scheduler for `engine: dask`, such as tls://10.0.0.2:8786. It must be as trusted as the gate.",
        "",
        key=(),
        flags=dict.fromkeys(("run", "eval"), ("--scheduler",)),
    )
    import_map: tuple[str, ...] = _option(
        "inputs",
        "Where `import` finds fields that are named otherwise, as `user=PATH,assistant=PATH,id=PATH,tags=PATH`.",
        (),
        flags={"import": ("--map",)},
    )
    max_line: int = _option(
        "advanced",
        "Input: the most bytes in a line of a file, or in a SAFE v0 batch file.",
        16 << 20,
        limits=(1, None),
        flags=dict.fromkeys(_SCORING, ("--max-line",)),
    )
    max_text: int = _option(
        "advanced",
        "Input: the most bytes (UTF-8) in a text that an evaluator reads.",
        2 << 20,
        limits=(1, None),
        flags=dict.fromkeys(_SCORING, ("--max-text",)),
    )
    max_tags: int = _option(
        "advanced",
        "Input: the most distinct tags that the Synthesis cases of a run may have.",
        100_000,
        limits=(1, None),
        flags=dict.fromkeys(("run", "eval"), ("--max-tags",)),
    )
    follow_links: bool = _option(
        "advanced",
        "Read files behind symbolic links that lead out of the workspace: the repository, or else the working folder.",
        False,
        key=(),
        flags=dict.fromkeys(_READING, ("--follow-links",)),
    )
    config: str = _option(
        "inputs",
        f"The config file. Default: {' or '.join(CONFIG_FILES)} if there is one.",
        "",
        key=(),
        flags=dict.fromkeys(
            ("run", "power", "score", "eval", "explain", "rules", "publish", "bless", "import"), ("--config",)
        ),
    )


def config_paths(options: Options) -> tuple[str, ...]:
    """Return the paths of which one is that of the config file, from the working folder."""
    return (options.config,) if options.config else CONFIG_FILES


@cache
def settings() -> tuple[Setting, ...]:
    """Return every option with its names worked out, in the order they are declared."""
    return tuple(_settings())


def _settings() -> Iterator[Setting]:
    kinds = get_type_hints(Options)
    for option in fields(Options):
        facts = option.metadata
        default_flag = (f"--{option.name.replace('_', '-')}",)
        scores_safe = option.name[:3] in ("cr_", "ah_", "ac_")
        commands = ("run", "score") if scores_safe else ("run",)
        env = (f"SAFE_GATE_{option.name.upper()}",) if facts["env"] is None else facts["env"]
        flags = dict.fromkeys(commands, default_flag) if facts["flags"] is None else facts["flags"]
        for_run = bool(env) and (not flags or "run" in flags)
        low, high = facts["limits"]
        yield Setting(
            name=option.name,
            group=facts["group"],
            kind=kinds[option.name],
            default=option.default,
            help=facts["help"],
            env=env,
            key=(option.name.replace("_", "-"),) if facts["key"] is None else facts["key"],
            flags=flags,
            low=low,
            high=high,
            excluded=facts["excluded"],
            choices=facts["choices"],
            secret=facts["secret"],
            is_input=for_run if facts["is_input"] is None else facts["is_input"],
            general=facts["general"],
        )
