// One pair: what is known of it, its differences, what both have in common, and the buttons that judge it.

import { common, distanceTold, documents, numberOf, ofFiles, pairOf, pieces, run, scale, textOf, told, phrases } from "./data.js";
import { count } from "./differences.js";
import { answerOf, decide } from "./judging.js";
import { around, button, escaped, grouped, having, idNode, node, shape, visible } from "./nodes.js";
import { drawDifferences } from "./sides.js";

const MOST_FEATURES = 12;
const wide = matchMedia("(min-width: 56rem)");
const look = { unit: "words", sides: wide.matches, brief: false, spaces: false };
const shown = { redraw: null, asked: 0, pair: null, judged: null };

export const SAID = { same: "the same", worse: "the same, and the kept one is worse", different: "different", unsure: "unsure" };

// Shows a pair, {number} or of two documents {left, right}, in a box. With `blind` nothing is shown that the run thought
// of it. `judged` is called with the pair and the answer. `none` is told where `wanted` is null.
export async function showPair(box, wanted, judged, blind = false, none = "There is no such pair.") {
  const asked = ++shown.asked;
  shown.pair = null;
  box.ariaBusy = wanted !== null;
  if (wanted === null) {
    box.replaceChildren(node("p", none, "quiet"));
    return;
  }
  const number = wanted.number ?? (await numberOf(wanted.left, wanted.right));
  const pair = number === undefined ? await unlisted(wanted) : await pairOf(number);
  const [texts, sides, shared, ranges] = await Promise.all([
    Promise.all([textOf(pair.left), textOf(pair.right)]), documents(), common(), ofFiles ? pieces() : {},
  ]);
  // Another pair was asked for in the meantime.
  if (asked !== shown.asked) return;
  const difference = node("div", "", "differences");
  const parts = [
    facts(pair, sides, blind),
    ...(ofFiles && ranges[pair.number] ? [strip(ranges[pair.number], pair, sides.length)] : []),
    ...differenceTools(difference, texts),
    difference,
    ...(shared[pair.number] && !blind ? [features(shared[pair.number])] : []),
    answers(pair),
  ];
  const held = box.contains(document.activeElement) ? document.activeElement.className : "";
  box.replaceChildren(...parts);
  if (held.startsWith("answer")) box.getElementsByClassName(held)[0].focus();
  Object.assign(shown, { pair, judged });
  box.ariaBusy = false;
  shown.redraw?.();
}

