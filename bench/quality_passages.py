"""Passages: what is found of copies whose truth is known, in built variants and in plagiarised answers; speed; repeats.

Variants are built of articles that share nothing: each document is a list of pieces with the name of what they are
copied from, so that a character is a copy where its piece stands in an earlier document. Recall is the share of these
characters that lies in a passage whose other document has the piece, precision the share of the characters in passages
that are copies. White space is not counted.

Repeats are compared with a suffix array and its common prefixes, by pydivsufsort (`pip install pydivsufsort`): what is
found must be equal.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import nearkin as nk
from common import arguments, megabytes, records, rounds, save, texts, timed, versions

UNITS = ("paragraph", "line", "window:50", "window:100", "paragraph,window:50", "repeat:200", "repeat:50:words")
KINDS = ("furniture", "cut", "added", "merged", "digest", "reordered", "edited")


@dataclass
class Built:
    """A document: its text, and the pieces it is made of, by begin, end and name."""

    kind: str
    text: str = ""
    pieces: list[tuple[int, int, str]] = field(default_factory=list)

    def add(self, name: str, piece: str, between: str) -> None:
        """Append a piece that has a name."""
        self.text += between if self.text else ""
        self.pieces.append((len(self.text), len(self.text) + len(piece), name))
        self.text += piece


def articles(data: Path, corpus: str, most: int) -> list[list[str]]:
    """Paragraphs of articles that share no run of letters with an earlier one."""
    chinese, seen, found = corpus.startswith("zh"), set[str](), []
    for text in texts(data, corpus):
        parts = text.split("\u3000\u3000") if chinese else text.split("\n\n")
        parts = [" ".join(part.split()) for part in parts]
        parts = [part for part in parts if len(part) >= (40 if chinese else 120) and ">" not in part]
        run, step = (12, 1) if chinese else (30, 1)
        runs = {part[at : at + run] for part in parts for at in range(0, max(len(part) - run, 1), step)}
        if 4 <= len(parts) <= 20 and not runs & seen:
            seen |= runs
            found.append(parts)
        if len(found) == most:
            break
    return found


def build(data: Path, corpus: str, count: int, seed: int) -> list[Built]:
    """`count` articles, each copied in one way, and as many that are new material."""
    generator = np.random.default_rng(seed)
    everything = articles(data, corpus, 2 * count)
    base, new = everything[: len(everything) // 2], everything[len(everything) // 2 :]
    between = "\n" if corpus.startswith("zh") else "\n\n"
    originals = []
    for number, parts in enumerate(base):
        document = Built("original")
        for at, part in enumerate(parts):
            document.add(f"{number}/{at}", part, between)
        originals.append(document)
    variants = [
        variant(KINDS[number % len(KINDS)], number, base, new, between, generator) for number in range(len(base))
    ]
    return [*originals, *variants]


def variant(kind: str, number: int, base: list[list[str]], new: list[list[str]], between: str, generator: Any) -> Built:
    """A copy of an article of one kind."""
    mine = [(f"{number}/{at}", part) for at, part in enumerate(base[number])]
    own = [(f"new {number}/{at}", part) for at, part in enumerate(new[number % len(new)])]
    if kind == "furniture":
        # Two paragraphs of a site before and behind, the same for all articles of the site.
        site = new[-1 - number % 5]
        mine = [(f"site {number % 5}/0", site[0]), *mine, (f"site {number % 5}/1", site[1])]
    elif kind == "cut":
        mine = mine[: max(len(mine) // 2, 1)]
    elif kind == "added":
        mine = [*mine[: len(mine) // 2], *own[: max(len(mine) // 4, 1)], *mine[len(mine) // 2 :]]
    elif kind == "merged":
        other = (number + 1) % len(base)
        mine += [(f"{other}/{at}", part) for at, part in enumerate(base[other])]
    elif kind == "digest":
        picked = [(number + step) % len(base) for step in range(4)]
        mine = [own[0], *((f"{one}/1", base[one][1]) for one in picked)]
    elif kind == "reordered":
        mine = [mine[at] for at in generator.permutation(len(mine))]
    else:
        mine = [(name, edited(part, generator)) for name, part in mine]
    document = Built(kind)
    for name, part in mine:
        document.add(name, part, between)
    return document


def edited(text: str, generator: Any) -> str:
    """One of 40 words, or of 40 characters of Chinese, is another one."""
    words, space = (text.split(" "), " ") if text.isascii() or " " in text[:60] else (list(text), "")
    for at in generator.choice(len(words), max(len(words) // 40, 1), replace=False):
        words[at] = "changed" if space else "改"
    return space.join(words)


def judge(documents: list[Built], found: nk.DedupResult | Any) -> dict[str, Counter[str]]:
    """By kind: characters that are copies, that are found, and both with the right other document."""
    names: list[set[str]] = [{name for *_, name in one.pieces} for one in documents]
    first: dict[str, int] = {}
    for row, of_document in enumerate(names):
        for name in of_document:
            first.setdefault(name, row)
    passages: dict[int, list[dict[str, Any]]] = {}
    for row in found.passages.rows():
        passages.setdefault(row["id"], []).append(row)
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    for row, document in enumerate(documents):
        if document.kind == "original":
            continue
        visible = np.array([not sign.isspace() for sign in document.text])
        copied, hit, right = (np.zeros(len(document.text), bool) for _ in range(3))
        for start, end, name in document.pieces:
            copied[start:end] = first[name] < row
        for passage in passages.get(row, []):
            hit[passage["start"] : passage["end"]] = True
            there = names[passage["other"]]
            for start, end, name in document.pieces:
                span = slice(max(start, passage["start"]), min(end, passage["end"]))
                if span.start < span.stop and name in there:
                    right[span] = True
        of_kind = counts[document.kind]
        of_kind["copied"] += int((copied & visible).sum())
        of_kind["found"] += int((hit & visible).sum())
        of_kind["right"] += int((copied & right & visible).sum())
    return counts


def quality(data: Path, corpus: str) -> dict[str, Any]:
    """Recall and precision by unit and kind."""
    documents = build(data, corpus, 700, 11)
    chinese = corpus.startswith("zh")
    given = [document.text for document in documents]
    kinds = Counter(document.kind for document in documents)
    result: dict[str, Any] = {"documents": len(given), "mb": megabytes(given), "kinds": kinds, "units": {}}
    whole = nk.dedup(given)
    kept = set(whole.kept)
    for kind in KINDS:
        rows = [row for row, document in enumerate(documents) if document.kind == kind]
        gone = sum(row not in kept for row in rows)
        result.setdefault("documents_removed", {})[kind] = gone / max(len(rows), 1)
    for unit in UNITS:
        if chinese and unit.startswith("paragraph"):
            continue
        counts = judge(documents, nk.passages(given, unit=unit, min_length=20 if chinese else 40))
        total = sum(counts.values(), Counter())
        result["units"][unit] = {
            kind: {"recall": one["right"] / max(one["copied"], 1), "precision": one["right"] / max(one["found"], 1)}
            for kind, one in {**counts, "all": total}.items()
        }
    return result


def furnished(data: Path, corpus: str) -> dict[str, Any]:
    """Articles on two of 20 sites each, whose menus and imprints are as long as most articles: which of them go."""
    everything = articles(data, corpus, 1000)
    base, furniture = everything[:600], everything[600:]
    lines = [part[:120] for parts in furniture for part in parts]
    menus = [lines[number * 20 : number * 20 + 20] for number in range(20)]
    documents = [(number, number % 20, parts) for number, parts in enumerate(base)]
    documents += [(number, (number + 7) % 20, parts) for number, parts in enumerate(base)]
    given = ["\n".join([*menus[site][:12], *parts, *menus[site][12:]]) for _, site, parts in documents]
    sources = [f"site {site}" for _, site, _ in documents]
    result: dict[str, Any] = {"articles": len(base), "documents": len(given)}
    for use in ("keep", "drop"):
        found = nk.passages(given, unit="document", sources=sources, boilerplate=use)
        kept = set(found.kept)
        gone = [number for row, (number, _, _) in enumerate(documents) if row not in kept]
        standing = {documents[row][0] for row in kept}
        result[use] = {
            "lines": len(found.boilerplate or []),
            "copies_removed": sum(row not in kept for row in range(len(base), len(documents))) / len(base),
            "articles_lost": len({number for number in gone if number not in standing}) / len(base),
        }
    return result


def natural(data: Path, corpus: str) -> dict[str, Any]:
    """Which documents of a corpus as it is go with frequent lines, and without."""
    given = texts(data, corpus)
    keep, drop = (
        nk.passages(given, unit="document", remove="documents", share=1, boilerplate=use) for use in ("keep", "drop")
    )
    gone = [set(range(len(given))) - set(found.kept) for found in (keep, drop)]
    return {
        "documents": len(given),
        "lines": len(keep.boilerplate or []),
        "removed_keep": len(gone[0]),
        "removed_drop": len(gone[1]),
        "only_keep": len(gone[0] - gone[1]),
        "only_drop": len(gone[1] - gone[0]),
    }


def answers(data: Path) -> dict[str, Any]:
    """Share of each answer that is found in the sources, by what its writer was told, and how well it tells copies."""
    given = sorted(records(data, "en_plagiarised_answers"), key=lambda one: one["category"] != "orig")
    result = {}
    for unit in ("line", "window:10", "window:20", "repeat:5:words", "repeat:10:words", "repeat:50"):
        found = nk.passages([one["text"] for one in given], unit=unit, min_length=20, threshold=0.6, remove="nothing")
        # What answers have in common with one another is not of the sources.
        sources = {row for row, one in enumerate(given) if one["category"] == "orig"}
        share: Counter[int] = Counter()
        for row in found.passages.rows():
            if row["other"] in sources:
                share[row["id"]] += row["end"] - row["start"]
        by_category: dict[str, list[float]] = {}
        for row, one in enumerate(given):
            if row not in sources:
                by_category.setdefault(one["category"], []).append(min(share[row] / len(one["text"]), 1.0))
        derived = [value for name, values in by_category.items() if name != "non" for value in values]
        others = np.array(by_category["non"])
        better = np.mean([(value > others).mean() + (value == others).mean() / 2 for value in derived])
        means = {name: float(np.mean(values)) for name, values in by_category.items()}
        result[unit] = {"mean_share": means, "auc": float(better)}
    return result


def speed(data: Path, corpus: str, count: int) -> dict[str, Any]:
    """Seconds of the document job and of parts, in turn."""
    given = texts(data, corpus)
    if corpus.startswith("zh"):
        given = [text.replace("\u3000\u3000", "\n") for text in given]
    jobs = {
        "document": lambda: nk.dedup(given),
        "paragraph": lambda: nk.passages(given),
        "line": lambda: nk.passages(given, unit="line"),
        "window:50": lambda: nk.passages(given, unit="window:50"),
        "paragraph, boilerplate keep": lambda: nk.passages(given, boilerplate="keep"),
        "paragraph, boilerplate drop": lambda: nk.passages(given, boilerplate="drop"),
        "repeat:200": lambda: nk.repeats(given),
        "repeat:50:words": lambda: nk.repeats(given, unit="words"),
    }
    measured = rounds({name: (lambda job=job: timed(job)[:2]) for name, job in jobs.items()}, count)
    for one in measured.values():
        one["times_document"] = one["cpu"] / measured["document"]["cpu"]
    return {"documents": len(given), "mb": megabytes(given), "jobs": measured}


def commands(data: Path, corpus: str, count: int) -> dict[str, Any]:
    """Seconds of the command from file to file, for documents and for paragraphs, in turn."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "corpus.jsonl")
        with path.open("w", encoding="utf-8") as file:
            for number, text in enumerate(texts(data, corpus)):
                paragraphs = text.replace("\u3000\u3000", "\n\n")
                file.write(json.dumps({"id": number, "text": paragraphs}, ensure_ascii=False) + "\n")

        def run(*options: str) -> tuple[float, float]:
            before, wall = os.times(), time.perf_counter()
            line = [sys.executable, "-m", "nearkin", "dedup", str(path), "-q", "-o", str(Path(folder, "out"))]
            subprocess.run([*line, "--id-column", "id", "--overwrite", *options], check=True)
            after = os.times()
            used = after.children_user + after.children_system - before.children_user - before.children_system
            return used, time.perf_counter() - wall

        jobs = {"document": lambda: run(), "paragraph": lambda: run("--unit", "paragraph")}
        measured = rounds(jobs, count)
    for one in measured.values():
        one["times_document"] = one["cpu"] / measured["document"]["cpu"]
    return measured


