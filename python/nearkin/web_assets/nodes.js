// Elements that pages make. All that comes from documents is put into a page as text, never as markup.

export const at = (id) => document.getElementById(id);

export const grouped = (number) => number.toLocaleString("en");

// Signs that are not seen, or that turn the order of others, as escapes: two ids that differ look different.
const UNSEEN = /[\p{Cc}\p{Cs}\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0]/gu;

const escapeOf = (sign) => `\\u{${sign.codePointAt(0).toString(16)}}`;

export function visible(value, most = 200) {
  const text = String(value).replace(UNSEEN, escapeOf);
  const signs = [...text.slice(0, 2 * most)];
  return signs.length > most || text.length > 2 * most ? `${signs.slice(0, most).join("")}…` : text;
}

export function node(name, text = "", kind = "") {
  const made = document.createElement(name);
  if (text !== "") made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

// A text of many lines with such escapes as elements; tabs and line ends stay.
const SIGNS = new RegExp(`((?![\\t\\n]|\\r(?:\\n|$))${UNSEEN.source})`, "gu");

export function escaped(text) {
  const made = document.createDocumentFragment();
  for (const [place, part] of text.split(SIGNS).entries()) made.append(place % 2 === 0 ? part : node("span", escapeOf(part), "escape"));
  return made;
}

// An element of a class around nodes and texts.
export function around(name, kind, ...inner) {
  const made = node(name, "", kind);
  made.append(...inner);
  return made;
}

export function button(words, act, kind = "") {
  const made = node("button", words, kind);
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}

// Buttons that go back and on in a list.
export const stepButtons = (step) => [["Previous", -1], ["Next", 1]].map(([words, by]) => button(words, () => step(by), "plain"));

// Properties of an element, and the element.
export const having = Object.assign;

// An id apart from what stands around it, whichever way its letters run.
export function idNode(id) {
  return node("bdi", id === "" ? "(empty)" : visible(id), "id");
}

export function shape(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}
