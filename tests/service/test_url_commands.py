"""`nearkin store` with a URL instead of the folder: the output is the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from threaded import ThreadedService, serve_in_thread

import nearkin as nk
from command import call as run
from command import on_store, write_jsonl
from nearkin.cli.store import read_token
from nearkin.errors import InputError

FOX = "The quick brown fox jumps over the lazy dog, and runs away."
ROWS = {"a": FOX, "b": FOX, "c": FOX.replace("quick", "quicker"), "d": "Something else, about cats.", "e": "!!"}
BY_ID = ("--id-column", "id")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ThreadedService, Path, Path]]:
    """A service with an empty store of texts, a store that gets the same calls, and a corpus."""
    folder = tmp_path_factory.mktemp("pages")
    for name in ("served", "mirror"):
        nk.Store.create(folder / name, threshold=0.7).close()
    with serve_in_thread(folder / "served", backups=folder) as service:
        yield service, folder / "mirror", write_jsonl(folder / "corpus.jsonl", ROWS)


def test_commands_on_texts_equal_those_of_a_store(pages: tuple[ThreadedService, Path, Path]) -> None:
    """Commands on a service and on a store print the same lines and exit codes."""
    service, mirror, corpus = pages
    calls: list[tuple[str, ...]] = [
        ("check", str(corpus), *BY_ID),
        ("add", str(corpus), *BY_ID, "--column", "text"),
        ("add", str(corpus), *BY_ID, "--column", "text", "--json"),
        ("check", str(corpus), *BY_ID, "--best", "2", "--json"),
        ("get", "a", "c", "--with-text"),
        ("remove", "a", "--quiet"),
        ("get", "a"),
        ("get", "a", "--missing-ok"),
        ("merge", "--quiet"),
    ]
    for command, *words in calls:
        here, there = (run(*on_store(command, target), *words) for target in (mirror, service.url))
        assert (here.code, here.data) == (there.code, there.data), (command, there.err)
    about = run("store", "info", service.url, "--json").json()
    own = run("store", "info", mirror, "--json").json()
    sizes = ("store", "bytes")
    assert service.url == about["store"]
    assert {name: own[name] for name in own if name not in sizes} == {
        name: about[name] for name in about if name not in sizes
    }


def test_a_backup_is_created_by_the_service(pages: tuple[ThreadedService, Path, Path]) -> None:
    """A backup is created on the service's machine, and its path is printed."""
    service, mirror, _ = pages
    done = run("store", "backup", service.url, "copy")
    assert (0, str(mirror.parent / "copy")) == (done.code, done.out.strip())
    with nk.Store.open(mirror.parent / "copy", "r") as copy:
        copy.verify()
    again = run("store", "backup", service.url, "copy")
    assert 1 == again.code
    assert "copy" in again.message


def test_commands_on_files_equal_those_of_a_store(tmp_path: Path) -> None:
    """Bytes of files are sent; unreadable files are skipped and reported by the exit code."""
    text = b"".join(b"line %d of a file that will change a little\n" % number for number in range(400))
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a").write_bytes(text)
    (folder / "b").write_bytes(text.replace(b"line 200 ", b"LINE 200, "))
    (folder / "c").write_bytes(text)
    for name in ("served", "mirror"):
        nk.Store.create(tmp_path / name, "ssdeep", threshold=70).close()
    with serve_in_thread(tmp_path / "served") as service:
        for command, *words in (("check", folder), ("add", folder, "--json"), ("check", folder / "b", folder / "none")):
            here, there = (run(*on_store(command, target), *words) for target in (tmp_path / "mirror", service.url))
            assert (here.code, here.data) == (there.code, there.data), (command, there.err)
        assert 3 == len(run("check", "--store", service.url, folder).lines)
        assert 2 == run("check", "--store", service.url, folder, "--id-column", "x").code


def test_invalid_urls_and_options_are_refused(tmp_path: Path) -> None:
    """Commands that need a folder, wrong options and invalid URLs are refused."""
    nk.Store.create(tmp_path / "store").close()
    corpus = write_jsonl(tmp_path / "corpus.jsonl", {"a": FOX})
    (tmp_path / "token").write_text("a-token-of-ours\n")
    url = "http://127.0.0.1:1"
    for words, code, message in (
        (("store", "verify", url), 2, "on the machine of the store"),
        (("store", "create", url), 2, "on the machine of the store"),
        (("store", "export", url, "--out", tmp_path / "x.jsonl"), 2, "on the machine of the store"),
        (("store", "info", tmp_path / "store", "--token-file", tmp_path / "token"), 2, "--token-file"),
        (("store", "merge", url, "--memory-limit", "1G"), 2, "--memory-limit"),
        (("store", "info", "http://"), 2, "URL of a service"),
        (("check", "--store", url, corpus, "--token-file", tmp_path / "none"), 1, "no such file"),
    ):
        done = run(*words)
        assert code == done.code, (words, done.err)
        assert message in done.message, words


def test_a_token_is_read_from_a_file(tmp_path: Path) -> None:
    """The token is read from a file of its own, or from that of the service; changes need a write token."""
    path = tmp_path / "tokens"
    for text, reads, writes in (
        ("alone\n", "alone", "alone"),
        ("# ours\nread first\nwrite second\n", "first", "second"),
        ("\n write  second \n", "second", "second"),
    ):
        path.write_text(text)
        assert (reads, writes) == (read_token(path, "r"), read_token(path, "w"))
    for text in ("", "# none\n", "read only\n", "write a b\n"):
        path.write_text(text)
        with pytest.raises(InputError, match="has no token"):
            read_token(path, "w")


def test_tokens_are_required(tmp_path: Path) -> None:
    """A service with tokens requires one; a read token can't change the store."""
    tokens = tmp_path / "tokens"
    tokens.write_text("read a-token-that-reads\nwrite a-token-that-writes\n")
    tokens.chmod(0o600)
    reader = tmp_path / "reader"
    reader.write_text("a-token-that-reads\n")
    corpus = write_jsonl(tmp_path / "corpus.jsonl", {"a": FOX})
    nk.Store.create(tmp_path / "store").close()
    with serve_in_thread(tmp_path / "store", token_file=tokens) as service:
        done = run("check", "--store", service.url, corpus)
        assert (1, True) == (done.code, "give the client token=" in done.message), done.err
        assert 0 == run("check", "--store", service.url, corpus, "--token-file", reader).code
        refused = run("store", "add", service.url, corpus, "--token-file", reader)
        assert (1, True) == (refused.code, "write token" in refused.message), refused.err
        added = run("store", "add", service.url, corpus, "--token-file", tokens, *BY_ID)
        assert (0, "a") == (
            added.code,
            json.loads(run("store", "get", service.url, "a", "--token-file", reader).out)["id"],
        )
