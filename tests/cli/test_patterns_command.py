"""Tests of `nearkin patterns lines`, `urls` and `payloads`."""

from __future__ import annotations

import gzip
import json
import re
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nearkin as nk
from command import call, check_message, json_lines, run
from corpora import write_rows
from nearkin.errors import InputError
from nearkin.io.locks import lock_file
from nearkin.patterns.tables import RowWriter

NAMES = [f"{letter}ann" for letter in "abcdefghijklmnopqrst"]
LINES = [
    *(f"user {name} app_log in from 10.0.0.{n} after {n} ms" for n, name in enumerate(NAMES)),
    *(f"disk {n} is full" for n in range(7)),
    "shutting down",
]
URLS = [
    *(f"/api/v1/users/{n}" for n in range(30)),
    *(f"/api/v1/users/{n}/orders?page={n % 3}" for n in range(20)),
    *["/api/v1/users/me"] * 9,
]
PAYLOADS = [
    *(f"{n}' UNION ALL SELECT NULL,{n},NULL-- " for n in range(9)),
    *(f'"><script>alert({n})</script>' for n in range(6)),
]


def written(path: Path, lines: list[str]) -> Path:
    """Write lines to a file."""
    path.write_text("".join(line + "\n" for line in lines))
    return path


def as_log(lines: list[str]) -> list[str]:
    """Return lines of an access log."""
    return [
        f'10.0.0.{n % 9} - - [{17 + n % 3}/May/2026:10:05:03 +0000] "GET {url} HTTP/1.1" 200 17 "-" "agent"'
        for n, url in enumerate(lines)
    ]


@pytest.fixture
def app_log(tmp_path: Path) -> Path:
    """Write the log of an application."""
    return written(tmp_path / "app.log", LINES)


@pytest.fixture
def state(app_log: Path, tmp_path: Path) -> Path:
    """Write the state of the patterns of the application's log."""
    assert 0 == call("patterns", "lines", app_log, "--state", tmp_path / "state", "--quiet").code
    return tmp_path / "state"


@pytest.fixture
def access_log(tmp_path: Path) -> Path:
    """Write an access log."""
    return written(tmp_path / "access.log", as_log(URLS))


@pytest.fixture
def payloads(tmp_path: Path) -> Path:
    """Write payloads as records."""
    path = tmp_path / "waf.jsonl"
    rows = [{"payload": text, "ip": f"10.0.0.{n % 4}", "at": f"2026-05-{10 + n}"} for n, text in enumerate(PAYLOADS)]
    return written(path, [json.dumps(row) for row in rows])


def test_patterns_are_printed(app_log: Path, access_log: Path, payloads: Path) -> None:
    """Count, share, id and pattern are printed, the most frequent first."""
    done = call("patterns", "lines", app_log)
    cells = [line.split("\t") for line in done.lines]
    assert ["20", "71.43%", "user {word} app_log in from {ip} after {int} ms"] == [cells[0][n] for n in (0, 1, 3)]
    assert ["disk {int} is full", "shutting down"] == [row[3] for row in cells[1:]]
    assert "28 lines, 3 patterns" in done.err
    piped = run("patterns", "lines", "-", "--format", "txt", stdin=b"one line\n")
    assert "nearkin: 1 line, 1 pattern\n" == piped.stderr.decode()
    result = {line.split("\t")[3] for line in call("patterns", "urls", access_log).lines}
    assert {"GET /api/v1/users/{int}", "GET /api/v1/users/me", "GET /api/v1/users/{int}/orders?page={int}"} == result
    groups = [line.split("\t") for line in call("patterns", "payloads", payloads, "--text-column", "payload").lines]
    assert ["9", "6"] == [row[0] for row in groups]
    assert "" == call("patterns", "lines", app_log, "--quiet").err


