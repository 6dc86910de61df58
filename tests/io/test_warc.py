"""nearkin.io.warc: the pages and texts of crawls, complete and damaged."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command import call, succeed
from corpora import check_refused, read_all, texts_in
from nearkin.errors import InputError, MissingExtraError, ParameterError
from nearkin.io import BadRecord, OutputDir, base, open_corpus, warc
from nearkin.io.warc import decode

pytest.importorskip("fastwarc")
pytest.importorskip("selectolax")

PAGE = "<title>T</title><p>The very same words of a page that was crawled {}.<script>x({})</script>"
DAMAGED = r"the compressed stream is damaged or cut off after [0-9,]+ bytes, decompressed \("
COMPRESS: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress}


def record(kind: str, content: bytes, number: int, content_type: str, **fields: str) -> bytes:
    """Build a record; the names of fields have _ for -."""
    head = {
        "WARC-Type": kind,
        "WARC-Record-ID": f"<urn:uuid:{number}>",
        "WARC-Date": f"2024-03-{number % 28 + 1:02}T10:00:00Z",
        "WARC-Target-URI": f"http://example.org/{number}",
        **{name.replace("_", "-"): value for name, value in fields.items()},
        "Content-Type": content_type,
        "Content-Length": str(len(content)),
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    return b"WARC/1.0\r\n" + lines.encode("utf-8", "surrogateescape") + b"\r\n" + content + b"\r\n\r\n"


def response(number: int, page: bytes, *, said: str = "text/html; charset=utf-8", status: str = "200 OK") -> bytes:
    """Build a response record with a page."""
    head = f"HTTP/1.1 {status}\r\n" + (f"Content-Type: {said}\r\n" if said else "")
    return record("response", head.encode() + b"\r\n" + page, number, "application/http; msgtype=response")


def conversion(number: int, text: str) -> bytes:
    """Build a record of a WET file."""
    return record("conversion", text.encode(), number, "text/plain")


INFO = record("warcinfo", b"software: tests\r\n", 0, "application/warc-fields")


def write(path: Path, records: list[bytes]) -> Path:
    """Write a file of records, compressed one by one as its name says."""
    compress = COMPRESS[path.suffix if path.suffix == ".gz" else ""]
    path.write_bytes(b"".join([compress(record) for record in records]))
    return path


def crawl(path: Path) -> Path:
    """Write a crawl with three pages, two of them equal, and records that are not pages."""
    return write(
        path,
        [
            INFO,
            record("request", b"GET / HTTP/1.1\r\n\r\n", 1, "application/http; msgtype=request"),
            response(2, PAGE.format("today", 1).encode()),
            record("metadata", b"fetchTimeMs: 3", 3, "application/warc-fields"),
            response(4, b"gone", status="404 Not Found"),
            response(5, b"\x89PNG", said="image/png"),
            record("response", b"20240301 example.org 127.0.0.1", 6, "text/dns"),
            response(7, PAGE.format("today", 2).encode()),
            record("revisit", b"HTTP/1.1 200 OK\r\n\r\n", 8, "application/http; msgtype=response"),
            response(9, b"Wholly other words, plain & <simple>.", said="text/plain"),
        ],
    )


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_pages_are_documents_and_the_rest_is_counted(tmp_path: Path, ending: str) -> None:
    """HTML is read as visible text, plain text unchanged, and header fields as columns."""
    path = crawl(tmp_path / f"crawl.warc{ending}")
    extra = ["url", "date", "status", "content_type", "WARC-Type"]
    with open_corpus(path, extra_columns=extra) as corpus:
        (batch,) = corpus.batches()
        page = "The very same words of a page that was crawled today."
        assert [page, page, "Wholly other words, plain & <simple>."] == list(batch.texts)
        assert ["<urn:uuid:2>", "<urn:uuid:7>", "<urn:uuid:9>"] == list(batch.ids)
        assert [f"http://example.org/{i}" for i in (2, 7, 9)] == list(batch.columns["url"])
        assert [f"2024-03-{i:02}T10:00:00Z" for i in (3, 8, 10)] == list(batch.columns["date"])
        assert [200, 200, 200] == list(batch.columns["status"])
        assert ["text/html", "text/html", "text/plain"] == list(batch.columns["content_type"])
        assert ["response"] * 3 == list(batch.columns["WARC-Type"])
        assert page == corpus.texts([1])[0]
        names = [
            *(f"records of type {kind}" for kind in ("warcinfo", "request", "metadata", "revisit")),
            "responses of status 404",
            "records of content type image/png",
            "responses that are not HTTP",
        ]
        assert dict.fromkeys(names, 1) == corpus.left_out
        assert 0 == corpus.malformed.count


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_what_is_kept_are_records_as_they_came(tmp_path: Path, ending: str) -> None:
    """Kept records follow the warcinfo of their file, one member each, and can be read again."""
    path = crawl(tmp_path / f"crawl.warc{ending}")
    with open_corpus(path) as corpus:
        list(corpus.batches())
        with OutputDir(tmp_path / "out") as out:
            corpus.write_kept([0, 2], out)
    kept = tmp_path / "out" / f"kept.warc{ending}"
    pages = [response(2, PAGE.format("today", 1).encode())]
    pages.append(response(9, b"Wholly other words, plain & <simple>.", said="text/plain"))
    data = kept.read_bytes()
    assert b"".join([INFO, *pages]) == (gzip.decompress(data) if ending else data)
    if ending:
        first = zlib.decompressobj(wbits=31)
        assert INFO == first.decompress(data)
        assert first.eof
    with open_corpus(kept) as corpus:
        assert ["<urn:uuid:2>", "<urn:uuid:9>"] == read_all(corpus)[1]


def test_dedup_of_a_crawl(tmp_path: Path) -> None:
    """The later of two equal pages is kept, and skipped records are reported."""
    path = crawl(tmp_path / "crawl.warc.gz")
    done = succeed("dedup", path, "-o", tmp_path / "out", "--keep", "max:date", "--id-column", "url", "--json")
    assert "records of content type image/png (1)" in done.message
    summary = done.json()
    assert (3, 2, 1) == (summary["documents"], summary["kept"], summary["left_out"]["responses of status 404"])
    table = [json.loads(line) for line in (tmp_path / "out" / "clusters.jsonl").read_text().splitlines()]
    assert {"http://example.org/7"} == {row["representative"] for row in table if row["id"] == "http://example.org/2"}
    with open_corpus(tmp_path / "out" / "kept.warc.gz") as corpus:
        assert ["<urn:uuid:7>", "<urn:uuid:9>"] == read_all(corpus)[1]


def test_wet(tmp_path: Path) -> None:
    """Texts of WET are unchanged, and each input can have its own output file."""
    texts = ["one <b>two</b>", "Zwölf Boxkämpfer", ""]
    for name in "ab":
        write(tmp_path / f"{name}.warc.wet.gz", [INFO, *(conversion(i, text) for i, text in enumerate(texts))])
    with open_corpus(tmp_path / "*.wet.gz") as corpus:
        assert texts * 2 == read_all(corpus)[0]
        assert {"records of type warcinfo": 2} == corpus.left_out
        with OutputDir(tmp_path / "out") as out:
            corpus.write_kept([1, 3], out, layout="input")
    for name, text in (("a", conversion(1, texts[1])), ("b", conversion(0, texts[0]))):
        written = gzip.decompress((tmp_path / "out" / f"kept-{name}.warc.wet.gz").read_bytes())
        assert INFO + text == written


def test_a_folder_of_crawls_is_a_corpus(tmp_path: Path) -> None:
    """A folder and a pipe are read."""
    write(tmp_path / "a.warc", [conversion(1, "one")])
    write(tmp_path / "b.wet", [conversion(2, "two")])
    assert ["one", "two"] == texts_in(tmp_path)
    done = call("text", "hash", "-", "--format", "warc", stdin=gzip.compress(conversion(1, "one two three")))
    assert (0, 1) == (done.code, len(done.lines))
    assert done.out.endswith("\t<urn:uuid:1>\n") or done.out.startswith("<urn:uuid:1>\t")


@pytest.mark.parametrize("block", [64, 300, 1 << 24])
def test_records_cross_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    """Block boundaries do not matter."""
    monkeypatch.setattr("nearkin.io.records.BLOCK", block)
    path = crawl(tmp_path / "crawl.warc")
    with open_corpus(path) as corpus:
        assert ["<urn:uuid:2>", "<urn:uuid:7>", "<urn:uuid:9>"] == read_all(corpus)[1]
        assert 7 == sum(corpus.left_out.values())
        assert 0 == corpus.malformed.count


def reasons_of(path: Path) -> tuple[list[str], list[tuple[int, str]]]:
    """Return the texts, and the malformed records with their reasons."""
    with open_corpus(path, max_malformed=100) as corpus:
        texts = read_all(corpus)[0]
        assert all(
            result == BadRecord(str(path), result.line, result.reason, "record") for result in corpus.malformed.first
        )
        return texts, [(result.line, result.reason) for result in corpus.malformed.first]


def whole(number: int) -> bytes:
    """Build a record that is not damaged."""
    return conversion(number, f"text {number}")


SHORT = conversion(2, "a text that is longer than it says").replace(b"Content-Length: 34", b"Content-Length: 12")
LONG = conversion(2, "a text that is shorter").replace(b"Content-Length: 22", b"Content-Length: 9000")


@pytest.mark.parametrize("block", [128, 1 << 24])
@pytest.mark.parametrize(
    ("damaged", "reason"),
    [
        (SHORT, "Content-Length is 12, and the record does not end there"),
        (LONG, "the record is cut off: it has "),
        (conversion(2, "x").replace(b"Content-Length: 1\r\n", b""), "the record's header has no Content-Length"),
        (b"what is this?\r\n\r\n", "no record begins here"),
        (b"\0" * 5000 + b"\r\n\r\n", "no record begins here"),
        (record("conversion", b"caf\xe9", 2, "text/plain"), "the text is not UTF-8 at byte 3"),
        (conversion(2, "x").replace(b"WARC-Record-ID", b"WARC-Record-No"), "no WARC-Record-ID, which is the id"),
        (response(2, b"x", said="text/html\r\nTransfer-Encoding: chunked"), "Invalid chunk header"),
        (response(2, b"no gzip, but words", said="text/html\r\nContent-Encoding: gzip"), "Gzip decompression error"),
        (response(2, b"x", said="text/html\r\nContent-Encoding: words"), "Unsupported"),
    ],
)
def test_a_damaged_record_costs_itself_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damaged: bytes, reason: str, block: int
) -> None:
    """A damaged record is reported once with its number and reason, and all others are read."""
    monkeypatch.setattr("nearkin.io.records.BLOCK", block)
    path = write(tmp_path / "a.warc", [whole(1), damaged, whole(3), whole(4)])
    texts, result = reasons_of(path)
    assert ["text 1", "text 3", "text 4"] == texts
    assert [2] == [line for line, _ in result]
    assert reason in result[0][1]


def test_the_last_record_is_cut_off(tmp_path: Path) -> None:
    """A truncated last record is malformed; a truncated compressed file is an error."""
    plain = whole(1) + whole(2)
    (tmp_path / "a.warc").write_bytes(plain[:-8])
    assert (["text 1"], [(2, "the record is cut off: it has 2 of 6 bytes")]) == reasons_of(tmp_path / "a.warc")
    packed = gzip.compress(whole(1)) + gzip.compress(whole(2))[:-12]
    (tmp_path / "a.warc.gz").write_bytes(packed)
    with pytest.raises(InputError, match="the gzip stream ends too early"):
        reasons_of(tmp_path / "a.warc.gz")


def test_a_header_that_does_not_end(tmp_path: Path) -> None:
    """A header of more than 32 KiB is malformed."""
    endless = b"WARC/1.0\r\n" + b"X-Field: y\r\n" * 5000
    path = write(tmp_path / "a.warc", [whole(1), endless + b"\r\n\r\n", whole(3)])
    assert (["text 1", "text 3"], [(2, "the record's header has no end")]) == reasons_of(path)


def test_a_record_that_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that exceeds the maximum length is skipped block by block."""
    monkeypatch.setattr("nearkin.io.records.BLOCK", 1 << 12)
    monkeypatch.setattr(base, "MAX_RECORD", 1 << 15)
    monkeypatch.setattr("nearkin.io.records.MAX_RECORD", 1 << 15)
    monkeypatch.setattr(warc, "MAX_RECORD", 1 << 15)
    path = write(tmp_path / "a.warc", [whole(1), conversion(2, "WARC/1.0\r\n\r\n" * 4000), whole(3)])
    texts, result = reasons_of(path)
    assert (["text 1", "text 3"], [2]) == (texts, [line for line, _ in result])
    assert "the record is longer than" in result[0][1]
    # A page that exceeds the limit only after decompression.
    packed = gzip.compress(b"a" * (1 << 16))
    bomb = response(2, packed, said="text/html\r\nContent-Encoding: gzip")
    texts, result = reasons_of(write(tmp_path / "b.warc", [whole(1), bomb, whole(3)]))
    assert (["text 1", "text 3"], 2) == (texts, result[0][0])
    assert "the content is longer than" in result[0][1]


