"""Which known texts are inside others, and where: licences in source files, passages in articles.

A known text K is inside a query Q if its containment |K ∩ Q| / |K|, the share of its distinct features that the query
has, reaches the threshold. Candidates come from sketches with a stated recall (`nearkin.theory.containment`): all
features of the query are looked up among the sketches of the known texts, so that the query may be as long as it likes.
Each candidate is verified exactly, and its *span* is found: the shortest stretch of the query that holds at least nine
tenths of the features that both have, made longer at both ends as long as the next feature is one of the known text's.

Cost: one pass over each query, and one over it and the known text for each candidate. Memory: 200 bytes per known text
beside the texts themselves, and what is known of one batch of queries. Kernels:
`crates/nearkin-core/src/search/sketches.rs`, `crates/nearkin-core/src/pipeline/contained.rs`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from nearkin._core import HashedFeatures, SketchIndex, contained_texts
from nearkin.dedup.candidates import TextBatch
from nearkin.dedup.candidates.containment import ContainmentCandidates
from nearkin.dedup.documents import as_column, check_distinct_ids
from nearkin.dedup.inputs import Columns, Documents, Frame, Paths, opened
from nearkin.dedup.result import ResultTable
from nearkin.dedup.verify import texts_by_row
from nearkin.errors import bad_parameter
from nearkin.index.ids import Ids
from nearkin.io import Column, Corpus
from nearkin.recipe import Recipe
from nearkin.text.batches import Texts, iterate_batches

__all__ = ["ContainedTexts", "KnownTexts", "contains"]

THRESHOLD = 0.8
"""Containment from which a known text counts as inside when the caller says nothing."""
# Queries whose features are held at once: by number, and by characters.
_QUERIES = 512
_CHARACTERS = 1 << 24


class ContainedTexts(ResultTable):
    """Known texts inside queries: columns `query`, `id`, `similarity`, `start` and `end`.

    Queries come in their order, and for each the known texts by falling similarity, ties in the order in which they
    were given. `similarity` is the containment of the known text in the query. `start` and `end` (exclusive) are
    characters of the query: the shortest stretch that holds at least nine tenths of the features that both have, made
    longer at both ends as long as the next feature is one of the known text's. The tenth that may be missing is what
    occurs elsewhere by chance, or was moved.
    """

    def _types(self) -> dict[str, str]:
        return {**super()._types(), "start": "int64", "end": "int64"}


class KnownTexts:
    """Known texts, ready to be found inside others; in memory, with the texts themselves.

    It is kept by `pickle`, which holds the texts and what they were made with, and makes the rest again.

    Parameters
    ----------
    texts : iterable of str or None, a column, or an open Corpus
        A corpus is read whole. A text without features is never found.
    ids : integers or strings, one per text, all different; optional
        None means row numbers. A Corpus has its own.
    recipe : Recipe, str or None
        Says what the features are; None for the default.
    threshold : float, default 0.8
        Smallest containment, inclusive, above 0 and up to 1.
    recall : float, default 0.95
        Wanted probability that a known text at the threshold is found, above 0 and below 1; texts of up to 32 features
        are always found.

    Raises
    ------
    ParameterError
        A threshold or recall out of its range, a recipe that reads no texts, ids that are not as many as the texts.
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
        recall: float = 0.95,
    ) -> None:
        made = Recipe.of(recipe)
        if made.features == "given":
            raise bad_parameter("recipe", made, "a recipe with char:N or word:N features, which reads texts")
        self.recipe = made
        self._source = ContainmentCandidates(made, threshold, recall)
        self._texts, self._ids = _held(texts, ids)
        self._look_up, count = texts_by_row(self._texts)
        if len(self._ids) != count:
            raise bad_parameter("ids", f"{len(self._ids)} values", f"{count} values, one per text")
        check_distinct_ids(self._ids, "ids")
        batch = cast("TextBatch", self._texts)
        rows, counts = self._source.hash(batch)
        self._index = SketchIndex(rows.reshape(-1), self._source.size, self._source.least(counts.astype(np.int64)))
        self._count = count

    @property
    def threshold(self) -> float:
        """Smallest containment of a known text in a query, inclusive."""
        return self._source.threshold

    @property
    def recall(self) -> float:
        """Probability that a known text at the threshold is found; above it the probability is larger."""
        return self._source.recall

    def __len__(self) -> int:
        """How many known texts there are."""
        return self._count

    def __repr__(self) -> str:
        return f"KnownTexts({len(self)} texts, threshold={self.threshold}, recall={self.recall}, {self.recipe})"

    def __reduce__(self) -> tuple[Any, ...]:
        made = (self._texts, self._ids.to_list(), self.recipe, self.threshold, self.recall)
        return _made_again, made

    def find(self, texts: Texts | Corpus, ids: Ids | None = None) -> ContainedTexts:
        """The known texts inside each of these.

        Parameters
        ----------
        texts : iterable of str or None, a column, or an open Corpus
        ids : integers or strings, one per text; optional
            Names of the queries; None means row numbers. A Corpus has its own.

        Returns
        -------
        ContainedTexts
        """
        parts = list(self.find_each(texts, ids))
        names = ("query", "id", "similarity", "start", "end")
        return ContainedTexts({name: [value for part in parts for value in part[name]] for name in names})

    def find_each(self, texts: Texts | Corpus, ids: Ids | None = None) -> Iterator[ContainedTexts]:
        """As `find`, batch by batch: nothing is held of earlier queries.

        Parameters
        ----------
        texts, ids
            As of `find`.
        """
        first = 0
        names = None if ids is None else as_column(ids)
        for batch, given in _batches(texts):
            column = given
            if column is None and names is not None:
                if first + len(batch) > len(names):
                    raise bad_parameter("ids", f"{len(names)} values", f"one per text, of more than {first}")
                column = Column.of(names.take(np.arange(first, first + len(batch))))
            yield self._found(batch, list(range(first, first + len(batch))) if column is None else column.to_list())
            first += len(batch)
        if names is not None and len(names) != first:
            raise bad_parameter("ids", f"{len(names)} values", f"{first} values, one per text")

    def _found(self, texts: list[str | None], names: list[Any]) -> ContainedTexts:
        """What one batch contains; a row of each match."""
        hashed = HashedFeatures(self.recipe.core, texts, self._source.seed)
        numbers = np.arange(len(texts), dtype=np.uint32)
        offsets, places = self._index.scan(hashed, numbers, kept=False, any_size=True)
        used, candidates = np.unique(places, return_inverse=True)
        known = self._look_up(used.astype(np.int64)) if len(used) else []
        offsets, which, similarity, start, end = contained_texts(
            self.recipe.core,
            texts,
            known,
            offsets=offsets,
            candidates=candidates.astype(np.uint32),
            threshold=float(self.threshold),
        )
        queries = np.repeat(np.arange(len(texts)), np.diff(offsets))
        places = used[which].astype(np.int64)
        order: NDArray[np.int64] = np.lexsort((places, -similarity, queries))
        return ContainedTexts(
            {
                "query": [names[query] for query in queries[order].tolist()],
                "id": self._ids.take(places[order]),
                "similarity": similarity[order].tolist(),
                "start": start[order].tolist(),
                "end": end[order].tolist(),
            }
        )


