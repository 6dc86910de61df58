// The first part of the page: what is asked, the verdict, its near-duplicates, and adding.

import { differences, drawn, summary } from "./differences.js";
import {
  at, bar, clear, columnsOf, idButton, idNode, node, offerNumber, readId, sentence, showProblem, similarityOf,
} from "./parts.js";
import { Problem, ask, parseJson, toJson } from "./service.js";
import { bytes, number } from "./state.js";

const MOST_TYPED = 20_000; // characters that are checked while they are typed
const MOST_SHOWN = 200_000; // characters of a file that are put into the field
const WAIT = 500; // milliseconds without a key before what is typed is checked

export const KINDS = {
  texts: {
    label: "Text",
    field: "text",
    empty: "Paste a text, or choose a file.",
    help: "Paste a text, or drop a text file anywhere on this page.",
  },
  files: {
    label: "Digest of a file",
    field: "digest",
    empty: "Choose a file, or paste a digest.",
    help: "Drop a file anywhere on this page, or choose one: its bytes are sent to this service. Or paste a digest of ssdeep.",
  },
  vectors: {
    label: "Vector",
    field: "vector",
    empty: "Paste a vector.",
    help: "Paste a JSON array of numbers, such as [0.5, -1, 2].",
  },
};

const SIGNS = {
  new: "M12 5v14M5 12h14",
  exact: "M5 9h14M5 15h14",
  near: "M4 9c3-4 5 3 8 0s5-3 8-1M4 16c3-4 5 3 8 0s5-3 8-1",
  known: "M5 12l5 5 9-11",
};
SIGNS["same-letters"] = SIGNS.near;

// What is asked for: `sent` is the last question that was answered, and `file` one that is held beside the field.
const asked = { file: null, sent: null, stop: null, timer: 0, idTimer: 0, comparing: 0, key: "" };
let page;

export function startCheck(given) {
  page = given;
  at("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    check();
  });
  at("subject").addEventListener("input", changed);
  at("best").addEventListener("change", () => asked.sent && check());
  at("file").addEventListener("change", () => {
    if (at("file").files.length > 0) take(at("file").files[0]);
    at("file").value = "";
  });
  at("chosen-drop").addEventListener("click", () => {
    hold(null);
    at("subject").focus();
  });
  at("add").addEventListener("submit", (event) => {
    event.preventDefault();
    add();
  });
  for (const name of ["id", "columns", "wanted", "id-number"]) at(name).addEventListener("input", () => (asked.key = ""));
  at("id").addEventListener("input", () => {
    offerNumber(at("id"), at("id-number-line"), page.info?.id_kind);
    clearTimeout(asked.idTimer);
    asked.idTimer = setTimeout(compareId, WAIT);
  });
  at("wanted").addEventListener("input", () => {
    at("add-button").textContent = at("wanted").checked ? "Add" : "Check and add";
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || at("sure").open) return;
    event.preventDefault();
    if (event.shiftKey) add();
    else check();
  });
  startDropping();
}

// A file that is dropped anywhere is taken; the browser never leaves this page for it.
function startDropping() {
  const carries = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  let depth = 0;
  const show = (change) => {
    depth = change === 0 ? 0 : Math.max(0, depth + change);
    at("drop").classList.toggle("over", depth > 0);
  };
  document.addEventListener("dragenter", (event) => carries(event) && show(1));
  document.addEventListener("dragleave", (event) => carries(event) && show(-1));
  document.addEventListener("dragover", (event) => carries(event) && event.preventDefault());
  document.addEventListener("drop", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    show(0);
    if (event.dataTransfer.files.length > 1) {
      showProblem(at("subject-problem"), new Problem("One file at a time", "Drop a single file."));
    } else if (event.dataTransfer.files.length === 1) {
      take(event.dataTransfer.files[0]);
    }
  });
}