def test_what_says_warcinfo_and_can_not_be_read(tmp_path: Path) -> None:
    """A damaged first record is reported and is not copied to the output."""
    damaged = INFO.replace(b"WARC-Date", b"WARC-Type: conversion\r\nWARC-Date")
    path = write(
        tmp_path / "a.warc", [damaged.replace(b"WARC-Type: warcinfo", b"X-Type: x\r\nWARC-Type: warcinfo"), whole(1)]
    )
    with open_corpus(path, max_malformed=2) as corpus:
        assert "text 1" == read_all(corpus)[0][-1]
        with OutputDir(tmp_path / "out") as out:
            corpus.write_kept([corpus.rows - 1], out)
    assert (tmp_path / "out" / "kept.warc").read_bytes().endswith(whole(1))


def test_a_file_that_was_compressed_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was compressed as one member is read; damage in it is an error."""
    monkeypatch.setattr("nearkin.io.decompress._CHUNK", 1 << 8)
    packed = gzip.compress(b"".join(whole(i) for i in range(1000)))
    path = tmp_path / "a.warc.gz"
    path.write_bytes(packed)
    assert 1000 == len(reasons_of(path)[0])
    for damaged in (packed[:-100], packed[:-8] + bytes(8)):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=DAMAGED):
            reasons_of(path)


def zstd(data: bytes) -> bytes:
    """Compress data as a zstd frame."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


