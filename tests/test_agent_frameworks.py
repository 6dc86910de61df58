"""The components of docs/agents.md in the current LangChain and LlamaIndex."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import nearkin as nk
from command import ROOT

NEAR = ["The ship left the harbour at noon, in calm weather.", "The ship left the harbour at noon, in calm weather!"]
TEXTS = [*NEAR, "A train was late again."]


def component(package: str) -> Any:
    """Return the class of the page's block that imports a package."""
    page = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
    (block,) = (each for each in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if f"from {package}" in each)
    assert len([line for line in block.splitlines() if line.strip()]) <= 12
    names: dict[str, Any] = {"__name__": "page"}
    exec(block, names)  # noqa: S102
    return names["DropNearDuplicates"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_langchain_transforms_documents(tmp_path: Path) -> None:
    """Near-duplicates within a call, and of earlier calls, are dropped."""
    documents = pytest.importorskip("langchain_core.documents", reason="langchain-core is in the group `agents`")
    given = [documents.Document(page_content=text) for text in TEXTS]
    with nk.Store.create(tmp_path / "pages.store") as store:
        transformer = component("langchain_core")(store)
        assert [given[0], given[2]] == list(transformer.transform_documents(given))
        assert [] == list(transformer.transform_documents(given))


@pytest.mark.filterwarnings("ignore")
def test_llama_index_runs_the_component_in_a_pipeline(tmp_path: Path) -> None:
    """Nodes that are new pass; a pipeline that runs again with the same nodes gives the same ones."""
    schema = pytest.importorskip("llama_index.core.schema", reason="llama-index-core is in the group `agents`")
    from llama_index.core.ingestion import IngestionPipeline

    nk.Store.create(tmp_path / "pages.store").close()
    nodes = [schema.TextNode(text=text, id_=f"n{number}") for number, text in enumerate(TEXTS)]
    pipeline = IngestionPipeline(
        transformations=[component("llama_index.core")(store=str(tmp_path / "pages.store"))], disable_cache=True
    )
    assert ["n0", "n2"] == [node.node_id for node in pipeline.run(nodes=nodes)]
    assert ["n0", "n2"] == [node.node_id for node in pipeline.run(nodes=nodes)]
