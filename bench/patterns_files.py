"""Variants of files: recall of fuzzy digests, of text features, and of both.

1. *Scripts*: harmless scripts in several languages (`data/scripts`) that look like those left on web servers. Each is
   changed by the rules below; all variants of one script are a family. Half of the scripts chose the threshold of the
   features; the other half is reported separately.
2. *Releases*: Python, JavaScript and compiled files over many releases (`files_variants`). A family is one file over
   its releases; distant releases need not be similar.

Recall is the share of pairs of one family in one cluster, precision the share of pairs of one cluster that belong to
one family. Exact copies occur among the releases and count. The rules (`varied`) rename variables (`v_...`), change the
password, add comments, change white space, append junk and wrap the script in base64; one to three apply at once.
"""

from __future__ import annotations

import base64
import collections
import csv
import gzip
import io
import random
import re
import string
import tarfile
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import common
import nearkin as nk

NAMES = (
    "status.php upload.php list.php query.php editor.php mailer.php "
    "env.jsp files.jsp info.asp report.py env.pl clean.sh"
)
SCRIPTS = {name: (common.DATA / "scripts" / f"{name}.txt").read_text("utf-8") for name in NAMES.split()}
SEED = 20261123
EACH = 24


def word_text(draw: random.Random, min_length: int = 2, max_length: int = 10) -> str:
    return "".join(draw.choices(string.ascii_lowercase, k=draw.randint(min_length, max_length)))


def renamed_text(text: str, draw: random.Random) -> str:
    for name in sorted(set(re.findall(r"v_\w+", text)), reverse=True):
        text = re.sub(rf"\b{name}\b", f"{word_text(draw, 1)}{draw.randint(0, 99)}", text)
    return text


def password_text(text: str, draw: random.Random) -> str:
    return text.replace("PASSWORD", draw.choice([word_text(draw, 5, 14), f"{draw.getrandbits(128):032x}"]))


def commented_text(text: str, draw: random.Random) -> str:
    mark = "# " if text.startswith(("#!", "import")) else "// "
    lines = []
    for line in text.splitlines():
        lines.append(line)
        if draw.random() < 0.4 and line.endswith((";", "{", "}")):
            lines.append(mark + " ".join(word_text(draw) for _ in range(draw.randint(2, 9))))
    return "\n".join(lines) + "\n"


def spaced_text(text: str, draw: random.Random) -> str:
    indent = draw.choice(["", "\t", "  ", "      "])
    text = re.sub(r"(?m)^(?:    |  )", indent, text)
    return text.replace("\n", draw.choice(["\r\n", "\n\n", "\n"]))


def junk_text(text: str, draw: random.Random) -> str:
    words = " ".join(word_text(draw) for _ in range(draw.randint(5, 25)))
    return text + draw.choice([f"<!-- {words} -->\n", f"\n{words}\n", "\n" * 60])


def wrapped_text(text: str, draw: random.Random) -> str:
    inner = base64.b64encode(text.encode()).decode()
    return (
        f"<?php eval(base64_decode('{inner}')); ?>\n" if text.startswith("<?php") else f"exec(b64decode('{inner}'))\n"
    )


RULES: dict[str, Callable[[str, random.Random], str]] = {
    "renamed": renamed_text,
    "comments": commented_text,
    "white space": spaced_text,
    "junk": junk_text,
    "base64": wrapped_text,
}


def varied(text: str, rules: Iterable[str], draw: random.Random) -> str:
    """Apply rules in their order, and change the password."""
    text = password_text(text, draw)
    for name in RULES:
        if name in rules:
            text = RULES[name](text, draw)
    return text


