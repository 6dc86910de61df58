"""Web sites with a known truth: interfaces as OpenAPI documents describe them, and the requests that they get.

A site has one style or several: a REST API (collections, items, sub-resources, actions), pages (slugs, categories,
languages, dates, static files), front controllers (``index.php?m=content&c=index``), a portal (names of people, wiki
titles, search, trees of files). An interface is a method, a path with typed variables and parameters that are
required, optional or repeated; its requests draw the variables. How often an interface is asked for follows a
log-normal law, with at least ``least`` requests.

``noise`` is the share of requests by scanners: paths of known holes and words with suffixes, each asked for once or
twice, by one to three clients; and attacks in parameters that hold numbers. Their interface is -1.

Everything follows from the seed.
"""

from __future__ import annotations

import random
import string
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field


def _words(text: str) -> list[str]:
    """The words of a list."""
    return text.split()


NOUNS = _words(
    """
    user order product invoice payment customer account article comment post message ticket task project team member
    role permission group event booking room hotel flight ticket-type seat venue course lesson student teacher grade
    school class book author publisher library loan shelf movie actor director genre review rating playlist song
    album artist track recipe ingredient menu restaurant table reservation courier delivery shipment package
    warehouse stock supplier contract employee department salary shift vacation candidate job application interview
    asset device sensor reading alert rule policy vehicle driver trip route station stop fare meter tariff bill
    patient doctor appointment prescription drug clinic lab sample result claim insurer plan subscription coupon
    discount cart wishlist category tag brand color size image video document folder file note page site domain
    certificate server cluster node pod container volume network firewall backup snapshot log metric dashboard chart
    report query dataset model experiment pipeline run artifact branch commit issue release milestone label webhook
    token session key secret channel thread reaction poll vote survey question answer campaign lead deal contact
    company address country region city currency rate exchange wallet transaction transfer card bank loan-offer
    deposit portfolio stock-item fund game player match league score badge level quest guild item auction bid
    listing property agent tenant lease inspection
    """
)
ACTIONS = _words(
    """
    search export import stats count recent popular me summary bulk validate archive activate deactivate cancel
    approve reject publish clone share history status settings preview download upload restart sync verify lock
    unlock merge transfer refund recalculate rebuild assign latest
    """
)
SINGULAR = _words(
    """
    detail view show edit delete list add save print login logout index update
    """
)
WORDS = _words(
    """
    the a of in on for with new old best how why what guide review red blue green small big summer winter city house
    garden kitchen travel photo music light dark first last simple quick slow morning evening river mountain ocean
    forest road bridge window paper metal wood glass stone silver gold cheap easy fresh free great little long short
    secret story idea tips tricks things people world life work home year day week future past market price value
    trade news report study health food water energy car bike train phone laptop camera screen code data cloud
    network machine engine design model style fashion shoes shirt jacket watch bag ring table chair lamp sofa bed
    door wall floor roof tree flower bird cat dog horse fish bread cheese coffee tea wine beer
    """
)
FIRST = _words(
    """
    alice bob carol dave erin frank grace heidi ivan judy ken laura mike nina oscar paula quinn rosa sam tina uma
    victor wendy xavier yara zoe anna ben chris diana emil fatima george hana igor jana karl lena marco nora olaf
    petra ravi sara tom ulla vera yuki chen wei ming li priya arjun omar leila noah emma liam mia lucas sofia hugo
    lea jonas ida
    """
)
LAST = _words(
    """
    smith jones miller davis garcia wilson moore taylor thomas lee white harris clark lewis young king wright lopez
    hill scott green adams baker nelson carter mitchell perez roberts turner phillips campbell parker evans edwards
    collins stewart morris rogers reed cook morgan bell murphy bailey rivera cooper cox ward torres peterson gray
    ramirez watson brooks kelly sanders price bennett wood barnes ross henderson coleman jenkins perry powell long
    patterson hughes flores kumar singh khan schmidt weber fischer meyer wagner becker rossi ferrari bianchi novak
    horvat ivanov petrov kim park tanaka sato suzuki
    """
)
CITIES = _words(
    """
    london paris berlin madrid rome vienna prague warsaw lisbon dublin oslo helsinki athens budapest amsterdam
    brussels copenhagen stockholm zurich geneva munich hamburg frankfurt cologne stuttgart milan naples turin venice
    florence barcelona valencia seville porto lyon marseille nice toulouse bordeaux glasgow edinburgh manchester
    liverpool leeds bristol tokyo osaka kyoto seoul busan beijing shanghai shenzhen singapore bangkok hanoi jakarta
    manila delhi mumbai sydney melbourne auckland toronto montreal vancouver boston chicago houston dallas denver
    seattle portland miami atlanta
    """
)
SUFFIXES = ["pdf", "docx", "xlsx", "jpg", "png", "zip", "csv", "txt"]


