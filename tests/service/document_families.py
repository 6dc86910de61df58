"""Families of documents for concurrent writers: any two of a family match, and none of different families."""

from __future__ import annotations

import random
from typing import Any

import nearkin as nk

SETTINGS: dict[str, Any] = {"threshold": 0.5, "radius": 40}
"""Settings of a store in which a family is a cluster: one word of forty differs, 12 of 128 bits on average."""


def member(family: int, writer: int) -> dict[str, Any]:
    """Return the document of a family that a writer adds."""
    choose = random.Random(family)
    words = [f"{choose.getrandbits(24):x}" for _ in range(40)]
    words[writer] = f"client{writer}"
    return {"id": f"{family}-{writer}", "text": " ".join(words), "columns": {"client": writer}}


def add_families(store: nk.Store | nk.Client, writer: int, families: int) -> None:
    """Add the documents of a writer, one by one and in batches, in an order of its own; each twice."""
    choose = random.Random(writer)
    order = list(range(families)) * 2
    choose.shuffle(order)
    while order:
        count = choose.choice([1, 1, 5])
        batch, order = order[:count], order[count:]
        documents = [member(family, writer) for family in batch]
        columns = [document["columns"] for document in documents]
        store.check_and_add(
            [document["text"] for document in documents], [document["id"] for document in documents], columns=columns
        )


def outcome(store: nk.Store) -> tuple[set[Any], dict[str, list[str]]]:
    """Return what does not depend on the order of the writers: documents, and the sorted statuses of each family."""
    documents, statuses = set(), dict[str, list[str]]()
    for batch in store.iter_documents():
        contents = store.content_hashes([document.id for document in batch])
        for document, content in zip(batch, contents, strict=True):
            family = str(document.id).split("-")[0]
            if document.match is not None:
                assert family == str(document.match).split("-")[0]
            documents.add((document.id, content, document.columns["client"], document.length))
            statuses.setdefault(family, []).append(document.status)
    return documents, {family: sorted(values) for family, values in statuses.items()}
