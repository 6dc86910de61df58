"""nearkin.quality.judgements and nearkin.io.read_table: labels from files of every format, and invalid files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearkin as nk
from command import call
from corpora import write_rows
from nearkin import errors
from nearkin.dedup.labels import read_pair_labels
from nearkin.io import read_table
from nearkin.quality.judgements import ClusterLabels, DedupRun, PairLabels, read_judgements

ROWS = [("a", "b", 1), ("a", "c", 0), ('ß,"x"\n', "c", 1)]


def write(path: Path, header: tuple[str, str, str] = ("left", "right", "match")) -> Path:
    """Write the rows above in the format of the name."""
    return write_rows(path, (dict(zip(header, row, strict=True)) for row in ROWS))


@pytest.mark.parametrize("name", ["p.jsonl", "p.csv", "p.tsv.gz", "p.jsonl.gz", "p.parquet"])
def test_pairs_are_read_from_every_format(tmp_path: Path, name: str) -> None:
    """Every format has the same labels, with quotes and line breaks in ids."""
    expected = {("a", "b"): True, ("a", "c"): False, ("c", ROWS[2][0]): True}
    labels = read_judgements(write(tmp_path / name))
    assert isinstance(labels, PairLabels)
    assert expected == labels.labels


def test_columns_may_be_named(tmp_path: Path) -> None:
    """Any three columns can be used."""
    path = write(tmp_path / "p.tsv", ("x", "y", "z"))
    labels = read_judgements(path, pair_columns=("y", "x"), label_column="z")
    assert {("a", "b"): True, ("a", "c"): False, ("c", ROWS[2][0]): True} == labels.labels  # type: ignore[union-attr]


def test_similarities_are_cut_at_a_threshold(tmp_path: Path) -> None:
    """The threshold is inclusive."""
    path = tmp_path / "p.tsv"
    path.write_text("row_a\trow_b\tjaccard\n1\t2\t0.8\n1\t3\t0.7999\n")
    labels = read_judgements(path, label_column="jaccard", min_similarity=0.8)
    assert {("1", "2"): True, ("1", "3"): False} == labels.labels  # type: ignore[union-attr]


def test_pairs_without_labels_all_match(tmp_path: Path) -> None:
    """Two columns of ids are a list of matches."""
    path = tmp_path / "p.csv"
    path.write_text("id_a,id_b,jaccard\n1,2,0.3\n")
    assert {("1", "2"): True} == read_judgements(path).labels  # type: ignore[union-attr]


def test_clusters_are_read_from_a_column(tmp_path: Path) -> None:
    """A corpus with a column of works is a table of clusters."""
    path = tmp_path / "c.jsonl"
    path.write_text('{"id": 1, "work": "x", "text": "t"}\n{"id": 2, "work": "x"}\n{"id": 3}\n')
    labels = read_judgements(path, cluster_column="work")
    assert isinstance(labels, ClusterLabels)
    assert {"1": 0, "2": 0, "3": 1} == labels.labels


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.jsonl", '{"left": 1}\n{', "p.jsonl:2: invalid JSON"),
        ("p.csv", "one,two\n1,2\n", "no columns of pairs or clusters among one, two"),
        ("p.csv", "left,right,match\n1,2,maybe\n", "labels are same, different, worse and unsure"),
    ],
)
def test_errors_name_file_line_and_reason(tmp_path: Path, name: str, content: str, message: str) -> None:
    """Each invalid table is an InputError."""
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(errors.InputError, match=message):
        read_judgements(path)


def test_missing_columns_are_named(tmp_path: Path) -> None:
    """So are values that are not numbers, and a threshold without its column."""
    path = write(tmp_path / "p.csv")
    with pytest.raises(errors.InputError, match="no column 'jaccard' among left, right, match"):
        read_judgements(path, label_column="jaccard", min_similarity=0.8)
    with pytest.raises(errors.InputError, match="min_similarity needs numbers"):
        read_judgements(path, pair_columns=("left", "match"), label_column="right", min_similarity=0.5)
    with pytest.raises(errors.ParameterError, match="label_column"):
        read_judgements(path, min_similarity=0.5)


def test_a_folder_that_no_run_wrote_is_an_error(tmp_path: Path) -> None:
    """It is not an empty run."""
    with pytest.raises(errors.InputError, match="not a folder that nearkin dedup wrote"):
        read_judgements(tmp_path)


def test_a_run_contains_all_its_documents() -> None:
    """Kept documents outside clusters belong to it."""
    clusters = {"id": [1, 2], "cluster": [0, 0], "representative": [1, 1], "reason": ["kept", "near"]}
    run = DedupRun.from_tables(clusters, {}, [1, 3])  # type: ignore[arg-type]
    assert ({"1", "2", "3"}, [("2", "1")], 0, None) == (run.documents, run.links, run.older, run.pairs)


def test_clusters_of_their_own_and_ids_of_two_clusters() -> None:
    """Each None is a cluster of its own; an id may occur twice in one cluster, not in two."""
    labels = ClusterLabels(["a", "b", "c", "a", "d"], ["x", None, None, "x", 7]).labels
    assert {"a": 0, "b": 1, "c": 2, "d": 3} == labels
    with pytest.raises(errors.InputError, match="id b is in two clusters"):
        ClusterLabels(["b", "b"], [None, None])


def run(reasons: list[str], pairs: dict[str, list[Any]]) -> DedupRun:
    """Return a run with documents 0 to 9; 1, 2 and 3 have these reasons and the representative 0."""
    table: dict[str, list[Any]] = {
        "id": [0, 1, 2, 3], "cluster": [0] * 4, "representative": [0, 0, 0, 0], "reason": ["kept", *reasons],
    }  # fmt: skip
    return DedupRun.from_tables(table, pairs, range(10))


def test_links_to_the_reference_are_excluded() -> None:
    """Documents removed for the reference corpus are counted separately; ids in the tables are documents."""
    found = run(["near", "exact", "near-old"], {"id": [1, 2, 3], "representative": [0, 0, 0]})
    assert [("1", "0"), ("2", "0")] == found.links
    assert (1, None) == (found.older, found.pairs)
    assert {str(row) for row in range(10)} == found.documents
    table: dict[str, list[Any]] = {"id": ["x"], "cluster": [0], "representative": ["x"], "reason": ["near-old"]}
    assert {"1", "x"} == DedupRun.from_tables(table, {}, [1]).documents


def test_a_run_with_a_reference_lists_no_pairs() -> None:
    """Other runs list all verified pairs of their own ids."""
    links = {"left": [0, 1, 77], "right": [1, 2, 1]}
    listed = run(["near", "near", "exact"], links).pairs
    assert listed is not None
    assert {("0", "1"): True, ("1", "2"): True} == listed.labels
    assert run(["near", "near", "near-old"], links).pairs is None


@pytest.mark.parametrize("value", [None, "high", "maybe"])
def test_labels_that_are_no_numbers_have_no_threshold(tmp_path: Path, value: Any) -> None:
    """With `min_similarity` every label must be a number; without it 0 or 1."""
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps({"left": "a", "right": "b", "score": value}) + "\n")
    with pytest.raises(errors.InputError, match="min_similarity needs numbers"):
        read_judgements(path, label_column="score", min_similarity=0.5)
    if value is not None:
        with pytest.raises(errors.InputError, match="labels are same, different, worse and unsure"):
            read_judgements(path, label_column="score")


@pytest.mark.parametrize("label", ["false", "0", float("nan"), 2, 0.5, [], object()])
def test_labels_must_be_boolean(label: Any) -> None:
    """Other values that Python considers true are refused; the message names the row."""
    with pytest.raises(errors.InputError) as refused:
        PairLabels([1, 1], [2, 3], [True, label])
    assert f"pairs: row 1 has the label {label!r}; labels are True and False, or 1 and 0; None for unsure" == str(
        refused.value
    )


@pytest.mark.parametrize("match", [[True, False], [1, 0], [1.0, 0.0], np.array([True, False]), np.array([1, 0])])
def test_booleans_and_numbers_label_pairs(match: Any) -> None:
    """Both of Python and of NumPy."""
    assert {("1", "2"): True, ("1", "3"): False} == PairLabels([1, 1], [2, 3], match).labels


def test_a_name_of_a_cluster_must_be_hashable() -> None:
    """The error, also of an evaluation, names the id."""
    for made in (lambda: ClusterLabels([7], [[1]]), lambda: nk.evaluate({7: [1]}, {7: "a"})):  # type: ignore[list-item, arg-type]
        with pytest.raises(errors.InputError) as refused:
            made()
        reason = "id 7 has the cluster [1]; clusters are named by integers, strings or tuples"
        assert f"clusters: {reason}" == str(refused.value)


def test_undecided_pairs_are_excluded_and_counted(tmp_path: Path) -> None:
    """An empty label and "unsure" are undecided."""
    path = tmp_path / "pairs.tsv"
    path.write_text("left\tright\tmatch\na\tb\t1\na\tc\tunsure\nb\tc\t\nc\td\t0\n")
    found = read_judgements(path)
    assert isinstance(found, PairLabels)
    assert ({("a", "b"): True, ("c", "d"): False}, 2) == (found.labels, found.unsure)
    same = PairLabels(["a", "a", "b", "c"], ["b", "c", "c", "d"], [True, None, None, False])
    assert (found.labels, 2) == (same.labels, same.unsure)
    scores = nk.evaluate([("a", "b"), ("a", "c")], found)
    assert scores.counts["unsure_labels"] == 2
    assert "excluded pairs labelled unsure: 2" in scores.notes
    assert scores.counts["unjudged_pairs"] == 1


def test_an_empty_field_of_an_id_is_the_empty_id(tmp_path: Path) -> None:
    """Both quoted and unquoted, in pairs, clusters and labels for a run; other columns have None there."""
    path = tmp_path / "p.tsv"
    path.write_text('left\tright\tmatch\tweight\n""\ta\t1\t2\nb\t\t0\t3\na\tb\t\t1\n')
    labels = read_judgements(path)
    assert isinstance(labels, PairLabels)
    assert {("", "a"): True, ("", "b"): False} == labels.labels == read_pair_labels(path, "labels").labels
    assert 1 == labels.unsure
    assert ["", "b", "a"] == read_table(path, ids=["left"])["left"]
    assert [None, "b", "a"] == read_table(path)["left"]
    path = tmp_path / "c.csv"
    path.write_text("id,cluster\n,x\na,x\nb,\n")
    found = read_judgements(path)
    assert isinstance(found, ClusterLabels)
    assert {"": 0, "a": 0, "b": 1} == found.labels


def test_a_record_without_an_id_is_named(tmp_path: Path) -> None:
    """The message has the file, the record from 1, and the column; null in JSON is not an id."""
    path = tmp_path / "p.jsonl"
    path.write_text('{"left": "a", "right": "b"}\n{"left": "a", "right": null}\n')
    with pytest.raises(errors.InputError, match=r"p\.jsonl: record 2 has no value in the column 'right'"):
        read_judgements(path)
    path.write_text('{"id": "a", "cluster": 1}\n{"id": 1.5, "cluster": 1}\n')
    with pytest.raises(errors.InputError, match=r"p\.jsonl: record 2 has the value 1\.5 in the column 'id'"):
        read_judgements(path)


def test_errors_name_the_row(tmp_path: Path) -> None:
    """In memory rows count from 0 in either column of ids; in a file records count from 1."""
    with pytest.raises(errors.InputError, match=r"row 1 has the id None"):
        PairLabels(["a", "b"], ["c", None])  # type: ignore[list-item]
    path = tmp_path / "w.tsv"
    path.write_text("left\tright\tmatch\tweight\na\tb\t1\t1\na\tc\t1\t0\n")
    with pytest.raises(errors.InputError, match=r"w\.tsv: record 2 has the weight '0'"):
        read_judgements(path)


def test_a_run_on_files_is_read_from_its_list_of_kept_files(tmp_path: Path) -> None:
    """Its documents are the paths as spelled in its tables, also those that are not UTF-8."""
    rng = np.random.default_rng(1)
    folder = tmp_path / "in"
    folder.mkdir()
    one = rng.bytes(9000)
    contents = {b"a.bin": one, b"b.bin": one, b"\xff.bin": one, b"c.bin": rng.bytes(9000), b"\xfe.bin": rng.bytes(9000)}
    for name, data in contents.items():
        (folder / os.fsdecode(name)).write_bytes(data)
    out = tmp_path / "out"
    assert 0 == call("dedup", folder, "--family", "ssdeep", "--out", out, "-q").code
    run = read_judgements(out)
    assert isinstance(run, DedupRun)
    names = {
        name: f"{os.fsdecode(folder)}/{name}" for name in ("a.bin", "b.bin", "c.bin", r"\udcff.bin", r"\udcfe.bin")
    }
    assert set(names.values()) == run.documents
    scores = nk.evaluate(out, [(names["a.bin"], names["b.bin"], True), (names["a.bin"], names["c.bin"], True)])
    assert (1, 1) == (scores.pairwise.true_positives, scores.pairwise.false_negatives)  # type: ignore[union-attr]
    assert 0 == scores.counts["missing"]
    (out / "kept.nul").unlink()
    with pytest.raises(errors.InputError, match=r"kept\.nul: cannot be read"):
        read_judgements(out)


def test_a_run_has_a_document_with_the_empty_id(tmp_path: Path) -> None:
    """The labels that its report exports name it, and so do its CSV tables."""
    corpus = tmp_path / "e.csv"
    corpus.write_text(
        'id,text\n"",how are you my dear friend\na,how are you my dear friend!\nb,other things are here\n'
    )
    assert 0 == call("dedup", corpus, "--id-column", "id", "--out", tmp_path / "out", "-q").code
    labels = tmp_path / "labels.tsv"
    labels.write_text("left\tright\tmatch\n\ta\t1\n\tb\t0\n")
    scores = call("recipe", "evaluate", tmp_path / "out", "--truth", labels, "--json").json()
    assert (1, 1, 0) == (scores["pairwise"]["true_positives"], scores["pairwise"]["true_negatives"],
                         scores["counts"]["missing"])  # fmt: skip
