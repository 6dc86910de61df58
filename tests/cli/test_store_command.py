"""Tests of `nearkin store` and of `nearkin dedup` with a store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import nearkin as nk
from command import call, check_message, json_lines, on_store, succeed
from corpora import flip, write_rows
from nearkin.io import atomic_write
from nearkin.progress import Progress


def write(path: Path, rows: list[tuple[str, str]]) -> Path:
    """Write a corpus."""
    return write_rows(path, ({"url": name, "text": text, "n": i} for i, (name, text) in enumerate(rows)))


FOX = "The quick brown fox jumps over the lazy dog, and runs away."
ROWS = [
    ("a", FOX),
    ("b", FOX),
    ("c", FOX.replace("quick", "quicker")),
    ("d", "Something else, about cats."),
    ("e", "!!"),
]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Create a store and add the corpus."""
    path = tmp_path / "pages.store"
    assert 0 == call("store", "create", path, "--threshold", "0.7").code
    corpus = write(tmp_path / "corpus.jsonl", ROWS)
    assert 0 == call("store", "add", path, corpus, "--id-column", "url", "--column", "n", "-q").code
    return path


@pytest.mark.parametrize(
    ("options", "recipe"),
    [
        ((), "char:4|binary|xxh3|minhash:128:fast"),
        (("--radius", "20"), "char:4|binary|xxh3|simhash:128"),
        (("--bits", "64"), "char:4|binary|xxh3|simhash:64"),
        (("--recipe", "default"), "char:4|binary|xxh3|simhash:128"),
    ],
)
def test_create_has_the_default_of_the_store(tmp_path: Path, options: tuple[str, ...], recipe: str) -> None:
    assert recipe == call("store", "create", tmp_path / "s", *options, "--json").json()["recipe"]


def test_add_says_of_each_document_what_it_is(tmp_path: Path) -> None:
    """`add` prints id, status, match, distance and similarity; a second run finds all ids known."""
    path, corpus = tmp_path / "s", write(tmp_path / "corpus.jsonl", ROWS)
    call("store", "create", path, "--threshold", "0.7")
    result = call("store", "add", path, corpus, "--id-column", "url")
    lines = [line.split("\t") for line in result.lines]
    assert [["a", "new", "-", "-", "-"], ["b", "exact", "a", "0", "1.0000"]] == lines[:2]
    assert ["c", "near", "a"] == lines[2][:3]
    assert [["d", "new", "-", "-", "-"], ["e", "new", "-", "-", "-"]] == lines[3:]
    rows = call("store", "add", path, corpus, "--id-column", "url", "--json").objects()
    assert ["known"] * 5 == [row["status"] for row in rows]
    assert [None, "a", "a", None, None] == [row["match"] for row in rows]


def test_check_remembers_nothing(store: Path, tmp_path: Path) -> None:
    """`check` prints the status and the best matches without changing the store."""
    corpus = write(tmp_path / "new.jsonl", [("x", FOX + "!"), ("y", "Nothing like the others at all.")])
    rows = call("check", "--store", store, corpus, "--id-column", "url", "--best", "2", "--json").objects()
    assert [("x", "same-letters"), ("y", "new")] == [(row["id"], row["status"]) for row in rows]
    assert [{"id": "a", "distance": 0, "similarity": 1.0, "columns": {"n": 0}}] == rows[0]["matches"]
    with nk.Store.open(store, "r") as opened:
        assert 5 == len(opened)


def test_get_remove_info_and_merge(store: Path) -> None:
    """Documents can be printed and removed; `info` and `merge` report the content."""
    document = call("store", "get", store, "c", "--with-text").json()
    assert ("c", "near", "a", {"n": 2}, None) == tuple(
        document[name] for name in ("id", "status", "match", "columns", "text")
    )
    assert 0 == call("store", "remove", store, "a", "b", "-q").code
    check_message(2, "--missing-ok", "store", "get", store, "a")
    about = call("store", "info", store, "--json").json()
    # No text represents the near-duplicate "c", so the store forgets it.
    assert (2, 3, 0) == (about["documents"], about["removed_not_merged"], about["segments"])
    about = call("store", "merge", store, "--json").json()
    assert (2, 0, 1, 0) == tuple(about[name] for name in ("documents", "removed_not_merged", "segments", "waiting"))
    assert "sound, 2 documents" in call("store", "verify", store).out


