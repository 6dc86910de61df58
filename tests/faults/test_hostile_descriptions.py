"""Files with valid checksums and arbitrary JSON in descriptions, metadata and recipes: an error, or a usable file.

Whoever changes a description can also change its checksum, so checksums do not protect the reader.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st
from saved_files import FPS, KINDS, SIGNATURES, TEXTS, X, ask_bands, ask_hamming

import nearkin as nk
from nearkin import errors
from nearkin.families import CrossPolytope, Hyperplane, load

HEADER, ENTRY = 64, 40


def number(data: bytes, at: int) -> int:
    """Return eight bytes as a number."""
    return int.from_bytes(data[at : at + 8], "little")


def with_json(data: bytes, change: Callable[[str], str]) -> bytes:
    """Replace the JSON section of a segment, with correct offsets and checksums."""
    count = int.from_bytes(data[16:20], "little")
    head, body = bytearray(data[: HEADER + ENTRY * count]), bytearray()
    for at in range(HEADER, len(head), ENTRY):
        offset, length = number(data, at + 8), number(data, at + 16)
        section = data[offset : offset + length]
        start = section.find(b'{"')
        if start >= 0:
            text = section[start:].decode("latin-1")
            end = json.JSONDecoder().raw_decode(text)[1]
            new = change(section[start : start + end].decode()).encode("utf-8", "surrogatepass")
            before = section[:start]
            # The index of vectors stores the length of its JSON, because arrays follow it.
            if start >= 8 and number(section, start - 8) == end:
                before = section[: start - 8] + len(new).to_bytes(8, "little")
            section = before + new + section[start + end :]
        body += bytes(-(len(head) + len(body)) % 64)
        fields = (len(head) + len(body), len(section), xxhash.xxh3_64_intdigest(section))
        head[at + 8 : at + 32] = b"".join(field.to_bytes(8, "little") for field in fields)
        body += section
    head[24:32] = (len(head) + len(body)).to_bytes(8, "little")
    head[56:64] = bytes(8)
    head[56:64] = xxhash.xxh3_64_intdigest(bytes(head)).to_bytes(8, "little")
    return bytes(head + body)


def save_hamming(path: Path) -> None:
    """Save a Hamming index with a recipe."""
    index = nk.HammingIndex(recipe="char:4|count|xxh3|simhash:64")
    index.add(None, FPS)
    index.save(path)


def ask_recipe(path: Path) -> object:
    """Return the recipe and the search results."""
    return str(nk.HammingIndex.open(path).recipe), ask_hamming(path)


def save_bands(path: Path) -> None:
    """Save a band index with a recipe and a threshold."""
    index = nk.BandIndex(num_perm=16, threshold=0.5, recipe="char:4|binary|xxh3|minhash:16")
    index.add(None, SIGNATURES)
    index.save(path)


DESCRIBED: dict[str, tuple[Callable[[Path], None], Callable[[Path], object]]] = {
    "hamming": (save_hamming, ask_recipe),
    "bands": (save_bands, ask_bands),
    **{
        name: (KINDS[name].save_small, KINDS[name].ask)
        for name in ("digests", "vectors, bits", "vectors, tables", "family of bits", "family of keys")
    },
}

NUMBERS: list[object] = [-1, 0, 1, 2, 3, 2**31, 2**63, 2**64, 10**400, 0.5, -1.5, 1e300, float("inf"), float("nan")]
OTHERS: list[object] = [None, True, "", "x", "\ud800", "l2", "cosine", "9" * 4000, [], [1], [None], [[]], {}, {"a": 1}]
HOSTILE = st.sampled_from(NUMBERS + OTHERS)


def paths(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every JSON value."""
    yield path
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            yield from paths(inner, (*path, key))


def changed(value: Any, path: tuple[Any, ...], new: object, how: str) -> object:
    """Return the value with another one at a path, without the one at the path, or with an additional one."""
    if not path:
        return new
    value = json.loads(json.dumps(value))
    parent = value
    for key in path[:-1]:
        parent = parent[key]
    if how == "remove":
        del parent[path[-1]]
    elif how == "add" and isinstance(parent, dict):
        parent[f"{path[-1]} too"] = new
    else:
        parent[path[-1]] = new
    return value


@cache
def saved(kind: str, folder: Path) -> bytes:
    """Return the bytes of a file of this kind."""
    path = folder / "whole"
    path.unlink(missing_ok=True)
    DESCRIBED[kind][0](path)
    return path.read_bytes()


