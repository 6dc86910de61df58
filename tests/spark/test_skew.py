"""Buckets of very many documents: copies, near-duplicates, and dissimilar texts that share boilerplate."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engines import MINHASH, VOCABULARY, Engine

import nearkin as nk
from nearkin.spark import dedup


def near_texts(count: int) -> list[str]:
    """Return texts of 150 words that each differ from any other in three."""
    rng = random.Random(1)
    base = rng.choices(VOCABULARY, k=150)
    texts = []
    for number in range(count):
        words = list(base)
        for _ in range(3):
            words[rng.randrange(150)] = f"x{number}"
        texts.append(" ".join(words))
    return texts


def unlike_texts(count: int) -> list[str]:
    """Return texts that share 90 of 150 words in one piece: they meet in many buckets, but none matches another."""
    rng = random.Random(2)
    head = " ".join(rng.choices(VOCABULARY, k=90))
    return [f"{head} {' '.join(str(rng.randrange(10**6)) for _ in range(60))}" for _ in range(count)]


def check_kept(engine: Engine, texts: list[str], folder: Path) -> dict[str, Any]:
    """Check that the kept documents are those of one machine; return the summary."""
    table = pa.table({"id": pa.array(range(len(texts)), pa.int64()), "text": pa.array(texts, pa.string())})
    # A message to an engine has at most 128 MiB.
    pq.write_table(table, folder / "texts.parquet")
    result = dedup(engine.session.read.parquet(str(folder / "texts.parquet")))
    kept = result.kept.select("id").toArrow().column("id").to_pylist()
    assert nk.dedup(table, text="text", id="id", recipe=MINHASH).kept == sorted(kept)
    assert 0 == result.summary["skipped"]
    return dict(result.summary)


@pytest.mark.parametrize("count", [3_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_near_duplicates_of_one_text(engine: Engine, count: int, tmp_path: Path) -> None:
    """The work grows with the documents, and not with their pairs."""
    summary = check_kept(engine, near_texts(count), tmp_path)
    assert 1 == summary["kept"]
    assert summary["candidates"] < 60 * count


@pytest.mark.parametrize("count", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_equal_texts(engine: Engine, count: int, tmp_path: Path) -> None:
    """Copies become one document before any comparison."""
    summary = check_kept(engine, ["one text among many that are equal"] * count, tmp_path)
    assert (1, 0) == (summary["kept"], summary["candidates"])


@pytest.mark.parametrize("count", [2_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_boilerplate(engine: Engine, count: int, tmp_path: Path) -> None:
    """Signatures are compared before any text is read."""
    summary = check_kept(engine, unlike_texts(count), tmp_path)
    assert count == summary["kept"]
    assert summary["verified"] < count
