"""Pages of a decontamination, with its least certain hits first, and of leaks between splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nearkin.dedup.labels import PairLabels
from nearkin.notebook import count_of
from nearkin.pieces.decontaminate import Decontamination
from nearkin.pieces.leaks import Leaks
from nearkin.report.model import Contents, Section, Table, format_fixed, format_percent
from nearkin.report.page import escape_invisible, render
from nearkin.report.review import build_review
from nearkin.report.sampling import NearPairs

_MAX_ROWS = 200
"""Maximum number of rows of a table."""
_MAX_TEXT = 600
"""Maximum number of characters of a passage or item."""


def decontamination_page(
    result: Decontamination,
    evidence: Sequence[Mapping[str, Any]],
    corpus: str = "corpus",
    *,
    rejected: Sequence[Mapping[str, Any]] = (),
    labels: PairLabels | None = None,
) -> str:
    """Return the page of a decontamination, as HTML: counts, hits with both texts, and a queue of hits to judge.

    Parameters
    ----------
    result : Decontamination
    evidence, rejected : sequence of mapping
        The hits with their texts, as `Decontamination.evidence` yields them, and those that labels rejected.
    corpus : str
        Name of the documents on the page.
    labels : PairLabels, optional
        Judged hits, with which the queue starts.

    Raises
    ------
    MissingExtraError
        Jinja2 is not installed.

    Examples
    --------
    >>> import nearkin as nk
    >>> from nearkin.report.decontamination import decontamination_page
    >>> item = "Which river flows through both Vienna and Budapest on its way to the sea?"
    >>> texts = ["A page.", "Quiz: " + item]
    >>> result = nk.decontaminate(texts, {"trivia": [item]})
    >>> page = decontamination_page(result, list(result.evidence(dict(enumerate(texts)))), "pages")
    >>> "<h1>pages: 1 of 2 documents contaminated</h1>" in page
    True
    """
    summary = result.summary
    figures = (
        ("contaminated", f"{summary['contaminated']:,}", f"of {count_of(summary['documents'], 'document')}"),
        ("items met", f"{summary['met']:,}", f"of {summary['items']:,}"),
        ("hits", f"{summary['hits']:,}", f"similarity from {summary['threshold']}"),
        ("too short", f"{summary['too_short']:,}", "items that may match by chance"),
    )
    suites = sorted(result.suites.rows(), key=lambda row: (-row["share"], row["suite"]))
    sections = [Section("Suites", tables=(_count_suites(suites),))]
    if result.sources is not None:
        sections.append(Section("Sources", tables=(_count_sources(list(result.sources.rows())),)))
    order = sorted(evidence, key=lambda hit: (-hit["chance"], hit["similarity"]))
    note = "The least certain hits come first: by chance, then by similarity."
    sections.append(Section("Hits", (note,), tables=(_list_hits(order[:_MAX_ROWS]),)))
    cuts = tuple(
        f"{_MAX_ROWS} of {len(rows):,} {name} are shown."
        for name, rows in (("suites", suites), ("hits", order))
        if len(rows) > _MAX_ROWS
    )
    title = f"{corpus}: {summary['contaminated']:,} of {count_of(summary['documents'], 'document')} contaminated"
    sentences = [
        f"A hit has a chance of at most {summary['max_chance']:g}: the expected number of such matches in a document."
    ]
    if "labels" in summary:
        sentences.append(describe_labels(summary["labels"]))
    run, blocks, omitted = _build_queue([*evidence, *rejected], summary["threshold"], labels)
    return render(Contents(title, figures, tuple(sentences), (), tuple(sections), (*cuts, *omitted), run, blocks))


def describe_labels(counts: Mapping[str, Any]) -> str:
    """Return a sentence on the labels of a search, with its precision; `counts` are those of the summary."""
    judged = counts["same"] + counts["different"]
    if not judged:
        return f"None of {count_of(counts['without_hit'], 'label')} is of a hit, so the precision is not known."
    value, low, high = (format_fixed(counts["precision"][name]) for name in ("value", "low", "high"))
    return (
        f"Precision of the search by {count_of(judged, 'label')}: {value} ({low} to {high}, interval of 95%); "
        f"{count_of(counts['rejected'], 'hit')} labelled different left out."
    )


def _build_queue(
    evidence: Sequence[Mapping[str, Any]], threshold: float, labels: PairLabels | None
) -> tuple[dict[str, object], dict[str, str], tuple[str, ...]]:
    """Return the hits as pairs of an item and a document, each pair once, with its least certain hit."""
    hits: dict[tuple[str, str], Mapping[str, Any]] = {}
    for hit in evidence:
        pair = f"{hit['suite']}:{hit['item']}", str(hit["id"])
        if pair not in hits or hit["similarity"] < hits[pair]["similarity"]:
            hits[pair] = hit
    count = len(hits)
    pairs = NearPairs(
        [left for left, _ in hits],
        [right for _, right in hits],
        np.array([hit["similarity"] for hit in hits.values()], np.float64),
        np.full(count, -1),
        np.ones(count, np.bool_),
        np.ones(count),
    )
    return build_review(
        pairs,
        [(hit["item_text"], hit["passage"]) for hit in hits.values()],
        threshold=threshold,
        measure="similarity",
        phrases=_PHRASES,
        near_misses="The search has no near misses; one with a lower --threshold finds them.",
        labels=labels,
    )


_PHRASES = {
    "question": "Is the first, an item, in the second, a passage of a document?",
    "verdict": "a hit",
    "told": "it is a hit",
    "listed": "hit",
    "precision": "of the hits, those that are right",
}


def _count_suites(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return the table of suites, those that were met most first."""
    return Table.of(
        "By share of items that were met",
        rows[:_MAX_ROWS],
        {
            "suite": lambda row: str(row["suite"]),
            "items": lambda row: f"{row['items']:,}",
            "met": lambda row: f"{row['met']:,}",
            "share": lambda row: format_percent(row["share"]),
            "too short": lambda row: f"{row['too_short']:,}",
        },
    )


