"""Passages: chunks of documents that occur in earlier documents, and the texts without them.

1. *Hash*: every text is split into chunks by each unit (`nearkin.text.chunking`), which are hashed like documents.
   Frequent lines are counted in the same pass.
2. *Search, verify, absorb*: documents that are copies of earlier ones are passages as they are; then the chunks of the
   others are visited in keep order (`nearkin.pieces.chunks`). Exact long repeats have a kernel of their own. Of several
   units each later one searches the text outside of all passages so far.
3. *Remove*: passages are cut out, or documents are removed by their share of passages, or nothing is removed.

Every removed passage also occurs in a document that is kept. Memory: `nearkin.pieces.chunks`, per chunk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from nearkin._core import __version__
from nearkin.dedup.boilerplate import Boilerplate, LineCounts, document_batches
from nearkin.dedup.candidates.base import distinct
from nearkin.dedup.cluster import MAX_COMPARISONS
from nearkin.dedup.config import (
    MIN_LENGTH,
    DedupConfig,
    PassagesConfig,
    PassagesOptions,
    Removal,
)
from nearkin.dedup.documents import Cells, HashedDocuments
from nearkin.dedup.inputs import ColumnNames, DedupInputs, FrameLike, Paths, open_inputs
from nearkin.dedup.keep import BEST, keep_order, missing_warnings, removes_clusters, values_by_column
from nearkin.dedup.result import IdList, ResultTable
from nearkin.dedup.summary import RunDetails, StageTimer, peak_memory_bytes, summarize_family
from nearkin.dedup.texts import hash_inputs
from nearkin.errors import bad_parameter, check_count, check_options, warn_caller
from nearkin.index.ids import Ids
from nearkin.io import Column, Corpus
from nearkin.io.tables import Comparable
from nearkin.io.values import INT
from nearkin.notebook import html_facts
from nearkin.pieces.chunks import (
    ChunkReader,
    PassageMatches,
    RepeatReader,
    UnitChunks,
    match_chunks,
    match_copies,
)
from nearkin.progress import Progress, ShowProgress, reporting, ticker
from nearkin.recipe import Recipe
from nearkin.text.batches import Texts
from nearkin.text.chunking import Unit

if TYPE_CHECKING:
    from typing_extensions import Unpack

MIN_REPEAT = {"bytes": 200, "words": 50}
"""Default length of the shortest repeat."""
DOCUMENT_SHARE = 0.5
"""Default share of passages from which a document is removed."""
_LINE_BREAKS = "\n\x0b\x0c\r\x85\u2028\u2029"


def passages(
    texts: Texts | Corpus | FrameLike | Paths,
    ids: Ids | None = None,
    *,
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    unit: str | Sequence[str] = "paragraph",
    min_length: int = MIN_LENGTH,
    threshold: float | None = None,
    keep: str = "first",
    values: Cells | str | Mapping[str, Cells] | None = None,
    recipe: Recipe | str | None = None,
    within: bool = False,
    remove: Removal = "parts",
    progress: ShowProgress = None,
    **options: Unpack[PassagesOptions],
) -> PassagesResult:
    r"""Find chunks of documents that occur in earlier documents, and remove them.

    Parameters
    ----------
    texts, ids, text, id, keep, values
        As for `nearkin.dedup`. An earlier document is one that comes first in keep order: `keep="first"` is the order
        of the input; with `keep="longest"` longer documents come first.
    unit : str or sequence of str, default "paragraph"
        document, paragraph, line, function (of source code) or window:N (N words on average, cut by their content).
        Several, also separated by commas, are applied one after another: each later unit searches the text outside of
        all passages so far.
        `repeat:N` (bytes) and `repeat:N:words` find exact repeats, as `nearkin.repeats` does.
    min_length : int, default 40
        Length, in characters, of the shortest chunk that is compared; documents may have any length. Use 20 for
        Chinese.
    threshold, recipe
        As for documents in `nearkin.dedup`, for chunks. Repeats do not use them.
    within : bool, default False
        Also search for a chunk earlier in its own document. Repeats are always searched there.
    remove : {"parts", "documents", "nothing"}, default "parts"
        "parts" cuts the passages out, and removes documents that consist of passages; "documents" removes documents by
        their share of passages. Every removed passage also occurs in a document that is kept.
    progress : bool or function, optional
    **options
        The options below.

    Other Parameters
    ----------------
    radius, recall, bands, verify, max_comparisons
        As for documents in `nearkin.dedup`, for chunks. For repeats `max_comparisons` bounds the positions that each is
        compared with; the others have no effect.
    share : float, default 0.5
        With `remove="documents"`: the share of a document's characters in passages from which it is removed, above 0
        and up to 1. White space does not count.
    boilerplate : {"drop", "keep"}, optional
        Search for frequent lines: "drop" leaves them out before documents are split and hashed, "keep" only lists them.
    boilerplate_documents : int, default 10
        Smallest number of documents with a frequent line.
    boilerplate_share : float, default 0.05
        Smallest share of documents with a frequent line, among all documents or among those of one source.
    sources : strings or integers, one per text, or the name of a column; optional
        The source of each text, for boilerplate.

    Returns
    -------
    PassagesResult

    Raises
    ------
    ParameterError
        An unknown unit, rule or removal, a number out of range, or `share` without `remove="documents"`.
    InputError
        For ids that are not distinct, or a record that can't be read.

    Warns
    -----
    RuntimeWarning
        If comparisons were skipped: passages may be missing.

    Examples
    --------
    >>> import nearkin as nk
    >>> news = "Prices rose again in March, the statistics office said on Tuesday; rents rose most of all."
    >>> digest = "The week in short.\n\n" + news + "\n\nThere was some rain, too."
    >>> result = nk.passages([news, digest], ids=["news", "digest"])
    >>> next(result.passages.rows())  # doctest: +ELLIPSIS
    {'id': 'digest', 'start': 20, 'end': 110, 'other': 'news', 'other_start': 0, 'other_end': 90, 'similarity': 1.0,
    ...}
    >>> result.remaining([news, digest])[1]
    'The week in short.\n\nThere was some rain, too.'
    """
    check_options(passages, PassagesOptions, options)
    sources = options.pop("sources", None)
    parts = {name: value for name, value in options.items() if name in PassagesConfig.__dataclass_fields__}
    matching = {name: value for name, value in options.items() if name not in parts}
    config = DedupConfig.from_args(recipe=recipe, threshold=threshold, keep=keep, candidates="family", **matching)
    search = _PassageSearch(
        config,
        PassagesConfig(unit=unit, min_length=min_length, within=within, remove=remove, **parts),  # type: ignore[arg-type]
    )
    if removes_clusters(config.order):
        raise bad_parameter("keep", "none", "a rule that orders documents: parts are compared with earlier documents")
    names = ColumnNames.from_args(text, id, texts)
    inputs = DedupInputs(texts, ids, values_by_column(config.order, values), sources)  # type: ignore[arg-type]
    inputs = replace(inputs, sound=BEST["best"] in config.order)
    with ExitStack() as stack:
        report = stack.enter_context(reporting(progress))
        inputs = stack.enter_context(open_inputs(inputs, names))
        return search.run(inputs, report)


def repeats(
    texts: Texts | Corpus | FrameLike | Paths,
    ids: Ids | None = None,
    *,
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    min_length: int | None = None,
    unit: Literal["bytes", "words"] = "bytes",
    keep: str = "first",
    values: Cells | str | Mapping[str, Cells] | None = None,
    remove: Removal = "parts",
    share: float | None = None,
    max_comparisons: int = MAX_COMPARISONS,
    progress: ShowProgress = None,
) -> PassagesResult:
    """Find exact long repeats: every sequence of this many bytes or words that also occurs earlier.

    A repeat extends as far as possible in both directions, and is searched in earlier documents and earlier in its own.
    The result covers exactly all windows of `min_length` bytes or words with an equal earlier window.

    Parameters
    ----------
    texts, ids, text, id, keep, values, remove, share, progress
        As for `nearkin.passages`.
    min_length : int, optional
        Bytes of UTF-8, or words, 2 or more; default 200 bytes or 50 words.
    unit : {"bytes", "words"}, default "bytes"
        "bytes" compares complete characters unchanged. "words" (UAX #29; an ideograph is a word) ignores the space and
        punctuation between words.
    max_comparisons : int, default 10,000
        Maximum number of earlier positions compared with one position, which bounds the work for phrases that occur in
        very many contexts; the summary counts under `skipped` how often there were more.

    Returns
    -------
    PassagesResult
        `similarity` is 1.

    Examples
    --------
    >>> import nearkin as nk
    >>> result = nk.repeats(["to be or not to be", "not to be late"], min_length=8)
    >>> [(row["id"], row["start"], row["end"], row["other_start"]) for row in result.passages.rows()]
    [(1, 0, 9, 9)]
    """
    if unit not in ("bytes", "words"):
        raise bad_parameter("unit", repr(unit), "bytes or words")
    count = MIN_REPEAT[unit] if min_length is None else check_count("min_length", min_length, 2, 1 << 30, "2 to 2**30")
    return passages(
        texts,
        ids,
        text=text,
        id=id,
        unit=f"repeat:{count}" + (":words" if unit == "words" else ""),
        keep=keep,
        values=values,
        remove=remove,
        share=share,
        max_comparisons=max_comparisons,
        progress=progress,
    )


# Results


class UnitSummary(TypedDict, total=False):
    """Counts of one unit; characters are those that are not white space."""

    unit: str
    parts: int
    compared: int
    distinct: int
    candidates: int
    verified: int
    anchors: int
    skipped: int
    passages: int
    equal: int
    characters: int


class BoilerplateSummary(TypedDict):
    """Frequent lines, their bounds, and True if they were left out."""

    lines: int
    documents: int
    share: float
    left_out: bool


class PassageDetails(RunDetails, total=False):
    """What the summaries of some searches for passages have: repeats are compared without a family."""

    threshold: float
    verify: str
    min_length: int
    within: bool
    boilerplate: BoilerplateSummary


class PassagesSummary(PassageDetails):
    """Counts and parameters of a search for passages, as in the file summary.json.

    Characters are those that are not white space.
    """

    version: str
    unit: str
    keep: str
    remove: Removal
    share: float | None
    documents: int
    documents_with_passages: int
    characters: int
    characters_found: int
    passages: int
    kept: int
    removed: int
    cut: int
    copies: int
    units: list[UnitSummary]


class PassageTable(ResultTable):
    """Passages: id, start, end, other, other_start, other_end, similarity, unit."""

    _own_types: ClassVar = {**dict.fromkeys(("start", "end", "other_start", "other_end"), "int64"), "unit": "string"}


class ShareTable(ResultTable):
    """Documents with passages: id, characters, found, share, passages, removed."""

    _own_types: ClassVar = {
        **dict.fromkeys(("characters", "found", "passages"), "int64"),
        "share": "float64",
        "removed": "bool",
    }


@dataclass(frozen=True, eq=False)
class Cuts(Comparable):
    """Passages to cut out of texts.

    Attributes
    ----------
    rows : (n_rows,) int64
        Rows of the kept documents that lose passages, ascending.
    offsets : (n_rows + 1,) int64
        Row i loses `spans[offsets[i]:offsets[i + 1]]`.
    spans : (n, 2) int64
        Begin and end (exclusive) of each, in characters, ascending.
    """

    rows: NDArray[np.int64]
    offsets: NDArray[np.int64]
    spans: NDArray[np.int64]

    def of(self, row: int) -> list[tuple[int, int]]:
        """Return the passages that a document loses."""
        at = int(np.searchsorted(self.rows, row))
        if at == len(self.rows) or self.rows[at] != row:
            return []
        return [(int(start), int(end)) for start, end in self.spans[self.offsets[at] : self.offsets[at + 1]]]

    def remaining(self, rows: Iterable[int], texts: Iterable[str | None]) -> Iterator[str]:
        """Yield texts without the passages of their rows."""
        for row, text in zip(rows, texts, strict=True):
            yield without_spans(text or "", self.of(row))


def without_spans(text: str, spans: Sequence[tuple[int, int]]) -> str:
    r"""Cut passages out of a text, with the white space that would be left over.

    A passage that fills its lines is removed with these lines and the blank ones after them; one within a line with the
    space after it. At the end of a text the white space before the passage is removed.

    Parameters
    ----------
    text : str
    spans : sequence of (int, int)
        Begin and end (exclusive) of each, ascending.

    Examples
    --------
    >>> from nearkin.pieces.passages import without_spans
    >>> without_spans("One.\n\nTwo.\n\nThree.", [(6, 10)]), without_spans("one two three", [(4, 7)])
    ('One.\n\nThree.', 'one three')
    """
    kept, at = [], 0
    for start, end in spans:
        start, end = _with_space(text, start, end)
        if start > at:
            kept.append(text[at:start])
        at = max(at, end)
    result = "".join(kept) + text[at:]
    return result.rstrip() if spans and at == len(text) else result


def _with_space(text: str, start: int, end: int) -> tuple[int, int]:
    """Extend a passage by the white space to remove with it."""
    first, last = start, end
    while first and text[first - 1].isspace() and text[first - 1] not in _LINE_BREAKS:
        first -= 1
    fills_line = first == 0 or text[first - 1] in _LINE_BREAKS
    while last < len(text) and text[last].isspace():
        last += 1
    if last == len(text):
        return (first if fills_line else start), last
    next_line = max(text.rfind(sign, end, last) for sign in _LINE_BREAKS) + 1
    if next_line:
        return (first, next_line) if fills_line else (start, end)
    space_before = start == 0 or text[start - 1].isspace()
    return start, (last if space_before else end)


@dataclass(frozen=True, eq=False)
class PassagesResult(Comparable):
    """The result of a search for passages.

    Attributes
    ----------
    passages : PassageTable
        A row for each passage of a document that occurs in an earlier one: id, start, end (characters of the unchanged
        text, end exclusive), other (id of the earlier document), other_start, other_end, similarity, unit. Sorted by
        document in keep order, then by position.
    documents : ShareTable
        A row for each document with a passage, in input order: id, characters (without white space), found (characters
        in passages), share (found / characters), passages, removed.
    boilerplate : ResultTable or None
        Frequent lines, if requested: line, documents, source, source_documents.
    kept_rows : (n_kept,) int64
        Rows of the kept documents, ascending.
    cuts : Cuts
        Passages to cut out of kept documents.
    summary : dict
        Counts, recipe, parameters, version and timings per stage, as in the file summary.json.
    ids : Column
        Ids of all documents, by row.
    """

    passages: PassageTable
    documents: ShareTable
    boilerplate: ResultTable | None
    kept_rows: NDArray[np.int64]
    cuts: Cuts
    summary: PassagesSummary
    ids: Column

    def _repr_html_(self) -> str:
        """Render the counts and the first passages for a notebook."""
        names = ("documents", "unit", "passages", "documents_with_passages", "kept", "cut", "removed")
        summary: Mapping[str, object] = self.summary
        facts = [(name.replace("_", " "), summary[name]) for name in names if name in summary]
        facts += [("warning", warning) for warning in self.summary.get("warnings", [])]
        return html_facts(facts) + self.passages._repr_html_()

    @cached_property
    def kept(self) -> IdList:
        """Ids of the kept documents, in input order."""
        return self.ids.take(self.kept_rows)

    def remaining(self, texts: Sequence[str | None]) -> list[str]:
        r"""Return the texts of the kept documents without the removed passages.

        Parameters
        ----------
        texts : sequence of str or None
            The texts that were searched.

        Examples
        --------
        >>> import nearkin as nk
        >>> long = "The quick brown fox jumps over the lazy dog, and the dog does not mind at all."
        >>> texts = [long, "My own words." + "\n\n" + long]
        >>> nk.passages(texts).remaining(texts)[1]
        'My own words.'
        """
        return list(self.cuts.remaining(self.kept_rows.tolist(), (texts[row] for row in self.kept_rows.tolist())))

    def __repr__(self) -> str:
        matched, documents = self.summary["documents_with_passages"], self.summary["documents"]
        return f"<{len(self.passages)} passages in {matched} of {documents} documents, kept {len(self.kept_rows)}>"


# Search


@dataclass(frozen=True)
class _PassageSearch:
    """The stages of a search."""

    config: DedupConfig
    options: PassagesConfig

    def run(self, inputs: DedupInputs, report: Progress) -> PassagesResult:
        """Run all stages."""
        timer, units = StageTimer(), self.options.units
        frequent = None
        if self._repeats:
            reader = RepeatReader(units[0])
            with timer("hash"):
                documents, _ = hash_inputs(inputs, reader, report)
            with timer("search"):
                order = keep_order(documents, self.config.order)
                matches, counts = reader.find(documents, order, self.config.max_comparisons)
            summaries = [_summarize_unit(units[0], matches, counts)]
        else:
            documents, chunks, frequent = self._hash(inputs, timer, report)
            matches, summaries = self._match(documents, chunks, timer, report)
        with timer("result"):
            result = self._make_result(documents, matches, summaries, frequent)
        result.summary["timings"] = timer.seconds
        result.summary["peak_memory_bytes"] = peak_memory_bytes()
        return result

    @property
    def _repeats(self) -> bool:
        """True for a search for exact repeats."""
        return self.options.units[0].kind == "repeat"

    def _hash(
        self, inputs: DedupInputs, timer: StageTimer, report: Progress
    ) -> tuple[HashedDocuments, list[UnitChunks], Boilerplate | None]:
        """Hash documents, whose `counts` are their visible characters, and their chunks; find frequent lines."""
        source, options = self.config.candidate_source, self.options
        units = [UnitChunks(unit, source, options.min_length) for unit in options.units]
        lines = None if options.boilerplate is None else LineCounts()
        drop = options.boilerplate == "drop"
        with timer("hash"):
            # Without frequent lines there are other chunks, which are hashed once these lines are known.
            documents, _ = hash_inputs(inputs, ChunkReader([] if drop else units, lines), report)
        if lines is None:
            return documents, units, None
        with timer("boilerplate"):
            frequent = lines.frequent(documents, documents.columns.get("source"), options)
        if drop:
            with timer("hash"):
                for unit in units:
                    unit.reset(frequent.hashes)
                reader = ChunkReader(units, None)
                batches = document_batches(documents, np.arange(len(documents)))
                counts = [reader.hash(texts)[1] for _, texts in batches]
                documents.counts = np.concatenate(counts) if counts else reader.hash([])[1]
        return documents, units, frequent

    def _match(
        self, documents: HashedDocuments, units: list[UnitChunks], timer: StageTimer, report: Progress
    ) -> tuple[PassageMatches, list[UnitSummary]]:
        """Return passages by document in keep order and by position, and counts."""
        order = keep_order(documents, self.config.order)
        matches = [match_copies(documents, order, len(units))]
        summaries: list[UnitSummary] = []
        for number, unit in enumerate(units):
            stage = f"search {unit.unit.name}"
            with timer(stage):
                chunks = unit.finish(documents.look_up)
                tick = ticker(report, stage, len(chunks.spans))
                existing = PassageMatches.concat(matches)
                new, counts = match_chunks(chunks, documents, existing, self.config, tick, within=self.options.within)
                new.units[:] = number
                matches.append(new)
                summaries.append(_summarize_unit(unit.unit, new, counts))
        everything = PassageMatches.concat(matches)
        rank = np.empty(len(documents), np.int64)
        rank[order] = np.arange(len(documents))
        return everything.select(np.lexsort((everything.spans[:, 0], rank[everything.rows]))), summaries

    def _make_result(
        self,
        documents: HashedDocuments,
        matches: PassageMatches,
        summaries: list[UnitSummary],
        frequent: Boilerplate | None,
    ) -> PassagesResult:
        options = self.options
        totals = documents.counts.astype(np.int64)
        kept = np.ones(len(documents), bool)
        if options.remove == "documents":
            kept = kept_by_share(matches, totals, DOCUMENT_SHARE if options.share is None else options.share)
        elif options.remove == "parts":
            visible = np.bincount(matches.rows, weights=matches.visible, minlength=len(kept))
            kept[matches.rows] = visible[matches.rows] < totals[matches.rows]
        cut = kept if options.remove == "parts" else np.zeros(len(kept), bool)
        cuts = _select_cuts(matches, cut)
        unit_names = [*(unit.name for unit in options.units), "document"]
        passages, shares = _build_tables(documents.ids, matches, unit_names, totals, kept)
        lines = None if frequent is None else ResultTable(frequent.columns())
        summary = self._summarize(documents, matches, summaries, kept, cuts, frequent)
        return PassagesResult(passages, shares, lines, np.flatnonzero(kept), cuts, summary, documents.ids)

    def _summarize(
        self,
        documents: HashedDocuments,
        matches: PassageMatches,
        summaries: list[UnitSummary],
        kept: NDArray[np.bool_],
        cuts: Cuts,
        frequent: Boilerplate | None,
    ) -> PassagesSummary:
        """Return counts and parameters, in the order of the file summary.json; times and memory follow."""
        config, options = self.config, self.options
        family, warnings = summarize_family(config.candidate_source.summary(), config.verify)
        comparison: PassageDetails = {}
        if self._repeats:
            warnings = []
        else:
            comparison = {
                "recipe": str(config.recipe),
                "recipe_digest": config.recipe.digest,
                "min_length": options.min_length,
                "threshold": config.threshold,
                **family,  # type: ignore[typeddict-item]  # The names are the same.
                "verify": config.verify,
                "within": options.within,
            }
        skipped = sum(unit["skipped"] for unit in summaries)
        summary: PassagesSummary = {
            "version": __version__,
            "unit": ",".join(unit.name for unit in options.units),
            **comparison,
            "keep": config.keep,
            "remove": options.remove,
            "share": (options.share or DOCUMENT_SHARE) if options.remove == "documents" else None,
            "documents": len(documents),
            "documents_with_passages": len(distinct(matches.rows)),
            "characters": int(documents.counts.sum()),
            "characters_found": int(matches.visible.sum()),
            "passages": len(matches),
            "kept": int(kept.sum()),
            "removed": int((~kept).sum()),
            "cut": len(cuts.rows),
            "copies": int((matches.units == len(options.units)).sum()),
            "units": summaries,
            "skipped": skipped,
        }
        if frequent is not None:
            summary["boilerplate"] = {
                "lines": len(frequent.lines),
                "documents": options.boilerplate_documents,
                "share": options.boilerplate_share,
                "left_out": options.boilerplate == "drop",
            }
        raised = missing_warnings(documents, config.order)
        if skipped:
            raised.append(config.skipped_warning(skipped).replace("some documents have", "some parts have"))
        for message in raised:
            warn_caller(message)
        if warnings + raised:
            summary["warnings"] = warnings + raised
        return summary


def _summarize_unit(unit: Unit, matches: PassageMatches, counts: Mapping[str, int]) -> UnitSummary:
    """Return the counts of a unit for the summary."""
    results = {
        "passages": len(matches),
        "equal": int(matches.equal.sum()),
        "characters": int(matches.visible.sum()),
    }
    return {"unit": unit.name, **counts, **results}  # type: ignore[typeddict-item]  # The names are the same.


def kept_by_share(matches: PassageMatches, totals: NDArray[np.int64], share: float) -> NDArray[np.bool_]:
    """Return True for documents that are kept when those with a large share of passages are removed.

    Documents are visited in keep order. A passage counts if the other document is kept, or if an earlier kept document
    has the same passage, which then replaces the other one. So every removed passage occurs in a kept document.

    Parameters
    ----------
    matches : PassageMatches
        By document in keep order.
    totals : (n_documents,) int64
        Visible characters of each document.
    share : float
        Smallest share of passages of a removed document.
    """
    kept = np.ones(len(totals), bool)
    if not len(matches):
        return kept
    kept_passages: set[tuple[int, int, int]] = set()
    starts = np.flatnonzero(np.r_[True, matches.rows[1:] != matches.rows[:-1]])
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(matches)], strict=True):
        row = int(matches.rows[start])
        own: list[tuple[int, int, int]] = []
        counted, any_counts = 0, False
        for at in range(start, end):
            key = (int(matches.units[at]), int(matches.keys[at, 0]), int(matches.keys[at, 1]))
            if matches.others[at] != row and (kept[matches.others[at]] or key in kept_passages):
                counted, any_counts = counted + int(matches.visible[at]), True
            else:
                own.append(key)
        if any_counts and counted >= share * totals[row]:
            kept[row] = False
        else:
            kept_passages.update(own)
    return kept


def _select_cuts(matches: PassageMatches, documents: NDArray[np.bool_]) -> Cuts:
    """Return the passages of selected documents, by row and position."""
    selected = matches.select(documents[matches.rows])
    order = np.lexsort((selected.spans[:, 0], selected.rows))
    rows, counts = np.unique(selected.rows, return_counts=True)
    return Cuts(rows, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), selected.spans[order])


def _build_tables(
    ids: Column, matches: PassageMatches, units: Sequence[str], totals: NDArray[np.int64], kept: NDArray[np.bool_]
) -> tuple[PassageTable, ShareTable]:
    """Build the tables of passages and of documents.

    Parameters
    ----------
    ids : Column
    matches : PassageMatches
        In the order of the table.
    units : sequence of str
        The names of units by number.
    totals : (n_documents,) int64
        Visible characters of each document.
    kept : (n_documents,) bool
    """
    id_type = None if len(ids) == 0 else ("int64" if (ids.kinds == INT).all() else "string")
    passages: dict[str, list[Any]] = {
        "id": ids.take(matches.rows),
        "start": matches.spans[:, 0].tolist(),
        "end": matches.spans[:, 1].tolist(),
        "other": ids.take(matches.others),
        "other_start": matches.other_spans[:, 0].tolist(),
        "other_end": matches.other_spans[:, 1].tolist(),
        "similarity": matches.similarity.tolist(),
        "unit": [units[number] for number in matches.units.tolist()],
    }
    rows, numbers, counts = np.unique(matches.rows, return_inverse=True, return_counts=True)
    visible = np.bincount(numbers, weights=matches.visible, minlength=len(rows)).astype(np.int64)
    documents: dict[str, list[Any]] = {
        "id": ids.take(rows),
        "characters": totals[rows].tolist(),
        "found": visible.tolist(),
        "share": (visible / np.maximum(totals[rows], 1)).tolist(),
        "passages": counts.tolist(),
        "removed": (~kept[rows]).tolist(),
    }
    return PassageTable(passages, id_type=id_type), ShareTable(documents, id_type=id_type)
