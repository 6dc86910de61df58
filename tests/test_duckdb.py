"""Functions and joins of `nearkin.duckdb` equal those of the package, bit for bit."""

# ruff: noqa: S608 - queries differ by recipes, types and radii of these tests

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import nearkin as nk
from frame_kinds import TEXTS
from nearkin.errors import InputError, MismatchError, NearkinError, ParameterError
from nearkin.index.fingerprints import to_hex

duckdb = pytest.importorskip("duckdb")

import nearkin.duckdb as door  # noqa: E402 - after the check for the package

BITS64 = "char:4|count|xxh3|simhash:64"


@pytest.fixture(scope="module")
def registered() -> Iterator[Any]:
    with duckdb.connect() as connection:
        door.register(connection)
        yield connection


@pytest.fixture
def con(registered: Any) -> Iterator[Any]:
    """Return the connection with an empty schema."""
    registered.execute("CREATE SCHEMA test; USE test")
    yield registered
    registered.execute("USE main; DROP SCHEMA test CASCADE")


def texts_table(con: Any, texts: Sequence[str | None] = TEXTS) -> None:
    """Create the table `pages` of ids and texts."""
    con.from_arrow(pa.table({"id": range(len(texts)), "text": pa.array(texts, pa.string())})).create("pages")


def column(con: Any, expression: str, table: str = "pages") -> list[Any]:
    """Return an expression for all rows in the order of ids."""
    return [value for (value,) in con.sql(f"SELECT {expression} FROM {table} ORDER BY id").fetchall()]


def fingerprints_table(con: Any, values: np.ndarray[Any, Any], name: str = "codes") -> None:
    """Create a table of ids and fingerprints of 64 bits."""
    con.from_arrow(pa.table({"id": np.arange(len(values)), "fingerprint": values})).create(name)