@pytest.mark.parametrize("option", ["indent", "^(ERROR|INFO)"])
def test_records_of_several_lines_are_joined(tmp_path: Path, option: str) -> None:
    """A stack trace belongs to the line before it; the number is that of the first line."""
    trace = ["\tat a.B.c(B.java:7)", "", "Caused by: java.io.IOException", "  ... 5 more"]
    text = ["  cut off", "INFO up 5", "ERROR code 7", *trace, "ERROR code 9", trace[0], "INFO up 6"]
    log = written(tmp_path / "server.log", text)
    lines = ("patterns", "lines", log, "--multiline", option)
    rows = call(*lines, "--json").objects()
    counts = {row["pattern"]: row["count"] for row in rows}
    assert {"INFO up {int}": 2, "ERROR code {int}\n{text}": 2, "  cut off": 1} == counts
    assert "\n".join(["ERROR code 7", *trace]) in next(row["examples"] for row in rows if "ERROR" in row["pattern"])
    assert 0 == call(*lines, "--out", tmp_path / "p.jsonl").code
    matched = call(*lines, "--match", tmp_path / "p.jsonl").lines
    assert ["0", "1", "2", "7", "9"] == [line.split("\t")[0] for line in matched]
    assert all(line.split("\t")[1] != "-" for line in matched)
    assert 3 == len(call(*lines).lines)


def test_records_have_the_time_of_their_first_line(tmp_path: Path) -> None:
    """Batches and columns of records are joined as well; a record has at most 1,000 lines."""
    rows = [{"text": "ERROR 5" if n % 2000 == 0 else " at x", "at": f"2026-05-{1 + n % 28:02}"} for n in range(4000)]
    path = written(tmp_path / "server.jsonl", [json.dumps(row) for row in rows])
    done = call("patterns", "lines", path, "--multiline", "indent", "--time-column", "at", "--json")
    counts = {row["pattern"]: (row["count"], [day["day"] for day in row["days"]]) for row in done.objects()}
    assert (2, ["2026-05-01", "2026-05-13"]) == counts["ERROR {int}\n{text}"]
    assert 2 == counts[" at x\n{text}"][0]


def test_rows_are_those_of_the_table(app_log: Path, tmp_path: Path) -> None:
    """JSON output, a JSON Lines file and a Parquet file have the same rows."""
    expected = nk.LogTemplates().fit(LINES).table()
    printed = call("patterns", "lines", app_log, "--json").objects()
    assert [row["pattern"] for row in printed] == expected.column("pattern").to_pylist()
    for name in ("out.jsonl", "out.parquet"):
        done = call("patterns", "lines", app_log, "--out", tmp_path / name)
        assert (0, "") == (done.code, done.out)
    assert printed == json_lines(tmp_path / "out.jsonl")
    assert pq.read_table(tmp_path / "out.parquet").equals(expected)


@pytest.mark.parametrize("name", ["patterns.jsonl", "patterns.parquet", "state"])
def test_what_is_new(app_log: Path, tmp_path: Path, name: str) -> None:
    """A table and a state of an earlier run find the same new items."""
    option = "--state" if name == "state" else "--out"
    assert 0 == call("patterns", "lines", app_log, option, tmp_path / name).code
    today = written(tmp_path / "today.log", ["disk 99 is full", "panic: no memory left", "shutting down"])
    result = [line.split("\t") for line in call("patterns", "lines", today, "--match", tmp_path / name).lines]
    assert ["disk {int} is full", "-", "shutting down"] == [row[2] for row in result]
    assert nk.LogTemplates().fit(LINES).match("disk 1 is full").id == result[0][1]  # type: ignore[union-attr]
    done = call("patterns", "lines", today, "--match", tmp_path / name, "--new")
    assert (0, ["1\tpanic: no memory left"]) == (done.code, done.lines)
    assert "3 lines, 1 that none of 3 patterns explains" in done.err
    same = call("patterns", "lines", app_log, "--match", tmp_path / name, "--new")
    assert (3, "") == (same.code, same.out)
    rows = call("patterns", "lines", today, "--match", tmp_path / name, "--json").objects()
    assert ["99"] == rows[0]["variables"]
    assert (None, None, "panic: no memory left") == (rows[1]["id"], rows[1]["pattern"], rows[1]["text"])


def test_urls_are_matched_by_a_table(access_log: Path, tmp_path: Path) -> None:
    assert 0 == call("patterns", "urls", access_log, "--out", tmp_path / "p.jsonl").code
    today = written(tmp_path / "today.log", as_log(["/api/v1/users/777", "/phpmyadmin/index.php"]))
    result = [line.split("\t")[2] for line in call("patterns", "urls", today, "--match", tmp_path / "p.jsonl").lines]
    assert ["GET /api/v1/users/{int}", "-"] == result


