"""Passages: which parts of documents stand in earlier documents, where, and what is left without them.

1. *Hash*: every text is split into its parts by each unit (`nearkin.text.chunking`), which are hashed as documents are.
   Frequent lines are counted in the same pass (`nearkin.dedup.boilerplate`).
2. *Search, verify, absorb*: documents that are copies of earlier ones are found whole; then the parts of the others in
   keep order (`nearkin.dedup.chunk_dedup`). Exact long repeats have their own kernel (`nearkin.dedup.repeats`). Of
   several units each later one takes what lies in no passage yet.
3. *Remove*: passages are cut out, or documents go by their share of passages, or nothing does.

What is cut or removed always stands in a document that stays. Memory: `nearkin.dedup.chunk_dedup`, per part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from nearkin._core import __version__
from nearkin.dedup.boilerplate import DOCUMENTS, SHARE, Boilerplate, BoilerplateRule, LineCounts
from nearkin.dedup.candidates import TextBatch, TextCandidateSource
from nearkin.dedup.chunk_dedup import Found, PartReader, UnitParts, copies, document_batches, match
from nearkin.dedup.cluster import MAX_COMPARISONS
from nearkin.dedup.cuts import Cuts
from nearkin.dedup.documents import (
    Cells,
    HashedDocuments,
    as_column,
    check_distinct_ids,
    hash_texts,
    name_columns,
)
from nearkin.dedup.inputs import Columns, Documents, Frame, Paths, opened
from nearkin.dedup.keep import column_key, keep_order, tell_missing, values_by_column
from nearkin.dedup.memory import peak_memory_bytes
from nearkin.dedup.passages_results import PassagesResult, PassagesSummary, Removal, UnitSummary, tables
from nearkin.dedup.repeats import RepeatReader
from nearkin.dedup.result import ResultTable
from nearkin.dedup.stages import RunOptions, StageTimer
from nearkin.dedup.summary import promised
from nearkin.dedup.texts import Verify, options_of
from nearkin.errors import bad_parameter, check_count, warn_caller
from nearkin.index.ids import Ids
from nearkin.io import Corpus
from nearkin.progress import Progress, ShowProgress, reporting, ticker
from nearkin.recipe import Recipe
from nearkin.text.batches import Texts
from nearkin.text.chunking import NO_LINES, Unit, parse_units

UseOfBoilerplate = Literal["drop", "keep"]

MIN_LENGTH = 40
"""Characters of the shortest part that is compared."""
REPEATED = {"bytes": 200, "words": 50}
"""Symbols of the shortest repeat."""
DOCUMENT_SHARE = 0.5
"""Share of a document from which it goes where documents are removed."""


def passages(
    texts: Texts | Corpus | Frame | Paths,
    ids: Ids | None = None,
    *,
    text: str | None = None,
    id: str | None = None,
    unit: str | Sequence[str] = "paragraph",
    min_length: int = MIN_LENGTH,
    recipe: Recipe | str | None = None,
    threshold: float | None = None,
    radius: int | None = None,
    recall: float | None = None,
    confirm: Recipe | str | None = None,
    verify: Verify | None = None,
    keep: str = "first",
    values: Cells | str | Mapping[str, Cells] | None = None,
    sources: Cells | str | None = None,
    within: bool = False,
    remove: Removal = "parts",
    share: float | None = None,
    boilerplate: UseOfBoilerplate | None = None,
    boilerplate_documents: int = DOCUMENTS,
    boilerplate_share: float = SHARE,
    max_comparisons: int = MAX_COMPARISONS,
    progress: ShowProgress = None,
) -> PassagesResult:
    r"""Find the parts of documents that stand in earlier documents, and say what is left without them.

    Parameters
    ----------
    texts, ids, text, id, keep, values
        As `nearkin.dedup` takes them. An earlier document is one that comes before in keep order: `keep="first"` is the
        order of the input, with `keep="longest"` longer documents come first.
    unit : str or sequence of str, default "paragraph"
        document, paragraph, line or window:N (N words on average, cut by their content); several, also separated by
        commas, one after another: each later unit is searched in what lies in no passage yet. `repeat:N` (bytes) and
        `repeat:N:words` find exact repeats, as `nearkin.repeats` does.
    min_length : int, default 40
        Characters of the shortest part that is compared; those of documents may have any. 20 for Chinese.
    recipe, threshold, radius, recall, confirm, verify, max_comparisons
        How parts are hashed, searched and verified: as `nearkin.dedup` takes them for documents. Of repeats
        `max_comparisons` bounds the places that each is compared with; the others are of no meaning.
    sources : strings or integers, one per text, or the name of a column; optional
        Where each text comes from, for boilerplate.
    within : bool, default False
        Whether a part is also looked for in its own document, before its own place. Repeats always are.
    remove : {"parts", "documents", "nothing"}, default "parts"
        What goes: the passages, and documents of which nothing else is left; whole documents from a share of passages;
        or nothing. What is removed always stands in a document that stays.
    share : float, optional
        With `remove="documents"`: the share of a document's characters in passages from which it goes, above 0 and up
        to 1; 0.5 if not given. White space is not counted.
    boilerplate : {"drop", "keep"}, optional
        Look for lines that are frequent; "drop" leaves them out before parts are made and hashed, "keep" lists them
        alone.
    boilerplate_documents : int, default 10
        Documents that a frequent line has at least.
    boilerplate_share : float, default 0.05
        Share of all documents, or of those of one source, that a frequent line has at least.
    progress : bool or function, optional

    Returns
    -------
    PassagesResult

    Raises
    ------
    ParameterError
        An unknown unit, rule or removal, a number out of its range, or `share` without `remove="documents"`.
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
    >>> found = nk.passages([news, digest], ids=["news", "digest"])
    >>> next(found.passages.rows())  # doctest: +ELLIPSIS
    {'id': 'digest', 'start': 20, 'end': 110, 'other': 'news', 'other_start': 0, 'other_end': 90, 'similarity': 1.0,
    ...}
    >>> found.remaining([news, digest])[1]
    'The week in short.\n\nThere was some rain, too.'
    """
    most = check_count("max_comparisons", max_comparisons, 1, (1 << 63) - 1, "1 or more")
    options = options_of(recipe, threshold, radius, recall, confirm, verify, keep, most)
    rule = BoilerplateRule(boilerplate_documents, boilerplate_share)
    search = _Search(parse_units(unit), min_length, options, within, remove, share, boilerplate, rule)
    named = Columns.of(text, id, texts)
    given = Documents(texts, ids, values_by_column(options.order, values), sources)  # type: ignore[arg-type]
    with ExitStack() as stack:
        report = stack.enter_context(reporting(progress))
        given = stack.enter_context(opened(given, named))
        return search.run(given, report)


@dataclass(frozen=True)
class _Search:
    """What a run is to do; it is checked when it is made."""

    units: tuple[Unit, ...]
    min_length: int
    options: RunOptions
    within: bool
    remove: Removal
    share: float | None
    boilerplate: UseOfBoilerplate | None
    rule: BoilerplateRule

    def __post_init__(self) -> None:
        check_count("min_length", self.min_length, 1, (1 << 31) - 1, "1 or more characters")
        if self.remove not in get_args(Removal):
            raise bad_parameter("remove", repr(self.remove), ", ".join(get_args(Removal)))
        if self.boilerplate not in (None, *get_args(UseOfBoilerplate)):
            raise bad_parameter("boilerplate", repr(self.boilerplate), "drop, keep or None")
        if self.boilerplate is not None and self.units[0].kind == "repeat":
            raise bad_parameter("boilerplate", repr(self.boilerplate), "None with repeats, which are exact")
        if self.share is not None:
            number = isinstance(self.share, (int, float)) and not isinstance(self.share, bool)
            if not number or not 0 < self.share <= 1:
                raise bad_parameter("share", repr(self.share), "a share above 0 and up to 1")
            if self.remove != "documents":
                raise bad_parameter("share", self.share, 'None without remove="documents"')

    def run(self, given: Documents, report: Progress) -> PassagesResult:
        """All stages."""
        timer = StageTimer()
        if self.units[0].kind == "repeat":
            documents, found, counts = self._repeats(given, timer, report)
            frequent = None
        else:
            documents, units, frequent = self._hashed(given, timer, report)
            found, counts = self._match(documents, units, timer, report)
        with timer("result"):
            result = self._result(documents, found, counts, frequent)
        result.summary["timings"] = timer.seconds
        result.summary["peak_memory_bytes"] = peak_memory_bytes()
        return result

    def _hashed(
        self, given: Documents, timer: StageTimer, report: Progress
    ) -> tuple[HashedDocuments, list[UnitParts], Boilerplate | None]:
        """The documents, of which `counts` are the characters that count; their parts; what is boilerplate."""
        source = cast("TextCandidateSource", self.options.candidate_source)
        units = [UnitParts(unit, source, self.min_length, NO_LINES) for unit in self.units]
        lines = None if self.boilerplate is None else LineCounts()
        with timer("hash"):
            # Without frequent lines parts are others, which are made once these are known.
            reader = PartReader([] if self.boilerplate == "drop" else units, lines)
            documents = _read(given, reader, report)
        if lines is None:
            return documents, units, None
        with timer("boilerplate"):
            frequent = lines.frequent(documents, documents.columns.get("source"), self.rule)
        if self.boilerplate == "drop":
            with timer("hash"):
                for one in units:
                    one.begin_again(frequent.hashes)
                again = document_batches(documents, np.arange(len(documents)))
                visible = [_appended(units, batch) for _, batch in again]
                if visible:
                    documents.counts = np.concatenate(visible).astype(np.uint64)
                else:
                    PartReader(units, None).hash([])
        return documents, units, frequent

    def _repeats(
        self, given: Documents, timer: StageTimer, report: Progress
    ) -> tuple[HashedDocuments, Found, list[UnitSummary]]:
        """The documents, their repeats, and what was counted."""
        reader = RepeatReader(self.units[0])
        with timer("hash"):
            documents = _read(given, reader, report)
        with timer("search"):
            order = keep_order(documents, self.options.order)
            found, counts = reader.find(documents, order, self.options.max_comparisons)
        return documents, found, [_counted(self.units[0], found, counts)]

    def _match(
        self, documents: HashedDocuments, units: list[UnitParts], timer: StageTimer, report: Progress
    ) -> tuple[Found, list[UnitSummary]]:
        """Passages by document in keep order and by place, and what was counted."""
        order = keep_order(documents, self.options.order)
        found = [copies(documents, order, len(units))]
        counts: list[UnitSummary] = []
        for number, one in enumerate(units):
            stage = f"search {one.unit.name}"
            with timer(stage):
                parts = one.hashed(documents.look_up)
                known = Found.together(found)
                tick = ticker(report, stage, len(parts.spans))
                new, count = match(parts, documents, known, self.options, tick, within=self.within)
                new.units[:] = number
                found.append(new)
                counts.append(_counted(one.unit, new, vars(count)))
        together = Found.together(found)
        place = np.empty(len(documents), np.int64)
        place[order] = np.arange(len(documents))
        return together.some(np.lexsort((together.spans[:, 0], place[together.rows]))), counts

    def _result(
        self,
        documents: HashedDocuments,
        found: Found,
        counts: list[UnitSummary],
        frequent: Boilerplate | None,
    ) -> PassagesResult:
        totals = documents.counts.astype(np.int64)
        kept = np.ones(len(documents), bool)
        if self.remove == "documents":
            kept = kept_by_share(found, totals, DOCUMENT_SHARE if self.share is None else self.share)
        elif self.remove == "parts":
            kept[found.rows] = (
                np.bincount(found.rows, weights=found.visible, minlength=len(kept))[found.rows] < (totals[found.rows])
            )
        cuts = _cuts(found, kept) if self.remove == "parts" else _cuts(found, np.zeros(len(kept), bool))
        passages, shares = tables(documents.ids, found, [*(unit.name for unit in self.units), "document"], totals, kept)
        listed = None if frequent is None else ResultTable(frequent.columns())
        summary = self._summary(documents, found, counts, kept, cuts, frequent)
        return PassagesResult(passages, shares, listed, np.flatnonzero(kept), cuts, summary, documents.ids)

    def _summary(
        self,
        documents: HashedDocuments,
        found: Found,
        counts: list[UnitSummary],
        kept: NDArray[np.bool_],
        cuts: Cuts,
        frequent: Boilerplate | None,
    ) -> PassagesSummary:
        """Counts and parameters, in the order of the file summary.json; times and memory follow."""
        options = self.options
        told, warnings = promised(options.candidate_source.summary(), options.verify)
        warnings = [] if self.units[0].kind == "repeat" else warnings
        skipped = sum(count["skipped"] for count in counts)
        summary: PassagesSummary = {"version": __version__, "unit": ",".join(unit.name for unit in self.units)}
        if self.units[0].kind != "repeat":
            summary |= {
                "recipe": str(options.recipe),
                "recipe_digest": options.recipe.digest,
                "min_length": self.min_length,
                "threshold": options.threshold,
                **told,  # type: ignore[typeddict-item]  # The names are the same.
                "verify": options.verify,
                "within": self.within,
            }
        summary |= {
            "keep": options.keep,
            "remove": self.remove,
            "share": (self.share or DOCUMENT_SHARE) if self.remove == "documents" else None,
            "documents": len(documents),
            "documents_with_passages": len(np.unique(found.rows)),
            "characters": int(documents.counts.sum()),
            "characters_found": int(found.visible.sum()),
            "passages": len(found),
            "kept": int(kept.sum()),
            "removed": int((~kept).sum()),
            "cut": len(cuts.rows),
            "copies": int((found.units == len(self.units)).sum()),
            "units": counts,
            "skipped": skipped,
        }
        if frequent is not None:
            least, share, left_out = self.rule.documents, self.rule.share, self.boilerplate == "drop"
            lines = len(frequent.lines)
            summary["boilerplate"] = {"lines": lines, "documents": least, "share": share, "left_out": left_out}
        missing = tell_missing(documents, options.order)
        if skipped:
            missing.append(options.tell_skipped(skipped).replace("some documents have", "some parts have"))
        for message in missing:
            warn_caller(message)
        if warnings + missing:
            summary["warnings"] = warnings + missing
        return summary


def _read(given: Documents, reader: PartReader | RepeatReader, report: Progress) -> HashedDocuments:
    """The documents, read by what takes the place of a family."""
    uses = {column_key(name): cells for name, cells in given.values.items()}
    if given.sources is not None:
        uses["source"] = given.sources
    cells = {use: as_column(value) for use, value in uses.items() if not isinstance(value, str)}
    documents = hash_texts(given.texts, given.ids, cast("TextCandidateSource", reader), report, cells)
    names = {use: value if isinstance(value, str) else None for use, value in uses.items()}
    name_columns(given.texts, documents, names)
    check_distinct_ids(documents.ids, "ids")
    return documents


def _appended(units: Sequence[UnitParts], texts: TextBatch) -> NDArray[np.int64]:
    """How many characters of each text count, once its parts are in all units."""
    counts, *_ = [one.append(texts) for one in units]
    return counts


def _counted(unit: Unit, found: Found, counts: Mapping[str, int]) -> UnitSummary:
    """What the summary says of a unit."""
    told = {"passages": len(found), "equal": int(found.equal.sum()), "characters": int(found.visible.sum())}
    return {"unit": unit.name, **counts, **told}  # type: ignore[typeddict-item]  # The names are the same.


def kept_by_share(found: Found, totals: NDArray[np.int64], share: float) -> NDArray[np.bool_]:
    """Which documents stay where those go of which a share stands in documents that stay.

    Documents are visited in keep order. A passage counts if the other document stays; or if an earlier document that
    stays has the very same passage, which then takes the place of the other one. So nothing goes that does not stand
    in a document that stays.

    Parameters
    ----------
    found : Found
        By document in keep order.
    totals : (n_documents,) int64
        Visible characters of each document.
    share : float
        The least share with which a document goes.
    """
    kept = np.ones(len(totals), bool)
    if not len(found):
        return kept
    standing: set[tuple[int, int, int]] = set()
    starts = np.flatnonzero(np.r_[True, found.rows[1:] != found.rows[:-1]])
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(found)], strict=True):
        row = int(found.rows[start])
        gone: list[tuple[int, int, int]] = []
        stands, some = 0, False
        for at in range(start, end):
            key = (int(found.units[at]), int(found.keys[at, 0]), int(found.keys[at, 1]))
            if found.others[at] != row and (kept[found.others[at]] or key in standing):
                stands, some = stands + int(found.visible[at]), True
            else:
                gone.append(key)
        if some and stands >= share * totals[row]:
            kept[row] = False
        else:
            standing.update(gone)
    return kept


def _cuts(found: Found, chosen: NDArray[np.bool_]) -> Cuts:
    """The passages of chosen documents, by row and place."""
    some = found.some(chosen[found.rows])
    order = np.lexsort((some.spans[:, 0], some.rows))
    rows, counts = np.unique(some.rows, return_counts=True)
    return Cuts(rows, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), some.spans[order])


def repeats(
    texts: Texts | Corpus | Frame | Paths,
    ids: Ids | None = None,
    *,
    text: str | None = None,
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
    """Find exact long repeats: every stretch of so many bytes or words that stands earlier as well.

    A stretch is as long as it goes on at both ends, and is looked for in earlier documents and earlier in its own.
    What is found is exactly all windows of `min_length` bytes or words of which an equal one begins before.

    Parameters
    ----------
    texts, ids, text, id, keep, values, remove, share, progress
        As `nearkin.passages` takes them.
    min_length : int, optional
        Bytes of UTF-8, or words, 2 or more; 200 bytes or 50 words if not given.
    unit : {"bytes", "words"}, default "bytes"
        With bytes whole characters are matched as they are. With words (UAX #29; an ideograph is a word) what stands
        between them, space and punctuation, may differ.
    max_comparisons : int, default 10,000
        Earlier places that one place is compared with, which bounds the work for phrases that stand in very many
        contexts; the summary counts under `skipped` how often there were more.

    Returns
    -------
    PassagesResult
        `similarity` is 1.

    Examples
    --------
    >>> import nearkin as nk
    >>> found = nk.repeats(["to be or not to be", "not to be late"], min_length=8)
    >>> [(row["id"], row["start"], row["end"], row["other_start"]) for row in found.passages.rows()]
    [(1, 0, 9, 9)]
    """
    if unit not in ("bytes", "words"):
        raise bad_parameter("unit", repr(unit), "bytes or words")
    least = REPEATED[unit] if min_length is None else check_count("min_length", min_length, 2, 1 << 30, "2 to 2**30")
    return passages(
        texts,
        ids,
        text=text,
        id=id,
        unit=f"repeat:{least}" + (":words" if unit == "words" else ""),
        keep=keep,
        values=values,
        remove=remove,
        share=share,
        max_comparisons=max_comparisons,
        progress=progress,
    )


__all__ = ["MIN_LENGTH", "PassagesResult", "UseOfBoilerplate", "kept_by_share", "passages", "repeats"]
