// Two texts side by side: a row for each line that they have in common, long stretches that are equal folded.

import { boundary, count, drawn, folded, marked, differences, summary } from "./differences.js";
import { around, button, escaped, grouped, having, node } from "./nodes.js";

const WHOLE = { long: 240, edge: 90, rows: 6 }; // characters, characters, rows that stay open
const CUT = "… cut here";
const BRIEF = { long: 70, edge: 24, rows: 1 }; // differences only

// Draws the differences of two texts into a box. `cuts` says of which texts only the beginning is here; `look` is {unit,
// sides, brief, spaces}.
export function drawDifferences(box, texts, cuts, names, look) {
  const found = differences(...texts, look.unit, look.spaces || look.unit !== "words");
  upTo(cuts, found.runs);
  const size = look.brief ? BRIEF : WHOLE;
  const picture = look.sides ? table(found.runs, names, size, cuts) : drawn(found, size.long, size.edge, escaped);
  const isCut = cuts.includes(true);
  if (isCut && !look.sides) picture.append(" ", node("span", CUT, "escape"));
  box.replaceChildren(node("p", isCut ? toldOfCut(found, texts, names) : summary(found, names), isCut ? "notice" : "small quiet"), picture);
}

// Two texts of which only the beginnings were compared.
function toldOfCut(found, texts, names) {
  if (found.runs.some((run) => run.same === undefined)) return `${summary(found, names)} What comes after the cut is not in this report.`;
  const but = found.runs.some((run) => run.own !== undefined) ? ", but for white space" : "";
  const compared = Math.min(...texts.map((text) => [...text].length));
  return `The first ${grouped(compared)} characters are the same${but}. The rest is not in this report.`;
}

// Where a text is cut, what the other goes on with may be in the rest of it: that is no difference.
function upTo([cutOne, cutOther], runs) {
  const last = runs.at(-1);
  if (last === undefined || last.same !== undefined) return;
  const { gone, come } = last;
  const part = (text, other, isCut) => (isCut ? text.slice(0, boundary(text, other.length, -1)) : text);
  Object.assign(last, { gone: part(gone, come, cutOther), come: part(come, gone, cutOne) });
  if (last.gone === last.come) runs.splice(-1, 1, ...(last.gone === "" ? [] : [{ same: last.gone }]));
}

function table(runs, names, size, cuts) {
  const head = names.map((name) => having(node("th", name), { scope: "col" }));
  const body = node("tbody");
  const rows = rowsOf(runs);
  for (let place = 0; place < rows.length;) {
    let end = place;
    while (end < rows.length && rows[end].same) end++;
    body.append(...stretch(rows.slice(place, end), size, place > 0, end < rows.length));
    if (end < rows.length) body.append(rowNode(rows[end], size));
    place = end + 1;
  }
  if (cuts.includes(true)) body.append(around("tr", "", ...cuts.map((isCut) => node("td", isCut ? CUT : "", "escape"))));
  return around("table", "sides", around("thead", "", around("tr", "", ...head)), body);
}

// Rows {pieces, same}: each ends where a line ends that both texts have.
function rowsOf(runs) {
  const rows = [{ pieces: [], same: true }];
  for (const run of runs) {
    if (run.same === undefined) {
      rows.at(-1).pieces.push(run);
      rows.at(-1).same = false;
      continue;
    }
    const lines = linesOf(run);
    for (const [number, line] of lines.entries()) {
      if (number > 0) rows.push({ pieces: [], same: true });
      if (line.same !== "" || line.own || number < lines.length - 1) rows.at(-1).pieces.push(line);
    }
  }
  return rows.filter((row) => row.pieces.length > 0);
}

// The parts of a stretch between line ends that both texts have.
function linesOf({ same, own }) {
  if (own === undefined) return same.split("\n").map((line) => ({ same: line }));
  const [ones, others] = [same, own].map((text) => text.split(/(\s+)/));
  if (ones.length !== others.length) return [{ same, own }];
  const lines = [{ same: "", own: "" }];
  for (const [place, part] of ones.entries()) {
    const [end, otherEnd] = [part.lastIndexOf("\n"), others[place].lastIndexOf("\n")];
    const both = end >= 0 && otherEnd >= 0;
    lines.at(-1).same += both ? part.slice(0, end) : part;
    lines.at(-1).own += both ? others[place].slice(0, otherEnd) : others[place];
    if (both) lines.push({ same: part.slice(end + 1), own: others[place].slice(otherEnd + 1) });
  }
  return lines;
}

// Rows of a stretch that both texts have; its middle is a button where it is long.
function stretch(rows, size, after, before) {
  const open = Math.ceil(size.rows / 2);
  const [head, tail] = [after || !before ? open : 0, before ? open : 0];
  const middle = rows.slice(head, rows.length - tail);
  const characters = middle.flatMap(({ pieces }) => pieces).reduce((sum, piece) => sum + piece.same.length, 0);
  if (middle.length < 2 || (middle.length <= size.rows && characters <= size.long)) return rows.map((row) => rowNode(row, size));
  const opener = button(`… ${count(middle.length, "line")}, ${count(characters, "character")} the same …`, () => {
    const opened = middle.map((row) => rowNode(row, size));
    line.replaceWith(...opened);
    opened[0].firstChild.tabIndex = -1;
    opened[0].firstChild.focus();
  }, "fold");
  const line = around("tr", "fold-row", having(around("td", "", opener), { colSpan: 2 }));
  return [...rows.slice(0, head), line, ...rows.slice(rows.length - tail)].map((row) => (row === line ? row : rowNode(row, size)));
}

function rowNode({ pieces }, size) {
  const cells = ["", ""].map(() => having(node("td"), { dir: "auto" }));
  for (const [place, piece] of pieces.entries()) {
    if (piece.same === undefined) {
      if (piece.gone !== "") cells[0].append(marked("del", piece.gone, escaped));
      if (piece.come !== "") cells[1].append(marked("ins", piece.come, escaped));
      continue;
    }
    const edges = [place === 0 ? 0 : size.edge, place === pieces.length - 1 ? 0 : size.edge];
    // In a row that is the same on both sides the beginning is enough.
    if (pieces.length === 1) edges[0] = size.edge;
    for (const [side, text] of [piece.same, piece.own ?? piece.same].entries()) cells[side].append(folded(text, size.long, ...edges, "the same", escaped));
  }
  return around("tr", "", ...cells);
}