def near_values(count: int, seed: int = 7) -> np.ndarray[Any, Any]:
    """Return fingerprints, a half of them near others."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 1 << 64, count, dtype=np.uint64)
    values[count // 2 :] = values[: count - count // 2] ^ (
        np.uint64(1) << rng.integers(0, 64, count - count // 2).astype(np.uint64)
    )
    return values


# Functions


@pytest.mark.parametrize("recipe", [BITS64, "char:4|count|xxh3|simhash:60", "word:1|binary|xxh3|simhash:7"])
def test_fingerprints_of_64_bits_equal_those_of_the_package(con: Any, recipe: str) -> None:
    texts_table(con)
    values, counts = nk.fingerprint(TEXTS, recipe, return_counts=True)
    expected = [int(value) if count else None for value, count in zip(values, counts, strict=True)]
    assert expected == column(con, f"nk_fingerprint64(text, '{recipe}')")
    assert expected == column(con, f"nk_fingerprint(text, '{recipe}')::UHUGEINT")


@pytest.mark.parametrize("bits", [1, 7, 64, 100, 128, 256, 1024])
def test_fingerprints_of_any_width_are_bits(con: Any, bits: int) -> None:
    recipe = f"char:4|count|xxh3|simhash:{bits}"
    texts_table(con)
    values, counts = nk.fingerprint(TEXTS, recipe, return_counts=True)
    digits = [f"{int(text, 16):0{bits}b}" for text in to_hex(values, bits)]
    expected = [text if count else None for text, count in zip(digits, counts, strict=True)]
    assert expected == column(con, f"nk_fingerprint(text, '{recipe}')")


def test_the_default_recipe_is_that_of_the_package(con: Any) -> None:
    texts_table(con)
    values, counts = nk.fingerprint(TEXTS, return_counts=True)
    expected = [int(text, 16) if count else None for text, count in zip(to_hex(values, 128), counts, strict=True)]
    assert expected == column(con, "nk_fingerprint(text)::UHUGEINT")


@pytest.mark.parametrize(
    ("function", "recipe"),
    [
        ("nk_signature", None),
        ("nk_signature", "word:1|binary|xxh3|minhash:16"),
        ("nk_signature64", "word:1|binary|xxh3|minhash:8:64"),
    ],
)
def test_signatures_equal_those_of_the_package(con: Any, function: str, recipe: str | None) -> None:
    texts_table(con)
    values, counts = nk.signature(TEXTS, recipe, return_counts=True)
    expected = [row.tolist() if count else None for row, count in zip(values, counts, strict=True)]
    call = f"{function}(text)" if recipe is None else f"{function}(text, '{recipe}')"
    assert expected == column(con, call)


@pytest.mark.parametrize("kind", ["UBIGINT", "BIGINT", "BIT", "BLOB", "VARCHAR", "HUGEINT", "UHUGEINT"])
def test_hamming_distances_of_every_type_equal_those_of_the_package(con: Any, kind: str) -> None:
    a, b = near_values(40, seed=1), near_values(40, seed=2)
    con.from_arrow(pa.table({"id": np.arange(40), "a": a, "b": b})).create("pairs")
    cast = {
        "BIGINT": "(({0})::BIT)::BIGINT",
        "BLOB": "unhex(printf('%016x', {0}))",
        "VARCHAR": "printf('%x', {0})",
    }.get(kind, f"({{0}})::{kind}")
    con.execute(f"CREATE TABLE typed AS SELECT id, {cast.format('a')} AS a, {cast.format('b')} AS b FROM pairs")
    con.execute("INSERT INTO typed VALUES (40, NULL, NULL)")
    con.execute("INSERT INTO typed SELECT 41, NULL, b FROM typed WHERE id = 0")
    assert [*nk.hamming(a, b).tolist(), None, None] == column(con, "nk_hamming(a, b)", "typed")
    assert ["USMALLINT"] == list(set(column(con, "typeof(nk_hamming(a, b))", "typed")))


def test_wide_numbers_have_all_of_their_bits(con: Any) -> None:
    numbers = [0, 1, 2**64, 2**127, 2**128 - 1, 10**38, 10**38 + 1]
    con.execute("CREATE TABLE wide (id INTEGER, n UHUGEINT)")
    for id, number in enumerate(numbers):
        con.execute("INSERT INTO wide VALUES (?, ?::VARCHAR::UHUGEINT)", [id, str(number)])
    assert [number.bit_count() for number in numbers] == column(con, "nk_hamming(n, 0)", "wide")
    assert [128 - number.bit_count() for number in numbers] == column(con, f"nk_hamming(n, '{'f' * 32}')", "wide")


def test_distance_to_a_parameter(con: Any) -> None:
    fingerprints_table(con, np.array([1, 3, 7], np.uint64))
    assert [(0,), (1,), (2,)] == con.execute("SELECT nk_hamming(fingerprint, ?) FROM codes", [1]).fetchall()
    assert [(0,), (1,), (2,)] == con.execute("SELECT nk_hamming(fingerprint, ?) FROM codes", ["01"]).fetchall()
    assert [(None,)] * 3 == con.execute("SELECT nk_hamming(fingerprint, NULL) FROM codes").fetchall()
    # The bits of -1 are those of its type.
    for kind, bits in (("TINYINT", 8), ("SMALLINT", 16), ("INTEGER", 32), ("BIGINT", 64), ("HUGEINT", 128)):
        assert [(bits,)] == con.sql(f"SELECT nk_hamming(-1::{kind}, 0::{kind})").fetchall()


def test_similarities_equal_those_of_the_package(con: Any) -> None:
    texts = [text for text in TEXTS if text]
    pairs = [(a, b) for a in range(len(texts)) for b in range(len(texts))]
    table = pa.table({"id": range(len(pairs)), "a": [texts[a] for a, _ in pairs], "b": [texts[b] for _, b in pairs]})
    con.from_arrow(table).create("pairs")
    left, right = (np.array(side) for side in zip(*pairs, strict=True))
    for recipe, argument in ((None, ""), ("word:1|binary|xxh3|simhash:64", ", 'word:1|binary|xxh3|simhash:64'")):
        similarities = nk.similarity(texts, left, right, recipe=recipe).tolist()
        counts = nk.fingerprint(texts, recipe, return_counts=True)[1]
        both = (counts[left] * counts[right] > 0).tolist()
        expected = [value if given else None for value, given in zip(similarities, both, strict=True)]
        assert expected == column(con, f"nk_jaccard(a, b{argument})", "pairs")
    signatures, counts = nk.signature(texts, return_counts=True)
    found = column(con, "nk_jaccard(nk_signature(a), nk_signature(b))", "pairs")
    estimates: Any = nk.minhash_similarity(signatures[left], signatures[right])
    assert [
        value if counts[a] and counts[b] else None for value, (a, b) in zip(estimates.tolist(), pairs, strict=True)
    ] == found
    assert [(None, None)] == con.sql("SELECT nk_jaccard('a b c d', NULL), nk_jaccard(NULL, [1::UINTEGER])").fetchall()
    rows = "('abcdef', ''), ('', ''), ('abcdef', 'uvwxyz'), (NULL, 'x'), ('', 'abcdef'), ('abcdef', 'abcdef')"
    similarities = [None, None, 0, None, None, 1]
    for recipe in ("", ", 'char:4|binary|xxh3|minhash:8'"):
        assert similarities == column(
            con, f"nk_jaccard(a, b{recipe})", f"(SELECT *, row_number() OVER () AS id FROM (VALUES {rows}) t(a, b))"
        )


def test_bands_are_equal_where_signatures_agree(con: Any) -> None:
    from nearkin.dedup.candidates.minhash import band_keys
    from nearkin.theory import choose_bands

    texts_table(con)
    signatures, counts = nk.signature(TEXTS, return_counts=True)
    for call, threshold in (("nk_bands(nk_signature(text))", 0.8), ("nk_bands(nk_signature(text), 0.6)", 0.6)):
        keys = band_keys(signatures, choose_bands(threshold, 0.95, 128))
        assert [row.tolist() if count else None for row, count in zip(keys, counts, strict=True)] == column(con, call)


def test_null_gives_null(con: Any) -> None:
    calls = [
        "nk_fingerprint(NULL)",
        f"nk_fingerprint64(NULL, '{BITS64}')",
        "nk_signature(NULL)",
        "nk_bands(NULL)",
        "nk_bands(nk_signature('some text'), NULL)",
        "nk_hamming(NULL, '0f')",
        "nk_hamming(NULL, 5::UBIGINT)",
        "nk_jaccard(NULL, 'text')",
        "nk_ssdeep(NULL)",
        "nk_ssdeep_score(NULL, '3:a:b')",
    ]
    for call in calls:
        assert [(None,)] == con.sql(f"SELECT {call}").fetchall(), call


def test_digests_equal_those_of_the_package(con: Any) -> None:
    data = [bytes(range(256)) * 40, b"", None, bytes(range(255)) * 40]
    con.from_arrow(pa.table({"id": range(4), "data": pa.array(data, pa.binary())})).create("files")
    expected = [None if value is None else nk.ssdeep.hash(value) for value in data]
    assert expected == column(con, "nk_ssdeep(data)", "files")
    assert [nk.ssdeep.hash(b"text")] == [con.sql("SELECT nk_ssdeep('text')").fetchall()[0][0]]
    scores = [None if value is None else nk.ssdeep.compare(str(expected[0]), value) for value in expected]
    con.execute("CREATE TABLE digests AS SELECT id, nk_ssdeep(data) AS digest FROM files")
    assert scores == column(con, "nk_ssdeep_score(digest, (SELECT digest FROM digests WHERE id = 0))", "digests")


def test_a_parallel_scan_gives_the_same_values(con: Any) -> None:
    """More rows than a row group, which one thread reads."""
    texts = [f"text number {number} of many" if number % 7 else None for number in range(130_000)]
    con.execute("SET threads = 4")
    texts_table(con, texts)
    recipe = "word:1|binary|xxh3|minhash:4"
    values, counts = nk.fingerprint(texts, BITS64, return_counts=True)
    signatures = pa.FixedSizeListArray.from_arrays(pa.array(nk.signature(texts, recipe).reshape(-1)), 4)
    expected = {"id": range(len(texts)), "fingerprint": pa.array(values, mask=counts == 0), "signature": signatures}
    con.from_arrow(pa.table(expected)).create("expected")
    con.execute(f"""
        CREATE TABLE hashed AS SELECT id, text, nk_fingerprint64(text, '{BITS64}') AS fingerprint,
            nk_signature(text, '{recipe}') AS signature FROM pages
    """)
    query = """
        SELECT count(*), count(*) FILTER (WHERE h.fingerprint IS DISTINCT FROM e.fingerprint),
            count(*) FILTER (WHERE text IS NOT NULL AND h.signature IS DISTINCT FROM e.signature::UINTEGER[]),
            count(*) FILTER (WHERE text IS NULL AND h.signature IS NOT NULL)
        FROM hashed AS h JOIN expected AS e USING (id)
    """
    assert [(130_000, 0, 0, 0)] == con.sql(query).fetchall()


# Errors


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT nk_fingerprint('text', 'char:0')", "char"),
        ("SELECT nk_fingerprint64('text', 'char:4|count|xxh3|simhash:128')", "which has 128 bits, is not allowed"),
        ("SELECT nk_fingerprint64('text', 'word:1|binary|xxh3|minhash:8')", "family"),
        ("SELECT nk_fingerprint(5)", "text"),
        ("SELECT nk_fingerprint('text', NULL)", "recipe=NULL is not allowed; use a recipe, or no argument"),
        ("SELECT nk_jaccard('text', 'text', NULL)", "recipe=NULL"),
        ("SELECT nk_fingerprint(text, text) FROM pages", "one value for the whole query"),
        ("SELECT nk_signature('text', 'word:1|binary|xxh3|minhash:8:64')", "use it with nk_signature64"),
        ("SELECT nk_hamming('0g', '00')", "hexadecimal"),
        ("SELECT nk_hamming('101'::BIT, '1010'::BIT)", "bits of a fingerprint differs: 3 against 4"),
        ("SELECT nk_hamming('ab'::BLOB, 'abc'::BLOB)", "bits of a fingerprint differs: 16 against 24"),
        ("SELECT nk_hamming(1.5, 2)", "a=a column of decimal"),
        ("SELECT nk_jaccard([1], [2])", "as nk_signature returns"),
        ("SELECT nk_bands(nk_signature('text'), 2)", "threshold=2"),
        ("SELECT nk_ssdeep(5)", "use BLOB or VARCHAR"),
        ("SELECT * FROM near_join(codes, 65)", "radius=65"),
    ],
)
def test_errors_are_those_of_duckdb_with_the_message_of_the_package(con: Any, query: str, message: str) -> None:
    texts_table(con)
    fingerprints_table(con, np.arange(4, dtype=np.uint64))
    with pytest.raises(duckdb.InvalidInputException, match="Error") as caught:
        con.sql(query).fetchall()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("create", "error", "message"),
    [
        ("SELECT 1 AS id, 5 AS fingerprint UNION ALL SELECT 1, 6", ParameterError, "id"),
        ("SELECT NULL::BIGINT AS id, 5 AS fingerprint", InputError, "column 'id': ids are missing"),
        ("SELECT 1.5::DOUBLE AS id, 5 AS fingerprint", NearkinError, "id"),
        ("SELECT 1 AS id, 5.5 AS fingerprint", ParameterError, "fingerprint=a column of decimal"),
        ("SELECT 1 AS id, '01'::BIT AS fingerprint UNION ALL SELECT 2, '1'::BIT", MismatchError, "differs"),
    ],
)
def test_errors_of_joins_are_those_of_the_package(con: Any, create: str, error: type[Exception], message: str) -> None:
    con.execute(f"CREATE TABLE t AS {create}")
    with pytest.raises(error, match=message):
        door.near_join(con, "t", 1)


def test_missing_tables_and_columns_are_errors_of_duckdb(con: Any) -> None:
    fingerprints_table(con, np.arange(4, dtype=np.uint64))
    with pytest.raises(duckdb.CatalogException, match="nothing"):
        door.near_join(con, "nothing", 1)
    with pytest.raises(duckdb.BinderException, match="phash"):
        door.near_join(con, "codes", 1, fingerprint="phash")
    with pytest.raises(duckdb.BinderException, match="phash"):
        con.sql("SELECT * FROM near_join(codes, 1, fingerprint_column := 'phash')")


def test_what_is_no_connection_and_no_table_is_refused(con: Any) -> None:
    with pytest.raises(ParameterError, match="use a connection"):
        door.register("pages.duckdb")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="use the name of a table"):
        door.near_join(con, 5, 1)  # type: ignore[arg-type]


# Joins


@pytest.mark.parametrize("radius", [0, 1, 3])
def test_near_join_equals_the_pairs_of_an_index(con: Any, radius: int) -> None:
    values = near_values(5_000)
    fingerprints_table(con, values)
    con.execute("INSERT INTO codes VALUES (5000, NULL)")
    index = nk.HammingIndex(64)
    index.add(None, values)
    expected = [tuple(row.values()) for row in index.pairs(radius).to_arrow().to_pylist()]
    assert radius == 0 or len(expected) >= 2_500
    assert expected == door.near_join(con, "codes", radius).fetchall()
    assert expected == con.sql(f'SELECT * FROM near_join(codes, {radius}) ORDER BY "left", "right"').fetchall()


@pytest.mark.parametrize("kind", ["BIT", "BLOB", "VARCHAR", "UHUGEINT"])
def test_near_join_reads_every_type(con: Any, kind: str) -> None:
    fingerprints_table(con, near_values(60))
    cast = {"BLOB": "unhex(printf('%016x', fingerprint))", "VARCHAR": "printf('%x', fingerprint)"}
    con.execute(
        f"CREATE TABLE t AS SELECT 'p' || id AS url, {cast.get(kind, f'fingerprint::{kind}')} AS phash FROM codes"
    )
    con.execute("INSERT INTO t VALUES ('none', NULL)")
    pairs = door.near_join(con, "codes", 2).fetchall()
    expected = sorted((*sorted((f"p{a}", f"p{b}")), d) for a, b, d in pairs)
    assert expected == door.near_join(con, "t", 2, id="url", fingerprint="phash").fetchall()
    query = "SELECT * FROM near_join(t, 2, id_column := 'url', fingerprint_column := 'phash')"
    assert expected == sorted((*sorted(row[:2]), row[2]) for row in con.sql(query).fetchall())


def test_near_search_equals_that_of_an_index(con: Any) -> None:
    values, queries = near_values(3_000), near_values(3_000)[::50]
    fingerprints_table(con, values)
    fingerprints_table(con, queries, "questions")
    index = nk.HammingIndex(64)
    index.add(None, values)
    hits = index.search(queries, 3)
    expected = [
        (query, int(id), int(distance))
        for query in range(len(queries))
        for id, distance in zip(hits[query].ids, hits[query].distances, strict=True)
    ]
    assert len(expected) > len(queries)
    assert expected == door.near_search(con, "codes", queries, 3).fetchall()
    assert expected == door.near_search(con, con.table("codes"), "questions", 3).fetchall()
    one = con.sql(f"SELECT * FROM near_search(codes, {int(queries[0])}::UBIGINT, 3)").fetchall()
    assert [row[1:] for row in expected if row[0] == 0] == one


def test_near_search_of_wide_codes(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT range AS id, nk_fingerprint('a text of number ' || range) AS fingerprint "
        "FROM range(50)"
    )
    values = nk.fingerprint([f"a text of number {number}" for number in range(50)])
    expected = nk.hamming(values, values[3])
    found = dict(row[1:] for row in door.near_search(con, "t", values[3:4], 128).fetchall())
    assert dict(enumerate(expected.tolist())) == found
    with pytest.raises(MismatchError, match="128"):
        door.near_search(con, "t", [5], 1)


def test_tables_without_rows_have_no_pairs(con: Any) -> None:
    fingerprints_table(con, np.zeros(0, np.uint64))
    assert [] == door.near_join(con, "codes", 3).fetchall()
    assert [] == door.near_search(con, "codes", [5], 3).fetchall()
    assert [] == con.sql("SELECT * FROM near_join(codes, 3)").fetchall()
    con.execute("INSERT INTO codes VALUES (1, NULL), (2, NULL)")
    assert [] == door.near_join(con, "codes", 3).fetchall()
    assert [] == door.near_search(con, "codes", [5], 3).fetchall()
    assert [] == con.sql("SELECT * FROM near_join(codes, 3)").fetchall()


def test_joins_read_files_and_views(con: Any, tmp_path: Path) -> None:
    fingerprints_table(con, near_values(100))
    path = tmp_path / "codes.parquet"
    con.table("codes").write_parquet(str(path))
    con.execute("CREATE VIEW seen AS FROM codes")
    expected = door.near_join(con, "codes", 2).fetchall()
    assert expected == door.near_join(con, f"'{path}'", 2).fetchall()
    assert expected == door.near_join(con, "seen", 2).fetchall()
    assert expected == door.near_join(con, con.read_parquet(str(path)), 2).fetchall()


def test_joins_hold_one_batch_at_a_time(con: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index is the only copy: batches are released as the stream is read."""
    read, batches = door._reader, []

    def watched(relation: Any) -> Iterator[Any]:
        for batch in read(relation):
            batches.append(weakref.ref(batch))
            yield batch
            del batch
            assert sum(each() is not None for each in batches) <= 2

    monkeypatch.setattr(door, "_BATCH", 2048)
    monkeypatch.setattr(door, "_reader", watched)
    fingerprints_table(con, near_values(30_000))
    door.near_join(con, "codes", 1)
    assert len(batches) > 10
    door.near_search(con, "codes", [5], 1)
    assert len(batches) > 20


