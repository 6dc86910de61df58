"""Tests of the commands for the life cycle of a store: expire, copy and restore."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import nearkin as nk
from command import call as run
from command import check_message
from corpora import write_rows

FOX = "The quick brown fox jumps over the lazy dog, and runs away."
CATS = "Something else, about cats that sleep all day."


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a store of four documents with dates."""
    with nk.Store.create(tmp_path / "pages.store", threshold=0.6) as store:
        store.check_and_add(
            [FOX, FOX.replace("quick", "quicker"), CATS, "No date here at all."],
            ["a", "b", "c", "d"],
            columns={"published": ["2026-01-01", "2026-02-01", "2026-03-01", None]},
        )
    return tmp_path / "pages.store"


def test_expire_says_how_many(store: Path) -> None:
    """A dry run counts and changes nothing; the command prints the number and what remains."""
    arguments = ["store", "expire", str(store), "--column", "published", "--before", "2026-02-15"]
    planned = run(*arguments, "--dry-run")
    assert f"{store}: 2 documents would expire, 1 without a time kept; 4 documents" in planned.out
    result = json.loads(run(*arguments, "--json").out)
    assert (2, 1, 2, False) == tuple(result[name] for name in ("expired", "undated", "documents", "dry_run"))
    assert "0 documents expired; 2 documents" in run("store", "expire", str(store), "--max-age", "1d").out
    for options in ([], ["--max-age", "90"], ["--before", "soon"], ["--column", "x", "--max-age", "1d"]):
        check_message(2, "; use ", "store", "expire", str(store), *options)
    assert 2 == run("store", "expire", "http://host/", "--max-age", "1d").code


def corpus(path: Path, texts: list[str]) -> Path:
    """Write texts with the ids u0, u1 and so on."""
    write_rows(path, ({"url": f"u{n}", "text": text} for n, text in enumerate(texts)))
    return path


def test_dedup_creates_a_store_that_does_not_exist(tmp_path: Path) -> None:
    """The new store has the options of the run, and the command says so; a second run finds every document."""
    path, new = tmp_path / "new.store", corpus(tmp_path / "new.jsonl", [FOX, FOX.replace("quick", "quicker"), CATS])
    arguments = ["dedup", str(new), "--id-column", "url", "--store", str(path), "--threshold", "0.6", "--recall", "0.9"]
    result = run(*arguments, "--out", str(tmp_path / "out"))
    assert 0 == result.code, result.err
    assert f"created store {path}: char:4|binary|xxh3|minhash:128:fast, threshold 0.6" in result.err
    with nk.Store.open(path, "r") as store:
        assert (["u0", "u2"], 0.6) == (
            [doc.id for batch in store.iter_documents() for doc in batch],
            store.settings.threshold,
        )
        assert 0.9 <= store.stats().settings["expected_recall"] < 0.98
    again = run(*arguments, "--out", str(tmp_path / "again"), "--json")
    assert "created" not in again.err
    assert 0 == json.loads(again.out)["kept"]


