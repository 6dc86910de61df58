// The queue of pairs to judge, drawn from both sides of the threshold. What the run thought of a pair is shown when it
// has been judged.

import { NOTHING, documents, holds, pairOf, run, textOf, told, phrases } from "./data.js";
import { count } from "./differences.js";
import { answerOf, countsOf, keptHere, undo, watchDecisions } from "./judging.js";
import { field } from "./lists.js";
import { around, button, having, node, stepButtons } from "./nodes.js";
import { SAID, choice, judge, showPair } from "./pair.js";

const NOT_KEPT = "This browser keeps nothing for this file: export what you judge before you close it.";
const review = { box: null, list: [...run.queue.keys()], at: 0, kept: 0, filter: "all", word: "", answers: [] };
const FILTERS = [
  ["all", "all pairs"], ["open", "not judged yet"], ["same", "same"], ["kept", "is the kept one worse?"], ["worse", "the kept one is worse"], ["different", "different"], ["unsure", "unsure"],
  ["against", "judged against the run"],
];

export async function showReview(box, speak) {
  const first = review.box === null;
  if (first) build(box, speak);
  review.answers = await Promise.all(run.queue.map(async ([number]) => (await pairOf(number)).ids));
  if (first) await goTo(Math.max(review.list.findIndex(open), 0));
  else await show();
}

// Goes to a place of the list; it is kept when the list changes.
function goTo(at) {
  Object.assign(review, { at, kept: review.list[at] });
  return show();
}

const answerAt = (place) => answerOf(...review.answers[place]);
const open = (place) => answerAt(place) === null;

function build(box, speak) {
  const filter = choice("Queue", FILTERS, () => review.filter, (value) => fill({ filter: value }));
  const word = field("Filter by words or ids", (value) => fill({ word: value }));
  const meter = having(node("progress"), { ariaLabel: "Pairs judged" });
  const intro = node("p", `${phrases.question} What the run decided is shown when you have judged.`);
  const [words, last, pair, place] = [node("p", "", "small"), node("span", "", "last small"), node("div", "", "pair"), node("span", "", "quiet small")];
  const steps = around("div", "tools", ...stepButtons(step), place, last);
  const card = around("div", "card", intro, meter, words, around("div", "tools", filter, word), steps, pair);
  box.lastChild.append(...(keptHere() ? [] : [node("p", NOT_KEPT, "notice")]), card);
  Object.assign(review, { box: pair, place, last, meter, words, speak });
  watchDecisions(progress);
}

function progress() {
  const own = review.answers.map((ids) => answerOf(...ids));
  const judged = own.filter((answer) => answer !== null).length;
  having(review.meter, { max: Math.max(own.length, 1), value: judged });
  review.words.textContent = `${judged} of ${own.length} judged: ${countsOf(own)}. ${keptHere() ? "Kept in this browser." : NOT_KEPT}`;
}

// The places of the queue that the filters leave. The last pair that was gone to stays, if it is one of them.
async function fill(wanted) {
  const { filter, word } = Object.assign(review, wanted);
  const texts = word === "" ? null : await placesWith(word);
  const found = [];
  for (const [place, [number]] of run.queue.entries()) {
    const [answer, pair] = [answerAt(place), await pairOf(number)];
    const against = (answer === "same" && !pair.removed) || (answer === "different" && pair.removed);
    const passes = filter === "all" || filter === (answer ?? "open") || (filter === "against" && against) || (filter === "kept" && answer === "same" && pair.removed);
    if (passes && (texts === null || texts.has(pair.left) || texts.has(pair.right))) found.push(place);
  }
  // Another list was asked for in the meantime.
  if (filter !== review.filter || word !== review.word) return;
  review.last.replaceChildren();
  Object.assign(review, { list: found, at: Math.max(found.indexOf(review.kept), 0) });
  await show();
}

// Documents of the queue that hold a word, in the order of their texts so that each block is unpacked once.
async function placesWith(word) {
  const { ids, text } = await documents();
  const all = await Promise.all(run.queue.map(([number]) => pairOf(number)));
  const places = [...new Set(all.flatMap(({ left, right }) => [left, right]))].sort((a, b) => text[a] - text[b]);
  const found = new Set();
  for (const place of places) if (holds(word, ids[place], (await textOf(place)).text ?? "")) found.add(place);
  return found;
}

async function show() {
  const place = review.list[review.at];
  progress();
  const some = place !== undefined;
  review.place.textContent = some ? `Pair ${review.at + 1} of ${review.list.length}` : "";
  const none = run.queue.length === 0 ? NOTHING : "No pair of the queue passes the filter.";
  await showPair(review.box, some ? { number: run.queue[place][0] } : null, judged, some && open(place), none);
  if (review.box.getBoundingClientRect().top < 0) review.box.scrollIntoView();
}

// Tells what the run thought, and goes on to the next pair that is not judged.
function judged(pair, answer) {
  if (answer === null) {
    void show();
    return;
  }
  const thought = `${run.measure} ${told(pair.similarity)}, ${pair.removed ? phrases.told : "both were kept"}`;
  review.last.replaceChildren(`Pair ${review.at + 1}: you said ${SAID[answer]}. The run: ${thought}. `, button("Undo", () => goBack(), "plain"));
  review.speak(review.last.firstChild.textContent);
  const after = [...review.list.keys()].map((step) => (review.at + 1 + step) % review.list.length);
  const next = review.filter === "kept" ? after[0] : after.find((at) => open(review.list[at]));
  if (next === undefined) review.last.prepend(`All of this queue is judged: ${count(review.list.length, "pair")}. `);
  void goTo(next ?? review.at);
}

async function step(by) {
  review.last.replaceChildren();
  await goTo(Math.min(Math.max(review.at + by, 0), Math.max(review.list.length - 1, 0)));
}

async function goBack() {
  const ids = undo();
  if (ids === null) return;
  review.last.textContent = "Taken back.";
  const place = review.answers.findIndex((each) => each.join("\n") === ids.join("\n"));
  await goTo(review.list.includes(place) ? review.list.indexOf(place) : review.at);
}

export const reviewActions = {
  next: () => step(1),
  previous: () => step(-1),
  judge,
  undo: goBack,
};

export const queuePlaces = () => new Map(run.queue.map(([number, stratum, weight]) => [number, { stratum, drawn: weight }]));