def test_payloads_are_matched_by_a_table(payloads: Path, tmp_path: Path) -> None:
    groups = ("patterns", "payloads", payloads, "--text-column", "payload")
    assert 0 == call(*groups, "--out", tmp_path / "p.jsonl", "--source-column", "ip").code
    assert {4} == {row["sources"] for row in json_lines(tmp_path / "p.jsonl")}
    result = call(*groups, "--match", tmp_path / "p.jsonl").lines
    assert {row["id"] for row in json_lines(tmp_path / "p.jsonl")} == {line.split("\t")[1] for line in result}


def test_batches_add_up_in_a_state(tmp_path: Path) -> None:
    """Two runs with a state equal one run over both days."""
    halves = [written(tmp_path / f"{n}.log", LINES[n::2]) for n in range(2)]
    for half in halves:
        options = ("--state", tmp_path / "state", "--quiet", "--out", tmp_path / "p.jsonl")
        assert 0 == call("patterns", "lines", half, *options).code
    assert call("patterns", "lines", *halves, "--json").objects() == json_lines(tmp_path / "p.jsonl")


def test_times_make_days(payloads: Path, access_log: Path) -> None:
    columns = ("--text-column", "payload", "--time-column", "at")
    first, *_ = call("patterns", "payloads", payloads, *columns, "--json").objects()
    assert {"day": "2026-05-10", "count": 1} == first["days"][0]
    assert first["first_seen"].startswith("2026-05-10")
    urls = call("patterns", "urls", access_log, "--json").objects()
    assert ["2026-05-17", "2026-05-18", "2026-05-19"] == [day["day"] for day in urls[0]["days"]]


def test_what_changed_since(tmp_path: Path) -> None:
    """New and missing patterns are printed; without changes the exit code is 3."""
    old = written(tmp_path / "old.log", [*LINES, *["shutting down"] * 8])
    new = written(tmp_path / "new.log", [*LINES[:27], "starting up"])
    call("patterns", "lines", old, "--out", tmp_path / "old.jsonl")
    since = ("--since", tmp_path / "old.jsonl")
    cells = [line.split("\t") for line in call("patterns", "lines", new, *since).lines]
    assert [("new", "starting up"), ("gone", "shutting down")] == [(row[0], row[3]) for row in cells]
    same = call("patterns", "lines", old, *since)
    assert (3, "") == (same.code, same.out)
    assert ["new", "gone"] == [row["kind"] for row in call("patterns", "lines", new, *since, "--json").objects()]


def test_people_read_decoded_urls(tmp_path: Path) -> None:
    """Patterns, matches, changes and examples are decoded; JSON has the canonical text too; logs are unchanged."""
    text = "/搜索%2F{int}?页={int}"
    old = written(tmp_path / "old.txt", [f"/搜索%2F{n}?页={n}" for n in range(60)] + ["/关于/%E5%85%B3"])
    new = written(tmp_path / "new.txt", [f"/%E9%A1%B5/{n}" for n in range(60)])
    call("patterns", "urls", old, "--out", tmp_path / "old.jsonl", "--quiet")
    done = call("patterns", "urls", old)
    assert [text, "/关于/关"] == [line.split("\t")[3] for line in done.lines]
    (row, _) = call("patterns", "urls", old, "--json").objects()
    assert (text, "/%E6%90%9C%E7%B4%A2%2F{int}?%E9%A1%B5={int}") == (row["decoded"], row["pattern"])
    matched = call("patterns", "urls", old, "--match", tmp_path / "old.jsonl").lines
    assert text == matched[0].split("\t")[2]
    changes = [line.split("\t") for line in call("patterns", "urls", new, "--since", tmp_path / "old.jsonl").lines]
    assert [("new", "/页/{int}"), ("gone", text)] == [(row[0], row[3]) for row in changes]
    log = written(tmp_path / "app.log", ["got %CE%BB"])
    assert "got %CE%BB" == call("patterns", "lines", log, "--format", "txt").lines[0].split("\t")[3]


@pytest.mark.parametrize(("form", "start"), [("regex", "(?s)^"), ("like", ""), ("logql", '|~ "(?s)^')])
def test_exports_of_lines(app_log: Path, form: str, start: str) -> None:
    """Each template has a row with its id."""
    ids = {line.split("\t")[2] for line in call("patterns", "lines", app_log).lines}
    rows = dict(line.split("\t") for line in call("patterns", "lines", app_log, "--export", form).lines)
    assert (ids, {True}) == (set(rows), {text.startswith(start) for text in rows.values()})


