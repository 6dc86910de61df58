"""Leakage between splits: documents of a test set that are in the training set, exactly, nearly, or inside a document.

For each pair of an earlier split A and a later split B, a document of B leaks

- *exact* if a document of A has equal text;
- *near* if a document of A has at least the threshold's Jaccard similarity (`nearkin.dedup` against A, by its recall);
- *contained* if a document of A contains at least the threshold's share of its word 3-grams (`nearkin.contains`);
- *item* if a document of A has it as an item of a suite (`nearkin.decontaminate`): inside of a longer document, with up
  to a quarter of its words changed, but not by a template that eight documents of B share.

A document counts once, for the first of these that holds. Documents without text do not leak.

Memory: the texts of all splits, about 900 bytes per document of a pair of splits (signatures, sketches and ids), and
about 50 bytes per word of the later split, which is searched as a suite.
Cost: one deduplication and one search for each pair of splits. `docs/decontaminate.md` has measurements.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nearkin._core import content_hashes
from nearkin.dedup.contains import KnownTexts
from nearkin.dedup.documents import Cells, as_column
from nearkin.dedup.inputs import ColumnNames, DedupInputs, FrameLike, Paths, open_inputs
from nearkin.dedup.labels import LabelsInput, read_pair_labels
from nearkin.dedup.result import ResultTable
from nearkin.dedup.texts import dedup
from nearkin.errors import bad_parameter, excerpt
from nearkin.index.ids import Ids
from nearkin.io import Column, Corpus
from nearkin.io.arrow import to_values
from nearkin.io.tables import Comparable
from nearkin.notebook import html_facts
from nearkin.pieces.decontaminate import decontaminate
from nearkin.progress import ShowProgress, reporting
from nearkin.recipe import Recipe
from nearkin.text.batches import Texts, iterate_batches

KINDS = ("exact", "near", "contained", "item")
"""Kinds of leaks; a document counts for the first that holds."""
CONTAINED_RECIPE = "word:3|binary|xxh3|simhash:128"
"""Features of containment: character 4-grams of unrelated long texts overlap by chance."""


class LeakTable(ResultTable):
    """Leaked documents: split, id, other, other_id, kind, similarity, and with labels label and other_label."""

    _own_types: ClassVar = {"split": "string", "other": "string", "kind": "string"}


class LeakMatrix(ResultTable):
    """Pairs of splits: split, other, documents, exact, near, contained, item, leaked, share; with labels same_label.

    `documents` are those of `split`, and the counts are how many of them are in `other`. `same_label` counts leaked
    documents whose document in `other` has the same label.
    """

    _own_types: ClassVar = {
        **dict.fromkeys(("split", "other"), "string"),
        **dict.fromkeys(("documents", *KINDS, "leaked", "same_label"), "int64"),
        "share": "float64",
    }


@dataclass(frozen=True, eq=False)
class Leaks(Comparable):
    """The result of a search for leaks.

    Attributes
    ----------
    matrix : LeakMatrix
        A row for each pair of splits.
    documents : LeakTable
        A row for each leaked document and each split that has it.
    texts : list of (str, str)
        The texts of each row of `documents`: that of the earlier split, and the leaked one.
    threshold : float
        Smallest similarity.
    labels : ResultTable or None
        With labels, a row for each pair of splits and each label: split, other, label, documents, exact, near,
        contained, item, same_label.
    """

    matrix: LeakMatrix
    documents: LeakTable
    texts: list[tuple[str, str]] = field(repr=False)
    threshold: float
    labels: ResultTable | None

    def __repr__(self) -> str:
        pairs = zip(self.matrix["split"], self.matrix["other"], self.matrix["leaked"], strict=True)
        return f"<leaks: {', '.join(f'{count} of {split} in {other}' for split, other, count in pairs)}>"

    def _repr_html_(self) -> str:
        """Render the matrix for a notebook."""
        return html_facts([("leaked", sum(self.matrix["leaked"]))]) + self.matrix._repr_html_()


@dataclass(frozen=True)
class _Split:
    """Documents of a split in memory."""

    name: str
    texts: list[str | None]
    ids: Column
    labels: list[Any] | None

    def __len__(self) -> int:
        return len(self.texts)


def leaks(
    splits: Mapping[str, Texts | Corpus | FrameLike | Paths],
    *,
    ids: Mapping[str, Ids] | None = None,
    labels: Mapping[str, Cells] | str | None = None,
    text: str | None = None,
    id: str | None = None,
    threshold: float = 0.8,
    recipe: Recipe | str | None = None,
    judged: LabelsInput | None = None,
    progress: ShowProgress = None,
) -> Leaks:
    """Find documents of later splits that are in earlier ones: exactly, nearly, inside a document, or as an item there.

    Parameters
    ----------
    splits : mapping of str to texts, a column, a frame, paths or an open Corpus
        The splits by name, the training set first: `{"train": ..., "test": ...}`.
    ids : mapping of str to integers or strings; optional
        Ids of a split's documents; None means row numbers.
    labels : mapping of str to values, or str; optional
        Labels of the documents of every split, or the column of frames and files that has them.
    text, id : str, optional
        For frames or files: the columns of texts and ids.
    threshold : float, default 0.8
        Smallest similarity of near documents, and containment, inclusive; above 0 and up to 1.
    recipe : Recipe, str or None
        Defines the features of near documents; None for the document recipe.
    judged : PairLabels, iterable of (document, document, bool or None), or a path; optional
        Judged pairs by the names of splits and ids, `("train:7", "test:12", False)`, or the file that the report
        exports. Pairs labelled different are no leak, unless they are exact copies.
    progress : function, bool or None
        As for `nearkin.dedup`.

    Returns
    -------
    Leaks

    Raises
    ------
    ParameterError
        Fewer than two splits, or labels of another number than the texts.
    InputError
        A file or record that can't be read.

    Examples
    --------
    >>> import nearkin as nk
    >>> train = ["The cat sat on the mat and slept all day long.", "Rivers run to the sea in the end."]
    >>> test = ["the cat sat on the mat, and slept all day long", "Another sentence of its own."]
    >>> result = nk.leaks({"train": train, "test": test})
    >>> result, result.documents["similarity"]
    (<leaks: 1 of test in train>, [1.0])
    """
    if not isinstance(splits, Mapping):
        raise bad_parameter("splits", excerpt(repr(splits), 60), 'splits by name, such as {"train": ..., "test": ...}')
    if len(splits) < 2:
        raise bad_parameter(
            "splits", ", ".join(map(repr, splits)) or "none", "two or more different ones, the training set first"
        )
    read = []
    with reporting(progress) as report:
        for name, texts in splits.items():
            names = ColumnNames.from_args(text, id, texts) if text is not None or id is not None else ColumnNames()
            own_labels = labels.get(name) if isinstance(labels, Mapping) else labels
            read.append(_read_split(name, texts, None if ids is None else ids.get(name), own_labels, names))
        pairs = [(other, split) for at, split in enumerate(read) for other in read[:at]]
        pair_labels = None if judged is None else read_pair_labels(judged, "judged")
        different = {pair for pair, match in pair_labels.labels.items() if not match} if pair_labels else set()
        found = [_compare(other, split, threshold, recipe, different, report) for other, split in pairs]
    tables = [table for table, *_ in found]
    columns = {name: [value for table in tables for value in table[name]] for name in tables[0]}
    labelled = None
    if labels is not None:
        labelled = ResultTable.of_rows([row for _, rows, _ in found for row in rows], _LABEL_COLUMNS)
    matrix = _build_matrix(read, columns, labelled=labels is not None)
    texts = [pair for *_, pairs_ in found for pair in pairs_]
    return Leaks(matrix, LeakTable(columns), texts, threshold, labelled)


_LABEL_COLUMNS = ("split", "other", "label", "documents", *KINDS, "same_label")


def _read_split(name: str, texts: Any, ids: Ids | None, labels: Any, names: ColumnNames) -> _Split:
    """Read the documents of a split into memory."""
    with ExitStack() as stack:
        inputs = DedupInputs(texts, ids, sources=labels)
        inputs = stack.enter_context(open_inputs(inputs, names))
        stored: list[str | None] = []
        columns: list[Column] = []
        sources: list[Column] = []
        if isinstance(inputs.texts, Corpus):
            for batch in inputs.texts.batches():
                stored += list(batch.texts)
                columns.append(batch.ids)
                if isinstance(labels, str):
                    sources.append(batch.columns[labels])
        else:
            for chunk in iterate_batches(inputs.texts):
                stored += chunk if isinstance(chunk, (list, tuple)) else to_values(chunk, name)
    if columns:
        all_ids = Column.concat(columns)
    elif inputs.ids is not None:
        all_ids = as_column(inputs.ids)
    else:
        all_ids = Column.integers(np.arange(len(stored), dtype=np.int64))
    values: list[Any] | None = None
    if sources:
        values = Column.concat(sources).to_list()
    elif inputs.sources is not None:
        if isinstance(inputs.sources, str):
            raise bad_parameter("labels", repr(labels), f"values by split: {name!r} has no columns")
        values = as_column(inputs.sources).to_list()
    for argument, column in (("ids", all_ids), ("labels", values)):
        if column is not None and len(column) != len(stored):
            allowed = f"{len(stored)} values, one per text of {name!r}"
            raise bad_parameter(argument, f"{len(column)} values", allowed)
    return _Split(name, stored, all_ids, values)


def _compare(
    other: _Split,
    split: _Split,
    threshold: float,
    recipe: Recipe | str | None,
    different: set[tuple[str, str]],
    report: Any,
) -> tuple[dict[str, list[Any]], list[dict[str, Any]], list[tuple[str, str]]]:
    """Return the leaked documents of a split, counts by label, and the texts of both documents.

    `different` are pairs that are no leak, by split and id, the smaller text first.
    """
    rejected = _rows_of(different, other, split)
    matches = np.full(len(split), -1, np.int64)
    kinds = np.full(len(split), -1, np.int64)
    similarity = np.zeros(len(split))
    _match_exact(other, split, matches, kinds, similarity)
    rest = np.flatnonzero(kinds < 0)
    texts = [split.texts[row] for row in rest.tolist()]
    if len(rest) and len(other):
        near = dedup(
            texts,
            ids=[f"b{row}" for row in range(len(texts))],
            against=other.texts,
            against_ids=[f"a{row}" for row in range(len(other))],
            recipe=recipe,
            threshold=threshold,
            labels=[(f"a{a}", f"b{row}", False) for row, b in enumerate(rest.tolist()) for a in rejected.get(b, ())]
            or None,
            progress=report,
        )
        names = zip(near.clusters["id"], near.clusters["representative"], near.clusters["similarity"], strict=True)
        for name, representative, value in names:
            if name[0] == "b" and representative[0] == "a":
                row = rest[int(name[1:])]
                matches[row], kinds[row], similarity[row] = int(representative[1:]), 1, value
        rest = np.flatnonzero(kinds < 0)
    if len(rest) and len(other):
        # Word 3-grams agree by chance in no long text, so they count wherever they are.
        missing = [split.texts[row] for row in rest.tolist()]
        known = KnownTexts(missing, recipe=CONTAINED_RECIPE, threshold=threshold, max_spread=None)
        for table in known.find_each(other.texts):
            for match in table.rows():
                row = rest[match["id"]]
                if match["similarity"] > similarity[row] and match["query"] not in rejected.get(int(row), ()):
                    matches[row], kinds[row], similarity[row] = match["query"], 2, match["similarity"]
        rest = np.flatnonzero(kinds < 0)
    if len(rest) and len(other):
        found = decontaminate(other.texts, {split.name: [split.texts[row] for row in rest.tolist()]}).counted
        for match, item, value in zip(found.documents, found["item"], found["similarity"], strict=True):
            row = rest[item]
            if value > similarity[row] and match not in rejected.get(int(row), ()):
                matches[row], kinds[row], similarity[row] = match, 3, value
    leaked = np.flatnonzero(kinds >= 0).tolist()
    texts = [(other.texts[matches[row]] or "", split.texts[row] or "") for row in leaked]
    return *_leak_columns(other, split, matches, kinds, similarity), texts


def _rows_of(different: set[tuple[str, str]], other: _Split, split: _Split) -> dict[int, set[int]]:
    """Return the rows of the earlier split that are labelled different from a row of the later one."""
    if not different:
        return {}
    earlier = {f"{other.name}:{name}": row for row, name in enumerate(other.ids)}
    later = {f"{split.name}:{name}": row for row, name in enumerate(split.ids)}
    result: dict[int, set[int]] = {}
    for pair in different:
        for a, b in (pair, pair[::-1]):
            if a in earlier and b in later:
                result.setdefault(later[b], set()).add(earlier[a])
    return result


def _match_exact(
    other: _Split, split: _Split, matches: NDArray[np.int64], kinds: NDArray[np.int64], similarity: NDArray[np.float64]
) -> None:
    """Match documents of equal text."""
    earlier: dict[tuple[int, int], int] = {}
    for row, content in enumerate(_contents(other.texts)):
        earlier.setdefault(content, row)
    for row, content in enumerate(_contents(split.texts)):
        if content in earlier and (split.texts[row] or "").strip():
            matches[row], kinds[row], similarity[row] = earlier[content], 0, 1.0


def _contents(texts: list[str | None]) -> Iterable[tuple[int, int]]:
    """Return the content hash of each text."""
    hashes, _ = content_hashes(texts)
    return zip(*hashes.reshape(-1, 2).T.tolist(), strict=True) if len(texts) else []


def _leak_columns(
    other: _Split,
    split: _Split,
    matches: NDArray[np.int64],
    kinds: NDArray[np.int64],
    similarity: NDArray[np.float64],
) -> tuple[dict[str, list[Any]], list[dict[str, Any]]]:
    """Return the columns of leaked documents, and a row for each label."""
    rows = np.flatnonzero(kinds >= 0)
    columns: dict[str, list[Any]] = {
        "split": [split.name] * len(rows),
        "id": split.ids.take(rows),
        "other": [other.name] * len(rows),
        "other_id": other.ids.take(matches[rows]),
        "kind": [KINDS[kind] for kind in kinds[rows].tolist()],
        "similarity": similarity[rows].tolist(),
    }
    if split.labels is None or other.labels is None:
        return columns, []
    columns["label"] = [split.labels[row] for row in rows.tolist()]
    columns["other_label"] = [other.labels[row] for row in matches[rows].tolist()]
    counts: dict[Any, dict[str, Any]] = {}
    for row, label in enumerate(split.labels):
        start = {"split": split.name, "other": other.name, "label": label, **dict.fromkeys(_LABEL_COLUMNS[3:], 0)}
        count = counts.setdefault(label, start)
        count["documents"] += 1
        if kinds[row] >= 0:
            count[KINDS[kinds[row]]] += 1
            count["same_label"] += other.labels[matches[row]] == label
    return columns, list(counts.values())


def _build_matrix(splits: list[_Split], leaked: Mapping[str, list[Any]], *, labelled: bool) -> LeakMatrix:
    """Count the leaked documents of each pair of splits."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for at, split in enumerate(splits):
        for other in splits[:at]:
            start: dict[str, Any] = {"split": split.name, "other": other.name, "documents": len(split)}
            rows[split.name, other.name] = {**start, **dict.fromkeys((*KINDS, "leaked"), 0)}
    for split_name, other_name, kind in zip(leaked["split"], leaked["other"], leaked["kind"], strict=True):
        row = rows[split_name, other_name]
        row[kind] += 1
        row["leaked"] += 1
    for key, row in rows.items():
        row["share"] = row["leaked"] / max(row["documents"], 1)
        if labelled:
            cells = zip(leaked["split"], leaked["other"], leaked["label"], leaked["other_label"], strict=True)
            row["same_label"] = sum(label == other for first, second, label, other in cells if (first, second) == key)
    return LeakMatrix.of_rows(list(rows.values()))  # type: ignore[return-value]  # A class method of this class.
