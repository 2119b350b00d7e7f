"""One run of each command, top to bottom. Effects arrive as arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safe_gate.core.figures import plural
from safe_gate.core.model import (
    NOTHING_RECORDED,
    CannotJudge,
    JsonObject,
    Label,
    Place,
    Problem,
    Problems,
    Recorded,
    Section,
    Untrusted,
    Verdict,
)
from safe_gate.core.validate import suggestion
from safe_gate.evaluators import EVALUATORS
from safe_gate.inputs import files
from safe_gate.render import jsonreport
from safe_gate.scoring import measure
from safe_gate.settings.options import WAIVERS_FILE, Options, config_paths

if TYPE_CHECKING:
    from safe_gate.baseline import approval, comparison
    from safe_gate.baseline.source import Baseline
    from safe_gate.inputs import conversion
    from safe_gate.publish.effects import Effects
    from safe_gate.render.formats import Draw
    from safe_gate.scoring.shards import Shard

EXIT_CODES = {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.ERROR: 3}
"""What `run` exits with; `score` and `eval` have the codes of their specs."""

# --- the commands -------------------------------------------------------------------------------


def run(options: Options, effects: Effects, options_at: comparison.OptionsAt) -> int:
    """Evaluate, judge, report and publish: the action's entry point. Returns 0, 1 or 3.

    `options_at` gives the settings with the config file of another folder, such as the baseline's.
    """
    return _run(options, effects, options_at)


def merge(options: Options, effects: Effects, options_at: comparison.OptionsAt) -> int:
    """Judge by the shards of a run, and report and publish as that run in one would. Returns 0, 1 or 3."""
    # What shards hold is scored already: no other process is asked for it, and no cluster for a baseline beside it.
    options = replace(options, engine="local", jobs="1")
    return _run(options, effects, options_at, is_merge=True)


def _run(options: Options, effects: Effects, options_at: comparison.OptionsAt, *, is_merge: bool = False) -> int:
    from safe_gate.run import judging
    from safe_gate.scoring import shards

    if untrusted := _untrusted(options, effects):
        return refuse(untrusted, options, effects)
    if options.shard:
        return _score_shard(shards.Shard.named(options.shard), options, effects, options_at)
    merged = shards.read(options.shards) if is_merge else None
    begin = partial(_unfinished, options=options, effects=effects, drawn=_reports(options))
    report, problems, recorded = judging.made(options, effects, options_at, merged=merged, begin=begin)
    return _conclude(report, problems, options, effects, recorded)


def _score_shard(shard: Shard, options: Options, effects: Effects, options_at: comparison.OptionsAt) -> int:
    """Score the cases of one shard and write its file, which has no verdict. Returns 0, or 3 with problems."""
    from safe_gate.publish import delivery
    from safe_gate.render import console
    from safe_gate.run import judging

    path = Path(options.report_dir) / shard.name
    begin = partial(
        _unfinished, options=options, effects=effects, drawn={path: lambda run: jsonreport.pieces(run.report)}
    )
    content, problems, _ = judging.scored(options, effects, options_at, shard, begin)
    if problems:
        files.write_or_remove(path, jsonreport.to_json(content))  # which no merge takes for a shard
        return _conclude(content, problems, options, effects)
    files.write(path, jsonreport.shard_pieces(content))
    cases = " and ".join(
        f"{len(content[name])} of {plural(number, f'{EVALUATORS[name].title} case')}"
        for name, number in content["shard"]["cases"].items()
    )
    said = f"Shard {shard.index} of {shard.of}: {cases} scored. Nothing is judged yet: run safe-gate merge."
    effects.out(f"{said}\nShard: {console.path_words(files.shown(path))}")
    delivery.tell_of_shard(said, files.shown(path), options, effects)
    return EXIT_CODES[Verdict.PASS]


def compare(
    specs: tuple[str, str],
    options: Options,
    effects: Effects,
    options_at: comparison.OptionsAt,
    *,
    out: str,
    verbose: bool,
) -> int:
    """Hold one run against another, each a report, a commit or the working folder. Returns 0, 1 or 3."""
    from safe_gate.baseline import comparison, terms
    from safe_gate.evaluators import present
    from safe_gate.gate import regression, weakening
    from safe_gate.gate import rules as gate_rules
    from safe_gate.render import console
    from safe_gate.render.comparison import headline
    from safe_gate.run import judging

    base, head = specs
    if out:
        _keep_inputs("--out", out, options, specs)
    options_at = judging.with_todays(options, options_at)
    any_of_both = replace(options, baseline_required=False)  # `_nothing_in` names a missing one
    opened = partial(judging.baseline, options=any_of_both, effects=effects, options_at=options_at)
    with opened(base) as old, opened(head) as new:
        if new is None:
            raise CannotJudge(_nothing_in(head))
        roots = [one.root for one in (old, new) if one is not None and one.report is None]
        if len(roots) == len(specs) and (problems := [*comparison.named_nowhere(options_at(new.root), roots)]):
            raise CannotJudge(*problems)
        try:
            side, settings, known = _head(new, options, effects, options_at)
        except CannotJudge as error:
            raise comparison.at_baseline(new, error) from None
        found = comparison.against(old, side, settings, options_at, effects.generated_at, root=new.root, waived=known)
        now = terms.of(new, options_at)
        weakened = terms.held_against(old, now, settings, options_at, effects.generated_at, root=new.root)
    if found["status"] == regression.Status.NONE:
        raise CannotJudge(_nothing_in(base))
    report = {**side.parts, "comparison": found}
    outcomes = regression.judge(found, comparison.guards(settings), known) + weakening.judge(weakened)
    rules = [outcome.as_json() for outcome in outcomes]
    if all(outcome.passed for outcome in outcomes) and not any(found[name]["cases"]["both"] for name in present(found)):
        words = f"has no case in common with {head}, by id: there is nothing to compare; name another run"
        raise CannotJudge(Problem(Place(base), words))
    if out:
        files.write(Path(out), jsonreport.to_json({"comparison": found, "weakened": weakened, "rules": rules}))
    if not options.quiet:
        for table in console.weakened({"weakened": weakened}):
            effects.out(table)
        effects.out(console.compared(report, everything=verbose))
        effects.out(console.outcomes(rules))
    verdict = gate_rules.verdict(outcomes)
    said = found["status"] if verdict is Verdict.PASS else verdict.value
    effects.out(f"Compare: {said.upper()} ({headline(found)})")
    return EXIT_CODES[verdict]


def _head(
    new: Baseline, options: Options, effects: Effects, options_at: comparison.OptionsAt
) -> tuple[comparison.Side, Options, Mapping[str, frozenset[str]]]:
    """Return the run to compare, the settings that judge it and the cases that waivers let pass. Raises CannotJudge."""
    from safe_gate.baseline import comparison
    from safe_gate.gate import waivers
    from safe_gate.run import judging

    if new.report is not None:
        return comparison.side_of_report(new.report), options, waivers.let_pass(new.report)
    settings = options_at(new.root)
    measured = comparison.measured(settings, effects.generated_at, root=new.root)
    known = waivers.let_pass(judging.with_waivers(measured, settings, effects, root=new.root))
    return comparison.side(measured, settings, root=new.root), settings, known


def _nothing_in(spec: str) -> Problem:
    from safe_gate.baseline.source import is_missing

    what = "is not there" if is_missing(spec) else "holds nothing to compare"
    return Problem(Place(spec), f"{what}; expected a report, or a commit with cases of the settings' patterns")


def refuse(problems: Sequence[Problem], options: Options, effects: Effects) -> int:
    """Say that settings or usage are wrong, in reports and to GitHub too: an old verdict must not stand. Returns 3."""
    from safe_gate.run import judging

    problems = measure.as_shown(problems, options)
    if options.mode == "publish":
        from safe_gate.publish import delivery

        delivery.tell_of_refusal(problems, options, effects)
        return complain(problems, effects)
    return _conclude(judging.error_report(problems, Options(), effects), problems, options, effects)


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
    from safe_gate.commands import doctor
    from safe_gate.publish import preview
    from safe_gate.render import console

    if origins is not None:
        effects.out(console.settings_table(preview.settings_rows(options, origins)))
        found, problems = doctor.would_read(options, effects)
        if options.mode != "publish":  # which reads no case
            problems = (*_untrusted(options, effects), *problems)
        effects.out(console.facts("A run would read", found))
    seen = preview.github_facts(options, effects.context, effects.folder)
    effects.out(console.facts("GitHub, as far as known without asking it", seen))
    effects.out(console.facts("A run would publish", preview.channels(options, effects.context)))
    effects.out("Nothing was scored, written or sent.")
    return complain(problems, effects) if problems else EXIT_CODES[Verdict.PASS]


def power(options: Options, effects: Effects, *, cases: int | None) -> int:
    """Show what so many cases can show of a change, or those that a run would read. Returns 0 or 3."""
    from safe_gate.render.power import foresight

    counts, problems = ({"": cases}, ()) if cases else measure.case_counts(options)
    if not counts:
        expected = "a number of cases, such as safe-gate power 100, or the files of a run"
        problems = (Problem(Place("safe-gate power"), f"has no cases to count; expected {expected}"),)
    if problems:
        return complain(problems, effects)
    grouped = bool(options.cluster_key) and not cases
    effects.out(foresight(counts, options.alpha, options.min_drop, options.max_regressions, grouped=grouped))
    return EXIT_CODES[Verdict.PASS]


def publish(options: Options, effects: Effects) -> int:
    """Post what a run without write access left behind. Returns 0 if the comment is as it should be, 3 if not."""
    from safe_gate.publish import delivery

    try:
        return EXIT_CODES[Verdict.PASS if delivery.post_later(options, effects) else Verdict.ERROR]
    except CannotJudge as error:
        return complain(error.problems, effects)


def score(options: Options, effects: Effects, *, output: str, verbose: bool) -> int:
    """Score SAFE v0 batches alone (SAFE v0 spec section 7). Returns 0, 1, 2 or 3."""
    if not options.safe_batch:
        return complain(
            (measure.missing("--batch", "a SAFE v0 batch file or glob, such as --batch 'I25_batch_*'"),), effects
        )
    measured = measure.safe_v0_part(options, effects.generated_at, output)
    measure.tell_skipped(measured.skipped, "safe-batch", effects.err)
    problems = measured.problems or tuple(measure.unknown_groups(options, {"safe_v0": measured}))
    if measured.part is None or problems:
        return complain(problems, effects)
    if output:
        _keep_inputs("--output", output, options)
    _write_safe_reports(measured.part, options, effects, output=output, verbose=verbose)
    labels = measured.part["label_distribution"]
    return 1 if labels[Label.FAIL] else 2 if labels[Label.REVIEW] else 0


def evaluate(options: Options, effects: Effects, *, out: str, verbose: bool) -> int:
    """Evaluate Synthesis cases alone (`eval`; Synthesis spec). Returns 0, 2 or 3."""
    from safe_gate.render import console

    if not options.synthesis_cases:
        return complain(
            (measure.missing("--cases", "a JSONL file of Synthesis cases, such as --cases evals.jsonl"),), effects
        )
    measured = measure.synthesis_part(options)
    measure.tell_skipped(measured.skipped, "synthesis-cases", effects.err)
    problems = measured.problems or tuple(measure.unknown_groups(options, {"synthesis": measured}))
    if measured.part is None or problems:
        return complain(problems, effects)
    if out:
        _keep_inputs("--out", out, options)
        files.write(Path(out), jsonreport.pieces(measured.part))
    if not options.quiet:
        effects.out(console.scorecard(_section("synthesis", measured.part, options), everything=verbose))
    if out and not options.quiet:
        effects.out(f"Report: {console.path_words(out)}")
    summary, allowed = measured.part["summary"], options.max_unexpected_failures
    failures, foreign, missing = (summary[key] for key in ("unexpected_failures", "not_english", "no_reply"))
    verdict = "FAIL" if failures > allowed else "PASS"
    unread = f"; {plural(foreign, 'case')} not in English" if foreign else ""
    unread += f"; {plural(missing, 'case')} without a reply" if missing else ""
    effects.out(f"Eval: {verdict} ({plural(failures, 'unexpected failure')}, {allowed} allowed{unread})")
    return 2 if failures > allowed else 0


def _section(name: str, part: JsonObject, options: Options) -> Section:
    """Return what a reader is shown of one evaluator's part alone, with what a run remarks on its settings."""
    from safe_gate.render.report import of_scoring

    section = EVALUATORS[name].section(part)
    report = {**dict.fromkeys(EVALUATORS), name: part, "provenance": {"policy": measure.settings(options)}}
    return replace(section, notes=(*section.notes, *of_scoring(report)))


