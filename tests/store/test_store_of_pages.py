"""Stores of the kind `pages`: pages are compared without the frequent lines of their site."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import nearkin as nk
from nearkin.errors import CorruptStoreError, InputError, ParameterError
from nearkin.store import lines
from nearkin.store.lines import SiteLines

MENU = "news and sport and weather of the town\nabout us and the people who write here"
OTHER_MENU = "shop for books and maps of the coast\nyour basket is empty and waits for you"
FOOTER = "Printed by the press of the town, which has all rights in these pages and answers no letters about them"


def story(number: int) -> str:
    """Return the paragraph of a page, shorter than its menu and footer, which no other page has."""
    words = random.Random(number)
    return " ".join(f"{words.choice('bdfgklmnprst')}{words.choice('aeiou')}{words.randrange(999)}" for _ in range(20))


def page(number: int, menu: str = MENU) -> str:
    """Return a page of a template."""
    return f"{menu}\n{story(number)}\n{FOOTER}"


def site(count: int, host: str = "a.org", menu: str = MENU) -> dict[str, str]:
    """Return pages of a site by their URLs."""
    return {f"https://{host}/{number}": page(number, menu) for number in range(count)}


@pytest.fixture
def pages(path: Path) -> Iterator[nk.Store]:
    """A store of pages with one site of 40."""
    with nk.Store.create(path, kind="pages") as store:
        store.check_and_add(list(site(40).values()), list(site(40)))
        yield store


def counted(store: nk.Store) -> dict[str, tuple[int, int]]:
    """Return the pages and the number of frequent lines of each site."""
    with store._reading():
        found = {name: store._log.lines(name) for name in store._log.sites()}
    return {name: (each.pages, len(each.frequent())) for name, each in found.items()}


def test_a_template_decides_nothing(pages: nk.Store) -> None:
    """Another text in the same menu is new; the same text in another menu, or in none, is a copy."""
    assert 40 == pages.stats(ledger=True).kept
    assert {"a.org": (40, 3)} == counted(pages)
    other = site(9, "b.org", OTHER_MENU)
    result = pages.check_and_add([*other.values(), story(30)], [*other, "https://alone.org/"])
    assert ["same-letters"] * 10 == result.status
    assert [f"https://a.org/{number}" for number in (*range(9), 30)] == result.ids
    fresh = [page(100), page(101, OTHER_MENU)]
    assert ["new", "new"] == pages.check(fresh, sources=["https://a.org/x", "b.org"]).status
    assert ["near"] == pages.check([page(5) + "\nat noon"], sources=["a.org"]).status
    assert [page(3)] == pages.texts(["https://a.org/3"])
    assert pages.content_hashes(["https://a.org/3"]) != pages.content_hashes(["https://b.org/3"])


def test_a_batch_decides_as_the_local_job(path: Path) -> None:
    """HTML and text, several sites, a site of one page, and a page with a missing text."""
    documents = {**site(12), **site(7, "b.org", OTHER_MENU), "https://alone.org/x": page(900), "docs/a/1": page(901)}
    documents["https://c.org/1"] = f"<!doctype html><nav>Home</nav><p>{story(3)}<footer>{FOOTER}</footer>"
    expected = nk.dedup(list(documents.values()), list(documents), kind="pages")
    with nk.Store.create(path, kind="pages") as store:
        result = store.check_and_add(list(documents.values()), list(documents))
        assert expected.kept == [name for name, is_new in zip(documents, result.is_new, strict=True) if is_new]
        assert expected.clusters["id"] == [name for cluster in store.clusters() for name in cluster]
    with pytest.raises(ParameterError, match="None for a store of another kind"), nk.Store.create(path / "s") as store:
        store.check(["a"], sources=["a"])


def test_pages_one_by_one_are_compared_without_what_is_known_by_then(path: Path) -> None:
    """The fifth page makes lines frequent; earlier ones are found by the same site, with all lines or without."""
    with nk.Store.create(path, kind="pages") as store:
        for name, text in site(8).items():
            assert ["new"] == store.check_and_add([text], [name]).status
        assert {"a.org": (8, 3)} == counted(store)
        # Pages 0 to 3 were hashed with the menu, the others without.
        for number in (0, 3, 4, 7):
            again = f"{page(number)}\nat noon"
            assert [f"https://a.org/{number}"] == store.check([again], sources=["a.org"]).ids
        # Another site has neither their menu nor a frequent line, so its copy is found from the fifth page on.
        assert [None, "https://a.org/7"] == store.check([story(0), story(7)], sources=["b.org"] * 2).ids


def test_each_content_counts_once(pages: nk.Store) -> None:
    """Copies, near-duplicates that come again, known and refused pages count nothing; removed ones remain."""
    near = page(5) + "\nat noon"
    pages.check_and_add([near, near, page(6)], ["https://a.org/n1", "https://a.org/n2", "https://a.org/c"])
    pages.check_and_add([near, page(7)], ["https://a.org/n3", "https://a.org/7"])
    assert (41, 3) == counted(pages)["a.org"]
    with pytest.raises(InputError, match="is that of another text"):
        pages.check_and_add([page(50), page(51)], ["https://a.org/50", "https://a.org/1"])
    pages.check_and_add([page(52), page(53)], ["https://a.org/52"] * 2, conflicts="report")
    pages.add([page(54)], ["https://a.org/54"])
    pages.check([page(55)] * 9, sources=["a.org"] * 9)
    pages.remove(["https://a.org/1"])
    assert (43, 3) == counted(pages)["a.org"]


def test_every_copy_of_a_store_carries_its_lines(pages: nk.Store, path: Path) -> None:
    """Merge, another handle, backup, copy and salvage; a page is then compared as before."""
    expected, again = counted(pages), page(20) + "\nat noon"
    pages.merge()
    pages.backup(path.parent / "backup")
    pages.copy(path.parent / "copy").close()
    nk.Store.salvage(path, path.parent / "salvage")
    # Without a log the lines of the kept pages are counted.
    shutil.copytree(path, path.parent / "broken")
    (path.parent / "broken" / "log.sqlite").write_bytes(b"")
    nk.Store.salvage(path.parent / "broken", path.parent / "found")
    for name in ("store", "backup", "copy", "salvage", "found"):
        with nk.Store.open(path.parent / name, "r") as store:
            store.verify()
            assert expected == counted(store)
            assert (["near"], ["new"]) == (
                store.check([again], sources=["a.org"]).status,
                store.check([page(100)], sources=["a.org"]).status,
            )
    with pytest.raises(nk.errors.MismatchError, match="has not counted lines"), nk.Store.create(path / "x") as plain:
        plain.copy(path / "y", kind="pages")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE lines SET pages = 41",
        "UPDATE lines SET counts = zeroblob(12)",
        "UPDATE lines SET site = 'b.org'",
        "DELETE FROM lines",
    ],
)
def test_a_changed_row_of_lines_is_damage(pages: nk.Store, path: Path, change: str) -> None:
    """The checksum of the row, or that of all rows, says so; salvage counts the lines again."""
    pages.close()
    with sqlite3.connect(path / "log.sqlite") as connection:
        connection.execute(change)
    connection.close()
    with pytest.raises(CorruptStoreError), nk.Store.open(path) as store:
        store.verify()
    nk.Store.salvage(path, path.parent / "new")
    with nk.Store.open(path.parent / "new") as store:
        assert (40, 3) == counted(store)["a.org"]


def test_two_writers_count_all_pages(pages: nk.Store, path: Path) -> None:
    """Each sees what the other has counted."""
    with nk.Store.open(path) as other:
        for number in range(40, 60):
            handle = pages if number % 2 else other
            handle.check_and_add([page(number)], [f"https://a.org/{number}"])
        assert counted(other) == counted(pages) == {"a.org": (60, 3)}


@pytest.mark.parametrize("options", [{"text": "features"}, {"text": "none"}, {"empty": "drop"}, {"verify": "none"}])
def test_pages_need_texts(path: Path, options: dict[str, str]) -> None:
    """A store of pages refuses options without the texts from which it leaves out lines."""
    with pytest.raises(ParameterError, match="from which lines are left out"):
        nk.Store.create(path, kind="pages", **options)  # type: ignore[arg-type]


@given(
    sites=st.lists(st.sets(st.integers(0, 60), max_size=12), max_size=60),
    cut=st.integers(0, 60),
)
def test_counts_of_lines_are_within_their_error(sites: list[set[int]], cut: int) -> None:
    """None is too large, or too small by more than the error, which has its bound; parts do not matter."""
    documents = [np.array(sorted(each), np.uint64) for each in sites]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "KEPT_LINES", 8)
        patch.setattr(lines, "MAX_LINES", 16)
        found = SiteLines().with_pages(documents[:cut]).with_pages(documents[cut:])
        assert found.pack() == SiteLines().with_pages(documents).pack()
        assert found.pack() == SiteLines.unpack(*found.pack()).pack()
        exact = Counter(line for each in sites for line in each)
        counts = dict(zip(found.hashes.tolist(), found.counts.tolist(), strict=True))
        assert len(counts) <= 16
        assert found.error <= sum(exact.values()) / 9
        for line, count in exact.items():
            assert count - found.error <= counts.get(line, 0) <= count