def _count_sources(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return the table of sources."""
    return Table.of(
        "Documents by source",
        rows[:_MAX_ROWS],
        {
            "source": lambda row: str(row["source"]),
            "documents": lambda row: f"{row['documents']:,}",
            "contaminated": lambda row: f"{row['contaminated']:,}",
            "share": lambda row: format_percent(row["share"]),
        },
    )


def _list_hits(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return the table of hits with both texts."""
    return Table.of(
        "Hits",
        rows,
        {
            "document": lambda row: str(row["id"]),
            "suite": lambda row: str(row["suite"]),
            "item": lambda row: str(row["item"]),
            "similarity": lambda row: format_fixed(row["similarity"]),
            "chance": lambda row: f"{row['chance']:.1e}",
            "passage": lambda row: _shorten(row["passage"]),
            "text of the item": lambda row: _shorten(row["item_text"]),
        },
    )


def _shorten(text: str) -> str:
    """Return the beginning of a text on one line."""
    line = " ".join(text.split())
    return escape_invisible(line if len(line) <= _MAX_TEXT else line[:_MAX_TEXT] + " …")


def leaks_page(leaks: Leaks) -> str:
    """Return the page of leaks between splits, as HTML.

    Parameters
    ----------
    leaks : Leaks

    Raises
    ------
    MissingExtraError
        Jinja2 is not installed.

    Examples
    --------
    >>> import nearkin as nk
    >>> from nearkin.report.decontamination import leaks_page
    >>> leaks = nk.leaks({"train": ["a text of its own"], "test": ["a text of its own"]})
    >>> "<h1>1 leaked document</h1>" in leaks_page(leaks)
    True
    """
    rows = list(leaks.matrix.rows())
    leaked = sum(row["leaked"] for row in rows)
    figures = tuple(
        (f"{row['split']} in {row['other']}", f"{row['leaked']:,}", format_percent(row["share"])) for row in rows
    )
    tables = [_to_table("Splits", rows)]
    if leaks.labels is not None:
        tables.append(_to_table("By label", list(leaks.labels.rows())[:_MAX_ROWS]))
    documents = sorted(leaks.documents.rows(), key=lambda row: row["similarity"])
    listed = Section(
        "Leaked documents", ("The least similar ones come first.",), tables=(_to_table("", documents[:_MAX_ROWS]),)
    )
    cuts = (f"{_MAX_ROWS} of {len(documents):,} leaked documents are shown.",) if len(documents) > _MAX_ROWS else ()
    sections = (Section("Matrix", tables=tuple(tables)), listed)
    near = [
        (row, texts) for row, texts in zip(leaks.documents.rows(), leaks.texts, strict=True) if row["kind"] != "exact"
    ]
    pairs = NearPairs(
        [f"{row['other']}:{row['other_id']}" for row, _ in near],
        [f"{row['split']}:{row['id']}" for row, _ in near],
        np.array([row["similarity"] for row, _ in near], np.float64),
        np.full(len(near), -1),
        np.ones(len(near), np.bool_),
        np.ones(len(near)),
    )
    run, blocks, omitted = build_review(
        pairs,
        [texts for _, texts in near],
        threshold=leaks.threshold,
        measure="similarity",
        phrases=_LEAK_PHRASES,
        near_misses="The search has no near misses; one with a lower --threshold finds them.",
    )
    title = count_of(leaked, "leaked document")
    return render(Contents(title, figures, (), (), sections, (*cuts, *omitted), run, blocks))


_LEAK_PHRASES = {
    "question": "Is the second, a document of a later split, in the first, one of an earlier split?",
    "verdict": "a leak",
    "told": "it is a leak",
    "listed": "leak",
    "precision": "of the leaks that are no exact copies, those that are right",
}


def _to_table(title: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return rows as a table of their own columns."""
    names = tuple(rows[0]) if rows else ("split",)
    cells = [
        tuple(f"{value:.4g}" if isinstance(value, float) else str(value) for value in row.values()) for row in rows
    ]
    return Table(title, names, cells)


__all__ = ["decontamination_page", "describe_labels", "leaks_page"]
