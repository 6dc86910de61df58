"""Files with altered sections and recomputed checksums: `verify` refuses them, or their answers are right.

Checksums protect against damage and not against a faulty or hostile writer. `verify` reads everything and promises that
the redundant parts of a file (tables, directories, codes, norms) follow from its data (ids and values). So whatever it
accepts must answer as an index does that is built from the data in the file.
"""

from __future__ import annotations

import random
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xxhash

import nearkin as nk
from nearkin.errors import CorruptStoreError
from nearkin.index.ids import Id
from strategies import random_fingerprints

HEADER, ENTRY = 64, 40
Key = tuple[int, int]
Sections = dict[Key, np.ndarray[Any, Any]]
"""Values by tag and number."""

IDS = {1: "u8", 2: "u8", 3: "i8", 4: "u1", 5: "u8"}
"""Types of the sections that every index has: description, dead rows, ids."""


def read(path: Path, types: dict[int, str]) -> tuple[bytes, Sections]:
    """Return the header and the sections of a segment; those without a type as bytes."""
    data = path.read_bytes()
    sections: Sections = {}
    for at in range(HEADER, HEADER + ENTRY * int.from_bytes(data[16:20], "little"), ENTRY):
        tag, number = (int.from_bytes(data[at + i : at + i + 4], "little") for i in (0, 4))
        offset, length = (int.from_bytes(data[at + i : at + i + 8], "little") for i in (8, 16))
        sections[tag, number] = np.frombuffer(data[offset : offset + length], types.get(tag, "u1"))
    return data[:HEADER], sections


def write(path: Path, header: bytes, sections: Sections) -> None:
    """Write a segment with correct offsets and checksums."""
    head, body = bytearray(header), bytearray()
    start = HEADER + ENTRY * len(sections)
    for (tag, number), values in sections.items():
        body += bytes(-(start + len(body)) % 64)
        section = values.tobytes()
        head += tag.to_bytes(4, "little") + number.to_bytes(4, "little")
        for value in (start + len(body), len(section), xxhash.xxh3_64_intdigest(section), 0):
            head += value.to_bytes(8, "little")
        body += section
    head[24:32] = (len(head) + len(body)).to_bytes(8, "little")
    head[56:64] = bytes(8)
    head[56:64] = xxhash.xxh3_64_intdigest(bytes(head)).to_bytes(8, "little")
    path.write_bytes(head + body)


def replaced(rng: random.Random, values: np.ndarray[Any, Any]) -> Any:
    """Return another value: a near one, one of another row, a special one, or any bits."""
    one = np.frombuffer(rng.randbytes(values.itemsize), values.dtype)[0]
    if values.dtype.kind == "f":
        return rng.choice([one, values[rng.randrange(len(values))] * 2 + 1, np.nan, np.inf, 0.0])
    value = int(values[rng.randrange(len(values))])
    limits = np.iinfo(values.dtype)
    near = min(max(value + rng.choice([-2, -1, 1, 2]), int(limits.min)), int(limits.max))
    return rng.choice([near, near, value ^ (1 << rng.randrange(4)) & int(limits.max), 0, limits.max, one])


def alter(rng: random.Random, sections: Sections, fixed: tuple[Key, ...]) -> str:
    """Alter one section, or shorten all that are equally long, and say how."""
    keys = [key for key, values in sections.items() if len(values) and key not in fixed]
    key = rng.choice(keys)
    values = sections[key].copy()
    how = rng.choice(["swap", "duplicate", "shift", "replace", "replace", "flip", "shorten"])
    i, j = rng.randrange(len(values)), rng.randrange(len(values))
    if how == "swap":
        values[[i, j]] = values[[j, i]]
    elif how == "duplicate":
        values[i] = values[j]
    elif how == "shift":
        low, high = sorted((i, j))
        values[low : high + 1] = np.roll(values[low : high + 1], 1)
    elif how == "replace":
        with np.errstate(all="ignore"):
            values[i] = replaced(rng, values)
    elif how == "flip":
        data = bytearray(values.tobytes())
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        values = np.frombuffer(bytes(data), values.dtype)
    else:
        count = len(values)
        for other in [other for other in keys if len(sections[other]) == count and other != (1, 0)]:
            sections[other] = np.delete(sections[other], i)
        about = sections[1, 0].copy()
        about[about == count] -= np.uint64(rng.random() < 0.8)
        sections[1, 0] = about
        return f"{how} {key} at {i} of {count}"
    sections[key] = values
    return f"{how} {key} at {i}, {j} of {len(values)}"


