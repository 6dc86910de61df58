"""Decontamination: find the items of benchmarks in documents, and drop, cut or flag what holds them.

Documents are searched batch by batch for the items of `nearkin.pieces.suites.Suites`. A hit names the document, the
item, its level, the place, the similarity and the expected number of such matches by chance. Only hits of chosen levels
make a document contaminated. Memory: the index, one batch of documents, and the hits. `docs/decontaminate.md` has
measurements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.documents import Cells, as_column
from nearkin.dedup.inputs import ColumnNames, DedupInputs, FrameLike, Paths, open_inputs
from nearkin.dedup.labels import LabelsInput, PairLabels, read_pair_labels
from nearkin.dedup.result import IdList, ResultTable, TableColumn
from nearkin.errors import bad_parameter
from nearkin.index.ids import Ids
from nearkin.io import Column, Corpus
from nearkin.io.base import read_ahead
from nearkin.io.tables import Comparable
from nearkin.notebook import html_facts
from nearkin.pieces.passages import Cuts, without_spans
from nearkin.pieces.suites import (
    LEVELS,
    ColumnChoice,
    Hits,
    SuiteInput,
    SuiteKind,
    Suites,
    read_suite,
    words_of,
)
from nearkin.progress import ShowProgress, reporting
from nearkin.text.batches import Texts, iterate_batches
from nearkin.theory.intervals import WeightSums, proportion

__all__ = ["Decontamination", "HitTable", "decontaminate"]

_MAX_TEXTS = 1 << 14
"""Documents of a list that are searched at once."""
_QUOTED = 5
"""Documents that lack the same _MISSING words of an item, from which their passages are quotations."""
_MISSING = 5
_RUN = 3
"""Equal words in a row that are not missing."""
_NEW_WORDS = 0.1
"""Largest share of the words of a passage that an ignored text does not have."""


class HitTable(ResultTable):
    """Items in documents: id, suite, item, level, start, end, similarity, chance; by document, then by start.

    `level` is one of `nearkin.pieces.suites.LEVELS`. `start` and `end` (exclusive) are characters of the unchanged
    document. `similarity` is the share of the item's own words there, in order. `chance` is the expected number of such
    matches in the document by chance.
    """

    _own_types: ClassVar = {"suite": "string", "level": "string", "start": "int64", "end": "int64", "chance": "float64"}

    def __init__(
        self, columns: Mapping[str, TableColumn], documents: NDArray[np.int64], entries: NDArray[np.int64]
    ) -> None:
        super().__init__(columns)
        self.documents, self.entries = documents, entries
        """Row of the document, and number of the searched text of the item, of each hit."""

    def select(self, mask: NDArray[np.bool_]) -> HitTable:
        """Return some hits."""
        columns = {name: list(compress(self[name], mask)) for name in self.compact}
        return HitTable(columns, self.documents[mask], self.entries[mask])

    def pairs(self) -> list[tuple[str, str]]:
        """Return the ids of item and document of each hit, as labels have them: `("mmlu:7", "doc-12")`."""
        rows = zip(self["suite"], self["item"], self["id"], strict=True)
        return [(f"{suite}:{item}", str(document)) for suite, item, document in rows]


class SuiteTable(ResultTable):
    """Suites: suite, items, too_short (may be chance), all_template, met (found in a document), share (met / items)."""

    _own_types: ClassVar = {
        "suite": "string",
        **dict.fromkeys(("items", "too_short", "all_template", "met"), "int64"),
        "share": "float64",
    }


class SourceTable(ResultTable):
    """Sources: source, documents, contaminated, share (contaminated / documents)."""

    _own_types: ClassVar = {**dict.fromkeys(("documents", "contaminated"), "int64"), "share": "float64"}


@dataclass(frozen=True, eq=False)
class Decontamination(Comparable):
    """The result of a search for items of suites.

    Attributes
    ----------
    hits : HitTable
        A row for each item in a document, of any level.
    levels : tuple of str
        Levels of the hits that make a document contaminated, and that are cut out.
    rejected : HitTable
        Hits left out because labels call them wrong.
    suites : SuiteTable
        A row for each suite.
    sources : SourceTable or None
        A row for each source, in order of first occurrence; None without sources.
    flags : (n_documents,) bool
        True for documents with at least one hit of these levels.
    summary : dict
        Counts and parameters, as in the file summary.json.
    ids : Column
        Ids of all documents, by row.
    index : Suites
        The index of the items.
    """

    hits: HitTable
    levels: tuple[str, ...]
    rejected: HitTable
    suites: SuiteTable
    sources: SourceTable | None
    flags: NDArray[np.bool_]
    summary: dict[str, Any]
    ids: Column
    index: Suites = field(compare=False)

    @property
    def contaminated(self) -> IdList:
        """Ids of the documents with at least one hit of `levels`, in input order."""
        return self.ids.take(np.flatnonzero(self.flags))

    @property
    def clean(self) -> IdList:
        """Ids of the other documents, in input order."""
        return self.ids.take(np.flatnonzero(~self.flags))

    @property
    def counted(self) -> HitTable:
        """The hits of `levels`."""
        return self.hits.select(np.isin(self.hits["level"], self.levels))

    def cuts(self, margin: int = 0) -> Cuts:
        """Return the passages to cut out, with `margin` characters on either side."""
        if margin < 0:
            raise bad_parameter("margin", margin, "0 or more characters")
        hits = self.counted
        spans = np.array([hits["start"], hits["end"]], np.int64).reshape(2, -1).T
        spans = np.column_stack([np.maximum(spans[:, 0] - margin, 0), spans[:, 1] + margin])
        documents = hits.documents
        order = np.lexsort((spans[:, 1], spans[:, 0], documents))
        rows, counts = np.unique(documents, return_counts=True)
        return Cuts(rows, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), spans[order])

    def remaining(self, texts: Iterable[str | None], margin: int = 0) -> list[str]:
        r"""Return all texts with the hits cut out.

        Parameters
        ----------
        texts : iterable of str or None
            The texts that were searched.
        margin : int, default 0
            Characters that are also cut on either side of a hit.

        Examples
        --------
        >>> import nearkin as nk
        >>> item = "Which river flows through both Vienna and Budapest on its way to the sea?"
        >>> texts = ["A page of its own.", "A quiz.\n" + item + "\nThe end."]
        >>> nk.decontaminate(texts, {"trivia": [item]}).remaining(texts)
        ['A page of its own.', 'A quiz.\n?\nThe end.']
        """
        cuts = self.cuts(margin)
        limited = ((text or "") for text in texts)
        return list(_cut(cuts, range(len(self.flags)), limited))

    def evidence(self, texts: Mapping[int, str], hits: HitTable | None = None) -> Iterator[dict[str, Any]]:
        """Yield each hit as a dict, with the passage of the document and the text of the item.

        Parameters
        ----------
        texts : mapping of int to str
            Texts of the documents with hits, by row.
        hits : HitTable, optional
            `hits` or `rejected`; by default `hits`.
        """
        hits = self.hits if hits is None else hits
        items = self.index.entry_texts(hits.entries.astype(np.uint32))
        for row, item, hit in zip(hits.documents.tolist(), items, hits.rows(), strict=True):
            yield {**hit, "passage": texts[row][hit["start"] : hit["end"]], "item_text": item}

    def __repr__(self) -> str:
        met = sum(self.suites["met"])
        return f"<{self.summary['hits']} hits of {met} items in {int(self.flags.sum())} of {len(self.flags)} documents>"

    def _repr_html_(self) -> str:
        """Render the counts and the first hits for a notebook."""
        names = ("documents", "contaminated", "hits", "items", "met", "too_short", "all_template")
        return html_facts([(name.replace("_", " "), self.summary[name]) for name in names]) + self.hits._repr_html_()


def _cut(cuts: Cuts, rows: Iterable[int], texts: Iterable[str]) -> Iterator[str]:
    """Yield texts without the passages of their rows, which may end after the text."""
    for row, text in zip(rows, texts, strict=True):
        spans = cuts.of(row)
        yield without_spans(text, [(start, min(end, len(text))) for start, end in spans]) if spans else text


def decontaminate(
    texts: Texts | Corpus | FrameLike | Paths,
    suites: Suites | Mapping[str, SuiteInput] | Paths,
    *,
    ids: Ids | None = None,
    text: str | None = None,
    id: str | None = None,
    columns: ColumnChoice | None = None,
    together: bool | Mapping[str, bool] | None = None,
    item_id: str | None = None,
    kind: SuiteKind | None = None,
    sources: Cells | str | None = None,
    threshold: float | None = None,
    max_chance: float | None = None,
    levels: str | Sequence[str] = ("item",),
    ignore: SuiteInput | None = None,
    labels: LabelsInput | None = None,
    progress: ShowProgress = None,
) -> Decontamination:
    """Find the items of benchmarks in documents.

    An item is found verbatim, over line breaks, in running text, in other case and punctuation, with
    confusable letters, with some of its words changed, and encoded for JSON or HTML. Text that many items share, such
    as instructions, does not count.

    Parameters
    ----------
    texts : iterable of str or None, a column, a frame, paths, or an open Corpus
        The documents, as `nearkin.dedup` takes texts.
    suites : Suites, mapping of str to texts, frame or paths, or paths
        The items by the name of their suite; a folder, each of whose files is a suite; a file that `Suites.save` wrote;
        or an index. An index is built once for many calls.
    ids : integers or strings; optional
        Names of the documents; None means row numbers.
    text, id : str, optional
        For frames or files: the columns of texts and ids of the documents.
    columns, together, item_id, kind
        How items are read: see `Suites`. None with an index, which has its own.
    sources : one value per text, or the name of a column; optional
        Sources of the documents, which are counted.
    threshold : float, default 0.75, for functions 0.85
        Smallest share of an item's own words that the document has in order, above 0 and up to 1.
    max_chance : float, default 1e-5, for functions 1e-12
        Largest expected number of such matches in the document by chance, above 0 and up to 1. So a short item needs
        nearly all of its words, and the more of them the longer the document.
    levels : str or sequence of str, default ("item",)
        Levels of hits that make a document contaminated; hits of all levels are listed. *item*: the own part of an
        item; *variant*: the same with other numbers or names; *part*: 13 words in a row; *template*: text that
        eight items share; *quotation*: a passage of `ignore`, or one of five documents that lack the same five words of
        the item.
    ignore : texts, a frame or paths; optional
        Texts that are no contamination, such as famous quotations that items hold.
    labels : PairLabels, iterable of (item, document, bool or None), or a path; optional
        Judged hits, by the ids of item and document: `("mmlu:7", "doc-12", False)`, or the file that the report
        exports. Hits labelled different are left out, those labelled same get level *item*, and `summary["labels"]`
        has the precision of the search.
    progress : function, bool or None
        As for `nearkin.dedup`; the stage is "search".

    Returns
    -------
    Decontamination

    Raises
    ------
    ParameterError
        A value out of range; an unknown level; options of items with an index; ids or sources of another number than
        the texts.
    InputError
        A file or record that can't be read.

    Notes
    -----
    A run of five equal words of a document and an item is always examined. The chance is an E-value as in sequence
    alignment: words of the document × words of all items × 2^-score, with the score in bits of the matched words by
    their frequency in the suites, less where words follow each other by habit.

    References
    ----------
    .. [1] S. Schleimer, D. Wilkerson, A. Aiken, "Winnowing: local algorithms for document fingerprinting", SIGMOD 2003.
    .. [2] S. Karlin, S. F. Altschul, "Methods for assessing the statistical significance of molecular sequence features
       by using general scoring schemes", PNAS 87, 1990.

    Examples
    --------
    >>> import nearkin as nk
    >>> item = "Which river flows through both Vienna and Budapest on its way to the sea?"
    >>> pages = ["Rivers are long.", "He asked: which river flows through both Vienna and Budapest on its way to a sea"]
    >>> result = nk.decontaminate(pages, {"trivia": [item]})
    >>> result.contaminated, result.suites["met"]
    ([1], [1])
    """
    names = ColumnNames.from_args(text, id, texts)
    chosen = (levels,) if isinstance(levels, str) else tuple(levels)
    for level in [name for name in chosen if name not in LEVELS] or ([] if chosen else ["no level"]):
        raise bad_parameter("levels", repr(level), ", ".join(LEVELS))
    index = Suites.of(suites, columns=columns, together=together, item_id=item_id, kind=kind)
    judged = None if labels is None else read_pair_labels(labels, "labels")
    with ExitStack() as stack:
        report = stack.enter_context(reporting(progress))
        inputs = DedupInputs(texts, ids, sources=sources)  # type: ignore[arg-type]
        inputs = stack.enter_context(open_inputs(inputs, names))
        ignored = [] if ignore is None else read_suite("ignore", ignore, None, together=True, item_id=None)[1]
        found = _Search(index, *index.limits(threshold, max_chance), ignored)
        for batch, batch_ids, batch_sources in _batches(inputs):
            found.add(batch, batch_ids, batch_sources)
            report("search", found.documents, None)
        report("search", found.documents, found.documents)
        return found.result(inputs, chosen, judged)


class _Search:
    """Hits of the documents that were searched so far."""

    def __init__(self, index: Suites, threshold: float, max_chance: float, ignored: list[str]) -> None:
        self.index, self.threshold, self.max_chance = index, threshold, max_chance
        self._ignored: dict[int, list[Counter[str]]] = {}
        self._partial: list[tuple[int, int, set[int]]] = []
        self._hits = 0
        known = index.scan(ignored, threshold, max_chance)
        for row, entry in set(zip(known.rows.tolist(), known.entries.tolist(), strict=True)):
            self._ignored.setdefault(entry, []).append(Counter(words_of(ignored[row])))
        self.documents, self.words = 0, 0
        self._columns: list[tuple[NDArray[Any], ...]] = []
        self._ids: list[Column] = []
        self._sources: list[Column] = []

    def add(self, batch: Any, ids: Column | None, sources: Column | None) -> None:
        """Search a batch."""
        found = self.index.scan(batch, self.threshold, self.max_chance)
        words = found.words
        self._mark_quotations(found, batch)
        self._columns.append((found.rows + self.documents, *found[1:-1]))
        self.documents += len(words)
        self.words += int(words.sum())
        if ids is not None:
            self._ids.append(ids)
        if sources is not None:
            self._sources.append(sources)

    def _mark_quotations(self, found: Hits, batch: Any) -> None:
        """Mark passages of ignored texts as quotations, and remember which words of items are missing."""
        # The words of code are its author's, and say nothing of what is quoted.
        partial = (found.similarity < 1) & (found.levels <= LEVELS.index("part")) & (self.index.kind is None)
        chosen = np.flatnonzero(partial | np.isin(found.entries, list(self._ignored)))
        items = self.index.entry_texts(found.entries[chosen])
        passages = found.passages(batch, chosen)
        for hit, item, passage in zip(chosen.tolist(), items, passages, strict=True):
            words, of_item, entry = words_of(passage), words_of(item), int(found.entries[hit])
            known = self._ignored.get(entry, ())
            if any((Counter(words) - other).total() <= _NEW_WORDS * len(words) for other in known):
                found.levels[hit] = LEVELS.index("quotation")
            elif partial[hit]:
                held = {tuple(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1)}
                runs = (range(at, at + _RUN) for at in range(len(of_item)) if tuple(of_item[at : at + _RUN]) in held)
                missing = set(range(len(of_item))).difference(*runs)
                self._partial.append((self._hits + hit, entry, missing))
        self._hits += len(found.rows)

    def _quotations(self, documents: NDArray[np.int64], levels: NDArray[np.uint8]) -> list[int]:
        """Return the hits of level item of which many documents lack the same words."""
        lacking: dict[tuple[int, int], set[int]] = {}
        for hit, entry, missing in self._partial:
            for place in missing:
                lacking.setdefault((entry, place), set()).add(int(documents[hit]))
        return [
            hit
            for hit, entry, missing in self._partial
            if levels[hit] == LEVELS.index("item")
            and sum(len(lacking[entry, place]) >= _QUOTED for place in missing) >= _MISSING
        ]

    def result(self, inputs: DedupInputs, chosen: tuple[str, ...], labels: PairLabels | None) -> Decontamination:
        """Build the tables."""
        if not self._columns:
            self.add([], None, None)
        rows, entries, starts, ends, similarity, chance, levels = map(np.concatenate, zip(*self._columns, strict=True))
        levels[self._quotations(rows, levels)] = LEVELS.index("quotation")
        ids = _all_values("ids", inputs.ids, self._ids, self.documents, inputs.texts)
        if ids is None:
            ids = Column.integers(np.arange(self.documents, dtype=np.int64))
        entries = entries.astype(np.int64)
        numbers, items = self.index.locate(entries)
        suites = self.index.suites
        hits = HitTable(
            {
                "id": ids.take(rows),
                "suite": [suites[number].name for number in numbers.tolist()],
                "item": [self.index.item_id(*pair) for pair in zip(numbers.tolist(), items.tolist(), strict=True)],
                "level": [LEVELS[level] for level in levels.tolist()],
                "start": starts.tolist(),
                "end": ends.tolist(),
                "similarity": similarity.tolist(),
                "chance": chance.tolist(),
            },
            rows,
            entries,
        )
        wrong, judged = _judge(hits, chosen, labels)
        counted = np.isin(hits["level"], chosen) & ~wrong
        flags = np.zeros(self.documents, bool)
        flags[hits.documents[counted]] = True
        table = self._count_suites(numbers[counted], items[counted])
        hits, rejected = hits.select(~wrong), hits.select(wrong)
        sources = _all_values("sources", inputs.sources, self._sources, self.documents, inputs.texts)
        summary = {
            "documents": self.documents,
            "contaminated": int(flags.sum()),
            "words": self.words,
            "hits": int(counted.sum()),
            "levels": {level: hits["level"].count(level) for level in LEVELS},
            "suites": len(suites),
            "items": len(self.index),
            "met": sum(table["met"]),
            "too_short": sum(table["too_short"]),
            "all_template": sum(table["all_template"]),
            "threshold": self.threshold,
            "max_chance": self.max_chance,
            **judged,
        }
        by_source = None if sources is None else _count_sources(sources, flags)
        return Decontamination(hits, chosen, rejected, table, by_source, flags, summary, ids, self.index)

    def _count_suites(self, numbers: NDArray[np.int64], items: NDArray[np.int64]) -> SuiteTable:
        """Count the items of each suite that were met."""
        suites = self.index.suites
        sizes = np.array([suite.items for suite in suites], np.int64)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        met = np.zeros(starts[-1], bool)
        met[starts[numbers] + items] = True
        short, template = self.index.too_short(self.max_chance), self.index.all_template()
        ranges = list(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True))
        short_counts, template_counts, counts = (
            [int(flags[start:end].sum()) for start, end in ranges] for flags in (short, template, met)
        )
        return SuiteTable(
            {
                "suite": [suite.name for suite in suites],
                "items": sizes.tolist(),
                "too_short": short_counts,
                "all_template": template_counts,
                "met": counts,
                "share": (np.array(counts) / np.maximum(sizes, 1)).tolist(),
            }
        )


def _judge(
    hits: HitTable, levels: tuple[str, ...], labels: PairLabels | None
) -> tuple[NDArray[np.bool_], dict[str, Any]]:
    """Return which hits are labelled different, and what the summary says of the labels; those labelled same are items.

    A label is of all hits of an item in a document. The precision is the share of pairs labelled same among those that
    were found at the levels, by their weights, with Wilson's interval.
    """
    if labels is None:
        return np.zeros(len(hits), bool), {}
    keys = [pair if pair[0] < pair[1] else pair[::-1] for pair in hits.pairs()]
    pairs = {key: level for key, level in zip(keys, hits["level"], strict=True) if level in levels}
    found = [key for key in pairs if key in labels.labels]
    match = np.array([labels.labels[key] for key in found], bool)
    weights = np.array([labels.weights.get(key, 1.0) for key in found])
    value, low, high = proportion(WeightSums.of(weights[match]), WeightSums.of(weights))
    wrong = np.array([labels.labels.get(key) is False for key in keys], bool)
    for row, key in enumerate(keys):
        if labels.labels.get(key):
            hits["level"][row] = "item"
    return wrong, {
        "labels": {
            "same": int(match.sum()),
            "different": int((~match).sum()),
            "without_hit": len(labels.labels.keys() - set(keys)),
            "rejected": int(wrong.sum()),
            "precision": {"value": value, "low": low, "high": high} if found else None,
        }
    }


def _batches(inputs: DedupInputs) -> Iterator[tuple[Any, Column | None, Column | None]]:
    """Yield batches of texts, with the ids and sources of a corpus."""
    texts = inputs.texts
    if isinstance(texts, Corpus):
        source = inputs.sources if isinstance(inputs.sources, str) else None
        for batch in read_ahead(texts.batches(), threaded=texts.can_reread):
            yield batch.texts, batch.ids, None if source is None else batch.columns[source]
        return
    for stored in iterate_batches(texts):
        if isinstance(stored, (list, tuple)):
            for start in range(0, len(stored), _MAX_TEXTS):
                yield stored[start : start + _MAX_TEXTS], None, None
        else:
            yield stored, None, None


def _all_values(name: str, values: Any, batches: Sequence[Column], count: int, texts: object) -> Column | None:
    """Return the ids or sources of all documents, of the caller or of a corpus; None for none."""
    if batches or (isinstance(texts, Corpus) and (name == "ids" or isinstance(values, str))):
        return Column.concat(batches)
    if values is None:
        return None
    column = as_column(values)
    if len(column) != count:
        raise bad_parameter(name, f"{len(column)} values", f"{count} values, one per text")
    return column


def _count_sources(sources: Column, flags: NDArray[np.bool_]) -> SourceTable:
    """Count documents by source."""
    counts: dict[Any, list[int]] = {}
    for source, flag in zip(sources, flags.tolist(), strict=True):
        count = counts.setdefault(source, [0, 0])
        count[0] += 1
        count[1] += flag
    return SourceTable(
        {
            "source": list(counts),
            "documents": [documents for documents, _ in counts.values()],
            "contaminated": [contaminated for _, contaminated in counts.values()],
            "share": [contaminated / documents for documents, contaminated in counts.values()],
        }
    )