def test_an_export_is_a_corpus(store: Path, tmp_path: Path) -> None:
    """Kept documents are exported with columns, and can be added to another store."""
    out = tmp_path / "out.jsonl.gz"
    assert 0 == call("store", "export", store, "--out", out).code
    assert 2 == call("store", "export", store, "--out", out).code
    other = tmp_path / "other.store"
    call("store", "create", other)
    succeed("store", "add", other, out, "--id-column", "id", "--column", "n", "--all", "-q")
    with nk.Store.open(other, "r") as opened:
        assert [("a", {"n": 0}), ("d", {"n": 3}), ("e", {"n": 4})] == [
            (item.id, item.columns) for batch in opened.iter_documents() for item in batch
        ]
    call("store", "export", store, "--ledger", "--out", tmp_path / "counted.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "counted.jsonl").read_text().splitlines()]
    assert [3, 1, 1] == [line["copies"] for line in lines]
    assert all(line["first_seen"] <= line["last_seen"] for line in lines)
    about = json.loads(call("store", "info", store, "--ledger", "--json").out)
    assert (3, 5, 0) == (about["kept"], about["documents"], about["sources"])


def test_backup_and_repair(store: Path, tmp_path: Path) -> None:
    """A backup is a store; a damaged index is reported and rebuilt."""
    call("store", "merge", store, "-q")
    done = call("store", "backup", store, tmp_path / "copy")
    with nk.Store.open(tmp_path / "copy") as copy:
        assert (0, f"{tmp_path / 'copy'}: {len(copy)} documents\n") == (done.code, done.out)
    assert "sound, 5 documents" in call("store", "verify", tmp_path / "copy").out
    index = next((store / "segments").glob("*.index.nks"))
    flip(index)
    check_message(1, index.name, "store", "verify", store)
    check_message(0, "repaired", "store", "verify", store, "--repair")


def test_dedup_against_a_store_takes_its_recipe_and_threshold(store: Path, tmp_path: Path) -> None:
    """Matches of stored documents are removed without changing the store; another recipe is an error."""
    corpus = write(tmp_path / "new.jsonl", [("x", FOX + " "), ("y", "New words that nobody has seen before.")])
    arguments = ["dedup", corpus, "--against", store, "--id-column", "url", "-q"]
    succeed(*arguments, "--out", tmp_path / "out")
    kept = [row["url"] for row in json_lines(tmp_path / "out" / "kept.jsonl")]
    assert ["y"] == kept
    cluster = json.loads((tmp_path / "out" / "clusters.jsonl").read_text().splitlines()[0])
    assert ("x", "a", "same-letters-old") == (cluster["id"], cluster["representative"], cluster["reason"])
    for options, message in (
        (("--bits", "64"), "family differs"),
        (("--family", "minhash:64"), "recipe slot num_perm differs"),
        (("--recall", "0.95"), "how candidates are found differs"),
    ):
        check_message(2, message, *arguments, "--out", tmp_path / "other", *options)


def test_a_known_id_with_another_text_is_an_error(store: Path, tmp_path: Path) -> None:
    corpus = write(tmp_path / "other.jsonl", [("a", "Another text under the same id.")])
    check_message(1, "'a' is that of another text", "store", "add", store, corpus, "--id-column", "url")


@pytest.mark.parametrize("form", ["jsonl", "jsonl.gz", "jsonl.zst", "csv", "tsv", "parquet", "txt"])
def test_dedup_with_a_store_remembers_what_it_keeps(store: Path, tmp_path: Path, form: str) -> None:
    """The output equals that of --against, and kept documents are added; a second run keeps none."""
    texts = [FOX + "!", "Nothing like the others at all.", "A page of something else again."]
    rows = ({"url": name, "text": text} for name, text in zip("xyz", texts, strict=True))
    corpus = write_rows(tmp_path / f"new.{form}", rows)
    if form == "txt":
        # Row numbers of this store are ids.
        call("store", "create", store := tmp_path / "numbered", "--threshold", "0.7")
    options_ = [] if form == "txt" else ["--id-column", "url", "--column", "url"]
    arguments = ["dedup", corpus, "-q", *options_[:2]]
    assert 0 == call(*arguments, "--against", store, "--out", tmp_path / "expected").code
    held = call("store", "info", store, "--json").json()["documents"]
    result = succeed(*arguments, *options_[2:], "--store", store, "--out", tmp_path / "fresh", "--json")
    kept = next(path for path in (tmp_path / "expected").iterdir() if path.name.startswith("kept"))
    assert kept.read_bytes() == (tmp_path / "fresh" / kept.name).read_bytes()
    assert str(store) == result.json()["store"]
    count = 3 if form == "txt" else 2
    assert held + count == call("store", "info", store, "--json").json()["documents"]
    if form != "txt":
        assert {"url": "y"} == call("store", "get", store, "y").json()["columns"]
    again = call(*arguments, "--store", store, "--out", tmp_path / "fresh", "--overwrite", "--json")
    assert (0, 3) == (again.json()["kept"], again.json()["removed"])
    assert held + count == call("store", "info", store, "--json").json()["documents"]


def test_the_summary_says_that_a_run_created_its_store(tmp_path: Path, corpus: Path) -> None:
    """--quiet prints nothing, so summary.json has it; the next run opens the store."""
    store, out = tmp_path / "fresh.store", tmp_path / "out"
    for created in (True, False):
        done = call("dedup", corpus, "--store", store, "--out", out, "--overwrite", "--quiet")
        assert (0, "", "") == (done.code, done.out, done.err)
        summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
        assert (str(store), created) == (summary["store"], summary["store_created"])


def test_dedup_with_a_store_says_what_goes_with_it(store: Path, tmp_path: Path) -> None:
    """--store requires a folder and excludes --against; the summary names the store."""
    corpus = write(tmp_path / "new.jsonl", [("x", "Nothing like the others at all.")])
    arguments = ["dedup", corpus, "--id-column", "url"]
    for options in (["--out", "-", "--store", store], ["--out", "o", "--store", store, "--against", "a"]):
        assert "a folder as --out, and no --against" in call(*arguments, *options).err
    assert "a store, with columns, a ledger" in call(*arguments, "--out", tmp_path / "o", "--column", "n").err
    arguments_ = ["dedup", "--family", "ssdeep", corpus, "--out", tmp_path / "o", "--store", store]
    assert "family" in call(*arguments_).err
    assert not (tmp_path / "o").exists()
    assert f"added to {store}" in call(*arguments, "--out", tmp_path / "o", "--store", store).err


def files(folder: Path) -> list[Path]:
    """Write similar files, a copy, a tiny file and an empty one into a tree."""
    folder.mkdir()
    base = b"".join(b"line %d of a file that will change a little\n" % i for i in range(400))
    contents = {"a": base, "b": base.replace(b"line 200 ", b"LINE 200, "), "c": base, "d": b"tiny", "e": b""}
    for name, data in contents.items():
        (folder / name).write_bytes(data)
    return [folder / name for name in contents]


@pytest.mark.parametrize("family", ["texts", "ssdeep"])
def test_dedup_stops_where_an_interrupted_run_has_left_its_output(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, family: str
) -> None:
    """The recovered output of an interrupted run is not replaced."""
    out, new = tmp_path / "out", "Nothing like the others at all."
    arguments: list[object] = ["dedup", write(tmp_path / "new.jsonl", [("x", new)]), "--id-column", "url"]
    if family == "ssdeep":
        store = tmp_path / "files.store"
        call("store", "create", store, "--recipe", "ssdeep")
        arguments = ["dedup", "--family", "ssdeep", *files(tmp_path / "files")]
    arguments += ["--store", store, "--out", out]

    with monkeypatch.context() as patch:
        patch.setattr(atomic_write.StagedOutput, "commit_folder", mock.Mock(side_effect=OSError(5, "broken")))
        assert "what is new is remembered" in call(*arguments).err
    assert not out.exists()
    check_message(1, "use it, then run again", *arguments, "--overwrite")
    expected = str(tmp_path / "files" / "a") if family == "ssdeep" else new
    assert expected in (out / ("kept.nul" if family == "ssdeep" else "kept.jsonl")).read_text()
    if family == "texts":
        assert 0 == call(*arguments, "--overwrite", "-q").code
        assert "" == (out / "kept.jsonl").read_text()


def test_dedup_of_files_with_a_store_remembers_what_it_keeps(tmp_path: Path) -> None:
    """The output equals that of --against; a second run keeps nothing, not even the empty file again."""
    path, out = tmp_path / "files.store", tmp_path / "fresh"
    a, b, c, d, e = map(str, files(tmp_path / "files"))
    call("store", "create", path, "--recipe", "ssdeep", "--threshold", "70")
    call("store", "add", path, a)
    arguments = ["dedup", "--family", "ssdeep", b, c, d, e]
    assert 0 == call(*arguments, "--against", path, "--out", tmp_path / "expected", "-q").code
    result = succeed(*arguments, "--store", path, "--out", out)
    assert f"2 kept, listed in {out / 'kept.nul'}, added to {path}" in " ".join(result.err.split())
    for name in ("kept.nul", "removed.nul", "clusters.jsonl", "pairs.jsonl"):
        assert (tmp_path / "expected" / name).read_bytes() == (out / name).read_bytes()
    summaries = [json.loads((folder / "summary.json").read_text()) for folder in (tmp_path / "expected", out)]
    # The threshold that is not given is the store's.
    assert ([70, 70], str(path)) == ([each["threshold"] for each in summaries], summaries[1]["store"])
    with nk.Store.open(path) as store:
        assert [a, d, e] == [item.id for batch in store.iter_documents() for item in batch]
    again = call(*arguments, "--store", path, "--out", out, "--overwrite", "--json")
    assert (0, 4) == (again.json()["kept"], again.json()["removed"])
    assert 3 == call("store", "info", path, "--json").json()["documents"]
    for options in (["--out", "-"], ["--out", "o", "--against", a]):
        assert "a folder as --out, and no --against" in call(*arguments, "--store", path, *options).err
    inside = call(*arguments, "--store", path, "--out", path / "segments" / "out")
    assert 2 == inside.code, inside.err


def test_files_are_added_checked_and_named_by_their_paths(tmp_path: Path) -> None:
    """Inputs are files and folders; unreadable files are skipped with exit code 1."""
    path, folder = tmp_path / "files.store", tmp_path / "files"
    a, b, c, d, e = map(str, files(folder))
    made = call("store", "create", path, "--recipe", "ssdeep", "--threshold", "70", "--json")
    assert (0, 70) == (made.code, made.json()["threshold"])
    result = call("store", "add", path, folder)
    lines = [line.split("\t") for line in result.lines]
    assert [[a, "new", "-", "-", "-"], [b, "near", a], [c, "exact", a, "0", "100.0000"]] == [
        lines[0], lines[1][:3], lines[2],
    ]  # fmt: skip
    assert [[d, "new"], [e, "new"]] == [line[:2] for line in lines[3:]]
    missing = call("check", "--store", path, a, tmp_path / "none", "--best", "1", "--json")
    rows = missing.objects()
    assert (1, ["exact"], [a]) == (missing.code, [row["status"] for row in rows], [row["match"] for row in rows])
    assert [[a]] == [[item["id"] for item in row["matches"]] for row in rows]
    assert "none" in missing.err
    assert 1 == call("check", "--store", path, tmp_path / "none", "--strict").code
    assert "known" == call("store", "add", path, b, "--json").json()["status"]
    check_message(2, "files and folders", "store", "add", path, folder, "--text-column", "body")
    assert 2 == call("store", "create", tmp_path / "x", "--recipe", "ssdeep", "--bits", "64").code


def test_hubs_among_the_files_of_a_store_or_index_are_told(tmp_path: Path) -> None:
    """`--skip-hubs` limits look-ups among older files, with a warning."""
    rng = np.random.default_rng(4)
    common, folder, old = rng.bytes(6000), tmp_path / "new", tmp_path / "old"
    folder.mkdir()
    old.mkdir()
    for number in range(6):
        (old / str(number)).write_bytes(common + rng.bytes(6000))
    (folder / "one").write_bytes(common + rng.bytes(6000))
    store = tmp_path / "files.store"
    call("store", "create", store, "--recipe", "ssdeep", "--threshold", "100")
    assert 0 == call("store", "add", store, old, "-q").code
    for against in (store, old):
        out = tmp_path / f"out of {against.name}"
        options = ["--against", against, "--threshold", "100", "--out", out, "--skip-hubs", "2", "-q"]
        result = succeed("dedup", folder, "--family", "ssdeep", *options)
        assert "look-ups were left out, of 7-grams that more than skip_hubs=2 digests share" in result.err
        assert json.loads((out / "summary.json").read_text())["skipped"] > 0


def test_vectors_come_and_go_through_python_alone(tmp_path: Path) -> None:
    """Commands that need vectors are errors that name Python."""
    path, vectors = tmp_path / "vectors.store", np.eye(4)
    family = nk.families.Hyperplane(bits=32, seed=1).fit(vectors)
    with nk.Store.create(path, family, threshold=0.9) as store:
        store.add(vectors, ["a", "b", "c", "d"])
    corpus = write(tmp_path / "corpus.jsonl", ROWS)
    for command in ("add", "check"):
        check_message(2, "Python", *on_store(command, path), corpus)
    about = call("store", "info", path, "--json").json()
    assert ("cosine", 4, 4) == (about["metric"], about["dimension"], about["documents"])
    assert 0 == call("store", "remove", path, "a", "-q").code
    assert 0 == call("store", "merge", path, "-q").code
    assert 0 == call("store", "verify", path).code
    assert "new" == call("store", "get", path, "b").json()["status"]
    assert 0 == call("store", "backup", path, tmp_path / "copy").code
    assert 0 == call("store", "export", path, "--out", tmp_path / "out.jsonl", "-q").code
    assert [0.0, 1.0, 0.0, 0.0] == json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])["vector"]


