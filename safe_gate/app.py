"""One run of each command, top to bottom. Effects arrive as arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from safe_gate import (
    __version__,
    baselines,
    batches,
    comparing,
    files,
    gate,
    measure,
    outlook,
    packs,
    publishing,
    regression,
    terms,
    train,
    weakening,
)
from safe_gate.evaluators import EVALUATORS, safe_v0, synthesis
from safe_gate.figures import plural
from safe_gate.github.checkout import foreign_checkout
from safe_gate.model import CannotJudge, JsonObject, Label, Place, Problem, RuleOutcome, Untrusted, Verdict, in_order
from safe_gate.options import Options
from safe_gate.publishing import Effects
from safe_gate.render import jsonreport
from safe_gate.validate import suggestion

SCHEMA_VERSION = 1
EXIT_CODES = {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.ERROR: 3}
"""What `run` exits with; `score` and `eval` have the codes of their specs."""

# --- the commands -------------------------------------------------------------------------------


def run(options: Options, effects: Effects, options_at: comparing.OptionsAt) -> int:
    """Evaluate, judge, report and publish: the action's entry point. Returns 0, 1 or 3.

    `options_at` gives the settings with the config file of another folder, such as the baseline's.
    """
    if not options.allow_head_checkout and (folder := foreign_checkout(effects.context, _read_by(options))):
        return refuse((_foreign_checkout(folder),), options, effects)
    settings_at = _with_todays_reports(options, options_at)
    with _ruling(options, effects, settings_at) as ruling:
        report, problems = _judged(ruling, options, effects, settings_at)
    return _conclude(report, problems, options, effects)


def compare(
    base: str, head: str, options: Options, effects: Effects, options_at: comparing.OptionsAt, *, out: str
) -> int:
    """Hold one run against another, each a report, a commit or the working folder. Returns 0, 1 or 3."""
    from safe_gate.render import comparison as shown
    from safe_gate.render import console

    options_at = _with_todays_reports(options, options_at)
    with _baseline(base, options, effects, options_at) as old, _baseline(head, options, effects, options_at) as new:
        if new is None:
            raise CannotJudge(_no_commit(head))
        if new.root is None:
            side, settings = comparing.side_of_report(new.report or {}), options
        else:
            settings = options_at(new.root)
            parts = comparing.measured(settings, effects.generated_at, root=new.root)
            side = comparing.side(parts, settings, root=new.root)
        found = comparing.against(old, side, settings, options_at, effects.generated_at, root=new.root or files.HERE)
        weakened = terms.held_against(old, terms.of(new, options_at), settings, options_at, effects.generated_at)
    if found["status"] == regression.Status.NONE:
        raise CannotJudge(_no_commit(base))
    report = {**side.parts, "comparison": found}
    outcomes = regression.judge(found, comparing.guards(settings)) + weakening.judge(weakened)
    rules = [outcome.as_json() for outcome in outcomes]
    if out:
        files.write(Path(out), jsonreport.to_json({"comparison": found, "weakened": weakened, "rules": rules}))
    for table in console.weakened({"weakened": weakened}):
        effects.out(table)
    effects.out(console.scorecard(shown.section(report), everything=True))
    effects.out(console.outcomes(rules))
    effects.out(f"Compare: {found['status'].upper()} ({shown.headline(found)})")
    return EXIT_CODES[gate.verdict(outcomes)]


@contextmanager
def _baseline(
    spec: str, options: Options, effects: Effects, options_at: comparing.OptionsAt
) -> Iterator[baselines.Baseline | None]:
    """Give a baseline with the files that the run reads, and with those that its own config file names there."""
    context = effects.context

    def opened(patterns: Sequence[str]) -> AbstractContextManager[baselines.Baseline | None]:
        connect = partial(effects.connect, context.api_url, options, effects.out)
        return baselines.opened(spec, patterns, context, connect, options, folder=effects.folder)

    patterns = baselines.patterns_of(options)
    with ExitStack() as stack:
        base = stack.enter_context(opened(patterns))
        own: tuple[str, ...] = ()
        if base is not None and base.root is not None:
            with suppress(CannotJudge):  # what is wrong with its settings is said where they are used
                own = baselines.patterns_of(options_at(base.root))
        if not set(own) <= set(patterns):
            base = stack.enter_context(opened((*patterns, *own)))
        yield base


def _no_commit(spec: str) -> Problem:
    words = "holds nothing to compare: expected a report, or a commit with cases of the settings' patterns"
    return Problem(Place(spec), words)


def refuse(problems: Sequence[Problem], options: Options, effects: Effects) -> int:
    """Say that settings or usage are wrong, in reports and to GitHub too: an old verdict must not stand. Returns 3."""
    problems = measure.as_shown(problems, options)
    return _conclude(_error_report((), Options(), effects.generated_at, problems), problems, options, effects)


def examine(
    options: Options,
    origins: Mapping[str, tuple[str, str]] | None,
    effects: Effects,
    problems: Sequence[Problem] = (),
) -> int:
    """Show the settings of a run, its files, what it knows of GitHub and would publish (`doctor`). Returns 0 or 3.

    `origins` says of each setting that is not a default what kind of source it came from and its
    name there; None if the settings have `problems`. Nothing is scored, written or sent; secrets are
    not shown.
    """
    from safe_gate.render import console

    if origins is not None:
        effects.out(console.settings_table(outlook.settings_rows(options, origins)))
        found, problems = _would_read(options)
        effects.out(console.facts("A run would read", found))
    seen = outlook.github_facts(options, effects.context, effects.folder)
    effects.out(console.facts("GitHub, as far as it can be seen without asking", seen))
    effects.out(console.facts("A run would publish", outlook.channels(options, effects.context)))
    effects.out("Nothing was scored, written or sent.")
    return complain(problems, effects) if problems else EXIT_CODES[Verdict.PASS]


def _would_read(options: Options) -> tuple[outlook.Facts, list[Problem]]:
    """Return how many files each pattern of a run names, and the problems of those that name none."""
    searches: dict[str, tuple[Sequence[str], Callable[[Sequence[str]], tuple[list[Path], list[Problem]]]]] = {}
    if options.safe_batch:
        expand = partial(batches.expand_batches, base=Path(options.safe_test_dir), leave_out=(options.config,))
        searches["safe-batch"] = options.safe_batch, expand
        searches["safe-outputs"] = options.safe_outputs, files.expand
    if options.synthesis_cases:
        searches["synthesis-cases"] = options.synthesis_cases, files.expand
        searches["rules"] = options.rules, partial(files.expand, suffix=".json")
    if not searches:
        return [("nothing", "")], [_nothing_to_judge()]
    facts: outlook.Facts = [
        (name, Untrusted(f"{plural(len(search([pattern])[0]), 'file')} of {pattern}"))
        for name, (patterns, search) in searches.items()
        for pattern in patterns
    ]
    return facts, [problem for patterns, search in searches.values() for problem in search(patterns)[1]]


def publish(options: Options, effects: Effects) -> int:
    """Post what a run without write access left behind. Returns 0 if the comment is as it should be, 3 if not."""
    try:
        return EXIT_CODES[Verdict.PASS if publishing.post_later(options, effects) else Verdict.ERROR]
    except CannotJudge as error:
        return complain(error.problems, effects)


def score(options: Options, effects: Effects, *, output: str, verbose: bool) -> int:
    """Score SAFE v0 batches alone (SAFE v0 spec section 7). Returns 0, 1, 2 or 3."""
    if not options.safe_batch:
        return complain((_missing("--batch", "a SAFE v0 batch file or glob, such as --batch 'I25_batch_*'"),), effects)
    measured = measure.safe_v0_part(options, effects.generated_at, output)
    if measured.part is None:
        return complain(measured.problems, effects)
    _write_safe_reports(measured.part, options, effects, output=output, verbose=verbose)
    labels = measured.part["label_distribution"]
    return 1 if labels[Label.FAIL] else 2 if labels[Label.REVIEW] else 0


def evaluate(options: Options, effects: Effects, *, out: str, verbose: bool) -> int:
    """Evaluate Synthesis cases alone (`eval`; Synthesis spec). Returns 0, 2 or 3."""
    from safe_gate.render import console

    if not options.synthesis_cases:
        return complain((_missing("--cases", "a JSONL file of Synthesis cases, such as --cases evals.jsonl"),), effects)
    measured = measure.synthesis_part(options)
    if measured.part is None:
        return complain(measured.problems, effects)
    if out:
        files.write(Path(out), jsonreport.to_json(measured.part))
    section = EVALUATORS["synthesis"].section(measured.part)
    effects.out(console.scorecard(section, everything=verbose))
    if out:
        effects.out(f"Report: {console.path_words(out)}")
    failures, allowed = measured.part["summary"]["unexpected_failures"], options.max_unexpected_failures
    verdict = "FAIL" if failures > allowed else "PASS"
    effects.out(f"Eval: {verdict} ({plural(failures, 'unexpected failure')}, {allowed} allowed)")
    return 2 if failures > allowed else 0


def explain(options: Options, case_id: str, effects: Effects) -> int:
    """Show why a Synthesis case passes or fails: its hits in the text, and the arithmetic. Returns 0 or 3."""
    from safe_gate.render.explain import explanation

    if not options.synthesis_cases:
        return complain((_missing("--cases", "the JSONL file that holds the case"),), effects)
    rules = measure.synthesis_rules(options)
    problems: list[Problem] = []
    ids: list[str] = []
    for item in files.synthesis_cases(options.synthesis_cases):
        if isinstance(item, Problem):
            problems.append(item)
        elif isinstance(item, synthesis.Case):
            ids.append(item.id)
            if item.id == case_id:
                result = synthesis.result_json(synthesis.score_case(item, rules))
                texts = {"user": item.user, "assistant": item.assistant}
                effects.out(explanation(texts, result, synthesis.asks(rules)))
                return EXIT_CODES[Verdict.PASS]
    words = f"no case has this id{suggestion(case_id, ids)}; explain reads Synthesis cases, not those of SAFE v0"
    return complain(problems or (Problem(Place("explain"), words, case_id),), effects)


def list_rules(options: Options, effects: Effects) -> int:
    """List the rules that would count, hand-written and learned. Returns 0 or 3."""
    from safe_gate.render import console

    effects.out(console.rule_list(measure.synthesis_rules(options)))
    return EXIT_CODES[Verdict.PASS]


def try_packs(paths: Sequence[str], effects: Effects) -> int:
    """Run the texts that the rules of pack files promise to hit and to miss. Returns 0 or 3."""
    found = packs.check(paths)
    rules = sum(len(pack.get("rules", ())) for pack in found)
    effects.out(f"{plural(len(found), 'pack')}, {plural(rules, 'rule')}: every text is hit and missed as promised")
    return EXIT_CODES[Verdict.PASS]


def train_packs(patterns: Sequence[str], options: Options, effects: Effects, *, out: str) -> int:
    """Learn from labelled cases, say what it gains, and write the packs that gain into the folder `out`.

    Without a folder nothing is written. Returns 0; too few labels and the like are CannotJudge.
    """
    from safe_gate.render import console

    lesson = train.train(patterns, options)
    for problem in lesson.left:
        effects.err(console.problem(problem))
    effects.out(console.gains(lesson.gains))
    if lesson.replies < lesson.cases:
        replies = plural(lesson.replies, "distinct reply", "distinct replies")
        words = "a copy counts once, and cases that share a reply or a message are left out together"
        effects.out(f"{plural(lesson.cases, 'case')}, {replies}: {words}.")
    paths = [Path(out) / f"{pack['pack']}.json" for pack in lesson.packs]
    if out:
        for path, pack in zip(paths, lesson.packs, strict=True):
            files.write(path, jsonreport.pack_json(pack))
    names = " ".join(console.path_words(path.as_posix()) for path in paths)
    if names and out:
        effects.out(f"Written: {names}\nTo use them: --rules {names}, or their names under `rules` in the config.")
    else:
        effects.out("Nothing is written without --out FOLDER." if names else "Nothing is written: no pack gains.")
    return EXIT_CODES[Verdict.PASS]


def validate(paths: Sequence[str], effects: Effects) -> int:
    """Check input files against their schemas, nothing else. Returns 0 or 3."""
    problems: list[Problem] = []
    cases = 0
    for item in _checked(paths):
        if isinstance(item, Problem):
            problems.append(item)
        cases += isinstance(item, safe_v0.Case | synthesis.Case)
    if problems:
        return complain(problems, effects)
    effects.out(f"{plural(len(paths), 'file')} valid, {plural(cases, 'case')}")
    return EXIT_CODES[Verdict.PASS]


def _checked(paths: Sequence[str]) -> Iterator[Any]:
    """Yield what files hold, problems among it: batches with the outputs given beside them, the rest alone."""
    kinds: dict[str, list[str]] = {}
    for path in paths:
        try:
            kinds.setdefault(files.kind_of(Path(path)), []).append(path)
        except CannotJudge as error:
            yield from error.problems
    batch_files = kinds.get("safe-batch", [])
    beside = {str(Path(batch).with_suffix("")) + ".outputs.jsonl" for batch in batch_files}
    outputs = kinds.get("safe-output", [])
    if set(outputs) <= {str(Path(name)) for name in beside}:  # found with their batches
        outputs = [] if batch_files else outputs
    streams: list[Iterator[Any]] = []
    if batch_files:
        streams.append(batches.safe_cases(batch_files, outputs))
    elif outputs:
        streams.append(batches.safe_outputs(outputs))
    if "synthesis-case" in kinds:
        streams.append(files.synthesis_cases(kinds["synthesis-case"]))
    for stream in streams:
        yield from stream
    for kind in ("report", "publication", "rule-pack", "config"):
        for path in kinds.get(kind, []):
            try:
                _check_document(path, kind)
            except CannotJudge as error:
                yield from error.problems


def _check_document(path: str, kind: str) -> None:
    """Raise CannotJudge if a document is not valid; a config's settings must fit together, too."""
    if kind != "config":
        files.document(path, kind)
        return
    from safe_gate.settings import read

    read({"config": path}, {}, files.read_config)


