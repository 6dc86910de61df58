// The file of labels: tab-separated, as `nearkin recipe evaluate` and `nearkin recipe tune` read it.

const COLUMNS = ["left", "right", "match", "similarity", "stratum", "weight", "removed"];
const MATCH = { same: "1", worse: "worse", different: "0", unsure: "unsure" };
const WORDS = { same: ["1", "1.0", "true", "yes"], worse: ["worse"], different: ["0", "0.0", "false", "no"], unsure: ["unsure", "", "none", "null", "nan"] };

// What a cell says; undefined where it is no label.
export function answerFor(match) {
  const word = String(match ?? "").trim().toLowerCase();
  return Object.keys(WORDS).find((answer) => WORDS[answer].includes(word));
}

const cell = (value) => {
  const text = String(value);
  return /[\t\x22\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

// Rows {ids, answer, similarity, stratum, weight, removed} as a file. What is unknown is empty.
export function written(rows) {
  const lines = rows.map(({ ids, answer, similarity, stratum, weight, removed }) =>
    [...ids, MATCH[answer], similarity, stratum, Number(weight.toPrecision(9)), removed].map((each) => cell(each ?? "")).join("\t"));
  return [COLUMNS.join("\t"), ...lines, ""].join("\n");
}

// The cells of a file, by rows.
export function cells(text) {
  const rows = [];
  let row = [];
  const pattern = /\x22((?:[^\x22]|\x22\x22)*)\x22(?=[\t\r\n]|$)|([^\t\r\n]*)/y;
  for (let place = 0; place < text.length;) {
    pattern.lastIndex = place;
    const [whole, quoted, plain] = pattern.exec(text);
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    place += whole.length;
    const sign = text[place];
    if (sign !== "\t") {
      rows.push(row);
      row = [];
      if (sign === "\r" && text[place + 1] === "\n") place++;
    } else if (place + 1 === text.length) {
      rows.push([...row, ""]);
    }
    place++;
  }
  return rows.filter((each) => each.length > 1 || each[0] !== "");
}

// The decisions of a file. Errors say what was found, and nothing of the file is taken.
export function readLabels(text) {
  const [head = [], ...rows] = cells(text.replace(/^\ufeff/, ""));
  const columns = [["left", "id_a"], ["right", "id_b"], ["match", "label"]].map((names) => head.findIndex((each) => names.includes(each)));
  if (columns.includes(-1)) {
    const found = head.slice(0, 8).join(", ").slice(0, 200) || "nothing";
    throw new Error(`This is no file of labels: its columns are ${found}; it needs left, right and match, tab-separated.`);
  }
  return rows.map((row, place) => {
    const [left, right, match] = columns.map((column) => row[column]);
    const answer = answerFor(match);
    if (left === undefined || right === undefined || answer === undefined) {
      throw new Error(`Row ${place + 2} has the label "${String(match).slice(0, 40)}"; labels are 1, 0, worse and unsure.`);
    }
    return { ids: [left, right], answer };
  });
}
