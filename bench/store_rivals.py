"""What users take instead of a store: a durable database and fingerprints or signatures of their own.

Each gives the id of the document that it takes for a near-duplicate, None for a new one, which it remembers.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np

import nearkin as nk

BATCH = 1000
Rival = Callable[[Path, list[str], list[str], float], "list[str | None]"]


def bands_in_sqlite(path: Path, texts: list[str], ids: list[str], threshold: float) -> list[str | None]:
    """A table of (band, key, id) of our own signatures: the first id with a common band is the match."""
    recipe = nk.Recipe.preset("minhash")
    bands = nk.theory.choose_bands(threshold, 0.95, recipe.num_perm)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE bands (key BLOB PRIMARY KEY, id TEXT) WITHOUT ROWID")
    connection.execute("CREATE TABLE documents (id TEXT PRIMARY KEY, text TEXT)")
    matches: list[str | None] = []
    for start in range(0, len(texts), BATCH):
        some, names = texts[start : start + BATCH], ids[start : start + BATCH]
        signatures = nk.signature(some, recipe)[:, : bands.num_bands * bands.num_rows]
        keys = np.ascontiguousarray(signatures).reshape(len(some), bands.num_bands, -1)
        connection.execute("BEGIN IMMEDIATE")
        for row, name, text in zip(keys, names, some, strict=True):
            wanted = [bytes([band]) + row[band].tobytes() for band in range(bands.num_bands)]
            holes = ",".join("?" * len(wanted))
            found = connection.execute(f"SELECT id FROM bands WHERE key IN ({holes}) LIMIT 1", wanted).fetchone()  # noqa: S608
            matches.append(None if found is None else found[0])
            if found is None:
                connection.executemany("INSERT OR IGNORE INTO bands VALUES (?, ?)", [(key, name) for key in wanted])
                connection.execute("INSERT INTO documents VALUES (?, ?)", (name, text))
        connection.execute("COMMIT")
    connection.close()
    return matches


def fingerprints_in_duckdb(path: Path, texts: list[str], ids: list[str], threshold: float) -> list[str | None]:
    """A table of our own fingerprints, scanned per batch: the first within the radius, of earlier batches alone."""
    import duckdb  # Of the group `bench`.

    radius = nk.theory.simhash_radius(threshold, 128)
    connection = duckdb.connect(str(path))
    connection.execute("SET threads = 1")
    connection.execute("CREATE TABLE documents (number BIGINT, low UBIGINT, high UBIGINT, id VARCHAR, text VARCHAR)")
    matches: list[str | None] = []
    for start in range(0, len(texts), BATCH):
        some, names = texts[start : start + BATCH], ids[start : start + BATCH]
        words = np.asarray(nk.fingerprint(some))
        batch = {"place": np.arange(len(some)), "low": words[:, 0].copy(), "high": words[:, 1].copy()}
        connection.execute("BEGIN")
        connection.register("batch", batch)
        near = connection.execute(
            "SELECT place, min(number) FROM batch JOIN documents ON bit_count(xor(batch.low, documents.low)) "
            "+ bit_count(xor(batch.high, documents.high)) <= ? GROUP BY place",
            [radius],
        ).fetchnumpy()
        columns = list(near.values())
        first = dict(zip(columns[0].tolist(), columns[1].tolist(), strict=True))
        matches += [ids[first[place]] if place in first else None for place in range(len(some))]
        new = [
            (start + place, int(low), int(high), names[place], some[place])
            for place, (low, high) in enumerate(words.tolist())
            if place not in first
        ]
        connection.register(
            "fresh",
            {
                "number": np.array([row[0] for row in new], np.int64),
                "low": np.array([row[1] for row in new], np.uint64),
                "high": np.array([row[2] for row in new], np.uint64),
                "id": np.array([row[3] for row in new], object),
                "text": np.array([row[4] for row in new], object),
            },
        )
        connection.execute("INSERT INTO documents SELECT * FROM fresh")
        connection.execute("COMMIT")
    connection.close()
    return matches


#: Each rival, and how many documents it gets unless told otherwise.
RIVALS: dict[str, tuple[Rival, int]] = {
    "sqlite": (bands_in_sqlite, 200_000),
    "duckdb": (fingerprints_in_duckdb, 20_000),
}
