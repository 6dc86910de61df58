"""`nearkin check --url`, and `nearkin store` with a URL in the place of the folder: the output is the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from live import Service, serving

import nearkin as nk
from command import call as run
from command import write_jsonl
from nearkin.cli.store import read_token
from nearkin.errors import InputError

FOX = "The quick brown fox jumps over the lazy dog, and runs away."
ROWS = {"a": FOX, "b": FOX, "c": FOX.replace("quick", "quicker"), "d": "Something else, about cats.", "e": "!!"}
BY_ID = ("--id-column", "id")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Path, Path]]:
    """A service of an empty store of texts, a store beside it that is asked the same, and a corpus."""
    folder = tmp_path_factory.mktemp("pages")
    for name in ("served", "mirror"):
        nk.Store.create(folder / name, threshold=0.7).close()
    with serving(folder / "served", "--backups", str(folder)) as service:
        yield service, folder / "mirror", write_jsonl(folder / "corpus.jsonl", ROWS)


def test_texts_are_answered_alike(pages: tuple[Service, Path, Path]) -> None:
    """Adding, checking, looking, removing, merging: the same lines and exit codes."""
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
        here, there = (run("store", command, place, *words) for place in (mirror, service.url))
        assert (here.code, here.data) == (there.code, there.data), (command, there.err)
        if command == "check":
            by_url = run("check", "--url", service.url, *words)
            assert (here.code, here.data) == (by_url.code, by_url.data), by_url.err
    about = run("store", "info", service.url, "--json").json()
    own = run("store", "info", mirror, "--json").json()
    sizes = ("store", "bytes")
    assert service.url == about["store"]
    assert {name: own[name] for name in own if name not in sizes} == {
        name: about[name] for name in about if name not in sizes
    }


def test_a_backup_is_made_beside_the_service(pages: tuple[Service, Path, Path]) -> None:
    """And printed where."""
    service, mirror, _ = pages
    done = run("store", "backup", service.url, "copy")
    assert (0, str(mirror.parent / "copy")) == (done.code, done.out.strip())
    with nk.Store.open(mirror.parent / "copy", "r") as copy:
        copy.verify()
    again = run("store", "backup", service.url, "copy")
    assert 1 == again.code
    assert "copy" in again.message


def test_files_are_answered_alike(tmp_path: Path) -> None:
    """Their bytes are sent; what can't be read is left out, and told by the exit code."""
    text = b"".join(b"line %d of a file that will change a little\n" % number for number in range(400))
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a").write_bytes(text)
    (folder / "b").write_bytes(text.replace(b"line 200 ", b"LINE 200, "))
    (folder / "c").write_bytes(text)
    for name in ("served", "mirror"):
        nk.Store.create(tmp_path / name, "ssdeep", threshold=70).close()
    with serving(tmp_path / "served") as service:
        for command, *words in (("check", folder), ("add", folder, "--json"), ("check", folder / "b", folder / "none")):
            here, there = (run("store", command, place, *words) for place in (tmp_path / "mirror", service.url))
            assert (here.code, here.data) == (there.code, there.data), (command, there.err)
        by_url = run("check", "--url", service.url, folder)
        assert 3 == len(by_url.lines)
        assert 2 == run("check", "--url", service.url, folder, "--id-column", "x").code


def test_what_is_no_service_is_said(tmp_path: Path) -> None:
    """Commands that are for a folder, options that are for the other, a URL that is none."""
    nk.Store.create(tmp_path / "store").close()
    corpus = write_jsonl(tmp_path / "corpus.jsonl", {"a": FOX})
    (tmp_path / "token").write_text("a-token-of-ours\n")
    url = "http://127.0.0.1:1"
    for words, code, message in (
        (("store", "verify", url), 2, "on the machine of the store"),
        (("store", "create", url), 2, "on the machine of the store"),
        (("store", "export", url, "--out", tmp_path / "x.jsonl"), 2, "on the machine of the store"),
        (("store", "import", url, corpus), 2, "on the machine of the store"),
        (("store", "info", tmp_path / "store", "--token-file", tmp_path / "token"), 2, "--token-file"),
        (("store", "merge", url, "--memory-limit", "1G"), 2, "--memory-limit"),
        (("store", "info", "http://"), 2, "URL of a service"),
        (("check", corpus), 2, "--url is missing"),
        (("check", "--url", tmp_path / "store", corpus), 2, "--url"),
        (("check", "--url", url, corpus, "--token-file", tmp_path / "none"), 1, "no such file"),
    ):
        done = run(*words)
        assert code == done.code, (words, done.err)
        assert message in done.message, words


def test_a_token_is_read_from_a_file(tmp_path: Path) -> None:
    """Alone, or the service's own file; a change takes one that may write."""
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


def test_tokens_are_asked_for(tmp_path: Path) -> None:
    """By a service that has some; one that may read answers questions alone."""
    tokens = tmp_path / "tokens"
    tokens.write_text("read a-token-that-reads\nwrite a-token-that-writes\n")
    tokens.chmod(0o600)
    reader = tmp_path / "reader"
    reader.write_text("a-token-that-reads\n")
    corpus = write_jsonl(tmp_path / "corpus.jsonl", {"a": FOX})
    with serving(tmp_path / "store", "--token-file", str(tokens)) as service:
        done = run("check", "--url", service.url, corpus)
        assert (1, True) == (done.code, "give the client token=" in done.message), done.err
        assert 0 == run("check", "--url", service.url, corpus, "--token-file", reader).code
        refused = run("store", "add", service.url, corpus, "--token-file", reader)
        assert (1, True) == (refused.code, "write token" in refused.message), refused.err
        added = run("store", "add", service.url, corpus, "--token-file", tokens, *BY_ID)
        assert (0, "a") == (
            added.code,
            json.loads(run("store", "get", service.url, "a", "--token-file", reader).out)["id"],
        )