def ask(kind: str, folder: Path, data: bytes) -> object:
    """Return the results of a file with these bytes."""
    path = folder / "file.nks"
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    return DESCRIBED[kind][1](path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for files."""
    return tmp_path_factory.mktemp("described")


@pytest.mark.parametrize("kind", DESCRIBED)
def test_a_description_that_is_written_again_is_the_same(kind: str, folder: Path) -> None:
    """Rewriting a description without a change gives the same results, so the test itself changes nothing."""
    whole = saved(kind, folder)
    assert ask(kind, folder, whole) == ask(kind, folder, with_json(whole, lambda text: text))
    assert ask(kind, folder, whole) == ask(kind, folder, with_json(whole, lambda text: json.dumps(json.loads(text))))


@pytest.mark.parametrize("kind", DESCRIBED)
@given(data=st.data())
def test_a_description_with_other_values_is_an_error_or_is_used(kind: str, folder: Path, data: st.DataObject) -> None:
    """At every path, values are missing, duplicated, out of range or of another type."""

    def change(text: str) -> str:
        value = json.loads(text)
        path = data.draw(st.sampled_from(list(paths(value))))
        return json.dumps(
            changed(value, path, data.draw(HOSTILE), data.draw(st.sampled_from(["put", "remove", "add"])))
        )

    hostile = with_json(saved(kind, folder), change)
    with suppress(errors.NearkinError, MemoryError):
        ask(kind, folder, hostile)


@pytest.mark.parametrize("kind", DESCRIBED)
@pytest.mark.parametrize(
    "text", ["", "{", "[" * 200_000, '{"recipe":' * 200_000, "9" * 5000, "\0", "\ud800", '"text"', "null"], ids=range(9)
)
def test_a_description_that_is_no_json_is_an_error(kind: str, folder: Path, text: str) -> None:
    """Descriptions have any nesting depth, numbers of any length, or bytes that are not UTF-8."""
    hostile = with_json(saved(kind, folder), lambda _: text)
    with pytest.raises(errors.NearkinError):
        ask(kind, folder, hostile)


@pytest.mark.parametrize("dimension", [2**36, 2**40])
@pytest.mark.parametrize("rotation", ["hadamard", "gaussian"])
def test_hash_functions_of_a_file_that_do_not_fit_in_memory_are_an_error(
    tmp_path: Path, rotation: Literal["hadamard", "gaussian"], dimension: int
) -> None:
    """Parameters are generated from a seed, so a small file can demand any number of hash functions."""
    path = tmp_path / "family.nks"
    CrossPolytope(hashes=2000, dims=4, rotation=rotation).fit(X).save(path)
    path.write_bytes(
        with_json(path.read_bytes(), lambda text: json.dumps({**json.loads(text), "dimension": dimension}))
    )
    with pytest.raises(MemoryError, match="do not fit in memory; use fewer hash functions"):
        load(path)


def test_hash_functions_that_do_not_fit_in_memory_are_an_error() -> None:
    """The constructor raises the same error as opening a file."""
    wide = np.zeros((1, 2**22), np.float32)
    for family in (Hyperplane(bits=2**16), CrossPolytope(hashes=2**16, rotation="gaussian")):
        with pytest.raises(MemoryError, match="do not fit in memory; use fewer hash functions"):
            family.fit(wide)


SETTINGS: list[dict[str, object]] = [
    {"num_probes": None},
    {"num_probes": 1e300},
    {"num_tables": 0},
    {"num_candidates": 3},
    {"filter": "codes"},
    {"filter": "auto"},
    {"filter": []},
    {"rank": "l2"},
]
CONTRADICTIONS: list[tuple[str, dict[str, object], str]] = [
    # Found before any parameter is generated for that dimension.
    ("family", {"dimension": 2**36}, "its hash functions are not those of its vectors"),
    # Counts of the filter out of range would let a search fail.
    *(("settings", settings, "its description is inconsistent") for settings in SETTINGS),
]


@pytest.mark.parametrize(("part", "values", "message"), CONTRADICTIONS, ids=[str(case[1]) for case in CONTRADICTIONS])
def test_the_description_of_vectors_is_checked_when_the_file_is_opened(
    folder: Path, part: str, values: dict[str, object], message: str
) -> None:
    """A description that contradicts the vectors or itself is damage."""

    def change(text: str) -> str:
        about = json.loads(text)
        about[part].update(values)
        return json.dumps(about)

    hostile = with_json(saved("vectors, tables", folder), change)
    with pytest.raises(errors.CorruptStoreError, match=message):
        ask("vectors, tables", folder, hostile)


def test_a_table_whose_first_line_is_no_json_is_an_error(tmp_path: Path) -> None:
    """The same for tables of inverse document frequencies."""
    path = tmp_path / "idf"
    nk.Idf.fit(TEXTS, "word:1").save(path)
    body = path.read_bytes().partition(b"\n")[2]
    for head in (b"", b"[" * 200_000, b'{"format":' * 200_000, b"9" * 5000, b"\xff", b"null", b'"nearkin-idf"', b"[]"):
        path.write_bytes(head + b"\n" + body)
        with pytest.raises((errors.CorruptStoreError, errors.InputError)):
            nk.Idf.load(path)


@given(data=st.data())
def test_a_table_with_another_first_line_is_an_error_or_is_used(tmp_path_factory: Any, data: st.DataObject) -> None:
    """The checksum of the line is valid."""
    path = tmp_path_factory.mktemp("idf") / "idf"
    nk.Idf.fit(TEXTS, "word:1").save(path)
    line, _, body = path.read_bytes().partition(b"\n")
    head = json.loads(line)
    head.pop("head_sha256", None)
    position = data.draw(st.sampled_from([keys for keys in paths(head) if keys]))
    new: Any = changed(head, position, data.draw(HOSTILE), data.draw(st.sampled_from(["put", "remove"])))
    text = json.dumps(new, ensure_ascii=False, sort_keys=True).encode("utf-8", "surrogatepass")
    new["head_sha256"] = hashlib.sha256(text).hexdigest()
    path.write_bytes(json.dumps(new).encode() + b"\n" + body)
    with suppress(errors.NearkinError):
        nk.Idf.load(path)


@pytest.mark.parametrize(
    "text", ["[" * 200_000, '{"bits":' * 200_000, '{"bits":' + "9" * 5000 + "}", "\ud800"], ids=range(4)
)
def test_recipes_of_hostile_json_are_refused(text: str) -> None:
    """Recipes have any nesting depth and numbers of any length."""
    with pytest.raises(errors.ParameterError):
        nk.Recipe.from_json(text)


GOOD = [
    "char:4",
    "word:2",
    "given",
    "count",
    "binary",
    "log",
    "idf",
    "textrank",
    "xxh3:7",
    "md5",
    "simhash:64",
    "minhash:16",
]
MORE = [
    "minhash:16:fast",
    "top:5",
    "top:10%",
    "stop:en",
    "user:x",
    "cut:jieba",
    "norm:none",
    "tags:n,v",
    "min_length:2",
]
BAD = [
    "char:0",
    "char:65",
    "simhash:1025",
    "simhash:-1",
    "xxh3:18446744073709551616",
    "char:\uff14",
    "simhash:\u0666\u0664",
]
SEGMENTS = GOOD + MORE + BAD


@given(text=st.lists(st.sampled_from(SEGMENTS) | st.text(max_size=6), max_size=8).map("|".join) | st.text(max_size=40))
def test_any_text_is_a_recipe_or_refused(text: str) -> None:
    """A recipe that is parsed from any text has a text form that gives the same recipe."""
    try:
        recipe = nk.Recipe(text)
    except errors.NearkinError:
        pass
    else:
        assert recipe == nk.Recipe(str(recipe)) == nk.Recipe.from_json(recipe.to_json())


@given(data=st.data())
def test_any_values_in_a_json_form_are_a_recipe_or_refused(data: st.DataObject) -> None:
    """Replaces values at every path of the JSON forms of both families."""
    text = data.draw(
        st.sampled_from(["char:4|count|xxh3|simhash:64", "word:2|binary|xxh3|minhash:16", "word:1|stop:en|log"])
    )
    value = json.loads(nk.Recipe(text).to_json())
    path = data.draw(st.sampled_from(list(paths(value))))
    form = json.dumps(changed(value, path, data.draw(HOSTILE), data.draw(st.sampled_from(["put", "remove", "add"]))))
    try:
        recipe = nk.Recipe.from_json(form)
    except errors.NearkinError:
        pass
    else:
        assert recipe == nk.Recipe.from_json(recipe.to_json())
