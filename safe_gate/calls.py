"""What Python code calls to run the gate: `safe_gate.run`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextvars import copy_context
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from safe_gate import one_run, reporting
from safe_gate.core import jsontext
from safe_gate.core.validate import suggestion
from safe_gate.evaluators.registry import EVALUATORS, parts_of
from safe_gate.gate.stored import read_report, report_json, streamed
from safe_gate.github import Effects, time_of
from safe_gate.inputs import checked, disk
from safe_gate.inputs.checked import load_schema
from safe_gate.inputs.commit_files import FilePath
from safe_gate.model import record
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem, reason
from safe_gate.model.report import RuleOutcome, Verdict
from safe_gate.model.results import in_notebook
from safe_gate.render import console
from safe_gate.render.untrusted import quote_phrase
from safe_gate.render.view import rule_message, rule_state, rules_summary
from safe_gate.settings import Settings, reading
from safe_gate.settings import settings as every_setting
from safe_gate.settings.reading import IN_PYTHON

Path_ = str | os.PathLike[str]
Value = Path_ | float | bool | Sequence[Path_ | Mapping[str, Any]] | Mapping[str, Any] | None
"""The types of a setting. A single entry stands for a list of one; None means not given.

Entries of a setting that names files of cases or outputs may be values.
"""

_FOR_COMMANDS = frozenset({"report_formats"})  # settings that mean nothing to a call


class GateError(Exception):
    """A run has no verdict: its arguments, its settings or its inputs are wrong, or there is nothing to judge.

    Its text is what `safe-gate run` prints, a sentence for each problem. `problems` has them as values.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(console.problem_lines(problems))
        self.problems = tuple(problems)


@record
class Run:
    """The result of a run of the gate.

    `verdict` is pass or fail, `exit_code` that of `safe-gate run`: 0 or 1. `rules` has the outcome of each rule of the
    gate. `results` has the results of each evaluator that has inputs, by its name in the report. `report` is the whole
    report, in the shape of `safe-gate.json`.
    """

    verdict: Verdict
    exit_code: int
    rules: tuple[RuleOutcome, ...]
    results: Mapping[str, tuple[Any, ...]]
    report: JsonObject

    @property
    def passed(self) -> bool:
        """Return whether the gate passed."""
        return self.verdict is Verdict.PASS

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return f"<Run: {self._words}>"

    @property
    def _words(self) -> str:
        return f"{self.verdict.value}, {rules_summary(read_report(self.report))}"

    def _repr_html_(self) -> str:
        """Return the verdict and the rules as a notebook shows them."""
        rows = [(rule.rule, rule_state(rule), quote_phrase(rule_message(rule))) for rule in self.rules]
        return in_notebook(f"Gate: {self._words}", ("rule", "outcome", "found"), rows)


def run(*, verbose: bool = False, **settings: Value) -> Run:
    """Run the gate, and return its verdict with the report. The result is true if the gate passes.

    The arguments are settings by name, such as `min_pass_rate=0.9` or `waivers="known.json"` (docs/settings.md). Cases,
    batches and outputs may be values, such as `synthesis_cases=[{"id": "a", "user": ..., "assistant": ...}]`. They
    outrank the config file, which is read as by `safe-gate run`; variables of the environment are not read. Nothing is
    written without `report_dir`, nothing is printed unless `verbose`, and nothing is posted to GitHub. Cases are
    scored in this process unless `jobs` is set. Raises GateError if there is no verdict.
    """
    try:
        with TemporaryDirectory(prefix="safe-gate-") as folder:
            return copy_context().run(_run, settings, verbose, Path(folder))
    except CannotJudge as error:
        raise GateError(error.problems) from None


