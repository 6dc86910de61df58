"""The file of a store's documents, as Python sees it: against a dictionary, and damaged."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearkin._core import StoreSegment, store_compress, store_decompress, store_train
from nearkin.errors import CorruptStoreError, ParameterError

Id = int | str
IDS = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1)),
    st.lists(st.text()),
    st.lists(st.integers(0, 3) | st.sampled_from(["0", "1", ""])),
)


def _write(path: Path, rows: list[int], ids: list[Id], texts: list[str | None], extras: list[bytes]) -> StoreSegment:
    count = len(rows)
    whole = all(isinstance(i, int) for i in ids)
    contents = np.arange(2 * count, dtype=np.uint64) // 4
    records = np.arange(2 * count, dtype=np.uint64).astype(np.uint8)
    given_ids = np.array(ids, np.int64) if whole else ids
    StoreSegment.write(str(path), np.array(rows, np.int64), given_ids, contents, records, 2, extras, texts, b"{}", 3)
    return StoreSegment.open(str(path))


@settings(max_examples=60, deadline=None)
@given(ids=IDS, data=st.data())
def test_a_file_answers_as_a_dictionary_does(
    tmp_path_factory: pytest.TempPathFactory, ids: list[Id], data: st.DataObject
) -> None:
    """Rows, ids, contents, records, byte strings and texts of any documents."""
    count = len(ids)
    numbers = st.integers(0, 2**40)
    rows = sorted(data.draw(st.lists(numbers, min_size=count, max_size=count, unique=True)))
    texts = data.draw(st.lists(st.none() | st.text(), min_size=count, max_size=count))
    extras = data.draw(st.lists(st.binary(), min_size=count, max_size=count))
    segment = _write(tmp_path_factory.mktemp("segment") / "file", rows, ids, texts, extras)
    segment.verify()
    places = np.arange(count, dtype=np.int64)[::-1].copy()
    assert (count, b"{}", rows) == (len(segment), segment.note(), segment.rows(0, count).tolist())
    assert ids[::-1] == segment.ids(places).tolist()
    assert [type(i) for i in ids[::-1]] == [type(i) for i in segment.ids(places).tolist()]
    assert (texts[::-1], extras[::-1]) == (segment.texts(places), segment.extras(places))
    assert [*range(count), -1] == segment.places(np.array([*rows, -5], np.int64)).tolist()
    asked: list[Id] = [*ids, 1, "1"]
    offsets, found = segment.find_ids(asked)
    same = [[row for row, i in zip(rows, ids, strict=True) if (type(i), i) == (type(a), a)] for a in asked]
    assert same == [found[a:b].tolist() for a, b in pairwise(offsets.tolist())]
    contents = segment.contents(np.arange(count, dtype=np.int64))
    offsets, found = segment.find_contents(contents)
    pairs = contents.reshape(-1, 2).tolist()
    same = [[row for row, pair in zip(rows, pairs, strict=True) if pair == wanted] for wanted in pairs]
    assert same == [found[a:b].tolist() for a, b in pairwise(offsets.tolist())]


def test_many_texts_are_read_in_parallel(tmp_path: Path) -> None:
    """In any order, some twice; their blocks share a dictionary."""
    rng = np.random.default_rng(1)
    words = np.array(["copy", "near", "hash", "store", "text", "page", "crawler", "day"])
    texts: list[str | None] = [" ".join(words[rng.integers(0, 8, 150)]) for _ in range(5000)]
    texts[7] = None
    segment = _write(tmp_path / "file", list(range(100, 5100)), list(range(5000)), texts, [b""] * 5000)
    places = rng.integers(0, 5000, 2000)
    assert [texts[place] for place in places.tolist()] == segment.texts(places)
    sizes = segment.sizes()
    assert (4999, sum(len(text) for text in texts if text)) == (sizes["num_texts"], sizes["text_bytes"])
    assert sizes["texts"] < 0.45 * sizes["text_bytes"]
    contents = segment.contents(places)
    assert 2000 + 1 == len(segment.find_contents(contents)[0])
    assert (places + 100).tolist() == segment.find_ids(places)[1].tolist()


def test_a_flipped_byte_is_an_error_that_names_file_and_section(tmp_path: Path) -> None:
    """When what it damages is read, not before; `verify` finds it at once."""
    path = tmp_path / "file"
    texts: list[str | None] = [f"text {i} " * 40 for i in range(2000)]
    _write(path, list(range(2000)), list(range(2000)), texts, [b""] * 2000)
    whole = path.read_bytes()
    rng = np.random.default_rng(2)
    every = np.arange(2000, dtype=np.int64)
    found = 0
    for at in rng.integers(0, len(whole), 60).tolist():
        damaged = bytearray(whole)
        damaged[at] ^= 1 << rng.integers(0, 8)
        path.write_bytes(damaged)
        message = ""
        try:
            segment = StoreSegment.open(str(path))
            assert texts == segment.texts(every)
            assert every.tolist() == segment.find_ids(every)[1].tolist()
            segment.verify()
        except CorruptStoreError as error:
            message = str(error)
        assert message == "" or str(path) in message
        found += message != ""
    assert found > 50


def test_arguments_are_checked(tmp_path: Path) -> None:
    """Arrays that do not go together, places that are not there, a file of another kind."""
    with pytest.raises(ParameterError, match="rows"):
        _write(tmp_path / "file", [1, 1], [1, 2], [None, None], [b"", b""])
    with pytest.raises(ParameterError, match="texts"):
        _write(tmp_path / "file", [1, 2], [1, 2], [None], [b"", b""])
    assert [] == list(tmp_path.iterdir())
    segment = _write(tmp_path / "file", [1, 2], [1, 2], [None, None], [b"", b""])
    with pytest.raises(ParameterError, match="places"):
        segment.texts(np.array([2]))
    other = Path(__file__).parents[1] / "fixtures" / "bands-v1.nks"
    with pytest.raises(CorruptStoreError, match="kind 6"):
        StoreSegment.open(str(other))


PROGRAM = """
import os, sys
import numpy as np
from nearkin._core import StoreSegment
from nearkin.errors import CorruptStoreError