def suffix_array(given: list[bytes], length: int) -> np.ndarray:
    """Which bytes lie in a window that begins earlier as well, by the suffix array of all texts."""
    import pydivsufsort

    joined = b"".join(given)
    order = pydivsufsort.divsufsort(joined)
    # Place i of the list is what suffixes i and i + 1 of the order have in common.
    common = pydivsufsort.kasai(joined, order)
    new = np.ones(len(joined), bool)
    new[1:] = common[:-1] < length
    rank = np.empty(len(joined), np.int64)
    rank[order] = np.cumsum(new)
    ends = np.cumsum([len(one) for one in given])
    whole = np.zeros(len(joined), bool)
    for text, end in zip(given, ends.tolist(), strict=True):
        whole[end - len(text) : max(end - length + 1, end - len(text))] = True
    places = np.flatnonzero(whole)
    _, firsts = np.unique(rank[places], return_index=True)
    repeated = np.ones(len(places), bool)
    repeated[firsts] = False
    marks = np.zeros(len(joined) + 1, np.int64)
    np.add.at(marks, places[repeated], 1)
    np.add.at(marks, places[repeated] + length, -1)
    return np.cumsum(marks)[:-1] > 0


def beside_suffix_array(data: Path, corpus: str, size: int, length: int) -> dict[str, Any]:
    """Seconds of both on the same ASCII texts, and whether what they find is equal."""
    given: list[str] = []
    for text in texts(data, corpus):
        given.append(text.encode("ascii", "replace").decode())
        if sum(map(len, given)) > size:
            break
    cpu, wall, found = timed(lambda: nk.repeats(given, min_length=length))
    other_cpu, other_wall, expected = timed(lambda: suffix_array([text.encode() for text in given], length))
    covered = np.zeros(len(expected), bool)
    starts = np.cumsum([0, *map(len, given)])
    for row in found.passages.rows():
        covered[starts[row["id"]] + row["start"] : starts[row["id"]] + row["end"]] = True
    anchors = found.summary["units"][0]["anchors"]
    return {
        "mb": len(expected) / 1e6,
        "min_length": length,
        "repeats": {"cpu": cpu, "wall": wall, "anchors": anchors, "bytes_of_anchors": 32 * anchors},
        "suffix_array": {"cpu": other_cpu, "wall": other_wall, "bytes": 8 * len(expected)},
        "covered_bytes": int(covered.sum()),
        "equal": bool((covered == expected).all()),
    }


