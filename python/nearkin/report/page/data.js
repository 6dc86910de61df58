// What the file holds: a description that is read at once, and blocks that are unpacked when they are looked at.

import { at, grouped } from "./nodes.js";

const KEPT_BLOCKS = 40; // of texts, of a million characters each; others are unpacked again
const NO_DISTANCE = 65535;

export const run = JSON.parse(at("run").textContent);
export const ofFiles = run.kind === "files";
// What the run did to a pair; pages of other runs have words of their own.
export const phrases = {
  question: "Are the two the same for your purpose?",
  verdict: "removed the second for the first",
  told: "one was removed",
  listed: "removed",
  precision: "of the removed pairs, those that are the same",
  ...run.phrases,
};
export const scale = run.scale ?? (ofFiles ? 100 : 1);

const parts = new Map(); // promises of what blocks hold, by name

// Blocks come after this script in the file, so that the page is there before they are read.
const whole = new Promise((done) => (document.readyState === "loading" ? addEventListener("DOMContentLoaded", done) : done()));

// The bytes of a block; null where the file has no such block.
async function unpacked(name) {
  await whole;
  const element = at(`block-${name}`);
  if (element === null) return null;
  const binary = atob(element.textContent);
  const packed = new Uint8Array(binary.length);
  for (let place = 0; place < binary.length; place++) packed[place] = binary.charCodeAt(place);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function json(name, otherwise = null) {
  const bytes = await unpacked(name);
  return bytes === null ? otherwise : JSON.parse(new TextDecoder().decode(bytes));
}

// A part of the file, made once. The oldest texts are forgotten where many were looked at.
function once(name, make) {
  if (!parts.has(name)) {
    parts.set(name, make());
    const texts = [...parts.keys()].filter((each) => each.startsWith("texts-"));
    if (texts.length > KEPT_BLOCKS) parts.delete(texts[0]);
  }
  return parts.get(name);
}

const part = (name, otherwise) => () => once(name, () => json(name, otherwise));
export const documents = part("documents", { ids: [], text: [], length: [] });
export const clusters = part("clusters", []);
export const common = part("common", {});
export const pieces = part("pieces", {});

// Pairs as columns, little-endian as every system that runs a browser.
export const pairs = () => once("pairs", async () => {
  const { buffer } = (await unpacked("pairs")) ?? new Uint8Array(0);
  const n = Math.floor(buffer.byteLength / 15);
  return {
    left: new Uint32Array(buffer, 0, n),
    right: new Uint32Array(buffer, 4 * n, n),
    similarity: new Float32Array(buffer, 8 * n, n),
    distance: new Uint16Array(buffer, 12 * n, n),
    removed: new Uint8Array(buffer, 14 * n, n),
  };
});

// One pair: ids as they are shown and written are strings.
export async function pairOf(number) {
  const [all, { ids }] = await Promise.all([pairs(), documents()]);
  const [left, right] = [all.left[number], all.right[number]];
  return {
    number,
    left,
    right,
    ids: [String(ids[left]), String(ids[right])],
    // 32 bits hold six digits.
    similarity: Number(all.similarity[number].toFixed(6)),
    distance: all.distance[number] === NO_DISTANCE ? null : all.distance[number],
    removed: all.removed[number] === 1,
  };
}

// Numbers of pairs by the numbers of their documents, in either order.
const numbers = () => once("numbers", async () => {
  const [all, { ids }] = await Promise.all([pairs(), documents()]);
  const found = new Map();
  for (let number = all.left.length - 1; number >= 0; number--) {
    const [one, other] = [all.left[number], all.right[number]];
    found.set(Math.min(one, other) * ids.length + Math.max(one, other), number);
  }
  return found;
});

export const keyOf = (one, other) => JSON.stringify(one < other ? [one, other] : [other, one]);

// Numbers of pairs by their ids: several passages of one document have its id.
const numbersByIds = () => once("numbers by ids", async () => {
  const [all, { ids }] = await Promise.all([pairs(), documents()]);
  const found = new Map();
  for (let number = all.left.length - 1; number >= 0; number--) {
    found.set(keyOf(String(ids[all.left[number]]), String(ids[all.right[number]])), number);
  }
  return found;
});

// The number of the pair of two documents; undefined where the file has none.
export async function numberOf(one, other) {
  const [found, { ids }] = await Promise.all([numbers(), documents()]);
  return found.get(Math.min(one, other) * ids.length + Math.max(one, other));
}

export async function numberOfIds(one, other) {
  return (await numbersByIds()).get(keyOf(one, other));
}

// The text of a document: {text, why, cut}; null with the reason where the file has it not, and where it has only the
// beginning `cut` is true and `why` says so.
export async function textOf(place) {
  const { text: texts, length } = await documents();
  const number = texts[place] ?? -1;
  const block = run.firsts === undefined || number < 0 ? -1 : run.firsts.findLastIndex((first) => first <= number);
  if (block < 0) return { text: null, why: missing(length[place]) };
  const held = await once(`texts-${block}`, () => json(`texts-${block}`));
  const text = held?.[number - run.firsts[block]] ?? null;
  if (text === null) return { text, why: missing(length[place]) };
  const signs = run.text_cut > 0 && text.length >= run.text_cut ? [...text].length : 0;
  const cut = signs > 0 && signs >= run.text_cut && length[place] > signs;
  return { text, cut, why: cut ? `only its first ${grouped(run.text_cut)} characters are here.` : "" };
}

function missing(length) {
  if (!ofFiles) return "its text is not in this report, which holds those of some pairs.";
  return length < 0 ? "this file was not read again." : "no text of it is in this report.";
}

// Cut, not rounded: what is below a threshold of 0.8 is not told as 0.800.
export function told(similarity) {
  if (similarity === null || similarity === undefined) return "–";
  return scale === 1 ? (Math.floor(similarity * 1000 + 1e-3) / 1000).toFixed(3) : String(Math.round(similarity));
}

export const distanceTold = (distance) =>
  distance === null || distance === undefined ? "–" : `${distance}${run.distance ? ` ${run.distance}` : ""}`;

// Why there is nothing to judge. Without near misses recall is not known.
export const hasMisses = run.strata.some(({ removed }) => !removed);
export const NOTHING = `There are no pairs to judge: the run removed no document by a similarity that it computed, and this file has no near misses. ${run.near_misses ?? ""}`;

// Whether a word is in one of the texts, whatever its case.
export const holds = (word, ...texts) => texts.some((text) => String(text).toLowerCase().includes(word.toLowerCase()));
