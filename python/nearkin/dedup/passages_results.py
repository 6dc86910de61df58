"""What a search for passages found: passages, shares of documents, what stays; as tables and summary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.chunk_dedup import Found
from nearkin.dedup.cuts import Cuts
from nearkin.dedup.result import IdList, ResultTable
from nearkin.dedup.summary import Timing
from nearkin.io import Column
from nearkin.io.values import INT
from nearkin.notebook import html_facts

Removal = Literal["parts", "documents", "nothing"]


class UnitSummary(TypedDict, total=False):
    """Counts of one unit: characters are those that are no white space."""

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
    """What is boilerplate, and what became of it."""

    lines: int
    documents: int
    share: float
    left_out: bool


class PassagesSummary(TypedDict, total=False):
    """Counts and parameters of a search for passages, as in the file summary.json; characters are those that are no
    white space.
    """

    version: str
    recipe: str
    recipe_digest: str
    unit: str
    min_length: int
    threshold: float
    radius: int
    num_perm: int
    num_bands: int
    num_rows: int
    least_equal_values: int
    expected_recall: float | None
    expected_precision: float
    confirm: str
    confirm_distance: int
    verify: str
    keep: str
    within: bool
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
    skipped: int
    boilerplate: BoilerplateSummary
    warnings: list[str]
    timings: dict[str, Timing]
    peak_memory_bytes: int | None


class PassageTable(ResultTable):
    """Passages: id, start, end, other, other_start, other_end, similarity, unit."""

    def _types(self) -> dict[str, str]:
        places = dict.fromkeys(("start", "end", "other_start", "other_end"), "int64")
        named: dict[str, str] = {} if self._id_type is None else {"id": self._id_type, "other": self._id_type}
        return {**places, "similarity": "float64", "unit": "string", **named}


class ShareTable(ResultTable):
    """Documents with passages: id, characters, found, share, passages, removed."""

    def _types(self) -> dict[str, str]:
        counts = dict.fromkeys(("characters", "found", "passages"), "int64")
        named = {} if self._id_type is None else {"id": self._id_type}
        return {**counts, "share": "float64", "removed": "bool", **named}


@dataclass(frozen=True)
class PassagesResult:
    """What a search for passages found.

    Attributes
    ----------
    passages : PassageTable
        A row for each passage of a document that stands in an earlier one: id, start, end (characters of the text as
        it was given, end exclusive), other (id of the earlier document), other_start, other_end, similarity, unit. By
        document in keep order, then by place.
    documents : ShareTable
        A row for each document that has such a passage, in input order: id, characters (without white space), found
        (how many of them lie in passages), share (found / characters), passages, removed.
    boilerplate : ResultTable or None
        Frequent lines, where they were looked for: line, documents, source, source_documents.
    kept_rows : (n_kept,) int64
        Rows of the documents that stay, ascending.
    cuts : Cuts
        What is cut out of documents that stay.
    summary : dict
        Counts, recipe, parameters, version, timings per stage; as in the file summary.json.
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
        """Counts, and the first passages, for a notebook."""
        names = ("documents", "unit", "passages", "documents_with_passages", "kept", "cut", "removed")
        told: Mapping[str, object] = self.summary
        facts = [(name.replace("_", " "), told[name]) for name in names if name in told]
        facts += [("warning", warning) for warning in self.summary.get("warnings", [])]
        return html_facts(facts) + self.passages._repr_html_()

    @cached_property
    def kept(self) -> IdList:
        """Ids of the documents that stay, in input order."""
        return self.ids.take(self.kept_rows)

    def remaining(self, texts: Sequence[str | None]) -> list[str]:
        r"""The texts of the documents that stay, without the passages that are removed.

        Parameters
        ----------
        texts : sequence of str or None
            Those that were searched.

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
        found, documents = self.summary["documents_with_passages"], self.summary["documents"]
        return f"<{len(self.passages)} passages in {found} of {documents} documents, kept {len(self.kept_rows)}>"


def tables(
    ids: Column, found: Found, units: Sequence[str], totals: NDArray[np.int64], kept: NDArray[np.bool_]
) -> tuple[PassageTable, ShareTable]:
    """The tables of passages and of documents.

    Parameters
    ----------
    ids : Column
    found : Found
        In the order of the table.
    units : sequence of str
        The names of units by number.
    totals : (n_documents,) int64
        Visible characters of each document.
    kept : (n_documents,) bool
    """
    id_type = None if len(ids) == 0 else ("int64" if (ids.kinds == INT).all() else "string")
    passages: Mapping[str, Iterable[Any]] = {
        "id": ids.take(found.rows),
        "start": found.spans[:, 0].tolist(),
        "end": found.spans[:, 1].tolist(),
        "other": ids.take(found.others),
        "other_start": found.other_spans[:, 0].tolist(),
        "other_end": found.other_spans[:, 1].tolist(),
        "similarity": found.similarity.tolist(),
        "unit": [units[number] for number in found.units.tolist()],
    }
    rows, numbers, counts = np.unique(found.rows, return_inverse=True, return_counts=True)
    visible = np.bincount(numbers, weights=found.visible, minlength=len(rows)).astype(np.int64)
    documents: Mapping[str, Iterable[Any]] = {
        "id": ids.take(rows),
        "characters": totals[rows].tolist(),
        "found": visible.tolist(),
        "share": (visible / np.maximum(totals[rows], 1)).tolist(),
        "passages": counts.tolist(),
        "removed": (~kept[rows]).tolist(),
    }
    return (
        PassageTable({name: list(values) for name, values in passages.items()}, id_type=id_type),
        ShareTable({name: list(values) for name, values in documents.items()}, id_type=id_type),
    )