export function showKind() {
  const kind = KINDS[page.kind];
  at("subject-label").textContent = kind.label;
  at("subject-help").textContent = kind.help;
  at("subject").rows = page.kind === "texts" ? 8 : 3;
  at("subject").classList.toggle("code", page.kind !== "texts");
  const help = {
    int: "The ids of this store are numbers. Without one the row number is taken.",
    str: "The ids of this store are strings.",
    "": "Without an id the row number is taken, and the ids of this store are numbers from then on.",
  };
  at("id-help").textContent = help[page.info.id_kind] ?? help[""];
  if (asked.sent) at("add").hidden = page.info.readonly;
  measure();
}

function changed() {
  clear(at("subject-problem"));
  at("added").hidden = true;
  at("verdict").classList.add("stale");
  asked.key = "";
  measure();
  clearTimeout(asked.timer);
  asked.stop?.abort();
  const text = at("subject").value;
  if (asked.file === null && text.trim() === "") hideAnswer();
  else if (at("typing").checked && text.length <= MOST_TYPED) asked.timer = setTimeout(check, WAIT);
  else at("verdict-old").hidden = false;
}

function measure() {
  const length = at("subject").value.length;
  const typed = at("typing").checked && length > MOST_TYPED ? "; press Check" : "";
  at("measure").textContent =
    asked.file !== null || length === 0 || page.kind !== "texts" ? "" : `${number(length)} characters${typed}`;
}

// A file is read: as text for a store of texts, as bytes for one of files.
async function take(file) {
  const box = at("subject-problem");
  clear(box);
  try {
    const limit = page.info?.limits?.body ?? Infinity;
    if (file.size * (page.kind === "files" ? 4 / 3 : 1) > limit) {
      throw new Problem("This file is too large", `${file.name} has ${bytes(file.size)}.`, {
        allowed: `a body of at most ${bytes(limit)}`,
      });
    }
    if (page.kind === "files") {
      hold({ name: file.name, size: file.size, fields: { bytes: await base64(file) } });
    } else {
      const text = utf8(new Uint8Array(await file.arrayBuffer()), file.name);
      // A field turns every end of a line into \n: such a text is held as it is.
      const asIs = page.kind === "texts" && (text.includes("\r") || text.length > MOST_SHOWN);
      hold(asIs ? { name: file.name, size: file.size, fields: { text } } : null, asIs ? "" : text);
    }
    check();
  } catch (error) {
    showProblem(box, error instanceof Problem ? error : new Problem("This file cannot be read", error.message));
  }
}

function utf8(content, name) {
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch {
    text = null;
  }
  if (text === null || text.includes("\0")) {
    const why = text === null ? "is not UTF-8" : "has bytes of zero";
    throw new Problem("This is not a text", `${name} ${why}. Save it as a text in UTF-8 first.`);
  }
  return text;
}

function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

// Holds a file beside the field, which is hidden then, or none; the field gets `text`.
function hold(file, text = "") {
  asked.file = file;
  at("subject").value = text;
  at("subject").hidden = file !== null;
  at("chosen").hidden = file === null;
  if (file !== null) sentence(at("chosen-name"), idNode(file.name), `, ${bytes(file.size)}`);
  hideAnswer();
  clear(at("subject-problem"));
  asked.key = "";
  measure();
}

// A text that is stored is asked for as if it was pasted.
export function askFor(text) {
  const asIs = text.includes("\r") || text.length > MOST_SHOWN;
  hold(asIs ? { name: "a stored text", size: new Blob([text]).size, fields: { text } } : null, asIs ? "" : text);
  check();
  (asIs ? at("check") : at("subject")).focus();
}

// The document that the form holds, without an id.
function subject() {
  if (asked.file !== null) return asked.file.fields;
  const kind = KINDS[page.kind];
  const value = at("subject").value;
  if (value.trim() === "") throw new Problem("Nothing to check", kind.empty);
  if (page.kind === "texts") return { text: value };
  if (page.kind === "files") return { digest: value.trim() };
  let vector;
  try {
    vector = JSON.parse(value);
  } catch {
    vector = null;
  }
  if (!Array.isArray(vector) || !vector.every(Number.isFinite)) {
    throw new Problem("This is not a vector", kind.help);
  }
  return { vector };
}

