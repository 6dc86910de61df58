"""Pages of a decontamination, with its least certain hits first, and of leaks between splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from nearkin.dedup.labels import PairLabels
from nearkin.notebook import count_of
from nearkin.pieces.decontaminate import Decontamination
from nearkin.pieces.leaks import Leaks
from nearkin.pieces.suites import LEVELS
from nearkin.report.model import Cells, Contents, Section, Table, format_value
from nearkin.report.page import escape_invisible, render
from nearkin.report.review import build_review

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
        ("all template", f"{summary['all_template']:,}", "items without an own part of 5 words"),
    )
    suites = sorted(result.suites.rows(), key=lambda row: (-row["share"], row["suite"]))
    sections = [Section("Suites", tables=(Table.of(_BY_SUITE, suites[:_MAX_ROWS], _SUITES),))]
    if result.sources is not None:
        sections.append(
            Section(
                "Sources", tables=(Table.of("Documents by source", islice(result.sources.rows(), _MAX_ROWS), _SOURCES),)
            )
        )
    order = sorted(evidence, key=lambda hit: (-hit["chance"], hit["similarity"]))
    note = f"These count: {', '.join(result.levels)}. The least certain come first: by chance, then by similarity."
    levels = {level: [hit for hit in order if hit["level"] == level] for level in LEVELS}
    tables = [
        Table.of(f"{level}: {count_of(len(hits), 'hit')}", hits[:_MAX_ROWS], _HITS)
        for level, hits in levels.items()
        if hits
    ]
    sections.append(Section("Hits", (note,), tables=tuple(tables)))
    listed = {"suites": len(suites), **{f"hits of level {level}": len(hits) for level, hits in levels.items()}}
    cuts = tuple(f"{_MAX_ROWS} of {count:,} {name} are shown." for name, count in listed.items() if count > _MAX_ROWS)
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
    value, low, high = (format_value(counts["precision"][name]) for name in ("value", "low", "high"))
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
    return build_review(
        list(hits),
        [(hit["item_text"], hit["passage"]) for hit in hits.values()],
        (hit["similarity"] for hit in hits.values()),
        threshold=threshold,
        phrases=_PHRASES,
        labels=labels,
    )


_PHRASES = {
    "question": "Is the first, an item, in the second, a passage of a document?",
    "verdict": "a hit",
    "told": "it is a hit",
    "listed": "hit",
    "precision": "of the hits, those that are right",
}


def _shorten(text: str) -> str:
    """Return the beginning of a text on one line."""
    line = " ".join(text.split())
    return escape_invisible(line if len(line) <= _MAX_TEXT else line[:_MAX_TEXT] + " …")


_BY_SUITE = "By share of items that were met"
_SUITES = {
    "suite": "{suite}",
    "items": "{items:,}",
    "met": "{met:,}",
    "share": "{share:.1%}",
    "too short": "{too_short:,}",
    "all template": "{all_template:,}",
}
_SOURCES = {
    "source": "{source}",
    "documents": "{documents:,}",
    "contaminated": "{contaminated:,}",
    "share": "{share:.1%}",
}
_HITS: Cells = {
    "document": "{id}",
    "suite": "{suite}",
    "item": "{item}",
    "similarity": "{similarity:.3f}",
    "chance": "{chance:.1e}",
    "passage": lambda row: _shorten(row["passage"]),
    "text of the item": lambda row: _shorten(row["item_text"]),
}


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
        (f"{row['split']} in {row['other']}", f"{row['leaked']:,}", format_value(row["share"], ".1%")) for row in rows
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
    run, blocks, omitted = build_review(
        [(f"{row['other']}:{row['other_id']}", f"{row['split']}:{row['id']}") for row, _ in near],
        [texts for _, texts in near],
        (row["similarity"] for row, _ in near),
        threshold=leaks.threshold,
        phrases=_LEAK_PHRASES,
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
