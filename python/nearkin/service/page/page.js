// The page of the service: which store it is, the token, and the state that is asked for every two seconds.

import { check, KINDS, showKind, startCheck } from "./check.js";
import { documentOf, look, lookAtAddress, showRights, startLookup } from "./lookup.js";
import { shape } from "./nodes.js";
import { at, clear, field, inLine, node, showProblem } from "./parts.js";
import { ask, Problem, token } from "./service.js";
import { answersOf, between, bytes, Chart, number, parseMetrics, total } from "./state.js";

const EVERY = 2000; // milliseconds between two readings
const INFO_EVERY = 15; // readings

// What the parts of the page share.
const page = {
  info: null,
  kind: "texts",
  document: documentOf,
  guard,
  wantToken,
  refresh: () => void readInfo().catch(() => {}),
  look: (id) => guard(at("look-problem"), () => look(id), () => page.look(id)),
};

// Runs an action; what goes wrong is shown in `box`. Without a token one is asked for, and then `again` is called.
async function guard(box, action, again) {
  clear(box);
  try {
    await action();
  } catch (error) {
    if (error.name === "AbortError") return;
    if (error.status === 401) {
      wantToken(again);
      return;
    }
    if (["read-only", "disk-full"].includes(error.slug)) page.refresh();
    const other = node("button", "Use another token", "plain");
    other.type = "button";
    other.addEventListener("click", () => wantToken(again));
    showProblem(box, error, ...(error.slug === "not-allowed" && token.get() ? [other] : []));
  }
}

// The token.

let afterToken = null;

function wantToken(again = null) {
  afterToken = again ?? afterToken;
  const had = token.get() !== "";
  at("token-form").hidden = false;
  at("token-forget").hidden = !had;
  at("token-open").hidden = false;
  if (document.activeElement !== at("token")) at("token").focus();
}

async function useToken(event) {
  event.preventDefault();
  const box = at("token-problem");
  const before = token.get();
  clear(box);
  const given = at("token").value.trim();
  if (!/^[\x21-\x7e]+$/.test(given)) {
    showProblem(box, new Problem("This is not a token", "A token has letters, digits and signs of ASCII, without spaces."));
    return;
  }
  token.set(given);
  try {
    await readInfo();
  } catch (error) {
    // Patterns without a store: the token is right.
    if (error.slug === "no-store") {
      location.assign("/page/patterns.html");
      return;
    }
    token.set(before);
    const wrong = error.status === 401;
    showProblem(box, wrong ? new Problem("The service does not take this token", "See the file of --token-file.") : error);
    at("token").select();
    return;
  }
  at("token").value = "";
  at("token-form").hidden = true;
  at("token-open").hidden = false;
  const again = afterToken;
  afterToken = null;
  at("subject").focus();
  watch();
  if (again) again();
  else lookAtAddress();
}

function startToken() {
  at("token-form").addEventListener("submit", useToken);
  at("token-open").hidden = token.get() === "";
  at("token-open").addEventListener("click", () => {
    if (at("token-form").hidden) wantToken();
    else at("token-form").hidden = true;
  });
  at("token-forget").addEventListener("click", () => {
    token.set("");
    location.reload();
  });
}

// Which store it is.

async function readInfo() {
  page.info = await ask("/v1/info");
  page.kind = KINDS[page.info.kind] ? page.info.kind : "texts";
  showKind();
  showRights();
  showReadonly();
  showSettings();
  showTiles(null);
  at("version").textContent = page.info.version ? `nearkin ${inLine(page.info.version, 40)}` : "";
}

function showReadonly() {
  const { readonly, reason_readonly: reason } = page.info;
  const why = reason ? `This store is read-only: ${inLine(reason)}.` : "This service is read-only.";
  const words = `${why} Checks go on; nothing can be added or removed.`;
  at("readonly").hidden = !readonly;
  if (at("readonly").textContent !== words) at("readonly").textContent = readonly ? words : "";
}

function showSettings() {
  const list = at("settings");
  clear(list);
  field(list, "kind", inLine(page.info.kind));
  for (const [name, value] of Object.entries(page.info.settings ?? {})) {
    field(list, name.replaceAll("_", " "), Array.isArray(value) && value.length === 0 ? "none" : inLine(value));
  }
}

// The state, live.

const charts = {
  requests: new Chart("Requests per second", ""),
  most: new Chart("99% of requests within", " ms", "slow"),
  documents: new Chart("Documents answered per second", "", "answered"),
};
const reading = { timer: 0, number: 0, metrics: null, time: 0, paused: false, going: false };

function showTiles(metrics) {
  const info = page.info ?? {};
  const value = (name) => (metrics && total(metrics, `nearkin_${name}`)) ?? info[name] ?? null;
  const part = (name) =>
    (metrics && total(metrics, "nearkin_bytes", (labels) => labels.part === name)) ?? info.bytes?.[name] ?? null;
  const parts = ["log", "documents", "index"].map((name) => [name, part(name)]);
  const all = parts.reduce((sum, [, size]) => sum + (size ?? 0), 0);
  const list = at("tiles");
  clear(list);
  for (const name of ["documents", "waiting", "segments", "removed"]) {
    field(list, name, node("strong", number(value(name))));
  }
  field(list, "on disk", node("strong", bytes(all)), node("span", parts.map(([name, size]) => `${name} ${bytes(size)}`).join(", "), "small quiet"));
  list.lastChild.className = "wide";
  const documents = value("documents");
  const count = `${number(documents)} ${documents === 1 ? "document" : "documents"}`;
  at("about").textContent = `A store of ${page.kind} with ${count}`;
}