@pytest.mark.parametrize("limit", ["64M", "1Mi", "10%", "0.5 %"])
def test_a_memory_limit_is_bytes_or_a_share(tmp_path: Path, limit: str) -> None:
    """Results do not depend on the limit; other values are errors."""
    path, corpus = tmp_path / "s", write(tmp_path / "corpus.jsonl", ROWS)
    call("store", "create", path, "--threshold", "0.7")
    result = call("store", "add", path, corpus, "--id-column", "url", "--memory-limit", limit)
    assert ["new", "exact", "near", "new", "new"] == [line.split("\t")[1] for line in result.lines]
    assert 0 == call("store", "merge", path, "--memory-limit", limit, "-q").code
    result = call("check", "--store", path, corpus, "--id-column", "url", "--memory-limit", limit)
    assert ["exact", "exact", "near", "exact", "new"] == [line.split("\t")[1] for line in result.lines]
    for wrong in ("much", "0", "101%", "-1"):
        assert 2 == call("check", "--store", path, corpus, f"--memory-limit={wrong}").code


def test_a_store_without_texts_says_what_it_has(tmp_path: Path) -> None:
    """Features verify like texts; texts and exports are not available."""
    path, corpus = tmp_path / "s", write(tmp_path / "corpus.jsonl", ROWS)
    assert 0 == call("store", "create", path, "--threshold", "0.7", "--text", "features").code
    result = call("store", "add", path, corpus, "--id-column", "url")
    assert ["new", "exact", "near", "new", "new"] == [line.split("\t")[1] for line in result.lines]
    for command in (["get", path, "a", "--with-text"], ["export", path, "--out", tmp_path / "o.jsonl"]):
        done = call("store", *command)
        assert done.code
        assert "features(ids)" in done.err
    succeed("dedup", corpus, "--against", path, "--id-column", "url", "--out", tmp_path / "out", "-q")
    # The text without letters is a copy of nothing.
    assert ["e"] == [row["url"] for row in json_lines(tmp_path / "out" / "kept.jsonl")]