def _keep_inputs(flag: str, path: str, options: Options, others: Sequence[str] = ()) -> None:
    """Raise CannotJudge for a report that would take the place of one of `others`, or of what a run would read."""
    if files.is_among(path, (*others, *_read_by(options, path))):
        words = f"names {path}, which this run reads, and would replace it; name another file"
        raise CannotJudge(Problem(Place(flag), words))


def explain(options: Options, case_id: str, effects: Effects) -> int:
    """Show why a Synthesis case passes or fails: its hits in the text, and the arithmetic. Returns 0 or 3."""
    from safe_gate.evaluators.synthesis.report import result_json
    from safe_gate.evaluators.synthesis.score import Case, asks, score_case
    from safe_gate.render.explain import explanation
    from safe_gate.render.untrusted import plain

    if not options.synthesis_cases:
        return complain((measure.missing("--cases", "the JSONL file that holds the case"),), effects)
    rules = measure.synthesis_rules(options)
    problems: list[Problem] = []
    ids: list[str] = []
    found: Case | None = None
    for item in files.synthesis_cases(options.synthesis_cases, bounds=files.Bounds.of(options)):
        if isinstance(item, Problem):
            problems.append(item)
        elif isinstance(item, Case):
            ids.append(item.id)
            if item.id == case_id:
                found = item
                break
            if found is None and plain(Untrusted(item.id), len(item.id)) == case_id:  # as reports show it
                found = item
    if found:
        result = result_json(score_case(found, rules))
        texts = {"user": found.user, "assistant": found.assistant}
        effects.out(explanation(texts, result, asks(rules)))
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
    from safe_gate.commands.train import own_packs

    found = own_packs(paths)
    rules = sum(len(pack["rules"]) for pack in found)
    effects.out(f"{plural(len(found), 'pack')}, {plural(rules, 'rule')}: all texts hit and miss as expected")
    return EXIT_CODES[Verdict.PASS]


