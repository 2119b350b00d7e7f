"use strict";

// The list of cases: filters, order, links. Rows are drawn as far as somebody looks, and a case when it is opened.

const about = JSON.parse(document.querySelector("script.about")?.textContent || "null");
const STEP = 100;

/** Every case as the page's data has it, in the order of the report. */
function readCases() {
  const found = [];
  for (const block of document.querySelectorAll("script.cases")) {
    for (const line of block.textContent.split("\n")) if (line) found.push(JSON.parse(line));
    block.remove();
  }
  found.forEach((one, place) => {
    one.place_ = place;
    one.state_ = stateOf(one);
    one.rules_ = [...new Set((one.marks || []).map((mark) => mark[6]).filter(Boolean))];
    one.judged_ = (one.checks || []).map((check) => check.by + ": " + check.label);
  });
  return found;
}

const WORDS = new Map();

/** All that a search looks in, in lower case; worked out once somebody searches. */
function wordsOf(one) {
  if (!WORDS.has(one)) {
    const parts = [one.id, one.place, ...(one.groups || []), ...Object.values(one.texts || {}), ...Object.values(one.old || {})];
    for (const check of one.checks || []) parts.push(...(check.evidence || []).map(plain));
    parts.push(...(one.evidence || []).map(plain), ...(one.before || []).map(plain));
    WORDS.set(one, parts.join("\n").toLowerCase());
  }
  return WORDS.get(one);
}

const ORDERS = {
  importance: ["What matters first", (a, b) => a.rank - b.rank],
  report: ["As in the report", () => 0],
  id: ["Id", (a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)],
  label: ["Result", (a, b) => (a.state_ < b.state_ ? -1 : a.state_ > b.state_ ? 1 : 0)],
  score: ["Lowest score", (a, b) => lowest(a) - lowest(b)],
};

function lowest(one) {
  const value = { pass: 1, none: 1, review: 0.5, fail: 0 };
  return Math.min(1, ...(one.checks || []).map((check) => check.score ?? value[check.kind]));
}

/** The filters that choose from a list: their title, and the values that a case has. */
function choices(evaluators) {
  const groups = (noun) => (one) => (evaluators.find((each) => each.name === one.evaluator).noun === noun ? one.groups || [] : []);
  const nouns = [...new Set(evaluators.map((each) => each.noun))];
  return {
    evaluator: ["Evaluator", (one) => [one.evaluator], (name) => evaluators.find((each) => each.name === name).title],
    label: ["Result", (one) => [one.state_]],
    check: ["Check", (one) => one.judged_, checkTitle],
    rule: ["Matched rule", (one) => one.rules_],
    ...Object.fromEntries(nouns.map((noun) => [noun, [noun[0].toUpperCase() + noun.slice(1), groups(noun)]])),
    ...(about.compared ? { change: ["Since the baseline", (one) => (one.news ? [one.news] : [])] } : {}),
  };
}

function checkTitle(value) {
  const [by, label] = value.split(": ");
  const evaluator = about.evaluators.find((each) => by in each.checks);
  return evaluator.checks[by] + ": " + label;
}

