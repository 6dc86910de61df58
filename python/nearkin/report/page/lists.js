// Lists to browse, in pages so that long ones stay quick: clusters, the border, all pairs.

import { NOTHING, clusters, distanceTold, documents, holds, numberOf, pairOf, pairs, run, textOf, told, phrases } from "./data.js";
import { answerOf } from "./judging.js";
import { around, grouped, having, idNode, node, stepButtons, visible } from "./nodes.js";
import { SAID, choice, imageNode, tableOf } from "./pair.js";

const PAGE = 25;
const BEGINNING = 90; // characters of a text

// The list that a pair was chosen from: j and k walk along it.
export const walk = { title: "", back: "", items: [] };

export function field(words, act) {
  const input = having(node("input"), { type: "search" });
  input.addEventListener("input", () => act(input.value.trim()));
  input.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape" && key !== "Enter") return;
    input.blur();
    if (key === "Enter" || input.value === "") return;
    input.value = "";
    act("");
  });
  return around("label", "choice", `${words} `, input);
}

function linkTo(words, name, hash, own) {
  const link = having(node("a", words), { href: hash, ariaLabel: `${words}: ${name}` });
  if (own) link.addEventListener("click", () => Object.assign(walk, own));
  return link;
}

// An id with the beginning of its text, which comes when it is unpacked.
function documentNode(id, place) {
  const beginning = having(node("div", "", "begin quiet small"), { dir: "auto" });
  textOf(place).then(({ text }) => (beginning.textContent = visible((text ?? "").slice(0, 400).trim().replace(/\s+/g, " "), BEGINNING)));
  const made = around("div", "doc", idNode(id), beginning);
  documents().then(({ image }) => made.append(...[imageNode(image?.[place])].filter(Boolean)));
  return made;
}

// Rows in pages: `draw` makes a table of some of them. `none` is told where there are none.
export async function paged(box, rows, draw, what, none = `No ${what}.`) {
  let first = 0;
  const [frame, words] = [node("div"), having(node("span", "", "small quiet"), { role: "status" })];
  const show = async () => {
    frame.replaceChildren(await draw(rows.slice(first, first + PAGE), first));
    const last = Math.min(rows.length, first + PAGE);
    words.textContent = `${grouped(first + 1)} to ${grouped(last)} of ${grouped(rows.length)} ${what}`;
    [back.disabled, on.disabled] = [first === 0, last === rows.length];
  };
  const [back, on] = stepButtons((by) => {
    first += by * PAGE;
    return show();
  });
  if (rows.length === 0) box.replaceChildren(node("p", none, "quiet"));
  else {
    await show();
    box.replaceChildren(frame, ...(rows.length > PAGE ? [around("div", "pager", back, on, words)] : []));
  }
}

// Pairs by their numbers. Each leads to the pair, and from there along the list.
export async function pairList(box, numbers, title, what = "pairs", none = undefined) {
  const own = { title, back: location.hash, items: [...numbers].map((number) => `#pair=${number}`) };
  await paged(box, numbers, async (some) => {
    const found = await Promise.all([...some].map(pairOf));
    const rows = found.map((pair) => {
      const link = linkTo(told(pair.similarity), `compare ${pair.ids.map((id) => visible(id)).join(" with ")}`, `#pair=${pair.number}`, own);
      const mine = answerOf(...pair.ids);
      const ends = [documentNode(pair.ids[0], pair.left), documentNode(pair.ids[1], pair.right)];
      return [link, ...ends, pair.removed ? phrases.listed : "kept both", mine ? SAID[mine] : "–"];
    });
    return tableOf([run.measure, "first", "second", "the run", "you"], rows, title, ["number", "words", "words", "short", "short"]);
  }, what, none);
}

// Clusters

export async function showClusters(box, chosen) {
  const [all, { ids }] = await Promise.all([clusters(), documents()]);
  if (box.list === undefined) {
    const rows = node("div");
    const fill = (word) => paged(rows, wantedClusters(all, ids, word), (some) => clusterTable(some, all, ids), "clusters");
    const words = "A document that stays, and those that were removed for it. The largest first.";
    const tools = around("div", "tools", field("Filter by id", fill));
    box.one = node("div", "", "card one");
    box.append(around("div", "split", around("div", "card", node("p", words, "small quiet"), tools, rows), box.one));
    box.list = fill("");
  }
  await box.list;
  await showCluster(box.one, all[chosen], chosen, ids);
}