def gate_policy(options: Options) -> gate.Policy:
    """Return the limits of the gate's rules under these options."""
    return gate.Policy(**{field.name: getattr(options, field.name) for field in fields(gate.Policy)})


# --- judging ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Ruling:
    """By whose settings a run is judged: its own, or those of the base commit.

    Their rule packs lie below `root`; `rules` are those packs read, None for the run's own, which are
    read with the cases. `base` is None for the run's own.
    """

    options: Options
    root: Path = files.HERE
    rules: synthesis.Rules | None = None
    base: baselines.Baseline | None = None

    def breaks_on_weakened(self, own: Options) -> bool:
        """Tell whether a weaker gate breaks the run, by the settings that judge or by the run's own."""
        return "fail" in (self.options.on_weakened, own.on_weakened)


_TODAYS = ("report_dir", "comment", "gate_id", "text")
"""Settings of the config file that judge nothing, and are those of the run whoever's settings judge."""


def _with_todays_reports(options: Options, options_at: comparing.OptionsAt) -> comparing.OptionsAt:
    """Return how settings are read below a folder, less what is said there of reports."""
    todays = {name: getattr(options, name) for name in _TODAYS}
    return lambda root: replace(options_at(root), **todays)


@contextmanager
def _base_commit(
    setting: str, instead: str, options: Options, effects: Effects, options_at: comparing.OptionsAt
) -> Iterator[baselines.Baseline | None]:
    """Give the event's base commit, which a setting asks for. Raises CannotJudge where there can be none."""
    if not effects.context.in_actions:
        words = "asks for the base commit of a GitHub event, and this is no job of GitHub Actions"
        raise CannotJudge(Problem(Place(setting), f"{words}; set {instead}"))
    with _baseline("base", options, effects, options_at) as base:
        yield base