def scripts(each: int = EACH, seed: int = SEED) -> dict[str, list[tuple[str, str]]]:
    """Return the variants of each script: the rules, and the text."""
    draw = random.Random(seed)
    results: dict[str, list[tuple[str, str]]] = {}
    for name, text in SCRIPTS.items():
        variants = [("none", password_text(text, draw))]
        for number in range(each):
            # Each rule alone in turn, then several.
            chunk = (
                [list(RULES)[number % len(RULES)]]
                if number < 2 * len(RULES)
                else draw.sample(list(RULES), 2 + number % 2)
            )
            variants.append((" + ".join(sorted(chunk)), varied(text, chunk, draw)))
        results[name] = variants
    return results


def count_pairs(counts: Iterable[int]) -> int:
    return sum(count * (count - 1) // 2 for count in counts)


def pair_quality(families: dict[str, str], clusters: dict[str, int]) -> dict[str, float]:
    """Return recall and precision of pairs; a file without a cluster is alone."""
    by_family = collections.Counter(families.values())
    both = collections.Counter((families[path], cluster) for path, cluster in clusters.items())
    by_cluster = collections.Counter(clusters.values())
    right = count_pairs(both.values())
    return {
        "files": len(families),
        "families": len(by_family),
        "clusters": len(by_cluster) + len(families) - len(clusters),
        "recall": right / count_pairs(by_family.values()),
        "precision": right / max(count_pairs(by_cluster.values()), 1),
    }


def cluster_files(paths: list[str], **options: Any) -> dict[str, int]:
    rows = nk.dedup_files(paths, **options).clusters.rows()
    return {row["id"]: row["cluster"] for row in rows}


WAYS: dict[str, dict[str, Any]] = {
    "ssdeep 80": {},
    "ssdeep 50": {"threshold": 50},
    "ssdeep 80, text": {"also": "text"},
    "ssdeep 50, text": {"threshold": 50, "also": "text"},
}


def measure_scripts(folder: Path) -> dict[str, Any]:
    """Measure all scripts, both halves, and recall by rule."""
    families, rules = {}, {}
    for name, variants in scripts().items():
        for number, (rule, text) in enumerate(variants):
            path = folder / f"{number:03d}-{name}"
            path.write_text(text, newline="")
            families[str(path)], rules[str(path)] = name, rule
    rank = {name: position for position, name in enumerate(SCRIPTS)}
    results: dict[str, Any] = {}
    for way, options in WAYS.items():
        clusters = cluster_files(sorted(families), **options)
        results[way] = {"all": pair_quality(families, clusters)}
        for half, name in ((0, "chosen on"), (1, "shown on")):
            own = {path: family for path, family in families.items() if rank[family] % 2 == half}
            results[way][name] = pair_quality(own, {path: clusters[path] for path in own if path in clusters})
        first = {family: clusters.get(path, -1) for path, family in families.items() if rules[path] == "none"}
        with_first = collections.defaultdict(list)
        for path, family in families.items():
            if rules[path] in RULES:
                with_first[rules[path]].append(clusters.get(path, -2) == first[family])
        results[way]["by rule"] = {rule: sum(hits) / len(hits) for rule, hits in with_first.items()}
    return results


def measure_releases(folder: Path, data: Path) -> dict[str, Any]:
    with tarfile.open(data / "files_variants.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    with gzip.open(data / "files_variants.tsv.gz", "rt", encoding="utf-8") as lines:
        rows = list(csv.DictReader(io.StringIO(lines.read()), delimiter="\t"))
    paths = {path.relative_to(folder).as_posix(): str(path) for path in folder.rglob("*") if path.is_file()}
    families = {}
    for row in rows:
        (position,) = [full for short, full in paths.items() if short.endswith(row["path"])]
        families[position] = row["family"]
    return {way: pair_quality(families, cluster_files(sorted(families), **options)) for way, options in WAYS.items()}


def main() -> None:
    options = common.arguments(__doc__)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "scripts").mkdir()
        (folder / "releases").mkdir()
        results = {
            "scripts": measure_scripts(folder / "scripts"),
            "releases": measure_releases(folder / "releases", options.data),
        }
    path = common.save("patterns-files", results, versions=common.versions())
    print(path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
