"""Every call that takes Arrow data, with columns that point outside of their buffers: an error, never a signal.

IPC readers of pyarrow do not check offsets, views, keys or the sizes of buffers. Each case runs in a child process.
"""

from __future__ import annotations

import itertools
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from test_hostile_producers import Producer

import nearkin as nk
from nearkin.patterns import LogTemplates, PayloadGroups, UrlPatterns

RECIPE = "char:2|count|xxh3|simhash:64"
TEXTS = [f"the text number {i}, long enough for a string view of its own" for i in range(4)]
FAULTS = ["descending", "negative", "beyond", "far", "view", "far view", "key", "rows"]
FORMS = ["array", "chunked", "reader", "wrapper", "table", "frame"]


class Wrapper:
    """An object of another producer: only the PyCapsule interface of a pyarrow object."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._data.__arrow_c_stream__(requested_schema)


class Frame(Wrapper):
    """A wrapped table, which has names of columns."""

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""
        return list(self._data.column_names)


def sent(column: pa.Array) -> bytearray:
    """Return a table of a good column and this one as an IPC stream."""
    sink = pa.BufferOutputStream()
    table = pa.table({"text": pa.array(TEXTS), "value": column})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytearray(sink.getvalue().to_pybytes())


def replaced(data: bytearray, old: bytes, new: bytes) -> bytearray:
    """Replace bytes that occur at least once; the last occurrence is that of the second column."""
    at = data.rindex(old)
    data[at : at + len(old)] = new
    return data


def damaged(fault: str) -> pa.Table:
    """Return a table whose column `value` is damaged, as an IPC reader delivers it."""
    ends = np.concatenate([[0], np.cumsum([len(text) for text in TEXTS])]).astype(np.int32)
    if fault in ("view", "far view"):
        column = pa.array(TEXTS, pa.string_view())
        old = np.frombuffer(column.buffers()[1], np.int32).reshape(4, 4)[2]
        new = old.copy()
        new[2:] = (7, 0) if fault == "view" else (0, 2**31 - 100)
    elif fault == "key":
        column = pa.DictionaryArray.from_arrays(pa.array([1, 2, 3, 0], pa.int32()), pa.array(TEXTS))
        old, new = np.array([1, 2, 3, 0], np.int32), np.array([1, 2**30, 3, 0], np.int32)
    elif fault == "rows":
        # The last three numbers 4 in the metadata are the rows of the batch and of its two columns.
        stream = sent(pa.array(TEXTS))
        for _ in range(3):
            stream = replaced(stream, struct.pack("<q", 4), struct.pack("<q", 1 << 24))
        return pa.ipc.open_stream(pa.py_buffer(bytes(stream))).read_all()
    else:
        column = pa.array(TEXTS)
        last = int(ends[4])
        rows = {"descending": (2, 1), "negative": (1, -(2**30)), "beyond": (4, last + 4096), "far": (4, 2**31 - 1)}
        row, value = rows[fault]
        old, new = ends, ends.copy()
        new[row] = value
    stream = replaced(sent(column), old.tobytes(), new.tobytes())
    return pa.ipc.open_stream(pa.py_buffer(bytes(stream))).read_all()


INTEGERS = np.arange(4, dtype=np.uint64)
SIGNATURES = np.ones((4, 8), np.uint32)


def column_of(fault: str, form: str) -> Any:
    """Return the damaged column in one of the forms in which callers pass columns."""
    if form == "producer":
        p = Producer()
        return p.column(p.schema(b"u"), p.array(4, [None, None, None]))
    table = damaged(fault)
    column = table["value"]
    forms: dict[str, Callable[[], Any]] = {
        "array": lambda: column.chunk(0),
        "chunked": lambda: column,
        "reader": lambda: table.select(["value"]).to_reader(),
        "wrapper": lambda: Wrapper(column),
    }
    return forms[form]()


def with_store(call: Callable[[nk.Store], object]) -> object:
    """Call with a new store."""
    with tempfile.TemporaryDirectory() as folder, nk.Store.create(f"{folder}/s.store", recipe=RECIPE) as store:
        return call(store)


COLUMN_DOORS: dict[str, Callable[[Any], object]] = {
    "HammingIndex.add ids": lambda column: nk.HammingIndex(64).add(column, INTEGERS),
    "HammingIndex.add fingerprints": lambda column: nk.HammingIndex(64).add(None, column),
    "BandIndex.add ids": lambda column: nk.BandIndex(8, num_bands=4, num_rows=2).add(
        column, np.ones((4, 8), np.uint32)
    ),
    "DigestIndex.add ids": lambda column: nk.DigestIndex().add(column, ["3:abcdefghij:abcdefghij"] * 4),
    "DigestIndex.add digests": lambda column: nk.DigestIndex().add(None, column),
    "LSHIndex.fit ids": lambda column: nk.LSHIndex(nk.families.Hyperplane(bits=64, seed=1)).fit(np.eye(4), column),
    "LSHIndex.fit": lambda column: nk.LSHIndex(nk.families.Hyperplane(bits=64, seed=1)).fit(column),
    "dedup texts": lambda column: nk.dedup(column),
    "dedup ids": lambda column: nk.dedup(TEXTS, ids=column),
    "dedup values": lambda column: nk.dedup(TEXTS, values=column, keep="max"),
    "dedup sources": lambda column: nk.dedup(TEXTS, sources=column),
    "dedup columns": lambda column: nk.dedup(TEXTS, columns={"host": column}),
    "dedup against": lambda column: nk.dedup(TEXTS, against=column),
    "KnownTexts": lambda column: nk.KnownTexts(column),
    "KnownTexts ids": lambda column: nk.KnownTexts(TEXTS, column),
    "contains": lambda column: repr(nk.contains(column, TEXTS)),
    "contains ids": lambda column: repr(nk.contains(TEXTS, TEXTS, ids=column)),
    "contains known": lambda column: repr(nk.contains(TEXTS, column)),
    "contains known ids": lambda column: repr(nk.contains(TEXTS, TEXTS, known_ids=column)),
    "passages": lambda column: nk.passages(column),
    "passages ids": lambda column: nk.passages(TEXTS, column),
    "LogTemplates.fit": lambda column: LogTemplates().fit(column),
    "LogTemplates.fit times": lambda column: LogTemplates().fit(TEXTS, times=column),
    "LogTemplates.fit sources": lambda column: LogTemplates().fit(TEXTS, sources=column),
    "UrlPatterns.fit": lambda column: UrlPatterns().fit(column),
    "UrlPatterns.fit methods": lambda column: UrlPatterns().fit(TEXTS, methods=column),
    "PayloadGroups.fit": lambda column: PayloadGroups().fit(column),
    "fingerprint": lambda column: nk.fingerprint(column, RECIPE),
    "signature": lambda column: nk.signature(column),
    "words": lambda column: nk.words(column),
    "Store.check_and_add": lambda column: with_store(lambda store: store.check_and_add(column)),
    "Store.check_and_add ids": lambda column: with_store(lambda store: store.check_and_add(TEXTS, column)),
    "Store.check_and_add columns": lambda column: with_store(
        lambda store: store.check_and_add(TEXTS, columns={"host": column})
    ),
    "Store.remove": lambda column: with_store(lambda store: store.remove(column)),
}

TABLE_DOORS: dict[str, Callable[[Any], object]] = {
    "dedup text": lambda table: nk.dedup(table, text="value"),
    "dedup id": lambda table: nk.dedup(table, text="text", id="value"),
    "dedup values": lambda table: nk.dedup(table, text="text", values="value", keep="max"),
    "filter": lambda table: nk.dedup(pa.table({"text": TEXTS}), text="text").filter(table),
    "passages": lambda table: nk.passages(table, text="text", id="value"),
    "contains": lambda table: repr(nk.contains(table, TEXTS, text="text", id="value")),
}


def run(form: str, faults: Sequence[str]) -> None:
    """Pass damaged data to every door, and print what each raises; called in a child process."""
    doors = TABLE_DOORS if form in ("table", "frame") else COLUMN_DOORS

    def make(fault: str) -> Any:
        if form == "table":
            return damaged(fault)
        return Frame(damaged(fault)) if form == "frame" else column_of(fault, form)

    for fault, (name, door) in itertools.product(faults, doors.items()):
        print(f"{fault}, {name}", end=": ", flush=True)
        try:
            result = door(make(fault))
            print("returned", ascii(repr(result))[:300])
        except (nk.errors.InputError, nk.errors.ParameterError) as error:
            print(type(error).__name__)
        except Exception as error:
            print(type(error).__name__, ascii(str(error))[:300], sep=": ")


# Every other fault of each form, so that each form and each fault is there; `make faults` has all of them.
CASES = [
    *(pytest.param(form, FAULTS[at % 2 :: 2], id=form) for at, form in enumerate(FORMS)),
    *(
        pytest.param(form, FAULTS[1 - at % 2 :: 2], id=f"{form} more", marks=pytest.mark.slow)
        for at, form in enumerate(FORMS)
    ),
    pytest.param("producer", ["missing"], id="producer"),
]


@pytest.mark.parametrize(("form", "faults"), CASES)
def test_data_that_leaves_its_buffers_is_refused(form: str, faults: list[str]) -> None:
    """Every door raises a typed error, whatever the damage and the form of the data."""
    script = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_hostile_ipc as t; "
    script += f"t.run({form!r}, {faults!r})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=600)
    lines = done.stdout.splitlines()
    assert 0 == done.returncode, (lines[-1:], done.stderr[-2000:])
    assert len(lines) == len(faults) * len(TABLE_DOORS if form in ("table", "frame") else COLUMN_DOORS)
    wrong = [line for line in lines if not line.endswith((": InputError", ": ParameterError"))]
    if form in ("wrapper", "frame"):
        # Without lengths of buffers, other memory of the process may be read as text; see docs/reliability.md.
        wrong = [line for line in wrong if not line.startswith("beyond, ")]
    assert [] == wrong