@contextmanager
def _ruling(options: Options, effects: Effects, options_at: comparing.OptionsAt) -> Iterator[_Ruling]:
    """Give the settings that judge, as long as they can be read. Raises CannotJudge."""
    if options.policy_ref == "head":
        yield _Ruling(options)
        return
    with _base_commit("policy-ref", "head here", options, effects, options_at) as base:
        if base is None or base.root is None:
            words = (
                "is base, but this event has no base commit; set head for other events than pull requests and pushes"
            )
            raise CannotJudge(Problem(Place("policy-ref"), words))
        try:
            own = options_at(base.root)
            rules = measure.synthesis_rules(own, root=base.root) if own.synthesis_cases else None
        except CannotJudge as error:
            raise comparing.at_baseline(base, error) from None
        yield _Ruling(own, base.root, rules, base)


def _judged(
    ruling: _Ruling, options: Options, effects: Effects, options_at: comparing.OptionsAt
) -> tuple[dict[str, Any], tuple[Problem, ...]]:
    """Return the report of a run and the problems that kept it from a verdict, if any.

    `options` are the run's own, whoever's settings judge.
    """
    judging, generated_at = ruling.options, effects.generated_at
    measured = {
        "safe_v0": measure.safe_v0_part(judging, generated_at) if judging.safe_batch else None,
        "synthesis": measure.synthesis_part(judging, rules=ruling.rules) if judging.synthesis_cases else None,
    }
    present = [one for one in measured.values() if one is not None]
    problems = tuple(problem for one in present for problem in one.problems)
    inputs = tuple(file for one in present for file in one.inputs)
    if not present:
        problems = (_nothing_to_judge(),)
    if problems:
        return _error_report(inputs, judging, generated_at, problems), problems
    parts: dict[str, Any] = {name: one.part if one else None for name, one in measured.items()}
    try:
        parts |= _held_against(parts, ruling, options, effects, options_at)
    except CannotJudge as error:
        problems = measure.as_shown(error.problems, options)
        return _error_report(inputs, judging, generated_at, problems), problems
    outcomes = gate.judge(parts, gate_policy(judging))
    if "comparison" in parts:
        outcomes += regression.judge(parts["comparison"], comparing.guards(judging))
    if "weakened" in parts:
        outcomes += weakening.judge(parts["weakened"])
    return _report(gate.verdict(outcomes), outcomes, parts, inputs, ruling, generated_at), ()


