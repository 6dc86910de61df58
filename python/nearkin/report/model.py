"""What a report is made of, whatever it reports: headline figures, sentences, sections with charts and tables.

That of a run has the data, too, that its page lets people browse and judge. A page shows these values as they are. All
of them are data, and `nearkin.report.page.render` escapes them; only `svg` of a chart is markup, made by this package.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Chart:
    """A picture, with its figures for those who don't see it.

    Attributes
    ----------
    title : str
    note : str
        One sentence, below the picture.
    svg : str
        Markup of our own. It has classes of the page's style sheet and no style attributes, which the page's content
        policy would refuse.
    columns : tuple of str
        Names of the columns of `rows`.
    rows : sequence of tuple of str
        The figures that the picture shows.
    """

    title: str
    note: str
    svg: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class Table:
    """Rows with named columns."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class Section:
    """One part of a page: what it says, then its charts, then its tables."""

    title: str
    sentences: tuple[str, ...] = ()
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True)
class Contents:
    """A whole report.

    Attributes
    ----------
    title : str
        Such as "clean: 61,204 of 100,000 documents kept".
    figures : tuple of (str, str, str)
        Headline figures: label, value, note, such as ("removed", "38,796", "38.8%").
    sentences : tuple of str
        What was done, and what its parameters promise.
    warnings : tuple of str
    sections : tuple of Section
        Seen without JavaScript, and printed.
    cuts : tuple of str
        What this file leaves out, one sentence each.
    run : mapping or None
        What the page's script reads first, as JSON has it: `kind`, `key`, `threshold`, `measure`, `distance`,
        `documents`, `pairs`, `texts`, `firsts`, `text_cut`, `strata`, `queue`, `above`, `below`, `random`. None for a
        page without browsing.
    blocks : mapping of str to bytes
        What the script unpacks when it is asked for, by name: `documents`, `clusters`, `pairs`, `texts-0` and so on,
        `common`, `pieces`.
    """

    title: str
    figures: tuple[tuple[str, str, str], ...] = ()
    sentences: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    cuts: tuple[str, ...] = ()
    run: Mapping[str, object] | None = None
    blocks: Mapping[str, bytes | str] = field(default_factory=dict)


__all__ = ["Chart", "Contents", "Section", "Table"]
