"""Lines of the pages of each site, which a store of the kind `pages` counts, so that it compares pages without menus.

A site is the column `source` of a page (the host, if it is a URL), or else the host of its id or the folder of its
path. The log has a row for each site: how many pages have each line, by the summary of Misra and Gries (1982). It has
up to `MAX_LINES` lines, identified by 64 bits of their hash. If there are more, the count of rank `KEPT_LINES` + 1
is subtracted from all, and lines at zero go. A count is therefore never too large, and too small by at most `error`,
the sum of what was subtracted: at most the lines of all pages / (`KEPT_LINES` + 1), which is 3% of the pages of a site
with 60 lines a page. A site takes up to 48 KB.

Pages are counted one by one, in the transaction that adds them, whether they are new or near-duplicates; copies of one
content count once. The frequent lines are then those of all pages so far (`nearkin.dedup.boilerplate`), those of the
same call included, and both new and stored pages are compared without them. What was removed remains counted.

**Candidates.** A page is hashed once, without the lines that are frequent then. Pages stored before that are found
by their texts with all lines as well, so a menu that only becomes known later hides no copy with the same menu. Other
copies of such a page, in another menu or with a part of its menu known, may be missed until one was added since.

Sources: J. Misra and D. Gries, "Finding repeated elements", Science of Computer Programming 2 (1982), 143-152, for a
summary of which k - 1 counters find all elements above n / k; here k is `KEPT_LINES` + 1, and the table may grow to
`MAX_LINES` before it is reduced, so that a reduction is rare.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.boilerplate import (
    distinct_lines,
    min_pages,
    named_source,
    page_source,
    without_lines_by_source,
)
from nearkin.dedup.candidates import CandidateSource
from nearkin.dedup.documents import HashedDocuments
from nearkin.dedup.summary import number_sources
from nearkin.io import Column

KEPT_LINES, MAX_LINES = 2048, 4096
"""Lines of a site that a reduction leaves at most, and lines above which there is one."""


@dataclass(frozen=True)
class SiteLines:
    """The lines of a site.

    Attributes
    ----------
    pages : int
        Number of pages that were counted.
    error : int
        The largest number of pages by which a count may be too small.
    hashes : (n,) uint64
        Of the lines, ascending.
    counts : (n,) uint32
        Number of pages that have each line, `error` less at most.
    """

    pages: int = 0
    error: int = 0
    hashes: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    counts: NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, np.uint32))

    @classmethod
    def unpack(cls, pages: int, error: int, lines: bytes) -> SiteLines:
        """Read a row of the log.

        Raises
        ------
        ValueError
            The bytes are not one.
        """
        count, rest = divmod(len(lines), 12)
        hashes, counts = np.frombuffer(lines, "<u8", count), np.frombuffer(lines, "<u4", count, 8 * count)
        most = int(counts.max(initial=0))
        if rest or count > MAX_LINES or (hashes[1:] <= hashes[:-1]).any() or most > pages:
            raise ValueError(f"{count} lines of {pages} pages, up to {most} each")
        return cls(pages, error, hashes, counts)

    def pack(self) -> tuple[int, int, bytes]:
        """Return the values of a row of the log: pages, error, hashes and counts."""
        return self.pages, self.error, self.hashes.astype("<u8").tobytes() + self.counts.astype("<u4").tobytes()

    def with_pages(self, pages: Sequence[NDArray[np.uint64]]) -> SiteLines:
        """Count pages, given the hashes of the different lines of each.

        Examples
        --------
        >>> import numpy as np
        >>> from nearkin.store.lines import SiteLines
        >>> lines = SiteLines().with_pages([np.array([1, page], np.uint64) for page in range(2, 8)])
        >>> lines.pages, lines.counts.tolist(), lines.frequent().tolist()
        (6, [6, 1, 1, 1, 1, 1, 1], [1])
        """
        counts, error = dict(zip(self.hashes.tolist(), self.counts.tolist(), strict=True)), self.error
        for hashes in pages:
            for line in hashes.tolist():
                counts[line] = counts.get(line, 0) + 1
            if len(counts) > MAX_LINES:
                least = sorted(counts.values())[-KEPT_LINES - 1]
                counts, error = {line: count - least for line, count in counts.items() if count > least}, error + least
        lines = sorted(counts)
        numbers = np.array([counts[line] for line in lines], np.uint32)
        return SiteLines(self.pages + len(pages), error, np.array(lines, np.uint64), numbers)

    def frequent(self) -> NDArray[np.uint64]:
        """Return the hashes of the lines without which the pages of the site are compared, ascending."""
        return self.hashes[self.counts >= min_pages(self.pages)]


def site_names(ids: Sequence[object], columns: Sequence[Mapping[str, Any]] | None) -> list[str]:
    """Return the site of each page from its column `source`, or else from its id.

    Examples
    --------
    >>> from nearkin.store.lines import site_names
    >>> site_names(["https://a.org/1", "https://a.org/2", 7], [{}, {"source": "mail"}, {}])
    ['a.org', 'mail', '']
    """
    cells = [{}] * len(ids) if columns is None else columns
    return [
        named_source(row["source"]) if "source" in row else page_source(name)
        for name, row in zip(ids, cells, strict=True)
    ]


ReadLines = Callable[[str], SiteLines]
"""Returns the lines of a site."""


class PageBatch:
    """Pages that are counted, or compared, together.

    Parameters
    ----------
    texts : list of str or None
        Complete.
    sites : list of str
        The site of each page.
    """

    def __init__(self, texts: list[str | None], sites: list[str]) -> None:
        self._texts = texts
        self._sites, self._site_of = number_sources(Column.of(sites))

    def count(self, pages: NDArray[np.int64], read: ReadLines) -> dict[str, SiteLines]:
        """Count pages, given by their numbers, and return the new lines of their sites."""
        hashes, owners, _ = distinct_lines([self._texts[number] for number in pages.tolist()])
        lines = np.split(hashes, np.searchsorted(owners, np.arange(1, len(pages))))
        changed = {}
        for site in np.unique(self._site_of[pages]).tolist():
            own = np.flatnonzero(self._site_of[pages] == site).tolist()
            changed[self._sites[site]] = read(self._sites[site]).with_pages([lines[at] for at in own])
        return changed

    def without_lines(self, read: ReadLines) -> list[str | None]:
        """Return the texts without the frequent lines of their sites."""
        return without_lines_by_source(self._texts, self._site_of, [read(site).frequent() for site in self._sites])

    def hash_rest(self, hashed: HashedDocuments, source: CandidateSource, read: ReadLines) -> HashedDocuments:
        """Return pages, hashed with all lines, hashed without the frequent ones of their sites.

        A page of which only lines without features would remain is compared with all of them.
        """
        whole, rest = self._texts, self.without_lines(read)
        changed = np.array([at for at, (old, new) in enumerate(zip(whole, rest, strict=True)) if old != new], np.int64)
        values, counts = hashed.values.copy(), hashed.counts.copy()
        if len(changed):
            hasher: Any = source
            new_values, new_counts = hasher.hash([rest[at] for at in changed.tolist()])
            has_features = new_counts > 0
            values[changed[has_features]], counts[changed[has_features]] = (
                each[has_features] for each in (new_values, new_counts)
            )
            for at in changed[~has_features].tolist():
                rest[at] = whole[at]
        return replace(
            hashed, values=values, counts=counts, whole=hashed.look_up, whole_values=hashed.values,
            look_up=lambda rows: [rest[row] for row in rows.tolist()],
        )  # fmt: skip