def _held_against(
    parts: comparing.Parts,
    ruling: _Ruling,
    options: Options,
    effects: Effects,
    options_at: comparing.OptionsAt,
) -> dict[str, Any]:
    """Return what of the report is about an earlier state: the comparison with a baseline, and the weakened gate."""
    judging, found = ruling.options, dict[str, Any]()
    is_compared = bool(judging.baseline)
    with _baseline(judging.baseline, judging, effects, options_at) if is_compared else nullcontext() as baseline:
        if is_compared:
            side = comparing.side(parts, judging, root=ruling.root)
            found["comparison"] = comparing.against(
                baseline, side, judging, options_at, effects.generated_at, root=ruling.root
            )
        if baseline or ruling.base or ruling.breaks_on_weakened(options):
            found["weakened"] = _weakened(baseline, ruling, options, effects, options_at)
    return found


def _weakened(
    baseline: baselines.Baseline | None,
    ruling: _Ruling,
    options: Options,
    effects: Effects,
    options_at: comparing.OptionsAt,
) -> dict[str, Any]:
    """Return in what the gate is weaker than on the base commit, or as far as only a report is at hand, than there.

    What cannot be read is an error where a weaker gate breaks the run, else it is not known.
    """
    head, is_needed = terms.at(options), ruling.breaks_on_weakened(options)
    for choice in _bases(baseline, ruling, options, effects, options_at):
        try:
            with choice as base:
                return terms.held_against(base, head, options, options_at, effects.generated_at)
        except CannotJudge:
            if is_needed:
                raise
    return terms.held_against(None, head, options, options_at, effects.generated_at)