function start() {
  const cases = readCases();
  const filters = choices(about.evaluators);
  const form = document.getElementById("filters");
  const list = document.getElementById("list");
  const more = document.getElementById("more");
  let shown = [];
  let drawn = 0;

  const fields = {};
  const labelled = (title, field, kind) => form.append(make("label", { className: kind || "" }, make("span", {}, title), field));
  fields.text = make("input", { type: "search", name: "text", autocomplete: "off", spellcheck: false });
  labelled("Text", fields.text, "wide");
  for (const [name, [title, values, titleOf]] of Object.entries(filters)) {
    const counts = new Map();
    for (const one of cases) for (const value of new Set(values(one))) counts.set(value, (counts.get(value) || 0) + 1);
    if (counts.size < (name === "evaluator" ? 2 : 1)) continue;
    const options = [...counts].map(([value, count]) => [value, `${titleOf ? titleOf(value) : cut(value)} (${count})`]);
    options.sort((a, b) => (a[1] < b[1] ? -1 : 1));
    fields[name] = make("select", { name }, make("option", { value: "" }, "All"), ...options.map(([value, title]) => make("option", { value }, ...text(title))));
    labelled(title, fields[name]);
  }
  fields.sort = make("select", { name: "sort" }, ...Object.entries(ORDERS).map(([value, [title]]) => make("option", { value }, title)));
  labelled("Sort by", fields.sort);
  const reset = make("button", { type: "button" }, "Show all cases");
  form.append(reset);

  /** What the address asks for: filters, and a case. */
  const asked = () => new URLSearchParams(location.hash.slice(1));
  const address = () => {
    const found = new URLSearchParams();
    for (const [name, field] of Object.entries(fields)) {
      const isSet = name === "sort" ? field.value !== "importance" : field.value;
      if (isSet) found.set(name, field.value);
    }
    return "#" + found;
  };
  const isLinked = (one, only) => new URLSearchParams({ id: one.id }).get("id") === only;

  function read() {
    const found = asked();
    const only = found.get("case");
    for (const [name, field] of Object.entries(fields)) field.value = found.get(name) || (name === "sort" ? "importance" : "");
    apply(only);
    const first = shown.length && isLinked(shown[0], only) ? list.querySelector("details") : null;
    document.body.classList.toggle("linked", first !== null);
    if (only === null) return;
    if (first) {
      first.open = true;
      first.firstElementChild.focus({ preventScroll: true });
    }
    (first || document.getElementById("cases")).scrollIntoView();
  }

  /** Show the cases that the filters leave, first the one that a link names. */
  function apply(only = null) {
    const chosen = Object.entries(filters).filter(([name]) => fields[name] && fields[name].value);
    const words = fields.text.value.toLowerCase();
    const passes = (one) =>
      chosen.every(([name, [, values]]) => values(one).includes(fields[name].value)) && (!words || wordsOf(one).includes(words));
    shown = cases.filter(passes);
    const order = ORDERS[fields.sort.value] || ORDERS.importance;
    shown.sort((a, b) => order[1](a, b) || a.place_ - b.place_);
    const linked = shown.filter((one) => isLinked(one, only));
    if (linked.length) shown = [...linked, ...shown.filter((one) => !linked.includes(one))];
    list.replaceChildren();
    drawn = 0;
    draw();
    const total = cases.length;
    const counted = shown.length === total ? `All ${counting(total)}` : `${shown.length.toLocaleString("en")} of ${counting(total)}`;
    document.getElementById("shown").textContent = linked.length || only === null ? counted : `No case here has the id of this link. ${counted}`;
    reset.hidden = shown.length === total && !words && !chosen.length;
  }

  function draw() {
    for (const one of shown.slice(drawn, drawn + STEP)) list.append(row(one));
    drawn = Math.min(shown.length, drawn + STEP);
    more.hidden = drawn === shown.length;
    more.textContent = `Show more (${(shown.length - drawn).toLocaleString("en")} left)`;
  }

  function row(one) {
    const details = make("details", { className: one.kind }, make("summary", {}, ...heading(one, about)));
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) {
        const found = new URLSearchParams({ case: one.id });
        if (cases.some((other) => other !== one && other.id === one.id)) found.set("evaluator", one.evaluator);
        const link = make("a", { href: "#" + found, className: "link" }, "Link to this case");
        details.append(make("div", { className: "body" }, ...body(one, about), make("p", {}, link)));
      }
    });
    return make("li", {}, details);
  }

  const change = () => {
    history.replaceState(null, "", address());
    apply();
  };
  form.addEventListener("input", change);
  form.addEventListener("submit", (event) => event.preventDefault());
  reset.addEventListener("click", () => {
    for (const [name, field] of Object.entries(fields)) if (name !== "sort") field.value = "";
    change();
    fields.text.focus();
  });
  more.addEventListener("click", () => {
    const place = drawn;
    draw();
    list.children[place]?.querySelector("summary").focus();
  });
  new IntersectionObserver((seen) => {
    if (seen.some((one) => one.isIntersecting) && drawn < shown.length) draw();
  }, { rootMargin: "600px" }).observe(more);
  addEventListener("hashchange", read);
  read();
}

function counting(number) {
  return number.toLocaleString("en") + (number === 1 ? " case" : " cases");
}

function cut(value) {
  return value.length > 60 ? value.slice(0, 60) + "…" : value;
}

function text(value) {
  return visible(value).map((node) => (typeof node === "string" ? node : node.textContent));
}

if (about) start();
