"""Deduplication of codes that other programs computed: the stages of `nearkin.dedup.texts`, with a Hamming radius.

1. *Hash*: every code is parsed (`nearkin.dedup.candidates.codes`); documents without one are flagged and kept.
2. *Collapse*: equal codes become one.
3. *Search, cluster*: `nearkin.dedup.cluster` over the codes within the radius; the similarity is the share of equal
   bits. There is nothing to verify.
4. *Keep*: the first document of each cluster in keep order is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack

import numpy as np

from nearkin._core import content_hashes
from nearkin.dedup.config import ClusterRule, CodeDedupConfig, ListedLinks
from nearkin.dedup.constraints import read_constraints
from nearkin.dedup.documents import Cells, HashedDocuments, hash_texts
from nearkin.dedup.inputs import ColumnNames, DedupInputs, FrameLike, Paths, open_inputs
from nearkin.dedup.keep import values_by_column
from nearkin.dedup.labels import LabelsInput
from nearkin.dedup.reference import ReferenceProvider, SearchableReference
from nearkin.dedup.result import DedupResult
from nearkin.dedup.stages import run_stages
from nearkin.dedup.summary import StageTimer
from nearkin.dedup.texts import hash_inputs
from nearkin.errors import bad_parameter
from nearkin.index.ids import Ids
from nearkin.io import Corpus
from nearkin.io.values import PackedTexts
from nearkin.progress import ShowProgress, mark_reference, reporting
from nearkin.text.batches import Texts

__all__ = ["dedup_codes"]

_ROWS = 65_536
"""Number of codes that are hashed at a time."""


def dedup_codes(
    codes: Texts | Corpus | FrameLike | Paths,
    ids: Ids | None = None,
    *,
    radius: int | None,
    bits: int | None = None,
    text: str | None = None,
    id: str | None = None,
    keep: str = "first",
    values: Cells | str | Mapping[str, Cells] | None = None,
    sources: Cells | str | None = None,
    against: Texts | Corpus | FrameLike | Paths | None = None,
    against_ids: Ids | None = None,
    labels: LabelsInput | None = None,
    cluster: ClusterRule = "absorb",
    links: ListedLinks = "representatives",
    progress: ShowProgress = None,
) -> DedupResult:
    """Find near-duplicates among codes that other programs computed, and keep one document of each cluster.

    Parameters
    ----------
    codes : iterable of str or None, a column, a frame, paths, or an open Corpus
        Hexadecimal digits of either case, all of one width; None, "" or "-" for a document without a code, which is
        kept.
    ids : ids, optional
        As for `nearkin.dedup`.
    radius : int
        Maximum Hamming distance of a match, inclusive.
    bits : int, optional
        Width of the codes; by default four bits per digit of the first.
    text, id : str, optional
        Columns of codes and ids, of a frame or of files.
    keep, values, sources, labels, cluster, links, progress
        As for `nearkin.dedup`.
    against, against_ids : codes and ids, optional
        Older codes of the same width: documents that match one of them are removed.

    Returns
    -------
    DedupResult
        `distance` is the Hamming distance, `similarity` the share of equal bits. The reason of an equal code is
        "exact".

    Raises
    ------
    InputError
        A code of another width than the first, or with another character; a missing id, or one that occurs twice.
    ParameterError
        No radius, a radius beyond the width, an unknown rule, or a store in `against`.

    Examples
    --------
    >>> from nearkin.dedup.codes import dedup_codes
    >>> result = dedup_codes(["ffd8a0c1", "ffd8a0c0", "0123abcd"], ["a.png", "b.png", "c.png"], radius=4)
    >>> result.kept
    ['a.png', 'c.png']
    >>> for row in result.clusters.rows():
    ...     print(row["id"], row["representative"], row["reason"], row["distance"])
    a.png a.png kept 0
    b.png a.png near 1
    """
    if isinstance(against, ReferenceProvider):
        raise bad_parameter("against", repr(against), "codes: a store has no codes of other programs")
    config = CodeDedupConfig(radius=radius, bits=bits, keep=keep, cluster=cluster, links=links)
    source, timer = config.candidate_source, StageTimer()
    names = ColumnNames.from_args(text, id, codes, against)
    constraints = None if labels is None else read_constraints(labels, None, against)
    with ExitStack() as stack:
        report = stack.enter_context(reporting(progress))
        inputs = DedupInputs(codes, ids, values_by_column(config.order, values), sources)  # type: ignore[arg-type]
        inputs = stack.enter_context(open_inputs(inputs, names))
        older = stack.enter_context(open_inputs(DedupInputs(against, against_ids), names, "against"))  # type: ignore[arg-type]
        with timer("hash"):
            new, _ = hash_inputs(inputs, source, report, timer)
            _hash_contents(new)
            reference = None
            if older.texts is not None:
                documents = hash_texts(older.texts, older.ids, source, mark_reference(report), {})
                _hash_contents(documents)
                reference = SearchableReference(documents, source)
        return run_stages(new, reference, config, timer, report, constraints)


def _hash_contents(documents: HashedDocuments) -> None:
    """Let equal codes have equal contents, however their digits are spelled."""
    values = documents.values
    for start in range(0, len(values), _ROWS):
        rows = np.ascontiguousarray(values[start : start + _ROWS]).view(np.uint8)
        # Contents are texts: each half of a byte becomes an ASCII character.
        spelled = (np.stack([rows & 15, rows >> 4], axis=2) + np.uint8(ord("0"))).reshape(len(rows), -1)
        offsets = np.arange(len(rows) + 1, dtype=np.int64) * spelled.shape[1]
        contents = content_hashes(PackedTexts(offsets, spelled.reshape(-1)))[0]
        documents.contents[start : start + _ROWS] = contents.reshape(-1, 2)
