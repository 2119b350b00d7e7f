"""One run of each command, top to bottom. Effects arrive as arguments."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from safe_gate import __version__, files, gate, outlook, packs, publication, train
from safe_gate.evaluators import EVALUATORS, safe_v0, sections, synthesis, without_texts
from safe_gate.figures import add_up, plural
from safe_gate.github import Api, ApiError, Refusal, commands, comment, pulls
from safe_gate.github.checkout import head_checkout
from safe_gate.github.event import Context
from safe_gate.model import CannotJudge, JsonObject, Label, Place, Problem, RuleOutcome, Untrusted, Verdict, in_order
from safe_gate.options import Options
from safe_gate.publication import Publication
from safe_gate.render import jsonreport
from safe_gate.render.untrusted import plain
from safe_gate.validate import suggestion

SCHEMA_VERSION = 1
EXIT_CODES = {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.ERROR: 3}
"""What `run` exits with; `score` and `eval` have the codes of their specs."""

Case = TypeVar("Case")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Effects:
    """What a run does to the world: lines to two streams, a time, and GitHub.

    `connect` gives GitHub's API at an address, with the token and the certificates of the options;
    `folder` is the working folder's path in the repository, "" at its root.
    """

    out: Callable[[str], None]
    err: Callable[[str], None]
    generated_at: str
    context: Context
    connect: Callable[[str, Options], Api]
    write_outputs: Callable[[str, Mapping[str, str]], None]
    append_summary: Callable[[str, Sequence[str]], None]
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """An evaluator's part of the report, or the problems that keep it from one."""

    part: dict[str, Any] | None = None
    problems: tuple[Problem, ...] = ()
    inputs: tuple[files.InputFile, ...] = ()


# --- the commands -------------------------------------------------------------------------------


def run(options: Options, effects: Effects) -> int:
    """Evaluate, judge, report and publish: the action's entry point. Returns 0, 1 or 3."""
    if not options.allow_head_checkout and (folder := head_checkout(effects.context, Path())):
        return refuse((_head_checkout(folder),), options, effects)
    measured = {
        "safe_v0": measure_safe(options, effects.generated_at) if options.safe_batch else None,
        "synthesis": measure_synthesis(options) if options.synthesis_cases else None,
    }
    report, problems = _judged(measured, options, effects.generated_at)
    return _conclude(report, problems, options, effects)


def refuse(problems: Sequence[Problem], options: Options, effects: Effects) -> int:
    """Say that settings or usage are wrong, in reports and to GitHub too: an old verdict must not stand. Returns 3."""
    problems = _shown(problems, options)
    return _conclude(_error_report((), Options(), effects.generated_at, problems), problems, options, effects)


def examine(
    options: Options,
    origins: Mapping[str, tuple[str, str]] | None,
    effects: Effects,
    problems: Sequence[Problem] = (),
) -> int:
    """Show the settings of a run, what it knows of GitHub and what it would publish (`doctor`). Returns 0 or 3.

    `origins` says of each setting that is not a default what kind of source it came from and its
    name there. Nothing is scored, written or sent; secrets are not shown.
    """
    from safe_gate.render import console

    if origins is not None:
        effects.out(console.settings_table(outlook.settings_rows(options, origins)))
    seen = outlook.github_facts(options, effects.context, effects.folder)
    effects.out(console.facts("GitHub, as far as it can be seen without asking", seen))
    effects.out(console.facts("A run would publish", outlook.channels(options, effects.context)))
    effects.out("Nothing was scored, written or sent.")
    return complain(problems, effects) if problems else EXIT_CODES[Verdict.PASS]