def test_exports(access_log: Path, tmp_path: Path) -> None:
    """All export formats can be printed or written to a file."""
    assert 0 == call("patterns", "urls", access_log, "--export", "openapi", "--out", tmp_path / "api.json").code
    document = json.loads((tmp_path / "api.json").read_text())
    assert document["openapi"].startswith("3.")
    assert any("users" in path for path in document["paths"])
    rows = [line.split("\t") for line in call("patterns", "urls", access_log, "--export", "regex").lines]
    assert {("GET", "-")} == {(method, host) for _, method, host, _ in rows}
    patterns = [re.compile(row[3]) for row in rows]
    assert all(any(pattern.fullmatch(url) for pattern in patterns) for url in [*URLS, "/api/v1/users/me/"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "p.jsonl, line 1: it is not a pattern"),
        ('{"id": "1"}', "a pattern has no 'pattern'"),
        ('{"id": "1", "pattern": "a {int}", "count": "x", "share": 1}', "it is not a pattern"),
        ('{"id": "1", "pattern": "a {int}", "count": 1, "share": 1}', "is not a pattern of LogTemplates"),
        ("no table", "p.jsonl: is no file that nearkin saved; give a file that save or --state wrote"),
    ],
)
def test_what_is_no_table_is_said(app_log: Path, tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "p.jsonl").write_text(content + "\n")
    check_message(1, message, "patterns", "lines", app_log, "--match", tmp_path / "p.jsonl")


def test_a_state_of_another_kind_is_said(state: Path, access_log: Path) -> None:
    done = call("patterns", "urls", access_log, "--state", state)
    assert 2 == done.code
    assert "lines" in done.err
    assert "urls" in done.err


def test_lines_that_are_no_request_are_told(tmp_path: Path) -> None:
    """More than a tenth of invalid lines is an error, unless --max-malformed allows it."""
    path = written(tmp_path / "access.log", [*as_log(["/a"] * 19), "broken"])
    check_message(0, "access.log:20", "patterns", "urls", path)
    written(path, [*as_log(["/a"] * 2), "broken"])
    assert 1 == call("patterns", "urls", path, "--out", tmp_path / "p.jsonl").code
    assert not (tmp_path / "p.jsonl").exists()
    assert "1 of 3 lines are no requests" in call("patterns", "urls", path).err
    assert 0 == call("patterns", "urls", path, "--max-malformed", "50%").code
    written(path, [*as_log(["/a"] * 19), as_log(["/a"])[0].replace("/2026", "/0000")])
    assert "access.log:20: no valid time in brackets" in call("patterns", "urls", path).err
    forged = [json.dumps({"text": "a", "at": at}) for at in ("2026-01-01", "9999-12-31T23:59:59-23:59")]
    done = call("patterns", "lines", written(tmp_path / "app.jsonl", forged), "--time-column", "at")
    assert (1, True) == (done.code, "record 1: times[1]=9999-12-31T23:59:59-23:59 is not allowed" in done.err)
    nothing = call("patterns", "urls", written(tmp_path / "none.log", ["broken"] * 3), "--format", "log")
    assert 1 == nothing.code
    assert "3 of 3 lines are no requests, the first" in nothing.err


def test_an_item_is_one_row_whatever_it_holds(tmp_path: Path) -> None:
    """Line ends, tabs and escape characters in a payload are escaped."""
    path = tmp_path / "alerts.jsonl"
    path.write_text(json.dumps({"text": "<a>\n2\tbbbb\t1\tknown\tx\x1b[2J"}) + "\n")
    done = call("patterns", "payloads", path, "--queue")
    assert 1 == len(done.lines)
    assert 5 == len(done.lines[0].split("\t"))
    assert "\x1b" not in done.out
    call("patterns", "payloads", written(tmp_path / "other.txt", ["1 union select 2"]), "--out", tmp_path / "p.jsonl")
    assert 1 == len(call("patterns", "payloads", path, "--match", tmp_path / "p.jsonl").lines)


def test_globs_and_folders_of_requests(tmp_path: Path) -> None:
    """Files are sorted by name."""
    (tmp_path / "logs" / "old").mkdir(parents=True)
    for number, folder in enumerate((tmp_path / "logs", tmp_path / "logs" / "old")):
        written(folder / f"{number}.log", as_log([f"/a/{n}" for n in range(9)]))
    assert ["18"] == [line.split("\t")[0] for line in call("patterns", "urls", tmp_path / "logs").lines]
    assert ["9"] == [line.split("\t")[0] for line in call("patterns", "urls", tmp_path / "logs" / "*.log").lines]


