"""The page of a tuning: what is advised and why, recall and precision over radius or cost, with intervals."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from nearkin.notebook import count_of, short
from nearkin.quality.band_tuning import BandTuning
from nearkin.quality.tuning_results import Tuning
from nearkin.report.curves import Curve, Point, curves, stacks
from nearkin.report.model import Chart, Contents, Section, Table
from nearkin.report.page import render

_MOST, _BARS = 6, 24
"""Recipes whose curves are drawn, and whose cost."""
_INTERVAL = "The area is the interval of 95%."


def tuning_page(
    found: Tuning | BandTuning, corpus: str = "CORPUS", *, recall: float | None = None, command: str | None = None
) -> str:
    """The page of a tuning, as HTML.

    Parameters
    ----------
    found : Tuning or BandTuning
        What `nearkin.tune` or `nearkin.tune_bands` gave.
    corpus : str, default "CORPUS"
        What the page calls the documents, and the advised command names as its input.
    recall : float, optional
        What was wanted: a line in the pictures.
    command : str, optional
        The command that is advised, where it needs more than the corpus.

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
    return render(contents_of_tuning(found, corpus, recall=recall, command=command))


def contents_of_tuning(
    found: Tuning | BandTuning, corpus: str = "CORPUS", *, recall: float | None = None, command: str | None = None
) -> Contents:
    """What the page of a tuning is made of; parameters as for `tuning_page`."""
    truth = found.truth
    method = f"{truth['sample']:,} of {truth['documents']:,} documents were measured"
    said = [f"{method}, with {count_of(truth['pairs'], 'true pair')}: {truth['method']}."]
    if recall is not None and not (isinstance(found, Tuning) and found.goal == "f1"):
        said.append(f"Wanted: {recall:.1%} of the true pairs among the candidates.")
    command = command or found.command(corpus)
    said.append("No setting reaches what was wanted." if command is None else f"To run: {command}")
    notes = (Section("Notes", tuple(found.notes)),) if found.notes else ()
    if isinstance(found, BandTuning):
        figures, sections, cuts = _bands(found, recall)
        what = "" if found.chosen is None else f"{found.chosen['num_bands']} bands of {found.chosen['num_rows']} values"
    else:
        figures, sections, cuts = _bits(found, recall)
        what = "" if found.chosen is None else f"radius {found.chosen['radius']} of {_width(found.chosen['recipe'])}"
    title = f"Tuning of {corpus}: {what or 'nothing is advised'}"
    return Contents(title, figures, tuple(said), (), (*sections, *notes), cuts)


_Made = tuple[tuple[tuple[str, str, str], ...], tuple[Section, ...], tuple[str, ...]]


def _bits(found: Tuning, recall: float | None) -> _Made:
    """Figures, sections and cuts of bits and radius."""
    chosen: Mapping[str, Any] | None = found.chosen
    figures: tuple[tuple[str, str, str], ...] = ()
    if chosen is not None:
        figures = (
            ("recall", _percent(chosen["recall"]), _between(chosen)),
            ("candidates", _short(chosen["candidates_per_document"]), "per document"),
            ("of these match", _percent(chosen["precision"]), "precision of candidates"),
            ("a fingerprint", f"{chosen['bytes']:,}", "bytes"),
            *((("F1", _short(chosen["match_f1"]), "of what is verified"),) if "match_f1" in chosen else ()),
        )
    settings = sorted(found.settings.rows(), key=lambda row: _by_number(row["recipe"]))
    order = sorted(settings, key=lambda row: chosen is None or row["recipe"] != chosen["recipe"])
    shown = [row["recipe"] for row in order[:_MOST]]
    reached = [row for row in order if row["verify_seconds"] is not None]
    cuts = [
        f"{what} of {most} of {len(rows)} recipes{which}; nearkin tune --json has all of them."
        for what, most, rows, which in (
            ("Curves", _MOST, order, ""),
            ("Costs", _BARS, reached, " that reach what was wanted"),
        )
        if len(rows) > most
    ]
    points = list(found.curve.rows())
    radii = {row["recipe"]: row["radius"] for row in settings}
    charts = tuple(
        _by_radius(name, [row for row in points if row["recipe"] == name], radii[name], recall) for name in shown
    )
    sections = [
        Section("Settings", tables=(_settings(settings),), charts=_cost(reached[:_BARS])),
        Section(
            "Recall and precision by radius",
            ("Recall is the share of true pairs within the radius, precision the share of candidates that match.",),
            charts,
        ),
    ]
    sections += _thresholds(found)
    if len(found.by_length):
        sections.append(Section("Recall by length", tables=(_by_length(found),)))
    return figures, tuple(sections), tuple(cuts)


