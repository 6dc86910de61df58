"""Patterns of URLs: order, batches and merges, kinds of variables, hostile lines, and overrides."""

from __future__ import annotations

import random
import time
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearkin._core import canonical_url
from nearkin.errors import MismatchError, ParameterError
from nearkin.patterns.urls import UrlPatterns
from small_site import EXPECTED, traffic

HASH = "da39a3ee5e6b4b0d3255bfef95601890afd80709"
WORDS = ["red", "blue", "old", "new", "river", "stone", "garden", "house", "light", "wood", "paper", "glass"]
RANDOM = "xjAJXh38I15wypJXxuGMBp0EAVxt0G0biEntp43Qt6E"


def fit_patterns(urls: list[str], **options: object) -> list[str]:
    """Return the texts of the patterns, sorted."""
    return sorted(UrlPatterns(**options).fit(urls).table()["pattern"].to_pylist())  # type: ignore[arg-type]


def test_interfaces_of_a_small_site() -> None:
    """The patterns of a small site are its interfaces."""
    assert EXPECTED == fit_patterns(traffic())


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("42", "int"),
        ("0b2a5c9e-8f1d-4a3b-9c7e-1d2f3a4b5c6d", "uuid"),
        (HASH, "hex"),
        ("8f3a91bc", "hex"),
        (RANDOM, "token"),
        ("dQw4w9WgXcQ", "token"),
        ("2024-02-29", "date"),
        ("10.20.30.40", "ip"),
        ("jo.doe@example.com", "email"),
        ("2024-02-29T10:00:00Z", "datetime"),
    ],
)
def test_typed_values_are_variables_at_once(value: str, kind: str) -> None:
    """A single request is sufficient if the value has a type."""
    assert [f"/things/{{{kind}}}/edit"] == fit_patterns([f"/things/{value}/edit"])


@pytest.mark.parametrize(
    ("url", "pattern"),
    [
        ("/shop/product-123.html", "/shop/product-{int}.html"),
        ("/static/app.8f3a.js", "/static/app.{hex}.js"),
        ("/lib/jquery-1.4.2.min.js", "/lib/jquery-{version}.min.js"),
        ("/img/2024-05-01_12.png", "/img/{date}_{int}.png"),
        ("/map;lat=48.5;lon=2.25/tile", "/map;lat={float};lon={float}/tile"),
        ("/cart;jsessionid=8F3A2C/show", "/cart/show"),
        ("/v1/de/about.html", "/v1/de/about.html"),
        ("/a?ids=1&ids=2&ids=3", "/a?ids={int}"),
        ("/list?C=M;O=A", "/list?C={word}&O={word}"),
        ("/a?1700000000", "/a?{int}"),
        ("/a?debug", "/a?debug"),
        ("/?x=-1.5", "/?x={float}"),
    ],
)
def test_variables_inside_segments_and_parameters(url: str, pattern: str) -> None:
    """Text around a variable is kept, and so are versions, languages and suffixes."""
    assert [pattern] == fit_patterns([url])


def test_many_distinct_words_are_a_variable() -> None:
    """Titles of a blog are values, and pages of an API are names."""
    r = random.Random(3)
    words = ["build", "a", "house", "of", "wood", "and", "stone", "near", "the", "river", "in", "one", "long"]
    titles = [f"/blog/{'-'.join(r.sample(words, 5))}" for _ in range(40)]
    names = [f"/api/{name}" for name in ("users", "orders", "carts", "search", "health") for _ in range(30)]
    found = fit_patterns(titles + names)
    assert ["/api/carts", "/api/health", "/api/orders", "/api/search", "/api/users", "/blog/{slug}"] == found


