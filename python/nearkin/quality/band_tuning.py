"""Which values and bands find the wanted share of similar pairs, and at which cost; measured.

A true pair is one whose features have at least the threshold's Jaccard similarity, as in `nearkin.tune`, on a sample
taken likewise. The bands of `theory.choose_bands` have their recall for pairs exactly at the threshold, and pairs above
it are found more often; on a corpus whose pairs lie well above it fewer candidates suffice. So all bands that a smaller
or larger nominal recall leads to are measured, for every number of values, and of those with the wanted recall the
cheapest is advised: `nearkin dedup --recall` with that nominal recall takes just these bands.

The cost is by counts, so that the choice depends on arguments alone: a candidate that does not match costs `_CANDIDATE`
of hashing a document, 128 values of a signature `_VALUES`. Intervals are those of `nearkin.tune`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates import Values
from nearkin.dedup.inputs import Columns, Documents, Frame, Paths, opened
from nearkin.dedup.result import ResultTable
from nearkin.dedup.texts import THRESHOLD
from nearkin.errors import ParameterError, bad_parameter, check_count
from nearkin.families.minhash import signature
from nearkin.index.bands import BandIndex
from nearkin.index.ids import Ids
from nearkin.io import Corpus
from nearkin.io.tables import Tabular
from nearkin.notebook import count_of, html_facts
from nearkin.progress import ShowProgress, reporting
from nearkin.quality.ground_truth import AboutTruth, TruePairs, similar_pairs, take_sample
from nearkin.quality.intervals import RecallIntervals
from nearkin.quality.recipe_hints import slot_notes
from nearkin.quality.tuning import FEW, check_options, estimate_notes
from nearkin.quality.tuning_results import dedup_command
from nearkin.recipe import PRESETS, Recipe
from nearkin.text.batches import Texts
from nearkin.theory import Banding, choose_bands

NUM_PERMS = (64, 128, 256)

_NOMINAL = (*(round(step / 20, 2) for step in range(1, 20)), 0.97, 0.98, 0.99, 0.995, 0.999)
"""Nominal recalls whose bands are measured."""
_CANDIDATE = 0.3
"""Cost of verifying a candidate, in hashings of a document, as in `nearkin.tune`."""
_VALUES = 0.2
"""Cost of 128 values, in hashings of a document: measured 0.13 to 0.33, texts of 1 KB."""
_PAIRS = 1 << 14
"""True pairs whose values are compared at once."""


class BandSetting(TypedDict):
    """A row of `BandTuning.curve`."""

    recipe: str
    num_perm: int
    num_bands: int
    num_rows: int
    least_equal_values: int
    nominal_recall: float
    recall: float | None
    recall_low: float
    recall_high: float
    precision: float | None
    candidates_per_document: float
    bytes: int
    cost: float


@dataclass(frozen=True)
class BandTuning(Tabular):
    """What `tune_bands` found; as a table, its curve.

    Attributes
    ----------
    chosen : dict or None
        The row of `curve` that is advised; None if none has the recall.
    curve : ResultTable
        A row for each choice of bands: recipe, num_perm, num_bands, num_rows, least_equal_values, nominal_recall (what
        to ask `nearkin.dedup` for), recall with recall_low and recall_high, precision and candidates_per_document
        (scaled to the corpus) of the candidates, bytes per document, cost.
    hashing : ResultTable
        A row for each number of values: num_perm, measured CPU seconds per million documents.
    truth : dict
        How the truth was found, and on what, as in `nearkin.Tuning`.
    notes : list of str
        What a reader of the figures has to know.
    """

    threshold: float
    chosen: BandSetting | None
    curve: ResultTable
    hashing: ResultTable
    truth: AboutTruth
    notes: list[str]

    def _columns(self) -> dict[str, list[Any]]:
        return self.curve.columns

    def _repr_html_(self) -> str:
        """What is advised and why, and the choices of bands, for a notebook."""
        facts = [("advised", self.command() or "nothing: no bands reach the recall")]
        return html_facts([*facts, *(("note", note) for note in self.notes)]) + self.curve._repr_html_()

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        tables = {name: list(getattr(self, name).rows()) for name in ("curve", "hashing")}
        head = {"goal": "recall", "threshold": self.threshold, "chosen": self.chosen, "truth": self.truth}
        return {**head, "notes": self.notes, "command": self.command(), **tables}

    def command(
        self, corpus: str | Sequence[str] = "CORPUS", *, reading: Sequence[str] = (), out: str = "clean"
    ) -> str | None:
        """The command line of a deduplication with what is advised; None if nothing is.

        Parameters
        ----------
        corpus, reading, out
            As for `Tuning.command`.
        """
        if self.chosen is None:
            return None
        options = ["--recipe", self.chosen["recipe"], "--threshold", f"{self.threshold:g}"]
        options += ["--recall", f"{self.chosen['nominal_recall']:g}"]
        return dedup_command(corpus, reading, out, options)


def tune_bands(
    texts: Texts | Corpus | Frame | Paths,
    ids: Ids | None = None,
    *,
    text: str | None = None,
    id: str | None = None,
    threshold: float = THRESHOLD,
    recall: float = 0.95,
    recipe: Recipe | str = PRESETS["minhash"],
    num_perms: Iterable[int] = NUM_PERMS,
    sample: int = 20_000,
    seed: int = 0,
    progress: ShowProgress = None,
) -> BandTuning:
    """Measure which values and bands of MinHash find the wanted share of similar pairs at the lowest cost.

    Parameters
    ----------
    texts : sequence of str or None, an Arrow string array, a frame, paths, or an open Corpus
        As for `nearkin.dedup`.
    ids : integers or strings, one per text; optional
    text, id : str, optional
        Of a frame or files: the columns of the texts and of the ids, as for `nearkin.dedup`.
    threshold : float, default 0.8
        Smallest similarity of a match, inclusive, above 0 and up to 1.
    recall : float, default 0.95
        Share of the true pairs that the candidates have to hold, above 0 and up to 1.
    recipe : Recipe or str, default the preset minhash
        Of the family minhash; its number of values is not used.
    num_perms : iterable of int, default (64, 128, 256)
        Numbers of values to try, each 1 to 512.
    sample : int, default 20,000
        Most documents that are measured.
    seed : int, default 0
        Of the sample and of the bootstrap.
    progress : bool or function, optional
        True shows bars in a terminal or a notebook; a function is called with stage, done and total.

    Raises
    ------
    ParameterError
        For a number out of its range, or a recipe of another family.

    Examples
    --------
    >>> import nearkin as nk
    >>> words = "the quick brown fox jumps over the lazy dog and runs away from the old grey hound".split()
    >>> texts = [" ".join(words[:i] + [f"w{i}"] + words[i + 1 :]) for i in range(len(words))]
    >>> tuned = nk.tune_bands(texts, threshold=0.6, num_perms=[64, 128])
    >>> tuned.chosen["recall"] >= 0.95, tuned.truth["pairs"]
    (True, 136)
    """
    check_options(threshold, recall, sample)
    made = Recipe.of(recipe)
    if made.family != "minhash" or made.features == "given":
        raise bad_parameter("recipe", made, "a recipe that reads texts, with minhash, such as " + PRESETS["minhash"])
    if isinstance(num_perms, (str, bytes)) or not isinstance(num_perms, Iterable):
        raise bad_parameter("num_perms", repr(num_perms), "an iterable of whole numbers, such as [64, 128]")
    numbers = {check_count("num_perms", count, 1, 512, "whole numbers from 1 to 512") for count in num_perms}
    recipes = [made.with_(num_perm=count) for count in sorted(numbers)]
    if not recipes:
        raise bad_parameter("num_perms", "none", "at least one")
    rows: list[BandSetting] = []
    hashing: dict[str, list[float]] = {"num_perm": [], "hash_seconds": []}
    given = Documents(texts, ids)  # type: ignore[arg-type]  # A frame or paths become texts when they are opened.
    with reporting(progress) as report:
        report("sample", 0, None)
        with opened(given, Columns.of(text, id, texts)) as documents:
            taken = take_sample(documents.texts, documents.ids, sample, seed, report=report).without_copies()
        sets = made.with_(family="simhash", bits=64)
        truth = similar_pairs(taken.texts, sets, threshold, lambda done, total: report("compare", done, total))
        intervals = RecallIntervals(truth.left, truth.right, seed)
        for each in recipes:
            report(f"count {each}", 0, 1)
            start = time.process_time()
            values, counts = signature(taken.texts, each, return_counts=True)
            hashing["num_perm"].append(each.num_perm)
            hashing["hash_seconds"].append(1e6 * (time.process_time() - start) / max(len(taken.texts), 1))
            scale = 2 * taken.documents / max(len(taken.texts) + taken.copies, 1) / max(int((counts > 0).sum()), 1)
            rows += [
                _measured(each, nominal, bands, values, counts > 0, truth, scale, intervals)
                for nominal, bands in _bands(threshold, each.num_perm)
            ]
            report(f"count {each}", 1, 1)
    chosen, notes = _advice(rows, recall, len(truth.left))
    notes += slot_notes(taken.texts, truth, made, threshold)
    return BandTuning(
        threshold, chosen, ResultTable.of_rows(rows), ResultTable(hashing), truth.about(taken, seed), notes
    )


def _bands(threshold: float, num_perm: int) -> list[tuple[float, Banding]]:
    """The different bands of all nominal recalls that the values allow, each with the lowest of these recalls."""
    found: dict[tuple[int, int, int], tuple[float, Banding]] = {}
    for nominal in _NOMINAL:
        try:
            bands = choose_bands(threshold, nominal, num_perm)
        except ParameterError:
            break
        found.setdefault((bands.num_bands, bands.num_rows, bands.least), (nominal, bands))
    return list(found.values())


def _measured(
    recipe: Recipe,
    nominal: float,
    bands: Banding,
    values: Values,
    present: NDArray[np.bool_],
    truth: TruePairs,
    scale: float,
    intervals: RecallIntervals,
) -> BandSetting:
    """The row of these bands."""
    found = [np.zeros(0, bool)]
    for start in range(0, len(truth.left), _PAIRS):
        left, right = truth.left[start : start + _PAIRS], truth.right[start : start + _PAIRS]
        equal = values[left] == values[right]
        used = equal[:, : bands.num_bands * bands.num_rows].reshape(len(left), bands.num_bands, bands.num_rows)
        found.append(used.all(axis=2).any(axis=1) & (equal.sum(axis=1) >= bands.least))
    hits = np.concatenate(found)
    index = BandIndex.of(bands, recipe)
    index.add(np.flatnonzero(present), values[present])
    share = bands.least / recipe.num_perm
    candidates = sum(len(part) for part in index.iter_pairs(share))
    true = int(hits.sum())
    low, high = intervals.of(hits)
    return {
        "recipe": str(recipe),
        "num_perm": recipe.num_perm,
        "num_bands": bands.num_bands,
        "num_rows": bands.num_rows,
        "least_equal_values": bands.least,
        "nominal_recall": nominal,
        "recall": true / len(hits) if len(hits) else None,
        "recall_low": low,
        "recall_high": high,
        "precision": true / candidates if candidates else None,
        "candidates_per_document": candidates * scale,
        "bytes": values.itemsize * recipe.num_perm,
        "cost": _CANDIDATE * (candidates - true) * scale + _VALUES * recipe.num_perm / 128,
    }


def _advice(rows: list[BandSetting], recall: float, pairs: int) -> tuple[BandSetting | None, list[str]]:
    """The row that is advised, and what to say about it."""
    if not pairs:
        return None, ["no true pair in the sample; nothing can be tuned"]
    notes: list[str] = []
    # By the lower bound if any bands reach it, else by the estimate and by theory, as a radius is chosen.
    least = min(recall, _NOMINAL[-1])
    enough = [row for row in rows if row["recall_low"] >= recall] or [
        row for row in rows if row["recall"] is not None and row["recall"] >= recall and row["nominal_recall"] >= least
    ]
    chosen = min(enough, key=lambda row: (row["cost"], row["num_perm"]), default=None)
    if chosen is None:
        notes.append(f"no bands find {recall:g} of the true pairs; ask for less, or try more values")
    else:
        notes += estimate_notes(chosen["recall"], chosen["recall_low"], recall)
    if pairs < FEW:
        notes.append(f"only {count_of(pairs, 'true pair')} in the sample; a larger one has more, if there are any")
    return chosen, notes
