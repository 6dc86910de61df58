"""Results of the routes, which equal those of the store bit for bit, and their errors."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from asgi import ARROW, NDJSON, AsgiClient, asgi_client

import nearkin as nk
from nearkin.index.fingerprints import to_hex

TEXTS = [
    "The quick brown fox jumps over the lazy dog.",
    "The quick brown fox jumped over the lazy dog.",
    "Another text, about cats and their kittens.",
    "The quick brown fox jumps over the lazy dog.",
    "",
]
IDS = ["a", "b", "http://c/d?e=%2F", "é", " "]


def rows_of(answers: nk.CheckResult) -> list[dict[str, Any]]:
    """Return results of a store as the service encodes them."""
    rows = []
    for number, row in enumerate(answers.rows()):
        similarity = None if math.isnan(row["similarity"]) else row["similarity"]
        own = {} if answers.own_ids is None else {"id": answers.own_ids[number]}
        rows.append(own | {**row, "similarity": similarity})
    return rows


def lines_of(values: list[Any]) -> bytes:
    """Return values as NDJSON."""
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def arrow_of(**columns: Any) -> bytes:
    """Return columns as an Arrow stream."""
    sink = pa.BufferOutputStream()
    table = pa.table(columns)
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


async def send_documents(
    form: str, service: AsgiClient, route: str, ids: list[Any] | None, texts: list[str]
) -> list[Any]:
    """Send documents to a route in one of the formats, and return the results."""
    items = [{"text": text} | ({} if ids is None else {"id": ids[at]}) for at, text in enumerate(texts)]
    if form == "one":
        return [(await service.post(route, item)).json() for item in items]
    if form == "batch":
        return list((await service.post(route, {"documents": items})).json()["answers"])
    if form == "lines":
        return (await service.post(route, lines_of(items), type=NDJSON)).lines()
    if form == "strict":
        return (await service.post(f"{route}?strict=1", lines_of(items), type=NDJSON)).lines()
    reply = await service.post(route, arrow_of(text=texts, **({} if ids is None else {"id": ids})), type=ARROW)
    with pa.ipc.open_stream(reply.body) as reader:
        rows = reader.read_all().to_pylist()
    return [row | {"similarity": None if math.isnan(row["similarity"]) else row["similarity"]} for row in rows]


@pytest.mark.parametrize("form", ["one", "batch", "lines", "strict", "arrow"])
@pytest.mark.parametrize("ids", [IDS, [1, 2, -3, 1 << 62, 9], None], ids=["strings", "integers", "none"])
async def test_results_are_those_of_the_store(tmp_path: Path, form: str, ids: list[Any] | None) -> None:
    async with asgi_client(tmp_path / "service.store", threshold=0.7) as service:
        with nk.Store.create(tmp_path / "own.store", threshold=0.7) as store:
            for texts in (TEXTS, ["The quick brown fox jumps over the lazy dogs."]):
                checked = await send_documents(form, service, "/v1/check", None, texts)
                assert rows_of(store.check(texts)) == checked
                again = None if ids is None else ids[: len(texts)]
                if texts is not TEXTS and ids is not None:
                    again = ["z"] if isinstance(ids[0], str) else [77]
                results = await send_documents(form, service, "/v1/check-and-add", again, texts)
                assert rows_of(store.check_and_add(texts, again)) == results
            if ids is not None:
                results = await send_documents(form, service, "/v1/check-and-add", ids, TEXTS)
                assert rows_of(store.check_and_add(TEXTS, ids)) == results
                assert {"known"} == {row["status"] for row in results}
            expected = list(store.iter_documents())
    with nk.Store.open(tmp_path / "service.store") as made:
        assert str(expected) == str(list(made.iter_documents()))


@pytest.mark.parametrize("recipe", [None, nk.Recipe()], ids=str)
async def test_best_matches_and_documents(tmp_path: Path, recipe: nk.Recipe | None) -> None:
    async with asgi_client(tmp_path / "s", recipe=recipe, threshold=0.7) as service:
        items = [{"id": name, "text": text, "columns": {"n": 1.5}} for name, text in zip(IDS, TEXTS, strict=True)]
        items[2].pop("columns")
        assert 200 == (await service.post("/v1/check-and-add", {"documents": items})).status
        (best,) = [(await service.post("/v1/check?k=2", {"text": TEXTS[1]})).json()["matches"]]
        with nk.Store.open(tmp_path / "s", "r") as store:
            (expected,) = store.check([TEXTS[1]], k=2).matches or []
            assert [(match.id, match.distance, match.similarity, match.columns) for match in expected] == [
                (match["id"], match["distance"], match["similarity"], match["columns"]) for match in best
            ]
            (value,) = store.values(["a"])
            query: dict[str, Any] = {"signature": value.tolist()}
            if recipe is not None:
                query = {"fingerprint": "".join(f"{int(word):016x}" for word in reversed(value))}
            reply = await service.post("/v1/search?k=1", query)
            assert reply.status == 200, reply
            (hit,) = reply.json()["matches"]
            assert (hit["id"], hit["distance"], hit["similarity"]) == ("a", 0, None if recipe else 1)
            for name in IDS:
                quoted = "".join(f"%{byte:02X}" for byte in name.encode())
                match = (await service.get(f"/v1/documents/{quoted}?text=1")).json()
                (document,) = store.get([name])
                assert document is not None
                assert (match["id"], match["status"], match["columns"]) == (name, document.status, document.columns)
                assert store.texts([name]) == [match["text"]]
            several = await service.post("/v1/documents?missing_ok=1", {"ids": ["b", "nobody", "a"]})
            assert ["b", None, "a"] == [match and match["id"] for match in several.json()["documents"]]
        assert "no-such-document" == (await service.get("/v1/documents/nobody")).slug


async def test_integer_ids_in_paths(tmp_path: Path) -> None:
    async with asgi_client(tmp_path / "s") as service:
        await service.post("/v1/add", {"id": -5, "text": "some words"})
        assert -5 == (await service.get("/v1/documents/-5")).json()["id"]
        for wrong in ("x", "5.0", "99999999999999999999", "%C2%B2"):
            assert "no-such-document" == (await service.get(f"/v1/documents/{wrong}")).slug
        assert "other-kind" == (await service.post("/v1/add", {"id": "x", "text": "other words"})).slug


async def test_a_batch_is_all_or_nothing(tmp_path: Path) -> None:
    async with asgi_client(tmp_path / "s") as service:
        await service.post("/v1/add", {"id": "a", "text": TEXTS[0]})
        batch = [{"id": "b", "text": TEXTS[2]}, {"id": "a", "text": TEXTS[1]}]
        for body, form in (({"documents": batch}, "application/json"), (lines_of(batch), NDJSON)):
            path = "/v1/check-and-add" + ("?strict=1" if form == NDJSON else "")
            reply = await service.post(path, body, type=form)
            assert (409, "other-content", "a") == (reply.status, reply.slug, reply.json()["id"])
            assert 1 == (await service.get("/v1/info")).json()["documents"]
        results = (await service.post("/v1/check-and-add", lines_of(batch), type=NDJSON)).lines()
        assert ("new", "b") == (results[0]["status"], results[0]["id"])
        assert (2, 409, "a") == (results[1]["line"], results[1]["error"]["status"], results[1]["id"])


async def test_bad_lines_do_not_affect_others(tmp_path: Path) -> None:
    lines = [
        b'{"id": "a", "text": "one two three"}',
        b"",
        b"{",
        b'{"id": 7, "text": "an integer"}',
        b'{"id": "b", "text": 7}',
        b'{"id": "c", "digest": "3:abc:def"}',
        b'{"id": "d", "txt": "x"}',
        b"\xff",
        b'{"id": "e", "text": "\\ud800"}',
        b'{"id": "f", "text": "the last", "columns": {"a": 1e999}}',
        b'{"id": "g", "text": "four five six"}',
    ]
    async with asgi_client(tmp_path / "s") as service:
        body = b"\n".join(lines)
        for pieces in ([body], [body[at : at + 7] for at in range(0, len(body), 7)]):
            reply = await service.call("POST", "/v1/check-and-add", pieces, {"content-type": NDJSON})
            results = reply.lines()
            assert len(lines) == len(results)
            good = [at for at, row in enumerate(results) if "status" in row]
            assert [0, 10] == good, results
            for at, row in enumerate(results):
                if at not in good:
                    assert (at + 1, 4) == (row["line"], row["error"]["status"] // 100)
        assert ["known", "known"] == [results[at]["status"] for at in good]
        packed = await service.post(
            "/v1/check",
            gzip.compress(b'{"text": "one two three"}\n{"text": 1}\n'),
            {"content-encoding": "gzip"},
            type=NDJSON,
        )
        assert "exact" == packed.lines()[0]["status"]
        assert 2 == packed.lines()[1]["line"]


async def test_concurrent_requests_have_their_own_results(tmp_path: Path) -> None:
    """Requests share calls of the store; conflicts and bad documents affect only their own request."""
    async with asgi_client(tmp_path / "s", threshold=0.7) as service:
        await service.post("/v1/add", {"id": "taken", "text": "something that was there before"})
        calls: list[Any] = []
        for number in range(40):
            text = f"document {number} has its own words " + " ".join(f"w{number}x{at}" for at in range(9))
            calls.append({"id": f"n{number}", "text": text})
            if number % 5 == 0:
                calls.append({"id": "taken", "text": f"other words {number}"})
                calls.append({"documents": [{"id": f"m{number}", "text": text + "!"}, {"id": "taken", "text": "no"}]})
                calls.append({"id": number, "text": "an id of another kind"})
                calls.append({"id": f"c{number}", "text": text, "columns": {"x": number}})
        replies = await asyncio.gather(*[service.post("/v1/check-and-add", item) for item in calls])
        for call, reply in zip(calls, replies, strict=True):
            if "documents" in call or call["id"] == "taken":
                assert "other-content" == reply.slug
            elif isinstance(call["id"], int):
                assert "other-kind" == reply.slug
            else:
                assert 200 == reply.status
                assert ("exact" if call["id"].startswith("c") else "new") == reply.json()["status"]
        info = (await service.get("/v1/info")).json()
        assert 1 + 40 + 8 == info["documents"]
        item = (await service.get("/v1/documents/c5")).json()
        assert {"x": 5} == item["columns"]


async def test_a_repeated_request_gets_its_first_result(tmp_path: Path) -> None:
    batch = {"documents": [{"id": name, "text": text} for name, text in zip(IDS, TEXTS, strict=True)]}
    batch["documents"].append(batch["documents"][0])
    key = {"Idempotency-Key": "k1"}
    async with asgi_client(tmp_path / "s", threshold=0.7) as service:
        first = (await service.post("/v1/check-and-add", batch, key)).json()
        assert first == (await service.post("/v1/check-and-add", batch, key)).json()
    async with asgi_client(tmp_path / "s") as service:
        assert first == (await service.post("/v1/check-and-add", batch, key)).json()
        other = (await service.post("/v1/check-and-add", batch, {"Idempotency-Key": "k2"})).json()
        assert {"known"} == {row["status"] for row in other["answers"]}
        assert [row["match"] for row in first["answers"]] == [row["match"] for row in other["answers"]]
        reply = await service.post("/v1/check-and-add", {"text": "no id"}, key)
        assert "bad-request" == reply.slug
        for wrong in ("", "x" * 201, "é"):
            assert 400 == (await service.post("/v1/add", batch, {"Idempotency-Key": wrong})).status


async def test_removed_documents_are_hidden(tmp_path: Path) -> None:
    async with asgi_client(tmp_path / "s") as service:
        batch = [{"id": name, "text": f"words of document {name} " * 3} for name in "abcd"]
        await service.post("/v1/add", {"documents": batch})
        assert {"removed": 1} == (await service.post("/v1/remove", {"id": "a"})).json()
        assert "no-such-document" == (await service.post("/v1/remove", {"ids": ["b", "a"]})).slug
        assert {"removed": 1} == (await service.post("/v1/remove?missing_ok=1", {"ids": ["b", "a"]})).json()
        lines = (
            await service.post("/v1/remove", lines_of([{"id": "c"}, {"id": "c"}, {"ids": []}]), type=NDJSON)
        ).lines()
        assert [{"removed": 1}, 404, {"removed": 0}] == [item.get("error", {}).get("status") or item for item in lines]
        assert {"removed": 1} == (await service.post("/v1/remove?erase=1", {"id": "d"})).json()
        info = (await service.get("/v1/info")).json()
        assert (0, 0) == (info["documents"], info["removed"])


async def test_stores_of_files_and_vectors(tmp_path: Path) -> None:
    data = b"".join(b"line %d of a file that changes\n" % line for line in range(300))
    other = data.replace(b"line 100 ", b"LINE 100 ")
    async with asgi_client(tmp_path / "files", recipe="ssdeep", threshold=60) as service:
        items = [{"id": name, "bytes": base64.b64encode(raw).decode()} for name, raw in (("a", data), ("b", other))]
        results = (await service.post("/v1/check-and-add", {"documents": items})).json()["answers"]
        with nk.Store.create(tmp_path / "own", "ssdeep", threshold=60) as store:
            assert rows_of(store.check_and_add([data, other], ["a", "b"], kind="bytes")) == results
        (digest,) = [nk.ssdeep.hash(other)]
        assert "near" == (await service.post("/v1/check", {"digest": digest})).json()["status"]
        hits = (await service.post("/v1/search", {"digest": digest})).json()["matches"]
        assert "a" == hits[0]["id"]
        assert "other-kind" == (await service.post("/v1/check", {"text": "x"})).slug
        assert "bad-request" == (await service.post("/v1/check", {"bytes": "???"})).slug
        assert "bad-request" == (await service.post("/v1/check", {"digest": "no digest"})).slug
        lines = [{"digest": "no digest"}, {"digest": digest}]
        answers = (await service.post("/v1/check", lines_of(lines), type=NDJSON)).lines()
        assert [1, "near"] == [answers[0]["line"], answers[1]["status"]]
    vectors = np.random.default_rng(0).standard_normal((20, 8)).astype(np.float32)
    family = nk.families.Hyperplane(bits=64, seed=1).fit(vectors)
    async with asgi_client(tmp_path / "vectors", recipe=family, threshold=0.9) as service:
        rows: list[Any] = [{"id": at, "vector": row.tolist()} for at, row in enumerate(vectors)]
        results = (await service.post("/v1/check-and-add", {"documents": rows})).json()["answers"]
        with nk.Store.create(tmp_path / "own.vectors", family, threshold=0.9) as store:
            assert rows_of(store.check_and_add(vectors, range(20))) == results
        flat = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 8)
        reply = await service.post("/v1/check", arrow_of(vector=flat), type=ARROW)
        with pa.ipc.open_stream(reply.body) as reader:
            assert ["exact"] * 20 == reader.read_all().column("status").to_pylist()
        assert "other-kind" == (await service.post("/v1/check", {"vector": [1.0, 2.0]})).slug
        assert 400 == (await service.post("/v1/check", {"documents": [{"vector": [1]}, {"vector": [1, 2]}]})).status


async def test_another_recipe_is_refused(tmp_path: Path) -> None:
    async with asgi_client(tmp_path / "s") as service:
        for other in ("default", "char:4%7Cbinary%7Cxxh3%7Cminhash:64"):
            assert "other-recipe" == (await service.post(f"/v1/check?recipe={other}", {"text": "x"})).slug
        assert 200 == (await service.post("/v1/check?recipe=minhash", {"text": "x"})).status
        assert "bad-request" == (await service.post("/v1/check?recipe=nonsense", {"text": "x"})).slug
        recipe = (await service.get("/v1/info")).json()["settings"]["recipe"].replace("|", "%7C")
        assert 200 == (await service.post(f"/v1/check?recipe={recipe}", {"text": "x"})).status


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/v1/check?kk=3", "this route takes k, recipe, strict"),
        ("/v1/check?k=0", "greater than or equal to 1"),
        ("/v1/check?k=1001", "less than or equal to 1000"),
        ("/v1/check?k=x", "valid integer"),
        ("/v1/check?k=1&k=2", "send it once"),
        ("/v1/check?k", "valid integer"),
        ("/v1/check?strict=1", "it is for NDJSON"),
        ("/v1/check?strict=perhaps", "valid boolean"),
        ("/v1/remove?erase=2", "valid boolean"),
        ("/v1/search?radius=-1", "greater than or equal to 0"),
        ("/v1/search?radius=1000", "the radius of the store"),
        ("/v1/documents/x?text=2", "valid boolean"),
    ],
)
async def test_query_parameters_are_checked(tmp_path: Path, path: str, said: str) -> None:
    async with asgi_client(tmp_path / "s", recipe=nk.Recipe()) as service:
        if path.startswith("/v1/documents"):
            reply = await service.get(path)
        else:
            reply = await service.post(path, {"fingerprint": "0" * 32} if "search" in path else {"text": "x"})
        assert "bad-request" == reply.slug
        assert said in reply.json()["detail"], reply.json()


async def test_concurrent_arrow_batches(tmp_path: Path) -> None:
    """Batches that share a call of the store have the results of separate calls."""
    batches = [
        ([f"{n}-{at}" for at in range(20)], [f"words {at % 15} of batch {n % 3}" for at in range(20)]) for n in range(9)
    ]
    async with asgi_client(tmp_path / "s") as service:
        bodies = [arrow_of(id=ids, text=texts, n=list(range(20))) for ids, texts in batches]
        replies = await asyncio.gather(*[service.post("/v1/check-and-add", body, type=ARROW) for body in bodies])
        results = []
        for reply in replies:
            with pa.ipc.open_stream(reply.body) as reader:
                results.append(reader.read_all().to_pydict())
    with nk.Store.create(tmp_path / "own") as store, nk.Store.open(tmp_path / "s", "r") as made:
        order = dict.fromkeys(str(item.id).partition("-")[0] for batch in made.iter_documents() for item in batch)
        for name in order:
            ids, texts = batches[int(name)]
            expected = store.check_and_add(texts, ids, columns={"n": list(range(20))})
            assert expected.status == results[int(name)]["status"]
            assert expected.ids == results[int(name)]["match"]
        assert str(list(store.iter_documents())) == str(list(made.iter_documents()))


def _table(reply: Any) -> list[dict[str, Any]]:
    with pa.ipc.open_stream(reply.body) as reader:
        return list(reader.read_all().to_pylist())


@pytest.mark.parametrize("recipe", [None, "minhash", nk.Recipe()], ids=str)
async def test_search_and_ids_in_every_format(tmp_path: Path, recipe: nk.Recipe | str | None) -> None:
    async with asgi_client(tmp_path / "s", recipe=recipe, threshold=0.6) as service:
        items = [{"id": f"d{at}", "text": text, "columns": {"n": at}} for at, text in enumerate(TEXTS[:3])]
        await service.post("/v1/add", {"documents": items})
        with nk.Store.open(tmp_path / "s", "r") as store:
            values = store.values(["d0", "d2"])
            expected = store.search(values, k=2)
            checked = store.check(TEXTS[:2], k=2).matches or []
        if isinstance(recipe, nk.Recipe):
            name, written = "fingerprint", to_hex(values, 128)
            column: Any = pa.array(written)
        else:
            name, written = "signature", values.tolist()
            column = pa.array(written, pa.list_(pa.uint32()))
        hits = [[(item.id, item.distance) for item in matches] for matches in expected]
        batch = (await service.post("/v1/search?k=2", {"queries": [{name: item} for item in written]})).json()[
            "results"
        ]
        assert hits == [[(item["id"], item["distance"]) for item in results["matches"]] for results in batch]
        lines = (
            await service.post("/v1/search?k=2", lines_of([{name: item} for item in written]), type=NDJSON)
        ).lines()
        assert batch == lines
        rows = _table(await service.post("/v1/search?k=2", arrow_of(**{name: column}), type=ARROW))
        assert hits == [[(row["id"], row["distance"]) for row in rows if row["query"] == at] for at in range(2)]
        assert json.loads(rows[0]["columns"]) == {"n": 0}
        rows = _table(await service.post("/v1/search?k=2", arrow_of(text=TEXTS[:2]), type=ARROW))
        assert [[item.id for item in matches] for matches in checked] == [
            [row["id"] for row in rows if row["query"] == at] for at in range(2)
        ]
        results = (
            await service.post("/v1/documents", lines_of([{"id": "d1"}, {"id": "x"}, {"ids": []}]), type=NDJSON)
        ).lines()
        assert ["d1", 404, 400] == [row.get("id") or row["error"]["status"] for row in results]
        several = (await service.post("/v1/documents", arrow_of(id=["d2", "d0"]), type=ARROW)).json()["documents"]
        assert ["d2", "d0"] == [row["id"] for row in several]
        assert {"removed": 2} == (await service.post("/v1/remove", arrow_of(id=["d2", "d0"]), type=ARROW)).json()


@pytest.mark.parametrize(
    "columns",
    [
        {"text": ["x"], "tags": [[1.0]]},
        {"text": ["x"], "raw": [b"x"]},
        {"text": [b"x"]},
        {"text": ["x"], "id": [None]},
        {"text": ["x"], "id": [1.5]},
        {"text": ["x"], "n": [float("nan")]},
        {"words": ["x"]},
        {},
    ],
)
async def test_invalid_arrow_columns_are_refused(tmp_path: Path, columns: dict[str, Any]) -> None:
    async with asgi_client(tmp_path / "s") as service:
        for route in ("add", "search", "remove", "documents"):
            reply = await service.post(f"/v1/{route}", arrow_of(**columns), type=ARROW)
            assert "bad-request" == reply.slug, (route, reply)
        assert 0 == (await service.get("/v1/info")).json()["documents"]


async def test_ids_of_requests(tmp_path: Path) -> None:
    async with asgi_client(tmp_path / "s") as service:
        ids = [(await service.get("/healthz")).headers["x-request-id"] for _ in range(3)]
        assert 3 == len(set(ids))
        named = await service.get("/nowhere", {"X-Request-ID": "crawl-7/12"})
        assert ("crawl-7/12", "crawl-7/12") == (named.headers["x-request-id"], named.json()["instance"])
        for odd in ("", "a b", "x" * 101, "é"):
            assert odd != (await service.get("/healthz", {"X-Request-ID": odd})).headers["x-request-id"]


async def test_accepted_arrow_bodies(tmp_path: Path) -> None:
    """String views are accepted within the limit; two streams, or a truncated one, are refused."""
    async with asgi_client(tmp_path / "s") as service:
        texts = pa.array(["x y z", "a much longer text, surely"]).cast(pa.string_view())
        views = arrow_of(id=pa.array(["a", "b"]).cast(pa.string_view()), text=texts)
        assert 200 == (await service.post("/v1/check-and-add", views, type=ARROW)).status
        with nk.Store.open(tmp_path / "s", "r") as store:
            assert ["x y z", "a much longer text, surely"] == store.texts(["a", "b"])
        # Two thousand views share one value of a million bytes.
        view = np.array([1_000_000, int.from_bytes(b"aaaa", "little"), 0, 0], "<i4")
        buffers = [None, pa.py_buffer(np.tile(view, 2000).tobytes()), pa.py_buffer(b"a" * 1_000_000)]
        once = pa.Array.from_buffers(pa.string_view(), 2000, buffers)
        reply = await service.post("/v1/check", arrow_of(text=once), type=ARROW)
        assert "too-large" == reply.slug
        whole = arrow_of(id=["c"], text=["one"])
        for wrong in (whole + whole, whole + b"garbage", whole[:-8], b""):
            assert "bad-request" == (await service.post("/v1/add", wrong, type=ARROW)).slug
        assert 2 == (await service.get("/v1/info")).json()["documents"]


async def test_messages_say_what_to_do(tmp_path: Path) -> None:
    async with asgi_client(tmp_path / "s", recipe=nk.Recipe()) as service:
        await service.post("/v1/add", {"id": 1, "text": "some words"})
        wrong: list[tuple[str, Any, str, str]] = [
            ("check", {"txt": "x"}, "bad-request", "use id, text, columns"),
            ("check", {"documents": [{"txt": "x"}]}, "bad-request", "use id, text, columns"),
            ("search", {"queries": [{"hash": "x"}]}, "bad-request", "use fingerprint, signature"),
            ("search", {"fingerprint": "1"}, "bad-request", "send 32 hexadecimal digits"),
            ("search", {"fingerprint": "0x" + "1" * 30}, "bad-request", "send 32 hexadecimal digits"),
            ("check", b"\xef\xbb\xbf{}", "bad-request", "without it"),
            ("remove?missing_ok=1", {"id": "1"}, "other-kind", "integers"),
            ("documents?missing_ok=1", {"ids": ["1"]}, "other-kind", "integers"),
        ]
        for path, body, slug, said in wrong:
            reply = await service.post(f"/v1/{path}", body)
            assert slug == reply.slug, (path, body)
            assert said in reply.json()["detail"], reply.json()
        key = {"Idempotency-Key": "k"}
        assert 400 == (await service.post("/v1/remove", {"id": 1}, key)).status
        column = {"id": 2, "text": "y", "columns": {"idempotency_key": "mine"}}
        assert 400 == (await service.post("/v1/add", column, key)).status
        assert 200 == (await service.post("/v1/add", column)).status
        assert [] == (await service.post("/v1/check-and-add", {"documents": []})).json()["answers"]
