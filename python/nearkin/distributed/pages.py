"""Pages → their main text and site; lines → the frequent ones of each site; texts without them.

The rules are those of one machine (`nearkin.dedup.boilerplate`). Texts stay where they are: a task sends the number of
its documents with each line of a site, and gets the frequent lines of the sites of its documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nearkin._core import content_hashes
from nearkin.dedup.boilerplate import (
    MAX_LISTED,
    distinct_lines,
    line_hashes,
    min_pages,
    named_source,
    page_source,
    read_pages,
    without_lines_by_source,
)
from nearkin.distributed.documents import (
    Hashing,
    Numbers,
    binary_bytes,
    further_columns,
    gather,
    pack_values,
    to_batches,
    to_integers,
)
from nearkin.io.arrow import to_values
from nearkin.text.chunking import split

if TYPE_CHECKING:
    import pyarrow as pa

LINES = "site string, line bigint, documents bigint"
"""Number of documents of a site with a line; with the line `PAGES` it is that of all its documents."""
PAGES = 0


def main_texts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Replace the texts of pages by their main texts."""
    for batch in batches:
        yield _with_texts(batch, read_pages(batch.column("text")))


def without_lines(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Leave lines out of texts: the frequent ones of their sites, which the columns site and lines have."""
    import pyarrow as pa

    for batch in batches:
        site = batch.column("site").dictionary_encode().indices.to_numpy().astype(np.int64)
        first = pa.array(np.unique(site, return_index=True)[1])
        cells = to_values(batch.column("lines").take(first))
        frequent = [np.sort(np.array(cell or (), np.int64).view(np.uint64)) for cell in cells]
        rest = without_lines_by_source(to_values(batch.column("text")), site, frequent)
        yield _with_texts(batch, rest).drop_columns(["site", "lines"])


def _with_texts(batch: pa.RecordBatch, texts: list[str | None]) -> pa.RecordBatch:
    import pyarrow as pa

    return batch.set_column(batch.schema.get_field_index("text"), "text", pa.array(texts, pa.string()))


class PageHashing(Hashing):
    """Hashes pages in two steps, because the lines of all of them are counted in between."""

    def pages(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Convert the input of `Hashing.rows` to its result, with text and site in place of hashes."""
        import pyarrow as pa

        for batch in main_texts(batches):
            name, column = (named_source, "source") if "source" in batch.schema.names else (page_source, "id")
            sites = pa.array([name(cell) for cell in to_values(batch.column(column))], pa.string())
            hashes = content_hashes(pa.chunked_array([batch.column("text")]))
            yield self._document_rows(batch, *hashes, text=batch.column("text"), site=sites)

    def hashed(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Convert pages, with the frequent lines of their sites, to the result of `Hashing.rows`, and compared.

        `compared` is the content hash of the text without lines.
        """
        import pyarrow as pa

        for batch in without_lines(batches):
            texts = pa.chunked_array([batch.column("text")])
            values, features = self.source.hash(texts)
            columns = {name: batch.column(name) for name in ("id", "number", "key", "content", "length", "missing")}
            columns |= {"features": features.astype(np.int64), "values": pack_values(values)}
            columns |= {"compared": pack_values(content_hashes(texts)[0].reshape(-1, 2)), **further_columns(batch)}
            yield pa.RecordBatch.from_pydict(columns)


# Copies, which count once


def later_copies(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return all documents of complete contents but the first: of the new ones, or else of all, by its id."""
    if (table := gather(batches)) is not None:
        table = table.sort_by([(name, "ascending") for name in ("content", "older", "id")])
        contents = binary_bytes(table["content"]).view(np.uint64).reshape(-1, 2)
        yield from table.filter(np.append(False, (contents[1:] == contents[:-1]).all(axis=1))).to_batches()


# Lines


def site_lines(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Convert site and text to `LINES`."""
    import pyarrow as pa

    for batch in batches:
        hashes, documents, _ = distinct_lines(batch.column("text"))
        owners = np.append(documents, np.arange(batch.num_rows))
        lines = np.append(hashes.view(np.int64), np.full(batch.num_rows, PAGES))
        rows = pa.table({"site": batch.column("site").take(pa.array(owners)), "line": lines})
        counted = rows.group_by(["site", "line"]).aggregate([([], "count_all")])
        yield from to_batches({"site": counted["site"], "line": counted["line"], "documents": counted["count_all"]})


def frequent_lines(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the frequent ones of the `LINES` of complete sites."""
    if (table := gather(batches)) is not None:
        encoded = table.column("site").combine_chunks().dictionary_encode()
        site, lines, documents = (to_integers(each) for each in (encoded.indices, table["line"], table["documents"]))
        sizes = np.zeros(len(encoded.dictionary), np.int64)
        np.add.at(sizes, site[lines == PAGES], documents[lines == PAGES])
        yield from table.filter((lines != PAGES) & (documents >= min_pages(sizes)[site])).to_batches()


def list_lines(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Convert the `LINES` of complete sites to site and lines, a list."""
    if (table := gather(batches)) is not None:
        yield from table.group_by("site").aggregate([("line", "list")]).rename_columns(["site", "lines"]).to_batches()


def first_lines(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return those of the `LINES` that most documents have."""
    if (table := gather(batches)) is not None:
        yield from sort_lines(table).to_batches()


def sort_lines(lines: pa.Table) -> pa.Table:
    """Return the `LINES` that most documents have, `MAX_LISTED` at most, in the order of the summary."""
    import pyarrow as pa

    order = [("documents", "descending"), ("site", "ascending"), ("hash", "ascending")]
    hashes = pa.array(to_integers(lines["line"]).view(np.uint64))
    return lines.append_column("hash", hashes).sort_by(order).drop_columns("hash").slice(0, MAX_LISTED)


@dataclass(frozen=True)
class LineTexts:
    """The texts of lines of some sites.

    Attributes
    ----------
    sites : pyarrow.ChunkedArray
    lines : (n,) int64
    """

    sites: pa.ChunkedArray
    lines: Numbers

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Convert site and text to line and text, once for each batch that has the line."""
        import pyarrow.compute as pc

        for batch in batches:
            texts = batch.filter(pc.is_in(batch.column("site"), self.sites)).column("text")
            lines = split(texts, "line", 1).texts
            hashes, at = np.unique(line_hashes(lines).view(np.int64), return_index=True)
            is_listed = np.isin(hashes, self.lines)
            yield from to_batches({"line": hashes[is_listed], "text": [lines[row] for row in at[is_listed].tolist()]})
