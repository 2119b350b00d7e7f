"""What readers are shown of a report: comment, summary, step outputs, annotations, console and files share it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.figures import enumerated, first_few, plural
from safe_gate.evaluators.registry import CASE_FILTERS, EVALUATORS, parts_of
from safe_gate.gate.rules import UNJUDGED, judged
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import Problem, in_order
from safe_gate.model.report import NOWHERE, Origin, Report, RuleOutcome, Verdict, Waiver
from safe_gate.model.results import NOTHING_RECORDED, Phrase, Recorded, Section, Table, Untrusted, Words
from safe_gate.render.cases import ShownCase, ShownPart, shown_cases, shown_parts
from safe_gate.render.comparison import comparison_section, drop_empty_columns


@dataclass(frozen=True)
class ReportView:
    """A report, where it comes from, and the texts of its cases that may be shown.

    What takes a walk over its cases to know is known once it was asked for.
    """

    report: Report
    origin: Origin = NOWHERE
    recorded: Recorded = NOTHING_RECORDED

    @cached_property
    def parts(self) -> Sequence[ShownPart]:
        """What each evaluator found, in reading order."""
        return [*shown_parts(self.report)]

    def cases(self) -> Iterator[ShownCase]:
        """Yield the cases of all parts, in their order."""
        return shown_cases(self.report, self.parts)

    @cached_property
    def comparison(self) -> Section | None:
        """The comparison with a baseline, or None without a baseline."""
        found = self.report.comparison
        return comparison_section(found, self.report.parts) if found and found.status != "none" else None


def waivers_table(report: Report) -> Table:
    """Return the table of the report's waivers, those that need attention first."""
    rows: list[tuple[Words, ...]] = [
        (
            Untrusted(waiver.case_id),
            waiver.name,
            "in force" if fate == "applied" else fate,
            *map(Untrusted, (waiver.reason, waiver.owner, waiver.expires)),
        )
        for fate, waiver in (report.waivers.each() if report.waivers else ())
    ]
    return Table(("Case", "Fails", "Waiver", "Reason", "Owner", "Expires"), "<<<<<<", tuple(rows))


def known_failures(report: Report) -> Phrase:
    """Return a sentence on the waivers in force and the next one to expire, empty if there is none."""
    applied = report.waivers.applied if report.waivers else ()
    if not applied:
        return ()
    first = min(waiver.expires for waiver in applied)
    return (f"{plural(len(applied), 'waiver')} in force, {'the first ' * (len(applied) > 1)}until ", Untrusted(first))


def waiver_phrase(waiver: Waiver) -> Phrase:
    """Return until when a failure is waived, by whom and why."""
    expires, owner, reason = map(Untrusted, (waiver.expires, waiver.owner, waiver.reason))
    return ("until ", expires, " by ", owner, ": ", reason)


def remarks(report: Report) -> Iterator[Phrase]:
    """Yield the sentences that a reader needs beside the verdict, such as that rules did not apply."""
    policy = report.provenance.policy
    if report.verdict is not Verdict.ERROR:
        for name, evaluator in EVALUATORS.items():
            if report.parts[name] is None and not _rules_set(evaluator, policy):
                yield (f"{evaluator.title} did not run: it has no input, so its rules do not apply.",)
        yield from idle_rules(report)
    if commit := report.provenance.policy_commit:
        judged_by = "Judged by the config file, rule packs and waivers of the base commit ("
        yield (judged_by, Untrusted(commit[:7]), "), not those of this change.")
    yield from setting_sentences(policy, report.provenance.left_out)
    for evaluator, part in parts_of(report.parts):
        yield from evaluator.present.remarks(part, policy)


def misplaced_sentence(report: Report, origin: Origin) -> Phrase:
    """Return a sentence on files of another commit than the result is shown for, empty if there are none."""
    judged = report.provenance.commit
    if not judged or origin.commit in ("", judged):
        return ()
    places = Untrusted(judged[:7]), ", not at ", Untrusted(origin.commit[:7])
    advice = "they are not the change's: use actions/checkout without ref, under pull_request, merge_group or push."
    return ("The judged files are checked out at ", *places, f". Unless a step wrote them, {advice}")


def idle_rules(report: Report) -> Iterator[Phrase]:
    """Yield the sentences on cases that no rule judges, and on rules that are set and judged nothing, by the reason."""
    policy, compared, judging = report.provenance.policy, report.comparison, judged(report.rules)
    for name, evaluator in EVALUATORS.items():
        if report.parts[name] is not None and name not in judging:
            yield (f"No rule judges the {evaluator.title} cases: {UNJUDGED}.",)
        if report.parts[name] is None and (asked := _rules_set(evaluator, policy)):
            words = f"{evaluator.title} did not run: it has no input, so its rules do not apply"
            yield (f"{words}: {enumerated(asked)}.",)
    guards = ("protect", "max_regressions", "max_score_drop")
    asked = [name.replace("_", "-") for name in guards if policy[name] not in (None, [])]
    if idle := [name for name in asked if name not in {rule.rule for rule in report.rules}]:
        lacks = "No case is in both runs" if compared and compared.status != "none" else "There is no baseline yet"
        why = f"{lacks}, so" if compared else "No baseline is set, so nothing was compared, and"
        yield (f"{why} these rules judged nothing: {', '.join(idle)}.",)


