"""`nk.dedup(store=store)` adds the kept documents and publishes the output, both or neither."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_store import texts_of
from test_store_of_files import folder_of_files

import nearkin as nk
from corpora import write_rows
from nearkin.dedup.result import DedupResult
from nearkin.errors import InputError, MismatchError, OutputError, ParameterError, StoreLockedError
from nearkin.io import OutputDir, atomic_write, open_corpus
from nearkin.store import outbox
from nearkin.store.log import Log

OLD = texts_of(150, 5)
NEW = [*texts_of(150, 5)[60:], *texts_of(120, 6), "", "!!"]
IDS = [f"n{number}" for number in range(len(NEW))]


def store_with_documents(path: Path, **options: Any) -> nk.Store:
    """Create a store with old documents, some of them in a segment."""
    store = nk.Store.create(path, max_pending=64, **options)
    store.check_and_add(OLD, [f"o{number}" for number in range(len(OLD))])
    assert store._compactor is not None
    store._compactor.join()
    return store


def stored(store: nk.Store) -> list[tuple[Any, ...]]:
    """Return the stored documents in order."""
    results = [doc for batch in store.iter_documents() for doc in batch]
    texts = store.texts([doc.id for doc in results])
    return [(doc.id, doc.status, doc.match, doc.columns, text) for doc, text in zip(results, texts, strict=True)]


@pytest.mark.parametrize("keep", ["first", "longest", "last"])
@pytest.mark.parametrize("recipe", [None, "minhash", nk.Recipe()], ids=str)
def test_the_sink_equals_against_and_add(tmp_path: Path, recipe: nk.Recipe | str | None, keep: Any) -> None:
    """The result is that of `against=store`, and the store is that of `add` for the kept documents."""
    with (
        store_with_documents(tmp_path / "a", recipe=recipe) as one,
        store_with_documents(tmp_path / "b", recipe=recipe) as other,
    ):
        expected = nk.dedup(NEW, IDS, against=one, keep=keep)
        one.add([NEW[row] for row in expected.kept_rows], expected.kept, columns={"n": expected.kept_rows.tolist()})
        results = nk.dedup(NEW, IDS, store=other, keep=keep, columns={"n": np.arange(len(NEW))})
        assert expected.kept == results.kept
        assert 20 < len(results.kept) < len(NEW) - 20
        assert expected.clusters.columns == results.clusters.columns
        assert expected.pairs.columns == results.pairs.columns
        assert stored(one) == stored(other)
        other.verify()


def test_a_second_run_adds_nothing(tmp_path: Path) -> None:
    """In a second run every document is an exact copy: texts without letters of themselves, by their ids."""
    with store_with_documents(tmp_path / "store") as store:
        first = nk.dedup(NEW, IDS, store=store)
        before = stored(store)
        again = nk.dedup(NEW, IDS, store=store)
        assert [] == again.kept
        assert IDS[-2:] == first.kept[-2:]
        assert before == stored(store)
        assert (0, 2) == tuple(result.summary["without_features"] for result in (again, first))
        rows = {row["id"]: row for row in again.clusters.rows()}
        assert {"exact-old"} == {rows[name]["reason"] for name in first.kept}
        assert IDS[-2:] == [rows[name]["representative"] for name in IDS[-2:]]
        assert ["x", "y"] == nk.dedup(["", "!!"], ["x", "y"], store=store).kept


def ledger(store: nk.Store) -> dict[Any, tuple[Any, ...]]:
    """Return what the store says of each document, by id, whatever the order of addition."""
    documents = [doc for batch in store.iter_documents(ledger=True) for doc in batch]
    return {
        doc.id: (doc.status, doc.match, doc.distance, repr(doc.similarity), doc.columns, doc.copies)
        for doc in documents
    }


@pytest.mark.parametrize("recipe", [None, "minhash", nk.Recipe()], ids=str)
def test_jobs_with_a_ledger_store_what_check_and_add_stores(tmp_path: Path, recipe: nk.Recipe | str | None) -> None:
    """Three jobs, each of them repeated, count as one job over all documents; so do a backup, a copy and a salvage."""
    texts = [*texts_of(300, 5), "", "!!"]
    ids = [f"d{number}" for number in range(len(texts))]
    with (
        nk.Store.create(tmp_path / "a", recipe=recipe, max_pending=64) as one,
        nk.Store.create(tmp_path / "b", recipe=recipe, max_pending=64) as other,
    ):
        for start in range(0, len(texts), 101):
            dump, names = texts[start : start + 101], ids[start : start + 101]
            columns = {"dump": [start] * len(dump)}
            one.check_and_add(dump, names, columns=columns)
            nk.dedup(dump, names, store=other, ledger=True, columns=columns)
            assert [] == nk.dedup(dump, names, store=other, ledger=True, columns=columns).kept
        assert ledger(one) == ledger(other)
        kept = {name: facts[-1] for name, facts in ledger(other).items() if facts[0] == "new"}
        whole = nk.dedup(texts, ids, recipe=recipe or "minhash")
        assert dict(zip(whole.kept, whole.weights.tolist(), strict=True)) == kept
        assert (len(kept), len(texts)) == (other.stats(ledger=True).kept, len(other))
        assert max(kept.values()) > 3
        times = {(doc.first_seen, doc.last_seen) for batch in other.iter_documents(ledger=True) for doc in batch}
        assert all(first is not None and last is not None and first <= last for first, last in times)
        other.merge()
        other.backup(tmp_path / "backup")
        other.copy(tmp_path / "copy").close()
        other.expire(before="1970-01-01T00:01:00Z", column="dump")
        left = ledger(other)
        assert len(left) < len(texts)
        links = [facts[1] for facts in left.values()]
        assert {name: facts[-1] for name, facts in left.items()} == {
            name: links.count(name) + 1 if facts[0] == "new" else 0 for name, facts in left.items()
        }
    nk.Store.salvage(tmp_path / "backup", tmp_path / "salvaged")
    for name in ("backup", "copy", "salvaged"):
        with nk.Store.open(tmp_path / name, "r") as store:
            again = ledger(store)
            assert kept == {key: facts[-1] for key, facts in again.items() if facts[0] == "new"}


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_dumps_in_any_order_give_the_same_counts(store: nk.Store, order: tuple[int, ...]) -> None:
    """Without ids every document counts; the kept one differs, its count does not."""
    dumps = [["a storm over the harbour", "bread"], ["A storm over the harbour!", "salt"], ["bread", "Bread", "bread"]]
    for number in order:
        nk.dedup(
            dumps[number], store=store, ledger=True, sources=["abc"[number], "abc"[number], None][: len(dumps[number])]
        )
    kept = [doc for batch in store.iter_documents(ledger=True) for doc in batch if doc.copies]
    counts = {doc.id: doc.copies for doc in kept}
    assert [(1, 1), (2, 2), (4, 2)] == sorted((doc.copies, doc.sources) for doc in kept)
    assert 3 == store.stats(ledger=True).sources
    assert {"a storm over the harbour": 2, "bread": 4, "salt": 1} == {
        str(text).lower().strip("!"): count for text, count in zip(store.texts(counts), counts.values(), strict=True)
    }


def test_without_ids_documents_get_row_numbers_of_the_store(store: nk.Store) -> None:
    """The result keeps the row numbers of the call."""
    assert [0, 1] == nk.dedup(["one text of all", "another, of cats"], store=store).kept
    assert [1] == nk.dedup(["another, of cats", "a third, of dogs and rain"], store=store).kept
    assert [0, 1, 2] == [row[0] for row in stored(store)]
    # Row numbers of a call are no ids of the store.
    assert [0, 1, 2, 3] == nk.dedup([""] * 4, store=store).kept == nk.dedup([""] * 4, store=store).kept


def test_a_corpus_brings_ids_and_columns(tmp_path: Path) -> None:
    """Columns can be names of extra columns; `keep` may order documents by one of them."""
    rows = [{"id": name, "text": text, "n": number} for number, (name, text) in enumerate(zip(IDS, NEW, strict=True))]
    path = write_rows(tmp_path / "corpus.jsonl", rows)
    with (
        nk.Store.create(tmp_path / "store") as store,
        open_corpus(path, id_column="id", extra_columns=["n"]) as corpus,
    ):
        result = nk.dedup(corpus, store=store, keep="max", values="n", columns=["n"])
        assert "sources" not in result.summary
        assert [(name, {"n": row}) for name, row in zip(result.kept, result.kept_rows.tolist(), strict=True)] == [
            (row[0], row[3]) for row in stored(store)
        ]
        with pytest.raises(ParameterError, match="names of extra columns"):
            nk.dedup(corpus, store=store, columns=["m"])


@pytest.mark.parametrize("change", ["add", "remove"])
def test_concurrent_changes_are_taken_into_account(tmp_path: Path, change: str) -> None:
    """If another writer commits after the first decision, the documents are compared again."""
    text = "a text that both of them offer, with some words more"
    with store_with_documents(tmp_path / "store") as store, nk.Store.open(tmp_path / "store") as other:
        if change == "remove":
            other.add([text], ["theirs"])
        calls: list[list[Any]] = []

        def output(result: DedupResult) -> OutputDir:
            calls.append(result.kept)
            if len(calls) > 1:
                target.restart()
            else:
                if change == "remove":
                    other.remove(["theirs"], erase=True)
                else:
                    assert ["new"] == other.check_and_add([text], ["theirs"]).status
            target.write_json("summary.json", {"kept": result.kept, "run": len(calls)})
            return target

        with OutputDir(tmp_path / "out") as target:
            result = nk.dedup([text, "something else, about cats"], ["mine", "cat"], store=store, output=output)
        expected = ["mine", "cat"] if change == "remove" else ["cat"]
        assert expected == result.kept
        assert 2 == len(calls)
        written = json.loads((tmp_path / "out" / "summary.json").read_text())
        assert (expected, 2) == (written["kept"], written["run"])
        assert 1 == sum(row[4] == text for row in stored(store))
        store.verify()


@pytest.mark.parametrize("is_changed", [False, True])
def test_skipped_comparisons_warn_at_the_callers_line(tmp_path: Path, is_changed: bool) -> None:
    """The warning appears once, even if documents are compared twice; as an error it leaves the store unchanged."""
    texts = [f"word{number} other{number} third{number}" for number in range(30)]
    recipe = "word:1|binary|xxh3|simhash:64"
    with (
        nk.Store.create(tmp_path / "store", recipe, threshold=0.999, radius=64) as store,
        nk.Store.open(tmp_path / "store") as other,
    ):

        def output(result: DedupResult) -> OutputDir:
            if is_changed and 0 == len(store):
                other.add(["one more"], ["theirs"])
            else:
                target.restart()
            return summarised(target, result)

        dedup = partial(nk.dedup, texts, IDS[:30], store=store, max_comparisons=5)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeWarning, match="max_comparisons=5"):
                dedup()
        assert 0 == len(store)
        with OutputDir(tmp_path / "out") as target, pytest.warns(RuntimeWarning, match="max_comparisons=5") as caught:
            results = dedup(output=output)
        assert [__file__] * (1 + is_changed) == [doc.filename for doc in caught]
        assert [str(caught[-1].message)] == results.summary["warnings"]
        assert 30 + is_changed == len(store)


def test_errors_add_nothing(tmp_path: Path) -> None:
    """Options that differ from the store's, conflicting ids and bad columns raise errors and add nothing."""
    wrong: list[tuple[type[Exception], str, Callable[[nk.Store], object]]] = [
        (MismatchError, "threshold", lambda store: nk.dedup(NEW, store=store, threshold=0.81)),
        (MismatchError, "verify", lambda store: nk.dedup(NEW, store=store, verify="indel")),
        (MismatchError, "family", lambda store: nk.dedup(NEW, store=store, recipe="char:9|count|xxh3|simhash:64")),
        (MismatchError, "recipe slot", lambda store: nk.dedup(NEW, store=store, recipe="char:9|minhash:64")),
        (MismatchError, "how candidates", lambda store: nk.dedup(NEW, store=store, recall=0.95)),
        (ParameterError, "against", lambda store: nk.dedup(NEW, store=store, against=store)),
        (InputError, "that of another text", lambda store: nk.dedup(["a new one"], ["o3"], store=store)),
        (ParameterError, "kind", lambda store: nk.dedup(NEW, range(len(NEW)), store=store)),
        (ParameterError, "columns", lambda store: nk.dedup(NEW, IDS, store=store, columns={"n": [1]})),
        (ParameterError, "names of extra columns", lambda store: nk.dedup(NEW, IDS, store=store, columns="n")),
        (ParameterError, "a store, with columns", lambda store: nk.dedup(NEW, IDS, columns={"n": IDS})),
        (ParameterError, "a ledger or", lambda store: nk.dedup(NEW, IDS, ledger=True)),
    ]  # fmt: skip
    with store_with_documents(tmp_path / "store") as store:
        before = stored(store)
        for kind, message, call in wrong:
            with pytest.raises(kind, match=message):
                call(store)
        assert before == stored(store)
    with nk.Store.open(tmp_path / "store", "r") as reader, pytest.raises(ParameterError, match='mode="w"'):
        nk.dedup(NEW, IDS, store=reader)


