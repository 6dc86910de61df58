// The page: its views, its keys, and the way between them by the address.

import { run } from "./data.js";
import { startJudging, undo } from "./judging.js";
import { showBorder, showClusters, showPairs, walk } from "./lists.js";
import { around, at, button, having, node, stepButtons, visible } from "./nodes.js";
import { SAID, judge, showPair, turnBrief } from "./pair.js";
import { showLabels, takeGiven } from "./results.js";
import { reviewActions, showReview } from "./review.js";

const speak = (words) => (at("spoken").textContent = words);

// Views by the first word of the address.
const VIEWS = {
  summary: { title: "Summary" },
  clusters: { title: "Clusters", hidden: run.kind === "hits", show: (box) => showClusters(box) },
  border: { title: "Border", show: showBorder },
  pairs: { title: "Pairs", show: showPairs },
  review: { title: "Review", show: (box) => showReview(box, speak), actions: reviewActions },
  labels: { title: "Labels", show: showLabels },
  pair: { title: "Pair", show: showWalk, hidden: true, actions: { next: () => go(1), previous: () => go(-1), judge, undo: () => undo() && current.again() } },
};
const ALIAS = { cluster: "clusters", documents: "pair" };
const current = { name: "summary", value: "", again: () => {} };

// What keys do; the legend is made of this table.
const HANDLERS = [
  ["j", "next pair", () => act("next")],
  ["k", "previous pair", () => act("previous")],
  ["y", "the two are the same", () => act("judge", "same")],
  ["n", "they are different", () => act("judge", "different")],
  ["u", "unsure", () => act("judge", "unsure")],
  ["w", "same, and the kept one is worse", () => act("judge", "worse")],
  ["z", "take the last judgement back", () => act("undo")],
  ["d", "differences only, or all of both texts", () => speak(turnBrief())],
  ["/", "filter", () => at(`view-${current.name}`)?.querySelector("input[type=search]")?.focus()],
  ["?", "these keys", () => showKeys()],
];
const keys = { on: true };

const act = (name, ...values) => VIEWS[current.name].actions?.[name]?.(...values);

function pressed(event) {
  const typing = event.target.closest?.("input:not([type=checkbox], [type=radio]), textarea, select, dialog");
  if (event.ctrlKey || event.altKey || event.metaKey || typing || (!keys.on && event.key !== "?")) return;
  const found = HANDLERS.find(([key]) => key === event.key);
  if (found === undefined) return;
  event.preventDefault();
  guard(found[2]);
}

function showKeys() {
  const dialog = at("keys");
  const rows = HANDLERS.map(([key, words]) => around("div", "", around("dt", "", node("kbd", key)), node("dd", words)));
  const list = around("dl", "keys", ...rows);
  const input = having(node("input"), { type: "checkbox", checked: keys.on });
  input.addEventListener("change", () => (keys.on = input.checked));
  const label = around("label", "tick", input, "keys work on this page");
  dialog.replaceChildren(node("h2", "Keys"), list, label, button("Close", () => dialog.close(), "main"));
  dialog.showModal();
}

// A pair that was chosen from a list, with the way along the list.
async function showWalk(box) {
  const place = walk.items.indexOf(location.hash);
  const [tools, pair] = [node("div", "", "tools"), node("div", "", "pair")];
  if (place >= 0) {
    const back = having(node("a", `Back: ${walk.title}`), { href: walk.back || "#summary" });
    const [before, after] = stepButtons(go);
    [before.disabled, after.disabled] = [place === 0, place === walk.items.length - 1];
    tools.append(back, before, after, node("span", `${place + 1} of ${walk.items.length}`, "small quiet"));
  }
  box.lastChild.replaceChildren(around("div", "card", ...(place >= 0 ? [tools] : []), pair));
  const numbers = current.value.split(",").map(Number);
  const [left, right] = numbers;
  const none = current.value === "" || numbers.some((number) => number >= (right === undefined ? run.pairs : run.documents));
  const wanted = right === undefined ? { number: left } : { left, right };
  current.again = async (_, answer) => {
    if (answer) speak(`You said ${SAID[answer]}.`);
    await showPair(pair, none ? null : wanted, current.again);
  };
  await current.again();
}

function go(by) {
  const next = walk.items[walk.items.indexOf(location.hash) + by];
  if (walk.items.includes(location.hash) && next !== undefined) location.hash = next;
}

// The view that the address names; what it names else, such as a place in the page, changes nothing.
function openView() {
  return guard(() => VIEWS[current.name].show?.(at(`view-${current.name}`), current.value));
}

async function follow(focus = true) {
  const [, word = "summary", value = ""] = /^#(\w+)(?:=([\d,]+))?$/.exec(location.hash || "#summary") ?? [];
  const name = ALIAS[word] ?? word;
  if (!Object.hasOwn(VIEWS, name)) return;
  Object.assign(current, { name, value });
  for (const each of Object.keys(VIEWS)) {
    const box = sectionOf(each);
    box.hidden = each !== name;
    const link = at("views").querySelector(`[href="#${each}"]`);
    if (each === name) link?.setAttribute("aria-current", "page");
    else link?.removeAttribute("aria-current");
  }
  if (focus) {
    scrollTo(0, 0);
    sectionOf(name).querySelector("h2").focus({ preventScroll: true });
  }
  if (name === "clusters") await guard(() => showClusters(sectionOf(name), value === "" ? undefined : Number(value)));
  else if (name !== "summary") await openView();
}

function sectionOf(name) {
  if (name === "summary") return at("summary");
  const found = at(`view-${name}`);
  if (found !== null) return found;
  const head = having(node("h2", VIEWS[name].title), { tabIndex: -1, id: `title-${name}` });
  const made = having(around("section", "view", head, ...(name === "clusters" ? [] : [node("div", "", "view")])), { id: `view-${name}` });
  made.setAttribute("aria-labelledby", head.id);
  at("main").append(made);
  return made;
}

// Runs an action; what goes wrong is said on the page.
async function guard(action) {
  try {
    at("problem").textContent = "";
    if (current.name !== "summary") takeGiven();
    await action();
  } catch (error) {
    console.error(error);
    at("problem").textContent = `This page made an error: ${visible(error?.message ?? error, 400)}`;
  }
}

function start() {
  startJudging();
  const shown = Object.entries(VIEWS).filter(([, { hidden }]) => !hidden);
  const items = shown.map(([name, { title }]) => around("li", "", having(node("a", title), { href: `#${name}` })));
  at("views").append(around("ul", "", ...items), button("Keys ?", showKeys, "plain"));
  at("views").hidden = false;
  addEventListener("hashchange", () => void follow());
  addEventListener("keydown", pressed);
  for (const id of ["keys", "conflicts"]) document.body.append(having(node("dialog"), { id }));
  void follow(false);
}

start();