// The thumbnail of an image, or a link to it, which the page never follows by itself; null for a document without one.
export function imageNode(value) {
  if (value?.startsWith("data:image/")) return having(node("img", "", "thumb"), { src: value, alt: "" });
  if (!/^https?:\/\//i.test(value ?? "")) return null;
  return having(node("a", visible(value, 80), "small"), { href: value, rel: "noreferrer noopener", target: "_blank" });
}

// Two documents of a cluster that the file lists as no pair, such as exact copies.
async function unlisted({ left, right }) {
  const { ids } = await documents();
  return { number: null, left, right, ids: [String(ids[left]), String(ids[right])], similarity: null, distance: null, removed: null };
}

function facts(pair, sides, blind) {
  const list = node("dl", "", "facts");
  const add = (name, ...values) => list.append(around("div", "", node("dt", name), around("dd", "", ...values)));
  for (const [place, end] of [[pair.left, "first"], [pair.right, "second"]]) {
    const about = [
      ...(sides.length[place] >= 0 ? [count(sides.length[place], ofFiles ? "byte" : "character")] : []),
      ...(sides.type?.[place] ? [sides.type[place]] : []),
    ].join(", ");
    const image = imageNode(sides.image?.[place]);
    add(end, idNode(sides.ids[place]), node("span", about ? ` ${visible(about)}` : "", "quiet small"), ...(image ? [node("br"), image] : []));
  }
  if (blind) return list;
  if (pair.similarity !== null) add(run.measure, node("strong", told(pair.similarity)), scale === 1 ? "" : ` of ${scale}`);
  if (pair.distance !== null && run.distance) add("distance", distanceTold(pair.distance));
  if (pair.removed !== null) add("the run", pair.removed ? phrases.verdict : "kept both: below the threshold");
  if (sides.digest?.[pair.left]) add("digests", node("code", sides.digest[pair.left]), node("br"), node("code", sides.digest[pair.right]));
  return list;
}

// Differences: by words or characters, side by side or in one, all or only what differs.
function differenceTools(box, texts) {
  const notes = texts.map(({ why }, place) => why && node("p", `${["First", "Second"][place]}: ${why}`, "small quiet")).filter(Boolean);
  if (texts.some(({ text }) => text === null)) {
    shown.redraw = null;
    for (const { text } of texts) if (text !== null) box.append(having(around("div", "diff", escaped(text)), { dir: "auto" }));
    return notes;
  }
  const white = tick("white space", () => look.spaces, (value) => (look.spaces = value));
  const tools = around("div", "tools",
    choice("Differences by", [["words", "words"], ["characters", "characters"]], () => look.unit, (value) => (look.unit = value)),
    tick("side by side", () => look.sides, (value) => (look.sides = value)),
    tick("differences only", () => look.brief, (value) => (look.brief = value)),
    white,
  );
  shown.redraw = () => {
    for (const input of tools.querySelectorAll("input, select")) input.dispatchEvent(new Event("look"));
    white.hidden = look.unit !== "words";
    drawDifferences(box, texts.map(({ text }) => text), texts.map(({ cut }) => cut), ["the first", "the second"], look);
  };
  return [tools, ...notes];
}

function tick(words, get, set) {
  const input = having(node("input"), { type: "checkbox" });
  input.addEventListener("look", () => (input.checked = get()));
  input.addEventListener("change", () => {
    set(input.checked);
    shown.redraw?.();
  });
  return around("label", "tick", input, words);
}

export function choice(words, options, get, set) {
  const select = around("select", "", ...options.map(([value, text]) => new Option(text, value)));
  select.value = get();
  select.addEventListener("look", () => (select.value = get()));
  // Who chooses by mouse goes on by keys of the page; who chooses by keys stays.
  let byMouse = false;
  select.addEventListener("pointerdown", () => (byMouse = true));
  select.addEventListener("keydown", ({ key }) => {
    byMouse = false;
    if (key === "Escape") select.blur();
  });
  select.addEventListener("change", () => {
    set(select.value);
    shown.redraw?.();
    if (byMouse) select.blur();
  });
  return around("label", "choice", `${words} `, select);
}

// The key d.
export function turnBrief() {
  look.brief = !look.brief;
  shown.redraw?.();
  return look.brief ? "Differences only" : "All of both texts";
}

function features({ both, left, right, some_both, some_left, some_right }) {
  const all = [["In both", both, some_both], ["Only in the first", left, some_left], ["Only in the second", right, some_right]];
  const lines = all.map(([where, number, some]) => {
    const examples = (some ?? []).slice(0, MOST_FEATURES);
    const rest = number - examples.length;
    const chips = examples.flatMap((feature) => [node("bdi", visible(feature, 80), "chip"), " "]);
    return around("p", "", `${where}: `, ...chips, number === 0 ? "none" : rest > 0 ? `and ${grouped(rest)} more` : "");
  });
  const words = `Features: ${both} in common, ${left} only in the first, ${right} only in the second`;
  return around("details", "features", node("summary", words), ...lines);
}

// Where the bytes of two files agree: both as bars, what agrees joined by bands; the same as a table.
function strip(ranges, pair, lengths) {
  const sizes = [lengths[pair.left], lengths[pair.right]];
  const width = (place, side) => ((1000 * place) / Math.max(sizes[side], 1)).toFixed(2);
  const picture = shape("svg", { viewBox: "0 0 1000 100", preserveAspectRatio: "none", class: "strip", "aria-hidden": "true" });
  picture.append(shape("rect", { class: "bytes", width: 1000, height: 22 }), shape("rect", { class: "bytes", y: 78, width: 1000, height: 22 }));
  const equal = ranges.map(([from, to, start, end]) => [[width(from, 0), width(to, 0)], [width(start, 1), width(end, 1)]]);
  for (const [[a, b], [c, d]] of equal) {
    const bars = [["joins", `${a},22 ${b},22 ${d},78 ${c},78`], ["agrees", `${a},0 ${b},0 ${b},22 ${a},22`], ["agrees", `${c},78 ${d},78 ${d},100 ${c},100`]];
    picture.append(...bars.map(([kind, points]) => shape("polygon", { class: kind, points })));
  }
  const agreeing = ranges.reduce((sum, [from, to]) => sum + to - from, 0);
  const share = ((100 * agreeing) / Math.max(sizes[0], 1)).toFixed(0);
  const words = ranges.length === 0 ? "No piece of one file is in the other." : `${count(ranges.length, "range")} of bytes ${ranges.length === 1 ? "agrees" : "agree"}: ${count(agreeing, "byte")}, ${share}% of the first file.`;
  return around("figure", "pieces", node("figcaption", words, "small"), picture, ...(ranges.length > 0 ? [rangeTable(ranges)] : []));
}

function rangeTable(ranges) {
  const rows = ranges.map((range) => [...range.map((place) => grouped(place)), grouped(range[1] - range[0])]);
  const name = "Byte ranges that agree";
  return around("details", "", node("summary", name), tableOf(["first from", "to", "second from", "to", "bytes"], rows, name));
}

// A table of texts and nodes that scrolls in its frame; `kinds` are classes of the columns.
export function tableOf(columns, rows, name, kinds = columns.map(() => "number")) {
  const head = columns.map((column, place) => having(node("th", column, kinds[place]), { scope: "col" }));
  const lines = rows.map((row) => around("tr", "", ...row.map((value, place) => around("td", kinds[place], value))));
  const body = around("tbody", "", ...lines);
  const made = around("table", "", node("caption", name, "hidden"), around("thead", "", around("tr", "", ...head)), body);
  return having(around("div", "scroll", made), { tabIndex: 0, role: "region", ariaLabel: name });
}

// Which copy was kept is asked when a pair has been judged the same: a pair is blind before.
const ofKept = (pair) => pair.removed && run.kind !== "hits" && ["same", "worse"].includes(answerOf(...pair.ids));

// Same, different, unsure, that the kept one is the worse copy, and taking it back.
function answers(pair) {
  const now = answerOf(...pair.ids);
  const worse = ofKept(pair) ? [["worse", "The kept one is worse", "w"]] : [];
  const buttons = [["same", "Same", "y"], ["different", "Different", "n"], ["unsure", "Unsure", "u"], ...worse].map(([answer, words, key]) => {
    const made = button(words, () => judge(answer), `answer ${answer}`);
    made.append(" ", node("kbd", key));
    return having(made, { ariaPressed: String(now === answer), ariaKeyShortcuts: key });
  });
  const back = now === null ? [] : [button("Take back", () => judge(null), "plain")];
  return having(around("div", "answers", ...buttons, ...back), { role: "group", ariaLabel: "Your judgement of this pair" });
}

// Judges the pair that is shown, once: until the next is shown there is none.
export function judge(answer) {
  const { pair, judged } = shown;
  if (pair === null || (answer === "worse" && !ofKept(pair))) return;
  shown.pair = null;
  decide(pair.ids, answer);
  judged(pair, answer);
}
