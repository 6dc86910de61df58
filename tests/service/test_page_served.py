"""The page with a service in a real browser: `nearkin serve` in a process, and its service in a thread."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from browsing import Visit, chromium, visiting
from live import serving
from threaded import serve_in_thread

import nearkin as nk

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FOX = "The quick brown fox jumps over the lazy dog, and runs far away into the dark wood."
NEAR = "The quick brown fox leaps over the lazy dog, and runs far away into the dark wood."


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    for extra in ("granian", "fastapi", "msgspec", "prometheus_client"):
        pytest.importorskip(extra, reason=f"{extra} is not installed (nearkin[service])")
    with chromium() as opened:
        yield opened


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """A store of two texts."""
    path = tmp_path / "pages.store"
    with nk.Store.create(path, threshold=0.7) as store:
        store.add(
            [FOX, "Ships sail on the wide blue sea at night."],
            ["http://a/fox", ".."],
            columns={"source": ["web", None]},
        )
    return path


def verdict(visit: Visit, word: str) -> None:
    """Wait until the verdict is a word."""
    visit.page.wait_for_function(
        "word => document.querySelector('#verdict:not(.stale) #verdict-word')?.textContent === word", arg=word
    )


def test_a_text_is_checked_added_viewed_and_removed(browser: Browser, texts: Path) -> None:
    """A text is checked, added, viewed and removed on the page, and in the store."""
    with serving(texts) as service, visiting(browser, service.url) as visit:
        visit.wait("#about", "A store of texts with 2 documents")
        visit.page.fill("#subject", NEAR)
        verdict(visit, "Near")
        visit.wait(".diff")
        assert (["jumps"], ["leaps"]) == tuple(
            visit.page.locator(f".diff {name}").all_inner_texts() for name in ("del", "ins")
        )
        visit.page.fill("#subject", FOX)
        verdict(visit, "Exact")
        visit.page.fill("#subject", "A tale that nobody has told before, of a house and its keys.")
        verdict(visit, "New")
        visit.page.fill("#id", "http://c/\u202etale?x=1#y")
        visit.page.click("#add-button")
        visit.wait("#added", r"Added: http://c/\u{202e}tale?x=1#y is new.")
        visit.page.click("#add-button")
        verdict(visit, "Known")
        visit.wait("#about", "3 documents")
        visit.page.fill("#look-id", "..")
        visit.page.keyboard.press("Enter")
        visit.wait("#document-text", "Ships sail")
        visit.page.click("#document-remove")
        visit.page.check("#sure-erase")
        visit.page.click("#sure-yes")
        visit.wait("#removed", "Removed: ...")
        visit.wait("#live", "Live")
        visit.page.wait_for_function("() => document.querySelector('.chart polyline.first') !== null")
        visit.wait("#answers-list", "known 1")
    with nk.Store.open(texts, "r") as store:
        assert [True, False, True] == [name in store for name in ("http://a/fox", "..", "http://c/\u202etale?x=1#y")]


def test_a_token_opens_the_page_and_a_read_token_changes_nothing(browser: Browser, texts: Path, tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"read {'r' * 20}\nwrite {'w' * 20}\n")
    file.chmod(0o600)
    with serve_in_thread(texts, token_file=file) as service, visiting(browser, service.url) as visit:
        visit.wait("#token-form")
        for token, answer in (("x" * 20, "#token-problem"), ("r" * 20, "#live")):
            visit.page.fill("#token", token)
            visit.page.keyboard.press("Enter")
            visit.wait(answer, "Live" if answer == "#live" else "does not take this token")
        visit.page.fill("#subject", NEAR)
        verdict(visit, "Near")
        visit.page.fill("#id", "near")
        visit.page.click("#add-button")
        visit.wait("#add-problem", "This is not allowed")
        visit.page.click("#add-problem button")
        visit.page.fill("#token", "w" * 20)
        visit.page.keyboard.press("Enter")
        visit.wait("#added", "Added: near is near.")


def test_a_readonly_service_is_reported(browser: Browser, texts: Path) -> None:
    with serve_in_thread(texts, readonly=True) as service, visiting(browser, service.url) as visit:
        visit.wait("#readonly", "This service is read-only. Checks go on; nothing can be added or removed.")
        visit.page.fill("#subject", FOX)
        verdict(visit, "Exact")
        assert visit.page.locator("#add").is_hidden()


def test_a_file_is_compared_by_its_bytes(browser: Browser, tmp_path: Path) -> None:
    content = b"".join(b"line %d of a file that will change a little\n" % i for i in range(400))
    with nk.Store.create(tmp_path / "files.store", "ssdeep", threshold=70) as store:
        store.add([content], ["a.txt"], kind="bytes")
    with serve_in_thread(tmp_path / "files.store") as service, visiting(browser, service.url) as visit:
        visit.wait("#subject-label", "Digest of a file")
        changed = content.replace(b"line 200 ", b"LINE 200, ")
        visit.page.set_input_files("#file", {"name": "b.txt", "mimeType": "text/plain", "buffer": changed})
        verdict(visit, "Near")
        assert "Its similarity to a.txt is 99; the threshold is 70." == visit.text("#verdict-why")
        visit.page.click("#verdict-why button")
        visit.wait("#document-title", "a.txt")


def test_a_vector_is_compared_with_integer_ids(browser: Browser, tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).standard_normal((50, 8)).astype(np.float32)
    family = nk.families.Hyperplane(bits=64, seed=1).fit(vectors)
    with nk.Store.create(tmp_path / "vectors.store", family, threshold=0.9) as store:
        store.add(vectors, [2**60 + i for i in range(50)])
    with serve_in_thread(tmp_path / "vectors.store") as service, visiting(browser, service.url) as visit:
        visit.wait("#about", "A store of vectors with 50 documents")
        visit.page.fill("#subject", str((vectors[3] + np.float32(0.001)).tolist()))
        verdict(visit, "Near")
        assert f"Its similarity to {2**60 + 3} is 1.000; the threshold is 0.9." == visit.text("#verdict-why")
        visit.page.click("#verdict-why button")
        visit.wait("#document-title", str(2**60 + 3))


@pytest.mark.parametrize("kept", ["features", "none"])
def test_a_store_without_texts_says_so(browser: Browser, tmp_path: Path, kept: str) -> None:
    with nk.Store.create(tmp_path / "a.store", threshold=0.7, text=kept) as store:  # type: ignore[arg-type]
        store.add([FOX], ["a"])
    with serve_in_thread(tmp_path / "a.store") as service, visiting(browser, service.url) as visit:
        visit.wait("#about", "1 document")
        visit.page.fill("#subject", NEAR)
        verdict(visit, "Near")
        visit.wait(".compared", "The store keeps no text of this document.")
        visit.page.click("#verdict-why button")
        visit.wait("#document-no-text", "this store keeps none")


def check_schemes(visit: Visit) -> None:
    """Check that a page fits its window and that axe finds no fault, in light and in dark colors."""
    for scheme in ("light", "dark"):
        visit.page.emulate_media(color_scheme=scheme)
        assert (0, []) == (visit.overflow(), visit.faults())


def test_the_page_of_patterns(browser: Browser, texts: Path, tmp_path: Path) -> None:
    """Templates with counts over time, on a phone too; without patterns it says so."""
    lines = [f"took {n} ms" for n in range(60)] + ["<b>user</b> \u202elogged in"] * 30
    days = [f"2026-11-{1 + n % 20:02}T10:00:00Z" for n in range(90)]
    nk.LogTemplates().fit(lines, days).save(tmp_path / "patterns")
    options: dict[str, Any] = {"width": 320, "bypass_csp": True, "path": "/page/patterns.html"}
    with (
        serve_in_thread(texts, patterns=tmp_path / "patterns") as service,
        visiting(browser, service.url, **options) as visit,
    ):
        visit.wait("#about", "2 patterns of 90 lines")
        visit.wait("section:nth-of-type(1) h2", "took {int} ms")
        visit.wait("section:nth-of-type(1) figcaption", "20 days from 2026-11-01 to 2026-11-20; at most 3 items a day")
        visit.wait("section:nth-of-type(2) h2", "<b>user<")
        check_schemes(visit)
    with serve_in_thread(texts) as service, visiting(browser, service.url, **options) as visit:
        visit.wait("#about", "start the service with --patterns FILE")
    nk.UrlPatterns().fit([f"/搜索%2F{n}" for n in range(9)]).save(tmp_path / "urls")
    with (
        serve_in_thread(None, patterns=tmp_path / "urls") as service,
        visiting(browser, service.url, **options) as visit,
    ):
        visit.wait("section h2", "/搜索%2F{int}")


def test_patterns_without_a_store_are_the_first_page(browser: Browser, tmp_path: Path) -> None:
    """With tokens the page leads to the form for one, and back."""
    nk.LogTemplates().fit([f"took {n} ms" for n in range(60)]).save(tmp_path / "patterns")
    file = tmp_path / "tokens"
    file.write_text(f"read {'r' * 20}\n")
    file.chmod(0o600)
    options = {"patterns": tmp_path / "patterns", "token_file": file}
    with serve_in_thread(None, **options) as service, visiting(browser, service.url) as visit:
        visit.wait("#about", "A token is needed")
        visit.page.click("#about a")
        visit.wait("#token-form")
        visit.page.fill("#token", "r" * 20)
        visit.page.keyboard.press("Enter")
        visit.wait("#about", "1 patterns of 60 lines")
        visit.page.goto(service.url)
        visit.wait("section:nth-of-type(1) h2", "took {int} ms")


def test_the_page_of_routes_fits_a_phone_and_axe_finds_no_fault(browser: Browser, texts: Path) -> None:
    options: dict[str, Any] = {"width": 320, "bypass_csp": True}
    with serve_in_thread(texts) as service, visiting(browser, service.url, path="/docs", **options) as visit:
        visit.wait("h1", "routes")
        check_schemes(visit)


def test_a_name_that_is_bound_to_this_machine_reads_nothing(browser: Browser, texts: Path) -> None:
    """DNS rebinding: a page of another site, whose name now leads here, gets neither the page nor an answer."""
    with serve_in_thread(texts) as service, closing(browser.new_page()) as page:
        reply = page.goto(f"http://rebound.example:{service.port}/")
        assert reply is not None
        assert (403, True) == (reply.status, reply.json()["type"].endswith("not-allowed"))
        read = "async path => { const reply = await fetch(path); return [reply.status, await reply.text()] }"
        status, body = page.evaluate(read, "/v1/info")
        assert 403 == status
        assert "documents" not in json.loads(body)