def train_packs(patterns: Sequence[str], options: Options, effects: Effects, *, out: str) -> int:
    """Learn rows from marked cases, show them and what they gain, and write them as packs into the folder `out`.

    Without a folder nothing is written. Returns 0 or 3.
    """
    from safe_gate.commands import train
    from safe_gate.render import console, jsonreport

    lesson = train.train(patterns, options)
    paths = [Path(out) / f"{pack['pack']}.json" for pack in lesson.packs]
    if out:
        train.keep_others(paths)
    effects.out(console.lesson(lesson.rows, lesson.gains))
    if lesson.replies < lesson.cases:
        replies = plural(lesson.replies, "distinct reply", "distinct replies")
        words = "a copy counts once, and cases that share a reply or a message are left out together"
        effects.out(f"{plural(lesson.cases, 'case')}, {replies}: {words}.")
    if not lesson.marked:
        effects.out("No case has marks: quote the clauses that decide in `marks`, by group, to learn from them.")
    if out:
        for path, pack in zip(paths, lesson.packs, strict=True):
            files.write(path, jsonreport.pack_json(pack))
    names = " ".join(console.path_words(path.as_posix()) for path in paths)
    if names and out:
        effects.out(f"Written: {names}\nTo use them: --rules {names}, or their names under `rules` in the config.")
    else:
        effects.out("Nothing is written without --out FOLDER." if names else "Nothing is written: no row is learned.")
    return EXIT_CODES[Verdict.PASS]


