// Differences of two texts by words, or by characters in scripts without spaces between words.
//
// Myers, An O(ND) Difference Algorithm and Its Variations (1986): the fewest tokens that one text has and the other has
// not. With n and m tokens and d differences it takes O((n + m) d) time and O(d^2) memory, after what both begin and end
// with is set aside; d is bounded. Beyond the bounds lines are compared, and beyond those the middle is one difference.

import { around, button, grouped, having, node } from "./nodes.js";

const MOST_TOKENS = 120_000; // of both texts
const MOST_DIFFERENCES = 2_000; // 2,000^2 numbers of 4 bytes: 16 MB
const LONG_SAME = 240; // characters; a longer stretch that is equal is folded
const SAME_EDGE = 90; // characters that are left of it beside a difference
const LONG_CHANGE = 3_000;
const CHANGE_EDGE = 1_000;

const SPACELESS = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}";
const TOKEN = new RegExp(`[${SPACELESS}]\\p{M}*|(?:(?![${SPACELESS}])[\\p{L}\\p{N}\\p{M}_])+|\\n|[^\\S\\n]+|.`, "gsu");
const SPACES_AS_ONE = new RegExp(TOKEN.source.replace("\\n|[^\\S\\n]+", "\\s+"), "gsu");
const CHARACTER = /\P{M}\p{M}*|\p{M}/gsu;
const LINE = /[^\n]*\n|[^\n]+/g;
const WORDY = /[\p{L}\p{N}]/u;

// Numbers that stand for tokens: equal tokens have equal numbers; where spaces do not count, so have any of them.
function numbered(tokens, numbers, spaces) {
  return Int32Array.from(tokens, (whole) => {
    const token = spaces ? whole : whole.replace(/\s+/g, " ");
    let number = numbers.get(token);
    if (number === undefined) numbers.set(token, (number = numbers.size));
    return number;
  });
}

// Which tokens of a and of b are in no longest common subsequence, as two arrays of 0 and 1; null beyond `most`.
export function changed(a, b, most = MOST_DIFFERENCES) {
  const onlyA = new Uint8Array(a.length);
  const onlyB = new Uint8Array(b.length);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let endA = a.length;
  let endB = b.length;
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) {
    endA--;
    endB--;
  }
  const trace = forward(a.subarray(start, endA), b.subarray(start, endB), most);
  if (trace === null) return null;
  backward(trace, endA - start, endB - start, onlyA.subarray(start), onlyB.subarray(start));
  return [onlyA, onlyB];
}

// For each d the furthest x on the diagonals k = x - y from -d to d, until the ends of both are reached.
function forward(a, b, most) {
  const last = Math.min(most, a.length + b.length);
  const middle = last + 1;
  const reach = new Int32Array(2 * last + 3);
  const trace = [];
  for (let d = 0; d <= last; d++) {
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && reach[middle + k - 1] < reach[middle + k + 1]);
      let x = down ? reach[middle + k + 1] : reach[middle + k - 1] + 1;
      let y = x - k;
      while (x < a.length && y < b.length && a[x] === b[y]) {
        x++;
        y++;
      }
      reach[middle + k] = x;
      if (x >= a.length && y >= b.length) return trace;
    }
    trace.push(reach.slice(middle - d, middle + d + 1));
  }
  return null;
}

function backward(trace, x, y, onlyA, onlyB) {
  for (let d = trace.length; d > 0; d--) {
    const before = trace[d - 1];
    const k = x - y;
    const at = (diagonal) => before[diagonal + d - 1];
    const down = k === -d || (k !== d && at(k - 1) < at(k + 1));
    const diagonal = down ? k + 1 : k - 1;
    x = at(diagonal);
    y = x - diagonal;
    if (down) onlyB[y] = 1;
    else onlyA[x] = 1;
  }
}

