"""A corpus for jobs on engines: N documents of about 1 KB in Parquet, with planted near-duplicates of known similarity.

    python bench/spark_corpus.py FOLDER --documents 1000000 [--seed 1] [--data ../shared/data]

FOLDER gets `documents/part-0.parquet` to `part-7.parquet` (row groups of 10,000; `id` int64, the place in the corpus
from 0; `text` string), `truth.parquet` and, last, `corpus.json`, which says what was made. Of the documents

- 10% are near-duplicates of one of the others, with 1 to 20 words replaced, removed or inserted;
- 2% are exact copies of one of the others;
- the rest are originals: ten parts of about 100 characters of Usenet messages and verses, a new mixture each. 5% of
  these have one boilerplate text in the place of four parts.

A near-duplicate or copy draws its original at random, so that an original, its near-duplicates and its copies are a
family of 2 or more. `truth.parquet` has every pair of a family whose Jaccard similarity of character 4-grams is at
least 0.8: `left` < `right`, ids; `similarity`, as `nk.similarity` measures it; and `words`, the similarity of word
5-grams, which peers estimate. Documents of two families share parts by chance, and are not near.

The text of a document follows from the seed and its number alone, and is made when it is written: memory holds the
order of the documents (16 bytes each) and the parts, never the texts.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import common
from dedup import edited

NEAR, COPIES, BOILERPLATE = 0.10, 0.02, 0.05
EDITS = (1, 2, 3, 5, 8, 12, 20)
FILES, ROW_GROUP = 8, 10_000
THRESHOLD = 0.8
RECIPES = {"similarity": "char:4|binary|xxh3|simhash:64", "words": "word:5|binary|xxh3|simhash:64"}


class Corpus:
    """Documents by number, originals first, then near-duplicates, then copies, and their order in the files."""

    def __init__(self, documents: int, seed: int, data: Path) -> None:
        self.documents, self.seed, self.data = documents, seed, data
        self.near, self.copies = round(NEAR * documents), round(COPIES * documents)
        self.originals = documents - self.near - self.copies
        rng = np.random.default_rng(seed)
        # Which original each near-duplicate or copy has, and the id of every number.
        self.original = rng.integers(0, self.originals, self.near + self.copies)
        self.ids = rng.permutation(documents)

    @cached_property
    def parts(self) -> list[str]:
        """What originals are made of."""
        verses = [one["text"] for one in common.records(self.data, "en_bible_ot") if one["version"] == "KJVPCE"]
        return list(common.pieces([*common.texts(self.data, "en_20news"), " ".join(verses)], 100))

    @cached_property
    def vocabulary(self) -> list[str]:
        """Words that edits put in."""
        return sorted({word for part in self.parts[:20_000] for word in part.split()})

    @cached_property
    def boilerplate(self) -> str:
        """What some originals share: four parts."""
        return " ".join(random.Random(self.seed).sample(self.parts, 4))

    def text(self, number: int) -> str:
        """The text of a document."""
        rng = random.Random((self.seed << 40) + number)
        if number >= self.originals:
            source = self.text(int(self.original[number - self.originals]))
            if number >= self.originals + self.near:
                return source
            return edited(source, rng.choice(EDITS), rng, self.vocabulary)
        if rng.random() < BOILERPLATE:
            return " ".join([*rng.choices(self.parts, k=6), self.boilerplate])
        return " ".join(rng.choices(self.parts, k=10))

    def in_order(self) -> Iterator[str]:
        """Every text, by id."""
        return (self.text(int(number)) for number in np.argsort(self.ids))

    def families(self) -> Iterator[NDArray[np.int64]]:
        """Pairs of numbers within families, some thousand families at a time."""
        members = np.arange(self.originals, self.documents)[order := np.argsort(self.original, kind="stable")]
        originals, starts = np.unique(self.original[order], return_index=True)
        pairs: list[tuple[int, int]] = []
        for original, rest in zip(originals.tolist(), np.split(members, starts[1:]), strict=True):
            family = [original, *rest.tolist()]
            pairs += [(one, other) for at, one in enumerate(family) for other in family[at + 1 :]]
            if len(pairs) >= ROW_GROUP:
                yield np.array(pairs)
                pairs = []
        if pairs:
            yield np.array(pairs)


def write(folder: Path, documents: int, seed: int, data: Path) -> dict[str, Any]:
    """Make a corpus, or leave it as it is if the folder has it; what `corpus.json` says."""
    about = folder / "corpus.json"
    wanted = {"documents": documents, "seed": seed}
    if about.exists():
        found: dict[str, Any] = json.loads(about.read_text())
        if wanted.items() <= found.items():
            return found
        raise SystemExit(f"{folder} has another corpus, {found}; name another folder, or remove it")
    corpus = Corpus(documents, seed, data)
    (folder / "documents").mkdir(parents=True)
    characters = write_documents(corpus, folder / "documents")
    found = {
        **wanted,
        "near": corpus.near,
        "copies": corpus.copies,
        "text_bytes": characters,
        "parquet_bytes": sum(path.stat().st_size for path in (folder / "documents").iterdir()),
        **write_truth(corpus, folder / "truth.parquet"),
    }
    about.write_text(json.dumps(found) + "\n")
    return found


def write_documents(corpus: Corpus, folder: Path) -> int:
    """The files of the documents; returns the bytes of their texts."""
    schema = pa.schema({"id": pa.int64(), "text": pa.string()})
    texts, total = corpus.in_order(), 0
    bounds = [corpus.documents * number // FILES for number in range(FILES + 1)]
    for number, (first, end) in enumerate(pairwise(bounds)):
        with pq.ParquetWriter(folder / f"part-{number}.parquet", schema) as file:
            for start in range(first, end, ROW_GROUP):
                ids = range(start, min(start + ROW_GROUP, end))
                column = pa.array([next(texts) for _ in ids], pa.string())
                total += column.nbytes
                file.write_table(pa.table([pa.array(ids, pa.int64()), column], schema), row_group_size=ROW_GROUP)
    return total


def write_truth(corpus: Corpus, path: Path) -> dict[str, int]:
    """The file of true pairs; returns how many there are, and how many pairs of families are below the threshold."""
    import nearkin as nk

    names = ("left", "right", *RECIPES)
    schema = pa.schema([(name, pa.int64() if name in names[:2] else pa.float64()) for name in names])
    true = copies = below = 0
    with pq.ParquetWriter(path, schema) as file:
        for pairs in corpus.families():
            numbers, places = np.unique(pairs, return_inverse=True)
            texts = [corpus.text(number) for number in numbers.tolist()]
            places = places.reshape(pairs.shape)
            measured = [nk.similarity(texts, *places.T, recipe=recipe) for recipe in RECIPES.values()]
            match = measured[0] >= THRESHOLD
            ids = np.sort(corpus.ids[pairs[match]], axis=1)
            file.write_table(pa.table([*ids.T, *(values[match] for values in measured)], schema))
            true, below = true + int(match.sum()), below + int((~match).sum())
            copies += sum(texts[one] == texts[other] for one, other in places[match].tolist())
    return {"true_pairs": true, "equal_pairs": copies, "pairs_below": below}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, default=common.ROOT.parent / "shared" / "data")
    options = parser.parse_args()
    print(json.dumps(write(options.folder, options.documents, options.seed, options.data), indent=1))


if __name__ == "__main__":
    main()