def history(patterns: Sequence[str], options: Options, effects: Effects) -> int:
    """Draw runs over time from their reports, as `commands.history` does. Returns 0; raises CannotJudge."""
    from safe_gate.commands.history import history as drawn

    drawn(patterns, options, effects)
    return EXIT_CODES[Verdict.PASS]


def verify(paths: Sequence[str], effects: Effects) -> int:
    """Recompute reports from what they hold and from the files they name. Returns 0, 1 or 3, the worst of them."""
    from safe_gate.proof import verification
    from safe_gate.proof.verification import Standing
    from safe_gate.render import console

    found = set()
    for path in paths:
        try:
            one = verification.verify(path, partial(_made_anew, effects=effects))
        except CannotJudge as error:
            complain(error.problems, effects)
            found.add(Standing.NOT_CHECKED)
            continue
        effects.out(console.table(one.digests))
        for remark in one.remarks:
            effects.out(console.sentence(remark))
        effects.out(f"{console.path_words(path)}: {one.standing} ({one.reason})")
        found.add(one.standing)
    codes = {Standing.DOES_NOT_HOLD: 1, Standing.NOT_CHECKED: 3, Standing.HOLDS: 0}
    return next(code for standing, code in codes.items() if standing in found)


def _made_anew(
    options: Options, generated_at: str, recorded: JsonObject, effects: Effects
) -> tuple[JsonObject, Sequence[Problem]]:
    """Return the report that a run at another time would have made."""
    from safe_gate.run import judging

    made = judging.made(options, replace(effects, generated_at=generated_at), lambda _: options, recorded)
    return made.report, made.problems


