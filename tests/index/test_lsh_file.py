"""The file of an LSHIndex: contents beyond the core's part, older files, and inconsistent descriptions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearkin as nk
from nearkin._core import LshCore
from nearkin.errors import CorruptStoreError, FormatVersionError, NotFittedError, ParameterError
from nearkin.families import BitSampling, CrossPolytope, Hyperplane, KernelLSH, PStable

X = np.random.default_rng(0).standard_normal((60, 6)).astype(np.float32)


def changed(path: Path, change: Any) -> None:
    """Rewrite an index with another description and valid checksums."""
    core, note = LshCore.open(str(path))
    size = int.from_bytes(note[:8], "little")
    about = json.loads(note[8 : 8 + size])
    about = change(about) or about
    head = json.dumps(about).encode()
    core.save(str(path), len(head).to_bytes(8, "little") + head + note[8 + size :])


@pytest.mark.parametrize(
    "index",
    [
        nk.LSHIndex(PStable(seed=3)),
        nk.LSHIndex(PStable("l1", u_functions=True), 5, hashes_per_table=4, num_probes=3),
        nk.LSHIndex(CrossPolytope(group=1), hashes_per_table=1, metric="l2"),
        nk.LSHIndex(BitSampling(100, limits=(-5.0, 5.0)), filter="codes", num_candidates=7),
        nk.LSHIndex(BitSampling(100, limits="auto"), rank="spherical"),
        nk.LSHIndex(Hyperplane(100, center=True), metric="inner_product", filter="buckets"),
        nk.LSHIndex(Hyperplane(100), metric="inner_product", max_norm=50.0),
        nk.LSHIndex(KernelLSH(64, anchors=20, subset=4), metric="l1"),
    ],
    ids=repr,
)
def test_an_opened_index_was_given_and_has_the_same(index: nk.LSHIndex, tmp_path: Path) -> None:
    """Parameters, settings, family, type and dimension are equal, and fitting either gives the same index."""
    index.fit(X)
    index.save(tmp_path / "index")
    opened = nk.LSHIndex.open(tmp_path / "index")
    assert repr(index.params) == repr(opened.params)
    assert index.settings_ == opened.settings_
    assert index.family_.digest == opened.family_.digest
    assert ("float32", 6) == (opened.vector_type_, opened.dimension_)
    assert repr(index) == repr(opened)
    assert index.explain()["why"] == opened.explain()["why"]
    assert index.fit(9 * X).settings_ == opened.fit(9 * X).settings_
    assert index.nearest(X, 2).ids.tolist() == opened.nearest(X, 2).ids.tolist()


def test_files_without_the_given_family_are_opened() -> None:
    """The oldest fixtures lack the original family and the names of the chosen settings."""
    for name in ("buckets", "codes"):
        index = nk.LSHIndex.open(Path(__file__).parents[1] / "fixtures" / f"lsh-{name}-v1.nks")
        assert "Hyperplane" in repr(index.params.family)
        assert () == index.settings_.chosen
        assert index.settings_.tuning is None


LIES: list[tuple[str, Any]] = [
    ("no object", lambda about: [1, 2]),
    ("no family", lambda about: about.pop("family") and None),
    ("another family", lambda about: about["family"].update(family="none")),
    ("another seed of the wrong kind", lambda about: about["family"]["params"].update(seed=-1)),
    ("another dimension", lambda about: about["family"].update(dimension=5)),
    ("an unknown parameter", lambda about: about["given"].update(colour=1)),
    ("a parameter out of range", lambda about: about["given"].update(num_tables=0)),
    ("an unknown setting", lambda about: about["settings"].update(colour=1)),
    ("another metric", lambda about: about["given"].update(metric="l1")),
    ("an unknown metric", lambda about: about["given"].update(metric="l3")),
    ("a given family that is none", lambda about: about.update(given_family={"family": "none", "params": {}})),
    ("a tuning without its numbers", lambda about: about.update(tuning={"recall": 0.9})),
    ("chosen names that are none", lambda about: about.update(chosen=5)),
]


@pytest.mark.parametrize(("what", "change"), LIES, ids=[what for what, _ in LIES])
def test_descriptions_that_lie_are_damage(what: str, change: Any, tmp_path: Path) -> None:
    """They raise a typed error rather than KeyError, TypeError or wrong answers."""
    path = tmp_path / "index"
    nk.LSHIndex(PStable(width=2.0), 3, hashes_per_table=2).fit(X).save(path)
    changed(path, change)
    with pytest.raises(CorruptStoreError, match="is damaged"):
        nk.LSHIndex.open(path)


def test_arrays_that_end_behind_the_note_and_newer_families_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "index"
    nk.LSHIndex(PStable(width=2.0), 3, hashes_per_table=2).fit(X).save(path)
    core, note = LshCore.open(str(path))
    for bad in (note[:-1], note[:4], b"", note + (1 << 40).to_bytes(8, "little")):
        core.save(str(tmp_path / "bad"), bad)
        with pytest.raises(CorruptStoreError):
            nk.LSHIndex.open(tmp_path / "bad")
    changed(path, lambda about: about["family"].update(version=2))
    with pytest.raises(FormatVersionError):
        nk.LSHIndex.open(path)


def test_what_no_file_can_hold_is_refused_and_leaves_the_old_file(tmp_path: Path) -> None:
    """Unfitted indexes and kernels that are functions can't be saved."""
    path = tmp_path / "index"
    with pytest.raises(NotFittedError):
        nk.LSHIndex(PStable()).save(path)
    assert not path.exists()
    nk.LSHIndex(PStable(width=2.0)).fit(X).save(path)
    before = path.read_bytes()

    def kernel(a: Any, b: Any) -> Any:
        return a @ b.T

    index = nk.LSHIndex(KernelLSH(32, kernel=kernel, anchors=20, subset=4), metric="l2").fit(X)
    with pytest.raises(ParameterError, match="kernel with a name"):
        index.save(path)
    assert before == path.read_bytes()
    with pytest.raises(OSError, match="folder"):
        nk.LSHIndex(PStable(width=2.0)).fit(X).save(tmp_path / "no folder" / "index")
