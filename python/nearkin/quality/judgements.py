"""Judgements of documents: clusters and pairs, from labels or from a run, in memory and in files.

Ids are compared as text, because a CSV file cannot distinguish 7 from "7". Two ids of one list that differ only in type
are an error. A pair has no order and occurs once; an id is in one cluster.

| file | contents |
|---|---|
| a folder that `nearkin dedup` wrote | clusters, pairs, and the ids of the documents |
| a table with an id and a cluster column | clusters |
| a table with two id columns | pairs; with a label column labelled pairs, optionally with strata and weights |

`nearkin.dedup.labels` has the pairs, `PairLabels`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from nearkin.dedup.labels import ID_COLUMNS, PAIR_TABLE, LabelTable, PairLabels, check_ids, id_texts, labels_from_table
from nearkin.errors import bad_parameter, input_error
from nearkin.index.ids import Ids
from nearkin.io import open_corpus, read_table
from nearkin.io.values import Scalar

__all__ = ["ClusterLabels", "DedupRun", "Labels", "PairLabels", "is_complete", "read_judgements"]


@dataclass(frozen=True)
class ClusterLabels:
    """The cluster of each id.

    Parameters
    ----------
    ids : sequence of integers or strings
    clusters : sequence of hashable values
        Name of the cluster of each id. None is a cluster of its own.

    Attributes
    ----------
    labels : dict of str to int
        Cluster of each id, numbered from 0.

    Raises
    ------
    ParameterError
        The columns have different lengths.
    InputError
        An id is in two clusters, or the name of a cluster is not hashable.

    Examples
    --------
    >>> from nearkin.quality.judgements import ClusterLabels
    >>> ClusterLabels(["a", "b", "c", "d"], ["x", "y", "x", None]).labels
    {'a': 0, 'b': 1, 'c': 0, 'd': 2}
    """

    ids: Ids = field(repr=False)
    clusters: Iterable[Hashable] = field(repr=False)
    labels: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        ids, clusters = list(self.ids), list(self.clusters)
        if len(ids) != len(clusters):
            raise bad_parameter("clusters", f"{len(clusters)} rows", f"{len(ids)} rows, one per id")
        numbers: dict[Hashable, int] = {}
        labels: dict[str, int] = {}
        for name, cluster in zip(id_texts(ids, "clusters"), clusters, strict=True):
            # A new object differs from every name.
            key = object() if cluster is None else cluster
            try:
                number = numbers.setdefault(key, len(numbers))
            except TypeError:
                reason = f"id {name} has the cluster {cluster!r}; clusters are named by integers, strings or tuples"
                raise input_error("clusters", reason) from None
            if labels.setdefault(name, number) != number:
                raise input_error("clusters", f"id {name} is in two clusters; an id has one")
        object.__setattr__(self, "labels", labels)


Labels: TypeAlias = (
    PairLabels
    | ClusterLabels
    | Iterable[tuple[int | str, int | str] | tuple[int | str, int | str, bool | None]]
    | str
    | os.PathLike[str]
)
"""Labels, pairs of ids with or without a label, or the path of a file of these."""

_RUN_IDS = ("id", "representative", "left", "right")
"""Columns of ids in the tables of a run."""


@dataclass(frozen=True)
class DedupRun:
    """The clusters, links and pairs of a deduplication.

    Attributes
    ----------
    clusters : ClusterLabels
        Documents of clusters of two or more, and those that were removed for a document of the reference corpus.
    documents : set of str
        Ids of all documents.
    links : list of (str, str)
        Each removed document with the kept one, unless that is in the reference corpus.
    older : int
        Number of documents that were removed for one of the reference corpus.
    pairs : PairLabels or None
        All verified pairs, if the run listed them (`links="all"`).
    numbered : bool
        True if ids are row numbers, because no id column was named.
    older_documents : int
        Size of the reference corpus (`--against`). The tables name those of its documents that removed another.
    """

    clusters: ClusterLabels
    documents: set[str]
    links: list[tuple[str, str]]
    older: int
    pairs: PairLabels | None
    numbered: bool = False
    older_documents: int = 0

    @classmethod
    def from_tables(
        cls,
        clusters: LabelTable,
        pairs: LabelTable,
        documents: Iterable[object],
        *,
        numbered: bool = False,
        older_documents: int = 0,
    ) -> DedupRun:
        """Return the run with these two tables and the ids of its documents."""
        own = [not reason.endswith("-old") for reason in clusters["reason"]]
        ids = {*id_texts(documents, "documents"), *id_texts(clusters["id"], "clusters")}
        rows = zip(clusters["id"], clusters["representative"], clusters["reason"], own, strict=True)
        removed = [(a, b) for a, b, reason, is_own in rows if is_own and reason not in ("kept", "representative")]
        flat = id_texts([name for pair in removed for name in pair], "clusters")
        listed = None
        if "left" in pairs and all(own):
            # A document of the reference corpus may have the same id as one of this corpus.
            inside = [
                (a, b) for a, b in zip(pairs["left"], pairs["right"], strict=True) if str(a) in ids and str(b) in ids
            ]
            listed = PairLabels([a for a, _ in inside], [b for _, b in inside])
        links = list(zip(flat[::2], flat[1::2], strict=True))
        labels = ClusterLabels(clusters["id"], clusters["cluster"])
        return cls(labels, ids, links, own.count(False), listed, numbered, older_documents)


def is_complete(labels: PairLabels) -> bool:
    """Return True if pairs that are not listed do not match: all listed pairs match, and they are not a sample."""
    return not labels.sampled and all(labels.labels.values())


def read_judgements(
    path: str | os.PathLike[str],
    *,
    pair_columns: tuple[str, str] | None = None,
    label_column: str | None = None,
    min_similarity: float | None = None,
    id_column: str | None = None,
    cluster_column: str | None = None,
) -> PairLabels | ClusterLabels | DedupRun:
    r"""Return the labels of a file, or the run of a folder.

    Parameters
    ----------
    path : path
        A folder that `nearkin dedup` wrote, or a table (JSON, CSV, TSV, Parquet; also compressed).
    pair_columns : (str, str), optional
        Columns of the two ids of a pair. Default: the first of `PAIR_COLUMNS` that the table has.
    label_column : str, optional
        Column of labels (0 or 1, true or false; empty or "unsure" for undecided pairs), or with `min_similarity` of
        similarities. Default: the first of `LABEL_COLUMNS` that the table has; without such a column all pairs match.
        If there are labels, the columns `stratum` and `weight` are also read.
    min_similarity : float, optional
        Pairs match if their number in `label_column` is at least this.
    id_column, cluster_column : str, optional
        Columns of clusters. Default: `id` and `cluster`.

    Raises
    ------
    InputError
        The file cannot be read, lacks the columns, or has an invalid label.
    ParameterError
        `min_similarity` is passed without `label_column`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from nearkin.quality.judgements import read_judgements
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "pairs.tsv"
    >>> _ = path.write_text("id_a\tid_b\tjaccard\na\tb\t0.9\na\tc\t0.4\n")
    >>> read_judgements(path, label_column="jaccard", min_similarity=0.8).labels
    {('a', 'b'): True, ('a', 'c'): False}
    """
    if min_similarity is not None and label_column is None:
        allowed = "a number together with label_column, the column of the similarities"
        raise bad_parameter("min_similarity", min_similarity, allowed)
    if Path(path).is_dir():
        return _read_run(Path(path))
    requested = {*(pair_columns or ()), *([label_column] if label_column else []), *PAIR_TABLE}
    clusters = (id_column or "id", cluster_column or "cluster")
    ids = {*(pair_columns or ID_COLUMNS), clusters[0]} - {clusters[1], label_column}
    table = read_table(path, requested | {*clusters}, ids=ids)
    has_pairs = pair_columns is not None or label_column is not None
    if not has_pairs and all(name in table for name in clusters):
        check_ids(table[clusters[0]], os.fspath(path), clusters[0])
        return ClusterLabels(table[clusters[0]], table[clusters[1]])
    return labels_from_table(
        table,
        os.fspath(path),
        pair_columns=pair_columns,
        label_column=label_column,
        min_similarity=min_similarity,
        required=(id_column, cluster_column),
        alternative=", or an id and a cluster column",
    )


def _read_run(folder: Path) -> DedupRun:
    """Return the run of a folder; the summary says which ids its documents have."""
    try:
        summary = json.loads((folder / "summary.json").read_text("utf-8"))
        documents, older = summary["documents"], summary.get("older_documents", 0)
        # A run on files lists the kept files; a run on documents writes them.
        on_files = summary.get("verify") == "score"
        format_ = "files" if on_files else summary["format"]
        if not on_files:
            kept = summary.get("kept_files") or [summary["kept_file"]]
            text_column, id_column = summary["text_column"], summary["id_column"]
            if "groups" in summary:
                id_column = summary["groups"]["column"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        remedy = "use such a folder, or a table of pairs or clusters"
        raise input_error(folder, f"is not a folder that nearkin dedup wrote ({error!r}); {remedy}") from error
    suffix = "jsonl" if format_ in ("txt", "files", "warc") else format_
    clusters, pairs = (read_table(folder / f"{name}.{suffix}", ids=_RUN_IDS) for name in ("clusters", "pairs"))
    columns = {name: clusters.get(name, []) for name in ("id", "cluster", "representative", "reason")}
    if on_files:
        return DedupRun.from_tables(columns, pairs, _kept_names(folder / "kept.nul"), older_documents=older)
    ids: list[Scalar] = []
    numbered = id_column is None and format_ != "files"
    if numbered:
        ids = list(range(documents))
    elif documents > sum(reason != "kept" for reason in columns["reason"]):
        is_list = format_ == "files"
        with open_corpus(
            [folder / name for name in kept],
            format="txt" if is_list else format_,
            text_column=None if suffix != format_ else text_column,
            id_column=None if is_list else id_column,
        ) as corpus:
            for batch in corpus.batches():
                ids += list(batch.texts) if is_list else batch.ids.to_list()
    return DedupRun.from_tables(columns, pairs, ids, numbered=numbered, older_documents=older)


def _kept_names(path: Path) -> list[str]:
    """Return NUL-terminated paths as the tables of a run spell them: bytes that are not UTF-8 are escaped."""
    try:
        data = path.read_bytes()
    except OSError as error:
        remedy = "a run on files lists its kept files there: run nearkin dedup again"
        raise input_error(path, f"cannot be read ({error.strerror}); {remedy}") from error
    return [os.fsdecode(name).encode("utf-8", "backslashreplace").decode() for name in data.split(b"\0")[:-1]]