def _bases(
    baseline: baselines.Baseline | None,
    ruling: _Ruling,
    options: Options,
    effects: Effects,
    options_at: comparing.OptionsAt,
) -> Iterator[AbstractContextManager[baselines.Baseline | None]]:
    """Yield what to hold a run's terms against, the best first.

    Where a weaker gate breaks the run that is the event's base commit if it has one: what to compare
    outputs with may be named by a config file that came with the change.
    """
    is_needed, has_base = ruling.breaks_on_weakened(options), bool(effects.context.subject.base_sha)
    is_commit = baseline is not None and baseline.root is not None
    if ruling.base:
        yield nullcontext(ruling.base)
    elif is_commit and (ruling.options.baseline == "base" or not (is_needed and has_base)):
        yield nullcontext(baseline)
    else:
        if is_needed or has_base:
            yield _base_commit(
                "on-weakened", "warn here, or name a commit as the baseline", options, effects, options_at
            )
        yield nullcontext(baseline)


def _report(
    verdict: Verdict,
    outcomes: Sequence[RuleOutcome],
    parts: Mapping[str, Any],
    inputs: Sequence[files.InputFile],
    ruling: _Ruling,
    generated_at: str,
) -> dict[str, Any]:
    """Return the whole report in the shape of `schemas/report.schema.json`."""
    options = ruling.options
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "safe-gate", "version": __version__},
        "generated_at": generated_at,
        "verdict": verdict.value,
        "rules": [outcome.as_json() for outcome in outcomes],
        **{name: parts.get(name) for name in EVALUATORS},
        **{name: parts[name] for name in ("comparison", "weakened") if name in parts},
        "provenance": {
            "inputs": [asdict(file) for file in sorted(inputs, key=lambda file: file.path)],
            "packs_sha256": (
                packs.digest(options.rules, options.rules_off, options.rule_weights, root=ruling.root)
                if verdict is not Verdict.ERROR
                else ""
            ),
            "policy": {
                **asdict(gate_policy(options)),
                **comparing.guards(options).as_json(),
                "profile": options.profile,
                "sensitivity": options.sensitivity,
                "rules": list(options.rules),
                "rules_off": list(options.rules_off),
                "rule_weights": dict(options.rule_weights or {}),
                "text": options.text,
            },
            **({"policy_commit": ruling.base.commit} if ruling.base else {}),
        },
    }