def test_fields_that_no_record_has_are_said(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "requests.jsonl", ({"url": f"/a/{n}", "verb": "GET"} for n in range(9)))
    assert "GET /a/{int}" in call("patterns", "urls", path, "--method-column", "verb").out
    for option in ("--time-column", "--client-column", "--method-column"):
        done = call("patterns", "urls", path, option, "nope")
        assert 2 == done.code
        assert f"{option} nope is not allowed; use a field of the records; none of them has it" in done.err


def test_a_state_is_changed_by_one_at_a_time(app_log: Path, state: Path) -> None:
    with lock_file(state):
        done = call("patterns", "lines", app_log, "--state", state)
    assert 1 == done.code
    assert "another process is changing the state" in done.err


def test_unusual_values_have_reasons(tmp_path: Path) -> None:
    """`--new` prints new requests and unusual values, with the reason; `--sample` prints URLs of each pattern."""
    log = written(tmp_path / "urls.txt", [f"/search?q=word&page={n}" for n in range(300)] + ["/about"] * 30)
    assert 0 == call("patterns", "urls", log, "--state", tmp_path / "state").code
    today = written(tmp_path / "today.txt", ["/search?q=a&page=2", "/search?q=x'+or+1=1--&page=2", "/new", "/about"])
    new = ("--match", tmp_path / "state", "--new")
    done = call("patterns", "urls", today, *new)
    reason = "q: it looks like an attack (fewer than 1 of 301)"
    assert [f"1\t/search?q=x'+or+1=1--&page=2\t{reason}", "2\t/new\tnew"] == done.lines
    assert "4 urls, 1 that none of 2 patterns explains, 1 with unusual values" in done.err
    unusual, other = call("patterns", "urls", today, *new, "--json").objects()
    assert ("unusual", "q") == (unusual["verdict"], unusual["unusual"][0]["name"])
    assert ("new", False) == (other["verdict"], bool(other["unusual"]))
    assert 3 == call("patterns", "urls", written(tmp_path / "same.txt", ["/about"]), *new).code
    sample = call("patterns", "urls", log, "--sample", "1").lines
    assert (2, "/about") == (len(sample), sample[1])


def test_a_state_changes_only_with_its_output(app_log: Path, state: Path) -> None:
    """A run that cannot write its output does not change the state."""
    before = state.read_bytes()
    assert 1 == call("patterns", "lines", app_log, "--state", state, "--out", state.parent / "none" / "p.jsonl").code
    assert before == state.read_bytes()


def test_an_export_of_nothing_is_told(tmp_path: Path) -> None:
    done = call("patterns", "urls", written(tmp_path / "urls", []), "--export", "openapi")
    assert "there are no patterns" in done.err