path, n = sys.argv[1], 50_000
texts = [f"text {i} and more of it" for i in range(n)]
every = np.arange(n, dtype=np.int64)
contents = np.random.default_rng(1).integers(0, 2**63, 2 * n, dtype=np.uint64)
StoreSegment.write(path, every, every, contents, np.zeros(0, np.uint8), 0, None, texts, b"", 3)
segment = StoreSegment.open(path)
if sys.argv[2] == "after":
    assert texts == segment.texts(every)
os.truncate(path, 1 << 16)
for call in (lambda: segment.texts(every), lambda: segment.find_contents(contents), segment.verify):
    try:
        call()
        print("answered")
    except CorruptStoreError as error:
        print("refused" if path in str(error) else error)
"""


@pytest.mark.skipif(os.name != "posix", reason="maps are guarded on Unix")
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_truncated_file_is_an_error_and_not_the_end(tmp_path: Path, when: str) -> None:
    """Truncated before its first use and after it."""
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "file"), when]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (0, "refused\n" * 3) == (done.returncode, done.stdout), done.stderr


@given(texts=st.lists(st.none() | st.text(), max_size=60), learned=st.booleans())
def test_single_texts_come_back(texts: list[str | None], learned: bool) -> None:
    """With a dictionary and without."""
    dictionary = store_train(["words to learn from, again and again"] * 200, 1024) if learned else None
    assert texts == store_decompress(store_compress(texts, 3, dictionary), dictionary)


def test_damaged_single_texts_are_errors() -> None:
    """Every flipped bit is found: a frame has a checksum; so is a dictionary that is another one."""
    texts = [f"a text about wine number {i}" for i in range(300)]
    dictionary = store_train(texts, 4096)
    (blob,) = store_compress(texts[:1], 3, dictionary)
    assert blob is not None
    for bit in range(8 * len(blob)):
        damaged = bytearray(blob)
        damaged[bit // 8] ^= 1 << bit % 8
        with suppress(CorruptStoreError):
            assert texts[:1] == store_decompress([bytes(damaged)], dictionary)
    with pytest.raises(CorruptStoreError):
        store_decompress([blob], None)
