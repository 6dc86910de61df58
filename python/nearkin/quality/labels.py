"""What is known or found about documents: pairs that match or don't, and clusters; in memory and in files.

Ids are compared by their text, since a CSV file can't tell 7 from "7": two ids of one list that differ only in type are
an error. A pair has no order and occurs once; an id is in one cluster.

| file | is read as |
|---|---|
| a folder that `nearkin dedup` wrote | its clusters, its pairs, and which documents it saw |
| a table with an id and a cluster column | clusters |
| a table with two id columns | pairs; labelled if it has a label column, with strata and weights if it has these |

Pairs are those of `nearkin.dedup.labels`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from nearkin.dedup.labels import ID_COLUMNS, PAIR_TABLE, Columns, PairLabels, check_ids, names, pairs_of_table
from nearkin.errors import InputError, bad_parameter
from nearkin.index.ids import Ids
from nearkin.io import open_corpus, read_table
from nearkin.io.values import Scalar

__all__ = ["ClusterLabels", "DedupRun", "PairLabels", "read_labels"]


@dataclass(frozen=True)
class ClusterLabels:
    """The cluster of each id.

    Parameters
    ----------
    ids : sequence of integers or strings
    clusters : sequence of hashable values
        Name of the cluster of each id. None stands for a cluster of its own.

    Attributes
    ----------
    labels : dict of str to int
        Number of the cluster of each id, from 0.

    Raises
    ------
    ParameterError
        For columns of different lengths.
    InputError
        For an id in two clusters, or a name of a cluster that can't be hashed.

    Examples
    --------
    >>> from nearkin.quality.labels import ClusterLabels
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
        for name, cluster in zip(names(ids, "clusters"), clusters, strict=True):
            # A new object equals no name of a cluster.
            key = object() if cluster is None else cluster
            try:
                number = numbers.setdefault(key, len(numbers))
            except TypeError:
                reason = f"id {name} has the cluster {cluster!r}; clusters are named by integers, strings or tuples"
                raise InputError(f"clusters: {reason}", place="clusters", reason=reason) from None
            if labels.setdefault(name, number) != number:
                reason = f"id {name} is in two clusters; an id has one"
                raise InputError(f"clusters: {reason}", place="clusters", reason=reason)
        object.__setattr__(self, "labels", labels)


_RUN_IDS = ("id", "representative", "left", "right")
"""Columns of ids in the tables of a run."""


@dataclass(frozen=True)
class DedupRun:
    """What a deduplication found, as far as an evaluation asks.

    Attributes
    ----------
    clusters : ClusterLabels
        Documents of clusters of two or more, and those that an older document removed.
    documents : set of str
        Every document that it read.
    links : list of (str, str)
        Each removed document with the one kept for it, unless that is an older document.
    older : int
        Documents that were removed for an older one.
    pairs : PairLabels or None
        All verified links, if the run listed them (`links="all"`).
    numbered : bool
        Whether its ids are row numbers, since no column of ids was named.
    older_documents : int
        Documents that it was held against (`--against`). Its tables name those of them that removed one.
    """

    clusters: ClusterLabels
    documents: set[str]
    links: list[tuple[str, str]]
    older: int
    pairs: PairLabels | None
    numbered: bool = False
    older_documents: int = 0

    @classmethod
    def of_tables(
        cls,
        clusters: Columns,
        pairs: Columns,
        documents: Iterable[object],
        *,
        numbered: bool = False,
        older_documents: int = 0,
    ) -> DedupRun:
        """The run of its two tables and its documents' ids."""
        new = [not reason.endswith("-old") for reason in clusters["reason"]]
        removed = [own and reason != "kept" for reason, own in zip(clusters["reason"], new, strict=True)]
        seen = {*names(documents, "documents"), *names(clusters["id"], "clusters")}
        ends = [
            (one, two)
            for one, two, wanted in zip(clusters["id"], clusters["representative"], removed, strict=True)
            if wanted
        ]
        flat = names([name for pair in ends for name in pair], "clusters")
        # Links to older documents name ids of another corpus, which may be the same as ids of this one.
        known = [row for row, (a, b) in enumerate(zip(pairs.get("left", ()), pairs.get("right", ()), strict=True))
                 if str(a) in seen and str(b) in seen]  # fmt: skip
        listed = None
        if "left" in pairs and all(new):
            listed = PairLabels([pairs["left"][row] for row in known], [pairs["right"][row] for row in known])
        links = list(zip(flat[::2], flat[1::2], strict=True))
        labels = ClusterLabels(clusters["id"], clusters["cluster"])
        return cls(labels, seen, links, len(new) - sum(new), listed, numbered, older_documents)


