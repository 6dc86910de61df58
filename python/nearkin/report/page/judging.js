// What a person judged. It is kept in the browser under the key of the run, and survives a reload.
//
// A decision is of two ids, in either order, so that it holds in every report of the run.

import { keyOf, numberOfIds, run } from "./data.js";

const PLACE = `nearkin-report-${run.key}`;
const MOST_UNDONE = 500;
export const ANSWERS = ["same", "worse", "different", "unsure"];

const state = { decisions: new Map(), before: [], kept: true, watch: () => {} };

export const keptHere = () => state.kept;
export const decided = () => [...state.decisions.values()];
export const answerOf = (one, other) => state.decisions.get(keyOf(one, other))?.answer ?? null;

// "2 same, 1 different, 0 unsure", and how many are the same with the worse kept, if any.
export function countsOf(answers) {
  const counts = ANSWERS.map((each) => [answers.filter((answer) => answer === each).length, each === "worse" ? "worse kept" : each]);
  return counts.filter(([number], place) => number > 0 || ANSWERS[place] !== "worse").map((each) => each.join(" ")).join(", ");
}

// Calls `watch` after every change.
export function watchDecisions(watch) {
  state.watch = watch;
}

function spread(keep = true) {
  if (keep) keepAll();
  state.watch();
}

function keepAll() {
  const rows = decided().map(({ ids, answer }) => [...ids, answer]);
  try {
    localStorage.setItem(PLACE, JSON.stringify(rows));
    state.kept = true;
  } catch {
    state.kept = false;
  }
}

// Reads what was kept. What is no decision is left out.
function readAll() {
  let rows = [];
  try {
    rows = JSON.parse(localStorage.getItem(PLACE) ?? "[]");
  } catch {
    state.kept = false;
  }
  state.decisions.clear();
  for (const [one, other, answer] of Array.isArray(rows) ? rows.filter(Array.isArray) : []) {
    if (ANSWERS.includes(answer)) put(String(one), String(other), answer);
  }
}

function put(one, other, answer) {
  const key = keyOf(one, other);
  state.decisions.delete(key);
  if (answer !== null) state.decisions.set(key, { ids: [one, other], answer });
}

export function startJudging() {
  try {
    localStorage.setItem(`${PLACE}-test`, "1");
    localStorage.removeItem(`${PLACE}-test`);
  } catch {
    state.kept = false;
  }
  readAll();
  // Another tab of the same report.
  addEventListener("storage", (event) => {
    if (event.key !== PLACE) return;
    readAll();
    spread(false);
  });
  addEventListener("beforeunload", (event) => {
    if (!state.kept && state.decisions.size > 0) event.preventDefault();
  });
}

// Decides on a pair of ids; null takes a decision back.
export function decide(ids, answer) {
  const before = answerOf(...ids);
  state.before.push({ ids, answer: before });
  state.before.splice(0, state.before.length - MOST_UNDONE);
  put(...ids, answer);
  spread();
}

// Takes the last decision back; its ids, or null.
export function undo() {
  const last = state.before.pop();
  if (last === undefined) return null;
  put(...last.ids, last.answer);
  spread();
  return last.ids;
}

// Takes decisions of a file: {ids, answer}. Returns those that say otherwise than what was decided here, and of how many
// pairs the file says two things: nothing is taken of these.
export function take(rows) {
  const [told, twice, conflicts] = [new Map(), new Set(), []];
  for (const { ids, answer } of rows) {
    const key = keyOf(...ids);
    if ((told.get(key)?.answer ?? answer) !== answer) twice.add(key);
    told.set(key, { ids, answer });
  }
  for (const [key, { ids, answer }] of told) {
    const mine = answerOf(...ids);
    if (twice.has(key)) continue;
    if (mine === null) put(...ids, answer);
    else if (mine !== answer) conflicts.push({ ids, mine, theirs: answer });
  }
  spread();
  return { conflicts, twice: twice.size };
}

export function settle(rows) {
  for (const { ids, answer } of rows) put(...ids, answer);
  spread();
}

// Decisions with the numbers of their pairs; those of pairs that this file has not are apart.
export async function placed() {
  const found = { here: [], elsewhere: [] };
  for (const decision of decided()) {
    const number = await numberOfIds(...decision.ids);
    if (number === undefined) found.elsewhere.push(decision);
    else found.here.push({ ...decision, number });
  }
  return found;
}
