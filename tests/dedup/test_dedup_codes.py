"""Deduplication of codes of other programs: clusters by Hamming radius, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nearkin import HammingIndex
from nearkin.dedup.codes import dedup_codes
from nearkin.errors import InputError, ParameterError
from nearkin.index.fingerprints import hamming, to_hex
from nearkin.index.results import Linkage
from nearkin.io import open_corpus


def planted(n: int = 300, copies: int = 60, bits: int = 256) -> list[str]:
    """Return random codes, and copies of the first ones with 0 to 31 flipped bits."""
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 2**64, (n, bits // 64), np.uint64)
    near = rows[:copies].copy()
    for i in range(copies):
        for bit in rng.choice(bits, i % 32, replace=False):
            near[i, bit // 64] ^= np.uint64(1) << np.uint64(bit % 64)
    return to_hex(np.concatenate([rows, near]), bits)


def test_the_first_of_each_cluster_is_kept() -> None:
    """Every planted copy is removed for its original, with its distance and the share of equal bits."""
    result = dedup_codes(planted(), radius=31)
    assert result.kept == list(range(300))
    rows = {row["id"]: row for row in result.clusters.rows() if row["reason"] != "kept"}
    for i in range(60):
        row = rows[300 + i]
        assert (row["representative"], row["distance"]) == (i, i % 32)
        assert row["similarity"] == pytest.approx(1 - (i % 32) / 256)
        assert row["reason"] == ("exact" if i % 32 == 0 else "near")
    assert (result.summary["recipe"], result.summary["verify"], result.summary["radius"]) == ("hex:256", "hamming", 31)


@pytest.mark.parametrize("cluster", ["absorb", "components"])
def test_clusters_are_those_of_the_index(cluster: str) -> None:
    """`absorb` gives the centred clusters of a HammingIndex, `components` the connected ones."""
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 1 << 10, 400, np.uint64)
    codes = to_hex(rows, 16)
    linkage: Linkage = "centred" if cluster == "absorb" else "connected"
    expected = list(HammingIndex.from_hex(codes).clusters(radius=1, linkage=linkage))
    result = dedup_codes(codes, radius=1, cluster=cluster, links="all")  # type: ignore[arg-type]
    groups: dict[int, list[int]] = {}
    for row in result.clusters.rows():
        groups.setdefault(row["cluster"], []).append(row["id"])
    assert sorted(map(sorted, expected)) == sorted(map(sorted, groups.values()))
    pairs = HammingIndex.from_hex(codes).pairs(radius=1)
    listed = {(row["left"], row["right"]): row["distance"] for row in result.pairs.with_copies()}
    keys = zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)
    assert listed == dict(zip(keys, pairs.distances.tolist(), strict=True))


def test_documents_without_a_code_are_kept() -> None:
    """None, an empty cell and a dash are no codes, and match nothing."""
    result = dedup_codes([None, "ff", "", "-", "FF", None], list("abcdef"), radius=8)
    assert result.kept == ["a", "b", "c", "d", "f"]
    assert result.summary["without_features"] == 4


def test_older_codes_labels_and_keep_rules_apply() -> None:
    """A match of an older code is removed; a pair labelled different stays; the largest image is kept."""
    codes, ids = ["ff00", "ff01", "0ff0"], ["a", "b", "c"]
    assert dedup_codes(codes, ids, radius=1, against=["0ff1"], against_ids=["old"]).kept == ["a"]
    assert dedup_codes(codes, ids, radius=1, labels=[("a", "b", False)]).kept == ids
    assert dedup_codes(codes, ids, radius=1, keep="max", values=[10, 20, 5]).kept == ["b", "c"]


def test_bytes_of_parquet_are_digits_in_order(tmp_path: Path) -> None:
    """A column of bytes, of fixed size or not, is read like the digits of `bytes.hex`."""
    codes = planted(50, 20)
    expected = dedup_codes(codes, radius=31).clusters
    for kind in (pa.binary(), pa.binary(32), pa.large_binary()):
        path = tmp_path / "codes.parquet"
        pq.write_table(pa.table({"pdq": pa.array([bytes.fromhex(code) for code in codes], kind)}), path)
        with open_corpus([path], text_column="pdq") as corpus:
            corpus.bytes_as_hex = True
            result = dedup_codes(corpus, radius=31)
            assert list(result.clusters.rows()) == list(expected.rows())
            assert corpus.texts(np.array([3]))[0] == codes[3]


def test_bytes_that_spell_digits_are_refused(tmp_path: Path) -> None:
    """Digits without the annotation of a string would be codes of twice the width."""
    path = tmp_path / "codes.parquet"
    pq.write_table(pa.table({"pdq": pa.array([code.encode() for code in planted(3, 0)], pa.binary())}), path)
    with open_corpus([path], text_column="pdq") as corpus:
        corpus.bytes_as_hex = True
        with pytest.raises(InputError, match="cast it to a string"):
            dedup_codes(corpus, radius=31)


def test_codes_of_another_width_are_refused_with_their_row() -> None:
    """Rows are counted over all documents, those without a code included."""
    with pytest.raises(InputError, match="row 2: 'ffff', 4 digits; expected 2 hexadecimal digits"):
        dedup_codes(["ff", None, "ffff"], radius=1)
    with pytest.raises(InputError, match="row 1: 'zz'; expected digits"):
        dedup_codes(["ff", "zz"], radius=1)
    with pytest.raises(InputError, match="no code in the first 2 rows"):
        dedup_codes([None, ""], radius=1)
    with pytest.raises(ParameterError, match="radius=9 is not allowed; use 0 to 8"):
        dedup_codes(["ff"], radius=9)
    with pytest.raises(ParameterError, match="radius=None"):
        dedup_codes(["ff"], radius=None)


def test_no_documents_have_no_clusters() -> None:
    """An empty list is a run without documents."""
    assert dedup_codes([], radius=3).kept == []


def test_distances_are_counted_bit_by_bit() -> None:
    """The distance of a removed document is that of NumPy."""
    result = dedup_codes(["0f0f", "0f0e"], radius=4)
    row = list(result.clusters.rows())[1]
    assert row["distance"] == hamming(0x0F0F, 0x0F0E) == 1