def stored_files(store: nk.Store) -> list[tuple[Any, ...]]:
    """Return the documents of a store of files in order."""
    results = [doc for batch in store.iter_documents() for doc in batch]
    digests = store.values([doc.id for doc in results]).tolist() if results else []
    return [(doc.id, doc.status, doc.match, doc.columns, digest) for doc, digest in zip(results, digests, strict=True)]


@pytest.mark.parametrize("keep", ["first", "longest", "newest"])
def test_the_sink_of_files_equals_against_and_add(tmp_path: Path, keep: Any) -> None:
    """The result and the store are those of `against=store` and `add`; unreadable files lose their columns."""
    old, new = folder_of_files(tmp_path / "old", 60, 5), folder_of_files(tmp_path / "new", 90, 5)
    new.insert(40, str(tmp_path / "none"))
    refused: list[str] = []
    with (
        nk.Store.create(tmp_path / "a", "ssdeep", threshold=60, max_pending=16) as one,
        nk.Store.create(tmp_path / "b", "ssdeep", threshold=60, max_pending=16) as other,
    ):
        for store in (one, other):
            store.check_and_add(old, kind="paths")
        expected = nk.dedup_files(new, against=one, keep=keep, on_error=lambda path, _: None)
        one.add(expected.kept, kind="paths", columns={"n": [new.index(path) for path in expected.kept]})
        results = nk.dedup_files(
            new, store=other, keep=keep, columns={"n": range(91)}, on_error=lambda path, _: refused.append(path)
        )
        assert [str(tmp_path / "none")] == refused
        assert 1 == results.summary["unreadable"]
        assert expected.kept == results.kept
        assert 10 < len(results.kept) < 80
        assert expected.clusters.columns == results.clusters.columns
        assert expected.pairs.columns == results.pairs.columns
        assert stored_files(one) == stored_files(other)
        other.verify()
        # In a second run every file is known, also empty ones.
        again = nk.dedup_files(new, store=other, keep=keep, on_error=lambda *_: None)
        assert [] == again.kept
        assert stored_files(one) == stored_files(other)


