"""`nearkin.ray` and `nearkin.batched` on a local Ray, in a child process that ends it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from engines import MINHASH, SIMHASH, DocumentSet, check_result, mixed_texts, run_locally, star_texts

import nearkin as nk

pytestmark = pytest.mark.skipif(
    find_spec("ray") is None or find_spec("ray.data") is None,
    reason="ray[data] is not installed; it is in the group `dataflows`",
)

CASES: list[dict[str, Any]] = [
    {"recipe": MINHASH, "threshold": 0.7},
    {"recipe": SIMHASH, "threshold": 0.7, "links": "all", "keep": "last"},
]
# All jobs share one Ray, which takes seconds to start. Results are files, by number of the case.
RUN = """
import json, sys
import pyarrow as pa, pyarrow.parquet as pq
import ray
import nearkin as nk
import nearkin.ray
from nearkin import batched

ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
try:
    ray.data.DataContext.get_current().enable_progress_bars = False
    folder = sys.argv[1]
    pages = ray.data.read_parquet(f"{folder}/corpus").repartition(5)
    old = ray.data.read_parquet(f"{folder}/old.parquet")

    def save(dataset, name):
        tables = [each for each in dataset.iter_batches(batch_size=None, batch_format="pyarrow") if each.num_rows]
        pq.write_table(pa.concat_tables(tables), f"{folder}/{name}.parquet")

    save(pages.map_batches(batched.fingerprint, batch_size=7, batch_format="pyarrow"), "fingerprints")
    save(pages.map_batches(batched.signature, batch_size=7, batch_format="pyarrow"), "signatures")
    for number, options in enumerate(json.loads(sys.argv[2])):
        result = nearkin.ray.dedup(pages, against=old if number else None, **options)
        save(result.kept.select_columns(["id"]), f"kept{number}")
        pq.write_table(result.clusters, f"{folder}/clusters{number}.parquet")
        pq.write_table(result.pairs, f"{folder}/pairs{number}.parquet")
        with open(f"{folder}/summary{number}.json", "w") as file:
            json.dump(result.summary, file)
        print(result)

    def error(**options):
        try:
            nearkin.ray.dedup(**{"ds": pages, **options})
        except nk.errors.NearkinError as error:
            print(type(error).__name__, error)

    error(id="site")
    error(text="body")
    error(text="id")
    error(ds=[{"id": 1}])
    error(ds=pages.map_batches(lambda batch: 1 / 0))
finally:
    ray.shutdown()
"""


@pytest.fixture(scope="module")
def documents() -> DocumentSet:
    """Return near-duplicates, copies, texts without letters and missing texts."""
    texts = mixed_texts(200) + star_texts(60, 5)
    return DocumentSet.of(texts, site=[1] * len(texts))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, documents: DocumentSet) -> Path:
    """Run all cases; return the folder of results."""
    folder = tmp_path_factory.mktemp("ray")
    (folder / "corpus").mkdir()
    table = documents.shuffled()
    for number in range(3):
        pq.write_table(table.slice(number * 100, 100), folder / "corpus" / f"{number}.parquet")
    pq.write_table(DocumentSet.of(documents.texts[:30]).shuffled(), folder / "old.parquet")
    script = folder / "run.py"
    script.write_text(RUN)
    command = [sys.executable, str(script), str(folder), json.dumps(CASES)]
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=environment)
    assert 0 == done.returncode, done.stderr[-3000:]
    (folder / "printed").write_text(done.stdout)
    return folder


@pytest.mark.parametrize("number", range(len(CASES)))
def test_ray_keeps_what_dedup_keeps(folder: Path, documents: DocumentSet, number: int) -> None:
    """Kept rows, clusters, links and the summary are equal, bit for bit."""
    clusters, kept, pairs = (
        pq.read_table(folder / f"{name}{number}.parquet") for name in ("clusters", "kept", "pairs")
    )
    reference = DocumentSet.of(documents.texts[:30]) if number else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        local = run_locally(documents, reference, **CASES[number])
    summary = json.loads((folder / f"summary{number}.json").read_text())
    check_result(documents, local, clusters.to_pylist(), kept["id"].to_pylist(), pairs, summary)
    assert summary["removed"] > 0


def test_batches_of_ray_have_the_hashes_of_the_library(folder: Path, documents: DocumentSet) -> None:
    """They are equal for any blocks and batches, and null for a text without features."""
    for name, values, counts in [
        ("fingerprint", *nk.fingerprint(documents.texts, return_counts=True)),
        ("signature", *nk.signature(documents.texts, "minhash", return_counts=True)),
    ]:
        rows = pq.read_table(folder / f"{name}s.parquet").sort_by("id").to_pylist()
        assert [value.tolist() if count else None for value, count in zip(values, counts, strict=True)] == [
            row[name] and list(row[name]) for row in rows
        ]


def test_wrong_datasets_are_typed_errors(folder: Path) -> None:
    """Errors of workers and of arguments are those of the library."""
    printed = (folder / "printed").read_text().splitlines()
    assert printed[2].startswith("InputError ids: column 'site' has the id 1 in 260 rows; ids must differ")
    assert printed[3].startswith("ParameterError text='body' is not allowed; use a column of ds: ")
    assert printed[4].startswith("ParameterError text=")
    assert printed[5].startswith("ParameterError ds=builtins.list is not allowed; use a ray.data.Dataset")
    assert printed[6].startswith("EngineError ")
    assert "ZeroDivisionError" in printed[6]
