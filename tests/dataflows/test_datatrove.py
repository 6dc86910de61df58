"""`nearkin.datatrove` in pipelines that datatrove's local executor runs in child processes."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from engines import site_pages

import nearkin as nk
from command import near_texts
from nearkin.index.fingerprints import from_hex

pytestmark = pytest.mark.skipif(
    not all(map(find_spec, ("datatrove", "orjson", "regex"))),
    reason="datatrove, orjson or regex is not installed; they are in the group `dataflows`",
)

# Each run has a folder: shards are out/00000.jsonl and so on, and exclusions are in gone. Its tasks run concurrently.
RUN = """
import json, sys
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter
from nearkin.datatrove import DedupCluster, DedupFilter, DedupHash, Hashes, NearDuplicates

corpus, run, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])

def writer(name):
    return JsonlWriter(f"{run}/{name}", output_filename="${rank}.jsonl", compression=None)

steps = [Hashes(options["recipe"], batch_size=7)] if "recipe" in options else []
if "filter" in options:
    steps += [NearDuplicates(**options["filter"], exclusion_writer=writer("gone"))]
if __name__ == "__main__" and "dedup" in options:
    work, options = f"{run}/work", options["dedup"]
    executor = LocalPipelineExecutor([JsonlReader(corpus), DedupHash(work, **options)], 2, 2, logging_dir=f"{run}/1")
    executor.run()
    LocalPipelineExecutor([DedupCluster(work, **options)], 1, 1, logging_dir=f"{run}/2").run()
    steps = [JsonlReader(corpus), DedupFilter(work, writer("gone")), writer("out")]
    LocalPipelineExecutor(steps, 2, 2, logging_dir=f"{run}/3").run()
elif __name__ == "__main__":
    pipeline = [JsonlReader(corpus), *steps, writer("out")]
    tasks, workers = options.get("tasks", 1), options.get("workers", 1)
    LocalPipelineExecutor(pipeline, tasks, workers, logging_dir=f"{run}/logs").run()
"""


def run(folder: Path, corpus: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a pipeline from the corpus to the folder."""
    folder.mkdir(exist_ok=True)
    script = folder / "run.py"
    script.write_text(RUN)
    command = [sys.executable, str(script), str(corpus), str(folder), json.dumps(options)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)


def read(folder: Path) -> list[dict[str, Any]]:
    """Return the documents of a folder, shard by shard."""
    return [json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_text().splitlines()]


def pipeline(folder: Path, corpus: Path, **options: Any) -> list[dict[str, Any]]:
    """Return what a complete run of a pipeline writes."""
    done = run(folder, corpus, **options)
    assert 0 == done.returncode, done.stderr[-3000:]
    return read(folder / "out")


@pytest.fixture
def texts() -> list[str]:
    """Return sixty near-duplicates of several kinds, copies of some, and two texts without letters."""
    corpus = near_texts()
    return [*corpus, *corpus[::9], "...", "..."]