def test_files_and_their_output_are_committed_together(tmp_path: Path) -> None:
    """A changed store causes a second comparison; a refused file publishes nothing."""
    paths = folder_of_files(tmp_path / "files", 30, 7)
    calls: list[int] = []
    with (
        nk.Store.create(tmp_path / "store", "ssdeep") as store,
        nk.Store.open(tmp_path / "store") as other,
        OutputDir(tmp_path / "out") as target,
    ):

        def output(result: DedupResult) -> OutputDir:
            calls.append(result.summary["kept"])
            if len(calls) == 1:
                other.add(paths[:3], ["x", "y", "z"], kind="paths")
            else:
                target.restart()
            return summarised(target, result)

        result = nk.dedup_files(paths, store=store, output=output)
        assert 2 == len(calls)
        assert calls[1] == len(result.kept) < calls[0]
        assert result.kept == kept(tmp_path)
        before = stored_files(store)
        Path(result.kept[0]).write_bytes(np.random.default_rng(3).bytes(5000))
        with (
            pytest.raises(InputError, match="is that of another file"),
            OutputDir(tmp_path / "other") as unused,
        ):
            nk.dedup_files(result.kept[:1], store=store, output=partial(summarised, unused))
        assert not (tmp_path / "other").exists()
        assert before == stored_files(store)
        store.verify()


