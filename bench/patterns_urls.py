"""Patterns of URLs: grouping accuracy on sites with a known truth, compared with Drain3; speed.

Sites are generated from a seed. A site has one style or several: a REST API (collections, items, sub-resources,
actions), pages (slugs, categories, languages, dates, static files), front controllers
(``index.php?m=content&c=index``), a portal (names of people, wiki titles, search, trees of files). An interface is a
method, a path with typed variables, and parameters that are required, optional or repeated; its requests draw the
variables. The number of requests of an interface follows a log-normal law with a minimum. ``noise`` is the share of
requests by scanners (interface -1): paths of known holes, words with suffixes, and attacks in numeric parameters, each
requested once or twice by one to three clients.

The weights of the merge were chosen on seeds below 40; the benchmark uses other seeds. Grouping accuracy is the share
of requests whose group has exactly the requests of their interface; a scanner's request is correct without a group or
in a group of its own; `ordinary` leaves scanners out. Drain3 gets `METHOD` and the segments and parameters of the path
as words, with its defaults and, as a second candidate, with masks for numbers, UUIDs and hashes.

**Growth.** One site of about 40 interfaces in samples of 10^2 to 10^5 requests, 3% of them by scanners: the number of
groups, and their F1 (FGA): a group is right if its ordinary requests are exactly those of one interface.

**Verdicts.** Half of the requests of a site are fitted, the ordinary ones of the other half judged; then attacks
replace values of its parameters. A parameter that had words so far then gets the ordinary values of HttpParamsDataset.
Rows name their split. Rules were chosen on sites with seeds below 40, on the values of HttpParamsDataset, on the access
log and on titles of Wikipedia. Other sites and the rewritten attacks of `patterns_payloads.py` chose nothing.

Run `python bench/patterns_urls.py`; results go to `bench/runs/`.
"""

from __future__ import annotations

import gzip
import itertools
import json
import random
import re
import string
import time
import urllib.parse
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import common
import patterns_payloads

WORD_LISTS = {
    name: words.split() for name, words in json.loads((common.DATA / "site_words.json").read_text("utf-8")).items()
}
NOUNS, ACTIONS, SINGULAR, WORDS, FIRST, LAST, CITIES, PROBES, KINDS, ATTACKS, SYLLABLES, GERMAN = WORD_LISTS.values()
SUFFIXES = ["pdf", "docx", "xlsx", "jpg", "png", "zip", "csv", "txt"]


def slug(r: random.Random) -> str:
    words = r.sample(WORDS, r.randint(3, 7))
    if r.random() < 0.2:
        words.insert(r.randrange(len(words)), str(r.randint(2, 2025)))
    return "-".join(words)


def user_name(r: random.Random) -> str:
    first, last = r.choice(FIRST), r.choice(LAST)
    form = r.random()
    if form < 0.3:
        return first + last
    if form < 0.5:
        return f"{first}{r.randint(1, 999)}"
    if form < 0.7:
        return f"{first}_{last}"
    if form < 0.85:
        return f"{first}.{last}"
    return first[0] + last


def weighted(values: list[str], size: int) -> Callable[[random.Random], str]:
    """Return a variable with few values, some more common than others."""
    chosen = values[:size]
    weights = [1 / (position + 2) for position in range(len(chosen))]
    return lambda r: r.choices(chosen, weights)[0]


def random_date(r: random.Random) -> str:
    return f"{r.randint(2015, 2025)}-{r.randint(1, 12):02}-{r.randint(1, 28):02}"


def random_letters(alphabet: str, size: int) -> Callable[[random.Random], str]:
    return lambda r: "".join(r.choices(alphabet, k=size))


HEX = "0123456789abcdef"
TITLES = [f"{a.title()}_{b}" for a in WORDS for b in WORDS if a != b]


