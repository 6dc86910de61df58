// The second part of the page: a document by its id, and removing it.

import { askFor } from "./check.js";
import { folded } from "./differences.js";
import {
  at, clear, columnsOf, field, idButton, idNode, node, readId, sentence, showProblem, similarityOf,
} from "./parts.js";
import { Problem, ask, toJson } from "./service.js";
import { number } from "./state.js";

const LONG = 20_000; // characters of a text that are shown at first
const EDGE = 10_000;

let page;
let shown = null;

export function startLookup(given) {
  page = given;
  at("look").addEventListener("submit", (event) => {
    event.preventDefault();
    page.guard(at("look-problem"), async () => {
      const id = readId(at("look-id"), null, page.info?.id_kind);
      if (id === undefined) throw new Problem("No id", "Give the id of a document.");
      await look(id);
    }, () => at("look").requestSubmit());
  });
  at("document-check").addEventListener("click", () => shown && askFor(shown.text));
  at("document-remove").addEventListener("click", askWhetherSure);
  at("sure-no").addEventListener("click", () => at("sure").close());
  at("sure-yes").addEventListener("click", remove);
  at("sure").addEventListener("close", () => !at("document-remove").hidden && at("document-remove").focus());
  addEventListener("hashchange", lookAtAddress);
}

// A store may keep hashes of features instead, or nothing.
const keepsTexts = () => page.kind === "texts" && (page.info?.settings?.text ?? "keep") === "keep";

// One document by any id, also one that an address cannot hold; null where there is none.
export async function documentOf(id) {
  const text = keepsTexts() ? "text=1&" : "";
  const { documents } = await ask(`/v1/documents?${text}missing_ok=1`, { body: toJson({ ids: [id] }) });
  return documents[0] ?? null;
}

// The address names the document that is shown, so that it can be sent to somebody.
export function lookAtAddress() {
  const found = /^#document=(.*)$/.exec(location.hash);
  if (found === null) return;
  let text;
  try {
    text = decodeURIComponent(found[1]);
  } catch {
    return;
  }
  if (shown !== null && String(shown.id) === text) return;
  const id = page.info?.id_kind === "int" && /^-?\d{1,19}$/.test(text) ? BigInt(text) : text;
  page.look(id);
}

export async function look(id) {
  at("removed").hidden = true;
  at("look-id").value = String(id);
  const found = await documentOf(id);
  shown = found;
  at("document").hidden = found === null;
  if (found === null) {
    const detail = `The store has no document with the id ${String(id)}.`;
    throw new Problem("No such document", detail);
  }
  showDocument(found);
  if (String(id).length < 1000) history.replaceState(null, "", `#document=${wellFormed(String(id))}`);
  at("document-title").focus();
}

function wellFormed(text) {
  try {
    return encodeURIComponent(text);
  } catch {
    return ""; // Half a character has no place in an address.
  }
}

function showDocument(found) {
  sentence(at("document-title"), idNode(found.id));
  const list = at("document-fields");
  clear(list);
  field(list, "status", node("span", String(found.status), `tag is-${found.status}`));
  if (found.match !== null && found.match !== undefined) field(list, "match", idButton(found.match, page.look));
  if (typeof found.similarity === "number") field(list, "similarity", similarityOf(found.similarity, page.kind));
  if (found.distance >= 0) field(list, "distance", number(found.distance));
  for (const name of ["row", "features", "length"]) {
    if (typeof found[name] === "number" && found[name] >= 0) field(list, name, number(found[name]));
  }
  for (const name of ["digest", "vector"]) {
    if (found[name] !== undefined && found[name] !== null) field(list, name, node("code", JSON.stringify(found[name]).slice(0, 2000)));
  }
  if (Object.keys(found.columns ?? {}).length > 0) field(list, "columns", columnsOf(found.columns));
  const hasText = typeof found.text === "string";
  at("document-text-box").hidden = !hasText;
  at("document-text").replaceChildren(...(hasText ? [folded(found.text, LONG, EDGE, EDGE, "more")] : []));
  at("document-no-text").hidden = hasText || page.kind !== "texts";
  const kept = keepsTexts() ? "No text is kept: it did not stay." : "No text is kept: this store keeps none.";
  at("document-no-text").textContent = kept;
  at("document-check").hidden = !hasText || page.kind !== "texts";
  showRights();
}

// Whether documents can be removed changes with the disk.
export function showRights() {
  at("document-remove").hidden = shown === null || (page.info?.readonly ?? false);
}

function askWhetherSure() {
  if (shown === null) return;
  sentence(at("sure-id"), idNode(shown.id));
  at("sure-erase").checked = false;
  clear(at("sure-problem"));
  at("sure").showModal();
  at("sure-no").focus();
}

async function remove() {
  const { id } = shown;
  const erase = at("sure-erase").checked ? "?erase=1" : "";
  at("sure-yes").disabled = true;
  try {
    await ask(`/v1/remove${erase}`, { body: toJson({ id }) });
  } catch (error) {
    showProblem(at("sure-problem"), error);
    if (error.status === 401) {
      at("sure").close();
      page.wantToken(askWhetherSure);
    }
    return;
  } finally {
    at("sure-yes").disabled = false;
  }
  shown = null;
  at("document").hidden = true;
  at("document-remove").hidden = true;
  at("sure").close();
  sentence(at("removed"), "Removed: ", idNode(id), ".");
  at("removed").hidden = false;
  history.replaceState(null, "", location.pathname);
  at("look-id").focus();
  page.refresh();
}
