"""`nearkin.dask` on a cluster of Dask in a child process: the result of one machine, bit for bit."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    not all(map(find_spec, ("dask", "distributed", "pandas"))),
    reason="dask is not installed; it is in the group `dataflows`",
)

# Workers are processes, so that tasks and tables go through pickle.
RUN = """
import sys, warnings
sys.path[:0] = sys.argv[1:]
import dask.dataframe as dd
from dask.distributed import Client
import nearkin as nk, nearkin.dask
from engines import MINHASH, SIMHASH, DocumentSet, chain_texts, check_result, mixed_texts, run_locally, star_texts

def error(**options):
    try:
        nearkin.dask.dedup(**options)
    except nk.errors.NearkinError as error:
        print(type(error).__name__, error)

def check(documents, old, options):
    pages = dd.from_pandas(documents.shuffled().to_pandas(), npartitions=5)
    against = None if old is None else dd.from_pandas(old.shuffled().to_pandas(), npartitions=2)
    result = nearkin.dask.dedup(pages, against=against, **options)
    kept = result.kept.compute()
    assert list(kept.columns) == ["id", "text", *documents.columns]
    local = run_locally(documents, old, **options)
    check_result(documents, local, result.clusters.to_pylist(), kept["id"].tolist(), result.pairs, result.summary)
    print(result)
    return pages

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    texts = chain_texts(40) + star_texts(40, 5) + mixed_texts(80)
    documents = DocumentSet.of(texts, score=[float(at * 7919 % 101) for at in range(len(texts))])
    error(df=dd.from_pandas(documents.shuffled().to_pandas(), npartitions=1))
    with Client(n_workers=1, threads_per_worker=2, dashboard_address=None):
        pages = check(documents, None, {"recipe": MINHASH, "threshold": 0.7, "keep": "max:score"})
        check(documents, DocumentSet.of(texts[:30]), {"recipe": SIMHASH, "links": "all", "keep": "last"})
        named = DocumentSet.of(texts, [f"page {at * 7919 % 1009}" for at in range(len(texts))])
        check(named, None, {"recipe": MINHASH, "cluster": "components", "empty": "drop"})
        error(df=pages, id="score")
        error(df=pages.assign(id=1))
        error(df=pages, text="body")
        error(df=[{"id": 1}])
        error(df=pages.map_partitions(lambda frame: 1 / 0, meta=pages._meta))
"""


def test_dask_keeps_what_dedup_keeps(tmp_path: Path) -> None:
    """Kept rows, clusters, links and the summary are equal, and errors are those of the library."""
    (script := tmp_path / "run.py").write_text(RUN)
    tests = Path(__file__).parents[1]
    command = [sys.executable, str(script), str(tests), str(tests / "spark")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=tmp_path)
    assert 0 == done.returncode, done.stderr[-3000:]
    printed = done.stdout.splitlines()
    assert printed[0].startswith("EngineError no client of Dask is running; start one")
    assert 3 == sum("removed" in line for line in printed[1:4]), json.dumps(printed[1:4])
    assert printed[4].startswith("ParameterError id=")
    assert printed[5].startswith("InputError ids: column 'id' has the id 1 in 160 rows; ids must differ")
    assert printed[6].startswith("ParameterError text='body' is not allowed; use a column of df: ")
    assert printed[7].startswith("ParameterError df=builtins.list is not allowed; use a dask.dataframe.DataFrame")
    assert printed[8].startswith("EngineError ")
    assert "ZeroDivisionError" in printed[8]