@pytest.fixture
def shards(tmp_path: Path, texts: list[str]) -> Path:
    """Write the texts to three files; one task reads the first and the last."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for number in range(3):
        rows = [{"id": f"d{i}", "text": text} for i, text in enumerate(texts) if i % 3 == number]
        (folder / f"{number}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.mark.parametrize("recipe", ["default", "word:2|count|xxh3|simhash:64", "minhash"])
def test_hashes_are_those_of_the_library(tmp_path: Path, shards: Path, texts: list[str], recipe: str) -> None:
    """They are equal bit for bit for any tasks and batches; a text without features has none."""
    made = nk.Recipe.of(recipe)
    rows = pipeline(tmp_path / "run", shards, recipe=recipe, tasks=2, workers=2)
    assert sorted(f"d{i}" for i in range(len(texts))) == sorted(row["id"] for row in rows)
    for row in rows:
        text, metadata = texts[int(row["id"][1:])], row["metadata"]
        assert str(made) == metadata["recipe"]
        if text == "...":
            assert metadata.get("signature", metadata.get("fingerprint")) is None
        elif made.family == "minhash":
            assert nk.signature([text], made)[0].tolist() == metadata["signature"]
        else:
            expected = nk.fingerprint([text], made)
            assert expected.tolist() == from_hex([metadata["fingerprint"]], made.bits).tolist()


@pytest.mark.parametrize("where", ["task", "store"])
def test_one_task_keeps_what_dedup_keeps(tmp_path: Path, shards: Path, texts: list[str], where: str) -> None:
    """Documents, in the order in which the task reads them, matches and similarities are equal."""
    store = None if where == "task" else str(tmp_path / "pages.store")
    rows = pipeline(tmp_path / "run", shards, filter={"store": store, "threshold": 0.7, "batch_size": 10})
    order = [i for number in range(3) for i in range(number, len(texts), 3)]
    expected = nk.dedup([texts[i] for i in order], [f"d{i}" for i in order], threshold=0.7)
    assert 0 < len(expected.kept) < len(texts)
    assert expected.kept == [row["id"] for row in rows]
    gone = {
        row["id"]: (row["metadata"]["near_duplicate_of"], row["metadata"]["similarity"])
        for row in read(tmp_path / "run" / "gone")
    }
    absorbed = {
        row["id"]: (row["representative"], row["similarity"])
        for row in expected.clusters.rows()
        if row["reason"] != "kept"
    }
    assert absorbed == gone


def test_tasks_at_once_share_a_store(tmp_path: Path, shards: Path, texts: list[str]) -> None:
    """No two kept documents match, and every dropped document matches a kept one, whichever task is first."""
    options = {"store": str(tmp_path / "pages.store"), "batch_size": 4}
    kept = pipeline(tmp_path / "run", shards, filter=options, tasks=3, workers=3)
    gone = read(tmp_path / "run" / "gone")
    assert sorted(f"d{i}" for i in range(len(texts))) == sorted(row["id"] for row in [*kept, *gone])
    assert len(kept) == len(nk.dedup([row["text"] for row in kept]).kept)
    named = {row["id"]: row["text"] for row in kept}
    for row in gone:
        original = named[row["metadata"]["near_duplicate_of"]]
        same = row["text"] == original
        assert (
            same or float(nk.similarity([row["text"], original], [0], [1])[0]) == row["metadata"]["similarity"] >= 0.8
        )


def test_a_task_that_runs_again_writes_the_same(tmp_path: Path, shards: Path) -> None:
    """The store knows its documents and returns their first results."""
    options = {"store": str(tmp_path / "pages.store"), "batch_size": 10}
    first = pipeline(tmp_path / "first", shards, filter=options)
    again = pipeline(tmp_path / "again", shards, filter=options)
    assert first == again
    assert [row["id"] for row in read(tmp_path / "first" / "gone")] == [
        row["id"] for row in read(tmp_path / "again" / "gone")
    ]


def test_another_threshold_than_that_of_the_store_is_refused(tmp_path: Path, shards: Path) -> None:
    """An id with two different texts is also an error."""
    path = tmp_path / "pages.store"
    nk.Store.create(path, threshold=0.7).close()
    done = run(tmp_path / "run", shards, filter={"store": str(path), "threshold": 0.9})
    assert 0 != done.returncode
    assert "MismatchError" in done.stderr
    assert "store of 0.7" in done.stderr
    (shards / "3.jsonl").write_text('{"id": "d0", "text": "Another text that has an id of the first."}\n')
    done = run(tmp_path / "run", shards, filter={"store": str(path)})
    assert 0 != done.returncode
    assert "InputError" in done.stderr


CASES: list[dict[str, Any]] = [
    {"threshold": 0.7},
    {"threshold": 0.7, "recipe": "default", "keep": "longest", "empty": "drop"},
    {"threshold": 0.7, "recipe": "minhash", "verify": "signature", "keep": "last"},
]


@pytest.mark.parametrize("options", CASES, ids=str)
def test_three_steps_keep_what_dedup_keeps(
    tmp_path: Path, shards: Path, texts: list[str], options: dict[str, Any]
) -> None:
    """All tasks together give the result of one machine, in the order of shards and rows."""
    kept = pipeline(tmp_path / "run", shards, dedup=options)
    # Of three files, the first task reads the first and the last.
    order = [f"d{i}" for number in (0, 2, 1) for i in range(number, len(texts), 3)]
    recipe = options.get("recipe", str(nk.Recipe.of(None).with_family("minhash")))
    # Ids decide ties, so they are numbers in the order of documents.
    expected = nk.dedup([texts[int(name[1:])] for name in order], range(len(order)), **{**options, "recipe": recipe})
    assert 0 < len(expected.kept) < len(texts)
    names = [order[row] for row in expected.kept]
    assert sorted(names) == sorted(row["id"] for row in kept)
    gone = {
        row["id"]: (row["metadata"].get("near_duplicate_of"), row["metadata"].get("similarity"))
        for row in read(tmp_path / "run" / "gone")
    }
    absorbed = {order[row["id"]]: (order[row["representative"]], row["similarity"]) for row in expected.clusters.rows()}
    assert {name: absorbed.get(name, (None, None)) for name in order if name not in names} == gone


def test_three_steps_compare_pages_without_the_lines_of_their_sites(tmp_path: Path) -> None:
    """Sites are those of URLs in the metadata."""
    pages, gone = site_pages()
    (tmp_path / "corpus").mkdir()
    rows: list[dict[str, Any]] = [
        {"id": f"d{at}", "text": text or "...", "metadata": {"url": url}}
        for at, (text, url) in enumerate(zip(pages.texts, pages.ids, strict=True))
    ]
    for number, part in enumerate((rows[::2], rows[1::2])):
        (tmp_path / "corpus" / f"{number}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part))
    kept = pipeline(tmp_path / "run", tmp_path / "corpus", dedup={"kind": "pages"})
    order = [*rows[::2], *rows[1::2]]
    urls = [row["metadata"]["url"] for row in order]
    expected = nk.dedup([row["text"] for row in order], sources=urls, kind="pages")
    assert gone == expected.summary["removed"]
    assert [order[row]["id"] for row in expected.kept] == [row["id"] for row in kept]


def test_steps_refuse_other_options_and_other_documents(tmp_path: Path) -> None:
    """Files of another recipe, files of some tasks only, and a shard of other documents are errors."""
    from datatrove.data import Document

    from nearkin.datatrove import DedupCluster, DedupFilter, DedupHash

    texts = ["one text among many others", "one text among many others!", "another"]
    documents = [Document(text=text, id=str(row)) for row, text in enumerate(texts)]
    assert 3 == len(list(DedupHash(str(tmp_path)).run(iter(documents), 0, 2)))
    with pytest.raises(nk.errors.InputError, match="1 files of 2 tasks"):
        list(DedupCluster(str(tmp_path)).run())
    assert [] == list(DedupHash(str(tmp_path)).run(iter([]), 1, 2))
    with pytest.raises(nk.errors.MismatchError, match="recipe differs"):
        list(DedupCluster(str(tmp_path), recipe="default").run())
    with pytest.raises(nk.errors.InputError, match="runs in one"):
        list(DedupCluster(str(tmp_path)).run(None, 0, 2))
    assert [] == list(DedupCluster(str(tmp_path)).run())
    assert ["0", "2"] == [document.id for document in DedupFilter(str(tmp_path)).run(iter(documents), 0, 2)]
    assert [] == list(DedupFilter(str(tmp_path)).run(iter([]), 1, 2))
    with pytest.raises(nk.errors.InputError, match="read 1 documents and DedupHash 3"):
        list(DedupFilter(str(tmp_path)).run(iter(documents[:1]), 0, 2))
    with pytest.raises(nk.errors.InputError, match="use the same number"):
        list(DedupFilter(str(tmp_path)).run(iter(documents), 0, 1))
    path = tmp_path / "hashes" / "00000.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(nk.errors.InputError, match="incomplete; run its task again"):
        list(DedupCluster(str(tmp_path)).run())
    with pytest.raises(nk.errors.ParameterError, match="has no option treshold; did you mean threshold"):
        DedupHash(str(tmp_path), treshold=0.5)  # type: ignore[call-arg]
