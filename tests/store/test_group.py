"""Several stores queried as one: the first match wins, and nothing changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearkin as nk
from nearkin.errors import MismatchError, ParameterError


def texts(count: int) -> list[str]:
    """Return texts that resemble one another in nothing."""
    return [" ".join(f"w{(n * 31 + i * 7) ** 2}" for i in range(12)) for n in range(count)]


def build(folder: Path, items: dict[str, Any], *arguments: Any, **options: Any) -> Path:
    with nk.Store.create(folder, *arguments, **options) as store:
        store.check_and_add(list(items.values()), list(items))
    return folder


def test_the_first_store_that_matches_wins(tmp_path: Path) -> None:
    """A document gets the result of the first store with a match, whatever later stores have."""
    one, two, three, four = texts(4)
    near = one + " more"
    a = build(tmp_path / "a", {"a1": one, "a2": two}, threshold=0.6)
    b = build(tmp_path / "b", {"b1": near, "b3": three}, threshold=0.6, text="features")
    before = {path: path.read_bytes() for path in sorted(tmp_path.rglob("*.nks"))}
    for order in ([a, b], [b, a]):
        with nk.StoreGroup.open(order) as group:
            queries = [near, three, four, two]
            result = group.check(queries, k=2)
            singles = [store.check(queries, k=2) for store in group.stores]
            for number in range(len(queries)):
                winner = next((at for at, one_ in enumerate(singles) if one_.status[number] != "new"), None)
                expected = singles[0 if winner is None else winner]
                assert expected.status[number] == result.status[number]
                assert expected.ids[number] == result.ids[number]
                assert expected.distances[number] == result.distances[number]
                np.testing.assert_array_equal(expected.similarities[number], result.similarities[number])
                assert expected.matches is not None
                assert result.matches is not None
                assert expected.matches[number] == result.matches[number]
                assert (None if winner is None else order[winner]) == result.stores[number]
            assert ["b1" if order[0] == b else "a1", "b3", None, "a2"] == result.ids
            assert (4, True, False) == (len(group), "b3" in group, "x" in group)
            assert str(result.stores[0]) == next(result.rows())["store"]
            assert 0 == len(group.check([]))
    assert before == {path: path.read_bytes() for path in sorted(tmp_path.rglob("*.nks"))}


def test_groups_of_files_and_of_vectors(tmp_path: Path) -> None:
    """Stores of files and of vectors form groups as well."""
    contents = [b"".join(b"%d line %d of a file\n" % (n, i) for i in range(400)) for n in range(3)]
    for name, data in zip("ab", contents[:2], strict=True):
        with nk.Store.create(tmp_path / name, "ssdeep") as store:
            store.check_and_add([data], [name], kind="bytes")
    with nk.StoreGroup.open([tmp_path / "a", tmp_path / "b"]) as group:
        assert ["b", None, "a"] == group.check([contents[1], b"x", contents[0]], kind="bytes").ids
    vectors = np.random.default_rng(1).standard_normal((20, 16)).astype(np.float32)
    family = nk.families.Hyperplane(bits=64, seed=1).fit(vectors)
    build(tmp_path / "u", {"u": vectors[0]}, family, threshold=0.9)
    build(tmp_path / "v", {"v": vectors[1]}, family, threshold=0.9)
    with nk.StoreGroup.open([tmp_path / "u", tmp_path / "v"]) as group:
        assert ["v", "u", None] == group.check(vectors[[1, 0, 2]]).ids


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"recipe": "word:2|binary|xxh3|minhash:128"}, "recipe slot"),
        ({"recipe": "default"}, "family"),
        ({"threshold": 0.7}, "threshold"),
        ({"recall": 0.9}, "num_bands"),
        ({"differ": "numbers"}, "differ"),
        ({"verify": "indel"}, "verify"),
        ({"empty": "drop"}, "empty"),
        ({"recipe": "ssdeep"}, "kind of documents"),
    ],
)
def test_stores_with_other_settings_are_refused(tmp_path: Path, options: dict[str, Any], what: str) -> None:
    """Whatever changes a result is a typed error that names the setting, and open stores are closed."""
    build(tmp_path / "a", {"a": "x"})
    nk.Store.create(tmp_path / "b", **options).close()
    with pytest.raises(MismatchError) as raised:
        nk.StoreGroup.open([tmp_path / "a", tmp_path / "b"])
    assert what in str(raised.value)


def test_a_group_needs_a_store(tmp_path: Path) -> None:
    """An empty group and a missing store are errors."""
    with pytest.raises(ParameterError, match="one or more"):
        nk.StoreGroup([])
    build(tmp_path / "a", {"a": "x"})
    with pytest.raises(FileNotFoundError):
        nk.StoreGroup.open([tmp_path / "a", tmp_path / "none"])