def test_dedup_equals_that_of_the_package(con: Any) -> None:
    texts_table(con)
    expected = nk.dedup(TEXTS, threshold=0.7).clusters.to_arrow()
    found = door.dedup(con, "pages", 0.7)
    assert expected.column_names == found.columns
    assert [tuple(row.values()) for row in expected.to_pylist()] == found.fetchall()
    macro = con.sql("SELECT * FROM dedup(pages, 0.7)")
    assert (found.columns, found.fetchall()) == (macro.columns, macro.fetchall())
    assert [] == con.sql("SELECT * FROM dedup(pages, 0.7) WHERE false").fetchall()
    assert expected.num_rows == len(door.dedup(con, "pages", threshold=0.7, keep="max:id").fetchall())


def test_dedup_of_a_table_without_copies(con: Any) -> None:
    texts_table(con, ["one single text", None])
    assert [] == door.dedup(con, "pages").fetchall()
    assert [] == con.sql("SELECT * FROM dedup(pages, 0.8)").fetchall()
    con.execute("DELETE FROM pages")
    assert [] == door.dedup(con, "pages").fetchall()
    assert [] == con.sql("SELECT * FROM dedup(pages, 0.8)").fetchall()


# Registration


def test_register_may_be_called_again_and_for_cursors(con: Any) -> None:
    door.register(con)
    cursor = con.cursor()
    door.register(cursor)
    assert [(1,)] == cursor.sql("SELECT nk_hamming('1', '0')").fetchall()


def test_functions_outlive_the_connection_that_registered_them(tmp_path: Path) -> None:
    path = str(tmp_path / "pages.duckdb")
    first, second = duckdb.connect(path), duckdb.connect(path)
    with second:
        with first:
            door.register(first)
        door.register(second)
        assert [(1,)] == second.sql("SELECT nk_hamming('1', '0')").fetchall()


def test_nothing_is_written_to_a_database(tmp_path: Path) -> None:
    path = tmp_path / "pages.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TABLE codes AS SELECT range AS id, range::UBIGINT AS fingerprint FROM range(4)")
    before = path.read_bytes()
    with duckdb.connect(str(path), read_only=True) as con:
        door.register(con)
        assert 4 == len(con.sql("SELECT * FROM near_join(codes, 1)").fetchall())
    assert before == path.read_bytes()