def publish(options: Options, effects: Effects) -> int:
    """Post what a run without write access left in the report folder, from a trusted `workflow_run`.

    Pull request, commit, run and workflow are those of the event and of GitHub's own answers; a run
    whose commit is no longer the head of a pull request is not posted. Returns 0 if the comment is as
    it should be, 3 if not.
    """
    context = effects.context.of_trigger()
    try:
        found = publication.read(Path(options.report_dir) / publication.NAME)
        if problems := tuple(_strangers(found, effects.context)):
            return _cannot_publish(problems, effects)
        gate_id = options.gate_id or found.gate
        blob_url = context.blob_url(found.folder)
        draft = _draft(found.report, found.problems, options, context, blob_url, gate_id=gate_id, leg=found.leg)
    except CannotJudge as error:
        return _cannot_publish(error.problems, effects)
    except (ArithmeticError, LookupError, TypeError, ValueError):  # a report may fit its schema and make no sense
        words = "holds figures that cannot be; expected what safe-gate run writes"
        return _cannot_publish((Problem(Place(publication.NAME), words),), effects)
    posted = _post(
        draft, options, effects, lambda api: pulls.confirmed(api, context, found.pull_request), "skipped-outdated"
    )
    effects.out(f"Comment: {posted.status} {plain(Untrusted(posted.url))}".rstrip())
    if context.output_file:
        values = {**step_outputs(found.report), "comment-status": posted.status, "comment-url": posted.url}
        _attempt("the step outputs", lambda: effects.write_outputs(context.output_file, values), effects)
    return EXIT_CODES[Verdict.ERROR if posted.status in _NOT_POSTED else Verdict.PASS]


def _cannot_publish(problems: Sequence[Problem], effects: Effects) -> int:
    if effects.context.in_actions:
        for annotation in commands.input_problems(problems, effects.folder):
            effects.out(annotation.command())
    if file := effects.context.output_file:
        values = {"verdict": Verdict.ERROR.value, "comment-status": "failed", "comment-url": ""}
        _attempt("the step outputs", lambda: effects.write_outputs(file, values), effects)
    return complain(problems, effects)


def _strangers(found: Publication, context: Context) -> Iterator[Problem]:
    """Yield what keeps a file from being published: it must be of the run that the event tells of."""
    place, subject = Place(publication.NAME), context.subject
    if context.event != "workflow_run":
        event = context.event or "no event of GitHub"
        yield Problem(Place("publish"), f"was started by {event}; expected workflow_run, which is what can be trusted")
    elif found.run.id != subject.trigger.id:
        yield Problem(place, f"is of run {found.run.id}; expected {subject.trigger.id}, which started this workflow")
    elif found.head_sha != subject.head_sha:
        yield Problem(place, f"is of commit {found.head_sha}; expected {subject.head_sha}, that of the run")


def score(options: Options, effects: Effects, *, output: str, verbose: bool) -> int:
    """Score SAFE v0 batches alone (SAFE v0 spec section 7). Returns 0, 1, 2 or 3."""
    if not options.safe_batch:
        return complain((_missing("--batch", "a SAFE v0 batch file or glob, such as --batch 'I25_batch_*'"),), effects)
    measured = measure_safe(options, effects.generated_at, output)
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
    measured = measure_synthesis(options)
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
    rules = _synthesis_rules(options)
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
    hint = suggestion(case_id, ids)
    return complain(problems or (Problem(Place("explain"), f"no case has this id{hint}", case_id),), effects)


def list_rules(options: Options, effects: Effects) -> int:
    """List the rules that would count, hand-written and learned. Returns 0 or 3."""
    from safe_gate.render import console

    effects.out(console.rule_list(_synthesis_rules(options)))
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
    batches = kinds.get("safe-batch", [])
    beside = {str(Path(batch).with_suffix("")) + ".outputs.jsonl" for batch in batches}
    outputs = kinds.get("safe-output", [])
    if set(outputs) <= {str(Path(name)) for name in beside}:  # found with their batches
        outputs = [] if batches else outputs
    streams: list[Iterator[Any]] = []
    if batches:
        streams.append(files.safe_cases(batches, outputs))
    elif outputs:
        streams.append(files.safe_outputs(outputs))
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


# --- measuring ----------------------------------------------------------------------------------


def measure_safe(options: Options, generated_at: str, output: str = "") -> Measured:
    """Return SAFE v0's part of the report over all batches that the options name, but for `output`."""
    policy = safe_policy(options)
    cases = files.safe_cases(
        options.safe_batch,
        options.safe_outputs,
        concern=options.safe_concern,
        test_dir=options.safe_test_dir,
        leave_out=(options.config, output),
    )

    def measure(case: safe_v0.Case) -> tuple[safe_v0.Totals, dict[str, Any]]:
        result = safe_v0.score_case(case, policy)
        return safe_v0.Totals.of(result, policy), result.as_json()

    measured, problems, inputs = _sorted_out(cases, measure)
    if not measured and not problems:
        problems = (Problem(Place("the concern"), f"{options.safe_concern!r} is that of no case"),)
    if problems:
        return Measured(None, _shown(problems, options), inputs)
    totals = add_up((totals for totals, _ in measured), safe_v0.Totals())
    part = safe_v0.report(totals, [result for _, result in measured], policy, generated_at)
    return Measured(part if options.text == "full" else without_texts("safe_v0", part), (), inputs)