def _made_again(texts: Any, ids: list[Any], recipe: Recipe, threshold: float, recall: float) -> KnownTexts:
    return KnownTexts(texts, ids, recipe=recipe, threshold=threshold, recall=recall)


def contains(
    texts: Texts | Corpus | Frame | Paths,
    known: Texts | Corpus | Frame | Paths | KnownTexts,
    *,
    ids: Ids | None = None,
    known_ids: Ids | None = None,
    text: str | None = None,
    id: str | None = None,
    recipe: Recipe | str | None = None,
    threshold: float | None = None,
    recall: float | None = None,
) -> ContainedTexts:
    r"""Which known texts are inside other texts, and where.

    Parameters
    ----------
    texts : iterable of str or None, a column, a frame, paths, or an open Corpus
        The queries, as `nearkin.dedup` takes texts.
    known : likewise, or KnownTexts
        What is looked for. `KnownTexts` are hashed once for many calls, and have a recipe, threshold and recall.
    ids, known_ids : integers or strings; optional
        Names of the queries, and of the known texts, which must differ; None means row numbers.
    text, id : str, optional
        Of frames or files: the columns of texts and ids.
    recipe : Recipe, str or None
        Says what the features are; None for the default. Longer features such as "word:5|binary|xxh3|simhash:128" find
        less by chance in long queries.
    threshold : float, optional
        Smallest containment of the known text in the query, inclusive, above 0 and up to 1; 0.8 if not given.
    recall : float, optional
        Wanted probability that a known text at the threshold is found, above 0 and below 1; 0.95 if not given.

    Returns
    -------
    ContainedTexts
        A row for each known text inside a query: query, id, similarity, start, end.

    Raises
    ------
    ParameterError
        A value out of its range; a recipe, threshold, recall or ids beside `KnownTexts`.
    InputError
        Ids of known texts that are not distinct, or a record that can't be read.

    Examples
    --------
    >>> import nearkin as nk
    >>> licence = "Permission is hereby granted, free of charge, to any person obtaining a copy"
    >>> source = "# (c) 2026\n# " + licence + "\nimport os\n"
    >>> found = nk.contains([source, "import sys"], [licence], known_ids=["MIT"])
    >>> [(row["query"], row["id"], row["similarity"]) for row in found.rows()]
    [(0, 'MIT', 1.0)]
    """
    if isinstance(known, KnownTexts):
        given = {"recipe": recipe, "threshold": threshold, "recall": recall, "known_ids": known_ids}
        for name, value in given.items():
            if value is not None:
                raise bad_parameter(name, repr(value), "None with KnownTexts, which were made with their own")
    named = Columns.of(text, id, texts, None if isinstance(known, KnownTexts) else known)
    with ExitStack() as stack:
        queries = stack.enter_context(opened(Documents(texts, ids), named))  # type: ignore[arg-type]
        if not isinstance(known, KnownTexts):
            held = stack.enter_context(opened(Documents(known, known_ids), named, "known"))  # type: ignore[arg-type]
            known = KnownTexts(
                held.texts,
                held.ids,
                recipe=recipe,
                threshold=THRESHOLD if threshold is None else threshold,
                recall=0.95 if recall is None else recall,
            )
        return known.find(queries.texts, queries.ids)


