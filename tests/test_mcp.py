"""`nearkin mcp` over standard input and output, by the client of the protocol's SDK."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import nearkin as nk
from command import ROOT

mcp = pytest.importorskip("mcp", reason="mcp is not installed; run `make setup`")

FOX = "The quick brown fox jumps over the lazy dog, and then it runs far away."
CATS = "A completely different sentence, about cats."
Calls = list[tuple[str, dict[str, Any]]]


def talk(path: Path, calls: Calls, *options: str) -> tuple[dict[str, Any], list[Any]]:
    """Start a server, make calls, and return its tools by name and the results."""
    # `python -W error` would turn deprecations inside the SDK into failures of the server.
    environment = {"PYTHONPATH": os.pathsep.join([str(ROOT / "python"), *filter(None, [os.environ.get("PYTHONPATH")])])}
    server = mcp.StdioServerParameters(
        command=sys.executable, args=["-m", "nearkin", "mcp", str(path), *options], env=environment
    )

    return asyncio.run(make_calls(server, calls))


def talk_here(path: Path, calls: Calls) -> list[Any]:
    """Make calls of a server in this process."""
    from nearkin.mcp import build_server

    with nk.Store.open(path) as store:
        return asyncio.run(make_calls(build_server(store), calls))[1]


async def make_calls(server: Any, calls: Calls) -> tuple[dict[str, Any], list[Any]]:
    """Return the tools of a server by name, and the results of calls."""
    async with mcp.Client(server) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        return tools, [await client.call_tool(name, arguments) for name, arguments in calls]


def rows(result: Any) -> Any:
    """Return the structured content of a call that succeeded."""
    assert not result.is_error, result.content
    return result.structured_content["result"]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a store of two texts."""
    with nk.Store.create(tmp_path / "pages.store") as store:
        store.add([FOX, CATS], ["fox", "cats"])
    return tmp_path / "pages.store"


def test_an_agent_checks_adds_searches_and_asks_why(store: Path) -> None:
    """Results are those of the store's own calls."""
    near = FOX.replace("far", "very far")
    calls: Calls = [
        ("check", {"texts": [near, "Nobody has seen this sentence before."], "k": 1}),
        ("check_and_add", {"texts": [near, "Something new that has its own words."], "ids": ["a", "b"]}),
        ("check_and_add", {"texts": ["Something new that has its own words."], "ids": ["b"]}),
        ("search", {"text": "A quite different sentence about a cat.", "k": 2}),
        ("explain", {"text": near, "id": "fox"}),
        ("explain", {"text": near, "other": FOX}),
    ]
    tools, results = talk(store, calls)
    assert {"check", "check_and_add", "search", "explain"} == set(tools)
    assert [True, False] == [tools[name].annotations.read_only_hint for name in ("check", "check_and_add")]
    checked, added, again, found = (rows(result) for result in results[:4])
    score = float(nk.similarity([FOX, near], [0], [1])[0])
    match = {"id": "fox", "similarity": score, "text": FOX}
    assert ["near", "new"] == [row["status"] for row in checked]
    assert [match] == [{name: each[name] for name in match} for each in checked[0]["matches"]]
    assert [] == checked[1]["matches"]
    assert [("near", "a", ["fox"]), ("new", "b", [])] == [
        (row["status"], row["id"], [each["id"] for each in row["matches"]]) for row in added
    ]
    assert ["known"] == [row["status"] for row in again]
    assert all(each["similarity"] is not None for each in found)
    why = results[4].structured_content
    assert (score, 0.8, score >= 0.8, str(nk.compare(near, FOX))) == tuple(why.values())
    assert why == results[5].structured_content
    with nk.Store.open(store, "r") as opened:
        assert 4 == len(opened)


def test_texts_without_ids_in_a_store_with_string_ids(store: Path) -> None:
    """Their ids are hashes of the texts: added twice, also in one call, they are there once."""
    new = "Something new that has its own words."
    first, twice = map(rows, talk_here(store, [("check_and_add", {"texts": [new, new, "Another one."]})] * 2))
    assert ["new", "known", "new"] == [row["status"] for row in first]
    assert ["known"] * 3 == [row["status"] for row in twice]
    assert [row["id"] for row in first] == [row["id"] for row in twice]
    with nk.Store.open(store, "r") as opened:
        assert 4 == len(opened)


def test_a_failed_call_names_the_class_of_its_error(store: Path) -> None:
    """The server goes on, and nothing was added."""
    calls: Calls = [
        ("check_and_add", {"texts": ["Another text under an id that exists."], "ids": ["fox"]}),
        ("check_and_add", {"texts": [FOX], "ids": ["a", "b"]}),
        ("explain", {"text": FOX, "id": "no such id"}),
        ("explain", {"text": FOX}),
        ("search", {"text": "..."}),
        ("check", {"texts": []}),
        ("check", {"texts": [FOX], "k": 0}),
        ("explain", {"text": FOX, "id": "fox", "threshold": 0.5}),
        ("check", {"texts": [FOX]}),
    ]
    results = talk_here(store, calls)
    assert [True] * 8 + [False] == [result.is_error for result in results]
    messages = [result.content[0].text for result in results[:5]]
    assert "threshold" in results[7].content[0].text
    assert "use an id that check or search returned" in messages[2]
    kinds = ["InputError", "ParameterError", "ParameterError", "ParameterError", "InputError"]
    assert kinds == [message.split(": ")[1] for message in messages], messages
    with nk.Store.open(store, "r") as opened:
        assert 2 == len(opened)


def test_a_new_store_keeps_numbers_apart(tmp_path: Path) -> None:
    """It is one of short texts, such as an agent's memories."""
    calls: Calls = [
        ("check_and_add", {"texts": ["The ticket SR-2023-052"]}),
        ("check", {"texts": ["Ticket SR-2023-053"]}),
    ]
    calls.append(("check", {"texts": ["the tikcet SR-2023-052", "ticket SR-2023-052"]}))
    _, (_, other, same) = talk(tmp_path / "new.store", calls, "--create")
    assert ["new", "near", "near"] == [row["status"] for row in [*rows(other), *rows(same)]]


def test_a_read_only_server_cannot_add(store: Path) -> None:
    """The tool does not exist, and the store is open for reading alone."""
    tools, (result,) = talk(store, [("check_and_add", {"texts": [FOX]})], "--readonly")
    assert {"check", "search", "explain"} == set(tools)
    assert result.is_error


def test_a_store_of_signatures_is_served(tmp_path: Path) -> None:
    """A MinHash store; `explain` compares the features of its recipe."""
    path = tmp_path / "new.store"
    with nk.Store.create(path, "minhash") as store:
        store.add([FOX], [7])
    calls: Calls = [("search", {"text": FOX}), ("explain", {"text": CATS, "id": 7}), ("check", {"texts": [FOX]})]
    found, why, checked = talk_here(path, calls)
    assert [(7, 1.0, 0.0)] == [(row["id"], row["similarity"], row["distance"]) for row in rows(found)]
    assert not why.structured_content["is_duplicate"]
    assert "exact" == rows(checked)[0]["status"]


def test_a_store_of_files_is_refused(tmp_path: Path) -> None:
    """Tools are for texts."""
    from nearkin.mcp import build_server

    with (
        nk.Store.create(tmp_path / "files.store", "ssdeep") as store,
        pytest.raises(nk.errors.ParameterError, match="use a store of texts"),
    ):
        build_server(store)