def slug(r: random.Random) -> str:
    """Words with hyphens, at times with a number."""
    words = r.sample(WORDS, r.randint(3, 7))
    if r.random() < 0.2:
        words.insert(r.randrange(len(words)), str(r.randint(2, 2025)))
    return "-".join(words)


def user_name(r: random.Random) -> str:
    """A name that a person chose for an account."""
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


def words_of(values: list[str], size: int) -> Callable[[random.Random], str]:
    """A variable with few values, some of them more common than others."""
    chosen = values[:size]
    weights = [1 / (place + 2) for place in range(len(chosen))]
    return lambda r: r.choices(chosen, weights)[0]


def date(r: random.Random) -> str:
    """A day."""
    return f"{r.randint(2015, 2025)}-{r.randint(1, 12):02}-{r.randint(1, 28):02}"


def letters(alphabet: str, size: int) -> Callable[[random.Random], str]:
    """Random characters."""
    return lambda r: "".join(r.choices(alphabet, k=size))


HEX = "0123456789abcdef"
TITLES = [f"{a.title()}_{b}" for a in WORDS for b in WORDS if a != b]
#: Variables of a path: the type, and how to draw a value.
PATH: dict[str, Callable[[random.Random], str]] = {
    "int": lambda r: str(r.randint(1, 10 ** r.randint(2, 7))),
    "uuid": lambda r: str(uuid.UUID(int=r.getrandbits(128), version=4)),
    "hash": letters(HEX, 40),
    "hex": letters(HEX, 8),
    "objectid": letters(HEX, 24),
    "token": letters(string.ascii_letters + string.digits, 22),
    "nanoid": letters(string.ascii_letters + string.digits + "-_", 21),
    "date": date,
    "email": lambda r: (
        f"{r.choice(FIRST)}.{r.choice(LAST)}@{r.choice(['example.com', 'mail.example.org', 'corp.example'])}"
    ),
    "ip": lambda r: ".".join(str(r.randint(1, 254)) for _ in range(4)),
    "version": lambda r: f"{r.randint(0, 9)}.{r.randint(0, 20)}.{r.randint(0, 30)}",
    "slug": slug,
    "name": user_name,
    "title": lambda r: r.choice(TITLES),
    "city": words_of(CITIES, 70),
    "text": lambda r: "%20".join(r.sample(WORDS, r.randint(2, 4))),
    "file": lambda r: f"{r.choice(WORDS)}-{r.choice(WORDS)}_{r.randint(1, 999)}.{r.choice(SUFFIXES)}",
    "sku": lambda r: f"{r.choice('ABCDEFG')}{r.choice('XYZ')}-{r.randint(1000, 99999)}",
}
COMMON = ["int"] * 8 + ["uuid"] * 4 + ["objectid", "hex", "token", "nanoid", "name", "sku"]


def tree_of_files(r: random.Random) -> str:
    """A path of files: one to six parts."""
    parts = [r.choice(WORDS) for _ in range(r.randint(0, 5))]
    return "/".join(
        [*parts, f"{r.choice(WORDS)}{r.choice(['', '_test', '-old'])}.{r.choice(['py', 'js', 'md', 'txt', 'go'])}"]
    )


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
    "time": lambda r: f"{date(r)}T{r.randint(0, 23):02}%3A{r.randint(0, 59):02}%3A00Z",
    "base64": lambda r: "".join(r.choices(string.ascii_letters + string.digits + "_-", k=32)) + "%3D",
}
PARAMETERS = [
    ("page", "int"), ("size", "int"), ("limit", "int"), ("offset", "int"), ("q", "text"), ("sort", "field"),
    ("order", "order"), ("lang", "lang"), ("from", "date"), ("to", "date"), ("status", "status"), ("verbose", "flag"),
    ("lat", "float"), ("lon", "float"), ("token", "token"), ("email", "email"), ("redirect", "url"), ("since", "time"),
    ("cursor", "base64"),
    ("ids", "int"), ("city", "city"), ("ip", "ip"), ("session", "hex"), ("v", "version"), ("ref", "slug"),
]  # fmt: skip