#: Variables of a path: the type, and how to draw a value.
PATH: dict[str, Callable[[random.Random], str]] = {
    "int": lambda r: str(r.randint(1, 10 ** r.randint(2, 7))),
    "uuid": lambda r: str(uuid.UUID(int=r.getrandbits(128), version=4)),
    "hash": random_letters(HEX, 40),
    "hex": random_letters(HEX, 8),
    "objectid": random_letters(HEX, 24),
    "token": random_letters(string.ascii_letters + string.digits, 22),
    "nanoid": random_letters(string.ascii_letters + string.digits + "-_", 21),
    "date": random_date,
    "email": lambda r: (
        f"{r.choice(FIRST)}.{r.choice(LAST)}@{r.choice(['example.com', 'mail.example.org', 'corp.example'])}"
    ),
    "ip": lambda r: ".".join(str(r.randint(1, 254)) for _ in range(4)),
    "version": lambda r: f"{r.randint(0, 9)}.{r.randint(0, 20)}.{r.randint(0, 30)}",
    "slug": slug,
    "name": user_name,
    "title": lambda r: r.choice(TITLES),
    "city": weighted(CITIES, 70),
    "text": lambda r: "%20".join(r.sample(WORDS, r.randint(2, 4))),
    "file": lambda r: f"{r.choice(WORDS)}-{r.choice(WORDS)}_{r.randint(1, 999)}.{r.choice(SUFFIXES)}",
    "sku": lambda r: f"{r.choice('ABCDEFG')}{r.choice('XYZ')}-{r.randint(1000, 99999)}",
}


COMMON = ["int"] * 8 + ["uuid"] * 4 + ["objectid", "hex", "token", "nanoid", "name", "sku"]


def tree_of_files(r: random.Random) -> str:
    parts = [r.choice(WORDS) for _ in range(r.randint(0, 5))]
    name, suffix = r.choice(WORDS) + r.choice(["", "_test", "-old"]), r.choice(["py", "js", "md", "txt", "go"])
    return "/".join([*parts, f"{name}.{suffix}"])


#: Values of parameters.
VALUES: dict[str, Callable[[random.Random], str]] = {
    **{kind: PATH[kind] for kind in ("int", "uuid", "hex", "token", "date", "email", "ip", "version", "slug", "city")},
    "text": lambda r: "+".join(r.sample(WORDS, r.randint(1, 4))),
    "float": lambda r: f"{r.uniform(-90, 90):.4f}",
    "flag": lambda r: r.choice(["true", "false"]),
    "order": lambda r: r.choice(["asc", "desc"]),
    "field": lambda r: r.choice(["name", "date", "price", "created_at", "rank"]),
    "lang": lambda r: r.choice(["en", "de", "fr", "zh-CN"]),
    "url": lambda r: f"https%3A%2F%2Fexample.com%2F{slug(r)}",
    "status": lambda r: r.choice(["open", "closed", "pending"]),
    "time": lambda r: f"{random_date(r)}T{r.randint(0, 23):02}%3A{r.randint(0, 59):02}%3A00Z",
    "base64": lambda r: "".join(r.choices(string.ascii_letters + string.digits + "_-", k=32)) + "%3D",
}


PARAMETERS = [tuple(word.split(":")) for word in KINDS]


Variable = tuple[str, "str | Callable[[random.Random], str]", str]
"""What is before a variable, its kind or how to draw a value, and what is behind it."""


@dataclass
class Interface:
    """One interface: method, path in parts (text, or the kind of a variable), parameters."""

    method: str
    path: Sequence[str | Variable]
    fixed: dict[str, str] = field(default_factory=dict)
    required: list[tuple[str, str]] = field(default_factory=list)
    optional: list[tuple[str, str, float]] = field(default_factory=list)

    def key(self) -> tuple[object, ...]:
        """Return the key that is unique within a site."""
        path = tuple(part if isinstance(part, str) else "{}" for part in self.path)
        return self.method, path, tuple(sorted(self.fixed.items()))

    def request(self, r: random.Random) -> str:
        """Draw the path and query of a request."""
        parts = []
        for part in self.path:
            if isinstance(part, str):
                parts.append(part)
            else:
                before, kind, behind = part
                value = kind(r) if callable(kind) else tree_of_files(r) if kind == "tail" else PATH[kind](r)
                parts.append(before + value + behind)
        pairs = list(self.fixed.items())
        pairs += [(key, VALUES[kind](r)) for key, kind in self.required]
        for key, kind, chance in self.optional:
            if r.random() < chance:
                pairs += [(key, VALUES[kind](r)) for _ in range(r.randint(1, 3) if key == "ids" else 1)]
        r.shuffle(pairs)
        query = "&".join(f"{key}={value}" for key, value in pairs)
        return "/" + "/".join(parts) + (f"?{query}" if query else "")


def plural(noun: str) -> str:
    return noun[:-1] + "ies" if noun.endswith("y") else noun + "es" if noun.endswith(("s", "x", "ch")) else noun + "s"