def _error_report(
    inputs: Sequence[files.InputFile], options: Options, generated_at: str, problems: Sequence[Problem]
) -> dict[str, Any]:
    """Return the report of a run without a verdict: no scores, every problem."""
    report = _report(Verdict.ERROR, (), {}, inputs, _Ruling(options), generated_at)
    report["problems"] = [
        {"path": p.place.path, "line": p.place.line, "id": p.case_id, "field": p.field, "message": p.message}
        for p in in_order(problems)
    ]
    return report


def _read_by(options: Options) -> Iterator[Path]:
    """Yield the working folder, which a config may lie in, and the files that a run would read."""
    yield from (Path(), Path(options.config))
    yield from files.expand((*options.synthesis_cases, *options.safe_outputs, *options.rules))[0]
    yield from batches.expand_batches(options.safe_batch, Path(options.safe_test_dir), ())[0]


def _foreign_checkout(folder: str) -> Problem:
    return Problem(
        Place("pull_request_target"),
        f"the checkout in {folder!r} is not at the base's commit, so it may hold the pull request's own files,"
        " which this event must not trust; check out GITHUB_SHA, use the event pull_request, or set"
        " allow-head-checkout: true",
    )


def _nothing_to_judge() -> Problem:
    return _missing("safe-batch or synthesis-cases", "the files to judge: SAFE v0 batches, Synthesis cases")


