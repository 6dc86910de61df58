"""`tune_bands`: measure which number of values and which bands of MinHash reach a recall, and at which cost.

A true pair is one whose features have at least the threshold's Jaccard similarity, on a sample as in `nearkin.tune`.
The bands of `theory.choose_bands` have their recall for pairs exactly at the threshold, and find pairs above it more
often. If most pairs of a corpus are well above the threshold, fewer candidates suffice. So the bands of all smaller and
larger nominal recalls are measured for every number of values, and the cheapest with the target recall is recommended:
`nearkin dedup --recall` with that nominal recall uses these bands.

The cost is computed from counts, so that the choice depends on arguments alone: a candidate that does not match costs
`CANDIDATE_COST` of hashing a document, 128 values of a signature `_VALUES_COST`. Intervals are those of `nearkin.tune`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates import Values
from nearkin.dedup.config import THRESHOLD
from nearkin.dedup.inputs import ColumnNames, FrameLike, Paths
from nearkin.dedup.result import ResultTable
from nearkin.errors import ParameterError, bad_parameter, check_count
from nearkin.families.minhash import signature
from nearkin.index.bands import BandIndex
from nearkin.index.ids import Ids
from nearkin.io import Corpus
from nearkin.progress import ShowProgress, reporting
from nearkin.quality.ground_truth import TruePairs, find_similar_pairs
from nearkin.quality.recipe_hints import recipe_hints
from nearkin.quality.tuning import (
    CANDIDATE_COST,
    Row,
    TuningResult,
    check_options,
    estimate_notes,
    few_pairs_notes,
    sample_inputs,
)
from nearkin.recipe import PRESETS, Recipe
from nearkin.text.batches import Texts
from nearkin.theory import Banding, choose_bands
from nearkin.theory.intervals import RecallIntervals

NUM_PERMS = (64, 128, 256)

_NOMINAL_RECALLS = (*(round(step / 20, 2) for step in range(1, 20)), 0.97, 0.98, 0.99, 0.995, 0.999)
"""Nominal recalls whose bands are measured."""
_VALUES_COST = 0.2
"""Cost of 128 values, relative to hashing a document: measured 0.13 to 0.33, texts of 1 KB."""
_CHUNK_PAIRS = 1 << 14
"""Number of true pairs whose values are compared at a time."""


@dataclass(frozen=True)
class BandTuning(TuningResult):
    """The result of `tune_bands`. As a table it is its curve.

    Attributes
    ----------
    chosen : dict or None
        The recommended row of `curve`; None if none reaches the recall.
    curve : ResultTable
        A row per choice of bands: recipe, num_perm, num_bands, num_rows, least_equal_values, nominal_recall (the
        `recall` to pass to `nearkin.dedup`), recall with recall_low and recall_high, precision and
        candidates_per_document (scaled to the corpus) of the candidates, bytes per document, cost.
    hashing : ResultTable
        A row per number of values: num_perm, measured CPU seconds per million documents.
    truth : dict
        The origin of the truth, as in `nearkin.quality.Tuning`.
    notes : list of str
        Remarks that a reader of the figures should know.
    """

    threshold: float
    chosen: Row | None
    curve: ResultTable
    hashing: ResultTable
    truth: Row
    notes: list[str]
    goal: str = field(default="recall", init=False)

    def _options(self, chosen: Row) -> tuple[float, str, float]:
        return self.threshold, "--recall", chosen["nominal_recall"]


def tune_bands(
    texts: Texts | Corpus | FrameLike | Paths,
    ids: Ids | None = None,
    *,
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    threshold: float = THRESHOLD,
    recall: float = 0.95,
    recipe: Recipe | str = PRESETS["minhash"],
    num_perms: Iterable[int] = NUM_PERMS,
    sample: int = 20_000,
    seed: int = 0,
    progress: ShowProgress = None,
) -> BandTuning:
    """Measure which values and bands of MinHash reach a recall of similar pairs at the lowest cost.

    Parameters
    ----------
    texts : sequence of str or None, an Arrow string array, a frame, paths, or an open Corpus
        As for `nearkin.dedup`.
    ids : integers or strings, one per text; optional
    text, id : str, optional
        Columns of the texts and of the ids in a frame or in files, as for `nearkin.dedup`.
    threshold : float, default 0.8
        Minimum similarity of a match, inclusive, above 0 and up to 1.
    recall : float, default 0.95
        Minimum fraction of the true pairs among the candidates, above 0 and up to 1.
    recipe : Recipe or str, default the preset minhash
        A recipe with MinHash; its number of values is ignored.
    num_perms : iterable of int, default (64, 128, 256)
        Numbers of values to try, each 1 to 512.
    sample : int, default 20,000
        Maximum number of documents to measure.
    seed : int, default 0
        Seed of the sample and of the bootstrap.
    progress : bool or function, optional
        True shows bars in a terminal or a notebook; a function is called with stage, done and total.

    Raises
    ------
    ParameterError
        A number is out of its range, or the recipe has another family.

    Examples
    --------
    >>> import nearkin as nk
    >>> words = "the quick brown fox jumps over the lazy dog and runs away from the old grey hound".split()
    >>> texts = [" ".join(words[:i] + [f"w{i}"] + words[i + 1 :]) for i in range(len(words))]
    >>> tuning = nk.tune_bands(texts, threshold=0.6, num_perms=[64, 128])
    >>> tuning.chosen["recall"] >= 0.95, tuning.truth["pairs"]
    (True, 136)
    """
    check_options(threshold, recall, sample)
    base = Recipe.of(recipe)
    if base.family != "minhash" or base.features == "given":
        raise bad_parameter("recipe", base, "a recipe of texts, with minhash, such as " + PRESETS["minhash"])
    if isinstance(num_perms, (str, bytes)) or not isinstance(num_perms, Iterable):
        raise bad_parameter("num_perms", repr(num_perms), "an iterable of integers, such as [64, 128]")
    numbers = {check_count("num_perms", count, 1, 512, "integers from 1 to 512") for count in num_perms}
    recipes = [base.with_(num_perm=count) for count in sorted(numbers)]
    if not recipes:
        raise bad_parameter("num_perms", "none", "at least one")
    rows: list[Row] = []
    hashing: dict[str, list[float]] = {"num_perm": [], "hash_seconds": []}
    with reporting(progress) as report:
        columns = ColumnNames.from_args(text, id, texts)
        drawn = sample_inputs(texts, ids, columns, sample, seed, report).without_copies()
        features = base.with_(family="simhash", bits=64)
        truth = find_similar_pairs(drawn.texts, features, threshold, lambda done, total: report("compare", done, total))
        intervals = RecallIntervals(truth.left, truth.right, seed)
        for item in recipes:
            report(f"count {item}", 0, 1)
            start = time.process_time()
            values, counts = signature(drawn.texts, item, return_counts=True)
            hashing["num_perm"].append(item.num_perm)
            hashing["hash_seconds"].append(1e6 * (time.process_time() - start) / max(len(drawn.texts), 1))
            scale = 2 * drawn.documents / max(len(drawn.texts) + drawn.copies, 1) / max(int((counts > 0).sum()), 1)
            rows += [
                _measure(item, nominal, bands, values, counts > 0, truth, scale, intervals)
                for nominal, bands in _distinct_bands(threshold, item.num_perm)
            ]
            report(f"count {item}", 1, 1)
    chosen, notes = _choose(rows, recall, len(truth.left))
    notes += recipe_hints(drawn.texts, truth, base, threshold)
    summary = truth.summarize(drawn, seed)
    return BandTuning(threshold, chosen, ResultTable.of_rows(rows), ResultTable(hashing), summary, notes)


def _distinct_bands(threshold: float, num_perm: int) -> list[tuple[float, Banding]]:
    """Return the distinct bands of all nominal recalls, each with its lowest nominal recall."""
    distinct: dict[tuple[int, int, int], tuple[float, Banding]] = {}
    for nominal in _NOMINAL_RECALLS:
        try:
            bands = choose_bands(threshold, nominal, num_perm)
        except ParameterError:
            break
        distinct.setdefault((bands.num_bands, bands.num_rows, bands.min_matches), (nominal, bands))
    return list(distinct.values())


def _measure(
    recipe: Recipe,
    nominal: float,
    bands: Banding,
    values: Values,
    present: NDArray[np.bool_],
    truth: TruePairs,
    scale: float,
    intervals: RecallIntervals,
) -> Row:
    """Return the measured row."""
    chunks = [np.zeros(0, bool)]
    for start in range(0, len(truth.left), _CHUNK_PAIRS):
        left, right = truth.left[start : start + _CHUNK_PAIRS], truth.right[start : start + _CHUNK_PAIRS]
        equal = values[left] == values[right]
        in_bands = equal[:, : bands.num_bands * bands.num_rows].reshape(len(left), bands.num_bands, bands.num_rows)
        chunks.append(in_bands.all(axis=2).any(axis=1) & (equal.sum(axis=1) >= bands.min_matches))
    hits = np.concatenate(chunks)
    index = BandIndex.from_banding(bands, recipe)
    index.add(np.flatnonzero(present), values[present])
    candidates = sum(len(pairs) for pairs in index.iter_pairs(bands.min_matches / recipe.num_perm))
    num_hits = int(hits.sum())
    low, high = intervals.of_hits(hits)
    return {
        "recipe": str(recipe),
        "num_perm": recipe.num_perm,
        "num_bands": bands.num_bands,
        "num_rows": bands.num_rows,
        "least_equal_values": bands.min_matches,
        "nominal_recall": nominal,
        "recall": num_hits / len(hits) if len(hits) else None,
        "recall_low": low,
        "recall_high": high,
        "precision": num_hits / candidates if candidates else None,
        "candidates_per_document": candidates * scale,
        "bytes": values.itemsize * recipe.num_perm,
        "cost": CANDIDATE_COST * (candidates - num_hits) * scale + _VALUES_COST * recipe.num_perm / 128,
    }


def _choose(rows: list[Row], target: float, num_pairs: int) -> tuple[Row | None, list[str]]:
    """Return the recommended row, and notes."""
    if not num_pairs:
        return None, ["no true pair in the sample; nothing can be tuned"]
    notes: list[str] = []
    # By the lower bound if any bands reach it, otherwise by the estimate and theory, as in `tune`.
    min_nominal = min(target, _NOMINAL_RECALLS[-1])
    sufficient = [row for row in rows if row["recall_low"] >= target] or [
        row for row in rows if (row["recall"] or 0) >= target and row["nominal_recall"] >= min_nominal
    ]
    chosen = min(sufficient, key=lambda row: (row["cost"], row["num_perm"]), default=None)
    if chosen is None:
        notes.append(f"no bands find {target:g} of the true pairs; use a lower recall or more values")
    else:
        notes += estimate_notes(chosen["recall"], chosen["recall_low"], target)
    return chosen, notes + few_pairs_notes(num_pairs)
