"use strict";

// Recorded text becomes text nodes and nothing else: no markup is ever made of it.

/** An element with properties and children; a child that is a string becomes text. */
function make(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (name in element && name !== "list") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// As `untrusted.visible` has it: control, format and surrogate characters, separators, letters without ink.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufffe\uffff]/u;
const ALL_UNSEEN = new RegExp(UNSEEN.source, "gu");

/** Recorded text as nodes, with an escape for each character that does not show; lines may stay lines. */
function visible(text, keepsLines) {
  if (!UNSEEN.test(text)) return [text];
  const nodes = [];
  let end = 0;
  for (const found of text.matchAll(ALL_UNSEEN)) {
    const char = found[0];
    if (keepsLines && (char === "\n" || char === "\t")) continue;
    nodes.push(text.slice(end, found.index), make("span", { className: "escape" }, escaped(char)));
    end = found.index + char.length;
  }
  nodes.push(text.slice(end));
  return nodes;
}

function escaped(char) {
  const short = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }[char];
  const code = char.codePointAt(0).toString(16);
  if (short) return short;
  return code.length < 3 ? "\\x" + code.padStart(2, "0") : code.length < 5 ? "\\u" + code.padStart(4, "0") : "\\U" + code.padStart(8, "0");
}

/** A phrase as nodes: strings are our own words, lists hold recorded ones. */
function told(parts) {
  return parts.map((part) => (typeof part === "string" ? part : make("q", { className: "recorded" }, ...visible(part[0]))));
}

/** A phrase as a string. */
function plain(parts) {
  return parts.map((part) => (typeof part === "string" ? part : `“${part[0]}”`)).join("");
}

/**
 * A text as nodes with its marks and with the words that changed.
 *
 * Marks are [field, start, end, side, check, says, rule, why, text], in code points; changed are [start, end] in code
 * points too. Where marks overlap, what counts is shown rather than what is cancelled.
 */
function marked(text, marks, changed, tag) {
  const points = Array.from(text);
  const edges = new Set([0, points.length]);
  for (const [, start, end] of marks) edges.add(Math.min(start, points.length)).add(Math.min(end, points.length));
  for (const [start, end] of changed) edges.add(start).add(end);
  const places = [...edges].sort((a, b) => a - b);
  const starts = marks.map((mark, place) => [mark[1], place]).sort((a, b) => a[0] - b[0]);
  const nodes = [];
  let open = [];
  let latest;
  let next = 0;
  let change = 0;
  for (let i = 0; i + 1 < places.length; i++) {
    const [start, end] = [places[i], places[i + 1]];
    open = open.filter((place) => marks[place][2] > start);
    while (next < starts.length && starts[next][0] <= start) open.push(starts[next++][1]);
    while (change < changed.length && changed[change][1] <= start) change++;
    let content = visible(points.slice(start, end).join(""), true);
    if (change < changed.length && changed[change][0] <= start) content = [make(tag, {}, ...content)];
    const shown = open.map((place) => marks[place]);
    const best = shown.find((mark) => mark[3] === "against") || shown.find((mark) => mark[3] !== "cancelled") || shown[0];
    if (best && best === latest) {
      nodes.at(-1).append(...content);
    } else if (best) {
      const title = shown.map((mark) => [mark[5], mark[6], plain(mark[7])].filter(Boolean).join(" · ")).join("\n");
      nodes.push(make("mark", { className: best[3], title }, ...content));
    } else nodes.push(...content);
    latest = best;
  }
  return nodes;
}

const MOST_CELLS = 4e6; // of the table of two texts' words: above it what stands between equal ends counts as changed

/** What differs between two texts, word by word: for each the [start, end] of changed runs in code points. */
function differences(before, after) {
  const [old, now] = [before, after].map((text) => text.match(/\s+|[^\s]+/gu) || []);
  let first = 0;
  while (first < old.length && first < now.length && old[first] === now[first]) first++;
  let last = 0;
  while (last < old.length - first && last < now.length - first && old.at(-1 - last) === now.at(-1 - last)) last++;
  const [left, right] = [old.slice(first, old.length - last), now.slice(first, now.length - last)];
  const same = common(left, right);
  return [runs(old, first, left, same[0]), runs(now, first, right, same[1])];
}

/** Which words of two lists are in their longest common subsequence. */
function common(left, right) {
  const found = [new Set(), new Set()];
  if (left.length * right.length > MOST_CELLS) return found;
  const wide = right.length + 1;
  const lengths = new Uint32Array((left.length + 1) * wide);
  for (let i = left.length - 1; i >= 0; i--)
    for (let j = right.length - 1; j >= 0; j--)
      lengths[i * wide + j] =
        left[i] === right[j] ? lengths[(i + 1) * wide + j + 1] + 1 : Math.max(lengths[(i + 1) * wide + j], lengths[i * wide + j + 1]);
  for (let i = 0, j = 0; i < left.length && j < right.length; ) {
    if (left[i] === right[j]) {
      found[0].add(i++);
      found[1].add(j++);
    } else if (lengths[(i + 1) * wide + j] >= lengths[i * wide + j + 1]) i++;
    else j++;
  }
  return found;
}

function runs(words, first, middle, same) {
  const found = [];
  let place = words.slice(0, first).reduce((sum, word) => sum + Array.from(word).length, 0);
  const isWord = (word) => /\S/u.test(word);
  middle.forEach((word, number) => {
    const start = place;
    place += Array.from(word).length;
    const isBetween = !isWord(word) && number > 0 && number + 1 < middle.length && !same.has(number - 1) && !same.has(number + 1);
    const isChanged = isBetween || (isWord(word) && !same.has(number));
    const latest = found.at(-1);
    if (isChanged && latest && latest[1] === start) latest[1] = place;
    else if (isChanged && isWord(word)) found.push([start, place]);
  });
  return found;
}
