"""Every kind of saved file, damaged: an error that names the file, or the right result.

Each kind is made, opened and searched in every way. Descriptions that only one kind has are tested with that kind.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import xxhash
from saved_files import FPS, KINDS

import nearkin as nk
from nearkin import errors


def replaced(path: Path, content: bytes | bytearray) -> Path:
    """Write a file anew: an index that is still open keeps the file that it mapped."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    return path


def sweep(kind: str, folder: Path, step: int, bits: tuple[int, ...]) -> tuple[int, int]:
    """Flip bits of every `step`-th byte; return how many flips raised an error and how many changed nothing."""
    ask = KINDS[kind].ask
    path = folder / "file.nks"
    KINDS[kind].save_small(path)
    right, whole = ask(path), path.read_bytes()
    refused = unread = unnamed = 0
    for at in range(0, len(whole), step or max(1, len(whole) // 400)):
        for bit in bits:
            damaged = bytearray(whole)
            damaged[at] ^= 1 << bit
            try:
                result = ask(replaced(path, damaged))
            except errors.CorruptStoreError as error:
                unnamed += str(path) not in str(error)
                refused += 1
            except (errors.NearkinError, OSError):
                refused += 1
            else:
                assert right == result, f"byte {at}, bit {bit}"
                unread += 1
    assert 0 == unnamed, "errors that name no file"
    return refused, unread


@pytest.mark.parametrize("kind", KINDS)
def test_one_flipped_bit_is_an_error_or_changes_nothing(tmp_path: Path, kind: str) -> None:
    """Flips one bit of each byte of a sample."""
    refused, unread = sweep(kind, tmp_path, 0, (3,))
    assert refused > unread


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_flipped_bit_is_an_error_or_changes_nothing(tmp_path: Path, kind: str) -> None:
    """Flips every bit of the file."""
    refused, unread = sweep(kind, tmp_path, 1, tuple(range(8)))
    assert refused > unread


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_cut_anywhere_is_an_error(tmp_path: Path, kind: str) -> None:
    """A file truncated to any of the sampled lengths, including 0, is not opened as a smaller index."""
    ask = KINDS[kind].ask
    path = tmp_path / "file.nks"
    KINDS[kind].save_small(path)
    whole = path.read_bytes()
    for length in (*range(0, len(whole) - 1, max(1, len(whole) // 60)), 1, 63, 64, len(whole) - 1):
        with pytest.raises((errors.NearkinError, OSError)):
            ask(replaced(path, whole[:length]))


@pytest.mark.parametrize("kind", KINDS)
def test_overwritten_runs_of_bytes_are_errors_or_change_nothing(tmp_path: Path, kind: str) -> None:
    """Up to three runs of eight arbitrary bytes at a time, a file of other content, and a longer file."""
    ask = KINDS[kind].ask
    path = tmp_path / "file.nks"
    KINDS[kind].save_small(path)
    right, whole = ask(path), path.read_bytes()
    rng = np.random.default_rng(10)
    for _ in range(60):
        damaged = bytearray(whole)
        for at in rng.integers(0, len(whole) - 8, int(rng.integers(1, 4))).tolist():
            damaged[at : at + 8] = rng.bytes(8)
        with suppress(errors.NearkinError, OSError):
            assert right == ask(replaced(path, damaged))
    with suppress(errors.NearkinError, OSError):
        assert right == ask(replaced(path, whole + b"more"))
    for foreign in (b"no segment at all", b"NKSEGMNT", rng.bytes(5000)):
        with pytest.raises(errors.NearkinError):
            ask(replaced(path, foreign))
    with pytest.raises(OSError, match=r"none\.nks"):
        ask(tmp_path / "none.nks")


@pytest.mark.parametrize("kind", [name for name, kind in KINDS.items() if kind.verify is not None])
def test_verify_detects_every_flipped_byte_that_is_not_padding(tmp_path: Path, kind: str) -> None:
    """Also those that no search reads; only the zeros between sections are never read."""
    verify, path = KINDS[kind].verify, tmp_path / "file.nks"
    assert verify is not None
    KINDS[kind].save_small(path)
    verify(path)
    whole = path.read_bytes()
    for at in range(0, len(whole), max(1, len(whole) // 150)):
        damaged = bytearray(whole)
        damaged[at] ^= 255
        if whole[at]:
            with pytest.raises(errors.NearkinError):
                verify(replaced(path, damaged))


def test_a_file_that_says_it_has_more_rows_than_it_holds_is_refused(tmp_path: Path) -> None:
    """A few kilobytes with valid checksums that claim four billion rows give an error instead of an array of 17 GB."""
    path = tmp_path / "file.nks"
    index = nk.HammingIndex(bits=64)
    index.add(None, FPS)
    index.save(path)
    data = bytearray(path.read_bytes())
    sections = int.from_bytes(data[16:20], "little")
    for at in range(64, 64 + 40 * sections, 40):
        offset, length = (int.from_bytes(data[at + i : at + i + 8], "little") for i in (8, 16))
        if int.from_bytes(data[at : at + 4], "little") == 1:
            # The fifth number of the description is the number of rows ever added.
            assert len(FPS) == int.from_bytes(data[offset + 32 : offset + 40], "little")
            data[offset + 32 : offset + 40] = (2**32 - 2).to_bytes(8, "little")
            data[at + 24 : at + 32] = xxhash.xxh3_64_intdigest(data[offset : offset + length]).to_bytes(8, "little")
    data[56:64] = bytes(8)
    data[56:64] = xxhash.xxh3_64_intdigest(data[: 64 + 40 * sections]).to_bytes(8, "little")
    path.write_bytes(data)
    with pytest.raises(errors.CorruptStoreError, match="rows"):
        nk.HammingIndex.open(path)
