"""Reference texts inside other texts, and their position: licences in source files, passages in articles.

A reference text K is inside a query Q if its containment |K ∩ Q| / |K|, the share of its distinct features that the
query has, reaches the threshold. Candidates come from sketches with a stated recall (`nearkin.theory.containment`): all
features of the query are looked up among the sketches of the reference texts, so the query may have any length. Each
candidate is verified exactly, and its *span* is computed: the shortest stretch of the query with at least nine tenths
of the common features, extended at both ends as long as the next feature belongs to the reference text.

A long query has many features of any text by chance, but scattered: what a stretch has by chance depends on the length
of the stretch alone. So a match needs a span of at most `max_spread` times the length of the reference text.

Cost: one pass over each query, and for each candidate one over the query and the reference text. Memory: 200 bytes per
reference text in addition to the texts themselves, and the features of one batch of queries. Kernels:
`crates/nearkin-core/src/index/sketches.rs`, `crates/nearkin-core/src/dedup/contained.rs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Sized
from contextlib import ExitStack
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from nearkin._core import HashedFeatures, contained_texts, content_hashes
from nearkin.dedup.candidates import TextBatch
from nearkin.dedup.candidates.base import numbered
from nearkin.dedup.candidates.containment import ContainmentCandidates
from nearkin.dedup.documents import as_column, check_distinct_ids
from nearkin.dedup.inputs import ColumnNames, DedupInputs, FrameLike, Paths, open_inputs
from nearkin.dedup.kinds import Kind, recipe_of_kind
from nearkin.dedup.result import ResultTable
from nearkin.dedup.verify import texts_by_row, to_strings
from nearkin.errors import bad_parameter, check_number, warn_caller
from nearkin.index.ids import Ids
from nearkin.io import Column, Corpus
from nearkin.progress import Progress, ShowProgress, ignore_progress, reporting
from nearkin.recipe import CONTAINMENT, Recipe
from nearkin.text.batches import Texts, iterate_batches

THRESHOLD = 0.8
"""Default containment from which a reference text is inside a query."""
RECALL = 0.95
"""Default recall at the threshold."""
MAX_SPREAD = 4.0
"""Default of `max_spread`: a passage in lines with prefixes or with insertions is within it (docs/quality.md)."""
_MAX_QUERIES = 512
"""Queries whose features are in memory at once."""
_MAX_CHARACTERS = 1 << 24
"""Characters of queries whose features are in memory at once."""


class ContainedTexts(ResultTable):
    """Reference texts inside queries: columns `query`, `id`, `similarity`, `start` and `end`.

    Queries are in input order, and the reference texts of each are sorted by descending similarity, ties in input
    order. `similarity` is the containment of the reference text in the query. `start` and `end` (exclusive) are
    characters of the query: the shortest stretch with at least nine tenths of the common features, extended at both
    ends as long as the next feature belongs to the reference text. The remaining tenth occurs elsewhere by chance, or
    was moved.
    """

    _own_types: ClassVar = {"start": "int64", "end": "int64"}


class KnownTexts:
    """Reference texts in memory, hashed for many searches inside other texts.

    `pickle` stores the texts and parameters, and builds the index again.

    Parameters
    ----------
    texts : iterable of str or None, a column, or an open Corpus
        A corpus is read into memory. A text without features is never found.
    ids : integers or strings, one per text, all different; optional
        None means row numbers. A Corpus has its own.
    recipe : Recipe, str or None
        Defines the features; None for those of containment, "char:8|binary|xxh3|simhash:128".
    threshold : float, default 0.8
        Smallest containment, inclusive, above 0 and up to 1.
    recall : float, default 0.95
        Requested probability of finding a reference text at the threshold, above 0 and below 1; texts of up to 32
        features are always found.
    max_spread : float or None, default 4.0
        Longest span of a match, as a multiple of the reference text's length, 1 or more; None for any length. Longer
        spans are by chance, or of a text that was cut to pieces.

    Raises
    ------
    ParameterError
        A threshold or recall out of range, a recipe that reads no texts, or another number of ids than of texts.
    InputError
        Ids that are not distinct, or a record that can't be read.

    Examples
    --------
    >>> import nearkin as nk
    >>> known = nk.KnownTexts(["to be or not to be, that is the question", "all the world's a stage"], ids=["h", "a"])
    >>> page = "He said: to be or not to be - that is the question. Then he left."
    >>> for row in known.find([page]).rows():
    ...     print(row["query"], row["id"], row["similarity"], repr(page[row["start"] : row["end"]]))
    0 h 1.0 'to be or not to be - that is the question'
    """

    def __init__(
        self,
        texts: Texts | Corpus,
        ids: Ids | None = None,
        *,
        recipe: Recipe | str | None = None,
        threshold: float = THRESHOLD,
        recall: float = RECALL,
        max_spread: float | None = MAX_SPREAD,
    ) -> None:
        self.recipe = Recipe.of(CONTAINMENT if recipe is None else recipe)
        if max_spread is not None:
            check_number("max_spread", max_spread, "1 or more, or None", lambda spread: spread >= 1)
        self.max_spread = max_spread
        if self.recipe.features == "given":
            raise bad_parameter("recipe", self.recipe, "a recipe with char:N or word:N features, which reads texts")
        self._source = ContainmentCandidates(self.recipe, threshold, recall)
        self._texts, self._ids = _read_texts(texts, ids)
        self._look_up, count = texts_by_row(self._texts)
        if len(self._ids) != count:
            raise bad_parameter("ids", f"{len(self._ids)} values", f"{count} values, one per text")
        check_distinct_ids(self._ids, "ids")
        self._index = self._source.index(self._source.hash(cast("TextBatch", self._texts))[0])
        self._count = count

    @property
    def threshold(self) -> float:
        """Smallest containment of a reference text in a query, inclusive."""
        return self._source.threshold

    @property
    def recall(self) -> float:
        """Probability of finding a reference text at the threshold; it is larger above the threshold."""
        return self._source.recall

    def __len__(self) -> int:
        """Return the number of reference texts."""
        return self._count

    def __repr__(self) -> str:
        return f"KnownTexts({len(self)} texts, threshold={self.threshold}, recall={self.recall}, {self.recipe})"

    def __reduce__(self) -> tuple[Any, ...]:
        rebuild = partial(
            KnownTexts, recipe=self.recipe, threshold=self.threshold, recall=self.recall, max_spread=self.max_spread
        )
        return rebuild, (self._texts, self._ids.to_list())

    def find(self, texts: Texts | Corpus, ids: Ids | None = None, *, progress: ShowProgress = None) -> ContainedTexts:
        """Find the reference texts inside each query.

        Parameters
        ----------
        texts : iterable of str or None, a column, or an open Corpus
        ids : integers or strings, one per text; optional
            Names of the queries; None means row numbers. A Corpus has its own.
        progress : bool or function, optional
            True shows a bar; a function is called with stage, done and total.

        Returns
        -------
        ContainedTexts

        Warns
        -----
        RuntimeWarning
            Matches were left out because their features are scattered over more than `max_spread`.
        """
        with reporting(progress) as report:
            tables = list(self._find_each(texts, ids, report))
        names = ("query", "id", "similarity", "start", "end")
        return ContainedTexts({name: [value for table in tables for value in table[name]] for name in names})

    def find_each(self, texts: Texts | Corpus, ids: Ids | None = None) -> Iterator[ContainedTexts]:
        """Yield the rows of `find` batch by batch, with bounded memory.

        Parameters
        ----------
        texts, ids
            As for `find`.
        """
        return self._find_each(texts, ids, ignore_progress)

    def _find_each(self, texts: Texts | Corpus, ids: Ids | None, report: Progress) -> Iterator[ContainedTexts]:
        total = len(texts) if isinstance(texts, Sized) else None
        first = 0
        scattered = 0
        names = None if ids is None else as_column(ids)
        for batch, corpus_ids in _query_batches(texts):
            end = first + len(batch)
            batch_ids = list(range(first, end)) if corpus_ids is None else corpus_ids
            if corpus_ids is None and names is not None:
                if end > len(names):
                    raise bad_parameter("ids", f"{len(names)} values", f"one per text, of more than {first}")
                batch_ids = names.take(np.arange(first, end))
            table, left_out = self._find_batch(batch, batch_ids)
            scattered += left_out
            yield table
            first = end
            report("search", first, total)
        if names is not None and len(names) != first:
            raise bad_parameter("ids", f"{len(names)} values", f"{first} values, one per text")
        if scattered:
            warn_caller(
                f"{scattered:,} reference texts were left out: their features are in a query, but scattered over more "
                f"than max_spread={self.max_spread:g} times their length, which is chance in a long text. Longer "
                "features find fewer by chance; max_spread=None returns them"
            )

    def pairs(self, texts: list[str | None]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the positions of queries, and of the reference texts inside them, without their spans.

        Parameters
        ----------
        texts : list of str or None
            The queries.
        """
        offsets, rows, *_ = self._match(texts, spans=False)
        return np.repeat(np.arange(len(texts)), np.diff(offsets)), rows

    def _match(self, texts: list[str | None], *, spans: bool) -> tuple[NDArray[Any], ...]:
        """Return by query: offsets, rows, the distinct candidates; similarities, starts and ends of the matches."""
        hashed = HashedFeatures(self.recipe.core, texts, self._source.seed)
        offsets, rows = self._index.scan(hashed, np.arange(len(texts), dtype=np.uint32), kept=False, any_size=True)
        distinct, candidates = numbered(rows.astype(np.int64))
        offsets, matched, *values = contained_texts(
            self.recipe.core,
            texts,
            self._look_up(distinct) if len(distinct) else [],
            offsets=offsets,
            candidates=candidates.astype(np.uint32),
            threshold=float(self.threshold),
            spans=spans,
        )
        return offsets, distinct[matched], distinct, *values

    def _find_batch(self, texts: list[str | None], names: list[Any]) -> tuple[ContainedTexts, int]:
        """Return a row for each reference text inside a query of the batch, and how many were too scattered."""
        offsets, rows, known, similarity, start, end = self._match(texts, spans=True)
        queries = np.repeat(np.arange(len(texts)), np.diff(offsets))
        order: NDArray[np.int64] = np.lexsort((rows, -similarity, queries))
        scattered = 0
        if self.max_spread is not None:
            lengths = content_hashes(self._look_up(known))[1].astype(np.int64)[np.searchsorted(known, rows)]
            dense = (end - start <= self.max_spread * lengths)[order]
            scattered = len(order) - int(dense.sum())
            order = order[dense]
        table = ContainedTexts(
            {
                "query": [names[query] for query in queries[order].tolist()],
                "id": self._ids.take(rows[order]),
                "similarity": similarity[order].tolist(),
                "start": start[order].tolist(),
                "end": end[order].tolist(),
            }
        )
        return table, scattered


