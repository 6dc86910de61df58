"""The functions of `examples/ray` on a local Ray, in a child process that ends it."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nearkin as nk
from command import near_texts

pytestmark = pytest.mark.skipif(
    find_spec("ray") is None or find_spec("ray.data") is None,
    reason="ray[data] is not installed; it is in the `shops` group",
)

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "ray"
RECIPES = ["default", "word:2|count|xxh3|simhash:64", "word:1|binary|xxh3|minhash:256:64"]
# All jobs share one Ray, which takes seconds to start. Results are files: hashes by recipe, removed rows, kept rows.
RUN = """
import json, sys
import pyarrow as pa, pyarrow.parquet as pq
import ray
from ray_batches import hashes, near_duplicates, without

ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
try:
    ray.data.DataContext.get_current().enable_progress_bars = False
    folder = sys.argv[1]
    pages = ray.data.read_parquet(f"{folder}/corpus").repartition(5)

    def save(dataset, name):
        tables = list(dataset.iter_batches(batch_size=None, batch_format="pyarrow"))
        pq.write_table(pa.concat_tables(tables), f"{folder}/{name}.parquet")

    for number, recipe in enumerate(json.loads(sys.argv[2])):
        options = {"text": "body", "recipe": recipe}
        save(pages.map_batches(hashes, batch_size=7, batch_format="pyarrow", fn_kwargs=options), f"hashes{number}")
        found = near_duplicates(pages, id="url", threshold=0.7, **options)
        pq.write_table(found, f"{folder}/found{number}.parquet")
        save(without(pages, found["id"], "url"), f"kept{number}")
    alone = ray.data.from_items([{"id": 2, "text": "One text."}, {"id": 1, "text": "Quite another one."}])
    print("of texts that are alone", near_duplicates(alone).to_pydict())
    try:
        near_duplicates(pages, text="body", id="site")
    except Exception as error:
        print(type(error).__name__, error)
finally:
    ray.shutdown()
"""


@pytest.fixture(scope="module")
def texts() -> list[str | None]:
    """Return near-duplicates, chains of changes, copies, texts without letters and missing texts, in random order."""
    source = random.Random(1)
    corpus: list[str | None] = list(near_texts())
    for _ in range(30):
        words = [f"word{source.randrange(500)}" for _ in range(24)]
        for _ in range(8):
            corpus.append(" ".join(words))
            words[source.randrange(24)] = f"word{source.randrange(500)}"
    corpus += [*corpus[::9], "...", "...", "", None]
    source.shuffle(corpus)
    return corpus


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, texts: list[str | None]) -> Path:
    """Run all recipes; return the folder of results."""
    folder = tmp_path_factory.mktemp("ray")
    (folder / "corpus").mkdir()
    for number in range(3):
        rows = list(range(number, len(texts), 3))
        columns = {
            "url": [f"u{row:03d}" for row in rows],
            "body": [texts[row] for row in rows],
            "site": ["x"] * len(rows),
        }
        pq.write_table(pa.table(columns), folder / "corpus" / f"{number}.parquet")
    script = folder / "run.py"
    script.write_text(RUN)
    command = [sys.executable, str(script), str(folder), json.dumps(RECIPES)]
    # Ray's workers import the example from PYTHONPATH.
    path = os.pathsep.join([str(EXAMPLE), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "RAY_USAGE_STATS_ENABLED": "0"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=environment)
    assert 0 == done.returncode, done.stderr[-3000:]
    (folder / "printed").write_text(done.stdout)
    return folder


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file, by id."""
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return sorted(rows, key=lambda row: str(row.get("url", row.get("id"))))


@pytest.mark.parametrize("recipe", RECIPES)
def test_hashes_are_those_of_the_library(folder: Path, texts: list[str | None], recipe: str) -> None:
    """They are equal bit for bit for any blocks and batches, and null for a text without features."""
    made = nk.Recipe.of(recipe)
    name, function = ("signature", nk.signature) if made.family == "minhash" else ("fingerprint", nk.fingerprint)
    values, counts = function(texts, made, return_counts=True)
    expected = [value if count else None for value, count in zip(values.tolist(), counts, strict=True)]
    rows = rows_of(folder / f"hashes{RECIPES.index(recipe)}.parquet")
    assert expected == [row[name] for row in rows]
    assert texts == [row["body"] for row in rows]


@pytest.mark.parametrize("recipe", RECIPES)
def test_what_goes_is_what_dedup_removes(folder: Path, texts: list[str | None], recipe: str) -> None:
    """Kept rows, representatives and similarities are equal bit for bit."""
    number, ids = RECIPES.index(recipe), [f"u{row:03d}" for row in range(len(texts))]
    result = nk.dedup(texts, ids, recipe=recipe, threshold=0.7)
    assert 0 < len(result.kept) < len(texts)
    expected = {
        row["id"]: (row["representative"], row["similarity"])
        for row in result.clusters.rows()
        if row["id"] != row["representative"]
    }
    rows = rows_of(folder / f"found{number}.parquet")
    assert expected == {row["id"]: (row["representative"], row["similarity"]) for row in rows}
    assert result.kept == [row["url"] for row in rows_of(folder / f"kept{number}.parquet")]


def test_texts_that_are_alone_stay(folder: Path) -> None:
    """Without candidates every row is kept."""
    expected = "of texts that are alone {'id': [], 'representative': [], 'similarity': []}"
    assert expected in (folder / "printed").read_text()


def test_ids_that_are_not_distinct_are_an_error(folder: Path) -> None:
    """The error names the column."""
    assert "InputError column 'site':" in (folder / "printed").read_text()
