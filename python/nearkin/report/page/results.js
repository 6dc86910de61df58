// What the labels say, and the file of labels: export, import, conflicts.

import { hasMisses, pairOf, run, scale, told, phrases } from "./data.js";
import { count } from "./differences.js";
import { bySimilarity, scores, suggested, thresholds, weighed } from "./estimates.js";
import { countsOf, decided, placed, settle, take } from "./judging.js";
import { answerFor, readLabels, written } from "./labels.js";
import { pairList } from "./lists.js";
import { around, at, button, grouped, having, idNode, node, shape, visible } from "./nodes.js";
import { SAID, tableOf } from "./pair.js";
import { queuePlaces } from "./review.js";

const given = { conflicts: null };
const digits = (value) => value?.toFixed(3) ?? "–";
const ends = ({ low, high }) => `${digits(low)} to ${digits(high)}`;

// Labels that the report was made with come first; a person's own stand.
export function takeGiven() {
  const rows = (run.labels ?? []).map(([left, right, match]) => ({ ids: [String(left), String(right)], answer: answerFor(match) }));
  given.conflicts ??= rows.length > 0 ? take(rows).conflicts : [];
}

async function judgedRows() {
  const [{ here, elsewhere }, queue] = [await placed(), queuePlaces()];
  const rows = await Promise.all(here.map(async ({ number, answer }) => {
    const { ids, similarity, removed } = await pairOf(number);
    return { number, ids, answer, similarity, removed, ...(queue.get(number) ?? { stratum: null, drawn: 0 }) };
  }));
  return { rows: weighed(rows, run.strata), elsewhere };
}

export async function showLabels(box) {
  const { rows, elsewhere } = await judgedRows();
  const list = node("div");
  const said = around("section", "card", node("h3", "What your labels say"), ...estimates(rows));
  const mine = around("section", "card", node("h3", "Your labels"), tools(box), node("p", counted(rows, elsewhere), "small"), list);
  box.lastChild.replaceChildren(said, mine);
  await pairList(list, rows.map(({ number }) => number).reverse(), "Your labels", "labels");
}

function counted(rows, elsewhere) {
  const others = elsewhere.length > 0 ? ` Of pairs that this file has not: ${count(elsewhere.length, "label")}, exported with the others.` : "";
  return `${countsOf([...rows, ...elsewhere].map((row) => row.answer))}.${others}`;
}

function estimates(rows) {
  const found = scores(rows);
  const precision = found.precision;
  const recall = hasMisses ? found.recall : null;
  const worse = rows.some(({ answer }) => answer === "worse") ? found.worse : null;
  if (precision === null && recall === null) return [node("p", "Judge pairs of the review: precision and recall come here.", "quiet")];
  const sampled = rows.filter((row) => row.stratum !== null && row.answer !== "unsure");
  const seen = new Set(sampled.map((row) => row.stratum));
  const unseen = run.strata.filter((_, number) => !seen.has(number)).reduce((sum, { pairs }) => sum + pairs, 0);
  const why = hasMisses ? "" : `No near misses to judge, so recall is not known. ${run.near_misses ?? ""}`;
  const tile = (name, found, words, none = "") => {
    const worth = found === null ? none : `${ends(found)}; ${count(found.cases, "label")}, worth ${found.worth.toFixed(1)} of equal weight`;
    return around("div", "", node("dt", `${name}: ${words}`), around("dd", "", node("strong", digits(found?.value)), node("span", worth, "quiet small")));
  };
  return [
    around("dl", "tiles", tile("precision", precision, phrases.precision), tile("recall", recall, "of the pairs that are the same, those removed", why),
      ...(worse === null ? [] : [tile("worse kept", worse, "of the removed pairs that are the same, those kept in the worse copy")])),
    node("p", `Intervals of 95%. ${hasMisses ? (run.near_misses ?? "") : ""}`, "small quiet"),
    ...(unseen > 0 ? [node("p", `In no figure: ${count(Math.round(unseen), "pair")} at similarities of which nothing was judged yet.`, "small quiet")] : []),
    ...(hasMisses ? [suggestion(rows)] : [node("p", "A threshold can't be suggested without recall.", "quiet")]),
    ...steps(rows),
  ];
}

function suggestion(rows) {
  const best = suggested(rows, run.strata, run.threshold);
  if (best === null) return node("p", "For a threshold, judge at least 20 pairs, of both kinds.", "quiet");
  const own = thresholds(rows, run.strata, run.threshold).find(({ threshold }) => threshold === run.threshold);
  const figures = ({ precision, recall, f1 }) => `precision ${digits(precision?.value)}, recall ${digits(recall?.value)}, F1 ${digits(f1)}`;
  const words = best.threshold === run.threshold
    ? `Your labels suggest the run's own threshold, ${run.threshold} (${figures(own)}).`
    : `Your labels suggest a threshold of ${best.threshold} (${figures(best)}); the run's own is ${run.threshold} (${figures(own)}).`;
  return node("p", words, "suggested");
}

function steps(rows) {
  const found = bySimilarity(rows, run.strata).filter(({ judged }) => judged > 0);
  const table = found.map((step) => [step.name, grouped(Math.round(step.pairs)), String(step.judged), String(step.same), `${digits(step.share.value)} (${ends(step.share)})`]);
  const name = `The same, by ${run.measure}`;
  return [around("figure", "chart", node("h3", name), chart(found), tableOf([run.measure, "pairs", "judged", "same", "share (95%)"], table, name))];
}

