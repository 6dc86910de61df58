"""The filter of `nearkin.datatrove` with a service instead of a store."""

from __future__ import annotations

from pathlib import Path

from test_datatrove import pipeline, pytestmark, read
from threaded import serve_in_thread

import nearkin as nk
from command import near_texts, write_jsonl

__all__ = ["pytestmark"]


def test_tasks_may_share_a_service(tmp_path: Path) -> None:
    """Tasks share a service by URL and token; they keep the documents that `nk.dedup` keeps, even if repeated."""
    texts = near_texts()
    tokens = tmp_path / "tokens"
    tokens.write_text("write a-token-that-writes\n")
    tokens.chmod(0o600)
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    write_jsonl(corpus / "0.jsonl", {f"d{i}": text for i, text in enumerate(texts)})
    nk.Store.create(tmp_path / "pages.store").close()
    with serve_in_thread(tmp_path / "pages.store", token_file=tokens) as service:
        options = {"store": service.url, "token": "a-token-that-writes", "threshold": 0.8}
        first = pipeline(tmp_path / "first", corpus, filter=options)
        again = pipeline(tmp_path / "again", corpus, filter=options)
    assert nk.dedup(texts, [f"d{i}" for i in range(len(texts))]).kept == [row["id"] for row in first]
    assert first == again
    assert len(texts) == len(first) + len(read(tmp_path / "first" / "gone"))