def _rules_set(evaluator: Evaluator, policy: JsonObject) -> list[str]:
    """Return the settings of an evaluator's own rules that are on by other values than their defaults."""
    found, fields = list[str](), evaluator.settings.model_fields
    for rule in (*evaluator.gate.rules, *(rule for rule, _ in evaluator.gate.own_rules(policy))):
        own = fields.get(rule.setting)
        if own and policy.get(rule.setting) not in (None, own.default):
            found.append(rule.setting.replace("_", "-"))
    groups = evaluator.grouping.setting
    return [*dict.fromkeys(found), *([groups.replace("_", "-")] if groups and policy.get(groups) else [])]


def step_outputs(report: Report) -> Mapping[str, str]:
    """Return the step outputs that follow from the report; empty where nothing was measured.

    `pass-rate` and `label-accuracy` are fractions from 0 to 1, like the limits of their rules.
    """
    outputs = {"verdict": report.verdict.value}
    for name, evaluator in EVALUATORS.items():
        outputs |= evaluator.present.figures(report.parts[name]).outputs
    return {**outputs, "total-cases": str(sum(len(part.results) for _, part in parts_of(report.parts)))}


VERDICTS = {"pass": "passed", "fail": "failed", "error": "no verdict"}
"""The words for each verdict."""

NO_VERDICT = "the input or the settings have problems, so the gate did not pass"


def problems_table(problems: Sequence[Problem]) -> Table:
    """Return the table of problems, in their order, without empty columns."""
    texts = (one.as_texts() for one in in_order(problems))
    rows = [tuple(Untrusted(text) if text else "" for text in row) for row in texts]
    return drop_empty_columns(("Place", "Case", "Field", "Problem"), rows)


def rules_summary(report: Report) -> str:
    """Return a summary of the rules' states, such as `1 of 2 rules broken, 1 skipped`."""
    skipped, warns = sum(rule.skipped for rule in report.rules), sum(rule.warns for rule in report.rules)
    total = len(report.rules) - skipped - warns
    broken = len(report.broken())
    if report.verdict is Verdict.ERROR:
        return "could not judge"
    holds = "1 rule holds" if total == 1 else f"all {total} rules hold"
    words = f"{broken} of {plural(total, 'rule')} broken" if broken else holds
    beside = (f"{skipped} skipped" if skipped else "", plural(warns, "warning") if warns else "")
    return ", ".join(filter(None, (words, *beside)))


def rule_state(rule: RuleOutcome) -> str:
    """Return the state of a rule: `ok`, `warning`, `broken` or `skipped`."""
    if rule.skipped:
        return "skipped"
    if rule.warns:
        return "warning"
    return "ok" if rule.passed else "broken"


def section_alone(name: str, part: Any, settings: JsonObject, left_out: int) -> Section:
    """Return the section of an evaluator whose part is the whole report, with remarks on the settings it scored by.

    `left_out` is how many cases filters leave out.
    """
    present = EVALUATORS[name].present
    section, counts = present.section(part), {name: left_out} if left_out else {}
    notes = (*section.notes, *setting_sentences(settings, counts), *present.remarks(part, settings))
    return section._replace(notes=notes)


def rule_message(rule: RuleOutcome) -> Phrase:
    """Return what a rule found, with the name of its group and of what broke it, if any."""
    return (*rule_subject(rule), rule.message, *blamed_names(rule))


def rule_subject(rule: RuleOutcome) -> Phrase:
    """Return the name of the group or recording that a rule is about, empty if it is about all cases."""
    if not rule.group:
        return ()
    noun = "recording" if rule.evaluator == "gate" else EVALUATORS[rule.evaluator].grouping.noun
    return (f"{noun.capitalize()} ", Untrusted(rule.group), ": ")


def blamed_names(rule: RuleOutcome) -> Phrase:
    """Return the names of the first cases that broke a rule, if any."""
    return (": ", *first_few(rule.names, len(rule.names))) if rule.names else ()


def setting_sentences(policy: Mapping[str, Any], left_out: Mapping[str, int] | None) -> Iterator[Phrase]:
    """Yield a sentence on each setting that hides cases or texts; `left_out` counts the cases by evaluator."""
    if words := filter_sentence(policy, left_out):
        yield words
    if policy.get("text") == "none":
        yield ("Recorded text is hidden; hashes replace it.",)


def filter_sentence(policy: Mapping[str, Any], left_out: Mapping[str, int] | None) -> Phrase:
    """Return a sentence on the filters of a run and, if known, how many cases they leave out; empty without filters."""
    asked = policy.get("tag") or []
    unwanted = [tag.removeprefix("!") for tag in asked if tag.startswith("!")]
    filters = [("with ", [tag for tag in asked if not tag.startswith("!")]), ("without ", unwanted)]
    filters += [(f"of {one.replace('_', '-')} ", [policy[one]]) for one in CASE_FILTERS if policy.get(one)]
    phrase: list[Words] = []
    for words, names in filters:
        if names:
            phrase += [" and " if phrase else "Filtered: only cases ", words]
            phrase += [word for name in names for word in (" or ", Untrusted(name))][1:]
    if not phrase:
        return ()
    counts = [(left_out[name], one.title) for name, one in EVALUATORS.items() if left_out and name in left_out]
    hidden = enumerated([plural(number, f"{title} case") for number, title in counts])
    are = "is" if sum(number for number, _ in counts) == 1 else "are"
    return (*phrase, f"; {hidden} {are} left out." if hidden else ".")