@settings(max_examples=25, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(0, 600), st.integers(0, 600))
def test_order_batches_and_merges_do_not_matter(r: random.Random, first: int, second: int) -> None:
    """The state is a sum, so any order, batches and merges give the same table."""
    urls = traffic()
    methods = ["PUT" if number % 50 == 0 else None for number in range(len(urls))]
    clients = [f"10.0.0.{number % 40}" for number in range(len(urls))]
    rows = list(zip(urls, methods, range(len(urls)), clients, strict=True))
    whole = UrlPatterns().fit(*map(list, zip(*rows, strict=True))).table()
    r.shuffle(rows)
    low, high = sorted((first, second))
    parts = []
    for part in (rows[:low], rows[low:high], rows[high:]):
        patterns = UrlPatterns()
        for half in (part[: len(part) // 2], part[len(part) // 2 :]):
            if half:
                patterns.partial_fit(*map(list, zip(*half, strict=True)))
        parts.append(patterns)
    assert whole.equals(parts[2].merge(parts[0]).merge(parts[1]).table())


def test_patterns_of_patterns_are_the_patterns() -> None:
    """Fitting the texts of patterns returns the same texts."""
    urls = [*traffic(), *(f"/{name}" for name in ("a", "b", "c", "d", "e", "f", "g")), "/a/deep/one", "/a/deep/two"]
    once = fit_patterns(urls)
    assert once == fit_patterns(once)
    assert once == fit_patterns(fit_patterns(once * 3))


def test_ids_are_stable_when_urls_are_added() -> None:
    """More of the same, and new optional parameters, change no id."""
    small, large = UrlPatterns().fit(traffic(1, 200)), UrlPatterns().fit([*traffic(1, 200), *traffic(2, 3000)])
    ids = dict(zip(*(small.table()[name].to_pylist() for name in ("pattern", "id")), strict=True))
    assert ids == dict(zip(*(large.table()[name].to_pylist() for name in ("pattern", "id")), strict=True))
    more = UrlPatterns().fit([*traffic(), *["GET http://shop.example/search?q=red&lang=de"] * 20])
    found = dict(zip(*(more.table()[name].to_pylist() for name in ("pattern", "id")), strict=True))
    assert ids["GET shop.example/search?q={text}"] == found["GET shop.example/search?lang={word}&q={text}"]


HOSTILE = [
    b"/\x00",
    b"/a%00b",
    b"/%",
    b"/%2",
    b"/%zz",
    b"/%2541%2541",
    b"/" + b"A" * 8192,
    b"/" + b"a/" * 4000,
    b"/\xff\xfe\x80",
    b"GET",
    b"GET  HTTP/1.1",
    b"\x16\x03\x01\x02\x00\x01",
    b"http://",
    b"http://[::1/x",
    b"://x",
    b"?",
    b"#",
    b"/?" + b"&" * 5000,
    b"/?" + b"a[]=1&" * 2000,
    b"/users/%27%20OR%201=1--",
    b"/users/..%2f..%2fetc%2fpasswd",
    b"/users/{{7*7}}",
    b"/users/12%00",
    b"/users/%31%32%2500",
    b"\xe2\x80\xae/users",
]


def test_hostile_lines_never_crash_and_never_merge() -> None:
    """Binary, long and double-encoded lines are skipped or separate, and ordinary patterns are unchanged."""
    ordinary = [f"/users/{number}?page={number % 7}" for number in range(100)]
    with_hostile = UrlPatterns().fit([*(url.encode() for url in ordinary), *HOSTILE * 3])
    clean = UrlPatterns().fit(ordinary).table().select(["id", "pattern", "count", "variables"]).to_pylist()
    found = with_hostile.table().select(["id", "pattern", "count", "variables"]).to_pylist()
    assert clean[0] in found
    assert len(ordinary) + 3 * len(HOSTILE) == with_hostile.count
    for line in HOSTILE:
        match = with_hostile.match(line)
        assert match is None or match.pattern != "/users/{int}?page={int}"


HOSTS = ["", "h.example", "wiki", "wiki:80", "wiki:443", "user@wiki", "@wiki:80", "10.0.0.1", "[::1]", "1", "a..b"]
HOSTS += ["caf\u00e9.example", "example.xn--p1ai", "*.h.example", "{int}", "HOST", "%41", "h.example."]


@pytest.mark.parametrize("scheme", ["http", "https", "ftp"])
@pytest.mark.parametrize("host", HOSTS)
def test_the_text_of_a_pattern_has_that_pattern(scheme: str, host: str) -> None:
    """Also if its host is a single name that other paths start with; a table of the patterns matches as they do."""
    urls = [f"{scheme}://{host}/a/{n}?b={n}" for n in range(9)] + [f"/{host.lower()}/a/{n}?b={n}" for n in range(9)]
    patterns = UrlPatterns().fit(urls)
    assert len(patterns) > 1 or not host
    for pattern in patterns.patterns:
        match = patterns.match(pattern.text)
        assert match is not None
        assert (pattern.id, pattern.text) == (match.id, match.pattern)
    table = UrlPatterns.from_table(patterns.table())
    assert patterns.match_many(urls).equals(table.match_many(urls))
    assert {pattern.id for pattern in patterns.patterns} == {pattern.id for pattern in table.patterns}


@settings(max_examples=200, deadline=None)
@given(st.lists(st.binary(max_size=60), max_size=20))
def test_any_bytes_are_counted(lines: list[bytes]) -> None:
    """Each line is in a pattern, unmatched or skipped."""
    patterns = UrlPatterns().fit([b"/" + line for line in lines])
    explained = sum(patterns.table()["count"].to_pylist())
    assert len(lines) == explained + patterns.unmatched.count + sum(patterns.skipped.values())
    assert len(lines) == patterns.match_many([b"/" + line for line in lines]).num_rows


def test_a_scanner_does_not_turn_names_into_variables() -> None:
    """Hundreds of words that one client requests once change no ordinary pattern, and are counted."""
    words = [
        f"/{a}{b}{c}"
        for a in ("old", "new", "my")
        for b in "abcdefghijklmnopqrstuvwxyz"
        for c in ("", ".php", "-bak", ".zip")
    ]
    below = [f"http://shop.example/api/v1/{word[1:]}" for word in words]
    scan = [f"GET http://shop.example{word}" for word in words] + [f"GET {url}" for url in below]
    patterns = UrlPatterns().fit([*traffic(size=6000), *scan])
    assert set(EXPECTED) <= set(patterns.table()["pattern"].to_pylist())
    assert patterns.unmatched.count >= 0.9 * len(scan)
    known = UrlPatterns().fit(
        [*traffic(), *scan], clients=[*(f"10.0.0.{n % 99}" for n in range(600)), *["203.0.113.9"] * len(scan)]
    )
    assert set(EXPECTED) <= set(known.table()["pattern"].to_pylist())
    assert len(known.unmatched.examples) > 10


def test_match_returns_the_values_of_variables() -> None:
    """By name for one URL, in order for many; a missing optional parameter is null."""
    patterns = UrlPatterns().fit([*traffic(), *["GET http://shop.example/search?q=a&lang=en"] * 9])
    match = patterns.match("http://shop.example/api/v1/users/7/orders?size=10&page=%33", "GET")
    assert match is not None
    assert {"user": "7", "page": "3", "size": "10"} == match.variables
    found = patterns.match_many(
        ["GET http://shop.example/search?q=red+house", "GET http://shop.example/nothing", ""]
    ).to_pylist()
    assert [[None, "red house"], None, None] == [row["variables"] for row in found]
    assert found[0]["id"] is not None
    assert found[1] == found[2] == {"id": None, "pattern": None, "variables": None}


def test_columns_and_bytes_are_equal() -> None:
    """Arrow columns, request lines and bytes give the same patterns."""
    urls = ["/a/1", "/a/2", "/b"]
    expected = UrlPatterns().fit(urls, methods=["get", "get", None]).table()
    assert expected.equals(UrlPatterns().fit([b"/a/1", b"/a/2", b"/b"], methods=pa.array(["GET", "GET", None])).table())
    assert expected.equals(
        UrlPatterns()
        .fit(pa.chunked_array([urls[:1], urls[1:]]), pa.array(["GET", "GET", None]).dictionary_encode())
        .table()
    )
    lines = UrlPatterns().fit(["GET /a/1 HTTP/1.1", "GET /a/2", "/b"])
    assert expected["pattern"].equals(lines.table()["pattern"])


def test_invalid_arguments_are_errors() -> None:
    """Errors name the parameter, and the state is unchanged."""
    patterns = UrlPatterns().fit(["/a"])
    for call, words in (
        (lambda: patterns.partial_fit(["/a", None]), r"urls\[1\] is missing"),
        (lambda: patterns.partial_fit(["/a", "/b"], methods=["GET"]), "methods"),
        (lambda: patterns.partial_fit(["/a"], methods="GET"), "methods is one str"),
        (lambda: UrlPatterns(support=0), "support"),
        (lambda: UrlPatterns(keep=["host"]), "keep"),  # type: ignore[list-item]
        (lambda: UrlPatterns(drop_trackers=1), "drop_trackers"),  # type: ignore[arg-type]
        (lambda: patterns.to_regex("nothing"), "pattern_id"),
    ):
        with pytest.raises(ParameterError, match=words):
            call()
    with pytest.raises(MismatchError, match="support"):
        patterns.merge(UrlPatterns(support=3))
    assert 1 == patterns.count
    assert {"no method": 1} == UrlPatterns().fit(["/a"], methods=["G T"]).skipped


def test_keep_and_drop_trackers() -> None:
    """Parts that `keep` does not list become variables; trackers are removed on request."""
    urls = [f"/{language}/v{version}/page" for language in ("de", "en", "fr") for version in (1, 2, 3)] * 2
    assert 9 == len(fit_patterns(urls))
    assert ["/{name}/{version}/page"] == fit_patterns(urls, keep=["suffix"])
    tracked = [f"/a?id={n}&utm_source=x&gclid=y{n}" for n in range(9)]
    assert ["/a?id={int}"] == fit_patterns(tracked, drop_trackers=True)


def test_split_and_pin_undo_merges() -> None:
    """`split` and `pin` restore names."""
    names = ["alice42", "bob_x", "carol7", "dave.k", "erin99", "frank_2", "grace1", "heidi8", "ivan77", "judy3"]
    urls = [f"/user/{name}/posts" for name in [*names, *names, *(f"{a}_{b}" for a in names for b in names[:3])]]
    patterns = UrlPatterns().fit(urls)
    assert ["/user/{name}/posts"] == patterns.table()["pattern"].to_pylist()
    pinned = UrlPatterns().fit(urls).pin("/user/bob_x/posts")
    assert ["/user/{name}/posts", "/user/bob_x/posts"] == pinned.table()["pattern"].to_pylist()
    patterns.split(patterns.table()["id"][0].as_py())
    assert 10 <= len(patterns)
    assert "/user/bob_x/posts" in patterns.table()["pattern"].to_pylist()
    with pytest.raises(ParameterError, match="no variable that is due to its number of values"):
        patterns.split(patterns.table()["id"][0].as_py())


def test_a_state_is_saved_and_opened(tmp_path: Path) -> None:
    """The file has the state, the parameters and the overrides."""
    patterns = UrlPatterns(support=3, keep=["suffix"], drop_trackers=True)
    patterns.fit(traffic(), times=range(600), clients=[str(n) for n in range(600)]).pin("/a")
    patterns.save(tmp_path / "site.nkp")
    opened = UrlPatterns.open(tmp_path / "site.nkp")
    assert patterns.table().equals(opened.table())
    assert repr(patterns) == repr(opened)
    assert opened.merge(patterns).count == 2 * patterns.count


def test_days_are_counted_and_compared() -> None:
    """Changes since yesterday are new, gone and changed patterns."""
    monday = datetime(2024, 5, 6)
    old = [f"/item/{n}?id={n}" for n in range(300)] + ["/gone"] * 50 + ["/more"] * 20
    new = [f"/item/{n}?id=x{n}y" for n in range(300)] + ["/new"] * 50 + ["/more"] * 200
    yesterday = UrlPatterns().fit(old, times=[monday] * len(old))
    today = UrlPatterns().fit(new, times=[monday + timedelta(days=1)] * len(new))
    changes = {(row["kind"], row["pattern"]) for row in today.compare(yesterday).to_pylist()}
    assert ("new", "/new") in changes
    assert ("gone", "/gone") in changes
    assert ("share", "/more") in changes
    assert ("type", "/item/{int}?id={name}") in changes
    both = yesterday.merge(today).table().to_pylist()
    days = {row["pattern"]: [(day["day"].day, day["count"]) for day in row["days"]] for row in both}
    assert [(6, 20), (7, 200)] == days["/more"]
    assert monday.timestamp() <= both[0]["first_seen"].timestamp() + 86_400


def test_explanations_name_the_evidence() -> None:
    """Reasons for variables, and the first difference of two patterns."""
    patterns = UrlPatterns().fit([*traffic(), *["GET http://shop.example/about"] * 5])
    base = "GET http://shop.example"
    together = patterns.explain(f"{base}/api/v1/users/1/orders", f"{base}/api/v1/users/2/orders")
    assert together.together
    assert "{int} is a variable because of its type" in str(together)
    r = random.Random(7)
    slug = patterns.explain(
        f"{base}/blog/{'-'.join(r.sample(['red', 'blue', 'old'], 3))}.html", f"{base}/blog/old-house.html"
    )
    assert "because of its number of values" in str(slug)
    separate = patterns.explain(f"{base}/about", f"{base}/search?q=a")
    assert not separate.together
    assert "segment 1 differs" in str(separate)
    front = patterns.explain(f"{base}/index.php?m=cart&c=show&id=1", f"{base}/index.php?m=user&c=login")
    assert "the parameter m dispatches: cart and user" in str(front)
    assert "a is unmatched" in str(patterns.explain(f"{base}/nothing", f"{base}/about"))
    assert "skipped: empty" in str(patterns.explain("", f"{base}/about"))


def test_urls_of_one_client_join_no_variable() -> None:
    """If clients are known, words that only one requested are unmatched."""
    r = random.Random(5)
    names = [f"{r.choice('abcdefgh')}{r.choice(['ann', 'bob', 'eve'])}{r.randrange(99)}" for _ in range(300)]
    users = [f"/users/{name}/posts" for name in names]
    scan = [f"/users/{word}{n}/posts" for n, word in enumerate(["shell", "config", "dump"] * 20)]
    probes = [f"/{word}{a}{b}.php" for word in ("shell", "config", "dump") for a in "abcdefgh" for b in "rstuv"]
    clients = [*(f"10.0.0.{n % 50}" for n in range(300)), *["203.0.113.9"] * (len(scan) + len(probes))]
    patterns = UrlPatterns().fit([*users, *scan, *probes], clients=clients)
    assert [("/users/{name}/posts", 300)] == list(
        zip(*(patterns.table()[name].to_pylist() for name in ("pattern", "count")), strict=True)
    )
    assert len(scan) + len(probes) == patterns.unmatched.count


def test_memory_is_bounded() -> None:
    """Beyond three quarters of `max_templates`, values become wildcards; nothing is lost, and patterns are the same."""
    urls = traffic(size=6000)
    whole = UrlPatterns().fit(urls)
    small = UrlPatterns(max_templates=400)
    for start in range(0, len(urls), 250):
        small.partial_fit(urls[start : start + 250])
    assert EXPECTED == sorted(small.table()["pattern"].to_pylist())
    columns = ["id", "pattern", "count"]
    assert whole.table().select(columns).equals(small.table().select(columns))
    assert 0 == small.unmatched.count
    assert len(small._table) < 400 < len(whole._table)


def test_many_parameters_are_unmatched() -> None:
    """Requests with hundreds of parameters are counted and have no pattern."""
    hostile = ["/a?" + "&".join(f"k{n}{m}=1" for m in range(900)) for n in range(50)]
    patterns = UrlPatterns().fit([*["/a?x=1"] * 100, *hostile])
    assert ["/a?x={int}"] == patterns.table()["pattern"].to_pylist()
    assert 50 == patterns.unmatched.count


def test_urls_without_a_method_match_any_method() -> None:
    """The method with the most requests comes first; a request line keeps its own."""
    urls = [f"/users/{n}" for n in range(30)] * 2 + [f"/users/{n}/lock" for n in range(10)]
    methods = ["GET"] * 30 + ["DELETE"] * 30 + ["POST"] * 10
    found = UrlPatterns().fit([*urls, "/users/1"], [*methods, "GET"])
    matched = found.match_many(
        ["/users/7", "/users/7/lock", "DELETE /users/7 HTTP/1.1", "PATCH /users/7 HTTP/1.1", "/no"]
    )
    texts = ["GET /users/{int}", "POST /users/{int}/lock", "DELETE /users/{int}", None, None]
    assert texts == matched["pattern"].to_pylist()
    assert [["7"], ["7"], ["7"], None, None] == matched["variables"].to_pylist()
    match = found.match("/users/8/lock")
    assert match is not None
    assert "POST /users/{int}/lock" == match.pattern
    assert found.explain("/users/1", "/users/2").together


def test_many_keys_take_linear_time() -> None:
    """A pattern has at most 256 parameters, the most frequent ones; all requests are counted."""
    known = UrlPatterns().fit(["/a?x=1"] * 300)
    urls = [f"/a?x=1&{'&'.join(f'k{number}_{key}={key % 3}' for key in range(200))}" for number in range(400)]
    started = time.process_time()
    known.unfitted().fit(urls * 2).compare(known)
    assert known.match_many(urls)["id"].null_count == len(urls)
    known.judge_many(urls)
    assert 20 > time.process_time() - started  # It took minutes when each key was looked up in each URL.
    model = UrlPatterns().fit(urls[:50] * 2 + ["/a?x=1"] * 8)
    (pattern,) = model.patterns
    assert (256, True) == (len(pattern.parameters), any(each.key == "x" for each in pattern.parameters))
    assert 108 == model.count == pattern.count + model.unmatched.count


@pytest.mark.parametrize(
    ("escaped", "shown"),
    [
        ("/%E6%90%9C%E7%B4%A2?%E9%A1%B5={int}", "/搜索?页={int}"),
        ("/caf%c3%a9/{int}", "/café/{int}"),
        ("/%E0%A4%95%E0%A4%BF%E0%A4%A4%E0%A4%BE%E0%A4%AC", "/किताब"),
        ("/%F0%9F%98%80%E3%80%8A%E4%B9%A6%E3%80%8B", "/😀《书》"),
        ("/a%2Fb%3Fc%23d%26e%3Df%25E4%20%7Bint%7D", "/a%2Fb%3Fc%23d%26e%3Df%25E4%20%7Bint%7D"),  # Separators, braces
        ("/%C2%85%0A%E2%80%A8", "/%C2%85%0A%E2%80%A8"),  # Ends of lines
        ("/%E2%80%AE%D8%A7%E2%81%A6%EF%BB%BF", "/%E2%80%AEا%E2%81%A6%EF%BB%BF"),  # Direction of text, a byte order mark
        ("/%C2%A0%E3%80%80%E3%85%A4%E2%A0%80%EF%B8%8F", "/%C2%A0%E3%80%80%E3%85%A4%E2%A0%80%EF%B8%8F"),  # Blanks
        ("/%C0%AF%E4%B9%F5%80%80%80%ED%A0%80", "/%C0%AF%E4%B9%F5%80%80%80%ED%A0%80"),  # Invalid UTF-8, a surrogate
        (
            "/%EF%BC%8F%EF%BC%9F%EF%BC%85%E2%81%84%E2%88%95",
            "/%EF%BC%8F%EF%BC%9F%EF%BC%85%E2%81%84%E2%88%95",
        ),  # Look-alikes
        ("/a=%CC%B8b%CC%81", "/a=%CC%B8b%CC%81"),  # Marks that would join an ASCII character
        ("/%FF%CC%81%C3%A9%CC%81", "/%FF%CC%81é\u0301"),
        ("/%EE%80%80%F3%A0%81%81%CD%B8", "/%EE%80%80%F3%A0%81%81%CD%B8"),  # Private, tag and unassigned characters
    ],
)
def test_people_read_decoded_urls(escaped: str, shown: str) -> None:
    """Visible characters beyond ASCII are decoded, and both forms are read as the same pattern."""
    assert shown == UrlPatterns.decode(escaped) == UrlPatterns.decode(shown)
    both = UrlPatterns().fit([escaped, shown])
    assert both.match(escaped) == both.match(shown)
    assert both.judge(escaped) == both.judge(shown)
    # Escapes that only attacks have are no pattern.
    for row in both.table().to_pylist():
        assert (2, shown) == (row["count"], row["decoded"])
        decoded = UrlPatterns.from_table(both.table().set_column(1, "pattern", [[shown]]))
        assert [row["pattern"]] == decoded.table()["pattern"].to_pylist()


@settings(max_examples=200)
@given(
    st.lists(
        st.sampled_from([b"\xe6\x90\x9c", b"\xcc\x81", b"\xff", b"/", b"%", b"{int}", b"?", b"\xe2\x80\xae"])
        | st.binary(max_size=3)
    )
)
def test_decoded_urls_are_the_same_urls(parts: list[bytes]) -> None:
    """Any bytes: decoding changes nothing that is read, and what is decoded is visible."""
    for text in ("/" + quote(b"".join(parts), safe="/?={}"), "/?" + quote(b"".join(parts), safe="")):
        shown = UrlPatterns.decode(text)
        assert canonical_url(text.encode(), None) == canonical_url(shown.encode(), None)
        assert shown.isprintable()
        assert shown == UrlPatterns.decode(shown)
        assert text == quote(shown, safe="/?={}%")


def test_decoded_texts_are_accepted_where_patterns_are() -> None:
    """Overrides and explanations; variables have decoded names."""
    urls = [
        f"/用户/{'-'.join(pair)}/订单?页={n}&a%26b={n}" for n in range(40) for pair in [(WORDS[n % 8], WORDS[n // 5])]
    ]
    patterns = UrlPatterns().fit(urls)
    (row,) = patterns.table().to_pylist()
    assert "/用户/{slug}/订单?页={int}&a%26b={int}" == row["decoded"]
    assert ["用户", "页", "a%26b"] == [variable["name"] for variable in row["variables"]]
    assert row["decoded"] in str(patterns.explain(urls[0], urls[1]))
    assert ["关"] == [value.name for value in patterns.judge(f"{urls[0]}&关=1").unusual]
    assert row["id"] == patterns.match(row["decoded"]).id == patterns.match(row["pattern"]).id  # type: ignore[union-attr]
    summary = patterns.to_openapi()["paths"]["/%E7%94%A8%E6%88%B7/{用户}/%E8%AE%A2%E5%8D%95"]["get"]["summary"]
    assert "/用户/{用户}/订单" == summary
    tables = [UrlPatterns().fit(urls).pin(text).table() for text in (urls[0], quote(urls[0], safe="/?=&%"))]
    assert tables[0].equals(tables[1])
    assert 2 == tables[0].num_rows


def test_only_what_chance_does_not_explain_is_gone() -> None:
    """A rare interface may be absent from a short log; one with a request is not gone, even below `support`."""
    page = [f"/page/{n}" for n in range(940)]
    yesterday = UrlPatterns().fit([*page, *["/rare"] * 6, *["/often"] * 50, *["/page/list"] * 2])

    def gone(urls: list[str], **options: int) -> list[str]:
        today = UrlPatterns(**options).fit(urls)  # type: ignore[arg-type]
        tables = [today.compare(older).to_pylist() for older in (yesterday, yesterday.table())]
        assert tables[0] == tables[1]
        return sorted(row["pattern"] for row in tables[0] if row["kind"] == "gone")

    assert ["/often"] == gone(page)
    assert ["/often", "/rare"] == gone(page * 3)
    # 0.05 of 80 requests are 4, and 0.05 of 100 are 5: (1000 / 1080)^50 is 0.02, (1000 / 1100)^50 is 0.0085.
    assert [] == gone(page[:80])
    assert ["/often"] == gone(page[:100])
    assert [] == gone([])
    # One request is too few for a pattern of its own.
    assert [] == gone([*page * 3, "/often", "/rare", "/page/list"], support=3)
    assert ["/often"] == gone(page * 2 + ["/rare"], support=3)


def test_what_another_pattern_absorbed_is_not_gone() -> None:
    """Words that became values of a variable, new or not, also after compaction, which forgets them."""
    r = random.Random(3)
    names = [f"{a}{b}" for a in WORDS for b in WORDS]
    old = [f"/wiki/{name}/edit" for name in ("alpha", "beta")] * 200
    new = old + [f"/wiki/{r.choice(names)}/edit" for _ in range(4000)]
    r.shuffle(new)
    two = UrlPatterns().fit(old)
    assert ["/wiki/alpha/edit", "/wiki/beta/edit"] == sorted(two.table()["pattern"].to_pylist())
    pinned = UrlPatterns().fit(new).pin(old[0])
    assert ["/wiki/{word}/edit", old[0]] == pinned.table()["pattern"].to_pylist()
    for max_templates in (200_000, 120):
        today = UrlPatterns(max_templates=max_templates)
        for start in range(0, len(new), 200):
            today.partial_fit(new[start : start + 200])
        assert ["/wiki/{word}/edit"] == today.table()["pattern"].to_pylist()
        assert [("type", "/wiki/{word}/edit")] == [
            (row["kind"], row["pattern"]) for row in today.compare(two.table()).to_pylist()
        ]
        assert [] == today.compare(pinned.table()).to_pylist()
    other = UrlPatterns().fit([url for url in new if url != old[0]])
    assert [("gone", old[0])] == [(row["kind"], row["pattern"]) for row in other.compare(pinned).to_pylist()]