def bless(
    report: str,
    options: Options,
    effects: Effects,
    grounds: approval.Grounds,
    *,
    waivers: str,
    ids: Sequence[str],
    dry_run: bool,
) -> int:
    """Show what is approved, and write it: waivers of failures if their file is named, else a new baseline.

    Returns 0, 1 if it is refused, or 3.
    """
    from safe_gate.baseline import approval
    from safe_gate.render import console

    report = report or (Path(options.report_dir) / "safe-gate.json").as_posix()
    target = waivers or options.baseline
    if waivers:
        approved = approval.waivers(report, waivers, grounds, ids=ids, today=effects.generated_at[:10])
    elif target.endswith(".json"):
        approved = approval.baseline(report, target, grounds)
    else:
        words = "names no file to write; expected the path of a .json file, such as --baseline evals/baseline.json"
        return complain((Problem(Place("--baseline"), words, target),), effects)
    effects.out(console.sentence(approved.title))
    if approved.rows.rows:
        effects.out(console.table(approved.rows))
    for remark in approved.remarks:
        effects.out(console.sentence(remark))
    if approved.refusal:
        effects.err(f"safe-gate: refused, nothing is written: {approved.refusal}")
        return 1
    if approved.content is None or dry_run:
        effects.out("Nothing is written.")
    else:
        files.write(Path(target), jsonreport.to_json(approved.content))
        effects.out(f"Written: {console.path_words(target)}")
    return EXIT_CODES[Verdict.PASS]


def validate(paths: Sequence[str], effects: Effects) -> int:
    """Check input files alone: their shapes, and whether cases and outputs, settings, waivers fit. Returns 0 or 3."""
    from safe_gate.evaluators.safe_v0.score import Case as SafeCase
    from safe_gate.evaluators.synthesis.score import Case

    paths = list(dict.fromkeys(paths))
    problems = Problems()
    cases = 0
    for item in _checked(paths):
        if isinstance(item, Problem):
            problems.add(item)
        cases += isinstance(item, SafeCase | Case)
    if problems:
        return complain(problems.kept(), effects)
    effects.out(f"{plural(len(paths), 'file')} valid, {plural(cases, 'case')}")
    return EXIT_CODES[Verdict.PASS]


def _checked(paths: Sequence[str]) -> Iterator[Any]:
    """Yield what files hold, problems among it: batches with their outputs, those of batches not given alone."""
    from safe_gate.inputs import batches

    kinds: dict[str, list[str]] = {}
    for path in paths:
        try:
            kinds.setdefault(files.kind_of(Path(path)), []).append(path)
        except CannotJudge as error:
            yield from error.problems
    batch_files, outputs, cases = (kinds.pop(kind, []) for kind in ("safe-batch", "safe-output", "synthesis-case"))
    beside = {files.location(batches.outputs_beside(Path(batch))) for batch in batch_files}
    strays = [one for one in outputs if files.location(Path(one)) not in beside]
    alone = [one for one in strays if not batch_files or files.exists(batches.batch_of(Path(one)))]
    # None is named where each is found beside its batch: naming one, as --outputs does, ends that search.
    named = [one for one in outputs if one not in alone] if len(alone) < len(strays) else []
    streams: list[Iterator[Any]] = []
    if batch_files:
        streams.append(batches.safe_cases(batch_files, named))
    if alone:
        streams.append(batches.safe_outputs(alone))
    if cases:
        streams.append(files.synthesis_cases(cases))
    for stream in streams:
        yield from stream
    for kind, documents in kinds.items():
        for path in documents:
            try:
                _check_document(path, kind)
            except CannotJudge as error:
                yield from error.problems


