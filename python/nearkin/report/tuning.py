"""The page of a tuning: the recommended setting, and recall and precision over radius or cost, with intervals."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from nearkin.notebook import count_of
from nearkin.quality.band_tuning import BandTuning
from nearkin.quality.tuning import Tuning
from nearkin.report.charts import Curve, Point, draw_curves
from nearkin.report.model import Cells, Chart, Contents, Section, Table, format_value
from nearkin.report.page import render

_MAX_CURVES = 6
"""Maximum number of recipes with curves."""
_INTERVAL = "The area is the interval of 95%."

_Row = dict[str, Any]
_Figures = tuple[tuple[str, str, str], ...]
_Parts = tuple[_Figures, tuple[Section, ...], tuple[str, ...]]
"""Figures, sections and cuts of a page."""


def tuning_page(
    tuning: Tuning | BandTuning, corpus: str = "CORPUS", *, recall: float | None = None, command: str | None = None
) -> str:
    """Return the page of a tuning, as HTML.

    Parameters
    ----------
    tuning : Tuning or BandTuning
        The result of `nearkin.tune` or `nearkin.tune_bands`.
    corpus : str, default "CORPUS"
        Name of the documents on the page, and input of the recommended command.
    recall : float, optional
        The target recall, drawn as a line.
    command : str, optional
        The recommended command, if it needs more than the corpus.

    Raises
    ------
    MissingExtraError
        Jinja2 is not installed.

    Examples
    --------
    >>> import nearkin as nk
    >>> from nearkin.report.tuning import tuning_page
    >>> texts = [f"{a} {b} grows in the garden behind the house" for a in ("red", "old") for b in ("ivy", "oak")]
    >>> page = tuning_page(nk.tune(texts, threshold=0.7, bits=[64]), "garden.jsonl")
    >>> "<h1>Tuning of garden.jsonl: radius 18 of 64 bits</h1>" in page
    True
    """
    return render(build_tuning(tuning, corpus, recall=recall, command=command))


def build_tuning(
    tuning: Tuning | BandTuning, corpus: str = "CORPUS", *, recall: float | None = None, command: str | None = None
) -> Contents:
    """Return the content of the page; the parameters are those of `tuning_page`."""
    truth = tuning.truth
    measured = f"{truth['sample']:,} of {truth['documents']:,} documents were measured"
    sentences = [f"{measured}, with {count_of(truth['pairs'], 'true pair')}: {truth['method']}."]
    if recall is not None and not (isinstance(tuning, Tuning) and tuning.goal == "f1"):
        sentences.append(f"Target: {recall:.1%} of the true pairs among the candidates.")
    command = command or tuning.command(corpus)
    sentences.append("No setting reaches the target." if command is None else f"To run: {command}")
    notes = (Section("Notes", tuple(tuning.notes)),) if tuning.notes else ()
    if isinstance(tuning, BandTuning):
        figures, sections, cuts = _build_bands(tuning, recall)
        band = tuning.chosen
        setting = "" if band is None else f"{band['num_bands']} bands of {band['num_rows']} values"
    else:
        figures, sections, cuts = _build_bits(tuning, recall)
        row = tuning.chosen
        setting = "" if row is None else f"radius {row['radius']} of {row['recipe'].rpartition(':')[2]} bits"
    title = f"Tuning of {corpus}: {setting or 'no recommendation'}"
    return Contents(title, figures, tuple(sentences), (), (*sections, *notes), cuts)


def _headline(chosen: Mapping[str, Any], *others: tuple[str, str, str]) -> _Figures:
    """Return the headline figures of the recommended setting."""
    return (
        ("recall", format_value(chosen["recall"], ".1%"), _format_interval(chosen)),
        ("candidates", format_value(chosen["candidates_per_document"], "short"), "per document"),
        ("of these match", format_value(chosen["precision"], ".1%"), "precision of candidates"),
        *others,
    )


def _build_bits(tuning: Tuning, recall: float | None) -> _Parts:
    """Return the parts of a tuning of bits and radius."""
    chosen: Mapping[str, Any] | None = tuning.chosen
    figures: _Figures = ()
    if chosen is not None:
        f1 = (("F1", format_value(chosen["match_f1"], "short"), "of verified pairs"),) if "match_f1" in chosen else ()
        figures = _headline(chosen, ("a fingerprint", f"{chosen['bytes']:,}", "bytes"), *f1)
    settings = sorted(tuning.settings.rows(), key=lambda row: _natural_key(row["recipe"]))
    order = sorted(settings, key=lambda row: chosen is None or row["recipe"] != chosen["recipe"])
    number = f"{_MAX_CURVES} of {len(order)} recipes"
    cuts = (f"Curves of {number}; nearkin recipe tune --json has all of them.",) if len(order) > _MAX_CURVES else ()
    points = list(tuning.curve.rows())
    charts = tuple(
        _draw_radii(row, [point for point in points if point["recipe"] == row["recipe"]], recall)
        for row in order[:_MAX_CURVES]
    )
    explanation = "Recall is the proportion of true pairs within the radius, precision that of candidates that match."
    sections = [
        Section("Settings", tables=(_table_settings(settings),)),
        Section("Recall and precision by radius", (explanation,), charts),
        *_threshold_sections(tuning),
    ]
    return figures, tuple(sections), cuts


def _natural_key(text: str) -> list[tuple[int, str]]:
    """Return a sort key in which numbers compare as numbers, 64 before 128."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"([0-9]+)", text)]