def test_commands_tell_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress covers megabytes read, documents added, and files merged, verified and copied."""
    events: list[tuple[str, int, int | None]] = []

    @contextmanager
    def recorded(*, quiet: bool) -> Iterator[Progress]:
        yield lambda stage, done, total: events.append((stage, done, total))

    monkeypatch.setattr("nearkin.cli.store.progress_bars", recorded)
    monkeypatch.setattr("nearkin.cli.store_lifecycle.progress_bars", recorded)
    path, store = tmp_path / "a.jsonl", tmp_path / "a.store"
    path.write_text("".join(json.dumps({"text": f"words of text {i} " * 400}) + "\n" for i in range(200)))
    whole = path.stat().st_size >> 20
    assert whole >= 1
    assert 0 == call("store", "create", store, "-q").code
    for command in ("add", "check"):
        events.clear()
        assert 0 == call(*on_store(command, store), path).code
        assert ("read, MB", whole, whole) in events
        assert (command != "check") == any(stage == "add" for stage, _, _ in events)
    for name, *more in (("merge",), ("verify",), ("backup", tmp_path / "b.store")):
        events.clear()
        assert 0 == call("store", name, store, *more).code
        assert events
        assert events[-1][1] == events[-1][2]


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_a_column_that_no_document_has_is_told_before_any_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    """A missing column is an error before any batch is added."""
    monkeypatch.setattr("nearkin.io.records.BLOCK", 1 << 10)
    monkeypatch.setattr("nearkin.io.parquet.BLOCK", 1 << 10)
    store, rows = tmp_path / "a.store", [{"text": f"words of text {i} " * 9, "source": "a"} for i in range(60)]
    path = write_rows(tmp_path / f"a.{ending}", rows)
    assert 0 == call("store", "create", store, "-q").code
    done = call("store", "add", store, path, "--column", "host")
    assert (1, "") == (done.code, done.out)
    assert "host" in done.message
    assert "source" in done.message
    assert 0 == call("store", "info", store, "--json").json()["documents"]
    assert 0 == call("store", "add", store, path, "--column", "source", "-q").code
    assert 60 == call("store", "info", store, "--json").json()["documents"]


@pytest.mark.parametrize("recipe", ["ssdeep", None])
def test_files_of_the_store_are_no_documents(tmp_path: Path, recipe: str | None) -> None:
    """A store inside the input folder is skipped, counted and reported."""
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    store = folder / "inner" / "a.store"
    assert 0 == call("store", "create", store, *(["--recipe", recipe] if recipe else []), "-q").code
    for i in range(3):
        (folder / "inner" / f"{i}.txt").write_text(f"words of text {i} and no other " * 50)
    for command, _ in (("add", 1), ("add", 2), ("check", 3)):
        # By whatever name.
        done = succeed(*on_store(command, store), folder / "inner" / ".." / "inner", "--json")
        assert 3 == len(done.objects())
        assert "left out: files of" in done.message
        assert "a.store (" in done.message
    assert 3 == call("store", "info", store, "--json").json()["documents"]
    assert 0 == call("store", "verify", store).code
    # The store alone is nothing to remember.
    done = call("store", "add", store, store)
    assert (0 if recipe else 1, "") == (done.code, done.out)
    family = ["--family", "ssdeep"] if recipe else []
    done = succeed("dedup", folder, *family, "--store", store, "-o", tmp_path / "out", "--json")
    assert (3, True) == (done.json()["documents"], "a.store (" in done.message)


def test_a_store_without_its_log_is_salvaged(tmp_path: Path) -> None:
    """The command says what is missing, and its exit code is 1 if something is."""
    path = tmp_path / "store"
    with nk.Store.create(path) as store:
        store.add(["some words of a document", "other words of another one"], ["a", "b"])
        store.merge()
        store.add(["a document that waits"], ["c"])
    done = succeed("store", "salvage", path, "--out", tmp_path / "whole")
    assert "3 documents, 1 of them from the log" in done.message + str(done.out)
    (path / "log.sqlite").unlink()
    check_message(1, "missing: rows 2 to 2, 1 documents", "store", "salvage", path, "--out", tmp_path / "new")
    with nk.Store.open(tmp_path / "new") as store:
        assert ["some words of a document"] == store.texts(["a"])
    assert 0 == call("store", "adopt", tmp_path / "new").code
