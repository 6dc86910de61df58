"""Patterns over HTTP equal those of the library, and their file has everything that was acknowledged."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from asgi import asgi_client

import nearkin as nk
from command import call
from nearkin.errors import InputError, ParameterError
from nearkin.io.locks import lock_file
from nearkin.patterns import Patterns
from nearkin.service import served_patterns
from nearkin.service.app import Service
from nearkin.service.served_patterns import ServedPatterns
from nearkin.service.settings import Limits, ServiceSettings

LINES = [f"took {n} ms" for n in range(40)] + [f"user u{n} logged in from 10.0.0.{n}" for n in range(40)]
URLS = [f"/api/users/{n}/orders?page={n % 3}" for n in range(40)]
PAYLOADS = [f"<script>alert({n})</script>" for n in range(40)]


def saved(folder: Path, patterns: Patterns) -> Path:
    """Save patterns to a file."""
    patterns.save(folder / "state.patterns")
    return folder / "state.patterns"


KINDS = pytest.mark.parametrize(
    ("patterns", "items"),
    [
        (nk.LogTemplates().fit(LINES), ["took 7 ms", "nothing like it"]),
        (nk.UrlPatterns().fit(URLS), ["/api/users/99/orders?page=1", "/wp-login.php"]),
        (nk.PayloadGroups().fit(PAYLOADS), [PAYLOADS[0], "harmless"]),
    ],
    ids=["lines", "urls", "payloads"],
)


@KINDS
async def test_routes_give_the_results_of_the_library(tmp_path: Path, patterns: Patterns, items: list[str]) -> None:
    path = saved(tmp_path, patterns)
    async with asgi_client(tmp_path / "pages.store", ServiceSettings(patterns=path)) as service:
        listed = (await service.call("GET", "/v1/patterns?limit=1")).json()
        table = patterns.table()
        assert (table.num_rows, patterns.count, 1) == (
            listed["num_patterns"],
            listed["items"],
            len(listed["patterns"]),
        )
        assert table.column("pattern")[0].as_py() == listed["patterns"][0]["pattern"]
        matched = (await service.post("/v1/patterns/match", {"items": items})).json()["results"]
        expected = patterns.match_many(items).to_pylist()
        assert expected == [{name: row[name] for name in expected[0]} for row in matched]
        if isinstance(patterns, nk.UrlPatterns):
            verdicts = patterns.judge_many(items).to_pylist()
            assert ["known", "new"] == [row["verdict"] for row in verdicts]
            assert [(row["verdict"], row["unusual"]) for row in verdicts] == [
                (row["verdict"], row["unusual"]) for row in matched
            ]
        changes = (await service.post("/v1/patterns/compare", {"items": items})).json()["changes"]
        assert patterns.unfitted().fit(items).compare(patterns).to_pylist() == changes


@KINDS
@pytest.mark.parametrize("times", [None, ["2026-02-01T10:00:00Z", "2026-02-02"]], ids=["items", "items and times"])
async def test_optional_fields_reach_the_library(
    tmp_path: Path, patterns: Patterns, items: list[str], times: list[str] | None
) -> None:
    """For each route and kind; a fit is in the file when it is answered, and the list shows its days."""
    path = saved(tmp_path, patterns)
    expected = patterns.unfitted().merge(patterns).partial_fit(items, times=times)
    body: dict[str, Any] = {"items": items} if times is None else {"items": items, "times": times}
    async with asgi_client(tmp_path / "pages.store", ServiceSettings(patterns=path)) as service:
        changes = (await service.post("/v1/patterns/compare", body)).json()["changes"]
        assert patterns.unfitted().fit(items, times=times).compare(patterns).to_pylist() == changes
        matched = await service.post("/v1/patterns/match", body)
        assert (200 if times is None else 400) == matched.status
        reply = (await service.post("/v1/patterns/fit", body)).json()
        assert {"items": expected.count, "num_patterns": len(expected)} == reply
        assert expected.table().equals(type(patterns).open(path).table())
        listed = (await service.call("GET", "/v1/patterns")).json()["patterns"]
        days = {day["day"] for row in listed for day in row["days"]}
        assert days == {str(day["day"]) for row in expected.table().to_pylist() for day in row["days"]}
        before = path.read_bytes()
        for wrong in (["no time"] * 2, ["9999-12-31T23:59:59-23:59"] * 2, ["2026-02-01"], ["2026-02-01"] * 3):
            for route in ("fit", "compare"):
                reply = await service.post(f"/v1/patterns/{route}", {"items": items, "times": wrong})
                assert (400, "bad-request") == (reply.status, reply.slug), (route, wrong)
        assert before == path.read_bytes()


async def test_a_full_disk_adds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state in memory stays that of the file."""
    path = saved(tmp_path, nk.LogTemplates().fit(LINES))

    def fail(self: Patterns, path: Any) -> None:
        raise OSError(28, "No space left on device")

    async with asgi_client(tmp_path / "pages.store", ServiceSettings(patterns=path)) as service:
        with monkeypatch.context() as patched:
            patched.setattr(Patterns, "save", fail)
            assert 507 == (await service.post("/v1/patterns/fit", {"items": ["new"] * 9})).status
        assert 80 == (await service.call("GET", "/v1/patterns")).json()["items"]
        assert 81 == (await service.post("/v1/patterns/fit", {"items": ["new"]})).json()["items"]