@dataclass
class Interface:
    """One interface: its method, its path in parts (text, or the kind of a variable), its parameters."""

    method: str
    path: list[str | tuple[str, ...]]
    fixed: dict[str, str] = field(default_factory=dict)
    required: list[tuple[str, str]] = field(default_factory=list)
    optional: list[tuple[str, str, float]] = field(default_factory=list)

    def key(self) -> tuple[object, ...]:
        """What two interfaces of a site never share."""
        path = tuple(part if isinstance(part, str) else "{}" for part in self.path)
        return self.method, path, tuple(sorted(self.fixed.items()))

    def request(self, r: random.Random) -> str:
        """One request's path and query."""
        parts = []
        for part in self.path:
            if isinstance(part, str):
                parts.append(part)
            else:
                before, kind, behind = part
                value = tree_of_files(r) if kind == "tail" else PATH[kind](r)
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
    """The name of a collection."""
    return noun[:-1] + "ies" if noun.endswith("y") else noun + "es" if noun.endswith(("s", "x", "ch")) else noun + "s"


def nouns_of(r: random.Random, style: str) -> Callable[[], str]:
    """Names of resources, one after another, never one twice: words first, then two of them."""
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


def some_parameters(r: random.Random, least: int = 0) -> list[tuple[str, str, float]]:
    """Optional parameters, each with its chance."""
    return [(key, kind, r.choice([0.2, 0.5, 0.8])) for key, kind in r.sample(PARAMETERS, r.randint(least, 4))]


def rest(r: random.Random) -> list[list[Interface]]:
    """Collections of an API, each with its interfaces; as many as one likes to take."""
    style = r.choice(["kebab", "snake", "camel"])
    name = nouns_of(r, style)
    base = r.choice([["api", "v1"], ["api", "v2"], ["v1"], ["api"], ["rest", "2.0"], []])
    collections = []
    for _ in range(900):
        noun = name()
        kind = r.choice(COMMON)
        item = ("", kind, "")
        root: list[str | tuple[str, ...]] = [*base, plural(noun) if r.random() < 0.85 else noun]
        found = [Interface("GET", root, optional=some_parameters(r, 1))]
        found += [
            Interface(method, [*root, item]) for method in r.sample(["GET", "PUT", "PATCH", "DELETE"], r.randint(1, 3))
        ]
        if r.random() < 0.6:
            found.append(Interface("POST", root))
        for action in r.sample(ACTIONS, r.choice([0, 0, 1, 2, 3])):
            found.append(Interface(r.choice(["GET", "POST"]), [*root, action], optional=some_parameters(r)))
        for sub in r.sample(NOUNS, r.choice([0, 1, 1, 2, 3])):
            below = [*root, item, plural(sub)]
            found.append(Interface("GET", below, optional=some_parameters(r)))
            if r.random() < 0.5:
                found.append(Interface("GET", [*below, ("", r.choice(["int", "uuid", "date", "version"]), "")]))
        for action in r.sample(ACTIONS, r.choice([0, 0, 1, 2])):
            found.append(Interface("POST", [*root, item, action]))
        collections.append(found)
    return collections


def pages(r: random.Random) -> list[list[Interface]]:
    """Pages for readers and buyers."""
    languages = r.choice([[], [], ["en", "de", "fr"], ["en-US", "pt-BR", "zh-CN"]])
    found: list[list[Interface]] = []
    for language in languages or [""]:
        base: list[str | tuple[str, ...]] = [language] if language else []
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
            Interface("GET", [*base, "search"], required=[("q", "text")], optional=some_parameters(r)),
            Interface("GET", [*base, "archive", ("", "date", "")]),
        ]
        found.append(group)
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
    return [*found, assets]


def front(r: random.Random) -> list[list[Interface]]:
    """Front controllers: a parameter or two say which interface is asked for."""
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
        [Interface("GET", [name], required=[("id", "int")], optional=some_parameters(r))] for name in scripts
    ]


def portal(r: random.Random) -> list[list[Interface]]:
    """People, titles, trees of files."""
    people = r.choice(["users", "people", "profile", "members"])
    named = ("", "name", "")
    one = [Interface("GET", [people, named])]
    one += [
        Interface("GET", [people, named, sub], optional=some_parameters(r))
        for sub in r.sample(["posts", "followers", "photos", "about", "likes"], 3)
    ]
    one.append(Interface("GET", [people, named, "posts", ("", "int", "")]))
    return [
        one,
        [Interface("GET", ["wiki", ("", "title", "")])],
        [Interface("GET", ["tags", ("", "city", "")], optional=[("page", "int", 0.3)])],
        [Interface("GET", ["files", ("", "tail", "")])],
        [Interface("GET", ["search", ("", "text", "")])],
        [Interface("GET", ["lookup", ("", "ip", "")]), Interface("GET", ["lookup", ("", "email", "")])],
    ]


