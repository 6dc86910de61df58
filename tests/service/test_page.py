"""The page in a real browser, with a service whose results are fixed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from browsing import PATIENCE, Visit, chromium, visiting
from page_service import PAGE, Refusal, Service, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FOX = "the quick brown fox jumps over the lazy dog and runs far away"
NEAR = "the quick brown fox leaps over the lazy dog and runs far away"
HOSTILE = [
    '"><img src=x onerror="document.title=1">',
    "<script>document.title=2</script>",
    "../..",
    "a/b?c#d%2F",
    "\u202egnp.exe",
    "'\"`${7*7}{{7*7}}",
    "",
    "x" * 5000,
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def service() -> Iterator[Service]:
    """A service with two texts."""
    made = Service()
    made.put("http://a/fox", FOX, {"source": "web", "n": 7})
    made.put("http://b/sea", "ships sail on the wide blue sea at night")
    with serving(made) as running:
        yield running


@pytest.fixture
def visit(browser: Browser, service: Service) -> Iterator[Visit]:
    with visiting(browser, service.url) as opened:
        opened.wait("#about", "documents")
        yield opened


def verdict(visit: Visit, word: str) -> None:
    """Wait until the verdict on the current text is a word."""
    visit.page.wait_for_function(
        "word => document.querySelector('#verdict:not(.stale) #verdict-word')?.textContent === word", arg=word
    )


def ask(visit: Visit, text: str, word: str) -> None:
    """Check a text, and wait until the verdict is a word."""
    visit.page.fill("#subject", text)
    visit.page.click("#check")
    verdict(visit, word)


def test_a_text_without_matches_is_new(visit: Visit) -> None:
    ask(visit, "an entirely unheard tale", "New")
    assert "Like nothing in the store" in visit.text("#verdict-why")
    assert visit.page.locator("#matches").is_hidden()
    assert "New. Like nothing" in visit.text("#spoken")


def test_an_exact_copy_names_its_original(visit: Visit) -> None:
    ask(visit, FOX, "Exact")
    assert "A copy of http://a/fox." == visit.text("#verdict-why")
    visit.wait("#matches .diff")
    assert "The same text, character by character." == visit.text("#matches .compared > p")


def test_differences_of_a_near_duplicate_are_marked_by_words(visit: Visit) -> None:
    ask(visit, NEAR, "Near")
    assert "Its similarity to http://a/fox is 0.846; the threshold is 0.7." == visit.text("#verdict-why")
    visit.wait("#matches .diff")
    assert ["jumps"] == visit.page.locator(".diff del").all_inner_texts()
    assert ["leaps"] == visit.page.locator(".diff ins").all_inner_texts()
    assert "1 place differs: 1 word only in the stored document, 1 word only in yours." == visit.text(".compared > p")
    assert "source\nweb\nn\n7" == visit.text("#matches .columns-of")
    assert "0.846" in visit.text("#matches .figures")


def test_typed_text_is_checked_automatically(visit: Visit, service: Service) -> None:
    visit.page.locator("#subject").press_sequentially("words of my own")
    verdict(visit, "New")
    assert {"text": "words of my own"} == service.sent("/v1/check")[-1]
    visit.page.fill("#subject", "")
    visit.page.locator("#verdict").wait_for(state="hidden")


def test_an_id_that_is_typed_at_once_keeps_the_text_from_no_check(visit: Visit) -> None:
    visit.page.fill("#subject", FOX)
    visit.wait("#verdict-word", "Exact")
    visit.page.evaluate(
        """text => {
            for (const [id, value] of [["subject", text], ["id", "x"]]) {
                document.getElementById(id).value = value;
                document.getElementById(id).dispatchEvent(new Event("input"));
            }
        }""",
        NEAR,
    )
    visit.wait("#verdict-word", "Near")


def test_a_verdict_of_an_older_text_says_so(visit: Visit) -> None:
    ask(visit, FOX, "Exact")
    visit.page.uncheck("#typing")
    visit.page.fill("#subject", NEAR)
    visit.wait("#verdict-old", "before your last change")
    visit.page.click("#check")
    visit.wait("#verdict-word", "Near")
    assert visit.page.locator("#verdict-old").is_hidden()


def test_an_answer_to_an_older_question_is_not_shown(visit: Visit) -> None:
    """Of two concurrent checks the result of the later one is shown."""
    visit.page.fill("#subject", NEAR)
    visit.page.keyboard.press("Control+Enter")
    ask(visit, "quite another thing", "New")
    assert visit.page.locator("#matches").is_hidden()


def test_a_document_is_added_with_an_id_and_columns(visit: Visit, service: Service) -> None:
    ask(visit, "an entirely unheard tale", "New")
    visit.page.fill("#id", "http://c/tale")
    visit.page.click("#add summary")
    visit.page.fill("#columns", '{"source": "mail", "n": 9007199254740993}')
    visit.page.click("#add-button")
    visit.wait("#added", "Added: http://c/tale is new.")
    sent = {"id": "http://c/tale", "text": "an entirely unheard tale", "columns": {"source": "mail", "n": 2**53 + 1}}
    assert [sent] == service.sent("/v1/check-and-add")
    visit.wait("#about", "3 documents")
    visit.page.click("#add-button")
    visit.wait("#added", "Nothing was added: http://c/tale is known.")
    assert "Known" == visit.text("#verdict-word")
    keys = [headers["Idempotency-Key"] for _, path, headers, _ in service.seen if path == "/v1/check-and-add"]
    assert 2 == len(set(keys))


def test_an_adding_that_failed_is_sent_again_with_its_key(visit: Visit, service: Service) -> None:
    ask(visit, "an entirely unheard tale", "New")
    visit.page.fill("#id", "t")
    service.refusal = Refusal(429, "busy", "Busy", "The queue is full.")
    with visit.page.expect_response("**/v1/check-and-add"):
        visit.page.click("#add-button")
    visit.wait("#add-problem", "The queue is full.")
    service.refusal = None
    visit.page.click("#add-button")
    visit.wait("#added", "Added: t is new.")
    keys = [headers["Idempotency-Key"] for _, path, headers, _ in service.seen if path == "/v1/check-and-add"]
    assert (2, 1) == (len(keys), len(set(keys)))


def test_why_an_adding_failed_stays_on_the_page(visit: Visit, service: Service) -> None:
    """An id typed just before is no longer compared, because that would remove the message."""
    ask(visit, "an entirely unheard tale", "New")
    service.refusal = Refusal(429, "busy", "Busy", "The queue is full.")
    visit.page.evaluate(
        """() => {
            document.getElementById("id").value = "t";
            document.getElementById("id").dispatchEvent(new Event("input"));
            document.getElementById("add-button").click();
        }"""
    )
    visit.wait("#add-problem", "The queue is full.")
    service.refusal = None
    # Longer than the page waits for the rest of an id.
    visit.page.wait_for_timeout(1000)
    assert "The queue is full." in visit.text("#add-problem")
    assert [] == service.sent("/v1/documents")


def test_a_wanted_document_is_added_whatever_it_is_like(visit: Visit, service: Service) -> None:
    ask(visit, FOX, "Exact")
    visit.page.fill("#id", "again")
    visit.page.click("#add summary")
    visit.page.check("#wanted")
    assert "Add" == visit.text("#add-button")
    visit.page.click("#add-button")
    visit.wait("#added", "Added: again is")
    assert ["again"] == [body["id"] for body in service.sent("/v1/add")]


def test_an_id_that_is_there_with_another_text_is_told(visit: Visit) -> None:
    ask(visit, "an entirely unheard tale", "New")
    visit.page.fill("#id", "http://a/fox")
    visit.wait("#verdict-id", "another text")
    visit.page.click("#add-button")
    visit.wait("#add-problem", "This id has another text.")
    ask(visit, FOX, "Exact")
    visit.wait("#verdict-id", "Known: this id is in the store with this text.")


def test_a_document_is_looked_at_checked_and_removed(visit: Visit, service: Service) -> None:
    visit.page.fill("#look-id", "http://a/fox")
    visit.page.click("#look button")
    visit.wait("#document-title", "http://a/fox")
    assert FOX == visit.text("#document-text")
    assert "#document=http%3A%2F%2Fa%2Ffox" == visit.page.evaluate("location.hash")
    visit.page.click("#document-check")
    visit.wait("#verdict-word", "Exact")
    visit.page.click("#document-remove")
    visit.wait("#sure-id", "http://a/fox")
    visit.page.keyboard.press("Escape")
    assert "http://a/fox" in service.documents
    visit.page.click("#document-remove")
    visit.page.check("#sure-erase")
    visit.page.click("#sure-yes")
    visit.wait("#removed", "Removed: http://a/fox.")
    assert ["http://b/sea"] == list(service.documents)
    assert [path for _, path, _, _ in service.seen if "remove" in path] == ["/v1/remove?erase=1"]
    visit.page.fill("#look-id", "http://a/fox")
    visit.page.click("#look button")
    visit.wait("#look-problem", "No such document")


def test_an_address_names_a_document(browser: Browser, service: Service) -> None:
    with visiting(browser, service.url, path="/#document=http%3A%2F%2Fb%2Fsea") as visit:
        visit.wait("#document-title", "http://b/sea")


def test_large_integers_stay_exact_ids(browser: Browser) -> None:
    made = Service(id_kind="int")
    made.put(2**63 - 1, FOX)
    with serving(made) as service, visiting(browser, service.url) as visit:
        visit.wait("#about", "1 document")
        ask(visit, FOX, "Exact")
        assert f"A copy of {2**63 - 1}." == visit.text("#verdict-why")
        visit.page.click("#verdict-why button")
        visit.wait("#document-title", str(2**63 - 1))
        assert {"ids": [2**63 - 1]} == service.sent("/v1/documents")[-1]
        visit.page.fill("#look-id", "seven")
        visit.page.click("#look button")
        visit.wait("#look-problem", "This is not a number")


def drop(visit: Visit, name: str, content: bytes) -> None:
    """Drop a file onto the page."""
    script = """([name, bytes]) => {
        const carried = new DataTransfer();
        carried.items.add(new File([Uint8Array.from(bytes, (sign) => sign.charCodeAt(0))], name));
        for (const kind of ["dragenter", "dragover", "drop"])
            document.body.dispatchEvent(new DragEvent(kind, {dataTransfer: carried, bubbles: true, cancelable: true}));
    }"""
    visit.page.evaluate(script, [name, content.decode("latin-1")])


def test_a_file_is_dropped_or_chosen(visit: Visit, service: Service) -> None:
    drop(visit, "near.txt", NEAR.encode())
    visit.wait("#verdict-word", "Near")
    assert NEAR == visit.page.input_value("#subject")
    content = "line one\r\nline two\r\n"
    visit.page.set_input_files("#file", {"name": "dos.txt", "mimeType": "text/plain", "buffer": content.encode()})
    visit.wait("#chosen-name", "dos.txt, 20 B")
    visit.wait("#verdict-word", "New")
    assert {"text": content} == service.sent("/v1/check")[-1]
    visit.page.click("#chosen-drop")
    assert visit.page.locator("#subject").is_visible()


@pytest.mark.parametrize(
    ("content", "title"),
    [
        (b"\xff\xfeh\x00i\x00", "This is not a text"),
        (b"h\x00i\x00", "This is not a text"),
        (b"\x89PNG\r\n\x1a\n", "This is not a text"),
        (b"a" * ((1 << 20) + 1), "This file is too large"),
    ],
)
def test_a_file_that_cannot_be_a_text_of_this_service_is_refused_by_the_page(
    visit: Visit, service: Service, content: bytes, title: str
) -> None:
    drop(visit, "file.bin", content)
    visit.wait("#subject-problem", title)
    assert [] == service.sent("/v1/check")


def test_a_store_of_files_gets_bytes_or_a_digest(browser: Browser) -> None:
    with serving(Service(kind="files")) as service, visiting(browser, service.url) as visit:
        visit.wait("#subject-label", "Digest of a file")
        drop(visit, "prog.bin", bytes(range(256)))
        visit.wait("#verdict-word", "New")
        assert ["bytes"] == list(service.sent("/v1/check")[-1])
        visit.page.click("#chosen-drop")
        ask(visit, " 3:abc:def\n", "New")
        assert {"digest": "3:abc:def"} == service.sent("/v1/check")[-1]


def test_a_store_of_vectors_gets_numbers(browser: Browser) -> None:
    with serving(Service(kind="vectors")) as service, visiting(browser, service.url) as visit:
        visit.wait("#subject-label", "Vector")
        ask(visit, "[0.5, -1, 2e3]", "New")
        assert {"vector": [0.5, -1, 2000]} == service.sent("/v1/check")[-1]
        visit.page.fill("#subject", "[1, true]")
        visit.page.click("#check")
        visit.wait("#subject-problem", "This is not a vector")


def test_everything_works_by_keyboard(visit: Visit, service: Service) -> None:
    """A document is added, viewed and removed without a pointer."""
    keys = visit.page.keyboard

    def go_to(name: str) -> None:
        for _ in range(40):
            if name == visit.page.evaluate("document.activeElement.id"):
                shadow = visit.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
                assert "none" != shadow
                return
            keys.press("Tab")
        pytest.fail(f"#{name} is not reached by Tab")

    keys.press("Tab")
    assert "Skip to the text" == visit.page.evaluate("document.activeElement.textContent")
    keys.press("Enter")
    go_to("subject")
    keys.type("a tale of keys alone")
    keys.press("Control+Enter")
    visit.wait("#verdict-word", "New")
    go_to("id")
    keys.type("k1")
    keys.press("Control+Shift+Enter")
    visit.wait("#added", "Added: k1 is new.")
    go_to("look-id")
    keys.type("k1")
    keys.press("Enter")
    visit.wait("#document-title", "k1")
    go_to("document-remove")
    keys.press("Enter")
    visit.wait("#sure-id", "k1")
    assert "sure-no" == visit.page.evaluate("document.activeElement.id")
    go_to("sure-yes")
    keys.press("Enter")
    visit.wait("#removed", "Removed: k1.")
    assert "look-id" == visit.page.evaluate("document.activeElement.id")
    assert "k1" not in service.documents


def test_a_token_is_asked_for_and_kept_in_the_tab_alone(browser: Browser) -> None:
    made = Service(tokens={"reading-token": "read", "writing-token": "write"})
    with serving(made) as service, visiting(browser, service.url) as visit:
        visit.wait("#token-form")
        assert "token" == visit.page.evaluate("document.activeElement.id")
        visit.page.keyboard.type("wrong-token")
        visit.page.keyboard.press("Enter")
        visit.wait("#token-problem", "does not take this token")
        visit.page.fill("#token", "reading-token")
        visit.page.keyboard.press("Enter")
        visit.page.locator("#token-form").wait_for(state="hidden")
        ask(visit, "an entirely unheard tale", "New")
        visit.page.click("#add-button")
        visit.wait("#add-problem", "A read token cannot change the store.")
        visit.page.click("#add-problem button")
        visit.page.fill("#token", "writing-token")
        visit.page.keyboard.press("Enter")
        visit.wait("#added", "Added:")
        assert {"nearkin.token": "writing-token"} == visit.page.evaluate("({...sessionStorage})")
        assert [0, ""] == visit.page.evaluate("[localStorage.length, document.cookie]")
        assert not any("token" in path for _, path, _, _ in service.seen)
        visit.page.click("#token-open")
        visit.page.click("#token-forget")
        visit.wait("#token-form")
        assert {} == visit.page.evaluate("({...sessionStorage})")


def test_hostile_documents_are_text_and_nothing_else(browser: Browser) -> None:
    """Ids, texts and columns with markup or direction marks are shown as text."""
    made = Service()
    for position, name in enumerate(HOSTILE):
        made.put(name, f"{FOX} {name} {position}", {"<b>bold</b>": name, "style": "</style><script>1</script>"})
    with serving(made) as service, visiting(browser, service.url, width=320) as visit:
        visit.wait("#about", "documents")
        visit.page.select_option("#best", "50")
        ask(visit, f"{FOX} <img src=x onerror=document.title=3> </textarea>", "Near")
        assert len(HOSTILE) == visit.page.locator("#matches-list > li").count()
        for summary in visit.page.locator("#matches-list summary").all()[1:]:
            summary.click()
        visit.page.wait_for_function("n => document.querySelectorAll('.diff').length === n", arg=len(HOSTILE))
        assert 0 == visit.page.locator("#matches-list :is(img, script, style, b)").count()
        for name in HOSTILE:
            visit.page.fill("#look-id", name)
            if name:
                visit.page.click("#look button")
                visit.page.wait_for_function(
                    "id => !document.getElementById('document').hidden && "
                    "document.getElementById('document-text').textContent.includes(id)",
                    arg=name,
                )
        assert r"\u{202e}gnp.exe" in visit.text("#matches-list")
        assert 0 == visit.page.locator("#document :is(img, script, style, b)").count()
        assert "nearkin: is this document new?" == visit.page.title()
        assert 0 == visit.overflow()
        assert [{"ids": [name]} for name in HOSTILE if name] == service.sent("/v1/documents")[-len(HOSTILE) + 1 :]


def test_a_readonly_store_says_why_and_offers_no_change(browser: Browser, service: Service) -> None:
    service.readonly, service.reason = True, "disk full: 0 bytes are free"
    with visiting(browser, service.url) as visit:
        visit.wait("#readonly", "This store is read-only: disk full: 0 bytes are free.")
        ask(visit, NEAR, "Near")
        assert visit.page.locator("#add").is_hidden()
        visit.page.click("#verdict-why button")
        visit.wait("#document-title", "http://a/fox")
        assert visit.page.locator("#document-remove").is_hidden()
        visit.page.keyboard.press("Control+Shift+Enter")
        assert [] == service.sent("/v1/check-and-add")


def test_a_disk_that_fills_turns_the_page_to_reading(visit: Visit, service: Service) -> None:
    ask(visit, "an entirely unheard tale", "New")
    service.readonly, service.reason = True, "disk full"
    visit.page.click("#add-button")
    visit.wait("#readonly", "disk full")
    assert visit.page.locator("#add").is_hidden()


def test_a_problem_is_shown_beside_what_caused_it_and_announced(visit: Visit, service: Service) -> None:
    service.refusal = Refusal(400, "bad-request", "Bad request", "k=5 is odd.", found=5, allowed="<b>even</b>")
    visit.page.fill("#subject", "words")
    visit.page.click("#check")
    visit.wait("#subject-problem", "Bad request")
    assert "k=5 is odd." in visit.text("#subject-problem")
    assert "<b>even</b>" in visit.text("#subject-problem")
    assert "alert" == visit.page.get_attribute("#subject-problem", "role")


def silent(visit: Visit, service: Service) -> bool:
    """Return True if the page sends nothing for longer than its interval, after a request in progress."""
    for _ in range(5):
        count = len(service.seen)
        visit.page.wait_for_timeout(2500)
        if count == len(service.seen):
            return True
    return False


def test_the_state_is_drawn_live_and_pauses(visit: Visit, service: Service) -> None:
    visit.wait("#live", "Live, every 2 seconds.")
    visit.page.wait_for_function("() => document.querySelector('.chart polyline.first') !== null")
    assert re.match(r"Requests per second: now [\d.]+, highest", visit.page.get_attribute(".spark", "aria-label") or "")
    assert "documents\n2\nwaiting\n3\nsegments\n2\nremoved\n1" in visit.text("#tiles")
    visit.page.click("#pause")
    visit.wait("#live", "Paused.")
    assert silent(visit, service)
    visit.page.click("#pause")
    visit.wait("#live", "Live")


def test_a_hidden_tab_sends_nothing(visit: Visit, service: Service) -> None:
    visit.wait("#live", "Live")
    script = "Object.defineProperty(document, 'hidden', {value: %s, configurable: true}); " + (
        "document.dispatchEvent(new Event('visibilitychange'))"
    )
    visit.page.evaluate(script % "true")
    visit.wait("#live", "Paused while this tab is hidden.")
    assert silent(visit, service)
    visit.page.evaluate(script % "false")
    visit.wait("#live", "Live")


def test_a_stopped_service_is_reported(browser: Browser) -> None:
    with serving(Service()) as service:
        context = browser.new_context()
        try:
            page = context.new_page()
            page.set_default_timeout(PATIENCE)
            page.goto(service.url)
            page.locator("#live", has_text="Live").wait_for()
            page.route("**/metrics", lambda route: route.abort())
            page.locator("#state-problem", has_text="The service does not answer").wait_for()
            page.unroute("**/metrics")
            page.locator("#live", has_text="Live").wait_for()
            assert "" == page.locator("#state-problem").inner_text()
        finally:
            context.close()


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (800, "dark"), (1600, "light")])
def test_no_width_scrolls_sideways_and_axe_finds_no_fault(
    browser: Browser, service: Service, width: int, scheme: str
) -> None:
    service.put("wide/" + "w" * 300, NEAR + " " + "unbroken" * 60, {"c" * 80: "v" * 300})
    with visiting(browser, service.url, width=width, color_scheme=scheme, bypass_csp=True) as visit:
        visit.wait("#about", "documents")
        ask(visit, NEAR, "Near")
        visit.wait(".diff")
        for summary in visit.page.locator("summary:visible").all():
            if summary.locator("xpath=..").get_attribute("open") is None:
                summary.click()
        visit.page.click("#verdict-why button")
        visit.wait("#document-title")
        visit.page.evaluate("document.getElementById('token-form').hidden = false")
        assert 0 == visit.overflow()
        assert [] == visit.faults()
        visit.page.click("#document-remove")
        assert [] == visit.faults()


def compare(visit: Visit, stored: str, yours: str) -> dict[str, object]:
    """Return the differences of two texts, as the module of the page finds them."""
    text: str = visit.page.evaluate(
        "async ([a, b]) => JSON.stringify((await import('/page/differences.js')).differences(a, b))", [stored, yours]
    )
    result: dict[str, object] = json.loads(text)
    return result


def test_differences_give_both_texts_back_and_are_fewest(visit: Visit) -> None:
    """For random texts both sides are complete, and the unmarked tokens are a longest common subsequence."""
    script = """async () => {
        const {changed} = await import('/page/differences.js');
        let state = 7;
        const random = (n) => (state = (state * 48271) % 2147483647) % n;
        const longest = (a, b) => {
            let row = new Array(b.length + 1).fill(0);
            for (const x of a) {
                const next = [0];
                b.forEach((y, j) => next.push(x === y ? row[j] + 1 : Math.max(row[j + 1], next[j])));
                row = next;
            }
            return row[b.length];
        };
        for (let round = 0; round < 2000; round++) {
            const [a, b] = [0, 0].map(() => Int32Array.from({length: random(30)}, () => random(4)));
            const [gone, come] = changed(a, b);
            const same = [a.filter((_, i) => !gone[i]), b.filter((_, i) => !come[i])].map((kept) => [...kept]);
            const right = same[0].join() === same[1].join() && same[0].length === longest([...a], [...b]);
            if (!right) return [[...a], [...b]];
        }
        return null;
    }"""
    assert visit.page.evaluate(script) is None


def test_differences_hold_both_texts(visit: Visit) -> None:
    for stored, yours, by in (
        ("one two three", "one 2 three", "words"),
        ("网络安全很重要", "网络安全不重要", "words"),
        ("", "all of it", "words"),
        ("naïve café 👩‍👩‍👧 x", "naive café 👩‍👩‍👦 x", "words"),
        (
            "\n".join(f"line {i}" for i in range(40_000)),
            "\n".join(f"line {i + i % 997 // 996}" for i in range(40_000)),
            "lines",
        ),
        ("a " * 90_000, "b " * 90_000, "lines"),
        ("\n".join(f"a{i}" for i in range(40_000)), "\n".join(f"b{i}" for i in range(40_000)), "nothing"),
        ("x. y", "x. New. y", "words"),
        ("a b a b a b", "a b a b a b a b", "words"),
        ("😀" + "a\n" * 70_000, "😁" + "a\n" * 70_000, "nothing"),
    ):
        differences = compare(visit, stored, yours)
        runs = differences["runs"]
        assert isinstance(runs, list)
        sides = ["".join(run.get("same", run.get(name)) for run in runs) for name in ("gone", "come")]
        assert (by, stored, yours) == (differences["by"], *sides)


def test_spaces_that_differ_are_seen(visit: Visit, service: Service) -> None:
    service.put("spaces", "one two three four five six")
    ask(visit, "one  two three four five six\n\n", "Exact")
    visit.wait(".diff ins.blank")
    assert 1 == visit.page.locator(".diff ins.line-end").count()


def test_characters_are_marked_where_words_have_no_spaces(visit: Visit) -> None:
    runs = compare(visit, "网络安全很重要", "网络安全不重要")["runs"]
    assert [{"same": "网络安全"}, {"gone": "很", "come": "不"}, {"same": "重要"}] == runs


def test_an_added_sentence_is_marked_from_its_beginning(visit: Visit) -> None:
    runs = compare(visit, "One is. Three is. End", "One is. Two is. Three is. End")["runs"]
    assert [{"same": "One is. "}, {"gone": "", "come": "Two is. "}, {"same": "Three is. End"}] == runs


def test_long_stretches_that_are_equal_are_folded(visit: Visit, service: Service) -> None:
    words = " ".join(f"w{i}" for i in range(500))
    service.put("long", f"first {words} last")
    ask(visit, f"First! {words} last?", "Near")
    visit.wait(".diff .fold", "characters the same")
    assert "w250" not in visit.text(".diff")
    visit.page.click(".diff .fold")
    assert "w250" in visit.text(".diff")


def test_the_page_has_no_inline_code_and_no_markup_from_strings() -> None:
    """No file has code that the content policy refuses, or that turns a document into markup."""
    html = (PAGE / "index.html").read_text("utf-8")
    assert [] == re.findall(r"<style|\sstyle=|\son\w+=|javascript:|<script(?![^>]*\ssrc=)", html)
    for path in PAGE.glob("*.js"):
        code = path.read_text("utf-8")
        assert [] == re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", code)
        assert [] == re.findall(r"https?://(?!www\.w3\.org/2000/svg)", code)