def _level(recall: float | None) -> tuple[float, str] | None:
    return None if recall is None else (recall, f"target {recall:g}")


def _curve(name: str, rows: Sequence[_Row], x: str) -> Curve:
    """Return a column of measured rows as a curve, with its interval."""
    return Curve(
        name,
        [Point(row[x], row[name], row[f"{name}_low"], row[f"{name}_high"]) for row in rows if row[name] is not None],
    )


def _draw_radii(setting: _Row, rows: Sequence[_Row], recall: float | None) -> Chart:
    """Draw recall and precision of the candidates of one recipe."""
    radius = setting["radius"]
    mark = None if radius is None else (float(radius), f"radius {radius}")
    curves = [_curve("recall", rows, "radius"), _curve("precision", rows, "radius")]
    axes = ("radius, bits that differ", "share")
    return draw_curves(setting["recipe"], _INTERVAL, curves, axes, mark=mark, level=_level(recall))


def _table_settings(rows: Sequence[_Row]) -> Table:
    labelled = any("match_f1" in row for row in rows)
    return Table.of(
        "What each recipe needs",
        rows,
        {
            "recipe": "{recipe}",
            "threshold": "{threshold:g}",
            "radius": "{radius}",
            **_MEASURED,
            "bytes": "{bytes:,}",
            "hashing, CPU s": "{hash_seconds:short}",
            "verifying, CPU s": "{verify_seconds:short}",
            **({"F1 of verified pairs": "{match_f1:short}"} if labelled else {}),
        },
    )


def _threshold_sections(tuning: Tuning) -> list[Section]:
    """Return precision and recall of verified pairs by threshold, for each kind of features."""
    points = list(tuning.thresholds.rows())
    if not points:
        return []
    charts = []
    for name in list(dict.fromkeys(point["features"] for point in points))[:_MAX_CURVES]:
        rows = sorted((point for point in points if point["features"] == name), key=lambda row: row["threshold"])
        best = max(rows, key=lambda row: row["f1"] if row["f1"] == row["f1"] else -1.0)
        curves = [
            Curve(kind, [Point(row["threshold"], row[kind]) for row in rows if row[kind] == row[kind]])
            for kind in ("recall", "precision")
        ]
        mark = (best["threshold"], f"F1 {best['f1']:.3f} at {best['threshold']:g}")
        charts.append(draw_curves(name, "", curves, ("threshold of the similarity", "share"), mark=mark))
    explanation = "Verified pairs, compared with the labels; the line is the threshold with the best F1."
    return [Section("Precision and recall by threshold", (explanation,), tuple(charts))]


def _build_bands(tuning: BandTuning, recall: float | None) -> _Parts:
    """Return the parts of a tuning of bands."""
    chosen: Mapping[str, Any] | None = tuning.chosen
    figures: _Figures = ()
    if chosen is not None:
        signature = ("a signature", f"{chosen['bytes']:,}", f"bytes, {chosen['num_perm']} values")
        figures = _headline(chosen, signature)
    rows = list(tuning.curve.rows())
    numbers = dict.fromkeys(row["num_perm"] for row in rows)
    groups = {number: [row for row in rows if row["num_perm"] == number] for number in numbers}
    charts = tuple(_draw_candidates(number, group, chosen, recall) for number, group in groups.items())
    listed: list[_Row] = []
    for group in groups.values():
        # The bands whose recall is nearest to the target.
        target = 0.95 if recall is None else recall
        nearest = sorted(group, key=lambda row: abs((row["recall"] or 0.0) - target))[:_MAX_CURVES]
        listed += [row for row in group if row in nearest]
    cuts: tuple[str, ...] = ()
    if len(listed) < len(rows):
        number = f"{len(listed)} of {len(rows)} choices of bands"
        cuts = (
            f"{number} are listed, with the recalls nearest to the target; nearkin recipe tune --json has all of them.",
        )
    table = Table.of(
        "Choices of bands",
        listed,
        {
            "values": "{num_perm}",
            "bands": "{num_bands}",
            "rows": "{num_rows}",
            "nominal recall": "{nominal_recall:g}",
            **_MEASURED,
        },
    )
    explanation = "Each point is a choice of bands: more bands find more pairs and more candidates that do not match."
    return figures, (Section("Recall by candidates", (explanation,), charts), Section("Bands", tables=(table,))), cuts


def _draw_candidates(number: int, rows: list[_Row], chosen: Mapping[str, Any] | None, recall: float | None) -> Chart:
    """Draw the recall of the bands of one number of values, over their candidates."""
    mark = None
    if chosen is not None and chosen["num_perm"] == number:
        mark = (chosen["candidates_per_document"], f"{chosen['num_bands']} × {chosen['num_rows']}")
    x = "candidates_per_document"
    curve = _curve("recall", sorted(rows, key=lambda row: row[x]), x)
    axes = ("candidates per document, logarithmic", "share")
    title, level = f"{number} values", _level(recall)
    return draw_curves(title, _INTERVAL, [curve], axes, mark=mark, level=level, logarithmic=True)


def _format_interval(row: Mapping[str, Any]) -> str:
    low, high = (format_value(row[name], ".1%") for name in ("recall_low", "recall_high"))
    return low if low == "–" else f"{low} to {high}"


_MEASURED: Cells = {
    "recall": "{recall:.1%}",
    "interval": _format_interval,
    "candidates per document": "{candidates_per_document:short}",
    "precision": "{precision:.1%}",
}
"""Columns of a measured setting."""