def _by_number(text: str) -> list[tuple[int, str]]:
    """Where a text stands among others: the numbers in it count as numbers, 64 before 128."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"([0-9]+)", text)]


def _by_radius(name: str, rows: list[dict[str, Any]], radius: int | None, recall: float | None) -> Chart:
    """Recall and precision of the candidates of one recipe."""
    lines = [
        Curve("recall", [Point(row["radius"], row["recall"], row["recall_low"], row["recall_high"]) for row in rows]),
        Curve(
            "precision",
            [
                Point(row["radius"], row["precision"], row["precision_low"], row["precision_high"])
                for row in rows
                if row["precision"] is not None
            ],
        ),
    ]
    advised = None if radius is None else (float(radius), f"radius {radius}")
    wanted = None if recall is None else (recall, f"wanted {recall:g}")
    return curves(name, _INTERVAL, lines, ("radius, bits that differ", "share"), mark=advised, level=wanted)


def _settings(rows: list[dict[str, Any]]) -> Table:
    labelled = any("match_f1" in row for row in rows)
    columns = ("recipe", "threshold", "radius", "recall", "interval", "candidates per document", "precision", "bytes")
    columns += ("hashing, CPU s", "verifying, CPU s", *(("F1 of what is verified",) if labelled else ()))
    table = [
        (
            row["recipe"],
            f"{row['threshold']:g}",
            "–" if row["radius"] is None else str(row["radius"]),
            _percent(row["recall"]),
            _between(row),
            _short(row["candidates_per_document"]),
            _percent(row["precision"]),
            f"{row['bytes']:,}",
            _short(row["hash_seconds"]),
            _short(row["verify_seconds"]),
            *((_short(row["match_f1"]),) if labelled else ()),
        )
        for row in rows
    ]
    return Table("What each recipe needs", columns, table)


def _cost(rows: list[dict[str, Any]]) -> tuple[Chart, ...]:
    """CPU seconds of recipes that reach what is wanted."""
    if not rows:
        return ()
    by_name = sorted(rows, key=lambda row: _by_number(row["recipe"]))
    made = [(_plain(row["recipe"]), (row["hash_seconds"], row["verify_seconds"])) for row in by_name]
    note = "CPU seconds per million documents, as measured here: hashing, and verifying candidates that do not match."
    return (stacks("Cost by recipe", note, "recipe", ("hashing", "verifying"), made),)


def _thresholds(found: Tuning) -> list[Section]:
    """Precision and recall of what is verified, over the threshold, for each kind of features."""
    rows = list(found.thresholds.rows())
    if not rows:
        return []
    names = list(dict.fromkeys(row["features"] for row in rows))
    charts = []
    for name in names[:_MOST]:
        of = sorted((row for row in rows if row["features"] == name), key=lambda row: row["threshold"])
        best = max(of, key=lambda row: row["f1"] if row["f1"] == row["f1"] else -1.0)
        lines = [
            Curve(kind, [Point(row["threshold"], row[kind]) for row in of if row[kind] == row[kind]])
            for kind in ("recall", "precision")
        ]
        told = f"F1 {best['f1']:.3f} at {best['threshold']:g}"
        charts.append(curves(name, "", lines, ("threshold of the similarity", "share"), mark=(best["threshold"], told)))
    said = "Pairs that are verified, against the labels; the line is the threshold of the best F1."
    return [Section("Precision and recall by threshold", (said,), tuple(charts))]


def _by_length(found: Tuning) -> Table:
    rows = [
        (
            f"{row['from']:,} to {row['to']:,}",
            f"{row['pairs']:,}",
            _percent(row["recall"]),
            f"{row['median']:g}",
            f"{row['p95']:g}",
        )
        for row in found.by_length.rows()
    ]
    return Table(
        "Quarters of the true pairs", ("features", "pairs", "recall", "median distance", "distance of 95%"), rows
    )


def _bands(found: BandTuning, recall: float | None) -> _Made:
    """Figures, sections and cuts of bands."""
    chosen: Mapping[str, Any] | None = found.chosen
    figures: tuple[tuple[str, str, str], ...] = ()
    if chosen is not None:
        figures = (
            ("recall", _percent(chosen["recall"]), _between(chosen)),
            ("candidates", _short(chosen["candidates_per_document"]), "per document"),
            ("of these match", _percent(chosen["precision"]), "precision of candidates"),
            ("a signature", f"{chosen['bytes']:,}", f"bytes, {chosen['num_perm']} values"),
        )
    rows = list(found.curve.rows())
    charts = tuple(
        _by_candidates(number, [row for row in rows if row["num_perm"] == number], chosen, recall)
        for number in dict.fromkeys(row["num_perm"] for row in rows)
    )
    listed = _nearest(rows, 0.95 if recall is None else recall)
    cuts: tuple[str, ...] = ()
    if len(listed) < len(rows):
        told = (
            f"{len(listed)} of {len(rows)} choices of bands are listed: those whose recall is nearest to what is wanted"
        )
        cuts = (f"{told}; nearkin tune --json has all of them.",)
    said = "Each point is a choice of bands: more bands find more, and bring more candidates that do not match."
    sections = (
        Section("Recall by candidates", (said,), charts),
        Section("Bands", tables=(_choices(listed),)),
    )
    return figures, sections, cuts


def _nearest(rows: list[dict[str, Any]], recall: float) -> list[dict[str, Any]]:
    """For each number of values the bands whose recall is nearest to what is wanted, in order."""
    kept = []
    for number in dict.fromkeys(row["num_perm"] for row in rows):
        of = [row for row in rows if row["num_perm"] == number]
        near = sorted(of, key=lambda row: abs((row["recall"] or 0.0) - recall))[:_MOST]
        kept += [row for row in of if row in near]
    return kept


def _choices(rows: list[dict[str, Any]]) -> Table:
    columns = ("values", "bands", "rows", "nominal recall", "recall", "interval", "candidates per document")
    table = [
        (
            str(row["num_perm"]),
            str(row["num_bands"]),
            str(row["num_rows"]),
            f"{row['nominal_recall']:g}",
            _percent(row["recall"]),
            _between(row),
            _short(row["candidates_per_document"]),
            _percent(row["precision"]),
        )
        for row in rows
    ]
    return Table("Choices of bands", (*columns, "precision"), table)


def _by_candidates(
    number: int, rows: list[dict[str, Any]], chosen: Mapping[str, Any] | None, recall: float | None
) -> Chart:
    """Recall of the bands of one number of values, over the candidates that they bring."""
    of = sorted((row for row in rows if row["recall"] is not None), key=lambda row: row["candidates_per_document"])
    points = [Point(row["candidates_per_document"], row["recall"], row["recall_low"], row["recall_high"]) for row in of]
    advised = None
    if chosen is not None and chosen["num_perm"] == number:
        advised = (chosen["candidates_per_document"], f"{chosen['num_bands']} × {chosen['num_rows']}")
    wanted = None if recall is None else (recall, f"wanted {recall:g}")
    axes = ("candidates per document, logarithmic", "share")
    line = Curve("recall", points)
    return curves(f"{number} values", _INTERVAL, [line], axes, mark=advised, level=wanted, logarithmic=True)


def _width(recipe: str) -> str:
    return f"{recipe.rpartition(':')[2]} bits"


def _plain(recipe: str) -> str:
    """A recipe short enough for a picture."""
    return recipe if len(recipe) <= 44 else f"{recipe[:20]}…{recipe[-23:]}"


def _between(row: Mapping[str, Any]) -> str:
    if row["recall_low"] is None:
        return "–"
    return f"{row['recall_low']:.1%} to {row['recall_high']:.1%}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _short(value: float | None) -> str:
    return "–" if value is None else short(value)


__all__ = ["contents_of_tuning", "tuning_page"]