def measure_synthesis(options: Options) -> Measured:
    """Return Synthesis's part of the report over all case files that the options name."""
    problems: tuple[Problem, ...] = ()
    try:
        rules = _synthesis_rules(options)
    except CannotJudge as error:
        problems, rules = error.problems, packs.load()  # the cases may have problems of their own
    cases = files.synthesis_cases(options.synthesis_cases)

    def measure(case: synthesis.Case) -> tuple[synthesis.Totals, dict[str, Any]]:
        result = synthesis.score_case(case, rules)
        return synthesis.Totals.of(result), synthesis.result_json(result)

    measured, more, inputs = _sorted_out(cases, measure)
    if problems or more:
        return Measured(None, _shown((*problems, *more), options), inputs)
    totals = add_up((totals for totals, _ in measured), synthesis.Totals())
    part = synthesis.report(totals, [result for _, result in measured])
    return Measured(part if options.text == "full" else without_texts("synthesis", part), (), inputs)


def _shown(problems: Sequence[Problem], options: Options) -> tuple[Problem, ...]:
    """Return problems as they may be shown: with `text: none` they quote no recorded text."""
    return tuple(problems if options.text == "full" else (problem.without_texts() for problem in problems))


def _sorted_out(
    items: Iterable[Case | Problem | files.InputFile], measure: Callable[[Case], Result]
) -> tuple[list[Result], tuple[Problem, ...], tuple[files.InputFile, ...]]:
    """Measure the cases of a stream one at a time; return what came out, problems and input files."""
    results: list[Result] = []
    problems: list[Problem] = []
    inputs: list[files.InputFile] = []
    for item in items:
        if isinstance(item, Problem):
            problems.append(item)
        elif isinstance(item, files.InputFile):
            inputs.append(item)
        elif not problems:  # with a problem there will be no verdict: keep looking for others only
            results.append(measure(item))
    return results, tuple(problems), tuple(inputs)


def _synthesis_rules(options: Options) -> synthesis.Rules:
    return packs.load(options.profile, options.sensitivity, options.rules, options.rules_off, options.rule_weights)


def safe_policy(options: Options) -> safe_v0.Policy:
    """Return how SAFE v0 scores under these options."""
    lower = {metric: metric.lower() for metric in safe_v0.METRICS}
    weights = {metric: getattr(options, f"{name}_weight") for metric, name in lower.items()}
    return safe_v0.Policy(
        thresholds={
            metric: safe_v0.Threshold(getattr(options, f"{name}_pass"), getattr(options, f"{name}_review"))
            for metric, name in lower.items()
        },
        weights=weights,
        archetype_weights={
            archetype: {**weights, **overrides.get("weights", {})}
            for archetype, overrides in (options.archetypes or {}).items()
        },
        strict_ah=options.strict_ah,
    )


def gate_policy(options: Options) -> gate.Policy:
    """Return the limits of the gate's rules under these options."""
    return gate.Policy(**{field.name: getattr(options, field.name) for field in fields(gate.Policy)})


# --- judging ------------------------------------------------------------------------------------


def _judged(
    measured: Mapping[str, Measured | None], options: Options, generated_at: str
) -> tuple[dict[str, Any], tuple[Problem, ...]]:
    """Return the report of a run and the problems that kept it from a verdict, if any."""
    present = [one for one in measured.values() if one is not None]
    problems = tuple(problem for one in present for problem in one.problems)
    inputs = tuple(file for one in present for file in one.inputs)
    if not present:
        problems = (_missing("safe-batch or synthesis-cases", "the files to judge: SAFE v0 batches, Synthesis cases"),)
    if problems:
        return _error_report(inputs, options, generated_at, problems), problems
    parts = {name: one.part if one else None for name, one in measured.items()}
    outcomes = gate.judge(parts, gate_policy(options))
    return _report(gate.verdict(outcomes), outcomes, parts, inputs, options, generated_at), ()