function ready(document) {
  const body = toJson(document);
  const limit = page.info?.limits?.body ?? Infinity;
  // A character takes at most 3 bytes for each unit of its length.
  if (3 * body.length > limit && new Blob([body]).size > limit) {
    throw new Problem("This is too large", "", { allowed: `a body of at most ${bytes(limit)}` });
  }
  return body;
}

export async function check() {
  clearTimeout(asked.timer);
  asked.stop?.abort();
  const stop = (asked.stop = new AbortController());
  at("added").hidden = true;
  clear(at("add-problem"));
  await page.guard(at("subject-problem"), async () => {
    const document = subject();
    const best = Math.min(Number(at("best").value), page.info?.limits?.k ?? 1000);
    at("verdict").classList.add("stale");
    const answer = await ask(`/v1/check?k=${best}`, { body: ready(document), signal: stop.signal });
    asked.sent = document;
    showVerdict(answer, false);
    showMatches(answer.matches ?? []);
    at("add").hidden = page.info?.readonly ?? false;
    speak(answer);
    await compareId();
  }, check);
}

function hideAnswer() {
  asked.sent = null;
  for (const name of ["verdict", "add", "matches", "added"]) at(name).hidden = true;
  at("spoken").textContent = "";
}

const capital = (word) => word.charAt(0).toUpperCase() + word.slice(1);

function reason({ status, match, similarity, distance }, added) {
  const other = match === null || match === undefined ? "" : idButton(match, page.look);
  const how = similarityOf(similarity, page.kind);
  const limit = page.info?.settings?.threshold;
  const least = limit === undefined || limit === null ? "." : `; the threshold is ${inWords(limit)}.`;
  if (status === "new") return [added ? "Like nothing that was there. It stays." : "Like nothing in the store. Added, it would stay."];
  if (status === "exact") return other ? ["A copy of ", other, "."] : ["A copy of a document that stays."];
  if (status === "same-letters") return ["It differs from ", other, " only in case, spacing or punctuation."];
  if (status === "near") return how === "–" ? ["Its distance to ", other, ` is ${number(distance)}.`] : ["Its similarity to ", other, ` is ${how}${least}`];
  if (status === "known") return ["Its id is in the store with the same content. Nothing is added."];
  if (status === "empty") return ["It has no letter or digit, and this store drops such documents."];
  return [`The service answers “${status}”.`];
}

const inWords = (value) => (typeof value === "number" ? String(Number(value.toPrecision(6))) : String(value));

function showVerdict(answer, added) {
  const box = at("verdict");
  box.hidden = false;
  at("verdict-old").hidden = true;
  box.className = `verdict is-${SIGNS[answer.status] ? answer.status : "known"}`;
  at("verdict-word").textContent = capital(String(answer.status));
  at("verdict-sign").setAttribute("d", SIGNS[answer.status] ?? SIGNS.known);
  sentence(at("verdict-why"), ...reason(answer, added));
}

function speak(answer) {
  const found = (answer.matches ?? []).length;
  const others = found === 0 ? "" : ` ${found} ${found === 1 ? "document" : "documents"} listed.`;
  at("spoken").textContent = `${at("verdict-word").textContent}. ${at("verdict-why").textContent}${others}`;
}

// Whether the id that is given is there already, and with the same text.
async function compareId() {
  const line = at("verdict-id");
  const turn = ++asked.comparing;
  line.hidden = true;
  if (asked.sent === null || at("id").value === "") return;
  await page.guard(at("add-problem"), async () => {
    const id = readId(at("id"), at("id-number"), page.info?.id_kind);
    let found;
    try {
      found = await page.document(id);
    } catch (error) {
      if (turn !== asked.comparing) return;
      throw error;
    }
    if (found === null || turn !== asked.comparing) return;
    const same = typeof found.text === "string" && asked.sent.text !== undefined ? found.text === asked.sent.text : null;
    const known = "Known: this id is in the store with this text. Adding it again gives the first answer.";
    const other = "This id is in the store with another text. It cannot be added with this id.";
    line.textContent = same === null ? "This id is in the store." : same ? known : other;
    line.hidden = false;
  }, compareId);
}