def test_errors_of_files_add_nothing(tmp_path: Path) -> None:
    """Options that differ from the store's, bad columns, bad names and a store of texts raise errors."""
    paths = folder_of_files(tmp_path / "files", 5, 7)
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/odd\xff")
    wrong: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (MismatchError, "threshold", {"threshold": 50}),
        (MismatchError, "normalize", {"recipe": "space|ssdeep"}),
        (ParameterError, "against", {"against": paths}),
        (ParameterError, r"columns\['n'\]", {"columns": {"n": [1]}}),
        (ParameterError, "a mapping of names to one value per path", {"columns": ["n"]}),
        (ParameterError, "a store, with columns", {"columns": {"n": [1]}, "store": None}),
        (InputError, "its name is not UTF-8", {"paths": [odd]}),
    ]
    with nk.Store.create(tmp_path / "store", "ssdeep") as store:
        for kind, message, options in wrong:
            with pytest.raises(kind, match=message):
                nk.dedup_files(**{"paths": paths, "store": store, **options})
        assert 0 == len(store)
    with nk.Store.create(tmp_path / "texts") as texts, pytest.raises(MismatchError, match="family"):
        nk.dedup_files(paths, store=texts)
    with nk.Store.open(tmp_path / "store", "r") as reader, pytest.raises(ParameterError, match='mode="w"'):
        nk.dedup_files(paths, store=reader)