def _report(
    verdict: Verdict,
    outcomes: Sequence[RuleOutcome],
    parts: Mapping[str, Any],
    inputs: Sequence[files.InputFile],
    options: Options,
    generated_at: str,
) -> dict[str, Any]:
    """Return the whole report in the shape of `schemas/report.schema.json`."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "safe-gate", "version": __version__},
        "generated_at": generated_at,
        "verdict": verdict.value,
        "rules": [outcome.as_json() for outcome in outcomes],
        **{name: parts.get(name) for name in EVALUATORS},
        "provenance": {
            "inputs": [asdict(file) for file in sorted(inputs, key=lambda file: file.path)],
            "packs_sha256": (
                packs.digest(options.rules, options.rules_off, options.rule_weights)
                if verdict is not Verdict.ERROR
                else ""
            ),
            "policy": {
                **asdict(gate_policy(options)),
                "profile": options.profile,
                "sensitivity": options.sensitivity,
                "rules": list(options.rules),
                "rules_off": list(options.rules_off),
                "rule_weights": dict(options.rule_weights or {}),
                "text": options.text,
            },
        },
    }


def _error_report(
    inputs: Sequence[files.InputFile], options: Options, generated_at: str, problems: Sequence[Problem]
) -> dict[str, Any]:
    """Return the report of a run without a verdict: no scores, every problem."""
    report = _report(Verdict.ERROR, (), {}, inputs, options, generated_at)
    report["problems"] = [
        {"path": p.place.path, "line": p.place.line, "id": p.case_id, "field": p.field, "message": p.message}
        for p in in_order(problems)
    ]
    return report


def _head_checkout(folder: str) -> Problem:
    return Problem(
        Place("pull_request_target"),
        f"the folder {folder!r} holds the pull request's own files, which this event must not trust; check out the"
        " base, use the event pull_request, or set allow-head-checkout: true",
    )


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
        for section in sections(report):
            effects.out(console.scorecard(section))
        effects.out(console.rules(report))
    if paths["report-json"]:
        effects.out(f"Reports: {', '.join(console.path_words(path) for path in paths.values())}")
    _publish(report, problems, options, paths, effects)
    return EXIT_CODES[Verdict(report["verdict"])]


def _publish(
    report: JsonObject,
    problems: Sequence[Problem],
    options: Options,
    paths: Mapping[str, str],
    effects: Effects,
) -> None:
    """Tell GitHub. Whatever fails here is a warning: the verdict is already decided."""
    from safe_gate.render import markdown

    context, blob_url = effects.context, effects.context.blob_url(effects.folder)
    annotations = commands.annotated(report, problems, effects.folder)
    posted, file = comment.Posted(outlook.no_comment(options, context)), ""
    if options.dry_run:
        _rehearse(report, problems, annotations, options, effects)
    elif context.in_actions:
        for one in annotations:
            effects.out(one.command())
        draft = _draft(report, problems, options, context, blob_url, gate_id=options.gate_id, leg=context.leg)
        posted = _post(draft, options, effects, lambda api: pulls.number(api, context), "skipped-no-pull-request")
        file = _leave_behind(report, draft, options, effects)
    if context.summary_file and not options.dry_run:
        texts = tuple(markdown.rungs(report, problems, limit=markdown.SUMMARY_LIMIT, blob_url=blob_url))
        _attempt("the job summary", lambda: effects.append_summary(context.summary_file, texts), effects)
    if context.output_file:
        values = {
            **step_outputs(report),
            **paths,
            "comment-file": file,
            "comment-status": posted.status,
            "comment-url": posted.url,
        }
        _attempt("the step outputs", lambda: effects.write_outputs(context.output_file, values), effects)


_REFUSED = {
    Refusal.PERMISSION: (
        "skipped-permissions",
        "; with a read-only token (forks, Dependabot) that is ordinary, else the job needs pull-requests: write",
    ),
    Refusal.RATE_LIMIT: ("skipped-rate-limit", ", and waiting would take too long"),
}
"""The comment's status where GitHub refused, and advice, by what the refusal means; `failed` for all others."""

_NOT_POSTED = {"failed", "skipped-no-token", *(status for status, _ in _REFUSED.values())}
"""What `publish`, which has nothing else to do, calls an error."""