def draw_nouns(r: random.Random, style: str) -> Callable[[], str]:
    """Return a function that yields distinct names of resources: single words first, then pairs."""
    seen: set[str] = set()

    def name() -> str:
        for tries in range(10_000):
            parts = [r.choice(NOUNS)] if tries < 20 else r.sample(NOUNS, 2)
            parts = "-".join(parts).split("-")
            if style == "camel":
                word = parts[0] + "".join(part.title() for part in parts[1:])
            else:
                word = ("_" if style == "snake" else "-").join(parts)
            if word not in seen:
                seen.add(word)
                return word
        raise ValueError("no names are left")

    return name


def draw_parameters(r: random.Random, minimum: int = 0) -> list[tuple[str, str, float]]:
    return [(key, kind, r.choice([0.2, 0.5, 0.8])) for key, kind in r.sample(PARAMETERS, r.randint(minimum, 4))]


def rest(r: random.Random) -> list[list[Interface]]:
    """Return collections of an API, each with its interfaces."""
    style = r.choice(["kebab", "snake", "camel"])
    name = draw_nouns(r, style)
    base = r.choice([["api", "v1"], ["api", "v2"], ["v1"], ["api"], ["rest", "2.0"], []])
    collections = []
    for _ in range(900):
        noun = name()
        kind = r.choice(COMMON)
        item = ("", kind, "")
        root: list[str | Variable] = [*base, plural(noun) if r.random() < 0.85 else noun]
        result = [Interface("GET", root, optional=draw_parameters(r, 1))]
        result += [
            Interface(method, [*root, item]) for method in r.sample(["GET", "PUT", "PATCH", "DELETE"], r.randint(1, 3))
        ]
        if r.random() < 0.6:
            result.append(Interface("POST", root))
        for action in r.sample(ACTIONS, r.choice([0, 0, 1, 2, 3])):
            result.append(Interface(r.choice(["GET", "POST"]), [*root, action], optional=draw_parameters(r)))
        for sub in r.sample(NOUNS, r.choice([0, 1, 1, 2, 3])):
            below = [*root, item, plural(sub)]
            result.append(Interface("GET", below, optional=draw_parameters(r)))
            if r.random() < 0.5:
                result.append(Interface("GET", [*below, ("", r.choice(["int", "uuid", "date", "version"]), "")]))
        for action in r.sample(ACTIONS, r.choice([0, 0, 1, 2])):
            result.append(Interface("POST", [*root, item, action]))
        collections.append(result)
    return collections


def pages(r: random.Random) -> list[list[Interface]]:
    languages = r.choice([[], [], ["en", "de", "fr"], ["en-US", "pt-BR", "zh-CN"]])
    results: list[list[Interface]] = []
    for language in languages or [""]:
        base: list[str | Variable] = [language] if language else []
        group = [
            Interface("GET", [*base, page])
            for page in r.sample(["about", "contact", "imprint", "terms", "faq", "help", "jobs"], 4)
        ]
        group += [
            Interface("GET", [*base, "blog", ("", "slug", r.choice(["", ".html"]))]),
            Interface("GET", [*base, "category", ("", "city", "")], optional=[("page", "int", 0.5)]),
            Interface("GET", [*base, "news", ("", "int", ""), ("", "int", ""), ("", "slug", "")]),
            Interface(
                "GET", [*base, r.choice(["product", "shop", "item"]), (r.choice(["product-", "p"]), "int", ".html")]
            ),
            Interface("GET", [*base, "search"], required=[("q", "text")], optional=draw_parameters(r)),
            Interface("GET", [*base, "archive", ("", "date", "")]),
        ]
        results.append(group)
    assets = [
        Interface("GET", [folder, f"{word}.{suffix}"])
        for folder, suffix in [("css", "css"), ("js", "js")]
        for word in r.sample(WORDS, 4)
    ]
    assets.append(Interface("GET", ["static", ("app.", "hex", ".js")]))
    assets.append(Interface("GET", ["static", ("vendor.", "hash", ".js")]))
    assets.append(Interface("GET", ["images", (r.choice(["img-", "photo_"]), "int", r.choice([".jpg", ".png"]))]))
    assets.append(Interface("GET", ["downloads", ("", "file", "")]))
    assets.append(Interface("GET", ["releases", ("", "version", ""), ("setup-", "version", ".exe")]))
    assets += [Interface("GET", [page]) for page in ["", "robots.txt", "favicon.ico", "sitemap.xml"]]
    return [*results, assets]


