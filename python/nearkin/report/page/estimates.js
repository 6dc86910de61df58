// What labels say of the whole run.
//
// The queue is a sample by stratum (a step of similarity, removed pairs apart from near misses). A decided pair i of
// stratum h stands for w_i = W_h q_i / sum of q over the decided pairs of h, where W_h are the pairs of the run in h and
// q_i is the weight that the queue gave. A pair that was judged elsewhere stands for itself, w = 1.
//
//     precision = sum of w over removed pairs that are the same / sum of w over removed pairs
//     recall    = sum of w over removed pairs that are the same / sum of w over pairs that are the same
//     worse     = sum of w over removed pairs whose kept one is the worse copy / sum of w over removed pairs that are the same
//
// Intervals are Wilson's (1927) of 95%, of n = (sum of w)^2 / sum of w^2 cases: Kish's effective size (1965). "Unsure"
// counts nowhere.

const Z = 1.959964;

// Wilson's interval for a share p of n cases.
export function wilson(p, n) {
  if (!(n > 0)) return [0, 1];
  const middle = p + (Z * Z) / (2 * n);
  const spread = Z * Math.sqrt((p * (1 - p)) / n + (Z * Z) / (4 * n * n));
  const whole = 1 + (Z * Z) / n;
  return [p === 0 ? 0 : (middle - spread) / whole, p === 1 ? 1 : (middle + spread) / whole];
}

// The weighted share of rows that hit: {value, low, high, cases, worth}; null without rows.
export function shareOf(rows, hits) {
  let [sum, squares, hit] = [0, 0, 0];
  for (const row of rows) {
    sum += row.weight;
    squares += row.weight * row.weight;
    if (hits(row)) hit += row.weight;
  }
  if (sum === 0) return null;
  const [value, worth] = [hit / sum, (sum * sum) / squares];
  const [low, high] = wilson(Math.min(value, 1), worth);
  return { value, low, high, cases: rows.length, worth };
}

// Gives each row {similarity, removed, answer, stratum, drawn} its weight; `stratum` is null outside the queue. Unsure
// ones have the weight that a decided one of their stratum has.
export function weighed(rows, strata) {
  const decided = new Float64Array(strata.length);
  const looked = new Float64Array(strata.length);
  for (const { stratum, drawn, answer } of rows) {
    if (stratum === null) continue;
    looked[stratum] += drawn;
    if (answer !== "unsure") decided[stratum] += drawn;
  }
  return rows.map((row) => {
    if (row.stratum === null) return { ...row, weight: 1 };
    const of = decided[row.stratum] || looked[row.stratum];
    return { ...row, weight: (strata[row.stratum].pairs * row.drawn) / of };
  });
}

const same = (row) => row.answer === "same" || row.answer === "worse";

export function scores(rows) {
  const sure = rows.filter((row) => row.answer !== "unsure");
  return {
    precision: shareOf(sure.filter((row) => row.removed), same),
    recall: shareOf(sure.filter(same), (row) => row.removed),
    worse: shareOf(sure.filter((row) => row.removed && same(row)), (row) => row.answer === "worse"),
  };
}

// By steps of similarity: the strata of a step, removed and not, are one row.
export function bySimilarity(rows, strata) {
  const steps = new Map();
  for (const stratum of strata) {
    const step = steps.get(stratum.low) ?? { name: stratum.name, low: stratum.low, high: stratum.high, pairs: 0 };
    step.pairs += stratum.pairs;
    steps.set(stratum.low, step);
  }
  const sure = rows.filter((row) => row.answer !== "unsure");
  return [...steps.values()].sort((a, b) => a.low - b.low).map((step, place, all) => {
    const within = ({ similarity: s }) => s >= step.low && (s < step.high || (place === all.length - 1 && s <= step.high));
    const own = sure.filter(within);
    return { ...step, judged: own.length, same: own.filter(same).length, share: shareOf(own, same) };
  });
}

// Precision, recall and F1 of thresholds: the lower ends of the steps, and the run's own.
export function thresholds(rows, strata, own) {
  const sure = rows.filter((row) => row.answer !== "unsure");
  const values = [...new Set([own, ...strata.map((stratum) => stratum.low)])].sort((a, b) => a - b);
  return values.map((threshold) => {
    const reaches = (row) => row.similarity >= threshold - 1e-6;
    const precision = shareOf(sure.filter(reaches), same);
    const recall = shareOf(sure.filter(same), reaches);
    const [p, r] = [precision?.value ?? 0, recall?.value ?? 0];
    return { threshold, precision, recall, f1: p + r > 0 ? (2 * p * r) / (p + r) : 0 };
  });
}

// The threshold with the greatest F1, of equal ones the nearest to the run's own; null where labels are too few.
export function suggested(rows, strata, own, least = 20) {
  const sure = rows.filter((row) => row.answer !== "unsure");
  if (sure.length < least || sure.every(same) || !sure.some(same)) return null;
  const better = (a, b) => b.f1 - a.f1 || Math.abs(a.threshold - own) - Math.abs(b.threshold - own);
  return thresholds(rows, strata, own).sort(better)[0];
}
