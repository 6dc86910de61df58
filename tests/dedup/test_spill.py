"""nearkin.dedup.spill: arrays that arrive in batches, in memory and in files."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from nearkin.dedup import spill as spill_module
from nearkin.dedup.spill import IN_MEMORY, SpillBuffer, SpillColumn, SpillPolicy, release
from nearkin.index import memory
from nearkin.io import Column

SPILLS = [IN_MEMORY, SpillPolicy(None, 1), SpillPolicy(None, 100)]
CELLS = st.one_of(
    st.none(), st.booleans(), st.integers(-(1 << 70), 1 << 70), st.floats(allow_nan=False), st.text("aé名")
)


@given(
    st.sampled_from(SPILLS),
    st.lists(st.one_of(st.lists(st.integers(0, 9)), st.lists(st.text("ab")), st.lists(CELLS)), max_size=5),
)
def test_a_column_equals_its_concatenated_batches(spill: SpillPolicy, parts: list[list[Any]]) -> None:
    """Numbers and strings in any order, batches without either, slices of larger columns."""
    column = SpillColumn(spill)
    for part in parts:
        chunk = Column.of(["before", *part])
        column.append(Column(chunk.kinds[1:], chunk.values[1:], chunk.offsets[1:], chunk.data))
    actual = column.finish()
    expected = [value for part in parts for value in part]
    assert expected == actual.to_list()
    assert expected[::-1] == actual.take(range(len(expected))[::-1])
    assert [expected[row] for row in range(len(expected))] == [actual[row] for row in range(len(expected))]


@given(
    st.sampled_from(SPILLS),
    st.lists(st.integers(0, 9), max_size=8),
    st.sampled_from([np.uint8, np.uint32, np.int64]),
    st.sampled_from([(), (2,), (3, 2)]),
)
def test_rows_equal_their_concatenated_batches(
    spill: SpillPolicy, sizes: list[int], dtype: type, width: tuple[int, ...]
) -> None:
    """Any type and shape, in memory and in files, also strided input."""
    rng = np.random.default_rng(0)
    parts: list[NDArray[Any]] = [rng.integers(0, 200, (2 * size, *width)).astype(dtype)[::2] for size in sizes]
    rows = SpillBuffer(spill)
    for part in parts:
        rows.append(part)
    expected = np.concatenate([np.zeros((0, *width), dtype), *parts])
    actual = rows.finish()
    assert len(expected) == len(rows)
    np.testing.assert_array_equal(expected, actual if len(expected) else actual.reshape(expected.shape))
    assert not len(expected) or expected.dtype == actual.dtype
    assert actual.flags.writeable is not (spill.spills(expected.nbytes) and len(expected) > 0)


def test_a_file_has_no_name_and_is_deleted_with_its_array(tmp_path: Path) -> None:
    """The folder is empty, and no file remains open."""
    files = Path("/proc/self/fd")
    gc.collect()  # what earlier tests left open
    before = len(list(files.iterdir())) if files.exists() else None
    rows = SpillBuffer(SpillPolicy(tmp_path, 10))
    rows.append(np.arange(100))
    stored = rows.finish()
    zeros = SpillPolicy(tmp_path, 10).zeros((50,), np.int64)
    zeros[3] = 7
    assert [] == list(tmp_path.iterdir())
    assert (99, 7) == (int(stored[-1]), int(zeros.sum()))
    assert stored is rows.finish()
    begun = SpillBuffer(SpillPolicy(tmp_path, 10))
    begun.append(np.arange(100))
    del rows, stored, zeros, begun
    gc.collect()
    assert before is None or before == len(list(files.iterdir()))


@pytest.mark.parametrize("spill", SPILLS)
def test_zeros_can_be_written_and_released(spill: SpillPolicy) -> None:
    """Released arrays, and slices of them, keep their contents; so do arrays in memory."""
    actual = spill.zeros((4, 1 << 14), np.uint32)
    assert 0 == actual.sum()
    actual[1] = np.arange(1 << 14)
    release(actual, actual[2:], np.arange(3))
    assert ((1 << 14) - 1) * (1 << 13) == actual.sum()
    assert (0,) == spill.zeros((0,), np.int64).shape


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_release_returns_memory_to_the_system() -> None:
    """The resident size of mapped files falls."""

    def resident() -> int:
        line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("RssFile"))
        return int(line.split()[1]) << 10

    array = SpillPolicy(None, 1).zeros((1 << 22,), np.int64)
    array[:] = 1
    before = resident()
    release(array[5:])
    assert before - resident() > array.nbytes // 2
    assert 1 << 22 == array.sum()


@pytest.mark.skipif(sys.platform == "win32", reason="limits of Unix")
def test_a_full_disk_is_an_error_and_does_not_kill_the_process() -> None:
    """Space is allocated before pages are written."""
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n"
        "import numpy as np; from nearkin.dedup.spill import SpillPolicy\n"
        "try: SpillPolicy(None, 1).zeros((1 << 22,), np.uint8)[:] = 1\n"
        "except OSError as error: print('refused', error.errno)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("refused"), done.stderr


def test_the_share_is_that_of_the_memory_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the system does not report its memory, nothing is spilled."""
    monkeypatch.setattr(memory, "machine_memory", lambda: 3200)
    assert SpillPolicy("somewhere", 100) == SpillPolicy.into("somewhere")
    assert SpillPolicy.into(None).spills(101)
    assert not SpillPolicy.into(None).spills(100)
    monkeypatch.setattr(memory, "machine_memory", lambda: None)
    assert not SpillPolicy.into(None).spills(1 << 60)
    assert not IN_MEMORY.spills(1 << 60)
    assert 1 / 32 == spill_module.SHARE