def front(r: random.Random) -> list[list[Interface]]:
    """Return front controllers: one or two parameters select the interface."""
    script = r.choice(["index.php", "main.do", "app.aspx"])
    groups = []
    for module in r.sample(NOUNS, 12):
        group = []
        for action in r.sample(SINGULAR, r.randint(2, 5)):
            required = [(key, kind) for key, kind in r.sample(PARAMETERS, r.randint(0, 3))]
            fixed = {"m": module, "c": action} if script == "index.php" else {"action": f"{module}.{action}"}
            group.append(Interface("GET", [script], fixed, [(f"{module[:3]}id", "int"), *required]))
        groups.append(group)
    scripts = [f"{name}.php" for name in r.sample(SINGULAR, 5)]
    return groups + [
        [Interface("GET", [name], required=[("id", "int")], optional=draw_parameters(r))] for name in scripts
    ]


def portal(r: random.Random) -> list[list[Interface]]:
    people = r.choice(["users", "people", "profile", "members"])
    named = ("", "name", "")
    item = [Interface("GET", [people, named])]
    item += [
        Interface("GET", [people, named, sub], optional=draw_parameters(r))
        for sub in r.sample(["posts", "followers", "photos", "about", "likes"], 3)
    ]
    item.append(Interface("GET", [people, named, "posts", ("", "int", "")]))
    return [
        item,
        [Interface("GET", ["wiki", ("", "title", "")])],
        [Interface("GET", ["tags", ("", "city", "")], optional=[("page", "int", 0.3)])],
        [Interface("GET", ["files", ("", "tail", "")])],
        [Interface("GET", ["search", ("", "text", "")])],
        [Interface("GET", ["lookup", ("", "ip", "")]), Interface("GET", ["lookup", ("", "email", "")])],
    ]


CHINESE = "春夏秋冬山水花鸟风云日月星辰江河湖海东西南北中书画琴棋诗酒茶"


def closed_sets(r: random.Random) -> list[list[Interface]]:
    """Return interfaces whose variables are closed sets of names of no list, next to fixed pages."""
    names = sorted({"".join(r.choices(SYLLABLES, k=r.randint(2, 4))) for _ in range(900)})
    r.shuffle(names)
    sets: list[Variable] = []
    for size in (r.randint(20, 60), r.randint(100, 400), r.randint(40, 200), r.randint(60, 300)):
        chosen, names = names[:size], names[size:]
        weights = [1 / (1 + position) ** 0.7 for position in range(size)]
        sets.append(("", (lambda r, chosen=chosen, weights=weights: r.choices(chosen, weights)[0]), ""))
    small, channel, owner, repo = sets
    slug_de: Variable = ("", lambda r: "-".join(r.sample(GERMAN, r.randint(2, 4))), "")
    title_zh: Variable = ("", lambda r: urllib.parse.quote("".join(r.sample(CHINESE, r.randint(2, 6)))), "")
    number: Variable = ("", "int", "")
    get = partial(Interface, "GET")
    shelf, news, search = (urllib.parse.quote(word) for word in ("书架", "新闻", "搜索"))
    section = r.choice(["c", "k", "kanal", "v"])
    return [
        [get([section, channel]), get([section, channel, "videos"]), get([section, channel, "live", number])],
        [get([r.choice(["gruppe", "g", "salon"]), small]), get([r.choice(["raum", "etage"]), small, "plan"])],
        [get([owner, repo]), get([owner, repo, "issues"]), get([owner, repo, "issues", number]),
         get([owner, repo, "pull", number]), Interface("POST", [owner, repo, "star"])],
        [get(["wiki", ("", "title", "")]), get(["wiki", ("", "title", ""), "history"])],
        [get([r.choice(["p", "artikel"]), ("", "sku", "")]), get(["tiles", number, number, ("", "int", ".png")])],
        [get(["produkte", slug_de]), get(["produkte", slug_de, "bewertungen"]), get(["ratgeber", slug_de])],
        [get([shelf, title_zh]), get([news, number]), get([search], required=[("关键词", "text"), ("页", "int")])],
        [get([page]) for page in r.sample(["about", "impressum", "datenschutz", "jobs", "login", "pricing", ""], 5)],
        [Interface(method, ["api", noun, *tail]) for noun in ("orders", "invoices", "carts")
         for method, tail in (("GET", []), ("POST", []), ("GET", [number]), ("DELETE", [number]))],
    ]  # fmt: skip