def test_dedup_creates_a_store_of_files(tmp_path: Path) -> None:
    """With --family ssdeep the new store keeps digests."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_bytes(b"".join(b"line %d of a file\n" % n for n in range(400)))
    arguments = ["dedup", "--family", "ssdeep", str(tmp_path / "in"), "--store", str(tmp_path / "files.store")]
    result = run(*arguments, "--threshold", "60", "--out", str(tmp_path / "out"))
    assert 0 == result.code, result.err
    with nk.Store.open(tmp_path / "files.store", "r") as store:
        assert (1, 60, "file") == (len(store), store.settings.threshold, store.settings.kind)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--bands", "10x4"], "--recall with a new store"),
        (["--column", "nowhere"], "nowhere"),
        (["--threshold", "7"], "threshold"),
        (["--measure", "containment"], "containment"),
    ],
)
def test_a_failed_run_leaves_no_new_store(tmp_path: Path, options: list[str], message: str) -> None:
    """A run that fails before it has added anything removes the store that it created."""
    new = corpus(tmp_path / "new.jsonl", [FOX])
    arguments = ["dedup", str(new), "--id-column", "url", "--store", str(tmp_path / "s"), "--out", str(tmp_path / "o")]
    result = run(*arguments, *options)
    assert 0 != result.code
    assert message in result.err
    assert ["new.jsonl"] == sorted(path.name for path in tmp_path.iterdir())


def test_check_refuses_several_stores(store: Path) -> None:
    """A second store is not ignored."""
    refused = run("check", "--text", FOX, "--store", str(store), "--store", "other.store")
    assert (2, True) == (refused.code, "other.store is not allowed; use one store" in refused.err)


def test_copy_changes_recipe_and_threshold(store: Path, tmp_path: Path) -> None:
    """The copy has the new settings and the same documents; another kind of recipe is refused."""
    result = run("store", "copy", str(store), str(tmp_path / "n"), "--recipe", "default", "--bits", "64", "--json")
    assert 0 == result.code, result.err
    about = json.loads(result.out)
    assert (4, "char:4|binary|xxh3|simhash:64", 0.6) == (about["documents"], about["recipe"], about["threshold"])
    with nk.Store.open(tmp_path / "n", "r") as copied:
        assert ["a", "b", "c", "d"] == [doc.id for batch in copied.iter_documents() for doc in batch]
    check_message(
        2, "kind of documents differs", "store", "copy", str(store), str(tmp_path / "m"), "--recipe", "ssdeep"
    )
    assert not (tmp_path / "m").exists()


def test_restore_lists_backups_and_restores_one(store: Path, tmp_path: Path) -> None:
    """Backups are listed; the last one that is not later is copied; if none is, the error lists them."""
    folder = tmp_path / "backups"
    folder.mkdir()
    assert 0 == run("store", "backup", str(store), str(folder / "one"), "-q").code
    lines = [line.split("\t") for line in run("store", "restore", str(folder)).out.splitlines()]
    assert [["one", "4"]] == [[line[0], line[2]] for line in lines]
    result = run("store", "restore", str(folder), "--at", "2999-01-01", "--out", str(tmp_path / "new"))
    assert f"{tmp_path / 'new'}: 4 documents of one" in result.out
    assert "sound, 4 documents" in run("store", "verify", str(tmp_path / "new")).out
    refused = run("store", "restore", str(folder), "--at", "2020-01-01", "--out", str(tmp_path / "other"))
    assert 2 == refused.code
    assert f"one of {lines[0][1]}" in refused.err
    # The folder that `store backup` wrote is a backup, too.
    assert lines == [line.split("\t") for line in run("store", "restore", str(folder / "one")).out.splitlines()]
    assert 0 == run("store", "restore", str(folder / "one"), "--out", str(tmp_path / "third"), "-q").code
    assert "sound, 4 documents" in run("store", "verify", str(tmp_path / "third")).out


def test_check_takes_texts_of_the_command_line(store: Path, tmp_path: Path) -> None:
    """They are checked before the documents of files; a store of files takes none."""
    new = corpus(tmp_path / "new.jsonl", ["Entirely new words here."])
    arguments = ["check", "--store", str(store), "--text", FOX, "--text", "Nobody wrote this."]
    lines = [line.split("\t") for line in run(*arguments).out.splitlines()]
    assert [["text 1", "exact", "a"], ["text 2", "new", "-"]] == [line[:3] for line in lines]
    lines += [["u0", "new", "-", "-", "-"]]
    assert lines == [line.split("\t") for line in run(*arguments, str(new), "--id-column", "url").out.splitlines()]
    nk.Store.create(tmp_path / "files.store", "ssdeep").close()
    refused = run("check", "--store", str(tmp_path / "files.store"), "--text", FOX)
    assert (2, True) == (refused.code, "--text: not with a store of files" in refused.err)