def _draft(
    report: JsonObject,
    problems: Sequence[Problem],
    options: Options,
    context: Context,
    blob_url: str,
    *,
    gate_id: str,
    leg: str,
) -> comment.Draft:
    """Return the comment for a report, in lengths that GitHub may take."""
    from safe_gate.render import markdown

    result = markdown.scorecard(report, problems, limit=markdown.SUMMARY_LIMIT)
    marker = comment.Marker(
        gate=comment.gate_name(context.gate(gate_id)),
        head=context.head_sha,
        run=context.run,
        leg=leg,
        result=hashlib.sha256(result.encode("utf-8", "replace")).hexdigest()[:16],
    )
    bodies = tuple(markdown.rungs(report, problems, limit=markdown.COMMENT_LIMIT, blob_url=blob_url))
    return comment.Draft(marker, bodies, options.comment, report["verdict"] == Verdict.PASS)


def _post(
    draft: comment.Draft,
    options: Options,
    effects: Effects,
    pull_request: Callable[[Api], int | None],
    without: str,
) -> comment.Posted:
    """Post the comment where there is one to post; its status is `without` where no pull request is found."""
    context = effects.context
    if skipped := outlook.no_comment(options, context):
        return comment.Posted(skipped)
    try:
        api = effects.connect(context.api_url, options)
        number = pull_request(api)
        if number is None:
            return comment.Posted(without)
        posted = comment.post(api, context.repository, number, draft, options.comment_author)
    except ApiError as error:
        status, advice = _REFUSED.get(error.refusal, ("failed", ""))
        _warn(f"The comment was not posted: {error}{advice}", effects)
        return comment.Posted(status)
    if posted.warning:
        _warn(posted.warning, effects)
    return posted


def _leave_behind(report: JsonObject, draft: comment.Draft, options: Options, effects: Effects) -> str:
    """Write what a trusted workflow can publish if this run may not; return the file's path, or nothing."""
    path = Path(options.report_dir) / publication.NAME
    body = f"{draft.marker.line()}\n{draft.bodies[0]}"
    try:
        files.write(
            path,
            jsonreport.to_json(publication.as_json(report, effects.context, effects.folder, options.gate_id, body)),
        )
    except CannotJudge as error:
        _warn(f"Could not write {error.problems[0].place.path}: {error.problems[0].message}", effects)
        return ""
    return files.shown(path)


def _rehearse(
    report: JsonObject,
    problems: Sequence[Problem],
    annotations: Sequence[commands.Annotation],
    options: Options,
    effects: Effects,
) -> None:
    """Print what would be published, in a form in which it does nothing."""
    from safe_gate.render import console, markdown

    effects.out("\nDry run: no comment, annotation or summary is made; reports and step outputs are.")
    planned = outlook.channels(replace(options, dry_run=False), effects.context)
    effects.out(console.facts("Without it there would be", planned))
    for one in annotations:
        place = f" {console.path_words(one.file)}:{one.line}" if one.file else ""
        effects.out(f"{one.level}{place}: {one.title}: {one.message}".replace("\n", "; "))
    body = markdown.scorecard(
        report, problems, limit=markdown.COMMENT_LIMIT, blob_url=effects.context.blob_url(effects.folder)
    )
    effects.out(f"\n--- the comment, {len(body.encode())} bytes ---\n{body}--- end of the comment ---")


def _attempt(what: str, action: Callable[[], None], effects: Effects) -> None:
    try:
        action()
    except OSError as error:
        _warn(f"Could not write {what}: {error.strerror or error}", effects)


def _warn(message: str, effects: Effects) -> None:
    """Warn of something that could not be published, as an annotation where there is a runner."""
    text = f"{plain(Untrusted(message), 500)}. The verdict does not depend on it."
    if effects.context.in_actions:
        effects.out(commands.annotation("warning", text, title="SAFE Gate"))
    else:
        effects.err(f"safe-gate: warning: {text}")


def step_outputs(report: JsonObject) -> dict[str, str]:
    """Return the step outputs that follow from a report; empty where nothing was measured.

    `pass-rate` and `label-accuracy` are fractions from 0 to 1, like the limits of their rules.
    """
    safe, synthesis_part = report["safe_v0"], report["synthesis"]
    summary = synthesis_part["summary"] if synthesis_part else None
    labels = summary["label_accuracy"] if summary else {"total": 0}
    return {
        "verdict": report["verdict"],
        "pass-rate": str(safe["pass_rates"]["overall"]) if safe else "",
        "unexpected-failures": str(summary["unexpected_failures"]) if summary else "",
        "label-accuracy": str(labels["matched"] / labels["total"]) if labels["total"] else "",
        "total-cases": str((safe["total_cases"] if safe else 0) + (summary["cases"] if summary else 0)),
    }


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