// Runs of tokens: {same} and {gone, come}, where `gone` is only in the first text and `come` only in the second. Where
// spaces do not count, what is the same has other spaces in the second text: `own`.
function runs(a, b, onlyA, onlyB, spaces) {
  const found = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const [fromA, fromB] = [i, j];
    while (onlyA[i]) i++;
    while (onlyB[j]) j++;
    if (i > fromA || j > fromB) found.push({ gone: a.slice(fromA, i), come: b.slice(fromB, j) });
    const from = [i, j];
    while (i < a.length && !onlyA[i] && !onlyB[j]) {
      i++;
      j++;
    }
    if (i > from[0]) found.push({ same: a.slice(from[0], i), own: b.slice(from[1], j) });
  }
  for (const place of found.keys()) moved(found, place);
  const texts = found.map((run) => Object.entries(run).map(([name, tokens]) => [name, tokens.join("")]));
  return texts.map(Object.fromEntries).map((run) => {
    const { same, own, gone, come } = run;
    if (same === undefined) return spaces || (gone + come).trim() !== "" ? run : { same: gone, own: come };
    return same === own ? { same } : run;
  }).filter((run) => run.same !== "" || run.own);
}

// "x. [New.] y" rather than "x[. New]. y": what is in one text alone begins as late as it can.
function moved(found, place) {
  const [before, run, after] = [found[place - 1], found[place], found[place + 1]];
  if (run.same || !before?.same || !after || (run.gone.length > 0 && run.come.length > 0)) return;
  const name = run.gone.length > 0 ? "gone" : "come";
  const tokens = run[name];
  const most = after.same.length - (place + 2 < found.length ? 1 : 0);
  let steps = 0;
  while (steps < most && [after.same, after.own].every((side) => side[steps] === tokens[steps % tokens.length])) steps++;
  const turn = steps % tokens.length;
  run[name] = [...tokens.slice(turn), ...tokens.slice(0, turn)];
  for (const side of ["same", "own"]) {
    before[side] = before[side].concat(after[side].slice(0, steps));
    after[side] = after[side].slice(steps);
  }
}

// A space or a comma between two differences belongs to them: one difference is easier to read than three.
function joined(found) {
  const result = [];
  for (const [place, run] of found.entries()) {
    const last = result.at(-1);
    const next = found[place + 1];
    const short = run.same !== undefined && run.same.length <= 3 && !WORDY.test(run.same) && !run.same.includes("\n");
    if (short && last && last.same === undefined && next && next.same === undefined) {
      last.gone += run.same;
      last.come += run.own ?? run.same;
    } else if (run.same === undefined && last && last.same === undefined) {
      last.gone += run.gone;
      last.come += run.come;
    } else {
      result.push({ ...run });
    }
  }
  return result;
}

// The differences of two texts: their runs, and by what they were compared: `unit`, "lines" or "nothing". White space
// may count or not.
export function differences(stored, yours, unit = "words", spaces = true) {
  const wanted = unit === "characters" ? CHARACTER : spaces ? TOKEN : SPACES_AS_ONE;
  for (const [by, pattern] of [[unit, wanted], ["lines", LINE]]) {
    if (by !== "lines" && stored.length + yours.length > 8 * MOST_TOKENS) continue;
    const [a, b] = [stored.match(pattern) ?? [], yours.match(pattern) ?? []];
    if (a.length + b.length > MOST_TOKENS) continue;
    const numbers = new Map();
    const marks = changed(numbered(a, numbers, spaces), numbered(b, numbers, spaces));
    if (marks !== null) return { by, runs: joined(runs(a, b, ...marks, spaces)) };
  }
  let start = 0;
  while (start < stored.length && stored[start] === yours[start]) start++;
  start = boundary(stored, start, -1);
  let end = 0;
  const most = Math.min(stored.length, yours.length) - start;
  while (end < most && stored[stored.length - 1 - end] === yours[yours.length - 1 - end]) end++;
  const [endStored, endYours] = [boundary(stored, stored.length - end, 1), boundary(yours, yours.length - end, 1)];
  const middle = { gone: stored.slice(start, endStored), come: yours.slice(start, endYours) };
  const found = [{ same: stored.slice(0, start) }, middle, { same: stored.slice(endStored) }];
  return { by: "nothing", runs: found.filter((run) => run.same !== "") };
}

