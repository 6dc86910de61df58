"""nearkin.io.remote: inputs by URL, in an in-memory file system and over HTTP on localhost."""

from __future__ import annotations

import gzip
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import fsspec
import pytest

from command import run
from corpora import TEXTS, check_refused, encode, read_all, texts_in
from nearkin.errors import InputError, MissingExtraError, NearkinError, OutputError, ParameterError
from nearkin.io import open_corpus
from nearkin.io.remote import check_new, document_id, expand, is_folder, is_url, name_in, short_url, write_file


@pytest.fixture
def bucket() -> Iterator[str]:
    """Create a bucket with two files, and one file in a folder."""
    system = fsspec.filesystem("memory")
    for name, kind in (("b/one.jsonl.gz", "jsonl"), ("b/two.jsonl", "jsonl"), ("b/more/x.parquet", "parquet")):
        data = encode(kind, TEXTS)
        system.pipe(f"/{name}", gzip.compress(data) if name.endswith("gz") else data)
    yield "memory://b"
    system.rm("/b", recursive=True)


def test_names() -> None:
    """A URL has a protocol, and the query of a web address is not part of the file name."""
    assert [True, True, False, False] == [is_url(n) for n in ("s3://a/b", "https://a", "C:\\a", "a/b")]
    assert "/a.jsonl.gz" == name_in("https://h/a.jsonl.gz?sig=x.y#z")


def test_files_globs_and_folders(bucket: str) -> None:
    """Globs and folders are expanded and sorted by name."""
    assert [f"{bucket}/two.jsonl"] == expand(f"{bucket}/two.jsonl")
    assert ["memory:///b/one.jsonl.gz", "memory:///b/two.jsonl"] == [
        url.replace("memory://b", "memory:///b") for url in expand(f"{bucket}/*.jsonl*")
    ]
    assert 3 == len(expand(bucket))
    with pytest.raises(InputError, match="no file matches"):
        expand(f"{bucket}/*.csv")


@pytest.mark.parametrize("name", ["one.jsonl.gz", "two.jsonl", "more/x.parquet"])
def test_a_remote_file_is_a_corpus(bucket: str, name: str) -> None:
    """Rows can be looked up in the spool, and a second pass is refused."""
    with open_corpus(f"{bucket}/{name}") as corpus:
        texts, _ = read_all(corpus)
        assert TEXTS == texts
        assert [TEXTS[1]] == list(corpus.texts([1]))
        assert [f"{bucket}/{name}"] == corpus.urls
        assert [] == corpus.paths
        with pytest.raises(NearkinError, match="are read once"):
            read_all(corpus)


def test_a_folder_that_is_to_be_written(bucket: str, tmp_path: Path) -> None:
    """A folder that is not empty is refused. Writing a file creates local parent folders."""
    with pytest.raises(ParameterError, match=r"empty or does not exist; it contains .*b/(more|one|two)"):
        check_new(bucket)
    for url in (f"{bucket}/new/out", (tmp_path / "new" / "out").as_uri()):
        check_new(url)
        assert not is_folder(f"{url}/deep")
        write_file(f"{url}/deep/a.json", b"{}")
        assert is_folder(f"{url}/deep")
        assert b"{}" == fsspec.open(f"{url}/deep/a.json").open().read()
        with pytest.raises(ParameterError):
            check_new(url)
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"file/a\.json: can't be written: "):
        write_file((tmp_path / "file").as_uri() + "/a.json", b"{}")


@contextmanager
def serving(handler: Any) -> Iterator[int]:
    """Serve requests on a port of this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_over_http(tmp_path: Path) -> None:
    """A file is read over HTTP; a missing one is an error."""
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(encode("csv", TEXTS)))
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    handler.func.log_message = lambda *_: None  # type: ignore[attr-defined]
    with serving(handler) as port:
        assert TEXTS == texts_in(f"http://127.0.0.1:{port}/a.csv.gz?token=x")
        check_refused("no such file", f"http://127.0.0.1:{port}/b.csv")


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing fsspec, a missing protocol package and an unknown protocol have different errors."""
    with pytest.raises(InputError, match="protocol"):
        open_corpus("gopher2://x/a.jsonl")
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(MissingExtraError, match="s3"):
        open_corpus("s3://bucket/a.jsonl")
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(MissingExtraError, match=r"pip install '.*\[remote\]'"):
        open_corpus("memory://b/a.jsonl")