def _run(given: Mapping[str, Value], verbose: bool, folder: Path) -> Run:
    out, err = (partial(print, file=stream) if verbose else lambda _: None for stream in (sys.stdout, sys.stderr))
    effects = Effects.of({}, time_of(os.environ), out, err)
    disk.show_as_values(folder)
    no_json = list[Problem]()
    plain = {name: _plain(value) for name, value in given.items() if value is not None}
    flags = {"jobs": "1", **dict(_in_files(plain, folder, no_json))}
    flags["jobs"] = str(flags["jobs"])
    writes = isinstance(flags.get("report_dir"), str)

    def options_at(root: FilePath = disk.HERE) -> Settings:
        return reading.resolve(reading.Given(flags, {}, partial(checked.read_config, root=root), IN_PYTHON))

    try:
        if problems := (*no_json, *_misplaced(flags)):
            raise CannotJudge(*problems)
        options = options_at()
        disk.follow_links(is_on="outside-links" in options.allow)
        judged = one_run.run(options if writes else options.replace(reports=()), effects, options_at)
    except CannotJudge as error:
        unchecked = partial(checked.read_config, is_checked=False)
        options = reading.reporting_options(flags, {}, unchecked, IN_PYTHON)
        problems = (*checked.place_at_source(error.problems, options),)
        if writes:  # an old report must not say that the gate passed
            reporting.report_refusal(problems, options, effects)
        raise CannotJudge(*problems) from None
    if judged.problems:
        raise GateError(judged.problems)
    report = judged.report
    return Run(
        verdict=report.verdict,
        exit_code=report.verdict.exit_code,
        rules=report.rules,
        results={one.name: tuple(part.results) for one, part in parts_of(report.parts)},
        report=json.loads(jsontext.to_json(report_json(report, streamed))),
    )


def _in_files(plain: Mapping[str, Any], folder: Path, problems: list[Problem]) -> Iterator[tuple[str, Any]]:
    """Yield settings by name, with values of cases and outputs as files in a folder. Problems get what is no JSON."""
    forms = [one.input for one in EVALUATORS.values()]
    keys = {form.setting: form.cases for form in forms} | {form.outputs: "" for form in forms if form.cases}
    for name, value in plain.items():
        entries = value if isinstance(value, list) else [value]
        values = [one for one in entries if isinstance(one, Mapping)]
        if not values or name not in keys:
            yield name, value
            continue
        files = {f"{name}.jsonl": values}
        if key := keys[name]:  # cases alone are a document
            alone = [one for one in values if key not in one]
            whole = [one for one in values if key in one] + [{key: alone}] * bool(alone)
            files = {f"{name}_{number}.json": [one] for number, one in enumerate(whole, 1)}
        try:
            for file, lines in files.items():
                text = "".join(f"{json.dumps(one, allow_nan=False)}\n" for one in lines)
                (folder / file).write_text(text, "utf-8")
        except (TypeError, ValueError, RecursionError) as error:
            words = f"is no JSON: {reason(error)}; expected mappings, lists, texts, finite numbers, True, False or None"
            problems.append(Problem(Place(IN_PYTHON), words, field=name, code=Code.USAGE))
        else:
            paths = [str(folder / file) for file in files]
            yield name, [*(one for one in entries if not isinstance(one, Mapping)), *paths]


def _plain(value: Any) -> Any:
    """Return a value as the command line or a config file has it."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple | set | frozenset) else value


def _misplaced(flags: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem for each unknown setting of a call, and for bad values of settings without a flag."""
    known = {one.name: one for one in every_setting() if one.name not in _FOR_COMMANDS}
    for name in sorted(flags.keys() - known):
        words = f"is not a setting{suggestion(name, [*known])}; correct the name, or leave it out"
        words = "applies to commands only; leave it out" if name in _FOR_COMMANDS else words
        yield Problem(Place(IN_PYTHON), words, field=name, code=Code.USAGE)
    nested = {one.key[0]: flags[name] for name, one in known.items() if name in flags and one.key and not one.flags}
    for fault in load_schema("config").faults(nested):
        yield Problem(Place(IN_PYTHON), fault.message, field=fault.field, text_free=fault.text_free, code=Code.USAGE)