def contains(
    texts: Texts | Corpus | FrameLike | Paths,
    known: Texts | Corpus | FrameLike | Paths | KnownTexts,
    *,
    ids: Ids | None = None,
    known_ids: Ids | None = None,
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    recipe: Recipe | str | None = None,
    threshold: float | None = None,
    recall: float | None = None,
    max_spread: float | None = MAX_SPREAD,
    kind: Kind | None = None,
    progress: ShowProgress = None,
) -> ContainedTexts:
    r"""Find reference texts inside other texts, and their position.

    Parameters
    ----------
    texts : iterable of str or None, a column, a frame, paths, or an open Corpus
        The queries, as `nearkin.dedup` takes texts.
    known : likewise, or KnownTexts
        The reference texts. `KnownTexts` are hashed once for many calls, and have a recipe, threshold and recall.
    ids, known_ids : integers or strings; optional
        Names of the queries, and of the reference texts, which must differ; None means row numbers.
    text, id : str, optional
        For frames or files: the columns of texts and ids.
    recipe : Recipe, str or None
        Defines the features; None for those of containment, "char:8|binary|xxh3|simhash:128".
    threshold : float, optional
        Smallest containment of the reference text in the query, inclusive, above 0 and up to 1; default 0.8.
    recall : float, optional
        Requested probability of finding a reference text at the threshold, above 0 and below 1; default 0.95.
    max_spread : float or None, default 4.0
        Longest span of a match, as a multiple of the reference text's length, 1 or more; None for any length.
    kind : str, optional
        A kind of texts (`nearkin.dedup.kinds`), whose features are compared; None with a recipe. With "functions", each
        function of a source file is a text, and its id is the path and its lines.
    progress : bool or function, optional
        True shows a bar in a terminal or a notebook; a function is called with stage, done and total.

    Returns
    -------
    ContainedTexts
        A row for each reference text inside a query: query, id, similarity, start, end.

    Raises
    ------
    ParameterError
        A value out of range; a recipe, threshold, recall, kind or ids with `KnownTexts`; a recipe with a kind.
    InputError
        Ids of reference texts that are not distinct, or a record that can't be read.

    Examples
    --------
    >>> import nearkin as nk
    >>> licence = "Permission is hereby granted, free of charge, to any person obtaining a copy"
    >>> source = "# (c) 2026\n# " + licence + "\nimport os\n"
    >>> matches = nk.contains([source, "import sys"], [licence], known_ids=["MIT"])
    >>> [(row["query"], row["id"], row["similarity"]) for row in matches.rows()]
    [(0, 'MIT', 1.0)]
    """
    hashed = isinstance(known, KnownTexts)
    options = {"recipe": recipe, "threshold": threshold, "recall": recall, "known_ids": known_ids, "kind": kind}
    if hashed and max_spread != MAX_SPREAD:
        options["max_spread"] = max_spread
    for name, value in options.items() if hashed else ():
        if value is not None:
            raise bad_parameter(name, repr(value), "None with KnownTexts, which have their own")
    names = ColumnNames.from_args(text, id, texts, None if hashed else known)
    with ExitStack() as stack:
        queries = stack.enter_context(open_inputs(DedupInputs(texts, ids), names, kind=kind))  # type: ignore[arg-type]
        if not isinstance(known, KnownTexts):
            inputs = stack.enter_context(open_inputs(DedupInputs(known, known_ids), names, "known", kind))  # type: ignore[arg-type]
            known = KnownTexts(
                inputs.texts,
                inputs.ids,
                recipe=recipe_of_kind(kind, recipe),
                threshold=THRESHOLD if threshold is None else threshold,
                recall=RECALL if recall is None else recall,
                max_spread=max_spread,
            )
        return known.find(queries.texts, queries.ids, progress=progress)


