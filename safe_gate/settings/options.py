"""Everything a user may set: one field each, with its default, its names and its words.

Pure data, standard library only. Flags, action inputs, environment variables and the config file's keys follow
from it. So do the table in `docs/settings.md` and `action.yml`, which tests compare.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from safe_gate.core.setting import Setting, option, settings_of
from safe_gate.evaluators import EVALUATORS
from safe_gate.settings.gate_options import Judging

CONFIG_FILES = ("safe.config.json", "safe-gate.config.json")
"""The names of the config file: it has one of them, unless another is set."""

OFF = "off"
_PUBLISHING = ("run", "publish")
_SCORING = ("run", "power", "explain")
_READING = ("run", "power", "explain", "publish", "bless", "validate", "verify", "import")


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class General(Judging):
    """The settings of a run that are of no evaluator."""

    reports: tuple[str, ...] = option(
        "reports",
        "The report formats that a run writes to report-dir: json, markdown, html, junit, sarif, gitlab, csv, "
        "jsonl, badge; one per line. Commas may separate them too.",
        ("json", "markdown"),
        choices=("json", "markdown", "html", "junit", "sarif", "gitlab", "csv", "jsonl", "badge"),
        usual=True,
    )
    report_dir: str = option(
        "reports",
        "The folder for reports.",
        "./reports",
        env=tuple(name for one in EVALUATORS.values() for name in one.variables.get("report_dir", ())),
        flags=dict.fromkeys(("run", "publish", "bless", "history"), ("--report-dir",)),
        usual=True,
    )
    comment: str = option(
        "GitHub",
        "The pull-request comment: `always`, `on-failure` (created on a failure, then updated), `changes` "
        "(rewritten only if the result changes) or `never`.",
        "always",
        flags=dict.fromkeys(_PUBLISHING, ("--comment",)),
        choices=("always", "on-failure", "changes", "never"),
        usual=True,
    )
    gate_id: str = option(
        "GitHub",
        "The name of this gate; each gate has its own comment. Default: the job's id.",
        "",
        flags=dict.fromkeys(_PUBLISHING, ("--gate-id",)),
    )
    comment_author: str = option(
        "GitHub",
        "The account of the token, such as my-app[bot]. Default: the run asks GitHub; a job's own token is github-"
        "actions[bot].",
        "",
        key=(),
        flags={},
        is_input=False,
    )
    ca_bundle: str = option(
        "GitHub",
        "A PEM file of certificates to trust when talking to GitHub and to sinks. Default: REQUESTS_CA_BUNDLE or the "
        "usual ones.",
        "",
        key=(),
        flags={},
        is_input=False,
    )
    publish_timeout: float = option(
        "GitHub",
        "Seconds for all publishing to GitHub. After that, the run warns and posts no comment.",
        120.0,
        limits=(0, 86_400),
        excluded=True,
        key=(),
        flags=dict.fromkeys(_PUBLISHING, ("--publish-timeout",)),
    )
    fetch_timeout: float = option(
        "GitHub",
        "Seconds for reading commits from GitHub. After that, there is no verdict.",
        600.0,
        limits=(0, 86_400),
        excluded=True,
        key=(),
    )
    allow_head_checkout: bool = option(
        "GitHub",
        "Under pull_request_target: judge even if the workspace holds the pull request's own files.",
        False,
        key=(),
        flags={"run": ("--allow-head-checkout",)},
    )
    mode: str = option(
        "advanced",
        "What the action does: `run` the gate, `merge` shards, or `publish` the comment of a run that had no write "
        "access, from report-dir. Outside the action, use the command.",
        "run",
        env=(),
        key=(),
        flags={},
        choices=("run", "merge", "publish"),
        is_input=True,
    )
    shard: str = option(
        "advanced",
        "Score one part of the cases, such as `2/4`, and judge nothing. `merge` judges all parts together.",
        "",
        key=(),
        flags={"run": ("--shard",)},
    )
    shards: tuple[str, ...] = option(
        "advanced",
        "For `mode: merge`: the files that runs with `shard` wrote, as paths or globs, one per line. Outside the "
        "action: `safe-gate merge SHARD...`.",
        (),
        env=(),
        key=(),
        flags={},
        is_input=True,
    )
    text: str = option(
        "reports",
        "Recorded text in all output: `full`, or `none`, which shows hashes instead.",
        "full",
        choices=("full", "none"),
    )
    sink_file: str = option(
        "reports",
        "Sink: a file that gets the results as events, one per line (JSONL). Each run replaces it.",
        "",
        key=(),
    )
    sink_webhook: str = option(
        "reports",
        "Sink: the https address that gets the results as batches of CloudEvents.",
        "",
        key=(),
        secret=True,
    )
    sink_secret: str = option(
        "reports",
        "Sink: the secret that signs requests to sink-webhook with HMAC-SHA256. Without it, they are not signed.",
        "",
        key=(),
        flags={},
        secret=True,
    )
    sink_otlp: str = option(
        "reports",
        "Sink: the OTLP/HTTP endpoint that gets the results as OpenTelemetry events, such as "
        "https://collector:4318. Needs the extra `otel`.",
        "",
        key=(),
        secret=True,
    )
    sink_text: str = option(
        "reports",
        "Sink: recorded text in events: `full` sends the words that decide, `none` leaves them out.",
        "none",
        key=(),
        choices=("full", "none"),
    )
    sink_timeout: float = option(
        "reports",
        "Sink: seconds for sending all events. After that, the run warns and sends no more.",
        60.0,
        limits=(0, 86_400),
        excluded=True,
        key=(),
    )
    allow_insecure: bool = option(
        "reports",
        "Sink: allow plain http in sink-webhook and sink-otlp, which anyone on the network can read.",
        False,
        key=(),
    )
    dry_run: bool = option(
        "GitHub",
        "Judge and write reports, but print the comment and annotations instead of publishing them. There is no "
        "job summary, and sinks get nothing.",
        False,
        key=(),
        flags=dict.fromkeys(_PUBLISHING, ("--dry-run",)),
    )
    quiet: bool = option(
        "reports",
        "Print only the verdict, and what is wrong with the inputs. Reports and publishing stay the same.",
        False,
        key=(),
        usual=True,
    )
    github_token: str = option(
        "GitHub",
        "The token that writes the pull-request comment. In the action, the default is the job's own token.",
        "",
        env=("SAFE_GATE_GITHUB_TOKEN", "GITHUB_TOKEN"),
        key=(),
        flags={},
        secret=True,
    )
    jobs: str = option(
        "advanced",
        "Number of processes that score cases in JSONL files, or `auto` for one per core. The result is the same.",
        "1",
        key=(),
    )
    engine: str = option(
        "advanced",
        "Where cases in JSONL files are scored: `local`, or `dask`, a cluster (not in the image). The result is the "
        "same.",
        "local",
        key=(),
        choices=("local", "dask"),
    )
    scheduler: str = option(
        "advanced",
        "The dask scheduler for `engine: dask`, such as tls://10.0.0.2:8786. It must be as trusted as the gate.",
        "",
        key=(),
    )
    import_map: tuple[str, ...] = option(
        "inputs",
        "Where `import` finds fields with other names: `user=PATH,assistant=PATH,id=PATH,tags=PATH`.",
        (),
        flags={"import": ("--map",)},
    )
    max_line: int = option(
        "advanced",
        "Input: the maximum number of bytes in a line of a file, or in a JSON document of cases.",
        16 << 20,
        limits=(1, None),
        flags=dict.fromkeys(_SCORING, ("--max-line",)),
    )
    max_text: int = option(
        "advanced",
        "Input: the maximum number of bytes (UTF-8) in a text that an evaluator reads.",
        2 << 20,
        limits=(1, None),
        flags=dict.fromkeys(_SCORING, ("--max-text",)),
    )
    max_tags: int = option(
        "advanced",
        "Input: the maximum number of distinct tags in the cases of a run.",
        100_000,
        limits=(1, None),
    )
    follow_links: bool = option(
        "advanced",
        "Read files behind symbolic links that lead out of the workspace: the repository, or else the working folder.",
        False,
        key=(),
        flags=dict.fromkeys(_READING, ("--follow-links",)),
    )
    config: str = option(
        "inputs",
        f"The config file. Default: {' or '.join(CONFIG_FILES)} if there is one.",
        "",
        key=(),
        flags=dict.fromkeys(("run", "power", "explain", "publish", "bless", "import"), ("--config",)),
        usual=True,
    )


if TYPE_CHECKING:

    class Options(General):
        """The settings of a run: those of every evaluator, and the general ones."""

        def __init__(self, **settings: Any) -> None: ...

        def __getattr__(self, name: str) -> Any: ...

else:
    _BASES = (General, *(evaluator.settings for evaluator in reversed(EVALUATORS.values())))
    _DOCSTRING = "The settings of a run: those of every evaluator, and the general ones."
    Options = dataclass(frozen=True, kw_only=True)(
        type("Options", _BASES, {"__doc__": _DOCSTRING, "__module__": __name__})
    )


def config_paths(config: str) -> tuple[str, ...]:
    """Return the possible paths of the config file from the working folder; `config` is the setting."""
    return (config,) if config else CONFIG_FILES


@cache
def settings() -> tuple[Setting, ...]:
    """Return every option with all its names, in the order of declaration.

    A general option has flags of the evaluators' commands that ask for it.
    """
    takers: dict[str, list[str]] = {}
    for evaluator in EVALUATORS.values():
        for command, names in evaluator.commands.items():
            for name in names:
                takers.setdefault(name, []).append(command)
    return tuple(
        one._replace(flags={**one.flags, **dict.fromkeys(takers[one.name], one.flags_of("run"))})
        if one.name in takers
        else one
        for one in settings_of(Options)
    )
