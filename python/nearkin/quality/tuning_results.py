"""What `nearkin.tune` found: the setting that is advised, and the tables that it follows from, row by row."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from nearkin.dedup.result import ResultTable
from nearkin.io.tables import Tabular
from nearkin.notebook import html_facts
from nearkin.quality.ground_truth import AboutTruth


class Setting(TypedDict, total=False):
    """A row of `Tuning.settings`; the last three keys with labels only."""

    recipe: str
    threshold: float
    radius: int | None
    recall: float | None
    recall_low: float | None
    recall_high: float | None
    precision: float | None
    candidates_per_document: float | None
    usual_radius: int
    bytes: int
    hash_seconds: float
    verify_seconds: float | None
    match_precision: float
    match_recall: float
    match_f1: float


class MatchScores(TypedDict):
    """How well the accepted matches agree with labels."""

    match_precision: float
    match_recall: float
    match_f1: float


class CurvePoint(TypedDict):
    """A row of `Tuning.curve`."""

    recipe: str
    radius: int
    recall: float
    recall_low: float
    recall_high: float
    precision: float | None
    precision_low: float
    precision_high: float
    f1: float | None
    candidates_per_document: float


class ThresholdPoint(TypedDict):
    """A row of `Tuning.thresholds`."""

    features: str
    threshold: float
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Tuning(Tabular):
    """What `tune` found; as a table, its curve.

    Attributes
    ----------
    goal : {"recall", "f1"}
        What was tuned for: recall of similar pairs, or agreement with labels.
    chosen : dict or None
        The row of `settings` that is advised; None if no setting reaches the recall.
    settings : ResultTable
        A row for every recipe: recipe, threshold, radius (None if none in reach gives the recall), recall with its
        interval, precision and candidates_per_document (all of them, scaled to the corpus) of its candidates, bytes per
        document, measured CPU seconds per million documents for hashing and for verifying the candidates that do
        not match; with labels precision, recall and F1 of what is verified: match_precision, match_recall, match_f1.
    curve : ResultTable
        A row for every recipe and radius: recipe, radius, recall, recall_low, recall_high, precision, precision_low,
        precision_high, f1, candidates_per_document.
    thresholds : ResultTable
        With labels, a row for every kind of features and threshold: features, threshold, precision, recall, f1.
    by_length : ResultTable
        For the recipe that is advised, a row for each quarter of the true pairs by features of the shorter text: from,
        to, pairs, recall, median and 95th percentile of the distance.
    truth : dict
        How the truth was found, and on what: documents, sample, copies, pairs, method, missed.
    notes : list of str
        What a reader of the figures has to know.
    """

    goal: str
    chosen: Setting | None
    settings: ResultTable
    curve: ResultTable
    thresholds: ResultTable
    by_length: ResultTable
    truth: AboutTruth
    notes: list[str]

    def _columns(self) -> dict[str, list[Any]]:
        return self.curve.columns

    def _repr_html_(self) -> str:
        """What is advised and why, and the settings, for a notebook."""
        facts = [("advised", self.command() or "nothing: no setting reaches the recall")]
        facts += [("note", note) for note in self.notes]
        return html_facts(facts) + self.settings._repr_html_()

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        tables = {name: list(getattr(self, name).rows()) for name in ("settings", "curve", "thresholds", "by_length")}
        head = {"goal": self.goal, "chosen": self.chosen, "truth": self.truth, "notes": self.notes}
        return {**head, "command": self.command(), **tables}

    def command(
        self, corpus: str | Sequence[str] = "CORPUS", *, reading: Sequence[str] = (), out: str = "clean"
    ) -> str | None:
        """The command line of a deduplication with what is advised; None if nothing is.

        Parameters
        ----------
        corpus : str or sequence of str, default "CORPUS"
            What the command names as its inputs.
        reading : sequence of str
            Options that say how these are read, such as `--id-column id`, one word each.
        out : str, default "clean"
            The folder that it writes.

        Examples
        --------
        >>> import nearkin as nk
        >>> texts = [f"{a} {b} grows in the garden behind the house" for a in ("red", "old") for b in ("ivy", "oak")]
        >>> nk.tune(texts, threshold=0.7, bits=[64]).command("corpus.jsonl")
        "nearkin dedup corpus.jsonl --out clean --recipe 'char:4|binary|xxh3|simhash:64' --threshold 0.7 --radius 18"
        """
        if self.chosen is None:
            return None
        chosen = self.chosen
        options = [
            "--recipe",
            chosen["recipe"],
            "--threshold",
            f"{chosen['threshold']:g}",
            "--radius",
            str(chosen["radius"]),
        ]
        return dedup_command(corpus, reading, out, options)


def dedup_command(corpus: str | Sequence[str], reading: Sequence[str], out: str, options: Sequence[str]) -> str:
    """A command line of `nearkin dedup`, as a shell reads it."""
    inputs = [corpus] if isinstance(corpus, str) else corpus
    return shlex.join(["nearkin", "dedup", *inputs, *reading, "--out", out, *options])