@dataclass
class Site:
    """Requests and the interface of each, -1 for noise; ``interfaces`` of them."""

    methods: list[str]
    urls: list[str]
    clients: list[str]
    truth: list[int]
    interfaces: int


def interfaces_of(r: random.Random, count: int) -> list[Interface]:
    """Interfaces of a site, about as many as asked for, no two the same."""
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
    found = []
    for interface in mixed[:count]:
        if interface.key() not in seen:
            seen.add(interface.key())
            found.append(interface)
    return found


PROBES = _words(
    """
    .env .git/config .git/HEAD .svn/entries wp-login.php wp-admin/setup-config.php xmlrpc.php
    wp-content/plugins/revslider phpmyadmin/index.php pma/index.php admin.php administrator/index.php manager/html
    actuator/env actuator/heapdump server-status cgi-bin/test.cgi cgi-bin/luci
    vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php boaform/admin/formLogin HNAP1 solr/admin/info console/login
    jenkins/script .aws/credentials .DS_Store backup.zip db.sql dump.sql.gz config.php.bak web.config shell.php
    c99.php owa/auth/logon.aspx remote/login api/jsonws/invoke _ignition/execute-solution telescope/requests
    debug/default/view
    """
)


def probe(r: random.Random, interfaces: list[Interface]) -> str:
    """What a scanner asks for."""
    kind = r.random()
    if kind < 0.25:
        return "/" + "/".join(r.sample(WORDS, r.choice([0, 0, 1]))) + "/" + r.choice(PROBES)
    if kind < 0.6:
        suffix = r.choice(["", "", "/", ".php", ".bak", ".zip", ".asp", ".jsp", ".old", ".txt", "~", ".tar.gz"])
        name = (
            r.choice(["", "old", "new", "admin", "test", "my", "the", "x"])
            + r.choice(["", "-", "_"])
            + r.choice(WORDS + NOUNS)
        )
        return f"/{name}{r.choice(['', str(r.randint(1, 99))])}{suffix}"
    if kind < 0.8:
        # Words below a place that there is.
        place = r.choice(interfaces)
        literal = [part for part in place.path if isinstance(part, str)][: r.randint(0, 2)]
        return "/" + "/".join(
            [
                *literal,
                r.choice(WORDS)
                + r.choice(["", "_backup", "-admin", ".bak", ".inc"])
                + r.choice(["", "", str(r.randint(1, 9))]),
            ]
        )
    if kind < 0.9:
        return (
            "/"
            + r.choice(["..%2f", "%2e%2e/", "..%5c"]) * r.randint(2, 6)
            + "etc/passwd"
            + r.choice(["", "%00", "%00.html"])
        )
    place = r.choice(interfaces)
    attack = r.choice(
        [
            "1'%20OR%20'1'='1",
            "1%20UNION%20SELECT%201,2,3--",
            "%3Cscript%3Ealert(1)%3C/script%3E",
            "1;cat%20/etc/passwd",
            "-1)%20and%20(2=2",
            "{{7*7}}",
            "%00",
        ]
    )
    path = place.request(r).split("?")[0]
    return f"{path}?{r.choice(['id', 'page', 'x', 'file'])}={attack}{r.randint(1, 99)}"


def _client(r: random.Random, clients: int) -> str:
    return f"10.0.{r.randrange(clients) // 250}.{r.randrange(250)}"


def site(count: int, seed: int, noise: float = 0.0, least: int = 5, mean: int = 60) -> Site:
    """A site of about ``count`` interfaces with about ``mean`` requests each."""
    r = random.Random(f"{count}/{seed}")
    interfaces = interfaces_of(r, count)
    rows: list[tuple[str, str, str, int]] = []
    clients = max(50, count)
    for number, interface in enumerate(interfaces):
        requests = least + int(r.lognormvariate(0, 1.2) * (mean - least) / 2.05)
        rows += [(interface.method, interface.request(r), _client(r, clients), number) for _ in range(requests)]
    scanners = [f"203.0.113.{place}" for place in range(r.randint(1, 3))]
    verbs = ["GET", "GET", "GET", "POST", "HEAD"]
    probes = range(int(len(rows) * noise / (1 - noise)))
    rows += [(r.choice(verbs), probe(r, interfaces), r.choice(scanners), -1) for _ in probes]
    r.shuffle(rows)
    columns = list(zip(*rows, strict=True))
    return Site(list(columns[0]), list(columns[1]), list(columns[2]), list(columns[3]), len(interfaces))


def grouping_accuracy(truth: list[int], groups: list[object]) -> float:
    """The share of requests whose group holds those of their interface and no other; None is right for noise."""
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