def _missing(what: str, expected: str) -> Problem:
    return Problem(Place(what), f"is not set, so there is nothing to judge, which is never a pass; expected {expected}")


def complain(problems: Sequence[Problem], effects: Effects) -> int:
    """Print problems; return the exit code for "could not judge"."""
    from safe_gate.render import console

    effects.err(console.problems(problems))
    return EXIT_CODES[Verdict.ERROR]


# --- reporting ----------------------------------------------------------------------------------


def _conclude(report: dict[str, Any], problems: Sequence[Problem], options: Options, effects: Effects) -> int:
    """Print, write and publish a report; return the exit code of its verdict."""
    from safe_gate.render import console, markdown

    paths = {"report-json": "", "report-markdown": ""}
    json_path, markdown_path = (Path(options.report_dir) / f"safe-gate.{suffix}" for suffix in ("json", "md"))
    try:
        files.write(json_path, jsonreport.to_json(report))
        files.write(markdown_path, markdown.scorecard(report, problems, limit=markdown.SUMMARY_LIMIT))
        paths = {"report-json": files.shown(json_path), "report-markdown": files.shown(markdown_path)}
    except CannotJudge as error:
        problems = (*problems, *error.problems)
        report = _error_report((), options, effects.generated_at, problems)
        with suppress(CannotJudge):  # whatever could be written must not say that the gate passed
            files.write(json_path, jsonreport.to_json(report))
    if problems:
        effects.err(console.problems(problems))
    else:
        for card in console.scorecards(report):
            effects.out(card)
        effects.out(console.rules(report))
    if paths["report-json"]:
        effects.out(f"Reports: {', '.join(console.path_words(path) for path in paths.values())}")
    publishing.tell(report, problems, options, paths, effects)
    return EXIT_CODES[Verdict(report["verdict"])]


def _write_safe_reports(part: JsonObject, options: Options, effects: Effects, *, output: str, verbose: bool) -> None:
    """Write a SAFE v0 report in the formats asked for (SAFE v0 spec sections 5 and 7.1).

    `output` names the file of the JSON report, or of the only format there is.
    """
    from safe_gate.render import console, markdown

    formats = set(options.report_formats)
    if "all" in formats:
        formats = {"json", "console", "markdown"}
    section = EVALUATORS["safe_v0"].section(part)
    texts = {"json": jsonreport.to_json(part), "markdown": markdown.section_report(section)}
    card = console.scorecard(section, everything=verbose)
    texts["console"] = card
    main = "json" if "json" in formats else min(formats)
    for name in sorted(formats):
        if output and name == main:
            path = Path(output)
        elif name == "console" or (name == "json" and formats == {"json"}):
            effects.out(texts[name].removesuffix("\n"))
            continue
        else:
            suffix = "md" if name == "markdown" else "json"
            path = Path(options.report_dir) / f"SAFE_v0_{_file_name(part)}.{suffix}"
        files.write(path, texts[name])
        effects.out(f"Report: {console.path_words(files.shown(path))}")


def _file_name(part: JsonObject) -> str:
    """Return `<concern>_<timestamp>` for a report's file; a concern id may hold anything."""
    concern = "".join(c if c.isascii() and (c.isalnum() or c in "-_,") else "_" for c in part["concern_id"])
    return f"{concern[:80]}_{part['generated_at'].replace('-', '').replace(':', '')}"