def main() -> None:
    more = ("--rounds", {"type": int, "default": 5}), ("--size", {"type": int, "default": 1 << 30})
    given = arguments(__doc__, *more)
    run: dict[str, Any] = {"built": {}, "speed": {}, "repeats": {}}
    for corpus in ("en_20news", "zh_news_sogou"):
        run["built"][corpus] = quality(given.data, corpus)
        run["built"][corpus]["furnished"] = furnished(given.data, corpus)
        print(corpus, run["built"][corpus], file=sys.stderr)
    run["natural"] = {corpus: natural(given.data, corpus) for corpus in ("en_20news", "en_licences", "zh_laws")}
    print(run["natural"], file=sys.stderr)
    run["answers"] = answers(given.data)
    print(run["answers"], file=sys.stderr)
    for length in (50, 200):
        run["repeats"][str(length)] = beside_suffix_array(given.data, "en_20news", given.size, length)
        print(run["repeats"][str(length)], file=sys.stderr)
    for corpus in ("en_20news", "zh_news_sogou"):
        run["speed"][corpus] = speed(given.data, corpus, given.rounds)
        run["speed"][corpus]["commands"] = commands(given.data, corpus, given.rounds)
        print(run["speed"][corpus], file=sys.stderr)
    save("quality-passages", run, versions=versions("numpy", "pydivsufsort"))


if __name__ == "__main__":
    main()