@dataclass
class Site:
    """Requests, and the interface of each; -1 for noise."""

    methods: list[str]
    urls: list[str]
    clients: list[str]
    truth: list[int]
    interfaces: int


def draw_interfaces(r: random.Random, count: int) -> list[Interface]:
    """Return about `count` distinct interfaces of a site."""
    groups: list[list[Interface]] = []
    for style in r.sample([pages, front, portal], r.randint(1, 3)):
        groups += style(r)
    r.shuffle(groups)
    api = rest(r)
    mixed: list[Interface] = []
    # Half of a small site is not API; of a large one nearly all is.
    for group in groups:
        if len(mixed) < count // 2:
            mixed += group
    for group in api:
        if len(mixed) < count:
            mixed += group
    seen: set[object] = set()
    results = []
    for interface in mixed[:count]:
        if interface.key() not in seen:
            seen.add(interface.key())
            results.append(interface)
    return results


def probe(r: random.Random, interfaces: list[Interface]) -> str:
    """Draw a request of a scanner."""
    kind = r.random()
    if kind < 0.25:
        return "/" + "/".join(r.sample(WORDS, r.choice([0, 0, 1]))) + "/" + r.choice(PROBES)
    if kind < 0.6:
        suffix = r.choice(["", "", "/", ".php", ".bak", ".zip", ".asp", ".jsp", ".old", ".txt", "~", ".tar.gz"])
        name = r.choice(["", "old", "new", "admin", "test", "my", "the", "x"])
        name += r.choice(["", "-", "_"]) + r.choice(WORDS + NOUNS)
        return f"/{name}{r.choice(['', str(r.randint(1, 99))])}{suffix}"
    if kind < 0.8:
        # Words below a place that there is.
        position = r.choice(interfaces)
        literal = [part for part in position.path if isinstance(part, str)][: r.randint(0, 2)]
        word = r.choice(WORDS) + r.choice(["", "_backup", "-admin", ".bak", ".inc"])
        return "/" + "/".join([*literal, word + r.choice(["", "", str(r.randint(1, 9))])])
    if kind < 0.9:
        steps = r.choice(["..%2f", "%2e%2e/", "..%5c"]) * r.randint(2, 6)
        return f"/{steps}etc/passwd" + r.choice(["", "%00", "%00.html"])
    position = r.choice(interfaces)
    attack = r.choice(ATTACKS)
    path = position.request(r).split("?")[0]
    return f"{path}?{r.choice(['id', 'page', 'x', 'file'])}={attack}{r.randint(1, 99)}"


def _client(r: random.Random, clients: int) -> str:
    return f"10.0.{r.randrange(clients) // 250}.{r.randrange(250)}"


def make_site(count: int, seed: int, noise: float = 0.0, minimum: int = 5, mean: int = 60) -> Site:
    """Generate a site of about ``count`` interfaces with about ``mean`` requests each."""
    r = random.Random(f"{count}/{seed}")
    interfaces = draw_interfaces(r, count)
    rows: list[tuple[str, str, str, int]] = []
    clients = max(50, count)
    for number, interface in enumerate(interfaces):
        requests = minimum + int(r.lognormvariate(0, 1.2) * (mean - minimum) / 2.05)
        rows += [(interface.method, interface.request(r), _client(r, clients), number) for _ in range(requests)]
    scanners = [f"203.0.113.{position}" for position in range(r.randint(1, 3))]
    verbs = ["GET", "GET", "GET", "POST", "HEAD"]
    probes = range(int(len(rows) * noise / (1 - noise)))
    rows += [(r.choice(verbs), probe(r, interfaces), r.choice(scanners), -1) for _ in probes]
    r.shuffle(rows)
    columns = list(zip(*rows, strict=True))
    return Site(list(columns[0]), list(columns[1]), list(columns[2]), list(columns[3]), len(interfaces))


