"""What `nearkin search` shows of each match of a corpus or store: text, true similarity, columns.

An index holds fingerprints and ids. The corpus that it was built from is read once, for the rows of ids, and again for
the texts of matches. A store has texts and columns itself, and verifies its matches (`Store.check`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from nearkin.cli.console import warn

if TYPE_CHECKING:
    from nearkin.cli.reading import Reading
    from nearkin.io import Column, Corpus
    from nearkin.recipe import Recipe
    from nearkin.store.results import StoredMatch
    from nearkin.store.store import Store

_EXCERPT = 60


class MatchedDocuments:
    """The documents of a corpus by id.

    Parameters
    ----------
    corpus : Corpus
        Open; it is read here.
    columns : sequence of str
        Columns that are shown, which are extra columns of the corpus.
    recipe : Recipe or None
        By whose features similarities are; without one there are none.
    """

    def __init__(self, corpus: Corpus, columns: Sequence[str], recipe: Recipe | None) -> None:
        from nearkin.dedup.spill import GrowingColumn

        self.columns = list(columns)
        self.absent = 0
        self._corpus = corpus
        self._recipe = recipe
        self._rows: dict[Any, int] = {}
        growing = {name: GrowingColumn() for name in self.columns}
        for batch in corpus.batches():
            self._rows.update(zip(batch.ids.to_list(), range(batch.first_row, corpus.rows), strict=False))
            for name, column in growing.items():
                column.append(batch.columns[name])
        self._cells: dict[str, Column] = {name: column.joined() for name, column in growing.items()}

    def about(self, matches: Sequence[tuple[str | None, Any]]) -> list[dict[str, Any]]:
        """Similarity, text and columns of each match; all None where the corpus has no such id.

        Parameters
        ----------
        matches : sequence of (str or None, id)
            The text of the query, if it is one, and the id that was found.
        """
        rows = [self._rows.get(key) for _, key in matches]
        known = sorted({row for row in rows if row is not None})
        texts = dict(zip(known, self._corpus.texts(known), strict=True))
        self.absent += rows.count(None)
        similarities = self._similarities(
            [(text, "" if row is None else texts[row]) for (text, _), row in zip(matches, rows, strict=True)]
        )
        found = []
        for row, similarity in zip(rows, similarities, strict=True):
            cells = {name: None if row is None else column[row] for name, column in self._cells.items()}
            text = None if row is None else texts[row]
            found.append({"similarity": None if row is None else similarity, **cells, "text": text})
        return found

    def _similarities(self, pairs: Sequence[tuple[str | None, str]]) -> list[float | None]:
        """Jaccard similarities; None where there is no text to compare with."""
        from nearkin.dedup.verify import similarity

        found: list[float | None] = [None] * len(pairs)
        given = [at for at, (query, _) in enumerate(pairs) if query is not None]
        if self._recipe is not None and given:
            texts = [text for at in given for text in pairs[at]]
            places = range(0, len(texts), 2)
            values = similarity(texts, list(places), [place + 1 for place in places], recipe=self._recipe)
            for at, value in zip(given, values.tolist(), strict=True):
                found[at] = value
        return found

    def report(self) -> None:
        """Say how many matches the corpus does not have."""
        if self.absent:
            warn(f"{self.absent} matches are of documents that --corpus does not have; give what was indexed")


def cells(match: dict[str, Any], columns: Sequence[str]) -> list[str]:
    """A match as cells of a table or line, after its id and distance: the text as its first characters on one line."""
    similarity, text = match["similarity"], match["text"]
    excerpt = "-" if text is None else " ".join(text[: 4 * _EXCERPT].split())
    shown = excerpt if len(excerpt) <= _EXCERPT else excerpt[: _EXCERPT - 3] + "..."
    middle = ["-" if match.get(name) is None else str(match[name]) for name in columns]
    return ["-" if similarity is None else f"{similarity:.4f}", *middle, shown]


class StoredDocuments:
    """The documents of a store of texts, which says itself what matches.

    Parameters
    ----------
    store : Store
        Open.
    columns : sequence of str
        Columns that are shown; all that a match has, if none are named.
    """

    def __init__(self, store: Store, columns: Sequence[str]) -> None:
        self.columns = list(columns)
        self._store = store
        self._has_texts = store.settings.text == "keep"
        self._seen: set[str] = set()
        self._found = 0

    def matches(self, texts: Sequence[str | None], k: int) -> list[list[dict[str, Any]]]:
        """Id, distance, similarity, columns and text of the k best matches of each text.

        Parameters
        ----------
        texts : sequence of str or None
        k : int
        """
        lists = self._store.check(texts, k=k).matches or []
        ids: list[Any] = [match.id for matches in lists for match in matches]
        kept = iter(self._store.texts(ids) if self._has_texts else [None] * len(ids))
        self._found += len(ids)
        return [[self._match(match, next(kept)) for match in matches] for matches in lists]

    def _match(self, match: StoredMatch, text: str | None) -> dict[str, Any]:
        self._seen.update(match.columns)
        columns = {name: match.columns.get(name) for name in self.columns} if self.columns else match.columns
        similarity = None if match.similarity != match.similarity else match.similarity
        return {"id": match.id, "distance": match.distance, "similarity": similarity, **columns, "text": text}

    def report(self) -> None:
        """Say which texts and columns there are not."""
        if self._found and not self._has_texts:
            warn("this store keeps no texts of its documents, so none are shown")
        for name in self.columns if self._found else ():
            if name not in self._seen:
                there = ", ".join(map(repr, sorted(self._seen))) or "none"
                warn(f"no match has a column {name!r}; their columns: {there}")


@contextmanager
def matched_documents(
    reading: Reading, inputs: Sequence[str], columns: Sequence[str], recipe: Recipe | None
) -> Iterator[MatchedDocuments | None]:
    """The documents of the corpus that is named, if one is."""
    if not inputs:
        yield None
        return
    with reading.reported(inputs, extra_columns=columns) as corpus:
        yield MatchedDocuments(corpus, columns, recipe)
