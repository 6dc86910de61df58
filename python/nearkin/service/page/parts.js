// What every part of the page uses. All that comes from documents is put into the page as text, never as markup.

import { at, idNode, node, shape, visible } from "./nodes.js";
import { Problem } from "./service.js";
import { number } from "./state.js";

export { at, idNode, node, visible };

export function idButton(id, look) {
  const button = node("button", "", "link");
  button.type = "button";
  button.append(idNode(id));
  button.addEventListener("click", () => look(id));
  return button;
}

// A sentence with ids in it: the strings as text, and what `idNode` or `idButton` made as it is.
export function sentence(box, ...pieces) {
  box.replaceChildren(...pieces);
}

export function field(list, name, ...values) {
  const row = node("div");
  const value = node("dd");
  value.append(...values);
  row.append(node("dt", name), value);
  list.append(row);
}

// A value of a column or of a problem as one line of text.
export function inLine(value, most = 400) {
  if (value === null || value === undefined) return "none";
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
  if (typeof value !== "object") return visible(value, most);
  const plain = JSON.stringify(value, (_, item) => (typeof item === "bigint" ? String(item) : item));
  return visible(plain, most);
}

export function columnsOf(columns) {
  const list = node("dl", "", "columns-of");
  for (const [name, value] of Object.entries(columns ?? {})) {
    const row = node("div");
    row.append(node("dt", visible(name, 60)), node("dd", inLine(value)));
    row.lastChild.dir = "auto";
    list.append(row);
  }
  return list;
}

export function similarityOf(value, kind) {
  if (value === null || value === undefined) return "–";
  return kind === "files" ? number(value) : value.toFixed(3);
}

// A bar for a similarity of 0 to `whole`.
export function bar(value, whole) {
  const picture = shape("svg", { viewBox: "0 0 100 4", preserveAspectRatio: "none", class: "bar", "aria-hidden": "true" });
  const width = Math.max(0, Math.min(100, (100 * value) / whole));
  picture.append(shape("rect", { width: 100, height: 4, class: "all" }), shape("rect", { width, height: 4, class: "part" }));
  return picture;
}

export function clear(box) {
  box.replaceChildren();
}

// A problem beside what caused it.
export function showProblem(box, problem, ...after) {
  if (!(problem instanceof Problem)) {
    console.error(problem);
    problem = new Problem("This page made an error", String(problem?.message ?? problem));
  }
  const first = node("p");
  first.append(node("strong", visible(problem.title, 300)), problem.detail ? ` ${visible(problem.detail, 1000)}` : "");
  const list = node("dl", "", "fields");
  for (const name of ["found", "allowed", "place"]) {
    const value = problem.fields[name];
    if (value !== undefined && !problem.detail.includes(String(value))) field(list, name, inLine(value));
  }
  if (problem.fields.instance !== undefined) field(list, "request", inLine(problem.fields.instance));
  box.replaceChildren(first, ...(list.children.length > 0 ? [list] : []), ...after);
}

// The id in a field: undefined without one. A store's ids are all integers or all strings.
export function readId(input, tick, kind) {
  const text = input.value;
  if (text === "") return undefined;
  if (kind !== "int" && !(kind === "" && tick?.checked)) return text;
  if (!/^\s*-?\d{1,19}\s*$/.test(text)) {
    throw new Problem("This is not a number", "The ids of this store are integers, such as 42.", { found: text });
  }
  return BigInt(text.trim());
}

// Where no document says yet of which kind ids are, digits may be meant as a number or as a string.
export function offerNumber(input, line, kind) {
  line.hidden = kind !== "" || !/^-?\d{1,19}$/.test(input.value);
}