def grouping_accuracy(truth: list[int], groups: list[object]) -> float:
    """Return the share of requests whose group has exactly those of their interface; None is correct for noise."""
    members: dict[object, list[int]] = {}
    for row, group in enumerate(groups):
        members.setdefault(("none", row) if group is None else group, []).append(row)
    sizes: dict[int, int] = {}
    for label in truth:
        sizes[label] = sizes.get(label, 0) + 1
    right = 0
    for rows in members.values():
        labels = {truth[row] for row in rows}
        if len(labels) == 1:
            label = labels.pop()
            right += len(rows) if label == -1 or sizes[label] == len(rows) else 0
    return right / len(truth)


SEEDS = range(101, 105)
SIZES = (50, 200, 1000, 5000)
NOISE = (0.0, 0.05)


def group_nearkin(site: Site, *, clients: bool) -> tuple[list[object], float]:
    """Return the pattern ids of all requests, and CPU seconds."""
    from nearkin.patterns.urls import UrlPatterns

    start = time.process_time()
    patterns = UrlPatterns().fit(site.urls, site.methods, clients=site.clients if clients else None)
    groups = patterns.match_many(site.urls, site.methods)["id"].to_pylist()
    return groups, time.process_time() - start


MASKS = [
    (r"(?<=\s)[0-9a-f]{8}-[0-9a-f-]{27}(?=\s|$)", "UUID"),
    (r"(?<=\s)[0-9a-f]{16,}(?=\s|$)", "HEX"),
    (r"(?<![A-Za-z0-9])\d+(?![A-Za-z0-9])", "NUM"),
]


def group_drain3(site: Site, *, masked: bool, best: bool = False) -> tuple[list[object], float]:
    """Return the clusters of Drain3, and CPU seconds; `best` has the best of 24 settings on paths alone."""
    from drain3 import TemplateMiner
    from drain3.masking import MaskingInstruction
    from drain3.template_miner_config import TemplateMinerConfig

    config = TemplateMinerConfig()
    if masked:
        config.masking_instructions = [MaskingInstruction(pattern, name) for pattern, name in MASKS]
    if best:
        config.drain_sim_th, config.drain_depth = 0.9, 8
    start = time.process_time()
    miner = TemplateMiner(config=config)
    groups: list[object] = []
    for method, url in zip(site.methods, site.urls, strict=True):
        text = re.sub(r"[/?&=]", " ", url.partition("?")[0] if best else url)
        groups.append(miner.add_log_message(f"{method} {text}")["cluster_id"])
    return groups, time.process_time() - start


def ordinary_accuracy(truth: list[int], groups: list[object]) -> float:
    """Return the grouping accuracy of requests that no scanner sent."""
    rows = [row for row, label in enumerate(truth) if label >= 0]
    return grouping_accuracy([truth[row] for row in rows], [groups[row] for row in rows])


def accuracy() -> list[dict[str, Any]]:
    """Measure grouping accuracy and requests per CPU second of all candidates."""
    candidates: dict[str, Callable[[Site], tuple[list[object], float]]] = {
        "nearkin": lambda site: group_nearkin(site, clients=False),
        "nearkin, clients": lambda site: group_nearkin(site, clients=True),
    }
    if common.PEERS["drain3"].installed:
        candidates["Drain3"] = lambda site: group_drain3(site, masked=False)
        candidates["Drain3, masks"] = lambda site: group_drain3(site, masked=True)
        candidates["Drain3, masks, paths, 0.9"] = lambda site: group_drain3(site, masked=True, best=True)
    rows = []
    for size, noise, seed in itertools.product(SIZES, NOISE, SEEDS):
        site = make_site(size, seed, noise)
        for name, group in candidates.items():
            # Large sites, and the peer, which is slower, have fewer seeds.
            limit = (1 if size > 1000 else 2) if name.startswith("Drain3") else 2 if size > 1000 else len(SEEDS)
            limit = 0 if size > 1000 and "paths" in name else limit
            if seed >= SEEDS[0] + limit:
                continue
            groups, seconds = group(site)
            row = {
                "interfaces": size, "noise": noise, "seed": seed, "candidate": name, "requests": len(groups),
                "accuracy": round(grouping_accuracy(site.truth, groups), 4),
                "ordinary": round(ordinary_accuracy(site.truth, groups), 4),
                "per_second": round(len(groups) / seconds),
            }  # fmt: skip
            rows.append(row)
            print(row, flush=True)
    return rows