function showMatches(found) {
  at("matches").hidden = found.length === 0;
  at("matches-title").textContent = found.length === 1 ? "The nearest document" : `The ${found.length} nearest documents`;
  at("matches-legend").hidden = page.kind !== "texts";
  at("matches-list").replaceChildren(...found.map((match, place) => matchItem(match, place === 0)));
}

function matchItem(match, open) {
  const item = node("li", "", "match");
  const head = node("div", "", "match-head");
  const figures = node("p", "", "figures");
  if (typeof match.similarity === "number") {
    figures.append(node("strong", similarityOf(match.similarity, page.kind)), node("span", "similarity"));
  }
  if (match.distance >= 0) figures.append(node("span", `distance ${number(match.distance)}`));
  head.append(idButton(match.id, page.look), figures);
  item.append(head);
  if (typeof match.similarity === "number") item.append(bar(match.similarity, page.kind === "files" ? 100 : 1));
  if (Object.keys(match.columns ?? {}).length > 0) item.append(columnsOf(match.columns));
  if (page.kind === "texts" && asked.sent?.text !== undefined) item.append(comparison(match.id, asked.sent.text, open));
  return item;
}

// Differences are asked for when they are opened.
function comparison(id, text, open) {
  const details = node("details");
  const box = node("div", "", "compared");
  details.append(node("summary", "Differences"), box);
  const fill = () => page.guard(box, async () => {
    const found = await page.document(id);
    if (found === null) throw new Problem("It is not there any more", "It was removed meanwhile.");
    if (typeof found.text !== "string") {
      box.append(node("p", "The store keeps no text of this document.", "quiet"));
      return;
    }
    const result = differences(found.text, text);
    box.replaceChildren(node("p", summary(result), "small quiet"), drawn(result));
  }, fill);
  details.addEventListener("toggle", () => details.open && box.childNodes.length === 0 && fill());
  details.open = open;
  return details;
}

// A key for one adding: the same again after a lost answer is not a second one.
function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function givenColumns() {
  const text = at("columns").value.trim();
  if (text === "") return undefined;
  let columns;
  try {
    columns = parseJson(text);
  } catch {
    columns = null;
  }
  if (columns === null || typeof columns !== "object" || Array.isArray(columns)) {
    throw new Problem("These are no columns", 'Columns are a JSON object, such as {"source": "web"}.');
  }
  return columns;
}

async function add() {
  if (page.info?.readonly || at("add-button").disabled) return;
  clearTimeout(asked.timer);
  // What is said of the adding is not replaced by what is said of its id.
  clearTimeout(asked.idTimer);
  asked.comparing++;
  asked.stop?.abort();
  at("added").hidden = true;
  if (at("add").hidden) await check();
  if (at("add").hidden) return;
  await page.guard(at("add-problem"), async () => {
    const id = readId(at("id"), at("id-number"), page.info?.id_kind);
    const columns = givenColumns();
    const document = { ...(id === undefined ? {} : { id }), ...subject(), ...(columns === undefined ? {} : { columns }) };
    const headers = {};
    if (id !== undefined) headers["Idempotency-Key"] = asked.key ||= newKey();
    const route = at("wanted").checked ? "/v1/add" : "/v1/check-and-add";
    at("add-button").disabled = true;
    try {
      const answer = await ask(route, { body: ready(document), headers });
      asked.key = "";
      showAdded(answer);
    } finally {
      at("add-button").disabled = false;
    }
    page.refresh();
  }, add);
}

function showAdded(answer) {
  const line = at("added");
  const said = answer.status === "known" ? "Nothing was added: " : "Added: ";
  const words = [said, answer.id === undefined ? "it" : idButton(answer.id, page.look), ` is ${answer.status ?? "there"}.`];
  sentence(line, ...words);
  line.hidden = false;
  at("verdict-id").hidden = true;
  if (answer.status !== undefined) showVerdict(answer, true);
  at("spoken").textContent = `${line.textContent} ${at("verdict-why").textContent}`;
}