def read_labels(
    path: str | os.PathLike[str],
    *,
    pair_columns: tuple[str, str] | None = None,
    label_column: str | None = None,
    at_least: float | None = None,
    id_column: str | None = None,
    cluster_column: str | None = None,
) -> PairLabels | ClusterLabels | DedupRun:
    r"""The labels of a file, or those of a run's folder.

    Parameters
    ----------
    path : path
        A folder that `nearkin dedup` wrote, or a table (JSON, CSV, TSV, Parquet; also compressed).
    pair_columns : (str, str), optional
        Columns of the two ids of a pair; None for the first of `PAIR_COLUMNS` that the table has.
    label_column : str, optional
        Column that says whether a pair matches (0 or 1, true or false; empty or "unsure" where nobody could decide), or
        with `at_least` how similar it is. None for the first of `LABEL_COLUMNS` that the table has; without any, all
        pairs match. Beside labels, columns `stratum` and `weight` are those of a sample.
    at_least : float, optional
        Pairs whose number in `label_column` is at least this match.
    id_column, cluster_column : str, optional
        Columns of clusters; None for `id` and `cluster`.

    Raises
    ------
    InputError
        A file that can't be read, has none of these columns, or has an invalid label.
    ParameterError
        `at_least` without `label_column`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from nearkin.quality.labels import read_labels
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "pairs.tsv"
    >>> _ = path.write_text("id_a\tid_b\tjaccard\na\tb\t0.9\na\tc\t0.4\n")
    >>> read_labels(path, label_column="jaccard", at_least=0.8).labels
    {('a', 'b'): True, ('a', 'c'): False}
    """
    if at_least is not None and label_column is None:
        raise bad_parameter("at_least", at_least, "a number together with label_column, the column that it is about")
    if Path(path).is_dir():
        return _read_run(Path(path))
    wanted = {*(pair_columns or ()), *([label_column] if label_column else []), *PAIR_TABLE}
    clusters = (id_column or "id", cluster_column or "cluster")
    ids = {*(pair_columns or ID_COLUMNS), clusters[0]} - {clusters[1], label_column}
    table = read_table(path, wanted | {*clusters}, ids=ids)
    asked = pair_columns is not None or label_column is not None
    if not asked and all(name in table for name in clusters):
        check_ids(table[clusters[0]], os.fspath(path), clusters[0])
        return ClusterLabels(table[clusters[0]], table[clusters[1]])
    return pairs_of_table(
        table,
        os.fspath(path),
        pair_columns=pair_columns,
        label_column=label_column,
        at_least=at_least,
        asked=(id_column, cluster_column),
        also=", or an id and a cluster column",
    )


def _read_run(folder: Path) -> DedupRun:
    """The run that wrote a folder: clusters, pairs, and from the summary which ids its documents have."""
    try:
        summary = json.loads((folder / "summary.json").read_text("utf-8"))
        documents, older = summary["documents"], summary.get("older_documents", 0)
        # A run over files lists the kept ones; one over documents writes them.
        of_files = summary.get("verify") == "score"
        form = "files" if of_files else summary["format"]
        if not of_files:
            kept = summary.get("kept_files") or [summary["kept_file"]]
            text_column, id_column = summary["text_column"], summary["id_column"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        reason = f"is no folder that nearkin dedup wrote ({error!r}); give that, or a table of pairs or clusters"
        raise InputError(f"{folder}: {reason}", place=str(folder), reason=reason) from error
    ending = "jsonl" if form in ("txt", "files", "warc") else form
    clusters, pairs = (read_table(folder / f"{name}.{ending}", ids=_RUN_IDS) for name in ("clusters", "pairs"))
    columns = {name: clusters.get(name, []) for name in ("id", "cluster", "representative", "reason")}
    if of_files:
        return DedupRun.of_tables(columns, pairs, _kept_names(folder / "kept.nul"), older_documents=older)
    ids: list[Scalar] = []
    numbered = id_column is None and form != "files"
    if numbered:
        ids = list(range(documents))
    elif documents > sum(reason != "kept" for reason in columns["reason"]):
        is_list = form == "files"
        with open_corpus(
            [folder / name for name in kept],
            format="txt" if is_list else form,
            text_column=None if ending != form else text_column,
            id_column=None if is_list else id_column,
        ) as corpus:
            for batch in corpus.batches():
                ids += list(batch.texts) if is_list else batch.ids.to_list()
    return DedupRun.of_tables(columns, pairs, ids, numbered=numbered, older_documents=older)


def _kept_names(path: Path) -> list[str]:
    """Paths that end with a NUL each, as the tables of a run name them: bytes that are not UTF-8 are escaped."""
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = f"can't be read ({error.strerror}); a run over files lists there what it kept: run nearkin dedup again"
        raise InputError(f"{path}: {reason}", place=str(path), reason=reason) from error
    return [os.fsdecode(name).encode("utf-8", "backslashreplace").decode() for name in data.split(b"\0")[:-1]]