def import_(patterns: Sequence[str], request: conversion.Request, effects: Effects, *, out: str, skips: bool) -> int:
    """Write what other tools recorded as cases or outputs. Returns 0; 3 where a record is refused and not skipped.

    Nothing is written then. What is left out of cases, and what is skipped, is counted.
    """
    from safe_gate.inputs import conversion
    from safe_gate.render import console

    if files.is_among(out, files.expand(patterns)[0]):
        raise CannotJudge(Problem(Place("--out"), f"names {out}, which is imported; name another file"))
    imported = conversion.read(patterns, request)
    for name, title, count in imported.found:
        effects.out(f"{console.path_words(name)}: {title}, {plural(count, 'case')}")
    for what, count in sorted(imported.left_out.items()):
        effects.out(f"Left out: {console.path_words(what)} ({plural(count, 'record')})")
    if imported.problems and not (skips and imported.is_whole):
        code = complain(imported.problems.kept(), effects)
        hint = "; set --skip-invalid to leave these records out" if imported.is_whole else ""
        effects.err(f"Nothing is written{hint}")
        return code
    if imported.problems:
        effects.err(console.refusals(imported.problems.kept()))
    if not imported.count:
        raise CannotJudge(
            Problem(Place("safe-gate import"), "has no record that can become a case; nothing is written")
        )
    files.write(Path(out), conversion.lines(imported, request))
    effects.out(f"Written: {console.path_words(out)}, {plural(imported.count, 'case')}")
    return EXIT_CODES[Verdict.PASS]


def _check_document(path: str, kind: str) -> None:
    """Raise CannotJudge if a document is not valid; a config's settings and waivers must fit together, too."""
    if kind == "waivers":
        files.waivers(path)
        return
    if kind == "shard":
        from safe_gate.scoring import shards

        shards.document(path)
        return
    if kind != "config":
        files.document(path, kind)
        return
    from safe_gate.settings.sources import read

    read({"config": path}, {}, files.read_config)


def _read_by(options: Options, output: str = "") -> Iterator[Path]:
    """Yield the working folder and the files that a run would read, but a report of `output` among the batches."""
    from safe_gate.inputs import batches

    settings = (*config_paths(options), options.waivers or WAIVERS_FILE)
    yield from (Path(one) for one in ("", *settings, options.baseline))
    yield from files.expand((*options.synthesis_cases, *options.safe_outputs, *options.rules, *options.shards))[0]
    for batch in batches.expand_batches(options.safe_batch, Path(options.safe_test_dir), (output,))[0]:
        yield from (batch, batches.outputs_beside(batch))


def _untrusted(options: Options, effects: Effects) -> tuple[Problem, ...]:
    """Return the problem of a checkout that a run would read from and its event must not trust, if there is one."""
    from safe_gate.github.checkout import foreign_checkout

    folder = "" if options.allow_head_checkout else foreign_checkout(effects.context, _read_by(options))
    if not folder:
        return ()
    words = (
        f"the checkout in {folder!r} is not at the base's commit, so it may hold the pull request's own files,"
        " which this event must not trust; check out GITHUB_SHA, use the event pull_request, or set"
        " allow-head-checkout: true"
    )
    return (Problem(Place("pull_request_target"), words),)


def complain(problems: Sequence[Problem], effects: Effects) -> int:
    """Print all problems, for no report holds them; return the exit code for "could not judge"."""
    from safe_gate.render import console

    effects.err(console.problems(problems))
    return EXIT_CODES[Verdict.ERROR]


# --- reporting ----------------------------------------------------------------------------------


def _reports(options: Options) -> dict[Path, Draw]:
    """Return what draws each of a run's reports, by its path."""
    from safe_gate.render import formats

    folder = Path(options.report_dir)
    return {folder / name: draw for name, draw in formats.files(options.reports)}