def test_a_table_without_patterns_is_told(app_log: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    assert "has no patterns" in call("patterns", "lines", app_log, "--match", tmp_path / "empty.jsonl").err


def test_standard_input_is_read() -> None:
    done = call("patterns", "lines", "-", "--format", "txt", stdin="\n".join(LINES).encode())
    assert (0, True) == (done.code, "disk {int} is full" in done.out)
    assert "GET /a" in call("patterns", "urls", "-", stdin=b"GET /a HTTP/1.1\n" * 9).out


def test_a_queue_of_alerts_has_each_attack_once(payloads: Path, tmp_path: Path) -> None:
    """The queue has the first payload, the size and the novelty of each group."""
    groups = ("patterns", "payloads", payloads, "--text-column", "payload")
    cells = [line.split("\t") for line in call(*groups, "--queue").lines]
    assert [["0", "9", "new", PAYLOADS[0]], ["9", "6", "new", PAYLOADS[9]]] == [[row[0], *row[2:]] for row in cells]
    call(*groups, "--out", tmp_path / "p.jsonl")
    known = call(*groups, "--queue", "--match", tmp_path / "p.jsonl", "--json").objects()
    assert [(False, 9), (False, 6)] == [(row["new"], row["count"]) for row in known]


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_annotated_items_have_pattern_fields_and_leader(tmp_path: Path, state: Path, suffix: str) -> None:
    """Each item has its pattern, its fields by name, the first item of the pattern, and its number within it."""
    out = tmp_path / f"annotated.{suffix}"
    today = written(tmp_path / "today.log", ["disk 9 is full", "never seen before", "disk 12 is full"])
    result = call("patterns", "lines", today, "--match", state, "--annotate", out)
    assert ("", "nearkin: 3 lines, 1 that none of 3 patterns explains\n") == (result.out, result.err)
    rows = annotated(out)
    assert ["disk 9 is full", "never seen before", "disk 12 is full"] == [row["text"] for row in rows]
    assert [{"int": "9"}, None, {"int": "12"}] == [row["fields"] for row in rows]
    first = rows[0]
    match = nk.LogTemplates.open(state).match("disk 1 is full")
    assert match is not None
    assert ("disk {int} is full", match.id) == (first["pattern"], first["pattern_id"])
    assert [first["item"], None, first["item"]] == [row["leader"] for row in rows]
    assert [1, None, 2] == [row["number"] for row in rows]


def test_annotated_requests_and_payloads_equal_their_matches(tmp_path: Path, access_log: Path) -> None:
    """Requests are matched with their methods, payloads with the values of their own template."""
    out, table = tmp_path / "annotated.jsonl", tmp_path / "patterns.jsonl"
    call("patterns", "urls", access_log, "--out", table, "--quiet")
    call("patterns", "urls", access_log, "--match", table, "--annotate", out, "--quiet")
    rows = json_lines(out)
    assert len(URLS) == len(rows)
    assert ({"user": "7"}, "GET /api/v1/users/{int}") == (rows[7]["fields"], rows[7]["pattern"])
    waf = written(tmp_path / "waf.txt", PAYLOADS)
    call("patterns", "payloads", waf, "--out", table, "--quiet")
    call("patterns", "payloads", waf, "--match", table, "--annotate", out, "--quiet")
    rows = json_lines(out)
    assert [n + 1 for n in range(9)] == [row["number"] for row in rows[:9]]
    assert ({rows[0]["item"]}, "3'") == ({row["leader"] for row in rows[:9]}, rows[3]["fields"]["head"])


def annotated(path: Path) -> list[dict[str, Any]]:
    """Return the rows of an annotated file, maps as dictionaries."""
    if path.suffix == ".jsonl":
        return json_lines(path)
    return [{**row, "fields": row["fields"] and dict(row["fields"])} for row in pq.read_table(path).to_pylist()]


ALERTS: list[dict[str, Any]] = [
    {"id": 7, "severity": None, "text": "disk 9 is full", "host": {"name": "a", "ports": [1]}},
    {"id": 8, "severity": 3, "text": "never seen before", "host": {"name": "b", "up": True}},
    {"id": 9, "severity": 2.5, "text": "disk 12 is full", "late": "x\ud83d"},
]


@pytest.mark.parametrize("block", [80, 1 << 24])
@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_annotated_records_keep_their_other_columns(
    tmp_path: Path, state: Path, suffix: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All values of a record are kept, also those that the first block of the file does not have."""
    monkeypatch.setattr("nearkin.io.records.BLOCK", block)
    out = tmp_path / f"annotated.{suffix}"
    alerts = ALERTS if suffix == "jsonl" else [*ALERTS[:2], {**ALERTS[2], "late": "x"}]
    path = written(tmp_path / "alerts.jsonl", [json.dumps(row) for row in alerts])
    assert 0 == call("patterns", "lines", path, "--match", state, "--annotate", out, "--quiet").code
    rows = annotated(out)
    assert ["7", "8", "9"] == [row["item"] for row in rows]
    assert [row["text"] for row in alerts] == [row["text"] for row in rows]
    assert [1, None, 2] == [row["number"] for row in rows]
    own = ["item", "text", "pattern_id", "pattern", "fields", "leader", "number"]
    assert own == list(rows[0])[:7]
    if suffix == "jsonl":
        assert [{key: value for key, value in row.items() if key != "text"} for row in alerts] == [
            {key: value for key, value in row.items() if key not in own} for row in rows
        ]
        return
    assert [*own, "id", "severity", "host", "late"] == list(rows[0])
    assert [7, 8, 9] == [row["id"] for row in rows]
    assert [None, 3.0, 2.5] == [row["severity"] for row in rows]
    assert [
        {"name": "a", "ports": [1], "up": None},
        {"name": "b", "ports": None, "up": True},
        None,
    ] == [row["host"] for row in rows]
    assert [None, None, "x"] == [row["late"] for row in rows]


def test_batches_of_rows_may_differ_in_columns(tmp_path: Path) -> None:
    """Columns of Parquet have the union of the types of their batches; types without one are an error."""
    schema = pa.schema([("item", pa.string()), ("fields", pa.map_(pa.string(), pa.string()))])
    batches: list[list[dict[str, Any]]] = [
        [{"a": 1, "item": 7}, {"b": [1]}],
        [{"a": 0.5, "c": None}, {"b": None}],
        [{f"key {n}": n} for n in range(3)],
    ]
    path = tmp_path / "rows.parquet"
    with path.open("wb") as file, RowWriter(file, path, schema) as writer:
        for others in batches:
            writer.write([{"item": "x", "fields": {"k": "v"}} for _ in others], others)
    table = pq.read_table(path)
    assert ["item", "fields", "a", "item_input", "b", "c", "key 0", "key 1", "key 2"] == table.schema.names
    assert [1, None, 0.5, None, None, None, None] == table["a"].to_pylist()
    assert [None] * 4 + [0, None, None] == table["key 0"].to_pylist()
    assert ["x"] * 7 == table["item"].to_pylist()
    with path.open("wb") as file, RowWriter(file, path, schema) as writer:
        writer.write([{"item": "x"}], [{"a": 1}])
        with pytest.raises(InputError, match="a column of Parquet has one type"):
            writer.write([{"item": "x"}], [{"a": "one"}])
        with pytest.raises(InputError, match="a column of Parquet has one type"):
            writer.write([{"item": "x"}] * 2, [{"a": 1}, {"a": "one"}])


def test_annotated_numbers_beyond_floats_are_null(tmp_path: Path, state: Path) -> None:
    """JSON has 1e999 but no Infinity, which Python's json would write."""
    out = tmp_path / "annotated.jsonl"
    path = written(tmp_path / "lines.jsonl", ['{"text": "one", "size": 1e999, "all": [2, -1e999]}'])
    assert 0 == call("patterns", "lines", path, "--match", state, "--annotate", out, "--quiet").code
    [row] = annotated(out)
    assert (None, [2, None]) == (row["size"], row["all"])


@pytest.mark.parametrize("name", ["alerts.csv", "alerts.parquet", "alerts.tsv.gz"])
@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_annotated_tables_keep_their_other_columns(tmp_path: Path, state: Path, name: str, suffix: str) -> None:
    """Columns of CSV are strings; those of Parquet have their types, and times are ISO 8601 in JSON."""
    out, path = tmp_path / f"annotated.{suffix}", tmp_path / name
    lines = ["disk 9 is full", "disk, 12", "disk 12 is full"]
    time = datetime(2026, 5, 17, 10, 5, tzinfo=timezone.utc)
    table = pa.table(
        {
            "at": pa.array([time, None, time], pa.timestamp("ms", "UTC")),
            "payload": lines,
            "number": pa.array([5, 6, 7], pa.int16()),
            "share": [0.5, float("nan"), 1.0],
            "number_input": pa.array([b"a", b"\xff", None], pa.binary()),
            "tags": [["a"], [], None],
        }
    )
    if name == "alerts.parquet":
        pq.write_table(table, path)
    else:
        sign = "," if "csv" in name else "\t"
        rows = [
            sign.join(["at", "payload", "number"]),
            *(f'{n}{sign}"{line}"{sign}{n}' for n, line in enumerate(lines)),
        ]
        data = "".join(f"{row}\r\n" for row in rows).encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    options = ("--text-column", "payload", "--match", state, "--annotate", out, "--quiet")
    assert 0 == call("patterns", "lines", path, *options).code
    found = annotated(out)
    assert lines == [row["text"] for row in found]
    assert [1, None, 2] == [row["number"] for row in found]
    if name != "alerts.parquet":
        assert [("0", "0"), ("1", "1"), ("2", "2")] == [(row["at"], row["number_input"]) for row in found]
    elif suffix == "jsonl":
        assert ["2026-05-17T10:05:00+00:00", None] == [row["at"] for row in found[:2]]
        assert [(0.5, ["a"]), (None, []), (1.0, None)] == [(row["share"], row["tags"]) for row in found]
        assert [(5, "a"), (6, "\\xff"), (7, None)] == [
            (row["number_input"], row["number_input_input"]) for row in found
        ]
    else:
        kept = pq.read_table(out).select(["at", "number_input", "share", "number_input_input", "tags"])
        assert table.drop_columns(["payload", "share"]).equals(
            kept.drop_columns(["share"]).rename_columns(["at", "number", "number_input", "tags"])
        )


def test_annotated_requests_keep_their_other_columns(tmp_path: Path, access_log: Path) -> None:
    """JSON records keep all other fields; a log has the client and the time of each request."""
    table = tmp_path / "patterns.jsonl"
    call("patterns", "urls", access_log, "--out", table, "--quiet")
    for suffix in ("jsonl", "parquet"):
        out = tmp_path / f"annotated.{suffix}"
        call("patterns", "urls", access_log, "--match", table, "--annotate", out, "--quiet")
        rows = annotated(out)
        assert ["10.0.0.0", "10.0.0.1"] == [row["client"] for row in rows[:2]]
        times = [row["time"] if suffix == "jsonl" else row["time"].isoformat() for row in rows[:2]]
        assert ["2026-05-17T10:05:03+00:00", "2026-05-18T10:05:03+00:00"] == times
        records = [{"url": url, "status": 200 + n, "pattern": "mine"} for n, url in enumerate(URLS)]
        path = written(tmp_path / "requests.jsonl", [json.dumps(row) for row in records])
        call("patterns", "urls", path, "--match", table, "--annotate", out, "--quiet")
        rows = annotated(out)
        assert [(row["url"], row["status"], "mine") for row in records] == [
            (row["text"], row["status"], row["pattern_input"]) for row in rows
        ]


@pytest.mark.parametrize("name", ["trace.jsonl", "trace.parquet"])
def test_annotated_records_of_several_lines_have_the_columns_of_the_first(tmp_path: Path, name: str) -> None:
    rows = [{"text": text, "at": n} for n, text in enumerate(["ERROR 5", " at x", "ERROR 7", " at y", " at z", "up 6"])]
    path, state, out = tmp_path / name, tmp_path / "state", tmp_path / "annotated.jsonl"
    if name == "trace.parquet":
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=4)
    else:
        written(path, [json.dumps(row) for row in rows])
    options = ("--multiline", "indent", "--quiet")
    call("patterns", "lines", path, "--state", state, *options)
    assert 0 == call("patterns", "lines", path, "--match", state, "--annotate", out, *options).code
    assert [("ERROR 5\n at x", 0), ("ERROR 7\n at y\n at z", 2), ("up 6", 5)] == [
        (row["text"], row["at"]) for row in json_lines(out)
    ]


@pytest.mark.parametrize("block", [60, 1 << 24])
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"text": "a", "level": 3}, {"text": "b", "level": "high"}], "a column of Parquet has one type"),
        ([{"text": "a", "level": 3}, {"text": "b", "level": [3]}], "a column of Parquet has one type"),
        ([{"text": "a", "level": {}}, {"text": "b"}], "a column of Parquet has one type"),
        ([{"text": "a", "level": "\ud83d"}, {"text": "b"}], "column 'level'"),
        ([{"text": "a", "level": 1 << 70}, {"text": "b"}], "column 'level'"),
    ],
)
def test_columns_of_several_types_are_said(
    tmp_path: Path, state: Path, rows: list[dict[str, Any]], message: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parquet has one type for a column, JSON Lines any; a file that cannot be written is left out."""
    monkeypatch.setattr("nearkin.io.records.BLOCK", block)
    path = written(tmp_path / "alerts.jsonl", [json.dumps(row) for row in rows])
    annotate = ("patterns", "lines", path, "--match", state, "--quiet", "--annotate")
    done = call(*annotate, tmp_path / "a.parquet")
    assert 1 == done.code
    assert message in done.err
    assert "write JSON Lines" in done.err
    assert ["alerts.jsonl", "app.log", "state"] == sorted(each.name for each in tmp_path.iterdir())
    assert 0 == call(*annotate, tmp_path / "a.jsonl").code
    assert [row.get("level") for row in rows] == [row.get("level") for row in json_lines(tmp_path / "a.jsonl")]


def test_two_columns_of_one_name_are_said(tmp_path: Path, state: Path) -> None:
    path = written(tmp_path / "alerts.csv", ["at,text,at", "1,disk 9 is full,2"])
    done = call("patterns", "lines", path, "--match", state, "--annotate", tmp_path / "a.jsonl")
    assert 1 == done.code
    assert "more than one column 'at'; rename one" in done.err
    assert not (tmp_path / "a.jsonl").exists()