def summarised(target: OutputDir, result: DedupResult) -> OutputDir:
    """Return an output that has only a summary."""
    target.write_json("summary.json", {"kept": result.kept})
    return target


def interrupted(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str = "one text of all") -> None:
    """Run a deduplication into a store, maybe a new one, whose rename fails after the commit."""

    def fails(self: atomic_write.StagedOutput) -> None:
        raise OSError(5, "Input/output error")

    if not (folder / "store").exists():
        nk.Store.create(folder / "store").close()
    with nk.Store.open(folder / "store") as store, monkeypatch.context() as patch:
        patch.setattr(atomic_write.StagedOutput, "commit_folder", fails)
        with (
            pytest.raises(OutputError, match="opening the store again puts the output in place"),
            OutputDir(folder / "out", overwrite=True) as target,
        ):
            nk.dedup([text], [text], store=store, output=partial(summarised, target))
        assert text in store
        store.verify()


def kept(folder: Path) -> object:
    """Return the content of the output."""
    return json.loads((folder / "out" / "summary.json").read_text())["kept"]


def hidden(folder: Path) -> list[str]:
    """Return the hidden folders next to the output."""
    return [path.name for path in folder.iterdir() if path.name.startswith(".out")]


def test_opening_a_store_publishes_its_pending_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening for writing publishes a pending output; it replaces an older one and preserves the user's files."""
    interrupted(tmp_path, monkeypatch)
    with nk.Store.open(tmp_path / "store", "r") as reader:
        reader.verify()
        assert not (tmp_path / "out").exists()
    with nk.Store.open(tmp_path / "store") as store:
        assert [tmp_path / "out"] == store.recovered_outputs
        store.verify()
    assert ["one text of all"] == kept(tmp_path)
    (tmp_path / "out" / "notes.txt").write_text("mine")
    interrupted(tmp_path, monkeypatch, "another one, about cats")
    assert ["one text of all"] == kept(tmp_path)
    nk.Store.open(tmp_path / "store").close()
    assert ["another one, about cats"] == kept(tmp_path)
    assert "mine" == (tmp_path / "out" / "notes.txt").read_text()
    assert [] == hidden(tmp_path)
    with nk.Store.open(tmp_path / "store") as store:
        assert [] == store.recovered_outputs
        with store._log.reading():
            assert [] == store._log.outputs()