// The nearest place in a direction that does not part the two halves of a character.
export function boundary(text, place, direction) {
  const low = text.charCodeAt(place);
  const high = text.charCodeAt(place - 1);
  return low >= 0xdc00 && low <= 0xdfff && high >= 0xd800 && high <= 0xdbff ? place + direction : place;
}

// A place near this one where a word ends, so that what is left of a folded text has whole words.
function wordEnd(text, place, direction) {
  for (let step = 0; step <= 24; step++) {
    if (/\s/.test(text[place + direction * step] ?? " ")) return place + direction * step;
  }
  return boundary(text, place, direction);
}

function words(texts) {
  const units = new RegExp(`[${SPACELESS}]|(?:(?![${SPACELESS}])[\\p{L}\\p{N}\\p{M}_])+`, "gu");
  return texts.reduce((sum, text) => sum + (text.match(units)?.length ?? 0), 0);
}

export const count = (number, noun) => `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`;

// One sentence on the differences, for everybody and for those who hear the page.
export function summary({ by, runs: found }, [one, other] = ["the stored document", "yours"]) {
  const changes = found.filter((run) => run.same === undefined);
  if (changes.length === 0) return found.some((run) => run.own !== undefined) ? "The same text, but for white space." : "The same text, character by character.";
  const [gone, come] = [words(changes.map((run) => run.gone)), words(changes.map((run) => run.come))];
  const places = `${count(changes.length, "place")} ${changes.length === 1 ? "differs" : "differ"}`;
  const sides = `${count(gone, "word")} only in ${one}, ${count(come, "word")} only in ${other}.`;
  const how = {
    lines: " The texts are long or unlike, so whole lines are marked.",
    nothing: " The texts are too unlike to be compared word by word: all between their common ends is marked.",
  };
  return `${places}: ${sides}${how[by] ?? ""}`;
}

const plain = (text) => text;

// The runs as nodes. Texts become text nodes alone, whatever they hold, unless `as` makes other nodes of them.
export function drawn({ runs: found }, long = LONG_SAME, edge = SAME_EDGE, as = plain) {
  const box = having(node("div", "", "diff"), { dir: "auto" });
  for (const [place, run] of found.entries()) {
    if (run.same !== undefined) {
      const last = place === found.length - 1;
      const edges = [place > 0 || last ? edge : 0, last ? 0 : edge];
      box.append(folded(run.same, long, ...edges, "the same", as));
      continue;
    }
    for (const [name, text] of [["del", run.gone], ["ins", run.come]]) {
      if (text !== "") box.append(marked(name, text, as));
    }
  }
  return box;
}

// A difference: `del` or `ins`. Spaces alone would be a bare patch of colour.
export function marked(name, text, as = plain) {
  const kind = text.trim() !== "" ? "" : text.includes("\n") ? "line-end" : "blank";
  return around(name, kind, folded(text, LONG_CHANGE, CHANGE_EDGE, CHANGE_EDGE, "more", as));
}

// A text whose middle is a button where it is long; the button puts the middle in its own place.
export function folded(text, long, head, tail, what, as = plain) {
  const piece = document.createDocumentFragment();
  piece.append(as(text));
  if (text.length <= long) return piece;
  const from = head === 0 ? 0 : wordEnd(text, head, 1);
  const to = tail === 0 ? text.length : wordEnd(text, text.length - tail, -1);
  const opener = button(`… ${count(to - from, "character")} ${what} …`, () => {
    const whole = having(around("span", "", as(text.slice(from, to))), { tabIndex: -1 });
    opener.replaceWith(whole);
    whole.focus();
  }, "fold");
  piece.replaceChildren(as(text.slice(0, from)), opener, as(text.slice(to)));
  return piece;
}