function chart(found) {
  const [low, high] = [Math.min(run.threshold, ...found.map((step) => step.low)), scale];
  const x = (value) => (40 + (660 * (value - low)) / Math.max(high - low, 1e-9)).toFixed(1);
  const y = (value) => (170 - 150 * value).toFixed(1);
  const picture = shape("svg", { viewBox: "0 0 720 200", role: "img", "aria-label": `Share of pairs that are the same, by ${run.measure}` });
  const text = (words, place) => having(shape("text", place), { textContent: words });
  for (const value of [0, 0.5, 1]) picture.append(shape("line", { class: "grid", x1: 40, x2: 700, y1: y(value), y2: y(value) }), text(`${100 * value}%`, { x: 34, y: Number(y(value)) + 4, "text-anchor": "end" }));
  for (const step of found) {
    const middle = x((step.low + step.high) / 2);
    picture.append(shape("line", { class: "axis", x1: middle, x2: middle, y1: y(step.share.low), y2: y(step.share.high) }), shape("circle", { class: "point", cx: middle, cy: y(step.share.value), r: 4 }));
  }
  picture.append(shape("line", { class: "threshold", x1: x(run.threshold), x2: x(run.threshold), y1: 20, y2: 170 }), text(`threshold ${run.threshold}`, { x: x(run.threshold), y: 14, "text-anchor": x(run.threshold) < 90 ? "start" : "middle" }));
  for (const value of [low, (low + high) / 2, high]) picture.append(text(told(value), { x: x(value), y: 190, "text-anchor": "middle" }));
  return having(around("div", "picture", picture), { tabIndex: 0, role: "group", ariaLabel: "Picture" });
}

// The file

function tools(box) {
  const note = having(node("span", "", "small"), { role: "status" });
  const input = having(node("input", "", "hidden"), { type: "file", accept: ".tsv,text/tab-separated-values,text/plain" });
  input.addEventListener("change", async () => {
    try {
      await importRows(box, readLabels(await input.files[0].text()));
    } catch (error) {
      note.textContent = visible(error.message, 400);
    }
    input.value = "";
  });
  const made = around("div", "tools", button("Export labels.tsv", () => exportAll(note), "main"), around("label", "button", "Import labels", input), note);
  if (given.conflicts?.length > 0) {
    made.append(button(`Otherwise than yours: ${count(given.conflicts.length, "label")} of the report`, () => decideConflicts(box, given.conflicts.splice(0)), "plain"));
  }
  return made;
}

async function exportAll(note) {
  const { rows, elsewhere } = await judgedRows();
  const strata = (row) => (row.stratum === null ? "" : run.strata[row.stratum].name);
  const all = [
    ...rows.map((row) => ({ ...row, stratum: strata(row), removed: Number(row.removed) })),
    ...elsewhere.map((row) => ({ ...row, weight: 1 })),
  ];
  const whole = all.filter(({ ids }) => !/\p{Cs}/u.test(ids.join("")));
  const href = URL.createObjectURL(new Blob([written(whole)], { type: "text/tab-separated-values" }));
  const link = having(node("a"), { href, download: "labels.tsv" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
  const left = all.length - whole.length;
  note.textContent = `Exported: ${count(whole.length, "label")}.${left > 0 ? ` Left out, for ids that no text file can hold: ${left}.` : ""}`;
}

export async function importRows(box, rows) {
  const before = decided().length;
  const { conflicts, twice } = take(rows);
  if (conflicts.length > 0) decideConflicts(box, conflicts);
  await showLabels(box);
  box.querySelector(".tools [role=status]").textContent = `Read: ${count(rows.length, "label")}, ${decided().length - before} new${conflicts.length > 0 ? `, ${conflicts.length} otherwise than yours` : ""}.${twice > 0 ? ` Left out: ${count(twice, "pair")} of which the file says two things.` : ""}`;
}

// Each conflict is decided by the person: a pair, what both say, and which of them stays.
function decideConflicts(box, conflicts) {
  const dialog = at("conflicts");
  const sets = conflicts.map(({ ids, mine, theirs }, place) => {
    const ways = [["mine", `You: ${SAID[mine]}`], ["theirs", `The file: ${SAID[theirs]}`]].map(([value, words]) => {
      const input = having(node("input"), { type: "radio", name: `conflict-${place}`, value, checked: value === "mine" });
      return around("label", "tick", input, words);
    });
    return around("fieldset", "", around("legend", "", idNode(ids[0]), " and ", idNode(ids[1])), ...ways);
  });
  const all = (whose) => () => form.querySelectorAll(`[value=${whose}]`).forEach((input) => (input.checked = true));
  const done = button("Done", async () => {
    settle(conflicts.filter((_, place) => form.elements[`conflict-${place}`].value === "theirs").map(({ ids, theirs }) => ({ ids, answer: theirs })));
    dialog.close();
    await showLabels(box);
  }, "main");
  const line = around("div", "tools", done, button("All as I said", all("mine")), button("All as the file says", all("theirs")));
  const form = around("form", "", around("div", "conflicts", ...sets), line);
  dialog.replaceChildren(node("h2", `Otherwise than yours: ${count(conflicts.length, "label")}`), node("p", "Which ones stay?"), form);
  dialog.showModal();
}
