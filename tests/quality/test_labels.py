"""nearkin.quality.labels and nearkin.io.read_table: labels from files of every format, and faulty files."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nearkin as nk
from command import call
from nearkin import errors
from nearkin.dedup.labels import pair_labels
from nearkin.io import read_table
from nearkin.quality.labels import ClusterLabels, DedupRun, PairLabels, read_labels

ROWS = [("a", "b", 1), ("a", "c", 0), ('ß,"x"\n', "c", 1)]


def write(path: Path, header: tuple[str, str, str] = ("left", "right", "match")) -> Path:
    """The rows above, in the format that the name says."""
    name = path.name.removesuffix(".gz")
    if name.endswith(".parquet"):
        pq.write_table(pa.table(dict(zip(header, zip(*ROWS, strict=True), strict=True))), path)
        return path
    if name.endswith(".jsonl"):
        text = "".join(json.dumps(dict(zip(header, row, strict=True))) + "\n" for row in ROWS) + "\n"
    else:
        mark = "\t" if name.endswith(".tsv") else ","
        quoted = [mark.join('"' + str(cell).replace('"', '""') + '"' for cell in row) for row in ROWS]
        text = "\n".join([mark.join(header), *quoted]) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["p.jsonl", "p.csv", "p.tsv.gz", "p.jsonl.gz", "p.parquet"])
def test_pairs_are_read_from_every_format(tmp_path: Path, name: str) -> None:
    """The same labels from each, quotes and line breaks in ids included."""
    expected = {("a", "b"): True, ("a", "c"): False, ("c", ROWS[2][0]): True}
    labels = read_labels(write(tmp_path / name))
    assert isinstance(labels, PairLabels)
    assert expected == labels.labels


def test_columns_may_be_named(tmp_path: Path) -> None:
    """Any three columns."""
    path = write(tmp_path / "p.tsv", ("x", "y", "z"))
    labels = read_labels(path, pair_columns=("y", "x"), label_column="z")
    assert {("a", "b"): True, ("a", "c"): False, ("c", ROWS[2][0]): True} == labels.labels  # type: ignore[union-attr]


def test_similarities_are_cut_at_a_threshold(tmp_path: Path) -> None:
    """Inclusive."""
    path = tmp_path / "p.tsv"
    path.write_text("row_a\trow_b\tjaccard\n1\t2\t0.8\n1\t3\t0.7999\n")
    labels = read_labels(path, label_column="jaccard", at_least=0.8)
    assert {("1", "2"): True, ("1", "3"): False} == labels.labels  # type: ignore[union-attr]


def test_pairs_without_labels_all_match(tmp_path: Path) -> None:
    """Two columns of ids are a list of matches."""
    path = tmp_path / "p.csv"
    path.write_text("id_a,id_b,jaccard\n1,2,0.3\n")
    assert {("1", "2"): True} == read_labels(path).labels  # type: ignore[union-attr]


def test_clusters_are_told_by_their_column(tmp_path: Path) -> None:
    """A corpus that says which work a text belongs to is a table of clusters."""
    path = tmp_path / "c.jsonl"
    path.write_text('{"id": 1, "work": "x", "text": "t"}\n{"id": 2, "work": "x"}\n{"id": 3}\n')
    labels = read_labels(path, cluster_column="work")
    assert isinstance(labels, ClusterLabels)
    assert {"1": 0, "2": 0, "3": 1} == labels.labels


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.jsonl", '{"left": 1}\n{', "p.jsonl:2: invalid JSON"),
        ("p.jsonl", "[1]\n", "not an object"),
        ("p.csv", "left,right\n1\n", "p.csv:2: 1 fields, 2 in the header"),
        ("p.csv", "left,left\n1,2\n", "occurs twice"),
        ("p.csv", "", "is empty"),
        ("p.csv", 'left,right\n"a"x,b\n', "p.csv:2"),
        ("p.csv", "one,two\n1,2\n", "no columns of pairs or clusters among one, two"),
        ("p.csv", "left,right,match\n1,2,maybe\n", "labels are 0 and 1"),
        ("p.txt", "one\n", "no columns"),
        ("p.parquet", "PAR1", "can't be read as Parquet"),
        ("p.jsonl.gz", "no gzip", "damaged"),
    ],
)
def test_what_is_wrong_with_a_table_is_said(tmp_path: Path, name: str, content: str, message: str) -> None:
    """File, line, reason."""
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(errors.InputError, match=message):
        read_labels(path)


def test_bytes_that_are_no_utf8_are_said(tmp_path: Path) -> None:
    """Instead of a UnicodeDecodeError."""
    path = tmp_path / "p.csv"
    path.write_bytes(b"left,right\n\xff,b\n")
    with pytest.raises(errors.InputError, match="not UTF-8"):
        read_table(path)


def test_columns_that_are_missing_are_named(tmp_path: Path) -> None:
    """And numbers that are none, and a threshold without its column."""
    path = write(tmp_path / "p.csv")
    with pytest.raises(errors.InputError, match="no column 'jaccard' among left, right, match"):
        read_labels(path, label_column="jaccard", at_least=0.8)
    with pytest.raises(errors.InputError, match="at_least needs numbers"):
        read_labels(path, pair_columns=("left", "match"), label_column="right", at_least=0.5)
    with pytest.raises(errors.ParameterError, match="label_column"):
        read_labels(path, at_least=0.5)


def test_a_folder_that_no_run_wrote_is_an_error(tmp_path: Path) -> None:
    """Instead of an empty run."""
    with pytest.raises(errors.InputError, match="no folder that nearkin dedup wrote"):
        read_labels(tmp_path)


def test_a_late_column_has_none_before(tmp_path: Path) -> None:
    """JSON records need not have the same keys."""
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1}\n\n{"b": 2}\n{"a": 3, "b": 4}\n')
    assert {"a": [1, None, 3], "b": [None, 2, 4]} == read_table(path)
    assert {"b": [None, 2, 4]} == read_table(path, ["b", "c"])


def test_a_table_is_one_file(tmp_path: Path) -> None:
    """A glob of two is refused."""
    for name in ("a.csv", "b.csv"):
        write(tmp_path / name)
    with pytest.raises(errors.InputError, match="2 files"):
        read_table(tmp_path / "*.csv")


def test_a_run_of_tables_knows_its_documents() -> None:
    """Kept documents outside clusters belong to it."""
    clusters = {"id": [1, 2], "cluster": [0, 0], "representative": [1, 1], "reason": ["kept", "near"]}
    run = DedupRun.of_tables(clusters, {}, [1, 3])  # type: ignore[arg-type]
    assert ({"1", "2", "3"}, [("2", "1")], 0, None) == (run.documents, run.links, run.older, run.pairs)


def test_clusters_of_their_own_and_ids_of_two_clusters() -> None:
    """None stands for a cluster of its own each time; an id may be listed twice in one cluster, not in two."""
    labels = ClusterLabels(["a", "b", "c", "a", "d"], ["x", None, None, "x", 7]).labels
    assert {"a": 0, "b": 1, "c": 2, "d": 3} == labels
    with pytest.raises(errors.InputError, match="id b is in two clusters"):
        ClusterLabels(["b", "b"], [None, None])


def run(reasons: list[str], pairs: dict[str, list[Any]]) -> DedupRun:
    """Documents 0 to 9, of which 1, 2, 3 have these reasons after the representative 0."""
    table: dict[str, list[Any]] = {
        "id": [0, 1, 2, 3], "cluster": [0] * 4, "representative": [0, 0, 0, 0], "reason": ["kept", *reasons],
    }  # fmt: skip
    return DedupRun.of_tables(table, pairs, range(10))


def test_a_run_links_removed_documents_with_new_ones_only() -> None:
    """What an older document removed is counted apart; documents of the tables were seen, too."""
    found = run(["near", "exact", "near-old"], {"id": [1, 2, 3], "representative": [0, 0, 0]})
    assert [("1", "0"), ("2", "0")] == found.links
    assert (1, None) == (found.older, found.pairs)
    assert {str(row) for row in range(10)} == found.documents
    table: dict[str, list[Any]] = {"id": ["x"], "cluster": [0], "representative": ["x"], "reason": ["near-old"]}
    assert {"1", "x"} == DedupRun.of_tables(table, {}, [1]).documents


def test_a_run_lists_pairs_unless_older_documents_have_a_part() -> None:
    """All verified links; ids that the run did not see are of another corpus."""
    links = {"left": [0, 1, 77], "right": [1, 2, 1]}
    listed = run(["near", "near", "exact"], links).pairs
    assert listed is not None
    assert {("0", "1"): True, ("1", "2"): True} == listed.labels
    assert run(["near", "near", "near-old"], links).pairs is None


@pytest.mark.parametrize("value", [None, "high", "maybe"])
def test_labels_that_are_no_numbers_have_no_threshold(tmp_path: Path, value: Any) -> None:
    """With `at_least` every label is a number; without it 0 or 1."""
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps({"left": "a", "right": "b", "score": value}) + "\n")
    with pytest.raises(errors.InputError, match="at_least needs numbers"):
        read_labels(path, label_column="score", at_least=0.5)
    if value is not None:
        with pytest.raises(errors.InputError, match="labels are 0 and 1"):
            read_labels(path, label_column="score")


@pytest.mark.parametrize("label", ["false", "0", float("nan"), 2, 0.5, [], object()])
def test_what_is_no_boolean_labels_no_pair(label: Any) -> None:
    """Whatever Python takes for true; the row is named."""
    with pytest.raises(errors.InputError) as refused:
        PairLabels([1, 1], [2, 3], [True, label])
    assert f"pairs: row 1 has the label {label!r}; labels are True and False, or 1 and 0; None for unsure" == str(
        refused.value
    )


@pytest.mark.parametrize("match", [[True, False], [1, 0], [1.0, 0.0], np.array([True, False]), np.array([1, 0])])
def test_booleans_and_numbers_label_pairs(match: Any) -> None:
    """Of Python and of NumPy."""
    assert {("1", "2"): True, ("1", "3"): False} == PairLabels([1, 1], [2, 3], match).labels


def test_a_name_of_a_cluster_can_be_hashed() -> None:
    """Another one is refused, also by an evaluation, and names the id."""
    for made in (lambda: ClusterLabels([7], [[1]]), lambda: nk.evaluate({7: [1]}, {7: "a"})):  # type: ignore[list-item, arg-type]
        with pytest.raises(errors.InputError) as refused:
            made()
        reason = "id 7 has the cluster [1]; clusters are named by integers, strings or tuples"
        assert f"clusters: {reason}" == str(refused.value)


def test_undecided_pairs_are_left_out_and_counted(tmp_path: Path) -> None:
    """Empty, or the word: somebody looked, and could not tell."""
    path = tmp_path / "pairs.tsv"
    path.write_text("left\tright\tmatch\na\tb\t1\na\tc\tunsure\nb\tc\t\nc\td\t0\n")
    found = read_labels(path)
    assert isinstance(found, PairLabels)
    assert ({("a", "b"): True, ("c", "d"): False}, 2) == (found.labels, found.unsure)
    same = PairLabels(["a", "a", "b", "c"], ["b", "c", "c", "d"], [True, None, None, False])
    assert (found.labels, 2) == (same.labels, same.unsure)
    scores = nk.evaluate([("a", "b"), ("a", "c")], found)
    assert scores.counts["unsure_labels"] == 2
    assert "pairs labelled unsure, left out: 2" in scores.notes
    assert scores.counts["unjudged_pairs"] == 1


def test_an_empty_field_of_an_id_is_the_empty_id(tmp_path: Path) -> None:
    """Quoted or not, in pairs, clusters and labels for a run; other columns have None there."""
    path = tmp_path / "p.tsv"
    path.write_text('left\tright\tmatch\tweight\n""\ta\t1\t2\nb\t\t0\t3\na\tb\t\t1\n')
    labels = read_labels(path)
    assert isinstance(labels, PairLabels)
    assert {("", "a"): True, ("", "b"): False} == labels.labels == pair_labels(path, "labels").labels
    assert 1 == labels.unsure
    assert ["", "b", "a"] == read_table(path, ids=["left"])["left"]
    assert [None, "b", "a"] == read_table(path)["left"]
    path = tmp_path / "c.csv"
    path.write_text("id,cluster\n,x\na,x\nb,\n")
    found = read_labels(path)
    assert isinstance(found, ClusterLabels)
    assert {"": 0, "a": 0, "b": 1} == found.labels


def test_a_record_without_an_id_is_named(tmp_path: Path) -> None:
    """The file, the record from 1, and the column: null in JSON is no id."""
    path = tmp_path / "p.jsonl"
    path.write_text('{"left": "a", "right": "b"}\n{"left": "a", "right": null}\n')
    with pytest.raises(errors.InputError, match=r"p\.jsonl: record 2 has no value in the column 'right'"):
        read_labels(path)
    path.write_text('{"id": "a", "cluster": 1}\n{"id": 1.5, "cluster": 1}\n')
    with pytest.raises(errors.InputError, match=r"p\.jsonl: record 2 has the value 1\.5 in the column 'id'"):
        read_labels(path)


def test_the_row_of_a_fault_is_told(tmp_path: Path) -> None:
    """Of either column of ids, in memory from 0; of a file its record, from 1."""
    with pytest.raises(errors.InputError, match=r"row 1 has the id None"):
        PairLabels(["a", "b"], ["c", None])  # type: ignore[list-item]
    path = tmp_path / "w.tsv"
    path.write_text("left\tright\tmatch\tweight\na\tb\t1\t1\na\tc\t1\t0\n")
    with pytest.raises(errors.InputError, match=r"w\.tsv: record 2 has the weight '0'"):
        read_labels(path)


def test_a_run_over_files_is_read_by_its_list_of_kept_ones(tmp_path: Path) -> None:
    """Its documents are the paths as its tables name them, also those with bytes that are not UTF-8."""
    rng = np.random.default_rng(1)
    folder = tmp_path / "in"
    folder.mkdir()
    one = rng.bytes(9000)
    contents = {b"a.bin": one, b"b.bin": one, b"\xff.bin": one, b"c.bin": rng.bytes(9000), b"\xfe.bin": rng.bytes(9000)}
    for name, data in contents.items():
        (folder / os.fsdecode(name)).write_bytes(data)
    out = tmp_path / "out"
    assert 0 == call("dedup", folder, "--family", "ssdeep", "--out", out, "-q").code
    run = read_labels(out)
    assert isinstance(run, DedupRun)
    names = {
        name: f"{os.fsdecode(folder)}/{name}" for name in ("a.bin", "b.bin", "c.bin", r"\udcff.bin", r"\udcfe.bin")
    }
    assert set(names.values()) == run.documents
    scores = nk.evaluate(out, [(names["a.bin"], names["b.bin"], True), (names["a.bin"], names["c.bin"], True)])
    assert (1, 1) == (scores.pairwise.true_positives, scores.pairwise.false_negatives)  # type: ignore[union-attr]
    assert 0 == scores.counts["missing"]
    (out / "kept.nul").unlink()
    with pytest.raises(errors.InputError, match=r"kept\.nul: can't be read"):
        read_labels(out)


def test_a_run_has_a_document_with_the_empty_id(tmp_path: Path) -> None:
    """The labels that its report exports, and its tables of CSV, name it."""
    corpus = tmp_path / "e.csv"
    corpus.write_text(
        'id,text\n"",how are you my dear friend\na,how are you my dear friend!\nb,other things are here\n'
    )
    assert 0 == call("dedup", corpus, "--id-column", "id", "--out", tmp_path / "out", "-q").code
    labels = tmp_path / "labels.tsv"
    labels.write_text("left\tright\tmatch\n\ta\t1\n\tb\t0\n")
    scores = call("evaluate", tmp_path / "out", "--truth", labels, "--json").json()
    assert (1, 1, 0) == (scores["pairwise"]["true_positives"], scores["pairwise"]["true_negatives"],
                         scores["counts"]["missing"])  # fmt: skip