def _read_texts(texts: Texts | Corpus, ids: Ids | None) -> tuple[Any, Column]:
    """Return texts that can be looked up again, and their ids."""
    if not isinstance(texts, Corpus):
        batches = list(iterate_batches(texts))
        stored: Any = batches[0] if len(batches) == 1 else [text for batch in batches for text in batch]  # type: ignore[union-attr]
        count = texts_by_row(stored)[1]
        return stored, Column.of(list(range(count))) if ids is None else as_column(ids)
    if ids is not None:
        raise bad_parameter("ids", "ids with a Corpus", "None: a corpus reads its own id column")
    named = list(_iterate_texts(texts))
    all_ids = [name for _, names in named for name in names or ()]
    return [text for batch, _ in named for text in batch], Column.of(all_ids)


def _iterate_texts(texts: Texts | Corpus) -> Iterator[tuple[list[str | None], list[Any] | None]]:
    """Yield batches of texts as lists, with the ids of a corpus."""
    if isinstance(texts, Corpus):
        for batch in texts.batches():
            look_up, count = texts_by_row(batch.texts)
            yield to_strings(look_up(np.arange(count))), batch.ids.to_list()
        return
    for stored in iterate_batches(texts):
        look_up, count = texts_by_row(stored)
        for start in range(0, count, _MAX_QUERIES):
            yield to_strings(look_up(np.arange(start, min(start + _MAX_QUERIES, count)))), None


def _query_batches(texts: Texts | Corpus) -> Iterator[tuple[list[str | None], list[Any] | None]]:
    """Yield queries as lists of limited length, with the ids of a corpus."""
    for batch, ids in _iterate_texts(texts):
        first = 0
        for chunk in _split_queries(batch):
            yield chunk, None if ids is None else ids[first : first + len(chunk)]
            first += len(chunk)


def _split_queries(texts: list[str | None]) -> Iterator[list[str | None]]:
    """Split a list by numbers of texts and of characters; one longer text is alone."""
    start, characters = 0, 0
    for at, text in enumerate(texts):
        characters += len(text or "")
        if at > start and (at - start >= _MAX_QUERIES or characters > _MAX_CHARACTERS):
            yield texts[start:at]
            start, characters = at, len(text or "")
    if start < len(texts):
        yield texts[start:]
