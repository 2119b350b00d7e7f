"use strict";

// A case as it opens: what is wrong, how each check decided, and the texts with what was found in them.

const SIDES = { for: "counts for it", against: "counts against it", neither: "is disclosed", cancelled: "does not count" };
const SIGNS = { fail: "✕", review: "!", expected: "≈", pass: "✓", none: "–" };

/** The lines of a case that are seen while it is closed. */
function heading(one, about) {
  const badges = [make("span", { className: "badge " + one.kind }, stateOf(one))];
  if (one.news) badges.push(make("span", { className: "badge " + (NEWS[one.news] || "none") }, one.news));
  if (one.waivers) badges.push(make("span", { className: "badge none" }, one.kind === "fail" ? "partly waived" : "waived"));
  const line = (one.evidence || []).map(plain).join("; ");
  return [
    make("span", { className: "sign " + one.kind, ariaHidden: "true" }, SIGNS[one.kind]),
    make("span", { className: "id" }, ...visible(one.id)),
    make("span", { className: "badges" }, ...badges),
    make("span", { className: "evaluator muted" }, evaluatorOf(one, about).title),
    make("span", { className: "line muted" }, ...visible(line.slice(0, 200) || one.what || "")),
  ];
}

const NEWS = { "newly failing": "fail", worse: "review", mixed: "review", fixed: "pass", better: "pass" };

function stateOf(one) {
  return one.excused && one.kind === "expected" ? one.label + " as expected" : one.label;
}

function evaluatorOf(one, about) {
  return about.evaluators.find((each) => each.name === one.evaluator);
}

/** What is seen of a case once it is open. */
function body(one, about) {
  const evaluator = evaluatorOf(one, about);
  const facts = [make("code", {}, ...visible(one.place))];
  for (const group of one.groups || []) facts.push(make("span", { className: "tag" }, ...visible(group)));
  const nodes = [make("p", { className: "facts" }, ...facts)];
  if (one.what) nodes.push(make("p", {}, make("b", {}, one.what)));
  if (one.labels) {
    const because = one.because && one.because.length ? " because of changed " + one.because.join(" and ") : "";
    const [then, today, now] = one.labels;
    const path = then === today ? [then, now] : [then, today + " by today’s rules", now];
    nodes.push(make("p", {}, `Since the baseline: ${one.news || "no change"}${because} (${path.join(" → ")})`));
  }
  for (const [by, waiver] of Object.entries(one.waivers || {})) nodes.push(make("p", { className: "note" }, evaluator.checks[by] + ": ", ...told(waiver)));
  const extra = (one.evidence || []).filter((phrase) => !(one.checks || []).some((check) => (check.evidence || []).some((each) => plain(each) === plain(phrase))));
  if (extra.length) nodes.push(listOf(extra));
  nodes.push(...texts(one, about, evaluator));
  nodes.push(make("div", { className: "checks" }, ...(one.checks || []).map((check) => checked(check, one, evaluator))));
  return nodes;
}

function listOf(phrases) {
  return make("ul", { className: "evidence" }, ...phrases.map((phrase) => make("li", {}, ...told(phrase))));
}

function checked(check, one, evaluator) {
  const score = check.score === undefined ? "" : " " + check.score.toFixed(2);
  const title = [
    make("span", { className: "sign " + check.kind, ariaHidden: "true" }, SIGNS[check.kind]),
    " " + evaluator.checks[check.by] + ": ",
    make("span", { className: "badge " + check.kind }, check.label + score),
  ];
  const nodes = [make("h3", {}, ...title)];
  if (check.decided) nodes.push(make("p", {}, ...told(check.decided)));
  const marks = (one.marks || []).filter((mark) => mark[4] === check.by);
  const marked = new Set(marks.flatMap((mark) => [mark[6], mark[8]]));
  const isElsewhere = (phrase) => phrase.every((part) => typeof part === "string" || marked.has(part[0]));
  const evidence = (check.evidence || []).filter((phrase) => !check.decided || !isElsewhere(phrase));
  if (evidence.length) nodes.push(listOf(evidence));
  const rows = distinct(marks).map(hit);
  if (rows.length) nodes.push(make("ul", { className: "hits" }, ...rows));
  return make("section", { className: "check" }, ...nodes);
}

/** Marks, those that differ by their place alone once. */
function distinct(marks) {
  const found = new Map();
  for (const mark of marks) {
    const key = JSON.stringify([mark[3], mark[6], mark[8], mark[7]]);
    if (!found.has(key)) found.set(key, mark);
  }
  return [...found.values()];
}

function hit([, , , side, , says, rule, why, text]) {
  const nodes = [make("mark", { className: side, title: SIDES[side] }, ...(text ? visible(text) : ["…"])), " " + says];
  if (why.length) nodes.push(": ", ...told(why));
  if (rule) nodes.push(" ", make("code", { className: "muted" }, ...visible(rule)));
  return make("li", { className: side }, ...nodes);
}

function texts(one, about, evaluator) {
  const nodes = [];
  for (const [field, title] of Object.entries(one.fields || evaluator.fields)) {
    const now = (one.texts || {})[field] || "";
    const old = (one.old || {})[field];
    if (old !== undefined) nodes.push(sideBySide(title, old, now, one, field));
    else if (now) nodes.push(panel(title, now, of(one.marks, field), [], "ins"));
  }
  if (!one.old && one.before) {
    const why = about.withheld ? "Texts are hidden." : "The old text is not available.";
    const evidence = one.before.length ? listOf(one.before) : make("p", {}, "Nothing.");
    const isKnown = !about.withheld && !(one.because || []).some((cause) => cause.endsWith("output"));
    nodes.push(make("section", { className: "before" }, make("h3", {}, "Before"), isKnown ? "" : make("p", { className: "muted" }, why + " What was found in it:"), evidence));
  }
  if (!about.texts && !one.before) nodes.push(make("p", { className: "muted" }, about.withheld ? "Texts are hidden." : "This page holds no texts."));
  return nodes;
}

function of(marks, field) {
  return (marks || []).filter((mark) => mark[0] === field);
}

function panel(title, text, marks, changed, tag) {
  const shown = text ? marked(text, marks, changed, tag) : [make("i", {}, "empty")];
  return make("section", { className: "text" }, make("h3", {}, title), make("div", { className: "words", dir: "auto" }, ...shown));
}

function sideBySide(title, old, now, one, field) {
  const [removed, added] = differences(old, now);
  return make(
    "div",
    { className: "pair" },
    panel(title + " before", old, of(one.oldMarks, field), removed, "del"),
    panel(title + " now", now, of(one.marks, field), added, "ins"),
  );
}
