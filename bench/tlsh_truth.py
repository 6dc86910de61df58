"""What ssdeep, TLSH and features of text find: recall and false positives on releases of files and on made variants.

    python bench/tlsh_truth.py --data ../shared/data

Related pairs are two releases of one file (a family of `files_variants`), and a file with a variant by a written rule:

| rule | variant |
|---|---|
| half, quarter | the first half or quarter of the bytes |
| prefix 1, prefix 10% | random bytes put in front: one, or a tenth of the length |
| noise 1%, noise 5% | that share of the bytes replaced by random ones, at random places |
| words 5% | in texts: that share of the words replaced by other words of the file |
| renamed | in texts: every word of four or more letters replaced by another one, the same everywhere |
| spaces | in texts: runs of white space become one space |
| base64 | the whole file in base64 |

Unrelated pairs are files of two families of one type (source, script, library), which is harder than files of
different types: two C extensions share headers and startup code. Families whose names differ only behind the first dot
are neither.

Families are split in two by the parity of the hash of their names. On the first half the loosest threshold with at most
a given share of false positives is chosen for each method; recall and false positives are those of the second half, and
the area under its ROC curve needs no threshold.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import hashlib
import itertools
import random
import re
import sys
import tarfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

# A file here is named like the peer's package.
sys.path = [path for path in sys.path if Path(path).resolve() != Path(__file__).resolve().parent]
import nearkin as nk  # noqa: E402
from nearkin._core import script_features  # noqa: E402
from nearkin.dedup.candidates.digests import Features, feature_similarity  # noqa: E402
from nearkin.dedup.files import MAX_TEXT_BYTES  # noqa: E402
from nearkin.errors import NoDigestError  # noqa: E402

RATES = (0.01, 0.001, 0.0)
PER_FAMILY = 60
"""Related pairs of releases of one family, at most, so that no family decides alone."""
WORD = re.compile(rb"[A-Za-z_]{4,}")


class File:
    """Bytes with all that the methods compare."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.ssdeep = nk.ssdeep.hash(data)
        try:
            self.tlsh = nk.tlsh.hash(data)
        except NoDigestError:
            self.tlsh = ""
        self.features: Features | None = None
        if 0 < len(data) <= MAX_TEXT_BYTES:
            self.features = script_features((np.array([0, len(data)], np.int64), np.frombuffer(data, np.uint8)))[0]


METHODS: dict[str, Callable[[File, File], float]] = {
    "ssdeep": lambda a, b: nk.ssdeep.compare(a.ssdeep, b.ssdeep),
    "tlsh": lambda a, b: -nk.tlsh.distance(a.tlsh, b.tlsh) if a.tlsh and b.tlsh else -1000,
    "tlsh, no length": lambda a, b: -nk.tlsh.distance(a.tlsh, b.tlsh, length=False) if a.tlsh and b.tlsh else -1000,
    "text": lambda a, b: feature_similarity(a.features, b.features),
}
"""Similarity by each method: larger is more similar."""