def _unfinished(judging_options: Options, options: Options, effects: Effects, drawn: Mapping[Path, Draw]) -> None:
    """Replace reports by one without a verdict, because the run may be killed from here on.

    Files that the run reads stay, such as a baseline in the report folder. `judging_options` are the settings that
    judge, which may name other files than the run's own.
    """
    from safe_gate.publish import handover
    from safe_gate.render import formats
    from safe_gate.run import judging

    problem = Problem(Place("safe-gate"), "run did not finish, so there is no result; run again")
    report = judging.error_report((problem,), judging_options, effects)
    readers, run = (options, judging_options), formats.Run(report, effects.folder)
    for path, draw in drawn.items():
        read = [Path(one.baseline) for one in readers]  # which stays missing, too
        if files.exists(path):
            read += [file for one in readers for file in _read_by(one, str(path))]
        if not files.is_among(str(path), read):
            files.write_or_remove(path, draw(run))
    if not options.shard:
        with suppress(OSError, ValueError):  # what cannot be removed is of another run, which `publish` finds out
            (Path(options.report_dir) / handover.NAME).unlink()


def _conclude(
    report: dict[str, Any],
    problems: Sequence[Problem],
    options: Options,
    effects: Effects,
    recorded: Recorded = NOTHING_RECORDED,
) -> int:
    """Print, write and publish a report; return the exit code of its verdict."""
    from safe_gate.publish import delivery
    from safe_gate.render import console, formats
    from safe_gate.run import judging

    drawn, written = _reports(options), []
    try:
        run = formats.Run(report, effects.folder, recorded)
        files.write_all({path: draw(run) for path, draw in drawn.items()})
        written = [files.shown(path) for path in drawn]
    except CannotJudge as error:
        problems = (*problems, *error.problems)
        report = judging.error_report(problems, options, effects)
        run = formats.Run(report, effects.folder)
        for path, draw in drawn.items():
            files.write_or_remove(path, draw(run))  # what stands there must not say that the gate passed
    if problems:
        effects.err(console.problems(problems))
    elif options.quiet:
        effects.out(console.verdict(report))
    else:
        for card in console.scorecards(report):
            effects.out(card)
        effects.out(console.rules(report))
    if written and not options.quiet:
        effects.out(f"Reports: {', '.join(console.path_words(path) for path in written)}")
    delivery.tell(report, problems, options, written, effects)
    return EXIT_CODES[Verdict(report["verdict"])]


_FORMATS = {".json": "json", ".md": "markdown"}
"""What format a report's name asks for."""


def _write_safe_reports(part: JsonObject, options: Options, effects: Effects, *, output: str, verbose: bool) -> None:
    """Write a SAFE v0 report in the formats asked for (SAFE v0 spec sections 5 and 7.1).

    `output` names a file for one of them: the format that its name ends in, where that or the console's alone is
    asked for, else the first of JSON, Markdown and console that is.
    """
    from safe_gate.render import console

    def in_markdown() -> str:
        from safe_gate.render.markdown import section_report

        return section_report(section)

    formats = set(options.report_formats)
    if "all" in formats:
        formats = {"json", "console", "markdown"}
    section = _section("safe_v0", part, options)
    drawn: dict[str, Callable[[], str | Iterator[str]]] = {
        "json": lambda: jsonreport.pieces(part),
        "markdown": in_markdown,
        "console": lambda: console.scorecard(section, everything=verbose),
    }
    main, named = next(name for name in drawn if name in formats), _FORMATS.get(Path(output).suffix, "")
    if named in formats or (named and formats == {"console"}):
        main = named
    if output:
        formats.add(main)
    for name in sorted(formats):
        if output and name == main:
            path = Path(output)
        elif name == "console" or (name == "json" and formats == {"json"}):
            effects.out("".join(drawn[name]()).removesuffix("\n"))
            continue
        else:
            suffix = "md" if name == "markdown" else "json"
            path = Path(options.report_dir) / f"SAFE_v0_{_file_name(part)}.{suffix}"
        files.write(path, drawn[name]())
        effects.out(f"Report: {console.path_words(files.shown(path))}")


def _file_name(part: JsonObject) -> str:
    """Return `<concern>_<timestamp>` for a report's file; a concern id may hold anything."""
    concern = "".join(c if c.isascii() and (c.isalnum() or c in "-_,") else "_" for c in part["concern_id"])
    return f"{concern[:80]}_{part['generated_at'].replace('-', '').replace(':', '')}"
