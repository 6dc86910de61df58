// The state of the store, drawn live: Prometheus text, rates between two readings of it, and lines in SVG.

import { shape } from "./nodes.js";

export const READINGS = 60; // of 2 seconds each: two minutes
const STATUSES = ["new", "near", "same-letters", "exact", "known", "empty"];
const ASIDE = /(?:^|[ /])(?:metrics|healthz|readyz|info|page.*|docs|openapi\.json|favicon\.ico)$|(?:^|\s)\/$/;

// Prometheus text as a map: name of a metric to its rows [{labels, value}].
export function parseMetrics(text) {
  const metrics = new Map();
  for (const line of text.split("\n")) {
    const found = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?\s*$/.exec(line);
    if (found === null) continue;
    const labels = {};
    for (const [, name, value] of (found[2] ?? "").matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)) {
      labels[name] = value.replace(/\\(.)/g, (_, sign) => (sign === "n" ? "\n" : sign));
    }
    const value = found[3] === "+Inf" ? Infinity : Number(found[3]);
    if (!metrics.has(found[1])) metrics.set(found[1], []);
    metrics.get(found[1]).push({ labels, value });
  }
  return metrics;
}

// The sum of a metric's rows, or null where there are none.
export function total(metrics, name, wanted = () => true) {
  const rows = (metrics.get(name) ?? []).filter((row) => wanted(row.labels) && Number.isFinite(row.value));
  return rows.length === 0 ? null : rows.reduce((sum, row) => sum + row.value, 0);
}

// Requests that ask for something of the store: not this page, nor what watches the service.
const ofWork = (labels) => !ASIDE.test(labels.route ?? labels.path ?? "");

// What a counter gained. One that is smaller than before began again from 0.
function gained(before, after, name, wanted) {
  const [old, now] = [total(before, name, wanted) ?? 0, total(after, name, wanted) ?? 0];
  return now < old ? now : now - old;
}

// Counts of a histogram between two readings: [upper bound, requests up to it], by rising bounds.
function buckets(before, after, name, wanted) {
  const sums = new Map();
  for (const { labels } of after.get(name) ?? []) {
    if (wanted(labels)) sums.set(labels.le, labels.le === "+Inf" ? Infinity : Number(labels.le));
  }
  const bounds = [...sums].sort((one, other) => one[1] - other[1]);
  return bounds.map(([le, bound]) => [bound, gained(before, after, name, (labels) => labels.le === le && wanted(labels))]);
}

// The quantile of a histogram, linear within a bucket; null without requests.
export function quantile(counts, share) {
  const all = counts.at(-1)?.[1] ?? 0;
  if (all === 0) return null;
  let [low, below] = [0, 0];
  for (const [bound, upTo] of counts) {
    if (upTo >= share * all) {
      if (bound === Infinity) return low;
      return upTo === below ? bound : low + ((bound - low) * (share * all - below)) / (upTo - below);
    }
    [low, below] = [bound, upTo];
  }
  return low;
}

// What happened between two readings that are so many seconds apart.
export function between(before, after, seconds) {
  const times = buckets(before, after, "nearkin_request_seconds_bucket", ofWork);
  const commits = gained(before, after, "nearkin_commit_seconds_count");
  const batches = gained(before, after, "nearkin_batch_documents_count");
  const mean = (name, count) => (count > 0 ? gained(before, after, name) / count : null);
  const [half, most] = [quantile(times, 0.5), quantile(times, 0.99)];
  return {
    requests: gained(before, after, "nearkin_requests_total", ofWork) / seconds,
    documents: gained(before, after, "nearkin_answers_total") / seconds,
    half: half === null ? null : 1000 * half,
    most: most === null ? null : 1000 * most,
    commits: commits / seconds,
    commit: commits > 0 ? 1000 * mean("nearkin_commit_seconds_sum", commits) : null,
    batch: mean("nearkin_batch_documents_sum", batches),
  };
}

// Answers of each status since the service started: [[status, number]].
export function answersOf(metrics) {
  return STATUSES.map((status) => [
    status,
    total(metrics, "nearkin_answers_total", (labels) => labels.status === status) ?? 0,
  ]);
}

export function number(value) {
  if (value === null || value === undefined || Number.isNaN(Number(value))) return "–";
  if (typeof value === "bigint" || Number.isInteger(value)) return value.toLocaleString("en");
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

export function bytes(value) {
  if (value === null || value === undefined) return "–";
  let unit = 0;
  while (value >= 1000 && unit < 4) {
    value /= 1000;
    unit++;
  }
  return `${number(value)} ${["B", "kB", "MB", "GB", "TB"][unit]}`;
}

// A chart: its name, the value now, a line of the last readings, and the same in words.
export class Chart {
  constructor(title, unit, line = "") {
    this.title = title;
    this.unit = unit;
    this.values = [];
    this.second = [];
    this.node = document.createElement("figure");
    this.node.className = `chart ${line}`;
    const caption = document.createElement("figcaption");
    this.now = document.createElement("strong");
    const name = document.createElement("span");
    name.textContent = title;
    caption.append(name, this.now);
    this.picture = shape("svg", { viewBox: "0 0 240 48", preserveAspectRatio: "none", role: "img", class: "spark" });
    this.words = document.createElement("p");
    this.words.className = "small quiet";
    this.node.append(caption, this.picture, this.words);
    this.draw();
  }

  add(value, second = null) {
    this.values = [...this.values, value].slice(-READINGS);
    this.second = [...this.second, second].slice(-READINGS);
    this.draw();
  }

  draw() {
    const known = this.values.filter((value) => value !== null);
    const highest = Math.max(0, ...known, ...this.second.filter((value) => value !== null));
    const value = this.values.at(-1) ?? null;
    const after = this.second.at(-1) ?? null;
    this.now.textContent = value === null ? "–" : `${number(value)}${this.unit}`;
    const half = after === null ? "" : `half of them ${number(after)}${this.unit}; `;
    this.words.textContent =
      known.length === 0 ? "nothing in the last 2 minutes" : `${half}highest in 2 minutes ${number(highest)}${this.unit}`;
    this.picture.setAttribute("aria-label", `${this.title}: now ${this.now.textContent}, ${this.words.textContent}`);
    this.picture.replaceChildren(
      shape("line", { x1: 0, y1: 46.5, x2: 240, y2: 46.5, class: "ground" }),
      ...line(this.second, highest, "second"),
      ...line(this.values, highest, "first"),
    );
  }
}

// A line through what is known, the newest at the right end; where nothing is known there is a gap.
function line(values, highest, kind) {
  const shapes = [];
  let points = [];
  const flush = () => {
    if (points.length === 1) points.push([points[0][0] + 1.5, points[0][1]]);
    if (points.length > 1) {
      const path = points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
      if (kind === "first") {
        shapes.push(shape("polygon", { points: `${points[0][0]},46.5 ${path} ${points.at(-1)[0]},46.5`, class: "area" }));
      }
      shapes.push(shape("polyline", { points: path, class: kind, "vector-effect": "non-scaling-stroke" }));
    }
    points = [];
  };
  for (const [place, value] of values.entries()) {
    const x = 240 - ((values.length - 1 - place) * 240) / (READINGS - 1);
    if (value === null) flush();
    else points.push([x, 46 - (highest > 0 ? (42 * value) / highest : 0)]);
  }
  flush();
  return shapes;
}
