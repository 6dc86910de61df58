"""`nk.explain` of files: the steps lead to the digest."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from nearkin.errors import InputError, ParameterError
from nearkin.explain import explain
from nearkin.explain.digests import MAX_BYTES, DigestComparison, DigestSteps, compare_digests, explain_digest

RECIPES = ["ssdeep", "ssdeep:elimseq", "ssdeep:notrunc", "ssdeep:elimseq:notrunc"]
LINES = b"".join(b"line %d of a file that will change a little\n" % i for i in range(400))


def check(data: bytes) -> None:
    """Assert that the digest equals that of `nearkin.ssdeep`, and each step its definition, byte by byte."""
    for text in RECIPES:
        recipe = nk.ssdeep.DigestRecipe(text)
        steps = explain_digest(data, recipe)
        assert recipe.hash(data) == steps.digest, (len(data), text)
    block_size, first, second = nk.ssdeep.hash(data, truncate=False).split(":")
    assert int(block_size) == steps.block_size == steps.tried[-1][0]
    assert (first, second) == tuple("".join(piece.character for piece in part.pieces) for part in steps.parts)
    assert [steps.tried[0][0] >> at for at in range(len(steps.tried))] == [size for size, _ in steps.tried]
    assert all(points < 32 for _, points in steps.tried[:-1])
    assert steps.tried[-1][1] >= 32 or steps.block_size == 3
    for part in steps.parts:
        start = 0
        for piece in part.pieces:
            assert start == piece.start
            assert piece.window == data[max(0, piece.end - 7) : piece.end]
            start = piece.end
            if not piece.tail:
                assert running_sum(piece.window) == piece.sum
                assert piece.sum % part.block_size == part.block_size - 1


def running_sum(window: bytes) -> int:
    """Return the rolling sum by the three running words of the paper."""
    first = second = third = 0
    for at, byte in enumerate(bytes(7 - len(window)) + window):
        second += (at + 1) * byte
        first += byte
        third = third << 5 ^ byte
    return (first + second + third) % 2**32


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=300),
            st.builds(lambda unit, n: unit * n, st.binary(min_size=1, max_size=20), st.integers(1, 300)),
            st.builds(lambda seed, n: random.Random(seed).randbytes(n), st.integers(), st.integers(0, 20_000)),
        ),
        max_size=4,
    )
)
def test_the_steps_lead_to_the_digest(pieces: list[bytes]) -> None:
    check(b"".join(pieces))


def test_constant_bytes_and_ends_of_zeros() -> None:
    """A sum of 0 at the end leaves no tail; constant bytes are reset points everywhere or nowhere."""
    for byte in range(256):
        check(bytes([byte]) * 200)
    for length in (0, 1, 2, 6, 7, 8, 64, 191, 192, 193, 5000, 70_000):
        data = random.Random(length).randbytes(length)
        for zeros in (0, 6, 7, 5000):
            check(data + bytes(zeros))
            check(bytes(zeros) + data)


@pytest.mark.parametrize("shift", [16, 20, 22])
def test_block_sizes_grow_with_the_input(shift: int) -> None:
    data = random.Random(shift).randbytes(1 << shift)
    check(data)
    assert (1 << shift) // 128 <= explain_digest(data, nk.ssdeep.DigestRecipe()).block_size <= (1 << shift) // 32


def test_the_example_of_the_documentation() -> None:
    steps = explain(LINES, "ssdeep")
    assert isinstance(steps, DigestSteps)
    assert [(384, 18), (192, 23), (96, 30), (48, 94)] == list(steps.tried)
    assert (0, 52, b"ne 1 of", False, "f") == (
        *(steps.parts[0].pieces[0].start, steps.parts[0].pieces[0].end, steps.parts[0].pieces[0].window),
        *(steps.parts[0].pieces[0].tail, steps.parts[0].pieces[0].character),
    )
    lines = str(steps)
    assert "block size   96: 30 reset points, fewer than 32: try half of it" in lines
    assert "block size   48: 94 reset points, chosen" in lines
    assert "part 1       B = 48: 94 reset points, the first 63 counted" in lines
    assert f"digest       {nk.ssdeep.hash(LINES)}" == lines.split("\n")[-1]
    loaded = json.loads(json.dumps(steps.to_dict()))
    assert (nk.ssdeep.hash(LINES), 64, "ne 1 of") == (
        loaded["digest"],
        len(loaded["parts"][0]["pieces"]),
        bytes.fromhex(loaded["parts"][0]["pieces"][0]["window"]).decode(),
    )


def test_common_runs_surround_an_insertion() -> None:
    """There is a run on either side of an insertion, with its position in both files."""
    edited = LINES.replace(b"line 200 ", b"LINE 200, edited, ")
    comparison = explain(LINES, "ssdeep", other=edited)
    assert isinstance(comparison, DigestComparison)
    assert nk.ssdeep.compare(nk.ssdeep.hash(LINES), nk.ssdeep.hash(edited)) == comparison.score
    assert 4 == len(comparison.common_runs)
    for run in comparison.common_runs:
        assert run.equal
        assert LINES[slice(*run.a)] == edited[slice(*run.b)]
    assert LINES.index(b"line 200 ") == LINES[: comparison.common_runs[1].a[0]].rindex(b"line 200 ")
    assert "9,169 to 17,890" in str(comparison)
    assert "<td><code>equal</code></td>" in comparison._repr_html_()
    # Different pieces have equal characters with probability 1/64; they are marked.
    chance = compare_digests(b"\x01", b"\x41", nk.ssdeep.DigestRecipe())
    assert [(False, "k"), (False, "k")] == [(run.equal, run.characters) for run in chance.common_runs]
    assert "different" in str(chance)
    unrelated = compare_digests(LINES, LINES[:100], nk.ssdeep.DigestRecipe())
    assert (0, ()) == (unrelated.score, unrelated.common_runs)
    assert "can't be compared" in str(unrelated)
    doubled = compare_digests(LINES, LINES * 2, nk.ssdeep.DigestRecipe())
    assert {run.parts for run in doubled.common_runs} <= {(1, 1), (2, 2), (2, 1)}
    json.dumps(comparison.to_dict())


def test_files_and_recipes(tmp_path: Path) -> None:
    path = tmp_path / "page"
    path.write_bytes(b"<p>" + LINES.replace(b"\n", b"</p>\r\n<p>"))
    for recipe in ("ssdeep", "html+space|ssdeep:elimseq"):
        steps = explain(path, recipe)
        assert nk.ssdeep.DigestRecipe(recipe).hash(path) == steps.to_dict()["digest"]
    assert str(explain(str(path), "ssdeep")) == str(explain(path.read_bytes(), nk.ssdeep.DigestRecipe()))
    with pytest.raises(FileNotFoundError):
        explain(tmp_path / "none", "ssdeep")
    with pytest.raises(InputError, match="not a regular file"):
        explain(tmp_path, "ssdeep")
    with pytest.raises(ParameterError, match=r"at most 67,108,864: explain a part"):
        explain(bytes(MAX_BYTES + 1), "ssdeep")
    with pytest.raises(ParameterError, match="each once"):
        explain(b"", "ssdeep:fast")


def test_html_has_a_table_of_each_part() -> None:
    steps = explain(b"<script>alert(1)</script>" * 40, "ssdeep")
    assert isinstance(steps, DigestSteps)
    assert "<script>" not in steps._repr_html_()
    assert 2 == len(re.findall("<table>", steps._repr_html_()))
    assert "first try    3" in explain(b"", "ssdeep").__str__()
