"""The recipes of docs/search-engines.md on more documents, against brute force."""

from __future__ import annotations

import doctest
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearkin as nk
from command import ROOT, near_texts


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """Return the names that the examples of the page define."""
    text = (ROOT / "docs" / "search-engines.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(text):
        if example.source.startswith(("import", "from", "def", "MAPPING", "OPTIONS")):
            exec(example.source, names)  # noqa: S102
    return names


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """Return near-duplicates, copies and texts without letters, in random order."""
    source = random.Random(3)
    corpus = [" ".join(f"word{source.randrange(400)}" for _ in range(30)) for _ in range(60)]
    for text in corpus[:40]:
        words = text.split()
        for _ in range(source.randrange(4)):
            words[source.randrange(len(words))] = "changed"
        corpus.append(" ".join(words))
    corpus += [*near_texts(), "...", "", *corpus[:5]]
    source.shuffle(corpus)
    return corpus


def evaluate(query: dict[str, Any], document: dict[str, Any]) -> float | None:
    """Return the score of a document, None if it does not match: bool, constant_score, term and match_none."""
    ((kind, body),) = query.items()
    if kind == "match_none":
        return None
    if kind == "constant_score":
        return None if evaluate(body["filter"], document) is None else body.get("boost", 1.0)
    if kind == "term":
        ((field, value),) = body.items()
        values = document.get(field, [])
        return 1.0 if value in (values if isinstance(values, list) else [values]) else None
    assert kind == "bool"
    assert set(body) <= {"should", "minimum_should_match"}
    scores = [score for each in body["should"] if (score := evaluate(each, document)) is not None]
    return sum(scores) if len(scores) >= body.get("minimum_should_match", 1) else None


def test_bands_in_a_search_engine_find_what_brute_force_finds(page: dict[str, Any], texts: list[str]) -> None:
    """The score of a hit is the number of shared bands; hits are the pairs above the threshold, but for recall."""
    rows = page["with_bands"]([{"text": text} for text in texts])
    assert not set(rows[0]) - set(page["MAPPING"]["properties"])
    expected, found = set(), set()
    for number, text in enumerate(texts):
        body = page["candidates_query"](text)
        scored = [(evaluate(body["query"], row), other) for other, row in enumerate(rows)]
        hits = [{"_id": other, "_source": {"text": texts[other]}, "_score": score} for score, other in scored if score]
        for hit in hits:
            assert hit["_score"] == len(set(rows[number]["bands"]) & set(rows[hit["_id"]]["bands"]))
        found |= {(number, other) for other, _ in page["verified"](text, hits)}
        similarity = nk.similarity(texts, [number] * len(texts), range(len(texts)), recipe="minhash")
        if rows[number]["bands"]:
            expected |= {(number, int(other)) for other in np.flatnonzero(similarity >= 0.8) if rows[other]["bands"]}
    assert found <= expected
    assert len(found) >= 0.95 * len(expected) > 2 * len(texts)


def test_bands_are_equal_in_arrow_and_in_lists(page: dict[str, Any], texts: list[str]) -> None:
    """A table has the same words as a dict of lists."""
    import pyarrow as pa

    words = nk.batched.bands({"text": texts})["bands"]
    assert words == nk.batched.bands(pa.table({"text": texts}))["bands"].to_pylist()
    banding = nk.theory.choose_bands(0.8, 0.95, 128)
    assert {banding.num_bands} == {len(each) for each in words if each}


@pytest.mark.parametrize("size", [1, 7, 500])
def test_a_consumer_passes_on_what_dedup_keeps(
    page: dict[str, Any], texts: list[str], size: int, tmp_path: Path
) -> None:
    """Whatever the batches; and a stream that is delivered again from any point gets the same results."""
    messages = [(f"{number:04d}", text) for number, text in enumerate(texts)]
    with nk.Store.create(tmp_path / "seen.store") as store:
        first = list(page["only_new"](iter(messages), store, size))
        again = list(page["only_new"](iter(messages[17:]), store, size))
    ids = [id for id, _ in messages]
    assert nk.dedup(texts, ids, recipe=str(store.recipe)).kept == [id for id, _ in first]
    assert [message for message in first if message in messages[17:]] == again


def test_bits_of_postgres_are_those_of_the_index(page: dict[str, Any], texts: list[str]) -> None:
    """Digits of bit(128) have the distance of `bit_count(a # b)`, and the index finds all within a radius."""
    digits = page["to_bits"](texts)
    rows = [(number, each) for number, each in enumerate(digits) if each is not None]
    assert {128} == {len(each) for _, each in rows}
    index = page["from_bits"](rows)
    for number, own in rows[::9]:
        result = index.search(nk.fingerprint([texts[number]]), radius=30)
        distances = {other: (int(own, 2) ^ int(each, 2)).bit_count() for other, each in rows}
        assert {other for other, distance in distances.items() if distance <= 30} == set(result.ids)
