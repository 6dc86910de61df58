"""Profiles of values, verdicts on requests, and patterns of growing samples."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearkin.errors import ParameterError
from nearkin.patterns.urls import UrlPatterns
from small_site import EXPECTED, traffic

BASE = "GET http://shop.example"
ORDERS = f"{BASE}/api/v1/users/7/orders?page=1&size=20"
ATTACKS = [
    "x' or 1=1--",
    "1 union select null,null",
    "<script>alert(1)</script>",
    "../../../../etc/passwd",
    "......etcpasswd",
    "; cat /etc/shadow",
    "${jndi:ldap://x.example/a}",
    "\x00",
]


@pytest.fixture(scope="module")
def site() -> UrlPatterns:
    """Patterns of four days of a small site."""
    return UrlPatterns().fit(traffic(size=9000), times=[86_400 * (row % 4) for row in range(9000)])


def test_ordinary_requests_are_known(site: UrlPatterns) -> None:
    """At most one of a thousand other requests of the same site is flagged."""
    verdicts = site.judge_many(traffic(seed=2, size=4000))["verdict"].to_pylist()
    assert 4 >= sum(verdict != "known" for verdict in verdicts)


@pytest.mark.parametrize("attack", ATTACKS, ids=range(len(ATTACKS)))
def test_attacks_in_parameters_are_unusual(site: UrlPatterns, attack: str) -> None:
    """In a number, in words and in free text; the verdict names the parameter and the pattern."""
    value = quote(attack, safe="")
    for url, name, text in (
        (f"{BASE}/search?q={value}", "q", "GET shop.example/search?q={text}"),
        (f"{BASE}/api/v1/users/7/orders?page={value}&size=20", "page", EXPECTED[1]),
        (f"{BASE}/index.php?c=login&m=user&name={value}&next=/red", "name", EXPECTED[3]),
    ):
        verdict = site.judge(url)
        assert ("unusual", text) == (verdict.verdict, verdict.pattern)
        assert [name] == [value.name for value in verdict.unusual]


def test_reasons_say_what_is_usual(site: UrlPatterns) -> None:
    """Types, characters, lengths, numbers, members of a set, unknown parameters, attacks, and new requests."""
    expected = {
        "/search?q=red_house": "q: it has _; usual are blank a-z (fewer than 1 of ",
        f"/search?q={'house+' * 40}": "q: it has 240 bytes; usual are 3 to 19",
        "/index.php?c=login&m=user&name=x%22&next=/red": "name: it looks like an attack",
        "/index.php?c=show&id=99999999&m=cart": "id: it is larger than usual",
        "/index.php?c=show&id=-5&m=cart": "id: it has -; usual are 0-9",
        "/index.php?c=show&id=abc&m=cart": "id: it is not {int}",
        "/search?q=red&debug=1": "debug: the pattern has no such parameter",
    }
    for url, reason in expected.items():
        verdict = site.judge(BASE + url)
        assert "unusual" == verdict.verdict, url
        assert str(verdict.unusual[0]).startswith(reason), verdict
    for url in ("/wp-login.php", "/index.php?c=drop&m=cart&id=1"):
        assert ("new", None, ()) == (site.judge(BASE + url).verdict, site.judge(BASE + url).id, site.judge("/").unusual)
    known = site.judge(ORDERS)
    assert ("known", EXPECTED[1], ()) == (known.verdict, known.pattern, known.unusual)
    assert site.match(f"{BASE}/index.php?c=show&id=abc&m=cart") is None


def test_a_parameter_that_others_always_have_is_missed() -> None:
    """From 500 requests on, or if at most one of 2,000 lacks it; not if it is optional, repeated or rarely given."""
    reason = "it is missing or empty"

    def missed(urls: list[str], url: str) -> list[str]:
        return [value.name for value in UrlPatterns().fit(urls).judge(url).unusual if value.reason == reason]

    urls = [f"/list?page={n % 40}&size={n % 50}" for n in range(500)]
    assert ["page"] == missed(urls, "/list?size=3") == missed(urls, "/list?size=3&page=")
    assert ["page", "size"] == missed(urls, "/list")
    assert [] == missed(urls[:450], "/list?size=3")
    assert [] == missed([*urls, "/list?size=7"], "/list?size=3")
    assert ["page"] == missed([*urls * 8, "/list?size=7"], "/list?size=3")
    repeated = [f"/list?tag={n}&tag={n + 1}&size=1" for n in range(300)] + ["/list?size=1"] * 300
    assert [] == missed(repeated, "/list?size=1")


def test_a_parameter_of_the_newest_days_is_missed() -> None:
    """After 500 requests on days without one that lacks it, unless few earlier ones lacked it, or times are unknown."""

    def missed(urls: list[str], times: list[int | None]) -> bool:
        verdict = UrlPatterns().fit(urls, times=times).judge("/list?page=3")
        return ["size: it is missing or empty"] == [str(value).partition(" (")[0] for value in verdict.unusual]

    def days(numbers: list[int]) -> list[int | None]:
        return [86_400 * number for number in numbers]

    old = [f"/list?page={n % 40}" for n in range(200)]
    new = [f"/list?page={n % 40}&size={n % 50}" for n in range(500)]
    assert missed(old + new, days([n // 100 for n in range(700)]))
    assert missed(old + new * 9, days([-3] * 200 + [7] * 4500))
    assert not missed(old + new[:490], days([n // 100 for n in range(690)]))
    assert not missed(old + new, days([n % 2 for n in range(700)]))
    # Another request of the first of these days, or of no day, lacks it.
    assert not missed([*old, *new, "/list?page=1"], days([*(n // 100 for n in range(700)), 2]))
    assert not missed([*old, *new, "/list?page=1"], [*days([n // 100 for n in range(700)]), None])
    # At the earlier share of 1 of 200, 500 requests would have 2.5 that lack it.
    rare = [f"/list?page={n % 40}{'&size=3' if n % 200 else ''}" for n in range(1000)]
    assert not missed(rare + new, days([0] * 1000 + [1] * 500))
    assert missed(rare + new * 6, days([0] * 1000 + [1] * 3000))


def test_a_value_outside_a_small_set_is_unusual() -> None:
    """With thousands of requests over days and none that is rare; with a rare value, new ones are usual."""
    urls = [f"/list?sort={('up', 'down')[n % 2]}&page={n % 9}" for n in range(6000)]
    days = [86_400 * (n % 5) for n in range(6000)]
    verdict = UrlPatterns().fit(urls, times=days).judge("/list?sort=left&page=1")
    assert "sort: it is none of the 2 usual values (fewer than 1 of 2,501)" == str(verdict.unusual[0])
    # A value of tomorrow is no attack because today has many requests; markup is.
    today = UrlPatterns().fit(urls)
    assert ["known", "unusual"] == [today.judge(f"/list?sort={sort}&page=1").verdict for sort in ("left", "(left")]
    rare = [f"/list?sort={name}&page=1" for name in ("aa", "bb", "cc", "dd")]
    fitted = UrlPatterns().fit([*urls, *rare], times=[*days, *range(4)])
    assert "known" == fitted.judge("/list?sort=left&page=1").verdict


def test_one_verdict_equals_those_of_many(site: UrlPatterns) -> None:
    """`judge` and `judge_many`, `match` and `match_many` agree, for any method."""
    urls = [
        *traffic(seed=3, size=60),
        "/search?q=a",
        "http://shop.example/search?q=%3Cb%3E",
        "POST /x HTTP/1.1",
        "",
        "?",
    ]
    rows = site.judge_many(urls).to_pylist()
    matches = site.match_many(urls).to_pylist()
    for url, row, many in zip(urls, rows, matches, strict=True):
        one = site.judge(url)
        found = [(value.name, value.reason, value.rarity) for value in one.unusual]
        assert (row["verdict"], row["id"]) == (one.verdict, one.id)
        assert found == [(value["name"], value["reason"], value["rarity"]) for value in row["unusual"]]
        match = site.match(url)
        assert many["id"] == (match and match.id)
    methods = site.judge_many(["/search?q=a"] * 2, ["GET", None]).to_pylist()
    assert ["new", "new"] == [row["verdict"] for row in methods]
    assert 0 == site.judge_many([]).num_rows
    with pytest.raises(ParameterError, match="url"):
        site.judge(3)  # type: ignore[arg-type]


def test_profiles_describe_values(site: UrlPatterns) -> None:
    """Counts, lengths, characters, numbers, small sets, and the share of missing values."""
    ids = {row["pattern"]: row["id"] for row in site.table().to_pylist()}
    user, page, size = site.profiles(ids[EXPECTED[1]])
    assert ("user", "page", "size") == (user.name, page.name, size.name)
    assert ((0, 8), tuple("012345678"), "0-9", 0.0) == (page.numbers, page.values, page.characters, page.missing)
    assert (("20",), (2, 2), ()) == (size.values, size.lengths, user.values)
    assert user.count == page.count > 400
    optional = UrlPatterns().fit([f"/a?b={n}{'&c=x' if n % 4 else ''}" for n in range(400)])
    assert [0.0, 0.25] == [profile.missing for profile in optional.profiles(optional.patterns[0].id)]


@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(0, 600), st.booleans())
def test_profiles_do_not_depend_on_order(r: random.Random, cut: int, compact: bool) -> None:
    """Batches in any order, merged, give the profiles of one fit; compaction to fewer templates keeps them."""
    pairs = [(url, None if n % 7 == 0 else 86_400 * (n % 5)) for n, url in enumerate(traffic())]
    whole = UrlPatterns().fit([url for url, _ in pairs], times=[time for _, time in pairs])
    r.shuffle(pairs)
    urls, times = [url for url, _ in pairs], [time for _, time in pairs]
    options = {"max_templates": 400} if compact else {}
    left = UrlPatterns(**options).fit(urls[:cut], times=times[:cut])  # type: ignore[arg-type]
    right = UrlPatterns(**options).fit(urls[cut:], times=times[cut:])  # type: ignore[arg-type]
    merged = right.merge(left)
    assert whole.profiles(whole.patterns[0].id)[0].days
    assert [whole.profiles(pattern.id) for pattern in whole.patterns] == [
        merged.profiles(pattern.id) for pattern in merged.patterns
    ]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["", "tag=3", "tag=", "tag", "tag=4&tag=5"]), st.integers(-2, 3)),
        max_size=40,
    ),
    st.integers(8, 400),
)
def test_missing_values_have_days(more: list[tuple[str, int]], max_templates: int) -> None:
    """Requests without a value are counted exactly on each day, also if the parameter is repeated or empty."""
    requests = [(f"page={n}&tag={n}", n % 2) for n in range(30)] + [(f"page=7&{query}", day) for query, day in more]
    patterns = UrlPatterns(max_templates=max_templates)
    for part in (requests[20:], requests[:20]):
        patterns.partial_fit([f"/list?{query}" for query, _ in part], times=[86_400 * day for _, day in part])
    (pattern,) = patterns.patterns
    page, tag = patterns.profiles(pattern.id)
    lacking = [day for query, day in requests if not re.search("tag=[^&]", query)]
    days = sorted({day for _, day in requests})
    total = Counter(day for _, day in requests)
    counts = [(date(1970, 1, 1) + timedelta(days=day), total[day], lacking.count(day)) for day in days]
    assert counts == [(each.day, each.requests, each.missing) for each in tag.days]
    assert [(day, requests, 0) for day, requests, _ in counts] == [
        (each.day, each.requests, each.missing) for each in page.days
    ]
    assert (0.0, len(lacking) / len(requests)) == (page.missing, tag.missing)
    untimed = UrlPatterns().fit([f"/list?{query}" for query, _ in requests])
    assert [(), ()] == [profile.days for profile in untimed.profiles(pattern.id)]


def test_profiles_are_saved(tmp_path: Path, site: UrlPatterns) -> None:
    """An opened state gives the same verdicts and exports; a table has no profiles; types and attacks are judged."""
    site.save(tmp_path / "site.nkp")
    opened = UrlPatterns.open(tmp_path / "site.nkp")
    assert [site.profiles(one.id) for one in site.patterns] == [opened.profiles(one.id) for one in opened.patterns]
    assert site.to_openapi() == opened.to_openapi()
    table = UrlPatterns.from_table(site.table())
    verdicts = {
        "/search?q=red_house": "known",
        "/search?q=%3Cb%3E": "unusual",
        "/index.php?c=show&id=x&m=cart": "unusual",
    }
    assert verdicts == {url: table.judge(BASE + url).verdict for url in verdicts}


def test_exports_have_limits(site: UrlPatterns) -> None:
    """Lengths, characters and numbers, if there are at least 100 values."""
    document = site.to_openapi()["paths"]
    (q,) = document["/search"]["get"]["parameters"]
    assert {"type": "string", "x-type": "text", "maxLength": 28, "pattern": "^[a-z ]*$"} | q["schema"] == q["schema"]
    (user,) = document["/api/v1/users/{user}/orders"]["parameters"]
    assert 0 == user["schema"]["minimum"] < 10**6 <= user["schema"]["maximum"]
    assert "maxLength" not in str(UrlPatterns().fit(traffic(size=300)).to_openapi())


def test_a_crawler_has_a_budget_per_pattern(site: UrlPatterns) -> None:
    """At most `limit` URLs of a pattern are admitted, and all without one."""
    admitted = [site.admit(f"{BASE}/index.php?c=show&id={n}&m=cart", limit=3) for n in range(6)]
    assert [True] * 3 + [False] * 3 == admitted
    assert all(site.admit(f"{BASE}/new/{n}", limit=0) for n in range(3))
    with pytest.raises(ParameterError, match="limit"):
        site.admit("/", limit=-1)


NAMES = [f"{a}{b}" for a in ("alp", "bay", "cape", "dune", "elm") for b in ("ine", "side", "ton", "wood", "land")]
WORDS = ["red", "blue", "old", "new", "river", "stone", "garden", "house", "light", "wood", "paper", "glass", "north"]
INTERFACES: list[tuple[str, Callable[[random.Random], str]]] = [
    ("/", lambda r: "/"),
    ("/about", lambda r: "/about"),
    ("/docs/install", lambda r: "/docs/install"),
    ("/login", lambda r: "/login"),
    ("/{slug}", lambda r: f"/{'-'.join(r.sample(WORDS, 4))}"),
    (
        "/@{name}",
        lambda r: f"/@{r.choice(NAMES)}{r.choice(['', '_', '.'])}{r.choice(NAMES)}{r.choice(['', '7', '_x'])}",
    ),
    ("/blog/{slug}", lambda r: f"/blog/{'-'.join(r.sample(WORDS, 3))}"),
    ("/blog/page/{int}", lambda r: f"/blog/page/{r.randrange(99)}"),
    (
        "/img/{int}/{int}/{name}.jpg",
        lambda r: f"/img/{r.randrange(2000, 2026)}/{r.randrange(1, 13)}/{r.choice(NAMES)}_{r.randrange(9999)}.jpg",
    ),
    ("/api/users/{int}/orders?page={int}", lambda r: f"/api/users/{r.randrange(10**6)}/orders?page={r.randrange(50)}"),
]


def grown(size: int, seed: int = 5) -> list[str]:
    """Return requests of a site with titles and names in the first segment; every fortieth is a scanner's."""
    r = random.Random(seed)
    scan = ["/wp-login.php", "/.env", "/backup.zip", "/admin", "/etc/passwd"]
    return [
        r.choice(scan) if r.random() < 0.2 else f"/{r.choice(['my', 'old', 'x'])}{r.choice(WORDS)}{r.randrange(99)}"
        for _ in range(size // 40)
    ] + [r.choice(INTERFACES)[1](r) for _ in range(size)]


@pytest.mark.parametrize("size", [300, 1_000, 3_000, 10_000, 30_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_more_requests_do_not_change_the_patterns(size: int) -> None:
    """From a few hundred requests on, the patterns are the interfaces; scanners add none."""
    expected = {text for text, _ in INTERFACES}
    patterns = UrlPatterns().fit(grown(size))
    found = {row["pattern"]: row["count"] for row in patterns.table().to_pylist()}
    assert expected == set(found)
    assert size <= sum(found.values()) <= size * 1.002


def test_files_in_any_folders_stay_one_pattern() -> None:
    """Also after the state was compacted, whose one request then stands for thousands of files."""
    r = random.Random(5)
    folders = [[r.choice(WORDS) for _ in range(r.randrange(4))] for _ in range(4_000)]
    urls = ["/".join(["/files", *names, f"{r.choice(WORDS)}-{r.choice(WORDS)}.go"]) for names in folders]
    patterns = UrlPatterns(max_templates=1_000)
    for start in range(0, len(urls), 500):
        patterns.partial_fit(urls[start : start + 500])
    assert ["/files/{tail}"] == patterns.table()["pattern"].to_pylist()
    assert None not in patterns.match_many(urls)["id"].to_pylist()


@pytest.mark.parametrize("size", [50, 105, 300, 3_000, 20_000])
def test_names_with_numbers_are_one_pattern(size: int) -> None:
    """25 names with a number are one variable, for any number of requests; two are names."""
    r = random.Random(1)
    urls = [INTERFACES[8][1](r) for _ in range(size)]
    patterns = UrlPatterns().fit(urls)
    assert ["/img/{int}/{int}/{name}.jpg"] == patterns.table()["pattern"].to_pylist()
    assert "because of its number of values" in str(patterns.explain(urls[0], urls[1]))
    two = UrlPatterns().fit([f"/shop/{('item', 'part')[n % 2]}_{n}.html" for n in range(size)])
    assert ["/shop/item_{int}.html", "/shop/part_{int}.html"] == sorted(two.table()["pattern"].to_pylist())
