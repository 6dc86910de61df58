"""nearkin.io.values: packed texts, scalar columns, and malformed records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearkin.errors import InputError
from nearkin.io import BadRecord, Column, MalformedRecords, PackedTexts, open_corpus

texts_or_none = st.lists(st.text(max_size=8) | st.none(), max_size=12)
scalars = st.lists(
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats(allow_nan=False)
    | st.text(max_size=8).filter(lambda text: "\0" not in text),
    max_size=12,
)


@given(texts=texts_or_none)
def test_packed_texts_are_a_list_of_strings(texts: list[str | None]) -> None:
    """Length, indexing, slices, nulls and Arrow conversion equal those of a plain list."""
    packed = PackedTexts.of(texts)
    expected = [text or "" for text in texts]
    assert len(texts) == len(packed)
    assert expected == list(packed)
    assert expected[::-2] == packed[::-2]
    assert [row for row, text in enumerate(texts) if text is None] == packed.nulls.tolist()
    assert texts == packed.to_arrow().to_pylist()
    if texts:
        assert expected[-1] == packed[-1]
    with pytest.raises(IndexError):
        packed[len(texts)]
    assert f"<{len(texts)} texts, {len(''.join(expected).encode())} bytes>" == repr(packed)


@given(parts=st.lists(texts_or_none, max_size=4))
def test_texts_are_joined_with_their_nulls(parts: list[list[str | None]]) -> None:
    """Concatenation keeps nulls, also for texts that start inside their byte array."""
    joined = PackedTexts.concat([PackedTexts.of(part) for part in parts])
    assert [text for part in parts for text in part] == joined.to_arrow().to_pylist()
    whole = PackedTexts.of(["before", *(text or "" for part in parts for text in part)])
    tail = PackedTexts(whole.offsets[1:], whole.data)
    assert [text or "" for part in parts for text in part] * 2 == list(PackedTexts.concat([tail, tail]))


@given(values=scalars)
def test_a_column_gives_back_what_it_was_given(values: list[int | float | str | bool | None]) -> None:
    """Values keep their types by row, slice, selection and after concatenation."""
    column = Column.of(values)
    assert values == column.to_list() == list(column) == column[:]
    assert list(map(type, values)) == list(map(type, column))
    assert [column[row] for row in range(len(values))] == values
    rows = list(range(0, len(values), 2))
    assert [values[row] for row in rows] == column.take(rows)
    joined = Column.concat([column, Column.of([7]), column])
    assert [*values, 7, *values] == joined.to_list()
    assert f"<column of {len(values)} values>" == repr(column)


@pytest.mark.parametrize("values", [[3, 1, 2], ["c", "", "中"]])
def test_columns_of_one_type_are_taken_at_once(values: list[int | str]) -> None:
    """The fast paths for integers and strings equal row-by-row access."""
    column = Column.of(values)
    assert [values[2], values[0], values[0]] == column.take([2, 0, 0])
    assert values == column.to_list()


def test_numpy_scalars_are_python_values() -> None:
    """NumPy scalars become Python values."""
    column = Column.of([np.int32(3), np.float32(0.5), np.bool_(True)])  # type: ignore[list-item]
    assert [3, 0.5, True] == column.to_list()
    assert [int, float, bool] == [type(value) for value in column]


def test_columns_as_numbers() -> None:
    """Integers, floats, booleans and numeric strings are converted, None is NaN, and other values are refused."""
    np.testing.assert_array_equal([1, 0.5, np.nan, 1], Column.of([1, 0.5, None, True]).numbers("n"))
    np.testing.assert_array_equal([2.5, 1e30, np.nan], Column.of(["2.5", 10**30, None]).numbers("n"))
    with pytest.raises(
        InputError, match="row 1: column 'n' holds 'x', which is neither number nor date; use a column of numbers"
    ):
        Column.of([1, "x"]).numbers("n")
    with pytest.raises(InputError, match="row 0: column 'n' holds 1000"):
        Column.of([10**400]).numbers("n")


def test_records_that_cannot_be_read_are_counted_and_the_first_kept() -> None:
    """All records are counted, the first are listed, and strict raises the first with its position."""
    malformed = MalformedRecords()
    for line in range(1, 31):
        malformed.add(BadRecord("a.csv", line, "why"), count=2)
    assert (60, MalformedRecords.MAX_FIRST) == (malformed.count, len(malformed.first))
    malformed.clear()
    assert (0, []) == (malformed.count, malformed.first)
    with pytest.raises(InputError, match=r"a.parquet, row 3: why") as caught:
        MalformedRecords(strict=True).add(BadRecord("a.parquet", 3, "why", "row"))
    assert ("a.parquet", 3, "why", "a.parquet, row 3") == tuple(
        getattr(caught.value, name) for name in ("file", "line", "reason", "place")
    )


def test_numbers_are_read_from_columns_of_any_kind(tmp_path: Path) -> None:
    """The column of a keep rule may have integers, floats, nulls, booleans or numeric strings."""
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"text": "a", "n": 1, "s": "2.5"}\n{"text": "b", "n": 0.5, "s": 3}\n{"text": "c", "n": null, "s": null}\n'
    )
    with open_corpus(path, extra_columns=["n", "s"]) as corpus:
        (batch,) = corpus.batches()
        np.testing.assert_array_equal([1, 0.5, np.nan], batch.columns["n"].numbers("n"))
        np.testing.assert_array_equal([2.5, 3, np.nan], batch.columns["s"].numbers("s"))
    path.write_text('{"text": "a", "n": "high"}\n')
    with open_corpus(path, extra_columns=["n"]) as corpus:
        (batch,) = corpus.batches()
        with pytest.raises(InputError, match="row 0: column 'n' holds 'high', which is neither number nor date"):
            batch.columns["n"].numbers("n")