function wantedClusters(all, ids, word) {
  const places = [...all.keys()];
  const has = ([, kept, members]) => holds(word, ids[kept], ...members.map(([place]) => ids[place]));
  return word === "" ? places : places.filter((place) => has(all[place]));
}

function clusterTable(places, all, ids) {
  const rows = places.map((place) => {
    const [size, kept, members] = all[place];
    const link = linkTo(grouped(size), `documents near ${visible(ids[kept])}`, `#cluster=${place}`);
    const values = members.map(([, similarity]) => similarity).filter((value) => value !== null);
    return [link, documentNode(ids[kept], kept), values.length > 0 ? told(Math.min(...values)) : "–"];
  });
  return tableOf(["size", "kept", "lowest"], rows, "List of clusters", ["number", "words", "number"]);
}

async function showCluster(box, cluster, place, ids) {
  if (cluster === undefined) {
    box.replaceChildren(node("p", "Choose a cluster to see its documents.", "quiet"));
    return;
  }
  const [size, kept, members] = cluster;
  const head = node("h3", `Cluster of ${grouped(size)}`);
  head.tabIndex = -1;
  const stays = around("div", "", node("span", "Kept for all of them:", "small quiet"), documentNode(ids[kept], kept));
  const numbers = await Promise.all(members.map(([member]) => numberOf(kept, member)));
  const items = members.map(([member], row) => (numbers[row] === undefined ? `#documents=${kept},${member}` : `#pair=${numbers[row]}`));
  const own = { title: `Cluster of ${size}`, back: `#cluster=${place}`, items };
  const rows = node("div");
  await paged(rows, [...members.entries()], (some) => {
    const table = some.map(([row, [member, similarity, distance, reason]]) => {
      const link = linkTo("compare", visible(ids[member]), items[row], own);
      return [link, documentNode(ids[member], member), told(similarity), distanceTold(distance), reason];
    });
    return tableOf(["pair", "removed for it", run.measure, "distance", "reason"], table, "Documents of the cluster", ["short", "words", "number", "number", "short"]);
  }, "documents");
  const left = size - 1 - members.length;
  const note = left > 0 ? [node("p", `${grouped(left)} more are not in this file.`, "small quiet")] : [];
  box.replaceChildren(head, stays, rows, ...note);
  head.focus({ preventScroll: innerWidth > 1000 });
}

// The border, and all pairs

const card = (title, words) => {
  const rows = node("div");
  return { box: around("section", "card", node("h3", title), node("p", words, "small quiet"), rows), rows };
};

export async function showBorder(box) {
  const above = card("Just above", `Removed; those nearest to ${run.threshold} first. Are they the same?`);
  const below = card("Just below", `Both kept; those nearest to ${run.threshold} first. Should one have gone? ${run.near_misses ?? ""}`);
  box.lastChild.replaceChildren(around("div", "split even", above.box, below.box));
  await Promise.all([
    pairList(above.rows, run.above, "Just above the threshold", "pairs", "No document was removed by a similarity that the run computed."),
    pairList(below.rows, run.below, "Just below the threshold", "near misses", "There are no near misses to judge."),
  ]);
}

const browsing = { which: "random", word: "" };

export async function showPairs(box) {
  const rows = node("div");
  const fill = async (wanted) => pairList(rows, await wantedPairs(wanted), browsing.which === "random" ? "A random sample" : "All pairs", "pairs", run.pairs === 0 ? NOTHING : undefined);
  const options = [["random", `a random sample of removed pairs (${run.random.length})`], ["all", `all ${grouped(run.pairs)} pairs, by ${run.measure}`]];
  const which = choice("Show", options, () => browsing.which, (value) => fill({ which: value }));
  const filter = field("Filter by id", (word) => fill({ word }));
  filter.lastChild.value = browsing.word;
  box.lastChild.replaceChildren(around("section", "card", around("div", "tools", which, filter), rows));
  await fill();
}

async function wantedPairs(wanted) {
  Object.assign(browsing, wanted);
  const [all, { ids }] = await Promise.all([pairs(), documents()]);
  let numbers = run.random;
  if (browsing.which === "all") numbers = Uint32Array.from(all.left.keys()).sort((a, b) => all.similarity[b] - all.similarity[a] || a - b);
  if (browsing.word === "") return numbers;
  const found = new Set([...ids.keys()].filter((place) => holds(browsing.word, ids[place])));
  return numbers.filter((number) => found.has(all.left[number]) || found.has(all.right[number]));
}