def ids_of(sections: Sections, total: int) -> list[Id]:
    """Return the ids of all rows."""
    if (3, 0) in sections:
        return [int(i) for i in sections[3, 0]]
    if (5, 0) in sections:
        text, ends = sections[4, 0].tobytes(), [0, *sections[5, 0].tolist()]
        return [text[a:b].decode() for a, b in pairwise(ends)]
    return list(range(total))


def live_rows(sections: Sections, total: int) -> list[int]:
    """Return the rows that were not removed."""
    dead = sections[2, 0].tolist()
    return [row for row in range(total) if row // 64 >= len(dead) or not dead[row // 64] >> row % 64 & 1]


def answers(index: Any, queries: Any, limit: Any, ids: list[Id]) -> list[Any]:
    """Return every answer of an index."""
    tables = [index.search(queries, limit), index.nearest(queries, 4)]
    if getattr(getattr(index, "settings_", None), "metric", "") != "inner_product":
        tables.append(index.pairs(limit))
        tables.append(index.clusters(limit))
    known = [i for batch in index.iter_ids() for i in batch.tolist()]
    return [*(repr(table.to_arrow().to_pydict()) for table in tables), known, len(index), [i in index for i in ids]]


@dataclass(frozen=True)
class File:
    """A kind of index file: how it is made, and how one is made from the data that it holds."""

    name: str
    save: Callable[[Path], None]
    open: Callable[[Path], Any]
    rebuild: Callable[[Sections, Path], Any]
    """An index of the data in the sections; the path of the file as it was written."""
    queries: Any
    limit: Any
    types: dict[int, str]
    fixed: tuple[Key, ...] = ()
    """Sections that are left alone: JSON, for which there are other tests."""
    total: Callable[[Sections], int] = field(default=lambda sections: int(sections[1, 0][0]))


IDS_GIVEN: tuple[list[Id] | None, ...] = (None, list(range(0, 120, 3)), [(7 * i) % 41 for i in range(40)])
STRINGS: list[Id] = [f"é{(7 * i) % 41}" for i in range(40)]


def added(index: Any, ids: list[Id], rows: list[int], values: Any) -> Any:
    """Add rows by their ids."""
    if rows:
        index.add([ids[row] for row in rows], values)
    return index


def hamming(bits: int, method: str, radius: int, ids: list[Id] | None) -> File:
    """Return the file of fingerprints, with copies, a removed row and the tables of a radius."""
    rng = np.random.default_rng(bits + radius)
    fps = random_fingerprints(rng, bits, 10)
    fps = np.concatenate([fps, random_fingerprints(rng, bits, 26, near=fps), fps[:4]])

    def save(path: Path) -> None:
        index = nk.HammingIndex(bits, method, radius=radius)  # type: ignore[arg-type]
        index.add(ids, fps)
        index.remove([ids[5] if ids else 5])
        index.save(path)

    def rebuild(sections: Sections, _: Path) -> Any:
        width, total = int(sections[1, 0][0]), int(sections[1, 0][4])
        words = -(-width // 64)
        slots = sections[10, 0].reshape(-1, words)
        starts = sections[12, 0].tolist() or list(range(len(slots) + 1))
        by_row: dict[int, Any] = {}
        for slot, value in enumerate(slots):
            for row in sections[11, 0][starts[slot] : starts[slot + 1]].tolist():
                assert row not in by_row, "a row is listed twice"
                by_row[row] = value
        live = live_rows(sections, total)
        values = np.array([by_row[row] for row in live], np.uint64)
        index = nk.HammingIndex(width, "scan")
        return added(index, ids_of(sections, total), live, values[:, 0] if words == 1 else values)

    types = IDS | {10: "u8", 11: "u4", 12: "u4", 20: "u4", 21: "u4", 22: "u8"}
    kind = "rows" if ids is None else "strings" if isinstance(ids[0], str) else "growing" if ids[1] == 3 else "integers"
    name = f"hamming-{bits}-{method}-{radius}-{kind}"
    return File(name, save, nk.HammingIndex.open, rebuild, fps, radius, types, total=lambda s: int(s[1, 0][4]))


def bands(value_bits: Any, ids: list[Id] | None) -> File:
    """Return the file of signatures, some of them equal, some without features."""
    rng = np.random.default_rng(value_bits)
    kind = np.uint32 if value_bits == 32 else np.uint64
    none = np.full((1, 8), np.iinfo(kind).max, kind)
    signatures = rng.integers(0, 3, (34, 8)).astype(kind)
    signatures = np.concatenate([signatures, none, signatures[:4], none])

    def new(bits: Any, shape: list[int]) -> Any:
        return nk.BandIndex(shape[0], num_bands=shape[1], num_rows=shape[2], value_bits=bits)

    def save(path: Path) -> None:
        index = new(value_bits, [8, 4, 2])
        index.add(ids, signatures)
        index.remove([ids[5] if ids else 5])
        index.save(path)

    def rebuild(sections: Sections, _: Path) -> Any:
        bits, *shape, total = sections[1, 0][:5].tolist()
        items = np.concatenate([sections[10, 0].reshape(-1, shape[0]), none[:, : shape[0]]])
        of = np.minimum(sections[11, 0].astype(np.int64), len(items) - 1)
        live = live_rows(sections, total)
        return added(new(bits, shape), ids_of(sections, total), live, items[of[live]])

    types = IDS | {10: f"u{value_bits // 8}", **dict.fromkeys((11, 12, 13, 20, 21, 22), "u4")}
    name = f"bands-{value_bits}-{'rows' if ids is None else 'strings' if ids is STRINGS else 'integers'}"
    total = lambda sections: int(sections[1, 0][4])  # noqa: E731
    return File(name, save, nk.BandIndex.open, rebuild, signatures, 0.5, types, ((6, 0),), total)


def digests(ids: list[Id] | None) -> File:
    """Return the file of fuzzy digests."""
    rng = random.Random(1)
    stock = [rng.randbytes(300) for _ in range(8)]
    built = [nk.ssdeep.hash(b"".join(rng.choices(stock, k=12))) for _ in range(38)] + ["3::", "3:E:E"]

    def save(path: Path) -> None:
        index = nk.DigestIndex()
        index.add(ids, built)
        index.remove([ids[5] if ids else 5])
        index.save(path)

    def rebuild(sections: Sections, _: Path) -> Any:
        total, text, at = int(sections[1, 0][0]), sections[12, 0].tobytes().decode(), 0
        parts = []
        for length in sections[11, 0].tolist():
            parts.append(text[at : at + length])
            at += length
        sizes = sections[10, 0].tolist()
        texts = [f"{sizes[i]}:{parts[2 * i]}:{parts[2 * i + 1]}" for i in range(total)]
        live = live_rows(sections, total)
        index = nk.DigestIndex(strict=not sections[1, 0][3])
        return added(index, ids_of(sections, total), live, [texts[row] for row in live])

    types = IDS | {10: "u8", 11: "u1", 12: "u1"}
    name = f"digests-{'rows' if ids is None else 'strings' if ids is STRINGS else 'integers'}"
    return File(name, save, nk.DigestIndex.open, rebuild, built, 20, types, ((6, 0),))


VALUES = {"float32": "f4", "float64": "f8", "uint8": "u1", "int8": "i1", "float16": "f2", "sparse": "f8"}


def vectors(dtype: str, filtered: str, ids: list[Id], **params: Any) -> File:
    """Return the file of vectors of a type, found by buckets, codes or estimates."""
    rng = np.random.default_rng(2)
    centres = rng.integers(20, 80, (8, 6))
    points = (centres[rng.integers(0, 8, 40)] + rng.integers(-3, 4, (40, 6))).clip(0, 100)
    X: Any = points.astype("float64" if dtype == "sparse" else dtype)
    sparse = dtype == "sparse"
    if sparse:
        from scipy.sparse import csr_array

        X = csr_array(X)

    def save(path: Path) -> None:
        index = nk.LSHIndex(**params).fit(X, ids)
        index.remove([ids[5]])
        index.save(path)

    def rebuild(sections: Sections, path: Path) -> Any:
        dimension, total = int(sections[1, 0][2]), int(sections[1, 0][3])
        live = live_rows(sections, total)
        if sparse:
            from scipy.sparse import csr_array

            shape = sections[20, 0], sections[23, 0].astype(np.int32), sections[22, 0].astype(np.int64)
            values: Any = csr_array(shape, shape=(total, dimension))[live]
        else:
            values = sections[20, 0].reshape(total, dimension)[live]
        # The functions, centroids and settings are those that were fitted to the first vectors.
        index = nk.LSHIndex.open(path)
        index.remove([i for batch in index.iter_ids() for i in batch.tolist()])
        return added(index, ids_of(sections, total), live, values)

    types = IDS | {10: "u4", 11: "u8", 12: "u4", 13: "u8", 14: "u4", 15: "u4", 16: "u8", 20: VALUES[dtype]}
    types |= {22: "u8", 23: "u4", 30: "u8", 31: "f4", 32: "u1", 33: "f4", 34: "f4", 35: "u1", 36: "f4", 37: "u4"}
    types |= {38: "u4"}
    types[21] = {"float32": "f4", "float16": "f4", "uint8": "u8", "int8": "u8"}.get(dtype, "f8")
    total = lambda sections: int(sections[1, 0][3])  # noqa: E731
    # Centroids and the mean are parameters, as the metadata is: any will do if the codes are made with them.
    fixed = ((6, 0), (31, 0), (36, 0))
    kind = "strings" if isinstance(ids[0], str) else "integers"
    limit = 0.01 if params.get("metric") == "cosine" else 5.0
    name = f"vectors-{dtype}-{filtered}-{kind}"
    return File(name, save, nk.LSHIndex.open, rebuild, X, limit, types, fixed, total)


def vector_files() -> Iterator[File]:
    """Yield files of vectors of every filter, and of every type."""
    f: Any = nk.families
    integers: list[Id] = [(7 * i) % 41 for i in range(40)]
    codes: Any = {"filter": "codes", "num_candidates": 10}
    estimate: Any = {"rank": "estimate", "recall": 0.999999}
    partitions: Any = {**estimate, "filter": "partitions", "num_partitions": 4, "num_probes": 4}
    for ids in (integers, STRINGS):
        yield vectors("float32", "buckets", ids, family=f.PStable(width=12.0, seed=1), num_tables=3, hashes_per_table=2)
    yield vectors(
        "float32", "bits", integers, family=f.Hyperplane(12, seed=1), num_tables=3, hashes_per_table=4,
        filter="buckets", metric="cosine",
    )  # fmt: skip
    yield vectors("float64", "codes", integers, family=f.Hyperplane(70, seed=1), metric="cosine", **codes)
    for metric in ("l2", "cosine"):
        family = f.Hyperplane(None, orthogonal="hadamard", seed=1)
        yield vectors("float32", f"flat-{metric}", integers, family=family, filter="codes", metric=metric, **estimate)
        yield vectors("float32", f"partitions-{metric}", integers, family=family, metric=metric, **partitions)
    for dtype in VALUES:
        family = f.PStable(width=12.0, seed=1)
        yield vectors(dtype, "types", integers, family=family, num_tables=2, hashes_per_table=2, metric="l2")
        cosine = f.Hyperplane(16, seed=1)
        yield vectors(dtype, "cosine", integers, family=cosine, metric="cosine", **codes)


METHODS = ("auto", "scan", "bits", "blocks", "tables", "multi")
FILES = [
    *(hamming(64, method, 3, ids) for method in METHODS for ids in (*IDS_GIVEN, STRINGS)),
    *(hamming(bits, method, radius, IDS_GIVEN[2])
      for bits, radius in ((5, 1), (65, 3), (128, 6), (320, 4))
      for method in METHODS),
    *(bands(bits, ids) for bits in (32, 64) for ids in (None, IDS_GIVEN[2], STRINGS)),
    *(digests(ids) for ids in (None, IDS_GIVEN[2], STRINGS)),
    *vector_files(),
]  # fmt: skip


def sweep(file: File, folder: Path, count: int) -> None:
    """Alter a file often; what `verify` accepts answers as an index of its data."""
    path, altered = folder / "whole", folder / "altered"
    file.save(path)
    header, whole = read(path, file.types)
    opened = file.open(path)
    opened.verify()
    same = file.rebuild(whole, path)
    known = ids_of(whole, file.total(whole))
    assert answers(same, file.queries, file.limit, known) == answers(opened, file.queries, file.limit, known)
    accepted = []
    for number in range(count):
        rng = random.Random(zlib.crc32(f"{file.name} {number}".encode()))
        sections = dict(whole)
        how = alter(rng, sections, file.fixed)
        write(altered, header, sections)
        try:
            index = file.open(altered)
            index.verify()
        except CorruptStoreError:
            continue
        accepted.append(how)
        if file.name.startswith("vectors") and sections[1, 0][1] != whole[1, 0][1]:
            # The same bytes as numbers of another type are other vectors; the settings do not say which.
            continue
        ids = sorted({*known, *ids_of(sections, file.total(sections))}, key=repr)
        try:
            expected = answers(file.rebuild(sections, path), file.queries, file.limit, ids)
        except Exception as error:
            raise AssertionError(f"{number}: {how}: verified, but its data is no index: {error!r}") from error
        assert expected == answers(index, file.queries, file.limit, ids), f"{number}: {how}"
    assert len(accepted) < count


SAMPLE = random.Random(3).sample(FILES, 16)


@pytest.mark.parametrize("file", SAMPLE, ids=lambda file: file.name)
def test_a_verified_file_answers_right(file: File, tmp_path: Path) -> None:
    """A sample of files and alterations."""
    sweep(file, tmp_path, 25)


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_verified_file_answers_right(file: File, tmp_path: Path) -> None:
    """Every kind of file."""
    sweep(file, tmp_path, 400)


@pytest.mark.parametrize("ids", [STRINGS[:1] * 300_000, [7] * 300_000], ids=["strings", "integers"])
def test_equal_ids_take_linear_time(tmp_path: Path, ids: list[Id]) -> None:
    """A file in which every row has the same id opens at once, and `verify` refuses it.

    Each row would be compared with all before it: 4.5e10 steps, more than 20 seconds at 2e9 per second.
    """
    count = len(ids)
    distinct: list[Id] = [f"{n:02x}" for n in range(count)] if isinstance(ids[0], str) else [*range(count, 0, -1)]
    index = nk.HammingIndex(64, "scan")
    index.add(distinct, np.arange(count, dtype=np.uint64))
    index.save(tmp_path / "index")
    header, sections = read(tmp_path / "index", IDS)
    if (3, 0) in sections:
        sections[3, 0] = np.full(count, ids[0], np.int64)
    else:
        name = str(ids[0]).encode()
        sections[4, 0] = np.frombuffer(name * count, np.uint8)
        sections[5, 0] = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(len(name))
    write(tmp_path / "index", header, sections)
    start = time.process_time()
    opened = nk.HammingIndex.open(tmp_path / "index")
    assert ids[0] in opened
    assert time.process_time() - start < 5
    with pytest.raises(CorruptStoreError):
        opened.verify()