def test_the_next_run_into_the_folder_publishes_a_pending_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run into the same folder, without the store, publishes the pending output and does not overwrite it."""
    interrupted(tmp_path, monkeypatch)
    with pytest.raises(ParameterError, match=r"it contains summary\.json"), OutputDir(tmp_path / "out"):
        pass
    assert ["one text of all"] == kept(tmp_path)
    assert [] == hidden(tmp_path)
    with nk.Store.open(tmp_path / "store") as store:
        assert [] == store.recovered_outputs


def test_a_pending_output_replaces_no_foreign_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A warning names the pending output; once the target is free, opening the store publishes it."""
    interrupted(tmp_path, monkeypatch)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    with pytest.warns(RuntimeWarning, match="something else was created here") as caught:
        nk.Store.open(tmp_path / "store").close()
    assert __file__ == caught[0].filename
    with pytest.raises(OutputError, match="is complete in"), OutputDir(tmp_path / "out", overwrite=True):
        pass
    assert "mine" == (tmp_path / "out" / "thesis.txt").read_text()
    (tmp_path / "out").rename(tmp_path / "moved")
    nk.Store.open(tmp_path / "store").close()
    assert ["one text of all"] == kept(tmp_path)
    assert [] == hidden(tmp_path)


def test_a_deleted_pending_output_warns_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the hidden folder was deleted, opening the store warns once."""
    interrupted(tmp_path, monkeypatch)
    for name in hidden(tmp_path):
        (tmp_path / name).rename(tmp_path.parent / f"{tmp_path.name}-taken")
    with pytest.warns(RuntimeWarning, match="was removed by somebody"):
        nk.Store.open(tmp_path / "store").close()
    nk.Store.open(tmp_path / "store").close()


def test_a_missing_store_leaves_the_decision_to_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hidden folder remains, and the message explains the choices."""
    interrupted(tmp_path, monkeypatch)
    (tmp_path / "store").rename(tmp_path / "moved")
    with pytest.raises(OutputError, match="restore it, or remove this folder"), OutputDir(tmp_path / "out"):
        pass
    (tmp_path / "moved").rename(tmp_path / "store")
    with nk.Store.open(tmp_path / "store") as store:
        assert [tmp_path / "out"] == store.recovered_outputs


def test_a_prepared_output_without_a_row_is_removed(tmp_path: Path) -> None:
    """A prepared output without a row is removed, because its transaction was not committed."""
    nk.Store.create(tmp_path / "store").close()
    target = OutputDir(tmp_path / "out")
    target.__enter__()
    target.write_json("summary.json", {})
    target.prepare(tmp_path / "store" / "log.sqlite")
    assert 1 == len(hidden(tmp_path))
    target.__exit__(KeyError, KeyError(), None)
    assert [] == hidden(tmp_path)
    assert not (tmp_path / "out").exists()


def test_a_backup_has_no_pending_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pending output belongs to the store and not to its backup."""
    nk.Store.create(tmp_path / "store").close()
    with nk.Store.open(tmp_path / "store") as store:
        interrupted(tmp_path, monkeypatch)
        store.backup(tmp_path / "copy")
    with nk.Store.open(tmp_path / "copy") as copy:
        assert [] == copy.recovered_outputs
        copy.verify()
        assert "one text of all" in copy
    assert not (tmp_path / "out").exists()
    with nk.Store.open(tmp_path / "store") as store:
        assert [tmp_path / "out"] == store.recovered_outputs


def test_the_checksum_covers_pending_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checksum detects a missing or added row."""
    nk.Store.create(tmp_path / "store").close()
    log = Log(tmp_path / "store")
    with log.writing():
        log.add_output(str(tmp_path / "out"), str(tmp_path / ".out.nearkin-0"))
    log.close()
    with pytest.raises(nk.errors.CorruptStoreError, match="outputs are missing"):
        nk.Store.open(tmp_path / "store", "r")


def test_two_runs_into_one_folder_exclude_one_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second run is refused while the output of the first is pending."""
    nk.Store.create(tmp_path / "store").close()
    with nk.Store.open(tmp_path / "store") as store:
        interrupted(tmp_path, monkeypatch)
        before = len(store)
        out, prepared = tmp_path / "out", tmp_path / ".out.nearkin-1"
        with store._writing(), pytest.raises(StoreLockedError, match="another run is putting its output here"):
            outbox.add_output(store._log, out, prepared)
        assert before == len(store)
