"""`nk.batched` and `nk.dedup` on datasets of Hugging Face, in memory and as streams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import nearkin as nk
from command import near_texts

datasets = pytest.importorskip("datasets", reason="datasets is not installed; it is in the group `peers`")

SHORT = "word:2|count|xxh3|simhash:64"


@pytest.fixture(scope="module")
def texts() -> list[str | None]:
    """Return near-duplicates, copies, and texts without features, of which none is in the first batch."""
    corpus = near_texts()[:40]
    return [*corpus, *corpus[::9], "...", "", None]


@pytest.fixture
def dataset(texts: list[str | None]) -> Any:
    """Return a dataset with ids."""
    datasets.disable_progress_bars()
    return datasets.Dataset.from_dict({"text": texts, "url": [f"u{row:02d}" for row in range(len(texts))]})


def expected(texts: list[str | None], name: str, recipe: str) -> list[Any]:
    """Return the values of the library; None for a text without features."""
    function = nk.signature if name == "signature" else nk.fingerprint
    values, counts = function(texts, recipe, return_counts=True)
    return [value if count else None for value, count in zip(values.tolist(), counts, strict=True)]


@pytest.mark.parametrize("form", ["python", "arrow", "stream"])
@pytest.mark.parametrize(
    ("name", "recipe"), [("fingerprint", "default"), ("fingerprint", SHORT), ("signature", "minhash")]
)
def test_map_adds_the_values_of_the_library(
    dataset: Any, texts: list[str | None], form: str, name: str, recipe: str
) -> None:
    """For any batches, as Python objects, as Arrow tables and in a stream; other columns are unchanged."""
    source = {"python": dataset, "arrow": dataset.with_format("arrow"), "stream": dataset.to_iterable_dataset()}[form]
    options = {"batched": True, "batch_size": 11, "fn_kwargs": {"recipe": recipe}}
    mapped = source.map(getattr(nk.batched, name), **options)
    rows = list(mapped.with_format(None) if form != "stream" else mapped)
    values = [row[name].tolist() if hasattr(row[name], "tolist") else row[name] for row in rows]
    assert expected(texts, name, recipe) == values
    assert (texts, f"u{len(texts) - 1:02d}") == ([row["text"] for row in rows], rows[-1]["url"])


def test_dedup_gives_a_dataset_back(dataset: Any, texts: list[str | None]) -> None:
    """`result.filter` returns a dataset of the kept rows; a stream is filtered by their ids."""
    result = nk.dedup(dataset, text="text", id="url")
    clean = result.filter(dataset)
    assert isinstance(clean, datasets.Dataset)
    assert nk.dedup(texts, dataset["url"]).kept == result.kept == clean["url"]
    stream = dataset.to_iterable_dataset()
    kept = set(nk.dedup(stream, text="text", id="url").kept)
    filtered = stream.filter(lambda urls: [url in kept for url in urls], input_columns="url", batched=True)
    assert result.kept == [row["url"] for row in filtered]
    with pytest.raises(nk.errors.ParameterError, match="a IterableDataset is not allowed; use a Dataset"):
        result.filter(stream)


def test_a_stream_is_checked_against_a_store(dataset: Any, texts: list[str | None], tmp_path: Path) -> None:
    """Unseen rows are those that dedup keeps, in every epoch."""
    stream = dataset.to_iterable_dataset()
    with nk.Store.create(tmp_path / "seen.store") as store:

        def is_unseen(texts: list[str | None], urls: list[str]) -> list[bool]:
            return [match is None for match in store.check_and_add(texts, urls).ids]

        options = {"input_columns": ["text", "url"], "batched": True, "batch_size": 9}
        epochs = [[row["url"] for row in stream.filter(is_unseen, **options)] for _ in range(2)]
        recipe = str(store.recipe)
    assert nk.dedup(texts, dataset["url"], recipe=recipe).kept == epochs[0] == epochs[1]


def test_wrong_batches_say_what_to_pass(dataset: Any) -> None:
    """One example, an object without columns, a missing column, and a name that exists."""
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        (dataset[0], {}, "use a batch of them: batched=True in datasets"),
        (["a text"], {}, "batch=a list is not allowed; use a table of pyarrow or a mapping"),
        (dataset[:2], {"text": "body"}, "use one of the columns 'text', 'url'"),
        (pa.table({"text": ["a"]}), {"text": "body"}, "use one of the columns 'text'"),
        (dataset[:2], {"column": "url"}, "use a name that no column of the batch has"),
    ]
    for batch, options, message in wrong:
        with pytest.raises(nk.errors.ParameterError, match=message):
            nk.batched.fingerprint(batch, **options)


def test_record_batches_stay_record_batches(texts: list[str | None]) -> None:
    """The result has the type of the batch."""
    batch = pa.record_batch({"text": texts})
    assert isinstance(nk.batched.fingerprint(batch), pa.RecordBatch)
    assert nk.batched.bands(batch).schema.names == ["text", "bands"]
