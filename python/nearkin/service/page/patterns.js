// The patterns of the service with their counts over time. A service with tokens needs one, given on the main page.

import { around, at, grouped, node, visible } from "./nodes.js";
import { ask } from "./service.js";

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 32;
const DAY = 86_400_000;
const MOST_DAYS = 400;

function shape(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// A bar per day, from the first day with items to the last one.
function barsOf(days) {
  const start = Date.parse(days[0].day);
  const all = (Date.parse(days.at(-1).day) - start) / DAY + 1;
  const most = Math.max(...days.map(({ count }) => count));
  const width = Math.min(all, MOST_DAYS);
  const title = `${grouped(all)} days from ${days[0].day} to ${days.at(-1).day}; at most ${grouped(most)} items a day`;
  const drawn = shape("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": title, class: "bars" });
  for (const { day, count } of days) {
    const height = Math.max((count / most) * HEIGHT, 1);
    const x = (((Date.parse(day) - start) / DAY) * width) / all;
    drawn.append(shape("rect", { x, y: HEIGHT - height, width: Math.max((0.9 * width) / all, 0.5), height }));
  }
  return around("figure", "", drawn, node("figcaption", title));
}

function variableOf({ name, type, distinct, samples }) {
  const values = `${grouped(distinct)} values, such as ${samples.map((sample) => visible(sample, 40)).join(", ")}`;
  return [around("dt", "", node("code", name), ` ${type ?? ""}`), node("dd", values)];
}

function patternOf({ pattern, decoded, count, share, days, variables, examples }) {
  const parts = [
    around("h2", "", node("code", visible(decoded ?? pattern, 1000))),
    node("p", `${grouped(count)} items, ${(100 * share).toFixed(share < 0.01 ? 2 : 1)}%`),
  ];
  if (days?.length > 0) parts.push(barsOf(days));
  if (variables?.length > 0) parts.push(around("dl", "", ...variables.flatMap(variableOf)));
  if (examples?.length > 0) parts.push(around("figure", "", node("figcaption", "Example"), node("pre", visible(examples[0], 1000))));
  return around("section", "", ...parts);
}

try {
  const { kind, items, num_patterns, unmatched, patterns } = await ask("/v1/patterns?limit=200");
  const shown = patterns.length < num_patterns ? `, of which the ${patterns.length} most frequent are below` : "";
  at("about").textContent = `${grouped(num_patterns)} patterns of ${grouped(items)} ${kind}${shown}; ${grouped(unmatched)} items have none.`;
  at("patterns").append(...patterns.map(patternOf));
} catch (problem) {
  at("about").textContent = `${problem.message}`;
  if (problem.status === 401) {
    const link = node("a", "Give a token");
    link.href = "/page/index.html";
    at("about").append(" ", link);
  }
}
