"""Hypothesis strategies shared by several tests: texts, recipes, corpora with near-duplicates."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import nearkin as nk
from nearkin.families import (
    ITQ,
    BitSampling,
    CrossPolytope,
    Family,
    Hyperplane,
    KernelLSH,
    PStable,
    RandomFourier,
    ShiftInvariant,
    SparseSimHash,
    SphericalHash,
)

HASHES = (
    "xxh3",
    "md5",
    "sha1",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "fnv1a",
    "murmur3",
    "lookup3",
    "jenkins64",
    "one_at_a_time",
)
FAMILIES: dict[str, Family] = {
    "hyperplane": Hyperplane(70, seed=1),
    "hyperplane-centred": Hyperplane(64, center=True, orthogonal=True, seed=2),
    "hyperplane-hadamard": Hyperplane(None, center=True, orthogonal="hadamard", seed=2),
    "hyperplane-hadamards": Hyperplane(200, orthogonal="hadamard", seed=2),
    "hyperplane-dense": Hyperplane(200, center=True, orthogonal="dense", seed=2),
    "pstable-l2": PStable("l2", 2.0, 21, seed=3),
    "pstable-l1": PStable("l1", hashes=21, seed=4),
    "cross-polytope": CrossPolytope(5, seed=5),
    "cross-polytope-matrix": CrossPolytope(4, dims=9, last_dims=5, group=2, rotation="gaussian", seed=6),
    "spherical": SphericalHash(24, mean_tolerance=0.5, std_tolerance=0.5, seed=7),
    "spherical-kmeans": SphericalHash(70, start="kmeans", stop="strict", mean_tolerance=0.9, std_tolerance=0.9, seed=8),
    "itq": ITQ(20, seed=9),
    "shift-invariant": ShiftInvariant(70, seed=10),
    "shift-invariant-laplacian": ShiftInvariant(33, kernel="laplacian", dither=False, seed=11),
    "kernel-rbf": KernelLSH(70, anchors=80, seed=12),
    "kernel-laplacian": KernelLSH(20, kernel="laplacian", anchors=50, seed=13),
    "kernel-polynomial": KernelLSH(20, kernel="polynomial", anchors=50, seed=14),
    "kernel-cosine": KernelLSH(20, kernel="cosine", anchors=50, seed=15),
    "bit-sampling-l1": BitSampling(70, limits="auto", seed=16),
    "sparse-signs": SparseSimHash(70, seed=17),
    "sparse-gaussian": SparseSimHash(70, projection="gaussian", seed=18),
    "sparse-mixed": SparseSimHash(130, projection="mixed", seed=19),
    "random-fourier": RandomFourier(22, seed=20),
    "random-fourier-phase": RandomFourier(21, kernel="laplacian", form="phase", seed=21),
}
"""Families of vectors of every kind and option; a test fits them to vectors of its own."""
WIDTHS = (1, 5, 32, 63, 64, 65, 100, 128, 192, 1024)

MIXED = (
    "abcABC xyz,.-_0123ßẞİıſKﬁ①Ⓐée\u0301\u0327ΣσςάЖжאبٱ中文字詞日本語カガカ\u3099"
    "한\u1112\u1161\u11ab👍\ufe0f\u200d\u00a0\n\t"
)
"""Characters in which the rules meet: folding that grows, marks, compositions, width forms, scripts, joiners."""


def texts(max_size: int = 60) -> st.SearchStrategy[str]:
    """Draw strings of a few letters, which repeat; of `MIXED`; of ASCII; and any encodable ones."""
    return st.one_of(
        st.text("abc ", max_size=max_size),
        st.text(MIXED, max_size=max_size),
        st.text(st.characters(max_codepoint=127), max_size=2 * max_size),
        st.text(st.characters(exclude_categories=["Cs", "Cn", "Co"]), max_size=max_size),
    )


@st.composite
def recipes(draw: st.DrawFn, *, letters: tuple[str, ...] = ("word", "python", "all")) -> nk.Recipe:
    """Draw recipes of texts, with any value in each slot."""
    hash_name = draw(st.sampled_from(HASHES))
    seed = draw(st.integers(0, 2**32 - 1)) if hash_name in ("xxh3", "murmur3", "lookup3", "jenkins64") else 0
    narrow = hash_name == "one_at_a_time"
    kind = draw(st.sampled_from(["char", "word"]))
    n = draw(st.integers(1, 6))
    return nk.Recipe().with_(
        norm=draw(st.sampled_from(["nfkc", "nfc", "none"])),
        case=draw(st.sampled_from(["fold", "lower", "keep"])),
        letters=draw(st.sampled_from(letters)),
        stop_words=draw(st.lists(st.sampled_from(["abc", "a", "The", "中文"]), max_size=3)) if kind == "word" else (),
        features=kind,
        n=n,
        min_n=draw(st.one_of(st.just(0), st.integers(1, n))),
        weight=draw(st.sampled_from(["count", "binary"])),
        hash=hash_name,
        seed=seed,
        bits=draw(st.integers(1, 32) if narrow else st.sampled_from(WIDTHS)),
    )


@st.composite
def corpora(draw: st.DrawFn, max_size: int = 24) -> list[str | None]:
    """Draw texts, many of them copies or small changes of one another; some have no letters, some are missing."""
    words = st.sampled_from(["red", "green", "blue", "wine", "cheese", "東京", "Übung", "x"])
    bases = draw(st.lists(st.lists(words, min_size=4, max_size=14), min_size=1, max_size=4))
    corpus: list[str | None] = []
    for _ in range(draw(st.integers(0, max_size))):
        kind = draw(st.integers(0, 11))
        if kind == 0:
            corpus.append(draw(st.sampled_from([None, "", "...", " \n", "!?"])))
            continue
        document = list(draw(st.sampled_from(bases)))
        for _ in range(kind % 4):
            at = draw(st.integers(0, len(document) - 1))
            document[at] = draw(words)
        corpus.append(" ".join(document) + "!" * (kind // 10))
    return corpus


def random_fingerprints(rng: np.random.Generator, bits: int, rows: int, near: Any = None) -> Any:
    """Draw random fingerprints; with `near`, each is one of its rows with up to five bits flipped."""
    words = -(-bits // 64)
    fps = rng.integers(0, 2**64, size=(rows, words), dtype=np.uint64)
    if near is not None:
        fps = near.reshape(-1, words)[rng.integers(0, len(near), rows)].copy()
        for row in range(rows):
            for bit in rng.integers(0, bits, rng.integers(0, 6)):
                fps[row, bit // 64] ^= np.uint64(1 << int(bit % 64))
    if bits % 64:
        fps[:, -1] &= np.uint64((1 << (bits % 64)) - 1)
    return fps[:, 0].copy() if words == 1 else fps