MEMBERS: dict[str, Callable[[bytes], bytes]] = {"bz2": bz2.compress, "xz": lzma.compress, "zst": zstd}


@pytest.mark.parametrize("ending", MEMBERS)
@pytest.mark.parametrize("joined", [False, True])
def test_members_of_other_compressions(tmp_path: Path, ending: str, *, joined: bool) -> None:
    """One member per record, or one for the file, is read; a truncated file is an error."""
    packed = [MEMBERS[ending](whole(i)) for i in range(4)]
    path = tmp_path / f"a.warc.{ending}"
    path.write_bytes(MEMBERS[ending](b"".join(map(whole, range(4)))) if joined else b"".join(packed))
    assert ([f"text {i}" for i in range(4)], []) == reasons_of(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="the compressed stream is damaged or cut off"):
        reasons_of(path)


@settings(max_examples=60)
@given(st.data())
def test_any_bytes_are_read_or_told(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Arbitrary changes give documents, malformed records or an InputError."""
    content = bytearray(INFO + b"".join(map(whole, range(3))) + response(4, b"<p>five"))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("warc") / "a.warc"
    path.write_bytes(bytes(content[: data.draw(st.integers(0, len(content)))]))
    try:
        with open_corpus(path, max_malformed=100, extra_columns=["url"]) as corpus:
            rows = len(read_all(corpus)[0])
            assert rows + corpus.malformed.count + sum(corpus.left_out.values()) <= 6
    except InputError:
        # No record can be read, or the file does not begin with one.
        assert content


@pytest.mark.parametrize(
    ("payload", "charset", "text"),
    [
        ("Привет".encode("koi8-r"), "koi8-r", "Привет"),
        (b"<meta charset='shift_jis'>" + "日本".encode("cp932"), "", "<meta charset='shift_jis'>日本"),
        (b'<meta http-equiv=x content="text/html; charset=gb2312">\x81\x30\x81\x30', "", None),
        ("ключ".encode("cp1251"), "windows-1251", "ключ"),
        (b"\xef\xbb\xbfcaf\xc3\xa9", "latin-1", "café"),
        ("wide".encode("utf-16"), "", "wide"),
        (b"\x93quoted\x94", "iso-8859-1", "“quoted”"),
        (b"caf\xc3\xa9", "", "café"),
        (b"caf\xe9", "", "café"),
        (b"caf\xe9", "no-such-charset", "café"),
        (b"caf\xe9", "utf-8", "caf\ufffd"),
        (b"+2AA-", "utf-7", "+2AA-"),
        (b"41", "hex", "41"),
        (b"<meta charset=utf-16>caf\xc3\xa9", "", "<meta charset=utf-16>café"),
    ],
)
def test_the_encoding_of_a_page(payload: bytes, charset: str, text: str | None) -> None:
    """Byte order mark, header, <meta>, UTF-8, windows-1252, in this order, with the names that browsers accept."""
    result = decode(payload, charset, html=True)
    assert text is None or text == result
    result.encode()


def test_the_charset_of_header_and_meta(tmp_path: Path) -> None:
    """The charset of the header has precedence over that of the page."""
    page = "<meta charset=koi8-r><p>Привет"
    path = write(
        tmp_path / "a.warc",
        [
            response(1, page.encode("koi8-r"), said="text/html"),
            response(2, page.encode("cp1251"), said="text/html; charset=windows-1251"),
            record("resource", "<p>Grüße".encode(), 3, "text/html"),
            response(4, page.encode(), said=""),
        ],
    )
    with open_corpus(path) as corpus:
        assert ["Привет", "Привет", "Grüße"] == read_all(corpus)[0]
        assert {"records without a content type": 1} == corpus.left_out


def test_encodings_of_transfer_and_content(tmp_path: Path) -> None:
    """Chunked and gzip-encoded content is decoded."""
    chunks = b"5\r\n<p>He\r\n3\r\nllo\r\n0\r\n\r\n"
    path = write(
        tmp_path / "a.warc",
        [
            response(1, chunks, said="text/html\r\nTransfer-Encoding: chunked"),
            response(2, gzip.compress(b"<p>Hello"), said="text/html\r\nContent-Encoding: gzip"),
            # Truncated by the crawler within the checksum.
            response(3, gzip.compress(b"<p>Hello")[:-8], said="text/html\r\nContent-Encoding: gzip"),
        ],
    )
    assert ["Hello", "Hello", "Hello"] == texts_in(path)


def test_urls_in_brackets_and_of_other_bytes(tmp_path: Path) -> None:
    """Angle brackets are removed, and a URL that is not UTF-8 is accepted."""
    strange = b"http://a/\xff".decode("utf-8", "surrogateescape")
    path = write(
        tmp_path / "a.warc",
        [
            record("conversion", b"one", 1, "text/plain", WARC_Target_URI="<http://a/b>"),
            record("conversion", b"two", 2, "text/plain", WARC_Target_URI=strange),
        ],
    )
    with open_corpus(path, extra_columns=["url"]) as corpus:
        (batch,) = corpus.batches()
        urls = list(batch.columns["url"])
    assert "http://a/b" == urls[0]
    assert str(urls[1]).startswith("http://a/")


def test_a_reason_is_short(tmp_path: Path) -> None:
    """The reason quotes only the start of a long line."""
    path = write(
        tmp_path / "a.warc", [response(1, b"y" * 5000, said="text/html\r\nTransfer-Encoding: chunked"), whole(2)]
    )
    texts, result = reasons_of(path)
    assert ["text 2"] == texts
    assert (203, True) == (len(result[0][1]), result[0][1].endswith("yyy..."))


def test_records_that_say_little_are_left_out(tmp_path: Path) -> None:
    """Records without a type or status are skipped, and the number of descriptions is limited."""
    path = write(
        tmp_path / "a.warc",
        [
            whole(1).replace(b"WARC-Type: conversion\r\n", b""),
            record("response", b"nonsense\r\n\r\nx", 2, "application/http; msgtype=response"),
            *(response(i, b"", said=f"image/x-{i}") for i in range(60)),
            whole(3),
        ],
    )
    with open_corpus(path) as corpus:
        assert ["text 3"] == read_all(corpus)[0]
        assert (1, 1) == (corpus.left_out["records without a type"], corpus.left_out["responses without a status"])
        assert 62 == sum(corpus.left_out.values())
        assert 22 == corpus.left_out["other records"]


def test_line_ends_that_a_crawler_forgot(tmp_path: Path) -> None:
    """Missing line ends are added to the last record, and line feeds alone are accepted."""
    path = tmp_path / "a.warc"
    path.write_bytes(whole(1).replace(b"\r\n", b"\n") + whole(2)[:-4])
    with open_corpus(path) as corpus:
        assert ["text 1", "text 2"] == read_all(corpus)[0]
        with OutputDir(tmp_path / "out") as out:
            corpus.write_kept([0, 1], out)
    assert whole(1).replace(b"\r\n", b"\n") + whole(2) == (tmp_path / "out" / "kept.warc").read_bytes()


def test_what_is_no_warc_file(tmp_path: Path) -> None:
    """Another format, a compressed file without extension, and an empty file."""
    path = tmp_path / "a.warc"
    path.write_text('{"text": "one"}\n')
    check_refused("does not begin with a WARC record", path)
    path.write_bytes(gzip.compress(whole(1)))
    check_refused(r"compressed with gzip; end its name in \.gz", path)
    path.write_bytes(b"")
    with open_corpus(path) as corpus:
        assert ([], []) == read_all(corpus)


@pytest.mark.parametrize("option", [{"id_column": "uri"}, {"extra_columns": ["text"]}])
def test_a_column_that_warc_has_not(tmp_path: Path, option: dict[str, str]) -> None:
    """The error lists the columns; a header field that no record has is an error at the end."""
    path = crawl(tmp_path / "crawl.warc")
    with pytest.raises(ParameterError, match="url, date, record_id, content_type, status, or a header field"):
        open_corpus(path, **option)  # type: ignore[arg-type]
    nothing = "no record has a column 'WARC-Nothing'; the first has 'url'"
    check_refused(nothing, path, extra_columns=["WARC-Nothing"])
    with pytest.raises(ParameterError, match="no encoding for warc, whose records say their encodings"):
        open_corpus(path, encoding="latin-1")


def test_a_store_remembers_pages(tmp_path: Path) -> None:
    """Pages and their columns can be added to a store."""
    store = tmp_path / "store"
    assert 0 == call("store", "create", store).code
    done = call("store", "add", store, crawl(tmp_path / "crawl.warc.gz"), "--column", "url")
    assert (0, True) == (done.code, "records of type revisit" in done.message)


@pytest.mark.parametrize("package", ["fastwarc.warc", "selectolax.lexbor"])
def test_the_package_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """A missing package is reported before anything is read."""
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"pip install '.*\["):
        open_corpus(crawl(tmp_path / "crawl.warc"))


def test_other_columns_are_those_of_each_record(tmp_path: Path) -> None:
    """All columns except the text; records are read again."""
    path = crawl(tmp_path / "crawl.warc.gz")
    with open_corpus(path, extra_columns=["url", "status"]) as corpus:
        for batch in corpus.batches():
            rows = corpus.other_columns(batch)
            assert isinstance(rows, list)
            assert batch.ids.to_list() == [row["record_id"] for row in rows]
            for name in ("url", "status"):
                assert batch.columns[name].to_list() == [row[name] for row in rows]
            assert all(list(warc.COLUMNS) == list(row) for row in rows)