def speed() -> dict[str, Any]:
    """Measure URLs per CPU second on one thread, on one site of 500 interfaces."""
    import pyarrow as pa

    from nearkin.patterns.urls import UrlPatterns

    site = make_site(500, 101, 0.02, mean=1200)
    urls, methods = pa.array(site.urls), pa.array(site.methods)
    patterns = UrlPatterns().fit(urls, methods)
    calls = {
        "fit": common.timer(lambda: UrlPatterns().fit(urls, methods)),
        "fit and table": common.timer(lambda: UrlPatterns().fit(urls, methods).table()),
        "match_many": common.timer(patterns.match_many, urls, methods),
    }
    rates = {name: round(len(urls) / figures["cpu"]) for name, figures in common.rounds(calls, 3).items()}
    return {"urls": len(urls), "per_cpu_second": rates}


def draw_requests(interfaces: list[Interface], size: int, seed: int, noise: float) -> list[tuple[str, str, int]]:
    """Return methods, URLs and interfaces of requests; -1 for noise."""
    r = random.Random(seed)
    weights = [random.Random(f"{seed}/{position}").lognormvariate(0, 1) for position in range(len(interfaces))]
    rows = []
    for _ in range(size):
        if r.random() < noise:
            rows.append((r.choice(["GET", "GET", "POST", "HEAD"]), probe(r, interfaces), -1))
        else:
            number = r.choices(range(len(interfaces)), weights)[0]
            rows.append((interfaces[number].method, interfaces[number].request(r), number))
    return rows


def group_score(truth: list[int], groups: list[object]) -> tuple[float, int, int]:
    """Return the F1 of groups, their number, and the number of interfaces that were requested."""
    members: dict[object, set[int]] = {}
    interfaces: dict[int, set[int]] = {}
    for row, (label, group) in enumerate(zip(truth, groups, strict=True)):
        if label >= 0:
            interfaces.setdefault(label, set()).add(row)
        if group is not None:
            members.setdefault(group, set()).add(row)
    right = 0
    for rows in members.values():
        ordinary = {row for row in rows if truth[row] >= 0}
        right += bool(ordinary) and ordinary == interfaces[truth[min(ordinary)]]
    return 2 * right / max(len(members) + len(interfaces), 1), len(members), len(interfaces)


def growth() -> list[dict[str, Any]]:
    """Measure the groups of growing samples of sites."""
    from nearkin.patterns.urls import UrlPatterns

    rows = []
    sites = [(f"mixed {seed}", draw_interfaces(random.Random(f"grow{seed}"), 40), seed) for seed in (1, 2, *SEEDS)]
    sets = [(f"closed sets {seed}", random.Random(f"sets{seed}"), seed) for seed in (1, 2, 3, *SEEDS)]
    sites += [(name, list(itertools.chain(*closed_sets(r))), seed) for name, r, seed in sets]
    for (name, interfaces_of_site, seed), size in itertools.product(sites, (100, 1_000, 10_000, 100_000, 1_000_000)):
        sample = draw_requests(interfaces_of_site, size, seed, 0.03)
        methods, urls, truth = map(list, zip(*sample, strict=True))
        groups = UrlPatterns().fit(urls, methods).match_many(urls, methods)["id"].to_pylist()
        score, found, interfaces = group_score(truth, groups)
        scanned = [group is not None for group, label in zip(groups, truth, strict=True) if label < 0]
        rows.append(
            {
                "split": "showing" if seed >= 100 else "choosing", "site": name, "requests": size,
                "fga": round(score, 3), "groups": found, "interfaces": interfaces,
                "scanners_explained": round(sum(scanned) / max(len(scanned), 1), 3),
            }
        )  # fmt: skip
        print(rows[-1], flush=True)
    return rows


def replace_value(r: random.Random, url: str, value: str) -> str:
    """Replace the value of one parameter."""
    path, _, query = url.partition("?")
    pairs = query.split("&")
    position = r.randrange(len(pairs))
    pairs[position] = f"{pairs[position].partition('=')[0]}={urllib.parse.quote(value, safe='')}"
    return f"{path}?{'&'.join(pairs)}"


def drop_value(r: random.Random, url: str) -> str:
    """Return a URL without one of its parameters."""
    path, _, query = url.partition("?")
    pairs = query.split("&")
    del pairs[r.randrange(len(pairs))]
    return f"{path}?{'&'.join(pairs)}" if pairs else path