SECRETS = ("PASSWORD", "SIGNATURE", "FRAGMENT")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://h/a.jsonl", "https://h/a.jsonl"),
        ("https://u:PASSWORD@h:8/a?sig=SIGNATURE", "https://u:***@h:8/a?…"),
        ("https://PASSWORD@h/a#FRAGMENT", "https://***@h/a?…"),
        ("https://u:PASS@WORD@h?SIGNATURE", "https://u:***@h?…"),
        ("HTTP://:PASSWORD@h", "HTTP://***@h"),
        ("s3://key:PASSWORD@bucket/part-?.jsonl", "s3://key:***@bucket/part-?.jsonl"),
        ("abfs://c/x?sig=SIGNATURE", "abfs://c/x?…"),
        ("404, url='https://h/a?SIGNATURE' and http://u:PASSWORD@h", "404, url='https://h/a?…' and http://u:***@h"),
        ("C:\\a?b#c", "C:\\a?b#c"),
        ("https:/u:PASSWORD@h/a?SIGNATURE", "https:/u:***@h/a?…"),
        ("https:\\\\u:PASSWORD@h/a", "https:\\\\u:***@h/a"),
        ("https:///u:PASSWORD@h/a", "https:///u:***@h/a"),
    ],
)
def test_urls_are_shown_without_secrets(url: str, expected: str) -> None:
    """Passwords, queries and fragments are left out; the result does not change again."""
    assert expected == short_url(url) == short_url(short_url(url))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://h/a.txt", "https://h/a.txt"),
        ("https://h/a?id=1&Page=b-2", "https://h/a?id=1&Page=b-2"),
        ("https://h/a?id=1&sig=SIGNATURE#FRAGMENT", "https://h/a?id=1&…"),
        ("https://h/a?id=1#FRAGMENT", "https://h/a?id=1&…"),
        ("https://u:PASSWORD@h/a?version=7", "https://u:***@h/a?version=7"),
        ("https://u:pa?id=PASSWORD@h/a", "https://u:pa?…"),
        ("https://h/a?SIGNATURE", "https://h/a?…"),
        ("https://h/a?file=https%3A%2F%2Fu%3APASSWORD%40h", "https://h/a?…"),
        ("abfs://c/x?versionId=3&sig=SIGNATURE", "abfs://c/x?versionId=3&…"),
        ("s3://bucket/part-?.txt", "s3://bucket/part-?.txt"),
    ],
)
def test_ids_of_urls_have_no_secrets(url: str, expected: str) -> None:
    """The id of a document has the parameters that number or name it, and no others."""
    assert expected == document_id(url)
    assert not any(secret in expected for secret in SECRETS)


def test_urls_whose_ids_are_equal_are_refused() -> None:
    """URLs that differ in a public parameter are two documents; those that differ in a secret alone are an error."""
    urls = [f"https://h/a?id={number}&token=PASSWORD" for number in range(2)]
    with open_corpus(urls, format="files") as corpus:
        assert urls == corpus.urls
    urls = [f"https://h/a?id=1&token=PASSWORD{number}" for number in range(2)]
    with pytest.raises(InputError, match="has the id of another input") as caught:
        open_corpus(urls, format="files")
    assert "https://h/a?id=1&…" == caught.value.place
    assert "PASSWORD" not in str(caught.value)
    open_corpus(urls, format="jsonl").close()


class Answer(SimpleHTTPRequestHandler):
    """Serves one file under every path but /missing."""

    content = b'{"text": "a text about nothing in particular"}\n' * 9

    def do_HEAD(self) -> None:
        """Send the headers."""
        self.send_response(404 if "missing" in self.path else 200)
        self.send_header("Content-Length", str(len(self.content) + 9))
        self.end_headers()

    def do_GET(self) -> None:
        """Send good records and a bad one."""
        self.do_HEAD()
        if "missing" not in self.path:
            self.wfile.write(self.content + b'{"text":\n')

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@pytest.mark.parametrize("name", ["found.jsonl", "missing.jsonl", "format.unknown", "several.jsonl"])
def test_no_output_of_a_run_has_the_secrets_of_its_url(name: str, tmp_path: Path) -> None:
    """Neither files nor messages contain a password or a signature, whether the run succeeds or fails."""
    pytest.importorskip("aiohttp")
    options: list[str | Path] = ["--report", "--checkpoint", tmp_path / "work", "--max-malformed", "1"]
    with serving(Answer) as port:
        url = f"http://user:PASSWORD@127.0.0.1:{port}/{name}?X-Amz-Signature=SIGNATURE#FRAGMENT"
        urls = [url, url] if name == "several.jsonl" else [url]
        done = run("dedup", *urls, "--out", tmp_path / "out", *options)
    assert (name != "found.jsonl") == (done.returncode != 0), done.stderr
    if name == "found.jsonl":
        assert "user:***@127.0.0.1" in (tmp_path / "out" / "summary.json").read_text()
    written = {str(path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    outputs = {**written, "stdout": done.stdout, "stderr": done.stderr}
    found = [(place, secret) for place, data in outputs.items() for secret in SECRETS if secret.encode() in data]
    assert [] == found