async def test_what_another_process_wrote_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that another process wrote is read again; a locked one is an error, and nothing is added."""
    path = saved(tmp_path, nk.LogTemplates().fit(LINES))
    monkeypatch.setattr(served_patterns, "_LOCK_SECONDS", 0.0)
    async with asgi_client(tmp_path / "pages.store", ServiceSettings(patterns=path)) as service:
        nk.LogTemplates.open(path).partial_fit(["written by another"] * 5).save(path)
        assert 86 == (await service.post("/v1/patterns/fit", {"items": ["new"]})).json()["items"]
        with lock_file(path, "state"):
            assert "locked" == (await service.post("/v1/patterns/fit", {"items": ["new"]})).slug
        assert (86, 86) == (
            (await service.call("GET", "/v1/patterns")).json()["items"],
            nk.LogTemplates.open(path).count,
        )


async def test_readers_do_not_wait_for_a_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A match is answered by the patterns before the fit; afterwards by those of the file."""
    path = saved(tmp_path, nk.LogTemplates().fit(LINES))
    started, ended = threading.Event(), threading.Event()
    save = Patterns.save

    def wait(self: Patterns, path: Any) -> None:
        started.set()
        assert ended.wait(20)
        save(self, path)

    monkeypatch.setattr(Patterns, "save", wait)
    async with asgi_client(None, ServiceSettings(patterns=path)) as service:
        fit = asyncio.create_task(service.post("/v1/patterns/fit", {"items": ["new"] * 9}))
        assert await asyncio.to_thread(started.wait, 20)
        assert 80 == (await asyncio.wait_for(service.get("/v1/patterns"), 20)).json()["items"]
        ended.set()
        assert 89 == (await fit).json()["items"] == (await service.get("/v1/patterns")).json()["items"]


async def test_bad_requests(tmp_path: Path) -> None:
    path = saved(tmp_path, nk.LogTemplates().fit(LINES))
    async with asgi_client(tmp_path / "pages.store", ServiceSettings(patterns=path)) as service:
        for route, body, slug in [
            ("match", {"items": ["x"], "times": ["2026-11-26"]}, "bad-request"),
            ("match", {"item": "x"}, "bad-request"),
            ("fit", {"items": ["a", "b"], "times": ["2026-11-26"]}, "bad-request"),
            ("fit", {"items": ["a"], "times": ["no time"]}, "bad-request"),
            ("compare", {"items": ["x"] * 10_001}, "too-large"),
        ]:
            assert slug == (await service.post(f"/v1/patterns/{route}", body)).slug, (route, body)
        assert "bad-request" == (await service.call("GET", "/v1/patterns?limit=0")).slug
        assert 80 == (await service.call("GET", "/v1/patterns")).json()["items"]
    async with asgi_client(tmp_path / "pages.store") as service:
        assert "no-patterns" == (await service.post("/v1/patterns/match", {"items": []})).slug
    async with asgi_client(tmp_path / "pages.store", ServiceSettings(patterns=path, readonly=True)) as service:
        assert "read-only" == (await service.post("/v1/patterns/fit", {"items": []})).slug


def test_other_files_are_refused(tmp_path: Path) -> None:
    """Before the store is created."""
    (tmp_path / "x").write_text("no patterns")
    with pytest.raises(InputError):
        ServedPatterns(tmp_path / "x")
    for name, message in (("x", "is no file that nearkin saved"), ("none", "no such file")):
        done = call("serve", tmp_path / "new", "--create", "--port", "0", "--patterns", tmp_path / name)
        assert (1, True, False) == (done.code, message in done.message, (tmp_path / "new").exists()), done.err


async def test_patterns_are_served_without_a_store(tmp_path: Path) -> None:
    """The routes of patterns, metrics and their page work; those of a store say that there is none; limits hold."""
    path = saved(tmp_path, nk.LogTemplates().fit(LINES))
    settings = ServiceSettings(patterns=path, limits=Limits(max_batch=2))
    async with asgi_client(None, settings) as service:
        assert 200 == (await service.call("GET", "/readyz")).status
        (match,) = (await service.post("/v1/patterns/match", {"items": ["took 5 ms"]})).json()["results"]
        assert "took {int} ms" == match["pattern"]
        fitted = await service.post("/v1/patterns/fit", {"items": ["took 5 ms", "new line"]})
        assert {"items": 82, "num_patterns": 3} == fitted.json()
        assert "too-large" == (await service.post("/v1/patterns/match", {"items": ["a", "b", "c"]})).slug
        for method, route, body in (
            ("GET", "/v1/info", b""),
            ("POST", "/v1/check", b'{"text": "some words"}'),
            ("POST", "/v1/add", b'{"id": 1, "text": "some words"}'),
            ("POST", "/v1/merge", b""),
        ):
            reply = await service.call(method, route, body, {"content-type": "application/json"})
            assert (403, "no-store") == (reply.status, reply.slug), route
        metrics = (await service.call("GET", "/metrics")).body.decode()
        assert 'route="/v1/patterns/fit"' in metrics
        assert b"patterns.js" in (await service.call("GET", "/")).body
    assert 82 == nk.LogTemplates.open(path).count
    with pytest.raises(ParameterError, match="a store, or settings with patterns"):
        Service(None, ServiceSettings())