def verdicts(data: Path) -> list[dict[str, Any]]:
    """Measure the shares of attacks and of ordinary requests that are flagged."""
    from nearkin.patterns.urls import UrlPatterns

    records = list(common.records(data, "url_httpparams_train"))
    attacks: dict[str, list[str]] = {}
    for record in records:
        if record["label"] == "anom":
            attacks.setdefault(f"HttpParams {record['attack_type']}", []).append(record["text"])
    strings = [text for texts in attacks.values() for text in texts]
    for payload, label in zip(*patterns_payloads.labelled(strings), strict=True):
        attacks.setdefault(f"rewritten {label.partition(':')[0]}", []).append(payload)
    rows: list[dict[str, Any]] = []

    def measure(source: str, fitted: list[str], judged: list[str], split: str, *, parameters: bool = True) -> None:
        r = random.Random(source)
        patterns = UrlPatterns().fit(fitted)
        found = Counter(patterns.judge_many(judged)["verdict"].to_pylist())
        shares = {name: round(found[name] / len(judged), 5) for name in ("known", "unusual", "new")}
        rows.append({"split": split, "source": source, "requests": len(judged), **shares})
        print(rows[-1], flush=True)
        if not parameters:
            return
        targets = [url for url in judged if "=" in url]
        urls = [drop_value(r, url) for url in r.choices(targets, k=1000)]
        lost = Counter(reason["reason"] for each in patterns.judge_many(urls)["unusual"].to_pylist() for reason in each)
        rows.append({"split": split, "source": source, "dropped": lost["it is missing or empty"] / len(urls)})
        for kind, values in sorted(attacks.items()):
            chosen = r.sample(values, min(300, len(values)))
            urls = [replace_value(r, r.choice(targets), value) for value in chosen]
            flagged = sum(verdict != "known" for verdict in patterns.judge_many(urls)["verdict"].to_pylist())
            new = split if kind.startswith("rewritten") else "choosing"
            rows.append({"split": new, "source": source, "attacks": kind, "flagged": round(flagged / len(urls), 4)})

    for seed, count in itertools.product((1, 2, *SEEDS), (200, 2_000, 20_000, 200_000)):
        sample = draw_requests(draw_interfaces(random.Random(f"grow{seed}"), 40), count, seed, 0.02)
        half, rest = sample[: len(sample) // 2], sample[len(sample) // 2 :]
        ordinary = [f"{method} {url}" for method, url, label in rest if label >= 0]
        fitted = [f"{method} {url}" for method, url, _ in half]
        measure(f"site {seed}, {count:,}", fitted, ordinary, "showing" if seed >= 100 else "choosing")
    values = [record["text"] for record in records if record["label"] == "norm"]
    random.Random(5).shuffle(values)
    urls = [f"/s?q={urllib.parse.quote(value, safe='')}" for value in values]
    measure("HttpParams, one parameter", urls[::2], urls[1::2], "choosing")
    for count in (100, 1_000, 10_000):
        words = [f"/s?q={VALUES['text'](random.Random(number))}" for number in range(count)]
        measure(f"HttpParams after {count:,} values of words", words, urls[:5_000], "choosing", parameters=False)
    with gzip.open(data / "url_apache_access.log.gz", "rt", errors="replace") as lines:
        found = [match[1] for line in lines if (match := re.search(r'"([A-Z]+ \S+) HTTP/', line))]
    measure("access log, second half", found[: len(found) // 2], found[len(found) // 2 :], "choosing")
    # One variable in a path, and no parameter that an attack could replace.
    with gzip.open(data / "url_wikipedia_10k.txt.gz", "rt", encoding="utf-8") as lines:
        titles = [line.rstrip("\n") for line in lines]
    random.Random(5).shuffle(titles)
    measure("titles of Wikipedia", titles[::2], titles[1::2], "choosing", parameters=False)
    return rows


PARTS: dict[str, Callable[[Path], Any]] = {
    "speed": lambda data: speed(),
    "growth": lambda data: growth(),
    "verdicts": verdicts,
    "accuracy": lambda data: accuracy(),
}


def main() -> None:
    options = common.arguments(__doc__, ("--part", {"choices": list(PARTS), "nargs": "+"}))
    results = {name: PARTS[name](options.data) for name in options.part or PARTS}
    print(results.get("speed", ""))
    common.save("patterns-urls", results, versions=common.versions("drain3"))


if __name__ == "__main__":
    main()
