"""nearkin.io.frames: recognising frames, reading columns without a copy, keeping rows."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from frame_kinds import KINDS, Stream, table
from nearkin.errors import InputError, ParameterError
from nearkin.io.frames import is_frame, keep_rows, read_columns, scalar_column, take_views, text_column

CELLS: dict[str, list[Any]] = {"body": ["one", "a text that is longer than a view", None], "n": [1.0, 2.0, None]}


@pytest.mark.parametrize("kind", KINDS)
def test_frames_are_known_by_their_classes(kind: str) -> None:
    """Objects of every supported class are frames."""
    assert is_frame(KINDS[kind](CELLS))


class Pages(pd.DataFrame):
    """A subclass of DataFrame, as in geopandas."""


@pytest.mark.parametrize("value", [Pages(CELLS), nk.dedup(["a b c", "a b c"]).clusters, nk.dedup(["a"]).pairs])
def test_whatever_has_columns_and_streams_is_a_frame(value: Any) -> None:
    """Subclasses and result tables are frames."""
    assert is_frame(value)


@pytest.mark.parametrize("value", [
    ["one"], ("one",), "one", None, 3, {"text": ["one"]}, np.array(["one"]), iter(["one"]), pa.array(["one"]),
    pa.chunked_array([["one"]]), pd.Series(["one"]), pl.Series(["one"]), nk.HammingIndex(), nk.dedup(["one"]),
])  # fmt: skip
def test_columns_lists_and_indexes_are_no_frames(value: Any) -> None:
    """A single column is not a frame, even if it offers an Arrow stream."""
    assert not is_frame(value)


def addresses(column: Any) -> set[int]:
    """Return the addresses of the buffers that contain texts."""
    return {
        buffer.address
        for chunk in column.chunks
        for buffer in chunk.buffers()[2 if pa.types.is_string_view(chunk.type) else -1 :]
        if buffer is not None
    }


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.binary_view()])
def test_texts_are_those_of_the_frame(kind: pa.DataType) -> None:
    """Texts and bytes share the buffers of the frame."""
    frame = table(CELLS, kind, 2)
    own = addresses(frame["body"])
    for item in (frame, Stream(frame), frame.to_reader()):
        column = text_column(read_columns(item, {"text": "body"})["body"], "body")
        assert own == addresses(column)


@pytest.mark.parametrize("dtype", ["str", "string[pyarrow]"])
def test_texts_of_pandas_are_those_of_the_frame(dtype: str) -> None:
    """Texts are not copied if pandas stores them as Arrow."""
    frame = pd.DataFrame(CELLS).astype({"body": dtype})
    own = addresses(pa.chunked_array(frame["body"].array.__arrow_array__()))
    assert own == addresses(read_columns(frame, {"text": "body"})["body"])


@given(st.data())
def test_rows_of_views_are_those_of_a_list(data: st.DataObject) -> None:
    """Null, short and long texts in chunks with any boundaries; rows may be repeated."""
    texts = data.draw(st.lists(st.one_of(st.none(), st.text(max_size=30)), max_size=20))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(texts)), max_size=3)))
    whole = pa.array(texts, pa.string_view())
    edges = [0, *cuts, len(texts)]
    column = pa.chunked_array([whole[a:b] for a, b in pairwise(edges)], pa.string_view())
    rows = sorted(data.draw(st.lists(st.integers(0, len(texts) - 1), max_size=30))) if texts else []
    result = take_views(column, np.array(rows, np.int64))
    result.validate(full=True)
    assert [texts[row] for row in rows] == result.to_pylist()


@pytest.mark.parametrize("rows", [[], [0], [1, 2], [0, 2], [0, 1, 2]])
@pytest.mark.parametrize("kind", [pa.string(), pa.string_view()])
def test_rows_of_arrow_keep_schema_and_order(kind: pa.DataType, rows: list[int]) -> None:
    """Tables, batches, columns and arrays keep their type and metadata."""
    whole = table(CELLS, kind, 2).replace_schema_metadata({"by": "me"})
    batch = whole.combine_chunks().to_batches()[0]
    for item in (whole, batch):
        kept = keep_rows(item, np.array(rows, np.int64), 3)
        assert item.schema.equals(kept.schema, check_metadata=True)
        assert [item.to_pylist()[row] for row in rows] == kept.to_pylist()
    for column in (whole["body"], batch["body"]):
        kept = keep_rows(column, np.array(rows, np.int64), 3)
        assert column.type == kept.type
        assert [column.to_pylist()[row] for row in rows] == kept.to_pylist()


NESTED: list[dict[str, Any]] = [
    {"meta": {"body": "one", "page": {"url": "a", "n": 1}}, "meta.n": 7, "doc.v": {"w": 1.5}},
    {"meta": None, "meta.n": 8, "doc.v": {"w": None}},
    {"meta": {"body": None, "page": None}, "meta.n": 9, "doc.v": None},
    {"meta": {"body": "four", "page": {"url": "d", "n": None}}, "meta.n": None, "doc.v": {"w": 2.5}},
]
_STRUCTS = pa.Table.from_pylist(NESTED)
_VIEWS = pa.table(
    {
        "meta": _STRUCTS["meta"].cast(
            pa.struct(
                [("body", pa.large_string()), ("page", pa.struct([("url", pa.large_string()), ("n", pa.int64())]))]
            )
        ),
        "meta.n": _STRUCTS["meta.n"],
        "doc.v": _STRUCTS["doc.v"],
    }
)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(NESTED),
        _STRUCTS.to_pandas(types_mapper=pd.ArrowDtype),
        pl.from_dicts(NESTED),
        pl.from_dicts(NESTED).lazy(),
        pl.from_dicts(NESTED).with_columns(pl.col("meta").struct.with_fields(pl.field("body").cast(pl.Categorical))),
        _STRUCTS,
        _VIEWS,
        _STRUCTS.combine_chunks().to_batches()[0],
        pa.concat_tables([_STRUCTS.slice(0, 2), _STRUCTS.slice(2)]).to_reader(),
        Stream(_STRUCTS),
    ],
    ids=lambda frame: f"{type(frame).__module__.partition('.')[0]} {type(frame).__name__}",
)
def test_fields_of_structs_are_columns(frame: Any) -> None:
    """A dotted path names a field, unless a column has that name. Fields of a null struct are null."""
    names = {"text": "meta.body", "id": "meta.page.url", "columns=1": "meta.n", "columns=2": "doc.v.w"}
    columns = read_columns(frame, names)
    result = {name: item if isinstance(item, list) else item.to_pylist() for name, item in columns.items()}
    assert ["one", None, None, "four"] == result["meta.body"]
    assert ["a", None, None, "d"] == result["meta.page.url"]
    assert [7, 8, 9, None] == [None if n is None or n != n else n for n in result["meta.n"]]
    assert [1.5, None, None, 2.5] == result["doc.v.w"]
    assert [None, None] == list(scalar_column(columns["meta.page.url"], "id", "meta.page.url"))[1:3]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_dicts, pa.Table.from_pylist])
@pytest.mark.parametrize("name", ["meta.text", "meta.page.body", "meta.", "nothing.body"])
def test_a_field_that_is_not_there(make: Any, name: str) -> None:
    """The error lists the fields of the struct, or the columns if there is no such struct."""
    with pytest.raises(ParameterError, match=r"text='[a-z.]*' is not allowed; use one of the") as caught:
        read_columns(make(NESTED), {"text": name})
    assert ("'meta'" if name == "nothing.body" else "meta.body") in str(caught.value)


def test_fields_of_a_dataset_are_columns() -> None:
    """Paths also work for datasets and streams of rows."""
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    made = datasets.Dataset.from_list([{"meta": row["meta"]} for row in NESTED])
    for frame in (made, made.to_iterable_dataset()):
        column = read_columns(frame, {"text": "meta.body"})["meta.body"]
        assert ["one", None, None, "four"] == text_column(column, "meta.body").to_pylist()


def test_a_field_that_is_there_twice() -> None:
    """A path that matches fields of two structs is ambiguous."""
    table = pa.table({"a": [{"b.c": "x"}], "a.b": [{"c": "y"}]})
    with pytest.raises(ParameterError, match="which 2 fields are called"):
        read_columns(table, {"text": "a.b.c"})
    with pytest.raises(ParameterError, match="which 2 fields are called"):
        read_columns(table.to_pandas(), {"text": "a.b.c"})


def test_a_frame_of_structs_is_deduplicated_like_its_lists() -> None:
    """Text and id may be fields, and the kept rows are complete rows of the frame."""
    texts = ["The very same words of two pages.", "Others, of a third page.", "The very same words of two pages."]
    rows = [{"meta": {"body": text, "url": f"u{i}"}, "at": {"n": i}} for i, text in enumerate(texts)]
    frame = pl.from_dicts(rows)
    result = nk.dedup(frame, text="meta.body", id="meta.url", keep="max:at.n")
    expected = nk.dedup(texts, ["u0", "u1", "u2"], keep="max", values=[0, 1, 2])
    assert expected.clusters.columns["id"] == result.clusters.columns["id"]
    assert rows[1:] == result.filter(frame).to_dicts()


def test_bytes_that_are_no_utf8_are_named_by_row() -> None:
    """The error contains the row for binary, dictionary and object columns. Nulls remain null."""
    cells = [b"one", None, b"caf\xe9"]
    columns: list[Any] = [
        pa.chunked_array([cells], kind) for kind in (pa.binary(), pa.large_binary(), pa.binary_view())
    ]
    columns.append(pa.chunked_array([pa.array(cells, pa.binary()).dictionary_encode()]))
    for column in [*columns, cells]:
        with pytest.raises(InputError) as caught:
            text_column(column, "body")
        assert "row 2: column 'body' is not UTF-8 at byte 3; decode it first" == str(caught.value)
        subset = text_column(column[:2], "body")
        assert ["one", None] == (subset if isinstance(subset, list) else subset.to_pylist())


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (pa.array([1.5, None]), [1.5, None]),
        (pa.array([True, False]), [1, 0]),
        (pa.array([3, None], pa.duration("s")), [3, None]),
        (pa.array([61, 7], pa.time32("s")), [61, 7]),
        (pa.array([61, 7], pa.time64("us")), [61, 7]),
        (pa.array([Decimal("1.25"), None], pa.decimal128(6, 2)), [1.25, None]),
        (pa.array([date(2024, 3, 1)]), ["2024-03-01"]),
        (pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
        (pa.nulls(2), [None, None]),
    ],
    ids=lambda value: str(getattr(value, "type", "")),
)
def test_values_of_every_type_that_orders_documents(column: Any, values: list[Any]) -> None:
    """Numbers are unchanged, durations become numbers, and dates become ISO 8601 strings."""
    assert values == scalar_column(pa.chunked_array([column]), "keep", "n").to_list()


@pytest.mark.parametrize(
    ("column", "argument", "message"),
    [
        (pa.array([1.5]), "id", "id='n', a column of double is not allowed; use a column of integers or strings"),
        (pa.array([Decimal("1.5")]), "id", "a column of decimal128(2, 1) is not allowed"),
        (pa.array([[1]]), "keep", "keep='n', a column of list<item: int64> is not allowed; use a column of stri"),
        ([1, 2.5], "id", "id='n', which holds a float is not allowed"),
        ([{"a": 1}], "keep", "keep='n', which holds a dict is not allowed"),
    ],
)
def test_values_that_order_nothing_or_name_nothing(column: Any, argument: str, message: str) -> None:
    """The message contains the column, its type, and the allowed types."""
    column_input = column if isinstance(column, list) else pa.chunked_array([column])
    with pytest.raises(ParameterError) as caught:
        scalar_column(column_input, argument, "n")
    assert message in str(caught.value)


def test_objects_of_numpy_and_of_decimal_are_numbers() -> None:
    """NumPy scalars and decimals in object columns become numbers."""
    result = scalar_column([np.int64(3), np.bool_(True), Decimal("0.5"), None, "x"], "keep", "n")
    assert [3, 1, 0.5, None, "x"] == result.to_list()


def test_a_column_of_a_type_that_is_no_text() -> None:
    """The message contains the type, including that of a dictionary."""
    for column in (pa.array([1, 2]), pa.array([1, 2]).dictionary_encode()):
        with pytest.raises(
            ParameterError, match=r"text='n', a column of .*int64.*use a column of strings, or of bytes"
        ):
            text_column(pa.chunked_array([column]), "n")


COLUMNS: dict[str, Any] = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "pandas series": pd.Series,
    "polars series": pl.Series,
    "pyarrow array": pa.array,
}


@pytest.mark.parametrize("kind", [*sorted(KINDS.keys() - {"datasets iterable"}), *COLUMNS])
def test_rows_that_stay_are_of_the_same_kind(kind: str) -> None:
    """Frames, columns and sequences keep their type, and a wrong number of rows is refused."""
    cells: dict[str, list[Any]] = {"body": ["zero", "one", None, "three"], "n": [0.0, 1.0, 2.0, 3.0]}

    def made() -> Any:
        return KINDS[kind](cells) if kind in KINDS else COLUMNS[kind](cells["n"])

    rows, frame = np.array([0, 3]), made()
    kept = keep_rows(frame, rows, 4)
    if kind != "a stream":
        assert type(frame) is type(kept)
    result = read_columns(kept, {"id": "n"})["n"] if kind in KINDS else kept
    assert [0.0, 3.0] == [float(value) for value in (result.to_pylist() if hasattr(result, "to_pylist") else result)]
    with pytest.raises(ParameterError, match=r"one of 4 rows is not allowed; use the one that was dedup.* had 5"):
        read_columns(keep_rows(made(), rows, 5), {"id": "n"})


@pytest.mark.parametrize("value", ["one", b"one", {"text": ["one"]}, 3, iter(["one"])])
def test_what_has_no_rows_keeps_none(value: Any) -> None:
    """Strings, dictionaries and iterators are refused."""
    with pytest.raises(ParameterError, match="use the frame, column, array or list of the documents"):
        keep_rows(value, np.array([0]), 1)


def test_a_stream_of_a_dataset_has_no_row_numbers() -> None:
    """Streamed datasets and dictionaries of datasets are refused."""
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    item = datasets.Dataset.from_dict({"n": [1]})
    for value, allowed in (
        (item.to_iterable_dataset(), "a Dataset, whose rows have numbers"),
        (datasets.DatasetDict(train=item), "one of its datasets, whose rows have numbers"),
    ):
        with pytest.raises(ParameterError, match=f"use {allowed}"):
            keep_rows(value, np.array([0]), 1)


def test_a_row_number_is_no_column_of_a_lazy_frame() -> None:
    """A column named like the internal row number does not matter."""
    frame = pl.LazyFrame({"row number": ["a", "b", "c"], "row number_": [1, 2, 3]})
    kept = keep_rows(frame, np.array([1, 2]), 3).collect()
    assert {"row number": ["b", "c"], "row number_": [2, 3]} == kept.to_dict(as_series=False)