def _held(texts: Texts | Corpus, ids: Ids | None) -> tuple[Any, Column]:
    """Texts that can be looked up again, and their ids."""
    if not isinstance(texts, Corpus):
        batches = list(iterate_batches(texts))
        held: Any = batches[0] if len(batches) == 1 else [one for batch in batches for one in batch]  # type: ignore[union-attr]
        count = texts_by_row(held)[1]
        return held, Column.of(list(range(count))) if ids is None else as_column(ids)
    if ids is not None:
        raise bad_parameter("ids", "ids beside a Corpus", "None: a corpus reads its own id column")
    all_texts: list[str | None] = []
    all_ids: list[Any] = []
    for batch in texts.batches():
        look_up, count = texts_by_row(batch.texts)
        all_texts += _strings(look_up(np.arange(count)))
        all_ids += batch.ids.to_list()
    return all_texts, Column.of(all_ids)


def _batches(texts: Texts | Corpus) -> Iterator[tuple[list[str | None], Column | None]]:
    """Queries as lists of limited length, with their ids where a corpus has them."""
    if isinstance(texts, Corpus):
        for batch in texts.batches():
            look_up, count = texts_by_row(batch.texts)
            strings, first = _strings(look_up(np.arange(count))), 0
            for part in _parts(strings):
                yield part, Column.of(batch.ids.take(np.arange(first, first + len(part))))
                first += len(part)
        return
    for given in iterate_batches(texts):
        look_up, count = texts_by_row(given)
        for start in range(0, count, _QUERIES):
            rows = np.arange(start, min(start + _QUERIES, count))
            for part in _parts(_strings(look_up(rows))):
                yield part, None


def _strings(texts: Any) -> list[str | None]:
    """Texts of a batch as a list."""
    return texts if isinstance(texts, list) else texts.to_pylist()


def _parts(texts: list[str | None]) -> Iterator[list[str | None]]:
    """Cuts of a list, by number and by characters; one longer text stands alone."""
    start, characters = 0, 0
    for at, text in enumerate(texts):
        characters += len(text or "")
        if at > start and (at - start >= _QUERIES or characters > _CHARACTERS):
            yield texts[start:at]
            start, characters = at, len(text or "")
    if start < len(texts):
        yield texts[start:]
