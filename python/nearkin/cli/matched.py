"""What `nearkin search --corpus` shows of each match: its text, its true similarity, and columns of its document.

An index holds fingerprints and ids. The corpus that it was built from is read once, for the rows of ids, and again for
the texts of matches.
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
        from nearkin.pipeline.documents import GrowingColumn

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
        from nearkin.pipeline.verify import similarity

        found: list[float | None] = [None] * len(pairs)
        given = [at for at, (query, _) in enumerate(pairs) if query is not None]
        if self._recipe is not None and given:
            texts = [text for at in given for text in pairs[at]]
            places = range(0, len(texts), 2)
            values = similarity(texts, list(places), [place + 1 for place in places], recipe=self._recipe)
            for at, value in zip(given, values.tolist(), strict=True):
                found[at] = value
        return found

    def cells(self, about: dict[str, Any]) -> list[str]:
        """The same as cells of a table or line: the text as its first characters on one line."""
        similarity, text = about["similarity"], about["text"]
        excerpt = "-" if text is None else " ".join(text[: 4 * _EXCERPT].split())
        shown = excerpt if len(excerpt) <= _EXCERPT else excerpt[: _EXCERPT - 3] + "..."
        middle = ["-" if about[name] is None else str(about[name]) for name in self.columns]
        return ["-" if similarity is None else f"{similarity:.4f}", *middle, shown]

    def report(self) -> None:
        """Say how many matches the corpus does not have."""
        if self.absent:
            warn(f"{self.absent} matches are of documents that --corpus does not have; give what was indexed")


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
