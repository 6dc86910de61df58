"""A decontamination on an engine finds exactly what one machine finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import nearkin as nk
from nearkin.errors import CorruptStoreError, ParameterError
from nearkin.spark import decontaminate

ITEM = "Which of the rivers that rise in the Black Forest flows through ten countries before it reaches the sea?"
OTHER = "How many moons of the planet Jupiter did Galileo describe in the winter of sixteen hundred and ten?"
PAGE = "The harvest was late that year, and most of the farmers had sold their machines in winter."
TEXTS = [PAGE, f"{PAGE} {ITEM.upper()} {OTHER}", None, OTHER, f"{ITEM}\n\n{ITEM}", PAGE]


def frame(session: Any, ids: list[Any], texts: list[str | None], parts: int = 1) -> Any:
    built = session.createDataFrame(pa.table({"id": pa.array(ids), "text": pa.array(texts, pa.string())}))
    return built.repartition(parts) if parts > 1 else built


def rows(hits: Any) -> list[dict[str, Any]]:
    return sorted(hits.toArrow().to_pylist(), key=lambda row: (row["id"], row["start"]))


@pytest.mark.parametrize("saved", [True, False], ids=["file", "memory"])
@pytest.mark.parametrize("named", [True, False], ids=["strings", "integers"])
def test_hits_are_those_of_one_machine(sail: Any, tmp_path: Path, saved: bool, named: bool) -> None:
    """Ids of both kinds, several partitions, null texts, and an index of each kind."""
    keys = ["m", "r"] if named else [7, 3]
    suites = nk.Suites({"quiz": pa.table({"key": keys, "text": [OTHER, ITEM]})}, item_id="key")
    path = tmp_path / "evals.suites"
    suites.save(path)
    ids = [f"d{row}" for row in range(6)] if named else list(range(10, 16))
    expected = nk.decontaminate(TEXTS, suites, ids=ids)
    documents = frame(sail, ids, TEXTS, parts=3)
    hits = decontaminate(documents, path if saved else suites)
    assert list(expected.hits.rows()) == rows(hits)
    assert 5 == len(expected.hits)
    clean = documents.join(hits.select("id").distinct(), "id", "left_anti")
    assert expected.clean == sorted(row["id"] for row in clean.select("id").collect())


def test_faults_are_named_before_the_job(sail: Any, tmp_path: Path) -> None:
    """Columns, limits and files are checked when the function is called."""
    documents, suites = frame(sail, [1], [PAGE]), nk.Suites({"quiz": [ITEM]})
    with pytest.raises(ParameterError, match="body"):
        decontaminate(documents, suites, text="body")
    with pytest.raises(ParameterError, match="threshold"):
        decontaminate(documents, suites, threshold=0)
    with pytest.raises(ParameterError, match="double"):
        decontaminate(documents.selectExpr("id + 0.5D as id", "text"), suites)
    path = tmp_path / "evals.suites"
    path.write_bytes(b"NEARKSEG, but no index")
    with pytest.raises(CorruptStoreError):
        decontaminate(documents, path)
    assert [] == rows(decontaminate(documents, suites))
