"""Requests of files: access logs, JSON lines, plain lines, recordings, and malformed lines."""

from __future__ import annotations

import gzip
import io
import json
import sys
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearkin.errors import InputError, ParameterError
from nearkin.io.decompress import MAGIC
from nearkin.patterns import requests
from nearkin.patterns.requests import Fields, RequestReader
from nearkin.patterns.urls import UrlPatterns

LINE = '{client} - - [17/May/2015:10:05:{second:02} +0200] "GET /a/{number}?b=\\"c HTTP/1.1" 200 5 "-" "agent"\n'


def read_all(reader: RequestReader) -> tuple[list[bytes], list[object], list[object]]:
    """Return URLs, times and clients of all batches."""
    urls: list[bytes] = []
    times: list[object] = []
    clients: list[object] = []
    for batch in reader:
        urls += batch.urls.to_pylist()
        times += [None] * len(batch.urls) if batch.times is None else batch.times.tolist()
        clients += [None] * len(batch.urls) if batch.clients is None else list(batch.clients)
    return urls, times, [client.as_py() if hasattr(client, "as_py") else client for client in clients]


def test_a_log_gives_requests_times_and_clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks and compression do not matter; malformed lines are counted with their positions."""
    monkeypatch.setattr(requests, "_BLOCK", 200)
    lines = [LINE.format(client=f"10.0.0.{n}", second=n, number=n) for n in range(50)]
    lines[7] = "broken\n"
    lines[30] = '1 - - [17/May/2015:10:05:03 +0000] "-" 408 0\n'
    for path in (tmp_path / "access.log", tmp_path / "access.log.gz"):
        data = "".join(lines).encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
        reader = RequestReader(path)
        urls, times, clients = read_all(reader)
        assert 48 == len(urls) == len(times) == len(clients)
        assert b'GET /a/0?b="c HTTP/1.1' == urls[0]
        assert datetime(2015, 5, 17, 8, 5) == times[0]
        assert b"10.0.0.0" == clients[0]
        assert {"no time in brackets": 1, "an empty request": 1} == reader.malformed
        assert [(str(path), 8, "no time in brackets"), (str(path), 31, "an empty request")] == reader.first_malformed
        patterns = UrlPatterns()
        for batch in RequestReader([path]):
            patterns.partial_fit(batch.urls, batch.methods, batch.times, batch.clients)
        assert ["GET /a/{int}?b={text}"] == patterns.table()["pattern"].to_pylist()
        assert 48 == patterns.count


def test_json_fields_are_read_by_name(tmp_path: Path) -> None:
    """Nested names, and times as texts or numbers; records without a URL are counted."""
    path = tmp_path / "requests.jsonl"
    records = [
        {"req": {"url": "/a/1", "m": "GET"}, "t": "2024-05-01T10:00:00.5Z", "ip": "10.0.0.1"},
        {"req": {"url": "/a/2"}, "t": 1714557600},
        {"req": {}, "t": 1},
        {"req": {"url": "/a/3"}, "t": "yesterday"},
        {"req": {"url": "/a/4"}, "t": "[01/May/2024:12:00:00 +0200]"},
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records) + "{\n\n")
    reader = RequestReader(path, fields=Fields("req.url", "req.m", "t", "ip"))
    (batch,) = list(reader)
    assert [b"/a/1", b"/a/2", b"/a/4"] == batch.urls.to_pylist()
    assert ["GET", None, None] == batch.methods
    assert batch.times is not None
    assert ["2024-05-01T10:00:00.500000", *["2024-05-01T10:00:00.000000"] * 2] == [str(time) for time in batch.times]
    assert ["10.0.0.1", None, None] == batch.clients
    assert {"no text in 'req.url'": 1, "no valid time in 't'": 1, "invalid JSON": 1} == reader.malformed
    assert [3, 4, 6] == [line for _, line, _ in reader.first_malformed]
    assert 3 == UrlPatterns().fit(batch.urls, batch.methods, batch.times, batch.clients).count


def test_lines_and_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One URL per line and standard input are read."""
    plain = tmp_path / "urls"
    plain.write_bytes(b"/a\n\nhttp://x.example/b\r\n\xff\xfe")
    assert [b"/a", b"http://x.example/b", b"\xff\xfe"] == read_all(RequestReader(plain))[0]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"/from/stdin\n"))))
    assert [b"/from/stdin"] == read_all(RequestReader("-"))[0]


def test_unreadable_files_are_errors(tmp_path: Path) -> None:
    """Missing files, damaged archives, and unknown formats."""
    with pytest.raises(InputError, match="can't be read"):
        list(RequestReader(tmp_path / "missing"))
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"/a\n" * 9000)[:-9])
    with pytest.raises(InputError, match=r"cut.gz can't be read"):
        list(RequestReader(tmp_path / "cut.gz"))
    (tmp_path / "damaged.xz").write_bytes(b"\xfd7zXZ\0 no more of it")
    with pytest.raises(InputError, match=r"damaged.xz can't be read"):
        list(RequestReader(tmp_path / "damaged.xz"))
    with pytest.raises(ParameterError, match="format"):
        RequestReader("x", format="csv")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="inputs"):
        RequestReader([])


@settings(max_examples=100, deadline=None)
@given(data=st.binary(max_size=300), format=st.sampled_from(["log", "txt", "jsonl"]))
def test_any_bytes_are_requests_or_malformed(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, format: str
) -> None:
    """Every line that is not blank is one or the other."""
    path = tmp_path_factory.mktemp("requests") / "file"
    path.write_bytes(data)
    if any(data.startswith(magic) for magic in MAGIC):
        return
    reader = RequestReader(path, format=format)  # type: ignore[arg-type]
    found = sum(len(batch.urls) for batch in reader)

    def is_blank(line: bytes) -> bool:
        return not line.strip() if format == "jsonl" else max(line, default=0) <= 32

    assert sum(not is_blank(line) for line in data.split(b"\n")) == found + sum(reader.malformed.values())
