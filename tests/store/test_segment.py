"""The documents file of a segment, compared with a dictionary, and damaged."""

from __future__ import annotations

import functools
import tempfile
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearkin._core import StoreSegment, store_pack, store_sums, store_unpack
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
    queries: list[Id] = [*ids, 1, "1"]
    offsets, result = segment.find_ids(queries)
    same = [[row for row, i in zip(rows, ids, strict=True) if (type(i), i) == (type(a), a)] for a in queries]
    assert same == [result[a:b].tolist() for a, b in pairwise(offsets.tolist())]
    contents = segment.contents(np.arange(count, dtype=np.int64))
    offsets, result = segment.find_contents(contents)
    pairs = contents.reshape(-1, 2).tolist()
    same = [[row for row, pair in zip(rows, pairs, strict=True) if pair == expected] for expected in pairs]
    assert same == [result[a:b].tolist() for a, b in pairwise(offsets.tolist())]


def test_many_texts_are_read_in_parallel(tmp_path: Path) -> None:
    """In any order, with repetitions; their blocks share a dictionary."""
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


def test_arguments_are_checked(tmp_path: Path) -> None:
    """Arrays of different lengths, invalid positions, a file of another kind."""
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


@functools.cache
def learned() -> bytes:
    """Return a compression dictionary."""
    texts: list[str | None] = [f"words to learn from, again and again, {i}" * 9 for i in range(4000)]
    with tempfile.TemporaryDirectory() as folder:
        return _write(Path(folder, "file"), list(range(4000)), list(range(4000)), texts, [b""] * 4000).dictionary()


@given(texts=st.lists(st.none() | st.text(), max_size=60), with_dictionary=st.booleans())
def test_blocks_of_texts_round_trip(texts: list[str | None], with_dictionary: bool) -> None:
    """With a dictionary and without."""
    dictionary = learned() if with_dictionary else b""
    blocks = store_pack(texts, 3, dictionary)
    assert (sum(text is not None for text in texts), sum(len(text.encode()) for text in texts if text)) == (
        sum(block[1] for block in blocks),
        sum(block[2] for block in blocks),
    )
    result = [store_unpack(frame, count, length, dictionary) for count, _, _, length, frame in blocks]
    assert texts == [text for chunk in result for text in chunk]


def test_texts_of_blocks_and_of_files_make_a_file(tmp_path: Path) -> None:
    """Blocks with several dictionaries are joined in order."""
    texts: list[str | None] = [None if i % 7 == 0 else f"a page about wine {i} " * (i % 90) for i in range(900)]
    dictionary = learned()
    one = _write(tmp_path / "one", list(range(300)), list(range(300)), texts[:300], [b""] * 300)
    blocks: list[StoreSegment | tuple[int, int, int, int, bytes, bytes]] = [
        (*block, with_one)
        for start, with_one in ((300, dictionary), (500, b""), (700, dictionary))
        for block in store_pack(texts[start : start + 200], 3, with_one)
    ]
    every = np.arange(900)
    contents, records = np.zeros(1800, np.uint64), np.zeros(0, np.uint8)
    packed = (dictionary, [one, *blocks])
    path = tmp_path / "all"
    StoreSegment.write(str(path), every, every, contents, records, 0, None, None, b"{}", 3, packed)
    segment = StoreSegment.open(str(path))
    segment.verify()
    assert (texts, dictionary) == (segment.texts(every), segment.dictionary())
    with pytest.raises(ParameterError, match="texts"):
        StoreSegment.write(str(path), every[:9], every[:9], contents[:18], records, 0, None, None, b"{}", 3, packed)
    assert texts == StoreSegment.open(str(path)).texts(every)


def test_damaged_blocks_are_not_copied(tmp_path: Path) -> None:
    """A block that differs from its checksum is not copied."""
    texts: list[str | None] = [f"a page about wine {i} " * 20 for i in range(300)]
    _write(tmp_path / "one", list(range(300)), list(range(300)), texts, [b""] * 300)
    whole, every = (tmp_path / "one").read_bytes(), np.arange(300)
    refused = 0
    for at in range(0, len(whole), 97):
        damaged = bytearray(whole)
        damaged[at] ^= 4
        (tmp_path / "one").write_bytes(damaged)
        with suppress(CorruptStoreError):
            refused += 1
            one = StoreSegment.open(str(tmp_path / "one"))
            StoreSegment.write(
                str(tmp_path / "two"), every, every, np.zeros(600, np.uint64), np.zeros(0, np.uint8), 0, None, None,
                b"", 3, (one.dictionary(), [one]),
            )  # fmt: skip
            refused -= 1
            assert texts == StoreSegment.open(str(tmp_path / "two")).texts(every)
    assert refused > 5


def test_damaged_blocks_are_errors_or_keep_the_number_of_texts() -> None:
    """Any flipped bit, wrong length or invalid dictionary; checksums distinguish blocks."""
    texts: list[str | None] = [f"a text about wine number {i}" for i in range(20)]
    ((count, _, _, length, frame),) = store_pack(texts, 3, b"")
    assert len(set(store_sums([frame, frame[:-1], frame[:-2] + b"x"]).tolist())) == 3
    for bit in range(8 * len(frame)):
        damaged = bytearray(frame)
        damaged[bit // 8] ^= 1 << bit % 8
        with suppress(CorruptStoreError):
            assert count == len(store_unpack(bytes(damaged), count, length, b""))
    for documents, size in ((count + 1, length), (count - 1, length), (count, length + 1), (count, 1 << 60)):
        with pytest.raises(CorruptStoreError):
            store_unpack(frame, documents, size, b"")
    with pytest.raises(ParameterError, match="dictionary"):
        store_unpack(frame, count, length, b"\x37\xa4\x30\xec none")