function showAnswers(metrics) {
  const answers = answersOf(metrics);
  const all = answers.reduce((sum, [, count]) => sum + count, 0);
  at("answers").hidden = all === 0;
  if (all === 0) return;
  let x = 0;
  const pieces = answers.map(([status, count]) => {
    const width = (100 * count) / all;
    const piece = shape("rect", { x, width, height: 4, class: `is-${status}` });
    x += width;
    return piece;
  });
  at("answers-bar").replaceChildren(...pieces);
  at("answers-list").replaceChildren(
    ...answers.map(([status, count]) => {
      const item = node("li", "", `is-${status}`);
      const share = (100 * count) / all;
      item.append(node("span", "", "dot"), `${status} `, node("strong", number(count)), node("span", ` ${number(Number(share.toFixed(share < 10 ? 1 : 0)))}%`, "quiet"));
      return item;
    }),
  );
}

function showWork(metrics, rates) {
  const list = at("work");
  clear(list);
  field(list, "commits per second", number(rates.commits));
  field(list, "a commit takes", rates.commit === null ? "–" : `${number(rates.commit)} ms`);
  field(list, "documents per batch", number(rates.batch));
  const [waiting, size] = [total(metrics, "nearkin_queue_documents"), total(metrics, "nearkin_queue_bytes")];
  field(list, "in the queue", waiting === null ? "–" : `${number(waiting)} documents, ${bytes(size)}`);
}

async function read() {
  if (page.info === null) {
    await readInfo();
    lookAtAddress();
  } else if (reading.number % INFO_EVERY === INFO_EVERY - 1) {
    await readInfo();
  }
  reading.number++;
  const metrics = parseMetrics(await ask("/metrics", { plain: true, signal: AbortSignal.timeout(10_000) }));
  const now = performance.now();
  const seconds = (now - reading.time) / 1000;
  showTiles(metrics);
  showAnswers(metrics);
  // Of a moment a rate is chance, and after a pause it would be the mean of the pause.
  const usual = EVERY / 1000;
  if (reading.metrics !== null && seconds < usual / 2) return;
  if (reading.metrics !== null && seconds < 3 * usual) {
    const rates = between(reading.metrics, metrics, seconds);
    charts.requests.add(rates.requests);
    charts.documents.add(rates.documents);
    charts.most.add(rates.most, rates.half);
    showWork(metrics, rates);
  }
  reading.metrics = metrics;
  reading.time = now;
}

function say(words) {
  if (at("live").textContent !== words) at("live").textContent = words;
}

// One reading now and one every two seconds after it, until the page is paused or hidden.
async function watch() {
  clearTimeout(reading.timer);
  if (reading.paused || document.hidden) {
    say(reading.paused ? "Paused." : "Paused while this tab is hidden.");
    return;
  }
  if (reading.going) return;
  reading.going = true;
  try {
    await read();
    clear(at("state-problem"));
    at("state-problem").dataset.since = "";
    say("Live, every 2 seconds.");
  } catch (error) {
    reading.metrics = null;
    if (error.status === 401) {
      say("A token is needed.");
      wantToken();
      return;
    }
    showSilence(error);
  } finally {
    reading.going = false;
  }
  clearTimeout(reading.timer);
  if (reading.paused || document.hidden) watch();
  else reading.timer = setTimeout(watch, EVERY);
}

// A service that does not answer is said once, with the time since when.
function showSilence(error) {
  const box = at("state-problem");
  if (box.dataset.since) return;
  box.dataset.since = new Date().toLocaleTimeString("en-GB");
  const slow = error.name === "TimeoutError" || error.name === "AbortError";
  showProblem(box, slow ? new Problem("The service is slow", "It gave no state within 10 seconds.") : error);
  say(`No state since ${box.dataset.since}; trying again every 2 seconds.`);
}

function startWatching() {
  at("charts").append(...Object.values(charts).map((chart) => chart.node));
  at("pause").addEventListener("click", () => {
    reading.paused = !reading.paused;
    at("pause").textContent = reading.paused ? "Go on" : "Pause";
    watch();
  });
  document.addEventListener("visibilitychange", watch);
}

async function start() {
  startCheck(page);
  startLookup(page);
  startToken();
  startWatching();
  try {
    await readInfo();
    lookAtAddress();
  } catch (error) {
    if (error.status === 401) {
      at("about").textContent = "A store behind a token";
      say("A token is needed.");
      wantToken();
      return;
    }
    at("about").textContent = "The store could not be read";
  }
  watch();
  if (at("subject").value.trim() !== "") check();
}

start();