def make_variants(data: bytes, rng: random.Random) -> Iterator[tuple[str, bytes]]:
    """Return the variants of a file by the rules above."""
    size = len(data)
    yield "half", data[: size // 2]
    yield "quarter", data[: size // 4]
    yield "prefix 1", rng.randbytes(1) + data
    yield "prefix 10%", rng.randbytes(size // 10) + data
    for share in (1, 5):
        noisy = bytearray(data)
        for at in rng.sample(range(size), size * share // 100):
            noisy[at] = rng.randrange(256)
        yield f"noise {share}%", bytes(noisy)
    yield "base64", base64.b64encode(data)
    if b"\0" in data:
        return
    words = sorted(set(WORD.findall(data)))
    yield "words 5%", WORD.sub(lambda word: rng.choice(words) if rng.random() < 0.05 else word[0], data)
    names = {word: bytes(rng.choices(b"abcdefghijklmnopqrstuvwxyz", k=len(word))) for word in words}
    yield "renamed", WORD.sub(lambda word: names[word[0]], data)
    yield "spaces", re.sub(rb"\s+", b" ", data)


def read_families(folder: Path) -> dict[str, list[File]]:
    """Return the distinct files of each family, in order of release."""
    with tarfile.open(folder / "files_variants.tar.xz") as archive:
        contents = {entry.name: archive.extractfile(entry).read() for entry in archive if entry.isfile()}  # type: ignore[union-attr]
    families: dict[str, dict[bytes, File]] = defaultdict(dict)
    with gzip.open(folder / "files_variants.tsv.gz", "rt", encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            path, family, *_ = line.split("\t")
            name = next(name for name in (path, f"./{path}", f"files_variants/{path}") if name in contents)
            if contents[name] not in families[family]:
                families[family][contents[name]] = File(contents[name])
    return {family: list(files.values()) for family, files in sorted(families.items())}


def stem_of(family: str) -> str:
    """Return the name that variants of one file share, such as its minified form."""
    return family.partition(".")[0]


def half_of(family: str) -> int:
    """Return the half to which a family belongs."""
    return hashlib.md5(stem_of(family).encode(), usedforsecurity=False).digest()[0] % 2


def pairs_of(families: dict[str, list[File]], half: int) -> dict[str, list[tuple[File, File]]]:
    """Return the pairs of a half by their kind."""
    rng = random.Random(7)
    own = {family: files for family, files in families.items() if half_of(family) == half}
    pairs: dict[str, list[tuple[File, File]]] = defaultdict(list)
    for files in own.values():
        pairs["next release"] += itertools.pairwise(files)
        between = list(itertools.combinations(files, 2))
        pairs["any releases"] += rng.sample(between, min(len(between), PER_FAMILY))
        for rule, variant in make_variants(files[-1].data, rng):
            pairs[rule].append((files[-1], File(variant)))
    for a, b in itertools.combinations(own, 2):
        if a.partition(":")[0] == b.partition(":")[0] and stem_of(a) != stem_of(b):
            some = itertools.product(own[a], own[b])
            pairs["unrelated"] += rng.sample(list(some), min(len(own[a]) * len(own[b]), 20))
    return pairs


def area(related: NDArray[np.float64], unrelated: NDArray[np.float64]) -> float:
    """Return the area under the ROC curve: P[related is more similar], ties counted half."""
    ordered = np.sort(unrelated)
    below, up_to = np.searchsorted(ordered, related, "left"), np.searchsorted(ordered, related, "right")
    return float((below + up_to).mean() / 2 / len(ordered))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    families = read_families(parser.parse_args().data)
    halves = [pairs_of(families, half) for half in (0, 1)]
    values = {
        method: [
            {kind: np.array([similarity(*pair) for pair in pairs], float) for kind, pairs in half.items()}
            for half in halves
        ]
        for method, similarity in METHODS.items()
    }
    for name, half in zip(("chosen on", "shown on"), halves, strict=True):
        print(f"{name}: {', '.join(f'{len(pairs)} {kind}' for kind, pairs in half.items())}")
    print(f"\narea under the ROC curve\n{'':16}" + "".join(f"{method:>16}" for method in METHODS))
    kinds = [kind for kind in halves[1] if kind != "unrelated"]
    for kind in kinds:
        areas = [area(shown[kind], shown["unrelated"]) for _, shown in values.values()]
        print(f"{kind:16}" + "".join(f"{value:16.3f}" for value in areas))
    for rate in RATES:
        print(f"\nfalse positives of at most {rate:.1%} on the first half")
        rows = defaultdict(list)
        for chosen, shown in values.values():
            # The smallest threshold that at most this share of the unrelated pairs reach.
            ordered = np.sort(chosen["unrelated"])[::-1]
            limit = ordered[int(rate * len(ordered))]
            threshold = float(
                np.min([value for value in np.unique(np.concatenate(list(chosen.values()))) if value > limit])
            )
            rows["threshold"].append(f"{abs(threshold):16.3g}")
            rows["false positives"].append(f"{np.mean(shown['unrelated'] >= threshold):16.3%}")
            for kind in kinds:
                rows[kind].append(f"{np.mean(shown[kind] >= threshold):16.1%}")
        print(f"{'':16}" + "".join(f"{method:>16}" for method in METHODS))
        for name, cells in rows.items():
            print(f"{name:16}" + "".join(cells))
    print("\ntlsh by distance: false positives and recall of 'any releases' on both halves together")
    both = {kind: np.concatenate([half[kind] for half in values["tlsh"]]) for kind in ("unrelated", "any releases")}
    for distance in (10, 20, 30, 40, 50, 60, 70, 80, 100):
        shares = [np.mean(both[kind] >= -distance) for kind in ("unrelated", "any releases")]
        print(f"{distance:4} {shares[0]:8.3%} {shares[1]:8.1%}")


if __name__ == "__main__":
    main()
